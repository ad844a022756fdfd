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
    'sum', 1770, 'Values', (SELECT json_object_agg(i, i) FROM generate_series(0, 59) i))) AS documents
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

-- Fields that contradict the points ----------------------------------------

CALL put('totals', '[
  {"_id": 1, "h": {"$date": "2024-01-01T00:00:00Z"}, "n": 2, "s": 0.30000000000000004, "lo": 0.1, "hi": 0.2, "v": {"0": 0.1, "1": 0.2}},
  {"_id": 2, "h": {"$date": "2024-01-01T01:00:00Z"}, "n": 3, "s": 4, "lo": 0, "hi": 3, "v": {"0": 1, "1": 2}},
  {"_id": 3, "h": {"$date": "2024-01-01T02:00:00Z"}, "n": 1, "s": 5, "lo": null, "hi": "NaN", "v": {"0": 4, "total": 9}},
  {"_id": 4, "h": {"$date": "2024-01-01T03:00:00Z"}, "n": 0, "s": 0, "lo": 0, "hi": 0, "v": {}},
  {"_id": 5, "h": {"$date": "2024-01-01T04:00:00Z"}, "v": {"0": 1}},
  {"_id": 6, "h": {"$date": "2024-01-01T05:00:00Z"}, "n": 7}]');
CREATE FOREIGN TABLE totals (h timestamptz,
  v float8 OPTIONS (field 'v.{minute}', sum_field 's', min_field 'lo', max_field 'hi')) SERVER "check" OPTIONS (count_field 'n');
SELECT * FROM mongo_ts_check('totals') WHERE problem ~ 'contradicts';
-- Only documents of the filter are compared.
ALTER FOREIGN TABLE totals OPTIONS (ADD filter '{"_id": {"$in": [1, 4, 5]}}');
SELECT * FROM mongo_ts_check('totals') WHERE problem ~ 'contradicts';
-- Buckets without values have no minimum and no maximum, so neither is missed.
CALL put('blank', '[{"_id": 1, "h": {"$date": "2024-01-01T00:00:00Z"}, "n": 0, "s": 0, "v": {}}, {"_id": 2, "h": {"$date": "2024-01-01T01:00:00Z"}, "n": 1, "s": 0, "v": {"0": null}}]');
CREATE FOREIGN TABLE blank (h timestamptz,
  v float8 OPTIONS (field 'v.{minute}', sum_field 's', min_field 'lo', max_field 'hi')) SERVER "check" OPTIONS (count_field 'n');
SELECT * FROM mongo_ts_check('blank') WHERE problem ~ 'has the field';
CALL put('blank', '[{"_id": 3, "h": {"$date": "2024-01-01T02:00:00Z"}, "n": 1, "s": 1, "v": {"0": 1}}]');
ALTER FOREIGN TABLE blank ALTER COLUMN v OPTIONS (SET min_field 'low');
SELECT problem, field FROM mongo_ts_check('blank') WHERE problem ~ 'has the field';
-- All documents are compared, although a sample is read.
SELECT json_agg(json_build_object('_id', i, 'h', json_build_object('$date', json_build_object('$numberLong', (1704067200000 + i * bigint '3600000')::text)),
    'n', CASE i WHEN 4321 THEN 2 ELSE 1 END, 'v', json_build_object('0', i))) AS documents
  FROM generate_series(1, 6000) i \gset
CALL put('counted', :'documents');
CREATE FOREIGN TABLE counted (h timestamptz, v float8 OPTIONS (field 'v.{minute}')) SERVER "check" OPTIONS (count_field 'n');
SELECT field, documents, hint FROM mongo_ts_check('counted') WHERE problem ~ 'contradicts';
SELECT count(*) FROM counted;
SELECT count(*) FROM (SELECT h FROM counted OFFSET 0) AS rows;
-- The first and the last time, which a bucket must have
CALL put('bounds', '[
  {"_id": 1, "t0": {"$date": "2024-01-01T00:00:01Z"}, "t1": {"$date": "2024-01-01T00:00:02Z"}, "p": [
    {"t": {"$date": "2024-01-01T00:00:01Z"}, "v": 1}, {"t": {"$date": "2024-01-01T00:00:03Z"}, "v": 1}]},
  {"_id": 2, "t1": {"$date": "2024-01-02T00:00:00Z"}, "p": {"0": {"t": {"$date": "2024-01-01T00:00:01Z"}, "v": 1}}}]');
CREATE FOREIGN TABLE bounds (t timestamptz OPTIONS (field 'p[].t'), v float8 OPTIONS (field 'p[].v')) SERVER "check"
  OPTIONS (bucket_first_field 't0', bucket_last_field 't1');
SELECT * FROM mongo_ts_check('bounds') WHERE problem ~ 'contradicts';
-- Offsets from dates, arrays side by side, and elements of tuples
CALL put('offsets', '[
  {"_id": 1, "h": {"$date": "2024-01-01T00:00:00Z"}, "t0": {"$date": "2024-01-01T00:00:01Z"}, "n": 2, "p": [{"t": 0.5, "v": 1}, {"t": 3, "v": 1}]},
  {"_id": 2, "h": {"$date": "2024-01-01T01:00:00Z"}, "t0": {"$date": "2024-01-01T01:00:00.500Z"}, "n": 2, "p": [{"t": 0.5, "v": 1}, {"t": 3}]}]');
CREATE FOREIGN TABLE offsets (t timestamptz OPTIONS (field 'p[].t', format 'offset:second'), v float8 OPTIONS (field 'p[].v'))
  SERVER "check" OPTIONS (bucket_time_field 'h', bucket_span '1 hour', bucket_first_field 't0', count_field 'n');
SELECT * FROM mongo_ts_check('offsets') WHERE problem ~ 'contradicts';
CALL put('parallel', '[
  {"_id": 1, "n": 3, "s": 3, "t": [{"$date": "2024-01-01T00:00:01Z"}, {"$date": "2024-01-01T00:00:02Z"}], "v": [1, 2]},
  {"_id": 2, "n": 2, "s": {"$numberLong": "9223372036854775806"}, "t": [{"$date": "2024-01-01T00:00:01Z"}, {"$date": "2024-01-01T00:00:02Z"}],
    "v": [{"$numberLong": "9223372036854775805"}, 2]}]');
CREATE FOREIGN TABLE parallel (t timestamptz OPTIONS (field 't[]'), v bigint OPTIONS (field 'v[]', sum_field 's')) SERVER "check"
  OPTIONS (count_field 'n');
SELECT * FROM mongo_ts_check('parallel') WHERE problem ~ 'contradicts';
CALL put('pairs', '[{"_id": 1, "n": 3, "hi": 3, "k": [[1704067200000, 1], [1704067200001, 2], [], null]}]');
CREATE FOREIGN TABLE pairs (t timestamptz OPTIONS (field 'k[].0', format 'epoch_ms'), v bigint OPTIONS (field 'k[].1', max_field 'hi'))
  SERVER "check" OPTIONS (count_field 'n');
SELECT * FROM mongo_ts_check('pairs') WHERE problem ~ 'contradicts';

-- All collections of a rolling set
CALL put('n_2013', '[{"_id": 1, "h": {"$date": "2013-10-10T23:00:00Z"}, "n": 1, "v": {"7": 1}}, {"_id": 2, "h": {"$date": "2013-10-11T00:00:00Z"}, "n": 3, "v": {"7": 1}}]');
CALL put('n_2014', '[{"_id": 3, "h": {"$date": "2014-10-10T23:00:00Z"}, "n": 0, "v": {"7": 1}}]');
CREATE FOREIGN TABLE rolling_totals (h timestamptz, v float8 OPTIONS (field 'v.{minute}')) SERVER "check"
  OPTIONS (collection 'n_%Y', count_field 'n');
SELECT * FROM mongo_ts_check('rolling_totals') WHERE problem ~ 'contradicts';

-- A document that the filter excludes ---------------------------------------

CALL put('more', '[
  {"_id": 1, "h": {"$date": "2024-01-01T00:00:00Z"}, "k": "a", "meta": {"by": "Ada", "since": {"$date": "2024-01-01T00:30:00Z"}},
    "n": 1, "v": {"0": {"a": 1, "b": 2}, "total": 5}},
  {"_id": 2, "h": {"$date": "2024-01-01T01:00:00Z"}, "k": "a", "meta": {"by": "Ada"}, "deleted": true, "x.y": false, "n": 2.5,
    "v": {"0": {"a": 1, "c": "x"}}},
  {"_id": 3, "h": {"$date": "2024-01-01T01:00:00Z"}, "k": "a", "meta": {"by": "Ada"}, "n": null, "v": {"0": {"a": 1, "c": 7}}, "site": null}]');
CREATE FOREIGN TABLE more (h timestamptz, k text, "by" text OPTIONS (field 'meta.by'), a float8 OPTIONS (field 'v.{minute}.a'))
  SERVER "check" OPTIONS (filter '{"deleted": {"$ne": true}}');
SELECT mongo_ts_command('check', '{"createIndexes": "more", "indexes": [{"key": {"k": 1, "meta.by": 1, "h": 1}, "name": "plain"}]}')->'ok';
SELECT problem, field FROM mongo_ts_check('more');
ALTER FOREIGN TABLE more OPTIONS (DROP filter);
SELECT * FROM mongo_ts_check('more');

-- Warnings of a query -------------------------------------------------------

CREATE FOREIGN TABLE warned (hour timestamptz, value float8 OPTIONS (field 'values.{minute}'), other float8 OPTIONS (field 'Values.{minute}'))
  SERVER "check" OPTIONS (collection 'hours');
EXPLAIN (COSTS OFF) SELECT value FROM warned;
SELECT count(value) FROM warned;
-- Once, also of several fields in turn, and again when its option changes
SELECT count(value) FROM warned;
SELECT count(*), count(other) FROM warned;
ALTER FOREIGN TABLE warned ADD third float8 OPTIONS (field 'third.{minute}');
SELECT count(third) FROM warned;
SELECT count(value) FROM warned;
SELECT count(third) FROM warned;
ALTER FOREIGN TABLE warned DROP third;
ALTER FOREIGN TABLE warned ALTER value OPTIONS (SET field 'VALUES.{minute}');
ALTER FOREIGN TABLE warned DROP other;
SELECT count(*) FROM warned;
-- Of a column without slots if twenty documents lack its field
CREATE FOREIGN TABLE rows_warned (n int, m int) SERVER "check" OPTIONS (collection 'twenty');
SELECT '[' || string_agg(format('{"n": %s}', n), ', ') || ']' AS documents FROM generate_series(1, 19) n \gset
CALL put('twenty', :'documents');
SELECT count(m) FROM rows_warned;
CALL put('twenty', '[{"n": 20}]');
SELECT count(m) FROM rows_warned WHERE n > 0;
SELECT count(m) FROM rows_warned;
SELECT count(n), count(m) FROM rows_warned;
-- A column that a path names as a slot has no field.
CREATE FOREIGN TABLE codes (hour timestamptz, code int, n int OPTIONS (field 'n.{minute}.{code}')) SERVER "check";
SELECT '[' || string_agg(format('{"hour": {"$date": {"$numberLong": "%s"}}, "n": {"0": {"200": 1, "404": 2}}}', h * 3600000), ', ') || ']' AS documents
  FROM generate_series(1, 20) h \gset
CALL put('codes', :'documents');
SELECT count(*) FROM codes WHERE code = 200;
-- Nor has a time that is a key.
CREATE FOREIGN TABLE key_valves ("time" timestamptz, n int OPTIONS (field 'n.{epoch_ms}')) SERVER "check";
SELECT '[' || string_agg(format('{"n": {"%s": 1}}', 1767231197648 + h), ', ') || ']' AS documents
  FROM generate_series(1, 20) h \gset
CALL put('key_valves', :'documents');
SELECT count(t), count(n) FROM (SELECT "time" AS t, n FROM key_valves OFFSET 0) k;
-- A unique index with another direction
SELECT mongo_ts_command('check', '{"createIndexes": "codes", "indexes": [{"key": {"code": 1, "hour": -1}, "name": "mine", "unique": true}]}')->'ok';
CREATE FOREIGN TABLE coded (hour timestamptz, code int, n jsonb OPTIONS (field 'n.{minute}')) SERVER "check" OPTIONS (collection 'codes');
SELECT mongo_ts_create_index('coded');
-- Documents of a condition may lack a field that others have.
ALTER FOREIGN TABLE warned ALTER value OPTIONS (SET field 'value.{minute}');
SELECT hour FROM warned WHERE hour = '2013-10-10 23:00Z';
SELECT hour FROM warned WHERE hour >= '2013-10-10 23:00Z' LIMIT 1;
SELECT hour FROM warned LIMIT 1;
-- A field may have no points, and a column without slots may be optional.
CALL put('optional', '[{"_id": 1, "k": 1, "r": []}, {"_id": 2, "k": 2, "r": null}]');
CREATE FOREIGN TABLE optional (k int, note text) SERVER "check";
SELECT note FROM optional WHERE k = 1;
CREATE FOREIGN TABLE points (t timestamptz OPTIONS (field 'r[].t'), w int OPTIONS (field 'r[].w')) SERVER "check"
  OPTIONS (collection 'optional');
SELECT w FROM points;
-- A collection that does not exist, with a name like one that does; once
CREATE FOREIGN TABLE missing (k int, note text) SERVER "check" OPTIONS (collection 'optionl');
SELECT count(*) FROM missing;
SELECT * FROM missing WHERE k = 1;
ALTER FOREIGN TABLE missing OPTIONS (SET collection 'nothing like it');
EXPLAIN (COSTS OFF) SELECT * FROM missing;
SELECT * FROM missing WHERE k = 1 AND k = 2;
SELECT * FROM missing;
-- An empty collection, and a rolling set without one
SELECT mongo_ts_command('check', '{"create": "empty"}')->'ok';
ALTER FOREIGN TABLE missing OPTIONS (SET collection 'empty');
SELECT * FROM missing;
CREATE FOREIGN TABLE never (t timestamptz, v float8) SERVER "check" OPTIONS (collection 'never_%Y');
SELECT * FROM never;
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

-- An INSERT writes another _id than text made of the key and the time.
CALL put('composed', '[
  {"_id": "s7-2024-05-01T10", "s": "s7", "t": {"$date": "2024-05-01T10:00:00Z"}, "v": {"0": 1, "59": 2}},
  {"_id": "s7-2024-05-01T11", "s": "s7", "t": {"$date": "2024-05-01T11:00:00Z"}, "v": {"0": 1, "59": 2}}]');
CREATE FOREIGN TABLE composed (t timestamptz, s text, v float8 OPTIONS (field 'v.{minute}')) SERVER "check";
SELECT mongo_ts_command('check', '{"createIndexes": "composed", "indexes": [{"key": {"s": 1, "t": 1}, "name": "i"}]}')->'ok' AS ok;
SELECT * FROM mongo_ts_check('composed');
SELECT mongo_ts_command('check', '{"dropIndexes": "composed", "index": "i"}') IS NOT NULL AS dropped;
SELECT mongo_ts_create_index('composed');
SELECT * FROM mongo_ts_check('composed');

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
-- A total that is true of the sample, and not of a document without an _id
SELECT json_agg(json_build_object('h', json_build_object('$date', json_build_object('$numberLong', (1704067200000 + i * bigint '3600000')::text)),
    'n', CASE i WHEN 1234 THEN 9 ELSE 60 - i % 2 END, 'v', (SELECT json_object_agg(j, i) FROM generate_series(i % 2, 59) j))) AS documents
  FROM generate_series(1, 2000) i \gset
CALL put('mostly', :'documents');
SELECT mongo_ts_command('check', '{"create": "mostly_view", "viewOn": "mostly", "pipeline": [{"$project": {"_id": 0}}]}')->'ok' AS created;
-- The sample may have that document, so NOTICEs differ.
SET client_min_messages = warning;
SELECT mongo_ts_suggest('check', 'mostly_view') ~ '^CREATE FOREIGN TABLE mostly_view' AS suggested;
IMPORT FOREIGN SCHEMA :"database" LIMIT TO (mostly_view) FROM SERVER "check" INTO declared OPTIONS (sample_size '60');
SELECT ftoptions FROM pg_foreign_table WHERE ftrelid = 'declared.mostly_view'::regclass;
RESET client_min_messages;
SELECT mongo_ts_suggest('check', 'Hours');
SELECT mongo_ts_suggest('check', 'nothing');
SELECT mongo_ts_suggest('nothing', 'hours');
SELECT mongo_ts_suggest(NULL, 'hours');
SET client_min_messages = warning;
DROP SCHEMA suggested, declared CASCADE;
REVOKE ALL ON SCHEMA "check" FROM regress_check;
REVOKE ALL ON hours FROM regress_check;
DROP ROLE regress_check;
