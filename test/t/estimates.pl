# Proves that the planner's estimates for the demo's tables are within a factor
# of three: those of whole tables before ANALYZE, and of all queries after it.
# Before ANALYZE, no query sends more than 20 commands.

use strict;
use warnings;

use File::Basename qw(dirname);
use FindBin;
use lib $FindBin::RealBin;

use MongoTS::Node;
use Test::More;

my $node = new_node('estimates', uri => undef);

# Load the demo's data into a database of this test.
sub load
{
	my $path = dirname($FindBin::RealBin) . '/demo/load.sql';

	open(my $file, '<', $path) or die "$path: $!";
	my $sql = join('', <$file>);
	$sql =~ s/\bmongo_ts_demo\b/mts_estimates/ or die 'no database';
	$sql =~ s/^CREATE EXTENSION.*//m or die 'no extension';
	$node->safe_psql('postgres', "SET TimeZone = 'UTC';\n$sql");
	return;
}

load();
$node->safe_psql('postgres', <<'END');
	ALTER DATABASE postgres SET TimeZone = 'UTC';
	ALTER DATABASE postgres SET max_parallel_workers_per_gather = 0;
	-- the estimated and the actual number of rows of a query
	CREATE FUNCTION estimate(query text, OUT expected float8, OUT actual float8)
	LANGUAGE plpgsql AS $$
	DECLARE
		plan json;
	BEGIN
		EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ' || query INTO plan;
		expected = plan#>'{0,Plan,Plan Rows}';
		actual = plan#>'{0,Plan,Actual Rows}';
	END $$;
	-- the number of commands that a query sends to MongoDB
	CREATE FUNCTION round_trips(query text) RETURNS bigint LANGUAGE plpgsql AS $$
	DECLARE
		plan json;
	BEGIN
		EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ' || query INTO plan;
		RETURN (SELECT sum(n::bigint)
				  FROM jsonb_path_query(plan::jsonb, 'strict $.**."Round Trips"') n);
	END $$;
END

my @tables = qw(memory cpu_load page_views stocks readings temperatures);

my @ranges = (
	q{memory WHERE "timestamp" >= '2013-10-10 14:00' AND "timestamp" < '2013-10-10 15:00'},
	q{memory WHERE "timestamp" >= '2013-10-10 14:00' AND "timestamp" < '2013-10-10 14:01'},
	q{memory WHERE "timestamp" >= '2013-10-10 14:00:10' AND "timestamp" < '2013-10-10 14:00:15'},
	q{memory WHERE "timestamp" >= '2013-10-10 23:59'},
	q{memory WHERE "timestamp" < '2013-10-10 00:10'},
	q{memory WHERE "timestamp" = '2013-10-10 14:00:10'},
	q{cpu_load WHERE host = 'web1' AND "timestamp" >= '2013-10-10 14:20' AND "timestamp" < '2013-10-10 14:25'},
	q{page_views WHERE "timestamp" >= '2013-10-10 13:00' AND "timestamp" < '2013-10-10 14:00'},
	q{stocks WHERE symbol = 'ACME' AND "timestamp" BETWEEN '2013-10-10 15:00' AND '2013-10-10 15:10'},
	q{readings WHERE "timestamp" >= '2013-10-10 08:00' AND "timestamp" < '2013-10-10 18:00'},
	q{readings WHERE "timestamp" >= '2013-10-10 08:00' AND "timestamp" < '2013-10-10 08:05'},
	q{temperatures WHERE "timestamp" >= '2013-10-10 12:00' AND "timestamp" < '2013-10-10 12:30'});

my @keys = (
	q{memory WHERE type = 'memory_used'},
	q{memory WHERE type <> 'memory_used'},
	q{memory WHERE type LIKE 'memory_f%'},
	q{memory WHERE type IN ('memory_used', 'nothing')},
	q{memory WHERE value > 2000000},
	q{cpu_load WHERE host = 'web2'},
	q{cpu_load WHERE load BETWEEN 0.5 AND 0.6},
	q{page_views WHERE page = '/pricing'},
	q{page_views WHERE page IN ('/docs', '/pricing')},
	q{page_views WHERE views = 3},
	q{stocks WHERE symbol = 'HOOLI'},
	q{stocks WHERE price > 100},
	q{readings WHERE sensor_id = 3},
	q{readings WHERE sensor_id = 2 AND ppm > 600 AND "timestamp" < '2013-10-10 12:00'},
	q{temperatures WHERE sensor_id IN (1, 2)},
	q{temperatures WHERE temperature > 24});

my @joins = (
	q{readings JOIN devices ON devices.id = sensor_id},
	q{readings JOIN devices ON devices.id = sensor_id WHERE room = 'Lab'},
	q{readings JOIN devices ON devices.id = sensor_id JOIN owners ON owners.id = owner_id
		WHERE "timestamp" >= '2013-10-10 08:00' AND "timestamp" < '2013-10-10 18:00'},
	q{temperatures JOIN devices ON devices.id = sensor_id WHERE owner_id = 1},
	q{memory a JOIN memory b USING ("timestamp") WHERE a.type = 'memory_used' AND b.type = 'memory_free'},
	q{memory a JOIN memory b USING ("timestamp", type)},
	q{memory a JOIN memory b USING ("timestamp", type) WHERE a."timestamp" < '2013-10-10 01:00'},
	q{stocks a JOIN stocks b USING ("timestamp") WHERE a.symbol = 'ACME' AND b.symbol = 'HOOLI'},
	q{temperatures t JOIN readings r USING (sensor_id)
		WHERE t."timestamp" < '2013-10-10 01:00' AND r."timestamp" < '2013-10-10 01:00'},
	q{temperatures JOIN cpu_load USING ("timestamp") WHERE host = 'web1'},
	q{memory JOIN cpu_load USING ("timestamp") WHERE host = 'web1' AND type = 'memory_used'});

my @groups = (
	q{SELECT date_trunc('hour', "timestamp"), count(*) FROM memory GROUP BY 1},
	q{SELECT type, date_trunc('minute', "timestamp"), count(*) FROM memory GROUP BY 1, 2},
	q{SELECT date_trunc('hour', "timestamp"), host, avg(load) FROM cpu_load GROUP BY 1, 2},
	q{SELECT extract(minute FROM "timestamp"), count(*) FROM memory GROUP BY 1},
	q{SELECT extract(hour FROM "timestamp"), extract(minute FROM "timestamp"), count(*) FROM memory GROUP BY 1, 2},
	q{SELECT date_trunc('hour', "timestamp"), extract(minute FROM "timestamp"), count(*) FROM memory GROUP BY 1, 2},
	q{SELECT page, sum(views) FROM page_views GROUP BY page},
	q{SELECT date_trunc('hour', "timestamp"), sensor_id, avg(ppm) FROM readings GROUP BY 1, 2},
	q{SELECT DISTINCT symbol FROM stocks});

# Queries that match no rows
my @empty = (
	q{memory WHERE "timestamp" >= '2013-10-11'},
	q{memory WHERE type = 'nothing'},
	q{cpu_load WHERE "timestamp" < '2013-10-10 08:00'});

# Join the lines of a query, for one line of TAP.
s/\s+/ /g foreach (@joins);

# Return the columns of estimate() or round_trips() for a query.
sub ask
{
	my ($function, $query) = @_;

	$query = "SELECT * FROM $query" unless $query =~ /^SELECT/;
	$query =~ s/'/''/g;
	return split /\|/,
	  $node->safe_psql('postgres', "SELECT * FROM $function('$query')");
}

sub is_close
{
	my ($query) = @_;
	my ($expected, $actual) = ask('estimate', $query);

	ok($expected <= 3 * $actual && $actual <= 3 * $expected, $query)
	  or diag "$expected rows estimated, $actual rows found";
	return;
}

# Without ANALYZE, the estimate is the collection's count times the slots of a
# bucket.  Sparse slots have fewer points.
is_close($_) foreach grep { $_ ne 'page_views' } @tables;
foreach my $query (@ranges, @keys, @joins, @groups)
{
	my ($n) = ask('round_trips', $query);

	cmp_ok($n, '<=', 20, "a few round trips before ANALYZE: $query");
}

$node->safe_psql('postgres',
	'ANALYZE devices, owners; ANALYZE ' . join(', ', @tables));
is_close($_) foreach (@tables, @ranges, @keys, @joins, @groups);
foreach my $query (@empty)
{
	my ($expected) = ask('estimate', $query);

	cmp_ok($expected, '<', 30, "few rows are expected: $query");
}

# With a filter that many documents satisfy, ANALYZE reads few of the others,
# and counts none.  Documents that few satisfy are counted.  The share of a
# document does not follow from its place, which MongoDB may prefer to others.
$node->safe_psql('postgres', <<'END');
	CREATE FOREIGN TABLE parts (ts timestamptz, k int, share text, v int OPTIONS (field 'v.{second}')) SERVER mongo;
	INSERT INTO parts SELECT timestamptz '2024-01-01' + i * interval '1 min' + s * interval '1 s', i, share, s
		FROM generate_series(1, 8000) i,
			LATERAL (SELECT CASE WHEN i % 100 = 1 THEN 'few' WHEN hashint4(i) % 4 = 0 THEN 'Many' ELSE 'rest' END) drawn (share),
			generate_series(0, CASE share WHEN 'Many' THEN 1 ELSE 2 END) s;
	CREATE FOREIGN TABLE many (ts timestamptz, k int, v int OPTIONS (field 'v.{second}'))
		SERVER mongo OPTIONS (collection 'parts', filter '{"share": "Many"}');
	CREATE FOREIGN TABLE few (ts timestamptz, k int, v int OPTIONS (field 'v.{second}'))
		SERVER mongo OPTIONS (collection 'parts', filter '{"share": "few"}');
END

# Analyze a table at a statistics target of 1, for which 300 documents are
# drawn; return the log of commands, and the documents and points per document.
sub analyze
{
	my ($table) = @_;
	my $log = '';

	$node->psql('postgres', "SET default_statistics_target = 1; SET client_min_messages = log; SET mongo_ts_fdw.log_commands = on; ANALYZE $table",
		stderr => \$log);
	return ($log, split(/\|/, $node->safe_psql('postgres',
		"SELECT relpages, round(reltuples / relpages) FROM pg_class WHERE relname = '$table'")));
}

my ($log, $documents, $points) = analyze('many');
my @drawn = $log =~ /MongoDB aggregate on "mts_estimates\.parts", [^\n]* documents: (\d+)/g;

my @counts = $log =~ /MongoDB count /g;

cmp_ok(@counts, '==', 1, 'only the whole collection is counted');
cmp_ok(@drawn, '>', 1, 'they are drawn');
cmp_ok($_, '<', 150, 'some of 300 that are drawn') foreach @drawn;
cmp_ok($documents, '>', 1000, 'their number is estimated');
cmp_ok($documents, '<', 3000, 'their number is estimated');
cmp_ok($points, '==', 2, 'they have two points each');
($log, $documents, $points) = analyze('few');
@counts = $log =~ /MongoDB count /g;
cmp_ok(@counts, '==', 2, 'besides it, documents that few satisfy are counted once');
cmp_ok($documents, '==', 80, 'their number is exact');
cmp_ok($points, '==', 3, 'they have three points each');

# One document at least is drawn of each collection.  Here these are twice as
# many as are wanted.
$node->safe_psql('postgres', <<'END');
	CREATE FOREIGN TABLE hours (ts timestamptz, k int, share text, v int OPTIONS (field 'v.{minute}.{second}'))
		SERVER mongo OPTIONS (collection 'hours_%Y%m%d%H');
	INSERT INTO hours SELECT timestamptz '2024-01-01' + i * interval '1 hour', k, CASE WHEN k % 2 = 0 THEN 'half' ELSE 'rest' END, i
		FROM generate_series(1, 61) i, generate_series(1, 12) k;
	CREATE FOREIGN TABLE half (ts timestamptz, k int, v int OPTIONS (field 'v.{minute}.{second}'))
		SERVER mongo OPTIONS (collection 'hours_%Y%m%d%H', filter '{"share": "half"}');
END
($log, $documents, $points) = analyze('half');
@drawn = $log =~ /MongoDB aggregate on "mts_estimates\.hours_/g;
cmp_ok(@drawn, '==', 2 * 61, 'a document of each of many collections is drawn');
cmp_ok($documents, '>', 230, 'the number of those that satisfy a filter is estimated');
cmp_ok($documents, '<', 500, 'the number of those that satisfy a filter is estimated');

$node->safe_psql('postgres',
	q{SELECT mongo_ts_command('mongo', '{"dropDatabase": 1}')});
$node->stop;

done_testing();
