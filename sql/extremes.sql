--
-- Tests the greatest and the least values of a table, which are read from the
-- buckets in the order of the extremes that these declare.
--
\set suite extremes
\i sql/include/suite.sql

\pset format unaligned
\pset tuples_only on

\i sql/include/copies.sql

-- Values that wander, some of them null, in minute buckets
CREATE FOREIGN TABLE f (
  d timestamptz, k int, v float8 OPTIONS (field 'p.{second}', min_field 'lo', max_field 'hi'),
  n int OPTIONS (field 'n.{second}', max_field 'most') NOT NULL, x numeric OPTIONS (field 'x.{second}', min_field 'least', max_field 'top')
) SERVER extremes OPTIONS (bucket_span '1 minute', updatable 'true');
INSERT INTO f SELECT timestamptz '2024-03-10 05:00Z' + i * interval '1 second', k,
    CASE WHEN i % 60 <> 7 OR i < 2000 THEN round((100 * sin(i / 1000.0 + k))::numeric, 1) END, i % 1000 * k, i
  FROM generate_series(0, 2999) i, generate_series(1, 3) k;
SELECT mongo_ts_create_index('f');
ANALYZE f;
CREATE TABLE copies.f AS SELECT * FROM f;

EXPLAIN (COSTS OFF) SELECT v, d, k FROM f ORDER BY v DESC NULLS LAST LIMIT 10;
EXPLAIN (COSTS OFF) SELECT n, d FROM f WHERE k = 2 ORDER BY n DESC, d LIMIT 3;
SELECT same('SELECT v FROM f ORDER BY v DESC NULLS LAST LIMIT 10');
SELECT trips('SELECT v FROM f ORDER BY v DESC NULLS LAST LIMIT 10');
SELECT same('SELECT v, k, d FROM f ORDER BY v, k DESC, d LIMIT 10 OFFSET 20');
SELECT trips('SELECT v, k, d FROM f ORDER BY v, k DESC, d LIMIT 10 OFFSET 20');
SELECT same('SELECT v, d FROM f WHERE k = 2 AND v IS NOT NULL ORDER BY v DESC, d FETCH FIRST 5 ROWS WITH TIES');
SELECT same('SELECT v, d FROM f WHERE v < 99 ORDER BY v DESC, d LIMIT 20');
SELECT trips('SELECT v, d FROM f WHERE v < 99 ORDER BY v DESC, d LIMIT 20');
SELECT same($$SELECT n, k, d FROM f WHERE d < '2024-03-10 05:10Z' ORDER BY n DESC, k, d LIMIT 10$$);
BEGIN;
DECLARE c CURSOR FOR SELECT k, v FROM f WHERE v > 99.7 ORDER BY v DESC, k, d LIMIT 5;
FETCH 2 FROM c;
FETCH ALL FROM c;
ROLLBACK;
-- For each row of another table; a prepared query
SELECT same('SELECT s.k, t.* FROM generate_series(1, 4) s (k) LEFT JOIN LATERAL (SELECT v, d FROM f WHERE f.k = s.k ORDER BY v DESC NULLS LAST, d LIMIT 2) t ON true');
SET plan_cache_mode = force_generic_plan;
PREPARE top (int) AS SELECT v, n FROM f WHERE k = $1 ORDER BY v DESC NULLS LAST, d LIMIT 2;
EXECUTE top (1);
EXECUTE top (2);
RESET plan_cache_mode;

-- Orders that the extremes do not serve: nulls come first, the least n is not
-- declared, only a minimum would show NaN, type numeric, and expressions
CREATE FOREIGN TABLE g (d timestamptz, k int, v float8 OPTIONS (field 'p.{second}', max_field 'hi')) SERVER extremes OPTIONS (collection 'f');
CREATE TABLE copies.g AS SELECT * FROM g;
SELECT same('SELECT v FROM g ORDER BY v DESC NULLS LAST LIMIT 10');
SELECT same('SELECT v FROM f ORDER BY v DESC LIMIT 10');
SELECT same('SELECT n FROM f ORDER BY n LIMIT 10');
SELECT same('SELECT x FROM f ORDER BY x DESC NULLS LAST LIMIT 10');
SELECT same('SELECT v FROM f ORDER BY -v LIMIT 10');
-- All rows are wanted, or more than fit into work_mem
SELECT same('SELECT v FROM f ORDER BY v');
SELECT same('SELECT v FROM f ORDER BY v LIMIT 5000');
SET mongo_ts_fdw.enable_preaggregates = off;
SELECT same('SELECT v FROM f ORDER BY v LIMIT 10');
RESET mongo_ts_fdw.enable_preaggregates;
SET mongo_ts_fdw.enable_order_by = off;
SELECT same('SELECT v FROM f ORDER BY v LIMIT 10');
RESET mongo_ts_fdw.enable_order_by;
-- Buckets that outgrow work_mem are sorted here
CREATE FOREIGN TABLE hours (d timestamptz, v int OPTIONS (field 'p.{second}', max_field 'hi')) SERVER extremes OPTIONS (bucket_span '1 hour');
INSERT INTO hours SELECT timestamptz '2024-03-10 05:00Z' + i * interval '1 second', i * 7 % 3600 FROM generate_series(0, 35999) i;
ANALYZE hours;
CREATE TABLE copies.hours AS SELECT * FROM hours;
PREPARE late AS SELECT v, d FROM hours ORDER BY v DESC NULLS LAST, d LIMIT 20 OFFSET 100;
SET enable_sort = off;
SET work_mem = '64MB';
SELECT trips('EXECUTE late');
SET work_mem = '64kB';
CREATE TEMP TABLE answer AS EXECUTE late;
RESET work_mem;
RESET enable_sort;
SELECT count(*), min(v) FROM answer;
SELECT count(*) FROM (SELECT * FROM (SELECT v, d FROM copies.hours ORDER BY v DESC, d LIMIT 20 OFFSET 100) l EXCEPT TABLE answer) lost;

-- Buckets whose extremes are absent, null, NaN, an array or of another type are
-- read first; NaN is the greatest number
CALL put('f', '[
  {"d": {"$date": "2025-01-01T00:00:00Z"}, "k": 1, "p": {"0": 700}, "n": {"0": 1}},
  {"d": {"$date": "2025-01-01T00:01:00Z"}, "k": 2, "lo": null, "hi": 0, "p": {"0": 701, "1": null}, "n": {"0": 1}},
  {"d": {"$date": "2025-01-01T00:02:00Z"}, "k": 3, "lo": {"$numberDouble": "NaN"}, "hi": 0, "p": {"0": 0, "9": {"$numberDouble": "NaN"}}},
  {"d": {"$date": "2025-01-01T00:03:00Z"}, "k": 4, "lo": 0, "hi": "0", "p": {"0": 702}, "n": {"0": 1}},
  {"d": {"$date": "2025-01-01T00:04:00Z"}, "k": 5, "lo": 0, "hi": [0, 1], "p": {"0": -703}, "n": {"0": 1}},
  {"d": {"$date": "2025-01-01T00:05:00Z"}, "k": 6, "lo": {"$numberDouble": "-Infinity"}, "hi": {"$numberDecimal": "99.95"}, "p": {"0": {"$numberDecimal": "99.95"}, "5": {"$numberDouble": "-Infinity"}}, "n": {"0": 1}}]');
ALTER FOREIGN TABLE f ALTER n DROP NOT NULL;
DELETE FROM copies.f;
SET mongo_ts_fdw.enable_preaggregates = off;
INSERT INTO copies.f SELECT * FROM f;
RESET mongo_ts_fdw.enable_preaggregates;
SELECT same('SELECT v, k FROM f ORDER BY v DESC NULLS LAST, k, d LIMIT 8');
SELECT v, k FROM f ORDER BY v DESC NULLS LAST, k, d LIMIT 8;
SELECT same('SELECT v, k FROM f ORDER BY v, k, d LIMIT 4');
SELECT trips('SELECT v, k FROM f ORDER BY v, k, d LIMIT 4');

-- A field that contradicts its points
CALL put('f', '[{"_id": 7, "d": {"$date": "2025-01-02T00:00:00Z"}, "k": 7, "lo": 0, "hi": 200, "p": {"0": 0, "1": 201}}]');
SELECT v FROM f ORDER BY v DESC NULLS LAST LIMIT 8;
SET mongo_ts_fdw.enable_preaggregates = off;
SELECT v FROM f ORDER BY v DESC NULLS LAST LIMIT 6;
RESET mongo_ts_fdw.enable_preaggregates;

-- Times
CREATE FOREIGN TABLE alarms (
  d timestamptz OPTIONS (role 'time'), seen timestamptz OPTIONS (field 's.{second}', min_field 'lo', max_field 'hi')
) SERVER extremes OPTIONS (bucket_span '1 minute');
INSERT INTO alarms SELECT timestamptz '2024-03-10 05:00Z' + i * interval '1 second', timestamptz '2024-03-12 00:00Z' + i * i % 7919 * interval '1 minute'
  FROM generate_series(0, 1199) i;
ANALYZE alarms;
CREATE TABLE copies.alarms AS SELECT * FROM alarms;
SELECT same('SELECT seen, d FROM alarms ORDER BY seen DESC NULLS LAST, d LIMIT 3');
SELECT trips('SELECT seen, d FROM alarms ORDER BY seen DESC NULLS LAST, d LIMIT 3');
SELECT same('SELECT seen FROM alarms ORDER BY seen LIMIT 3 OFFSET 3');

-- Partitions are merged
CREATE TABLE parts (d timestamptz, k int, v float8) PARTITION BY LIST (k);
CREATE FOREIGN TABLE one (d timestamptz, k int, v float8 OPTIONS (field 'p.{second}', min_field 'lo', max_field 'hi')) SERVER extremes;
CREATE FOREIGN TABLE two (d timestamptz, k int, v float8 OPTIONS (field 'p.{second}', min_field 'lo', max_field 'hi')) SERVER extremes;
ALTER TABLE parts ATTACH PARTITION one FOR VALUES IN (1);
ALTER TABLE parts ATTACH PARTITION two FOR VALUES IN (2);
INSERT INTO parts SELECT timestamptz '2024-03-10 05:00Z' + i * interval '1 second', k, round((100 * sin(i / 1000.0 + k))::numeric, 1) FROM generate_series(0, 2999) i, generate_series(1, 2) k;
ANALYZE parts;
CREATE TABLE copies.parts AS SELECT * FROM parts;
SELECT same('SELECT v, k, d FROM parts ORDER BY v DESC NULLS LAST, k, d LIMIT 10');
SELECT trips('SELECT v, k, d FROM parts ORDER BY v DESC NULLS LAST, k, d LIMIT 10');
