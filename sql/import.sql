--
-- Tests IMPORT FOREIGN SCHEMA: for every documented layout the imported table
-- reads the same rows as the table declared by hand.
--
\set suite import
\i sql/include/suite.sql

CREATE SCHEMA imported;
CREATE FUNCTION instant(t timestamptz) RETURNS json LANGUAGE sql RETURN
  json_build_object('$date', to_char(t, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'));
-- Compare a table declared by hand with columns of the imported one.
CREATE FUNCTION compare(by_hand text, columns text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  missing bigint;
  surplus bigint;
  n bigint;
BEGIN
  EXECUTE format('SELECT count(*) FROM (TABLE import.%1$I EXCEPT ALL SELECT %2$s FROM imported.%1$I) d', by_hand, columns) INTO missing;
  EXECUTE format('SELECT count(*) FROM (SELECT %2$s FROM imported.%1$I EXCEPT ALL TABLE import.%1$I) d', by_hand, columns) INTO surplus;
  EXECUTE format('SELECT count(*) FROM imported.%I', by_hand) INTO n;
  RETURN CASE WHEN missing + surplus = 0 THEN format('the same %s rows', n)
              ELSE format('%s rows missing, %s rows too many', missing, surplus) END;
END $$;
-- How a table is declared
CREATE FUNCTION declared(name text) RETURNS SETOF text LANGUAGE sql AS $$
  SELECT concat_ws(' ', quote_ident(attname), format_type(atttypid, atttypmod), attfdwoptions::text)
    FROM pg_attribute WHERE attrelid = to_regclass('imported.' || quote_ident(name)) AND attnum > 0
  UNION ALL
  SELECT ftoptions::text FROM pg_foreign_table WHERE ftrelid = to_regclass('imported.' || quote_ident(name))
$$;

--
-- The layouts
--

-- One document per event
CREATE FOREIGN TABLE event (
  "timestamp" timestamptz,
  type        text,
  value       float8
) SERVER import;
SELECT json_agg(json_build_object('timestamp', instant('2013-10-10Z'::timestamptz + i * interval '7.25 s'),
    'type', 'type' || i % 3, 'value', CASE WHEN i % 2 = 0 THEN i ELSE i / 4.0 END)) AS documents
  FROM generate_series(1, 40) i \gset
CALL put('event', :'documents');

-- Minute, subdocument; pre-aggregates
CREATE FOREIGN TABLE minute (
  "timestamp" timestamptz OPTIONS (field 'timestamp_minute'),
  type        text,
  value       float8      OPTIONS (field 'values.{second}', sum_field 'total_samples')
) SERVER import OPTIONS (count_field 'num_samples');
SELECT json_agg(json_build_object('timestamp_minute', instant('2013-10-10 23:06Z'::timestamptz + m * interval '1 min'),
    'type', type, 'values', v, 'num_samples', n, 'total_samples', total)) AS documents
  FROM generate_series(0, 3) m, (VALUES ('memory_used'), ('memory_free')) t(type),
    LATERAL (SELECT json_object_agg(s, s * 1.5 + m), count(*), sum(s * 1.5 + m)
               FROM generate_series(m, 59, 5 + m) s) p(v, n, total) \gset
CALL put('minute', :'documents');

-- Hour, flat 0..3599
CREATE FOREIGN TABLE hour_flat (
  "timestamp" timestamptz OPTIONS (field 'timestamp_hour'),
  type        text,
  value       float8      OPTIONS (field 'values.{second}')
) SERVER import OPTIONS (bucket_span '1 hour');
SELECT json_agg(json_build_object('timestamp_hour', instant('2013-10-10 22:00Z'::timestamptz + h * interval '1 hour'),
    'type', 'memory_used', 'values', (SELECT json_object_agg(s, s) FROM generate_series(h, 3599, 97) s))) AS documents
  FROM generate_series(0, 3) h \gset
CALL put('hour_flat', :'documents');

-- Hour, nested
CREATE FOREIGN TABLE hour_nested (
  "timestamp" timestamptz OPTIONS (field 'timestamp_hour'),
  type        text,
  value       float8      OPTIONS (field 'values.{minute}.{second}')
) SERVER import;
SELECT json_agg(json_build_object('timestamp_hour', instant('2013-10-10 22:00Z'::timestamptz + h * interval '1 hour'),
    'type', type, 'values', (SELECT json_object_agg(m, (SELECT json_object_agg(s, m * s) FROM generate_series(h, 59, 20) s))
                               FROM generate_series(0, 20, 4) m))) AS documents
  FROM generate_series(0, 3) h, (VALUES ('a'), ('b')) t(type) \gset
CALL put('hour_nested', :'documents');

-- Day, three levels
CREATE FOREIGN TABLE day_nested (
  "timestamp" timestamptz,
  sensor      int,
  value       float8 OPTIONS (field 'series.{hour}.{minute}.{second}')
) SERVER import;
SELECT json_agg(json_build_object('timestamp', instant('2016-02-28Z'::timestamptz + d * interval '1 day'), 'sensor', d % 2,
    'series', (SELECT json_object_agg(h, (SELECT json_object_agg(m, json_build_object(m % 60, h + m)) FROM generate_series(h, 59, 30) m))
                 FROM generate_series(0, 20, 7) h))) AS documents
  FROM generate_series(0, 3) d \gset
CALL put('day_nested', :'documents');

-- Day, time as text, sparse unsorted minutes
CREATE FOREIGN TABLE day_text (
  "timestamp" timestamptz OPTIONS (field 'timestamp_day', format 'text:YYYY-MM-DD"T"HH24:MI:SS'),
  device      text,
  value       numeric     OPTIONS (field 'items.{hour}.{minute}')
) SERVER import;
CALL put('day_text', '[
  {"timestamp_day": "2021-03-04T00:00:00", "device": "d1",
   "items": {"9": {"30": 3, "5": 2}, "0": {"59": 1}, "23": {"59": 4.5}}},
  {"timestamp_day": "2021-03-05T00:00:00", "device": "d1",
   "items": {"0": {"0": 5}}},
  {"timestamp_day": "2021-03-07T00:00:00", "device": "d2",
   "items": {"17": {"12": 5}, "3": {"45": 6}}}]');

-- Page views, $inc
CREATE FOREIGN TABLE views (
  "timestamp" timestamptz,
  page        text,
  views       bigint OPTIONS (field 'seconds.{second}')
) SERVER import OPTIONS (write_mode 'increment');
CALL put('views', '[
  {"timestamp": {"$date": "2020-01-01T00:00:00Z"}, "page": "/index.html", "seconds": {"0": {"$numberLong": "3"}, "17": 1}},
  {"timestamp": {"$date": "2020-01-01T00:01:00Z"}, "page": "/index.html", "seconds": {"0": 1, "31": 1, "59": 7}},
  {"timestamp": {"$date": "2020-01-01T00:04:00Z"}, "page": "/about.html", "seconds": {"9": 2}}]');

-- Stock prices
CREATE FOREIGN TABLE stock (
  d      timestamptz,
  symbol text,
  p      numeric OPTIONS (field 'p.{second}')
) SERVER import;
CALL put('stock', '[
  {"symbol": "MDB", "d": {"$date": "2019-11-01T09:30:00Z"},
   "p": {"0": 69.47, "1": {"$numberDecimal": "69.50"}, "59": 70}},
  {"symbol": "ORCL", "d": {"$date": "2019-11-01T09:30:00Z"}, "p": {"0": 54.5}},
  {"symbol": "ORCL", "d": {"$date": "2019-11-01T09:31:00Z"}, "p": {"0": 54.5, "30": 54.25}}]');

-- Size-based: several buckets a day, full at five points
CREATE FOREIGN TABLE sized (
  "time"   timestamptz OPTIONS (field 'samples[].time', format 'epoch'),
  sensor   int         OPTIONS (field 'sensor_id'),
  val      int         OPTIONS (field 'samples[].val'),
  quality  text        OPTIONS (field 'samples[].quality')
) SERVER import OPTIONS (bucket_time_field 'day', bucket_span '1 day',
  bucket_first_field 'first', bucket_last_field 'last',
  bucket_max_points '5', count_field 'nsamples');
SELECT json_agg(json_build_object('sensor_id', sensor, 'day', instant('2018-08-29Z'::timestamptz + d * interval '1 day'),
    'nsamples', n, 'first', 1535500800 + d * 86400 + b * 20000, 'last', 1535500800 + d * 86400 + b * 20000 + (n - 1) * 60,
    'samples', (SELECT json_agg(CASE WHEN i = 2 THEN json_build_object('time', 1535500800 + d * 86400 + b * 20000 + i * 60, 'val', i, 'quality', 'good')
                                     ELSE json_build_object('time', 1535500800 + d * 86400 + b * 20000 + i * 60, 'val', 50 + i) END)
                  FROM generate_series(0, n - 1) i))) AS documents
  FROM generate_series(0, 1) d, generate_series(3, 4) sensor, generate_series(0, 3) b, LATERAL (SELECT CASE b WHEN 3 THEN 2 ELSE 5 END) c(n) \gset
CALL put('sized', :'documents');

-- Bucket and computed pattern
CREATE FOREIGN TABLE computed (
  "timestamp" timestamptz OPTIONS (field 'measurements[].timestamp'),
  sensor_id   int,
  temperature float8      OPTIONS (field 'measurements[].temperature')
) SERVER import OPTIONS (bucket_time_field 'start_date', bucket_span '1 hour',
  bucket_last_field 'end_date', count_field 'transaction_count');
SELECT json_agg(json_build_object('sensor_id', 12345,
    'start_date', instant('2019-01-31 10:00Z'::timestamptz + h * interval '1 hour'),
    'end_date', instant('2019-01-31 10:59:59Z'::timestamptz + h * interval '1 hour'),
    'measurements', m, 'transaction_count', n, 'sum_temperature', total, 'min_temperature', least, 'max_temperature', greatest)) AS documents
  FROM generate_series(0, 2) h,
    LATERAL (SELECT json_agg(json_build_object('timestamp', instant('2019-01-31 10:00Z'::timestamptz + h * interval '1 hour' + i * interval '7 min'),
                                               'temperature', 40 + i / 2.0)), count(*), sum(40 + i / 2.0), min(40 + i / 2.0), max(40 + i / 2.0)
               FROM generate_series(h, 3 + 2 * h) i) p(m, n, total, least, greatest) \gset
CALL put('computed', :'documents');

-- Positional arrays, several metrics
CREATE FOREIGN TABLE positional (
  "time"      timestamptz OPTIONS (field 'events[{minute}][{second}].ts_ns', format 'epoch_ns'),
  host        text        OPTIONS (field 'tags.hostname'),
  usage_user  float8      OPTIONS (field 'events[{minute}][{second}].usage_user'),
  usage_idle  float8      OPTIONS (field 'events[{minute}][{second}].usage_idle')
) SERVER import OPTIONS (bucket_time_field 'key_id', bucket_time_format 'text:YYYYMMDD_HH24');
CALL put('positional', '[
  {"key_id": "20160101_03", "tags": {"hostname": "host_0"},
   "events": [
     [{"ts_ns": {"$numberLong": "1451617200000000000"}, "usage_user": 1.5, "usage_idle": 98},
      null,
      {"ts_ns": {"$numberLong": "1451617202000000000"}, "usage_user": 2}],
     null,
     [null,
      {"ts_ns": {"$numberLong": "1451617321500000000"}, "usage_user": 3, "usage_idle": null}]]},
  {"key_id": "20160101_04", "tags": {"hostname": "host_1"},
   "events": [null, [{"ts_ns": {"$numberLong": "1451620860000000000"}, "usage_user": 4, "usage_idle": 5}]]}]');

-- Offset inside the point
CREATE FOREIGN TABLE offsets (
  "time" timestamptz OPTIONS (field 'points[].offset', format 'offset:second'),
  metric text        OPTIONS (field '_id.metric'),
  sum    float8      OPTIONS (field 'points[].sum')
) SERVER import OPTIONS (bucket_time_field '_id.origin', bucket_span '1 minute');
CALL put('offsets', '[
  {"_id": {"metric": "m", "origin": {"$date": "2017-05-06T07:08:00Z"}},
   "points": [{"offset": 59, "sum": 3}, {"offset": 0, "sum": 1}, {"offset": 1.5, "sum": 2}]},
  {"_id": {"metric": "m", "origin": {"$date": "2017-05-06T07:10:00Z"}},
   "points": [{"offset": 12, "sum": 3}, {"offset": 40, "sum": 3}]}]');

-- Monthly, days count from 1, totals beside them
CREATE FOREIGN TABLE monthly (
  m     timestamptz OPTIONS (format 'text:YYYY:FMMM'),
  site  text,
  count int         OPTIONS (field 'd.{day:1}.{hour}.c')
) SERVER import;
CALL put('monthly', '[
  {"m": "2012:2", "site": "s", "c": 15,
   "d": {"c": 15,
         "1": {"c": 3, "0": {"c": 1}, "23": {"c": 2}},
         "29": {"c": 12, "7": {"c": 12}}}},
  {"m": "2012:10", "site": "s", "c": 4,
   "d": {"c": 4, "31": {"c": 4, "12": {"c": 4}}}},
  {"m": "2012:12", "site": "s", "c": 9,
   "d": {"c": 9, "31": {"c": 9, "23": {"c": 9}}}}]');

-- Metrics as keys, unpivoted
CREATE FOREIGN TABLE unpivoted (
  ts    timestamptz,
  type  text,
  value float8 OPTIONS (field 'values.{second}.{type}')
) SERVER import;
CALL put('unpivoted', '[
  {"ts": {"$date": "2022-07-08T09:10:00Z"},
   "values": {"0": {"temp": 20.5, "hum": 40}, "1": {"temp": 21}, "2": {}}},
  {"ts": {"$date": "2022-07-08T09:11:00Z"},
   "values": {"58": {"hum": 40}, "7": {"temp": 21, "wind": 3}}}]');

-- Parallel arrays
CREATE FOREIGN TABLE parallel_arrays (
  ts     timestamptz OPTIONS (field 'timestamps[]'),
  device text,
  value  float8      OPTIONS (field 'values[]')
) SERVER import;
CALL put('parallel_arrays', '[
  {"device": "a",
   "timestamps": [{"$date": "2022-07-08T00:00:00Z"}, {"$date": "2022-07-08T00:00:05Z"}],
   "values": [1.5, 2]},
  {"device": "b",
   "timestamps": [{"$date": "2022-07-09T00:00:00Z"}], "values": [null]}]');

-- The documents of a native time-series collection; the test newer imports a
-- real one.
CREATE FOREIGN TABLE native (
  ts     timestamptz,
  sensor int    OPTIONS (field 'meta.sensor'),
  value  float8
) SERVER import;
CALL put('native', '[
  {"ts": {"$date": "2023-01-01T00:00:00.001Z"}, "meta": {"sensor": 7}, "value": 1},
  {"ts": {"$date": "2023-01-01T00:00:00.002Z"}, "meta": {"sensor": 8}, "value": 2}]');

-- A unique index, also one on some fields, proves that an INSERT finds the
-- right bucket.  A sparse one does not, nor does the index on _id.  Without a
-- proof, tables are read-only.
SELECT mongo_ts_create_index('minute');
SELECT mongo_ts_command('import', '{"createIndexes": "positional", "indexes": [{"key": {"key_id": 1}, "name": "i", "unique": true}]}')->'ok' AS ok;
SELECT mongo_ts_command('import', '{"createIndexes": "hour_flat", "indexes": [{"key": {"type": 1, "timestamp_hour": 1}, "name": "i", "unique": true, "sparse": true}]}')->'ok' AS ok;
-- The import does not depend on the session's time zone.
SET TimeZone = 'America/New_York';
IMPORT FOREIGN SCHEMA mts_regress_import FROM SERVER import INTO imported OPTIONS (updatable 'true');
SET TimeZone = 'UTC';
\pset format unaligned
\pset tuples_only on
SELECT compare('event', '"timestamp", type, value');
SELECT declared('event');
SELECT compare('minute', 'timestamp_minute, type, "values"');
SELECT declared('minute');
SELECT compare('hour_flat', 'timestamp_hour, type, "values"');
SELECT declared('hour_flat');
SELECT compare('hour_nested', 'timestamp_hour, type, "values"');
SELECT declared('hour_nested');
SELECT compare('day_nested', '"timestamp", sensor, series');
SELECT declared('day_nested');
SELECT compare('day_text', 'timestamp_day, device, items::numeric');
SELECT declared('day_text');
SELECT compare('views', '"timestamp", page, seconds');
SELECT declared('views');
SELECT compare('stock', 'd, symbol, p');
SELECT declared('stock');
SELECT compare('sized', '"time", sensor_id, val, quality');
SELECT declared('sized');
SELECT compare('computed', '"timestamp", sensor_id, temperature');
SELECT declared('computed');
SELECT compare('positional', 'ts_ns, tags_hostname, usage_user, usage_idle');
SELECT declared('positional');
SELECT compare('offsets', '"offset", metric, sum');
SELECT declared('offsets');
SELECT compare('monthly', 'm, site, c');
SELECT declared('monthly');
SELECT compare('unpivoted', 'ts, values_key, "values"');
SELECT declared('unpivoted');
SELECT compare('parallel_arrays', 'timestamps, device, "values"');
SELECT declared('parallel_arrays');
SELECT compare('native', 'ts, meta_sensor, value');

--
-- Reading and writing through imported tables
--
\pset format aligned
\pset tuples_only off
SET search_path = imported, import, public;
-- Conditions, aggregates and pre-aggregates are shipped as usual.
EXPLAIN (COSTS OFF)
SELECT * FROM minute WHERE type = 'memory_used' AND timestamp_minute >= '2013-10-10 23:07:59' AND timestamp_minute < '2013-10-10 23:08:01';
SELECT type, count(*), sum("values") FROM minute GROUP BY type ORDER BY type;
-- Inserted rows find their buckets, and the pre-aggregates stay true.
INSERT INTO minute VALUES ('2013-10-10 23:06:01', 'memory_used', 100);
ALTER FOREIGN TABLE sized OPTIONS (SET updatable 'true');
INSERT INTO sized VALUES ('2018-08-29 20:00:00', 3, 7, 'new');
INSERT INTO event (type, value, "timestamp") VALUES ('new', 1, '2014-01-01');
SELECT mongo_ts_command('import', '{"find": "minute", "filter": {"type": "memory_used"},
  "projection": {"_id": 0, "num_samples": 1, "total_samples": 1}, "sort": {"timestamp_minute": 1}, "limit": 1}')->'cursor'->'firstBatch' AS bucket;
SELECT mongo_ts_command('import', '{"find": "sized", "filter": {"samples.quality": "new"},
  "projection": {"_id": 0, "nsamples": 1, "first": 1, "last": 1, "sensor_id": 1}}')->'cursor'->'firstBatch' AS bucket;
SELECT * FROM import.sized WHERE quality = 'new';
SET search_path = import, public;

--
-- Which tables are imported
--
CREATE FUNCTION tables(schema text) RETURNS text LANGUAGE sql AS $$
  SELECT string_agg(relname, ' ' ORDER BY relname COLLATE "C") FROM pg_class
   WHERE relnamespace = schema::regnamespace AND relkind = 'f'
$$;
CREATE SCHEMA part;
IMPORT FOREIGN SCHEMA mts_regress_import LIMIT TO (stock, event, "not there") FROM SERVER import INTO part;
SELECT tables('part');
IMPORT FOREIGN SCHEMA mts_regress_import EXCEPT (event, stock, monthly, offsets, unpivoted, parallel_arrays) FROM SERVER import INTO part;
SELECT tables('part');
-- A name that differs by case is an error.
IMPORT FOREIGN SCHEMA mts_regress_import LIMIT TO ("Stock") FROM SERVER import INTO part;
-- An existing table is an error.
IMPORT FOREIGN SCHEMA mts_regress_import LIMIT TO (stock) FROM SERVER import INTO part;
SET client_min_messages = warning;
DROP SCHEMA part CASCADE;
RESET client_min_messages;
-- A database other than the server's, or without one of the server, is
-- declared.
CREATE SCHEMA part;
CREATE SERVER bare FOREIGN DATA WRAPPER mongo_ts_fdw OPTIONS (uri :'uri');
CREATE USER MAPPING FOR PUBLIC SERVER bare;
IMPORT FOREIGN SCHEMA mts_regress_import LIMIT TO (stock) FROM SERVER bare INTO part;
SELECT ftoptions FROM pg_foreign_table WHERE ftrelid = 'part.stock'::regclass;
SELECT count(*) FROM part.stock;
-- A database that doesn't exist is empty, as in MongoDB.
IMPORT FOREIGN SCHEMA mts_regress_nowhere FROM SERVER import INTO part;
-- Options
IMPORT FOREIGN SCHEMA mts_regress_import FROM SERVER import INTO part OPTIONS (sample_size '0');
IMPORT FOREIGN SCHEMA mts_regress_import FROM SERVER import INTO part OPTIONS (sample_size '100001');
IMPORT FOREIGN SCHEMA mts_regress_import FROM SERVER import INTO part OPTIONS (sample_size '5x');
IMPORT FOREIGN SCHEMA mts_regress_import FROM SERVER import INTO part OPTIONS (samplesize '5');
IMPORT FOREIGN SCHEMA mts_regress_import FROM SERVER import INTO part OPTIONS (sample_size '5', sample_size '6');
IMPORT FOREIGN SCHEMA mts_regress_import FROM SERVER import INTO part OPTIONS (updatable 'maybe');
IMPORT FOREIGN SCHEMA mts_regress_import FROM SERVER import INTO part OPTIONS (collection 'stock');
-- With fewer samples than documents, these are the first, the last, and runs in between.
IMPORT FOREIGN SCHEMA mts_regress_import LIMIT TO (hour_flat, hour_nested) FROM SERVER import INTO part OPTIONS (sample_size '2');
SELECT count(*) FROM part.hour_nested;
SET client_min_messages = warning;
DROP SERVER bare CASCADE;
DROP SCHEMA part CASCADE;
RESET client_min_messages;

--
-- Collections that are not series
--
SELECT mongo_ts_command('import', '{"dropDatabase": 1}')->'ok' AS dropped;
CREATE SCHEMA others;
-- Names are data: quoted, truncated, made unique.
CALL put('Wei"rd; DROP TABLE x; --', '[{"_id": 1, "a''b": 1, "c\"d": "x", "e\\f": 2, "g.h": 3,
  "*": 3, "": 4, "ctid": 5, "select": 6, "{minute}": 7, "x": {"v": 1}, "y": {"v": 2}, "v": 3,
  "A long name that has more than the sixty-three bytes of an identifier ü": 7,
  "A long name that has more than the sixty-three bytes of an identifier ö": 8}]');
CALL put('A collection whose name has more than the sixty-three bytes of an identifier', '[{"_id": 1}]');
CALL put('A collection whose name has more than the sixty-three bytes of an idol', '[{"_id": 2}]');
-- Types
CALL put('types', '[{"_id": 1, "i": 1, "l": {"$numberLong": "5"}, "d": 1.5, "n": {"$numberDecimal": "1.10"},
  "id": 1, "ld": {"$numberLong": "9007199254740993"}, "b": true,
  "o": {"$oid": "52573e3d0000000000000001"}, "u": {"$binary": {"base64": "AAAAAAAAAAAAAAAAAAAAAA==", "subType": "04"}},
  "y": {"$binary": {"base64": "AAAA", "subType": "00"}}, "a": [1, "x"], "nul": null, "m": 1, "s": "x",
  "t": {"$date": "2022-07-08T09:11:00Z"}, "t2": {"$date": "2022-07-08T09:12:00Z"}},
  {"_id": 2, "id": 1.5, "ld": 2.5, "m": "text"}]');
-- A hundred whole numbers suffice for an integer type.
SELECT json_agg(json_build_object('_id', i, 'whole', i)) AS documents FROM generate_series(1, 100) i \gset
CALL put('whole', :'documents');
CALL put('keyed', '[{"_id": 1, "scores": {"7": 1, "1200": 2}, "codes": {"01": 1}}]');
CALL put('posts', '[{"_id": 1, "title": "x", "comments": [{"at": {"$date": "2022-07-08T09:11:00Z"}, "text": "y"}]}]');
CALL put('places', '[{"_id": 1, "seen": {"$date": "2022-07-08T09:00:00Z"}, "at": {"type": "Point", "coordinates": [12.5, 47.25]}}]');
CALL put('100%Y', '[{"_id": 5}]');
CALL put('empty', '[{"_id": 1}]');
SELECT mongo_ts_command('import', '{"delete": "empty", "deletes": [{"q": {}, "limit": 0}]}')->'n' AS deleted;
-- Series with other fields
CALL put('mixed', '[{"_id": "config", "version": 3},
  {"ts": {"$date": "2022-07-08T09:10:00Z"}, "v": {"0": 1, "5": 2}},
  {"ts": {"$date": "2022-07-08T09:11:00Z"}, "v": {"10": 1, "59": 2}}]');
CALL put('two_widths', '[
  {"day": {"$date": "2022-07-08T00:00:00Z"}, "hourly": {"0": 3, "23": 4}, "minutes": {"0": 1, "1400": 2, "59": 7}},
  {"day": {"$date": "2022-07-09T00:00:00Z"}, "hourly": {"5": 3}, "minutes": {"300": 1, "301": 2}},
  {"day": {"$date": "2022-07-10T00:00:00Z"}, "hourly": {"5": 3}, "minutes": {"300": 1}}]');
CALL put('zipped', '[
  {"ts": {"$date": "2022-07-08T09:10:00Z"}, "temp": {"10": 21, "2": 20}, "hum": {"2": 40, "58": 41}},
  {"ts": {"$date": "2022-07-08T09:11:00Z"}, "hum": {"0": 42}}]');
CALL put('quarters', '[
  {"ts": {"$date": "2022-07-08T00:00:00Z"}, "v": {"1": {"0": 1, "14": 2}, "2": {"0": 3}, "96": {"14": 4}}}]');
CALL put('one_bucket', '[{"ts": {"$date": "2020-01-01T00:00:00Z"}, "v": {"0": 3, "17": 1}}]');
CALL put('malformed', '[
  {"ts": {"$date": "2022-07-08T09:10:00Z"}, "v": {"0": 1, "59": 2}},
  {"ts": {"$date": "2022-07-08T09:11:00Z"}, "v": {"60": 1}},
  {"ts": {"$date": "2022-07-08T09:12:00Z"}, "v": [1]}]');
-- Days of a time zone, with an hour more or less when clocks change
CALL put('berlin', '[
  {"day": {"$date": "2021-03-26T23:00:00Z"}, "v": {"0": 0, "23": 23}},
  {"day": {"$date": "2021-03-27T23:00:00Z"}, "v": {"0": 0, "1": 1, "22": 22}},
  {"day": {"$date": "2021-03-28T22:00:00Z"}, "v": {"0": 100}}]');
SET TimeZone = 'Europe/Berlin';
IMPORT FOREIGN SCHEMA mts_regress_import FROM SERVER import INTO others;
SET TimeZone = 'UTC';
SELECT tables('others');
\d others.*
\x
SELECT * FROM others."Wei""rd; DROP TABLE x; --";
SELECT * FROM others.types WHERE _id = 1;
\x
SELECT * FROM others."A collection whose name has more than the sixty-three bytes o_2";
SELECT * FROM others."100%Y";
SELECT * FROM others.mixed;
SELECT * FROM others.two_widths ORDER BY 1;
SELECT * FROM others.zipped ORDER BY 1;
SELECT * FROM others.quarters ORDER BY 1;
-- other declarations
ALTER FOREIGN TABLE others.one_bucket DROP COLUMN v_key, ALTER COLUMN v OPTIONS (SET field 'v.{second}');
SELECT * FROM others.one_bucket ORDER BY 1;
ALTER FOREIGN TABLE others.quarters ALTER COLUMN v OPTIONS (SET field 'v.{minute}.{second}');
SELECT * FROM others.quarters ORDER BY 1;
SELECT * FROM others.berlin ORDER BY 1;
ALTER FOREIGN TABLE others.berlin OPTIONS (ADD slot_clock 'local');
SELECT * FROM others.berlin WHERE day >= '2021-03-28' AND day < '2021-03-29' ORDER BY 1;
-- Keys that are hours of the local clock have one that such a day lacks.
SELECT json_agg(json_build_object('day', instant((date '2024-03-09' + d)::timestamp AT TIME ZONE 'America/New_York'),
    'v', (SELECT json_object_agg(h, h) FROM generate_series(0, 23) h WHERE d <> 1 OR h <> 2))) AS documents
  FROM generate_series(0, 2) d \gset
CALL put('newyork', :'documents');
SET TimeZone = 'America/New_York';
CREATE SCHEMA local;
IMPORT FOREIGN SCHEMA mts_regress_import LIMIT TO (newyork) FROM SERVER import INTO local;
SELECT * FROM local.newyork WHERE v = 3 ORDER BY 1;
SET TimeZone = 'UTC';
-- In another zone a notice says that days seem to begin at another hour.
CREATE SCHEMA elsewhere;
SELECT mongo_ts_command('import', '{"update": "berlin", "updates": [{"q": {"v.0": 100}, "u": {"$set": {"v.5": 5}}}]}')->'n' AS updated;
IMPORT FOREIGN SCHEMA mts_regress_import LIMIT TO (berlin) FROM SERVER import INTO elsewhere;
SELECT * FROM elsewhere.berlin ORDER BY 1;

--
-- Collections that are easily mistaken
--
SELECT mongo_ts_command('import', '{"dropDatabase": 1}')->'ok' AS dropped;
CREATE SCHEMA doubtful;
-- Pairs, weeks, quarters, half hours
CALL put('pairs', '[{"ts": {"$date": "2024-03-04T08:00:00Z"}, "data": [[{"$date": "2024-03-04T08:00:01Z"}, 31.16], [{"$date": "2024-03-04T08:00:02Z"}, 31]]}]');
SELECT json_agg(json_build_object('week', instant('2024-03-04Z'::timestamptz + w * interval '7 days'),
    'days', (SELECT json_object_agg(d, d * w) FROM generate_series(0, 6) d))) AS documents
  FROM generate_series(0, 4) w \gset
CALL put('weeks', :'documents');
SELECT json_agg(json_build_object('day', instant('2024-03-04Z'::timestamptz + d * interval '1 day'),
    'kwh', (SELECT json_object_agg(h, (SELECT json_object_agg(q, h + q / 4.0) FROM generate_series(0, 3) q)) FROM generate_series(0, 23) h))) AS documents
  FROM generate_series(0, 2) d \gset
CALL put('energy', :'documents');
SELECT json_agg(json_build_object('day', instant('2024-03-04Z'::timestamptz + d * interval '1 day'),
    'v', (SELECT json_agg(i + 0.5) FROM generate_series(0, 47) i))) AS documents
  FROM generate_series(0, 2) d \gset
CALL put('half_hours', :'documents');
SELECT json_agg(json_build_object('made', instant('2024-03-04 08:12:31Z'::timestamptz + d * interval '26:17:43'),
    'v', (SELECT json_agg(i / 64.0) FROM generate_series(0, 47) i))) AS documents
  FROM generate_series(0, 2) d \gset
CALL put('embedding', :'documents');
-- Bounds without a bucket time
CALL put('bounded', '[
  {"n": 2, "from": {"$date": "2024-03-04T08:00:01Z"}, "to": {"$date": "2024-03-04T08:10:01Z"},
   "s": [{"t": {"$date": "2024-03-04T08:00:01Z"}, "v": 1}, {"t": {"$date": "2024-03-04T08:10:01Z"}, "v": 2}]}]');
-- A word among numbers
SELECT json_agg(json_build_object('hour', instant('2024-03-04Z'::timestamptz + h * interval '1 hour'),
    'v', (SELECT json_object_agg(m, CASE WHEN m = 7 THEN to_json('n/a'::text) ELSE to_json(m + 0.5) END) FROM generate_series(0, 59) m)))
    AS documents
  FROM generate_series(0, 2) h \gset
CALL put('words', :'documents');
-- Text that looks like times, and a name with a placeholder
CALL put('texts', '[{"at": "04.03.2024 08:00:00"}, {"at": "04.03.2024 08:00:30"}]');
CALL put('offsets', '[{"at": "2024-03-04T08:00:00.000000500+01:00", "changed": {"$timestamp": {"t": 1709539200, "i": 1}}},
  {"at": "2024-03-04T08:00:30+01:00", "changed": {"$timestamp": {"t": 1709539201, "i": 1}}}]');
CALL put('5%_2024-03', '[{"_id": 1}]');
-- Text that is a time beside the time
CALL put('due', '[
  {"_id": 1, "day": {"$date": "2024-03-04T00:00:00Z"}, "expiry": "2024-04-22", "v": 1},
  {"_id": 2, "day": {"$date": "2024-03-05T00:00:00Z"}, "expiry": "2024-04-22", "v": 2}]');
CALL put('keyed', '[
  {"_id": {"host": "a", "n": 1}, "s": [{"t": {"$date": "2024-03-04T08:00:01Z"}, "v": 1}, {"t": {"$date": "2024-03-04T08:10:01Z"}, "v": 2}]},
  {"_id": {"host": "a", "n": 2}, "s": [{"t": {"$date": "2024-03-04T08:20:01Z"}, "v": 3}]}]');
IMPORT FOREIGN SCHEMA mts_regress_import FROM SERVER import INTO doubtful;
\d doubtful.*
ALTER FOREIGN TABLE doubtful.due ALTER COLUMN day OPTIONS (ADD role 'time'), ALTER COLUMN expiry TYPE timestamp with time zone, ALTER COLUMN expiry OPTIONS (ADD format 'text:YYYY-MM-DD', ADD role 'key');
SELECT * FROM doubtful.due ORDER BY 1;
SELECT count(v), avg(v) FROM doubtful.words;
SELECT at, changed FROM doubtful.offsets ORDER BY at;
SELECT * FROM doubtful.weeks WHERE week >= '2024-03-17' AND week < '2024-03-20' ORDER BY 1;
SELECT * FROM doubtful.energy WHERE day >= '2024-03-05 03:30' AND day < '2024-03-05 04:15' ORDER BY 1;
SELECT * FROM doubtful.half_hours ORDER BY day LIMIT 2;
ALTER FOREIGN TABLE doubtful.energy ALTER COLUMN kwh OPTIONS (SET field 'kwh.{hour}.{minute}');
SELECT * FROM doubtful.energy WHERE day >= '2024-03-05 03:02' AND day < '2024-03-05 04:01' ORDER BY 1;
ALTER FOREIGN TABLE doubtful.half_hours ALTER COLUMN v OPTIONS (SET field 'v[{minute}]');
SELECT * FROM doubtful.half_hours ORDER BY day LIMIT 2;
-- Tables are read-only, unless the statement says otherwise.
INSERT INTO doubtful.energy VALUES ('2024-03-05', 1);
INSERT INTO doubtful.weeks VALUES ('2024-03-17', 1);
INSERT INTO doubtful.bounded (t, v) VALUES ('2024-03-04 08:05', 1);
-- Options that resolve the doubts
ALTER FOREIGN TABLE doubtful.bounded OPTIONS (ADD count_field 'n');
ALTER FOREIGN TABLE doubtful.bounded OPTIONS (ADD bucket_max_points '2');
ALTER FOREIGN TABLE doubtful.bounded OPTIONS (SET updatable 'true');
INSERT INTO doubtful.bounded (t, v) VALUES ('2024-03-04 08:20', 3), ('2024-03-04 08:21', 4), ('2024-03-04 08:22', 5);
SELECT bucket - '_id' AS bucket FROM jsonb_path_query(mongo_ts_command('import', '{"find": "bounded", "sort": {"from": 1}}'), '$.cursor.firstBatch[*]') AS bucket;

--
-- Names, groups and keys
--
SELECT mongo_ts_command('import', '{"dropDatabase": 1}')->'ok' AS dropped;
CREATE SCHEMA names;
CREATE SCHEMA folded;
-- Numbers that are names are values of a column.
CALL put('http', '[
  {"ts": {"$date": "2024-01-01T00:00:00Z"}, "n": {"200": 9, "404": 1, "503": 0}},
  {"ts": {"$date": "2024-01-01T01:00:00Z"}, "n": {"200": 7, "404": 2, "503": 1}},
  {"ts": {"$date": "2024-01-01T02:00:00Z"}, "n": {"200": 8, "404": 0, "503": 0}}]');
-- The manual's report, whose inner keys are minutes of the day
CALL put('hierarchical', '[
  {"date": {"$date": "2010-10-10T00:00:00Z"}, "minute": {"0": {"0": 1, "59": 2}, "1": {"60": 3, "119": 4}, "23": {"1380": 5, "1439": 6}}},
  {"date": {"$date": "2010-10-11T00:00:00Z"}, "minute": {"0": {"0": 1, "59": 2}, "1": {"60": 3, "119": 4}, "23": {"1380": 5, "1439": 6}}}]');
-- Two resolutions are two tables.
CALL put('twores', '[
  {"res": "minute", "t": {"$date": "2024-01-01T00:00:00Z"}, "v": {"0": 1, "30": 2, "59": 3}},
  {"res": "minute", "t": {"$date": "2024-01-01T01:00:00Z"}, "v": {"0": 1, "30": 2, "59": 3}},
  {"res": "hour", "t": {"$date": "2024-01-01T00:00:00Z"}, "v": {"0": 1, "12": 2, "23": 3}},
  {"res": "hour", "t": {"$date": "2024-01-02T00:00:00Z"}, "v": {"0": 1, "12": 2, "23": 3}}]');
-- What tells documents apart is a key.
CALL put('futures', '[
  {"day": {"$date": "2024-01-01T00:00:00Z"}, "expiry": {"$date": "2025-06-15T00:00:00Z"}, "p": {"0": 1, "5": 2, "23": 3}},
  {"day": {"$date": "2024-01-01T00:00:00Z"}, "expiry": {"$date": "2025-09-15T00:00:00Z"}, "p": {"0": 4, "5": 5, "23": 6}},
  {"day": {"$date": "2024-01-02T00:00:00Z"}, "expiry": {"$date": "2025-06-15T00:00:00Z"}, "p": {"0": 1, "5": 2, "23": 3}},
  {"day": {"$date": "2024-01-02T00:00:00Z"}, "expiry": {"$date": "2025-09-15T00:00:00Z"}, "p": {"0": 4, "5": 5, "23": 6}}]');
-- Columns are in the order of the _id, which an INSERT writes.
CALL put('ids', '[
  {"_id": {"s": "a", "t": {"$date": "2024-01-01T00:00:00Z"}}, "v": {"0": 1, "30": 2, "59": 3}},
  {"_id": {"s": "a", "t": {"$date": "2024-01-01T01:00:00Z"}}, "v": {"0": 1, "30": 2, "59": 3}}]');
-- A field that may be the count is named.
CALL put('counted', '[
  {"day": {"$date": "2024-01-01T00:00:00Z"}, "n": 3, "p": {"0": 1, "5": 2, "23": 3}},
  {"day": {"$date": "2024-01-02T00:00:00Z"}, "n": 3, "p": {"0": 1, "5": 2, "23": 3}},
  {"day": {"$date": "2024-01-03T00:00:00Z"}, "n": 3, "p": {"0": 1, "5": 2, "23": 3}}]');
SELECT mongo_ts_command('import', '{"createIndexes": "ids", "indexes": [{"key": {"_id.s": 1, "_id.t": 1}, "name": "i", "unique": true}]}')->'ok' AS ok;
CALL put('alike', '[
  {"day": {"$date": "2024-01-01T00:00:00Z"}, "p": {"0": 1, "5": 2, "23": 3}},
  {"day": {"$date": "2024-01-01T00:00:00Z"}, "p": {"0": 4, "5": 5, "23": 6}}]');
SELECT mongo_ts_command('import', '{"createIndexes": "futures", "indexes": [{"key": {"day": 1, "expiry": 1}, "name": "i", "unique": true}]}')->'ok' AS ok;
IMPORT FOREIGN SCHEMA mts_regress_import FROM SERVER import INTO names OPTIONS (updatable 'true');
\d names.*
SELECT * FROM names.http ORDER BY 1, 2 LIMIT 3;
SELECT date, minute FROM names.hierarchical ORDER BY 1;
SELECT * FROM names.twores_minute ORDER BY 1;
SELECT * FROM names.twores_hour ORDER BY 1;
INSERT INTO names.futures (day, p, expiry) VALUES ('2024-01-01 05:00Z', -99, '2025-09-15') RETURNING day, expiry, p;
SELECT day, expiry, p FROM names.futures WHERE day = '2024-01-01 05:00Z' ORDER BY 2;
INSERT INTO names.alike (day, p) VALUES ('2024-01-01 05:00Z', -99);
ALTER FOREIGN TABLE names.ids OPTIONS (SET updatable 'true');
INSERT INTO names.ids (s, t, v) VALUES ('a', '2024-01-01 00:07Z', 4);
SELECT mongo_ts_find('import', 'ids', '{"v.7": 4}');
DROP FOREIGN TABLE names.ids, names.counted;
SELECT mongo_ts_command('import', '{"drop": "counted"}')->'ok' AS ok;
SELECT mongo_ts_command('import', '{"drop": "ids"}')->'ok' AS ok;
-- An index that is not unique, or is on another field, proves nothing.
CALL put('plain', '[
  {"day": {"$date": "2024-01-01T00:00:00Z"}, "p": {"0": 1, "23": 3}},
  {"day": {"$date": "2024-01-02T00:00:00Z"}, "p": {"0": 4, "23": 6}}]');
SELECT mongo_ts_command('import', '{"createIndexes": "plain", "indexes": [{"key": {"day": 1}, "name": "i"}, {"key": {"p.0": 1}, "name": "j", "unique": true}]}')->'ok' AS ok;
\set VERBOSITY terse
IMPORT FOREIGN SCHEMA mts_regress_import LIMIT TO (plain) FROM SERVER import INTO names OPTIONS (updatable 'true');
\set VERBOSITY default
DROP FOREIGN TABLE names.plain;
SELECT mongo_ts_command('import', '{"drop": "plain"}')->'ok' AS ok;

-- LIMIT TO and EXCEPT name tables of groups, or the collection for all.
DROP FOREIGN TABLE names.twores_minute, names.twores_hour;
IMPORT FOREIGN SCHEMA mts_regress_import LIMIT TO (twores_hour) FROM SERVER import INTO names;
SELECT tables('names');
DROP FOREIGN TABLE names.twores_hour;
IMPORT FOREIGN SCHEMA mts_regress_import LIMIT TO (twores) FROM SERVER import INTO names;
SELECT tables('names');
IMPORT FOREIGN SCHEMA mts_regress_import LIMIT TO ("Twores_hour") FROM SERVER import INTO names;
DROP FOREIGN TABLE names.http, names.futures, names.alike, names.hierarchical;
IMPORT FOREIGN SCHEMA mts_regress_import EXCEPT (twores, http, "Futures") FROM SERVER import INTO names;
SET client_min_messages = warning;
IMPORT FOREIGN SCHEMA mts_regress_import EXCEPT (twores, http, futures) FROM SERVER import INTO names;
RESET client_min_messages;
SELECT tables('names');
-- Option "case"
SELECT mongo_ts_command('import', '{"dropDatabase": 1}')->'ok' AS dropped;
CALL put('Readings', '[{"_id": 1, "sensorId": 7, "Value": 1.5, "value": 2}]');
IMPORT FOREIGN SCHEMA mts_regress_import FROM SERVER import INTO folded OPTIONS ("case" 'lower');
\d folded.*
DROP FOREIGN TABLE folded.readings;
IMPORT FOREIGN SCHEMA mts_regress_import FROM SERVER import INTO folded OPTIONS ("case" 'smart');
\d folded.*
SELECT * FROM folded.readings;
-- Names of collections that differ by case stay as they are.
DROP FOREIGN TABLE folded.readings;
CALL put('readings', '[{"_id": 2}]');
CALL put('Rooms', '[{"_id": 3}]');
IMPORT FOREIGN SCHEMA mts_regress_import FROM SERVER import INTO folded OPTIONS ("case" 'smart');
SELECT relname FROM pg_class WHERE relnamespace = 'folded'::regnamespace ORDER BY relname COLLATE "C";
SELECT mongo_ts_command('import', '{"drop": "readings"}')->'ok' AS ok;
IMPORT FOREIGN SCHEMA mts_regress_import FROM SERVER import INTO folded OPTIONS ("case" 'upper');
IMPORT FOREIGN SCHEMA mts_regress_import LIMIT TO (readings) FROM SERVER import INTO folded;
-- Both the collection's name and the table's select it.
DROP FOREIGN TABLE folded."Readings", folded.readings, folded.rooms;
IMPORT FOREIGN SCHEMA mts_regress_import LIMIT TO ("Readings", rooms) FROM SERVER import INTO folded OPTIONS (case 'smart');
SELECT relname FROM pg_class WHERE relnamespace = 'folded'::regnamespace ORDER BY relname COLLATE "C";

--
-- Keys and attributes
--
SELECT mongo_ts_command('import', '{"dropDatabase": 1}')->'ok' AS dropped;
CREATE SCHEMA identified;
-- What describes a document is an attribute: a second INSERT of a minute finds
-- the document of the first one by its sensor and hour.
SELECT json_agg(json_build_object('sensorId', 'S' || s, 'hour', instant('2024-03-01Z'::timestamptz + h * interval '1 hour'),
    'site', 'site ' || s % 2, 'fw', '1.' || h / 4, 'battery', 90 - h - s, 'readings', (SELECT json_object_agg(m, m + s) FROM generate_series(0, 59) m), '__v', 0)) AS documents
  FROM generate_series(0, 9) h, generate_series(1, 4) s \gset
CALL put('mongoose', :'documents');
-- Of several sets the fields of an index are the key, and a unique index decides.
SELECT json_agg(json_build_object('serial', 'X' || s, 'device', 'D' || s, 'hour', instant('2024-03-01Z'::timestamptz + h * interval '1 hour'),
    'readings', (SELECT json_object_agg(m, m + s) FROM generate_series(0, 59) m))) AS documents
  FROM generate_series(0, 9) h, generate_series(1, 4) s \gset
CALL put('both', :'documents');
CALL put('indexed', :'documents');
CALL put('decided', :'documents');
SELECT mongo_ts_command('import', '{"createIndexes": "indexed", "indexes": [{"key": {"device": 1}, "name": "i"}]}')->'ok' AS ok;
SELECT mongo_ts_command('import', '{"createIndexes": "decided", "indexes": [{"key": {"device": 1, "serial": 1, "hour": 1}, "name": "i", "unique": true}]}')->'ok' AS ok;
-- A unique index also decides which field is the time.
SELECT json_agg(json_build_object('installed', instant('2020-01-01Z'::timestamptz + s * interval '1 day'), 'meter', 'M' || s,
    'day', instant('2024-03-01Z'::timestamptz + d * interval '1 day'), 'kwh', (SELECT json_object_agg(h, h + s) FROM generate_series(0, 23) h))) AS documents
  FROM generate_series(0, 1) d, generate_series(1, 15) s \gset
CALL put('meters', :'documents');
SELECT mongo_ts_command('import', '{"createIndexes": "meters", "indexes": [{"key": {"meter": 1, "day": 1}, "name": "i", "unique": true}]}')->'ok' AS ok;
IMPORT FOREIGN SCHEMA mts_regress_import FROM SERVER import INTO identified OPTIONS (updatable 'true', time_column 'ts', "case" 'lower');
\d identified.*
SELECT mongo_ts_create_index('identified.mongoose');
ALTER FOREIGN TABLE identified.mongoose OPTIONS (SET updatable 'true');
INSERT INTO identified.mongoose (ts, sensorid, readings) VALUES ('2024-03-01 00:00Z', 'S1', 77);
SELECT * FROM identified.mongoose WHERE ts = '2024-03-01 00:00Z' AND sensorid = 'S1';
SELECT * FROM mongo_ts_check('identified.mongoose');
-- Columns can be renamed, also that of the keys of a slot.
CALL put('codes', '[{"hour": {"$date": "2024-01-01T00:00:00Z"}, "counts": {"200": 9, "404": 1}}]');
SET client_min_messages = warning;
IMPORT FOREIGN SCHEMA mts_regress_import LIMIT TO (codes) FROM SERVER import INTO identified;
RESET client_min_messages;
ALTER FOREIGN TABLE identified.codes RENAME COLUMN hour TO ts;
ALTER FOREIGN TABLE identified.codes RENAME COLUMN counts_key TO status;
ALTER FOREIGN TABLE identified.codes RENAME COLUMN counts TO n;
SELECT ts, status, n FROM identified.codes ORDER BY 2;
-- Tables that exist
IMPORT FOREIGN SCHEMA mts_regress_import LIMIT TO (codes, mongoose) FROM SERVER import INTO identified OPTIONS (skip_existing 'true');
IMPORT FOREIGN SCHEMA mts_regress_import LIMIT TO (codes) FROM SERVER import INTO identified;

--
-- Samples of a large collection
--
-- They are the same in each import, and a rare field is said to be rare.
SELECT json_agg(json_build_object('_id', i, 'ts', instant('2024-03-01Z'::timestamptz + i * interval '7 seconds'), 'user', json_build_object('id', i % 7),
    CASE WHEN i % 700 = 5 THEN 'alarm' ELSE 'value' END, i)) AS documents FROM generate_series(1, 3000) i \gset
CALL put('rare', :'documents');
CREATE SCHEMA once;
CREATE SCHEMA twice;
IMPORT FOREIGN SCHEMA mts_regress_import LIMIT TO (rare) FROM SERVER import INTO once OPTIONS (sample_size '200');
IMPORT FOREIGN SCHEMA mts_regress_import LIMIT TO (rare) FROM SERVER import INTO twice OPTIONS (sample_size '200');
SELECT attname, attfdwoptions, count(*) FROM pg_attribute WHERE attrelid IN ('once.rare'::regclass, 'twice.rare'::regclass) AND attnum > 0
  GROUP BY 1, 2 ORDER BY 1;
-- With texts and ObjectIds, too
SELECT json_agg(json_build_object('_id', 'sensor' || i % 50 || ':' || i, 'v', i)) AS documents FROM generate_series(1, 300) i \gset
CALL put('text_ids', :'documents');
SELECT json_agg(json_build_object('v', i)) AS documents FROM generate_series(1, 300) i \gset
CALL put('object_ids', :'documents');
IMPORT FOREIGN SCHEMA mts_regress_import LIMIT TO (text_ids, object_ids) FROM SERVER import INTO once OPTIONS (sample_size '100');
\d once.text_ids
\d once.object_ids

-- A total is declared if it is one in all documents, also those that are not
-- sampled.  What MongoDB cannot compare is left out, too.
SELECT json_agg(json_build_object('_id', i, 'hour', instant('2024-03-01Z'::timestamptz + i * interval '1 hour'),
    'n', 1 + i % 3 + (i = 100)::int, 'total', (1 + i % 3) * i, 'least', i, 'most', i,
    'p', (SELECT json_agg(json_build_object('t', instant('2024-03-01Z'::timestamptz + i * interval '1 hour' + k * interval '1 minute'), 'v', i)) FROM generate_series(0, i % 3) k))) AS documents
  FROM generate_series(1, 300) i \gset
CALL put('totals', :'documents');
SELECT json_agg(json_build_object('_id', i, 'year', instant('2024-01-01Z'::timestamptz + i * interval '1 year'), 'last', 2024 + i || ':' || 9 - i % 3,
    'p', (SELECT json_agg(json_build_object('t', 2024 + i || ':' || k, 'v', i)) FROM generate_series(1, 9 - i % 3) k))) AS documents
  FROM generate_series(1, 50) i \gset
CALL put('months', :'documents');
IMPORT FOREIGN SCHEMA mts_regress_import LIMIT TO (totals, months) FROM SERVER import INTO once OPTIONS (sample_size '30');
\d once.totals
\d once.months

-- A count of the elements that are not null: an INSERT changes it, too.
SELECT json_agg(json_build_object('_id', i, 'hour', instant('2024-03-01Z'::timestamptz + i * interval '1 hour'), 'meta', json_build_object('n', 60 - i),
    'v', (SELECT json_agg(CASE WHEN k < 60 - i THEN k END) FROM generate_series(0, 59) k))) AS documents
  FROM generate_series(0, 20) i \gset
CALL put('padded', :'documents');
SELECT mongo_ts_command('import', '{"createIndexes": "padded", "indexes": [{"key": {"hour": 1}, "name": "i", "unique": true}]}')->'ok' AS ok;
IMPORT FOREIGN SCHEMA mts_regress_import LIMIT TO (padded) FROM SERVER import INTO once OPTIONS (updatable 'true');
\d once.padded
SELECT count(*), count(v), sum(v) FROM once.padded WHERE hour >= '2024-03-01 10:00Z';
INSERT INTO once.padded (hour, v) VALUES ('2024-03-01 20:45Z', 45), ('2024-03-01 21:02Z', 2);
DELETE FROM once.padded WHERE hour = '2024-03-01 20:39Z';
UPDATE once.padded SET v = -1 WHERE hour = '2024-03-01 20:38Z';
SELECT field, problem FROM mongo_ts_check('once.padded');
SELECT count(*), min(v) FROM once.padded WHERE hour >= '2024-03-01 20:00Z';
DROP FOREIGN TABLE once.padded;
-- Of some documents only: without an answer of MongoDB, or against one
SELECT mongo_ts_command('import', '{"update": "padded", "updates": [{"q": {"_id": 12}, "u": {"$set": {"meta.n": 7}}}]}')->'nModified' AS n;
IMPORT FOREIGN SCHEMA mts_regress_import LIMIT TO (padded) FROM SERVER import INTO once OPTIONS (sample_size '8');
\d once.padded
-- Counts of one of several values: no option declares them, so the table is read-only.
SELECT json_agg(json_build_object('_id', i, 'hour', instant('2024-03-01Z'::timestamptz + i * interval '1 hour'), 'n', i % 7 + 50,
    'a', (SELECT json_agg(CASE WHEN k < i % 7 + 50 THEN k END) FROM generate_series(0, 59) k),
    'b', (SELECT json_agg(k) FROM generate_series(0, 59) k))) AS documents
  FROM generate_series(0, 20) i \gset
CALL put('half', :'documents');
SELECT mongo_ts_command('import', '{"createIndexes": "half", "indexes": [{"key": {"hour": 1}, "name": "i", "unique": true}]}')->'ok' AS ok;
IMPORT FOREIGN SCHEMA mts_regress_import LIMIT TO (half) FROM SERVER import INTO once OPTIONS (updatable 'true');

-- Texts with another offset than the one that an INSERT writes
CALL put('abroad', '[{"at": "2025-03-10T06:01:00+01:00", "v": 1.5}, {"at": "2025-03-10T06:02:00+01:00", "v": 2.5}]');
CALL put('utc', '[{"at": "2025-03-10T06:01:00.5+00:00", "v": 1.5}, {"at": "2025-03-10T06:02:00Z", "v": 2.5}]');
IMPORT FOREIGN SCHEMA mts_regress_import LIMIT TO (abroad, utc) FROM SERVER import INTO once OPTIONS (updatable 'true');
INSERT INTO once.abroad (at, v) VALUES ('2025-03-10 06:03+01', 3);
INSERT INTO once.utc (at, v) VALUES ('2025-03-10 06:03+00', 3);
SELECT at, v FROM once.abroad UNION ALL SELECT at, v FROM once.utc;

-- A field that takes the option of one that is not proved is proved, too.
SELECT json_agg(json_build_object('_id', i, 'hour', instant('2024-03-01Z'::timestamptz + i * interval '1 hour'),
    'n', CASE i WHEN 100 THEN 99 ELSE 1 + i % 3 END, 'cnt', CASE i WHEN 100 THEN 99 ELSE 1 + i % 3 END, 'size', 1 + i % 3,
    'lo', CASE i WHEN 100 THEN -5 ELSE i END, 'least', CASE i WHEN 100 THEN -5 ELSE i END,
    'until', instant('2024-03-01Z'::timestamptz + i * interval '1 hour' + CASE i WHEN 100 THEN 0 ELSE i % 3 END * interval '1 minute'),
    'till', instant('2024-03-01Z'::timestamptz + i * interval '1 hour' + CASE i WHEN 100 THEN 0 ELSE i % 3 END * interval '1 minute'),
    'p', (SELECT json_agg(json_build_object('t', instant('2024-03-01Z'::timestamptz + i * interval '1 hour' + k * interval '1 minute'), 'v', i + k)) FROM generate_series(0, i % 3) k))) AS documents
  FROM generate_series(1, 300) i \gset
CALL put('twins', :'documents');
IMPORT FOREIGN SCHEMA mts_regress_import LIMIT TO (twins) FROM SERVER import INTO once OPTIONS (sample_size '30');
\d once.twins

--
-- Collections whose names have a date could be one table.
--
SELECT mongo_ts_command('import', '{"dropDatabase": 1}')->'ok' AS dropped;
CREATE SCHEMA dated;
SELECT json_agg(json_build_object('host', 'h', 'day', instant('2024-01-01Z'::timestamptz + i * interval '1 day'), 'load', (SELECT json_object_agg(h, h) FROM generate_series(0, 23) h))) AS documents
  FROM generate_series(0, 2) i \gset
CALL put('load_202401', :'documents');
SELECT json_agg(json_build_object('host', 'h', 'day', instant('2024-02-01Z'::timestamptz + i * interval '1 day'), 'load', (SELECT json_object_agg(h, h) FROM generate_series(0, 23) h))) AS documents
  FROM generate_series(0, 2) i \gset
CALL put('load_202402', :'documents');
CALL put('x2024-01-31', '[{"_id": 1}]');
CALL put('x2024-02-01', '[{"_id": 1}]');
CALL put('x2024-02-31', '[{"_id": 1}]');
CALL put('y20240131_07', '[{"_id": 1}]');
IMPORT FOREIGN SCHEMA mts_regress_import FROM SERVER import INTO dated;
ALTER FOREIGN TABLE dated.load_202401 OPTIONS (SET collection 'load_%Y%m');
SELECT count(*), min(day), max(day) FROM dated.load_202401;

-- Names that change, times in one form, and a count that is always the same
SELECT mongo_ts_command('import', '{"dropDatabase": 1}')->'ok' AS dropped;
CREATE SCHEMA changed;
CALL put('Foo', '[{"_id": 1, "at": "2024-01-01T00:00:00.125+00:00", "v": 1.5}]');
CALL put('foo', '[{"_id": 1, "at": "2024-01-01T00:00:00+00:00", "v": 1.5}]');
CALL put('called', '[{"_id": 1, "ts": "a", "at": {"$date": "2024-01-01T00:00:00Z"}},
  {"_id": 2, "ts": "b", "at": {"$date": "2024-01-01T00:00:01Z"}}]');
CALL put('meant', '[{"_id": 1, "ts": 1704067200123, "created": {"$date": "2024-01-01T00:00:00Z"}, "day": {"$date": "2024-01-01T00:00:00Z"}}]');
SELECT json_agg(json_build_object('_id', i, 'hour', instant('2024-01-01Z'::timestamptz + i * interval '1 hour'), 'n', 60,
  'v', (SELECT json_object_agg(m, m) FROM generate_series(0, 59) m))) AS documents FROM generate_series(0, 3) i \gset
CALL put('full', :'documents');
IMPORT FOREIGN SCHEMA mts_regress_import FROM SERVER import INTO changed OPTIONS (case 'lower', time_column 'ts');
\d changed.foo
\d changed.foo_2
\d changed.meant
\d changed.full
SELECT ts, v FROM changed.foo UNION ALL SELECT ts, v FROM changed.foo_2;

-- Points that are arrays cannot be written
CREATE SCHEMA pairs;
SELECT json_agg(json_build_object('_id', i, 'hour', instant('2024-01-01Z'::timestamptz + i * interval '1 hour'), 'dev', 'a',
  'points', (SELECT json_agg(json_build_array(instant('2024-01-01Z'::timestamptz + i * interval '1 hour' + m * interval '3 minutes'), m + 0.5))
    FROM generate_series(0, 19) m))) AS documents FROM generate_series(0, 3) i \gset
CALL put('pairs', :'documents');
IMPORT FOREIGN SCHEMA mts_regress_import LIMIT TO (pairs) FROM SERVER import INTO pairs OPTIONS (updatable 'true');
SELECT mongo_ts_command('import', '{"drop": "pairs"}')->'ok' AS dropped;

-- Collections of roll-ups are imported if they are named.
SELECT mongo_ts_command('import', '{"dropDatabase": 1}')->'ok' AS dropped;
CREATE SCHEMA rolled;
CREATE FOREIGN TABLE of_hours (hour timestamptz, v float8 OPTIONS (field 'v.{minute}')) SERVER import;
INSERT INTO of_hours SELECT timestamptz '2024-01-01Z' + i * interval '1 minute', i + 0.5 FROM generate_series(0, 299) i;
SELECT mongo_ts_create_rollup('of_hours', '1 hour');
SELECT mongo_ts_refresh_rollup('of_hours_1h') IS NOT NULL AS refreshed;
CALL put('of_hours_1d', '[{"_id": 1, "x": 1}]');
IMPORT FOREIGN SCHEMA mts_regress_import FROM SERVER import INTO rolled;
IMPORT FOREIGN SCHEMA mts_regress_import EXCEPT (of_hours_1h, of_hours, of_hours_1d) FROM SERVER import INTO rolled;
SELECT relname FROM pg_class WHERE relnamespace = 'rolled'::regnamespace ORDER BY 1;
IMPORT FOREIGN SCHEMA mts_regress_import LIMIT TO (of_hours_1h) FROM SERVER import INTO rolled;
SELECT count(*) FROM rolled.of_hours_1h;
SELECT mongo_ts_suggest('import', 'of_hours_1h') LIKE '%of_hours_1h%' AS suggested;
DROP FOREIGN TABLE of_hours_1h, of_hours;

-- IMPORT requires USAGE on the server.
CREATE ROLE mts_regress_importer;
GRANT CREATE, USAGE ON SCHEMA elsewhere TO mts_regress_importer;
SET ROLE mts_regress_importer;
IMPORT FOREIGN SCHEMA mts_regress_import FROM SERVER import INTO elsewhere;
RESET ROLE;
DROP OWNED BY mts_regress_importer;
DROP ROLE mts_regress_importer;
SELECT mongo_ts_command('import', '{"dropDatabase": 1}')->'ok' AS dropped;
