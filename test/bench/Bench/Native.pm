# Lists the measurements of native time-series collections, and their
# references.
#
# natives() returns hashes as reads() of Bench::Figures does.  The floor reads
# the buckets, the pipeline and the find are MongoDB's own on the points.

package Bench::Native;

use strict;
use warnings;

use Bench::Ask qw(date find floor);
use Bench::Figures qw(rows_of);
use Exporter qw(import);

our @EXPORT_OK = qw(natives);

# The batch sizes that the floor program tries
use constant BATCHES => (100, 500, 1500, 5000, 20000);

# Unpacking and grouping a point may take so many seconds.
use constant SECONDS_PER_POINT => 20e-9;

use constant RANDOM_POINTS => 2 * 5 * 86400;

my $by_hour = q(symbol, date_trunc('hour', d), count(*), avg(price), )
  . 'min(price), max(price)';
my $in_day = q(WHERE symbol = 'GOOG' AND d >= '2013-10-02' AND )
  . q(d < '2013-10-03');
my %day = (symbol => 'GOOG', d => { '$gte' => date('2013-10-02 00:00:00'),
	'$lt' => date('2013-10-03 00:00:00') });
my $last = q(SELECT d, price FROM stock_native WHERE symbol = 'GOOG' )
  . 'ORDER BY d DESC LIMIT 1';
my @head = ('control.version', 'control.min.d', 'control.max.d');
my @fields = (@head, 'data.d', 'data.price', 'meta');

sub of_groups
{
	my ($name, $table, $points, $bar) = @_;

	return { name => $name,
		sql => "SELECT $by_hour FROM $table GROUP BY 1, 2",
		references => [
			floor(undef, "system.buckets.$table", [ find({}, \@fields) ],
				sweep => [BATCHES]),
			{ name => 'floor + 20 ns a point', sum => ['floor'], bar => 1.3,
				plus => $points * SECONDS_PER_POINT },
			{ name => 'pipeline', bar => $bar, collection => $table,
				pipeline => [ { '$group' => {
							_id => { symbol => '$symbol',
								hour => { '$dateTrunc' =>
									{ date => '$d', unit => 'hour' } } },
							count => { '$sum' => 1 },
							avg => { '$avg' => '$price' },
							min => { '$min' => '$price' },
							max => { '$max' => '$price' } } } ] } ] };
}

sub of_everything
{
	return { name => 'native: count, min, max of everything',
		sql => 'SELECT count(*), min(price), max(price) FROM stock_native',
		references => [
			floor(undef, 'system.buckets.stock_native',
				[ find({}, [ @head, 'control.count', 'control.min.price',
							'control.max.price' ]) ], sweep => [BATCHES]),
			{ name => 'pipeline', collection => 'stock_native',
				pipeline => [ { '$group' => { _id => undef,
							count => { '$sum' => 1 },
							min => { '$min' => '$price' },
							max => { '$max' => '$price' } } } ] } ] };
}

sub of_day
{
	return (
		{ name => q(native: one symbol's day: avg),
			sql => "SELECT avg(price) FROM stock_native $in_day",
			references => [
				day_floor(),
				{ name => 'pipeline', bar => 1 / 5, collection => 'stock_native',
					pipeline => [ { '$match' => \%day },
						{ '$group' => { _id => undef,
								avg => { '$avg' => '$price' } } } ] } ] },
		{ name => q(native: one symbol's day: rows),
			sql => rows_of("SELECT * FROM stock_native $in_day"),
			references => [
				day_floor(),
				{ name => 'find', collection => 'stock_native',
					finds => [ find(\%day, [ 'd', 'symbol', 'price' ]) ] } ] });
}

# MongoDB keeps the buckets in the order of their _id, which begins with the
# seconds of their start.
sub day_floor
{
	return floor(undef, 'system.buckets.stock_native',
		[ find({ meta => 'GOOG',
					'control.min.d' => { '$lt' => $day{d}{'$lt'} },
					'control.max.d' => { '$gte' => $day{d}{'$gte'} },
					_id => { '$gte' => { '$oid' => '524b53b40000000000000000' },
						'$lt' => { '$oid' => '524cb3800000000000000000' } } },
				\@fields) ]);
}

# The index is one on the points, which MongoDB makes one on the buckets.
sub of_last
{
	my $index = q(SELECT mongo_ts_command('mongo', '{
		"createIndexes": "stock_native", "indexes": [
			{"key": {"symbol": 1, "d": -1}, "name": "last"}]}'));

	return map {
		my ($name, @before) = @$_;
		{ name => $name, sql => $last, @before,
			references => [ { name => 'find', bar => 2,
					collection => 'stock_native',
					finds => [ find({ symbol => 'GOOG' }, [ 'd', 'price' ],
							sort => { d => -1 }, limit => 1) ] } ] }
	} [ 'native: last point of a symbol' ],
	  [ 'native: last point of a symbol, by an index', before => $index ];
}

sub of_rows
{
	return { name => 'native: rows with all columns',
		sql => rows_of('SELECT * FROM stock_native'),
		references => [
			floor(undef, 'system.buckets.stock_native', [ find({}, \@fields) ],
				sweep => [BATCHES]),
			{ name => 'rows of minute buckets', bar => 1,
				sql => rows_of('SELECT * FROM stock') } ] };
}

sub natives
{
	my ($points, $version) = @_;
	# MongoDB compresses buckets since 5.2
	my ($walk, $random) = $version =~ m/^5\.[01]\./ ? (6, 6) : (25, 12);

	return (
		of_groups('native: groups by symbol and hour', 'stock_native', $points,
			1 / $walk),
		of_groups('native: the same with random prices', 'stock_random',
			RANDOM_POINTS, 1 / $random),
		of_everything(), of_day(), of_rows(), of_last());
}

1;
