/* mongo_ts_fdw--1.1.0.sql */

\echo Use "CREATE EXTENSION mongo_ts_fdw" to load this file. \quit

CREATE FUNCTION mongo_ts_fdw_handler()
RETURNS fdw_handler
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT;

CREATE FUNCTION mongo_ts_fdw_validator(text[], oid)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT;

CREATE FOREIGN DATA WRAPPER mongo_ts_fdw
  HANDLER mongo_ts_fdw_handler
  VALIDATOR mongo_ts_fdw_validator;

CREATE FUNCTION mongo_ts_command(server name, command json)
RETURNS jsonb
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION mongo_ts_command(name, json) IS
  'run a database command on a foreign server''s database';

REVOKE ALL ON FUNCTION mongo_ts_command(name, json) FROM PUBLIC;

CREATE FUNCTION mongo_ts_find(server name, collection text, filter json DEFAULT '{}',
                              max_documents integer DEFAULT 10)
RETURNS SETOF jsonb
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 10;

COMMENT ON FUNCTION mongo_ts_find(name, text, json, integer) IS
  'return documents of a collection of a foreign server''s database';

CREATE FUNCTION mongo_ts_check(relation regclass, OUT problem text, OUT field text,
                               OUT documents bigint, OUT hint text)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 10;

COMMENT ON FUNCTION mongo_ts_check(regclass) IS
  'what sampled documents say against the declaration of a foreign table';

CREATE FUNCTION mongo_ts_suggest(server name, collection text)
RETURNS text
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION mongo_ts_suggest(name, text) IS
  'the statement that IMPORT FOREIGN SCHEMA would run for a collection';

CREATE FUNCTION mongo_ts_create_index(relation regclass)
RETURNS text
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION mongo_ts_create_index(regclass) IS
  'create the index that reads and writes of a foreign table use';

CREATE FUNCTION mongo_ts_create_index(relation regclass, columns text[])
RETURNS text
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION mongo_ts_create_index(regclass, text[]) IS
  'create an index of a foreign table on some columns and the time';

CREATE FUNCTION mongo_ts_preallocate(relation regclass, start_time timestamptz,
                                     end_time timestamptz, keys jsonb DEFAULT '{}')
RETURNS bigint
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION mongo_ts_preallocate(regclass, timestamptz, timestamptz, jsonb) IS
  'create future buckets of a foreign table, without points';

CREATE FUNCTION mongo_ts_create_rollup(relation regclass, span interval, name text DEFAULT NULL,
                                       aggregates text[] DEFAULT '{count, sum, min, max}',
                                       columns text[] DEFAULT NULL, zone text DEFAULT 'UTC',
                                       lag interval DEFAULT '5 minutes')
RETURNS regclass
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION mongo_ts_create_rollup(regclass, interval, text, text[], text[], text, interval) IS
  'declare a table with the totals of points in intervals';

CREATE FUNCTION mongo_ts_rollup_columns(relation regclass, of_points boolean DEFAULT false,
                                        OUT attnum smallint, OUT is_time boolean, OUT aggregate text,
                                        OUT source regclass, OUT source_attnum smallint)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT STABLE PARALLEL SAFE ROWS 10;

COMMENT ON FUNCTION mongo_ts_rollup_columns(regclass, boolean) IS
  'what the columns of a roll-up are computed of';

CREATE FUNCTION mongo_ts_rollup_query(relation regclass, of_points boolean DEFAULT false)
RETURNS text
LANGUAGE sql STRICT STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
  WITH options AS (
    SELECT width, CASE WHEN extract(month FROM width) > 0 THEN 'month' WHEN extract(day FROM width) > 0 THEN 'day' END AS unit, zone
      FROM (SELECT max(option_value) FILTER (WHERE option_name = 'rollup_interval')::interval AS width,
                   coalesce(max(option_value) FILTER (WHERE option_name = 'rollup_zone'), 'UTC') AS zone
              FROM pg_foreign_table, pg_options_to_table(ftoptions) WHERE ftrelid = relation) o
  ), columns AS (
    SELECT own.attname AS name, format_type(own.atttypid, own.atttypmod) AS type, c.is_time, c.aggregate,
           c.source, s.attname AS of, s.atttypid = 'float4'::regtype AS of_is_float4,
           row_number() OVER (ORDER BY c.aggregate IS NOT NULL, c.attnum) AS place
      FROM mongo_ts_rollup_columns(relation, of_points) c
           JOIN pg_attribute own ON own.attrelid = relation AND own.attnum = c.attnum
           LEFT JOIN pg_attribute s ON s.attrelid = c.source AND s.attnum = c.source_attnum
  ), items AS (
    SELECT columns.*,
           CASE WHEN is_time AND unit IS NULL
                THEN format('pg_catalog.date_bin(''%s seconds'', %I, ''2000-01-01 00:00:00+00'')', extract(epoch FROM width)::int, of)
                WHEN is_time THEN format('pg_catalog.date_trunc(%L, %I, %L)', unit, of, zone)
                WHEN aggregate IS NULL THEN quote_ident(of)
                WHEN of IS NULL THEN 'pg_catalog.count(*)'
                -- PostgreSQL adds single precision with single precision
                ELSE format('pg_catalog.%s(%I%s)', aggregate, of,
                            CASE WHEN aggregate = 'sum' AND of_is_float4 THEN '::float8' END) END AS value
      FROM columns, options
  )
  SELECT format('SELECT %s FROM %s WHERE %I OPERATOR(pg_catalog.>=) $1 AND %3$I OPERATOR(pg_catalog.<) $2 GROUP BY %s',
                string_agg(format('(%s)::%s AS %I', value, type, name), ', ' ORDER BY place), max(source::oid)::regclass,
                max(of::text) FILTER (WHERE is_time), string_agg(place::text, ', ' ORDER BY place) FILTER (WHERE aggregate IS NULL))
    FROM items;
END;

COMMENT ON FUNCTION mongo_ts_rollup_query(regclass, boolean) IS
  'the query that computes the rows of a roll-up from $1 to $2';

CREATE FUNCTION mongo_ts_refresh_rollup(relation regclass, start_time timestamptz DEFAULT NULL,
                                        end_time timestamptz DEFAULT NULL)
RETURNS timestamptz
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION mongo_ts_refresh_rollup(regclass, timestamptz, timestamptz) IS
  'compute what is new or stale of a roll-up, and return how far it is complete';

CREATE FUNCTION mongo_ts_rollup_state(relation regclass, wait boolean DEFAULT true,
                                      OUT until timestamptz, OUT stale tstzmultirange,
                                      OUT open tstzmultirange, OUT problem text,
                                      OUT refreshed timestamptz, OUT took interval,
                                      OUT error text, OUT points regclass, OUT source regclass,
                                      OUT time_column text, OUT count_column text)
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION mongo_ts_rollup_state(regclass, boolean) IS
  'what of a roll-up is complete, and why it is not usable';

/* The state of a roll-up; the error is its problem if that cannot be read. */
CREATE FUNCTION _mongo_ts_rollup_try_state(relation regclass,
                                           OUT until timestamptz, OUT stale tstzmultirange,
                                           OUT problem text, OUT refreshed timestamptz,
                                           OUT took interval, OUT error text,
                                           OUT points regclass, OUT source regclass,
                                           OUT time_column text, OUT count_column text)
LANGUAGE plpgsql STRICT VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  message text;
  detail text;
BEGIN
  SELECT s.until, s.stale, s.problem, s.refreshed, s.took, s.error, s.points, s.source,
         s.time_column, s.count_column
    INTO until, stale, problem, refreshed, took, error, points, source, time_column, count_column
    FROM @extschema@.mongo_ts_rollup_state(relation, wait => false) s;
EXCEPTION WHEN others THEN
  GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
  problem = upper(left(message, 1)) || substr(message, 2) || rtrim('. ' || detail);
END $$;

COMMENT ON FUNCTION _mongo_ts_rollup_try_state(regclass) IS
  'mongo_ts_rollup_state without errors, for the view mongo_ts_rollups';

/*
 * The points that the rows of a roll-up count in ranges; NULL if they cannot be read.  Both columns
 * have types of PostgreSQL's own, so reading them runs nothing that the owner has declared.
 */
CREATE FUNCTION _mongo_ts_rollup_points(relation regclass, time_column text, count_column text,
                                        ranges tstzmultirange)
RETURNS numeric
LANGUAGE plpgsql STRICT STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  n numeric;
BEGIN
  EXECUTE format('SELECT coalesce(sum(s.n), 0) FROM unnest($1) r, LATERAL (
                    SELECT sum(%2$I) AS n FROM ONLY %1$s
                     WHERE %3$I >= coalesce(lower(r), ''-infinity'') AND %3$I < coalesce(upper(r), ''infinity'')) s',
                 relation, count_column, time_column)
    INTO n USING ranges;
  RETURN n;
EXCEPTION WHEN others THEN
  RETURN NULL;
END $$;

COMMENT ON FUNCTION _mongo_ts_rollup_points(regclass, text, text, tstzmultirange) IS
  'number of points in ranges as the rows of a roll-up count them, for the view mongo_ts_rollups';

CREATE VIEW mongo_ts_rollups AS
  SELECT s.points, t.ftrelid::regclass AS rollup, s.source,
         (SELECT o.option_value FROM pg_catalog.pg_options_to_table(t.ftoptions) o
           WHERE o.option_name = 'rollup_interval')::interval AS "interval",
         s.until, CASE WHEN s.stale IS NOT NULL THEN (SELECT pg_catalog.count(*) FROM pg_catalog.unnest(s.stale)) END AS stale_ranges,
         _mongo_ts_rollup_points(t.ftrelid, s.time_column, s.count_column, s.stale) AS stale_points,
         s.refreshed, s.took, s.problem IS NULL AS is_usable, s.problem, s.error
    FROM pg_catalog.pg_foreign_table t
    JOIN pg_catalog.pg_foreign_server r ON r.oid = t.ftserver
    JOIN pg_catalog.pg_foreign_data_wrapper w ON w.oid = r.srvfdw
   CROSS JOIN LATERAL _mongo_ts_rollup_try_state(t.ftrelid) s
   WHERE w.fdwhandler = 'mongo_ts_fdw_handler()'::pg_catalog.regprocedure
     AND pg_catalog.has_table_privilege(t.ftrelid, 'SELECT')
     AND EXISTS (SELECT FROM pg_catalog.pg_options_to_table(t.ftoptions) o WHERE o.option_name = 'rollup_of');

COMMENT ON VIEW mongo_ts_rollups IS
  'the roll-ups that the user may read, and what of them is complete';

GRANT SELECT ON mongo_ts_rollups TO PUBLIC;

CREATE FUNCTION mongo_ts_connections(OUT server_name name, OUT user_name name,
                                     OUT valid boolean, OUT in_use boolean,
                                     OUT round_trips bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION mongo_ts_connections() IS
  'connections to MongoDB that this session has open';

CREATE FUNCTION mongo_ts_disconnect(server name)
RETURNS boolean
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION mongo_ts_disconnect(name) IS
  'close this session''s connections to a foreign server';

CREATE FUNCTION mongo_ts_disconnect_all()
RETURNS boolean
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION mongo_ts_disconnect_all() IS
  'close this session''s connections to MongoDB';

CREATE FUNCTION mongo_ts_version()
RETURNS text
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT STABLE PARALLEL SAFE;

COMMENT ON FUNCTION mongo_ts_version() IS
  'versions of mongo_ts_fdw, libmongoc, libbson and PostgreSQL';
