-- foreign.sql: the foreign tables of the benchmark, over the collections of
-- load.c.
--
-- Variables: uri, of MongoDB; database.

\set ON_ERROR_STOP on
SET client_min_messages = error;

CREATE EXTENSION mongo_ts_fdw;
CREATE SERVER mongo FOREIGN DATA WRAPPER mongo_ts_fdw
  OPTIONS (uri :'uri', database :'database');

CREATE FOREIGN TABLE stock (
  d      timestamptz,
  symbol text,
  price  float8 OPTIONS (field 'p.{second}')
) SERVER mongo;

-- tables to write to
CREATE FOREIGN TABLE stock_in (
  d      timestamptz,
  symbol text,
  price  float8 OPTIONS (field 'p.{second}')
) SERVER mongo;
SELECT mongo_ts_create_index('stock_in') \g /dev/null

-- all foreign tables have statistics
ANALYZE stock;
