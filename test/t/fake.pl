# What becomes of reads and writes when MongoDB answers with errors, lies,
# rubbish or not at all: always an error with its SQLSTATE or the whole result,
# never fewer rows, and then the same session works again.
#
# SEED repeats a run of the replies that are changed at random.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use FakeMongo;
use MongoTS;
use Test::More;

# How long an answer may take, in seconds, beyond the statement's timeout
my $soon = 2.5;

# 40 buckets of two points, in batches of 10
my @buckets = map {
	bson_document(
		_id => bson_int32($_),
		ts => bson_date(1_577_836_800_000 + $_ * 60_000),
		v => bson_document(
			0 => bson_int32(2 * $_),
			1 => bson_int32(2 * $_ + 1)))
} 0 .. 39;
my %reads = (
	'SELECT v FROM %s' => join("\n", 0 .. 79),
	'SELECT sum(v) FROM %s' => 3160,
	'SELECT v FROM %s ORDER BY ts' => join("\n", 0 .. 79));

# ---- What is wrong with a reply -------------------------------------------

my $garbage = "HTTP/1.1 400 Bad Request\r\n\r\nThis is no MongoDB.\r\n";

# Change the healthy reply: a function of its bytes gives what is sent.
sub changed
{
	my ($change) = @_;

	return sub {
		my ($request, $healthy) = @_;

		return $change->(fake_reply($request, $healthy->()));
	};
}

# Overwrite bytes of the healthy reply.
sub overwritten
{
	my ($at, $bytes) = @_;

	return changed(sub { substr($_[0], $at, length $bytes, $bytes); $_[0] });
}

# Reply by a document.
sub document
{
	my @fields = @_;

	return sub { fake_reply($_[0], bson_document(@fields)) };
}

# Reply by a batch of these documents.
sub batch
{
	my ($id, @documents) = @_;

	return sub { fake_reply($_[0], fake_find($_[0], $id, @documents)) };
}

# Reply by a cursor's fields.
sub cursor
{
	return document(cursor => bson_document(@_), ok => bson_double(1));
}

# Reply by a batch that has a document in it whose length is wrong by so much.
sub lying
{
	my ($by) = @_;
	my $bytes = $buckets[3][1];

	substr($bytes, 0, 4, pack('l<', $by + length $bytes));
	return batch(0, @buckets[ 0 .. 2 ], [ 0x03, $bytes ], $buckets[4]);
}

my $id = [ id => bson_int64(0) ];
my $ns = [ ns => bson_string('fake.x') ];
my $both = [
	firstBatch => bson_array(@buckets[ 0 .. 9 ]),
	nextBatch => bson_array(@buckets[ 0 .. 9 ]) ];

# Each is tried in the first batch and in a later one.
my %faults = (
	error => [ 'HV000', sub { fake_reply($_[0], fake_error(8000, 'out of order')) } ],
	no_right => [ '42501', sub { fake_reply($_[0], fake_error(13, 'not authorized')) } ],
	cursor_gone => [ 'HV00L', sub { fake_reply($_[0], fake_error(43, 'cursor not found')) } ],
	wrong_id => [
		'HV00L',
		sub {
			my ($request, $healthy) = @_;

			return fake_reply($request,
				($request->{fields}{getMore} // 0) == 4711
				? $healthy->()
				: fake_find($request, 4711, @buckets[ 0 .. 9 ]));
		} ],

	# the connection
	closed => [ '08006', sub { undef } ],
	truncated => [ '08006', changed(sub { (substr($_[0], 0, -20), undef) }) ],
	truncated_length => [ '08006', changed(sub { (substr($_[0], 0, 3), undef) }) ],
	truncated_header => [ '08006', changed(sub { (substr($_[0], 0, 7), undef) }) ],
	hangs => [ '57014', sub { () } ],
	hangs_within => [ '57014', changed(sub { substr($_[0], 0, -20) }) ],

	# the message
	garbage => [ '08P01', sub { $garbage } ],
	zeros => [ '08P01', sub { "\0" x 64 } ],
	negative_length => [ '08P01', overwritten(0, pack('l<', -1)) ],
	short_length => [ '08P01', changed(sub { pack('l<', length($_[0]) - 30) . substr($_[0], 4) }) ],
	long_length => [ '08006', changed(sub { (pack('l<', length($_[0]) + 30) . substr($_[0], 4), undef) }) ],
	wrong_response => [ '08P01', overwritten(8, pack('l<', 123456)) ],
	unknown_opcode => [ '08P01', overwritten(12, pack('l<', 4711)) ],
	more_to_come => [ '08P01', overwritten(16, pack('l<', 2)) ],
	unknown_section => [ '08P01', overwritten(20, "\7") ],
	with_checksum => [
		'08P01',
		changed(sub { pack('l<', 4 + length $_[0]) . substr($_[0], 4, 12) . pack('l<', 1) . substr($_[0], 20) . 'abcd' }) ],

	# the document
	document_too_long => [ '08P01', overwritten(21, pack('l<', 100_000)) ],
	document_too_short => [ '08P01', overwritten(21, pack('l<', 40)) ],
	document_without_end => [ '08P01', changed(sub { substr($_[0], 0, -1) . 'x' }) ],
	document_empty => [ '08P01', document() ],
	not_ok => [ '08P01', document(ok => bson_double(0)) ],
	cursor_none => [ '08P01', document(ok => bson_double(1)) ],
	cursor_number => [ '08P01', document(cursor => bson_int32(1), ok => bson_double(1)) ],
	cursor_without_id => [ '08P01', cursor(@$ns, @$both) ],
	cursor_without_batch => [ '08P01', cursor(@$id, @$ns) ],
	cursor_with_no_collection => [ '08P01', cursor(@$id, ns => bson_string('fake'), @$both) ],
	batch_number => [ '08P01', cursor(@$id, @$ns, firstBatch => bson_int32(1), nextBatch => bson_int32(1)) ],
	batch_of_numbers => [ '08P01', batch(0, $buckets[0], bson_int32(7), $buckets[1]) ],
	batch_of_nulls => [ '08P01', batch(0, $buckets[0], bson_null(), $buckets[1]) ],
	batch_of_unknown => [ '08P01', batch(0, $buckets[0], [ 0x77, "\0\0\0\0" ], $buckets[1]) ],
	lies_by_one => [ '08P01', lying(1) ],
	lies_by_many => [ '08P01', lying(4000) ],
	lies_by_all => [ '08P01', lying(0x7FFF_FF00) ],
	lies_short => [ '08P01', lying(-7) ],
	lies_negative => [ '08P01', lying(-4000) ],
	values_lie => [
		'HV00[0-9A-Z]',
		batch(0, @buckets[ 0 .. 2 ],
			bson_document(
				_id => bson_int32(3),
				ts => bson_date(1_577_836_980_000),
				v => [ 0x03, pack('l<', 12) . "\x10" . "0\0" . "\1\0\0\0" . "x" ])) ],
);

# ---- What is wrong with the reply to a write -------------------------------

sub refused
{
	my ($index, $code) = @_;

	return bson_array(
		bson_document(
			defined $index ? (index => bson_int32($index)) : (),
			code => bson_int32($code),
			errmsg => bson_string('refused')));
}

# Of three writes
my @three = (n => bson_int32(3), nModified => bson_int32(3), ok => bson_double(1));
my @two = (n => bson_int32(2), nModified => bson_int32(2), ok => bson_double(1));
my @concern = (writeConcernError => bson_document(
		code => bson_int32(64),
		errmsg => bson_string('waiting for replication timed out')));

# What an error must say besides
my $lost = qr/refused\nNot stored: 1 of 3 points of a bulk write, those of .*:0[123]:00Z.*\nStored by this statement: 2 points/;

my %write_faults = (
	refused => [ '23514', document(@two, writeErrors => refused(1, 121)), $lost ],
	refused_ok => [ '23514', document(@three, writeErrors => refused(1, 121)), $lost ],
	refused_and_concern => [ '23514', document(@two, writeErrors => refused(1, 121), @concern), $lost ],
	concern => [ 'HV000', document(@three, @concern), qr/replication timed out\nHINT:  The writes are stored/ ],
	refused_of_others => [ '23514', document(@two, writeErrors => refused(99, 121)) ],
	refused_of_none => [ '23514', document(@two, writeErrors => refused(undef, 121)) ],
	refused_before_all => [ '23505', document(@two, writeErrors => refused(-1, 11000)) ],
	refused_number => [ '08P01', document(@two, writeErrors => bson_int32(1)) ],
	refused_numbers => [ '08P01', document(@two, writeErrors => bson_array(bson_int32(1))) ],
	concern_number => [ '08P01', document(@three, writeConcernError => bson_int32(1)) ],
	labels_number => [ '08P01', document(@three, errorLabels => bson_int32(1)) ],
	too_few => [ '40001', document(@two) ],
	no_number => [ '40001', document(ok => bson_double(1)) ],
	text_number => [ '40001', document(n => bson_string('3'), ok => bson_double(1)) ],
	no_document => [ '08P01', document() ],
	shut_down => [ 'HV000', sub { fake_reply($_[0], fake_error(11600, 'interrupted at shutdown')) } ],
	closed => [ '08006', sub { undef } ],
	truncated => [ '08006', changed(sub { (substr($_[0], 0, -9), undef) }) ],
	garbage => [ '08P01', sub { $garbage } ],
	wrong_response => [ '08P01', overwritten(8, pack('l<', 123456)) ],
	hangs => [ '57014', sub { () } ],
);

# ---- The server and its tables ---------------------------------------------

# Change a byte of some replies, but not of the documents in a batch, whose
# points may be others then.
sub at_random
{
	my ($request, $healthy) = @_;
	my $reply = fake_reply($request, $healthy->());
	my $end = index($reply, 'Batch') + 10;
	my $at = 16 + int rand(($end > 16 ? $end : length $reply) - 16);

	substr($reply, $at, 1, chr int rand 256) if rand() < 0.5;
	return $reply;
}

my %scripts = (
	'find once' => sub {
		my ($request, $healthy, $before) = @_;

		return $before ? fake_reply($request, $healthy->()) : undef;
	},
	# an empty batch before each one
	'find patient' => sub { fake_reply($_[0], fake_find($_[0], 1)) },
	'getMore patient' => sub {
		my ($request, undef, $before) = @_;

		return fake_reply($request, fake_find($request, 1)) if $before % 2 == 0;
		my $from = 10 * ($before % 8 - 1) / 2;
		return fake_reply($request,
			fake_find($request, $from == 30 ? 0 : 1, @buckets[ $from .. $from + 9 ]));
	},
	# the reply to a request comes when that has been given up
	'find late' => changed(sub { ($_[0], $_[0]) }),
	'update transient' => sub {
		my ($request, $healthy, $before) = @_;

		return fake_reply($request, $before ? $healthy->()
			: bson_document(@two, writeErrors => refused(1, 112)));
	},
	'killCursors undying' => sub { () },
	'endSessions 1' => sub { () },
	map { ("$_ changed" => \&at_random) } qw(find getMore update count));

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
$node->safe_psql('postgres', join('',
		(map { "CREATE FOREIGN TABLE $_ (ts timestamptz, v int OPTIONS (field 'v.{second}')) SERVER fake;\n" }
			qw(good once patient late transient undying changed),
			map({ ("first_$_", "later_$_") } keys %faults),
			map({ "write_$_" } keys %write_faults)),
		map { "CREATE FOREIGN TABLE flat_$_ (ts timestamptz, v int) SERVER fake;\n" }
			keys %write_faults));

my $session = session_start($node);
my ($backend) = session_query($session, 'SELECT pg_backend_pid()');
my ($out, $err, $seconds);

# Check that a table gives all that it should, in this very session.
sub works
{
	my ($table, $query, $name) = @_;

	($out, $err) = session_query($session, sprintf($query, $table));
	is("$out$err", $reads{$query}, $name);
	return;
}

# Check that a statement ends in an error, and that the session works then.
sub fails
{
	my ($statement, $sqlstate, $says) = @_;

	($out, $err, $seconds) = session_query($session, $statement);
	like($err, qr/ERROR:  $sqlstate: /, "$statement: $sqlstate");
	like($err, $says, 'it says what is lost') if $says;
	# rows may come before the error, but psql holds them back
	is($out, '', '.. and no rows');
	cmp_ok($seconds, '<', 1 + $soon, '.. soon');
	works('good', 'SELECT sum(v) FROM %s', '.. and the session works');
	return;
}

sub insert_into
{
	my ($table) = @_;

	return "INSERT INTO $table SELECT timestamptz '2020-01-01Z' + i * interval '1 min', i FROM generate_series(1, 3) i RETURNING v";
}

session_query($session, "SET statement_timeout = '1s'");

# ---- Reads -------------------------------------------------------------------

works('good', $_, "healthy: $_") foreach sort keys %reads;
works('patient', $_, "empty batches: $_") foreach sort keys %reads;
works('once', 'SELECT v FROM %s', 'a connection that is lost once');
foreach my $name (sort keys %faults)
{
	fails("SELECT v FROM first_$name", $faults{$name}[0]);
	fails("SELECT v FROM later_$name", $faults{$name}[0]);
	fails("SELECT sum(v) FROM later_$name", $faults{$name}[0]);
}
foreach my $name (qw(error closed lies_by_one batch_of_nulls hangs))
{
	fails("SELECT v FROM later_$name ORDER BY ts", $faults{$name}[0]);
}

# A reply that comes a second time must not be taken for the next one's.
session_query($session, 'SELECT v FROM late');
($out, $err) = session_query($session, 'SELECT sum(v) FROM good');
ok($out eq '3160' || $err =~ /ERROR:  08P01: /, 'no reply is taken for another one')
  or diag "$out$err";
works('good', 'SELECT sum(v) FROM %s', 'then the session works');

# One cursor fails while another one is open.
session_query($session, 'BEGIN; DECLARE c CURSOR FOR SELECT v FROM good; FETCH 1 FROM c; SAVEPOINT s');
($out, $err) = session_query($session, 'SELECT v FROM later_garbage');
like($err, qr/ERROR:  08P01: /, 'a scan beside an open cursor fails');
session_query($session, 'ROLLBACK TO s');
works('good', 'SELECT sum(v) FROM %s', 'another one works');
($out, $err) = session_query($session, 'FETCH ALL FROM c');
ok($out eq join("\n", 1 .. 79) || ($out eq '' && $err =~ /ERROR:  08/),
	'the cursor gives all rows or an error') or diag "$out$err";
session_query($session, 'ROLLBACK');

# ---- Writes ------------------------------------------------------------------

foreach my $name (sort keys %write_faults)
{
	fails(insert_into("${_}_$name"), @{ $write_faults{$name} }[ 0, 2 ])
	  foreach qw(write flat);
}
fake_commands($fake);
($out, $err) = session_query($session, insert_into('transient'));
is("$out$err", "1\n2\n3", 'what can be tried again is tried again');
is(scalar(grep { $_ eq 'update transient' } fake_commands($fake)), 2, 'once');
fails("DELETE FROM write_$_ WHERE ts < '2020-01-01 01:00Z'", $write_faults{$_}[0])
  foreach sort qw(garbage refused_of_others refused_number concern shut_down);

# ---- Replies that are changed at random ----------------------------------------

my $too_few = '';
for (1 .. 40)
{
	($out, $err) = session_query($session, 'SELECT v FROM changed');
	$too_few .= "$out\n$err\n" unless split(/\n/, $out) == 80 || $err =~ /ERROR:  [0-9A-W]/;
	($out, $err) = session_query($session, insert_into('changed'));
	$too_few .= "$out\n$err\n" unless $out eq "1\n2\n3" || $err =~ /ERROR:  [0-9A-W]/;
}
is($too_few, '', 'replies with changed bytes: all rows or an error');
works('good', 'SELECT sum(v) FROM %s', 'the session works after that');

# ---- A server that is silent when it is left ------------------------------------

session_query($session, 'RESET statement_timeout');
($out, $err, $seconds) = session_query($session, 'SELECT v FROM undying LIMIT 1');
is($out, '0', 'a cursor that is closed before its end');
cmp_ok($seconds, '<', $soon, 'it need not answer');

my $silent = fake_start("$directory/silent", \@buckets,
	scripts => { endSessions => sub { () } }, sessions => 1);
create_server($node, 'silent', fake_uri($silent), "database 'fake'");
$node->safe_psql('postgres', q{CREATE FOREIGN TABLE silent (ts timestamptz, v int OPTIONS (field 'v.{second}')) SERVER silent});
works('silent', 'SELECT sum(v) FROM %s', 'a server with sessions');
($out, $err, $seconds) = session_query($session, q{SELECT mongo_ts_disconnect('silent')});
is($out, 't', 'it is left');
ok((grep { /^endSessions / } fake_commands($silent)), 'which it is told');
cmp_ok($seconds, '<', $soon, 'and need not answer');
session_query($session, q{ALTER SERVER silent OPTIONS (ADD keep_connections 'false')});
(undef, undef, $seconds) = session_query($session, 'SELECT sum(v) FROM silent');
cmp_ok($seconds, '<', $soon, "nor at a transaction's end");

# ---- Connecting ---------------------------------------------------------------

# What is wrong is wrong until the file is there.
my $healed = "$directory/healed";
my %hello_faults = (
	closed => [ 'HV00N', sub { undef } ],
	garbage => [ '08P01', sub { $garbage } ],
	truncated => [ 'HV00N', changed(sub { (substr($_[0], 0, -9), undef) }) ],
	wrong_response => [ '08P01', overwritten(8, pack('l<', 123456)) ],
	too_old => [ 'HV00N', document(ismaster => bson_bool(1), maxWireVersion => bson_int32(2), ok => bson_double(1)) ],
	too_new => [
		'HV00N',
		document(
			ismaster => bson_bool(1),
			minWireVersion => bson_int32(900),
			maxWireVersion => bson_int32(999),
			ok => bson_double(1)) ],
	hangs => [ '57014', sub { () } ],
);
foreach my $name (sort keys %hello_faults)
{
	my ($sqlstate, $script) = @{ $hello_faults{$name} };
	my $faulty = sub {
		my ($request, $healthy) = @_;

		return -e $healed ? fake_reply($request, $healthy->()) : $script->(@_);
	};
	my $server = fake_start("$directory/hello_$name", \@buckets,
		scripts => { map { $_ => $faulty } qw(hello isMaster ismaster) });

	unlink $healed;
	create_server($node, "hello_$name", fake_uri($server), "database 'fake'");
	$node->safe_psql('postgres', "CREATE FOREIGN TABLE hello_$name (ts timestamptz, v int OPTIONS (field 'v.{second}')) SERVER hello_$name");
	session_query($session, "SET statement_timeout = '3s'");
	($out, $err, $seconds) = session_query($session, "SELECT v FROM hello_$name");
	like($err, qr/ERROR:  $sqlstate: /, "connecting: $name: $sqlstate");
	cmp_ok($seconds, '<', 3 + $soon, '.. soon');
	open(my $file, '>', $healed) or die "$healed: $!";
	close($file);
	works("hello_$name", 'SELECT v FROM %s', '.. and it works when the server does');
}

($out) = session_query($session, 'SELECT pg_backend_pid()');
is($out, $backend, 'all of this happened to one session');

session_end($session);
$node->stop;

done_testing();
