# Makes random queries with ORDER BY on one layout, for the differential test.
#
# With ties, LIMIT may return any of the tied rows.  Such a query is therefore
# compared by its keys: the sort keys, as o1, o2 ..., and the position of a row
# if the rows are sorted.  All of its rows must be rows of whole, the query
# without a limit.

package Differential::Order;

use strict;
use warnings;

use Differential::Condition qw(conditions param);
use Differential::Data;
use Exporter qw(import);

our @EXPORT_OK = qw(sorted first_of_each key_columns order_of direction
  targets compare_places);

# All columns except the time and the last one, a value
sub key_columns
{
	my ($q) = @_;
	my @columns = @{ $q->{layout}{columns} };

	return @columns[ 1 .. $#columns - 1 ];
}

sub is_text { return $_[0]->[1] =~ m/^(text|varchar)/ }

# ---- Orders ---------------------------------------------------------------

sub direction
{
	return pick('', ' DESC')
	  . (chance(0.3) ? pick(' NULLS FIRST', ' NULLS LAST') : '');
}

# A column as a sort key, in its own collation or another one
sub sort_key
{
	my ($column, $direction) = @_;
	my $collation = is_text($column) && chance(0.5)
	  ? ' COLLATE ' . pick('"C"', '"C"', '"C"', '"und-x-icu"') : '';

	return "$column->[0]$collation" . ($direction // direction());
}

# Columns to sort by, each [column, term of ORDER BY]
sub order_of
{
	my ($q) = @_;
	my ($time, @others) = @{ $q->{layout}{columns} };
	my $tested = $q->{layout}{tested};
	my $value = $tested && chance(0.8) ? $tested : $others[-1];
	my @keys = grep { chance(0.5) } key_columns($q);
	my @order = @{ pick(
		[$time], [$time], [$time], [ @keys, $time ], [ @keys, $time ],
		[ $time, @keys ], [ $time, $value ], [ @keys, $time, $value ],
		[ @keys, $value ],
		(map { [ $value, @$_ ] } [], [], [$time], [$time], [@keys])) };
	# keys DESC, time DESC is the order of an index
	my $direction = chance(0.4) ? pick('', ' DESC') : undef;

	@order = ($time) unless @order;
	# the extremes of buckets tell no order of nulls before values
	if ($tested && chance(0.6))
	{
		@order = ($value);
		$direction = pick('', ' DESC NULLS LAST');
	}
	$q->{by_value} = $order[0] == $value;
	return map { [ $_, sort_key($_, $direction) ] } @order;
}

# LIMIT and OFFSET
sub limit
{
	my ($q) = @_;
	my $number = sub {
		my ($draw) = @_;
		return $q->{params} && chance(0.6) ? param($q, 'int8', $draw)
		  : $draw->();
	};
	my $few = sub { pick(0, 1, 1, 1, between(2, 20), between(20, 300)) };
	my $end = '';

	return ' FETCH FIRST ' . between(1, 10) . ' ROWS WITH TIES'
	  if chance(0.05);
	$end .= ' LIMIT ' . $number->(sub { chance(0.05) ? 'NULL' : $few->() })
	  if chance(0.8);
	$end .= ' OFFSET '
	  . $number->(sub { pick(0, 1, between(1, 30), between(30, 500)) })
	  if chance(0.35);
	return $end;
}

# Some columns, and the sort keys
sub targets
{
	my ($q, @keys) = @_;
	my @names = map { $_->[0] } @{ $q->{layout}{columns} };
	my $n = 0;

	@names = grep { chance(0.5) } @names if chance(0.6);
	return join(', ', @names, map { "$_ AS o" . ++$n } @keys);
}

# Add ORDER BY to the query.
sub compare_places
{
	my ($q, $n, $whole, $end) = @_;

	$q->{sql} = "$whole$end";
	$q->{whole} = $whole;
	$q->{keys} = join ', ', 'place', map { "o$_" } 1 .. $n;
	return;
}

sub sorted
{
	my ($q) = @_;
	my @order = order_of($q);
	my $targets = targets($q, map { $_->[0][0] } @order);
	my $where = conditions($q);
	my $from = "FROM side.$q->{layout}{name} WHERE";
	my $whole = "SELECT $targets $from $where";
	my $by = join ', ', map { $_->[1] } @order;

	$q->{kind} = 'sorted';
	if (!$q->{params} && chance($q->{layout}{odd} ? 0.5 : 0.25))
	{
		$whole = "SELECT $targets $from true";
		delete $q->{has_time};
	}
	# two sorted scans
	if (chance(0.06))
	{
		$whole = "SELECT * FROM ($whole UNION ALL SELECT $targets $from "
		  . conditions($q) . ') u';
		my $n = 0;
		$by = join ', ',
		  map { ++$n; $_->[1] =~ s/^\w+/o$n/r } @order;
		delete $q->{has_time};
	}
	compare_places($q, scalar(@order), $whole, " ORDER BY $by" . limit($q));
	return;
}

# ---- The first points of each series --------------------------------------

sub distinct_on
{
	my ($q, @keys) = @_;
	my $time = $q->{layout}{columns}[0];
	my @terms =
	  map { $_->[0] . (is_text($_) && chance(0.7) ? ' COLLATE "C"' : '') }
	  @keys;
	my $list = join ', ', @terms;
	my $targets = targets($q, map { $_->[0] } @keys, $time);
	my $where = !$q->{params} && chance(0.5) ? 'true' : conditions($q);
	my $by = join ', ', map { $_ . direction() } @terms, $time->[0];

	compare_places($q, @keys + 1,
		"SELECT $targets FROM side.$q->{layout}{name} WHERE $where",
		" ORDER BY $by" . (chance(0.2) ? limit($q) : ''));
	$q->{sql} =~ s/^SELECT/SELECT DISTINCT ON ($list)/;
	return;
}

# The last points of some series, whose rows are not sorted
sub lateral
{
	my ($q, @keys) = @_;
	my ($time, $name) = ($q->{layout}{columns}[0][0], $q->{layout}{name});
	my $same = join ' AND ', map { "$_->[0] = s_$_->[0]" } @keys;
	my $where = conditions($q);
	my $list = join ', ', map { "s_$_->[0]" } @keys;
	my $series = chance(0.6) ? "(SELECT DISTINCT $list FROM series) s"
	  : '(SELECT DISTINCT '
	  . join(', ', map { "$_->[0] AS s_$_->[0]" } @keys)
	  . " FROM side.$name) s";
	my $points = "SELECT * FROM side.$name WHERE $where";
	my $n = pick(1, 1, between(1, 5));
	my $direction = direction();
	my $targets = "$list, t.*, $time AS o1";

	$q->{sql} = "SELECT $targets FROM $series, LATERAL ("
	  . "$points AND $same ORDER BY $time$direction LIMIT $n) t";
	$q->{whole} = "SELECT $targets FROM $series JOIN ($points) t ON $same";
	$q->{keys} = "$list, o1";
	return;
}

# Row numbers in each series; tied rows are numbered in any order.
sub numbered
{
	my ($q, @keys) = @_;
	my $time = $q->{layout}{columns}[0][0];
	my $names = join ', ', map { $_->[0] } @keys;
	my $number = pick('row_number', 'rank', 'dense_rank');

	$q->{sql} = "SELECT * FROM (SELECT $names, $time, $number() OVER "
	  . "(PARTITION BY $names ORDER BY $time" . direction() . ') AS o '
	  . "FROM side.$q->{layout}{name} WHERE " . conditions($q)
	  . ') t WHERE o <= ' . between(1, 3);
	return;
}

# The first and the last time of a series, which an ordered scan finds
sub extremes
{
	my ($q, @keys) = @_;
	my ($time, $name) = ($q->{layout}{columns}[0][0], $q->{layout}{name});
	my $list = join ', ',
	  map { "$_($time)" } @{ pick([ 'min', 'max' ], ['min'], ['max']) };
	my $where = conditions($q);
	my $same = join ' AND ', map { "$_->[0] = s_$_->[0]" } @keys;

	$q->{sql} = chance(0.5) ? "SELECT $list FROM side.$name WHERE $where"
	  : 'SELECT s_n, (SELECT ' . $time
	  . " FROM side.$name WHERE $where AND $same ORDER BY 1"
	  . direction() . ' LIMIT 1) FROM series';
	return;
}

# The first or the last time of each series, which a skip scan finds
sub extremes_of_each
{
	my ($q, @keys) = @_;
	my ($time, $name) = ($q->{layout}{columns}[0][0], $q->{layout}{name});
	my $names = join ', ', map { $_->[0] } @keys;
	my $extreme = pick('min', 'max') . "($time)";

	$q->{sql} = "SELECT $names, $extreme FROM side.$name WHERE "
	  . conditions($q) . " GROUP BY $names"
	  . pick('', '', " HAVING $extreme IS NOT NULL");
	return;
}

sub first_of_each
{
	my ($q) = @_;
	my @all = key_columns($q);
	my @keys = grep { chance(0.3) } @all;

	@keys = pick(@all) unless @keys;
	pick(\&distinct_on, \&distinct_on, \&lateral, \&lateral, \&numbered,
		\&extremes, \&extremes_of_each)->($q, @keys);
	$q->{kind} = 'first of each';
	delete $q->{has_time};
	return;
}

1;
