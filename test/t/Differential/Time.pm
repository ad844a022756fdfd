# Makes random expressions of a time, for the differential test.
#
# truncated() makes a truncated time, label() a periodic name such as a
# weekday, composed() any composition of functions of times and numbers.

package Differential::Time;

use strict;
use warnings;

use Differential::Data;
use Exporter qw(import);

our @EXPORT_OK = qw(composed label new_zone truncated);

my @zones = qw(UTC America/New_York Asia/Kolkata Europe/Berlin
  America/St_Johns);

sub new_zone { return pick(@zones) }

# A time that is truncated, shifted and converted to zones, once or more
sub truncated
{
	my ($time, $type) = @_;
	my $days = between(-9, 9) || 1;
	my $zone = new_zone();
	my $unit = pick(qw(second hour day day week month year));
	my $week = "date_trunc('week', %s + interval '1 day') + interval '-1 day'";
	my $local = $type eq 'timestamptz' ? "($time AT TIME ZONE '$zone')" : $time;

	return pick(
		sprintf($week, $time), sprintf($week, "$time\::timestamp"),
		sprintf($week, $local),
		"date_trunc('$unit', $time\::date)",
		"date_trunc('$unit', $time + interval '$days days 90 minutes')",
		"date_trunc('$unit', $time) - interval '$days days'",
		"date_trunc('$unit', $time) - interval '$days hours'",
		"date_trunc('$unit', $local) AT TIME ZONE '$zone'",
		"($time + interval '$days days')::date + $days",
		"(date_trunc('$unit', $time\::date) + interval '$days days')::date",
		"date_trunc('day', $time\::timestamp)::timestamptz");
}

# The name of a time: an hour of the day, a weekday, formatted text
sub label
{
	my ($time, $type) = @_;
	my $field = pick(qw(minute hour dow isodow day doy week month quarter
		isoyear year decade century second epoch));
	my $zone = new_zone();
	my $of = pick($time, $time, "$time\::date",
		"($time + interval '1 day')",
		$type eq 'timestamptz' ? "($time AT TIME ZONE '$zone')" : $time);
	my $pattern = pick('YYYY-MM-DD', 'YYYY-MM-DD HH24', 'HH12 am', 'FMDay',
		'HH24:MI', 'IYYY-IW', 'DDD SSSS', 'YYYY-MM-DD"T"HH24:MI:SS.MS', 'Mon',
		'TZ HH24');
	my $dow = "(CAST(extract(dow from $of) AS integer) + 1)";

	return "to_char($time, '$pattern')" if chance(0.5);
	return pick(
		"extract($field from $of)", "date_part('$field', $of)",
		"CAST(TRUNC(EXTRACT(YEAR FROM $of)) AS INTEGER)",
		"(1 + CAST(EXTRACT(DOW FROM $of) AS INTEGER))",
		"CASE WHEN ($dow + 6) % 7 = 0 THEN 7 ELSE ($dow + 6) % 7 END",
		"CAST(CAST(extract(hour from $of) AS integer) AS text)",
		"CASE extract(month from $of) WHEN 10 THEN 'autumn' ELSE 'other' END");
}

# Apply one more function to an instant, a local time or a number.  Returns the
# expression and its type.
sub apply
{
	my ($of, $is) = @_;
	my $zone = new_zone();
	my $unit = pick(qw(second minute hour day week month quarter year));
	my $field = pick(qw(epoch epoch second minute hour day dow isodow doy week
		month quarter year));
	my $size = pick(7, 60, 90, 3600, 5400, 86400, 100000);
	my $n = pick(1, 2, 5, 7, 15, 60, 90, 300, 3600);
	my $sign = pick('+', '-');
	my $shift = pick("$n seconds", "$n minutes", '1 day', '5 days 3 hours');

	return @{ pick([ "floor($of)", 'number' ], [ "trunc($of)", 'number' ],
		[ "($of / $n)", 'number' ], [ "($of * $n)", 'number' ],
		[ "($of $sign $n)", 'number' ], [ "($n - $of)", 'number' ],
		[ "($of)::bigint::numeric", 'number' ],
		[ "(($of)::bigint / $n)::numeric", 'number' ],
		[ "floor($of / $n) * $n", 'number' ],
		[ "floor(($of)::float8 / $n)::numeric", 'number' ],
		[ "to_timestamp(($of)::float8)", 'timestamptz' ]) }
	  if $is eq 'number';
	return @{ pick([ "extract($field from $of)", 'number' ],
		[ "date_part('$field', $of)::numeric", 'number' ]) } if chance(0.3);
	return @{ pick([ "date_trunc('$unit', $of)", $is ],
		[ "($of $sign interval '$shift')", $is ],
		[ "date_bin('$size seconds', $of, '2001-01-01 00:10')", $is ],
		[ "($of AT TIME ZONE '$zone')",
			$is eq 'timestamp' ? 'timestamptz' : 'timestamp' ],
		[ "($of)::date::$is", $is ],
		$is eq 'timestamptz'
		? ([ "($of)::timestamp", 'timestamp' ],
			[ "date_trunc('$unit', $of, '$zone')", $is ])
		: [ "($of)::timestamptz", 'timestamptz' ]) };
}

# Apply some functions to a time, one after another.
sub composed
{
	my ($time, $type) = @_;
	my ($of, $is) = $type eq 'date' ? ("$time\::timestamp", 'timestamp')
	  : ($time, $type);

	($of, $is) = apply($of, $is) foreach (1 .. between(1, 5));
	return $of;
}

1;
