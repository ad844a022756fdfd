-- native.sql: the same queries of hand-made buckets and of those that MongoDB
-- makes of a time-series collection.
--
-- queries.sql includes it.  The points are those of the table memory.

\echo === A native time-series collection: MongoDB puts the same points into buckets of its own ===
\set ECHO none
-- Milliseconds that a query takes, the least of five runs.
CREATE FUNCTION pg_temp.ms(query text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
  least_ms numeric = 'infinity';
  start timestamptz;
BEGIN
  FOR i IN 1..5 LOOP
    start = clock_timestamp();
    EXECUTE query;
    least_ms = least(least_ms, 1000 * extract(epoch FROM clock_timestamp() - start));
  END LOOP;
  RETURN round(least_ms, 1);
END $$;

-- A server refuses the option, or ignores it, or has no buckets to be read.
DO $$
BEGIN
  PERFORM mongo_ts_command('mongo', '{"create": "memory_native",
    "timeseries": {"timeField": "timestamp", "metaField": "type"}}');
EXCEPTION WHEN fdw_error THEN
END $$;
SELECT jsonb_array_length(mongo_ts_command('mongo', '{"listCollections": 1,
         "filter": {"name": "system.buckets.memory_native"}}')
       #> '{cursor,firstBatch}') = 1 AS has_native \gset
\if :has_native

\echo 'In MongoDB: db.createCollection("memory_native", {timeseries: {timeField: "timestamp", metaField: "type"}})'
\set ECHO queries
CREATE FOREIGN TABLE memory_native ("timestamp" timestamptz, type text, value bigint)
  SERVER mongo;
\set QUIET off
INSERT INTO memory_native SELECT * FROM memory;
\set QUIET on

\echo
\echo === The same SQL on both: the buckets of the native collection are read compressed ===
CREATE TEMP VIEW by_hour AS
SELECT type, date_trunc('hour', "timestamp") AS hour, count(*), max(value), avg(value)::int
  FROM memory GROUP BY type, hour;
CREATE TEMP VIEW by_hour_native AS
SELECT type, date_trunc('hour', "timestamp") AS hour, count(*), max(value), avg(value)::int
  FROM memory_native GROUP BY type, hour;
\pset format unaligned
\pset tuples_only on
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT * FROM by_hour;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT * FROM by_hour_native;
\pset format aligned
\pset tuples_only off

\echo
\echo === The same groups by $group, which MongoDB runs on the native collection ===
CREATE TEMP VIEW by_hour_mongodb AS
SELECT g #>> '{_id,type}' AS type, (g #>> '{_id,hour,$date}')::timestamptz AS hour,
       (g -> 'count')::bigint AS count, (g -> 'max')::bigint AS max, (g -> 'avg')::int AS avg
  FROM jsonb_array_elements(mongo_ts_command('mongo', '{"aggregate": "memory_native",
         "cursor": {}, "pipeline": [{"$group": {
           "_id": {"type": "$type", "hour": {"$dateTrunc": {"date": "$timestamp", "unit": "hour"}}},
           "count": {"$sum": 1}, "max": {"$max": "$value"}, "avg": {"$avg": "$value"}}}]}')
       #> '{cursor,firstBatch}') AS g;

\echo
\echo === All three give the same groups ===
SELECT (SELECT count(*) FROM by_hour) AS groups,
       (SELECT count(*) FROM (TABLE by_hour INTERSECT TABLE by_hour_native
                              INTERSECT TABLE by_hour_mongodb) AS g) AS "equal in all three";

\echo === How long each of them takes, in milliseconds: the best of five runs ===
\set ECHO none
SELECT what, ms, round(ms / min(ms) OVER (), 1) AS "times as long"
  FROM (VALUES ('this extension, native collection', pg_temp.ms('TABLE by_hour_native')),
               ('this extension, hand-made buckets', pg_temp.ms('TABLE by_hour')),
               ('MongoDB''s own $group, native collection', pg_temp.ms('TABLE by_hour_mongodb')))
       AS t(what, ms);
\else
\echo 'This server has no time-series collections whose buckets can be read, so this is left out.'
\echo
\endif
\set ECHO queries
