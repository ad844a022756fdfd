--
-- Compares aggregates computed from the pre-aggregates of buckets with those
-- from their points.
--
\set suite pre_aggregates
\i sql/include/suite.sql

\pset format unaligned
\pset tuples_only on

\i sql/include/same.sql

CREATE FOREIGN TABLE prices (
  d timestamptz, symbol text, price float8 OPTIONS (field 'p.{second}', sum_field 'sum', min_field 'min', max_field 'max') NOT NULL
) SERVER pre_aggregates OPTIONS (count_field 'n');
INSERT INTO prices SELECT timestamptz '2024-03-10 05:00Z' + i * interval '7 seconds', 'S' || i % 2, i / 4.0
  FROM generate_series(0, 3999) i;
UPDATE prices SET price = -1 WHERE d = '2024-03-10 05:00:14Z';
DELETE FROM prices WHERE d BETWEEN '2024-03-10 05:03Z' AND '2024-03-10 05:03:30Z';

-- Only headers are read
EXPLAIN (COSTS OFF) SELECT symbol, avg(price) FROM prices GROUP BY symbol;
SELECT plan($$SELECT symbol, date_trunc('hour', d), count(*), count(d), count(price), sum(price), avg(price), min(price), max(price) FROM prices GROUP BY 1, 2$$, ', ANALYZE');
SELECT count(*), count(price), round(sum(price)::numeric, 3), round(avg(price)::numeric, 6), min(price), max(price) FROM prices;
SELECT same('SELECT symbol, date_trunc(''hour'', d), count(*), count(d), count(price), sum(price), avg(price), min(price), max(price) FROM prices GROUP BY 1, 2');
SELECT same('SELECT count(*), sum(price) FROM prices WHERE symbol = ''none''');
SELECT same('SELECT DISTINCT symbol FROM prices');
SELECT same('SELECT count(*) FILTER (WHERE symbol = ''S1''), max(price) FILTER (WHERE symbol = ''S0'') FROM prices');
SELECT same('SELECT upper(symbol), count(*) FROM prices WHERE lower(symbol) <> ''s1'' GROUP BY 1');

-- Buckets at the edges and buckets of several groups are read with their
-- points.
SELECT plan($$SELECT count(*), sum(price) FROM prices WHERE d >= '2024-03-10 05:10:30Z' AND d < '2024-03-10 06:20:10Z'$$, ', ANALYZE');
SELECT same('SELECT count(*), sum(price), min(price), max(price) FROM prices WHERE d >= ''2024-03-10 05:10:30Z'' AND d < ''2024-03-10 06:20:10Z''');
SELECT same('SELECT count(*), sum(price) FROM prices WHERE d < ''2024-03-10 05:10:30Z'' OR d BETWEEN ''2024-03-10 06:20:10Z'' AND ''2024-03-10 06:50:10Z''');
SELECT same('SELECT date_bin(''450 seconds'', d, ''2024-01-01Z''), count(*), sum(price) FROM prices GROUP BY 1');
SELECT plan($$SELECT date_bin('450 seconds', d, '2024-01-01Z'), count(*) FROM prices GROUP BY 1$$, ', ANALYZE');
-- A small fetch_size, with which an empty batch may report the end.
ALTER SERVER pre_aggregates OPTIONS (ADD fetch_size '9');
SELECT same('SELECT date_bin(''450 seconds'', d, ''2024-01-01Z''), symbol, count(*), sum(price) FROM prices GROUP BY 1, 2');
SELECT plan($$SELECT date_bin('450 seconds', d, '2024-01-01Z'), count(*) FROM prices WHERE d < '2024-03-10 06:00Z' GROUP BY 1$$, ', ANALYZE');
SET work_mem = '64kB';
SELECT same('SELECT symbol, date_bin(''90 seconds'', d, ''2024-01-01Z''), count(*), avg(price) FROM prices GROUP BY 1, 2');
RESET work_mem;
ALTER SERVER pre_aggregates OPTIONS (DROP fetch_size);
-- Most buckets need their points, so the scan restarts without headers.
SELECT plan($$SELECT date_trunc('second', d), count(*) FROM prices GROUP BY 1$$, ', ANALYZE');
SELECT same('SELECT date_trunc(''second'', d), symbol, count(*), sum(price) FROM prices GROUP BY 1, 2');
SELECT same('SELECT date_bin(''7 seconds'', d, ''2024-01-01Z''), max(price) FROM prices WHERE d > ''2024-03-10 08:00Z'' GROUP BY 1');
-- Too few buckets for headers
EXPLAIN (COSTS OFF) SELECT count(*) FROM prices WHERE d >= '2024-03-10 05:10:30Z' AND d < '2024-03-10 05:13:00Z';
-- Of one series, the buckets at the edges can cost more than headers save
EXPLAIN (COSTS OFF) SELECT count(*) FROM prices WHERE symbol = 'S0' AND d >= '2024-03-10 05:10:30Z' AND d < '2024-03-10 06:20:10Z';
EXPLAIN (COSTS OFF) SELECT count(*) FROM prices WHERE symbol = 'S0' AND d >= '2024-03-10 05:10Z' AND d < '2024-03-10 06:20Z';
EXPLAIN (COSTS OFF) SELECT count(*) FROM prices WHERE symbol = 'S0' AND d >= '2024-03-10 05:10:30Z' AND d < '2024-03-10 09:20:10Z';
SELECT same($$SELECT count(*), sum(price), max(price) FROM prices WHERE symbol = 'S0' AND d >= '2024-03-10 05:10:30Z' AND d < '2024-03-10 09:20:10Z'$$);
-- Parameters and rescans
PREPARE since (timestamptz, text) AS SELECT count(*), max(price) FROM prices WHERE d > $1 AND symbol = $2;
SET plan_cache_mode = force_generic_plan;
EXECUTE since ('2024-03-10 12:00:10Z', 'S0');
EXECUTE since ('2024-03-10 10:00:10Z', 'S1');
RESET plan_cache_mode;
SELECT same('SELECT s, t.* FROM generate_series(timestamptz ''2024-03-10 05:00:30Z'', ''2024-03-10 12:00Z'', ''90 minutes'') s, LATERAL (SELECT date_bin(''70 seconds'', d, ''2024-01-01Z''), count(*), sum(price) FROM prices p WHERE d >= s AND d < s + interval ''20 minutes'' GROUP BY 1) t');

-- Local days and hours, on the day of a change of the clocks
SET TimeZone = 'America/New_York';
SELECT same('SELECT d::date, count(*), min(price), sum(price) FROM prices GROUP BY 1');
SELECT same('SELECT date_trunc(''hour'', d AT TIME ZONE ''America/New_York''), count(*), min(price) FROM prices GROUP BY 1');
SET TimeZone = 'UTC';

-- Keys of values need points.  A key of the time that can fail is evaluated
-- only for points.
EXPLAIN (COSTS OFF) SELECT price > 5, count(*) FROM prices GROUP BY 1;
SELECT same('SELECT price > 5, symbol, count(*), sum(price) FROM prices GROUP BY 1, 2');
SELECT same('SELECT extract(epoch FROM d)::int / 3600, count(*), sum(price) FROM prices GROUP BY 1');
SELECT same('SELECT CASE WHEN symbol = ''S1'' THEN to_char(d, ''HH24'') ELSE ''S0'' END, count(*), sum(price) FROM prices GROUP BY 1');
SELECT plan($$SELECT CASE WHEN symbol = 'S1' THEN to_char(d, 'HH24') ELSE 'S0' END, count(*), sum(price) FROM prices GROUP BY 1$$, ', ANALYZE');
SELECT same('SELECT sqrt(extract(epoch FROM date_trunc(''minute'', d) - ''2024-03-10 05:59Z'')), count(*) FROM prices WHERE d >= ''2024-03-10 05:59:30Z'' GROUP BY 1');

-- Conditions and aggregates that require values
EXPLAIN (COSTS OFF) SELECT count(*) FROM prices WHERE price > 5;
EXPLAIN (COSTS OFF) SELECT count(*) FILTER (WHERE price > 5) FROM prices;
EXPLAIN (COSTS OFF) SELECT sum(price * 2) FROM prices;
EXPLAIN (COSTS OFF) SELECT stddev(price) FROM prices;
SELECT plan('SELECT max(d) FROM prices');
SET mongo_ts_fdw.enable_preaggregates = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM prices;
RESET mongo_ts_fdw.enable_preaggregates;
ALTER FOREIGN TABLE prices ALTER price DROP NOT NULL;
EXPLAIN (COSTS OFF) SELECT avg(price) FROM prices;
EXPLAIN (COSTS OFF) SELECT count(price) FROM prices;
EXPLAIN (COSTS OFF) SELECT count(*), sum(price), min(price) FROM prices;
SELECT same('SELECT count(*), sum(price), min(price) FROM prices');
ALTER FOREIGN TABLE prices OPTIONS (ADD on_invalid 'skip');
EXPLAIN (COSTS OFF) SELECT count(*) FROM prices;

-- Stored nulls, missing values, NaN, and unusable fields
CREATE FOREIGN TABLE odd (
  d timestamptz, k int, v float8 OPTIONS (field 'p.{second}', sum_field 'sum', min_field 'min', max_field 'max')
) SERVER pre_aggregates OPTIONS (count_field 'n');
CALL put('odd', '[
  {"_id": 1, "d": {"$date": "2024-01-01T00:00:00Z"}, "k": 1, "n": 2, "sum": 3.5, "min": 1.5, "max": 2, "p": {"0": 1.5, "9": 2}},
  {"_id": 2, "d": {"$date": "2024-01-01T00:01:00Z"}, "k": 1, "n": 2, "sum": 0, "p": {"0": null, "9": null}},
  {"_id": 3, "d": {"$date": "2024-01-01T00:02:00Z"}, "k": 1, "n": 2, "sum": 0, "min": -1, "max": 1, "p": {"0": -1, "9": 1}},
  {"_id": 4, "d": {"$date": "2024-01-01T00:03:00Z"}, "k": 1, "n": 0, "sum": 0, "p": {}},
  {"_id": 5, "d": {"$date": "2024-01-01T00:04:00Z"}, "k": 2, "n": 2, "sum": {"$numberDouble": "NaN"}, "min": {"$numberDouble": "NaN"}, "max": {"$numberDouble": "NaN"}, "p": {"0": {"$numberDouble": "NaN"}, "9": 8}},
  {"_id": {"a": 6}, "d": {"$date": "2024-01-01T00:05:00Z"}, "k": 2, "n": {"$numberLong": "1"}, "sum": {"$numberDecimal": "8"}, "min": "8", "max": {"$numberLong": "8"}, "p": {"0": 8}},
  {"_id": 7, "d": {"$date": "2024-01-01T00:06:00Z"}, "k": 3, "p": {"0": 9}},
  {"_id": 8, "d": {"$date": "2024-01-01T00:07:00Z"}, "k": 3, "n": 1.0, "sum": {"$numberLong": "7"}, "min": 7, "max": 7.0, "p": {"0": 7}},
  {"_id": 9, "d": {"$date": "2024-01-01T00:08:00Z"}, "k": 3, "n": "1", "sum": 6, "min": 6, "max": 6, "p": {"0": 6}},
  {"_id": 10, "d": {"$date": "2024-01-01T00:09:00Z"}, "k": 4, "n": -1, "sum": null, "min": null, "max": [5], "p": {"0": 5}},
  {"_id": 11, "d": {"$date": "2024-01-01T00:10:00Z"}, "k": 5, "n": 0, "sum": 0, "p": {}},
  {"_id": 12, "d": {"$date": "2024-01-01T00:11:00Z"}, "k": 6, "n": 2, "min": {"$numberDouble": "NaN"}, "max": 8, "p": {"0": {"$numberDouble": "NaN"}, "9": 8}}]');
SELECT same('SELECT k, count(*) FROM odd GROUP BY k');
SELECT same('SELECT k, sum(v) FROM odd GROUP BY k');
SELECT same('SELECT k, min(v) FROM odd GROUP BY k');
SELECT same('SELECT k, max(v) FROM odd GROUP BY k');
SELECT same('SELECT DISTINCT k FROM odd');
SELECT k, count(*), sum(v), min(v), max(v) FROM odd GROUP BY k ORDER BY k;
SELECT plan($$SELECT k, sum(v), min(v), max(v) FROM odd GROUP BY k$$, ', ANALYZE');

-- A null is no point if it is the missing value of the only value
CREATE FOREIGN TABLE sparse (
  d timestamptz, k int, v float8 OPTIONS (field 'p.{second}', missing_value 'null', sum_field 'sum')
) SERVER pre_aggregates OPTIONS (count_field 'n');
INSERT INTO sparse SELECT timestamptz '2024-01-01Z' + i * interval '7 seconds', i % 2, i % 5 FROM generate_series(0, 99) i;
CALL put('sparse', '[{"d": {"$date": "2024-01-02T00:00:00Z"}, "k": 3, "n": 2, "sum": 0, "p": {"0": 0, "1": null, "2": 0}},
  {"d": {"$date": "2024-01-02T00:01:00Z"}, "k": 4, "n": 0, "sum": 0, "p": {"0": null}}]');
SELECT same('SELECT k, count(*), count(v), avg(v), sum(v) FROM sparse GROUP BY k');
SELECT plan($$SELECT k, count(v), avg(v), sum(v) FROM sparse GROUP BY k$$, ', ANALYZE');
ALTER FOREIGN TABLE sparse ADD w float8 OPTIONS (field 'q.{second}', missing_value 'null');
CALL put('sparse', '[{"d": {"$date": "2024-01-03T00:00:00Z"}, "k": 5, "n": 2, "sum": 8, "p": {"0": 8, "1": null}, "q": {"1": 8}}]');
SELECT same('SELECT k, count(*), count(v), avg(v), sum(v) FROM sparse GROUP BY k');
EXPLAIN (COSTS OFF) SELECT avg(v) FROM sparse;
EXPLAIN (COSTS OFF) SELECT sum(w) FROM sparse;
EXPLAIN (COSTS OFF) SELECT sum(k) FROM sparse;

-- A bucket that is read again may belong to another group than the last
-- header.
CREATE FOREIGN TABLE two (d timestamptz, k int, v float8 OPTIONS (field 'p.{second}')) SERVER pre_aggregates OPTIONS (count_field 'n');
CALL put('two', '[{"d": {"$date": "2024-01-01T00:00:00Z"}, "k": 1, "n": 1, "p": {"0": 1}}, {"d": {"$date": "2024-01-01T00:00:00Z"}, "k": 2, "p": {"0": 1}}]');
SELECT k, count(*) FROM two GROUP BY k ORDER BY k;

-- Integers: sums beyond the precision of a double, and states of all widths
CREATE FOREIGN TABLE whole (
  ts timestamptz, k int, s int2 OPTIONS (field 's.{minute}', sum_field 'ss', min_field 'smin', max_field 'smax') NOT NULL,
  i int OPTIONS (field 'i.{minute}', sum_field 'is', min_field 'imin', max_field 'imax') NOT NULL,
  l int8 OPTIONS (field 'l.{minute}', sum_field 'ls', min_field 'lmin', max_field 'lmax') NOT NULL,
  n numeric OPTIONS (field 'n.{minute}', sum_field 'ns', min_field 'nmin', max_field 'nmax'),
  f float4 OPTIONS (field 'f.{minute}', sum_field 'fs', min_field 'fmin', max_field 'fmax')
) SERVER pre_aggregates OPTIONS (count_field 'n_of');
INSERT INTO whole SELECT timestamptz '2020-01-01Z' + i * interval '7 minutes', i % 2, i, 2147483647 - i,
    CASE WHEN i < 100 THEN 9007199254740993 + i ELSE 9223372036854775807 - i END, i / 100.0, i / 8.0
  FROM generate_series(0, 499) i;
SELECT same('SELECT sum(s), avg(s), min(s), max(s), sum(i), avg(i), min(i), max(i), sum(l), avg(l), min(l), max(l), min(n), max(n), min(f), max(f) FROM whole');
SELECT same('SELECT k, ts::date, sum(s), avg(s), sum(i), avg(i), sum(l), avg(l), max(n), count(l) FROM whole GROUP BY 1, 2');
SELECT plan($$SELECT k, ts::date, sum(s), avg(s), sum(i), avg(i), max(n) FROM whole GROUP BY 1, 2$$, ', ANALYZE');
SELECT plan($$SELECT k, sum(l) FROM whole GROUP BY 1$$, ', ANALYZE');
EXPLAIN (COSTS OFF) SELECT sum(n) FROM whole;
CALL put('whole', '[{"ts": {"$date": "2020-02-01T00:00:00Z"}, "k": 9, "n_of": 2, "ls": 18014398509481984.0, "is": 1.5, "ss": {"$numberDecimal": "2"},
  "s": {"0": 1, "1": 1}, "i": {"0": 0, "1": 1}, "l": {"0": {"$numberLong": "9007199254740993"}, "1": {"$numberLong": "9007199254740993"}}}]');
SELECT same('SELECT k, sum(l), sum(i), sum(s) FROM whole GROUP BY k');
SELECT sum(l), sum(i), sum(s) FROM whole WHERE k = 9;
-- PostgreSQL finishes the sum and the average of bigints from one state
CREATE FOREIGN TABLE longs (ts timestamptz, l int8 OPTIONS (field 'l.{minute}', sum_field 'sum') NOT NULL)
  SERVER pre_aggregates OPTIONS (count_field 'n');
INSERT INTO longs SELECT timestamptz '2020-01-01Z' + i * interval '1 minute', i FROM generate_series(1, 200) i;
SELECT sum(l), avg(l) FROM longs;
SELECT avg(l), sum(l) FROM longs;

-- Counts of rows: with zipped columns, and with missing values
CREATE FOREIGN TABLE zipped (
  ts timestamptz, k int, t float8 OPTIONS (field 't.{second}', missing_value '-1', sum_field 'ts_', min_field 'tmin'),
  h float8 OPTIONS (field 'h.{second}', missing_value '-1', max_field 'hmax')
) SERVER pre_aggregates OPTIONS (count_field 'n');
INSERT INTO zipped SELECT timestamptz '2020-01-01Z' + i * interval '5 seconds', i % 3, nullif(i % 4, 0), nullif(i % 7, 2)
  FROM generate_series(0, 499) i;
SELECT mongo_ts_preallocate('zipped', '2020-01-02', '2020-01-02 00:05', '{"k": 7}');
SELECT same('SELECT k, count(*), sum(t), min(t), max(h) FROM zipped GROUP BY k');
DELETE FROM zipped WHERE ts < '2020-01-01 00:03:33Z';
UPDATE zipped SET t = 1 WHERE k = 1;
SELECT same('SELECT k, count(*), sum(t), min(t), max(h) FROM zipped GROUP BY k');
SELECT k, count(*), sum(t), min(t), max(h) FROM zipped GROUP BY k ORDER BY k;
SELECT plan($$SELECT k, count(*) FROM zipped GROUP BY k$$, ', ANALYZE');

-- Points with their own times: the bucket's bounds tell their range.
CREATE FOREIGN TABLE samples (
  at timestamptz OPTIONS (field 's[].t', format 'epoch'), k text, v int OPTIONS (field 's[].v', sum_field 'total') NOT NULL
) SERVER pre_aggregates OPTIONS (bucket_time_field 'day', bucket_span '1 day', bucket_first_field 'first',
  bucket_last_field 'last', count_field 'n');
INSERT INTO samples SELECT timestamptz '2020-01-01Z' + i * interval '1234 seconds', 'k' || i % 3, i FROM generate_series(0, 999) i;
SELECT same('SELECT k, date_trunc(''week'', at), count(*), avg(v) FROM samples GROUP BY 1, 2');
SELECT same('SELECT k, count(*), sum(v) FROM samples WHERE at >= ''2020-01-03 00:20Z'' AND at < ''2020-01-12 12:00Z'' GROUP BY 1');
SELECT plan($$SELECT count(*) FROM samples WHERE at >= '2020-01-03 00:01Z' AND at < '2020-01-12 12:00Z'$$, ', ANALYZE');
SET TimeZone = 'America/New_York';
SELECT same('SELECT at::date, count(*) FROM samples GROUP BY 1');
SET TimeZone = 'UTC';

-- Bounds: buckets that cannot hold a value that a condition wants are not read.
CREATE FOREIGN TABLE bounded (
  d timestamptz, k int, v float8 OPTIONS (field 'p.{second}', min_field 'min', max_field 'max'),
  n numeric OPTIONS (field 'q.{second}', missing_value '-1', max_field 'e.hi')
) SERVER pre_aggregates;
INSERT INTO bounded SELECT timestamptz '2024-01-01Z' + i * interval '10 seconds', i / 60, i, i / 10.0 FROM generate_series(0, 599) i;
CALL put('bounded', '[
  {"d": {"$date": "2025-01-01T00:00:00Z"}, "k": 91, "p": {"0": 700}},
  {"d": {"$date": "2025-01-01T00:01:00Z"}, "k": 92, "min": null, "max": 0, "p": {"0": 700}},
  {"d": {"$date": "2025-01-01T00:02:00Z"}, "k": 93, "min": {"$numberDouble": "NaN"}, "max": 0, "p": {"0": 0, "9": {"$numberDouble": "NaN"}}},
  {"d": {"$date": "2025-01-01T00:03:00Z"}, "k": 94, "min": 0, "max": "0", "p": {"0": 700}},
  {"d": {"$date": "2025-01-01T00:04:00Z"}, "k": 95, "min": 0, "max": 1, "p": {"0": 0, "9": 1}},
  {"d": {"$date": "2025-01-01T00:05:00Z"}, "k": 96, "e": [{"hi": 1}], "q": {"0": 70}},
  {"d": {"$date": "2025-01-01T00:06:00Z"}, "k": 97, "e": {"hi": -1}, "q": {"0": 70}},
  {"d": {"$date": "2025-01-01T00:07:00Z"}, "k": 98, "e": {"hi": {"$numberDecimal": "0.1"}}, "q": {"0": {"$numberDecimal": "0.1"}, "1": -1}}]');
SELECT plan('SELECT * FROM bounded WHERE v > 595', ', ANALYZE');
SELECT plan('SELECT k, count(*) FROM bounded WHERE v > 595 GROUP BY k', ', ANALYZE');
SELECT k, v FROM bounded WHERE v > 597 ORDER BY d;
SELECT reads('SELECT * FROM bounded WHERE v BETWEEN 100 AND 110');
SELECT reads('SELECT * FROM bounded WHERE v IN (3, 333)');
SELECT reads('SELECT * FROM bounded WHERE v < 1 OR v = 150');
SELECT reads('SELECT * FROM bounded WHERE NOT v < 595');
SELECT reads('SELECT * FROM bounded WHERE v <> 3');
SELECT reads($$SELECT * FROM bounded WHERE v >= 'NaN'$$);
SELECT k, n FROM bounded WHERE n >= 59.9 ORDER BY d;
SELECT plan('SELECT * FROM bounded WHERE n >= 59.9', ', ANALYZE');
-- The least value is not declared
SELECT plan('SELECT * FROM bounded WHERE n < 1');
-- Parameters, and the setting
PREPARE above (float8) AS SELECT count(*), min(v) FROM bounded WHERE v > $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE above (590);
EXECUTE above (NULL);
SET mongo_ts_fdw.enable_preaggregates = off;
EXECUTE above (590);
SELECT plan('SELECT * FROM bounded WHERE v > 595', ', ANALYZE');
RESET mongo_ts_fdw.enable_preaggregates;
RESET plan_cache_mode;
-- Writes find the same points
UPDATE bounded SET v = v + 1000 WHERE v > 598;
DELETE FROM bounded WHERE n < 0.2;
SELECT k, v, n FROM bounded WHERE v > 597 OR n < 0.3 ORDER BY d;
SELECT reads('SELECT * FROM bounded WHERE v > 1600');

-- Bounds of dates and text
CREATE FOREIGN TABLE alarms (
  d timestamptz OPTIONS (role 'time'), k int,
  seen timestamptz OPTIONS (field 's.{second}', min_field 'seen.lo', max_field 'seen.hi'),
  day date OPTIONS (field 'd_.{second}', min_field 'day.lo', max_field 'day.hi'),
  state text OPTIONS (field 't.{second}', missing_value 'none', min_field 'state.lo', max_field 'state.hi') COLLATE "C",
  note text OPTIONS (field 'n.{second}', max_field 'note.hi')
) SERVER pre_aggregates;
INSERT INTO alarms SELECT timestamptz '2024-01-01Z' + i * interval '10 seconds', i / 60, timestamptz '2024-02-01Z' + i * interval '1.5 seconds',
    date '2024-01-01' + i, 's' || lpad(i::text, 3, '0'), i FROM generate_series(0, 599) i;
CREATE FUNCTION bounds(filter json) RETURNS SETOF jsonb LANGUAGE sql AS $$
  SELECT jsonb_array_elements(mongo_ts_command('pre_aggregates', json_build_object('find', 'alarms', 'filter', filter,
    'projection', '{"_id": 0, "seen": 1, "day": 1, "state": 1, "note": 1}'::json, 'sort', '{"d": 1}'::json))->'cursor'->'firstBatch') $$;
SELECT bounds('{"d": {"$date": "2024-01-01T00:01:00Z"}}');
CALL put('alarms', '[
  {"d": {"$date": "2025-01-01T00:00:00Z"}, "k": 91, "s": {"0": {"$date": "2024-03-01T00:00:00Z"}}, "t": {"0": "z"}},
  {"d": {"$date": "2025-01-01T00:01:00Z"}, "k": 92, "seen": {"lo": "2024-02-01", "hi": {"$date": "2024-02-01T00:00:00Z"}},
    "state": {"lo": 7, "hi": "a"}, "s": {"0": {"$date": "2024-02-01T00:00:00Z"}, "1": "2024-03-01 00:00+00"}, "t": {"0": "a", "1": 7}},
  {"d": {"$date": "2025-01-01T00:02:00Z"}, "k": 93, "seen": {"lo": null, "hi": null}, "state": {"lo": "none", "hi": "none"},
    "s": {"0": null}, "t": {"0": "x", "1": "none"}},
  {"d": {"$date": "2025-01-01T00:03:00Z"}, "k": 94, "state": {"lo": "a", "hi": "c"}, "t": {"0": "a", "1": {"$symbol": "b"}, "2": "c"}},
  {"d": {"$date": "2025-01-01T00:04:00Z"}, "k": 95, "state": [{"lo": "a", "hi": "b"}], "t": {"0": "y"}},
  {"d": {"$date": "2025-01-01T00:05:00Z"}, "k": 96, "seen": {"lo": {"$date": {"$numberLong": "9223372036854775807"}},
    "hi": {"$date": {"$numberLong": "9223372036854775807"}}}, "s": {"0": null}},
  {"d": {"$date": "2025-01-01T00:06:00Z"}, "k": 97, "state": {"lo": "\u00e9", "hi": "\uffee"}, "t": {"0": "\u00e9", "1": "\uffee"}}]');
SELECT plan($$SELECT * FROM alarms WHERE seen < '2024-02-01 00:00:01.5005Z'$$, ', ANALYZE');
SELECT plan($$SELECT * FROM alarms WHERE state > 's595'$$, ', ANALYZE');
-- The rows of a condition, and the buckets that are read for them
CREATE FUNCTION bounded(condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  query text = 'SELECT k, seen, day, state, note FROM alarms WHERE ' || condition;
  answers text[];
BEGIN
  FOR i IN 1 .. 2 LOOP
    PERFORM set_config('mongo_ts_fdw.enable_preaggregates', (i = 1)::text, true);
    EXECUTE format('SELECT $1 || concat(count(*), '' rows'', string_agg(t::text, '' '' ORDER BY t::text)) FROM (%s) t', query)
      INTO answers USING answers;
  END LOOP;
  PERFORM set_config('mongo_ts_fdw.enable_preaggregates', 'on', true);
  RETURN CASE WHEN answers[1] = answers[2] THEN substring(answers[1] FROM '^\d+ rows') ELSE 'wrong' END ||
    ' from ' || (SELECT buckets FROM reads(query)) || ' buckets';
END $$;
SELECT bounded(condition) || ': ' || condition FROM unnest(ARRAY[
  $$seen < '2024-02-01 00:00:01.4995Z'$$, $$seen <= '2024-02-01 00:00:01.5Z'$$, $$seen = '2024-02-01 00:00:01.5Z'$$,
  $$seen = '2024-02-01 00:00:01.5005Z'$$, $$seen > '2024-02-01 00:14:57Z'$$, $$seen >= '2024-02-01 00:14:58.4995Z'$$,
  $$seen BETWEEN '2024-02-01 00:02Z' AND '2024-02-01 00:03Z'$$, $$seen IN ('2024-02-01 00:02:00Z', '2024-03-01Z')$$,
  $$seen < 'infinity'$$, $$seen > '294276-12-31Z'$$, $$seen <> '2024-02-01Z'$$, $$seen > date '2024-02-02'$$,
  $$seen > timestamp '2024-02-10'$$, $$NOT seen < '2024-03-01Z' OR state = 'b'$$,
  $$day = '2024-01-02'$$, $$day > '2025-08-20'$$, $$day < '-infinity'$$, $$day <= timestamp '2024-01-02 10:00'$$,
  $$day >= timestamptz '2025-08-20Z'$$, $$day > '5874897-12-31'$$,
  $$state = 's100'$$, $$state IN ('s003', 's333', 'b')$$, $$state < 'a'$$, $$state <= 'a'$$, $$state >= 'x'$$,
  $$state > E'\uffee'$$, $$state > 'é'$$, $$state BETWEEN 'b' AND 'bb'$$, $$state COLLATE "und-x-icu" BETWEEN 's595' AND 's9'$$,
  $$state COLLATE "und-x-icu" = 's595'$$, $$state LIKE 's59%'$$, $$state = 'none'$$,
  $$note = '595'$$, $$note COLLATE "C" > '98'$$]) AS condition;
-- A zone's local times are not in the order of instants
SET TimeZone = 'America/New_York';
SELECT bounded($$seen > date '2024-02-02'$$), bounded($$seen >= timestamp '2024-01-31 19:14'$$);
SET TimeZone = 'UTC';
-- Changes keep them
UPDATE alarms SET seen = seen + interval '1 year', state = 'z' || state WHERE state >= 's598' AND k < 90;
DELETE FROM alarms WHERE state < 's001' AND k < 90;
INSERT INTO alarms VALUES ('2024-01-01Z', 0, '2023-01-01Z', NULL, 'A', NULL);
SELECT k, seen, state FROM alarms WHERE (seen > '2025-01-01' OR seen < '2024-01-01') AND k < 90 ORDER BY d;
SELECT reads($$SELECT * FROM alarms WHERE state > 'zs' AND seen > '2025-01-01'$$);
SELECT bounds('{"k": {"$in": [0, 9]}, "d": {"$in": [{"$date": "2024-01-01T00:00:00Z"}, {"$date": "2024-01-01T01:39:00Z"}]}}');
-- The same by operators, without a pipeline
ALTER FOREIGN TABLE alarms OPTIONS (ADD assume_write_once 'true');
INSERT INTO alarms VALUES ('2026-01-01Z', 1, '2023-01-02Z', '2023-01-02', 'b', 'é'), ('2026-01-01 00:00:01Z', 1, '2023-01-03Z', NULL, 'a', 'z');
INSERT INTO alarms VALUES ('2026-01-01 00:00:02Z', 1, '2023-01-01Z', '2023-01-01', 'B', NULL), ('2026-01-01 00:00:03Z', 1, NULL, NULL, 'é', NULL);
SELECT bounds('{"d": {"$date": "2026-01-01T00:00:00Z"}}');
-- Only types that MongoDB orders alike
ALTER FOREIGN TABLE alarms ALTER seen OPTIONS (ADD format 'epoch');
SELECT 1 FROM alarms;
ALTER FOREIGN TABLE alarms ALTER seen OPTIONS (DROP format), ALTER state OPTIONS (ADD bson_type 'objectId');
SELECT 1 FROM alarms;
ALTER FOREIGN TABLE alarms ALTER state OPTIONS (DROP bson_type, ADD sum_field 'total');
SELECT 1 FROM alarms;

-- Partitions
CREATE TABLE parts (d timestamptz, k int, v float8) PARTITION BY RANGE (d);
ALTER TABLE parts ATTACH PARTITION odd FOR VALUES FROM ('2024-01-01') TO ('2024-01-02');
SET enable_partitionwise_aggregate = on;
EXPLAIN (COSTS OFF) SELECT k, max(v) FROM parts GROUP BY k;
SELECT same('SELECT k, max(v) FROM parts GROUP BY k');

SELECT mongo_ts_command('pre_aggregates', '{"dropDatabase": 1}')->'ok' AS dropped;
