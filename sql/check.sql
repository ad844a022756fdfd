--
-- Tests mongo_ts_check, which compares a declaration with sampled documents,
-- and mongo_ts_suggest, which writes one.
--
\set suite check
\i sql/include/suite.sql
\pset format unaligned

-- Ten hours of two sensors: a subdocument of minutes, and its totals
SELECT json_agg(json_build_object('_id', n, 'sensorId', 's' || n % 2,
    'hour', json_build_object('$date', json_build_object('$numberLong', (1381446000000 + n / 2 * 3600000)::text)),
    'meta', json_build_object('lastService', json_build_object('by', 'Ada')),
    'sum', 60, 'Values', (SELECT json_object_agg(i, i) FROM generate_series(0, 59) i))) AS documents
  FROM generate_series(0, 19) n \gset
CALL put('hours', :'documents');

-- Nothing is found --------------------------------------------------------

CREATE FOREIGN TABLE hours (
  hour timestamptz, "sensorId" text, "meta.lastService.by" text OPTIONS (field 'meta.lastService.by', role 'attribute'),
  value float8 OPTIONS (field 'Values.{minute}', sum_field 'sum')
) SERVER "check" OPTIONS (collection 'hours');
SELECT mongo_ts_create_index('hours');
SELECT * FROM mongo_ts_check('hours');

-- Fields that no document has ---------------------------------------------

CREATE FOREIGN TABLE absent (
  hour timestamptz, sensorid text, "meta.lastService.by" text, "meta.lastservice.by" text,
  sensor text, place text OPTIONS (field 'meta.place'), slot text OPTIONS (field 'Values.{minute}.x'),
  value float8 OPTIONS (field 'values.{minute}', sum_field 'Sum', min_field 'least')
) SERVER "check" OPTIONS (collection 'hours', updatable 'false', count_field 'n');
SELECT * FROM mongo_ts_check('absent');
-- The statements in hints mend the table.
ALTER FOREIGN TABLE absent ALTER COLUMN sensorid OPTIONS (ADD field 'sensorId'),
  ALTER COLUMN "meta.lastService.by" OPTIONS (ADD field 'meta.lastService.by'),
  ALTER COLUMN "meta.lastservice.by" OPTIONS (ADD field 'meta.lastService.by'),
  ALTER COLUMN value OPTIONS (SET field 'Values.{minute}', SET sum_field 'sum', DROP min_field),
  OPTIONS (DROP count_field);
ALTER FOREIGN TABLE absent DROP sensor, DROP place, DROP slot;
SELECT * FROM mongo_ts_check('absent');
-- A name with a period of its own
CALL put('odd', '[{"a.B": 1, "c{": 2, "d": {"E.f": 3}}]');
CREATE FOREIGN TABLE odd ("a.B" int, "a.b" int, "C{" int, "d.E.f" int, "d.e" int OPTIONS (field 'd.e\.f'))
  SERVER "check" OPTIONS (collection 'odd');
SELECT * FROM mongo_ts_check('odd');
-- A query warns of such a name, too.
SELECT "a.B", "a.b", "d.E.f" FROM odd;

-- Wrong units and formats of the time -------------------------------------

CREATE FOREIGN TABLE wrong (hour timestamptz, "sensorId" text, value float8 OPTIONS (field 'Values.{hour}'))
  SERVER "check" OPTIONS (collection 'hours');
SELECT * FROM mongo_ts_check('wrong');
ALTER FOREIGN TABLE wrong ALTER value OPTIONS (SET field 'Values.{second}');
SELECT * FROM mongo_ts_check('wrong');
ALTER FOREIGN TABLE wrong OPTIONS (ADD bucket_span '1 hour');
SELECT * FROM mongo_ts_check('wrong');
ALTER FOREIGN TABLE wrong OPTIONS (DROP bucket_span);
ALTER FOREIGN TABLE wrong ALTER value OPTIONS (SET field 'Values.{minute}'), ALTER hour OPTIONS (format 'epoch');
SELECT * FROM mongo_ts_check('wrong');
-- Slots that count no unit have none that is improbable.
CREATE FOREIGN TABLE keyed (hour timestamptz, "sensorId" text, key text, value float8 OPTIONS (field 'Values.{key}'))
  SERVER "check" OPTIONS (collection 'hours');
SELECT * FROM mongo_ts_check('keyed');
CALL put('seconds', '[{"_id": 1, "t": 1381446000}, {"_id": 2, "t": 1381446001}, {"_id": 3}]');
CREATE FOREIGN TABLE seconds (t timestamptz OPTIONS (format 'epoch_ms', role 'time')) SERVER "check"
  OPTIONS (collection 'seconds');
SELECT mongo_ts_create_index('seconds');
SELECT * FROM mongo_ts_check('seconds');

-- Keys with texts, several numbers or times, and elements by their index ------

SELECT json_agg(json_build_object('_id', n, 'day', json_build_object('$date', json_build_object('$numberLong', (1381363200000 + n * 86400000)::text)),
    'v', json_build_object('00:30', 1, '23:59', 2, 'daily', 3), 'h', json_build_object('hours', json_build_object('x', 1), 'h07', json_build_object('T', 1)),
    'ms', json_build_object((1381363200000 + n * 86400000)::text, 1, 'total', 1),
    'k', json_build_array(json_build_array(1381363200000 + n * 86400000, 1, 2, 3, 4.5), json_build_array(), json_build_array(1381363260000)),
    'load', json_build_array(5, 6))) AS documents
  FROM generate_series(0, 11) n \gset
CALL put('keys', :'documents');
SELECT mongo_ts_command('check', '{"createIndexes": "keys", "indexes": [{"key": {"day": 1}, "name": "day", "unique": true}]}')->'ok';
CREATE FOREIGN TABLE key_numbers (day timestamptz, load float8 OPTIONS (field 'load.1', role 'attribute'),
  v float8 OPTIONS (field 'v.{hour:00}:{minute:00}')) SERVER "check" OPTIONS (collection 'keys');
SELECT * FROM mongo_ts_check('key_numbers');
CREATE FOREIGN TABLE key_texts (day timestamptz, t float8 OPTIONS (field 'h.h{hour:00}.t'), u float8 OPTIONS (field 'h.h{hour:00}.u'))
  SERVER "check" OPTIONS (collection 'keys');
SELECT * FROM mongo_ts_check('key_texts');
CREATE FOREIGN TABLE key_times (ts timestamptz, v float8 OPTIONS (field 'ms.{epoch_ms}'))
  SERVER "check" OPTIONS (collection 'keys', bucket_time_field 'day', bucket_span '1 day');
SELECT * FROM mongo_ts_check('key_times');
ALTER FOREIGN TABLE key_times ALTER v OPTIONS (SET field 'ms.{epoch}'), OPTIONS (DROP bucket_time_field, DROP bucket_span);
SELECT * FROM mongo_ts_check('key_times');
CREATE FOREIGN TABLE tuples (ts timestamptz OPTIONS (field 'k[].0', format 'epoch_ms'), load float8 OPTIONS (field 'load.0'),
  "load.1" float8, close float8 OPTIONS (field 'k[].4'), name text OPTIONS (field 'Load.0'))
  SERVER "check" OPTIONS (collection 'keys');
SELECT * FROM mongo_ts_check('tuples');
-- A wrong unit of such keys
ALTER FOREIGN TABLE key_numbers ALTER v OPTIONS (SET field 'v.{minute:00}:{second:00}');
SELECT * FROM mongo_ts_check('key_numbers');
-- Minutes of the day in hours, as MongoDB's manual has them, and days by the local clock
SELECT json_agg(json_build_object('_id', n, 'day', json_build_object('$date', json_build_object('$numberLong',
    (extract(epoch FROM (timestamp '2024-03-25' + n * interval '1 day') AT TIME ZONE 'Europe/Berlin') * 1000)::bigint::text)),
    'm', json_build_object('0', json_build_object('0', 1, '59', 2), '22', json_build_object('1320', 3, '1379', 4)),
    'h', json_build_object('0', 1, '23', 2))) AS documents
  FROM generate_series(0, 11) n \gset
CALL put('days', :'documents');
SELECT mongo_ts_command('check', '{"createIndexes": "days", "indexes": [{"key": {"day": 1}, "name": "day", "unique": true}]}')->'ok';
CREATE FOREIGN TABLE minutes (day timestamptz, m float8 OPTIONS (field 'm.{hour}.{minute of day}'))
  SERVER "check" OPTIONS (collection 'days', bucket_time_zone 'Europe/Berlin', updatable 'false');
SELECT * FROM mongo_ts_check('minutes');
ALTER FOREIGN TABLE minutes ALTER m OPTIONS (SET field 'm.{minute}.{second of hour}');
SELECT * FROM mongo_ts_check('minutes');
ALTER FOREIGN TABLE minutes ALTER m OPTIONS (SET field 'm.{hour}.{minute}');
SELECT * FROM mongo_ts_check('minutes');
CREATE FOREIGN TABLE local_hours (day timestamptz, h float8 OPTIONS (field 'h.{hour}'))
  SERVER "check" OPTIONS (collection 'days', bucket_time_zone 'Europe/Berlin', slot_clock 'local');
SELECT * FROM mongo_ts_check('local_hours');
ALTER FOREIGN TABLE local_hours ALTER h OPTIONS (SET field 'h.{minute}'), OPTIONS (ADD bucket_span '1 day');
SELECT * FROM mongo_ts_check('local_hours');
ALTER FOREIGN TABLE local_hours OPTIONS (DROP slot_clock, SET bucket_span '1 hour');
SELECT * FROM mongo_ts_check('local_hours');
-- Buckets of any length
ALTER FOREIGN TABLE local_hours OPTIONS (SET bucket_span '200000 years');
SELECT * FROM mongo_ts_check('local_hours');
-- No query warns of an element.
SELECT close FROM tuples LIMIT 1;
SELECT count(load) FROM tuples WHERE load = 9;

-- Values that the type cannot hold, and points outside of their bucket ----

CALL put('mixed', '[
  {"_id": 1, "at": {"$date": "2013-10-10T23:00:00Z"}, "k": 1, "r": [{"t": {"$date": "2013-10-10T23:01:00Z"}, "v": 1}]},
  {"_id": 2, "at": {"$date": "2013-10-11T00:00:00Z"}, "k": 1, "r": [{"t": {"$date": "2013-10-10T23:59:00Z"}, "v": 1},
    {"t": {"$date": "2013-10-11T00:01:00Z"}, "v": "x"}, {"t": {"$date": "2013-10-11T00:02:00Z"}, "v": "y"}]},
  {"_id": 3, "at": {"$date": "2013-10-11T01:00:00Z"}, "k": "one", "r": []},
  {"_id": 4, "at": "soon", "k": 1, "r": []},
  {"_id": 5, "k": 1, "r": [{"t": {"$date": "2013-10-10T23:01:00Z"}, "v": "x"}]}]');
CREATE FOREIGN TABLE mixed (
  k int, t timestamptz OPTIONS (field 'r[].t'), v int OPTIONS (field 'r[].v')
) SERVER "check" OPTIONS (collection 'mixed', bucket_time_field 'at', bucket_span '1 hour');
SELECT mongo_ts_create_index('mixed');
SELECT * FROM mongo_ts_check('mixed');

-- Identity and index -------------------------------------------------------

CREATE FOREIGN TABLE same (hour timestamptz, value float8 OPTIONS (field 'Values.{minute}'))
  SERVER "check" OPTIONS (collection 'hours');
SELECT * FROM mongo_ts_check('same');
-- An index that is not unique finds duplicates outside of the sample.
SELECT json_agg(json_build_object('_id', n, 'k', n % 2000, 'v', json_build_object('7', n),
    'day', json_build_object('$date', '2013-10-10T00:00:00Z'))) AS documents
  FROM generate_series(0, 3999) n \gset
CALL put('many', :'documents');
CREATE FOREIGN TABLE many (day timestamptz, k int, v float8 OPTIONS (field 'v.{second}'))
  SERVER "check" OPTIONS (collection 'many', bucket_span '1 day');
-- An index is not advised if the sample has duplicates.
SELECT count(*) FROM mongo_ts_check('many') WHERE problem ~ 'no index|same bucket';
SELECT mongo_ts_command('check', '{"createIndexes": "many", "indexes": [{"key": {"k": 1, "day": 1}, "name": "plain"}]}')->'ok';
SELECT problem, field, documents BETWEEN 2 AND 100 AS some FROM mongo_ts_check('many') WHERE problem ~ 'same';
-- Full buckets have successors with the same time.
ALTER FOREIGN TABLE many ALTER v OPTIONS (SET field 'v[]'), OPTIONS (ADD bucket_max_points '10');
SELECT problem, field FROM mongo_ts_check('many') WHERE problem ~ 'same';

-- Documents -----------------------------------------------------------------

CREATE FOREIGN TABLE "Hours" (t timestamptz) SERVER "check";
SELECT * FROM mongo_ts_check('"Hours"');
CREATE FOREIGN TABLE "No table" (t timestamptz) SERVER "check" OPTIONS (collection 'Hours');
SELECT * FROM mongo_ts_check('"No table"');
ALTER FOREIGN TABLE "No table" OPTIONS (SET collection 'nothing');
SELECT * FROM mongo_ts_check('"No table"');
ALTER FOREIGN TABLE "No table" OPTIONS (SET collection 'hours', ADD filter '{"sensorId": "s7"}');
SELECT * FROM mongo_ts_check('"No table"');
ALTER FOREIGN TABLE "No table" OPTIONS (SET collection 'hours_%Y', DROP filter);
SELECT * FROM mongo_ts_check('"No table"');
-- A rolling set
CALL put('d_2013', '[{"_id": 1, "t": {"$date": "2013-10-10T23:00:00Z"}, "V": 1}]');
CALL put('d_2014', '[{"_id": 1, "t": {"$date": "2013-10-10T23:00:00Z"}, "V": 1}]');
CREATE FOREIGN TABLE rolling (t timestamptz, v float8) SERVER "check" OPTIONS (collection 'd_%Y');
SELECT * FROM mongo_ts_check('rolling');

-- The warning of a query ---------------------------------------------------

CREATE FOREIGN TABLE warned (hour timestamptz, sensorid text, sensor text OPTIONS (field 'sensorId'),
  value float8 OPTIONS (field 'values.{minute}'), other float8 OPTIONS (field 'Values.{minute}'))
  SERVER "check" OPTIONS (collection 'hours');
EXPLAIN (COSTS OFF) SELECT sensorid FROM warned;
SELECT sensor, other FROM warned WHERE sensor = 's1' ORDER BY hour LIMIT 1;
SELECT sensorid, sensor FROM warned ORDER BY hour LIMIT 1;
-- Once for each column, and again when its option changes
SELECT sensorid, sensor FROM warned ORDER BY hour LIMIT 1;
SELECT count(*), max(value) FROM warned;
SELECT * FROM warned LIMIT 1;
ALTER FOREIGN TABLE warned ALTER sensorid OPTIONS (ADD field 'SensorId');
-- A condition finds no document.
SELECT count(*) FROM warned WHERE sensorid = 's1';
ALTER FOREIGN TABLE warned ALTER sensorid OPTIONS (SET field 'SENSORID');
SELECT sum(other) FROM warned WHERE sensor > 's0' AND (sensorid = 's1' OR sensorid = 's2');
-- No warning: the field is in other documents, in none of a missing
-- collection, in points only, or the collection is large.
CALL put('optional', '[{"_id": 1, "k": 1}, {"_id": 2, "k": 2, "note": "x", "r": [{"t": {"$date": "2013-10-10T23:00:00Z"}}]}]');
CREATE FOREIGN TABLE optional (k int, note text) SERVER "check";
SELECT note FROM optional WHERE k = 1;
SELECT count(*) FROM optional WHERE note = 'y';
CREATE FOREIGN TABLE points (t timestamptz OPTIONS (field 'r[].t'), w int OPTIONS (field 'r[].w')) SERVER "check"
  OPTIONS (collection 'optional');
SELECT w FROM points;
CREATE FOREIGN TABLE missing (k int, note text) SERVER "check";
SELECT note FROM missing WHERE k = 1;
SELECT json_agg(json_build_object('k', n)) AS documents FROM generate_series(0, 10000) n \gset
CALL put('large', :'documents');
CREATE FOREIGN TABLE large (k int, note text) SERVER "check";
SELECT note FROM large WHERE k = 1;
SELECT mongo_ts_command('check', '{"delete": "large", "deletes": [{"q": {"k": 0}, "limit": 1}]}')->'n' AS n;
-- The session remembers the number of documents.
\c
SET search_path = "check", public;
SET TimeZone = 'UTC';
SELECT note FROM large WHERE k = 1;

-- Rights and errors -----------------------------------------------------------

CREATE ROLE regress_check;
GRANT USAGE ON SCHEMA "check" TO regress_check;
SET ROLE regress_check;
SELECT * FROM mongo_ts_check('hours');
SELECT mongo_ts_suggest('check', 'hours');
RESET ROLE;
GRANT SELECT ON hours TO regress_check;
SET ROLE regress_check;
SELECT * FROM mongo_ts_check('hours');
RESET ROLE;
SELECT * FROM mongo_ts_check('pg_class');
SELECT * FROM mongo_ts_check(NULL);

-- A whole _id identifies a bucket ----------------------------------------------

CALL put('ids', '[
  {"_id": {"s": "a", "t": {"$date": "2024-03-01T00:00:00Z"}}, "v": {"0": 1, "59": 2}},
  {"_id": {"s": "a", "t": {"$date": "2024-03-01T01:00:00Z"}}, "v": {"0": 1, "59": 2}}]');
CREATE FOREIGN TABLE ids (t timestamptz OPTIONS (field '_id.t'), s text OPTIONS (field '_id.s'), v float8 OPTIONS (field 'v.{minute}'))
  SERVER "check";
SELECT * FROM mongo_ts_check('ids');
DROP FOREIGN TABLE ids;
CREATE FOREIGN TABLE ids (s text OPTIONS (field '_id.s'), t timestamptz OPTIONS (field '_id.t'), v float8 OPTIONS (field 'v.{minute}'))
  SERVER "check";
SELECT * FROM mongo_ts_check('ids');
INSERT INTO ids VALUES ('a', '2024-03-01 00:07Z', 3);
SELECT mongo_ts_find('check', 'ids', '{}');
-- A field of the filter has its column's place.
CREATE FOREIGN TABLE filtered (t timestamptz OPTIONS (field '_id.t'), s text OPTIONS (field '_id.s'), v float8 OPTIONS (field 'v.{minute}'))
  SERVER "check" OPTIONS (filter '{"_id.s": "b"}');
INSERT INTO filtered VALUES ('2024-03-01 00:07Z', 'b', 3);
SELECT mongo_ts_find('check', 'filtered', '{"_id": {"t": {"$date": "2024-03-01T00:00:00Z"}, "s": "b"}}')->'v' AS v;
CALL put('ids', '[{"_id": {"s": "a", "t": {"$date": "2024-03-01T02:00:00Z"}, "part": 1}, "v": {"0": 1}}]');
SELECT * FROM mongo_ts_check('ids');

-- An INSERT would not find weeks that begin on Monday.
CALL put('weeks', '[
  {"week": {"$date": "2024-03-04T00:00:00Z"}, "v": {"0": 1, "6": 2}},
  {"week": {"$date": "2024-03-11T00:00:00Z"}, "v": {"0": 1, "6": 2}}]');
CREATE FOREIGN TABLE weeks (week timestamptz, v float8 OPTIONS (field 'v.{day}')) SERVER "check" OPTIONS (bucket_span '7 days');
SELECT mongo_ts_create_index('weeks');
SELECT * FROM mongo_ts_check('weeks');
ALTER FOREIGN TABLE weeks OPTIONS (ADD updatable 'false');
SELECT * FROM mongo_ts_check('weeks');

-- Suggestions ------------------------------------------------------------------

SELECT mongo_ts_suggest('check', 'hours') AS statement \gset
\echo :statement
CREATE SCHEMA suggested;
SET search_path = suggested;
:statement
SET search_path = "check", public;
CREATE SCHEMA declared;
IMPORT FOREIGN SCHEMA :"database" LIMIT TO (hours) FROM SERVER "check" INTO declared;
SELECT count(*), count(DISTINCT (ftoptions, attname, atttypid, attfdwoptions))
  FROM pg_foreign_table, pg_attribute WHERE attrelid = ftrelid AND attnum > 0
   AND ftrelid IN ('suggested.hours'::regclass, 'declared.hours'::regclass);
-- Two resolutions are two tables.
CALL put('twores', '[
  {"res": "minute", "t": {"$date": "2024-01-01T00:00:00Z"}, "v": {"0": 1, "30": 2, "59": 3}},
  {"res": "minute", "t": {"$date": "2024-01-01T01:00:00Z"}, "v": {"0": 1, "30": 2, "59": 3}},
  {"res": "hour", "t": {"$date": "2024-01-01T00:00:00Z"}, "v": {"0": 1, "12": 2, "23": 3}},
  {"res": "hour", "t": {"$date": "2024-01-02T00:00:00Z"}, "v": {"0": 1, "12": 2, "23": 3}}]');
SELECT mongo_ts_suggest('check', 'twores') AS statement \gset
\echo :statement
SET search_path = suggested;
:statement
SELECT res, count(*), max(t) - min(t) AS range FROM (TABLE twores_minute UNION ALL TABLE twores_hour) AS points GROUP BY res ORDER BY res;
SET search_path = "check", public;
SELECT mongo_ts_suggest('check', 'Hours');
SELECT mongo_ts_suggest('check', 'nothing');
SELECT mongo_ts_suggest('nothing', 'hours');
SELECT mongo_ts_suggest(NULL, 'hours');
SET client_min_messages = warning;
DROP SCHEMA suggested, declared CASCADE;
REVOKE ALL ON SCHEMA "check" FROM regress_check;
REVOKE ALL ON hours FROM regress_check;
DROP ROLE regress_check;
