# Proves that rare ways to connect work: by a Unix-domain socket, and to a host
# that delays connections.  Also proves that a session that waits for MongoDB
# blocks no others.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IO::Socket::INET;
use IO::Socket::UNIX;
use MongoTS::Node;
use POSIX ();
use Test::More;
use Time::HiRes qw(usleep);

# The longest time until an interrupt takes effect, in seconds
my $soon = 2.5;

my $proxy = proxy_start();
my ($target) = $ENV{MONGODB_URI} =~ m{^mongodb://([^/?,@]+:\d+)};
my $node = new_node('connect', uri => undef);
my @children;

# Start a process that is a proxy for the server on a listening socket.
sub serve
{
	my ($listen) = @_;
	my $pid = fork;

	die "cannot fork: $!" unless defined $pid;
	if ($pid == 0)
	{
		my $file = "$PostgreSQL::Test::Utils::tmp_check/connections";
		eval { MongoTS::Node::proxy_run($listen, $target, $file) };
		POSIX::_exit(1);
	}
	push @children, $pid;
	return;
}

sub create_points
{
	my ($server) = @_;

	return "CREATE FOREIGN TABLE $server (ts timestamptz, v int)
		SERVER $server OPTIONS (collection 'points')";
}

# ---- A Unix-domain socket -------------------------------------------------

my $path = "$PostgreSQL::Test::Utils::tmp_check/mongodb.sock";
my $listen = IO::Socket::UNIX->new(Local => $path, Listen => 5)
  or die "cannot listen: $!";
(my $escaped = $path) =~ s/([^A-Za-z0-9_.-])/sprintf('%%%02X', ord $1)/ge;
serve($listen);
create_server($node, 'local', "mongodb://$escaped/", "database 'mts_connect'");
$node->safe_psql('postgres', <<"END");
	SELECT mongo_ts_command('local', '{"dropDatabase": 1}');
	SELECT mongo_ts_command('local', '{"insert": "points", "documents": [
		{"ts": {"\$date": "2020-01-01T00:00:00Z"}, "v": 1},
		{"ts": {"\$date": "2020-01-01T00:00:01Z"}, "v": 2}]}');
END
$node->safe_psql('postgres', create_points('local'));
is($node->safe_psql('postgres', 'SELECT sum(v) FROM local'),
	3, 'a Unix-domain socket leads to the server');

create_server($node, 'longpath', 'mongodb://%2Ftmp%2F' . 'x' x 120 . '.sock/',
	"database 'mts_connect'");
$node->safe_psql('postgres', create_points('longpath'));
my (undef, undef, $err) = $node->psql('postgres', 'SELECT * FROM longpath',
	extra_params => [ '-v', 'VERBOSITY=verbose' ]);
like($err, qr/ERROR:  HV00N: /, 'a socket with too long a path is an error');

# ---- A host that accepts no connection ------------------------------------

# Its backlog is full, so that new connections wait.
my $busy = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 1)
  or die "cannot listen: $!";
my $port = $busy->sockport;
my @waiting = map {
	IO::Socket::INET->new(PeerAddr => "127.0.0.1:$port", Blocking => 0)
} 1 .. 8;
create_server($node, 'busy', "mongodb://127.0.0.1:$port/?connectTimeoutMS=60000"
	  . '&serverSelectionTimeoutMS=60000', "database 'mts_connect'");
$node->safe_psql('postgres', create_points('busy'));
my $session = session_start($node);
my ($out, $seconds);

($out, $err, $seconds) = session_query($session,
	"SET statement_timeout = '500ms'; SELECT sum(v) FROM busy");
like($err, qr/ERROR:  57014: /, 'a session that waits for a connection can be interrupted');
cmp_ok($seconds, '<', $soon, '... soon');

create_server($node, 'busy_soon', "mongodb://127.0.0.1:$port/?connectTimeoutMS=700"
	  . '&serverSelectionTimeoutMS=1500', "database 'mts_connect'");
$node->safe_psql('postgres', create_points('busy_soon'));
($out, $err, $seconds) = session_query($session,
	'RESET statement_timeout; SELECT sum(v) FROM busy_soon');
like($err, qr/ERROR:  HV00N: /, 'connectTimeoutMS of the uri ends the wait');
cmp_ok($seconds, '<', 1.5 + $soon, '... soon');

session_send($session, 'SELECT sum(v) FROM busy');
$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity
	WHERE query LIKE 'SELECT sum(v) FROM busy%' AND state = 'active'});
usleep(300_000);
ok(!session_has_answered($session), 'another session waits');
close($_) foreach grep { defined } @waiting;
serve($busy);
($out, $err) = session_wait($session);
is("$out$err", '3', '... and is connected in the end');

# ---- Sessions beside one that waits for MongoDB ---------------------------

create_server($node, 'silent', proxy_uri($proxy), "database 'mts_connect'");
$node->safe_psql('postgres', create_points('silent'));
($out, $err) = session_query($session, 'SELECT sum(v) FROM silent');
is("$out$err", '3', 'the server answers');
proxy_signal($proxy, 'STOP');
session_send($session, 'SELECT sum(v) FROM silent');
$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity
	WHERE query LIKE 'SELECT sum(v) FROM silent%' AND state = 'active'});
usleep(300_000);
ok(!session_has_answered($session), 'a session waits for the silent server');
$node->safe_psql('postgres', 'CREATE DATABASE doomed');
my $dropped = eval {
	$node->psql('postgres', 'DROP DATABASE doomed', timeout => 20) == 0;
};
ok($dropped, 'another session can drop a database meanwhile');
proxy_signal($proxy, 'CONT');
($out, $err) = session_wait($session);
is("$out$err", '3', 'the waiting session gets its answer');

# ---- A transaction that takes too long ------------------------------------

SKIP:
{
	skip 'PostgreSQL 17 has transaction_timeout', 2 if $node->pg_version < 17;
	proxy_signal($proxy, 'STOP');
	($out, $err, $seconds) = session_query($session,
		"SET transaction_timeout = '500ms'; SELECT sum(v) FROM silent");
	like($err, qr/FATAL:  25P04: /, 'transaction_timeout ends it while MongoDB is silent');
	cmp_ok($seconds, '<', $soon, '... soon');
	proxy_signal($proxy, 'CONT');
}

session_end($session);
$node->stop;
kill('KILL', @children);
done_testing();
