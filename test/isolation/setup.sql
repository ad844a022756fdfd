-- The objects of the specs.  They can't be in a spec, where a brace ends a
-- block.
\set ON_ERROR_STOP on
\getenv uri MONGODB_URI
CREATE EXTENSION mongo_ts_fdw;
CREATE SERVER isolation FOREIGN DATA WRAPPER mongo_ts_fdw
  OPTIONS (uri :'uri', database 'mts_isolation');
CREATE USER MAPPING FOR PUBLIC SERVER isolation;
SELECT mongo_ts_command('isolation', '{"dropDatabase": 1}') \g /dev/null
CREATE FOREIGN TABLE points (
  ts timestamptz,
  v  int OPTIONS (field 'v.{second}', sum_field 'total')
) SERVER isolation OPTIONS (count_field 'n');
CREATE FOREIGN TABLE documents (ts timestamptz, n int, total int)
  SERVER isolation OPTIONS (collection 'points');
SELECT mongo_ts_create_index('points') \g /dev/null
