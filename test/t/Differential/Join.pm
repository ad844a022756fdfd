# Makes random queries that join one layout with a local table or with itself,
# for the differential test.
#
# The local table, series, has a column s_k for each key k of the layout, with
# keys that exist, other keys and NULL.  Each row has a range of time, s_from
# to s_to, and a number, s_n.  The other columns of the last row are NULL.

package Differential::Join;

use strict;
use warnings;

use Differential::Aggregate qw(totals);
use Differential::Condition qw(conditions);
use Differential::Data;
use Differential::Order qw(key_columns);
use Exporter qw(import);

our @EXPORT_OK = qw(joined in_loop fill_series points same_key);

# The number of its rows
use constant SERIES => 12;

# ---- The local table ------------------------------------------------------

sub key_of_series
{
	my ($column, $own) = @_;

	return 'NULL' if chance(0.1);
	return $own if chance(0.7);
	return pick(@{ $column->[3] });
}

# A row of series, mostly with the key and time of an existing point
sub row_of_series
{
	my ($layout, @keys) = @_;
	my $point = pick(grep { $_->[0] ne 'NULL' } @{ $layout->{rows} });
	my $type = $layout->{columns}[0][1];
	my $from = chance(0.7) ? $point->[0]
	  : $layout->{time_sql}->(pick(@{ $layout->{edges} }));
	my $interval = pick('0', '1 second', '7 seconds', '1 minute',
		'10 minutes', '1 hour', '1 day', '40 days', '-1 hour');
	my $to = chance(0.05) ? "'infinity'" : "$from + interval '$interval'";
	my $i = 0;

	return join ', ', (map { key_of_series($_, $point->[ ++$i ]) } @keys),
	  chance(0.03) ? 'NULL' : "($from)::$type", "($to)::$type";
}

sub fill_series
{
	my ($layout) = @_;
	my @keys = key_columns({ layout => $layout });
	my $n = 0;
	my @rows = map { ++$n . ', ' . row_of_series($layout, @keys) }
	  1 .. SERIES - 1;
	my $list = join ', ', map {
		my ($name, $type, $rest) = @{$_}[ 0, 1, 4 ];
		$rest = '' unless $rest && $rest =~ m/^COLLATE/;
		"s_$name $type $rest"
	} @keys;
	my $type = $layout->{columns}[0][1];

	return "DROP TABLE IF EXISTS series;\n"
	  . "CREATE TABLE series (s_n int PRIMARY KEY, $list, "
	  . "s_from $type, s_to $type);\nINSERT INTO series VALUES ("
	  . join("), (", @rows) . ');'
	  . 'INSERT INTO series VALUES (' . SERIES . ");\nANALYZE series;\n";
}

# ---- Join conditions ------------------------------------------------------

# A comparison of a key with a column of another table
sub same_key
{
	my ($column, $other) = @_;
	my ($name, $type, undef, $pool) = @$column;
	my @forms = (
		("$name = $other") x 10, ("$other = $name") x 3,
		"$name IS NOT DISTINCT FROM $other",
		"($name = $other OR $other IS NULL)",
		$type =~ m/\[\]$/ ? () : "$name = ANY (ARRAY[$other, " . pick(@$pool) . "])",
		"$name IN ($other, " . pick(@$pool) . ')');

	push @forms, "$name <> $other" if chance(0.3);
	push @forms, "$name = $other\::int8", "$name\::int8 = $other"
	  if $type =~ m/^int\d$/;
	push @forms, "$name COLLATE \"C\" >= $other COLLATE \"C\"",
	  "$name LIKE $other || '%'" if $type eq 'text';
	return pick(@forms);
}

sub same_time
{
	my ($layout) = @_;
	my ($time, $type) = @{ $layout->{columns}[0] };
	my $span = pick('1 second', '5 minutes', '1 hour', '3 days');

	return pick(
		"$time BETWEEN s_from AND s_to", "$time BETWEEN s_from AND s_to",
		"$time >= s_from AND $time < s_to", "$time = s_from",
		"s_from <= $time AND s_to >= $time",
		"$time >= s_from AND $time < s_from + interval '$span'",
		"$time >= s_from - interval '$span' AND $time <= s_from",
		"date_trunc('hour', $time) = date_trunc('hour', s_from)");
}

# On the keys, mostly one of them, or on the time, or on both
sub match
{
	my ($q) = @_;
	my @columns = key_columns($q);
	my @keys = chance(0.8) ? pick(@columns) : grep { chance(0.4) } @columns;
	my @terms;

	push @terms, map { same_key($_, "s_$_->[0]") } @keys if chance(0.75);
	push @terms, same_time($q->{layout}) if !@terms || chance(0.6);
	return join ' AND ', @terms;
}

# The series that are joined
sub some_series
{
	return pick('series', '(SELECT * FROM series WHERE s_n <= '
		  . between(1, SERIES) . ') s');
}

# The points that are joined, as a subquery that the planner pulls up; a share
# of these has no condition
sub points
{
	my ($q, $share) = @_;
	my $where = chance($share // 0.4) ? 'true' : conditions($q);

	return "(SELECT * FROM side.$q->{layout}{name} WHERE $where)";
}

# ---- Joins ----------------------------------------------------------------

# The select list of a join
sub ask_of
{
	my ($q, $from) = @_;
	my ($time, @others) = map { $_->[0] } @{ $q->{layout}{columns} };
	my $form = pick(qw(rows some sum sum count sorted));

	return "SELECT * FROM $from" if $form eq 'rows';
	return 'SELECT ' . join(', ', 's_n', pick(@others)) . " FROM $from"
	  if $form eq 'some';
	return "SELECT count(*) FROM $from" if $form eq 'count';
	return "SELECT row_number() OVER () AS place, u.* FROM (SELECT s_n, $time "
	  . "FROM $from ORDER BY " . pick("$time, s_n", "s_n, $time DESC")
	  . pick('', ' LIMIT ' . between(1, 20)) . ') u' if $form eq 'sorted';

	my $group = pick('s_n', @others, "date_trunc('hour', $time)");
	return "SELECT $group, " . join(', ', totals($q))
	  . " FROM $from GROUP BY 1";
}

sub join_series
{
	my ($q) = @_;
	my ($series, $points) = (some_series(), points($q) . ' t');
	my $join = pick(('JOIN') x 3, ('LEFT JOIN') x 2);

	if (chance(0.07))
	{
		my $name = (pick(key_columns($q)))->[0];
		return ask_of($q, "$series FULL JOIN $points ON $name = s_$name");
	}
	($series, $points) = ($points, $series) if chance(0.3);
	return ask_of($q, "$series $join $points ON " . match($q));
}

# Series with points, or without
sub with_points
{
	my ($q) = @_;
	my $series = some_series();
	my ($not, $points) = (pick('', '', 'NOT '), points($q));

	return "SELECT s_n FROM $series WHERE ${not}EXISTS (SELECT FROM "
	  . "$points t WHERE " . match($q) . ')' if chance(0.5);
	my $name = (pick(key_columns($q)))->[0];
	return "SELECT s_n FROM $series WHERE s_$name ${not}IN "
	  . "(SELECT $name FROM $points t)";
}

# Points with a row in series, or without one
sub of_series
{
	my ($q) = @_;
	my $series = some_series();
	my ($not, $points) = (pick('', '', 'NOT '), points($q));
	my $name = (pick(key_columns($q)))->[0];
	my $condition = pick(
		"$name ${not}IN (SELECT s_$name FROM $series)",
		"${not}EXISTS (SELECT FROM $series WHERE " . match($q) . ')');
	my $list = chance(0.5) ? '*' : join(', ', totals($q));

	return "SELECT $list FROM $points t WHERE $condition";
}

# Points of a series that are near one another
sub self_join
{
	my ($q) = @_;
	my ($time, $value) = map { $_->[0] } @{ $q->{layout}{columns} }[ 0, -1 ];
	my $name = (pick(key_columns($q)))->[0];
	my $span = pick('0', '1 second', '30 seconds', '1 hour');
	my $near = pick(
		"b.$time = a.$time",
		"b.$time >= a.$time AND b.$time <= a.$time + interval '$span'");
	my $on = chance(0.8) ? "$near AND b.$name = a.$name" : $near;
	my $list = pick("a.$time, a.$name, b.$time, b.$value", 'count(*)',
		"count(*), sum(a.$value - b.$value), max(b.$time)");

	return "SELECT $list FROM " . points($q, 0.05) . ' a '
	  . pick('JOIN', 'LEFT JOIN') . ' ' . points($q) . " b ON $on";
}

# Points, their local copy, or series with the names of their columns, mostly
# without a condition
sub with_times
{
	my ($q, $alias, $name) = @_;
	my $time = $q->{layout}{columns}[0][0];
	my $points = points($q, 0.6);
	my $where = pick('true', 's_from ' . pick('<', '>=') . ' (SELECT max(s_from) FROM series '
		  . 'WHERE s_n < ' . between(1, SERIES) . ')');

	$points = "(SELECT s_from AS $time, s_$name AS $name FROM series WHERE $where)"
	  if chance(0.2);
	$points =~ s/side\./c./ if chance(0.15);
	return "$points $alias";
}

# Two or three relations whose times are equal.  A condition on one of them can
# be one on the others.
sub same_times
{
	my ($q) = @_;
	my $time = $q->{layout}{columns}[0][0];
	my $name = (pick(key_columns($q)))->[0];
	my ($x, $y, $z) = map { with_times($q, $_, $name) } qw(x y z);
	my $first = pick(('y') x 3, 'x');
	my ($xy, $yz) = map {
		my ($a, $b) = @$_;
		my @same = ("$a.$time = $b.$time", "$b.$name = $a.$name");
		pick(@same[ 0, 0 ], join ' AND ', @same)
	} [ 'x', 'y' ], [ $first, 'z' ];
	my ($one, $two) = map { pick(('JOIN') x 2, ('LEFT JOIN') x 2, 'RIGHT JOIN', 'FULL JOIN') } 1, 2;
	my $not = pick('', 'NOT ');
	my $list = pick("x.$time, x.$name", 'count(*), max(x.' . "$time)");

	return "SELECT $list FROM $x WHERE ${not}EXISTS (SELECT FROM $y WHERE $xy)"
	  if chance(0.25);
	return "SELECT $list FROM $x WHERE ${not}EXISTS (SELECT FROM $y $two $z ON "
	  . "$yz WHERE $xy)" if chance(0.15) && $first eq 'y';
	return "SELECT $list FROM $x $one $y ON $xy WHERE x.$time "
	  . "IN (SELECT z.$time FROM $z)" if chance(0.15);
	return "SELECT $list, count(y.$time) FROM $x $one $y ON $xy GROUP BY 1, 2"
	  if $list !~ m/count/ && chance(0.3);
	return "SELECT $list FROM $x $one $y ON $xy" if chance(0.5);
	return "SELECT $list FROM $x $one ($y $two $z ON $yz) ON $xy"
	  if chance(0.3) && $first eq 'y';
	return "SELECT $list FROM $x $one $y ON $xy $two $z ON $yz";
}

# Aggregates for each series
sub for_each_series
{
	my ($q) = @_;
	my $series = some_series();
	my $value = $q->{layout}{columns}[-1][0];
	my ($points, $match) = (points($q) . ' t', match($q));
	my $totals = join ', ', totals($q);

	return "SELECT s_n, (SELECT " . pick('count(*)', "max($value)",
		"sum($value)") . " FROM $points WHERE $match) FROM $series"
	  if chance(0.4);
	return "SELECT s_n, u.* FROM $series, LATERAL (SELECT $totals FROM "
	  . "$points WHERE $match) u";
}

sub joined
{
	my ($q) = @_;
	my $make = pick((\&join_series) x 4, \&with_points, \&of_series,
		\&self_join, (\&same_times) x 3, \&for_each_series);

	$q->{sql} = $make->($q);
	$q->{kind} = 'joined';
	delete $q->{has_time};
	return;
}

# A lateral subquery, which is rescanned for other times.  The end of the query
# follows its conditions.
sub in_loop
{
	my ($q, $sql, $end) = @_;
	my ($time, $type) = @{ $q->{layout}{columns}[0] };
	my $loops = join ', ',
	  map { int(rand(@{ $q->{layout}{edges} })) } 1 .. 4;
	my $until = "(e.at + interval '" . between(0, 100) . " minutes')";
	my $fence = pick('', ' OFFSET 0');

	return "SELECT e.n, t.* FROM edges e, LATERAL ($sql AND $time >= "
	  . "e.at::$type AND $time < $until\::$type$end$fence) t "
	  . "WHERE e.n IN ($loops)";
}

1;
