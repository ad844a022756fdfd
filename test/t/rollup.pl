# Proves that what the state of a roll-up says is complete is what the points give: after each
# kind of write, after a write during a refresh, and while sessions write points, refresh the
# roll-up at once, are ended, and the server is killed; on a standalone server and on a replica
# set.  So do queries between changes of the columns of points and roll-ups.
# mongo_ts_check_rollup() agrees beside them.  A user who may not read the state gets points.
#
# SEED repeats the order of the statements, and DURATION says for how many seconds they go on.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use MongoTS::HaltProxy;
use MongoTS::Node;
use MongoTS::RollupColumns qw(check_columns);
use Test::More;
use Time::HiRes qw(sleep time);

my $seconds = $ENV{DURATION} // 12;
my $seed = $ENV{SEED} // int time;

srand($seed);
note "SEED=$seed";

# A server that is external is not killed.
my $is_own = $ENV{MONGO_TS_FAULT_DIR} && -x "$ENV{MONGO_TS_FAULT_DIR}/mongod";
my @kinds = ('standalone', $is_own ? 'set' : ());
my $set = $is_own ? set_start(1) : undef;
my %uri = (standalone => $is_own ? fault_uri() : $ENV{MONGODB_URI}, set => $set && set_uri($set));
my %kill = (
	standalone => sub { fault_kill(); fault_restart() },
	set => sub { set_kill($set, 1); set_restart($set, 1); set_await($set) });
my @nodes = map { new_node($_, uri => undef) } qw(one two);

# ---- Tables -----------------------------------------------------------------

# Points of ten days, and roll-ups of hours and of days
sub make_tables
{
	my ($kind) = @_;

	$nodes[0]->safe_psql('postgres', <<"END");
		CREATE SCHEMA $kind;
		SET search_path = $kind, public;
		SELECT mongo_ts_command('$kind', '{"dropDatabase": 1}');
		CREATE FOREIGN TABLE points (ts timestamptz OPTIONS (field 'hour'), k text, v float8 OPTIONS (field 'm.{minute}'))
			SERVER $kind OPTIONS (database 'mts_rollup');
		SELECT mongo_ts_create_index('points');
		SELECT mongo_ts_create_rollup('points', '1 hour', 'hours', lag => '0');
		SELECT mongo_ts_create_rollup('hours', '1 day', 'days', lag => '0');
		CREATE VIEW state AS
			SELECT d->>'_id' AS name, (d#>>'{until,\$date}')::timestamptz AS until,
				coalesce((SELECT range_agg(tstzrange((s#>>'{from,\$date}')::timestamptz, (s#>>'{to,\$date}')::timestamptz))
					FROM jsonb_array_elements(d->'stale') s), '{}') AS stale
			  FROM mongo_ts_find('$kind', 'mongo_ts_rollups') d WHERE d ? 'until';
		-- an expression, so that no roll-up answers it
		CREATE VIEW expected AS
			SELECT name, date_trunc(width, ts, 'UTC') AS ts, k, count(*) AS points, count(v + 0) AS n, sum(v + 0) AS sum,
				min(v + 0) AS min, max(v + 0) AS max
			  FROM points, (VALUES ('hours', 'hour'), ('days', 'day')) w (name, width) GROUP BY 1, 2, 3;
		CREATE VIEW found AS
			SELECT 'hours' AS name, ts, k, points, v_count AS n, v_sum AS sum, v_min AS min, v_max AS max, interval '1 hour' AS width FROM hours
			UNION ALL SELECT 'days', *, '1 day' FROM days;
		CREATE VIEW compared AS
			SELECT name, ts, k, (e.points, e.n, e.sum, e.min, e.max) IS DISTINCT FROM (f.points, f.n, f.sum, f.min, f.max) AS is_wrong,
				ts + CASE name WHEN 'hours' THEN interval '1 hour' ELSE '1 day' END > until
				OR stale && tstzrange(ts, ts + CASE name WHEN 'hours' THEN interval '1 hour' ELSE '1 day' END) AS is_open
			  FROM expected e FULL JOIN found f USING (name, ts, k) JOIN state USING (name);
		INSERT INTO points SELECT '2024-02-25'::timestamptz + i * interval '7 minutes', 'k' || i % 3, i % 50 FROM generate_series(1, 2000) i;
END
	return;
}

# Check that the complete intervals of a kind of server are right.
sub check
{
	my ($kind, $name) = @_;

	my @wrong = split(/\n/, $nodes[0]->safe_psql('postgres', "SELECT name, ts, k FROM $kind.compared WHERE is_wrong AND NOT is_open"));

	# test/faults looks for these words
	ok(@wrong == 0, "$kind: $name: " . @wrong . ' differ') or diag(join("\n", @wrong));
	return;
}

# Let the time pass in which a write could still be executed.
sub settle
{
	my ($kind) = @_;

	$nodes[0]->safe_psql('postgres', qq{SELECT mongo_ts_command('$kind', '{"update": "mongo_ts_rollups", "updates": [
		{"q": {"stale.0": {"\$exists": true}}, "u": {"\$set": {"stale.\$[].computed": {"\$date": "2000-01-01T00:00:00Z"}}}, "multi": true}]}')});
	return;
}

# Check that all is complete and right after a refresh.
sub check_all
{
	my ($kind, $name) = @_;

	settle($kind);
	$nodes[0]->safe_psql('postgres', "SELECT mongo_ts_refresh_rollup('$kind.days')");
	check($kind, $name);
	is($nodes[0]->safe_psql('postgres', "SELECT count(*) > 100, count(*) FILTER (WHERE is_open) FROM $kind.compared"),
		't|0', "$kind: .. and nothing is open");
	return;
}

# ---- Statements -------------------------------------------------------------

# A time of the ten days in some steps, in SQL
sub a_time
{
	my ($step) = @_;

	return sprintf("('2024-02-25Z'::timestamptz + %d * interval '%s')", rand(10 * 86400) / { '1 minute' => 60, '1 hour' => 3600 }->{$step}, $step);
}

sub a_write
{
	my $begin = a_time('1 hour');
	my $range = sprintf("ts >= $begin AND ts < $begin + interval '%d minutes'", 1 + rand 300);
	my $insert = sprintf("INSERT INTO points SELECT %s + i * interval '%d minutes', 'k' || i %% %d, %d + i FROM generate_series(1, %d) i",
		a_time('1 minute'), 1 + rand 90, 1 + rand 4, rand 100, 1 + rand 60);
	my @writes = ($insert, $insert, "UPDATE points SET v = v + 1 WHERE $range", "DELETE FROM points WHERE $range",
		"DELETE FROM points WHERE $range AND k = 'k1'", "UPDATE points SET ts = ts + interval '3 days' WHERE $range AND k = 'k2'",
		"BEGIN; $insert; " . (rand 2 < 1 ? 'COMMIT' : 'ROLLBACK'),
		"BEGIN; $insert; SAVEPOINT s; DELETE FROM points WHERE $range; ROLLBACK TO s; SELECT pg_sleep(0.05); COMMIT");

	return $writes[ rand @writes ];
}

sub a_refresh
{
	my ($from, $to) = map { a_time('1 hour') } 1 .. 2;
	my @refreshes = ("'days'", "'days'", "'hours'", "'hours', $from", "'days', least($from, $to), greatest($from, $to)");

	return "SELECT mongo_ts_refresh_rollup($refreshes[ rand @refreshes ])";
}

# A query that roll-ups answer, and one that they do not, of one moment
sub a_query
{
	my $columns = "date_trunc('" . (qw(hour day month))[ rand 3 ] . "', ts, 'UTC') AS t, k, count(*) AS points";

	return "SELECT 'wrong: ' || string_agg((a, b)::text, ', ')
		FROM (SELECT $columns, sum(v) AS s, min(v) AS low FROM points GROUP BY 1, 2) a
		FULL JOIN (SELECT $columns, sum(v + 0) AS s, min(v + 0) AS low FROM points GROUP BY 1, 2) b USING (t, k)
		WHERE a IS DISTINCT FROM b";
}

# A comparison of a roll-up with its points, which finds no difference
sub a_check
{
	my $rollup = qw(hours days)[ rand 2 ];

	return "SELECT 'wrong: ' || string_agg(c::text, ', ') FROM mongo_ts_check_rollup('$rollup', '-infinity') c WHERE interval_start IS NOT NULL";
}

# Start a session whose statements are of one kind.
sub start
{
	my ($session, $kind, $statement) = @_;

	$session->{session} = session_start($nodes[0]);
	$session->{statement} = $statement;
	session_query($session->{session}, "SET search_path = $kind, public; SET client_min_messages = error");
	session_send($session->{session}, $statement->());
	return $session;
}

# Note the errors of a session that has answered, and whether it has ended.
sub finish
{
	my ($session, $errors) = @_;
	my ($out, $err) = eval { session_wait($session->{session}) };
	my ($state) = ($err //= 'ERROR:  lost: ') =~ m/(?:ERROR|FATAL):  (\w+): /;

	push @{ $session->{wrong} }, $1 if ($out // '') =~ m/^(wrong: .*)/m;
	$errors->{$state}++ if defined $state;
	return 1 if $err =~ m/57P01|lost|server closed the connection/;
	session_query($session->{session}, 'ROLLBACK') if defined $state;
	return 0;
}

# Wait until no session works, and none of their writes is under way.
sub quiesce
{
	my ($kind, $sessions, $errors) = @_;

	foreach my $session (@$sessions)
	{
		next unless finish($session, $errors);
		eval { session_end($session->{session}) };
		start($session, $kind, $session->{statement});
		finish($session, $errors);
	}
	settle($kind);
	return;
}

# ---- Writes by themselves ---------------------------------------------------

# Check what is complete after a write of an interval that was complete, and after a refresh.
sub check_write
{
	my ($kind, $write) = @_;

	$nodes[0]->safe_psql('postgres', "SET search_path = $kind, public; $write");
	check($kind, "after $write");
	check_all($kind, '.. and a refresh');
	return;
}

# Check that a transaction sees each of its writes, although a roll-up had their intervals.
sub check_transaction
{
	my ($kind) = @_;
	my $sums = join(';', map { "SET LOCAL mongo_ts_fdw.enable_rollups = $_; SELECT count(*), sum(v) FROM points" } qw(on off));
	my @rows = split(/\n/, $nodes[0]->safe_psql('postgres', <<"END"));
		SET search_path = $kind, public;
		BEGIN;
		UPDATE points SET v = 1000 WHERE ts >= '2024-02-26' AND ts < '2024-02-26 01:00';
		$sums;
		DELETE FROM points WHERE ts >= '2024-02-28' AND ts < '2024-02-28 02:00';
		$sums;
		COMMIT;
END
	is("$rows[0] $rows[2]", "$rows[1] $rows[3]", "$kind: a transaction sees its own writes");
	isnt($rows[0], $rows[2], '.. each of them');
	return;
}

# Check that a write whose outcome is unknown can be executed after a refresh.
sub check_unknown
{
	my ($kind) = @_;

	$nodes[0]->safe_psql('postgres', "SET search_path = $kind, public; INSERT INTO points VALUES ('2024-02-26 16:01Z', 'k1', 1)");
	$nodes[0]->safe_psql('postgres', "SELECT mongo_ts_refresh_rollup('$kind.days')");
	$nodes[0]->safe_psql('postgres', qq{SELECT mongo_ts_command('$kind', '{"update": "points", "updates": [
		{"q": {"hour": {"\$date": "2024-02-26T16:00:00Z"}, "k": "k1"}, "u": {"\$set": {"m.2": 2}}}]}')});
	check($kind, 'a write is executed after a refresh');
	check_all($kind, '.. and another refresh');
	return;
}

# Check that queries of altered points are not answered by the rows of before.
sub check_altered
{
	my ($kind) = @_;
	my $sums = join(';', map { "SET mongo_ts_fdw.enable_rollups = $_; SELECT count(*), sum(v) FROM points" } qw(on off));

	foreach my $change ("ALTER v OPTIONS (ADD missing_value '7')", q{OPTIONS (ADD filter '{"k": "k1"}')})
	{
		my @rows = split(/\n/, $nodes[0]->safe_psql('postgres',
			"SET search_path = $kind, public; BEGIN; ALTER FOREIGN TABLE points $change; $sums"));
		my $wrong = $rows[0] eq $rows[1] ? 0 : 1;

		ok(!$wrong, "$kind: after $change: $wrong differ");
	}
	return;
}

sub check_writes
{
	my ($kind) = @_;
	my $hour = sub { "ts >= '2024-02-26 $_[0]:00Z' AND ts < '2024-02-26 $_[0]:30Z'" };

	check_all($kind, 'all is right after the first refresh');
	check_write($kind, "INSERT INTO points VALUES ('2024-02-26 01:01Z', 'k1', 1000)");
	check_write($kind, "INSERT INTO points VALUES ('2024-02-26 01:01Z', 'k1', 2000) ON CONFLICT DO NOTHING");
	check_write($kind, "BEGIN; INSERT INTO points VALUES ('2024-02-26 02:01Z', 'k1', 1000); COMMIT");
	check_write($kind, 'UPDATE points SET v = 1000 WHERE ' . $hour->('04'));
	check_write($kind, "UPDATE points SET ts = ts + interval '3 days' WHERE " . $hour->('06'));
	check_write($kind, "UPDATE points SET k = 'k9' WHERE " . $hour->('08'));
	check_write($kind, "DELETE FROM points WHERE k = 'k1' AND v > 0 AND " . $hour->('10'));
	check_write($kind, "DELETE FROM points WHERE ts >= '2024-02-26 12:00Z' AND ts < '2024-02-26 14:00Z'");
	check_transaction($kind);
	check_unknown($kind);
	check_altered($kind);
	return;
}

# ---- Everything at once -----------------------------------------------------

foreach my $kind (@kinds)
{
	my %errors;
	my %done = (0 => 0, 1 => 0, 2 => 0, 3 => 0, terminated => 0, killed => 0);

	create_server($_, $kind, $uri{$kind}, "database 'mts_rollup'") foreach @nodes;
	make_tables($kind);
	check_writes($kind);
	check_columns($nodes[0], $kind, 40);
	my $end = time + $seconds;
	my ($next_check, $next_kill) = (time + 2, time + 5);
	my @statements = (\&a_write, \&a_refresh, \&a_query, \&a_check);
	# a standalone server has no snapshots
	my @sessions = map { start({ kind => $_ }, $kind, $statements[$_]) } 0, 0, 1, 1, 3, $kind eq 'set' ? 2 : ();
	my $plan = $nodes[0]->safe_psql('postgres', "SET search_path = $kind, public; EXPLAIN " . a_query());

	like($plan, qr/Roll-up Query: /, "$kind: a query uses roll-ups");

	while (time < $end)
	{
		foreach my $session (@sessions)
		{
			my $has_ended = !eval { $session->{session}{psql}->pump_nb; 1 } || !$session->{session}{psql}->pumpable;

			next unless $has_ended || session_has_answered($session->{session});
			$done{ $session->{kind} }++;
			if (finish($session, \%errors))
			{
				eval { session_end($session->{session}) };
				start($session, $kind, $session->{statement});
			}
			else
			{
				# a session that has been ended is found to be so next time
				eval { session_send($session->{session}, $session->{statement}->()) };
			}
		}
		sleep(0.002);
		# a refresh ends anywhere
		eval { $nodes[0]->safe_psql('postgres', "SELECT pg_terminate_backend($sessions[ 2 + rand 2 ]{session}{pid})"); 1 }
		  and $done{terminated}++
		  if rand 60 < 1;
		if ($is_own && time > $next_kill)
		{
			$kill{$kind}->();
			$done{killed}++;
			$next_kill = time + 4 + rand 4;
		}
		next if time < $next_check;
		quiesce($kind, \@sessions, \%errors);
		check($kind, 'what is complete is right');
		eval { session_send($_->{session}, $_->{statement}->()) } foreach @sessions;
		$next_check = time + 1 + rand 2;
	}
	quiesce($kind, \@sessions, \%errors);
	check($kind, '.. at the end');
	check_all($kind, 'all is right after a refresh');
	session_end($_->{session}) foreach @sessions;
	is(join("\n", map { @{ $_->{wrong} // [] } } @sessions), '', "$kind: a query beside a refresh sees one moment, and a check finds no difference");
	cmp_ok($done{0}, '>', 20,
		"$done{0} writes, $done{1} refreshes, $done{2} queries, $done{3} checks, $done{terminated} ended, $done{killed} crashes");
	note 'errors: ', join(', ', map { "$_ $errors{$_}" } sort keys %errors);
}

# ---- Two PostgreSQL servers -------------------------------------------------

foreach my $kind (@kinds)
{
	my @sessions = map { session_start($_) } @nodes;
	my ($tables) = PostgreSQL::Test::Utils::run_command([ $nodes[0]->installed_command('pg_dump'), '--schema', $kind,
		'--table', "$kind.*", '-d', $nodes[0]->connstr('postgres') ]);
	my %errors;

	$nodes[1]->safe_psql('postgres', "CREATE SCHEMA $kind");
	$nodes[1]->safe_psql('postgres', $tables);
	for my $round (1 .. 8)
	{
		$nodes[0]->psql('postgres', "SET search_path = $kind, public; " . a_write(), stderr => \my $ignored) for 1 .. 3;
		session_send($_, "SELECT mongo_ts_refresh_rollup('$kind.days', '2024-02-20')") foreach @sessions;
		foreach my $session (@sessions)
		{
			my ($state) = (session_wait($session))[1] =~ m/ERROR:  (\w+): /;

			$errors{ $state // 'none' }++;
		}
		check($kind, 'two PostgreSQL servers refresh at once') if $round == 8;
	}
	check_all($kind, '.. and all is right after another refresh');
	is(join(' ', grep { !m/^(?:none|40001)$/ } keys %errors), '', '.. without another error than 40001');
	note join(', ', map { "$_ $errors{$_}" } sort keys %errors);
	session_end($_) foreach @sessions;
}

# ---- A write during a refresh -----------------------------------------------

# A refresh has removed an hour's row and read its points, and the new row is on the way
SKIP:
{
	skip 'the server is external', 4 unless $is_own;
	my $proxy = halt_start($uri{standalone} =~ s/\?.*//r);
	my $session = session_start($nodes[1]);

	$nodes[0]->safe_psql('postgres', "INSERT INTO standalone.points VALUES ('2024-02-26 01:02Z', 'k1', 1)");
	$nodes[0]->safe_psql('postgres', "SELECT mongo_ts_refresh_rollup('standalone.hours', '2024-02-26 01:00Z', '2024-02-26 02:00Z')");
	$nodes[1]->safe_psql('postgres', "ALTER SERVER standalone OPTIONS (SET uri '" . halt_uri($proxy) . "')");
	halt_at($proxy, 'request', 'update hours', 2);
	session_send($session, "SELECT mongo_ts_refresh_rollup('standalone.hours', '2024-02-26 01:00Z', '2024-02-26 02:00Z')");
	ok(defined halt_await($proxy), 'standalone: a refresh writes');
	$nodes[0]->safe_psql('postgres', "INSERT INTO standalone.points VALUES ('2024-02-26 01:01Z', 'k1', 3000)");
	halt_end($proxy, 'pass');
	session_wait($session);
	check('standalone', 'a write during a refresh');
	check_all('standalone', '.. and all is right after another refresh');
	session_end($session);
}

# Wait until a refresh waits for a transaction that writes, or has ended.
sub await_lock
{
	my ($refresh) = @_;

	sleep(0.01) until $refresh->{psql}->pump_nb && session_has_answered($refresh)
	  || $nodes[0]->safe_psql('postgres', "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $refresh->{pid}") eq 't';
	return;
}

# A transaction writes points after the watermark, before a refresh moves that
foreach my $kind (grep { $_ eq 'set' } @kinds)
{
	my ($writer, $refresh) = map { session_start($nodes[0]) } 1 .. 2;

	$nodes[0]->safe_psql('postgres', qq{SELECT mongo_ts_command('$kind', '{"update": "mongo_ts_rollups", "updates": [
		{"q": {"until": {"\$exists": true}}, "u": {"\$set": {"until": {"\$date": "2024-03-01T00:00:00Z"}}}, "multi": true}]}')});
	session_query($writer, "BEGIN; INSERT INTO $kind.points VALUES ('2024-04-01 01:01Z', 'k1', 1)");
	session_send($refresh, "SELECT mongo_ts_refresh_rollup('$kind.hours')");
	await_lock($refresh);
	session_query($writer, 'COMMIT');
	session_wait($refresh);
	check($kind, 'a refresh waits for the transactions that write');
	check_all($kind, '.. and all is right after another one');
	session_end($_) foreach $writer, $refresh;
}

# A refresh waits for one transaction, and another one begins to write intervals that are stale
# because their documents were new
foreach my $kind (grep { $_ eq 'set' } @kinds)
{
	my ($first, $second, $refresh) = map { session_start($nodes[0]) } 1 .. 3;

	$nodes[0]->safe_psql('postgres', "SELECT _mongo_ts_mark_late('$kind.hours', '2024-01-01', now())");
	session_query($first, "BEGIN; INSERT INTO $kind.points VALUES ('2024-02-27 01:01Z', 'k1', 1)");
	session_send($refresh, "SELECT mongo_ts_refresh_rollup('$kind.hours')");
	await_lock($refresh);
	session_query($second, "BEGIN; INSERT INTO $kind.points VALUES ('2024-02-26 01:01Z', 'k1', 5000)");
	session_query($first, 'COMMIT');
	session_wait($refresh);
	session_query($second, 'COMMIT');
	check($kind, 'a transaction marks what it writes beside a refresh');
	check_all($kind, '.. and all is right after another one');
	session_end($_) foreach $first, $second, $refresh;
}

# ---- Tables of another role --------------------------------------------------

# A role that may use the server names a table that it locks as a roll-up of any other one
{
	my $session = session_start($nodes[0]);
	my $err = q();

	$nodes[0]->safe_psql('postgres', 'CREATE ROLE mallory; CREATE SCHEMA mallory AUTHORIZATION mallory; GRANT USAGE ON FOREIGN SERVER standalone TO mallory');
	session_query($session, "SET ROLE mallory; CREATE FOREIGN TABLE mallory.hours (ts timestamptz, n bigint OPTIONS (rollup 'count'))
		SERVER standalone OPTIONS (rollup_of 'no.such', rollup_interval '1 hour')");
	session_query($session, 'BEGIN; ALTER FOREIGN TABLE mallory.hours ADD COLUMN x int');
	$nodes[0]->psql('postgres', q{SET statement_timeout = '30s'; INSERT INTO standalone.points VALUES ('2024-02-26 01:01Z', 'k1', 1)},
		stderr => \$err);
	is($err, q(), 'a role that may use the server does not block writes of others');
	session_query($session, 'ROLLBACK');
	session_end($session);
	$nodes[0]->safe_psql('postgres', 'DROP OWNED BY mallory; DROP ROLE mallory');
}

# ---- The view of roll-ups, and dropping ------------------------------------

# A transaction has written to the server: it can have locks in the way of a drop
foreach my $kind (grep { $_ eq 'set' } @kinds)
{
	my (undef, $seen, $err) = $nodes[0]->psql('postgres', <<"END");
		SET search_path = $kind, public;
		BEGIN;
		INSERT INTO points VALUES ('2024-02-26 01:01Z', 'k1', 1);
		SELECT rollup, is_usable, stale_ranges > 0 FROM mongo_ts_rollups WHERE points = 'points'::regclass ORDER BY 1;
		SELECT mongo_ts_drop_rollup('days');
END
	is($seen, "hours|t|t\ndays|t|t", "$kind: a transaction that has written sees the state of roll-ups");
	like($err, qr/cannot drop a roll-up in a transaction that has written to its server/, '.. and cannot drop one');
	check_all($kind, '.. and all is right after a refresh');
}

# A server that is silent
SKIP:
{
	skip 'the server is external', 1 unless $is_own;
	fault_signal('STOP');
	my (undef, $seen) = $nodes[0]->psql('postgres', <<'END');
		SET statement_timeout = '20s';
		SELECT points, is_usable, problem FROM mongo_ts_rollups WHERE points::text ~ 'standalone' ORDER BY rollup;
END
	fault_signal('CONT');
	my $silent = 'standalone.points|f|MongoDB does not answer.';
	my $wrong = $seen eq "$silent\n$silent" ? 0 : 1;
	ok(!$wrong, "standalone: the view of roll-ups does not wait for a silent server: $wrong differ");
}

# ---- A user who may not read the states -------------------------------------

SKIP:
{
	skip 'the server is external', 11 unless $is_own;
	my $uri = mongod_start('--auth');
	my $node = $nodes[0];
	my $sums = 'SELECT count(*), sum(v) FROM points';
	my $err = q();

	create_server($node, 'admin', $uri, "database 'admin'");
	create_server($node, 'logins', "$uri?authSource=admin", "database 'logins'");
	$node->safe_psql('postgres', <<'END');
		SELECT mongo_ts_command('admin', '{"createUser": "root", "pwd": "secret", "roles": ["root"]}');
		ALTER USER MAPPING FOR PUBLIC SERVER admin OPTIONS (ADD username 'root', ADD password 'secret');
		ALTER USER MAPPING FOR PUBLIC SERVER logins OPTIONS (ADD username 'root', ADD password 'secret');
		SELECT mongo_ts_command('admin', '{"createRole": "points", "roles": [], "privileges": [{"resource":
			{"db": "logins", "collection": "points"}, "actions": ["find", "insert", "update"]}]}');
		SELECT mongo_ts_command('admin', '{"createUser": "low", "pwd": "secret", "roles": ["points"]}');
		CREATE SCHEMA logins;
		SET search_path = logins, public;
		CREATE FOREIGN TABLE points (ts timestamptz OPTIONS (field 'hour'), v int OPTIONS (field 'm.{minute}')) SERVER logins;
		INSERT INTO points SELECT timestamptz '2024-03-28Z' + i * interval '10 minutes', i FROM generate_series(0, 4319) i;
		SELECT mongo_ts_create_rollup('points', '1 hour', 'hours');
		SELECT mongo_ts_refresh_rollup('hours');
		CREATE ROLE low;
		GRANT USAGE ON SCHEMA logins TO low;
		GRANT SELECT, INSERT ON points TO low;
		CREATE USER MAPPING FOR low SERVER logins OPTIONS (username 'low', password 'secret');
END
	like($node->safe_psql('postgres', "SET search_path = logins; EXPLAIN (COSTS OFF) $sums"),
		qr/Roll-up: \S+ until/, 'a roll-up has all');
	my ($code, $row) = $node->psql('postgres', "SET search_path = logins; SET ROLE low; $sums");
	my $wrong = $code == 0 && $row eq '4320|9329040' ? 0 : 1;
	ok(!$wrong, "logins: who may not read the state of a roll-up gets points: $wrong differ");
	$node->psql('postgres', "SET search_path = logins; SET ROLE low; INSERT INTO points VALUES ('2024-03-28Z', 1)",
		stderr => \$err);
	like($err, qr/could not mark intervals of "points" as stale in MongoDB collection "logins.mongo_ts_rollups"/,
		'.. but cannot write them without a right to mark them');
	like($node->safe_psql('postgres', "SET search_path = logins; SET ROLE low; EXPLAIN (COSTS OFF) $sums"),
		qr/Roll-up: hours, not used: MongoDB's user may not read its state/, '.. which EXPLAIN says');
	is($node->safe_psql('postgres', <<'END'), "MongoDB's user may not read its state.", '.. and its state');
		SET search_path = logins, public;
		GRANT SELECT ON hours TO low;
		SET ROLE low;
		SELECT problem FROM mongo_ts_rollup_state('hours');
END

	# MongoDB refuses a drop midway, or it is rolled back.  Points are read until the next refresh.
	my $drop = q{SET search_path = logins, public; BEGIN; SELECT mongo_ts_drop_rollup('hours'); ROLLBACK};
	my $problem = q{SELECT problem FROM mongo_ts_rollup_state('logins.hours')};
	foreach my $is_refused (1, 0)
	{
		$node->safe_psql('postgres', <<'END') if $is_refused;
			SELECT mongo_ts_command('admin', '{"createRole": "clerk", "roles": [], "privileges": [{"resource":
				{"db": "logins", "collection": ""}, "actions": ["find", "insert", "update", "remove"]}]}');
			SELECT mongo_ts_command('admin', '{"createUser": "clerk", "pwd": "secret", "roles": ["clerk"]}');
END
		$node->safe_psql('postgres', 'ALTER USER MAPPING FOR PUBLIC SERVER logins OPTIONS (SET username '
			  . ($is_refused ? q{'clerk')} : q{'root')}));
		$node->safe_psql('postgres', q{SELECT mongo_ts_refresh_rollup('logins.hours')});
		$node->psql('postgres', $drop, stderr => \$err);
		like($err, qr/could not drop roll-up "hours" and its MongoDB collection "logins.hours"/, 'MongoDB refuses to drop a roll-up')
		  if $is_refused;
		is($node->safe_psql('postgres', $problem), 'It has not been refreshed.',
			'a roll-up that is not dropped after all has no state');
		$wrong = $node->safe_psql('postgres', "SET search_path = logins; $sums") eq '4320|9329040' ? 0 : 1;
		ok(!$wrong, "logins: .. so queries read the points: $wrong differ");
	}

	# A view of MongoDB in place of the states
	$node->safe_psql('postgres', <<'END');
		SELECT mongo_ts_command('logins', '{"drop": "mongo_ts_rollups"}');
		SELECT mongo_ts_command('logins', '{"create": "mongo_ts_rollups", "viewOn": "points", "pipeline": []}');
END
	$node->psql('postgres', "INSERT INTO logins.points VALUES ('2024-03-28Z', 1)", stderr => \$err);
	like($err, qr/could not mark intervals of "points" as stale .*"logins.mongo_ts_rollups".*The collection is a view\./s,
		'a view has no states');
}

$_->stop foreach @nodes;
done_testing();
