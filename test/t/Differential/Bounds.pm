# Defines layouts whose buckets have the least and the greatest value of a
# column, as the extension and as applications store them, for the differential
# test.  See Layouts.pm.  Conditions often test the column "tested".

package Differential::Bounds;

use strict;
use warnings;

use Differential::Data;
use Differential::Layouts qw(new_layout add_row head @type @value_pool);
use Exporter qw(import);
use List::Util qw(max min);

our @EXPORT_OK = qw(bounded_layouts);

# ---- Values ---------------------------------------------------------------

sub long { return "{\"\$numberLong\": \"$_[0]\"}" }

sub double { return "{\"\$numberDouble\": \"$_[0]\"}" }

sub decimal { return "{\"\$numberDecimal\": \"$_[0]\"}" }

# Values in PostgreSQL's order, each [SQL, leaf ...].  The last one is NaN
# where there is one, which is MongoDB's least number.
my @doubles = (
	[ q('-Infinity'), double('-Infinity') ], [ '-1e300', double('-1e300') ],
	[ '-9007199254740994', double('-9007199254740994'),
		long('-9007199254740994') ],
	[ '-2.5', double('-2.5'), decimal('-2.5') ], [ '0', '0', long(0) ],
	[ '5e-324', double('5e-324') ],
	[ '0.1', double('0.1'), decimal('0.1') ],
	[ '0.3', double('0.3'), decimal('0.30') ],
	[ '0.30000000000000004', double('0.30000000000000004'),
		decimal('0.30000000000000004') ],
	(map { [ $_, $_, double($_), long($_), decimal("$_.0") ] } 1 .. 5),
	[ '9007199254740992', double('9007199254740992') ],
	[ '9007199254740994', long('9007199254740994') ],
	[ '1.7e308', double('1.7e308') ], [ q('Infinity'), double('Infinity') ],
	[ q('NaN'), double('NaN'), decimal('NaN') ]);
my @floats = (
	[ '-2.5', double('-2.5') ], [ '0', '0' ],
	[ '0.1', double('0.10000000149011612') ], [ '0.25', double('0.25') ],
	[ '7', '7', long(7) ],
	[ '16777216', '16777216' ], [ q('NaN'), double('NaN') ]);
my @numerics = (
	[ '-1e30', decimal('-1E+30') ], [ '-0.1', double('-0.1') ],
	[ '0', '0', decimal('0E-10') ],
	[ '0.1', double('0.1'), decimal('0.10') ],
	[ '0.1000000000000000000000000000000001',
		decimal('0.1000000000000000000000000000000001') ],
	[ '0.10000000000000001', decimal('0.10000000000000001') ],
	[ '4', '4', double(4), decimal('4.00') ], [ '4.5', double('4.5') ],
	[ '9007199254740993', long('9007199254740993') ],
	[ '12345678901234567890.125', decimal('12345678901234567890.125') ],
	[ q('NaN'), decimal('NaN'), double('NaN') ]);
my @integers = map { [ $_, long($_) ] } '-9223372036854775808',
  '-9007199254740993', '-9007199254740992', -7, 0, 1, 2, 3, 2147483648,
  '9007199254740992', '9007199254740993', '9007199254740994',
  '9223372036854775806', '9223372036854775807';

my @times = map { [ sql_timestamptz($_) =~ s/timestamptz //r, json_date($_) ] }
  -5_364_662_400_000_000, -1000, 0, 1000,
  map { 1_709_164_800_000_000 + $_ } -DAY, -1000, 0, 1000, 2000, 3000, SECOND,
  DAY, 999 * DAY;
my @dates = map { [ sql_date($_) =~ s/date //r, json_date($_) ] }
  map { $_ * DAY } -62_091, -1, 0, 19_781, 19_782, 19_783, 19_785, 100_000;
my @texts = map { [ sql_text($_), json_text($_) ] } '', 'A', 'A b', 'a',
  'memory_m', 'memory_ma', 'memory_used', '{', 'é', 'éa', "\xef\xbf\xae",
  "\xf0\x9f\x98\x80";

# Values to compare with: these, and some between them
my %between = (
	timestamptz => [ q('2024-02-29 00:00:00.0005Z'),
		q('2024-02-29 00:00:00.001999Z'), q('infinity'), q('-infinity') ],
	date => [ q('2024-02-28'), q('infinity'), q('9999-12-31') ],
	text => [ q('B'), q('memory_'), q('memory_n'), q('~') ],
	float8 => [qw(0.2 2.5)]);

sub pool
{
	my ($type, @values) = @_;
	return [ (map { $_->[0] } @values), @{ $between{$type} // [4] } ];
}

# ---- Bounds ---------------------------------------------------------------

# What is not a bound, in the field of one; nor is a string, but of text
my @no_bounds = ('null', 'true', '[0]', '[]', '{}', ('-1') x 5,
	double('NaN'), decimal('NaN'));

# The indexes of the least and the greatest value, from those of all.  has_nan
# is the index of NaN if applications compute the bounds in MongoDB's order.
sub extremes
{
	my ($nan, $is_mongo, @indexes) = @_;
	my @numbers = grep { $_ != $nan } @indexes;
	my $has_nan = @numbers < @indexes;

	return ($nan, $nan) unless @numbers;
	return ($has_nan && $is_mongo ? $nan : min(@numbers),
		$has_nan && !$is_mongo ? $nan : max(@numbers));
}

# Put the bounds of values into a document: right ones, or none.
sub put_bounds
{
	my ($document, $p, @indexes) = @_;
	my $values = $p->{values};
	my @values = @$values;
	my $nan = $values[-1][0] =~ m/NaN/ ? $#values : -1;
	my $has_both = @{ $p->{fields} } == 2;
	my %bounds;

	return unless @indexes;
	@bounds{qw(lo hi)} = map { pick(@{ $values[$_] }[ 1 .. $#{ $values[$_] } ]) }
	  extremes($nan, $has_both && chance(0.5), @indexes);
	# an array of bounds has none
	return $document->{e} = [ map { { lo => '0', hi => $_ } } 0, 1, 5 ]
	  if chance(0.05);
	foreach my $name (@{ $p->{fields} })
	{
		next if chance(0.1);
		put($document,
			chance(0.15)
			? pick(@no_bounds, $values == \@texts ? () : '"0"')
			: $bounds{$name},
			'e', $name);
	}
	return;
}

# ---- Layouts --------------------------------------------------------------

# Fill buckets, most of which have few of the values: fields are the bounds
# that are declared, put_point->(document, t, slot, leaf, other) adds a point.
sub fill_bounded
{
	my ($layout, %p) = @_;
	my @values = @{ $p{values} };

	foreach my $start (starts(MINUTE, 3))
	{
		push @{ $layout->{edges} }, $start, $start + MINUTE;
		foreach my $type (grep { chance(0.6) } types())
		{
			my $document = head('m', $type, json_date($start));
			my $first = between(0, $#values);
			my @indexes;
			foreach my $slot (some_slots(60, 3))
			{
				my $i = chance(0.05) ? $#values
				  : min($first + between(0, 2), $#values);
				my $t = $start + $slot * SECOND;
				my ($sql, @leaves) = @{ $values[$i] };
				my $other = reading();

				($sql, @leaves) = ('NULL', 'null', '-1') if chance(0.2);
				$p{put_point}->($document, $t, $slot, pick(@leaves),
					json_number($other));
				add_row($layout, $t, sql_text($type), $sql,
					sql_number($other));
				push @indexes, $i if $sql ne 'NULL';
			}
			put_bounds($document, \%p, @indexes);
			push @{ $layout->{docs} }, $document;
		}
	}
	return $layout;
}

# A layout with a column that has bounds, and another one to aggregate, as the
# sums of such values are not exact
sub bounded
{
	my ($name, $column, $type, $values, $path, @fields) = @_;
	my %option = (lo => "min_field 'e.lo'", hi => "max_field 'e.hi'");
	my $is_array = $path =~ m/\[\]/;
	my $layout = new_layout(
		$name => [ 'timestamptz',
			'field ' . ($is_array ? "'v[].t'" : "'m'") . ", role 'time'" ],
		columns => [ [@type],
			[ $column, $type,
				join(', ', "field '$path.x', missing_value '-1'",
					map { $option{$_} } @fields),
				pool($type, @$values) ],
			[ 'value', 'float8', "field '$path.y'", \@value_pool ] ],
		options => $is_array
		? "bucket_time_field 'm', bucket_span '1 minute'" : '');

	$layout->{tested} = $layout->{columns}[2];
	return fill_bounded($layout, values => $values, fields => \@fields,
		put_point => sub {
			my ($document, $t, $slot, $x, $y) = @_;
			return put($document, { x => $x, y => $y }, 'v', $slot)
			  unless $is_array;
			push @{ $document->{v} }, { t => json_date($t), x => $x, y => $y };
		});
}

# All of these layouts, freshly filled
sub bounded_layouts
{
	my $by_bytes = bounded('bounds_text', 'kt', 'text', \@texts, 'v.{second}',
		qw(lo hi));

	$by_bytes->{columns}[2][4] = 'COLLATE "C"';
	return (
		$by_bytes,
		bounded('bounds_words', 'kt', 'text', \@texts, 'v[]', qw(lo hi)),
		bounded('bounds_times', 'kd', 'timestamptz', \@times, 'v.{second}',
			qw(lo hi)),
		bounded('bounds_dates', 'kd', 'date', \@dates, 'v[]', qw(lo hi)),
		bounded('bounds', 'kx', 'float8', \@doubles, 'v.{second}', qw(lo hi)),
		bounded('bounds_pushed', 'k8', 'int8', \@integers, 'v[]', qw(lo hi)),
		bounded('bounds_numeric', 'kn', 'numeric', \@numerics, 'v.{second}',
			qw(lo hi)),
		bounded('bounds_least', 'kf', 'float4', \@floats, 'v.{second}', 'lo'),
		bounded('bounds_greatest', 'kx', 'float8', \@doubles, 'v[]', 'hi'));
}

1;
