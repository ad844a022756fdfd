--
-- Tests which conditions joins imply for the tables that are joined, and that
-- the rows stay the same.
--
\set suite join_conditions
\i sql/include/suite.sql

\pset format unaligned
\pset tuples_only on

-- Run a query on the foreign tables and on local join_copies, in the schema join_copies.
-- Shows the number of rows, differences, and the filter of each foreign scan.
CREATE SCHEMA join_copies;
CREATE FUNCTION filters(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  plan json;
  remote text[];
  local text[];
BEGIN
  EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || query INTO plan;
  EXECUTE format('SELECT array_agg(t::text ORDER BY t::text) FROM (%s) t', query) INTO remote;
  PERFORM set_config('search_path', 'join_copies, ' || current_setting('search_path'), true);
  EXECUTE format('SELECT array_agg(t::text ORDER BY t::text) FROM (%s) t', query) INTO local;
  PERFORM set_config('search_path', regexp_replace(current_setting('search_path'), '^join_copies, ', ''), true);
  RETURN NEXT coalesce(cardinality(local), 0) || ' rows' ||
    CASE WHEN remote IS DISTINCT FROM local THEN E', not the same:\n' || coalesce(remote::text, 'NULL') ELSE '' END;
  RETURN QUERY SELECT '  ' || coalesce(scan->>'Alias', scan->>'Relations') || ': ' ||
      regexp_replace(scan->>'MongoDB Query', '^.*find\((.*), \{.*$', '\1')
    FROM jsonb_path_query(plan::jsonb, 'strict $.** ? (@.type() == "object" && exists (@."MongoDB Query"))') AS scan
    ORDER BY 1;
END $$;

-- Hour buckets of three devices over ten days, but the third misses each seventh point
CREATE FOREIGN TABLE f (
  ts timestamptz OPTIONS (field 'hour'), dev text COLLATE "C", v int OPTIONS (field 'p.{minute}')
) SERVER join_conditions OPTIONS (bucket_span '1 hour');
INSERT INTO f SELECT timestamptz '2024-03-01Z' + i * interval '20 minutes', d, i
  FROM generate_series(0, 719) i, unnest('{a,b,c}'::text[]) d WHERE d < 'c' OR i % 7 > 0;
SELECT mongo_ts_create_index('f') \g /dev/null
ANALYZE f;
CREATE TABLE join_copies.f AS TABLE f;
-- Events, some of them at times without a point, or none, and their kinds
CREATE TABLE e (at timestamptz, until timestamptz, local timestamp, day date, kind int);
INSERT INTO e SELECT t, t + interval '30 minutes', t, t, extract(hour FROM t)
  FROM generate_series(timestamptz '2024-03-02Z', '2024-03-07Z', '1 hour 30 minutes') t;
INSERT INTO e VALUES (NULL, NULL, NULL, NULL, 1), ('2024-03-05 00:00Z', '2024-03-05 01:00Z', '2024-03-05 00:00', '2024-03-05', 2);
ANALYZE e;

-- plans that read each table once
SET enable_nestloop = off;
SET enable_mergejoin = off;

-- The time -----------------------------------------------------------------

\set range 'a.ts >= ''2024-03-05Z'' AND a.ts < ''2024-03-05 03:00Z'''
\set last 'a.ts > timestamptz ''2024-03-10 21:00Z'''

-- Both series are read in the range that is given for one of them.
SELECT plan('SELECT a.ts, a.v, b.v FROM f a JOIN f b USING (ts) WHERE a.dev = ''a'' AND b.dev = ''b'' AND ' || :'range');
SELECT * FROM reads('SELECT a.ts, a.v, b.v FROM f a JOIN f b USING (ts) WHERE a.dev = ''a'' AND b.dev = ''b'' AND ' || :'range');
SELECT filters('SELECT a.ts, b.v FROM f b, f a WHERE a.dev = ''a'' AND b.dev = ''b'' AND b.ts = a.ts AND ' || :'last');
-- three tables, whichever has the range, and one of them local
SELECT filters('SELECT a.ts, b.v, c.v FROM f b JOIN f c ON b.ts = c.ts JOIN f a ON a.ts = b.ts WHERE b.dev < ''c'' AND c.dev = ''c'' AND a.dev = ''a'' AND ' || :'range');
SELECT filters('SELECT at, v FROM e a JOIN f b ON b.ts = a.at WHERE b.dev = ''b'' AND a.at BETWEEN ''2024-03-05'' AND ''2024-03-05 04:00''');
SELECT filters('SELECT at, v FROM e a JOIN f b ON b.ts = a.at WHERE a.at::date = ''2024-03-05''');
-- Several ranges are kept, and one that is given for both is sent once.
SELECT filters('SELECT a.ts, b.v FROM f a JOIN f b USING (ts) WHERE a.dev = ''a'' AND b.dev = ''b'' AND a.ts >= ''2024-03-05Z'' AND b.ts < ''2024-03-05 02:00Z''');
SELECT filters('SELECT a.ts, b.v FROM f a JOIN f b USING (ts) WHERE a.dev = ''a'' AND (a.ts < ''2024-03-01 01:00Z'' OR a.ts > ''2024-03-10 23:00Z'')');
SELECT filters('SELECT a.ts, b.v FROM f a JOIN f b USING (ts) WHERE a.ts IN (''2024-03-02Z'', ''2024-03-03Z'') AND b.ts IN (''2024-03-02Z'', ''2024-03-03Z'')');
SELECT filters('SELECT a.ts, b.v FROM f a JOIN f b USING (ts) WHERE a.ts > NULL');

-- Semi joins, and the side of an outer or an anti join that is null without a match
SELECT filters('SELECT * FROM f b WHERE b.dev = ''b'' AND EXISTS (SELECT FROM f a WHERE a.ts = b.ts AND a.dev = ''c'' AND ' || :'range' || ')');
SELECT filters('SELECT * FROM f a WHERE dev = ''a'' AND ts IN (SELECT ts FROM f b WHERE b.dev = ''c'') AND ' || :'range');
SELECT filters('SELECT a.ts, b.v FROM f a LEFT JOIN f b ON a.ts = b.ts AND b.dev = ''c'' WHERE a.dev = ''a'' AND ' || :'range');
SELECT filters('SELECT a.ts, b.v FROM f b RIGHT JOIN f a ON a.ts = b.ts AND b.dev = ''c'' WHERE a.dev = ''a'' AND ' || :'range');
SELECT filters('SELECT * FROM f a WHERE a.dev = ''a'' AND NOT EXISTS (SELECT FROM f b WHERE b.ts = a.ts AND b.dev = ''c'') AND ' || :'range');
SELECT filters('SELECT a.at, b.v, c.v FROM e a LEFT JOIN f b ON b.ts = a.at AND b.dev = ''b'' LEFT JOIN f c ON c.ts = b.ts AND c.dev = ''c'' WHERE a.at < ''2024-03-02 04:00Z''');
SELECT filters('SELECT a.ts, b.v, c.v FROM f a LEFT JOIN (f b JOIN f c ON b.ts = c.ts AND b.dev = ''b'' AND c.dev = ''c'') ON a.ts = b.ts WHERE a.dev = ''a'' AND ' || :'range');
-- A condition within the inner side stays there.
SELECT filters('SELECT b.ts, b.v, a.v FROM f b LEFT JOIN f a ON a.ts = b.ts AND a.dev = ''a'' AND ' || :'range' || ' WHERE b.dev = ''c''');
SELECT filters('SELECT count(*) FROM f b WHERE b.dev = ''b'' AND NOT EXISTS (SELECT FROM f a WHERE a.ts = b.ts AND a.dev = ''c'' AND ' || :'range' || ')');
SELECT filters('SELECT count(*), count(a.v) FROM f b FULL JOIN (SELECT * FROM f a WHERE ' || :'range' || ') a USING (dev, ts)');
-- A condition on the outer side in the clause of the join is not used.
SELECT filters('SELECT a.ts, a.v, b.v FROM f a LEFT JOIN f b ON a.ts = b.ts AND b.dev = ''c'' AND ' || :'range' || ' WHERE a.dev = ''a''');
-- Outer joins that become inner ones
SELECT filters('SELECT a.ts, b.v FROM f b LEFT JOIN f a ON a.ts = b.ts AND a.dev = ''a'' WHERE b.dev = ''c'' AND ' || :'range');
SELECT filters('SELECT a.ts, b.v FROM f b FULL JOIN f a USING (ts, dev) WHERE b.dev = ''c'' AND ' || :'range');

-- Parameters, stable functions, and the result of a subquery
PREPARE within(timestamptz, interval) AS
  SELECT count(*), sum(b.v) FROM f a JOIN f b USING (ts) WHERE a.dev = 'a' AND b.dev = 'b' AND a.ts >= $1 AND a.ts < $1 + $2;
SET plan_cache_mode = force_generic_plan;
SELECT plan('EXECUTE within(''2024-03-05Z'', ''1 hour'')');
SELECT * FROM reads('EXECUTE within(''2024-03-05Z'', ''1 hour'')');
EXECUTE within('2024-03-05Z', '1 hour');
EXECUTE within('2024-03-06Z', '2 hours');
RESET plan_cache_mode;
SELECT filters('SELECT count(*) FROM f a JOIN f b USING (ts) WHERE a.dev = ''a'' AND a.ts > now() - interval ''100 years'' AND a.ts < current_date - 100000');
SELECT * FROM reads('SELECT b.v FROM f a JOIN f b USING (ts) WHERE a.dev = ''a'' AND b.dev = ''b'' AND a.ts >= (SELECT max(at) FROM e) AND a.ts < (SELECT max(at) + interval ''1 hour'' FROM e)');

-- Aggregates below a join
SELECT filters('SELECT kind, sum(v), count(*) FROM f b JOIN e a ON b.ts = a.at WHERE a.at >= ''2024-03-06Z'' GROUP BY 1');
SELECT filters('SELECT b.dev, sum(b.v) FROM f b WHERE EXISTS (SELECT FROM e WHERE at = b.ts AND at < ''2024-03-02 12:00Z'') GROUP BY 1');
SELECT plan('SELECT kind, sum(v), count(*) FROM f b JOIN e a ON b.ts = a.at WHERE a.at >= ''2024-03-06Z'' GROUP BY 1');

-- What is not implied: by other types, for other columns, and by volatile
-- functions
SET enable_mergejoin = on;
SELECT filters('SELECT b.v FROM f b JOIN e a ON b.ts = a.local WHERE a.local < ''2024-03-02 02:00'' AND b.dev = ''b''');
SELECT filters('SELECT b.v FROM f b JOIN e a ON b.ts = a.day WHERE a.day < ''2024-03-03'' AND b.dev = ''b''');
SET enable_mergejoin = off;
SELECT filters('SELECT b.v FROM f b JOIN e a ON b.ts = a.at WHERE a.until < ''2024-03-02 02:00Z'' AND b.dev = ''b''');
SELECT filters('SELECT b.v FROM f b JOIN e a ON b.ts = a.at WHERE (a.at < ''2024-03-02 02:00Z'' OR a.kind = 3) AND b.dev = ''b''');
SELECT filters('SELECT b.v FROM f b JOIN e a ON b.ts = a.at WHERE a.at < ''2024-03-02 02:00Z''::timestamptz + random() * interval ''0'' AND b.dev = ''b''');
SELECT filters('SELECT b.v FROM f b JOIN e a ON b.ts = a.at + interval ''1 hour'' WHERE a.at < ''2024-03-02 02:00Z'' AND b.dev = ''b''');

-- Keys ---------------------------------------------------------------------

SELECT filters('SELECT a.ts, b.v FROM f a JOIN f b USING (ts, dev) WHERE a.dev IN (''a'', ''c'') AND a.v < 5');
SELECT filters('SELECT a.ts, b.v FROM f a LEFT JOIN f b USING (ts, dev) WHERE a.dev < ''b'' AND a.ts < ''2024-03-01 01:00Z''');
-- Partitions ---------------------------------------------------------------

CREATE TABLE p (ts timestamptz, dev text COLLATE "C", v int) PARTITION BY RANGE (ts);
CREATE FOREIGN TABLE p1 PARTITION OF p FOR VALUES FROM (MINVALUE) TO ('2024-03-06Z')
  SERVER join_conditions OPTIONS (collection 'f', bucket_span '1 hour', filter '{"hour": {"$lt": {"$date": "2024-03-06T00:00:00Z"}}}');
ALTER FOREIGN TABLE p1 ALTER ts OPTIONS (field 'hour'), ALTER v OPTIONS (field 'p.{minute}');
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM ('2024-03-06Z') TO (MAXVALUE);
INSERT INTO p2 SELECT * FROM join_copies.f WHERE ts >= '2024-03-06Z';
ANALYZE p1, p2;
CREATE TABLE join_copies.p AS TABLE join_copies.f;
SELECT filters('SELECT a.ts, b.v FROM f a JOIN p b USING (ts) WHERE a.dev = ''a'' AND b.dev = ''c'' AND ' || :'range');
SELECT filters('SELECT a.ts, b.v FROM p a LEFT JOIN p b ON a.ts = b.ts AND b.dev = ''b'' WHERE a.dev = ''a'' AND ' || :'range');
SELECT filters('SELECT kind, sum(v) FROM p JOIN e a ON p.ts = a.at WHERE a.at < ''2024-03-02 12:00Z'' GROUP BY 1');
SELECT filters('SELECT b.v FROM e a JOIN (SELECT ts, dev, v FROM f UNION ALL SELECT ts + interval ''1 hour'', dev, v FROM f) b ON b.ts = a.at WHERE a.at < ''2024-03-02 01:00Z''');

-- Changes of rows ----------------------------------------------------------

SELECT plan('DELETE FROM f USING e a WHERE f.ts = a.at AND a.at < ''2024-03-02 02:00Z'' AND f.dev = ''c''');
DELETE FROM f USING e a WHERE f.ts = a.at AND a.at < '2024-03-02 02:00Z' AND f.dev = 'c';
DELETE FROM join_copies.f USING e a WHERE f.ts = a.at AND a.at < '2024-03-02 02:00Z' AND f.dev = 'c';
SELECT filters('TABLE f');
