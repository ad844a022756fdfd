# Makes random aggregates over one layout, for the differential test.
#
# aggregation(q) and chart(q) make whole queries, totals(q) returns a list of
# aggregates.  Results whose last digit depends on the order of points are
# rounded.  See Condition.pm for q.

package Differential::Aggregate;

use strict;
use warnings;

use Differential::Condition qw(column_condition conditions
  plain_conditions);
use Differential::Data;
use Differential::Time qw(composed label new_zone truncated);
use Exporter qw(import);

our @EXPORT_OK = qw(aggregation any_key chart having keys_of_groups text_of
  time_group totals);

# Expressions of a time that people and their tools group by
sub time_group
{
	my ($time, $type) = @_;
	return label($time, $type) if $ENV{LABELS};
	return composed($time, $type) if chance(0.3);
	return truncated($time, $type) if chance(0.2);
	return label($time, $type) if chance(0.2);
	my $unit = pick(qw(second minute hour day week month year));
	my $seconds = pick(1, 7, 60, 300, 3600, 5400, 86400);
	my $epoch = "floor(extract(epoch from $time) / $seconds) * $seconds";
	my $zone = new_zone();
	my ($whole, $part) = @{ pick([ 'hour', 'minute' ], [ 'minute', 'second' ]) };
	my $size = pick(5, 10, 15, 30);
	my $grain = "date_trunc('$whole', $time) + "
	  . "interval '$size $part' * floor(extract($part from $time) / $size)";

	return pick("date_trunc('$unit', $time)", $epoch,
		$type eq 'date' ? () : $grain,
		"to_timestamp($epoch)", "$time\::date",
		"floor(date_part('epoch', $time) / $seconds)",
		"date_trunc('$unit', $time\::timestamp)",
		"(extract(epoch from $time) / $seconds)::bigint * $seconds",
		"extract(epoch from $time)::bigint / $seconds * $seconds",
		$type eq 'timestamptz'
		? ("date_trunc('$unit', $time, '$zone')",
			"date_trunc('$unit', $time AT TIME ZONE '$zone')",
			"date_bin('$seconds seconds', $time, "
			  . "timestamptz '2001-01-01 00:00:00Z')")
		: ());
}

# Any other expression of values, keys and times; some may fail
sub any_key
{
	my ($q) = @_;
	my ($time, $last, @keys) = names_of($q);
	my $type = $q->{layout}{columns}[0][1];
	my $n = between(1, 50);
	my $of_time = time_group($time, $type);
	my $zone = new_zone();
	my $local = $type eq 'timestamptz' ? "($time AT TIME ZONE '$zone')"
	  : "$time\::timestamp";

	return pick($time, "$last > $n", "round($last)", "floor($last / $n)",
		"$last IS NULL", "coalesce(sign($last), 7)",
		"CASE WHEN $last > $n THEN $of_time END",
		"CASE WHEN $last > $n THEN floor(100 / ($last - $n - 5)) END",
		"floor($n / $last)", "($of_time)::text || '-'",
		"to_char($local, 'HH24') || (extract(minute from $local)::int / $n)",
		"$local\::time", "$local - date_trunc('day', $local)",
		"extract(month from $local) * 100 + extract(day from $local)",
		"$n - extract(hour from $local)",
		"extract(epoch from $local)::int / $n",
		"mod(extract(epoch from $local)::bigint, $n)",
		"to_timestamp(extract(epoch from $local) * $n)",
		"part_of_day($time)", "part_of_day(date_trunc('hour', $time))",
		"parity($last)", "ARRAY[part_of_day($time), parity($last)]",
		map { my $text = text_of($_);
			("coalesce($text, 'none')", "$_ IS NULL",
			"CASE WHEN $_ IS NULL THEN $of_time END",
			"coalesce($text, '') || part_of_day($time)") } @keys);
}

# A key as text that is the same for equal keys.  Equal numerics may be stored
# in several ways, and print different digits.
sub text_of
{
	my ($key) = @_;
	return $key =~ m/^(kn|oddn)$/ ? "trim_scale($key)::text" : "$key\::text";
}

# The names of the time, of the keys and of the last column, which is a value
sub names_of
{
	my ($q) = @_;
	my ($time, @others) = map { $_->[0] } @{ $q->{layout}{columns} };
	my $last = pop @others;

	return ($time, $last, @others);
}

# A condition on the value, on the time or on any column
sub filter
{
	my ($q) = @_;
	my @columns = @{ $q->{layout}{columns} };
	my $last = $columns[-1][0];

	return "$last " . pick('> 0', '< 50', '>= 55.5', '<> 0', 'IS NULL',
		'IS NOT NULL', 'IN (0, 1, 25)', 'BETWEEN -10 AND 10') if chance(0.4);
	return column_condition($q, pick(@columns[ 0, -1 ], pick(@columns)));
}

# Aggregates whose arguments are computed
sub of_expressions
{
	my ($q) = @_;
	my ($time, $last, @keys) = names_of($q);
	# a numeric's text depends on how it is stored
	my @texts = map { $_->[0] }
	  grep { $_->[1] ne 'numeric' } @{ $q->{layout}{columns} };
	my $argument = pick("$last * 2", "abs($last)", "-$last",
		"coalesce($last, 0)", "$last\::numeric", "$last * $last",
		"CASE WHEN $last > 0 THEN $last END", "greatest($last, 3)");

	return ((map { "$_($argument)" } qw(sum avg min max count)),
		"sum($last + 1)", "bool_and($last > 0)", "bool_or($last IS NULL)",
		"every($last < 90)", "count($last > 0)",
		"max($time - interval '1 hour')",
		(map { "count($_)" } @keys),
		map { "max($_\::text COLLATE \"C\")" } @texts);
}

# Aggregates over a part of the points
sub filtered
{
	my ($q) = @_;
	my ($time, $last) = names_of($q);
	my @of = ('count(*)', "count($last)", "sum($last)", "avg($last)",
		"min($last)", "max($last)", "max($time)", "sum(abs($last))");

	return map { pick(@of) . ' FILTER (WHERE ' . filter($q) . ')' }
	  1 .. between(1, 3);
}

# A result without the last digits, which depend on the order of points.  The
# summand keeps it away from the middle between two rounded numbers, where the
# values' few binary digits would put it.
sub rounded
{
	my ($result) = @_;
	return "round($result\::numeric + 0.00012345678, 3)";
}

# The aggregates of the odd column that its type has; arrays are aggregated as
# text
sub of_odd
{
	my ($q) = @_;
	my $odd = $q->{layout}{odd} or return;
	my ($name, $type) = @$odd;
	my $list = $type =~ m/\[\]$/ ? "$name\::text" : $name;
	my @of = $type eq 'bool' ? qw(bool_and bool_or)
	  : $type =~ m/^(bytea|uuid|jsonb)$/ ? ()
	  : $type =~ m/^(numeric|float|int)[^[]*$/ ? qw(sum avg min max) : qw(min max);

	return ("count($name)", "count(DISTINCT $name)", "array_agg($list ORDER BY $list)",
		"array_agg(DISTINCT $list)", map { "$_($name)" } @of);
}

# All available aggregates
sub any_of
{
	my ($q) = @_;
	my ($time, $last, @keys) = names_of($q);
	my @columns = @{ $q->{layout}{columns} };

	return (
		'count(*)', "count($last)", "sum($last)", "avg($last)",
		"min($last)", "max($last)", "min($time)", "max($time)",
		rounded("stddev($last)"), rounded("var_pop($last)"),
		'count(DISTINCT ' . pick(map { $_->[0] } @columns) . ')',
		"sum(DISTINCT $last)", "array_agg($last ORDER BY $last)",
		"percentile_cont(0.5) WITHIN GROUP (ORDER BY $last)",
		of_expressions($q), of_odd($q),
		(map { "max($_->[0])" } grep { $_->[1] eq 'text' } @columns),
		map { "sum($last) FILTER (WHERE $_ IS NOT NULL)" } @keys);
}

# Some aggregates of the values alone, for which the extension may read all
# values of a bucket at once, or only its header
sub plain_totals
{
	my ($q) = @_;
	my (undef, $last) = names_of($q);
	my @totals = grep { chance(0.3) } 'count(*)',
	  (map { "$_($last)" } qw(count sum avg min max)),
	  (map { ("min($_->[0])", "max($_->[0])") } @{ $q->{layout}{extremes} // [] }),
	  grep { !m/array_agg/ } of_odd($q);

	return @totals ? @totals : 'count(*)';
}

# Aggregates that ignore repeated rows, mostly of a key
sub different
{
	my ($q) = @_;
	my ($time, $last, @keys) = names_of($q);
	my @of = ((map { ("count(DISTINCT $_)") x 2 } @keys), "max($time)",
		"count(DISTINCT date_trunc('hour', $time))", "max($keys[0])",
		"count(DISTINCT floor(100 / ($last - " . between(0, 25) . ')))',
		pick("min($last)", "sum(DISTINCT $last)", "count(DISTINCT $last)"));

	return map { "count(DISTINCT $_)" } pick(@keys), grep { chance(0.2) } @keys
	  if chance(0.5);
	return map { pick(@of) . (chance(0.5) ? '' : ' FILTER (WHERE '
			. filter($q) . ')') } 1 .. pick(1, 1, 2);
}

# The numbers of different keys, perhaps of groups by a key, for which one row
# of each series is enough
sub keys_of_groups
{
	my ($q) = @_;
	my ($time, undef, @keys) = names_of($q);
	my $key = pick(@keys);
	my $is_array = ($q->{layout}{odd} // ['', ''])->[1] =~ m/\[\]$/;
	my $totals = join ', ',
	  map { my $name = $is_array && $_ eq 'odd' ? 'odd::text' : $_;
		pick("count(DISTINCT $_)", "array_agg(DISTINCT $name)") }
	  pick(@keys), grep { chance(0.2) } @keys;
	my $of = "FROM side.$q->{layout}{name} WHERE "
	  . (chance(0.3) ? plain_conditions($q)
		: pick('true', 'true', "$key IS NOT NULL"));

	$q->{kind} = 'groups';
	$q->{sql} = chance(0.5) ? "SELECT $totals $of"
	  : "SELECT $key, $totals $of GROUP BY 1";
	return;
}

# Some aggregates
sub totals
{
	my ($q) = @_;
	my (undef, $last) = names_of($q);

	return different($q) if chance(0.1);
	my @totals = chance(0.5) ? plain_totals($q)
	  : grep { chance(0.15) } any_of($q);

	push @totals, filtered($q) if chance(0.25);
	push @totals, 'count(*)' unless @totals && chance(0.95);
	return @totals;
}

sub groups
{
	my ($q) = @_;
	my ($time, undef, @keys) = names_of($q);
	my @groups = grep { chance(0.4) } @keys;

	push @groups, time_group($time, $q->{layout}{columns}[0][1])
	  if chance(0.6);
	push @groups, any_key($q) if chance(0.3);
	return @groups;
}

sub having
{
	my ($q) = @_;
	my ($time, $last) = names_of($q);

	return ' HAVING ' . pick('count(*) > 1', "max($last) IS NOT NULL",
		"sum($last) > 10", "count($last) < count(*)",
		"min($time) < max($time)", "avg(abs($last)) > 5 OR count(*) = 1",
		"count(*) FILTER (WHERE $last > 0) > 0");
}

# Sort the groups by all of their keys, and limit them; then the positions of
# the rows are compared, too.
sub in_order
{
	my ($sql, $n) = @_;
	my @order = map { "$_" . pick('', ' DESC', ' NULLS FIRST') } 1 .. $n;

	$sql .= ' ORDER BY ' . join(', ', @order);
	$sql .= ' LIMIT ' . between(1, 10) if chance(0.6);
	$sql .= ' OFFSET ' . between(0, 4) if chance(0.3);
	return "SELECT row_number() OVER () AS place, t.* FROM ($sql) t";
}

# A period of a chart.  It contains whole buckets, or begins and ends within
# some of them.
sub period
{
	my ($time, $type) = @_;
	my $unit = pick(qw(hour day month));
	my $seconds = pick(100, 5400, 100_000);

	return time_group($time, $type) if chance(0.3);
	return pick("date_trunc('$unit', $time)", "$time\::date",
		"floor(extract(epoch from $time) / $seconds)");
}

# A query of a chart
sub chart
{
	my ($q) = @_;
	my ($time, $last, @keys) = names_of($q);
	my @groups = grep { chance(0.5) } pick(@keys),
	  period($time, $q->{layout}{columns}[0][1]);
	my $by = @groups ? ' GROUP BY ' . join(', ', @groups) : '';
	my $where = chance(0.15) ? 'true' : plain_conditions($q);

	$q->{kind} = 'groups';
	$q->{sql} = 'SELECT ' . join(', ', @groups, plain_totals($q))
	  . " FROM side.$q->{layout}{name} WHERE $where$by";
	return;
}

sub aggregation
{
	my ($q) = @_;
	my @groups = groups($q);
	my @totals = totals($q);
	my $n = @groups;
	my $where = conditions($q);
	my $by = join ', ', 1 .. $n;

	# no aggregate fails on these
	$where = "($where) AND " . (names_of($q))[1] . ' < 0' if chance(0.1);
	my ($distinct, $end) = ('', '');

	if (!$q->{params} && chance(0.3))
	{
		$where = 'true';
		delete $q->{has_time};
	}
	if ($n > 0)
	{
		@totals = () if chance(0.1);
		$distinct = 'DISTINCT ' if chance(0.08);
		$end = chance(0.1) ? ' GROUP BY ' . pick("ROLLUP ($by)", "CUBE ($by)",
			"GROUPING SETS (($by), (1), ())") : " GROUP BY $by"
		  unless $distinct && !@totals;
	}
	$end .= having($q) if ($end || !$n) && chance(0.15);
	$q->{kind} = 'groups';
	$q->{sql} = "SELECT $distinct" . join(', ', @groups, @totals)
	  . " FROM side.$q->{layout}{name} WHERE $where$end";
	$q->{sql} = in_order($q->{sql}, $n)
	  if $end =~ m/GROUP BY \d/ && chance(0.15);
	return;
}

1;
