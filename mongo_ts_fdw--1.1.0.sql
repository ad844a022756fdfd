/* mongo_ts_fdw--1.1.0.sql */

\echo Use "CREATE EXTENSION mongo_ts_fdw" to load this file. \quit

CREATE FUNCTION mongo_ts_fdw_handler()
RETURNS fdw_handler
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT;

CREATE FUNCTION mongo_ts_fdw_validator(text[], oid)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT;

CREATE FOREIGN DATA WRAPPER mongo_ts_fdw
  HANDLER mongo_ts_fdw_handler
  VALIDATOR mongo_ts_fdw_validator;

CREATE FUNCTION mongo_ts_command(server name, command json)
RETURNS jsonb
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION mongo_ts_command(name, json) IS
  'run a database command on a foreign server''s database';

REVOKE ALL ON FUNCTION mongo_ts_command(name, json) FROM PUBLIC;

CREATE FUNCTION mongo_ts_find(server name, collection text, filter json DEFAULT '{}',
                              max_documents integer DEFAULT 10)
RETURNS SETOF jsonb
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 10;

COMMENT ON FUNCTION mongo_ts_find(name, text, json, integer) IS
  'return documents of a collection of a foreign server''s database';

CREATE FUNCTION mongo_ts_check(relation regclass, OUT problem text, OUT field text,
                               OUT documents bigint, OUT hint text)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 10;

COMMENT ON FUNCTION mongo_ts_check(regclass) IS
  'what sampled documents say against the declaration of a foreign table';

CREATE FUNCTION mongo_ts_suggest(server name, collection text)
RETURNS text
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION mongo_ts_suggest(name, text) IS
  'the statement that IMPORT FOREIGN SCHEMA would run for a collection';

CREATE FUNCTION mongo_ts_create_index(relation regclass)
RETURNS text
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION mongo_ts_create_index(regclass) IS
  'create the index that reads and writes of a foreign table use';

CREATE FUNCTION mongo_ts_create_index(relation regclass, columns text[])
RETURNS text
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION mongo_ts_create_index(regclass, text[]) IS
  'create an index of a foreign table on some columns and the time';

CREATE FUNCTION mongo_ts_preallocate(relation regclass, start_time timestamptz,
                                     end_time timestamptz, keys jsonb DEFAULT '{}')
RETURNS bigint
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION mongo_ts_preallocate(regclass, timestamptz, timestamptz, jsonb) IS
  'create future buckets of a foreign table, without points';

CREATE FUNCTION mongo_ts_create_rollup(relation regclass, span interval, name text DEFAULT NULL,
                                       aggregates text[] DEFAULT '{count, sum, min, max}',
                                       columns text[] DEFAULT NULL, zone text DEFAULT 'UTC',
                                       lag interval DEFAULT '5 minutes')
RETURNS regclass
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION mongo_ts_create_rollup(regclass, interval, text, text[], text[], text, interval) IS
  'declare a table with the totals of points in intervals';

CREATE FUNCTION mongo_ts_refresh_rollup(relation regclass, start_time timestamptz DEFAULT NULL,
                                        end_time timestamptz DEFAULT NULL)
RETURNS timestamptz
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION mongo_ts_refresh_rollup(regclass, timestamptz, timestamptz) IS
  'compute what is new or stale of a roll-up, and return how far it is complete';

CREATE FUNCTION mongo_ts_connections(OUT server_name name, OUT user_name name,
                                     OUT valid boolean, OUT in_use boolean,
                                     OUT round_trips bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION mongo_ts_connections() IS
  'connections to MongoDB that this session has open';

CREATE FUNCTION mongo_ts_disconnect(server name)
RETURNS boolean
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION mongo_ts_disconnect(name) IS
  'close this session''s connections to a foreign server';

CREATE FUNCTION mongo_ts_disconnect_all()
RETURNS boolean
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION mongo_ts_disconnect_all() IS
  'close this session''s connections to MongoDB';

CREATE FUNCTION mongo_ts_version()
RETURNS text
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT STABLE PARALLEL SAFE;

COMMENT ON FUNCTION mongo_ts_version() IS
  'versions of mongo_ts_fdw, libmongoc, libbson and PostgreSQL';
