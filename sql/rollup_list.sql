--
-- Tests of the view of roll-ups and the function that drops one.
--
\set suite rollup_list
\i sql/include/suite.sql

-- What does not depend on the time, of this test
CREATE VIEW list AS
  SELECT rollup, points, source, "interval", until > now() - interval '3 days' AS is_current, stale_ranges AS stale,
         stale_points AS of_points, is_usable, problem
    FROM mongo_ts_rollups JOIN pg_class ON pg_class.oid = rollup AND relnamespace = 'rollup_list'::regnamespace
   ORDER BY relname;
CREATE FUNCTION change_state(rollup text, change json) RETURNS jsonb LANGUAGE sql RETURN
  mongo_ts_command('rollup_list', json_build_object('update', 'mongo_ts_rollups', 'updates', json_build_array(
    json_build_object('q', json_build_object('_id', rollup), 'u', change))))->'n';
CREATE PROCEDURE refresh(rollup regclass) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM mongo_ts_refresh_rollup(rollup);
END $$;

CREATE FOREIGN TABLE points (
  ts timestamptz OPTIONS (field 'hour'), sensor text COLLATE "C", v float8 OPTIONS (field 'v.{minute}')
) SERVER rollup_list;
INSERT INTO points SELECT timestamptz '2024-03-28Z' + i * interval '10 minutes', 's' || i % 2, i FROM generate_series(0, 431) i;

SELECT * FROM list;
SELECT mongo_ts_create_rollup('points', '1 hour', lag => '1 day');
SELECT mongo_ts_create_rollup('points_1h', '1 day', zone => 'Europe/Berlin', lag => '1 day');
CREATE FOREIGN TABLE by_application (
  ts timestamptz OPTIONS (field 'day'), n bigint OPTIONS (field 'h.{hour}', rollup 'count')
) SERVER rollup_list OPTIONS (rollup_of 'rollup_list.points', rollup_interval '1 hour', rollup_maintained_by 'application');
INSERT INTO by_application VALUES ('2024-03-28Z', 6);
SELECT * FROM list;
CALL refresh('points_1d');
SELECT * FROM list;

-- Stale ranges, and the points that the roll-up has in them
INSERT INTO points VALUES ('2024-03-28 01:01Z', 's0', 1), ('2024-03-28 02:01Z', 's0', 1), ('2024-03-30 23:01Z', 's0', 1);
SELECT rollup, stale, of_points FROM list;
SELECT until IS NOT NULL AS has_until, stale, open, problem, first_kept FROM mongo_ts_rollup_state('points_1h');
CALL refresh('points_1d');
SELECT stale, open FROM mongo_ts_rollup_state('points_1h');
SELECT stale, open FROM mongo_ts_rollup_state('by_application');
TRUNCATE points_1d;
SELECT stale, open FROM mongo_ts_rollup_state('points_1d');
SELECT rollup, stale, of_points FROM list;
CALL refresh('points_1d');

-- What refreshes record of themselves
SELECT change_state('points_1h', '{"$set": {"refreshed": {"$date": "2024-04-01T00:00:00.123Z"}, "took": 61500,
  "failed": {"at": {"$date": "2024-04-01T01:00:00Z"}, "error": "not reached"}}}');
SELECT refreshed, took, error FROM mongo_ts_rollups WHERE rollup = 'points_1h'::regclass;
SELECT refreshed, took, error FROM mongo_ts_rollup_state('points_1h');
SELECT refreshed, took, error FROM mongo_ts_rollups WHERE rollup = 'by_application'::regclass;
SELECT change_state('points_1h', '{"$set": {"refreshed": "never", "took": "long", "failed": "yes"}}');
SELECT refreshed, took, error FROM mongo_ts_rollups WHERE rollup = 'points_1h'::regclass;

-- Why one is not usable -----------------------------------------------------

CREATE FUNCTION problem(change text, relation text DEFAULT 'points_1h') RETURNS SETOF list LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE change;
  RETURN QUERY SELECT * FROM list WHERE rollup::text = relation;
END $$;
\set undone 'ROLLBACK;' 'BEGIN;'
BEGIN;
SELECT * FROM problem('ALTER FOREIGN TABLE points RENAME TO renamed'); :undone
SELECT * FROM problem('ALTER FOREIGN TABLE points RENAME TO renamed', 'points_1d'); :undone
SELECT * FROM problem('ALTER FOREIGN TABLE points ADD COLUMN w float8 OPTIONS (field ''w.{minute}'')'); :undone
SELECT * FROM problem('ALTER FOREIGN TABLE points ALTER COLUMN v TYPE float4'); :undone
SELECT * FROM problem('ALTER FOREIGN TABLE points_1h OPTIONS (DROP rollup_interval)'); :undone
SELECT * FROM problem($$ALTER FOREIGN TABLE points_1h OPTIONS (SET rollup_of 'rollup_list.points_1d')$$); :undone
SELECT * FROM problem($$ALTER FOREIGN TABLE points_1h OPTIONS (SET rollup_of 'rollup_list.list')$$); :undone
SELECT * FROM problem($$ALTER FOREIGN TABLE points_1h OPTIONS (SET bucket_span '7 minutes')$$); :undone
SELECT * FROM problem('CREATE ROLE rollup_list_owner; ALTER FOREIGN TABLE points OWNER TO rollup_list_owner'); :undone
SELECT * FROM problem('CREATE ROLE rollup_list_owner; ALTER FOREIGN TABLE points OWNER TO rollup_list_owner', 'points_1d'); :undone
ROLLBACK;
SELECT change_state('points_1h', '{"$set": {"until": {"$date": "2024-04-01T00:10:00Z"}}}');
SELECT rollup, is_usable, problem FROM list;
SELECT change_state('points_1h', '{"$set": {"until": {"$date": "2024-04-01T00:00:00Z"}}}');
CALL refresh('points_1h');
SELECT rollup, is_usable, problem FROM list;
SELECT try($$SELECT * FROM mongo_ts_rollup_state('points')$$);
SELECT try($$SELECT * FROM mongo_ts_rollup_state('list')$$);
SELECT mongo_ts_rollup_state(NULL);

-- A server that is down, and one without a user mapping, hide no other row
CREATE SERVER down FOREIGN DATA WRAPPER mongo_ts_fdw OPTIONS (uri 'mongodb://127.0.0.1:1', database 'd');
CREATE USER MAPPING FOR PUBLIC SERVER down OPTIONS (password_required 'false');
CREATE SERVER unmapped FOREIGN DATA WRAPPER mongo_ts_fdw OPTIONS (uri 'mongodb://127.0.0.1:1/?authMechanism=SCRAM-SHA-256', database 'd');
CREATE FOREIGN TABLE down (ts timestamptz OPTIONS (field 'hour'), v int OPTIONS (field 'v.{minute}')) SERVER down;
CREATE FOREIGN TABLE unmapped (ts timestamptz OPTIONS (field 'hour'), v int OPTIONS (field 'v.{minute}')) SERVER unmapped;
CREATE FOREIGN TABLE down_1h (ts timestamptz OPTIONS (field 'day'), n bigint OPTIONS (field 'h.{hour}', rollup 'count'))
  SERVER down OPTIONS (rollup_of 'rollup_list.down', rollup_interval '1 hour');
CREATE FOREIGN TABLE unmapped_1h (ts timestamptz OPTIONS (field 'day'), n bigint OPTIONS (field 'h.{hour}', rollup 'count'))
  SERVER unmapped OPTIONS (rollup_of 'rollup_list.unmapped', rollup_interval '1 hour');
SELECT * FROM list;
SELECT split_part(try(statement), E'\n', 1) FROM unnest(ARRAY[
  $$SELECT mongo_ts_rollup_state('down_1h')$$, $$SELECT count(*) FROM down$$, $$INSERT INTO down VALUES ('2024-01-01', 1)$$, $$TRUNCATE down$$,
  $$SELECT mongo_ts_refresh_rollup('down_1h')$$, $$SELECT mongo_ts_drop_rollup('down_1h')$$]) statement;
DROP FOREIGN TABLE down, unmapped, down_1h, unmapped_1h;
-- Points of stale ranges that cannot be read
INSERT INTO points VALUES ('2024-03-28 01:01Z', 's0', 1);
CREATE FUNCTION change_rows(points json) RETURNS jsonb LANGUAGE sql RETURN
  mongo_ts_command('rollup_list', json_build_object('update', 'points_1h', 'updates', json_build_array(
    json_build_object('q', '{"ts": {"$date": "2024-03-28T00:00:00Z"}}'::json, 'u', json_build_object('$set',
      json_build_object('hours.1.points', points)), 'multi', true))))->'n';
SELECT change_rows('"many"');
SELECT rollup, stale, of_points, is_usable FROM list;
SELECT change_rows('3');
CALL refresh('points_1d');

-- Privileges ------------------------------------------------------------------

CREATE ROLE rollup_list_reader;
GRANT USAGE ON SCHEMA rollup_list TO rollup_list_reader;
SET ROLE rollup_list_reader;
SELECT rollup FROM mongo_ts_rollups;
SELECT try($$SELECT mongo_ts_rollup_state('points_1h')$$);
SELECT try($$SELECT mongo_ts_drop_rollup('points_1h')$$);
RESET ROLE;
GRANT SELECT ON points TO rollup_list_reader;
SET ROLE rollup_list_reader;
SELECT rollup FROM mongo_ts_rollups;
SELECT problem FROM mongo_ts_rollup_state('points_1h');
RESET ROLE;
REVOKE SELECT ON points FROM rollup_list_reader;
GRANT ALL ON points_1h TO rollup_list_reader;
SET ROLE rollup_list_reader;
SELECT rollup, is_usable, problem FROM mongo_ts_rollups;
SELECT problem FROM mongo_ts_rollup_state('points_1h');
SELECT try($$SELECT mongo_ts_drop_rollup('points_1h')$$);
RESET ROLE;
DROP OWNED BY rollup_list_reader;

-- Dropping ---------------------------------------------------------------------

CREATE FUNCTION in_mongodb(OUT collections text, OUT states text) LANGUAGE sql AS $$
  SELECT (SELECT string_agg(c->>'name', ' ' ORDER BY c->>'name')
            FROM jsonb_array_elements(mongo_ts_command('rollup_list', '{"listCollections": 1, "nameOnly": true}') #> '{cursor,firstBatch}') c
           WHERE c->>'name' ~ 'points|other|appl'),
         (SELECT string_agg(d->>'_id', ' ' ORDER BY d->>'_id') FROM mongo_ts_find('rollup_list', 'mongo_ts_rollups', max_documents => NULL) d)
$$;
SELECT * FROM in_mongodb();
SELECT try($$SELECT mongo_ts_drop_rollup('points')$$);
SELECT try($$SELECT mongo_ts_drop_rollup('list')$$);
SELECT try($$SELECT mongo_ts_drop_rollup('points_1h')$$);
CREATE VIEW of_days AS SELECT * FROM points_1d;
SELECT try($$SELECT mongo_ts_drop_rollup('points_1d')$$);
DROP VIEW of_days;
CREATE FOREIGN TABLE other (ts timestamptz) SERVER rollup_list OPTIONS (collection 'points_1d');
SELECT try($$SELECT mongo_ts_drop_rollup('points_1d')$$);
DROP FOREIGN TABLE other;
BEGIN READ ONLY;
SELECT mongo_ts_drop_rollup('points_1d');
ROLLBACK;
-- nothing has been dropped
SELECT * FROM in_mongodb();
SELECT rollup, is_usable FROM list;

-- A ROLLBACK leaves a table whose rows are not used, and a refresh makes them again
SELECT count(*), sum(v) FROM points;
BEGIN;
SELECT mongo_ts_drop_rollup('points_1d');
SELECT rollup FROM list;
ROLLBACK;
SELECT * FROM in_mongodb();
SELECT rollup, is_usable, problem FROM list;
SELECT count(*), sum(v) FROM points;
SELECT count(*) FROM points_1d;
CALL refresh('points_1d');
SELECT count(*) FROM points_1d;
SELECT rollup, is_usable FROM list;

SELECT mongo_ts_drop_rollup('points_1d');
SELECT * FROM in_mongodb();
SELECT mongo_ts_drop_rollup('points_1h');
SELECT * FROM in_mongodb();
SELECT count(*), sum(v) FROM points;
-- that of an application stays in MongoDB
SELECT mongo_ts_drop_rollup('by_application');
SELECT * FROM in_mongodb();
SELECT * FROM list;
-- the name can be used again; another one than the owner of the points drops a roll-up
SELECT mongo_ts_create_rollup('points', '1 hour');
CREATE ROLE rollup_list_owner;
GRANT USAGE, CREATE ON SCHEMA rollup_list TO rollup_list_owner;
ALTER FOREIGN TABLE points_1h OWNER TO rollup_list_owner;
SET ROLE rollup_list_owner;
SELECT rollup, problem FROM mongo_ts_rollups;
SELECT mongo_ts_drop_rollup('points_1h');
RESET ROLE;
SELECT * FROM in_mongodb();
-- one that has never been refreshed has no state, and perhaps no collection
CREATE FOREIGN TABLE never (ts timestamptz OPTIONS (field 'day'), n bigint OPTIONS (field 'h.{hour}', rollup 'count'))
  SERVER rollup_list OPTIONS (rollup_of 'rollup_list.points', rollup_interval '1 hour');
SELECT mongo_ts_drop_rollup('never');
SELECT mongo_ts_drop_rollup(NULL);
DROP OWNED BY rollup_list_owner;
DROP ROLE rollup_list_owner, rollup_list_reader;
