-- load.sql: creates six collections in MongoDB with different layouts, and a
-- foreign table over each of them.
--
-- The documents are the same in every run, and are sent as JSON by
-- mongo_ts_command() to MONGODB_URI.  In the end it prints a table of the
-- collections.

\set ON_ERROR_STOP on
\getenv uri MONGODB_URI
SET client_min_messages = warning;

CREATE EXTENSION mongo_ts_fdw;
CREATE SERVER mongo FOREIGN DATA WRAPPER mongo_ts_fdw
  OPTIONS (uri :'uri', database 'mongo_ts_demo');
\o /dev/null
SELECT mongo_ts_command('mongo', '{"dropDatabase": 1}');

-- ---- Functions that make and send documents
-- ----------------------------------------

-- A number between 0 and 1 that looks random, but is the same in every run.
CREATE FUNCTION pg_temp.noise(VARIADIC seed text[]) RETURNS float8 LANGUAGE sql
RETURN (hashtextextended(array_to_string(seed, ' '), 0) & 65535) / 65536.0;

-- A date in MongoDB's extended JSON.
CREATE FUNCTION pg_temp.date(t timestamptz) RETURNS json LANGUAGE sql
RETURN json_build_object('$date', to_char(t, 'YYYY-MM-DD"T"HH24:MI:SS"Z"'));

-- Insert documents, and create the index on the buckets.
CREATE FUNCTION pg_temp.store(collection text, documents json, index json)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  n int = mongo_ts_command('mongo', json_build_object(
    'insert', collection, 'documents', documents))->'n';
BEGIN
  IF n <> json_array_length(documents) THEN
    RAISE 'MongoDB stored % of % documents', n, json_array_length(documents);
  END IF;
  PERFORM mongo_ts_command('mongo', json_build_object(
    'createIndexes', collection, 'indexes', json_build_array(
      json_build_object('name', 'buckets', 'key', index))));
END $$;

-- ---- Memory: a document a minute, a slot a second ---------------------------
--
-- {timestamp_minute: ISODate("2013-10-10T14:00:00Z"), type: "memory_used",
--  num_samples: 59, total_samples: 72364580,
--  values: {"0": 1226281, "1": 1229064, .. "59": 1224812}}
--
-- The agent misses some seconds, whose slots are absent.

CREATE FOREIGN TABLE memory (
  "timestamp" timestamptz OPTIONS (field 'timestamp_minute'),
  type        text,
  value       bigint      OPTIONS (field 'values.{second}', sum_field 'total_samples')
) SERVER mongo OPTIONS (collection 'metrics', count_field 'num_samples');

WITH points AS (
  SELECT t, date_trunc('minute', t) AS minute, type,
         CASE type WHEN 'memory_used' THEN used ELSE 4194304 - used END AS value
    FROM generate_series(timestamptz '2013-10-10 00:00:00',
                         '2013-10-10 23:59:59', '1 second') AS t,
         LATERAL (SELECT (1200000 + 350000 * sin(extract(epoch FROM t) / 13751)
                          + 60000 * pg_temp.noise(t::text))::int) AS m(used),
         unnest(ARRAY['memory_used', 'memory_free']) AS type
   WHERE pg_temp.noise('gap', t::text) > 0.01
), buckets AS (
  SELECT json_build_object(
           'timestamp_minute', pg_temp.date(minute), 'type', type,
           'num_samples', count(*), 'total_samples', sum(value),
           'values', json_object_agg(extract(second FROM t)::int, value ORDER BY t)) AS b
    FROM points GROUP BY minute, type
)
SELECT pg_temp.store('metrics', json_agg(b), '{"type": 1, "timestamp_minute": 1}')
  FROM buckets;

-- ---- CPU load: a document an hour, minutes and seconds in it nested --------
--
-- {timestamp_hour: ISODate("2013-10-10T14:00:00Z"), host: "web1",
--  values: {"0": {"0": 0.42, "1": 0.44, .. "59": 0.4}, .. "59": {..}}}

CREATE FOREIGN TABLE cpu_load (
  "timestamp" timestamptz OPTIONS (field 'timestamp_hour'),
  host        text,
  load        float8      OPTIONS (field 'values.{minute}.{second}')
) SERVER mongo OPTIONS (collection 'cpu');

WITH minutes AS (
  SELECT host, date_trunc('minute', t) AS minute,
         json_object_agg(extract(second FROM t)::int,
           round((0.8 + 0.5 * sin(extract(epoch FROM t)::float8 / 9000)
                  + 0.3 * pg_temp.noise(host, t::text))::numeric, 2)) AS seconds
    FROM generate_series(timestamptz '2013-10-10 08:00:00',
                         '2013-10-10 19:59:59', '1 second') AS t,
         unnest(ARRAY['web1', 'web2']) AS host
   GROUP BY host, minute
), buckets AS (
  SELECT json_build_object(
           'timestamp_hour', pg_temp.date(date_trunc('hour', minute)), 'host', host,
           'values', json_object_agg(extract(minute FROM minute)::int, seconds
                                     ORDER BY minute)) AS b
    FROM minutes GROUP BY date_trunc('hour', minute), host
)
SELECT pg_temp.store('cpu', json_agg(b), '{"host": 1, "timestamp_hour": 1}')
  FROM buckets;

-- ---- Page views: a document a minute and page, counted up by $inc ----------
--
-- {page: "/pricing", timestamp: ISODate("2013-10-10T14:00:00Z"),
--  seconds: {"7": 2, "31": 1}}

CREATE FOREIGN TABLE page_views (
  "timestamp" timestamptz,
  page        text,
  views       int         OPTIONS (field 'seconds.{second}')
) SERVER mongo OPTIONS (collection 'views', write_mode 'increment');

WITH points AS (
  SELECT t, page, 1 + (3 * pg_temp.noise('n', page, t::text))::int AS views
    FROM generate_series(timestamptz '2013-10-10 12:00:00',
                         '2013-10-10 17:59:59', '1 second') AS t,
         (VALUES ('/', 0.09), ('/docs', 0.05), ('/pricing', 0.02)) AS p(page, rate)
   WHERE pg_temp.noise(page, t::text)
         < rate * (1 + 0.6 * sin(extract(epoch FROM t) / 5000))
), buckets AS (
  SELECT json_build_object(
           'page', page, 'timestamp', pg_temp.date(date_trunc('minute', t)),
           'seconds', json_object_agg(extract(second FROM t)::int, views ORDER BY t)) AS b
    FROM points GROUP BY page, date_trunc('minute', t)
)
SELECT pg_temp.store('views', json_agg(b), '{"page": 1, "timestamp": 1}')
  FROM buckets;

-- ---- Stocks: a document a minute and symbol, short names -------------------
--
-- {symbol: "ACME", d: ISODate("2013-10-10T14:00:00Z"),
--  p: {"0": 41.07, "1": 41.06, .. "59": 41.12}}

CREATE FOREIGN TABLE stocks (
  "timestamp" timestamptz  OPTIONS (field 'd'),
  symbol      text,
  price       numeric      OPTIONS (field 'p.{second}')
) SERVER mongo OPTIONS (collection 'prices');

WITH points AS (
  SELECT t, symbol,
         round((base * (1 + 0.01 * sin(extract(epoch FROM t) / (400 + 3 * base))
                        + 0.001 * pg_temp.noise(symbol, t::text)))::numeric, 2) AS price
    FROM generate_series(timestamptz '2013-10-10 14:00:00',
                         '2013-10-10 15:29:59', '1 second') AS t,
         (VALUES ('ACME', 41), ('GLOBEX', 118), ('HOOLI', 87), ('INITECH', 12),
                 ('UMBRELLA', 63)) AS s(symbol, base)
), buckets AS (
  SELECT json_build_object(
           'symbol', symbol, 'd', pg_temp.date(date_trunc('minute', t)),
           'p', json_object_agg(extract(second FROM t)::int, price ORDER BY t)) AS b
    FROM points GROUP BY symbol, date_trunc('minute', t)
)
SELECT pg_temp.store('prices', json_agg(b), '{"symbol": 1, "d": 1}') FROM buckets;

-- ---- Sensors: at most 200 points a document, each with its own time --------
--
-- {sensor_id: 3, day: ISODate("2013-10-10T00:00:00Z"),
--  first: 1381363216, last: 1381375177, nsamples: 200,
--  samples: [{val: 512, time: 1381363216}, {val: 518, time: 1381363289}, ..]}

CREATE FOREIGN TABLE readings (
  "timestamp" timestamptz OPTIONS (field 'samples[].time', format 'epoch'),
  sensor_id   int,
  ppm         int         OPTIONS (field 'samples[].val')
) SERVER mongo OPTIONS (collection 'sensors',
  bucket_time_field 'day', bucket_span '1 day', bucket_first_field 'first',
  bucket_last_field 'last', bucket_max_points '200', count_field 'nsamples');

WITH points AS (
  SELECT id, i, 1381363200 + 60 * i + (45 * pg_temp.noise('t', id::text, i::text))::int AS t,
         (420 + 60 * id + 150 * sin(i / 229.0 + id)
          + 40 * pg_temp.noise(id::text, i::text))::int AS ppm
    FROM generate_series(0, 1439) AS i, generate_series(1, 4) AS id
), buckets AS (
  SELECT json_build_object(
           'sensor_id', id, 'day', pg_temp.date('2013-10-10'),
           'first', min(t), 'last', max(t), 'nsamples', count(*),
           'samples', json_agg(json_build_object('val', ppm, 'time', t) ORDER BY t)) AS b
    FROM points GROUP BY id, i / 200
)
SELECT pg_temp.store('sensors', json_agg(b), '{"sensor_id": 1, "day": 1, "last": 1}')
  FROM buckets;

-- ---- Temperatures: a document an hour, a sum and a count beside the points --
--
-- {sensor_id: 2, start_date: ISODate("2013-10-10T14:00:00Z"),
--  end_date: ISODate("2013-10-10T14:59:59Z"),
--  measurements: [{timestamp: ISODate("2013-10-10T14:00:00Z"), temperature: 22.4},
--                 {timestamp: ISODate("2013-10-10T14:01:00Z"), temperature: 22.3}, ..],
--  transaction_count: 60, sum_temperature: 1341.8}

CREATE FOREIGN TABLE temperatures (
  "timestamp" timestamptz OPTIONS (field 'measurements[].timestamp'),
  sensor_id   int,
  temperature float8      OPTIONS (field 'measurements[].temperature',
                                   sum_field 'sum_temperature')
) SERVER mongo OPTIONS (collection 'temperatures',
  bucket_time_field 'start_date', bucket_span '1 hour',
  bucket_last_field 'end_date', count_field 'transaction_count');

WITH points AS (
  SELECT id, t, date_trunc('hour', t) AS hour,
         round((20 + id / 2.0 + 3 * sin(extract(epoch FROM t) / 13751 + 2)
                + 0.4 * pg_temp.noise(id::text, t::text))::numeric, 1) AS temperature
    FROM generate_series(timestamptz '2013-10-10 00:00', '2013-10-10 23:59',
                         '1 minute') AS t,
         generate_series(1, 4) AS id
), buckets AS (
  SELECT json_build_object(
           'sensor_id', id, 'start_date', pg_temp.date(hour),
           'end_date', pg_temp.date(hour + interval '59 minutes 59 seconds'),
           'measurements', json_agg(json_build_object(
              'timestamp', pg_temp.date(t), 'temperature', temperature) ORDER BY t),
           'transaction_count', count(*), 'sum_temperature', sum(temperature)) AS b
    FROM points GROUP BY id, hour
)
SELECT pg_temp.store('temperatures', json_agg(b), '{"sensor_id": 1, "start_date": 1}')
  FROM buckets;

-- ---- Tables of PostgreSQL's own, to join with ------------------------------

CREATE TABLE owners (id int PRIMARY KEY, owner text NOT NULL);
INSERT INTO owners VALUES (1, 'Facilities'), (2, 'Research');
CREATE TABLE devices (id int PRIMARY KEY, room text NOT NULL,
                      owner_id int NOT NULL REFERENCES owners);
INSERT INTO devices VALUES (1, 'Lobby', 1), (2, 'Canteen', 1), (3, 'Lab', 2),
                           (4, 'Greenhouse', 2);

\o
SELECT 'memory' AS "table", 'minute and type' AS "a document is a",
       'values.{second}' AS "where the values are",
       (mongo_ts_command('mongo', '{"count": "metrics"}')->'n')::int AS documents,
       (SELECT count(*) FROM memory) AS rows
UNION ALL
SELECT 'cpu_load', 'hour and host', 'values.{minute}.{second}',
       (mongo_ts_command('mongo', '{"count": "cpu"}')->'n')::int,
       (SELECT count(*) FROM cpu_load)
UNION ALL
SELECT 'page_views', 'minute and page', 'seconds.{second}',
       (mongo_ts_command('mongo', '{"count": "views"}')->'n')::int,
       (SELECT count(*) FROM page_views)
UNION ALL
SELECT 'stocks', 'minute and symbol', 'p.{second}',
       (mongo_ts_command('mongo', '{"count": "prices"}')->'n')::int,
       (SELECT count(*) FROM stocks)
UNION ALL
SELECT 'readings', 'sensor''s next 200 points', 'samples[].val',
       (mongo_ts_command('mongo', '{"count": "sensors"}')->'n')::int,
       (SELECT count(*) FROM readings)
UNION ALL
SELECT 'temperatures', 'hour and sensor', 'measurements[].temperature',
       (mongo_ts_command('mongo', '{"count": "temperatures"}')->'n')::int,
       (SELECT count(*) FROM temperatures);
