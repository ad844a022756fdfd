--
-- Tests features of MongoDB 5.0 and newer: native time-series collections,
-- names that begin with "$", and several partial indexes with the same keys.
-- test/matrix omits this file with older versions.
--
\set suite mongodb_5
\i sql/include/suite.sql

-- Native time-series collections: native.sql reads their buckets

SELECT mongo_ts_command('mongodb_5', '{"create": "native",
  "timeseries": {"timeField": "ts", "metaField": "meta"}}')->'ok' AS created;
CREATE FOREIGN TABLE native (
  ts     timestamptz,
  sensor int    OPTIONS (field 'meta.sensor'),
  value  float8
) SERVER mongodb_5 OPTIONS (native_buckets 'off');
CALL put('native', '[
  {"ts": {"$date": "2023-01-01T00:01:07.001Z"}, "meta": {"sensor": 7}, "value": 1},
  {"ts": {"$date": "2023-01-01T00:02:08.002Z"}, "meta": {"sensor": 8}, "value": 2}]');
SELECT * FROM native ORDER BY ts;
EXPLAIN (COSTS OFF)
SELECT ts, value FROM native WHERE ts < '2023-01-01 00:01:07.0015' AND sensor = 7;
SELECT ts, value FROM native WHERE ts < '2023-01-01 00:01:07.0015' AND sensor = 7;
CREATE SCHEMA imported_newer;
IMPORT FOREIGN SCHEMA mts_regress_mongodb_5 LIMIT TO (native) FROM SERVER mongodb_5 INTO imported_newer;
-- A server without such collections makes an ordinary one, where the column is meta_sensor.
CREATE VIEW imported_newer.points AS
  SELECT ts, coalesce(to_jsonb(n) -> 'sensor', to_jsonb(n) -> 'meta_sensor')::int AS sensor, value FROM imported_newer.native n;
TABLE imported_newer.points EXCEPT ALL TABLE native;
TABLE native EXCEPT ALL TABLE imported_newer.points;

-- Names that begin with "$", in values and in keys

CREATE FOREIGN TABLE anything (
  ts timestamptz, k jsonb, v jsonb OPTIONS (field 'v.{second}')
) SERVER mongodb_5;
INSERT INTO anything SELECT timestamptz '2013-10-10' + i * interval '20 seconds',
    '{"$gt": 1}', '{"": {"$a": 1, "x.y": 2}}'
  FROM generate_series(0, 4) i;
UPDATE anything SET v = '{"$set": 1}' WHERE k = '{"$gt": 1}' AND ts = '2013-10-10 00:00:20';
SELECT * FROM anything ORDER BY ts;
SELECT count(*) FROM anything WHERE k = '{"$gt": 1}';
SELECT count(*) FROM anything WHERE k = '{"$gt": 0}';

-- Two tables in one collection, each with an index of its own

CREATE TABLE want AS SELECT timestamptz '2013-10-10' + i * interval '10 seconds' AS ts, i AS a
  FROM generate_series(0, 999) i;
CREATE FOREIGN TABLE here (
  ts timestamptz, v int OPTIONS (field 'v.{second}')
) SERVER mongodb_5 OPTIONS (collection 'both', filter '{"site": 1}');
CREATE FOREIGN TABLE there (
  ts timestamptz, v int OPTIONS (field 'v.{second}')
) SERVER mongodb_5 OPTIONS (collection 'both', filter '{"site": 2}');
SELECT mongo_ts_create_index('here') <> mongo_ts_create_index('there') AS partial;
INSERT INTO here SELECT ts, a FROM want;
INSERT INTO there SELECT ts, a + 1 FROM want;
INSERT INTO here SELECT ts, a FROM want;
INSERT INTO there SELECT ts, a + 1 FROM want;
SELECT (SELECT count(*) FROM here) AS here, (SELECT sum(v) FROM here) AS sum,
       (SELECT count(*) FROM there) AS there, (SELECT sum(v) FROM there) AS sum,
       (SELECT sum(a) FROM want) AS want;
SELECT mongo_ts_command('mongodb_5', '{"count": "both", "query": {"site": {"$gt": 0}}}')->'n'
  AS documents;

SELECT mongo_ts_command('mongodb_5', '{"dropDatabase": 1}')->'ok' AS dropped;
