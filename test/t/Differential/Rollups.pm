# Defines layouts with roll-ups for the differential test, and fills these.
#
# A roll-up has the true totals of the intervals that its state says to be
# complete, and false ones of all others.  So a query differs if it uses a row
# that it must not use, or reads points that a row has answered.  One layout's
# roll-ups are made and refreshed by the extension, between random writes.

package Differential::Rollups;

use strict;
use warnings;

use Differential::Data;
use Differential::Layouts qw(add_row new_layout fill_slots dated_head @text_pool
  @type @value_pool);
use Differential::Points qw(flat);
use Exporter qw(import);
use List::Util qw(shuffle);

our @EXPORT_OK = qw(rollup_layouts rolled_types fill_rollups);

my @key = (@type, 'COLLATE "C"');

# Intervals and their zones; those of a fixed length are of UTC.
my @intervals = (
	[ '1 minute', 'UTC' ], [ '5 minutes', 'UTC' ], [ '1 hour', 'UTC' ],
	[ '6 hours', 'UTC' ],
	(map { [ '1 day', $_ ] }
		qw(UTC Asia/Kolkata Europe/Berlin America/New_York
			America/St_Johns)),
	(map { [ '1 month', $_ ] } qw(UTC America/St_Johns)));

# ---- Layouts --------------------------------------------------------------

# Give a layout roll-ups with these intervals, or so many with random ones.
sub with_rollups
{
	my ($layout, $n, @these) = @_;

	$layout->{rollups} =
	  [ @these, $n > 0 ? (shuffle(@intervals))[ 0 .. $n - 1 ] : () ];
	return $layout;
}

# A document with points that are not numbers
sub add_nan
{
	my ($layout) = @_;
	my $start = pick(starts(MINUTE, 4));
	my $document = dated_head('m')->($start, 'nan');

	foreach my $slot (3, 50)
	{
		put($document, '{"$numberDouble": "NaN"}', 'v', $slot);
		add_row($layout, $start + $slot * SECOND, "'nan'", "'NaN'");
	}
	push @{ $layout->{docs} }, $document;
	return;
}

# Some values are null or not a number.
sub rolled_minute
{
	my ($name, $n, @these) = @_;
	my $layout = new_layout(
		$name => [ 'timestamptz', "field 'm'" ],
		columns => [ [@key],
			[ 'value', 'float8', "field 'v.{second}'", \@value_pool ] ]);

	fill_slots($layout, span => MINUTE, step => SECOND,
		starts => [ starts(MINUTE, 4) ], points => 4,
		head => dated_head('m'), path => sub { ('v', $_[0]) });
	add_nan($layout);
	return with_rollups($layout, $n, @these);
}

sub rolled_hour
{
	my ($name, $n, $type) = @_;
	my $layout = new_layout(
		$name => [ 'timestamptz', "field 'h'" ],
		columns => [ [@key],
			[ 'value', $type, "field 'v.{minute}.{second}'",
				[ -41, -40, 0, 1, 100, 399, 400 ], 'NOT NULL' ] ]);

	fill_slots($layout, span => HOUR, step => SECOND,
		starts => [ starts(HOUR, 3) ], points => 6,
		head => dated_head('h'), reading => sub { between(-40, 400) },
		path => sub { ('v', int($_[0] / 60), $_[0] % 60) });
	return with_rollups($layout, $n);
}

# The days of a zone, in which hours are local
sub rolled_day
{
	my ($name, $n) = @_;
	my $layout = new_layout(
		$name => [ 'timestamptz', "field 'd'" ],
		columns => [ [@key],
			[ 'value', 'int2', "field 'v.{hour}'", \@value_pool ] ]);

	fill_slots($layout, span => DAY, step => HOUR,
		starts => [ starts(DAY, 30) ], points => 6, head => dated_head('d'),
		reading => sub { chance(0.1) ? undef : between(-40, 400) },
		path => sub { ('v', $_[0]) });
	return with_rollups($layout, $n);
}

# Add a point, some of whose values are null.
sub add_point
{
	my ($layout, $document, $type, $start, $slot) = @_;
	my $note = chance(0.1) ? undef : pick('memory', 'A', 'a', 'é', '', 'z');
	my $seen = pick(undef, $start, $start + DAY, 0);
	my $value = reading();

	put($document, json_text($note), 'v', $slot, 'n');
	put($document, defined $seen ? json_date($seen) : 'null', 'v', $slot, 's');
	put($document, json_number($value), 'v', $slot, 'v');
	add_row($layout, $start + $slot * SECOND, sql_text($type), sql_text($note),
		defined $seen ? sql_timestamptz($seen) : 'NULL', sql_number($value));
	return;
}

# Points with values of types that are not binary numbers
sub rolled_types
{
	my ($n) = @_;
	my @times = map { sql_timestamptz($_) } 0, starts(MINUTE, 1);
	my $layout = new_layout(
		rolled_types => [ 'timestamptz', "field 'm', role 'time'" ],
		columns => [ [@key], [ 'note', 'text', "field 'v.{second}.n'", \@text_pool ],
			[ 'seen', 'timestamptz', "field 'v.{second}.s'", \@times ],
			[ 'value', 'numeric', "field 'v.{second}.v'", \@value_pool ] ]);

	$layout->{extremes} = [ [ 'note', 'text', "''", "'~'" ],
		[ 'seen', 'timestamptz', "'1900-01-01'", "'2200-01-01'" ] ];
	foreach my $start (starts(MINUTE, 4))
	{
		push @{ $layout->{edges} }, $start, $start + MINUTE;
		foreach my $type (types())
		{
			next if chance(0.4);
			my $document = dated_head('m')->($start, $type);
			add_point($layout, $document, $type, $start, $_)
			  foreach some_slots(60, 4);
			push @{ $layout->{docs} }, $document;
		}
	}
	return with_rollups($layout, $n);
}

# Documents as rows, some without a time
sub rolled_flat
{
	my ($n) = @_;
	return with_rollups(flat('rolled_flat', [ 'timestamptz', "field 'at'" ],
			377_123_000, has_nulls => 1), $n);
}

# Points that are written after their roll-ups were refreshed
sub rolled_written
{
	my $layout = new_layout(
		rolled_written => [ 'timestamptz', "field 'm'" ],
		columns => [ [@key],
			[ 'value', 'float8', "field 'v.{second}'", \@value_pool ] ]);

	fill_slots($layout, span => MINUTE, step => SECOND, doubles => 1,
		starts => [ starts(MINUTE, 4) ], points => 5,
		head => dated_head('m'), path => sub { ('v', $_[0]) });
	$layout->{is_written} = 1;
	return with_rollups($layout, 3);
}

# The layouts above, except rolled_types, freshly filled
sub rollup_layouts
{
	# clocks repeat a midnight of St. John's
	return (rolled_written(), rolled_minute('rolled_minute', 3),
		rolled_minute('rolled_day_only', 0, [ '1 day', 'America/St_Johns' ]),
		rolled_hour('rolled_hour', 2, 'int4'),
		rolled_hour('rolled_bigint', 3, 'int8'), rolled_day('rolled_day', 2),
		rolled_flat(3));
}

# ---- Tables ---------------------------------------------------------------

# The start of a time's interval
sub start_of
{
	my ($t, $interval, $zone) = @_;

	return "date_trunc('$1', $t, '$zone')" if $interval =~ m/1 (day|month)/;
	return "date_bin('$interval', $t, timestamptz '2000-01-01Z')";
}

# The end of an interval that starts at a time
sub end_of
{
	my ($t, $interval, $zone) = @_;

	return "($t + interval '$interval')" unless $interval =~ m/1 (day|month)/;
	return "(($t AT TIME ZONE '$zone') + interval '$interval') "
	  . "AT TIME ZONE '$zone'";
}

# A time near a point, or far after all of them
sub some_time
{
	my ($layout) = @_;

	return chance(0.3) ? 4_000_000_000 * SECOND
	  : pick(@{ $layout->{edges} }) + between(-2, 2) * pick(MINUTE, HOUR, DAY);
}

# Set the state of a roll-up.
sub state_of
{
	my ($name, $until, @stale) = @_;
	my $ranges = join ', ', map {
		'{"from": ' . json_date($_->[0]) . ', "to": ' . json_date($_->[1]) . '}'
	} @stale;

	return "SELECT mongo_ts_command('mongo', json_build_object('update', "
	  . "'mongo_ts_rollups', 'updates', json_build_array(json_build_object("
	  . "'q', json_build_object('_id', '$name'), 'u', json_build_object("
	  . "'\$set', json_build_object('until', json_build_object('\$date', "
	  . "to_char($until AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')), "
	  . "'stale', '[$ranges]'::json))))));\n";
}

# The totals of a layout's roll-ups: of each its name, type, aggregate and
# column, and a wrong value
sub totals_of
{
	my ($layout) = @_;
	my ($value, $type) = @{ $layout->{columns}[-1] };
	my $sum = $type =~ m/float8|numeric/ ? $type : 'int8';

	return ([ 'c', 'int8', 'count', $value, 55 ],
		[ 's', $sum, 'sum', $value, 7777 ],
		map { my ($name, $of, $low, $high) = @$_;
			[ "lo_$name", $of, 'min', $name, $low ],
			  [ "hi_$name", $of, 'max', $name, $high ] }
		  [ $value, $type, -7777, 7777 ], @{ $layout->{extremes} // [] });
}

# A roll-up with documents as rows
sub table_of
{
	my ($layout, $name, $interval, $zone) = @_;
	my $collation = $layout->{columns}[1][4] // '';
	my $totals = join ', ', map {
		"$_->[0] $_->[1] OPTIONS (rollup '$_->[2]', rollup_column '$_->[3]')"
	} totals_of($layout);

	return "CREATE FOREIGN TABLE f.$name (ts timestamptz OPTIONS (role 'time'), type text "
	  . "$collation, n int8 OPTIONS (rollup 'count'), $totals) "
	  . "SERVER mongo OPTIONS (rollup_of 'f.$layout->{name}', "
	  . "rollup_interval '$interval', rollup_zone '$zone');\n";
}

sub fill_rollup
{
	my ($layout, $name, $interval, $zone) = @_;
	my @totals = totals_of($layout);
	my $start = start_of('ts', $interval, $zone);
	my $end = end_of('start', $interval, $zone);
	my $until = start_of(sql_timestamptz(some_time($layout)), $interval, $zone);
	my @stale = map {
		my $from = some_time($layout);
		$from -= $from % 1000;
		[ $from, $from + pick(MINUTE, HOUR, DAY, 20 * DAY) ]
	} 1 .. pick(0, 0, 1, 3);
	my $complete = join ' AND ', "$end <= $until", map {
		'NOT (start < ' . sql_timestamptz($_->[1]) . " AND $end > "
		  . sql_timestamptz($_->[0]) . ')'
	} @stale;

	my $columns = join ', ',
	  map { "CASE WHEN $complete THEN $_->[0] ELSE $_->[4] END" } @totals;
	my $true = join ', ',
	  map { "$_->[2]($_->[3])::$_->[1] AS $_->[0]" } @totals;

	# a refresh before all points makes the state
	return table_of($layout, $name, $interval, $zone) . <<"END" . state_of($name, $until, @stale);
		SELECT mongo_ts_refresh_rollup('f.$name', end_time => '0001-02-01Z');
		INSERT INTO f.$name
		SELECT start, type, CASE WHEN $complete THEN n ELSE 77 END, $columns
		FROM (SELECT $start AS start, type, count(*) AS n, $true
			FROM l.$layout->{name} WHERE ts IS NOT NULL GROUP BY 1, 2) r
		WHERE $complete OR random() < 0.8;
END
}

# A refresh, of all or of a range
sub refresh
{
	my ($layout, $name) = @_;
	my ($from, $to) = sort { $a <=> $b } some_time($layout), some_time($layout);
	my @range = map { sql_timestamptz($_) } $from, $to;

	return "SELECT mongo_ts_refresh_rollup('f.$name'"
	  . pick('', ", NULL, $range[1]", ", $range[0], $range[1]") . ");\n";
}

# A write to the points, on both sides
sub write_points
{
	my ($layout) = @_;
	my $from = pick(@{ $layout->{edges} });
	my $to = $from + pick(SECOND, MINUTE, HOUR, DAY);
	my $where = 'WHERE ts >= ' . sql_timestamptz($from) . ' AND ts < '
	  . sql_timestamptz($to) . pick('', " AND type = 'memory_used'");
	my $sql = pick("DELETE FROM side.$layout->{name} $where",
		"UPDATE side.$layout->{name} SET value = value + 1 $where",
		"INSERT INTO side.$layout->{name} (ts, type, value) VALUES ("
		  . sql_timestamptz($from + between(1, 50) * 7 * SECOND)
		  . ", 'new" . between(1, 1000) . "', " . between(0, 99) . ')');

	return map { $sql =~ s/side\./$_./r . ";\n" } qw(f l);
}

# Make roll-ups by the extension's functions, and write points after they are
# refreshed.
sub fill_and_write
{
	my ($layout) = @_;
	my @names;
	my $sql = '';

	foreach my $rollup (@{ $layout->{rollups} })
	{
		my ($interval, $zone) = @$rollup;
		push @names, "$layout->{name}_r" . (@names + 1);
		$sql .= "SELECT mongo_ts_create_rollup('f.$layout->{name}', "
		  . "'$interval', '$names[-1]', zone => '$zone', lag => '0');\n"
		  . refresh($layout, $names[-1]);
	}
	foreach (1 .. 12)
	{
		$sql .= join '', write_points($layout);
		$sql .= refresh($layout, pick(@names)) if chance(0.3);
	}
	return $sql;
}

# The SQL that makes the roll-ups of a layout
sub fill_rollups
{
	my ($layout) = @_;
	my $n = 0;

	return fill_and_write($layout) if $layout->{is_written};
	return join '', map { fill_rollup($layout, "$layout->{name}_r" . ++$n, @$_) }
	  @{ $layout->{rollups} // [] };
}

1;
