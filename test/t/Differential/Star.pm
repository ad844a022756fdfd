# Makes random aggregates over one layout that is joined with tables of
# dimensions, for the differential test.
#
# devices and sensors have a column for each key k of the layout, d_k or e_k,
# with keys that exist, some of them twice, other keys and NULL; a number, d_n;
# a kind, d_kind; and a name, d_name.  kinds has names of kinds.  calendar has
# hours, c_hour, and their labels.

package Differential::Star;

use strict;
use warnings;

use Differential::Aggregate qw(any_key having text_of time_group totals);
use Differential::Condition qw(conditions);
use Differential::Data;
use Differential::Join qw(points same_key);
use Differential::Order qw(key_columns);
use Exporter qw(import);

our @EXPORT_OK = qw(star fill_dimensions);

# The numbers of rows
use constant DEVICES => 14;
use constant HOURS => 25;

# ---- The tables of dimensions ---------------------------------------------

# A value of a key: of a point, NULL, or another one
sub value_of
{
	my ($column, $own) = @_;

	return 'NULL' if chance(0.1);
	return chance(0.8) ? $own : pick(@{ $column->[3] });
}

sub fill_devices
{
	my ($layout, $table, $p) = @_;
	my @keys = key_columns({ layout => $layout });
	my @points = grep { $_->[0] ne 'NULL' } @{ $layout->{rows} };
	my @rows;

	foreach my $n (1 .. DEVICES)
	{
		my $point = pick(@points);
		my $i = 0;
		push @rows, join ', ', $n,
		  (map { value_of($_, $point->[ ++$i ]) } @keys),
		  pick(0 .. 4, 'NULL'), pick("'a'", "'b'", "'c'", 'NULL');
	}
	my $list = join ', ', map {
		my ($name, $type, $rest) = @{$_}[ 0, 1, 4 ];
		$rest = '' unless $rest && $rest =~ m/^COLLATE/;
		"$p$name $type $rest"
	} @keys;
	my $index = chance(0.5) ? '' : "CREATE INDEX ON $table ($p$keys[0][0]);\n";

	return "DROP TABLE IF EXISTS $table;\n"
	  . "CREATE TABLE $table (${p}n int PRIMARY KEY, $list, ${p}kind int, "
	  . "${p}name text);\nINSERT INTO $table VALUES ("
	  . join('), (', @rows) . ");\n${index}ANALYZE $table;\n";
}

# Hours of points, each mostly once, and others
sub fill_calendar
{
	my ($layout) = @_;
	my $type = $layout->{columns}[0][1];
	my @points = grep { $_->[0] ne 'NULL' } @{ $layout->{rows} };
	my $hours = join ', ',
	  map { "(date_trunc('hour', (" . (pick(@points))->[0] . ")::$type))" }
	  1 .. HOURS;
	my $distinct = chance(0.7) ? 'DISTINCT' : '';

	return "DROP TABLE IF EXISTS calendar;\nCREATE TABLE calendar AS SELECT "
	  . "$distinct h AS c_hour, (extract(hour FROM h) / 8)::int::text AS c_label "
	  . "FROM (VALUES $hours) v (h);\nINSERT INTO calendar VALUES (NULL, 'x');\n"
	  . "ANALYZE calendar;\n";
}

sub fill_dimensions
{
	my ($layout) = @_;

	return fill_devices($layout, 'devices', 'd_')
	  . fill_devices($layout, 'sensors', 'e_')
	  . fill_calendar($layout) . <<'END';
	DROP TABLE IF EXISTS kinds;
	CREATE TABLE kinds AS SELECT * FROM (VALUES (0, 'zero'), (1, 'one'),
		(1, 'uno'), (2, NULL), (9, 'nine'), (NULL, 'null')) k (k_kind, k_name);
	ANALYZE kinds;
END
}

# ---- Joins ----------------------------------------------------------------

sub table_of { return $_[0] eq 'd_' ? 'devices' : 'sensors' }

# The condition of a join with devices or sensors
sub same_device
{
	my ($q, $p) = @_;
	my @columns = key_columns($q);
	my @keys = chance(0.8) ? pick(@columns) : grep { chance(0.5) } @columns;
	my ($time, $value) = map { $_->[0] } @{ $q->{layout}{columns} }[ 0, -1 ];
	my @terms = map {
		chance(0.8) ? "$_->[0] = $p$_->[0]"
		  : chance(0.7) ? same_key($_, "$p$_->[0]")
		  : compared_key($_, "$p$_->[0]")
	} (@keys ? @keys : $columns[0]);

	push @terms, pick("${p}kind < 3", "${p}name <> 'b'", "$value > 5",
		"extract(hour FROM $time) > ${p}kind", "${p}n <> 3 OR $value < 0",
		text_of($columns[0][0]) . " <> ${p}name", for_each_row($q, $p),
		"${p}n <> 3 AND 100 / (${p}n - 3) > 9") if chance(0.2);
	push @terms, with_row($q, [ 't', '' ], [ table_of($p), $p ])
	  if chance(0.07);
	return join ' AND ', @terms;
}

# A condition that must be evaluated for each joined row
sub for_each_row
{
	my ($q, $p) = @_;
	my $value = $q->{layout}{columns}[-1][0];

	return pick('random() >= 0', "$value > random() - 1000000",
		"(SELECT count(*) FROM kinds x WHERE x.k_kind = ${p}kind) <> 1",
		"(SELECT count(*) + 0 * $value FROM kinds x WHERE x.k_kind < ${p}kind) > 1");
}

# A comparison of a key by another type, whose equal values can differ
sub compared_key
{
	my ($column, $other) = @_;
	my ($name, $type) = @$column;

	return "$name + 1::bigint = $other + 1::bigint"
	  if $type =~ m/^int[24]?$/ && chance(0.5);
	return "$name\::numeric = $other\::numeric" if $type =~ m/^int\d$/ && chance(0.3);
	return text_of($name) . '::bpchar = ' . text_of($other) . '::bpchar'
	  if $type ne 'numeric';
	return "$name = $other";
}

# The hour of a point, or its day
sub same_hour
{
	my ($q) = @_;
	my $time = $q->{layout}{columns}[0][0];

	return pick(("date_trunc('hour', $time) = c_hour") x 4,
		"c_hour = date_trunc('hour', $time)", "c_hour::date = $time\::date",
		"$time >= c_hour AND $time < c_hour + interval '1 hour'");
}

sub how { return pick(('JOIN') x 7, ('LEFT JOIN') x 3, 'RIGHT JOIN') }

# The points, perhaps appended to others: those of a local table, or with
# columns that coincide
sub union
{
	my ($q) = @_;
	my $points = points($q, 0.7);
	my ($local, @columns) = ("l.$q->{layout}{name}", @{ $q->{layout}{columns} });
	my @names = map { $_->[0] } @columns;

	return $points if chance(0.85);
	my @others = map {
		my $type = $_->[1];
		my @same = map { $_->[0] }
		  grep { $_->[1] eq $type && ($_->[4] // '') eq '' } @columns;
		@same && ($_->[4] // '') eq '' && chance(0.3) ? pick(@same) : $_->[0]
	} @columns;
	my $list = join ', ', @names;
	$points =~ s/\*/$list/;
	return $points =~ s/\)$//r
	  . pick(" UNION ALL SELECT $list FROM $local",
		' UNION ALL SELECT ' . join(', ', @others)
		  . " FROM side.$q->{layout}{name}") . ')';
}

# The joined tables; their columns are appended to @$columns, and conditions
# that may go elsewhere to @$where.
sub joins
{
	my ($q, $columns, $where) = @_;
	my $from = union($q) . ' t';
	my @tables = grep { chance(0.4) } qw(sensors calendar);

	unshift @tables, 'devices' if !@tables || chance(0.8);
	@tables = reverse @tables if chance(0.3);
	foreach my $table (@tables)
	{
		my $p = substr($table, 0, 1) eq 's' ? 'e_' : 'd_';
		my $on = $table eq 'calendar' ? same_hour($q) : same_device($q, $p);
		my $some = $table eq 'calendar' || chance(0.6) ? $table
		  : "(SELECT * FROM $table WHERE "
		  . (chance(0.8) ? "${p}n <= " . between(1, 4)
			: matched($q, [ $table, $p ])) . ") $table";

		push @$columns, $table eq 'calendar' ? qw(c_hour c_label)
		  : ("${p}kind", "${p}name", "${p}name", "${p}n");
		if ($table ne 'calendar' && !grep { $_ eq 'k_name' } @$columns
			and chance(0.35))
		{
			my $name = (pick(key_columns($q)))->[0];
			my $kinds = chance(0.1) ? "FULL JOIN kinds ON ${p}kind = k_kind"
			  : how() . " kinds ON ${p}kind = k_kind"
			  . pick('', '', '', '', " AND ${p}n > 5", " AND k_kind <> 1");
			push @$columns, 'k_name';
			$on = pick("$name = CASE WHEN k_kind IS NULL THEN $p$name END",
				"$name = $p$name AND k_kind IS NULL", "$on AND k_kind <> 1")
			  if chance(0.2) && $kinds !~ m/RIGHT/;
			$from = chance(0.5) || $on =~ m/k_kind/
			  ? "$from " . how() . " ($some $kinds) ON $on"
			  : "$from " . how() . " $some ON $on $kinds";
		}
		elsif (chance(0.2))
		{
			push @$where, $on;
			$from = "$from CROSS JOIN $table";
		}
		elsif (chance(0.07))
		{
			my $name = (pick(key_columns($q)))->[0];
			$from = $table eq 'calendar' ? "$from CROSS JOIN $table"
			  : "$from FULL JOIN $table ON $name = $p$name";
		}
		else
		{
			$from = "$from " . how() . " $some ON $on";
		}
	}
	return $from;
}

# ---- Semi and anti joins --------------------------------------------------

# In what follows, a scope is [name, prefix of its columns] of a relation that
# a condition may refer to, and the last one is the innermost.

# A key of the innermost scope, one of another scope, and their equality
sub correlation
{
	my ($q, @scopes) = @_;
	my $inner = pop @scopes;
	my ($outer, $p) = @{ chance(0.5) ? $scopes[0] : pick(@scopes) };
	# mostly one key of a query, so that its subqueries are equal to each other
	my $column = $q->{matched_key} //= pick(key_columns($q));
	$column = pick(key_columns($q)) if chance(0.25);
	my ($own, $other) =
	  ("$inner->[0].$inner->[1]$column->[0]", "$outer.$p$column->[0]");

	return ($own, $other, $outer eq 't' && chance(0.1)
		? compared_key($column, $own)
		: pick("$own = $other", "$other = $own"));
}

# The relations of a subquery
sub from_of
{
	my ($table, $x, $p) = @_;

	return "$table $x" . pick(('') x 6,
		map { "$_ kinds k$x ON $x.${p}kind = k$x.k_kind" } ' JOIN', ' LEFT JOIN');
}

# The condition that a row of a scope has a match in devices or sensors, or
# none: EXISTS or IN, with more such conditions in its subquery
sub matched
{
	my ($q, @scopes) = @_;
	my ($not, $x) = (pick('', '', 'NOT '), 'x' . @scopes);
	my ($table, $p) = @{ pick([ 'devices', 'd_' ], [ 'sensors', 'e_' ]) };
	my ($own, $other, $equal) = correlation($q, @scopes, [ $x, $p ]);
	my @where = pick(('') x 3, "$x.${p}kind < 3", "$x.${p}kind <> 1",
		"$x.${p}n > 4", "$x.${p}name <> 'b'");
	my $is_in = chance(0.35);

	push @where, $equal if !$is_in && chance(0.95);
	push @where, (correlation($q, @scopes, [ $x, $p ]))[2] if chance(0.1);
	while (@scopes < 5 && chance(0.3))
	{
		push @where, matched($q, @scopes, [ $x, $p ]);
	}
	my $where = join ' AND ', grep { $_ ne '' } @where;
	my $from = from_of($table, $x, $p) . ($where ? " WHERE $where" : '');

	# NOT IN is rare, since it is not a join
	$not = '' if $is_in && chance(0.7);
	return "$other ${not}IN (SELECT $own FROM $from)" if $is_in;
	return "${not}EXISTS (SELECT FROM $from)";
}

# A condition that points, or rows joined with them, have a match or none
sub with_row
{
	my ($q, @scopes) = @_;
	my $not = pick('', 'NOT ');
	my $time = "t.$q->{layout}{columns}[0][0]";
	my ($kind) = grep { chance(0.2) }
	  map { "$_->[0].$_->[1]kind" } @scopes[ 1 .. $#scopes ];

	return pick("date_trunc('hour', $time) IN (SELECT c_hour FROM calendar)",
		"${not}EXISTS (SELECT FROM calendar WHERE " . same_hour($q) . ')')
	  if chance(0.15);
	return pick("$kind IN (SELECT k_kind FROM kinds WHERE k_kind <> 1)",
		"${not}EXISTS (SELECT FROM kinds WHERE k_kind = $kind)") if $kind;
	return '(' . matched($q, @scopes) . ' OR ' . matched($q, @scopes) . ')'
	  if chance(0.05);
	return matched($q, @scopes);
}

sub filters
{
	my ($columns) = @_;
	my @filters;

	foreach my $column (@$columns)
	{
		next unless chance(0.25);
		push @filters, $column =~ m/_(kind|n)$/
		  ? pick("$column = " . between(0, 4), "$column <> 1", "$column < 9",
			"$column IN (0, 2, 3)", "$column IS NULL")
		  : $column =~ m/_(name|label)$/
		  ? pick("$column = 'a'", "$column <> 'b'", "$column IS NOT NULL",
			"$column >= 'b'")
		  : pick("$column IS NOT NULL", "$column > '1990-01-01'");
	}
	return @filters;
}

# ---- Queries --------------------------------------------------------------

sub groups
{
	my ($q, @columns) = @_;
	my ($time, @others) = @{ $q->{layout}{columns} };
	my @keys = map { $_->[0] } @others[ 0 .. $#others - 1 ];
	my $text = text_of(pick(@keys));
	my $hour = "date_trunc('hour', $time->[0])";
	my @groups = grep { chance(0.35) } @columns;

	push @groups, pick(@keys) if chance(0.3);
	push @groups, pick($hour, $hour, time_group(@{$time}[ 0, 1 ]))
	  if chance(0.4);
	push @groups, pick("coalesce($text, '') || "
		. pick(grep { m/_(name|label)$/ } @columns), "$text = 'x'",
		map { "coalesce($_, 7)" } grep { m/_(kind|n)$/ } @columns)
	  if @columns && chance(0.15);
	push @groups, any_key($q) if chance(0.07);
	return @groups;
}

# A query above the groups
sub above
{
	my ($sql) = @_;

	return $sql unless chance(0.15);
	return pick("SELECT DISTINCT u.* FROM ($sql) u",
		"SELECT u.*, count(*) OVER () FROM ($sql) u",
		"SELECT count(*) FROM ($sql) u");
}

sub star
{
	my ($q) = @_;
	my (@columns, @where);
	my $matches = chance(0.55) ? pick(1, 2, 2, 3) : 0;
	my $from = chance($matches / 5) ? union($q) . ' t'
	  : joins($q, \@columns, \@where);
	my @groups = groups($q, @columns);
	my @totals = totals($q);
	my $value = $q->{layout}{columns}[-1][0];

	# few groups and one total, which the scan can mostly aggregate
	if ($matches && chance(0.75))
	{
		splice @groups, 1;
		splice @totals, 1;
	}
	# it may fail for points that a join removes
	push @totals, "max(floor(100 / ($value - (" . between(-40, 400) / 4 . '))))'
	  if chance(0.1);
	push @totals, 'max(' . pick(@columns) . ')' if @columns && chance(0.05);
	push @totals, 'count(*) FILTER (WHERE ' . pick(@columns) . ' IS NULL)'
	  if @columns && chance(0.05);
	@totals = () if @groups && chance(0.05);
	my ($kind) = grep { m/_kind$/ } @columns;
	my $is_lateral = $kind && chance(0.06);
	push @where, "$kind = o.k_kind" if $is_lateral;
	push @where, filters(\@columns);
	my @scopes = ([ 't', '' ], map { [ table_of($_), $_ ] }
		grep { "@columns" =~ m/$_/ } 'd_', 'e_');
	push @where, map { with_row($q, @scopes) } 1 .. $matches;
	push @where, conditions($q) if chance(0.15);
	my $where = @where ? ' WHERE ' . join(' AND ', map { "($_)" } @where) : '';
	my $list = join ', ', 1 .. @groups;
	my $by = !@groups ? '' : ' GROUP BY '
	  . (chance(0.9) ? $list : pick("ROLLUP ($list)", "CUBE ($list)",
		  "GROUPING SETS (($list), (1), ())"));
	my $having = chance(0.15) ? having($q) : '';
	# PostgreSQL takes a column that a condition fixes for the same in each set
	my $distinct = $by !~ m/\(/ && chance(0.05) ? 'DISTINCT ' : '';

	$q->{kind} = 'star';
	$q->{sql} = above("SELECT $distinct" . join(', ', @groups, @totals)
		  . " FROM $from$where$by$having");
	# for other rows again and again
	$q->{sql} = "SELECT o.*, u.* FROM kinds o, LATERAL ($q->{sql}) u"
	  if $is_lateral;
	delete $q->{has_time};
	return;
}

1;
