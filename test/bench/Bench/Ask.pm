# What the floor program is asked: see floor.c.
#
# The filters, projections and sorts are those that EXPLAIN shows of ours, or what
# these should be.

package Bench::Ask;

use strict;
use warnings;

use Exporter qw(import);

our @EXPORT_OK = qw(date find floor);

# Batches of this many documents, unless a sweep finds better ones
use constant BATCH_SIZE => 1500;

# A time of extended JSON, given as 2013-10-02 14:00:00
sub date { return { '$date' => $_[0] =~ s/ /T/r . 'Z' } }

sub find
{
	my ($filter, $projection, %opts) = @_;
	return { filter => $filter,
		opts => { projection => { map { $_ => 1 } @$projection },
			batchSize => BATCH_SIZE, %opts } };
}

# A reference: so many finds in a row, and the most that ours may take
sub floor
{
	my ($bar, $collection, $finds, %more) = @_;
	return { name => 'floor', collection => $collection, finds => $finds,
		bar => $bar, %more };
}

1;
