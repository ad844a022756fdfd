# What the benchmark measures, beside what.
#
# figures() returns hashes: name; sql, the query of ours; references, each a
# hash: name, what takes the time (sql; finds, lookups of the floor program;
# pipeline; or sum, names of other references) and bar, the most that ours may
# take of it.  sweep says that the floor's batch size is to be looked for, times
# how often to ask what takes long.  most_buckets is the bar of what EXPLAIN
# ANALYZE counts.
#
# The filters, projections and sorts of the floor are those that EXPLAIN shows of
# ours, or what these should be.

package Bench::Figures;

use strict;
use warnings;

use Exporter qw(import);

our @EXPORT_OK = qw(figures);

# The day and the hour that are asked for, in the shortest of the data
use constant DAY => '2013-10-02';
use constant HOUR => '2013-10-02 14:';

use constant ONE_BATCH => 2000;

my $by_hour = "symbol, date_trunc('hour', d), avg(price), min(price), "
  . 'max(price)';

# ---- MongoDB's side -------------------------------------------------------

sub date { return { '$date' => $_[0] =~ s/ /T/r . 'Z' } }

sub find
{
	my ($filter, $projection, %opts) = @_;
	return { filter => $filter,
		opts => { projection => { map { $_ => 1 } @$projection },
			batchSize => ONE_BATCH, %opts } };
}

sub floor
{
	my ($bar, $collection, $finds, %more) = @_;
	return { name => 'floor', collection => $collection, finds => $finds,
		bar => $bar, %more };
}

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

# ---- Figures --------------------------------------------------------------

sub of_everything
{
	return (
		{ name => 'count, avg over everything',
			sql => 'SELECT count(*), avg(price) FROM stock',
			references => [
				floor(1.1, 'stock', [ find({}, [ 'p', 'd' ]) ], sweep => 1),
				{ name => 'heap',
					sql => 'SELECT count(*), avg(price) FROM heap' } ] },
		{ name => 'avg, min, max by symbol and hour',
			sql => "SELECT $by_hour FROM stock GROUP BY 1, 2",
			references => [
				floor(1.15, 'stock', [ find({}, [ 'p', 'd', 'symbol' ]) ],
					sweep => 1),
				{ name => 'heap', bar => 1 / 3,
					sql => "SELECT $by_hour FROM heap GROUP BY 1, 2" },
				{ name => 'pipeline', bar => 1 / 25, times => 2,
					collection => 'stock',
					pipeline => pipeline_by_hour() } ] },
		{ name => 'all rows',
			sql => rows_of('SELECT * FROM stock'),
			references => [
				floor(undef, 'stock', [ find({}, [ 'p', 'd', 'symbol' ]) ],
					sweep => 1),
				{ name => 'heap', sql => rows_of('SELECT * FROM heap') },
				{ name => 'floor + heap', sum => [ 'floor', 'heap' ],
					bar => 1 } ] });
}

# Make the rows of a query, with all of their columns, and send none.
sub rows_of
{
	my ($query) = @_;
	return 'SELECT count(d), count(symbol), count(price) '
	  . "FROM ($query OFFSET 0) rows";
}

sub of_one_symbol
{
	my $in_day = "WHERE symbol = 'GOOG' AND d >= '" . DAY . q(')
	  . " AND d < timestamptz '" . DAY . "' + interval '1 day'";
	my $in_hour = "WHERE symbol = 'GOOG' AND d >= '" . HOUR . q(00')
	  . " AND d < '" . HOUR . "00'::timestamptz + interval '1 hour'";
	my @fields = qw(p d symbol);

	return (
		{ name => q(one symbol's day: avg),
			sql => "SELECT avg(price) FROM stock $in_day",
			references => [
				floor(1.3, 'stock', [ find({ symbol => 'GOOG',
							d => { '$gte' => date('2013-10-01 23:59:01'),
								'$lt' => date('2013-10-03 00:00:00') } },
						\@fields) ], sweep => 1),
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
								avg => { '$avg' => '$p.v' } } } ] } ] },
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
			most_buckets => 1,
			references => [
				floor(2, 'stock', [ find({ symbol => 'GOOG' }, \@fields,
							sort => { d => -1 }, limit => 1) ]),
				{ name => 'heap',
					sql => q(SELECT d, price FROM heap WHERE symbol = 'GOOG' )
					  . 'ORDER BY d DESC LIMIT 1' } ] });
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
			floor(1.2, 'stock', [ find({}, [ 'n', 'sum', 'd' ]) ], sweep => 1),
			{ name => 'from the values', bar => 1 / 3,
				sql => "$hourly FROM stock GROUP BY 1" },
			{ name => 'heap', sql => "$hourly FROM heap GROUP BY 1" } ] };
}

sub figures
{
	return (of_everything(), of_one_symbol(), of_devices(), of_totals());
}

1;
