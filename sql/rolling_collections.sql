--
-- Tests rolling sets: collections by time, which are created and dropped.
--
\set suite rolling_collections
\i sql/include/suite.sql

-- The names of the existing collections
CREATE FUNCTION collections(prefix text) RETURNS text LANGUAGE sql AS $$
  SELECT string_agg(name, ' ' ORDER BY name COLLATE "C") FROM (
    SELECT c->>'name' FROM jsonb_path_query(mongo_ts_command('rolling_collections',
      '{"listCollections": 1, "nameOnly": true}'), '$.cursor.firstBatch[*]') c) _ (name)
   WHERE starts_with(name, prefix)
$$;
-- The indexes of a collection
CREATE FUNCTION indexes(collection text) RETURNS SETOF text LANGUAGE sql AS $$
  SELECT (i->>'name') || CASE WHEN i ? 'unique' THEN ' unique' ELSE '' END
    FROM jsonb_path_query(mongo_ts_command('rolling_collections',
      json_build_object('listIndexes', collection)), '$.cursor.firstBatch[*]') i
$$;
CREATE FUNCTION json_plan(query text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  plan json;
BEGIN
  EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || query INTO plan;
  RETURN plan->0->'Plan';
END $$;
CREATE FUNCTION drop_collection(name text) RETURNS bool LANGUAGE sql AS $$
  SELECT mongo_ts_command('rolling_collections', json_build_object('drop', name)) IS NOT NULL
$$;

-- Patterns: placeholders from the year down, each once
\pset format unaligned
\pset tuples_only on
SELECT try(format('CREATE FOREIGN TABLE t (ts timestamptz) SERVER rolling_collections OPTIONS (collection %L)', pattern))
  FROM (VALUES ('m_%Y'), ('m_%Y%m'), ('%d.%m.%Y'), ('%H_%Y-%m-%d'), ('100%%'), ('%'), ('m_%y'), ('m_%m'),
    ('m_%Y%d'), ('m_%Y%m%H'), ('m_%Y%m%Y'), ('')) _ (pattern);
CREATE FOREIGN TABLE no_time (a int) SERVER rolling_collections OPTIONS (collection 'm_%Y');
CREATE FOREIGN TABLE no_bucket_time (ts timestamptz OPTIONS (field 'p[].t'), v int OPTIONS (field 'p[].v'))
  SERVER rolling_collections OPTIONS (collection 'm_%Y');
SELECT try('SELECT * FROM no_time');
SELECT try('SELECT * FROM no_bucket_time');

-- %%, or a percent sign in the table's name, is not a placeholder
CREATE FOREIGN TABLE plain (a int) SERVER rolling_collections OPTIONS (collection '100%%Y');
CREATE FOREIGN TABLE "50%Y" (a int) SERVER rolling_collections;
CALL put('100%Y', '[{"a": 1}]');
CALL put('50%Y', '[{"a": 2}]');
SELECT * FROM plain, "50%Y";
EXPLAIN (COSTS OFF) SELECT * FROM plain;

-- A set without a collection
CREATE FOREIGN TABLE metrics (
  ts   timestamptz,
  host text COLLATE "C",
  v    float8 OPTIONS (field 'v.{minute}', sum_field 'total')
) SERVER rolling_collections OPTIONS (collection 'metrics_%Y%m%d', count_field 'n');
SELECT * FROM metrics;
SELECT count(*), sum(v) FROM metrics;
SELECT plan('SELECT * FROM metrics');
SELECT mongo_ts_create_index('metrics');
DELETE FROM metrics;
TRUNCATE metrics;
ANALYZE metrics;
SELECT collections('metrics');

-- INSERT chooses the collection by the bucket's time, and creates missing ones
-- with their index
INSERT INTO metrics SELECT timestamptz '2013-10-08 22:00Z' + i * interval '17 minutes', 'h' || i % 3, i
  FROM generate_series(0, 255) i;
SELECT collections('metrics');
SELECT indexes('metrics_20131010');
SELECT count(*), sum(v), min(ts), max(ts) FROM metrics;
CALL put('metrics_', '[{"a": 1}]');
CALL put('metrics_20131032', '[{"a": 1}]');
CALL put('metrics_2013101', '[{"a": 1}]');
CALL put('metrics_20131010_old', '[{"a": 1}]');
SELECT count(*) FROM (SELECT * FROM metrics OFFSET 0) _;

-- The range of time selects the collections, and the one before, whose last
-- bucket may extend into the range
SELECT plan('SELECT * FROM metrics');
SELECT plan('SELECT * FROM metrics WHERE ts >= ''2013-10-10 01:00Z'' AND ts < ''2013-10-11''');
SELECT plan('SELECT * FROM metrics WHERE ts = ''2013-10-10''');
SELECT plan('SELECT * FROM metrics WHERE ts < ''2013-10-09'' OR ts > ''2013-10-11 12:00Z''');
SELECT plan('SELECT * FROM metrics WHERE ts IN (''2013-10-09 12:00Z'', ''2013-10-11 12:00Z'')');
SELECT plan('SELECT * FROM metrics WHERE ts > ''2014-01-01''');
SELECT plan('SELECT * FROM metrics WHERE ts > ''infinity''');
SELECT plan->'Collections', plan->'Collections in Set'
  FROM json_plan('SELECT * FROM metrics WHERE ts < ''2013-10-10''') plan;
SELECT count(*) FROM metrics WHERE ts >= '2013-10-10' AND ts < '2013-10-11';
SELECT plan('SELECT * FROM metrics WHERE ts >= ''2013-10-10 01:00Z'' AND ts < ''2013-10-11''',
  ', ANALYZE');

-- Parameters: the collections shown by EXPLAIN
PREPARE since(timestamptz) AS SELECT count(*) FROM metrics WHERE ts >= $1 AND v >= 0;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE since('2013-10-11 12:00Z');
EXECUTE since('2013-10-11 12:00Z');
EXECUTE since('2013-10-10 12:00Z');
DEALLOCATE since;
RESET plan_cache_mode;
SELECT plan('SELECT * FROM metrics WHERE ts > (SELECT timestamptz ''2013-10-10'')');

-- More names than EXPLAIN lists in a line
CREATE FOREIGN TABLE hours (
  ts timestamptz,
  v  int OPTIONS (field 'v.{minute}')
) SERVER rolling_collections OPTIONS (collection 'hours.%Y.%m.%d.%H');
INSERT INTO hours SELECT timestamptz '2013-10-10 08:30Z' + i * interval '1 hour', i FROM generate_series(0, 11) i;
SELECT plan('SELECT * FROM hours WHERE ts > ''2013-10-10 10:00Z''');
SELECT plan('SELECT * FROM hours WHERE ts > ''2013-10-10 10:00Z''', ', VERBOSE');
SELECT indexes('hours.2013.10.10.11');

-- Order by time, forwards and backwards, reads no more collections than
-- required
SELECT plan('SELECT * FROM metrics ORDER BY ts DESC LIMIT 2', ', ANALYZE');
-- the server chooses the order of buckets with one time, and so the bytes read
SELECT regexp_replace(plan, 'Received: \d+', 'Received: some')
  FROM plan('SELECT * FROM metrics ORDER BY ts LIMIT 8', ', ANALYZE');
SELECT * FROM metrics ORDER BY ts DESC LIMIT 2;
SELECT * FROM metrics WHERE ts < '2013-10-09 00:30Z' ORDER BY ts DESC, host LIMIT 3;
SELECT count(*) FROM (SELECT ts < lag(ts) OVER () AS wrong FROM (SELECT ts FROM metrics ORDER BY ts) _) _ WHERE wrong;
SELECT count(*) FROM (SELECT ts > lag(ts) OVER () AS wrong FROM (SELECT ts FROM metrics ORDER BY ts DESC) _) _ WHERE wrong;
SELECT plan('SELECT * FROM metrics ORDER BY host, ts LIMIT 1');
SELECT plan('SELECT * FROM metrics WHERE host = ''h1'' ORDER BY host, ts LIMIT 1');
SELECT plan('SELECT DISTINCT ON (host) host, ts, v FROM metrics ORDER BY host, ts DESC');
SELECT DISTINCT ON (host) host, ts, v FROM metrics ORDER BY host, ts DESC;

-- Aggregates: headers, and buckets at the edges, which are read from their own
-- collection, since others may have the same _id
SELECT plan('SELECT host, count(*), sum(v) FROM metrics WHERE ts >= ''2013-10-09 01:30Z'' AND ts < ''2013-10-11 20:30Z'' GROUP BY host',
  ', ANALYZE');
SELECT host, count(*), sum(v) FROM metrics
 WHERE ts >= '2013-10-09 01:30Z' AND ts < '2013-10-11 20:30Z' GROUP BY host ORDER BY host;
SELECT host, count(*), sum(v) FROM (SELECT * FROM metrics OFFSET 0) _
 WHERE ts >= '2013-10-09 01:30Z' AND ts < '2013-10-11 20:30Z' GROUP BY host ORDER BY host;
SELECT date_trunc('day', ts), count(*), sum(v), max(v) FROM metrics GROUP BY 1 ORDER BY 1;

CREATE FOREIGN TABLE same_id (
  id int OPTIONS (field '_id'),
  ts timestamptz,
  v  float8 OPTIONS (field 'v.{minute}', sum_field 'total')
) SERVER rolling_collections OPTIONS (collection 'same_%d.%m.%Y', count_field 'n');
CALL put('same_01.03.2020', '[
  {"_id": 1, "ts": {"$date": "2020-03-01T00:00:00Z"}, "v": {"0": 1, "30": 2}, "n": 2, "total": 3},
  {"_id": 2, "ts": {"$date": "2020-03-01T01:00:00Z"}, "v": {"0": 4}, "n": 1, "total": 4}]');
CALL put('same_02.03.2020', '[
  {"_id": 1, "ts": {"$date": "2020-03-02T00:00:00Z"}, "v": {"0": 10, "30": 20}, "n": 2, "total": 30},
  {"_id": 2, "ts": {"$date": "2020-03-02T01:00:00Z"}, "v": {"0": 40}, "n": 1, "total": 40}]');
CALL put('same_03.03.2020', '[
  {"_id": 1, "ts": {"$date": "2020-03-03T00:00:00Z"}, "v": {"0": 100, "30": 200}, "n": 2, "total": 300}]');
SELECT sum(v) FROM same_id WHERE ts >= '2020-03-01 00:30Z' AND ts < '2020-03-03 00:30Z';
SELECT date_trunc('hour', ts + interval '30 minutes'), sum(v) FROM same_id GROUP BY 1 ORDER BY 1;

-- Joins: each loop selects collections; they are listed once
CREATE TABLE incident (at timestamptz);
INSERT INTO incident VALUES ('2013-10-09 12:00Z'), ('2013-10-11 12:00Z'), ('2014-01-01');
ANALYZE incident;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SELECT plan('SELECT * FROM incident i JOIN metrics m ON m.ts BETWEEN i.at - interval ''20 minutes'' AND i.at + interval ''20 minutes''',
  ', ANALYZE');
SELECT plan('SELECT * FROM incident i JOIN metrics m ON m.ts BETWEEN i.at AND i.at + interval ''20 minutes''');
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;

-- Workers take collections
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SELECT plan('SELECT * FROM metrics WHERE ts > ''2013-10-10'' AND v > 3');
SELECT count(*), sum(v) FROM (SELECT * FROM metrics WHERE ts > '2013-10-10' AND v > 3 OFFSET 0) _;
SELECT count(*), sum(v) FROM metrics WHERE ts > '2013-10-10' AND v > 3;
SET max_parallel_workers_per_gather = 0;
SELECT count(*), sum(v) FROM metrics WHERE ts > '2013-10-10' AND v > 3;
RESET max_parallel_workers_per_gather;
-- Workers' parts are made once; parameters that match nothing come first
SELECT (SELECT count(v) FROM metrics WHERE ts > (SELECT p.at))
  FROM (VALUES (NULL::timestamptz), ('2013-10-10')) p (at);
RESET min_parallel_table_scan_size;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;

-- ANALYZE samples each collection by its share of documents
ANALYZE metrics;
SELECT reltuples, relpages FROM pg_class WHERE oid = 'metrics'::regclass;
SET default_statistics_target = 1;
ANALYZE metrics;
SELECT reltuples BETWEEN 200 AND 300 FROM pg_class WHERE oid = 'metrics'::regclass;
RESET default_statistics_target;

-- A collection dropped during a query is empty
BEGIN;
DECLARE c CURSOR FOR SELECT v, ts FROM metrics WHERE v IN (0, 1, 7, 8, 50, 100, 150, 200, 250) ORDER BY ts;
FETCH 2 FROM c;
SELECT drop_collection('metrics_20131009'), drop_collection('metrics_20131011');
FETCH ALL FROM c;
COMMIT;
SELECT date_trunc('day', ts), count(*) FROM metrics GROUP BY 1 ORDER BY 1;
SELECT plan('SELECT * FROM metrics');

-- A bucket in the wrong collection is invalid: a range would not find it there
CALL put('metrics_20131010', '[{"_id": "stray", "ts": {"$date": "2013-10-09T23:00:00Z"}, "host": "x", "v": {"0": 1}, "n": 1, "total": 1}]');
SELECT * FROM metrics WHERE host = 'x';
SELECT sum(v) FROM metrics WHERE host = 'x';
SELECT sum(v) FROM metrics WHERE ts >= '2013-10-10 01:00Z' AND ts < '2013-10-11';
ALTER FOREIGN TABLE metrics OPTIONS (ADD on_invalid 'skip');
SELECT * FROM metrics WHERE host = 'x';
SELECT count(*) FROM metrics;
ALTER FOREIGN TABLE metrics OPTIONS (DROP on_invalid);
SELECT mongo_ts_command('rolling_collections', '{"delete": "metrics_20131010", "deletes": [{"q": {"_id": "stray"}, "limit": 1}]}')->'n';

-- UPDATE moves points to other collections
UPDATE metrics SET ts = ts + interval '1 day' WHERE host = 'h1' AND ts >= '2013-10-10 23:00Z' AND ts < '2013-10-11' RETURNING *;
SELECT collections('metrics_20');
SELECT * FROM metrics WHERE ts >= '2013-10-11';
UPDATE metrics SET ts = '2013-10-08 22:00Z' WHERE ts >= '2013-10-11';
UPDATE metrics SET v = -v WHERE host = 'h2' AND (ts < '2013-10-08 23:00Z' OR ts >= '2013-10-10 23:30Z') RETURNING *;
UPDATE same_id SET v = v + 1000 WHERE id = 1 AND extract(minute FROM ts) = 30;
SELECT * FROM same_id ORDER BY ts;

-- DELETE of a range: one command for each collection
SELECT plan('DELETE FROM metrics WHERE ts >= ''2013-10-08 22:30Z'' AND ts < ''2013-10-10 02:30Z''');
SELECT plan('DELETE FROM metrics WHERE ts > ''2020-01-01''');
DELETE FROM metrics WHERE ts >= '2013-10-08 22:30Z' AND ts < '2013-10-10 02:30Z';
SELECT count(*), min(ts), max(ts) FROM metrics WHERE ts > '2013-10-08 22:30Z';
DELETE FROM same_id WHERE v > 100 RETURNING *;
SELECT * FROM same_id ORDER BY ts;

-- ON CONFLICT DO NOTHING
INSERT INTO metrics VALUES ('2013-10-12 00:00Z', 'a', 1), ('2013-10-13 00:00Z', 'a', 1), ('2013-10-12 00:00Z', 'a', 2)
  ON CONFLICT DO NOTHING RETURNING *;

-- A statement doesn't read what it inserts
INSERT INTO metrics SELECT ts + interval '1 day', 'copy', v FROM metrics WHERE ts >= '2013-10-12';
SELECT * FROM metrics WHERE ts >= '2013-10-12' ORDER BY ts, host;
CREATE FOREIGN TABLE one_day (
  ts   timestamptz,
  host text COLLATE "C",
  v    float8 OPTIONS (field 'v.{minute}', sum_field 'total')
) SERVER rolling_collections OPTIONS (collection 'metrics_20131014', count_field 'n');
INSERT INTO metrics SELECT ts + interval '1 hour', host, v FROM one_day;
SELECT * FROM one_day;
SELECT try('INSERT INTO metrics SELECT * FROM one_day ON CONFLICT DO NOTHING');

-- Errors name the collection
SELECT try('INSERT INTO metrics VALUES (''12013-10-12 00:00Z'', ''a'', 1)');
CALL put('hours.2013.10.20.00', '[{"_id": 1, "ts": {"$date": "2013-10-20T00:00:00Z"}, "v": 5}]');
SELECT try('INSERT INTO hours VALUES (''2013-10-19 00:00Z'', 1), (''2013-10-20 00:00Z'', 2), (''2013-10-20 01:00Z'', 3)');
SELECT * FROM hours WHERE ts >= '2013-10-20';
SELECT * FROM hours WHERE ts >= '2013-10-12' AND ts < '2013-10-19 22:00Z';

-- Indexes, preallocation and TRUNCATE of all collections
SELECT mongo_ts_create_index('same_id'), collections('same');
SELECT indexes('same_01.03.2020');
CREATE FOREIGN TABLE shells (
  ts timestamptz,
  v  int OPTIONS (field 'v.{hour}', missing_value '-1')
) SERVER rolling_collections OPTIONS (collection 'shells_%Y%m');
SELECT mongo_ts_preallocate('shells', '2020-01-30', '2020-02-03');
SELECT collections('shells'), indexes('shells_202002');
SELECT mongo_ts_preallocate('shells', '2020-01-30', '2020-02-03');
SELECT count(*) FROM shells;
INSERT INTO shells VALUES ('2020-02-02 05:00Z', 7);
SELECT * FROM shells;
TRUNCATE metrics;
SELECT count(*), collections('metrics_20') FROM metrics;

-- Documents as rows: one without a time may be in any collection
CREATE FOREIGN TABLE events (ts timestamptz, kind text, v int) SERVER rolling_collections OPTIONS (collection 'events_%Y%m');
INSERT INTO events VALUES ('2020-01-31 23:59Z', 'a', 1), ('2020-02-01 00:00Z', 'b', 2), ('2020-03-01', 'c', 3);
SELECT collections('events'), indexes('events_202002');
CALL put('events_202002', '[{"kind": "timeless", "v": 9}]');
SELECT * FROM events ORDER BY ts;
SELECT * FROM events ORDER BY ts DESC;
SELECT * FROM events ORDER BY ts NULLS FIRST;
SELECT * FROM events ORDER BY ts DESC NULLS LAST;
SELECT plan('SELECT * FROM events ORDER BY ts');
SELECT plan('SELECT * FROM events ORDER BY ts DESC NULLS LAST');
SELECT plan('SELECT * FROM events WHERE ts > ''2020-01-15'' ORDER BY ts DESC');
SELECT count(*) FROM events WHERE ts IS NULL;
UPDATE events SET ts = ts + interval '1 second' WHERE kind = 'b' RETURNING *;
SELECT try('UPDATE events SET ts = ts + interval ''1 month'' WHERE kind = ''b''');
SELECT try('UPDATE events SET ts = ''2020-01-01'' WHERE kind = ''timeless''');
UPDATE events SET ts = '2020-02-29' WHERE kind = 'timeless' RETURNING *;
SELECT try('INSERT INTO events VALUES (NULL, ''d'', 4)');
DELETE FROM events WHERE v >= 2;
SELECT * FROM events;
CALL put('events_202002', '[{"_id": 7, "ts": {"$date": "2020-03-01T00:00:00Z"}, "kind": "stray"}]');
SELECT kind FROM events;
SELECT count(*) FROM events;

-- Local time: a repeated hour is one collection
CREATE FOREIGN TABLE local (
  ts timestamptz,
  v  int OPTIONS (field 'v.{second}')
) SERVER rolling_collections OPTIONS (collection 'local_%Y%m%d_%H', bucket_time_zone 'America/New_York');
INSERT INTO local SELECT timestamptz '2013-11-03 04:30Z' + i * interval '30 minutes', i FROM generate_series(0, 7) i;
SELECT collections('local');
SELECT plan('SELECT * FROM local WHERE ts >= ''2013-11-03 05:45Z'' AND ts < ''2013-11-03 06:15Z''');
SELECT * FROM local WHERE ts >= '2013-11-03 05:15Z' AND ts < '2013-11-03 06:45Z' ORDER BY v;
SELECT * FROM local ORDER BY ts DESC LIMIT 5;

-- Days that are partly repeated: collections overlap, and the order is kept
CREATE FOREIGN TABLE casey (
  ts timestamptz,
  v  int OPTIONS (field 'v.{second}')
) SERVER rolling_collections OPTIONS (collection 'casey_%Y%m%d', bucket_time_zone 'Antarctica/Casey');
INSERT INTO casey SELECT timestamptz '2010-03-04 12:30Z' + i * interval '30 minutes', i FROM generate_series(0, 11) i;
SELECT collections('casey');
SELECT string_agg(v::text, ' ') FROM (SELECT v FROM casey ORDER BY ts) _;
SELECT string_agg(v::text, ' ') FROM (SELECT v FROM casey ORDER BY ts DESC) _;
SELECT string_agg(v::text, ' ' ORDER BY v) FROM casey WHERE ts >= '2010-03-04 14:45Z' AND ts < '2010-03-04 16:15Z';

-- Buckets longer than a period: the bucket's time decides.  Points of the next
-- collection may precede those of a bucket with late bounds.
CREATE FOREIGN TABLE long (
  ts timestamptz OPTIONS (field 'p[].t'),
  v  int         OPTIONS (field 'p[].v')
) SERVER rolling_collections OPTIONS (collection 'long_%Y%m%d', bucket_time_field 'start', bucket_span '7 days',
  bucket_first_field 'first', bucket_last_field 'last');
INSERT INTO long SELECT timestamptz '2020-01-01' + i * interval '10 hours', i FROM generate_series(0, 40) i;
CALL put('long_20200110', '[{"start": {"$date": "2020-01-10T00:00:00Z"}, "first": {"$date": "2020-01-10T01:00:00Z"},
  "last": {"$date": "2020-01-16T01:00:00Z"}, "p": [{"t": {"$date": "2020-01-16T01:00:00Z"}, "v": 100}, {"t": {"$date": "2020-01-10T01:00:00Z"}, "v": 200}]}]');
CALL put('long_20200108', '[{"start": {"$date": "2020-01-08T00:00:00Z"}, "first": {"$date": "2020-01-12T00:00:00Z"},
  "last": {"$date": "2020-01-14T01:00:00Z"}, "p": [{"t": {"$date": "2020-01-12T00:00:00Z"}, "v": 300}, {"t": {"$date": "2020-01-14T01:00:00Z"}, "v": 400}]}]');
CALL put('long_20200112', '[{"start": {"$date": "2020-01-12T00:00:00Z"}, "first": {"$date": "2020-01-12T05:00:00Z"},
  "last": {"$date": "2020-01-12T05:00:00Z"}, "p": [{"t": {"$date": "2020-01-12T05:00:00Z"}, "v": 500}]}]');
SELECT collections('long');
SELECT plan('SELECT * FROM long WHERE ts > ''2020-01-12''');
SELECT string_agg(v::text, ' ') FROM (SELECT v FROM long WHERE ts > '2020-01-09' ORDER BY ts) _;
SELECT string_agg(v::text, ' ') FROM (SELECT v FROM long WHERE ts > '2020-01-09' ORDER BY ts DESC) _;

-- One foreign table for each collection, as partitions of a table
CREATE TABLE parts (ts timestamptz, host text, v float8) PARTITION BY RANGE (ts);
CREATE PROCEDURE add_day(day date) LANGUAGE plpgsql AS $$
DECLARE
  name text = 'parts_' || to_char(day, 'YYYYMMDD');
BEGIN
  EXECUTE format($f$
    CREATE FOREIGN TABLE %1$I (ts timestamptz, host text, v float8 OPTIONS (field 'v.{minute}')) SERVER rolling_collections;
    ALTER TABLE parts ATTACH PARTITION %1$I FOR VALUES FROM (%2$L) TO (%3$L);
    SELECT mongo_ts_create_index(%1$L)$f$, name, day, day + 1);
END $$;
CALL add_day('2013-10-09');
CALL add_day('2013-10-10');
CALL add_day('2013-10-11');
INSERT INTO parts SELECT timestamptz '2013-10-09 00:00Z' + i * interval '7 hours', 'h', i FROM generate_series(0, 9) i;
SELECT collections('parts');
SELECT plan('SELECT * FROM parts WHERE ts >= ''2013-10-10'' AND ts < ''2013-10-11''');
SELECT * FROM parts WHERE ts >= '2013-10-10' AND ts < '2013-10-11' ORDER BY ts;
SELECT plan('SELECT * FROM parts ORDER BY ts DESC LIMIT 1');
CREATE FOREIGN TABLE parts_set (ts timestamptz, host text, v float8 OPTIONS (field 'v.{minute}'))
  SERVER rolling_collections OPTIONS (collection 'parts_%Y%m%d');
SELECT count(*), (SELECT count(*) FROM parts_set) FROM parts;
DROP FOREIGN TABLE parts_20131009;
SELECT drop_collection('parts_20131009');
SELECT count(*), (SELECT count(*) FROM parts_set) FROM parts;

-- A collection without a document has no buckets to look up.
CREATE FOREIGN TABLE load (hour timestamptz, sensor text, v float8 OPTIONS (field 'v.{minute}'))
  SERVER rolling_collections OPTIONS (collection 'load_%Y_%m');
CALL put('load_2024_01', '[{"sensor": "a", "hour": {"$date": "2024-01-01T00:00:00Z"}, "v": {"0": 1, "59": 2}}]');
CALL put('load_2024_02', '[{"sensor": "a", "hour": {"$date": "2024-02-01T00:00:00Z"}, "v": {"0": 1, "59": 2}}]');
SELECT mongo_ts_command('rolling_collections', '{"create": "load_2024_03"}')->'ok' AS created;
SELECT sum((mongo_ts_command('rolling_collections', json_build_object('createIndexes', 'load_2024_0' || i,
    'indexes', '[{"key": {"sensor": 1, "hour": 1}, "name": "buckets"}]'::json))->>'ok')::float8) AS indexed
  FROM generate_series(1, 3) i;
SELECT problem, field FROM mongo_ts_check('load');

-- With a server that can't be reached
CREATE SERVER away FOREIGN DATA WRAPPER mongo_ts_fdw OPTIONS (uri 'mongodb://127.0.0.1:1', database 'none');
CREATE FOREIGN TABLE away (ts timestamptz, v int OPTIONS (field 'v.{minute}')) SERVER away OPTIONS (collection 'away_%Y');
SELECT plan('SELECT * FROM away WHERE ts > ''2020-01-01''');
