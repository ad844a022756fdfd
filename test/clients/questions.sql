-- questions.sql: queries of the demo's tables for all clients, and the
-- answers.
--
-- The demo's data are the same in every run.  A question begins with `-- @`
-- and its name; `-- ?` gives the type and the value of a parameter, with
-- commas between elements of an array.  After the query, `-- =` gives the
-- types of the answer's columns, followed by its rows. null is NULL.  Times
-- are ISO 8601 in UTC.

-- @ a range of time
-- ? text memory_used
-- ? timestamptz 2013-10-10T14:07:57Z
-- ? timestamptz 2013-10-10T14:08:02Z
SELECT "timestamp", type, value
  FROM memory
 WHERE type = ? AND "timestamp" BETWEEN ? AND ?
 ORDER BY "timestamp"
-- = timestamptz | text | bigint
-- 2013-10-10T14:07:57Z | memory_used | 1087304
-- 2013-10-10T14:07:58Z | memory_used | 1061501
-- 2013-10-10T14:07:59Z | memory_used | 1101284
-- 2013-10-10T14:08:00Z | memory_used | 1085352
-- 2013-10-10T14:08:01Z | memory_used | 1099872
-- 2013-10-10T14:08:02Z | memory_used | 1061499

-- @ averages per hour
-- ? text memory_used
-- ? timestamptz 2013-10-10T20:00:00Z
SELECT date_trunc('hour', "timestamp") AS hour, count(*),
       CAST(avg(value) AS int) AS average, max(value) AS highest
  FROM memory
 WHERE type = ? AND "timestamp" >= ?
 GROUP BY hour ORDER BY hour
-- = timestamptz | bigint | int | bigint
-- 2013-10-10T20:00:00Z | 3568 | 934064 | 989421
-- 2013-10-10T21:00:00Z | 3573 | 991818 | 1056562
-- 2013-10-10T22:00:00Z | 3563 | 1066694 | 1136509
-- 2013-10-10T23:00:00Z | 3568 | 1151629 | 1226361

-- @ five minutes of an hour
-- ? timestamptz 2013-10-10T14:20:00Z
-- ? timestamptz 2013-10-10T14:25:00Z
SELECT host, count(*), min(load), max(load), round(CAST(avg(load) AS numeric), 4) AS average
  FROM cpu_load
 WHERE "timestamp" >= ? AND "timestamp" < ?
 GROUP BY host ORDER BY host
-- = text | bigint | float8 | float8 | numeric
-- web1 | 300 | 0.31 | 0.61 | 0.4606
-- web2 | 300 | 0.31 | 0.61 | 0.4595

-- @ sums with filters
SELECT date_trunc('hour', "timestamp") AS hour,
       sum(views) FILTER (WHERE page = '/') AS home,
       sum(views) FILTER (WHERE page = '/docs') AS docs,
       sum(views) FILTER (WHERE page = '/none') AS nothing,
       bool_and(views > 0) AS viewed
  FROM page_views
 GROUP BY hour ORDER BY hour
-- = timestamptz | bigint | bigint | bigint | bool
-- 2013-10-10T12:00:00Z | 505 | 325 | null | true
-- 2013-10-10T13:00:00Z | 309 | 205 | null | true
-- 2013-10-10T14:00:00Z | 376 | 228 | null | true
-- 2013-10-10T15:00:00Z | 603 | 306 | null | true
-- 2013-10-10T16:00:00Z | 921 | 535 | null | true
-- 2013-10-10T17:00:00Z | 1209 | 652 | null | true

-- @ the last price of each stock
-- ? timestamptz 2013-10-10T15:00:00Z
SELECT DISTINCT ON (symbol) symbol, "timestamp", price,
       price - first_value(price) OVER (PARTITION BY symbol ORDER BY "timestamp") AS change
  FROM stocks
 WHERE "timestamp" >= ?
 ORDER BY symbol, "timestamp" DESC
-- = text | timestamptz | numeric | numeric
-- ACME | 2013-10-10T15:29:59Z | 40.59 | -0.83
-- GLOBEX | 2013-10-10T15:29:59Z | 118.54 | 1.52
-- HOOLI | 2013-10-10T15:29:59Z | 86.16 | -1.75
-- INITECH | 2013-10-10T15:29:59Z | 12.12 | 0.20
-- UMBRELLA | 2013-10-10T15:29:59Z | 63.61 | 1.16

-- @ the last point
-- ? text web2
SELECT "timestamp", load
  FROM cpu_load
 WHERE host = ?
 ORDER BY "timestamp" DESC LIMIT 1
-- = timestamptz | float8
-- 2013-10-10T19:59:59Z | 1.34

-- @ some stocks at some times
-- ? text[] ACME,INITECH,NONE
-- ? timestamptz[] 2013-10-10T14:00:00Z,2013-10-10T15:29:59Z
SELECT symbol, "timestamp", price
  FROM stocks
 WHERE symbol = ANY(?) AND "timestamp" = ANY(?)
 ORDER BY symbol, "timestamp"
-- = text | timestamptz | numeric
-- ACME | 2013-10-10T14:00:00Z | 41.29
-- ACME | 2013-10-10T15:29:59Z | 40.59
-- INITECH | 2013-10-10T14:00:00Z | 12.11
-- INITECH | 2013-10-10T15:29:59Z | 12.12

-- @ quarters of an hour
-- ? timestamptz 2013-10-10T00:00:00Z
-- ? int[] 1,3
-- ? timestamptz 2013-10-10T23:30:00Z
SELECT date_bin('15 minutes', "timestamp", ?) AS quarter, sensor_id,
       min(temperature), max(temperature)
  FROM temperatures
 WHERE sensor_id = ANY(?) AND "timestamp" >= ?
 GROUP BY quarter, sensor_id ORDER BY quarter, sensor_id
-- = timestamptz | int | float8 | float8
-- 2013-10-10T23:30:00Z | 1 | 23.5 | 23.8
-- 2013-10-10T23:30:00Z | 3 | 24.4 | 24.8
-- 2013-10-10T23:45:00Z | 1 | 23.4 | 23.8
-- 2013-10-10T23:45:00Z | 3 | 24.4 | 24.7

-- @ a parameter that is null
-- ? text null
-- ? text null
SELECT type, count(*)
  FROM memory
 WHERE CAST(? AS text) IS NULL OR type = ?
 GROUP BY type ORDER BY type
-- = text | bigint
-- memory_free | 85566
-- memory_used | 85566

-- @ the same parameter not null
-- ? text memory_free
-- ? text memory_free
SELECT type, count(*)
  FROM memory
 WHERE CAST(? AS text) IS NULL OR type = ?
 GROUP BY type ORDER BY type
-- = text | bigint
-- memory_free | 85566

-- @ a join with local tables
-- ? timestamptz 2013-10-10T08:00:00Z
-- ? timestamptz 2013-10-10T18:00:00Z
-- ? int 700
SELECT owner, room, CAST(avg(ppm) AS int) AS co2, max(ppm),
       count(*) FILTER (WHERE ppm > 700) AS stale
  FROM readings JOIN devices ON devices.id = sensor_id
                JOIN owners ON owners.id = owner_id
 WHERE "timestamp" >= ? AND "timestamp" < ?
 GROUP BY owner, room HAVING max(ppm) > ? ORDER BY co2 DESC
-- = text | text | int | int | bigint
-- Research | Greenhouse | 780 | 849 | 526
-- Research | Lab | 633 | 785 | 193

-- @ two layouts in one query
SELECT room, r."timestamp", ppm, temperature
  FROM devices
  JOIN (SELECT DISTINCT ON (sensor_id) * FROM readings
         ORDER BY sensor_id, ppm DESC, "timestamp") AS r ON r.sensor_id = devices.id
  JOIN temperatures AS t ON t.sensor_id = devices.id
   AND t."timestamp" = date_trunc('minute', r."timestamp")
 ORDER BY ppm DESC
-- = text | timestamptz | int | float8
-- Greenhouse | 2013-10-10T14:30:37Z | 849 | 20.6
-- Lab | 2013-10-10T18:42:10Z | 790 | 23.3
-- Canteen | 2013-10-10T22:10:03Z | 728 | 24
-- Lobby | 2013-10-10T02:07:05Z | 670 | 22.5

-- @ the last reading of each device
-- ? timestamptz 2013-10-10T12:00:00Z
SELECT room, last."timestamp", last.ppm
  FROM devices
  CROSS JOIN LATERAL (SELECT "timestamp", ppm FROM readings
                       WHERE sensor_id = devices.id AND "timestamp" < ?
                       ORDER BY "timestamp" DESC LIMIT 1) AS last
 ORDER BY room
-- = text | timestamptz | int
-- Canteen | 2013-10-10T11:59:22Z | 409
-- Greenhouse | 2013-10-10T11:59:33Z | 813
-- Lab | 2013-10-10T11:59:38Z | 591
-- Lobby | 2013-10-10T11:59:13Z | 378
