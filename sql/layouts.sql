--
-- Tests every layout of the documentation's table: all rows, and a range of
-- time.
--
\set suite layouts
\i sql/include/suite.sql

-- One document per event ---------------------------------------------------

CREATE FOREIGN TABLE event (
  "timestamp" timestamptz,
  host        text,
  value       float8
) SERVER layouts OPTIONS (collection 'event');
CALL put('event', '[
  {"_id": 1, "timestamp": {"$date": "2013-10-10T23:06:00.250Z"}, "host": "a", "value": 1.5},
  {"_id": 2, "timestamp": {"$date": "2013-10-10T23:07:00Z"}, "host": "a", "value": 2},
  {"_id": 3, "timestamp": {"$date": "2013-10-10T23:08:00Z"}, "value": null},
  {"_id": 4, "host": "no time"}]');
SELECT * FROM event ORDER BY "timestamp", host;
EXPLAIN (COSTS OFF)
SELECT * FROM event
 WHERE "timestamp" >= '2013-10-10 23:06:30' AND "timestamp" < '2013-10-10 23:08';
SELECT * FROM event
 WHERE "timestamp" >= '2013-10-10 23:06:30' AND "timestamp" < '2013-10-10 23:08'
 ORDER BY 1;

-- Minute, subdocument ------------------------------------------------------

CREATE FOREIGN TABLE minute (
  "timestamp" timestamptz OPTIONS (field 'timestamp_minute'),
  type        text,
  value       float8      OPTIONS (field 'values.{second}', sum_field 'total_samples')
) SERVER layouts OPTIONS (count_field 'num_samples');
CALL put('minute', '[
  {"timestamp_minute": {"$date": "2013-10-10T23:06:00Z"}, "type": "memory_used",
   "num_samples": 3, "total_samples": 6500000,
   "values": {"0": 999999, "1": 2000001, "59": 3500000}},
  {"timestamp_minute": {"$date": "2013-10-10T23:07:00Z"}, "type": "memory_used",
   "num_samples": 2, "total_samples": 3.5,
   "values": {"30": 3.5, "2": null}},
  {"timestamp_minute": {"$date": "2013-10-10T23:08:00Z"}, "type": "memory_free",
   "num_samples": 0, "total_samples": 0, "values": {}},
  {"timestamp_minute": {"$date": "2013-10-10T23:09:00Z"}, "type": "memory_free"}]');
SELECT * FROM minute ORDER BY "timestamp", type;
EXPLAIN (COSTS OFF)
SELECT * FROM minute
 WHERE type = 'memory_used'
   AND "timestamp" >= '2013-10-10 23:06:59' AND "timestamp" < '2013-10-10 23:07:03';
SELECT * FROM minute
 WHERE type = 'memory_used'
   AND "timestamp" >= '2013-10-10 23:06:59' AND "timestamp" < '2013-10-10 23:07:03'
 ORDER BY 1;

-- Hour, flat 0..3599 -------------------------------------------------------

CREATE FOREIGN TABLE hour_flat (
  "timestamp" timestamptz OPTIONS (field 'timestamp_hour'),
  type        text,
  value       float8      OPTIONS (field 'values.{second}')
) SERVER layouts OPTIONS (bucket_span '1 hour');
CALL put('hour_flat', '[
  {"timestamp_hour": {"$date": "2013-10-10T23:00:00Z"}, "type": "memory_used",
   "values": {"0": 999999, "60": 2, "3599": 1800000}},
  {"timestamp_hour": {"$date": "2013-10-11T00:00:00Z"}, "type": "memory_used",
   "values": {"1": 7}}]');
SELECT * FROM hour_flat ORDER BY 1;
EXPLAIN (COSTS OFF)
SELECT * FROM hour_flat
 WHERE "timestamp" BETWEEN '2013-10-10 23:59:58' AND '2013-10-11 00:00:01';
SELECT * FROM hour_flat
 WHERE "timestamp" BETWEEN '2013-10-10 23:59:58' AND '2013-10-11 00:00:01'
 ORDER BY 1;

-- Hour, nested -------------------------------------------------------------

CREATE FOREIGN TABLE hour_nested (
  "timestamp" timestamptz OPTIONS (field 'timestamp_hour'),
  type        text,
  value       float8      OPTIONS (field 'values.{minute}.{second}')
) SERVER layouts;
CALL put('hour_nested', '[
  {"timestamp_hour": {"$date": "2013-10-10T23:00:00Z"}, "type": "memory_used",
   "values": {"0": {"0": 999999, "59": 1000000},
              "1": {"0": 2000000},
              "58": {"0": 1600000, "59": 1200000},
              "59": {"0": 1300000, "59": 1400000}}}]');
SELECT * FROM hour_nested ORDER BY 1;
EXPLAIN (COSTS OFF)
SELECT * FROM hour_nested
 WHERE "timestamp" > '2013-10-10 23:57' AND "timestamp" <= '2013-10-10 23:59';
SELECT * FROM hour_nested
 WHERE "timestamp" > '2013-10-10 23:57' AND "timestamp" <= '2013-10-10 23:59'
 ORDER BY 1;

-- Day, three levels --------------------------------------------------------

CREATE FOREIGN TABLE day_nested (
  "timestamp" timestamptz,
  sensor      int,
  value       int OPTIONS (field 'series.{hour}.{minute}.{second}')
) SERVER layouts;
CALL put('day_nested', '[
  {"timestamp": {"$date": "2016-02-29T00:00:00Z"}, "sensor": 7,
   "series": {"0": {"0": {"0": 1}}, "7": {"30": {"59": 2}}, "23": {"59": {"59": 3}}}}]');
SELECT * FROM day_nested ORDER BY 1;
EXPLAIN (COSTS OFF)
SELECT * FROM day_nested
 WHERE "timestamp" >= '2016-02-29 07:30:58' AND "timestamp" < '2016-02-29 07:31';
SELECT * FROM day_nested
 WHERE "timestamp" >= '2016-02-29 07:30:58' AND "timestamp" < '2016-02-29 07:31';

-- Day, text key, sparse unsorted minutes -----------------------------------

CREATE FOREIGN TABLE day_text (
  "timestamp" timestamp OPTIONS (field 'timestamp_day',
                                 format 'text:YYYY-MM-DD"T"HH24:MI:SS'),
  device      text,
  value       numeric   OPTIONS (field 'items.{hour}.{minute}')
) SERVER layouts;
CALL put('day_text', '[
  {"timestamp_day": "2021-03-04T00:00:00", "device": "d1",
   "items": {"9": {"30": 3, "5": 2}, "0": {"59": 1}, "23": {"59": 4.5}}},
  {"timestamp_day": "2021-03-05T00:00:00", "device": "d1",
   "items": {"0": {"0": 5}}}]');
SELECT * FROM day_text ORDER BY 1;
EXPLAIN (COSTS OFF)
SELECT * FROM day_text
 WHERE "timestamp" >= '2021-03-04 23:00' AND "timestamp" < '2021-03-06';
SELECT * FROM day_text
 WHERE "timestamp" >= '2021-03-04 23:00' AND "timestamp" < '2021-03-06'
 ORDER BY 1;

-- Page views, $inc ---------------------------------------------------------

CREATE FOREIGN TABLE views (
  "timestamp" timestamptz,
  page        text,
  views       bigint OPTIONS (field 'seconds.{second}')
) SERVER layouts OPTIONS (write_mode 'increment');
CALL put('views', '[
  {"timestamp": {"$date": "2020-01-01T00:00:00Z"}, "page": "/index.html",
   "seconds": {"0": {"$numberLong": "3"}, "17": 1}}]');
SELECT * FROM views ORDER BY 1;
EXPLAIN (COSTS OFF)
SELECT * FROM views WHERE "timestamp" > '2020-01-01' AND page = '/index.html';
SELECT * FROM views WHERE "timestamp" > '2020-01-01' AND page = '/index.html';

-- Stock prices -------------------------------------------------------------

CREATE FOREIGN TABLE stock (
  d      timestamptz,
  symbol text,
  p      numeric(10,2) OPTIONS (field 'p.{second}')
) SERVER layouts;
CALL put('stock', '[
  {"symbol": "MDB", "d": {"$date": "2019-11-01T09:30:00Z"},
   "p": {"0": 69.47, "1": {"$numberDecimal": "69.50"}, "59": 70}},
  {"symbol": "ORCL", "d": {"$date": "2019-11-01T09:30:00Z"}, "p": {"0": 54.5}}]');
SELECT * FROM stock ORDER BY d, symbol;
EXPLAIN (COSTS OFF)
SELECT * FROM stock WHERE d = '2019-11-01 09:30:01' AND symbol IN ('MDB', 'ORCL');
SELECT * FROM stock WHERE d = '2019-11-01 09:30:01' AND symbol IN ('MDB', 'ORCL');

-- Size-based ---------------------------------------------------------------

CREATE FOREIGN TABLE sized (
  "time"   timestamptz OPTIONS (field 'samples[].time', format 'epoch'),
  deviceid int,
  sensorid int,
  val      int         OPTIONS (field 'samples[].val'),
  quality  text        OPTIONS (field 'samples[].quality')
) SERVER layouts OPTIONS (bucket_time_field 'day', bucket_span '1 day',
  bucket_first_field 'first', bucket_last_field 'last',
  bucket_max_points '200', count_field 'nsamples');
CALL put('sized', '[
  {"deviceid": 1234, "sensorid": 3, "nsamples": 3, "day": {"$date": "2018-08-29T00:00:00Z"},
   "first": 1535530412, "last": 1535530450,
   "samples": [{"val": 50, "time": 1535530412},
               {"val": 55, "time": 1535530415, "quality": "good"},
               {"val": 56, "time": 1535530450}]},
  {"deviceid": 1234, "sensorid": 3, "nsamples": 1, "day": {"$date": "2018-08-29T00:00:00Z"},
   "first": 1535540412, "last": 1535540412,
   "samples": [{"val": 57, "time": 1535540412}]}]');
SELECT * FROM sized ORDER BY 1;
EXPLAIN (COSTS OFF)
SELECT * FROM sized
 WHERE deviceid = 1234 AND "time" > '2018-08-29 08:13:32' AND "time" <= '2018-08-29 08:14:10';
SELECT * FROM sized
 WHERE deviceid = 1234 AND "time" > '2018-08-29 08:13:32' AND "time" <= '2018-08-29 08:14:10'
 ORDER BY 1;

-- Bucket + computed pattern ------------------------------------------------

CREATE FOREIGN TABLE computed (
  "timestamp" timestamptz OPTIONS (field 'measurements[].timestamp'),
  sensor_id   int,
  temperature float8      OPTIONS (field 'measurements[].temperature'),
  sum_temperature float8  OPTIONS (role 'attribute')
) SERVER layouts OPTIONS (bucket_time_field 'start_date', bucket_span '1 hour',
  bucket_last_field 'end_date', count_field 'transaction_count');
CALL put('computed', '[
  {"sensor_id": 12345, "start_date": {"$date": "2019-01-31T10:00:00Z"},
   "end_date": {"$date": "2019-01-31T10:59:59Z"},
   "measurements": [{"timestamp": {"$date": "2019-01-31T10:00:00Z"}, "temperature": 40},
                    {"timestamp": {"$date": "2019-01-31T10:01:00Z"}, "temperature": 40.5},
                    {"timestamp": {"$date": "2019-01-31T10:42:00Z"}, "temperature": 42}],
   "transaction_count": 3, "sum_temperature": 122.5}]');
SELECT * FROM computed ORDER BY 1;
EXPLAIN (COSTS OFF)
SELECT "timestamp", temperature FROM computed
 WHERE "timestamp" >= '2019-01-31 10:01' AND "timestamp" < '2019-01-31 10:42';
SELECT "timestamp", temperature FROM computed
 WHERE "timestamp" >= '2019-01-31 10:01' AND "timestamp" < '2019-01-31 10:42';

-- Positional arrays, several metrics ---------------------------------------

CREATE FOREIGN TABLE positional (
  "time"      timestamptz OPTIONS (field 'events[{minute}][{second}].ts_ns', format 'epoch_ns'),
  host        text        OPTIONS (field 'tags.hostname'),
  usage_user  float8      OPTIONS (field 'events[{minute}][{second}].usage_user'),
  usage_idle  float8      OPTIONS (field 'events[{minute}][{second}].usage_idle')
) SERVER layouts OPTIONS (bucket_time_field 'key_id',
  bucket_time_format 'text:YYYYMMDD_HH24');
CALL put('positional', '[
  {"key_id": "20160101_03", "tags": {"hostname": "host_0"},
   "events": [
     [{"ts_ns": {"$numberLong": "1451617200000000000"}, "usage_user": 1.5, "usage_idle": 98},
      null,
      {"ts_ns": {"$numberLong": "1451617202000000000"}, "usage_user": 2}],
     null,
     [null,
      {"ts_ns": {"$numberLong": "1451617321500000000"}, "usage_user": 3, "usage_idle": null}]]}]');
SELECT * FROM positional ORDER BY 1;
EXPLAIN (COSTS OFF)
SELECT "time", usage_user FROM positional
 WHERE "time" >= '2016-01-01 03:00:01' AND "time" < '2016-01-01 03:02';
SELECT "time", usage_user FROM positional
 WHERE "time" >= '2016-01-01 03:00:01' AND "time" < '2016-01-01 03:02';

-- Offset inside the point --------------------------------------------------

CREATE FOREIGN TABLE offsets (
  "time" timestamptz OPTIONS (field 'points[].offset', format 'offset:second'),
  metric text        OPTIONS (field '_id.metric'),
  sum    float8      OPTIONS (field 'points[].sum')
) SERVER layouts OPTIONS (bucket_time_field '_id.origin', bucket_span '1 minute');
CALL put('offsets', '[
  {"_id": {"metric": "m", "origin": {"$date": "2017-05-06T07:08:00Z"}},
   "points": [{"offset": 59, "sum": 3}, {"offset": 0, "sum": 1}, {"offset": 1.5, "sum": 2}]}]');
SELECT * FROM offsets ORDER BY 1;
EXPLAIN (COSTS OFF)
SELECT * FROM offsets
 WHERE "time" >= '2017-05-06 07:08:01' AND "time" < '2017-05-06 07:08:59';
SELECT * FROM offsets
 WHERE "time" >= '2017-05-06 07:08:01' AND "time" < '2017-05-06 07:08:59';

-- Monthly, days count from 1, sibling keys ---------------------------------

CREATE FOREIGN TABLE monthly (
  m     timestamp OPTIONS (format 'text:YYYY:FMMM'),
  site  text,
  count int       OPTIONS (field 'd.{day:1}.{hour}.c')
) SERVER layouts;
CALL put('monthly', '[
  {"m": "2012:2", "site": "s", "c": 15,
   "d": {"c": 15,
         "1": {"c": 3, "0": {"c": 1}, "23": {"c": 2}},
         "29": {"c": 12, "7": {"c": 12}}}},
  {"m": "2012:10", "site": "s", "c": 4,
   "d": {"c": 4, "31": {"c": 4, "12": {"c": 4}}}},
  {"m": "2012:12", "site": "s", "c": 9,
   "d": {"c": 9, "31": {"c": 9, "23": {"c": 9}}}}]');
SELECT * FROM monthly ORDER BY 1;
EXPLAIN (COSTS OFF)
SELECT * FROM monthly WHERE m >= '2012-02-29' AND m < '2012-11-01';
SELECT * FROM monthly WHERE m >= '2012-02-29' AND m < '2012-11-01' ORDER BY 1;
EXPLAIN (COSTS OFF)
SELECT * FROM monthly WHERE m >= '2012-11-01';
SELECT * FROM monthly WHERE m >= '2012-11-01';

-- Metrics as keys, unpivoted -----------------------------------------------

CREATE FOREIGN TABLE unpivoted (
  ts    timestamptz,
  type  text,
  value float8 OPTIONS (field 'values.{second}.{type}')
) SERVER layouts;
CALL put('unpivoted', '[
  {"ts": {"$date": "2022-07-08T09:10:00Z"},
   "values": {"0": {"temp": 20.5, "hum": 40}, "1": {"temp": 21}, "2": {}}}]');
SELECT * FROM unpivoted ORDER BY ts, type;
EXPLAIN (COSTS OFF)
SELECT * FROM unpivoted
 WHERE ts >= '2022-07-08 09:10' AND ts < '2022-07-08 09:10:01' AND type = 'temp';
SELECT * FROM unpivoted
 WHERE ts >= '2022-07-08 09:10' AND ts < '2022-07-08 09:10:01' AND type = 'temp';

-- Integers as keys, unpivoted ----------------------------------------------

CREATE FOREIGN TABLE status (
  ts   timestamptz,
  code int,
  n    int8 OPTIONS (field 'n.{minute}.{code}')
) SERVER layouts;
CALL put('status', '[
  {"ts": {"$date": "2022-07-08T09:00:00Z"},
   "n": {"0": {"200": 9, "404": 1}, "59": {"-1": 3, "2147483647": 4}}}]');
SELECT * FROM status ORDER BY ts, code;
EXPLAIN (COSTS OFF)
SELECT * FROM status WHERE ts = '2022-07-08 09:00' AND code IN (404, 500);
SELECT * FROM status WHERE ts = '2022-07-08 09:00' AND code IN (404, 500);
SELECT code, sum(n) FROM status WHERE code > 0 GROUP BY code ORDER BY code;
SELECT date_trunc('hour', ts) AS hour, min(code), max(n), count(*) FROM status GROUP BY 1;
INSERT INTO status VALUES ('2022-07-08 09:00', -2147483648, 5),
  ('2022-07-08 09:00', 404, 2), ('2022-07-08 10:00', 0, 6);
UPDATE status SET code = code + 1 WHERE code = 404;
DELETE FROM status WHERE code = 200;
SELECT * FROM status ORDER BY ts, code;
INSERT INTO status VALUES ('2022-07-08 09:00', NULL, 5);
SELECT mongo_ts_command('layouts',
  '{"find": "status", "projection": {"_id": 0, "n": 1}, "sort": {"ts": 1}}')
  #> '{cursor,firstBatch}';

-- A text that is not the canonical one of an integer of the type is invalid.
CREATE FOREIGN TABLE status_invalid (
  ts   timestamptz,
  code smallint,
  n    int8 OPTIONS (field 'n.{minute}.{code}')
) SERVER layouts;
CALL put('status_invalid', '[
  {"_id": 1, "ts": {"$date": "2022-07-08T09:00:00Z"},
   "n": {"0": {"007": 1, "-0": 2, "+5": 3, " 5": 4, "5 ": 5, "total": 6,
               "32768": 7, "1e2": 8, "99999999999999999999": 9, "-32768": 10,
               "32767": 11}}}]');
SELECT * FROM status_invalid;
ALTER FOREIGN TABLE status_invalid OPTIONS (on_invalid 'skip');
SELECT * FROM status_invalid ORDER BY code;
SELECT count(*), sum(n) FROM status_invalid;
ALTER FOREIGN TABLE status_invalid ALTER COLUMN code TYPE float8;
SELECT * FROM status_invalid;

-- Parallel arrays ----------------------------------------------------------

CREATE FOREIGN TABLE parallel_arrays (
  ts     timestamptz OPTIONS (field 'timestamps[]'),
  device text,
  value  float8      OPTIONS (field 'values[]')
) SERVER layouts;
CALL put('parallel_arrays', '[
  {"device": "a",
   "timestamps": [{"$date": "2022-07-08T00:00:00Z"}, {"$date": "2022-07-08T00:00:05Z"}],
   "values": [1.5, 2]},
  {"device": "b",
   "timestamps": [{"$date": "2022-07-09T00:00:00Z"}], "values": [null]}]');
SELECT * FROM parallel_arrays ORDER BY ts;
EXPLAIN (COSTS OFF)
SELECT * FROM parallel_arrays WHERE ts > '2022-07-08' AND ts < '2022-07-09';
SELECT * FROM parallel_arrays WHERE ts > '2022-07-08' AND ts < '2022-07-09';

--
-- Other features of paths
--

-- Columns with the same slots in different containers are zipped.
CREATE FOREIGN TABLE zipped (
  ts   timestamptz,
  temp float8 OPTIONS (field 'temp.{second}'),
  hum  float8 OPTIONS (field 'hum.{second}')
) SERVER layouts;
CALL put('zipped', '[
  {"ts": {"$date": "2022-07-08T09:10:00Z"},
   "temp": {"10": 21, "2": 20}, "hum": {"2": 40, "30": 41}},
  {"ts": {"$date": "2022-07-08T09:11:00Z"}, "hum": {"0": 42}}]');
SELECT * FROM zipped ORDER BY ts;
SELECT ts, temp FROM zipped ORDER BY ts;
SELECT count(*) FROM zipped WHERE ts >= '2022-07-08 09:10:02' AND ts < '2022-07-08 09:10:31';

-- A multiple of a unit; a base; milliseconds; months.
CREATE FOREIGN TABLE quarters (
  ts timestamptz,
  v  int OPTIONS (field 'v.{15 minutes:1}.{minute}')
) SERVER layouts OPTIONS (bucket_span '1 day');
CALL put('quarters', '[
  {"ts": {"$date": "2022-07-08T00:00:00Z"},
   "v": {"1": {"0": 1, "14": 2}, "2": {"0": 3}, "96": {"14": 4}}}]');
SELECT * FROM quarters ORDER BY ts;
SELECT * FROM quarters WHERE ts = '2022-07-08 00:15';
CREATE FOREIGN TABLE milliseconds (
  ts timestamptz,
  v  int OPTIONS (field 'v.{second}.{millisecond}')
) SERVER layouts;
CALL put('milliseconds', '[
  {"ts": {"$date": "1969-12-31T23:59:00Z"}, "v": {"59": {"0": 1, "999": 2}}}]');
SELECT * FROM milliseconds ORDER BY ts;
SELECT * FROM milliseconds WHERE ts > '1969-12-31 23:59:59.998' AND ts < '1970-01-01';
CREATE FOREIGN TABLE yearly (
  ts date,
  v  int OPTIONS (field 'v.{month:1}.{day:1}')
) SERVER layouts;
CALL put('yearly', '[
  {"ts": {"$date": "2012-01-01T00:00:00Z"},
   "v": {"2": {"29": 1}, "12": {"31": 2}}}]');
SELECT * FROM yearly ORDER BY ts;
SELECT * FROM yearly WHERE ts = '2012-02-29';

-- An array index as the only slot, and an array under a key.
CREATE FOREIGN TABLE array_index (
  ts timestamptz,
  v  int OPTIONS (field 'v[{second}]')
) SERVER layouts;
CALL put('array_index', '[
  {"ts": {"$date": "2022-07-08T00:00:00Z"}, "v": [10, null, 30]}]');
SELECT * FROM array_index ORDER BY ts;

-- A backslash quotes the next character.
CREATE FOREIGN TABLE escaped (
  ts     timestamptz,
  dotted text OPTIONS (field 'a\.b'),
  braces text OPTIONS (field '\{second}'),
  slash  text OPTIONS (field 'c\\d'),
  v      int  OPTIONS (field 'x\.y.{second}')
) SERVER layouts;
CALL put('escaped', '[
  {"ts": {"$date": "2022-07-08T00:00:00Z"}, "a.b": "dotted", "{second}": "braces",
   "c\\d": "slash", "x.y": {"1": 1}}]');
SELECT * FROM escaped;

-- Days and months are calendar steps in the bucket's zone: a day has 23 hours
-- when summer time begins, and text keys are local times.
CREATE FOREIGN TABLE berlin (
  ts    timestamptz OPTIONS (field 'day', format 'text:YYYY-MM-DD'),
  v     int         OPTIONS (field 'v.{hour}')
) SERVER layouts OPTIONS (bucket_time_zone 'Europe/Berlin');
CREATE FOREIGN TABLE berlin_local (
  ts    timestamp   OPTIONS (field 'day', format 'text:YYYY-MM-DD'),
  v     int         OPTIONS (field 'v.{hour}')
) SERVER layouts OPTIONS (collection 'berlin', bucket_time_zone 'Europe/Berlin');
CALL put('berlin', '[
  {"day": "2021-03-28", "v": {"0": 0, "1": 1, "2": 2, "22": 22}},
  {"day": "2021-03-29", "v": {"0": 100}}]');
SELECT * FROM berlin ORDER BY ts;
SELECT * FROM berlin_local ORDER BY ts, v;
SELECT * FROM berlin WHERE ts >= '2021-03-28 20:59:59Z' AND ts <= '2021-03-28 22:00Z' ORDER BY ts;
SELECT * FROM berlin_local WHERE ts >= '2021-03-28 03:00' AND ts < '2021-03-29' ORDER BY ts;

-- An ObjectId that holds the time, and epochs in other units.
CREATE FOREIGN TABLE oid_time (
  ts timestamptz OPTIONS (field '_id', format 'oid'),
  v  int
) SERVER layouts;
CALL put('oid_time', '[{"_id": {"$oid": "52573e3d0000000000000001"}, "v": 1},
  {"_id": {"$oid": "52573e3e0000000000000001"}, "v": 2}]');
SELECT * FROM oid_time ORDER BY ts;
EXPLAIN (COSTS OFF) SELECT v FROM oid_time WHERE ts >= '2013-10-10 23:54:38';
SELECT v FROM oid_time WHERE ts >= '2013-10-10 23:54:38';
CREATE FOREIGN TABLE epochs (
  id  int OPTIONS (field '_id'),
  s   timestamptz OPTIONS (role 'key', format 'epoch'),
  ms  timestamptz OPTIONS (role 'key', format 'epoch_ms'),
  us  timestamptz OPTIONS (role 'time', format 'epoch_us'),
  ns  timestamptz OPTIONS (role 'key', format 'epoch_ns')
) SERVER layouts;
CALL put('epochs', '[
  {"_id": 1, "s": 1381446360.5, "ms": {"$numberLong": "1381446360250"},
   "us": {"$numberLong": "1381446360000001"}, "ns": {"$numberLong": "1381446360000002000"}},
  {"_id": 2, "s": -1, "ms": -1, "us": -1, "ns": -1000}]');
SELECT * FROM epochs ORDER BY id;
SELECT id FROM epochs WHERE us = '2013-10-10 23:06:00.000001Z';
SELECT id FROM epochs WHERE s = '2013-10-10 23:06:00.5Z';
SELECT id FROM epochs WHERE ms = '1969-12-31 23:59:59.999Z' AND ns = '1969-12-31 23:59:59.999999Z';

-- on_subresolution determines the handling of nanoseconds.
CREATE FOREIGN TABLE nanoseconds (
  ts timestamptz OPTIONS (format 'epoch_ns'),
  v  int
) SERVER layouts;
CALL put('nanoseconds', '[{"_id": 1, "ts": {"$numberLong": "1451617200000001999"}, "v": 1}]');
SELECT * FROM nanoseconds;
ALTER FOREIGN TABLE nanoseconds OPTIONS (on_subresolution 'truncate');
SELECT * FROM nanoseconds;
SELECT * FROM nanoseconds WHERE ts = '2016-01-01 03:00:00.000001';

-- Text with an offset from UTC, as Python and Java write it.  A condition
-- admits the days of all offsets.  INSERT writes UTC.
CREATE FOREIGN TABLE iso8601 (
  id int,
  ts timestamptz OPTIONS (format 'iso8601'),
  v  int
) SERVER layouts;
CALL put('iso8601', '[
  {"id": 1, "ts": "2024-03-01T10:00:00+00:00", "v": 1},
  {"id": 2, "ts": "2024-03-01T10:00:00.123456+00:00", "v": 2},
  {"id": 3, "ts": "2024-02-29 23:30:00.5-11:00", "v": 3},
  {"id": 4, "ts": "2024-03-02T00:01+14:00", "v": 4},
  {"id": 5, "ts": "2024-03-04T00:00:00Z", "v": 5}]');
SELECT * FROM iso8601 ORDER BY ts;
EXPLAIN (COSTS OFF) SELECT id FROM iso8601 WHERE ts >= '2024-03-01 10:00Z' AND ts < '2024-03-01 10:31Z';
SELECT id FROM iso8601 WHERE ts >= '2024-03-01 10:00Z' AND ts < '2024-03-01 10:31Z' ORDER BY ts;
EXPLAIN (COSTS OFF) SELECT id FROM iso8601 ORDER BY ts DESC LIMIT 1;
INSERT INTO iso8601 VALUES (6, '2024-03-05 10:00:00.000001+02', 6), (7, '2024-03-05 12:00+02', 7);
UPDATE iso8601 SET v = 8 WHERE ts = '2024-03-01 10:01Z';
UPDATE iso8601 SET ts = ts + interval '1 hour' WHERE id = 3;
SELECT ts, doc FROM (SELECT (mongo_ts_command('layouts', '{"find": "iso8601", "projection": {"_id": 0}, "sort": {"id": 1}}')#>'{cursor,firstBatch}')) AS found (docs),
  jsonb_array_elements(docs) AS doc, LATERAL (SELECT ts FROM iso8601 WHERE id = (doc->>'id')::int) AS row;
CALL put('iso8601', '[{"id": 8, "ts": "2024-03-05T10:00:00.1234567Z"}, {"id": 9, "ts": "2024-03-05T10:00:00"}]');
SELECT try('SELECT ts FROM iso8601 WHERE id = 8');
SELECT try('SELECT ts FROM iso8601 WHERE id = 9');
ALTER FOREIGN TABLE iso8601 OPTIONS (on_subresolution 'truncate');
SELECT ts FROM iso8601 WHERE id = 8;
-- several texts mean one time, so a bucket cannot be found by it
CREATE FOREIGN TABLE iso8601_bucket (
  ts timestamptz OPTIONS (format 'iso8601'),
  v  int OPTIONS (field 'v.{hour}')
) SERVER layouts;
CALL put('iso8601_bucket', '[{"ts": "2024-03-01T00:00:00+00:00", "v": {"0": 0, "23": 23}},
  {"ts": "2024-03-02T02:00:00+02:00", "v": {"0": 100}}]');
SELECT * FROM iso8601_bucket ORDER BY ts;
SELECT v FROM iso8601_bucket WHERE ts = '2024-03-02';
SELECT try($$INSERT INTO iso8601_bucket VALUES ('2024-03-01 01:00Z', 1)$$);
UPDATE iso8601_bucket SET v = 24 WHERE v = 23;
SELECT * FROM iso8601_bucket ORDER BY ts;

-- Ticks of .NET, BSON timestamps, and epochs as text.
CREATE FOREIGN TABLE other_times (
  id int,
  ticks timestamptz OPTIONS (format 'ticks'),
  s  timestamptz OPTIONS (role 'time', format 'text:epoch'),
  ns timestamptz OPTIONS (format 'text:epoch_ns'),
  changed timestamptz OPTIONS (format 'timestamp'),
  v int
) SERVER layouts;
CALL put('other_times', '[
  {"id": 1, "ticks": {"$numberLong": "638448480000000000"}, "s": "1709251200", "ns": "1709251200000001000",
   "changed": {"$timestamp": {"t": 1709251200, "i": 3}}, "v": 1},
  {"id": 2, "ticks": {"$numberLong": "638448480010000010"}, "s": "1709251201", "ns": "1709251201000001000",
   "changed": {"$timestamp": {"t": 1709251201, "i": 1}}, "v": 2}]');
SELECT * FROM other_times ORDER BY id;
EXPLAIN (COSTS OFF) SELECT id FROM other_times WHERE s >= '2024-03-01 00:00:00.5Z' AND s < '2024-03-01 00:00:02Z' ORDER BY s;
SELECT id FROM other_times WHERE s >= '2024-03-01 00:00:00.5Z' AND s < '2024-03-01 00:00:02Z' ORDER BY s;
EXPLAIN (COSTS OFF) SELECT id FROM other_times WHERE changed = '2024-03-01 00:00:01Z' AND ticks > '2024-03-01Z';
SELECT id FROM other_times WHERE changed = '2024-03-01 00:00:01Z' AND ticks > '2024-03-01Z';
SELECT id FROM other_times WHERE ns = '2024-03-01 00:00:00.000001Z';
INSERT INTO other_times VALUES (3, '2024-03-01 00:00:02.25Z', '2024-03-01 00:00:02Z', '2024-03-01 00:00:02.5Z', NULL, 3);
SELECT try($$INSERT INTO other_times VALUES (4, '2024-03-01Z', '2024-03-01Z', '2024-03-01Z', '2024-03-01Z', 3)$$);
SELECT try($$INSERT INTO other_times VALUES (4, '2024-03-01Z', '2024-03-01 00:00:00.5Z', '2024-03-01Z', NULL, 3)$$);
SELECT try($$INSERT INTO other_times VALUES (4, '2024-03-01Z', '2001-01-01Z', '2024-03-01Z', NULL, 3)$$);
UPDATE other_times SET v = 20, ticks = ticks + interval '1 microsecond' WHERE id = 2;
SELECT try($$UPDATE other_times SET changed = now()$$);
SELECT mongo_ts_command('layouts', '{"find": "other_times", "projection": {"_id": 0}, "sort": {"id": 1}}')#>'{cursor,firstBatch}';
CREATE FOREIGN TABLE changes (
  ts timestamptz OPTIONS (field 'changed', format 'timestamp'),
  v int
) SERVER layouts OPTIONS (collection 'other_times');
UPDATE changes SET v = 30 WHERE ts = '2024-03-01 00:00:01Z';
SELECT try($$UPDATE changes SET ts = ts + interval '1 hour'$$);
SELECT try($$INSERT INTO changes VALUES ('2024-03-01', 1)$$);
SELECT * FROM changes ORDER BY ts;

-- Days that are numbers, by the clock of a zone.
CREATE FOREIGN TABLE number_days (
  ts timestamptz OPTIONS (field 'day', format 'number:YYYYMMDD'),
  v  int OPTIONS (field 'v.{hour}')
) SERVER layouts OPTIONS (bucket_time_zone 'Europe/Berlin');
CALL put('number_days', '[{"day": 20240229, "v": {"0": 0, "23": 23}}, {"day": 20240301, "v": {"0": 100}}]');
INSERT INTO number_days VALUES ('2024-02-29 01:00+01', 1), ('2024-03-02 00:00+01', 200);
SELECT * FROM number_days ORDER BY ts;
EXPLAIN (COSTS OFF) SELECT v FROM number_days WHERE ts >= '2024-03-01' AND ts < '2024-03-02';
SELECT v FROM number_days WHERE ts >= '2024-02-29 23:00' AND ts < '2024-03-01' ORDER BY ts;
SELECT mongo_ts_command('layouts', '{"find": "number_days", "projection": {"_id": 0}, "sort": {"day": 1}}')#>'{cursor,firstBatch}';
CALL put('number_days', '[{"day": 20230229, "v": {"0": 0}}]');
SELECT try('SELECT count(v) FROM number_days');

-- The whole document.
CREATE FOREIGN TABLE whole (
  ts  timestamptz,
  doc jsonb OPTIONS (field '*')
) SERVER layouts OPTIONS (collection 'array_index');
SELECT ts, doc - '_id' AS doc FROM whole;

-- A collection that doesn't exist is empty, as in MongoDB.
CREATE FOREIGN TABLE absent (ts timestamptz, v int OPTIONS (field 'v.{second}'))
  SERVER layouts;
SELECT * FROM absent;

SELECT mongo_ts_command('layouts', '{"dropDatabase": 1}')->'ok' AS dropped;
