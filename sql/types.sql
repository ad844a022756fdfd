--
-- Tests the BSON type written for each SQL type, the totals of each numeric
-- type, databases in another encoding, and a uri without acknowledged writes.
--
\set suite types
\i sql/include/suite.sql

\pset format unaligned
\pset tuples_only on

-- Documents as canonical extended JSON would show them: field and type
CREATE FUNCTION stored(collection text) RETURNS TABLE (field text, type text, value jsonb)
LANGUAGE sql AS $$
  SELECT key, mongo_ts_command(current_schema(), json_build_object(
           'aggregate', collection, 'cursor', '{}'::json, 'pipeline', json_build_array(
             json_build_object('$project', json_build_object('t', json_build_object('$type', '$' || key))))
         )) #>> '{cursor,firstBatch,0,t}', value
    FROM jsonb_each(mongo_ts_command(current_schema(),
           json_build_object('find', collection)) #> '{cursor,firstBatch,0}')
   WHERE key <> '_id' ORDER BY key
$$;

CREATE FOREIGN TABLE every (
  ts      timestamptz,
  b       bool,
  i2      int2,
  i4      int4,
  i8      int8,
  f4      float4,
  f8      float8,
  n       numeric,
  t       text,
  v       varchar(10),
  c       char(3),
  d       date,
  tsz     timestamptz OPTIONS (role 'attribute'),
  u       uuid,
  bin     bytea,
  j       json,
  jb      jsonb,
  iv      interval,
  i4_long int4  OPTIONS (bson_type 'long'),
  i4_dec  int4  OPTIONS (bson_type 'decimal'),
  i8_dbl  int8  OPTIONS (bson_type 'double'),
  b_int   bool  OPTIONS (bson_type 'int'),
  i4_bool int4  OPTIONS (bson_type 'bool'),
  i4_str  int4  OPTIONS (bson_type 'string'),
  n_str   numeric OPTIONS (bson_type 'string'),
  t_oid   text  OPTIONS (bson_type 'objectId'),
  bin_oid bytea OPTIONS (bson_type 'objectId')
) SERVER types;
ALTER FOREIGN TABLE every ALTER ts OPTIONS (ADD role 'time');

INSERT INTO every VALUES ('2020-01-01 00:00:00.123Z', true, -32768, 2147483647,
  -9223372036854775808, 0.1, 1e300, 12345678901234567890.123456789, 'a "b" \ é', 'ten chars.', 'x',
  '1969-12-31', '1950-06-07 08:09:10.111Z', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '\x0001ff',
  '{"a": [1, 2.5, null]}', '{"$date": "2020-01-01T00:00:00Z"}', '1 day 02:03:04.5',
  7, 7, 7, true, 1, 7, 1.50, '5f5e100100000000000000ff', '\x5f5e100100000000000000fe');
SELECT * FROM stored('every');
\pset format aligned
\pset expanded on
TABLE every;
\pset expanded off
\pset format unaligned

-- A value outside of its type's range is refused.
SELECT try($$INSERT INTO every (ts, bin_oid) VALUES ('2020-01-02Z', '\x00')$$);
SELECT try($$INSERT INTO every (ts, t_oid) VALUES ('2020-01-02Z', '5f5e')$$);
SELECT try($$INSERT INTO every (ts, i8_dbl) VALUES ('2020-01-02Z', 9007199254740993)$$);
SELECT try($$INSERT INTO every (ts, i4_bool) VALUES ('2020-01-02Z', 2)$$);
SELECT try($$INSERT INTO every (ts, n) VALUES ('2020-01-02Z', 1234567890123456789012345678901234567890)$$);
SELECT count(*) FROM every;

-- Totals of numbers of any type are exact, in a sufficient type.
CREATE FOREIGN TABLE totals_int (ts timestamptz, v int4
  OPTIONS (field 'v.{second}', sum_field 'sum', min_field 'min', max_field 'max'))
  SERVER types OPTIONS (count_field 'n', assume_write_once 'true');
CREATE FOREIGN TABLE totals_long (ts timestamptz, v int8
  OPTIONS (field 'v.{second}', sum_field 'sum', min_field 'min', max_field 'max'))
  SERVER types OPTIONS (count_field 'n', assume_write_once 'true');
CREATE FOREIGN TABLE totals_decimal (ts timestamptz, v numeric
  OPTIONS (field 'v.{second}', sum_field 'sum', min_field 'min', max_field 'max'))
  SERVER types OPTIONS (count_field 'n', assume_write_once 'true');
INSERT INTO totals_int VALUES ('2020-01-01Z', 2147483647), ('2020-01-01 00:00:01Z', 2147483647),
  ('2020-01-01 00:00:02Z', -5);
INSERT INTO totals_long VALUES ('2020-01-01Z', 9223372036854775807),
  ('2020-01-01 00:00:01Z', 9223372036854775807), ('2020-01-01 00:00:02Z', -9);
INSERT INTO totals_decimal VALUES ('2020-01-01Z', 0.1), ('2020-01-01 00:00:01Z', 0.2),
  ('2020-01-01 00:00:02Z', '-1e-30');
SELECT * FROM stored('totals_int');
SELECT * FROM stored('totals_long');
SELECT * FROM stored('totals_decimal');
SELECT sum(v), min(v), max(v), count(v) FROM totals_int;
SELECT sum(v), min(v), max(v), count(v) FROM totals_long;
SELECT sum(v), min(v), max(v), count(v) FROM totals_decimal;
-- So is a sum whose absolute value is no int8.
INSERT INTO totals_long VALUES ('2020-01-02Z', -9223372036854775806), ('2020-01-02 00:00:01Z', -1),
  ('2020-01-03Z', -9223372036854775807);
UPDATE totals_long SET v = v - 1 WHERE v < -9;
SELECT sum(v), min(v), max(v), count(v) FROM totals_long WHERE ts >= '2020-01-02Z' GROUP BY ts::date ORDER BY 2;
-- Without a minimum and maximum, PostgreSQL computes the sum, not a pipeline.
CREATE FOREIGN TABLE sum_decimal (ts timestamptz, v numeric OPTIONS (field 'v.{second}', sum_field 'sum'))
  SERVER types OPTIONS (assume_write_once 'true');
INSERT INTO sum_decimal VALUES ('2020-01-01Z', 0.1), ('2020-01-01 00:00:01Z', -1e-30);
SELECT * FROM stored('sum_decimal');
SELECT try($$INSERT INTO sum_decimal VALUES ('2020-01-02Z', 9e6144), ('2020-01-02 00:00:01Z', 9e6144)$$);
SELECT try($$INSERT INTO sum_decimal
  VALUES ('2020-01-02Z', 9999999999999999999999999999999999), ('2020-01-02 00:00:01Z', 0.1)$$);
SELECT count(*) FROM sum_decimal;

-- With an unacknowledged write concern, failed writes would be lost silently.
SELECT CASE WHEN :'uri' ~ '\?' THEN :'uri' || '&' ELSE rtrim(:'uri', '/') || '/?' END || 'w=0' AS unacknowledged \gset
CREATE SERVER unacknowledged FOREIGN DATA WRAPPER mongo_ts_fdw
  OPTIONS (uri :'unacknowledged', database :'database');
CREATE USER MAPPING FOR PUBLIC SERVER unacknowledged;
CREATE FOREIGN TABLE acknowledged (ts timestamptz, v float8) SERVER unacknowledged OPTIONS (collection 'unique');
SELECT mongo_ts_command('types', '{"createIndexes": "unique", "indexes": [
  {"key": {"v": 1}, "name": "v", "unique": true}]}') ->> 'ok' AS ok;
INSERT INTO acknowledged VALUES ('2020-01-01Z', 1);
SELECT split_part(try($$INSERT INTO acknowledged VALUES ('2020-01-01 00:00:01Z', 1)$$), ':', 1);
SELECT count(*) FROM acknowledged;

-- Stored text does not depend on the session's styles, which stay unchanged.
CREATE FOREIGN TABLE styled (ts timestamptz, k interval, d date OPTIONS (field 'v.{second}.d', bson_type 'string'),
  i interval OPTIONS (field 'v.{second}.i'), r numrange OPTIONS (field 'v.{second}.r'), f float8[] OPTIONS (field 'v.{second}.f'))
  SERVER types;
SET DateStyle = 'German, DMY';
SET IntervalStyle = 'sql_standard';
SET extra_float_digits = 0;
INSERT INTO styled VALUES ('2020-01-01Z', '-1 day 2 hours', '2020-02-01', '1 day -2 hours', '[1,2)', '{0.1, 0.30000000000000004}');
SELECT split_part(try($$INSERT INTO styled VALUES ('2020-01-01Z', '1 day', 'infinity', NULL, NULL, NULL), ('infinity', '1 day', NULL, NULL, NULL, NULL)$$), ':', 1);
SELECT current_setting('DateStyle'), current_setting('IntervalStyle'), current_setting('extra_float_digits');
SELECT * FROM styled;
RESET extra_float_digits;
SET IntervalStyle = 'postgres';
SET DateStyle = 'ISO, YMD';
SELECT mongo_ts_command('types', '{"find": "styled", "projection": {"_id": 0, "ts": 0}}') #> '{cursor,firstBatch,0}';
SELECT * FROM styled;

-- MongoDB's messages and the names of buckets are not truncated inside a
-- character.
CREATE FOREIGN TABLE named (ts timestamptz, k text, v float8 OPTIONS (field 'v.{second}')) SERVER types;
SELECT mongo_ts_command('types', format('{"insert": "named", "documents": [
  {"ts": {"$date": "2020-01-01T00:00:00Z"}, "k": "%1$s", "v": 5}, {"ts": {"$date": "2020-01-01T00:00:00Z"}, "k": "x%1$s", "v": 5}]}',
  repeat('é', 150))::json) ->> 'ok';
CREATE FUNCTION said(statement text) RETURNS text LANGUAGE sql AS $$
  SELECT convert_from(convert_to(try(statement), 'UTF8'), 'UTF8');
$$;
SELECT said(format('INSERT INTO named VALUES (''2020-01-01Z'', %L, 1)', left('xy', n) || repeat('é', 150))) ~ 'é\.{4}$' AS is_named,
    said(format($$SELECT mongo_ts_command('types', '{"%s": 1}')$$, left('xy', n) || repeat('é', 300))) ~ 'éé' AS is_said
  FROM generate_series(0, 1) n;

-- A database in another encoding than UTF8 reads and writes the text that its
-- encoding can represent.
CREATE DATABASE mts_latin1 ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0;
CREATE FOREIGN TABLE texts (ts timestamptz, k text, v text OPTIONS (field 'v.{second}')) SERVER types;
INSERT INTO texts VALUES ('2020-01-01Z', 'é', 'ünï'), ('2020-01-01Z', 'a', '€');
\c mts_latin1
SET client_encoding = 'UTF8';
SET TimeZone = 'UTC';
SET client_min_messages = warning;
CREATE EXTENSION mongo_ts_fdw;
RESET client_min_messages;
CREATE SERVER types FOREIGN DATA WRAPPER mongo_ts_fdw OPTIONS (uri :'uri', database :'database');
CREATE USER MAPPING FOR PUBLIC SERVER types;
CREATE FOREIGN TABLE texts (ts timestamptz, k text, v text OPTIONS (field 'v.{second}')) SERVER types;
SELECT * FROM texts WHERE k = 'é';
DO $$
DECLARE
  detail text;
BEGIN
  PERFORM mongo_ts_command('types', '{"é\u20ac": 1}');
EXCEPTION WHEN others THEN
  GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
  RAISE NOTICE '%', substring(detail FROM '''.*''');
END $$;
\set VERBOSITY sqlstate
SELECT * FROM texts WHERE k = 'a';
\set VERBOSITY default
SELECT mongo_ts_command('types', '{"distinct": "texts", "key": "k"}') -> 'values';
EXPLAIN (COSTS OFF) SELECT v FROM texts WHERE k = 'é';
SELECT mongo_ts_command('types', '{"find": "texts", "filter": {"k": "é"}, "projection": {"_id": 0, "ts": 0}}')
  #> '{cursor,firstBatch}';
SELECT count(*) FROM texts;
ALTER FOREIGN TABLE texts OPTIONS (on_invalid 'skip');
SELECT k, v FROM texts WHERE k IN ('a', 'é') ORDER BY k COLLATE "C";
INSERT INTO texts VALUES ('2020-01-01 00:00:01Z', 'é', 'ÿ');
SELECT v FROM texts WHERE k LIKE 'é%';
\c contrib_regression
DROP DATABASE mts_latin1;
SET search_path = types, public;
SELECT k, v FROM texts ORDER BY k COLLATE "C", ts;
