--
-- Tests conditions on functions of the time: the query has the exact range, and
-- no point is checked again; rows equal those of a local table, in several
-- zones and where clocks are set.
--
\set suite time_functions
\i sql/include/suite.sql

-- Buckets of an hour, of two series, over the days in which the clocks of
-- Berlin are set forward and back
CREATE FOREIGN TABLE hours (
  ts timestamptz, device text, v int OPTIONS (field 'v.{minute}')
) SERVER time_functions;
SELECT mongo_ts_create_index('hours') \g /dev/null
INSERT INTO hours SELECT t, device, 1
  FROM unnest('{a,b}'::text[]) device, unnest('{2024-03-25Z,2024-10-22Z}'::timestamptz[]) first,
       generate_series(first, first + interval '11 days', '10 minutes') t;

-- What BI tools write for a day, or other units; -> ..: the range of time that
-- the query has, and whether PostgreSQL checks each point
CREATE FUNCTION pushed(condition text, relation text DEFAULT 'hours') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  lines text = (SELECT string_agg(line || E'\n', '')
    FROM plan(format('SELECT * FROM %s WHERE %s', relation, condition)) line);
BEGIN
  RETURN condition || E'\n  -> ' || coalesce(substring(lines FROM 'find\((.*), {'), lines)
    || CASE WHEN lines ~ 'Filter' THEN ' and each point' ELSE '' END;
END $$;
\pset format unaligned
\pset tuples_only on
SET TimeZone = 'Europe/Berlin';
SELECT pushed(condition) FROM (VALUES
  -- casts, with the other types of times
  ('ts::date = ''2024-10-27'''), ('ts::date BETWEEN ''2024-03-30'' AND ''2024-03-31'''),
  ('ts::date IN (''2024-03-30'', ''2024-10-25'', NULL)'), ('NOT ts::date < ''2024-10-27'''),
  ('ts::date <> ''2024-10-27'''), ('ts::timestamp >= timestamp ''2024-03-31 02:30'''),
  ('ts::date = timestamptz ''2024-10-27 00:00'''), ('ts::date::timestamptz = ''2024-10-27'''),
  ('ts::date < ''infinity'''), ('ts::date > ''infinity'''), ('ts::date = NULL'),
  -- truncated times; clocks that are set back show an hour twice
  ('date_trunc(''day'', ts) = ''2024-10-27'''), ('date_trunc(''hour'', ts) = ''2024-10-27 02:00+02'''),
  ('date_trunc(''day'', ts, ''America/New_York'') = ''2024-10-27 00:00-04'''),
  ('date_trunc(''month'', ts::timestamp) = ''2024-10-01'''),
  ('date_trunc(''week'', ts + interval ''1 day'') - interval ''1 day'' = ''2024-10-27'''),
  ('date_bin(''15 minutes'', ts, ''2001-01-01'') >= ''2024-10-27 02:10+02'''),
  -- local times of a zone
  ('ts AT TIME ZONE ''Europe/Berlin'' >= ''2024-10-27 02:30'''), ('(ts AT TIME ZONE ''America/New_York'')::date = ''2024-10-27'''),
  ('ts AT TIME ZONE ''Europe/Berlin'' BETWEEN ''2024-10-27 02:20'' AND ''2024-10-27 02:40'''),
  ('date_trunc(''day'', ts AT TIME ZONE ''UTC'') AT TIME ZONE ''UTC'' = ''2024-10-27Z'''),
  -- fields that never fall, and numbers of them
  ('extract(year FROM ts) = 2024'), ('CAST(extract(year FROM ts) AS integer) IN (2023, 2025)'),
  ('date_part(''year'', ts) < 2025'), ('extract(epoch FROM ts) >= 1730000000.0000005'),
  ('floor(extract(epoch FROM ts) / 300) * 300 = 1730000100'), ('to_timestamp(floor(extract(epoch FROM ts) / 3600) * 3600) = ''2024-10-27 12:00Z'''),
  ('extract(julian FROM ts) < 2460611.5'),
  -- texts
  ('to_char(ts, ''YYYY-MM-DD'') = ''2024-10-27'''), ('to_char(ts, ''YYYYMMDD'') IN (''20241026'', ''2024'')'),
  ('to_char(ts, ''yyyy-mm-dd"T"HH24:mi'') = ''2024-10-27T02:30'''), ('to_char(ts, ''YYYY'') <> ''2023'''),
  -- ranges and periods
  ('ts <@ tstzrange(''2024-10-27'', ''2024-10-28'')'), ('tstzrange(''2024-10-27'', ''2024-10-28'', ''(]'') @> ts'),
  ('NOT ts <@ tstzrange(NULL, ''2024-10-28'')'), ('ts <@ tstzrange(now(), now())'), ('ts::date <@ daterange(''2024-10-27'', NULL)'),
  ('(ts, ts) OVERLAPS (''2024-10-28'', ''2024-10-27'')'), ('(timestamptz ''2024-10-27'', interval ''1 day'') OVERLAPS (ts, ts)'),
  ('(ts, ts) OVERLAPS (''2024-10-27'', ''2024-10-27'')'), ('NOT (ts, ts) OVERLAPS (NULL, ''2024-10-27'')'),
  -- parts of a condition
  ('(ts::date = ''2024-03-30'' OR extract(year FROM ts) > 2024)'), ('device = ''a'' AND ts::date = (now() - now() + date ''2024-10-27'')'),
  -- not monotonic, or not known
  ('extract(hour FROM ts) = 7'), ('to_char(ts, ''DD.MM.YYYY'') = ''27.10.2024'''), ('to_char(ts, ''YYYY-MM-DD'') > ''2024-10-27'''),
  ('-5 - extract(epoch FROM ts) > 0'), ('extract(epoch FROM ts) * -1 > 0'), ('ts + interval ''1 month'' > ''2024-10-27'''),
  ('(ts, ts + interval ''1 hour'') OVERLAPS (''2024-10-27'', ''2024-10-28'')')) AS of(condition);

-- Parameters and the zone are those of the execution
PREPARE day_of(date) AS SELECT min(ts AT TIME ZONE 'UTC'), count(*) FROM hours WHERE ts::date = $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE day_of('2024-10-27');
EXECUTE day_of('2024-03-31');
SET TimeZone = 'America/New_York';
EXECUTE day_of('2024-10-27');
EXECUTE day_of(NULL);
RESET plan_cache_mode;
SELECT day, (SELECT count(*) FROM hours h WHERE h.ts::date = day AND device = 'b')
  FROM unnest('{2024-03-31,2024-10-27,2024-11-01,2025-01-01}'::date[]) AS day;

-- The buckets that are read for a day of one series, of 24 or 25 and the one
-- before
SET TimeZone = 'Europe/Berlin';
SELECT condition, buckets, points FROM (VALUES
  ('ts >= ''2024-10-27'' AND ts < ''2024-10-28'''), ('ts::date = ''2024-10-27'''), ('date_trunc(''day'', ts) = ''2024-10-27'''),
  ('date_trunc(''day'', ts, ''Europe/Berlin'') = ''2024-10-27'''), ('(ts AT TIME ZONE ''Europe/Berlin'')::date = ''2024-10-27'''),
  ('to_char(ts, ''YYYY-MM-DD'') = ''2024-10-27'''), ('ts <@ tstzrange(''2024-10-27'', ''2024-10-28'')'),
  ('(ts, ts) OVERLAPS (''2024-10-27'', interval ''25 hours'')'),
  ('extract(julian FROM ts) >= 2460611 AND extract(julian FROM ts) < 2460612')) AS of(condition),
  reads('SELECT * FROM hours WHERE device = ''a'' AND ' || condition);

-- Aggregates do not look at points that the range decides
EXPLAIN (COSTS OFF) SELECT device, count(*) FROM hours WHERE (ts AT TIME ZONE 'Asia/Tokyo')::date = '2024-10-27' GROUP BY 1;

-- The planner expects the rows of the range
ANALYZE hours;
CREATE FUNCTION estimated(condition text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  plan json;
BEGIN
  EXECUTE 'EXPLAIN (FORMAT JSON) SELECT * FROM hours WHERE ' || condition INTO plan;
  RETURN plan->0->'Plan'->'Plan Rows';
END $$;
SELECT count(*), estimated('date_trunc(''month'', ts) = ''2024-10-01''') BETWEEN count(*) * 0.7 AND count(*) * 1.4
  FROM hours WHERE date_trunc('month', ts) = '2024-10-01';

-- Rows equal those of a local table ---------------------------------------

-- Times around changes of the clocks of several zones, some of them by a day or
-- at midnight; around years with another number of digits; before the year 1
SET TimeZone = 'UTC';
CREATE TABLE edges AS SELECT at::timestamptz + i * interval '59 minutes 59.5 seconds' AS ts
  FROM unnest('{1844-12-31,1867-10-18 12:00,1883-11-18 17:00,1945-05-24,1947-05-11,1993-08-21,2011-12-30,2013-03-10 07:00,
    2013-10-20 03:00,2014-02-16 03:00,2014-04-05 15:00,2013-11-03 06:00,2013-03-31 01:00,2013-10-27 01:00,2024-01-01,
    0044-03-15,0044-03-15 BC,0001-01-01,10000-01-01,100000-01-01,2500-07-01,4713-01-01 BC,294276-12-30}'::text[]) AS at,
    generate_series(-9, 9) i;
INSERT INTO edges SELECT date_trunc('hour', ts) - i * interval '1 millisecond' FROM edges, generate_series(0, 1) i
  WHERE ts < '290000-01-01';
DELETE FROM edges WHERE date_trunc('milliseconds', ts) <> ts;
CREATE FOREIGN TABLE flat (ts timestamptz) SERVER time_functions;
INSERT INTO flat SELECT DISTINCT ts FROM edges;
CREATE TABLE flat_copy AS TABLE flat;
CREATE FOREIGN TABLE wall (ts timestamp) SERVER time_functions
  OPTIONS (collection 'flat', bucket_time_zone 'America/New_York');
CREATE TABLE wall_copy AS TABLE wall;

-- of: the tables whose time the function fits
CREATE TABLE functions (f text, of text DEFAULT 'flat wall');
INSERT INTO functions VALUES ('ts::timestamp', 'flat'), ('ts::timestamptz', 'wall'), ('ts', 'wall'),
  ('date_trunc(''month'', ts, ''Australia/Lord_Howe'')', 'flat'),
  ('date_trunc(''day'', ts AT TIME ZONE ''Europe/Berlin'') AT TIME ZONE ''Europe/Berlin''', 'flat');
INSERT INTO functions (f) VALUES ('ts::date'), ('ts::date::timestamptz'), ('date_trunc(''day'', ts)'), ('date_trunc(''hour'', ts)'),
  ('date_trunc(''week'', ts + interval ''1 day'') - interval ''1 day'''), ('ts AT TIME ZONE ''America/Sao_Paulo'''),
  ('(ts AT TIME ZONE ''Pacific/Apia'')::date'), ('ts + interval ''5 days 3 hours'''), ('(ts - interval ''1 day'')::date'),
  ('date_bin(''7 hours'', ts, ''2001-01-01'')'), ('extract(year FROM ts)'), ('extract(julian FROM ts)'), ('extract(isoyear FROM ts)'),
  ('extract(century FROM ts + interval ''1 day'')'), ('floor(extract(epoch FROM ts) / 300) * 300'), ('date_part(''decade'', ts)'),
  ('to_char(ts, ''YYYY-MM-DD'')'), ('to_char(ts, ''YYYYMMDDHH24MI'')'), ('to_char(ts, ''YYYY'')');

-- The points of which the functions have the values that are compared with them
CREATE TABLE flat_samples AS SELECT at::timestamptz AS ts FROM unnest('{2011-12-30 10:00Z,2011-12-30 09:59:59.999Z,2013-10-20 03:00Z,
  2014-02-16 01:00Z,2014-02-16 02:00Z,2014-04-05 14:00Z,2014-04-05 15:00Z,2013-11-03 05:00Z,2013-11-03 06:00Z,2024-01-01Z,
  0044-03-15Z,0044-03-15Z BC,10000-01-01Z}'::text[]) AS at;
CREATE TABLE wall_samples AS SELECT ts AT TIME ZONE 'America/New_York' AS ts FROM flat_samples;

-- Compare counts for values that the functions have at some points.  Those at
-- which PostgreSQL cannot compute a function are left out.
CREATE FUNCTION compare(relation text, zone text) RETURNS TABLE (conditions int, differ text) LANGUAGE plpgsql AS $$
DECLARE
  f text;
  condition text;
  counts bigint[];
BEGIN
  PERFORM set_config('TimeZone', zone, true);
  conditions = 0;
  FOR f IN SELECT functions.f FROM functions WHERE of ~ relation
  LOOP
    FOR condition IN EXECUTE format($q$
      SELECT concat_ws(' ', %L, operator, quote_literal(value)) FROM (SELECT DISTINCT (%s)::text, pg_typeof(%2$s)::text FROM %s_copy
          WHERE ts IN (SELECT samples.ts FROM %3$s_samples AS samples)) AS of(value, type),
        unnest(CASE type WHEN 'text' THEN '{=,<>}'::text[] ELSE '{=,<}' END) operator$q$, f, f, relation)
    LOOP
      EXECUTE format('SELECT ARRAY[(SELECT count(*) FROM %s WHERE %s AND %3$s), (SELECT count(*) FROM %1$s_copy WHERE %3$s AND %2$s)]',
        relation, condition, 'ts < ''290000-01-01'' AND ts > ''4700-01-01 BC''') INTO counts;
      conditions = conditions + 1;
      IF counts[1] <> counts[2] THEN
        differ = concat_ws(E'\n', differ, format('%s: %s rows instead of %s', condition, counts[1], counts[2]));
      END IF;
    END LOOP;
  END LOOP;
  RETURN NEXT;
END $$;
SELECT relation, zone, conditions > 100, differ
  FROM unnest('{flat,wall}'::text[]) relation, unnest('{America/Sao_Paulo,Australia/Lord_Howe}'::text[]) zone,
    compare(relation, zone);
SELECT pushed(condition, 'wall') FROM (VALUES ('ts >= ''2013-11-03 01:30'''), ('ts::date = ''2013-11-03''')) AS of(condition);

-- A value that no time reaches.  Times whose values PostgreSQL cannot compute,
-- where it would raise an error, are beyond all values.
SET TimeZone = 'Europe/Berlin';
CREATE FUNCTION missing(condition text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  n int;
BEGIN
  EXECUTE 'SELECT (SELECT count(*) FROM flat) - count(*) FROM flat WHERE ' || condition INTO n;
  RETURN n;
END $$;
SELECT condition, missing(condition) FROM (VALUES
  ('ts AT TIME ZONE ''Europe/Berlin'' < ''infinity'''), ('ts AT TIME ZONE ''Europe/Berlin'' <= ''294276-12-31 23:59:59.999999'''),
  ('ts::date < ''5874897-12-31'''), ('extract(epoch FROM ts) > -1e15'), ('extract(epoch FROM ts) < ''NaN'''),
  ('extract(millennium FROM ts + interval ''2 days'') <= 295'), ('extract(millennium FROM ts + interval ''2 days'') > 295')) AS of(condition);
SELECT count(*) FROM flat_copy WHERE ts >= '294276-12-30';
