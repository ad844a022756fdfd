-- Tests corner cases in which MongoDB and PostgreSQL differ, or in which a
-- careless scan would silently lose rows.

\set suite edge_cases
\i sql/include/suite.sql
\set QUIET 1
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;

-- In MongoDB, an array with a null equals null.
CALL put('nulls', '[{"_id": 1, "j": [1, null]}, {"_id": 2}, {"_id": 3, "j": null}]');
CREATE FOREIGN TABLE nulls (_id int, j jsonb) SERVER edge_cases;
SELECT _id FROM nulls WHERE j IS NULL ORDER BY 1;
SELECT _id FROM nulls WHERE j IS NOT NULL ORDER BY 1;

-- A narrow range hides neither a malformed bucket nor the points of a bucket
-- whose slots count from another time.
CALL put('narrow', '[
  {"_id": 1, "ts": {"$date": "2020-01-01T00:00:00Z"}, "v": 7},
  {"_id": 2, "ts": {"$date": "2020-01-02T00:01:00Z"}},
  {"_id": 3, "ts": {"$date": "2020-01-03T00:01:30Z"}, "v": {"1": 5, "31": 6}}]');
CREATE FOREIGN TABLE narrow (
  ts timestamptz, v int OPTIONS (field 'v.{second}')
) SERVER edge_cases;
SELECT * FROM narrow WHERE ts = '2020-01-01 00:00:01';
SELECT * FROM narrow WHERE ts = '2020-01-02 00:01:01';
SELECT * FROM narrow WHERE ts = '2020-01-03 00:01:31';
SELECT * FROM narrow WHERE ts = '2020-01-03 00:02:01';

-- Conversions from text lose nothing.
CALL put('texts', '[{"_id": 1, "ts": {"$date": "2020-01-01T00:00:00Z"}, "v": {
  "0": "2020-01-01 12:34:56.7Z", "1": "16777217", "2": "9007199254740993", "3": "1.26"}}]');
CREATE DOMAIN short AS numeric(5, 1);
CREATE FUNCTION read_as(type text, slot int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  result text;
BEGIN
  EXECUTE format('CREATE FOREIGN TABLE one (ts timestamptz OPTIONS (role ''time''), v %s OPTIONS (field ''v.{second}''))
    SERVER edge_cases OPTIONS (collection ''texts'')', type);
  BEGIN
    EXECUTE format('SELECT v FROM one WHERE ts = timestamptz ''2020-01-01 00:00:00'' + interval ''%s s''', slot)
      INTO result;
  EXCEPTION WHEN others THEN
    result := SQLSTATE;
  END;
  DROP FOREIGN TABLE one;
  RETURN result;
END $$;
SELECT type, slot, read_as(type, slot) FROM (VALUES
  ('date', 0), ('timestamptz(0)', 0), ('timestamptz', 0), ('text', 0),
  ('real', 1), ('real', 3), ('double precision', 2), ('bigint', 2),
  ('short', 3), ('numeric(5, 2)', 3)) AS tried (type, slot);

-- More dates than the ranges of a query
SELECT mongo_ts_command('edge_cases', json_build_object('insert', 'days', 'documents', json_agg(
  json_build_object('_id', n, 'day', json_build_object('$date', date '2020-01-01' + n || 'T00:00:00Z'))))) ->> 'n'
  FROM generate_series(0, 199) AS n;
CREATE FOREIGN TABLE days (_id int, day timestamptz OPTIONS (role 'key')) SERVER edge_cases;
SELECT count(*) FROM days WHERE day = ANY (ARRAY(
  SELECT timestamptz '2020-01-01' + n * interval '2 days' FROM generate_series(0, 99) AS n));
SELECT count(*) FROM days WHERE day <> ALL (ARRAY(
  SELECT timestamptz '2020-01-01' + n * interval '2 days' FROM generate_series(0, 99) AS n));

-- A filter is one document; a URI doesn't use another user's identity.
CREATE FOREIGN TABLE two (_id int) SERVER edge_cases OPTIONS (filter '{"a": 1} {"b": 2}');
CREATE ROLE regress_mts_corners;
GRANT USAGE ON FOREIGN DATA WRAPPER mongo_ts_fdw TO regress_mts_corners;
SET ROLE regress_mts_corners;
CREATE SERVER borrowed FOREIGN DATA WRAPPER mongo_ts_fdw
  OPTIONS (uri 'mongodb://localhost/?authMechanism=MONGODB-AWS');
RESET ROLE;
DROP OWNED BY regress_mts_corners;
DROP ROLE regress_mts_corners;

-- The points are fields of the document itself.
CALL put('rooted', '[{"_id": 1, "ts": {"$date": "2020-01-01T00:00:00Z"}, "type": "a", "0": 5, "59": 6}]');
CREATE FOREIGN TABLE rooted (ts timestamptz, type text, v int OPTIONS (field '{second}')) SERVER edge_cases;
SELECT * FROM rooted;

-- Preallocated documents have the keys as text slots, the names between and
-- below them, and the attributes.
CREATE FOREIGN TABLE nested (
  ts timestamptz, host text, unit text OPTIONS (role 'attribute'),
  used float8 OPTIONS (field 'd.{30 minutes}.cpu.{10 minutes}.u', missing_value '0', sum_field 'total')
) SERVER edge_cases OPTIONS (count_field 'n');
SELECT mongo_ts_preallocate('nested', '2020-01-01Z', '2020-01-01 01:00Z', '{"host": "a", "unit": "%"}');
CREATE FOREIGN TABLE metric_keys (
  ts timestamptz, host text, metric text, v float8 OPTIONS (field 'v.{metric}.{15 minutes}', missing_value '-1')
) SERVER edge_cases OPTIONS (bucket_span '1 hour');
SELECT mongo_ts_preallocate('metric_keys', '2020-01-01Z', '2020-01-01 02:00Z', '{"host": "a", "metric": "cpu"}');
SELECT jsonb_pretty(d - '_id') FROM unnest(ARRAY['nested', 'metric_keys']) AS c,
  jsonb_array_elements(mongo_ts_command('edge_cases', json_build_object('find', c, 'limit', 1))
    #> '{cursor,firstBatch}') AS d;
INSERT INTO metric_keys VALUES ('2020-01-01 00:30Z', 'a', 'cpu', 7);
INSERT INTO nested VALUES ('2020-01-01 00:40Z', 'a', NULL, 7);
SELECT * FROM metric_keys;
SELECT * FROM nested;
SELECT count(*) FROM nested WHERE unit = '%';

-- The variance of a bucket's values overflows exactly where PostgreSQL's does.
CREATE FOREIGN TABLE large (ts timestamptz, v float8 OPTIONS (field 'v.{second}')) SERVER edge_cases;
INSERT INTO large SELECT timestamptz '2020-01-01Z' + i * interval '1 second', 1.5e308 FROM generate_series(0, 2) i;
INSERT INTO large SELECT timestamptz '2020-01-02Z' + i * interval '1 second', 1e200 * i FROM generate_series(0, 2) i;
INSERT INTO large SELECT timestamptz '2020-01-03Z' + i * interval '1 second', v
  FROM unnest(ARRAY[1, 'Infinity', 2]::float8[]) WITH ORDINALITY AS u(v, i);
CREATE TABLE local_large AS SELECT * FROM large;
SELECT t, day, try(format('SELECT stddev(v), variance(v) FROM %s WHERE ts >= %L AND ts < date %2$L + 1', t, day))
  FROM unnest(ARRAY['large', 'local_large']) t, unnest(ARRAY['2020-01-01', '2020-01-02']) day;
SELECT stddev(v), variance(v), avg(v) FROM large WHERE ts >= '2020-01-03';
SELECT stddev(v), variance(v), avg(v) FROM local_large WHERE ts >= '2020-01-03';

-- Most slots of large buckets are removed, in nested slots and two subdocuments.
CREATE FOREIGN TABLE sparse (ts timestamptz OPTIONS (field 'm'), v int OPTIONS (field 'v.{5 seconds}.{millisecond}', sum_field 'total'),
  w jsonb OPTIONS (field 'w.{5 seconds}.{millisecond}')) SERVER edge_cases OPTIONS (count_field 'n', bucket_span '1 minute');
CREATE FOREIGN TABLE sparse_documents (m timestamptz, n int, total int, v jsonb, w jsonb) SERVER edge_cases OPTIONS (collection 'sparse');
INSERT INTO sparse SELECT timestamptz '2024-01-01Z' + i * interval '1 ms', i,
    CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN '[]' WHEN 2 THEN '[[]]' WHEN 3 THEN '{"a": []}' ELSE '"x"' END::jsonb FROM generate_series(0, 9999) i;
CREATE TEMPORARY TABLE kept AS SELECT * FROM sparse WHERE v % 2500 IN (0, 3, 1001, 1502, 2499) OR v BETWEEN 3000 AND 3100;
DELETE FROM sparse WHERE NOT (v % 2500 IN (0, 3, 1001, 1502, 2499) OR v BETWEEN 3000 AND 3100) AND v >= 0;
SELECT count(*), sum(v) FROM sparse;
(TABLE sparse EXCEPT ALL TABLE kept) UNION ALL (TABLE kept EXCEPT ALL TABLE sparse);
SELECT n, total, (SELECT string_agg(k || ': ' || (SELECT count(*) FROM jsonb_object_keys(s)), ', ') FROM jsonb_each(v) AS e (k, s)) AS slots FROM sparse_documents;

-- All points of a bucket would take more memory at once than PostgreSQL allots.
DO $$ BEGIN
  EXECUTE (SELECT format('CREATE FOREIGN TABLE wide (ts timestamptz, name text, %s) SERVER edge_cases',
    string_agg(format('c%1$s int OPTIONS (field ''v.{minute}.{name}.c%1$s'')', i), ', ')) FROM generate_series(0, 259) i);
END $$;
SELECT mongo_ts_command('edge_cases', json_build_object('insert', 'wide', 'documents', json_build_array(json_build_object(
    'ts', '{"$date": "2024-01-01T00:00:00Z"}'::json, 'v', json_build_object('0', json_object_agg('s' || i, json_build_object('c' || i % 260, i))))))::text::json)->'n' AS n
  FROM generate_series(1, 66000) i;
SELECT count(*), count(DISTINCT (wide).name), sum((wide).c7), sum((wide).c0) FROM (SELECT wide FROM wide OFFSET 0) AS rows;

SELECT mongo_ts_command('edge_cases', '{"dropDatabase": 1}') ->> 'ok';
