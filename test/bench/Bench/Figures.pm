# Lists the measurements of reads, and their references.
#
# reads() returns hashes, as do writes() of Bench::Writing and peers() of
# Bench::Peers: name; sql, the extension's query; references; counts.  A
# reference is a hash of name, the measured work, and bar.  The work is one of
# sql; clickhouse, a query; finds, lookups of the floor program; upserts;
# pipeline; or sum, names of other references, with plus, seconds. bar is the largest allowed ratio
# of the extension's time to that of the reference. sweep has the batch sizes
# from which the floor program chooses the best.  A figure or a reference may
# have before, SQL that is not measured, and points, for ratios by the point.
# With at_peer, a figure and its references run in the PostgreSQL that has
# mongo_fdw. counts are lines of EXPLAIN ANALYZE with bars: name, line, and
# either most or beside, a reference whose bytes may be exceeded by bar.

package Bench::Figures;

use strict;
use warnings;

use Bench::Ask qw(date find floor);
use Exporter qw(import);

our @EXPORT_OK = qw(reads rows_of);

# The batch sizes that the floor program tries
use constant BATCHES => (500, 1000, 1500, 2000, 5000, 20000);

# The day and the hour of the queries, within the shortest data
use constant DAY => '2013-10-02';
use constant HOUR => '2013-10-02 14:';

my $by_hour = "symbol, date_trunc('hour', d), avg(price), min(price), "
  . 'max(price)';
my $in_day = "WHERE symbol = 'GOOG' AND d >= '" . DAY . q(')
  . " AND d < timestamptz '" . DAY . "' + interval '1 day'";
my $in_hour = "WHERE symbol = 'GOOG' AND d >= '" . HOUR . q(00')
  . " AND d < '" . HOUR . "00'::timestamptz + interval '1 hour'";
my @fields = qw(p d symbol);

# All points, with their symbol and hour, by the server itself
sub pipeline_by_hour
{
	return [
		{ '$project' => { symbol => 1, d => 1,
				p => { '$objectToArray' => '$p' } } },
		{ '$unwind' => '$p' },
		{ '$group' => {
				_id => { symbol => '$symbol',
					hour => { '$dateTrunc' =>
						{ date => '$d', unit => 'hour' } } },
				avg => { '$avg' => '$p.v' }, min => { '$min' => '$p.v' },
				max => { '$max' => '$p.v' } } } ];
}

# The same by ClickHouse, from the text of the documents
sub clickhouse_by_hour
{
	my ($host, $database) = @_;
	return <<"END" =~ s/\s+/ /gr;
		SELECT symbol, toStartOfHour(d) AS hour, avg(v), min(v), max(v)
		  FROM (SELECT symbol, d,
		               arrayJoin(JSONExtractKeysAndValues(p, 'Float64')).2 AS v
		          FROM mongodb('$host', '$database', 'stock', '', '',
		                       'symbol String, d DateTime64(3), p String'))
		 GROUP BY symbol, hour
END
}

sub of_everything
{
	my ($host, $database) = @_;
	return (
		{ name => 'count, avg over everything',
			sql => 'SELECT count(*), avg(price) FROM stock',
			references => [
				floor(1.1, 'stock', [ find({}, [ 'p', 'd' ]) ], sweep => [BATCHES]),
				{ name => 'heap',
					sql => 'SELECT count(*), avg(price) FROM heap' } ] },
		{ name => 'avg, min, max by symbol and hour',
			sql => "SELECT $by_hour FROM stock GROUP BY 1, 2",
			references => [
				floor(1.15, 'stock', [ find({}, \@fields) ], sweep => [BATCHES]),
				{ name => 'heap', bar => 1 / 3,
					sql => "SELECT $by_hour FROM heap GROUP BY 1, 2" },
				{ name => 'ClickHouse', bar => 1 / 6,
					clickhouse => clickhouse_by_hour($host, $database) },
				{ name => 'pipeline', bar => 1 / 25, collection => 'stock',
					pipeline => pipeline_by_hour() } ] });
}

# Make the rows of a query with all columns, without sending them.
sub rows_of
{
	my ($query) = @_;
	return 'SELECT count(d), count(symbol), count(price) '
	  . "FROM ($query OFFSET 0) rows";
}

# Count the rows: no column is required.
sub count_of
{
	my ($query) = @_;
	return "SELECT count(*) FROM ($query OFFSET 0) rows";
}

sub of_rows
{
	return map {
		my ($name, $wrap) = @$_;
		{ name => $name,
			sql => $wrap->('SELECT * FROM stock'),
			references => [
				floor(undef, 'stock', [ find({}, \@fields) ], sweep => [BATCHES]),
				{ name => 'heap', sql => $wrap->('SELECT * FROM heap') },
				{ name => 'floor + heap', sum => [ 'floor', 'heap' ],
					bar => 1 } ] }
	} [ 'rows, counted', \&count_of ], [ 'rows with all columns', \&rows_of ];
}

sub of_one_symbol
{
	return (
		{ name => q(one symbol's day: avg),
			sql => "SELECT avg(price) FROM stock $in_day",
			references => [
				floor(1.3, 'stock', [ find({ symbol => 'GOOG',
							d => { '$gte' => date('2013-10-01 23:59:01'),
								'$lt' => date('2013-10-03 00:00:00') } },
						\@fields) ], sweep => [BATCHES]),
				{ name => 'heap', sql => "SELECT avg(price) FROM heap $in_day" },
				{ name => 'pipeline', collection => 'stock',
					pipeline => [
						{ '$match' => { symbol => 'GOOG',
								d => { '$gte' => date(DAY . ' 00:00:00'),
									'$lt' => date('2013-10-03 00:00:00') } } },
						{ '$project' => {
								p => { '$objectToArray' => '$p' } } },
						{ '$unwind' => '$p' },
						{ '$group' => { _id => undef,
								avg => { '$avg' => '$p.v' } } } ] },
				{ name => 'one day stored', bar => 1.2,
					sql => "SELECT avg(price) FROM stock_day $in_day" } ] },
		{ name => q(one symbol's hour: rows in order),
			sql => rows_of("SELECT * FROM stock $in_hour ORDER BY d"),
			references => [
				floor(2.5, 'stock', [ find({ symbol => 'GOOG',
							d => { '$gte' => date('2013-10-02 13:59:01'),
								'$lt' => date('2013-10-02 15:00:00') } },
						\@fields, sort => { d => 1 }) ]),
				{ name => 'heap',
					sql => rows_of("SELECT * FROM heap $in_hour ORDER BY d") } ]
		},
		{ name => 'last point of a symbol',
			sql => q(SELECT d, price FROM stock WHERE symbol = 'GOOG' )
			  . 'ORDER BY d DESC LIMIT 1',
			counts => [ { name => 'buckets', line => 'Buckets', most => 1 } ],
			references => [
				floor(2, 'stock', [ find({ symbol => 'GOOG' }, \@fields,
							sort => { d => -1 }, limit => 1) ]),
				{ name => 'heap',
					sql => q(SELECT d, price FROM heap WHERE symbol = 'GOOG' )
					  . 'ORDER BY d DESC LIMIT 1' } ] });
}

sub of_nested_hours
{
	my %hour = (symbol => 'GOOG', d => { '$gt' => date('2013-10-02 13:10:00'),
		'$lt' => date('2013-10-02 14:15:00') });
	my @minutes = map { "p.$_" } 10 .. 14;

	return { name => 'five minutes out of nested hours: rows',
		sql => rows_of(q(SELECT * FROM stock_hours WHERE symbol = 'GOOG' )
			  . 'AND d >= \'' . HOUR . q(10' AND d < ') . HOUR . q(15')),
		counts => [ { name => 'bytes', line => 'Bytes Received',
				beside => 'the five minutes', bar => 1.2 } ],
		references => [
			floor(undef, 'stock_hours',
				[ find(\%hour, [ 'd', 'symbol', @minutes ]) ]),
			floor(undef, 'stock_hours',
				[ { filter => { symbol => 'GOOG',
							d => date('2013-10-02 14:00:00') },
						opts => { projection => {
								_id => 0, map { $_ => 1 } @minutes } } } ],
				name => 'the five minutes') ] };
}

sub of_devices
{
	my @lookups = map { find({ device => $_,
				d => { '$gte' => date('2013-10-01 00:59:01'),
					'$lte' => date('2013-10-01 01:59:59') } },
			[qw(v d device)]) } 1 .. 100;

	return { name => 'a join: the last hour of 100 devices',
		sql => 'SELECT f.device, count(*), avg(v) FROM fleet f JOIN devices p '
		  . q(ON p.device = f.device AND p.d > f.seen - interval '1 hour' )
		  . 'AND p.d <= f.seen GROUP BY 1',
		references => [ floor(2, 'devices', \@lookups) ] };
}

sub of_totals
{
	my $hourly = q(SELECT date_trunc('hour', d), avg(price));

	return { name => 'hourly averages by pre-aggregates',
		sql => "$hourly FROM stock_totals GROUP BY 1",
		references => [
			floor(1.2, 'stock', [ find({}, [ 'n', 'sum', 'd' ]) ], sweep => [BATCHES]),
			{ name => 'from the values', bar => 1 / 3,
				sql => "$hourly FROM stock GROUP BY 1" },
			{ name => 'floor of the values', collection => 'stock',
				finds => [ find({}, \@fields) ] },
			{ name => 'heap', sql => "$hourly FROM heap GROUP BY 1" } ] };
}

# Two workers without the leader, compared with one process: with a server that
# limits the bytes per second on each connection, and with the real one
sub of_workers
{
	my $avg = 'SELECT count(*), avg(price), stddev(price)';
	my $serial = 'SET max_parallel_workers_per_gather = 0';
	my $workers = 'SET max_parallel_workers_per_gather = 2; '
	  . 'SET parallel_leader_participation = off; SET parallel_setup_cost = 0; '
	  . 'SET min_parallel_table_scan_size = 0';

	return map {
		my ($name, $bar, $table) = @$_;
		{ name => $name, before => $workers, after => 'RESET ALL',
			sql => "$avg FROM $table",
			references => [ { name => 'serial', bar => $bar,
					before => $serial, after => 'RESET ALL',
					sql => "$avg FROM $table" } ] }
	} [ 'two workers', 1, 'stock' ], [ 'two workers, slow server', 0.55, 'slow' ];
}

sub reads
{
	my ($host, $database) = @_;
	return (of_everything($host, $database), of_rows(), of_one_symbol(),
		of_nested_hours(), of_devices(), of_totals(), of_workers());
}

1;
