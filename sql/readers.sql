--
-- Tests that both readers of a bucket's points return the same rows and groups,
-- and which of them EXPLAIN says has read.
--
\set suite readers
\i sql/include/suite.sql

\pset format unaligned
\pset tuples_only on

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

-- Documents of one type, and one that has two
CREATE FOREIGN TABLE slots (
  d     timestamptz,
  host  text,
  v     float8 OPTIONS (field 'v.{minute}')
) SERVER readers;
INSERT INTO slots SELECT timestamptz '2024-03-10 00:00Z' + i * interval '1 minute', 'h', i / 8.0
  FROM generate_series(0, 1199) i;
CALL put('slots', '[{"d": {"$date": "2024-03-11T00:00:00Z"}, "host": "b", "v": {"0": 1.5, "1": 2, "7": null}}]');
SELECT readers('SELECT * FROM slots');
SELECT readers('SELECT * FROM slots WHERE host = ''h''');
SELECT readers('SELECT * FROM slots WHERE host = ''b''');
SELECT readers('SELECT date_trunc(''hour'', d), sum(v) FROM slots GROUP BY 1');
SELECT readers('SELECT * FROM slots WHERE host = ''none''');
SET mongo_ts_fdw.enable_column_reader = off;
SELECT * FROM plan('SELECT * FROM slots', ', ANALYZE, VERBOSE');
RESET mongo_ts_fdw.enable_column_reader;

-- Documents that are rows are read in columns for groups only
CREATE FOREIGN TABLE flat (ts timestamptz, host text, v float8) SERVER readers;
INSERT INTO flat SELECT timestamptz '2024-03-10 00:00Z' + i * interval '1 minute', 'h' || i % 3, i / 8.0
  FROM generate_series(0, 999) i;
SELECT readers('SELECT host, sum(v) FROM flat GROUP BY host');
SELECT readers('SELECT * FROM flat');
