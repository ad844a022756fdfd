/* mongo_ts_fdw--0.1.0--1.0.0.sql */

\echo Use "ALTER EXTENSION mongo_ts_fdw UPDATE TO '1.0.0'" to load this file. \quit

COMMENT ON FUNCTION mongo_ts_create_index(regclass) IS
  'create the index that reads and writes of a foreign table use';

-- A function's arguments cannot be renamed.  Its privileges are lost with it:
-- pg_dump would take a GRANT of this script for the extension's own.
DO LANGUAGE plpgsql $$
BEGIN
  PERFORM FROM pg_proc
    WHERE oid = 'mongo_ts_preallocate'::regproc AND proacl IS NOT NULL;
  IF FOUND THEN
    RAISE WARNING 'privileges on function mongo_ts_preallocate are reset'
      USING HINT = 'Use GRANT and REVOKE to set them again.';
  END IF;
END
$$;

DROP FUNCTION mongo_ts_preallocate(regclass, timestamptz, timestamptz, jsonb);

CREATE FUNCTION mongo_ts_preallocate(relation regclass, start_time timestamptz,
                                     end_time timestamptz, keys jsonb DEFAULT '{}')
RETURNS bigint
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION mongo_ts_preallocate(regclass, timestamptz, timestamptz, jsonb) IS
  'create future buckets of a foreign table, without points';

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
