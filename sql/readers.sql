--
-- Tests that both readers of a bucket's points return the same rows and groups,
-- and which of them EXPLAIN says has read.
--
\set suite readers
\i sql/include/suite.sql

\pset format unaligned
\pset tuples_only on

\i sql/include/readers.sql

-- Documents of one type, one that has integers too, and one with a type that is
-- not read at once
CREATE FOREIGN TABLE slots (
  d     timestamptz,
  host  text,
  v     float8 OPTIONS (field 'v.{minute}')
) SERVER readers;
INSERT INTO slots SELECT timestamptz '2024-03-10 00:00Z' + i * interval '1 minute', 'h', i / 8.0
  FROM generate_series(0, 1199) i;
CALL put('slots', '[
  {"d": {"$date": "2024-03-11T00:00:00Z"}, "host": "mixed", "v": {"0": 1.5, "1": 2, "7": null, "9": {"$numberLong": "9007199254740992"}}},
  {"d": {"$date": "2024-03-11T01:00:00Z"}, "host": "decimal", "v": {"0": 1.5, "1": {"$numberDecimal": "2"}}}]');
SELECT readers('SELECT * FROM slots');
SELECT readers('SELECT * FROM slots WHERE host = ''mixed''');
SELECT readers('SELECT * FROM slots WHERE host = ''decimal''');
SELECT readers('SELECT date_trunc(''hour'', d), sum(v) FROM slots GROUP BY 1');
SELECT readers('SELECT * FROM slots WHERE host = ''none''');
SET mongo_ts_fdw.enable_column_reader = off;
SELECT * FROM plan('SELECT * FROM slots', ', ANALYZE, VERBOSE');
RESET mongo_ts_fdw.enable_column_reader;
-- no type of words has all of these values
CALL put('slots', '[{"d": {"$date": "2024-03-11T02:00:00Z"}, "host": "large", "v": {"0": 1.5, "1": {"$numberLong": "9007199254740993"}}}]');
SELECT try('SELECT * FROM slots WHERE host = ''large''');
SELECT mongo_ts_command(:'suite', '{"delete": "slots", "deletes": [{"q": {"host": "large"}, "limit": 1}]}')->'n';

-- Documents that are rows are read in columns for groups only
CREATE FOREIGN TABLE flat (ts timestamptz, host text, v float8) SERVER readers;
INSERT INTO flat SELECT timestamptz '2024-03-10 00:00Z' + i * interval '1 minute', 'h' || i % 3, i / 8.0
  FROM generate_series(0, 999) i;
SELECT readers('SELECT host, sum(v) FROM flat GROUP BY host');
SELECT readers('SELECT * FROM flat');

-- Points with columns that are not numbers: their values tell series apart.
-- Some points lack some, or have null.  Two buckets have decimals.
CREATE FOREIGN TABLE samples (
  d      timestamptz OPTIONS (field 's[].t', role 'time'),
  host   text,
  state  text OPTIONS (field 's[].state'),
  ok     boolean OPTIONS (field 's[].ok'),
  n      int OPTIONS (field 's[].n'),
  big    bigint OPTIONS (field 's[].big'),
  v      float8 OPTIONS (field 's[].v'),
  due    timestamptz OPTIONS (field 's[].due'),
  note   text OPTIONS (field 's[].note')
) SERVER readers OPTIONS (bucket_time_field 'day', bucket_span '1 day');
SELECT json_agg(json_build_object('host', 'h' || day % 2,
         'day', json_build_object('$date', to_char(timestamp '2024-03-10' + day * interval '1 day', 'YYYY-MM-DD"T"00:00:00"Z"')),
         's', (SELECT json_agg(json_strip_nulls(json_build_object(
             't', json_build_object('$date', to_char(timestamp '2024-03-10' + day * interval '1 day' + i * interval '3 minutes', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')),
             'state', (array['ok', 'down', 'idle', NULL, 'ok'])[1 + (i / 7) % 5],
             'ok', CASE WHEN i % 11 > 0 THEN i % 3 = 0 END,
             'n', CASE WHEN i % 13 > 0 THEN i % 10 - 3 END,
             'big', json_build_object('$numberLong', (i * 10000000000)::text),
             'v', CASE i % 50 WHEN 49 THEN json_build_object('$numberDouble', 'NaN') WHEN 48 THEN NULL
               WHEN 47 THEN CASE WHEN day > 7 THEN json_build_object('$numberDecimal', (i / 4.0)::text) ELSE to_json(i / 4.0) END
               ELSE to_json(i / 4.0) END,
             'due', json_build_object('$date', to_char(timestamp '2024-06-10' + i * interval '1 hour', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')),
             'note', 'note ' || day || '-' || i))) FROM generate_series(0, 299) i))) AS documents
  FROM generate_series(0, 9) day \gset
CALL put('samples', :'documents');
CALL put('samples', '[{"_id": 9, "host": "h9", "day": {"$date": "2024-05-01T00:00:00Z"}, "s": [
  {"t": {"$date": "2024-05-01T00:00:00Z"}, "state": "ok", "n": 1, "v": {"$numberDouble": "-0.0"}},
  {"t": {"$date": "2024-05-01T00:00:01Z"}, "state": null, "ok": true, "n": 2, "v": 3}, {}]}]');
SELECT query, readers(query) FROM (VALUES
  ('SELECT d, host, v FROM samples'),
  ('SELECT d, state, v FROM samples'),
  ('SELECT d, state, ok, n, v, due FROM samples WHERE host = ''h1'''),
  ('SELECT state, count(*), sum(n), max(due) FROM samples GROUP BY state'),
  ('SELECT state, ok, host, count(v), min(big) FROM samples GROUP BY state, ok, host'),
  ('SELECT n, count(*), sum(n), avg(v) FROM samples WHERE v < 60 GROUP BY n'),
  ('SELECT date_trunc(''hour'', d), state, count(*) FROM samples GROUP BY 1, 2'),
  ('SELECT upper(state), count(*) FROM samples WHERE state <> ''idle'' GROUP BY 1'),
  -- each point is of another series
  ('SELECT d, note FROM samples'),
  ('SELECT note, count(v) FROM samples GROUP BY note'),
  ('SELECT v, count(*) FROM samples GROUP BY v')) AS queries(query);

-- Conditions that are evaluated before there are rows
SELECT condition, readers('SELECT * FROM samples WHERE ' || condition),
    readers('SELECT d, v FROM samples WHERE ' || condition),
    readers('SELECT state, count(*), count(v) AS values FROM samples WHERE ' || condition || ' GROUP BY state')
  FROM (VALUES ('v > 70'), ('v >= 70'), ('v = 3'), ('v < 1'), ('v <= 0'), ('v <> 3'), ('70 < v'), ('v = ''NaN'''), ('v > ''NaN'''),
  ('v < ''NaN'''), ('v = 0'), ('n > 5'), ('n <> 2'), ('n = 2::smallint'), ('n < 3000000000'), ('5 >= n'), ('big > 2980000000000'), ('big = 0'),
  ('due >= ''2024-06-22 00:00Z'''), ('due = ''2024-06-10 05:00Z'''), ('state = ''ok'''), ('''down'' = state'), ('state <> ''ok'''), ('ok'), ('ok = false'),
  ('state = ''ok'' AND v > 60 AND n <= 0'), ('v > 1000'), ('v > n'), ('v > 70 OR n = 1'), ('v IS NULL AND n > 3'),
  ('host = ''h9'' AND v = 0'), ('note = ''note 3-7''')) AS conditions(condition);
-- the rows that are removed are counted
SELECT * FROM plan('SELECT d, v FROM samples WHERE v > 74.5', ', ANALYZE');
SELECT * FROM plan('SELECT count(*) FROM samples WHERE v > 74.5', ', ANALYZE');
SELECT d, v FROM samples WHERE v > 74.5 AND host = 'h1' ORDER BY d LIMIT 3;
-- one that few points fulfil does not end the reading of series
CREATE FOREIGN TABLE hours (d timestamptz OPTIONS (field 's[].t', role 'time'), state text OPTIONS (field 's[].state'), v float8 OPTIONS (field 's[].v'))
  SERVER readers OPTIONS (bucket_time_field 'hour', bucket_span '1 hour');
SELECT json_agg(json_build_object(
        'hour', json_build_object('$date', to_char(timestamp '2024-03-10' + hour * interval '1 hour', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')),
        's', (SELECT json_agg(json_build_object(
            't', json_build_object('$date', to_char(timestamp '2024-03-10' + hour * interval '1 hour' + i * interval '1 minute', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')),
            'state', 's' || i % 2, 'v', i / 4.0)) FROM generate_series(0, 59) i))) AS documents
  FROM generate_series(0, 23) hour \gset
CALL put('hours', :'documents');
SELECT * FROM plan('SELECT state, count(*) FROM hours WHERE v > 14 GROUP BY state', ', ANALYZE');
-- values of parameters, which change
PREPARE above(float8, text) AS SELECT count(*), min(v), count(DISTINCT d) FROM samples WHERE v > $1 AND state = $2;
SET plan_cache_mode = force_generic_plan;
EXECUTE above(70, 'ok');
EXECUTE above(10, 'down');
EXECUTE above(NULL, 'down');
EXECUTE above(1, NULL);
RESET plan_cache_mode;
-- a volatile condition sees all points
CREATE SEQUENCE seen;
CREATE FUNCTION see() RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS 'BEGIN RETURN nextval(''seen'') > 0; END';
SELECT count(*) FROM samples WHERE see() AND v > 1 AND host = 'h9';
SELECT last_value FROM seen;
-- the input function of a type names the point
CREATE FOREIGN TABLE numbers (d timestamptz OPTIONS (field 's[].t'), host text, state int OPTIONS (field 's[].state'))
  SERVER readers OPTIONS (collection 'samples', bucket_time_field 'day', bucket_span '1 day');
SELECT state, count(*) FROM numbers WHERE host = 'h9' GROUP BY state;
-- a scan that has not begun to read has no memory for points
CREATE TABLE wide (d timestamptz, host text, v float8, a float8, b float8, c float8) PARTITION BY LIST (host);
DO $$ BEGIN
  FOR i IN 1 .. 20 LOOP
    EXECUTE format('CREATE FOREIGN TABLE wide%s (d timestamptz, host text, v float8 OPTIONS (field ''v.{minute}''),
      a float8 OPTIONS (field ''a.{minute}''), b float8 OPTIONS (field ''b.{minute}''), c float8 OPTIONS (field ''c.{minute}''))
      SERVER readers', i);
    EXECUTE format('ALTER TABLE wide ATTACH PARTITION wide%s FOR VALUES IN (''h%1$s'')', i);
  END LOOP;
END $$;
SET enable_partitionwise_aggregate = on;
BEGIN;
DECLARE groups CURSOR FOR SELECT host, max(v), max(a), max(b), max(c) FROM wide GROUP BY host;
SELECT sum(total_bytes) < 6e6 AS is_small FROM pg_backend_memory_contexts WHERE name = 'ExecutorState';
ROLLBACK;
RESET enable_partitionwise_aggregate;

-- Documents of thousands of series: each has some that are new and lacks some
-- of the one before, so that in the end more are known than are remembered
CREATE FOREIGN TABLE thousands (
  d     timestamptz,
  host  int,
  site  text,
  v     float8 OPTIONS (field 'v.{host}')
) SERVER readers OPTIONS (bucket_span '1 minute');
INSERT INTO thousands SELECT timestamptz '2024-03-10 00:00Z' + m * interval '1 minute', 4000 * m + h, 'site ' || m % 2, m + h / 8.0
  FROM generate_series(0, 11) m, generate_series(1, 6000) h;
SELECT readers('SELECT * FROM thousands');
SELECT readers('SELECT DISTINCT ON (host) * FROM thousands ORDER BY host, d DESC');
SELECT readers('SELECT DISTINCT ON (host) * FROM thousands ORDER BY host, d');
SELECT readers('SELECT host, avg(v), count(*) FROM thousands GROUP BY host');
SELECT readers('SELECT site, host, count(*) FROM thousands GROUP BY site, host');
SELECT readers('SELECT host, count(*) FROM thousands WHERE site = ''site 1'' OR host < 7 GROUP BY host');
SELECT readers('SELECT host % 7, max(d), count(v) FROM thousands GROUP BY 1');

-- Columns whose values are not words are read beside the others.  Stored types
-- change from bucket to bucket: two columns go back to words in different ones.
CREATE FOREIGN TABLE odd (
  d      timestamptz,
  host   text,
  a      smallint OPTIONS (field 'v.{minute}.a'),
  b      smallint OPTIONS (field 'v.{minute}.b'),
  n      numeric OPTIONS (field 'v.{minute}.n'),
  j      jsonb OPTIONS (field 'v.{minute}.j'),
  t      varchar(10) OPTIONS (field 'v.{minute}.t'),
  v      float8 OPTIONS (field 'v.{minute}.v')
) SERVER readers;
CALL put('odd', '[
  {"d": {"$date": "2024-03-10T00:00:00Z"}, "host": "a", "v": {"0": {"a": 1, "b": 1, "n": 1, "j": 1, "t": "one", "v": 1.5}, "1": {"a": {"$numberDouble": "2.0"}, "b": 1, "n": {"$numberDouble": "1.50"}, "j": {"$numberDouble": "1.0"}, "v": 2}}},
  {"d": {"$date": "2024-03-10T01:00:00Z"}, "host": "b", "v": {"0": {"a": {"$numberDouble": "3.0"}, "b": {"$numberDouble": "4.0"}, "n": {"$numberDecimal": "2.50"}, "j": {"x": 1}, "t": "two", "v": 3}}},
  {"d": {"$date": "2024-03-10T02:00:00Z"}, "host": "c", "v": {"0": {"a": 5, "b": 6, "n": {"$numberDecimal": "1E-7"}, "j": null, "t": null, "v": 4}, "3": {"n": {"$numberDouble": "0.1"}, "t": "2024-03-10"}}},
  {"d": {"$date": "2024-03-10T03:00:00Z"}, "host": "a", "v": {"0": {"a": {"$numberDouble": "7.0"}, "b": {"$numberDouble": "8.0"}, "n": {"$numberLong": "7"}, "j": [1, "x"], "t": "one", "v": 5}}}]');
SELECT query, readers(query) FROM (VALUES
  ('SELECT * FROM odd'), ('SELECT d, v FROM odd'), ('SELECT d, n, v FROM odd'), ('SELECT * FROM odd ORDER BY d'),
  ('SELECT * FROM odd WHERE t = ''one'''), ('SELECT d FROM odd WHERE n > 1.5'), ('SELECT d, n FROM odd WHERE j IS NULL'),
  ('SELECT host, sum(n) AS n, max(t), count(j), sum(a), min(b) FROM odd GROUP BY host'),
  ('SELECT n, count(*) FROM odd GROUP BY n'), ('SELECT t, sum(n) FROM odd GROUP BY t'),
  ('SELECT DISTINCT ON (host) * FROM odd ORDER BY host, d DESC')) AS queries(query);
SELECT a, b, n, j, t, v FROM odd ORDER BY d;
-- a value that is invalid is an error, and names its point, also where a
-- condition removes that
CALL put('odd', '[{"_id": 1, "d": {"$date": "2024-03-11T00:00:00Z"}, "host": "x", "v": {"0": {"t": "ok", "v": 1}, "4": {"t": "longer than that", "v": -1}}}]');
SELECT try('SELECT * FROM odd WHERE host = ''x''');
SELECT try('SELECT d, t FROM odd WHERE host = ''x'' AND v > 0');
SELECT try('SELECT sum(v), max(t) FROM odd WHERE host = ''x'' AND v > 0');
CALL put('odd', '[{"_id": 2, "d": {"$date": "2024-03-11T00:00:00Z"}, "host": "y", "v": {"0": {"n": 1, "v": 1}, "4": {"n": "no number", "v": -1}}}]');
SELECT * FROM odd WHERE host = 'y';
SELECT mongo_ts_command(:'suite', '{"delete": "odd", "deletes": [{"q": {"_id": 2}, "limit": 1}]}')->'n';
ALTER FOREIGN TABLE odd OPTIONS (ADD on_invalid 'skip');
SET client_min_messages = error;
SELECT query, readers(query) FROM (VALUES
  ('SELECT * FROM odd'), ('SELECT d, t FROM odd WHERE v > 0'), ('SELECT host, sum(n), count(*) FROM odd GROUP BY host'),
  ('SELECT d, host, t FROM odd ORDER BY d')) AS queries(query);
RESET client_min_messages;

-- Long texts that are all different are no keys
CREATE FOREIGN TABLE messages (
  d     timestamptz OPTIONS (field 's[].t', role 'time'),
  text  text OPTIONS (field 's[].text'),
  v     float8 OPTIONS (field 's[].v')
) SERVER readers OPTIONS (bucket_time_field 'hour', bucket_span '1 hour');
SELECT json_agg(json_build_object(
        'hour', json_build_object('$date', to_char(timestamp '2024-03-10' + hour * interval '1 hour', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')),
        's', (SELECT json_agg(json_build_object(
            't', json_build_object('$date', to_char(timestamp '2024-03-10' + hour * interval '1 hour' + i * interval '1 minute', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')),
            'text', CASE WHEN hour = 0 AND i < 3 THEN 'short' ELSE repeat(hour || '-' || i || ' ', 1000) END, 'v', i / 4.0)) FROM generate_series(0, 59) i))) AS documents
  FROM generate_series(0, 5) hour \gset
CALL put('messages', :'documents');
SELECT query, readers(query) FROM (VALUES
  ('SELECT * FROM messages'), ('SELECT * FROM messages ORDER BY d'), ('SELECT max(text), sum(v) FROM messages'),
  ('SELECT text, sum(v) FROM messages GROUP BY text'), ('SELECT * FROM messages WHERE text LIKE ''1-1%''')) AS queries(query);

-- A type of the time that does not hold all instants: rows, and documents that
-- are rows
CREATE FOREIGN TABLE days (
  d     date OPTIONS (field 's[].t', role 'time'),
  v     float8 OPTIONS (field 's[].v')
) SERVER readers OPTIONS (bucket_time_field 'month', bucket_span '1 month');
CALL put('days', '[
  {"month": {"$date": "2024-03-01T00:00:00Z"}, "s": [{"t": {"$date": "2024-03-01T00:00:00Z"}, "v": 1}, {"t": {"$date": "2024-03-02T00:00:00Z"}, "v": 7}]},
  {"month": {"$date": "2024-04-01T00:00:00Z"}, "s": [{"t": {"$date": "2024-04-01T00:00:00Z"}, "v": 9}, {"t": {"$date": "2024-04-02T12:00:00Z"}, "v": 0}]}]');
SELECT try('SELECT d, v FROM days WHERE v > 5');
SELECT try('SELECT sum(v) FROM days WHERE v > 5');
ALTER FOREIGN TABLE days OPTIONS (ADD on_invalid 'skip');
SET client_min_messages = error;
SELECT query, readers(query) FROM (VALUES
  ('SELECT * FROM days'), ('SELECT d, v FROM days WHERE v > 5'), ('SELECT max(d), sum(v) FROM days WHERE v > 5')) AS queries(query);
CREATE FOREIGN TABLE seconds (ts timestamptz(0), host text, v float8) SERVER readers OPTIONS (on_invalid 'skip');
CALL put('seconds', '[
  {"ts": {"$date": "2024-03-10T00:00:00Z"}, "host": "a", "v": 1}, {"ts": {"$date": "2024-03-10T00:00:01.500Z"}, "host": "a", "v": 2},
  {"ts": {"$date": "2024-03-10T00:00:02Z"}, "host": "b", "v": 4}, {"ts": {"$date": "2024-03-10T00:00:03Z"}, "host": "a", "v": 8}]');
SELECT * FROM plan('SELECT * FROM days', ', ANALYZE, VERBOSE');
SELECT readers('SELECT host, sum(v), max(ts) FROM seconds GROUP BY host');
SELECT sum(v) FROM seconds;
RESET client_min_messages;

-- Doubles and decimals are numerics of the same digits
CREATE FOREIGN TABLE doubles (d timestamptz, n numeric OPTIONS (field 'v.{minute}')) SERVER readers OPTIONS (collection 'digits', on_invalid 'skip');
CREATE FOREIGN TABLE digits (d timestamptz, v float8 OPTIONS (field 'v.{minute}')) SERVER readers;
INSERT INTO digits SELECT timestamptz '2024-03-10 00:00Z' + i * interval '1 minute', x
  FROM (SELECT row_number() OVER () AS i, x FROM (
    SELECT (k * 37 % 100003 - 50000) / 10.0 ^ (k % 10) AS x FROM generate_series(0, 999) k
    UNION ALL SELECT unnest(array[0.1 + 0.2, 1e15, 1e22, 123456789012345.6, -0.0, 5e-324, 1e-7, 999999999999999, 0.30000000000000004])) x) y;
SELECT count(*), count(*) FILTER (WHERE n <> v::text::numeric) AS differ, count(*) FILTER (WHERE scale(n) <> greatest(scale(trim_scale(n)), 0)) AS scaled
  FROM doubles JOIN digits USING (d) WHERE v <> 5e-324;
