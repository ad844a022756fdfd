-- Run a query with each reader.  Shows the number of rows, how the points were
-- read, and whether the other reader returns other rows.
CREATE FUNCTION readers(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  line text;
  reader text;
  n bigint;
  differ bigint;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (ANALYZE, VERBOSE, COSTS OFF) ' || query LOOP
    reader := coalesce(reader, substring(line FROM 'Reader: (.*)'));
  END LOOP;
  EXECUTE format('CREATE TEMP TABLE by_columns ON COMMIT DROP AS %s', query);
  SET LOCAL mongo_ts_fdw.enable_column_reader = off;
  EXECUTE format('CREATE TEMP TABLE by_points ON COMMIT DROP AS %s', query);
  SET LOCAL mongo_ts_fdw.enable_column_reader = on;
  SELECT count(*) INTO n FROM by_points;
  SELECT count(*) INTO differ FROM (
    (TABLE by_columns EXCEPT ALL TABLE by_points) UNION ALL (TABLE by_points EXCEPT ALL TABLE by_columns)) d;
  DROP TABLE by_columns, by_points;
  RETURN n || ' rows, read by ' || coalesce(reader, 'none') || CASE WHEN differ > 0 THEN ', ' || differ || ' differ' ELSE '' END;
END $$;
