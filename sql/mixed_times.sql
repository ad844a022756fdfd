--
-- Tests times that writers have stored in several BSON types.
--
\set suite mixed_times
\i sql/include/suite.sql

\pset format unaligned

-- Dates, texts and milliseconds of 1970 in turn, an hour apart
SELECT json_agg(json_build_object('_id', i, 'v', i, 'at', CASE i % 3
    WHEN 0 THEN json_build_object('$date', to_char(t, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
    WHEN 1 THEN to_json(to_char(t, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
    ELSE json_build_object('$numberDouble', (extract(epoch FROM t) * 1000)::bigint::text) END)) AS logs
  FROM (SELECT i, timestamp '2024-05-01' + i * interval '1 hour' FROM generate_series(0, 99) i) hours (i, t) \gset
CALL put('logs', :'logs');
SELECT mongo_ts_command('mixed_times', '{"createIndexes": "logs", "indexes": [{"key": {"at": 1}, "name": "at_1"}]}')->'ok' AS ok;
IMPORT FOREIGN SCHEMA mts_regress_mixed_times LIMIT TO (logs) FROM SERVER mixed_times INTO mixed_times;
SELECT attname, attfdwoptions FROM pg_attribute WHERE attrelid = 'logs'::regclass AND attnum > 0 ORDER BY attnum;

-- Each value is read as what it is, and a range finds all of them.
SELECT count(*), min(at), max(at), sum(v) FROM logs;
SELECT * FROM logs WHERE at >= '2024-05-02' AND at < '2024-05-02 05:00' ORDER BY at;
SELECT * FROM plan($$SELECT v FROM logs WHERE at >= '2024-05-02' AND at < '2024-05-02 05:00'$$, ', VERBOSE');
SELECT * FROM logs ORDER BY at DESC LIMIT 2;
SELECT * FROM logs WHERE at = '2024-05-02 01:00' OR at IN ('2024-05-02 02:00', '2024-05-02 03:00') ORDER BY at;
SELECT date_trunc('day', at) AS day, count(*), sum(v) FROM logs WHERE at > '2024-05-03' GROUP BY 1 ORDER BY 1;

-- One scan of the index has bounds of each type.
SELECT json_build_object('explain', json_build_object('find', 'logs', 'filter', json_build_object('$and', json_build_array(
    '{"at": {"$not": {"$lt": {"$date": "2024-05-02T00:00:00Z"}}}}'::json, '{"at": {"$not": {"$gte": {"$date": "2024-05-02T05:00:00Z"}}}}'::json,
    '{"at": {"$not": {"$lt": "2024-05-02T00:00:00.000Z"}}}'::json, '{"at": {"$not": {"$gte": "2024-05-02T05:00:00.000Z"}}}'::json,
    '{"at": {"$not": {"$lte": 1714607999999}}}'::json, '{"at": {"$not": {"$gte": 1714626000000}}}'::json, '{"at": {"$ne": null}}'::json)))) AS query \gset
SELECT plan->'executionStats'->'nReturned' AS documents, (plan->'executionStats'->>'totalKeysExamined')::int < 20 AS few_keys,
       plan->'executionStats'->'totalDocsExamined' AS read
  FROM mongo_ts_command('mixed_times', :'query') plan;

-- Other types, and texts and numbers that are not such times, are errors.
CREATE FUNCTION with_document(at text, query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  result text;
BEGIN
  PERFORM mongo_ts_command('mixed_times', format('{"insert": "logs", "documents": [{"_id": -1, "v": 0, "at": %s}]}', at)::json);
  result = split_part(try(query), E'\n', 2);
  PERFORM mongo_ts_command('mixed_times', '{"delete": "logs", "deletes": [{"q": {"_id": -1}, "limit": 1}]}');
  RETURN result;
END $$;
SELECT at, with_document(at, 'SELECT v FROM logs WHERE at >= ''2030-01-01''') FROM unnest('{true, "{\"x\": 1}", "\"tomorrow\"", "{\"$numberDouble\": \"NaN\"}", "null"}'::text[]) at;

-- A sorted pattern, and ISO 8601 with any offset; local times in a zone
CALL put('offsets', '[{"at": {"$date": "2024-05-01T10:00:00Z"}, "v": 1}, {"at": "2024-05-01T13:00:00+02:00", "v": 2}, {"at": "2024-05-01T12:00Z", "v": 4}]');
CALL put('local', '[{"at": {"$date": "2024-05-01T10:00:00Z"}, "v": 1}, {"at": "2024-05-01 13:00:00", "v": 2}, {"at": 1714564800, "v": 4}]');
IMPORT FOREIGN SCHEMA mts_regress_mixed_times LIMIT TO (offsets, local) FROM SERVER mixed_times INTO mixed_times;
SELECT at, v FROM offsets WHERE at > '2024-05-01 10:30' ORDER BY at;
SELECT at, v FROM local WHERE at > '2024-05-01 10:30' ORDER BY at;
ALTER FOREIGN TABLE local OPTIONS (ADD bucket_time_zone 'Europe/Berlin');
SELECT at, v FROM local WHERE at > '2024-05-01 10:30' ORDER BY at;

-- Writes use the first format.  Rows of all formats are changed and deleted.
CREATE FOREIGN TABLE written (at timestamptz OPTIONS (format 'epoch_ms or date or iso8601'), v int) SERVER mixed_times OPTIONS (collection 'logs');
INSERT INTO written (at, v) VALUES ('2024-06-01', 100);
SELECT mongo_ts_find('mixed_times', 'logs', '{"v": 100}') - '_id';
UPDATE written SET v = v + 1000 WHERE at >= '2024-05-05 01:00';
UPDATE written SET at = at + interval '1 minute' WHERE v = 1099;
SELECT at, v FROM written WHERE v > 1000 ORDER BY 1;
DELETE FROM written WHERE at < '2024-05-05 01:00';
SELECT count(*), min(v) FROM written;

-- Buckets, bounds and elements
CALL put('buckets', '[{"h": {"$date": "2024-05-01T10:00:00Z"}, "v": {"0": 1}}, {"h": "2024-05-01T11:00:00Z", "v": {"0": 2, "59": 4}}, {"h": 1714564800, "v": {"0": 8}}]');
CREATE FOREIGN TABLE buckets (ts timestamptz OPTIONS (field 'h', format 'date or epoch or iso8601'), v int OPTIONS (field 'v.{minute}')) SERVER mixed_times;
SELECT * FROM buckets WHERE ts > '2024-05-01 11:00' ORDER BY ts;
SELECT max(ts), sum(v) FROM buckets WHERE ts < '2024-05-01 12:00';
SELECT try($$INSERT INTO buckets VALUES ('2024-05-01 13:00', 1)$$);
CALL put('elements', '[{"first": "2024-05-01T10:00:00Z", "last": {"$date": "2024-05-01T10:01:00Z"}, "p": [{"t": {"$date": "2024-05-01T10:00:00Z"}, "v": 1}, {"t": "2024-05-01T10:01:00Z", "v": 2}]}]');
CREATE FOREIGN TABLE elements (ts timestamptz OPTIONS (field 'p[].t', format 'date or iso8601', role 'time'), v int OPTIONS (field 'p[].v')) SERVER mixed_times;
SELECT * FROM elements WHERE ts > '2024-05-01 10:00' ORDER BY ts;
ALTER FOREIGN TABLE elements OPTIONS (bucket_first_field 'first', bucket_last_field 'last');
SELECT * FROM elements WHERE ts > '2024-05-01 10:00' ORDER BY ts;
SELECT * FROM elements WHERE ts > '2024-05-01 10:02' ORDER BY ts;

-- Declarations that tell no type apart, cannot be written, or are not lists
SELECT format, split_part(try(format('CREATE FOREIGN TABLE refused (ts timestamptz OPTIONS (format %L)) SERVER mixed_times', format)), E'\n', 1)
  FROM unnest('{date or date, epoch or epoch_ms, iso8601 or text:epoch, date or, date or text:, "text:YYYY or date", "text:YYYY-MM-DD or date", oid or date, date or oid,
    date or text:HH24, "date or epoch or oid or timestamp or text:YYYY-MM-DD", date or epoch:long, date or offset:second}'::text[]) format;
