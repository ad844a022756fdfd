--
-- Tests that RETURNING shows what a SELECT shows right afterwards, or refuses
-- the column before anything is written.
--
\set suite returned_rows
\i sql/include/suite.sql
\pset format unaligned

-- The _id of a new document ---------------------------------------------------

CREATE FOREIGN TABLE animals (_id text OPTIONS (bson_type 'objectId'), at timestamptz, name text) SERVER returned_rows;
CREATE TABLE kept (k text, at timestamptz, name text);
WITH w AS (INSERT INTO animals (at, name) SELECT timestamptz '2024-05-01' + i * interval '1 h', 'Rex' || i FROM generate_series(1, 3) i RETURNING *) INSERT INTO kept SELECT * FROM w;
SELECT count(*) FROM kept k JOIN animals a ON (k.k, k.at, k.name) = (a._id, a.at, a.name);
WITH w AS (INSERT INTO animals (at, name) VALUES ('2024-05-02', 'Tom') ON CONFLICT DO NOTHING RETURNING *) INSERT INTO kept SELECT * FROM w;
SELECT count(*) FROM kept k JOIN animals a ON (k.k, k.at, k.name) = (a._id, a.at, a.name);
UPDATE animals SET name = 'x' WHERE name = 'Tom' RETURNING _id = (SELECT k FROM kept WHERE name = 'Tom') AS same, name;
INSERT INTO animals (at, name) SELECT at, 'copy' FROM animals RETURNING _id;
INSERT INTO animals (at, name) SELECT at, 'copy' FROM animals RETURNING name;
-- A type that cannot hold it, and one that can
CREATE FOREIGN TABLE num (_id int, at timestamptz, name text) SERVER returned_rows OPTIONS (collection 'animals');
INSERT INTO num (at, name) VALUES ('2024-05-02', 'Tim') RETURNING _id;
CREATE FOREIGN TABLE j (_id jsonb, at timestamptz, name text) SERVER returned_rows OPTIONS (collection 'animals');
INSERT INTO j (at, name) VALUES ('2024-05-02', 'Tim') RETURNING jsonb_typeof(_id);
SELECT count(*) FROM animals WHERE name = 'Tim';
-- Two columns
CREATE FOREIGN TABLE twice (_id text OPTIONS (bson_type 'objectId'), i jsonb OPTIONS (field '_id'), at timestamptz) SERVER returned_rows;
INSERT INTO twice (at) VALUES ('2024-05-02') RETURNING _id = i->>'$oid' AS same;
SELECT count(*) FROM twice WHERE _id = i->>'$oid';
-- The _id as a time
CREATE FOREIGN TABLE oidtime (t timestamptz OPTIONS (field '_id', format 'oid'), name text) SERVER returned_rows;
INSERT INTO oidtime VALUES ('2024-01-01', 'x') RETURNING *;
INSERT INTO oidtime (name) VALUES ('x') RETURNING *;
CREATE FOREIGN TABLE oidcol (t timestamptz OPTIONS (role 'time'), i timestamptz OPTIONS (field '_id', format 'oid'), name text) SERVER returned_rows;
INSERT INTO oidcol (t, name) VALUES ('2024-01-01', 'x') RETURNING *;
-- The whole document
CREATE FOREIGN TABLE whole (t timestamptz, d jsonb OPTIONS (field '*')) SERVER returned_rows;
INSERT INTO whole (t) VALUES ('2024-01-01') RETURNING *;
INSERT INTO whole (t) VALUES ('2024-01-01') RETURNING t;
UPDATE whole SET t = '2024-01-02' RETURNING *;
-- What a bucket has ----------------------------------------------------------

CREATE FOREIGN TABLE hours (ts timestamptz OPTIONS (field 'hour'), s text, n int OPTIONS (field 'n', role 'attribute'), total float8 OPTIONS (field 'total', role 'attribute'), unit text OPTIONS (role 'attribute'), id text OPTIONS (field '_id', role 'attribute'), v float8 OPTIONS (field 'v.{minute}', sum_field 'total')) SERVER returned_rows OPTIONS (count_field 'n');
INSERT INTO hours (ts, s, v) VALUES ('2024-05-01', 'a', 1) RETURNING *;
INSERT INTO hours (ts, s, v) VALUES ('2024-05-01', 'a', 1) RETURNING n;
INSERT INTO hours (ts, s, v) VALUES ('2024-05-01', 'a', 1) RETURNING (SELECT total + 1);
INSERT INTO hours (ts, s, v) VALUES ('2024-05-01', 'a', 1) RETURNING hours;
INSERT INTO hours (ts, s, v) VALUES ('2024-05-01', 'a', 1) RETURNING id;
INSERT INTO hours (ts, s, v) VALUES ('2024-05-01', 'a', 1) RETURNING unit;
-- Nothing was written.
SELECT count(*) FROM hours;
INSERT INTO hours (ts, s, v, unit) VALUES ('2024-05-01', 'a', 1, 'K'), ('2024-05-01 00:02', 'a', 2, 'K') RETURNING ts, s, v, unit;
INSERT INTO hours (ts, s, v) VALUES ('2024-05-01 00:03', 'a', 3) RETURNING ts, s, v, unit;
UPDATE hours SET v = 7 WHERE v = 2 RETURNING total;
UPDATE hours SET v = 7 WHERE v = 2 RETURNING ts, s, v, unit, id IS NOT NULL;
UPDATE hours SET s = 'b' WHERE v = 7 RETURNING ts, s, v, unit;
UPDATE hours SET s = 'b' WHERE v = 7 RETURNING id;
UPDATE hours SET s = 'b' WHERE v = 7 RETURNING ts, s, v;
SELECT ts, s, n, total, unit, v FROM hours ORDER BY ts;
DELETE FROM hours WHERE v = 7 RETURNING n, total, unit, v;
-- Counters
CREATE FOREIGN TABLE inc (ts timestamptz OPTIONS (field 'hour'), v int OPTIONS (field 'v.{minute}')) SERVER returned_rows OPTIONS (write_mode 'increment');
INSERT INTO inc VALUES ('2024-05-01', 1) RETURNING v;
INSERT INTO inc VALUES ('2024-05-01', 1) RETURNING ts;
UPDATE inc SET v = 7 RETURNING *;
-- A rounded date
CREATE FOREIGN TABLE months (d date OPTIONS (field 'y'), v float8 OPTIONS (field 'v.{month}')) SERVER returned_rows OPTIONS (on_subresolution 'truncate', bucket_span '1 year');
INSERT INTO months VALUES ('2024-05-15', 1), ('1968-11-30', 2) RETURNING *;
SELECT * FROM months ORDER BY d;
SET timezone = 'America/New_York';
INSERT INTO months VALUES ('2025-05-15', 1), ('1967-11-30', 2) RETURNING *;
SELECT * FROM months ORDER BY d;
SET timezone = 'UTC';

-- Partitions and views -------------------------------------------------------

CREATE TABLE parts (ts timestamptz, s text, n int, v float8, unit text, i text) PARTITION BY LIST (s);
CREATE FOREIGN TABLE p1 (i text OPTIONS (field '_id', role 'attribute'), ts timestamptz OPTIONS (field 'hour'), s text, n int OPTIONS (field 'n', role 'attribute'), unit text OPTIONS (role 'attribute'), v float8 OPTIONS (field 'v.{minute}')) SERVER returned_rows OPTIONS (count_field 'n');
CREATE TABLE p2 (unit text, v float8, n int, s text, i text, ts timestamptz);
ALTER TABLE parts ATTACH PARTITION p1 FOR VALUES IN ('a');
ALTER TABLE parts ATTACH PARTITION p2 FOR VALUES IN ('b');
INSERT INTO parts (ts, s, v) VALUES ('2024-05-01', 'a', 1), ('2024-05-01', 'b', 1) RETURNING n;
INSERT INTO parts (ts, s, v) VALUES ('2024-05-01', 'b', 1) RETURNING n;
INSERT INTO parts (ts, s, v) VALUES ('2024-05-01', 'b', 1), ('2024-05-01', 'a', 1) RETURNING v, s, ts;
INSERT INTO parts (ts, s, v) VALUES ('2024-05-01', 'b', 1), ('2024-05-01', 'a', 1) RETURNING unit;
INSERT INTO parts (ts, s, v, unit) VALUES ('2024-05-01', 'b', 1, 'K'), ('2024-05-01', 'a', 1, 'K') RETURNING unit;
UPDATE parts SET s = 'a', ts = '2024-05-01 00:09' WHERE s = 'b' RETURNING n;
UPDATE parts SET s = 'a', ts = '2024-05-01 00:09', n = NULL WHERE s = 'b' AND unit = 'K' RETURNING v, unit, s;
UPDATE parts SET v = 3 RETURNING n;
UPDATE parts SET v = 3 RETURNING s, v;
CREATE VIEW hv AS SELECT ts, s, v, n AS count FROM hours;
INSERT INTO hv (ts, s, v) VALUES ('2024-05-01', 'z', 1) RETURNING count;
INSERT INTO hv (ts, s, v) VALUES ('2024-05-01', 'z', 1) RETURNING v;
PREPARE shown AS INSERT INTO animals (at, name) VALUES ($1, $2) RETURNING _id IS NOT NULL AS is_known;
SET plan_cache_mode = force_generic_plan;
EXECUTE shown ('2024-01-01', 'q');
EXECUTE shown ('2024-01-02', 'r');
SELECT mongo_ts_command('returned_rows', '{"dropDatabase": 1}')->'ok' AS dropped;
