--
-- Tests roll-ups: how they are made and refreshed, what writes make stale, and
-- retention.
--
\set suite rollups
\i sql/include/suite.sql

CREATE FOREIGN TABLE memory (
  "timestamp" timestamptz OPTIONS (field 'timestamp_minute'),
  type        text,
  value       float8      OPTIONS (field 'values.{second}')
) SERVER rollups OPTIONS (collection 'metrics');
SELECT mongo_ts_create_index('memory');

-- Roll-ups -----------------------------------------------------------------

SELECT mongo_ts_create_rollup('memory', '1 minute');
SELECT mongo_ts_create_rollup('memory_1m', '5 minutes');
SELECT mongo_ts_create_rollup('memory_5m', '1 hour');
SELECT mongo_ts_create_rollup('memory_1h', '1 day');
SELECT c.relname, ftoptions FROM pg_foreign_table JOIN pg_class c ON c.oid = ftrelid
 WHERE c.relname LIKE 'memory_%' ORDER BY 1;
SELECT attname, atttypid::regtype, attfdwoptions FROM pg_attribute WHERE attrelid = 'memory_5m'::regclass AND attnum > 0 ORDER BY attnum;
SELECT i->'key' AS key, i->'unique' AS is_unique
  FROM jsonb_array_elements(mongo_ts_command('rollups', '{"listIndexes": "memory_1h"}')#>'{cursor,firstBatch}') i WHERE i ? 'unique';

-- The expected levels, from a local copy of the points
CREATE TABLE points ("timestamp" timestamptz, type text, value float8);
CREATE VIEW levels AS
  SELECT '1m' AS level, * FROM memory_1m UNION ALL SELECT '5m', * FROM memory_5m UNION ALL
  SELECT '1h', * FROM memory_1h UNION ALL SELECT '1d', * FROM memory_1d;
CREATE VIEW direct AS
  SELECT level, date_bin(width, "timestamp", 'epoch') AS "timestamp", type, count(*) AS points, count(value) AS value_count,
         sum(value) AS value_sum, min(value) AS value_min, max(value) AS value_max
    FROM points, (VALUES ('1m', interval '1 minute'), ('5m', '5 minutes'), ('1h', '1 hour'), ('1d', '1 day')) w (level, width)
   GROUP BY 1, 2, 3;
CREATE VIEW differences AS
  SELECT level, count(l) AS rows, sum(l.points) AS points, count(*) FILTER (WHERE l IS DISTINCT FROM d) AS wrong
    FROM levels l FULL JOIN direct d USING (level, "timestamp", type) GROUP BY 1 ORDER BY 1;
-- What the states say is stale, and whether a roll-up is complete up to now
CREATE FUNCTION stale() RETURNS TABLE (rollup text, ranges tstzmultirange) LANGUAGE sql AS $$
  SELECT d->>'_id', range_agg(tstzrange((s#>>'{from,$date}')::timestamptz, (s#>>'{to,$date}')::timestamptz))
    FROM mongo_ts_find('rollups', 'mongo_ts_rollups', max_documents => 1000) d, jsonb_array_elements(d->'stale') s GROUP BY 1 ORDER BY 1
$$;
CREATE FUNCTION is_current(rollup text, width interval) RETURNS boolean LANGUAGE sql AS $$
  SELECT bool_and((d#>>'{until,$date}')::timestamptz BETWEEN clock_timestamp() - width - interval '1 day 6 minutes' AND clock_timestamp())
    FROM mongo_ts_find('rollups', 'mongo_ts_rollups', json_build_object('_id', rollup)) d
$$;
-- A range that has been computed stays stale for two minutes, in which the write that it is for could still be executed.
-- Let these pass.
CREATE PROCEDURE settle() LANGUAGE sql AS $$
  SELECT mongo_ts_command('rollups', '{"update": "mongo_ts_rollups", "updates": [
    {"q": {"stale.0": {"$exists": true}}, "u": {"$set": {"stale.$[].computed": {"$date": "2000-01-01T00:00:00Z"}}}, "multi": true}]}')
$$;
-- A refresh takes no document for a late one: all are older than the last refresh.
CREATE PROCEDURE pass_time() LANGUAGE sql AS $$
  SELECT mongo_ts_command('rollups', '{"update": "mongo_ts_rollups", "updates": [
    {"q": {"until": {"$exists": true}}, "u": {"$set": {"refreshed": {"$date": "2100-01-01T00:00:00Z"}}}, "multi": true}]}')
$$;
CREATE PROCEDURE refresh() LANGUAGE plpgsql AS $$
BEGIN
  CALL settle();
  CALL pass_time();
  PERFORM mongo_ts_refresh_rollup('memory_1d');
END $$;
-- The documents as they are stored
CREATE FUNCTION documents() RETURNS jsonb LANGUAGE sql AS $$
  SELECT jsonb_agg(d - '_id' ORDER BY c, d->>'type', d->'timestamp'->>'$date')
    FROM unnest('{memory_1m,memory_5m,memory_1h,memory_1d}'::text[]) c, mongo_ts_find('rollups', c, max_documents => 9999) d
$$;

-- Three days with a point every 13 s and gaps; numbers with exact sums, and
-- nulls
INSERT INTO points
SELECT t, type, CASE WHEN i % 17 > 0 THEN (i * 37 % 1001 - 500) / 4.0 END
  FROM generate_series(0, 2 * 86400, 13) i, unnest('{used,free}'::text[]) type,
       LATERAL (SELECT timestamptz '2013-10-30 22:58:30Z' + i * interval '1 s') x (t)
 WHERE i / 400 % 5 <> 3;
-- minutes with only nulls, a series with gaps, and a month's last second
INSERT INTO points SELECT '2013-10-31 03:00Z'::timestamptz + s * interval '1 s', 'rare', NULL FROM generate_series(0, 59) s;
INSERT INTO points VALUES ('2013-10-31 23:59:59Z', 'rare', -0.25), ('2013-11-01 00:00:00Z', 'rare', 1e6);
INSERT INTO memory SELECT * FROM points;
-- Nothing is stale before the first refresh, and nothing is complete.
SELECT * FROM mongo_ts_find('rollups', 'mongo_ts_rollups');

CALL refresh();
SELECT * FROM differences;
SELECT is_current('memory_1m', '1 minute'), is_current('memory_5m', '5 minutes'), is_current('memory_1h', '1 hour'),
       is_current('memory_1d', '1 day');
SELECT * FROM memory_1d ORDER BY "timestamp", type;
SELECT "timestamp", points, value_count, value_sum, value_min, value_max FROM memory_1m WHERE type = 'rare' ORDER BY 1;
SELECT d - '_id' AS document FROM mongo_ts_find('rollups', 'memory_1d', '{"type": "rare"}') d ORDER BY 1;
-- repeated as a whole and in part: nothing changes
SELECT documents() AS before \gset
CALL refresh();
CALL pass_time();
SELECT mongo_ts_refresh_rollup('memory_1d', '-infinity') IS NOT NULL AS refreshed;
CALL pass_time();
SELECT mongo_ts_refresh_rollup('memory_1d', '2013-10-31 12:34:56.789Z', '2013-11-01 01:00Z') IS NOT NULL AS refreshed;
CALL pass_time();
SET TimeZone = 'Asia/Kathmandu';
CALL pass_time();
SELECT mongo_ts_refresh_rollup('memory_1d', '2013-10-31 12:34:56.789Z') IS NOT NULL AS refreshed;
RESET TimeZone;
SET TimeZone = 'UTC';
SELECT documents() = :'before' AS same;
SELECT * FROM stale();

-- What writes make stale ---------------------------------------------------

-- new and late points
CREATE TABLE late ("timestamp" timestamptz, type text, value float8);
INSERT INTO late SELECT '2013-11-01 22:52:07Z'::timestamptz + s * interval '7 s', type, s / 8.0
  FROM generate_series(0, 900) s, unnest('{used,new}'::text[]) type;
INSERT INTO late SELECT '2013-11-01 21:17:44Z'::timestamptz + s * interval '20 s', type, -1000 - s
  FROM generate_series(0, 40) s, unnest('{used,late}'::text[]) type;
INSERT INTO memory SELECT * FROM late;
SELECT * FROM stale();
-- the late ones replace existing points
DELETE FROM points p USING late l WHERE (p."timestamp", p.type) = (l."timestamp", l.type);
INSERT INTO points SELECT * FROM late;
SELECT level, wrong > 0 AS wrong FROM differences;
CALL refresh();
SELECT * FROM differences;
SELECT * FROM stale();
INSERT INTO memory VALUES ('2013-10-31 07:31:31Z', 'used', 9999), ('2013-10-31 23:59:59Z', 'rare', -8);
-- A range that is marked is not marked again.
INSERT INTO memory VALUES ('2013-10-31 07:31:31Z', 'used', 9999);
SELECT d->>'_id' AS rollup, jsonb_array_length(d->'stale') AS ranges FROM mongo_ts_find('rollups', 'mongo_ts_rollups', '{"until": {"$exists": true}}') d ORDER BY 1;
SELECT * FROM stale();
DELETE FROM points WHERE ("timestamp", type) IN (('2013-10-31 07:31:31Z', 'used'), ('2013-10-31 23:59:59Z', 'rare'));
INSERT INTO points VALUES ('2013-10-31 07:31:31Z', 'used', 9999), ('2013-10-31 23:59:59Z', 'rare', -8);
-- A refresh of a finer level leaves the coarser ones stale.
CALL pass_time();
SELECT mongo_ts_refresh_rollup('memory_5m') IS NOT NULL AS refreshed;
SELECT * FROM stale();
SELECT level, wrong FROM differences;
CALL refresh();
SELECT level, wrong FROM differences;
-- changed, moved and removed points
UPDATE memory SET value = value + 1 WHERE "timestamp" >= '2013-11-01 22:50Z' AND value > 100;
UPDATE points SET value = value + 1 WHERE "timestamp" >= '2013-11-01 22:50Z' AND value > 100;
SELECT * FROM stale() WHERE rollup = 'memory_1m';
UPDATE memory SET "timestamp" = '2013-11-05 00:00:01Z' WHERE "timestamp" = '2013-10-31 23:59:59Z' AND type = 'rare';
UPDATE points SET "timestamp" = '2013-11-05 00:00:01Z' WHERE "timestamp" = '2013-10-31 23:59:59Z' AND type = 'rare';
SELECT * FROM stale() WHERE rollup = 'memory_1h';
DELETE FROM memory WHERE "timestamp" = '2013-10-31 07:31:31Z' AND value = 9999;
DELETE FROM points WHERE "timestamp" = '2013-10-31 07:31:31Z' AND value = 9999;
SELECT * FROM stale() WHERE rollup = 'memory_5m';
-- all points of some minutes
DELETE FROM memory WHERE "timestamp" >= '2013-11-01 23:02Z' AND "timestamp" < '2013-11-01 23:07Z';
DELETE FROM points WHERE "timestamp" >= '2013-11-01 23:02Z' AND "timestamp" < '2013-11-01 23:07Z';
SELECT * FROM stale() WHERE rollup = 'memory_5m';
COPY memory FROM stdin;
2012-02-29 12:00:00+00	copied	1
\.
INSERT INTO points VALUES ('2012-02-29 12:00:00+00', 'copied', 1);
SELECT * FROM stale() WHERE rollup = 'memory_1d';
CALL refresh();
SELECT * FROM differences;
SELECT * FROM stale();
-- A batch with points of many times marks few ranges.
INSERT INTO memory SELECT '2013-11-10'::timestamptz + i * interval '2 hours', 'many', i FROM generate_series(1, 9) i;
INSERT INTO points SELECT '2013-11-10'::timestamptz + i * interval '2 hours', 'many', i FROM generate_series(1, 9) i;
SELECT * FROM stale();
CALL refresh();
SELECT level, wrong FROM differences;
-- A write that is rolled back marks in vain.
BEGIN;
INSERT INTO memory VALUES ('2013-10-31 09:00Z', 'undone', 1);
SET LOCAL client_min_messages = error;
ROLLBACK;
SELECT * FROM stale() WHERE rollup = 'memory_1h';
DELETE FROM memory WHERE type = 'undone';
INSERT INTO memory VALUES ('2013-11-08', 'conflict', 1) ON CONFLICT DO NOTHING;
SELECT * FROM stale() WHERE rollup = 'memory_1h';
-- a point that is newer than now minus the lag
INSERT INTO memory VALUES (date_trunc('second', now()), 'now', 1);
SELECT * FROM stale() WHERE rollup = 'memory_1h';
CALL refresh();
SELECT type, count(*) FROM memory_1m WHERE type IN ('now', 'conflict', 'undone') GROUP BY 1;
DELETE FROM memory WHERE type IN ('now', 'conflict');
-- other clients mark ranges by hand
SELECT mongo_ts_command('rollups', '{"update": "mongo_ts_rollups", "updates": [{"q": {"_id": "memory_1m"}, "u": {"$push":
  {"stale": {"from": {"$date": "2013-11-08T00:00:30Z"}, "to": {"$date": "2013-11-08T00:00:31Z"}}}}}]}')->'ok' AS ok;
SELECT * FROM stale() WHERE rollup = 'memory_1m';
CALL refresh();
SELECT * FROM stale();
TRUNCATE memory;
SELECT * FROM stale();
CALL refresh();
SELECT count(*) FROM levels;
INSERT INTO memory SELECT * FROM points;
CALL refresh();
SELECT level, wrong FROM differences;

-- What a roll-up is made of ------------------------------------------------

CREATE FOREIGN TABLE "Odd" (
  ts   timestamptz OPTIONS (field 'day'),
  "a ""$.b" text OPTIONS (field 'k') COLLATE "C",
  id   text OPTIONS (field 'oid', bson_type 'objectId'),
  note text OPTIONS (role 'attribute'),
  kind text,
  i2   int2    OPTIONS (field 'v.{kind}.{hour}.i2'),
  i8   bigint  OPTIONS (field 'v.{kind}.{hour}.i8'),
  f4   real    OPTIONS (field 'v.{kind}.{hour}.f4'),
  n    numeric OPTIONS (field 'v.{kind}.{hour}.n'),
  "x.y{" float8 OPTIONS (field 'v.{kind}.{hour}.xy'),
  t    text    OPTIONS (field 'v.{kind}.{hour}.t')
) SERVER rollups;
SELECT mongo_ts_create_index('"Odd"');
SELECT mongo_ts_create_rollup('"Odd"', '2 hours', name => 'Every "2" h', lag => '1 day 90 minutes');
SELECT attname, format_type(atttypid, atttypmod), attfdwoptions FROM pg_attribute
 WHERE attrelid = '"Every ""2"" h"'::regclass AND attnum > 0 ORDER BY attnum;
SELECT ftoptions FROM pg_foreign_table WHERE ftrelid = '"Every ""2"" h"'::regclass;
INSERT INTO "Odd" SELECT '2024-03-30'::timestamptz + i * interval '1 hour', 'k' || i % 2, lpad(to_hex(i % 2), 24, '0'), 'x', 'A' || i % 3,
  i, i * 10000000000, i / 8.0, i * 1.000000000000001, CASE i WHEN 3 THEN 'NaN' WHEN 4 THEN '-Infinity' ELSE i::float8 END, 't'
  FROM generate_series(1, 60) i;
INSERT INTO "Odd" VALUES ('2024-04-02', NULL, NULL, NULL, 'A0', 1);
SELECT mongo_ts_refresh_rollup('"Every ""2"" h"') IS NOT NULL AS refreshed;
SELECT count(*) FILTER (WHERE o IS DISTINCT FROM e) AS wrong, count(*)
  FROM (SELECT (date_bin('2 hours', ts, '2000-01-01'::timestamptz), "a ""$.b", id, kind, count(*), count(i2), sum(i2), min(i2), max(i2),
                count(i8), sum(i8), min(i8), max(i8), count(f4), sum(f4::float8), min(f4), max(f4), count(n), sum(n), min(n), max(n),
                count("x.y{"), sum("x.y{"), min("x.y{"), max("x.y{"), count(t), min(t), max(t))::text
          FROM "Odd" GROUP BY date_bin('2 hours', ts, '2000-01-01'::timestamptz), "a ""$.b", id, kind) o (o)
  FULL JOIN (SELECT e::text FROM "Every ""2"" h" e) e (e) ON o = e;
-- IMPORT leaves out the states
CREATE SCHEMA without_states;
IMPORT FOREIGN SCHEMA mts_regress_rollups LIMIT TO (mongo_ts_rollups) FROM SERVER rollups INTO without_states;
SELECT to_regclass('without_states.mongo_ts_rollups');
DROP SCHEMA without_states;

-- days and months of a zone, from hours; a day has 23 or 25
SELECT mongo_ts_create_rollup('memory_1h', '1 day', 'berlin_1d', zone => 'Europe/Berlin');
SELECT mongo_ts_create_rollup('berlin_1d', '1 month', 'berlin_1mo', '{count, max}', '{value}', 'Europe/Berlin', '0');
INSERT INTO memory SELECT t, 'berlin', 1 FROM generate_series(timestamptz '2013-10-25 22:00Z', '2013-10-28 22:30Z', '30 minutes') t;
INSERT INTO memory SELECT t, 'berlin', 2 FROM generate_series(timestamptz '2013-03-30 23:00Z', '2013-03-31 22:30Z', '30 minutes') t;
SELECT mongo_ts_refresh_rollup('berlin_1mo') IS NOT NULL AS refreshed;
SELECT "timestamp" AT TIME ZONE 'Europe/Berlin' AS day, points, value_sum FROM berlin_1d WHERE type = 'berlin' ORDER BY 1;
SELECT "timestamp" AT TIME ZONE 'Europe/Berlin' AS month, points, value_max FROM berlin_1mo WHERE type = 'berlin' ORDER BY 1;
SELECT attname FROM pg_attribute WHERE attrelid = 'berlin_1mo'::regclass AND attnum > 0 ORDER BY attnum;
-- documents that are rows, and an interval of 90 minutes
CREATE FOREIGN TABLE flat (ts timestamptz, device int, temp float8, state text, _id text) SERVER rollups;
SELECT try($$SELECT mongo_ts_create_rollup('flat', '90 minutes')$$);
SELECT mongo_ts_create_rollup('flat', '90 minutes', columns => '{temp}');
SELECT attname FROM pg_attribute WHERE attrelid = 'flat_90m'::regclass AND attnum > 0 ORDER BY attnum;
INSERT INTO flat (ts, device, temp, state) SELECT '2024-01-01'::timestamptz + i * interval '10 minutes', i % 2, i, 'on' FROM generate_series(0, 20) i;
SELECT mongo_ts_refresh_rollup('flat_90m') IS NOT NULL AS refreshed;
UPDATE flat SET ts = '2024-01-02 00:00Z' WHERE ts = '2024-01-01 00:10Z';
SELECT * FROM stale() WHERE rollup = 'flat_90m';
SELECT mongo_ts_refresh_rollup('flat_90m') IS NOT NULL AS refreshed;
SELECT * FROM flat_90m ORDER BY ts, device;
DO $$
DECLARE
  span interval;
  problem bigint;
BEGIN
  FOREACH span IN ARRAY '{1 s, 2 s, 8 s, 27 s, 45 s, 1 min, 4 min, 5 min, 45 min, 1 h, 12 h, 1 day, 1 month}'::interval[] LOOP
    PERFORM mongo_ts_create_rollup('flat', span, 'every', columns => '{temp}', lag => '0');
    PERFORM mongo_ts_refresh_rollup('every');
    SELECT count(*) INTO problem FROM (SELECT ts, device, points, state, temp_sum FROM every EXCEPT ALL
      SELECT CASE WHEN span < '1 day' THEN date_bin(span, ts, '2000-01-01') ELSE date_trunc(substr(span::text, 3), ts, 'UTC') END,
             device, count(*), state, sum(temp) FROM flat GROUP BY 1, 2, 4) d;
    RAISE NOTICE '%: % rows, % wrong, % a document', span, (SELECT count(*) FROM every), problem,
      (SELECT option FROM pg_foreign_table, unnest(ftoptions) option WHERE ftrelid = 'every'::regclass AND option ~ 'bucket_span');
    DROP FOREIGN TABLE every;
    PERFORM mongo_ts_command('rollups', '{"drop": "every"}');
  END LOOP;
END $$;

-- What is refused ----------------------------------------------------------

SELECT try(format('SELECT mongo_ts_create_rollup(%s)', arguments)) FROM (VALUES
  ($$'memory', '7 minutes'$$), ($$'memory', '24 hours'$$), ($$'memory', '1 week'$$), ($$'memory', '-1 hour'$$), ($$'memory', '1.5 seconds'$$),
  ($$'memory', '1 hour', aggregates => '{avg}'$$), ($$'memory', '1 hour', columns => '{none}'$$), ($$'memory', '1 hour', columns => '{type}'$$),
  ($$'memory', '1 hour', columns => '{NULL}'$$), ($$'memory', '1 hour', zone => 'Mars'$$), ($$'memory', '1 hour', 'other', zone => 'Asia/Kolkata'$$),
  ($$'memory', NULL$$), ($$'memory', '1 hour', 'other', lag => '1 month'$$), ($$'memory', '1 hour', 'other', lag => '-1 hour'$$),
  ($$'memory', '1 minute'$$), ($$'memory', '1 minute', 'metrics'$$), ($$'memory', '1 minute', 'mongo_ts_rollups'$$), ($$'points', '1 hour'$$),
  ($$'memory_5m', '1 minute', 'finer'$$), ($$'memory_5m', '7200 s', 'even'$$), ($$'memory_1d', '1 hour', 'finer'$$),
  ($$'memory_1h', '1 day', 'kolkata', zone => 'Asia/Kolkata'$$), ($$'berlin_1d', '1 month', 'other', zone => 'UTC'$$)) t (arguments);
CREATE FOREIGN TABLE local_time (ts timestamp OPTIONS (field 'm'), v int OPTIONS (field 's.{second}')) SERVER rollups;
SELECT try($$SELECT mongo_ts_create_rollup('local_time', '1 hour')$$);
SELECT try($$SELECT mongo_ts_refresh_rollup('memory')$$);
SELECT try($$SELECT mongo_ts_refresh_rollup('points')$$);
SELECT mongo_ts_refresh_rollup(NULL) IS NULL AS is_null;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT mongo_ts_refresh_rollup('memory_1h');
ROLLBACK;
-- rights: only the owner makes a roll-up and refreshes it
CREATE ROLE mts_rollups_owner;
CREATE ROLE mts_rollups_user;
GRANT USAGE ON SCHEMA rollups TO mts_rollups_owner, mts_rollups_user;
GRANT CREATE ON SCHEMA rollups TO mts_rollups_owner;
GRANT SELECT ON memory, memory_1m TO mts_rollups_user;
SET ROLE mts_rollups_user;
SELECT try($$SELECT mongo_ts_refresh_rollup('memory_1m')$$);
SELECT try($$SELECT mongo_ts_create_rollup('memory', '1 hour', 'own')$$);
RESET ROLE;
GRANT ALL ON memory_1m TO mts_rollups_user;
SET ROLE mts_rollups_user;
SELECT try($$SELECT mongo_ts_refresh_rollup('memory_1m')$$);
RESET ROLE;
CREATE FOREIGN TABLE owned (ts timestamptz OPTIONS (field 'm'), v int OPTIONS (field 's.{second}')) SERVER rollups;
ALTER FOREIGN TABLE owned OWNER TO mts_rollups_owner;
SET ROLE mts_rollups_owner;
SELECT try($$SELECT mongo_ts_create_rollup('owned', '1 hour')$$);
RESET ROLE;
SELECT try($$SELECT mongo_ts_create_rollup('owned', '1 hour')$$);
GRANT USAGE ON FOREIGN SERVER rollups TO mts_rollups_owner;
SET ROLE mts_rollups_owner;
SELECT mongo_ts_create_rollup('owned', '1 hour');
SELECT mongo_ts_create_rollup('owned_1h', '1 day');
SELECT mongo_ts_refresh_rollup('owned_1d') IS NOT NULL AS refreshed;
RESET ROLE;
SELECT try($$SELECT mongo_ts_refresh_rollup('owned_1d')$$);
SELECT relname, pg_get_userbyid(relowner) FROM pg_class WHERE relname ~ '^owned' ORDER BY 1;
-- A roll-up of another owner is neither used nor marked.  One of the owner that is
-- not valid is marked, too, by the times of the points.
ALTER FOREIGN TABLE owned_1d OWNER TO CURRENT_USER;
SELECT try($$SELECT mongo_ts_refresh_rollup('owned_1d')$$);
ALTER FOREIGN TABLE owned_1d OPTIONS (SET rollup_of 'rollups.owned', SET rollup_zone 'Asia/Kolkata', SET rollup_interval '1 hour');
INSERT INTO owned VALUES ('2024-01-01', 1);
SELECT * FROM stale() WHERE rollup ~ 'owned';
ALTER FOREIGN TABLE owned_1d OWNER TO mts_rollups_owner;
INSERT INTO owned VALUES ('2024-01-02', 1);
ALTER FOREIGN TABLE owned_1d OPTIONS (DROP rollup_interval);
INSERT INTO owned VALUES ('2024-01-03', 1);
SELECT rollup, unnest(ranges) FROM stale() WHERE rollup ~ 'owned';
SELECT try($$SELECT mongo_ts_refresh_rollup('owned_1d')$$);
DROP OWNED BY mts_rollups_owner, mts_rollups_user;
DROP ROLE mts_rollups_owner, mts_rollups_user;
-- options that contradict each other or the tables
CREATE FOREIGN TABLE declared (
  "timestamp" timestamptz OPTIONS (field 'day'),
  type text,
  n    bigint OPTIONS (field 'h.{hour}.n', rollup 'count'),
  s    float8 OPTIONS (field 'h.{hour}.s', rollup 'sum', rollup_column 'value')
) SERVER rollups OPTIONS (rollup_of 'rollups.memory', rollup_interval '1 hour', rollup_lag '1 hour');
SELECT mongo_ts_refresh_rollup('declared') IS NOT NULL AS refreshed;
SELECT sum(n), sum(s) FROM declared;
SELECT count(*), sum(value) FROM memory;
CREATE FUNCTION altered(change text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  RETURN try(format('DO $x$ BEGIN ALTER FOREIGN TABLE declared %s; PERFORM mongo_ts_refresh_rollup(''declared''); END $x$', change));
END $$;
SELECT altered(change) FROM (VALUES
  ($$OPTIONS (DROP rollup_of)$$), ($$OPTIONS (DROP rollup_interval)$$), ($$OPTIONS (SET rollup_of 'rollups.none')$$),
  ($$OPTIONS (SET rollup_of 'rollups.declared')$$), ($$OPTIONS (SET rollup_of 'rollups.points')$$),
  ($$OPTIONS (ADD rollup_zone 'Asia/Kolkata')$$), ($$ALTER n OPTIONS (SET rollup 'sum')$$), ($$ALTER n OPTIONS (ADD rollup_column 'none')$$),
  ($$ALTER n OPTIONS (SET rollup 'sum', ADD rollup_column 'value')$$), ($$ALTER n OPTIONS (SET rollup 'min', ADD rollup_column 'value')$$),
  ($$ALTER type OPTIONS (ADD rollup_column 'value')$$), ($$ALTER "timestamp" OPTIONS (ADD rollup_column 'type')$$),
  ($$OPTIONS (ADD rollup_maintained_by 'application')$$)) t (change);
SELECT mongo_ts_command('rollups', '{"update": "mongo_ts_rollups", "updates": [{"q": {"_id": "declared"}, "u":
  {"$set": {"until": {"$date": "2024-01-01T00:30:00Z"}}}}]}')->'ok' AS ok;
SELECT try($$SELECT mongo_ts_refresh_rollup('declared')$$);
DROP FOREIGN TABLE declared;
-- A roll-up whose points have another name cannot be refreshed.
ALTER FOREIGN TABLE memory RENAME TO renamed;
SELECT try($$SELECT mongo_ts_refresh_rollup('memory_1d')$$);
ALTER FOREIGN TABLE renamed RENAME TO memory;
SELECT try($$SELECT mongo_ts_refresh_rollup('memory_1d')$$);
-- a collection that a roll-up of another schema has, or a table, or nothing
CREATE SCHEMA mts_rollups_other;
CREATE FOREIGN TABLE mts_rollups_other.memory ("timestamp" timestamptz OPTIONS (field 'm'), v int OPTIONS (field 's.{second}'))
  SERVER rollups OPTIONS (collection 'other');
CREATE FOREIGN TABLE mts_rollups_other.planned (v int) SERVER rollups OPTIONS (collection 'reserved');
SELECT mongo_ts_command('rollups', '{"create": "empty"}')->'ok' AS ok;
SELECT name, try(format($$SELECT mongo_ts_create_rollup('mts_rollups_other.memory', '1 minute', %L)$$, name))
  FROM unnest('{NULL,reserved,empty}'::text[]) name;
SELECT try($$SELECT mongo_ts_create_rollup('memory', '1 minute', 'reserved')$$);
DROP SCHEMA mts_rollups_other CASCADE;
-- What is written meanwhile is marked: under another name, in another schema,
-- in a schema of another name; but not with another owner
CREATE ROLE mts_rollups_owner;
CREATE SCHEMA mts_rollups_other;
CALL refresh();
ALTER FOREIGN TABLE memory RENAME TO renamed;
INSERT INTO renamed VALUES ('2013-10-30 01:00:01Z', 'moved', 1);
ALTER FOREIGN TABLE renamed RENAME TO memory;
ALTER FOREIGN TABLE memory SET SCHEMA mts_rollups_other;
INSERT INTO mts_rollups_other.memory VALUES ('2013-10-30 03:00:01Z', 'moved', 1);
ALTER FOREIGN TABLE mts_rollups_other.memory SET SCHEMA rollups;
ALTER SCHEMA rollups RENAME TO mts_rollups_renamed;
INSERT INTO mts_rollups_renamed.memory VALUES ('2013-10-30 05:00:01Z', 'moved', 1);
ALTER SCHEMA mts_rollups_renamed RENAME TO rollups;
ALTER FOREIGN TABLE memory OWNER TO mts_rollups_owner;
INSERT INTO memory VALUES ('2013-10-30 07:00:01Z', 'moved', 1);
ALTER FOREIGN TABLE memory OWNER TO CURRENT_USER;
ALTER FOREIGN TABLE memory_1m OWNER TO mts_rollups_owner;
INSERT INTO memory VALUES ('2013-10-30 09:00:01Z', 'moved', 1);
ALTER FOREIGN TABLE memory_1m OWNER TO CURRENT_USER;
SELECT rollup, unnest(ranges) FROM stale() WHERE rollup ~ 'memory_1[mh]';
SELECT count(*) FROM memory WHERE type = 'moved' AND "timestamp" < '2013-10-31';
-- A roll-up of another owner in another database does not hinder writes.
CREATE FOREIGN TABLE elsewhere ("timestamp" timestamptz OPTIONS (field 'm'), n bigint OPTIONS (field 's.{second}', rollup 'count'))
  SERVER rollups OPTIONS (database 'admin.$', rollup_of 'rollups.memory', rollup_interval '1 hour');
ALTER FOREIGN TABLE elsewhere OWNER TO mts_rollups_owner;
INSERT INTO memory VALUES ('2013-10-30 11:00:01Z', 'moved', 1);
DROP FOREIGN TABLE elsewhere;
DROP SCHEMA mts_rollups_other;
DROP ROLE mts_rollups_owner;
DELETE FROM memory WHERE type = 'moved';
CALL refresh();
SELECT * FROM stale() WHERE rollup ~ 'memory';

-- Many stale ranges: marks are widened, and a refresh joins them.
CREATE FUNCTION push(n int) RETURNS jsonb LANGUAGE sql AS $$
  SELECT mongo_ts_command('rollups', format('{"update": "mongo_ts_rollups", "updates": [{"q": {"_id": "memory_1m"}, "u": {"$push":
           {"stale": {"$each": [%s]}}}}]}', string_agg(format('{"from": {"$date": "%s"}, "to": {"$date": "%s"}}',
           to_char(t, form), to_char(t + interval '1 minute', form)), ', '))::json)->'ok'
    FROM generate_series(timestamp '2012-01-01', timestamp '2012-01-01' + (n - 1) * interval '3 minutes', '3 minutes') t,
         CAST('YYYY-MM-DD"T"HH24:MI:SS"Z"' AS text) form
$$;
CREATE VIEW number_of_ranges AS SELECT jsonb_array_length(d->'stale') AS n FROM mongo_ts_find('rollups', 'mongo_ts_rollups', '{"_id": "memory_1m"}') d;
SELECT push(257);
INSERT INTO memory VALUES ('2013-05-01 01:00:01Z', 'many', 1);
INSERT INTO memory VALUES ('2013-05-01 03:00:01Z', 'many', 1);
INSERT INTO memory VALUES ('2013-05-01 05:00:01Z', 'many', 1);
INSERT INTO memory VALUES ('2013-05-02 05:00:01Z', 'many', 1);
SELECT * FROM number_of_ranges;
SELECT push(20000);
SET statement_timeout = '30s';
INSERT INTO memory VALUES ('2013-05-03 05:00:01Z', 'many', 1);
SELECT count(*) FROM memory WHERE type = 'many' AND "timestamp" < '2013-10-01';
SELECT * FROM number_of_ranges;
CALL refresh();
SELECT * FROM number_of_ranges;
RESET statement_timeout;
SELECT count(*) FROM memory WHERE type = 'many' AND "timestamp" < '2013-10-01';
DELETE FROM memory WHERE type = 'many' AND "timestamp" < '2013-10-01';
CALL refresh();

-- Retention ----------------------------------------------------------------

-- MongoDB removes whole buckets some time after their expiry.
SELECT mongo_ts_command('rollups', '{"createIndexes": "metrics", "indexes": [
  {"key": {"timestamp_minute": 1}, "name": "expire", "expireAfterSeconds": 1500000000}]}')->'ok' AS ok;
SELECT i->>'name' AS name, i->'key' AS key, i->'expireAfterSeconds' AS seconds
  FROM jsonb_array_elements(mongo_ts_command('rollups', '{"listIndexes": "metrics"}')#>'{cursor,firstBatch}') i
 WHERE i ? 'expireAfterSeconds';
-- What is older than rollup_retention stays in the roll-ups, also if it was
-- written before.
CREATE VIEW sums AS SELECT level, count(*) AS rows, sum(points) AS points FROM levels GROUP BY 1 ORDER BY 1;
SELECT * FROM sums;
INSERT INTO memory VALUES ('2013-10-31 01:02:03Z', 'old', 1);
SELECT * FROM stale() WHERE rollup ~ 'memory';
SELECT count(*) FROM memory;
ALTER FOREIGN TABLE memory OPTIONS (ADD rollup_retention '7 days');
SELECT count(*) FROM memory;
CALL refresh();
SELECT * FROM stale() WHERE rollup ~ 'memory';
-- A range of time: whole buckets in one command, and the points at its edge
\pset format unaligned
SELECT replace(line, ', type: {$gte: MinKey()}', '') AS plan
  FROM plan($$DELETE FROM memory WHERE "timestamp" < '2013-11-01 21:17:33Z'$$) line WHERE line !~ 'Index Skips';
\pset format aligned
DELETE FROM memory WHERE "timestamp" < '2013-11-01 21:17:33Z';
\set VERBOSITY terse
SELECT count(*), min("timestamp") FROM memory;
\set VERBOSITY default
INSERT INTO memory VALUES ('2013-10-31 01:02:03Z', 'old', 1);
SELECT * FROM stale() WHERE rollup ~ 'memory';
CALL refresh();
SELECT * FROM sums;
-- also if a range is given
CALL pass_time();
SELECT mongo_ts_refresh_rollup('memory_1d', '2013-10-31', '2013-10-31 12:00') IS NOT NULL AS refreshed;
SELECT * FROM sums;
SELECT * FROM stale() WHERE rollup ~ 'memory';
-- whatever the planner knows of the points that are left
ANALYZE memory;
SELECT type, count(*) FROM memory WHERE "timestamp" < '2013-10-25' GROUP BY 1 ORDER BY 1 LIMIT 2;
-- A whole collection
SELECT mongo_ts_command('rollups', '{"drop": "metrics"}')->'ok' AS ok;
-- roll-ups still have the totals, whose ranges are not stale
SELECT count(*) FROM memory;
SET mongo_ts_fdw.enable_rollups = off;
SELECT count(*) FROM memory;
RESET mongo_ts_fdw.enable_rollups;

-- one of several
CREATE TABLE memory_all ("timestamp" timestamptz, type text, value float8) PARTITION BY RANGE ("timestamp");
CREATE FOREIGN TABLE memory_2013_10 ("timestamp" timestamptz, type text, value float8 OPTIONS (field 'values.{second}')) SERVER rollups;
CREATE FOREIGN TABLE memory_2013_11 ("timestamp" timestamptz, type text, value float8 OPTIONS (field 'values.{second}')) SERVER rollups;
ALTER TABLE memory_all ATTACH PARTITION memory_2013_10 FOR VALUES FROM ('2013-10-01') TO ('2013-11-01');
ALTER TABLE memory_all ATTACH PARTITION memory_2013_11 FOR VALUES FROM ('2013-11-01') TO ('2013-12-01');
INSERT INTO memory_all SELECT * FROM points WHERE "timestamp" >= '2013-10-01';
SELECT date_trunc('month', "timestamp") AS month, count(*) FROM memory_all GROUP BY 1 ORDER BY 1;
DROP FOREIGN TABLE memory_2013_10;
SELECT mongo_ts_command('rollups', '{"drop": "memory_2013_10"}')->'ok' AS ok;
SELECT date_trunc('month', "timestamp") AS month, count(*) FROM memory_all GROUP BY 1 ORDER BY 1;

-- The rows of a roll-up ------------------------------------------------------

CREATE FOREIGN TABLE kept (ts timestamptz OPTIONS (field 'hour'), v int OPTIONS (field 'm.{minute}')) SERVER rollups;
INSERT INTO kept SELECT timestamptz '2024-03-28Z' + i * interval '10 minutes', i FROM generate_series(0, 4319) i;
SELECT mongo_ts_create_rollup('kept', '1 hour');
SELECT mongo_ts_refresh_rollup('kept_1h') IS NOT NULL AS refreshed;
-- Who changes them makes their intervals stale.
DELETE FROM kept_1h WHERE ts < '2024-03-28 02:00Z';
SELECT * FROM stale() WHERE rollup = 'kept_1h';
SELECT count(*), sum(v) FROM kept;
UPDATE kept_1h SET points = 100 WHERE ts = '2024-03-28 05:00Z';
SELECT * FROM stale() WHERE rollup = 'kept_1h';
SELECT count(*), sum(v) FROM kept;
CALL settle();
SELECT mongo_ts_refresh_rollup('kept_1h') IS NOT NULL AS refreshed;
SELECT * FROM stale() WHERE rollup = 'kept_1h';
SELECT count(*), sum(points) FROM kept_1h;
TRUNCATE kept_1h;
SELECT count(*), sum(v) FROM kept;
CALL settle();
SELECT mongo_ts_refresh_rollup('kept_1h') IS NOT NULL AS refreshed;
SELECT count(*), sum(points) FROM kept_1h;
-- Those that are older than rollup_retention stay removed.
ALTER FOREIGN TABLE kept OPTIONS (ADD rollup_retention '7 days');
DELETE FROM kept_1h WHERE ts < '2024-03-28 02:00Z';
SELECT * FROM stale() WHERE rollup = 'kept_1h';
ALTER FOREIGN TABLE kept OPTIONS (DROP rollup_retention);
-- A range stays stale for two minutes after it was computed, since the outcome of its write may be unknown.
INSERT INTO kept VALUES ('2024-03-28 05:00Z', 7);
CALL pass_time();
SELECT mongo_ts_refresh_rollup('kept_1h') IS NOT NULL AS refreshed;
SELECT * FROM stale() WHERE rollup = 'kept_1h';
-- MongoDB executes a write of before
SELECT mongo_ts_command('rollups', '{"update": "kept", "updates": [{"q": {"hour": {"$date": "2024-03-28T05:00:00Z"}}, "u": {"$set": {"m.1": 1000}}}]}')->'n' AS changed;
SELECT count(*), sum(v) FROM kept;
CALL settle();
SELECT mongo_ts_refresh_rollup('kept_1h') IS NOT NULL AS refreshed;
SELECT * FROM stale() WHERE rollup = 'kept_1h';
SELECT points, v_sum FROM kept_1h WHERE ts = '2024-03-28 05:00Z';
-- A write in the meantime marks it again, and its refresh computes both.
INSERT INTO kept VALUES ('2024-03-28 06:00Z', 7);
SELECT mongo_ts_refresh_rollup('kept_1h') IS NOT NULL AS refreshed;
INSERT INTO kept VALUES ('2024-03-28 06:01Z', 8);
SELECT s ? 'computed' AS is_computed FROM mongo_ts_find('rollups', 'mongo_ts_rollups', '{"_id": "kept_1h"}') d, jsonb_array_elements(d->'stale') s;
CALL settle();
SELECT mongo_ts_refresh_rollup('kept_1h') IS NOT NULL AS refreshed;
SELECT * FROM stale() WHERE rollup = 'kept_1h';
-- A superuser's refresh has the rights of the owner, whose defaults it evaluates.
-- The settings of the session stay the superuser's.
CREATE ROLE regress_rollup_owner;
CREATE ROLE regress_rollup_other;
GRANT USAGE ON FOREIGN SERVER rollups TO regress_rollup_owner, regress_rollup_other;
GRANT CREATE, USAGE ON SCHEMA rollups TO regress_rollup_owner, regress_rollup_other;
ALTER FOREIGN TABLE kept OWNER TO regress_rollup_owner;
ALTER FOREIGN TABLE kept_1h OWNER TO regress_rollup_owner;
SET ROLE regress_rollup_owner;
CREATE FUNCTION name_user() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  RAISE NOTICE 'as %', current_user;
  PERFORM set_config('search_path', 'pg_temp', false);
  RETURN 'x';
END $$;
ALTER FOREIGN TABLE kept_1h ADD note text OPTIONS (field 'hours.{hour}.note') DEFAULT name_user();
GRANT ALL ON kept_1h TO regress_rollup_other;
RESET ROLE;
SELECT mongo_ts_refresh_rollup('kept_1h', '2024-03-28 05:00Z', '2024-03-28 06:00Z') IS NOT NULL AS refreshed;
SELECT current_user = session_user AS is_back, current_setting('search_path') AS path;
-- Nobody else has code run as the owner.
SET ROLE regress_rollup_other;
CREATE FUNCTION seize() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE NOTICE 'seized as %', current_user;
  RETURN NEW;
END $$;
CREATE TRIGGER seize BEFORE INSERT ON kept_1h FOR EACH ROW EXECUTE FUNCTION seize();
SELECT mongo_ts_refresh_rollup('kept_1h', '2024-03-28 05:00Z', '2024-03-28 06:00Z');
SET ROLE regress_rollup_owner;
SELECT mongo_ts_refresh_rollup('kept_1h', '2024-03-28 05:00Z', '2024-03-28 06:00Z');
RESET ROLE;
DROP FOREIGN TABLE kept, kept_1h;
-- What one role declares does not concern the writes of another one.
CREATE FOREIGN TABLE victim (ts timestamptz OPTIONS (field 'hour'), v int OPTIONS (field 'm.{minute}')) SERVER rollups;
SET ROLE regress_rollup_other;
CREATE FOREIGN TABLE evil (ts timestamptz OPTIONS (field 'hour'), n bigint OPTIONS (field 'm.{minute}', rollup 'count')) SERVER rollups
  OPTIONS (rollup_of 'no.such', rollup_interval '1 hour');
CREATE FOREIGN TABLE evil_too (ts timestamptz OPTIONS (field 'hour'), n bigint OPTIONS (field 'm.{minute}', rollup 'count')) SERVER rollups
  OPTIONS (rollup_of 'rollups.victim', rollup_interval '1 hour');
RESET ROLE;
BEGIN;
INSERT INTO victim VALUES ('2024-01-01Z', 1);
SELECT relation::regclass FROM pg_locks WHERE pid = pg_backend_pid() AND relation IN ('evil'::regclass, 'evil_too'::regclass);
COMMIT;
DROP OWNED BY regress_rollup_owner, regress_rollup_other CASCADE;
DROP ROLE regress_rollup_owner, regress_rollup_other;
-- The hours of a zone whose clocks differ from UTC by whole hours are those of UTC.
SELECT mongo_ts_create_rollup('victim', '1 hour', zone => 'Europe/Berlin', lag => '0');
SELECT mongo_ts_refresh_rollup('victim_1h') IS NOT NULL AS refreshed;
TABLE victim_1h;
SELECT try($$SELECT mongo_ts_create_rollup('victim', '2 hours', zone => 'Europe/Berlin')$$);
SELECT try($$SELECT mongo_ts_create_rollup('victim', '30 minutes', 'kolkata_30m', zone => 'Asia/Kolkata')$$);
-- A long name is truncated, as PostgreSQL's parser does.
SELECT mongo_ts_create_rollup('victim', '1 day', repeat('xyz', 25));
SELECT mongo_ts_refresh_rollup((repeat('xyz', 21))::regclass) IS NOT NULL AS refreshed;

SELECT mongo_ts_command('rollups', '{"dropDatabase": 1}')->'ok' AS dropped;
