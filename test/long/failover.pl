# Runs test/t/failover.pl with 20 rounds: the primary is killed 20 times and
# steps down 20 times while four sessions insert.

use strict;
use warnings;

use FindBin;

$ENV{ROUNDS} //= 20;
do "$FindBin::RealBin/../t/failover.pl" or die $@ || $!;
