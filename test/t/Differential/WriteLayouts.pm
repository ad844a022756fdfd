# Defines the layouts of the differential test of writing: how each is
# declared, and which points are written to it.
#
# The layouts are in WriteSlots.pm, WritePoints.pm and WriteRolling.pm.  Each
# is a hash with
#   name, mode (set, increment, push or flat)
#   time: [type, options]; document_time: the options of the bucket's time
#   keys, values: lists of [name, type, options, pool] where the pool has
#     values as text, undef for NULL; attribute: one of these, if any
#   totals: lists of [name, type, field, aggregate], the bucket's own fields
#   options: of the table; shared: those of them that any table over the same
#     collection needs
#   bucket, slot: code that makes SQL of SQL: the start of a time's bucket,
#     and what identifies a point in set mode, besides keys
#   times: instants to write; edges: starts and ends of buckets; both as in
#     Data.pm; time_text: code that writes an instant as the time's type
#   shifts: intervals by which points are moved; moves: anywhere, inside (a
#     bucket), apart (from all that is inserted) or never
#   finer: an interval that no slot can tell, or undef; resolution: one that
#     it can; truncate: is the rest cut off, or an error?
#   wrong_times: instants that no slot can hold; refused: code that makes SQL
#     of SQL: whether a time is one of these
#   missing: the value that means no reading; cap: bucket_max_points
#   bounds: columns of the first and last time of a document's points
#   others: documents that must stay as they are
#   generated: a column that PostgreSQL computes: name, type, expression
#   partitions: the bounds of foreign tables of which the table is made
#   collection: the pattern of a rolling set's collections
#   is_small, assume_write_once, index, preallocate: true or not

package Differential::WriteLayouts;

use strict;
use warnings;

use Differential::Data;
use Exporter qw(import);
use List::Util qw(uniqnum);

our @EXPORT_OK =
  qw(new_layout time_keys near quarters_of types_of uuids special);

# ---- Pools ----------------------------------------------------------------

# Values whose sums are exact in binary, and NULL
sub quarters_of
{
	return [ undef, map { $_ / 4 } -401, -7, -5, 1, 2, 5, 6, 10, 11, 222,
		between(0, 4000) ];
}

# The same, and what is no finite number
sub special
{
	return [ (@{ quarters_of() }) x 4, qw(NaN NaN Infinity -Infinity) ];
}

sub integers { return [ undef, -12, -1, 1, 2, 3, 40, 1000 ] }

sub types_of { return [ 'memory_used', 'é', pick('A b_c', ''), undef ] }

sub uuids
{
	return [ undef, map { "00000000-0000-4000-8000-00000000000$_" } 1 .. 3 ];
}

# ---- Times ----------------------------------------------------------------

# A few starts of buckets: neighbours, and some that are far
sub near
{
	my ($span) = @_;
	my @starts = starts($span, 1);
	my $i = between(0, $#starts - 1);

	return uniqnum(@starts[ $i, $i + 1 ], pick(@starts), pick(@starts));
}

# The times of slots of buckets, and the buckets' edges
sub time_keys
{
	my ($starts, $span, $step, $n) = @_;
	my @times = map {
		my $start = $_;
		map { $start + $_ * $step } some_slots($span / $step, $n // 5)
	} @$starts;

	return (times => \@times, edges => [ map { $_, $_ + $span } @$starts ]);
}

sub seconds { return ($_[0] / SECOND) . ' seconds' }

# ---- Declarations ---------------------------------------------------------

# The bucket's pre-aggregates: how many points, and of each value
sub totals
{
	my ($count, @values) = @_;
	my @totals = $count ? [ 'n', 'bigint', $count, 'count(*)' ] : ();

	foreach my $value (@values)
	{
		my ($name, $type, undef, undef, %fields) = @$value;
		my %sql = (
			sum => "coalesce(sum($name), 0)",
			min => "min($name)",
			max => "max($name)");
		foreach my $kind (grep { $fields{$_} } qw(sum min max))
		{
			push @totals,
			  [ "${name}_$kind",
				$kind eq 'sum' && $type =~ m/^int/ ? 'bigint' : $type,
				$fields{$kind}, $sql{$kind} ];
		}
	}
	return \@totals;
}

# A value column with the options of its pre-aggregates
sub value_column
{
	my ($name, $type, $options, $pool, %fields) = @{ $_[0] };

	$options .= ", ${_}_field '$fields{$_}'"
	  foreach grep { $fields{$_} } qw(sum min max);
	return [ $name, $type, $options, $pool ];
}

sub trunc_utc
{
	my ($unit) = @_;
	return sub { "date_trunc('$unit', $_[0], 'UTC')" };
}

# A layout: the table's shape from %p, the times from its span and step
# unless it has its own.  One of seconds in minutes is the default.
sub new_layout
{
	my ($name, %p) = @_;
	my $unit = $p{unit} // 'minute';
	my $span = { second => SECOND, minute => MINUTE, hour => HOUR,
		day => DAY }->{$unit};
	my $step = $p{step} // SECOND;
	my @options = @{ $p{options} // [] };
	my @values = @{ $p{values} // [ [ 'value', 'float8', $p{value},
				$p{pool} // quarters_of(), %{ $p{fields} // {} } ] ] };
	my %layout = (
		mode => 'set', bucket => trunc_utc($unit), slot => sub { $_[0] },
		document_time => $p{time}[1], shared => [], moves => 'anywhere',
		time_text => sub { iso($_[0]) . '+00' },
		keys => [ [ 'type', 'text', '', types_of() ] ],
		finer => seconds($step / 2), resolution => seconds($step),
		$p{times} ? () : time_keys([ near($span) ], $span, $step, $p{points}),
		shifts => [ map { seconds($_) }
			  $step, -$step, 7 * $step, $span // DAY ],
		%p, name => $name);

	push @options, "count_field '$p{count}'" if $p{count};
	$layout{totals} = totals($p{count}, @values);
	$layout{values} = [ map { value_column($_) } @values ];
	$layout{options} = [ @options, @{ $layout{shared} } ];
	return \%layout;
}

1;
