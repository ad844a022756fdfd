--
-- Tests that aggregations of points are answered by roll-ups, as far as these
-- are complete, with the same result.
--
\set suite rollup
\i sql/include/suite.sql
\i sql/include/same.sql

\pset format unaligned
\pset tuples_only on

-- The roll-ups of a plan in JSON
CREATE FUNCTION roll_ups(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  plan jsonb;
BEGIN
  EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || query INTO plan;
  RETURN jsonb_pretty(plan #> '{0,Plan,Plans,0,Roll-ups}');
END
$$;

-- Run a query with and without roll-ups.  Shows whether these are used, the
-- number of rows, and differences.
CREATE FUNCTION by_rollups(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  used text;
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    IF line ~ 'Roll-up: ' AND line !~ ', not used: ' THEN
      used = concat_ws(' and ', used, substring(line FROM 'Roll-up: (\w+)'));
    END IF;
  END LOOP;
  RETURN coalesce('by ' || used, 'by points') || ', ' || rows_of(query, 'mongo_ts_fdw.enable_rollups');
END $$;

-- A refresh takes no document for a late one: all are older than the last refresh.
CREATE PROCEDURE pass_time() LANGUAGE sql AS $$
  SELECT mongo_ts_command('rollup', '{"update": "mongo_ts_rollups", "updates": [
    {"q": {"until": {"$exists": true}}, "u": {"$set": {"refreshed": {"$date": "2100-01-01T00:00:00Z"}}}, "multi": true}]}')
$$;
-- Set up to when a roll-up is complete, except for ranges.  A refresh before
-- all points makes its state.  It takes no document for a late one.
CREATE PROCEDURE state(rollup text, until timestamptz, stale text DEFAULT '[]') LANGUAGE plpgsql AS $$
BEGIN
  CALL pass_time();
  PERFORM mongo_ts_refresh_rollup(rollup::regclass, end_time => '2000-01-01Z');
  PERFORM mongo_ts_command('rollup', json_build_object('update', 'mongo_ts_rollups', 'updates', json_build_array(
    json_build_object('q', json_build_object('_id', rollup), 'u', json_build_object('$set', json_build_object('until',
      json_build_object('$date', to_char(until, 'YYYY-MM-DD"T"HH24:MI:SS"Z"')), 'stale', stale::json))))));
END $$;

-- Points of a week, every 7 minutes; some values are null or not a number
CREATE FOREIGN TABLE points (
  ts timestamptz OPTIONS (field 'hour'), sensor text COLLATE "C", site int,
  temp float8 OPTIONS (field 'v.{minute}.t'), n int OPTIONS (field 'v.{minute}.n'),
  big int8 OPTIONS (field 'v.{minute}.b')
) SERVER rollup;
INSERT INTO points
SELECT timestamptz '2024-03-28Z' + i * interval '7 minutes', 's' || i % 5, i % 2,
    CASE WHEN i = 700 THEN 'NaN' WHEN i % 11 > 0 THEN i / 8.0 END, CASE WHEN i % 7 > 1 THEN i % 50 END, i % 9
  FROM generate_series(0, 1500) i;

-- A roll-up by hours, and one of it by days, whose rows after a time are wrong
CREATE FOREIGN TABLE points_1h (
  ts timestamptz OPTIONS (field 'day'), sensor text COLLATE "C", site int,
  points bigint OPTIONS (field 'h.{hour}.points', rollup 'count'),
  temp_n bigint OPTIONS (field 'h.{hour}.temp.n', rollup 'count', rollup_column 'temp'),
  temp_sum float8 OPTIONS (field 'h.{hour}.temp.sum', rollup 'sum', rollup_column 'temp'),
  temp_min float8 OPTIONS (field 'h.{hour}.temp.min', rollup 'min', rollup_column 'temp'),
  temp_max float8 OPTIONS (field 'h.{hour}.temp.max', rollup 'max', rollup_column 'temp'),
  n_sum bigint OPTIONS (field 'h.{hour}.n.sum', rollup 'sum', rollup_column 'n'),
  n_max int OPTIONS (field 'h.{hour}.n.max', rollup 'max', rollup_column 'n'),
  big_n bigint OPTIONS (field 'h.{hour}.big.n', rollup 'count', rollup_column 'big'),
  big_sum bigint OPTIONS (field 'h.{hour}.big.sum', rollup 'sum', rollup_column 'big')
) SERVER rollup OPTIONS (rollup_of 'rollup.points', rollup_interval '1 hour');
INSERT INTO points_1h
SELECT date_trunc('hour', ts, 'UTC'), sensor, site, count(*), count(temp), sum(temp), min(temp), max(temp), sum(n), max(n),
    count(big), sum(big)
  FROM points WHERE ts < '2024-04-02Z' GROUP BY 1, 2, 3;
UPDATE points_1h SET points = 1000, temp_sum = 1e9 WHERE ts >= '2024-04-01 20:00Z' OR ts = '2024-03-30 10:00Z';
CREATE FOREIGN TABLE points_1d (
  ts timestamptz, sensor text COLLATE "C", points bigint OPTIONS (rollup 'count'),
  temp_n bigint OPTIONS (rollup 'count', rollup_column 'temp'),
  temp_sum float8 OPTIONS (rollup 'sum', rollup_column 'temp')
) SERVER rollup OPTIONS (rollup_of 'rollup.points_1h', rollup_interval '1 day', rollup_zone 'Europe/Berlin');
INSERT INTO points_1d SELECT date_trunc('day', ts, 'Europe/Berlin'), sensor, count(*), count(temp), sum(temp) FROM points GROUP BY 1, 2;
UPDATE points_1d SET points = 1000, temp_sum = 1e9 WHERE ts < '2024-03-28Z' OR ts >= '2024-03-31 22:00Z';
ANALYZE points;
ANALYZE points_1h;
ANALYZE points_1d;
-- Plans for many points
UPDATE pg_class SET reltuples = 1000 * reltuples, relpages = 1000 * relpages WHERE oid = 'points'::regclass;

-- Nothing is complete without a state
SELECT plan('SELECT date_trunc(''day'', ts), sensor, max(temp) FROM points GROUP BY 1, 2');
CALL state('points_1h', '2024-04-01 20:00', '[{"from": {"$date": "2024-03-30T10:20:00Z"}, "to": {"$date": "2024-03-30T10:40:00Z"}}]');
CALL state('points_1d', '2024-03-31 22:00', '[{"from": {"$date": "2024-03-28T05:00:00Z"}, "to": {"$date": "2024-03-28T05:00:01Z"}}]');
SELECT plan($$SELECT date_trunc('day', ts), sensor, max(temp) FROM points WHERE ts >= '2024-03-28 05:30Z' AND sensor > 's1' GROUP BY 1, 2$$, ', ANALYZE');
SELECT plan($$SELECT sensor, avg(temp) FROM points WHERE sensor <= 's1' GROUP BY 1$$, ', ANALYZE');
SELECT roll_ups('SELECT count(*) FROM points');

-- Answered by both, by hours, or by points
SELECT query, by_rollups(query) FROM unnest(ARRAY[
  $$SELECT count(*), count(temp), sum(temp), avg(temp) FROM points$$,
  $$SELECT date_trunc('day', ts, 'Europe/Berlin'), count(*), avg(temp) FROM points GROUP BY 1$$,
  $$SELECT date_trunc('month', ts, 'Europe/Berlin'), sensor, count(*), avg(temp) FROM points GROUP BY 1, 2 HAVING count(*) > 10$$,
  $$SELECT date_trunc('week', ts, 'Europe/Berlin'), count(*), avg(temp) FROM points GROUP BY 1$$,
  $$SELECT ts::date, sensor || '!', site + 1, count(*) FROM points GROUP BY 1, 2, 3$$,
  $$SELECT sum(n), max(n), avg(big), sum(big) FROM points WHERE ts < '2024-03-30 10:30Z'$$,
  $$SELECT date_trunc('day', ts, 'Asia/Kolkata'), count(*), max(temp) FROM points GROUP BY 1$$,
  $$SELECT extract(hour FROM ts), count(*) FROM points GROUP BY 1$$,
  $$SELECT DISTINCT sensor FROM points$$,
  $$SELECT sensor, count(*) FILTER (WHERE site = 1), max(temp) FILTER (WHERE sensor <> 's3') FROM points WHERE sensor LIKE 's%' AND site + 1 < 3 GROUP BY 1$$,
  $$SELECT count(*), sum(temp) FROM points WHERE ts < '2024-03-29Z' OR ts > '2024-04-01 12:12Z'$$,
  $$SELECT count(*), sum(temp) FROM points WHERE sensor = 'none'$$,
  $$SELECT count(*), sum(temp) FROM points WHERE ts > '2024-05-01Z'$$,
  $$SELECT sensor, d, sum(n), sum(s) FROM (SELECT sensor, date_trunc('day', ts) AS d, count(*) AS n, sum(temp) AS s FROM points GROUP BY 1, 2) AS g GROUP BY ROLLUP (1, 2)$$,
  $$SELECT d, (SELECT avg(temp) FROM points WHERE ts >= d AND ts < d + interval '36 hours') FROM generate_series(timestamptz '2024-03-27Z', '2024-04-05Z', '1 day') d$$,
  $$SELECT s.name, count(*), max(temp) FROM points JOIN (VALUES ('s1', 'one'), ('s2', 'two'), ('s2', 'again')) s (sensor, name) USING (sensor) GROUP BY 1$$,
  -- by points
  $$SELECT date_trunc('minute', ts), count(*) FROM points GROUP BY 1$$,
  $$SELECT count(*), stddev(temp) FROM points$$,
  $$SELECT min(n), count(n) FROM points$$,
  $$SELECT sum(temp + 1) FROM points$$,
  $$SELECT sensor, max(ts) FROM points GROUP BY 1$$,
  $$SELECT count(*) FROM points WHERE temp > 3$$,
  $$SELECT count(*) FILTER (WHERE temp > 3), count(*) FROM points$$,
  $$SELECT temp > 100, count(*) FROM points GROUP BY 1$$,
  $$SELECT count(*) FROM points WHERE ts::time < '12:00'$$,
  $$SELECT count(*), count(temp) FROM points WHERE ts < '2024-03-29Z' OR sensor = 's1'$$]) query;

-- Plans follow what is declared
PREPARE averages AS SELECT date_trunc('day', ts, 'Europe/Berlin'), avg(temp) FROM points GROUP BY 1;
SET plan_cache_mode = force_generic_plan;
SELECT plan('EXECUTE averages');
ALTER FOREIGN TABLE points_1d ALTER temp_n OPTIONS (DROP rollup, DROP rollup_column);
SELECT plan('EXECUTE averages');
DROP FOREIGN TABLE points_1d;
SELECT plan('EXECUTE averages');
SET mongo_ts_fdw.enable_rollups = off;
DEALLOCATE averages;
SELECT plan('SELECT date_trunc(''day'', ts), avg(temp) FROM points GROUP BY 1');
RESET mongo_ts_fdw.enable_rollups;
RESET plan_cache_mode;

-- A roll-up answers who may read the points, if its owner is that of the points
CREATE ROLE rollup_reader;
CREATE ROLE rollup_owner;
GRANT USAGE ON SCHEMA rollup TO rollup_reader;
GRANT SELECT ON points TO rollup_reader;
SET ROLE rollup_reader;
SELECT by_rollups('SELECT sensor, avg(temp) FROM points GROUP BY 1');
SELECT count(*) FROM points_1h;
RESET ROLE;
ALTER FOREIGN TABLE points_1h OWNER TO rollup_owner;
SELECT by_rollups('SELECT sensor, avg(temp) FROM points GROUP BY 1');
ALTER FOREIGN TABLE points_1h OWNER TO CURRENT_USER;
ALTER FOREIGN TABLE points OWNER TO rollup_owner;
SELECT by_rollups('SELECT sensor, avg(temp) FROM points GROUP BY 1');
ALTER FOREIGN TABLE points OWNER TO CURRENT_USER;
SELECT by_rollups('SELECT sensor, avg(temp) FROM points GROUP BY 1');
DROP OWNED BY rollup_reader;
DROP ROLE rollup_reader, rollup_owner;

-- A roll-up whose rows were computed by other options of it or its points is
-- not used.
CREATE FUNCTION altered(relation text, changes text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  change text;
BEGIN
  FOREACH change IN ARRAY changes LOOP
    EXECUTE format('ALTER FOREIGN TABLE %s %s', relation, change);
  END LOOP;
  RETURN QUERY EXECUTE 'EXPLAIN (COSTS OFF) SELECT count(*), sum(temp) FROM points';
END $$;
CREATE FUNCTION try_altered(relation text, VARIADIC changes text[] DEFAULT '{}') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  answer text;
BEGIN
  BEGIN
    SELECT string_agg(trim(line), E'\n') FILTER (WHERE line ~ 'Roll-up: ') INTO answer FROM altered(relation, changes) line;
    answer = concat_ws(E'\n', answer, rows_of('SELECT count(*), sum(temp), max(temp) FROM points', 'mongo_ts_fdw.enable_rollups'));
    RAISE EXCEPTION SQLSTATE 'UNDON';
  EXCEPTION WHEN SQLSTATE 'UNDON' THEN
  END;
  RETURN concat_ws(': ', array_to_string(changes, ', '), answer);
END $$;
SELECT try_altered('points');
SELECT try_altered('points', 'RENAME temp TO t', 'RENAME big TO temp', 'RENAME t TO big', $$ALTER temp TYPE float8$$);
SELECT try_altered('points', $$ALTER temp OPTIONS (SET field 'v.{minute}.b')$$);
SELECT try_altered('points', $$ALTER temp OPTIONS (ADD missing_value '15')$$);
SELECT try_altered('points', $$OPTIONS (ADD filter '{"sensor": "s1"}')$$);
SELECT try_altered('points', $$ALTER sensor OPTIONS (ADD field 'site')$$);
SELECT try_altered('points', $$OPTIONS (ADD database 'mts_regress_other')$$);
SELECT try_altered('points', $$OPTIONS (ADD collection 'flat')$$);
SELECT try_altered('points', $$ADD other int OPTIONS (field 'v.{minute}.o')$$);
SELECT try_altered('points_1h', $$ALTER temp_sum OPTIONS (SET field 'h.{hour}.temp.max')$$);
-- nor one whose options make no roll-up of its rows
SELECT try_altered('points_1h', $$OPTIONS (SET rollup_interval '1 day')$$);
SELECT try_altered('points_1h', $$OPTIONS (SET rollup_interval '2 hours')$$);
SELECT try_altered('points_1h', $$OPTIONS (SET rollup_interval '1 day', ADD rollup_zone 'Asia/Kolkata')$$);
SELECT try_altered('points_1h', $$OPTIONS (ADD rollup_zone 'Asia/Kolkata')$$);
SELECT try_altered('points_1h', $$OPTIONS (DROP rollup_interval)$$);
-- What does not matter to its rows is ignored, and so is the order of options.
SELECT try_altered('points', $$OPTIONS (ADD fetch_size '7', ADD updatable 'false')$$, $$ALTER temp OPTIONS (DROP field)$$, $$ALTER temp OPTIONS (ADD missing_value '-1', ADD field 'v.{minute}.t')$$, $$ALTER temp OPTIONS (DROP missing_value)$$);
-- As long as all rows are of other options, a refresh that computes none returns NULL.
BEGIN;
ALTER FOREIGN TABLE points OPTIONS (ADD filter '{"sensor": "s1"}');
SELECT mongo_ts_refresh_rollup('points_1h', '2100-01-01', '2100-01-02') IS NULL AS is_null;
ROLLBACK;
-- Neither is one with a state that is invalid.
SELECT mongo_ts_command('rollup', '{"update": "mongo_ts_rollups", "updates": [{"q": {"_id": "points_1h"}, "u": {"$set": {"until": {"$date": "2024-04-01T20:10:00Z"}}}}]}')->'n';
SELECT try_altered('points');
SELECT try($$SELECT mongo_ts_refresh_rollup('points_1h')$$);
SELECT mongo_ts_command('rollup', '{"update": "mongo_ts_rollups", "updates": [{"q": {"_id": "points_1h"}, "u": {"$set": {"until": {"$date": "2024-04-01T20:00:00Z"}}}}]}')->'n';

-- An application maintains a roll-up up to an hour ago
ALTER FOREIGN TABLE points_1h OPTIONS (ADD rollup_maintained_by 'application', ADD rollup_lag '1 hour');
SELECT count(*) > 1501 FROM points;
ALTER FOREIGN TABLE points_1h OPTIONS (DROP rollup_maintained_by, DROP rollup_lag);

-- Rows that no refresh makes
CALL put('points_1h', '[{"day": {"$date": "2024-02-01T00:30:00Z"}, "sensor": "x", "h": {"1": {"points": 1}}}]');
SELECT try('SELECT count(*) FROM points');
SELECT mongo_ts_command('rollup', '{"delete": "points_1h", "deletes": [{"q": {"sensor": "x"}, "limit": 0}]}')->'n';
CALL put('points_1h', '[{"day": {"$date": "2024-02-01T00:00:00Z"}, "sensor": "x", "h": {"1": {"points": -1}}}]');
SELECT try('SELECT count(*) FROM points');
SELECT mongo_ts_command('rollup', '{"delete": "points_1h", "deletes": [{"q": {"sensor": "x"}, "limit": 0}]}')->'n';
CALL put('points_1h', '[{"day": {"$date": "2024-02-01T00:00:00Z"}, "sensor": "x", "h": {"1": {"points": 1, "temp": {"n": 1}}}}]');
SELECT try('SELECT avg(temp) FROM points');
SELECT count(*) FROM points;
-- and no points
CALL put('points_1h', '[{"day": {"$date": "2024-02-01T00:00:00Z"}, "sensor": "y", "h": {"1": {"points": 0, "temp": {"n": 0}}}}]');
SELECT by_rollups('SELECT sensor, count(*) FROM points WHERE sensor > ''x'' GROUP BY 1');

-- Documents that are rows: one without a time is in no interval
CREATE FOREIGN TABLE flat (ts timestamptz, v int) SERVER rollup;
CREATE FOREIGN TABLE flat_1h (ts timestamptz, n bigint OPTIONS (rollup 'count'), sum bigint OPTIONS (rollup 'sum', rollup_column 'v'))
  SERVER rollup OPTIONS (rollup_of 'rollup.flat', rollup_interval '1 hour');
INSERT INTO flat SELECT timestamptz '2024-03-01Z' + i * interval '7 minutes', i FROM generate_series(0, 3000) i;
CALL put('flat', '[{"v": 5}, {"ts": null, "v": 6}]');
INSERT INTO flat_1h SELECT date_trunc('hour', ts, 'UTC'), count(*), sum(v) FROM flat WHERE ts IS NOT NULL GROUP BY 1;
CALL state('flat_1h', '2024-03-10');
UPDATE pg_class SET reltuples = 1e7, relpages = 1e7 WHERE oid = 'flat'::regclass;
SELECT by_rollups('SELECT count(*), sum(v) FROM flat');
SELECT by_rollups('SELECT count(*), sum(v) FROM flat WHERE ts IS NOT NULL');
SELECT by_rollups('SELECT count(*), sum(v) FROM flat WHERE ts > ''2024-03-01 00:43Z''');
SELECT by_rollups('SELECT ts::date, count(*) FROM flat WHERE ts > ''2024-03-01 00:43Z'' GROUP BY 1');

-- A refresh reads its source, also if another roll-up has the totals
CREATE FOREIGN TABLE twice (ts timestamptz OPTIONS (field 'hour'), v float8 OPTIONS (field 'v.{minute}')) SERVER rollup;
INSERT INTO twice SELECT timestamptz '2024-03-01Z' + i * interval '1 minute', 1 FROM generate_series(0, 9999) i;
SELECT mongo_ts_create_rollup('twice', '1 minute', name => 'twice_1m'), mongo_ts_create_rollup('twice', '1 hour');
SELECT mongo_ts_refresh_rollup('twice_1m', end_time => '2024-03-07Z'), mongo_ts_refresh_rollup('twice_1h', end_time => '2024-03-07Z');
SELECT mongo_ts_command('rollup', '{"update": "twice", "updates": [{"q": {"hour": {"$date": "2024-03-02T10:00:00Z"}}, "u": {"$set": {"v.7": 1000}}}]}')->'n';
UPDATE pg_class SET reltuples = 1e7, relpages = 1e5 WHERE oid = 'twice'::regclass;
SELECT mongo_ts_refresh_rollup('twice_1h', '2024-03-02 10:00Z', '2024-03-02 11:00Z');
SELECT temp.v_sum, points FROM twice_1h temp WHERE ts = '2024-03-02 10:00Z';
-- and the roll-ups of a roll-up are those of the points
SELECT by_rollups('SELECT sum(points) FROM twice_1m');

-- Keys that are equal, but differ, have one row
CREATE FOREIGN TABLE decimals (ts timestamptz, k numeric, site int, v int OPTIONS (field 'v.{minute}')) SERVER rollup;
CALL put('decimals', '[{"ts": {"$date": "2024-03-01T00:00:00Z"}, "k": {"$numberDecimal": "1.0"}, "site": 1, "v": {"1": 1, "2": 2}},
  {"ts": {"$date": "2024-03-01T00:00:00Z"}, "k": {"$numberDecimal": "1.00"}, "site": 1, "v": {"3": 3}}]');
SELECT mongo_ts_create_rollup('decimals', '1 hour');
SELECT mongo_ts_refresh_rollup('decimals_1h', end_time => '2024-03-02Z');
UPDATE pg_class SET reltuples = 1e7, relpages = 1e5 WHERE oid = 'decimals'::regclass;
SELECT by_rollups('SELECT k::text, count(*) FROM decimals GROUP BY 1'), by_rollups('SELECT count(*) FROM decimals WHERE scale(k) = 1'), by_rollups('SELECT site, count(*) FROM decimals GROUP BY 1');

-- Totals of numeric, texts and times, in their own types, collations and formats
CREATE FOREIGN TABLE trades (
  ts timestamptz OPTIONS (field 'hour', role 'time'), k text COLLATE "C",
  price  numeric     OPTIONS (field 'v.{minute}.p'),
  name   text        OPTIONS (field 'v.{minute}.n'),
  code   text        OPTIONS (field 'v.{minute}.c') COLLATE "C",
  seen   timestamptz OPTIONS (field 'v.{minute}.s', format 'epoch_us'),
  day    date        OPTIONS (field 'v.{minute}.d'),
  short  varchar(9)  OPTIONS (field 'v.{minute}.v')
) SERVER rollup;
INSERT INTO trades
SELECT timestamptz '2024-03-28Z' + i * interval '7 minutes', 'k' || i % 3,
    CASE WHEN i % 4 = 0 THEN NULL WHEN i % 3 = 0 THEN 1e20 / (i + 1) ELSE i % 50 + 0.10 END,
    (ARRAY['b', 'A', 'a', 'B', NULL, 'Z', 'z'])[i % 7 + 1] || i % 5, (ARRAY['b', 'A', 'a', 'B'])[i % 4 + 1],
    CASE WHEN i % 5 > 0 THEN timestamptz '2024-04-01Z' + i * 1000003 * interval '1 us' END, date '2024-01-01' + i % 99, 'v' || i % 9
  FROM generate_series(0, 1500) i;
INSERT INTO trades VALUES ('2024-04-02', 'k1', 'NaN'), ('2024-04-02 06:00', 'k2', 'Infinity'), ('2024-04-05 01:00', 'k2', '-Infinity');
SELECT mongo_ts_create_rollup('trades', '1 hour');
SELECT mongo_ts_create_rollup('trades_1h', '1 day');
SELECT attname, format_type(atttypid, atttypmod), attcollation::regcollation, attfdwoptions FROM pg_attribute
 WHERE attrelid = 'trades_1d'::regclass AND attnum > 0 ORDER BY attnum;
SELECT mongo_ts_refresh_rollup('trades_1d', end_time => '2024-04-03Z') < '2024-04-04';
UPDATE pg_class SET reltuples = 1e7, relpages = 1e5 WHERE oid = 'trades'::regclass;
SELECT query, by_rollups(query) FROM unnest(ARRAY[
  'SELECT k, sum(price), avg(price), count(price), min(price), max(price) FROM trades GROUP BY 1',
  'SELECT k, sum(price) FROM trades WHERE ts < ''2024-04-01 12:05Z'' GROUP BY 1',
  'SELECT date_trunc(''day'', ts), avg(price) FROM trades GROUP BY 1',
  'SELECT k, min(name), max(name), min(code), max(code) FROM trades GROUP BY 1',
  'SELECT min(seen), max(seen), min(day), max(day) FROM trades',
  'SELECT k, date_trunc(''month'', ts), max(seen), max(code) FROM trades GROUP BY 1, 2',
  -- by points: another collation, another type
  'SELECT min(name COLLATE "C") FROM trades',
  'SELECT max(short) FROM trades']) query;
SELECT count(*) AS differences FROM mongo_ts_check_rollup('trades_1d', '2024-03-28', '2024-04-03');

-- A scan below a nested loop of a join looks up the rows of a roll-up.
CREATE TABLE sites (k text COLLATE "C", since timestamptz, name text);
INSERT INTO sites VALUES ('k0', '2024-03-29', 'one'), ('k2', '2024-03-30 10:30', 'two'), ('k2', '2024-04-05', 'three'), ('none', '-infinity', 'four');
ANALYZE sites;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_memoize = off;
UPDATE pg_class SET reltuples = 1e6 WHERE oid IN ('trades_1h'::regclass, 'trades_1d'::regclass);
SELECT plan('SELECT s.name, sum(price), max(code) FROM trades JOIN (SELECT * FROM sites LIMIT 3) s USING (k) GROUP BY 1');
SELECT query, by_rollups(query) FROM unnest(ARRAY[
  'SELECT s.name, sum(price), max(code), count(*) FROM trades JOIN (SELECT * FROM sites LIMIT 3) s USING (k) GROUP BY 1',
  'SELECT s.name, date_trunc(''day'', ts), avg(price) FROM trades JOIN (SELECT * FROM sites LIMIT 4) s USING (k) GROUP BY 1, 2',
  'SELECT s.name, t.* FROM sites s, LATERAL (SELECT sum(price), min(code) FROM trades t WHERE t.k = s.k AND ts >= since) t']) query;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_memoize;

-- Of another collation, values have other minima.  Of another scale, sums are rounded.
ALTER FOREIGN TABLE trades ALTER name TYPE text COLLATE "C";
SELECT by_rollups('SELECT min(name), max(name) FROM trades'), by_rollups('SELECT count(*) FROM trades');
ALTER FOREIGN TABLE trades ALTER name TYPE text;
ALTER FOREIGN TABLE trades_1d ALTER price_sum TYPE numeric(30, 1);
ALTER FOREIGN TABLE trades_1h ALTER price_sum TYPE numeric(30, 1);
SELECT by_rollups('SELECT k, sum(price) FROM trades GROUP BY 1'), by_rollups('SELECT count(price) FROM trades');

-- A refresh while rows are read.  A grouping expression makes it: the rows have
-- twice as many points, and the state another generation.
CREATE FOREIGN TABLE busy (ts timestamptz OPTIONS (field 'hour'), k text COLLATE "C", v int OPTIONS (field 'v.{minute}')) SERVER rollup;
INSERT INTO busy SELECT timestamptz '2024-03-01Z' + i * interval '1 minute', 'k' || i % 1000, 1 FROM generate_series(0, 1999) i;
SELECT mongo_ts_create_rollup('busy', '1 hour');
SELECT mongo_ts_refresh_rollup('busy_1h', end_time => '2024-03-07Z');
UPDATE pg_class SET reltuples = 1e7, relpages = 1e5 WHERE oid = 'busy'::regclass;
CREATE FUNCTION disturb(k text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('rollup.disturbs', true) = 'on' THEN
    PERFORM set_config('rollup.disturbs', 'off', false);
    PERFORM mongo_ts_command('rollup', '{"update": "mongo_ts_rollups", "updates": [{"q": {"_id": "busy_1h"}, "u": {"$inc": {"generation": 1}}}]}');
    PERFORM mongo_ts_command('rollup', '{"update": "busy_1h", "updates": [{"q": {}, "u": {"$mul": {"hours.10.points": 2}}, "multi": true}]}');
  END IF;
  RETURN k;
END $$;
SELECT mongo_ts_command('rollup', '{"hello": 1}') ? 'setName' AS has_snapshots \gset
SELECT sum(n) AS before FROM (SELECT disturb(k), count(*) AS n FROM busy GROUP BY 1) t \gset
SET rollup.disturbs = on;
SELECT sum(n) AS beside FROM (SELECT disturb(k), count(*) AS n FROM busy GROUP BY 1) t \gset
SELECT sum(n) AS after FROM (SELECT disturb(k), count(*) AS n FROM busy GROUP BY 1) t \gset
SELECT :before AS before, :after AS after, :beside = CASE WHEN :'has_snapshots' THEN :before ELSE :after END AS beside_is_one_of_them;
-- after groups were returned
SET work_mem = '64kB';
SET rollup.disturbs = on;
SELECT CASE WHEN try('SELECT disturb(k), count(*) FROM busy GROUP BY 1') = CASE WHEN :'has_snapshots' THEN 'accepted'
  ELSE E'40001: a roll-up was refreshed while it was read\n-> Repeat the statement.' END THEN 'as expected' END;
RESET work_mem;

-- Rows that are read again, since most buckets lack what their headers should have, count once.
CREATE FOREIGN TABLE doubtful (ts timestamptz OPTIONS (field 'hour'), v float8 OPTIONS (field 'v.{minute}') NOT NULL)
  SERVER rollup OPTIONS (count_field 'n');
INSERT INTO doubtful SELECT timestamptz '2024-03-01Z' + i * interval '30 minutes', i FROM generate_series(0, 599) i;
SELECT mongo_ts_command('rollup', '{"update": "doubtful", "updates": [{"q": {"hour": {"$gte": {"$date": "2024-03-05T00:00:00Z"}}},
  "u": {"$unset": {"n": 1}}, "multi": true}]}') -> 'nModified' AS changed;
CREATE FOREIGN TABLE doubtful_1h (ts timestamptz OPTIONS (field 'day'), points bigint OPTIONS (field 'h.{hour}.points', rollup 'count'))
  SERVER rollup OPTIONS (rollup_of 'rollup.doubtful', rollup_interval '1 hour');
INSERT INTO doubtful_1h SELECT date_trunc('hour', ts, 'UTC'), count(*) FROM doubtful GROUP BY 1;
CALL state('doubtful_1h', '2024-03-05Z');
SELECT by_rollups('SELECT count(*) FROM doubtful');
CREATE FUNCTION roll_up_rows(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  plan jsonb;
BEGIN
  EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, FORMAT JSON) ' || query INTO plan;
  RETURN plan #> '{0,Plan,Plans,0,Roll-ups,0,Roll-up Rows}';
END
$$;
SELECT roll_up_rows('SELECT count(*) FROM doubtful');

-- A refresh of a roll-up that has been altered, or whose state has no
-- fingerprint, computes all of its rows again, and removes others.
CREATE FOREIGN TABLE redone (ts timestamptz OPTIONS (field 'hour'), k text COLLATE "C", a int OPTIONS (field 'v.{minute}.a'), b int OPTIONS (field 'v.{minute}.b')) SERVER rollup;
INSERT INTO redone SELECT timestamptz '2024-03-28Z' + i * interval '7 minutes', 'k' || i % 3, i, 10 * i FROM generate_series(0, 1500) i;
SELECT mongo_ts_create_rollup('redone', '1 hour', lag => '0');
SELECT mongo_ts_create_rollup('redone_1h', '1 day', lag => '0');
SELECT mongo_ts_refresh_rollup('redone_1d') > '2024-04-05';
UPDATE pg_class SET reltuples = 1e7, relpages = 1e5 WHERE oid = 'redone'::regclass;
CREATE VIEW sums AS SELECT k, count(*), sum(a) FROM redone WHERE ts < '2024-04-03Z' GROUP BY 1;
CREATE VIEW stale AS SELECT d->>'_id' AS name, s->'from' AS "from", s->'to' AS "to" FROM mongo_ts_find('rollup', 'mongo_ts_rollups', '{"_id": {"$in": ["redone_1h", "redone_1d"]}}') d,
  jsonb_array_elements(d->'stale') s ORDER BY 1, 2;
SELECT by_rollups('TABLE sums');
SELECT mongo_ts_command('rollup', '{"update": "redone_1h", "updates": [{"q": {"k": "k1", "ts": {"$lt": {"$date": "2024-03-29T00:00:00Z"}}}, "u": {"$set": {"k": "gone"}}, "multi": true}]}')->'n';
SELECT mongo_ts_command('rollup', '{"update": "mongo_ts_rollups", "updates": [{"q": {"_id": "redone_1h"}, "u": {"$unset": {"fingerprint": 1}}}]}')->'n';
SELECT by_rollups('TABLE sums');
-- A refresh of a range leaves all else stale.
SELECT mongo_ts_refresh_rollup('redone_1h', '2024-03-30 00:30Z', '2024-03-31Z') > '2024-04-05';
SELECT name, "from", "to" #>> '{$date}' > '2024-04-05' AS has_end FROM stale;
SELECT by_rollups('TABLE sums');
SELECT mongo_ts_refresh_rollup('redone_1h') > '2024-04-05';
SELECT count(*) FROM stale WHERE name = 'redone_1h';
SELECT by_rollups('TABLE sums'), count(*) FROM redone_1h WHERE k = 'gone';
-- Totals are those of a field, whichever column has it.
ALTER FOREIGN TABLE redone ALTER a OPTIONS (SET field 'v.{minute}.b'), ALTER b OPTIONS (SET field 'v.{minute}.a');
SELECT by_rollups('TABLE sums');
-- All levels follow the points.
ALTER FOREIGN TABLE redone ALTER a OPTIONS (ADD missing_value '70');
SELECT by_rollups('TABLE sums');
SELECT mongo_ts_refresh_rollup('redone_1d') > '2024-04-05';
SELECT by_rollups('TABLE sums');
-- A longer interval makes rows of its own.
ALTER FOREIGN TABLE redone_1h OPTIONS (SET rollup_interval '6 hours');
SELECT mongo_ts_refresh_rollup('redone_1d') > '2024-04-05';
SELECT count(DISTINCT ts) FROM redone_1h;
SELECT by_rollups('SELECT count(*), sum(b) FROM redone WHERE ts < ''2024-04-03 06:00Z''');
-- Totals of points that may have been removed are kept if the user refreshes all.
ALTER FOREIGN TABLE redone OPTIONS (ADD rollup_retention '7 days');
DELETE FROM redone WHERE ts < '2024-03-29Z';
ALTER FOREIGN TABLE redone OPTIONS (ADD filter '{"k": {"$gte": ""}}');
CALL pass_time();
SELECT try($$SELECT mongo_ts_refresh_rollup('redone_1d')$$);
SELECT try($$SELECT mongo_ts_refresh_rollup('redone_1h', '2024-03-30Z')$$);
\set VERBOSITY terse
SELECT count(*) FROM redone;
\set VERBOSITY default
SELECT mongo_ts_refresh_rollup('redone_1d', '-infinity') > '2024-04-05';
SELECT count(*) FROM redone;
-- Of the longer interval, today's last one has not ended, whatever the hour.
SELECT count(*) FROM stale WHERE coalesce(("from" #>> '{$date}')::timestamptz < now() - interval '1 day', true);

-- The points that roll-ups leave open may lack a field that others have, so
-- nothing is said of it.
CREATE FOREIGN TABLE early (ts timestamptz OPTIONS (field 'hour'), temp int OPTIONS (field 'temp.{minute}'), vib int OPTIONS (field 'vib.{minute}')) SERVER rollup;
INSERT INTO early SELECT timestamptz '2024-03-01Z' + i * interval '1 hour', i, 1 FROM generate_series(0, 199) i;
SELECT mongo_ts_command('rollup', '{"update": "early", "updates": [{"q": {"hour": {"$gte": {"$date": "2024-03-05T00:00:00Z"}}}, "u": {"$unset": {"vib": 1}}, "multi": true}]}') -> 'nModified' AS changed;
SELECT mongo_ts_create_rollup('early', '1 hour');
SELECT mongo_ts_refresh_rollup('early_1h', end_time => '2024-03-06Z');
UPDATE pg_class SET reltuples = 1e7, relpages = 1e5 WHERE oid = 'early'::regclass;
SELECT sum(vib), count(*) FROM early;

SELECT mongo_ts_command('rollup', '{"dropDatabase": 1}')->'ok' AS dropped;
