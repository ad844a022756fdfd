-- Gives a cluster a foreign server for the URI of test/server, and a function
-- that returns what its report says of the versions.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS mongo_ts_fdw;
\getenv uri MONGODB_URI
\getenv username MONGODB_USERNAME
\getenv password MONGODB_PASSWORD
\getenv database MONGO_TS_DATABASE
CREATE SERVER checked FOREIGN DATA WRAPPER mongo_ts_fdw OPTIONS (uri :'uri', database :'database');
CREATE SERVER checked_admin FOREIGN DATA WRAPPER mongo_ts_fdw OPTIONS (uri :'uri', database 'admin');
CREATE USER MAPPING FOR PUBLIC SERVER checked;
CREATE USER MAPPING FOR PUBLIC SERVER checked_admin;
\if :{?username}
ALTER USER MAPPING FOR PUBLIC SERVER checked OPTIONS (ADD username :'username', ADD password :'password');
ALTER USER MAPPING FOR PUBLIC SERVER checked_admin OPTIONS (ADD username :'username', ADD password :'password');
\endif

-- What a user may not ask is unknown.
CREATE FUNCTION pg_temp.asked(command json) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
  RETURN mongo_ts_command('checked_admin', command);
EXCEPTION WHEN others THEN
  RETURN '{}';
END $$;

CREATE FUNCTION facts() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  hello jsonb = mongo_ts_command('checked', '{"hello": 1}');
  info jsonb = mongo_ts_command('checked', '{"buildInfo": 1}');
  fcv jsonb = pg_temp.asked('{"getParameter": 1, "featureCompatibilityVersion": 1}');
  status jsonb = pg_temp.asked('{"serverStatus": 1}');
BEGIN
  RETURN QUERY VALUES
    ('extension: ' || mongo_ts_version()),
    ('postgresql: ' || version()),
    ('version: ' || (info->>'version') || coalesce(' ' || (info->'modules'->>0), '')),
    ('wire: ' || (hello->>'maxWireVersion')),
    ('fcv: ' || coalesce(fcv->'featureCompatibilityVersion'->>'version', 'unknown')),
    ('topology: ' || CASE
      WHEN hello->>'msg' = 'isdbgrid' THEN 'sharded'
      WHEN hello ? 'setName' THEN 'replica set of ' || jsonb_array_length(hello->'hosts')
      ELSE 'standalone' END),
    ('storage: ' || coalesce(status->'storageEngine'->>'name', 'unknown')),
    ('collections: ' || jsonb_array_length(
      mongo_ts_command('checked', '{"listCollections": 1, "nameOnly": true}')->'cursor'->'firstBatch'));
  RETURN QUERY
    SELECT 'host: ' || unnest(ARRAY[host, regexp_replace(host, ':\d+$', '')])
      FROM jsonb_array_elements_text(
        coalesce(hello->'hosts', '[]') || coalesce(hello->'passives', '[]') || coalesce(hello->'arbiters', '[]')
        || coalesce(hello->'me', '[]') || coalesce(status->'host', '[]')) host;
END $$;
RESET client_min_messages;
