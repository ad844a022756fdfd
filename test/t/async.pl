# Proves that an Append with option async_capable asks all servers before it
# waits for one of them, and returns what it would return without the option.
# So it does when it ends early, when a server fails or is silent, and when a
# statement is cancelled.  Each server is behind a proxy that halts its replies.
#
# QUERIES (default 60) sets the number of random queries.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use MongoTS::HaltProxy;
use MongoTS::Node;
use MongoTS::Wire;
use Test::More;

skip_without_fault();

my $queries = $ENV{QUERIES} || 60;
my %proxy = map { $_ => halt_start(fault_uri()) } qw(a b);
my $node = new_node('async', uri => undef, conf => <<'END');
enable_partitionwise_aggregate = on
max_parallel_workers_per_gather = 0
END
my ($out, $err, $seconds);

# ---- Tables ---------------------------------------------------------------

# Create a partitioned table with a partition on each of two servers.  That of
# series b is a table of documents that are rows.
sub create_tables
{
	my ($schema, $servers, $options) = @_;
	my ($a, $b) = @$servers;

	$node->safe_psql('postgres', <<"END");
		CREATE SCHEMA $schema;
		CREATE TABLE $schema.points (ts timestamptz, k text, v float8)
			PARTITION BY LIST (k);
		CREATE FOREIGN TABLE $schema.a (
			ts timestamptz OPTIONS (field 'm'),
			k  text,
			v  float8 OPTIONS (field 'v.{second}')
		) SERVER $a OPTIONS (collection 'a', count_field 'n'$options);
		CREATE FOREIGN TABLE $schema.b (ts timestamptz, k text, v float8)
			SERVER $b OPTIONS (collection 'b'$options);
		ALTER TABLE $schema.points ATTACH PARTITION $schema.a FOR VALUES IN ('a');
		ALTER TABLE $schema.points ATTACH PARTITION $schema.b FOR VALUES IN ('b');
END
	return;
}

create_server($node, 'direct', fault_uri(), "database 'mts_async'");
create_server($node, $_, halt_uri($proxy{$_}),
	"database 'mts_async', fetch_size '10', async_capable 'true'")
  foreach qw(a b);
create_tables('async', [qw(a b)], '');
create_tables('waits', [qw(a b)], ", async_capable 'false'");
create_tables('direct', [qw(direct direct)], '');
$node->safe_psql('postgres', <<'END');
	SELECT mongo_ts_create_index('direct.a');
	CREATE TABLE base AS
		SELECT timestamptz '2020-01-01 00:00Z' + i * interval '20 s' AS ts,
			chr(97 + i % 2) AS k, i::float8 AS v
		  FROM generate_series(0, 599) i;
	INSERT INTO direct.points TABLE base;
END

my $control = session_start($node);
my $session = session_start($node);

# Run a statement of the session, and expect its result.
sub expect
{
	my ($statement, $expected, $name) = @_;

	($out, $err) = session_query($session, $statement);
	is("$out$err", $expected, $name);
	return;
}

my $sum = 'SELECT count(*), sum(v) FROM async.points';
my $all = $node->safe_psql('postgres', 'SELECT count(*), sum(v) FROM base');

# ---- Plans ----------------------------------------------------------------

# Return the number of scans of a plan that are asynchronous.
sub count_async
{
	my ($statement) = @_;
	my $plan = $node->safe_psql('postgres', "EXPLAIN (COSTS OFF) $statement");

	return scalar(() = $plan =~ m/Async Foreign Scan/g);
}

is(count_async('SELECT * FROM async.points'), 2, 'scans of rows are asynchronous');
is(count_async($sum), 2, 'so are scans that aggregate');
is(count_async('SELECT v FROM async.a UNION ALL SELECT v FROM async.b'),
	2, 'and those of UNION ALL');
is(count_async('SELECT * FROM waits.points'), 0, 'the option of the table wins');
is(count_async('SELECT * FROM direct.points'), 0, 'the option is off by default');
is(count_async('UPDATE async.points SET v = v + 1'),
	0, 'scans of rows that are changed are not asynchronous');

# ---- Several servers at once ----------------------------------------------

my %statements = (
	'rows' => 'SELECT count(*), sum(v) FROM (SELECT v FROM async.points OFFSET 0) p',
	'groups' => $sum,
	'UNION ALL' => 'SELECT count(*), sum(v) FROM (SELECT v FROM async.a UNION ALL SELECT v FROM async.b) u',
	'a prepared statement' => 'EXECUTE prepared',
	'a filter' => "SELECT count(*) + 300, sum(v) + 90000 FROM async.points WHERE v::text !~ '[13579]\$'");
session_query($session, "PREPARE prepared AS $sum");

# Halt both servers at a request.
sub halt_both
{
	my ($where, $command, $n) = @_;

	halt_at($proxy{$_}, $where, "$command $_", $n) foreach qw(a b);
	return;
}

foreach my $name (sort keys %statements)
{
	foreach my $command (qw(find getMore))
	{
		# the first batches of 10 documents are followed by those of 10
		halt_both('reply', $command, $command eq 'find' ? 1 : 4);
		session_send($session, $statements{$name});
		ok(defined halt_await($proxy{$_}), "$name: $command is sent to $_")
		  foreach qw(a b);
		ok(!session_has_answered($session), "$name: and both are waited for");
		# the server that is asked first may answer last
		halt_end($proxy{$_}, 'pass') foreach qw(b a);
		($out, $err) = session_wait($session);
		is("$out$err", $all, "$name: all is read");
	}
}

# a server that has sent half of a reply, which is kept until the rest comes
foreach my $place (qw(reply within))
{
	halt_at($proxy{a}, $place, 'getMore a', 2);
	halt_at($proxy{b}, 'reply', 'getMore b', 25);
	session_send($session, $sum);
	ok(defined halt_await($proxy{$_}), "$place: the batches of $_ are read") foreach qw(a b);
	halt_end($proxy{$_}, 'pass') foreach qw(a b);
	($out, $err) = session_wait($session);
	is("$out$err", $all, "$place: one server is read while the other one is waited for");
}

$node->safe_psql('postgres', <<"END") foreach qw(a b direct);
	CREATE FOREIGN TABLE rolling_$_ (ts timestamptz, v float8 OPTIONS (field 'v.{second}'))
		SERVER $_ OPTIONS (collection 'rolling_%Y%m%d%H');
END
$node->safe_psql('postgres', 'INSERT INTO rolling_direct SELECT ts, v FROM base');
halt_at($proxy{$_}, 'reply', 'find rolling_.*', 3) foreach qw(a b);
session_send($session, 'SELECT count(*), sum(v) / 2 FROM (TABLE rolling_a UNION ALL TABLE rolling_b) r');
ok(defined halt_await($proxy{$_}), "the collections of $_ are asked for") foreach qw(a b);
halt_end($proxy{$_}, 'pass') foreach qw(a b);
($out, $err) = session_wait($session);
is("$out$err", '1200|179700', 'rolling collections of several servers are read at once');

expect("SELECT i, (SELECT count(*) FROM async.points WHERE v < 100 * i)
	FROM generate_series(1, 3) i", "1|100\n2|200\n3|300", 'scans run again');
expect('BEGIN; DECLARE c CURSOR FOR SELECT k FROM async.points;
	MOVE 5 IN c; ' . $sum . '; MOVE ALL IN c; COMMIT', $all,
	'a cursor stays open beside another statement');

# ---- Early ends -----------------------------------------------------------

# The cursors that the proxies have seen since the last call, and that the
# server still has: only the session that opened one can use it.
sub open_cursors
{
	return grep {
		my ($id, $collection) = @$_;
		(session_query($control,
			qq(SELECT mongo_ts_command('direct', '{"getMore": {"\$numberLong": "$id"}, "collection": "$collection"}'))))[1]
		  !~ /HV00L/;
	} map { halt_cursors($proxy{$_}) } qw(a b);
}

foreach my $place (qw(reply within))
{
	open_cursors();
	halt_at($proxy{a}, $place, 'find a');
	session_send($session, 'SELECT k FROM async.points LIMIT 1');
	ok(defined halt_await($proxy{a}), "LIMIT, $place: the first server is asked");
	# it ends without that server, within the time that closes a cursor
	($out, $err) = session_wait($session);
	is("$out$err", 'b', "LIMIT, $place: and not waited for");
	halt_end($proxy{a}, 'pass');
	expect($sum, $all, "LIMIT, $place: then the session reads all");
}

open_cursors();
expect("SELECT k IS NULL FROM generate_series(1, 5) i, LATERAL (
	SELECT k FROM async.points WHERE v >= i LIMIT 1) p", join("\n", ('f') x 5),
	'LIMIT: scans run again before their replies are received');
expect($sum, $all, 'LIMIT: and the session reads all');
is(scalar(open_cursors()), 0, 'LIMIT: no cursor stays open on a server');

halt_both('reply', 'find');
session_send($session, $sum);
halt_await($proxy{$_}) foreach qw(a b);
session_query($control, "SELECT pg_cancel_backend($session->{pid})");
($out, $err, $seconds) = session_wait($session);
like($err, qr/ERROR:  57014: /, 'a cancel ends the wait for both');
halt_end($proxy{$_}, 'cut') foreach qw(a b);
expect($sum, $all, 'a cancel: then the session reads all');

# ---- Failures -------------------------------------------------------------

foreach my $server (qw(a b))
{
	my $other = $server eq 'a' ? 'b' : 'a';

	halt_both('reply', 'find');
	session_send($session, $sum);
	halt_await($proxy{$_}) foreach qw(a b);
	halt_end($proxy{$server}, 'cut');
	halt_end($proxy{$other}, 'pass');
	($out, $err) = session_wait($session);
	is("$out$err", $all, "$server: a find is sent again after the connection was lost");

	halt_both('reply', 'getMore', 3);
	session_send($session, $sum);
	halt_await($proxy{$_}) foreach qw(a b);
	halt_end($proxy{$server}, 'cut');
	halt_end($proxy{$other}, 'pass');
	($out, $err) = session_wait($session);
	like($err, qr/ERROR:  08006: /, "$server: a batch that is lost is an error");
	expect($sum, $all, "$server: then the session reads all");

	$node->safe_psql('postgres', "ALTER FOREIGN TABLE async.$server OPTIONS (ADD filter '{\"\$unknown\": 1}')");
	(undef, $err) = session_query($session, $sum);
	like($err, qr/ERROR:  HV000: .*unknown/s, "$server: an error of the server is raised");
	$node->safe_psql('postgres', "ALTER FOREIGN TABLE async.$server OPTIONS (DROP filter)");
	expect($sum, $all, "$server: and the session reads all");
}

# ---- Random queries -------------------------------------------------------

my $seed = $ENV{SEED} // int rand 1_000_000;
my @wrong;

srand($seed);
open_cursors();
foreach my $number (1 .. $queries)
{
	my ($from, $to) = map { int rand 600 } 1 .. 2;
	my @conditions = grep { rand() < 0.5 } ("v >= $from", "v <= $to OR k = 'b'",
		"v::int % 7 < 4", "ts < timestamptz '2020-01-01Z' + interval '$to min'");
	my $where = join(' AND ', 'true', map { "($_)" } @conditions);
	my $target = (
		'k, v, ts', 'k, count(*), sum(v), max(ts)', 'count(*), min(v)',
		"date_trunc('hour', ts), avg(v)", 'DISTINCT k')[ rand 5 ];
	my $group = $target =~ /^k, c/ ? 'GROUP BY k' : $target =~ /^date/ ? 'GROUP BY 1' : '';
	my ($ours, $theirs) = map { $node->safe_psql('postgres',
			"SELECT $target FROM $_ WHERE $where $group ORDER BY 1, 2, 3" =~ s/DISTINCT k(.*), 2, 3/DISTINCT k$1/r
			  =~ s/(count\(\*\), min.*|avg.*), 3$/$1/r =~ s/^(SELECT count\(\*\), min.*) ORDER.*/$1/r)
	} qw(async.points base);

	push @wrong, "$target, $where" if $ours ne $theirs;
}
is("@wrong", '', "$queries random queries, seed $seed, return what PostgreSQL returns");
is(scalar(open_cursors()), 0, 'no cursor stays open on a server');

# ---- One moment -----------------------------------------------------------

SKIP:
{
	skip 'there is no mongod', 2 unless -x "$ENV{MONGO_TS_FAULT_DIR}/mongod";
	my $set = set_start(1);
	my ($uri) = set_member_uri($set, 1) =~ m{^(mongodb://[^/]*)};
	my ($port) = $uri =~ /:(\d+)/;
	skip 'MongoDB before 5.0 reads no moments', 2
	  if wire_command($port, hello => bson_int32(1))->{maxWireVersion} < 13;
	my $member = halt_start($uri);

	create_server($node, 'member', halt_uri($member), "database 'mts_async', async_capable 'true'");
	create_server($node, 'writes', $uri, "database 'mts_async'");
	create_tables('member', [qw(member member)], '');
	create_tables('writes', [qw(writes writes)], '');
	$node->safe_psql('postgres', 'INSERT INTO writes.points TABLE base');
	halt_at($member, 'request', '(find|aggregate) b');
	session_send($session, 'SELECT count(*) FROM member.points');
	ok(defined halt_await($member), 'two tables of a server are read');
	$node->safe_psql('postgres', 'INSERT INTO writes.points SELECT ts - interval $$1 day$$, k, v FROM base');
	halt_end($member, 'pass');
	($out, $err) = session_wait($session);
	is("$out$err", 600, 'they are read at one moment');
}

session_end($_) foreach $session, $control;
done_testing();
