"""psycopg: the questions in both formats of values, cursors on the server, COPY, writes,
cancelling."""

import threading
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import psycopg
from client import LONG, done, fails, ok, questions, same, soon
from psycopg.types.json import Jsonb

BEGIN = datetime(2013, 10, 10, 14, tzinfo=timezone.utc)
STOCKS = """SELECT "timestamp", price FROM stocks WHERE symbol = 'ACME' ORDER BY "timestamp" """


def ask(connection, text, **how):
    for question in questions():
        with connection.cursor(binary=how.get('binary', False)) as cursor:
            for _ in range(how.get('times', 1)):
                cursor.execute(question.sql.replace('?', '%s'), question.parameters,
                               prepare=how.get('prepare', False))
                rows = cursor.fetchall()
        same(rows, question.rows, f'psycopg{text}: {question.name}')


def cursors(connection):
    """Cursors on the server, in one connection."""
    whole = connection.execute(STOCKS).fetchall()
    with connection.transaction():
        first = connection.cursor('first')
        second = connection.cursor('second', binary=True)
        first.itersize = 100
        first.execute(STOCKS)
        second.execute(STOCKS)
        rows, others = [], []
        for row in first:
            rows.append(row)
            others += second.fetchmany(2)
        same(rows, whole, 'psycopg: a cursor gives all rows in order')
        same(others, whole, 'psycopg: so does another one, read in turn')
        first.close()
    held = connection.cursor('held', withhold=True, scrollable=True)
    held.execute(STOCKS)
    same(held.fetchmany(2), whole[:2], 'psycopg: a cursor WITH HOLD')
    connection.commit()
    same(held.fetchmany(2), whole[2:4], 'psycopg: it goes on after COMMIT')
    held.scroll(0, mode='absolute')
    same(held.fetchall(), whole, 'psycopg: and back')
    held.close()
    connection.commit()


def copy(connection):
    for format in 'text', 'binary':
        client = f'copy {format}'
        rows = [(BEGIN + timedelta(seconds=n), client, None if n == 7 else n / 8)
                for n in range(1000)]
        with connection.cursor() as cursor:
            with cursor.copy(f'COPY written FROM STDIN (FORMAT {format})') as copy:
                copy.set_types(['timestamptz', 'text', 'float8'])
                for row in rows:
                    copy.write_row(row)
            same(cursor.rowcount, 1000, f'psycopg: COPY in, {format}')
            with cursor.copy(f"""COPY (SELECT * FROM written WHERE client = '{client}'
                    ORDER BY "timestamp") TO STDOUT (FORMAT {format})""") as copy:
                copy.set_types(['timestamptz', 'text', 'float8'])
                same(list(copy.rows()), rows, f'psycopg: COPY out, {format}')
    connection.commit()
    fails(lambda: connection.execute('COPY written TO STDOUT'), '42809',
          'psycopg: COPY out takes a query')
    connection.rollback()


def writes(connection):
    rows = [(BEGIN + timedelta(seconds=n), 'psycopg', float(n)) for n in range(1000)]
    with connection.cursor() as cursor:
        cursor.executemany('INSERT INTO written VALUES (%s, %s, %s)', rows)
        same(cursor.rowcount, 1000, 'psycopg: executemany')
    same(connection.execute("""SELECT * FROM written WHERE client = 'psycopg'
            ORDER BY "timestamp" """).fetchall(), rows, 'psycopg: its rows')
    with connection.cursor() as cursor:
        cursor.executemany("""INSERT INTO written VALUES (%s, %s, %s)
                ON CONFLICT DO NOTHING RETURNING value""",
                           [(BEGIN, 'psycopg', -1), (BEGIN - timedelta(hours=1), 'psycopg', -2)],
                           returning=True)
        got = []
        for _ in cursor.results():
            got += cursor.fetchall()
        same(got, [(-2.0,)], 'psycopg: ON CONFLICT DO NOTHING RETURNING gives what is new')
    same(connection.execute("""UPDATE written SET value = value + %s
            WHERE client = %s AND "timestamp" = ANY(%s) RETURNING "timestamp", value""",
                            (0.5, 'psycopg', [BEGIN])).fetchall(),
         [(BEGIN, 0.5)], 'psycopg: UPDATE RETURNING')
    same(connection.execute("""DELETE FROM written WHERE client = %s AND "timestamp" < %s""",
                            ('psycopg', BEGIN)).rowcount, 1, 'psycopg: DELETE')
    connection.commit()


def types(connection):
    """All types there and back, as binary values."""
    row = (BEGIN, 'psycopg', 7, 2 ** 60 + 1, Decimal('12.345'), 0.1, True, datetime(2013, 10, 10, 16),
           date(2013, 10, 10), b'\0\xff', UUID(int=7), {'a': [1, None]})
    connection.execute('INSERT INTO typed VALUES (' + ', '.join(['%b'] * len(row)) + ')',
                       row[:-1] + (Jsonb(row[-1]),))
    nothing = (BEGIN + timedelta(seconds=1), 'psycopg') + (None,) * (len(row) - 2)
    connection.execute('INSERT INTO typed VALUES (' + ', '.join(['%b'] * len(row)) + ')', nothing)
    for binary in False, True:
        with connection.cursor(binary=binary) as cursor:
            same(cursor.execute("""SELECT * FROM typed WHERE client = 'psycopg'
                    ORDER BY "timestamp" """).fetchall(), [row, nothing],
                 'psycopg: all types' + (', binary' if binary else ''))
    fails(lambda: connection.execute('INSERT INTO written VALUES (%s, %s, 1)',
                                     (BEGIN.replace(microsecond=500000), 'psycopg')),
          '22008', 'psycopg: a time between two slots is refused')
    connection.rollback()


def interrupts(connection):
    timer = threading.Timer(1, connection.cancel_safe)
    timer.start()
    soon(lambda: connection.execute(LONG), '57014', 'psycopg: cancelled')
    timer.join()
    connection.rollback()
    connection.execute('SET statement_timeout = 500')
    connection.commit()
    soon(lambda: connection.execute(LONG), '57014', 'psycopg: statement_timeout')
    connection.rollback()
    connection.execute('SET statement_timeout = 0')
    same(connection.execute('SELECT count(*) FROM stocks').fetchall(), [(27000,)],
         'psycopg: the session goes on')
    connection.commit()


with psycopg.connect() as connection:
    ask(connection, '')
    ask(connection, ', binary', binary=True)
    ask(connection, ', generic plan', prepare=True, times=7)
    ok(connection.execute("""SELECT max(generic_plans) FROM pg_prepared_statements
            WHERE statement LIKE '%%memory%%'""").fetchone()[0] > 0, 'psycopg: it was generic')
    connection.commit()
    with connection.pipeline():
        ask(connection, ', pipeline')
    cursors(connection)
    copy(connection)
    writes(connection)
    types(connection)
    connection.commit()
    interrupts(connection)
done()
