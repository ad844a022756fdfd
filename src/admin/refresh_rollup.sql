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
