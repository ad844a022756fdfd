# Proves that a native time-series collection is read by its buckets if the
# MongoDB user has the privilege, otherwise by its view, whenever the privilege
# is granted or revoked.  Buckets that MongoDB changes and compresses while they
# are read give the same points.  A user who may not read ordinary buckets can
# fill them.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use MongoTS::Node;
use Test::More;

skip_without_mongod();

my $uri = mongod_start('--auth');
my $node = new_node('native', uri => undef);

# A server for each user of MongoDB; without a login, only the first user can
# be made.
create_server($node, 'admin', $uri, "database 'admin'");
create_server($node, 'root', $uri, "database 'native'");
create_server($node, 'reader', $uri, "database 'native'");

sub query { return $node->safe_psql('postgres', $_[0]) }

sub command
{
	my ($server, $command) = @_;

	return query("SELECT mongo_ts_command('$server', " . quoted($command) . ") ->> 'ok'");
}

is(command('admin', '{"createUser": "root", "pwd": "secret", "roles": ["root"]}'), 1, 'the first user');
query("ALTER USER MAPPING FOR PUBLIC SERVER $_ OPTIONS (ADD username 'root', ADD password 'secret')")
  foreach qw(admin root);
is(command('root', '{"createUser": "reader", "pwd": "secret", "roles": ["read"]}'), 1, 'a reader');
query(q(ALTER USER MAPPING FOR PUBLIC SERVER reader OPTIONS (ADD username 'reader', ADD password 'secret')));
query('ALTER SERVER reader OPTIONS (SET uri ' . quoted("$uri?authSource=native") . ')');

my ($out, $err) = ('', '');
$node->psql('postgres', q(SELECT mongo_ts_command('root',
	'{"create": "points", "timeseries": {"timeField": "ts", "metaField": "k"}}')->>'ok'),
	stdout => \$out, stderr => \$err);
if ($err)
{
	note $err;
	like($err, qr/timeseries/, 'the server has no time-series collections');
	done_testing();
	exit;
}

query(<<'END');
	CREATE FOREIGN TABLE written (ts timestamptz, k text, v int) SERVER root OPTIONS (collection 'points');
	CREATE FOREIGN TABLE points (ts timestamptz, k text, v int) SERVER reader;
	INSERT INTO written SELECT timestamptz '2024-01-01Z' + i * interval '1 min', 'a', i FROM generate_series(1, 10) i;
END

# Since 8.2, the collection's own name serves for its buckets.
my $is_raw = query(q(SELECT mongo_ts_command('root', '{"hello": 1}')->>'maxWireVersion')) >= 27;
my $way = $is_raw ? 'by rawData' : 'from system\.buckets';

sub plan_of { return query("EXPLAIN (COSTS OFF) $_[0]") }

my $sum = 'SELECT count(*), sum(v) FROM points';
my $unread = $is_raw ? '"points" by rawData' : '"system.buckets.points"';
my $reason = qr/Native Buckets: not read: no privilege to read $unread/;
my $privilege = '"privileges": [{"resource": {"db": "native", "system_buckets": "points"}, "actions": ["find"]}]';

like(plan_of('SELECT * FROM written'), qr/Native Buckets: read $way\n/, 'root reads the buckets');
is(query($sum), '10|55', 'the role read reads the view');
like(plan_of('SELECT * FROM points'), qr/$reason.*\n.*db\.points\.find/, 'and EXPLAIN says why');
like(plan_of($sum), qr/$reason/, 'of an aggregate, too');

# A session keeps its plan while the privilege comes and goes.
my $session = session_start($node);
($out, $err) = session_query($session, "SET plan_cache_mode = force_generic_plan; PREPARE s AS $sum; EXECUTE s");
like($out, qr/10\|55/, 'a prepared statement reads the view');
is(command('admin', qq({"createRole": "buckets", $privilege, "roles": []})), 1, 'a role with the privilege');
is(command('root', '{"grantRolesToUser": "reader", "roles": [{"role": "buckets", "db": "admin"}]}'), 1, 'it is granted');
($out, $err) = session_query($session, "EXECUTE s; EXPLAIN (COSTS OFF) $sum");
like($out, qr/10\|55.*Native Buckets: read $way\n/s, 'the next plan reads the buckets');
($out, $err) = session_query($session, 'EXECUTE s; EXPLAIN (COSTS OFF) EXECUTE s');
like($out, qr/10\|55.*Native Buckets: read $way\n/s, 'so does the plan of the prepared statement, which was made for the view');
session_query($session, "DEALLOCATE s; PREPARE s AS $sum");
($out, $err) = session_query($session, 'EXECUTE s; EXPLAIN (COSTS OFF) EXECUTE s');
like($out, qr/10\|55.*Native Buckets: read $way\n/s, 'a prepared statement reads the buckets');
is(command('root', '{"revokeRolesFromUser": "reader", "roles": [{"role": "buckets", "db": "admin"}]}'), 1, 'the role is revoked');
($out, $err) = session_query($session, 'EXECUTE s');
is($out, '', 'the plan returns no row');
like($err, qr/the plan reads buckets .*no privilege to read $unread.*Run the statement again/s,
	'but an error');
($out, $err) = session_query($session, 'EXECUTE s; EXPLAIN (COSTS OFF) EXECUTE s');
like($out, qr/10\|55.*$reason/s, 'when run again, it reads the view');

# ANALYZE and aggregates by the view
query('ANALYZE points');
is(query('SELECT k, max(ts) FROM points GROUP BY k'), 'a|2024-01-01 00:10:00+00', 'after ANALYZE');

session_end($session);

# ---- A user who may write buckets but not read them -----------------------

my $writes = '"privileges": [{"resource": {"db": "native", "collection": "limited"}, "actions": ["insert", "update"]}]';

is(command('admin', qq({"createRole": "writes", $writes, "roles": []})), 1, 'a role that writes');
is(command('admin', '{"createUser": "writer", "pwd": "secret", "roles": ["writes"]}'), 1, 'a writer');
create_server($node, 'writer', "$uri?authSource=admin", "database 'native'");
query(<<'END');
	ALTER USER MAPPING FOR PUBLIC SERVER writer OPTIONS (ADD username 'writer', ADD password 'secret');
	CREATE FOREIGN TABLE limited (ts timestamptz OPTIONS (field 's[].t'), v int OPTIONS (field 's[].v'))
		SERVER writer OPTIONS (bucket_max_points '5');
	CREATE FOREIGN TABLE limited_buckets (points jsonb OPTIONS (field 's')) SERVER root OPTIONS (collection 'limited');
	INSERT INTO limited VALUES ('2024-01-01Z', 1), ('2024-01-02Z', 2), ('2024-01-03Z', 3);
	INSERT INTO limited VALUES ('2024-01-04Z', 4), ('2024-01-05Z', 5);
END
is(query('SELECT jsonb_array_length(points) FROM limited_buckets'), 5, 'fills a bucket with all points that it has room for');

# ---- Buckets that change while they are read ------------------------------

# Each of 300 series has points in an open bucket.  Then a writer adds points
# beside them, which change the bucket, and an hour later, which end it.
query(q(SELECT mongo_ts_command('root', '{"create": "moving", "timeseries": {"timeField": "ts", "metaField": "k"}}')));
query(<<'END');
	CREATE FOREIGN TABLE moving (ts timestamptz, k int, v int, w float8) SERVER root;
	CREATE FUNCTION add(hour int, minute int, n int) RETURNS void LANGUAGE sql AS $$
		INSERT INTO moving SELECT timestamptz '2024-01-01Z' + hour * interval '1 hour' + minute * interval '1 min' + i * interval '1 s',
				k, i, k
			FROM generate_series(0, 299) k, generate_series(1, n) i $$;
	SELECT add(0, 10, 20);
END

# Return the numbers of buckets in the replies to a statement.
sub batches
{
	my ($statement) = @_;
	my $log = '';

	$node->psql('postgres', "SET client_min_messages = log; SET mongo_ts_fdw.log_commands = on; $statement", stderr => \$log);
	return join(' ', $log =~ /MongoDB (?:find|getMore|aggregate) on "native\.(?:system\.buckets\.)?moving", .* documents: (\d+)/g);
}

like(batches($_), qr/\b200 100$/, "at most 200 buckets in a round trip: $_") foreach 'SELECT * FROM moving', 'SELECT sum(v) FROM moving',
  'SELECT k, count(*) FROM moving GROUP BY k', 'SELECT * FROM moving ORDER BY ts', 'ANALYZE moving';
query(q(ALTER FOREIGN TABLE moving OPTIONS (ADD fetch_size '120')));
like(batches('SELECT * FROM moving'), qr/\b120 120 60$/, 'or fewer, by fetch_size');
query('ALTER FOREIGN TABLE moving OPTIONS (DROP fetch_size)');

my $fixed = "FROM moving WHERE ts BETWEEN '2024-01-01 00:10Z' AND '2024-01-01 00:20Z'";
my %answers = (
	"SELECT count(*), sum(v), min(w), max(w) $fixed" => '6000|63000|0|299',
	"SELECT count(*), sum(v) FROM (SELECT * $fixed OFFSET 0) t" => '6000|63000',
	"SELECT count(*), sum(v) FROM (SELECT v $fixed ORDER BY ts OFFSET 10) t" => '5990|62990',
	"SELECT count(*), sum(n) FROM (SELECT k, count(*) AS n $fixed GROUP BY k) t" => '300|6000',
	"SELECT count(*), sum(v) FROM (SELECT DISTINCT ON (k) k, v $fixed ORDER BY k, ts DESC) t" => '300|6000');

sub versions
{
	my $of = $is_raw ? '"moving", "rawData": true' : '"system.buckets.moving"';

	return query(qq(SELECT b->>'n' FROM jsonb_array_elements(mongo_ts_command('root', '{"aggregate": $of,
		"pipeline": [{"\$match": {"control.version": {"\$gt": 1}}}, {"\$count": "n"}], "cursor": {}}')->'cursor'->'firstBatch') b));
}

my $reader = session_start($node);
my ($rounds, $wrong) = (0, '');
is(versions(), '', 'all buckets are open');
$session = session_start($node);
$err = '';
foreach my $writes ((map { "add(0, $_, 5)" } 30, 40, 50), (map { "add($_, 5, 10)" } 1 .. 8), 'add(0, 0, 5)', 'add(9, 0, 1)')
{
	session_send($session, "SELECT $writes");
	do
	{
		foreach my $sql (sort keys %answers)
		{
			my ($answer, $problem) = session_query($reader, $sql);
			$wrong ||= "$sql: $answer $problem" if $answer ne $answers{$sql};
			$rounds++;
		}
		$session->{psql}->pump_nb;
	} until session_has_answered($session);
	$err .= (session_wait($session))[1];
}
is($err, '', 'the writer ends');
is($wrong, '', "$rounds queries while buckets change");
cmp_ok(versions(), '>', 0, 'some of which MongoDB has compressed meanwhile');
is(query($_), $answers{$_}, 'and after that') foreach sort keys %answers;

session_end($_) foreach $session, $reader;
done_testing();
