--
-- Tests IMPORT FOREIGN SCHEMA of the sample documents in the documentation's
-- table of layouts: one document determines a layout, and notices name the
-- doubts.
--
\set suite import_samples
\i sql/include/suite.sql

CREATE SCHEMA imported_samples;
CALL put('event', '[
  {"timestamp": {"$date": "2013-10-10T23:06:37Z"}, "type": "memory_used", "value": 1000000}]');
CALL put('minute', '[
  {"timestamp_minute": {"$date":"2013-10-10T23:06:00Z"}, "type": "memory_used", "values": {"0": 999999, "59": 1800000}}]');
CALL put('hour_flat', '[
  {"timestamp_hour": {"$date":"2013-10-10T23:00:00Z"}, "type": "memory_used", "values": {"0": 999999, "3599": 1100000}}]');
CALL put('hour_nested', '[
  {"timestamp_hour": {"$date":"2013-10-10T23:00:00Z"}, "values": {"0": {"0": 999999, "59": 1000000}, "59": {"59": 1100000}}}]');
CALL put('day_nested', '[
  {"timestamp": {"$date":"2013-10-10T00:00:00Z"}, "series": {"0": {"0": {"0": 1.5}}, "23": {"59": {"59": 2.5}}}}]');
CALL put('day_text', '[
  {"timestamp_day": "2013-10-10T00:00:00", "items": {"7": {"31": 3, "2": 1}, "0": {"5": 2}}}]');
CALL put('views', '[
  {"page": "/index", "timestamp": {"$date":"2013-10-10T23:06:00Z"}, "seconds": {"7": 2, "31": 1}}]');
CALL put('stock', '[
  {"symbol": "MDB", "d": {"$date":"2013-10-10T14:30:00Z"}, "p": {"0": 41.07, "1": 41.06}}]');
CALL put('sized', '[
  {"sensor_id": 5, "day": {"$date":"2013-10-10T00:00:00Z"}, "first": 1381363216, "last": 1381363289, "nsamples": 2, "samples": [{"val": 50, "time": 1381363216}, {"val": 55, "time": 1381363289}]}]');
CALL put('computed', '[
  {"sensor_id": 12345, "start_date": {"$date":"2019-01-31T10:00:00Z"}, "end_date": {"$date":"2019-01-31T10:59:59Z"}, "measurements": [{"timestamp": {"$date":"2019-01-31T10:42:00Z"}, "temperature": 42}], "transaction_count": 1, "sum_temperature": 42}]');
CALL put('positional', '[
  {"key_id": "20160101_00", "events": [[{"usage_user": 58, "ts_ns": {"$numberLong":"1451606400000000000"}}], null, [{"usage_user": 56, "ts_ns": {"$numberLong":"1451606520000000000"}}]]}]');
CALL put('offsets', '[
  {"_id": {"sensor": 7, "origin": {"$date":"2013-10-10T23:06:00Z"}}, "points": [{"offset": 0, "sum": 3}, {"offset": 12.5, "sum": 4}]}]');
CALL put('monthly', '[
  {"m": "2013:9", "d": {"1": {"0": {"c": 10}, "23": {"c": 11}}, "total": {"c": 21}}}]');
CALL put('unpivoted', '[
  {"ts": {"$date":"2013-10-10T23:06:00Z"}, "values": {"0": {"cpu": 0.5, "mem": 70}, "1": {"cpu": 0.6}}}]');
CALL put('parallel_arrays', '[
  {"sensor": 7, "timestamps": [{"$date":"2013-10-10T23:06:01Z"}, {"$date":"2013-10-10T23:06:09Z"}], "values": [1.5, 2.5]}]');
CALL put('native', '[
  {"ts": {"$date":"2013-10-10T23:06:37Z"}, "meta": {"sensor": 7}, "value": 1.5}]');
IMPORT FOREIGN SCHEMA mts_regress_import_samples FROM SERVER import_samples INTO imported_samples;
SET search_path = imported_samples, import_samples, public;
SELECT "timestamp", type, value FROM event;
SELECT * FROM minute ORDER BY 1;
SELECT * FROM hour_flat ORDER BY 1;
SELECT * FROM hour_nested ORDER BY 1;
SELECT * FROM day_nested ORDER BY 1;
SELECT timestamp_day, items FROM day_text ORDER BY 1;
SELECT * FROM views ORDER BY 1;
SELECT * FROM stock ORDER BY 1;
SELECT * FROM sized ORDER BY 1;
SELECT * FROM computed ORDER BY 1;
SELECT * FROM positional ORDER BY 1;
SELECT * FROM offsets ORDER BY 1;
SELECT m, d FROM monthly ORDER BY 1;
SELECT * FROM unpivoted ORDER BY 1, 2;
SELECT * FROM parallel_arrays ORDER BY 1;
SELECT ts, meta_sensor, value FROM native;
SELECT mongo_ts_command('import_samples', '{"dropDatabase": 1}')->'ok' AS dropped;
