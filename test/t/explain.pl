
# Proves that EXPLAIN (VERBOSE) shows MongoDB's plan of the query, asks for it
# only then, and neither fails nor waits long if a server refuses or is silent.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use MongoTS::FakeServer;
use MongoTS::Node;
use MongoTS::Wire;
use Test::More;
use Time::HiRes qw(time);

my $node = new_node('explain', uri => undef);
my $directory = $PostgreSQL::Test::Utils::tmp_check;

sub run
{
	my ($sql) = @_;
	return $node->safe_psql('postgres', $sql);
}

# Return the lines "MongoDB Plan" of a statement, joined by "; ".
sub plan_of
{
	my ($statement, $options) = @_;

	return join('; ', run('EXPLAIN (' . ($options // 'VERBOSE') . ") $statement")
		  =~ /MongoDB Plan: (.*)/g);
}

# ---- MongoDB's plans -------------------------------------------------------

create_server($node, 'mongo', $ENV{MONGODB_URI}, "database 'mts_explain'");
run(q{SELECT mongo_ts_command('mongo', '{"dropDatabase": 1}')});
run(<<'END');
	CREATE FOREIGN TABLE points (ts timestamptz, k int, v int OPTIONS (field 'v.{second}'))
		SERVER mongo OPTIONS (fetch_size '2');
	CREATE FOREIGN TABLE rolling (ts timestamptz, k int, v int OPTIONS (field 'v.{second}'))
		SERVER mongo OPTIONS (collection 'rolling_%Y');
	INSERT INTO points SELECT timestamptz '2020-01-01' + m * interval '1 min', k, m
		FROM generate_series(0, 9) m, generate_series(1, 3) k;
	CREATE FOREIGN TABLE sized (ts timestamptz OPTIONS (field 's[].t'), k int, v int OPTIONS (field 's[].v'))
		SERVER mongo OPTIONS (bucket_time_field 'day', bucket_span '1 day', bucket_first_field 'first',
		bucket_last_field 'last', bucket_max_points '2', count_field 'n');
	INSERT INTO sized SELECT timestamptz '2020-01-01' + m * interval '1 min', k, m
		FROM generate_series(0, 9) m, generate_series(1, 3) k;
	INSERT INTO rolling VALUES ('2020-01-01', 1, 1), ('2021-01-01', 1, 1);
END

my $is_mongodb = run(q{SELECT mongo_ts_command('mongo', '{"hello": 1}') ? 'topologyVersion'}) eq 't';

SKIP:
{
	skip 'another server has plans of another kind', 23 unless $is_mongodb;
	my $by_key = q{SELECT * FROM points WHERE k = 1 AND ts < '2020-01-02'};

	is(plan_of($by_key), 'COLLSCAN', 'no index');
	is(plan_of('SELECT * FROM points ORDER BY k, ts LIMIT 1'),
		'SORT, COLLSCAN', 'no index for the order');
	my $index = run(q{SELECT mongo_ts_create_index('points')});
	like(plan_of($by_key), qr/^IXSCAN \(k_1_ts_1\)$/, 'an index');
	is(plan_of('SELECT * FROM points ORDER BY k, ts LIMIT 1'),
		'IXSCAN (k_1_ts_1)', 'an index has the order');
	is(plan_of('SELECT k, count(*) FROM points WHERE k = 1 GROUP BY k'),
		'IXSCAN (k_1_ts_1)', 'a partial aggregate');
	is(plan_of($by_key, 'ANALYZE, VERBOSE'), 'IXSCAN (k_1_ts_1)', 'ANALYZE');
	is(plan_of('SELECT * FROM points WHERE k > 0 LIMIT 1', 'ANALYZE, VERBOSE'),
		'IXSCAN (k_1_ts_1)', 'ANALYZE, while a cursor is open');
	is(plan_of('SELECT * FROM rolling WHERE k = 1'),
		'IXSCAN (k_1_ts_1)', 'the first of several collections');
	is(plan_of('DELETE FROM points WHERE k = 1'),
		'IXSCAN (k_1_ts_1)', 'a scan of the primary');
	is(plan_of('SELECT * FROM points WHERE k = (SELECT max(k) FROM rolling)'),
		'COLLSCAN', 'none without the value of a parameter');
	my $newest = 'SELECT * FROM sized WHERE k = 1 ORDER BY ts DESC LIMIT 1';
	my $newest_of_each = 'SELECT DISTINCT ON (k) * FROM sized ORDER BY k, ts DESC';

	run('UPDATE pg_class SET reltuples = 1e8, relpages = 1e7 WHERE relname = \'sized\'');
	is(plan_of($newest), 'SORT, COLLSCAN', 'no index for the newest point');
	is(run(q{SELECT mongo_ts_create_index('sized')}), 'k_1_day_1', 'an index by which points are written');
	is(plan_of($newest), 'IXSCAN (k_1_last_1)', 'an index for the newest point');
	is(plan_of($newest_of_each), 'DISTINCT_SCAN (k_1_last_1)', 'an index for the newest point of each series');
	my $times = 'FROM sized WHERE k > 0 GROUP BY k';
	is(plan_of("$newest_of_each LIMIT 2"), 'IXSCAN (k_1_last_1)', 'an index for one series after the other');
	is(plan_of("SELECT k, max(ts) $times"), 'DISTINCT_SCAN (k_1_last_1)', 'the greatest time of each series');
	is(plan_of("SELECT max(ts) $times HAVING max(ts) > '2020-01-01'"), 'DISTINCT_SCAN (k_1_last_1)', '... with HAVING');
	unlike(plan_of("SELECT k, $_ $times"), qr/DISTINCT_SCAN/, "not $_")
		for 'max(ts), min(ts)', 'max(ts), count(*)', 'max(v)', "max(ts) FILTER (WHERE v > 0)";
	is(plan_of($by_key, 'COSTS'), '', 'none without VERBOSE');
	is(plan_of(q{SELECT * FROM points WHERE ts < '2020-01-01' AND ts > '2021-01-01'}),
		'', 'none where nothing is sent');
}
run(q{SELECT mongo_ts_command('mongo', '{"dropDatabase": 1}')});

# ---- Servers without an answer ---------------------------------------------

# What a server does when it is asked for a plan
my %reactions = (
	refuses => sub { fake_reply($_[0], fake_error(59, "no such command: 'explain'")) },
	forbids => sub { fake_reply($_[0], fake_error(13, 'not authorized')) },
	closes => sub { undef },
	waits => sub { () });

foreach my $name (sort keys %reactions)
{
	my $fake = fake_start("$directory/$name", [],
		scripts => { explain => $reactions{$name} });

	create_server($node, $name, fake_uri($fake), "database 'fake'");
	run("CREATE FOREIGN TABLE $name (ts timestamptz, v int OPTIONS (field 'v.{second}')) SERVER $name");
	run("EXPLAIN SELECT * FROM $name");
	my @sent = grep { /^explain/ } fake_commands($fake);
	is(@sent, 0, "$name: EXPLAIN does not ask for a plan");

	my $begin = time;
	my $plan = run("EXPLAIN (VERBOSE, COSTS OFF) SELECT * FROM $name;
		EXPLAIN (VERBOSE, COSTS OFF) SELECT * FROM $name");
	my $seconds = time - $begin;

	like($plan, qr/MongoDB Query/, "$name: EXPLAIN (VERBOSE) works");
	unlike($plan, qr/MongoDB Plan/, '... without a plan');
	cmp_ok($seconds, '<', 1.8, '... soon');
	@sent = grep { /^explain/ } fake_commands($fake);
	is(@sent, $name eq 'waits' || $name eq 'closes' ? 1 : 2,
		'... and asks again only a server that answers');
}

$node->stop;

done_testing();
