--
-- Tests that MongoDB counts the rows of tables whose documents are rows, and
-- that the documents are read where a value may not fit its column.
--
\set suite count
\i sql/include/suite.sql

\pset format unaligned
\pset tuples_only on

\i sql/include/counts.sql

CREATE FOREIGN TABLE event (
  ts      timestamptz,
  host    text,
  n       int,
  big     bigint,
  v       float8,
  ok      boolean,
  deleted timestamptz OPTIONS (role 'key'),
  load    int OPTIONS (field 'm.load'),
  raw     jsonb,
  price   numeric
) SERVER count;
INSERT INTO event SELECT timestamptz '2024-03-10 00:00Z' + i * interval '1 minute', 'h' || i % 4, i % 10,
    i * 10000000000, i / 8.0, i % 3 = 0, CASE WHEN i % 5 = 0 THEN timestamptz '2024-04-01 00:00Z' END, i % 7,
    to_jsonb(i), i
  FROM generate_series(0, 999) i;
ANALYZE event;

EXPLAIN (COSTS OFF) SELECT count(*) FROM event;
EXPLAIN (COSTS OFF) SELECT count(*) FROM event WHERE host = 'h1' AND n > 3 AND ts >= '2024-03-10 06:00Z';
EXPLAIN (COSTS OFF) SELECT count(*) FROM event WHERE n < 3 OR deleted IS NULL;
SELECT plan($$SELECT count(*) FROM event WHERE n > 3$$, ', ANALYZE');

-- Conditions of which MongoDB can be certain
SELECT condition, counts('SELECT count(*) FROM event WHERE ' || condition) FROM (VALUES
  ('true'), ('false'), ('host = ''h1'''), ('host IN (''h1'', ''h2'', ''none'')'), ('host = ''h1'' AND host LIKE ''h%'''),
  ('n = 3'), ('n <> 3'), ('n BETWEEN 2 AND 5'), ('n IN (1, 2)'), ('n NOT IN (1, 2)'), ('big > 20000000000'),
  ('v < 10'), ('v = 0.125'), ('v <> ''NaN'''), ('ok'), ('NOT ok'), ('ok IS TRUE'), ('host IS NULL'), ('n IS NULL'),
  ('deleted IS NULL'), ('deleted IS NOT NULL'), ('deleted < now()'), ('load = 3'), ('n = 1 OR ok OR v > 100'),
  ('n = 1 OR n IS NULL'), ('ts < ''2024-03-10 04:00Z'''), ('ts <> ''2024-03-10 04:00Z'''),
  ('ts = ''2024-03-10 04:00Z'''), ('ts IN (''2024-03-10 04:00Z'', ''2024-03-10 05:00Z'')'),
  ('ts >= ''2024-03-10 04:00Z'' AND ts < ''2024-03-10 05:00Z'' AND host = ''h0'' AND ok'),
  ('ts > ''infinity'''), ('extract(epoch FROM ts) < 1710050000.5')) AS t (condition);

-- Others
SELECT left(condition, 40), counts('SELECT count(*) FROM event WHERE ' || condition) FROM (VALUES
  ('host > ''h1'' COLLATE "C"'), ('host <> ''h1'''), ('host LIKE ''h%'''), ('host IS NOT NULL'), ('n = 1 OR host = ''h2'''),
  ('n % 2 = 0'), ('ts::date = ''2024-03-10'''), ('price = 3'), ('raw IS NULL'), ('load IS NULL'), ('load = 1 OR n = 1'),
  ('ts NOT IN (' || (SELECT string_agg(quote_literal(timestamptz '2024-03-10 00:00Z' + i * interval '3 minutes'), ', ')
    FROM generate_series(0, 80) i) || ')')) AS t (condition);

-- Aggregates
CREATE FOREIGN TABLE strict (
  ts timestamptz NOT NULL, host text NOT NULL, n int NOT NULL, v float8 NOT NULL, deleted timestamptz OPTIONS (role 'key') NOT NULL
) SERVER count OPTIONS (collection 'event');
SELECT counts('SELECT count(n) FROM strict');
SELECT counts('SELECT count(ts) FROM strict WHERE v < 50');
SELECT counts('SELECT sum(c) FROM (SELECT count(*) + count(v) + count(n) AS c FROM strict) t');
SELECT counts('SELECT count(n) FROM event');
SELECT counts('SELECT count(n + 1) FROM strict');
SELECT counts('SELECT count(*) FILTER (WHERE n > 3) FROM strict');
SELECT counts('SELECT count(DISTINCT n) FROM strict');
SELECT counts('SELECT count(*) FROM event WHERE host = ''h1'' HAVING count(*) > 1');
SELECT counts('SELECT count(*) FROM event WHERE host = ''h1'' HAVING count(*) > 1000');
SELECT counts('SELECT count(*) FROM event WHERE host = ''h1'' GROUP BY host');
SELECT counts('SELECT count(*) FROM (SELECT * FROM event LIMIT 7) t');
SELECT counts('SELECT count(*) FROM event LIMIT 0');
SELECT counts('SELECT sum(c) FROM (VALUES (1), (2), (3)) s (x), LATERAL (SELECT count(*) AS c FROM event WHERE n = s.x) t');
PREPARE counted(text, int) AS SELECT count(*) FROM event WHERE host = $1 AND n < $2;
SET plan_cache_mode = force_generic_plan;
SELECT counts('EXECUTE counted(''h1'', 5)');
SELECT counts('EXECUTE counted(''h1'', NULL)');
RESET plan_cache_mode;

-- Values of which MongoDB cannot be certain, but which are valid
CREATE PROCEDURE replace(document json) LANGUAGE sql AS $$
  SELECT mongo_ts_command('count', json_build_object('update', 'event', 'updates',
    json_build_array(json_build_object('q', '{"_id": 1}'::json, 'u', document, 'upsert', true))))
$$;
CALL replace('{"ts": {"$date": "2025-03-10T00:00:00Z"}, "n": {"$numberDouble": "7"}, "v": {"$numberLong": "5"}}');
SELECT counts('SELECT count(*) FROM event'), counts('SELECT count(*) FROM event WHERE n > 3'),
  counts('SELECT count(*) FROM event WHERE v > 3'), counts('SELECT count(*) FROM event WHERE n > 7');
CALL replace('{"ts": null, "n": null}');
SELECT counts('SELECT count(*) FROM event'), counts('SELECT count(*) FROM event WHERE ts < ''2024-03-10 04:00Z'''),
  counts('SELECT count(*) FROM event WHERE n IS NULL');

-- Values that are errors
CREATE FUNCTION fails(condition text, what text DEFAULT '*') RETURNS text LANGUAGE sql AS $$
  SELECT split_part(try(format('SELECT count(%s) FROM event WHERE %s', what, condition)), E'\n', 2)
$$;
CALL replace('{"ts": {"$date": "2025-03-10T00:00:00Z"}, "host": ["h1", "h2"]}');
SELECT fails('true'), fails('host = ''h1'''), fails('host = ''none''');
CALL replace('{"ts": {"$date": "2025-03-10T00:00:00Z"}, "n": [1, 2], "big": 1.5, "v": {"$numberDecimal": "0.1"}}');
SELECT fails('n < 3'), fails('big > 1'), fails('v > 0');
CALL replace('{"ts": {"$date": "2025-03-10T00:00:00Z"}, "n": {"$numberLong": "3000000000"}, "v": {"$numberLong": "9007199254740993"}}');
SELECT fails('n > 3'), fails('v > 1000'), fails('n < 3');
CALL replace('{"ts": {"$date": {"$numberLong": "9224318016000000"}}, "ok": true, "m": 5}');
SELECT fails('ts > ''2024-03-01'''), fails('ts < ''2024-03-11'''), fails('load IS NULL'), fails('load = 3');
CALL replace('{"ts": [{"$date": "2024-03-10T00:00:00Z"}]}');
SELECT fails('true'), fails('ts < ''2024-03-11''');

-- With workers, those that find such a value read the documents of their part.
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
UPDATE pg_class SET reltuples = 1e9, relpages = 1e9 WHERE oid = 'event'::regclass;
CALL replace('{"ts": {"$date": "2025-03-10T00:00:00Z"}, "n": {"$numberDouble": "7"}}');
EXPLAIN (COSTS OFF) SELECT count(*) FROM event WHERE n > 3;
SELECT counts('SELECT count(*) FROM event'), counts('SELECT count(*) FROM event WHERE v > 3'),
  counts('SELECT count(*) FROM event WHERE host = ''h1'''),
  counts('SELECT sum(c) FROM (VALUES (1), (2), (3)) s (x), LATERAL (SELECT count(*) AS c FROM event WHERE n = s.x) t');
SELECT counts('SELECT count(*) FROM event WHERE n > 3') ~ '^601 ';
CALL replace('{"ts": {"$date": "2025-03-10T00:00:00Z"}, "n": 7.5}');
SELECT fails('n > 3');
RESET min_parallel_table_scan_size;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
CALL replace('{"ts": {"$date": "2025-03-10T00:00:00Z"}}');

-- Tables that are read
CREATE FOREIGN TABLE skipping (ts timestamptz, n smallint) SERVER count OPTIONS (collection 'event', on_invalid 'skip');
CREATE FOREIGN TABLE by_script (ts timestamptz, n int) SERVER count OPTIONS (collection 'event', filter '{"$where": "this.n == 3"}');
CREATE FOREIGN TABLE filtered (ts timestamptz, n int) SERVER count OPTIONS (collection 'event', filter '{"n": {"$lt": 3}}');
CREATE FOREIGN TABLE by_epoch (ts timestamptz OPTIONS (field 'n', format 'epoch'), host text) SERVER count OPTIONS (collection 'event');
CREATE FOREIGN TABLE dates (ts date, n int) SERVER count OPTIONS (collection 'event');
CREATE FOREIGN TABLE rounded (ts timestamptz(0), host varchar(2)) SERVER count OPTIONS (collection 'event');
CREATE FOREIGN TABLE monthly (ts timestamptz, n int) SERVER count OPTIONS (collection 'monthly_%Y%m');
INSERT INTO monthly SELECT timestamptz '2024-03-10 00:00Z' + i * interval '10 days', i FROM generate_series(0, 9) i;
SELECT counts('SELECT count(*) FROM skipping'), counts('SELECT count(*) FROM filtered'),
  counts('SELECT count(*) FROM filtered WHERE n > 1'), counts('SELECT count(*) FROM by_epoch'),
  counts('SELECT count(*) FROM by_epoch WHERE ts < ''1970-01-01 00:00:05Z'''), counts('SELECT count(*) FROM dates'),
  counts('SELECT count(*) FROM rounded WHERE ts < ''2024-03-11'''), counts('SELECT count(*) FROM rounded WHERE host = ''h1'''),
  counts('SELECT count(*) FROM monthly'), counts('SELECT count(*) FROM monthly WHERE ts >= ''2024-04-01''');
SELECT plan('SELECT count(*) FROM by_script');

-- A field that the first documents lack, and a later one has
SELECT mongo_ts_command('count', '{"insert": "late", "documents": [{"ts": {"$date": "2024-03-10T00:00:00Z"}}]}')->'n' AS n;
CREATE FOREIGN TABLE late (ts timestamptz, n int) SERVER count;
INSERT INTO late SELECT timestamptz '2024-03-10 00:00Z' + i * interval '1 second', 1 FROM generate_series(1, 50) i;
SELECT sum(n) FROM late;
