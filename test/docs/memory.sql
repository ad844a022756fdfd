-- A server, as README.md creates it.
SET timezone = 'UTC';
SET client_min_messages = warning;
CREATE EXTENSION mongo_ts_fdw;
RESET client_min_messages;
CREATE SERVER mms FOREIGN DATA WRAPPER mongo_ts_fdw
  OPTIONS (uri 'mongodb://127.0.0.1:27017', database 'mms');

-- Two buckets of a minute, and the table that the pages call memory.
SELECT mongo_ts_command('mms', '{"insert": "metrics", "documents": [
  {"timestamp_minute": {"$date": "2013-10-10T23:06:00Z"}, "type": "memory_used",
   "values": {"0": 999999, "37": 1000000, "59": 1800000}},
  {"timestamp_minute": {"$date": "2013-10-10T23:07:00Z"}, "type": "memory_used",
   "values": {"0": 1750000, "1": null}}]}');
CREATE FOREIGN TABLE memory (
  "timestamp" timestamptz OPTIONS (field 'timestamp_minute'),
  type        text,
  value       float8      OPTIONS (field 'values.{second}')
) SERVER mms OPTIONS (collection 'metrics');
