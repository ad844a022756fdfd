--
-- Tests keys that are UUIDs, and ObjectIds as text.
--
\set suite identifiers
\i sql/include/suite.sql

\pset format unaligned
\pset tuples_only on
\i sql/include/copies.sql

-- UUIDs --------------------------------------------------------------------

-- The order of bytes is that of both servers, also around 0x80.
CREATE FOREIGN TABLE points (
  ts timestamptz, dev uuid, v int OPTIONS (field 'h.{hour}.{second}')
) SERVER identifiers;
INSERT INTO points SELECT timestamptz '2024-03-01 00:00Z' + i * interval '1 hour 3 seconds', d, i
  FROM generate_series(0, 99) i, unnest('{00112233-4455-6677-8899-aabbccddee7f,00112233-4455-6677-8899-aabbccddee80,
    80112233-4455-6677-8899-aabbccddeeff,00000000-0000-0000-0000-000000000000,ffffffff-ffff-ffff-ffff-ffffffffffff,NULL}'::uuid[]) d;
CREATE TABLE copies.points AS SELECT * FROM points;
CREATE TABLE devices (id uuid, name text);
INSERT INTO devices VALUES ('00112233-4455-6677-8899-aabbccddee80', 'boiler'), (NULL, 'none'),
  ('ffffffff-ffff-ffff-ffff-ffffffffffff', 'hall'), ('12345678-4455-6677-8899-aabbccddeeff', 'store');
ANALYZE devices;
CREATE TABLE copies.devices AS TABLE devices;
SELECT mongo_ts_create_index('points');
EXPLAIN (COSTS OFF) SELECT hour, v FROM (SELECT date_trunc('hour', ts) AS hour, * FROM points) p
  WHERE dev = '00112233-4455-6677-8899-aabbccddee80' ORDER BY ts DESC LIMIT 1;
EXPLAIN (COSTS OFF) SELECT avg(v) FROM points
  WHERE dev IN ('00112233-4455-6677-8899-aabbccddee80', '80112233-4455-6677-8899-aabbccddeeff');
SELECT condition, same('SELECT * FROM points WHERE ' || condition || ' ORDER BY dev, ts'),
    trips('SELECT * FROM points WHERE ' || condition)
  FROM (VALUES ($$dev = '00112233-4455-6677-8899-aabbccddee80'$$), ($$dev <> '00112233-4455-6677-8899-aabbccddee80'$$),
    ($$dev = '00112233-4455-6677-8899-aabbccddee81'$$), ($$dev IS NULL$$), ($$dev IS NOT NULL$$),
    ($$dev IN ('00112233-4455-6677-8899-aabbccddee80', NULL, 'ffffffff-ffff-ffff-ffff-ffffffffffff')$$),
    ($$dev NOT IN ('00112233-4455-6677-8899-aabbccddee80', 'ffffffff-ffff-ffff-ffff-ffffffffffff')$$),
    ($$dev < '00112233-4455-6677-8899-aabbccddee80'$$), ($$dev <= '00112233-4455-6677-8899-aabbccddee80'$$),
    ($$dev > '00112233-4455-6677-8899-aabbccddee80'$$), ($$dev >= '00112233-4455-6677-8899-aabbccddee80'$$),
    ($$NOT dev > '00112233-4455-6677-8899-aabbccddee80'$$),
    ($$dev = ANY (ARRAY(SELECT id FROM devices))$$), ($$dev::text = 'ffffffff-ffff-ffff-ffff-ffffffffffff'$$)) AS _ (condition);
-- A join reads the buckets of the devices.
SET enable_hashjoin = off;
SET enable_mergejoin = off;
UPDATE pg_class SET reltuples = 1e10, relpages = 1e8 WHERE oid = 'points'::regclass;
SELECT same('SELECT name, count(v), max(ts) FROM devices JOIN points ON dev = id GROUP BY name ORDER BY name');
SELECT trips('SELECT name, v FROM devices JOIN points ON dev = id');
RESET enable_hashjoin;
RESET enable_mergejoin;
-- Skip scans
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (dev) * FROM points ORDER BY dev, ts DESC;
SELECT trips('SELECT DISTINCT ON (dev) * FROM points ORDER BY dev, ts DESC');
SELECT same('SELECT DISTINCT ON (dev) * FROM points ORDER BY dev, ts DESC');
SELECT same('SELECT DISTINCT ON (dev) * FROM points ORDER BY dev DESC NULLS LAST, ts');
SELECT trips('SELECT dev, max(ts) FROM points GROUP BY dev');
SELECT same('SELECT dev, max(ts) FROM points GROUP BY dev ORDER BY dev');
SELECT same('SELECT count(DISTINCT dev) FROM points');

-- A uuid that is stored as text is declared so.
CREATE FOREIGN TABLE marks (
  id int OPTIONS (field '_id'), dev uuid
) SERVER identifiers;
CREATE FOREIGN TABLE text_marks (
  id int OPTIONS (field '_id'), dev uuid OPTIONS (bson_type 'string')
) SERVER identifiers OPTIONS (collection 'marks');
CALL put('marks', '[{"_id": 1, "dev": {"$binary": {"base64": "ABEiM0RVZneImaq7zN3ugA==", "subType": "04"}}}]');
SELECT * FROM marks;
EXPLAIN (COSTS OFF) SELECT count(*) FROM marks WHERE dev >= '00112233-4455-6677-8899-aabbccddee80';
SELECT count(*) FROM marks WHERE dev >= '00112233-4455-6677-8899-aabbccddee80';
SELECT * FROM text_marks;
SELECT mongo_ts_command('identifiers', '{"drop": "marks"}')->'ok';
CALL put('marks', '[{"_id": 1, "dev": "00112233-4455-6677-8899-AABBCCDDEE80"}]');
SELECT * FROM marks;
SELECT * FROM text_marks WHERE dev = '00112233-4455-6677-8899-aabbccddee80';
EXPLAIN (COSTS OFF) SELECT * FROM text_marks WHERE dev = '00112233-4455-6677-8899-aabbccddee80' ORDER BY dev;

-- Values of other types ----------------------------------------------------

-- Store a document in place of the last one, and run queries by a function.
CREATE FUNCTION outcomes(collection text, document json, queries text[], function text)
RETURNS TABLE (query text, outcome text) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM mongo_ts_command('identifiers', json_build_object('delete', collection, 'deletes', '[{"q": {"odd": true}, "limit": 1}]'::json));
  CALL put(collection, json_build_array(document));
  FOREACH query IN ARRAY queries LOOP
    EXECUTE format('SELECT %s($1)', function) INTO outcome USING query;
    RETURN NEXT;
  END LOOP;
END $$;
CREATE FUNCTION odd_point(dev json) RETURNS json LANGUAGE sql RETURN json_build_object('odd', true, 'dev', dev,
  'ts', '{"$date": "2024-04-04T00:00:00Z"}'::json, 'h', '{"0": {"0": 1}}'::json);
CREATE TABLE odd_values AS SELECT value::json
  FROM unnest('{"\"00112233-4455-6677-8899-aabbccddee80\"","\"00112233-4455-6677-8899-AABBCCDDEE80\"","\"{00112233445566778899AABBCCDDEE80}\"",
    1,true,"{\"$date\": \"2024-03-04T00:00:00Z\"}","{\"a\": 1}","{\"$oid\": \"5a934e000102030405000000\"}","{\"$minKey\": 1}","{\"$maxKey\": 1}",
    "{\"$binary\": {\"base64\": \"ABEiM0RVZneImaq7zN3ugA==\", \"subType\": \"00\"}}","{\"$binary\": {\"base64\": \"ABEiM0RVZneImaq7zN3ugA==\", \"subType\": \"03\"}}",
    "{\"$binary\": {\"base64\": \"ABEiM0RVZneImaq7zN3ugA==\", \"subType\": \"05\"}}","{\"$binary\": {\"base64\": \"ABEiM0RVZneImaq7zN3u\", \"subType\": \"04\"}}",
    "{\"$binary\": {\"base64\": \"ABEiM0RVZneImaq7zN3ugAAA\", \"subType\": \"04\"}}"}'::text[]) value;
-- To read such a bucket is an error.
SELECT value, query, outcome
  FROM odd_values, outcomes('points', odd_point(value), '{SELECT * FROM points,SELECT * FROM points WHERE ts >= ''2024-04-04'',
    SELECT v FROM points ORDER BY dev DESC NULLS LAST,"SELECT dev, sum(v) FROM points GROUP BY dev"}', 'try')
  WHERE outcome !~ '^HV004: invalid bucket.*(The field holds BSON type|cannot be converted to type uuid)';
-- Conditions find it, and an equality does so by its text; a command that removes buckets is not sent.
CREATE FUNCTION conditions(conditions text[]) RETURNS text[] LANGUAGE sql RETURN ARRAY(
  SELECT format('SELECT * FROM points WHERE %s ORDER BY dev, ts', replace(c, ':u', '''00112233-4455-6677-8899-aabbccddee80''')) FROM unnest(conditions) c);
SELECT value, query, outcome
  FROM odd_values, outcomes('points', odd_point(value), conditions('{dev = :u,"dev IN (:u, :u)",dev IS NULL}'), 'same')
  WHERE outcome !~ '^in order, [0-9]+ rows$' AND value::text <> '"00112233-4455-6677-8899-aabbccddee80"';
SELECT value, query, left(outcome, 21)
  FROM odd_values, outcomes('points', odd_point(value), conditions('{dev = :u,"dev IN (:u, :u)",dev IS NULL}'), 'try')
  WHERE outcome <> 'accepted';
SELECT value, query, outcome
  FROM odd_values, outcomes('points', odd_point(value), conditions('{dev <> :u,dev < :u,dev >= :u,NOT dev > :u,dev BETWEEN :u AND :u,
    "dev NOT IN (:u, :u)",dev IS NOT NULL,dev = :u OR dev > :u AND v = 2}'), 'try')
  WHERE outcome !~ '^HV004: invalid bucket.*(The field holds BSON type|cannot be converted to type uuid)';
EXPLAIN (COSTS OFF) DELETE FROM points WHERE dev >= '00112233-4455-6677-8899-aabbccddee80' AND ts >= '2024-04-04' AND ts < '2024-04-05';
SELECT value, query, outcome
  FROM odd_values, outcomes('points', odd_point(value), '{DELETE FROM points WHERE dev >= ''00112233-4455-6677-8899-aabbccddee80'' AND ts >= ''2024-04-04'' AND ts < ''2024-04-05'',
    DELETE FROM points WHERE dev <> ''00112233-4455-6677-8899-aabbccddee80'' AND ts >= ''2024-04-04'' AND ts < ''2024-04-05'',SELECT * FROM points}', 'try')
  WHERE outcome !~ '^HV004: invalid bucket';
-- If such buckets are skipped, the rows are those without them.
ALTER FOREIGN TABLE points OPTIONS (ADD on_invalid 'skip');
SET client_min_messages = error;
SELECT value, query, outcome
  FROM odd_values, outcomes('points', odd_point(value), '{"SELECT * FROM points ORDER BY dev, ts","SELECT * FROM points WHERE dev IS NOT NULL ORDER BY dev DESC, ts LIMIT 3"}', 'same')
  WHERE outcome !~ '^in order, [0-9]+ rows$';
RESET client_min_messages;
-- MongoDB does not count values which are invalid when they are read.
SELECT mongo_ts_command('identifiers', '{"drop": "marks"}')->'ok';
SELECT value, query, outcome
  FROM odd_values, outcomes('marks', json_build_object('_id', 1, 'odd', true, 'dev', value),
    '{SELECT count(*) FROM marks WHERE id = 1 OR dev = ''00112233-4455-6677-8899-aabbccddee80'',SELECT count(dev) FROM marks}', 'try')
  WHERE outcome !~ '^HV004: invalid bucket.*(The field holds BSON type|cannot be converted to type uuid)';
SELECT query, outcome FROM outcomes('marks', '{"_id": 1, "odd": true, "dev": "x"}', '{SELECT count(*) FROM text_marks WHERE dev IS NOT NULL}', 'try');
-- An import declares UUIDs that are stored as text as text.
CALL put('tags', '[{"_id": 1, "bytes": {"$binary": {"base64": "ABEiM0RVZneImaq7zN3ugA==", "subType": "04"}}, "digits": "00112233-4455-6677-8899-aabbccddee80"}]');
IMPORT FOREIGN SCHEMA :"database" LIMIT TO (tags) FROM SERVER identifiers INTO identifiers;
SELECT attname, format_type(atttypid, atttypmod), attfdwoptions FROM pg_attribute WHERE attrelid = 'identifiers.tags'::regclass AND attnum > 1 ORDER BY 1;
SELECT * FROM tags;

-- ObjectIds as text --------------------------------------------------------

CREATE FOREIGN TABLE events (
  _id text OPTIONS (bson_type 'objectId'), v int
) SERVER identifiers;
SELECT json_agg(json_build_object('_id', json_build_object('$oid', id), 'v', v)) AS documents FROM unnest('{
  000000000000000000000000,5a934e000102030405000000,5a934e000102030405000001,5a934effffffffffffffffff,5a934f000000000000000000,
  9fffffffffffffffffffffff,a00000000000000000000000,ffffffffffffffffffffffff}'::text[]) WITH ORDINALITY AS _ (id, v)
\gset
CALL put('events', :'documents');
CREATE TABLE copies.events AS TABLE events;
EXPLAIN (COSTS OFF) SELECT * FROM events WHERE _id > '5a934e000102030405000000' COLLATE "C" ORDER BY _id COLLATE "C" LIMIT 2;
SELECT trips('SELECT * FROM events WHERE _id > ''5a934e000102030405000000'' COLLATE "C" ORDER BY _id COLLATE "C" LIMIT 2');
-- Other collations can order digits before letters or not.
EXPLAIN (COSTS OFF) SELECT * FROM events WHERE _id > '5a934e000102030405000000' COLLATE "en-x-icu" ORDER BY _id COLLATE "en-x-icu";
SELECT same('SELECT * FROM events ORDER BY _id COLLATE "C"');
SELECT same('SELECT * FROM events WHERE v > 1 ORDER BY _id COLLATE "C" DESC NULLS LAST');
-- Each text is compared with all ObjectIds.
CREATE FUNCTION query_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    IF line ~ 'Filter:|MongoDB Query:' THEN
      RETURN NEXT regexp_replace(line, '.*find\((.*), \{(_id|v): .*', '\1');
    END IF;
  END LOOP;
END $$;
SELECT text, op, same(query || ' ORDER BY v'), query_of(query)
  FROM unnest('{"",5a934e000102030405000000,5A934E000102030405000000,5a934e,5a934e00010203040500000,5a934e0001020304050000000,
    5a934effffffffffffffffffz,5a934e/,5a934e:,5a934ez,9z,9fffffffffffffffffffffff0,fz,fffffffffffffffffffffffff,zz,é}'::text[]) text,
    unnest('{<,<=,>,>=}'::text[]) op,
    format('SELECT * FROM events WHERE _id %s %L COLLATE "C"', op, text) query;
SELECT same('SELECT v FROM events WHERE NOT _id < ''5a934f'' COLLATE "C" ORDER BY v');
SELECT same('SELECT v FROM events WHERE _id > NULL COLLATE "C" ORDER BY v');
SELECT same('SELECT v FROM events WHERE (_id COLLATE "C", v) > (''5a934e000102030405000000'', 2) ORDER BY v');
-- The values of a page may be parameters.
PREPARE page(text, int) AS SELECT _id, v FROM events WHERE _id > $1 COLLATE "C" ORDER BY _id COLLATE "C" LIMIT $2;
SET plan_cache_mode = force_generic_plan;
EXECUTE page('', 3);
EXECUTE page('5a934e000102030405000001', 3);
EXECUTE page('a', 3);
EXECUTE page('ffffffffffffffffffffffff', 3);
RESET plan_cache_mode;
DEALLOCATE ALL;

-- To read values of other types is an error.
SELECT id, query, outcome
  FROM unnest('{"\"5a934e000102030405000000\"","\"x\"",1,true,"{\"$minKey\": 1}","{\"$maxKey\": 1}"}'::json[]) id,
    outcomes('events', json_build_object('_id', id, 'odd', true, 'v', 9),
      '{SELECT * FROM events,SELECT * FROM events WHERE v = 9,SELECT v FROM events ORDER BY _id COLLATE \"C\" DESC}', 'try')
  WHERE outcome !~ '^HV004: invalid bucket.*The field holds BSON type';

-- Columns of roll-ups --------------------------------------------------------

-- Fields that names have in common, and those that MongoDB's updates cannot address
CREATE FOREIGN TABLE named (
  ts timestamptz OPTIONS (field 'bucket'), hours text COLLATE "C", k text COLLATE "C", of_points text COLLATE "C", "1" int,
  "a.b" int OPTIONS (field 'v.{minute}.a'), a_b int OPTIONS (field 'v.{minute}.b'), points int OPTIONS (field 'v.{minute}.p'),
  p int OPTIONS (field 'v.{minute}.q')
) SERVER identifiers;
INSERT INTO named SELECT timestamptz '2024-01-01Z' + i * interval '20 minutes', 'h', 'k', 'o' || i % 2, 1, i, 10 * i, 100 * i, 1000 * i FROM generate_series(0, 5) i;
SELECT mongo_ts_create_rollup('named', '1 hour', aggregates => '{sum}');
SELECT attname, attfdwoptions FROM pg_attribute WHERE attrelid = 'named_1h'::regclass AND attnum > 0 ORDER BY attnum;
SELECT mongo_ts_refresh_rollup('named_1h') IS NOT NULL;
SELECT * FROM named_1h ORDER BY 1, of_points;
SELECT * FROM mongo_ts_check_rollup('named_1h', '-infinity');
SELECT sum("a.b"), sum(a_b), sum(points), sum(p) FROM named;
