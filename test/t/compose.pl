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

# Expand Grafana's macros for the last day in steps of ten minutes.
sub expand
{
	my ($sql) = @_;
	$sql =~ s/\$__timeFilter\((\w+)\)/$1 BETWEEN now() - interval '1 day' AND now()/g;
	$sql =~ s/\$__timeGroupAlias\((\w+), \$__interval\)/floor(extract(epoch from $1)\/600)*600 AS "time"/g;
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
	like($plan, qr/hour: \{\$gte/, "$title: asks for a range of buckets")
	  if $panel->{targets}[0]{rawSql} =~ /timeFilter/;
}

$node->safe_psql('postgres',
	q{SELECT mongo_ts_command('test', '{"dropDatabase": 1}')});
$node->stop;

done_testing();
