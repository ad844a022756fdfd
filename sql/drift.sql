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
    'SELECT * FROM @ ORDER BY ts LIMIT 1', 'SELECT * FROM @ ORDER BY ts DESC NULLS LAST LIMIT 1',
    'SELECT * FROM @ WHERE ts >= ''2024-05-01'' ORDER BY ts LIMIT 1', 'SELECT * FROM @ WHERE ts < ''2024-06-01'' ORDER BY ts DESC LIMIT 1',
    'SELECT min(ts), max(ts) FROM @', 'SELECT max(ts) FROM @ WHERE ts >= ''2024-05-01''',
    'SELECT count(*), sum(v) FROM @ WHERE ts >= ''2024-05-01''', 'SELECT count(*) FROM @ WHERE ts < ''2024-06-01''',
    'SELECT date_trunc(''day'', ts), sum(v) FROM @ WHERE ts < ''2024-05-02'' GROUP BY 1',
    'SELECT DISTINCT ON (s) * FROM @ ORDER BY s, ts DESC', 'SELECT DISTINCT ON (s) * FROM @ WHERE ts > ''2024-05-01'' ORDER BY s, ts',
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

-- DELETE and UPDATE of a range
CALL put('kept', '[{"ts": {"$date": "2024-05-01T10:00:00Z"}, "v": {"0": 1}}, {"ts": "2024-05-01T11:00:00Z", "v": {"0": 1}}]');
CREATE FOREIGN TABLE kept (ts timestamptz, v int OPTIONS (field 'v.{minute}')) SERVER drift OPTIONS (updatable 'true');
SELECT try('DELETE FROM kept WHERE ts < ''2024-06-01''');
SELECT try('UPDATE kept SET v = 2 WHERE ts < ''2024-06-01''');
SELECT jsonb_array_length(mongo_ts_command('drift', '{"find": "kept"}')->'cursor'->'firstBatch');
