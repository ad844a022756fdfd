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

CREATE FUNCTION mongo_ts_rollup_state(relation regclass, wait boolean DEFAULT true,
                                      OUT until timestamptz, OUT stale tstzmultirange,
                                      OUT open tstzmultirange, OUT problem text,
                                      OUT refreshed timestamptz, OUT took interval,
                                      OUT error text, OUT points regclass, OUT source regclass,
                                      OUT time_column text, OUT count_column text,
                                      OUT generation bigint)
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
  EXECUTE format('SELECT coalesce(sum(s.n), 0) FROM unnest($1) range, LATERAL (
                    SELECT sum(t.%2$I) AS n FROM ONLY %1$s t
                     WHERE t.%3$I >= coalesce(lower(range.range), ''-infinity'') AND t.%3$I < coalesce(upper(range.range), ''infinity'')) s',
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

CREATE FUNCTION mongo_ts_drop_rollup(relation regclass)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION mongo_ts_drop_rollup(regclass) IS
  'drop a roll-up, with its collection and what is known of it';

CREATE FUNCTION _mongo_ts_rollup_comparison(relation regclass, OUT ends text, OUT differences text)
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
           SELECT %1$s AS start, (SELECT to_jsonb(k.*) FROM (SELECT %2$s) k) AS series, v.*
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

COMMENT ON FUNCTION _mongo_ts_rollup_comparison(regclass) IS
  'the queries from $1 to $2 of the first and the last time of a roll-up or its points, and of their differences';

CREATE FUNCTION mongo_ts_mark_rollup(relation regclass, start_time timestamptz, end_time timestamptz)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION mongo_ts_mark_rollup(regclass, timestamptz, timestamptz) IS
  'mark intervals of roll-ups as stale, as a write of their points does';

CREATE FUNCTION mongo_ts_mark_late(relation regclass, since timestamptz, until timestamptz)
RETURNS bigint
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION mongo_ts_mark_late(regclass, timestamptz, timestamptz) IS
  'mark the intervals of points that are older than their documents are new';

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
  this record;
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
  step bigint;
  shift bigint;
  turn bigint := 0;
  length bigint := 1;
  begun timestamptz;
  at timestamptz;
  part tstzrange;
  differs boolean;
  generation bigint;
  found jsonb;
  complete tstzmultirange;
  wrong tstzmultirange := '{}';
BEGIN
  IF relation IS NULL THEN
    RETURN;
  END IF;
  SELECT relname AS name, pg_get_userbyid(relowner) AS owner INTO this FROM pg_class WHERE oid = relation;
  IF this.owner <> current_user THEN
    RAISE insufficient_privilege USING MESSAGE = format('must be owner of foreign table %s', this.name),
      HINT = format('Use SET ROLE %I.', this.owner);
  END IF;
  IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
    RAISE feature_not_supported USING MESSAGE = 'a roll-up can only be checked under isolation level READ COMMITTED';
  END IF;
  state := @extschema@.mongo_ts_rollup_state(relation, true);
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
  query := @extschema@._mongo_ts_rollup_comparison(relation);
  EXECUTE query.ends INTO first, last USING coalesce(lower(wanted), '-infinity'), upper(wanted);
  IF first IS NULL THEN
    RETURN;
  END IF;
  i := @extschema@.mongo_ts_rollup_intervals(relation, last, last);
  last := i.stop;
  i := @extschema@.mongo_ts_rollup_intervals(relation, first, first);
  first := i.start;

  -- A sample is the last day and what there is time for, evenly spread: each interval has a begin of a slot.
  slot := CASE WHEN i.stop - first > '27 days' THEN '671 hours' WHEN i.stop - first > '22 hours' THEN '23 hours'
               ELSE greatest(i.stop - first, '1 hour') END;
  n := ceil(extract(epoch FROM last - first) / extract(epoch FROM slot));
  shift := floor(n * random());
  step := round(n * 0.618);
  WHILE gcd(step, n) <> 1 LOOP
    step := step + 1;
  END LOOP;
  WHILE CASE WHEN is_sample THEN turn <= n AND (turn = 0 OR clock_timestamp() < deadline) ELSE first < last END LOOP
    begun := clock_timestamp();
    IF NOT is_sample THEN
      i := @extschema@.mongo_ts_rollup_intervals(relation, first, least(first + slot * length, last));
    ELSIF turn = 0 THEN
      i := @extschema@.mongo_ts_rollup_intervals(relation, last - interval '24 hours', last);
    ELSE
      at := first + slot * (((turn - 1) * step + shift) % n);
      i := @extschema@.mongo_ts_rollup_intervals(relation, at, at + slot);
    END IF;
    IF i.start_is_repeated THEN
      i := @extschema@.mongo_ts_rollup_intervals(relation, i.start, i.start);
      wanted := wanted - tstzmultirange(tstzrange(i.start, i.stop));
    END IF;
    FOR part IN SELECT unnest(wanted * tstzmultirange(tstzrange(i.start, i.stop))) LOOP
      EXECUTE format('SELECT EXISTS (%s)', query.differences) INTO differs USING lower(part), upper(part);
      CONTINUE WHEN NOT differs;
      -- A refresh may have changed rows meanwhile.  A write of points has marked their intervals before.
      LOOP
        generation := state.generation;
        EXECUTE format('SELECT jsonb_agg(d) FROM (%s) d', query.differences) INTO found USING lower(part), upper(part);
        state := @extschema@.mongo_ts_rollup_state(relation, true);
        EXIT WHEN state.generation = generation;
      END LOOP;
      complete := tstzmultirange(tstzrange(@extschema@.mongo_ts_rollup_first_kept(relation), state.until)) - state.stale;
      FOR interval_start, interval_end, series, problem, total, in_rollup, of_points IN
        SELECT d.start, own.stop, d.series, d.problem, d.total, d.in_rollup, d.of_points
          FROM jsonb_to_recordset(found) d (start timestamptz, series jsonb, problem text, total text, in_rollup text, of_points text),
               LATERAL @extschema@.mongo_ts_rollup_intervals(relation, d.start, d.start) own
         WHERE state.problem IS NULL AND complete @> tstzrange(d.start, own.stop) ORDER BY 1, 3, 5
      LOOP
        wrong := wrong + tstzmultirange(tstzrange(interval_start, interval_end));
        RETURN NEXT;
      END LOOP;
    END LOOP;
    wanted := wanted - tstzmultirange(tstzrange(i.start, i.stop));
    IF is_sample THEN
      turn := turn + 1;
    ELSE
      first := i.stop;
      -- long enough to be fast, and short enough for the memory of a statement
      length := CASE WHEN clock_timestamp() - begun < '0.2 s' THEN length * 2 ELSE greatest(length / 2, 1) END;
    END IF;
  END LOOP;
  IF is_sample AND turn <= n THEN
    RAISE NOTICE 'compared the last day and % %% of the other intervals of roll-up "%"', 100 * (turn - 1) / n, this.name
      USING HINT = 'A longer time_limit compares more, and start_time => ''-infinity'' all.';
  END IF;
  IF mark THEN
    PERFORM @extschema@.mongo_ts_mark_rollup(relation, lower(r), upper(r)) FROM unnest(wrong) r;
  END IF;
END
$$;

COMMENT ON FUNCTION mongo_ts_check_rollup(regclass, timestamptz, timestamptz, boolean, interval) IS
  'compare intervals of a roll-up with its points';

CREATE FUNCTION _mongo_ts_check_documents(relation regclass, OUT problem text, OUT field text,
                                         OUT documents bigint, OUT hint text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'mongo_ts_check'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 10;

COMMENT ON FUNCTION _mongo_ts_check_documents(regclass) IS
  'what sampled documents say against the declaration of a foreign table';

CREATE FUNCTION mongo_ts_check(relation regclass, OUT problem text, OUT field text,
                               OUT documents bigint, OUT hint text)
RETURNS SETOF record
LANGUAGE sql STRICT VOLATILE PARALLEL UNSAFE ROWS 10
BEGIN ATOMIC
  WITH rollup AS (
    SELECT r.oid, pg_get_userbyid(r.relowner) AS owner,
           bool_or(option_value = 'application') FILTER (WHERE option_name = 'rollup_maintained_by') AS by_application
      FROM pg_class r, pg_foreign_table, pg_options_to_table(ftoptions)
     WHERE r.oid = relation AND ftrelid = r.oid
     GROUP BY r.oid HAVING bool_or(option_name = 'rollup_of')
  )
  SELECT * FROM _mongo_ts_check_documents(relation)
  UNION ALL
  SELECT c.problem, string_agg(DISTINCT c.total, ', '), count(DISTINCT (c.interval_start, c.series)),
         concat((array_agg(format('The first is of %s and %s: %s is %s, and %s by the points.  ', c.interval_start, c.series, c.total,
                                  coalesce(c.in_rollup, 'NULL'), coalesce(c.of_points, 'NULL')) ORDER BY c.interval_start, c.series, c.total)
                   FILTER (WHERE c.total IS NOT NULL))[1],
                CASE WHEN bool_or(by_application) THEN 'An application maintains the roll-up.'
                     WHEN min(c.interval_start) IS NULL THEN format('Use SELECT mongo_ts_refresh_rollup(%L);', relation)
                     ELSE format('Use SELECT mongo_ts_refresh_rollup(%L, %L, %L);', relation, min(c.interval_start), max(c.interval_end)) END)
    FROM rollup r, LATERAL mongo_ts_check_rollup(r.oid) c WHERE r.owner = current_user GROUP BY c.problem
  UNION ALL
  SELECT 'the roll-up is not compared with its points', NULL, NULL, format('Only its owner can do that: SET ROLE %I;', owner)
    FROM rollup WHERE owner <> current_user;
END;

COMMENT ON FUNCTION mongo_ts_check(regclass) IS
  'what sampled documents say against the declaration of a foreign table, and the points against a roll-up';

CREATE FUNCTION mongo_ts_open_points(relation regclass)
RETURNS regclass
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION mongo_ts_open_points(regclass) IS
  'lock a table that a roll-up shall summarize, and return that of its points';

CREATE FUNCTION mongo_ts_columns(relation regclass, OUT attnum smallint, OUT role text, OUT base_type regtype)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT STABLE PARALLEL SAFE ROWS 10;

COMMENT ON FUNCTION mongo_ts_columns(regclass) IS
  'the role of each column in the documents: time, key, slot, attribute or value';

CREATE FUNCTION mongo_ts_prepare_rollup(relation regclass)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION mongo_ts_prepare_rollup(regclass) IS
  'check a new roll-up, and that its collection does not exist';

/* A name with a suffix, as PostgreSQL makes those of indexes */
CREATE FUNCTION _mongo_ts_name(name text, suffix text)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT left(name, n) || '_' || suffix FROM generate_series(0, length(name)) n
         WHERE octet_length(left(name, n) || '_' || suffix) < 64 ORDER BY n DESC LIMIT 1);

/* The name of a field for a column: its name, if MongoDB's updates can address that */
CREATE FUNCTION _mongo_ts_field(name text)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN name ~ '^[0-9]' OR name IN ('', '_id') THEN '_' ELSE '' END || translate(name, '.{}[]$\', '_______');

/* An interval as an option has it, whatever IntervalStyle is */
CREATE FUNCTION _mongo_ts_interval(i interval)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT coalesce(string_agg(n || ' ' || unit || CASE WHEN n = 1 THEN '' ELSE 's' END, ' ' ORDER BY place), '0 hours')
          FROM (VALUES (1, (12 * extract(year FROM i) + extract(month FROM i))::bigint, 'month'), (2, extract(day FROM i)::bigint, 'day'),
                       (3, extract(hour FROM i)::bigint, 'hour'), (4, extract(minute FROM i)::bigint, 'minute'),
                       (5, floor(extract(second FROM i))::bigint, 'second'), (6, (extract(microseconds FROM i) % 1000000)::bigint, 'microsecond')) u (place, n, unit)
         WHERE n <> 0);

/*
 * Where a roll-up keeps intervals of one length: the field of a bucket that has them, the slot in it,
 * and the span of a bucket, with some hundreds of intervals at most.  No row if they cannot be.
 */
CREATE FUNCTION _mongo_ts_rollup_shape(span interval, OUT field text, OUT slot text, OUT bucket_span text, OUT suffix text)
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
  SELECT unit || 's', CASE WHEN n = 1 THEN format('{%s}', slot_unit) ELSE format('{%s %ss}', n, slot_unit) END, width, n || letter
    FROM (SELECT extract(epoch FROM span) AS s,
                 extract(year FROM span) = 0 AND extract(month FROM span) = 0 AND extract(day FROM span) = 0 AS is_time) i,
         LATERAL (VALUES
           (span = interval '1 month' AND extract(month FROM span) = 1, 'month', 'month:1', 1, '1 year', 'mo'),
           (span = interval '1 day' AND extract(day FROM span) = 1, 'day', 'day:1', 1, '1 month', 'd'),
           (is_time AND s BETWEEN 3600 AND 43200 AND s % 3600 = 0 AND 86400 % s = 0, 'hour', 'hour', (s / 3600)::int, '1 day', 'h'),
           (is_time AND s BETWEEN 60 AND 43200 AND s % 60 = 0 AND s % 3600 <> 0 AND 86400 % s = 0, 'minute', 'minute', (s / 60)::int,
            CASE WHEN s >= 300 THEN '1 day' ELSE '1 hour' END, 'm'),
           (is_time AND s BETWEEN 1 AND 43200 AND s % 1 = 0 AND s % 60 <> 0 AND 86400 % nullif(s, 0) = 0, 'second', 'second', s::int,
            CASE WHEN 3600 % nullif(s, 0) <> 0 THEN '1 day' WHEN s >= 8 THEN '1 hour' ELSE '1 minute' END, 's')
         ) v (fits, unit, slot_unit, n, width, letter)
   WHERE fits;
END;

/*
 * The columns of a roll-up of a table, in their order: the time, the keys, the number of points (the
 * column with number 0) and the totals.  Where each document is a row, the columns that are not
 * summarized are keys; a coarser roll-up has what the finer one has.
 */
CREATE FUNCTION _mongo_ts_rollup_choices(relation regclass, points regclass, aggregates text[], columns text[],
                                         OUT attnum smallint, OUT name text, OUT aggregate text)
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
  WITH finer AS (
    SELECT c.* FROM mongo_ts_rollup_columns(relation, true) c WHERE relation <> points
  ), candidates AS (
    SELECT a.attnum, a.attname::text AS name, c.role, NOT bool_or(c.role = 'value') OVER () AS is_row,
           coalesce((SELECT option_value FROM pg_options_to_table(a.attfdwoptions) WHERE option_name = 'field'), a.attname) = '_id' AS is_id,
           c.base_type IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype, 'float4'::regtype, 'float8'::regtype, 'numeric'::regtype) AS is_number
      FROM mongo_ts_columns(points) c
           JOIN pg_attribute a ON a.attrelid = points AND a.attnum = c.attnum
  ), divided AS (
    SELECT c.*, CASE WHEN relation <> points THEN EXISTS (SELECT FROM finer WHERE finer.aggregate IS NULL AND source_attnum = c.attnum)
                     WHEN is_row THEN c.role = 'key' AND NOT is_id AND c.name <> ALL (coalesce(columns, '{}'))
                     ELSE c.role IN ('key', 'slot') END AS is_key,
           c.role = 'value' OR is_row AND c.role = 'key' AS is_value
      FROM candidates c
  )
  SELECT attnum, name, aggregate
    FROM (SELECT attnum, name, NULL AS aggregate, CASE WHEN role = 'time' THEN 1 ELSE 2 END AS part, 0 AS place FROM divided WHERE role = 'time' OR is_key
          UNION ALL SELECT 0, 'points', 'count', 3, 0
          UNION ALL SELECT d.attnum, d.name, k.aggregate, 4, k.place
            FROM divided d, unnest('{count, sum, min, max}'::text[]) WITH ORDINALITY k (aggregate, place)
           WHERE role <> 'time' AND is_value AND NOT is_key AND k.aggregate = ANY (aggregates) AND (columns IS NULL OR d.name = ANY (columns))
             AND CASE WHEN relation = points THEN is_number OR k.aggregate = 'count'
                      ELSE EXISTS (SELECT FROM finer WHERE source_attnum = d.attnum AND finer.aggregate = k.aggregate) END) u
   ORDER BY part, attnum, place;
END;

/*
 * The declaration of a column of a roll-up; see _mongo_ts_rollup_choices.  Option rollup_column has
 * the field of the column of the points, which stays when that is renamed, unless it is the name of
 * another column.
 */
CREATE FUNCTION _mongo_ts_rollup_column(points regclass, attnum smallint, name text, aggregate text, path text)
RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
  SELECT format('%I %s OPTIONS (%s)%s', CASE WHEN aggregate IS NULL OR a.attnum IS NULL THEN given.name ELSE _mongo_ts_name(given.name, aggregate) END,
           CASE WHEN aggregate = 'count' THEN 'bigint'
                WHEN aggregate = 'sum' AND c.base_type IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype) THEN 'bigint'
                WHEN aggregate = 'sum' AND c.base_type IN ('float4'::regtype, 'float8'::regtype) THEN 'double precision'
                WHEN aggregate = 'sum' THEN 'numeric'
                ELSE format_type(a.atttypid, CASE WHEN aggregate IS NULL THEN a.atttypmod END) END,
           (SELECT string_agg(format('%s %L', key, value), ', ' ORDER BY place)
              FROM (SELECT 1, 'role', CASE WHEN c.role = 'time' THEN 'time' ELSE 'key' END WHERE aggregate IS NULL
                    UNION ALL SELECT 2, 'rollup_column', of.name WHERE aggregate IS NULL AND of.name <> given.name
                    UNION ALL SELECT 3, 'field', _mongo_ts_field(given.name) WHERE aggregate IS NULL AND _mongo_ts_field(given.name) <> given.name
                    UNION ALL SELECT 4, option_name, option_value FROM pg_options_to_table(a.attfdwoptions)
                     WHERE aggregate IS NULL AND c.role <> 'time' AND option_name IN ('bson_type', 'format')
                    UNION ALL SELECT 5, 'field', concat_ws('.', path, _mongo_ts_field(given.name), CASE WHEN a.attnum IS NOT NULL THEN aggregate END) WHERE aggregate IS NOT NULL
                    UNION ALL SELECT 6, 'rollup', aggregate WHERE aggregate IS NOT NULL
                    UNION ALL SELECT 7, 'rollup_column', of.name WHERE aggregate IS NOT NULL AND a.attnum IS NOT NULL) o (place, key, value)),
           CASE WHEN aggregate IS NULL AND a.attcollation <> t.typcollation THEN format(' COLLATE %s', a.attcollation::regcollation) END)
    FROM (SELECT attnum AS n, name) given
         LEFT JOIN pg_attribute a ON a.attrelid = points AND a.attnum = given.n AND given.n <> 0
         LEFT JOIN pg_type t ON t.oid = a.atttypid
         LEFT JOIN mongo_ts_columns(points) c ON c.attnum = a.attnum
         CROSS JOIN LATERAL (
           SELECT coalesce((SELECT option_value FROM pg_options_to_table(a.attfdwoptions)
                             WHERE option_name = 'field'
                               AND NOT EXISTS (SELECT FROM pg_attribute o WHERE o.attrelid = points AND o.attname = option_value AND o.attnum <> a.attnum)),
                           given.name) AS name) of;
END;

/*
 * Add to a roll-up the totals that it lacks; false if the table is not that roll-up of the relation.
 */
CREATE FUNCTION _mongo_ts_extend_rollup(rollup regclass, relation regclass, points regclass, span interval, zone text,
                                        aggregates text[], columns text[], path text)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  declared record;
  lacking record;
BEGIN
  SELECT max(option_value) FILTER (WHERE option_name = 'rollup_of') AS source,
         max(option_value) FILTER (WHERE option_name = 'rollup_interval') AS span,
         coalesce(max(option_value) FILTER (WHERE option_name = 'rollup_zone'), 'UTC') AS zone INTO declared
    FROM pg_foreign_table, pg_options_to_table(ftoptions) WHERE ftrelid = rollup;
  IF to_regclass(declared.source) IS DISTINCT FROM relation OR declared.span::interval <> span OR declared.zone <> zone THEN
    RETURN false;
  END IF;
  FOR lacking IN
    SELECT c.* FROM @extschema@._mongo_ts_rollup_choices(relation, points, aggregates, columns) WITH ORDINALITY c (attnum, name, aggregate, n)
     WHERE c.aggregate IS NOT NULL AND c.attnum <> 0
       AND NOT EXISTS (SELECT FROM @extschema@.mongo_ts_rollup_columns(rollup, true) r WHERE r.source_attnum = c.attnum AND r.aggregate = c.aggregate)
     ORDER BY c.n
  LOOP
    EXECUTE format('ALTER FOREIGN TABLE %s ADD COLUMN %s', rollup,
                   @extschema@._mongo_ts_rollup_column(points, lacking.attnum, lacking.name, lacking.aggregate, path));
  END LOOP;
  RETURN true;
END $$;

/*
 * A roll-up is a foreign table, which the function declares by a statement that anybody could write.
 * A document has the intervals of a series in an hour, a day, a month or a year, and of each interval
 * the totals:
 *
 *   {ts: .., sensor: .., hours: {"0": {points: 60, temp: {count: 60, sum: .., min: .., max: ..}}, ..}}
 *
 * If the roll-up exists, the columns that it lacks are added.
 */
CREATE FUNCTION mongo_ts_create_rollup(relation regclass, span interval, name text DEFAULT NULL,
                                       aggregates text[] DEFAULT '{count, sum, min, max}',
                                       columns text[] DEFAULT NULL, zone text DEFAULT 'UTC',
                                       lag interval DEFAULT '1 day', refresh interval DEFAULT NULL)
RETURNS regclass
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  source record;
  shape record;
  points regclass;
  wrong text;
  options text;
  result regclass;
BEGIN
  IF relation IS NULL OR span IS NULL OR aggregates IS NULL OR zone IS NULL OR lag IS NULL OR array_position(aggregates, NULL) > 0 OR array_position(columns, NULL) > 0 THEN
    RAISE null_value_not_allowed USING MESSAGE = 'only the name, the columns and the refresh of a roll-up can be null';
  END IF;
  points := @extschema@.mongo_ts_open_points(relation);
  SELECT relname, relnamespace::regnamespace AS schema, relowner::regrole AS owner, srvname, ftoptions, srvoptions INTO source
    FROM pg_class JOIN pg_foreign_table ON ftrelid = pg_class.oid JOIN pg_foreign_server s ON s.oid = ftserver WHERE pg_class.oid = relation;
  SELECT * INTO shape FROM @extschema@._mongo_ts_rollup_shape(span);
  IF shape.field IS NULL THEN
    RAISE invalid_parameter_value USING MESSAGE = 'invalid interval of a roll-up',
      DETAIL = 'It must be whole seconds that divide a day, or "1 day", or "1 month".',
      HINT = 'Queries by weeks are answered by a roll-up of days, and those by quarters and years by one of months.';
  END IF;
  PERFORM now() AT TIME ZONE zone;

  -- what is named
  SELECT a INTO wrong FROM unnest(aggregates) a WHERE a NOT IN ('count', 'sum', 'min', 'max') LIMIT 1;
  IF FOUND THEN
    RAISE invalid_parameter_value USING MESSAGE = format('a roll-up cannot have the aggregate "%s"', wrong),
      HINT = 'Valid values are "count", "sum", "min" and "max".';
  END IF;
  SELECT c INTO wrong FROM unnest(columns) c WHERE NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = points AND attname = c AND attnum > 0 AND NOT attisdropped) LIMIT 1;
  IF FOUND THEN
    RAISE undefined_column USING MESSAGE = format('column "%s" of foreign table %s does not exist', wrong, points);
  END IF;
  SELECT attname INTO wrong FROM @extschema@.mongo_ts_columns(points) c JOIN pg_attribute a ON a.attrelid = points AND a.attnum = c.attnum
   WHERE attname = ANY (columns)
     AND NOT (role = 'value' OR role = 'key' AND NOT EXISTS (SELECT FROM @extschema@.mongo_ts_columns(points) WHERE role = 'value')) LIMIT 1;
  IF FOUND THEN
    RAISE invalid_parameter_value USING MESSAGE = format('column "%s" is not a value of a point', wrong);
  END IF;
  IF columns IS NULL AND relation = points AND NOT EXISTS (SELECT FROM @extschema@.mongo_ts_columns(points) WHERE role = 'value') THEN
    RAISE invalid_parameter_value USING MESSAGE = 'the columns of the roll-up must be named',
      DETAIL = format('Each document of foreign table %s is a row, so all of its fields could be keys.', points),
      HINT = 'Name the values by the argument "columns".';
  END IF;

  name := coalesce(name, @extschema@._mongo_ts_name((SELECT relname FROM pg_class WHERE oid = points), shape.suffix))::name;
  result := to_regclass(format('%s.%I', source.schema, name));
  IF result IS NOT NULL AND @extschema@._mongo_ts_extend_rollup(result, relation, points, span, zone, aggregates, columns, shape.field || '.' || shape.slot) THEN
    RETURN result;
  END IF;
  options := (SELECT string_agg(format('%s %L', key, value), ', ' ORDER BY place)
                FROM (SELECT 1, option_name, option_value FROM pg_options_to_table(source.ftoptions) WHERE option_name = 'database'
                      UNION ALL VALUES (2, 'collection', name), (3, 'bucket_span', shape.bucket_span), (4, 'bucket_time_zone', zone),
                        (5, 'rollup_of', format('%s.%I', source.schema, source.relname)), (6, 'rollup_interval', @extschema@._mongo_ts_interval(span)),
                        (7, 'rollup_zone', zone), (8, 'rollup_lag', @extschema@._mongo_ts_interval(lag))
                      UNION ALL SELECT 9, 'rollup_refresh', @extschema@._mongo_ts_interval(refresh) WHERE refresh IS NOT NULL
                      UNION ALL SELECT 10, 'updatable', 'true' FROM pg_options_to_table(source.srvoptions)
                       WHERE option_name = 'updatable' AND NOT option_value::boolean) o (place, key, value));
  EXECUTE format(E'CREATE FOREIGN TABLE %s.%I (%s)\nSERVER %I OPTIONS (%s)', source.schema, name,
    (SELECT string_agg(E'\n  ' || @extschema@._mongo_ts_rollup_column(points, c.attnum, c.name, c.aggregate, shape.field || '.' || shape.slot), ',' ORDER BY n)
       FROM @extschema@._mongo_ts_rollup_choices(relation, points, aggregates, columns) WITH ORDINALITY c (attnum, name, aggregate, n)),
    source.srvname, options);
  result := format('%s.%I', source.schema, name)::regclass;
  PERFORM @extschema@.mongo_ts_prepare_rollup(result);
  PERFORM @extschema@.mongo_ts_create_index(result);
  IF relation = points THEN
    RAISE NOTICE USING
      MESSAGE = format('roll-up "%s" does not notice what other clients change in documents whose points are older than %s',
                       name, @extschema@._mongo_ts_interval(lag)),
      HINT = 'Refresh it each night with repair => ''3 days'', or mark what they have changed by mongo_ts_mark_rollup.';
  END IF;
  RETURN result;
END $$;

COMMENT ON FUNCTION mongo_ts_create_rollup(regclass, interval, text, text[], text[], text, interval, interval) IS
  'declare a table with the totals of points in intervals';

CREATE FUNCTION mongo_ts_lock_rollup(relation regclass, OUT name text, OUT source regclass, OUT points regclass,
                                     OUT by_application boolean, OUT latest timestamptz, OUT drops_points boolean,
                                     OUT first_kept timestamptz, OUT bucket_span interval, OUT fingerprint bigint)
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION mongo_ts_lock_rollup(regclass) IS
  'lock a roll-up for a refresh, and return what it declares';

CREATE FUNCTION mongo_ts_rollup_totals(relation regclass, is_anew boolean, OUT change text, OUT document json)
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION mongo_ts_rollup_totals(regclass, boolean) IS
  'what has been declared since the rows of a roll-up were computed, and which totals they have after a refresh';

CREATE FUNCTION mongo_ts_wait_for_writers(relation regclass)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION mongo_ts_wait_for_writers(regclass) IS
  'wait for the transactions that write to a foreign table';

CREATE FUNCTION mongo_ts_rollup_document(relation regclass)
RETURNS json
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION mongo_ts_rollup_document(regclass) IS
  'the document with the state of a roll-up';

CREATE FUNCTION mongo_ts_change_rollup(relation regclass, selector json, change json, makes boolean DEFAULT false)
RETURNS bigint
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION mongo_ts_change_rollup(regclass, json, json, boolean) IS
  'change the documents of the state of a roll-up, and return how many there are';

CREATE FUNCTION mongo_ts_compute_rollup(relation regclass, statements text[], start_time timestamptz,
                                        end_time timestamptz, selector json)
RETURNS boolean
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION mongo_ts_compute_rollup(regclass, text[], timestamptz, timestamptz, json) IS
  'execute the statements that compute the rows of a roll-up in a range';

/*
 * Refreshes.  A roll-up is computed from the next finer one, which is refreshed
 * first, or from the points, by SQL statements over the two tables, chunk by
 * chunk.  The roll-up is right for readers at any moment, however the refresh
 * ends, because of the order of its steps:
 *
 * 1. The state says that what will be computed is stale, and moves the watermark
 *    to its end.  From now on, readers take these intervals from the points, and
 *    sessions that write points mark their range.
 * 2. The transactions end that may not have seen that.
 * 3. The rows are removed, computed and written.  On a replica set, a chunk is a
 *    transaction.
 * 4. The state says that these intervals are no longer stale.  Marks that others
 *    have made in the meantime stay.
 *
 * A write whose outcome is unknown may be executed later, though its session has
 * ended.  So a range that a write has marked stays stale when it has been
 * computed, and the first refresh after two minutes computes it again.  (MongoDB
 * aborts a transaction after a minute, and clocks differ.)  The age of the mark
 * would not do: the transaction may have been sent long after it.  Coarser
 * roll-ups are computed meanwhile, since they have marks of their own.
 *
 * A refresh that is killed leaves a stale range, which the next one computes.  A
 * lock keeps the sessions of one PostgreSQL server from refreshing a roll-up at
 * once.  Those of several servers recognise each other by a token.  The one that
 * began last goes on.
 */

/* A bound of a range in extended JSON; an open one is $minKey or $maxKey. */
CREATE FUNCTION _mongo_ts_bound(t timestamptz, open text)
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN t IS NULL THEN jsonb_build_object(open, 1)
            ELSE jsonb_build_object('$date', jsonb_build_object('$numberLong', floor(extract(epoch FROM t) * 1000)::bigint::text)) END;

/* The time of a date in extended JSON; NULL for another value, such as $minKey. */
CREATE FUNCTION _mongo_ts_time(value jsonb)
RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE jsonb_typeof(value -> '$date')
            WHEN 'object' THEN timestamptz '1970-01-01 00:00:00Z' + (value #>> '{$date,$numberLong}')::bigint * interval '1 millisecond'
            WHEN 'string' THEN (value ->> '$date')::timestamptz END;

/* A unique value; that of a range in which nothing more is written begins with zeros. */
CREATE FUNCTION _mongo_ts_id(is_written boolean)
RETURNS jsonb
LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN jsonb_build_object('$oid', CASE WHEN is_written THEN 'ffffffff' ELSE '00000000' END || left(replace(gen_random_uuid()::text, '-', ''), 16));

/* Ranges as items of a state; those of a refresh stay stale until it ends. */
CREATE FUNCTION _mongo_ts_stale_items(ranges tstzmultirange, n jsonb, refreshing boolean)
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT coalesce(jsonb_agg(jsonb_build_object('from', _mongo_ts_bound(lower(r), '$minKey'), 'to', _mongo_ts_bound(upper(r), '$maxKey'), 'n', n)
                                  || CASE WHEN refreshing THEN '{"refreshing": true}' ELSE '{}' END::jsonb), '[]')
          FROM unnest(ranges) r);

/* The whole intervals of a roll-up that overlap ranges */
CREATE FUNCTION _mongo_ts_whole_intervals(relation regclass, ranges tstzmultirange)
RETURNS tstzmultirange
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
  SELECT coalesce(range_agg(tstzrange((mongo_ts_rollup_intervals(relation, lower(r), lower(r))).start,
                                      (mongo_ts_rollup_intervals(relation, upper(r) - interval '1 microsecond', upper(r))).stop)), '{}')
    FROM unnest(ranges) r;
END;

/* Ranges that are joined over the shortest gaps, so that few are left; gaps that begin before a time stay. */
CREATE FUNCTION _mongo_ts_join_ranges(ranges tstzmultirange, most int, before timestamptz)
RETURNS tstzmultirange
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
  SELECT coalesce(range_agg(span), '{}')
    FROM (SELECT range_merge(range_agg(r)) AS span
            FROM (SELECT r, count(*) FILTER (WHERE place < most OR begins < before) OVER (ORDER BY r) AS part
                    FROM (SELECT r, begins, row_number() OVER (ORDER BY lower(r) - begins DESC NULLS LAST) AS place
                            FROM (SELECT r, lag(upper(r)) OVER (ORDER BY r) AS begins FROM unnest(ranges) r) sorted) gaps) parts
           GROUP BY part) joined;
END;

/*
 * The stale ranges of a state, with whole intervals.  What a write has marked of intervals whose
 * points may have been removed is left out: they keep their totals.
 */
CREATE FUNCTION _mongo_ts_stale(relation regclass, document json, first_kept timestamptz,
                                OUT item json, OUT span tstzmultirange)
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
  SELECT s, _mongo_ts_whole_intervals(relation, tstzmultirange(tstzrange(_mongo_ts_time((s -> 'from')::jsonb), _mongo_ts_time((s -> 'to')::jsonb))))
            - CASE WHEN s -> 'refreshing' IS NOT NULL OR first_kept IS NULL THEN '{}' ELSE tstzmultirange(tstzrange(NULL, first_kept)) END
    FROM json_array_elements(document -> 'stale') s;
END;

/*
 * Remove from a state the stale ranges that a refresh computes, todo or above the watermark.  Those
 * that may still be written stay stale, as computed ones.  The sessions that have marked them have
 * ended.
 */
CREATE FUNCTION _mongo_ts_take_stale(relation regclass, document json, first_kept timestamptz, until timestamptz, todo tstzmultirange)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  selector json := json_build_object('_id', document -> '_id');
  now timestamptz := clock_timestamp();
  taken json;
  kept json;
BEGIN
  SELECT json_agg(item), json_agg(item::jsonb || jsonb_build_object('computed', @extschema@._mongo_ts_bound(now, NULL))) FILTER (WHERE is_written)
    INTO taken, kept
    FROM (SELECT item, span, item -> 'computed' IS NOT NULL AS is_computed,
                 NOT (item -> 'refreshing' IS NOT NULL OR starts_with(coalesce(item #>> '{n,$oid}', ''), '00000000')
                      OR coalesce(@extschema@._mongo_ts_time((item -> 'computed')::jsonb) < now - interval '2 minutes', false)) AS is_written
            FROM @extschema@._mongo_ts_stale(relation, document, first_kept)) s
   WHERE span * tstzmultirange(tstzrange(NULL, greatest(until, upper(todo)))) <@ todo AND NOT (is_written AND is_computed);
  IF kept IS NOT NULL THEN
    PERFORM @extschema@.mongo_ts_change_rollup(relation, selector, json_build_object(
      '$inc', '{"generation": 1}'::json, '$push', json_build_object('stale', json_build_object('$each', kept))));
  END IF;
  IF taken IS NOT NULL THEN
    PERFORM @extschema@.mongo_ts_change_rollup(relation, selector, json_build_object('$pull', json_build_object('stale', json_build_object('$in', taken))));
  END IF;
END $$;

/*
 * Replace the ranges of a refresh in a state, n, by what is left to be computed, and by what others
 * will have to.  Returns the new n; NULL if another refresh has removed the ranges.
 */
CREATE FUNCTION _mongo_ts_replace_stale(relation regclass, name text, n jsonb, todo tstzmultirange, others tstzmultirange)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  new jsonb := @extschema@._mongo_ts_id(true);
  items jsonb := @extschema@._mongo_ts_stale_items(todo, new, true)
                 || @extschema@._mongo_ts_stale_items(others, @extschema@._mongo_ts_id(false), false);
BEGIN
  IF items <> '[]' THEN
    PERFORM @extschema@.mongo_ts_change_rollup(relation, json_build_object('_id', name), json_build_object(
      '$inc', '{"generation": 1}'::json, '$push', json_build_object('stale', json_build_object('$each', items))));
  END IF;
  IF @extschema@.mongo_ts_change_rollup(relation, json_build_object('_id', name, 'stale.n', n), json_build_object(
       '$inc', '{"generation": 1}'::json, '$pull', json_build_object('stale', json_build_object('n', n)))) = 0 THEN
    RETURN NULL;
  END IF;
  RETURN new;
END $$;

/*
 * Mark as stale what a refresh has written last, and raise an error: a session of another PostgreSQL
 * server has begun to refresh the roll-up, so it may be out of date.
 */
CREATE FUNCTION _mongo_ts_yield(relation regclass, name text, done tstzmultirange)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  PERFORM @extschema@.mongo_ts_change_rollup(relation, json_build_object('_id', name), json_build_object(
    '$inc', '{"generation": 1}'::json, '$push', json_build_object('stale', json_build_object(
      '$each', @extschema@._mongo_ts_stale_items(done, @extschema@._mongo_ts_id(false), false)))), true);
  RAISE serialization_failure USING HINT = 'Run the statement again.',
    MESSAGE = format('another PostgreSQL server refreshes roll-up "%s" at the same time', name);
END $$;

/*
 * Compute ranges of a roll-up, chunk by chunk of whole buckets, and remove them from the state.
 * Nothing has been written at or after the former watermark, until.
 */
CREATE FUNCTION _mongo_ts_compute(relation regclass, name text, n jsonb, token json, todo tstzmultirange,
                                  until timestamptz, bucket_span interval)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  query text := @extschema@.mongo_ts_rollup_query(relation);
  time record;
  remove text;
  fill text;
  left_over tstzmultirange := todo;
  chunk tstzrange;
  first timestamptz;
  stop timestamptz;
  begun timestamptz;
  nbuckets int := 1;
  unit text := CASE WHEN bucket_span >= '1 year' THEN 'year' WHEN bucket_span >= '1 month' THEN 'month' WHEN bucket_span >= '1 day' THEN 'day'
                    WHEN bucket_span >= '1 hour' THEN 'hour' ELSE 'minute' END;
BEGIN
  SELECT own.attname AS own, c.source AS source, s.attname AS of INTO time
    FROM @extschema@.mongo_ts_rollup_columns(relation) c
         JOIN pg_attribute own ON own.attrelid = relation AND own.attnum = c.attnum
         JOIN pg_attribute s ON s.attrelid = c.source AND s.attnum = c.source_attnum
   WHERE c.is_time;
  remove := format('DELETE FROM %s WHERE %I >= $1 AND %2$I < $2', relation, time.own);
  fill := format('INSERT INTO %s (%s) %s', relation,
    (SELECT string_agg(quote_ident(attname), ', ' ORDER BY aggregate IS NOT NULL, attnum)
       FROM @extschema@.mongo_ts_rollup_columns(relation) JOIN pg_attribute USING (attnum) WHERE attrelid = relation), query);
  WHILE NOT isempty(left_over) LOOP
    chunk := (SELECT r FROM unnest(left_over) r ORDER BY r LIMIT 1);
    first := lower(chunk);
    IF first IS NULL THEN
      EXECUTE format('SELECT min(%I) FROM %s WHERE %1$I < $1', time.of, time.source) INTO first USING upper(chunk);
    END IF;
    stop := upper(chunk);
    IF first IS NOT NULL AND bucket_span <> '0' THEN
      stop := date_trunc(unit, first, 'UTC') + nbuckets * bucket_span;
      stop := least((@extschema@.mongo_ts_rollup_intervals(relation, first, stop)).stop, upper(chunk));
    END IF;
    chunk := tstzrange(lower(chunk), stop);
    begun := clock_timestamp();
    IF NOT @extschema@.mongo_ts_compute_rollup(relation,
         CASE WHEN until IS NULL OR lower_inf(chunk) OR lower(chunk) < until THEN ARRAY[remove, fill] ELSE ARRAY[fill] END,
         coalesce(lower(chunk), '-infinity'), upper(chunk), token) THEN
      PERFORM @extschema@._mongo_ts_yield(relation, name, tstzmultirange(chunk));
    END IF;
    left_over := left_over - tstzmultirange(chunk);
    n := @extschema@._mongo_ts_replace_stale(relation, name, n, left_over, '{}');
    IF n IS NULL THEN
      PERFORM @extschema@._mongo_ts_yield(relation, name, tstzmultirange(chunk));
    END IF;
    -- MongoDB aborts a transaction after a minute
    IF clock_timestamp() < begun + interval '2 s' THEN
      nbuckets := least(nbuckets * 2, 4096);
    ELSIF clock_timestamp() > begun + interval '15 s' THEN
      nbuckets := greatest(nbuckets / 2, 1);
    END IF;
  END LOOP;
END $$;

/* The roll-ups of points that no other one is computed from */
CREATE FUNCTION _mongo_ts_coarsest_rollups(points regclass)
RETURNS regclass[]
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
  WITH RECURSIVE declared AS (
    SELECT ftrelid::regclass AS rollup, to_regclass(option_value) AS source
      FROM pg_foreign_table, pg_options_to_table(ftoptions) WHERE option_name = 'rollup_of'
  ), found AS (
    SELECT rollup, source FROM declared WHERE source = points
     UNION SELECT d.rollup, d.source FROM declared d, found f WHERE d.source = f.rollup
  )
  SELECT coalesce(array_agg(rollup ORDER BY rollup), '{}') FROM found WHERE NOT EXISTS (SELECT FROM found f WHERE f.source = found.rollup);
END;

CREATE FUNCTION mongo_ts_refresh_rollup(relation regclass, start_time timestamptz DEFAULT NULL,
                                        end_time timestamptz DEFAULT NULL, repair interval DEFAULT NULL)
RETURNS timestamptz
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
SET mongo_ts_fdw.enable_rollups = off
AS $$
DECLARE
  wanted tstzmultirange;
  d record;
  s record;
  name text;
  document json;
  begun timestamptz;
  latest timestamptz;
  until timestamptz;
  change text;
  is_altered boolean;
  todo tstzmultirange;
  ready tstzmultirange;
  watermark timestamptz;
  n jsonb := @extschema@._mongo_ts_id(true);
  token jsonb := @extschema@._mongo_ts_id(true);
  coarsest regclass[];
BEGIN
  IF relation IS NULL THEN
    RETURN NULL;
  END IF;
  IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
    RAISE feature_not_supported USING MESSAGE = 'a roll-up can only be refreshed under isolation level READ COMMITTED';
  END IF;
  IF start_time IS NOT NULL OR end_time IS NOT NULL THEN
    wanted := CASE WHEN start_time >= end_time THEN '{}'
                   ELSE tstzmultirange(tstzrange(nullif(start_time, '-infinity'), nullif(end_time, 'infinity'))) END;
  END IF;

  -- of the points, all roll-ups
  IF NOT EXISTS (SELECT FROM pg_foreign_table, pg_options_to_table(ftoptions) WHERE ftrelid = relation AND option_name = 'rollup_of') THEN
    coarsest := @extschema@._mongo_ts_coarsest_rollups(relation);
    IF coarsest = '{}' THEN
      RAISE wrong_object_type USING MESSAGE = format('foreign table %s has no roll-up', relation),
        HINT = 'Use mongo_ts_create_rollup to make one.';
    END IF;
    RETURN (SELECT min(coalesce(@extschema@.mongo_ts_refresh_rollup(r, start_time, end_time, repair), '-infinity')) FROM unnest(coarsest) r);
  END IF;

  d := @extschema@.mongo_ts_lock_rollup(relation);
  begun := clock_timestamp();
  latest := d.latest;
  IF d.by_application THEN
    RETURN latest;
  END IF;
  IF d.source <> d.points THEN
    until := coalesce(@extschema@.mongo_ts_refresh_rollup(d.source, start_time, end_time, repair), '-infinity');
    latest := least(latest, (@extschema@.mongo_ts_rollup_intervals(relation, until, until)).start);
  END IF;

  -- documents that were made since the last refresh, with room for clocks, and have old points
  s := @extschema@.mongo_ts_rollup_state(relation);
  IF d.source = d.points AND s.until IS NOT NULL AND s.refreshed IS NOT NULL THEN
    PERFORM @extschema@.mongo_ts_mark_late(relation, s.refreshed - s.took - interval '1 minute', s.until);
  END IF;
  s := @extschema@.mongo_ts_rollup_state(relation);
  document := @extschema@.mongo_ts_rollup_document(relation);
  name := coalesce(document ->> '_id', d.name);
  until := s.until;
  change := (@extschema@.mongo_ts_rollup_totals(relation, false)).change;
  is_altered := change <> 'none';
  IF until IS NULL AND document -> 'until' IS NOT NULL AND NOT is_altered THEN
    RAISE fdw_invalid_data_type USING HINT = 'To begin again, remove the document.',
      MESSAGE = format('invalid state of roll-up "%s" in MongoDB collection "mongo_ts_rollups"', name);
  END IF;
  IF is_altered THEN
    -- Totals of points that may have been removed cannot be computed again.  They are kept if the
    -- user refreshes all, who can tell whether they are still right.
    IF change = 'altered' AND d.drops_points AND (wanted IS NULL OR NOT lower_inf(wanted)) THEN
      RAISE object_not_in_prerequisite_state USING
        MESSAGE = format('roll-up "%s" or its points have been altered since it was refreshed', name),
        DETAIL = 'Its totals of points that are older than option "rollup_retention" cannot be computed again.',
        HINT = 'If they are still right, refresh the roll-up from ''-infinity'', which keeps them.  '
               'Otherwise remove their rows before, or undo the change.';
    END IF;
    wanted := coalesce(wanted, '{(,)}');
    until := @extschema@._mongo_ts_time((document -> 'until')::jsonb);
    until := (@extschema@.mongo_ts_rollup_intervals(relation, until - interval '1 microsecond', until)).stop;
  END IF;

  -- what is to be computed: wanted, or what is stale or new up to the latest time
  IF wanted IS NOT NULL THEN
    todo := @extschema@._mongo_ts_whole_intervals(relation, wanted)
            - CASE WHEN until IS NULL OR d.first_kept IS NULL THEN '{}' ELSE tstzmultirange(tstzrange(NULL, d.first_kept)) END;
  ELSE
    SELECT coalesce(range_agg(span), '{}') * tstzmultirange(tstzrange(NULL, until)) INTO todo
      FROM @extschema@._mongo_ts_stale(relation, document, d.first_kept);
    IF until IS NULL OR until < latest THEN
      todo := todo + tstzmultirange(tstzrange(until, latest));
    END IF;
    IF repair IS NOT NULL AND until IS NOT NULL THEN
      todo := todo + @extschema@._mongo_ts_whole_intervals(relation, tstzmultirange(tstzrange(least(until, begun - repair), until)))
              - CASE WHEN d.first_kept IS NULL THEN '{}' ELSE tstzmultirange(tstzrange(NULL, d.first_kept)) END;
    END IF;
  END IF;
  todo := todo * tstzmultirange(tstzrange(NULL, nullif(latest, '-infinity'))) - CASE WHEN latest = '-infinity' THEN '{(,)}' ELSE '{}' END::tstzmultirange;
  todo := @extschema@._mongo_ts_join_ranges(todo, 64, d.first_kept);
  IF isempty(todo) THEN
    PERFORM @extschema@._mongo_ts_take_stale(relation, document, d.first_kept, until, todo);
  ELSE
    watermark := greatest(upper(todo), until);
    PERFORM @extschema@.mongo_ts_change_rollup(relation, json_build_object('_id', name), json_build_object(
      '$inc', '{"generation": 1}'::json,
      '$set', json_build_object('version', 1, 'fingerprint', json_build_object('$numberLong', d.fingerprint::text),
        'totals', (@extschema@.mongo_ts_rollup_totals(relation, is_altered OR tstzmultirange(tstzrange(NULL, watermark)) <@ todo)).document -> 'totals'),
      '$max', json_build_object('until', @extschema@._mongo_ts_bound(watermark, NULL)),
      '$push', json_build_object('stale', json_build_object('$each',
        @extschema@._mongo_ts_stale_items(todo, n, true)
        || @extschema@._mongo_ts_stale_items(tstzmultirange(tstzrange(CASE WHEN is_altered THEN d.first_kept ELSE until END, watermark)) - todo,
                                             @extschema@._mongo_ts_id(false), true)))), true);
    PERFORM @extschema@.mongo_ts_change_rollup(relation, json_build_object('_id', json_build_object('refresh', name)),
      json_build_object('$set', json_build_object('by', token)), true);
    PERFORM @extschema@.mongo_ts_wait_for_writers(d.points);
    IF d.source <> d.points THEN
      PERFORM @extschema@.mongo_ts_wait_for_writers(d.source);
    END IF;
    PERFORM @extschema@._mongo_ts_take_stale(relation, document, d.first_kept, until, todo);
    -- a read sees all that was there at the session's last write
    IF @extschema@.mongo_ts_change_rollup(relation, json_build_object('_id', json_build_object('refresh', name), 'by', token), '{"$inc": {"chunks": 1}}') = 0 THEN
      PERFORM @extschema@._mongo_ts_yield(relation, name, todo);
    END IF;
    IF d.source <> d.points THEN
      -- leave out what the finer roll-up does not have yet, because points have been written meanwhile
      s := @extschema@.mongo_ts_rollup_state(d.source);
      ready := todo - @extschema@._mongo_ts_whole_intervals(relation, s.open + tstzmultirange(tstzrange(s.until, NULL)));
      IF ready <> todo THEN
        n := @extschema@._mongo_ts_replace_stale(relation, name, n, ready, todo - ready);
        IF n IS NULL THEN
          PERFORM @extschema@._mongo_ts_yield(relation, name, '{(,)}');
        END IF;
        todo := ready;
      END IF;
    END IF;
    PERFORM @extschema@._mongo_ts_compute(relation, name, n, json_build_object('_id', json_build_object('refresh', name), 'by', token),
                                          todo, until, d.bucket_span);
  END IF;
  IF NOT is_altered OR NOT isempty(todo) THEN
    PERFORM @extschema@.mongo_ts_change_rollup(relation, json_build_object('_id', name), json_build_object(
      '$set', json_build_object('refreshed', @extschema@._mongo_ts_bound(clock_timestamp(), NULL),
                                'took', (1000 * extract(epoch FROM clock_timestamp() - begun))::bigint),
      '$unset', '{"failed": 1}'::json), true);
  END IF;
  RETURN (@extschema@.mongo_ts_rollup_state(relation)).until;
END $$;

COMMENT ON FUNCTION mongo_ts_refresh_rollup(regclass, timestamptz, timestamptz, interval) IS
  'compute what is new or stale of a roll-up, and return how far it is complete';

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
