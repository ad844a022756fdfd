--
-- Tests values of several types in one field: a text column that shows all of
-- them, and equalities of keys, which find a value in each type that has the
-- same text.
--
\set suite any_type
\i sql/include/suite.sql

\pset format unaligned
\pset tuples_only on

-- Home automation: the state of an item has the type that the item has.
CALL put('states', '[
  {"_id": 1, "ts": {"$date": "2024-05-01T10:00:01Z"}, "item": "hall", "state": 20.5},
  {"_id": 2, "ts": {"$date": "2024-05-01T10:00:02Z"}, "item": "lamp", "state": "ON"},
  {"_id": 3, "ts": {"$date": "2024-05-01T10:00:03Z"}, "item": "fan", "state": 7},
  {"_id": 4, "ts": {"$date": "2024-05-01T10:00:04Z"}, "item": "fan", "state": "7"},
  {"_id": 5, "ts": {"$date": "2024-05-01T10:00:05Z"}, "item": "fan", "state": {"$numberDouble": "7.0"}},
  {"_id": 6, "ts": {"$date": "2024-05-01T10:00:06Z"}, "item": "fan", "state": {"$numberDecimal": "7.0"}},
  {"_id": 7, "ts": {"$date": "2024-05-01T10:00:07Z"}, "item": "door", "state": true},
  {"_id": 8, "ts": {"$date": "2024-05-01T10:00:08Z"}, "item": "door", "state": "true"},
  {"_id": 9, "ts": {"$date": "2024-05-01T10:00:09Z"}, "item": "clock", "state": {"$date": "2024-05-01T10:00:09.5Z"}},
  {"_id": 10, "ts": {"$date": "2024-05-01T10:00:10Z"}, "item": "clock", "state": {"$date": {"$numberLong": "253402300800000"}}},
  {"_id": 11, "ts": {"$date": "2024-05-01T10:00:11Z"}, "item": "id", "state": {"$oid": "5e0be1000000000000000000"}},
  {"_id": 12, "ts": {"$date": "2024-05-01T10:00:12Z"}, "item": "id", "state": {"$binary": {"base64": "oO68mZwLTvi7bWu5vTgKEQ==", "subType": "04"}}},
  {"_id": 13, "ts": {"$date": "2024-05-01T10:00:13Z"}, "item": "x", "state": {"$numberDouble": "-0.0"}},
  {"_id": 14, "ts": {"$date": "2024-05-01T10:00:14Z"}, "item": "x", "state": 0.1},
  {"_id": 15, "ts": {"$date": "2024-05-01T10:00:15Z"}, "item": "x", "state": {"$numberDecimal": "0.1"}},
  {"_id": 16, "ts": {"$date": "2024-05-01T10:00:16Z"}, "item": "x", "state": {"$numberLong": "9007199254740993"}},
  {"_id": 17, "ts": {"$date": "2024-05-01T10:00:17Z"}, "item": "x", "state": {"$numberDouble": "9007199254740992"}},
  {"_id": 18, "ts": {"$date": "2024-05-01T10:00:18Z"}, "item": "x", "state": {"$numberLong": "9223372036854775807"}},
  {"_id": 19, "ts": {"$date": "2024-05-01T10:00:19Z"}, "item": "x", "state": {"$numberDouble": "9223372036854775807"}},
  {"_id": 20, "ts": {"$date": "2024-05-01T10:00:20Z"}, "item": "x", "state": {"a": 7}},
  {"_id": 21, "ts": {"$date": "2024-05-01T10:00:21Z"}, "item": "x", "state": ["7"]},
  {"_id": 22, "ts": {"$date": "2024-05-01T10:00:22Z"}, "item": "x", "state": null},
  {"_id": 23, "ts": {"$date": "2024-05-01T10:00:23Z"}, "item": "x"}]');
CREATE FOREIGN TABLE states (_id int, ts timestamptz, item text, state text OPTIONS (bson_type 'any')) SERVER any_type;
SELECT _id, state FROM states ORDER BY ts;
-- The same conditions on a local table have the same rows.
CREATE TABLE local AS SELECT * FROM states;
SELECT DISTINCT state FROM local l WHERE state IS NOT NULL AND
  (SELECT array_agg(_id ORDER BY _id) FROM states s WHERE s.state = l.state) IS DISTINCT FROM
  (SELECT array_agg(_id ORDER BY _id) FROM local s WHERE s.state = l.state);
SELECT array_agg(_id ORDER BY _id) FROM states WHERE state = '7';
SELECT array_agg(_id ORDER BY _id) FROM states WHERE state IN ('7', 'true', '0.1');
SELECT array_agg(_id ORDER BY _id) FROM states WHERE state <> '7';
SELECT array_agg(_id ORDER BY _id) FROM states WHERE state NOT IN ('7', 'true', '0.1');
SELECT array_agg(_id ORDER BY _id) FROM states WHERE NOT (state = '7' OR item = 'x');
SELECT array_agg(_id ORDER BY _id) FROM states WHERE state IS NULL;
SELECT array_agg(_id ORDER BY _id) FROM states WHERE state LIKE '7%';
SELECT count(*) FROM states WHERE state = '7';
SELECT state, count(*) FROM states GROUP BY state HAVING count(*) > 1 ORDER BY state COLLATE "C";
SELECT max(state COLLATE "C") FROM states WHERE item <> 'x';
SELECT item, state FROM states WHERE state > '6' COLLATE "C" AND state < '8' COLLATE "C" ORDER BY ts DESC LIMIT 2;
-- Which conditions are pushed down
CREATE FUNCTION sent(query text) RETURNS SETOF text LANGUAGE sql AS $$
  SELECT trim(p) FROM plan(query) p WHERE p ~ '(MongoDB Query|Filter): '$$;
SELECT condition, sent('SELECT state FROM states WHERE ' || condition) FROM unnest(ARRAY[
  'state = ''ON''', 'state = ''7''', 'state = ''7.0''', 'state = ''20.5''', 'state = ''1e3''', 'state = ''true''',
  'state = ''2024-05-01T10:00:09.500Z''', 'state = ''5e0be1000000000000000000''', 'state = ''5E0BE1000000000000000000''',
  'state = ''a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11''', 'state = ''{"a": 7}''', 'state = '''' OR item = ''hall''',
  'state <> ''7''', 'state > ''7'' COLLATE "C"', 'state IS NOT NULL']) condition;
SELECT plan('SELECT DISTINCT ON (state) * FROM states ORDER BY state, ts DESC');
-- Such a text is written as a string.
INSERT INTO states (ts, item, state) VALUES ('2024-05-02', 'new', '7');
UPDATE states SET state = 'OFF' WHERE state = '7' AND item = 'fan';
DELETE FROM states WHERE state = '20.5';
SELECT jsonb_path_query_array(mongo_ts_command('any_type', '{"find": "states", "filter": {"state": {"$in": ["7", 7, "OFF", 20.5]}}}'), '$.cursor.firstBatch[*].state');
-- A key of buckets can have any type, but a text would not find its bucket.
CALL put('buckets', '[{"ts": {"$date": "2024-05-01T10:00:00Z"}, "unit": 7, "v": {"0": 1}},
                      {"ts": {"$date": "2024-05-01T10:00:00Z"}, "unit": "7", "v": {"1": 2}}]');
CREATE FOREIGN TABLE buckets (ts timestamptz, unit text OPTIONS (bson_type 'any'), v int OPTIONS (field 'v.{minute}'))
  SERVER any_type OPTIONS (updatable 'true');
SELECT unit, count(*), sum(v) FROM buckets WHERE unit = '7' GROUP BY unit;
SELECT try('INSERT INTO buckets VALUES (''2024-05-01 10:02'', ''7'', 3)');
CREATE FOREIGN TABLE wrong (ts timestamptz, v int OPTIONS (bson_type 'any')) SERVER any_type;
SELECT try('SELECT * FROM wrong');
-- IMPORT declares it for scalars of several types.
CALL put('imported', '[{"ts": {"$date": "2024-05-01T10:00:01Z"}, "item": "hall", "state": 20.5},
  {"ts": {"$date": "2024-05-01T10:00:02Z"}, "item": "lamp", "state": "ON"}, {"ts": {"$date": "2024-05-01T10:00:03Z"}, "item": "door", "state": true}]');
IMPORT FOREIGN SCHEMA :"database" LIMIT TO (imported) FROM SERVER any_type INTO any_type;
SELECT attname, format_type(atttypid, atttypmod), attfdwoptions FROM pg_attribute WHERE attrelid = 'imported'::regclass AND attnum > 0;
SELECT item, state FROM imported ORDER BY ts;

--
-- Keys of one type.  What an equality finds in another type is an error.
--
CREATE FOREIGN TABLE texts (_id int, ts timestamptz, item text, state text) SERVER any_type OPTIONS (collection 'keys');
CREATE FOREIGN TABLE numbers (_id int, ts timestamptz, item text, state int) SERVER any_type OPTIONS (collection 'keys');
CREATE FOREIGN TABLE doubles (_id int, ts timestamptz, item text, state float8) SERVER any_type OPTIONS (collection 'keys');
CREATE FOREIGN TABLE booleans (_id int, ts timestamptz, item text, state boolean) SERVER any_type OPTIONS (collection 'keys');
CREATE FOREIGN TABLE uuids (_id int, ts timestamptz, item text, state uuid) SERVER any_type OPTIONS (collection 'keys');
CREATE FOREIGN TABLE oids (_id int, ts timestamptz, item text, state text OPTIONS (bson_type 'objectId')) SERVER any_type OPTIONS (collection 'keys');
CREATE FUNCTION found(relation text, value text, VARIADIC conditions text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  condition text;
BEGIN
  CALL put('keys', format('[{"_id": 1, "ts": {"$date": "2024-05-01T10:00:00Z"}, "state": %s}]', value)::json);
  FOREACH condition IN ARRAY conditions LOOP
    RETURN NEXT relation || ', ' || value || ', ' || condition || ': '
      || regexp_replace(try(format('SELECT * FROM %s WHERE %s', relation, condition)), '^.*\n(.*)\n.*$', '\1')
      || ', ' || regexp_replace(try(format('SELECT count(*) FROM %s WHERE %s', relation, condition)), '^([^:]*):.*$', '\1');
  END LOOP;
  PERFORM mongo_ts_command('any_type', '{"delete": "keys", "deletes": [{"q": {}, "limit": 0}]}');
END $$;
SELECT found('texts', '7', 'state = ''7''', 'state IN (''6'', ''7'')', 'state LIKE ''7''', 'state = ''8''', 'state = ''07''', 'state <> ''8''', 'state <> ''7''', 'state NOT IN (''7'')');
SELECT found('texts', '{"$numberDecimal": "7.0"}', 'state = ''7.0''', 'state = ''7.00''');
SELECT found('texts', '0.1', 'state = ''0.1''', 'state = ''0.10''');
SELECT found('texts', 'true', 'state = ''true''', 'state = ''t''');
SELECT found('texts', '{"$date": "2024-05-01T00:00:00Z"}', 'state = ''2024-05-01T00:00:00.000Z''', 'state = ''2024-05-01''');
SELECT found('texts', '{"$oid": "5e0be1000000000000000000"}', 'state = ''5e0be1000000000000000000''', 'state = ''5E0BE1000000000000000000''');
SELECT found('texts', '"7"', 'state = ''7''', 'state = ''8''');
SELECT found('numbers', '"7"', 'state = 7', 'state = ANY (''{6,7}'')', 'state = 7::bigint', 'state = 8', 'state <> 7');
SELECT found('doubles', '"7"', 'state = 7', 'state IN (7, 8)', 'state = 8');
SELECT found('doubles', '"NaN"', 'state = ''NaN''', 'state >= ''NaN''', 'state > ''NaN''');
SELECT found('booleans', '"true"', 'state', 'state = true', 'NOT state');
SELECT found('booleans', '1', 'state', 'state <> false', 'state IS TRUE', 'NOT state', 'state IN (true, false)');
SELECT found('booleans', '"0"', 'NOT state', 'state');
SELECT found('uuids', '"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"', 'state = ''a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11''', 'state = ''a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12''');
SELECT found('oids', '"5e0be1000000000000000000"', 'state = ''5e0be1000000000000000000''', 'state = ''x''');
SELECT found('oids', '"x"', 'state = ''x''');
