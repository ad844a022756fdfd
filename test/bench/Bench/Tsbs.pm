# Lists the query types of TSBS for cpu-only data, beside pipelines that do in
# MongoDB what those of TSBS do: see Bench::Questions.

package Bench::Tsbs;

use strict;
use warnings;

use Bench::Layouts qw(layout ns hour_key MEASURES);
use Exporter qw(import);

our @EXPORT_OK = qw(tsbs);

use constant SECONDS => { minute => 60, hour => 3600 };
use constant FIRST => '2013-10-01 00:00:00';

sub range_of
{
	my ($hours) = @_;
	return map { sprintf '2013-10-01 %02d:27:40', $_ } 6, 6 + $hours;
}

sub names
{
	my ($hosts) = @_;
	return map { "host_$_" } 1 .. $hosts;
}

# ---- In SQL -----------------------------------------------------------------

sub where
{
	my ($hosts, $from, $to) = @_;
	my $in = join ', ', map { "'$_'" } names($hosts);

	return q(WHERE ) . ($hosts ? "hostname IN ($in) AND " : '')
	  . qq("time" >= '$from' AND "time" < '$to');
}

sub of_metrics
{
	my ($function, $metrics) = @_;
	return join ', ', map { "$function($_)" } (MEASURES)[ 0 .. $metrics - 1 ];
}

# ---- In MongoDB -------------------------------------------------------------

# The hours are those from the first one to that of the end, as if the range
# were an hour longer where its end begins one.
sub match
{
	my ($hosts, $from, $to) = @_;
	my $hours = int((ns($to) - ns($from)) / 3600e9);

	return { measurement => 'cpu',
		key_id => { '$in' => [ map { hour_key($from, $_) } 0 .. $hours ] },
		$hosts ? ('tags.hostname' => { '$in' => [ names($hosts) ] }) : () };
}

# The points of hosts in a range of time
sub points
{
	my ($hosts, $from, $to) = @_;
	my $time = '$$point.timestamp_ns';

	return ({ '$match' => match($hosts, $from, $to) },
		{ '$project' => { _id => 0, key_id => 1, events => 1,
				tags => '$tags.hostname' } },
		{ '$unwind' => '$events' },
		{ '$project' => { key_id => 1, tags => 1, events => { '$filter' => {
						input => '$events', as => 'point',
						cond => { '$and' => [
								{ '$gte' => [ $time, ns($from) ] },
								{ '$lt' => [ $time, ns($to) ] } ] } } } } },
		{ '$unwind' => '$events' });
}

# Groups of metrics by a unit of time
sub groups
{
	my ($unit, $function, $metrics, $is_by_host) = @_;
	my $time = '$events.timestamp_ns';
	my $step = SECONDS->{$unit} * 1_000_000_000;

	return ({ '$project' => { events => 1, tags => 1, unit => { '$subtract' => [
						$time, { '$mod' => [ $time, $step ] } ] } } },
		{ '$group' => {
				_id => $is_by_host ? { time => '$unit', hostname => '$tags' }
				: '$unit',
				map { ("${function}_$_" => { "\$$function" => "\$events.$_" }) }
				  (MEASURES)[ 0 .. $metrics - 1 ] } });
}

# For the last document of each host, its last point
sub last_points
{
	return ({ '$match' => { measurement => 'cpu' } },
		{ '$group' => { _id => '$tags.hostname',
				last => { '$max' => '$key_id' } } },
		{ '$group' => { _id => '$last', hosts => { '$addToSet' => '$_id' } } },
		{ '$lookup' => { from => 'tsbs', as => 'buckets',
				let => { last => '$_id', hosts => '$hosts' },
				pipeline => [ { '$match' => { '$expr' => { '$and' => [
									{ '$in' => [ '$tags.hostname', '$$hosts' ] },
									{ '$eq' => [ '$key_id', '$$last' ] } ] } } } ] } },
		{ '$unwind' => '$buckets' }, { '$unwind' => '$buckets.events' },
		{ '$project' => { tags => '$buckets.tags', events => { '$filter' => {
						input => '$buckets.events', as => 'point', cond => {
							'$gte' => [ '$$point.timestamp_ns', 0 ] } } } } },
		{ '$unwind' => '$events' },
		{ '$group' => { _id => '$tags.hostname',
				point => { '$last' => '$events' } } });
}

# ---- The query types --------------------------------------------------------

# Name, SQL, pipeline, hosts, range
sub maxima
{
	my ($name, $unit, $metrics, $hosts, $hours) = @_;
	my @range = range_of($hours);

	return [ $name, qq(SELECT date_trunc('$unit', "time"), )
		  . of_metrics('max', $metrics) . ' FROM cpu_%s '
		  . where($hosts, @range) . ' GROUP BY 1 ORDER BY 1',
		[ points($hosts, @range), groups($unit, 'max', $metrics),
			{ '$sort' => { _id => 1 } } ], $hosts, @range ];
}

sub averages
{
	my ($name, $metrics) = @_;
	my @range = range_of(12);

	return [ $name, q(SELECT date_trunc('hour', "time"), hostname, )
		  . of_metrics('avg', $metrics) . ' FROM cpu_%s ' . where(0, @range)
		  . ' GROUP BY 1, 2 ORDER BY 1, 2',
		[ points(0, @range), groups('hour', 'avg', $metrics, 1),
			{ '$sort' => { '_id.hostname' => 1 } },
			{ '$sort' => { '_id.time' => 1 } } ], 0, @range ];
}

sub high
{
	my ($name, $hosts) = @_;
	my @range = range_of(12);

	return [ $name, 'SELECT * FROM cpu_%s ' . where($hosts, @range)
		  . ' AND usage_user > 90',
		[ points($hosts, @range),
			{ '$match' => { 'events.usage_user' => { '$gt' => 90 } } } ],
		$hosts, @range ];
}

sub of_last
{
	return [ 'lastpoint', 'SELECT DISTINCT ON (hostname) * FROM cpu_%s '
		  . 'ORDER BY hostname, "time" DESC', [ last_points() ] ];
}

sub of_limit
{
	my @range = (FIRST, (range_of(12))[1]);

	return [ 'groupby-orderby-limit', q(SELECT date_trunc('minute', "time"), )
		  . qq(max(usage_user) FROM cpu_%s WHERE "time" < '$range[1]' )
		  . 'GROUP BY 1 ORDER BY 1 DESC LIMIT 5',
		[ points(0, @range), groups('minute', 'max', 1),
			{ '$sort' => { _id => -1 } }, { '$limit' => 5 } ], 0, @range ];
}

sub types
{
	return (
		(map {
				my ($metrics, $hosts, $hours) = @$_;
				maxima("single-groupby-$metrics-$hosts-$hours", 'minute', @$_)
			} [ 1, 1, 1 ], [ 1, 1, 12 ], [ 1, 8, 1 ], [ 5, 1, 1 ], [ 5, 1, 12 ],
			[ 5, 8, 1 ]),
		(map { maxima("cpu-max-all-$_", 'hour', 10, $_, 8) } 1, 8),
		(map { averages(@$_) } [ 'double-groupby-1', 1 ],
			[ 'double-groupby-5', 5 ], [ 'double-groupby-all', 10 ]),
		high('high-cpu-1', 1), high('high-cpu-all', 0), of_last(), of_limit());
}

# The documents of a query type, or the last one of each host
sub finds
{
	my ($hosts, @range) = @_;

	return [ { filter => match($hosts, @range), opts => {} } ] if @range;
	return [ map { { filter => { measurement => 'cpu',
					'tags.hostname' => "host_$_" },
				opts => { sort => { key_id => -1 }, limit => 1 } } } 0 .. 19 ];
}

sub bar
{
	my ($name) = @_;
	return $name =~ m/^double/ ? 1 / 5 : $name eq 'lastpoint' ? 1 : undef;
}

sub tsbs
{
	return map {
		my ($name, $sql, $pipeline, $hosts, @range) = @$_;
		my $heap = sprintf $sql, 'heap_tsbs';
		{ question => q(TSBS's query types), layout => $name,
			tables => [ layout('tsbs') ], sql => sprintf($sql, 'tsbs'),
			is_exact => 1,
			references => [
				{ name => 'pipeline', collection => 'tsbs', bar => bar($name),
					pipeline => $pipeline },
				{ name => 'floor', collection => 'tsbs',
					finds => finds($hosts, @range),
					fields => layout('tsbs')->{fields} },
				{ name => 'heap', sql => $heap },
				{ name => 'TimescaleDB', sql => $heap, is_peer => 1 },
				{ name => 'DuckDB', duckdb => $heap } ] }
	} types();
}

1;
