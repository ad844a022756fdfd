# Defines layouts whose slots count the local time of a zone, for the
# differential test.  See Layouts.pm.

package Differential::Local;

use strict;
use warnings;

use Differential::Data;
use Differential::Layouts qw(new_layout fill_slots head dated_head);
use Exporter qw(import);
use List::Util qw(min uniqnum);
use POSIX qw(floor);
use Time::Local qw(timegm_nocheck);

our @EXPORT_OK = qw(local_layouts first_instant);

# The local time of an instant, in the C library's zone
sub local_time
{
	my ($t) = @_;
	my $seconds = floor($t / SECOND);
	my @fields = localtime($seconds);

	$fields[5] += 1900;
	return timegm_nocheck(@fields[ 0 .. 5 ]) * SECOND + $t - $seconds * SECOND;
}

# The first instant from a start on that has a local time; undef if clocks skip
# it.  Clocks change once at most, between the start and an end.
sub first_instant
{
	my ($local, $start, $end) = @_;
	my @offsets = map { local_time($_) - $_ } $start, $end;

	return min(grep { $_ >= $start && local_time($_) == $local }
		  map { $local - $_ } @offsets);
}

# The starts of days around the changes of the clocks, and elsewhere
sub days
{
	my @dates = @_;

	return uniqnum(map {
		my ($year, $month, $day) = @$_;
		map { local_midnight($year, $month, $day + $_) } -1 .. 1 } @dates);
}

# Fill buckets whose slots count local time; span is that of local time.
sub fill_local
{
	my ($layout, $zone, %p) = @_;

	in_zone($zone, sub {
		fill_slots($layout, %p, starts => [ $p{starts}->() ],
			time => sub {
				my ($start, $slot) = @_;
				first_instant(local_time($start) + $slot * $p{step}, $start,
					$start + $p{span} + 2 * HOUR) });
	});
	push @{ $layout->{edges} }, map { ($_ * SECOND, $_ * SECOND + HOUR) }
	  @{ $p{changes} };
	return $layout;
}

sub new_local
{
	my ($name, $zone, $time, $value, $options) = @_;

	return new_layout($name => $time, value => $value,
		options => "bucket_time_zone '$zone', slot_clock 'local'"
		  . ($options // ''));
}

sub local_days
{
	my $zone = 'America/New_York';

	return fill_local(
		new_local(local_days => $zone, [ 'timestamptz', "field 'day'" ],
			'values.{hour}.{15 minutes}'), $zone,
		span => DAY, step => 15 * MINUTE, points => 30, litter => ['values'],
		changes => [ 1_362_898_800, 1_383_458_400 ],
		starts => sub { days([ 2013, 3, 10 ], [ 2013, 11, 3 ], [ 2016, 2, 29 ]) },
		head => dated_head('day'),
		path => sub { ('values', int($_[0] / 4), $_[0] % 4) });
}

# Doubles of one level, which are read at once where clocks don't change.  They
# change at a minute past midnight.
sub local_doubles
{
	my $zone = 'America/St_Johns';

	return fill_local(
		new_local(local_doubles => $zone, [ 'timestamptz', "field 'day'" ],
			'v.{minute}', ", bucket_span '1 day'"), $zone,
		span => DAY, step => MINUTE, points => 40, doubles => 1,
		changes => [ 1_173_583_860, 1_194_143_460 ],
		starts => sub { days([ 2007, 3, 11 ], [ 2007, 11, 4 ], [ 2007, 7, 1 ]) },
		head => dated_head('day'), path => sub { ('v', $_[0]) });
}

# Clocks change by half an hour.
sub local_months
{
	my $zone = 'Australia/Lord_Howe';

	return fill_local(
		new_local(local_months => $zone,
			[ 'timestamptz', "field 'm', format 'text:YYYY-MM'" ],
			'd.{day:1}.{30 minutes}'), $zone,
		span => 30 * DAY, step => 30 * MINUTE, points => 60,
		litter => [ 'd', '9' ], changes => [ 1_365_260_400, 1_380_987_000 ],
		starts => sub {
			map { local_midnight(2013, $_, 1) } 3, 4, 5, 9, 10, 11 },
		head => sub {
			head('m', $_[1],
				json_text(local_fields($_[0] + HOUR, '%Y-%m'))) },
		path => sub { ('d', 1 + int($_[0] / 48), $_[0] % 48) });
}

# Days that begin at any time, even in a repeated hour
sub local_unaligned
{
	my $zone = 'Europe/Berlin';

	return fill_local(
		new_local(local_unaligned => $zone, [ 'timestamptz', "field 't0'" ],
			'v.{hour}.{minute}'), $zone,
		span => DAY, step => MINUTE, points => 60,
		changes => [ 1_364_691_600, 1_382_835_600 ],
		starts => sub {
			map { $_ * SECOND + between(-30 * 60, 30 * 60) * MINUTE + SECOND }
			  (1_364_691_600) x 3, (1_382_835_600) x 5, 1_370_000_040 },
		head => dated_head('t0'),
		path => sub { ('v', int($_[0] / 60), $_[0] % 60) });
}

# All of these layouts, freshly filled
sub local_layouts
{
	return (local_days(), local_doubles(), local_months(), local_unaligned());
}

1;
