# Lists the measurements beside mongo_fdw, in the PostgreSQL that has it: see
# Bench::Figures.
#
# mongo_fdw reads a collection with a document for each point, and the buckets,
# whose points it returns as json.

package Bench::Peers;

use strict;
use warnings;

use Bench::Writing qw(empty_collection);
use Exporter qw(import);

our @EXPORT_OK = qw(peers);

# fewer points, because mongo_fdw writes one document at a time
use constant FEW => 5000;
use constant MANY => 432000;

# (an end of '2013-10-02' + interval '1 day' is an error in mongo_fdw)
my $in_day = q(WHERE symbol = 'GOOG' AND d >= '2013-10-02' )
  . q(AND d < '2013-10-03');

sub insert
{
	my ($table, $n) = @_;
	return "INSERT INTO $table (d, symbol, price) SELECT d, symbol, price "
	  . "FROM points LIMIT $n";
}

sub peers
{
	return map { { %$_, at_peer => 1 } } (
		{ name => q(one symbol's day: avg, on PostgreSQL 18),
			sql => "SELECT avg(price) FROM stock $in_day",
			references => [
				{ name => 'mongo_fdw, a document a point', bar => 1 / 20,
					sql => "SELECT avg(price) FROM peer_points $in_day" },
				{ name => 'mongo_fdw, buckets as json', bar => 1 / 200,
					sql => 'SELECT avg(v::float8) FROM peer_buckets, '
					  . "json_each_text(p) AS point (k, v) $in_day" } ] },
		{ name => 'INSERT ... SELECT, on PostgreSQL 18', is_write => 1,
			before => empty_collection('stock_in'), points => MANY,
			sql => insert('stock_in', MANY),
			references => [
				{ name => 'mongo_fdw, by the point', bar => 1 / 100,
					points => FEW,
					sql => insert('peer_in', FEW) } ] });
}

1;
