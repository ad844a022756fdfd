--
-- Tests elements of arrays that a path addresses by their index, and columns
-- of array types.
--
\set suite arrays
\i sql/include/suite.sql

\pset format unaligned
\pset tuples_only on
\set QUIET 1
SET client_min_messages = warning;

-- Elements by their index ----------------------------------------------------

-- candles: tuples with their own time
CALL put('candles', '[
  {"_id": 1, "symbol": "A", "candles": [[1704067200000, "1", 2, 3, 4.5, 6], [1704067260000, "2", 3, 4, 5.5, 7], [], null]},
  {"_id": 2, "symbol": "A", "candles": [[1704153600000, "3", 4, 5, 6.5], {"0": 1704153660000, "4": 7.5}]},
  {"_id": 3, "symbol": "B", "candles": [[1704067200000, "9"]]},
  {"_id": 4, "symbol": "C", "candles": []}]');
CREATE FOREIGN TABLE candles (
  ts     timestamptz OPTIONS (field 'candles[].0', format 'epoch_ms'),
  symbol text,
  open   numeric     OPTIONS (field 'candles[].1'),
  close  float8      OPTIONS (field 'candles[].4'),
  volume int         OPTIONS (field 'candles[].5')
) SERVER arrays;
SELECT * FROM candles ORDER BY symbol, ts;
SELECT symbol, count(*), sum(close), max(volume), min(open) FROM candles GROUP BY symbol ORDER BY symbol;
SELECT * FROM candles WHERE ts >= '2024-01-02' ORDER BY ts;
SELECT * FROM plan('SELECT * FROM candles WHERE ts >= ''2024-01-02'' AND symbol = ''A''', ', VERBOSE');

-- the same as slots of an hour, beside a bucket's time in an array
CALL put('hours', '[
  {"_id": 1, "span": [{"$date": "2024-01-01T00:00:00Z"}, {"$date": "2024-01-02T00:00:00Z"}],
   "k": [[1, 2, 3, 4], null, [5, 6, 7], [], [8, 9, 10, 11.5]]},
  {"_id": 2, "span": [{"$date": "2024-01-02T00:00:00Z"}], "k": [[1, 2, 3, "x"]]}]');
CREATE FOREIGN TABLE hours (
  day timestamptz OPTIONS (field 'span.0'),
  a   int         OPTIONS (field 'k[{hour}].0'),
  d   float8      OPTIONS (field 'k[{hour}].3')
) SERVER arrays;
SELECT * FROM hours WHERE day < '2024-01-02' ORDER BY day;
SELECT count(*), sum(d), avg(a) FROM hours WHERE day < '2024-01-01 03:00';
SELECT try('SELECT * FROM hours');
SELECT * FROM plan('SELECT d FROM hours WHERE day < ''2024-01-01 03:00'' ORDER BY day', ', VERBOSE');

-- documents that are rows: also MongoDB's other meanings of load.0
CALL put('loads', '[
  {"_id": 1, "host": "a", "load": [5, 2, 3]},
  {"_id": 2, "host": "a", "load": [1, {"0": 5}]},
  {"_id": 3, "host": "b", "load": {"0": 5, "1": 7, "07": 8}},
  {"_id": 4, "host": "b", "load": []},
  {"_id": 5, "host": "b", "load": null},
  {"_id": 6, "host": "c", "load": [null, 6]},
  {"_id": 7, "host": "c", "load": [4, 9]}]');
CREATE FOREIGN TABLE loads (
  _id   int,
  host  text,
  one   float8 OPTIONS (field 'load.0'),
  five  jsonb  OPTIONS (field 'load.1'),
  zero  int    OPTIONS (field 'load.07')
) SERVER arrays;
CREATE FUNCTION ids(condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  result text;
BEGIN
  EXECUTE 'SELECT string_agg(_id::text, '' '' ORDER BY _id) FROM loads WHERE ' || condition INTO result;
  RETURN condition || ': ' || coalesce(result, 'none');
END $$;
SELECT _id, host, one, five FROM loads ORDER BY _id;
SELECT ids(c) FROM unnest('{one = 5,one <> 5,one IS NULL,one IS NOT NULL,"one IN (4, 5)",one > 1 AND host = ''a'',NOT one < 5}'::text[]) c;
SELECT _id, one FROM loads ORDER BY one, _id LIMIT 3;
SELECT * FROM plan('SELECT _id FROM loads WHERE one = 5 AND host = ''a'' ORDER BY one', ', VERBOSE');
SELECT host, sum(one), count(five) FROM loads GROUP BY host ORDER BY host;

-- "07" is a key, and a backslash makes any number one: an array is invalid then
SELECT _id, zero FROM loads WHERE _id = 3;
SELECT try('SELECT zero FROM loads WHERE _id = 1');
CREATE FOREIGN TABLE keyed (_id int, one int OPTIONS (field 'load.\0')) SERVER arrays OPTIONS (collection 'loads');
SELECT * FROM keyed WHERE _id = 3;
SELECT try('SELECT * FROM keyed WHERE _id = 1');
SELECT * FROM plan('SELECT _id FROM keyed WHERE one = 5 ORDER BY one', ', VERBOSE');

-- an element of a nested array, and the same array as a whole
CALL put('nested', '[{"_id": 1, "m": [[1, 2], [3, [4, 5]]]}, {"_id": 2, "m": [[1]]}]');
CREATE FOREIGN TABLE nested (_id int, m jsonb, a int OPTIONS (field 'm.0.1'), b int OPTIONS (field 'm.1.1.0')) SERVER arrays;
SELECT * FROM nested ORDER BY _id;

-- Elements cannot be written one by one.
SELECT try($$INSERT INTO candles VALUES ('2024-01-01', 'D', 1, 2, 3)$$);
SELECT try($$UPDATE loads SET one = 3$$);
SELECT try($$DELETE FROM hours$$);
INSERT INTO keyed (one) VALUES (9);
SELECT mongo_ts_command(:'suite', '{"find": "loads", "filter": {"load.0": 9}, "projection": {"_id": 0}}')#>'{cursor,firstBatch}';
ALTER FOREIGN TABLE keyed OPTIONS (ADD filter '{"load.1": 3}');
INSERT INTO keyed (one) VALUES (10);
SELECT one FROM keyed;
SELECT table_name, is_insertable_into FROM information_schema.tables WHERE table_schema = 'arrays' ORDER BY 1;

-- Arrays as a whole -----------------------------------------------------------

CREATE FUNCTION read_as(type text, value text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  result text;
BEGIN
  PERFORM mts FROM mongo_ts_command('arrays', '{"delete": "whole", "deletes": [{"q": {}, "limit": 0}]}') AS mts;
  CALL put('whole', format('[{"a": %s}]', value)::json);
  EXECUTE format('CREATE FOREIGN TABLE one (a %s) SERVER arrays OPTIONS (collection ''whole'')', type);
  result := try('SELECT a FROM one', true);
  IF result = 'accepted' THEN
    EXECUTE 'SELECT a FROM one' INTO result;
  END IF;
  DROP FOREIGN TABLE one;
  RETURN format('%s from %s: %s', type, value, coalesce(result, 'NULL'));
END $$;
SELECT read_as(type, value) FROM (VALUES
  ('int[]', '[1, 2.0, {"$numberLong": "3"}, "4", true, null]'), ('int[]', '[]'), ('int[]', 'null'), ('int[]', '[null]'),
  ('int[]', '[1, 2.5]'), ('int[]', '[[1, 2], [3, null], [5, 6]]'), ('int[]', '[[[1], [2]], [[3], [4]]]'),
  ('int[]', '[[1, 2], [3]]'), ('int[]', '[[1], [2, 3]]'), ('int[]', '[[1], 2]'), ('int[]', '[1, [2]]'), ('int[]', '[[]]'), ('int[]', '[[], []]'),
  ('int[]', '[[1], null]'), ('int[]', '[[[[[[[1]]]]]]]'), ('int[]', '[[[[[[1]]]]]]'), ('int[]', '5'), ('int[]', '{"0": 1}'),
  ('int[]', '[{"0": 1}]'), ('int[]', '"{1,2}"'), ('smallint[]', '[40000]'), ('bigint[]', '[{"$numberLong": "9223372036854775807"}]'),
  ('float8[]', '[0.1, 1, {"$numberDouble": "NaN"}, {"$numberDouble": "-Infinity"}, {"$numberDecimal": "0.5"}]'), ('real[]', '[0.1]'), ('real[]', '[0.5]'),
  ('numeric[]', '[0.1, {"$numberDecimal": "1.50"}]'), ('numeric(3,1)[]', '[1.5, 2]'), ('numeric(3,1)[]', '[1.25]'),
  ('boolean[]', '[true, 0, 1]'), ('boolean[]', '[2]'), ('text[]', '["a", "", "NULL", null, 1, {"b": 1}, "c,\"d"]'), ('text[]', '[["a"], ["b"]]'),
  ('varchar(2)[]', '["ab"]'), ('varchar(2)[]', '["abc"]'), ('timestamptz[]', '[{"$date": "2024-01-01T00:00:00.5Z"}, "2024-01-01 01:00+01", null]'),
  ('timestamptz[]', '[5]'), ('date[]', '[{"$date": "2024-01-01T00:00:00Z"}]'), ('uuid[]', '["507f1f77-bcf8-6cd7-9943-9011507f1f77"]'),
  ('jsonb[]', '[1, [2, 3], {"a": null}, null]'), ('jsonb', '[1, [2]]'), ('int2vector', '[1]')) AS t (type, value);

-- invalid arrays are left out
CALL put('few', '[{"_id": 1, "a": [1, 2]}, {"_id": 2, "a": [1, "x"]}, {"_id": 3, "a": [[1], [2, 3]]}, {"_id": 4, "a": [[1], [2]]}, {"_id": 5}]');
CREATE FOREIGN TABLE few (_id int, a int[]) SERVER arrays OPTIONS (on_invalid 'skip');
SET client_min_messages = error;
SELECT * FROM few ORDER BY _id;
SET client_min_messages = warning;

-- Conditions and sorts stay here: MongoDB also compares elements.
ALTER FOREIGN TABLE few OPTIONS (SET on_invalid 'error', ADD filter '{"_id": {"$nin": [2, 3]}}');
SELECT _id FROM few WHERE a = '{1,2}';
SELECT _id FROM few WHERE a[2] = 2 OR 2 = ANY (a) ORDER BY a;
SELECT _id FROM few WHERE a IS NULL;
SELECT * FROM plan('SELECT _id FROM few WHERE a > ''{1}'' ORDER BY a', ', VERBOSE');
SELECT a, count(*) FROM few GROUP BY a ORDER BY a;
CREATE DOMAIN pair AS int[] CHECK (cardinality(VALUE) = 2);
CREATE FOREIGN TABLE pairs (_id int, a pair) SERVER arrays OPTIONS (collection 'few');
SELECT try('SELECT * FROM pairs');

-- Writes: documents that are rows
CREATE FOREIGN TABLE written (
  n int, i int[], f float8[], t text[], b boolean[], d numeric[] OPTIONS (bson_type 'double'), at timestamptz[], j jsonb[], l bigint[]
) SERVER arrays;
CREATE TABLE local_copy (LIKE written);
INSERT INTO local_copy VALUES
  (1, '{1,NULL,-3}', '{0.1,NaN,-Infinity}', '{a,"",NULL,"$b","c.d",é}', '{t,f,NULL}', '{0.5,2}', '{2024-01-01 00:00:00.123Z,NULL}', '{"{\"a\": 1}",NULL,3}', '{9223372036854775807}'),
  (2, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}'),
  (3, '{{1,2},{3,4}}', '{{{1},{2}},{{3},{4}}}', '{{a,b}}', '{{t}}', '{{1},{NULL}}', '{{2024-01-01Z}}', NULL, NULL),
  (4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
SET extra_float_digits = 0;
SET DateStyle = 'SQL, DMY';
INSERT INTO written SELECT * FROM local_copy;
SELECT count(*) FROM (TABLE written INTERSECT ALL TABLE local_copy) AS same;
RESET extra_float_digits;
SET DateStyle = 'ISO, YMD';
SELECT mongo_ts_command(:'suite', '{"find": "written", "filter": {"n": {"$in": [1, 3]}}, "projection": {"_id": 0}, "sort": {"n": 1}}')#>'{cursor,firstBatch}';
UPDATE written SET i = i || 7, t = t[1:1], l = '{5}' WHERE n IN (1, 3) AND cardinality(i) < 4 RETURNING n, i, t, l;
DELETE FROM written WHERE f = '{}';
SELECT n, i, t, l FROM written ORDER BY n;
SELECT try($$INSERT INTO written (n, i) VALUES (5, '[0:1]={1,2}')$$);
SELECT try($$INSERT INTO written (n, at) VALUES (5, '{2024-01-01 00:00:00.0001Z}')$$);
SELECT try($$INSERT INTO written (n, d) VALUES (5, '{0.1,0.12345678901234567890}')$$);
SELECT try($$INSERT INTO written (n, j) VALUES (5, '{{"1"}}')$$);

-- and values in slots, beside an attribute that is an array
CREATE FOREIGN TABLE spectra (
  ts timestamptz OPTIONS (field 'm'), device text, tags text[] OPTIONS (role 'attribute'), amplitudes float8[] OPTIONS (field 'v.{second}')
) SERVER arrays;
INSERT INTO spectra VALUES ('2024-01-01 00:00:00Z', 'a', '{x,y}', '{1,2.5}'), ('2024-01-01 00:00:01Z', 'a', '{x,y}', '{}'),
  ('2024-01-01 00:00:02Z', 'a', '{x,y}', NULL), ('2024-01-01 00:00:59Z', 'b', NULL, '{{1,2},{3,4}}');
UPDATE spectra SET amplitudes = '{7}' WHERE amplitudes = '{1,2.5}';
SELECT * FROM spectra ORDER BY device, ts;
SELECT device, count(amplitudes), max(amplitudes), sum(amplitudes[1]) FROM spectra GROUP BY device ORDER BY device;
DELETE FROM spectra WHERE amplitudes = '{}';
SELECT mongo_ts_command(:'suite', '{"find": "spectra", "projection": {"_id": 0}, "sort": {"device": 1}}')#>'{cursor,firstBatch}';
CREATE FOREIGN TABLE pushed (
  ts timestamptz OPTIONS (field 's[].t'), a int[] OPTIONS (field 's[].a')
) SERVER arrays OPTIONS (bucket_time_field 'd', bucket_span '1 day');
INSERT INTO pushed VALUES ('2024-01-01 00:00Z', '{1}'), ('2024-01-01 00:01Z', '{{1},{2}}'), ('2024-01-01 00:02Z', '{}');
UPDATE pushed SET a = a || a WHERE ts > '2024-01-01 00:00Z';
SELECT * FROM pushed ORDER BY ts;
ALTER FOREIGN TABLE spectra ALTER tags OPTIONS (SET role 'key');
SELECT try($$INSERT INTO spectra VALUES ('2024-01-01Z', 'a', '{x}', '{1}')$$);
SELECT * FROM spectra WHERE tags @> '{y}' AND ts < '2024-01-01 00:00:02Z';
