# Defines layouts with arrays, and with a document for each point, for the
# differential test of writing.  See WriteLayouts.pm.

package Differential::WritePoints;

use strict;
use warnings;

use Differential::Data;
use Differential::WriteLayouts
  qw(new_layout time_keys near quarters_of types_of uuids special);
use Exporter qw(import);

our @EXPORT_OK = qw(point_layouts);

# ---- Arrays that points are pushed to -------------------------------------

sub size_based
{
	my ($name, $format, %p) = @_;

	return new_layout($name, mode => 'push', unit => 'day', cap => 5,
		time => [ 'timestamptz', "field 'samples[].time', format '$format'" ],
		document_time => "field 'day'", index => 1,
		keys => [ [ 'sensor_id', 'int', '', [ 5, 6, undef ] ] ],
		shared => [ "bucket_time_field 'day'", "bucket_span '1 day'" ],
		options => [ "bucket_first_field 'first'",
			"bucket_last_field 'last'", "bucket_max_points '5'" ],
		count => 'nsamples', value => "field 'samples[].val'",
		fields => { sum => 'sum', min => 'min', max => 'max' },
		bounds => [ [ 'first', "field 'first', format '$format'" ],
			[ 'last', "field 'last', format '$format'" ] ], %p);
}

# The computed pattern: a sum, and the time of the last point
sub computed
{
	return new_layout('computed', mode => 'push', unit => 'hour',
		step => 1000,
		time => [ 'timestamptz', "field 'measurements[].timestamp'" ],
		document_time => "field 'start_date'", index => 1, pool => special(),
		shared => [ "bucket_time_field 'start_date'",
			"bucket_span '1 hour'" ],
		options => [ "bucket_last_field 'end_date'", "batch_size '3'" ],
		is_small => 1, count => 'transaction_count',
		value => "field 'measurements[].temperature'",
		fields => { sum => 'sum_temperature' },
		bounds => [ undef, [ 'last', "field 'end_date'" ] ]);
}

# The key of the bucket is its whole _id.
sub offsets
{
	return new_layout('offsets', mode => 'push', step => SECOND / 4,
		time => [ 'timestamptz',
			"field 'points[].offset', format 'offset:second:double'" ],
		document_time => "field '_id.origin'", finer => undef,
		keys => [
			[ 'sensor', 'int', "field '_id.sensor'", [ 1, 7, undef ] ],
			[ 'site', 'uuid', "field '_id.site'", uuids() ] ],
		shared => [ "bucket_time_field '_id.origin'",
			"bucket_span '1 minute'" ],
		value => "field 'points[].sum'");
}

sub times_of_day
{
	return new_layout('times_of_day', mode => 'push', unit => 'day',
		step => MINUTE, finer => '30 seconds',
		time => [ 'timestamptz',
			"field 'readings[].at', format 'time:HH24:MI'" ],
		document_time => "field 'day', format 'text:YYYY-MM-DD'",
		shared => [ "bucket_time_field 'day'",
			"bucket_time_format 'text:YYYY-MM-DD'" ],
		value => "field 'readings[].v'");
}

sub parallel
{
	return new_layout('parallel', mode => 'push', unit => 'hour',
		step => 1000,
		time => [ 'timestamptz', "field 'timestamps[]'" ],
		document_time => "field 'start'", value => "field 'values[]'",
		shared => [ "bucket_time_field 'start'", "bucket_span '1 hour'" ]);
}

# ---- Arrays whose indexes tell the time -----------------------------------

# Points have a time of their own, more precise than their index.  Some seconds
# have two times: the second one replaces the first.
sub positional
{
	my ($name, %p) = @_;
	my @starts = near(HOUR);
	my %some = time_keys(\@starts, HOUR, SECOND, 6);
	my @times = map { my $t = $_;
		map { $t + between(0, 999_999) } 1 .. pick(1, 1, 2) }
	  @{ $some{times} };

	return new_layout($name, unit => 'hour', finer => undef,
		time => [ 'timestamptz',
			"field 'events[{minute}][{second}].ts_ns', format 'epoch_ns'" ],
		document_time => "field 'key_id', format 'text:YYYYMMDD_HH24'",
		shared => [ "bucket_time_field 'key_id'",
			"bucket_time_format 'text:YYYYMMDD_HH24'" ],
		values => [ map { [ $_, 'float8',
			"field 'events[{minute}][{second}].$_'", quarters_of(),
			%{ $p{sums} // {} } ? (sum => "sum_$_") : () ] }
			  'usage_user', 'usage_system' ],
		slot => sub { "date_trunc('second', $_[0], 'UTC')" },
		times => \@times, edges => $some{edges},
		shifts => [ '0.25 seconds', '1 second', '-1 minute', '1 hour' ], %p);
}

# Slots without a point contain -1.
sub positional_leaf
{
	return new_layout('positional_leaf', unit => 'hour', step => MINUTE,
		time => [ 'timestamptz', "field 'h'" ], preallocate => 1,
		missing => -1, values => [ [ 'v', 'float8',
				"field 'v[{minute}]', missing_value '-1'", quarters_of() ] ]);
}

# ---- Keys that are times --------------------------------------------------

sub time_keyed
{
	return (
		new_layout('key_epoch', unit => 'hour', step => 1000, index => 1,
			time => [ 'timestamptz', '' ], document_time => "field 'start'",
			shared => [ "bucket_time_field 'start'", "bucket_span '1 hour'" ],
			finer => '0.5 milliseconds', value => "field 'v.{epoch_ms}'",
			count => 'n', fields => { sum => 'sum', min => 'min' }),
		new_layout('key_text', unit => 'day', document_time => "field 'day'",
			time => [ 'timestamp', '' ], time_text => \&iso,
			shared => [ "bucket_time_field 'day'", "bucket_span '1 day'" ],
			options => ["on_subresolution 'truncate'"], truncate => 1,
			keys => [ [ 'host', 'text', '', [ 'a', 'b', undef ] ],
				[ 'type', 'text', 'slot', [ 'cpu', 'mem', 'é', 'A b_c' ] ] ],
			value => "field 'v.{type}.{text:YYYYMMDD HH24:MI:SS}.x'",
			bucket => sub {
				"date_trunc('day', $_[0]) AT TIME ZONE 'UTC'" }));
}

# ---- A document for each point --------------------------------------------

sub event
{
	my ($name, $format, %p) = @_;
	my @times = map { $_ + 1000 * between(0, 3_600_000) } (near(HOUR)) x 8;

	return new_layout($name, mode => 'flat', step => 1000, unit => 'hour',
		time => [ 'timestamptz', "field 'at', format '$format'" ],
		value => "field 'value'",
		options => ["batch_size '3'"], is_small => 1, index => 1,
		pool => special(), times => \@times, edges => [ @times[ 0 .. 3 ] ],
		shifts => [ '1 millisecond', '1 day' ], %p);
}

# Hourly totals, one of which is a generated column
sub roll_up
{
	return new_layout('roll_up', mode => 'flat', unit => 'day', step => HOUR,
		time => [ 'timestamp', "field 'hour'" ], time_text => \&iso,
		finer => undef,
		keys => [ [ 'type', 'text', "field 'meta.type'", types_of() ],
			[ 'ok', 'bool', '', [ 't', 'f', undef ] ] ],
		values => [
			[ 'n', 'int8', "field 'totals.n'",
				[ undef, 1, 2, 9_000_000_000 ] ],
			[ 'lo', 'float8', "field 'totals.lo'", quarters_of() ],
			[ 'price', 'numeric', '', [ undef, '41.07', '0.10' ] ],
			[ 'note', 'text', '', [ undef, '', "it's", 'é "q" \\' ] ],
			[ 'mark', 'uuid', '', uuids() ],
			[ 'raw', 'bytea', '', [ undef, '\\x', '\\x00', '\\x0001ff' ] ] ],
		generated => [ 'twice', 'float8', '(lo * 2)' ]);
}

# A partitioned table whose partitions are foreign tables.  No point moves from
# one to another, as PostgreSQL doesn't support that.
sub partitioned
{
	my @starts = map { $_ * MINUTE } -2, -1, 0, 1;

	return new_layout('partitioned', time => [ 'timestamptz', "field 'ts'" ],
		value => "field 'v.{second}'", count => 'n', moves => 'never',
		fields => { sum => 'sum' }, time_keys(\@starts, MINUTE, SECOND),
		partitions => [ "FROM (MINVALUE) TO ('1970-01-01 00:00+00')",
			"FROM ('1970-01-01 00:00+00') TO (MAXVALUE)" ]);
}

# All of these layouts, with fresh times
sub point_layouts
{
	return (
		size_based('size_based', 'epoch:double', finer => undef),
		size_based('size_seconds', 'epoch'), computed(), offsets(),
		times_of_day(), parallel(),
		positional('positional'),
		positional('positional_counted', count => 'n', sums => { yes => 1 }),
		positional_leaf(), time_keyed(), event('event', 'date'),
		event('event_iso8601', 'iso8601', finer => undef,
			is_ambiguous => 1),
		event('event_ticks', 'ticks', finer => undef), roll_up(),
		partitioned());
}

1;
