-- peer.sql: the tables of the PostgreSQL that also has mongo_fdw and
-- TimescaleDB, but for those of this extension and the hypertables.
--
-- Variables: uri, of MongoDB; database.

CREATE EXTENSION timescaledb;
SELECT substring(:'uri' from '//([^:/]+)') AS host,
       coalesce(substring(:'uri' from ':([0-9]+)'), '27017') AS port \gset
CREATE EXTENSION mongo_fdw;
CREATE SERVER peer FOREIGN DATA WRAPPER mongo_fdw
  OPTIONS (address :'host', port :'port');
CREATE USER MAPPING FOR PUBLIC SERVER peer;

CREATE FOREIGN TABLE peer_points (
  _id  name,
  d    timestamptz,
  host text,
  v    float8
) SERVER peer OPTIONS (database :'database', collection 'flat');
CREATE FOREIGN TABLE peer_buckets (
  _id  name,
  d    timestamptz,
  host text,
  v    json
) SERVER peer OPTIONS (database :'database', collection 'minute');
CREATE FOREIGN TABLE peer_in (
  _id  name,
  d    timestamptz,
  host text,
  v    float8
) SERVER peer OPTIONS (database :'database', collection 'peer_in');
