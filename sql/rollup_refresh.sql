--
-- Tests what a refresh finds out by itself: documents that other clients have
-- written late, the last days if it repairs them, and all roll-ups of a table.
--
\set suite rollup_refresh
\i sql/include/suite.sql

\pset format unaligned
\pset tuples_only on

CREATE FOREIGN TABLE points (ts timestamptz OPTIONS (field 'hour'), k text, v int OPTIONS (field 'v.{minute}')) SERVER rollup_refresh;
SELECT mongo_ts_create_index('points');
INSERT INTO points SELECT date_trunc('day', now()) - i * interval '1 hour', 'k' || s, i FROM generate_series(1, 99) i, generate_series(1, 2) s;
SELECT mongo_ts_create_rollup('points', '1 hour', lag => '0');
SELECT mongo_ts_create_rollup('points_1h', '1 day', lag => '0');
SELECT mongo_ts_create_rollup('points', '15 minutes', lag => '0');
-- As if the last refresh were some time ago: no document is new to it.
CREATE PROCEDURE pass_time() LANGUAGE sql AS $$
  SELECT mongo_ts_command('rollup_refresh', '{"update": "mongo_ts_rollups", "updates": [
    {"q": {"refreshed": {"$exists": true}}, "u": {"$set": {"refreshed": {"$date": "2100-01-01T00:00:00Z"}}}, "multi": true}]}')
$$;
CREATE VIEW totals AS
  SELECT 'points', count(*) AS n, sum(v) FROM points WHERE ts < date_trunc('day', now()) UNION ALL
  SELECT 'points_1h', sum(points), sum(v_sum) FROM points_1h WHERE ts < date_trunc('day', now()) UNION ALL
  SELECT 'points_15m', sum(points), sum(v_sum) FROM points_15m WHERE ts < date_trunc('day', now()) UNION ALL
  SELECT 'points_1d', sum(points), sum(v_sum) FROM points_1d WHERE ts < date_trunc('day', now());

-- All roll-ups of a table of points
SELECT mongo_ts_refresh_rollup('points') = date_trunc('day', now());
SELECT rollup, until IS NOT NULL, is_usable, stale_ranges FROM mongo_ts_rollups ORDER BY rollup::text;
CREATE FOREIGN TABLE alone (ts timestamptz, v int) SERVER rollup_refresh;
SELECT try('SELECT mongo_ts_refresh_rollup(''alone'')');

-- An application writes new documents, and is late.
CREATE PROCEDURE write(hours int, k text, v int) LANGUAGE sql AS $$
  CALL put('points', json_build_array(json_build_object('hour', json_build_object('$date', json_build_object('$numberLong',
    (extract(epoch FROM date_trunc('day', now()) - hours * interval '1 hour') * 1000)::bigint::text)), 'k', k, 'v', json_build_object('7', v))))
$$;
CALL write(40, 'late', 1000);
CALL write(90, 'late', 2000);
SELECT mongo_ts_refresh_rollup('points_1d') IS NOT NULL;
SELECT mongo_ts_refresh_rollup('points_15m') IS NOT NULL;
TABLE totals;
-- The one does not make the others stale.
SELECT rollup, stale_ranges FROM mongo_ts_rollups WHERE rollup::text ~ '^points_' ORDER BY rollup::text;
-- A refresh of a range finds new documents outside of it, too.
CALL write(80, 'later', 4000);
SELECT mongo_ts_refresh_rollup('points', date_trunc('day', now()) - interval '42 hours', date_trunc('day', now()) - interval '38 hours') IS NOT NULL;
CALL pass_time();
SELECT mongo_ts_refresh_rollup('points') IS NOT NULL;
TABLE totals;
-- It changes an old one.  No refresh notices this, unless it repairs the days.
SELECT mongo_ts_command('rollup_refresh', '{"update": "points", "updates": [{"q": {"v.7": 1000}, "u": {"$set": {"v.7": 3000}}}]}')->'nModified';
CALL pass_time();
SELECT mongo_ts_refresh_rollup('points') IS NOT NULL;
TABLE totals;
CALL pass_time();
SELECT mongo_ts_refresh_rollup('points', repair => '1 day') IS NOT NULL;
TABLE totals;
CALL pass_time();
SELECT mongo_ts_refresh_rollup('points', repair => '3 days') IS NOT NULL;
TABLE totals;

SELECT try($$SELECT mongo_ts_refresh_rollup('points', '2013-11-02', '2013-11-01')$$);
SELECT try($$SELECT mongo_ts_refresh_rollup('points', repair => '-1 day')$$);
SELECT try($$SELECT mongo_ts_refresh_rollup('points', '2013-11-01', repair => '1 day')$$);

-- If late documents cannot be marked, nothing else changes: the ranges of a
-- later write begin with the time at which they are marked.
CALL write(60, 'late', 1);
SELECT mongo_ts_command('rollup_refresh', '{"collMod": "mongo_ts_rollups", "validator": {"stale.0": {"$exists": false}}}')->'ok';
SELECT _mongo_ts_mark_late('points_1h', now() - interval '1 day', now());
SELECT mongo_ts_command('rollup_refresh', '{"collMod": "mongo_ts_rollups", "validator": {}}')->'ok';
INSERT INTO points VALUES (date_trunc('day', now()) - interval '70 hours', 'k1', 1);
SELECT d #>> '{_id}', s #>> '{n,$oid}' > '1' FROM mongo_ts_find('rollup_refresh', 'mongo_ts_rollups', '{"stale.0": {"$exists": true}}') d, jsonb_array_elements(d -> 'stale') s ORDER BY 1;

-- More columns
ALTER FOREIGN TABLE points ADD w int OPTIONS (field 'w.{minute}');
SELECT mongo_ts_create_rollup('points', '1 hour', columns => '{w}', aggregates => '{count, max}');
SELECT mongo_ts_create_rollup('points_1h', '1 day');
SELECT attrelid::regclass, attname, attfdwoptions FROM pg_attribute WHERE attrelid IN ('points_1h'::regclass, 'points_1d'::regclass) AND attname ~ '^w' ORDER BY 1, 2;
SELECT try('SELECT mongo_ts_create_rollup(''points'', ''2 hours'', name => ''points_1h'')');
SELECT try('SELECT mongo_ts_create_rollup(''points'', ''1 hour'', zone => ''Europe/Berlin'')');
SELECT try('ALTER FOREIGN TABLE points_1h OPTIONS (ADD rollup_retention ''7 days'')');

-- The owner itself
CREATE ROLE rollup_refresh_owner;
GRANT USAGE ON FOREIGN SERVER rollup_refresh TO rollup_refresh_owner;
ALTER FOREIGN TABLE points OWNER TO rollup_refresh_owner;
ALTER FOREIGN TABLE points_1h OWNER TO rollup_refresh_owner;
SELECT try('SELECT mongo_ts_refresh_rollup(''points_1h'')');
SELECT try('SELECT mongo_ts_create_rollup(''points'', ''1 day'', ''other'')');
-- Roll-ups that other roles declare do not matter, nor do schemas that they name.
CREATE SCHEMA rollup_refresh_hidden;
CREATE FOREIGN TABLE of_hidden (ts timestamptz, n bigint OPTIONS (rollup 'count')) SERVER rollup_refresh
  OPTIONS (rollup_of 'rollup_refresh_hidden.points', rollup_interval '1 day');
GRANT USAGE ON SCHEMA rollup_refresh TO rollup_refresh_owner;
SET ROLE rollup_refresh_owner;
SELECT mongo_ts_refresh_rollup('points') IS NOT NULL;
SET ROLE NONE;
DROP FOREIGN TABLE of_hidden;
DROP SCHEMA rollup_refresh_hidden;
DROP VIEW totals;
DROP FOREIGN TABLE points_1d, points_1h, points_15m, points;
REVOKE USAGE ON SCHEMA rollup_refresh FROM rollup_refresh_owner;
REVOKE USAGE ON FOREIGN SERVER rollup_refresh FROM rollup_refresh_owner;
DROP ROLE rollup_refresh_owner;
