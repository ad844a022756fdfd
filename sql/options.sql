--
-- Tests which options exist, where they are allowed, their values, and checks
-- of the whole table.
--
\set suite options
\i sql/include/suite.sql

CREATE FUNCTION on_server(option text, value text) RETURNS text LANGUAGE sql AS $$
  SELECT options.try(format('CREATE SERVER tried FOREIGN DATA WRAPPER mongo_ts_fdw
    OPTIONS (%I %L)', option, value));
$$;
CREATE FUNCTION on_mapping(option text, value text) RETURNS text LANGUAGE sql AS $$
  SELECT options.try(format('CREATE USER MAPPING FOR CURRENT_USER SERVER options
    OPTIONS (%I %L)', option, value));
$$;
CREATE FUNCTION on_table(option text, value text) RETURNS text LANGUAGE sql AS $$
  SELECT options.try(format('CREATE FOREIGN TABLE tried (ts timestamptz) SERVER options
    OPTIONS (%I %L)', option, value));
$$;
CREATE FUNCTION on_column(option text, value text) RETURNS text LANGUAGE sql AS $$
  SELECT options.try(format('CREATE FOREIGN TABLE tried (ts timestamptz OPTIONS (%I %L))
    SERVER options', option, value));
$$;
CREATE FUNCTION on_wrapper(option text, value text) RETURNS text LANGUAGE sql AS $$
  SELECT options.try(format('ALTER FOREIGN DATA WRAPPER mongo_ts_fdw
    OPTIONS (%I %L)', option, value));
$$;

-- Each option where it is allowed, and nowhere else ------------------------

SELECT option,
       split_part(on_wrapper(option, value), ':', 1) AS wrapper,
       split_part(on_server(option, value), ':', 1) AS server,
       split_part(on_mapping(option, value), ':', 1) AS mapping,
       split_part(on_table(option, value), ':', 1) AS "table",
       split_part(on_column(option, value), ':', 1) AS "column"
  FROM (VALUES
    ('uri', 'mongodb://127.0.0.1:27017'),
    ('database', 'd'),
    ('fetch_size', '100'),
    ('batch_size', '100'),
    ('transactions', 'off'),
    ('updatable', 'false'),
    ('truncatable', 'false'),
    ('keep_connections', 'off'),
    ('comment', '%a: %t, 100%%'),
    ('username', 'u'),
    ('password', 'p'),
    ('password_required', 'false'),
    ('collection', 'c'),
    ('filter', '{"site": {"$in": [7, 8]}}'),
    ('bucket_time_field', '_id.origin'),
    ('bucket_time_format', 'text:YYYYMMDD_HH24'),
    ('bucket_span', '1 hour'),
    ('bucket_time_zone', 'Europe/Berlin'), ('slot_clock', 'local'),
    ('bucket_first_field', 'first'),
    ('bucket_last_field', 'last'),
    ('bucket_max_points', '200'),
    ('count_field', 'n'),
    ('write_mode', 'increment'),
    ('assume_write_once', 'true'),
    ('on_invalid', 'skip'),
    ('on_subresolution', 'truncate'),
    ('rollup_of', 'public."My sensors"'), ('rollup_interval', '15 minutes'), ('rollup_zone', 'Europe/Berlin'),
    ('rollup_lag', '0'), ('rollup_retention', '7 days'), ('rollup_maintained_by', 'application'), ('rollup', 'sum'), ('rollup_column', 'temp'),
    ('field', 'values.{second}'),
    ('role', 'time'),
    ('format', 'epoch_ms'),
    ('missing_value', '0'),
    ('sum_field', 's.sum'),
    ('min_field', 's.min'),
    ('max_field', 's.max'),
    ('bson_type', 'long')) AS valid (option, value);

-- Every value of an option with a list of words
SELECT option, value, (CASE WHEN option IN ('role', 'format', 'bson_type', 'field')
                           THEN on_column(option, value)
                           ELSE on_table(option, value) END) AS answer
  FROM (VALUES
    ('write_mode', 'set'), ('write_mode', 'push'), ('write_mode', 'insert'),
    ('on_invalid', 'error'), ('on_subresolution', 'error'), ('slot_clock', 'elapsed'),
    ('native_buckets', 'auto'), ('native_buckets', 'off'),
    ('consistency', 'statement'), ('consistency', 'none'),
    ('transactions', 'batch'), ('transactions', 'required'), ('transactions', 'off'),
    ('role', 'key'), ('role', 'attribute'),
    ('format', 'date'), ('format', 'epoch'), ('format', 'epoch_us'),
    ('format', 'epoch_ns'), ('format', 'oid'), ('format', 'offset:second'),
    ('format', 'offset:day:1'), ('format', 'offset:15 minutes'),
    ('format', 'text:YYYY:FMMM'), ('format', 'ticks'), ('format', 'timestamp'),
    ('format', 'iso8601'), ('format', 'text:epoch'), ('format', 'text:epoch_ns'),
    ('format', 'number:YYYYMMDD'), ('format', 'epoch_ms:double'), ('format', 'offset:second:1:long'),
    ('bson_type', 'double'), ('bson_type', 'int'), ('bson_type', 'decimal'),
    ('bson_type', 'string'), ('bson_type', 'date'), ('bson_type', 'bool'),
    ('bson_type', 'objectId'),
    ('field', '*'), ('field', 'a'), ('field', 'a.b.c'), ('field', '[]'),
    ('field', 'a[].b'), ('field', 'a[{minute}][{second}].b'),
    ('field', '{hour}.{minute}'), ('field', 'a.{month:1}.{day:1}'),
    ('field', 'a.{millisecond}'), ('field', 'a.{15 minutes:1}'),
    ('field', 'a.{type}'), ('field', 'a\.b\{c\[d\\e'),
    ('field', 'p{second}'), ('field', 'ä.ö'),
    ('field', '{month:01}.{day:01}'), ('field', 'h{hour:00}q[]'),
    ('field', '{hour:0}:{minute:00}'), ('field', '{minute of day}')) AS valid (option, value);

\pset format unaligned
\pset tuples_only on

-- Invalid names ------------------------------------------------------------

SELECT on_server('database_name', 'd');
SELECT on_server('databse', 'd');
SELECT on_server('collection', 'c');
SELECT on_mapping('user', 'u');
SELECT on_mapping('passwd', 'secret');
SELECT on_mapping('field', 'secret');
SELECT on_table('colection', 'c');
SELECT on_table('Collection', 'c');
SELECT on_table('time_field', 'c');
SELECT on_table('x', 'c');
SELECT on_column('fields', 'c');
-- Names in other wrappers
SELECT on_server('host', 'h');
SELECT on_server('dbname', 'd');
SELECT on_mapping('user', 'u');
SELECT on_table('table_name', 'c');
SELECT on_column('column_name', 'f');
SELECT on_column('missing', '0');
SELECT on_column('zzz', 'c');
SELECT on_wrapper('uri', 'mongodb://h');
SELECT try($$CREATE FOREIGN TABLE tried (ts timestamptz) SERVER options
  OPTIONS (collection 'a', collection 'b')$$);

-- Invalid values -----------------------------------------------------------

SELECT left(on_column('field', value), 400) FROM (VALUES
  (''), ('.'), ('a.'), ('.a'), ('a..b'), ('a.{}'), ('a.{second'), ('a.{second:}'),
  ('a.{second:x}'), ('a.{15 parsecs}'), ('a.{0 minutes}'),
  ('a.{day:1:2}'), ('a.{seconds:0'), ('a.[x]'), ('a[3]'), ('a[{minute]'), ('a[{fortnight}]'),
  ('a['), ('a[]b'), ('a\'), ('a\n'), (repeat('x', 600))) AS invalid (value);
SELECT split_part(on_table('bucket_span', value), E'\n', 1) FROM (VALUES
  (''), ('soon'), ('0'), ('-1 hour'), ('1 month -1 day'), ('infinity'), ('P1D -1')) AS invalid (value);
SELECT on_table('count_field', 'n.{second}');
SELECT on_table('bucket_first_field', '*');
SELECT on_column('sum_field', 'a[]');
SELECT on_table('bucket_max_points', value) FROM (VALUES
  ('0'), ('-1'), ('many'), ('1.5'), ('99999999999')) AS invalid (value);
SELECT on_server('fetch_size', '0');
SELECT split_part(on_table('filter', value), E'\n', 1) FROM (VALUES
  (''), ('{'), ('{"a": }'), ('[1]'), ('7'), ('{"a": {"$date": "never"}}'), ('{"a": 1} x'))
  AS invalid (value);
SELECT on_table('bucket_time_zone', value) FROM (VALUES
  (''), ('Mars/Olympus'), ('UTC+25')) AS invalid (value);
SELECT on_column('format', value) FROM (VALUES
  (''), ('epoc'), ('text:'), ('text'), ('offset'), ('offset:'), ('offset:parsec'))
  AS invalid (value);
SELECT on_table('bucket_time_format', 'offset:second');
SELECT on_column('role', 'Time');
SELECT on_column('bson_type', 'float');
SELECT on_table('write_mode', 'upsert');
SELECT on_table('on_invalid', 'ignore');
SELECT on_table('on_subresolution', 'round');
SELECT on_table('rollup_of', value) FROM unnest('{sensors, a.b.c, "\"a.b"}'::text[]) value;
SELECT value, left(on_table('rollup_interval', value), 10) FROM
  unnest('{1 second, 5 minutes, 1 hour, 24 hours, 1 day, 1 month, 0, 500 ms, 7 minutes, 5 hours, 48 hours,
           2 days, 1 week, 3 months, 1 day 1 hour, -1 hour}'::text[]) value;
SELECT on_table('rollup_interval', value) FROM unnest('{7 minutes, 1 week}'::text[]) value;
SELECT on_table('rollup_lag', value) FROM unnest('{1 day 2 hours, 1 month, -1 second}'::text[]) value;
SELECT on_table('rollup_refresh', value) FROM unnest('{0, 500 ms, 13 months, often, 5 minutes}'::text[]) value;
SELECT try(format($$CREATE FOREIGN TABLE tried (ts timestamptz) SERVER options
  OPTIONS (rollup_of 'public.sensors', rollup_refresh '5 minutes', rollup_maintained_by %L)$$, maintained_by))
  FROM unnest('{application, refresh}'::text[]) maintained_by;
SELECT on_table('rollup_maintained_by', 'nobody'), on_column('rollup', 'avg'), on_column('rollup_column', '');
SELECT on_table('slot_clock', 'zone');
SELECT on_table('native_buckets', 'on');
SELECT on_table('consistency', 'transaction');
SELECT on_server('updatable', 'maybe');
SELECT on_server('keep_connections', '2');
SELECT on_server('comment', value) FROM (VALUES
  ('100%'), ('%x'), ('%a %%%')) AS invalid (value);
SELECT on_table('assume_write_once', '');
SELECT on_server('database', '');
SELECT on_table('collection', '');

-- ALTER is checked like CREATE.
CREATE FOREIGN TABLE altered (ts timestamptz) SERVER options;
SELECT try('ALTER FOREIGN TABLE altered OPTIONS (ADD fetch_size ''none'')');
SELECT try('ALTER FOREIGN TABLE altered ALTER ts OPTIONS (ADD format ''none'')');
SELECT try('ALTER FOREIGN TABLE altered OPTIONS (ADD fetch_size ''7'')', true);
SELECT try('ALTER FOREIGN TABLE altered OPTIONS (SET fetch_size ''-7'')');
SELECT try('ALTER FOREIGN TABLE altered OPTIONS (ADD fetch_size ''8'')');
SELECT try('ALTER SERVER options OPTIONS (SET uri ''nonsense'')');

-- URIs: no message repeats a secret ----------------------------------------

SELECT on_server('uri', value) FROM (VALUES
  (''), ('localhost:27017'), ('http://localhost'), ('mongodb://'),
  ('mongodb://localhost/?tls=perhaps'),
  ('mongodb://user:s3cret@localhost'),
  ('mongodb://user@localhost'),
  ('mongodb://user:s3cret@'),
  ('mongodb+srv://user:s3cret@a.b.c'),
  ('mongodb://localhost/?tlsCertificateKeyFilePassword=s3cret'),
  ('mongodb://localhost/?authMechanismProperties=AWS_SESSION_TOKEN:s3cret&authMechanism=MONGODB-AWS'))
  AS invalid (value);
-- Credentials are detected in any notation, also in options that libmongoc
-- doesn't know.
SELECT DISTINCT on_server('uri', value) FROM (VALUES
  ('mongodb://user%40:s3cret@localhost'),
  ('mongodb://user:s3c/ret@localhost'),
  ('mongodb://user:27017/ret@localhost'),
  ('mongodb://user:s3c@ret@localhost'),
  ('mongodb://@localhost'),
  ('mongodb://:s3cret@localhost'),
  ('mongodb://user:s3cret@localhost/?authMechanism=SCRAM-SHA-256'),
  ('mongodb://localhost/?sslClientCertificateKeyPassword=s3cret'),
  ('mongodb://localhost/?TLSCERTIFICATEKEYFILEPASSWORD=s3cret'),
  ('mongodb://localhost/?tlsCertificateKeyFilePass%77ord=s3cret'),
  ('mongodb://localhost/?proxyHost=h&proxyPassword=s3cret'),
  ('mongodb://localhost/?password=s3cret'),
  ('mongodb://localhost/?authMechanism=MONGODB-AWS&authMechanismProperties=aws_Session_Token:s3cret'),
  ('mongodb://localhost/?authMechanism=MONGODB-AWS&authMechanismProperties=AWS_SESSION%5FTOKEN%3As3cret'))
  AS invalid (value);
SELECT try(format('ALTER SERVER options OPTIONS (SET uri %L)', 'mongodb://user:s3cret@localhost'));
SELECT split_part(on_server('uri', 'mongodb://localhost/?authMechanism=NONE'), E'\n', 1);
-- Mechanisms that require a user get that of the mapping.
SELECT on_server('uri', 'mongodb://localhost/?authMechanism=' || mechanism) FROM (VALUES
  ('SCRAM-SHA-256'), ('SCRAM-SHA-1'), ('PLAIN'), ('GSSAPI'), ('MONGODB-X509'), ('MONGODB-AWS'))
  AS valid (mechanism);
SELECT on_server('uri', value) FROM (VALUES
  ('mongodb://a,b:27018/?replicaSet=rs&readPreference=secondary'),
  ('mongodb://localhost/?tls=true&compressors=zlib'),
  ('mongodb://localhost/?tls=true&tlsCAFile=/etc/ssl/ca.pem')) AS valid (value);
-- A mapping's values are not repeated, either.
SELECT on_mapping('password', '');
SELECT on_mapping('username', '');

-- Only superusers and members of pg_read_server_files may name files.
CREATE ROLE regress_mts_user;
GRANT USAGE, CREATE ON SCHEMA options TO regress_mts_user;
GRANT USAGE ON FOREIGN DATA WRAPPER mongo_ts_fdw TO regress_mts_user;
SET ROLE regress_mts_user;
SELECT on_server('uri', value) FROM (VALUES
  ('mongodb://localhost/?tls=true&tlsCAFile=/etc/passwd'),
  ('mongodb://localhost/?tls=true&tlsCertificateKeyFile=/etc/passwd'),
  ('mongodb://localhost/?ssl=true&sslCertificateAuthorityFile=/etc/passwd'),
  ('mongodb://localhost/?ssl=true&sslClientCertificateKeyFile=/etc/passwd'),
  ('mongodb://localhost/?tls=true&TLSCAfile=/etc/passwd'),
  ('mongodb://localhost/?tls=true&tlsCAFile=/etc/passwd&tlsCAFile=/etc/group'),
  ('mongodb://localhost/?tls=true&tlsCRLFile=/etc/passwd'),
  ('mongodb://%2Ftmp%2Fmongodb.sock'),
  ('mongodb://localhost,%2Ftmp%2Fmongodb.sock'))
  AS invalid (value);
SELECT on_server('uri', 'mongodb://localhost/?tls=true');
RESET ROLE;
GRANT pg_read_server_files TO regress_mts_user;
SET ROLE regress_mts_user;
SELECT on_server('uri', 'mongodb://localhost/?tls=true&tlsCAFile=/etc/ssl/ca.pem');
RESET ROLE;
DROP OWNED BY regress_mts_user;
DROP ROLE regress_mts_user;

-- Checks of the whole table ------------------------------------------------

-- Make a table of these columns and options, and use it.
CREATE FUNCTION use(columns text, options text DEFAULT '') RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
  answer text;
BEGIN
  EXECUTE format('CREATE FOREIGN TABLE used (%s) SERVER options %s', columns, options);
  answer = options.try('SELECT * FROM options.used');
  -- a table whose options conflict must not be shown as insertable
  ASSERT answer = 'accepted' OR NOT EXISTS (SELECT FROM information_schema.tables
    WHERE (table_schema, table_name, is_insertable_into) = ('options', 'used', 'YES'));
  DROP FOREIGN TABLE used;
  RETURN answer;
END $$;
SELECT use($$ts timestamptz, v int OPTIONS (field 'v.{second}')$$);
SELECT use($$ts timestamptz, a int OPTIONS (field 'a.{second}'), b int OPTIONS (field 'b.{minute}')$$);
SELECT use($$ts timestamptz, a int OPTIONS (field 'a.{second}'), b int OPTIONS (field 'b.{second:1}')$$);
SELECT use($$ts timestamptz, a int OPTIONS (field 'a.{second}'), b int OPTIONS (field 'b[{second}]')$$);
SELECT use($$ts timestamptz, a int OPTIONS (field 'a.{minute}.{second}'), b int OPTIONS (field 'b.{second}.{minute}')$$);
SELECT use($$a int OPTIONS (field 'a.{second}')$$);
SELECT use($$a int OPTIONS (field 'a[]')$$);
SELECT use($$a int, b text$$);
SELECT use($$a timestamptz, b timestamptz, v int OPTIONS (field 'v.{second}')$$);
SELECT use($$a timestamptz, b timestamp, v int OPTIONS (field 'v.{second}')$$);
SELECT use($$a timestamptz, b timestamptz OPTIONS (role 'time'), v int OPTIONS (field 'v.{second}')$$);
SELECT use($$a timestamptz, b timestamptz OPTIONS (role 'attribute'), v int OPTIONS (field 'v.{second}')$$);
SELECT use($$a timestamptz OPTIONS (role 'time'), b timestamptz OPTIONS (role 'time'), v int OPTIONS (field 'v.{second}')$$);
SELECT use($$a timestamptz, b date, v int OPTIONS (field 'v.{second}')$$);
SELECT use($$a date, b date, v int OPTIONS (field 'v.{second}')$$);
SELECT use($$a text OPTIONS (role 'time'), v int OPTIONS (field 'v.{second}')$$);
SELECT use($$ts timestamptz, v int OPTIONS (format 'epoch')$$);
SELECT use($$ts timestamptz, v int OPTIONS (field 'v.{foo}.{second}')$$);
SELECT use($$ts timestamptz, v int OPTIONS (field 'v.{-1 minutes}')$$);
SELECT use($$ts timestamptz, foo float8, v int OPTIONS (field 'v.{foo}.{second}')$$);
SELECT use($$ts timestamptz, foo int, v int OPTIONS (field 'v.{foo}.{second}')$$);
SELECT use($$ts timestamptz, foo text, v int OPTIONS (field 'v.{foo}.{second}')$$);
SELECT use($$ts timestamptz, v int OPTIONS (field 'v.{ts}.{second}')$$);
SELECT use($$ts timestamptz, v text OPTIONS (field 'v.{v}.{second}')$$);
SELECT use($$ts timestamptz, v int OPTIONS (field 'v.{second}', role 'attribute')$$);
SELECT use($$ts timestamptz, k int OPTIONS (missing_value '0'), v int OPTIONS (field 'v.{second}')$$);
SELECT use($$ts timestamptz OPTIONS (field 'p[].t', format 'offset:second'), v int OPTIONS (field 'p[].v')$$);
SELECT use($$ts timestamptz OPTIONS (format 'offset:second'), v int OPTIONS (field 'v.{second}')$$);
SELECT use($$ts timestamptz OPTIONS (format 'offset:second'), v int$$);
SELECT use($$ts timestamptz OPTIONS (field 'p[].t'), v int OPTIONS (field 'p[].v')$$,
           $$OPTIONS (bucket_time_format 'epoch')$$);
SELECT use($$ts timestamptz OPTIONS (field 'p[].t'), v int OPTIONS (field 'p[].v')$$,
           $$OPTIONS (bucket_time_field 'day')$$);
SELECT use($$ts timestamptz OPTIONS (field 'p[].t'), v int OPTIONS (field 'p[].v')$$);
SELECT use($$ts timestamptz, v int OPTIONS (field 'v.{second}')$$,
           $$OPTIONS (bucket_time_field 'day')$$);
SELECT use($$ts timestamptz, v int$$, $$OPTIONS (bucket_time_field 'day')$$);
SELECT use($$ts timestamptz, v int OPTIONS (field 'v[]')$$);
-- A span shorter than the range of its slots is valid, and so is one that is
-- not a multiple of a slot.
SELECT use($$ts timestamptz, v int OPTIONS (field 'v.{second}')$$, $$OPTIONS (bucket_span '90 seconds')$$);
-- Options that another version's validator accepted
BEGIN;
ALTER FOREIGN DATA WRAPPER mongo_ts_fdw NO VALIDATOR;
SELECT use($$ts timestamptz, v int$$, $$OPTIONS (write_once 'true')$$);
SELECT use($$ts timestamptz, v int OPTIONS (missing '-1')$$);
SELECT use($$ts timestamptz, v int OPTIONS (field 'v', unheard_of '')$$);
ROLLBACK;
-- Without a database
CREATE SERVER options_empty FOREIGN DATA WRAPPER mongo_ts_fdw;
CREATE FOREIGN TABLE nowhere (ts timestamptz) SERVER options_empty;
SELECT try('SELECT * FROM nowhere');
-- Statements that read only the definition work.
SELECT try('ALTER FOREIGN TABLE nowhere ADD COLUMN x int');
DROP FOREIGN TABLE nowhere;
DROP SERVER options_empty;
\pset format aligned
\pset tuples_only off
-- Options of the table override those of the server.
CALL put('c', '[{"ts": {"$date": "2020-01-01T00:00:00Z"}, "v": 7}]');
ALTER SERVER options OPTIONS (SET database 'mts_regress_options_none', ADD fetch_size '1');
CREATE FOREIGN TABLE own (ts timestamptz, v int) SERVER options
  OPTIONS (database 'mts_regress_options', collection 'c', fetch_size '2');
SELECT * FROM own;
ALTER SERVER options OPTIONS (SET database 'mts_regress_options');

-- Changes of options --------------------------------------------------------

-- Each statement uses the options that it finds.
CALL put('old', '[{"ts": {"$date": "2020-01-01T00:00:00Z"}, "v": 1, "w": 2},
                  {"ts": {"$date": "2020-01-02T00:00:00Z"}, "v": 3, "w": 4},
                  {"ts": {"$date": "2020-01-03T00:00:00Z"}, "v": 5, "w": 6}]');
CALL put('new', '[{"ts": {"$date": "2020-01-01T00:00:00Z"}, "v": 7, "w": 8}]');
CREATE FOREIGN TABLE old (ts timestamptz, v int) SERVER options;
SELECT v FROM old ORDER BY ts;
BEGIN;
ALTER FOREIGN TABLE old ALTER v OPTIONS (ADD field 'w');
SELECT v FROM old ORDER BY ts;
SAVEPOINT with_field;
ALTER FOREIGN TABLE old OPTIONS (ADD collection 'new');
SELECT v FROM old;
ROLLBACK TO with_field;
SELECT v FROM old ORDER BY ts;
ROLLBACK;
SELECT v FROM old ORDER BY ts;
ALTER FOREIGN TABLE old RENAME TO new;
SELECT v FROM new;
ALTER FOREIGN TABLE new RENAME TO old;
ALTER FOREIGN TABLE old ADD COLUMN w int, DROP COLUMN v;
SELECT * FROM old ORDER BY ts;
-- So does each execution of a prepared statement.
SET plan_cache_mode = force_generic_plan;
PREPARE points_of_old (timestamptz) AS SELECT w FROM old WHERE ts > $1 ORDER BY ts;
EXECUTE points_of_old ('2020-01-01Z');
ALTER FOREIGN TABLE old ALTER w OPTIONS (ADD field 'v');
EXECUTE points_of_old ('2020-01-01Z');
ALTER FOREIGN TABLE old ADD COLUMN x int, OPTIONS (ADD filter '{"v": 3}');
EXECUTE points_of_old ('2020-01-01Z');
ALTER FOREIGN TABLE old DROP COLUMN x, OPTIONS (DROP filter);
EXECUTE points_of_old ('2020-01-01Z');
ALTER SERVER options OPTIONS (SET database 'mts_regress_options_none');
EXECUTE points_of_old ('2020-01-01Z');
ALTER SERVER options OPTIONS (SET database 'mts_regress_options');
ALTER FOREIGN TABLE old ALTER w OPTIONS (DROP field);
EXECUTE points_of_old ('2020-01-01Z');
RESET plan_cache_mode;
DEALLOCATE points_of_old;
-- A cursor goes on with those that it has found.
BEGIN;
DECLARE c CURSOR FOR SELECT w FROM old ORDER BY ts;
FETCH c;
ALTER SERVER options OPTIONS (SET database 'mts_regress_options_none');
SELECT count(*) FROM old;
FETCH ALL FROM c;
ROLLBACK;
DROP FOREIGN TABLE old;
SELECT mongo_ts_command('options', '{"drop": "old"}')->'ok' AS old, mongo_ts_command('options', '{"drop": "new"}')->'ok' AS new;

-- The database in the uri's path --------------------------------------------

SELECT regexp_replace(:'uri', '^([^/]+//[^/?]+)/?[^?]*', '\1/mts_regress_options') AS with_path,
       regexp_replace(:'uri', '^([^/]+//[^/?]+)/?[^?]*', '\1/mts_regress_%C3%A9') AS with_escapes \gset
CREATE SERVER options_path FOREIGN DATA WRAPPER mongo_ts_fdw OPTIONS (uri :'with_path');
CREATE FOREIGN TABLE by_path (ts timestamptz, v int) SERVER options_path OPTIONS (collection 'c');
SELECT plan($$SELECT * FROM by_path$$, ', VERBOSE');
SELECT * FROM by_path;
INSERT INTO by_path VALUES ('2020-01-02Z', 8);
SELECT mongo_ts_command('options_path', '{"count": "c", "query": {"v": {"$gt": 0}}}')->'n' AS n;
-- IMPORT names the database of a table if it is another one.
CREATE SCHEMA from_path;
IMPORT FOREIGN SCHEMA mts_regress_options LIMIT TO (c) FROM SERVER options_path INTO from_path OPTIONS (updatable 'true');
SELECT ftoptions FROM pg_foreign_table WHERE ftrelid = 'from_path.c'::regclass;
SELECT count(*) FROM from_path.c;
ALTER SERVER options_path OPTIONS (ADD database 'mts_regress_options_none');
SELECT count(*) FROM from_path.c;
DROP FOREIGN TABLE from_path.c;
IMPORT FOREIGN SCHEMA mts_regress_options LIMIT TO (c) FROM SERVER options_path INTO from_path OPTIONS (updatable 'true');
SELECT ftoptions FROM pg_foreign_table WHERE ftrelid = 'from_path.c'::regclass;
-- Option database of the server or of the table hides the path.
SELECT plan($$SELECT * FROM by_path$$, ', VERBOSE');
ALTER FOREIGN TABLE by_path OPTIONS (ADD database 'mts_regress_options_other');
SELECT plan($$SELECT * FROM by_path$$, ', VERBOSE');
ALTER FOREIGN TABLE by_path OPTIONS (DROP database);
-- A path can have escapes.  An empty one names no database.
ALTER SERVER options_path OPTIONS (DROP database, SET uri :'with_escapes');
SELECT plan($$SELECT * FROM by_path$$, ', VERBOSE');
SELECT split_part(on_server('uri', value), ':', 1) FROM (VALUES
  ('mongodb://localhost/a%00b'), ('mongodb://localhost/?appName=a'), ('mongodb+srv://a.b.c/plant')) AS path (value);
ALTER SERVER options_path OPTIONS (SET uri 'mongodb://localhost/?authMechanism=SCRAM-SHA-256');
SELECT try('SELECT * FROM by_path');
-- The path is read without the mapping, even if the mechanism requires a user.
CREATE USER MAPPING FOR PUBLIC SERVER options_path OPTIONS (username 'u', password 'p');
ALTER SERVER options_path OPTIONS (SET uri 'mongodb://127.0.0.1:1/plant?authMechanism=SCRAM-SHA-256&authSource=admin');
SELECT plan($$SELECT * FROM by_path$$, ', VERBOSE');
DROP SERVER options_path CASCADE;
DROP SCHEMA from_path;

SELECT mongo_ts_command('options', '{"dropDatabase": 1}')->'ok' AS dropped;
