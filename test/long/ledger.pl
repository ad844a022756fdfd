# Runs test/t/ledger.pl for 20 minutes.

use strict;
use warnings;

use FindBin;

$ENV{DURATION} //= 1200;
do "$FindBin::RealBin/../t/ledger.pl" or die $@ || $!;
