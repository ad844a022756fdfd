\set ECHO none
-- Run a query on the foreign table and on a local copy of its rows.  Shows the
-- number of rows, whether they are equal, and which conditions the foreign
-- scan evaluates. @ stands for the table.
CREATE FUNCTION agrees(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  line text;
  plan text = '';
  rows bigint;
  lost text;
  extra text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || replace(query, '@', 'metrics') LOOP
    plan = plan || line || E'\n';
  END LOOP;
  EXECUTE format($q$WITH f AS MATERIALIZED (%s), l AS MATERIALIZED (%s)
    SELECT (SELECT count(*) FROM l), (SELECT string_agg(x::text, ' ') FROM (TABLE l EXCEPT ALL TABLE f) x),
           (SELECT string_agg(x::text, ' ') FROM (TABLE f EXCEPT ALL TABLE l) x)$q$,
    replace(query, '@', 'metrics'), replace(query, '@', 'copied')) INTO rows, lost, extra;
  RETURN CASE WHEN plan ~ 'Partial Aggregate' THEN 'aggregated' ELSE 'by rows' END
    || CASE WHEN plan ~ 'find\({}' THEN ', all buckets' ELSE '' END
    || CASE WHEN plan ~ 'Filter: [^\n]*\n *(Relations|MongoDB Query)' THEN ', checked again' ELSE '' END
    || ', ' || rows || ' rows'
    || coalesce(E'\nlost: ' || lost, '') || coalesce(E'\nextra: ' || extra, '');
END $$;
\set ECHO all
