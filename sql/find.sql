--
-- Tests mongo_ts_find: which documents it returns, how it shows their values,
-- its errors, and the rights that it requires.
--
\set suite find
\i sql/include/suite.sql

SELECT json_agg(json_build_object('_id', n, 'k', n % 3)) AS documents FROM generate_series(1, 250) n \gset
CALL put('c', :'documents');

-- Filter and number of documents --------------------------------------------

SELECT mongo_ts_find('find', 'c', '{"_id": {"$lte": 2}}');
SELECT * FROM mongo_ts_find('find', 'c', '{"k": 1}', max_documents => 2);
SELECT count(*) FROM mongo_ts_find('find', 'c');
SELECT count(*), count(DISTINCT d) FROM mongo_ts_find('find', 'c', max_documents => NULL) d;
SELECT count(*), count(DISTINCT d) FROM mongo_ts_find('find', 'c', '{}', 249) d;
SELECT count(*) FROM mongo_ts_find('find', 'c', max_documents => 100);
SELECT count(*) FROM mongo_ts_find('find', 'c', '{"k": 7}');
SELECT count(*) FROM mongo_ts_find('find', 'no collection');
SELECT count(*) FROM mongo_ts_find(NULL, 'c');
SELECT count(*) FROM mongo_ts_find('find', NULL);
SELECT count(*) FROM mongo_ts_find('find', 'c', NULL);
-- Documents come in batches of the server's fetch_size, at most.
ALTER SERVER find OPTIONS (ADD fetch_size '7');
SELECT count(*), count(DISTINCT d) FROM mongo_ts_find('find', 'c', max_documents => NULL) d;
SELECT count(*), count(DISTINCT d) FROM mongo_ts_find('find', 'c', max_documents => 14) d;
-- Cursors that are read in turns, between other commands, or closed early
CREATE FUNCTION numbers(VARIADIC cursors refcursor[]) RETURNS TABLE (cursor refcursor, ids int[])
LANGUAGE plpgsql AS $$
DECLARE d jsonb;
BEGIN
  FOR i IN 1..20 LOOP
    FOREACH cursor IN ARRAY cursors LOOP
      ids := NULL;
      FOR j IN 1..13 LOOP
        FETCH cursor INTO d;
        EXIT WHEN NOT FOUND;
        ids := ids || (d->'_id')::int;
      END LOOP;
      RETURN NEXT;
    END LOOP;
    PERFORM mongo_ts_command('find', '{"ping": 1}');
  END LOOP;
END $$;
BEGIN;
DECLARE a CURSOR FOR SELECT mongo_ts_find('find', 'c', '{"_id": {"$gt": 0}}', NULL);
DECLARE b CURSOR FOR SELECT mongo_ts_find('find', 'c', '{"k": 1}', NULL);
DECLARE early CURSOR FOR SELECT mongo_ts_find('find', 'c', '{"k": {"$lt": 2}}', NULL);
FETCH 30 FROM early \g /dev/null
SELECT cursor::text, count(*), count(DISTINCT id), min(id), max(id)
  FROM numbers('a', 'b', 'a') CROSS JOIN LATERAL unnest(ids) AS id GROUP BY 1 ORDER BY 1;
CLOSE early;
COMMIT;
ALTER SERVER find OPTIONS (DROP fetch_size);
-- A LIMIT of the select list ends the cursor.
CREATE FUNCTION open_cursors() RETURNS int LANGUAGE sql AS $$
  SELECT coalesce((mongo_ts_command('find', '{"serverStatus": 1}') #> '{metrics,cursor,open,total}')::int, 0)
$$;
SELECT open_cursors() AS before \gset
SELECT mongo_ts_find('find', 'c', '{"_id": {"$gt": 1}}', NULL) LIMIT 2;
SELECT open_cursors() <= :before AS closed;
-- Several cursors at once, and in a loop
SELECT count(*), count(DISTINCT (a, b))
  FROM mongo_ts_find('find', 'c', '{}', 150) a, mongo_ts_find('find', 'c', '{"_id": {"$lte": 3}}') b;
SELECT n, d->'_id' AS id
  FROM generate_series(0, 2) n, mongo_ts_find('find', 'c', json_build_object('k', n), 2) d ORDER BY n, id;

-- Values --------------------------------------------------------------------

-- They are those of mongo_ts_command.
CALL put('values', '[
  {"_id": {"$oid": "5257dc900000000000000000"}, "date": {"$date": "2013-10-10T23:06:37.5Z"},
   "early": {"$date": {"$numberLong": "-62135596800001"}}, "late": {"$date": {"$numberLong": "9223372036854775807"}},
   "decimal": {"$numberDecimal": "1.10"}, "nan": {"$numberDouble": "NaN"}, "infinity": {"$numberDouble": "-Infinity"},
   "double": 0.1, "tiny": 5e-324, "huge": 1.7976931348623157e308, "zero": {"$numberDouble": "-0.0"},
   "long": {"$numberLong": "9223372036854775807"}, "int": 7, "text": "ä€😀\"\\\n", "none": null, "flag": true,
   "binary": {"$binary": {"base64": "AAECAw==", "subType": "00"}},
   "uuid": {"$binary": {"base64": "AAECAwQFBgcICQoLDA0ODw==", "subType": "04"}},
   "regex": {"$regularExpression": {"pattern": "^a", "options": "i"}}, "stamp": {"$timestamp": {"t": 1, "i": 2}},
   "min": {"$minKey": 1}, "max": {"$maxKey": 1}, "array": [1, [], {}], "nested": {"a": {"b.c": {"$oid": "5257dc900000000000000001"}}}}]');
SELECT e.* FROM mongo_ts_find('find', 'values') d, jsonb_each(d - '{huge,tiny}'::text[]) e;
SELECT (d->>'huge')::float8 AS huge, (d->>'tiny')::float8 AS tiny FROM mongo_ts_find('find', 'values') d;
SELECT mongo_ts_find('find', 'values') =
  mongo_ts_command('find', '{"find": "values"}') #> '{cursor,firstBatch,0}' AS same;
-- The keys of the filter keep their order, and text is compared byte by byte.
CALL put('ordered', '[{"_id": {"b": 1, "a": 2}, "t": "A"}, {"_id": {"a": 2, "b": 1}, "t": "a"}]');
SELECT mongo_ts_find('find', 'ordered', '{"_id": {"b": 1, "a": 2}}');
SELECT mongo_ts_find('find', 'ordered', '{"t": {"$gt": "A"}}')->'t' AS t;
SELECT mongo_ts_find('find', 'values', '{"date": {"$gt": {"$date": "2013-10-10T23:06:37Z"}}, "uuid": {"$binary": {"base64": "AAECAwQFBgcICQoLDA0ODw==", "subType": "04"}}}')->'int' AS found;
-- jsonb cannot hold every text: an error that names the document.
CALL put('nul', '[{"_id": "here", "t": "a\u0000b"}]');
SELECT mongo_ts_find('find', 'nul');

-- Errors --------------------------------------------------------------------

SELECT mongo_ts_find('find', 'c', '{}', 0);
SELECT mongo_ts_find('find', 'c', '{}', -1);
\set VERBOSITY terse
SELECT mongo_ts_find('find', 'c', '[]');
SELECT mongo_ts_find('find', 'c', '{"_id": {"$date": "never"}}');
SELECT mongo_ts_find('nowhere', 'c');
\set VERBOSITY sqlstate
SELECT mongo_ts_find('find', 'c', '{"$nonsense": 1}');
SELECT mongo_ts_find('find', '');
\set VERBOSITY default
SELECT mongo_ts_find('find', 'c', '{"_id": 1}');

-- Rights: USAGE on the server, and the mapping's password --------------------

CREATE ROLE regress_mts_find;
GRANT USAGE ON SCHEMA find TO regress_mts_find;
SET ROLE regress_mts_find;
SELECT mongo_ts_find('find', 'c', '{"_id": 1}');
RESET ROLE;
GRANT USAGE ON FOREIGN SERVER find TO regress_mts_find;
SET ROLE regress_mts_find;
SELECT mongo_ts_find('find', 'c', '{"_id": 1}');
RESET ROLE;
ALTER USER MAPPING FOR PUBLIC SERVER find OPTIONS (SET password_required 'true');
SET ROLE regress_mts_find;
SELECT mongo_ts_find('find', 'c', '{"_id": 1}');
RESET ROLE;
DROP OWNED BY regress_mts_find;
DROP ROLE regress_mts_find;

SELECT mongo_ts_command('find', '{"dropDatabase": 1}')->'ok' AS dropped;
