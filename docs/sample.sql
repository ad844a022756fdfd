-- The sample of the documentation: four collections in the database of the
-- server "mongo", which README.md creates.  It replaces collections of these
-- names, so run it again to begin anew:
--
--   psql < docs/sample.sql
--
-- sensors  the temperature of two sensors, a value a minute; a document an hour
-- hits     the hits of two web pages, a value in ten minutes; a document an hour
-- traffic  a counter of bytes, which begins at 0 again when the router restarts
-- orders   a document for each order

\set on_error :ON_ERROR_STOP
\set ON_ERROR_STOP on
SET client_min_messages = warning;
SET timezone = 'UTC';
BEGIN;
CREATE SCHEMA mongo_ts_sample;
SET search_path = mongo_ts_sample;

CREATE FOREIGN TABLE sensors (
  sensor   text,
  firmware text        OPTIONS (role 'attribute'),
  ts       timestamptz,
  temp     float8      OPTIONS (field 'temp.{minute}')
) SERVER mongo OPTIONS (updatable 'true', batch_size '60');
CREATE FOREIGN TABLE hits (
  page text,
  ts   timestamptz,
  n    int         OPTIONS (field 'n.{minute}')
) SERVER mongo OPTIONS (updatable 'true', batch_size '60');
CREATE FOREIGN TABLE traffic (
  port  text,
  ts    timestamptz,
  bytes bigint      OPTIONS (field 'bytes.{minute}')
) SERVER mongo OPTIONS (updatable 'true', batch_size '60');
CREATE FOREIGN TABLE orders (
  ts     timestamptz,
  amount numeric
) SERVER mongo OPTIONS (updatable 'true', batch_size '60');

TRUNCATE sensors, hits, traffic, orders;

INSERT INTO sensors
SELECT sensor, CASE WHEN ts < '2024-05-01 12:00' THEN '2.0' ELSE '2.1' END, ts,
       base + round(3 * sin(extract(epoch FROM ts) / 3600)::numeric, 1)
  FROM generate_series(timestamptz '2024-05-01 00:00', '2024-05-01 23:59', '1 minute') ts,
       (VALUES ('boiler', 62.0), ('hall', 19.5)) sensors (sensor, base)
 ORDER BY sensor, ts;

INSERT INTO hits
SELECT page, ts, extract(epoch FROM ts)::bigint / 600 * 7 % size
  FROM generate_series(timestamptz '2024-04-22 00:00', '2024-05-02 23:50', '10 minutes') ts,
       (VALUES ('/docs', 11), ('/blog', 5)) pages (page, size)
 ORDER BY page, ts;

-- Some 100 bytes a second.  The router restarts at 06:25.
INSERT INTO traffic
SELECT port, ts, extract(epoch FROM ts - CASE WHEN ts < '2024-05-01 06:30'
         THEN timestamptz '2024-04-30' ELSE timestamptz '2024-05-01 06:25' END)::bigint * speed
  FROM generate_series(timestamptz '2024-05-01 00:00', '2024-05-01 11:50', '10 minutes') ts,
       (VALUES ('eth0', 120), ('eth1', 35)) ports (port, speed)
 ORDER BY port, ts;

INSERT INTO orders VALUES ('2024-05-01 12:04:31', 19.90), ('2024-05-01 12:17:05', 120),
  ('2024-05-01 14:40:12', 7.50);

SET client_min_messages = error;
DROP SCHEMA mongo_ts_sample CASCADE;
COMMIT;
RESET search_path;
RESET timezone;
RESET client_min_messages;
\set ON_ERROR_STOP :on_error
