# A cluster with a foreign server, for the differential tests.

package Differential::Node;

use strict;
use warnings;

use Exporter qw(import);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;

our @EXPORT_OK = qw(prepare_node run_sql fetch recover switches);

my $node;

# The extension's objects, from the library that is installed or another one
sub create_extension
{
	my $library = $ENV{MONGO_TS_LIBRARY};
	return 'CREATE EXTENSION mongo_ts_fdw;' unless $library;

	my $dir = $library =~ s{/[^/]*$}{}r;
	my ($script) = glob("$dir/mongo_ts_fdw--*.sql");
	my $sql = slurp_file($script);
	$sql =~ s/^\\echo.*//m;
	$sql =~ s/MODULE_PATHNAME/$library/g;
	return $sql;
}

# Start a cluster with these schemas, and run SQL there.  The server "mongo" has
# a database of the test's own.
sub prepare_node
{
	my ($name, $schemas, $sql) = @_;
	my $uri = $ENV{MONGODB_URI} =~ s/'/''/gr;
	my $make = join "\n", map { "CREATE SCHEMA $_;" } @$schemas;

	$node = PostgreSQL::Test::Cluster->new($name);
	$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
	# A crash is one layout's failure, not the end.
	$node->append_conf('postgresql.conf', 'restart_after_crash = on');
	# Compiling takes longer than such small queries.
	$node->append_conf('postgresql.conf', 'jit = off');
	$node->start;
	$node->safe_psql('postgres', create_extension() . <<"END");
		CREATE SERVER mongo FOREIGN DATA WRAPPER mongo_ts_fdw
			OPTIONS (uri '$uri', database '${name}_$$');
		CREATE USER MAPPING FOR PUBLIC SERVER mongo;
		$make
		$sql
END
	return $node;
}

# Give SQL to psql by its standard input: it is long.  Returns what went wrong.
sub run_sql
{
	my ($sql) = @_;
	my ($status, $stdout, $stderr) = $node->psql('postgres', $sql);

	return $status == 0 ? '' : $stderr || "<stdin>:1: psql failed";
}

sub fetch { return $node->safe_psql('postgres', $_[0]) }

# The extension's settings by which it is told to leave something undone
sub switches
{
	my $library = $ENV{MONGO_TS_LIBRARY} || 'mongo_ts_fdw';

	return split m/\n/, fetch(<<"END");
		LOAD '$library';
		SELECT name FROM pg_settings WHERE name LIKE 'mongo_ts_fdw.enable%'
		ORDER BY name;
END
}

# Wait until the cluster takes queries again.
sub recover { return $node->poll_query_until('postgres', 'SELECT true') }

1;
