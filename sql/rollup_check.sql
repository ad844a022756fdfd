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
SELECT mongo_ts_rollup_query(r) FROM unnest('{"\"Every \"\"1\"\" h\"",days,months,own}'::regclass[]) r;
SELECT mongo_ts_rollup_query('months', of_points => true);
ALTER FOREIGN TABLE own OPTIONS (SET rollup_of 'rollup_check.months');
SELECT mongo_ts_rollup_query('own');
SELECT try($$SELECT mongo_ts_rollup_query('"Odd"')$$);
ALTER FOREIGN TABLE months DROP COLUMN f4_max;
SELECT try($$SELECT mongo_ts_rollup_query('own')$$);
SELECT mongo_ts_rollup_query('own', of_points => true);
ALTER FOREIGN TABLE months DROP COLUMN points;
ALTER FOREIGN TABLE own DROP COLUMN highest;
SELECT try($$SELECT mongo_ts_rollup_query('own')$$);

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
