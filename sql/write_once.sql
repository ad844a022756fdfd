--
-- Tests points of slots that are empty, in buckets with pre-aggregates.
-- Operators store them if the bucket is as they assume, otherwise a pipeline
-- does.
--
\set suite write_once
\i sql/include/suite.sql
-- A transaction would use pipelines for all buckets if one of them requires it.
ALTER SERVER write_once OPTIONS (ADD transactions 'off');

CREATE FOREIGN TABLE points (
  ts timestamptz,
  k  int,
  v  float8 OPTIONS (field 'p.{second}.v', sum_field 'v_sum', min_field 'v_min', max_field 'v_max'),
  w  int8   OPTIONS (field 'p.{second}.w', sum_field 'w_sum')
) SERVER write_once OPTIONS (count_field 'n');
CREATE FOREIGN TABLE buckets (
  ts timestamptz, k int, n int, v_sum float8, v_min float8, v_max float8, w_sum numeric
) SERVER write_once OPTIONS (collection 'points');
CREATE TABLE want (ts timestamptz, k int, v float8, w int8, PRIMARY KEY (ts, k));
-- the points that are stored otherwise, and the buckets with untrue totals
CREATE VIEW difference AS
  (TABLE want EXCEPT TABLE points) UNION ALL (TABLE points EXCEPT TABLE want)
  UNION ALL
  (SELECT ts, k, NULL, n FROM
    (TABLE buckets EXCEPT
     SELECT date_trunc('minute', ts), k, count(*), coalesce(sum(v), 0), min(v), max(v),
            coalesce(sum(w), 0)
       FROM want GROUP BY 1, 2) b);

-- How many updates by a pipeline the server has done, and how often it has saved its
-- sessions, which takes some as well.  FerretDB says neither.
CREATE FUNCTION updates(OUT pipelines bigint, OUT sessions bigint) LANGUAGE sql AS $$
  SELECT (status #> '{metrics,commands,update,pipeline}')::bigint,
         (status #> '{logicalSessionRecordCache,sessionsCollectionJobCount}')::bigint
    FROM jsonb(mongo_ts_command('write_once', '{"serverStatus": 1}')) status
$$;
-- Run a statement, and return how many pipelines it required, or the expected
-- number if that cannot be told.
CREATE FUNCTION require(statement text, expected bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  before record = updates();
  after record;
BEGIN
  EXECUTE statement;
  after = updates();
  RETURN CASE WHEN after.sessions = before.sessions THEN after.pipelines - before.pipelines
              ELSE expected END;
END $$;
-- Write rows of a query into both tables; expected is the number of pipelines.
CREATE FUNCTION store(rows text, expected bigint)
RETURNS TABLE (pipelines bigint, differences bigint) LANGUAGE plpgsql AS $$
BEGIN
  pipelines := require('INSERT INTO points ' || rows, expected);
  EXECUTE 'INSERT INTO want ' || rows
    || ' ON CONFLICT (ts, k) DO UPDATE SET v = excluded.v, w = excluded.w';
  differences := (SELECT count(*) FROM difference);
  RETURN NEXT;
END $$;
CREATE FUNCTION update(filter text, change text) RETURNS jsonb LANGUAGE sql AS $$
  SELECT mongo_ts_command('write_once', format('{"update": "points", "updates": [{"q": %s, "u": %s, "multi": true}]}',
                                               filter, change)::json)->'nModified'
$$;
CREATE TABLE series AS SELECT timestamptz '2024-05-01' AS ts, i AS k FROM generate_series(1, 12) i;

-- without the unique index, nothing is assumed
SELECT * FROM store('SELECT ts, k, k, k FROM series', 12);
SELECT mongo_ts_command('write_once', '{"drop": "points"}')->>'ok' IN ('1', 'true') AS dropped;
TRUNCATE want;
SELECT mongo_ts_create_index('points');

-- The slots are empty ------------------------------------------------------

-- new buckets, then new points
SELECT * FROM store('SELECT ts, k, k, k FROM series', 0);
SELECT * FROM store('SELECT ts + interval ''1 s'', k, -k, 5 FROM series', 0);
-- several points of a bucket, and one of them twice
SELECT * FROM store('SELECT ts + (2 + s) * interval ''1 s'', k, k / 4.0, -k FROM series, generate_series(0, 3) s', 0);
SELECT require('INSERT INTO points SELECT ts + interval ''8 s'', k, s, s FROM series, generate_series(0, 2) s', 0);
INSERT INTO want SELECT ts + interval '8 s', k, 2, 2 FROM series;
-- null
SELECT * FROM store('SELECT ts + interval ''9 s'', k, NULL, NULL FROM series', 0);
SELECT mongo_ts_command('write_once', '{"find": "points", "filter": {"k": 7}, "projection": {"_id": 0}}')
  #>'{cursor,firstBatch,0}' AS bucket;

-- They are not -------------------------------------------------------------

SELECT * FROM store('SELECT ts + interval ''1 s'', k, 100, 100 FROM series', 12);
SELECT * FROM store('SELECT ts + (k % 2 * 10) * interval ''1 s'', k, 200, 200 FROM series', 6);
-- some of the points of each bucket
SELECT * FROM store('SELECT ts + (9 + 2 * s) * interval ''1 s'', k, 1, 1 FROM series, generate_series(0, 1) s', 12);
-- null, and a point without one of its values
SELECT * FROM store('SELECT ts + interval ''9 s'', k, NULL, NULL FROM series', 12);
SELECT update('{"k": {"$lte": 6}}', '{"$unset": {"p.9.v": 1, "p.9.w": 1, "p.11.w": 1}, "$inc": {"n": -1, "w_sum": -1}}');
UPDATE want SET w = NULL WHERE k <= 6 AND ts = '2024-05-01 00:00:11';
SELECT * FROM store('SELECT ts + interval ''9 s'', k, 5, 6 FROM series', 6);
-- a point without values is none; nor are an empty document and null
SELECT update('{}', '{"$set": {"p.20": {}, "p.21": null}}');
SELECT * FROM store('SELECT ts + interval ''20 s'', k, 5, 6 FROM series', 0);
SELECT * FROM store('SELECT ts + interval ''21 s'', k, 7, 8 FROM series', 12);
-- another field makes a point
SELECT update('{}', '{"$set": {"p.22.x": 1}, "$inc": {"n": 1}}');
SELECT * FROM store('SELECT ts + interval ''22 s'', k, 5, 6 FROM series', 12);

-- Totals -------------------------------------------------------------------

-- a bucket without one of them gets all
SELECT update('{"k": 1}', '{"$unset": {"n": 1}}'), update('{"k": 2}', '{"$unset": {"v_sum": 1}}'),
       update('{"k": 3}', '{"$unset": {"v_min": 1}}'), update('{"k": 4}', '{"$set": {"v_max": null}}');
SELECT * FROM store('SELECT ts + interval ''23 s'', k, 5, 6 FROM series', 4);
-- an infinite value, NaN, and values after it
SELECT * FROM store('SELECT ts + interval ''24 s'', k, CASE WHEN k > 6 THEN ''inf'' ELSE ''-inf''::float8 END, 6 FROM series', 0);
SELECT * FROM store('SELECT ts + interval ''25 s'', k, CASE WHEN k > 6 THEN ''NaN'' ELSE 9::float8 END, 6 FROM series', 6);
SELECT * FROM store('SELECT ts + interval ''26 s'', k, 9, 6 FROM series', 6);
-- a sum that 64 bits do not hold
SELECT * FROM store('SELECT ts + interval ''27 s'', k, 9, 9223372036854775000 FROM series', 6);
SELECT * FROM store('SELECT ts + interval ''28 s'', k, 9, 9223372036854775000 FROM series WHERE k <= 6', 6);
SELECT * FROM store('SELECT ts + interval ''29 s'', k, 9, 1 FROM series WHERE k <= 8', 2);
SELECT * FROM store('SELECT ts + interval ''30 s'', k, 9, -9223372036854775000 FROM series', 6);
SELECT k, w_sum FROM buckets WHERE k IN (1, 12) ORDER BY k;
-- a bucket whose first values are null has no extremes
SELECT * FROM store('SELECT ts + interval ''60 s'', k, NULL, NULL FROM series', 0);
SELECT * FROM store('SELECT ts + interval ''61 s'', k, k, k FROM series', 12);
SELECT * FROM store('SELECT ts + interval ''62 s'', k, -k, -k FROM series', 0);
-- points that are removed and written again
DELETE FROM points WHERE ts = '2024-05-01 00:01:01';
DELETE FROM want WHERE ts = '2024-05-01 00:01:01';
SELECT * FROM store('SELECT ts + interval ''61 s'', k, 3, k FROM series', 0);

-- New buckets that are inserted --------------------------------------------

SELECT * FROM store('SELECT ts + (3600 + s) * interval ''1 s'', k * 1000 + s / 10, s / 8.0, s FROM series, generate_series(0, 1199) s', 0);
SELECT * FROM store('SELECT ts + (7200 + s) * interval ''1 s'', k * 1000 + s / 10, CASE WHEN k > 1 THEN s ELSE ''NaN''::float8 END, s FROM series, generate_series(0, 1199) s', 120);
DROP VIEW difference;
DROP FOREIGN TABLE points, buckets;
SELECT mongo_ts_command('write_once', '{"drop": "points"}')->>'ok' IN ('1', 'true') AS dropped;

-- Attributes ---------------------------------------------------------------

CREATE FOREIGN TABLE points (
  ts timestamptz, k int, room text OPTIONS (field 'at.room', role 'attribute'),
  v int OPTIONS (field 'p.{second}')
) SERVER write_once;
SELECT mongo_ts_create_index('points');
SELECT require('INSERT INTO points SELECT ts, k, ''hall'', 1 FROM series', 0);
SELECT require('INSERT INTO points SELECT ts, k, ''hall'', 2 FROM series', 0);
SELECT require('INSERT INTO points SELECT ts, k, NULL, 3 FROM series', 0);
SELECT update('{"k": {"$lte": 3}}', '{"$unset": {"at.room": 1}}'), update('{"k": 4}', '{"$set": {"at": null}}');
SELECT require('INSERT INTO points SELECT ts + interval ''1 s'', k, ''hall'', 4 FROM series', 4);
SELECT room, v, count(*) FROM points GROUP BY room, v ORDER BY v;
SELECT left(try('INSERT INTO points SELECT ts, k, CASE WHEN k = 5 THEN ''shed'' ELSE ''hall'' END, 5 FROM series'), 5) AS error;
-- an array of the value is another value
SELECT update('{"k": 1}', '{"$set": {"at.room": ["hall"]}}'), update('{"k": 2}', '{"$set": {"at": [{"room": "hall"}]}}');
SELECT left(try('INSERT INTO points SELECT ts, k, ''hall'', 6 FROM series WHERE k <> 2'), 5) AS error;
SELECT left(try('INSERT INTO points SELECT ts, k, ''hall'', 6 FROM series WHERE k <> 1'), 5) AS error;
SELECT v, count(*) FROM points WHERE v >= 5 GROUP BY v ORDER BY v;
DROP FOREIGN TABLE points;
SELECT mongo_ts_command('write_once', '{"drop": "points"}')->>'ok' IN ('1', 'true') AS dropped;

-- Missing values -----------------------------------------------------------

CREATE FOREIGN TABLE points (
  ts timestamptz, k int,
  v int OPTIONS (field 'v.{second}', missing_value '-1', sum_field 'sum'),
  w int OPTIONS (field 'w.{second}', missing_value 'null')
) SERVER write_once OPTIONS (count_field 'n');
CREATE FOREIGN TABLE buckets (ts timestamptz, k int, n int, sum int)
  SERVER write_once OPTIONS (collection 'points');
SELECT mongo_ts_create_index('points');
SELECT mongo_ts_preallocate('points', '2024-05-01', '2024-05-01 00:01', format('{"k": %s}', k)::jsonb) FROM series WHERE k <= 6;
SELECT require('INSERT INTO points SELECT ts + interval ''1 s'', k, k, NULL FROM series', 0);
SELECT require('INSERT INTO points SELECT ts + interval ''2 s'', k, k, k FROM series', 0);
SELECT require('INSERT INTO points SELECT ts + interval ''1 s'', k, k, k FROM series', 12);
SELECT require('INSERT INTO points SELECT ts + interval ''3 s'', k, NULL, NULL FROM series', 0);
SELECT n, sum(sum), count(*) FROM buckets GROUP BY n;
SELECT count(*), sum(v), sum(w) FROM points;
DROP FOREIGN TABLE points, buckets;
SELECT mongo_ts_command('write_once', '{"drop": "points"}')->>'ok' IN ('1', 'true') AS dropped;

-- Counters, by _id --------------------------------------------------------

CREATE FOREIGN TABLE points (
  ts timestamptz OPTIONS (field '_id.t'), k int OPTIONS (field '_id.k'),
  v int OPTIONS (field 'v.{second}', sum_field 'sum', max_field 'max')
) SERVER write_once OPTIONS (write_mode 'increment', count_field 'n');
CREATE FOREIGN TABLE buckets (k int OPTIONS (field '_id.k'), n int, sum int, max int)
  SERVER write_once OPTIONS (collection 'points');
SELECT require('INSERT INTO points SELECT ts, k, k FROM series', 0);
SELECT require('INSERT INTO points SELECT ts + interval ''1 s'', k, 7 FROM series WHERE k = 1', 0);
SELECT require('INSERT INTO points SELECT ts + (k / 9) * interval ''1 s'', k, 100 FROM series', 8);
SELECT n, sum, max, count(*) FROM buckets GROUP BY n, sum, max ORDER BY n, sum;
-- rows of a slot that add up to "no reading" are no point
SELECT mongo_ts_command('write_once', '{"drop": "points"}')->>'ok' IN ('1', 'true') AS dropped;
ALTER FOREIGN TABLE points ALTER v OPTIONS (ADD missing_value '0');
SELECT require('INSERT INTO points SELECT ts + i % 2 * interval ''1 s'', k, (ARRAY[5, 7, -5])[i + 1]
  FROM series, generate_series(0, 2) i', 12);
SELECT n, sum, count(*) FROM buckets GROUP BY n, sum;
SELECT count(*), sum(v) FROM points;
DROP FOREIGN TABLE points, buckets;

-- Rolling collections ------------------------------------------------------

CREATE FOREIGN TABLE points (
  ts timestamptz, k int, v int OPTIONS (field 'v.{second}', sum_field 'sum')
) SERVER write_once OPTIONS (collection 'points_%Y%m%d', count_field 'n');
CREATE FOREIGN TABLE buckets (ts timestamptz, k int, n int, sum int)
  SERVER write_once OPTIONS (collection 'points_%Y%m%d');
-- new collections get the index
SELECT require('INSERT INTO points SELECT ts + k % 2 * interval ''1 day'', k, 1 FROM series', 12);
SELECT require('INSERT INTO points SELECT ts + k % 2 * interval ''1 day 1 s'', k, k FROM series', 6);
-- one of them has it no more
SELECT mongo_ts_command('write_once', '{"dropIndexes": "points_20240502", "index": "k_1_ts_1"}')->>'ok' IN ('1', 'true') AS dropped;
SELECT require('INSERT INTO points SELECT ts + k % 2 * interval ''1 day 1 s'' + interval ''2 s'', k, k FROM series', 12);
SELECT require('INSERT INTO points SELECT ts + interval ''3 s'', k, k FROM series', 0);
SELECT ts, count(*), sum(n) AS n, sum(sum) FROM buckets GROUP BY ts ORDER BY ts;
SELECT count(*), sum(v) FROM points;

SELECT mongo_ts_command('write_once', '{"dropDatabase": 1}')->>'ok' IN ('1', 'true') AS dropped;
