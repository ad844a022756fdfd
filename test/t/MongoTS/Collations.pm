# Gives a cluster the collations that the tests use, if its PostgreSQL has no ICU.

package MongoTS::Collations;

use strict;
use warnings;

use Cwd qw(abs_path);
use Exporter qw(import);
use File::Basename qw(dirname);
use PostgreSQL::Test::Utils qw(slurp_file);

our @EXPORT = qw(create_collations);

my $file = abs_path(dirname(__FILE__) . '/../../../sql/include/collations.sql');

# Create them in a node that runs, also for databases that are created later.
sub create_collations
{
	my ($node) = @_;

	$node->safe_psql($_, slurp_file($file)) foreach qw(template1 postgres);
	return;
}

1;
