--
-- Tests which conditions are shipped to MongoDB, as which query, and which are
-- checked in PostgreSQL.
--
\set suite pushdown
\i sql/include/suite.sql

\pset format unaligned
\pset tuples_only on

-- Query a foreign table and a local one with the same rows.  Shows the number
-- of matching rows if both are equal.
CREATE FUNCTION same(name text, condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  query text = 'SELECT array_agg(t::text ORDER BY t::text) FROM %s t WHERE %s';
  there text[];
  here text[];
BEGIN
  EXECUTE format(query, 'pushdown.' || name, condition) INTO there;
  EXECUTE format(query, 'here.' || name, condition) INTO here;
  RETURN CASE WHEN there IS NOT DISTINCT FROM here
    THEN coalesce(cardinality(here), 0) || ' rows'
    ELSE format('there %s, here %s', there, here) END;
END $$;

-- The filter and the query of a plan: its shape depends on PostgreSQL's version.
CREATE FUNCTION explain(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    CONTINUE WHEN line !~ 'Filter:|MongoDB Query:';
    RETURN NEXT regexp_replace(trim(with_numbers(line)), ', \{_id: 1, t: 1.*\}\)$', ')');
    EXIT WHEN line ~ 'One-Time Filter: false';
  END LOOP;
END $$;

-- Two hours of minute buckets, a point every ten seconds, for two types ----

CREATE FOREIGN TABLE minutes (
  ts    timestamptz,
  type  text,
  value float8 OPTIONS (field 'values.{second}')
) SERVER pushdown;
SELECT json_agg(json_build_object(
             'ts', json_build_object('$date', to_char(t, 'YYYY-MM-DD"T"HH24:MI:SSZ')),
             'type', type,
             'values', '{"0": 1, "10": 2, "20": 3, "30": 4, "40": 5, "50": 6}'::json)) AS documents
      FROM generate_series('2013-10-10 22:00'::timestamp, '2013-10-10 23:59', '1 minute') t,
           unnest(ARRAY['memory_used', 'memory_free']) type
\gset
CALL put('minutes', :'documents');

-- A query for one hour reads 60 buckets.
SELECT * FROM reads($$SELECT * FROM minutes WHERE type = 'memory_used'
  AND ts >= '2013-10-10 22:30Z' AND ts < '2013-10-10 23:30Z'$$);
SELECT * FROM reads($$SELECT count(*) FROM minutes
  WHERE ts >= '2013-10-10 22:30Z' AND ts < '2013-10-10 23:30Z'$$);
-- One more second on either side reads another bucket.
SELECT * FROM reads($$SELECT * FROM minutes WHERE type = 'memory_used'
  AND ts >= '2013-10-10 22:29:59Z' AND ts <= '2013-10-10 23:30Z'$$);
-- One instant reads one bucket; an impossible condition reads none.
SELECT * FROM reads($$SELECT * FROM minutes WHERE type = 'memory_used' AND ts = '2013-10-10 22:30:10Z'$$);
SELECT * FROM reads($$SELECT * FROM minutes WHERE ts > '2013-10-10 22:30Z' AND ts < '2013-10-10 22:30Z'$$);
SELECT * FROM reads($$SELECT * FROM minutes WHERE ts = NULL$$);
SELECT * FROM reads($$SELECT * FROM minutes WHERE type = 'none'$$);

-- Forms of time conditions -------------------------------------------------

-- The query shows whether a condition is shipped.  It is exact if no filter is
-- left.
EXPLAIN (COSTS OFF) SELECT count(*) FROM minutes WHERE ts = '2013-10-10 22:30:10Z';
EXPLAIN (COSTS OFF) SELECT count(*) FROM minutes WHERE ts < '2013-10-10 22:30Z';
EXPLAIN (COSTS OFF) SELECT count(*) FROM minutes WHERE ts <= '2013-10-10 22:30Z';
EXPLAIN (COSTS OFF) SELECT count(*) FROM minutes WHERE ts > '2013-10-10 22:30Z';
EXPLAIN (COSTS OFF) SELECT count(*) FROM minutes WHERE ts >= '2013-10-10 22:30Z';
EXPLAIN (COSTS OFF) SELECT count(*) FROM minutes WHERE '2013-10-10 22:30Z' <= ts;
EXPLAIN (COSTS OFF) SELECT count(*) FROM minutes WHERE ts <> '2013-10-10 22:30Z';
EXPLAIN (COSTS OFF) SELECT count(*) FROM minutes WHERE NOT ts >= '2013-10-10 22:30Z';
EXPLAIN (COSTS OFF) SELECT count(*) FROM minutes WHERE ts BETWEEN '2013-10-10 22:30Z' AND '2013-10-10 22:30:30Z';
EXPLAIN (COSTS OFF) SELECT count(*) FROM minutes WHERE ts NOT BETWEEN '2013-10-10 22:30Z' AND '2013-10-10 22:30:30Z';
EXPLAIN (COSTS OFF) SELECT count(*) FROM minutes WHERE ts IN ('2013-10-10 22:30:10Z', '2013-10-10 23:00:20Z', '2013-10-10 22:30:20Z');
EXPLAIN (COSTS OFF) SELECT count(*) FROM minutes WHERE ts NOT IN ('2013-10-10 22:30:10Z', '2013-10-10 23:00:20Z');
EXPLAIN (COSTS OFF) SELECT count(*) FROM minutes WHERE ts < '2013-10-10 22:01Z' OR ts >= '2013-10-10 23:59Z';
EXPLAIN (COSTS OFF) SELECT count(*) FROM minutes WHERE ts < date '2013-10-10';
EXPLAIN (COSTS OFF) SELECT count(*) FROM minutes WHERE ts < timestamp '2013-10-10 22:30';
EXPLAIN (COSTS OFF) SELECT count(*) FROM minutes WHERE ts < timestamptz '2013-10-10 22:30Z' - interval '1 hour';
EXPLAIN (COSTS OFF) SELECT count(*) FROM minutes WHERE ts < 'infinity' AND type = 'a';
EXPLAIN (COSTS OFF) SELECT count(*) FROM minutes WHERE ts > 'infinity';
EXPLAIN (COSTS OFF) SELECT count(*) FROM minutes WHERE ts >= '-infinity' AND ts < '2013-10-10 22:01Z';
-- Between two slots, down to the microsecond.
EXPLAIN (COSTS OFF) SELECT count(*) FROM minutes WHERE ts > '2013-10-10 22:29:59.999999Z' AND ts < '2013-10-10 22:30:00.000001Z';
-- A cast depends on the session's zone: shipped with tolerance and rechecked.
EXPLAIN (COSTS OFF) SELECT count(*) FROM minutes WHERE ts::date = '2013-10-10';
EXPLAIN (COSTS OFF) SELECT count(*) FROM minutes WHERE ts::timestamp >= '2013-10-10 22:30';
EXPLAIN (COSTS OFF) SELECT count(*) FROM minutes WHERE ts AT TIME ZONE 'Europe/Berlin' >= '2013-10-10 22:30';
-- Combined with other columns
EXPLAIN (COSTS OFF) SELECT count(*) FROM minutes WHERE ts < '2013-10-10 22:01Z' AND (type = 'a' OR type LIKE 'b%');
EXPLAIN (COSTS OFF) SELECT count(*) FROM minutes WHERE (ts < '2013-10-10 22:01Z' AND type = 'a') OR (ts >= '2013-10-10 23:59Z' AND type = 'b');
EXPLAIN (COSTS OFF) SELECT count(*) FROM minutes WHERE ts < '2013-10-10 22:01Z' OR type = 'b';
EXPLAIN (COSTS OFF) SELECT count(*) FROM minutes WHERE ts < '2013-10-10 22:01Z' OR value > 3;
EXPLAIN (COSTS OFF) SELECT count(*) FROM minutes WHERE ts < '2013-10-10 22:01Z' AND value > 3;
EXPLAIN (COSTS OFF) SELECT count(*) FROM minutes WHERE NOT (ts >= '2013-10-10 22:01Z' AND type = 'b');
-- Conditions that can't be shipped
EXPLAIN (COSTS OFF) SELECT count(*) FROM minutes WHERE ts IS NULL;
EXPLAIN (COSTS OFF) SELECT count(*) FROM minutes WHERE date_trunc('hour', ts) = '2013-10-10 22:00Z';
EXPLAIN (COSTS OFF) SELECT count(*) FROM minutes WHERE ts < clock_timestamp() AND ts + interval '1 hour' < '2013-10-10 23:30Z';
EXPLAIN (COSTS OFF) SELECT count(*) FROM minutes WHERE random() < 2;
EXPLAIN (COSTS OFF) SELECT count(*) FROM minutes WHERE (ts, type) < ('2013-10-10 22:01Z', 'b');

-- The same as a local table of the same rows, whatever the session's zone.
CREATE SCHEMA here;
CREATE TABLE here.minutes AS SELECT * FROM minutes;
SELECT count(*) FROM here.minutes;
CREATE TABLE conditions (id serial, condition text);
INSERT INTO conditions (condition) VALUES
  ($$ts = '2013-10-10 22:30:10'$$), ($$ts <> '2013-10-10 22:30:10'$$),
  ($$ts < '2013-10-10 22:30:10'$$), ($$ts <= '2013-10-10 22:30:10'$$),
  ($$ts > '2013-10-10 22:30:10'$$), ($$ts >= '2013-10-10 22:30:10'$$),
  ($$ts > '2013-10-10 22:30:10.000001'$$), ($$ts >= '2013-10-10 22:30:10.000001'$$),
  ($$ts < '2013-10-10 22:30:09.999999'$$), ($$ts <= '2013-10-10 22:30:09.999999'$$),
  ($$ts BETWEEN '2013-10-10 22:59:50' AND '2013-10-10 23:00:00'$$),
  ($$ts NOT BETWEEN '2013-10-10 22:59:50' AND '2013-10-10 23:00:00'$$),
  ($$ts IN ('2013-10-10 22:30:10', NULL, '2013-10-10 23:00', '2013-10-10 23:00:05')$$),
  ($$ts NOT IN ('2013-10-10 22:30:10', NULL)$$),
  ($$ts NOT IN ('2013-10-10 22:30:10', '2013-10-10 23:00')$$),
  ($$NOT (ts < '2013-10-10 22:30' OR ts >= '2013-10-10 22:31')$$),
  ($$ts < '2013-10-10 22:01' OR ts > '2013-10-10 23:58:30'$$),
  ($$(ts < '2013-10-10 22:01' AND type = 'memory_used') OR (ts > '2013-10-10 23:58:30' AND type = 'memory_free')$$),
  ($$ts::date = '2013-10-10'$$), ($$ts::date = '2013-10-11'$$), ($$ts::date < '2013-10-11'$$),
  ($$ts::date <> '2013-10-11'$$), ($$NOT ts::date >= '2013-10-11'$$),
  ($$ts::timestamp >= '2013-10-10 23:30'$$), ($$ts::timestamp BETWEEN '2013-10-11 00:30' AND '2013-10-11 01:29'$$),
  ($$ts > date '2013-10-10'$$), ($$ts >= date '2013-10-11'$$), ($$ts = date '2013-10-11'$$),
  ($$ts < timestamp '2013-10-11 01:00'$$), ($$ts > timestamp '2013-10-10 16:30'$$),
  ($$ts < 'infinity'$$), ($$ts > 'infinity'$$), ($$ts <= '-infinity'$$), ($$ts >= '-infinity'$$),
  ($$ts <> 'infinity'$$), ($$ts IN ('infinity', '2013-10-10 23:00')$$), ($$ts < date 'infinity'$$),
  ($$ts > date '-infinity'$$), ($$ts < date '5000000-01-01'$$), ($$ts = NULL$$), ($$ts IS NOT NULL$$),
  ($$ts <> ALL ('{2013-10-10 23:00, 2013-10-10 23:00:10}'::timestamptz[])$$),
  ($$ts >= ALL ('{2013-10-10 23:00, 2013-10-10 23:00:10}'::timestamptz[])$$),
  ($$ts < ANY ('{2013-10-10 23:00, 2013-10-10 23:00:10}'::timestamptz[])$$),
  ($$ts = ANY ('{}'::timestamptz[])$$), ($$ts <> ALL ('{}'::timestamptz[])$$),
  ($$type <> 'memory_used' AND ts < '2013-10-10 22:01'$$),
  ($$type > 'memory_free' AND ts < '2013-10-10 22:01'$$),
  ($$value > 5 AND ts < '2013-10-10 22:02'$$), ($$value > 5 OR ts < '2013-10-10 22:02'$$);
SET TimeZone = 'UTC';
SELECT id, same('minutes', condition) FROM conditions ORDER BY id;
SET TimeZone = 'America/New_York';
SELECT id, same('minutes', condition) FROM conditions ORDER BY id;
SET TimeZone = 'Asia/Kathmandu';
SELECT id, same('minutes', condition) FROM conditions ORDER BY id;
SET TimeZone = 'UTC';

-- A time column of type timestamp or date, in a zone of its own ------------

CREATE FOREIGN TABLE wall (
  ts timestamp,
  k  timestamptz OPTIONS (role 'key'),
  d  date OPTIONS (role 'key'),
  v  int OPTIONS (field 'v.{hour}')
) SERVER pushdown OPTIONS (bucket_time_zone 'America/New_York');
CALL put('wall', '[
  {"ts": {"$date": "2020-03-08T05:00:00Z"}, "k": {"$date": "2020-03-08T05:00:00.001Z"},
   "d": {"$date": "2020-03-08T05:00:00Z"}, "v": {"0": 0, "1": 1, "2": 3, "22": 23}},
  {"ts": {"$date": "2020-11-01T04:00:00Z"}, "k": {"$date": "2020-11-01T04:00:00Z"},
   "d": {"$date": "2020-11-01T04:00:00Z"}, "v": {"0": 0, "1": 1, "2": 1, "3": 2, "24": 23}},
  {"ts": {"$date": "2020-06-01T04:00:00Z"}, "k": {"$date": "2020-08-01T00:00:00.500Z"}, "v": {"12": 12}},
  {"ts": {"$date": "1969-12-31T05:00:00Z"}, "k": null, "v": {"19": 19}}]');
SELECT * FROM wall ORDER BY ts, v;
CREATE TABLE here.wall AS SELECT * FROM wall;
EXPLAIN (COSTS OFF) SELECT ts, v FROM wall WHERE ts >= '2020-03-08 02:00' AND ts < '2020-03-09';
EXPLAIN (COSTS OFF) SELECT ts, v FROM wall WHERE k > '2020-03-08 05:00Z' AND k < '2020-03-08 05:00:00.0015Z';
SELECT condition, same('wall', condition) FROM (VALUES
  ($$ts >= '2020-03-08 02:00' AND ts < '2020-03-09'$$), ($$ts = '2020-11-01 01:00'$$),
  ($$ts <> '2020-11-01 01:00'$$), ($$ts >= date '2020-11-01'$$), ($$ts::date = '2020-03-08'$$),
  ($$ts > timestamptz '2020-11-01 01:00Z'$$), ($$ts < '1970-01-01'$$), ($$ts < 'infinity'$$),
  ($$k = '2020-03-08 05:00:00.001Z'$$), ($$k <> '2020-03-08 05:00:00.001Z'$$),
  ($$k > '2020-03-08 05:00Z' AND k < '2020-03-08 05:00:00.0015Z'$$), ($$k IS NULL$$), ($$k IS NOT NULL$$),
  ($$k < 'infinity'$$), ($$k > '-infinity'$$), ($$k <> 'infinity'$$), ($$NOT k = '-infinity'$$),
  ($$k IN ('2020-03-08 05:00:00.001Z', NULL)$$),
  ($$k NOT IN ('2020-03-08 05:00:00.001Z', '2021-01-01')$$),
  ($$k IN (SELECT x FROM generate_series('2020-03-08 05:00:00Z'::timestamptz, '2020-11-02', '1 day') x)$$),
  ($$d = '2020-03-08'$$), ($$d <> '2020-03-08'$$), ($$d > '2020-03-08'$$), ($$d IS NULL$$),
  ($$d <= timestamp '2020-03-08 00:00'$$), ($$d < 'infinity'$$),
  ($$(k > '2020-04-01' OR d = '2020-03-08') AND ts > '2020-03-08 01:00'$$))
  AS _ (condition);
-- More values than the ranges of a query
SELECT same('wall', format('k = ANY (%L::timestamptz[])',
  (SELECT array_agg(x) FROM generate_series('2020-03-08 05:00Z'::timestamptz, '2020-11-02Z', '1 hour') x)));
SELECT same('wall', format('ts = ANY (%L::timestamp[])',
  (SELECT array_agg(x) FROM generate_series('2020-03-08 00:30'::timestamp, '2020-11-02', '30 minutes') x)));

-- A NULL time satisfies no condition ---------------------------------------

CREATE FOREIGN TABLE flat (
  id int OPTIONS (field '_id'),
  ts timestamptz
) SERVER pushdown;
CALL put('flat', '[{"_id": 1, "ts": {"$date": "2020-01-01T00:00:00Z"}},
  {"_id": 2}, {"_id": 3, "ts": null}]');
CREATE TABLE here.flat AS SELECT * FROM flat;
SELECT condition, same('flat', condition) FROM (VALUES
  ($$ts < 'infinity'$$), ($$ts >= '-infinity'$$), ($$ts <> 'infinity'$$), ($$ts <> '2020-01-01'$$),
  ($$ts IS NULL$$), ($$ts IS NOT NULL$$), ($$ts < '2020-01-02' OR ts >= '2020-01-02'$$),
  ($$ts < '2020-01-02' OR ts IS NULL$$), ($$ts <> ALL ('{}'::timestamptz[])$$))
  AS _ (condition);

-- Dates beyond the range of timestamps -------------------------------------

CREATE FOREIGN TABLE late (ts timestamptz) SERVER pushdown;
CALL put('late', '[{"ts": {"$date": {"$numberLong": "9224318015999000"}}}, {"ts": {"$date": "2020-01-01T00:00:00Z"}}]');
CREATE TABLE here.late AS SELECT * FROM late;
SELECT condition, same('late', condition) FROM (VALUES
  ($$ts::date + 200 = '294277-07-19'$$), ($$ts::date + 200 > '294277-07-18'$$), ($$ts::date + 200 > '294277-07-19'$$),
  ($$ts::date + 200 <= '294277-07-18'$$), ($$ts::date < '294277-01-01'$$), ($$ts = date '294277-01-01'$$),
  ($$ts < date '294277-01-01'$$), ($$ts <> date '294277-01-01'$$), ($$ts > date '294277-01-01'$$))
  AS _ (condition);

-- Parameters ---------------------------------------------------------------

PREPARE one(text, timestamptz, timestamptz) AS
  SELECT count(*), sum(value) FROM minutes WHERE type = $1 AND ts >= $2 AND ts < $3;
EXECUTE one('memory_used', '2013-10-10 22:30Z', '2013-10-10 23:30Z');
EXECUTE one('memory_used', '2013-10-10 22:30Z', '2013-10-10 22:31Z');
EXECUTE one('memory_free', '2013-10-10 22:30Z', '2013-10-10 22:32Z');
EXECUTE one('memory_free', '2013-10-10 22:30Z', NULL);
EXECUTE one('none', '2013-10-10 22:30Z', '2013-10-10 22:32Z');
EXECUTE one('memory_free', '2013-10-10 22:30Z', '2013-10-10 22:30:20Z');
EXECUTE one('memory_free', '2013-10-10 22:30Z', 'infinity');
SET plan_cache_mode = force_generic_plan;
EXECUTE one('memory_used', '2013-10-10 22:30Z', '2013-10-10 23:30Z');
EXPLAIN (COSTS OFF) EXECUTE one('memory_used', '2013-10-10 22:30Z', '2013-10-10 22:30:20Z');
SELECT * FROM reads($$EXECUTE one('memory_used', '2013-10-10 22:30Z', '2013-10-10 23:30Z')$$);
EXPLAIN (COSTS OFF) EXECUTE one(NULL, '2013-10-10 22:30Z', '2013-10-10 22:30:20Z');
-- a part that could fail is not evaluated before the others
SELECT count(*) = (SELECT count(*) FROM minutes) AS protected FROM minutes WHERE type IS NOT NULL OR 1 / (SELECT 0) > 0;
PREPARE protected(int) AS SELECT count(*) > 0 AS protected FROM minutes WHERE type IS NOT NULL OR 1 / $1 > 0;
EXECUTE protected(0);
PREPARE list(text[], timestamptz[]) AS
  SELECT count(*) FROM minutes WHERE type = ANY ($1) AND ts = ANY ($2);
EXPLAIN (COSTS OFF) EXECUTE list('{memory_used,NULL,x}', '{2013-10-10 22:30:10Z,NULL}');
EXECUTE list('{memory_used,NULL,x}', '{2013-10-10 22:30:10Z,NULL}');
EXECUTE list(NULL, '{2013-10-10 22:30:10Z,NULL}');
EXECUTE list('{}', '{}');
PREPARE local_day(date, text) AS SELECT count(*) FROM minutes WHERE ts < $1 AND type LIKE $2;
EXECUTE local_day('2013-10-11', 'memory%');
SET TimeZone = 'Asia/Kathmandu';
EXECUTE local_day('2013-10-11', 'memory%');
SET TimeZone = 'UTC';
-- parts that have no column
PREPARE any_or_one(text, timestamptz) AS
  SELECT count(*) FROM minutes WHERE ($1 IS NULL OR type = $1) AND NOT ($2 IS NOT NULL AND ts >= $2);
SELECT * FROM reads($$EXECUTE any_or_one('memory_used', '2013-10-10 22:30:20Z')$$);
SELECT * FROM reads($$EXECUTE any_or_one('memory_used', NULL)$$);
SELECT * FROM reads($$EXECUTE any_or_one(NULL, '2013-10-10 22:30:20Z')$$);
EXPLAIN (COSTS OFF) EXECUTE any_or_one('memory_used', '2013-10-10 22:30:20Z');
EXECUTE any_or_one('memory_used', '2013-10-10 22:30:20Z');
EXECUTE any_or_one('memory_used', NULL);
EXECUTE any_or_one(NULL, '2013-10-10 22:30:20Z');
EXECUTE any_or_one(NULL, NULL);
-- a condition that has no column
PREPARE none_or_all(text, int) AS SELECT type, count(*) FROM minutes WHERE NOT ($1 IS NULL AND $2 = 1 OR type > 'n') GROUP BY type;
EXPLAIN (COSTS OFF) EXECUTE none_or_all(NULL, 1);
EXECUTE none_or_all(NULL, 1);
EXECUTE none_or_all(NULL, 2);
SET plan_cache_mode = force_custom_plan;
EXECUTE any_or_one('memory_used', '2013-10-10 22:30:20Z');
EXECUTE any_or_one('memory_used', NULL);
EXECUTE any_or_one(NULL, '2013-10-10 22:30:20Z');
EXECUTE any_or_one(NULL, NULL);
EXECUTE one('memory_used', '2013-10-10 22:30Z', '2013-10-10 23:30Z');
RESET plan_cache_mode;
DEALLOCATE ALL;

-- Stable expressions are evaluated when the scan starts.
SELECT json_agg(json_build_object(
             'ts', json_build_object('$date', to_char(date_trunc('minute', now()) - m * interval '1 minute',
                                                      'YYYY-MM-DD"T"HH24:MI:SSZ')),
             'type', 'a', 'values', '{"0": 1}'::json)) AS documents
      FROM generate_series(0, 119) m
\gset
CALL put('now', :'documents');
CREATE FOREIGN TABLE now_ (
  ts    timestamptz,
  type  text,
  value float8 OPTIONS (field 'values.{second}')
) SERVER pushdown OPTIONS (collection 'now');
SELECT buckets BETWEEN 59 AND 61, points BETWEEN 59 AND 61 FROM reads($$SELECT * FROM now_
  WHERE ts > now() - interval '1 hour'$$);
SELECT buckets BETWEEN 59 AND 61 FROM reads($$SELECT * FROM now_
  WHERE ts BETWEEN current_timestamp - '90 minutes'::interval AND localtimestamp - interval '30 minutes'$$);
SELECT buckets = 0 FROM reads($$SELECT * FROM now_ WHERE ts > current_date + 3$$);
PREPARE recent(interval) AS SELECT count(*) FROM now_ WHERE ts > now() - $1;
SET plan_cache_mode = force_generic_plan;
SELECT buckets BETWEEN 59 AND 61 FROM reads($$EXECUTE recent('1 hour')$$);
RESET plan_cache_mode;
DEALLOCATE ALL;
-- The result of a subquery is a parameter.
SELECT explain($$SELECT * FROM minutes WHERE ts = (SELECT min(ts) FROM here.minutes)$$);
SELECT buckets FROM reads($$SELECT * FROM minutes WHERE ts = (SELECT min(ts) FROM here.minutes)$$);

-- Keys ---------------------------------------------------------------------

CREATE FOREIGN TABLE keys (
  id  int     OPTIONS (field '_id'),
  t   text,
  c   text    COLLATE "C",
  vc  varchar(10),
  b   bool,
  i   int,
  l   bigint,
  f   float8,
  n   numeric,
  o   text    OPTIONS (bson_type 'objectId'),
  u   uuid,
  m   int     OPTIONS (field 'meta.site'),
  dot int     OPTIONS (field 'x\.y')
) SERVER pushdown;
CALL put('keys', '[
  {"_id": 1, "t": "a", "c": "a", "vc": "a", "b": true, "i": 1, "l": {"$numberLong": "1"}, "f": 1.5, "n": {"$numberDecimal": "1.5"},
   "o": {"$oid": "52573e3d0000000000000001"}, "u": {"$binary": {"base64": "ABEiM0RVZneImaq7zN3ugA==", "subType": "04"}}, "meta": {"site": 1}, "x.y": 1, "x": {"y": 2}},
  {"_id": 2, "t": "B", "c": "B", "vc": "B", "b": false, "i": 2.0, "l": {"$numberLong": "9223372036854775807"}, "f": {"$numberDouble": "NaN"}, "n": {"$numberDouble": "NaN"},
   "o": {"$oid": "52573e3d0000000000000002"}, "u": {"$binary": {"base64": "ABEiM0RVZneImaq7zN3ufw==", "subType": "04"}}, "meta": {"site": 2}, "x": {"y": 1}},
  {"_id": 3, "t": null, "c": null, "vc": null, "b": null, "i": null, "l": null, "f": null, "n": null, "o": null, "meta": null},
  {"_id": 4},
  {"_id": 5, "t": "ab", "c": "ab", "vc": "ab", "b": true, "i": 3, "l": {"$numberLong": "-5"}, "f": {"$numberDouble": "Infinity"}, "n": 2.5, "meta": {}},
  {"_id": 6, "t": "ä", "c": "ä", "vc": "ä", "b": false, "i": -1, "l": {"$numberLong": "9007199254740993"}, "f": {"$numberDouble": "-Infinity"}, "n": {"$numberDecimal": "12345678901234567890.5"}},
  {"_id": 7, "t": "a_b%c", "c": "", "vc": "", "i": 0, "f": -0.0, "n": 0.1, "meta": {"site": 7}}]');
SELECT * FROM keys ORDER BY id;
CREATE TABLE here.keys AS SELECT * FROM keys;
TRUNCATE conditions;
INSERT INTO conditions (condition) VALUES
  ($$t = 'a'$$), ($$t <> 'a'$$), ($$NOT t = 'a'$$), ($$t < 'b'$$), ($$t >= 'a'$$), ($$t IS NULL$$), ($$t IS NOT NULL$$),
  ($$NOT t IS NULL$$), ($$t IN ('a', 'B', NULL)$$), ($$t NOT IN ('a', 'B')$$), ($$t NOT IN ('a', NULL)$$),
  ($$t = ANY ('{a,ab,NULL}')$$), ($$t <> ALL ('{a,ab}')$$), ($$NOT t = ANY ('{a,ab}')$$), ($$t = ANY ('{}')$$), ($$t <> ALL ('{}')$$),
  ($$t <> ANY ('{a,b}')$$), ($$t = ANY (NULL)$$),
  ($$t LIKE 'a%'$$), ($$t LIKE 'a'$$), ($$t NOT LIKE 'a%'$$), ($$t LIKE '%b'$$), ($$t LIKE 'a_'$$), ($$t LIKE 'a\_b\%%'$$),
  ($$t LIKE '%'$$), ($$t LIKE 'ä%'$$), ($$t LIKE ''$$), ($$t ILIKE 'a%'$$), ($$t ~ '^a'$$), ($$t ^@ 'a'$$),
  ($$c < 'a'$$), ($$c <= 'a'$$), ($$c > 'a'$$), ($$c >= 'a' AND c < 'b'$$), ($$c BETWEEN 'B' AND 'ab'$$), ($$c > ''$$), ($$c = ''$$), ($$NOT c < 'ab'$$),
  ($$t COLLATE "C" < 'b'$$), ($$t = 'a' COLLATE "C"$$), ($$c < 'b' COLLATE "default"$$), ($$vc = 'ab'$$), ($$vc LIKE 'a%'$$), ($$vc COLLATE "C" > 'a'$$),
  ($$b$$), ($$NOT b$$), ($$b = true$$), ($$b <> true$$), ($$b IS TRUE$$), ($$b IS NOT TRUE$$), ($$b IS FALSE$$), ($$b IS UNKNOWN$$), ($$b IN (true, false)$$), ($$b > false$$),
  ($$i = 1$$), ($$i <> 1$$), ($$i < 2$$), ($$i >= 2$$), ($$i IN (1, 3, NULL)$$), ($$i NOT IN (1, 3)$$), ($$i = 2::bigint$$), ($$i = 2.0$$), ($$i > 1.5$$), ($$i > 1.5::float8$$),
  ($$i < 3000000000$$), ($$i = ANY ('{1,2}'::bigint[])$$), ($$i + 1 = 2$$), ($$i BETWEEN 0 AND 1$$), ($$i BETWEEN SYMMETRIC 2 AND 1$$), ($$i IS DISTINCT FROM 1$$), ($$-1 = i$$),
  ($$l = 9223372036854775807$$), ($$l = 9007199254740993$$), ($$l > 9007199254740992$$), ($$l < 0$$), ($$l = 1::smallint$$), ($$l = 9007199254740992::float8$$),
  ($$f = 1.5$$), ($$f <> 1.5$$), ($$f > 1.5$$), ($$f >= 1.5$$), ($$f < 1.5$$), ($$f <= 1.5$$), ($$f = 'NaN'$$), ($$f <> 'NaN'$$), ($$f < 'NaN'$$), ($$f <= 'NaN'$$),
  ($$f > 'NaN'$$), ($$f >= 'NaN'$$), ($$f = 'Infinity'$$), ($$f > 'Infinity'$$), ($$f < 'Infinity'$$), ($$f >= '-Infinity'$$), ($$f > '-Infinity'$$), ($$f <= '-Infinity'$$),
  ($$f IN ('NaN', 1.5)$$), ($$f NOT IN ('NaN', 1.5)$$), ($$f = 0$$), ($$f = -0.0$$), ($$f = 1.5::float4$$), ($$NOT f > 1$$), ($$f BETWEEN 0 AND 'NaN'$$),
  ($$n = 1.5$$), ($$n <> 1.5$$), ($$n > 1$$), ($$n < 2$$), ($$n >= 3$$), ($$n = 'NaN'$$), ($$n > 'Infinity'$$), ($$n < 'NaN'$$), ($$n > 12345678901234567890$$), ($$n = 0.1$$), ($$n IN (1.5, 2.5)$$), ($$n IN (1, 2)$$), ($$NOT n > 1$$), ($$n >= 1$$),
  ($$o = '52573e3d0000000000000001'$$), ($$o <> '52573e3d0000000000000001'$$), ($$o = 'nonsense'$$), ($$o <> 'nonsense'$$), ($$o = '52573E3D0000000000000001'$$), ($$o IS NULL$$), ($$o IN ('52573e3d0000000000000002', 'x')$$), ($$o COLLATE "en-x-icu" < '52573e3d0000000000000002'$$), ($$o COLLATE "C" < '52573e3d0000000000000002'$$), ($$o COLLATE "C" >= '52573E'$$), ($$o COLLATE "C" BETWEEN '5' AND '6'$$),
  ($$u = '00112233-4455-6677-8899-aabbccddee80'$$), ($$u <> '00112233-4455-6677-8899-aabbccddee80'$$), ($$u < '00112233-4455-6677-8899-aabbccddee80'$$), ($$u IS NULL$$), ($$u IS NOT NULL$$), ($$u IN ('00112233-4455-6677-8899-aabbccddee7f', NULL)$$), ($$u NOT IN ('00112233-4455-6677-8899-aabbccddee7f')$$), ($$u::text > '0'$$),
  ($$m = 1$$), ($$m IS NULL$$), ($$m IS NOT NULL$$), ($$m <> 1$$), ($$dot = 1$$), ($$dot IS NULL$$), ($$dot = 2$$),
  ($$id = 4$$), ($$id > 4$$), ($$t = c$$), ($$i = m$$), ($$t || 'x' = 'ax'$$), ($$length(t) = 1$$), ($$t = 'a' OR b$$), ($$(t = 'a' AND i = 1) OR (t = 'B' AND i = 2)$$),
  ($$(t = 'a') IS TRUE$$), ($$(t = 'a') IS FALSE$$), ($$(t = 'a') IS NOT TRUE$$), ($$(t = 'a' OR i = 2) IS FALSE$$), ($$NOT (t = 'a' OR i = 2)$$), ($$NOT (t = 'a' AND i = 1)$$),
  ($$coalesce(t, 'a') = 'a'$$), ($$CASE WHEN b THEN i ELSE 0 END = 1$$), ($$t = 'a' AND t = 'B'$$), ($$i > 0 AND i > 1 AND i <> 2$$), ($$t = 'a' AND i IS NULL$$), ($$t.* IS NOT NULL$$);
SELECT condition, same('keys', condition) FROM conditions ORDER BY id;
-- The query of each condition
SELECT condition, plan FROM conditions, explain('SELECT * FROM keys t WHERE ' || condition) WITH ORDINALITY AS _ (plan, line)
 ORDER BY id, line;

-- The table's own filter ---------------------------------------------------

CREATE FOREIGN TABLE filtered (
  id int OPTIONS (field '_id'),
  i  int
) SERVER pushdown OPTIONS (collection 'keys', filter '{"b": true, "i": {"$gte": 2}}');
EXPLAIN (COSTS OFF) SELECT id FROM filtered;
EXPLAIN (COSTS OFF) SELECT id FROM filtered WHERE i < 5;
EXPLAIN (COSTS OFF) SELECT id FROM filtered WHERE i >= 1;
EXPLAIN (COSTS OFF) SELECT id FROM filtered WHERE i = 3;
SELECT * FROM filtered ORDER BY id;
SELECT * FROM filtered WHERE i >= 1 ORDER BY id;
SELECT * FROM filtered WHERE i = 1 ORDER BY id;
CREATE FOREIGN TABLE filtered_or (
  id int OPTIONS (field '_id'),
  i  int
) SERVER pushdown OPTIONS (collection 'keys', filter '{"$or": [{"i": 1}, {"i": 2}]}');
EXPLAIN (COSTS OFF) SELECT id FROM filtered_or WHERE i = 2 OR i > 3;
SELECT id FROM filtered_or WHERE i = 2 OR i > 3;

-- A narrow range in a wide bucket ------------------------------------------

CREATE FOREIGN TABLE hours (
  ts    timestamptz,
  type  text,
  value int OPTIONS (field 'values.{minute}.{second}')
) SERVER pushdown;
SELECT json_agg(json_build_object(
             'ts', json_build_object('$date', to_char(t, 'YYYY-MM-DD"T"HH24:MI:SSZ')),
             'type', 'a', 'values', (
               SELECT json_object_agg(m, (SELECT json_object_agg(s, m * 60 + s) FROM generate_series(0, 59) s))
                 FROM generate_series(0, 59) m))) AS documents
      FROM generate_series('2013-10-10 20:00'::timestamp, '2013-10-10 23:00', '1 hour') t
\gset
CALL put('hours', :'documents');
EXPLAIN (COSTS OFF) SELECT ts, value FROM hours WHERE ts >= '2013-10-10 22:10Z' AND ts < '2013-10-10 22:15Z';
CREATE FUNCTION bytes(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  plan json;
BEGIN
  EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
  RETURN jsonb_path_query_first(plan::jsonb, 'strict $.**."Bytes Received" ? (@.type() == "number")');
END $$;
SELECT count(*), min(value), max(value) FROM hours WHERE ts >= '2013-10-10 22:10Z' AND ts < '2013-10-10 22:15Z';
SELECT * FROM reads($$SELECT ts, value FROM hours WHERE ts >= '2013-10-10 22:10Z' AND ts < '2013-10-10 22:15Z'$$);
-- An hour is about 28,000 bytes.
SELECT bytes($$SELECT ts, value FROM hours WHERE ts >= '2013-10-10 22:00Z' AND ts < '2013-10-10 23:00Z'$$) BETWEEN 25000 AND 35000;
SELECT bytes($$SELECT ts, value FROM hours WHERE ts >= '2013-10-10 22:10Z' AND ts < '2013-10-10 22:15Z'$$) BETWEEN 1000 AND 4000;
SELECT bytes($$SELECT ts, value FROM hours WHERE ts >= '2013-10-10 22:10:30Z' AND ts < '2013-10-10 22:10:35Z'$$) < 200;
EXPLAIN (COSTS OFF) SELECT ts, value FROM hours WHERE ts = '2013-10-10 22:10:07Z';
-- Across the border of two buckets
EXPLAIN (COSTS OFF) SELECT ts, value FROM hours WHERE ts >= '2013-10-10 21:59:58Z' AND ts < '2013-10-10 22:00:01Z';
SELECT * FROM hours WHERE ts >= '2013-10-10 21:59:58Z' AND ts < '2013-10-10 22:00:01Z' ORDER BY ts;
CREATE TABLE here.hours AS SELECT * FROM hours;
SELECT condition, same('hours', condition) FROM (VALUES
  ($$ts >= '2013-10-10 21:58:58Z' AND ts < '2013-10-10 22:01:01Z'$$), ($$ts > '2013-10-10 21:30Z' AND ts < '2013-10-10 23:01:01Z'$$),
  ($$ts IN ('2013-10-10 21:58:58Z', '2013-10-10 22:01:01Z')$$), ($$ts BETWEEN '2013-10-10 23:59Z' AND '2013-10-11'$$),
  ($$ts < '2013-10-10 20:00:03Z'$$), ($$ts >= '2013-10-10 23:59:57Z'$$)) AS _ (condition);

-- Buckets that are not aligned to their span give the same rows.
CREATE FOREIGN TABLE unaligned (
  ts    timestamptz,
  value int OPTIONS (field 'values.{minute}.{second}')
) SERVER pushdown;
CALL put('unaligned', '[
  {"_id": 1, "ts": {"$date": "2013-10-10T22:07:30Z"}, "values": {"0": {"0": 1, "59": 2}, "1": {"0": 3}, "52": {"29": 4, "30": 5}, "59": {"59": 6}}},
  {"_id": 2, "ts": {"$date": "2013-10-10T23:00:00Z"}, "values": {"0": {"0": 10}, "8": {"29": 11}}}]');
SELECT * FROM unaligned ORDER BY ts, value DESC;
CREATE TABLE here.unaligned AS SELECT * FROM unaligned;
SELECT condition, same('unaligned', condition) FROM (VALUES
  ($$ts = '2013-10-10 22:08:29Z'$$), ($$ts >= '2013-10-10 22:08Z' AND ts < '2013-10-10 22:09Z'$$),
  ($$ts >= '2013-10-10 22:59:59Z' AND ts <= '2013-10-10 23:00:00Z'$$), ($$ts = '2013-10-10 23:07:29Z'$$),
  ($$ts BETWEEN '2013-10-10 23:07:29Z' AND '2013-10-10 23:08:29Z'$$)) AS _ (condition);

-- Text keys that don't sort as time are enumerated -------------------------

CREATE FOREIGN TABLE texts (
  ts timestamptz OPTIONS (format 'text:DD.MM.YYYY'),
  v  int OPTIONS (field 'v.{hour}')
) SERVER pushdown;
CALL put('texts', '[{"ts": "31.12.2019", "v": {"23": 1}}, {"ts": "01.01.2020", "v": {"0": 2}}, {"ts": "02.01.2020", "v": {"0": 3}}]');
EXPLAIN (COSTS OFF) SELECT * FROM texts WHERE ts BETWEEN '2019-12-31 12:00Z' AND '2020-01-01 12:00Z';
SELECT * FROM texts WHERE ts BETWEEN '2019-12-31 12:00Z' AND '2020-01-01 12:00Z' ORDER BY ts;
SELECT * FROM texts WHERE ts > '2020-01-01 12:00Z' ORDER BY ts;

-- A cached plan follows changes of its table's and server's options.
SET plan_cache_mode = force_generic_plan;
PREPARE kept AS SELECT v FROM texts WHERE ts > '2020-01-01 12:00Z';
EXECUTE kept;
ALTER FOREIGN TABLE texts OPTIONS (ADD filter '{"ts": "01.01.2020"}');
EXECUTE kept;
ALTER FOREIGN TABLE texts OPTIONS (DROP filter);
ALTER FOREIGN TABLE texts ALTER v OPTIONS (ADD missing_value '3');
EXECUTE kept;
ALTER FOREIGN TABLE texts ALTER v OPTIONS (DROP missing_value);
ALTER SERVER pushdown OPTIONS (SET database 'mts_regress_none');
EXECUTE kept;
ALTER SERVER pushdown OPTIONS (SET database 'mts_regress_pushdown');
EXECUTE kept;
RESET plan_cache_mode;

-- The keys of {column} slots ------------------------------------------------

CREATE FOREIGN TABLE counters (
  ts      timestamptz,
  counter int,
  n       int OPTIONS (field 'a.counters.{counter}')
) SERVER pushdown;
CREATE FOREIGN TABLE symbols (
  ts     timestamptz,
  symbol text,
  price  int OPTIONS (field 'p.{minute}.{symbol}')
) SERVER pushdown OPTIONS (bucket_span '1 hour');
CALL put('counters', '[
  {"_id": 1, "ts": {"$date": "2020-01-01T00:00:00Z"}, "a": {"counters": {"500": 1, "-1": 2}}},
  {"_id": 2, "ts": {"$date": "2020-01-01T00:00:07Z"}, "a": {"counters": {"500": null, "2147483647": 3}}},
  {"_id": 3, "ts": {"$date": "2020-01-01T00:00:08Z"}, "a": {"counters": {}}},
  {"_id": 4, "ts": {"$date": "2020-01-01T00:00:09Z"}, "a": {"counters": null}},
  {"_id": 5, "ts": {"$date": "2020-01-01T00:00:10Z"}, "a": null},
  {"_id": 6, "ts": {"$date": "2020-01-01T00:00:11Z"}}]');
CALL put('symbols', '[
  {"_id": 1, "ts": {"$date": "2020-01-01T00:00:00Z"}, "p": {"0": {"A": 1, "B": 2}, "7": {"A": 3, "a.b": 4}, "59": {"B": 5, "": 6}}},
  {"_id": 2, "ts": {"$date": "2020-01-01T00:30:00Z"}, "p": {"0": {"A": 7}, "59": {"B": 8, "é": 9}}},
  {"_id": 3, "ts": {"$date": "2020-01-01T02:00:00Z"}, "p": {}},
  {"_id": 4, "ts": {"$date": "2020-01-01T03:00:00Z"}}]');
CREATE TABLE here.counters AS SELECT * FROM counters;
CREATE TABLE here.symbols AS SELECT * FROM symbols;
SELECT condition, same('counters', condition), explain('SELECT * FROM counters WHERE ' || condition) FROM (VALUES
  ('counter = 500'), ('500::int8 = counter'), ('counter = 5000000000'), ('counter IN (-1, 2147483647, NULL)'),
  ('counter = ANY (ARRAY(SELECT i FROM generate_series(480, 500) i))'), ('counter = 500 OR n = 2'),
  ('counter = NULL::int'), ('counter <> 500'), ('counter > 400'),
  ('NOT counter = 500'), ('counter = 500::numeric'), ('counter = 500 AND counter = -1')) AS _ (condition);
SELECT condition, same('symbols', condition), left(explain('SELECT * FROM symbols WHERE ' || condition), 210) FROM (VALUES
  ($$symbol = 'A'$$), ($$symbol = 'A' AND ts = '2020-01-01 00:07Z'$$),
  ($$symbol IN ('A', 'B') AND ts >= '2020-01-01 01:28Z' AND ts < '2020-01-01 01:30Z'$$),
  ($$symbol = 'a.b'$$), ($$symbol = ''$$), ($$symbol = '$'$$), ($$symbol = 'é' COLLATE "C"$$),
  ($$symbol = 'A'::char(3)$$), ($$symbol LIKE 'A'$$), ($$symbol < 'B'$$)) AS _ (condition);
-- There are too many paths to look for.
SELECT left(explain($$SELECT * FROM symbols WHERE symbol IN ('A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I', 'J')$$), 130);
-- A parameter of a generic plan, and of a nested loop
SET plan_cache_mode = force_generic_plan;
PREPARE counter_of(int[]) AS SELECT ts, counter, n FROM counters WHERE counter = ANY ($1) ORDER BY 1, 2;
EXECUTE counter_of('{500,-1}');
EXECUTE counter_of('{}');
EXECUTE counter_of(NULL);
RESET plan_cache_mode;
SELECT i, n FROM generate_series(499, 500) i, LATERAL (SELECT n FROM counters WHERE counter = i AND ts < '2021-01-01' OFFSET 0) _;
-- A document without the subdocument is not read again.
SELECT * FROM reads($$SELECT * FROM symbols WHERE symbol = 'A'$$);
-- Few series below other slots are all sent.
ANALYZE symbols;
SELECT explain($$SELECT * FROM symbols WHERE symbol = 'A'$$);
-- The first rows of series that are keys: all buckets are read, in any order.
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (symbol) * FROM symbols ORDER BY symbol, ts DESC;
SELECT DISTINCT ON (symbol) * FROM symbols ORDER BY symbol, ts DESC;
SELECT DISTINCT ON (symbol) * FROM symbols ORDER BY symbol, ts;
SELECT DISTINCT symbol FROM symbols ORDER BY 1;
SELECT DISTINCT ON (counter) * FROM counters WHERE ts > '2020-01-01 00:00:01Z' ORDER BY counter, ts DESC;
-- Conditions are checked before a row is kept, unless they are volatile.
SELECT DISTINCT ON (symbol) * FROM symbols WHERE price < 8 ORDER BY symbol, ts DESC;
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (counter) * FROM counters WHERE counter IN (500, -1) ORDER BY counter, ts DESC;
SELECT DISTINCT ON (counter) * FROM counters WHERE counter IN (500, -1) ORDER BY counter, ts DESC;
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (symbol) * FROM symbols WHERE price > random() ORDER BY symbol, ts DESC;
-- There must not be another order after the time.
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (symbol) * FROM symbols ORDER BY symbol, ts DESC, price;
-- More series than fit into memory, which are returned several times
CREATE FOREIGN TABLE many (ts timestamptz, symbol int, price int OPTIONS (field 'p.{symbol}')) SERVER pushdown;
SELECT mongo_ts_command('pushdown', json_build_object('insert', 'many', 'documents', json_agg(json_build_object(
    'ts', json_build_object('$date', format('2020-01-0%sT00:00:0%sZ', 1 + i % 3, i)),
    'p', (SELECT json_object_agg(n, n * 4 + i) FROM generate_series(i * 100, 3000) n)))))
  FROM generate_series(0, 3) i;
SET work_mem = 64;
SET hash_mem_multiplier = 1;
SET enable_hashagg = off;
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (symbol) * FROM many ORDER BY symbol, ts DESC;
SELECT count(*), count(DISTINCT symbol), count(*) FILTER (WHERE extract(second FROM ts) = 2), sum(price % 4) FROM
  (SELECT DISTINCT ON (symbol) * FROM many ORDER BY symbol, ts DESC) _;
RESET work_mem;
RESET hash_mem_multiplier;
RESET enable_hashagg;
-- Documents without the subdocument are no rows; others are invalid as before.
SELECT plan('SELECT * FROM counters WHERE counter = -1', ', ANALYZE');
CREATE PROCEDURE put_invalid(a json) LANGUAGE sql AS $$
  SELECT mongo_ts_command('pushdown', json_build_object('update', 'counters', 'updates', json_build_array(json_build_object(
    'q', '{"_id": 7}'::json, 'u', json_build_object('_id', 7, 'ts', '{"$date": "2020-01-02T00:00:00Z"}'::json, 'a', a), 'upsert', true))));
$$;
CALL put_invalid('{"counters": [{"500": 1}]}');
SELECT * FROM counters WHERE counter = 500;
CALL put_invalid('{"counters": "none"}');
SELECT * FROM counters WHERE counter = 500;
CALL put_invalid('[{"counters": {"-1": 1}}]');
SELECT * FROM counters WHERE counter = 500;
ALTER FOREIGN TABLE counters OPTIONS (on_invalid 'skip');
SELECT * FROM counters WHERE counter = 500;

-- Names that the shell requires quoted -------------------------------------

CREATE FOREIGN TABLE odd (ts timestamptz, "a b" int, "ä" int, "1st" int, "$d" int) SERVER pushdown OPTIONS (collection 'metrics.cpu-1');
CALL put('metrics.cpu-1', '[{"_id": 1, "ts": {"$date": "2020-01-01T00:00:00Z"}, "a b": 1, "ä": 2, "1st": 3}]');
EXPLAIN (COSTS OFF) SELECT * FROM odd WHERE "a b" = 1 AND "ä" = 2 AND "1st" = 3;
SELECT * FROM odd WHERE "a b" = 1 AND "ä" = 2 AND "1st" = 3;
EXPLAIN (COSTS OFF) SELECT "$d" FROM odd WHERE "$d" = 1;
SELECT explain($$SELECT ts FROM odd WHERE ts = (SELECT now())$$);
CREATE FOREIGN TABLE quoted (ts timestamptz, q text) SERVER pushdown OPTIONS (collection 'a"b\c');
EXPLAIN (COSTS OFF) SELECT ts FROM quoted WHERE q = E'a"b\\c\n';
SELECT * FROM quoted WHERE q = E'a"b\\c\n';

-- A list that no command can hold is refused before it is sent.
SELECT count(*) FROM quoted WHERE q = ANY (ARRAY(SELECT repeat('x', 1000) FROM generate_series(1, 16000)));
SELECT count(*) FROM quoted WHERE q = ANY (ARRAY(SELECT repeat('x', 1000) FROM generate_series(1, 17000)));

-- Only the fields that a query requires are projected.
EXPLAIN (COSTS OFF) SELECT 1 FROM minutes;
EXPLAIN (COSTS OFF) SELECT type FROM minutes;
EXPLAIN (COSTS OFF) SELECT m FROM keys;
EXPLAIN (COSTS OFF) SELECT 1 FROM keys;
EXPLAIN (COSTS OFF) SELECT 1 FROM keys WHERE i > 1 AND length(t) > 1;

SELECT mongo_ts_command('pushdown', '{"dropDatabase": 1}')->'ok';
