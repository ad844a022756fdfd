# Proves, on a replica set, that what a transaction writes again has the effect
# that it has reported, and that its statements see its writes as they see those
# of a local table.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use MongoTS::HaltProxy;
use MongoTS::Node;
use Test::More;
use Time::HiRes qw(sleep);

skip_without_mongod();

my $set = set_start(1);
my $node = new_node('own_writes', uri => undef);

create_server($node, 'mongo', set_uri($set), q{database 'own_writes'});
$node->safe_psql('postgres', <<'END');
	CREATE FOREIGN TABLE points (ts timestamptz OPTIONS (field 'h'), k text, v float8 OPTIONS (field 'v.{minute}')) SERVER mongo;
	SELECT mongo_ts_create_index('points');
	-- the same collection, as TRUNCATE locks the table
	CREATE FOREIGN TABLE same (ts timestamptz OPTIONS (field 'h'), k text, v float8 OPTIONS (field 'v.{minute}')) SERVER mongo
		OPTIONS (collection 'points');
	CREATE FOREIGN TABLE lists (ts timestamptz OPTIONS (field 'h'), k text, v float8 OPTIONS (field 'v[{minute}]')) SERVER mongo;
	SELECT mongo_ts_create_index('lists');
	CREATE FOREIGN TABLE days (ts timestamptz OPTIONS (field 'h'), k text, v float8 OPTIONS (field 'v.{minute}')) SERVER mongo
		OPTIONS (collection 'days_%Y%m%d');
	CREATE FOREIGN TABLE documents (ts timestamptz, k text, v float8) SERVER mongo;
	SELECT mongo_ts_command('mongo', '{"createIndexes": "documents", "indexes": [{"key": {"v": 1}, "name": "v", "unique": true}]}');
	CREATE TABLE local (ts timestamptz, k text, v float8);
	CREATE FUNCTION write_all(name text) RETURNS int LANGUAGE plpgsql VOLATILE AS $$
	BEGIN
		EXECUTE format('UPDATE %I SET v = v + 10', name);
		RETURN 1;
	END $$;
END

my $writer = session_start($node);
my $other = session_start($node);
my ($out, $err);
my $day = 0;

# Execute statements of a session one by one; return the output of the last
# one, and its error.
sub run_all
{
	my ($session, @statements) = @_;

	($out, $err) = session_query($session, $_) foreach @statements;
	return ($out, $err);
}

# The points, as others see them
sub stored
{
	my ($table) = @_;

	return $node->safe_psql('postgres', "SELECT string_agg(to_char(ts AT TIME ZONE 'UTC', 'DD HH24:MI') || ' ' || k || v, ', ' ORDER BY ts, k) FROM $table");
}

# Begin anew, with three points in two buckets.
sub restart
{
	run_all($writer, 'ROLLBACK');
	run_all($other, 'ROLLBACK');
	$node->safe_psql('postgres', join(';', map { "TRUNCATE $_; INSERT INTO $_ VALUES ('2024-01-01 00:00Z', 'a', 1), ('2024-01-01 00:01Z', 'a', 2), ('2024-01-02 00:00Z', 'a', 3)" }
		  qw(points lists local)));
	$node->safe_psql('postgres', q{TRUNCATE documents; INSERT INTO documents VALUES ('2024-01-01Z', 'a', 1)});
	$day++;
	return;
}

# ---- What is written again ------------------------------------------------

# What has MongoDB's transaction begin again
my %causes = (
	'a new collection' => sub { return sprintf(q{INSERT INTO days VALUES ('2023-01-%02d 00:00Z', 'x', 1)}, $day) },
	'a duplicate' => sub { return q{INSERT INTO documents VALUES ('2024-01-01Z', 'a', 1), ('2024-01-01Z', 'b', 5) ON CONFLICT DO NOTHING} },
	'a savepoint' => sub { return ('SAVEPOINT s', q{INSERT INTO points VALUES ('2024-01-03Z', 'a', 9)}, 'ROLLBACK TO s') },
	'a block' => sub { return q{DO $$ BEGIN BEGIN INSERT INTO points VALUES ('2024-01-03Z', 'a', 9); PERFORM 1 / 0; EXCEPTION WHEN division_by_zero THEN END; END $$} });
my $range = q{DELETE FROM %s WHERE ts < '2024-01-01 02:00Z'};
my %added = (
	'a point of a new bucket' => q{('2024-01-01 01:30Z', 'b', 7)},
	'a point of a removed bucket' => q{('2024-01-01 00:30Z', 'a', 7)});

foreach my $cause (sort keys %causes)
{
	foreach my $statement ($range, 'TRUNCATE %s')
	{
		foreach my $point (sort keys %added)
		{
			restart();
			run_all($writer, 'BEGIN', sprintf($statement, 'points'), $causes{$cause}->());
			is($err, '', "$statement, $cause");
			run_all($writer, 'COMMIT');
			is($err, '', '.. is written again if nothing has changed');
			is(stored('points'), $statement =~ m/^TRUNCATE/ ? '' : '02 00:00 a3', '.. with the same effect');

			restart();
			run_all($writer, 'BEGIN', sprintf($statement, 'points'));
			# a bucket that is removed stays locked until it is begun again
			run_all($other, "INSERT INTO same VALUES $added{$point}") if $point =~ m/new/;
			run_all($writer, $causes{$cause}->());
			if ($cause =~ m/savepoint|block/)
			{
				is($err, '', '.. which does nothing at once');
				run_all($other, "INSERT INTO same VALUES $added{$point}") if $point =~ m/removed/;
				run_all($writer, 'COMMIT');
			}
			elsif ($point =~ m/removed/)
			{
				next;
			}
			like($err, qr/ERROR:  40001: .*Another session has changed what this transaction has removed\..*HINT:  Run the transaction again/s,
				".. it fails after $point");
			run_all($writer, 'ROLLBACK');
			like(stored('points'), qr/[ab]7/, '.. which stays');
		}
	}
}

# One bucket is removed, and another one added, so that their number is the same.
restart();
run_all($writer, 'BEGIN', sprintf($range, 'points'), $causes{'a savepoint'}->());
run_all($other, q{BEGIN; DELETE FROM points WHERE ts < '2024-01-01 01:00Z'; INSERT INTO points VALUES ('2024-01-01 01:30Z', 'b', 7), ('2024-01-01 01:31Z', 'b', 8); COMMIT});
run_all($writer, 'COMMIT');
like($err, qr/ERROR:  40001: .*has removed/s, 'equal numbers do not prove that the same is removed');
is(stored('points'), '01 01:30 b7, 01 01:31 b8, 02 00:00 a3', '.. so what another session has stored stays');

# A partly removed bucket can get other points meanwhile.
restart();
$node->safe_psql('postgres', q{INSERT INTO points VALUES ('2024-01-02 00:50Z', 'a', 4)});
run_all($writer, 'BEGIN', q{DELETE FROM points WHERE ts < '2024-01-02 00:30Z'}, $causes{'a savepoint'}->());
run_all($other, q{INSERT INTO points VALUES ('2024-01-02 00:45Z', 'a', 7)});
run_all($writer, 'COMMIT');
is($err, '', 'a point that a range DELETE does not remove');
is(stored('points'), '02 00:45 a7, 02 00:50 a4', '.. does no harm');

# A write of a single document waits for what follows it.  Its own failure is not that
# of another session, which a client would repeat for ever.
foreach my $failing (q{INSERT INTO documents VALUES ('2024-01-01Z', 'b', 1)}, q{UPDATE documents SET v = 1 WHERE v = 2})
{
	restart();
	run_all($writer, q{INSERT INTO documents VALUES ('2024-01-01Z', 'a', 2)});
	run_all($writer, "DO \$\$ BEGIN $failing; PERFORM count(*) FROM documents; END \$\$");
	like($err, qr/ERROR:  23505: .*E11000 duplicate key/s, "$failing: a duplicate key is no conflict");
}

# REPEATABLE READ: what was read before has changed.
restart();
run_all($writer, 'BEGIN ISOLATION LEVEL REPEATABLE READ', 'SELECT count(*) FROM points');
run_all($other, q{INSERT INTO points VALUES ('2024-01-01 01:30Z', 'b', 7)});
run_all($writer, sprintf($range, 'points'));
like($err, qr/ERROR:  40001: .*A bucket has been added, changed or removed/s, 'REPEATABLE READ: a range DELETE does not remove what it cannot see');
is(stored('points'), '01 00:00 a1, 01 00:01 a2, 01 01:30 b7, 02 00:00 a3', '.. which stays');
restart();
run_all($writer, 'BEGIN ISOLATION LEVEL REPEATABLE READ', 'SELECT count(*) FROM points', sprintf($range, 'points'), 'COMMIT');
is($err, '', '.. but what it sees');
is(stored('points'), '02 00:00 a3', '.. is removed');

# A statement by itself waits, and counts what it removes.
foreach my $end ('COMMIT', 'ROLLBACK')
{
	restart();
	run_all($other, 'BEGIN', q{INSERT INTO points VALUES ('2024-01-01 00:30Z', 'a', 7)});
	session_send($writer, sprintf($range, 'points'));
	sleep(1);
	ok(!session_has_answered($writer), "a range DELETE waits for another transaction's points");
	run_all($other, $end);
	($out, $err) = session_wait($writer);
	is($err, '', "$end: .. and then");
	is(stored('points'), '02 00:00 a3', '.. removes what is there');
}
foreach my $end ('COMMIT', 'ROLLBACK')
{
	restart();
	run_all($other, 'BEGIN', q{INSERT INTO points VALUES ('2024-01-01 00:30Z', 'a', 7)});
	session_send($writer, q{DO $$ DECLARE n int; BEGIN DELETE FROM points WHERE ts < '2024-01-01 02:00Z'; GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE 'removed %', n; END $$});
	sleep(1);
	run_all($other, $end);
	(undef, $err) = session_wait($writer);
	like($err, $end eq 'COMMIT' ? qr/removed 3$/m : qr/removed 2$/m, "$end: it counts what it has removed");
	is(stored('points'), '02 00:00 a3', '.. and that is all');
}

# The transaction begins again between the buckets of two collections.
my $proxy = halt_start(set_uri($set) =~ s/,.*|\?.*//r);

create_server($node, 'halting', halt_uri($proxy), q{database 'own_writes'});
create_server($node, 'admin', set_uri($set), q{database 'admin'});
$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE halted (ts timestamptz OPTIONS (field 'h'), k text, v float8 OPTIONS (field 'v.{minute}')) SERVER halting OPTIONS (collection 'days_%Y%m%d');
	INSERT INTO days VALUES ('2022-01-01 00:00Z', 'x', 1), ('2022-01-02 00:00Z', 'x', 2)});
halt_at($proxy, 'request', 'find days_20220102');
session_send($writer, q{DO $$ DECLARE n int; BEGIN DELETE FROM halted WHERE ts < '2022-01-03Z'; GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE 'removed %', n; END $$});
is(halt_await($proxy), 'find days_20220102', 'a range DELETE has read the first of two collections');
$node->safe_psql('postgres', q{INSERT INTO days VALUES ('2022-01-01 00:30Z', 'x', 7); SELECT mongo_ts_command('admin', '{"killAllSessions": []}')});
halt_end($proxy, 'pass');
(undef, $err) = session_wait($writer);
like($err, qr/removed 3$/m, '.. it reads that again if the transaction begins again');
is($node->safe_psql('postgres', q{SELECT count(*) FROM days WHERE ts < '2022-01-03Z'}), 0, '.. and removes it');

# A DELETE that fails while it reads leaves no transaction that has begun.
foreach my $level ('READ COMMITTED', 'REPEATABLE READ')
{
	restart();
	$node->safe_psql('postgres', q{SELECT mongo_ts_command('mongo', '{"insert": "points", "documents": [{"h": {"$date": "2024-01-01T01:00:00Z"}, "k": "a", "v": {"0": "bad"}}]}')});
	run_all($writer, "BEGIN ISOLATION LEVEL $level", 'SAVEPOINT s', sprintf($range, 'points'));
	like($err, qr/ERROR:  .*bad/s, "$level: a range DELETE finds what it cannot read");
	run_all($writer, 'ROLLBACK TO s');
	run_all($other, q{INSERT INTO same VALUES ('2024-01-02 00:30Z', 'a', 7)});
	run_all($writer, q{INSERT INTO points VALUES ('2024-01-02 00:31Z', 'a', 8)});
	is($err, '', '.. and what follows is a transaction of its own');
	run_all($writer, 'COMMIT');
	is($node->safe_psql('postgres', q{SELECT count(*) FROM points WHERE ts >= '2024-01-02Z'}), 3, '.. which stores its points');
}

# A move does not overwrite what another session has stored meanwhile, where
# MongoDB cannot be told that a slot is free.
foreach my $table (qw(points lists))
{
	restart();
	run_all($writer, 'BEGIN', "UPDATE $table SET ts = '2024-01-01 00:30Z' WHERE v = 2", $causes{'a savepoint'}->());
	is($err, '', "$table: a point moves");
	run_all($other, "INSERT INTO $table VALUES ('2024-01-01 00:30Z', 'a', 7)");
	run_all($writer, 'COMMIT');
	like($err, qr/ERROR:  40001: /, '.. not to the slot of a point that was stored meanwhile');
	is(stored($table), '01 00:00 a1, 01 00:01 a2, 01 00:30 a7, 02 00:00 a3', '.. which stays');
}

# ---- What statements see --------------------------------------------------

# Run statements over the foreign table and the local one; return what each
# prints.
sub outputs
{
	my (@statements) = @_;
	my %out;

	restart();
	foreach my $table (qw(points local))
	{
		$out{$table} = '';
		foreach my $statement ('BEGIN', @statements, 'ROLLBACK')
		{
			($out, $err) = session_query($writer, $statement =~ s/TABLE/$table/gr);
			$out{$table} .= "$out\n$err\n";
		}
		$out{$table} =~ s/psql:<stdin>:\d+: |$table/ /g;
	}
	return @out{qw(points local)};
}

# Check that both print the same.
sub check_same
{
	my ($name, @statements) = @_;
	my ($got, $expected) = outputs(@statements);

	is($got, $expected, $name);
	unlike($got, qr/ERROR/, '.. without an error');
	return;
}

# Check that both print the same lines, in any order.
sub check_same_rows
{
	my ($name, @statements) = @_;
	my ($got, $expected) = map { [ sort split /\n/ ] } outputs(@statements);

	is_deeply($got, $expected, $name);
	is_deeply([ grep { /ERROR/ } @$got ], [], '.. without an error');
	return;
}

my $first = q{INSERT INTO TABLE VALUES ('2024-01-03Z', 'c', 5)};
my $update = 'UPDATE TABLE SET v = v + 10';

foreach my $before ([], [$first])
{
	my $name = @$before ? 'after a write' : 'before any write';

	foreach my $query ('SELECT v FROM TABLE ORDER BY v', 'SELECT sum(v), count(*) FROM TABLE', 'SELECT k, max(v) FROM TABLE GROUP BY k ORDER BY k',
		'SELECT v FROM TABLE WHERE ts > (SELECT min(ts) FROM TABLE) ORDER BY v', 'SELECT v FROM TABLE ORDER BY ts DESC LIMIT 2',
		'SELECT v FROM TABLE UNION ALL SELECT -v FROM TABLE ORDER BY 1', q{SELECT DISTINCT ON (k) k, v FROM TABLE ORDER BY k, ts DESC})
	{
		check_same("$name: $query", @$before, "DECLARE c CURSOR FOR $query", $update, 'FETCH ALL c');
		check_same('.. and a DELETE', @$before, "DECLARE c CURSOR FOR $query", q{DELETE FROM TABLE WHERE ts < '2024-01-02Z'}, 'FETCH ALL c');
	}
	check_same("$name: a cursor is read forward and backward", @$before, 'DECLARE c SCROLL CURSOR FOR SELECT v FROM TABLE ORDER BY v', $update,
		'FETCH ALL c', 'FETCH BACKWARD ALL c', $update, 'FETCH ALL c');
	check_same("$name: the rollback of a savepoint", @$before, 'DECLARE c CURSOR FOR SELECT v FROM TABLE ORDER BY v', 'SAVEPOINT s', $update, 'ROLLBACK TO s', $update,
		'FETCH ALL c');
	check_same("$name: a cursor of PL/pgSQL", @$before, <<'END');
		DO $$
		DECLARE
			c refcursor;
			n float8;
		BEGIN
			OPEN c FOR SELECT sum(v) FROM TABLE;
			UPDATE TABLE SET v = v + 10;
			FETCH c INTO n;
			RAISE NOTICE '%', n;
		END $$
END
	check_same("$name: $_", @$before, $_)
	  foreach q{SELECT write_all('TABLE'), (SELECT sum(v) FROM TABLE)}, q{SELECT write_all('TABLE'), sum(v) FROM TABLE},
	  q{SELECT write_all('TABLE') UNION ALL SELECT v FROM TABLE ORDER BY 1}, q{SELECT w, v FROM write_all('TABLE') w, TABLE ORDER BY v};
}

# A large one is kept in a file.
check_same('a cursor of many rows', $first, q{INSERT INTO TABLE SELECT timestamptz '2025-01-01Z' + i * interval '1 min', repeat('k', 100), i FROM generate_series(1, 30000) i},
	'DECLARE c CURSOR FOR SELECT count(*), sum(v), max(k) FROM (SELECT * FROM TABLE OFFSET 0) r', $update, 'FETCH ALL c');

# A scan has read a part of a bucket, whose points are read one by one, when a
# function writes, and then all that follows is read; so are other cursors, whose
# next batches are on their way.
$node->safe_psql('postgres', <<'END');
	ALTER FOREIGN TABLE points ALTER v OPTIONS (SET field 'v.{minute}.{second}'), OPTIONS (ADD collection 'seconds', ADD fetch_size '2');
	INSERT INTO points TABLE local;
END
my @many = ('SET LOCAL mongo_ts_fdw.enable_column_reader = off',
	q{INSERT INTO TABLE SELECT timestamptz '2025-01-01Z' + i * interval '6 s', 'k' || i % 2, i FROM generate_series(1, 3000) i});

check_same("a write at row $_", @many, "SELECT * FROM (SELECT ts, k, v, CASE WHEN v = $_ THEN write_all('TABLE') END FROM TABLE OFFSET 0) r ORDER BY ts, v")
  foreach 12, 14, 1200, 2999;
foreach my $query ('SELECT k, v FROM TABLE', 'SELECT v FROM TABLE ORDER BY ts')
{
	check_same_rows("$query: two cursors that have begun", @many, "DECLARE c CURSOR FOR $query", "DECLARE d CURSOR FOR $query", 'FETCH 100 c', 'FETCH 150 d', 'FETCH 100 c', $update,
		'FETCH 20 d', 'FETCH ALL c', $update, 'FETCH ALL d');
	check_same_rows('.. or have returned all', @many, "DECLARE c CURSOR FOR $query", "DECLARE d CURSOR FOR $query", 'FETCH ALL c', 'FETCH ALL d', $update, 'FETCH c', 'FETCH ALL d');
}
$node->safe_psql('postgres', q{ALTER FOREIGN TABLE points ALTER v OPTIONS (SET field 'v.{minute}'), OPTIONS (DROP collection, DROP fetch_size)});

# Cursors WITH HOLD
foreach my $table (qw(points local))
{
	restart();
	run_all($writer, 'BEGIN', $first =~ s/TABLE/$table/r, "DECLARE c CURSOR WITH HOLD FOR SELECT v FROM $table ORDER BY v", $update =~ s/TABLE/$table/r, 'COMMIT', 'FETCH ALL c');
	is($out, "1\n2\n3\n5", "$table: a cursor WITH HOLD does not see a later write");
	run_all($writer, 'CLOSE c');
}

# What is asked for later, and cannot be read before, is an error.
restart();
run_all($writer, 'BEGIN', $first =~ s/TABLE/points/r, q{SELECT write_all('points'), (SELECT sum(v) FROM points p WHERE p.k = x.k) FROM (VALUES ('a'), ('b')) x (k)});
like($err, qr/ERROR:  0A000: could not read MongoDB collection "own_writes.points"\nDETAIL:  The transaction has written to the collection since the statement began/,
	'a subquery that depends on its row, after a write');

session_end($_) foreach $writer, $other;
my @failed = grep { !$_ } Test::More->builder->summary;

is(@failed, 0, sprintf('own_writes: of %d tests, %d differ', scalar(Test::More->builder->summary), scalar(@failed)));
$node->stop;
done_testing();
