--
-- Tests mongo_ts_check() of a view whose documents have no _id.  FerretDB finds no
-- contradiction in views; hence the second expected output.
--
\set suite check_view
\i sql/include/suite.sql
\pset format unaligned

CALL put('totals', '[
  {"_id": 1, "h": {"$date": "2024-01-01T00:00:00Z"}, "v": {"0": 1, "1": 2}, "n": 3, "s": 4, "lo": 0, "hi": 3}]');
SELECT mongo_ts_command('check_view', '{"create": "without_id", "viewOn": "totals", "pipeline": [{"$project": {"_id": 0}}]}')->'ok' AS created;
CREATE FOREIGN TABLE without_id (h timestamptz,
  v float8 OPTIONS (field 'v.{minute}', sum_field 's', min_field 'lo', max_field 'hi')) SERVER check_view OPTIONS (count_field 'n');
SELECT problem, field, documents, hint FROM mongo_ts_check('without_id') WHERE problem ~ 'contradicts';
