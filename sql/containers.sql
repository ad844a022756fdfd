--
-- Tests which containers are read of a table with several: those of a query's
-- columns, if the points that exist only in others do not matter.
--
\set suite containers
\i sql/include/suite.sql
\i sql/include/agrees.sql

\pset format unaligned
\pset tuples_only on

-- The projections of a query's scans, and whether its rows are those of a local
-- copy
CREATE FUNCTION fetches(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF) ' || replace(query, '@', 'metrics') LOOP
    IF line ~ 'MongoDB Query:' THEN
      RETURN NEXT coalesce(substring(line FROM ', (\{[^{}]*: 1\})\)'), line);
    END IF;
  END LOOP;
  RETURN NEXT agrees(query);
END $$;

-- Points with a value in some of three containers, with a null in one, and a slot
-- without a point
CREATE FOREIGN TABLE metrics (
  device text, ts timestamptz,
  temp float8 OPTIONS (field 'temp.{minute}'),
  rpm int8 OPTIONS (field 'rpm.{minute}'),
  hum numeric OPTIONS (field 'env.{minute}.hum'), door text OPTIONS (field 'env.{minute}.door')
) SERVER containers;
CALL put('metrics', '[
  {"device": "a", "ts": {"$date": "2024-03-10T05:00:00Z"}, "temp": {"0": 61, "1": 59.5, "2": null},
   "rpm": {"1": 900, "3": 901, "4": null}, "env": {"2": {"hum": 40}, "5": {"door": "open"}, "6": {}}},
  {"device": "a", "ts": {"$date": "2024-03-10T06:00:00Z"}, "rpm": {"10": 902}},
  {"device": "b", "ts": {"$date": "2024-03-10T05:00:00Z"}, "env": {"0": {"hum": 41, "door": "shut"}, "7": {"hum": null}}},
  {"device": "b", "ts": {"$date": "2024-03-10T06:00:00Z"}, "temp": {"59": 70}, "rpm": {"59": 0}, "env": {"58": {"hum": 42}}},
  {"device": "c", "ts": {"$date": "2024-03-10T05:00:00Z"}, "rpm": {"0": 1}}]');
CREATE TABLE copied AS TABLE metrics;
TABLE copied ORDER BY 1, 2;

-- Without a condition all points are rows
SELECT fetches('SELECT temp FROM @');
SELECT fetches('SELECT count(*) FROM @');
SELECT fetches('SELECT ts, temp FROM @ WHERE ts >= ''2024-03-10 05:00Z'' AND device = ''a''');

-- Conditions that a null does not satisfy
SELECT fetches('SELECT ts, temp FROM @ WHERE temp > 60');
SELECT fetches('SELECT ts FROM @ WHERE temp IS NOT NULL');
SELECT fetches('SELECT ts, rpm FROM @ WHERE temp IS NOT NULL');
SELECT fetches('SELECT ts FROM @ WHERE hum BETWEEN 40 AND 41');
SELECT fetches('SELECT ts, door FROM @ WHERE hum IS NOT NULL AND device <> ''a''');
SELECT fetches('SELECT device FROM @ WHERE temp > 60 AND rpm IS NULL');
SELECT fetches('SELECT device FROM @ WHERE temp > 60 OR rpm > 900');
SELECT fetches('SELECT device FROM @ WHERE NOT (temp < 60)');
SELECT fetches('SELECT device FROM @ WHERE temp + hum > 0');
SELECT fetches('SELECT device FROM @ WHERE (rpm > 900) IS TRUE');
SELECT fetches('SELECT ts FROM @ WHERE rpm = ANY (ARRAY[900, 902])');
SELECT fetches('SELECT count(*) FROM @ WHERE temp IS NOT NULL');
SELECT fetches('SELECT date_trunc(''hour'', ts), device, count(*), max(temp), min(ts) FROM @ WHERE temp IS NOT NULL GROUP BY 1, 2');
SELECT fetches('SELECT DISTINCT device FROM @ WHERE temp IS NOT NULL');
SELECT fetches('SELECT ts, temp FROM @ WHERE temp IS NOT NULL ORDER BY ts DESC LIMIT 2');
SELECT fetches('SELECT DISTINCT ON (device) device, ts, temp FROM @ WHERE temp IS NOT NULL ORDER BY device, ts DESC');

-- Conditions that can be true of a null
SELECT fetches('SELECT device FROM @ WHERE temp IS NULL');
SELECT fetches('SELECT device FROM @ WHERE temp > 60 OR rpm IS NULL');
SELECT fetches('SELECT device FROM @ WHERE temp > 60 OR device = ''c''');
SELECT fetches('SELECT ts FROM @ WHERE coalesce(temp, 99) > 60');
SELECT fetches('SELECT ts FROM @ WHERE temp IS DISTINCT FROM 61');
SELECT fetches('SELECT ts FROM @ WHERE (temp > 60) IS NOT TRUE');

-- Aggregates without groups
SELECT fetches('SELECT avg(temp), min(temp), max(temp), count(temp), sum(temp), stddev(temp) FROM @');
SELECT fetches('SELECT avg(rpm), sum(rpm), variance(rpm), sum(rpm::int), avg(rpm::int2), bit_or(rpm) FROM @');
SELECT fetches('SELECT avg(hum), sum(hum), count(door), max(door) FROM @');
SELECT fetches('SELECT max(temp), max(rpm) FROM @');
SELECT fetches('SELECT max(temp + 1), corr(temp, 1) FROM @ WHERE device = ''a''');
SELECT fetches('SELECT count(*) FILTER (WHERE temp > 60), max(ts) FILTER (WHERE temp IS NOT NULL) FROM @');
SELECT fetches('SELECT max(temp) FROM @ HAVING max(temp) > 60');
-- and those to which the other points matter
SELECT fetches('SELECT max(temp), count(*) FROM @');
SELECT fetches('SELECT max(temp), max(ts) FROM @');
SELECT fetches('SELECT max(coalesce(temp, 99)) FROM @');
SELECT fetches('SELECT count(*) FILTER (WHERE temp > 60 OR device = ''c'') FROM @');
SELECT fetches('SELECT bool_or(temp IS NULL) FROM @');
SELECT fetches('SELECT max(temp) FILTER (WHERE rpm IS NULL), count(device) FROM @');
SELECT fetches('SELECT device, max(temp) FROM @ GROUP BY 1');

-- Joins, outer joins, rows of other tables, subqueries and parameters
CREATE TABLE limits (device text, high float8);
INSERT INTO limits VALUES ('a', 60), ('b', 65), ('c', 0);
SELECT fetches('SELECT device, ts, temp FROM @ JOIN limits USING (device) WHERE temp > 60');
SELECT fetches('SELECT device, ts FROM limits LEFT JOIN @ m USING (device) WHERE temp IS NOT NULL');
SELECT fetches('SELECT l.device, ts FROM limits l LEFT JOIN @ m ON m.device = l.device AND temp > 60');
SELECT fetches('SELECT l.device, ts FROM limits l LEFT JOIN @ m ON m.device = l.device AND temp IS NULL');
SELECT fetches('SELECT device, n FROM limits l, LATERAL (SELECT count(*) AS n FROM @ m WHERE m.device = l.device AND m.temp > l.high) x');
SELECT fetches('SELECT device, n FROM limits l, LATERAL (SELECT max(temp) AS n FROM @ m WHERE m.device = l.device) x');
SELECT fetches('SELECT device FROM limits l WHERE EXISTS (SELECT FROM @ m WHERE m.device = l.device AND temp > 60)');
SELECT fetches('SELECT device, max(temp) FROM @ JOIN limits USING (device) WHERE temp < 100 GROUP BY 1');
SELECT fetches('SELECT l.device, x.v FROM limits l LEFT JOIN (SELECT device, coalesce(temp, 99) AS v FROM @) x USING (device) WHERE x.v > 60');
PREPARE above (float8) AS SELECT device, ts FROM metrics WHERE temp > $1 ORDER BY 1, 2;
SET plan_cache_mode = force_generic_plan;
SELECT plan('EXECUTE above (60)', ', ANALYZE, VERBOSE');
EXECUTE above (60);
EXECUTE above (0);
RESET plan_cache_mode;

-- Rows that are changed have all their columns.  What is not changed stays
UPDATE metrics SET temp = temp + 1 WHERE temp > 65 RETURNING *;
DELETE FROM metrics WHERE temp < 60;
SELECT doc - '_id' FROM mongo_ts_find('containers', 'metrics', '{"device": {"$in": ["a", "b"]}}') AS doc ORDER BY doc->>'device', doc->>'ts';
SELECT * FROM metrics WHERE temp > 65 FOR UPDATE;
SELECT plan('SELECT temp FROM metrics WHERE temp > 65 FOR UPDATE');

-- Points of narrow ranges of time, of keys of slots, and of arrays
SELECT plan($$SELECT ts, temp FROM metrics WHERE temp > 60 AND ts BETWEEN '2024-03-10 05:00Z' AND '2024-03-10 05:02Z'$$, ', ANALYZE');
SELECT plan($$SELECT ts, temp FROM metrics WHERE ts BETWEEN '2024-03-10 05:00Z' AND '2024-03-10 05:02Z'$$, ', ANALYZE');
CREATE FOREIGN TABLE hosts (
  ts timestamptz, host text, cpu float8 OPTIONS (field 'cpu.{host}.{minute}'), memory float8 OPTIONS (field 'memory.{host}.{minute}')
) SERVER containers;
CALL put('hosts', '[{"ts": {"$date": "2024-03-10T05:00:00Z"}, "cpu": {"x": {"0": 1, "1": 2}, "y": {"0": 3}}, "memory": {"x": {"1": 4, "2": 5}, "z": {"0": 6}}}]');
SELECT plan($$SELECT ts, host, cpu FROM hosts WHERE host = 'x' AND cpu IS NOT NULL$$, ', ANALYZE');
SELECT ts, host, cpu FROM hosts WHERE host = 'x' AND cpu IS NOT NULL ORDER BY 1;
SELECT ts, host, cpu FROM hosts WHERE host = 'x' ORDER BY 1;
CREATE FOREIGN TABLE arrays (ts timestamptz, a int OPTIONS (field 'a[{minute}]'), b int OPTIONS (field 'b[{minute}]')) SERVER containers;
CALL put('arrays', '[{"ts": {"$date": "2024-03-10T05:00:00Z"}, "a": [1, null, 3], "b": [5, 6, 7, 8]}, {"ts": {"$date": "2024-03-10T06:00:00Z"}, "b": [9]}]');
SELECT plan('SELECT ts, a FROM arrays WHERE a > 0', ', ANALYZE');
SELECT ts, a FROM arrays WHERE a > 0 ORDER BY 1;
SELECT plan('SELECT sum(a) FROM arrays', ', ANALYZE');
SELECT sum(a), count(a) FROM arrays;
SELECT sum(a), count(*) FROM arrays;

-- Points that carry their times: these decide, and a missing value
CREATE FOREIGN TABLE carried (
  day timestamptz OPTIONS (field 'day', role 'attribute'), ts timestamptz OPTIONS (field 't[]', role 'time'), a int OPTIONS (field 'a[]', missing_value '-1'), b int OPTIONS (field 'b[]', missing_value '-1')
) SERVER containers;
CALL put('carried', '[{"day": {"$date": "2024-03-10T00:00:00Z"}, "t": [{"$date": "2024-03-10T05:00:00Z"}, {"$date": "2024-03-10T06:00:00Z"}, {"$date": "2024-03-10T07:00:00Z"}], "a": [1, -1, -1], "b": [-1, 2, -1]}]');
SELECT ts, a FROM carried ORDER BY 1;
SELECT plan('SELECT ts, a FROM carried', ', ANALYZE');
SELECT plan('SELECT ts, a FROM carried WHERE a > 0', ', ANALYZE');
SELECT plan('SELECT ts FROM carried WHERE ts > ''2024-03-10 00:00Z''', ', ANALYZE');
SELECT ts FROM carried WHERE ts > '2024-03-10 00:00Z' ORDER BY 1;
SELECT sum(a) FROM carried;

-- Pre-aggregates: the number of points counts those of all containers, so it is
-- not the number of values, even of a column whose nulls are missing
CREATE FOREIGN TABLE totals (
  ts timestamptz,
  a int OPTIONS (field 'a.{minute}', missing_value 'null', sum_field 'sum', min_field 'min', max_field 'max'),
  b int OPTIONS (field 'b.{minute}')
) SERVER containers OPTIONS (count_field 'n');
CALL put('totals', '[{"ts": {"$date": "2024-03-10T05:00:00Z"}, "n": 3, "sum": 3, "min": 1, "max": 2, "a": {"0": 1, "1": 2}, "b": {"1": 5, "2": 6}}]');
SELECT plan('SELECT max(a) FROM totals', ', ANALYZE');
SELECT plan('SELECT avg(a), count(a) FROM totals', ', ANALYZE');
SELECT max(a), sum(a) FROM totals;
SELECT avg(a), count(a) FROM totals;

-- An invalid slot is an error if its container is read; where invalid points are
-- skipped, all columns are read
CALL put('totals', '[{"ts": {"$date": "2024-03-10T06:00:00Z"}, "n": 2, "sum": 9, "min": 9, "max": 9, "a": {"0": 9}, "b": {"60": 1}}]');
SELECT try('SELECT a FROM totals');
SELECT a FROM totals WHERE a > 2;
ALTER FOREIGN TABLE totals OPTIONS (ADD on_invalid 'skip');
SELECT plan('SELECT a FROM totals WHERE a > 2');
