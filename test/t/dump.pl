# Proves that a database restored from a dump has the same objects and query
# results, whatever characters are in the options.  Also proves that pg_dump
# can include points.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use MongoTS::Node;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('dump', uri => undef);
my $dir = PostgreSQL::Test::Utils::tempdir();

# ---- The objects to dump --------------------------------------------------

# A name that requires every kind of escape in a literal
my $odd = q{E'o''d"d \\\\n 100%% é\n\t; x'};
my $odd_path = $odd =~ s/(\\\\)/$1$1/r;

create_server($node, 'mongo', $ENV{MONGODB_URI},
	"database 'mts_dump', keep_connections 'true', fetch_size '50', batch_size '100', updatable 'true', truncatable 'true', native_buckets 'auto', transactions 'batch', consistency 'none', comment '%a %%', async_capable 'true'");
create_server($node, 'data', $ENV{MONGODB_URI}, q{database 'mts_dump_data'});
$node->safe_psql('postgres', <<"END");
	SELECT mongo_ts_command('mongo', '{"dropDatabase": 1}');
	SELECT mongo_ts_command('data', '{"dropDatabase": 1}');
	CREATE ROLE dump_reader;
	CREATE USER MAPPING FOR dump_reader SERVER mongo
		OPTIONS (password $odd, password_required 'false', username $odd);

	CREATE FOREIGN TABLE "o'd""d \\ %" (
		"t'i""me %"  timestamptz OPTIONS (field $odd_path),
		"k\\e.y"     text OPTIONS (field 'k', role 'key') COLLATE "C" DEFAULT $odd,
		v            float8 OPTIONS (field E'v''"%\\n.{second}', missing_value '-1')
	) SERVER mongo OPTIONS (collection $odd, filter '{"s''i%\\n\\u0022 te": "\\\\ %\\n''"}');

	CREATE FOREIGN TABLE sensors (
		ts     timestamptz OPTIONS (field 'samples[].time', format 'epoch', role 'time'),
		sensor int NOT NULL,
		room   text OPTIONS (field 'meta.room', role 'attribute'),
		val    int8 OPTIONS (field 'samples[].val', sum_field 'sum', min_field 'least',
			max_field 'most', bson_type 'long')
	) SERVER mongo OPTIONS (collection 'sensors', bucket_time_field 'day',
		bucket_time_format 'text:YYYY-MM-DD "a''b"', bucket_time_zone 'Asia/Kolkata',
		bucket_span '1 day', bucket_first_field 'first', bucket_last_field 'last',
		bucket_max_points '3', count_field 'n', write_mode 'push', on_invalid 'skip',
		on_subresolution 'truncate');

	CREATE FOREIGN TABLE rolling (
		ts timestamptz, v float8 OPTIONS (field 'v.{minute}')
	) SERVER mongo OPTIONS (collection '%Y_rolling%%_%m', database 'mts_dump', slot_clock 'local',
		assume_write_once 'true', fetch_size '7', batch_size '11', updatable 'true', truncatable 'true', native_buckets 'auto', transactions 'off', consistency 'statement', async_capable 'false');

	CREATE TABLE parts (
		ts     timestamptz NOT NULL,
		label  text DEFAULT $odd,
		v      float8,
		twice  float8 GENERATED ALWAYS AS (v * 2) STORED,
		CONSTRAINT sane CHECK (v > -1000)
	) PARTITION BY RANGE (ts);
	CREATE FOREIGN TABLE parts_2013 (
		ts     timestamptz NOT NULL,
		label  text,
		v      float8 OPTIONS (field 'v.{second}'),
		twice  float8 OPTIONS (field 'w.{second}') GENERATED ALWAYS AS (v * 2) STORED,
		CONSTRAINT sane CHECK (v > -1000)
	) SERVER data;
	CREATE FOREIGN TABLE parts_2014 (
		ts     timestamptz NOT NULL,
		label  text,
		v      float8,
		twice  float8 OPTIONS (field 'a.b') GENERATED ALWAYS AS (v * 2) STORED,
		CONSTRAINT sane CHECK (v > -1000)
	) SERVER data;
	ALTER TABLE parts ATTACH PARTITION parts_2013 FOR VALUES FROM ('2013-01-01Z') TO ('2014-01-01Z');
	ALTER TABLE parts ATTACH PARTITION parts_2014 FOR VALUES FROM ('2014-01-01Z') TO ('2015-01-01Z');
	CREATE TABLE parts_2015 PARTITION OF parts
		FOR VALUES FROM ('2015-01-01Z') TO ('2016-01-01Z');
	CREATE FOREIGN TABLE lists (
		ts timestamptz OPTIONS (field 'p[].t'), k int,
		v  numeric OPTIONS (field 'p[].v', sum_field 'total')
	) SERVER data OPTIONS (bucket_time_field 'day', bucket_span '1 day', count_field 'n');

	-- a roll-up sorts before its points
	CREATE FOREIGN TABLE by_day (
		ts timestamptz, k int,
		n  bigint OPTIONS (field 'd.{day:1}.n', rollup 'count', rollup_column 'v')
	) SERVER data OPTIONS (bucket_span '1 month', bucket_time_zone 'Asia/Kolkata', rollup_of 'public.lists',
		rollup_interval '1 day', rollup_zone 'Asia/Kolkata', rollup_lag '5 minutes', rollup_refresh '5 minutes',
		rollup_maintained_by 'refresh');
	ALTER FOREIGN TABLE lists OPTIONS (ADD rollup_retention '36500 days');

	CREATE VIEW busy AS SELECT sensor, count(*), sum(val) FROM sensors GROUP BY sensor;
	CREATE VIEW guarded WITH (security_barrier) AS SELECT * FROM parts WHERE v > 2;
	CREATE MATERIALIZED VIEW days AS
		SELECT date_trunc('day', ts, 'UTC') AS day, max(v) FROM rolling GROUP BY 1;

	ALTER FOREIGN TABLE sensors ALTER sensor SET STATISTICS 77;
	GRANT EXECUTE ON FUNCTION mongo_ts_command(name, json) TO dump_reader;
	REVOKE EXECUTE ON FUNCTION mongo_ts_version() FROM PUBLIC;
	GRANT USAGE ON FOREIGN DATA WRAPPER mongo_ts_fdw TO dump_reader;
	GRANT USAGE ON FOREIGN SERVER mongo TO dump_reader WITH GRANT OPTION;
	GRANT SELECT (ts, val), INSERT ON sensors TO dump_reader;
	COMMENT ON SERVER mongo IS $odd;
	COMMENT ON FOREIGN TABLE sensors IS $odd;
	COMMENT ON COLUMN sensors.val IS $odd;

	INSERT INTO "o'd""d \\ %" SELECT '2013-10-10 23:06Z'::timestamptz + i * interval '7 s', x, i
		FROM generate_series(0, 20) i, (VALUES ('a'), ($odd), ('')) k (x);
	INSERT INTO sensors SELECT '2013-10-10Z'::timestamptz + i * interval '3 h', i % 2, 'r', i
		FROM generate_series(1, 30) i;
	INSERT INTO rolling SELECT '2013-10-10Z'::timestamptz + i * interval '9 d', i
		FROM generate_series(1, 30) i;
	INSERT INTO parts SELECT '2013-10-10Z'::timestamptz + i * interval '5 d 1 s', x, i
		FROM generate_series(1, 100) i, (VALUES ('a'), ($odd), (E'\\\\N\\b\\r')) k (x);
	INSERT INTO parts VALUES ('2013-01-01Z', '', 'infinity'), ('2014-01-01Z', '', NULL), ('2013-01-02Z', NULL, 'nan');
	INSERT INTO lists SELECT '2013-10-10Z'::timestamptz + i * interval '1 h', i % 3, i / 8.0
		FROM generate_series(1, 100) i;
	REFRESH MATERIALIZED VIEW days;
	SELECT mongo_ts_refresh_rollup('by_day');
END

my %answers = map { $_ => $node->safe_psql('postgres', $_) } (
	q{SELECT * FROM "o'd""d \ %" ORDER BY 1, 2},
	'SELECT * FROM sensors ORDER BY 1, 2',
	'SELECT * FROM rolling ORDER BY 1',
	'SELECT tableoid::regclass, * FROM parts ORDER BY ts, label, v',
	'SELECT k, count(*), sum(v) FROM lists GROUP BY 1 ORDER BY 1',
	'SELECT * FROM busy ORDER BY 1',
	'SELECT * FROM by_day ORDER BY 1, 2',
	'SELECT * FROM guarded ORDER BY ts, label, v',
	'SELECT * FROM days ORDER BY 1',
	'SELECT srvname, usename, umoptions FROM pg_user_mappings ORDER BY 1, 2');

is($answers{'SELECT * FROM busy ORDER BY 1'}, "0|15|240\n1|15|225", 'the tables have rows to compare');

# ---- Dump and restore -----------------------------------------------------

# Dump a database as text, without the random key of each dump.
sub dumped
{
	my ($dbname, @options) = @_;

	$node->command_ok([ 'pg_dump', '-f', "$dir/text", @options, $dbname ], "$dbname is dumped");
	return slurp_file("$dir/text") =~ s/^\\(un)?restrict .*\n//mgr;
}

# Create a database and return its name.
sub database
{
	my ($dbname) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $dbname");
	return $dbname;
}

sub answers_are_same
{
	my ($dbname, $pattern) = @_;

	foreach my $query (sort keys %answers)
	{
		is($node->safe_psql($dbname, $query), $answers{$query}, "$dbname: $query")
		  if $query =~ $pattern;
	}
	return;
}

my $text = dumped('postgres');
unlike($text, qr/^COPY (?!public.parts_2015)/m, 'foreign tables are dumped without points');

# Every option occurs in the dump.
foreach my $place (
	'CREATE SERVER x FOREIGN DATA WRAPPER mongo_ts_fdw OPTIONS (zzzzzzzz %)',
	'CREATE USER MAPPING FOR CURRENT_USER SERVER mongo OPTIONS (zzzzzzzz %)',
	'CREATE FOREIGN TABLE x (a int) SERVER mongo OPTIONS (zzzzzzzz %)',
	'CREATE FOREIGN TABLE x (a int OPTIONS (zzzzzzzz %)) SERVER mongo')
{
	my (undef, undef, $error) = $node->psql('postgres', $place =~ s/%/''/r);
	my ($names) = $error =~ /HINT:  Valid options in this context are: (.*)\./;

	foreach my $name (split(/, /, $names))
	{
		like($text, qr/\b$name E?'/, "option $name is dumped");
	}
}

$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/text", database('plain') ],
	'a plain dump is restored');
is(dumped('plain'), $text, 'the dump of the restored database is the same');
answers_are_same('plain', qr//);

$node->command_ok([ 'pg_dump', '-Fc', '-f', "$dir/custom", 'postgres' ], 'a dump in the custom format');
$node->command_ok([ 'pg_restore', '-e', '-d', database('custom'), "$dir/custom" ], 'is restored');
is(dumped('custom'), $text, 'the dump of the database restored by pg_restore is the same');
answers_are_same('custom', qr//);

# ---- The points -----------------------------------------------------------

$node->command_ok([ 'pg_dump', '-Fc', '-f', "$dir/points", '--include-foreign-data=data', 'postgres' ],
	'pg_dump includes the points on request');
database('points');
$node->command_ok([ 'pg_restore', '-e', '-d', 'points', '--section=pre-data', "$dir/points" ],
	'the tables of the dump with points are restored');
$node->safe_psql('points', <<'END');
	ALTER SERVER data OPTIONS (SET database 'mts_dump_copy');
	SELECT mongo_ts_command('data', '{"dropDatabase": 1}');
END
$node->command_ok([ 'pg_restore', '-e', '-d', 'points', '--section=data', "$dir/points" ],
	'the points of the dump are written to another database');
answers_are_same('points', qr/FROM (parts|guarded|lists)/);
my $buckets = q{SELECT mongo_ts_command('data', '{"count": "lists"}')->'n'};
is($node->safe_psql('points', $buckets), $node->safe_psql('postgres', $buckets), 'the restored points have as many buckets');

$node->stop;

done_testing();
