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
  {"_id": 3, "symbol": "B", "candles": {"0": [1704067200000, "9"]}},
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
SELECT table_name, is_insertable_into FROM information_schema.tables WHERE table_schema = 'arrays' ORDER BY 1;
