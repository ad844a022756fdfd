--
-- Tests that an INSERT gives an attribute the value that its bucket has, or
-- none: a new bucket gets the value, another value is an error.
--
\set suite attributes
\i sql/include/suite.sql

\pset format unaligned
\pset tuples_only on
\set QUIET 1
SET client_min_messages = error;
-- The errors are those of buckets that are stored by themselves.
ALTER SERVER attributes OPTIONS (ADD transactions 'off');

CREATE FOREIGN TABLE points (
  ts   timestamptz,
  k    text,
  room text OPTIONS (field 'meta.room', role 'attribute'),
  fw   int  OPTIONS (role 'attribute'),
  v    int  OPTIONS (field 'v.{minute}')
) SERVER attributes;
CREATE FUNCTION documents(collection text) RETURNS SETOF jsonb LANGUAGE sql AS $$
  SELECT mongo_ts_find(current_schema(), collection) - '_id';
$$;

EXPLAIN (COSTS OFF) INSERT INTO points VALUES ('2020-01-01 00:00Z', 'a', 'hall', 1, 0);
-- A new bucket, the same values, and none
INSERT INTO points VALUES ('2020-01-01 00:00Z', 'a', 'hall', 1, 0);
INSERT INTO points VALUES ('2020-01-01 00:01Z', 'a', 'hall', 1, 1);
INSERT INTO points (ts, k, v) VALUES ('2020-01-01 00:02Z', 'a', 2);
INSERT INTO points VALUES ('2020-01-01 00:03Z', 'a', NULL, 1, 3);
TABLE points;
-- Another value in one bucket of three; the others are stored.
SELECT try($$INSERT INTO points VALUES ('2020-01-01 01:00Z', 'a', 'shed', 1, 10), ('2020-01-01 00:04Z', 'a', 'shed', 1, 4),
  ('2020-01-01 00:00Z', 'b', 'shed', 1, 20)$$);
SELECT try($$INSERT INTO points VALUES ('2020-01-01 00:04Z', 'a', 'hall', 2, 4)$$);
SELECT try($$INSERT INTO points VALUES ('2020-01-01 00:04Z', 'a', 'shed', 2, 4)$$);
SELECT * FROM points ORDER BY k, ts;
SELECT * FROM documents('points');
-- A bucket without a value gets it, and the rows of a statement agree.
INSERT INTO points (ts, k, v) VALUES ('2020-01-02 00:00Z', 'a', 0);
SELECT room IS NULL AND fw IS NULL FROM points WHERE ts = '2020-01-02Z';
INSERT INTO points VALUES ('2020-01-02 00:01Z', 'a', NULL, 1, 1), ('2020-01-02 00:02Z', 'a', 'hall', NULL, 2), ('2020-01-02 00:03Z', 'a', 'hall', 1, 3);
SELECT * FROM points WHERE ts >= '2020-01-02Z' ORDER BY ts;
SELECT try($$INSERT INTO points VALUES ('2020-01-02 01:00Z', 'a', NULL, 1, 1), ('2020-01-02 01:02Z', 'a', 'hall', NULL, 2), ('2020-01-02 01:03Z', 'a', 'shed', 1, 3)$$);
-- Batches of a statement agree, too.
ALTER FOREIGN TABLE points OPTIONS (ADD batch_size '1');
SELECT try($$INSERT INTO points VALUES ('2020-01-03 00:00Z', 'a', 'hall', 1, 1), ('2020-01-03 01:00Z', 'a', 'hall', NULL, 2), ('2020-01-03 00:03Z', 'a', 'shed', 1, 3)$$);
SELECT * FROM points WHERE ts >= '2020-01-03Z' ORDER BY ts;
ALTER FOREIGN TABLE points OPTIONS (DROP batch_size);

-- COPY
COPY points FROM stdin;
2020-01-04 00:00Z	a	hall	1	1
2020-01-04 00:01Z	a	\N	\N	2
\.
COPY points FROM stdin;
2020-01-04 00:02Z	a	shed	1	3
\.
SELECT * FROM points WHERE ts >= '2020-01-04Z' ORDER BY ts;
-- ON CONFLICT
SELECT try($$INSERT INTO points VALUES ('2020-01-04 00:00Z', 'a', 'shed', 1, 3) ON CONFLICT DO NOTHING$$, true);
SELECT try($$INSERT INTO points VALUES ('2020-01-04 00:02Z', 'a', 'shed', 1, 3) ON CONFLICT DO NOTHING$$);
SELECT try($$INSERT INTO points VALUES ('2020-01-04 00:02Z', 'a', 'hall', 1, 3) ON CONFLICT DO NOTHING$$, true);
SELECT * FROM points WHERE ts >= '2020-01-04Z' ORDER BY ts;
-- A moved point takes the attributes of its bucket, an UPDATE of them is refused.
INSERT INTO points VALUES ('2020-01-05 00:00Z', 'a', 'shed', 2, 1);
UPDATE points SET ts = '2020-01-04 00:05Z' WHERE ts = '2020-01-05Z';
UPDATE points SET ts = '2020-01-06 00:05Z' WHERE ts = '2020-01-04 00:05Z';
SELECT * FROM points WHERE ts >= '2020-01-04Z' ORDER BY ts;
SELECT try($$UPDATE points SET room = 'shed' WHERE ts >= '2020-01-04Z'$$);
-- Preallocated buckets
SELECT mongo_ts_preallocate('points', '2020-01-07Z', '2020-01-07 02:00Z', '{"k": "a", "fw": 3}');
INSERT INTO points VALUES ('2020-01-07 00:00Z', 'a', 'hall', 3, 1);
SELECT try($$INSERT INTO points VALUES ('2020-01-07 01:00Z', 'a', 'hall', 4, 1)$$);
SELECT * FROM points WHERE ts >= '2020-01-07Z' ORDER BY ts;

-- Only who may read the table is shown the value of its bucket.
CREATE ROLE attributes_writer;
GRANT USAGE ON SCHEMA attributes TO attributes_writer;
GRANT INSERT ON points TO attributes_writer;
SET ROLE attributes_writer;
SELECT try($$INSERT INTO points VALUES ('2020-01-01 00:04Z', 'a', 'hall', 2, 4)$$);
SELECT try($$INSERT INTO points VALUES ('2020-01-01 00:04Z', 'a', 'hall', 2, 4) ON CONFLICT DO NOTHING$$);
RESET ROLE;
DROP OWNED BY attributes_writer;
DROP ROLE attributes_writer;

-- Many points of new buckets, which are inserted, and of others
SELECT mongo_ts_create_index('points');
SELECT split_part(try($$INSERT INTO points SELECT timestamptz '2020-01-01 01:00Z' + i * interval '1 minute', 'a', 'shed', 1, i FROM generate_series(0, 9999) i$$), ':', 1);
SELECT count(*) > 1000 FROM points WHERE room = 'shed';
SELECT count(*) FROM documents('points') AS d WHERE d#>>'{meta,room}' = 'shed' AND d->>'ts' ~ '2020-01-0[245]';
INSERT INTO points SELECT timestamptz '2021-01-01Z' + i * interval '1 minute', 'a', 'shed', 1 + nullif(i % 3, 0) / 3, i FROM generate_series(0, 9999) i;
INSERT INTO points SELECT timestamptz '2021-01-01Z' + i * interval '1 minute', 'a', 'shed', 1, -i FROM generate_series(0, 9999) i WHERE i % 60 > 2;
SELECT count(*), sum(v), count(DISTINCT ts), min(room), max(room), min(fw), max(fw) FROM points WHERE ts >= '2021-01-01Z';

-- Neither the index nor a skip scan has attributes.
UPDATE pg_class SET reltuples = 1e10, relpages = 1e8 WHERE oid = 'points'::regclass;
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (k) k, ts, room, fw, v FROM points ORDER BY k, ts DESC;
SELECT DISTINCT ON (k) k, ts, room, fw, v FROM points ORDER BY k, ts DESC;
-- The columns of an index are given.
CREATE FUNCTION indexes(collection text) RETURNS SETOF jsonb LANGUAGE sql AS $$
  SELECT i - '{v,ns,background}'::text[] FROM jsonb_array_elements(mongo_ts_command(current_schema(),
    json_build_object('listIndexes', collection))->'cursor'->'firstBatch') AS i WHERE i->>'name' <> '_id_' ORDER BY i->>'name'
$$;
SELECT mongo_ts_create_index('points', '{room}'), mongo_ts_create_index('points', '{fw,k}'), mongo_ts_create_index('points', '{k,k}');
SELECT indexes('points');
CREATE FOREIGN TABLE some_points (ts timestamptz, k text, site int, v int OPTIONS (field 'v.{minute}')) SERVER attributes
  OPTIONS (filter '{"kind": "x"}');
SELECT mongo_ts_create_index('some_points', '{site}'), mongo_ts_create_index('some_points', '{site,k}');
SELECT indexes('some_points');
CREATE FOREIGN TABLE own_times (ts timestamptz OPTIONS (field 's[].t'), k text, site int, v int OPTIONS (field 's[].v')) SERVER attributes
  OPTIONS (bucket_time_field 'h', bucket_span '1 hour', bucket_last_field 'l');
SELECT mongo_ts_create_index('own_times', '{site}');
SELECT indexes('own_times');
CREATE FOREIGN TABLE by_id (ts timestamptz OPTIONS (field '_id.t'), k text OPTIONS (field '_id.k'), v int OPTIONS (field 'v.{minute}')) SERVER attributes;
SELECT mongo_ts_create_index('by_id'), mongo_ts_create_index('by_id', '{k}');
CREATE FOREIGN TABLE rows (ts timestamptz, k text, site int, v int) SERVER attributes;
SELECT mongo_ts_create_index('rows', '{site}'), mongo_ts_create_index('rows', NULL) IS NULL;
SELECT try(format('SELECT mongo_ts_create_index(''points'', %L)', columns))
  FROM unnest('{"{}","{nowhere}","{v}","{ts}","{NULL}","{tableoid}"}'::text[]) AS columns;
SELECT mongo_ts_command('attributes', '{"drop": "own_times"}')->'ok';

-- An attribute that is left out changes nothing in a pipeline either, whatever
-- the bucket has in place of its subdocument.
CREATE FOREIGN TABLE pipelined (
  ts    timestamptz OPTIONS (field 'hour'),
  room  text,
  v     float8 OPTIONS (field 'v.{minute}'),
  qc_by text OPTIONS (field 'qc.by', role 'attribute'),
  qc_at text OPTIONS (field 'qc.more.at', role 'attribute')
) SERVER attributes OPTIONS (count_field 'n');
SELECT mongo_ts_command('attributes', $${"insert": "pipelined", "documents": [
  {"_id": 1, "room": "absent", "hour": {"$date": "2024-05-01T10:00:00Z"}, "n": 2, "v": {"0": 1.5, "59": 2}},
  {"_id": 2, "room": "nil", "hour": {"$date": "2024-05-01T10:00:00Z"}, "qc": null, "n": 1, "v": {"0": 1.5}},
  {"_id": 3, "room": "bare", "hour": {"$date": "2024-05-01T10:00:00Z"}, "n": 1, "v": {"0": 1.5}},
  {"_id": 4, "room": "text", "hour": {"$date": "2024-05-01T10:00:00Z"}, "qc": "ok", "n": 1, "v": {"0": 1.5}}]}$$)->'ok';
INSERT INTO pipelined (ts, room, v) SELECT '2024-05-01 10:07Z', room, 7 FROM unnest('{absent,nil,text,new}'::text[]) AS room;
SELECT documents('pipelined');
INSERT INTO pipelined (ts, room, v, qc_at) SELECT '2024-05-01 10:08Z', room, 8, 'noon' FROM unnest('{absent,nil,new,newer}'::text[]) AS room;
SELECT try($$INSERT INTO pipelined (ts, room, v, qc_by) VALUES ('2024-05-01 10:08Z', 'text', 8, 'me')$$);
UPDATE pipelined SET ts = '2024-05-01 10:09Z', room = 'bare' WHERE ts = '2024-05-01 10:08Z' AND room = 'newer';
SELECT documents('pipelined');

-- Layouts ------------------------------------------------------------------

-- A table with an attribute, its bucket with "hall" and the points 1 and 2,
-- and a point with "shed".
CREATE FUNCTION layout(v text, options text = '', own text = '', field text = 'k') RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('CREATE FOREIGN TABLE t (ts timestamptz %s, k text OPTIONS (field %L), room text OPTIONS (role ''attribute''), %s) SERVER attributes %s', own, field, v, options);
  INSERT INTO t VALUES ('2020-01-01 00:00Z', 'a', 'hall', 1);
  INSERT INTO t VALUES ('2020-01-01 00:01Z', 'a', 'hall', 2);
  INSERT INTO t VALUES ('2020-01-01 00:01Z', 'b', NULL, 1);
  INSERT INTO t VALUES ('2020-01-01 00:02Z', 'b', 'barn', 2);
  RETURN NEXT try($_$INSERT INTO t VALUES ('2020-01-01 00:02Z', 'a', 'shed', 3)$_$);
  RETURN QUERY SELECT t::text FROM t ORDER BY k, ts;
  RETURN QUERY SELECT (documents('t') - 'h')::text;
  PERFORM mongo_ts_command('attributes', '{"drop": "t"}');
  DROP FOREIGN TABLE t;
END $$;
SELECT layout($$v int OPTIONS (field 'v.{minute}', sum_field 's', max_field 'm')$$, $$OPTIONS (count_field 'n')$$);
SELECT layout($$v int OPTIONS (field 'v.{minute}', sum_field 's', max_field 'm')$$, $$OPTIONS (count_field 'n', assume_write_once 'true')$$);
SELECT layout($$v int OPTIONS (field 'v.{minute}', sum_field 's')$$, $$OPTIONS (write_mode 'increment')$$);
SELECT layout($$v int OPTIONS (field 'v[{minute}]', missing_value '-1')$$);
SELECT layout($$v int OPTIONS (field 's[].v')$$,
  $$OPTIONS (bucket_time_field 'h', bucket_span '1 hour', bucket_first_field 'f', bucket_last_field 'l', count_field 'n')$$, $$OPTIONS (field 's[].t')$$);
SELECT layout($$v int OPTIONS (field 'v[]')$$, $$OPTIONS (bucket_time_field 'h', bucket_span '1 hour')$$, $$OPTIONS (field 't[]')$$);
SELECT layout($$v int OPTIONS (field 's[].v')$$, $$OPTIONS (bucket_max_points '3')$$, $$OPTIONS (field 's[].t')$$);
SELECT layout($$v int OPTIONS (field 'v.{minute}')$$, '', $$OPTIONS (field '_id.t')$$, '_id.k');

-- Types --------------------------------------------------------------------

-- Values that are the same in another form, and others
CREATE FUNCTION attribute(type text, stored text, given text, options text = '') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  result text;
BEGIN
  EXECUTE format('CREATE FOREIGN TABLE t (ts timestamptz, a %s OPTIONS (role ''attribute'' %s), v int OPTIONS (field ''v.{minute}'')) SERVER attributes',
    type, options);
  CALL put('t', format('[{"ts": {"$date": "2020-01-01T00:00:00Z"}, "a": %s, "v": {"1": 1}}]', stored)::json);
  result = try(format('INSERT INTO t VALUES (''2020-01-01 00:02Z'', %L, 2)', given), true);
  SELECT concat_ws(E'\n', result, string_agg(t::text, ', ')) INTO result FROM (SELECT a, v FROM t ORDER BY v) t;
  PERFORM mongo_ts_command('attributes', '{"drop": "t"}');
  DROP FOREIGN TABLE t;
  RETURN result;
END $$;
SELECT attribute('int', '{"$numberDouble": "5.0"}', '5');
SELECT attribute('numeric', '5', '5.00');
SELECT attribute('numeric', '5', '5.01');
SELECT attribute('float8', '{"$numberDouble": "NaN"}', 'NaN');
SELECT attribute('float8', '{"$numberDouble": "NaN"}', '1');
SELECT attribute('text[]', '["a", "b"]', '{a,b}');
SELECT attribute('text[]', '["a", "b"]', '{a}');
SELECT attribute('jsonb', '[["a"], "b"]', '["a"]');
SELECT attribute('jsonb', '{"x": [1, {"y": null}]}', '{"x": [1, {"y": null}]}');
SELECT attribute('jsonb', '{"x": "$v"}', '{"x": "$v"}');
SELECT attribute('jsonb', '{"x": 1}', '{"x": 2}');
-- What is stored may have another form than what the table reads.
SELECT attribute('jsonb', '{"bb": 1, "a": 2}', '{"bb": 1, "a": 2}');
SELECT attribute('timestamptz', '"2020-01-01T00:00:00Z"', '2020-01-01Z', $$, format 'iso8601'$$);
SELECT attribute('jsonb', '{"bb": 1, "a": 2}', NULL);
SELECT attribute('text', '"$v"', '$v');
SELECT attribute('text', '"Hall"', 'hall');
SELECT attribute('boolean', 'false', 'true');
SELECT attribute('boolean', 'false', 'false');
SELECT attribute('text', '{"$oid": "5e0be1000000000000000000"}', '5e0be1000000000000000000', $$, bson_type 'objectId'$$);
SELECT attribute('text', '{"$oid": "5e0be1000000000000000000"}', '5e0be1000000000000000001', $$, bson_type 'objectId'$$);
SELECT attribute('timestamptz', '{"$date": "2020-01-01T00:00:00Z"}', '2020-01-01 01:00+01');
SELECT attribute('timestamptz', '{"$date": "2020-01-01T00:00:00Z"}', '2020-01-02');
SELECT attribute('text', 'null', 'hall');

-- Rows of one statement
SELECT try($$INSERT INTO points VALUES ('2022-01-01Z', 'a', 'a', 1, 1), ('2022-01-01 00:01Z', 'a', 'A', 1, 1)$$);
CREATE FOREIGN TABLE exact (ts timestamptz, a numeric OPTIONS (role 'attribute'), v int OPTIONS (field 'v.{minute}')) SERVER attributes;
INSERT INTO exact VALUES ('2020-01-01Z', 1.50, 1), ('2020-01-01 00:01Z', 1.5, 2), ('2020-01-01 00:02Z', NULL, 3);
TABLE exact;

-- A value where the subdocument of an attribute would be is kept.
CREATE FOREIGN TABLE nested (ts timestamptz, x int OPTIONS (field 'meta.x', role 'attribute'),
  y int OPTIONS (field 'meta.y.z', role 'attribute'), w int OPTIONS (role 'attribute'), v int OPTIONS (field 'v.{minute}')) SERVER attributes
  OPTIONS (on_invalid 'skip');
CALL put('nested', '[{"ts": {"$date": "2020-01-01T00:00:00Z"}, "meta": 5, "v": {"1": 1}},
  {"ts": {"$date": "2020-01-01T01:00:00Z"}, "meta": [{"x": 7}], "v": {"1": 1}},
  {"ts": {"$date": "2020-01-01T02:00:00Z"}, "meta": null, "v": {"1": 1}},
  {"ts": {"$date": "2020-01-01T03:00:00Z"}, "meta": {"y": "a"}, "v": {"1": 1}},
  {"ts": {"$date": "2020-01-01T04:00:00Z"}, "v": {"1": 1}}]');
SELECT try(format('INSERT INTO nested VALUES (%L, 7, %L, 1, 2)', '2020-01-01 00:02Z'::timestamptz + h * interval '1 hour', nullif(h, 2)), true)
  FROM generate_series(0, 4) h;
INSERT INTO nested (ts, v) VALUES ('2020-01-01 00:02Z', 2);
SELECT documents('nested');

-- An attribute inside of _id would be a key.
CREATE FOREIGN TABLE in_id (ts timestamptz OPTIONS (field '_id.t'), a text OPTIONS (field '_id.a', role 'attribute'), v int OPTIONS (field 'v.{minute}'))
  SERVER attributes;
SELECT try($$INSERT INTO in_id VALUES ('2020-01-01Z', 'a', 1)$$);

SELECT mongo_ts_command('attributes', '{"dropDatabase": 1}')->'ok' AS dropped;
