--
-- Tests points whose time is a time of day, in buckets that have the day.
--
\set suite time_of_day
\i sql/include/suite.sql

\pset format unaligned

-- IMPORT, reading, and ranges: days as text, seconds in the elements
CALL put('pulse', '[{"user": "u", "dateTime": "2024-05-01", "dataset": [{"time": "00:00:00", "value": 61}, {"time": "00:01:00", "value": 62}, {"time": "23:59:59", "value": 60}]},
                    {"user": "u", "dateTime": "2024-05-02", "dataset": [{"time": "00:00:00", "value": 63}, {"time": "07:30:15", "value": null}]},
                    {"user": "w", "dateTime": "2024-05-02", "dataset": [{"time": "12:00:00", "value": 70}]}]');
IMPORT FOREIGN SCHEMA mts_regress_time_of_day LIMIT TO (pulse) FROM SERVER time_of_day INTO time_of_day;
SELECT attname, attfdwoptions FROM pg_attribute WHERE attrelid = 'pulse'::regclass AND attnum > 0 ORDER BY attnum;
SELECT ftoptions FROM pg_foreign_table WHERE ftrelid = 'pulse'::regclass;
SELECT * FROM pulse ORDER BY 1, 2, 3;
SELECT * FROM pulse WHERE "time" >= '2024-05-01 23:00' AND "time" < '2024-05-02 07:30:15' ORDER BY 1, 2;
SELECT * FROM plan($$SELECT * FROM pulse WHERE "time" >= '2024-05-01 23:00' AND "time" < '2024-05-02 07:30:15'$$, ', VERBOSE');
SELECT max("time"), count(*) FROM pulse WHERE "time" < '2024-05-02';
SELECT * FROM pulse WHERE "user" = 'u' ORDER BY "time" DESC LIMIT 1;

-- Times of 24 elements win over their positions; parallel arrays; a month's first day
SELECT json_agg(json_build_object('day', json_build_object('$date', d || 'T00:00:00Z'), 'meter', 7, 'readings',
  (SELECT json_agg(json_build_object('hour', to_char(h, 'FM00') || ':00', 'kwh', h / 4.0) ORDER BY h) FROM generate_series(0, 23) h))) AS days
  FROM unnest('{2024-05-01, 2024-05-02}'::text[]) d \gset
CALL put('energy', :'days');
CALL put('columns', '[{"date": "2024-05-01", "times": ["05:00", "06:30", "23:59"], "kwh": [0.1, 0.2, 0.3]}]');
IMPORT FOREIGN SCHEMA mts_regress_time_of_day LIMIT TO (energy, columns) FROM SERVER time_of_day INTO time_of_day;
SELECT count(*), min("time"), max("time"), sum(kwh) FROM energy WHERE "time" > '2024-05-01 22:00';
SELECT * FROM columns;

-- Texts that are not times of day, and documents that are not days, have no such time
CALL put('scores', '[{"at": {"$date": "2024-05-01T00:00:00Z"}, "games": [{"score": "21:19", "n": 1.5}, {"score": "25:23", "n": 2.5}]}]');
CALL put('hours', '[{"at": {"$date": "2024-05-01T10:00:00Z"}, "p": [{"t": "10:01", "v": 1.5}]}, {"at": {"$date": "2024-05-01T11:00:00Z"}, "p": [{"t": "11:01", "v": 2.5}]}]');
SET client_min_messages = warning;
IMPORT FOREIGN SCHEMA mts_regress_time_of_day LIMIT TO (scores, hours) FROM SERVER time_of_day INTO time_of_day;
RESET client_min_messages;
SELECT attrelid::regclass, attname, attfdwoptions FROM pg_attribute
  WHERE attrelid IN ('scores'::regclass, 'hours'::regclass) AND array_to_string(attfdwoptions, ' ') LIKE '%format=time%';

-- Days of a zone; the day of a bucket whose time is an instant is the local one
CALL put('zoned', '[{"d": {"$date": "2024-03-30T23:00:00Z"}, "p": [{"t": "01:30", "v": 1}, {"t": "03:00", "v": 3}]},
                    {"d": {"$date": "2024-10-26T22:00:00Z"}, "p": [{"t": "01:30", "v": 1}, {"t": "02:30", "v": 2}, {"t": "03:30", "v": 3}]}]');
CREATE FOREIGN TABLE zoned (ts timestamptz OPTIONS (field 'p[].t', format 'time:HH24:MI'), v int OPTIONS (field 'p[].v'))
  SERVER time_of_day OPTIONS (bucket_time_field 'd', bucket_time_zone 'Europe/Berlin', batch_size '1');
SELECT * FROM zoned ORDER BY ts;
SELECT * FROM zoned WHERE ts BETWEEN '2024-10-27 01:30' AND '2024-10-27 01:59';
INSERT INTO zoned VALUES ('2024-10-26 23:00', 4), ('2024-10-27 22:59', 5), ('2024-10-27 23:00', 6);
SELECT mongo_ts_find('time_of_day', 'zoned', '{"d": {"$gte": {"$date": "2024-10-26T22:00:00Z"}}}') - '_id';
SELECT try($$INSERT INTO zoned VALUES ('2024-10-27 00:30', 7)$$);
CALL put('zoned', '[{"d": {"$date": "2024-03-30T23:00:00Z"}, "p": [{"t": "02:30", "v": 2}]}]');
SELECT try('SELECT * FROM zoned');

-- Writes: the text is written, and finer times are rounded down or refused
CREATE FOREIGN TABLE days (ts timestamptz OPTIONS (field 'p[].t', format 'time:HH24:MI'), s text COLLATE "C", v int OPTIONS (field 'p[].v'))
  SERVER time_of_day OPTIONS (bucket_time_field 'd', bucket_time_format 'text:YYYY-MM-DD', bucket_last_field 'last');
INSERT INTO days VALUES ('2024-05-01 05:00', 'a', 1), ('2024-05-01 23:59', 'a', 2), ('2024-05-02 00:00', 'a', 3);
SELECT try($$INSERT INTO days VALUES ('2024-05-01 05:00:01', 'a', 1)$$);
UPDATE days SET v = v + 10 WHERE ts = '2024-05-01 23:59';
DELETE FROM days WHERE ts < '2024-05-01 06:00';
SELECT * FROM days ORDER BY ts;
SELECT mongo_ts_find('time_of_day', 'days') - '_id';
INSERT INTO days VALUES ('2024-05-01 23:59', 'a', 9) ON CONFLICT DO NOTHING;
SELECT count(*) FROM days;

-- Invalid elements
CALL put('wrong', '[{"_id": 1, "d": "2024-05-01", "p": [{"t": "24:00"}]}, {"_id": 2, "d": "2024-05-01", "p": [{"t": "5:00"}]}, {"_id": 3, "d": "2024-05-01", "p": [{"t": "05:00:00"}]},
                    {"_id": 4, "d": "2024-05-01", "p": [{"t": 5}]}, {"_id": 5, "d": "2024-05-01", "p": [{"t": ""}]}, {"_id": 6, "d": "2024-05-01", "p": [{"t": null}]}]');
CREATE FOREIGN TABLE wrong (ts timestamptz OPTIONS (field 'p[].t', format 'time:HH24:MI'), n int OPTIONS (field '_id'), v int OPTIONS (field 'p[].v'))
  SERVER time_of_day OPTIONS (bucket_time_field 'd', bucket_time_format 'text:YYYY-MM-DD');
SELECT n, split_part(try(format('SELECT ts FROM wrong WHERE n = %s', n)), E'\n', 2) FROM generate_series(1, 6) n;
ALTER FOREIGN TABLE wrong OPTIONS (ADD on_invalid 'skip');
SELECT count(*) FROM wrong;

-- Declarations that do not fit
SELECT format, regexp_replace(try(format('CREATE FOREIGN TABLE refused (ts timestamptz OPTIONS (field ''p[].t'', format %L))
    SERVER time_of_day OPTIONS (bucket_time_field ''d'')', format)), '.*: "'||format||E'"\n', '')
  FROM unnest('{time:, "text:HH24:MI:SS", "text:--", "text:MM-DD", "text:YYYY-MM-DD HH24:MI TZ", "text:YYYY-MM-DD HH:MI", "text:YYYY-MM-DD HH12:MI AM",
    "time:YYYY-MM-DD HH24", "time:DD HH24", "time:HH:MI", "time:HH:MI am", "time:HH24.MI", "time:SSSSS"}'::text[]) format;
SELECT try('CREATE FOREIGN TABLE refused (ts timestamptz OPTIONS (field ''p[].t''), v int OPTIONS (field ''p[].v'')) SERVER time_of_day OPTIONS (bucket_time_field ''d'', bucket_time_format ''time:HH24'')');
SELECT try('CREATE FOREIGN TABLE refused (ts timestamptz, v int OPTIONS (field ''p.{text:HH24:MI}'')) SERVER time_of_day');
CREATE FOREIGN TABLE refused (ts timestamptz OPTIONS (format 'time:HH24'), v int OPTIONS (field 'p[].v')) SERVER time_of_day;
SELECT try('SELECT * FROM refused');
CREATE FOREIGN TABLE attribute (ts timestamptz OPTIONS (field 'p[].t', role 'time'), v timestamptz OPTIONS (field 'p[].v', format 'offset:second')) SERVER time_of_day;
SELECT try('SELECT * FROM attribute');
CREATE FOREIGN TABLE hourly (ts timestamptz OPTIONS (field 'p[].t', format 'time:HH24'), v int OPTIONS (field 'p[].v')) SERVER time_of_day OPTIONS (bucket_time_field 'd', bucket_span '1 hour');
SELECT try('SELECT * FROM hourly');
