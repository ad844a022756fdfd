--
-- Tests that names and values are never code in MongoDB's queries, in plans,
-- or in generated statements.
--
\set suite injection
\i sql/include/suite.sql
\pset format unaligned
\pset tuples_only on

CREATE TABLE hostile (n serial, k text);
INSERT INTO hostile (k) VALUES
  ('plain'), (''), ('"}, {"$where": "1"}'), ('"}}, {}).drop(); db.x.find({"a": {"b": "'), ('{"$gt": ""}'), ('{"$ne": null}'),
  ('$where'), ('$gt'), ('$k'), ('$$ROOT'), ('$numberLong'), ('a.b'), ('k.'), ('null'), ('1'), ('true'),
  ('''; DROP TABLE hostile; --'), ('"; DROP TABLE hostile; --'), ('\'), ('\"'), ('\u0000'), ('%'), ('_'), ('%s%n'),
  ('^.*$'), ('.*'), ('(?i)plain'), ('[a-z]+'), ('plain.'), ('/plain/'),
  (E'a\nb'), (E'a\tb'), (E'\x01'), (E'\u2028'), ('/*'), ('//'), ('ISODate("2020-01-01")'), ('${1}'), ('`'), ('é'), (repeat('"', 300));

-- Keys and values ----------------------------------------------------------

CREATE FOREIGN TABLE points (ts timestamptz, k text COLLATE "C", v text OPTIONS (field 'v.{second}')) SERVER injection;
INSERT INTO points SELECT '2020-01-01Z', k, k FROM hostile;
SELECT count(*), count(DISTINCT k), count(*) FILTER (WHERE k = v) FROM points;
SELECT count(*) FROM hostile;
-- each value finds only itself: as a constant, a parameter, in a list, in a
-- join
DO $$
DECLARE
  h record;
  query text;
  found text[];
BEGIN
  FOR h IN SELECT * FROM hostile LOOP
    FOREACH query IN ARRAY ARRAY[
      format('SELECT k FROM points WHERE k = %L', h.k),
      format('SELECT k FROM points WHERE k IN (%L, ''absent'')', h.k),
      format('SELECT k FROM points WHERE k >= %L AND k <= %1$L', h.k),
      format('SELECT k FROM points WHERE k LIKE %L AND length(k) = %s',
             regexp_replace(h.k, '[\\%_]', '\\\&', 'g') || '%', length(h.k)),
      format('SELECT k FROM points WHERE NOT k <> %L', h.k),
      format('SELECT k FROM points WHERE k = %L GROUP BY k', h.k),
      format('SELECT k FROM points WHERE v = %L', h.k),
      format('SELECT p.k FROM hostile h JOIN points p USING (k) WHERE h.n = %s', h.n)] LOOP
      EXECUTE format('SELECT array_agg(k) FROM (%s) t', query) INTO found;
      ASSERT found IS NOT DISTINCT FROM ARRAY[h.k], format('%s: %s', query, found);
    END LOOP;
    EXECUTE 'SELECT array_agg(k) FROM points WHERE k = $1' INTO found USING h.k;
    ASSERT found IS NOT DISTINCT FROM ARRAY[h.k], format('%s: %s', h.k, found);
  END LOOP;
END $$;
-- all values except one
SELECT DISTINCT (SELECT count(*) FROM points p WHERE p.k <> h.k) FROM hostile h;
-- patterns of other languages are plain text
SELECT k FROM points WHERE k LIKE '.*%';
SELECT k FROM points WHERE k LIKE '^%';
SELECT k FROM points WHERE k LIKE '[a-z]+%';
SELECT k FROM points WHERE k LIKE '\%%' ORDER BY k COLLATE "C";
SELECT k FROM points WHERE k LIKE '$w%';
-- writes change only their own row
UPDATE points SET v = v || '!' WHERE k IN ('{"$gt": ""}', '$where');
SELECT k, v FROM points WHERE v <> k ORDER BY k COLLATE "C";
DELETE FROM points WHERE k = '{"$ne": null}';
DELETE FROM points WHERE v = '.*';
SELECT h.k FROM hostile h LEFT JOIN points p USING (k) WHERE p.k IS NULL ORDER BY h.k COLLATE "C";
-- so do preallocated buckets
SELECT sum(mongo_ts_preallocate('points', '2020-01-02Z', '2020-01-02 00:01Z', jsonb_build_object('k', k))) FROM hostile;
SELECT mongo_ts_command('injection', '{"count": "points", "query": {"_id": {"$exists": true}}}')->'n';

-- A document is a value, not an operator.
CREATE FOREIGN TABLE documents (_id int, j jsonb, t text) SERVER injection;
CALL put('documents', '[{"_id": 1, "j": {"a": 1}, "t": "x"}, {"_id": 2, "j": {"$gt": ""}, "t": "y"}, {"_id": 3, "j": "{\"$gt\": \"\"}", "t": "{\"$gt\": \"\"}"}]');
SELECT * FROM documents ORDER BY _id;
SELECT _id FROM documents WHERE j = '{"$gt": ""}';
SELECT _id FROM documents WHERE j = '{"$ne": null}';
SELECT _id FROM documents WHERE j->>'a' = '1';
SELECT _id FROM documents WHERE t = '{"$gt": ""}';

-- EXPLAIN shows one document -----------------------------------------------

CREATE FUNCTION shown(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    IF line ~ 'MongoDB Query' THEN
      RETURN ltrim(line);
    END IF;
  END LOOP;
END $$;
SELECT n, shown(format('SELECT v FROM points WHERE k = %L', left(k, 20))) FROM hostile ORDER BY n;

-- Names of fields ----------------------------------------------------------

CREATE FOREIGN TABLE fields (_id int, "$where" text, "a""}, {""b" text, dotted text OPTIONS (field 'a\.b'),
  "$or" int OPTIONS (role 'key'), deep text OPTIONS (field 'd.$gt')) SERVER injection;
CALL put('fields', '[{"_id": 1, "a\"}, {\"b": "x", "d": {"$gt": "z"}}]');
SELECT _id, "a""}, {""b", deep FROM fields;
SELECT shown($$SELECT _id FROM fields WHERE "a""}, {""b" = 'x'$$);
SELECT _id FROM fields WHERE "a""}, {""b" = 'x';
-- names that MongoDB would parse as an operator or a path are not shipped
SELECT shown($$SELECT _id FROM fields WHERE "$where" = 'true'$$);
SELECT count(*) FROM fields WHERE "$where" = 'true';
SELECT shown($$SELECT _id FROM fields WHERE "$or" = 1$$);
SELECT count(*) FROM fields WHERE "$or" = 1;
SELECT shown($$SELECT _id FROM fields WHERE dotted = 'x' AND deep = 'z'$$);
SELECT count(*) FROM fields WHERE deep = 'z';
SELECT try('INSERT INTO fields (_id, "$where") VALUES (2, ''true'')');
-- Keys that are columns
CREATE FOREIGN TABLE series (ts timestamptz, type text, v int OPTIONS (field 'v.{second}.{type}')) SERVER injection;
SELECT k, split_part(try(format('INSERT INTO series VALUES (''2020-01-01Z'', %L, 1)', k), true), E'\n', 1)
  FROM hostile WHERE k IN ('', 'plain', '$where', 'a.b', 'k.', '$k', '"}, {"$where": "1"}', '{"$gt": ""}') ORDER BY n;
SELECT type, v FROM series ORDER BY type COLLATE "C";

-- Names of collections and databases ---------------------------------------

CREATE FOREIGN TABLE odd (_id int) SERVER injection OPTIONS (collection 'x").drop(); db.getCollection("y', database 'a").b');
SELECT shown('SELECT * FROM odd');

-- Options are one document -------------------------------------------------

SELECT split_part(try(format('CREATE FOREIGN TABLE bad (v int) SERVER injection OPTIONS (filter %L)', filter)), E'\n', 1)
  FROM (VALUES ('{"a": 1}, {"$where": "1"}'), ('{"a": 1},'), ('{"a": 1}; x'), ('{"a": "}"} {"$where": "1"}'), ('{"a\u0000b": 1}'),
          ('{"a": 1}}'), (' {"a": ["\"}", {}]} ')) AS filters (filter);
SELECT split_part(try(format('SELECT mongo_ts_command(''injection'', %L)', command)), E'\n', 1)
  FROM (VALUES ('{"ping": 1}, {"drop": "points"}'), ('{"ping": 1}{"drop": "points"}'), ('[{"ping": 1}]')) AS commands (command);
SELECT count(*) > 0 FROM points;

-- IMPORT: names come from a database that others may have written ----------

SELECT mongo_ts_command('injection', '{"dropDatabase": 1}')->'ok' AS dropped;
CREATE TABLE victim (v int);
CALL put('x; DROP TABLE injection.victim; --', '[{"_id": 1, "ts": {"$date": "2020-01-01T00:00:00Z"}, "v": 1}]');
CALL put('y" (v int) SERVER injection; DROP TABLE injection.victim; --', '[{"_id": 1, "ts": {"$date": "2020-01-01T00:00:00Z"}, "v": 1}]');
CALL put('z''); DROP TABLE injection.victim; --', '[{"_id": 1, "ts": {"$date": "2020-01-01T00:00:00Z"}, "v": 1}]');
CALL put('names', '[{"_id": 1, "ts": {"$date": "2020-01-01T00:00:00Z"},
  "a\" int); DROP TABLE injection.victim; --": 1,
  "b'' , x ''y": 2,
  "c\\": 3, "d\\''": 4, "e--": 5, "f/*": 6, "select": 7, "G h": 8, "i\nj": 9, "{second}": 10, "k[]": 11, "ctid": 12}]');
CALL put('slots', '[{"_id": 1, "ts''": {"$date": "2020-01-01T00:00:00Z"}, "v''; --": {"0": 1, "1": 2, "59": 3}, "n\"": 3}]');
CREATE SCHEMA hostile_names;
\set VERBOSITY terse
IMPORT FOREIGN SCHEMA mts_regress_injection FROM SERVER injection INTO hostile_names;
\set VERBOSITY default
SELECT count(*) FROM victim;
SELECT c.relname, a.attname, a.attfdwoptions FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND attnum > 0
 WHERE relnamespace = 'hostile_names'::regnamespace ORDER BY c.relname COLLATE "C", attnum;
SELECT * FROM hostile_names."names";
SELECT count(*), sum("v'; --") FROM hostile_names.slots;
SELECT relname, try(format('SELECT * FROM hostile_names.%I', relname)) FROM pg_class WHERE relnamespace = 'hostile_names'::regnamespace ORDER BY relname COLLATE "C";
SELECT split_part(try('IMPORT FOREIGN SCHEMA "x'',y" FROM SERVER injection INTO hostile_names'), E'\n', 1);

SELECT mongo_ts_command('injection', '{"dropDatabase": 1}')->'ok' AS dropped;
