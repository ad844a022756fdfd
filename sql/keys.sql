--
-- Tests slots whose keys are padded, have text around numbers or several
-- numbers, or count from the start of a longer unit: what is read, projected
-- and written.
--
\set suite keys
\i sql/include/suite.sql

-- Padded keys --------------------------------------------------------------

CREATE FOREIGN TABLE padded (
  ts    timestamptz,
  value float8 OPTIONS (field 'd.{day:01}.{hour:00}', sum_field 'sum')
) SERVER keys OPTIONS (count_field 'n');
CALL put('padded', '[
  {"ts": {"$date": "2013-10-01T00:00:00Z"}, "n": 3, "sum": 6,
   "d": {"01": {"00": 1, "23": 2}, "31": {"09": 3}, "total": 6}},
  {"ts": {"$date": "2013-11-01T00:00:00Z"}, "n": 1, "sum": 4,
   "d": {"01": {"00": 4}}}]');
SELECT * FROM padded ORDER BY ts;
EXPLAIN (COSTS OFF)
SELECT * FROM padded WHERE ts >= '2013-10-09 08:00' AND ts < '2013-10-10';
EXPLAIN (COSTS OFF)
SELECT * FROM padded WHERE ts >= '2013-10-31 09:00' AND ts < '2013-10-31 12:00';
SELECT * FROM padded WHERE ts >= '2013-10-31 09:00' AND ts < '2013-10-31 12:00';
SELECT date_trunc('month', ts), count(*), sum(value) FROM padded GROUP BY 1 ORDER BY 1;

INSERT INTO padded VALUES ('2013-10-02 05:00', 5), ('2013-12-09 07:00', 6);
UPDATE padded SET value = 7 WHERE ts = '2013-11-01';
DELETE FROM padded WHERE ts = '2013-10-31 09:00';
SELECT document - '_id' AS document FROM mongo_ts_find('keys', 'padded') AS document ORDER BY 1;

-- The key of another form is no key of the slot.
CALL put('padded', '[{"_id": 1, "ts": {"$date": "2014-01-01T00:00:00Z"}, "d": {"07": {"5": 1}}}]');
SELECT * FROM padded WHERE ts >= '2014-01-01';
CALL put('padded', '[{"_id": 2, "ts": {"$date": "2015-01-01T00:00:00Z"}, "d": {"007": {"05": 1}}}]');
SELECT * FROM padded WHERE ts >= '2015-01-01';

-- Text around numbers ------------------------------------------------------

CREATE FOREIGN TABLE texts (
  ts   timestamptz,
  temp float8 OPTIONS (field 'v.h{hour}.q{15 minutes:1}.temp'),
  hum  float8 OPTIONS (field 'v.h{hour}.q{15 minutes:1}.hum')
) SERVER keys;
CALL put('texts', '[
  {"ts": {"$date": "2013-10-10T00:00:00Z"},
   "v": {"h0": {"q1": {"temp": 1, "hum": 2}}, "h23": {"q4": {"temp": 3}, "4": {"temp": 9}},
         "23": {}, "hours": 2}}]');
SELECT * FROM texts ORDER BY ts;
EXPLAIN (COSTS OFF)
SELECT * FROM texts WHERE ts >= '2013-10-10 23:30' AND ts < '2013-10-11';
INSERT INTO texts VALUES ('2013-10-10 23:15', 4, 5);
SELECT * FROM texts WHERE ts >= '2013-10-10 23:00' ORDER BY ts;
SELECT document - '_id' AS document FROM mongo_ts_find('keys', 'texts') AS document ORDER BY 1;

-- Several numbers in one key -----------------------------------------------

CREATE FOREIGN TABLE numbers (
  ts    timestamptz,
  value float8 OPTIONS (field 'v.{hour:00}:{minute:00}')
) SERVER keys;
CALL put('numbers', '[
  {"ts": {"$date": "2013-10-10T00:00:00Z"},
   "v": {"00:00": 1, "07:05": 2, "23:59": 3, "daily": 6}}]');
SELECT * FROM numbers ORDER BY ts;
EXPLAIN (COSTS OFF)
SELECT * FROM numbers WHERE ts >= '2013-10-10 07:58' AND ts < '2013-10-10 08:02';
EXPLAIN (COSTS OFF)
SELECT sum(value) FROM numbers WHERE ts >= '2013-10-10 07:00' AND ts < '2013-10-10 07:04';
INSERT INTO numbers VALUES ('2013-10-11 12:34', 4);
SELECT mongo_ts_preallocate('numbers', '2013-10-12', '2013-10-13');
SELECT document - '_id' AS document FROM mongo_ts_find('keys', 'numbers') AS document ORDER BY 1;
SELECT sum(value), count(*) FROM numbers;
CALL put('numbers', '[{"_id": 3, "ts": {"$date": "2014-10-10T00:00:00Z"}, "v": {"07:60": 1}}]');
SELECT * FROM numbers WHERE ts >= '2014-01-01';
CALL put('numbers', '[{"_id": 4, "ts": {"$date": "2015-10-10T00:00:00Z"}, "v": {"24:00": 1}}]');
SELECT * FROM numbers WHERE ts >= '2015-01-01';

-- Keys that count from the start of a longer unit --------------------------

CREATE FOREIGN TABLE of_day (
  ts    timestamptz OPTIONS (field 'day'),
  value float8      OPTIONS (field 'minute.{hour}.{minute of day}')
) SERVER keys;
CALL put('of_day', '[
  {"day": {"$date": "2013-10-10T00:00:00Z"},
   "minute": {"0": {"0": 1, "59": 2}, "23": {"1380": 3, "1439": 4}}}]');
SELECT * FROM of_day ORDER BY ts;
EXPLAIN (COSTS OFF)
SELECT * FROM of_day WHERE ts >= '2013-10-10 23:58' AND ts < '2013-10-11 00:01';
SELECT * FROM of_day WHERE ts >= '2013-10-10 23:58' AND ts < '2013-10-11 00:01';
INSERT INTO of_day VALUES ('2013-10-10 01:30', 5), ('2013-10-11 23:59', 6);
SELECT document - '_id' AS document FROM mongo_ts_find('keys', 'of_day') AS document ORDER BY 1;
CALL put('of_day', '[{"_id": 5, "day": {"$date": "2014-10-10T00:00:00Z"}, "minute": {"1": {"5": 1}}}]');
SELECT * FROM of_day WHERE ts >= '2014-01-01';

-- A day of 25 hours counts to minute 1499; buckets are shorter than the unit.
CREATE FOREIGN TABLE of_local_day (
  ts    timestamptz OPTIONS (field 'h'),
  value float8      OPTIONS (field 'v.{minute of day:0000}')
) SERVER keys OPTIONS (bucket_span '1 hour', bucket_time_zone 'America/New_York');
INSERT INTO of_local_day VALUES
  ('2013-11-03 00:00 America/New_York', 1), ('2013-11-03 23:59 America/New_York', 2);
SELECT document - '_id' AS document FROM mongo_ts_find('keys', 'of_local_day') AS document ORDER BY 1;
SELECT ts AT TIME ZONE 'America/New_York' AS local, value FROM of_local_day ORDER BY ts;

-- Keys that are times ------------------------------------------------------

CREATE FOREIGN TABLE times (
  ts    timestamptz,
  host  text,
  value float8 OPTIONS (field 'v.{epoch}.x', sum_field 'sum')
) SERVER keys OPTIONS (bucket_time_field 'hour', bucket_span '1 hour', count_field 'n');
CALL put('times', '[
  {"_id": 21, "hour": {"$date": "2013-10-10T23:00:00Z"}, "host": "a", "n": 2, "sum": 3,
   "v": {"1381446001": {"x": 1}, "1381449599": {"x": 2}, "total": {"x": 3}}}]');
SELECT * FROM times ORDER BY ts;
EXPLAIN (COSTS OFF)
SELECT * FROM times WHERE ts >= '2013-10-10 23:00' AND ts < '2013-10-10 23:00:03';
SELECT * FROM times WHERE ts >= '2013-10-10 23:00' AND ts < '2013-10-10 23:00:03';
INSERT INTO times VALUES ('2013-10-10 23:30', 'a', 4), ('2013-10-11', 'b', 5);
INSERT INTO times VALUES ('2013-10-10 23:30:00.5', 'a', 4);
UPDATE times SET ts = ts + interval '1 second' WHERE value = 5;
UPDATE times SET value = 6 WHERE value = 1;
DELETE FROM times WHERE ts = '2013-10-10 23:59:59';
SELECT document - '_id' AS document FROM mongo_ts_find('keys', 'times') AS document ORDER BY 1;
SELECT host, sum(value), count(*), min(ts) FROM times GROUP BY host ORDER BY host;
CALL put('times', '[
  {"_id": 22, "hour": {"$date": "2014-10-10T23:00:00Z"}, "v": {"1381446001": {"x": 1}}}]');
SELECT * FROM times WHERE ts >= '2014-01-01';

-- Text that does not sort as time, in a zone, without a time of the bucket
CREATE FOREIGN TABLE time_texts (
  ts     timestamptz,
  sensor int,
  value  float8 OPTIONS (field 'v.{text:DD.MM.YYYY HH24:MI}')
) SERVER keys OPTIONS (bucket_time_zone 'Europe/Berlin');
CALL put('time_texts', '[
  {"_id": 31, "sensor": 7, "v": {"10.10.2013 23:06": 1, "11.10.2013 00:00": 2}}]');
SELECT * FROM time_texts WHERE ts >= '2013-10-10 22:00' ORDER BY ts;
INSERT INTO time_texts VALUES ('2013-10-10', 7, 1);
CALL put('time_texts', '[{"_id": 32, "sensor": 8, "v": {"10.10.2013 7:06": 1}}]');
SELECT * FROM time_texts;
CREATE FOREIGN TABLE time_field (
  ts    timestamptz OPTIONS (field 'day'),
  value float8      OPTIONS (field 'v.{epoch}')
) SERVER keys;
SELECT * FROM time_field;

-- What cannot be written or declared ---------------------------------------

CREATE FOREIGN TABLE dots (
  ts timestamptz, value float8 OPTIONS (field 'v.{hour:00}\.{minute:00}')
) SERVER keys;
CALL put('dots', '[{"_id": 6, "ts": {"$date": "2013-10-10T00:00:00Z"}, "v": {"07.05": 1}}]');
SELECT * FROM dots WHERE ts >= '2013-10-10 07:00' AND ts < '2013-10-10 07:10';
INSERT INTO dots VALUES ('2013-10-10', 1);
CREATE FOREIGN TABLE longer (
  ts timestamptz, value float8 OPTIONS (field 'v.{day:1}.{minute of hour}')
) SERVER keys;
SELECT * FROM longer;
CREATE FOREIGN TABLE zoned (
  ts timestamptz, value float8 OPTIONS (field 'v.{day:01}-{hour:00}')
) SERVER keys OPTIONS (bucket_time_zone 'America/New_York');
SELECT * FROM zoned;
CREATE FOREIGN TABLE adjacent (
  ts timestamptz, value float8 OPTIONS (field 'v{minute}{second}')
) SERVER keys;

-- More keys -----------------------------------------------------------------

-- a column below the time
CALL put('below', '[{"_id": 1, "v": {"1704085200000": {"a": 1, "b": 2}}}]');
CREATE FOREIGN TABLE below (
  ts timestamptz, name text, v int OPTIONS (field 'v.{epoch_ms}.{name}')
) SERVER keys;
SELECT * FROM below ORDER BY name;

-- midnight occurs twice: the bucket of the day before has a 25th hour
CREATE FOREIGN TABLE havana (
  day timestamptz, v int OPTIONS (field 'v.{hour}')
) SERVER keys OPTIONS (bucket_time_zone 'America/Havana');
INSERT INTO havana SELECT timestamptz '2024-11-03 00:00Z' + i * interval '1 hour', i FROM generate_series(0, 9) i;
INSERT INTO havana VALUES ('2024-11-03 04:00Z', 44);
SELECT day AT TIME ZONE 'UTC', v FROM havana WHERE day >= '2024-11-03 03:00Z' AND day < '2024-11-03 06:00Z' ORDER BY 1;
SELECT day AT TIME ZONE 'UTC', v FROM havana WHERE day >= '2024-11-03 04:00Z' AND day < '2024-11-03 05:00Z';
CALL put('hours', '[{"_id": 1, "day": {"$date": "2024-11-02T04:00:00Z"}, "v": {"23": 23, "24": 24}}]');
CREATE FOREIGN TABLE hours (
  day timestamptz, v int OPTIONS (field 'v.{hour}')
) SERVER keys OPTIONS (bucket_time_zone 'America/Havana');
SELECT v FROM hours WHERE day >= '2024-11-03 04:00Z' AND day < '2024-11-03 05:00Z';

-- keys with several numbers have no sign: others are no points, and not in totals
CALL put('signs', '[{"_id": 1, "day": {"$date": "2024-01-01T00:00:00Z"}, "n": 1, "sum": 1, "v": {"5:30": 1, "-5:30": 100}}]');
CREATE FOREIGN TABLE signs (
  day timestamptz, v int OPTIONS (field 'v.{hour}:{minute:00}', sum_field 'sum')
) SERVER keys OPTIONS (count_field 'n');
INSERT INTO signs VALUES ('2024-01-01 05:31Z', 2);
SELECT count(*), sum(v) FROM signs;
SELECT day, v FROM signs ORDER BY day;

-- slots that count no unit: a bucket holds its own time
CALL put('names', '[{"_id": 1, "ts": {"$date": "2024-01-01T00:30:00Z"}, "v": {"a": 1, "b": 2}}]');
CREATE FOREIGN TABLE names (
  ts timestamptz, key text, v int OPTIONS (field 'v.{key}')
) SERVER keys;
SELECT mongo_ts_create_index('names');
INSERT INTO names VALUES ('2024-01-01 00:30Z', 'c', 3), ('2024-01-01 00:31Z', 'a', 4);
UPDATE names SET v = 5 WHERE ts = '2024-01-01 00:30Z' AND key = 'a';
DELETE FROM names WHERE ts = '2024-01-01 00:30Z' AND key = 'b';
SELECT * FROM names ORDER BY 1, 2;
SELECT mongo_ts_find('keys', 'names', '{"_id": 1}');
SELECT mongo_ts_preallocate('names', '2024-01-01', '2024-01-02');
