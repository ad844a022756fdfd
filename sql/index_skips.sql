--
-- Tests queries that do not fix the first fields of an index: MongoDB skips over
-- their values.
--
\set suite index_skips
\i sql/include/suite.sql

\pset format unaligned
\pset tuples_only on
\i sql/include/copies.sql

-- Another server of the same MongoDB
CREATE SERVER same_mongodb FOREIGN DATA WRAPPER mongo_ts_fdw OPTIONS (uri :'uri', database :'database');
CREATE USER MAPPING FOR PUBLIC SERVER same_mongodb OPTIONS (password_required 'false');
\if :{?username}
ALTER USER MAPPING FOR PUBLIC SERVER same_mongodb OPTIONS (ADD username :'username', ADD password :'password');
\endif

-- Two thousand buckets of twenty devices on four sites
CREATE FOREIGN TABLE points (
  ts timestamptz OPTIONS (field 'hour'), site text, device int, v int OPTIONS (field 'v.{minute}')
) SERVER index_skips;
SELECT mongo_ts_create_index('points');
INSERT INTO points SELECT timestamptz '2024-01-01 00:00Z' + h * interval '1 hour', 's' || d / 5, d, h
  FROM generate_series(0, 99) h, generate_series(0, 19) d;
CREATE FUNCTION shown(query text, OUT line text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    IF line ~ 'MongoDB (Query|Delete)|Index Skips|Join|Loop' THEN
      line := regexp_replace(ltrim(line, ' '), ', \{v: 1.*', ' ..');
      RETURN NEXT;
    END IF;
  END LOOP;
END $$;
CREATE FUNCTION skips_in_json(query text, OUT skips json) LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || query INTO skips;
  skips := skips->0->'Plan'->'Index Skips';
END $$;

-- Without statistics, a condition on the time selects little
SELECT shown('SELECT * FROM points WHERE ts >= ''2024-01-05 02:00Z''');
SELECT shown('SELECT * FROM points WHERE ts < ''2024-01-05 02:00Z''');
CREATE TABLE copies.points AS SELECT * FROM points;
ANALYZE points;

SELECT shown('SELECT * FROM points WHERE ts >= ''2024-01-05 02:00Z''');
SELECT shown('SELECT * FROM points WHERE ts < ''2024-01-01 02:00Z'' OR ts >= ''2024-01-05 02:00Z''');
SELECT shown('SELECT * FROM points WHERE device = 7 AND ts >= ''2024-01-03 18:00Z''');
SELECT shown('SELECT * FROM points WHERE device IN (7, 8)');
SELECT shown('SELECT * FROM points WHERE (device = 7 OR site = ''s2'') AND ts >= ''2024-01-05 02:00Z''');
SELECT shown('SELECT device, max(v) FROM points WHERE ts >= ''2024-01-05 02:00Z'' GROUP BY device');
SELECT shown('UPDATE points SET v = 1 WHERE ts >= ''2024-01-05 02:00Z''');
SELECT shown('DELETE FROM points WHERE ts < ''2024-01-01 02:00Z''');
SELECT skips_in_json('SELECT v FROM points WHERE ts >= ''2024-01-05 02:00Z''');

-- More than a quarter of the documents, or an index that serves
SELECT shown('SELECT * FROM points WHERE ts >= ''2024-01-03 00:00Z''');
SELECT shown('SELECT * FROM points WHERE ts >= ''2024-01-03 00:00Z'' AND ts < ''2024-01-03 12:00Z''');
SELECT shown('SELECT * FROM points WHERE site = ''s1'' AND ts >= ''2024-01-05 02:00Z''');
SELECT shown('SELECT * FROM points WHERE v = 3');
SELECT shown('SELECT * FROM points');

-- Each execution of a generic plan decides by its values
SET plan_cache_mode = force_generic_plan;
PREPARE since (timestamptz) AS SELECT * FROM points WHERE ts >= $1;
SELECT shown('EXECUTE since (''2024-01-05 02:00Z'')');
SELECT shown('EXECUTE since (''2024-01-02 18:00Z'')');
RESET plan_cache_mode;

-- The condition is true of null, absent fields, arrays and other types, and in an
-- index with several keys of a document
CALL put('points', '[{"hour": {"$date": "2024-01-05T04:00:00Z"}, "device": 1, "site": null, "v": {"0": 1}},
  {"hour": {"$date": "2024-01-05T04:00:00Z"}, "device": 2, "v": {"0": 2}},
  {"hour": {"$date": "2024-01-05T05:00:00Z"}, "v": {"0": 3}}]');
CREATE FOREIGN TABLE sites (ts timestamptz OPTIONS (field 'hour'), v int OPTIONS (field 'v.{minute}'))
  SERVER index_skips OPTIONS (collection 'points');
INSERT INTO copies.points SELECT * FROM points WHERE ts > '2024-01-05 03:59Z' AND site IS NULL;
SELECT same('SELECT * FROM points WHERE ts >= ''2024-01-05 02:00Z'' ORDER BY ts, device, site');
SELECT same('SELECT * FROM points WHERE device = 1 AND ts >= ''2024-01-05 02:00Z'' ORDER BY ts, device, site');
CALL put('points', '[{"hour": {"$date": "2024-01-05T04:00:00Z"}, "site": ["s1", "s2"], "v": {"0": 4}},
  {"hour": {"$date": "2024-01-05T04:00:00Z"}, "site": {"$minKey": 1}, "v": {"0": 5}},
  {"hour": {"$date": "2024-01-05T04:00:00Z"}, "site": {"$maxKey": 1}, "v": {"0": 6}},
  {"hour": {"$date": "2024-01-05T04:00:00Z"}, "site": {"$undefined": true}, "v": {"0": 7}},
  {"hour": {"$date": "2024-01-05T04:00:00Z"}, "device": 9, "site": [], "v": {"0": 8}}]');
UPDATE pg_class SET reltuples = 2000, relpages = 2000 WHERE oid = 'sites'::regclass;
SELECT shown('SELECT * FROM sites WHERE ts >= ''2024-01-05 04:00Z''');
SELECT v FROM sites WHERE ts >= '2024-01-05 04:00Z' ORDER BY v;

-- What the session knows can be out of date.  A command makes it forget that of
-- the own server only.
SELECT jsonb_path_query_first(mongo_ts_command('same_mongodb', '{"dropIndexes": "points", "index": "*"}'), '$.ok') AS ok;
SELECT same('SELECT * FROM points WHERE device = 1 AND ts < ''2024-01-01 18:00Z'' ORDER BY ts, device, site');
SELECT shown('SELECT * FROM points WHERE ts >= ''2024-01-05 02:00Z''');

-- Indexes without some documents, or in another order, are not used; one that
-- begins with the time is used without a condition
CREATE PROCEDURE create_index(index text) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM mongo_ts_command('index_skips', '{"dropIndexes": "points", "index": "*"}');
  PERFORM mongo_ts_command('index_skips', format('{"createIndexes": "points", "indexes": [{"name": "own", %s}]}', index)::json);
END $$;
CALL create_index('"key": {"device": 1, "hour": -1}');
SELECT shown('SELECT * FROM points WHERE ts >= ''2024-01-05 02:00Z''');
CALL create_index('"key": {"device": 1, "hour": 1}, "partialFilterExpression": {"site": "s1"}');
SELECT shown('SELECT * FROM points WHERE ts >= ''2024-01-05 02:00Z''');
CALL create_index('"key": {"device": 1, "hour": 1}, "sparse": true');
SELECT shown('SELECT * FROM points WHERE ts >= ''2024-01-05 02:00Z''');
CALL create_index('"key": {"device": 1, "hour": 1}, "collation": {"locale": "de"}');
SELECT shown('SELECT * FROM points WHERE ts >= ''2024-01-05 02:00Z''');
CALL create_index('"key": {"device": 1, "v": 1}');
SELECT shown('SELECT * FROM points WHERE ts >= ''2024-01-05 02:00Z''');
CALL create_index('"key": {"hour": 1, "device": 1}');
SELECT shown('SELECT * FROM points WHERE ts >= ''2024-01-05 02:00Z''');
SELECT same('SELECT * FROM points WHERE ts < ''2024-01-01 18:00Z'' ORDER BY ts, device, site');

-- A join looks up what an index finds, and otherwise reads the collection once
CREATE TABLE wanted AS SELECT timestamptz '2024-01-01 01:00Z' + i * interval '1 hour' AS ts FROM generate_series(1, 90) i;
ANALYZE wanted;
UPDATE pg_class SET reltuples = 1e7, relpages = 1e6 WHERE oid = 'points'::regclass;
SELECT shown('SELECT * FROM wanted JOIN points USING (ts)');
CALL create_index('"key": {"site": 1}');
SELECT shown('SELECT * FROM wanted JOIN points USING (ts)');
