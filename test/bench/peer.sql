-- peer.sql: the tables of the PostgreSQL that also has mongo_fdw.
--
-- Variables: database.  MONGODB_URI in the environment is that of MongoDB.

\getenv uri MONGODB_URI
\ir foreign.sql

SELECT substring(:'uri' from '//([^:/]+)') AS host,
       coalesce(substring(:'uri' from ':([0-9]+)'), '27017') AS port \gset
CREATE EXTENSION mongo_fdw;
CREATE SERVER peer FOREIGN DATA WRAPPER mongo_fdw
  OPTIONS (address :'host', port :'port');
CREATE USER MAPPING FOR PUBLIC SERVER peer;

CREATE FOREIGN TABLE peer_points (
  _id    name,
  d      timestamptz,
  symbol text,
  price  float8
) SERVER peer OPTIONS (database :'database', collection 'stock_points');
CREATE FOREIGN TABLE peer_buckets (
  _id    name,
  d      timestamptz,
  symbol text,
  p      json
) SERVER peer OPTIONS (database :'database', collection 'stock');
CREATE FOREIGN TABLE peer_in (
  _id    name,
  d      timestamptz,
  symbol text,
  price  float8
) SERVER peer OPTIONS (database :'database', collection 'peer_in');

-- a day of points to insert
CREATE UNLOGGED TABLE points AS
SELECT d, symbol, n::float8 AS price
  FROM generate_series(timestamptz '2013-10-01', '2013-10-01 23:59:59', '1 s')
       WITH ORDINALITY AS second (d, n),
       unnest('{AAPL,AMZN,GOOG,MDB,ORCL}'::text[]) AS symbol
 ORDER BY d, symbol;
VACUUM (FREEZE, ANALYZE) points;
