--
-- Tests skip scans, which read the first row of each series.  FerretDB does not
-- skip through an index.
--
\set suite last_points
\i sql/include/suite.sql

\pset format unaligned
\pset tuples_only on
\i sql/include/copies.sql

-- The first rows of each series
CREATE FOREIGN TABLE days (
  ts timestamptz, site text COLLATE "C", sensor int, v int OPTIONS (field 'h.{hour}.{second}')
) SERVER last_points OPTIONS (collection 'days');
INSERT INTO days SELECT timestamptz '2024-03-01 00:00Z' + i * interval '1 hour 3 seconds', s, k, i
  FROM generate_series(0, 99) i, unnest('{a,b,NULL}'::text[]) s, unnest('{1,2,NULL}'::int[]) k;
CREATE TABLE copies.days AS SELECT * FROM days;
SELECT mongo_ts_create_index('days');
SELECT trips('SELECT DISTINCT ON (site, sensor) * FROM days ORDER BY site, sensor, ts DESC');
-- as if it were large
UPDATE pg_class SET reltuples = 1e10, relpages = 1e8 WHERE oid = 'days'::regclass;
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (site, sensor) * FROM days ORDER BY site, sensor, ts DESC;
SELECT trips('SELECT DISTINCT ON (site, sensor) * FROM days ORDER BY site, sensor, ts DESC');
SELECT same('SELECT DISTINCT ON (site, sensor) * FROM days ORDER BY site, sensor, ts DESC');
SELECT same('SELECT DISTINCT ON (site, sensor) * FROM days ORDER BY site DESC, sensor NULLS FIRST, ts');
SELECT same('SELECT DISTINCT ON (site) site, ts, sensor FROM days ORDER BY site NULLS FIRST, ts DESC, sensor');
SELECT same('SELECT DISTINCT ON (sensor) sensor, v + 1 FROM days WHERE site >= ''a'' AND ts >= ''2024-03-02'' ORDER BY sensor DESC, ts, site');
SELECT same('SELECT DISTINCT ON (sensor) * FROM days WHERE site = ''b'' AND ts < ''2024-03-02'' ORDER BY sensor, ts');
SELECT same('SELECT DISTINCT ON (site) * FROM days WHERE v > 50 ORDER BY site, ts, sensor');
SELECT trips('SELECT DISTINCT site FROM days');
SELECT same('SELECT DISTINCT sensor FROM days WHERE ts > ''2024-03-05'' ORDER BY sensor DESC');
SELECT same('SELECT DISTINCT sensor, site FROM days ORDER BY site, sensor');
SELECT same('SELECT DISTINCT ON (site) site, generate_series(1, 2) FROM days ORDER BY site, ts');
SELECT same('SELECT DISTINCT site, generate_series(1, 2) g FROM days ORDER BY site, g');
SELECT same('SELECT DISTINCT ON (site) * FROM days ORDER BY site, sensor, ts LIMIT 2');
SELECT same('SELECT * FROM (SELECT DISTINCT ON (sensor) * FROM days WHERE site = ''a'' ORDER BY sensor, ts DESC) t WHERE v >= 99');

-- Series whose keys sort differently in MongoDB, or whose values may be
-- skipped
CREATE FOREIGN TABLE plain (
  ts timestamptz, site text, kind varchar(9) COLLATE "C", v int OPTIONS (field 'h.{hour}')
) SERVER last_points;
INSERT INTO plain SELECT timestamptz '2024-03-01 00:00Z' + i * interval '1 hour', s, upper(s), i
  FROM generate_series(0, 99) i, unnest('{b,A,a,B,ä,NULL}'::text[]) s;
CREATE TABLE copies.plain AS SELECT * FROM plain;
SELECT mongo_ts_create_index('plain');
UPDATE pg_class SET reltuples = 1e10, relpages = 1e8 WHERE oid = 'plain'::regclass;
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (site) * FROM plain ORDER BY site, ts DESC;
SELECT same('SELECT DISTINCT ON (site) * FROM plain ORDER BY site, ts DESC');
SELECT same('SELECT DISTINCT ON (site COLLATE "en-x-icu") * FROM plain ORDER BY site COLLATE "en-x-icu" DESC NULLS LAST, ts LIMIT 4');
SELECT same('SELECT DISTINCT site FROM plain ORDER BY site');
SELECT same('SELECT * FROM plain ORDER BY kind, ts, site');
ALTER FOREIGN TABLE plain OPTIONS (ADD on_invalid 'skip');
CALL put('plain', '[{"ts": {"$date": "2024-03-10T00:00:00Z"}, "site": "a", "kind": 5, "h": {"7": 1}}]');
SET client_min_messages = error;
SELECT same('SELECT DISTINCT ON (kind) kind, ts, v FROM plain ORDER BY kind, ts DESC');
SELECT same('SELECT DISTINCT kind FROM plain ORDER BY 1');
RESET client_min_messages;

-- The first buckets of many series are asked for at once, and then whether
-- other buckets can hold the last point: of host 7 another bucket begins at the
-- same time, of 8 later points are in the bucket before the last one, which is
-- empty for 9, and 11 is behind the others.  Two documents have the key 12 in
-- different types.
CREATE FOREIGN TABLE fleet (
  ts timestamptz, host int, v int OPTIONS (field 'v.{second}')
) SERVER last_points OPTIONS (fetch_size '150');
INSERT INTO fleet SELECT timestamptz '2024-03-10 00:00Z' + i * interval '7 seconds', h, i FROM generate_series(0, 19) i, generate_series(1, 400) h
  WHERE i < 9 OR h <> 11;
CALL put('fleet', '[{"ts": {"$date": "2024-03-10T00:02:00Z"}, "host": 7, "v": {"20": 100}}, {"ts": {"$date": "2024-03-10T00:01:30Z"}, "host": 8, "v": {"55": 101}},
  {"ts": {"$date": "2024-03-10T00:03:00Z"}, "host": 9, "v": {"7": null}}, {"ts": {"$date": "2024-03-10T00:03:00Z"}, "host": 9, "v": {}},
  {"ts": {"$date": "2024-03-10T00:02:00Z"}, "v": {"1": 102}}, {"ts": {"$date": "2024-03-10T00:01:59Z"}, "host": null, "v": {"3": 103}},
  {"ts": {"$date": "2024-03-10T00:02:00Z"}, "host": 12.0, "v": {"30": 104}}]');
CREATE TABLE copies.fleet AS SELECT * FROM fleet;
ANALYZE fleet;
UPDATE pg_class SET reltuples = 1e7, relpages = 1e6 WHERE oid = 'fleet'::regclass;
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (host) * FROM fleet ORDER BY host, ts DESC;
SELECT mongo_ts_command('last_points', '{"createIndexes": "fleet", "indexes": [{"key": {"host": 1, "ts": 1}, "name": "host_ts"}]}')->'ok';
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (host) * FROM fleet ORDER BY host, ts DESC;
SELECT plan('SELECT DISTINCT ON (host) * FROM fleet ORDER BY host, ts DESC', ', VERBOSE');
CREATE FUNCTION last_of_fleet() RETURNS SETOF text LANGUAGE sql AS $$
  SELECT concat_ws(': ', query, trips(query), same(query)) FROM (VALUES
    ('SELECT DISTINCT ON (host) * FROM fleet ORDER BY host, ts DESC'),
    ('SELECT DISTINCT ON (host) * FROM fleet ORDER BY host DESC, ts'),
    ('SELECT DISTINCT ON (host) * FROM fleet WHERE ts < ''2024-03-10 00:02:10Z'' ORDER BY host, ts DESC'),
    ('SELECT DISTINCT ON (host) * FROM fleet WHERE host BETWEEN 5 AND 12 AND ts BETWEEN ''2024-03-10 00:01Z'' AND ''2024-03-10 00:02:05Z'' ORDER BY host, ts DESC'),
    ('SELECT DISTINCT host FROM fleet ORDER BY host')) q (query)
$$;
SELECT last_of_fleet();
SELECT mongo_ts_command('last_points', '{"dropIndexes": "fleet", "index": "host_ts"}')->'ok';
SELECT mongo_ts_command('last_points', '{"createIndexes": "fleet", "indexes": [{"key": {"host": 1, "ts": -1}, "name": "host_ts"}]}')->'ok';
SELECT last_of_fleet();
-- The greatest time of a series is that of its last row.
CREATE FUNCTION times_of_fleet() RETURNS SETOF text LANGUAGE sql AS $$
  SELECT concat_ws(': ', query, regexp_replace(same(query), '^[^,]*, ', '')) FROM (VALUES
    ('SELECT host, max(ts) FROM fleet GROUP BY host ORDER BY host'),
    ('SELECT host, min(ts) + interval ''1 s'' FROM fleet GROUP BY host ORDER BY host DESC NULLS LAST'),
    ('SELECT max(ts) FROM fleet WHERE ts < ''2024-03-10 00:02:10Z'' GROUP BY host HAVING max(ts) > ''2024-03-10 00:01Z'' ORDER BY host'),
    ('SELECT host FROM fleet GROUP BY host ORDER BY host'),
    ('SELECT host, max(ts), min(ts) FROM fleet GROUP BY host ORDER BY host'),
    ('SELECT host, max(ts) FILTER (WHERE v < 9) FROM fleet GROUP BY host ORDER BY host'),
    ('SELECT host, max(ts), count(*) FROM fleet GROUP BY host ORDER BY host')) q (query)
$$;
SELECT times_of_fleet();
-- a parameter may be anything
PREPARE last_before(timestamptz) AS SELECT DISTINCT ON (host) * FROM fleet WHERE ts < $1 ORDER BY host, ts DESC;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE last_before('2024-03-10 00:02:05Z');
RESET plan_cache_mode;
EXPLAIN (COSTS OFF) EXECUTE last_before('2024-03-10 00:02:05Z');
-- a few series are asked for one after the other
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (host) * FROM fleet ORDER BY host, ts DESC LIMIT 1;

-- Documents that are rows may have no time.  These are asked for first, of each
-- series.
CREATE FOREIGN TABLE notes (ts timestamptz, host text OPTIONS (role 'key') COLLATE "C", v int) SERVER last_points;
INSERT INTO notes SELECT timestamptz '2024-03-10 00:00Z' + i / 3 * interval '1 minute', 'h' || i % 3, i FROM generate_series(0, 899) i;
SELECT mongo_ts_command('last_points', '{"createIndexes": "notes", "indexes": [{"key": {"host": 1, "ts": 1}, "name": "host_ts"}]}')->'ok';
ANALYZE notes;
UPDATE pg_class SET reltuples = 900000 WHERE oid = 'notes'::regclass;
CREATE TABLE copies.notes AS TABLE notes;
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (host) * FROM notes ORDER BY host, ts DESC;
CREATE FUNCTION times_of_notes() RETURNS SETOF text LANGUAGE sql AS $$
  SELECT concat_ws(': ', query, regexp_replace(same(query), '^[^,]*, ', '')) FROM (VALUES
    ('SELECT host, max(ts) FROM notes GROUP BY host ORDER BY host'),
    ('SELECT host, min(ts) FROM notes GROUP BY host ORDER BY host')) q (query)
$$;
CREATE FUNCTION last_notes() RETURNS SETOF text LANGUAGE sql AS $$
  SELECT concat_ws(': ', query, trips(query), same(query)) FROM (VALUES
    ('SELECT DISTINCT ON (host) host, ts FROM notes ORDER BY host, ts DESC'),
    ('SELECT DISTINCT ON (host) host, ts FROM notes ORDER BY host, ts DESC NULLS LAST'),
    ('SELECT DISTINCT ON (host) host, ts FROM notes ORDER BY host, ts'),
    ('SELECT DISTINCT ON (host) * FROM notes ORDER BY host, ts DESC, v')) q (query)
$$;
SELECT last_notes();
CALL put('notes', '[{"host": "h1", "v": 1001}, {"host": "h2", "ts": null, "v": 1002}, {"v": 1003}, {"host": "h1", "v": 1004},
  {"ts": {"$date": "2024-03-01T00:00:00Z"}, "v": 1005}]');
TRUNCATE copies.notes;
INSERT INTO copies.notes TABLE notes;
SELECT last_notes();
CALL put('notes', '[{"host": "timeless", "v": 1006}]');
INSERT INTO copies.notes (host, v) VALUES ('timeless', 1006);
SELECT times_of_notes();

-- A skip scan requires an index on the keys.
CREATE FOREIGN TABLE lines (ts timestamptz, host int, v int) SERVER last_points;
INSERT INTO lines SELECT timestamptz '2024-03-10 00:00Z' + i / 3 * interval '1 minute', i % 3, i FROM generate_series(0, 299) i;
ANALYZE lines;
UPDATE pg_class SET reltuples = 1e8 WHERE oid = 'lines'::regclass;
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (host) * FROM lines ORDER BY host, ts DESC;
ALTER FOREIGN TABLE lines ALTER host OPTIONS (ADD role 'key');
SELECT mongo_ts_create_index('lines');
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (host) * FROM lines ORDER BY host, ts DESC;
