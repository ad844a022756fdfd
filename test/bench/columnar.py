"""Answer each line, a query, by the seconds that ClickHouse or DuckDB takes.

usage: columnar.py DIR chdb|duckdb, where DIR holds the modules

The result is computed and thrown away.
"""

import sys
import time

sys.path.insert(0, sys.argv[1])
if sys.argv[2] == "chdb":
    from chdb import session  # noqa: E402

    clickhouse = session.Session()

    def run(query):
        """Run a query without its result."""
        clickhouse.query(query, "Null")
else:
    import duckdb  # noqa: E402

    local = duckdb.connect()

    def run(query):
        """Run a query and fetch its result."""
        local.execute(query).fetchall()

for query in sys.stdin:
    begin = time.monotonic()
    run(query)
    print(f"{time.monotonic() - begin:.6f}", flush=True)
