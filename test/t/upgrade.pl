# Proves that a dump of a database restores with the same objects as a fresh
# install, that ALTER EXTENSION UPDATE to a next version, made up here, gives
# those of that version, and that tables keep working.  PostgreSQL finds such a
# version from 18 on.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use MongoTS::Node;
use PostgreSQL::Test::Utils;
use Test::More;

# The members of the extension, with all their properties
my $members = <<'END';
	SELECT pg_describe_object(d.classid, d.objid, 0), pg_get_userbyid(coalesce(proowner, fdwowner, relowner)),
		pg_get_functiondef(p.oid), proacl, pg_get_viewdef(c.oid), relacl, fdwhandler::regproc, fdwvalidator::regproc,
		fdwoptions, fdwacl, obj_description(d.objid), i.initprivs
	  FROM pg_depend d
	  LEFT JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
	  LEFT JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
	  LEFT JOIN pg_foreign_data_wrapper f
		ON d.classid = 'pg_foreign_data_wrapper'::regclass AND f.oid = d.objid
	  LEFT JOIN pg_init_privs i ON i.classoid = d.classid AND i.objoid = d.objid
	 WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
	   AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'mongo_ts_fdw')
	 ORDER BY 1
END

# Install a version in a database of its own, use it, and upgrade it, if there is
# a newer one.  Returns the members.
sub upgraded
{
	my ($node, $dbname, $version) = @_;
	my $answer = 'SELECT count(*), sum(v), max(ts) FROM points JOIN busy USING (k)';
	my $before;

	$node->safe_psql('postgres', "CREATE DATABASE $dbname");
	$node->safe_psql($dbname, <<"END");
		CREATE EXTENSION mongo_ts_fdw VERSION '$version';
		CREATE SERVER mongo FOREIGN DATA WRAPPER mongo_ts_fdw
			OPTIONS (uri '$ENV{MONGODB_URI}', database 'mts_upgrade');
		CREATE USER MAPPING FOR PUBLIC SERVER mongo;
		SELECT mongo_ts_command('mongo', '{"dropDatabase": 1}');
		CREATE FOREIGN TABLE points (
			ts timestamptz, k text, v float8 OPTIONS (field 'v.{second}', sum_field 's')
		) SERVER mongo OPTIONS (count_field 'n');
		CREATE VIEW busy AS SELECT k, count(*) FROM points GROUP BY k HAVING count(*) > 100;
		INSERT INTO points SELECT timestamptz '2013-10-10Z' + i * interval '1 s', i % 3 / 2, i
			FROM generate_series(0, 299) i;
END
	$before = $node->safe_psql($dbname, $answer);
	is($before, '200|29800|2013-10-10 00:04:58+00', "$dbname: the tables of $version are read");
	copy_database($node, $dbname, "dump_of_$dbname");
	$node->safe_psql($dbname, 'ALTER EXTENSION mongo_ts_fdw UPDATE');
	is($node->safe_psql($dbname, $answer), $before, "$dbname: the tables are read after the upgrade");
	is($node->safe_psql("dump_of_$dbname", $answer), $before, "$dbname: ... and after a restore");
	return $node->safe_psql($dbname, $members);
}

# Restore a dump of a database.
sub copy_database
{
	my ($node, $from, $to) = @_;
	my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump';

	$node->safe_psql('postgres', "CREATE DATABASE $to");
	$node->command_ok([ 'pg_dump', '-f', $dump, $from ], "$from is dumped");
	$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', $dump, $to ],
		"... and restored");
	return;
}

my $node = new_node('upgrade', conf => "timezone = 'UTC'", uri => undef);
my $fresh = $node->safe_psql('postgres', $members);
my $version = $node->safe_psql('postgres', "SELECT extversion FROM pg_extension WHERE extname = 'mongo_ts_fdw'");

is(upgraded($node, 'used', $version), $fresh, 'tables change no member of the extension');
is($node->safe_psql('dump_of_used', $members), $fresh, '... nor does a restored dump');

# ---- Another schema ---------------------------------------------------------

$node->safe_psql('postgres', 'CREATE DATABASE elsewhere');
$node->safe_psql('elsewhere', <<"END");
	CREATE SCHEMA "time series";
	CREATE EXTENSION mongo_ts_fdw SCHEMA "time series";
	CREATE SERVER mongo FOREIGN DATA WRAPPER mongo_ts_fdw
		OPTIONS (uri '$ENV{MONGODB_URI}', database 'mts_upgrade');
	CREATE USER MAPPING FOR PUBLIC SERVER mongo;
	CREATE FOREIGN TABLE points (ts timestamptz, k text, v float8 OPTIONS (field 'v.{second}')) SERVER mongo;
	SELECT "time series".mongo_ts_create_rollup('points', '1 hour');
END
is($node->safe_psql('elsewhere', <<'END'), "t\nt\nf", 'roll-ups are refreshed, compared and listed by an extension in another schema');
	SET search_path = 'time series';
	SELECT mongo_ts_refresh_rollup('public.points') IS NOT NULL;
	SELECT is_usable FROM mongo_ts_rollups WHERE rollup = 'public.points_1h'::regclass;
	SELECT EXISTS (SELECT FROM mongo_ts_check('public.points_1h') WHERE problem ~ 'roll-up');
END

# ---- Future versions ------------------------------------------------------

SKIP:
{
	my $dir = PostgreSQL::Test::Utils::tempdir();
	my $more = "CREATE FUNCTION mongo_ts_more() RETURNS int LANGUAGE sql AS 'SELECT 1';\n";
	my $revoke = "REVOKE ALL ON FUNCTION mongo_ts_more() FROM PUBLIC;\n";

	skip('made-up versions take a PostgreSQL that finds them', 1) if $node->pg_version < 18;
	my $script = slurp_file("mongo_ts_fdw--$version.sql");

	mkdir("$dir/extension");
	append_to_file("$dir/extension/mongo_ts_fdw.control",
		slurp_file('mongo_ts_fdw.control') =~ s/^default_version.*/default_version = 'next'/mr);
	append_to_file("$dir/extension/mongo_ts_fdw--$version.sql", $script);
	append_to_file("$dir/extension/mongo_ts_fdw--next.sql", $script . $more . $revoke);
	append_to_file("$dir/extension/mongo_ts_fdw--$version--next.sql", $more);
	$node->append_conf('postgresql.conf', "extension_control_path = '$dir'");
	$node->restart;
	$node->safe_psql('postgres', 'CREATE DATABASE fresh_next');
	$node->safe_psql('fresh_next', 'CREATE EXTENSION mongo_ts_fdw');
	$fresh = $node->safe_psql('fresh_next', $members);
	isnt(upgraded($node, 'forgot', $version), $fresh, 'an upgrade script that omits a grant is detected');
	append_to_file("$dir/extension/mongo_ts_fdw--$version--next.sql", $revoke);
	is(upgraded($node, 'remembered', $version), $fresh, 'a complete upgrade script passes');
	is($node->safe_psql('dump_of_remembered', $members), $fresh, '... as does a restored dump of the version before');
}

$node->stop;

done_testing();
