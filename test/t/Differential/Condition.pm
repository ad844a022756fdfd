# Makes random conditions on the columns of a layout.
#
# Their query, q, is a hash: layout; params, the parameters of a prepared
# query, each [type, code that draws a value], which this module appends;
# has_time, which this module sets if one of the ANDed conditions is on the
# time alone.  Then the query must read only some buckets.

package Differential::Condition;

use strict;
use warnings;

use Differential::Data;
use Differential::Time qw(composed label new_zone truncated);
use Exporter qw(import);

our @EXPORT_OK = qw(conditions plain_conditions bucket_condition
  column_condition param new_zone);

my @comparisons = ('=', '<>', '<', '<=', '>', '>=');
my %other_side = (
	'=' => '=', '<>' => '<>', '<' => '>', '<=' => '>=', '>' => '<',
	'>=' => '<=');

# The types that a type is compared with
my %peers = (
	timestamptz => [ ('timestamptz') x 4, 'timestamp', 'date' ],
	timestamp => [ ('timestamp') x 3, 'timestamptz', 'date' ],
	date => [ ('date') x 2, 'timestamp', 'timestamptz' ],
	int2 => [qw(int2 int4 int8)], int4 => [qw(int2 int4 int8)],
	int8 => [qw(int2 int4 int8)],
	float8 => [qw(float8 float8 float4)]);

my %sql_of = (
	timestamptz => \&sql_timestamptz, timestamp => \&sql_timestamp,
	date => \&sql_date);

# ---- Right-hand sides -----------------------------------------------------

# An interesting instant: at a point or the edge of a bucket, near one, or far
# away
sub instant
{
	my ($q) = @_;
	my $t = pick(@{ $q->{layout}{edges} });

	return $t if chance(0.5);
	return $t + pick(-1, 1, -500, 500, 999, -1000, 1000) if chance(0.4);
	return $t + between(-HOUR, HOUR) if chance(0.5);
	return $t + between(-40, 40) * DAY;
}

# An instant as a literal of a type
sub time_literal
{
	my ($type, $t) = @_;

	return "${type} '" . pick('infinity', '-infinity') . q(')
	  if chance(0.05);
	return "${type} '" . pick('0001-01-01', '5000-01-01') . q(')
	  if chance(0.01);
	return "NULL::$type" if chance(0.01);
	return $sql_of{$type}->($t);
}

# An instant as an expression that is evaluated when the scan starts
sub stable_time
{
	my ($q, $type, $t) = @_;
	my $ago = time() - int($t / SECOND);
	my $literal = $sql_of{timestamptz}->($t);
	my $text = $literal =~ s/^timestamptz //r;
	my @forms = (
		"(now() - interval '$ago seconds')", "($text\::text)::timestamptz",
		"(current_date - " . int($ago / 86400) . ')',
		"(localtimestamp - interval '$ago seconds')",
		"(SELECT $literal)",
		'(SELECT at FROM edges WHERE n = '
		  . int(rand(@{ $q->{layout}{edges} })) . ')',
		'to_timestamp(' . $t / SECOND . ')',
		"($literal AT TIME ZONE '" . new_zone() . q{')});

	return pick(@forms) . "::$type";
}

# A parameter, whose value is drawn for each execution
sub param
{
	my ($q, $type, $draw) = @_;

	push @{ $q->{params} }, [ $type, $draw ];
	return '$' . @{ $q->{params} };
}

sub time_value
{
	my ($q, $type, $t) = @_;

	if ($q->{params} && chance(0.6))
	{
		return param($q, $type, sub { time_literal($type, instant($q)) });
	}
	$t //= instant($q);
	return chance(0.2) ? stable_time($q, $type, $t) : time_literal($type, $t);
}

# A value to compare a column other than the time with
sub other_value
{
	my ($q, $type, $pool) = @_;
	my $draw = sub {
		# a value that does not fit is an error of the query itself
		my @fit = grep {
			!($type eq 'int2' && m/^-?\d+$/ && abs($_) > 32767)
		} @$pool;
		my $value = chance(0.03) ? 'NULL' : pick(@fit);

		# a cast comes before the sign, and int4 cannot hold 2147483648
		return "($value)::$type";
	};

	return param($q, $type, $draw) if $q->{params} && chance(0.5);
	return '(SELECT ' . $draw->() . ')' if chance(0.05);
	return $draw->();
}

sub value
{
	my ($q, $column, $type) = @_;
	my (undef, $own, undef, $pool) = @$column;

	return time_value($q, $type) unless $pool;
	return other_value($q, $type, $pool);
}

# ---- Conditions -----------------------------------------------------------

sub peer_of
{
	my ($type) = @_;
	$type = 'text' if $type =~ m/^varchar/;
	return $peers{$type} ? pick(@{ $peers{$type} }) : $type;
}

sub list_condition
{
	my ($q, $column, $left) = @_;
	my $type = $column->[1] =~ m/^varchar/ ? 'text' : $column->[1];
	my $list;

	$type = peer_of($type) if chance(0.3);
	$list = join(', ', map { value($q, $column, $type) } 1 .. between(1, 5));
	$list .= ', NULL' if chance(0.1);
	return "$left " . pick('IN', 'IN', 'NOT IN') . " ($list)"
	  if $type =~ m/\[\]$/ || chance(0.6);
	return "$left " . pick('= ANY', '<> ALL', '< ANY', '>= ALL')
	  . " (ARRAY[$list]::$type\[])";
}

# A range of times, mostly narrow, sometimes reversed
sub time_range
{
	my ($q, $left, $type) = @_;
	my $from = instant($q);
	my $to = $from
	  + pick(0, 1, 1000, SECOND, 7 * SECOND, MINUTE, 10 * MINUTE, HOUR, DAY,
		40 * DAY);
	($from, $to) = ($to, $from) if chance(0.07);
	my ($a, $b) =
	  (time_value($q, $type, $from), time_value($q, $type, $to));

	return "$left BETWEEN $a AND $b" if chance(0.3);
	return "($left < $a OR $left >= $a)" if !$q->{params} && chance(0.05);
	return "$left NOT BETWEEN $a AND $b" if chance(0.05);
	return "($left " . pick('>', '>=') . " $a AND $left "
	  . pick('<', '<=') . " $b)";
}

# A range of seconds since 1970, whose bounds may lie between two microseconds
sub epoch_condition
{
	my ($q, $name) = @_;
	my $draw = sub {
		return pick(qw('NaN'::numeric 'infinity'::numeric -1e15 1e15))
		  if chance(0.03);
		return sprintf('%.6f', instant($q) / SECOND)
		  . pick('', '', '0000005', '9');
	};
	my $epoch = "extract(epoch from $name)";

	return "$epoch BETWEEN " . $draw->() . ' AND ' . $draw->() if chance(0.3);
	return "$epoch IN (" . $draw->() . ', ' . $draw->() . ')' if chance(0.1);
	return $draw->() . ' ' . pick(@comparisons) . " $epoch" if chance(0.2);
	return "$epoch " . pick(@comparisons) . ' ' . $draw->();
}

# A range or a period that a time is in
sub period_condition
{
	my ($q, $name, $type) = @_;
	my ($from, $to) = map { time_value($q, $type) } 1 .. 2;
	my %range_of = (
		timestamptz => 'tstzrange', timestamp => 'tsrange',
		date => 'daterange');
	my $range = $range_of{$type} . "(least($from, $to), greatest($from, $to), '"
	  . pick('[)', '[]', '()', '(]') . q{')};

	return "$range \@> $name" if chance(0.2);
	return "($name, $name) OVERLAPS ($from, $to)"
	  if $type ne 'date' && chance(0.3);
	return pick('', '', 'NOT ') . "$name <\@ $range";
}

# A comparison of a function of the time with values that it has at other times
sub function_condition
{
	my ($q, $name, $type) = @_;
	my $function = pick(\&composed, \&truncated, \&label)->('#', $type);
	my $at = sub { return $function =~ s/#/$_[0]/gr };
	my $value = sub { return '(' . $at->('(' . $sql_of{$type}->(instant($q)) . ')') . ')' };
	my $left = '(' . $at->($name) . ')';

	return period_condition($q, $name, $type) if chance(0.15);
	return "$left " . pick('IN', 'NOT IN') . ' (' . $value->() . ', ' . $value->() . ')' if chance(0.15);
	return "$left BETWEEN " . $value->() . ' AND ' . $value->() if chance(0.15);
	return $value->() . ' ' . pick(@comparisons) . " $left" if chance(0.1);
	return "$left " . pick('=', @comparisons) . ' ' . $value->();
}

sub text_condition
{
	my ($q, $left, $pool) = @_;
	my @patterns = ('mem%', 'memory_u%', 'memory\_f%', 'é%', '%', '_%', 'A b',
		'A b\_c', 'memory%ed', '', 'z%', 'memory_used%%', '\é%');

	return "$left LIKE '" . pick(@patterns) . q(') if chance(0.5);
	return "$left NOT LIKE '" . pick(@patterns) . q(') if chance(0.2);
	return $left . ' COLLATE ' . pick('"C"', '"C"', '"und-x-icu"') . ' '
	  . pick(@comparisons) . ' '
	  . pick(map({ sql_text($_) } 'A', 'a', 'memory_m', 'é', ''), @$pool);
}

# A condition on one column
sub column_condition
{
	my ($q, $column) = @_;
	my ($name, $type, undef, $pool) = @$column;
	my $is_time = !$pool;
	my $peer = peer_of($type);
	my $left = $name;

	$left = "$name\::" . pick(qw(date timestamp timestamptz))
	  if ($is_time || $type eq 'timestamptz') && chance(0.15);
	$left = '(' . truncated($name, $type) . ')' if $is_time && chance(0.1);
	$peer = pick(qw(date timestamp timestamptz)) if $left ne $name;
	return epoch_condition($q, $name)
	  if $is_time && $type eq 'timestamptz' && chance(0.1);
	return "$left IS " . pick('', 'NOT ') . 'NULL' if chance(0.06);
	return "$left IS " . pick('', 'NOT ') . 'DISTINCT FROM '
	  . value($q, $column, $peer) if chance(0.02);
	return pick($left, "$left IS TRUE", "$left IS FALSE",
		"$left IS NOT TRUE", "$left = true", "$left <> false", "NOT $left")
	  if $type eq 'bool' && chance(0.7);
	return text_condition($q, $left, $pool)
	  if $peer =~ m/^(text|char)/ && chance(0.4);
	return list_condition($q, $column, $left) if chance(0.15);
	return time_range($q, $left, $peer) if $is_time && chance(0.5);
	return value($q, $column, $peer) . " BETWEEN $left AND $left"
	  if chance(0.02);

	my $operator = pick(@comparisons);
	my $right = value($q, $column, $peer);
	return "$right $other_side{$operator} $left" if chance(0.15);
	return "$left $operator $right";
}

# Any condition, most often on the time, or on the column to be tested
# A condition without a column, which a plan does not compute
sub constant_condition
{
	my ($q) = @_;
	my $value = $q->{params} ? param($q, 'int', sub { pick('NULL', 0, 1) })
	  : 'extract(hour FROM now() - now())';

	return pick("$value IS NULL", "$value IS NOT NULL", "$value = 1",
		"$value < 1");
}

sub condition
{
	my ($q, $depth) = @_;
	my $columns = $q->{layout}{columns};
	my $tested = $q->{layout}{tested};

	return constant_condition($q) if $depth < 4 && chance(0.05);

	if ($depth > 0 && chance(0.45))
	{
		my $nested = join pick(' AND ', ' OR '),
		  map { condition($q, $depth - 1) } 1 .. between(2, 3);
		$nested = "($nested)";
		$nested = "NOT $nested" if chance(0.3);
		$nested .= ' IS ' . pick('TRUE', 'FALSE', 'NOT TRUE', 'UNKNOWN')
		  if chance(0.08);
		return "($nested)";
	}
	return function_condition($q, @{ $columns->[0] }[ 0, 1 ])
	  if chance($ENV{FUNCTIONS} // 0.1);
	return column_condition($q,
		$tested && chance(0.5) ? $tested
		: chance(0.5) ? $columns->[0] : pick(@$columns));
}

# A condition on the time that excludes some buckets
sub bucket_condition
{
	my ($q) = @_;
	my $time = $q->{layout}{columns}[0];
	my $before = $q->{params} && @{ $q->{params} };

	for (;;)
	{
		splice(@{ $q->{params} }, $before) if $q->{params};
		my $condition = column_condition($q, $time);
		return $condition
		  unless $condition =~ m/<>|NOT|IS|ALL|ANY|OR|infinity|-01-01'/;
	}
}

# The condition of a chart: a range of time, often of one series
sub plain_conditions
{
	my ($q) = @_;
	my ($time, @keys) = @{ $q->{layout}{columns} };
	my $condition = bucket_condition($q);
	my $key = pick(@keys[ 0 .. $#keys - 1 ]);
	my $type = $key->[1] =~ m/^varchar/ ? 'text' : $key->[1];

	$q->{has_time} = 1;
	return $condition if chance(0.6);
	return "$condition AND $key->[0] = " . value($q, $key, $type);
}

# ANDed conditions, as they follow WHERE
sub conditions
{
	my ($q) = @_;
	my @conditions;

	if (chance(0.5))
	{
		push @conditions, bucket_condition($q);
		$q->{has_time} = 1;
	}
	push @conditions, condition($q, 4)
	  foreach 1 .. between(@conditions ? 0 : 1, 2);
	return join(' AND ', @conditions);
}

1;
