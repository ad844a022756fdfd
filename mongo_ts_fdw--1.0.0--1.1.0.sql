/* mongo_ts_fdw--1.0.0--1.1.0.sql */

\echo Use "ALTER EXTENSION mongo_ts_fdw UPDATE TO '1.1.0'" to load this file. \quit

CREATE FUNCTION mongo_ts_create_index(relation regclass, columns text[])
RETURNS text
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION mongo_ts_create_index(regclass, text[]) IS
  'create an index of a foreign table on some columns and the time';

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

/* ---- Comparing a roll-up with its points ---------------------------------- */

/*
 * The differences between the rows of a roll-up and those that the points give, in a range.  Both are grouped by the
 * keys, with their own equality; the totals of a group are compared as JSON.  A row of no points is none.
 */
CREATE FUNCTION _mongo_ts_rollup_differences(relation regclass, start_time timestamptz, end_time timestamptz,
                                             OUT start timestamptz, OUT series jsonb, OUT problem text, OUT total text,
                                             OUT in_rollup text, OUT of_points text)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  own record;
BEGIN
  SELECT max(name) FILTER (WHERE is_time) AS time,
         max(name) FILTER (WHERE aggregate IS NOT NULL AND source_column IS NULL) AS number,
         array_agg(name ORDER BY ordinality) FILTER (WHERE aggregate IS NOT NULL) AS totals,
         string_agg(quote_ident(name), ', ' ORDER BY ordinality) AS columns,
         string_agg(quote_ident(name), ', ' ORDER BY ordinality) FILTER (WHERE aggregate IS NULL) AS keys,
         string_agg('k' || ordinality, ', ' ORDER BY ordinality) FILTER (WHERE aggregate IS NULL) AS aliases
    INTO own FROM @extschema@._mongo_ts_rollup_columns(relation, true) WITH ORDINALITY;
  RETURN QUERY EXECUTE format(
    $q$
      WITH rows (%1$s, of_points, doc) AS (
        SELECT %2$s, true, to_jsonb(p.*) FROM (%3$s) p
         UNION ALL
        SELECT %2$s, false, to_jsonb(r.*) FROM (SELECT %4$s FROM %5$s WHERE %6$I >= $1 AND %6$I < $2) r
         WHERE to_jsonb(r.*) -> $3 IS DISTINCT FROM '0'
      ), pairs AS (
        SELECT count(*) FILTER (WHERE NOT of_points) AS n,
               jsonb_agg(doc ORDER BY doc -> $3 DESC) FILTER (WHERE NOT of_points) -> 0 AS own,
               jsonb_agg(doc) FILTER (WHERE of_points) -> 0 AS given
          FROM rows GROUP BY %1$s
      )
      SELECT at, coalesce(own, given) - $4 - %6$L, d.*
        FROM pairs, LATERAL CAST(coalesce(own, given) ->> %6$L AS timestamptz) at, LATERAL (
          SELECT 'the roll-up lacks a row', $3, NULL, given ->> $3 WHERE n = 0
           UNION ALL
          SELECT 'the roll-up has a row without points', $3, own ->> $3, NULL WHERE given IS NULL
           UNION ALL
          SELECT 'the roll-up has a row several times', $3, own ->> $3, given ->> $3 WHERE n > 1
           UNION ALL
          SELECT 'a total of the roll-up is wrong', total, own ->> total, coalesce(sum, value) #>> '{}'
            FROM unnest($4) total, LATERAL (SELECT own -> total, given -> total) v (stored, value),
                 LATERAL (SELECT CASE jsonb_typeof(value) WHEN 'array' THEN value -> 0 END) s (sum)
           WHERE n = 1 AND given IS NOT NULL
             AND CASE WHEN jsonb_typeof(stored) = 'number' AND jsonb_typeof(sum) = 'number'
                      THEN abs(stored::numeric - sum::numeric) > (value -> 1)::numeric
                      ELSE stored IS DISTINCT FROM coalesce(sum, value) END) d
       WHERE at >= $1 AND at < $2
    $q$, own.aliases, own.keys, @extschema@._mongo_ts_rollup_query(relation, true), own.columns, relation, own.time)
    USING start_time, end_time, own.number, own.totals;
END $$;

CREATE FUNCTION mongo_ts_check_rollup(relation regclass, start_time timestamptz DEFAULT NULL,
                                      end_time timestamptz DEFAULT NULL, mark boolean DEFAULT false,
                                      time_limit interval DEFAULT '10 seconds',
                                      OUT interval_start timestamptz, OUT interval_end timestamptz, OUT series jsonb,
                                      OUT problem text, OUT total text, OUT in_rollup text, OUT of_points text)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, pg_temp
SET extra_float_digits = 1
SET mongo_ts_fdw.enable_rollups = off
AS $$
DECLARE
  this record;
  is_sample boolean := start_time IS NULL AND end_time IS NULL;
  deadline timestamptz := clock_timestamp() + time_limit;
  state record;
  wanted tstzmultirange;
  times record;
  ends record;
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
  PERFORM tstzrange(start_time, end_time);  -- these must be in order
  state := @extschema@.mongo_ts_rollup_state(relation);
  IF state.problem IS NOT NULL THEN
    problem := 'the roll-up is not used: ' || state.problem;
    RETURN NEXT;
    RETURN;
  END IF;

  -- the wanted intervals that are complete, from the first row or point to the last one
  wanted := tstzmultirange(tstzrange(state.first_kept, state.until)) - state.stale;
  IF NOT is_sample THEN
    wanted := wanted * @extschema@._mongo_ts_whole_intervals(relation, tstzmultirange(
      tstzrange(nullif(start_time, '-infinity'), nullif(end_time, 'infinity'))));
  END IF;
  FOR times IN
    SELECT t.* FROM @extschema@._mongo_ts_rollup_columns(relation, true) c,
                    LATERAL (VALUES (relation, c.name), (c.source, c.source_column)) t (of, name) WHERE c.is_time
  LOOP
    EXECUTE format('SELECT min(%1$I) AS first, max(%1$I) AS last FROM %2$s WHERE %1$I >= $1 AND %1$I < $2',
                   times.name, times.of) INTO ends USING coalesce(lower(wanted), '-infinity'), upper(wanted);
    first := least(first, ends.first);
    last := greatest(last, ends.last);
  END LOOP;
  IF first IS NULL THEN
    RETURN;
  END IF;
  i := @extschema@._mongo_ts_rollup_intervals(relation, last, last);
  last := i.stop;
  i := @extschema@._mongo_ts_rollup_intervals(relation, first, first);
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
      i := @extschema@._mongo_ts_rollup_intervals(relation, first, least(first + slot * length, last));
    ELSIF turn = 0 THEN
      i := @extschema@._mongo_ts_rollup_intervals(relation, last - interval '24 hours', last);
    ELSE
      at := first + slot * (((turn - 1) * step + shift) % n);
      i := @extschema@._mongo_ts_rollup_intervals(relation, at, at + slot);
    END IF;
    IF i.start_is_repeated THEN
      i := @extschema@._mongo_ts_rollup_intervals(relation, i.start, i.start);
      wanted := wanted - tstzmultirange(tstzrange(i.start, i.stop));
    END IF;
    FOR part IN SELECT unnest(wanted * tstzmultirange(tstzrange(i.start, i.stop))) LOOP
      CONTINUE WHEN NOT EXISTS (
        SELECT FROM @extschema@._mongo_ts_rollup_differences(relation, lower(part), upper(part)));
      -- A refresh may have changed rows meanwhile.  A write of points has marked their intervals before.
      LOOP
        generation := state.generation;
        found := (SELECT jsonb_agg(d)
                    FROM @extschema@._mongo_ts_rollup_differences(relation, lower(part), upper(part)) d);
        state := @extschema@.mongo_ts_rollup_state(relation);
        EXIT WHEN state.generation = generation;
      END LOOP;
      complete := tstzmultirange(tstzrange(state.first_kept, state.until)) - state.stale;
      FOR interval_start, interval_end, series, problem, total, in_rollup, of_points IN
        SELECT d.start, own.stop, d.series, d.problem, d.total, d.in_rollup, d.of_points
          FROM jsonb_to_recordset(found) d (start timestamptz, series jsonb, problem text, total text,
                                            in_rollup text, of_points text),
               LATERAL @extschema@._mongo_ts_rollup_intervals(relation, d.start, d.start) own
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
END $$;

COMMENT ON FUNCTION mongo_ts_check_rollup(regclass, timestamptz, timestamptz, boolean, interval) IS
  'compare intervals of a roll-up with its points';

/* What sampled documents say against the declaration of a foreign table */
CREATE FUNCTION _mongo_ts_check_documents(relation regclass, OUT problem text, OUT field text,
                                          OUT documents bigint, OUT hint text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'mongo_ts_check'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 10;

CREATE OR REPLACE FUNCTION mongo_ts_check(relation regclass, OUT problem text, OUT field text,
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
         concat((array_agg(format('The first is of %s and %s: %s is %s, and %s by the points.  ',
                                  c.interval_start, c.series, c.total,
                                  coalesce(c.in_rollup, 'NULL'), coalesce(c.of_points, 'NULL'))
                           ORDER BY c.interval_start, c.series, c.total)
                   FILTER (WHERE c.total IS NOT NULL))[1],
                CASE WHEN bool_or(by_application) THEN 'An application maintains the roll-up.'
                     WHEN min(c.interval_start) IS NULL THEN format('Use SELECT mongo_ts_refresh_rollup(%L);', relation)
                     ELSE format('Use SELECT mongo_ts_refresh_rollup(%L, %L, %L);',
                                 relation, min(c.interval_start), max(c.interval_end)) END)
    FROM rollup r, LATERAL mongo_ts_check_rollup(r.oid) c WHERE r.owner = current_user GROUP BY c.problem
  UNION ALL
  SELECT 'the roll-up is not compared with its points', NULL, NULL,
         format('Only its owner can do that: SET ROLE %I;', owner)
    FROM rollup WHERE owner <> current_user;
END;

COMMENT ON FUNCTION mongo_ts_check(regclass) IS
  'what sampled documents say against the declaration of a foreign table, and the points against a roll-up';

/* ---- Declaring a roll-up -------------------------------------------------- */

/* Lock a table of the current user that a roll-up shall summarize, and return that of its points. */
CREATE FUNCTION _mongo_ts_open_points(relation regclass)
RETURNS regclass
AS 'MODULE_PATHNAME', 'mongo_ts_open_points'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

/* The role of each column in the documents: time, key, slot, attribute or value */
CREATE FUNCTION _mongo_ts_columns(relation regclass, OUT attnum smallint, OUT role text, OUT base_type regtype)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'mongo_ts_columns'
LANGUAGE C STRICT STABLE PARALLEL SAFE ROWS 10;

/* Check a new roll-up, and that its collection does not exist. */
CREATE FUNCTION _mongo_ts_prepare_rollup(relation regclass)
RETURNS void
AS 'MODULE_PATHNAME', 'mongo_ts_prepare_rollup'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

/* A name with a suffix, as PostgreSQL makes those of indexes */
CREATE FUNCTION _mongo_ts_name(name text, suffix text)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT left(name, n) || '_' || suffix FROM generate_series(0, length(name)) n
         WHERE octet_length(left(name, n) || '_' || suffix) < 64 ORDER BY n DESC LIMIT 1);

/* An interval as options have it */
CREATE FUNCTION _mongo_ts_interval(i interval)
RETURNS text
LANGUAGE sql STRICT STABLE PARALLEL SAFE
SET intervalstyle = postgres_verbose
RETURN coalesce(replace(replace(replace(substr(nullif(i::text, '@ 0'), 3), 'mon', 'month'), 'min', 'minute'),
                        'sec', 'second'), '0 hours');

/*
 * Where a roll-up keeps intervals of one length: their path in a document, and its span, with some hundreds of
 * intervals at most.  No row if they cannot be.
 */
CREATE FUNCTION _mongo_ts_rollup_shape(span interval, OUT path text, OUT bucket_span text, OUT suffix text)
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
  SELECT 'months.{month:1}', '1 year', '1mo' WHERE _mongo_ts_interval(span) = '1 month'
  UNION ALL
  SELECT 'days.{day:1}', '1 month', '1d' WHERE _mongo_ts_interval(span) = '1 day'
  UNION ALL
  (SELECT format(CASE n WHEN 1 THEN '%1$ss.{%1$s}' ELSE '%1$ss.{%2$s %1$ss}' END, unit, n),
          CASE WHEN s < 8 THEN '1 minute' WHEN s < 300 AND 3600 % s = 0 THEN '1 hour' ELSE '1 day' END,
          n || left(unit, 1)
     FROM extract(epoch FROM span) s,
          LATERAL (VALUES ('hour', s / 3600), ('minute', s / 60), ('second', s)) u (unit, exact),
          LATERAL CAST(exact AS int) n
    WHERE _mongo_ts_interval(span) !~ 'year|month|day' AND s BETWEEN 1 AND 43200 AND exact = n AND 86400 % s = 0
    ORDER BY n LIMIT 1);
END;

/*
 * The columns of a roll-up of a table, in their order: the time, the keys, the number of points and the totals; each
 * with its declaration, and the name of the column of the points.  Where each document is a row, the columns that are
 * not summarized are keys; a coarser roll-up has what the finer one has.
 *
 * Option rollup_column has the field of the column of the points, which stays when that is renamed, unless it is the
 * name of another column.  The name of a field is that of the column, if MongoDB's updates can address it, and nothing
 * else has it.
 */
CREATE FUNCTION _mongo_ts_rollup_declarations(relation regclass, points regclass, aggregates text[], columns text[],
                                              path text, OUT of_column text, OUT aggregate text, OUT declaration text)
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
  WITH finer AS (
    SELECT f.* FROM _mongo_ts_rollup_columns(relation, true) f WHERE relation <> points
  ), given AS (
    SELECT a.attnum, a.attname::text AS name, a.atttypid, a.atttypmod, c.role, c.base_type,
           NOT bool_or(c.role = 'value') OVER () AS is_row,
           (SELECT jsonb_object_agg(option_name, option_value) FROM pg_options_to_table(a.attfdwoptions)) AS options,
           CASE WHEN a.attcollation <> t.typcollation
                THEN format(' COLLATE %s', a.attcollation::regcollation) END AS collated
      FROM _mongo_ts_columns(points) c
           JOIN pg_attribute a ON a.attrelid = points AND a.attnum = c.attnum
           JOIN pg_type t ON t.oid = a.atttypid
  ), divided AS (
    SELECT g.*,
           CASE WHEN role = 'time' THEN false
                WHEN relation <> points
                THEN EXISTS (SELECT FROM finer f WHERE f.aggregate IS NULL AND f.source_column = g.name)
                WHEN is_row
                THEN role = 'key' AND coalesce(options ->> 'field', name) <> '_id'
                     AND name <> ALL (coalesce(columns, '{}'))
                ELSE role IN ('key', 'slot') END AS is_key,
           CASE WHEN NOT EXISTS (SELECT FROM given o WHERE o.name = g.options ->> 'field' AND o.attnum <> g.attnum)
                THEN options ->> 'field' END AS stable_name
      FROM given g
  ), items AS (
    SELECT CASE WHEN role = 'time' THEN 1 ELSE 2 END AS part, 0 AS place, d.*, NULL AS aggregate
      FROM divided d WHERE role = 'time' OR is_key
     UNION ALL
    SELECT 4, k.place, d.*, k.aggregate
      FROM divided d, unnest('{count, sum, min, max}'::text[]) WITH ORDINALITY k (aggregate, place)
     WHERE (role = 'value' OR is_row AND role = 'key') AND NOT is_key
       AND k.aggregate = ANY (aggregates) AND (columns IS NULL OR name = ANY (columns))
       AND CASE WHEN relation = points
                THEN k.aggregate = 'count'
                     OR base_type IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype,
                                      'float4'::regtype, 'float8'::regtype, 'numeric'::regtype)
                     OR k.aggregate <> 'sum' AND base_type IN ('text'::regtype, 'date'::regtype,
                                                               'timestamp'::regtype, 'timestamptz'::regtype)
                ELSE EXISTS (SELECT FROM finer f WHERE f.source_column = d.name AND f.aggregate = k.aggregate) END
  ), declarations AS (
    SELECT part, attnum, place, name, i.aggregate,
           CASE WHEN i.aggregate IS NULL
                THEN format('%I %s', name, format_type(atttypid, atttypmod))
                ELSE format('%I %s', _mongo_ts_name(name, i.aggregate),
                            CASE WHEN i.aggregate = 'count' THEN 'bigint'
                                 WHEN i.aggregate IN ('min', 'max') THEN format_type(atttypid, NULL)
                                 WHEN base_type IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype) THEN 'bigint'
                                 WHEN base_type IN ('float4'::regtype, 'float8'::regtype) THEN 'double precision'
                                 ELSE 'numeric' END) END AS declared,
           CASE WHEN i.aggregate IS NULL OR i.aggregate IN ('min', 'max') THEN collated END AS collated,
           CASE WHEN i.aggregate IS NULL
                THEN ARRAY[['role', CASE role WHEN 'time' THEN 'time' ELSE 'key' END],
                           ['rollup_column', nullif(coalesce(stable_name, name), name)],
                           ['field', nullif(field, name)],
                           ['bson_type', CASE WHEN role <> 'time' THEN options ->> 'bson_type' END],
                           ['format', CASE WHEN role <> 'time' THEN options ->> 'format' END]]
                ELSE ARRAY[['field', concat_ws('.', path, field, i.aggregate)],
                           ['rollup', i.aggregate],
                           ['rollup_column', coalesce(stable_name, name)],
                           ['format', CASE WHEN i.aggregate IN ('min', 'max') THEN options ->> 'format' END]] END AS options
      FROM items i, LATERAL CAST(
             CASE WHEN name ~ '^[0-9]|[].{}[$\\]' OR name IN ('_id', 'points', split_part(path, '.', 1))
                  THEN '_' || translate(name, '.{}[]$\', '_______') || '_' || attnum ELSE name END AS text) field
     UNION ALL
    SELECT 3, 0, 0, NULL, 'count', 'points bigint', NULL, ARRAY[['field', path || '.points'], ['rollup', 'count']]
  )
  SELECT name, d.aggregate, declared || format(' OPTIONS (%s)', o.list) || coalesce(collated, '')
    FROM declarations d, LATERAL (
           SELECT string_agg(format('%s %L', options[i][1], options[i][2]), ', ' ORDER BY i)
             FROM generate_subscripts(options, 1) i WHERE options[i][2] IS NOT NULL) o (list)
   ORDER BY part, attnum, place;
END;

/*
 * A roll-up is a foreign table, which the function declares by a statement that anybody could write.
 * A document has the intervals of a series in an hour, a day, a month or a year, and of each interval
 * the totals:
 *
 *   {ts: .., sensor: .., hours: {"0": {points: 60, temp: {count: 60, sum: .., min: .., max: ..}}, ..}}
 *
 * If the roll-up exists, the columns that it lacks are added, and its option rollup_refresh is set.
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
  has_values boolean;
  wrong text;
  options text;
  result regclass;
  lacking text;
BEGIN
  IF relation IS NULL OR span IS NULL OR aggregates IS NULL OR zone IS NULL OR lag IS NULL
     OR array_position(aggregates, NULL) > 0 OR array_position(columns, NULL) > 0 THEN
    RAISE null_value_not_allowed USING MESSAGE = 'only the name, the columns and the refresh of a roll-up can be null';
  END IF;
  points := @extschema@._mongo_ts_open_points(relation);
  SELECT relname AS name, relnamespace::regnamespace AS schema, srvname, ftoptions, srvoptions INTO source
    FROM pg_class JOIN pg_foreign_table ON ftrelid = pg_class.oid JOIN pg_foreign_server s ON s.oid = ftserver
   WHERE pg_class.oid = relation;
  SELECT * INTO shape FROM @extschema@._mongo_ts_rollup_shape(span);
  IF NOT FOUND THEN
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
  SELECT c INTO wrong FROM unnest(columns) c
   WHERE NOT EXISTS (SELECT FROM pg_attribute
                      WHERE attrelid = points AND attname = c AND attnum > 0 AND NOT attisdropped) LIMIT 1;
  IF FOUND THEN
    RAISE undefined_column USING MESSAGE = format('column "%s" of foreign table "%s" does not exist', wrong,
                                                  (SELECT relname FROM pg_class WHERE oid = points));
  END IF;
  has_values := EXISTS (SELECT FROM @extschema@._mongo_ts_columns(points) WHERE role = 'value');
  SELECT attname INTO wrong FROM @extschema@._mongo_ts_columns(points) c JOIN pg_attribute a USING (attnum)
   WHERE attrelid = points AND attname = ANY (columns)
     AND role <> CASE WHEN has_values THEN 'value' ELSE 'key' END LIMIT 1;
  IF FOUND THEN
    RAISE invalid_parameter_value USING MESSAGE = format('column "%s" is not a value of a point', wrong);
  END IF;
  IF columns IS NULL AND relation = points AND NOT has_values THEN
    RAISE invalid_parameter_value USING MESSAGE = 'the columns of the roll-up must be named',
      DETAIL = format('Each document of foreign table "%s" is a row, so all of its fields could be keys.', source.name),
      HINT = 'Name the values by the argument "columns".';
  END IF;

  name := coalesce(name, @extschema@._mongo_ts_name((SELECT relname FROM pg_class WHERE oid = points),
                                                    shape.suffix))::name;
  result := to_regclass(format('%s.%I', source.schema, name));
  IF EXISTS (SELECT FROM pg_foreign_table, pg_options_to_table(ftoptions) WHERE ftrelid = result
             HAVING to_regclass(max(option_value) FILTER (WHERE option_name = 'rollup_of')) = relation
                AND (max(option_value) FILTER (WHERE option_name = 'rollup_interval'))::interval = span
                AND coalesce(max(option_value) FILTER (WHERE option_name = 'rollup_zone'), 'UTC') = zone) THEN
    FOR lacking IN
      SELECT d.declaration
        FROM @extschema@._mongo_ts_rollup_declarations(relation, points, aggregates, columns, shape.path)
             WITH ORDINALITY d
       WHERE d.aggregate IS NOT NULL AND d.of_column IS NOT NULL
         AND NOT EXISTS (SELECT FROM @extschema@._mongo_ts_rollup_columns(result, true) r
                          WHERE r.source_column = d.of_column AND r.aggregate = d.aggregate)
       ORDER BY d.ordinality
    LOOP
      EXECUTE format('ALTER FOREIGN TABLE %s ADD COLUMN %s', result, lacking);
    END LOOP;
    IF refresh IS NOT NULL THEN
      EXECUTE format('ALTER FOREIGN TABLE %s OPTIONS (%s rollup_refresh %L)', result,
                     CASE WHEN EXISTS (SELECT FROM pg_foreign_table, pg_options_to_table(ftoptions)
                                        WHERE ftrelid = result AND option_name = 'rollup_refresh')
                          THEN 'SET' ELSE 'ADD' END, @extschema@._mongo_ts_interval(refresh));
    END IF;
    RETURN result;
  ELSIF result IS NOT NULL THEN
    RAISE duplicate_table USING MESSAGE = format('relation "%s" already exists', name),
      DETAIL = format('It is not a roll-up of foreign table "%s" with this interval and time zone.', source.name),
      HINT = 'Name the new roll-up by the argument "name".';
  END IF;
  options := (SELECT string_agg(format('%s %L', key, value), ', ' ORDER BY place)
                FROM (VALUES
                  (1, 'database', (SELECT option_value FROM pg_options_to_table(source.ftoptions)
                                    WHERE option_name = 'database')),
                  (2, 'collection', name),
                  (3, 'bucket_span', shape.bucket_span),
                  (4, 'bucket_time_zone', zone),
                  (5, 'rollup_of', format('%s.%I', source.schema, source.name)),
                  (6, 'rollup_interval', @extschema@._mongo_ts_interval(span)),
                  (7, 'rollup_zone', zone),
                  (8, 'rollup_lag', @extschema@._mongo_ts_interval(lag)),
                  (9, 'rollup_refresh', @extschema@._mongo_ts_interval(refresh)),
                  (10, 'updatable', (SELECT 'true' FROM pg_options_to_table(source.srvoptions)
                                      WHERE option_name = 'updatable' AND NOT option_value::boolean))
                ) o (place, key, value)
               WHERE value IS NOT NULL);
  EXECUTE format(E'CREATE FOREIGN TABLE %s.%I (%s)\nSERVER %I OPTIONS (%s)', source.schema, name,
    (SELECT string_agg(E'\n  ' || d.declaration, ',' ORDER BY d.ordinality)
       FROM @extschema@._mongo_ts_rollup_declarations(relation, points, aggregates, columns, shape.path)
            WITH ORDINALITY d),
    source.srvname, options);
  result := format('%s.%I', source.schema, name)::regclass;
  PERFORM @extschema@._mongo_ts_prepare_rollup(result);
  PERFORM @extschema@.mongo_ts_create_index(result);
  IF relation = points THEN
    RAISE NOTICE USING
      MESSAGE = format('roll-up "%s" does not notice what other clients change in documents whose points are '
                       'older than %s', name, @extschema@._mongo_ts_interval(lag)),
      HINT = 'Refresh it each night with repair => ''3 days'', or mark what they have changed by mongo_ts_mark_rollup.';
  END IF;
  RETURN result;
END $$;

COMMENT ON FUNCTION mongo_ts_create_rollup(regclass, interval, text, text[], text[], text, interval, interval) IS
  'declare a table with the totals of points in intervals';

/* ---- Refreshing a roll-up --------------------------------------------------
 *
 * A roll-up is computed from the next finer one, which is refreshed
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

/* Lock a roll-up for a refresh until the transaction ends, and return what it declares. */
CREATE FUNCTION _mongo_ts_lock_rollup(relation regclass, OUT name text, OUT source regclass, OUT points regclass,
                                      OUT by_application boolean, OUT latest timestamptz, OUT bucket_span interval)
AS 'MODULE_PATHNAME', 'mongo_ts_lock_rollup'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

/* Mark intervals of a roll-up whose points are before until, but whose documents were made since a time. */
CREATE FUNCTION _mongo_ts_mark_late(relation regclass, since timestamptz, until timestamptz)
RETURNS bigint
AS 'MODULE_PATHNAME', 'mongo_ts_mark_late'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

/* What has been declared since the rows of a roll-up were computed, and which totals they have after a refresh */
CREATE FUNCTION _mongo_ts_rollup_totals(relation regclass, is_anew boolean, OUT change text, OUT document json)
AS 'MODULE_PATHNAME', 'mongo_ts_rollup_totals'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

/* The document with the state of a roll-up */
CREATE FUNCTION _mongo_ts_rollup_document(relation regclass)
RETURNS json
AS 'MODULE_PATHNAME', 'mongo_ts_rollup_document'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

/* Change the state of a roll-up, and return whether it satisfies a condition; without one, a missing state is made. */
CREATE FUNCTION _mongo_ts_change_state(relation regclass, change json, condition json DEFAULT '{}')
RETURNS boolean
AS 'MODULE_PATHNAME', 'mongo_ts_change_state'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

/*
 * Store the token of a refresh: one that another PostgreSQL server has begun earlier ends.  Wait for the transactions
 * that write to the points or the finer roll-up.
 */
CREATE FUNCTION _mongo_ts_begin_refresh(relation regclass, token json)
RETURNS void
AS 'MODULE_PATHNAME', 'mongo_ts_begin_refresh'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

/* Execute statements that compute the rows of a range; false, and nothing is done, if another token is stored. */
CREATE FUNCTION _mongo_ts_compute_rollup(relation regclass, statements text[], start_time timestamptz,
                                         end_time timestamptz, token json)
RETURNS boolean
AS 'MODULE_PATHNAME', 'mongo_ts_compute_rollup'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

/* A bound of a range in extended JSON; an open one is $minKey or $maxKey. */
CREATE FUNCTION _mongo_ts_bound(t timestamptz, open text)
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN t IS NULL THEN jsonb_build_object(open, 1)
            ELSE jsonb_build_object('$date', jsonb_build_object(
                   '$numberLong', floor(extract(epoch FROM t) * 1000)::bigint::text)) END;

/* The time of a date in extended JSON; NULL for another value, such as $minKey. */
CREATE FUNCTION _mongo_ts_time(value jsonb)
RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE jsonb_typeof(value -> '$date')
            WHEN 'object' THEN timestamptz '1970-01-01 00:00:00Z'
                               + (value #>> '{$date,$numberLong}')::bigint * interval '1 millisecond'
            WHEN 'string' THEN (value ->> '$date')::timestamptz END;

/* A unique value; that of a range in which nothing more is written begins with zeros. */
CREATE FUNCTION _mongo_ts_id(is_written boolean)
RETURNS jsonb
LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN jsonb_build_object('$oid', CASE WHEN is_written THEN 'ffffffff' ELSE '00000000' END
                                  || left(replace(gen_random_uuid()::text, '-', ''), 16));

/* Ranges as items of a state; those of a refresh stay stale until it ends. */
CREATE FUNCTION _mongo_ts_stale_items(ranges tstzmultirange, n jsonb, refreshing boolean)
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT coalesce(jsonb_agg(jsonb_build_object('from', _mongo_ts_bound(lower(r), '$minKey'),
                                                     'to', _mongo_ts_bound(upper(r), '$maxKey'), 'n', n)
                                  || CASE WHEN refreshing THEN '{"refreshing": true}' ELSE '{}' END::jsonb), '[]')
          FROM unnest(ranges) r);

/* A change that adds items to a state */
CREATE FUNCTION _mongo_ts_push(items json)
RETURNS json
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN json_build_object('$inc', '{"generation": 1}'::json,
                         '$push', json_build_object('stale', json_build_object('$each', items)));

/* Ranges that are joined over the shortest gaps, so that few are left; gaps that begin before a time stay. */
CREATE FUNCTION _mongo_ts_join_ranges(ranges tstzmultirange, most int, before timestamptz)
RETURNS tstzmultirange
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
  SELECT coalesce(range_agg(span), '{}')
    FROM (SELECT range_merge(range_agg(r)) AS span
            FROM (SELECT r, count(*) FILTER (WHERE place < most OR begins < before) OVER (ORDER BY r) AS part
                    FROM (SELECT r, begins, row_number() OVER (ORDER BY lower(r) - begins DESC NULLS LAST) AS place
                            FROM (SELECT r, lag(upper(r)) OVER (ORDER BY r) AS begins
                                    FROM unnest(ranges) r) sorted) gaps) parts
           GROUP BY part) joined;
END;

/*
 * The stale ranges of a state, with whole intervals.  What a write has marked of intervals whose
 * points may have been removed is left out: they keep their totals.
 */
CREATE FUNCTION _mongo_ts_stale(relation regclass, document json, kept tstzmultirange,
                                OUT item json, OUT span tstzmultirange)
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
  SELECT s, _mongo_ts_whole_intervals(relation, tstzmultirange(tstzrange(_mongo_ts_time((s -> 'from')::jsonb),
                                                                         _mongo_ts_time((s -> 'to')::jsonb))))
            * CASE WHEN s -> 'refreshing' IS NOT NULL THEN '{(,)}' ELSE kept END
    FROM json_array_elements(document -> 'stale') s;
END;

/*
 * Remove from a state the stale ranges that a refresh computes, todo or above the watermark.  Those
 * that may still be written stay stale, as computed ones.  The sessions that have marked them have
 * ended.
 */
CREATE FUNCTION _mongo_ts_take_stale(relation regclass, document json, kept tstzmultirange, until timestamptz,
                                     todo tstzmultirange)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  now timestamptz := clock_timestamp();
  taken json;
  computed json;
BEGIN
  SELECT json_agg(item),
         json_agg(item::jsonb || jsonb_build_object('computed', @extschema@._mongo_ts_bound(now, NULL)))
           FILTER (WHERE is_written)
    INTO taken, computed
    FROM (SELECT item, span, item -> 'computed' IS NOT NULL AS is_computed,
                 NOT (item -> 'refreshing' IS NOT NULL OR starts_with(coalesce(item #>> '{n,$oid}', ''), '00000000')
                      OR coalesce(@extschema@._mongo_ts_time((item -> 'computed')::jsonb) < now - interval '2 minutes',
                                  false)) AS is_written
            FROM @extschema@._mongo_ts_stale(relation, document, kept)) s
   WHERE span * tstzmultirange(tstzrange(NULL, greatest(until, upper(todo)))) <@ todo
     AND NOT (is_written AND is_computed);
  IF computed IS NOT NULL THEN
    PERFORM @extschema@._mongo_ts_change_state(relation, @extschema@._mongo_ts_push(computed));
  END IF;
  IF taken IS NOT NULL THEN
    PERFORM @extschema@._mongo_ts_change_state(relation, json_build_object(
      '$pull', json_build_object('stale', json_build_object('$in', taken))));
  END IF;
END $$;

/*
 * Mark as stale what a refresh has written last, and raise an error: a session of another PostgreSQL
 * server has begun to refresh the roll-up, so it may be out of date.
 */
CREATE FUNCTION _mongo_ts_yield(relation regclass, written tstzmultirange)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  PERFORM @extschema@._mongo_ts_change_state(relation, @extschema@._mongo_ts_push(
    @extschema@._mongo_ts_stale_items(written, @extschema@._mongo_ts_id(false), false)::json));
  RAISE serialization_failure USING HINT = 'Run the statement again.',
    MESSAGE = format('another PostgreSQL server refreshes roll-up "%s" at the same time',
                     (SELECT relname FROM pg_class WHERE oid = relation));
END $$;

/*
 * Replace the ranges of a refresh in a state, n, by what is left to be computed, and by what others
 * will have to.  Returns the new n.  Yields if another refresh has removed the ranges.
 */
CREATE FUNCTION _mongo_ts_replace_stale(relation regclass, n jsonb, todo tstzmultirange, others tstzmultirange,
                                        written tstzmultirange)
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
    PERFORM @extschema@._mongo_ts_change_state(relation, @extschema@._mongo_ts_push(items::json));
  END IF;
  IF NOT @extschema@._mongo_ts_change_state(relation, json_build_object(
           '$inc', '{"generation": 1}'::json, '$pull', json_build_object('stale', json_build_object('n', n))),
           json_build_object('stale.n', n)) THEN
    PERFORM @extschema@._mongo_ts_yield(relation, written);
  END IF;
  RETURN new;
END $$;

/*
 * Compute ranges of a roll-up, chunk by chunk of whole buckets, and remove them from the state.
 * Nothing has been written at or after the former watermark, until.
 */
CREATE FUNCTION _mongo_ts_compute(relation regclass, n jsonb, token json, todo tstzmultirange,
                                  until timestamptz, bucket_span interval)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  own record;
  remove text;
  fill text;
  left_over tstzmultirange := todo;
  chunk tstzrange;
  first timestamptz;
  stop timestamptz;
  begun timestamptz;
  nbuckets int := 1;
  unit text := CASE WHEN bucket_span >= '1 year' THEN 'year' WHEN bucket_span >= '1 month' THEN 'month'
                    WHEN bucket_span >= '1 day' THEN 'day' WHEN bucket_span >= '1 hour' THEN 'hour' ELSE 'minute' END;
BEGIN
  SELECT max(c.name) FILTER (WHERE is_time) AS time, max(source::oid)::regclass AS source,
         max(source_column) FILTER (WHERE is_time) AS source_time,
         string_agg(quote_ident(c.name), ', ' ORDER BY ordinality) AS columns
    INTO own FROM @extschema@._mongo_ts_rollup_columns(relation) WITH ORDINALITY c;
  remove := format('DELETE FROM %s WHERE %I >= $1 AND %2$I < $2', relation, own.time);
  fill := format('INSERT INTO %s (%s) %s', relation, own.columns, @extschema@._mongo_ts_rollup_query(relation));
  WHILE NOT isempty(left_over) LOOP
    chunk := (SELECT r FROM unnest(left_over) r ORDER BY r LIMIT 1);
    first := lower(chunk);
    IF first IS NULL THEN
      EXECUTE format('SELECT min(%I) FROM %s WHERE %1$I < $1', own.source_time, own.source)
        INTO first USING upper(chunk);
    END IF;
    stop := upper(chunk);
    IF first IS NOT NULL AND bucket_span <> '0' THEN
      stop := date_trunc(unit, first, 'UTC') + nbuckets * bucket_span;
      stop := least((@extschema@._mongo_ts_rollup_intervals(relation, first, stop)).stop, upper(chunk));
    END IF;
    chunk := tstzrange(lower(chunk), stop);
    begun := clock_timestamp();
    IF NOT @extschema@._mongo_ts_compute_rollup(
             relation,
             CASE WHEN until IS NULL OR lower_inf(chunk) OR lower(chunk) < until
                  THEN ARRAY[remove, fill] ELSE ARRAY[fill] END,
             coalesce(lower(chunk), '-infinity'), upper(chunk), token) THEN
      PERFORM @extschema@._mongo_ts_yield(relation, tstzmultirange(chunk));
    END IF;
    left_over := left_over - tstzmultirange(chunk);
    n := @extschema@._mongo_ts_replace_stale(relation, n, left_over, '{}', tstzmultirange(chunk));
    -- MongoDB aborts a transaction after a minute
    IF clock_timestamp() < begun + interval '2 s' THEN
      nbuckets := least(nbuckets * 2, 4096);
    ELSIF clock_timestamp() > begun + interval '15 s' THEN
      nbuckets := greatest(nbuckets / 2, 1);
    END IF;
  END LOOP;
END $$;

CREATE FUNCTION mongo_ts_refresh_rollup(relation regclass, start_time timestamptz DEFAULT NULL,
                                        end_time timestamptz DEFAULT NULL, repair interval DEFAULT NULL)
RETURNS timestamptz
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
SET mongo_ts_fdw.enable_rollups = off
AS $$
DECLARE
  coarsest regclass[];
  wanted tstzmultirange;
  d record;
  s record;
  document json;
  begun timestamptz;
  latest timestamptz;
  until timestamptz;
  change text;
  is_altered boolean;
  kept tstzmultirange;
  todo tstzmultirange;
  ready tstzmultirange;
  watermark timestamptz;
  n jsonb := @extschema@._mongo_ts_id(true);
  token json := json_build_object('by', @extschema@._mongo_ts_id(true));
BEGIN
  IF relation IS NULL THEN
    RETURN NULL;
  END IF;
  IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
    RAISE feature_not_supported USING MESSAGE = 'a roll-up can only be refreshed under isolation level READ COMMITTED';
  END IF;
  IF repair <= '0' OR repair IS NOT NULL AND (start_time IS NOT NULL OR end_time IS NOT NULL) THEN
    RAISE invalid_parameter_value USING MESSAGE = 'invalid argument "repair"',
      DETAIL = 'It must be a positive interval, without a start time and an end time.';
  END IF;
  IF start_time IS NOT NULL OR end_time IS NOT NULL THEN
    wanted := tstzmultirange(tstzrange(nullif(start_time, '-infinity'), nullif(end_time, 'infinity')));
  END IF;

  -- of the points, all roll-ups: those that no other one is computed from
  IF NOT EXISTS (SELECT FROM pg_foreign_table, pg_options_to_table(ftoptions)
                  WHERE ftrelid = relation AND option_name = 'rollup_of') THEN
    coarsest := (SELECT array_agg(r) FROM unnest(@extschema@._mongo_ts_list_rollups(relation)) r
                  WHERE @extschema@._mongo_ts_list_rollups(r) = '{}');
    IF coarsest IS NULL THEN
      RAISE wrong_object_type USING MESSAGE = format('table "%s" has no roll-up',
                                                       (SELECT relname FROM pg_class WHERE oid = relation)),
        HINT = 'Use mongo_ts_create_rollup to make one.  If the table has been renamed or moved, '
               'set option "rollup_of" of its roll-ups.';
    END IF;
    RETURN (SELECT nullif(min(coalesce(@extschema@.mongo_ts_refresh_rollup(r, start_time, end_time, repair),
                                       '-infinity')), '-infinity') FROM unnest(coarsest) r);
  END IF;

  d := @extschema@._mongo_ts_lock_rollup(relation);
  begun := clock_timestamp();
  latest := d.latest;
  IF d.by_application THEN
    RETURN latest;
  END IF;
  IF d.source <> d.points THEN
    until := coalesce(@extschema@.mongo_ts_refresh_rollup(d.source, start_time, end_time, repair), '-infinity');
    latest := least(latest, (@extschema@._mongo_ts_rollup_intervals(relation, until, until)).start);
  END IF;

  -- documents that were made since the last refresh, with room for clocks, and have old points
  s := @extschema@.mongo_ts_rollup_state(relation);
  IF d.source = d.points AND s.until IS NOT NULL AND s.refreshed IS NOT NULL THEN
    PERFORM @extschema@._mongo_ts_mark_late(relation, s.refreshed - s.took - interval '1 minute', s.until);
  END IF;
  s := @extschema@.mongo_ts_rollup_state(relation);
  kept := tstzmultirange(tstzrange(s.first_kept, NULL));
  document := @extschema@._mongo_ts_rollup_document(relation);
  until := s.until;
  change := (@extschema@._mongo_ts_rollup_totals(relation, false)).change;
  is_altered := change <> 'none';
  IF until IS NULL AND document -> 'until' IS NOT NULL AND NOT is_altered THEN
    RAISE fdw_invalid_data_type USING HINT = 'To begin again, remove the document.',
      MESSAGE = format('invalid state of roll-up "%s" in MongoDB collection "mongo_ts_rollups"', d.name);
  END IF;
  IF is_altered THEN
    -- Totals of points that may have been removed cannot be computed again.  They are kept if the
    -- user refreshes all, who can tell whether they are still right.
    IF change = 'altered' AND s.first_kept IS NOT NULL AND (wanted IS NULL OR NOT lower_inf(wanted)) THEN
      RAISE object_not_in_prerequisite_state USING
        MESSAGE = format('roll-up "%s" or its points have been altered since it was refreshed', d.name),
        DETAIL = 'Its totals of points that are older than option "rollup_retention" cannot be computed again.',
        HINT = 'If they are still right, refresh the roll-up from ''-infinity'', which keeps them.  '
               'Otherwise remove their rows before, or undo the change.';
    END IF;
    wanted := coalesce(wanted, '{(,)}');
    until := @extschema@._mongo_ts_time((document -> 'until')::jsonb);
    until := (@extschema@._mongo_ts_rollup_intervals(relation, until - interval '1 microsecond', until)).stop;
  END IF;

  -- what is to be computed: wanted, or what is stale or new up to the latest time
  IF wanted IS NOT NULL THEN
    todo := @extschema@._mongo_ts_whole_intervals(relation, wanted)
            * CASE WHEN until IS NULL THEN '{(,)}' ELSE kept END;
  ELSE
    SELECT coalesce(range_agg(span), '{}') * tstzmultirange(tstzrange(NULL, until)) INTO todo
      FROM @extschema@._mongo_ts_stale(relation, document, kept);
    IF until IS NULL OR until < latest THEN
      todo := todo + tstzmultirange(tstzrange(until, latest));
    END IF;
    IF until > begun - repair THEN
      todo := todo + kept * @extschema@._mongo_ts_whole_intervals(
                              relation, tstzmultirange(tstzrange(begun - repair, until)));
    END IF;
  END IF;
  todo := CASE WHEN latest = '-infinity' THEN '{}' ELSE todo * tstzmultirange(tstzrange(NULL, latest)) END;
  todo := @extschema@._mongo_ts_join_ranges(todo, 64, lower(kept));
  IF isempty(todo) THEN
    PERFORM @extschema@._mongo_ts_take_stale(relation, document, kept, until, todo);
  ELSE
    watermark := greatest(upper(todo), until);
    PERFORM @extschema@._mongo_ts_change_state(relation, json_build_object(
      '$inc', '{"generation": 1}'::json,
      '$set', (SELECT json_build_object('version', 1, 'fingerprint', t.document -> 'fingerprint',
                                        'totals', t.document -> 'totals')
                 FROM @extschema@._mongo_ts_rollup_totals(
                        relation, is_altered OR tstzmultirange(tstzrange(NULL, watermark)) <@ todo) t),
      '$max', json_build_object('until', @extschema@._mongo_ts_bound(watermark, NULL)),
      '$push', json_build_object('stale', json_build_object('$each',
        @extschema@._mongo_ts_stale_items(todo, n, true)
        || @extschema@._mongo_ts_stale_items(
             tstzmultirange(tstzrange(CASE WHEN is_altered THEN lower(kept) ELSE until END, watermark)) - todo,
             @extschema@._mongo_ts_id(false), true)))));
    PERFORM @extschema@._mongo_ts_begin_refresh(relation, token);
    PERFORM @extschema@._mongo_ts_take_stale(relation, document, kept, until, todo);
    -- a read sees all that was there at the session's last write
    IF NOT @extschema@._mongo_ts_compute_rollup(relation, '{}', '-infinity', '-infinity', token) THEN
      PERFORM @extschema@._mongo_ts_yield(relation, todo);
    END IF;
    IF d.source <> d.points THEN
      -- leave out what the finer roll-up does not have yet, because points have been written meanwhile
      s := @extschema@.mongo_ts_rollup_state(d.source);
      ready := todo - @extschema@._mongo_ts_whole_intervals(
                        relation, s.open + tstzmultirange(tstzrange(s.until, NULL)));
      IF ready <> todo THEN
        n := @extschema@._mongo_ts_replace_stale(relation, n, ready, todo - ready, '{(,)}');
        todo := ready;
      END IF;
    END IF;
    PERFORM @extschema@._mongo_ts_compute(relation, n, token, todo, until, d.bucket_span);
  END IF;
  IF NOT is_altered OR NOT isempty(todo) THEN
    PERFORM @extschema@._mongo_ts_change_state(relation, json_build_object(
      '$set', json_build_object('refreshed', @extschema@._mongo_ts_bound(clock_timestamp(), NULL),
                                'took', (1000 * extract(epoch FROM clock_timestamp() - begun))::bigint),
      '$unset', '{"failed": 1}'::json));
  END IF;
  RETURN (@extschema@.mongo_ts_rollup_state(relation)).until;
END $$;

COMMENT ON FUNCTION mongo_ts_refresh_rollup(regclass, timestamptz, timestamptz, interval) IS
  'compute what is new or stale of a roll-up, and return how far it is complete';
