# Proves that the reads of a statement see one moment of a replica set, that
# they see the session's own writes, and what MongoDB refuses.
#
# Most tests run twice.  With consistency 'none' they show what happens without
# it: the test fails if a statement sees one moment there, too.
#
# QUERIES (default 200) sets the number of queries that run beside a writer.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use MongoTS::Node;
use MongoTS::Wire;
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep time);

skip_without_mongod();

my $queries = $ENV{QUERIES} || 200;
my $set = set_start();
my ($first) = set_member_uri($set, 1) =~ m/:(\d+)/;
plan skip_all => 'MongoDB before 5.0 reads no moments'
  if wire_command($first, hello => bson_int32(1))->{maxWireVersion} < 13;
my $node = new_node('snapshot', uri => undef, conf => 'max_prepared_transactions = 2');
my @ports = map { set_member_uri($set, $_) =~ m/:(\d+)/ } 1 .. 3;
my ($out, $err, $writer);

END
{
	my $status = $?;
	kill('KILL', $writer) if $writer;
	$? = $status;
}

# ---- Tables ---------------------------------------------------------------

# Create a server, with tables of two collections in a schema of its name.
sub create_tables
{
	my ($name, $uri, $options) = @_;

	create_server($node, $name, $uri, "database 'mts_snapshot'" . ($options ? ", $options" : ''));
	$node->safe_psql('postgres', "CREATE SCHEMA $name");
	$node->safe_psql('postgres', <<"END") foreach qw(a b);
		CREATE FOREIGN TABLE $name.$_ (
			ts timestamptz OPTIONS (field 'm'),
			k  int,
			v  int OPTIONS (field 'v.{second}')
		) SERVER $name OPTIONS (collection '$_');
END
	return;
}

create_tables('statement', set_uri($set), "fetch_size '20'");
create_tables('none', set_uri($set), "fetch_size '20', consistency 'none'");

# Without an index, MongoDB sorts all buckets when the scan begins.
$node->safe_psql('postgres', q{SELECT mongo_ts_command('statement', format('{"createIndexes": "%s", "indexes": [
	{"key": {"m": 1}, "name": "m"}, {"key": {"k": 1, "m": 1}, "name": "k_m"}]}', c)::json) FROM unnest('{a,b}'::text[]) c});

my $session = session_start($node);
my $other = session_start($node);

# Run a statement of a session, and expect no error.
sub run
{
	my ($who, $statement) = @_;
	my ($rows, $error) = session_query($who, $statement);

	is($error, '', "no error: $statement") if $error ne '';
	return $rows;
}

# Fill both collections: 300 buckets of one point each, of 10 keys.
sub fill
{
	run($other, q{TRUNCATE statement.a, statement.b});
	run($other, qq{INSERT INTO statement.$_ SELECT timestamptz '2020-01-01Z' + i * interval '1 min', i % 10, 1
		FROM generate_series(0, 299) i}) foreach qw(a b);
	return;
}

# Move the last 100 points to before the first ones.
my $move = q{UPDATE statement.a SET ts = ts - interval '1 day' WHERE ts >= '2020-01-01 03:20Z'};

# Move the value 1000 from one collection to the other.
my @transfer = (q{UPDATE statement.a SET v = v - 1000 WHERE ts = '2020-01-01 00:07Z'},
	q{UPDATE statement.b SET v = v + 1000 WHERE ts = '2020-01-01 00:07Z'});

# Tell whether a result is the expected one, or with 'none' another one.
sub check
{
	my ($kind, $got, $expected, $name) = @_;

	if ($kind eq 'statement') { is($got, $expected, "$name: one moment") }
	else { isnt($got, $expected, "$name: torn without consistency") }
	return;
}

# ---- The moment of a statement --------------------------------------------

foreach my $kind (qw(statement none))
{
	# a cursor, over a sorted scan that is several finds
	foreach my $order ('', ' ORDER BY ts', ' ORDER BY ts DESC', ' ORDER BY k, ts')
	{
		fill();
		run($session, "BEGIN; DECLARE c CURSOR FOR SELECT ts, k FROM $kind.a$order");
		my $rows = run($session, 'FETCH 10 FROM c');

		run($other, $move);
		$rows .= "\n" . run($session, 'FETCH ALL FROM c');
		run($session, 'COMMIT');
		my %times = map { m/^([^|]*)/ ? ($1 => 1) : () } split(m/\n/, $rows);
		my @early = grep { m/^2019/ } keys %times;
		my $n = () = $rows =~ m/^20/mg;

		check($kind, "$n " . keys(%times) . ' ' . @early, '300 300 0', "moved points beside$order");
	}

	# two collections
	fill();
	run($session, "BEGIN; DECLARE c CURSOR FOR SELECT sum(v) FROM $kind.a UNION ALL SELECT sum(v) FROM $kind.b");
	my $sum = run($session, 'FETCH 1 FROM c');
	run($other, $_) foreach @transfer;
	$sum += run($session, 'FETCH 1 FROM c');
	run($session, 'COMMIT');
	check($kind, $sum, 600, 'a sum of two collections');

	# a rescan
	fill();
	run($session, "BEGIN; DECLARE c CURSOR FOR SELECT (SELECT sum(v) FROM $kind.a WHERE k = i % 10)
		FROM unnest(ARRAY[7, 17]) i");
	$sum = run($session, 'FETCH 1 FROM c');
	run($other, $transfer[0]);
	$sum .= ' ' . run($session, 'FETCH 1 FROM c');
	run($session, 'COMMIT');
	check($kind, $sum, '30 30', 'a rescan');

	# functions: STABLE ones share the snapshot of their caller
	fill();
	run($session, "CREATE FUNCTION total_$_() RETURNS int8 LANGUAGE plpgsql $_ AS
		'BEGIN RETURN (SELECT sum(v) FROM $kind.a); END'") foreach qw(stable volatile);
	run($session, 'BEGIN; DECLARE c CURSOR FOR SELECT total_stable(), total_volatile() FROM generate_series(1, 2)');
	$sum = run($session, 'FETCH 1 FROM c');
	run($other, $transfer[0]);
	$sum .= ' ' . run($session, 'FETCH 1 FROM c');
	run($session, 'COMMIT; DROP FUNCTION total_stable; DROP FUNCTION total_volatile');
	check($kind, $sum, '300|300 300|-700', 'functions');

	# transactions
	fill();
	run($session, 'BEGIN ISOLATION LEVEL REPEATABLE READ');
	$sum = run($session, "SELECT sum(v) FROM $kind.a");
	run($other, $_) foreach @transfer;
	$sum .= ' ' . run($session, "SELECT sum(v) FROM $kind.b");
	run($session, 'COMMIT');
	check($kind, $sum, '300 300', 'REPEATABLE READ');

	# an UPDATE that changes nothing reads several batches
	fill();
	run($session, 'BEGIN ISOLATION LEVEL REPEATABLE READ');
	$sum = run($session, "SELECT sum(v) FROM $kind.a");
	run($other, $_) foreach @transfer;
	run($session, "UPDATE $kind.a SET v = v + 1 WHERE random() < 0");
	$sum .= ' ' . run($session, "SELECT sum(v) FROM $kind.b");
	run($session, 'COMMIT');
	check($kind, $sum, '300 300', 'REPEATABLE READ beside an UPDATE of no row');

	# workers get the leader's time, which is the transaction's here
	fill();
	run($session, q{SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
		SET parallel_leader_participation = off; BEGIN ISOLATION LEVEL REPEATABLE READ});
	$sum = run($session, "SELECT sum(v) FROM $kind.a");
	run($other, $transfer[0]);
	like(run($session, "EXPLAIN (ANALYZE) SELECT sum(v + 0) FROM $kind.a"),
		qr/Workers Launched: [1-9].*Parallel Foreign Scan/s, "$kind: the scan is parallel");
	$sum .= ' ' . run($session, "SELECT sum(v + 0) FROM $kind.a");
	run($session, 'COMMIT; RESET ALL');
	check($kind, $sum, '300 300', 'workers');
}

fill();
run($session, 'BEGIN');
$out = run($session, 'SELECT sum(v) FROM statement.a');
run($other, $transfer[0]);
$out .= ' ' . run($session, 'SELECT sum(v) FROM statement.a');
run($session, 'COMMIT');
is($out, '300 -700', 'READ COMMITTED: each statement sees its own moment');

# ---- Plans ----------------------------------------------------------------

like(run($session, 'EXPLAIN (VERBOSE) SELECT * FROM statement.a'), qr/MongoDB Consistency: statement/, 'EXPLAIN (VERBOSE) shows it');
unlike(run($session, 'EXPLAIN SELECT * FROM statement.a'), qr/Consistency/, '.. and EXPLAIN does not');
unlike(run($session, 'EXPLAIN (VERBOSE) SELECT * FROM none.a'), qr/Consistency/, '.. nor if there is none');

run($session, q{CREATE TABLE local AS SELECT i FROM generate_series(1, 10000) i; ANALYZE local;
	SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
	SET enable_mergejoin = off; SET enable_nestloop = off});
foreach my $kind (qw(statement none))
{
	my $plan = run($session, "EXPLAIN (COSTS OFF) SELECT count(*) FROM local JOIN (SELECT DISTINCT ON (k) * FROM $kind.a ORDER BY k, ts) a ON a.k = i");
	my ($indent, $below) = $plan =~ m/^( *)(?:-> *)?Gather.*?\n(.*)/ms;
	my ($scan) = $plan =~ m/^( *)-> *(?:Async )?Foreign Scan/m;
	my $is_in_worker = length $scan > length($indent // '') && $below =~ m/Foreign Scan/
	  && $below !~ m/^ {0,@{[length $indent]}}->.*Foreign Scan/ms;

	is(!!$is_in_worker, $kind eq 'none', "$kind: workers scan a whole table only if they may see moments of their own") or diag $plan;
}
run($session, 'RESET ALL');

# ---- Own writes -----------------------------------------------------------

create_tables('one', set_uri($set, 'w=1'));
create_tables('secondary', set_uri($set, 'readPreference=secondary'));
create_tables('secondary_none', set_uri($set, 'readPreference=secondary'), "consistency 'none'");

my %insert = (
	statement => 'INSERT INTO statement.a VALUES ($1, 1, 1)',
	one => 'INSERT INTO one.a VALUES ($1, 1, 1)',
	secondary => 'INSERT INTO secondary.a VALUES ($1, 1, 1)');

foreach my $kind (sort keys %insert)
{
	foreach my $isolation ('READ COMMITTED', 'REPEATABLE READ')
	{
		fill();
		run($session, "BEGIN ISOLATION LEVEL $isolation");
		$out = run($session, qq{DO \$\$
			DECLARE seen int8;
			BEGIN
				FOR i IN 1..50 LOOP
					INSERT INTO $kind.a VALUES (timestamptz '2021-01-01Z' + i * interval '1 min', 1, 0);
					UPDATE $kind.a SET v = v + i WHERE ts = timestamptz '2021-01-01Z' + i * interval '1 min';
					SELECT sum(v) INTO seen FROM $kind.a WHERE ts >= '2021-01-01Z';
					IF seen IS DISTINCT FROM i * (i + 1) / 2 THEN
						RAISE 'seen % after %', seen, i;
					END IF;
				END LOOP;
			END\$\$});
		run($session, 'COMMIT');
		is(run($session, "SELECT sum(v) FROM $kind.a WHERE ts >= '2021-01-01Z'"), '1275',
			"$kind: own writes are seen and can be changed under $isolation");
	}
}

# Workers and their leader can read from different secondaries.
run($session, 'SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0');
is(run($session, join(';', map { "UPDATE secondary.a SET v = $_ WHERE k = 1; SELECT sum(v + 0) FROM secondary.a WHERE k = 1" } 1 .. 10)),
	join("\n", map { $_ * 80 } 1 .. 10), 'workers read what the session has written');
run($session, 'RESET ALL');

# A secondary does not know the time of a bulk write yet.
create_tables('nearby', set_uri($set, 'w=1&readPreference=secondary'));
fill();
is(run($session, q{DO $$
	DECLARE
		seen int8;
	BEGIN
		FOR i IN 1..50 LOOP
			INSERT INTO nearby.a SELECT timestamptz '2021-01-01Z' + (2 * i + j) * interval '1 min', 1, 1 FROM generate_series(0, 1) j;
			SELECT sum(v) INTO seen FROM nearby.a WHERE ts >= '2021-01-01Z';
			IF seen IS DISTINCT FROM 2 * i THEN
				RAISE 'seen % after %', seen, 2 * i;
			END IF;
		END LOOP;
	END$$}), '', 'bulk writes are seen on a secondary');

# Secondaries that do not replicate have the write later.
fill();
my ($primary) = set_primary($set);
my @secondaries = grep { $_ != $ports[ $primary - 1 ] } @ports;
run($session, 'SELECT sum(v) FROM secondary.a; SELECT sum(v) FROM secondary_none.a; SELECT sum(v) FROM one.a');
foreach my $kind (qw(secondary secondary_none))
{
	wire_command($_, fsync => bson_int32(1), lock => bson_bool(1)) foreach @secondaries;
	session_send($session, "INSERT INTO one.a VALUES ('2022-01-01Z', 1, 7)");
	session_wait($session);
	# The majority does not have this write yet.
	if ($kind eq 'secondary_none')
	{
		is(run($session, "SELECT sum(v) FROM secondary_none.a WHERE ts = '2022-01-01Z'"), '',
			'without consistency a secondary that is behind has no own writes');
	}
	else
	{
		session_send($session, "SELECT sum(v) FROM one.a WHERE ts = '2022-01-01Z'");
		sleep(1);
		ok(!session_has_answered($session), 'a statement waits until a majority has its own write');
	}
	wire_command($_, fsyncUnlock => bson_int32(1)) foreach @secondaries;
	if ($kind eq 'secondary')
	{
		($out, $err) = session_wait($session);
		is("$out$err", '7', '.. and sees it');
	}
	run($session, "DELETE FROM statement.a WHERE ts = '2022-01-01Z'");
}

# The reply to the first write is read last: the statement sends it early, as its
# rows fill a batch, and waits for it when it has written b.  The next read must
# not be of a moment before the write to b.
create_server($node, 'oplog', set_uri($set), "database 'local'");
run($session, q{CREATE FOREIGN TABLE early (ts timestamptz, v int) SERVER statement OPTIONS (batch_size '10', transactions 'batch');
	ALTER FOREIGN TABLE statement.b OPTIONS (ADD transactions 'batch')});
run($session, q{WITH x AS (INSERT INTO early SELECT timestamptz '2023-01-01Z' + i * interval '1 min', 1
	FROM generate_series(1, 10) i RETURNING *) INSERT INTO statement.b SELECT ts, 1, v FROM x});
my %written = map { $_ => run($other, qq{SELECT x->'ts'->'\$timestamp' FROM jsonb_array_elements(mongo_ts_command('oplog',
	'{"find": "oplog.rs", "filter": {"o.applyOps.ns": "mts_snapshot.$_"}, "sort": {"\$natural": -1}, "limit": 1}')
	->'cursor'->'firstBatch') x}) } qw(early b);
my $log = (session_query($session, q{SET client_min_messages = log; SET mongo_ts_fdw.log_commands = on; SELECT count(*) FROM statement.b}))[1];
session_query($session, 'RESET ALL');
my %times = map { my ($i, $t) = $written{$_} =~ m/^\{"i": (\d+), "t": (\d+)\}$/; $_ => $t << 32 | $i } qw(early b);
my $read = $log =~ m/find: "b",.* afterClusterTime: Timestamp\((\d+), (\d+)\)/ ? $1 << 32 | $2 : 0;
cmp_ok($times{early}, '<', $times{b}, 'a statement writes to one collection before another');
cmp_ok($times{b}, '<=', $read, '.. and the next read is not before the later write, whose reply was read first') or diag $log;

# ---- What MongoDB refuses -------------------------------------------------

create_tables('concern', set_uri($set, 'readConcernLevel=snapshot'));
create_tables('concern_none', set_uri($set, 'readConcernLevel=snapshot'), "consistency 'none'");
create_tables('majority', set_uri($set, 'readConcernLevel=majority'));
create_tables('linearizable', set_uri($set, 'readConcernLevel=linearizable'));
fill();
foreach my $kind (qw(concern concern_none majority linearizable))
{
	run($session, "ANALYZE $kind.a");
	is(run($session, "SELECT count(*), sum(v) FROM $kind.a"), '300|300', "$kind: ANALYZE and a query");
}

run($session, q{SELECT mongo_ts_command('statement', '{"create": "capped", "capped": true, "size": 100000}');
	SELECT mongo_ts_command('statement', '{"create": "view", "viewOn": "capped", "pipeline": []}');
	CREATE FOREIGN TABLE capped (ts timestamptz, v int) SERVER statement;
	CREATE FOREIGN TABLE capped_view (ts timestamptz, v int) SERVER statement OPTIONS (collection 'view');
	INSERT INTO capped VALUES ('2020-01-01Z', 1), ('2020-01-02Z', 2)});
foreach my $table (qw(capped capped_view))
{
	is(run($session, "SELECT sum(v) FROM $table"), '3', "$table: it is read without a moment");
	unlike(run($session, "EXPLAIN (VERBOSE) SELECT * FROM $table"), qr/Consistency/, '.. as EXPLAIN shows');
}

# A collection that is created after the transaction has begun to read
run($session, 'CREATE FOREIGN TABLE later (ts timestamptz, v int) SERVER statement; BEGIN ISOLATION LEVEL REPEATABLE READ');
($out, $err) = session_query($session, 'SELECT count(*) FROM later');
is($out, '0', 'a collection that does not exist is empty');
like($err, qr/WARNING:  01000: MongoDB database "mts_snapshot" has no collection "later"/, '.. with a warning');
run($other, q{INSERT INTO later VALUES ('2020-01-01Z', 1)});
($out, $err) = session_query($session, 'SELECT count(*) FROM later');
like("$out$err", qr/^0$|ERROR:  40001: .*HINT:  A collection was created/s, '.. and stays so, or is an error, when it has been created');
run($session, 'ROLLBACK');
is(run($session, 'SELECT count(*) FROM later'), '1', '.. and is read afterwards');

# ---- Queries beside a writer ----------------------------------------------

# A transaction of the writer moves a value between the collections, and
# buckets of both to other times.  So the numbers of buckets and the sum of all
# values stay.

sub command
{
	my ($lsid, $number, @fields) = @_;
	my $reply = wire_command($ports[ $primary - 1 ], @fields,
		lsid => $lsid, txnNumber => bson_int64($number), autocommit => bson_bool(0));

	return $reply && $reply->{ok};
}

sub update
{
	my ($collection, $n, $lsid, $number, @more) = @_;
	my $updates = bson_array(
		bson_document(
			q => bson_document(_id => bson_int32(int(rand(300)))),
			u => bson_document(
				'$inc' => bson_document('v.0' => bson_int32($n)),
				'$set' => bson_document(m => bson_date(1_577_836_800_000 + 60_000 * int(rand(100_000)))))));

	return command($lsid, $number, update => bson_string($collection), updates => $updates,
		'$db' => bson_string('mts_snapshot'), @more);
}

sub write_for_ever
{
	my $lsid = bson_document(id => [ 0x05, pack('l< C', 16, 4) . 'writer of a test' ]);

	for (my $number = 1; ; $number++)
	{
		my $n = int(rand(100));

		update('a', -$n, $lsid, $number, startTransaction => bson_bool(1))
		  && update('b', $n, $lsid, $number)
		  && command($lsid, $number, commitTransaction => bson_int32(1))
		  or command($lsid, $number, abortTransaction => bson_int32(1));
	}
	return;
}

run($other, 'TRUNCATE statement.a, statement.b');
foreach my $collection (qw(a b))
{
	wire_command($ports[ $primary - 1 ],
		insert => bson_string($collection),
		documents => bson_array(map { bson_document(
					_id => bson_int32($_), m => bson_date(1_577_836_800_000 + 60_000 * $_),
					k => bson_int32($_ % 10), v => bson_document(0 => bson_int32(1))) } 0 .. 299),
		'$db' => bson_string('mts_snapshot'));
}
$writer = fork // die "cannot fork: $!";
if ($writer == 0)
{
	# not the test's END blocks
	eval { write_for_ever() };
	POSIX::_exit(1);
}

# Queries whose result does not change
my %invariants = (
	'SELECT sum(v), count(*) FROM (TABLE S.a UNION ALL TABLE S.b) t' => '600|600',
	'SELECT (SELECT sum(v) FROM S.a) + (SELECT sum(v) FROM S.b)' => '600',
	'SELECT count(*), sum(v) + (SELECT sum(v) FROM S.b) FROM (SELECT * FROM S.a ORDER BY ts OFFSET 0) t' => '300|600',
	'SELECT count(*) FROM (SELECT * FROM S.a ORDER BY k DESC, ts DESC OFFSET 0) t' => '300',
	'SELECT sum(n) FROM generate_series(0, 9) g, LATERAL (SELECT count(*) AS n FROM S.a WHERE k = g OFFSET 0) t' => '300',
	'SELECT count(*) FROM (SELECT DISTINCT ON (k) k, ts FROM S.a ORDER BY k, ts) x JOIN S.a y USING (k, ts)' => '10',
	'SELECT sum(x.n) FROM (SELECT k, sum(v) AS n FROM S.a GROUP BY k UNION ALL SELECT k, sum(v) FROM S.b GROUP BY k) x' => '600',
	'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT set_config($$t.x$$, sum(v)::text, true) FROM S.a' .
	  '; SELECT sum(v) + current_setting($$t.x$$)::int FROM S.b; COMMIT' => qr/\n600$/);
my $workers = q{; SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0};

foreach my $kind (qw(statement none))
{
	my %violations;

	for my $i (1 .. $queries)
	{
		my $query = (sort keys %invariants)[ rand keys %invariants ];
		my $settings = 'RESET ALL' . (rand() < 0.3 ? $workers : '');
		my $wanted = $invariants{$query};

		run($session, $settings);
		($out, $err) = session_query($session, $query =~ s/\bS\./$kind./gr);
		next if $err eq '' && (ref $wanted ? $out =~ $wanted : $out eq $wanted);
		$violations{$query}++;
		diag "$settings; $query\n$out$err" if $kind eq 'statement';
	}
	if ($kind eq 'statement') { is(keys %violations, 0, "no query of $queries is torn beside a writer") }
	elsif ($queries >= 100) { cmp_ok(keys %violations, '>', 1, '.. but several are without consistency') }
}
kill('KILL', $writer);
waitpid($writer, 0);
undef $writer;
run($session, 'RESET ALL');

# ---- PostgreSQL's snapshots -----------------------------------------------

run($session, 'BEGIN; SELECT count(*) FROM statement.a');
is(run($other, q{SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction' AND backend_xmin IS NOT NULL}),
	'0', 'an idle transaction holds no snapshot back');
run($session, q{PREPARE TRANSACTION 'p'});
run($session, q{COMMIT PREPARED 'p'});
is(run($session, q{DO $$
	DECLARE n int8;
	BEGIN
		FOR i IN 1..20 LOOP
			BEGIN
				SELECT count(*) INTO n FROM statement.a;
				PERFORM 1 / (i % 2);
			EXCEPTION WHEN division_by_zero THEN NULL;
			END;
			SELECT count(*) INTO n FROM statement.b;
			IF i % 3 = 0 THEN COMMIT; END IF;
		END LOOP;
	END$$}), '', 'subtransactions and procedures');

# ---- The history ends -----------------------------------------------------

# The server keeps no history beyond a second.
wire_command($_, setParameter => bson_int32(1), minSnapshotHistoryWindowInSeconds => bson_int32(0)) foreach @ports;
foreach my $kind (qw(statement none))
{
	run($session, 'BEGIN ISOLATION LEVEL REPEATABLE READ');
	run($session, "SELECT sum(v) FROM $kind.a");
	for (1 .. 6) { sleep(0.5); run($other, q{UPDATE statement.b SET v = v + 1 WHERE k = 7}) }
	($out, $err) = session_query($session, "SELECT count(*) FROM $kind.a");
	if ($kind eq 'statement')
	{
		like($err, qr/ERROR:  72000: .*HINT:  The statement, or its transaction, has lasted longer/s, 'a moment that is too old is an error');
	}
	else { is("$out$err", '300', '.. without consistency there is none') }
	run($session, 'ROLLBACK');
}
is(run($session, 'SELECT count(*) FROM statement.a'), '300', 'the next statement reads a new moment');
wire_command($_, setParameter => bson_int32(1), minSnapshotHistoryWindowInSeconds => bson_int32(300)) foreach @ports;

session_end($session);
session_end($other);
unlike(PostgreSQL::Test::Utils::slurp_file($node->logfile), qr/leak|seem to remain|TRAP/, 'nothing leaks');
$node->stop;
done_testing();
