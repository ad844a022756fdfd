\set ECHO none
-- Run a query on the foreign tables and on local copies in the schema copies,
-- which the tests share.
-- Shows the number of rows, whether the plan has a Sort, and differences.
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS copies CASCADE;
RESET client_min_messages;
CREATE SCHEMA copies;
CREATE FUNCTION same(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  remote text[];
  local text[];
  plan text = '';
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    plan = plan || line;
  END LOOP;
  EXECUTE format('SELECT array_agg(t::text) FROM (%s) t', query) INTO remote;
  PERFORM set_config('search_path', 'copies, ' || current_setting('search_path'), true);
  EXECUTE format('SELECT array_agg(t::text) FROM (%s) t', query) INTO local;
  PERFORM set_config('search_path', regexp_replace(current_setting('search_path'), '^copies, ', ''), true);
  RETURN concat_ws(', ', CASE WHEN plan ~ 'Sort Key' THEN 'sorted here' ELSE 'in order' END,
    coalesce(array_length(remote, 1), 0) || ' rows',
    CASE WHEN remote IS DISTINCT FROM local THEN E'not the same:\n' || coalesce(remote::text, 'NULL') || E'\n' || coalesce(local::text, 'NULL') END);
END $$;

-- The numbers of buckets and round trips of a query's scans
CREATE FUNCTION trips(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  plan json;
BEGIN
  EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT JSON) ' || query INTO plan;
  RETURN (SELECT sum((scan->'Buckets')::int) || ' buckets, ' || sum((scan->'Round Trips')::int) || ' round trips'
    FROM jsonb_path_query(plan::jsonb, 'strict $.** ? (@.type() == "object" && exists (@.Buckets))') AS scan);
END $$;
\set ECHO all
