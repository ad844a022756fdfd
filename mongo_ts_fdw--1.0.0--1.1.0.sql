/* mongo_ts_fdw--1.0.0--1.1.0.sql */

\echo Use "ALTER EXTENSION mongo_ts_fdw UPDATE TO '1.1.0'" to load this file. \quit

CREATE FUNCTION mongo_ts_create_index(relation regclass, columns text[])
RETURNS text
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION mongo_ts_create_index(regclass, text[]) IS
  'create an index of a foreign table on some columns and the time';
