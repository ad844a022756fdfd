\set ECHO none
-- Run a query with and without partial aggregation.  Shows the number of rows,
-- whether they are equal, and whether the plan aggregates in the scan.
CREATE FUNCTION same(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  answers text[];
  aggregated boolean = false;
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    aggregated = aggregated OR line ~ 'Partial Aggregate';
  END LOOP;
  FOR i IN 1 .. 2 LOOP
    PERFORM set_config('mongo_ts_fdw.enable_partial_aggregate', (i = 1)::text, true);
    EXECUTE format('SELECT array_append($1, string_agg(t::text, '' '' ORDER BY t::text)) FROM (%s) t', query)
      INTO answers USING answers;
  END LOOP;
  PERFORM set_config('mongo_ts_fdw.enable_partial_aggregate', 'on', true);
  EXECUTE format('SELECT count(*) FROM (%s) t', query) INTO line;
  RETURN CASE WHEN aggregated THEN 'aggregated, ' ELSE 'by rows, ' END || line || ' rows' ||
    CASE WHEN answers[1] IS NOT DISTINCT FROM answers[2] THEN ''
         ELSE E', not the same:\n' || coalesce(answers[1], 'NULL') || E'\n' || coalesce(answers[2], 'NULL') END;
END $$;
\set ECHO all
