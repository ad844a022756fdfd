--
-- Tests foreign tables with other features of SQL.
--
\set suite statements
\i sql/include/suite.sql

CREATE FOREIGN TABLE metrics (
  ts     timestamptz,
  device text,
  value  int OPTIONS (field 'values.{minute}')
) SERVER statements;
CALL put('metrics', '[
  {"ts": {"$date": "2020-01-01T00:00:00Z"}, "device": "a", "values": {"0": 1, "1": 2, "59": 3}},
  {"ts": {"$date": "2020-01-01T01:00:00Z"}, "device": "a", "values": {"0": 4, "30": 5}},
  {"ts": {"$date": "2020-01-01T00:00:00Z"}, "device": "b", "values": {"0": 10, "1": null}},
  {"ts": {"$date": "2020-01-01T01:00:00Z"}, "device": "c", "values": {"0": 20}}]');
CREATE TABLE devices (device text PRIMARY KEY, owner text, since timestamptz);
INSERT INTO devices VALUES ('a', 'Ann', '2020-01-01 00:01'), ('b', 'Bob', '2020-01-01 00:01'), ('d', 'Dan', '2020-01-01');
ANALYZE devices;

-- Views: the rights and the mapping are the owner's.
CREATE VIEW hourly AS
  SELECT date_trunc('hour', ts) AS hour, device, count(*), count(value) AS n, sum(value), avg(value)::numeric(6,2)
    FROM metrics GROUP BY 1, 2;
SELECT * FROM hourly ORDER BY hour, device;
CREATE ROLE regress_mts_reader;
GRANT USAGE ON SCHEMA statements TO regress_mts_reader;
GRANT SELECT ON hourly TO regress_mts_reader;
SET ROLE regress_mts_reader;
SELECT * FROM hourly WHERE device = 'a' ORDER BY hour;
SELECT * FROM metrics;
RESET ROLE;
GRANT SELECT ON metrics TO regress_mts_reader;
SET ROLE regress_mts_reader;
SELECT count(*) FROM metrics;
RESET ROLE;
DROP OWNED BY regress_mts_reader;
DROP ROLE regress_mts_reader;

-- Joins with local tables by each method; an outer and an anti join
SET enable_mergejoin = off;
SET enable_hashjoin = off;
SELECT m.ts, owner, value FROM metrics m JOIN devices d USING (device) ORDER BY 1, 2;
SET enable_material = off;
SELECT d.device, d.owner, count(m.*) FROM devices d LEFT JOIN metrics m ON m.device = d.device AND m.ts >= d.since
 GROUP BY 1, 2 ORDER BY 1;
RESET enable_material;
RESET enable_mergejoin;
RESET enable_hashjoin;
SELECT m.ts, owner, value FROM metrics m JOIN devices d USING (device) ORDER BY 1, 2;
SELECT device FROM devices d WHERE NOT EXISTS (SELECT FROM metrics m WHERE m.device = d.device) ORDER BY 1;
SELECT DISTINCT device FROM metrics m WHERE device NOT IN (SELECT device FROM devices) ORDER BY 1;
SELECT a.ts, a.value, b.value FROM metrics a JOIN metrics b ON a.ts = b.ts AND a.device < b.device ORDER BY 1, 2, 3;

-- Rescans with other parameters: LATERAL, correlated subqueries.
SELECT d.device, l.ts, l.value
  FROM devices d, LATERAL (SELECT * FROM metrics m WHERE m.device = d.device AND m.ts >= d.since ORDER BY ts LIMIT 1) l
 ORDER BY 1;
SELECT d.device, (SELECT max(ts) FROM metrics m WHERE m.device = d.device) AS last FROM devices d ORDER BY 1;
SELECT h, (SELECT count(*) FROM metrics WHERE ts >= h AND ts < h + interval '1 hour') AS n
  FROM generate_series('2019-12-31 23:00Z'::timestamptz, '2020-01-01 02:00Z', '1 hour') h;
SELECT buckets, points FROM reads($$SELECT h, (SELECT count(*) FROM metrics WHERE ts >= h AND ts < h + interval '1 hour') AS n
  FROM generate_series('2019-12-31 23:00Z'::timestamptz, '2020-01-01 02:00Z', '1 hour') h$$);

-- Cursors: partly fetched, closed early, held, several at once
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT ts, value FROM metrics WHERE device = 'a' ORDER BY ts;
DECLARE d CURSOR FOR SELECT value FROM metrics WHERE device = 'b' ORDER BY value;
FETCH 2 FROM c;
FETCH 1 FROM d;
FETCH 2 FROM c;
CLOSE d;
MOVE BACKWARD ALL FROM c;
FETCH 1 FROM c;
DECLARE s SCROLL CURSOR FOR SELECT count(*) FROM metrics;
FETCH ALL FROM s;
DECLARE h CURSOR WITH HOLD FOR SELECT ts, device, value FROM metrics WHERE value > 4 ORDER BY ts, device;
FETCH 1 FROM h;
COMMIT;
FETCH ALL FROM h;
CLOSE h;
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM metrics;
FETCH 1 FROM c \gset
SAVEPOINT s;
SELECT 1 / (value - 1) FROM metrics WHERE device = 'a' AND ts = '2020-01-01 00:00';
ROLLBACK TO s;
SELECT count(*) FROM metrics;
ROLLBACK;
-- The connection works after an error during a scan, and after LIMIT.
SELECT 1 / (value - 2) FROM metrics WHERE device = 'a' AND ts < '2020-01-01 00:02' ORDER BY ts;
SELECT count(*) FROM (SELECT * FROM metrics LIMIT 2) _;
SELECT count(*) FROM metrics;

DROP VIEW hourly;

-- Prepared statements see changes between their executions.
PREPARE p AS SELECT value FROM metrics WHERE device = 'a' ORDER BY ts LIMIT 2;
EXECUTE p;
CALL put('other', '[{"ts": {"$date": "2020-01-01T00:00:00Z"}, "device": "a", "values": {"0": 100}, "v2": {"0": 200}}]');
ALTER FOREIGN TABLE metrics OPTIONS (ADD collection 'other');
EXECUTE p;
ALTER FOREIGN TABLE metrics ALTER value OPTIONS (SET field 'v2.{minute}');
EXECUTE p;
ALTER FOREIGN TABLE metrics ALTER value OPTIONS (SET field 'values.{minute}');
ALTER FOREIGN TABLE metrics OPTIONS (SET collection 'metrics', ADD filter '{"device": {"$ne": "a"}}');
EXECUTE p;
ALTER FOREIGN TABLE metrics OPTIONS (DROP filter, DROP collection);
EXECUTE p;
ALTER SERVER statements OPTIONS (SET database 'mts_regress_statements_none');
EXECUTE p;
ALTER SERVER statements OPTIONS (SET database 'mts_regress_statements');
EXECUTE p;
ALTER FOREIGN TABLE metrics ALTER value TYPE text;
EXECUTE p;
ALTER FOREIGN TABLE metrics ALTER value TYPE int;
DEALLOCATE p;
PREPARE p AS SELECT * FROM metrics;
DROP FOREIGN TABLE metrics;
EXECUTE p;
DEALLOCATE p;
CREATE FOREIGN TABLE metrics (
  gone   int,
  ts     timestamptz,
  device text,
  value  int OPTIONS (field 'values.{minute}'),
  twice  int GENERATED ALWAYS AS (value * 2) STORED
) SERVER statements;

-- Dropped and generated columns, defaults, whole rows, system columns.
ALTER FOREIGN TABLE metrics DROP COLUMN gone;
ALTER FOREIGN TABLE metrics ADD COLUMN late text DEFAULT 'never used';
SELECT ts, device, value, late FROM metrics WHERE device = 'b' ORDER BY ts;
SELECT m FROM (SELECT ts, device, value FROM metrics) m WHERE device = 'b' ORDER BY ts;
ALTER FOREIGN TABLE metrics DROP COLUMN twice;
ALTER FOREIGN TABLE metrics DROP COLUMN late;
SELECT metrics FROM metrics WHERE device = 'b' ORDER BY ts;
SELECT tableoid::regclass, m.*, m IS NOT NULL AS whole FROM metrics m WHERE device = 'b' ORDER BY ts;
SELECT tableoid::regclass, count(*) FROM metrics GROUP BY 1;
SELECT ctid, xmin FROM metrics WHERE false;
SELECT row_to_json(m) FROM metrics m WHERE device = 'c';

-- Rows are copied into local tables.  FOR UPDATE does not lock foreign rows.
CREATE TABLE copied AS SELECT * FROM metrics WHERE device <> 'a';
SELECT * FROM copied ORDER BY ts, device;
INSERT INTO copied SELECT * FROM metrics WHERE device = 'a';
SELECT count(*) FROM copied;
UPDATE copied c SET value = c.value + m.value FROM metrics m WHERE m.ts = c.ts AND m.device = c.device AND m.value > 9;
SELECT device, value FROM copied WHERE value > 9 ORDER BY 1;
SELECT * FROM metrics WHERE device = 'c' FOR UPDATE;
SELECT m.value, d.owner FROM metrics m JOIN devices d USING (device) WHERE device = 'b' ORDER BY ts FOR UPDATE OF d;
COPY (SELECT * FROM metrics WHERE device = 'c') TO STDOUT;
WITH m AS MATERIALIZED (SELECT * FROM metrics) SELECT count(*) FROM m, m AS n WHERE m.ts = n.ts;
SELECT device, value, sum(value) OVER (PARTITION BY device ORDER BY ts) FROM metrics ORDER BY device, ts;
SELECT * FROM metrics TABLESAMPLE system (10);

-- A partitioned table whose partitions are collections, beside a local one.
CREATE TABLE parted (ts timestamptz NOT NULL, device text, value int) PARTITION BY RANGE (ts);
CREATE FOREIGN TABLE parted_0 PARTITION OF parted
  FOR VALUES FROM ('2020-01-01 00:00') TO ('2020-01-01 01:00') SERVER statements OPTIONS (collection 'hour_0');
CREATE FOREIGN TABLE parted_1 PARTITION OF parted
  FOR VALUES FROM ('2020-01-01 01:00') TO ('2020-01-01 02:00') SERVER statements OPTIONS (collection 'hour_1');
ALTER FOREIGN TABLE parted_0 ALTER value OPTIONS (ADD field 'values.{minute}');
ALTER FOREIGN TABLE parted_1 ALTER value OPTIONS (ADD field 'values.{minute}');
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM ('2020-01-01 02:00') TO ('2020-01-01 03:00');
CALL put('hour_0', '[{"ts": {"$date": "2020-01-01T00:00:00Z"}, "device": "a", "values": {"0": 1, "1": 2}}]');
CALL put('hour_1', '[{"ts": {"$date": "2020-01-01T01:00:00Z"}, "device": "a", "values": {"0": 3}}]');
INSERT INTO parted VALUES ('2020-01-01 02:00', 'a', 4);
SELECT tableoid::regclass, * FROM parted ORDER BY ts;
SELECT count(*), sum(value) FROM parted WHERE ts >= '2020-01-01 00:01';
SELECT buckets, points FROM reads($$SELECT * FROM parted WHERE ts >= '2020-01-01 01:00'$$);
SELECT buckets, points FROM reads($$SELECT * FROM parted WHERE device = 'a'$$);
-- An inheritance child whose columns have another order
CREATE TABLE parent (ts timestamptz, value int);
CREATE FOREIGN TABLE child (device text, value int OPTIONS (field 'values.{minute}'), ts timestamptz) SERVER statements OPTIONS (collection 'hour_0');
ALTER FOREIGN TABLE child INHERIT parent;
SELECT tableoid::regclass, * FROM parent ORDER BY ts;

-- A server without authentication: without a mapping, and with an empty one
DROP USER MAPPING FOR PUBLIC SERVER statements;
SELECT count(*) FROM metrics;
CREATE USER MAPPING FOR CURRENT_USER SERVER statements;
SELECT count(*) FROM metrics;
DROP USER MAPPING FOR CURRENT_USER SERVER statements;
-- A mapping with an unknown user is refused.
CREATE USER MAPPING FOR CURRENT_USER SERVER statements OPTIONS (username 'nobody', password 's3cret');
\set VERBOSITY sqlstate
SELECT count(*) FROM metrics;
\set VERBOSITY default
DROP USER MAPPING FOR CURRENT_USER SERVER statements;
CREATE USER MAPPING FOR PUBLIC SERVER statements;

-- Names of a table and a column that are not paths
CREATE FOREIGN TABLE "Odd.Name" (ts timestamptz, "a.b" int, "x{second}" int) SERVER statements;
CALL put('Odd.Name', '[{"ts": {"$date": "2020-01-01T00:00:00Z"}, "a.b": 1, "a": {"b": 2}, "x{second}": 3}]');
SELECT * FROM "Odd.Name";
SELECT * FROM "Odd.Name" WHERE "a.b" = 1 AND "x{second}" = 3;

-- Small batches give the same rows.
CREATE FOREIGN TABLE small (ts timestamptz, device text, value int OPTIONS (field 'values.{minute}'))
  SERVER statements OPTIONS (collection 'metrics', fetch_size '1');
SELECT count(*), sum(value) FROM small;
SELECT count(*) FROM small a, small b;

SELECT mongo_ts_command('statements', '{"dropDatabase": 1}')->'ok' AS dropped;
