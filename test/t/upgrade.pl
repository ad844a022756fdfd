# Proves that ALTER EXTENSION UPDATE from each installable version gives the
# same objects as a fresh install, also after a dump, and that tables keep
# working.
#
# A released script never changes, because upgrade scripts start from the
# objects that it created on users' machines.  CHANGELOG.md lists the releases,
# and %released their checksums.  A change needs a new version's script, and an
# upgrade script from the last version.

use strict;
use warnings;

use Digest::SHA qw(sha256_hex);
use FindBin;
use lib $FindBin::RealBin;

use MongoTS::Node;
use PostgreSQL::Test::Utils;
use Test::More;

# Version => the SHA-256 of its script
my %released = (
	'0.1.0' => '581eff0ea445a8600c5667d6600b54f1605c7f27b24007026185924678ab7e8c',
	'1.0.0' => '86c2de38e4c130b047da7cca3d687df9cbb8b65263841834e4fc8f6ef7552d44');

foreach my $heading (slurp_file('CHANGELOG.md') =~ /^## (.*)/mg)
{
	# "Unreleased" has no date
	my ($version, $date) = $heading =~ /^(\S+) \((.*)\)$/ or next;

	next if $date eq 'unreleased';
	is(sha256_hex(slurp_file("mongo_ts_fdw--$version.sql")), $released{$version} // '',
		"the script of $version is the released one");
}

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

# Install a version in a database of its own, use it, and upgrade it.  Returns
# the members.
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
my @versions = split(/\n/, $node->safe_psql('postgres', <<'END'));
	SELECT version FROM pg_available_extension_versions WHERE name = 'mongo_ts_fdw' ORDER BY 1
END

is("@versions", join(' ', sort map { /fdw--([^-]+)\.sql$/ } glob('mongo_ts_fdw--*.sql')),
	'all versions are installed');
foreach my $version (@versions)
{
	my $dbname = 'from_' . $version =~ s/\W/_/gr;

	is(upgraded($node, $dbname, $version), $fresh, "$version upgraded equals a fresh install");
	is($node->safe_psql("dump_of_$dbname", $members), $fresh, '... and so does a restored dump of it');
	copy_database($node, $dbname, "later_dump_of_$dbname");
	is($node->safe_psql("later_dump_of_$dbname", $members), $fresh, '... and one of after the upgrade');
}

# ---- Privileges -----------------------------------------------------------

# The upgrade from 0.1.0 replaces mongo_ts_preallocate.
$node->safe_psql('postgres', 'CREATE DATABASE privileges');
$node->safe_psql('privileges', <<'END');
	CREATE EXTENSION mongo_ts_fdw VERSION '0.1.0';
	REVOKE ALL ON FUNCTION mongo_ts_preallocate FROM PUBLIC;
END
my ($status, $out, $err) = $node->psql('privileges', 'ALTER EXTENSION mongo_ts_fdw UPDATE');
is($status, 0, 'a function with privileges is upgraded');
like($err, qr/WARNING:  privileges on function mongo_ts_preallocate are reset/, '... with a warning');
is($node->safe_psql('privileges', $members), $fresh, '... and has the privileges of a fresh install');

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

# ---- Options --------------------------------------------------------------

# The library of 0.1.0 had options that no longer exist.
$node->safe_psql('postgres', 'CREATE DATABASE options');
$node->safe_psql('options', <<"END");
	CREATE EXTENSION mongo_ts_fdw VERSION '0.1.0';
	CREATE SERVER mongo FOREIGN DATA WRAPPER mongo_ts_fdw
		OPTIONS (uri '$ENV{MONGODB_URI}', database 'mts_upgrade');
	CREATE USER MAPPING FOR PUBLIC SERVER mongo;
	SELECT mongo_ts_command('mongo', '{"dropDatabase": 1}');
	SELECT mongo_ts_command('mongo', '{"insert": "points", "documents": [
		{"ts": {"\$date": "2013-10-10T23:06:00Z"}, "v": {"0": 1, "1": -1}}]}');
	ALTER FOREIGN DATA WRAPPER mongo_ts_fdw NO VALIDATOR;
	CREATE SCHEMA "o'dd";
	CREATE FOREIGN TABLE "o'dd".points (
		ts timestamptz, gone int OPTIONS (missing '1'),
		"V v" float8 OPTIONS (field 'v.{second}', missing '-1')
	) SERVER mongo OPTIONS (write_once 'true');
	ALTER FOREIGN TABLE "o'dd".points DROP gone;
	ALTER FOREIGN DATA WRAPPER mongo_ts_fdw VALIDATOR mongo_ts_fdw_validator;
	ALTER EXTENSION mongo_ts_fdw UPDATE;
END

my $points = q{SELECT * FROM "o'dd".points};
my ($renaming) = slurp_file('docs/install.md') =~ /^```sql\n(SELECT .*?)^```/ms;

($status, $out, $err) = $node->psql('options', $points);
like($err, qr/has the invalid option "write_once"\..*the option "assume_write_once"/s,
	'a table with the old name of an option is not read');
$node->safe_psql('options', $renaming);
is($node->safe_psql('options', $points), '2013-10-10 23:06:00+00|1',
	'... until the statements of the page have renamed its options');
is($node->safe_psql('options', q{SELECT ftoptions, attfdwoptions
	FROM pg_foreign_table JOIN pg_attribute ON attrelid = ftrelid WHERE attname = 'V v'}),
	'{assume_write_once=true}|{"field=v.{second}",missing_value=-1}', '... all of them');
$node->safe_psql('options', $renaming);
copy_database($node, 'options', 'dump_of_options');

# ---- Future versions ------------------------------------------------------

SKIP:
{
	my $dir = PostgreSQL::Test::Utils::tempdir();
	my $last = $node->safe_psql('postgres', 
		q{SELECT extversion FROM pg_extension WHERE extname = 'mongo_ts_fdw'});
	my $more = "CREATE FUNCTION mongo_ts_more() RETURNS int LANGUAGE sql AS 'SELECT 1';\n";
	my $revoke = "REVOKE ALL ON FUNCTION mongo_ts_more() FROM PUBLIC;\n";
	my $script = slurp_file("mongo_ts_fdw--$last.sql");

	skip('made-up versions take a PostgreSQL that finds them', 1) if $node->pg_version < 18;
	mkdir("$dir/extension");
	append_to_file("$dir/extension/mongo_ts_fdw.control",
		slurp_file('mongo_ts_fdw.control') =~ s/^default_version.*/default_version = 'next'/mr);
	append_to_file("$dir/extension/mongo_ts_fdw--$last.sql", $script);
	append_to_file("$dir/extension/mongo_ts_fdw--next.sql", $script . $more . $revoke);
	append_to_file("$dir/extension/mongo_ts_fdw--$last--next.sql", $more);
	$node->append_conf('postgresql.conf', "extension_control_path = '$dir'");
	$node->restart;
	$node->safe_psql('postgres', 'CREATE DATABASE fresh_next');
	$node->safe_psql('fresh_next', 'CREATE EXTENSION mongo_ts_fdw');
	$fresh = $node->safe_psql('fresh_next', $members);
	isnt(upgraded($node, 'forgot', $last), $fresh, 'an upgrade script that omits a grant is detected');
	append_to_file("$dir/extension/mongo_ts_fdw--$last--next.sql", $revoke);
	is(upgraded($node, 'remembered', $last), $fresh, 'a complete upgrade script passes');
}

$node->stop;

done_testing();
