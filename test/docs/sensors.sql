-- The collection of README.md's quick start: the temperatures of two sensors,
-- a point a minute, in buckets of an hour.
CREATE EXTENSION mongo_ts_fdw;
CREATE SERVER fixture FOREIGN DATA WRAPPER mongo_ts_fdw
  OPTIONS (uri 'mongodb://127.0.0.1:27017', database 'mms');
CREATE FOREIGN TABLE temperatures (
  ts     timestamptz,
  sensor text,
  temp   float8 OPTIONS (field 'temp.{minute}')
) SERVER fixture OPTIONS (collection 'sensors');
INSERT INTO temperatures
SELECT ts, sensor,
       base + round(3 * sin(extract(epoch FROM ts) / 3600)::numeric, 1)
  FROM generate_series(timestamptz '2024-05-01 00:00Z', '2024-05-01 23:59Z', '1 minute') ts,
       (VALUES ('boiler', 62.0), ('hall', 19.5)) sensors (sensor, base);
DROP EXTENSION mongo_ts_fdw CASCADE;
