# Defines layouts whose points, documents or elements of arrays, have times of
# their own.  Others are in a time zone, or have keys of many types.  See
# Layouts.pm.

package Differential::Points;

use strict;
use warnings;

use Differential::Data;
use Differential::Layouts qw(new_layout add_row fill_slots head @type
  @value_pool);
use Exporter qw(import);
use List::Util qw(max min);
use POSIX qw(strftime);

our @EXPORT_OK = qw(flat point_layouts);

# ---- A document per point -------------------------------------------------

# json => (t) gives the stored form of a time other than a date, from since on
sub flat
{
	my ($name, $time, $step, %params) = @_;
	my $json_time = $params{json} // \&json_date;
	my $layout = new_layout($name => $time, value => 'value', %params);

	$layout->{is_flat} = 1;
	$layout->{time_sql} = $params{time_sql} if $params{time_sql};
	foreach my $start (grep { $_ >= ($params{since} // $_) } starts($step, 25))
	{
		foreach my $type (grep { chance(0.3) } types())
		{
			my $value = reading();
			my $t = chance(0.02) && $params{has_nulls} ? undef : $start;
			my $document =
			  head('at', $type, defined $t ? $json_time->($t) : 'null');
			delete $document->{at} if !defined $t && chance(0.5);
			$document->{value} = json_number($value)
			  if defined $value || chance(0.5);
			add_row($layout, $t, sql_text($type), sql_number($value));
			push @{ $layout->{docs} }, $document;
		}
	}
	return $layout;
}

# ISO 8601 with any offset, and at times without a fraction or seconds of zero
sub json_iso8601
{
	my ($t) = @_;
	my $offset = pick(0, 0, 60, -210, 345, 840, -720);
	my $local = $t + $offset * MINUTE;
	my $usecs = $local % SECOND;
	my @tm = gmtime(($local - $usecs) / SECOND);
	my $text = sprintf('%04d-%02d-%02d%s%02d:%02d', $tm[5] + 1900, $tm[4] + 1,
		$tm[3], pick('T', 'T', ' '), $tm[2], $tm[1]);

	$text .= sprintf(':%02d', $tm[0]) if $tm[0] || $usecs || chance(0.5);
	$text .= sprintf('.%06d', $usecs) if $usecs;
	$text .= $offset
	  ? sprintf('%s%02d:%02d', $offset < 0 ? '-' : '+', abs($offset) / 60,
		abs($offset) % 60)
	  : pick('Z', '+00:00', '+0000', '+00');
	return json_text($text);
}

# 100 nanoseconds since year 1
sub json_ticks
{
	return sprintf('{"$numberLong": "%d"}',
		($_[0] + 62_135_596_800 * SECOND) * 10);
}

# A date, a text, or microseconds since 1970
sub json_mixed
{
	my ($t) = @_;

	return pick(json_date($t), json_iso8601($t), "{\"\$numberLong\": \"$t\"}");
}

# MongoDB replaces the timestamp 0, 0
sub json_timestamp
{
	return sprintf('{"$timestamp": {"t": %d, "i": %d}}', $_[0] / SECOND,
		between(0, 3));
}

sub json_epoch_text
{
	return json_text(sprintf('%d', $_[0] / 1000));
}

sub flat_layouts
{
	my @at = ('timestamptz', "field 'at'");

	return (
		flat('event', \@at, 37_123_000, has_nulls => 1),
		flat('native', \@at, 250_000),
		flat('iso8601', [ 'timestamptz', "field 'at', format 'iso8601'" ],
			7_777_777_001, has_nulls => 1, json => \&json_iso8601),
		flat('iso8601_rare', [ 'timestamptz', "field 'at', format 'iso8601'" ],
			7 * HOUR + MINUTE, json => \&json_iso8601),
		flat('mixed_times', [ 'timestamptz',
				"field 'at', format 'date or iso8601 or epoch_us'" ],
			7 * HOUR + MINUTE, has_nulls => 1, json => \&json_mixed),
		flat('ticks', [ 'timestamptz', "field 'at', format 'ticks'" ],
			777_777_777, json => \&json_ticks),
		flat('bson_timestamp', [ 'timestamptz', "field 'at', format 'timestamp'" ],
			7_000_000, since => SECOND, json => \&json_timestamp),
		flat('epoch_text', [ 'timestamptz', "field 'at', format 'text:epoch_ms'" ],
			7_777_000, since => 1_000_000_000 * SECOND, has_nulls => 1,
			json => \&json_epoch_text),
		flat('event_timestamp', [ 'timestamp', "field 'at'" ], 7_777_777_000,
			has_nulls => 1, time_sql => \&sql_timestamp),
		flat('event_date', [ 'date', "field 'at'" ], DAY,
			has_nulls => 1, time_sql => \&sql_date));
}

# ---- Arrays of points -----------------------------------------------------

# Buckets with an array of points: put_point->(document, t, leaf) appends a
# point, finish->(document, times) adds fields that depend on all.
sub fill_arrays
{
	my ($layout, %p) = @_;
	my $count = $p{span} / $p{step};

	foreach my $start (@{ $p{starts} // [ starts($p{span}, 1) ] })
	{
		push @{ $layout->{edges} }, $start, $start + $p{span};
		foreach my $type (grep { chance(0.6) } types())
		{
			my $document = $p{head}->($start, $type);
			my @times;
			foreach my $slot (some_slots($count, 6))
			{
				my $value = reading();
				my $t = $start + $slot * $p{step};
				$p{put_point}->($document, $t, json_number($value), $start);
				add_row($layout, $t, sql_text($type), sql_number($value));
				push @times, $t;
			}
			next unless @times;
			$p{finish}->($document, \@times) if $p{finish};
			push @{ $layout->{docs} }, $document;
		}
	}
	return $layout;
}

# Seconds as a binary number: a time can't be a Decimal128
sub json_seconds
{
	my $n = $_[0] / SECOND;

	return $n == int($n) ? pick("{\"\$numberLong\": \"$n\"}",
		"{\"\$numberDouble\": \"$n\"}") : $n;
}

sub size_based
{
	return fill_arrays(
		new_layout(size_based => [ 'timestamptz',
				"field 'samples[].time', format 'epoch:double'" ],
			value => 'samples[].val',
			options => "bucket_time_field 'day', bucket_span '1 day', "
			  . "bucket_first_field 'first', bucket_last_field 'last', "
			  . "bucket_max_points '200', count_field 'nsamples'"),
		span => DAY, step => SECOND / 4,
		head => sub { head('day', $_[1], json_date($_[0])) },
		put_point => sub {
			my ($document, $t, $leaf) = @_;
			push @{ $document->{samples} },
			  { time => json_seconds($t), val => $leaf };
			push @{ $document->{samples} }, {} if chance(0.05);
		},
		finish => sub {
			my ($document, $times) = @_;
			$document->{first} = json_seconds(min(@$times));
			$document->{last} = json_seconds(max(@$times));
			$document->{nsamples} = json_number(scalar @$times);
		});
}

# Keys that are times, among others
sub time_keyed
{
	my @bucket = (options => "bucket_time_field 'day', bucket_span '1 day'");
	my $text = new_layout(key_text => [ 'timestamp', '' ],
		value => 'v.{text:YYYY-MM-DD"T"HH24:MI:SS.MS}');

	$text->{time_sql} = \&sql_timestamp;
	return (
		fill_arrays(
			new_layout(key_epoch => [ 'timestamptz', '' ],
				value => 'v.{epoch}.x', @bucket),
			span => DAY, step => SECOND,
			head => sub { head('day', $_[1], json_date($_[0])) },
			put_point => sub {
				my ($document, $t, $leaf) = @_;
				put($document, $leaf, 'v', $t / SECOND, 'x');
				put($document, json_number(7), 'v', 'sum');
			}),
		# without a time of the bucket
		fill_arrays($text,
			span => DAY, step => 1000,
			head => sub { head('day', $_[1], json_date($_[0])) },
			put_point => sub {
				my ($document, $t, $leaf) = @_;
				put($document, $leaf, 'v', key_text($t));
			}));
}

# A time in milliseconds as the pattern of key_text writes it
sub key_text
{
	my ($t) = @_;
	my $ms = ($t / 1000) % 1000;

	return iso($t - $ms * 1000) =~ s/ /T/r . sprintf('.%03d', $ms);
}

sub computed
{
	return fill_arrays(
		new_layout(computed => [ 'timestamptz',
				"field 'measurements[].timestamp'" ],
			value => 'measurements[].temperature',
			options => "bucket_time_field 'start_date', "
			  . "bucket_span '1 hour', bucket_last_field 'end_date', "
			  . "count_field 'transaction_count'"),
		span => HOUR, step => 1000,
		head => sub { head('start_date', $_[1], json_date($_[0])) },
		put_point => sub {
			my ($document, $t, $leaf) = @_;
			push @{ $document->{measurements} },
			  { timestamp => json_date($t), temperature => $leaf };
		},
		finish => sub {
			$_[0]->{end_date} = json_date(max(@{ $_[1] }));
		});
}

# Only the points have times.
sub arrays
{
	return fill_arrays(
		new_layout(arrays => [ 'timestamptz', "field 'timestamps[]'" ],
			value => 'values[]'),
		span => HOUR, step => 1000,
		head => sub { head('made', $_[1], json_date(0)) },
		put_point => sub {
			my ($document, $t, $leaf) = @_;
			push @{ $document->{timestamps} }, json_date($t);
			push @{ $document->{values} }, $leaf;
		});
}

# Points are arrays; some are subdocuments with the keys of one.
sub tuples
{
	return fill_arrays(
		new_layout(tuples => [ 'timestamptz',
				"field 'candles[].0', format 'epoch_ms'" ],
			value => 'candles[].2'),
		span => HOUR, step => 1000,
		head => sub { head('made', $_[1], json_date(0)) },
		put_point => sub {
			my ($document, $t, $leaf) = @_;
			my $ms = sprintf('{"$numberLong": "%d"}', $t / 1000);
			push @{ $document->{candles} }, pick(
				[ $ms, '7', $leaf ], [ $ms, '"x"', $leaf, '[1, 2]' ],
				{ 0 => $ms, 2 => $leaf });
			push @{ $document->{candles} }, [] if chance(0.05);
		});
}

# Rows whose key and value are elements of arrays, or what MongoDB's queries
# mistake for them
sub tuple_rows
{
	my $layout = new_layout(tuple_rows => [ 'timestamptz', "field 'at.0'" ],
		columns => [ [ @type[ 0, 1 ], "field 'm.tags.1'", $type[3] ],
			[ 'value', 'float8', "field 'load.0'", \@value_pool ] ]);

	foreach my $start (starts(37_123_000, 25))
	{
		foreach my $type (grep { chance(0.3) } types())
		{
			my $value = reading();
			my $leaf = json_number($value);
			add_row($layout, $start, sql_text($type), sql_number($value));
			push @{ $layout->{docs} }, {
				at => [ json_date($start), json_date(0) ],
				m => { tags => defined $type || chance(0.5)
					? [ '1', json_text($type), '"memory_used"' ] : ['2'] },
				load => pick([ $leaf, '5' ], { 0 => $leaf, 1 => '5' },
					[ $leaf, { 0 => json_number(reading()) } ]) };
		}
	}
	return $layout;
}

sub offsets
{
	return fill_arrays(
		new_layout(offsets => [ 'timestamptz',
				"field 'points[].offset', format 'offset:second'" ],
			columns => [
				[ @type[ 0, 1 ], "field '_id.series', bson_type 'string'",
					$type[3] ],
				[ 'sum', 'float8', "field 'points[].sum'", \@value_pool ] ],
			options => "bucket_time_field '_id.origin', "
			  . "bucket_span '1 minute'"),
		span => MINUTE, step => SECOND,
		head => sub {
			my ($start, $type) = @_;
			return { _id => { origin => json_date($start),
					series => json_text($type) } };
		},
		put_point => sub {
			my ($document, $t, $leaf, $start) = @_;
			push @{ $document->{points} },
			  { offset => json_seconds($t - $start), sum => $leaf };
		});
}

# Indexes are minutes and seconds; each point has nanoseconds of its own.
sub positional
{
	my $layout = new_layout(positional => [ 'timestamptz',
			"field 'events[{minute}][{second}].ts_ns', format 'epoch_ns'" ],
		columns => [ [@type],
			map { [ $_, 'float8',
					"field 'events[{minute}][{second}].$_'", \@value_pool ] }
			  'usage_user', 'usage_system' ],
		options => "bucket_time_field 'key_id', "
		  . "bucket_time_format 'text:YYYYMMDD_HH24'");

	foreach my $start (starts(HOUR, 1))
	{
		my $key = iso($start) =~ s/^(\d+)-(\d+)-(\d+) (\d+).*/$1$2$3_$4/r;
		push @{ $layout->{edges} }, $start, $start + HOUR;
		foreach my $type (grep { chance(0.6) } types())
		{
			my $document = head('key_id', $type, json_text($key));
			my @minutes;
			foreach my $place (map { [ between(0, 4), between(0, 9) ] } 1 .. 8)
			{
				my ($minute, $second) = @$place;
				next if $minutes[$minute] && $minutes[$minute][$second];
				my $t = $start + $minute * MINUTE + $second * SECOND
				  + between(0, 999_999);
				my @values = (reading(), reading());
				$minutes[$minute][$second] = {
					ts_ns => "{\"\$numberLong\": \"${t}000\"}",
					usage_user => json_number($values[0]),
					usage_system => json_number($values[1]) };
				add_row($layout, $t, sql_text($type),
					map { sql_number($_) } @values);
			}
			$document->{events} = [ map { $_
				? [ map { $_ // pick('null', {}) } @$_ ]
				: pick('null', []) } @minutes ];
			push @{ $layout->{docs} }, $document;
		}
	}
	return $layout;
}

# ---- Time zones -----------------------------------------------------------

# Days around changes of the clock, of 23 or 25 elapsed hours
sub berlin_days
{
	my ($name, $type) = @_;
	my $layout = new_layout($name => [ $type, "field 'day'" ],
		value => 'values.{hour}',
		options => "bucket_time_zone 'Europe/Berlin'");

	$layout->{time_sql} =
	  sub { sql_timestamptz($_[0]) . " AT TIME ZONE 'Europe/Berlin'" }
	  if $type eq 'timestamp';
	in_zone('Europe/Berlin', sub {
		foreach my $date ([ 2013, 3, 29 ], [ 2013, 10, 25 ], [ 2020, 2, 27 ])
		{
			my ($year, $month, $first) = @$date;
			foreach my $day ($first .. $first + 5)
			{
				my $start = local_midnight($year, $month, $day);
				fill_slots($layout, starts => [$start], step => HOUR,
					span => local_midnight($year, $month, $day + 1) - $start,
					head => sub { head('day', $_[1], json_date($start)) },
					litter => ['values'], points => 8,
					path => sub { ('values', $_[0]) });
			}
		}
	});
	return $layout;
}

# Elements with a time of the day, of days around changes of the clock.  A time
# that occurs twice is the later one.
sub times_of_day
{
	my $layout = new_layout(times_of_day => [ 'timestamptz',
			"field 'readings[].at', format 'time:HH24:MI:SS'" ],
		value => 'readings[].v',
		options => "bucket_time_field 'day', bucket_time_format "
		  . "'text:YYYY-MM-DD', bucket_time_zone 'Europe/Berlin'");

	in_zone('Europe/Berlin', sub {
		my $text = sub { strftime($_[0], localtime($_[1] / SECOND)) };
		my @days = ((map { [ 2013, 3, $_ ] } 29 .. 34),
			map { [ 2013, 10, $_ ] } 25 .. 29);

		foreach my $day (@days)
		{
			my ($year, $month, $number) = @$day;
			my $start = local_midnight(@$day);
			my $end = local_midnight($year, $month, $number + 1);
			push @{ $layout->{edges} }, $start, $end;
			foreach my $type (grep { chance(0.6) } types())
			{
				my $document =
				  head('day', $type, json_text($text->('%F', $start)));
				foreach my $t (map { $start + $_ * 450 * SECOND }
					some_slots(($end - $start) / (450 * SECOND), 10))
				{
					my $time = $text->('%T', $t);
					next if $time eq $text->('%T', $t + HOUR);
					my $value = reading();
					push @{ $document->{readings} },
					  { at => json_text($time), v => json_number($value) };
					add_row($layout, $t, sql_text($type), sql_number($value));
				}
				push @{ $layout->{docs} }, $document;
			}
		}
	});
	return $layout;
}

# Months of calendar days of hours
sub berlin_months
{
	my $layout = new_layout(berlin_months => [ 'timestamptz', "field 'm'" ],
		value => 'd.{day:1}.{hour}',
		options => "bucket_time_zone 'Europe/Berlin'");

	in_zone('Europe/Berlin', sub {
		foreach my $month (2, 3, 10, 11)
		{
			my $first = local_midnight(2016, $month, 1);
			foreach my $type (types())
			{
				my $document = head('m', $type, json_date($first));
				foreach my $day (1, 2, 26 .. 31)
				{
					my $start = local_midnight(2016, $month, $day);
					my $end = local_midnight(2016, $month, $day + 1);
					last if $day > 28 && local_fields($start, '%d') != $day;
					foreach my $hour (some_slots(($end - $start) / HOUR, 3))
					{
						my $value = reading();
						put($document, json_number($value), 'd', $day, $hour);
						add_row($layout, $start + $hour * HOUR,
							sql_text($type), sql_number($value));
					}
				}
				push @{ $layout->{docs} }, $document;
			}
		}
	});
	return $layout;
}

# ---- Keys -----------------------------------------------------------------

my @integers = map { [ $_, $_, "{\"\$numberLong\": \"$_\"}",
		"{\"\$numberDouble\": \"$_\"}" ] } -3, -1, 0, 1, 2, 1000;
# FerretDB does not find NaN by {$type: 'number'} in an index.
my $finds_nan = ($ENV{MONGO_TS_SERVER} // '') ne 'ferretdb';
my @floats = (
	map({ [ "'$_'::float8", "{\"\$numberDouble\": \"$_\"}" ] }
		($finds_nan ? 'NaN' : ()), 'Infinity', '-Infinity', '-1.5', '0.1', '1e300'),
	[ '2', '2', '{"$numberDecimal": "2.0"}' ]);
my @nan = $finds_nan ? [ "'NaN'::numeric", '{"$numberDecimal": "NaN"}' ] : ();
my @numerics = (
	[ '0.1', '{"$numberDecimal": "0.1"}', '{"$numberDouble": "0.1"}' ], @nan,
	[ '12345678901234567890', '{"$numberDecimal": "12345678901234567890"}' ],
	[ '-2.50', '{"$numberDecimal": "-2.5"}', '{"$numberDouble": "-2.5"}' ],
	[ '7', '7', '{"$numberDecimal": "7.00"}' ]);
my @times = map { [ sql_timestamptz($_), json_date($_) ] } -DAY() - 1000, 0,
  1_381_446_419_123_000, 1_456_703_970_000_000;
my @epochs = map { [ sql_timestamptz($_), $_ / 1000 . '' ] } -DAY(), 0,
  1_381_446_419_123_000;
my @dates = map { [ sql_date($_), json_date($_) ] } -DAY(), 0,
  1_456_704_000_000_000;
my @oids = map { [ sql_text($_), "{\"\$oid\": \"$_\"}" ] } oid_texts();
my @uuids = map { [ sql_text($_), json_uuid($_) ] } uuid_texts();

# Texts that are compared with those of ObjectIds
my @oid_pool = map { sql_text($_) } oid_texts(), '', '5a934e', '5A934E000102030405000000',
  '5a934e00010203040500000', '5a934e0001020304050000000', '5a934eg', '5a934e:',
  '5a934e/', '5a934ez', '5a934effffffffffffffffffz', '9fz', 'a', 'fz', 'é';

# Each has a name, type, options, and pairs of a value in SQL and its stored
# forms
my @keys = (
	[ 'k2', 'int2', '', @integers ],
	[ 'k4', 'int4', '', @integers ],
	[ 'k8', 'int8', "field 'meta.k8'", @integers ],
	[ 'kf', 'float8', "field 'meta.kf'", @floats ],
	[ 'kn', 'numeric', '', @numerics ],
	[ 'kb', 'bool', '', [qw(true true)], [qw(false false)] ],
	[ 'kt', 'timestamptz', "role 'key'", @times ],
	[ 'ks', 'timestamp', "role 'key', field 'kt'", () ],
	[ 'ke', 'timestamptz', "role 'key', format 'epoch_ms'", @epochs ],
	[ 'kd', 'date', "role 'key'", @dates ],
	[ 'ko', 'text', "bson_type 'objectId'", @oids ],
	[ 'ku', 'uuid', '', @uuids ],
	[ 'kx', 'text', "role 'attribute'",
		map { [ sql_text($_), json_text($_) ] } grep { defined } types() ]);

# One table with keys of every type, some of them null or missing.  If each
# document is a row, a value has one stored form.
sub keys_of_all_types
{
	my ($name, $is_flat) = @_;
	my @columns = map {
		my ($name, $type, $options, @values) = @$_;
		@values = map { [ sql_timestamp_of($_->[0]) ] } @times
		  if $type eq 'timestamp';
		[ $name, $type, $options,
			$name eq 'ko' ? \@oid_pool : [ map { $_->[0] } @values ] ]
	} @keys;
	my $field = $is_flat ? 'v' : 'v.{second}';
	my $layout = new_layout(
		$name => [ 'timestamptz', "field 'ts', role 'time'", undef,
			$is_flat ? 'NOT NULL' : '' ],
		columns => [ @columns,
			[ 'value', 'float8', "field '$field'", \@value_pool ] ]);

	$layout->{is_flat} = $is_flat;
	foreach my $start ((starts(MINUTE, 1)) x 12)
	{
		my %document = (ts => json_date($start));
		my @row;
		foreach my $key (@keys)
		{
			my ($name, undef, $options, @values) = @$key;
			my $path = $options =~ m/field '(\S+)'/ ? $1 : $name;
			if ($name eq 'ks')
			{
				push @row, sql_timestamp_of($row[-1]);
				next;
			}
			my ($sql, @leaves) = chance(0.15) ? 'NULL' : @{ pick(@values) };
			splice(@leaves, 1) if $is_flat && @leaves;
			push @row, $sql;
			put(\%document, pick(@leaves, 'null'), split(m/\./, $path))
			  if $sql eq 'NULL' && chance(0.5);
			put(\%document, pick(@leaves), split(m/\./, $path))
			  if $sql ne 'NULL';
		}
		foreach my $slot ($is_flat ? 0 : some_slots(60, 1))
		{
			my $value = reading();
			put(\%document, json_number($value), 'v', $is_flat ? () : $slot);
			add_row($layout, $start + $slot * SECOND, @row,
				sql_number($value));
		}
		push @{ $layout->{docs} }, \%document;
	}
	return $layout;
}

# Series that are UUIDs
sub device_uuids
{
	return fill_slots(
		new_layout(device_uuids => [ 'timestamptz', "field 'm'" ],
			columns => [ [ 'device', 'uuid', '', [ map { $_->[0] } @uuids ] ],
				[ 'value', 'float8', "field 'v.{second}'", \@value_pool ] ]),
		span => MINUTE, step => SECOND, types => [ uuid_texts(), undef ],
		head => sub {
			my ($start, $uuid) = @_;
			my %document = (m => json_date($start));

			$document{device} = json_uuid($uuid)
			  if defined $uuid || chance(0.5);
			return \%document; },
		path => sub { ('v', $_[0]) });
}

# Documents that are found by the text of their ObjectId, which grows with the
# time
sub object_ids
{
	my $layout = new_layout(object_ids => [ 'timestamptz', "field 'at'" ],
		columns => [
			[ 'id', 'text', "field '_id', bson_type 'objectId'", \@oid_pool,
				'COLLATE "C"' ],
			[ 'value', 'float8', '', \@value_pool ] ]);
	my @ids = oid_texts();

	$layout->{is_flat} = 1;
	$layout->{tested} = $layout->{columns}[1];
	foreach my $start (grep { $_ >= 0 } starts(MINUTE, 25))
	{
		my $value = reading();
		my $id = shift @ids // sprintf('%08x%s', $start / SECOND,
			pick('ffffffffffffffff', '8000000000000000', '00000000deadbeef'));

		push @{ $layout->{docs} }, { _id => "{\"\$oid\": \"$id\"}",
			at => json_date($start), value => json_number($value) };
		push @oid_pool, sql_text($id) if chance(0.03);
		add_row($layout, $start, sql_text($id), sql_number($value));
	}
	return $layout;
}

# States of any type, each a text and the values that are shown so
my @states = (
	[ '7', '7', '"7"', '{"$numberDouble": "7"}', '{"$numberDecimal": "7"}' ],
	[ '7.0', '"7.0"', '{"$numberDecimal": "7.0"}' ], [ '07', '"07"' ],
	[ '0.1', '"0.1"', '{"$numberDouble": "0.1"}', '{"$numberDecimal": "0.1"}' ],
	[ '20.5', '"20.5"', '20.5' ], [ '0', '0', '"0"' ],
	[ '-0', '{"$numberDouble": "-0.0"}', '{"$numberDecimal": "-0"}', '"-0"' ],
	[ '1e+300', '1e300', '"1e+300"' ], [ '1E+300', '{"$numberDecimal": "1E+300"}' ],
	[ '9007199254740993', '{"$numberLong": "9007199254740993"}', '"9007199254740993"' ],
	[ '9007199254740992', '{"$numberDouble": "9007199254740992"}', '{"$numberLong": "9007199254740992"}' ],
	[ '9223372036854775807', '{"$numberLong": "9223372036854775807"}' ],
	[ '9223372036854775808', '"9223372036854775808"', '{"$numberDecimal": "9223372036854775808"}' ],
	[ 'Infinity', '{"$numberDouble": "Infinity"}', '{"$numberDecimal": "Infinity"}', '"Infinity"' ],
	$finds_nan ? [ 'NaN', '{"$numberDouble": "NaN"}', '{"$numberDecimal": "NaN"}', '"NaN"' ] : (),
	[ 'true', 'true', '"true"' ], [ 'TRUE', '"TRUE"' ], [ 'false', 'false' ],
	[ 'ON', '"ON"' ], [ '', '""' ], [ '[7]', '[7]', '"[7]"' ], [ '{"a": 7}', '{"a": 7}' ],
	[ '2013-10-10T22:46:59.123Z', json_date(1_381_445_219_123_000), '"2013-10-10T22:46:59.123Z"' ],
	[ '10000-01-01T00:00:00.000Z', '{"$date": {"$numberLong": "253402300800000"}}' ],
	[ (oid_texts())[0], json_text((oid_texts())[0]), '{"$oid": "' . (oid_texts())[0] . '"}' ],
	[ (uuid_texts())[0], json_text((uuid_texts())[0]), json_uuid((uuid_texts())[0]) ]);

# Documents whose state has any type, as a value or as their series
sub states
{
	my ($name, $is_flat) = @_;
	my @state = ('state', 'text', "bson_type 'any'",
		[ map { sql_text($_->[0]) } @states ]);
	my $field = $is_flat ? 'v' : 'v.{second}';
	my $layout = new_layout($name => [ 'timestamptz', "field 'ts'" ],
		columns => [ [@type], \@state,
			[ 'value', 'float8', "field '$field'", \@value_pool ] ]);

	$layout->{is_flat} = $is_flat;
	$layout->{tested} = \@state;
	foreach my $start ((starts(MINUTE, 1)) x 6)
	{
		my $type = pick(types());
		my $document = head('ts', $type, json_date($start));
		my ($text, @forms) = chance(0.1) ? (undef, 'null') : @{ pick(@states) };

		$document->{state} = pick(@forms) if defined $text || chance(0.5);
		foreach my $slot ($is_flat ? 0 : some_slots(60, 1))
		{
			my $value = reading();
			put($document, json_number($value), 'v', $is_flat ? () : $slot);
			add_row($layout, $start + $slot * SECOND, sql_text($type),
				sql_text($text), sql_number($value));
		}
		push @{ $layout->{docs} }, $document;
	}
	return $layout;
}

# Convert the SQL of a timestamptz to that of a timestamp in UTC.
sub sql_timestamp_of
{
	my ($sql) = @_;
	$sql =~ s/^timestamptz '(.*)\+00'$/timestamp '$1'/;
	return $sql;
}

# All of these layouts, freshly filled
sub point_layouts
{
	return (
		flat_layouts(), size_based(), time_keyed(), computed(), arrays(), tuples(),
		tuple_rows(), offsets(), positional(), berlin_days('berlin_days', 'timestamptz'),
		berlin_days('berlin_timestamp', 'timestamp'), times_of_day(), berlin_months(),
		keys_of_all_types('keys'), keys_of_all_types('row_keys', 1),
		device_uuids(), object_ids(), states('states', 1), states('state_series', 0));
}

1;
