-- tables.sql: the tables that clients write to, and views for tools that list
-- only tables and views.

\set ON_ERROR_STOP on
SET client_min_messages = warning;

-- Each client writes a series of its own, named by `client`.
CREATE FOREIGN TABLE written (
  "timestamp" timestamptz OPTIONS (field 'minute') NOT NULL,
  client      text        NOT NULL,
  value       float8      OPTIONS (field 'values.{second}')
) SERVER mongo;
SELECT mongo_ts_create_index('written');

-- A document for each row, with all types for which clients have types of
-- their own
CREATE FOREIGN TABLE typed (
  "timestamp" timestamptz OPTIONS (role 'time'),
  client      text,
  whole       int,
  large       bigint,
  exact       numeric(12, 3),
  real        float8,
  flag        boolean,
  at          timestamp,
  day         date,
  bytes       bytea,
  id          uuid,
  document    jsonb
) SERVER mongo;

CREATE VIEW stocks_view AS SELECT * FROM stocks;
COMMENT ON FOREIGN TABLE memory IS 'memory by second';
COMMENT ON COLUMN memory.value IS 'kB';

-- The user of the README's examples, with the rights to read
CREATE ROLE reader LOGIN PASSWORD 'secret';
GRANT SELECT ON stocks TO reader;
CREATE USER MAPPING FOR reader SERVER mongo OPTIONS (password_required 'false');
