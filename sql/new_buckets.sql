--
-- Tests many points of new buckets.  With a unique index on the buckets they
-- are inserted; points of existing buckets are written into these.
--
\set suite new_buckets
\i sql/include/suite.sql

CREATE FOREIGN TABLE points (
  ts   timestamptz,
  k    text,
  room text       OPTIONS (role 'attribute'),
  a    int        OPTIONS (field 'a.{second}', sum_field 'sum', max_field 'max'),
  b    float8     OPTIONS (field 'b.{second}.x')
) SERVER new_buckets OPTIONS (count_field 'n', assume_write_once 'true');
CREATE FOREIGN TABLE buckets (
  ts timestamptz, k text, room text, n int, sum int, max int
) SERVER new_buckets OPTIONS (collection 'points');

-- 200 buckets with 10 points each
CREATE TABLE want AS
SELECT timestamptz '2013-10-10' + i / 2 * interval '1 minute'
         + s * interval '3 seconds' AS ts,
       (ARRAY['x', 'y'])[1 + i % 2] AS k, 'room ' || i % 3 AS room,
       i + s AS a, CASE WHEN s <> 5 THEN i / 4.0::float8 END AS b
  FROM generate_series(0, 199) AS i, generate_series(0, 9) AS s
 ORDER BY i, s;
-- Show the differences from these points, and whether each bucket is one
-- document with true pre-aggregates.
CREATE VIEW difference AS
  (SELECT 'not stored' AS what, * FROM want
   EXCEPT ALL SELECT 'not stored', ts, k, room, a, b FROM points)
  UNION ALL
  (SELECT 'too much', ts, k, room, a, b FROM points
   EXCEPT ALL SELECT 'too much', * FROM want)
  UNION ALL
  (SELECT 'bucket', ts, k, room, n, sum FROM buckets
   EXCEPT ALL
   SELECT 'bucket', date_trunc('minute', ts), k, min(room), count(*), sum(a)
     FROM want GROUP BY 2, 3);

-- New buckets, by their unique index ---------------------------------------

-- no index: each bucket is looked up
INSERT INTO points SELECT * FROM want;
SELECT * FROM difference;
SELECT count(*) FROM buckets;
SELECT mongo_ts_command('new_buckets', '{"drop": "points"}')->'ok' AS dropped;

-- the index of the table
SELECT mongo_ts_create_index('points');
INSERT INTO points SELECT * FROM want;
SELECT * FROM difference;
SELECT count(*), min(max), max(max) FROM buckets;
SELECT mongo_ts_command('new_buckets', '{"find": "points", "filter": {"k": "y"},
  "projection": {"_id": 0}, "sort": {"ts": 1}, "limit": 1}')#>'{cursor,firstBatch,0}'
  AS bucket;
DELETE FROM points;
SELECT count(*) FROM buckets;

-- some or most buckets exist: their points stay
INSERT INTO points SELECT ts + interval '1 second', k, room, -a, b FROM want
 WHERE extract(second FROM ts) = 27 AND extract(minute FROM ts)::int % 4 = 0;
SELECT count(*) FROM buckets;
INSERT INTO points SELECT * FROM want;
SELECT count(*) FROM buckets;
DELETE FROM points WHERE extract(second FROM ts) = 28;
SELECT what, count(*) FROM difference GROUP BY what;
DELETE FROM points WHERE extract(second FROM ts) > 15;
INSERT INTO points SELECT * FROM want WHERE extract(second FROM ts) > 15;
SELECT what, count(*) FROM difference GROUP BY what;
SELECT mongo_ts_command('new_buckets', '{"drop": "points"}')->'ok' AS dropped;

-- in several batches, the first of them with existing buckets
ALTER FOREIGN TABLE points OPTIONS (ADD batch_size '700');
SELECT mongo_ts_create_index('points');
INSERT INTO points SELECT ts + interval '1 second', k, room, a, b FROM want
 WHERE ts < '2013-10-10 00:20' AND extract(second FROM ts) = 0;
DELETE FROM points WHERE extract(second FROM ts) = 1 AND k = 'x';
INSERT INTO points SELECT * FROM want;
DELETE FROM points WHERE extract(second FROM ts) = 1;
SELECT what, count(*) FROM difference GROUP BY what;
SELECT count(*) FROM buckets;
SELECT mongo_ts_command('new_buckets', '{"drop": "points"}')->'ok' AS dropped;

-- The server stores a batch while the next one is read ----------------------

CREATE FOREIGN TABLE source (
  ts timestamptz, k text, room text, a int, b float8
) SERVER new_buckets OPTIONS (fetch_size '90');
INSERT INTO source SELECT * FROM want;
-- by the connection that sends the batches
INSERT INTO points SELECT * FROM source;
SELECT what, count(*) FROM difference GROUP BY what;
DELETE FROM points;
-- two tables by one connection
CREATE TABLE parted (ts timestamptz, k text, a int) PARTITION BY LIST (k);
CREATE FOREIGN TABLE parted_x PARTITION OF parted FOR VALUES IN ('x')
  SERVER new_buckets OPTIONS (batch_size '100');
CREATE FOREIGN TABLE parted_y PARTITION OF parted FOR VALUES IN ('y')
  SERVER new_buckets OPTIONS (batch_size '70');
INSERT INTO parted SELECT ts, k, a FROM want;
SELECT k, count(*), sum(a) FROM parted GROUP BY k ORDER BY k;
SELECT k, count(*), sum(a) FROM want GROUP BY k ORDER BY k;
-- an error of another row leaves the batch that was sent, without the last
-- bucket, which was growing
SELECT try('INSERT INTO points SELECT ts, k, room, 1000 / (1000 - row_number() OVER ()), b FROM want')
  AS error;
SELECT count(*) FROM points;
SELECT mongo_ts_command('new_buckets', '{"drop": "points"}')->'ok' AS dropped;

-- Arrays -------------------------------------------------------------------

-- An insert makes the same documents as an update, which is sent without index.
CREATE FUNCTION documents() RETURNS SETOF jsonb LANGUAGE sql AS $$
  SELECT jsonb_array_elements(mongo_ts_command('new_buckets', '{"find": "arrays", "filter": {},
    "projection": {"_id": 0}, "batchSize": 1000}')::jsonb#>'{cursor,firstBatch}')
$$;
CREATE FUNCTION compare_arrays() RETURNS TABLE (n_documents bigint, n_same bigint, n_points bigint)
LANGUAGE plpgsql AS $$
DECLARE
  updated jsonb[];
BEGIN
  INSERT INTO arrays SELECT ts, k, a, b FROM want;
  updated = ARRAY(SELECT documents());
  PERFORM mongo_ts_command('new_buckets', '{"drop": "arrays"}');
  PERFORM mongo_ts_create_index('arrays');
  INSERT INTO arrays SELECT ts, k, a, b FROM want;
  RETURN QUERY SELECT (SELECT count(*) FROM documents()),
    (SELECT count(*) FROM (SELECT documents() INTERSECT ALL SELECT unnest(updated)) d),
    (SELECT count(*) FROM (SELECT ts, k, a, b FROM want INTERSECT ALL SELECT ts, k, a, b FROM arrays) d);
  PERFORM mongo_ts_command('new_buckets', '{"drop": "arrays"}');
  DROP FOREIGN TABLE arrays;
END $$;
-- positional, of points and of values
CREATE FOREIGN TABLE arrays (
  ts timestamptz, k text, a int OPTIONS (field 'v[{second}].a'), b float8 OPTIONS (field 'v[{second}].b')
) SERVER new_buckets;
SELECT * FROM compare_arrays();
CREATE FOREIGN TABLE arrays (
  ts timestamptz, k text, a int OPTIONS (field 'a[{minute}][{second}]', missing_value '-1'),
  b float8 OPTIONS (field 'b[{minute}][{second}].x')
) SERVER new_buckets OPTIONS (bucket_span '5 minutes');
SELECT * FROM compare_arrays();
-- elements, in one array, in several ones and behind keys
CREATE FOREIGN TABLE arrays (
  ts timestamptz OPTIONS (field 's[].t'), k text, a int OPTIONS (field 's[].a'), b float8 OPTIONS (field 's[].b')
) SERVER new_buckets OPTIONS (bucket_time_field 'm', bucket_span '1 minute');
SELECT * FROM compare_arrays();
CREATE FOREIGN TABLE arrays (
  ts timestamptz OPTIONS (field 't[]'), k text, a int OPTIONS (field 'a[]'), b float8 OPTIONS (field 'b[]')
) SERVER new_buckets OPTIONS (bucket_time_field 'm', bucket_span '1 minute');
SELECT * FROM compare_arrays();
CREATE FOREIGN TABLE arrays (
  ts timestamptz, k text, a int OPTIONS (field 'v.{second}[].a'), b float8 OPTIONS (field 'v.{second}[].b')
) SERVER new_buckets;
SELECT * FROM compare_arrays();

-- Indexes that don't identify buckets --------------------------------------

-- Using one of these as the unique index would give twice as many documents.
CREATE FUNCTION stored_with(index text) RETURNS TABLE (n_buckets bigint, n_points bigint)
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM mongo_ts_command('new_buckets', format('{"createIndexes": "points", "indexes": [%s]}',
                                           index)::json);
  INSERT INTO points SELECT ts + interval '1 second', k, room, a, b FROM want;
  INSERT INTO points SELECT * FROM want;
  RETURN QUERY SELECT (SELECT count(*) FROM buckets),
                      (SELECT count(*) FROM points);
  PERFORM mongo_ts_command('new_buckets', '{"drop": "points"}');
END $$;
SELECT * FROM stored_with('{"key": {"k": 1, "ts": 1}, "name": "i"}');
SELECT * FROM stored_with('{"key": {"_id": 1, "ts": 1}, "name": "i", "unique": true}');
SELECT * FROM stored_with('{"key": {"k": 1, "ts": 1}, "name": "i", "unique": true,
  "partialFilterExpression": {"room": "room 1"}}');
-- a unique index on the same fields in another order
SELECT * FROM stored_with('{"key": {"ts": -1, "k": 1}, "name": "i", "unique": true}');

-- Refused buckets among existing ones --------------------------------------

CREATE FOREIGN TABLE anything (
  ts timestamptz, v jsonb OPTIONS (field 'v.{second}')
) SERVER new_buckets OPTIONS (transactions 'off');
SELECT mongo_ts_create_index('anything');
INSERT INTO anything SELECT timestamptz '2013-10-10' + i * interval '1 minute', 'true'
  FROM generate_series(0, 4) i;
CALL put('anything', '[{"_id": 1, "ts": {"$date": "2013-10-10T00:50:00Z"}, "v": 5}]');
-- any document can be a value; only the bucket that can't have one is lost
SELECT try('INSERT INTO anything SELECT ts, ''{"": {"a": 1, "x.y": 2}}'' FROM want WHERE k = ''x''')
  AS error;
SELECT count(*) FROM anything WHERE ts < '2013-10-10 00:50' OR ts >= '2013-10-10 00:51';

-- Large buckets -------------------------------------------------------------

-- two hours of points; some of the numbers are not of the BSON type of the others
CREATE TABLE of_hours AS
SELECT timestamptz '2013-10-10' + s * interval '1 second' AS ts,
       CASE WHEN s % 700 <> 5 THEN s / 8.0::float8 END AS f,
       s * 5000000000 AS l, s AS i,
       CASE WHEN s % 900 <> 7 THEN s * 1.5 END AS n,
       repeat('k', 1 + s % 5 * 200) || s AS key
  FROM generate_series(-1, 7201) AS s;
-- Insert the hours of one column into slots, and show whether it is read back.
CREATE FUNCTION put_hours(col text, type text, field text)
RETURNS TABLE (is_stored bool, buckets bigint)
LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('CREATE FOREIGN TABLE hour (ts timestamptz, key text, v %s OPTIONS (field %L))
    SERVER new_buckets OPTIONS (bucket_span ''1 hour'')', type, field);
  PERFORM mongo_ts_create_index('hour');
  EXECUTE format('INSERT INTO hour SELECT ts, %s, %I FROM of_hours ORDER BY ts',
                 CASE WHEN field LIKE '%key%' THEN 'key' ELSE '''one''' END, col);
  EXECUTE format('SELECT NOT EXISTS (
      (SELECT ts, %s, %I FROM of_hours EXCEPT ALL SELECT * FROM hour) UNION ALL
      (SELECT * FROM hour EXCEPT ALL SELECT ts, %1$s, %2$I FROM of_hours))',
    CASE WHEN field LIKE '%key%' THEN 'key' ELSE '''one''' END, col) INTO is_stored;
  DROP FOREIGN TABLE hour;
  CREATE FOREIGN TABLE hour (ts timestamptz) SERVER new_buckets OPTIONS (collection 'hour');
  SELECT count(*) FROM hour INTO buckets;
  DROP FOREIGN TABLE hour;
  PERFORM mongo_ts_command('new_buckets', '{"drop": "hour"}');
  RETURN NEXT;
END $$;
SELECT * FROM put_hours('f', 'float8', 'v.{second}');
SELECT * FROM put_hours('l', 'int8', 'v.{second}');
SELECT * FROM put_hours('i', 'int', 'v.{second}');
SELECT * FROM put_hours('n', 'numeric', 'v.{second}');
SELECT * FROM put_hours('f', 'float8', 'v.{minute}.{second}');
SELECT * FROM put_hours('f', 'float8', 'v.{second}.{key}');
SELECT * FROM put_hours('l', 'int8', 'v.{key}.{second}');

SELECT mongo_ts_command('new_buckets', '{"dropDatabase": 1}')->'ok' AS dropped;
