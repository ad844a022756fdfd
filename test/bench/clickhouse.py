"""Answer each line, a query, by the seconds that ClickHouse takes for it.

usage: clickhouse.py DIR, where DIR holds the module chdb

The result is computed and thrown away.
"""

import sys
import time

sys.path.insert(0, sys.argv[1])
from chdb import session  # noqa: E402

clickhouse = session.Session()
for query in sys.stdin:
    begin = time.monotonic()
    clickhouse.query(query, "Null")
    print(f"{time.monotonic() - begin:.6f}", flush=True)
