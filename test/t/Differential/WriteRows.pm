# Makes random rows and conditions for the differential test of writing, from
# the times, keys and values of a layout.

package Differential::WriteRows;

use strict;
use warnings;

use Differential::Data;
use Differential::WriteTables qw(columns);
use Exporter qw(import);

our @EXPORT_OK = qw(typed time_of instant new_rows names values_of
  fill_source condition range_condition point_condition same_point);

# ---- Values ---------------------------------------------------------------

sub typed { return sql_text($_[0]) . "::$_[1]" }

sub time_of { return typed($_[0]{time_text}->($_[1]), $_[0]{time}[0]) }

# An interesting instant
sub instant
{
	my ($layout) = @_;
	return pick(@{ $layout->{ chance(0.5) ? 'edges' : 'times' } });
}

# The attribute of a series, or none: all buckets of a series have the same one
sub attribute_of
{
	my ($layout, @keys) = @_;
	my $pool = $layout->{attribute}[3];

	return if chance(0.3);
	return $pool->[ unpack('%16C*', join('|', map { $_ // '' } @keys)) % @$pool ];
}

# A point, as text for each column.  With assume_write_once it has a slot that has not
# been written before.  Returns nothing if 20 draws find none.
sub new_row
{
	my ($layout) = @_;

	foreach (1 .. 20)
	{
		my @place = (pick(@{ $layout->{times} }),
			map { pick(@{ $_->[3] }) } @{ $layout->{keys} });
		my $place = join('|', map { $_ // '' } @place);

		next if $layout->{assume_write_once} && $layout->{written}{$place}++;
		my $t = shift @place;
		return [ $layout->{time_text}->($t), @place,
			$layout->{attribute} ? scalar(attribute_of($layout, @place)) : (),
			map { pick(@{ $_->[3] }) } @{ $layout->{values} } ];
	}
	return;
}

sub new_rows
{
	my ($layout, $n) = @_;

	return grep { $_ } map { new_row($layout) } 1 .. $n;
}

sub names { return map { $_->[0] } columns($_[0]) }

sub values_of
{
	return join(', ', map { '(' . join(', ', map { sql_text($_) } @$_) . ')' }
		  @_);
}

# Fill the local source of points, with or without duplicates.
sub fill_source
{
	my ($layout, $is_distinct, $n) = @_;
	my $table = "s.$layout->{name}";
	my ($number, %seen) = (0);
	my @rows = new_rows($layout, $n);
	my @keys = (0 .. @{ $layout->{keys} });

	if ($is_distinct)
	{
		my $place = sub { join('|', map { $_ // '' } @{ $_[0] }[@keys]) };
		@rows = grep { !$seen{ $place->($_) }++ } @rows;
	}
	return "TRUNCATE $table;\n" . (@rows ? "INSERT INTO $table VALUES "
		  . values_of(map { [ ++$number, @$_ ] } @rows) . ";\n" : '');
}

# ---- Conditions -----------------------------------------------------------

sub key_condition
{
	my ($layout) = @_;
	my ($name, $type, undef, $pool) = @{ pick(@{ $layout->{keys} }) };
	my $value = typed(pick(@$pool), $type);

	return "$name = $value" if chance(0.4);
	return "$name IS NOT DISTINCT FROM $value" if chance(0.4);
	return "$name IS " . pick('', 'NOT ') . 'NULL' if chance(0.4);
	return "$name IN ($value, " . typed(pick(@$pool), $type) . ')';
}

sub value_condition
{
	my ($layout) = @_;
	my ($name, $type, undef, $pool) = @{ pick(@{ $layout->{values} }) };

	return "$name IS " . pick('', 'NOT ') . 'NULL' if chance(0.2);
	return "$name " . pick('=', '<', '>=', '<>') . ' '
	  . typed(pick(@$pool), $type);
}

# A range, whose ends are often edges of buckets
sub range_condition
{
	my ($layout) = @_;
	my ($from, $to) = sort { $a <=> $b } instant($layout), instant($layout);

	return 'ts ' . pick('<', '>') . ' ' . time_of($layout, $from)
	  if chance(0.15);
	return 'ts ' . pick('>', '>=') . ' ' . time_of($layout, $from)
	  . ' AND ts ' . pick('<', '<=') . ' ' . time_of($layout, $to);
}

# One point, if one exists
sub point_condition
{
	my ($layout) = @_;
	my $t = pick(@{ $layout->{times} });
	my @conditions = 'ts = ' . time_of($layout, $t);

	foreach my $key (@{ $layout->{keys} })
	{
		push @conditions, "$key->[0] IS NOT DISTINCT FROM "
		  . typed(pick(@{ $key->[3] }), $key->[1]);
	}
	return join(' AND ', @conditions);
}

sub times_condition
{
	my ($layout) = @_;
	my @times = map { time_of($layout, pick(@{ $layout->{times} })) } 1 .. 6;

	return 'ts IN (' . join(', ', @times) . ')';
}

sub condition
{
	my ($layout) = @_;
	my $make = pick(\&key_condition, \&value_condition, \&range_condition,
		\&range_condition, \&point_condition, \&times_condition);
	my $condition = $make->($layout);

	return $condition if chance(0.6);
	return "($condition) OR (" . point_condition($layout) . ')'
	  if chance(0.2);
	return "$condition AND " . pick(\&key_condition, \&value_condition,
		\&times_condition)->($layout);
}

# The same point in two tables
sub same_point
{
	my ($layout, $a, $b) = @_;
	return join(' AND ', map { "$a.$_ IS NOT DISTINCT FROM $b.$_" }
		  'ts', map { $_->[0] } @{ $layout->{keys} });
}

1;
