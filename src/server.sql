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
