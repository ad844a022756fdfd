--
-- Tests the queries of BI tools for charts of a time series: which parts are
-- shipped to MongoDB or aggregated, and that results equal those of a local
-- table.
--
-- percentile_cont is not partially aggregated, but its conditions are shipped.
-- Points that are joined with tables of dimensions are aggregated below the
-- joins.
--
\set suite bi_tools
\i sql/include/suite.sql

\pset format unaligned
\pset tuples_only on

\i sql/include/agrees.sql

-- Run a query on both, and show whether it reads a row of each series
CREATE FUNCTION skips(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  line text;
  plan text = '';
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || replace(query, '@', 'metrics') LOOP
    plan = plan || line;
  END LOOP;
  RETURN CASE WHEN plan ~ 'Skip Scan Keys' THEN 'a row of each series, ' || replace(agrees(query), 'all buckets, ', '') ELSE 'all rows, ' || agrees(query) END;
END $$;

-- Buckets of an hour with pre-aggregates, over the days in which New York
-- changes its clocks; epoch is a key that is a number
CREATE FOREIGN TABLE metrics (
  ts timestamptz, host text, epoch int, value float8 OPTIONS (field 'v.{minute}', sum_field 'sum') NOT NULL
) SERVER bi_tools OPTIONS (bucket_span '1 hour', count_field 'n');
INSERT INTO metrics SELECT timestamptz '2013-11-01Z' + i * interval '1 minute', 'web' || i / 60 % 3, 1383264000 + i / 60 * 3600, i % 97 / 4.0
  FROM generate_series(0, 9999) i WHERE i % 7 <> 3;
CREATE TABLE copied AS TABLE metrics;
-- Without ANALYZE few points are expected
SELECT agrees($$SELECT floor(extract(epoch from ts)/300)*300 AS "time", host AS metric, avg(value) AS "value" FROM @
  WHERE ts BETWEEN '2013-11-02T06:00:00Z' AND '2013-11-02T12:00:00.123Z' AND host IN ('web1', 'web2') GROUP BY 1, 2 ORDER BY 1, 2$$);
ANALYZE metrics;
CREATE VIEW shown AS SELECT ts, host, value FROM metrics;

-- Grafana: $__timeFilter(ts), $__timeGroupAlias(ts, '5m') (Grafana itself
-- applies a fill mode)
EXPLAIN (COSTS OFF) SELECT floor(extract(epoch from ts)/300)*300 AS "time", host AS metric, avg(value) AS "value" FROM metrics
  WHERE ts BETWEEN '2013-11-02T06:00:00Z' AND '2013-11-02T12:00:00.123Z' AND host IN ('web1', 'web2') GROUP BY 1, 2 ORDER BY 1, 2;
SELECT agrees($$SELECT floor(extract(epoch from ts)/300)*300 AS "time", host AS metric, avg(value) AS "value" FROM @
  WHERE ts BETWEEN '2013-11-02T06:00:00Z' AND '2013-11-02T12:00:00.123Z' AND host IN ('web1', 'web2') GROUP BY 1, 2 ORDER BY 1, 2$$);
-- $__timeGroup(ts, '500ms'), and by hand
SELECT agrees($$SELECT floor(extract(epoch from ts)/0.5)*0.5 AS "time", max(value) FROM @ WHERE ts BETWEEN '2013-11-02T06:00:00Z' AND '2013-11-02T06:10:00Z' GROUP BY "time" ORDER BY "time"$$);
SELECT agrees($$SELECT floor(date_part('epoch', ts)/3600)*3600 AS "time", sum(value) FROM @ WHERE ts BETWEEN '2013-11-02T06:00:00Z' AND '2013-11-03T12:00:00Z' GROUP BY 1$$);
SELECT agrees($$SELECT (extract(epoch from ts)/300)::bigint*300 AS "time", avg(value) FROM @ GROUP BY 1$$);
SELECT agrees($$SELECT extract(epoch from ts)::bigint/3600*3600 AS "time", avg(value) FROM @ GROUP BY 1$$);
SELECT agrees($$SELECT to_timestamp(floor(extract(epoch from ts)/3600)*3600) AS "time", count(*) FROM @ GROUP BY 1$$);
SELECT agrees($$SELECT (extract(epoch from ts)::int/300)*300 AS "time", avg(value) FROM @ GROUP BY 1$$);
-- $__timeFrom(), $__timeTo(); $__time(ts); a raw series, newest first
SELECT agrees($$SELECT ts AS "time", value FROM @ WHERE ts >= '2013-11-02T06:00:00Z' AND ts < '2013-11-02T06:30:00.5Z' AND host = 'web0' ORDER BY ts DESC LIMIT 10$$);
SELECT agrees($$SELECT ts AS "time", value FROM @ WHERE ts >= '2013-11-02T06:00:00Z'::text::timestamptz AND ts < timestamp '2013-11-02 06:30' ORDER BY 1$$);
-- $__timeEpoch(ts) in a condition; an hour with fractional seconds
SELECT agrees($$SELECT extract(epoch from ts) AS "time", value FROM @ WHERE extract(epoch from ts) >= 1383372000 AND extract(epoch from ts) <= 1383375600.5$$);
EXPLAIN (COSTS OFF) SELECT value FROM metrics WHERE extract(epoch from ts) > 1383371999.9999995 AND extract(epoch from ts) < 1383375600.0000001;
-- $__unixEpochFilter(epoch), $__unixEpochGroupAlias(epoch, '6h') of a column of seconds
EXPLAIN (COSTS OFF) SELECT floor((epoch)/21600)*21600 AS "time", avg(value) FROM metrics WHERE epoch >= 1383372000 AND epoch <= 1383458400 GROUP BY 1;
SELECT agrees($$SELECT floor((epoch)/21600)*21600 AS "time", avg(value) FROM @ WHERE epoch >= 1383372000 AND epoch <= 1383458400 GROUP BY 1 ORDER BY 1$$);
-- with TimescaleDB enabled, which another function imitates
BEGIN;
CREATE FUNCTION time_bucket(w interval, t timestamptz) RETURNS timestamptz
IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN date_bin(w, t, ''2000-01-03Z''); END';
UPDATE pg_extension SET extname = 'timescaledb' WHERE extname = 'plpgsql';
ALTER EXTENSION timescaledb ADD FUNCTION time_bucket(interval, timestamptz);
SELECT agrees($$SELECT time_bucket('300.000s',ts) AS "time", host AS metric, avg(value) FROM @ WHERE ts BETWEEN '2013-11-02T06:00:00Z' AND '2013-11-02T12:00:00Z' GROUP BY 1, 2 ORDER BY 1$$);
ROLLBACK;
-- Template variables
SELECT agrees($$SELECT DISTINCT host FROM @ ORDER BY 1$$);

-- Metabase: the session has the report's zone.  A day, an hour, a month;
-- filters on both sides
SET TimeZone = 'America/New_York';
EXPLAIN (COSTS OFF) SELECT CAST("public"."ts" AS date) AS "ts", SUM("public"."value") AS "sum" FROM metrics "public"
  WHERE ("public"."ts" >= timestamp with time zone '2013-11-02 00:00:00.000-04:00') AND ("public"."ts" < timestamp with time zone '2013-11-05 00:00:00.000-05:00')
  GROUP BY CAST("public"."ts" AS date) ORDER BY CAST("public"."ts" AS date) ASC;
SELECT agrees($$SELECT CAST(ts AS date) AS "ts", SUM(value), COUNT(*) FROM @ WHERE ts >= timestamp with time zone '2013-11-02 00:00:00.000-04:00' AND ts < timestamp with time zone '2013-11-05 00:00:00.000-05:00' GROUP BY 1 ORDER BY 1 ASC$$);
SELECT agrees($$SELECT DATE_TRUNC('hour', ts) AS "ts", host, AVG(value) FROM @ GROUP BY DATE_TRUNC('hour', ts), host ORDER BY 1 ASC, 2 ASC$$);
SELECT agrees($$SELECT DATE_TRUNC('quarter', ts), COUNT(*) FROM @ WHERE ts >= DATE_TRUNC('month', timestamptz '2013-11-20' + INTERVAL '-1 month') GROUP BY 1$$);
-- Weeks that begin on Sundays, of instants and of local times
EXPLAIN (COSTS OFF) SELECT (DATE_TRUNC('week', (ts + INTERVAL '1 day')) + INTERVAL '-1 day') AS "ts", COUNT(*) AS "count" FROM metrics GROUP BY 1 ORDER BY 1 ASC;
SELECT agrees($$SELECT (DATE_TRUNC('week', (ts + INTERVAL '1 day')) + INTERVAL '-1 day') AS "ts", COUNT(*) FROM @ GROUP BY 1 ORDER BY 1 ASC$$);
SELECT agrees($$SELECT (CAST(DATE_TRUNC('week', (ts + (INTERVAL '1 day'))) AS timestamp) + (INTERVAL '-1 day')), SUM(value) FROM @ GROUP BY 1$$);
SELECT agrees($$SELECT DATE_TRUNC('week', CAST(ts AS timestamp) + INTERVAL '1 day') + INTERVAL '-1 day', SUM(value) FROM @ GROUP BY 1$$);
-- The hour of the day, the day of the week (of Sundays, and of Mondays) and others
SET enable_sort = off;
EXPLAIN (COSTS OFF) SELECT CAST(extract(hour from ts) AS integer), SUM(value) FROM metrics GROUP BY 1;
RESET enable_sort;
SELECT agrees($$SELECT CAST(extract(hour from ts) AS integer), CAST(extract(minute from ts) AS integer), SUM(value) FROM @ GROUP BY 1, 2$$);
SELECT agrees($$SELECT (CAST(extract(dow from ts) AS integer) + 1), COUNT(*), AVG(value) FROM @ GROUP BY 1$$);
SELECT agrees($$SELECT CASE WHEN ((CAST(extract(dow from ts) AS integer) + 1) + 6) % 7 = 0 THEN 7 ELSE ((CAST(extract(dow from ts) AS integer) + 1) + 6) % 7 END, COUNT(*) FROM @ GROUP BY 1$$);
SELECT agrees($$SELECT CAST(extract(month from ts) AS integer), CAST(extract(quarter from ts) AS integer), CAST(extract(doy from ts) AS integer), CAST(extract(week from ts) AS integer), COUNT(*) FROM @ GROUP BY 1, 2, 3, 4$$);
-- "Previous 3 days" of a date, and a converted time zone
SELECT agrees($$SELECT host, COUNT(*) FROM @ WHERE CAST(ts AS date) BETWEEN date '2013-11-02' AND date '2013-11-04' GROUP BY 1$$);
SELECT agrees($$SELECT DATE_TRUNC('day', timezone('Europe/Berlin', ts)), COUNT(*) FROM @ WHERE timezone('Europe/Berlin', ts) >= timestamp '2013-11-03 00:00:00.000' GROUP BY 1$$);
-- A nested question; a raw table
SELECT agrees($$SELECT "source"."ts", AVG("source"."sum") FROM (SELECT DATE_TRUNC('hour', ts) AS "ts", host, SUM(value) AS "sum" FROM @ GROUP BY 1, 2 ORDER BY 1 ASC) AS "source" GROUP BY "source"."ts" ORDER BY 1 ASC LIMIT 10000$$);
SELECT agrees($$SELECT DATE_TRUNC('hour', "source"."ts"), COUNT(*) FROM (SELECT ts, value * 2 AS "double" FROM @ WHERE host = 'web2') AS "source" WHERE "source"."double" > 20 GROUP BY 1$$);
SELECT agrees($$SELECT ts, host, value FROM @ WHERE host = 'web1' LIMIT 1048575$$);
SELECT agrees($$SELECT host, PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY value) FROM @ WHERE ts >= timestamp with time zone '2013-11-02 00:00Z' GROUP BY 1$$);
SET TimeZone = 'UTC';

-- Superset: a time grain, bounds by to_timestamp
EXPLAIN (COSTS OFF) SELECT DATE_TRUNC('minute', ts) AS __timestamp, AVG(value) AS "AVG(value)" FROM metrics
  WHERE ts >= TO_TIMESTAMP('2013-11-02 06:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND ts < TO_TIMESTAMP('2013-11-02 07:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
  GROUP BY DATE_TRUNC('minute', ts) ORDER BY "AVG(value)" DESC LIMIT 1000;
SELECT agrees($$SELECT DATE_TRUNC('hour', ts) AS __timestamp, host AS host, AVG(value) AS "AVG(value)" FROM @
  WHERE ts >= TO_TIMESTAMP('2013-11-02 06:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND ts < TO_TIMESTAMP('2013-11-03 07:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND host IN ('web0', 'web1')
  GROUP BY DATE_TRUNC('hour', ts), host ORDER BY "AVG(value)" DESC, 1, 2 LIMIT 1000$$);
-- Grains of minutes or seconds, in a zone that sets its clocks back, and in
-- one with an offset of half an hour
EXPLAIN (COSTS OFF) SELECT DATE_TRUNC('hour', ts) + INTERVAL '5 minutes' * FLOOR(EXTRACT(MINUTE FROM ts) / 5) AS ts, host AS host, AVG(value) AS "AVG(value)" FROM metrics
  WHERE ts >= TO_TIMESTAMP('2013-11-02 06:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND ts < TO_TIMESTAMP('2013-11-02 07:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
  GROUP BY DATE_TRUNC('hour', ts) + INTERVAL '5 minutes' * FLOOR(EXTRACT(MINUTE FROM ts) / 5), host ORDER BY "AVG(value)" DESC LIMIT 10000;
SET TimeZone = 'America/New_York';
SELECT agrees($$SELECT DATE_TRUNC('hour', ts) + INTERVAL '5 minutes' * FLOOR(EXTRACT(MINUTE FROM ts) / 5) AS ts, host, AVG(value) FROM @ GROUP BY 1, 2$$);
SELECT agrees($$SELECT DATE_TRUNC('hour', ts) + INTERVAL '30 minutes' * FLOOR(EXTRACT(MINUTE FROM ts) / 30) AS ts, MAX(value) FROM @ GROUP BY 1$$);
SET TimeZone = 'Asia/Kolkata';
SELECT agrees($$SELECT DATE_TRUNC('hour', ts) + INTERVAL '15 minutes' * FLOOR(EXTRACT(MINUTE FROM ts) / 15) AS ts, SUM(value), COUNT(*) FROM @ GROUP BY 1$$);
SELECT agrees($$SELECT DATE_TRUNC('hour', ts AT TIME ZONE 'Europe/Berlin') + INTERVAL '10 minutes' * FLOOR(DATE_PART('minute', ts AT TIME ZONE 'Europe/Berlin') / 10) AS ts, MIN(value) FROM @ GROUP BY 1$$);
SET TimeZone = 'UTC';
SELECT agrees($$SELECT DATE_TRUNC('minute', ts) + INTERVAL '30 seconds' * FLOOR(EXTRACT(SECOND FROM ts) / 30) AS ts, SUM(value) FROM @ GROUP BY 1$$);
-- The same beyond the next hour, backwards, or with parts of another unit or
-- time
SELECT agrees($$SELECT DATE_TRUNC('hour', ts) + INTERVAL '6 minutes' * FLOOR(EXTRACT(MINUTE FROM ts) / 5) AS ts, COUNT(*) FROM @ GROUP BY 1$$);
SELECT agrees($$SELECT DATE_TRUNC('hour', ts) + INTERVAL '-5 minutes' * FLOOR(EXTRACT(MINUTE FROM ts) / 5) AS ts, COUNT(*) FROM @ GROUP BY 1$$);
SELECT agrees($$SELECT DATE_TRUNC('day', ts) + INTERVAL '5 minutes' * FLOOR(EXTRACT(MINUTE FROM ts) / 5) AS ts, COUNT(*) FROM @ GROUP BY 1$$);
SELECT agrees($$SELECT DATE_TRUNC('hour', ts) + INTERVAL '5 minutes' * FLOOR(EXTRACT(MINUTE FROM ts + INTERVAL '7 minutes') / 5) AS ts, COUNT(*) FROM @ GROUP BY 1$$);
-- The series with the largest sums: two partial aggregates are joined
SET enable_nestloop = off;
SET enable_mergejoin = off;
EXPLAIN (COSTS OFF) SELECT DATE_TRUNC('day', ts) AS __timestamp, host AS host, SUM(value) AS "SUM(value)" FROM metrics
  JOIN (SELECT host AS host__, SUM(value) AS mme_inner__ FROM metrics WHERE ts >= '2013-11-02' AND ts < '2013-11-05' GROUP BY host ORDER BY mme_inner__ DESC LIMIT 2) AS series_limit ON host = host__
  WHERE ts >= '2013-11-02' AND ts < '2013-11-05' GROUP BY DATE_TRUNC('day', ts), host ORDER BY "SUM(value)" DESC LIMIT 1000;
RESET enable_nestloop;
RESET enable_mergejoin;
SELECT agrees($$SELECT DATE_TRUNC('day', ts) AS __timestamp, host AS host, SUM(value) AS "SUM(value)" FROM @
  JOIN (SELECT host AS host__, SUM(value) AS mme_inner__ FROM @ WHERE ts >= '2013-11-02' AND ts < '2013-11-05' GROUP BY host ORDER BY mme_inner__ DESC LIMIT 2) AS series_limit ON host = host__
  WHERE ts >= '2013-11-02' AND ts < '2013-11-05' GROUP BY DATE_TRUNC('day', ts), host ORDER BY "SUM(value)" DESC LIMIT 1000$$);
SELECT agrees($$SELECT DATE_TRUNC('week', ts) AS __timestamp, COUNT(*) AS count FROM (SELECT ts, host FROM @) AS virtual_table GROUP BY DATE_TRUNC('week', ts) LIMIT 50000$$);
SELECT agrees($$SELECT DATE_TRUNC('day', ts AT TIME ZONE 'America/New_York') AT TIME ZONE 'America/New_York', COUNT(*) FROM @ GROUP BY 1$$);

-- Tableau: in a cursor; aliases with colons; parts of dates as integers
BEGIN;
DECLARE "SQL_CUR0x5581" CURSOR WITH HOLD FOR SELECT SUM(1) AS "sum:Number of Records:ok", DATE_TRUNC( 'DAY', CAST("metrics"."ts" AS DATE) ) AS "tdy:ts:ok" FROM metrics GROUP BY 2 HAVING (COUNT(1) > 0) ORDER BY 2;
COMMIT;
FETCH 2 IN "SQL_CUR0x5581";
CLOSE "SQL_CUR0x5581";
EXPLAIN (COSTS OFF) SELECT DATE_TRUNC( 'DAY', CAST("metrics"."ts" AS DATE) ) AS "tdy:ts:ok", SUM("metrics"."value") AS "sum:value:ok" FROM metrics
  WHERE (("metrics"."ts" >= (TIMESTAMP '2013-11-02 00:00:00.000')) AND ("metrics"."ts" < (TIMESTAMP '2013-11-05 00:00:00.000'))) GROUP BY 1;
SELECT agrees($$SELECT DATE_TRUNC( 'DAY', CAST(ts AS DATE) ) AS "tdy:ts:ok", SUM(value) AS "sum:value:ok" FROM @ WHERE ((ts >= (TIMESTAMP '2013-11-02 00:00:00.000')) AND (ts < (TIMESTAMP '2013-11-05 00:00:00.000'))) GROUP BY 1$$);
SELECT agrees($$SELECT DATE_TRUNC( 'HOUR', CAST(ts AS TIMESTAMP WITHOUT TIME ZONE) ) AS "thr:ts:ok", CAST(host AS TEXT) AS "host", AVG(value) AS "avg:value:ok" FROM @ WHERE (CAST(host AS TEXT) = 'web1') GROUP BY 1, 2$$);
SELECT agrees($$SELECT CAST(TRUNC(EXTRACT(YEAR FROM ts)) AS INTEGER) AS "yr:ts:ok", CAST(TRUNC(EXTRACT(MONTH FROM ts)) AS INTEGER) AS "mn:ts:ok", SUM(1) AS "cnt" FROM @ GROUP BY 1, 2 HAVING (COUNT(1) > 0)$$);
SELECT agrees($$SELECT (1 + CAST(EXTRACT(DOW FROM ts) AS INTEGER)) AS "wd:ts:ok", MAX(value) FROM @ GROUP BY 1$$);
EXPLAIN (COSTS OFF) SELECT SUM(value) FROM metrics WHERE (DATE_TRUNC( 'DAY', CAST(ts AS DATE) ) = (TIMESTAMP '2013-11-03 00:00:00.000'));
SELECT agrees($$SELECT SUM(value) FROM @ WHERE (DATE_TRUNC( 'DAY', CAST(ts AS DATE) ) = (TIMESTAMP '2013-11-03 00:00:00.000')) HAVING (COUNT(1) > 0)$$);
SELECT agrees($$SELECT COUNT(DISTINCT host) AS "ctd:host:ok" FROM @ WHERE ts < (TIMESTAMP '2013-11-03 00:00:00.000')$$);
SELECT agrees($$SELECT MIN(ts), MAX(ts), COUNT(1) FROM @$$);
SELECT agrees($$SELECT (CASE WHEN host = 'web0' THEN 'old' ELSE 'new' END) AS "group", DATE_TRUNC('hour', ts), SUM(value) FROM @ GROUP BY 1, 2$$);

-- Power BI: nested subqueries of quoted names, limits
EXPLAIN (COSTS OFF) select "_"."host", "_"."a0" from (select "rows"."host" as "host", sum("rows"."value") as "a0" from
  (select "_"."host", "_"."value" from metrics "_" where "_"."ts" >= timestamp '2013-11-02 00:00:00' and "_"."ts" < timestamp '2013-11-03 00:00:00') "rows" group by "host") "_" where not "_"."a0" is null limit 1000001;
SELECT agrees($$select "_"."host", "_"."a0" from (select "rows"."host" as "host", sum("rows"."value") as "a0" from
  (select "_"."host", "_"."value" from @ "_" where "_"."ts" >= timestamp '2013-11-02 00:00:00' and "_"."ts" < timestamp '2013-11-03 00:00:00') "rows" group by "host") "_" where not "_"."a0" is null limit 1000001$$);
SELECT agrees($$select "$Table"."ts" as "ts", "$Table"."value" as "value" from @ "$Table" order by "$Table"."ts" limit 1000 offset 0$$);

-- Looker, Redash, Lightdash
SELECT agrees($$SELECT DATE(ts) AS "day", COUNT(*) FROM @ WHERE (( ts ) >= (TIMESTAMP '2013-11-02 00:00') AND ( ts ) < (TIMESTAMP '2013-11-04')) GROUP BY 1 ORDER BY 1 DESC FETCH NEXT 500 ROWS ONLY$$);
SELECT agrees($$SELECT TO_CHAR(DATE_TRUNC('hour', ts), 'YYYY-MM-DD HH24:MI:SS') AS "hour", AVG(value) FROM @ GROUP BY 1$$);
SELECT agrees($$SELECT TO_CHAR(ts, 'YYYY-MM-DD HH24') AS "hour", TO_CHAR(ts, 'FMDay') AS "weekday", COUNT(*) FROM @ GROUP BY 1, 2$$);
SELECT agrees($$SELECT (DATE_TRUNC('day', ts::timestamptz AT TIME ZONE 'America/New_York')), SUM(value) FROM @ WHERE (DATE_TRUNC('day', ts::timestamptz AT TIME ZONE 'America/New_York')) >= ('2013-11-03') GROUP BY 1$$);
SELECT agrees($$SELECT DATE_TRUNC('hour', ts), host, COUNT(*) FROM @ WHERE ts >= '2013-11-04' GROUP BY ROLLUP (1, 2)$$);

-- The same through a view, for tools that don't list foreign tables
EXPLAIN (COSTS OFF) SELECT date_trunc('hour', ts), avg(value) FROM shown WHERE ts >= '2013-11-02' AND ts < '2013-11-03' GROUP BY 1;
-- Whole hours use the buckets' own sums, unless clocks change nearby
SELECT * FROM reads($$SELECT floor(extract(epoch from ts)/3600)*3600, sum(value) FROM metrics WHERE ts BETWEEN '2013-11-02T06:00:00Z' AND '2013-11-03T06:00:00Z' GROUP BY 1$$);
SELECT * FROM reads($$SELECT extract(hour from ts), extract(dow from ts), sum(value), count(*) FROM metrics WHERE ts >= '2013-11-02' GROUP BY 1, 2$$);
SELECT * FROM reads($$SELECT date_trunc('week', ts + interval '1 day') + interval '-1 day', sum(value), count(*) FROM metrics GROUP BY 1$$);

SET TimeZone = 'America/New_York';
SELECT * FROM reads($$SELECT date_trunc('week', ts + interval '1 day') + interval '-1 day', sum(value), count(*) FROM metrics GROUP BY 1$$);
-- On the next day the hour after two o'clock is skipped and shown as the next
-- one
CREATE FOREIGN TABLE nights (ts timestamptz, v int OPTIONS (field 'v.{minute}')) SERVER bi_tools OPTIONS (bucket_span '3 hours');
INSERT INTO nights SELECT timestamptz '2013-03-09 06:00Z' + i * interval '1 minute', i FROM generate_series(0, 179) i;
SELECT date_trunc('minute', ts + interval '1 day') AS t, count(*), min(v), max(v) FROM nights GROUP BY 1 HAVING count(*) <> 2 OR max(v) - min(v) <> 60 ORDER BY 1 LIMIT 2 OFFSET 58;
SELECT count(*), sum(n) FROM (SELECT date_trunc('minute', ts + interval '1 day') AS t, count(*) AS n FROM nights GROUP BY 1 HAVING count(*) = 2) t;
SET TimeZone = 'UTC';

-- Joined data sets: a table of hosts, which some points lack, and one of teams
CREATE TABLE hosts (host text UNIQUE, site text, team int);
INSERT INTO hosts VALUES ('web0', 'Paris', 1), ('web1', 'Oslo', 1), ('web3', 'Rome', 2);
CREATE TABLE teams (team int PRIMARY KEY, name text);
INSERT INTO teams VALUES (1, 'shop'), (2, 'search');
ANALYZE hosts;
ANALYZE teams;
-- Superset: a virtual data set; a grain of five minutes; a filter of a column
SELECT plan($$SELECT DATE_TRUNC('hour', ts) AS __timestamp, site AS site, AVG(value) AS "AVG(value)" FROM (SELECT m.ts, m.value, h.site, h.team FROM metrics m JOIN hosts h ON m.host = h.host) AS virtual_table
  WHERE ts >= TO_TIMESTAMP('2013-11-02 06:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND ts < TO_TIMESTAMP('2013-11-05 07:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND site IN ('Paris', 'Oslo')
  GROUP BY DATE_TRUNC('hour', ts), site ORDER BY "AVG(value)" DESC LIMIT 1000$$);
SELECT agrees($$SELECT DATE_TRUNC('hour', ts) AS __timestamp, site AS site, AVG(value) AS "AVG(value)" FROM (SELECT m.ts, m.value, h.site, h.team FROM @ m JOIN hosts h ON m.host = h.host) AS virtual_table
  WHERE ts >= TO_TIMESTAMP('2013-11-02 06:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND ts < TO_TIMESTAMP('2013-11-05 07:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND site IN ('Paris', 'Oslo')
  GROUP BY DATE_TRUNC('hour', ts), site ORDER BY "AVG(value)" DESC, 1, 2 LIMIT 1000$$);
SELECT agrees($$SELECT DATE_TRUNC('hour', ts) + INTERVAL '30 minutes' * FLOOR(EXTRACT(MINUTE FROM ts) / 30) AS ts, site AS site, SUM(value) FROM (SELECT m.ts, m.value, h.site FROM @ m JOIN hosts h ON m.host = h.host) AS virtual_table GROUP BY 1, 2$$);
-- Metabase: left joins, and joined tables in quoted names
EXPLAIN (COSTS OFF) SELECT DATE_TRUNC('day', "source"."ts") AS "ts", "Teams"."name" AS "Teams__name", SUM("source"."value") AS "sum", COUNT(*) AS "count" FROM metrics AS "source"
  LEFT JOIN "bi_tools"."hosts" AS "Hosts" ON "source"."host" = "Hosts"."host" LEFT JOIN "bi_tools"."teams" AS "Teams" ON "Hosts"."team" = "Teams"."team"
  GROUP BY DATE_TRUNC('day', "source"."ts"), "Teams"."name" ORDER BY DATE_TRUNC('day', "source"."ts") ASC, "Teams"."name" ASC;
SELECT agrees($$SELECT DATE_TRUNC('day', "source"."ts") AS "ts", "Teams"."name" AS "Teams__name", SUM("source"."value") AS "sum", COUNT(*) AS "count" FROM @ AS "source"
  LEFT JOIN "bi_tools"."hosts" AS "Hosts" ON "source"."host" = "Hosts"."host" LEFT JOIN "bi_tools"."teams" AS "Teams" ON "Hosts"."team" = "Teams"."team"
  GROUP BY DATE_TRUNC('day', "source"."ts"), "Teams"."name" ORDER BY DATE_TRUNC('day', "source"."ts") ASC, "Teams"."name" ASC$$);
SELECT agrees($$SELECT "Hosts"."site", CAST(extract(hour from "source"."ts") AS integer), AVG("source"."value"), SUM(CASE WHEN "source"."value" > 10 THEN 1 ELSE 0.0 END) FROM @ AS "source"
  LEFT JOIN hosts AS "Hosts" ON "source"."host" = "Hosts"."host" WHERE "Hosts"."site" <> 'Rome' OR "Hosts"."site" IS NULL GROUP BY 1, 2$$);
-- Grafana: hosts of a variable that another table selects
SELECT plan($$SELECT floor(extract(epoch from ts)/3600)*3600 AS "time", site AS metric, avg(value) AS "value" FROM metrics JOIN hosts USING (host)
  WHERE ts BETWEEN '2013-11-02T06:00:00Z' AND '2013-11-05T12:00:00Z' AND team IN ('1', '2') GROUP BY 1, 2 ORDER BY 1, 2$$);
SELECT agrees($$SELECT floor(extract(epoch from ts)/3600)*3600 AS "time", site AS metric, avg(value) AS "value" FROM @ JOIN hosts USING (host)
  WHERE ts BETWEEN '2013-11-02T06:00:00Z' AND '2013-11-05T12:00:00Z' AND team IN ('1', '2') GROUP BY 1, 2 ORDER BY 1, 2$$);
SELECT agrees($$SELECT floor(extract(epoch from ts)/3600)*3600 AS "time", host AS metric, avg(value) AS "value" FROM @
  WHERE ts BETWEEN '2013-11-02T06:00:00Z' AND '2013-11-05T12:00:00Z' AND host IN (SELECT host FROM hosts WHERE site IN ('Paris', 'Oslo')) GROUP BY 1, 2 ORDER BY 1, 2$$);
-- Tableau: relationships
SELECT agrees($$SELECT "hosts"."site" AS "site", SUM("metrics"."value") AS "sum:value:ok" FROM @ "metrics" INNER JOIN "bi_tools"."hosts" "hosts" ON ("metrics"."host" = "hosts"."host") WHERE (("metrics"."ts" >= (TIMESTAMP '2013-11-02 00:00:00.000')) AND ("hosts"."team" = 1)) GROUP BY 1$$);

-- Different values: the scan returns each combination of groups and arguments
-- once, unless the number of rows counts
SELECT agrees($$SELECT COUNT(DISTINCT host), COUNT(DISTINCT epoch), MAX(value) FROM @$$);
SELECT agrees($$SELECT DATE_TRUNC('hour', ts), COUNT(DISTINCT host) FROM @ GROUP BY 1 HAVING COUNT(DISTINCT host) > 0 ORDER BY 1 DESC$$);
SELECT agrees($$SELECT host, COUNT(DISTINCT DATE_TRUNC('day', ts)), STRING_AGG(DISTINCT host, ',' ORDER BY host DESC), SUM(DISTINCT epoch) FROM @ GROUP BY 1$$);
SELECT agrees($$SELECT epoch % 3, COUNT(DISTINCT host) FILTER (WHERE epoch % 2 = 0), COUNT(DISTINCT 7) FROM @ WHERE value > 3 GROUP BY 1$$);
SELECT agrees($$SELECT COUNT(DISTINCT host) FROM @ WHERE value > 1000$$);
SELECT agrees($$SELECT DISTINCT host, DATE_TRUNC('day', ts) FROM @$$);
SELECT agrees($$SELECT COUNT(DISTINCT host), COUNT(*) FROM @$$);
SELECT agrees($$SELECT COUNT(DISTINCT 1 / (epoch - 1383264000)) FILTER (WHERE epoch <> 1383264000) FROM @$$);
-- a row of each series is enough, if there are few of them
SELECT mongo_ts_create_index('metrics', '{host}');
SELECT mongo_ts_create_index('metrics', '{host, epoch}');
BEGIN;
UPDATE pg_class SET reltuples = 1e9, relpages = 1e7 WHERE oid = 'metrics'::regclass;
SELECT skips($$SELECT COUNT(DISTINCT host) FROM @$$);
SELECT skips($$SELECT COUNT(DISTINCT host), COUNT(DISTINCT host) > 2, ARRAY_AGG(DISTINCT host ORDER BY host DESC) FROM @$$);
SELECT skips($$SELECT host, COUNT(DISTINCT epoch) FROM @ GROUP BY 1 HAVING SUM(DISTINCT epoch) > 5$$);
SELECT skips($$SELECT COUNT(DISTINCT host) FROM @ WHERE host > 'web0'$$);
SELECT skips($$SELECT COUNT(DISTINCT host) FROM @ WHERE ts > '2013-11-04'$$);
SELECT skips($$SELECT COUNT(DISTINCT host) FILTER (WHERE host > 'web0') FROM @$$);
SELECT skips($$SELECT COUNT(DISTINCT host), MAX(epoch) FROM @$$);
ROLLBACK;

SELECT mongo_ts_command('bi_tools', '{"dropDatabase": 1}')->'ok' AS dropped;
