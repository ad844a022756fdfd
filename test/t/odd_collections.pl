# Proves that writes to unusual collections are done or refused with a reason:
# views, capped and time-series collections, and those with indexes or a
# collation of their own.
#
# Servers differ in the commands that they refuse.  A raw command shows whether
# the server refuses; then the statement must fail with the reason, otherwise
# it must succeed.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use MongoTS::Node;
use Test::More;

my $node = new_node('odd', uri => undef);

create_server($node, 'mongo', $ENV{MONGODB_URI}, "database 'mts_odd'");
$node->safe_psql('postgres', <<'END');
	CREATE FUNCTION try(command text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		detail text;
		hint text;
	BEGIN
		EXECUTE command;
		RETURN '';
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
		RETURN concat_ws(E'\n', SQLSTATE || ' ' || SQLERRM, detail, hint);
	END $$;
END

sub query { return $node->safe_psql('postgres', $_[0]) }

# Run a statement.  Returns its SQLSTATE, message, detail and hint, or nothing.
sub try { return query('SELECT try(' . quoted($_[0]) . ')') }

# Run a command of MongoDB.  Returns the error, also one in the reply, or
# nothing.
sub command
{
	my ($command) = @_;
	my $call = 'mongo_ts_command(' . quoted('mongo') . ', ' . quoted($command) . ')';

	return try("SELECT $call")
	  || query("SELECT $call->'writeErrors'->0->>'errmsg'")
	  if $command =~ /"limit"|"multi"/;
	return try("SELECT $call");
}

sub ok_command
{
	my ($command) = @_;

	is(command($command), '', $command);
	return;
}

# Return the number and the sum of a table's values.
sub points { return query("SELECT count(*), sum(v) FROM $_[0]") }

my $counts_nothing = qr/0 of 0|\{\}/;

ok_command('{"dropDatabase": 1}');

# ---- Views ----------------------------------------------------------------

ok_command('{"insert": "base", "documents": [{"_id": 1, "ts": {"$date": "2024-01-01T00:00:00Z"},
	"k": "a", "v": {"0": 1, "1": 2}, "list": [1, 2]}]}');

SKIP:
{
	my $problem = command('{"create": "same", "viewOn": "base", "pipeline": []}');

	skip "the server has no views: $problem", 1 if $problem;
	skip 'the server makes collections instead of views', 1
	  unless query(q(SELECT mongo_ts_command('mongo', '{"count": "same"}')->'n'));
	ok_command('{"create": "rows", "viewOn": "base", "pipeline": [{"$unwind": "$list"}]}');
	ok_command('{"create": "nameless", "viewOn": "base", "pipeline": [{"$project": {"_id": 0}}]}');
	query(<<'END');
		CREATE FOREIGN TABLE same (ts timestamptz, k text, v int OPTIONS (field 'v.{minute}')) SERVER mongo;
		CREATE FOREIGN TABLE rows (ts timestamptz, k text, v int OPTIONS (field 'list')) SERVER mongo;
		CREATE FOREIGN TABLE nameless (ts timestamptz, k text, v int OPTIONS (field 'v.{minute}')) SERVER mongo;
END
	foreach my $table (qw(same rows nameless))
	{
		is(points($table), '2|3', "view $table is read");
		is(query("SELECT problem FROM mongo_ts_check('$table')"), '', "view $table lacks no index");
		foreach my $statement (
			"INSERT INTO $table VALUES ('2024-01-01 00:05Z', 'a', 3)",
			"INSERT INTO $table VALUES ('2024-01-01 00:05Z', 'a', 3) ON CONFLICT DO NOTHING",
			"UPDATE $table SET k = 'b'",
			"UPDATE $table SET v = v + 1 WHERE v = 2",
			"UPDATE $table SET ts = ts + interval '3 hours'",
			"DELETE FROM $table",
			"DELETE FROM $table WHERE v = 1",
			"DELETE FROM $table WHERE ts < '2024-01-02Z'",
			"TRUNCATE $table")
		{
			my $problem = try($statement);

			like($problem, qr/^55000 .*view/s, $statement);
			unlike($problem, $counts_nothing, "$statement: no empty counts");
		}
	}
	like(try("SELECT mongo_ts_create_index('same')"), qr/^55000 .*view/s, 'index of a view');
	like(try(q(SELECT mongo_ts_preallocate('same', '2024-01-01', '2024-01-02', '{"k": "a"}'))),
		qr/^55000 .*view/s, 'preallocation in a view');
	query(q(CREATE FOREIGN TABLE base (ts timestamptz, k text, v int OPTIONS (field 'v.{minute}')) SERVER mongo));
	is(points('base'), '2|3', 'the collection of the view is unchanged');

	ok_command('{"insert": "lists", "documents": [{"_id": 1, "ts": {"$date": "2024-01-01T00:00:00Z"}, "k": "a",
		"list": [7, 7, 7, 7, 7, 7, 7, 7, 7, 7]}]}');
	ok_command('{"create": "items", "viewOn": "lists", "pipeline": [{"$unwind": "$list"}]}');
	query(q(CREATE FOREIGN TABLE items (ts timestamptz, k text, v int OPTIONS (field 'list')) SERVER mongo));
	like(try('UPDATE items SET v = 8'), qr/^55000 .*view/s, 'points of a view that are read ten times');

	# The first buckets in order of time are fetched with a limit.  The rest
	# must be complete, although its buckets share their _ids.
	my @days = map {
		my $day = $_;
		my $buckets = join ', ', map {
			sprintf '{"ts": {"$date": "2024-01-%02dT%02d:00:00Z"}, "k": "%s", "v": {"0": %d, "1": %d}}',
			  $day, $_ % 3, $_, $day * 100 + $_, $_
		} 1 .. 7;
		qq({"_id": $day, "buckets": [$buckets]})
	} 1 .. 12;
	ok_command('{"insert": "days", "documents": [' . join(', ', @days) . ']}');
	ok_command('{"create": "shared", "viewOn": "days", "pipeline": [{"$unwind": "$buckets"},
		{"$project": {"ts": "$buckets.ts", "k": "$buckets.k", "v": "$buckets.v"}}]}');
	query(q(CREATE FOREIGN TABLE shared (ts timestamptz, k text, v int OPTIONS (field 'v.{minute}')) SERVER mongo));
	is(query('SELECT count(*) FROM shared'), 168, 'a view whose buckets share their _ids is counted');
	foreach my $order ('ts, k', 'ts DESC, k')
	{
		foreach my $limit (1, 5, 20, 50, 167)
		{
			my $rows = "SELECT * FROM shared ORDER BY $order LIMIT $limit";

			is(query($rows), query("SET mongo_ts_fdw.enable_order_by = off; $rows"),
				"$limit rows of the view by $order");
		}
	}
}

# ---- Points that are read several times -----------------------------------

# A duplicate key of a document is read as two points.
my $keys = join(', ', ('"5": 1') x 500);
is(command('{"insert": "repeated", "documents": [{"_id": 1, "ts": {"$date": "2024-01-01T00:00:00Z"}, '
	  . qq("v": {$keys}}]})), '', 'a document with 500 equal keys');
query(q(CREATE FOREIGN TABLE repeated (ts timestamptz, v int OPTIONS (field 'v.{minute}')) SERVER mongo));
SKIP:
{
	skip 'the server keeps one of equal keys', 2 if query('SELECT count(*) FROM repeated') == 1;
	like(try($_), qr/^40001 .*A point was read twice/s, $_)
	  foreach 'UPDATE repeated SET v = 2', 'DELETE FROM repeated WHERE v = 1 RETURNING *';
}

# ---- Documents without a time ---------------------------------------------

# They are first in MongoDB's order, and are rows of a flat table.
ok_command('{"insert": "events", "documents": ['
	  . join(', ', map { qq({"_id": $_, "k": "$_"}) } 1 .. 9) . ', '
	  . join(', ', map { sprintf '{"_id": %d, "k": "%d", "ts": {"$date": "2024-01-%02dT00:00:00Z"}}',
		$_, $_, 1 + $_ % 20 } 10 .. 90) . ']}');
query(q(CREATE FOREIGN TABLE events (ts timestamptz, k text) SERVER mongo));
foreach my $order ('ts NULLS FIRST, k', 'ts DESC NULLS LAST, k')
{
	foreach my $limit (3, 12, 40, 90)
	{
		my $rows = "SELECT * FROM events ORDER BY $order LIMIT $limit";

		is(query($rows), query("SET mongo_ts_fdw.enable_order_by = off; $rows"),
			"$limit events by $order");
	}
}

# ---- Points that a statement changes twice --------------------------------

query(<<'END');
	CREATE FOREIGN TABLE plain (ts timestamptz, k text, v int OPTIONS (field 'v.{minute}')) SERVER mongo;
	INSERT INTO plain VALUES ('2024-01-01Z', 'a', 1);
END
my $twice = try(q(WITH first AS (UPDATE plain SET v = v * 10 RETURNING 1) UPDATE plain SET v = v + 1));
like($twice, qr/^40001 points of MongoDB collection "mts_odd.plain" have changed since this statement read them$/m,
	'a point that a statement changes twice');
unlike($twice, qr/session|Nothing is changed/, 'the error does not blame another session');

# ---- Capped collections ---------------------------------------------------

SKIP:
{
	my $problem = command('{"create": "probe", "capped": true, "size": 1000000}');

	skip "the server has no capped collections: $problem", 1 if $problem;
	ok_command('{"create": "capped", "capped": true, "size": 1000000}');
	ok_command('{"insert": "probe", "documents": [{"_id": 1}]}');
	my %refusal = (
		same => '',
		resize => command('{"update": "probe", "updates": [{"q": {}, "u": {"$set": {"x": 1}}, "multi": true}]}'),
		remove => command('{"delete": "probe", "deletes": [{"q": {}, "limit": 0}]}'));

	diag "capped collections: $_ is refused" foreach grep { $refusal{$_} } sort keys %refusal;
	query(<<'END');
		CREATE FOREIGN TABLE capped (ts timestamptz, k text, v int OPTIONS (field 'v.{minute}')) SERVER mongo;
		CREATE TABLE local (ts timestamptz, k text, v int);
END
	foreach my $step (
		[ same => q(INSERT INTO capped SELECT t, k, 1 FROM unnest(ARRAY['a', 'b']) AS k,
			generate_series('2024-01-01Z'::timestamptz, '2024-01-01 03:59Z', '10 min') AS t) ],
		[ same => q(UPDATE capped SET v = 2 WHERE k = 'a') ],
		[ resize => q(INSERT INTO capped VALUES ('2024-01-01 00:01Z', 'a', 5)) ],
		[ resize => q(INSERT INTO capped VALUES ('2024-01-01 00:02Z', 'a', 5) ON CONFLICT DO NOTHING) ],
		[ resize => q(DELETE FROM capped WHERE k = 'a' AND ts = '2024-01-01 00:10Z') ],
		[ remove => q(DELETE FROM capped WHERE v = 1 AND ts < '2024-01-01 01:00Z') ],
		[ remove => q(DELETE FROM capped WHERE ts < '2024-01-01 02:00Z') ],
		[ remove => q(TRUNCATE capped) ])
	{
		my ($need, $statement) = @$step;
		my $problem = try($statement);

		if ($refusal{$need})
		{
			like($problem, qr/^0A000 .*capped collection/s, "$statement: refused");
			unlike($problem, $counts_nothing, "$statement: no empty counts");
		}
		else
		{
			is($problem, '', "$statement: done");
			query($statement =~ s/\bcapped\b/local/r);
		}
		is(points('capped'), points('local'), "$statement: the points");
	}
}

# ---- Time-series collections ----------------------------------------------

SKIP:
{
	my $problem = command('{"create": "native", "timeseries": {"timeField": "ts", "metaField": "k"}}')
	  || command('{"insert": "native", "documents": [{"_id": 1, "ts": {"$date": "2024-01-01T00:00:00Z"}, "k": "a", "v": 1}]}');

	skip "the server has no time-series collections: $problem", 1 if $problem;
	skip 'the server removes single points of time-series collections', 1
	  unless command('{"delete": "native", "deletes": [{"q": {"v": 2}, "limit": 0}]}');
	query(q(CREATE FOREIGN TABLE native (ts timestamptz, k text, v int) SERVER mongo OPTIONS (filter '{"v": 1}')));
	foreach my $statement (q(UPDATE native SET k = 'b'), 'DELETE FROM native', 'TRUNCATE native')
	{
		my $problem = try($statement);

		like($problem, qr/^0A000 .*time-series/is, "$statement: refused");
		unlike($problem, $counts_nothing, "$statement: no empty counts");
	}
	is(points('native'), '1|1', 'nothing is changed');
	query(q(CREATE FOREIGN TABLE misspelt (ts timestamptz, k text, "V" int) SERVER mongo OPTIONS (collection 'native')));
	is(query(q(SELECT problem, field FROM mongo_ts_check('native'))), 'there is no index|k, ts',
		'a declaration is checked by the view');
	query(q(SELECT mongo_ts_create_index('native')));
	is(query(q(SELECT count(*) FROM mongo_ts_check('native'))), 0, '... and nothing is found');
	is(query(q(SELECT problem, field FROM mongo_ts_check('misspelt'))), 'no sampled document has the field|V',
		'... and a wrong one is found');

	# Documents with the same _id: no other session has changed them.
	ok_command('{"insert": "native", "documents": [{"_id": 1, "ts": {"$date": "2024-01-01T00:01:00Z"}, "k": "b", "v": 1}]}');
	foreach my $statement (q(UPDATE native SET k = 'b'), 'DELETE FROM native')
	{
		like(try($statement), qr/^0A000 .*time-series/s, "$statement: documents with the same _id");
	}
}

# ---- Collections with a collation of their own ----------------------------

SKIP:
{
	my $problem = command('{"create": "folded", "collation": {"locale": "en", "strength": 2}}');

	skip "the server has no collations: $problem", 1 if $problem;
	ok_command('{"insert": "folded", "documents": [
		{"ts": {"$date": "2024-01-01T00:00:00Z"}, "k": "a", "v": {"0": 1}},
		{"ts": {"$date": "2024-01-01T00:00:00Z"}, "k": "A", "v": {"0": 2}},
		{"ts": {"$date": "2024-01-01T00:00:00Z"}, "k": "b", "v": {"0": 3}}]}');
	query(q{CREATE FOREIGN TABLE folded (ts timestamptz, k text, v int OPTIONS (field 'v.{minute}')) SERVER mongo;
		SELECT mongo_ts_create_index('folded')});
	foreach my $indexed ('without an index', 'with an index')
	{
		my $list = q{SELECT string_agg(k, ',' ORDER BY v) FROM folded WHERE};

		is(query("$list k = 'a'"), 'a', "one key $indexed");
		is(query("$list k IN ('a', 'B')"), 'a', "several keys $indexed");
		is(query("$list k <> 'a'"), 'A,b', "all other keys $indexed");
		is(query(qq{$list k < 'a' COLLATE "C"}), 'A', "keys before one $indexed");
		is(query(qq{SELECT string_agg(k, ',') FROM (SELECT k FROM folded ORDER BY k COLLATE "C") q}), 'A,a,b', "in order $indexed");
		is(query(qq{SELECT string_agg(k, ',') FROM (SELECT DISTINCT ON (k COLLATE "C") k FROM folded ORDER BY k COLLATE "C", ts) q}), 'A,a,b', "the first of each $indexed");
		is(query(q{ANALYZE folded; SELECT count(*) FROM folded WHERE k = 'A'}), '1', "after ANALYZE $indexed");
		query(q{SELECT mongo_ts_create_index('folded')});
	}
	# as if it were large
	my $first = 'SELECT DISTINCT ON (k) k FROM folded ORDER BY k, ts';

	query(q{ALTER FOREIGN TABLE folded ALTER k SET (n_distinct = 3); ANALYZE folded;
		UPDATE pg_class SET reltuples = 1e10, relpages = 1e8 WHERE oid = 'folded'::regclass});
	# FerretDB has no such plan
	like(query("EXPLAIN $first"), qr/MongoDB Query: db\.folded\.aggregate\(.*\$first/, 'MongoDB finds the first of each')
	  if ($ENV{MONGO_TS_SERVER} // '') ne 'ferretdb';
	is(query(qq{SELECT string_agg(k, ',' ORDER BY k COLLATE "C") FROM ($first) q}), 'A,a,b', '.. byte by byte');
	query('ALTER FOREIGN TABLE folded ALTER k RESET (n_distinct); ANALYZE folded');
	query(q{INSERT INTO folded VALUES ('2024-01-01Z', 'B', 9), ('2024-01-01 00:01Z', 'B', 8)});
	is(query(q{SELECT string_agg(k || v, ',' ORDER BY k COLLATE "C", v) FROM folded}), 'A2,B8,B9,a1,b3', 'INSERT makes a bucket of its own');
	query(q{INSERT INTO folded VALUES ('2024-01-01Z', 'B', 0) ON CONFLICT DO NOTHING;
		INSERT INTO folded VALUES ('2024-01-01Z', 'C', 5) ON CONFLICT DO NOTHING;
		UPDATE folded SET v = v + 10 WHERE k = 'a'; DELETE FROM folded WHERE k = 'b';
		DELETE FROM folded WHERE k = 'c' AND ts < '2025-01-01Z'});
	is(query(q{SELECT string_agg(k || v, ',' ORDER BY k COLLATE "C", v) FROM folded}), 'A2,B8,B9,C5,a11', 'UPDATE and DELETE change only buckets of the exact key');
	query(q{ALTER FOREIGN TABLE folded OPTIONS (ADD filter '{"k": "B"}'); TRUNCATE folded;
		ALTER FOREIGN TABLE folded OPTIONS (DROP filter)});
	is(query(q{SELECT string_agg(k || v, ',' ORDER BY k COLLATE "C", v) FROM folded}), 'A2,C5,a11', 'TRUNCATE deletes only the buckets that match the filter');

	# Processes divide the documents by their _id.
	ok_command('{"create": "divided", "collation": {"locale": "en", "strength": 2}}');
	query(q{SELECT mongo_ts_command('mongo', json_build_object('insert', 'divided', 'documents', (SELECT json_agg(json_build_object(
			'_id', CASE n % 4 % 3 WHEN 0 THEN upper(id) ELSE id END, 'ts', json_build_object('$date', '2024-01-01T00:00:00Z'), 'v', n))
			FROM (SELECT n, chr(97 + n % 26) || n AS id FROM generate_series(1, 6000) n) s)));
		CREATE FOREIGN TABLE divided (ts timestamptz, v int) SERVER mongo; ANALYZE divided});
	my $parallel = 'SET mongo_ts_fdw.processors = 8; SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0';

	like(query("$parallel; EXPLAIN SELECT count(*) FROM divided WHERE v % 3 = 0"), qr/Workers Planned: 2/, 'two workers help to read text that is divided');
	is(query("$parallel; SELECT count(*) FROM divided WHERE v % 3 = 0"), 2000, '.. and each document is read once');

	ok_command('{"create": "shown", "viewOn": "folded", "pipeline": [], "collation": {"locale": "en", "strength": 2}}');
	query(q{CREATE FOREIGN TABLE shown (ts timestamptz, k text, v int OPTIONS (field 'v.{minute}')) SERVER mongo});
	skip 'the server makes collections instead of views', 2
	  unless query(q(SELECT mongo_ts_command('mongo', '{"count": "shown"}')->'n'));
	is(points('shown'), '3|18', 'a view with a collation is read as a whole');
	like(try(q{SELECT v FROM shown WHERE k = 'a'}), qr/^0A000 .*collation.*without a collation/s, 'a condition on text of that view is refused');
}

# ---- Collections with an index of their own -------------------------------

# Make a collection with indexes, and a table of it that requires the index
# {ts: 1}.
sub make_indexed
{
	my ($name, $indexes, $columns, $options) = @_;

	$columns //= q(v int OPTIONS (field 'v.{minute}'));
	$options //= '';
	ok_command(qq({"createIndexes": "$name", "indexes": [$indexes]}));
	query("CREATE FOREIGN TABLE $name (ts timestamptz, $columns) SERVER mongo $options");
	return;
}

sub create_index { return query("SELECT mongo_ts_create_index('$_[0]')") }

# Return the indexes on {ts: 1} of a collection, each as name and unique.
sub indexes
{
	my ($name) = @_;

	return query(<<"END");
		SELECT string_agg(concat_ws(' ', index->>'name', index->>'unique'), ', ' ORDER BY index->>'name')
		  FROM jsonb_array_elements(mongo_ts_command('mongo', '{"listIndexes": "$name"}')
			->'cursor'->'firstBatch') AS index
		 WHERE index->'key' = '{"ts": 1}'
END
}

make_indexed('expiring', '{"key": {"ts": 1}, "name": "mine", "unique": true, "expireAfterSeconds": 1000000000}');
is(create_index('expiring'), 'mine', 'a unique TTL index is used');
is(indexes('expiring'), 'mine true', 'no other index is created');

make_indexed('sized', '{"key": {"ts": 1}, "name": "ts_1", "expireAfterSeconds": 1000000000}',
	q(v int OPTIONS (field 'v[].n')), q(OPTIONS (bucket_span '1 hour', bucket_max_points '5')));
is(create_index('sized'), 'ts_1', 'a TTL index is used if several buckets have one time');

make_indexed('other', '{"key": {"x": 1}, "name": "ts_1"}');
is(create_index('other'), 'ts_1_buckets', 'a new index has another name if its name is in use');
is(create_index('other'), 'ts_1_buckets', 'that index is found again');

# Some servers refuse two indexes on the same fields.
my %options = (
	ttl => '"expireAfterSeconds": 1000000000',
	sparse => '"unique": true, "sparse": true',
	partial => '"unique": true, "partialFilterExpression": {"k": 1}');

foreach my $kind (sort keys %options)
{
	foreach my $name (qw(ts_1 mine))
	{
		my $table = "${kind}_$name";

		make_indexed($table, qq({"key": {"ts": 1}, "name": "$name", $options{$kind}}));
		my $problem = try("SELECT mongo_ts_create_index('$table')");

		if ($problem)
		{
			like($problem, qr/^42710 could not create the index .*\n.*\nDrop the index /s,
				"index $name of kind $kind: the hint says what to do");
			next;
		}
		my $made = $name eq 'mine' ? 'ts_1' : 'ts_1_buckets';

		is(create_index($table), $made, "index $name of kind $kind: another one is created");
		like(indexes($table), qr/\b$made true/, 'the new index is unique');
	}
}

ok_command('{"dropDatabase": 1}');

# ---- Another unique index -------------------------------------------------

ok_command('{"createIndexes": "serial", "indexes": [{"key": {"serial": 1}, "name": "by_serial", "unique": true}]}');
query(q{CREATE FOREIGN TABLE serial (ts timestamptz, k text, serial text OPTIONS (role 'attribute'),
		v int OPTIONS (field 'v.{minute}')) SERVER mongo;
	SELECT mongo_ts_create_index('serial');
	INSERT INTO serial VALUES ('2024-01-01Z', 'a', 's1', 1)});
foreach my $conflict ('', 'ON CONFLICT DO NOTHING')
{
	my $begin = time();

	like(try("INSERT INTO serial VALUES ('2024-01-02Z', 'b', 's1', 2) $conflict"), qr/^23505 .*by_serial/s,
		"a duplicate key of another unique index $conflict");
	cmp_ok(time() - $begin, '<', 5, '.. is an error at once');
}
is(points('serial'), '1|1', '.. and nothing is stored');
query(q{INSERT INTO serial SELECT timestamptz '2024-02-01Z' + i * interval '1 min', 'c' || i / 5, 't' || i / 5, i FROM generate_series(0, 499) i});
like(try(q{INSERT INTO serial SELECT timestamptz '2024-03-01Z' + i * interval '1 min', 'd' || i / 5, 't' || i / 5, i FROM generate_series(0, 499) i}),
	qr/^23505 .*by_serial/s, 'so it is of many new buckets');

$node->stop;
done_testing();
