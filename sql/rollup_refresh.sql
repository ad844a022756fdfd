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
-- The points are those of the days before today.
DO $$ BEGIN EXECUTE format('CREATE FUNCTION today() RETURNS timestamptz IMMUTABLE RETURN timestamptz %L', date_trunc('day', now())); END $$;
INSERT INTO points SELECT today() - i * interval '1 hour', 'k' || s, i FROM generate_series(1, 99) i, generate_series(1, 2) s;
SELECT mongo_ts_create_rollup('points', '1 hour', lag => '0');
SELECT mongo_ts_create_rollup('points_1h', '1 day', lag => '0');
SELECT mongo_ts_create_rollup('points', '15 minutes', lag => '0');
-- As if the last refresh were some time ago: no document is new to the next one.
CREATE PROCEDURE pass_time() LANGUAGE sql AS $$
  SELECT mongo_ts_command('rollup_refresh', '{"update": "mongo_ts_rollups", "updates": [
    {"q": {"refreshed": {"$exists": true}}, "u": {"$set": {"refreshed": {"$date": "2100-01-01T00:00:00Z"}}}, "multi": true}]}')
$$;
CREATE PROCEDURE refresh(points regclass, repair interval DEFAULT NULL) LANGUAGE plpgsql AS $$
BEGIN
  CALL pass_time();
  PERFORM mongo_ts_refresh_rollup(points, repair => refresh.repair);
END $$;
-- The roll-ups that a refresh will compute again
CREATE VIEW stale AS SELECT rollup, stale_ranges FROM mongo_ts_rollups WHERE points = 'points'::regclass AND stale_ranges > 0 ORDER BY rollup::text;
-- What is added to a value keeps roll-ups from answering.
CREATE VIEW totals AS
  SELECT 'points', count(v + 0) AS n, sum(v + 0) FROM points UNION ALL
  SELECT 'points_1h', sum(points), sum(v_sum) FROM points_1h UNION ALL
  SELECT 'points_15m', sum(points), sum(v_sum) FROM points_15m UNION ALL
  SELECT 'points_1d', sum(points), sum(v_sum) FROM points_1d;

-- All roll-ups of a table of points
SELECT mongo_ts_refresh_rollup('points') = today();
SELECT rollup, until IS NOT NULL, is_usable, stale_ranges FROM mongo_ts_rollups WHERE points = 'points'::regclass ORDER BY rollup::text;
CREATE FOREIGN TABLE alone (ts timestamptz, v int) SERVER rollup_refresh;
SELECT try('SELECT mongo_ts_refresh_rollup(''alone'')');

-- An application writes new documents, and is late.
CREATE PROCEDURE write(id json, hours int, k text, v int) LANGUAGE sql AS $$
  CALL put('points', json_build_array(json_build_object('_id', id, 'hour', json_build_object('$date', json_build_object('$numberLong',
    (extract(epoch FROM today() - hours * interval '1 hour') * 1000)::bigint::text)), 'k', k, 'v', json_build_object('7', v))))
$$;
-- The last refresh ended at noon, and began at eleven.  The documents were made half a minute before,
-- by a clock that is slow.  Another one is too old.
CREATE PROCEDURE noon() LANGUAGE sql AS $$
  SELECT mongo_ts_command('rollup_refresh', '{"update": "mongo_ts_rollups", "updates": [
    {"q": {"refreshed": {"$exists": true}}, "u": {"$set": {"refreshed": {"$date": "2050-01-01T12:00:00Z"}, "took": 3600000}}, "multi": true}]}')
$$;
SELECT format('{"$oid": "%s0000000000000000"}', to_hex(extract(epoch FROM timestamptz '2050-01-01 10:59:30Z')::bigint)) AS late,
  format('{"$oid": "%s0000000000000000"}', to_hex(extract(epoch FROM timestamptz '2050-01-01 10:58:00Z')::bigint)) AS early \gset
CALL write(:'late', 50, 'late', 1000);
CALL write(replace(:'late', '0000000000000000', '0000000000000001')::json, 90, 'late', 2000);
CALL write(:'early', 70, 'early', 100);
-- A refresh marks what it computes, and what is computed from that.  Other roll-ups find the documents by themselves.
CALL noon();
SELECT mongo_ts_refresh_rollup('points_1h', today() - interval '1 day') IS NOT NULL;
TABLE stale;
CALL noon();
SELECT mongo_ts_refresh_rollup('points_1d') IS NOT NULL;
TABLE stale;
CALL noon();
SELECT mongo_ts_refresh_rollup('points_15m') IS NOT NULL;
TABLE stale;
TABLE totals;
-- It changes an old one.  No refresh notices this, unless it repairs the days.
SELECT mongo_ts_command('rollup_refresh', '{"update": "points", "updates": [{"q": {"v.7": 1000}, "u": {"$set": {"v.7": 3000}}}]}')->'nModified';
CALL refresh('points');
TABLE totals;
CALL refresh('points', repair => '1 day');
TABLE totals;
CALL refresh('points', repair => '4 days');
TABLE totals;
-- An _id that is no ObjectId does not tell when the document was made.
CALL write('"own"', 10, 'own', 10);
CALL refresh('points');
TABLE totals;
SELECT mongo_ts_mark_rollup('points', today() - interval '10 hours', today() - interval '9 hours');
CALL refresh('points');
TABLE totals;

SELECT try($$SELECT mongo_ts_refresh_rollup('points', '2013-11-02', '2013-11-01')$$);
SELECT try($$SELECT mongo_ts_refresh_rollup('points', repair => '-1 day')$$);
SELECT try($$SELECT mongo_ts_refresh_rollup('points', '2013-11-01', repair => '1 day')$$);

-- More columns
ALTER FOREIGN TABLE points ADD w int OPTIONS (field 'w.{minute}');
SELECT mongo_ts_create_rollup('points', '1 hour', columns => '{w}', aggregates => '{count, max}');
SELECT mongo_ts_create_rollup('points_1h', '1 day');
SELECT attrelid::regclass, attname, attfdwoptions FROM pg_attribute WHERE attrelid IN ('points_1h'::regclass, 'points_1d'::regclass) AND attname ~ '^w' ORDER BY 1, 2;
-- Again with another time between refreshes
SELECT mongo_ts_create_rollup('points_1h', '1 day', refresh => '5 minutes');
SELECT mongo_ts_create_rollup('points_1h', '1 day', refresh => '1 hour');
SELECT o FROM pg_foreign_table, unnest(ftoptions) o WHERE ftrelid = 'points_1d'::regclass AND o ~ '^rollup_refresh';
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
DROP VIEW totals, stale;
DROP FOREIGN TABLE points_1d, points_1h, points_15m, points;
REVOKE USAGE ON SCHEMA rollup_refresh FROM rollup_refresh_owner;
REVOKE USAGE ON FOREIGN SERVER rollup_refresh FROM rollup_refresh_owner;
DROP ROLE rollup_refresh_owner;
DROP FOREIGN TABLE alone;
SELECT mongo_ts_command('rollup_refresh', '{"dropDatabase": 1}')->'ok' IS NOT NULL AS dropped;
