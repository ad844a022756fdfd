# Lists the cases that MongoTS/Leaks.pm repeats in one backend.  Each has a
# name and one of these keys:
#
# rows: a query in parentheses, rescanned in one statement loop: statements of
# PL/pgSQL, in one transaction each: statements that are sent one by one;
# fails: the SQLSTATE of their error; timeout: the statement_timeout
#
# A slow case has share, by which the number of iterations is multiplied.  An i
# in a statement stands for the iteration's number.

package MongoTS::LeakCases;

use strict;
use warnings;

use Exporter qw(import);

use constant SLOW => 0.25;

our @EXPORT = qw(@leak_cases leak_tables);

# The bucket of an iteration: one of a few, or one of its own
my $few = q(timestamptz '2020-01-01 00:00Z' + i % 20 * interval '1 minute');
my $new = q(timestamptz '2021-01-01 00:00Z' + i * interval '1 minute');
my $minute = q(interval '1 minute');

# ---- Tables: the points of 20 minutes, two a bucket -----------------------

sub leak_tables
{
	my $point = q(ts timestamptz, k text, v int OPTIONS (field 'v.{second}'));

	return <<"END";
		SELECT mongo_ts_command('mongo', '{"dropDatabase": 1}');
		CREATE FOREIGN TABLE points (ts timestamptz, k text,
			v int OPTIONS (field 'v.{second}', sum_field 'total', max_field 'hi'))
			SERVER mongo OPTIONS (count_field 'n');
		CREATE FOREIGN TABLE pushed (ts timestamptz OPTIONS (field 'p[].t'),
			k text, v int OPTIONS (field 'p[].v', sum_field 'total'))
			SERVER mongo OPTIONS (bucket_time_field 'm',
				bucket_span '1 minute', bucket_max_points '10');
		CREATE FOREIGN TABLE rolling ($point)
			SERVER mongo OPTIONS (collection 'rolling_%Y%m%d');
		CREATE FOREIGN TABLE flat (ts timestamptz, k text, v int) SERVER mongo;
		CREATE FOREIGN TABLE invalid ($point) SERVER mongo;
		CREATE FOREIGN TABLE skipping ($point)
			SERVER mongo OPTIONS (collection 'invalid', on_invalid 'skip');
		CREATE FOREIGN TABLE brief ($point)
			SERVER brief OPTIONS (collection 'points');
		CREATE FOREIGN TABLE away ($point) SERVER away;
		CREATE FOREIGN TABLE away_briefly ($point) SERVER away_briefly;
		CREATE FOREIGN TABLE silent ($point) SERVER silent;
		CREATE FOREIGN TABLE deaf ($point) SERVER deaf;

		SELECT mongo_ts_create_index('points');
		SELECT mongo_ts_create_index('pushed');
		SELECT mongo_ts_command('mongo', '{"createIndexes": "flat", "indexes":
			[{"key": {"ts": 1, "k": 1}, "name": "one", "unique": true}]}');
		INSERT INTO points SELECT timestamptz '2020-01-01 00:00Z'
				+ make_interval(mins => i / 2, secs => i % 2), 'a', i
			FROM generate_series(0, 39) i;
		INSERT INTO pushed SELECT * FROM points;
		INSERT INTO flat SELECT * FROM points;
		INSERT INTO rolling SELECT ts + extract(minute FROM ts) % 5 * interval '1 day', k, v
			FROM points;
		INSERT INTO invalid SELECT * FROM points;
		SELECT mongo_ts_command('mongo', '{"update": "invalid", "updates":
			[{"q": {"v.1": 31}, "u": {"\$set": {"v.0": "no number"}}}]}');
		COPY (SELECT * FROM points) TO PROGRAM 'cat > copied';
		CREATE TABLE series (k text);
		INSERT INTO series VALUES ('a'), ('b');
		CREATE SCHEMA found;
		PREPARE one_row(timestamptz, int) AS INSERT INTO points VALUES (\$1, 'a', \$2);
		PREPARE one_point(timestamptz) AS SELECT v FROM points WHERE ts = \$1;
		SET plan_cache_mode = force_generic_plan;
		SET enable_hashjoin = off;
		SET enable_mergejoin = off;
		SET enable_material = off;
		SET enable_memoize = off;
END
}

# ---- Rescans --------------------------------------------------------------

my @rescans = map { { name => "rescan: $_->[0]", rows => $_->[1], share => $_->[2] } } (
	[ 'a point', "(SELECT v FROM points WHERE ts = $few)" ],
	[ 'a limit', "(SELECT v FROM points WHERE ts >= $few LIMIT 1)" ],
	[ 'to the end', "(SELECT v FROM points WHERE ts >= $few AND v < 0)" ],
	[ 'an aggregate', "(SELECT count(*), sum(v) FROM points WHERE ts < $few)" ],
	[ 'an aggregate of groups', '(SELECT date_trunc(\'hour\', ts), avg(v) FROM points '
	  . "WHERE ts < $few + interval '30 seconds' GROUP BY 1 LIMIT 1)" ],
	[ 'an aggregate of rows', "(SELECT string_agg(v::text, '') FROM points WHERE ts < $few)" ],
	[ 'the last point', "(SELECT v FROM points WHERE ts < $few ORDER BY ts DESC LIMIT 1)", SLOW ],
	[ 'by key and time', "(SELECT v FROM points WHERE ts > $few ORDER BY k COLLATE \"C\", ts LIMIT 3)", SLOW ],
	[ 'pushed points in order', "(SELECT v FROM pushed WHERE ts > $few ORDER BY ts LIMIT 1)", SLOW ],
	[ 'a rolling set', "(SELECT v FROM rolling WHERE ts >= $few LIMIT 1)" ],
	[ 'a rolling set in order', "(SELECT v FROM rolling WHERE ts <= $few ORDER BY ts DESC LIMIT 1)", SLOW ],
	[ 'a rolling set aggregated', '(SELECT avg(v) FROM rolling WHERE ts >= '
	  . "$few + i % 4 * interval '1 day')" ],
	[ 'what is invalid is skipped', "(SELECT v FROM skipping WHERE ts >= $few AND v < 0)" ],
	[ 'a joined key', "(SELECT p.v FROM series s JOIN points p USING (k) WHERE p.ts = $few)" ]);

# ---- Errors ---------------------------------------------------------------

my @errors = (
	{ name => 'error: an invalid value', fails => '22P02',
		each => 'SELECT v FROM invalid' },
	{ name => 'error: an invalid value in an aggregate', fails => '22P02',
		each => 'SELECT sum(v) FROM invalid' },
	{ name => 'error: an invalid value in order', share => SLOW, fails => '22P02',
		each => 'SELECT v FROM invalid ORDER BY ts' },
	{ name => 'error: a division by zero', fails => '22012',
		each => 'SELECT 1 / (v - 11) FROM points' },
	{ name => 'error: a division by zero in an aggregate', fails => '22012',
		each => 'SELECT sum(1 / (v - 11)) FROM points' },
	{ name => 'error: a division by zero in a rolling set', fails => '22012',
		each => 'SELECT 1 / (v - 11) FROM rolling' },
	{ name => 'error: a key that is there', fails => '23505',
		each => q(INSERT INTO flat VALUES ('2020-01-01 00:00Z', 'a', 1)) },
	{ name => 'error: a value that cannot be stored', fails => '22008',
		each => q(INSERT INTO points VALUES ('2020-01-01 00:00Z', 'a', 1), ('infinity', 'a', 1)) },
	{ name => 'error: in the midst of an INSERT', share => SLOW, fails => '22012',
		each => 'INSERT INTO points SELECT ts, k, 1 / (v - 11) FROM flat' },
	{ name => 'error: in the midst of an UPDATE', fails => '22012',
		each => 'UPDATE points SET v = 1 / (v - 11)' },
	{ name => 'error: no server', fails => 'HV00N', each => 'SELECT v FROM away' },
	{ name => 'error: no server, nothing kept', fails => 'HV00N',
		each => 'SELECT v FROM away_briefly' },
	{ name => 'error: a command that fails', fails => 'HV000',
		each => q(SELECT mongo_ts_command('mongo', '{"noSuchCommand": 1}')) },
	{ name => 'subtransaction: a parallel scan that cannot be divided',
		loop => q(BEGIN SET LOCAL parallel_setup_cost = 0; SET LOCAL min_parallel_table_scan_size = 0;
			PERFORM count(*) FROM silent WHERE v % 3 = 0; ASSERT false;
			EXCEPTION WHEN SQLSTATE 'HV000' THEN PERFORM mongo_ts_disconnect('silent'); END) },
	map { { name => "subtransaction: $_->[0]", share => $_->[3],
			loop => "BEGIN $_->[1]; EXCEPTION WHEN OTHERS THEN "
			  . "IF SQLSTATE <> '$_->[2]' THEN RAISE; END IF; END" } } (
		[ 'an invalid value', 'PERFORM v FROM invalid', '22P02' ],
		[ 'a division by zero', 'PERFORM 1 / (v - 11) FROM points ORDER BY ts', '22012', SLOW ],
		[ 'a loop that is left', "FOR p IN SELECT * FROM points LOOP PERFORM 1 / (p.v - 3); END LOOP", '22012' ],
		[ 'an INSERT that fails', q(INSERT INTO flat VALUES ('2020-01-01 00:00Z', 'a', 1)), '23505' ],
		[ 'an INSERT in a loop that is left',
			"FOR p IN SELECT * FROM flat LOOP INSERT INTO points VALUES (p.ts, p.k, 1 / (p.v - 2)); END LOOP", '22012', SLOW ],
		[ 'no error', "INSERT INTO points VALUES ($few, 'a', i)", '' ]));

# ---- Cancels --------------------------------------------------------------

# A backend cancels itself, so that it is certain to be in the statement.
my $cancel = 'pg_cancel_backend(pg_backend_pid()) IS NULL';
my @cancels = (
	(map { { name => "cancel: $_->[0]", fails => '57014', each => $_->[1], share => $_->[2] } } (
		[ 'a scan', "SELECT v FROM points WHERE v < 10 OR $cancel" ],
		[ 'an aggregate', "SELECT count(*) FROM points WHERE v < 10 OR $cancel" ],
		[ 'a scan in order', "SELECT v FROM pushed WHERE v < 10 OR $cancel ORDER BY ts", SLOW ],
		[ 'an INSERT', "INSERT INTO points SELECT ts, k, v FROM flat WHERE v < 10 OR $cancel" ],
		[ 'an UPDATE', "UPDATE points SET v = v WHERE v < 10 OR $cancel" ])),
	(map { { name => "cancel: $_->[0]", fails => $_->[2] // '57014', timeout => '3ms', each => $_->[1] } } (
		[ 'a silent server', 'SELECT v FROM silent' ],
		[ 'an INSERT, a silent server', q(INSERT INTO silent VALUES ('2020-01-01 00:00Z', 'a', 1)), '(?:08007|57014)' ],
		[ 'a connect, a silent server', 'SELECT v FROM deaf' ])));

# ---- Writes ---------------------------------------------------------------

my @writes = (
	(map { { name => "write: $_->[0]", each => $_->[1] } } (
		[ 'a row', "INSERT INTO points VALUES ($few, 'a', i)" ],
		[ 'a row of a new bucket', "INSERT INTO points VALUES ($new, 'b', i)" ],
		[ 'rows', "INSERT INTO points SELECT $few + s * $minute, 'a', s FROM generate_series(0, 9) s" ],
		[ 'a row that is pushed', "INSERT INTO pushed VALUES ($new, 'a', i)" ],
		[ 'a document', "INSERT INTO flat VALUES ($new, 'a', i)" ],
		[ 'a row of a rolling set', "INSERT INTO rolling VALUES ($few + interval '1 second', 'a', i)" ],
		[ 'a row that is there', "INSERT INTO points VALUES ($few, 'a', 0) ON CONFLICT DO NOTHING" ],
		[ 'a prepared row', "EXECUTE one_row($few, i)" ],
		[ 'UPDATE', "UPDATE points SET v = i WHERE ts = $few AND k = 'a'" ],
		[ 'UPDATE of a key', "UPDATE points SET k = CASE k WHEN 'a' THEN 'c' ELSE 'a' END WHERE ts = $few" ])),
	{ name => 'write: COPY', each => q(COPY points FROM 'copied') },
	{ name => 'write: UPDATE RETURNING',
		each => "WITH u AS (UPDATE pushed SET v = v + 1 WHERE ts = $few RETURNING v) SELECT FROM u WHERE false" },
	{ name => 'write: INSERT RETURNING',
		each => "WITH n AS (INSERT INTO flat VALUES ($new, 'c', i) RETURNING *) SELECT FROM n WHERE false" },
	{ name => 'write: DELETE of a point',
		each => [ "DELETE FROM points WHERE ts = $few AND k = 'a'",
			"INSERT INTO points VALUES ($few, 'a', i)" ] },
	{ name => 'write: DELETE of a range',
		each => [ "INSERT INTO flat VALUES (timestamptz '2022-01-01 00:00Z', 'a', 1)",
			q(DELETE FROM flat WHERE ts >= '2022-01-01') ] });

# ---- Cursors and transactions ---------------------------------------------

my @cursors = (
	{ name => 'cursor: closed', each => [ 'BEGIN',
		'DECLARE c CURSOR FOR SELECT ts FROM points', 'MOVE 7 FROM c', 'CLOSE c', 'COMMIT' ] },
	{ name => 'cursor: open at COMMIT', share => SLOW, each => [ 'BEGIN',
		'DECLARE c CURSOR FOR SELECT ts FROM points ORDER BY ts', 'MOVE 7 FROM c', 'COMMIT' ] },
	{ name => 'cursor: open at ROLLBACK', each => [ 'BEGIN',
		'DECLARE c CURSOR FOR SELECT ts FROM points', 'MOVE 7 FROM c', 'ROLLBACK' ] },
	{ name => 'cursor: open at ROLLBACK TO', each => [ 'BEGIN', 'SAVEPOINT s',
		'DECLARE c CURSOR FOR SELECT ts FROM rolling', 'MOVE 3 FROM c', 'ROLLBACK TO s', 'COMMIT' ] },
	{ name => 'cursor: WITH HOLD', each => [
		'DECLARE c CURSOR WITH HOLD FOR SELECT ts FROM points', 'MOVE 3 FROM c', 'CLOSE c' ] },
	{ name => 'cursor: of a function', loop =>
		'OPEN c FOR SELECT v FROM points; FETCH c INTO p; CLOSE c' },
	{ name => 'transaction: aborted', each => [ 'BEGIN',
		"INSERT INTO points VALUES ($few, 'a', i)", 'SELECT FROM points LIMIT 0',
		'DO $$ BEGIN PERFORM v FROM points LIMIT 1; END $$', 'ROLLBACK' ] });

# ---- Other statements -----------------------------------------------------

my @others = (
	{ name => 'a generic plan', each => "DO \$\$ BEGIN PERFORM v FROM points WHERE ts = $few; END \$\$" },
	{ name => 'no connection is kept', each => 'DO $$ BEGIN PERFORM v FROM brief LIMIT 1; END $$' },
	{ name => 'a connection is closed', loop => "PERFORM v FROM points LIMIT 1; PERFORM mongo_ts_disconnect('mongo')" },
	{ name => 'a server is altered', share => SLOW, each => [
		q(ALTER SERVER brief OPTIONS (SET fetch_size '3')), 'SELECT FROM brief WHERE false',
		'DO $$ BEGIN PERFORM v FROM brief; END $$' ] },
	{ name => 'mongo_ts_command', loop => q(PERFORM mongo_ts_command('mongo', '{"ping": 1}')) },
	{ name => 'mongo_ts_find', loop => q(PERFORM mongo_ts_find('mongo', 'points', '{}', NULL)) },
	{ name => 'mongo_ts_find ended early', loop => q(PERFORM mongo_ts_find('mongo', 'points', '{}', NULL) LIMIT 1) },
	{ name => 'mongo_ts_create_index', share => SLOW, loop => q(PERFORM mongo_ts_create_index('points')) },
	{ name => 'mongo_ts_preallocate', share => SLOW, loop =>
		q(PERFORM mongo_ts_preallocate('rolling', '2020-01-01', '2020-01-01 00:05Z', '{"k": "p"}')) },
	{ name => 'mongo_ts_connections', loop => 'PERFORM mongo_ts_connections()' },
	{ name => 'EXPLAIN', each => q(DO $$ BEGIN EXECUTE 'EXPLAIN (VERBOSE) SELECT k, avg(v) FROM rolling GROUP BY k'; END $$) },
	{ name => 'EXPLAIN ANALYZE', each => q(DO $$ BEGIN EXECUTE 'EXPLAIN ANALYZE SELECT k, avg(v) FROM points GROUP BY k'; END $$) },
	{ name => 'ANALYZE', share => SLOW, each => 'ANALYZE points' },
	{ name => 'IMPORT', share => SLOW, each => [
		'IMPORT FOREIGN SCHEMA leaks LIMIT TO (points, pushed) FROM SERVER mongo INTO found',
		'DROP FOREIGN TABLE found.points, found.pushed' ] },
	{ name => 'TRUNCATE', share => SLOW, each => [ 'TRUNCATE rolling',
		"INSERT INTO rolling VALUES ($few, 'a', i)" ] });

our @leak_cases = (@rescans, @errors, @cancels, @cursors, @others, @writes);

1;
