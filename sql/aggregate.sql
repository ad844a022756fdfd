--
-- Compares partial aggregation in the scan with the same aggregates without
-- it.
--
\set suite aggregate
\i sql/include/suite.sql

\pset format unaligned
\pset tuples_only on

\i sql/include/same.sql

-- A minute in a bucket: doubles, except one bucket with a null and one with an
-- int
CREATE FOREIGN TABLE prices (
  d timestamptz, symbol text, price float8 OPTIONS (field 'p.{second}')
) SERVER aggregate;
INSERT INTO prices SELECT timestamptz '2024-03-10 05:00Z' + i * interval '7 seconds', 'S' || i % 3, i / 4.0
  FROM generate_series(0, 5999) i;
UPDATE prices SET price = NULL WHERE d = '2024-03-10 05:00:07Z';
CALL put('prices', '[{"d": {"$date": "2024-03-10T05:00:00Z"}, "symbol": "S4", "p": {"0": 1, "59": 2.5, "x": 3}},
  {"d": {"$date": "2024-03-10T05:00:00Z"}, "symbol": null, "p": {"1": {"$numberDouble": "NaN"}}},
  {"d": {"$date": "2024-03-10T06:00:00Z"}, "symbol": "S5", "p": {}}]');
SELECT plan($$SELECT count(*), avg(price) FROM prices$$, ', VERBOSE');
SELECT plan($$SELECT symbol, date_trunc('hour', d), max(price) FROM prices WHERE d >= '2024-03-10 06:00Z' GROUP BY 1, 2 HAVING count(*) > 100$$, ', ANALYZE');
-- An expression of a grouping expression does not group by its columns, too
SELECT plan($$SELECT date_trunc('hour', d) + interval '1 hour', upper(symbol), 2 * max(price) FROM prices GROUP BY date_trunc('hour', d), symbol HAVING date_trunc('hour', d) < '2024-03-10 09:00Z' OR min(price) > 0$$, ', VERBOSE');
SELECT same('SELECT date_trunc(''hour'', d) + interval ''1 hour'', upper(symbol), 2 * max(price) FROM prices GROUP BY date_trunc(''hour'', d), symbol HAVING date_trunc(''hour'', d) < ''2024-03-10 09:00Z'' OR min(price) > 0');
SELECT count(*), count(price), sum(price), avg(price), min(price), max(price), min(d), max(d) FROM prices WHERE symbol <> '';
SELECT same('SELECT count(*), count(price), sum(price), avg(price), min(price), max(price), min(d), max(d) FROM prices');
SELECT same('SELECT round(stddev(price)::numeric, 6), round(var_pop(price)::numeric, 6) FROM prices WHERE symbol = ''S1''');
SELECT same('SELECT count(*), sum(price), max(d) FROM prices WHERE symbol = ''none''');
SELECT same('SELECT count(*), sum(price), max(d) FROM prices WHERE false');
SELECT same('SELECT symbol, count(*), avg(price) FROM prices GROUP BY symbol');
SELECT same('SELECT DISTINCT symbol FROM prices');
SELECT same('SELECT symbol, upper(symbol), avg(price) FROM prices GROUP BY 1, 2 HAVING avg(price) > 700');
SELECT same('SELECT count(*) FILTER (WHERE symbol = ''S1''), sum(price) FILTER (WHERE symbol IN (''S1'', ''S2'')) FROM prices');
SELECT same('SELECT avg(price) FROM prices WHERE d > ''2024-03-10 05:30:11Z'' AND d <= ''2024-03-10 07:00:30Z''');
SELECT same('SELECT max(avg) - min(avg) FROM (SELECT avg(price) FROM prices GROUP BY symbol) t');
SELECT same('SELECT symbol, sum(price) OVER (), count(*) FROM (SELECT symbol, sum(price) AS price FROM prices GROUP BY symbol) t GROUP BY symbol, price');

-- Expressions that tools group by
SELECT same('SELECT floor(extract(epoch from d)/300)*300 AS "time", symbol AS metric, avg(price) FROM prices GROUP BY 1, 2 ORDER BY 1');
SELECT same('SELECT floor(extract(epoch from d)/10)*10, max(price) FROM prices GROUP BY 1');
SELECT same('SELECT date_trunc(''minute'', d) + interval ''30 seconds'' * floor(extract(second from d) / 30), max(price) FROM prices GROUP BY 1');
SELECT same('SELECT date_trunc(''hour'', d) AS "d", avg(price) FROM prices GROUP BY date_trunc(''hour'', d)');
SELECT same('SELECT date_trunc(''week'', d AT TIME ZONE ''America/New_York''), count(*) FROM prices GROUP BY 1');
SELECT same('SELECT to_timestamp(floor(extract(epoch from d)/3600)*3600), count(*) FROM prices GROUP BY 1');
SELECT same('SELECT date_bin(''15 minutes'', d, ''2001-01-01Z''), symbol, min(price) FROM prices GROUP BY 1, 2');
SELECT same('SELECT extract(hour from d), count(*) FROM prices GROUP BY 1');
SELECT same('SELECT d::date, symbol, count(*) FROM prices GROUP BY 1, 2');
SELECT same('SELECT date_trunc(''day'', d, ''Asia/Kolkata''), count(*) FROM prices GROUP BY 1');
SELECT same('SELECT date_trunc(''minute'', d), count(*), sum(price) FROM prices GROUP BY 1');
SELECT same('SELECT date_trunc(''second'', d), count(*) FROM prices WHERE d < ''2024-03-10 05:10Z'' GROUP BY 1');
SET TimeZone = 'America/New_York';
SELECT same('SELECT date_trunc(''hour'', d), count(*) FROM prices GROUP BY 1');
SELECT same('SELECT d::date, count(*) FROM prices GROUP BY 1');
SET TimeZone = 'UTC';

-- TimescaleDB's function, which another one imitates here
BEGIN;
CREATE FUNCTION time_bucket(w interval, t timestamptz, o interval DEFAULT '0') RETURNS timestamptz
IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN date_bin(w, t - o, ''2000-01-03Z'') + o; END';
SELECT same('SELECT time_bucket(''5 minutes'', d), symbol, avg(price) FROM prices GROUP BY 1, 2');
UPDATE pg_extension SET extname = 'timescaledb' WHERE extname = 'plpgsql';
ALTER EXTENSION timescaledb ADD FUNCTION time_bucket(interval, timestamptz, interval);
SELECT same('SELECT time_bucket(''5 minutes'', d), symbol, avg(price) FROM prices GROUP BY 1, 2');
SELECT same('SELECT time_bucket(''5 minutes'', d, ''1 minute''), count(*) FROM prices GROUP BY 1');
ROLLBACK;

-- Any expression that is not volatile
CREATE FUNCTION quarter_of(t timestamptz) RETURNS text STABLE LANGUAGE sql AS $$SELECT to_char(t, 'HH24') || extract(minute FROM t)::int / 15$$;
CREATE FUNCTION decade(v float8) RETURNS text IMMUTABLE STRICT LANGUAGE plpgsql AS 'BEGIN RETURN floor(v / 10); END';
SELECT same('SELECT d, count(*) FROM prices WHERE d < ''2024-03-10 05:01Z'' GROUP BY 1');
SELECT same('SELECT round(price), count(*) FROM prices GROUP BY 1');
SELECT same('SELECT decade(price), max(d) FROM prices GROUP BY 1');
SELECT same('SELECT symbol, decade(price / 10), quarter_of(d), count(*), avg(price) FROM prices GROUP BY 1, 2, 3');
SELECT same('SELECT quarter_of(d), count(*) FROM prices GROUP BY 1');
SELECT same('SELECT price > 100, price IS NULL, d::date, count(*) FROM prices GROUP BY 1, 2, 3');
SELECT same('SELECT CASE WHEN symbol = ''S1'' THEN date_trunc(''hour'', d) WHEN price < 500 THEN d END, sum(price) FROM prices GROUP BY 1');
SELECT same('SELECT CASE WHEN symbol = ''S1'' THEN date_trunc(''hour'', d) ELSE date_trunc(''day'', d) END, sum(price) FROM prices GROUP BY 1');
SELECT same('SELECT extract(second FROM d), to_char(d, ''MI:SS.MS''), count(*) FROM prices GROUP BY 1, 2');
SELECT same('SELECT d::time, d - date_trunc(''hour'', d), count(*) FROM prices GROUP BY 1, 2');
SELECT same('SELECT extract(year FROM d) * 10000 + extract(month FROM d) * 100 + extract(day FROM d), 24 - extract(hour FROM d), count(*) FROM prices GROUP BY 1, 2');
SELECT same('SELECT ARRAY[symbol, to_char(d, ''FMDy HH12 am'')], jsonb_build_object(''q'', extract(quarter FROM d)), count(*) FROM prices GROUP BY 1, 2');
SELECT same('SELECT least(price, 5), greatest(d, ''2024-03-10 06:00Z''), count(*) FROM prices GROUP BY 1, 2');
-- The time is not the usual argument.
SELECT same('SELECT date ''2024-01-01'' + (extract(epoch FROM d) / 3600 - 475000)::int, count(*) FROM prices GROUP BY 1');
SELECT same('SELECT date_bin(''90 minutes'', ''2024-03-10 07:00Z'', d), count(*) FROM prices GROUP BY 1');
SELECT same('SELECT date_bin(''90 minutes'', ''2024-03-10 07:00Z'', date_trunc(''hour'', d)), count(*) FROM prices GROUP BY 1');
SELECT same('SELECT date_trunc(to_char(d, ''"hour"''), timestamptz ''2024-03-10 07:00Z''), to_char(timestamptz ''2024-03-10 07:00Z'', to_char(d, ''HH24'')), count(*) FROM prices GROUP BY 1, 2');
SELECT same('SELECT timestamp ''2024-03-10 07:00'' AT TIME ZONE to_char(d, ''"UTC"''), date_part(to_char(d, ''"hour"''), timestamp ''2024-03-10 07:00''), count(*) FROM prices GROUP BY 1, 2');
SELECT same('SELECT 1e6 / extract(hour FROM d + interval ''1 hour''), 20 - extract(hour FROM d), -extract(hour FROM d), count(*) FROM prices GROUP BY 1, 2, 3');
SELECT same('SELECT prices, count(*) FROM prices WHERE price < 1 GROUP BY prices');
SELECT same('SELECT DISTINCT symbol, price > 7, extract(hour FROM d) FROM prices');
SET TimeZone = 'America/New_York';
SELECT same('SELECT to_char(d, ''HH24 TZ''), extract(hour FROM d AT TIME ZONE ''Europe/Berlin''), extract(timezone FROM d), count(*) FROM prices GROUP BY 1, 2, 3');
SELECT same('SELECT quarter_of(d), date_trunc(''hour'', d + interval ''1 day''), date_trunc(''day'', d - interval ''3 days'', ''Asia/Kolkata''), sum(price) FROM prices GROUP BY 1, 2, 3');
SET TimeZone = 'UTC';

-- Aggregates that are not exact in the scan are computed from rows.
SELECT same('SELECT avg(price) FROM prices WHERE price > 100 AND random() < 2');
SELECT same('SELECT avg(price) FROM prices WHERE d < ''2024-03-10 05:01Z'' AND price > (SELECT p.price FROM prices p WHERE p.symbol = prices.symbol ORDER BY d LIMIT 1)');
SELECT same('SELECT sum(random() * 0 + price) FROM prices');
SELECT same('SELECT count(*) FROM prices WHERE tableoid = ''prices''::regclass');
SELECT same('SELECT count(DISTINCT symbol), count(*) FROM prices');
SELECT same('SELECT symbol, mode() WITHIN GROUP (ORDER BY price) FROM prices GROUP BY GROUPING SETS ((symbol), ())');
SELECT same('SELECT random() < 2, count(*) FROM prices GROUP BY 1');
SELECT same('SELECT generate_series(1, 2), count(*) FROM prices GROUP BY 1');
SELECT same('SELECT x, count(*) FROM prices p LEFT JOIN LATERAL (SELECT coalesce(p.symbol, ''z'') AS x) ss ON true GROUP BY x');
CREATE FOREIGN TABLE family (d timestamptz, symbol text, price float8 OPTIONS (field 'p.{second}')) SERVER aggregate OPTIONS (collection 'prices');
CREATE TABLE child () INHERITS (family);
INSERT INTO child VALUES ('2024-03-10 05:00Z', 'CHILD', 5);
SELECT same('SELECT symbol, count(*), sum(price) FROM family GROUP BY symbol');
SELECT same('SELECT symbol, count(*), sum(price) FROM ONLY family GROUP BY symbol');
CREATE FOREIGN TABLE deeper (d timestamptz, v float8 OPTIONS (field 'p.{second}'), x float8 OPTIONS (field 'p.{second}.x'))
  SERVER aggregate OPTIONS (collection 'prices', on_invalid 'skip');
SET client_min_messages = error;
SELECT same('SELECT sum(x), count(x) FROM deeper');
RESET client_min_messages;

-- Clocks change at the start of a bucket, and expressions look back before it;
-- one expression's time is that of no point
CREATE FOREIGN TABLE hours (d timestamptz, k text, v float8 OPTIONS (field 'v.{minute}')) SERVER aggregate OPTIONS (bucket_span '1 hour');
INSERT INTO hours SELECT timestamptz '2024-11-03 04:00Z' + i * interval '1 minute', 'a', i FROM generate_series(0, 299) i;
INSERT INTO hours SELECT timestamptz '2038-01-19 03:00Z' + i * interval '1 minute', 'b', i FROM generate_series(0, 9) i;
SELECT same('SELECT date_bin(''15 minutes'', d, ''2001-01-01 00:07Z'') AT TIME ZONE ''America/New_York'', count(*), min(v), max(v) FROM hours GROUP BY 1');
SELECT same('SELECT d AT TIME ZONE ''America/New_York'' < ''2024-11-03 01:30'', count(*), min(v), max(v) FROM hours GROUP BY 1');
SELECT same('SELECT date_trunc(''hour'', d AT TIME ZONE ''America/New_York''), count(*), min(v), max(v) FROM hours GROUP BY 1');
SELECT same('SELECT floor(extract(epoch from d)/300)::int*300, count(*) FROM hours WHERE k = ''b'' GROUP BY 1');

-- An hour in which clocks are set back beyond its start (Newfoundland, a
-- minute past midnight)
CREATE FOREIGN TABLE nights (ts timestamptz, v int OPTIONS (field 'v.{minute}')) SERVER aggregate OPTIONS (bucket_span '4 hours');
INSERT INTO nights SELECT timestamptz '2007-11-04 00:00Z' + i * interval '1 minute', i FROM generate_series(0, 719) i;
SET TimeZone = 'America/St_Johns';
SELECT same('SELECT ts::date, count(*), min(v), max(v) FROM nights GROUP BY 1');
SELECT same('SELECT date_trunc(''day'', ts), sum(v) FROM nights GROUP BY 1');
SELECT same('SELECT to_timestamp(extract(epoch from ts) - 14400)::date, count(*), min(v), max(v) FROM nights GROUP BY 1');
SELECT ts::date, count(*), min(v), max(v) FROM nights GROUP BY 1 ORDER BY 1;
SET TimeZone = 'UTC';
-- The zone is that of the time when rows are fetched.
BEGIN;
DECLARE c CURSOR FOR SELECT ts::date, count(*), min(v), max(v) FROM nights GROUP BY 1 ORDER BY 1;
SET LOCAL TimeZone = 'America/St_Johns';
FETCH ALL FROM c;
COMMIT;

-- Other layouts and types
CREATE FOREIGN TABLE nested (
  ts timestamptz, k int, i int OPTIONS (field 'i.{minute}.{second}'), l int8 OPTIONS (field 'l.{minute}.{second}'),
  n numeric OPTIONS (field 'n.{minute}.{second}'), b boolean OPTIONS (field 'b.{minute}.{second}'), f float4 OPTIONS (field 'f.{minute}.{second}')
) SERVER aggregate;
INSERT INTO nested SELECT timestamptz '2020-01-01Z' + i * interval '97 seconds', i % 2, i, 9223372036854775807 - i, i / 100.0, i % 7 <> 0, i / 8.0
  FROM generate_series(0, 499) i;
SELECT same('SELECT sum(i), avg(i), stddev(i), variance(i), sum(l), avg(l), stddev_pop(l), sum(n), avg(n), stddev(n), min(n), max(l) FROM nested');
SELECT same('SELECT k, bool_and(b), bool_or(b), every(b), sum(f), avg(f), min(f), bit_xor(i) FROM nested GROUP BY k');
SELECT same('SELECT date_trunc(''minute'', ts), k, sum(l) FROM nested GROUP BY 1, 2');
CREATE FOREIGN TABLE samples (at timestamptz OPTIONS (field 's[].t'), k text, v int OPTIONS (field 's[].v'))
  SERVER aggregate OPTIONS (bucket_time_field 'day', bucket_span '1 day');
INSERT INTO samples SELECT timestamptz '2020-01-01Z' + i * interval '1234 seconds', 'k' || i % 3, i FROM generate_series(0, 999) i;
SELECT same('SELECT k, date_trunc(''day'', at), count(*), avg(v) FROM samples GROUP BY 1, 2');
SELECT same('SELECT date_trunc(''hour'', at), max(v) FROM samples GROUP BY 1');
CREATE FOREIGN TABLE events (ts timestamptz, k text, v int) SERVER aggregate;
INSERT INTO events SELECT timestamptz '2020-01-01Z' + i * interval '1 hour', 'k' || i % 3, i FROM generate_series(0, 99) i;
SELECT same('SELECT k, date_trunc(''day'', ts), count(*), sum(v), max(k) FROM events GROUP BY 1, 2');
CREATE FOREIGN TABLE local (ts timestamp, v int OPTIONS (field 'v.{minute}')) SERVER aggregate OPTIONS (bucket_time_zone 'Europe/Berlin', collection 'nights', bucket_span '4 hours');
SELECT same('SELECT date_trunc(''hour'', ts), count(*) FROM local GROUP BY 1');
CREATE FOREIGN TABLE lenient (d timestamptz, symbol text, price float8 OPTIONS (field 'p.{second}'))
  SERVER aggregate OPTIONS (collection 'lenient', on_invalid 'skip');
CALL put('lenient', '[{"d": {"$date": "2024-03-10T05:00:00Z"}, "symbol": "S4", "p": {"0": 1.5, "1": "x", "07": 3.5, "60": 4.5}}]');
SELECT count(*), sum(price) FROM lenient;
ALTER FOREIGN TABLE lenient OPTIONS (SET on_invalid 'error');
SELECT try('SELECT count(*), sum(price) FROM lenient');
-- A count requires only keys, not values.
SELECT try('SELECT count(*) FROM lenient');

-- Parameters, rescans, joins and partitions
SET plan_cache_mode = force_generic_plan;
PREPARE hourly (text, timestamptz) AS
  SELECT date_trunc('hour', d), count(*), min(price) FROM prices WHERE symbol = $1 AND d >= $2 GROUP BY 1 ORDER BY 1;
EXPLAIN (COSTS OFF) EXECUTE hourly ('S1', '2024-03-10 15:00Z');
EXECUTE hourly ('S1', '2024-03-10 15:00Z');
EXECUTE hourly ('S2', '2024-03-10 16:00Z');
RESET plan_cache_mode;
SELECT s, (SELECT count(*) FROM prices p WHERE p.symbol = s), t.* FROM unnest(ARRAY['S1', 'S4', 'none']) s,
  LATERAL (SELECT max(price), count(*) FROM prices p WHERE p.symbol = s OFFSET 0) t;
SELECT same('SELECT s.symbol, t.* FROM (VALUES (''S1''), (''S2'')) s (symbol), LATERAL (SELECT date_trunc(''hour'', d), avg(price) FROM prices p WHERE p.symbol = s.symbol GROUP BY 1) t');
-- Groups that exceed the memory are emitted more than once.
SET work_mem = '64kB';
SELECT same('SELECT symbol, date_trunc(''minute'', d), count(*), avg(price) FROM prices GROUP BY 1, 2');
RESET work_mem;

SELECT mongo_ts_command('aggregate', '{"dropDatabase": 1}')->'ok' AS dropped;
