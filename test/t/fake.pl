# Proves that reads and writes survive a MongoDB that answers with errors,
# lies, garbage or not at all.  Each gives the whole result or an error with
# its SQLSTATE, never fewer rows, and then the same session works.
#
# SEED repeats the random changes of replies.

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

my %reads = (
	'SELECT v FROM %s' => join("\n", 0 .. 79),
	'SELECT sum(v) FROM %s' => 3160,
	'SELECT v FROM %s ORDER BY ts' => join("\n", 0 .. 79));

# ---- The server and its tables --------------------------------------------

# Change a byte of some replies, but none in the documents of a batch, which
# could change points.
sub at_random
{
	my ($request, $healthy) = @_;
	my $reply = fake_reply($request, $healthy->());
	my $end = index($reply, 'Batch') + 10;
	# not its length and id
	my $at = 8 + int rand(($end > 16 ? $end : length $reply) - 8);

	substr($reply, $at, 1, chr int rand 256) if rand() < 0.5;
	return $reply;
}

my %scripts = (
	'find once' => sub {
		my ($request, $healthy, $before) = @_;

		return $before ? fake_reply($request, $healthy->()) : undef;
	},
	# an empty batch before each one
	'find patient' => sub {
		my ($request, $healthy) = @_;

		return fake_reply($request,
			fake_asks_other_types($request) ? $healthy->() : fake_find($request, 1));
	},
	'getMore patient' => sub {
		my ($request, undef, $before) = @_;

		return fake_reply($request, fake_find($request, 1)) if $before % 2 == 0;
		my $from = 10 * ($before % 8 - 1) / 2;
		return fake_reply($request,
			fake_find($request, $from == 30 ? 0 : 1, @buckets[ $from .. $from + 9 ]));
	},
	# names of collections: after empty batches, and one without a name
	listCollections => sub {
		my ($request) = @_;
		my %name = (name => bson_string('set_20200101'));

		return fake_reply($request, fake_find($request, 0,
				bson_document(name => bson_string('partial'), type => bson_string('collection'))))
		  if $request->{fields}{'$db'} eq 'named';

		return fake_reply($request, $request->{fields}{'$db'} eq 'patient'
			? fake_find($request, 1)
			: fake_find($request, 0, bson_document(%name), bson_document(type => $name{name})));
	},
	'getMore 1' => sub {
		my ($request, undef, $before) = @_;
		my $name = bson_document(name => bson_string('set_20200101'));

		return fake_reply($request, $before % 2 == 0 ? fake_find($request, 1)
			: fake_find($request, 0, $name));
	},
	# the reply arrives after its request has been abandoned
	'find late' => changed(sub { ($_[0], $_[0]) }),
	# each byte of a reply is a packet
	map({ ("$_ split" => changed(sub { split(//, $_[0]) })) } qw(find getMore aggregate)),
	# a batch leaves its cursor, and is lost with the connection
	'getMore lost' => sub {
		my ($request, $healthy, $before) = @_;
		my $batch = $healthy->();

		return $before == 2 ? undef : fake_reply($request, $batch);
	},
	'update transient' => sub {
		my ($request, $healthy, $before) = @_;

		return fake_reply($request, $before ? $healthy->()
			: bson_document(@two, writeErrors => refused(1, 112)));
	},
	# the retried write is stored, but not with the requested write concern
	'update unsafe' => sub {
		my ($request, $healthy, $before) = @_;

		return fake_reply($request, $before ? $healthy->()
			: bson_document(@two, writeErrors => refused(1, 112), @concern));
	},
	# two sessions get a deadlock and retry, without an answer
	'update deadlock' => sub {
		my ($request, $healthy, $before) = @_;

		return () if $before == 1;
		return fake_reply($request, $before > 2 ? $healthy->()
			: bson_document(@two, writeErrors => refused(1, 16908292)));
	},
	# conflicts for some time, then the bucket exists
	'update contended' => sub {
		my ($request, $healthy, $before) = @_;

		return fake_reply($request, $healthy->()) if $before > 6;
		return fake_reply($request, bson_document(
				$before ? (n => bson_int32(0), ok => bson_double(1)) : @two,
				writeErrors => refused($before ? 0 : 1, $before < 6 ? 112 : 11000)));
	},
	# like a mongos that loses a shard twice; then it reports the transaction
	# number
	'update counted' => sub {
		my ($request, undef, $before) = @_;
		my $number = ($request->{fields}{txnNumber} // 'none') . ' ';

		our $numbers .= $number;
		return fake_reply($request, $before == 2
			? fake_error(8000, $numbers)
			: bson_document(@two, writeErrors => refused(1, 6), $before ? @concern : ()));
	},
	# reports the write concern that it received
	'update concerned' => sub {
		my ($request) = @_;
		my ($names, $values) = bson_read($request->{fields}{writeConcern}, 0);

		return fake_reply($request,
			fake_error(8000, join(' ', map { "$_=$values->{$_}" } sort @$names)));
	},
	'update labels' => sub {
		return fake_reply($_[0], bson_document(@three, errorLabels => bson_int32(1)));
	},
	'killCursors undying' => sub { () },
	'endSessions 1' => sub { () },
	map { ("$_ changed" => \&at_random) } qw(find getMore update count));

# Results of a comparison with the points, which lack parts
my @partial = map { bson_document(@$_) }
  [], [ n0 => bson_int32(1) ],
  map { [ n0 => bson_int32(1), e0 => $_ ] } bson_null(), bson_array(), map { bson_document(@$_) }
  [], [ says => bson_int32(1) ], [ id => bson_int32(1), points => bson_document() ];
$scripts{'aggregate partial'} = sub {
	my ($request, $healthy, $before) = @_;

	return fake_reply($request, fake_find($request, 0, $partial[ $before % @partial ]));
};

foreach my $name (keys %faults)
{
	$scripts{"find first_$name"} = $faults{$name}[1];
	$scripts{"getMore later_$name"} = $faults{$name}[1];
}
foreach my $name (keys %write_faults)
{
	$scripts{"$_ write_$name"} = $write_faults{$name}[1] foreach qw(update delete);
	$scripts{"insert flat_$name"} = $write_faults{$name}[1];
}

my $seed = $ENV{SEED} // time;
note "SEED=$seed";
srand($seed);

my $directory = $PostgreSQL::Test::Utils::tmp_check;
my $fake = fake_start("$directory/fake", \@buckets, scripts => \%scripts);
my $node = new_node('fake', uri => undef);

create_server($node, 'fake', fake_uri($fake), "database 'fake', fetch_size '10'");
create_server($node, 'named', fake_uri($fake), "database 'named'");
$node->safe_psql('postgres', join('',
		(map { "CREATE FOREIGN TABLE $_ (ts timestamptz, v int OPTIONS (field 'v.{second}')) SERVER fake;\n" }
			qw(good split once patient lost late transient labels contended unsafe deadlock undying changed),
			map({ ("first_$_", "later_$_") } keys %faults),
			map({ "write_$_" } keys %write_faults)),
		map({ "CREATE FOREIGN TABLE flat_$_ (ts timestamptz, v int) SERVER fake;\n" }
			keys %write_faults),
		"CREATE FOREIGN TABLE partial (ts timestamptz, v int OPTIONS (field 'v.{second}')) SERVER named OPTIONS (count_field 'n');\n",
		map { "CREATE FOREIGN TABLE set_$_ (ts timestamptz, v int OPTIONS (field 'v.{second}'))
			SERVER fake OPTIONS (database '$_', collection 'set_%Y%m%d');\n" } qw(patient nameless)));

my $session = session_start($node);
my ($backend) = session_query($session, 'SELECT pg_backend_pid()');
my ($out, $err, $seconds);

# Check that a table gives the whole result, in the same session.
sub check_works
{
	my ($table, $query, $name) = @_;

	($out, $err) = session_query($session, sprintf($query, $table));
	is("$out$err", $reads{$query}, $name);
	return;
}

# Check that a statement fails with an error, and that the session then works.
sub check_fails
{
	my ($statement, $sqlstate, $says) = @_;

	($out, $err, $seconds) = session_query($session, $statement);
	like($err, qr/ERROR:  $sqlstate: /, "$statement: $sqlstate");
	like($err, $says, 'the error names the writes that are lost') if $says;
	# rows may precede the error, but psql holds them back
	is($out, '', '.. and no rows');
	cmp_ok($seconds, '<', 1 + $soon, '.. soon');
	check_works('good', 'SELECT sum(v) FROM %s', '.. and the session works');
	return;
}

sub insert_into
{
	my ($table) = @_;

	return "INSERT INTO $table SELECT timestamptz '2020-01-01Z' + i * interval '1 min', i FROM generate_series(1, 3) i RETURNING v";
}

session_query($session, "SET statement_timeout = '1s'");

# ---- Reads ----------------------------------------------------------------

check_works('good', $_, "healthy: $_") foreach sort keys %reads;
check_works('patient', $_, "empty batches: $_") foreach sort keys %reads;
check_works('set_patient', $_, "empty batches of names: $_") foreach sort keys %reads;
check_fails('SELECT v FROM set_nameless', '08P01');
check_works('once', 'SELECT v FROM %s', 'a connection is lost once');
check_works('split', $_, "replies byte by byte: $_") foreach sort keys %reads;
session_query($session, 'BEGIN; DECLARE c CURSOR FOR SELECT v FROM split; DECLARE d CURSOR FOR SELECT v FROM split');
($out, $err) = session_query($session, 'FETCH 25 FROM c; FETCH 35 FROM d; FETCH ALL FROM c; FETCH ALL FROM d; COMMIT');
is("$out$err", join("\n", 0 .. 24, 0 .. 34, 25 .. 79, 35 .. 79), 'replies byte by byte, to two cursors in turn');
foreach my $name (sort keys %faults)
{
	check_fails("SELECT v FROM first_$name", $faults{$name}[0]);
	check_fails("SELECT v FROM later_$name", $faults{$name}[0]);
	check_fails("SELECT sum(v) FROM later_$name", $faults{$name}[0]);
}
foreach my $name (qw(error closed lies_by_one batch_of_nulls hangs))
{
	check_fails("SELECT v FROM later_$name ORDER BY ts", $faults{$name}[0]);
}

# A duplicate reply must not be taken for the reply to the next request.
session_query($session, 'SELECT v FROM late');
($out, $err) = session_query($session, 'SELECT sum(v) FROM good');
ok($out eq '3160' || $err =~ /ERROR:  08P01: /, 'no reply is taken for another one')
  or diag "$out$err";
check_works('good', 'SELECT sum(v) FROM %s', 'the session works after a duplicate reply');

# A cursor fails while another one is open.
session_query($session, 'BEGIN; DECLARE c CURSOR FOR SELECT v FROM good; FETCH 1 FROM c; SAVEPOINT s');
($out, $err) = session_query($session, 'SELECT v FROM later_garbage');
like($err, qr/ERROR:  08P01: /, 'a scan beside an open cursor fails');
session_query($session, 'ROLLBACK TO s');
check_works('good', 'SELECT sum(v) FROM %s', 'another scan works beside the cursor');
($out, $err) = session_query($session, 'FETCH ALL FROM c');
ok($out eq join("\n", 1 .. 79) || ($out eq '' && $err =~ /ERROR:  08/),
	'the cursor gives all rows or an error') or diag "$out$err";
session_query($session, 'ROLLBACK');

# A batch that was asked for early is lost while another scan uses the connection.
session_query($session, 'BEGIN; DECLARE c CURSOR FOR SELECT v FROM lost');
($out, $err) = session_query($session, 'FETCH 25 FROM c');
is("$out$err", join("\n", 0 .. 24), 'the first rows of a cursor');
check_works('good', 'SELECT sum(v) FROM %s', 'a scan works that lost the batch of a cursor');
($out, $err) = session_query($session, 'FETCH ALL FROM c');
ok($out eq join("\n", 25 .. 79) || ($out eq '' && $err =~ /ERROR:  08/),
	'the cursor gives all rows or an error') or diag "$out$err";
session_query($session, 'ROLLBACK');
check_works('good', 'SELECT sum(v) FROM %s', 'the session works after a batch was lost');

# ---- Writes ---------------------------------------------------------------

foreach my $name (sort keys %write_faults)
{
	check_fails(insert_into("${_}_$name"), @{ $write_faults{$name} }[ 0, 2 ])
	  foreach qw(write flat);
}
fake_commands($fake);
($out, $err) = session_query($session, insert_into('transient'));
is("$out$err", "1\n2\n3", 'a transient error is retried');
is(scalar(grep { $_ eq 'update transient' } fake_commands($fake)), 2, 'a transient error is retried once');
($out, $err) = session_query($session, insert_into('labels'));
is("$out$err", "1\n2\n3", 'labels that are not an array are ignored');
($out, $err) = session_query($session, "SET statement_timeout = '30s'; " . insert_into('contended'));
is("$out$err", "1\n2\n3", 'a retryable error is retried as often as necessary');
session_query($session, "SET statement_timeout = '1s'");

# A write of unknown outcome has the same transaction number when it is sent
# again.
my $mongos = fake_start("$directory/mongos", \@buckets, scripts => \%scripts, sessions => 1, mongos => 1);
create_server($node, 'mongos', fake_uri($mongos), "database 'fake'");
$node->safe_psql('postgres', "CREATE FOREIGN TABLE counted (ts timestamptz, v int OPTIONS (field 'v.{second}'))
	SERVER mongos OPTIONS (write_mode 'increment')");
check_fails(insert_into('counted') =~ s/RETURNING v/RETURNING 1/r, '08007', qr/DETAIL:  (\d+) \1 \1 \n/);
check_fails(insert_into('unsafe'), @{ $write_faults{concern} }[ 0, 2 ]);

# A majority acknowledges writes, unless the URI has another write concern.
my %concerns = (
	'' => 'j=1 w=majority',
	'journal=true' => 'j=1 w=majority',
	'journal=false' => 'j=0 w=majority',
	'wtimeoutMS=5000' => 'j=1 w=majority wtimeout=5000',
	'w=1' => 'w=1',
	'w=2&journal=true' => 'j=1 w=2',
	'w=0' => 'w=1');
my $concerned = 0;

foreach my $options (sort keys %concerns)
{
	my $name = 'concerned' . $concerned++;

	create_server($node, $name, fake_uri($fake, $options), "database 'fake'");
	$node->safe_psql('postgres', "CREATE FOREIGN TABLE $name (ts timestamptz, v int OPTIONS (field 'v.{second}'))
		SERVER $name OPTIONS (collection 'concerned')");
	check_fails(insert_into($name), 'HV000', qr/DETAIL:  $concerns{$options}\n/);
}

# Sessions with conflicts retry one after another.
my $queue = q{SELECT count(*) FILTER (WHERE granted) || ' ' || count(*) FILTER (WHERE NOT granted)
	FROM pg_locks WHERE locktype = 'advisory'};
my @contenders = map { session_start($node) } 1, 2;
session_send($contenders[0], insert_into('deadlock'));
ok($node->poll_query_until('postgres', $queue, '1 0'), 'a session retries after a deadlock');
session_send($contenders[1], insert_into('deadlock'));
ok($node->poll_query_until('postgres', $queue, '1 1'), '.. and another session waits for it');
is(scalar(grep { $_ eq 'update deadlock' } fake_commands($fake)), 3, '.. without sending anything');
$node->safe_psql('postgres', "SELECT pg_cancel_backend($contenders[0]{pid})");
($out, $err) = session_wait($contenders[0]);
like($err, qr/ERROR:  08007: .*unknown whether the last bulk write was executed/s, 'one session is canceled');
($out, $err) = session_wait($contenders[1]);
is("$out$err", "1\n2\n3", 'then the other session writes');
is($node->safe_psql('postgres', $queue), '0 0', 'no lock remains');
session_end($_) foreach @contenders;
check_fails("DELETE FROM write_$_ WHERE ts < '2020-01-01 01:00Z'", $write_faults{$_}[0])
  foreach sort qw(garbage refused_of_others refused_number concern shut_down);

# ---- Replies with random changes ------------------------------------------

my $too_few = '';
for (1 .. 40)
{
	($out, $err) = session_query($session, 'SELECT v FROM changed');
	$too_few .= "$out\n$err\n" unless split(/\n/, $out) == 80 || $err =~ /ERROR:  [0-9A-W]/;
	($out, $err) = session_query($session, insert_into('changed'));
	$too_few .= "$out\n$err\n" unless $out eq "1\n2\n3" || $err =~ /ERROR:  [0-9A-W]/;
}
is($too_few, '', 'replies with changed bytes: all rows or an error');
check_works('good', 'SELECT sum(v) FROM %s', 'the session works after changed replies');

# ---- Replies without a part -----------------------------------------------

my $hints = '';
for (1 .. 3 * @partial)
{
	($out, $err) = session_query($session, q(SELECT hint FROM mongo_ts_check('partial')));
	$hints .= "$out\n$err\n";
	($out, $err) = session_query($session, q(SELECT mongo_ts_suggest('named', 'partial')));
	$hints .= "$err\n" if $err =~ /connection|terminated/;
}
like($hints, qr/with _id \Q(none): option "count_field" says (none), the points say (none)\E/, 'absent values are printed');
like($hints, qr/says 1, the points say \(none\)/, '.. beside others');
unlike($hints, qr/terminated|lost/, 'the server lives after replies without a part');
check_works('good', 'SELECT sum(v) FROM %s', 'the session works after replies without a part');

# ---- A server that is silent at disconnect --------------------------------

session_query($session, 'RESET statement_timeout');
($out, $err, $seconds) = session_query($session, 'SELECT v FROM undying LIMIT 1');
is($out, '0', 'a cursor is closed before its end');
cmp_ok($seconds, '<', $soon, 'closing a cursor does not wait for the reply');

my $silent = fake_start("$directory/silent", \@buckets,
	scripts => { endSessions => sub { () } }, sessions => 1);
create_server($node, 'silent', fake_uri($silent), "database 'fake'");
$node->safe_psql('postgres', q{CREATE FOREIGN TABLE silent (ts timestamptz, v int OPTIONS (field 'v.{second}')) SERVER silent});
check_works('silent', 'SELECT sum(v) FROM %s', 'a server with sessions is read');
($out, $err, $seconds) = session_query($session, q{SELECT mongo_ts_disconnect('silent')});
is($out, 't', 'the connection is closed');
my $is_received;
for (1 .. 100)
{
	$is_received = grep { /^endSessions / } fake_commands($silent);
	last if $is_received;
	sleep(0.1);
}
ok($is_received, 'the server receives endSessions');
cmp_ok($seconds, '<', $soon, 'closing the connection does not wait for the reply');
session_query($session, q{ALTER SERVER silent OPTIONS (ADD keep_connections 'false')});
(undef, undef, $seconds) = session_query($session, 'SELECT sum(v) FROM silent');
cmp_ok($seconds, '<', $soon, "the end of a transaction does not wait for a reply");

# ---- Connecting -----------------------------------------------------------

# The fault lasts until the file exists.
my $repaired = "$directory/repaired";
foreach my $name (sort keys %hello_faults)
{
	my ($sqlstate, $script, $options) = @{ $hello_faults{$name} };
	my $faulty = sub {
		my ($request, $healthy) = @_;

		return -e $repaired ? fake_reply($request, $healthy->()) : $script->(@_);
	};
	my $server = fake_start("$directory/hello_$name", \@buckets,
		scripts => { map { $_ => $faulty } qw(hello isMaster ismaster) }, set => $options, everywhere => $options);

	unlink $repaired;
	create_server($node, "hello_$name", fake_uri($server, $options), "database 'fake'");
	$node->safe_psql('postgres', "CREATE FOREIGN TABLE hello_$name (ts timestamptz, v int OPTIONS (field 'v.{second}')) SERVER hello_$name");
	my $patience = $options ? 15 : 3;
	session_query($session, "SET statement_timeout = '${patience}s'");
	($out, $err, $seconds) = session_query($session, "SELECT v FROM hello_$name");
	like($err, qr/ERROR:  $sqlstate: /, "connecting: $name: $sqlstate");
	cmp_ok($seconds, '<', $patience + $soon, '.. soon');
	open(my $file, '>', $repaired) or die "$repaired: $!";
	close($file);
	check_works("hello_$name", 'SELECT v FROM %s', '.. and the session works when the server does');
}

($out) = session_query($session, 'SELECT pg_backend_pid()');
is($out, $backend, 'all statements ran in one session');

session_end($session);
$node->stop;

done_testing();
