\set ECHO none
-- Run a query of one number.  Shows the number, how it was found, and another
-- number that the query has if it reads rows.
CREATE FUNCTION counts(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  line text;
  planned text = '';
  run text = '';
  counted bigint;
  rows bigint;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    planned = planned || line;
  END LOOP;
  FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF) ' || query LOOP
    run = run || line;
  END LOOP;
  EXECUTE query INTO counted;
  SET LOCAL mongo_ts_fdw.enable_partial_aggregate = off;
  EXECUTE query INTO rows;
  SET LOCAL mongo_ts_fdw.enable_partial_aggregate = on;
  RETURN counted || CASE WHEN run ~ '\.aggregate' THEN ' counted'
      WHEN planned ~ '\.aggregate' THEN ' doubted and read' ELSE ' read' END ||
    CASE WHEN counted IS DISTINCT FROM rows THEN ', but ' || rows || ' rows' ELSE '' END;
END $$;
\set ECHO all
