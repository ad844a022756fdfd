# Proves that a command which an overloaded server refuses is sent again, twice
# at most, with the same effect as if it had been refused never: reads, later
# batches, writes, transactions and questions of the planner.  A third refusal
# is an error that says so.  A cancel ends the wait between two tries.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use MongoTS::FakeFaults;
use MongoTS::FakeServer;
use MongoTS::Node;
use Test::More;

# The longest time for an answer, in seconds, beyond the statement's timeout
my $soon = 2.5;

# ---- The server -----------------------------------------------------------

# A command of a name refuses so many times, and then is executed.
my %refusals = (once => 1, twice => 2, thrice => 3, labelled => 2);
my @labels = map { bson_string($_) } qw(SystemOverloadedError RetryableError);

# Refuse a command as often as the name of its collection says.
sub shed
{
	my ($request, $healthy, $before) = @_;
	my ($name) = $request->{collection} =~ /^(\w+?)_/;

	return fake_reply($request, $before < $refusals{$name}
		? fake_overload($name eq 'labelled' ? (code => bson_int32(9999)) : ())
		: $healthy->());
}

# Refuse a command without a collection, the next times that it comes.
sub shed_next
{
	my ($request, $healthy, undef, $fake) = @_;

	return undef if $fake->{dropped} && $fake->{dropped}-- > 0;
	return fake_reply($request, ($fake->{left}{ $request->{name} } // 0) > 0 && $fake->{left}{ $request->{name} }--
		? fake_overload() : $healthy->());
}

# {"shed": "commitTransaction", "n": 2, "dropped": 1}: refuse that command the
# next n times, after the connection was closed so many times instead.
sub prepare
{
	my ($request, $healthy, undef, $fake) = @_;

	$fake->{left}{ $request->{fields}{shed} } = $request->{fields}{n};
	$fake->{dropped} = $request->{fields}{dropped};
	return fake_reply($request, $healthy->());
}

my %scripts = (
	shed => \&prepare,
	map({ ($_ => \&shed_next) } qw(listCollections commitTransaction abortTransaction ping)),
	map({ my $name = $_; map { ("$name ${_}_\L$name" => \&shed) } keys %refusals } qw(find getMore update)),
	'find fatal' => sub { fake_reply($_[0], fake_overload(code => bson_int32(9999), errorLabels => bson_array($labels[0]))) },
	'find slow' => sub { fake_reply($_[0], fake_overload(baseBackoffMS => bson_int64(60_000))) });

my $directory = $PostgreSQL::Test::Utils::tmp_check;
my $fake = fake_start("$directory/fake", \@buckets, scripts => \%scripts, wire => 28);
my $set = fake_start("$directory/set", \@buckets, scripts => \%scripts, wire => 28, set => 1, sessions => 1);
my $old = fake_start("$directory/old", \@buckets, scripts => \%scripts, wire => 21);
my $node = new_node('overload', uri => undef);
my %uris = (fake => fake_uri($fake), set => fake_uri($set, 'replicaSet=fake'), old => fake_uri($old));

foreach my $server (sort keys %uris)
{
	create_server($node, $server, $uris{$server}, "database 'fake', fetch_size '10'");
	$node->safe_psql('postgres', "CREATE SCHEMA $server; " . join(' ',
			map { "CREATE FOREIGN TABLE $server.$_ (ts timestamptz, v int OPTIONS (field 'v.{second}')) SERVER $server;" }
			qw(good fatal slow), map { my $n = $_; map { "${n}_$_" } qw(find getmore update) } keys %refusals));
}
$node->safe_psql('postgres', 'CREATE FOREIGN TABLE flat (ts timestamptz, v int) SERVER fake');

my $session = session_start($node);
my ($out, $err, $seconds);

sub shed_command
{
	my ($server, $command, $n, $dropped) = @_;

	return $node->safe_psql('postgres', sprintf(q(SELECT mongo_ts_command('%s', '{"shed": "%s", "n": %d, "dropped": %d}')),
			$server, $command, $n, $dropped // 0));
}

# Return how often the server got a command.
sub count_of
{
	my ($server, $command) = @_;

	return scalar grep { /^\Q$command\E\b/ } fake_commands($server);
}

# ---- Reads ----------------------------------------------------------------

my $all = join("\n", 0 .. 79);

foreach my $name (qw(once twice labelled))
{
	fake_commands($fake);
	($out, $err) = session_query($session, "SELECT v FROM fake.${name}_find");
	is("$out$err", $all, "a query that is refused: $name");
	is(count_of($fake, "find ${name}_find"), 1 + $refusals{$name}, '.. and sent again as often');
	($out, $err) = session_query($session, "SELECT v FROM fake.${name}_getmore");
	is("$out$err", $all, "a batch that is refused: $name");
	is(count_of($fake, "getMore ${name}_getmore"), 3 + $refusals{$name}, '.. and asked for again as often');
}
($out, $err) = session_query($session, "SET client_min_messages = log; SET mongo_ts_fdw.log_commands = on");
foreach my $name (qw(find getmore))
{
	($out, $err) = session_query($session, "SELECT v FROM fake.thrice_$name");
	like($err, qr/ERROR:  53000: .*DETAIL:  the request rate is exceeded\nHINT:  MongoDB is overloaded/s, "$name: a third refusal is an error");
	is(() = $err =~ /LOG:  00000: MongoDB is overloaded, a command is sent again after \d+ ms/g, 2, '.. and the log has the others');
}
session_query($session, 'RESET client_min_messages; RESET mongo_ts_fdw.log_commands');
fake_commands($fake);
($out, $err) = session_query($session, 'SELECT v FROM fake.fatal');
like($err, qr/ERROR:  HV000: /, 'one of the labels alone is another error');
is(count_of($fake, 'find fatal'), 1, '.. and not sent again');
($out, $err) = session_query($session, 'SELECT v FROM old.twice_find');
like($err, qr/ERROR:  53000: /, 'a server before 8.2 has no such errors');

# Each of these lasts less than a second with a probability of one in 200.
my $ends = 0;
session_query($session, "SET statement_timeout = '1s'");
for (1 .. 3)
{
	($out, $err, $seconds) = session_query($session, 'SELECT v FROM fake.slow');
	$ends += $err =~ /ERROR:  57014: /;
	cmp_ok($seconds, '<', 1 + $soon, 'the wait ends soon after the timeout');
}
cmp_ok($ends, '>', 0, '.. and the server chooses its length');
session_query($session, 'RESET statement_timeout');

# ---- Questions of the planner ---------------------------------------------

foreach my $n (2, 3)
{
	shed_command('fake', 'listCollections', $n);
	$out = $node->safe_psql('postgres', 'EXPLAIN SELECT v FROM flat');
	$n == 2
	  ? unlike($out, qr/Native Buckets/, 'a question that is refused twice is answered')
	  : like($out, qr/Native Buckets: not read: MongoDB refuses to describe "flat"/, 'a third refusal is not');
}
shed_command('fake', 'ping', 2);
is($node->safe_psql('postgres', q(SELECT mongo_ts_command('fake', '{"ping": 1}') ->> 'ok')), 1, 'a command of the user is sent again');

# ---- Writes ---------------------------------------------------------------

sub insert_into
{
	my ($table) = @_;

	return "INSERT INTO $table SELECT timestamptz '2020-01-01Z' + i * interval '1 min', i FROM generate_series(1, 3) i RETURNING v";
}

foreach my $server (qw(fake set))
{
	my $requests = $server eq 'fake' ? $fake : $set;

	fake_commands($requests);
	($out, $err) = session_query($session, insert_into("$server.twice_update"));
	is("$out$err", "1\n2\n3", "$server: a write that is refused twice");
	is(count_of($requests, 'update twice_update'), 3, '.. is sent three times');
	($out, $err) = session_query($session, insert_into("$server.thrice_update"));
	like($err, qr/ERROR:  53000: .*HINT:  MongoDB is overloaded/s, '.. thrice is an error');
	($out, $err) = session_query($session, insert_into("$server.good"));
	is("$out$err", "1\n2\n3", '.. and the session works');
}
fake_commands($set);
shed_command('set', 'commitTransaction', 2);
($out, $err) = session_query($session, 'BEGIN; ' . insert_into('set.once_update') . '; ' . insert_into('set.good') . '; COMMIT');
is("$out$err", "1\n2\n3\n1\n2\n3", 'a transaction whose commands and commit are refused');
my @got = fake_commands($set);
is(scalar(grep { /^commitTransaction/ } @got), 3, '.. commits after three tries');
is(scalar(grep { /^abortTransaction/ } @got), 0, '.. and aborts nothing');
shed_command('set', 'commitTransaction', 3);
($out, $err) = session_query($session, 'BEGIN; ' . insert_into('set.good') . '; COMMIT');
like($err, qr/ERROR:  53000: could not commit/, 'a commit that is refused thrice is an error');
is(count_of($set, 'abortTransaction'), 1, '.. and the transaction is aborted');
foreach my $transactions (qw(auto batch))
{
	$node->safe_psql('postgres', "ALTER FOREIGN TABLE set.good OPTIONS (ADD transactions '$transactions')");
	shed_command('set', 'commitTransaction', 3, 1);
	($out, $err) = session_query($session, 'BEGIN; ' . insert_into('set.good') =~ s/1 min/1 hour/r . '; COMMIT');
	like($err, qr/ERROR:  08007: .*is unknown/s, "$transactions: a commit that may be done before it is refused is an unknown outcome");
	session_query($session, 'ROLLBACK');
	$node->safe_psql('postgres', 'ALTER FOREIGN TABLE set.good OPTIONS (DROP transactions)');
}
fake_commands($set);
shed_command('set', 'abortTransaction', 3);
session_query($session, 'BEGIN; ' . insert_into('set.good') . '; ROLLBACK');
($out, $err) = session_query($session, 'SELECT sum(v) FROM set.good');
is("$out$err", 3160, 'the session works after an abort that is refused');
@got = fake_commands($set);
is(scalar(grep { /^abortTransaction/ } @got), 3, '.. three times');
is(scalar(grep { /^killSessions/ } @got), 1, '.. and its session is ended before the next command');

session_end($session);
done_testing();
