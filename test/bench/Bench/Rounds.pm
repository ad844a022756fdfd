# Says how often work is measured, and returns the median.

package Bench::Rounds;

use strict;
use warnings;

use Exporter qw(import);
use List::Util qw(max min);

our @EXPORT_OK = qw(median rounds_for);

# Measurements are repeated for this number of seconds.
use constant MOST_ROUNDS => $ENV{QUICK} ? 15 : 75;
use constant SECONDS => $ENV{QUICK} ? 0.4 : 2.5;

# More than so many seconds are measured in fewer rounds.
use constant LONG => 3;
use constant FEW_ROUNDS => 3;

my $least_rounds = $ENV{ROUNDS} || ($ENV{QUICK} ? 2 : 5);

sub median
{
	my @sorted = sort { $a <=> $b } @_;
	my $half = int(@sorted / 2);

	return @sorted % 2 ? $sorted[$half]
	  : ($sorted[ $half - 1 ] + $sorted[$half]) / 2;
}

# Return how often work of this duration is measured.
sub rounds_for
{
	my ($seconds) = @_;

	return min($least_rounds, FEW_ROUNDS) if $seconds > LONG;
	return max($least_rounds, min(MOST_ROUNDS, int(SECONDS / $seconds)));
}

1;
