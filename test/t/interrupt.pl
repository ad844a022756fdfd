# Proves that pg_cancel_backend, statement_timeout, pg_terminate_backend and a
# lost client end each wait for MongoDB within a second.  MongoDB may answer or
# be silent; no cursor stays open on the server.
#
# The tests don't depend on timing: a proxy reports that the session waits for
# the server, or the scripted server reports that it streams batches.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use MongoTS::FakeServer;
use MongoTS::HaltProxy;
use List::Util qw(sum);
use MongoTS::Node;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

# The longest time until an interrupt takes effect, in seconds: twice the
# documented one, because machines are slow and noisy; and the longest average
my $soon = 2;
my $on_average = 0.5;
my @seconds;

# The statement_timeout, in seconds: long enough for any statement to reach the
# point where it is halted
my $timeout = 1.5;

my $directory = $PostgreSQL::Test::Utils::tmp_check;
my $proxy = halt_start($ENV{MONGODB_URI});
my $node = new_node('interrupt', uri => undef, conf => <<'END');
client_connection_check_interval = '100ms'
max_parallel_workers_per_gather = 0
END
my $database = "mts_interrupt_$$";

# ---- Tables ---------------------------------------------------------------

create_server($node, 'mongo', halt_uri($proxy),
	"database '$database', fetch_size '10', batch_size '20'");
create_server($node, 'direct', $ENV{MONGODB_URI}, "database '$database'");
$node->safe_psql('postgres', <<'END');
	CREATE FOREIGN TABLE points (
		ts timestamptz,
		k  text,
		v  int OPTIONS (field 'v.{second}', sum_field 'total')
	) SERVER mongo OPTIONS (count_field 'n');
	CREATE FOREIGN TABLE written (
		ts timestamptz,
		k  text,
		v  int OPTIONS (field 'v.{second}', sum_field 'total')
	) SERVER mongo OPTIONS (count_field 'n');
	CREATE FOREIGN TABLE rolling (
		ts timestamptz,
		k  text,
		v  int OPTIONS (field 'v.{second}')
	) SERVER mongo OPTIONS (collection 'rolling_%Y%m%d%H');
	SELECT mongo_ts_create_index('points');
	CREATE VIEW new_points AS
		SELECT timestamptz '2020-01-01 00:00Z' + i * interval '20 s' AS ts,
			'k' || i / 3 % 3 AS k, i AS v
		  FROM generate_series(0, 999) i;
	INSERT INTO points TABLE new_points;
	INSERT INTO rolling TABLE new_points;
	INSERT INTO written TABLE new_points;
END
$node->safe_psql('postgres', "COPY (TABLE new_points) TO '$directory/new_points'");

# ---- Sessions -------------------------------------------------------------

my ($session, $control);

sub new_session
{
	session_end($session) if $session;
	$session = session_start($node);
	session_query($session, <<'END');
		SET parallel_setup_cost = 0;
		SET parallel_tuple_cost = 0;
		SET min_parallel_table_scan_size = 0;
END
	return;
}

# Check that the session, or a new one, reads the whole table.
sub check_works
{
	my ($name) = @_;
	my ($out, $err) = session_query($session, 'SELECT count(*) FROM points');

	is("$out$err", '1000', "$name: then all rows are read");
	return;
}

# ---- Interrupts -----------------------------------------------------------

sub is_gone
{
	my ($out) = session_query($control,
		"SELECT count(*) FROM pg_stat_activity WHERE $session->{pid} IN (pid, leader_pid)");

	return $out eq '0';
}

# Wait until the backend has ended, at most half a minute.  Returns the seconds
# since a given time.
sub wait_gone
{
	my ($begin) = @_;

	usleep(5_000) until is_gone() || time() - $begin > 30;
	return time() - $begin;
}

# Call a function of the backend's pid, and wait for the session's answer.
sub signal_backend
{
	my ($function) = @_;
	my $begin = time();
	my (undef, $err);

	session_query($control, "SELECT $function($session->{pid})");
	(undef, $err) = session_wait($session);
	return ($err, time() - $begin);
}

# Each interrupts the waiting session, and returns its messages and the seconds
# that passed. before: a setting made first; ends: true if the session ends
my %interrupts = (
	cancel => {
		says => qr/ERROR:  57014: .*user request/,
		act => sub { signal_backend('pg_cancel_backend') } },
	timeout => {
		before => "SET statement_timeout = '${timeout}s'",
		says => qr/ERROR:  57014: .*statement timeout/,
		act => sub {
			my (undef, $err, $seconds) = session_wait($session);

			return ($err, $seconds - $timeout);
		} },
	terminate => {
		ends => 1,
		says => qr/FATAL:  57P01: /,
		act => sub {
			my $begin = time();
			my ($err) = signal_backend('pg_terminate_backend');

			return ($err, wait_gone($begin));
		} },
	closed => {
		ends => 1,
		says => qr/^$/,
		act => sub {
			my $begin = time();

			$session->{psql}->kill_kill;
			return ('', wait_gone($begin));
		} });

# What is said of a write that was sent: the server may have done it
my $unknown = qr/ERROR:  08007: .*answer was interrupted\.\n.*unknown whether the last bulk write/s;

# Send a statement, wait until it reaches the point, and interrupt it.  says has
# what the error is, if it is not that of an interrupt.
sub interrupt
{
	my ($name, $how, $statement, $reached, $says) = @_;
	my $interrupt = $interrupts{$how};
	my ($err, $seconds);

	session_query($session, $interrupt->{before}) if $interrupt->{before};
	session_send($session, $statement);
	ok($reached->(), "$name, $how: the session waits");
	($err, $seconds) = $interrupt->{act}->();
	like($err, $says && $how ne 'closed' ? $says : $interrupt->{says}, "$name, $how: the statement ends");
	cmp_ok($seconds, '<', $soon, "$name, $how: soon");
	push @seconds, $seconds;
	return;
}

sub recover
{
	my ($how) = @_;

	if ($interrupts{$how}{ends}) { new_session() }
	else
	{
		session_query($session, 'ROLLBACK; RESET statement_timeout; RESET max_parallel_workers_per_gather');
	}
	return;
}

# ---- A server that is silent ----------------------------------------------

# Tell whether the server still has this cursor.
sub is_open
{
	my ($id, $collection) = @{ $_[0] };
	my (undef, $err) = session_query($control,
		qq(SELECT mongo_ts_command('direct', '{"getMore": {"\$numberLong": "$id"}, "collection": "$collection"}')));

	# only the MongoDB session that opened a cursor can use it
	die $err unless $err =~ /^$|ERROR:  (42501|HV00L): |created in session/;
	return $err !~ /HV00L/;
}

# Wait until all processes of the session except the halted one are idle.  A
# process interrupted while it opens a cursor would not know the cursor's id.
sub others_rest
{
	my ($rests, $begin) = (0, time());

	while ($rests < 3 && time() - $begin < 30)
	{
		my ($out) = session_query($control,
			"SELECT count(*) FROM pg_stat_activity WHERE $session->{pid} IN (pid, leader_pid) "
			  . q(AND wait_event_type IS DISTINCT FROM 'IPC'));

		$rests = $out eq '1' ? $rests + 1 : 0;
		usleep(20_000);
	}
	return $rests == 3;
}

# Check that the server soon has none of the cursors that the proxy saw: no reply
# tells that it has closed them.
sub none_is_open
{
	my ($name) = @_;
	my @cursors = halt_cursors($proxy);
	my ($begin, @open) = (time(), @cursors);

	while ((@open = grep { is_open($_) } @open) && time() - $begin < 10)
	{
		usleep(20_000);
	}

	is(scalar(@open), 0, "$name: no cursor of " . @cursors . ' is open');
	return;
}

# Statements, with the request at which they are interrupted, and its number
my %reads = (
	scan => [ 'SELECT v FROM points', 'getMore points', 3 ],
	first => [ 'SELECT v FROM points', 'find points', 1 ],
	ordered => [ 'SELECT v FROM points ORDER BY ts', 'getMore points', 3 ],
	aggregate => [ 'SELECT k, max(v) FROM points GROUP BY k', 'getMore points', 3 ],
	parallel => [
		'SET max_parallel_workers_per_gather = 2; SELECT k, max(v) FROM points GROUP BY k',
		'getMore points', 4 ],
	several => [
		join('; ', 'BEGIN', map({ ("DECLARE c$_ CURSOR FOR SELECT v FROM points", "FETCH 1 FROM c$_") } 1 .. 5), 'FETCH ALL FROM c3'),
		'getMore points', 1 ],
	rolling => [ 'SELECT v FROM rolling', 'getMore rolling_.*', 3 ],
	analyze => [ 'ANALYZE points', 'getMore points', 3 ],
);
my %others = (
	insert => [ 'INSERT INTO written TABLE new_points', 'update written', 3 ],
	copy => [ "COPY written FROM '$directory/new_points'", 'update written', 3 ],
	update => [ 'UPDATE written SET v = -v', 'update written', 1 ],
	delete => [ 'DELETE FROM written WHERE v % 2 = 0', 'update written', 1 ],
	range => [ "DELETE FROM written WHERE ts < '2020-01-01 02:00Z'", 'delete written', 1 ],
	truncate => [ 'TRUNCATE written', '(delete|drop) written', 1 ],
	list => [ 'TRUNCATE rolling', 'listCollections .*', 1 ],
	import => [ "IMPORT FOREIGN SCHEMA $database FROM SERVER mongo INTO imported", 'aggregate points', 1 ],
	command => [ q{SELECT mongo_ts_command('mongo', '{"ping": 1}')}, 'ping .*', 1 ],
	connect => [ q{SELECT mongo_ts_disconnect('mongo'); SELECT mongo_ts_command('mongo', '{"ping": 1}')}, '(hello|[iI]s[mM]aster) .*', 1 ],
);

$node->safe_psql('postgres', 'CREATE SCHEMA imported');
$control = session_start($node);
new_session();

# ---- The run --------------------------------------------------------------

foreach my $how (sort keys %interrupts)
{
	# one connection does not answer
	foreach my $kind (sort keys %reads)
	{
		my ($statement, $request, $n) = @{ $reads{$kind} };
		my $name = "one silent, $kind";

		halt_cursors($proxy);
		halt_at($proxy, 'reply', $request, $n);
		interrupt($name, $how, $statement,
			sub { halt_await($proxy) && others_rest() });
		none_is_open("$name, $how") unless $kind eq 'first';
		halt_end($proxy, 'pass');
		recover($how);
	}
	# the server does not answer
	foreach my $kind (sort keys %reads, keys %others)
	{
		my ($statement, $request, $n) = @{ $reads{$kind} || $others{$kind} };
		my $name = "all silent, $kind";

		halt_cursors($proxy);
		session_query($control, 'INSERT INTO written TABLE new_points')
		  if $others{$kind};
		halt_all_at($proxy, 'reply', $request, $n);
		interrupt($name, $how, $statement, sub { halt_await($proxy) },
			$request =~ m/^(?:insert|update|delete|\(delete)/ ? $unknown : undef);
		halt_end($proxy, 'pass');
		recover($how);
		check_works("$name, $how");
		# unless the session or that of a worker has ended, or the id of the
		# cursor has not arrived
		none_is_open("$name, $how")
		  unless $interrupts{$how}{ends} || $kind =~ /first|parallel|import/;
	}
}
# ---- A server that streams endlessly --------------------------------------

# It sends endless batches of a bucket and accepts all writes.
my $cursor = 1_234_567_890_123;
my $killed = "$directory/killed";
my $endless = sub {
	my ($request, undef, $before) = @_;
	my $ts = bson_date(1_577_836_800_000 + 60_000 * $before);

	return fake_reply($request, fake_find($request, $cursor,
			bson_document(
				_id => bson_int32($before),
				ts => $ts,
				v => bson_document(0 => bson_int32(1)))));
};
my $fake = fake_start("$directory/fake", [],
	scripts => {
		'find endless' => $endless,
		'getMore endless' => $endless,
		'killCursors endless' => sub {
			my ($request, $healthy) = @_;

			# the first element of the array
			open(my $file, '>>', $killed) or die "$killed: $!";
			print $file unpack('x7 q<', $request->{fields}{cursors}), "\n";
			close($file);
			return fake_reply($request, $healthy->());
		} });

create_server($node, 'fake', fake_uri($fake), "database 'fake', batch_size '20'");
$node->safe_psql('postgres', <<'END');
	CREATE FOREIGN TABLE endless (ts timestamptz, v int OPTIONS (field 'v.{second}'))
		SERVER fake;
	CREATE FOREIGN TABLE sink (ts timestamptz, v int OPTIONS (field 'v.{second}'))
		SERVER fake;
END

# Wait for the Nth request of a kind at the server.
sub streams
{
	my ($command, $n) = @_;
	my $begin = time();

	while ($n > 0 && time() - $begin < 30)
	{
		$n -= grep { $_ eq $command } fake_commands($fake);
		usleep(10_000);
	}
	return $n <= 0;
}

my %streams = (
	scan => [ 'SELECT count(*) FROM (SELECT v FROM endless OFFSET 0) e', 'getMore endless' ],
	ordered => [ 'SELECT count(*) FROM (SELECT v FROM endless ORDER BY ts OFFSET 0) e', 'getMore endless' ],
	aggregate => [ 'SELECT count(*), sum(v) FROM endless', 'getMore endless' ],
	update => [ 'UPDATE endless SET v = 2', 'getMore endless' ],
	analyze => [ 'ANALYZE endless', 'getMore endless' ],
	insert => [ "INSERT INTO sink SELECT timestamptz '2020-01-01Z' + (i + j) * interval '1 s', i FROM generate_series(1, 10000) i, generate_series(1, 10000) j", 'update sink' ]);

foreach my $how (sort keys %interrupts)
{
	foreach my $kind (sort keys %streams)
	{
		my ($statement, $command) = @{ $streams{$kind} };

		unlink($killed);
		fake_commands($fake);
		# a write may be under way, or not
		interrupt("endless, $kind", $how, $statement, sub { streams($command, 5) },
			$kind eq 'insert' ? qr/$interrupts{$how}{says}|$unknown/ : undef);
		recover($how);
		next if $kind eq 'insert';
		# a terminated session tells its client before it kills the cursor
		for (my $begin = time(); !-s $killed && time() - $begin < 2;)
		{
			usleep(10_000);
		}
		# libmongoc 2 kills it a second time
		like(-e $killed ? slurp_file($killed) : '', qr/^$cursor\n(?:$cursor\n)?\z/,
			"endless, $kind, $how: the cursor is killed");
	}
}

# ---------------------------------------------------------------------------

cmp_ok(sum(@seconds) / @seconds, '<', $on_average,
	'the average time until an interrupt takes effect is short');

open(my $file, '<', $node->logfile) or die $!;
unlike(join('', <$file>), qr/PANIC|terminated by signal/, 'no backend crashed');
close($file);
session_query($control, q{SELECT mongo_ts_command('direct', '{"dropDatabase": 1}')});
session_end($_) foreach $session, $control;
$node->stop;

done_testing();
