--
-- Tests that EXPLAIN says why a roll-up of points that are aggregated is not
-- used.
--
\set suite rollup_reasons
\i sql/include/suite.sql

\pset format unaligned
\pset tuples_only on

-- The lines of a plan about roll-ups
CREATE FUNCTION reasons(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  line text;
  lines text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    IF line ~ 'Roll-up: ' THEN
      lines = concat_ws(E'\n', lines, regexp_replace(trim(line), 'until .*', 'until ..'));
    END IF;
  END LOOP;
  RETURN coalesce(lines, 'nothing');
END $$;

CREATE PROCEDURE show(VARIADIC queries text[]) LANGUAGE plpgsql AS $$
DECLARE
  query text;
BEGIN
  FOREACH query IN ARRAY queries LOOP
    RAISE INFO E'%\n%', query, reasons(query);
  END LOOP;
END $$;

CREATE FOREIGN TABLE points (
  ts timestamptz OPTIONS (field 'hour'), sensor text COLLATE "C", site numeric,
  temp float8 OPTIONS (field 'v.{minute}.t'), n int OPTIONS (field 'v.{minute}.n'),
  label text OPTIONS (field 'v.{minute}.l')
) SERVER rollup_reasons OPTIONS (collection 'points');
INSERT INTO points SELECT timestamptz '2024-03-28Z' + i * interval '7 minutes', 's' || i % 3, i % 2, i / 8.0, i % 50 FROM generate_series(0, 1500) i;
-- Plans for many points
CREATE PROCEDURE enlarge(relation regclass) LANGUAGE sql AS $$
  UPDATE pg_class SET reltuples = 1e7, relpages = 1e5 WHERE oid = relation $$;
CALL enlarge('points');
SET max_parallel_workers_per_gather = 0;

-- Nothing is shown of points that have no roll-ups, or that are not aggregated.
CALL show('SELECT count(*) FROM points');
SELECT mongo_ts_create_rollup('points', '1 hour', columns => '{temp}', aggregates => '{count,sum,max}');
CALL show('SELECT count(*) FROM points', 'SELECT * FROM points', 'SELECT avg(temp) FROM (SELECT temp FROM points LIMIT 10) t',
  'SELECT sum(temp) OVER () FROM points', 'SELECT stddev(points) FROM points_1h');
SELECT mongo_ts_refresh_rollup('points_1h') IS NOT NULL AS refreshed;

-- Aggregates, by the scan or above it
CALL show('SELECT sensor, count(*), sum(temp), max(temp) FROM points GROUP BY 1',
  'SELECT count(*), stddev(temp) FROM points',
  'SELECT min(temp) FROM points',
  'SELECT sensor, max(n) FROM points GROUP BY 1',
  'SELECT sum(temp * 2) FROM points',
  'SELECT sensor, max(ts) FROM points GROUP BY 1 HAVING count(*) > 1',
  'SELECT sensor, percentile_cont(0.5) WITHIN GROUP (ORDER BY temp) FROM points GROUP BY 1',
  'SELECT count(DISTINCT temp), sum(temp) FROM points',
  'SELECT count(DISTINCT n) FROM points',
  'SELECT sensor, array_agg(n ORDER BY ts) FROM points GROUP BY 1 ORDER BY 1',
  'SELECT sensor, sum(temp) FILTER (WHERE n > 3) FROM points GROUP BY 1',
  'SELECT * FROM (VALUES (1)) v, LATERAL (SELECT string_agg(label, '','' ORDER BY n) FROM points) p');
-- Conditions
CALL show('SELECT count(*) FROM points WHERE temp > 60 AND sensor = ''s1''',
  'SELECT count(*) FROM points WHERE sensor LIKE ''s%'' AND ts >= ''2024-04-01''',
  'SELECT count(*) FROM points WHERE site = 1',
  'SELECT count(*) FROM points WHERE extract(hour FROM ts) = 5',
  'SELECT max(temp) FROM points WHERE random() * n < 0.5 GROUP BY sensor',
  'SELECT (SELECT count(*) FROM points WHERE n < (SELECT 5))');
-- Groups
CALL show('SELECT ts, count(*) FROM points GROUP BY 1',
  'SELECT ts + n * interval ''1 hour'', count(*) FROM points GROUP BY 1',
  'SELECT label, count(*) FROM points GROUP BY 1',
  'SELECT site, count(*) FROM points GROUP BY 1',
  'SELECT sensor, n, count(*) FROM points GROUP BY ROLLUP (1, 2)',
  'SELECT DISTINCT sensor, n FROM points',
  'SELECT label, date_trunc(''day'', ts), array_agg(sensor ORDER BY ts) FROM points GROUP BY ROLLUP (1, 2)');
-- Intervals
SELECT mongo_ts_create_rollup('points_1h', '1 day', zone => 'Europe/Berlin');
CALL show('SELECT date_trunc(''week'', ts, ''Europe/Berlin''), count(*) FROM points GROUP BY 1',
  'SELECT date_trunc(''day'', ts), count(*) FROM points GROUP BY 1',
  'SELECT date_bin(''15 minutes'', ts, ''epoch''), count(*) FROM points GROUP BY 1');
PREPARE of_length AS SELECT date_trunc($1, ts), count(*) FROM points GROUP BY 1;
SET plan_cache_mode = force_generic_plan;
CALL show('EXECUTE of_length(''minute'')');
SET plan_cache_mode = force_custom_plan;
CALL show('EXECUTE of_length(''minute'')', 'EXECUTE of_length(''month'')');
RESET plan_cache_mode;
DROP FOREIGN TABLE points_1d;

-- Settings
SET mongo_ts_fdw.enable_rollups = off;
CALL show('SELECT count(*) FROM points', 'SELECT stddev(n) FROM points');
RESET mongo_ts_fdw.enable_rollups;
SET mongo_ts_fdw.enable_partial_aggregate = off;
CALL show('SELECT count(*) FROM points');
RESET mongo_ts_fdw.enable_partial_aggregate;

-- Plans: joins, a lookup for each row, workers, partitions, and one that costs less
CREATE TABLE sensors (sensor text COLLATE "C", name text);
INSERT INTO sensors VALUES ('s1', 'one'), ('s2', 'two');
ANALYZE sensors;
CALL show('SELECT name, count(*) FROM points JOIN sensors USING (sensor) GROUP BY 1',
  'SELECT name, string_agg(DISTINCT label, '','') FROM points JOIN sensors USING (sensor) GROUP BY 1',
  'SELECT count(*) FROM (SELECT sensor FROM points UNION ALL SELECT sensor FROM sensors) u');
UPDATE pg_class SET reltuples = 1e7 WHERE oid = 'points_1h'::regclass;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
CALL show('SELECT name, max(temp) FROM points JOIN (SELECT * FROM sensors LIMIT 1) s USING (sensor) GROUP BY 1');
RESET enable_hashjoin;
RESET enable_mergejoin;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
CALL show('SELECT max(temp) FROM points', 'SELECT sensor, percentile_cont(0.5) WITHIN GROUP (ORDER BY temp) FROM points GROUP BY 1');
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
SET max_parallel_workers_per_gather = 0;
UPDATE pg_class SET reltuples = 1000 WHERE oid = 'points_1h'::regclass;
UPDATE pg_class SET reltuples = 5, relpages = 1 WHERE oid = 'points'::regclass;
CALL show('SELECT max(temp) FROM points', 'SELECT sensor, avg(temp) FROM points GROUP BY 1');
CALL enlarge('points');
SET plan_cache_mode = force_generic_plan;
PREPARE counted AS SELECT count(*) FROM points;
SET mongo_ts_fdw.enable_rollups = off;
EXECUTE counted;
RESET mongo_ts_fdw.enable_rollups;
CALL show('EXECUTE counted');
RESET plan_cache_mode;

-- In other formats, a roll-up that is used and one that is not
SELECT mongo_ts_create_rollup('points', '1 hour', name => 'counts', columns => '{n}', aggregates => '{count}');
SELECT mongo_ts_refresh_rollup('counts') IS NOT NULL AS refreshed;
CREATE FUNCTION formatted(query text, options text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  plan text;
BEGIN
  EXECUTE format('EXPLAIN (COSTS OFF, %s) ', options) || query INTO plan;
  RETURN QUERY SELECT regexp_replace(line, '(Until\W+)[-0-9: +]+', '\1..') FROM string_to_table(plan, E'\n') line
    WHERE line ~ '^ *(- |<)?/?"?(Roll-up|Name|Used|Reason|Until|Stale)' AND line !~ 'Query';
END $$;
SELECT formatted('SELECT sum(temp) FROM points', 'FORMAT JSON');
SELECT formatted('SELECT sum(temp) FROM points', 'FORMAT XML, ANALYZE, TIMING OFF');
SELECT formatted('SELECT sum(temp) FROM points', 'FORMAT YAML');
DROP FOREIGN TABLE counts;

-- Declarations: altered, renamed and invalid ones; other owners and servers
CREATE PROCEDURE show_altered(VARIADIC statements text[]) LANGUAGE plpgsql AS $$
DECLARE
  statement text;
BEGIN
  FOREACH statement IN ARRAY statements LOOP
    EXECUTE statement;
  END LOOP;
  RAISE INFO E'%\n%', array_to_string(statements, '; '), reasons('SELECT count(*), sum(temp) FROM points');
  ROLLBACK;
END $$;
CALL show_altered('ALTER FOREIGN TABLE points ALTER temp OPTIONS (ADD missing_value ''-1'')');
CALL show_altered('ALTER FOREIGN TABLE points RENAME temp TO temperature', 'ALTER FOREIGN TABLE points RENAME n TO temp');
CALL show_altered('ALTER FOREIGN TABLE points ALTER temp TYPE real');
CALL show_altered('ALTER FOREIGN TABLE points ALTER ts TYPE timestamptz(0)');
CALL show_altered('ALTER FOREIGN TABLE points_1h DROP points');
CALL show_altered('ALTER FOREIGN TABLE points_1h OPTIONS (DROP rollup_interval)');
-- A renamed table is named by none, but could be that of one with its columns.
ALTER FOREIGN TABLE points RENAME TO renamed;
CALL show('SELECT count(*) FROM renamed');
CREATE FOREIGN TABLE unrelated (ts timestamptz, v int) SERVER rollup_reasons;
CALL show('SELECT count(*) FROM unrelated');
ALTER FOREIGN TABLE renamed RENAME TO points;

-- Documents that are rows, which can lack a time; other owners and servers
CREATE FOREIGN TABLE flat (ts timestamptz, v int) SERVER rollup_reasons;
CREATE FOREIGN TABLE flat_1h (ts timestamptz, n bigint OPTIONS (rollup 'count')) SERVER rollup_reasons
  OPTIONS (rollup_of 'rollup_reasons.flat', rollup_interval '1 hour');
CALL enlarge('flat');
CALL show('SELECT count(*) FROM flat', 'SELECT count(*) FROM flat WHERE ts > ''2024-03-28''');
SET client_min_messages = warning;
CREATE ROLE regress_reasons_other;
RESET client_min_messages;
CREATE SERVER rollup_reasons_other FOREIGN DATA WRAPPER mongo_ts_fdw;
CREATE FOREIGN TABLE of_other (ts timestamptz, n bigint OPTIONS (rollup 'count')) SERVER rollup_reasons
  OPTIONS (rollup_of 'rollup_reasons.flat', rollup_interval '1 hour');
ALTER FOREIGN TABLE of_other OWNER TO regress_reasons_other;
CREATE FOREIGN TABLE of_other_1d (ts timestamptz, n bigint OPTIONS (rollup 'count')) SERVER rollup_reasons
  OPTIONS (rollup_of 'rollup_reasons.of_other', rollup_interval '1 day');
CREATE FOREIGN TABLE elsewhere (ts timestamptz, n bigint OPTIONS (rollup 'count')) SERVER rollup_reasons_other
  OPTIONS (database 'mts', rollup_of 'rollup_reasons.flat', rollup_interval '1 hour');
CALL show('SELECT count(*) FROM flat WHERE ts > ''2024-03-28''');
DROP FOREIGN TABLE of_other, of_other_1d, elsewhere;
DROP SERVER rollup_reasons_other;
DROP ROLE regress_reasons_other;

SELECT mongo_ts_command('rollup_reasons', '{"dropDatabase": 1}')->'ok' AS dropped;
