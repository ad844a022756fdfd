-- queries.sql: typical queries of the tables that load.sql creates.
--
-- psql shows each query (ECHO) and its result; \echo prints the text.

\set ON_ERROR_STOP on
\set ECHO queries

\echo === One document of the collection "metrics", shortened ===
\pset tuples_only on
SELECT left(mongo_ts_command('mongo', '{"find": "metrics", "limit": 1}')
            #>> '{cursor,firstBatch,0}', 180) || ' ..';
\pset tuples_only off

\echo === The foreign table over it: the option "field" says where a column is stored ===
\echo '\\d memory'
\d memory
\echo === A range of time and a type: the rows of two documents ===
SELECT "timestamp", type, value FROM memory
 WHERE type = 'memory_used'
   AND "timestamp" BETWEEN '2013-10-10 14:07:57' AND '2013-10-10 14:08:02'
 ORDER BY "timestamp";

\echo === The query that MongoDB receives: one hour of one type is 60 of the 2880 documents ===
\pset format unaligned
\pset tuples_only on
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)
SELECT "timestamp", value FROM memory
 WHERE type = 'memory_used'
   AND "timestamp" >= '2013-10-10 14:00' AND "timestamp" < '2013-10-10 15:00';
\pset format aligned
\pset tuples_only off

\echo
\echo === Averages per hour (the agent missed a second now and then) ===
SELECT date_trunc('hour', "timestamp") AS hour, count(*), avg(value)::int, max(value)
  FROM memory
 WHERE type = 'memory_used' AND "timestamp" >= '2013-10-10 20:00'
 GROUP BY hour ORDER BY hour;

\echo === Five minutes out of an hour in one document: only these minutes are sent ===
\pset format unaligned
\pset tuples_only on
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)
SELECT avg(load) FROM cpu_load
 WHERE host = 'web1'
   AND "timestamp" >= '2013-10-10 14:20' AND "timestamp" < '2013-10-10 14:25';
\pset format aligned
\pset tuples_only off

\echo
\echo === Page views per hour ===
SELECT date_trunc('hour', "timestamp")::time AS hour,
       sum(views) FILTER (WHERE page = '/') AS "/",
       sum(views) FILTER (WHERE page = '/docs') AS "/docs",
       sum(views) FILTER (WHERE page = '/pricing') AS "/pricing"
  FROM page_views
 GROUP BY hour ORDER BY hour;

\echo === The last price of each stock, and its change since 15:00 ===
SELECT DISTINCT ON (symbol) symbol, "timestamp", price,
       price - first_value(price) OVER (PARTITION BY symbol ORDER BY "timestamp") AS change
  FROM stocks
 WHERE "timestamp" >= '2013-10-10 15:00'
 ORDER BY symbol, "timestamp" DESC;

\echo === A join with tables of PostgreSQL: where is the air stale during the day? ===
SELECT owner, room, avg(ppm)::int AS co2, max(ppm),
       count(*) FILTER (WHERE ppm > 700) AS minutes_above_700
  FROM readings JOIN devices ON devices.id = sensor_id
                JOIN owners ON owners.id = owner_id
 WHERE "timestamp" >= '2013-10-10 08:00' AND "timestamp" < '2013-10-10 18:00'
 GROUP BY owner, room ORDER BY co2 DESC;

\echo === Two layouts in one query: how warm was it when the air was worst? ===
SELECT room, r."timestamp", ppm, temperature
  FROM devices
  JOIN (SELECT DISTINCT ON (sensor_id) * FROM readings
         ORDER BY sensor_id, ppm DESC, "timestamp") AS r ON r.sensor_id = devices.id
  JOIN temperatures AS t ON t.sensor_id = devices.id
   AND t."timestamp" = date_trunc('minute', r."timestamp")
 ORDER BY ppm DESC;

\ir native.sql

\set QUIET off
\echo === INSERT: points go into the document of their minute, which is created if there is none ===
EXPLAIN (COSTS OFF)
INSERT INTO memory VALUES ('2013-10-11 00:00:00', 'memory_used', 1200000),
                          ('2013-10-11 00:00:01', 'memory_used', 1250000),
                          ('2013-10-11 00:00:30', 'memory_used', 1300000);
INSERT INTO memory VALUES ('2013-10-11 00:00:00', 'memory_used', 1200000),
                          ('2013-10-11 00:00:01', 'memory_used', 1250000),
                          ('2013-10-11 00:00:30', 'memory_used', 1300000);
UPDATE memory SET value = 1600000
 WHERE type = 'memory_used' AND "timestamp" = '2013-10-11 00:00:30';
DELETE FROM memory
 WHERE type = 'memory_used' AND "timestamp" = '2013-10-11 00:00:00';

\echo
\echo === That document now: its count and its sum include the new points ===
\set QUIET on
\pset tuples_only on
SELECT mongo_ts_command('mongo', '{"find": "metrics", "projection": {"_id": 0},
         "filter": {"timestamp_minute": {"$gte": {"$date": "2013-10-11T00:00:00Z"}}}}')
       #> '{cursor,firstBatch,0}';
\pset tuples_only off
\set QUIET off

\echo === A roll-up: totals by the minute, a document an hour and type, which a scheduler refreshes ===
SELECT mongo_ts_create_rollup('memory', '1 minute');
SELECT mongo_ts_refresh_rollup('memory_1m') IS NOT NULL AS refreshed;
\echo === It answers queries of the points, which do not name it ===
SELECT type, count(*), avg(value)::int, max(value)
  FROM memory GROUP BY type ORDER BY type;
\set QUIET on
\pset format unaligned
\pset tuples_only on
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)
SELECT type, count(*), avg(value)::int, max(value)
  FROM memory WHERE "timestamp" < '2013-10-11' GROUP BY type;
\pset format aligned
\pset tuples_only off
\set QUIET off


\echo === A year of seconds: 31,536,000 points in 8,760 documents, and roll-ups of hours and days ===
CREATE FOREIGN TABLE year (
  ts    timestamptz OPTIONS (field 'hour'),
  value float8      OPTIONS (field 'v.{minute}.{second}')
) SERVER mongo;
SELECT mongo_ts_create_index('year');
INSERT INTO year
SELECT timestamptz '2013-01-01' + i * interval '1 second',
       floor(200 + 150 * sin(i / 5e6) + i % 86400 / 1440 + i % 60 / 6.0) / 10
  FROM generate_series(0, 31535999) i;
SELECT mongo_ts_create_rollup('year', '1 hour');
SELECT mongo_ts_create_rollup('year_1h', '1 day');
SELECT mongo_ts_refresh_rollup('year_1d') IS NOT NULL AS refreshed;
\echo === The same query by day, by hour and by second, as a dashboard zooms ===
PREPARE zoom (text, timestamptz, timestamptz) AS
SELECT date_trunc($1, ts, 'UTC') AS time, count(*), round(avg(value)::numeric, 2) AS average, max(value)
  FROM year WHERE ts >= $2 AND ts < $3 GROUP BY 1 ORDER BY max(value) DESC, 1 LIMIT 3;
\timing on
EXECUTE zoom ('day', '2013-01-01', '2014-01-01');
EXECUTE zoom ('hour', '2013-03-25', '2013-04-01');
EXECUTE zoom ('second', '2013-03-29 12:00', '2013-03-29 12:05');
\echo The days of the year without roll-ups:
SET mongo_ts_fdw.enable_rollups = off;
EXECUTE zoom ('day', '2013-01-01', '2014-01-01');
RESET mongo_ts_fdw.enable_rollups;
\timing off

\echo === Old points are removed: whole documents by one command, single points at the edge ===
\set QUIET on
\pset format unaligned
\pset tuples_only on
EXPLAIN (COSTS OFF) DELETE FROM memory WHERE "timestamp" < '2013-10-10 12:00:30';
\pset format aligned
\pset tuples_only off
\set QUIET off
DELETE FROM memory WHERE "timestamp" < '2013-10-10 12:00:30';
SELECT min("timestamp"), max("timestamp"), count(*) FROM memory;

\echo === IMPORT declares such tables by itself ===
\set QUIET on
CREATE SCHEMA found;
SET client_min_messages = notice;
IMPORT FOREIGN SCHEMA mongo_ts_demo EXCEPT (memory_1m, memory_native, year, year_1h, year_1d)
  FROM SERVER mongo INTO found;
\echo
\echo '\\d found.sensors'
\d found.sensors
SELECT sensor_id, count(*), avg(val)::int FROM found.sensors
 GROUP BY sensor_id ORDER BY sensor_id LIMIT 3;
SELECT (SELECT count(*) FROM found.metrics) = (SELECT count(*) FROM memory)
   AND (SELECT count(*) FROM found.cpu) = (SELECT count(*) FROM cpu_load)
   AND (SELECT count(*) FROM found.views) = (SELECT count(*) FROM page_views)
   AND (SELECT count(*) FROM found.prices) = (SELECT count(*) FROM stocks)
   AND (SELECT count(*) FROM found.sensors) = (SELECT count(*) FROM readings)
   AND (SELECT count(*) FROM found.temperatures) = (SELECT count(*) FROM temperatures)
       AS "the same numbers of points";
