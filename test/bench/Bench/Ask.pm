# Makes the requests to the floor program: see floor.c.
#
# The filters, projections and sorts are those that EXPLAIN shows for the
# extension, or ideal ones.

package Bench::Ask;

use strict;
use warnings;

use Exporter qw(import);

our @EXPORT_OK = qw(date find floor);

# The batch size, unless a sweep finds a better one
use constant BATCH_SIZE => 1500;

# Convert a time such as 2013-10-02 14:00:00 to extended JSON.
sub date { return { '$date' => $_[0] =~ s/ /T/r . 'Z' } }

sub find
{
	my ($filter, $projection, %opts) = @_;
	return { filter => $filter,
		opts => { projection => { map { $_ => 1 } @$projection },
			batchSize => BATCH_SIZE, %opts } };
}

# A reference: a number of finds in a row, and the bar
sub floor
{
	my ($bar, $collection, $finds, %more) = @_;
	return { name => 'floor', collection => $collection, finds => $finds,
		bar => $bar, %more };
}

1;
