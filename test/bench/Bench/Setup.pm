# Makes the collections and the tables that figures read, and compares the
# extension's tables with the local ones.

package Bench::Setup;

use strict;
use warnings;

use Bench::Layouts qw(layout load_layout declare create_index create heap summary);
use Bench::Session qw(run_sql time_line);
use Exporter qw(import);
use List::Util qw(uniq);

our @EXPORT_OK = qw(set_up set_up_peer set_up_duckdb);

# The devices with the time of their last point, their site and customer
my $fleet = q(CREATE TABLE fleet AS SELECT 'host_' || i AS host, timestamptz )
  . q('2013-10-01 01:59:59' AS seen, i % 10 AS site, i AS customer )
  . 'FROM generate_series(0, 99) AS i; ANALYZE fleet';

sub silently
{
	my ($session, @sql) = @_;
	run_sql($session, "\\o /dev/null\n$_;\n\\o\nSELECT") foreach @sql;
	return;
}

sub kinds_of
{
	my @figures = @_;
	return uniq(map { $_->{kind} } map { @{ $_->{tables} } } @figures);
}

# The URIs and options of the servers.  The one with members is a replica set.
my %servers = (
	mongo => [ $ENV{MONGODB_URI} ], slowly => [ $ENV{SLOW_URI} ],
	members => [ $ENV{MEMBERS_URI} ],
	members_none => [ $ENV{MEMBERS_URI},
		q(, consistency 'none', transactions 'off') ]);

sub connect_to_mongodb
{
	my ($session, $database) = @_;

	silently($session, 'SET client_min_messages = error',
		'CREATE EXTENSION mongo_ts_fdw');
	foreach my $name (sort grep { $servers{$_}[0] } keys %servers)
	{
		my ($uri, $options) = @{ $servers{$name} };
		silently($session, "CREATE SERVER $name FOREIGN DATA WRAPPER mongo_ts_fdw "
			  . "OPTIONS (uri '$uri', database '$database'" . ($options // '') . ')');
	}
	return;
}

# Make a layout's collection, foreign tables and indexes.  Returns false if the
# server can't have it.
sub set_up_layout
{
	my ($session, $layout, $dir, $database, $days) = @_;
	my ($name, $from) = @{$layout}{qw(name from)};

	if (!$from)
	{
		my $uri = $servers{ $layout->{server} // 'mongo' }[0] or return 0;
		my $status = system("$dir/load", $uri, $database,
			load_layout($layout, $days)) >> 8;
		return 0 if $status == 2;
		die "load has failed\n" if $status != 0;
	}
	silently($session, declare($layout, $name, $from // $name),
		$from ? declare($layout, "${name}_in", "${from}_in") : (create_index($layout, $name),
			map { (declare($layout, $_, $_), create($layout, $_)) }
			  map { "${name}_$_" } qw(in floor)),
		'ANALYZE ' . ($layout->{shape} eq 'tsbs' ? "cpu_$name" : $name));
	return 1;
}

# Make a local table, the points to insert in order of time, and a logged table
# for these.
sub set_up_heap
{
	my ($session, $dir, $heap, $kind) = @_;
	my $hours = $ENV{QUICK} ? 6 : 24;
	my ($name, $columns, $time, $key) = @{$heap}{qw(name columns time key)};

	silently($session, "CREATE UNLOGGED TABLE $name ($columns)",
		"INSERT INTO $name $heap->{rows}", "CREATE INDEX ON $name ($key)",
		$heap->{view} // (), "VACUUM (FREEZE, ANALYZE) $name",
		"CREATE UNLOGGED TABLE points_$kind AS SELECT * FROM $name "
		  . "WHERE $time < (SELECT min($time) FROM $name) + interval '$hours h' "
		  . "ORDER BY $time, $key",
		"VACUUM (FREEZE, ANALYZE) points_$kind",
		"CREATE TABLE in_$kind ($columns)",
		"CREATE UNIQUE INDEX ON in_$kind ($key)",
		map { "COPY $_ TO '$dir/$_'" } $name, "points_$kind");
	return;
}

# The rows of two tables are the same.
sub compare
{
	my ($one, $table, $other, $heap) = @_;
	my $ours = run_sql($one, summary($table));
	my $theirs = run_sql($other, summary($heap));

	die "$table has other rows:\n$ours\nthan $heap:\n$theirs\n"
	  if $ours ne $theirs;
	return;
}

# Return the figures whose layouts the server can have.
sub set_up
{
	my ($session, $dir, $database, $days, @figures) = @_;
	my %is_missing;
	my @layouts = uniq(map { @{ $_->{tables} } } @figures);

	connect_to_mongodb($session, $database);
	silently($session, $fleet);
	set_up_heap($session, $dir, heap($_, $days), $_)
	  foreach kinds_of(@figures);
	silently($session, 'CHECKPOINT');
	foreach my $layout (@layouts)
	{
		print STDERR "# loading $layout->{name}\n";
		if (!set_up_layout($session, $layout, $dir, $database, $days))
		{
			$is_missing{ $layout->{name} } = 1;
		}
		elsif (!$layout->{is_alone})
		{
			compare($session, $layout->{name}, $session,
				"heap_$layout->{kind}");
		}
	}
	return grep { !grep { $is_missing{ $_->{name} } } @{ $_->{tables} } }
	  @figures;
}

# The hypertables have chunks of a day.
sub set_up_peer
{
	my ($peer, $session, $dir, $database, $days, @figures) = @_;
	my $minute = layout('minute');

	connect_to_mongodb($peer, $database);
	silently($peer, "\\set uri $ENV{MONGODB_URI}\n\\set database $database\n"
		  . "\\i test/bench/peer.sql\nSELECT");
	silently($peer, map { declare($minute, $_, $_) } qw(minute minute_in));
	foreach my $heap (map { heap($_, $days) } kinds_of(@figures))
	{
		my ($name, $time) = @{$heap}{qw(name time)};
		silently($peer, "CREATE TABLE $name ($heap->{columns})",
			"CREATE INDEX ON $name ($heap->{key})", $heap->{view} // (),
			"SELECT create_hypertable('$name', '" . ($time =~ s/"//gr) . q(', )
			  . q{chunk_time_interval => interval '1 day')},
			"\\copy $name from '$dir/$name'\nSELECT", "ANALYZE $name");
		compare($peer, $_, $session, $_) foreach $name =~ s/^cpu_//r;
	}
	return;
}

sub set_up_duckdb
{
	my ($duckdb, $session, $dir, $days, @figures) = @_;

	foreach my $heap (map { heap($_, $days) } kinds_of(@figures))
	{
		my $columns = $heap->{columns} =~ s/timestamptz/timestamp/r;
		time_line($duckdb, "CREATE TABLE $heap->{name} ($columns)");
		time_line($duckdb, "COPY $heap->{name} FROM '$dir/$heap->{name}' "
			  . q((DELIMITER '\t', TIMESTAMPFORMAT '%Y-%m-%d %H:%M:%S+00')));
		time_line($duckdb, $heap->{view}) if $heap->{view};
		my $count = run_sql($session, "SELECT count(*) FROM $heap->{name}");
		time_line($duckdb, "SELECT CASE WHEN count(*) <> $count "
			  . "THEN error('other rows') END FROM $heap->{name}");
	}
	return;
}

1;
