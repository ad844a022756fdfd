CREATE FUNCTION mongo_ts_suggest(server name, collection text)
RETURNS text
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION mongo_ts_suggest(name, text) IS
  'the statement that IMPORT FOREIGN SCHEMA would run for a collection';

/* What sampled documents say against the declaration of a foreign table */
CREATE FUNCTION _mongo_ts_check_documents(relation regclass, OUT problem text, OUT field text,
                                          OUT documents bigint, OUT hint text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'mongo_ts_check'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 10;

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
