# Makes times, values and documents for the differential test.
#
# A time is an integer, in microseconds since 1970 in UTC.  A document consists
# of hashes, arrays and leaves; a leaf is a string of extended JSON.  All
# random numbers come from Perl's generator, which the test seeds.

package Differential::Data;

use strict;
use warnings;

use Exporter qw(import);
use feature qw(state);
use List::Util qw(shuffle uniqnum);
use MIME::Base64 qw(encode_base64);
use POSIX qw(floor mktime strftime tzset);

our @EXPORT = qw(SECOND MINUTE HOUR DAY in_zone local_midnight local_fields
  months starts chance pick between some_slots put encode iso json_text
  json_number json_date json_uuid sql_text sql_number sql_timestamptz
  sql_timestamp sql_date reading with_number types uuid_texts oid_texts);

use constant SECOND => 1_000_000;
use constant MINUTE => 60_000_000;
use constant HOUR => 3_600_000_000;
use constant DAY => 86_400_000_000;

# The data lie around these seconds: the epoch, a leap day before it, ordinary
# times, a leap day, the end of a month, and the end of 32-bit seconds.  In the
# last ones New York and, at midnight, Newfoundland set their clocks back.
my @anchors = (
	0, -58_017_600, 1_381_446_419, 1_456_703_970, 1_383_263_999,
	2_147_483_647, 1_356_998_400, 1_383_458_400, 1_194_143_460);

# ---- Chance ---------------------------------------------------------------

sub chance { return rand() < $_[0] }

sub pick { return $_[ int(rand(@_)) ] }

# An integer from the first to the last, both included
sub between { return $_[0] + int(rand($_[1] - $_[0] + 1)) }

# About n of the slots 0 .. count - 1, unsorted, often with both ends
sub some_slots
{
	my ($count, $n) = @_;
	my @slots = map { between(0, $count - 1) } 1 .. $n;

	push @slots, 0 if chance(0.6);
	push @slots, $count - 1 if chance(0.6);
	return shuffle(uniqnum(@slots));
}

# ---- Times ----------------------------------------------------------------

# The starts of buckets of a span around the anchors, without some of them
sub starts
{
	my ($span, $reach) = @_;
	my @starts;

	foreach my $anchor (map { $_ * SECOND } @anchors)
	{
		my $start = $anchor - $anchor % $span;
		push @starts, map { $start + $_ * $span } -$reach .. $reach;
	}
	return grep { chance(0.8) } uniqnum(@starts);
}

# Run code with the C library's local time in a zone.
sub in_zone
{
	my ($zone, $code) = @_;
	local $ENV{TZ} = $zone;

	tzset();
	my @result = $code->();
	delete $ENV{TZ};
	tzset();
	return @result;
}

# The instant at which a local day begins; days count beyond a month's end.
sub local_midnight
{
	my ($year, $month, $day) = @_;

	return mktime(0, 0, 0, $day, $month - 1, $year - 1900, 0, 0, -1) * SECOND;
}

# Fields of an instant, such as year and month, by a pattern of strftime
sub local_fields
{
	my ($t, $pattern) = @_;
	return strftime($pattern, localtime(floor($t / SECOND)));
}

# [year, month] of the months around the anchors, in UTC
sub months
{
	my %months = map {
		my @fields = gmtime($_);
		("$fields[5],$fields[4]" => [ $fields[5] + 1900, $fields[4] + 1 ])
	} @anchors;

	return map { $months{$_} } sort keys %months;
}

# A time in UTC as text for PostgreSQL and for MongoDB
sub iso
{
	my ($t) = @_;
	my $fraction = $t % SECOND;
	my $text =
	  strftime('%Y-%m-%d %H:%M:%S', gmtime(($t - $fraction) / SECOND));

	return $fraction ? sprintf('%s.%06d', $text, $fraction) : $text;
}

sub sql_timestamptz { return "timestamptz '" . iso($_[0]) . "+00'" }

sub sql_timestamp { return "timestamp '" . iso($_[0]) . q(') }

sub sql_date { return q(date ') . substr(iso($_[0]), 0, 10) . q(') }

# ---- Values ---------------------------------------------------------------

sub sql_text
{
	my ($text) = @_;
	return 'NULL' unless defined $text;
	$text =~ s/'/''/g;
	return "'$text'";
}

sub sql_number { return defined $_[0] ? "$_[0]" : 'NULL' }

sub json_text
{
	my ($text) = @_;
	return 'null' unless defined $text;
	$text =~ s/(["\\])/\\$1/g;
	return "\"$text\"";
}

# A number as any BSON type that holds it
sub json_number
{
	my ($n) = @_;
	my @forms;

	return 'null' unless defined $n;
	push @forms, map { "{\"\$number$_\": \"$n\"}" } 'Double', 'Decimal';
	push @forms, "$n", "{\"\$numberLong\": \"$n\"}"
	  if $n == int($n) && abs($n) < 2_000_000_000;
	return pick(@forms);
}

sub json_date
{
	my ($t) = @_;
	die "$t has no whole milliseconds" if $t % 1000;
	return sprintf('{"$date": {"$numberLong": "%d"}}', $t / 1000);
}

sub json_uuid
{
	my ($uuid) = @_;
	return 'null' unless defined $uuid;
	my $bytes = encode_base64(pack('H*', $uuid =~ s/-//gr), '');
	return "{\"\$binary\": {\"base64\": \"$bytes\", \"subType\": \"04\"}}";
}

# A measured value: multiples of 1/4, exact in every type; at times undef, for
# null
sub reading { return with_number(chance(0.1) ? undef : between(-40, 400) / 4) }

# Tell whether each reading has a number of its own, by which Odd.pm finds its
# point: 2.5 is 2.5/*17*/ as text.
our $are_numbered = 0;

# Give a reading a number.
sub with_number
{
	my ($value) = @_;
	state $n = 0;

	return $value unless $are_numbered && defined $value;
	return bless [ $value, ++$n ], 'Differential::Data::Reading';
}

# The series of a layout; undef is the one without a type
sub types { return ('memory_used', 'memory_free', 'é', 'A b_c', '', undef) }

# Identifiers of series: with bytes around 0x80, and the least and the greatest
sub uuid_texts
{
	return ('00112233-4455-6677-8899-aabbccddee7f',
		'00112233-4455-6677-8899-aabbccddee80',
		'80112233-4455-6677-8899-aabbccddeeff',
		'00000000-0000-0000-0000-000000000000',
		'ffffffff-ffff-ffff-ffff-ffffffffffff');
}

# Texts of ObjectIds: neighbours by carry, and the least and the greatest
sub oid_texts
{
	return ('5a934e000102030405000000', '5a934e000102030405000001',
		'5a934effffffffffffffffff', '5a934f000000000000000000',
		'9fffffffffffffffffffffff', 'a00000000000000000000000',
		'000000000000000000000000', 'ffffffffffffffffffffffff');
}

# ---- Documents ------------------------------------------------------------

# Put a leaf into a document, creating subdocuments on the way.
sub put
{
	my ($document, $leaf, @path) = @_;
	my $last = pop @path;

	$document = $document->{$_} //= {} foreach @path;
	$document->{$last} = $leaf;
	return;
}

# A document as JSON, the keys of its subdocuments in random order
sub encode
{
	my ($node) = @_;

	return '[' . join(',', map { encode($_) } @$node) . ']'
	  if ref $node eq 'ARRAY';
	return $node unless ref $node;
	return '{'
	  . join(',', map { json_text($_) . ':' . encode($node->{$_}) }
		  shuffle(sort keys %$node)) . '}';
}

package Differential::Data::Reading;

use overload '0+' => sub { return $_[0][0] }, 'bool' => sub { return !!$_[0][0] },
  '""' => sub { return "$_[0][0]/*$_[0][1]*/" }, '<=>' => sub {
	my ($a, $b, $is_swapped) = @_;
	($a, $b) = map { ref $_ ? $_->[0] : $_ } $a, $b;
	return $is_swapped ? $b <=> $a : $a <=> $b;
  }, fallback => 1;

1;
