# Lists the measurements of writes: see Bench::Figures.

package Bench::Writing;

use strict;
use warnings;

use Bench::Ask qw(date);
use Exporter qw(import);

our @EXPORT_OK = qw(writes empty_collection);

# Recreate a foreign table's collection, with its index.
sub empty_collection
{
	my ($table) = @_;
	return qq(SELECT mongo_ts_command('mongo', '{"drop": "$table"}'); )
	  . "SELECT mongo_ts_create_index('$table')";
}

# The floor program sends the updates that store the points, or inserts of
# buckets
sub floors
{
	my ($filter) = @_;
	my %floor = (collection => 'stock_in',
		before => empty_collection('stock_in'));
	my %writes = (from => 'stock', filter => $filter,
		keys => [ 'symbol', 'd' ], values => 'p');

	return map { { %floor, %$_, bar => 1.25, sweep => [ 250, 500, 1000 ] } } (
		{ name => 'floor of updates', upserts => {%writes} },
		{ name => 'floor of inserts', upserts => { %writes, insert => 1 } });
}

# points of tables.sql are those of MongoDB until then.
sub writes
{
	my ($dir) = @_;
	my %until = (d => { '$lt' => date('2013-10-03 19:12:00') });
	my $empty = empty_collection('stock_in');
	my @ways = (
		[ 'INSERT ... SELECT', sub { "INSERT INTO $_[0] SELECT * FROM points" } ],
		[ 'COPY', sub { "COPY $_[0] FROM '$dir/points'" } ]);

	return (
		(map {
				my ($name, $sql) = @$_;
				{ name => "$name, minute buckets", before => $empty,
					sql => $sql->('stock_in'), is_write => 1,
					references => [
						floors(\%until),
						{ name => 'logged heap', bar => 1,
							before => 'TRUNCATE heap_in',
							sql => $sql->('heap_in') } ] }
			} @ways),
		{ name => 'one-row INSERT', is_write => 1,
			sql => q{INSERT INTO stock_in VALUES (date_trunc('second', }
			  . q{clock_timestamp()), 'GOOG', random())},
			references => [
				{ name => 'floor', collection => 'stock_in', bar => 1.5,
					one_point => 1 },
				{ name => 'logged heap',
					sql => q{INSERT INTO heap_in VALUES (clock_timestamp(), }
					  . q{'GOOG', random())} } ] });
}

1;
