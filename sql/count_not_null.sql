--
-- Tests count(column) of columns that are declared NOT NULL.  Since version 19,
-- PostgreSQL itself replaces it by count(*), which also counts documents that
-- lack the field; hence the second expected output.
--
\set suite count_not_null
\i sql/include/suite.sql

\pset format unaligned
\pset tuples_only on

\i sql/include/counts.sql

CREATE FOREIGN TABLE event (ts timestamptz NOT NULL, host text NOT NULL, n int NOT NULL, label text) SERVER count_not_null;
INSERT INTO event SELECT timestamptz '2024-03-10 00:00Z' + i * interval '1 minute', 'h' || i % 4, i, 'l' || i % 4
  FROM generate_series(1, 1000) i;
ANALYZE event;
SELECT counts('SELECT count(*) FROM event'), counts('SELECT count(n) FROM event'), counts('SELECT count(ts) FROM event'),
  counts('SELECT count(host) FROM event'), counts('SELECT count(label) FROM event');

-- A document that lacks the fields breaks the declaration.
CALL put('event', '[{"label": "odd"}]');
SELECT counts('SELECT count(*) FROM event'), counts('SELECT count(n) FROM event'), counts('SELECT count(ts) FROM event'),
  counts('SELECT count(host) FROM event'), counts('SELECT count(label) FROM event');
