# Lists the measurements beside mongo_fdw, in the PostgreSQL that has it: see
# Bench::Questions.
#
# mongo_fdw reads a collection with a document for each point, and the buckets,
# whose points it returns as json.

package Bench::Peers;

use strict;
use warnings;

use Bench::Layouts qw(layout empty);
use Exporter qw(import);

our @EXPORT_OK = qw(peers);

# fewer points, because mongo_fdw writes one document at a time
use constant FEW => 5000;
use constant MANY => 432000;

# (an end of '2013-10-01' + interval '1 day' is an error in mongo_fdw)
my $in_day = q(WHERE host = 'host_2' AND d >= '2013-10-01' )
  . q(AND d < '2013-10-02');

sub insert
{
	my ($table, $n) = @_;
	return "INSERT INTO $table (d, host, v) SELECT d, host, v "
	  . "FROM heap_double LIMIT $n";
}

sub peers
{
	my %figure = (question => 'beside mongo_fdw, on PostgreSQL 18',
		at_peer => 1, tables => [ layout('minute'), layout('flat') ]);

	return (
		{ %figure, layout => q(one series' day),
			sql => "SELECT avg(v) FROM minute $in_day",
			references => [
				{ name => 'mongo_fdw, a document a point', bar => 1 / 20,
					sql => "SELECT avg(v) FROM peer_points $in_day" },
				{ name => 'mongo_fdw, buckets as json', bar => 1 / 200,
					sql => 'SELECT avg(x::float8) FROM peer_buckets, '
					  . "json_each_text(v) AS point (k, x) $in_day" } ] },
		{ %figure, layout => 'INSERT ... SELECT, 1,000 points', is_write => 1,
			before => empty(layout('minute'), 'minute_in'), points => MANY / 1000,
			sql => insert('minute_in', MANY),
			references => [
				{ name => 'mongo_fdw, a document a point', bar => 1 / 100,
					points => FEW / 1000, sql => insert('peer_in', FEW) } ] });
}

1;
