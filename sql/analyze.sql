--
-- Tests ANALYZE, and the planner's estimates with and without it.
--
\set suite statistics
\i sql/include/suite.sql

-- Return the planner's estimate of rows.
CREATE FUNCTION expected(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
  plan json;
BEGIN
  EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
  RETURN plan#>'{0,Plan,Plan Rows}';
END $$;
-- Tell whether the estimate is within a factor of three of the actual rows.
CREATE FUNCTION estimate(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  expected float8 = expected(query);
  actual float8;
BEGIN
  EXECUTE format('SELECT count(*) FROM (%s) q', query) INTO actual;
  RETURN CASE WHEN greatest(actual, 1) BETWEEN expected / 3 AND expected * 3 THEN 'ok'
              ELSE format('%s: %s rows expected, %s came', query, expected, actual) END;
END $$;
CREATE FUNCTION instant(t timestamptz) RETURNS json LANGUAGE sql RETURN
  json_build_object('$date', to_char(t, 'YYYY-MM-DD"T"HH24:MI:SS"Z"'));
-- The results of ANALYZE; a document counts as a page.
CREATE VIEW sizes AS
  SELECT relname, relpages AS documents, reltuples AS points FROM pg_class
   WHERE relnamespace = current_schema()::regnamespace AND relkind = 'f';

CREATE FOREIGN TABLE minutes (
  ts    timestamptz,
  type  text,
  value int         OPTIONS (field 'v.{second}')
) SERVER statistics;
CREATE FOREIGN TABLE used (
  ts    timestamptz,
  value int         OPTIONS (field 'v.{second}')
) SERVER statistics OPTIONS (collection 'minutes', filter '{"type": "used"}');
CREATE FOREIGN TABLE hours (
  ts    timestamptz,
  k     int,
  value int         OPTIONS (field 'v.{minute}.{second}')
) SERVER statistics;
CREATE FOREIGN TABLE some_hours (
  ts    timestamptz,
  value int         OPTIONS (field 'v.{minute}.{second}')
) SERVER statistics OPTIONS (collection 'hours', filter '{"k": 1}');
CREATE FOREIGN TABLE events (
  id    int,
  ts    timestamptz,
  k     text
) SERVER statistics;
CREATE FOREIGN TABLE readings (
  ts    timestamptz OPTIONS (field 'p[].t', format 'epoch'),
  k     int,
  value int         OPTIONS (field 'p[].v')
) SERVER statistics OPTIONS (bucket_time_field 'day', bucket_span '1 day',
  bucket_max_points '100');
CREATE FOREIGN TABLE empty (ts timestamptz, value int OPTIONS (field 'v.{second}')) SERVER statistics;

-- 120 full buckets of one type, and 120 buckets of 10 points of another
SELECT json_agg(json_build_object(
    'ts', instant('2020-01-01Z'::timestamptz + i * interval '1 minute'), 'type', type,
    'v', (SELECT json_object_agg(s, CASE WHEN s < 6 THEN NULL ELSE i END) FROM generate_series(0, 59, step) s))) AS documents
  FROM generate_series(0, 119) i, (VALUES ('used', 1), ('free', 6)) types(type, step) \gset
CALL put('minutes', :'documents');
SELECT json_agg(json_build_object(
    'ts', instant('2020-01-01Z'::timestamptz + i * interval '1 hour'), 'k', i % 2,
    'v', (SELECT json_object_agg(m, json_build_object('0', i)) FROM generate_series(0, 9) m))) AS documents
  FROM generate_series(0, 119) i \gset
CALL put('hours', :'documents');
SELECT json_agg(json_build_object(
    'id', i, 'ts', instant('2020-01-01Z'::timestamptz + i * interval '1 second'), 'k', 'k' || i % 4)) AS documents
  FROM generate_series(1, 1000) i \gset
CALL put('events', :'documents');
SELECT json_agg(json_build_object('day', instant('2020-01-01Z'), 'k', i,
    'p', (SELECT json_agg(json_build_object('t', 1577836800 + s * 100 + i, 'v', s)) FROM generate_series(1, 50) s))) AS documents
  FROM generate_series(0, 19) i \gset
CALL put('readings', :'documents');

-- Without ANALYZE ----------------------------------------------------------

-- The estimate is the collection's count times the capacity of a bucket.
SELECT expected('SELECT * FROM minutes') AS minutes, expected('SELECT * FROM used') AS used,
       expected('SELECT * FROM hours') AS hours, expected('SELECT * FROM events') AS events,
       expected('SELECT * FROM readings') AS readings;
-- For an empty collection some rows are expected, and the count is cached for
-- a while.
SELECT expected('SELECT * FROM empty');
CALL put('empty', '[{"ts": {"$date": "2020-01-01T00:00:00Z"}, "v": {"0": 0}}]');
SELECT json_agg(json_build_object('ts', instant('2020-01-01Z'), 'v', '{}'::json)) AS documents FROM generate_series(1, 99) \gset
CALL put('empty', :'documents');
SELECT expected('SELECT * FROM empty');
\c -
SET search_path = statistics, public;
SET TimeZone = 'UTC';
SELECT expected('SELECT * FROM empty');
-- No server listens there, and EXPLAIN requires none.
CREATE SERVER statistics_away FOREIGN DATA WRAPPER mongo_ts_fdw
  OPTIONS (uri 'mongodb://127.0.0.1:1', database 'd');
CREATE FOREIGN TABLE away (ts timestamptz, v int OPTIONS (field 'v.{second}')) SERVER statistics_away;
EXPLAIN (COSTS OFF) SELECT * FROM away;
SELECT expected('SELECT * FROM away');
\set VERBOSITY sqlstate
SELECT * FROM away;
ANALYZE away;
\set VERBOSITY default
DROP SERVER statistics_away CASCADE;

-- With ANALYZE -------------------------------------------------------------

ANALYZE minutes, used, hours, some_hours, events, readings;
SELECT * FROM sizes ORDER BY relname;
SELECT tablename, attname, round(null_frac::numeric, 2) AS null_frac, round(n_distinct::numeric, 2) AS n_distinct,
       avg_width, CASE WHEN attname IN ('type', 'k') THEN most_common_vals::text END AS common
  FROM pg_stats WHERE tablename IN ('minutes', 'readings') AND schemaname = 'statistics' ORDER BY tablename, attname;

CREATE TABLE devices (k int PRIMARY KEY, room text);
INSERT INTO devices SELECT i, 'room ' || i % 5 FROM generate_series(0, 19) i;
ANALYZE devices;
SELECT estimate(query) FROM (VALUES
  ('SELECT * FROM minutes'),
  ('SELECT * FROM minutes WHERE type = ''used'''),
  ('SELECT * FROM minutes WHERE type = ''free'''),
  ('SELECT * FROM minutes WHERE type <> ''free'' AND ts < ''2020-01-01 01:00'''),
  ('SELECT * FROM minutes WHERE ts BETWEEN ''2020-01-01 00:40'' AND ''2020-01-01 00:45'''),
  ('SELECT * FROM minutes WHERE ts >= ''2020-01-01 01:55'''),
  ('SELECT * FROM minutes WHERE ts = ''2020-01-01 01:55:06'''),
  ('SELECT * FROM minutes WHERE ts > ''2020-01-02'''),
  ('SELECT * FROM minutes WHERE value > 100'),
  ('SELECT * FROM minutes WHERE value IS NULL'),
  ('SELECT * FROM used WHERE ts >= ''2020-01-01 01:00'''),
  ('SELECT * FROM hours WHERE ts >= ''2020-01-03'' AND ts < ''2020-01-03 06:00'' AND k = 0'),
  ('SELECT * FROM events WHERE ts < ''2020-01-01 00:01'''),
  ('SELECT * FROM events WHERE k IN (''k1'', ''k3'')'),
  ('SELECT * FROM events WHERE id = 7'),
  ('SELECT * FROM readings WHERE k = 3 AND ts < ''2020-01-01 00:20'''),
  ('SELECT * FROM readings JOIN devices USING (k)'),
  ('SELECT * FROM readings JOIN devices USING (k) WHERE room = ''room 3'''),
  ('SELECT * FROM minutes a JOIN minutes b USING (ts) WHERE a.type = ''used'' AND b.type = ''free'''),
  ('SELECT k, count(*) FROM readings GROUP BY k')) queries(query);
-- Groups by expressions of time, for which PostgreSQL would estimate one group
-- for each time
SELECT estimate(query) FROM (VALUES
  ('SELECT date_trunc(''minute'', ts), max(value) FROM minutes GROUP BY 1'),
  ('SELECT type, date_trunc(''hour'', ts), max(value) FROM minutes GROUP BY 1, 2'),
  ('SELECT date_trunc(''hour'', ts), max(value) FROM hours GROUP BY 1'),
  ('SELECT k, date_trunc(''day'', ts), max(value) FROM hours GROUP BY 1, 2'),
  ('SELECT date_trunc(''year'', ts), max(value) FROM hours GROUP BY 1'),
  ('SELECT date_trunc(''day'', ts), date_trunc(''hour'', ts), max(value) FROM hours GROUP BY 1, 2'),
  ('SELECT floor(extract(epoch FROM ts) / 300) * 300, max(value) FROM readings GROUP BY 1'),
  ('SELECT date_bin(''10 minutes'', ts, ''2020-01-01''), max(value) FROM readings WHERE ts < ''2020-01-01 00:30'' GROUP BY 1'),
  ('SELECT date_trunc(''minute'', ts), max(value) FROM minutes WHERE ts >= ''2020-01-01 01:00'' AND type = ''used'' GROUP BY 1')) queries(query);

-- A small statistics target: few documents are sampled, and few points kept.
SET default_statistics_target = 1;
ANALYZE hours, some_hours, events;
SELECT * FROM sizes WHERE relname IN ('hours', 'some_hours', 'events') ORDER BY relname;
SELECT tablename, attname, n_distinct FROM pg_stats
 WHERE (tablename, attname) IN (('events', 'id'), ('events', 'k'), ('hours', 'k')) ORDER BY 1, 2;
SELECT estimate('SELECT * FROM events WHERE k = ''k1'''),
       estimate('SELECT * FROM hours WHERE k = 1');
RESET default_statistics_target;

-- Some columns only
ANALYZE events;
SELECT count(*) FROM pg_stats WHERE tablename = 'events';
DROP FOREIGN TABLE events;
CREATE FOREIGN TABLE events (id int, ts timestamptz, k text) SERVER statistics;
ANALYZE events (k);
SELECT attname FROM pg_stats WHERE tablename = 'events';

-- A collection that doesn't exist, and one without documents
CREATE FOREIGN TABLE absent (ts timestamptz, value int OPTIONS (field 'v.{second}')) SERVER statistics;
ANALYZE absent;
SELECT * FROM sizes WHERE relname = 'absent';
SELECT expected('SELECT * FROM absent');
TRUNCATE empty;
-- FerretDB counts documents by statistics that are up to ten seconds old.
DO $$
BEGIN
  FOR i IN 1 .. 150 LOOP
    ANALYZE empty;
    EXIT WHEN (SELECT documents FROM sizes WHERE relname = 'empty') = 0;
    PERFORM pg_sleep(0.1);
  END LOOP;
END $$;
SELECT * FROM sizes WHERE relname = 'empty';

-- Invalid documents
CREATE FOREIGN TABLE strict (ts timestamptz, value int OPTIONS (field 'v.{second}')) SERVER statistics
  OPTIONS (collection 'invalid');
CREATE FOREIGN TABLE lenient (ts timestamptz, value int OPTIONS (field 'v.{second}')) SERVER statistics
  OPTIONS (collection 'invalid', on_invalid 'skip');
CALL put('invalid', '[{"_id": 1, "ts": {"$date": "2020-01-01T00:00:00Z"}, "v": {"0": 1, "1": "x", "2": 3}},
                      {"_id": 2, "ts": 5, "v": {"0": 1}}]');
\set SHOW_CONTEXT always
ANALYZE strict;
ANALYZE lenient;
\set SHOW_CONTEXT errors
SELECT * FROM sizes WHERE relname IN ('strict', 'lenient') ORDER BY relname;
SELECT most_common_vals, histogram_bounds FROM pg_stats WHERE tablename = 'lenient' AND attname = 'value';

-- Partitions
CREATE TABLE parted (ts timestamptz, k int, value int) PARTITION BY RANGE (ts);
CREATE FOREIGN TABLE early (ts timestamptz, k int, value int OPTIONS (field 'v.{minute}.{second}'))
  SERVER statistics OPTIONS (collection 'hours', filter '{"ts": {"$lt": {"$date": "2020-01-03T00:00:00Z"}}}');
CREATE FOREIGN TABLE late (ts timestamptz, k int, value int OPTIONS (field 'v.{minute}.{second}'))
  SERVER statistics OPTIONS (collection 'hours', filter '{"ts": {"$gte": {"$date": "2020-01-03T00:00:00Z"}}}');
ALTER TABLE parted ATTACH PARTITION early FOR VALUES FROM (MINVALUE) TO ('2020-01-03');
ALTER TABLE parted ATTACH PARTITION late FOR VALUES FROM ('2020-01-03') TO (MAXVALUE);
ANALYZE parted;
SELECT * FROM sizes WHERE relname IN ('early', 'late') ORDER BY relname;
SELECT attname, n_distinct FROM pg_stats WHERE tablename = 'parted' AND inherited ORDER BY attname;
SELECT estimate('SELECT * FROM parted WHERE k = 1 AND ts >= ''2020-01-04''');

SELECT mongo_ts_command('statistics', '{"dropDatabase": 1}')->'ok' AS dropped;
