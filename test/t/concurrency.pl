# Proves that each acknowledged point exists exactly once, and that totals are
# true, after sessions write to the same new buckets at once.  Also while the
# server is killed, and after a write is cancelled while the server hangs.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use MongoTS::Node;
use Test::More;
use Time::HiRes qw(time usleep);

use constant SESSIONS => 8;
use constant BUCKETS => 200;

# The longest time until an interrupt takes effect, in seconds
my $soon = 1.5;

my $node = new_node('concurrency', uri => undef,
	conf => "max_connections = 30\n");
my $begin = "timestamptz '2020-01-01 00:00:00Z'";

# ---- Tables ---------------------------------------------------------------

# Create foreign tables on a server, in a schema of its name, each with a
# second one that shows the documents.  The seconds of a bucket are divided
# among the sessions.
sub make_tables
{
	my ($server) = @_;
	my $times = "bucket_time_field 'm', bucket_span '1 minute'";
	my $document =
	  "ts timestamptz OPTIONS (field 'm'), k text, n int, total float8";

	$node->safe_psql('postgres', <<"END");
		SELECT mongo_ts_command('$server', '{"dropDatabase": 1}');
		CREATE SCHEMA $server;
		SET search_path = $server, public;
		CREATE FOREIGN TABLE slots (
			ts timestamptz OPTIONS (field 'm'),
			k  text,
			v  float8 OPTIONS (field 'v.{second}', sum_field 'total',
				min_field 'lo', max_field 'hi')
		) SERVER $server OPTIONS (count_field 'n');
		CREATE FOREIGN TABLE pushed (
			ts timestamptz OPTIONS (field 'points[].t'),
			k  text,
			v  float8 OPTIONS (field 'points[].v', sum_field 'total',
				min_field 'lo', max_field 'hi')
		) SERVER $server OPTIONS ($times, count_field 'n');
		CREATE FOREIGN TABLE limited (
			ts timestamptz OPTIONS (field 'points[].t'),
			k  text,
			v  float8 OPTIONS (field 'points[].v', sum_field 'total')
		) SERVER $server OPTIONS ($times, count_field 'n',
			bucket_max_points '7');
		CREATE FOREIGN TABLE counted (
			ts timestamptz OPTIONS (field 'm'),
			k  text,
			v  int8 OPTIONS (field 'v.{second}', missing_value '0',
				sum_field 'total')
		) SERVER $server OPTIONS (write_mode 'increment', count_field 'n');
		CREATE FOREIGN TABLE once (
			ts timestamptz OPTIONS (field 'm'),
			k  text,
			v  float8 OPTIONS (field 'v.{second}', sum_field 'total')
		) SERVER $server OPTIONS (assume_write_once 'true', count_field 'n');
		CREATE FOREIGN TABLE rolling (
			ts timestamptz OPTIONS (field 'm'),
			k  text,
			v  float8 OPTIONS (field 'v.{second}', sum_field 'total',
				min_field 'lo', max_field 'hi')
		) SERVER $server OPTIONS (collection 'rolling_%Y%m%d%H',
			count_field 'n');
		CREATE FOREIGN TABLE owned (
			ts timestamptz OPTIONS (field 'm'),
			k  text,
			v  float8 OPTIONS (field 'v.{second}', sum_field 'total'),
			owner text OPTIONS (role 'attribute')
		) SERVER $server OPTIONS (count_field 'n', assume_write_once 'true');
		CREATE TABLE acknowledged (ts timestamptz, k text, v float8, owner text);
		CREATE FOREIGN TABLE owned_documents ($document)
			SERVER $server OPTIONS (collection 'owned');
		CREATE FOREIGN TABLE rolling_documents
			($document, lo float8, hi float8)
			SERVER $server OPTIONS (collection 'rolling_%Y%m%d%H');
		CREATE FOREIGN TABLE slots_documents ($document, lo float8, hi float8)
			SERVER $server OPTIONS (collection 'slots');
		CREATE FOREIGN TABLE pushed_documents ($document, lo float8, hi float8)
			SERVER $server OPTIONS (collection 'pushed');
		CREATE FOREIGN TABLE limited_documents ($document,
				stored jsonb OPTIONS (field 'points'))
			SERVER $server OPTIONS (collection 'limited');
		CREATE FOREIGN TABLE counted_documents ($document)
			SERVER $server OPTIONS (collection 'counted');
		CREATE FOREIGN TABLE once_documents ($document)
			SERVER $server OPTIONS (collection 'once');
		SELECT mongo_ts_create_index(name::regclass)
			FROM unnest(ARRAY['slots', 'pushed', 'limited', 'counted', 'once', 'owned']) name;
END
	return;
}

# Check that a table has the written points, each once, and nothing else.
sub check_table
{
	my ($table, $wanted, $name) = @_;
	my $bounds = $table =~ m/counted|once|owned/ ? '' : ', min(v) AS lo, max(v) AS hi';
	my $found = $node->safe_psql('postgres', <<"END");
		WITH rows AS MATERIALIZED (TABLE $table),
			wanted AS MATERIALIZED ($wanted),
			lost AS (TABLE wanted EXCEPT ALL TABLE rows),
			extra AS (TABLE rows EXCEPT ALL TABLE wanted)
		SELECT (SELECT count(*) FROM lost) || ' lost, '
			|| (SELECT count(*) FROM extra) || ' extra'
			|| coalesce((SELECT ', e.g. ' || lost::text FROM lost LIMIT 1),
				(SELECT ', e.g. ' || extra::text FROM extra LIMIT 1), '');
END
	is($found, '0 lost, 0 extra', "$name: each point is there once");

	$found = $node->safe_psql('postgres', <<"END");
		WITH rows AS MATERIALIZED (TABLE $table),
			documents AS MATERIALIZED (TABLE ${table}_documents),
			wanted AS (
				SELECT date_trunc('minute', ts, 'UTC') AS ts, k,
					count(*)::int AS n, sum(v)::float8 AS total $bounds
				  FROM rows GROUP BY 1, 2),
			wrong AS (TABLE documents EXCEPT ALL TABLE wanted)
		SELECT (SELECT count(*) FROM documents) || ' for '
			|| (SELECT count(*) FROM wanted) || ' buckets'
			|| coalesce((SELECT ', e.g. ' || wrong::text FROM wrong LIMIT 1),
				'');
END
	like($found, qr/^(\d+) for \1 buckets$/,
		"$name: each bucket is one document with true totals");
	return;
}

# Check that buckets with a limit do not exceed it, and have true totals.
sub check_limited
{
	my ($wanted) = @_;

	is($node->safe_psql('postgres', <<"END"), 't|t|t', 'limited: no bucket has too many points');
		SELECT max(n) <= 7,
			bool_and(n = jsonb_array_length(stored) AND total = o.sum),
			sum(n) = (SELECT count(*) FROM ($wanted) w)
		FROM mongo.limited_documents, LATERAL (
			SELECT sum((p->>'v')::float8) FROM jsonb_array_elements(stored) p) o;
END
	is($node->safe_psql('postgres', <<"END"), '', 'limited: each point is there once');
		(TABLE mongo.limited EXCEPT ALL $wanted)
		UNION ALL ($wanted EXCEPT ALL TABLE mongo.limited) LIMIT 1;
END
	return;
}

# ---- New buckets ----------------------------------------------------------

# The points of one session, or of all: the first buckets are written by one
# statement, the others by many
sub points
{
	my ($buckets, $session) = @_;
	my $seconds = defined $session ? "$session, 59, " . SESSIONS : '0, 59';

	return "SELECT $begin + make_interval(mins => b, secs => s) AS ts, "
	  . "'k' || b % 3 AS k, b * 60 + s AS v "
	  . "FROM generate_series($buckets) b, generate_series($seconds) s";
}

# Each session writes in an order of its own.
sub bulk
{
	my ($table, $session, $select) = @_;
	my $prime = (7, 11, 13, 17, 19, 23, 29, 31)[$session];

	return "INSERT INTO $table SELECT * FROM ($select) p "
	  . "ORDER BY extract(epoch FROM ts)::int8 / 60 * $prime % 101, ts";
}

# Many statements, in which all sessions write to the same bucket at a time
sub loop
{
	my ($table, $select) = @_;
	return <<"END";
		DO \$\$
		DECLARE
			p record;
		BEGIN
			FOR p IN $select ORDER BY ts LOOP
				INSERT INTO $table VALUES (p.ts, p.k, p.v);
			END LOOP;
		END \$\$
END
}

# Run the scripts of all sessions at once.
sub at_once
{
	my ($name, $sessions, @scripts) = @_;
	my $errors = '';

	session_query($sessions->[-1], 'SELECT pg_advisory_lock(1)');
	session_send($sessions->[$_],
		"SELECT pg_advisory_lock_shared(1);\n$scripts[$_];\n"
		  . 'SELECT pg_advisory_unlock_shared(1)') foreach 0 .. $#scripts;
	usleep(200_000);
	session_query($sessions->[-1], 'SELECT pg_advisory_unlock(1)');
	foreach my $i (0 .. $#scripts)
	{
		my ($out, $err) = session_wait($sessions->[$i]);
		$errors .= $err;
	}
	is($errors, '', "$name: no session gets an error");
	return;
}

sub write_at_once
{
	my @sessions = map { session_start($node) } 0 .. SESSIONS;
	my $first = '0, ' . (BUCKETS - 1);
	my $others = BUCKETS . ', ' . (BUCKETS + 4);
	my $all = '0, ' . (BUCKETS + 4);

	# the rolling set has no collection yet
	foreach my $table (map { "mongo.$_" } qw(slots pushed rolling once))
	{
		at_once($table, \@sessions, map {
			bulk($table, $_, points($first, $_)) . ";\n"
			  . loop($table, points($others, $_)) } 0 .. SESSIONS - 1);
		check_table($table, points($all), $table);
	}

	# each statement of all sessions fills buckets of the same minute
	at_once('mongo.limited', \@sessions, map { my $session = $_;
		join ";\n", bulk('mongo.limited', $session, points($first, $session)),
		  map { bulk('mongo.limited', $session, points("$_, $_", $session)) }
		  BUCKETS .. BUCKETS + 4 } 0 .. SESSIONS - 1);
	check_limited(points($all));

	# all sessions increment the same slots by their number
	my $counts = 'SELECT ts, k, %s AS v FROM (' . points($others) . ') p';
	at_once('mongo.counted', \@sessions, map {
		my $select = sprintf($counts, $_ + 1);
		bulk('mongo.counted', $_, $select) . ";\n"
		  . loop('mongo.counted', $select) } 0 .. SESSIONS - 1);
	check_table('mongo.counted',
		sprintf($counts, SESSIONS * (SESSIONS + 1)), 'mongo.counted');
	session_end($_) foreach @sessions;
	return;
}

# Write points that name the session in an attribute of their bucket.  The first
# session decides; all points of the others are refused.
sub own_at_once
{
	my @sessions = map { session_start($node) } 0 .. SESSIONS;
	my @counts;

	# half of the sessions begin with the last bucket; none is done before the
	# others begin
	at_once('mongo.owned', \@sessions, map { my $order = $_ % 2 ? 'DESC' : 'ASC'; <<"END" } 0 .. SESSIONS - 1);
		DO \$\$
		DECLARE
			p record;
		BEGIN
			FOR p IN ${\points('0, 29', $_)} ORDER BY ts $order LOOP
				PERFORM pg_sleep(0.02);
				BEGIN
					INSERT INTO mongo.owned VALUES (p.ts, p.k, p.v, 'session $_');
					INSERT INTO mongo.acknowledged
						VALUES (p.ts, p.k, p.v, 'session $_');
				EXCEPTION WHEN integrity_constraint_violation THEN
				END;
			END LOOP;
		END \$\$
END
	check_table('mongo.owned', 'TABLE mongo.acknowledged', 'mongo.owned');
	@counts = split m/\|/, $node->safe_psql('postgres', <<'END');
		SELECT count(*), count(DISTINCT ts),
			(SELECT count(DISTINCT owner) FROM mongo.acknowledged)
		  FROM mongo.owned_documents;
END
	is("@counts[0, 1]", '30 30', 'each bucket has one owner');
	cmp_ok($counts[2], '>', 1, "$counts[2] sessions own buckets");
	session_end($_) foreach @sessions;
	return;
}

# ---- A server that dies ---------------------------------------------------

sub is_ready
{
	my ($session) = @_;

	$session->{psql}->pump_nb;
	return session_has_answered($session);
}

# Send the session's next statement: a few points of a few buckets.
sub send_next
{
	my ($session) = @_;
	my $from = 3 * $session->{step};

	session_send($session, 'INSERT INTO fault.slots '
		  . points("$from, " . ($from + 4), $session->{number}));
	return;
}

# Read the session's answer.  After an error the statement is sent again.
sub take_answer
{
	my ($session, $steps) = @_;
	my ($out, $err) = session_wait($session);

	if ($err eq '') { $session->{step}++ }
	else { push @{ $session->{errors} }, $err }
	send_next($session) if $session->{step} < $steps;
	return $err eq '';
}

# Run all sessions to their last statement, and kill and restart the server
# after some acknowledgements.  Returns the number of acknowledgements.
sub write_and_kill
{
	my ($sessions, $steps, @kills) = @_;
	my $limit = time() + 120;
	my $acknowledged = 0;

	send_next($_) foreach @$sessions;
	while (time() < $limit
		&& (my @busy = grep { $_->{step} < $steps } @$sessions))
	{
		foreach my $session (grep { is_ready($_) } @busy)
		{
			$acknowledged += take_answer($session, $steps);
		}
		if (@kills && $acknowledged >= $kills[0])
		{
			shift @kills;
			fault_kill();
			usleep(300_000);
			fault_restart();
		}
		usleep(2_000);
	}
	return $acknowledged;
}

sub write_while_killed
{
	my $steps = 40;
	my @sessions = map { session_start($node) } 1 .. SESSIONS;
	my $total = $steps * SESSIONS;

	foreach my $i (0 .. $#sessions)
	{
		@{ $sessions[$i] }{qw(number step errors)} = ($i, 0, []);
	}
	is(write_and_kill(\@sessions, $steps, $total / 4, $total * 2 / 3),
		$total, 'killed: in the end all statements are acknowledged');

	my @errors = map { @{ $_->{errors} } } @sessions;
	cmp_ok(scalar(@errors), '>', 0, 'killed: some statements failed');
	is(join("\n", grep { !m/ERROR:  (08|HV)[0-9A-Z]{3}: / } @errors), '',
		'killed: the errors are those of a lost connection');
	check_table('fault.slots', points('0, ' . (3 * $steps + 1)), 'killed');
	session_end($_) foreach @sessions;
	return;
}

# ---- A server that hangs --------------------------------------------------

# A timeout ends a write: the server hangs before or during it.  Once something
# was sent, its outcome is unknown.
sub cancel
{
	my ($session, $name, $statement, $delay) = @_;
	my ($out, $err, $seconds);

	session_query($session, "SET statement_timeout = '1s'");
	fault_signal('STOP') unless $delay;
	session_send($session, $statement);
	if ($delay)
	{
		usleep($delay);
		fault_signal('STOP');
	}
	($out, $err, $seconds) = session_wait($session);
	fault_signal('CONT');
	like($err, qr/ERROR:  (?:57014: .*statement timeout|08007: .*unknown whether the last bulk write)/s,
		"$name: the timeout ends it");
	cmp_ok($seconds, '<', 1 + $soon, "$name: in time");
	($out, $err) = session_query($session,
		'RESET statement_timeout; SELECT count(*) >= 0 FROM fault.pushed');
	is("$out$err", 't', "$name: the session works when the server continues");
	return;
}

sub write_while_stopped
{
	my $session = session_start($node);
	my $wanted = points('10000, 11499');
	my $where = "WHERE ts >= $begin + interval '10000 minutes'";
	my ($out, $err);

	cancel($session, 'insert', "INSERT INTO fault.slots $wanted");
	cancel($session, 'insert in its midst', "INSERT INTO fault.slots $wanted",
		$_) foreach 50_000, 100_000;
	($out, $err) =
	  session_query($session, "INSERT INTO fault.slots $wanted");
	is($err, '', 'a cancelled write can be repeated');
	check_table('fault.slots',
		points('0, 121') . " UNION ALL $wanted", 'cancelled');

	cancel($session, 'update', "UPDATE fault.slots SET v = v + 1 $where");
	cancel($session, 'delete', "DELETE FROM fault.slots $where");
	cancel($session, 'truncate', 'TRUNCATE fault.slots');
	cancel($session, 'push', "INSERT INTO fault.pushed $wanted");
	session_end($session);
	return;
}

# ---------------------------------------------------------------------------

create_server($node, 'mongo', $ENV{MONGODB_URI},
	"database 'concurrency_$$'");
make_tables('mongo');
write_at_once();
own_at_once();
$node->safe_psql('postgres',
	q(SELECT mongo_ts_command('mongo', '{"dropDatabase": 1}')));
SKIP:
{
	skip 'the server is external, it must not be disturbed', 1
	  unless $ENV{MONGO_TS_FAULT_DIR};
	create_server($node, 'fault', fault_uri(), q(database 'concurrency'));
	make_tables('fault');
	write_while_killed();
	write_while_stopped();
}
$node->stop;

done_testing();
