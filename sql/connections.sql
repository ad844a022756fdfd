--
-- Tests which connections a session has, and when they are closed.
--
\set suite connections
\i sql/include/suite.sql

CREATE FOREIGN TABLE points (ts timestamptz, v int OPTIONS (field 'v.{second}'))
  SERVER connections OPTIONS (fetch_size '1');
CALL put('points', '[{"ts": {"$date": "2020-01-01T00:00:00Z"}, "v": {"0": 1, "1": 2}},
                     {"ts": {"$date": "2020-01-01T00:01:00Z"}, "v": {"0": 3, "1": 4}},
                     {"ts": {"$date": "2020-01-01T00:02:00Z"}, "v": {"0": 5}}]');
CREATE SERVER connections_b FOREIGN DATA WRAPPER mongo_ts_fdw OPTIONS (uri :'uri', database :'database');
CREATE FOREIGN TABLE points_b (ts timestamptz, v int OPTIONS (field 'v.{second}'))
  SERVER connections_b OPTIONS (collection 'points', fetch_size '1');
CREATE VIEW open AS
  SELECT server_name, user_name, valid, in_use FROM mongo_ts_connections() ORDER BY server_name, user_name, valid;

-- Versions -----------------------------------------------------------------

SELECT regexp_replace(mongo_ts_version(), '\d+\.\d+\.\d+', 'X.Y.Z', 'g') = 'mongo_ts_fdw X.Y.Z, libmongoc X.Y.Z, libbson X.Y.Z, PostgreSQL ' || current_setting('server_version') AS format,
       starts_with(mongo_ts_version(), 'mongo_ts_fdw ' || extversion || ', ') AS installed
  FROM pg_extension WHERE extname = 'mongo_ts_fdw';
-- since PostgreSQL 18, the library says its name and version
CREATE FUNCTION module_is_named() RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  is_named boolean = true;
BEGIN
  IF to_regproc('pg_get_loaded_modules') IS NOT NULL THEN
    SELECT module_name = extname AND version = extversion INTO is_named
      FROM pg_get_loaded_modules(), pg_extension WHERE extname = 'mongo_ts_fdw' AND file_name ~ 'mongo_ts_fdw';
  END IF;
  RETURN is_named;
END $$;
SELECT module_is_named();

-- Open connections ---------------------------------------------------------

SELECT * FROM open;
SELECT mongo_ts_disconnect('connections');
SELECT * FROM open;
SELECT mongo_ts_disconnect('connections'), mongo_ts_disconnect_all();
SELECT count(*) FROM points;
SELECT count(*) FROM points_b;
SELECT * FROM open;
-- one more round trip for each command
SELECT round_trips AS before FROM mongo_ts_connections() WHERE server_name = 'connections' \gset
SELECT mongo_ts_command('connections', '{"ping": 1}') \g /dev/null
SELECT round_trips - :before AS more FROM mongo_ts_connections() WHERE server_name = 'connections';
-- one of two, and then all
SELECT mongo_ts_disconnect('connections');
SELECT * FROM open;
SELECT count(*) FROM points;
SELECT mongo_ts_disconnect_all();
SELECT * FROM open;
SELECT count(*) FROM points;

-- Users --------------------------------------------------------------------

-- one connection for each mapping; that of PUBLIC is shared
CREATE ROLE regress_mts_a;
CREATE ROLE regress_mts_b;
GRANT USAGE ON SCHEMA connections TO regress_mts_a, regress_mts_b;
GRANT SELECT ON points, open TO regress_mts_a, regress_mts_b;
CREATE USER MAPPING FOR regress_mts_a SERVER connections OPTIONS (password_required 'false');
SET ROLE regress_mts_b;
SELECT count(*) FROM points;
SELECT * FROM open;
SET ROLE regress_mts_a;
SELECT count(*) FROM points;
SELECT * FROM open;
-- any user closes all connections of a server
SELECT mongo_ts_disconnect('connections');
SELECT * FROM open;
SELECT count(*) FROM points;
RESET ROLE;
DROP USER MAPPING FOR regress_mts_a SERVER connections;
SELECT * FROM open;
-- a server without a mapping
SELECT count(*) FROM points_b;
SELECT * FROM open;
-- a new mapping is used from then on
CREATE USER MAPPING FOR CURRENT_USER SERVER connections_b;
SELECT count(*) FROM points_b;
SELECT server_name, user_name = current_user AS mine, valid, in_use FROM open;
DROP USER MAPPING FOR CURRENT_USER SERVER connections_b;
SELECT mongo_ts_disconnect_all();

-- Connections in use -------------------------------------------------------

BEGIN;
DECLARE c CURSOR FOR SELECT v FROM points;
FETCH 1 FROM c;
SELECT * FROM open;
SELECT mongo_ts_disconnect('connections');
SELECT count(*) FROM points_b;
-- those not in use are closed
SELECT mongo_ts_disconnect_all();
SELECT * FROM open;
FETCH ALL FROM c;
SELECT mongo_ts_disconnect('connections');
CLOSE c;
SELECT mongo_ts_disconnect('connections');
SELECT count(*) FROM points;
COMMIT;
SELECT * FROM open;
-- within the statement that uses it
SELECT v, mongo_ts_disconnect('connections') FROM points WHERE v < 3;
SELECT * FROM open;
-- within a transaction, and functions
BEGIN;
SELECT count(*) FROM points;
INSERT INTO points VALUES ('2020-01-01 00:02:01Z', 6);
SELECT mongo_ts_disconnect('connections');
SELECT count(*) FROM points;
COMMIT;
CREATE FUNCTION reconnect() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  PERFORM v FROM points LIMIT 1;
  RAISE NOTICE 'closed: %', mongo_ts_disconnect('connections');
  RETURN (SELECT count(*) FROM points);
END $$;
SELECT reconnect();
SELECT v, reconnect() FROM points WHERE v = 5;
SELECT v, reconnect() FROM points_b WHERE v = 5;
-- for each row of a join's other side
SELECT n, mongo_ts_disconnect('connections'), (SELECT sum(v) FROM points WHERE v > n) FROM generate_series(1, 3) n;
SELECT mongo_ts_disconnect_all();

-- Changed servers and mappings ---------------------------------------------

-- idle connections are closed, those of others stay
SELECT count(*) FROM points;
SELECT count(*) FROM points_b;
ALTER SERVER connections_b OPTIONS (ADD fetch_size '7');
SELECT * FROM open;
CREATE USER MAPPING FOR PUBLIC SERVER connections_b;
DROP USER MAPPING FOR PUBLIC SERVER connections_b;
SELECT * FROM open;
-- those in use continue, and new ones are made beside them
BEGIN;
DECLARE c CURSOR FOR SELECT v FROM points;
FETCH 1 FROM c;
ALTER SERVER connections OPTIONS (ADD fetch_size '7');
SELECT * FROM open;
SELECT count(*) FROM points;
SELECT * FROM open;
-- an invalid one in use also stays
SELECT mongo_ts_disconnect('connections');
SELECT * FROM open;
SELECT count(*) FROM points;
FETCH ALL FROM c;
CLOSE c;
SELECT * FROM open;
COMMIT;
BEGIN;
DECLARE c CURSOR FOR SELECT v FROM points;
FETCH 1 FROM c;
ALTER USER MAPPING FOR PUBLIC SERVER connections OPTIONS (ADD username 'u', ADD password 's3cret');
SELECT * FROM open;
FETCH ALL FROM c;
ROLLBACK;
SELECT * FROM open;
BEGIN;
DECLARE c CURSOR FOR SELECT v FROM points;
FETCH 1 FROM c;
DROP USER MAPPING FOR PUBLIC SERVER connections;
SELECT * FROM open;
FETCH ALL FROM c;
COMMIT;
SELECT * FROM open;
-- a writer whose server changes during the statement
CREATE FUNCTION change(n int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  IF n = 2 THEN
    ALTER SERVER connections OPTIONS (SET fetch_size '8');
  END IF;
  RETURN n;
END $$;
ALTER SERVER connections OPTIONS (ADD batch_size '1');
INSERT INTO points SELECT '2020-01-01 00:02:01Z'::timestamptz + n * interval '1 s', 6 + change(n) FROM generate_series(1, 4) n;
SELECT array_agg(v ORDER BY ts) FROM points;
SELECT * FROM open;

-- Dropped servers ----------------------------------------------------------

SELECT count(*) FROM points_b;
SELECT server_name FROM open;
DROP SERVER connections_b CASCADE;
SELECT server_name FROM open;
BEGIN;
DROP SERVER connections CASCADE;
SELECT server_name FROM open;
ROLLBACK;
SELECT count(*) FROM points;
SELECT server_name FROM open;

-- keep_connections ---------------------------------------------------------

ALTER SERVER connections OPTIONS (ADD keep_connections 'false');
SELECT count(*) FROM points;
SELECT * FROM open;
BEGIN;
SELECT count(*) FROM points;
SELECT * FROM open;
SAVEPOINT s;
SELECT 1 / (v - 3) FROM points;
ROLLBACK TO s;
SELECT * FROM open;
COMMIT;
SELECT * FROM open;
BEGIN;
DECLARE c CURSOR FOR SELECT v FROM points;
FETCH 1 FROM c;
SELECT * FROM open;
COMMIT;
SELECT * FROM open;
BEGIN;
DECLARE c CURSOR WITH HOLD FOR SELECT v FROM points ORDER BY v;
COMMIT;
SELECT * FROM open;
FETCH 2 FROM c;
CLOSE c;
-- after errors, also in a function's scan, and with an open scan
SELECT 1 / (v - 3) FROM points;
SELECT * FROM open;
DO $$
DECLARE
  n int;
BEGIN
  FOR n IN SELECT v FROM points LOOP
    PERFORM 1 / (n - 3);
  END LOOP;
END $$;
SELECT * FROM open;
DO $$
DECLARE
  n int;
BEGIN
  FOR n IN SELECT v FROM points ORDER BY v LIMIT 2 LOOP
    COMMIT;
    RAISE NOTICE '%, % open', n, (SELECT count(*) FROM open);
  END LOOP;
END $$;
INSERT INTO points VALUES ('2020-01-01 00:03Z', 99);
SELECT * FROM open;
-- kept again
ALTER SERVER connections OPTIONS (SET keep_connections 'true');
SELECT count(*) FROM points;
SELECT * FROM open;

-- Errors, rights -----------------------------------------------------------

SELECT mongo_ts_disconnect('not there');
SELECT mongo_ts_disconnect(NULL);
CREATE FOREIGN DATA WRAPPER other;
CREATE SERVER connections_other FOREIGN DATA WRAPPER other;
SELECT mongo_ts_disconnect('connections_other');
DROP FOREIGN DATA WRAPPER other CASCADE;
SET ROLE regress_mts_b;
SELECT count(*) FROM mongo_ts_connections();
SELECT mongo_ts_disconnect('connections'), mongo_ts_disconnect_all();
RESET ROLE;
DROP OWNED BY regress_mts_a, regress_mts_b;
DROP ROLE regress_mts_a, regress_mts_b;
SELECT proname, provolatile, proisstrict, proparallel FROM pg_proc
 WHERE proname IN ('mongo_ts_connections', 'mongo_ts_disconnect', 'mongo_ts_disconnect_all', 'mongo_ts_version') ORDER BY 1;

-- A changed server is asked again for its number of documents.
CREATE SERVER connections_moved FOREIGN DATA WRAPPER mongo_ts_fdw
  OPTIONS (uri 'mongodb://127.0.0.1:1', database :'database');
CREATE USER MAPPING FOR PUBLIC SERVER connections_moved OPTIONS (password_required 'false');
CREATE FOREIGN TABLE many (v int) SERVER connections_moved;
SELECT mongo_ts_command('connections', format('{"insert": "many", "documents": [%s]}', string_agg('{"v": 1}', ','))::json) ->> 'ok' AS ok
  FROM generate_series(1, 2000);
CREATE FUNCTION planned_rows(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  plan json;
BEGIN
  EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
  RETURN plan #>> '{0,Plan,Plan Rows}';
END $$;
SELECT planned_rows('SELECT v FROM many');
ALTER SERVER connections_moved OPTIONS (SET uri :'uri');
SELECT planned_rows('SELECT v FROM many');

SELECT mongo_ts_command('connections', '{"dropDatabase": 1}')->'ok' AS dropped;
