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
