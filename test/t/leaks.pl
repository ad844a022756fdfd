# Does a backend that does the same 100 times keep anything?  test/long/leaks.pl
# asks the same of 10,000 times.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use MongoTS::Leaks;

find_leaks(100);
