\set ECHO none
-- Run a query with a setting on and off.  Shows the number of rows, and
-- whether they are equal.
CREATE FUNCTION rows_of(query text, setting text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  answers text[];
  n bigint;
BEGIN
  FOR i IN 1 .. 2 LOOP
    PERFORM set_config(setting, (i = 1)::text, true);
    EXECUTE format('SELECT array_append($1, string_agg(t::text, '' '' ORDER BY t::text)) FROM (%s) t', query)
      INTO answers USING answers;
  END LOOP;
  PERFORM set_config(setting, 'on', true);
  EXECUTE format('SELECT count(*) FROM (%s) t', query) INTO n;
  RETURN n || ' rows' || CASE WHEN answers[1] IS NOT DISTINCT FROM answers[2] THEN ''
    ELSE E', not the same:\n' || coalesce(answers[1], 'NULL') || E'\n' || coalesce(answers[2], 'NULL') END;
END $$;

-- Run a query with and without partial aggregation.  Shows whether the plan
-- aggregates in the scan, and the rows.
CREATE FUNCTION same(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  how text = 'by rows, ';
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    IF line ~ 'Partial Aggregate' THEN
      how = 'aggregated, ';
    END IF;
  END LOOP;
  RETURN how || rows_of(query, 'mongo_ts_fdw.enable_partial_aggregate');
END $$;
\set ECHO all
