# Proves that reads and writes survive a real server that disconnects, dies,
# restarts or hangs.  This happens at connect, in the first batch, and during a
# scan or a write.  The result is complete or an error with its SQLSTATE.  No
# row and no acknowledged point is lost, and the same session then works.
#
# A proxy halts at a chosen request and reports it; then the fault happens.
# The place is before the request, before the reply or within the reply.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use MongoTS::HaltProxy;
use MongoTS::Node;
use Test::More;
use Time::HiRes qw(sleep);

skip_without_fault();

# The errors of a lost connection or cursor
my $lost = qr/ERROR:  (08|HV)[0-9A-Z]{3}: /;

my $directory = $PostgreSQL::Test::Utils::tmp_check;
my $proxy = halt_start(fault_uri());
my $node = new_node('halt', uri => undef);
my ($out, $err, $seconds);

# ---- Tables ---------------------------------------------------------------

create_server($node, 'mongo', halt_uri($proxy),
	"database 'mts_halt', fetch_size '10', batch_size '20'");
create_server($node, 'direct', fault_uri(), "database 'mts_halt'");

my %layouts = (
	slots => [ 'm', 'v.{second}', "count_field 'n'" ],
	pushed => [ 'points[].t', 'points[].v',
		"count_field 'n', bucket_time_field 'm', bucket_span '1 minute'" ],
	counted => [ 'm', 'v.{second}', "write_mode 'increment', count_field 'n'" ]);

# Each table exists twice: schema mongo uses the proxy, schema direct does not.
foreach my $server (qw(mongo direct))
{
	$node->safe_psql('postgres', "CREATE SCHEMA $server");
	foreach my $table (sort keys %layouts)
	{
		my ($time, $value, $options) = @{ $layouts{$table} };

		$node->safe_psql('postgres', <<"END");
			CREATE FOREIGN TABLE $server.$table (
				ts timestamptz OPTIONS (field '$time'),
				k  text,
				v  int8 OPTIONS (field '$value', sum_field 'total')
			) SERVER $server OPTIONS (collection '$table', $options);
			CREATE FOREIGN TABLE $server.${table}_documents (
				ts timestamptz OPTIONS (field 'm'), k text, n int, total int8
			) SERVER $server OPTIONS (collection '$table');
END
	}
	$node->safe_psql('postgres', <<"END");
		CREATE FOREIGN TABLE $server.flat (ts timestamptz, k text, v int8)
			SERVER $server OPTIONS (collection 'flat');
		CREATE FOREIGN TABLE $server.points (
			ts timestamptz,
			k  text,
			v  int8 OPTIONS (field 'v.{second}')
		) SERVER $server OPTIONS (collection 'points');
		CREATE FOREIGN TABLE $server.rolling (
			ts timestamptz,
			k  text,
			v  int8 OPTIONS (field 'v.{second}')
		) SERVER $server OPTIONS (collection 'rolling_%Y%m%d%H');
END
}
$node->safe_psql('postgres', <<"END");
	SELECT mongo_ts_create_index('direct.' || t)
		FROM unnest(ARRAY['slots', 'pushed', 'counted', 'points']) t;
	CREATE TABLE base AS
		SELECT timestamptz '2020-01-01 00:00Z' + i * interval '20 s' AS ts,
			'k' || i / 3 % 3 AS k, i::int8 AS v
		  FROM generate_series(0, 299) i;
	CREATE TABLE more AS
		SELECT ts + interval '50 minutes 10 s' AS ts, k, v + 1000 AS v FROM base;
	INSERT INTO direct.points TABLE base;
	INSERT INTO direct.rolling TABLE base;
	COPY more TO '$directory/more';
END

my $control = session_start($node);
my $session = session_start($node);
session_query($session, <<'END');
	SET search_path = mongo, public;
	SET parallel_setup_cost = 0;
	SET parallel_tuple_cost = 0;
	SET min_parallel_table_scan_size = 0;
	SET max_parallel_workers_per_gather = 0;
END
my ($backend) = session_query($session, 'SELECT pg_backend_pid()');

# ---- Faults ---------------------------------------------------------------

# Each happens while the connection is halted.  Returns true if the server
# hangs, so that the test must cancel the statement.
my %faults = (
	cut => sub { halt_end($proxy, 'cut'); return 0 },
	kill => sub { fault_kill(); halt_end($proxy, 'pass'); return 0 },
	restart => sub { fault_restart(); halt_end($proxy, 'pass'); return 0 },
	hang => sub { fault_signal('STOP'); halt_end($proxy, 'hold'); return 1 });
# Each repair ends its fault.  A server that hangs executes the request when it
# continues.
my %repair = (
	cut => sub { },
	kill => sub { fault_restart() },
	restart => sub { },
	hang => sub {
		fault_signal('CONT');
		halt_await($proxy) // die 'the server does not continue';
		halt_end($proxy, 'cut');
	});

# The places at which the connection is halted
my %places = (
	cut => [qw(request reply within)],
	kill => ['request'],
	restart => ['reply'],
	hang => ['request']);

# Wait until a process sleeps, where the system tells.
sub await_sleep
{
	my ($pid) = @_;

	while (open(my $file, '<', "/proc/$pid/stat"))
	{
		return if readline($file) =~ m/\) S /;
		sleep(0.01);
	}
	return;
}

# Run a statement into a fault.  It must succeed or report a lost connection.
# A statement that hangs must be stopped by a cancel.  When it waits for the
# reply to a write, the outcome is unknown.
sub run_into
{
	my ($fault, $name, $statement, @request) = @_;
	my $says = $request[1] =~ m/update|insert|delete/ ? qr/ERROR:  08007: .*unknown whether the last bulk write/s : qr/ERROR:  57014: /;

	halt_at($proxy, @request);
	session_send($session, $statement);
	ok(defined halt_await($proxy), "$name: the request is reached");
	if ($faults{$fault}->())
	{
		# it may still work on its next bulk write
		await_sleep($session->{pid});
		session_query($control, "SELECT pg_cancel_backend($session->{pid})");
		($out, $err, $seconds) = session_wait($session);
		like($err, $says, "$name: a cancel stops the statement");
	}
	else
	{
		($out, $err, $seconds) = session_wait($session);
		ok($err eq '' || $err =~ $lost, "$name: succeeds or reports a lost connection") or diag $err;
	}
	$repair{$fault}->();
	return;
}

# ---- Reads ----------------------------------------------------------------

my $ordered = 'SELECT v FROM points ORDER BY ts';
my %reads = (
	connect => [ "SELECT mongo_ts_disconnect('mongo') IS NULL; SELECT sum(v) FROM points", '(hello|[iI]s[mM]aster) .*', 1 ],
	first => [ 'SELECT v FROM points ORDER BY 1', 'find points', 1 ],
	scan => [ 'SELECT v FROM points', 'getMore points', 3 ],
	ordered => [ $ordered, 'getMore points', 3 ],
	aggregate => [ 'SELECT k, count(*), sum(v), max(v) FROM points GROUP BY k ORDER BY k', 'getMore points', 3 ],
	parallel => [ 'SET max_parallel_workers_per_gather = 2; SELECT count(*), sum(v) FROM points; SET max_parallel_workers_per_gather = 0', 'getMore points', 4 ],
	lookup => [ "SELECT i, (SELECT sum(v) FROM points WHERE ts < timestamptz '2020-01-01Z' + i * interval '20 min') FROM generate_series(1, 5) i", 'find points', 3 ],
	rolling => [ 'SELECT v FROM rolling ORDER BY ts', 'getMore rolling_.*', 5 ],
	next => [ 'SELECT v FROM rolling ORDER BY ts', 'find rolling_.*', 2 ],
	join => [ 'SELECT count(*) FROM points a JOIN points b USING (ts, k) JOIN points c USING (ts, k)', 'getMore points', 5 ],
	command => [ q{SELECT mongo_ts_command('mongo', '{"count": "points"}') -> 'n' IS NULL}, 'count points', 1 ]);
my %whole;

foreach my $kind (sort keys %reads)
{
	($whole{$kind}, $err) = session_query($session, $reads{$kind}[0]);
	is($err, '', "$kind: without a fault there is no error");
}
foreach my $fault (sort keys %faults)
{
	foreach my $kind (sort keys %reads)
	{
		my ($statement, @request) = @{ $reads{$kind} };

		foreach my $place (@{ $places{$fault} })
		{
			my $name = "$fault, $kind, $place";

			run_into($fault, $name, $statement, $place, @request);
			# kind connect has a statement before, which returns f
			ok($err ne '' ? $out =~ /^(f|)$/ : $out eq $whole{$kind},
				"$name: all rows or none") or diag "$out\n$err";
			# before a restart, the batch arrives; it may be the last one
			isnt($err, '', "$name: a cursor that is lost is an error")
			  if $request[0] =~ /^getMore/ && $fault ne 'restart';
			($out, $err) = session_query($session, "SET max_parallel_workers_per_gather = 0; $ordered");
			is("$out$err", $whole{ordered}, "$name: then the session reads all");
		}
	}
}

# ---- Writes ---------------------------------------------------------------

# Check that the totals of each document are those of its points.
sub check_totals
{
	my ($table, $name) = @_;

	return if $table eq 'flat';
	($out, $err) = session_query($control, <<"END");
		WITH documents AS MATERIALIZED (TABLE direct.${table}_documents),
			wanted AS (
				SELECT date_trunc('minute', ts, 'UTC'), k, count(*)::int, sum(v)::int8
				  FROM direct.$table GROUP BY 1, 2)
		SELECT count(*) FROM (
			(TABLE documents EXCEPT ALL TABLE wanted)
			UNION ALL (TABLE wanted EXCEPT ALL TABLE documents)) wrong
END
	is("$out$err", '0', "$name: the totals match the points");
	return;
}

# Check that no point is stored twice, that each is in before or after, and
# that each in both is stored.
sub check_points
{
	my ($table, $name) = @_;

	($out, $err) = session_query($control, <<"END");
		WITH rows AS MATERIALIZED (TABLE direct.$table),
			known AS (TABLE before UNION TABLE after),
			kept AS (SELECT ts, k FROM before INTERSECT SELECT ts, k FROM after)
		SELECT (SELECT count(*) FROM (SELECT ts, k FROM rows EXCEPT ALL SELECT DISTINCT ts, k FROM known) p) || ' twice, '
			|| (SELECT count(*) FROM (TABLE rows EXCEPT TABLE known) p) || ' unknown, '
			|| (SELECT count(*) FROM (TABLE kept EXCEPT SELECT ts, k FROM rows) p) || ' lost'
END
	is("$out$err", '0 twice, 0 unknown, 0 lost', "$name: no point is lost");
	return;
}

# Record that the statement's effects must last from now on.
sub acknowledged
{
	session_query($control, 'TRUNCATE before; INSERT INTO before TABLE after');
	return;
}

my $missing = '(TABLE more EXCEPT ALL TABLE %s)';
my $both = 'SELECT * FROM base UNION ALL SELECT * FROM more';
my $negative = 'SELECT ts, k, -1::int8 AS v FROM base';

# table, statement, the rows after it, the request's pattern and its number
my %writes = (
	insert => [ 'slots', "INSERT INTO slots $missing", $both, 'update slots', 2 ],
	copy => [ 'slots', "COPY slots FROM '$directory/more'", $both, 'update slots', 2 ],
	push => [ 'pushed', "INSERT INTO pushed $missing", $both, '(update|insert) pushed', 2 ],
	count => [ 'counted', "INSERT INTO counted $missing", $both, 'update counted', 2 ],
	flat => [ 'flat', "INSERT INTO flat $missing", $both, 'insert flat', 2 ],
	update => [ 'slots', 'UPDATE slots SET v = -1', $negative, 'update slots', 2 ],
	delete => [ 'slots', 'DELETE FROM slots WHERE v % 2 = 0', 'SELECT * FROM base WHERE v % 2 = 1', 'update slots', 2 ],
	range => [ 'slots', "DELETE FROM slots WHERE ts < '2020-01-01 00:30:30Z'", "SELECT * FROM base WHERE ts >= '2020-01-01 00:30:30Z'", '(delete|update) slots', 1 ]);

foreach my $kind (sort keys %writes)
{
	my ($table, $statement, $after, @request) = @{ $writes{$kind} };

	$statement =~ s/%s/$table/;
	foreach my $fault (sort keys %faults)
	{
		foreach my $place (@{ $places{$fault} })
		{
			my $name = "$fault, $kind, $place";

			session_query($control, <<"END");
				TRUNCATE direct.$table;
				INSERT INTO direct.$table TABLE base;
				DROP TABLE IF EXISTS before, after;
				CREATE TABLE before AS TABLE base;
				CREATE TABLE after AS $after
END
			run_into($fault, $name, $statement, $place, @request);
			acknowledged() if $err eq '';
			check_points($table, $name);
			check_totals($table, $name);
			($out, $err) = session_query($session, $statement);
			is($err, '', "$name: then the session can write the rows");
			acknowledged();
			check_points($table, "$name, again");
			check_totals($table, "$name, again");
		}
	}
}

($out) = session_query($session, 'SELECT pg_backend_pid()');
is($out, $backend, 'all statements ran in one session');

session_end($_) foreach $session, $control;
$node->stop;

done_testing();
