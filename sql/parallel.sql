--
-- Tests parallel scans.
--
\set suite parallel
\i sql/include/suite.sql

\pset format unaligned
\pset tuples_only on
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;

-- Run a query with and without workers.  Shows the planned workers and
-- differences.
CREATE FUNCTION same(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  answers text[];
  workers text = 'none';
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    workers = coalesce(substring(line from 'Workers Planned: (\d+)'), workers);
  END LOOP;
  FOR i IN 0 .. 1 LOOP
    PERFORM set_config('max_parallel_workers_per_gather', (2 * i)::text, true);
    EXECUTE format('SELECT array_append($1, string_agg(t::text, '' '' ORDER BY t::text)) FROM (%s) t', query)
      INTO answers USING answers;
  END LOOP;
  EXECUTE format('SELECT count(*) FROM (%s) t', query) INTO line;
  RETURN workers || ' workers, ' || line || ' rows' ||
    CASE WHEN answers[1] IS NOT DISTINCT FROM answers[2] THEN ''
         ELSE E', not the same:\n' || coalesce(answers[1], 'NULL') || E'\n' || coalesce(answers[2], 'NULL') END;
END $$;

CREATE FOREIGN TABLE load (
  ts timestamptz, host text COLLATE "C", v int OPTIONS (field 'm.{minute}')
) SERVER parallel;
INSERT INTO load SELECT timestamptz '2024-03-10 00:00Z' + i * interval '7 minutes', 'h' || i % 4, i
  FROM generate_series(0, 9999) i;
SELECT mongo_ts_create_index('load');
ANALYZE load;
EXPLAIN (COSTS OFF) SELECT count(*) FROM load WHERE v % 3 = 0;
-- One process keeps two processors busy if MongoDB is on the same host.
SET mongo_ts_fdw.processors = 2;
EXPLAIN (COSTS OFF) SELECT count(*) FROM load WHERE v % 3 = 0;
ALTER SERVER parallel OPTIONS (SET uri 'mongodb://db.example');
EXPLAIN (COSTS OFF) SELECT count(*) FROM load WHERE v % 3 = 0;
ALTER SERVER parallel OPTIONS (SET uri :'uri');
RESET mongo_ts_fdw.processors;
SELECT same('SELECT * FROM load WHERE v % 3 = 0');
SELECT same('SELECT host, count(*), sum(v) FROM load WHERE v % 3 = 0 GROUP BY host');
SELECT same('SELECT count(*), sum(v) FROM load WHERE host = ''h1'' AND v <> 5');
SELECT same('SELECT count(*), sum(v) FROM load WHERE host = ''h1'' AND ts >= ''2024-03-12 05:11Z'' AND v <> 5');
SELECT same('SELECT count(*), sum(v) FROM load WHERE host = ''h1'' AND ts >= ''2024-03-12 05:11Z'' AND ts < ''2024-04-12 05:11Z'' AND v <> 5');
SELECT same('SELECT count(*), sum(v) FROM load WHERE host = ''none'' AND v <> 5');
SELECT same('SELECT * FROM load WHERE v <> 5 AND ts > ''2024-03-12'' AND ts < ''2024-03-11''');
SELECT same('SELECT a.ts, a.v FROM load a JOIN load b ON a.ts = b.ts AND b.v > 9900');
SELECT count(*) FROM (SELECT * FROM load WHERE v % 3 = 0 LIMIT 10) t;

-- EXPLAIN ANALYZE counts the reads of all workers
SELECT buckets, points FROM reads('SELECT count(*) FROM load WHERE v % 3 = 0');

-- Rescans with other parameters
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SET enable_memoize = off;
SELECT plan('SELECT n, (SELECT sum(v) FROM load WHERE v % 3 = n) FROM generate_series(0, 2) n');
EXPLAIN (COSTS OFF)
SELECT n, count(*) FROM generate_series(1, 3) n LEFT JOIN (SELECT v FROM load WHERE v % 3 = 0 OFFSET 0) t ON v % 7 > n GROUP BY n;
SELECT same('SELECT n, count(*) FROM generate_series(1, 3) n LEFT JOIN (SELECT v FROM load WHERE v % 3 = 0 OFFSET 0) t ON v % 7 > n GROUP BY n');
PREPARE of_host(text) AS SELECT count(*), sum(v) FROM load WHERE host = $1 AND v > 4;
SET plan_cache_mode = force_generic_plan;
EXECUTE of_host('h2');
EXECUTE of_host('h3');
EXECUTE of_host(NULL);
RESET plan_cache_mode;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;
RESET enable_memoize;

-- Whatever _id is, each document is read once
CREATE FOREIGN TABLE mixed (ts timestamptz, v int) SERVER parallel;
SELECT mongo_ts_command('parallel', json_build_object('insert', 'mixed', 'documents',
  (SELECT json_agg(json_build_object('_id', CASE n % 7 WHEN 0 THEN to_json(n) WHEN 1 THEN to_json('x' || n)
      WHEN 2 THEN json_build_object('a', n) WHEN 3 THEN to_json(n + 0.5) WHEN 4 THEN json_build_object('$oid', lpad(n::text, 24, '0'))
      WHEN 5 THEN json_build_object('$date', json_build_object('$numberLong', n::text)) ELSE json_build_object('$numberDecimal', n::text) END,
    'ts', json_build_object('$date', '2024-03-10T00:00:00Z'), 'v', n)) FROM generate_series(0, 799) n)))->'n';
SELECT mongo_ts_command('parallel', '{"insert": "mixed", "documents": [{"_id": null, "v": -1}, {"_id": true, "v": -2}, {"_id": {"$numberDouble": "NaN"}, "v": -3}]}')->'n';
SELECT same('SELECT * FROM mixed WHERE v % 2 = 0');
SELECT same('SELECT count(*), count(DISTINCT v) FROM mixed WHERE v <> 7');

-- An invalid value is an error in each process
CALL put('load', '[{"ts": {"$date": "2024-03-10T05:00:00Z"}, "host": "h9", "m": {"7": "x"}}]');
\set VERBOSITY sqlstate
SELECT count(*) FROM load WHERE v % 3 = 0;
\set VERBOSITY default
SELECT same('SELECT * FROM load WHERE host <> ''h9'' AND v > 7');

-- skipping it requires subtransactions, which a worker can't start
ALTER FOREIGN TABLE load OPTIONS (ADD on_invalid 'skip');
EXPLAIN (COSTS OFF) SELECT count(*) FROM load WHERE v % 3 = 0;
SELECT count(*) FROM load WHERE v % 3 = 0;
ALTER FOREIGN TABLE load OPTIONS (DROP on_invalid);

-- Partitions
CREATE TABLE parts (ts timestamptz, host text COLLATE "C", v int) PARTITION BY LIST (host);
CREATE FOREIGN TABLE one (ts timestamptz, host text COLLATE "C", v int OPTIONS (field 'm.{minute}')) SERVER parallel;
CREATE FOREIGN TABLE two (ts timestamptz, host text COLLATE "C", v int OPTIONS (field 'm.{minute}')) SERVER parallel;
ALTER TABLE parts ATTACH PARTITION one FOR VALUES IN ('h1');
ALTER TABLE parts ATTACH PARTITION two FOR VALUES IN ('h2');
INSERT INTO parts SELECT * FROM load WHERE host IN ('h1', 'h2');
ANALYZE one;
ANALYZE two;
EXPLAIN (COSTS OFF) SELECT count(*) FROM parts WHERE v % 3 = 0;
SELECT same('SELECT host, count(*), sum(v) FROM parts WHERE v % 3 = 0 GROUP BY host');

-- Scans that an Append may wait for together have no workers
ALTER SERVER parallel OPTIONS (ADD async_capable 'true');
SET enable_partitionwise_aggregate = on;
EXPLAIN (COSTS OFF) SELECT * FROM parts WHERE v % 3 = 0;
EXPLAIN (COSTS OFF) SELECT count(*) FROM parts WHERE v % 3 = 0;
SELECT same('SELECT host, count(*), sum(v) FROM parts WHERE v % 3 = 0 GROUP BY host');
SELECT same('SELECT * FROM one UNION ALL SELECT * FROM two');
-- one that returns sorted rows, and the option of a table
EXPLAIN (COSTS OFF) SELECT * FROM parts ORDER BY ts LIMIT 1;
ALTER FOREIGN TABLE one OPTIONS (ADD async_capable 'false');
EXPLAIN (COSTS OFF) SELECT * FROM parts WHERE v % 3 = 0;
RESET enable_partitionwise_aggregate;
ALTER FOREIGN TABLE one OPTIONS (DROP async_capable);
ALTER SERVER parallel OPTIONS (DROP async_capable);

-- The collections of a rolling set are divided if they are few
CREATE FUNCTION divides(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  plan json;
BEGIN
  EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT JSON) ' || query INTO plan;
  RETURN jsonb_path_query_first(plan::jsonb, 'strict $.**."Round Trips"')::int > 10;
END $$;
CREATE FOREIGN TABLE days (
  ts timestamptz, host text COLLATE "C", v int OPTIONS (field 'm.{minute}')
) SERVER parallel OPTIONS (collection 'days_%Y%m%d');
INSERT INTO days SELECT timestamptz '2024-03-10 12:00Z' + i % 24 * interval '1 hour', 'h' || i / 24, i
  FROM generate_series(0, 4799) i;
SELECT same('SELECT * FROM days WHERE v % 3 = 0');
SELECT same('SELECT host, count(*), sum(v) FROM days WHERE v % 3 = 0 AND ts < ''2024-03-11 03:00Z'' GROUP BY host');
SELECT divides('SELECT count(*) FROM days WHERE v % 3 = 0 AND ts < ''2024-03-11 03:00Z''');
SELECT divides('SELECT count(*) FROM days WHERE host = ''h7'' AND v % 3 = 0');

-- A process that begins again, without pre-aggregates, reads all its parts again
CREATE FOREIGN TABLE totals (
  ts timestamptz, host text COLLATE "C", v int OPTIONS (field 'm.{minute}', sum_field 's')
) SERVER parallel OPTIONS (count_field 'n');
SELECT mongo_ts_command('parallel', json_build_object('insert', 'totals', 'documents',
  (SELECT json_agg(json_build_object('_id', n, 'ts', json_build_object('$date', json_build_object('$numberLong', (1710028800000 + n * 3600000::bigint)::text)),
      'host', 'h' || n % 3, 'm', json_build_object('7', n, '8', 2 * n), 'n', 2))
    FROM generate_series(0, 599) n)))->'n';
SELECT same('SELECT host, count(*), sum(v) FROM totals GROUP BY host');
