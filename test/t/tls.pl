# Proves which connections TLS and SCRAM admit.  Each fault is a prompt error
# with its reason, never an empty table.  After a correction the same session
# works.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use MongoTS::Certificates;
use Cwd qw(abs_path);
use MongoTS::FakeServer;
use IO::Socket::INET;
use MIME::Base64 qw(encode_base64);
use MongoTS::Node;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

skip_without_fault();

# The longest time until an error, in seconds
my $soon = 10;

# The longest time until an interrupt takes effect, in seconds
my $at_once = 2.5;

# The password has all characters that need an escape somewhere.
my $password = q{p@:/%25?&=#é'"\\ } . 'x' x 100;
my $mongodb = abs_path("$FindBin::RealBin/../mongodb");
my $dir = PostgreSQL::Test::Utils::tempdir_short();

# ---- Certificates, servers, users -----------------------------------------

make_authority("$dir/ca");
make_authority("$dir/other");
make_certificate("$dir/client", "$dir/ca",
	subject => 'client', for => 'DNS:client');
make_certificate("$dir/stranger", "$dir/other",
	subject => 'client', for => 'DNS:client');
make_certificate("$dir/locked", "$dir/ca",
	subject => 'client', for => 'DNS:client', passphrase => 'passphrase');

# Earlier tests may have left the server dead.
fault_restart();

my %port;

# Start a server with a user and with a certificate that is valid for some
# seconds.
sub secure
{
	my ($name, $seconds) = @_;

	mkdir "$dir/$name" or die $!;
	system('cp', "$dir/ca.pem", "$dir/$name/clients.pem") == 0 or die
	  if $name eq 'clients';
	make_certificate("$dir/$name/server", "$dir/ca",
		subject => 'server',
		for => 'IP:127.0.0.1,DNS:db.example',
		seconds => $seconds);
	$port{$name} = 0;
	open(my $uri, '-|', $mongodb, 'secure', $ENV{MONGO_TS_FAULT_DIR},
		"$dir/$name/run", "$dir/$name", 'mts_writer', $password) or die $!;
	($port{$name}) = <$uri> =~ /:(\d+)/ or die "no server $name";
	return;
}

END
{
	my $status = $?;
	foreach my $name (keys %port)
	{
		system($mongodb, 'stop', "$dir/$name/run");
	}
	$? = $status;
}

secure('valid', 86400);
my $started = time();
secure('clients', 86400);
my $start_time = time() - $started;

my $node = new_node('tls', uri => undef);
my $session = session_start($node);
my ($out, $err, $seconds);

sub query { ($out, $err, $seconds) = session_query($session, $_[0]); return }

create_server($node, 'plain', fault_uri(), "database 'mts_tls'");

sub uri
{
	my ($host, $options) = @_;

	return "mongodb://$host/?$options";
}

my $ca = "tls=true&tlsCAFile=$dir/ca.pem";
my $with_client = uri("127.0.0.1:$port{clients}",
	"$ca&tlsCertificateKeyFile=$dir/client.pem");
my $good = uri("127.0.0.1:$port{valid}", $ca);
my $drop = q{SELECT mongo_ts_command('plain', '{"dropDatabase": 1}')->'ok'};

query($drop);
create_server($node, 'mongo', $good, "database 'mts_tls'");
query('ALTER USER MAPPING FOR PUBLIC SERVER mongo OPTIONS (ADD username '
	  . "'mts_writer', ADD password " . quoted($password) . ')');
query(<<'END');
	CREATE FOREIGN TABLE points (ts timestamptz, v int OPTIONS (field 'v.{second}'))
		SERVER mongo
END

# mongod does not start with an expired certificate, and rows are written while
# this one is valid.
my $lifetime = int(10 + 5 * $start_time);
my $expires = time() + $lifetime + 1;
secure('expired', $lifetime);
foreach my $uri (uri("127.0.0.1:$port{expired}", $ca), $with_client, $good)
{
	query(<<"END");
		ALTER SERVER mongo OPTIONS (SET uri '$uri');
		INSERT INTO points SELECT '2020-01-01Z'::timestamptz + n * interval '1 s', n
		  FROM generate_series(0, 119) n
END
	is("$out$err", '', 'rows are written over TLS and SCRAM');
}

sub check_works
{
	my ($name) = @_;

	query('SELECT count(*), sum(v) FROM points');
	is("$out$err", '120|7140', $name);
	return;
}

check_works('rows are read over TLS and SCRAM');

# Read with another URI, which must fail with this error.
sub check_refused
{
	my ($name, $uri, $state, $message) = @_;

	query("ALTER SERVER mongo OPTIONS (SET uri '$uri')");
	is($err, '', "$name: the uri is accepted");
	foreach my $statement ('SELECT v FROM points', 'SELECT count(*) FROM points',
		"INSERT INTO points VALUES ('2020-01-01Z', 7)")
	{
		query($statement);
		is($out, '', "$name: no row");
		like($err, qr/ERROR:  $state: could not .*DETAIL:  .*$message/s,
			"$name: an error with its reason");
		cmp_ok($seconds, '<', $soon, "$name: soon");
	}
	query("ALTER SERVER mongo OPTIONS (SET uri '$good')");
	check_works("$name: put right, it works");
	return;
}

sub accepted
{
	my ($name, $uri) = @_;

	query("ALTER SERVER mongo OPTIONS (SET uri '$uri')");
	check_works($name);
	query("ALTER SERVER mongo OPTIONS (SET uri '$good')");
	return;
}

# ---- TLS ------------------------------------------------------------------

my $valid = "127.0.0.1:$port{valid}";

check_refused('a wrong authority', uri($valid, "tls=true&tlsCAFile=$dir/other.pem"),
	'HV00N', 'certificate verify failed');
check_refused('no authority', uri($valid, 'tls=true'),
	'HV00N', 'certificate verify failed');
check_refused('no such file', uri($valid, "tls=true&tlsCAFile=$dir/none.pem"),
	'HV00N', "could not read the file \"$dir/none.pem\" of the URI: No such file or directory");
check_refused('a file that is not a certificate',
	uri($valid, "tls=true&tlsCAFile=$FindBin::RealBin/tls.pl"),
	'HV00N', 'could not set up TLS');
check_refused('another host', uri("localhost:$port{valid}", $ca),
	'HV00N', 'certificate verify failed');
accepted('another host, allowed',
	uri("localhost:$port{valid}", "$ca&tlsAllowInvalidHostnames=true"));

sleep 1 while time() < $expires;
check_refused('an expired certificate', uri("127.0.0.1:$port{expired}", $ca),
	'HV00N', 'certificate verify failed');
accepted('an expired certificate, allowed',
	uri("127.0.0.1:$port{expired}", "$ca&tlsAllowInvalidCertificates=true"));
check_refused('no TLS, if the server requires it', uri($valid, 'tls=false'),
	'(HV00N|08P01)', '\S');
check_refused('TLS, if the server does not support it',
	uri(fault_uri() =~ m{mongodb://([^/]+)}, "$ca&connectTimeoutMS=500"),
	'HV00N', 'TLS handshake failed');
check_refused('one bad host of two', uri("$valid,127.0.0.1:1", "$ca&replicaSet=none"),
	'HV00N', '\S');

my $clients = "127.0.0.1:$port{clients}";

check_refused('no client certificate', uri($clients, $ca), '(HV00N|08006|08P01)', '\S');
check_refused('a stranger\'s client certificate',
	uri($clients, "$ca&tlsCertificateKeyFile=$dir/stranger.pem"),
	'(HV00N|08006|08P01)', '\S');
check_refused('a key with a passphrase',
	uri($clients, "$ca&tlsCertificateKeyFile=$dir/locked.pem"),
	'HV00N', 'could not set up TLS');
accepted('a client certificate', $with_client);

# ---- Users ----------------------------------------------------------------

# Read with another user, which must fail with this error.
sub unknown
{
	my ($name, $options, $state) = @_;

	query("ALTER USER MAPPING FOR PUBLIC SERVER mongo OPTIONS ($options)");
	foreach my $statement ('SELECT v FROM points', 'SELECT count(*) FROM points')
	{
		query($statement);
		is($out, '', "$name: no row");
		like($err, qr/ERROR:  $state: .*DETAIL:  \S/s, "$name: an error");
		cmp_ok($seconds, '<', $soon, "$name: soon");
	}
	query('DROP USER MAPPING FOR PUBLIC SERVER mongo');
	query('CREATE USER MAPPING FOR PUBLIC SERVER mongo OPTIONS (username '
		  . "'mts_writer', password " . quoted($password) . ')');
	check_works("$name: put right, it works");
	return;
}

unknown('a wrong password', "SET password 'wrong'", '28000');
unknown('another case', 'SET password ' . quoted(uc $password), '28000');
unknown('an unknown user', "SET username 'mts_nobody'", '28000');
unknown('no user', 'DROP username, DROP password', '(42501|28000)');
unknown('no password', 'DROP password', '28000');
accepted('the mechanism in the uri', "$good&authMechanism=SCRAM-SHA-256");
# A path is the database, and where the user is looked for unless authSource
# names that.
query("ALTER SERVER mongo OPTIONS (DROP database)");
accepted('a database in the path',
	"mongodb://127.0.0.1:$port{valid}/mts_tls?$ca&authSource=admin");
query("ALTER SERVER mongo OPTIONS (ADD database 'mts_tls')");
check_refused('a path where the user is not',
	"mongodb://127.0.0.1:$port{valid}/mts_tls?$ca", '28000', '\S');
check_refused('another mechanism', "$good&authMechanism=SCRAM-SHA-1", '28000', '\S');

# ---- Large results over TLS -----------------------------------------------

# TLS may have read data ahead.  Waiting for it at the socket would delay each
# reply, or each TLS record, by 100 ms.
query(<<'END');
	INSERT INTO points SELECT '2021-01-01Z'::timestamptz + n * interval '1 s', n
	  FROM generate_series(0, 59999) n
END
foreach my $fetch_size (2, 100000)
{
	query("ALTER SERVER mongo OPTIONS (ADD fetch_size '$fetch_size');
		SELECT count(*), sum(v) FROM points WHERE ts >= '2021-01-01Z'");
	is("$out$err", '60000|1799970000', "all rows, $fetch_size buckets at a time");
	cmp_ok($seconds, '<', 25, 'without waiting for data that has been read');
	query('ALTER SERVER mongo OPTIONS (DROP fetch_size)');
}
query("DELETE FROM points WHERE ts >= '2021-01-01Z'");

# ---- Interrupts -----------------------------------------------------------

# A silent server: it accepts a connection and sends nothing.
my $silent = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 5) or die $!;

query("ALTER SERVER mongo OPTIONS (SET uri '"
	  . uri('127.0.0.1:' . $silent->sockport, $ca) . "')");
session_send($session, 'SELECT v FROM points');
usleep(500_000);
my $begin = time();
$node->safe_psql('postgres', "SELECT pg_cancel_backend($session->{pid})");
($out, $err) = session_wait($session);
cmp_ok(time() - $begin, '<', $at_once, 'a cancel ends a silent TLS handshake');
like($err, qr/ERROR:  57014: /, 'the error is that of a cancel');
query("ALTER SERVER mongo OPTIONS (SET uri '"
	  . uri('127.0.0.1:' . $silent->sockport, "$ca&connectTimeoutMS=500") . "')");
query('SELECT v FROM points');
like($err, qr/ERROR:  HV00N: /, 'connectTimeoutMS ends a silent TLS handshake');
cmp_ok($seconds, '<', $soon, 'connectTimeoutMS takes effect in time');
query("ALTER SERVER mongo OPTIONS (SET uri '$good')");
check_works('the session works again');

# ---- Servers that lie -----------------------------------------------------

# Servers that try to get the password, or to pass for one that knows it.  Each
# records what it receives.
my $said = "$dir/said";

sub payload
{
	my ($request) = @_;

	open(my $file, '>>', $said) or die "$said: $!";
	print $file $request->{fields}{mechanism} // '', ' ',
	  $request->{fields}{payload}, "\n";
	close($file);
	return substr($request->{fields}{payload}, 5);
}

sub sasl_document
{
	my ($done, $payload) = @_;

	return bson_document(
		conversationId => bson_int32(1),
		done => bson_bool($done),
		payload => [ 0x05, pack('l< C', length $payload, 0) . $payload ],
		ok => bson_double(1));
}

sub sasl_reply
{
	my ($request, $done, $payload) = @_;

	return fake_reply($request, sasl_document($done, $payload));
}

# The first message of a server, which continues the client's nonce
sub challenge
{
	my ($request) = @_;
	my $salt = 's' x ($request->{fields}{mechanism} =~ /256/ ? 28 : 16);
	my ($nonce) = payload($request) =~ /r=(.*)/s;

	return "r=${nonce}server,s=" . encode_base64($salt, '') . ',i=4096';
}

my %liars = (
	'no proof' => [
		sub { sasl_reply($_[0], 0, challenge($_[0])) },
		sub { payload($_[0]); sasl_reply($_[0], 1, '') } ],
	'a wrong proof' => [
		sub { sasl_reply($_[0], 0, challenge($_[0])) },
		sub { payload($_[0]); sasl_reply($_[0], 1, 'v=' . encode_base64('x' x 20, '')) } ],
	'done at once' => [ sub { sasl_reply($_[0], 1, challenge($_[0])) } ],
	'done with nothing' => [ sub { payload($_[0]); sasl_reply($_[0], 1, '') } ],
	'another nonce' => [
		sub { sasl_reply($_[0], 0, challenge($_[0]) =~ s/r=./r=/r) } ],
	'few iterations' => [
		sub { sasl_reply($_[0], 0, challenge($_[0]) =~ s/4096/1/r) } ],
	'done in the greeting' => [ sub { sasl_reply($_[0], 1, '') } ],
	'an error' => [
		sub {
			payload($_[0]);
			fake_reply($_[0], fake_error(18, 'Authentication failed.'));
		} ]);

my @offers = (undef, ['PLAIN'], [ 'PLAIN', 'SCRAM-SHA-1' ], ['SCRAM-SHA-256']);
my @documents = (bson_document(
		_id => bson_int32(1),
		ts => bson_date(1_577_836_800_000),
		v => bson_document(0 => bson_int32(666))));

# The greeting of a server that offers some mechanisms, or accepts the client
# without authentication
sub greeting
{
	my ($mechanisms, $is_done) = @_;
	my @more;

	push @more, saslSupportedMechs =>
	  bson_array(map { bson_string($_) } @$mechanisms)
	  if $mechanisms;
	push @more, speculativeAuthenticate => sasl_document(1, '') if $is_done;
	return sub {
		my ($request, $healthy) = @_;
		my $fields = substr($healthy->()->[1], 4, -1)
		  . substr(bson_document(@more)->[1], 4, -1);

		return fake_reply($request,
			[ 3, pack('l<', 5 + length $fields) . "$fields\0" ]);
	};
}

foreach my $name (sort keys %liars)
{
	foreach my $offer (@offers)
	{
		my $what = "$name, offered " . ($offer ? "@$offer" : 'nothing');
		my $hello = greeting($offer, $name eq 'done in the greeting');
		my $fake = fake_start("$dir/fake", \@documents,
			scripts => {
				hello => $hello,
				isMaster => $hello,
				ismaster => $hello,
				saslStart => $liars{$name}[0],
				saslContinue => $liars{$name}[1] });

		query("ALTER SERVER mongo OPTIONS (SET uri '" . fake_uri($fake) . "')");
		query('SELECT v FROM points');
		is($out, '', "$what: no row");
		like($err, qr/ERROR:  (28000|HV00N|HV000): could not .*DETAIL:  \S/s,
			"$what: an error") or diag $err;
		cmp_ok($seconds, '<', $soon, "$what: soon");
	}
}
query("ALTER SERVER mongo OPTIONS (SET uri '$good')");
check_works('the session works again');

my $sent = slurp_file($said);
like($sent, qr/^SCRAM-SHA-256 /m, 'SCRAM-SHA-256 was tried');
like($sent, qr/,p=/, 'the client sent its proof of the password');
unlike($sent, qr/PLAIN/, 'PLAIN was not tried');
unlike($sent, qr/\Q$password\E/, 'no password was sent');

query($drop);
session_end($session);
$node->stop;

done_testing();
