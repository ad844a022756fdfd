-- What compose.yaml runs in PostgreSQL when it starts for the first time: sample
-- data in MongoDB, a year of three machines up to now, roll-ups, and a role for
-- Grafana.

CREATE EXTENSION mongo_ts_fdw;
CREATE SERVER mongo FOREIGN DATA WRAPPER mongo_ts_fdw
  OPTIONS (uri 'mongodb://mongodb:27017', database 'plant');
CREATE USER MAPPING FOR PUBLIC SERVER mongo OPTIONS (password_required 'false');

CREATE FOREIGN TABLE readings (
  ts          timestamptz OPTIONS (field 'hour'),
  machine     text,
  temperature float8      OPTIONS (field 'temperature.{minute}'),
  power       float8      OPTIONS (field 'power.{minute}')
) SERVER mongo;

SELECT mongo_ts_create_index('readings');

INSERT INTO readings
SELECT ts, machine,
       round((base + 8 * sin(extract(epoch FROM ts) / 7200 + n) + random())::numeric, 1),
       round((n + abs(sin(extract(epoch FROM ts) / 14400 + n)) * 3)::numeric, 2)
  FROM generate_series(date_trunc('minute', now()) - interval '1 year', now(), '1 minute') ts,
       (VALUES ('press', 1, 65), ('mill', 2, 48), ('oven', 3, 180)) machines (machine, n, base);

-- A year by day, or a day by hour, is answered by these; no query names them.
SELECT mongo_ts_create_rollup('readings', '1 hour');
SELECT mongo_ts_create_rollup('readings_1h', '1 day');
SELECT mongo_ts_refresh_rollup('readings_1d');

ANALYZE readings, readings_1h, readings_1d;

-- From now on, a background worker refreshes both.
ALTER FOREIGN TABLE readings_1d OPTIONS (ADD rollup_refresh '5 minutes');

-- Grafana reads, and no panel takes longer than half a minute.
CREATE ROLE grafana LOGIN PASSWORD 'grafana';
ALTER ROLE grafana SET statement_timeout = '30s';
GRANT SELECT ON readings TO grafana;
