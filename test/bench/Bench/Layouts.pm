# Lists the layouts of the benchmark: how each is loaded, declared and read.
#
# A layout is a hash:
#   name       of its collection, and of its foreign table (d, host, v)
#   shape, kind                     the shape and the values of load.c
#   d, host, v                      column options
#   host_options, v_options         more of these, for a field
#   options                         table options
#   key, time                       the bucket's fields of the series (if it has
#                                   one) and the time
#   fields                          the fields that a query reads
#   unfold                          stages that make points of a bucket
#   point                           expressions of host, time (or hour), value
#   range                           the filter of one series from a time to another
#   sort                            the fields that order the buckets
#   buckets                         the collection, if it isn't named so
#   reader                          how ClickHouse reads it: columns, and the
#                                   series, the hour and the value
#   create                          a command that creates the collection
#   from       the name of another layout whose collection it reads
#   is_alone   no local table has the same rows
#   host_type  of the series' column, if it is not text
#   server     of the foreign table, and of the collection unless it is another's
# Omitted ones are those of a minute's subdocument of doubles.

package Bench::Layouts;

use strict;
use warnings;

use Exporter qw(import);
use JSON::PP;
use List::Util qw(first);
use POSIX qw(strftime);
use Time::Local qw(timegm);

our @EXPORT_OK = qw(layouts layout date ns hour_key all_buckets load_layout
  declare create_index create empty heap summary MEASURES);

use constant FIRST_DAY => '2013-10-01 00:00:00';

# The ten values of TSBS
use constant MEASURES => map { "usage_$_" }
  qw(user system idle nice iowait irq softirq steal guest guest_nice);

# The type and the value of each kind in SQL, of the series i at second n
my $hundredths = '4000 + i * 1000 + abs(n % 20000 - 10000) / 2 + n * 7919 % 11';
my %kinds = (double => [ 'float8', "($hundredths) / 100.0::float8" ],
	int => [ 'int', $hundredths ],
	long => [ 'bigint', $hundredths ],
	random => [ 'float8', '((n * 5 + i + 1) * 2654435761 '
		  . '& 4294967295) * 100.0::float8 / 4294967296.0::float8' ],
	tsbs => ['float8'], counters => ['float8']);

# ---- Times ------------------------------------------------------------------

sub epoch
{
	my ($time) = @_;
	my ($year, $month, @rest) = $time =~ m/\d+/g;
	return timegm(reverse($year, $month - 1, @rest));
}

# Convert a time such as 2013-10-02 14:00:00 to extended JSON.
sub date { return { '$date' => $_[0] =~ s/ /T/r . 'Z' } }
sub ns { return epoch($_[0]) * 1_000_000_000 }

# Return the key of an hour, after other hours if so wished.
sub hour_key
{
	my ($time, $after) = @_;
	return strftime('%Y%m%d_%H', gmtime(epoch($time) + 3600 * ($after // 0)));
}

sub object_id
{
	my ($seconds) = @_;
	return { '$oid' => sprintf '%08x%016x', $seconds, 0 };
}

# ---- The layouts ------------------------------------------------------------

# Stages that unfold subdocuments of a number of levels
sub slots
{
	my ($levels) = @_;
	return map { (
		{ '$project' => { host => 1, d => 1,
				v => { '$objectToArray' => $_ == 1 ? '$v' : '$v.v' } } },
		{ '$unwind' => '$v' }) } 1 .. $levels;
}

sub of_day_and_bounds
{
	my ($host, $from, $to) = @_;
	return { host => $host, last => { '$gte' => date($from) },
		first => { '$lt' => date($to) },
		d => { '$gte' => date($from =~ s/ .*/ 00:00:00/r),
			'$lt' => date($to) } };
}

# MongoDB keeps the buckets in the order of their _id, which begins with the
# seconds of their start.
sub of_native
{
	my ($host, $from, $to) = @_;
	return { meta => $host, 'control.min.d' => { '$lt' => date($to) },
		'control.max.d' => { '$gte' => date($from) },
		_id => { '$gte' => object_id(epoch($from) - 3600),
			'$lt' => object_id(epoch($to)) } };
}

sub of_tsbs
{
	my ($host, $from, $to) = @_;
	return { measurement => 'cpu', 'tags.hostname' => $host,
		key_id => { '$gte' => hour_key($from), '$lt' => hour_key($to) } };
}

# For ClickHouse, subdocuments and arrays are text.
sub reader
{
	my (%more) = @_;
	return { columns => 'host String, d DateTime64(3), v String', host => 'host',
		hour => 'toStartOfHour(d)', %more };
}

my $values = q{arrayJoin(JSONExtractKeysAndValues(%s, 'Float64'))};
my $nested = sprintf $values, 'arrayJoin(JSONExtractKeysAndValuesRaw(v)).2';
my $elements = 'arrayJoin(JSONExtractArrayRaw(%s))';

my %slots = (reader => reader(value => sprintf("$values.2", 'v')),
	unfold => [ slots(1) ],
	point => { host => '$host', time => '$d', value => '$v.v' });
my %hour = (v => 'v.{second}', options => q(bucket_span '1 hour'));
my %plain = (reader => reader(value => 'v',
		columns => 'host String, d DateTime64(3), v Float64'),
	point => { host => '$host', time => '$d', value => '$v' });
my %native = (shape => 'native', v => 'v', %plain, unfold => [],
	sort => ['_id'], key => 'meta', range => \&of_native,
	fields => [ 'control.version', 'control.min.d', 'control.max.d', 'data.d',
		'data.v', 'meta' ],
	create => '{"create": "%s", "timeseries": {"timeField": "d", '
	  . '"metaField": "host"}}');
my @layouts = (
	{ name => 'minute' },
	{ name => 'minute_int', kind => 'int' },
	{ name => 'minute_long', kind => 'long' },
	{ name => 'hour', shape => 'hour', %hour },
	{ name => 'hour_int', shape => 'hour', kind => 'int', %hour },
	{ name => 'hour_long', shape => 'hour', kind => 'long', %hour },
	{ name => 'nested', shape => 'nested', v => 'v.{minute}.{second}',
		unfold => [ slots(2) ], reader => reader(value => "$nested.2") },
	{ name => 'tsbs', shape => 'tsbs', kind => 'tsbs', series => 20, hours => 24,
		key => 'tags.hostname', time => 'key_id', sort => ['key_id'],
		fields => [ 'events', 'key_id', 'tags.hostname' ],
		range => \&of_tsbs,
		reader => reader(hour => 'key_id',
			columns => 'key_id String, tags String, events String',
			host => q{JSONExtractString(tags, 'hostname')},
			value => 'JSONExtract(' . sprintf($elements =~ s/%s/$elements/r,
				'events') . q{, 'usage_user', 'Nullable(Float64)')}),
		unfold => [ { '$project' => { 'tags.hostname' => 1, key_id => 1,
					events => 1 } },
			({ '$unwind' => '$events' }) x 2,
			{ '$match' => {
					'events.timestamp_ns' => { '$exists' => \1 } } } ],
		point => { host => '$tags.hostname', hour => '$key_id',
			value => '$events.usage_user' } },
	{ name => 'samples', shape => 'samples', d => 'samples[].t',
		v => 'samples[].v', fields => [qw(d host first last samples)],
		options => q(bucket_time_field 'd', bucket_span '1 day', )
		  . q(bucket_first_field 'first', bucket_last_field 'last', )
		  . q(bucket_max_points '200', count_field 'n'),
		sort => [ 'd', 'first' ], range => \&of_day_and_bounds,
		reader => reader(hour => 'toStartOfHour(first)',
			columns => 'host String, first DateTime64(3), samples String',
			value => 'JSONExtractFloat(' . sprintf($elements, 'samples')
			  . q{, 'v')}),
		unfold => [ { '$unwind' => '$samples' } ],
		point => { host => '$host', time => '$samples.t',
			value => '$samples.v' } },
	{ name => 'parallel', shape => 'parallel', d => 't[]', v => 'v[]',
		fields => [qw(d host t v)],
		options => q(bucket_time_field 'd', bucket_span '1 hour'),
		unfold => [ { '$project' => { host => 1, d => 1, v => 1 } },
			{ '$unwind' => '$v' } ], %plain, reader => reader(
			value => q{arrayJoin(JSONExtract(v, 'Array(Float64)'))}) },
	{ name => 'unpivoted', shape => 'unpivoted', v => 'v.{second}.{host}',
		host => undef, key => undef, fields => [ 'd', 'v' ],
		range => sub { return { d => { '$gte' => date($_[1]),
					'$lt' => date($_[2]) } } },
		unfold => [ slots(2) ],
		point => { host => '$v.k', time => '$d', value => '$v.v' },
		reader => reader(columns => 'd DateTime64(3), v String',
			host => "($nested AS pair).1", value => 'pair.2') },
	{ name => 'flat', shape => 'point', v => 'v', unfold => [], %plain,
		host_options => q(, role 'key') },
	{ name => 'native', %native, buckets => 'system.buckets.native' },
	{ name => 'native_random', %native, kind => 'random',
		buckets => 'system.buckets.native_random' },
	# those of single questions
	{ name => 'devices', series => 100, hours => 2, is_special => 1, is_alone => 1 },
	{ name => 'counters', shape => 'counters', kind => 'counters', series => 300,
		v => 'v.{host}', host => undef, host_type => 'int', key => undef,
		options => q(bucket_span '1 minute'), is_special => 1 },
	(map { { name => $_->[0], shape => 'hour', series => 1, hours => 1, %hour,
				v_options => q(, sum_field 'sum'), server => $_->[1],
				options => q(bucket_span '1 hour', count_field 'n'),
				is_special => 1, is_alone => 1 }
		} [ 'seconds', 'mongo' ], [ 'seconds_members', 'members' ]),
	{ name => 'totals', from => 'minute', is_special => 1,
		v_options => q(, sum_field 'sum', min_field 'min', max_field 'max'),
		options => q(count_field 'n') },
	{ name => 'slow', from => 'minute', server => 'slowly', is_special => 1 },
	{ name => 'members', server => 'members', is_special => 1 },
	{ name => 'members_none', from => 'members', server => 'members_none',
		is_special => 1 });

foreach my $layout (@layouts)
{
	%$layout = (shape => 'minute', kind => 'double', v => 'v.{second}',
		d => 'd', host => 'host', key => 'host', time => 'd', sort => ['d'],
		series => 5, fields => [qw(d host v)], %slots,
		buckets => $layout->{from} // $layout->{name}, %$layout);
	$layout->{range} //= sub {
		return { host => $_[0], d => { '$gte' => date($_[1]),
				'$lt' => date($_[2]) } };
	};
}

sub layouts { return @layouts }

sub layout
{
	my ($name) = @_;
	return first { $_->{name} eq $name } @layouts;
}

# The filter of all buckets
sub all_buckets { return $_[0]{shape} eq 'tsbs' ? { measurement => 'cpu' } : {} }

# ---- Collections and tables -------------------------------------------------

# Return the arguments of load.
sub load_layout
{
	my ($layout, $days) = @_;

	return (@{$layout}{qw(name shape)}, $layout->{kind} =~ s/tsbs|counters/double/r,
		$layout->{series}, $layout->{hours} // $days * 24);
}

sub options
{
	my @options = grep { length } @_;
	return @options ? ' OPTIONS (' . join(', ', @options) . ')' : '';
}

sub field
{
	my ($path, $more) = @_;
	return defined $path ? options("field '$path'" . ($more // '')) : '';
}

# TSBS has columns and names of its own; a view has those of the others.
sub declare_tsbs
{
	my ($table, $collection) = @_;
	my $point = 'events[{minute}][{second}]';

	return "CREATE FOREIGN TABLE cpu_$table (\"time\" timestamptz "
	  . field("$point.timestamp_ns", q(, format 'epoch_ns'))
	  . ', hostname text' . field('tags.hostname')
	  . join('', map { ", $_ float8" . field("$point.$_") } MEASURES)
	  . ') SERVER mongo' . options("collection '$collection'",
		q(bucket_time_field 'key_id'), q(bucket_time_format 'text:YYYYMMDD_HH24'),
		q(filter '{"measurement": "cpu"}'))
	  . '; ' . view_of_tsbs($table);
}

sub view_of_tsbs
{
	my ($name) = @_;
	return "CREATE VIEW $name AS SELECT \"time\" AS d, hostname AS host, "
	  . "usage_user AS v FROM cpu_$name";
}

# Return SQL that declares a layout's table for a collection.
sub declare
{
	my ($layout, $table, $collection) = @_;

	return declare_tsbs($table, $collection) if $layout->{shape} eq 'tsbs';
	return "CREATE FOREIGN TABLE $table (d timestamptz" . field($layout->{d})
	  . ', host ' . ($layout->{host_type} // 'text') . field($layout->{host}, $layout->{host_options})
	  . ", v $kinds{$layout->{kind}}[0]"
	  . field($layout->{v}, $layout->{v_options})
	  . ($layout->{v_options} ? ' NOT NULL' : '') . ') SERVER '
	  . ($layout->{server} // 'mongo')
	  . options("collection '$collection'", $layout->{options});
}

# Return SQL that creates the indexes of a collection.
sub create_index
{
	my ($layout, $table) = @_;

	return "SELECT mongo_ts_create_index('$table')"
	  if $layout->{shape} ne 'tsbs';
	return "SELECT mongo_ts_create_index('cpu_$table'); "
	  . q[SELECT mongo_ts_command('mongo', '] . <<"END" =~ s/\s+/ /gr . q[')];
{"createIndexes": "$table", "indexes": [{"name": "tsbs", "key": {
  "key_id": 1, "measurement": 1, "tags.hostname": 1}}]}
END
}

# Return SQL that makes an empty collection of a table.
sub create
{
	my ($layout, $table) = @_;

	return ($layout->{create}
		? "SELECT mongo_ts_command('mongo', '"
		  . sprintf($layout->{create}, $table) . q{'); } : '')
	  . create_index($layout, $table);
}

# Return SQL that empties it.
sub empty
{
	my ($layout, $table) = @_;

	my $server = $layout->{server} // 'mongo';

	return qq{SELECT mongo_ts_command('$server', '{"drop": "$table"}'); }
	  . create($layout, $table);
}

# ---- Local tables with the same rows ----------------------------------------

# Return the local table of a kind: its name, columns, time, key, and a query
# for its rows, bucket by bucket.
sub heap
{
	my ($kind, $days) = @_;
	my ($type, $value) = @{ $kinds{$kind} };

	return heap_of_tsbs() if $kind eq 'tsbs';
	return heap_of_counters($days) if $kind eq 'counters';
	return { name => "heap_$kind", columns => "d timestamptz, host text, v $type",
		time => 'd', key => 'host, d',
		rows => q(SELECT timestamptz '2013-10-01' + n * interval '1 s', )
		  . "'host_' || i, ($value)::$type "
		  . "FROM generate_series(0, $days * 1440 - 1) AS minute, "
		  . 'generate_series(0, 4) AS i, '
		  . 'generate_series(minute * 60::bigint, minute * 60 + 59) AS n' };
}

sub heap_of_counters
{
	my ($days) = @_;
	return { name => 'heap_counters', columns => 'd timestamptz, host int, v float8',
		time => 'd', key => 'host, d',
		rows => q(SELECT timestamptz '2013-10-01' + n * interval '1 s', )
		  . "i, ($hundredths) / 100.0::float8 "
		  . "FROM generate_series(0::bigint, $days * 86400 - 1, 60) AS n, "
		  . 'generate_series(0, 299) AS i' };
}

sub heap_of_tsbs
{
	my @values = map {
		my $factor = 5 + $_;
		"abs((n * $factor + i * 997) % 7200 - 3600) / 36"
	} 0 .. $#{ [MEASURES] };

	return { name => 'cpu_heap_tsbs', time => '"time"', key => 'hostname, "time"',
		columns => join(', ', '"time" timestamptz, hostname text',
			map { "$_ float8" } MEASURES),
		view => view_of_tsbs('heap_tsbs'),
		rows => q(SELECT timestamptz '2013-10-01' + n * interval '10 s', )
		  . q('host_' || i, ) . join(', ', @values)
		  . ' FROM generate_series(0, 8639) AS n, '
		  . 'generate_series(0, 19) AS i ORDER BY n / 360, i, n' };
}

# Return a query that two tables with the same rows answer alike.
sub summary
{
	my ($table) = @_;
	return 'SELECT host, count(*), min(d), max(d), min(v), max(v), '
	  . "round(avg(v)::numeric, 6) FROM $table GROUP BY 1 ORDER BY 1";
}

1;
