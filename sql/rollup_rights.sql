--
-- Tests that a user changes nothing of the roll-ups of others: by the steps of
-- their functions, or by declaring tables.
--
\set suite rollup_rights
\i sql/include/suite.sql

CREATE ROLE rollup_rights_owner;
CREATE ROLE rollup_rights_other;
CREATE SCHEMA rollup_rights_private;
GRANT USAGE, CREATE ON SCHEMA rollup_rights TO rollup_rights_owner, rollup_rights_other;
GRANT USAGE ON FOREIGN SERVER rollup_rights TO rollup_rights_owner, rollup_rights_other;
GRANT ALL ON SCHEMA rollup_rights_private TO rollup_rights_other;

SET ROLE rollup_rights_owner;
CREATE FOREIGN TABLE points (ts timestamptz OPTIONS (field 'hour'), v float8 OPTIONS (field 'v.{minute}')) SERVER rollup_rights;
INSERT INTO points SELECT timestamptz '2024-01-01Z' + i * interval '20 minutes', i FROM generate_series(0, 9) i;
SELECT mongo_ts_create_rollup('points', '1 hour');
SELECT mongo_ts_create_rollup('points_1h', '1 day');
SELECT mongo_ts_refresh_rollup('points') IS NOT NULL;

-- The steps that change something, or read the state: all of those with a table as argument, except
-- what describes its columns and options.
SET ROLE rollup_rights_other;
CREATE FUNCTION tried(step text) RETURNS text LANGUAGE sql RETURN split_part(try(format('SELECT %s', step)), E'\n', 1);
SELECT p.proname, tried(format('%s(%s)', p.proname, (
         SELECT string_agg(CASE format_type(type, NULL) WHEN 'regclass' THEN '''points_1h''' WHEN 'json' THEN '''{"$unset": {"until": 1}}'''
                             WHEN 'text[]' THEN '''{DELETE FROM points WHERE $1 < $2}''' WHEN 'boolean' THEN 'false'
                             WHEN 'timestamp with time zone' THEN '''2024-01-01''' ELSE '''{}''' END, ', ' ORDER BY n)
           FROM unnest(p.proargtypes) WITH ORDINALITY a (type, n))))
  FROM pg_proc p JOIN pg_language l ON l.oid = prolang
 WHERE starts_with(proname, '_mongo_ts_') AND lanname = 'c' AND proname !~ 'columns$|intervals$|list_rollups$'
 ORDER BY 1;
SELECT tried(call) FROM (VALUES ('mongo_ts_refresh_rollup(''points'')'), ('mongo_ts_refresh_rollup(''points_1h'')'),
  ('mongo_ts_drop_rollup(''points_1h'')'), ('mongo_ts_create_rollup(''points'', ''1 minute'')'),
  ('mongo_ts_mark_rollup(''points'', ''2024-01-01'', ''2024-01-02'')'), ('mongo_ts_rollup_state(''points_1h'')')) c (call);

-- The tables of another role are no roll-ups of the points, wherever their own source is.
CREATE FOREIGN TABLE fake (ts timestamptz OPTIONS (field 'day'), n bigint OPTIONS (field 'h.{hour}', rollup 'count'))
  SERVER rollup_rights OPTIONS (rollup_of 'rollup_rights.points', rollup_interval '1 hour');
CREATE FOREIGN TABLE hidden (ts timestamptz OPTIONS (field 'day'), n bigint OPTIONS (field 'h.{hour}', rollup 'count'))
  SERVER rollup_rights OPTIONS (rollup_of 'rollup_rights_private.points', rollup_interval '1 hour');
CREATE FOREIGN TABLE rollup_rights_private.points (ts timestamptz OPTIONS (field 'hour'), v float8 OPTIONS (field 'v.{minute}'))
  SERVER rollup_rights;
SELECT tried('mongo_ts_refresh_rollup(''fake'')');
SET ROLE rollup_rights_owner;
SELECT mongo_ts_refresh_rollup('points') IS NOT NULL;
SELECT rollup, is_usable, stale_ranges FROM mongo_ts_rollups ORDER BY 1;
SELECT count(*), sum(v) FROM points;

RESET ROLE;
DROP OWNED BY rollup_rights_owner, rollup_rights_other;
DROP SCHEMA rollup_rights_private;
DROP ROLE rollup_rights_owner, rollup_rights_other;
