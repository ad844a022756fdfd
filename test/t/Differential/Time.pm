# Random expressions of a time, for the differential test.
#
# truncated() makes another time of it, label() a name that comes again.

package Differential::Time;

use strict;
use warnings;

use Differential::Data;
use Exporter qw(import);

our @EXPORT_OK = qw(label new_zone truncated);

my @zones = qw(UTC America/New_York Asia/Kolkata Europe/Berlin);

sub new_zone { return pick(@zones) }

# A time that is truncated, shifted and seen in zones, once or more
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

# What a time is called: an hour of the day, a weekday, a formatted text
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

	return pick(
		"extract($field from $of)", "date_part('$field', $of)",
		"CAST(TRUNC(EXTRACT(YEAR FROM $of)) AS INTEGER)",
		"(1 + CAST(EXTRACT(DOW FROM $of) AS INTEGER))",
		"CASE WHEN ($dow + 6) % 7 = 0 THEN 7 ELSE ($dow + 6) % 7 END",
		"to_char($time, '$pattern')",
		"CAST(CAST(extract(hour from $of) AS integer) AS text)",
		"CASE extract(month from $of) WHEN 10 THEN 'autumn' ELSE 'other' END");
}

1;
