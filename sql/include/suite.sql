\set ECHO none
-- Begins each test: creates a schema, a server and a database of the test's
-- name, and functions that insert documents, show counters and try statements.
\set VERBOSITY default
\set SHOW_CONTEXT errors
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS mongo_ts_fdw;
CREATE SCHEMA :"suite";
SET search_path = :"suite", public;
SET TimeZone = 'UTC';
SET DateStyle = 'ISO, YMD';
SET IntervalStyle = 'postgres';
\i sql/include/collations.sql
RESET client_min_messages;

-- A server of a user has credentials, and one database for all tests.
\getenv uri MONGODB_URI
\getenv username MONGODB_USERNAME
\getenv password MONGODB_PASSWORD
\set database mts_regress_ :suite
\getenv database MONGO_TS_DATABASE
CREATE SERVER :"suite" FOREIGN DATA WRAPPER mongo_ts_fdw
  OPTIONS (uri :'uri', database :'database');
CREATE USER MAPPING FOR PUBLIC SERVER :"suite" OPTIONS (password_required 'false');
\if :{?username}
ALTER USER MAPPING FOR PUBLIC SERVER :"suite" OPTIONS (ADD username :'username', ADD password :'password');
\endif
SELECT mongo_ts_command(:'suite', '{"dropDatabase": 1}') \g /dev/null

-- Insert documents into a collection.
CREATE PROCEDURE put(collection text, documents json) LANGUAGE plpgsql AS $$
DECLARE
  reply jsonb = mongo_ts_command(current_schema(), json_build_object(
    'insert', collection, 'documents', documents));
BEGIN
  ASSERT NOT reply ? 'writeErrors', reply::text;
END $$;

-- Run a query and return the counters of its foreign scans.
CREATE FUNCTION reads(query text)
RETURNS TABLE (buckets int, points int, skipped int) LANGUAGE plpgsql AS $$
DECLARE
  plan json;
BEGIN
  EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT JSON) ' ||
    query INTO plan;
  RETURN QUERY
    SELECT (scan->'Buckets')::int, (scan->'Points')::int,
           (scan->'Skipped Points')::int
      FROM jsonb_path_query(plan::jsonb,
             'strict $.** ? (@.type() == "object" && exists (@.Buckets))') AS scan;
END $$;

-- A line of a plan with the names that PostgreSQL 15 gives to subplans and
-- their results
CREATE FUNCTION with_numbers(line text) RETURNS text LANGUAGE sql RETURN
  regexp_replace(replace(replace(regexp_replace(line, '\m(InitPlan|SubPlan) [a-z]+_(\d+)', '\1 \2'),
    '(InitPlan 1).col1', '$0'), '(InitPlan 2).col1', '$1'), ' \(returns \$\d+\)$', '');

-- Return the plan of a query without differences between PostgreSQL's
-- versions: names of subplans, fractional rows of a loop, and amounts of memory;
-- and without MongoDB's plan and the consistency, which depend on the server.
CREATE FUNCTION plan(query text, options text DEFAULT '') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  line text;
  number text;
BEGIN
  IF options ~ 'ANALYZE' THEN
    options = options || ', BUFFERS OFF, TIMING OFF, SUMMARY OFF';
  END IF;
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF' || options || ') ' || query LOOP
    CONTINUE WHEN line ~ '^ *(MongoDB (Plan|Consistency)|Replaces): ';
    number = substring(line FROM 'rows=([0-9.]+) loops');
    line = coalesce(replace(line, 'rows=' || number, 'rows=' || round(number::numeric)), line);
    RETURN NEXT regexp_replace(with_numbers(line), '(Memory( Usage)?: )\d+kB', '\1some');
  END LOOP;
END $$;

-- Run a statement.  Returns its SQLSTATE, message, detail and hint, and undoes
-- its local changes unless told to keep them.  A warning would say that what MongoDB
-- has stored stays, unless the server has transactions.
CREATE FUNCTION try(statement text, keep boolean DEFAULT false) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
  state text;
  message text;
  detail text;
  hint text;
BEGIN
  EXECUTE statement;
  IF NOT keep THEN
    SET LOCAL client_min_messages = error;
    RAISE SQLSTATE 'ZZ000';
  END IF;
  RETURN 'accepted';
EXCEPTION WHEN SQLSTATE 'ZZ000' THEN
  RETURN 'accepted';
WHEN others THEN
  GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE,
    message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL,
    hint = PG_EXCEPTION_HINT;
  -- Servers have different messages.
  detail = regexp_replace(detail, '^Failed to create the field .v. within the element specified by {v : 5}$',
    'Cannot create field ''0'' in element {v: 5}', 'n');
  RETURN concat_ws(E'\n', state || ': ' || message, nullif(detail, ''),
                   '-> ' || nullif(hint, ''));
END $$;
\set ECHO all
