--
-- Tests passwords, which user mapping is used, and the rights that functions
-- require.
--
\set suite rights
\i sql/include/suite.sql

CREATE ROLE regress_mts_with;       -- a mapping without a password, permitted by a superuser
CREATE ROLE regress_mts_without;    -- a mapping without a password, not permitted
CREATE ROLE regress_mts_wrong;      -- a mapping with a wrong password
CREATE ROLE regress_mts_none;       -- no mapping
CREATE ROLE regress_mts_super SUPERUSER;
GRANT USAGE ON SCHEMA rights TO PUBLIC;
GRANT USAGE ON FOREIGN SERVER rights TO regress_mts_with, regress_mts_without, regress_mts_wrong, regress_mts_none;
DROP USER MAPPING FOR PUBLIC SERVER rights;
CALL put('points', '[{"ts": {"$date": "2020-01-01T00:00:00Z"}, "v": {"0": 1, "1": 2}}]');
CREATE FOREIGN TABLE points (ts timestamptz, v int OPTIONS (field 'v.{second}')) SERVER rights;
GRANT ALL ON points TO PUBLIC;
CREATE VIEW open AS SELECT server_name, user_name FROM mongo_ts_connections() ORDER BY user_name;
GRANT SELECT ON open TO PUBLIC;

-- Run a statement as a role and undo it.  Shows its error, or that there was
-- none.
CREATE FUNCTION as_role(role text, statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  answer text;
BEGIN
  PERFORM set_config('role', role, true);
  answer = rights.try(statement);
  PERFORM set_config('role', 'none', true);
  RETURN answer;
END $$;

\pset format unaligned
\pset tuples_only on

-- Passwords ----------------------------------------------------------------

-- A superuser needs no password, with or without a mapping.
SELECT as_role('regress_mts_super', 'SELECT * FROM points');
-- Others can't use the connection that this left.
SELECT as_role('regress_mts_none', 'SELECT * FROM points');
SELECT * FROM open;
-- A mechanism can require a user, whoever connects.
ALTER SERVER rights OPTIONS (SET uri 'mongodb://127.0.0.1:1/?authMechanism=SCRAM-SHA-256');
SELECT as_role('regress_mts_super', 'SELECT * FROM points');
ALTER SERVER rights OPTIONS (SET uri :'uri');
CREATE USER MAPPING FOR PUBLIC SERVER rights;
SELECT as_role('regress_mts_super', 'SELECT * FROM points');
SELECT split_part(as_role('regress_mts_none', statement), E'\n', 1) FROM (VALUES
  ('SELECT * FROM points'), ('SELECT count(*) FROM points'), ('SELECT * FROM points ORDER BY ts LIMIT 1'),
  ('INSERT INTO points VALUES (''2020-01-01 00:00:02Z'', 3)'), ('UPDATE points SET v = 9'), ('DELETE FROM points'),
  ('TRUNCATE points'), ('EXPLAIN SELECT * FROM points'),
  ('SELECT mongo_ts_preallocate(''points'', ''2020-01-02'', ''2020-01-02 00:02'')')) AS statements (statement);
SELECT array_agg(v ORDER BY v) FROM points;
-- Only a superuser can set password_required.
SELECT as_role('regress_mts_none', 'CREATE USER MAPPING FOR CURRENT_USER SERVER rights OPTIONS (password_required ''false'')');
SELECT as_role('regress_mts_none', 'CREATE USER MAPPING FOR CURRENT_USER SERVER rights OPTIONS (password_required ''true'')');
SELECT as_role('regress_mts_none', 'CREATE USER MAPPING FOR CURRENT_USER SERVER rights OPTIONS (password_required ''perhaps'')');
CREATE USER MAPPING FOR regress_mts_without SERVER rights;
SELECT as_role('regress_mts_without', 'ALTER USER MAPPING FOR CURRENT_USER SERVER rights OPTIONS (ADD password_required ''no'')');
SELECT as_role('regress_mts_without', 'SELECT * FROM points');
-- A superuser can set it, and then the user can't change it.
CREATE USER MAPPING FOR regress_mts_with SERVER rights OPTIONS (password_required 'false');
SELECT as_role('regress_mts_with', 'SELECT * FROM points');
SELECT as_role('regress_mts_with', 'ALTER USER MAPPING FOR CURRENT_USER SERVER rights OPTIONS (ADD username ''u'')');
-- A change of the setting takes effect at once.
ALTER USER MAPPING FOR regress_mts_with SERVER rights OPTIONS (SET password_required 'true');
SELECT split_part(as_role('regress_mts_with', 'SELECT * FROM points'), E'\n', 1);
ALTER USER MAPPING FOR regress_mts_with SERVER rights OPTIONS (SET password_required 'false');
-- A password that MongoDB refuses is an error; no other identity is tried.
CREATE USER MAPPING FOR regress_mts_wrong SERVER rights OPTIONS (username 'nobody', password 's3cret');
SELECT split_part(as_role('regress_mts_wrong', 'SELECT * FROM points'), E'\n', 1);
-- Files and identities of PostgreSQL's host can't be used, even with a
-- password.
SELECT mechanism, split_part(as_role('regress_mts_wrong', 'SELECT * FROM points'), E'\n', 1)
  FROM (VALUES ('GSSAPI'), ('MONGODB-X509')) AS mechanisms (mechanism),
       LATERAL (SELECT try(format('ALTER SERVER rights OPTIONS (SET uri %L)',
                  'mongodb://127.0.0.1:1/?authMechanism=' || mechanism), true)) AS altered;
ALTER USER MAPPING FOR regress_mts_wrong SERVER rights OPTIONS (DROP password);
SELECT split_part(as_role('regress_mts_wrong', 'SELECT * FROM points'), E'\n', 1);
ALTER SERVER rights OPTIONS (SET uri 'mongodb://127.0.0.1:1/?authMechanism=MONGODB-AWS');
SELECT split_part(as_role('regress_mts_none', 'SELECT * FROM points'), E'\n', 1);
ALTER SERVER rights OPTIONS (SET uri :'uri');
-- A user without a password, or the reverse, is not a credential.
SELECT as_role('regress_mts_wrong', 'SELECT * FROM points');
ALTER USER MAPPING FOR regress_mts_wrong SERVER rights OPTIONS (DROP username, ADD password 's3cret');
SELECT as_role('regress_mts_wrong', 'SELECT * FROM points');
ALTER USER MAPPING FOR regress_mts_wrong SERVER rights OPTIONS (ADD username 'nobody');
CREATE USER MAPPING FOR regress_mts_super SERVER rights OPTIONS (username 'nobody');
SELECT as_role('regress_mts_super', 'SELECT * FROM points');
DROP USER MAPPING FOR regress_mts_super SERVER rights;

-- Which user's mapping -----------------------------------------------------

-- Views use their owner's: to read and to write, nested, with a barrier, and
-- joined.
CREATE VIEW good AS SELECT * FROM points;
ALTER VIEW good OWNER TO regress_mts_with;
CREATE VIEW bad AS SELECT * FROM points;
ALTER VIEW bad OWNER TO regress_mts_wrong;
CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM points;
ALTER VIEW barrier OWNER TO regress_mts_with;
CREATE VIEW invoker WITH (security_invoker) AS SELECT * FROM points;
ALTER VIEW invoker OWNER TO regress_mts_with;
CREATE VIEW above AS SELECT * FROM good;
ALTER VIEW above OWNER TO regress_mts_wrong;
GRANT ALL ON good, bad, barrier, invoker, above TO PUBLIC;
SELECT role, statement, split_part(as_role(role, statement), E'\n', 1)
  FROM unnest(ARRAY['regress_mts_with', 'regress_mts_wrong', 'regress_mts_super']) WITH ORDINALITY AS r (role, m),
       unnest(ARRAY['SELECT * FROM good', 'SELECT * FROM bad', 'SELECT * FROM barrier', 'SELECT * FROM invoker',
                    'SELECT * FROM above', 'SELECT count(*) FROM good', 'SELECT count(*) FROM bad',
                    'SELECT * FROM good, bad', 'SELECT * FROM good ORDER BY ts DESC LIMIT 1',
                    'INSERT INTO good VALUES (''2020-01-01 00:00:02Z'', 3)', 'INSERT INTO bad VALUES (''2020-01-01 00:00:02Z'', 3)',
                    'UPDATE good SET v = v', 'UPDATE bad SET v = v', 'DELETE FROM good WHERE false', 'DELETE FROM bad']) WITH ORDINALITY AS s (statement, n)
 ORDER BY m, n;
DELETE FROM points WHERE v = 3;
-- Each mapping has a connection of its own.
SELECT mongo_ts_disconnect_all() \g /dev/null
SET ROLE regress_mts_wrong;
SELECT count(*) FROM good;
SELECT count(*) FROM points;
RESET ROLE;
SELECT * FROM open;

-- SECURITY DEFINER functions use their owner's, others the caller's.
CREATE FUNCTION definer() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN RETURN (SELECT count(*) FROM rights.points); END';
ALTER FUNCTION definer() OWNER TO regress_mts_with;
CREATE FUNCTION caller() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM rights.points); END';
ALTER FUNCTION caller() OWNER TO regress_mts_with;
SELECT as_role('regress_mts_wrong', 'SELECT definer()');
SELECT split_part(as_role('regress_mts_wrong', 'SELECT caller()'), E'\n', 1);
-- A prepared statement uses that of the current user.
PREPARE counted AS SELECT count(*) FROM points;
SET plan_cache_mode = force_generic_plan;
SET ROLE regress_mts_with;
EXECUTE counted;
SET ROLE regress_mts_wrong;
EXECUTE counted;
SET ROLE regress_mts_with;
EXECUTE counted;
RESET ROLE;
RESET plan_cache_mode;
-- Partitions use the caller's.
CREATE TABLE parts (ts timestamptz, v int) PARTITION BY RANGE (ts);
ALTER TABLE parts ATTACH PARTITION points FOR VALUES FROM ('2020-01-01') TO ('2021-01-01');
GRANT ALL ON parts TO PUBLIC;
SELECT split_part(as_role(role, statement), E'\n', 1) FROM (VALUES
  ('regress_mts_with', 'SELECT * FROM parts'), ('regress_mts_wrong', 'SELECT * FROM parts'),
  ('regress_mts_with', 'INSERT INTO parts VALUES (''2020-01-01 00:00:01Z'', 2)'),
  ('regress_mts_wrong', 'INSERT INTO parts VALUES (''2020-01-01 00:00:01Z'', 2)')) AS statements (role, statement);
ALTER TABLE parts DETACH PARTITION points;
-- ANALYZE uses the table owner's.
ALTER FOREIGN TABLE points OWNER TO regress_mts_wrong;
SELECT split_part(try('ANALYZE points'), E'\n', 1);
ALTER FOREIGN TABLE points OWNER TO regress_mts_with;
SELECT split_part(try('ANALYZE points'), E'\n', 1);

-- Options that others must not see -----------------------------------------

SET ROLE regress_mts_none;
SELECT usename, umoptions FROM pg_user_mappings WHERE srvname = 'rights' ORDER BY 1;
SELECT count(*) FROM pg_user_mapping;
RESET ROLE;

-- Values that others must not see ------------------------------------------

-- A view and privileges on columns hide rows and columns, also where their values
-- are invalid.
CALL put('hidden', '[{"_id": "id-of-a", "ts": {"$date": "2020-01-01T00:00:00Z"}, "k": "a", "v": {"0": 1}, "t": {"0": 1}},
  {"_id": "id-of-secret", "ts": {"$date": "2020-01-01T00:01:00Z"}, "k": "secret", "v": {"0": "TOPSECRET"}, "t": {"0": 2}}]');
CREATE FOREIGN TABLE hidden (ts timestamptz, k text, v int OPTIONS (field 'v.{second}'), w int OPTIONS (field 't.{second}')) SERVER rights;
CREATE FOREIGN TABLE skipped (ts timestamptz, k text, v int OPTIONS (field 'v.{second}'), w int OPTIONS (field 't.{second}'))
  SERVER rights OPTIONS (collection 'hidden', on_invalid 'skip');
CREATE VIEW shown WITH (security_barrier) AS SELECT * FROM hidden WHERE md5(k) = md5('a');
CREATE VIEW shown_skipped WITH (security_barrier) AS SELECT * FROM skipped WHERE md5(k) = md5('a');
GRANT SELECT ON shown, shown_skipped TO regress_mts_with, regress_mts_super;
GRANT SELECT (ts, w) ON hidden, skipped TO regress_mts_with;
\set SHOW_CONTEXT always
SET ROLE regress_mts_with;
TABLE shown;
TABLE shown_skipped;
SELECT count(*), sum(v) FROM shown;
SELECT ts, w FROM skipped ORDER BY ts;
RESET ROLE;
GRANT SELECT (k, v) ON hidden TO regress_mts_with;
SET ROLE regress_mts_with;
TABLE shown;
RESET ROLE;
TABLE shown_skipped;
\set SHOW_CONTEXT errors

-- Planning does not connect for a table that may not be read.
SELECT mongo_ts_disconnect_all() IS NOT NULL;
SELECT split_part(as_role('regress_mts_none', statement), E'\n', 1) FROM (VALUES
  ('SELECT * FROM hidden'), ('EXPLAIN SELECT * FROM hidden'), ('SELECT count(k) FROM hidden, points')) AS statements (statement);
SELECT split_part(as_role('regress_mts_with', statement), E'\n', 1) FROM (VALUES
  ('UPDATE hidden SET v = 1'), ('DELETE FROM hidden'), ('INSERT INTO hidden VALUES (now(), ''a'', 1, 1)')) AS statements (statement);
SELECT * FROM open;
DROP FOREIGN TABLE hidden, skipped CASCADE;
SELECT mongo_ts_command('rights', '{"drop": "hidden"}')->'ok' AS dropped;

-- Rights that functions and IMPORT require ---------------------------------

ALTER FOREIGN TABLE points OWNER TO CURRENT_USER;
REVOKE ALL ON points FROM PUBLIC;
SELECT split_part(as_role('regress_mts_with', statement), E'\n', 1) FROM (VALUES
  ('SELECT mongo_ts_command(''rights'', ''{"ping": 1}'')'),
  ('SELECT mongo_ts_create_index(''points'')'),
  ('SELECT mongo_ts_preallocate(''points'', ''2020-01-02'', ''2020-01-02 00:02'')'),
  ('TRUNCATE points'), ('SELECT * FROM points'), ('SELECT mongo_ts_connections()'), ('SELECT mongo_ts_disconnect_all()')) AS statements (statement);
GRANT SELECT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER ON points TO regress_mts_with;
SELECT split_part(as_role('regress_mts_with', 'SELECT mongo_ts_preallocate(''points'', ''2020-01-02'', ''2020-01-02 00:02'')'), E'\n', 1);
-- privileges come before the options
CREATE FOREIGN TABLE wrong (a timestamptz, b timestamptz) SERVER rights;
SELECT split_part(as_role('regress_mts_with', statement), E'\n', 1) FROM (VALUES
  ('SELECT mongo_ts_create_index(''wrong'')'), ('SELECT mongo_ts_create_index(''wrong'', ''{a}'')'),
  ('SELECT mongo_ts_preallocate(''wrong'', ''2020-01-02'', ''2020-01-02 00:02'')')) AS statements (statement);
DROP FOREIGN TABLE wrong;
-- with EXECUTE on the function, with and without USAGE on the server
GRANT EXECUTE ON FUNCTION mongo_ts_command(name, json) TO regress_mts_with, regress_mts_wrong, regress_mts_none;
SELECT split_part(as_role(role, 'SELECT mongo_ts_command(''rights'', ''{"ping": 1}'')'), E'\n', 1)
  FROM (VALUES ('regress_mts_with'), ('regress_mts_wrong'), ('regress_mts_none')) AS roles (role);
REVOKE USAGE ON FOREIGN SERVER rights FROM regress_mts_with;
SELECT split_part(as_role('regress_mts_with', statement), E'\n', 1) FROM (VALUES
  ('SELECT mongo_ts_command(''rights'', ''{"ping": 1}'')'),
  ('IMPORT FOREIGN SCHEMA mts_regress_rights FROM SERVER rights INTO rights'),
  ('CREATE FOREIGN TABLE rights.mine (v int) SERVER rights'),
  ('CREATE SERVER mine FOREIGN DATA WRAPPER mongo_ts_fdw'),
  ('ALTER SERVER rights OPTIONS (ADD fetch_size ''7'')')) AS statements (statement);
-- IMPORT with the required rights uses the importer's mapping
GRANT USAGE ON FOREIGN SERVER rights TO regress_mts_with;
GRANT CREATE ON SCHEMA rights TO regress_mts_with, regress_mts_wrong, regress_mts_none;
SELECT split_part(as_role(role, 'IMPORT FOREIGN SCHEMA mts_regress_rights
  EXCEPT (points) FROM SERVER rights INTO rights'), E'\n', 1)
  FROM (VALUES ('regress_mts_with'), ('regress_mts_wrong'), ('regress_mts_none')) AS roles (role);
-- A server's owner without the right to name files can't alter a server whose
-- uri names one, and can't use the host's identity.
ALTER SERVER rights OPTIONS (SET uri 'mongodb://localhost/?tls=true&tlsCAFile=/etc/ssl/ca.pem');
GRANT USAGE ON FOREIGN DATA WRAPPER mongo_ts_fdw TO regress_mts_with;
ALTER SERVER rights OWNER TO regress_mts_with;
SELECT as_role('regress_mts_with', statement) FROM (VALUES
  ('ALTER SERVER rights OPTIONS (ADD fetch_size ''7'')'),
  ('ALTER SERVER rights OPTIONS (SET uri ''mongodb://localhost/?authMechanism=GSSAPI'')'),
  ('ALTER SERVER rights OPTIONS (SET uri ''mongodb://localhost/?tls=true'')')) AS statements (statement);
ALTER SERVER rights OWNER TO CURRENT_USER;
ALTER SERVER rights OPTIONS (SET uri :'uri');

DROP USER MAPPING FOR PUBLIC SERVER rights;
SELECT mongo_ts_command('rights', '{"dropDatabase": 1}')->'ok' AS dropped;
DROP OWNED BY regress_mts_with, regress_mts_without, regress_mts_wrong, regress_mts_none, regress_mts_super CASCADE;
DROP ROLE regress_mts_with, regress_mts_without, regress_mts_wrong, regress_mts_none, regress_mts_super;
