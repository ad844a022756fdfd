--
-- Tests buckets with a limited number of points: a statement fills the last
-- one of a key before it begins another one.
--
\set suite open_buckets
\i sql/include/suite.sql
-- A transaction would not see what another session stores meanwhile.
ALTER SERVER open_buckets OPTIONS (ADD transactions 'off');

CREATE FOREIGN TABLE points (
  ts timestamptz OPTIONS (field 's[].t'),
  k  int,
  v  float8 OPTIONS (field 's[].v', sum_field 'sum', max_field 'max')
) SERVER open_buckets OPTIONS (bucket_time_field 'day', bucket_span '1 day', bucket_max_points '5',
  bucket_first_field 'first', bucket_last_field 'last', count_field 'n');
CREATE FOREIGN TABLE buckets (
  day timestamptz OPTIONS (role 'time'), k int, n int, sum float8, max float8, first timestamptz, last timestamptz,
  points jsonb OPTIONS (field 's')
) SERVER open_buckets OPTIONS (collection 'points');
CREATE TABLE want (ts timestamptz, k int, v float8);
SELECT mongo_ts_create_index('points');

-- the points that are stored otherwise, and the buckets with untrue fields
CREATE VIEW difference AS
  (TABLE want EXCEPT ALL TABLE points) UNION ALL (TABLE points EXCEPT ALL TABLE want)
  UNION ALL
  SELECT day, k, n FROM buckets,
    LATERAL (SELECT count(*), sum((p->>'v')::float8), max((p->>'v')::float8),
                    min(p#>>'{t,$date}')::timestamptz AS lo, max(p#>>'{t,$date}')::timestamptz AS hi
               FROM jsonb_array_elements(points) p) o
   WHERE n <> o.count OR buckets.sum <> o.sum OR buckets.max <> o.max
      OR first > lo OR last < hi;
-- how many points the buckets of each key have
CREATE VIEW filled AS
  SELECT k, array_agg(n ORDER BY n DESC) AS n FROM buckets GROUP BY k ORDER BY k;

-- Store points of some keys, which follow each other every minute or so.
CREATE FUNCTION store(n int, keys int[] DEFAULT '{1}') RETURNS SETOF filled LANGUAGE plpgsql AS $$
BEGIN
  CREATE TEMP TABLE batch ON COMMIT DROP AS
    SELECT coalesce((SELECT max(w.ts) FROM want w), '2020-01-01') + i * interval '1 minute' AS ts, k, i * k / 4.0::float8 AS v
      FROM generate_series(1, n) i, unnest(keys) k ORDER BY i, k;
  INSERT INTO want TABLE batch;
  INSERT INTO points TABLE batch;
  RETURN QUERY TABLE filled;
  RETURN QUERY SELECT d.k, ARRAY[d.v] FROM (SELECT difference.k, v::int FROM difference) d;
END $$;

SELECT * FROM store(12);
SELECT * FROM store(2);
SELECT * FROM store(12);
-- A point fits wherever there is room.
SELECT * FROM store(1);
SELECT * FROM store(1);
-- Keys in turn, in more batches than one, and one that is null
ALTER FOREIGN TABLE points OPTIONS (ADD batch_size '4');
SELECT * FROM store(7, '{1,2,3,null}');
SELECT * FROM store(21, '{1,2}');
-- Points that are earlier than all others, and twice the same
INSERT INTO want VALUES ('2020-01-01', 1, 7), ('2020-01-01', 1, 7), ('2020-01-01', 1, -1);
INSERT INTO points VALUES ('2020-01-01', 1, 7), ('2020-01-01', 1, 7), ('2020-01-01', 1, -1);
TABLE filled;
TABLE difference;

-- Numbers of another type are the same key.
TRUNCATE points, want;
CALL put('points', '[{"_id": {"text": "any"}, "k": 4.0, "day": {"$date": "2020-01-01T00:00:00Z"}, "s": [{"t": {"$date": "2020-01-01T00:00:00Z"}, "v": 1.0}],
  "n": 1, "sum": 1.0, "max": 1.0, "first": {"$date": "2020-01-01T00:00:00Z"}, "last": {"$date": "2020-01-01T00:00:00Z"}}]');
INSERT INTO want VALUES ('2020-01-01', 4, 1);
SELECT * FROM store(11, '{4}');

-- A field that is no array has no room.
TRUNCATE points, want;
CALL put('points', '[{"_id": 1, "k": 1, "day": {"$date": "2020-01-01T00:00:00Z"}, "s": "none"}]');
INSERT INTO points SELECT timestamptz '2020-01-01' + i * interval '1 second', 1, i FROM generate_series(1, 7) i;
SELECT n, jsonb_typeof(points) FROM buckets ORDER BY n;
TRUNCATE points;

-- Another session fills the bucket that the statement has begun to fill.
CREATE FUNCTION steal(k int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  PERFORM mongo_ts_command('open_buckets', json_build_object('update', 'points', 'updates', json_build_array(json_build_object(
    'q', json_build_object('k', k, 's.4', '{"$exists": false}'::json),
    'u', '{"$push": {"s": {"$each": [{"t": {"$date": "2020-01-01T12:00:00Z"}, "v": 0.0}, {"t": {"$date": "2020-01-01T12:00:01Z"}, "v": 0.0}]}}, "$inc": {"n": 2},
      "$max": {"last": {"$date": "2020-01-01T12:00:01Z"}}}'::json))));
  RETURN k;
END $$;
INSERT INTO want SELECT timestamptz '2020-01-01' + i * interval '1 second', CASE WHEN i = 4 THEN 2 ELSE 1 END, i
  FROM generate_series(1, 9) i;
INSERT INTO points SELECT ts, CASE WHEN v = 5 THEN steal(k) ELSE k END, v FROM want ORDER BY ts;
INSERT INTO want VALUES ('2020-01-01 12:00', 1, 0), ('2020-01-01 12:00:01', 1, 0);
TABLE filled;
TABLE difference;
TRUNCATE points, want;

-- A bucket with an attribute refuses points with another one.
CREATE FOREIGN TABLE rooms (
  ts timestamptz OPTIONS (field 's[].t'), k int, room text OPTIONS (role 'attribute'),
  v float8 OPTIONS (field 's[].v')
) SERVER open_buckets OPTIONS (bucket_max_points '5');
CREATE FOREIGN TABLE room_buckets (k int, room text, points jsonb OPTIONS (field 's')) SERVER open_buckets OPTIONS (collection 'rooms');
INSERT INTO rooms SELECT timestamptz '2020-01-01' + i * interval '1 second', 1, 'a', i FROM generate_series(1, 8) i;
SET client_min_messages = error;
\set VERBOSITY terse
INSERT INTO rooms SELECT timestamptz '2020-01-02' + i * interval '1 second', 1, 'b', i FROM generate_series(1, 8) i;
\set VERBOSITY default
RESET client_min_messages;
INSERT INTO rooms SELECT timestamptz '2020-01-02' + i * interval '1 second', 1, NULL, i FROM generate_series(1, 5) i;
SELECT k, room, jsonb_array_length(points) FROM room_buckets ORDER BY 2, 3;

-- Arrays side by side
CREATE FOREIGN TABLE pairs (ts timestamptz OPTIONS (field 't[]'), v int OPTIONS (field 'v[]'))
  SERVER open_buckets OPTIONS (bucket_max_points '5');
INSERT INTO pairs SELECT timestamptz '2020-01-01' + i * interval '1 second', i FROM generate_series(1, 8) i;
INSERT INTO pairs SELECT timestamptz '2020-01-02' + i * interval '1 second', i FROM generate_series(1, 8) i;
SELECT d->'v' AS v FROM jsonb_array_elements(mongo_ts_command('open_buckets', '{"find": "pairs", "sort": {"t": 1}}')::jsonb->'cursor'->'firstBatch') d;
SELECT count(*), count(DISTINCT ts) FROM pairs;

-- Buckets that must match another term of the filter are found by it.
CREATE FOREIGN TABLE present (ts timestamptz OPTIONS (field 's[].t'), k int, v int OPTIONS (field 's[].v'))
  SERVER open_buckets OPTIONS (bucket_max_points '5', filter '{"kind": "a", "gone": {"$exists": false}}');
INSERT INTO present SELECT timestamptz '2020-01-01' + i * interval '1 second', 1, i FROM generate_series(1, 8) i;
SELECT count(*) FROM present;

-- Long keys are looked for in parts.
CREATE FOREIGN TABLE long_keys (ts timestamptz OPTIONS (field 's[].t'), k text, v int OPTIONS (field 's[].v'))
  SERVER open_buckets OPTIONS (bucket_max_points '5');
SELECT mongo_ts_create_index('long_keys');
INSERT INTO long_keys SELECT timestamptz '2020-01-01' + i * interval '1 second', lpad(k::text, 12000, 'k'), i FROM generate_series(1, 2) i, generate_series(1, 1500) k;
INSERT INTO long_keys SELECT timestamptz '2020-01-02' + i * interval '1 second', lpad(k::text, 12000, 'k'), i FROM generate_series(1, 3) i, generate_series(1, 1500) k;
SELECT count(*), count(DISTINCT k) FROM long_keys;
SELECT mongo_ts_command('open_buckets', '{"aggregate": "long_keys", "pipeline": [{"$group": {"_id": {"$size": "$s"}, "n": {"$sum": 1}}}], "cursor": {}}')::jsonb->'cursor'->'firstBatch';
