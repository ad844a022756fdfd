/* mongo_ts_fdw--1.0.0--1.1.0.sql */

\echo Use "ALTER EXTENSION mongo_ts_fdw UPDATE TO '1.1.0'" to load this file. \quit

CREATE FUNCTION mongo_ts_create_index(relation regclass, columns text[])
RETURNS text
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION mongo_ts_create_index(regclass, text[]) IS
  'create an index of a foreign table on some columns and the time';

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

CREATE FUNCTION mongo_ts_rollup_intervals(relation regclass, from_time timestamptz, to_time timestamptz,
                                          OUT start timestamptz, OUT stop timestamptz, OUT start_is_repeated boolean)
RETURNS record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT STABLE PARALLEL SAFE;

COMMENT ON FUNCTION mongo_ts_rollup_intervals(regclass, timestamptz, timestamptz) IS
  'the intervals of a roll-up from that of a time to that before another time';

CREATE FUNCTION mongo_ts_rollup_first_kept(relation regclass)
RETURNS timestamptz
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL SAFE;

COMMENT ON FUNCTION mongo_ts_rollup_first_kept(regclass) IS
  'the begin of the first interval whose points have not been removed because of their age';

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
  SELECT format('SELECT %s%s FROM %s WHERE %I OPERATOR(pg_catalog.>=) $1 AND %4$I OPERATOR(pg_catalog.<) $2 GROUP BY %s',
                string_agg(format('(%s)::%s AS %I', value, type, name), ', ' ORDER BY place),
                -- n additions of values up to x are each wrong by n * x / 2^53 at most, in either order
                string_agg(format(', pg_catalog.float8mul(pg_catalog.float8mul(pg_catalog.power(pg_catalog.count(%1$I), 2), 4.5e-16), '
                                  'GREATEST(pg_catalog.max(%1$I), pg_catalog.float8um(pg_catalog.min(%1$I)), 1e-290))', of), '' ORDER BY place)
                  FILTER (WHERE of_points AND aggregate = 'sum' AND type = 'double precision'),
                max(source::oid)::regclass,
                max(of::text) FILTER (WHERE is_time), string_agg(place::text, ', ' ORDER BY place) FILTER (WHERE aggregate IS NULL))
    FROM items;
END;

COMMENT ON FUNCTION mongo_ts_rollup_query(regclass, boolean) IS
  'the query that computes the rows of a roll-up from $1 to $2; of the points, also how much each sum of float8 may differ';

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

CREATE FUNCTION mongo_ts_rollup_comparison(relation regclass, OUT ends text, OUT differences text)
RETURNS record
LANGUAGE sql STRICT STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
  WITH columns AS (
    SELECT own.attname AS name, quote_ident(own.attname) AS quoted, c.is_time, c.aggregate IS NULL AS is_key,
           c.aggregate IS NOT NULL AND c.source_attnum IS NULL AS is_number,
           c.aggregate = 'sum' AND own.atttypid = 'float8'::regtype AS is_float_sum,
           c.source, s.attname AS of, row_number() OVER (ORDER BY c.aggregate IS NOT NULL, c.attnum) AS n
      FROM mongo_ts_rollup_columns(relation, true) c
           JOIN pg_attribute own ON own.attrelid = relation AND own.attnum = c.attnum
           LEFT JOIN pg_attribute s ON s.attrelid = c.source AND s.attnum = c.source_attnum
  ), lists AS (
    SELECT max('c' || n) FILTER (WHERE is_time) AS start,
           max(quoted) FILTER (WHERE is_time) AS own_time,
           max(quote_ident(of)) FILTER (WHERE is_time) AS points_time,
           max(source::oid)::regclass AS points,
           string_agg('c' || n, ', ' ORDER BY n) FILTER (WHERE is_key) AS keys,
           string_agg(format('c%s AS %s', n, quoted), ', ' ORDER BY n) FILTER (WHERE is_key AND NOT is_time) AS series,
           -- the columns of the query of the points, and those of the roll-up
           concat(string_agg('c' || n, ', ' ORDER BY n), string_agg(', t' || n, '' ORDER BY n) FILTER (WHERE is_float_sum)) AS names,
           concat(string_agg(quoted, ', ' ORDER BY n), string_agg(', NULL', '') FILTER (WHERE is_float_sum)) AS own,
           max(format('AND %s IS DISTINCT FROM 0', quoted)) FILTER (WHERE is_number) AS has_points,
           -- of the roll-up and of the points
           concat(string_agg(format(', max(c%1$s) FILTER (WHERE NOT of_points) AS r%1$s, max(c%1$s) FILTER (WHERE of_points) AS p%1$s', n),
                             '' ORDER BY n) FILTER (WHERE NOT is_key),
                  string_agg(format(', max(t%1$s) AS t%1$s', n), '') FILTER (WHERE is_float_sum)) AS totals,
           coalesce(max(format('%L, r%2$s::text, p%2$s::text', name, n)) FILTER (WHERE is_number), 'NULL, NULL, NULL') AS number,
           string_agg(format(', (''a total of the roll-up is wrong'', %L, r%2$s::text, p%2$s::text, nrows = 1 AND npoints = 1 AND r%2$s IS DISTINCT FROM p%2$s',
                             name, n)
                      || CASE WHEN is_float_sum
                              THEN format(' AND CASE WHEN r%1$s IS NULL OR p%1$s IS NULL OR ARRAY[r%1$s, p%1$s] && ''{NaN,Infinity,-Infinity}'' '
                                          'THEN true ELSE greatest(r%1$s, p%1$s) > least(r%1$s, p%1$s) + t%1$s END', n)
                              ELSE '' END || ')', '' ORDER BY n) FILTER (WHERE NOT is_key) AS tests
      FROM columns
  )
  SELECT format($q$
           SELECT least(r.first, p.first), greatest(r.last, p.last)
             FROM (SELECT min(%1$s), max(%1$s) FROM %2$s WHERE %1$s >= $1 AND %1$s < $2) r (first, last),
                  (SELECT min(%3$s), max(%3$s) FROM %4$s WHERE %3$s >= $1 AND %3$s < $2) p (first, last)
         $q$, own_time, relation, points_time, points),
         format($q$
           SELECT %1$s AS start, (SELECT to_jsonb(k) FROM (SELECT %2$s) k) AS series, v.*
             FROM (SELECT %3$s, count(*) FILTER (WHERE NOT of_points) AS nrows, count(*) FILTER (WHERE of_points) AS npoints %4$s
                     FROM (SELECT true, * FROM (%5$s) p
                           UNION ALL SELECT false, %6$s FROM %7$s WHERE %8$s >= $1 AND %8$s < $2 %9$s) u (of_points, %10$s)
                    WHERE %1$s >= $1 AND %1$s < $2 GROUP BY %3$s) g,
                  LATERAL (VALUES ('the roll-up lacks a row', %11$s, nrows = 0), ('the roll-up has a row without points', %11$s, npoints = 0),
                                  ('the roll-up has a row several times', %11$s, nrows > 1) %12$s) v (problem, total, in_rollup, of_points, differs)
            WHERE differs
         $q$, start, series, keys, totals, mongo_ts_rollup_query(relation, true), own, relation, own_time, has_points, names, number, tests)
    FROM lists;
END;

COMMENT ON FUNCTION mongo_ts_rollup_comparison(regclass) IS
  'the queries from $1 to $2 of the first and the last time of a roll-up or its points, and of their differences';

CREATE FUNCTION mongo_ts_mark_rollup(relation regclass, start_time timestamptz, end_time timestamptz)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION mongo_ts_mark_rollup(regclass, timestamptz, timestamptz) IS
  'mark intervals of roll-ups as stale, as a write of their points does';

CREATE FUNCTION mongo_ts_check_rollup(relation regclass, start_time timestamptz DEFAULT NULL, end_time timestamptz DEFAULT NULL,
                                      mark boolean DEFAULT false, time_limit interval DEFAULT '10 seconds',
                                      OUT interval_start timestamptz, OUT interval_end timestamptz, OUT series jsonb,
                                      OUT problem text, OUT total text, OUT in_rollup text, OUT of_points text)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, pg_temp
SET mongo_ts_fdw.enable_rollups = off
AS $$
DECLARE
  owner regrole := (SELECT relowner FROM pg_class WHERE oid = relation);
  is_sample boolean := start_time IS NULL AND end_time IS NULL;
  deadline timestamptz := clock_timestamp() + time_limit;
  state record;
  query record;
  wanted tstzmultirange;
  first timestamptz;
  last timestamptz;
  i record;
  slot interval;
  n bigint;
  step bigint := 1;
  shift bigint := 0;
  at timestamptz;
  stop timestamptz;
  nvisited bigint := 0;
  part tstzrange;
  again tstzrange;
  differs boolean;
  wrong tstzmultirange := '{}';
BEGIN
  IF relation IS NULL THEN
    RETURN;
  END IF;
  IF owner <> current_user::regrole THEN
    RAISE insufficient_privilege USING MESSAGE = format('must be owner of foreign table %s', relation),
      HINT = format('Use SET ROLE %s.', owner);
  END IF;
  IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
    RAISE feature_not_supported USING MESSAGE = 'a roll-up can only be checked under isolation level READ COMMITTED';
  END IF;
  state := @extschema@.mongo_ts_rollup_state(relation);
  IF state.problem IS NOT NULL THEN
    problem := 'the roll-up is not used: ' || state.problem;
    RETURN NEXT;
    RETURN;
  END IF;

  -- the wanted intervals that are complete, from the first row or point to the last one
  wanted := tstzmultirange(tstzrange(@extschema@.mongo_ts_rollup_first_kept(relation), state.until)) - state.stale;
  IF isfinite(start_time) THEN
    i := @extschema@.mongo_ts_rollup_intervals(relation, start_time, start_time);
    wanted := wanted - tstzmultirange(tstzrange(NULL, i.start));
  END IF;
  IF isfinite(end_time) THEN
    i := @extschema@.mongo_ts_rollup_intervals(relation, end_time - interval '1 microsecond', end_time);
    wanted := wanted - tstzmultirange(tstzrange(i.stop, NULL));
  END IF;
  query := @extschema@.mongo_ts_rollup_comparison(relation);
  EXECUTE query.ends INTO first, last USING coalesce(lower(wanted), '-infinity'), upper(wanted);
  IF first IS NULL THEN
    RETURN;
  END IF;
  i := @extschema@.mongo_ts_rollup_intervals(relation, last, last);
  last := i.stop;
  i := @extschema@.mongo_ts_rollup_intervals(relation, first, first);
  first := i.start;

  -- each interval has a begin of a slot
  slot := CASE WHEN i.stop - first > '27 days' THEN '671 hours' WHEN i.stop - first > '22 hours' THEN '23 hours'
               WHEN is_sample THEN greatest(i.stop - first, '1 hour') ELSE '24 hours' END;
  n := ceil(extract(epoch FROM last - first) / extract(epoch FROM slot));
  -- a sample is the last day and what there is time for, evenly spread
  IF is_sample THEN
    shift := floor(n * random());
    step := round(n * 0.618);
    WHILE gcd(step, n) <> 1 LOOP
      step := step + 1;
    END LOOP;
  END IF;
  FOR turn IN 0 .. n LOOP
    IF turn = 0 THEN
      CONTINUE WHEN NOT is_sample;
      i := @extschema@.mongo_ts_rollup_intervals(relation, last - interval '24 hours', last);
    ELSE
      EXIT WHEN is_sample AND clock_timestamp() > deadline;
      at := first + slot * (((turn - 1) * step + shift) % n);
      i := @extschema@.mongo_ts_rollup_intervals(relation, at, at + slot);
      nvisited := turn;
    END IF;
    CONTINUE WHEN i.start_is_repeated;
    FOR part IN SELECT unnest(wanted * tstzmultirange(tstzrange(i.start, i.stop))) LOOP
      EXECUTE format('SELECT EXISTS (%s)', query.differences) INTO differs USING lower(part), upper(part);
      CONTINUE WHEN NOT differs;
      -- whoever writes points or rows marks them before; what is old can have been removed
      state := @extschema@.mongo_ts_rollup_state(relation);
      FOR again IN
        SELECT unnest(tstzmultirange(part) * tstzmultirange(tstzrange(@extschema@.mongo_ts_rollup_first_kept(relation), state.until)) - state.stale)
         WHERE state.problem IS NULL
      LOOP
        FOR interval_start, series, problem, total, in_rollup, of_points IN
          EXECUTE query.differences || ' ORDER BY 1, 2, 4' USING lower(again), upper(again)
        LOOP
          interval_end := (@extschema@.mongo_ts_rollup_intervals(relation, interval_start, interval_start)).stop;
          wrong := wrong + tstzmultirange(tstzrange(interval_start, interval_end));
          RETURN NEXT;
        END LOOP;
      END LOOP;
    END LOOP;
    wanted := wanted - tstzmultirange(tstzrange(i.start, i.stop));
  END LOOP;
  IF nvisited < n THEN
    RAISE NOTICE 'compared the last day and % %% of the other intervals of roll-up "%"', 100 * nvisited / n,
        (SELECT relname FROM pg_class WHERE oid = relation)
      USING HINT = 'A longer time_limit compares more, and start_time => ''-infinity'' all.';
  END IF;
  IF mark THEN
    PERFORM @extschema@.mongo_ts_mark_rollup(relation, lower(r), upper(r)) FROM unnest(wrong) r;
  END IF;
END
$$;

COMMENT ON FUNCTION mongo_ts_check_rollup(regclass, timestamptz, timestamptz, boolean, interval) IS
  'compare intervals of a roll-up with its points';

CREATE FUNCTION mongo_ts_check_documents(relation regclass, OUT problem text, OUT field text,
                                         OUT documents bigint, OUT hint text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'mongo_ts_check'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 10;

COMMENT ON FUNCTION mongo_ts_check_documents(regclass) IS
  'what sampled documents say against the declaration of a foreign table';

CREATE OR REPLACE FUNCTION mongo_ts_check(relation regclass, OUT problem text, OUT field text,
                               OUT documents bigint, OUT hint text)
RETURNS SETOF record
LANGUAGE sql STRICT VOLATILE PARALLEL UNSAFE ROWS 10
BEGIN ATOMIC
  WITH rollup AS (
    SELECT r.oid, r.relowner = current_user::regrole AS is_own, r.relowner::regrole AS owner,
           bool_or(option_value = 'application') FILTER (WHERE option_name = 'rollup_maintained_by') AS by_application
      FROM pg_class r, pg_foreign_table, pg_options_to_table(ftoptions)
     WHERE r.oid = relation AND ftrelid = r.oid
     GROUP BY r.oid HAVING bool_or(option_name = 'rollup_of')
  )
  SELECT * FROM mongo_ts_check_documents(relation)
  UNION ALL
  SELECT c.problem, string_agg(DISTINCT c.total, ', '), count(DISTINCT (c.interval_start, c.series)),
         concat((array_agg(format('At %s, %s of %s is %s, and %s by the points.  ', c.interval_start, c.total, c.series,
                                  coalesce(c.in_rollup, 'NULL'), coalesce(c.of_points, 'NULL')) ORDER BY c.interval_start, c.series)
                   FILTER (WHERE c.total IS NOT NULL))[1],
                CASE WHEN bool_or(by_application) THEN 'An application maintains the roll-up.'
                     WHEN min(c.interval_start) IS NULL THEN format('Use SELECT mongo_ts_refresh_rollup(%L);', relation)
                     ELSE format('Use SELECT mongo_ts_refresh_rollup(%L, %L, %L);', relation, min(c.interval_start), max(c.interval_end)) END)
    FROM rollup r, LATERAL mongo_ts_check_rollup(r.oid) c WHERE r.is_own GROUP BY c.problem
  UNION ALL
  SELECT 'the roll-up is not compared with its points', NULL, NULL, format('Only its owner can do that: SET ROLE %s;', owner)
    FROM rollup WHERE NOT is_own;
END;

COMMENT ON FUNCTION mongo_ts_check(regclass) IS
  'what sampled documents say against the declaration of a foreign table, and the points against a roll-up';
