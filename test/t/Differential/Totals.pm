# Defines layouts with pre-aggregates, and partitioned tables, for the
# differential test.  See Layouts.pm.

package Differential::Totals;

use strict;
use warnings;

use Differential::Data;
use Differential::Layouts qw(new_layout add_row fill_slots head dated_head
  @type @value_pool);
use Exporter qw(import);
use List::Util qw(max min sum0);

our @EXPORT_OK = qw(total_layouts);

# A time between those around which the data lie
use constant SPLIT => 1_400_000_000 * SECOND;

my @totals = ("sum_field 'total.sum'", "min_field 'total.min'",
	"max_field 'total.max'");

# ---- Pre-aggregates -------------------------------------------------------

# The pre-aggregates as the extension writes them: the count includes nulls,
# the others ignore them.
sub add_totals
{
	my ($document, $values) = @_;
	my @values = grep { defined } @$values;

	$document->{n} = json_number(scalar @$values);
	put($document, json_number(sum0(@values)), 'total', 'sum');
	return unless @values;
	put($document, json_number(min(@values)), 'total', 'min');
	put($document, json_number(max(@values)), 'total', 'max');
	return;
}

# Preallocated documents without points
sub add_empty_buckets
{
	my ($layout, $field) = @_;

	foreach my $start (map { $_ * DAY } 1, 16_800, 17_000)
	{
		my $document = head($field, 'memory_used', json_date($start));
		add_totals($document, []);
		$document->{v} = {} if chance(0.5);
		push @{ $layout->{docs} }, $document;
	}
	return $layout;
}

# Points are numbers or nulls.
sub totals_minute
{
	my $layout = new_layout(
		totals_minute => [ 'timestamptz', "field 'm'" ],
		columns => [ [ @type, 'COLLATE "C"' ],
			[ 'value', 'float8', join(', ', "field 'v.{second}'", @totals),
				\@value_pool ] ],
		options => "count_field 'n'");

	fill_slots($layout, span => MINUTE, step => SECOND,
		starts => [ starts(MINUTE, 4) ], points => 3,
		head => dated_head('m'), finish => \&add_totals,
		path => sub { ('v', $_[0]) });
	return add_empty_buckets($layout, 'm');
}

# Points are whole numbers.
sub totals_hour
{
	my $layout = new_layout(
		totals_hour => [ 'timestamptz', "field 'h'" ],
		columns => [ [@type],
			[ 'value', 'int4',
				join(', ', "field 'v.{minute}.{second}'", @totals),
				[ -41, -40, 0, 1, 100, 399, 400 ], 'NOT NULL' ] ],
		options => "count_field 'n'");

	fill_slots($layout, span => HOUR, step => SECOND,
		starts => [ starts(HOUR, 3) ], points => 6,
		head => dated_head('h'), finish => \&add_totals,
		reading => sub { between(-40, 400) },
		path => sub { ('v', int($_[0] / 60), $_[0] % 60) });
	return add_empty_buckets($layout, 'h');
}

# There is no minimum or maximum, but a missing value.
sub totals_partial
{
	my ($name, $type, $missing, @constraint) = @_;
	my $layout = new_layout(
		$name => [ 'timestamptz', "field 'm'" ],
		columns => [ [@type],
			[ 'value', $type,
				"field 'v.{second}', missing_value '$missing', $totals[0]",
				\@value_pool, @constraint ] ],
		options => "count_field 'n'");

	fill_slots($layout, span => MINUTE, step => SECOND,
		starts => [ starts(MINUTE, 3) ],
		head => dated_head('m'), finish => \&add_totals,
		reading => sub { between(0, 400) / 4 },
		path => sub { ('v', $_[0]) });
	foreach my $document (@{ $layout->{docs} })
	{
		delete $document->{total}{$_} foreach qw(min max);
		$document->{v}{$_} //= $missing foreach 20 .. 30;
	}
	return $layout;
}

# Make a reading of a value that a document of several containers may lack.
# Returns what is stored, if anything; the SQL value; and whether it makes a
# point.  A missing value, even null, does not.
sub sparse_reading
{
	my ($missing) = @_;

	return (undef, 'NULL', 0) if chance(0.5);
	return (defined $missing ? $missing : 'null', 'NULL', !defined $missing)
	  if chance(0.15);
	my $value = between(-40, 400) / 4;
	return (json_number($value), sql_number($value), 1);
}

# Several containers with the same slots, each without most points, and two
# missing values.  The pre-aggregates are of the last value.
sub totals_wide
{
	my @values = (
		[ 'temp', "'env.{second}.temp'", undef ],
		[ 'hum', "'env.{second}.hum', missing_value '-99'", '-99' ],
		[ 'level', "'level.{second}'", undef ],
		[ 'rpm', "'rpm.{second}', missing_value 'null', "
			  . join(', ', @totals), 'null' ]);
	my $layout = new_layout(
		totals_wide => [ 'timestamptz', "field 'm'" ],
		columns => [ [@type],
			map { [ $_->[0], 'float8', "field $_->[1]", \@value_pool ] }
			  @values ],
		options => "count_field 'n'");

	$layout->{tested} = $layout->{columns}[2];
	foreach my $start (starts(MINUTE, 3))
	{
		push @{ $layout->{edges} }, $start, $start + MINUTE;
		foreach my $type (grep { chance(0.5) } types())
		{
			my $document = head('m', $type, json_date($start));
			my @last;
			foreach my $slot (some_slots(60, between(3, 10)))
			{
				my @readings = map { [ sparse_reading($_->[2]) ] } @values;
				my @paths = ([ 'env', $slot, 'temp' ], [ 'env', $slot, 'hum' ],
					[ 'level', $slot ], [ 'rpm', $slot ]);
				foreach my $i (grep { defined $readings[$_][0] } 0 .. $#values)
				{
					put($document, $readings[$i][0], @{ $paths[$i] });
				}
				next unless grep { $_->[2] } @readings;
				add_row($layout, $start + $slot * SECOND, sql_text($type),
					map { $_->[1] } @readings);
				push @last, $readings[-1][1] eq 'NULL' ? undef
				  : $readings[-1][1];
			}
			add_totals($document, \@last);
			push @{ $layout->{docs} }, $document;
		}
	}
	return $layout;
}

# ---- Partitions -----------------------------------------------------------

# Make partitions, each from [bounds, code that fills the layout].
sub partition
{
	my ($layout, $by, @parts) = @_;

	$layout->{partition_by} = $by;
	foreach my $part (@parts)
	{
		my ($bounds, $fill) = @$part;
		$fill->();
		push @{ $layout->{partitions} }, [ $bounds, $layout->{docs} ];
		$layout->{docs} = [];
	}
	return $layout;
}

# One collection before a time, another one after it
sub parts_time
{
	my $layout = new_layout(
		parts_time => [ 'timestamptz', "field 'm'" ],
		columns => [ [@type],
			[ 'value', 'float8', join(', ', "field 'v.{second}'", @totals),
				\@value_pool ] ],
		options => "count_field 'n'");
	my $fill = sub {
		fill_slots($layout, span => MINUTE, step => SECOND, starts => [@_],
			head => dated_head('m'), finish => \&add_totals,
			path => sub { ('v', $_[0]) })
	};
	my @starts = starts(MINUTE, 2);
	my $split = sql_timestamptz(SPLIT) =~ s/timestamptz //r;

	return partition($layout, 'RANGE (ts)',
		[ "FOR VALUES FROM (MINVALUE) TO ($split)",
			sub { $fill->(grep { $_ < SPLIT } @starts) } ],
		[ "FOR VALUES FROM ($split) TO (MAXVALUE)",
			sub { $fill->(grep { $_ >= SPLIT } @starts) } ]);
}

# One collection for some series, another one for the rest
sub parts_type
{
	my $layout = new_layout(
		parts_type => [ 'timestamptz', "field 'h'" ],
		value => 'v.{minute}.{second}');
	my @mine = ('memory_used', 'é', '');
	my $fill = sub {
		fill_slots($layout, span => HOUR, step => SECOND, types => [@_],
			head => dated_head('h'),
			path => sub { ('v', int($_[0] / 60), $_[0] % 60) })
	};

	return partition($layout, 'LIST (type)',
		[ 'FOR VALUES IN (' . join(', ', map { sql_text($_) } @mine) . ')',
			sub { $fill->(@mine) } ],
		[ 'DEFAULT', sub { $fill->('memory_free', 'A b_c', undef) } ]);
}

# All of these layouts, freshly filled
sub total_layouts
{
	return (totals_minute(), totals_hour(),
		totals_partial('totals_partial', 'numeric', -1, 'NOT NULL'),
		totals_partial('totals_sparse', 'float8', 'null'), totals_wide(),
		parts_time(), parts_type());
}

1;
