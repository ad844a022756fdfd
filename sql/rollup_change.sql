--
-- Tests roll-ups whose points get columns, or other names, and what queries say
-- of points that may have been removed.
--
\set suite rollup_change
\i sql/include/suite.sql
\i sql/include/same.sql

\pset format unaligned
\pset tuples_only on

-- How roll-ups answer a query, and whether the result is that of the points
CREATE FUNCTION by_rollups(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  used text;
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    IF line ~ 'Roll-up: ' THEN
      used = concat_ws(', ', used, regexp_replace(substring(line FROM 'Roll-up: (.*)'), 'until .*', 'used'));
    END IF;
  END LOOP;
  RETURN coalesce(used, 'no roll-up') || ': ' || rows_of(query, 'mongo_ts_fdw.enable_rollups');
END $$;
-- What the state says of the fields of a roll-up's rows
CREATE FUNCTION fields(rollup text) RETURNS text LANGUAGE sql AS $$
  SELECT string_agg(t->>'field' || coalesce(' since ' || (t#>>'{since,$date}'), ''), ', ' ORDER BY n)
    FROM mongo_ts_find('rollup_change', 'mongo_ts_rollups', json_build_object('_id', rollup)) d, jsonb_array_elements(d->'totals') WITH ORDINALITY t (t, n)
$$;

-- A total is added -----------------------------------------------------------

-- Another client has written a value that no column has yet.
CREATE FOREIGN TABLE writer (
  ts timestamptz OPTIONS (field 'hour'), device text COLLATE "C", temp float8 OPTIONS (field 'm.{minute}.t'), vib int OPTIONS (field 'm.{minute}.v')
) SERVER rollup_change OPTIONS (collection 'telemetry');
INSERT INTO writer SELECT timestamptz '2024-03-28Z' + i * interval '7 minutes', 'd' || i % 3, i % 90, i % 40 FROM generate_series(0, 1500) i;
CREATE FOREIGN TABLE telemetry (
  ts timestamptz OPTIONS (field 'hour'), device text COLLATE "C", temp float8 OPTIONS (field 'm.{minute}.t')
) SERVER rollup_change;
SELECT mongo_ts_create_rollup('telemetry', '1 hour');
SELECT mongo_ts_create_rollup('telemetry_1h', '1 day');
SELECT mongo_ts_refresh_rollup('telemetry_1d', end_time => '2024-04-02Z');
UPDATE pg_class SET reltuples = 1e7, relpages = 1e5 WHERE oid = 'telemetry'::regclass;
SELECT by_rollups('SELECT device, count(*), avg(temp) FROM telemetry GROUP BY 1');
SELECT fields('telemetry_1h');
-- A column of the points alters nothing, nor does one of a roll-up.
ALTER FOREIGN TABLE telemetry ADD COLUMN vib int OPTIONS (field 'm.{minute}.v');
SELECT by_rollups('SELECT device, count(*), avg(temp) FROM telemetry GROUP BY 1');
ALTER FOREIGN TABLE telemetry_1h
  ADD COLUMN vib_count bigint OPTIONS (field 'hours.{hour}.vib.count', rollup 'count', rollup_column 'vib'),
  ADD COLUMN vib_sum bigint OPTIONS (field 'hours.{hour}.vib.sum', rollup 'sum', rollup_column 'vib');
ALTER FOREIGN TABLE telemetry_1d
  ADD COLUMN vib_count bigint OPTIONS (field 'days.{day:1}.vib.count', rollup 'count', rollup_column 'vib'),
  ADD COLUMN vib_sum bigint OPTIONS (field 'days.{day:1}.vib.sum', rollup 'sum', rollup_column 'vib');
SELECT by_rollups('SELECT device, count(*), avg(temp) FROM telemetry GROUP BY 1');
-- Only a query that requires the new total reads points, until a refresh.
SELECT by_rollups('SELECT device, avg(vib), max(temp) FROM telemetry GROUP BY 1');
SELECT mongo_ts_refresh_rollup('telemetry_1h', end_time => '2024-04-03Z') > '2024-04-02Z';
SELECT by_rollups('SELECT device, avg(vib), max(temp) FROM telemetry GROUP BY 1');
SELECT mongo_ts_refresh_rollup('telemetry_1d') > '2024-04-05Z';
SELECT by_rollups('SELECT device, avg(vib), max(temp) FROM telemetry GROUP BY 1');
SELECT vib_count, vib_sum FROM telemetry_1d WHERE ts = '2024-03-30Z' ORDER BY device;
SELECT fields('telemetry_1d');
-- A refresh of a range leaves the rest to the points.
ALTER FOREIGN TABLE telemetry_1h ADD COLUMN vib_max int OPTIONS (field 'hours.{hour}.vib.max', rollup 'max', rollup_column 'vib');
SELECT mongo_ts_refresh_rollup('telemetry_1h', '2024-03-30Z', '2024-03-31Z') > '2024-04-05Z';
SELECT by_rollups('SELECT device, max(vib) FROM telemetry GROUP BY 1');
SELECT count(vib_max), min(ts), max(ts) FROM telemetry_1h WHERE vib_max IS NOT NULL;
SELECT mongo_ts_refresh_rollup('telemetry_1d') > '2024-04-05Z';
SELECT by_rollups('SELECT device, max(vib) FROM telemetry GROUP BY 1');
-- A total whose column had been dropped during a refresh is new again.
ALTER FOREIGN TABLE telemetry_1h DROP COLUMN vib_max;
UPDATE telemetry SET vib = 1000 WHERE ts = '2024-03-28Z';
SELECT mongo_ts_refresh_rollup('telemetry_1h') > '2024-04-05Z';
ALTER FOREIGN TABLE telemetry_1h ADD COLUMN vib_max int OPTIONS (field 'hours.{hour}.vib.max', rollup 'max', rollup_column 'vib');
SELECT by_rollups('SELECT device, max(vib) FROM telemetry GROUP BY 1');
SELECT mongo_ts_refresh_rollup('telemetry_1d') > '2024-04-05Z';
SELECT by_rollups('SELECT device, max(vib) FROM telemetry GROUP BY 1');
-- A total of another field is read from points, as long as it is.
ALTER FOREIGN TABLE telemetry ALTER vib OPTIONS (SET field 'm.{minute}.t');
SELECT by_rollups('SELECT device, sum(vib) FROM telemetry GROUP BY 1');
SELECT by_rollups('SELECT device, sum(temp) FROM telemetry GROUP BY 1');
ALTER FOREIGN TABLE telemetry ALTER vib OPTIONS (SET field 'm.{minute}.v');
SELECT by_rollups('SELECT device, sum(vib) FROM telemetry GROUP BY 1');

-- Columns that add points, or remove some: those of another container, with a
-- missing value, or where points with invalid values are skipped
CREATE FUNCTION changed(VARIADIC changes text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  answer text;
  change text;
BEGIN
  BEGIN
    FOREACH change IN ARRAY changes LOOP
      EXECUTE 'ALTER FOREIGN TABLE ' || change;
    END LOOP;
    answer = by_rollups('SELECT device, count(*), sum(temp) FROM telemetry GROUP BY 1');
    RAISE EXCEPTION SQLSTATE 'UNDON';
  EXCEPTION WHEN SQLSTATE 'UNDON' THEN
  END;
  RETURN answer;
END $$;
SELECT change, changed(change) FROM unnest(ARRAY[
  $$telemetry ADD COLUMN note text OPTIONS (role 'attribute')$$, $$telemetry ADD COLUMN site text$$,
  $$telemetry ADD COLUMN other float8 OPTIONS (field 'm.{minute}.o')$$,
  $$telemetry ADD COLUMN other float8 OPTIONS (field 'other.{minute}')$$,
  $$telemetry ADD COLUMN other float8 OPTIONS (field 'm.{minute}.o', missing_value '-1')$$,
  $$telemetry DROP COLUMN vib$$, $$telemetry_1h DROP COLUMN vib_sum$$, $$telemetry_1h ALTER points OPTIONS (SET field 'hours.{hour}.n')$$,
  $$telemetry OPTIONS (ADD on_invalid 'skip')$$]) change;
ALTER FOREIGN TABLE telemetry OPTIONS (ADD on_invalid 'skip');
SELECT mongo_ts_refresh_rollup('telemetry_1d') > '2024-04-05Z';
SELECT changed('telemetry OPTIONS (SET on_invalid ''skip'')');
SET client_min_messages = error;
SELECT changed('telemetry ADD COLUMN bad bool OPTIONS (field ''m.{minute}.v'')');
RESET client_min_messages;
ALTER FOREIGN TABLE telemetry OPTIONS (DROP on_invalid);
SELECT mongo_ts_refresh_rollup('telemetry_1d') > '2024-04-05Z';
CREATE FOREIGN TABLE zipped (ts timestamptz OPTIONS (field 'hour'), a int OPTIONS (field 'a.{minute}')) SERVER rollup_change;
CALL put('zipped', '[{"hour": {"$date": "2024-03-28T00:00:00Z"}, "a": {"1": 1, "2": 2}, "b": {"2": 20, "3": 30}}]');
SELECT mongo_ts_create_rollup('zipped', '1 hour');
SELECT mongo_ts_refresh_rollup('zipped_1h') IS NOT NULL;
UPDATE pg_class SET reltuples = 1e7, relpages = 1e5 WHERE oid = 'zipped'::regclass;
SELECT by_rollups('SELECT count(*), sum(a) FROM zipped');
ALTER FOREIGN TABLE zipped ADD COLUMN b int OPTIONS (field 'b.{minute}');
SELECT by_rollups('SELECT count(*), sum(a) FROM zipped'), count(*) FROM zipped;
SELECT mongo_ts_refresh_rollup('zipped_1h') IS NOT NULL;
SELECT by_rollups('SELECT count(*), sum(a) FROM zipped'), count(*) FROM zipped;

-- Other names ----------------------------------------------------------------

-- A column that has a field keeps it.
SELECT attname, attfdwoptions FROM pg_attribute WHERE attrelid = 'telemetry_1h'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum;
ALTER FOREIGN TABLE telemetry RENAME temp TO temperature;
ALTER FOREIGN TABLE telemetry RENAME ts TO "time";
SELECT by_rollups('SELECT device, count(*), avg(temperature) FROM telemetry GROUP BY 1');
UPDATE telemetry SET temperature = temperature + 1 WHERE "time" < '2024-03-29Z';
SELECT mongo_ts_refresh_rollup('telemetry_1d') > '2024-04-05Z';
SELECT by_rollups('SELECT device, count(*), avg(temperature) FROM telemetry GROUP BY 1');
-- A name goes before a field.
ALTER FOREIGN TABLE telemetry ADD COLUMN "m.{minute}.t" int OPTIONS (field 'm.{minute}.v');
SELECT by_rollups('SELECT device, count(*), max(temperature) FROM telemetry GROUP BY 1');
ALTER FOREIGN TABLE telemetry DROP COLUMN "m.{minute}.t";
SELECT by_rollups('SELECT device, count(*), max(temperature) FROM telemetry GROUP BY 1');
-- What is named by its name says so, and so does a key, which is never left out.
ALTER FOREIGN TABLE telemetry RENAME vib TO vibration;
SELECT try($$SELECT mongo_ts_refresh_rollup('telemetry_1d')$$);
ALTER FOREIGN TABLE telemetry RENAME vibration TO vib;
ALTER FOREIGN TABLE telemetry RENAME device TO machine;
SELECT try($$SELECT mongo_ts_refresh_rollup('telemetry_1d')$$);
ALTER FOREIGN TABLE telemetry ALTER machine OPTIONS (ADD field 'device');
ALTER FOREIGN TABLE telemetry_1h ALTER device OPTIONS (ADD rollup_column 'device');
ALTER FOREIGN TABLE telemetry_1d ALTER device OPTIONS (ADD rollup_column 'machine');
SELECT by_rollups('SELECT machine, count(*), max(temperature) FROM telemetry GROUP BY 1');
SELECT mongo_ts_refresh_rollup('telemetry_1d') > '2024-04-05Z';
SELECT by_rollups('SELECT machine, count(*), max(temperature) FROM telemetry GROUP BY 1');
ALTER FOREIGN TABLE telemetry RENAME TO measurements;
SELECT try($$SELECT mongo_ts_refresh_rollup('telemetry_1d')$$);
SELECT by_rollups('SELECT machine, count(*), max(temperature) FROM measurements GROUP BY 1');
ALTER FOREIGN TABLE measurements RENAME TO telemetry;

-- Points that may have been removed --------------------------------------------

-- Points of a day in 2024, and of the last four days, which are kept
CREATE FOREIGN TABLE plant_writer (
  ts timestamptz OPTIONS (field 'hour'), device text COLLATE "C", temp float8 OPTIONS (field 'm.{minute}.t'), vib int OPTIONS (field 'm.{minute}.v')
) SERVER rollup_change OPTIONS (collection 'plant');
INSERT INTO plant_writer SELECT t, 'd' || i % 2, i % 90, i % 40
  FROM generate_series(0, 95) i, unnest(ARRAY[timestamptz '2024-03-28Z' + i * interval '15 minutes', date_trunc('hour', now()) - i * interval '1 hour']) t;
CREATE FOREIGN TABLE plant (
  ts timestamptz OPTIONS (field 'hour'), device text COLLATE "C", temp float8 OPTIONS (field 'm.{minute}.t')
) SERVER rollup_change OPTIONS (rollup_retention '30 days');
SELECT mongo_ts_create_rollup('plant', '1 hour', lag => '1 day');
SELECT mongo_ts_create_rollup('plant_1h', '1 day', lag => '1 day');
SELECT mongo_ts_refresh_rollup('plant_1d') IS NOT NULL;
UPDATE pg_class SET reltuples = 1e7, relpages = 1e5 WHERE oid = 'plant'::regclass;
DELETE FROM plant WHERE ts < '2024-04-01Z';
SELECT count(*), sum(temp) FROM plant;
-- A column with totals is added: it is null in what is left of the points.
ALTER FOREIGN TABLE plant ADD COLUMN vib int OPTIONS (field 'm.{minute}.v');
ALTER FOREIGN TABLE plant_1h
  ADD COLUMN vib_count bigint OPTIONS (field 'hours.{hour}.vib.count', rollup 'count', rollup_column 'vib'),
  ADD COLUMN vib_sum bigint OPTIONS (field 'hours.{hour}.vib.sum', rollup 'sum', rollup_column 'vib'),
  ADD COLUMN vib_max int OPTIONS (field 'hours.{hour}.vib.max', rollup 'max', rollup_column 'vib');
SELECT count(*), sum(temp) FROM plant;
\set VERBOSITY terse
SELECT count(*), count(vib), sum(vib), avg(vib), max(vib) FROM plant;
SELECT extract(year FROM ts) = 2024 AS is_old, count(*), count(vib), sum(vib), max(vib), sum(temp) FROM plant GROUP BY 1 ORDER BY 1;
SELECT count(*), sum(vib) FROM plant WHERE ts < '2024-03-28 12:00Z';
SELECT count(*), sum(vib) FROM plant WHERE ts >= '2025-01-01Z';
\set VERBOSITY default
-- The refresh computes what is kept.
SELECT mongo_ts_refresh_rollup('plant_1d') IS NOT NULL;
SELECT ts > '2025-01-01Z' AS is_kept, count(*) > 40 AS has_rows, count(vib_count) = count(*) AS has_totals FROM plant_1h GROUP BY 1 ORDER BY 1;
SELECT regexp_replace(fields('plant_1h'), '\d+-\d+-\S+Z', 'some time', 'g');
SELECT mongo_ts_command('rollup_change', '{"update": "mongo_ts_rollups", "updates": [{"q": {"_id": "plant_1h"}, "u":
  {"$set": {"totals.5.since": {"$date": "2024-05-01T00:00:00Z"}, "totals.6.since": {"$date": "2024-05-01T00:00:00Z"}, "totals.7.since": {"$date": "2024-05-01T00:00:00Z"}}}}]}')->'nModified' AS changed;
SELECT extract(year FROM ts) = 2024 AS is_old, count(*), count(vib), sum(vib), max(vib), sum(temp) FROM plant GROUP BY 1 ORDER BY 1;
SELECT by_rollups('SELECT count(*), sum(vib) FROM plant WHERE ts >= ''2025-01-01Z''');
SELECT count(*), sum(temp) FROM plant;
-- Without the option, the points of the time before are read.
BEGIN;
ALTER FOREIGN TABLE plant OPTIONS (DROP rollup_retention);
SELECT count(*), sum(vib) FROM plant WHERE ts < '2025-01-01Z';
SELECT count(*), sum(temp) FROM plant WHERE ts < '2025-01-01Z';
ROLLBACK;
-- A roll-up that is made of one that lacks the totals lacks them, too.
SELECT mongo_ts_create_rollup('plant_1h', '1 day', 'plant_late', lag => '1 day');
SELECT mongo_ts_refresh_rollup('plant_late') IS NOT NULL;
SELECT fields('plant_late');
ALTER FOREIGN TABLE plant_1d OPTIONS (DROP rollup_of);
SELECT count(*), sum(vib), sum(temp) FROM plant WHERE ts < '2025-01-01Z';
DROP FOREIGN TABLE plant_late, plant_1d;
-- Totals of another declaration are kept if the user says so.
ALTER FOREIGN TABLE plant ALTER temp OPTIONS (ADD missing_value '-1');
SELECT try($$SELECT mongo_ts_refresh_rollup('plant_1h')$$);
\set VERBOSITY terse
SELECT count(*), count(temp), sum(temp) FROM plant;
\set VERBOSITY default
SELECT mongo_ts_refresh_rollup('plant_1h', '-infinity') IS NOT NULL;
SELECT fields('plant_1h');
SELECT count(*), count(temp), sum(temp) FROM plant;

-- Queries that reach back to such points say so.
\set VERBOSITY terse
SELECT count(*), round(stddev(temp)::numeric, 3) FROM plant;
SELECT count(*), percentile_cont(0.5) WITHIN GROUP (ORDER BY temp) FROM plant;
SELECT count(*) FROM (SELECT temp FROM plant GROUP BY 1) t;
SELECT count(*) FROM (SELECT DISTINCT temp FROM plant) t;
SELECT count(*) FROM plant WHERE ts < '2024-03-28 06:30Z';
SELECT count(*) FROM plant WHERE ts > '2024-03-28 06:00Z';
SELECT count(*) FROM (SELECT * FROM plant WHERE ts >= '2024-03-28Z' LIMIT 1) t;
SELECT * FROM plant WHERE ts < '2024-03-28 06:30Z';
SELECT d, count(*), round(stddev(temp)::numeric, 3) FROM plant JOIN (VALUES ('d0'), ('d1')) v (d) ON device = d GROUP BY 1 ORDER BY 1;
\set VERBOSITY default
BEGIN;
DO $$ BEGIN
  EXECUTE format('ALTER FOREIGN TABLE plant OPTIONS (SET rollup_retention ''%s microseconds'')',
    round(extract(epoch FROM now() - timestamptz '2025-06-01Z') * 1000000));
END $$;
SELECT count(*), round(stddev(temp)::numeric, 3) FROM plant;
SELECT count(*) FROM plant WHERE ts >= '2025-06-01Z' AND temp < 0;
ROLLBACK;
\set VERBOSITY terse
-- once in a statement
SELECT (SELECT round(stddev(temp)::numeric, 3) FROM plant WHERE device = d) FROM unnest('{d0,d1}'::text[]) d;
-- Others do not: they want newer points, are answered by roll-ups, ask for the
-- first and last time or for rows of any time, change points, or shall not be
-- answered by roll-ups.
SELECT count(*), round(stddev(temp)::numeric, 3) FROM plant WHERE ts > now() - interval '30 days';
SELECT count(*) FROM plant WHERE ts < '2024-03-28 06:00Z';
SELECT count(*) FROM plant;
SELECT DISTINCT device FROM plant ORDER BY 1;
SELECT max(ts) > now() - interval '2 hours', min(ts) > now() - interval '97 hours' FROM plant;
SELECT device, max(ts) > now() - interval '2 hours' FROM plant GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM (SELECT * FROM plant OFFSET 0) t;
SELECT count(*) FROM (SELECT * FROM plant WHERE ts <= now() ORDER BY ts DESC LIMIT 3) t;
UPDATE plant SET temp = 1 WHERE ts < '2024-03-28 06:30Z';
DELETE FROM plant WHERE ts < '2024-03-28 06:30Z' AND temp > 1000;
EXPLAIN (COSTS OFF) SELECT stddev(temp) FROM plant WHERE ts < '2024-01-01Z' \g /dev/null
SET mongo_ts_fdw.enable_rollups = off;
SELECT count(*) FROM plant;
RESET mongo_ts_fdw.enable_rollups;

-- Without the option, all is computed again from the points that there are.
ALTER FOREIGN TABLE plant OPTIONS (DROP rollup_retention);
SELECT mongo_ts_refresh_rollup('plant_1h', '2024-04-01Z') IS NOT NULL;
SELECT fields('plant_1h');
SELECT mongo_ts_refresh_rollup('plant_1h', '-infinity') IS NOT NULL;
SELECT fields('plant_1h');
SELECT by_rollups('SELECT count(*), sum(vib) FROM plant');

SELECT mongo_ts_command('rollup_change', '{"dropDatabase": 1}')->'ok' AS dropped;
