--
-- Tests the documents after INSERT, COPY, UPDATE, DELETE and TRUNCATE.
--
\set suite write
\i sql/include/suite.sql

\pset format unaligned
\pset tuples_only on

-- The documents of a collection, without generated _ids
CREATE FUNCTION documents(collection text) RETURNS SETOF jsonb LANGUAGE sql AS $$
  SELECT CASE WHEN jsonb_typeof(d->'_id') = 'object' AND d->'_id' ? '$oid'
           THEN d - '_id' ELSE d END
    FROM jsonb_array_elements(mongo_ts_command(current_schema(),
      json_build_object('find', collection, 'sort', '{"ts": 1, "first": 1, "type": 1, "_id": 1}'::json)
      )->'cursor'->'firstBatch') AS d
$$;

-- A minute a bucket --------------------------------------------------------

CREATE FOREIGN TABLE metrics (
  gone  jsonb,
  ts    timestamptz,
  type  text,
  past  float8 OPTIONS (field 'values.{second}.past'),
  value float8 OPTIONS (field 'values.{second}', sum_field 'sum', min_field 'min', max_field 'max')
) SERVER write OPTIONS (count_field 'n');
ALTER FOREIGN TABLE metrics DROP COLUMN gone, DROP COLUMN past;
SELECT is_insertable_into FROM information_schema.tables
 WHERE table_schema = 'write' AND table_name = 'metrics';
SELECT mongo_ts_create_index('metrics');
EXPLAIN (COSTS OFF) INSERT INTO metrics VALUES ('2013-10-10 23:06:37Z', 'memory_used', 1000000);
INSERT INTO metrics VALUES ('2013-10-10 23:06:37Z', 'memory_used', 1000000);
INSERT INTO metrics
  SELECT timestamptz '2013-10-10 23:06:57Z' + i * interval '1 second', 'memory_used', i
    FROM generate_series(0, 4) i;
-- null is a point without a value; of two writes to a slot the last one wins
INSERT INTO metrics VALUES ('2013-10-10 23:08:00Z', 'cpu', NULL), ('2013-10-10 23:08:00Z', NULL, 1),
  ('2013-10-10 23:08:01Z', 'cpu', 7), ('2013-10-10 23:08:01Z', 'cpu', 8) RETURNING *;
COPY metrics FROM stdin;
2013-10-10 23:08:02+00	cpu	NaN
2013-10-10 23:08:03+00	cpu	-1.5
\.
SELECT * FROM documents('metrics');
TABLE metrics ORDER BY ts, type;

-- ON CONFLICT DO NOTHING keeps a stored point.
EXPLAIN (COSTS OFF) INSERT INTO metrics VALUES ('2013-10-10 23:08:01Z', 'cpu', 9) ON CONFLICT DO NOTHING;
INSERT INTO metrics VALUES ('2013-10-10 23:08:01Z', 'cpu', 9), ('2013-10-10 23:08:04Z', 'cpu', 10),
  ('2013-10-10 23:08:04Z', 'cpu', 11) ON CONFLICT DO NOTHING RETURNING *;

-- A changed value, and a point that moves to another slot, bucket and series
SELECT plan($$UPDATE metrics SET value = value + 1 WHERE type = 'cpu'$$, ', VERBOSE');
UPDATE metrics SET value = value + 1 WHERE type = 'cpu' AND ts <= '2013-10-10 23:08:01Z' RETURNING *;
UPDATE metrics SET ts = ts + interval '1 second' WHERE value IN (0, 1, 2, 3, 4);
UPDATE metrics SET type = 'memory_used' WHERE type IS NULL;
UPDATE metrics SET type = coalesce(type, 'x') WHERE false;
SELECT * FROM documents('metrics');

-- Points are deleted, and the bucket with its last point.
SELECT plan($$DELETE FROM metrics WHERE value < 0$$, ', VERBOSE');
DELETE FROM metrics WHERE value < 0 RETURNING *;
DELETE FROM metrics WHERE ts = '2013-10-10 23:06:37Z' AND type = 'memory_used' RETURNING type, xmin IS NULL AS unknown;
SELECT * FROM documents('metrics');
-- DELETE of a range is a delete of whole buckets and updates of those at the
-- edges.
INSERT INTO metrics SELECT timestamptz '2013-10-11 00:00:00Z' + i * interval '1 second', 'cpu', i
  FROM generate_series(0, 299, 10) i;
EXPLAIN (COSTS OFF)
  DELETE FROM metrics WHERE type = 'cpu' AND ts >= '2013-10-11 00:00:30Z' AND ts < '2013-10-11 00:04:10Z';
WITH gone AS (DELETE FROM metrics WHERE type = 'cpu' AND ts >= '2013-10-11 00:00:30Z' AND ts < '2013-10-11 00:04:10Z')
SELECT 1;
SELECT * FROM documents('metrics') d WHERE d->'ts'->>'$date' >= '2013-10-11';
\set QUIET 0
DELETE FROM metrics WHERE ts >= '2013-10-11 00:04:20Z';
TRUNCATE metrics;
\set QUIET 1
SELECT * FROM documents('metrics');

-- Other layouts ------------------------------------------------------------

-- Nested slots and a key within a document
CREATE FOREIGN TABLE nested (
  ts timestamptz, host text OPTIONS (field 'tags.host'), room text OPTIONS (field 'tags.room', role 'attribute'),
  v  int OPTIONS (field 'v.{minute}.{second}')
) SERVER write OPTIONS (filter '{"kind": "temperature"}', bucket_span '1 hour');
INSERT INTO nested VALUES ('2020-01-01 10:59:59Z', 'a', 'hall', 1), ('2020-01-01 10:00:00Z', 'a', NULL, 2);
SELECT * FROM documents('nested');

-- Arrays of points: pushed, with bounds, and at most bucket_max_points
CREATE FOREIGN TABLE pushed (
  at  timestamptz OPTIONS (field 'samples[].t'), type text,
  val numeric OPTIONS (field 'samples[].v', bson_type 'decimal'),
  ok  boolean OPTIONS (field 'samples[].ok')
) SERVER write OPTIONS (bucket_first_field 'first', bucket_last_field 'last', bucket_max_points '3', count_field 'n');
INSERT INTO pushed SELECT timestamptz '2020-01-01Z' + i * interval '1 day', 'a', i + 0.10, i % 2 = 0
  FROM generate_series(1, 7) i;
INSERT INTO pushed VALUES ('2020-02-01Z', 'a', 8, NULL);
SELECT * FROM documents('pushed');
DELETE FROM pushed WHERE val BETWEEN 2 AND 3.1;
SELECT * FROM documents('pushed');

-- Positional arrays, also parallel ones, from preallocated buckets
CREATE FOREIGN TABLE zipped (
  ts timestamptz, temp float8 OPTIONS (field 't[{hour}]', missing_value '0'), hum float8 OPTIONS (field 'h[{hour}]', missing_value '0')
) SERVER write;
INSERT INTO zipped VALUES ('2020-01-01 02:00Z', 1.5, 50), ('2020-01-01 23:00Z', NULL, 60);
SELECT * FROM documents('zipped');
TABLE zipped;

-- Counters
CREATE FOREIGN TABLE views (
  ts timestamptz, page text, n int8 OPTIONS (field 'h.{hour}')
) SERVER write OPTIONS (write_mode 'increment', on_subresolution 'truncate');
INSERT INTO views VALUES ('2020-01-01 02:00Z', '/', 1), ('2020-01-01 02:10Z', '/', 5), ('2020-01-01 02:20Z', '/', -2);
SELECT * FROM documents('views');

-- One document for each row
CREATE FOREIGN TABLE flat (
  ts timestamptz, type text, value float4, tags jsonb, list int[]
) SERVER write;
INSERT INTO flat VALUES ('2020-01-01Z', 'a', 1.5, '{"b": [1, null]}', '{1,2}'), ('2020-01-01Z', 'a', NULL, NULL, NULL);
SELECT * FROM documents('flat');
UPDATE flat SET value = 2, tags = '"x"' WHERE list IS NULL;
TABLE flat ORDER BY value;
DELETE FROM flat WHERE value = 2;
TABLE flat;

-- Documents conflict by unique indexes.
CREATE FOREIGN TABLE flat_id (k text OPTIONS (field '_id.k'), ts timestamptz OPTIONS (field '_id.t'), v int) SERVER write;
INSERT INTO flat_id VALUES ('a', '2020-01-01Z', 1);
INSERT INTO flat_id VALUES ('a', '2020-01-01Z', 2), ('b', '2020-01-01Z', 3) ON CONFLICT DO NOTHING RETURNING *;
-- A document without a time can be changed.
CALL put('flat_id', '[{"_id": {"k": "c"}, "v": 4}]');
UPDATE flat_id SET v = v * 10 RETURNING *;

-- A whole _id that identifies its bucket
CREATE FOREIGN TABLE by_id (
  ts timestamptz OPTIONS (field '_id.t'), type text OPTIONS (field '_id.k'), v int OPTIONS (field 'v.{second}')
) SERVER write;
SELECT mongo_ts_create_index('by_id');
INSERT INTO by_id VALUES ('2020-01-01 00:00:01Z', 'a', 1), ('2020-01-01 00:00:02Z', 'a', 2);
SELECT * FROM documents('by_id');

-- A null in an array of documents is not a point; sums beyond 64 bits
CREATE FOREIGN TABLE cells (ts timestamptz, v int8 OPTIONS (field 'c[{hour}].v', sum_field 's'))
  SERVER write OPTIONS (count_field 'n');
CALL put('cells', '[{"_id": 1, "ts": {"$date": "2020-01-01T00:00:00Z"}, "c": [null, {"v": null}, {"x": 1}, {}, {"v": 5}]}]');
INSERT INTO cells VALUES ('2020-01-01 06:00Z', 9223372036854775807), ('2020-01-01 07:00Z', 9223372036854775807);
SELECT * FROM documents('cells');
TABLE cells;

-- Skipped values stay when the points beside them are deleted.
CREATE FOREIGN TABLE lenient (ts timestamptz, v int OPTIONS (field 'v.{minute}'))
  SERVER write OPTIONS (on_invalid 'skip');
CALL put('lenient', '[{"_id": 1, "ts": {"$date": "2020-01-01T00:00:00Z"}, "v": {"0": 1, "1": "x"}},
  {"_id": 2, "ts": {"$date": "2020-01-01T01:00:00Z"}, "v": {"0": 2}}]');
EXPLAIN (COSTS OFF) DELETE FROM lenient WHERE ts >= '2020-01-01Z';
DELETE FROM lenient WHERE ts >= '2020-01-01Z';
SELECT * FROM documents('lenient');

-- Preallocated documents ---------------------------------------------------

CREATE FOREIGN TABLE minutes (
  ts timestamptz, type text, v int OPTIONS (field 'v.{minute}', missing_value '0', sum_field 's', max_field 'x')
) SERVER write OPTIONS (bucket_span '5 minutes', count_field 'n');
SELECT mongo_ts_preallocate('minutes', '2020-01-01 00:00Z', '2020-01-01 00:10Z', '{"type": "a"}');
SELECT mongo_ts_preallocate('minutes', '2020-01-01 00:00Z', '2020-01-01 00:15Z', '{"type": "a"}');
SELECT * FROM documents('minutes');
TABLE minutes;
INSERT INTO minutes VALUES ('2020-01-01 00:07Z', 'a', 5);
SELECT * FROM documents('minutes');
DELETE FROM minutes;
SELECT * FROM documents('minutes');

-- With other features of SQL -----------------------------------------------

-- Partitions, generated columns and triggers
CREATE TABLE parted (ts timestamptz, type text, v int, twice int GENERATED ALWAYS AS (v * 2) STORED) PARTITION BY RANGE (ts);
CREATE FOREIGN TABLE parted_0 (
  ts timestamptz, type text, v int OPTIONS (field 'v.{second}'),
  twice int OPTIONS (field 'w.{second}') GENERATED ALWAYS AS (v * 2) STORED
) SERVER write;
CREATE FOREIGN TABLE parted_1 (
  ts timestamptz, type text, v int OPTIONS (field 'v.{second}'),
  twice int OPTIONS (field 'w.{second}') GENERATED ALWAYS AS (v * 2) STORED
) SERVER write;
ALTER TABLE parted ATTACH PARTITION parted_0 FOR VALUES FROM ('2020-01-01Z') TO ('2020-01-02Z');
ALTER TABLE parted ATTACH PARTITION parted_1 FOR VALUES FROM ('2020-01-02Z') TO ('2020-01-03Z');
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE NOTICE '% % of %: % -> %', tg_when, tg_op, tg_table_name, old, new;
  RETURN coalesce(new, old);
END $$;
CREATE TRIGGER before BEFORE INSERT OR UPDATE OR DELETE ON parted_0 FOR EACH ROW EXECUTE FUNCTION tell();
CREATE TRIGGER after AFTER INSERT OR UPDATE OR DELETE ON parted_0 FOR EACH ROW EXECUTE FUNCTION tell();
INSERT INTO parted VALUES ('2020-01-01 00:00:01Z', 'a', 1), ('2020-01-02 00:00:01Z', 'a', 2) RETURNING tableoid::regclass, *;
COPY parted (ts, type, v) FROM stdin;
2020-01-01 00:00:02+00	a	3
2020-01-02 00:00:02+00	a	4
\.
UPDATE parted SET v = v * 10 WHERE v < 3 RETURNING tableoid::regclass, *;
DELETE FROM parted WHERE v = 3;
SELECT tableoid::regclass, * FROM parted ORDER BY ts;

-- One UPDATE moves points within a partition, and rows into it.
CREATE TABLE rooms (k text, ts timestamptz, v int) PARTITION BY LIST (k);
CREATE TABLE rooms_local PARTITION OF rooms FOR VALUES IN ('l');
CREATE FOREIGN TABLE rooms_foreign (k text, ts timestamptz OPTIONS (field 's[].t'), v int OPTIONS (field 's[].v'))
  SERVER write OPTIONS (bucket_time_field 'd', bucket_span '1 day');
ALTER TABLE rooms ATTACH PARTITION rooms_foreign FOR VALUES IN ('f');
INSERT INTO rooms VALUES ('f', '2020-01-01 00:01Z', 1), ('f', '2020-01-01 00:02Z', 2),
  ('l', '2020-01-01 05:00Z', 3), ('l', '2020-01-02 05:00Z', 4);
UPDATE rooms SET k = 'f', ts = ts + interval '1 day';
SELECT tableoid::regclass, * FROM rooms ORDER BY ts;

-- Statement triggers see the rows that their statement has inserted.
CREATE FUNCTION count_rows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE NOTICE '% rows', (SELECT count(*) FROM parted_1);
  RETURN NULL;
END $$;
CREATE TRIGGER count_rows AFTER INSERT ON parted_1 FOR EACH STATEMENT EXECUTE FUNCTION count_rows();
INSERT INTO parted_1 VALUES ('2020-01-02 00:00:03Z', 'a', 5), ('2020-01-02 00:00:04Z', 'a', 6);

-- Views with a check, joins, and a statement that reads what it writes
CREATE VIEW checked AS SELECT * FROM nested WHERE host = 'a' WITH CHECK OPTION;
INSERT INTO checked VALUES ('2020-01-01 11:00:00Z', 'a', 'hall', 3);
SELECT try($$INSERT INTO checked VALUES ('2020-01-01 11:00:00Z', 'b', 'hall', 3)$$);
INSERT INTO nested SELECT ts + interval '1 hour', host, room, v FROM nested;
UPDATE nested SET v = d.v FROM (VALUES ('2020-01-01 11:00:00Z'::timestamptz, 33)) d (ts, v) WHERE nested.ts = d.ts RETURNING nested.*;
DELETE FROM nested USING (VALUES ('2020-01-01 12:00:00Z'::timestamptz)) d (ts) WHERE nested.ts = d.ts RETURNING *;
TABLE nested ORDER BY ts;

-- An INSERT that reads its target, over more than a batch, and by another name
CREATE FOREIGN TABLE series (ts timestamptz, k text, v int OPTIONS (field 'v.{minute}'))
  SERVER write OPTIONS (batch_size '100', fetch_size '10');
CREATE FOREIGN TABLE alias (ts timestamptz, k text, v int OPTIONS (field 'v.{minute}'))
  SERVER write OPTIONS (collection 'series', batch_size '100', fetch_size '10');
INSERT INTO series SELECT timestamptz '2020-01-01Z' + i * interval '1 minute', 'a', i FROM generate_series(0, 4999) i;
INSERT INTO series SELECT ts + interval '2 hours', k, v FROM series;
INSERT INTO series SELECT ts + interval '2 hours', 'b', v FROM alias;
-- the same through another server
CREATE SERVER again FOREIGN DATA WRAPPER mongo_ts_fdw OPTIONS (uri :'uri', database :'database');
CREATE USER MAPPING FOR PUBLIC SERVER again;
CREATE FOREIGN TABLE elsewhere (ts timestamptz, k text, v int OPTIONS (field 'v.{minute}'))
  SERVER again OPTIONS (collection 'series', fetch_size '10');
INSERT INTO series SELECT ts + interval '200 hours', 'x', v FROM elsewhere;
SELECT count(*) FROM series WHERE k = 'x';
DELETE FROM series WHERE k = 'x';
SELECT k, count(*), sum(v), sum(extract(epoch FROM ts - '2020-01-01Z'))::int8 / 60 AS minutes FROM series GROUP BY k ORDER BY k;
WITH written AS (INSERT INTO series SELECT ts + interval '1000 hours', 'c', v FROM alias RETURNING 1)
SELECT (SELECT count(*) FROM series), (SELECT count(*) FROM written);

-- Rows that are deleted and inserted again
WITH gone AS (DELETE FROM series WHERE k = 'c' RETURNING *)
INSERT INTO series SELECT ts, 'd', v FROM gone WHERE v < 10;
WITH gone AS (DELETE FROM series WHERE k = 'd' RETURNING *)
INSERT INTO series SELECT ts, k, v * 2 FROM gone;
SELECT k, count(*), sum(v) FROM series GROUP BY k ORDER BY k;

UPDATE series SET v = -v WHERE k = 'a' AND v >= 100;
DELETE FROM series WHERE k = 'b' AND v % 2 = 0;
SELECT k, count(*), sum(v) FROM series GROUP BY k ORDER BY k;

-- A writer keeps its connection when others are closed.
CREATE SERVER nowhere FOREIGN DATA WRAPPER mongo_ts_fdw OPTIONS (uri 'mongodb://127.0.0.1:1', database 'd');
CREATE FOREIGN TABLE nothing (ts timestamptz, v int) SERVER nowhere;
CREATE FUNCTION disturb() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  ALTER SERVER nowhere OPTIONS (SET database 'e');
  BEGIN
    PERFORM count(*) FROM nothing;
  EXCEPTION WHEN OTHERS THEN
    RETURN 1;
  END;
END $$;
INSERT INTO series SELECT timestamptz '2021-01-01Z' + i * interval '1 minute', 'e', disturb() FROM generate_series(1, 3) i;
SELECT count(*) FROM series WHERE k = 'e';

-- Prepared, with a generic plan
SET plan_cache_mode = force_generic_plan;
PREPARE put_one (timestamptz, int) AS INSERT INTO nested VALUES ($1, 'p', NULL, $2);
EXECUTE put_one('2020-01-05 00:00:00Z', 1);
EXECUTE put_one('2020-01-05 00:00:01Z', 2);
PREPARE drop_before (timestamptz) AS DELETE FROM nested WHERE host = 'p' AND ts < $1;
EXECUTE drop_before('2020-01-05 00:00:01Z');
SELECT * FROM nested WHERE host = 'p';

-- Times that are numbers have one BSON type, that of the format.  A finer time
-- is refused or rounded, as on_subresolution says.
CREATE FUNCTION stored_times(format text, given text, subresolution text = 'truncate') RETURNS SETOF text LANGUAGE plpgsql AS $body$
BEGIN
  EXECUTE format('CREATE FOREIGN TABLE t (ts timestamptz OPTIONS (field ''s[].t'', format %L), v int OPTIONS (field ''s[].v'')) SERVER write
    OPTIONS (bucket_time_field ''b'', bucket_time_format %1$L, bucket_span ''1 hour'', bucket_first_field ''f'', bucket_last_field ''l'',
             on_subresolution %L)', format, subresolution);
  RETURN NEXT try(format('INSERT INTO t SELECT ts, 1 FROM unnest(%L::timestamptz[]) ts', given), true);
  RETURN QUERY EXECUTE 'SELECT string_agg(ts::text, '', '' ORDER BY ts) FROM t';
  RETURN QUERY SELECT mongo_ts_command('write', '{"aggregate": "t", "cursor": {}, "pipeline": [{"$project": {"_id": 0,
    "b": {"$type": "$b"}, "f": {"$type": "$f"}, "l": {"$type": "$l"}, "last": "$l",
    "t": {"$map": {"input": "$s.t", "in": {"$type": "$$this"}}}}}]}')#>>'{cursor,firstBatch,0}';
  PERFORM mongo_ts_command('write', '{"delete": "t", "deletes": [{"q": {}, "limit": 0}]}');
  DROP FOREIGN TABLE t;
END $body$;
SELECT stored_times(format, given, subresolution) FROM (VALUES
  ('epoch', '{2024-03-01 10:00:00Z,2024-03-01 10:00:01Z}', 'error'),
  ('epoch', '{2024-03-01 10:00:00Z,2024-03-01 10:00:01.5Z}', 'error'),
  ('epoch', '{2024-03-01 10:00:00Z,2024-03-01 10:00:01.5Z}', 'truncate'),
  ('epoch:long', '{2024-03-01 10:00:00Z,2024-03-01 10:00:01.5Z}', 'truncate'),
  ('epoch:double', '{2024-03-01 10:00:00Z,2024-03-01 10:00:01.5Z}', 'error'),
  ('epoch_ms', '{2024-03-01 10:00:00Z,2024-03-01 10:00:01.123456Z}', 'error'),
  ('epoch_ms', '{2024-03-01 10:00:00Z,2024-03-01 10:00:01.123456Z}', 'truncate'),
  ('epoch_ms:double', '{2024-03-01 10:00:00Z,2024-03-01 10:00:01.123456Z}', 'error'),
  ('epoch_us:double', '{2024-03-01 10:00:00Z,2024-03-01 10:00:01.123456Z}', 'error')) AS times (format, given, subresolution);

SELECT mongo_ts_command('write', '{"dropDatabase": 1}')->'ok' AS dropped;
