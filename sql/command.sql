--
-- Tests mongo_ts_command: its replies, its errors, and the rights that it
-- requires.
--
\set suite command
\i sql/include/suite.sql

-- Replies ------------------------------------------------------------------

SELECT mongo_ts_command('command', '{"ping": 1}')->'ok' AS ping;
SELECT mongo_ts_command('command', '{"insert": "c", "documents": [{"_id": 1, "a": "ä"}, {"_id": 2, "a": null}]}')->'n' AS n;
-- The command is json: the order and the case of its keys are significant.
SELECT mongo_ts_command('command', '{"find": "c", "filter": {"_id": {"$gte": 1}}, "sort": {"_id": -1}}')->'cursor'->'firstBatch' AS found;
SELECT mongo_ts_command('command', '{"count": "c", "query": {"a": null}}')->'n' AS n;
SELECT mongo_ts_command('command', '{"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"t": {"$date": "2020-01-01T00:00:00Z"}, "l": {"$numberLong": "5"}}}}]}')->'nModified' AS n;
SELECT mongo_ts_command('command', '{"find": "c", "filter": {"_id": 1}}')->'cursor'->'firstBatch' AS found;
-- The reply contains the errors of single writes, as in the shell.
SELECT jsonb_path_query_array(mongo_ts_command('command',
  '{"insert": "c", "documents": [{"_id": 1}, {"_id": 3}], "ordered": false}'), '$.writeErrors[*].code') AS codes;
-- Arguments of the types name and json
SELECT mongo_ts_command('command'::name, json_build_object('count', 'c'))->'n' AS n;
SELECT mongo_ts_command(NULL, '{"ping": 1}') IS NULL AS strict;
SELECT provolatile, proisstrict, proparallel FROM pg_proc WHERE proname = 'mongo_ts_command';

-- Errors -------------------------------------------------------------------

\set VERBOSITY sqlstate
SELECT mongo_ts_command('command', '{"noSuchCommand": 1}');
SELECT mongo_ts_command('command', '{"find": "c", "filter": {"$nonsense": 1}}');
SELECT mongo_ts_command('command', '{}');
\set VERBOSITY default
SELECT mongo_ts_command('nowhere', '{"ping": 1}');
\set VERBOSITY terse
SELECT mongo_ts_command('command', '[]');
SELECT mongo_ts_command('command', '7');
SELECT mongo_ts_command('command', '{"ping": {"$date": "never"}}');
SELECT mongo_ts_command('command', '{"ping": }');
\set VERBOSITY default
CREATE SERVER command_empty FOREIGN DATA WRAPPER mongo_ts_fdw OPTIONS (uri :'uri');
SELECT mongo_ts_command('command_empty', '{"ping": 1}');
DROP SERVER command_empty;
CREATE FOREIGN DATA WRAPPER other;
CREATE SERVER command_other FOREIGN DATA WRAPPER other OPTIONS (database 'd');
\set VERBOSITY sqlstate
SELECT mongo_ts_command('command_other', '{"ping": 1}');
\set VERBOSITY default
SET client_min_messages = warning;
DROP FOREIGN DATA WRAPPER other CASCADE;
RESET client_min_messages;
-- No server listens there: a prompt error, and the next command works.
CREATE SERVER command_down FOREIGN DATA WRAPPER mongo_ts_fdw
  OPTIONS (uri 'mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=500', database 'd');
CREATE USER MAPPING FOR PUBLIC SERVER command_down OPTIONS (username 'u', password 's3cret');
\set VERBOSITY sqlstate
SELECT mongo_ts_command('command_down', '{"ping": 1}');
\set VERBOSITY default
DO $$
DECLARE
  message text;
  detail text;
  hint text;
BEGIN
  PERFORM mongo_ts_command('command_down', '{"ping": 1}');
EXCEPTION WHEN others THEN
  GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
  IF concat(message, detail, hint) ~ 's3cret' THEN
    RAISE 'the password is in: % % %', message, detail, hint;
  END IF;
  RAISE NOTICE '%, %', detail ~ '127.0.0.1:1', hint;
END $$;
SELECT mongo_ts_command('command', '{"ping": 1}')->'ok' AS ping;
DROP SERVER command_down CASCADE;

-- Read-only transactions ------------------------------------------------------

CALL put('kept', '[{"_id": 1}]');
BEGIN READ ONLY;
SELECT command, split_part(try(format('SELECT mongo_ts_command(''command'', %L)', command)), E'\n', 1) FROM (VALUES
  ('{"ping": 1}'), ('{"find": "kept"}'), ('{"count": "kept"}'), ('{"listIndexes": "kept"}'),
  ('{"aggregate": "kept", "pipeline": [{"$match": {"x": "$out"}}], "cursor": {}}'),
  ('{"aggregate": "kept", "pipeline": [{"$match": {}}, {"$out": "copy"}], "cursor": {}}'),
  ('{"aggregate": "kept", "pipeline": [{"$merge": "copy"}], "cursor": {}}'),
  ('{"drop": "kept"}'), ('{"insert": "kept", "documents": [{}]}'), ('{"dropDatabase": 1}'), ('{"Find": "kept"}'), ('{}')) AS commands (command);
COMMIT;
SELECT mongo_ts_find('command', 'kept');

-- Rights -------------------------------------------------------------------

CREATE ROLE regress_mts_command;
GRANT USAGE ON SCHEMA command TO regress_mts_command;
SET ROLE regress_mts_command;
SELECT mongo_ts_command('command', '{"ping": 1}')->'ok' AS ping;
RESET ROLE;
GRANT EXECUTE ON FUNCTION mongo_ts_command(name, json) TO regress_mts_command;
SET ROLE regress_mts_command;
SELECT mongo_ts_command('command', '{"ping": 1}')->'ok' AS ping;
RESET ROLE;
GRANT USAGE ON FOREIGN SERVER command TO regress_mts_command;
SET ROLE regress_mts_command;
SELECT mongo_ts_command('command', '{"ping": 1}')->'ok' AS ping;
RESET ROLE;
REVOKE EXECUTE ON FUNCTION mongo_ts_command(name, json) FROM regress_mts_command;
DROP OWNED BY regress_mts_command;
DROP ROLE regress_mts_command;

SELECT mongo_ts_command('command', '{"dropDatabase": 1}')->'ok' AS dropped;
