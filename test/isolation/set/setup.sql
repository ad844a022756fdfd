-- The objects of the specs.  They can't be in a spec, where a brace ends a
-- block.
\set ON_ERROR_STOP on
\getenv uri MONGODB_URI
CREATE EXTENSION mongo_ts_fdw;

-- A scan is many finds.
CREATE SERVER isolation FOREIGN DATA WRAPPER mongo_ts_fdw
  OPTIONS (uri :'uri', database 'mts_isolation', fetch_size '5');
CREATE SERVER admin FOREIGN DATA WRAPPER mongo_ts_fdw
  OPTIONS (uri :'uri', database 'admin');
CREATE USER MAPPING FOR PUBLIC SERVER isolation;
CREATE USER MAPPING FOR PUBLIC SERVER admin;

CREATE FOREIGN TABLE here (
  ts timestamptz OPTIONS (field 'm'),
  k  int,
  v  int OPTIONS (field 'v.{second}')
) SERVER isolation;
CREATE FOREIGN TABLE there (
  ts timestamptz OPTIONS (field 'm'),
  k  int,
  v  int OPTIONS (field 'v.{second}')
) SERVER isolation;
CREATE FOREIGN TABLE counts (
  ts timestamptz OPTIONS (field 'm'),
  k  int,
  v  int OPTIONS (field 'v.{second}', sum_field 'total')
) SERVER isolation OPTIONS (write_mode 'increment', count_field 'n');
CREATE FOREIGN TABLE counts_documents (m timestamptz, k int, n int, total int)
  SERVER isolation OPTIONS (collection 'counts');
CREATE FOREIGN TABLE small_batches (
  ts timestamptz OPTIONS (field 'm'),
  k  int,
  v  int OPTIONS (field 'v.{second}')
) SERVER isolation OPTIONS (collection 'there', batch_size '10', transactions 'batch');
CREATE FOREIGN TABLE whole_batches (
  ts timestamptz OPTIONS (field 'm'),
  k  int,
  v  int OPTIONS (field 'v.{second}')
) SERVER isolation OPTIONS (collection 'there', batch_size '10');
-- The same collections, where transactions of MongoDB are required
CREATE FOREIGN TABLE whole_here (
  ts timestamptz OPTIONS (field 'm'),
  k  int,
  v  int OPTIONS (field 'v.{second}')
) SERVER isolation OPTIONS (collection 'here', transactions 'required');
CREATE FOREIGN TABLE whole_there (
  ts timestamptz OPTIONS (field 'm'),
  k  int,
  v  int OPTIONS (field 'v.{second}')
) SERVER isolation OPTIONS (collection 'there', transactions 'required');
SELECT mongo_ts_create_index(t::regclass)
  FROM unnest(ARRAY['here', 'there', 'counts']) t \g /dev/null

-- Without it, MongoDB sorts all buckets when a scan begins.
SELECT mongo_ts_command('isolation',
  '{"createIndexes": "here", "indexes": [{"key": {"m": 1}, "name": "m"}]}') \g /dev/null

-- MongoDB refuses this key.
SELECT mongo_ts_command('isolation',
  '{"collMod": "here", "validator": {"k": {"$ne": 13}}}') \g /dev/null

-- 60 buckets of a point, of 3 keys, in each of two tables
CREATE PROCEDURE fill() LANGUAGE plpgsql AS $$
BEGIN
  TRUNCATE here, there, counts;
  INSERT INTO here SELECT timestamptz '2020-01-01Z' + i * interval '1 min', i % 3, 1
    FROM generate_series(0, 59) i;
  INSERT INTO there TABLE here;
END $$;

-- What the next rows of a cursor are
CREATE FUNCTION next(c refcursor, n int, OUT number int, OUT sum int, OUT first text, OUT last text)
LANGUAGE plpgsql AS $$
DECLARE
  ts timestamptz;
  k  int;
  v  int;
BEGIN
  number := 0;
  sum := 0;
  LOOP
    EXIT WHEN number = n;
    FETCH c INTO ts, k, v;
    EXIT WHEN NOT FOUND;
    number := number + 1;
    sum := sum + v;
    first := least(first, to_char(ts AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI'));
    last := greatest(last, to_char(ts AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI'));
  END LOOP;
END $$;

-- Wait for the holder of the lock.
CREATE FUNCTION wait() RETURNS boolean LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(1);
  RETURN true;
END $$;

-- Let the statements that wait() go on, and return when their transactions have
-- ended.  The tester takes a session for one that waits while another one of the
-- test has a lock that it needs.
CREATE PROCEDURE go() LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_unlock(1);
  WHILE NOT pg_try_advisory_lock(1) LOOP
    PERFORM pg_sleep(0.01);
  END LOOP;
  PERFORM pg_advisory_unlock(1);
END $$;

-- Sums by functions that read as their caller does, and for themselves
CREATE FUNCTION stable_sum() RETURNS int8 LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT sum(v) FROM here);
END $$;
CREATE FUNCTION volatile_sum() RETURNS int8 LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN (SELECT sum(v) FROM here);
END $$;

-- The lines of a query's plan, which is executed
CREATE FUNCTION explain_lines(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) ' || query;
END $$;

-- Have another member, which has all writes, become the primary.  It fails while
-- the last election goes on.
CREATE FUNCTION step_down() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1 .. 100 LOOP
    BEGIN
      PERFORM mongo_ts_command('admin', '{"replSetStepDown": 3, "secondaryCatchUpPeriodSecs": 2}');
      RETURN;
    EXCEPTION WHEN fdw_error THEN
      PERFORM pg_sleep(0.1);
    END;
  END LOOP;
  RAISE 'the primary does not step down';
END $$;
