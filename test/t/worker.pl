# Proves that background workers refresh the roll-ups that have option
# rollup_refresh, and no other one: on time, as their owner, also after a restart
# and a crash.  An error is in the log and in the state until a refresh
# succeeds.  A roll-up that is locked is left out.  Neither DROP DATABASE nor a
# shutdown waits for a silent MongoDB, and nothing runs on a hot standby.
#
# Nothing depends on timing: the tests wait until something has happened.

use strict;
use warnings;

use File::Basename qw(dirname);
use FindBin;
use lib $FindBin::RealBin;

use MongoTS::HaltProxy;
use MongoTS::Node;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

# How long a silent MongoDB is waited for otherwise, in seconds
my $selection_time = 30;

my $database = "mts_worker_$$";
my $proxy = halt_start($ENV{MONGODB_URI});
my $library_path = $ENV{MONGO_TS_LIBRARY} ? dirname($ENV{MONGO_TS_LIBRARY}) : '$libdir';
my $node = PostgreSQL::Test::Cluster->new('worker');

$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', <<"END");
dynamic_library_path = '$library_path'
shared_preload_libraries = 'mongo_ts_fdw'
log_line_prefix = '%b|'
restart_after_crash = on
END
$node->start;
$node->safe_psql('postgres', extension_sql());

# ---- Tables -------------------------------------------------------------------

# Declare points in a database of PostgreSQL and their roll-ups, by a role.  The
# domain of the values lets the role's code run in a refresh.
sub make_tables
{
	my ($dbname, $collections, $uri) = @_;

	create_server_in($dbname, 'mongo', $uri, $collections);
	$node->safe_psql($dbname, <<"END");
		SELECT mongo_ts_command('mongo', '{"dropDatabase": 1}');
		CREATE SCHEMA plant AUTHORIZATION keeper;
		GRANT USAGE ON FOREIGN SERVER mongo TO keeper;
		SET ROLE keeper;
		SET search_path = plant, public;
		CREATE FUNCTION note(v float8) RETURNS boolean LANGUAGE plpgsql AS
			\$\$BEGIN IF v = 1000 THEN RAISE LOG 'code of the owner: % %', session_user, current_user; END IF; RETURN true; END\$\$;
		CREATE DOMAIN noted AS float8 CHECK (plant.note(value));
		CREATE FOREIGN TABLE points (ts timestamptz OPTIONS (field 'hour'), k text, v noted OPTIONS (field 'm.{minute}'))
			SERVER mongo;
		SELECT mongo_ts_create_rollup('points', '1 hour', 'hours', lag => '0');
		SELECT mongo_ts_create_rollup('points', '30 minutes', 'halves', lag => '0');
		SELECT mongo_ts_create_rollup('points', '15 minutes', 'quarters', lag => '0');
		INSERT INTO points SELECT '2024-02-25'::timestamptz + i * interval '7 minutes', 'k', i FROM generate_series(1, 200) i;
END
	return;
}

sub create_server_in
{
	my ($dbname, $name, $uri, $collections) = @_;

	$node->safe_psql($dbname, "CREATE SERVER $name FOREIGN DATA WRAPPER mongo_ts_fdw
		  OPTIONS (uri " . quoted($uri) . ", database '$collections');
		CREATE USER MAPPING FOR PUBLIC SERVER $name OPTIONS (password_required 'false')");
	return;
}

# ---- What has happened --------------------------------------------------------

# Return a field of the state of a roll-up, in SQL.
sub field
{
	my ($rollup, $path) = @_;

	return "(SELECT d#>>'{$path}' FROM mongo_ts_find('direct', 'mongo_ts_rollups', '{\"_id\": \"$rollup\"}') d)";
}

sub refreshed { return $node->safe_psql('postgres', 'SELECT ' . field($_[0], 'refreshed,$date')) }

# Wait until a condition holds.
sub await
{
	my ($condition, $name, $cluster) = @_;

	return ok(($cluster // $node)->poll_query_until('postgres', "SELECT $condition"), $name);
}

# Wait until a roll-up is refreshed again; false if that does not happen.
sub is_refreshed
{
	my ($rollup) = @_;
	my $before = refreshed($rollup);

	return $node->poll_query_until('postgres', 'SELECT ' . field($rollup, 'refreshed,$date') . ' <> ' . quoted($before));
}

sub await_refresh { return ok(is_refreshed($_[0]), $_[1]) }

# Wait until the log has a text.
sub await_log
{
	my ($pattern, $name) = @_;
	my $begin = time;
	my $has = 0;

	until ($has || time - $begin > $PostgreSQL::Test::Utils::timeout_default)
	{
		$has = slurp_file($node->logfile) =~ $pattern;
		usleep(50_000) unless $has;
	}
	return ok($has, $name);
}

sub keep
{
	my ($rollup, $interval) = @_;

	$node->safe_psql('postgres', "ALTER FOREIGN TABLE plant.$rollup OPTIONS (ADD rollup_refresh '$interval')");
	return;
}

my $is_launched = "EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'mongo_ts_fdw launcher')";
my $workers = "FROM pg_stat_activity WHERE backend_type = 'mongo_ts_fdw worker'";

# ---- On time, and as the owner ------------------------------------------------

# A worker does not take another role, as sessions of the owner do.
$node->safe_psql('postgres', 'CREATE ROLE keeper LOGIN; CREATE ROLE other; GRANT other TO keeper; ALTER ROLE keeper SET role = other');
create_server_in('postgres', 'direct', $ENV{MONGODB_URI}, $database);
make_tables('postgres', $database, halt_uri($proxy));
await($is_launched, 'a launcher runs');
SKIP:
{
	my $pid = (split(/\n/, slurp_file($node->data_dir . '/postmaster.pid')))[0];

	skip 'there is no /proc', 1 unless -d "/proc/$pid/task";
	is(scalar(() = glob("/proc/$pid/task/*")), 1, 'the postmaster has one thread');
}

keep('hours', '1 second');
await(field('hours', 'refreshed,$date') . ' IS NOT NULL', 'a roll-up is refreshed after its option is set');
await_refresh('hours', '.. and again');
$node->safe_psql('postgres', "INSERT INTO plant.points VALUES ('2024-02-25 03:01Z', 'k', 1000)");
await("(SELECT v_max = 1000 FROM plant.hours WHERE ts = '2024-02-25 03:00Z')", '.. with what has been written');
is(refreshed('quarters'), '', 'one without the option is not');
my @roles = slurp_file($node->logfile) =~ /^mongo_ts_fdw worker\|LOG:  code of the owner: (.*)$/mg;
my $others = @roles ? grep { $_ ne 'keeper keeper' } @roles : 1;
# test/faults looks for these words
ok($others == 0, "owner: the roles that it runs as: $others differ");

# ---- One refresh at once ------------------------------------------------------

# Have an interval computed again.
sub make_stale
{
	my ($rollup) = @_;

	$node->safe_psql('postgres', qq{SELECT mongo_ts_command('direct', '{"update": "mongo_ts_rollups", "updates": [{"q": {"_id": "$rollup"}, "u":
		{"\$push": {"stale": {"from": {"\$date": "2024-02-25T05:00:00Z"}, "to": {"\$date": "2024-02-25T06:00:00Z"}}}}}]}')});
	return;
}

halt_at($proxy, 'request', 'update hours');
make_stale('hours');
ok(defined halt_await($proxy), 'a refresh waits for MongoDB');
is($node->safe_psql('postgres', "SELECT usename, application_name, state, query $workers AND query <> ''"),
	q{keeper|mongo_ts_fdw worker|active|SELECT public.mongo_ts_refresh_rollup('plant.hours'::regclass, NULL::timestamptz, NULL::timestamptz, NULL::interval)},
	'.. and pg_stat_activity shows it');
my $err;
$node->psql('postgres', "SET ROLE keeper; SET lock_timeout = '100ms'; SELECT mongo_ts_refresh_rollup('plant.hours')", stderr => \$err);
like($err, qr/canceling statement due to lock timeout/, '.. another session cannot refresh the roll-up');
halt_end($proxy, 'pass');
await_refresh('hours', '.. it goes on');

my $session = session_start($node);
session_query($session, 'BEGIN; ANALYZE plant.hours');
my $before = refreshed('hours');
keep('quarters', '1 second');
my $waiting = is_refreshed('quarters') && is_refreshed('quarters') ? 0 : 1;
ok(!$waiting, "locked: another roll-up is refreshed twice beside a locked one: $waiting differ");
is(refreshed('hours'), $before, '.. and this one is left out');
session_query($session, 'COMMIT');
await_refresh('hours', '.. until it is unlocked');
session_end($session);

# ---- Errors -------------------------------------------------------------------

# A refresh refuses triggers.
$node->safe_psql('postgres', <<'END');
	CREATE FUNCTION plant.pass() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END';
	CREATE TRIGGER pass BEFORE INSERT ON plant.hours FOR EACH ROW EXECUTE FUNCTION plant.pass();
END
await(field('hours', 'failed,error') . q{ LIKE 'cannot refresh roll-up "hours" because it has triggers%'}, 'the state has the error of a refresh');
await_log(qr/^mongo_ts_fdw worker\|ERROR:  cannot refresh roll-up .*?^mongo_ts_fdw worker\|STATEMENT:  SELECT public\.mongo_ts_refresh_rollup\('plant\.hours'/ms,
	'.. and so has the log');
$before = $node->safe_psql('postgres', 'SELECT ' . field('hours', 'failed,at,$date'));
await(field('hours', 'failed,at,$date') . ' > ' . quoted($before), '.. it is tried again');
await_refresh('quarters', '.. beside other roll-ups');
$node->safe_psql('postgres', 'DROP TRIGGER pass ON plant.hours');
await(field('hours', 'failed') . ' IS NULL', '.. until it succeeds');

# ---- DROP DATABASE, and the end of the server ---------------------------------

$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('other', extension_sql());
make_tables('other', "${database}_other", halt_uri($proxy));
halt_at($proxy, 'request', 'update halves');
$node->safe_psql('other', "ALTER FOREIGN TABLE plant.halves OPTIONS (ADD rollup_refresh '1 second')");
ok(defined halt_await($proxy), 'a refresh in another database waits for MongoDB');
my $begin = time;
my $in_use = $node->psql('postgres', 'DROP DATABASE other') == 0 ? 0 : 1;
ok(!$in_use, "drop: a database in which a worker waits can be dropped: $in_use differ");
note sprintf('.. after %.1f s', time - $begin);
halt_end($proxy, 'cut');

halt_all_at($proxy, 'request', 'update hours');
make_stale('hours');
ok(defined halt_await($proxy), 'a refresh waits for a silent server');
$begin = time;
$node->stop;
cmp_ok(time - $begin, '<', $selection_time, '.. PostgreSQL can be stopped');
note sprintf('.. after %.1f s', time - $begin);
halt_end($proxy, 'cut');
$node->start;
await_refresh('hours', 'a roll-up is refreshed after a restart');
$session = session_start($node);
kill('KILL', $session->{pid});
await_log(qr/all server processes terminated; reinitializing/, 'the server crashes');
await('true', '.. and answers again');
await_refresh('hours', '.. a roll-up is refreshed after a crash');
eval { session_end($session) };

# ---- A role that cannot log in ------------------------------------------------

$node->safe_psql('postgres', 'ALTER ROLE keeper NOLOGIN');
if ($node->pg_version >= 17) { await_refresh('hours', 'a role that cannot log in has its roll-ups refreshed') }
else { await_log(qr/FATAL:  role "keeper" is not permitted to log in/, 'the log says that a role cannot log in') }
$node->safe_psql('postgres', 'ALTER ROLE keeper LOGIN');

# ---- A standby ----------------------------------------------------------------

my $standby = PostgreSQL::Test::Cluster->new('worker_standby');

$node->backup('backup');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
$node->wait_for_catchup($standby);
is($standby->safe_psql('postgres', "SELECT $is_launched"), 'f', 'nothing runs on a hot standby');
$node->stop;
$standby->promote;
await($is_launched, '.. until it is promoted', $standby);

$standby->safe_psql('postgres', q{SELECT mongo_ts_command('direct', '{"dropDatabase": 1}')});
my @crashes = map { slurp_file($_->logfile) =~ /^.*(?:PANIC|terminated by signal).*$/mg } $node, $standby;
is(scalar(@crashes), 1, 'no other process crashed') or diag(join("\n", @crashes));
$standby->stop;
done_testing();
