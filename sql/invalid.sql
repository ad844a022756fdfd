--
-- Tests invalid documents: an error with the position, or a skip with a count.
--
\set suite invalid
\i sql/include/suite.sql

CREATE FOREIGN TABLE good (
  ts   timestamptz,
  type text,
  v    int OPTIONS (field 'v.{minute}.{second}')
) SERVER invalid OPTIONS (collection 'c');
CREATE FOREIGN TABLE skipping (
  ts   timestamptz,
  type text,
  v    int OPTIONS (field 'v.{minute}.{second}')
) SERVER invalid OPTIONS (collection 'c', on_invalid 'skip');

-- Put one bad bucket between two good ones, and read.
CREATE PROCEDURE bad(bucket json) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM mongo_ts_command('invalid', '{"drop": "c"}')
    FROM (SELECT mongo_ts_command('invalid', '{"insert": "c", "documents": [{"_id": 0}]}')) AS _;
  CALL put('c', json_build_array(
    '{"_id": 1, "ts": {"$date": "2020-01-01T00:00:00Z"}, "type": "a", "v": {"0": {"0": 1}}}'::json,
    bucket,
    '{"_id": 3, "ts": {"$date": "2020-01-01T02:00:00Z"}, "type": "a", "v": {"0": {"0": 3}}}'::json));
END $$;

-- Errors with the collection, the _id and the path -------------------------

-- A key outside of its slot's range, such as a leap second
CALL bad('{"_id": 2, "ts": {"$date": "2020-01-01T01:00:00Z"}, "type": "a", "v": {"0": {"0": 1, "60": 2}, "1": {"1": 4}}}');
SELECT * FROM good ORDER BY ts;
SELECT * FROM skipping ORDER BY ts;
CALL bad('{"_id": "two", "ts": {"$date": "2020-01-01T01:00:00Z"}, "type": "a", "v": {"60": {"0": 1}, "1": {"1": 4}}}');
SELECT * FROM good ORDER BY ts;
SELECT * FROM skipping ORDER BY ts;
CALL bad('{"_id": {"a": {"$oid": "52573e3d00000000000000ff"}, "b": 1}, "ts": {"$date": "2020-01-01T01:00:00Z"}, "type": "a", "v": {"0": {"-1": 1}, "1": {"1": 4}}}');
SELECT * FROM good ORDER BY ts;
SELECT * FROM skipping ORDER BY ts;
-- A number in another notation; a text key beside slots is not a point.
CALL bad('{"_id": 2, "ts": {"$date": "2020-01-01T01:00:00Z"}, "type": "a", "v": {"total": 7, "0": {"07": 1, "8": 4, "sum": 5}}}');
SELECT * FROM good ORDER BY ts;
SELECT * FROM skipping ORDER BY ts;
CALL bad('{"_id": 2, "ts": {"$date": "2020-01-01T01:00:00Z"}, "type": "a", "v": {"0": {"99999999999999999999": 1, "1.5": 2, " 3": 3, "+4": 4, "": 5, "1e1": 6, "8": 7}}}');
SELECT * FROM good ORDER BY ts;
SELECT * FROM skipping ORDER BY ts;
-- The wrong type on the way to the points, and in a point
CALL bad('{"_id": 2, "ts": {"$date": "2020-01-01T01:00:00Z"}, "type": "a", "v": [{"0": 1}]}');
SELECT * FROM good ORDER BY ts;
SELECT * FROM skipping ORDER BY ts;
CALL bad('{"_id": 2, "ts": {"$date": "2020-01-01T01:00:00Z"}, "type": "a", "v": {"0": 5, "1": {"1": 4}}}');
SELECT * FROM good ORDER BY ts;
SELECT * FROM skipping ORDER BY ts;
CALL bad('{"_id": 2, "ts": {"$date": "2020-01-01T01:00:00Z"}, "type": "a", "v": {"0": {"0": "x", "1": 4, "2": 5.5, "3": {"a": 1}, "4": [], "5": {"$numberLong": "3000000000"}}}}');
SELECT * FROM good ORDER BY ts;
SELECT * FROM skipping ORDER BY ts;
-- The bucket's time.
CALL bad('{"_id": 2, "type": "a", "v": {"0": {"0": 4}}}');
SELECT * FROM good ORDER BY ts;
SELECT * FROM skipping ORDER BY ts;
CALL bad('{"_id": 2, "ts": null, "type": "a", "v": {"0": {"0": 4}}}');
SELECT * FROM good ORDER BY ts;
CALL bad('{"_id": 2, "ts": "2020-01-01", "type": "a", "v": {"0": {"0": 4}}}');
SELECT * FROM good ORDER BY ts;
SELECT * FROM skipping ORDER BY ts;
CALL bad('{"_id": 2, "ts": {"$date": {"$numberLong": "9223372036854775807"}}, "type": "a", "v": {"0": {"0": 4}}}');
SELECT * FROM good ORDER BY ts;
-- An upper bound leaves it out, an open range does not.
SELECT ts FROM good WHERE ts > '2020-01-01 01:00' AND ts < '2100-01-01';
SELECT ts FROM good WHERE ts > '2020-01-01 01:00';
SELECT * FROM skipping ORDER BY ts;
-- A key of another BSON type, which an equality of its text finds
CALL bad('{"_id": 2, "ts": {"$date": "2020-01-01T01:00:00Z"}, "type": 7, "v": {"0": {"0": 4}}}');
SELECT * FROM good ORDER BY ts;
SELECT * FROM good WHERE type = '7' ORDER BY ts;
SELECT ts, v FROM good ORDER BY ts;
SELECT * FROM skipping ORDER BY ts;
SELECT ts, v FROM skipping ORDER BY ts;
BEGIN;
ALTER FOREIGN TABLE good ALTER COLUMN type OPTIONS (ADD bson_type 'objectId');
SELECT * FROM good ORDER BY ts;
ROLLBACK;
-- A time range without invalid values
CALL bad('{"_id": 2, "ts": {"$date": "2020-01-01T01:00:00Z"}, "type": "a", "v": {"0": {"0": "x", "1": 4}}}');
SELECT * FROM good WHERE ts < '2020-01-01 01:00' OR ts >= '2020-01-01 02:00' ORDER BY ts;
SELECT * FROM good WHERE ts = '2020-01-01 01:00:01';
SELECT * FROM good WHERE ts = '2020-01-01 01:00:00';
-- Columns that are not read are not converted.
SELECT count(*), min(ts), max(ts) FROM good;

-- Skipping: one warning with the count, and the same rows for every target
-- list ---------------------------------------------------------------------

CALL bad('{"_id": 2, "ts": {"$date": "2020-01-01T01:00:00Z"}, "type": "a", "v": {"0": {"0": "x", "1": "y", "2": 4, "60": 1}, "60": {"0": 1}, "z": 1}}');
CALL put('c', '[{"_id": 4, "ts": {"$date": "2020-01-01T03:00:00Z"}, "type": 4, "v": {"0": {"0": 1, "1": 2}}}]');
SELECT * FROM skipping ORDER BY ts;
SELECT ts FROM skipping ORDER BY ts;
SELECT v FROM skipping ORDER BY v;
SELECT count(*) FROM skipping;
SELECT 1 FROM skipping;
SET client_min_messages = error;
SELECT * FROM reads('SELECT * FROM skipping');
SELECT * FROM reads('SELECT count(*) FROM skipping');
SELECT * FROM reads('SELECT * FROM skipping WHERE ts > ''2020-01-01 01:30''');
SELECT * FROM reads('SELECT * FROM skipping WHERE type = ''a''');
SELECT * FROM reads('SELECT * FROM skipping WHERE ts < ''2020-01-01 00:30''');
-- Each scan has its own warning.
SET enable_material = off;
SELECT * FROM reads('SELECT * FROM skipping a, skipping b');
RESET enable_material;
-- EXPLAIN as text shows skipped points if there are any.
CREATE FUNCTION explain(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
    CONTINUE WHEN line !~ 'Buckets|Points|Bytes|Trips';
    RETURN NEXT regexp_replace(trim(line), '(Bytes.*|Trips): \d+', '\1: N');
  END LOOP;
END $$;
SELECT * FROM explain('SELECT * FROM skipping');
SELECT * FROM explain('SELECT * FROM skipping WHERE ts < ''2020-01-01 00:30''');
RESET client_min_messages;
-- The warning's context names the position.
\set SHOW_CONTEXT always
SELECT * FROM skipping ORDER BY ts;
\set SHOW_CONTEXT errors

-- Points that carry their own time -----------------------------------------

CREATE FOREIGN TABLE own (
  ts timestamptz OPTIONS (field 'p[].t'),
  v  int         OPTIONS (field 'p[].v')
) SERVER invalid OPTIONS (bucket_time_field 'day', bucket_span '1 day',
  bucket_first_field 'first', bucket_last_field 'last');
CREATE FOREIGN TABLE own_skip (
  ts timestamptz OPTIONS (field 'p[].t'),
  v  int         OPTIONS (field 'p[].v')
) SERVER invalid OPTIONS (collection 'own', on_invalid 'skip', bucket_time_field 'day', bucket_span '1 day',
  bucket_first_field 'first', bucket_last_field 'last');
CALL put('own', '[{"_id": 1, "day": {"$date": "2020-01-01T00:00:00Z"}, "first": {"$date": "2020-01-01T01:00:00Z"}, "last": {"$date": "2020-01-01T02:00:00Z"},
  "p": [{"t": {"$date": "2020-01-01T01:00:00Z"}, "v": 1}, {"t": {"$date": "2020-01-02T00:00:00Z"}, "v": 2}, {"t": {"$date": "2019-12-31T23:59:59.999Z"}, "v": 3},
        {"t": {"$date": "2020-01-01T00:59:59.999Z"}, "v": 4}, {"t": {"$date": "2020-01-01T02:00:00.001Z"}, "v": 5}, {"v": 6}, {"t": null, "v": 7}, {"t": "x", "v": 8}, 9, null, {},
        {"t": {"$date": "2020-01-01T02:00:00Z"}, "v": 10}]}]');
SELECT * FROM own ORDER BY ts;
SELECT * FROM own_skip ORDER BY ts;
-- The errors
CREATE FUNCTION say(point json) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  detail text;
  context text;
BEGIN
  PERFORM mongo_ts_command('invalid', json_build_object('update', 'own', 'updates',
    json_build_array(json_build_object('q', '{"_id": 1}'::json, 'u',
      json_build_object('$set', json_build_object('p', json_build_array(point)))))));
  PERFORM * FROM own;
  RETURN 'accepted';
EXCEPTION WHEN others THEN
  GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, context = PG_EXCEPTION_CONTEXT;
  RETURN SQLSTATE || ' ' || detail || E'\n' || split_part(context, E'\n', 1);
END $$;
\pset format unaligned
\pset tuples_only on
SELECT say(point) FROM json_array_elements('[
  {"t": {"$date": "2020-01-01T01:00:00Z"}, "v": 1}, {"t": {"$date": "2020-01-02T00:00:00Z"}, "v": 2}, {"t": {"$date": "2019-12-31T23:59:59.999Z"}, "v": 3},
  {"t": {"$date": "2020-01-01T00:59:59.999Z"}, "v": 4}, {"t": {"$date": "2020-01-01T02:00:00.001Z"}, "v": 5}, {"v": 6}, {"t": null, "v": 7}, {"t": "x", "v": 8},
  9, null, {}, [], "x", {"t": {"$date": "2020-01-01T01:00:00Z"}, "v": "x"}]') point;
\pset format aligned
\pset tuples_only off

-- A point's own time is used, not that of its slot.
CREATE FOREIGN TABLE positional (
  ts timestamptz OPTIONS (field 'p[{minute}].t', format 'epoch'),
  v  int         OPTIONS (field 'p[{minute}].v')
) SERVER invalid OPTIONS (bucket_time_field 'hour');
CALL put('positional', '[{"_id": 1, "hour": {"$date": "2020-01-01T00:00:00Z"}, "p": [{"t": 1577836800, "v": 0}, {"t": 1577836800, "v": 1}]}]');
SELECT * FROM positional ORDER BY ts;

-- Zipped columns with one invalid container
CREATE FOREIGN TABLE zipped (
  ts timestamptz,
  a  int OPTIONS (field 'a.{second}'),
  b  int OPTIONS (field 'b.{second}')
) SERVER invalid OPTIONS (on_invalid 'skip');
CALL put('zipped', '[{"_id": 1, "ts": {"$date": "2020-01-01T00:00:00Z"}, "a": {"0": 1, "1": 2, "60": 3}, "b": {"1": "x", "2": 4}},
  {"_id": 2, "ts": {"$date": "2020-01-01T00:01:00Z"}, "a": {"0": 1}, "b": 5}]');
SELECT * FROM zipped ORDER BY ts;
SELECT ts FROM zipped ORDER BY ts;

-- The leader of a parallel plan also skips values that an input function
-- refuses.
CREATE FOREIGN TABLE beside (
  ts timestamptz,
  n  numeric(4, 2) OPTIONS (field 'p.{second}.n'),
  o  int           OPTIONS (field 'p.{second}.o'),
  i  int[]         OPTIONS (field 'p.{second}.i')
) SERVER invalid OPTIONS (on_invalid 'skip');
CALL put('beside', '[{"_id": 1, "ts": {"$date": "2020-01-01T00:00:00Z"}, "p": {
  "0": {"n": "1.5", "o": 1, "i": "{1}"}, "1": {"n": "x"}, "2": {"n": "123.4"}, "3": {"o": "2.5"}, "4": {"i": "{"}, "5": {"o": 3}}}]');
CREATE TABLE local_points AS SELECT i FROM generate_series(1, 1000) i;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SELECT count(*) FROM plan('SELECT *, (SELECT count(*) FROM local_points) FROM beside') line WHERE line ~ 'Gather';
SELECT * FROM beside ORDER BY ts;
SELECT *, (SELECT count(*) FROM local_points) FROM beside ORDER BY ts;
SELECT o, count(*) FROM beside JOIN local_points l ON l.i > o GROUP BY o ORDER BY o;
-- A worker reads such a table only inside a function.
CREATE DOMAIN odd AS int CHECK (VALUE % 2 = 1);
CREATE FOREIGN TABLE within (ts timestamptz, o odd OPTIONS (field 'p.{second}.o'), n numeric OPTIONS (field 'p.{second}.n'))
  SERVER invalid OPTIONS (on_invalid 'skip');
CALL put('within', '[{"_id": 1, "ts": {"$date": "2020-01-01T00:00:00Z"}, "p": {"0": {"o": 1}, "1": {"o": "3"}, "2": {"o": 5, "n": "x"}}}]');
CREATE FUNCTION within(int) RETURNS numeric LANGUAGE plpgsql PARALLEL SAFE SET client_min_messages = error AS $$
BEGIN
  RETURN (SELECT sum(o) FROM invalid.within);
END $$;
SET parallel_leader_participation = off;
SELECT sum(within(i)) FROM local_points WHERE i < 5;
RESET parallel_leader_participation;
RESET min_parallel_table_scan_size;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;

-- NULL, absent, missing, empty ---------------------------------------------

CREATE FOREIGN TABLE nulls (
  ts timestamptz,
  k  text,
  v  int OPTIONS (field 'v.{second}')
) SERVER invalid;
CREATE FOREIGN TABLE missing (
  ts timestamptz,
  k  text,
  v  int OPTIONS (field 'v.{second}', missing_value '0')
) SERVER invalid OPTIONS (collection 'nulls');
CREATE FOREIGN TABLE missing_null (
  ts timestamptz,
  v  int OPTIONS (field 'v.{second}', missing_value 'null')
) SERVER invalid OPTIONS (collection 'nulls');
CREATE FOREIGN TABLE missing_text (
  ts timestamptz,
  v  text OPTIONS (field 'v.{second}', missing_value 'n/a')
) SERVER invalid OPTIONS (collection 'texts');
CALL put('nulls', '[
  {"ts": {"$date": "2020-01-01T00:00:00Z"}, "k": null, "v": {"0": null, "1": 0, "2": 0.0, "3": {"$numberLong": "0"}, "4": {}, "5": 7, "6": {"$numberDecimal": "0"}, "7": -0.0}},
  {"ts": {"$date": "2020-01-01T00:01:00Z"}, "v": {}},
  {"ts": {"$date": "2020-01-01T00:02:00Z"}, "v": null},
  {"ts": {"$date": "2020-01-01T00:03:00Z"}}]');
CALL put('texts', '[{"ts": {"$date": "2020-01-01T00:00:00Z"}, "v": {"0": "n/a", "1": "", "2": null, "3": "n/a "}}]');
SELECT * FROM nulls ORDER BY ts;
SELECT * FROM missing ORDER BY ts;
SELECT count(*) FROM missing;
SELECT * FROM missing_null ORDER BY ts;
SELECT ts, v, v IS NULL AS isnull FROM missing_text ORDER BY ts;
-- Some values of a point may be missing; without any value there is no row.
CREATE FOREIGN TABLE two (
  ts timestamptz,
  a  int OPTIONS (field 'v.{second}.a', missing_value '0'),
  b  int OPTIONS (field 'v.{second}.b', missing_value '-1')
) SERVER invalid;
CALL put('two', '[{"ts": {"$date": "2020-01-01T00:00:00Z"}, "v": {"0": {"a": 0, "b": 1}, "1": {"a": 0, "b": -1}, "2": {"a": 0}, "3": {"a": 1, "b": -1}, "4": {"b": null}, "5": {"c": 1}}}]');
SELECT * FROM two ORDER BY ts;
SELECT ts FROM two ORDER BY ts;
SELECT b FROM two ORDER BY b;

-- Values of keys of series that cannot be converted leave no memory behind.
CREATE FOREIGN TABLE switches (ts timestamptz, is_on bool OPTIONS (field 'v.{second}.s'), v float8 OPTIONS (field 'v.{second}.v'))
  SERVER invalid OPTIONS (on_invalid 'skip');
SELECT json_agg(json_build_object('ts', json_build_object('$date', to_char(timestamp '2024-01-01' + i * interval '1 min', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')),
    'v', json_build_object('1', '{"s": true, "v": 1}'::json, '2', json_build_object('s', i % 2 * 2, 'v', 2)))) AS documents
  FROM generate_series(1, 2000) i
\gset
CALL put('switches', :'documents');
SET client_min_messages = error;
BEGIN;
DECLARE some_switches CURSOR FOR SELECT * FROM switches;
MOVE 2995 IN some_switches;
SELECT sum(total_bytes) < 100000 AS is_small FROM pg_backend_memory_contexts WHERE name = 'mongo_ts_fdw keys';
MOVE ALL IN some_switches;
COMMIT;
RESET client_min_messages;

SELECT mongo_ts_command('invalid', '{"dropDatabase": 1}')->'ok' AS dropped;
