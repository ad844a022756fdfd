# Does a backend that does the same 10,000 times keep anything?
#
# ITERATIONS sets another number; ONLY, a regular expression, chooses cases.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../t";

use MongoTS::Leaks;

find_leaks($ENV{ITERATIONS} || 10_000);
