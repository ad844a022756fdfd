# Runs all cases of test/t/repeat.pl, which takes 15 minutes.

use strict;
use warnings;

use FindBin;

$ENV{DURATION} //= 0;
do "$FindBin::RealBin/../t/repeat.pl" or die $@ || $!;
