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
