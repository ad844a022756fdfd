--
-- Tests sorted scans, which read no more buckets than a LIMIT requires, and
-- lookups by joins.
--
\set suite order
\i sql/include/suite.sql

\pset format unaligned
\pset tuples_only on

\i sql/include/copies.sql

-- Minute buckets of three series and one without a key; one is not full, and
-- one is stored out of order
CREATE FOREIGN TABLE ticks (
  d timestamptz, symbol text COLLATE "C", n int, price float8 OPTIONS (field 'p.{second}')
) SERVER "order";
INSERT INTO ticks SELECT timestamptz '2024-03-10 05:00Z' + i * interval '1 second', 'S' || k, k, i + k / 10.0
  FROM generate_series(0, 599) i, generate_series(1, 3) k;
CALL put('ticks', '[{"d": {"$date": "2024-03-10T05:02:00Z"}, "p": {"7": 1, "3": null, "59": 2}},
  {"d": {"$date": "2024-03-10T05:02:00Z"}, "symbol": "S4", "n": 4, "p": {"50": 9, "10": 8, "30": 7}},
  {"d": {"$date": "2024-03-10T05:10:00Z"}, "symbol": "S2", "n": 2, "p": {"0": 5, "1": 6}}]');
SELECT mongo_ts_create_index('ticks');
CREATE TABLE copies.ticks AS SELECT * FROM ticks;

EXPLAIN (COSTS OFF) SELECT * FROM ticks ORDER BY d;
EXPLAIN (COSTS OFF) SELECT * FROM ticks WHERE symbol = 'S2' ORDER BY symbol, d DESC;
EXPLAIN (COSTS OFF) SELECT * FROM ticks ORDER BY n, d DESC, price;
SELECT same('SELECT d, symbol, n, price FROM ticks ORDER BY d, symbol, n');
SELECT same('SELECT d, symbol, n, price FROM ticks ORDER BY d, price DESC');
SELECT same('SELECT d, symbol FROM ticks ORDER BY d DESC, symbol DESC');
SELECT same('SELECT symbol, d, price FROM ticks ORDER BY symbol, d');
SELECT same('SELECT symbol, d, price FROM ticks ORDER BY symbol NULLS FIRST, d DESC');
SELECT same('SELECT symbol, d, price FROM ticks ORDER BY symbol DESC NULLS LAST, d');
SELECT same('SELECT symbol, d, price FROM ticks ORDER BY n, symbol, d LIMIT 100 OFFSET 1780');
SELECT same('SELECT symbol FROM ticks ORDER BY symbol');
SELECT same('SELECT d, price FROM ticks WHERE symbol = ''S4'' ORDER BY d');
SELECT same('SELECT d, price FROM ticks WHERE symbol = ''S4'' ORDER BY d DESC');
SELECT same('SELECT d, symbol, price FROM ticks WHERE d > ''2024-03-10 05:01:30Z'' AND price > 100 ORDER BY d, symbol LIMIT 40');
SELECT same('SELECT d FROM ticks WHERE symbol = ''none'' ORDER BY d');

-- Orders that a scan can't guarantee are sorted by PostgreSQL
SELECT same('SELECT symbol, d FROM ticks ORDER BY symbol DESC, d');
SELECT same('SELECT symbol, d FROM ticks WHERE symbol > ''S1'' ORDER BY symbol DESC, d');
SELECT same('SELECT symbol, d, price FROM ticks ORDER BY symbol COLLATE "en-x-icu", d');
SELECT same('SELECT price, d, symbol FROM ticks ORDER BY price, d, symbol');
SELECT same('SELECT d, symbol FROM ticks ORDER BY d::date, d, symbol');
SET mongo_ts_fdw.enable_order_by = off;
SELECT same('SELECT d, symbol FROM ticks ORDER BY d, symbol');
RESET mongo_ts_fdw.enable_order_by;

-- Overlapping rows beyond work_mem are sorted on disk
SET work_mem = '64kB';
INSERT INTO ticks SELECT timestamptz '2024-03-10 06:00Z' + i * interval '1 second', 'T' || k, -k, i + k
  FROM generate_series(0, 119) i, generate_series(1, 100) k;
INSERT INTO copies.ticks SELECT * FROM ticks WHERE symbol >= 'T';
SELECT same('SELECT d, symbol, n, price FROM ticks ORDER BY d, symbol, n');
SELECT same('SELECT d, n, symbol FROM ticks ORDER BY d DESC, n, symbol OFFSET 5000 LIMIT 4000');
SELECT same('SELECT symbol, d, price FROM ticks ORDER BY symbol, d');
RESET work_mem;

-- No more buckets than required: if the last slot is filled, no other bucket
-- has a later point; otherwise the next bucket proves that
ANALYZE ticks;
UPDATE pg_class SET reltuples = 13800, relpages = 230 WHERE oid = 'ticks'::regclass;
SELECT trips('SELECT * FROM ticks WHERE symbol = ''S3'' ORDER BY d DESC LIMIT 1');
SELECT trips('SELECT * FROM ticks WHERE symbol = ''S2'' ORDER BY d DESC LIMIT 1');
SELECT trips('SELECT max(d) FROM ticks WHERE symbol = ''S3''');
SELECT trips('SELECT * FROM ticks WHERE symbol = ''S3'' ORDER BY d LIMIT 60');
SELECT trips('SELECT * FROM ticks WHERE symbol = ''S3'' ORDER BY d LIMIT 10 OFFSET 120');
SELECT trips('SELECT * FROM ticks ORDER BY symbol NULLS FIRST, d LIMIT 3');
SELECT trips('SELECT * FROM ticks LIMIT 1');
PREPARE first_rows(int) AS SELECT * FROM ticks WHERE symbol = 'S3' ORDER BY d LIMIT $1;
SET plan_cache_mode = force_generic_plan;
SELECT trips('EXECUTE first_rows(70)');
RESET plan_cache_mode;
DECLARE c CURSOR WITH HOLD FOR SELECT d, price FROM ticks WHERE symbol = 'S3' ORDER BY d DESC;
FETCH 2 FROM c;
CLOSE c;
-- If PostgreSQL sorts, all buckets are read: batches that begin small grow
SELECT trips('SELECT * FROM ticks ORDER BY price LIMIT 1');

-- Points with their own times, in overlapping buckets
CREATE FOREIGN TABLE sized (
  ts timestamptz OPTIONS (field 'samples[].time', format 'epoch'), sensor int, v int OPTIONS (field 'samples[].v')
) SERVER "order" OPTIONS (bucket_time_field 'day', bucket_span '1 day', bucket_first_field 'first',
  bucket_last_field 'last', bucket_max_points '5', count_field 'n');
INSERT INTO sized SELECT timestamptz '2024-03-10 00:00Z' + (i * 37 % 5000) * interval '1 second', i % 3, i FROM generate_series(0, 299) i;
INSERT INTO sized VALUES ('2024-03-10 00:00Z', 1, -1), ('2024-03-10 00:00Z', 2, -2), ('2024-03-11 23:00Z', 1, -3);
CREATE TABLE copies.sized AS SELECT * FROM sized;
EXPLAIN (COSTS OFF) SELECT * FROM sized ORDER BY ts;
EXPLAIN (COSTS OFF) SELECT * FROM sized WHERE sensor = 1 ORDER BY ts DESC;
SELECT same('SELECT * FROM sized ORDER BY ts, v');
SELECT same('SELECT * FROM sized ORDER BY ts DESC, v');
SELECT same('SELECT * FROM sized ORDER BY sensor, ts, v OFFSET 50 LIMIT 100');
SELECT same('SELECT DISTINCT ON (sensor) * FROM sized ORDER BY sensor, ts DESC');
SELECT trips('SELECT * FROM sized WHERE sensor = 1 ORDER BY ts DESC LIMIT 1');
-- The order is by the last time, which has an index of its own.
SELECT mongo_ts_create_index('sized');
SELECT jsonb_path_query_array(mongo_ts_command('order', '{"listIndexes": "sized"}'), '$.cursor.firstBatch.key') AS indexes;

-- A bucket that gets a point during a scan keeps its other points in the
-- result
ALTER FOREIGN TABLE sized OPTIONS (ADD fetch_size '9');
DO $$
DECLARE
  c CURSOR FOR SELECT * FROM sized ORDER BY ts DESC;
  point record;
  n int = 0;
BEGIN
  OPEN c;
  LOOP
    FETCH c INTO point;
    EXIT WHEN NOT found;
    IF n = 0 THEN
      INSERT INTO sized VALUES ('2024-03-10 23:00Z', 2, 1000);
    END IF;
    n = n + (point.v < 1000)::int;
  END LOOP;
  RAISE NOTICE '% of % points', n, (SELECT count(*) FROM copies.sized);
END $$;
DELETE FROM sized WHERE v = 1000;
ALTER FOREIGN TABLE sized OPTIONS (DROP fetch_size);

-- A document is a row; some have no time
CREATE FOREIGN TABLE events (ts timestamptz, v int) SERVER "order";
CALL put('events', '[{"ts": {"$date": "2024-03-10T05:00:00Z"}, "v": 1}, {"ts": null, "v": 2}, {"v": 3},
  {"ts": {"$date": "2024-03-09T05:00:00Z"}, "v": 4}, {"ts": {"$date": "2024-03-09T05:00:00Z"}, "v": 5}]');
CREATE TABLE copies.events AS SELECT * FROM events;
SELECT same('SELECT * FROM events ORDER BY ts, v');
SELECT same('SELECT * FROM events ORDER BY ts NULLS FIRST, v DESC');
SELECT same('SELECT * FROM events ORDER BY ts DESC, v');
SELECT same('SELECT * FROM events ORDER BY ts DESC NULLS LAST, v');
SELECT same('SELECT * FROM events WHERE ts < now() ORDER BY ts DESC, v');
ALTER FOREIGN TABLE events ALTER ts SET NOT NULL;
SELECT try('SELECT * FROM events ORDER BY ts DESC');

-- A skipped value is not a bound
CREATE FOREIGN TABLE broken (ts timestamptz, v int OPTIONS (field 'v.{second}')) SERVER "order" OPTIONS (on_invalid 'skip');
CALL put('broken', '[{"ts": {"$date": "2024-03-10T05:00:00Z"}, "v": {"0": 1, "1": "x"}}, {"ts": 7, "v": {"0": 2}},
  {"ts": {"$date": "2024-03-10T05:01:00Z"}, "v": {"60": 3, "7": 4}}, {"ts": {"$date": "2024-03-10T05:00:00Z"}, "v": {"2": 5}}]');
SELECT * FROM broken ORDER BY ts;
SELECT * FROM broken ORDER BY ts DESC LIMIT 1;

-- Local times decrease when clocks are set back, instants don't
CREATE FOREIGN TABLE local (
  ts timestamp OPTIONS (field 't'), at timestamptz OPTIONS (field 't', role 'time'), v int OPTIONS (field 'v.{minute}')
) SERVER "order" OPTIONS (bucket_time_zone 'Europe/Berlin');
CALL put('local', '[{"t": {"$date": "2024-10-27T00:00:00Z"}, "v": {"5": 1, "30": 2}}, {"t": {"$date": "2024-10-27T01:00:00Z"}, "v": {"0": 3}}]');
CREATE TABLE copies.local AS SELECT * FROM local;
SELECT same('SELECT ts, v FROM local ORDER BY ts, v');
SELECT same('SELECT at, v FROM local ORDER BY at DESC');

-- Joins look up keys and times
CREATE TABLE devices (id text COLLATE "C", "from" timestamptz, k int);
INSERT INTO devices SELECT 'S' || k, timestamptz '2024-03-10 05:00Z' + k * interval '45 seconds', k FROM generate_series(0, 5) k;
INSERT INTO devices VALUES (NULL, '2024-03-10 05:02Z', 9), ('S1', '2024-03-10 05:09:30Z', 10), ('S1', NULL, 11);
ANALYZE devices;
CREATE TABLE copies.devices AS TABLE devices;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_memoize = off;
EXPLAIN (COSTS OFF) SELECT * FROM devices, ticks WHERE symbol = id AND d >= "from" AND d < "from" + interval '1 minute';
SELECT plan($$SELECT * FROM devices, ticks WHERE symbol = id AND d >= "from" AND d < "from" + interval '1 minute' AND k = 2$$, ', ANALYZE');
SELECT same('SELECT k, d, price FROM devices, ticks WHERE symbol = id AND d >= "from" AND d < "from" + interval ''1 minute'' ORDER BY k, d, price');
SELECT same('SELECT k, count(price), round(sum(price)::numeric, 3) FROM devices LEFT JOIN ticks ON symbol = id AND d BETWEEN "from" AND "from" + interval ''1 minute'' GROUP BY k ORDER BY k');
SELECT same('SELECT k, d, price FROM devices, LATERAL (SELECT * FROM ticks WHERE symbol = id ORDER BY d DESC LIMIT 3) t ORDER BY k, d');
SELECT same('SELECT k, (SELECT max(price) FROM ticks WHERE symbol = id AND d < "from") FROM devices ORDER BY k');
SELECT same('SELECT k FROM devices WHERE EXISTS (SELECT FROM ticks WHERE symbol = id AND d = "from") ORDER BY k');
SELECT same('SELECT k FROM devices WHERE NOT EXISTS (SELECT FROM ticks WHERE symbol = id AND price > k * 200) ORDER BY k');
SELECT same('SELECT a.d, b.price FROM ticks a JOIN ticks b ON b.symbol = a.symbol AND b.d = a.d - interval ''1 second'' WHERE a.symbol = ''S4'' OR a.n < -95 ORDER BY a.d, b.price');
SELECT trips('SELECT k, t.* FROM devices, LATERAL (SELECT * FROM ticks WHERE symbol = id ORDER BY d DESC LIMIT 1) t WHERE k <= 3');
PREPARE lookup(int) AS SELECT count(*) FROM devices, ticks WHERE symbol = id AND d >= "from" AND k = $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE lookup(1);
EXECUTE lookup(3);
RESET plan_cache_mode;
RESET enable_hashjoin;
RESET enable_memoize;
SET enable_mergejoin = on;
SET enable_hashjoin = off;
SET enable_nestloop = off;
EXPLAIN (COSTS OFF) SELECT * FROM ticks a JOIN sized b ON a.d = b.ts;
SELECT same('SELECT a.d, a.symbol, b.v FROM ticks a JOIN sized b ON a.d = b.ts + interval ''5 hours'' ORDER BY 1, 2, 3');
SELECT same('SELECT count(*), sum(a.price) FROM ticks a JOIN ticks b USING (d, symbol)');
RESET enable_mergejoin;
RESET enable_hashjoin;
RESET enable_nestloop;

-- Partitions are merged in order
CREATE TABLE parts (d timestamptz, symbol text COLLATE "C", n int, price float8) PARTITION BY RANGE (d);
ALTER TABLE parts ATTACH PARTITION ticks FOR VALUES FROM ('2024-03-10') TO ('2024-03-11');
CREATE FOREIGN TABLE later (
  d timestamptz, symbol text COLLATE "C", n int, price float8 OPTIONS (field 'p.{second}')) SERVER "order";
ALTER TABLE parts ATTACH PARTITION later FOR VALUES FROM ('2024-03-11') TO ('2024-03-12');
INSERT INTO parts VALUES ('2024-03-11 00:00Z', 'S2', 2, 7), ('2024-03-11 00:00:01Z', 'S1', 1, 8);
CREATE TABLE copies.parts AS TABLE parts;
EXPLAIN (COSTS OFF) SELECT * FROM parts ORDER BY d DESC LIMIT 1;
SELECT trips('SELECT * FROM parts ORDER BY d DESC LIMIT 1');
SELECT same('SELECT * FROM parts ORDER BY d DESC, symbol, n LIMIT 200');
SELECT same('SELECT * FROM parts ORDER BY symbol, d LIMIT 700 OFFSET 10');

-- MongoDB sorts by at most 32 fields
SELECT format('CREATE FOREIGN TABLE wide (ts timestamptz, %s) SERVER "order"', string_agg('c' || i || ' int', ', '))
  FROM generate_series(1, 33) i \gexec
SELECT format('INSERT INTO wide SELECT timestamptz ''2024-03-10 00:00Z'' + n * interval ''1 minute'', %s FROM generate_series(1, 99) n',
  string_agg(CASE WHEN i < 32 THEN 'n / 50' ELSE 'n * 7 % ' || 43 - i END, ', ')) FROM generate_series(1, 33) i \gexec
CREATE TABLE copies.wide AS TABLE wide;
SELECT n, same(format('SELECT %1$s FROM wide ORDER BY %1$s', string_agg('c' || i, ', ')))
  FROM generate_series(31, 33) n, generate_series(1, n) i GROUP BY n ORDER BY n;
SELECT same(format('SELECT %1$s FROM wide ORDER BY %1$s LIMIT 7', string_agg('c' || i, ', '))),
  same(format('SELECT %1$s FROM wide ORDER BY %1$s, ts DESC', string_agg('c' || i, ', '))),
  same(format('SELECT DISTINCT %1$s FROM wide ORDER BY %1$s', string_agg('c' || i, ', ')))
  FROM generate_series(1, 33) i;

-- Documents that are rows may have no time.  In descending order these are
-- asked for first.
CREATE FOREIGN TABLE notes (ts timestamptz, host text COLLATE "C", v int) SERVER "order";
INSERT INTO notes SELECT timestamptz '2024-03-10 00:00Z' + i / 3 * interval '1 minute', 'h' || i % 3, i FROM generate_series(0, 899) i;
SELECT mongo_ts_command('order', '{"createIndexes": "notes", "indexes": [{"key": {"host": 1, "ts": 1}, "name": "host_ts"}, {"key": {"ts": 1}, "name": "ts"}]}')->'ok';
ANALYZE notes;
UPDATE pg_class SET reltuples = 900000 WHERE oid = 'notes'::regclass;
CREATE TABLE copies.notes AS TABLE notes;
EXPLAIN (COSTS OFF) SELECT * FROM notes ORDER BY ts DESC LIMIT 1;
EXPLAIN (COSTS OFF) SELECT * FROM notes WHERE ts IS NOT NULL ORDER BY ts DESC LIMIT 1;
EXPLAIN (COSTS OFF) SELECT * FROM notes WHERE ts IS NULL;
SELECT plan('SELECT max(ts) FROM notes WHERE host = ''h1''');
EXPLAIN (COSTS OFF) SELECT count(*) FROM notes WHERE ts IS NOT NULL;
CREATE FUNCTION last_notes() RETURNS SETOF text LANGUAGE sql AS $$
  SELECT concat_ws(': ', query, trips(query), same(query)) FROM (VALUES
    ('SELECT ts FROM notes ORDER BY ts DESC LIMIT 1'),
    ('SELECT ts FROM notes WHERE ts IS NOT NULL ORDER BY ts DESC LIMIT 1'),
    ('SELECT * FROM notes WHERE host = ''h1'' ORDER BY ts DESC, v LIMIT 5'),
    ('SELECT * FROM notes WHERE host = ''h1'' AND (ts IS NOT NULL OR ts > ''2024-03-11'') ORDER BY ts DESC LIMIT 5'),
    ('SELECT max(ts) FROM notes')) q (query)
$$;
SELECT last_notes();
CALL put('notes', '[{"host": "h1", "v": 1001}, {"host": "h2", "ts": null, "v": 1002}, {"v": 1003}, {"host": "h1", "v": 1004},
  {"ts": {"$date": "2024-03-01T00:00:00Z"}, "v": 1005}]');
TRUNCATE copies.notes;
INSERT INTO copies.notes TABLE notes;
SELECT last_notes();
SELECT same('SELECT * FROM notes ORDER BY ts DESC, host, v');
SELECT same('SELECT ts, v FROM notes ORDER BY ts DESC, v DESC LIMIT 20 OFFSET 3');
SELECT same('SELECT * FROM notes ORDER BY ts DESC NULLS LAST, v');
SELECT same('SELECT * FROM notes ORDER BY ts NULLS FIRST, v');
SELECT same('SELECT * FROM notes ORDER BY host, ts DESC, v');
SELECT same('SELECT * FROM notes WHERE ts > ''2024-03-10 01:00Z'' ORDER BY ts DESC, v');
SELECT same('SELECT v FROM notes WHERE ts IS NULL ORDER BY v');
SELECT same('SELECT v FROM notes WHERE NOT (ts IS NULL) AND host IS NULL ORDER BY v');
SELECT same('SELECT v FROM notes WHERE ts IS NOT NULL OR host = ''h1'' ORDER BY v');
SELECT same('SELECT s.x, t.v FROM (VALUES (''h1''), (''h2''), (''h3'')) s (x), LATERAL (SELECT * FROM notes WHERE host = s.x ORDER BY ts DESC, v LIMIT 2) t');
SET work_mem = '64kB';
SELECT same('SELECT * FROM notes ORDER BY ts DESC, v');
RESET work_mem;

-- Buckets without a span: several have the same time, which is that of their
-- points.
CREATE FOREIGN TABLE snapshots (ts timestamptz, region text COLLATE "C", host text COLLATE "C", v int OPTIONS (field 'v.{host}')) SERVER "order";
CALL put('snapshots', '[{"ts": {"$date": "2024-03-10T00:00:00Z"}, "region": "us", "v": {"a": 1, "b": 2}}, {"ts": {"$date": "2024-03-10T00:00:00Z"}, "region": "eu", "v": {"b": 3, "a": 4}},
  {"ts": {"$date": "2024-03-11T00:00:00Z"}, "region": "us", "v": {"c": 5, "a": 6}}, {"ts": {"$date": "2024-03-11T00:00:00Z"}, "region": "eu", "v": {"c": 7}},
  {"ts": {"$date": "2024-03-11T00:00:00Z"}, "region": "eu", "v": {"d": 8}}]');
CREATE TABLE copies.snapshots AS TABLE snapshots;
SET enable_sort = off;
EXPLAIN (COSTS OFF) SELECT * FROM snapshots ORDER BY ts DESC, region, host;
SELECT same('SELECT * FROM snapshots ORDER BY ts DESC, region, host');
SELECT same('SELECT * FROM snapshots ORDER BY ts, region DESC, host');
SELECT same('SELECT * FROM snapshots WHERE host <> ''b'' ORDER BY ts DESC, host LIMIT 2');
SELECT same('SELECT DISTINCT ON (region) * FROM snapshots ORDER BY region, ts DESC, host DESC');
SELECT same('SELECT DISTINCT ON (region) * FROM snapshots ORDER BY region, ts, host');
RESET enable_sort;
