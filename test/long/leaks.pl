# Proves that a backend which repeats statements 10,000 times keeps no
# resources.
#
# ITERATIONS sets another number; ONLY is a pattern of the cases to run.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../t";

use MongoTS::Leaks;

find_leaks($ENV{ITERATIONS} || 10_000);
