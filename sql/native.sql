--
-- Tests that native time-series collections are read by their buckets, with the
-- same rows as by their view.  Servers where they are ordinary collections end
-- this test early (native_1.out); test/matrix omits it with MongoDB 4.4.
--
\set suite native
\i sql/include/suite.sql
\pset format unaligned

-- Create a time-series collection.
CREATE FUNCTION create_series(name text, options json) RETURNS text
RETURN mongo_ts_command('native', json_build_object('create', name, 'timeseries', options))->>'ok';
SELECT create_series('points', '{"timeField": "ts", "metaField": "meta"}');
SELECT mongo_ts_command('native', '{"listCollections": 1, "filter": {"name": "points"}}')
  ->'cursor'->'firstBatch'->0->>'type' = 'timeseries' AS is_native \gset
\if :is_native
\else
  \quit
\endif

CREATE FOREIGN TABLE points (
  ts     timestamptz,
  site   text   OPTIONS (field 'meta.site'),
  sensor int    OPTIONS (field 'meta.sensor'),
  v      float8,
  n      bigint,
  label  text,
  deep   int    OPTIONS (field 'o.a')
) SERVER native;
CREATE FOREIGN TABLE seen (
  ts     timestamptz,
  site   text   OPTIONS (field 'meta.site'),
  sensor int    OPTIONS (field 'meta.sensor'),
  v      float8,
  n      bigint,
  label  text,
  deep   int    OPTIONS (field 'o.a')
) SERVER native OPTIONS (collection 'points', native_buckets 'off');

-- Run a query with the rows of the buckets and with those of the view.  Shows
-- their number and the differences. @ stands for the table.
CREATE FUNCTION same(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  n int;
  lost text;
  extra text;
BEGIN
  EXECUTE format($q$WITH b AS MATERIALIZED (%s), v AS MATERIALIZED (%s)
    SELECT (SELECT count(*) FROM v), (SELECT string_agg(x::text, ' ') FROM (TABLE v EXCEPT ALL TABLE b) x),
           (SELECT string_agg(x::text, ' ') FROM (TABLE b EXCEPT ALL TABLE v) x)$q$,
    replace(query, '@', 'points'), replace(query, '@', 'seen')) INTO n, lost, extra;
  RETURN n || ' rows' || coalesce(', lost: ' || lost, '') || coalesce(', extra: ' || extra, '');
END $$;

-- Rows of the view and of the buckets ----------------------------------------

CALL put('points', '[
  {"ts": {"$date": "2024-01-01T00:00:00Z"}, "meta": {"site": "a", "sensor": 1}, "v": 1.5, "n": 1, "label": "x", "o": {"a": 7}},
  {"ts": {"$date": "2024-01-01T00:59:59.999Z"}, "meta": {"sensor": 1, "site": "a"}, "v": -2, "label": null},
  {"ts": {"$date": "2024-01-01T00:30:00Z"}, "meta": {"site": "a", "sensor": 2}, "n": {"$numberLong": "9223372036854775807"}, "o": {"a": null}},
  {"ts": {"$date": "2024-01-01T01:00:00Z"}, "meta": {"site": "b"}, "v": {"$numberDouble": "NaN"}},
  {"ts": {"$date": "2024-01-01T01:00:30Z"}, "meta": null, "v": 3, "o": {}},
  {"ts": {"$date": "2024-01-01T01:00:30Z"}, "v": 4, "unknown": 5}]');
EXPLAIN (COSTS OFF) SELECT * FROM points;
EXPLAIN (COSTS OFF) SELECT * FROM seen;
SELECT * FROM points ORDER BY ts, v;
SELECT same('SELECT * FROM @');
EXPLAIN (COSTS OFF) SELECT v FROM points
 WHERE site = 'a' AND v > 1 AND ts >= '2024-01-01 00:30Z' AND ts < '2024-01-01 01:00Z';
SELECT same(query) FROM (VALUES
  ('SELECT v FROM @ WHERE site = ''a'' AND v > 1 AND ts >= ''2024-01-01 00:00Z'' AND ts < ''2024-01-01 01:00Z'''),
  ('SELECT ts FROM @ WHERE sensor IS NULL'),
  ('SELECT ts, v FROM @ WHERE site IS NOT NULL AND v IS NULL'),
  ('SELECT ts FROM @ WHERE ts IN (''2024-01-01 00:30Z'', ''2024-01-01 01:00:30Z'')'),
  ('SELECT count(*) FROM @'),
  ('SELECT site, count(*), count(v), min(n), max(n), avg(v) FROM @ GROUP BY site'),
  ('SELECT date_trunc(''hour'', ts), min(v), max(v), sum(n) FROM @ GROUP BY 1'),
  ('SELECT DISTINCT site FROM @'),
  ('(SELECT * FROM @ WHERE site = ''a'' ORDER BY ts DESC LIMIT 1)'),
  ('SELECT DISTINCT ON (sensor) sensor, ts FROM @ ORDER BY sensor, ts DESC'),
  ('SELECT a.ts FROM @ a JOIN @ b USING (site, ts)')) AS queries (query);
ANALYZE points;
SELECT same('SELECT * FROM @');

-- Buckets that are closed, which MongoDB compresses since 5.2 -------------------

INSERT INTO points
  SELECT timestamptz '2024-02-01Z' + i * interval '7 seconds', 's' || i % 3, NULLIF(i % 4, 0), (i * 37 % 1000) / 8.0,
         CASE WHEN i % 5 > 0 THEN i END, CASE WHEN i / 600 % 2 = 0 THEN 'l' || i % 10 END, NULL
    FROM generate_series(0, 2999) i;
-- an earlier time, and another type
CALL put('points', '[
  {"ts": {"$date": "2024-02-01T00:00:01Z"}, "meta": {"site": "s0"}, "v": -1},
  {"ts": {"$date": "2024-02-01T01:00:01Z"}, "meta": {"site": "s0"}, "v": {"$numberLong": "9007199254740992"}}]');
SELECT same(query) FROM (VALUES
  ('SELECT * FROM @'),
  ('SELECT ts, n FROM @ WHERE ts >= ''2024-02-01 01:00:00Z'' AND ts < ''2024-02-01 02:10:00Z'' AND site = ''s1'''),
  ('SELECT ts, label FROM @ WHERE v > 100 AND label IS NOT NULL'),
  ('SELECT site, date_trunc(''hour'', ts), count(*), count(n), min(v), max(v), sum(n) FROM @ GROUP BY 1, 2'),
  ('(SELECT ts, n FROM @ WHERE n IS NOT NULL ORDER BY ts DESC, n LIMIT 700)'),
  ('SELECT DISTINCT ON (site) site, ts FROM @ ORDER BY site, ts DESC')) AS queries (query);
-- a field that all points of a bucket lack
SELECT create_series('halves', '{"timeField": "ts", "metaField": "k"}');
CREATE FOREIGN TABLE halves (ts timestamptz, k int, v float8, x float8) SERVER native;
INSERT INTO halves SELECT timestamptz '2024-01-01Z' + i * interval '2 min', i % 2, CASE i % 2 WHEN 0 THEN i END, CASE i % 2 WHEN 1 THEN i END
  FROM generate_series(0, 299) i;
SELECT count(v), count(x), sum(v), sum(x) FROM halves;
SELECT count(*) FROM (SELECT v, x FROM halves OFFSET 0) AS points WHERE num_nonnulls(v, x) <> 1;
-- workers ask the server, too
ANALYZE points;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT count(*) FROM plan('SELECT * FROM points') AS plan WHERE plan ~ 'Workers Planned';
CREATE TABLE copied AS SELECT * FROM points;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
TABLE copied EXCEPT ALL TABLE seen;
TABLE seen EXCEPT ALL TABLE copied;

-- Conditions on values, by the bounds of a bucket --------------------------------

SELECT create_series('mixed', '{"timeField": "ts", "metaField": "k"}');
SELECT mongo_ts_command('native', json_build_object('insert', 'mixed', 'documents', (
  SELECT json_agg(json_build_object('ts', '{"$date": "2024-01-01T00:00:00Z"}'::json, 'k', k, 'v', v))
    FROM (VALUES
      (1, '[1, 2, 3]'::json), (2, '[{"$numberDouble": "NaN"}, 1]'), (3, '[{"$numberDouble": "NaN"}]'), (4, '[null, 4, 6]'),
      (5, '["x", 4]'), (6, '[0.1, {"$numberDecimal": "0.1"}]'), (7, '[{"$numberDecimal": "0.1"}]'), (8, '[[9, 1], 5]'),
      (9, '[2, true]'), (10, '[{"$numberDouble": "Infinity"}, {"$numberDouble": "-Infinity"}, 7]'),
      (11, '[{"$numberDouble": "-0.0"}]'), (12, '[{"$numberLong": "9007199254740992"}, 3.5]'), (13, '[{"a": 1}, 2, 4]'),
      (14, '[null]'), (15, '[{"$minKey": 1}, 2, {"$maxKey": 1}]')) AS buckets (k, list), json_array_elements(list) AS v)))->'n' AS n;
CREATE FOREIGN TABLE mixed (ts timestamptz, k int, v float8) SERVER native OPTIONS (on_invalid 'skip');
SET client_min_messages = error;
-- CASE is not pushed down
CREATE TABLE answers AS
  SELECT op, value, (SELECT string_agg(k || ': ' || v, ', ' ORDER BY k, v) FROM mixed WHERE CASE op
           WHEN '<' THEN v < value WHEN '<=' THEN v <= value WHEN '=' THEN v = value WHEN '>=' THEN v >= value ELSE v > value END) AS want
    FROM unnest('{<,<=,=,>=,>}'::text[]) AS op,
         unnest('{-1,0.1,1,2,3,4,5,7,9007199254740992,Infinity,NaN}'::float8[]) AS value;
CREATE FUNCTION answer(op text, value float8) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  answer text;
BEGIN
  EXECUTE format('SELECT string_agg(k || '': '' || v, '', '' ORDER BY k, v) FROM mixed WHERE v %s %L', op, value) INTO answer;
  RETURN answer;
END $$;
SELECT count(*) FROM answers;
SELECT *, answer(op, value) FROM answers WHERE answer(op, value) IS DISTINCT FROM want;
RESET client_min_messages;
EXPLAIN (COSTS OFF) SELECT ts FROM mixed WHERE v > 4;
EXPLAIN (COSTS OFF) SELECT ts FROM mixed WHERE v = 4 AND NOT v >= 5;
EXPLAIN (COSTS OFF) SELECT ts FROM mixed WHERE v <> 4 AND v IS NOT NULL AND v IN (1, 2) AND v > 'NaN';
SELECT buckets FROM reads('SELECT v FROM points WHERE v > 124.8');

-- The same for text and dates, also with values of other types.  The bounds of
-- text depend on the collation of the collection.
SELECT create_series('typed', '{"timeField": "ts", "metaField": "k"}');
SELECT mongo_ts_command('native', '{"create": "collated", "timeseries": {"timeField": "ts", "metaField": "k"}, "collation": {"locale": "en", "strength": 1}}')->'ok' AS ok;
SELECT mongo_ts_command('native', json_build_object('insert', collection, 'documents', (
  SELECT json_agg(json_build_object('ts', '{"$date": "2024-01-01T00:00:00Z"}'::json, 'k', k, 'v', v))
    FROM (VALUES
      (1, '["a", "B", "c"]'::json), (2, '["a", {"a": 1}, "c"]'), (3, '["a", 5, null]'), (4, '["b", {"$symbol": "d"}, "e"]'),
      (5, '["a", ["q"], "c"]'), (6, '[{"a": "x"}, {"a": "b"}]'), (7, '["e", "\u00e9", "z"]'), (8, '["\ud83d\ude00", "\uffee"]'),
      (9, '[{"$date": "2024-01-01T00:00:00.001Z"}, {"$date": "2024-01-01T00:00:07.123Z"}]'), (10, '["", "aa", true, "ab"]'),
      (11, '[{"$date": "1969-12-31T23:59:59.999Z"}, "2024-01-01 00:00:05Z", {"$date": "2024-01-01T00:00:00Z"}]'),
      (12, '[{"$date": "2024-01-01T00:00:00.001Z"}, null, {"$date": "2023-01-01T00:00:00Z"}]')) AS buckets (k, list),
      json_array_elements(list) AS v)))->'n' AS n
  FROM unnest('{typed,collated}'::text[]) AS collection;
CREATE FOREIGN TABLE typed (ts timestamptz OPTIONS (role 'time'), k int, v text COLLATE "C") SERVER native;
CREATE FOREIGN TABLE collated (ts timestamptz OPTIONS (role 'time'), k int, v text COLLATE "C") SERVER native;
CREATE FOREIGN TABLE dated (ts timestamptz OPTIONS (role 'time'), k int, v timestamptz) SERVER native OPTIONS (collection 'typed', on_invalid 'skip');
CREATE FUNCTION differs(relation text, op text, value text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  answers text[];
BEGIN
  FOR i IN 1 .. 2 LOOP
    PERFORM set_config('mongo_ts_fdw.enable_preaggregates', (i = 1)::text, true);
    EXECUTE format('SELECT $1 || coalesce(string_agg(concat(k, v), '' '' ORDER BY k, v), ''none'') FROM %I WHERE v %s %L', relation, op, value)
      INTO answers USING answers;
  END LOOP;
  PERFORM set_config('mongo_ts_fdw.enable_preaggregates', 'on', true);
  RETURN answers[1] <> answers[2];
END $$;
SET client_min_messages = error;
SELECT relation, count(*), count(*) FILTER (WHERE differs(relation, op, value)) AS wrong
  FROM unnest('{<,<=,=,>=,>}'::text[]) AS op, (
    SELECT relation, value FROM unnest('{typed,collated}'::text[]) AS relation,
           unnest(ARRAY['', 'a', 'B', 'b', 'd', 'dd', 'e', 'E', 'é', 'z', '{', '5', 'true', U&'\FFEE', U&'\+01F600', '2024-01-01T00:00:00.001Z']) AS value
     UNION ALL
    SELECT 'dated', unnest(ARRAY['-infinity', '1969-12-31 23:59:59.999Z', '2023-01-01Z', '2024-01-01 00:00:00.0005Z', '2024-01-01 00:00:00.001Z',
      '2024-01-01 00:00:00.0015Z', '2024-01-01 00:00:05Z', '2024-01-01 00:00:07.123Z', '2024-01-01 00:00:07.1231Z', 'infinity'])) AS tests
 GROUP BY 1 ORDER BY 1;
RESET client_min_messages;
EXPLAIN (COSTS OFF) SELECT ts FROM typed WHERE v > 'b';
EXPLAIN (COSTS OFF) SELECT ts FROM collated WHERE v > 'b';
EXPLAIN (COSTS OFF) SELECT ts FROM dated WHERE v = '2024-01-01 00:00:00.001Z' AND v >= '2024-01-01 00:00:00.0005Z';

-- Dates that an _id cannot tell from others ------------------------------------

SELECT create_series('odd', '{"timeField": "ts"}');
CREATE FOREIGN TABLE odd (ts timestamptz, i int) SERVER native;
CREATE TABLE dates AS
  SELECT (start || 'Z')::timestamptz + i * interval '59 minutes 59.999 seconds' AS ts, row_number() OVER () AS i
    FROM unnest('{1800-01-01 00:00,1900-06-01 12:00,1901-12-13 19:45,1969-12-31 23:00,1970-01-01 00:00,2010-01-01 00:30,
      2038-01-19 02:30,2050-01-01 00:00,2106-02-07 05:30,2110-01-01 00:00,2500-07-01 00:00,9999-12-31 00:00}'::text[]) AS start,
         generate_series(0, 2) AS i;
-- first those that all _ids can tell from each other
INSERT INTO odd SELECT * FROM dates WHERE ts BETWEEN '2005-01-01' AND '2030-01-01';
EXPLAIN (COSTS OFF) SELECT * FROM odd WHERE ts > '2010-01-01 02:00Z';
SELECT * FROM odd WHERE ts > '2010-01-01 02:00Z';
INSERT INTO odd SELECT * FROM dates WHERE NOT ts BETWEEN '2005-01-01' AND '2030-01-01';
EXPLAIN (COSTS OFF) SELECT * FROM odd WHERE ts > '2010-01-01 02:00Z';
TABLE odd EXCEPT ALL TABLE dates;
TABLE dates EXCEPT ALL TABLE odd;
-- all ranges that begin and end at or beside one of the dates
CREATE TABLE ends AS
  SELECT ts + shift * interval '1 millisecond' AS t FROM dates, generate_series(-1, 1) AS shift;
SELECT count(*) AS ranges, sum((n <> m)::int) AS wrong
  FROM (SELECT (SELECT count(*) FROM odd WHERE ts >= a.t AND ts < b.t) AS n,
               (SELECT count(*) FROM dates WHERE ts >= a.t AND ts < b.t) AS m
          FROM ends a, ends b WHERE a.t < b.t AND b.t < a.t + interval '5 hours') AS counts;
SELECT count(*) AS ranges, sum((n <> m)::int + (k <> l)::int) AS wrong
  FROM (SELECT (SELECT count(*) FROM odd WHERE ts >= t) AS n, (SELECT count(*) FROM dates WHERE ts >= t) AS m,
               (SELECT count(*) FROM odd WHERE ts < t) AS k, (SELECT count(*) FROM dates WHERE ts < t) AS l
          FROM ends) AS counts;

-- early dates that stand for none, with _ids like those of 2009 and 2025
SELECT create_series('unknown', '{"timeField": "ts"}');
CREATE FOREIGN TABLE unknown (ts timestamptz, i int) SERVER native;
INSERT INTO unknown VALUES ('1601-01-01Z', 1), ('1753-01-01Z', 2), ('2023-06-01Z', 3), ('2025-06-01Z', 4);
EXPLAIN (COSTS OFF) SELECT * FROM unknown WHERE ts < '2024-01-01Z';
SELECT * FROM unknown WHERE ts < '2024-01-01Z' ORDER BY ts;
SELECT * FROM unknown WHERE ts > '2024-01-01Z';

-- The view is read, and EXPLAIN says why ---------------------------------------

CREATE FOREIGN TABLE document (ts timestamptz, d jsonb OPTIONS (field '*')) SERVER native OPTIONS (collection 'points');
CREATE FOREIGN TABLE filtered (ts timestamptz, v float8) SERVER native OPTIONS (collection 'points', filter '{"v": {"$gt": 1}}');
CREATE FOREIGN TABLE timeless (v float8) SERVER native OPTIONS (collection 'points');
CREATE FOREIGN TABLE other_time (v timestamptz) SERVER native OPTIONS (collection 'points');
EXPLAIN (COSTS OFF) SELECT ts FROM document;
EXPLAIN (COSTS OFF) SELECT v FROM filtered;
EXPLAIN (COSTS OFF) SELECT count(v) FROM timeless;
EXPLAIN (COSTS OFF) SELECT v FROM other_time;
SELECT count(*), count(v) FROM timeless;
-- an ordinary collection, and one that does not exist
CALL put('ordinary', '[{"ts": {"$date": "2024-01-01T00:00:00Z"}, "v": 1}]');
CREATE FOREIGN TABLE ordinary (ts timestamptz, v float8) SERVER native;
CREATE FOREIGN TABLE absent (ts timestamptz, v float8) SERVER native;
EXPLAIN (COSTS OFF) SELECT * FROM ordinary;
EXPLAIN (COSTS OFF) SELECT * FROM absent;
SELECT * FROM ordinary;

-- Names that a query cannot address --------------------------------------------

SELECT create_series('names', '{"timeField": "ts", "metaField": "m"}');
CALL put('names', '[{"ts": {"$date": "2024-01-01T00:00:00Z"}, "m": {"a.b": 1, "$x": 2}, "c.d": 3, "": 5}]');
CREATE FOREIGN TABLE names (
  ts timestamptz,
  a  int OPTIONS (field 'm.a\.b'),
  x  int OPTIONS (field 'm.$x'),
  c  int OPTIONS (field 'c\.d'),
  m  jsonb
) SERVER native;
EXPLAIN (COSTS OFF) SELECT * FROM names WHERE a = 1 AND c = 3;
SELECT * FROM names WHERE a = 1 AND c = 3;

-- Writes ---------------------------------------------------------------------

INSERT INTO points (ts, site, v) VALUES ('2024-01-02Z', 'c', 1), ('2024-01-02 00:01Z', 'c', 2);
SELECT count(*) FROM points WHERE site = 'c';
INSERT INTO points (ts, site, v) SELECT ts + interval '2 minutes', site, v + 2 FROM points WHERE site = 'c';
SELECT ts, v FROM points WHERE site = 'c' ORDER BY ts;
WITH inserted AS (INSERT INTO points (ts, site, v) VALUES ('2024-01-02 00:09Z', 'c', 9) RETURNING v)
SELECT (SELECT v FROM inserted), count(*) FROM points WHERE site = 'c';
-- A NULL is no field: MongoDB would begin a bucket at each change between null and a number.
SELECT create_series('sparse', '{"timeField": "ts"}');
CREATE FOREIGN TABLE sparse (ts timestamptz, a int, b float8) SERVER native;
INSERT INTO sparse SELECT timestamptz '2024-01-01Z' + i * interval '1 s', i, CASE WHEN i % 2 = 0 THEN i END
  FROM generate_series(1, 20) i;
SELECT count(*), count(b), sum(b) FROM sparse;
SELECT mongo_ts_command('native', '{"count": "system.buckets.sparse"}')->>'n' AS buckets;
SELECT try('UPDATE points SET v = 2 WHERE site = ''c''');
SELECT try('DELETE FROM points WHERE site = ''c''');
SELECT try('DELETE FROM seen WHERE ts > ''2024-01-01Z''');

-- Plans and changes of the collection --------------------------------------------

SELECT create_series('changing', '{"timeField": "ts", "metaField": "m"}');
CREATE FOREIGN TABLE changing (ts timestamptz, m text, v int) SERVER native;
INSERT INTO changing VALUES ('2024-01-01Z', 'a', 1);
SET plan_cache_mode = force_generic_plan;
PREPARE since AS SELECT ts, v FROM changing WHERE ts >= '2024-01-20Z';
PREPARE total AS SELECT count(*), sum(v) FROM changing;
EXECUTE since;
EXECUTE total;
-- longer buckets: a plan asks for their length
SELECT mongo_ts_command('native', '{"collMod": "changing", "timeseries": {"granularity": "minutes"}}')->'ok' AS changed;
SELECT mongo_ts_command('native', '{"collMod": "changing", "timeseries": {"granularity": "hours"}}')->'ok' AS changed;
INSERT INTO changing VALUES ('2024-01-02Z', 'b', 2), ('2024-01-25Z', 'b', 3);
EXPLAIN (COSTS OFF) EXECUTE since;
EXECUTE since;
EXECUTE total;
-- another metaField, no collection, an ordinary one, and a native one again
SELECT mongo_ts_command('native', '{"drop": "changing"}')->'ok' AS dropped;
SELECT create_series('changing', '{"timeField": "ts", "metaField": "v"}');
INSERT INTO changing VALUES ('2024-01-25Z', 'b', 4);
SELECT try('EXECUTE since');
EXECUTE since;
EXECUTE total;
SELECT mongo_ts_command('native', '{"drop": "changing"}')->'ok' AS dropped;
SELECT try('EXECUTE since');
EXECUTE since;
INSERT INTO changing VALUES ('2024-01-25Z', 'b', 5);
EXECUTE since;
EXECUTE total;
EXPLAIN (COSTS OFF) EXECUTE total;
SELECT mongo_ts_command('native', '{"drop": "changing"}')->'ok' AS dropped;
SELECT create_series('changing', '{"timeField": "ts"}');
INSERT INTO changing VALUES ('2024-01-25Z', 'b', 6);
EXECUTE total;
-- within one statement
DO $$
DECLARE
  n int;
BEGIN
  FOR i IN 1 .. 2 LOOP
    PERFORM mongo_ts_command('native', '{"drop": "points"}');
    IF i = 1 THEN
      PERFORM create_series('points', '{"timeField": "ts", "metaField": "meta"}');
    END IF;
    CALL put('points', '[{"ts": {"$date": "2024-01-01T00:00:00Z"}, "meta": {"site": "a"}, "v": 1}]');
    BEGIN
      SELECT count(*) INTO n FROM points;
      RAISE NOTICE '% row', n;
    EXCEPTION WHEN serialization_failure THEN
      RAISE NOTICE '%', SQLERRM;
    END;
  END LOOP;
END $$;
RESET plan_cache_mode;
SELECT count(*) FROM points;

SELECT mongo_ts_command('native', '{"dropDatabase": 1}')->'ok' AS dropped;

-- Nulls in a key that is declared NOT NULL ------------------------------------
SELECT create_series('unkeyed', '{"timeField": "ts", "metaField": "k"}');
CALL put('unkeyed', '[
  {"ts": {"$date": "2024-01-01T00:00:00Z"}, "k": "a", "v": 1},
  {"ts": {"$date": "2024-01-01T00:01:00Z"}, "v": 2},
  {"ts": {"$date": "2024-01-01T00:02:00Z"}, "k": "b", "v": 3}]');
CREATE FOREIGN TABLE unkeyed (ts timestamptz, k text COLLATE "C" NOT NULL, v float8) SERVER native;
SELECT * FROM unkeyed ORDER BY k DESC, ts DESC;

-- Times that are not in order, and groups that end within a bucket -------------
CALL put('unkeyed', '[
  {"ts": {"$date": "2024-02-01T00:00:10Z"}, "k": "late", "v": 1},
  {"ts": {"$date": "2024-02-01T00:00:05Z"}, "k": "late", "v": 2},
  {"ts": {"$date": "2024-02-01T00:01:10Z"}, "k": "late", "v": 4},
  {"ts": {"$date": "2024-02-01T00:00:12Z"}, "k": "late", "v": 8}]');
SELECT date_trunc('minute', ts), count(*), sum(v) FROM unkeyed WHERE k = 'late' GROUP BY 1 ORDER BY 1;

-- The index of the newest points -----------------------------------------------

-- The index that MongoDB's plan uses
CREATE FUNCTION used_index(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  plan json;
BEGIN
  EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF, FORMAT JSON) ' || query INTO plan;
  RETURN jsonb_path_query_first(plan::jsonb, 'strict $.**."MongoDB Plan"') #>> '{}';
END $$;
SELECT create_series('indexed', '{"timeField": "t", "metaField": "m"}');
CREATE FOREIGN TABLE indexed (
  v      float8,
  site   text OPTIONS (field 'm.site') COLLATE "C" NOT NULL,
  t      timestamptz,
  sensor int OPTIONS (field 'm.sensor') NOT NULL
) SERVER native;
CREATE FOREIGN TABLE indexed_parts (t timestamptz, m jsonb, odd int OPTIONS (field 'm.a\.b'), site text OPTIONS (field 'm.site')) SERVER native
  OPTIONS (collection 'indexed');
CREATE FOREIGN TABLE indexed_whole (t timestamptz, m jsonb) SERVER native OPTIONS (collection 'indexed', native_buckets 'off');
-- neither the filter nor the key is in the index
CREATE FOREIGN TABLE indexed_filtered (t timestamptz OPTIONS (role 'time'), v int OPTIONS (role 'key')) SERVER native
  OPTIONS (collection 'indexed', filter '{"m.site": "s1"}');
INSERT INTO indexed (v, site, t, sensor)
  SELECT i, 's' || i % 5, timestamptz '2024-01-01Z' + i * interval '1 min', i % 4 FROM generate_series(1, 500) i;
SELECT used_index('SELECT * FROM indexed ORDER BY t DESC LIMIT 1') ~ 'IXSCAN' AS has_index;
SELECT mongo_ts_create_index('indexed');
SELECT used_index(query) FROM (VALUES
  ('SELECT * FROM indexed WHERE site = ''s1'' AND sensor = 2 ORDER BY t DESC LIMIT 1'),
  ('SELECT DISTINCT ON (site, sensor) site, sensor, t, v FROM indexed ORDER BY site, sensor, t DESC')) AS queries (query);
SELECT DISTINCT ON (site, sensor) site, sensor, t, v FROM indexed WHERE site < 's2' ORDER BY site, sensor, t DESC;
SELECT mongo_ts_create_index(t) FROM unnest('{indexed,indexed_parts,indexed_whole,indexed_filtered}'::regclass[]) AS t;
SELECT i->>'name' AS name, i->'key' AS key, i - '{v,key,name,ns}'::text[] AS options
  FROM jsonb_array_elements(mongo_ts_command('native', '{"listIndexes": "indexed"}')->'cursor'->'firstBatch') AS i
 WHERE i->>'name' LIKE '%t_-1' ORDER BY 1;
SELECT used_index('SELECT * FROM indexed ORDER BY t DESC LIMIT 1');
-- an index that is there
SELECT mongo_ts_command('native', '{"dropIndexes": "indexed", "index": "t_-1"}')->'ok' AS dropped;
SELECT mongo_ts_command('native', '{"createIndexes": "indexed", "indexes": [{"name": "mine", "key": {"t": -1}}]}')->'ok' AS created;
SELECT mongo_ts_create_index('indexed_filtered');

-- attributes are left out, and columns choose the fields
CREATE FOREIGN TABLE indexed_attribute (t timestamptz, site text OPTIONS (field 'm.site') COLLATE "C" NOT NULL, sensor int OPTIONS (field 'm.sensor', role 'attribute'), v int)
  SERVER native OPTIONS (collection 'indexed');
SELECT mongo_ts_command('native', '{"dropIndexes": "indexed", "index": "*"}')->'ok' AS dropped;
SELECT mongo_ts_create_index('indexed_attribute');
SELECT used_index('SELECT DISTINCT ON (site) site, sensor, t, v FROM indexed_attribute ORDER BY site, t DESC');
SELECT mongo_ts_command('native', '{"dropIndexes": "indexed", "index": "*"}')->'ok' AS dropped;
SELECT mongo_ts_create_index('indexed', '{sensor}');
SELECT used_index('SELECT DISTINCT ON (sensor) site, sensor, t, v FROM indexed ORDER BY sensor, t DESC');
SELECT mongo_ts_create_index('indexed', '{sensor,site}');

-- A bucket of an unknown version -----------------------------------------------

SELECT create_series('versions', '{"timeField": "ts", "metaField": "k"}');
CREATE FOREIGN TABLE versions (ts timestamptz, k text COLLATE "C" NOT NULL, v float8) SERVER native;
CREATE FOREIGN TABLE skipping (ts timestamptz, k text COLLATE "C" NOT NULL, v float8) SERVER native
  OPTIONS (collection 'versions', on_invalid 'skip');
INSERT INTO versions SELECT timestamptz '2024-01-01Z' + i * interval '1 min', substr('abc', i % 3 + 1, 1), i FROM generate_series(1, 30) i;
-- Change the version of the bucket of b.
CREATE FUNCTION set_version(version json) RETURNS text
RETURN mongo_ts_command('native', json_build_object('update', 'system.buckets.versions', 'updates', json_build_array(
  json_build_object('q', json_build_object('meta', 'b'), 'u',
    json_build_object('$set', json_build_object('control.version', version, 'control.count', 10))))))->>'nModified';
SELECT set_version('9');
SELECT try('SELECT * FROM versions');
SELECT k, count(*), sum(v) FROM skipping GROUP BY k ORDER BY k;
SELECT * FROM reads('SELECT * FROM skipping');
-- SQLSTATE without on_invalid 'skip', and the rows with it. @ stands for the table.
CREATE FUNCTION answers(query text) RETURNS TABLE (error text, skip text) LANGUAGE plpgsql AS $$
BEGIN
  error = split_part(try(replace(query, '@', 'versions')), ':', 1);
  EXECUTE format('SELECT string_agg(q::text, '' '' ORDER BY q) FROM (%s) AS q', replace(query, '@', 'skipping')) INTO skip;
  RETURN NEXT;
END $$;
SET client_min_messages = error;
SELECT answers.* FROM (VALUES
  (1, 'SELECT v FROM @ WHERE v > 26'), (2, 'SELECT count(*) FROM @'), (3, 'SELECT min(v), max(v), min(ts) FROM @'),
  (4, 'SELECT DISTINCT k FROM @'), (5, 'SELECT count(*) FROM @ WHERE k = ''b'''), (6, 'SELECT k, max(ts) FROM @ GROUP BY k'),
  (7, 'SELECT DISTINCT ON (k) k, v FROM @ ORDER BY k, ts DESC'), (8, '(SELECT v FROM @ ORDER BY ts LIMIT 2)'),
  (9, 'SELECT v FROM @ WHERE ts BETWEEN ''2024-01-01 00:10Z'' AND ''2024-01-01 00:12Z'''),
  -- the bucket is not read
  (10, 'SELECT count(*) FROM @ WHERE k = ''a''')) AS queries (i, query), answers(query) ORDER BY i;
DO $$
DECLARE
  version json;
BEGIN
  FOREACH version IN ARRAY '{0,4,2.5,"\"1\"","null"}'::json[] LOOP
    PERFORM set_version(version);
    RAISE INFO '%: %', version, answers('SELECT count(*) FROM @');
  END LOOP;
END $$;
RESET client_min_messages;

-- Buckets of version 3, whose points are not in the order of time ---------------

-- MongoDB writes such buckets since 8.0.  Columns of literals are the simplest.
CREATE FUNCTION binary_column(type bytea, vals bigint[]) RETURNS json
RETURN (SELECT json_build_object('$binary', json_build_object('subType', '07', 'base64',
    translate(encode(string_agg(CASE WHEN val IS NULL THEN '\x80feffffffffffffff' -- a missing value
                                     ELSE type || '\x00' || (SELECT string_agg(substr(int8send(val), i, 1), '' ORDER BY i DESC)
                                                               FROM generate_series(1, 8) i) END,
                                '' ORDER BY n) || '\x00', 'base64'), E'\n', '')))
  FROM unnest(vals) WITH ORDINALITY AS v (val, n));
SELECT create_series('unsorted', '{"timeField": "ts", "metaField": "k"}');
CREATE FOREIGN TABLE unsorted (ts timestamptz, k int NOT NULL, v float8) SERVER native;
CREATE TABLE sorted AS
  SELECT timestamptz '2024-01-01Z' + i * interval '7 s' AS ts, i % 3 AS k, CASE WHEN i % 5 > 0 THEN i END::float8 AS v
    FROM generate_series(1, 510) i;
INSERT INTO unsorted SELECT * FROM sorted;
SELECT sum((mongo_ts_command('native', json_build_object('update', 'system.buckets.unsorted', 'updates', json_build_array(
         json_build_object('q', json_build_object('meta', k), 'u', json_build_object('$set', json_build_object(
           'control.version', 3, 'control.count', n, 'data.ts', binary_column('\x09', times),
           'data.v', binary_column('\x12', vals)))))))->>'nModified')::int) AS changed
  FROM (SELECT k, count(*) AS n, array_agg((extract(epoch FROM ts) * 1000)::bigint ORDER BY md5(ts::text)) AS times,
               array_agg(v::bigint ORDER BY md5(ts::text)) AS vals
          FROM sorted GROUP BY k) AS buckets;
-- and buckets of the server's own version
INSERT INTO sorted SELECT ts + interval '2 hours', k, v FROM sorted WHERE v < 300;
INSERT INTO unsorted SELECT * FROM sorted WHERE ts > '2024-01-01 02:00Z';
CREATE FUNCTION rows_of(query text, source text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  rows text[];
BEGIN
  EXECUTE format('SELECT array_agg(q::text) FROM (%s) q', replace(query, '@', source)) INTO rows;
  RETURN rows;
END $$;
SELECT query, rows_of(query, 'unsorted') = rows_of(query, 'sorted') AS is_same, cardinality(rows_of(query, 'unsorted')) AS count FROM (VALUES
  ('SELECT * FROM @ ORDER BY ts'), ('SELECT k, v FROM @ ORDER BY ts DESC LIMIT 300'),
  ('SELECT v FROM @ WHERE ts >= ''2024-01-01 00:20Z'' AND ts < ''2024-01-01 00:40Z'' AND k = 1 ORDER BY v'),
  ('SELECT k, count(*), count(v), sum(v), min(v), max(v), min(ts), max(ts) FROM @ GROUP BY k ORDER BY k'),
  ('SELECT date_trunc(''minute'', ts), count(*), sum(v) FROM @ GROUP BY 1 ORDER BY 1'),
  ('SELECT DISTINCT ON (k) * FROM @ WHERE ts < ''2024-01-01 01:00Z'' ORDER BY k, ts DESC'),
  ('SELECT DISTINCT ON (k) * FROM @ WHERE v > 17 ORDER BY k, ts')) AS queries (query)
  ORDER BY 1;

-- Values that a column cannot store, between the extremes of a bucket ----------
CALL put('unkeyed', '[
  {"ts": {"$date": "2024-03-01T00:00:00Z"}, "k": "between", "v": 1},
  {"ts": {"$date": "2024-03-01T00:00:01Z"}, "k": "between", "v": 1.1},
  {"ts": {"$date": "2024-03-01T00:00:02Z"}, "k": "between", "v": 7},
  {"ts": {"$date": "2024-02-01T00:00:00Z"}, "k": "between", "v": 2}]');
CREATE FOREIGN TABLE extremes (
  ts timestamptz,
  k  text,
  i  bigint       OPTIONS (field 'v'),
  r  real         OPTIONS (field 'v'),
  p  numeric(3,0) OPTIONS (field 'v'),
  n  numeric      OPTIONS (field 'v'),
  d  float8       OPTIONS (field 'v')
) SERVER native OPTIONS (collection 'unkeyed');
SELECT name, try(format('SELECT min(%1$I), max(%1$I) FROM extremes WHERE k = ''between''', name))
  FROM unnest('{i,r,p,n,d}'::text[]) AS name;
-- a condition leaves the bucket out
SELECT count(*) FROM extremes WHERE k = 'between' AND i > 7;

-- Values that are not words, in compressed columns -----------------------------
SELECT create_series('various', '{"timeField": "ts", "metaField": "k"}');
CREATE FOREIGN TABLE various (
  ts timestamptz,
  k  int,
  v  float8,
  t  varchar(9),
  l  text,
  d  numeric  OPTIONS (bson_type 'decimal'),
  m  numeric  OPTIONS (bson_type 'double'),
  b  boolean,
  j  jsonb
) SERVER native;
INSERT INTO various SELECT timestamptz '2024-05-01 00:00Z' + i * interval '1 s', i / 2000, i, 't' || i % 7, repeat('long ', i % 3) || 'text',
    i / 10.0, i / 8.0, i % 3 = 0, CASE WHEN i % 11 > 0 THEN to_jsonb(i % 5) END
  FROM generate_series(0, 3999) i;
-- a column that some documents lack
SELECT format('CALL put(''various'', %L)', json_agg(json_build_object('ts', json_build_object('$date', to_char(ts, 'YYYY-MM-DD"T"HH24:MI:SS"Z"')), 'k', 9,
    'v', i / 4.0, 't', CASE WHEN i % 4 > 0 THEN 'x' || i % 2 END)))
  FROM generate_series(0, 1999) i, LATERAL (SELECT timestamp '2024-05-03 00:00' + i * interval '1 s') s (ts) \gexec
\i sql/include/readers.sql
SELECT query, readers(query) FROM (VALUES
  ('SELECT ts, v, t FROM various'), ('SELECT v, l FROM various WHERE k = 0'), ('SELECT ts, d FROM various WHERE k = 1'), ('SELECT m, v FROM various'),
  ('SELECT b, v FROM various'), ('SELECT j, v FROM various'), ('SELECT * FROM various WHERE t > ''t3'' AND v >= 10'),
  ('SELECT k, count(t), min(t), max(d), sum(m), avg(v) FROM various GROUP BY k'), ('SELECT ts, v, t FROM various WHERE k = 9')) AS queries (query)
  ORDER BY query COLLATE "C";
SELECT k, count(*), count(t), min(t), max(t), sum(d), sum(m), count(*) FILTER (WHERE b), count(j), sum(v) FROM various GROUP BY k ORDER BY k;
