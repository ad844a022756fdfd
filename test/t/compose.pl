# Tests the sandbox of compose.yaml without containers.  Its files are well
# formed and name each other, and its SQL runs.  The scan answers the queries
# of Grafana's dashboard, with their macros expanded.

use strict;
use warnings;

use CPAN::Meta::YAML;
use File::Basename qw(dirname);
use FindBin;
use lib $FindBin::RealBin;

use JSON::PP qw(decode_json);
use MongoTS::Node;
use Test::More;

my $root = dirname($FindBin::RealBin) . '/..';
my $database = 'mts_compose';

# What a panel's plan must show: an aggregation in the scan, or a skip scan
my %shown = (
	'Temperature' => qr/Partial Aggregate on/,
	'Energy by hour' => qr/Partial Aggregate on/,
	'Last reading' => qr/Skip Scan Keys: machine/,
	'Highest temperature' => qr/Partial Aggregate on/);

sub read_file
{
	my ($name) = @_;
	open(my $file, '<', "$root/$name") or die "$name: $!";
	return join('', <$file>);
}

sub read_yaml
{
	my ($name) = @_;
	my $yaml = CPAN::Meta::YAML->read_string(read_file($name));
	ok($yaml && $yaml->[0], "$name is YAML");
	return $yaml->[0];
}

# Expand Grafana's macros, by default for the last day in steps of ten minutes.
sub expand
{
	my ($sql, $range, $step) = (@_, '1 day', 600);
	$sql =~ s/\$__timeFilter\((\w+)\)/$1 BETWEEN now() - interval '$range' AND now()/g;
	$sql =~ s/\$__timeGroupAlias\((\w+), \$__interval\)/floor(extract(epoch from $1)\/$step)*$step AS "time"/g;
	return $sql;
}

my $compose = read_yaml('compose.yaml');
foreach my $service (values %{ $compose->{services} })
{
	foreach my $volume (@{ $service->{volumes} // [] })
	{
		my ($file) = $volume =~ m{^\./([^:]+):};
		ok(-f "$root/$file", "compose.yaml: $file exists");
	}
	ok($compose->{services}{$_}, "compose.yaml: service $_ exists")
	  foreach keys %{ $service->{depends_on} // {} };
}
my ($source) = @{ read_yaml('docs/compose/grafana/datasource.yaml')->{datasources} };
read_yaml('docs/compose/grafana/dashboards.yaml');
my $dashboard = decode_json(read_file('docs/compose/grafana/plant.json'));

my $node = new_node('compose', uri => undef);
create_server($node, 'test', $ENV{MONGODB_URI}, "database '$database'");
$node->safe_psql('postgres',
	q{SELECT mongo_ts_command('test', '{"dropDatabase": 1}')});
$node->safe_psql('postgres', 'CREATE DATABASE plant');
$node->safe_psql('plant',
	read_file('docs/compose/init.sql') =~
	  s{'mongodb://mongodb:27017', database 'plant'}{'$ENV{MONGODB_URI}', database '$database'}r);
cmp_ok($node->safe_psql('plant', 'SELECT count(*) FROM pg_foreign_table'), '>', 0, 'init.sql declares tables');

foreach my $panel (@{ $dashboard->{panels} })
{
	my $title = $panel->{title};
	my $sql = expand($panel->{targets}[0]{rawSql});

	is($panel->{datasource}{uid}, $source->{uid}, "$title: its data source exists");
	unlike($sql, qr/\$/, "$title: all macros are known");
	my $rows = $node->safe_psql('plant',
		"SET ROLE $source->{user}; SELECT count(*) FROM ($sql) query");
	cmp_ok($rows, '>', 0, "$title: has rows");
	my $plan = $node->safe_psql('plant',
		"SET ROLE $source->{user}; EXPLAIN (COSTS OFF) $sql");
	like($plan, $shown{$title}, "$title: is answered in the scan");
	unlike($plan, qr/^ *Filter:/m, "$title: PostgreSQL filters no rows");
	like($plan, qr/hour: \{\$not: \{\$lt/, "$title: asks for a range of buckets")
	  if $panel->{targets}[0]{rawSql} =~ /timeFilter/;
}

# The same panel, zoomed
my ($zoomed) = grep { $_->{title} eq 'Temperature' } @{ $dashboard->{panels} };
foreach ([ '1 year', 86400, 'readings_1d' ], [ '1 month', 3600, 'readings_1h' ])
{
	my ($range, $step, $rollup) = @$_;
	my $sql = expand($zoomed->{targets}[0]{rawSql}, $range, $step);
	my $rows = "SELECT count(*), round(sum(value)::numeric, 3) FROM ($sql) query";

	like($node->safe_psql('plant', "SET ROLE $source->{user}; EXPLAIN (COSTS OFF) $sql"), qr/Roll-up: $rollup /,
		"$range is answered by $rollup");
	is($node->safe_psql('plant', "BEGIN ISOLATION LEVEL REPEATABLE READ; $rows; SET mongo_ts_fdw.enable_rollups = off; $rows") =~
		  m/^(.+)\n\1$/ ? 'same' : 'other', 'same', '.. with the values of the points');
}

$node->safe_psql('postgres',
	q{SELECT mongo_ts_command('test', '{"dropDatabase": 1}')});
$node->stop;

done_testing();
