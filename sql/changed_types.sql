--
-- Tests collections whose writers have changed a type, as applications do: each
-- query gives the rows of all documents, or an error.
--
\set suite changed_types
\i sql/include/suite.sql

\pset format unaligned
\pset tuples_only on

-- Dates, later ISO text
CALL put('logs', '[{"at": {"$date": "2024-05-01T10:00:00Z"}, "v": 1}, {"at": {"$date": "2024-05-01T11:00:00Z"}, "v": 2}]');
IMPORT FOREIGN SCHEMA :"database" LIMIT TO (logs) FROM SERVER changed_types INTO changed_types;
CALL put('logs', '[{"at": "2024-05-01T12:00:00.000Z", "v": 4}, {"at": "2024-05-01T13:00:00.000Z", "v": 8}]');
SELECT count(*), sum(v) FROM logs;
SELECT try('SELECT count(*), sum(v) FROM logs WHERE at >= ''2024-05-01''');
SELECT try('SELECT max(at) FROM logs');
SELECT try('SELECT at, v FROM logs ORDER BY at DESC LIMIT 1');
SELECT try('SELECT date_trunc(''day'', at), sum(v) FROM logs WHERE at < ''2024-05-02'' GROUP BY 1');
SELECT try('SELECT count(at) FROM logs');
ALTER FOREIGN TABLE logs OPTIONS (SET updatable 'true');
SELECT try('DELETE FROM logs WHERE at < ''2024-06-01''');
SELECT count(*) FROM logs;

-- Buckets of dates, later ISO text
CALL put('temps', '[{"hour": {"$date": "2024-05-01T10:00:00Z"}, "s": "a", "v": {"0": 1, "30": 2, "59": 3}},
                    {"_id": 2, "hour": "2024-05-01T11:00:00Z", "s": "a", "v": {"0": 4, "30": 5, "59": 6}}]');
CREATE FOREIGN TABLE temps (ts timestamptz OPTIONS (field 'hour'), s text, v int OPTIONS (field 'v.{minute}')) SERVER changed_types;
SELECT try('SELECT count(*), sum(v) FROM temps WHERE s = ''a'' AND ts >= ''2024-05-01'' AND ts < ''2024-05-02''');
SELECT try('SELECT count(*), sum(v) FROM temps');

-- Milliseconds, later dates
CALL put('ep', '[{"t": 1714557600000, "v": 1}, {"_id": 2, "t": {"$date": "2024-05-01T11:00:00Z"}, "v": 2}]');
CREATE FOREIGN TABLE ep (t timestamptz OPTIONS (format 'epoch_ms'), v int) SERVER changed_types;
SELECT try('SELECT sum(v) FROM ep WHERE t >= ''2024-05-01''');

-- Numbers, later text
CALL put('flat', '[{"ts": {"$date": "2024-05-01T10:00:00Z"}, "v": 21.5}]');
IMPORT FOREIGN SCHEMA :"database" LIMIT TO (flat) FROM SERVER changed_types INTO changed_types;
CALL put('flat', '[{"_id": 2, "ts": {"$date": "2024-05-01T11:00:00Z"}, "v": "22.5"}]');
SELECT try('SELECT count(*) FROM flat WHERE v > 20');
SELECT try('SELECT ts, v FROM flat WHERE v IS NOT NULL ORDER BY ts DESC LIMIT 1');

-- A day's document whose elements have the time of day
CALL put('hr', '[{"_id": 1, "user": "u", "dateTime": "2024-05-01", "dataset": [
  {"time": "00:00:00", "value": 61}, {"time": "00:01:00", "value": 62}, {"time": "00:03:00", "value": 60}]}]');
CREATE FOREIGN TABLE hr (ts timestamptz OPTIONS (field 'dataset[].time', format 'text:HH24:MI:SS', role 'time'), bpm int OPTIONS (field 'dataset[].value'))
  SERVER changed_types OPTIONS (bucket_time_field 'dateTime', bucket_time_format 'text:YYYY-MM-DD', bucket_span '1 day');
CREATE FOREIGN TABLE hr (ts timestamptz OPTIONS (field 'dataset[].time', format 'time:HH24:MI:SS', role 'time'), bpm int OPTIONS (field 'dataset[].value'))
  SERVER changed_types OPTIONS (bucket_time_field 'dateTime', bucket_time_format 'text:YYYY-MM-DD', bucket_span '1 day');
SELECT * FROM hr;
SELECT * FROM hr WHERE ts >= '2024-05-01 00:01' ORDER BY ts DESC;

-- States of any type
CALL put('states', '[{"_id": 1, "item": "t", "ts": {"$date": "2024-05-01T10:00:00Z"}, "value": 20.5},
                     {"_id": 2, "item": "lamp", "ts": {"$date": "2024-05-01T10:00:00Z"}, "value": "ON"}]');
CREATE FOREIGN TABLE states (ts timestamptz, item text, value text OPTIONS (role 'attribute')) SERVER changed_types;
SELECT try('SELECT * FROM states');
SELECT try('SELECT count(*) FROM states WHERE value > ''1''');
SELECT try('SELECT count(*) FROM states WHERE value LIKE ''2%''');
SELECT try('SELECT count(*) FROM states WHERE value IS NOT NULL');
ALTER FOREIGN TABLE states ALTER value OPTIONS (ADD bson_type 'any');
SELECT item, value FROM states WHERE value > '1' ORDER BY value;
SELECT item FROM states WHERE value = '20.5';

-- One date beyond PostgreSQL's range
CALL put('far', '[{"ts": {"$date": "2024-05-01T10:00:00Z"}, "v": 1}, {"_id": 2, "ts": {"$date": {"$numberLong": "20240701000000000"}}, "v": 2}]');
CREATE FOREIGN TABLE far (ts timestamptz, v int) SERVER changed_types;
SELECT try('SELECT sum(v) FROM far');
SELECT try('SELECT v FROM far WHERE ts > now() - interval ''1 hour''');
SELECT v FROM far WHERE ts > '2024-01-01' AND ts < '2025-01-01';
ALTER FOREIGN TABLE far OPTIONS (ADD on_invalid 'skip');
SELECT v FROM far WHERE ts > '2024-01-01';
