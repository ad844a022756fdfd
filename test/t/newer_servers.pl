# Proves that time-series collections are read with the same rows from MongoDB
# 8.0, 8.3 and 9.0: by their buckets, or by their view where the server refuses
# those, also when it is upgraded during a session.  Indexes with the simple
# collation serve, null matches what it matches there, and statements succeed
# beside an overload that passes.
#
# A proxy answers as those versions do, before the server of the tests.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use MongoTS::NewerProxy;
use MongoTS::Node;
use Test::More;

use constant UNAUTHORIZED => 13;
use constant UNKNOWN_FIELD => 40415;

skip_without_mongod();

my $database = "mts_newer_$$";
my $node = new_node('newer_servers', uri => undef);

create_server($node, 'mongo', $ENV{MONGODB_URI}, "database '$database'");

sub query { return $node->safe_psql('postgres', $_[0]) }

sub command
{
	my ($server, $command) = @_;

	return query("SELECT mongo_ts_command('$server', " . quoted($command) . ')');
}

my ($version) = query(q(SELECT mongo_ts_command('mongo', '{"buildInfo": 1}')->>'version')) =~ /^(\d+)/;
plan skip_all => 'the proxy requires MongoDB 6 or 7, and no replica set'
  unless $version =~ /^[67]$/ && $ENV{MONGODB_URI} =~ m{^mongodb://[^/?,]+/?$};

# ---- A server of each version ---------------------------------------------

my %proxy = map { s/\.//r => $_ } qw(8.0 8.3 9.0);
my $columns = "ts timestamptz, site text OPTIONS (field 'k.site'), v float8, n bigint";

create_server($node, "v$_", newer_start($ENV{MONGODB_URI}, $proxy{$_}), "database '$database'")
  foreach sort keys %proxy;
is(command('v90', '{"create": "points", "timeseries": {"timeField": "ts", "metaField": "k"}}'),
	'{"ok": 1}', 'a time-series collection');
foreach my $name (sort keys %proxy)
{
	query(<<"END");
		CREATE SCHEMA v$name;
		CREATE FOREIGN TABLE v$name.points ($columns) SERVER v$name;
		CREATE FOREIGN TABLE v$name.by_view ($columns) SERVER v$name OPTIONS (collection 'points', native_buckets 'off');
END
}
query(<<'END');
	CREATE TABLE points AS SELECT timestamptz '2024-01-01Z' + i * interval '7 s' AS ts, nullif('s' || i % 4, 's3') AS site,
			nullif(i % 10, 3) / 4.0::float8 AS v, i::bigint AS n
		FROM generate_series(1, 4000) i;
	INSERT INTO v90.points SELECT * FROM points;
END

my @queries = (
	'SELECT count(*), sum(n), min(v), max(ts) FROM %s',
	'SELECT site, count(v), sum(v) FROM %s GROUP BY site ORDER BY site',
	q(SELECT count(*) FROM %s WHERE site IS NULL),
	q(SELECT count(*) FROM %s WHERE site IS NOT NULL AND v IS NULL),
	q(SELECT count(*), sum(n) FROM %s WHERE ts >= '2024-01-01 02:00Z' AND ts < '2024-01-01 03:30:07Z'),
	'SELECT n FROM %s ORDER BY ts DESC LIMIT 3',
	'SELECT DISTINCT ON (site) site, n FROM %s ORDER BY site, ts DESC',
	'SELECT md5(string_agg(t::text, $$ $$ ORDER BY n)) FROM (SELECT ts, site, v, n FROM %s OFFSET 0) t');
my %way = (80 => 'read from system.buckets', 83 => 'read by rawData', 90 => 'read by rawData');

# Check how a table is read, and that all queries give the rows of the local
# one.
sub check_reads
{
	my ($table, $way, $name) = @_;

	like(query("EXPLAIN (COSTS OFF) SELECT * FROM $table"), qr/^  Native Buckets: \Q$way\E/m, "$name: $way");
	return is(join("\n", map { query(sprintf($_, $table)) } @queries),
		join("\n", map { query(sprintf($_, 'points')) } @queries), '.. with the same rows');
}

foreach my $name (sort keys %proxy)
{
	check_reads("v$name.points", $way{$name}, "MongoDB $proxy{$name}");
	check_reads("v$name.by_view", 'not read: option "native_buckets" is "off"', 'its view');
	query("ANALYZE v$name.points");
	is(query("SELECT reltuples FROM pg_class WHERE oid = 'v$name.points'::regclass"), 4000, '.. ANALYZE counts the points');
	check_reads("v$name.points", $way{$name}, '.. after ANALYZE');
}
like(query('EXPLAIN (VERBOSE, COSTS OFF) SELECT * FROM v90.points'), qr/MongoDB Plan: \w/,
	'a server of 9.0 explains its plan of the buckets');

# ---- Refusals -------------------------------------------------------------

sub behave { return command("v$_[0]", qq({"newerProxy": 1, $_[1]})) }

foreach my $code (UNAUTHORIZED, UNKNOWN_FIELD)
{
	behave($_, qq("refuse_raw": $code)) foreach qw(83 90);
	check_reads('v83.points', 'read from system.buckets', "MongoDB 8.3 that refuses rawData with $code");
	check_reads('v90.points',
		'not read: ' . ($code == UNAUTHORIZED ? 'no privilege' : 'MongoDB refuses') . ' to read "points" by rawData',
		"MongoDB 9.0 that refuses rawData with $code");
}
behave($_, '"refuse_raw": 0') foreach qw(83 90);

# ---- An upgrade during a session ------------------------------------------

my $session = session_start($node);
my ($out, $err) = session_query($session, 'SET plan_cache_mode = force_generic_plan; PREPARE s AS SELECT sum(n) FROM v83.points');

behave('83', qq("refuse_raw": @{[ UNKNOWN_FIELD ]}));
foreach my $step ('"refuse_raw": 0', '"version": "9.0"', '"version": "8.3"')
{
	($out, $err) = session_query($session, 'EXECUTE s; EXPLAIN (COSTS OFF) EXECUTE s');
	like("$out$err", qr/^8002000\n.*Native Buckets: read /s, "a prepared statement before $step");
	behave('83', $step);
}
($out, $err) = session_query($session, 'EXECUTE s');
is("$out$err", '8002000', 'and after that');
session_end($session);

# ---- Indexes, and what null matches ---------------------------------------

query(<<'END');
	CREATE FOREIGN TABLE v90.minutes (ts timestamptz, k text, v int OPTIONS (field 'v.{second}')) SERVER v90;
	INSERT INTO v90.minutes SELECT timestamptz '2024-01-01Z' + i * interval '20 s', 'a', i FROM generate_series(1, 30) i;
	SELECT mongo_ts_create_index('v90.minutes');
END
like(command('v90', '{"listIndexes": "minutes"}'), qr/"collation": \{"locale": "simple"\}/, 'indexes have the simple collation');
is(query(q(SELECT problem FROM mongo_ts_check('v90.minutes') WHERE problem ~ 'index')), '', 'an index with it serves the table');

command('v90', '{"insert": "nulls", "documents": [
	{"_id": 1, "a": []}, {"_id": 2, "a": [1, 2]}, {"_id": 3, "a": [[{"b": 1}]]}, {"_id": 4, "a": [{"b": 1}]},
	{"_id": 5, "a": {"b": null}}, {"_id": 6}, {"_id": 7, "a": {"b": {"$undefined": true}}}, {"_id": 8, "a": 1}]}');
my %matches = (
	v80 => { '{"a.b": null}' => '5 6 8', '{"a.b": {"$ne": null}}' => '1 2 3 4 7' },
	v90 => { '{"a.b": null}' => '1 2 3 5 6 8', '{"a.b": {"$not": {"$in": [1, null]}}}' => '7' });
foreach my $server (sort keys %matches)
{
	foreach my $filter (sort keys %{ $matches{$server} })
	{
		is(query(qq(SELECT string_agg(d->>'_id', ' ' ORDER BY d->>'_id')
				FROM mongo_ts_find('$server', 'nulls', '$filter') d)), $matches{$server}{$filter},
			"$server: $filter matches as in that version");
	}
}

# ---- An overload that passes, and one that does not -----------------------

behave('90', '"overload": 3');
$session = session_start($node);
foreach my $round (1 .. 3)
{
	($out, $err) = session_query($session, <<'END');
		INSERT INTO v90.minutes SELECT timestamptz '2024-01-02Z' + i * interval '20 s', 'a', i FROM generate_series(1, 30) i;
		UPDATE v90.minutes SET v = v + 1 WHERE ts > '2024-01-02Z' AND k = 'a';
		SELECT count(*), sum(v) FROM v90.minutes WHERE ts > '2024-01-02Z';
		DELETE FROM v90.minutes WHERE ts > '2024-01-02Z'
END
	is("$out$err", '30|495', 'writes and reads beside an overload');
	($out, $err) = session_query($session, 'EXPLAIN (COSTS OFF) SELECT * FROM v90.points; SELECT sum(n) FROM v90.points');
	like("$out$err", qr/Native Buckets: read by rawData\n.*\n8002000$/s, '.. and buckets');
}
behave('90', '"overload": 1');
($out, $err) = session_query($session, 'SELECT count(*) FROM v90.minutes');
like("$out$err", qr/^psql.*ERROR:  53000: .*MongoDB is overloaded/s, 'a command that is refused for good is an error');
behave('90', '"overload": 0');
($out, $err) = session_query($session, 'SELECT count(*) FROM v90.minutes');
is("$out$err", '30', '.. and the session works');
session_end($session);

query("SELECT mongo_ts_command('v80', '{\"dropDatabase\": 1}')");
done_testing();
