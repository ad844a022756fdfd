-- chart.sql: draws a chart of the air in four rooms as SVG, by one query.
--
-- The first part selects the data, the second one defines the axes.  The rest
-- fits up to about ten series.

WITH series (name, t, v) AS (
  SELECT room, date_bin('15 minutes', "timestamp", '2013-10-10'), avg(ppm)
    FROM readings JOIN devices ON devices.id = sensor_id
   GROUP BY 1, 2
), axes AS (
  SELECT 'CO2 in ppm, averages of 15 minutes of 2013-10-10 (UTC)' AS title,
         min(t) AS t0, max(t) AS t1, interval '3 hours' AS dt, 'HH24:MI' AS clock,
         floor(min(v) / 100) * 100 AS v0, ceil(max(v) / 100) * 100 AS v1, 100 AS dv
    FROM series
), points AS (
  SELECT name, dense_rank() OVER (ORDER BY name) AS n,
         round(60 + 640 * extract(epoch FROM t - t0) / extract(epoch FROM t1 - t0), 1) AS x,
         round((320 - 270 * (v - v0) / (v1 - v0))::numeric, 1) AS y
    FROM series, axes
), elements (z, element) AS (
  SELECT 1, format('<text x="60" y="28" font-size="16">%s</text>', title) FROM axes
  UNION ALL
  SELECT 2, format('<path d="M60 %1$s h640" class="grid"/><text x="52" y="%1$s" dy="4" text-anchor="end">%2$s</text>',
                   round(320 - 270 * (v - v0) / (v1 - v0)), v)
    FROM axes, generate_series(v0::numeric, v1::numeric, dv) v
  UNION ALL
  SELECT 3, format('<path d="M%1$s 320 v6" class="axis"/><text x="%1$s" y="342" text-anchor="middle">%2$s</text>',
                   round(60 + 640 * extract(epoch FROM t - t0) / extract(epoch FROM t1 - t0)), to_char(t, clock))
    FROM axes, generate_series(t0, t1, dt) t
  UNION ALL
  SELECT 4, format('<g style="--c: var(--c%1$s)"><polyline points="%2$s"/><text x="712" y="%3$s" class="name">%4$s</text></g>',
                   1 + (n - 1) % 4, string_agg(x || ',' || y, ' ' ORDER BY x), 38 + 20 * n, name)
    FROM points GROUP BY n, name
)
SELECT $$<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 360" width="800" font-family="sans-serif" font-size="13">
<style>
svg { --c1: #0969da; --c2: #bc4c00; --c3: #1a7f37; --c4: #8250df }
text { fill: #1f2328 }
.grid { stroke: #d8dee4 } .axis { stroke: #8c959f }
@media (prefers-color-scheme: dark) {
svg { --c1: #58a6ff; --c2: #f0883e; --c3: #3fb950; --c4: #bc8cff }
text { fill: #e6edf3 }
.grid { stroke: #30363d } .axis { stroke: #6e7681 }
}
polyline { fill: none; stroke-width: 2; stroke: var(--c) }
text.name { fill: var(--c) }
</style>
$$ || string_agg(element, E'\n' ORDER BY z, element) || E'\n</svg>'
  FROM elements;
