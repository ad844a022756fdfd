--
-- Tests documents whose writer has changed the BSON type of a time, a value or
-- a key: a query that would return their rows is an error, or leaves them out
-- with a warning, however they are found.
--
\set suite drift
\i sql/include/suite.sql

\pset format unaligned
\pset tuples_only on

-- Run a query.  Shows its rows, or why it fails.  @ stands for the table.
CREATE FUNCTION outcome(query text, relation text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  result text;
  detail text;
BEGIN
  EXECUTE format('SELECT string_agg(t::text, '' '') FROM (%s) t', replace(query, '@', relation)) INTO result;
  RETURN coalesce(result, 'no row');
EXCEPTION WHEN fdw_invalid_data_type THEN
  GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
  RETURN detail;
END $$;
-- Queries that must meet the document that is not of the declared type
CREATE FUNCTION met(relation text) RETURNS SETOF text LANGUAGE sql AS $$
  SELECT DISTINCT outcome(q, relation) FROM unnest(ARRAY[
    'SELECT * FROM @', 'SELECT ts FROM @ WHERE ts >= ''2024-05-01''', 'SELECT ts FROM @ WHERE ts < ''2024-06-01''',
    'SELECT * FROM @ WHERE ts BETWEEN ''2024-05-01'' AND ''2024-05-02''',
    'SELECT * FROM @ WHERE ts = ''2024-05-01 10:00''', 'SELECT ts FROM @ WHERE ts <> ''2024-05-01 10:00''',
    'SELECT * FROM @ WHERE ts BETWEEN ''2024-05-01'' AND ''2024-05-02'' OR ts > ''2024-06-01''',
    'SELECT * FROM @ ORDER BY ts LIMIT 1', 'SELECT * FROM @ ORDER BY ts DESC LIMIT 1', 'SELECT * FROM @ ORDER BY ts DESC NULLS LAST LIMIT 1',
    'SELECT * FROM @ WHERE ts >= ''2024-05-01'' ORDER BY ts LIMIT 1', 'SELECT * FROM @ WHERE ts < ''2024-06-01'' ORDER BY ts DESC LIMIT 1',
    'SELECT min(ts), max(ts) FROM @', 'SELECT max(ts) FROM @ WHERE ts >= ''2024-05-01''',
    'SELECT count(*), sum(v) FROM @ WHERE ts >= ''2024-05-01''', 'SELECT count(*) FROM @ WHERE ts < ''2024-06-01''',
    'SELECT date_trunc(''day'', ts), sum(v) FROM @ WHERE ts < ''2024-05-02'' GROUP BY 1',
    'SELECT DISTINCT ON (s) * FROM @ ORDER BY s, ts DESC', 'SELECT DISTINCT ON (s) * FROM @ WHERE ts > ''2024-05-01'' ORDER BY s, ts',
    'SELECT DISTINCT ON (s) * FROM @ WHERE ts > ''2024-06-01'' ORDER BY s, ts',
    'SELECT * FROM @ WHERE s = ''a'' AND ts > ''2024-05-01'' ORDER BY ts DESC LIMIT 1']) q ORDER BY 1$$;

-- Each format of a time, in documents that are rows and in buckets: two good
-- times, and one of another type
CREATE PROCEDURE drift(format text, good text[], bad text) LANGUAGE plpgsql AS $$
DECLARE
  name text;
  shown text;
BEGIN
  FOREACH name IN ARRAY ARRAY['flat', 'buckets'] LOOP
    PERFORM mongo_ts_command('drift', format('{"insert": "%s", "documents": [%s, {"ts": %s, "s": "a", "v": %s}]}', name,
      (SELECT string_agg(format('{"ts": %s, "s": "a", "v": %s}', g, CASE name WHEN 'flat' THEN '1' ELSE '{"0": 1}' END), ', ') FROM unnest(good) g),
      bad, CASE name WHEN 'flat' THEN '4' ELSE '{"0": 4}' END)::json);
    EXECUTE format('CREATE FOREIGN TABLE %I (ts timestamptz OPTIONS (field ''ts'', format %L), s text COLLATE "C", v int %s) SERVER drift', name, format,
      CASE name WHEN 'buckets' THEN 'OPTIONS (field ''v.{minute}'')' END);
    FOR i IN 1..CASE format WHEN 'date' THEN 2 ELSE 1 END LOOP
      FOR shown IN SELECT met(name) LOOP
        RAISE INFO '%, %: %', format, name, shown;
      END LOOP;
      PERFORM mongo_ts_create_index(name::regclass);
      -- as if it were large
      UPDATE pg_class SET reltuples = 1e10, relpages = 1e8 WHERE oid = name::regclass;
    END LOOP;
    EXECUTE format('ALTER FOREIGN TABLE %I OPTIONS (ADD on_invalid ''skip'')', name);
    SET LOCAL client_min_messages = error;
    RAISE INFO '%, %, skipped: %', format, name, outcome('SELECT count(*), sum(v) FROM @ WHERE ts >= ''2024-05-01''', name);
    EXECUTE format('DROP FOREIGN TABLE %I', name);
    PERFORM mongo_ts_command('drift', format('{"drop": "%s"}', name)::json);
  END LOOP;
END $$;
CALL drift('date', '{"{\"$date\": \"2024-05-01T10:00:00Z\"}", "{\"$date\": \"2024-05-01T11:00:00Z\"}"}', '"2024-05-01T12:00:00.000Z"');
CALL drift('date', '{"{\"$date\": \"2024-05-01T10:00:00Z\"}", "{\"$date\": \"2024-05-01T11:00:00Z\"}"}', '{"$timestamp": {"t": 1714564800, "i": 1}}');
CALL drift('epoch', '{1714557600, 1714561200}', '{"$date": "2024-05-01T12:00:00Z"}');
CALL drift('epoch_ms', '{1714557600000, 1714561200000}', '"1714564800000"');
CALL drift('epoch_ns', '{1714557600000000000, 1714561200000000000}', '{"$date": "2024-05-01T12:00:00Z"}');
CALL drift('text:epoch', '{"\"1714557600\"", "\"1714561200\""}', '1714564800');
CALL drift('iso8601', '{"\"2024-05-01T10:00:00Z\"", "\"2024-05-01T11:00:00Z\""}', '{"$date": "2024-05-01T12:00:00Z"}');
CALL drift('text:YYYY-MM-DD HH24:MI', '{"\"2024-05-01 10:00\"", "\"2024-05-01 11:00\""}', '1714564800');
CALL drift('text:DD.MM.YYYY HH24', '{"\"01.05.2024 10\"", "\"01.05.2024 11\""}', '{"$date": "2024-05-01T12:00:00Z"}');
CALL drift('oid', '{"{\"$oid\": \"663210e00000000000000000\"}", "{\"$oid\": \"66321ef00000000000000000\"}"}', '{"$date": "2024-05-01T12:00:00Z"}');

-- Bounds of the points, and times of elements
CALL put('bounded', '[{"first": {"$date": "2024-05-01T10:00:00Z"}, "last": {"$date": "2024-05-01T10:00:01Z"}, "s": "a",
                       "p": [{"t": {"$date": "2024-05-01T10:00:00Z"}, "v": 1}, {"t": {"$date": "2024-05-01T10:00:01Z"}, "v": 1}]},
                      {"first": "2024-05-01T12:00:00Z", "last": "2024-05-01T12:00:01Z", "s": "a", "p": [{"t": {"$date": "2024-05-01T12:00:00Z"}, "v": 4}]}]');
CREATE FOREIGN TABLE bounded (ts timestamptz OPTIONS (field 'p[].t', role 'time'), s text COLLATE "C", v int OPTIONS (field 'p[].v'))
  SERVER drift OPTIONS (bucket_first_field 'first', bucket_last_field 'last');
SELECT met('bounded');
CALL put('elements', '[{"s": "a", "p": [{"t": {"$date": "2024-05-01T10:00:00Z"}, "v": 1}]}, {"s": "a", "p": [{"t": 1714564800, "v": 4}]}]');
CREATE FOREIGN TABLE elements (ts timestamptz OPTIONS (field 'p[].t', role 'time'), s text COLLATE "C", v int OPTIONS (field 'p[].v')) SERVER drift;
SELECT met('elements');

-- Other columns of documents that are rows
CALL put('readings', '[{"ts": {"$date": "2024-05-01T10:00:00Z"}, "n": 5, "x": 21.5, "b": true, "s": "a", "at": {"$date": "2024-05-01T00:00:00Z"}}]');
CREATE FOREIGN TABLE readings (ts timestamptz OPTIONS (role 'time'), n int, x float8, b boolean, s text COLLATE "C", at timestamptz) SERVER drift;
CREATE FUNCTION drifted(field text, value text, VARIADIC conditions text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  condition text;
BEGIN
  CALL put('readings', format('[{"_id": 0, "ts": {"$date": "2024-05-01T11:00:00Z"}, "%s": %s}]', field, value)::json);
  FOREACH condition IN ARRAY conditions LOOP
    RETURN NEXT condition || ': ' || outcome('SELECT count(*) FROM readings WHERE ' || condition, '');
    RETURN NEXT condition || ': ' || outcome('SELECT ts FROM readings WHERE ' || condition || ' ORDER BY ts DESC LIMIT 1', '');
  END LOOP;
  PERFORM mongo_ts_command('drift', '{"delete": "readings", "deletes": [{"q": {"_id": 0}, "limit": 1}]}');
END $$;
SELECT drifted('n', '"7"', 'n > 3', 'n >= 5', 'n < 9', 'n <= 5', 'n <> 5', 'n NOT IN (5, 6)', 'n IS NOT NULL', 'n > 3 OR ts < ''2020-01-01''', 'n IS NULL');
SELECT drifted('x', '"22.5"', 'x > 20', 'x < 30', 'x = 21.5', 'x <> 1', 'x > ''NaN''', 'x < ''NaN''');
SELECT drifted('x', '[22.5]', 'x > 20');
SELECT drifted('x', '{"$numberDecimal": "NaN"}', 'x > 22', 'x >= 22', 'x < 22', 'x = 21.5', 'x <> 21.5');
SELECT drifted('b', '1', 'b IS NOT NULL');
SELECT drifted('s', '{"x": 1}', 's > ''0''', 's < ''0''', 's LIKE ''a%''', 's <> ''a''', 's IS NOT NULL');
SELECT drifted('at', '"2024-05-01"', 'at > ''2024-01-01''', 'at < ''2025-01-01''', 'at IS NOT NULL');

-- Keys that documents are sorted by, or skipped by, and the time below them:
-- MongoDB sorts the other types before or after all others.
CALL put('keyed', '[{"ts": {"$date": "2024-05-01T10:00:00Z"}, "n": 5, "b": true, "s": "a", "at": {"$date": "2024-05-01T00:00:00Z"}, "o": {"$oid": "6632fc000000000000000000"},
                     "u": {"$binary": {"base64": "ABEiM0RVZneImaq7zN3ugA==", "subType": "04"}}, "h": {"0": 1}}]');
CREATE FOREIGN TABLE keyed (ts timestamptz OPTIONS (role 'time'), n int, b boolean, s text COLLATE "C", at timestamptz, o text OPTIONS (bson_type 'objectId') COLLATE "C", u uuid, v int OPTIONS (field 'h.{hour}'))
  SERVER drift;
CREATE FUNCTION keyed(field text, low text, VARIADIC bad text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  document jsonb = mongo_ts_command('drift', '{"find": "keyed", "projection": {"_id": 0}}')->'cursor'->'firstBatch'->0;
  value text;
BEGIN
  PERFORM mongo_ts_command('drift', '{"dropIndexes": "keyed", "index": "*"}');
  PERFORM mongo_ts_command('drift', format('{"createIndexes": "keyed", "indexes": [{"key": {"%s": 1, "ts": 1}, "name": "i"}]}', field)::json);
  FOREACH value IN ARRAY bad LOOP
    CALL put('keyed', json_build_array(document || format('{"_id": 0, "%s": %s}', field, value)::jsonb));
    RETURN QUERY SELECT DISTINCT value || ': ' || outcome(replace(replace(q, '?', field), '%', low), 'keyed')
      FROM unnest(ARRAY['SELECT ? FROM @ ORDER BY ?, ts LIMIT 1', 'SELECT ? FROM @ ORDER BY ? DESC NULLS LAST, ts DESC LIMIT 1',
        'SELECT ? FROM @ WHERE ? >= % ORDER BY ?, ts LIMIT 1', 'SELECT ? FROM @ WHERE ? >= % ORDER BY ? DESC, ts DESC LIMIT 1',
        'SELECT ? FROM @ WHERE ? >= % AND ts > ''2024-05-01'' ORDER BY ? LIMIT 1',
        'SELECT DISTINCT ON (?) ? FROM @ ORDER BY ?, ts', 'SELECT ?, max(ts) FROM @ GROUP BY ? ORDER BY ? LIMIT 1']) q;
    PERFORM mongo_ts_command('drift', '{"delete": "keyed", "deletes": [{"q": {"_id": 0}, "limit": 1}]}');
  END LOOP;
END $$;
UPDATE pg_class SET reltuples = 1e10, relpages = 1e8 WHERE oid = 'keyed'::regclass;
EXPLAIN (COSTS OFF) SELECT s, ts FROM keyed WHERE s >= '0' AND ts > '2024-05-01' ORDER BY s, ts LIMIT 1;
EXPLAIN (COSTS OFF) SELECT u FROM keyed WHERE u > '00112233-4455-6677-8899-aabbccddee00' ORDER BY u LIMIT 1;
SELECT keyed('n', '1', '{"$minKey": 1}', '"x"');
SELECT keyed('b', 'false', '1', '{"$date": "2024-05-01T10:00:00Z"}');
SELECT keyed('s', '''0''', '1', '{"x": 1}');
SELECT keyed('at', '''2024-01-01''', '"2024"', '{"$timestamp": {"t": 1714564800, "i": 1}}');
SELECT keyed('o', '''0''', '"x"', 'true');
SELECT keyed('u', '''00112233-4455-6677-8899-aabbccddee00''', '"x"', 'true', '{"$binary": {"base64": "ABE=", "subType": "04"}}',
  '{"$binary": {"base64": "ABEiM0RVZneImaq7zN3ugA==", "subType": "00"}}', '{"$binary": {"base64": "ABEiM0RVZneImaq7zN3ugA==", "subType": "05"}}');

-- Windows of time: the newest and the oldest rows of all series are in the
-- first one.
CREATE FOREIGN TABLE hours (ts timestamptz, s text COLLATE "C", v int OPTIONS (field 'h.{minute}')) SERVER drift;
INSERT INTO hours SELECT timestamptz '2024-05-01Z' + i * interval '1 hour', chr(96 + s), i FROM generate_series(0, 99) i, generate_series(1, 5) s;
SELECT mongo_ts_create_index('hours');
ANALYZE hours;
EXPLAIN (COSTS OFF) SELECT * FROM hours ORDER BY ts DESC LIMIT 1;
SELECT * FROM hours ORDER BY ts DESC, s LIMIT 1;
CALL put('hours', '[{"_id": 0, "s": "a", "ts": "2024-05-03", "h": {"0": 1}}]');
SELECT met('hours');
SELECT mongo_ts_command('drift', '{"delete": "hours", "deletes": [{"q": {"_id": 0}, "limit": 1}]}')->'n';
CALL put('hours', '[{"_id": 0, "s": "a", "ts": {"$timestamp": {"t": 1714564800, "i": 1}}, "h": {"0": 1}}]');
SELECT met('hours');

-- The answer is awaited wherever a scan in order ends.
CREATE FUNCTION newest_values() RETURNS SETOF int LANGUAGE sql AS 'SELECT v FROM hours ORDER BY ts DESC';
CREATE PROCEDURE drop_drifted() LANGUAGE sql AS
  $$SELECT mongo_ts_command('drift', '{"delete": "hours", "deletes": [{"q": {"_id": 0}, "limit": 1}]}')$$;
CALL drop_drifted();
CALL put('hours', '[{"_id": 0, "s": "a", "ts": "2024-05-03", "h": {"0": 1}}]');
SELECT try(q) FROM unnest(ARRAY['SELECT v FROM hours ORDER BY ts DESC LIMIT 1', 'SELECT (SELECT v FROM hours ORDER BY ts DESC LIMIT 1)',
  'SELECT * FROM generate_series(1, 2) i, LATERAL (SELECT v FROM hours WHERE v > i ORDER BY ts DESC LIMIT 1) l',
  'SELECT newest_values() LIMIT 1', 'SELECT * FROM hours a JOIN (VALUES (timestamptz ''2024-05-01'')) b (ts) USING (ts) ORDER BY ts']) q;
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM hours ORDER BY ts DESC;
FETCH 1 FROM c;
ROLLBACK;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT * FROM hours ORDER BY ts DESC;
FETCH 1 FROM c;
ROLLBACK;
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM (SELECT * FROM hours ORDER BY ts DESC LIMIT 10) newest ORDER BY ts;
FETCH 1 FROM c;
ROLLBACK;
-- Before rows are written, it is awaited at once.
CREATE FOREIGN TABLE copied (ts timestamptz, v int) SERVER drift;
ALTER SERVER drift OPTIONS (ADD transactions 'off');
SELECT try('INSERT INTO copied SELECT ts, v FROM hours ORDER BY ts DESC LIMIT 5');
SELECT try('WITH new AS (INSERT INTO copied SELECT ts, v FROM hours ORDER BY ts DESC LIMIT 5 RETURNING *) SELECT * FROM new');
SELECT count(*) FROM copied;
CALL put('copied', '[{"ts": {"$date": "2024-05-01T00:00:00Z"}, "v": 1}, {"ts": "2024-05-03", "v": 2}]');
SELECT try('INSERT INTO copied SELECT ts + interval ''1 hour'', v FROM copied ORDER BY ts DESC LIMIT 5');
ALTER FOREIGN TABLE copied OPTIONS (ADD on_invalid 'skip');
INSERT INTO copied SELECT ts + interval '1 hour', v FROM copied ORDER BY ts DESC LIMIT 5;
ALTER FOREIGN TABLE copied OPTIONS (DROP on_invalid);
ALTER SERVER drift OPTIONS (DROP transactions);
-- What is skipped is warned of, once.
ALTER FOREIGN TABLE hours OPTIONS (ADD on_invalid 'skip');
SELECT * FROM hours ORDER BY ts DESC, s LIMIT 1;
SELECT max(ts) FROM hours;
SELECT min(ts) FROM hours;
SELECT DISTINCT ON (s) s, v FROM hours WHERE s < 'c' ORDER BY s, ts DESC;
ALTER FOREIGN TABLE hours OPTIONS (DROP on_invalid);
-- Once it is known that there is none, a cursor goes on.
CALL drop_drifted();
BEGIN;
DECLARE c CURSOR FOR SELECT s, v FROM hours ORDER BY ts DESC, s;
FETCH 2 FROM c;
FETCH 2 FROM c;
COMMIT;

-- Rolling collections
CREATE FOREIGN TABLE days (ts timestamptz, s text COLLATE "C", v int OPTIONS (field 'h.{minute}')) SERVER drift OPTIONS (collection 'days_%Y%m%d');
INSERT INTO days SELECT timestamptz '2024-05-01Z' + i * interval '6 hours', 'a', i FROM generate_series(0, 7) i;
CALL put('days_20240502', '[{"s": "a", "ts": "2024-05-02T10:00:00Z", "h": {"0": 1}}]');
SELECT outcome(q, 'days') FROM unnest(ARRAY['SELECT * FROM @', 'SELECT * FROM @ WHERE ts >= ''2024-05-02''', 'SELECT max(ts) FROM @',
  'SELECT * FROM @ ORDER BY ts DESC LIMIT 1', 'SELECT * FROM @ WHERE ts < ''2024-05-02''', 'SELECT * FROM @ ORDER BY ts LIMIT 1']) q;

-- Roll-ups: the points that are not in them yet, and a refresh
CREATE FOREIGN TABLE metered (ts timestamptz OPTIONS (field 'hour'), s text COLLATE "C", v int OPTIONS (field 'm.{minute}')) SERVER drift;
INSERT INTO metered SELECT timestamptz '2024-05-01Z' + i * interval '10 minutes', 'a', i FROM generate_series(0, 71) i;
SELECT mongo_ts_create_rollup('metered', '1 hour');
SELECT mongo_ts_refresh_rollup('metered_1h', end_time => '2024-05-01 06:00Z');
CALL put('metered', '[{"_id": 0, "s": "a", "hour": "2024-05-01T07:00:00Z", "m": {"0": 1}}]');
UPDATE pg_class SET reltuples = 1e10, relpages = 1e8 WHERE oid = 'metered'::regclass;
SELECT plan('SELECT s, sum(v) FROM metered GROUP BY s');
SELECT outcome('SELECT s, sum(v) FROM metered GROUP BY s', '');
SELECT try($$SELECT mongo_ts_refresh_rollup('metered_1h', end_time => '2024-05-01 10:00Z')$$);

-- In a time-series collection each time is a date, so nothing else is asked for.
SELECT mongo_ts_command('drift', '{"create": "native", "timeseries": {"timeField": "ts", "metaField": "s"}}')->'ok';
CREATE FOREIGN TABLE native (ts timestamptz, s text COLLATE "C", v int) SERVER drift OPTIONS (native_buckets 'off');
EXPLAIN (COSTS OFF) SELECT * FROM native WHERE ts >= '2024-05-01' ORDER BY ts LIMIT 1;

-- An array is compared by its elements: it is not found if one of them is out
-- of the range.
CALL put('arrays', '[{"ts": {"$date": "2024-05-01T10:00:00Z"}}, {"_id": 0, "ts": [{"$date": "2024-05-01T00:00:00Z"}, {"$date": "2024-05-03T00:00:00Z"}]}]');
CREATE FOREIGN TABLE arrays (ts timestamptz) SERVER drift;
SELECT outcome(q, 'arrays') FROM unnest(ARRAY['SELECT * FROM @', 'SELECT * FROM @ WHERE ts < ''2024-06-01''', 'SELECT * FROM @ WHERE ts >= ''2024-05-01'' ORDER BY ts',
  'SELECT * FROM @ ORDER BY ts LIMIT 1', 'SELECT * FROM @ ORDER BY ts DESC LIMIT 1', 'SELECT * FROM @ WHERE ts >= ''2024-05-02'' ORDER BY ts LIMIT 1',
  'SELECT * FROM @ WHERE ts >= ''2024-05-02''']) q;

-- DELETE and UPDATE of a range
CALL put('kept', '[{"ts": {"$date": "2024-05-01T10:00:00Z"}, "v": {"0": 1}}, {"ts": "2024-05-01T11:00:00Z", "v": {"0": 1}}]');
CREATE FOREIGN TABLE kept (ts timestamptz, v int OPTIONS (field 'v.{minute}')) SERVER drift OPTIONS (updatable 'true');
SELECT try('DELETE FROM kept WHERE ts < ''2024-06-01''');
SELECT try('UPDATE kept SET v = 2 WHERE ts < ''2024-06-01''');
SELECT jsonb_array_length(mongo_ts_command('drift', '{"find": "kept"}')->'cursor'->'firstBatch');
