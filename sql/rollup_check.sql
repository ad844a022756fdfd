--
-- Tests that mongo_ts_check compares roll-ups with their points, and the
-- queries by which they are computed.
--
\set suite rollup_check
\i sql/include/suite.sql

\pset format unaligned
\pset tuples_only on

-- The queries --------------------------------------------------------------

CREATE FOREIGN TABLE "Odd" (
  "time ""of""" timestamptz OPTIONS (field 'day'),
  "a ""$.b" text OPTIONS (field 'k') COLLATE "C",
  note text OPTIONS (role 'attribute'),
  kind varchar(7),
  i2   int2    OPTIONS (field 'v.{kind}.{hour}.i2'),
  f4   real    OPTIONS (field 'v.{kind}.{hour}.f4'),
  n    numeric OPTIONS (field 'v.{kind}.{hour}.n'),
  t    text    OPTIONS (field 'v.{kind}.{hour}.t')
) SERVER rollup_check;
SELECT mongo_ts_create_rollup('"Odd"', '1 hour', name => 'Every "1" h');
SELECT mongo_ts_create_rollup('"Every ""1"" h"', '1 day', 'days', zone => 'Europe/Berlin');
SELECT mongo_ts_create_rollup('days', '1 month', 'months', '{sum, max}', '{f4, n}', 'Europe/Berlin');
CREATE FOREIGN TABLE own (
  ts timestamptz OPTIONS (rollup_column 'time "of"'), kind varchar(7), other text, highest real OPTIONS (rollup 'max', rollup_column 'f4'),
  n bigint OPTIONS (rollup 'count')
) SERVER rollup_check OPTIONS (rollup_of 'rollup_check."Odd"', rollup_interval '24 hours');
SELECT _mongo_ts_rollup_query(r) FROM unnest('{"\"Every \"\"1\"\" h\"",days,months,own}'::regclass[]) r;
SELECT _mongo_ts_rollup_query('months', of_points => true);
ALTER FOREIGN TABLE own OPTIONS (SET rollup_of 'rollup_check.months');
SELECT _mongo_ts_rollup_query('own');
SELECT try($$SELECT _mongo_ts_rollup_query('"Odd"')$$);
ALTER FOREIGN TABLE months DROP COLUMN f4_max;
SELECT try($$SELECT _mongo_ts_rollup_query('own')$$);
SELECT _mongo_ts_rollup_query('own', of_points => true);
ALTER FOREIGN TABLE months DROP COLUMN points;
ALTER FOREIGN TABLE own DROP COLUMN highest;
SELECT try($$SELECT _mongo_ts_rollup_query('own')$$);

-- What is compared ---------------------------------------------------------

-- Sums that depend on the order of addition, and cancel each other
CREATE FOREIGN TABLE points (
  ts timestamptz OPTIONS (field 'hour'), sensor text COLLATE "C", site int,
  temp float8 OPTIONS (field 'v.{minute}.t'), f real OPTIONS (field 'v.{minute}.f'), n int OPTIONS (field 'v.{minute}.n'),
  price numeric OPTIONS (field 'v.{minute}.p')
) SERVER rollup_check;
SELECT mongo_ts_create_index('points');
SELECT mongo_ts_create_rollup('points', '1 hour');
SELECT mongo_ts_create_rollup('points_1h', '1 day', zone => 'Europe/Berlin');
SELECT mongo_ts_create_rollup('points', '1 month', zone => 'America/Havana', aggregates => '{sum}');
INSERT INTO points
SELECT timestamptz '2013-10-26Z' + i * interval '7 minutes', 's' || i % 3, CASE WHEN i % 2 = 0 THEN i % 4 END,
       CASE WHEN i = 600 THEN 'NaN' WHEN i = 900 THEN 'Infinity' WHEN i % 11 > 0 THEN sin(i) * 1e6 END, i / 3.0, i % 50, i / 3::numeric
  FROM generate_series(0, 1000) i;
CREATE VIEW checked AS SELECT to_char(interval_start, 'MM-DD HH24') || to_char(interval_end, ' - MM-DD HH24') AS "interval",
    series, problem, total, in_rollup, of_points
  FROM mongo_ts_check_rollup('points_1h', time_limit => '1 hour') ORDER BY interval_start, series, total;
SELECT * FROM checked;
SELECT problem, hint FROM mongo_ts_check('points_1h');
SELECT mongo_ts_refresh_rollup('points_1d') IS NOT NULL, mongo_ts_refresh_rollup('points_1mo') IS NOT NULL;
SELECT * FROM checked;
SELECT * FROM mongo_ts_check_rollup('points_1h', '-infinity');
SELECT * FROM mongo_ts_check_rollup('points_1d');
SELECT * FROM mongo_ts_check_rollup('points_1d', '-infinity', 'infinity');
SELECT * FROM mongo_ts_check_rollup('points_1mo');
SELECT * FROM mongo_ts_check_rollup('points_1mo', end_time => 'infinity');
SELECT * FROM mongo_ts_check('points_1d');

-- Another client adds a point to a document, and one with a document.
CREATE FUNCTION change(collection text, sensor text, site text, bucket timestamptz, change text) RETURNS jsonb LANGUAGE sql AS $$
  SELECT mongo_ts_command('rollup_check', format('{"update": "%s", "updates": [{"q": {"sensor": "%s", "site": %s, "%s": {"$date": "%s"}}, "u": %s}]}',
    collection, sensor, site, CASE collection WHEN 'points' THEN 'hour' ELSE 'ts' END, to_char(bucket, 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), change)::json)->'nModified'
$$;
SELECT change('points', 's1', 'null', '2013-10-30 05:00', '{"$set": {"v.0": {"t": 1e9, "n": 7}}}');
CALL put('points', '[{"hour": {"$date": "2013-10-28T23:00:00Z"}, "sensor": "late", "site": 1, "v": {"59": {"n": 3}}}]');
SELECT * FROM checked;
SELECT * FROM mongo_ts_check_rollup('points_1d') WHERE total = 'points' ORDER BY 1;
SELECT interval_start, interval_end, total FROM mongo_ts_check_rollup('points_1mo') ORDER BY 3, series;
SELECT * FROM mongo_ts_check('points_1d');
-- in a range: all of the intervals that it touches
SELECT count(*) FROM mongo_ts_check_rollup('points_1h', '2013-10-30 05:59:59', '2013-10-30 05:59:59.5');
SELECT count(*) FROM mongo_ts_check_rollup('points_1h', '2013-10-30 06:00');
SELECT count(*) FROM mongo_ts_check_rollup('points_1h', end_time => '2013-10-28 23:00');
SELECT count(*) FROM mongo_ts_check_rollup('points_1h', end_time => '2013-10-28 23:00:01');
SELECT count(*) FROM mongo_ts_check_rollup('points_1h', '2030-01-01', 'infinity');
SELECT try($$SELECT mongo_ts_check_rollup('points_1h', '2013-10-30 06:00', '2013-10-30 05:00')$$);
SELECT count(*) FROM mongo_ts_check_rollup('points_1h', 'infinity');
SELECT count(*) FROM mongo_ts_check_rollup('points_1h', end_time => '-infinity');
-- A sample without time is the last day.
SELECT count(*) FROM mongo_ts_check_rollup('points_1h', time_limit => '-1 s');
-- What is marked is read from the points, and the next refresh computes it, also of coarser roll-ups.
CREATE FUNCTION stale() RETURNS TABLE (rollup text, stale tstzmultirange) LANGUAGE sql AS $$
  SELECT relname, (mongo_ts_rollup_state(oid)).stale FROM pg_class WHERE relname ~ '^points_' AND relkind = 'f' AND relnamespace = current_schema()::regnamespace ORDER BY 1
$$;
SELECT count(*) FROM mongo_ts_check_rollup('points_1h', mark => true, time_limit => '1 hour');
SELECT * FROM stale();
SELECT count(*) FROM mongo_ts_check_rollup('points_1h', '-infinity');
SELECT count(*), sum(n) FROM points WHERE sensor = 'late';
SELECT mongo_ts_refresh_rollup('points_1d') IS NOT NULL, mongo_ts_refresh_rollup('points_1mo') IS NOT NULL;
-- Nothing is stale, and the next refresh takes no document for a late one: all are older than the last.
CREATE PROCEDURE settle() LANGUAGE sql AS $$
  SELECT mongo_ts_command('rollup_check', '{"update": "mongo_ts_rollups", "updates": [
    {"q": {"until": {"$exists": true}}, "u": {"$set": {"stale": [], "refreshed": {"$date": "2100-01-01T00:00:00Z"}}}, "multi": true}]}')
$$;
CALL settle();
SELECT r, c.* FROM unnest('{points_1h,points_1d,points_1mo}'::regclass[]) r, mongo_ts_check_rollup(r, '-infinity') c;

-- Rows that are removed, added, or there twice
SELECT change('points_1h', 's0', 'null', '2013-10-27 00:00', '{"$unset": {"hours.3": 1}}');
SELECT change('points_1h', 's0', 'null', '2013-10-27 00:00', '{"$set": {"hours.7": {"points": 1, "n": {"sum": 5}}}}');
SELECT mongo_ts_command('rollup_check', '{"dropIndexes": "points_1h", "index": "*"}')->'ok' IS NOT NULL;
CALL put('points_1h', '[{"ts": {"$date": "2013-10-27T00:00:00Z"}, "sensor": "s0", "site": null, "hours": {"9": {"points": 2}}}]');
SELECT * FROM checked;
SELECT problem, field, documents FROM _mongo_ts_check_documents('points_1h');
SELECT mongo_ts_command('rollup_check', '{"delete": "points_1h", "deletes": [{"q": {"hours.9.n": {"$exists": false}, "hours.9": {"$exists": true}}, "limit": 0}]}')->'n';
-- A row of no points is none.
SELECT change('points_1h', 's0', 'null', '2013-10-27 00:00', '{"$set": {"hours.7.points": 0}}');
SELECT interval, problem FROM checked;
SELECT change('points_1h', 's0', 'null', '2013-10-27 00:00', '{"$unset": {"hours.7": 1}}');
SELECT mongo_ts_refresh_rollup('points_1h', '2013-10-27', '2013-10-28') IS NOT NULL, mongo_ts_refresh_rollup('points_1d') IS NOT NULL;

-- A sum of float8 may differ by what the order of addition explains, other totals not at all.
SELECT temp_sum AS sum FROM points_1d WHERE sensor = 's0' AND site = 2 AND ts = '2013-10-27 23:00Z' \gset
SELECT change('points_1d', 's0', '2', '2013-09-30 22:00', format('{"$set": {"days.28.temp.sum": %s}}', :'sum'::float8 + 1e-8));
SELECT * FROM mongo_ts_check_rollup('points_1d');
SELECT change('points_1d', 's0', '2', '2013-09-30 22:00', format('{"$set": {"days.28.temp.sum": %s}}', :'sum'::float8 + 1e-4));
SELECT total, in_rollup::float8 - of_points::float8 > 0 FROM mongo_ts_check_rollup('points_1d');
SELECT change('points_1d', 's0', '2', '2013-09-30 22:00', '{"$set": {"days.28.temp.sum": {"$numberDouble": "-Infinity"}}}');
SELECT total, in_rollup FROM mongo_ts_check_rollup('points_1d');
SELECT change('points_1d', 's0', '2', '2013-09-30 22:00', '{"$set": {"days.28.temp.sum": {"$numberDouble": "NaN"}}}');
SELECT total, in_rollup FROM mongo_ts_check_rollup('points_1d');
SELECT change('points_1d', 's0', '2', '2013-09-30 22:00', '{"$set": {"days.28.temp.sum": null, "days.28.temp.max": 1}}');
SELECT total, in_rollup FROM mongo_ts_check_rollup('points_1d');
-- No document is new to this refresh.
SELECT mongo_ts_command('rollup_check', '{"update": "mongo_ts_rollups", "updates": [
  {"q": {"until": {"$exists": true}}, "u": {"$set": {"refreshed": {"$date": "2100-01-01T00:00:00Z"}}}, "multi": true}]}')->'ok' IS NOT NULL;
SELECT mongo_ts_refresh_rollup('points_1d', '2013-10-28', '2013-10-29') IS NOT NULL;
SELECT interval, series, total, in_rollup, of_points FROM checked;

-- A coarser roll-up that was computed of wrong rows: those are marked, too.
SELECT change('points_1h', 's2', '2', '2013-10-29 00:00', '{"$inc": {"hours.4.n.sum": 1000}}'),
       change('points_1d', 's2', '2', '2013-09-30 22:00', '{"$inc": {"days.29.n.sum": 1000}}');
SELECT interval_start, series, total, in_rollup, of_points FROM mongo_ts_check_rollup('points_1d', mark => true);
SELECT * FROM stale();
SELECT mongo_ts_refresh_rollup('points_1d') IS NOT NULL, mongo_ts_refresh_rollup('points_1mo') IS NOT NULL;
CALL settle();
SELECT r, c.* FROM unnest('{points_1h,points_1d,points_1mo}'::regclass[]) r, mongo_ts_check_rollup(r, '-infinity') c;

-- What is stale is not compared, nor what rollup_retention keeps.
SELECT change('points', 's1', 'null', '2013-10-30 05:00', '{"$set": {"v.0.n": 8}}');
INSERT INTO points (ts, sensor) VALUES ('2013-10-30 05:33', 'other');
SELECT * FROM checked;
CALL settle();
SELECT total FROM checked;
ALTER FOREIGN TABLE points OPTIONS (ADD rollup_retention '7 days');
SELECT * FROM checked;
SELECT * FROM mongo_ts_check_rollup('points_1h', '-infinity');
INSERT INTO points (ts, sensor) SELECT date_trunc('minute', now()) - age, 'new' FROM unnest('{6 days, 8 days}'::interval[]) age;
SELECT mongo_ts_refresh_rollup('points_1h') IS NOT NULL;
CALL settle();
DELETE FROM points WHERE sensor = 'new';
CALL settle();
SELECT problem, now() - interval_start BETWEEN interval '6 days' AND interval '6 days 1 hour' AS is_kept
  FROM mongo_ts_check_rollup('points_1h', time_limit => '1 hour');
ALTER FOREIGN TABLE points OPTIONS (DROP rollup_retention);
SELECT problem, count(*) FROM mongo_ts_check_rollup('points_1h', '-infinity') GROUP BY 1 ORDER BY 1;

-- All intervals are visited, of any length, also where clocks change.
CREATE FOREIGN TABLE flat (ts timestamptz, v int) SERVER rollup_check;
SELECT mongo_ts_create_index('flat');
INSERT INTO flat SELECT t, 1 FROM generate_series(timestamptz '2013-11-01 09:10Z', '2013-11-04Z', '7 minutes') t;
CREATE FUNCTION all_found(span interval, zone text DEFAULT 'UTC') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  wanted bigint;
  visited bigint[];
BEGIN
  PERFORM mongo_ts_create_rollup('flat', span, 'every', columns => '{v}', zone => zone, lag => '0');
  PERFORM mongo_ts_refresh_rollup('every');
  PERFORM FROM mongo_ts_check_rollup('every', time_limit => '1 hour') UNION ALL SELECT FROM mongo_ts_check_rollup('every', '-infinity');
  ASSERT NOT FOUND;
  EXECUTE 'SELECT count(*) FROM every' INTO wanted;
  PERFORM mongo_ts_command('rollup_check', '{"delete": "every", "deletes": [{"q": {}, "limit": 0}]}');
  visited[1] = count(DISTINCT interval_start) FROM mongo_ts_check_rollup('every', time_limit => '1 hour');
  visited[2] = count(DISTINCT interval_start) FROM mongo_ts_check_rollup('every', '-infinity');
  DROP FOREIGN TABLE every;
  PERFORM mongo_ts_command('rollup_check', '{"drop": "every"}');
  RETURN format('%s %s: %s rows, %s found by a sample, %s by a range', span, zone, wanted, visited[1], visited[2]);
END $$;
SELECT all_found(span) FROM unnest('{4 min, 48 min, 90 min}'::interval[]) span;
INSERT INTO flat SELECT t, 1 FROM generate_series(timestamptz '2013-03-09 00:10Z', '2013-04-02Z', '3 hours') t;
-- A day whose start clocks repeat is not compared.
SELECT all_found(span, zone)
  FROM (VALUES (interval '1 day', 'Europe/Berlin'), ('1 day', 'America/Havana'), ('1 month', 'America/Havana')) t (span, zone);

-- What is refused, and other roll-ups ----------------------------------------

SELECT try($$SELECT mongo_ts_check_rollup('points')$$);
SELECT try($$SELECT mongo_ts_check_rollup('pg_class')$$);
SELECT mongo_ts_check_rollup(NULL);
SELECT try($$SELECT mongo_ts_mark_rollup('pg_class', 'now', 'now')$$);
SELECT try($$SELECT mongo_ts_mark_rollup('points', '2013-11-02', '2013-11-01')$$);
SELECT mongo_ts_mark_rollup(NULL, '2013-11-02', '2013-11-01');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT try($$SELECT mongo_ts_check_rollup('points_1h')$$);
ROLLBACK;
BEGIN READ ONLY;
SELECT count(*) FROM mongo_ts_check_rollup('points_1d', '2013-10-30');
SELECT try($$SELECT mongo_ts_mark_rollup('points_1d', '2013-10-30', '2013-10-31')$$);
ROLLBACK;
-- A range is marked of all roll-ups of the points.
SELECT mongo_ts_mark_rollup('points', '2013-10-27 00:30', '2013-10-27 01:00'), mongo_ts_mark_rollup('points_1d', '2013-10-29 05:00', '2013-10-29 05:00:01'),
       mongo_ts_mark_rollup('points', NULL, '2013-10-26');
SELECT * FROM stale();
SELECT mongo_ts_mark_rollup('points', NULL, NULL);
SELECT * FROM stale();
SELECT mongo_ts_check_rollup('points_1h', '-infinity');
-- Only the owner compares.
CREATE ROLE "rollup_check Owner";
CREATE ROLE rollup_check_reader;
GRANT USAGE ON SCHEMA rollup_check TO "rollup_check Owner", rollup_check_reader;
GRANT SELECT ON points, points_1h TO rollup_check_reader;
SET ROLE rollup_check_reader;
SELECT try($$SELECT mongo_ts_check_rollup('points_1h')$$) ~ '^42501: must be owner of foreign table';
SELECT try($$SELECT mongo_ts_mark_rollup('points_1h', '2013-10-26', '2013-10-27')$$);
SELECT problem, hint ~ '^Only its owner can do that: SET ROLE .+;' FROM mongo_ts_check('points_1h');
RESET ROLE;
ALTER FOREIGN TABLE points OWNER TO "rollup_check Owner";
ALTER FOREIGN TABLE points_1h OWNER TO "rollup_check Owner";
SELECT try($$SELECT mongo_ts_check_rollup('points_1h')$$);
SET ROLE "rollup_check Owner";
SELECT problem FROM mongo_ts_check_rollup('points_1h');
SELECT mongo_ts_refresh_rollup('points_1h') IS NOT NULL;
SELECT * FROM mongo_ts_check_rollup('points_1h', '-infinity');
RESET ROLE;
DROP OWNED BY "rollup_check Owner", rollup_check_reader CASCADE;
DROP ROLE "rollup_check Owner", rollup_check_reader;
-- Clocks can begin a day at 1:00 ----------------------------------------------

\i sql/include/same.sql
CREATE FOREIGN TABLE havana (ts timestamptz OPTIONS (field 'day'), v int OPTIONS (field 'v.{minute of day}')) SERVER rollup_check;
INSERT INTO havana SELECT t, 1 FROM generate_series(timestamptz '2013-03-08Z', '2013-03-14Z', '10 minutes') t;
SELECT mongo_ts_create_rollup('havana', '1 day', zone => 'America/Havana');
SELECT mongo_ts_refresh_rollup('havana_1d') IS NOT NULL;
UPDATE pg_class SET reltuples = 1e7, relpages = 1e7 WHERE oid = 'havana'::regclass;
SELECT rows_of($$SELECT date_trunc('day', ts, 'America/Havana'), count(*) FROM havana GROUP BY 1$$, 'mongo_ts_fdw.enable_rollups');
SELECT rows_of($$SELECT date_trunc('month', ts, 'America/Havana'), count(*) FROM havana GROUP BY 1$$, 'mongo_ts_fdw.enable_rollups');
SELECT mongo_ts_refresh_rollup('havana_1d', '2013-03-10 12:00', '2013-03-10 13:00') IS NOT NULL;
SELECT ts AT TIME ZONE 'America/Havana', points FROM havana_1d ORDER BY 1;

-- A roll-up that an application maintains, without the number of points
CREATE FOREIGN TABLE kept (ts timestamptz, sum bigint OPTIONS (rollup 'sum', rollup_column 'v')) SERVER rollup_check
  OPTIONS (rollup_of 'rollup_check.havana', rollup_interval '1 day', rollup_maintained_by 'application');
INSERT INTO kept SELECT date_trunc('day', ts), sum(v) FROM havana WHERE ts >= '2013-03-10' GROUP BY 1;
SELECT * FROM mongo_ts_check_rollup('kept', '2013-03-10');
SELECT * FROM mongo_ts_check('kept') WHERE problem ~ 'roll-up';
SELECT try($$SELECT * FROM mongo_ts_check_rollup('kept', '2013-03-09', mark => true)$$);

-- Columns with the names of what the queries use
CREATE FOREIGN TABLE names (ts timestamptz OPTIONS (field 'hour'), k text, range text, t int OPTIONS (field 'v.{minute}')) SERVER rollup_check;
INSERT INTO names SELECT timestamptz '2024-05-01Z' + i * interval '7 minutes', 'a', 'b', i FROM generate_series(0, 99) i;
SELECT mongo_ts_create_rollup('names', '1 hour', lag => '0');
SELECT mongo_ts_refresh_rollup('names_1h') IS NOT NULL;
SELECT mongo_ts_command('rollup_check', '{"update": "names_1h", "updates": [{"q": {}, "u": {"$inc": {"hours.3.t.sum": 1}}}]}')->'nModified';
SELECT * FROM mongo_ts_check_rollup('names_1h', '-infinity', mark => true);
SELECT stale_ranges, stale_points FROM mongo_ts_rollups WHERE rollup = 'names_1h'::regclass;
