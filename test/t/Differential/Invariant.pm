# Makes writes that keep the sum of a layout's values, and random queries that
# compute this sum and the number of points, for the test beside a writer.
#
# invariant_layouts() returns layouts of the differential test, with span and
# step, the lengths of a bucket and a slot.  pairs(layout) returns pairs of times,
# whose points have values that add up to 0, and insert(layout, pairs) the SQL
# that stores them: a parameter and its negative.  writes(layout) returns
# statements whose parameter is the value that moves: between two points of a
# bucket, by UPDATE, or between the points of pairs, by INSERT.
# new_invariant(layout) returns a query: kind, settings, zone, sql, which returns
# the sum and the number, and before, an earlier part of it in the same
# transaction, if any.

package Differential::Invariant;

use strict;
use warnings;

use Differential::Aggregate qw(time_group);
use Differential::Condition qw(conditions new_zone);
use Differential::Data;
use Differential::Layouts qw(slot_layouts);
use Differential::Order qw(order_of);
use Differential::Points qw(point_layouts);
use Differential::Query qw(parallel settings);
use Differential::Totals qw(total_layouts);
use Exporter qw(import);
use List::Util qw(uniqnum);

our @EXPORT_OK = qw(insert invariant_layouts pairs writes new_invariant);

# The layouts, and the lengths of their buckets and slots.  Sums of their
# values are exact.
my %spans = (
	minute => [ MINUTE, SECOND ], doubles => [ HOUR, SECOND ],
	hour_nested => [ HOUR, SECOND ], day_levels => [ DAY, SECOND ],
	page_views => [ MINUTE, SECOND ], unpivoted => [ MINUTE, SECOND ],
	counters => [ HOUR, MINUTE ], size_based => [ DAY, undef ],
	totals_minute => [ MINUTE, SECOND ], totals_hour => [ HOUR, SECOND ],
	parts_time => [ MINUTE, SECOND ]);

# A bulk write of several partitions is several transactions.  The members of a
# pair are as near as this, so in one partition.
use constant NEAR => 10 * DAY;

sub invariant_layouts
{
	my @layouts = grep { $spans{ $_->{name} } }
	  (slot_layouts(), point_layouts(), total_layouts());

	@{$_}{qw(span step)} = @{ $spans{ $_->{name} } } foreach @layouts;
	return @layouts;
}

# The columns: time, key and value
sub names { return map { $_->[0] } @{ $_[0]->{columns} }[ 0, 1, -1 ] }

# Tell whether INSERT adds to a stored value.
sub is_counter { return $_[0]->{options} =~ m/increment/ }

# ---- Writes ---------------------------------------------------------------

# Pairs of points, each [time, time], in the same slot of two buckets of a key
# that no other point has
sub pairs
{
	my ($layout) = @_;
	my ($span, $step) = @{$layout}{qw(span step)};

	# INSERT appends to an array
	return () unless $step;
	return @{ $layout->{pairs} } if $layout->{pairs};
	my @starts = sort { $a <=> $b }
	  uniqnum(grep { $_ % $span == 0 } @{ $layout->{edges} });
	foreach my $slot (0 .. 19)
	{
		my $i = int(rand($#starts));
		my $near = $starts[ $i + 1 ] - $starts[$i] < NEAR;
		my @pair = @starts[ $i, $near ? $i + 1 : $i - 1 ];

		next if $i == 0 && !$near || abs($pair[1] - $pair[0]) >= NEAR;
		push @{ $layout->{pairs} }, [ map { $_ + $slot * $step } @pair ];
	}
	push @{ $layout->{edges} }, map { @$_ } @{ $layout->{pairs} };
	return @{ $layout->{pairs} };
}

# An INSERT of pairs, of a parameter and its negative
sub insert
{
	my ($layout, @pairs) = @_;
	my ($key, $type) = @{ $layout->{columns}[1] }[ 0, 1 ];
	my $own = $type eq 'int4' ? '7' : q('memory');
	my ($time, undef, $value) = names($layout);
	my $number = $layout->{columns}[-1][1];

	return "INSERT INTO f.$layout->{name} ($time, $key, $value) VALUES "
	  . join(', ', map { '(' . sql_timestamptz($_->[0])
			  . ", $own, \$1::$number), (" . sql_timestamptz($_->[1])
			  . ", $own, -\$1::$number)" } @pairs);
}

# Updates of two points of a bucket
sub updates
{
	my ($layout) = @_;
	my ($time, $key, $value) = names($layout);
	my ($type, $number) = ($layout->{columns}[1][1], $layout->{columns}[-1][1]);
	my (%buckets, @updates);

	# a point whose value becomes 0 is none
	return () if is_counter($layout);
	foreach my $row (@{ $layout->{rows} })
	{
		my ($at, $of, $n) = @{$row}[ 0, 1, -1 ];

		push @{ $buckets{$of} }, $at if $n ne 'NULL';
	}
	foreach my $of (sort keys %buckets)
	{
		my @times = @{ $buckets{$of} };

		foreach my $i (1 .. $#times)
		{
			my ($a, $b) = @times[ $i - 1, $i ];

			push @updates, "UPDATE f.$layout->{name} SET $value = $value + "
			  . "CASE $time WHEN $a THEN \$1::$number ELSE -\$1::$number END "
			  . "WHERE $key IS NOT DISTINCT FROM $of\::$type AND $time IN ($a, $b)"
			  if bucket($layout, $a) eq bucket($layout, $b);
		}
	}
	return @updates;
}

# What the bucket of a time literal begins with
sub bucket
{
	my ($layout, $literal) = @_;
	my ($day, $hour, $minute) = $literal =~ m/'(\S+) (\d+):(\d+)/;

	return join ' ', $day, $layout->{span} < DAY ? $hour : '',
	  $layout->{span} < HOUR ? $minute : '';
}

sub writes
{
	my ($layout) = @_;
	my @pairs = pairs($layout);
	my @inserts = @pairs
	  ? map { insert($layout, map { pick(@pairs) } 1 .. between(1, 5)) } 1 .. 30
	  : ();

	return (@inserts, updates($layout));
}

# ---- Queries --------------------------------------------------------------

# The sum and the number of rows
sub totals
{
	my ($value, $from) = @_;
	return "SELECT coalesce(sum($value), 0) AS s, count(*) AS n FROM $from";
}

sub whole
{
	my ($q) = @_;
	return totals($q->{value}, $q->{table});
}

# A condition, and its complement
sub halves
{
	my ($q) = @_;
	my $condition = conditions($q);

	return ($condition, "(($condition) IS NOT TRUE)");
}

sub in_parts
{
	my ($q) = @_;
	my ($a, $b) =
	  map { totals($q->{value}, "$q->{table} WHERE $_") } halves($q);

	return "SELECT a.s + b.s, a.n + b.n FROM ($a) a, ($b) b";
}

sub grouped
{
	my ($q) = @_;
	my @groups = grep { chance(0.6) } $q->{key},
	  time_group($q->{time}, 'timestamptz');

	@groups = ($q->{key}) unless @groups;
	return 'SELECT sum(s), sum(n) FROM (' . whole($q) . ' GROUP BY '
	  . join(', ', @groups) . ') g';
}

sub rows
{
	my ($q, $where) = @_;
	my $by = join ', ', map { $_->[1] } order_of($q);

	return "(SELECT * FROM $q->{table} WHERE $where ORDER BY $by OFFSET 0)";
}

sub in_order
{
	my ($q) = @_;

	return totals($q->{value}, chance(0.5) ? rows($q, 'true') . ' t'
		: '(' . join(' UNION ALL ', map { rows($q, $_) } halves($q)) . ') t');
}

# Each point is joined with itself.
sub joined
{
	my ($q) = @_;
	my $is_same = join ' AND ', "a.$q->{time} = b.$q->{time}",
	  "coalesce(a.$q->{key}::text, '-') = coalesce(b.$q->{key}::text, '-')",
	  "a.$q->{value} IS NOT DISTINCT FROM b.$q->{value}";

	$q->{more} = pick('', map { my $other = $_; join ' ', map { "enable_$_=off" } grep { $_ ne $other }
		  qw(hashjoin mergejoin nestloop) } qw(hashjoin mergejoin nestloop));
	return totals("a.$q->{value}", "$q->{table} a JOIN $q->{table} b ON $is_same");
}

sub in_loop
{
	my ($q) = @_;

	return "SELECT sum(s), sum(n) FROM (SELECT DISTINCT $q->{key} AS k FROM $q->{table}) d, LATERAL ("
	  . whole($q) . " WHERE $q->{key} IS NOT DISTINCT FROM k OFFSET 0) x";
}

sub by_cursor
{
	my ($q) = @_;
	my $rows = chance(0.5) ? rows($q, 'true') : "(TABLE $q->{table})";

	return "SELECT * FROM read_slowly('SELECT $q->{value} FROM ' || \$r\$$rows\$r\$ || ' t', "
	  . between(1, 40) . ')';
}

# Two statements of a REPEATABLE READ transaction
sub in_transaction
{
	my ($q) = @_;
	my ($a, $b) =
	  map { totals($q->{value}, "$q->{table} WHERE $_") } halves($q);

	$q->{before} = $a;
	return "SELECT s + split_part(current_setting('test.part'), '|', 1)::numeric::float8, "
	  . "n + split_part(current_setting('test.part'), '|', 2)::numeric FROM ($b) b";
}

my %kinds = (
	whole => [ 10, \&whole ], 'in parts' => [ 20, \&in_parts ],
	grouped => [ 15, \&grouped ], sorted => [ 20, \&in_order ],
	joined => [ 12, \&joined ], 'in loop' => [ 8, \&in_loop ],
	'by cursor' => [ 5, \&by_cursor ], 'in transaction' => [ 10, \&in_transaction ]);

sub new_invariant
{
	my ($layout) = @_;
	my $kind = pick(map { ($_) x $kinds{$_}[0] } sort keys %kinds);
	my ($time, $key, $value) = names($layout);
	my %q = (layout => $layout, kind => $kind, zone => new_zone(),
		table => "f.$layout->{name}", time => $time, key => $key, value => $value);

	$q{sql} = $kinds{$kind}[1]->(\%q);
	$q{settings} = join ' ', grep { length } settings(\%q), $q{more} // '',
	  chance(0.3) ? parallel() : ();
	return \%q;
}

1;
