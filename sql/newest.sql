--
-- Tests the newest and the oldest rows of all series, which are read in windows
-- of time by an index that has keys before it.
--
\set suite newest
\i sql/include/suite.sql

\pset format unaligned
\pset tuples_only on

\i sql/include/copies.sql

-- Another server of the same database
CREATE SERVER other FOREIGN DATA WRAPPER mongo_ts_fdw OPTIONS (uri :'uri', database :'database');
CREATE USER MAPPING FOR PUBLIC SERVER other OPTIONS (password_required 'false');
\if :{?username}
ALTER USER MAPPING FOR PUBLIC SERVER other OPTIONS (ADD username :'username', ADD password :'password');
\endif

-- Hours of eight devices, of which each ends a day before the next one.  Those of
-- the last device begin between the hours, so that they overlap others.
CREATE FOREIGN TABLE hours (
  ts timestamptz OPTIONS (field 'hour') NOT NULL, site text COLLATE "C", device int, v int OPTIONS (field 'm.{minute}')
) SERVER newest;
INSERT INTO hours SELECT timestamptz '2024-03-01 00:00Z' + d * interval '1 day' + h * interval '1 hour' + m * interval '20 min', 's' || d % 2, d, h
  FROM generate_series(0, 6) d, generate_series(0, 99) h, generate_series(0, 2) m;
SELECT mongo_ts_command('newest', json_build_object('insert', 'hours', 'documents', (
  SELECT json_agg(json_build_object('site', 's1', 'device', 7, 'm', json_build_object('0', h, '25', h, '59', h), 'hour',
    json_build_object('$date', to_char(timestamptz '2024-03-03 00:40Z' + h * interval '50 min', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))))
  FROM generate_series(0, 199) h)))->'n';
SELECT mongo_ts_create_index('hours');
CREATE TABLE copies.hours AS TABLE hours;
ANALYZE hours;

EXPLAIN (COSTS OFF) SELECT * FROM hours ORDER BY ts DESC LIMIT 10;
SELECT plan('SELECT max(ts), min(ts) FROM hours');
CREATE FUNCTION newest(tab text) RETURNS SETOF text LANGUAGE sql AS $$
  SELECT concat_ws(': ', query, regexp_replace(trips(query), ',.*', ''), same(query)) FROM unnest(ARRAY[
    'SELECT ts, device, v FROM % ORDER BY ts DESC, device, v LIMIT 10',
    'SELECT ts, device, v FROM % ORDER BY ts, device, v LIMIT 10',
    'SELECT ts, device, v FROM % ORDER BY ts DESC, device, v LIMIT 300',
    'SELECT ts, device, v FROM % ORDER BY ts, device, v LIMIT 300',
    'SELECT max(ts) FROM %',
    'SELECT min(ts), max(ts) FROM %',
    'SELECT ts FROM % WHERE site = ''s1'' ORDER BY ts DESC LIMIT 1',
    'SELECT ts FROM % WHERE device IN (2, 5) ORDER BY ts LIMIT 1',
    'SELECT max(ts) FROM % WHERE v < 50',
    'SELECT min(ts) FROM % WHERE v > 500',
    'SELECT ts, device FROM % WHERE ts < ''2024-03-05 00:35Z'' ORDER BY ts DESC, device LIMIT 3',
    'SELECT ts, device FROM % WHERE ts >= ''2024-03-05 00:35Z'' ORDER BY ts, device LIMIT 3',
    'SELECT ts, device FROM % WHERE ts > ''2025-01-01'' ORDER BY ts LIMIT 3',
    'SELECT ts FROM % ORDER BY ts DESC OFFSET 2000 LIMIT 2']) template,
    replace(template, '%', tab) query
$$;
SELECT newest('hours');

-- The last rows of some keys are among those of the index's series.
CREATE FUNCTION last_seen() RETURNS SETOF text LANGUAGE sql AS $$
  SELECT concat_ws(': ', query, regexp_replace(same(query), '^[^,]*, ', '')) FROM (VALUES
    ('SELECT device, max(ts) FROM hours GROUP BY device ORDER BY device'),
    ('SELECT device, max(ts) FROM hours WHERE ts < ''2024-03-04'' GROUP BY device ORDER BY device'),
    ('SELECT site, min(ts) FROM hours GROUP BY site ORDER BY site'),
    ('SELECT device, site, min(ts) FROM hours GROUP BY device, site ORDER BY device'),
    ('SELECT count(DISTINCT device) FROM hours'),
    ('SELECT DISTINCT ON (device) device, ts, v FROM hours ORDER BY device, ts DESC'),
    ('SELECT DISTINCT ON (site) site, device, ts, v FROM hours ORDER BY site, ts DESC, device'),
    ('SELECT DISTINCT ON (device) device, ts, v FROM hours WHERE site = ''s1'' ORDER BY device DESC, ts')) q (query)
$$;
SELECT last_seen();
-- as if it were large
UPDATE pg_class SET reltuples = 1e10, relpages = 1e8 WHERE oid = 'hours'::regclass;
SELECT last_seen();

-- Rows as documents, some without a time, and many of one time
CREATE FOREIGN TABLE rows (ts timestamptz, device text COLLATE "C", v int) SERVER newest;
INSERT INTO rows SELECT timestamptz '2024-03-01 00:00Z' + i / 8 * interval '1 minute', 'd' || i % 8, i FROM generate_series(0, 1599) i;
INSERT INTO rows SELECT timestamptz '2024-03-01 03:20Z', 'd' || i % 8, i FROM generate_series(2000, 2039) i;
CALL put('rows', '[{"device": "d1", "v": 3000}, {"device": "d2", "ts": null, "v": 3001}]');
SELECT mongo_ts_create_index('rows', '{device}');
ANALYZE rows;
CREATE TABLE copies.rows AS TABLE rows;
CREATE FUNCTION newest_rows() RETURNS SETOF text LANGUAGE sql AS $$
  SELECT concat_ws(': ', query, regexp_replace(trips(query), ',.*', ''), same(query)) FROM (VALUES
    ('SELECT * FROM rows ORDER BY ts DESC, v LIMIT 5'), ('SELECT * FROM rows ORDER BY ts DESC NULLS LAST, v LIMIT 5'),
    ('SELECT * FROM rows ORDER BY ts, v LIMIT 5'), ('SELECT * FROM rows ORDER BY ts NULLS FIRST, v LIMIT 5'),
    ('SELECT * FROM rows ORDER BY ts NULLS LAST, v OFFSET 1630 LIMIT 50'), ('SELECT * FROM rows ORDER BY ts DESC NULLS LAST, v OFFSET 1630 LIMIT 50'),
    ('SELECT max(ts) FROM rows'), ('SELECT min(ts) FROM rows WHERE v % 2 = 1'),
    ('SELECT max(ts) FROM rows WHERE v < 100')) q (query)
$$;
SELECT newest_rows();

-- The session does not learn that the index is dropped.
SELECT mongo_ts_command('other', '{"dropIndexes": "rows", "index": "*"}')->>'ok' IN ('1', 'true');
SELECT newest_rows();
