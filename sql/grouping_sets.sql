--
-- Tests GROUPING SETS, ROLLUP and CUBE: of rows, and of groups that the scan
-- has made in a subquery.
--
\set suite grouping_sets
\i sql/include/suite.sql

\pset format unaligned
\pset tuples_only on

-- Run a query on the foreign table and on a local copy.  Shows the number of
-- rows, and differences.
CREATE FUNCTION same(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  answers text[];
  name text;
  n int;
BEGIN
  FOREACH name IN ARRAY ARRAY['f', 'copied'] LOOP
    EXECUTE format('SELECT array_append($1, string_agg(t::text, '' '' ORDER BY t::text)), count(*) FROM (%s) t', replace(query, '@', name))
      INTO answers, n USING answers;
  END LOOP;
  RETURN n || ' rows'
    || CASE WHEN answers[1] IS NOT DISTINCT FROM answers[2] THEN ''
            ELSE E', not the same:\n' || coalesce(answers[1], 'NULL') || E'\n' || coalesce(answers[2], 'NULL') END;
END $$;

CREATE FOREIGN TABLE f (
  ts timestamptz, dev int, room text COLLATE "C", v float8 OPTIONS (field 'p.{minute}')
) SERVER grouping_sets;
INSERT INTO f SELECT timestamptz '2024-03-10 00:00Z' + i / 20 * interval '1 minute', nullif(i % 20, 19), 'r' || i % 20 % 6, i % 97 / 4.0
  FROM generate_series(0, 5999) i;
ANALYZE f;
CREATE TABLE copied AS TABLE f;
CREATE TABLE d (dev int PRIMARY KEY, site text);
INSERT INTO d SELECT g, 'site' || g % 4 FROM generate_series(3, 24) g;
ANALYZE d;

SELECT plan($$SELECT dev, room, count(*), avg(v), grouping(dev, room) FROM f GROUP BY CUBE (1, 2)$$);
SELECT room, count(*), sum(dev), grouping(room) FROM f WHERE dev < 4 GROUP BY ROLLUP (1) ORDER BY 1;
SELECT same('SELECT dev, room, count(*), sum(v) FILTER (WHERE v < 9), grouping(dev, room), grouping(room) FROM @ GROUP BY CUBE (1, 2)');
SELECT same('SELECT dev, room, sum(v::numeric) FROM @ GROUP BY ROLLUP (1, 2) HAVING grouping(dev) = 1 OR dev > 5');
SELECT same('SELECT date_trunc(''hour'', ts), extract(hour FROM ts), room, max(v) FROM @ GROUP BY CUBE (1, 2, 3)');
SELECT same('SELECT date_trunc(''hour'', ts) + interval ''1 hour'', room, max(v) FROM @ GROUP BY ROLLUP (date_trunc(''hour'', ts), room)');
SELECT same('SELECT dev + 1, room || dev, coalesce(room, ''all''), count(*) FROM @ GROUP BY ROLLUP (1, dev, room)');
SELECT same('SELECT dev, dev + 1, count(*) FROM @ GROUP BY ROLLUP (1, 2)');
SELECT same('SELECT dev, room FROM @ GROUP BY ROLLUP (1, 2)');
SELECT same('SELECT dev, sum(count(*)) OVER (PARTITION BY grouping(dev) ORDER BY dev) FROM @ GROUP BY ROLLUP (1)');
SELECT same('SELECT dev, room, count(*) FROM @ GROUP BY DISTINCT ROLLUP (1, 2), CUBE (1)');
-- equal sets, and the empty set of no rows
SELECT same('SELECT dev, room, count(*) FROM @ GROUP BY GROUPING SETS ((1), (2), (), (), (1))');
SELECT same('SELECT dev, room, count(*), sum(v), sum(v::numeric), max(room) FROM @ WHERE v > 500 GROUP BY GROUPING SETS ((1), (2), (), ())');
SELECT same('SELECT count(*) FROM @ GROUP BY GROUPING SETS ((), ())');
SELECT same('SELECT count(*) FROM @ WHERE v > 500 GROUP BY GROUPING SETS ((), ())');
SELECT same('SELECT dev, room FROM @ WHERE v > 500 GROUP BY ROLLUP (1, 2)');
-- for other rows again and again
SELECT same('SELECT d.dev, u.* FROM d, LATERAL (SELECT room, count(*) FROM @ t WHERE t.dev = d.dev AND v > d.dev GROUP BY ROLLUP (1)) u');
SELECT same('SELECT d.dev, u.* FROM d, LATERAL (SELECT dev + d.dev, grouping(dev + d.dev), count(*) FROM @ t WHERE v < 3 GROUP BY ROLLUP (1)) u');
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT dev, count(*) FROM f WHERE dev < 3 GROUP BY ROLLUP (1);
FETCH 2 c;
FETCH BACKWARD 1 c;
FETCH ALL c;
COMMIT;
-- above joins
SELECT plan($$SELECT d.site, f.room, sum(v) FROM f JOIN d USING (dev) GROUP BY ROLLUP (1, 2)$$);
SELECT same('SELECT d.site, t.room, sum(v), grouping(d.site, t.room) FROM @ t JOIN d USING (dev) GROUP BY CUBE (1, 2)');
SELECT same('SELECT d.site, t.dev, d.dev, count(*) FROM @ t LEFT JOIN d ON t.dev = d.dev GROUP BY ROLLUP (1, 2, 3)');
SELECT same('SELECT d.site, t.dev, count(*) FROM @ t JOIN d USING (dev) WHERE d.site > ''t'' GROUP BY ROLLUP (1, 2)');
SELECT same('SELECT d.dev, d.site, room, count(*) FROM @ t JOIN d USING (dev) GROUP BY GROUPING SETS ((d.dev), (d.dev, room))');
-- groups of the scan
SELECT plan($$SELECT dev, room, sum(n), sum(s) FROM (SELECT dev, room, count(*) AS n, sum(v) AS s FROM f GROUP BY 1, 2) AS g GROUP BY CUBE (1, 2)$$);
SELECT same('SELECT dev, room, sum(n), sum(s), grouping(dev, room) FROM (SELECT dev, room, count(*) AS n, sum(v) AS s FROM @ GROUP BY 1, 2) AS g GROUP BY CUBE (1, 2)');
-- equal columns, constants, and aggregates that cannot be combined
SELECT same('SELECT dev, dev AS other, count(*) FROM @ GROUP BY ROLLUP (1, 2)');
SELECT same('SELECT 1 AS one, dev, count(*) FROM @ GROUP BY ROLLUP (one, dev)');
SELECT same('SELECT dev, count(DISTINCT room) FROM @ GROUP BY ROLLUP (1)');
SELECT same('SELECT dev, percentile_cont(0.5) WITHIN GROUP (ORDER BY v) FROM @ GROUP BY ROLLUP (1)');

SELECT mongo_ts_command('grouping_sets', '{"dropDatabase": 1}')->'ok' AS dropped;
