# Implements MongoDB's wire protocol: BSON, messages, and a command on a
# connection of its own.  Tests and test/mongodb use it.

package MongoTS::Wire;

use strict;
use warnings;
no warnings 'portable';    # 64-bit numbers

use Exporter qw(import);
use IO::Socket::INET;

our @EXPORT = qw(bson_document bson_array bson_string bson_double bson_bool
  bson_date bson_int32 bson_int64 bson_null bson_read bson_find bson_fields bson_text
  wire_message wire_command);

use constant OP_MSG => 2013;

# ---- BSON: a value is [type, bytes] ---------------------------------------

sub bson_double { return [ 0x01, pack('d<', shift) ] }
sub bson_bool   { return [ 0x08, pack('C', shift ? 1 : 0) ] }
sub bson_date   { return [ 0x09, pack('q<', shift) ] }
sub bson_null   { return [ 0x0A, '' ] }
sub bson_int32  { return [ 0x10, pack('l<', shift) ] }
sub bson_int64  { return [ 0x12, pack('q<', shift) ] }

sub bson_string
{
	my ($text) = @_;

	return [ 0x02, pack('l<', 1 + length $text) . "$text\0" ];
}

# Make a document of names and values, in this order.
sub bson_document
{
	my @fields = @_;
	my $body = '';

	while (my ($name, $value) = splice(@fields, 0, 2))
	{
		$body .= pack('C', $value->[0]) . "$name\0" . $value->[1];
	}
	return [ 0x03, pack('l<', 5 + length $body) . "$body\0" ];
}

sub bson_array
{
	my @values = @_;
	my $n = 0;

	return [ 0x04, bson_document(map { $n++ => $_ } @values)->[1] ];
}

# The sizes of values by their type, and of those that begin with a length, the
# bytes that the length does not include
my %size = (0x01 => 8, 0x06 => 0, 0x07 => 12, 0x08 => 1, 0x09 => 8, 0x0A => 0,
	0x10 => 4, 0x11 => 8, 0x12 => 8, 0x13 => 16, 0x7F => 0, 0xFF => 0);
my %beside_length = (0x02 => 4, 0x03 => 0, 0x04 => 0, 0x05 => 5, 0x0C => 16,
	0x0D => 4, 0x0E => 4, 0x0F => 0);

# Return the size of a value of a type at the offset $_[1] of $_[0].
sub value_length
{
	my ($type) = $_[2];

	return $size{$type} if exists $size{$type};
	# two strings that end with a zero
	return index($_[0], "\0", index($_[0], "\0", $_[1]) + 1) + 1 - $_[1]
	  if $type == 0x0B;
	die "unexpected BSON type $type" unless exists $beside_length{$type};
	return $beside_length{$type} + unpack('l<', substr($_[0], $_[1], 4));
}

# Read the document at an offset.  Returns its names in order, and a hash of
# its values; all except numbers, strings and booleans stay bytes.
sub bson_read
{
	my ($bytes, $offset) = @_;
	my $end = $offset + unpack('l<', substr($bytes, $offset, 4)) - 1;
	my (@names, %values);

	$offset += 4;
	while ($offset < $end)
	{
		my ($type, $name) = unpack('C Z*', substr($bytes, $offset));

		$offset += 2 + length $name;
		my $length = value_length($bytes, $offset, $type);
		my $value = substr($bytes, $offset, $length);

		$value = unpack('d<', $value) if $type == 0x01;
		$value = unpack('x4 Z*', $value) if $type == 0x02;
		$value = unpack('C', $value) if $type == 0x08;
		$value = unpack('l<', $value) if $type == 0x10;
		$value = unpack('q<', $value) if $type == 0x12;
		push @names, $name;
		$values{$name} = $value;
		$offset += $length;
	}
	return (\@names, \%values, $end + 1);
}

# Return the offset of a field's value in the document at an offset, or nothing
# if it has no such field.  The bytes are given by reference.
sub bson_find
{
	my ($bytes, $offset, $field) = @_;
	my $end = $offset + unpack('l<', substr($$bytes, $offset, 4)) - 1;

	$offset += 4;
	while ($offset < $end)
	{
		my $at = 1 + index($$bytes, "\0", $offset + 1);

		return $at if substr($$bytes, $offset + 1, $at - $offset - 2) eq $field;
		$offset = $at + value_length($$bytes, $at, ord(substr($$bytes, $offset, 1)));
	}
	return;
}

# Read the document at an offset.  Returns its names and values, in order, as
# bson_document() takes them.
sub bson_fields
{
	my ($bytes, $offset) = (@_, 0);
	my $end = $offset + unpack('l<', substr($bytes, $offset, 4)) - 1;
	my @fields;

	$offset += 4;
	while ($offset < $end)
	{
		my $type = ord(substr($bytes, $offset, 1));
		my $at = 1 + index($bytes, "\0", $offset + 1);
		my $length = value_length($bytes, $at, $type);

		push @fields, substr($bytes, $offset + 1, $at - $offset - 2),
		  [ $type, substr($bytes, $at, $length) ];
		$offset = $at + $length;
	}
	return @fields;
}

# Return the text of a string's value.
sub bson_text { return substr($_[0][1], 4, -1) }

# ---- Messages -------------------------------------------------------------

# Make a message from a body.  Its header has the length and the id of the
# request that it answers.
sub wire_message
{
	my ($response_to, $opcode, $body) = @_;

	return pack('l<4', 16 + length $body, 1, $response_to, $opcode) . $body;
}

# Execute a command on a local port, in the database of its field $db or, without
# it, admin.  Returns the reply's values like bson_read(), or nothing after 30
# seconds.
sub wire_command
{
	my ($port, @fields) = @_;
	push @fields, '$db' => bson_string('admin')
	  unless grep { $_ eq '$db' } @fields;
	my $command = bson_document(@fields);
	my $socket = IO::Socket::INET->new("127.0.0.1:$port") or return;
	my $reply = '';

	local $SIG{ALRM} = sub { };
	local $SIG{PIPE} = 'IGNORE';
	alarm 30;
	print $socket wire_message(0, OP_MSG, pack('L< C', 0, 0) . $command->[1]);
	$socket->flush;
	while (length $reply < 16 || length $reply < unpack('l<', $reply))
	{
		last unless sysread($socket, $reply, 65536, length $reply);
	}
	alarm 0;
	return if length $reply < 26;
	my (undef, $values) = bson_read($reply, 21);
	return $values;
}

1;
