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
