# Proves with the random statements of write.pl that the transactions of a
# replica set leave the same points as those of a local table, at each isolation
# level, and none if they are rolled back.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use MongoTS::Node;

skip_without_mongod();

my $set = set_start(1);

$ENV{MONGODB_URI} = set_uri($set);
do "$FindBin::RealBin/write.pl" or die $@ || $!;
