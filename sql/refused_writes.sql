--
-- Tests writes that can't be exact: each is refused with its reason.
--
\set suite refused_writes
\i sql/include/suite.sql

\pset format unaligned
\pset tuples_only on
\set QUIET 1
SET client_min_messages = warning;
-- The errors are those of buckets that are stored by themselves.
ALTER SERVER refused_writes OPTIONS (ADD transactions 'off');

CREATE FOREIGN TABLE metrics (
  ts    timestamptz,
  type  text,
  value int OPTIONS (field 'values.{second}')
) SERVER refused_writes;
CREATE FUNCTION put_one(ts text, type text DEFAULT 'a', value text DEFAULT '1') RETURNS text LANGUAGE sql AS $$
  SELECT try(format('INSERT INTO metrics VALUES (%L, %L, %L)', ts, type, value));
$$;

-- Times --------------------------------------------------------------------

SELECT put_one('2020-01-01 00:00:00.5Z');
SELECT put_one(NULL);
SELECT put_one('infinity');
SELECT put_one('-infinity');
ALTER FOREIGN TABLE metrics OPTIONS (ADD on_subresolution 'truncate');
INSERT INTO metrics VALUES ('2020-01-01 00:00:00.999Z', 'a', 1) RETURNING *;
SELECT put_one(NULL);
TRUNCATE metrics;

-- bucket times and points' own times that the format can't represent
CREATE FOREIGN TABLE days (
  day timestamptz OPTIONS (field 'd', format 'text:YYYY-MM-DD'), v int OPTIONS (field 'v.{minute}')
) SERVER refused_writes OPTIONS (bucket_span '1 hour');
SELECT try($$INSERT INTO days VALUES ('2020-01-01 00:00Z', 1), ('2020-01-01 05:00Z', 1)$$);
CREATE FOREIGN TABLE samples (
  at timestamptz OPTIONS (field 's[].t', format 'epoch'), v int OPTIONS (field 's[].v')
) SERVER refused_writes OPTIONS (bucket_time_field 'd', bucket_span '1 day');
SELECT try($$INSERT INTO samples VALUES ('2020-01-01 00:00:00.5Z', 1)$$);
CREATE FOREIGN TABLE microseconds (ts timestamptz, v int) SERVER refused_writes;
SELECT try($$INSERT INTO microseconds VALUES ('2020-01-01 00:00:00.0005Z', 1)$$);
CREATE FOREIGN TABLE local (ts timestamp, v int OPTIONS (field 'v.{minute}'))
  SERVER refused_writes OPTIONS (bucket_time_zone 'Europe/Berlin');
SELECT try($$INSERT INTO local VALUES ('2020-03-29 02:30', 1)$$);
CREATE FOREIGN TABLE stamps (
  ts timestamptz OPTIONS (role 'time'), day date OPTIONS (field 'v.{minute}.day'), at timestamptz OPTIONS (field 'v.{minute}.at'),
  s timestamptz OPTIONS (field 'v.{minute}.s', format 'text:YYYY-MM-DD'), id timestamptz OPTIONS (field 'v.{minute}.id', format 'oid')
) SERVER refused_writes;
SELECT try($$INSERT INTO stamps (ts, day) VALUES ('2020-01-01Z', '5000000-01-01')$$);
SELECT try($$INSERT INTO stamps (ts, at) VALUES ('2020-01-01Z', '2020-01-01 00:00:00.0005Z')$$);
SELECT try($$INSERT INTO stamps (ts, s) VALUES ('2020-01-01Z', '2020-01-01 00:00:00.0005Z')$$);
SELECT try($$INSERT INTO stamps (ts, id) VALUES ('2020-01-01Z', '2020-01-01Z')$$);

-- Values -------------------------------------------------------------------

CREATE FUNCTION put_value(sqltype text, bsontype text, value text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format($_$CREATE FOREIGN TABLE v (ts timestamptz, v %s OPTIONS (field 'v.{minute}', bson_type %L)) SERVER refused_writes$_$,
    sqltype, bsontype);
  RETURN coalesce(nullif(try(format('INSERT INTO v VALUES (%L, %L)', '2020-01-01Z', value)), 'accepted'),
    (mongo_ts_command('refused_writes', '{"find": "v"}')#>'{cursor,firstBatch,0,v,0}')::text);
EXCEPTION WHEN others THEN
  RETURN SQLSTATE || ': ' || SQLERRM;
END $$;
SELECT format('%s as %s: ', sqltype, bsontype) || put_value(sqltype, bsontype, value)
         || left(try('DROP FOREIGN TABLE v', true), 0)
         || left(mongo_ts_command('refused_writes', '{"delete": "v", "deletes": [{"q": {}, "limit": 0}]}')::text, 0)
  FROM (VALUES
    ('int8', 'int', '2147483647'), ('int8', 'int', '2147483648'), ('int8', 'long', '9223372036854775807'),
    ('int8', 'double', '9007199254740992'), ('int8', 'double', '9007199254740993'), ('int8', 'decimal', '9007199254740993'),
    ('int8', 'string', '7'), ('int8', 'bool', '1'), ('int4', 'date', '1'), ('float8', 'int', '1.5'), ('float8', 'int', '2'),
    ('float8', 'long', '1e30'), ('float8', 'decimal', '0.1'), ('float4', 'double', '0.1'),
    ('numeric', 'double', '0.1'), ('numeric', 'double', '0.5'), ('numeric', 'decimal', '1234567890123456789012345678901234'),
    ('numeric', 'decimal', '12345678901234567890123456789012345'), ('numeric', 'decimal', '1.10'), ('numeric', 'long', '5'),
    ('numeric', 'long', '5.5'), ('boolean', 'bool', 'true'), ('boolean', 'int', 'true'), ('boolean', 'string', 'false'),
    ('text', 'objectId', '507f1f77bcf86cd799439011'), ('text', 'objectId', 'none'), ('text', 'int', '12'), ('text', 'date', '2020-01-01'),
    ('date', 'date', '2020-01-01'), ('date', 'string', '2020-01-01'), ('uuid', 'string', '507f1f77-bcf8-6cd7-9943-9011507f1f77'),
    ('jsonb', 'string', '{"a": 1}')) AS t (sqltype, bsontype, value);

-- the missing value
CREATE FOREIGN TABLE zeros (ts timestamptz, v int OPTIONS (field 'v.{minute}', missing_value '0'), w int OPTIONS (field 'w.{minute}', missing_value '0'))
  SERVER refused_writes;
SELECT try($$INSERT INTO zeros VALUES ('2020-01-01Z', 0, 1)$$);
SELECT try($$INSERT INTO zeros VALUES ('2020-01-01Z', NULL, NULL)$$);
CREATE FOREIGN TABLE nulls (ts timestamptz, v int OPTIONS (field 'v.{minute}.v', missing_value 'null'), w int OPTIONS (field 'v.{minute}.w', missing_value '0'))
  SERVER refused_writes;
SELECT try($$INSERT INTO nulls VALUES ('2020-01-01Z', NULL, 1)$$);
SELECT try($$UPDATE nulls SET w = 2$$);
TABLE nulls;
CREATE FOREIGN TABLE nothings (ts timestamptz, v int OPTIONS (field 'v.{minute}', missing_value 'null')) SERVER refused_writes;
SELECT try($$INSERT INTO nothings VALUES ('2020-01-01Z', NULL)$$);
CREATE FOREIGN TABLE jsons (ts timestamptz, v jsonb OPTIONS (field 'v.{minute}')) SERVER refused_writes;
SELECT try($$INSERT INTO jsons VALUES ('2020-01-01Z', '{}')$$);
SELECT try($$INSERT INTO jsons VALUES ('2020-01-01Z', '{"a": {}}')$$);
SELECT regexp_replace(try($$INSERT INTO jsons VALUES ('2020-01-01Z', '{"$oid": "none"}')$$), 'JSON: .+', 'JSON: ...');
CREATE FOREIGN TABLE counts (ts timestamptz, v int OPTIONS (field 'v.{minute}')) SERVER refused_writes OPTIONS (write_mode 'increment');
SELECT try($$INSERT INTO counts VALUES ('2020-01-01Z', NULL)$$);
CREATE FOREIGN TABLE pages (ts timestamptz, page text, n int OPTIONS (field 'v.{page}.{minute}')) SERVER refused_writes;
SELECT put_one('2020-01-01Z') || try(format('INSERT INTO pages VALUES (%L, %L, 1)', '2020-01-01Z', page))
  FROM (VALUES (NULL), (''), ('a.b'), ('$a')) AS t (page);

SELECT left(try(format('INSERT INTO pages VALUES (%L, %L, 1)', '2020-01-01Z', repeat('x', 1001))), 61);
CREATE FOREIGN TABLE twice (ts timestamptz, a text, b text, n int OPTIONS (field 'v.{a}.{b}.{minute}')) SERVER refused_writes;
SELECT try(format('INSERT INTO twice VALUES (%L, %L, %L, 1)', '2020-01-01Z', repeat('x', 600), repeat('y', 401)));
INSERT INTO counts VALUES ('2020-01-01Z', 1);
SELECT try($$UPDATE counts SET v = NULL$$);

-- keys that would match other buckets
CREATE FOREIGN TABLE by_json (ts timestamptz, k jsonb, v int OPTIONS (field 'v.{minute}')) SERVER refused_writes;
SELECT key, try(format('INSERT INTO by_json VALUES (%L, %L, 1)', '2020-01-01Z', key))
  FROM (VALUES ('"abc"'), ('{"$regularExpression": {"pattern": ".*", "options": ""}}'), ('[1]'),
               ('{"a": [1]}'), ('null')) AS t (key);
-- attributes are not part of the lookup
CREATE FOREIGN TABLE described (ts timestamptz, a jsonb OPTIONS (role 'attribute'), v int OPTIONS (field 'v.{minute}'))
  SERVER refused_writes;
INSERT INTO described VALUES ('2020-01-01Z', '[1, 2]', 1), ('2020-01-01 00:01Z', '[1, 2]', 2);
SELECT * FROM described;
SELECT ts, k, v FROM by_json ORDER BY k;

-- Columns and tables -------------------------------------------------------

CREATE FOREIGN TABLE filtered (
  ts timestamptz, kind text, host text, room text OPTIONS (role 'attribute'), n int, _id text, v int OPTIONS (field 'v.{minute}')
) SERVER refused_writes OPTIONS (filter '{"kind": "temperature"}', count_field 'n');
SELECT try($$INSERT INTO filtered (ts, kind, host, v) VALUES ('2020-01-01Z', 'pressure', 'a', 1)$$);
SELECT try($$INSERT INTO filtered (ts, kind, host, n, v) VALUES ('2020-01-01Z', 'temperature', 'a', 1, 1)$$);
SELECT try($$INSERT INTO filtered (ts, kind, host, _id, v) VALUES ('2020-01-01Z', 'temperature', 'a', '1', 1)$$);
INSERT INTO filtered (ts, kind, host, room, v) VALUES ('2020-01-01Z', 'temperature', 'a', 'hall', 1), ('2020-01-01 00:01Z', 'temperature', 'a', 'hall', 2);
SELECT try($$UPDATE filtered SET room = 'shed'$$);
SELECT try($$UPDATE filtered SET n = 5$$);
SELECT try($$UPDATE filtered SET kind = 'pressure'$$);
SELECT try($$UPDATE filtered SET ts = ts + interval '1 minute' WHERE v = 1$$);
SELECT try($$UPDATE filtered SET ts = '2020-01-05'$$);
CREATE FOREIGN TABLE by_oid (ts timestamptz OPTIONS (field '_id', format 'oid'), v int) SERVER refused_writes;
CALL put('by_oid', '[{"_id": {"$oid": "5e0be1000000000000000000"}, "v": 1}]');
SELECT try($$UPDATE by_oid SET ts = '2020-01-05'$$);
SELECT try($$UPDATE by_oid SET v = 2$$);
TABLE by_oid;
CREATE FOREIGN TABLE by_reference (ts timestamptz OPTIONS (field 'ref', format 'oid'), v int) SERVER refused_writes;
CALL put('by_reference', '[{"_id": 1, "ref": {"$oid": "5e0be1000000000000000000"}, "v": 1}]');
SELECT try($$UPDATE by_reference SET ts = '2020-01-05'$$);
UPDATE by_reference SET v = 2;
TABLE by_reference;
SELECT ts, kind, host, room, n, v FROM filtered ORDER BY ts;

CREATE FOREIGN TABLE flat (_id int, ts timestamptz, v int) SERVER refused_writes;
CREATE FOREIGN TABLE flat_id (k int OPTIONS (field '_id.k'), ts timestamptz, v int) SERVER refused_writes;
INSERT INTO flat_id VALUES (1, '2020-01-01Z', 1);
SELECT try($$UPDATE flat_id SET k = 2$$);
SELECT try($$UPDATE flat_id SET ts = NULL$$);
SELECT try($$SELECT ctid FROM metrics$$);
SELECT try($$DELETE FROM metrics WHERE ctid IN (SELECT ctid FROM metrics)$$);
SELECT try($$DELETE FROM metrics WHERE ctid = '(0,1)'$$);

-- a new bucket satisfies a term that is not an equality; an existing one must
CREATE FOREIGN TABLE alive (ts timestamptz, v int OPTIONS (field 'v.{minute}'))
  SERVER refused_writes OPTIONS (filter '{"deleted": {"$ne": true}}', collection 'alive');
CALL put('alive', '[{"_id": 1, "ts": {"$date": "2020-01-01T00:00:00Z"}, "deleted": true, "v": {"0": 1}}]');
INSERT INTO alive VALUES ('2020-01-01 00:05Z', 5);
TABLE alive;
SELECT mongo_ts_command('refused_writes', '{"find": "alive", "filter": {"_id": 1}}')#>'{cursor,firstBatch}';

-- a view's check comes before the row is sent
CREATE FOREIGN TABLE one_by_one (ts timestamptz, v int OPTIONS (field 'v.{minute}')) SERVER refused_writes OPTIONS (batch_size '1');
CREATE VIEW small AS SELECT * FROM one_by_one WHERE v < 10 WITH CHECK OPTION;
SELECT try($$INSERT INTO small VALUES ('2020-01-01Z', 100)$$);
SELECT try($$INSERT INTO small VALUES ('2020-01-01Z', 100) ON CONFLICT DO NOTHING$$);
TABLE one_by_one;

CREATE FUNCTION read_only(columns text, options text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  state text;
BEGIN
  EXECUTE format('CREATE FOREIGN TABLE r (%s) SERVER refused_writes %s', columns, options);
  state = (SELECT is_insertable_into FROM information_schema.tables WHERE table_schema = 'refused_writes' AND table_name = 'r')
    || ' ' || try('INSERT INTO r DEFAULT VALUES');
  DROP FOREIGN TABLE r;
  RETURN state;
END $$;
SELECT read_only($$ts timestamptz, v int OPTIONS (field 'v.{second}')$$, $$OPTIONS (updatable 'false')$$);
ALTER SERVER refused_writes OPTIONS (ADD updatable 'false');
SELECT read_only($$ts timestamptz, v int OPTIONS (field 'v.{second}')$$, '');
ALTER SERVER refused_writes OPTIONS (DROP updatable);
-- a document that is a row has no bucket
SELECT read_only($$ts timestamptz, v int$$, $$OPTIONS (updatable 'false')$$);
-- an INSERT would not find the bucket, whatever updatable says
SELECT read_only($$ts timestamptz OPTIONS (field 's[].t'), k text, v int OPTIONS (field 's[].v')$$, '');
SELECT read_only($$ts timestamptz OPTIONS (field 's[].t'), k text, v int OPTIONS (field 's[].v')$$, $$OPTIONS (updatable 'false')$$);
SELECT read_only($$ts timestamptz OPTIONS (field '_id', format 'text:YYYYMMDDHH24MI"/page"'), v int OPTIONS (field 'v.{second}')$$, '');
SELECT read_only($$ts timestamptz OPTIONS (field '_id', format 'oid'), v int OPTIONS (field 'v')$$, '');
SELECT read_only($$ts timestamptz OPTIONS (field 's[].t'), v int OPTIONS (field 's[].v')$$, '');
SELECT read_only($$ts timestamptz OPTIONS (field 's[].t'), v int OPTIONS (field 's[].v')$$,
  $$OPTIONS (bucket_first_field 'f', bucket_last_field 'l')$$);
SELECT read_only($$ts timestamptz, v int OPTIONS (field 'v.{second}')$$, $$OPTIONS (filter '{"n": {"$gt": 5}}')$$);
SELECT read_only($$ts timestamptz, v int OPTIONS (field 'v.{second}')$$, $$OPTIONS (filter '{"n": null}')$$);
SELECT read_only($$ts timestamptz, v int OPTIONS (field 'v.{second}')$$, $$OPTIONS (filter '{"$or": [{"a": 1}, {"b": 1}]}')$$);
SELECT read_only($$ts timestamptz, doc jsonb OPTIONS (field '*'), v int OPTIONS (field 'v.{second}')$$, '');
SELECT read_only($$ts timestamptz, v int OPTIONS (field '{second}')$$, '');
SELECT read_only($$ts timestamptz, v int OPTIONS (field 'v.{second}'), w int OPTIONS (field 'v.{second}.w')$$, '');

SELECT read_only($$ts timestamptz, v int OPTIONS (field 's[{minute}].a[{second}]'), w int OPTIONS (field 's[{minute}].b[{second}]')$$, '');
SELECT read_only($$ts timestamptz, v int OPTIONS (field 's[{minute}].a[{second}]')$$, '');
SELECT read_only($$ts timestamptz, v int OPTIONS (field 's[{hour:1}]')$$, '');
SELECT read_only($$ts timestamptz OPTIONS (field 's.{hour}[].t'), v int OPTIONS (field 's.{hour}[].v')$$,
  $$OPTIONS (bucket_time_field 'd', bucket_span '1 day', bucket_max_points '5')$$);
SELECT read_only($$ts timestamptz, d boolean, v int OPTIONS (field 'v.{second}')$$, $$OPTIONS (filter '{"d": {"$ne": true}}')$$);
SELECT read_only($$ts timestamptz, m jsonb, v int OPTIONS (field 'v.{second}')$$, $$OPTIONS (filter '{"m.d": {"$ne": true}}')$$);

-- conflicting options are an error at first use
CREATE FUNCTION first_use(columns text, options text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  result text;
BEGIN
  EXECUTE format('CREATE FOREIGN TABLE r (%s) SERVER refused_writes %s', columns, options);
  result = try('TABLE r');
  DROP FOREIGN TABLE r;
  RETURN result;
END $$;
SELECT first_use($$ts timestamptz, v int OPTIONS (field 'v.{second}')$$, $$OPTIONS (write_mode 'push')$$);
SELECT first_use($$ts timestamptz, v int OPTIONS (field 's[].v')$$, $$OPTIONS (write_mode 'set', bucket_span '1 minute')$$);
SELECT first_use($$ts timestamptz, v text OPTIONS (field 'v.{second}')$$, $$OPTIONS (write_mode 'increment')$$);
SELECT first_use($$ts timestamptz, v int OPTIONS (field 'v.{second}')$$, $$OPTIONS (bucket_max_points '200')$$);
SELECT first_use($$ts timestamptz, v int$$, $$OPTIONS (count_field 'n')$$);
SELECT first_use($$ts timestamptz, v text OPTIONS (field 'v.{second}', sum_field 's')$$, '');
SELECT first_use($$ts timestamptz, k int OPTIONS (min_field 's'), v int OPTIONS (field 'v.{second}')$$, '');

-- information_schema shows such a table as not insertable.
CREATE FOREIGN TABLE wrong (a timestamptz, b timestamptz) SERVER refused_writes;
SELECT is_insertable_into FROM information_schema.tables WHERE table_schema = 'refused_writes' AND table_name = 'wrong';
SELECT column_name, is_updatable FROM information_schema.columns WHERE table_schema = 'refused_writes' AND table_name = 'wrong';

-- Conflicts ----------------------------------------------------------------

CREATE FOREIGN TABLE sized (at timestamptz OPTIONS (field 's[].t'), v int OPTIONS (field 's[].v'))
  SERVER refused_writes OPTIONS (bucket_first_field 'f', bucket_last_field 'l', bucket_max_points '2');
SELECT try($$INSERT INTO sized VALUES ('2020-01-01Z', 1) ON CONFLICT DO NOTHING$$);
CREATE FOREIGN TABLE shared (ts timestamptz, v int OPTIONS (field 's[].v')) SERVER refused_writes OPTIONS (bucket_span '1 minute');
SELECT try($$INSERT INTO shared VALUES ('2020-01-01Z', 1) ON CONFLICT DO NOTHING$$);
SELECT try($$INSERT INTO metrics VALUES ('2020-01-01Z', 'a', 1) ON CONFLICT (ts) DO NOTHING$$);
SELECT try($$INSERT INTO metrics VALUES ('2020-01-01Z', 'a', 1) ON CONFLICT (ts) DO UPDATE SET value = 2$$);

SELECT try($$INSERT INTO metrics SELECT * FROM metrics ON CONFLICT DO NOTHING$$);

-- Rows outside of their partition
CREATE TABLE parted (ts timestamptz, v int) PARTITION BY RANGE (ts);
CREATE FOREIGN TABLE parted_0 (ts timestamptz, v int OPTIONS (field 'v.{minute}')) SERVER refused_writes;
ALTER TABLE parted ATTACH PARTITION parted_0 FOR VALUES FROM ('2020-01-01Z') TO ('2020-01-02Z');
INSERT INTO parted VALUES ('2020-01-01Z', 1);
SELECT try($$INSERT INTO parted_0 VALUES ('2020-01-02Z', 1)$$);
SELECT try($$UPDATE parted SET ts = ts + interval '1 day'$$);
TABLE parted;

-- TRUNCATE, which removes nothing unless all its tables allow it
CREATE FOREIGN TABLE kept (ts timestamptz, v int OPTIONS (field 'v.{second}')) SERVER refused_writes OPTIONS (truncatable 'false');
INSERT INTO kept VALUES ('2020-01-01Z', 1);
INSERT INTO metrics VALUES ('2020-01-01Z', 'a', 1);
SELECT try('TRUNCATE kept', true);
SELECT try('TRUNCATE metrics, kept', true);
ALTER SERVER refused_writes OPTIONS (ADD truncatable 'false');
SELECT try('TRUNCATE metrics', true);
SELECT (SELECT count(*) FROM kept) AS kept, (SELECT count(*) FROM metrics) > 0 AS metrics;
ALTER FOREIGN TABLE kept OPTIONS (SET truncatable 'true');
SELECT try('TRUNCATE kept', true);
SELECT count(*) FROM kept;
ALTER SERVER refused_writes OPTIONS (DROP truncatable);

-- Writes that the server refuses -------------------------------------------

-- like try(), without the server's own message
CREATE FUNCTION try_bulk(statement text) RETURNS text LANGUAGE sql AS $$
  SELECT regexp_replace(try(statement), '\n[^\n]*\n(\d+ of \d+ points)', E'\n...\n\\1');
$$;
-- A bucket whose slots are not a document: the other writes of the bulk are
-- stored.
TRUNCATE metrics;
CALL put('metrics', '[{"ts": {"$date": "2020-01-01T00:01:00Z"}, "type": "a", "values": 7}]');
SELECT try_bulk($$INSERT INTO metrics SELECT timestamptz '2020-01-01Z' + i * interval '30 seconds', 'a', i FROM generate_series(0, 5) i$$);
CALL put('metrics', '[{"ts": {"$date": "2020-01-01T00:02:00Z"}, "type": "b", "values": "x"}]');
SELECT try_bulk($$INSERT INTO metrics SELECT timestamptz '2020-01-01Z' + i * interval '30 seconds', 'b', i FROM generate_series(0, 5) i$$);
SELECT mongo_ts_command('refused_writes', '{"delete": "metrics", "deletes": [{"q": {"values": {"$not": {"$type": "object"}}}, "limit": 0}]}')->'n';
TABLE metrics ORDER BY type, ts;

-- Too large
CREATE FOREIGN TABLE texts (ts timestamptz, v text OPTIONS (field 'v.{second}')) SERVER refused_writes;
SELECT try($$INSERT INTO texts SELECT timestamptz '2020-01-01Z' + i * interval '1 second', repeat('x', 1000000) FROM generate_series(0, 17) i$$);
SELECT count(*) FROM texts;
INSERT INTO texts SELECT timestamptz '2020-01-01Z' + i * interval '1 second', repeat('x', 1000000) FROM generate_series(0, 8) i;
SELECT try_bulk($$INSERT INTO texts SELECT timestamptz '2020-01-01Z' + i * interval '1 second', repeat('x', 1000000) FROM generate_series(10, 18) i$$);
SELECT count(*) FROM texts;

-- A bucket that is not aligned to its span is another bucket, and stays
-- unchanged.
SELECT mongo_ts_create_index('metrics');
CALL put('metrics', '[{"ts": {"$date": "2020-01-01T00:00:30Z"}, "type": "a", "values": {"7": 7}}]');
INSERT INTO metrics VALUES ('2020-01-01 00:00:37Z', 'a', 8);
SELECT * FROM metrics WHERE ts = '2020-01-01 00:00:37Z';

-- Functions ----------------------------------------------------------------

CREATE TABLE plain (ts timestamptz);
SELECT try($$SELECT mongo_ts_create_index('plain')$$);
SELECT try($$SELECT mongo_ts_preallocate('plain', now(), now(), '{}')$$);
SELECT try($$SELECT mongo_ts_preallocate('metrics', '2020-01-01', 'infinity', '{"type": "a"}')$$);
SELECT try($$SELECT mongo_ts_preallocate('metrics', '2020-01-01', '2020-01-02', '{"typ": "a"}')$$);
SELECT try($$SELECT mongo_ts_preallocate('metrics', '2020-01-01', '2020-01-02', '["type"]')$$);
SELECT try($$SELECT mongo_ts_preallocate('sized', '2020-01-01', '2020-01-02', '{}')$$);
SELECT try($$SELECT mongo_ts_preallocate('microseconds', '2020-01-01', '2020-01-02', '{}')$$);
CREATE FOREIGN TABLE nowhere (ts timestamptz OPTIONS (field 's[].t'), v int OPTIONS (field 's[].v')) SERVER refused_writes;
SELECT try($$SELECT mongo_ts_create_index('nowhere')$$);
SELECT mongo_ts_create_index('filtered');
CREATE FOREIGN TABLE rooted (ts timestamptz, v int OPTIONS (field 's.{minute}.a.{second}', missing_value '0'),
  w int OPTIONS (field 's.{minute}.b.{second}', missing_value '0')) SERVER refused_writes;
SELECT try($$SELECT mongo_ts_preallocate('rooted', '2020-01-01', '2020-01-02')$$);
-- A bucket without an end
CREATE FOREIGN TABLE decades (ts timestamptz, v int OPTIONS (field 'v.{day}')) SERVER refused_writes OPTIONS (bucket_span '10 years');
SELECT try($$SELECT mongo_ts_preallocate('decades', '294250-01-01Z', '294276-12-31Z', '{}')$$);
SELECT try($$INSERT INTO decades VALUES ('294276-12-31 23:00Z', 1)$$);
BEGIN TRANSACTION READ ONLY;
SELECT try($$SELECT mongo_ts_create_index('metrics')$$);
SELECT try($$SELECT mongo_ts_preallocate('metrics', '2020-01-01', '2020-01-02')$$);
SELECT try($$INSERT INTO metrics VALUES ('2020-01-01Z', 'a', 1)$$);
COMMIT;
CREATE ROLE refused_reader;
GRANT USAGE ON SCHEMA refused_writes TO refused_reader;
GRANT SELECT ON metrics TO refused_reader;
SET ROLE refused_reader;
SELECT try($$SELECT mongo_ts_create_index('metrics')$$);
SELECT try($$SELECT mongo_ts_preallocate('metrics', '2020-01-01', '2020-01-02', '{}')$$);
SELECT try($$INSERT INTO metrics VALUES ('2020-01-01Z', 'a', 1)$$);
SELECT try($$TRUNCATE metrics$$);
RESET ROLE;
DROP OWNED BY refused_reader;
DROP ROLE refused_reader;

-- A unique index takes two texts of one time for two times.
CREATE FOREIGN TABLE spellings (ts timestamptz OPTIONS (format 'iso8601'), k text OPTIONS (role 'key'), v int) SERVER refused_writes;
CALL put('spellings', '[{"ts": "2020-01-01T00:00:00+00:00", "k": "a", "v": 1}]');
SELECT mongo_ts_create_index('spellings');
SELECT mongo_ts_command('refused_writes', '{"listIndexes": "spellings"}')->'cursor'->'firstBatch' @> '[{"unique": true}]';
SELECT try($$INSERT INTO spellings VALUES ('2020-01-01Z', 'a', 2) ON CONFLICT DO NOTHING$$);
ALTER FOREIGN TABLE spellings ALTER ts OPTIONS (DROP format), ALTER k TYPE timestamptz, ALTER k OPTIONS (ADD format 'iso8601');
SELECT try($$INSERT INTO spellings VALUES ('2020-01-01Z', '2020-01-01Z', 2) ON CONFLICT DO NOTHING$$);

-- Applications store keys that no update can name.
CREATE FOREIGN TABLE unnamed (ts timestamptz OPTIONS (field 'd'), c text, x int OPTIONS (field 'v.{c}.x')) SERVER refused_writes;
CALL put('unnamed', '[{"d": {"$date": "2020-01-01T00:00:00Z"}, "v": {"a.b": {"x": 7}, "a": {"x": 1, "b": {"x": 7}}, "$y": {"x": 5}, "": {"x": 6}, "ok": {"x": 8}}}]');
SELECT try(statement) FROM (VALUES ($$DELETE FROM unnamed WHERE c = 'a.b'$$), ($$DELETE FROM unnamed WHERE c = '$y'$$),
  ($$DELETE FROM unnamed WHERE c = ''$$), ($$DELETE FROM unnamed WHERE x < 8$$), ($$UPDATE unnamed SET x = 9 WHERE c = 'a.b'$$),
  ($$UPDATE unnamed SET c = 'z' WHERE c = 'a.b'$$)) AS t (statement);
DELETE FROM unnamed WHERE c = 'ok';
SELECT mongo_ts_find('refused_writes', 'unnamed')->'v';
DELETE FROM unnamed;
SELECT count(*) FROM unnamed;

SELECT mongo_ts_command('refused_writes', '{"dropDatabase": 1}')->'ok' AS dropped;
