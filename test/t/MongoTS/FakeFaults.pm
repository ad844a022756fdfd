# Lists faults in the replies of the scripted server.  Each has the SQLSTATE of
# the resulting error, and a script; see MongoTS/FakeServer.pm.

package MongoTS::FakeFaults;

use strict;
use warnings;

use Exporter qw(import);

use MongoTS::FakeServer;

our @EXPORT = qw(@buckets @two @three @concern %faults %write_faults %hello_faults changed
  refused);
our @EXPORT_OK = qw(bson_deep);

# 40 buckets of two points, in batches of 10
our @buckets = map {
	bson_document(
		_id => bson_int32($_),
		ts => bson_date(1_577_836_800_000 + $_ * 60_000),
		v => bson_document(
			0 => bson_int32(2 * $_),
			1 => bson_int32(2 * $_ + 1)))
} 0 .. 39;

# ---- Faults in a reply ----------------------------------------------------

my $garbage = "HTTP/1.1 400 Bad Request\r\n\r\nThis is no MongoDB.\r\n";

# A document with a number of levels, each of eight bytes around the next one
sub bson_deep
{
	my ($levels) = @_;
	my $bytes = join('', map { pack('l<', 5 + 8 * $_) . "\x03a\0" } reverse 1 .. $levels);

	return [ 0x03, $bytes . pack('l<', 5) . "\0" x ($levels + 1) ];
}

# Change the healthy reply by a function of its bytes.
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

# Reply with a document.
sub document
{
	my @fields = @_;

	return sub { fake_reply($_[0], bson_document(@fields)) };
}

# Reply with a batch of these documents.
sub batch
{
	my ($id, @documents) = @_;

	return sub { fake_reply($_[0], fake_find($_[0], $id, @documents)) };
}

# Reply with a cursor's fields; "batch" is renamed to the name that the request
# expects.
sub cursor
{
	my @fields = @_;

	return sub {
		my ($request) = @_;
		my $name = $request->{name} eq 'getMore' ? 'nextBatch' : 'firstBatch';

		return fake_reply($request, bson_document(
			cursor => bson_document(map { ref || $_ ne 'batch' ? $_ : $name } @fields),
			ok => bson_double(1)));
	};
}

# Reply with a batch that contains a document whose length is wrong by this
# number.
sub lying
{
	my ($by) = @_;
	my $bytes = $buckets[3][1];

	substr($bytes, 0, 4, pack('l<', $by + length $bytes));
	return batch(0, @buckets[ 0 .. 2 ], [ 0x03, $bytes ], $buckets[4]);
}

my $id = [ id => bson_int64(0) ];
my $ns = [ ns => bson_string('fake.x') ];
my $batch = [ batch => bson_array(@buckets[ 0 .. 9 ]) ];

# An array of ten buckets, changed after the first five
sub broken_array
{
	my ($change) = @_;
	my $bytes = bson_array(@buckets[ 0 .. 9 ])->[1];

	$change->($bytes, length bson_array(@buckets[ 0 .. 4 ])->[1]);
	return [ 0x04, $bytes ];
}

# Each fault is tried in the first batch and in a later one.
our %faults = (
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

	# faults of the connection
	closed => [ '08006', sub { undef } ],
	truncated => [ '08006', changed(sub { (substr($_[0], 0, -20), undef) }) ],
	truncated_length => [ '08006', changed(sub { (substr($_[0], 0, 3), undef) }) ],
	truncated_header => [ '08006', changed(sub { (substr($_[0], 0, 7), undef) }) ],
	hangs => [ '57014', sub { () } ],
	hangs_within => [ '57014', changed(sub { substr($_[0], 0, -20) }) ],

	# faults of the message
	garbage => [ '08P01', sub { $garbage } ],
	zeros => [ '08P01', sub { "\0" x 64 } ],
	negative_length => [ '08P01', overwritten(0, pack('l<', -1)) ],
	short_length => [ '08P01', changed(sub { pack('l<', length($_[0]) - 30) . substr($_[0], 4) }) ],
	long_length => [ '08006', changed(sub { (pack('l<', length($_[0]) + 30) . substr($_[0], 4), undef) }) ],
	far_too_long => [ '08P01', overwritten(0, pack('l<', 100_000_000)) ],
	error_without_code => [ '08P01', sub { fake_reply($_[0], fake_error(0, 'nothing')) } ],
	wrong_response => [ '08P01', overwritten(8, pack('l<', 123456)) ],
	unknown_opcode => [ '08P01', overwritten(12, pack('l<', 4711)) ],
	old_opcode => [
		'08P01',
		sub {
			my ($request, $healthy) = @_;

			return fake_reply({ %$request, opcode => 2004 }, $healthy->());
		} ],
	more_to_come => [ '08P01', overwritten(16, pack('l<', 2)) ],
	unknown_section => [ '08P01', overwritten(20, "\7") ],
	with_checksum => [
		'08P01',
		changed(sub { pack('l<', 4 + length $_[0]) . substr($_[0], 4, 12) . pack('l<', 1) . substr($_[0], 20) . 'abcd' }) ],

	compressed => [
		'08P01',
		changed(sub {
			my $body = pack('l<l<C', 2013, length($_[0]) - 16, 0) . substr($_[0], 16);
			return pack('l<', 16 + length $body) . substr($_[0], 4, 8) . pack('l<', 2012) . $body;
		}) ],

	# faults of the document
	document_too_long => [ '08P01', overwritten(21, pack('l<', 100_000)) ],
	document_too_short => [ '08P01', overwritten(21, pack('l<', 40)) ],
	document_without_end => [ '08P01', changed(sub { substr($_[0], 0, -1) . 'x' }) ],
	document_empty => [ '08P01', document() ],
	document_deep => [ '08P01', document(more => bson_deep(200_000), ok => bson_double(1)) ],
	not_ok => [ '08P01', document(ok => bson_double(0)) ],
	cursor_none => [ '08P01', document(ok => bson_double(1)) ],
	cursor_number => [ '08P01', document(cursor => bson_int32(1), ok => bson_double(1)) ],
	cursor_without_id => [ '08P01', cursor(@$ns, @$batch) ],
	cursor_with_two_ids => [ '08P01', cursor(id => bson_int64(7), @$id, @$ns, @$batch) ],
	cursor_with_text_id => [ '08P01', cursor(id => bson_string('7'), @$ns, @$batch) ],
	cursor_without_batch => [ '08P01', cursor(@$id, @$ns) ],
	cursor_with_two_batches => [ '08P01', cursor(@$id, @$ns, @$batch, batch => bson_array()) ],
	cursor_with_no_collection => [ '08P01', cursor(id => bson_int64(7), ns => bson_string('fake'), @$batch) ],
	cursor_with_empty_collection => [ '08P01', cursor(id => bson_int64(7), ns => bson_string('fake.'), @$batch) ],
	cursor_without_name => [ '08P01', cursor(id => bson_int64(7), @$batch) ],
	cursor_with_no_name => [ '08P01', cursor(@$id, ns => bson_int32(1), @$batch) ],
	cursor_ends_early => [ '08P01', cursor(@$id, @$ns, x => [ 0x02, pack('l<', 1000) . "x\0" ], @$batch) ],
	batch_number => [ '08P01', cursor(@$id, @$ns, batch => bson_int32(1)) ],
	batch_document => [ '08P01', cursor(@$id, @$ns, batch => bson_document(a => bson_int32(1))) ],
	batch_too_short => [ '08P01', cursor(@$id, @$ns, batch => broken_array(sub { substr($_[0], 0, 4, pack('l<', $_[1])) })) ],
	batch_ends_early => [ '08P01', cursor(@$id, @$ns, batch => broken_array(sub { substr($_[0], $_[1] - 1, 1, "\0") })) ],
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

# ---- Faults in the reply to a write ---------------------------------------

sub refused
{
	my ($index, $code) = @_;

	return bson_array(
		bson_document(
			defined $index ? (index => bson_int32($index)) : (),
			code => bson_int32($code),
			errmsg => bson_string('refused')));
}

# A reply to three writes
our @three = (n => bson_int32(3), nModified => bson_int32(3), ok => bson_double(1));
our @two = (n => bson_int32(2), nModified => bson_int32(2), ok => bson_double(1));
our @concern = (writeConcernError => bson_document(
		code => bson_int32(64),
		errmsg => bson_string('waiting for replication timed out')));

# Text that the error must contain
my $lost = qr/refused\n1 of 3 points of a bulk write were not stored: those of .*:0[123]:00Z/;

my $unknown = qr/unknown whether the last bulk write was executed/;

my $malformed = qr/reply is malformed: .*\n.*$unknown/;

our %write_faults = (
	refused => [ '23514', document(@two, writeErrors => refused(1, 121)), $lost ],
	refused_ok => [ '23514', document(@three, writeErrors => refused(1, 121)), $lost ],
	refused_and_concern => [ '23514', document(@two, writeErrors => refused(1, 121), @concern), $lost ],
	concern => [ 'HV000', document(@three, @concern), qr/replication timed out\nHINT:  The writes are stored/ ],
	refused_of_others => [ '23514', document(@two, writeErrors => refused(99, 121)) ],
	refused_of_none => [ '23514', document(@two, writeErrors => refused(undef, 121)) ],
	refused_before_all => [ '23505', document(@two, writeErrors => refused(-1, 11000)) ],
	refused_number => [ '08007', document(@two, writeErrors => bson_int32(1)), $malformed ],
	refused_numbers => [ '08007', document(@two, writeErrors => bson_array(bson_int32(1))), $malformed ],
	concern_number => [ '08007', document(@three, writeConcernError => bson_int32(1)), $malformed ],
	too_few => [ '40001', document(@two) ],
	no_number => [ '40001', document(ok => bson_double(1)) ],
	text_number => [ '40001', document(n => bson_string('3'), ok => bson_double(1)) ],
	no_document => [ '08007', document(), $unknown ],
	not_ok => [ '08007', document(n => bson_int32(3), ok => bson_double(0)), $unknown ],
	interrupted => [ '08007', sub { fake_reply($_[0], fake_error(11601, 'operation was interrupted')) }, $unknown ],
	shut_down => [ '08007', sub { fake_reply($_[0], fake_error(11600, 'interrupted at shutdown')) } ],
	closed => [ '08007', sub { undef }, $unknown ],
	truncated => [ '08007', changed(sub { (substr($_[0], 0, -9), undef) }), $unknown ],
	garbage => [ '08007', sub { $garbage }, $malformed ],
	wrong_response => [ '08007', overwritten(8, pack('l<', 123456)), $malformed ],
	hangs => [ '08007', sub { () }, qr/The wait for the server's answer was interrupted\.\n.*$unknown/ ],
);

# ---- Faults in the reply to a hello ---------------------------------------


# Reply with a login that has begun with the hello.
sub login
{
	my ($payload) = @_;

	return document(
		ismaster => bson_bool(1),
		maxWireVersion => bson_int32(21),
		speculativeAuthenticate => bson_document(
			conversationId => bson_int32(1),
			payload => [ 0x05, pack('l<C', length $payload, 0) . $payload ]),
		ok => bson_double(1));
}

# Reply as a secondary that names these members; PORT is that of the server.
sub member
{
	my @hosts = @_;

	return sub {
		my ($request, undef, undef, $fake) = @_;

		return fake_reply($request, bson_document(
			secondary => bson_bool(1),
			setName => bson_string('fake'),
			hosts => bson_array(map { bson_string(s/PORT/$fake->{port}/r) } @hosts),
			maxWireVersion => bson_int32(21),
			ok => bson_double(1)));
	};
}

our %hello_faults = (
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
	# hashing a password so often takes an hour
	iterations => [ '08P01', login('r=x,s=QSXCR+Q6sek8bf92,i=2147483647') ],
	# libmongoc copies what it knows of all members for each of them
	many_members => [ '08P01', member(map { "127.1.0.$_:1" } 1 .. 60) ],
	# each member names two others
	chain => [ '08P01', sub { member(map { join('.', 127, map { 1 + int rand 250 } 1 .. 3) . ':PORT' } 1 .. 2)->(@_) }, 'replicaSet=fake' ],
);

1;
