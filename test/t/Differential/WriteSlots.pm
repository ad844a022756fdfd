# Defines layouts whose slots tell the time, for the differential test of
# writing.  See WriteLayouts.pm.

package Differential::WriteSlots;

use strict;
use warnings;

use Differential::Data;
use Differential::WriteLayouts
  qw(new_layout time_keys quarters_of types_of special);
use Exporter qw(import);

our @EXPORT_OK = qw(slot_layouts);

my $new_york = 'America/New_York';

# ---- Seconds and minutes below a bucket -----------------------------------

sub minute
{
	my ($name, %p) = @_;

	return new_layout($name,
		time => [ 'timestamptz', "field 'timestamp_minute'" ],
		value => "field 'values.{second}'", pool => special(), count => 'n',
		fields => { sum => 'total', min => 'lo', max => 'hi' }, %p);
}

sub minutes
{
	return (
		minute('minute', index => 1, preallocate => 1),
		# no slot is written twice, and moved points end far from the others
		minute('minute_once', options => ["assume_write_once 'true'"], points => 40,
			assume_write_once => 1, moves => 'apart', shifts => ['7305 days']),
		minute('minute_plain', count => undef, fields => {}),
		minute('minute_attribute', moves => 'inside',
			attribute => [ 'unit', 'text',
				"field 'meta.unit', role 'attribute'",
				[ 'C', 'F', 'K', undef ] ]));
}

# A value and an attribute that are arrays
sub array_values
{
	return minute('array_values', moves => 'inside', count => 'n',
		attribute => [ 'tags', 'text[]', "role 'attribute'",
			[ '{}', '{a,NULL,"$b"}', undef ] ],
		values => [ [ 'value', 'float8[]', "field 'v.{second}.a'",
			[ undef, '{}', '{1,2.5}', '{1,NaN}', '{NULL}', '{{1,2},{3,NULL}}' ] ],
			[ 'names', 'text[]', "field 'v.{second}.names'",
				[ undef, '{}', '{"a b",NULL,é}', '{$b,"c.d"}' ] ] ]);
}

# The least and the greatest of times and of texts
sub extremes
{
	return minute(@_, document_time => "field 'timestamp_minute'",
		time => [ 'timestamptz', "field 'timestamp_minute', role 'time'" ],
		values => [ [ 'seen', 'timestamptz', "field 'v.{second}.t'",
				[ undef, map { "${_}Z" } '1969-12-31 23:59:59.999',
					'2024-02-29', '2024-02-29 00:00:00.001' ],
				min => 't.lo', max => 't.hi' ],
			[ 'word', 'text', "field 'v.{second}.w'",
				[ undef, '', qw(a ab b zz) ], min => 'w.lo', max => 'w.hi' ] ]);
}

sub hours
{
	my @time = (time => [ 'timestamptz', "field 'timestamp_hour'" ],
		unit => 'hour');

	return (
		new_layout('hour_flat', @time, value => "field 'values.{second}'",
			options => [ "bucket_span '1 hour'",
				"on_subresolution 'truncate'" ], truncate => 1),
		# many bulk writes in a statement, and pre-aggregates in a subdocument
		new_layout('hour_nested', @time, index => 1, pool => special(),
			value => "field 'values.{minute}.{second}'",
			options => ["batch_size '3'"], is_small => 1,
			count => 'stats.n', fields => { sum => 'stats.sum',
				min => 'stats.min', max => 'stats.max' },
			keys => [
				[ 'region', 'text', "field 'meta.region'", types_of() ],
				[ 'sensor', 'int', '', [ -1, 7, 2_000_000_000, undef ] ] ]));
}

sub days
{
	return (
		new_layout('day_levels',
			time => [ 'timestamptz', "field 'timestamp'" ], unit => 'day',
			count => 'count',
			values => [ [ 'value', 'int',
					"field 'series.{hour}.{minute}.{second}'",
					[ undef, -12, 1, 3, 2_147_483_647 ], sum => 'sum' ] ]),
		new_layout('day_text', unit => 'day', step => MINUTE, index => 1,
			time => [ 'timestamptz', q(field 'timestamp_day', )
				  . q(format 'text:YYYY-MM-DD"T"HH24:MI:SS') ],
			value => "field 'items.{hour}.{minute}'", preallocate => 1,
			count => 'n',
			fields => { sum => 'sum', min => 'min', max => 'max' }),
		new_layout('quarters',
			time => [ 'timestamptz', "field 'day', format 'number:YYYYMMDD'" ],
			unit => 'day', step => 15 * MINUTE, count => 'n',
			value => "field 'h.{hour:1}.q.{15 minutes:1}.v'",
			fields => { max => 'max' }));
}

# Keys that are padded, have text around numbers or two numbers, or count
# from the start of a longer unit than the slot around them
sub keys_of_slots
{
	my %day = (time => [ 'timestamptz', "field 't0'" ], unit => 'day',
		step => MINUTE, count => 'n');

	return (
		new_layout('key_padded', %day, index => 1, preallocate => 1,
			value => "field 'v.{hour:00}.{minute:01}'",
			fields => { sum => 'sum', min => 'min', max => 'max' }),
		new_layout('key_texts', %day, step => 15 * MINUTE,
			value => "field 'v.h{hour}.q{15 minutes:1}.v'",
			fields => { max => 'max' }),
		new_layout('key_numbers', %day, count => undef, preallocate => 1,
			value => "field 'v.{hour:00}:{minute:00}'"),
		new_layout('key_of_day', %day, preallocate => 1,
			value => "field 'v.{hour}.m{minute of day}'",
			fields => { sum => 'sum' }),
		new_layout('key_of_hour', %day, unit => 'minute', step => SECOND,
			value => "field 'v.{second of hour:0000}'",
			options => ["bucket_span '1 minute'"],
			fields => { sum => 'sum' }));
}

# Page views: they are counted, and a preallocated 0 means no view.
sub page_views
{
	return new_layout('page_views',
		time => [ 'timestamptz', "field 'timestamp'" ], mode => 'increment',
		options => ["write_mode 'increment'"],
		keys => [ [ 'page', 'text', '', [ '/', '/index', 'é', undef ] ] ],
		count => 'n', preallocate => 1, missing => 0,
		values => [ [ 'views', 'int8',
				"field 'seconds.{second}', missing_value '0'",
				[ 1, 1, 2, 3, 40, -5 ], sum => 'total' ] ]);
}

# Stock prices share their collection with documents that the filter excludes.
sub stock
{
	my $layout = new_layout('stock', time => [ 'timestamptz', "field 'd'" ],
		keys => [ [ 'symbol', 'varchar(20)', "field 'sym'", types_of() ] ],
		shared => [q(filter '{"kind": "trade"}')], index => 1, count => 'n',
		values => [ [ 'price', 'numeric', "field 'p.{second}'",
				[ undef, '41.07', '0.1', '-2.50', '1000000000.000001', '3' ],
				sum => 'sum', min => 'min', max => 'max' ] ]);
	my @times = @{ $layout->{edges} };

	# quotes of the same time and series, and documents without a kind
	$layout->{others} = [ map { {
		d => json_date($_), sym => json_text('memory_used'), n => '7',
		p => { 0 => '1', 59 => '2.5' },
		chance(0.7) ? (kind => json_text('quote')) : () } } @times, @times ];
	return $layout;
}

# Months: days count from 1.
sub monthly
{
	my @months = (months())[ 0, 1, 2 ];
	my (@times, @edges);

	foreach my $month (@months)
	{
		my ($start, $end) = in_zone('UTC', sub {
			map { local_midnight($month->[0], $month->[1] + $_, 1) } 0, 1 });
		my %some = time_keys([$start], $end - $start, HOUR);
		push @times, @{ $some{times} };
		push @edges, $start, $end;
	}
	return new_layout('monthly', unit => 'month', step => HOUR,
		time => [ 'timestamptz', "field 'm', format 'text:YYYY:FMMM'" ],
		value => "field 'd.{day:1}.{hour}.c'", count => 'd.total',
		times => \@times, edges => \@edges,
		shifts => [ '1 hour', '-1 hour', '1 day', '1 month' ]);
}

sub milliseconds
{
	return new_layout('milliseconds', time => [ 'timestamptz', "field 't0'" ],
		unit => 'second', step => 1000, value => "field 'v.{millisecond}'",
		count => 'n', fields => { sum => 'sum', min => 'min' });
}

# The types are the keys of a slot.
sub unpivoted
{
	return new_layout('unpivoted', time => [ 'timestamptz', "field 'ts'" ],
		keys => [ [ 'host', 'text', '', [ 'a', 'b', undef ] ],
			[ 'type', 'text', 'slot', [ 'cpu', 'mem', 'é', 'A b_c' ] ] ],
		value => "field 'values.{second}.{type}'", count => 'n');
}

# The keys of a slot are integers.
sub counters
{
	return new_layout('counters', time => [ 'timestamptz', "field 'ts'" ],
		unit => 'hour', step => MINUTE, count => 'total',
		keys => [ [ 'host', 'text', '', [ 'a', 'b', undef ] ],
			[ 'code', 'int8', 'slot',
				[ 200, 404, 0, -1, '9223372036854775807' ] ] ],
		value => "field 'n.{minute}.{code}'");
}

# Two containers with the same slots
sub zipped
{
	return new_layout('zipped', time => [ 'timestamptz', "field 'ts'" ],
		count => 'n', values => [
			[ 'temp', 'float8', "field 'temp.{second}'", special(),
				sum => 'temp_sum', max => 'temp_max' ],
			[ 'hum', 'float8', "field 'hum.{second}'", quarters_of(),
				sum => 'hum_sum', min => 'hum_min' ] ]);
}

# ---- Clocks ---------------------------------------------------------------

# Days of 23, 24 and 25 hours
sub zone_days
{
	my (@times, @edges);

	in_zone($new_york, sub {
		foreach my $date ([ 2013, 3, 10 ], [ 2013, 11, 2 ], [ 2013, 11, 3 ])
		{
			my ($year, $month, $day) = @$date;
			my $start = local_midnight($year, $month, $day);
			my $end = local_midnight($year, $month, $day + 1);
			push @times, map { $start + $_ * HOUR }
			  some_slots(($end - $start) / HOUR, 9), 0 .. 3;
			push @edges, $start, $end;
		}
	});
	return new_layout('zone_days', time => [ 'timestamptz', "field 'day'" ],
		step => HOUR, shared => ["bucket_time_zone '$new_york'"],
		value => "field 'values.{hour}'", count => 'n',
		fields => { sum => 'sum', min => 'min', max => 'max' },
		bucket => sub { "date_trunc('day', $_[0], '$new_york')" },
		times => \@times, edges => \@edges,
		shifts => [ '1 hour', '-1 hour', '24 hours', '1 day' ]);
}

# Slots that count local time: the second of two equal local times has none.
sub local_days
{
	my ($name, $zone, $value, $changes, %p) = @_;
	my $before = "interval '$p{shift}'";
	my $length = $p{shift} eq '1 hour' ? HOUR : 30 * MINUTE;
	my (@times, @edges, @refused);

	in_zone($zone, sub {
		foreach my $change (map { $_ * SECOND } @$changes)
		{
			my ($year, $month, $day) =
			  split m/ /, local_fields($change, '%Y %m %d');
			push @edges, map { local_midnight($year, $month, $day + $_) } 0, 1;
			foreach my $t ($edges[-2], map { $change + $_ * $p{step} }
				-4 .. 4, between(-8, 8))
			{
				my ($shown, $earlier) = map { local_fields($_, '%H %M') }
				  $t, $t - $length;
				push @{ $shown eq $earlier ? \@refused : \@times }, $t;
			}
		}
	});
	return new_layout($name, time => [ 'timestamptz', "field 'day'" ], %p,
		shared => ["bucket_time_zone '$zone'"],
		options => ["slot_clock 'local'"],
		value => "field '$value'", count => 'n',
		fields => { sum => 'sum', min => 'min', max => 'max' },
		bucket => sub { "date_trunc('day', $_[0], '$zone')" },
		refused => sub {
			"($_[0] - $before) AT TIME ZONE '$zone' = "
			  . "$_[0] AT TIME ZONE '$zone'" },
		times => \@times, edges => \@edges, wrong_times => \@refused,
		shifts => [ $p{shift}, "-$p{shift}", '2 hours', '24 hours', '1 day' ]);
}

sub local_slots
{
	my @new_york = (1_362_898_800, 1_383_458_400, 1_369_998_000);
	my @lord_howe = (1_365_260_400, 1_380_987_000);

	return (
		local_days('local_hours', $new_york, 'v.{hour}', \@new_york,
			step => HOUR, shift => '1 hour'),
		local_days('local_arrays', $new_york, 'v[{hour}]', \@new_york,
			step => HOUR, shift => '1 hour', fields => {}),
		local_days('local_halves', 'Australia/Lord_Howe',
			'v.{hour}.{30 minutes}', \@lord_howe, step => 30 * MINUTE,
			shift => '30 minutes'));
}

# Times without a time zone, in UTC and in another zone
sub timestamps
{
	my $noon = 1_383_498_000 * SECOND;	# 12:00 of a day of 25 hours
	my @shape = (time => [ 'timestamp', "field 'timestamp_hour'" ],
		unit => 'hour', value => "field 'values.{minute}.{second}'",
		count => 'n', fields => { sum => 'sum' });

	return (
		new_layout('timestamp_slots', @shape, time_text => \&iso,
			bucket => sub {
				"date_trunc('hour', $_[0]) AT TIME ZONE 'UTC'" }),
		new_layout('timestamp_zone', @shape,
			shared => ["bucket_time_zone '$new_york'"],
			bucket => sub {
				"date_trunc('hour', $_[0]) AT TIME ZONE '$new_york'" },
			time_keys([ $noon, $noon + HOUR, $noon - DAY ], HOUR, SECOND),
			time_text => sub {
				my ($t) = @_;
				in_zone($new_york, sub {
					local_fields($t, '%Y-%m-%d %H:%M:%S') });
			}));
}

# A row for each day, in buckets of months
sub dates
{
	my @starts = map { local_month(@$_) } [ 2016, 2 ], [ 2016, 3 ],
	  [ 1969, 12 ];

	return new_layout('dates', time => [ 'date', "field 'month'" ],
		unit => 'month', value => "field 'd.{day:1}'", count => 'n',
		fields => { sum => 'sum', max => 'max' },
		time_text => sub { substr(iso($_[0]), 0, 10) }, finer => undef,
		bucket => sub {
			"date_trunc('month', $_[0]::timestamp) AT TIME ZONE 'UTC'" },
		time_keys(\@starts, 29 * DAY, DAY, 12),
		shifts => [ '1 day', '-1 day', '1 month' ]);
}

sub local_month
{
	my ($year, $month) = @_;
	my ($start) = in_zone('UTC', sub { local_midnight($year, $month, 1) });

	return $start;
}

# All of these layouts, with fresh times
sub slot_layouts
{
	return (
		minutes(), array_values(), extremes('extremes'),
		extremes('extremes_once', options => ["assume_write_once 'true'"],
			points => 40, assume_write_once => 1, moves => 'apart',
			shifts => ['7305 days']),
		hours(), days(), keys_of_slots(),
		page_views(), stock(), monthly(),
		milliseconds(), unpivoted(), counters(), zipped(), zone_days(),
		local_slots(),
		timestamps(),
		dates());
}

1;
