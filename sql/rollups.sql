--
-- Tests the documentation's recipes for roll-ups and retention.
--
\set suite rollups
\i sql/include/suite.sql

CREATE FOREIGN TABLE memory (
  "timestamp" timestamptz OPTIONS (field 'timestamp_minute'),
  type        text,
  value       float8      OPTIONS (field 'values.{second}')
) SERVER rollups OPTIONS (collection 'metrics');
SELECT mongo_ts_create_index('memory');

-- Roll-ups -----------------------------------------------------------------

CREATE FOREIGN TABLE memory_1m (              -- {hour, type, m: {"6": {n: 3, total: .., low: .., high: ..}}}
  "timestamp" timestamptz OPTIONS (field 'hour'),
  type        text,
  n           bigint      OPTIONS (field 'm.{minute}.n'),
  total       float8      OPTIONS (field 'm.{minute}.total'),
  low         float8      OPTIONS (field 'm.{minute}.low'),
  high        float8      OPTIONS (field 'm.{minute}.high')
) SERVER rollups;
CREATE FOREIGN TABLE memory_5m (              -- {day, type, m: {"0": .., "287": ..}}
  "timestamp" timestamptz OPTIONS (field 'day'),
  type        text,
  n           bigint      OPTIONS (field 'm.{5 minutes}.n'),
  total       float8      OPTIONS (field 'm.{5 minutes}.total'),
  low         float8      OPTIONS (field 'm.{5 minutes}.low'),
  high        float8      OPTIONS (field 'm.{5 minutes}.high')
) SERVER rollups OPTIONS (bucket_span '1 day');
CREATE FOREIGN TABLE memory_1h (              -- {day, type, h: {"0": .., "23": ..}}
  "timestamp" timestamptz OPTIONS (field 'day'),
  type        text,
  n           bigint      OPTIONS (field 'h.{hour}.n'),
  total       float8      OPTIONS (field 'h.{hour}.total'),
  low         float8      OPTIONS (field 'h.{hour}.low'),
  high        float8      OPTIONS (field 'h.{hour}.high')
) SERVER rollups;
CREATE FOREIGN TABLE memory_1d (              -- {month, type, d: {"1": .., "31": ..}}
  "timestamp" timestamptz OPTIONS (field 'month'),
  type        text,
  n           bigint      OPTIONS (field 'd.{day:1}.n'),
  total       float8      OPTIONS (field 'd.{day:1}.total'),
  low         float8      OPTIONS (field 'd.{day:1}.low'),
  high        float8      OPTIONS (field 'd.{day:1}.high')
) SERVER rollups;
SELECT mongo_ts_create_index(t) FROM unnest('{memory_1m,memory_5m,memory_1h,memory_1d}'::regclass[]) t;

CREATE FUNCTION roll_up(since timestamptz) RETURNS void LANGUAGE sql AS $$
  INSERT INTO memory_1m
  SELECT date_trunc('minute', "timestamp"), type, count(value), sum(value), min(value), max(value)
    FROM memory WHERE "timestamp" >= date_trunc('minute', since) GROUP BY 1, 2;
  INSERT INTO memory_5m
  SELECT date_bin('5 minutes', "timestamp", 'epoch'), type, sum(n), sum(total), min(low), max(high)
    FROM memory_1m WHERE "timestamp" >= date_bin('5 minutes', since, 'epoch') GROUP BY 1, 2;
  INSERT INTO memory_1h
  SELECT date_trunc('hour', "timestamp", 'UTC'), type, sum(n), sum(total), min(low), max(high)
    FROM memory_5m WHERE "timestamp" >= date_trunc('hour', since, 'UTC') GROUP BY 1, 2;
  INSERT INTO memory_1d
  SELECT date_trunc('day', "timestamp", 'UTC'), type, sum(n), sum(total), min(low), max(high)
    FROM memory_1h WHERE "timestamp" >= date_trunc('day', since, 'UTC') GROUP BY 1, 2;
$$;

-- The expected levels, from a local copy of the points
CREATE TABLE points ("timestamp" timestamptz, type text, value float8);
CREATE VIEW levels AS
  SELECT '1m' AS level, * FROM memory_1m UNION ALL SELECT '5m', * FROM memory_5m UNION ALL
  SELECT '1h', * FROM memory_1h UNION ALL SELECT '1d', * FROM memory_1d;
CREATE VIEW direct AS
  SELECT level, date_bin(width, "timestamp", 'epoch') AS "timestamp", type, count(value) AS n,
         sum(value) AS total, min(value) AS low, max(value) AS high
    FROM points, (VALUES ('1m', interval '1 minute'), ('5m', '5 minutes'), ('1h', '1 hour'), ('1d', '1 day')) w (level, width)
   GROUP BY 1, 2, 3;
CREATE VIEW differences AS
  SELECT level, count(l) AS rows, sum(l.n) AS points, count(*) FILTER (WHERE l IS DISTINCT FROM d) AS wrong
    FROM levels l FULL JOIN direct d USING (level, "timestamp", type) GROUP BY 1 ORDER BY 1;
-- The documents as they are stored
CREATE FUNCTION documents() RETURNS jsonb LANGUAGE sql AS $$
  SELECT jsonb_agg(mongo_ts_command('rollups', json_build_object('find', c, 'sort', '{"_id": 1}'::json, 'batchSize', 9999))#>'{cursor,firstBatch}')
    FROM unnest('{memory_1m,memory_5m,memory_1h,memory_1d}'::text[]) c
$$;

-- Three days with a point every 13 s and gaps; numbers with exact sums, and
-- nulls
INSERT INTO points
SELECT t, type, CASE WHEN i % 17 > 0 THEN (i * 37 % 1001 - 500) / 4.0 END
  FROM generate_series(0, 2 * 86400, 13) i, unnest('{used,free}'::text[]) type,
       LATERAL (SELECT timestamptz '2013-10-30 22:58:30Z' + i * interval '1 s') x (t)
 WHERE i / 400 % 5 <> 3;
-- minutes with only nulls, a series with gaps, and a month's last second
INSERT INTO points SELECT '2013-10-31 03:00Z'::timestamptz + s * interval '1 s', 'rare', NULL FROM generate_series(0, 59) s;
INSERT INTO points VALUES ('2013-10-31 23:59:59Z', 'rare', -0.25), ('2013-11-01 00:00:00Z', 'rare', 1e6);
INSERT INTO memory SELECT * FROM points;

SELECT roll_up('-infinity');
SELECT * FROM differences;
SELECT * FROM memory_1d ORDER BY "timestamp", type;
SELECT "timestamp", n, total, low, high FROM memory_1m WHERE type = 'rare' ORDER BY 1;
-- repeated as a whole and in part: nothing changes
SELECT documents() AS before \gset
SELECT roll_up('-infinity');
SELECT roll_up('2013-10-31 12:34:56.789Z');
SET TimeZone = 'Asia/Kathmandu';
SELECT roll_up('2013-10-31 12:34:56.789Z');
RESET TimeZone;
SET TimeZone = 'UTC';
SELECT documents() = :'before' AS same;

-- A scheduled run goes back to the last rolled-up minute.
SELECT plan($$SELECT least(timestamptz '2013-11-02' - interval '2 hours', max("timestamp")) FROM memory_1m$$);
SELECT least(timestamptz '2013-11-02' - interval '2 hours', max("timestamp")) FROM memory_1m;

-- New and late points; the window begins inside an interval of each level.
CREATE TABLE late ("timestamp" timestamptz, type text, value float8);
INSERT INTO late SELECT '2013-11-01 22:52:07Z'::timestamptz + s * interval '7 s', type, s / 8.0
  FROM generate_series(0, 900) s, unnest('{used,new}'::text[]) type;
INSERT INTO late SELECT '2013-11-01 21:17:44Z'::timestamptz + s * interval '20 s', type, -1000 - s
  FROM generate_series(0, 40) s, unnest('{used,late}'::text[]) type;
INSERT INTO memory SELECT * FROM late;
-- the late ones replace existing points
DELETE FROM points p USING late l WHERE (p."timestamp", p.type) = (l."timestamp", l.type);
INSERT INTO points SELECT * FROM late;
SELECT level, wrong > 0 AS wrong FROM differences;
SELECT roll_up('2013-11-01 21:17:30Z');
SELECT * FROM differences;
-- Points later than the look-back require a run that goes back further.
INSERT INTO memory VALUES ('2013-10-31 07:31:31Z', 'used', 9999), ('2013-10-31 23:59:59Z', 'rare', -8);
DELETE FROM points WHERE ("timestamp", type) IN (('2013-10-31 07:31:31Z', 'used'), ('2013-10-31 23:59:59Z', 'rare'));
INSERT INTO points VALUES ('2013-10-31 07:31:31Z', 'used', 9999), ('2013-10-31 23:59:59Z', 'rare', -8);
SELECT roll_up('2013-11-01 21:17:30Z');
SELECT * FROM differences;
SELECT roll_up('2013-10-31 07:31:31Z');
SELECT * FROM differences;
-- changed and removed points
UPDATE memory SET value = value + 1 WHERE "timestamp" >= '2013-11-01 22:50Z' AND value > 100;
UPDATE points SET value = value + 1 WHERE "timestamp" >= '2013-11-01 22:50Z' AND value > 100;
DELETE FROM memory WHERE "timestamp" >= '2013-11-01 23:00:30Z' AND "timestamp" < '2013-11-01 23:01Z';
DELETE FROM points WHERE "timestamp" >= '2013-11-01 23:00:30Z' AND "timestamp" < '2013-11-01 23:01Z';
SELECT roll_up('2013-11-01 22:50Z');
SELECT * FROM differences;
-- A minute without remaining points is not overwritten, so it is removed
-- first.
DELETE FROM memory WHERE "timestamp" >= '2013-11-01 23:02Z' AND "timestamp" < '2013-11-01 23:03Z';
DELETE FROM points WHERE "timestamp" >= '2013-11-01 23:02Z' AND "timestamp" < '2013-11-01 23:03Z';
SELECT roll_up('2013-11-01 22:50Z');
SELECT level, wrong > 0 AS wrong FROM differences;
DELETE FROM memory_1m WHERE "timestamp" >= '2013-11-01 22:50Z';
DELETE FROM memory_5m WHERE "timestamp" >= '2013-11-01 22:50Z';
SELECT roll_up('2013-11-01 22:50Z');
SELECT * FROM differences;
-- Averages of any interval, from the best level
SELECT type, sum(total) / sum(n) AS average FROM memory_1h
 WHERE "timestamp" >= '2013-10-31' AND "timestamp" < '2013-11-01' GROUP BY type
EXCEPT
SELECT type, avg(value) FROM points
 WHERE "timestamp" >= '2013-10-31' AND "timestamp" < '2013-11-01' GROUP BY type;

-- One document for each interval -------------------------------------------

-- INSERT doesn't overwrite them, so the window is deleted before it is
-- written.
CREATE FOREIGN TABLE memory_flat (
  "timestamp" timestamptz,
  type        text        OPTIONS (role 'key'),
  n           bigint,
  total       float8,
  low         float8,
  high        float8
) SERVER rollups;
SELECT mongo_ts_create_index('memory_flat');
CREATE FUNCTION roll_up_flat(since timestamptz) RETURNS void LANGUAGE sql AS $$
  DELETE FROM memory_flat WHERE "timestamp" >= date_trunc('hour', since, 'UTC');
  INSERT INTO memory_flat
  SELECT date_trunc('hour', "timestamp", 'UTC'), type, sum(n), sum(total), min(low), max(high)
    FROM memory_5m WHERE "timestamp" >= date_trunc('hour', since, 'UTC') GROUP BY 1, 2;
$$;
SELECT roll_up_flat('-infinity');
SELECT roll_up_flat('2013-11-01 21:17:30Z');
SELECT count(*), count(*) FILTER (WHERE f IS DISTINCT FROM h) AS wrong
  FROM memory_flat f FULL JOIN memory_1h h USING ("timestamp", type);

-- Days of another zone, with a repeated hour
CREATE FOREIGN TABLE memory_berlin (
  "timestamp" timestamptz OPTIONS (field 'month'),
  type        text,
  n           bigint      OPTIONS (field 'd.{day:1}.n'),
  total       float8      OPTIONS (field 'd.{day:1}.total')
) SERVER rollups OPTIONS (bucket_time_zone 'Europe/Berlin');
INSERT INTO memory SELECT t, 'berlin', 1 FROM generate_series(timestamptz '2013-10-25 22:00Z', '2013-10-28 22:30Z', '30 minutes') t;
SELECT roll_up('2013-10-25');
INSERT INTO memory_berlin
SELECT date_trunc('day', "timestamp", 'Europe/Berlin'), type, sum(n), sum(total)
  FROM memory_1h WHERE type = 'berlin' GROUP BY 1, 2;
SELECT "timestamp" AT TIME ZONE 'Europe/Berlin' AS day, n, total FROM memory_berlin ORDER BY 1;
SELECT d.d, mongo_ts_command('rollups', json_build_object('delete', d, 'deletes', '[{"q": {"type": "berlin"}, "limit": 0}]'::json))->'ok' AS ok
  FROM unnest('{metrics,memory_1m,memory_5m,memory_1h,memory_1d}'::text[]) d (d);

-- Retention ----------------------------------------------------------------

-- MongoDB removes whole buckets some time after their expiry.
SELECT mongo_ts_command('rollups', '{"createIndexes": "metrics", "indexes": [
  {"key": {"timestamp_minute": 1}, "name": "expire", "expireAfterSeconds": 1500000000}]}')->'ok' AS ok;
SELECT i->>'name' AS name, i->'key' AS key, i->'expireAfterSeconds' AS seconds
  FROM jsonb_array_elements(mongo_ts_command('rollups', '{"listIndexes": "metrics"}')#>'{cursor,firstBatch}') i
 WHERE i ? 'expireAfterSeconds';
-- A range of time: whole buckets in one command, and the points at its edge
EXPLAIN (COSTS OFF) DELETE FROM memory WHERE "timestamp" < '2013-11-01 21:17:33Z';
DELETE FROM memory WHERE "timestamp" < '2013-11-01 21:17:33Z';
SELECT count(*), min("timestamp") FROM memory;
-- the roll-ups stay, as long as no window begins before the remaining points
SELECT roll_up('2013-11-01 21:18Z');
SELECT * FROM differences;
DELETE FROM memory_1m WHERE "timestamp" < '2013-11-01 21:00Z';
SELECT roll_up('2013-11-01 21:18Z');
SELECT * FROM differences WHERE level <> '1m';
-- A whole collection
SELECT mongo_ts_command('rollups', '{"drop": "metrics"}')->'ok' AS ok;
SELECT count(*) FROM memory;
SELECT roll_up('2013-11-01 21:18Z');
SELECT * FROM differences WHERE level <> '1m';

-- one of several
CREATE TABLE memory_all ("timestamp" timestamptz, type text, value float8) PARTITION BY RANGE ("timestamp");
CREATE FOREIGN TABLE memory_2013_10 ("timestamp" timestamptz, type text, value float8 OPTIONS (field 'values.{second}')) SERVER rollups;
CREATE FOREIGN TABLE memory_2013_11 ("timestamp" timestamptz, type text, value float8 OPTIONS (field 'values.{second}')) SERVER rollups;
ALTER TABLE memory_all ATTACH PARTITION memory_2013_10 FOR VALUES FROM ('2013-10-01') TO ('2013-11-01');
ALTER TABLE memory_all ATTACH PARTITION memory_2013_11 FOR VALUES FROM ('2013-11-01') TO ('2013-12-01');
INSERT INTO memory_all SELECT * FROM points;
SELECT date_trunc('month', "timestamp") AS month, count(*) FROM memory_all GROUP BY 1 ORDER BY 1;
DROP FOREIGN TABLE memory_2013_10;
SELECT mongo_ts_command('rollups', '{"drop": "memory_2013_10"}')->'ok' AS ok;
SELECT date_trunc('month', "timestamp") AS month, count(*) FROM memory_all GROUP BY 1 ORDER BY 1;

SELECT mongo_ts_command('rollups', '{"dropDatabase": 1}')->'ok' AS dropped;
