-- tables.sql: the tables of the benchmark: foreign ones over the collections
-- of load.c, and local ones with the same rows.
--
-- Variables: database; days, of prices; points, a file to make for COPY.
-- MONGODB_URI in the environment is that of MongoDB, SLOW_URI that of the slow
-- server.

\getenv uri MONGODB_URI
\getenv slow_uri SLOW_URI
\ir foreign.sql

CREATE SERVER slowly FOREIGN DATA WRAPPER mongo_ts_fdw
  OPTIONS (uri :'slow_uri', database :'database');

-- the pre-aggregates of the buckets
CREATE FOREIGN TABLE stock_totals (
  d      timestamptz,
  symbol text,
  price  float8 OPTIONS (field 'p.{second}', sum_field 'sum',
                         min_field 'min', max_field 'max') NOT NULL
) SERVER mongo OPTIONS (collection 'stock', count_field 'n');

-- a day of it: in minutes, slowly, and in hours
CREATE FOREIGN TABLE stock_day (
  d      timestamptz,
  symbol text,
  price  float8 OPTIONS (field 'p.{second}')
) SERVER mongo;
CREATE FOREIGN TABLE slow (
  d      timestamptz,
  symbol text,
  price  float8 OPTIONS (field 'p.{second}')
) SERVER slowly OPTIONS (collection 'stock_day');
CREATE FOREIGN TABLE stock_hours (
  d      timestamptz,
  symbol text,
  price  float8 OPTIONS (field 'p.{minute}.{second}')
) SERVER mongo;

CREATE FOREIGN TABLE devices (
  d      timestamptz,
  device int,
  v      float8 OPTIONS (field 'v.{second}')
) SERVER mongo;

-- time-series collections of MongoDB
CREATE FOREIGN TABLE stock_native (
  d      timestamptz,
  symbol text,
  price  float8
) SERVER mongo;
CREATE FOREIGN TABLE stock_random (
  d      timestamptz,
  symbol text,
  price  float8
) SERVER mongo;

ANALYZE stock_totals, stock_day, slow, stock_hours, devices, stock_native,
        stock_random;

-- ---- Local tables ------------------------------------------------------------

-- the devices with the time of their last point
CREATE TABLE fleet AS
SELECT device, timestamptz '2013-10-01 01:59:59' AS seen
  FROM generate_series(1, 100) AS device;

-- minute by minute, in the order in which the points of all symbols would
-- arrive
CREATE UNLOGGED TABLE heap (d timestamptz, symbol text, price float8);
INSERT INTO heap
SELECT timestamptz '2013-10-01' + n * interval '1 second', s.symbol,
       40 + (s.i * :days * bigint '86400' + n) * 7919 % 10007 / 100.0::float8
  FROM generate_series(0, :days * 1440 - 1) AS minute,
       unnest('{AAPL,AMZN,GOOG,MDB,ORCL}'::text[],
              '{0,1,2,3,4}'::int[]) AS s (symbol, i),
       generate_series(minute * 60, minute * 60 + 59) AS n;
CREATE INDEX ON heap (symbol, d);

-- the points to insert, in order of time
CREATE UNLOGGED TABLE points AS
SELECT * FROM heap WHERE d < '2013-10-03 19:12:00' ORDER BY d, symbol;
COPY points TO :'points';
CREATE TABLE heap_in (d timestamptz, symbol text, price float8);
CREATE UNIQUE INDEX ON heap_in (symbol, d);
VACUUM (FREEZE, ANALYZE) points;
VACUUM (FREEZE, ANALYZE) heap;
VACUUM (FREEZE, ANALYZE) fleet;
CHECKPOINT;

-- ---- Check that both are equal
-- --------------------------------------------------------

CREATE FUNCTION pg_temp.summary(relation regclass) RETURNS SETOF record
LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY EXECUTE format('SELECT symbol, count(*), min(d), max(d), '
    'min(price), max(price), round(avg(price)::numeric, 6) FROM %s '
    'GROUP BY symbol ORDER BY symbol', relation);
END $$;

DO $$
BEGIN
  IF (SELECT array_agg(s::text) FROM pg_temp.summary('stock') AS s
        (symbol text, n bigint, a timestamptz, b timestamptz, c float8, d float8,
         e numeric)) IS DISTINCT FROM
     (SELECT array_agg(s::text) FROM pg_temp.summary('heap') AS s
        (symbol text, n bigint, a timestamptz, b timestamptz, c float8, d float8,
         e numeric)) THEN
    RAISE 'the points in MongoDB are not those of the local table';
  END IF;
END $$;
