SELECT left(doc::text, 81) || ' ..' AS "a document of MongoDB"
  FROM mongo_ts_find('mongo', 'prices') AS doc LIMIT 1;

IMPORT FOREIGN SCHEMA mongo_ts_demo FROM SERVER mongo INTO plant;

\d plant.prices

SELECT symbol, count(*), avg(p)::numeric(6,2), min(p), max(p)
  FROM plant.prices WHERE d >= '2013-10-10 14:00' GROUP BY symbol ORDER BY symbol;

EXPLAIN (COSTS OFF) SELECT symbol, avg(p)
  FROM plant.prices WHERE d >= '2013-10-10 14:00' GROUP BY symbol;
