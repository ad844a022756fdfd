# Proves that a backend which repeats statements 100 times keeps no resources.
# test/long/leaks.pl repeats them 10,000 times.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use MongoTS::Leaks;

find_leaks(100);
