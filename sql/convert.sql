--
-- Tests the conversion of every BSON type to every SQL type: exact, or an
-- error.
--
\set suite convert
\i sql/include/suite.sql

\pset format unaligned
\pset tuples_only on
\pset null '(null)'

-- Each value is in a point, and also in a field of its bucket.
SELECT json_agg(json_build_object('name', d->'_id',
         'ts', '{"$date": "2020-01-01T00:00:00Z"}'::json,
         'v', CASE WHEN d->'v' IS NULL THEN '{}' ELSE json_build_object('0', d->'v') END,
         'k', coalesce(d->'v', 'null'))) AS documents
  FROM json_array_elements('[
  {"_id": "int32", "v": 5},
  {"_id": "int32 max", "v": 2147483647},
  {"_id": "int32 70000", "v": 70000},
  {"_id": "int32 0", "v": 0},
  {"_id": "int32 1", "v": 1},
  {"_id": "int64", "v": {"$numberLong": "5"}},
  {"_id": "int64 max", "v": {"$numberLong": "9223372036854775807"}},
  {"_id": "int64 min", "v": {"$numberLong": "-9223372036854775808"}},
  {"_id": "int64 2^53", "v": {"$numberLong": "9007199254740992"}},
  {"_id": "int64 2^53+1", "v": {"$numberLong": "9007199254740993"}},
  {"_id": "double", "v": {"$numberDouble": "5.0"}},
  {"_id": "double 5.5", "v": 5.5},
  {"_id": "double 0.1", "v": 0.1},
  {"_id": "double 1e300", "v": 1e300},
  {"_id": "double 2^63", "v": {"$numberDouble": "9223372036854775808"}},
  {"_id": "double -2^63", "v": {"$numberDouble": "-9223372036854775808"}},
  {"_id": "double -0", "v": {"$numberDouble": "-0.0"}},
  {"_id": "double NaN", "v": {"$numberDouble": "NaN"}},
  {"_id": "double Infinity", "v": {"$numberDouble": "Infinity"}},
  {"_id": "double -Infinity", "v": {"$numberDouble": "-Infinity"}},
  {"_id": "decimal", "v": {"$numberDecimal": "5"}},
  {"_id": "decimal 5.00", "v": {"$numberDecimal": "5.00"}},
  {"_id": "decimal 0.1", "v": {"$numberDecimal": "0.1"}},
  {"_id": "decimal 34 digits", "v": {"$numberDecimal": "1234567890123456789012345678901234"}},
  {"_id": "decimal max", "v": {"$numberDecimal": "9.999999999999999999999999999999999E+6144"}},
  {"_id": "decimal min", "v": {"$numberDecimal": "1E-6176"}},
  {"_id": "decimal 2^63-1", "v": {"$numberDecimal": "9223372036854775807"}},
  {"_id": "decimal 2^63", "v": {"$numberDecimal": "9223372036854775808"}},
  {"_id": "decimal 1E+2", "v": {"$numberDecimal": "1E+2"}},
  {"_id": "decimal NaN", "v": {"$numberDecimal": "NaN"}},
  {"_id": "decimal Infinity", "v": {"$numberDecimal": "Infinity"}},
  {"_id": "decimal -Infinity", "v": {"$numberDecimal": "-Infinity"}},
  {"_id": "true", "v": true},
  {"_id": "false", "v": false},
  {"_id": "text", "v": "text"},
  {"_id": "text empty", "v": ""},
  {"_id": "text ä€😀", "v": "ä€😀"},
  {"_id": "text a\\\\n\"b", "v": "a\n\"b\\"},
  {"_id": "text 5", "v": "5"},
  {"_id": "text 5.55", "v": "5.55"},
  {"_id": "text t", "v": "t"},
  {"_id": "text uuid", "v": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"},
  {"_id": "text time", "v": "2013-10-10 23:06:00.5+02"},
  {"_id": "text inet", "v": "10.0.0.1/8"},
  {"_id": "text json", "v": "{\"a\": 1}"},
  {"_id": "date", "v": {"$date": "2013-10-10T23:06:00.123Z"}},
  {"_id": "date midnight", "v": {"$date": "2013-10-10T00:00:00Z"}},
  {"_id": "date 1969", "v": {"$date": {"$numberLong": "-1"}}},
  {"_id": "date 4713 BC", "v": {"$date": {"$numberLong": "-210866803200000"}}},
  {"_id": "date before 4713 BC", "v": {"$date": {"$numberLong": "-210866803200001"}}},
  {"_id": "date 294276", "v": {"$date": {"$numberLong": "9224318015999999"}}},
  {"_id": "date 294277", "v": {"$date": {"$numberLong": "9224318016000000"}}},
  {"_id": "date int64 max", "v": {"$date": {"$numberLong": "9223372036854775807"}}},
  {"_id": "date int64 min", "v": {"$date": {"$numberLong": "-9223372036854775808"}}},
  {"_id": "ObjectId", "v": {"$oid": "52573e3d00000000000000ff"}},
  {"_id": "UUID", "v": {"$binary": {"base64": "oO68mZwLTvi7bWu5vTgKEQ==", "subType": "04"}}},
  {"_id": "UUID short", "v": {"$binary": {"base64": "oO68mQ==", "subType": "04"}}},
  {"_id": "binary", "v": {"$binary": {"base64": "AP8B", "subType": "00"}}},
  {"_id": "binary empty", "v": {"$binary": {"base64": "", "subType": "00"}}},
  {"_id": "null", "v": null},
  {"_id": "absent"},
  {"_id": "document", "v": {"b": 1, "a": [1.5, {"c": null}], "d": {"$date": "2013-10-10T23:06:00Z"}, "": ""}},
  {"_id": "document empty", "v": {}},
  {"_id": "array", "v": [1, "two", {"$numberLong": "3"}, true, null]},
  {"_id": "array empty", "v": []},
  {"_id": "regex", "v": {"$regularExpression": {"pattern": "^a", "options": "i"}}},
  {"_id": "timestamp", "v": {"$timestamp": {"t": 1381446360, "i": 1}}},
  {"_id": "minKey", "v": {"$minKey": 1}}]') AS d
\gset
CALL put('c', :'documents');
\set of_types :documents

-- Each value as each SQL type, or the error
CREATE FUNCTION as_type(type text, field text DEFAULT 'v.{second}')
RETURNS TABLE (name text, v text) LANGUAGE plpgsql AS $$
DECLARE
  detail text;
BEGIN
  EXECUTE format('CREATE FOREIGN TABLE convert.c (ts timestamptz OPTIONS (role ''time''), name text,
    v %s OPTIONS (field %L)) SERVER convert', type, field);
  FOR name IN EXECUTE 'SELECT name FROM convert.c ORDER BY name COLLATE "C"' LOOP
    BEGIN
      EXECUTE 'SELECT v::text FROM convert.c WHERE name = $1' INTO STRICT v USING name;
      IF v LIKE '{ %' THEN	-- spaces depend on libbson's version
        v = v::jsonb;
      END IF;
      IF length(v) > 100 THEN
        v = format('%s... (%s characters)', left(v, 40), length(v));
      END IF;
    EXCEPTION WHEN SQLSTATE 'HV004' THEN
      GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
      v = 'HV004 ' || detail;
    WHEN others THEN
      v = SQLSTATE;
    END;
    RETURN NEXT;
  END LOOP;
  DROP FOREIGN TABLE convert.c;
END $$;
SELECT * FROM as_type('float8');
SELECT * FROM as_type('float4');
SELECT * FROM as_type('int8');
SELECT * FROM as_type('int4');
SELECT * FROM as_type('int2');
SELECT * FROM as_type('numeric');
SELECT * FROM as_type('numeric(5,2)');
SELECT * FROM as_type('numeric(3,-1)');
SELECT * FROM as_type('bool');
SELECT * FROM as_type('text');
SELECT * FROM as_type('varchar(3)');
SELECT * FROM as_type('char(3)');
SELECT * FROM as_type('timestamptz');
SELECT * FROM as_type('timestamp');
SELECT * FROM as_type('timestamptz(0)');
SELECT * FROM as_type('date');
SELECT * FROM as_type('json');
SELECT * FROM as_type('jsonb');
SELECT * FROM as_type('uuid');
SELECT * FROM as_type('bytea');

-- A condition on a key uses the BSON type of its SQL type, or that of
-- bson_type.
SELECT * FROM as_type('float8', 'k') WHERE v !~ '^HV004 The field holds';
SELECT * FROM as_type('int4', 'k') WHERE v !~ '^HV004 The field holds';
SELECT * FROM as_type('numeric', 'k') WHERE v !~ '^HV004 The field holds';
SELECT * FROM as_type('text', 'k') WHERE v !~ '^HV004 The field holds';
SELECT * FROM as_type('bool', 'k') WHERE v !~ '^HV004 The field holds';
SELECT * FROM as_type('uuid', 'k') WHERE v !~ '^HV004 The field holds';
SELECT * FROM as_type('jsonb', 'k') WHERE name IN ('document', 'array', 'int32', 'text', 'null');
SELECT * FROM as_type('text', 'k') WHERE name IN ('int32', 'date', 'ObjectId', 'document');
SELECT * FROM as_type('int4', 'k') WHERE name IN ('text', 'true', 'decimal');

-- Types that are converted through text
CREATE TYPE mood AS ENUM ('text', 'ok');
CREATE DOMAIN small AS int CHECK (value < 10);
SELECT * FROM as_type('mood') WHERE v = 'text' OR name IN ('int32', 'text 5', 'null');
SELECT * FROM as_type('inet') WHERE v !~ '^22|^HV' OR name IN ('int32', 'text', 'null');
SELECT * FROM as_type('interval') WHERE name IN ('text', 'text 5', 'text time', 'null');
SELECT * FROM as_type('small') WHERE name IN ('int32', 'int32 70000', 'double 5.5', 'null', 'text');
SELECT * FROM as_type('int[]') WHERE name IN ('array', 'array empty', 'text', 'null');
SELECT * FROM as_type('name') WHERE name IN ('text', 'int32', 'null');
SELECT * FROM as_type('oid') WHERE name IN ('int32', 'int64 max', 'null');
SELECT * FROM as_type('bit(1)') WHERE name IN ('int32 1', 'int32', 'true');
SELECT * FROM as_type('time') WHERE name IN ('text time', 'date');
SELECT * FROM as_type('money') WHERE name IN ('int32', 'text');

-- The whole document, with its keys in order as json.
\pset format aligned
\pset tuples_only off
CREATE FOREIGN TABLE whole (
  name text,
  js  json OPTIONS (field '*'),
  jsb jsonb OPTIONS (field '*'),
  txt text OPTIONS (field '*')
) SERVER convert OPTIONS (collection 'whole');
SELECT json_agg(json_build_object('_id', name, 'name', name, 'k', k)) AS documents FROM (VALUES
  ('1', '{"b": 1, "a": [1.5, {"c": null}], "d": {"$date": "2013-10-10T23:06:00Z"}, "": ""}'::json),
  ('2', '{"$numberDecimal": "5.00"}'), ('3', '{"$numberLong": "9007199254740993"}'), ('4', '{"$numberDouble": "NaN"}'),
  ('6', '5'), ('7', '5.0'), ('8', '"ä\"\n"'),
  ('9', '{"$oid": "52573e3d00000000000000ff"}')) AS _ (name, k)
\gset
CALL put('whole', :'documents');
SELECT js FROM whole ORDER BY name;
SELECT jsb, txt FROM whole WHERE name = '1';

-- Values of points are converted like those of a bucket.
CREATE FOREIGN TABLE points (
  ts timestamptz,
  v  jsonb OPTIONS (field 'v.{second}')
) SERVER convert;
CALL put('points', '[{"ts": {"$date": "2020-01-01T00:00:00Z"},
  "v": {"0": 1, "1": 1.5, "2": "x", "3": {"a": 1}, "4": [1], "5": null, "6": {}, "7": [], "8": true}}]');
SELECT * FROM points ORDER BY ts;

-- A field inside a point's value, which some points lack
CREATE FOREIGN TABLE inner_field (
  ts timestamptz,
  a  int OPTIONS (field 'v.{second}.a'),
  b  int OPTIONS (field 'v.{second}.b.c')
) SERVER convert;
CALL put('inner_field', '[{"ts": {"$date": "2020-01-01T00:00:00Z"},
  "v": {"0": {"a": 1, "b": {"c": 2}}, "1": {"a": 3}, "2": {"b": {}}, "3": {"x": 1}, "4": {"a": 4, "b": null}, "5": null, "6": {}}}]');
SELECT * FROM inner_field ORDER BY ts;

-- A date from the text of an instant, of a local time, and of infinity
CREATE FOREIGN TABLE days (
  ts timestamptz,
  d  date OPTIONS (field 'v.{second}')
) SERVER convert;
CALL put('days', '[
  {"_id": 1, "ts": {"$date": "2020-01-01T00:00:00Z"}, "v": {"0": "2020-01-02T00:00:00Z", "1": "infinity", "2": "-infinity", "3": "2020-01-03"}},
  {"_id": 2, "ts": {"$date": "2020-01-01T00:01:00Z"}, "v": {"0": "infinity", "1": "2020-01-02T00:00:00Z", "2": "2020-01-03"}}]');
SELECT * FROM days WHERE ts < '2020-01-01 00:01Z' ORDER BY ts;
SELECT * FROM days WHERE ts >= '2020-01-01 00:01Z' ORDER BY ts;

-- jsonb has the bytes that it has when it is read from the value's JSON, also
-- inside of documents and arrays.
CREATE FOREIGN TABLE directly (
  ts timestamptz,
  n  int,
  js json OPTIONS (field 'v.{second}'),
  jb jsonb OPTIONS (field 'v.{second}')
) SERVER convert;
CREATE TABLE of_json (n int, v json);
INSERT INTO of_json SELECT row_number() OVER (), v FROM (
  SELECT d->'k' AS v FROM json_array_elements(:'of_types') AS d
  UNION ALL
  SELECT v FROM json_array_elements('[{"$code": "f()"}, {"$code": "f()", "$scope": {"x": 1}}, {"$symbol": "s"}, {"$maxKey": 1}, {"$undefined": true},
    {"$dbPointer": {"$ref": "c", "$id": {"$oid": "52573e3d00000000000000ff"}}}, {"$binary": {"base64": "AQAAAAA=", "subType": "02"}},
    {"a": 1, "b": 2, "a": 3, "": 4, "": 5, "b": {"c": 6, "c": 7}, "a": null}, {"ä": 1, "€": 2, "az": 3, "\"": 4, "\\": 5, "a.b": 6, "zzz": {}, "b": []},
    [[[[[]]]], {"x": [{}, {"y": [{"z": {"": {}}}]}]}, "", null], "\u0001\b\f\n\r\t\u001f\u007f\u0080\uffff", {"\u0001\b\f\n\r\t\u001f\"\\": "\ud83d\ude00"}]') AS v
  UNION ALL	-- numbers
  SELECT v::json FROM unnest('{0,-0.0,1e-7,1e-5,123456.789,1e14,1e15,1e16,1e17,1e22,1e23,-1e300,5e-324,2.2250738585072014e-308,1.7976931348623157e308,
    0.30000000000000004,4503599627370496.5,9007199254740993.0,100000000000000.5,99999999999999.99,0.00000001,0.000000015}'::text[]) AS v
  UNION ALL SELECT to_json(cos(i) * 10::float8 ^ (i % 40 - 20)) FROM generate_series(1, 400) i
  UNION ALL SELECT to_json(i * 0.01::float8) FROM generate_series(-100, 100) i
  UNION ALL	-- positions of elements, lengths of keys and texts
  SELECT json_agg(repeat('x', i % 7)) FROM generate_series(1, 100) i
  UNION ALL SELECT json_agg(CASE i % 4 WHEN 0 THEN to_json(i) WHEN 1 THEN to_json(repeat('y', i)) WHEN 2 THEN json_build_array(i, 'z') ELSE 'null' END) FROM generate_series(1, 70) i
  UNION ALL SELECT json_object_agg('k' || i * 7919 % 101, i) FROM generate_series(1, 101) i
  UNION ALL SELECT json_object_agg(repeat('k', i % 40), CASE i % 3 WHEN 0 THEN to_json(repeat('v', i)) ELSE to_json(i) END) FROM generate_series(1, 100) i
  UNION ALL SELECT to_json(repeat('long ', 20000))
  UNION ALL SELECT format('%s1%s', repeat('[', 90), repeat(']', 90))::json) AS _;
SELECT json_agg(json_build_object('ts', '{"$date": "2020-01-01T00:00:00Z"}'::json, 'n', n,
         'v', json_build_object('0', v, '1', json_build_array(v), '2', json_build_array(1, 'a', v, true, v),
           '3', json_build_object('x', v), '4', json_build_object('long', 'a', 'x', v, 'n', 1, 'y', v, 'ab', json_build_array(null, v))))
         ORDER BY n) AS documents FROM of_json \gset
CALL put('directly', :'documents');
SELECT (SELECT count(*) FROM of_json) AS in_json, count(*) AS in_points, count(js) AS not_null FROM directly;
SELECT n, ts, js, jb FROM directly WHERE NOT record_image_eq(ROW(jb), ROW(js::jsonb)) OR jb::text <> js::jsonb::text;
-- a text that jsonb refuses
CREATE FOREIGN TABLE refused (ts timestamptz, v jsonb OPTIONS (field 'v.{second}')) SERVER convert;
CALL put('refused', '[{"ts": {"$date": "2020-01-01T00:00:00Z"}, "v": {"0": "a\u0000b"}}, {"ts": {"$date": "2020-01-01T00:01:00Z"}, "v": {"0": {"a": "a\u0000", "b": 1, "a": 2}}}]');
SELECT try('SELECT * FROM refused WHERE ts < ''2020-01-01 00:01Z''');
SELECT try('SELECT * FROM refused WHERE ts >= ''2020-01-01 00:01Z''');

SELECT mongo_ts_command('convert', '{"dropDatabase": 1}')->'ok' AS dropped;
