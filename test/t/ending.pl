# Proves that the end of a transaction waits for silent servers for less than a
# second in all, however many they are, and still aborts the transactions of the
# others; and that a session that ends leaves no transaction and no session on a
# server.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use MongoTS::FakeServer;
use MongoTS::HaltProxy;
use MongoTS::Node;
use Test::More;
use Time::HiRes qw(time usleep);

skip_without_mongod();

# The longest time of an end, in seconds: twice the documented one, because
# machines are slow and noisy
use constant SOON => 2;

my $set = set_start(1);
my ($address) = set_member_uri($set, 1) =~ m{^(mongodb://[^/]+/)};
my $node = new_node('ending', uri => undef);
my $control = session_start($node);
my ($session, $out, $err, $seconds);

sub create_table
{
	my ($name, $uri) = @_;

	create_server($node, $name, $uri, "database 'ending'");
	$node->safe_psql('postgres', "CREATE FOREIGN TABLE $name (ts timestamptz OPTIONS (field 'm'), k text, v int8 OPTIONS (field 'v.{second}'))
		SERVER $name OPTIONS (collection 'points')");
	return;
}

sub insert { return "INSERT INTO $_[0] VALUES ('2020-01-01Z', '$_[1]', 1)" }

# Wait until the backend of the session has ended, at most half a minute.
sub wait_gone
{
	my $begin = time;

	usleep(5_000) until time - $begin > 30
	  || (session_query($control, "SELECT count(*) FROM pg_stat_activity WHERE pid = $session->{pid}"))[0] eq '0';
	return;
}

# ---- Silent servers ---------------------------------------------------------

# Three servers are silent from some point on, and one is not.
my @silent = qw(a b c);
my %proxy = map { $_ => halt_start($address) } @silent;

create_table($_, halt_uri($proxy{$_})) foreach @silent;
create_table('direct', $address);
$node->safe_psql('postgres', q{SELECT mongo_ts_create_index('direct')});

# How the transaction ends, and the request at which the first server is silent
my %endings = (
	cancel => [ 'find points', qr/ERROR:  57014: / ],
	terminate => [ 'find points', qr/FATAL:  57P01: / ],
	timeout => [ 'find points', qr/ERROR:  57014: .*statement timeout/ ],
	commit => [ 'commitTransaction 1', qr/ERROR:  08007: .*unknown whether the transaction was committed/s ],
	rollback => [ '', qr/^$/ ],
	idle => [ '', qr/^$/ ],
	closed => [ '', qr/^$/ ]);

foreach my $how (sort keys %endings)
{
	my ($request, $says) = @{ $endings{$how} };
	my $statement = $how eq 'commit' ? 'COMMIT' : $how eq 'rollback' ? 'ROLLBACK' : 'SELECT count(*) FROM a';
	my $begin;

	$session = session_start($node);
	session_query($session, "SET statement_timeout = '1.5s'") if $how eq 'timeout';
	session_query($session, $_) foreach 'BEGIN', map { insert($_, "$how $_") } @silent, 'direct';
	halt_all_at($proxy{a}, 'request', $request || 'abortTransaction 1');
	halt_all_at($proxy{$_}, 'request', 'abortTransaction 1') foreach qw(b c);
	session_query($session, "SET idle_in_transaction_session_timeout = '1ms'") if $how eq 'idle';
	session_send($session, $statement) if $request || $how eq 'rollback';
	is(halt_await($proxy{a}), $request, "$how: the first server is silent") if $request;
	$begin = time;
	session_query($control, "SELECT pg_cancel_backend($session->{pid})") if $how =~ m/cancel|commit/;
	session_query($control, "SELECT pg_terminate_backend($session->{pid})") if $how eq 'terminate';
	$session->{psql}->kill_kill if $how eq 'closed';
	if ($how =~ m/idle|closed/) { wait_gone() }
	else
	{
		(undef, $err, $seconds) = session_wait($session);
		like($err, $says, "$how: the statement ends");
		wait_gone() if $how eq 'terminate';
	}
	$seconds = time - $begin - ($how eq 'timeout' ? 1.5 : 0);
	cmp_ok($seconds, '<', SOON, "$how: soon, although three servers are silent");
	# a commit is sent to the servers in turn, so that of the last one was not sent
	(undef, $err, $seconds) = session_query($control, insert('direct', "$how direct"));
	is($err, '', "$how: another session writes the same bucket of the server that answers");
	cmp_ok($seconds, '<', SOON, "$how: at once");
	is(halt_await($proxy{$_}), 'abortTransaction 1', "$how: $_ was asked to abort the transaction")
	  foreach $request ? qw(b c) : @silent;
	halt_end($proxy{$_}, 'cut') foreach @silent;
	session_end($session) unless $how =~ m/terminate|idle|closed/;
}

# ---- Sessions ---------------------------------------------------------------

# A session that ends tells the server so, however it ends.
my $directory = $PostgreSQL::Test::Utils::tmp_check;
my $fake = fake_start("$directory/ending", [], sessions => 1, set => 1);

create_table('fake', fake_uri($fake, 'directConnection=true'));
foreach my $case ([ 'closed', undef ], [ 'terminated', undef ], [ 'closed in a transaction', 'BEGIN' ], [ 'terminated in a transaction', 'BEGIN' ])
{
	my ($name, $before) = @$case;
	my @commands;

	$session = session_start($node);
	session_query($session, $_) foreach grep { defined } $before, insert('fake', 'k');
	fake_commands($fake);
	$name =~ m/^closed/ ? session_end($session)
	  : session_query($control, "SELECT pg_terminate_backend($session->{pid})");
	wait_gone();
	for (my $begin = time; !grep({ m/^endSessions/ } @commands) && time - $begin < 10;)
	{
		push @commands, fake_commands($fake);
		usleep(10_000);
	}
	is(join(', ', grep { m/^(?:abort|end)/ } map { s/ .*//r } @commands),
		$before ? 'abortTransaction, endSessions' : 'endSessions', "$name: the server forgets the session");
}

session_end($control);
$node->stop;
done_testing();
