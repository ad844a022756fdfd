# Checks that 100 repetitions of each statement leak no memory, cursors,
# connections or files.
#
# test/long/leaks.pl repeats them 10,000 times.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use MongoTS::Leaks;

find_leaks(100);
