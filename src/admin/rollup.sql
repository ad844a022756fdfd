/* ---- Roll-ups -------------------------------------------------------------
 *
 * A function whose name begins with _mongo_ts_ is a step of others, and not for users.  Each of them requires the
 * rights that its effect does: those that change a roll-up or its state require its owner.
 */

/* The roll-ups of a table, and those computed from these, that belong to its owner; the coarsest first */
CREATE FUNCTION _mongo_ts_list_rollups(relation regclass)
RETURNS regclass[]
AS 'MODULE_PATHNAME', 'mongo_ts_list_rollups'
LANGUAGE C STRICT STABLE PARALLEL SAFE;

/*
 * The time, the keys and then the totals of a roll-up, each with the column that it is computed of: one of the table
 * that the roll-up summarizes, or of the points.  The number of points has none.
 */
CREATE FUNCTION _mongo_ts_rollup_columns(relation regclass, of_points boolean DEFAULT false,
                                         OUT name text, OUT type text, OUT is_time boolean, OUT aggregate text,
                                         OUT source regclass, OUT source_column text, OUT source_type regtype)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'mongo_ts_rollup_columns'
LANGUAGE C STRICT STABLE PARALLEL SAFE ROWS 10;

/* The intervals of a roll-up from that of a time to that before another time, one at least */
CREATE FUNCTION _mongo_ts_rollup_intervals(relation regclass, from_time timestamptz, to_time timestamptz,
                                           OUT start timestamptz, OUT stop timestamptz, OUT start_is_repeated boolean)
RETURNS record
AS 'MODULE_PATHNAME', 'mongo_ts_rollup_intervals'
LANGUAGE C STRICT STABLE PARALLEL SAFE;

/* The whole intervals of a roll-up that overlap ranges */
CREATE FUNCTION _mongo_ts_whole_intervals(relation regclass, ranges tstzmultirange)
RETURNS tstzmultirange
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
  SELECT coalesce(range_agg(tstzrange(
           (_mongo_ts_rollup_intervals(relation, lower(r), lower(r))).start,
           (_mongo_ts_rollup_intervals(relation, upper(r) - interval '1 microsecond', upper(r))).stop)), '{}')
    FROM unnest(ranges) r;
END;

/*
 * The query that computes the rows of a roll-up from $1 to $2.  That of the points gives, for a sum of float8, an array
 * of the sum and of how much it may differ: n additions of values up to x are each wrong by n * x / 2^53 at most, in
 * either order.
 */
CREATE FUNCTION _mongo_ts_rollup_query(relation regclass, of_points boolean DEFAULT false)
RETURNS text
LANGUAGE sql STRICT STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
  WITH options AS (
    SELECT max(option_value) FILTER (WHERE option_name = 'rollup_interval')::interval AS width,
           coalesce(max(option_value) FILTER (WHERE option_name = 'rollup_zone'), 'UTC') AS zone
      FROM pg_foreign_table, pg_options_to_table(ftoptions) WHERE ftrelid = relation
  ), items AS (
    SELECT c.*,
           CASE WHEN is_time AND extract(month FROM width) = 1
                THEN format('date_trunc(''month'', %I, %L)', source_column, zone)
                WHEN is_time AND extract(day FROM width) = 1
                THEN format('date_trunc(''day'', %I, %L)', source_column, zone)
                WHEN is_time THEN format('date_bin(''%s seconds'', %I, ''2000-01-01 00:00:00+00'')',
                                         extract(epoch FROM width)::int, source_column)
                WHEN aggregate IS NULL THEN quote_ident(source_column)
                WHEN source_column IS NULL THEN 'count(*)'
                -- PostgreSQL adds single precision with single precision
                WHEN aggregate = 'sum' AND source_type = 'float4'::regtype THEN format('sum(%I::float8)', source_column)
                ELSE format('%s(%I)', aggregate, source_column) END AS value
      FROM options, _mongo_ts_rollup_columns(relation, of_points) WITH ORDINALITY c
  )
  SELECT format('SELECT %s FROM %s WHERE %I >= $1 AND %3$I < $2 GROUP BY %s',
           string_agg(CASE WHEN of_points AND aggregate = 'sum' AND type = 'double precision'
                           THEN format('ARRAY[%1$s, count(%2$I) ^ 2 * 4.5e-16 * greatest('
                                       'max(%2$I::float8), -min(%2$I::float8), 1e-290)] AS %3$I',
                                       value, source_column, name)
                           ELSE format('(%s)::%s AS %I', value, type, name) END, ', ' ORDER BY ordinality),
           max(source::oid)::regclass, max(source_column) FILTER (WHERE is_time),
           string_agg(ordinality::text, ', ' ORDER BY ordinality) FILTER (WHERE aggregate IS NULL))
    FROM items;
END;

/* ---- How far roll-ups are complete ---------------------------------------- */

CREATE FUNCTION mongo_ts_rollup_state(relation regclass, wait boolean DEFAULT true,
                                      OUT until timestamptz, OUT stale tstzmultirange,
                                      OUT open tstzmultirange, OUT problem text,
                                      OUT refreshed timestamptz, OUT took interval,
                                      OUT error text, OUT points regclass, OUT source regclass,
                                      OUT first_kept timestamptz, OUT generation bigint)
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION mongo_ts_rollup_state(regclass, boolean) IS
  'what of a roll-up is complete, and why it is not usable';

/* The state of a roll-up; the error is its problem if that cannot be read. */
CREATE FUNCTION _mongo_ts_rollup_try_state(relation regclass,
                                           OUT until timestamptz, OUT stale tstzmultirange,
                                           OUT problem text, OUT refreshed timestamptz,
                                           OUT took interval, OUT error text,
                                           OUT points regclass, OUT source regclass)
LANGUAGE plpgsql STRICT VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  message text;
  detail text;
BEGIN
  SELECT s.until, s.stale, s.problem, s.refreshed, s.took, s.error, s.points, s.source
    INTO until, stale, problem, refreshed, took, error, points, source
    FROM @extschema@.mongo_ts_rollup_state(relation, wait => false) s;
EXCEPTION WHEN others THEN
  GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
  problem = upper(left(message, 1)) || substr(message, 2) || rtrim('. ' || detail);
END $$;

/*
 * The points that the rows of a roll-up count in ranges; NULL if they cannot be read.  The columns
 * have types of PostgreSQL's own, so reading them runs nothing that the owner has declared.
 */
CREATE FUNCTION _mongo_ts_rollup_points(relation regclass, ranges tstzmultirange)
RETURNS numeric
LANGUAGE plpgsql STRICT STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  n numeric;
BEGIN
  EXECUTE (SELECT format('SELECT coalesce(sum(s.n), 0) FROM unnest($1) range, LATERAL (
                            SELECT sum(t.%2$I) AS n FROM ONLY %1$s t
                             WHERE t.%3$I >= coalesce(lower(range.range), ''-infinity'')
                               AND t.%3$I < coalesce(upper(range.range), ''infinity'')) s',
                         relation, max(name) FILTER (WHERE aggregate IS NOT NULL AND source_column IS NULL),
                         max(name) FILTER (WHERE is_time))
             FROM @extschema@._mongo_ts_rollup_columns(relation, true))
    INTO n USING ranges;
  RETURN n;
EXCEPTION WHEN others THEN
  RETURN NULL;
END $$;

CREATE VIEW mongo_ts_rollups AS
  SELECT s.points, t.ftrelid::regclass AS rollup, s.source,
         (SELECT o.option_value FROM pg_catalog.pg_options_to_table(t.ftoptions) o
           WHERE o.option_name = 'rollup_interval')::interval AS "interval",
         s.until,
         CASE WHEN s.stale IS NOT NULL
              THEN (SELECT pg_catalog.count(*) FROM pg_catalog.unnest(s.stale)) END AS stale_ranges,
         _mongo_ts_rollup_points(t.ftrelid, s.stale) AS stale_points,
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

CREATE FUNCTION mongo_ts_mark_rollup(relation regclass, start_time timestamptz, end_time timestamptz)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION mongo_ts_mark_rollup(regclass, timestamptz, timestamptz) IS
  'mark intervals of roll-ups as stale, as a write of their points does';

CREATE FUNCTION mongo_ts_drop_rollup(relation regclass)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION mongo_ts_drop_rollup(regclass) IS
  'drop a roll-up, with its collection and what is known of it';
