--
-- Tests slots that count the local time of a zone: option "slot_clock".
--
\set suite local_clock
\i sql/include/suite.sql

-- Days of Berlin: in March one has no hour 2, in October one has two.
CREATE FOREIGN TABLE days (
  ts     timestamptz OPTIONS (field 'day'),
  sensor text,
  v      float8 OPTIONS (field 'h.{hour}')
) SERVER local_clock OPTIONS (bucket_time_zone 'Europe/Berlin', slot_clock 'local');
CALL put('days', '[
  {"_id": 1, "sensor": "a", "day": {"$date": "2013-03-30T23:00:00Z"},
   "h": {"0": 0, "1": 1, "3": 3, "23": 23}},
  {"_id": 2, "sensor": "a", "day": {"$date": "2013-06-30T22:00:00Z"},
   "h": {"0": 0, "1": 1, "2": 2, "23": 23}},
  {"_id": 3, "sensor": "a", "day": {"$date": "2013-10-26T22:00:00Z"},
   "h": {"23": 23, "3": 3, "2": 2, "1": 1, "0": 0}}]');
SELECT ts, ts AT TIME ZONE 'Europe/Berlin' AS local, v FROM days ORDER BY ts;
SELECT ts, v FROM days ORDER BY ts DESC LIMIT 3;
EXPLAIN (COSTS OFF) SELECT ts, v FROM days
 WHERE ts >= '2013-03-31 01:00' AND ts < '2013-03-31 22:00';
SELECT ts, v FROM days
 WHERE ts >= '2013-03-31 01:00' AND ts < '2013-03-31 22:00';
SELECT ts, v FROM days WHERE ts > '2013-10-27 00:00' ORDER BY ts;
SELECT ts, v FROM days WHERE ts = '2013-10-27 01:00';
SELECT date_trunc('day', ts, 'Europe/Berlin') AS day, count(*), sum(v), max(ts)
  FROM days GROUP BY 1 ORDER BY 1;
SELECT date_trunc('hour', ts) AS hour, sum(v) FROM days
 WHERE ts >= '2013-10-26 22:00' GROUP BY 1 ORDER BY 1;

-- Far from changes of the clocks, only some slots are fetched.
EXPLAIN (COSTS OFF) SELECT ts, v FROM days
 WHERE ts >= '2013-07-01 00:00' AND ts < '2013-07-01 02:00';
SELECT ts, v FROM days WHERE ts >= '2013-07-01 00:00' AND ts < '2013-07-01 02:00';
EXPLAIN (COSTS OFF) SELECT ts, v FROM days
 WHERE ts >= '2013-10-27 22:00' AND ts < '2013-10-27 23:00';

-- The same documents by elapsed time, as by default
ALTER FOREIGN TABLE days OPTIONS (SET slot_clock 'elapsed');
SELECT ts, ts AT TIME ZONE 'Europe/Berlin' AS local, v FROM days ORDER BY ts;
ALTER FOREIGN TABLE days OPTIONS (SET slot_clock 'local');

-- Writing: the hour on the clock is the key.
INSERT INTO days VALUES ('2013-10-27 00:00', 'b', 2), ('2013-10-27 02:00', 'b', 3),
  ('2013-03-31 01:00', 'b', 3), ('2013-03-31 02:00', 'b', 4);
SELECT mongo_ts_command('local_clock', '{"find": "days", "filter": {"sensor": "b"},
  "projection": {"_id": 0, "day": 1, "h": 1}, "sort": {"day": 1}}')
  #> '{cursor,firstBatch}';
SELECT ts, v FROM days WHERE sensor = 'b' ORDER BY ts;
-- The second time of the repeated hour has no slot.
INSERT INTO days VALUES ('2013-10-27 01:00', 'b', 2.5);
UPDATE days SET ts = ts + interval '1 hour' WHERE sensor = 'b' AND ts = '2013-10-27 00:00';
UPDATE days SET ts = ts + interval '2 hours' WHERE sensor = 'b' AND ts = '2013-10-27 00:00';
UPDATE days SET ts = ts + interval '3 hours', v = v + 1
 WHERE sensor = 'b' AND ts = '2013-10-27 00:00' RETURNING ts, v;
UPDATE days SET v = 9 WHERE sensor = 'b' AND ts = '2013-10-27 02:00';
DELETE FROM days WHERE sensor = 'b' AND ts < '2013-03-31 02:00';
SELECT ts, v FROM days WHERE sensor = 'b' ORDER BY ts;
DELETE FROM days WHERE ts >= '2013-10-26 22:00' AND ts < '2013-10-27 23:00';
SELECT count(*) FROM days;

-- A local time that clocks skip is an invalid point.
CALL put('days', '[
  {"_id": 4, "sensor": "c", "day": {"$date": "2013-03-30T23:00:00Z"},
   "h": {"1": 1, "2": 2, "3": 3, "24": 24}}]');
SELECT ts, v FROM days WHERE sensor = 'c' ORDER BY ts;
ALTER FOREIGN TABLE days OPTIONS (on_invalid 'skip');
SELECT ts, v FROM days WHERE sensor = 'c' ORDER BY ts;
SELECT * FROM reads('SELECT ts, v FROM days WHERE sensor = ''c''');

-- Local times without a zone
CREATE FOREIGN TABLE timestamps (
  ts timestamp OPTIONS (field 'day'),
  v  int OPTIONS (field 'h.{hour}.{minute}')
) SERVER local_clock OPTIONS (bucket_time_zone 'Europe/Berlin', slot_clock 'local');
INSERT INTO timestamps VALUES ('2013-10-27 02:30', 1), ('2013-10-27 03:30', 2),
  ('2013-10-28 00:00', 3), ('2013-03-31 03:00', 4);
INSERT INTO timestamps VALUES ('2013-03-31 02:30', 5);
UPDATE timestamps SET v = v + 10 WHERE ts = '2013-10-27 02:30';
SELECT * FROM timestamps ORDER BY ts;
SELECT mongo_ts_command('local_clock', '{"find": "timestamps",
  "projection": {"_id": 0}, "sort": {"day": 1}}') #> '{cursor,firstBatch}';

-- Half an hour is skipped and repeated on Lord Howe Island.
CREATE FOREIGN TABLE half_hours (
  ts timestamptz OPTIONS (field 'm'),
  v  int OPTIONS (field 'd.{day:1}.{15 minutes}')
) SERVER local_clock
  OPTIONS (bucket_time_zone 'Australia/Lord_Howe', slot_clock 'local');
INSERT INTO half_hours
  SELECT t, extract(epoch FROM t) FROM generate_series(
    timestamptz '2013-04-06 14:00', '2013-04-06 14:45', '15 minutes') t;
INSERT INTO half_hours VALUES ('2013-04-06 15:00', 1);
INSERT INTO half_hours VALUES ('2013-04-06 15:30', 2), ('2013-10-05 15:30', 3);
INSERT INTO half_hours VALUES ('2013-10-05 15:37', 4);
SELECT ts, ts AT TIME ZONE 'Australia/Lord_Howe' AS local, v FROM half_hours ORDER BY ts;
SELECT mongo_ts_command('local_clock', '{"find": "half_hours",
  "projection": {"_id": 0, "d": 1}, "sort": {"m": 1}}') #> '{cursor,firstBatch}';
-- A slot that begins at a skipped time has none of its other times.
CREATE FOREIGN TABLE hours (
  ts timestamptz OPTIONS (field 'm'),
  v  int OPTIONS (field 'd.{day:1}.{hour}')
) SERVER local_clock
  OPTIONS (bucket_time_zone 'Australia/Lord_Howe', slot_clock 'local',
           on_subresolution 'truncate');
INSERT INTO hours VALUES ('2013-10-05 15:45', 1);
INSERT INTO hours VALUES ('2013-10-05 15:15', 1) RETURNING ts;

-- Samoa skipped 2011-12-30.
CREATE FOREIGN TABLE dates (
  ts date OPTIONS (field 'm', format 'text:YYYY-MM'),
  v  int OPTIONS (field 'd.{day:1}')
) SERVER local_clock OPTIONS (bucket_time_zone 'Pacific/Apia', slot_clock 'local');
INSERT INTO dates VALUES ('2011-12-29', 29), ('2011-12-31', 31), ('2012-01-01', 1);
INSERT INTO dates VALUES ('2011-12-30', 30);
SELECT * FROM dates ORDER BY ts;
SELECT mongo_ts_command('local_clock', '{"find": "dates",
  "projection": {"_id": 0}, "sort": {"m": 1}}') #> '{cursor,firstBatch}';
CALL put('dates', '[{"_id": 1, "m": "2011-12", "d": {"30": 30}}]');
SELECT * FROM dates;

-- Points with a time of their own can be in both of two equal hours.
CREATE FOREIGN TABLE points (
  ts timestamptz OPTIONS (field 'h.{hour}[].t'),
  v  int OPTIONS (field 'h.{hour}[].v')
) SERVER local_clock OPTIONS (bucket_time_field 'day', bucket_time_zone 'Europe/Berlin',
  slot_clock 'local');
INSERT INTO points VALUES ('2013-10-27 00:30', 1), ('2013-10-27 01:30', 2),
  ('2013-10-27 02:30', 3), ('2013-03-31 01:30', 4);
SELECT * FROM points ORDER BY ts;
SELECT mongo_ts_command('local_clock', '{"find": "points",
  "projection": {"_id": 0}, "sort": {"day": 1}}') #> '{cursor,firstBatch}';
UPDATE points SET ts = ts + interval '10 minutes', v = -v WHERE ts = '2013-10-27 01:30';
DELETE FROM points WHERE ts = '2013-10-27 00:30';
SELECT * FROM points ORDER BY ts;

-- Arrays, and buckets that are preallocated, have elements for skipped times.
CREATE FOREIGN TABLE arrays (
  ts timestamptz OPTIONS (field 'day'),
  v  int OPTIONS (field 'h[{hour}]', missing_value '-1')
) SERVER local_clock OPTIONS (bucket_time_zone 'Europe/Berlin', slot_clock 'local');
SELECT mongo_ts_preallocate('arrays', '2013-03-30 23:00', '2013-03-31 22:00', '{}');
INSERT INTO arrays VALUES ('2013-03-31 01:00', 3), ('2013-10-27 01:00'::timestamptz + '1 hour', 3);
SELECT * FROM arrays ORDER BY ts;
SELECT mongo_ts_command('local_clock', '{"find": "arrays",
  "projection": {"_id": 0}, "sort": {"day": 1}}') #> '{cursor,firstBatch}';

-- In UTC both clocks are the same.
CREATE FOREIGN TABLE utc (
  ts timestamptz OPTIONS (field 'day'),
  v  float8 OPTIONS (field 'h.{hour}')
) SERVER local_clock OPTIONS (slot_clock 'local');
INSERT INTO utc VALUES ('2013-03-31 01:00', 1);
EXPLAIN (COSTS OFF) SELECT * FROM utc
 WHERE ts >= '2013-03-31 01:00' AND ts < '2013-03-31 02:00';
SELECT * FROM utc;

-- Slots that do not count time have no clock.
CREATE FOREIGN TABLE no_units (
  ts timestamptz OPTIONS (field 'p[].t'),
  v  float8 OPTIONS (field 'p[].v')
) SERVER local_clock OPTIONS (slot_clock 'local');
SELECT * FROM no_units;
CREATE FOREIGN TABLE wrong (ts timestamptz, v int OPTIONS (field 'v.{hour}'))
  SERVER local_clock OPTIONS (slot_clock 'wall');

SELECT mongo_ts_command('local_clock', '{"dropDatabase": 1}')->'ok' AS dropped;
