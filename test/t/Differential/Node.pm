# Starts a cluster with a foreign server, for the differential tests.

package Differential::Node;

use strict;
use warnings;

use Exporter qw(import);
use MongoTS::Collations;
use MongoTS::Node qw(extension_sql quoted);
use PostgreSQL::Test::Cluster;

our @EXPORT_OK = qw(prepare_node run_sql fetch recover switches);

my $node;

# Return the user mapping for the server of MONGODB_URI.  The server of a user
# has credentials; see test/server.
sub user_mapping
{
	my %options = (username => $ENV{MONGODB_USERNAME}, password => $ENV{MONGODB_PASSWORD});
	my $list = join(', ', map { "$_ " . quoted($options{$_}) } grep { defined $options{$_} } sort keys %options);

	return 'CREATE USER MAPPING FOR PUBLIC SERVER mongo' . ($list && " OPTIONS ($list)");
}

# Start a cluster with these schemas, and run SQL there.  The server "mongo"
# uses a database of the test's own, or that of MONGO_TS_DATABASE.
sub prepare_node
{
	my ($name, $schemas, $sql) = @_;
	my $uri = $ENV{MONGODB_URI} =~ s/'/''/gr;
	my $database = $ENV{MONGO_TS_DATABASE} || "${name}_$$";
	my $mapping = user_mapping();
	my $make = join "\n", map { "CREATE SCHEMA $_;" } @$schemas;

	$node = PostgreSQL::Test::Cluster->new($name);
	$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
	# After a crash, one layout fails and the others go on.
	$node->append_conf('postgresql.conf', 'restart_after_crash = on');
	# JIT compilation takes longer than such small queries.
	$node->append_conf('postgresql.conf', 'jit = off');
	$node->start;
	create_collations($node);
	$node->safe_psql('postgres', extension_sql() . <<"END");
		CREATE SERVER mongo FOREIGN DATA WRAPPER mongo_ts_fdw
			OPTIONS (uri '$uri', database '$database');
		$mapping;
		SELECT mongo_ts_command('mongo', '{"dropDatabase": 1}');
		$make
		$sql
END
	return $node;
}

# Send SQL to psql's standard input, as it is long.  Returns the errors.
sub run_sql
{
	my ($sql) = @_;
	my ($status, $stdout, $stderr) = eval { $node->psql('postgres', $sql) };

	# the pipe breaks when psql ends early
	return "<stdin>:1: psql failed: $@" unless defined $status;
	return $status == 0 ? '' : $stderr || "<stdin>:1: psql failed";
}

sub fetch { return $node->safe_psql('postgres', $_[0]) }

# The settings of the extension that disable a feature
sub switches
{
	my $library = $ENV{MONGO_TS_LIBRARY} || 'mongo_ts_fdw';

	return split m/\n/, fetch(<<"END");
		LOAD '$library';
		SELECT name FROM pg_settings WHERE name LIKE 'mongo_ts_fdw.enable%'
		ORDER BY name;
END
}

# Wait until the cluster accepts queries again.
sub recover { return $node->poll_query_until('postgres', 'SELECT true') }

1;
