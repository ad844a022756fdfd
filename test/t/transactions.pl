# Proves that the buckets of a bulk write are stored all or none, and once, on
# a replica set: for readers at any time, after errors and conflicts, and when
# replies are lost.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use MongoTS::FakeServer;
use MongoTS::HaltProxy;
use MongoTS::Node;
use Test::More;
use Time::HiRes qw(sleep time);

use constant SESSIONS => 8;

skip_without_mongod();

my $directory = $PostgreSQL::Test::Utils::tmp_check;
my $set = set_start(1);
my ($address) = set_member_uri($set, 1) =~ m{^(mongodb://[^/]+/)};
my $proxy = halt_start($address);
my $node = new_node('transactions', uri => undef, memory_in_use => 1, conf => "max_connections = 30\nmax_prepared_transactions = 2\n");
my ($out, $err, $seconds);

# ---- Tables ---------------------------------------------------------------

my %layouts = (
	flat => [ 'ts', 'v', '' ],
	slots => [ 'm', 'v.{second}', '' ],
	increments => [ 'm', 'v.{second}', "write_mode 'increment'" ],
	pushed => [ 'points[].t', 'points[].v', "bucket_time_field 'm', bucket_span '1 minute'" ],
	limited => [ 'points[].t', 'points[].v', "bucket_time_field 'm', bucket_span '1 minute', bucket_max_points '6'" ]);

# Create a server, and its tables in a schema of the same name.
sub create_tables
{
	my ($name, $uri, $options) = @_;

	create_server($node, $name, $uri, "database 'transactions'" . ($options // ''));
	$node->safe_psql('postgres', "CREATE SCHEMA $name");
	foreach my $table (sort keys %layouts)
	{
		my ($time, $value, $more) = @{ $layouts{$table} };

		$more = join(', ', grep { $_ } $more, $table eq 'flat' ? '' : q{count_field 'n'});
		$node->safe_psql('postgres', <<"END");
			CREATE FOREIGN TABLE $name.$table (
				ts timestamptz OPTIONS (field '$time'),
				k  text,
				v  int8 OPTIONS (field '$value')
			) SERVER $name @{[ $more ? "OPTIONS ($more)" : '' ]};
END
	}
	return;
}

create_tables('direct', set_uri($set), ", transactions 'batch'");
create_tables('plain', set_uri($set), ", transactions 'off'");
create_tables('proxied', halt_uri($proxy), ", transactions 'batch'");
$node->safe_psql('postgres', q{
	SELECT mongo_ts_create_index('direct.' || t) FROM unnest(ARRAY['slots', 'increments', 'pushed']) t});

# Return the rows of a query as psql prints them.
sub ask
{
	my ($query) = @_;

	return $node->safe_psql('postgres', $query);
}

sub command
{
	my ($command) = @_;

	return ask("SELECT mongo_ts_command('direct', '$command')");
}

# How many transactions the server has committed, aborted or started
sub total
{
	my ($what) = @_;

	return ask(qq{SELECT mongo_ts_command('direct', '{"serverStatus": 1}')->'transactions'->>'total$what'});
}

sub committed { return total('Committed') }

# Points of some buckets, one in each
sub points
{
	my ($buckets, $key) = @_;

	return "SELECT timestamptz '2020-01-01Z' + b * interval '1 min', '$key', 1 FROM generate_series(1, $buckets) b";
}

my $session = session_start($node);
my $is_modern = command('{"buildInfo": 1}') !~ m/"version": "4/;

# ---- Refused writes -------------------------------------------------------

# A bulk write is one transaction; a single write is none.
foreach my $case ([ 'direct', 5, 1 ], [ 'direct', 1, 0 ], [ 'plain', 5, 0 ])
{
	my ($server, $buckets, $transactions) = @$case;
	my $before = committed();

	session_query($session, "INSERT INTO $server.slots " . points($buckets, 'count'));
	is(committed() - $before, $transactions, "$server, $buckets buckets: $transactions transactions");
}

foreach my $statement ('UPDATE direct.slots SET v = 2', 'DELETE FROM direct.slots WHERE v = 2 RETURNING 0')
{
	my $before = committed();

	session_query($session, $statement);
	is(committed() - $before, 1, "so are the writes of $statement");
}

command('{"collMod": "slots", "validator": {"k": {"$ne": "bad"}}}');
foreach my $case ([ 'direct', 0 ], [ 'plain', 4 ])
{
	my ($server, $stored) = @$case;

	($out, $err) = session_query($session, "TRUNCATE direct.slots; INSERT INTO $server.slots "
		  . points(4, 'good') . q{ UNION ALL SELECT timestamptz '2020-01-01 00:02Z', 'bad', 1});
	like($err, qr/ERROR:  23514: /, "$server: a write is refused");
	is(ask('SELECT count(*) FROM direct.slots'), $stored, ".. and $stored are stored");
	like($err, $stored ? qr/\n1 of 5 points of a bulk write were not stored: those of .*bad/
		: qr/\n5 of 5 points of a bulk write were not stored, because of .*bad/,
		'.. as the error says');
}

command('{"collMod": "slots", "validator": {}}');

# ---- Collections without transactions -------------------------------------

command('{"create": "capped", "capped": true, "size": 1000000}');
ask(q{CREATE FOREIGN TABLE capped (ts timestamptz, v int) SERVER direct});
is(ask(q{INSERT INTO capped SELECT '2020-01-01Z', i FROM generate_series(1, 5) i; SELECT sum(v) FROM capped}),
	15, 'a capped collection is written');
SKIP:
{
	skip 'MongoDB has no time-series collections', 1 unless $is_modern;
	command('{"create": "series", "timeseries": {"timeField": "ts"}}');
	ask(q{CREATE FOREIGN TABLE series (ts timestamptz, v int) SERVER direct});
	is(ask(q{INSERT INTO series SELECT '2020-01-01Z', i FROM generate_series(1, 5) i; SELECT sum(v) FROM series}),
		15, 'a time-series collection is written');
}

# ---- Too large or too long ------------------------------------------------

# The server ends a transaction after a second.
ask(q{CREATE SERVER long FOREIGN DATA WRAPPER mongo_ts_fdw OPTIONS (uri '} . set_uri($set) . q{', database 'admin');
	CREATE USER MAPPING FOR PUBLIC SERVER long;
	SELECT mongo_ts_command('long', '{"setParameter": 1, "transactionLifetimeLimitSeconds": 1}');
	CREATE FOREIGN TABLE many (
		ts timestamptz OPTIONS (field 'm'), k text, v int8 OPTIONS (field 'v.{second}')
	) SERVER direct OPTIONS (write_mode 'increment', batch_size '10000000', count_field 'n');
	SELECT mongo_ts_create_index('many')});
($out, $err) = session_query($session, 'INSERT INTO many ' . points(60000, 'many'));
is($err, '', 'a bulk write that takes too long is sent in parts');
is(ask('SELECT count(*), sum(v) FROM many'), '60000|60000', '.. and each is stored once');
ask(q{SELECT mongo_ts_command('long', '{"setParameter": 1, "transactionLifetimeLimitSeconds": 60}')});

# ---- Readers and writers at once ------------------------------------------

# Each session increments the same buckets equally often; half of them are new.
# So all have the same value at any moment.
my @writers = map { session_start($node) } 1 .. SESSIONS;
my $rounds = 15;
my ($reads, $torn) = (0, 0);
my $all = 'INSERT INTO direct.increments ' . points(100, 'all');

ask('INSERT INTO direct.increments ' . points(50, 'all'));
ask('UPDATE direct.increments SET v = 0');
my $start = time;
foreach my $writer (@writers)
{
	session_send($writer, "DO \$\$ BEGIN FOR i IN 1 .. $rounds LOOP $all; END LOOP; END \$\$");
}
while (grep { !session_has_answered($_) } @writers)
{
	$_->{psql}->pump_nb foreach @writers;
	sleep(0.05);
	next unless $is_modern;
	my $values = ask(q{SELECT mongo_ts_command('direct', '{"aggregate": "increments", "cursor": {},
		"pipeline": [{"$group": {"_id": "$v.0", "n": {"$sum": 1}}}], "readConcern": {"level": "snapshot"}}')->'cursor'->'firstBatch'});
	my @n = $values =~ m/"n": (\d+)/g;

	$reads++;
	# before the first one, there are 50
	next if @n == 1 && ($n[0] == 100 || $n[0] == 50);
	$torn++;
	diag $values;
}
$err = join('', map { (session_wait($_))[1] } @writers);
is($err, '', SESSIONS . ' sessions write to the same buckets without an error');
cmp_ok(time - $start, '<', 60, '.. within a minute');
SKIP:
{
	skip 'MongoDB has no snapshots outside of transactions', 2 unless $is_modern;
	cmp_ok($reads, '>', 5, 'others read them meanwhile');
	is($torn, 0, '.. and see all buckets of a bulk write or none');
}
is(ask('SELECT count(*), min(v), max(v) FROM direct.increments'),
	join('|', 100, (SESSIONS * $rounds) x 2), 'each increment is stored once');
session_end($_) foreach @writers;

# ---- UPDATE and DELETE ----------------------------------------------------

# A reader sees an UPDATE of 500 buckets wholly or not at all.
my $updater = session_start($node);

ask('TRUNCATE direct.slots; INSERT INTO direct.slots ' . points(500, 'all'));
session_send($updater, "DO \$\$ BEGIN FOR i IN 1 .. $rounds LOOP UPDATE direct.slots SET v = v + 1; END LOOP; END \$\$");
($reads, $torn) = (0, 0);
until (session_has_answered($updater))
{
	$updater->{psql}->pump_nb;
	sleep(0.02);
	next unless $is_modern;
	$reads++;
	$torn += ask('SELECT count(DISTINCT v) FROM direct.slots') != 1;
}
(undef, $err) = session_wait($updater);
is($err, '', 'a session updates many buckets');
SKIP:
{
	skip 'MongoDB has no snapshots outside of transactions', 2 unless $is_modern;
	cmp_ok($reads, '>', 5, 'another one reads them meanwhile');
	is($torn, 0, '.. and sees all changes of a statement or none');
}
is(ask('SELECT count(*), min(v), max(v) FROM direct.slots'), join('|', 500, ($rounds + 1) x 2), '.. which are stored once');

# Points that an UPDATE moves within buckets and to the next ones are seen once.
ask(q{TRUNCATE direct.slots; INSERT INTO direct.slots SELECT timestamptz '2020-01-01Z' + i * interval '1 s', 'all', 1 FROM generate_series(1, 6000) i});
foreach my $server (qw(direct auto))
{
	create_tables('auto', set_uri($set)) if $server eq 'auto';
	session_send($updater, "DO \$\$ BEGIN FOR i IN 1 .. 8 LOOP
		UPDATE $server.slots SET ts = ts + interval '7 s'; END LOOP; END \$\$");
	my %kinds = (
		points => "SELECT count(*) FROM $server.slots",
		groups => "SELECT sum(n) FROM (SELECT date_trunc('hour', ts), count(v) AS n FROM $server.slots GROUP BY 1) g",
		rows => "SELECT count(*) FROM (SELECT * FROM $server.slots OFFSET 0) r");
	my %wrong = map { $_ => 0 } keys %kinds;

	$reads = 0;
	until (session_has_answered($updater))
	{
		$updater->{psql}->pump_nb;
		foreach my $kind (sort keys %kinds)
		{
			next unless $is_modern;
			$reads++;
			my ($count) = session_query($session, $kinds{$kind});

			$wrong{$kind}++ if $count != 6000;
		}
	}
	(undef, $err) = session_wait($updater);
	is($err, '', "$server: a session moves points");
	SKIP:
	{
		skip 'MongoDB has no snapshots outside of transactions', 4 unless $is_modern;
		cmp_ok($reads, '>', 20, '.. another one reads them meanwhile');
		is($wrong{$_}, 0, ".. and sees each once: $_") foreach sort keys %kinds;
	}
}

# One of the buckets is changed after it was read.
foreach my $case ([ 'update', 'UPDATE proxied.slots SET v = v + 1' ], [ 'delete', 'DELETE FROM proxied.slots WHERE v > 0 RETURNING v' ])
{
	my ($name, $statement) = @$case;

	ask('TRUNCATE direct.slots; INSERT INTO direct.slots ' . points(5, 'k'));
	halt_at($proxy, 'request', "$name slots");
	session_send($updater, $statement);
	halt_await($proxy);
	ask(q{UPDATE direct.slots SET v = 7 WHERE ts = '2020-01-01 00:03Z'});
	halt_end($proxy, 'pass');
	($out, $err) = session_wait($updater);
	like($err, qr/ERROR:  40001: .*None of the last 5 buckets was written.*HINT:  Run the statement again/s,
		"$name: a bucket that another session has changed is an error");
	is(ask('SELECT sum(v), count(*) FROM direct.slots'), '11|5', '.. and none is changed');
	($out, $err, $seconds) = session_query($session, 'UPDATE direct.slots SET v = 1');
	is($err, '', '.. or locked');
	cmp_ok($seconds, '<', 3, '.. afterwards');
}
session_end($updater);

# ---- Lost connections -----------------------------------------------------

# The connection is cut while the write, or its commit, is on its way or has
# been executed.
sub check_once
{
	my ($table, $key, $name) = @_;

	($out, $err) = session_wait($session);
	is($err, '', "$name: the statement succeeds");
	is(ask("SELECT count(*), count(DISTINCT ts), sum(v) FROM direct.$table WHERE k = '$key'"),
		'70|70|70', '.. and each point is stored once');
	return;
}

my $cuts = 0;

foreach my $table (qw(slots increments pushed flat))
{
	my $write = $table eq 'flat' ? 'insert' : 'update';

	foreach my $point ([ 'request', "$write $table" ], [ 'reply', "$write $table" ],
		[ 'request', 'commitTransaction 1' ], [ 'reply', 'commitTransaction 1' ])
	{
		my $key = 'cut' . $cuts++;
		my $name = "$table: cut at the $point->[0] of $point->[1]";

		session_query($session, 'SELECT 1 FROM proxied.slots LIMIT 1');
		halt_at($proxy, @$point);
		session_send($session, "INSERT INTO proxied.$table " . points(70, $key));
		is(halt_await($proxy), $point->[1], $name);
		halt_end($proxy, 'cut');
		check_once($table, $key, $name);
	}
}

# The write reaches the server when the session has written again, on another
# connection.
halt_at($proxy, 'request', 'update increments');
session_send($session, 'INSERT INTO proxied.increments ' . points(70, 'late'));
halt_await($proxy);
halt_orphan($proxy);
halt_at($proxy, 'reply', 'commitTransaction 1');
is(halt_await($proxy), 'commitTransaction 1', 'a write is on its way, and another transaction has written the same');
halt_deliver($proxy);
halt_end($proxy, 'pass');
check_once('increments', 'late', 'a write that arrives late');

# A bulk write of several commands is one transaction.  The second command
# here inserts new buckets, and adds to some that the first one has made.
foreach my $server (qw(proxied direct))
{
	ask(qq{CREATE FOREIGN TABLE $server.mixed (ts timestamptz OPTIONS (field 'points[].t'), k text, v int8 OPTIONS (field 'points[].v'))
		SERVER $server OPTIONS (bucket_time_field 'm', bucket_span '1 minute', count_field 'n', batch_size '2000')});
}
ask(q{SELECT mongo_ts_create_index('direct.mixed')});

sub send_mixed
{
	my ($key) = @_;

	session_send($session, qq{INSERT INTO proxied.mixed
		SELECT timestamptz '2020-01-01Z' + (half * 35 + b) * interval '1 min' + (half * 20 + s) * interval '1 s', '$key', 1
		  FROM generate_series(0, 1) half, generate_series(1, 100) b, generate_series(0, 19) s});
	return;
}

sub check_mixed
{
	my ($key, $name) = @_;

	($out, $err) = session_wait($session);
	is($err, '', "$name: the statement succeeds");
	is(ask("SELECT count(*), count(DISTINCT ts), sum(v) FROM direct.mixed WHERE k = '$key'"),
		'4000|4000|4000', '.. and each point is stored once');
	return;
}

foreach my $point ([ 'request', 'insert mixed', 2 ], [ 'reply', 'insert mixed', 2 ],
	[ 'request', 'update mixed', 1 ], [ 'reply', 'update mixed', 1 ],
	[ 'request', 'commitTransaction 1', 2 ], [ 'reply', 'commitTransaction 1', 2 ])
{
	my $key = 'mixed' . $cuts++;
	my $name = "several commands: cut at the $point->[0] of $point->[1]";

	session_query($session, 'SELECT 1 FROM proxied.slots LIMIT 1');
	halt_at($proxy, @$point);
	send_mixed($key);
	is(halt_await($proxy), $point->[1], $name);
	halt_end($proxy, 'cut');
	check_mixed($key, $name);
}

# The second command reaches the server when the session has had the
# transaction aborted, on another connection.
halt_at($proxy, 'request', 'update mixed');
send_mixed('later');
halt_await($proxy);
halt_orphan($proxy);
halt_at($proxy, 'reply', 'abortTransaction 1');
is(halt_await($proxy), 'abortTransaction 1', 'the second of several commands is on its way, and the transaction is aborted');
halt_deliver($proxy);
halt_end($proxy, 'pass');
check_mixed('later', 'a second command that arrives late');

# The partitions of a table have writers of their own on one connection.  Their
# batches here are several commands each.
foreach my $server (qw(direct plain))
{
	ask(qq{CREATE TABLE parted_$server (ts timestamptz, k text, v text) PARTITION BY LIST (k)});
	ask(qq{CREATE FOREIGN TABLE parted_${server}_$_ PARTITION OF parted_$server FOR VALUES IN ('$_') SERVER $server OPTIONS (batch_size '100')})
	  foreach 'a' .. 'c';
	($out, $err) = session_query($session, qq{INSERT INTO parted_$server
		SELECT timestamptz '2020-01-01Z' + b * interval '1 s', k, repeat('x', 20000)
		  FROM unnest(ARRAY['a', 'b', 'c']) k, generate_series(1, 150) b});
	is("$err", '', "$server: three partitions are written at once");
	is(ask("SELECT string_agg(k || ' ' || n, ', ' ORDER BY k) FROM (SELECT k, count(DISTINCT ts) n FROM parted_$server GROUP BY k) s"),
		'a 150, b 150, c 150', '.. and each row is stored');
}

# When an error ends the statement, a bulk write to the server without transactions is
# under way, and another one is done.  The reply is awaited, so
# a warning says what stays stored, also when a block of PL/pgSQL catches the error,
# or when a function runs the statement, whose memory is released later.
foreach my $case ([ 'direct', 2021, 200, '' ], [ 'plain', 2021, 200, '' ], [ 'direct', 2022, 200, 'caught' ], [ 'plain', 2022, 200, 'caught' ],
	[ 'direct', 2023, 200, 'in a function' ], [ 'plain', 2023, 200, 'in a function' ])
{
	my ($server, $year, $n, $caught) = @$case;
	my $insert = qq{INSERT INTO parted_$server
		SELECT timestamptz '$year-01-01Z' + b * interval '1 s', k, 1 / CASE WHEN k = 'c' THEN 0 ELSE 1 END
		  FROM unnest(ARRAY['a', 'b', 'c']) k, generate_series(1, 100) b};

	my $tables = join ', ', map { qq{"parted_${server}_$_"} } $server eq 'plain' ? qw(b a) : qw(a b);

	ask(qq{CREATE OR REPLACE FUNCTION insert_parted() RETURNS void LANGUAGE plpgsql AS \$\$ BEGIN $insert; END \$\$});
	$insert = qq{DO \$\$ BEGIN $insert; EXCEPTION WHEN division_by_zero THEN END \$\$} if $caught eq 'caught';
	$insert = 'SELECT insert_parted()' if $caught eq 'in a function';
	($out, $err) = session_query($session, $insert);
	like($err, qr/DETAIL:  Points of $tables stay stored, changed or removed\.$/m,
		"$server: an error waits for the write that is under way, and names its table too $caught");
	is(ask("SELECT count(*) FROM parted_$server WHERE ts BETWEEN '$year-01-01Z' AND '$year-01-02Z'"), $n, '.. which are stored');
}

# A server that does not reply is awaited for half a second.
ask(q{CREATE FOREIGN TABLE proxied.batches (ts timestamptz OPTIONS (field 'm'), k text, v int8 OPTIONS (field 'v.{second}'))
	SERVER proxied OPTIONS (batch_size '100', transactions 'off')});
session_query($session, 'SELECT 1 FROM proxied.slots LIMIT 1');
halt_at($proxy, 'reply', 'update batches');
session_send($session, q{INSERT INTO proxied.batches SELECT timestamptz '2020-01-01Z' + i * interval '1 min', 'k', 1 / (150 - i) FROM generate_series(0, 150) i});
is(halt_await($proxy), 'update batches', 'a write is under way when the statement fails');
($out, $err, $seconds) = session_wait($session);
like($err, qr/ERROR:  22012: .*DETAIL:  Whether points of "proxied.batches" were stored, changed or removed is not known\.$/ms, '.. which does not wait for ever');
cmp_ok($seconds, '<', 1.5, '.. but for half a second');
halt_end($proxy, 'pass');
ask(q{DROP FOREIGN TABLE proxied.batches});

# ---- Cancels --------------------------------------------------------------

# A cancel while a write or the commit is on its way leaves no bucket locked.
my $control = session_start($node);

session_query($session, 'SET mongo_ts_fdw.log_commands = on');
foreach my $point ([ 'reply', 'update slots' ], [ 'request', 'commitTransaction 1' ])
{
	foreach my $block ([ '', '' ],
		[ 'DO $$ BEGIN ', '; EXCEPTION WHEN query_canceled OR transaction_resolution_unknown THEN END $$; SELECT 1/0' ])
	{
		my $key = 'cancel' . $cuts++;
		my $name = "a cancel at the $point->[0] of $point->[1]" . ($block->[0] ? ' in a block' : '');

		session_query($session, 'SELECT 1 FROM proxied.slots LIMIT 1');
		halt_at($proxy, @$point);
		session_send($session, "$block->[0]INSERT INTO proxied.slots " . points(70, $key) . $block->[1]);
		is(halt_await($proxy), $point->[1], $name);
		session_query($control, "SELECT pg_cancel_backend($session->{pid})");
		($out, $err) = session_wait($session);
		like($err, $block->[0] ? qr/division by zero/ : $point->[0] eq 'reply' ? qr/ERROR:  57014: / : qr/ERROR:  08007: .*unknown whether/s,
			'.. stops the statement');
		($out, $err, $seconds) = session_query($control, 'INSERT INTO direct.slots ' . points(70, $key));
		is($err, '', '.. and another session writes the same buckets');
		cmp_ok($seconds, '<', 3, '.. at once');
		halt_end($proxy, 'cut');
	}
}
session_query($session, 'RESET mongo_ts_fdw.log_commands');
session_end($control);

# ---- PostgreSQL's transactions --------------------------------------------

create_tables('xact', set_uri($set));
create_tables('cut', halt_uri($proxy));
create_tables('required', set_uri($set), ", transactions 'required'");
my $writer = session_start($node);
my $other = session_start($node);

# Execute statements of a transaction one by one, and check the result and the
# error of the last one.
sub check_last
{
	my ($name, $result, $error, @statements) = @_;

	($out, $err, $seconds) = session_query($writer, $_) foreach @statements;
	is($out, $result, $name) if defined $result;
	$error ? like($err, $error, $name) : is($err, '', $name);
	return;
}

sub restart
{
	session_query($writer, 'ROLLBACK');
	ask('TRUNCATE direct.slots, direct.flat, direct.pushed, direct.increments, direct.limited; INSERT INTO direct.slots ' . points(4, 'k'));
	return;
}

# What other sessions see
sub stored { return ask('SELECT count(*) FROM direct.slots') . ' ' . ask('SELECT count(*) FROM direct.flat') }

my $insert = 'INSERT INTO xact.slots ' . points(3, 'new');

restart();
check_last('a transaction reads what it has written', "7\n3\n3|3\n5", undef, 'BEGIN',
	$insert, "INSERT INTO xact.flat " . points(3, 'new'),
	q{SELECT count(*) FROM xact.slots; SELECT count(*) FROM xact.flat;
	  SELECT count(*), count(f.v) FROM xact.slots s JOIN xact.flat f USING (ts, k);
	  DELETE FROM xact.slots WHERE k = 'new' AND v = 1 AND ts < '2020-01-01 00:03Z'; SELECT count(*) FROM xact.slots});
is(stored(), '4 0', '.. which others do not see');
check_last('.. in one moment', undef, undef, 'EXPLAIN (VERBOSE, COSTS OFF) SELECT * FROM xact.slots');
like($out, qr/MongoDB Consistency: transaction$/m, '.. as EXPLAIN says');
check_last('.. until', '', undef, 'COMMIT');
is(stored(), '5 3', '.. it is committed');

restart();
check_last('a transaction', "0", undef, 'BEGIN', $insert, 'UPDATE xact.slots SET v = v + 1', 'DELETE FROM xact.slots WHERE v = 2 RETURNING 0',
	'SELECT count(*) FROM xact.slots');
is(stored(), '4 0', '.. is not stored');
session_query($writer, 'ROLLBACK');
is(stored(), '4 0', '.. after ROLLBACK');
is(ask("$insert; SELECT count(*) FROM xact.slots"), 7, 'a statement by itself is committed');

foreach my $layout (sort keys %layouts)
{
	restart();
	check_last("$layout: own writes are read and changed", "6|12|2|2", undef, 'BEGIN',
		"INSERT INTO xact.$layout " . points(2, 'a'), "INSERT INTO xact.$layout " . points(6, 'b'), "DELETE FROM xact.$layout WHERE k = 'a'",
		"UPDATE xact.$layout SET v = v + 1", "SELECT count(*), sum(v), min(v), max(v) FROM xact.$layout WHERE k <> 'k'");
	($out, $err) = session_query($writer, 'COMMIT');
	is(ask("SELECT count(*), sum(v), min(v), max(v) FROM direct.$layout WHERE k <> 'k'"), "6|12|2|2", '.. and stored');
}

# Points of buckets with totals: operators store them if all slots are empty,
# otherwise pipelines do, in the same transaction
ask(q{CREATE FOREIGN TABLE xact.totals (ts timestamptz OPTIONS (field 'm'), k int, v float8 OPTIONS (field 'v.{second}', sum_field 'sum', min_field 'least'))
		SERVER xact OPTIONS (count_field 'n', bucket_first_field 'range.first');
	CREATE FOREIGN TABLE xact.buckets (ts timestamptz OPTIONS (field 'm'), k int, n int, sum float8, least float8) SERVER xact OPTIONS (collection 'totals');
	CREATE TABLE wanted (ts timestamptz, k int, v float8, PRIMARY KEY (ts, k));
	SELECT mongo_ts_create_index('xact.totals')});

sub second
{
	my ($second, $series, $value) = @_;

	return "SELECT timestamptz '2020-01-01Z' + interval '$second s', k, $value FROM generate_series(1, $series) k";
}

# Run statements in a transaction block.  Returns the number of pipelines, of
# points that differ from those of a local table, and of buckets with untrue
# totals.
sub in_block
{
	my @statements = @_;
	my $pipelines = q{SELECT mongo_ts_command('xact', '{"serverStatus": 1}')::jsonb #>> '{metrics,commands,update,pipeline}'};
	my $before = ask($pipelines);

	session_query($writer, $_) foreach 'BEGIN', @statements;
	($out, $err) = session_query($writer, 'COMMIT');
	is($err, '', "@statements");
	return join ' ', ask($pipelines) - $before,
	  ask(q{SELECT count(*) FROM ((TABLE wanted EXCEPT TABLE xact.totals) UNION ALL (TABLE xact.totals EXCEPT TABLE wanted)) difference}),
	  ask(q{SELECT count(*) FROM (TABLE xact.buckets EXCEPT
		SELECT date_trunc('minute', ts), k, count(*), sum(v), min(v) FROM wanted GROUP BY 1, 2) untrue});
}

# The statements that store a second in both tables
sub store
{
	my $second = second(@_);

	return ("INSERT INTO xact.totals $second", "INSERT INTO wanted $second ON CONFLICT (ts, k) DO UPDATE SET v = excluded.v");
}

session_query($writer, "SELECT mongo_ts_command('xact', '{\"update\": \"totals\", \"updates\": []}')");
is(in_block(store(0, 100, 'k')), '100 0 0', 'pipelines make buckets in a transaction block');
is(in_block(store(1, 100, '-k'), store(2, 100, 'k + 0.5')), '0 0 0', '.. operators store points of empty slots');
is(in_block(store(3, 101, 'k'), store(4, 9, 'k')), '69 0 0', '.. pipelines those of the batch in which a bucket is missing');
is(in_block(store(4, 9, 'k + 1'), store(5, 9, "'NaN'")), '18 0 0', '.. and those of slots with points, and NaN');
is(in_block(store(5, 9, 'k'), store(6, 9, '-k')), '9 0 0', '.. and those of a bucket that had NaN');
is(in_block(store(7, 9, 'k'), store(7, 9, 'k + 1'), 'SAVEPOINT s', 'INSERT INTO xact.totals ' . second(8, 9, 1), 'ROLLBACK TO s', store(9, 9, 'k')),
	'18 0 0', '.. a savepoint undoes operators, and what was before is done again');
ask(q{SELECT mongo_ts_command('xact', '{"update": "totals", "updates": [{"q": {"k": 3}, "u": {"$set": {"v": null, "n": 0, "sum": 0, "least": 0}}}]}');
	DELETE FROM wanted WHERE k = 3});
is(in_block(store(10, 9, 'k')), '9 0 0', '.. what is not a subdocument aborts nothing');
ask(q{SELECT mongo_ts_command('xact', '{"update": "totals", "updates": [{"q": {"k": 4}, "u": {"$set": {"range": null}}}]}')});
is(in_block(store(11, 9, 'k')), '9 0 0', '.. nor does a bound that is missing');
ask(q{CREATE FOREIGN TABLE xact.wide (ts timestamptz OPTIONS (field 'm'), k int, v int8 OPTIONS (field 'v.{second}', sum_field 'sum')) SERVER xact;
	SELECT mongo_ts_create_index('xact.wide')});
foreach my $sign ('', '-')
{
	my ($first, $second) = map { "INSERT INTO xact.wide SELECT '2020-01-01 00:00:0$_', ${sign}k, ${sign}9e18 FROM generate_series(1, 9) k" } 1, 2;

	check_last('.. nor does a sum of more than 64 bits', "9|${sign}18000000000000000000", undef, $first, 'BEGIN', $second, 'COMMIT',
		"SELECT count(*), max(sum) FROM (SELECT sum(v) FROM xact.wide WHERE ${sign}k > 0 GROUP BY k) s");
}
session_query($writer, $_) foreach 'BEGIN', 'INSERT INTO xact.totals ' . second(12, 9, 1), 'SAVEPOINT s',
	'INSERT INTO xact.totals ' . second(13, 9, 1), 'ROLLBACK TO s';
ask($_) foreach store(12, 9, 2);
check_last('.. another session that has stored a point meanwhile', undef, qr/ERROR:  40001: .*Another session has changed what this transaction has written/s, 'COMMIT');
is(in_block(), '0 0 0', '.. keeps it');

# A cursor that reads several batches, with writes in between
restart();
session_query($writer, $_) foreach "BEGIN", 'INSERT INTO xact.flat ' . points(5000, 'many'),
	'DECLARE c CURSOR FOR SELECT v FROM xact.flat ORDER BY ts', 'DECLARE d CURSOR FOR SELECT v FROM xact.flat';
check_last('cursors read on while the transaction writes', "1\n3|2000\n4000|5004", undef, 'FETCH c', 'MOVE 1000 IN c', 'MOVE 1000 IN d', $insert,
	'MOVE 1000 IN c', 'INSERT INTO xact.flat ' . points(4, 'more'),
	q{FETCH c; SELECT (SELECT count(*) FROM xact.slots WHERE k = 'new'), 2000; SELECT (SELECT count(*) FROM xact.flat) - 1004, (SELECT count(*) FROM xact.flat)});
check_last('.. to the end, or is closed before', undef, undef, 'CLOSE c', 'MOVE ALL IN d', $insert, 'COMMIT');
is(stored(), '7 5004', '.. and all is stored');

# A cursor returns what it would have returned when it was opened: here after
# a write, from small batches.
ask(q{CREATE FOREIGN TABLE xact.batches (ts timestamptz, k text, v int8) SERVER xact OPTIONS (collection 'flat', fetch_size '100')});
restart();
check_last('a loop does not see what it writes', '', undef, 'BEGIN',
	q{INSERT INTO xact.flat SELECT timestamptz '2020-01-01Z' + i * interval '1 min', 'many', i FROM generate_series(1, 1000) i}, <<'END');
	DO $$
	DECLARE
		r record;
		n int := 0;
	BEGIN
		FOR r IN SELECT * FROM xact.batches LOOP
			n := n + 1;
			EXIT WHEN n > 2000;
			IF n % 10 = 0 THEN INSERT INTO xact.flat VALUES ('2021-01-01Z', 'loop', 1); END IF;
		END LOOP;
		PERFORM set_config('loop.n', n::text, false);
	END $$
END
check_last('.. and ends', '1000|1100', undef, q{SELECT current_setting('loop.n'), count(*) FROM xact.flat});
check_last('.. nor does a scan that calls a function', 1100, undef, <<'END', 'SELECT count(store(v)) FROM xact.batches');
	CREATE FUNCTION store(v int8) RETURNS int8 LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO xact.flat VALUES ('2022-01-01Z', 'function', 1);
		RETURN v;
	END $$
END
check_last('.. nor a cursor that expects few rows', join("\n", map { $_ * 100 } 1 .. 10), undef,
	'DECLARE c CURSOR FOR SELECT v FROM xact.flat WHERE v % 100 < 1 + random() * 0 ORDER BY ts LIMIT 10',
	q{FETCH c; INSERT INTO xact.flat VALUES ('2020-01-01 08:20:30Z', 'late', 5000); FETCH ALL FROM c});
session_query($writer, 'ROLLBACK; DROP FUNCTION store');

# The rest of a large one is kept in a file, and survives what ends the
# server's transaction.
foreach my $end ('COMMIT', 'ROLLBACK')
{
	restart();
	session_query($writer, $_) foreach 'BEGIN', 'INSERT INTO xact.flat ' . points(30000, 'many'),
	  'DECLARE c NO SCROLL CURSOR FOR SELECT row_number() OVER (), k FROM xact.flat', 'FETCH c', 'SAVEPOINT s', 'INSERT INTO xact.flat ' . points(100, 'more');
	check_last("$end: a cursor of many rows reads on after a write", '10002|many', undef, 'MOVE 10000 IN c', 'FETCH c');
	check_last('.. and after the rollback of its savepoint', '30000|many', undef, 'ROLLBACK TO s', 'MOVE 19997 IN c', 'FETCH ALL FROM c');
	check_last('.. and is closed', undef, undef, 'DECLARE d CURSOR FOR TABLE xact.flat', 'FETCH d', 'INSERT INTO xact.flat ' . points(1, 'last'), $end);
	is(stored(), $end eq 'COMMIT' ? '4 30001' : '4 0', '.. with the transaction');
}

# Neither a full disk loses documents.
restart();
check_last('a cursor that cannot be kept', undef, qr/ERROR:  53400: /, 'BEGIN', 'INSERT INTO xact.flat ' . points(30000, 'many'),
	'DECLARE c CURSOR FOR TABLE xact.flat', 'FETCH c', 'SAVEPOINT s', q{SET LOCAL temp_file_limit = '64kB'}, 'INSERT INTO xact.flat ' . points(1, 'last'));
check_last('.. is an error', undef, qr/ERROR:  24000: could not read .*HINT:  Run the transaction again/s, 'ROLLBACK TO s', 'FETCH c');
check_last('.. that leaves the rest', undef, undef, 'ROLLBACK TO s', 'INSERT INTO xact.flat ' . points(2, 'last'), 'COMMIT');
is(stored(), '4 30002', '.. of the transaction');
restart();
check_last('a log that cannot be kept', undef, qr/ERROR:  53400: /, 'BEGIN', 'INSERT INTO xact.flat ' . points(12000, 'many'),
	'SAVEPOINT s', q{SET LOCAL temp_file_limit = '64kB'}, 'INSERT INTO xact.flat ' . points(12000, 'more'));
my $used = (session_query($writer, 'ROLLBACK TO s; SELECT memory_in_use()'))[0];

session_query($writer, $_) foreach (q{SET LOCAL temp_file_limit = '64kB'}, 'INSERT INTO xact.flat ' . points(12000, 'more'), 'ROLLBACK TO s') x 3;
cmp_ok((session_query($writer, 'SELECT memory_in_use()'))[0], '<', $used + 500000, '.. keeps no memory of it');
check_last('.. is kept as it was', undef, undef, 'INSERT INTO xact.flat ' . points(1, 'undone'), 'ROLLBACK TO s', 'COMMIT');
is(stored(), '4 12000', '.. and stored');

# Statements of all kinds
foreach my $statement ('TRUNCATE xact.slots', q{UPDATE xact.slots SET ts = ts + interval '1 s'}, q{DELETE FROM xact.slots WHERE ts > '2020-01-01Z'},
	'INSERT INTO xact.slots ' . points(6, 'k') . ' ON CONFLICT DO NOTHING', 'COPY xact.slots FROM stdin')
{
	my $rows = "SELECT count(*), string_agg(ts::text || k || v, ' ' ORDER BY ts)";
	my $data = $statement =~ m/^COPY/ ? "2020-01-01 00:01:01Z\tk\t7\n2020-01-01 00:02Z\tk\t8\n\\.\n" : '';

	restart();
	my $before = ask("$rows FROM direct.slots");
	check_last($statement, undef, undef, 'BEGIN', $data ? "$statement;\n${data}SELECT 1" : $statement);
	my ($inside) = session_query($writer, "$rows FROM xact.slots");
	is(ask("$rows FROM direct.slots"), $before, '.. is not stored');
	isnt($inside, $before, '.. but seen');
	check_last('.. and', undef, undef, 'COMMIT');
	is(ask("$rows FROM direct.slots"), $inside, '.. stored by COMMIT');
}
# A duplicate key aborts the transaction on the server, which is begun again.
restart();
command('{"createIndexes": "flat", "indexes": [{"key": {"k": 1}, "name": "k", "unique": true}]}');
check_last('ON CONFLICT DO NOTHING where documents are rows', '7|2', undef, 'BEGIN', $insert, 'INSERT INTO xact.flat ' . points(1, 'k'),
	q{INSERT INTO xact.flat VALUES ('2020-01-01Z', 'k', 1), ('2020-01-01Z', 'l', 1), ('2020-01-01Z', 'k', 2) ON CONFLICT DO NOTHING},
	'SELECT (SELECT count(*) FROM xact.slots), (SELECT count(*) FROM xact.flat)');
check_last('.. leaves out rows', undef, undef, 'COMMIT');
is(stored(), '7 2', '.. and the others are stored');
command('{"dropIndexes": "flat", "index": "k"}');

# It is looked for after the first one.
foreach my $case ([ '{"v": 1}', '100|101', 3 ], [ '{"v": 1, "k": -1}', '100|101', 3 ], [ '{"v": 1}', '150|152', 2, '"partialFilterExpression": {"v": {"$gt": 1000}}' ],
	[ '{"v": 1}', '100|101', 200, '"collation": {"locale": "en"}' ])
{
	my ($keys, $result, $most, $options) = @$case;
	my $name = join(' ', $keys, $options // ());

	restart();
	command(qq{{"createIndexes": "flat", "indexes": [{"key": $keys, "name": "i", "unique": true@{[ $options ? ", $options" : '' ]}}]}});
	ask(q{INSERT INTO direct.flat SELECT '2020-01-01Z', 'k', i FROM (SELECT generate_series(1, 50) UNION ALL SELECT 1001) n (i)});
	my $before = total('Aborted');

	check_last("$name: every other row is a duplicate", undef, undef, 'BEGIN', <<'END');
		INSERT INTO xact.flat SELECT '2020-01-01Z', 'k', i / 2 + (i % 2) * 1000 FROM generate_series(2, 101) i
		ON CONFLICT DO NOTHING
END
	cmp_ok(total('Aborted') - $before, '<=', $most, '.. for which few transactions are aborted') if $most < 100;
	check_last('.. and null is one of null', undef, undef, q{INSERT INTO xact.flat VALUES ('2020-01-01Z', 'k', NULL), ('2020-01-01Z', 'k', NULL) ON CONFLICT DO NOTHING},
		'COMMIT');
	is(ask('SELECT count(v), count(*) FROM direct.flat'), $result, '.. and what is stored');
	command('{"dropIndexes": "flat", "index": "i"}');
}

# Options of the URI that a transaction cannot have
create_tables('other', set_uri($set, 'readPreference=secondaryPreferred&readConcernLevel=majority&retryWrites=false'));
restart();
check_last('a read preference for secondaries', '7|7', undef, 'BEGIN', 'INSERT INTO other.slots ' . points(3, 'new'),
	'UPDATE other.slots SET v = 1', 'SELECT count(*), sum(v) FROM other.slots');
check_last('.. and others', undef, undef, 'COMMIT');
is(stored(), '7 0', '.. do no harm');

# Two servers
restart();
check_last('two servers are committed', undef, undef, 'BEGIN', $insert, 'INSERT INTO cut.flat ' . points(2, 'new'), 'COMMIT');
is(stored(), '7 2', '.. both');
restart();
check_last('.. or aborted', undef, undef, 'BEGIN', $insert, 'INSERT INTO cut.flat ' . points(2, 'new'), 'ROLLBACK');
is(stored(), '4 0', '.. both');

# The second commit fails after the first one.
restart();
session_query($writer, $_) foreach 'BEGIN', $insert, 'SAVEPOINT s', 'INSERT INTO xact.slots ' . points(7, 'undone'), 'ROLLBACK TO s',
	'INSERT INTO xact.slots ' . points(1, 'last'), 'INSERT INTO cut.flat ' . points(2, 'new');
halt_at($proxy, 'request', 'commitTransaction 1');
session_send($writer, 'COMMIT');
halt_await($proxy);
command('{"killAllSessions": []}');
halt_end($proxy, 'pass');
(undef, $err) = session_wait($writer);
like($err, qr/ERROR:  HV000: could not commit the transaction on foreign server "cut".*HINT:  Another foreign server has committed its part of the transaction\./s,
	'if the second of two servers is not committed, the hint says so');
like($err, qr/WARNING:  01000: writes to foreign server "xact" are not rolled back\nDETAIL:  Points of "xact.slots" stay stored, changed or removed\.$/m, '.. and a warning says what stays');
is(stored(), '8 0', '.. which is true');
# One that cannot be begun again fails before.
restart();
session_query($writer, $_) foreach 'BEGIN', 'INSERT INTO xact.flat ' . points(2, 'new'), 'UPDATE cut.slots SET v = 9', 'SAVEPOINT s',
	'UPDATE cut.slots SET v = 10', 'ROLLBACK TO s';
command('{"delete": "slots", "deletes": [{"q": {}, "limit": 1}]}');
check_last('a transaction that cannot be begun again', undef,
	qr/ERROR:  40001: could not begin the transaction on foreign server "cut" again.*HINT:  Run the transaction again/s, 'COMMIT');
unlike($err, qr/WARNING/, '.. fails before another server commits');
is(stored(), '3 0', '.. so nothing is stored');

# Workers do not know the transaction, also if the plan has some.
my $parallel = q{SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0};

restart();
ask('INSERT INTO direct.flat ' . points(2000, 'flat'));
foreach my $leads (qw(on off))
{
	session_query($writer, "$parallel; SET parallel_leader_participation = $leads; SET plan_cache_mode = force_generic_plan");
	session_query($writer, 'PREPARE q AS SELECT count(*), min(v) FROM (SELECT * FROM xact.flat OFFSET 0) f');
	check_last('workers scan', undef, undef, 'EXPLAIN EXECUTE q');
	like($out, qr/Gather/, '.. before a transaction writes');
	check_last('a plan with workers', '3|1', undef, 'EXECUTE q', 'BEGIN', 'TRUNCATE xact.flat', 'INSERT INTO xact.flat ' . points(3, 'new'), 'EXECUTE q');
	check_last('.. reads own writes', undef, undef, 'EXPLAIN SELECT * FROM xact.flat');
	unlike($out, qr/Gather/, '.. and a new plan has no workers');
	session_query($writer, 'ROLLBACK; DEALLOCATE q');
}
session_query($writer, 'RESET ALL');

# Savepoints
foreach my $level ('READ COMMITTED', 'REPEATABLE READ')
{
	restart();
	check_last("$level: a savepoint without a write can be rolled back", '7', undef, "BEGIN ISOLATION LEVEL $level", $insert, 'SAVEPOINT s',
		'SELECT 1 / 0', 'ROLLBACK TO s', 'SELECT count(*) FROM xact.slots');
	check_last('.. and one that is released', undef, undef, 'SAVEPOINT t', 'INSERT INTO xact.flat ' . points(1, 'new'), 'RELEASE t', 'COMMIT');
	is(stored(), '7 1', '.. is stored');
}
my $both = 'SELECT (SELECT count(*) FROM xact.slots), (SELECT count(*) FROM xact.flat)';

restart();
check_last('a savepoint with writes is rolled back', '7|1', undef, 'BEGIN', $insert, 'SAVEPOINT a', 'INSERT INTO xact.flat ' . points(1, 'a'),
	'SAVEPOINT b', 'DELETE FROM xact.slots', 'INSERT INTO xact.flat ' . points(2, 'b'), 'ROLLBACK TO b', $both);
check_last('.. twice, and then the one before it', '7|0', undef, 'INSERT INTO xact.flat ' . points(3, 'c'), 'ROLLBACK TO b', 'ROLLBACK TO a', $both);
check_last('.. and what is written then', undef, undef, 'INSERT INTO xact.flat ' . points(4, 'd'), 'COMMIT');
is(stored(), '7 4', '.. is stored');

# What is sent again finds room in another bucket than before.
sub seconds { return "SELECT timestamptz '2020-01-01Z' + i * interval '1 second', 'full', i FROM generate_series($_[0], $_[1]) i" }

restart();
ask('INSERT INTO direct.limited ' . seconds(1, 3));
check_last('points fit into a bucket', '5', undef, 'BEGIN', $insert, 'INSERT INTO xact.limited ' . seconds(4, 5), 'SAVEPOINT s',
	'INSERT INTO xact.flat ' . points(1, 'undone'), 'ROLLBACK TO s', 'SELECT count(*) FROM xact.limited');
session_query($writer, $_) foreach 'SAVEPOINT t', 'INSERT INTO xact.flat ' . points(1, 'undone'), 'ROLLBACK TO t';
ask('INSERT INTO direct.limited ' . seconds(6, 7));
check_last('.. that another session fills before the transaction is sent again', undef, undef, 'COMMIT');
is(ask('SELECT count(*), count(DISTINCT ts) FROM direct.limited'), '7|7', '.. so they are stored in another one');

# The points that fill the last bucket are sent before those that fit there, too.
ask(qq{CREATE FOREIGN TABLE $_.parallel (ts timestamptz OPTIONS (field 't[]'), k text, v int8 OPTIONS (field 'v[]'))
	SERVER $_ OPTIONS (bucket_max_points '100', count_field 'n')}) foreach qw(direct xact);
ask('CREATE FOREIGN TABLE direct.sizes (n int) SERVER direct OPTIONS (collection \'parallel\')');
ask('INSERT INTO direct.parallel ' . seconds(1, 3));
restart();
check_last('points of parallel arrays', undef, undef, 'INSERT INTO xact.parallel ' . seconds(4, 288));
is(ask('SELECT array_agg(n ORDER BY n) FROM direct.sizes'), '{88,100,100}', '.. leave one bucket partly empty');

# What is sent again names the new documents as later commands do.
foreach my $table (sort keys %layouts)
{
	restart();
	check_last("$table: new points are changed", undef, undef, 'BEGIN', "INSERT INTO xact.$table " . points(3, 'new'),
		"UPDATE xact.$table SET v = v + 10 WHERE k = 'new'");
	check_last('.. and changed again after the rollback of a savepoint', '3', undef, 'SAVEPOINT s', "INSERT INTO xact.$table " . points(5, 'undone'),
		'ROLLBACK TO s', "UPDATE xact.$table SET v = v + 10 WHERE k = 'new'", "SELECT count(*) FROM xact.$table WHERE k = 'new' AND v > 20");
	check_last('.. and stored', undef, undef, 'COMMIT');
	is(ask("SELECT count(*), count(*) FILTER (WHERE v > 20) FROM direct.$table WHERE k <> 'k'"), '3|3', '.. by COMMIT');
}
# Another session changes what is to be written again.
restart();
check_last('what cannot be written again', undef, qr/ERROR:  40001: .*Another session has changed what this transaction has written\./s,
	'BEGIN', q{UPDATE xact.slots SET v = 100}, 'INSERT INTO xact.flat ' . points(1, 'new'), 'SAVEPOINT a', 'INSERT INTO xact.flat ' . points(1, 'a'),
	'ROLLBACK TO a', q{SELECT mongo_ts_command('direct', '{"delete": "slots", "deletes": [{"q": {}, "limit": 1}]}')}, 'SAVEPOINT b', $insert);
check_last('.. is not committed in part', undef, qr/ERROR:  40001: could not begin the transaction on foreign server "xact" again/, 'ROLLBACK TO b', 'COMMIT');
is(ask('SELECT count(*) FROM direct.flat'), 0, '.. but not at all');
# The error of a move names what the server refuses of it, though its first
# command is sent only with the second one.
restart();
ask(q{SELECT mongo_ts_command('direct', '{"insert": "limited", "documents": [{"k": "none", "m": {"$date": "2020-01-01T00:00:00Z"}, "points": null}]}')});
ask('INSERT INTO direct.limited ' . seconds(1, 1));
check_last('the container of a bucket that points are moved to is null', undef, qr/ERROR:  HV000: could not write to MongoDB collection "[^"]+\.limited"\nDETAIL:  The field 'points' must be an array but is of type null/,
	q{UPDATE xact.limited SET k = 'none'});
# A read that the server refuses aborts the transaction there.
ask(q{CREATE FOREIGN TABLE xact.refused (ts timestamptz, v int) SERVER xact OPTIONS (collection 'capped')});
restart();
check_last('a savepoint in which a query fails', undef, undef, 'BEGIN', $insert, 'SAVEPOINT a', 'SELECT * FROM xact.refused', 'ROLLBACK TO a',
	'INSERT INTO xact.flat ' . points(2, 'new'));
check_last('.. can be rolled back', undef, undef, 'COMMIT');
is(stored(), '7 2', '.. and all else is stored');
my $caught = 'PERFORM 1 / 0; EXCEPTION WHEN division_by_zero THEN END';

foreach my $case ([ "$insert; BEGIN INSERT INTO xact.flat " . points(1, 'new') . "; $caught; END", '7 0', 'a block with an exception writes nothing' ],
	[ "$insert; $caught", '4 0', '.. also if it is the only one' ],
	[ 'INSERT INTO xact.flat ' . points(40000, 'large') . "; BEGIN $insert; $caught; INSERT INTO xact.slots " . points(1, 'last') . '; END',
		'5 40000', '.. and what is written around it is stored' ])
{
	my ($body, $stored, $name) = @$case;

	restart();
	check_last($name, '', undef, "DO \$\$ BEGIN $body \$\$");
	is(stored(), $stored, '.. as it should be');
}
foreach my $command ('SELECT count(*) FROM xact.slots', $insert, 'COMMIT')
{
	restart();
	check_last("REPEATABLE READ: after the rollback of a savepoint with a write, $command is refused", undef,
		qr/ERROR:  0A000: cannot continue the transaction on foreign server "xact"\nDETAIL: .*HINT:  Roll back the transaction\./s,
		'BEGIN ISOLATION LEVEL REPEATABLE READ', $insert, 'SAVEPOINT s', $insert, 'ROLLBACK TO s', $command);
	session_query($writer, 'ROLLBACK');
	is(stored(), '4 0', '.. and nothing is stored');
}
# Nothing is left to be committed, but queries would see a later moment.
restart();
check_last('REPEATABLE READ: after the rollback of the only write', undef, undef, 'BEGIN ISOLATION LEVEL REPEATABLE READ', 'SELECT count(*) FROM xact.slots',
	'SAVEPOINT s', $insert, 'ROLLBACK TO s');
check_last('.. a query is refused', undef, qr/ERROR:  0A000: cannot continue the transaction/, 'SELECT count(*) FROM xact.slots');
check_last('.. but not COMMIT', undef, undef, 'ROLLBACK TO s', 'COMMIT');
check_last('.. nor PREPARE', undef, undef, 'BEGIN', 'SAVEPOINT s', $insert, 'ROLLBACK TO s', q{PREPARE TRANSACTION 'p'}, q{ROLLBACK PREPARED 'p'});
check_last('PREPARE is refused', undef, qr/ERROR:  0A000: cannot PREPARE a transaction that has written to foreign server "xact"/,
	'BEGIN', $insert, q{PREPARE TRANSACTION 'p'});
is(stored(), '4 0', '.. and nothing is stored');

# SERIALIZABLE: what PostgreSQL refuses at COMMIT is not stored.
ask('CREATE TABLE skew (k int, v int); INSERT INTO skew VALUES (1, 0), (2, 0)');
foreach my $round (1 .. 3)
{
	restart();
	foreach my $case ([ $writer, 1 ], [ $other, 2 ])
	{
		my ($one, $k) = @$case;

		session_query($one, $_) foreach 'BEGIN ISOLATION LEVEL SERIALIZABLE', 'SELECT sum(v) FROM skew',
		  "UPDATE skew SET v = v + 1 WHERE k = $k", 'INSERT INTO xact.flat ' . points($k, 'skew');
	}
	(undef, $err) = session_query($other, 'COMMIT');
	is($err, '', 'one of two serializable transactions is committed');
	check_last('.. the other one is not', undef, qr/ERROR:  40001: could not serialize access/, 'COMMIT');
	is(stored(), '4 2', '.. and not stored');
}

# Rolling collections
ask(q{CREATE FOREIGN TABLE xact.rolling (
		ts timestamptz OPTIONS (field 'm'), k text, v int8 OPTIONS (field 'v.{minute}')
	) SERVER xact OPTIONS (collection 'rolling_%Y%m%d')});

# Points of three days
sub days
{
	my ($month) = @_;

	return "INSERT INTO xact.rolling SELECT d, 'k', 1 FROM generate_series(timestamptz '$month-09Z', '$month-11Z', '1 day') d";
}

foreach my $case ([ '2013-10', 'SELECT 1' ], [ '2013-11', 'BEGIN' ], [ '2013-12', 'BEGIN', $insert, 'SELECT count(*) FROM xact.slots' ])
{
	my ($month, @before) = @$case;

	restart();
	check_last("$before[-1]: new collections of a rolling set", undef, undef, @before, days($month));
	session_query($writer, 'COMMIT');
	is(ask("SELECT count(*) FROM xact.rolling WHERE ts >= '$month-01Z' AND ts < '$month-28Z'"), 3, '.. are written at once');
}

# Batches with new collections grow.
ask(q{CREATE FOREIGN TABLE xact.rolling_small (
		ts timestamptz OPTIONS (field 'm'), k text, v int8 OPTIONS (field 'v.{minute}')
	) SERVER xact OPTIONS (collection 'rolling_%Y%m%d', batch_size '2')});
my $started = total('Started');

check_last('an INSERT into many new collections in small batches', undef, undef,
	q{INSERT INTO xact.rolling_small SELECT d, 'k', 1 FROM generate_series(timestamptz '2015-01-01Z', '2015-02-01Z', '1 day') d});
cmp_ok(total('Started') - $started, '<=', 6, '.. begins few transactions');
is(ask(q{SELECT count(*), count(DISTINCT ts) FROM xact.rolling WHERE ts >= '2015-01-01Z' AND ts < '2015-03-01Z'}), '32|32', '.. and is stored once');

# The index on _id finds the buckets of such collections.
ask(q{CREATE FOREIGN TABLE xact.rolling_ids (
		ts timestamptz OPTIONS (field 'v[].t'), k text OPTIONS (field '_id.k'), v int8 OPTIONS (field 'v[].v')
	) SERVER xact OPTIONS (collection 'rolling_ids_%Y%m%d', bucket_time_field '_id.m', bucket_span '1 minute')});
restart();
check_last('a rolling set whose buckets _id identifies', '3', undef, 'BEGIN', days('2013-10') =~ s/xact[.]rolling/xact.rolling_ids/r,
	'SELECT count(*) FROM xact.rolling_ids');
session_query($writer, 'ROLLBACK');
my @repeatable = ('BEGIN ISOLATION LEVEL REPEATABLE READ', $insert, days('2014-01'));

restart();
check_last('.. not where reads must not change', undef, qr/ERROR:  40001: .*HINT:  /s, @repeatable);
check_last('.. but when it is run again', undef, undef, 'ROLLBACK', @repeatable, 'COMMIT');

# What is written without a transaction stays, with a warning.
foreach my $server (qw(direct plain))
{
	my $warning = qr/WARNING:  01000: writes to foreign server "$server" are not rolled back\nDETAIL:  Points of "$server\.slots" stay stored, changed or removed\.$/m;
	my $insert_five = "INSERT INTO $server.slots " . points(5, 'w');

	restart();
	session_query($writer, $_) foreach 'BEGIN', $insert_five;
	(undef, $err) = session_query($writer, 'ROLLBACK');
	like($err, $warning, "$server: ROLLBACK warns");
	is(stored(), '9 0', '.. of what stays');
	(undef, $err) = session_query($writer, "DO \$\$ BEGIN $insert_five; BEGIN INSERT INTO $server.slots " . points(1, 'y') . "; $caught; END \$\$");
	like($err, $warning, '.. so does a block with an exception');
	unlike($err, qr/$warning.*$warning/s, '.. once');
	restart();
	session_query($writer, $_) foreach 'BEGIN', "UPDATE $server.slots SET ts = ts + interval '1 s'";
	(undef, $err) = session_query($writer, 'ROLLBACK');
	like($err, $warning, "$server: ROLLBACK warns of points that have moved");
	is(stored(), '4 0', '.. which are stored once');
	session_query($writer, $_) foreach 'BEGIN', 'SAVEPOINT s', "UPDATE $server.slots SET ts = ts + interval '1 s'";
	(undef, $err) = session_query($writer, 'ROLLBACK TO s');
	like($err, $warning, '.. so does that of a savepoint');
	is(ask(q{SELECT count(*) FROM direct.slots WHERE ts = date_trunc('minute', ts) + interval '2 s'}), 4, '.. rightly');
	check_last('.. and COMMIT does not warn', undef, undef, "UPDATE $server.slots SET ts = ts + interval '1 s'", 'COMMIT');
}
# So are rows that the same statement routes to the table.
restart();
ask(q{
	CREATE TABLE parted (ts timestamptz, k text, v int8) PARTITION BY LIST (k);
	CREATE TABLE here PARTITION OF parted FOR VALUES IN ('here');
	ALTER TABLE parted ATTACH PARTITION direct.slots FOR VALUES IN ('k');
	INSERT INTO here VALUES ('2020-01-01 00:01:30Z', 'here', 9)});
session_query($writer, $_) foreach 'BEGIN', q{UPDATE parted SET ts = ts + interval '1 s', k = 'k'};
is(stored(), '5 0', 'points that move, and one that a partition gets, are stored before COMMIT');
check_last('.. and written again', undef, undef, q{UPDATE direct.slots SET v = v + 1}, 'COMMIT');
ask(q{ALTER TABLE parted DETACH PARTITION direct.slots; DROP TABLE parted});
# It is one transaction, which ends with its statement, so it is repeated.
foreach my $level ('READ COMMITTED', 'REPEATABLE READ')
{
	restart();
	session_query($other, $_) foreach 'BEGIN', q{UPDATE xact.slots SET v = 5 WHERE ts = '2020-01-01 00:04Z'};
	session_query($writer, "BEGIN ISOLATION LEVEL $level");
	session_send($writer, q{UPDATE direct.slots SET ts = ts + interval '1 s'});
	sleep(1);
	ok(!session_has_answered($writer), "$level: a move in a transaction block waits for another transaction");
	session_query($other, 'ROLLBACK');
	(undef, $err) = session_wait($writer);
	is($err, '', '.. and is repeated');
	check_last('.. other writes of the block are not', undef, qr/ERROR:  0A000: cannot continue/, 'SAVEPOINT s', $insert, 'ROLLBACK TO s', 'SELECT * FROM xact.slots')
	  if $level =~ m/REPEATABLE/;
}
ask(q{CREATE FOREIGN TABLE xact.small (ts timestamptz OPTIONS (field 'm'), k text, v int8 OPTIONS (field 'v.{second}'))
	SERVER xact OPTIONS (collection 'slots', batch_size '2');
	CREATE FOREIGN TABLE plain.small (ts timestamptz OPTIONS (field 'm'), k text, v int8 OPTIONS (field 'v.{second}'))
	SERVER plain OPTIONS (collection 'slots', batch_size '2')});
foreach my $case ([ 'xact', 4 ], [ 'plain', 8 ])
{
	my ($server, $stored) = @$case;

	restart();
	(undef, $err) = session_query($writer, "COPY $server.small FROM stdin (FORMAT csv);\n"
		  . join('', map { "2020-01-01 00:0${_}Z,c,1\n" } 5 .. 9) . "2020-01-01Z,c,x\n\\.\nSELECT 1");
	like($err, qr/ERROR:  22P02/, "$server: a COPY fails after some batches");
	my $warns = $err =~ m/WARNING:  01000: .*\nDETAIL:  Points of "$server\.small" stay stored/;

	is($warns ? 1 : 0, $stored > 4 ? 1 : 0, '.. and says whether something is stored');
	is(stored(), "$stored 0", '.. which is true');
}

# A statement of several batches is repeated as a whole.
restart();
session_query($other, "BEGIN; UPDATE xact.slots SET v = 5 WHERE ts = '2020-01-01 00:04Z'");
session_send($writer, 'INSERT INTO xact.small SELECT ts, k, 3 FROM (' . points(4, 'k') . ') p (ts, k, v)');
sleep(1);
ok(!session_has_answered($writer), 'a statement of several batches waits for another transaction');
session_query($other, 'COMMIT');
(undef, $err) = session_wait($writer);
is($err, '', '.. and then succeeds');
is(ask('SELECT count(*), sum(v) FROM direct.slots'), '4|12', '.. wholly');

# Conflicts
foreach my $statement ('UPDATE xact.slots SET v = v + 1', 'INSERT INTO xact.slots SELECT ts, k, 3 FROM (' . points(4, 'k') . ') p (ts, k, v)')
{
	restart();
	session_query($other, "BEGIN; UPDATE xact.slots SET v = 5 WHERE ts = '2020-01-01 00:02Z'");
	check_last("a write to a bucket of another transaction: $statement", undef, qr/ERROR:  40001: .*HINT:  Another session, .*wrote to the same buckets/s, 'BEGIN', $statement);
	cmp_ok($seconds, '<', 3, '.. is an error at once');
	session_query($writer, 'ROLLBACK');
	(undef, $err) = session_query($other, 'COMMIT');
	is($err, '', '.. and the other one is committed');
	is(ask('SELECT sum(v) FROM direct.slots'), 8, '.. alone');
}
restart();
session_query($writer, "BEGIN; INSERT INTO xact.flat " . points(1, 'new'));
ask('UPDATE direct.slots SET v = 9');
check_last('a bucket that was changed after the transaction began', undef, qr/ERROR:  40001: /, 'UPDATE xact.slots SET v = v + 1');
session_query($writer, 'ROLLBACK');
is(stored(), '4 0', '.. leaves nothing');

# Errors
restart();
check_last('an error', undef, qr/ERROR:  22012/, 'BEGIN', $insert, 'SELECT 1 / 0');
($out, $err, $seconds) = session_query($other, 'INSERT INTO direct.slots ' . points(3, 'new'));
is("$err", '', '.. aborts the transaction on the server');
cmp_ok($seconds, '<', 3, '.. at once');
session_query($writer, 'ROLLBACK');
restart();
check_last('a capped collection is written by itself', undef, undef, q{CREATE FOREIGN TABLE xact.capped (ts timestamptz, v int) SERVER xact},
	'BEGIN', $insert, q{INSERT INTO xact.capped SELECT '2021-01-01Z', 1 FROM generate_series(1, 3)});
(undef, $err) = session_query($writer, 'ROLLBACK');
like($err, qr/WARNING:  01000: .*Points of "xact.capped" stay stored/s, '.. which ROLLBACK says');
is(ask(q{SELECT count(*) FROM xact.capped WHERE ts = '2021-01-01Z'}), 3, '.. and it is stored');
is(stored(), '4 0', '.. alone');
check_last('it is refused where a transaction is required', undef, qr/ERROR:  0A000: .*HINT:  MongoDB does not allow this in a transaction/s,
	q{CREATE FOREIGN TABLE required.capped (ts timestamptz, v int) SERVER required}, q{INSERT INTO required.capped VALUES ('2020-01-01Z', 1), ('2020-01-01Z', 2)});
SKIP:
{
	skip 'MongoDB has no time-series collections', 2 unless $is_modern;
	ask(q{CREATE FOREIGN TABLE xact.series (ts timestamptz, v int) SERVER xact});
	check_last('a time-series collection is written by itself', undef, undef, q{INSERT INTO xact.series VALUES ('2020-01-01Z', 1), ('2020-01-01Z', 2)});
	check_last('.. and read', 7, undef, 'BEGIN', $insert, 'SELECT count(*) FROM xact.series');
	session_query($writer, 'ROLLBACK');
}
check_last('a capped collection is not read, either', undef, qr/ERROR:  0A000: could not read.*HINT:  MongoDB does not allow this in a transaction/s,
	'BEGIN', $insert, 'SELECT count(*) FROM xact.capped');
session_query($writer, 'ROLLBACK');

# Tables of the server with another value write by themselves.
ask(q{CREATE FOREIGN TABLE xact.alone (ts timestamptz, v int) SERVER xact OPTIONS (transactions 'batch')});
foreach my $statements ([$insert], [ 'BEGIN', $insert, 'ROLLBACK' ], [q{DELETE FROM xact.slots WHERE ts < '1999-01-01Z'}])
{
	my $mixed = session_start($node);

	restart();
	session_query($mixed, $_) foreach @$statements, (q{INSERT INTO xact.alone VALUES ('2020-01-01Z', 1)}) x 2, @$statements;
	($out, $err) = session_query($mixed, q{INSERT INTO xact.alone VALUES ('2020-01-01Z', 1); SELECT count(*) FROM xact.alone; DELETE FROM xact.alone});
	is("$out$err", 3, "$statements->[-1]: other writes of the session");
	session_end($mixed);
}
check_last('a transaction that is too long for the server', undef, qr/ERROR:  40001: .*transactionLifetimeLimitSeconds/s,
	q{SELECT mongo_ts_command('long', '{"setParameter": 1, "transactionLifetimeLimitSeconds": 1}')},
	'BEGIN', $insert, 'SELECT pg_sleep(4)', 'COMMIT');
ask(q{SELECT mongo_ts_command('long', '{"setParameter": 1, "transactionLifetimeLimitSeconds": 60}')});

# Lost connections: a statement by itself is repeated.
foreach my $case ([ 'request', 'update slots' ], [ 'reply', 'update slots' ], [ 'request', 'commitTransaction 1' ], [ 'reply', 'commitTransaction 1' ])
{
	my ($where, $request) = @$case;

	foreach my $block ([ '', '', 1 ], [ 'BEGIN; ', '; COMMIT', $request =~ m/commit/ ? 1 : 0 ])
	{
		my ($begin, $end, $is_stored) = @$block;

		restart();
		session_query($writer, 'SELECT 1 FROM cut.slots LIMIT 1');
		halt_at($proxy, $where, $request);
		session_send($writer, "${begin}INSERT INTO cut.slots " . points(3, 'cut') . $end);
		is(halt_await($proxy), $request, "a transaction loses its connection at the $where of $request");
		halt_end($proxy, 'cut');
		($out, $err) = session_wait($writer);
		$is_stored
		  ? is($err, '', '.. and is committed')
		  : like($err, qr/ERROR:  40001: could not write.*The server has stored nothing of the transaction\.\nHINT:  Run the transaction again/s,
			'.. and is to be run again');
		session_query($writer, 'ROLLBACK');
		is(ask(q{SELECT count(*) FROM direct.slots WHERE k = 'cut'}), $is_stored * 3, '.. and what is stored');
	}
}

# A commit that nobody answers, and servers without transactions
my $single = fake_start("$directory/single", [], sessions => 1);

create_server($node, 'single', fake_uri($single, 'serverSelectionTimeoutMS=1000'), "database 'fake', transactions 'required'");
ask(q{CREATE FOREIGN TABLE xact.single (ts timestamptz, k text, v int8) SERVER single});
check_last('a server without transactions is refused', undef,
	qr/ERROR:  0A000: could not write.*HINT:  Set option "transactions" of the foreign server or table to "auto"/s, 'INSERT INTO xact.single ' . points(1, 'k'));

session_end($_) foreach $writer, $other;

# ---- A server that refuses and forgets ------------------------------------

my $commit = '';    # what becomes of the next commit

sub label
{
	my ($code, $message) = @_;

	return bson_document(
		ok => bson_double(0),
		errmsg => bson_string($message),
		code => bson_int32($code),
		errorLabels => bson_array(bson_string('TransientTransactionError')));
}

# The reply to a write that too few members have
sub unacknowledged
{
	my ($code, $message) = @_;

	return bson_document(
		ok => bson_double(1),
		writeConcernError => bson_document(code => bson_int32($code), errmsg => bson_string($message)));
}

# Answer a command; the code refuses it in a transaction, under a condition.
sub refuse
{
	my ($error, $condition) = @_;

	return sub {
		my ($request, $healthy, $before) = @_;
		my $is_refused = $request->{fields}{startTransaction} && $condition->($request, $before);

		$commit = $is_refused ? 'aborted' : '';
		return fake_reply($request, $is_refused ? $error : $healthy->());
	};
}

# Answer a command, but not its commit.
sub disturb
{
	my ($what) = @_;

	return sub {
		my ($request, $healthy, $before) = @_;

		$commit = $before ? '' : $what;
		return $before || $what ne 'lost' ? fake_reply($request, $healthy->()) : undef;
	};
}

my %scripts = (
	'update large' => refuse(fake_error(388, 'too large'), sub { $_[0]{writes} > 3 }),
	'update single' => refuse(fake_error(263, 'no transactions'), sub { 1 }),
	'update busy' => refuse(label(112, 'busy'), sub { $_[1] < 4 }),
	'update strange' => refuse(label(9999, 'strange'), sub { $_[1] < 2 }),
	'update small' => refuse(label(112, 'busy'), sub { $_[1] < 4 && sleep(1.1) }),
	'update stalled' => refuse(label(290, 'too long'), sub { $_[1] < 2 }),
	'update slow' => refuse(label(112, 'busy'), sub { $_[0]{writes} > 300 && sleep(1.1) }),
	'update long' => refuse(label(290, 'too long'), sub { $_[0]{writes} > 300 }),
	'update half' => sub {
		my ($request, $healthy, $before) = @_;

		return fake_reply($request, $before == 0 ? fake_error(388, 'too large') : $before == 1 ? $healthy->() : fake_error(8, 'failed'));
	},
	'update aborted' => disturb('aborted'),
	'update dropped' => disturb('dropped'),
	'update lost' => disturb('lost'),
	'update unsure' => disturb('unsure'),
	'update never' => disturb('never'),
	'update pending' => disturb('never'),
	'update patient' => disturb('undecided'),
	'update patient_batch' => disturb('never'),
	'update passed' => disturb('passed'),
	'update delayed' => disturb('delayed'),
	'update unconfirmed' => disturb('delayed'),
	'update expired' => disturb('expired'),
	'update killed' => disturb('killed'),
	'commitTransaction 1' => sub {
		my ($request, $healthy) = @_;
		my $what = $commit;

		return if $what eq 'lost';
		$commit = $what eq 'passed' ? 'old' : '' unless $what =~ m/^(?:never|undecided)$/;
		return undef if $what eq 'dropped' || $what eq 'never';
		return fake_reply($request, $what eq 'aborted' ? label(251, 'aborted')
			: $what =~ m/^(?:unsure|undecided|passed)$/ ? fake_error(11602, 'interrupted')
			: $what eq 'old' ? fake_error(225, 'the session has a later number')
			: $what eq 'delayed' ? unacknowledged(64, 'waiting timed out')
			: $what eq 'expired' ? unacknowledged(290, 'the transaction took too long')
			: $what eq 'killed' ? unacknowledged(11601, 'operation was interrupted')
			: $healthy->());
	});
my $fake = fake_start("$directory/fake_set", [], scripts => \%scripts, sessions => 1, set => 1);

create_server($node, 'fake', fake_uri($fake, 'directConnection=true&serverSelectionTimeoutMS=1000'), "database 'fake', transactions 'batch'");

# Insert points of as many buckets, ten by default, and check the error and the
# commands.
sub check_commands
{
	my ($table, $error, $commands, $name, $npoints) = @_;

	ask("CREATE FOREIGN TABLE $table (ts timestamptz OPTIONS (field 'm'), k text, v int8 OPTIONS (field 'v.{second}'))
		SERVER fake OPTIONS (write_mode 'increment')");
	fake_commands($fake);
	($out, $err, $seconds) = session_query($session, "INSERT INTO $table " . points($npoints // 10, 'k'));
	$error ? like($err, $error, $name) : is($err, '', $name);
	my @sent = grep { m/^(?:update|commit|abort)/ } fake_commands($fake);
	my %sent;

	$sent{$_}++ foreach @sent;
	is(join(', ', map { "$sent{$_} $_" } reverse sort keys %sent), $commands, '.. by these commands') if $commands;
	return;
}

check_commands('normal', '', '1 update normal, 1 commitTransaction 1', 'a transaction is two commands');
check_commands('large', '', '7 update large, 5 commitTransaction 1, 2 abortTransaction 1', 'one that is too large is halved');
ask(q{CREATE FOREIGN TABLE large_auto (ts timestamptz OPTIONS (field 'm'), k text, v int8 OPTIONS (field 'v.{second}'))
	SERVER fake OPTIONS (collection 'large', transactions 'auto')});
($out, $err) = session_query($session, 'INSERT INTO large_auto ' . points(10, 'k'));
like($err, qr/ERROR:  54000: .*too large.*HINT:  .*set option "transactions" of the foreign table to "batch"/s,
	'.. but an error that names the option, if it is PostgreSQL\'s');
check_commands('single', '', '2 update single, 1 abortTransaction 1', 'one that is not possible is sent as plain writes');
check_commands('busy', '', '5 update busy, 1 commitTransaction 1, 4 abortTransaction 1', 'one that has a conflict is sent again');
check_commands('strange', '', '3 update strange, 1 commitTransaction 1, 2 abortTransaction 1', 'one that the server calls transient is sent again');
check_commands('small', '', '5 update small, 1 commitTransaction 1, 4 abortTransaction 1', 'so is one whose conflicts each take more than a second');
check_commands('stalled', '', '3 update stalled, 1 commitTransaction 1, 2 abortTransaction 1', '.. and one that has lasted too long');
check_commands('slow', '', '5 update slow, 2 commitTransaction 1, 3 abortTransaction 1', 'a large one that has conflicts after a second or more is halved', 600);
check_commands('long', '', '3 update long, 2 commitTransaction 1, 1 abortTransaction 1', '.. and a large one that has lasted too long', 600);
check_commands('half', qr/^(?=.*ERROR:  HV000: ).*\nDETAIL:  Points of "half" stay stored, changed or removed\.$/ms, '3 update half, 1 abortTransaction 1',
	'a warning says that parts are stored', 2);
check_commands('aborted', '', '2 update aborted, 2 commitTransaction 1', 'one that was aborted before its commit is sent again');
check_commands('dropped', '', '1 update dropped, 2 commitTransaction 1', 'a commit without an answer is sent again');
check_commands('unsure', '', '1 update unsure, 2 commitTransaction 1', 'a commit that an election has interrupted is sent again');
check_commands('expired', '', '1 update expired, 2 commitTransaction 1',
	'so is one whose wait for the members a time limit has ended');
check_commands('killed', '', '1 update killed, 2 commitTransaction 1',
	'.. or the end of its session');
check_commands('lost', '', undef, 'a write whose reply is lost is committed once');
check_commands('never', qr/ERROR:  08007: .*unknown whether the last bulk write was executed/s, undef,
	'a commit that is never answered is an error');
cmp_ok($seconds, '<', 5, '.. within some seconds');
check_commands('passed', qr/ERROR:  08007: .*unknown whether the last bulk write was executed/s,
	'1 update passed, 2 commitTransaction 1, 1 abortTransaction 1', 'so is one whose number the session has passed');
ask(q{CREATE FOREIGN TABLE pending (ts timestamptz OPTIONS (field 'm'), k text, v int8 OPTIONS (field 'v.{second}'))
	SERVER fake OPTIONS (transactions 'required')});
($out, $err, $seconds) = session_query($session, 'INSERT INTO pending ' . points(3, 'k'));
like($err, qr/ERROR:  08007: could not commit the transaction on foreign server "fake".*unknown whether the transaction was committed/s,
	'.. also at COMMIT');
cmp_ok($seconds, '<', 5, '.. within some seconds');

# A cancel between two tries of such a commit
create_server($node, 'patient', fake_uri($fake, 'directConnection=true&serverSelectionTimeoutMS=60000'), "database 'fake'");
ask(q{CREATE FOREIGN TABLE patient (ts timestamptz OPTIONS (field 'm'), k text, v int8 OPTIONS (field 'v.{second}'))
	SERVER patient;
	CREATE FOREIGN TABLE patient_batch (ts timestamptz OPTIONS (field 'm'), k text, v int8 OPTIONS (field 'v.{second}'))
	SERVER patient OPTIONS (transactions 'batch')});
foreach my $case ([ 'patient', qr/ERROR:  08007: could not commit.*unknown whether the transaction was committed/s ],
	[ 'patient_batch', qr/ERROR:  08007: could not write.*unknown whether the last bulk write was executed/s ])
{
	my ($table, $error) = @$case;

	session_send($session, "INSERT INTO $table " . points(3, 'k'));
	sleep(1);
	ask("SELECT pg_cancel_backend($session->{pid})");
	($out, $err, $seconds) = session_wait($session);
	like($err, $error, "$table: a cancel tells that the outcome is unknown");
	cmp_ok($seconds, '<', 5, '.. at once');
	like($err, qr/WARNING:  01000: .*\nDETAIL:  Whether points of "$table" were stored, changed or removed is not known\.$/m, '.. so does a warning');
}
check_commands('delayed', qr/ERROR:  HV000: .*waiting timed out\nHINT:  The writes are stored/s, undef,
	'a commit that the members do not acknowledge is an error');
ask(q{CREATE FOREIGN TABLE unconfirmed (ts timestamptz OPTIONS (field 'm'), k text, v int8 OPTIONS (field 'v.{second}')) SERVER patient});
session_query($session, $_) foreach 'BEGIN', 'INSERT INTO unconfirmed ' . points(3, 'k');
($out, $err) = session_query($session, 'COMMIT');
like($err, qr/ERROR:  HV000: .*waiting timed out\nHINT:  The writes are stored/s, '.. also at COMMIT');
like($err, qr/WARNING:  01000: writes to foreign server "patient" are not rolled back\nDETAIL:  Points of "unconfirmed" stay stored, changed or removed\.$/m, '.. with a warning');
($out, $err) = session_query($session, 'INSERT INTO normal ' . points(10, 'k') . ' RETURNING k');
is("$out$err", join("\n", ('k') x 10), 'the session works');

# a planted fault is detected by this line
my @failed = grep { !$_ } Test::More->builder->summary;
is(@failed, 0, sprintf('transactions: of %d tests, %d differ', scalar(Test::More->builder->summary), scalar(@failed)));

session_end($session);
$node->stop;
done_testing();
