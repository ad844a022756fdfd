"""psqlODBC by pyodbc: the questions with and without cursors on the server, the catalog
as tools ask for it, writes, cancelling."""

import ctypes
import threading
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

import pyodbc
from client import LONG, done, fails, questions, same, soon

DSN = 'DSN=mongo_ts;BoolsAsChar=0'
BEGIN = datetime(2013, 10, 10, 14)
STOCKS = """SELECT "timestamp", price FROM stocks WHERE symbol = 'ACME' ORDER BY "timestamp" """
FOREIGN = ['cpu_load', 'memory', 'page_views', 'readings', 'stocks', 'temperatures', 'typed', 'written']


def parameter(value):
    """ODBC has no arrays: they are sent as text."""
    return '{' + ','.join(map(str, value)) + '}' if isinstance(value, list) else value


def rows(cursor):
    """Its times have no zone: they are the session's, here UTC."""
    return [tuple(cell.replace(tzinfo=timezone.utc) if isinstance(cell, datetime) else cell
                  for cell in row) for row in cursor.fetchall()]


def ask(options):
    with pyodbc.connect(f'{DSN};{options}') as connection:
        for question in questions():
            cursor = connection.execute(question.sql, *map(parameter, question.parameters))
            same(rows(cursor), question.rows, f'ODBC {options}: {question.name}')
        first, second = connection.cursor(), connection.cursor()
        first.execute(STOCKS)
        second.execute(STOCKS)
        got, others = [], []
        while part := first.fetchmany(60):
            got += part
            others += second.fetchmany(60)
        same((len(got), others == got), (5400, True), f'ODBC {options}: two cursors in turn')


def catalog(cursor):
    def names(**how):
        return sorted(row.table_name for row in cursor.tables(schema='public', **how))

    same(names(tableType='TABLE'), sorted(['devices', 'owners'] + FOREIGN), 'ODBC: SQLTables has foreign tables among TABLE')
    same(names(tableType='FOREIGN TABLE'), FOREIGN, 'ODBC: and as FOREIGN TABLE')
    same(names(tableType='VIEW'), ['stocks_view'], 'ODBC: a view over one is a VIEW')
    same([(row.column_name, row.type_name, row.nullable) for row in cursor.columns(table='written')],
         [('timestamp', 'timestamptz', 0), ('client', 'text', 0), ('value', 'float8', 1)],
         'ODBC: SQLColumns has types and NOT NULL')
    same(cursor.primaryKeys('memory').fetchall(), [], 'ODBC: no primary key')
    same(cursor.statistics('memory').fetchall(), [], 'ODBC: no index')
    same(cursor.rowIdColumns('memory').fetchall(), [], 'ODBC: no column that identifies a row')
    cursor.execute('SELECT * FROM stocks LIMIT 0')
    same([(column[0], column[1]) for column in cursor.description],
         [('timestamp', datetime), ('symbol', str), ('price', Decimal)], 'ODBC: columns of a result')


def writes(connection):
    cursor = connection.cursor()
    for fast in False, True:
        client = 'odbc fast' if fast else 'odbc'
        cursor.fast_executemany = fast
        new = [(BEGIN + timedelta(seconds=n), client, n / 2) for n in range(1000)]
        cursor.executemany('INSERT INTO written VALUES (?, ?, ?)', new)
        cursor.execute('SELECT * FROM written WHERE client = ? ORDER BY "timestamp"', client)
        same([tuple(row) for row in cursor.fetchall()], new, f'ODBC: executemany, {client}')
    cursor.execute('UPDATE written SET value = ? WHERE client = ? AND "timestamp" = ?', None, 'odbc', BEGIN)
    same(cursor.rowcount, 1, 'ODBC: UPDATE')
    cursor.execute('DELETE FROM written WHERE client = ? AND "timestamp" >= ?', 'odbc',
                   BEGIN + timedelta(seconds=500))
    same(cursor.rowcount, 500, 'ODBC: DELETE')
    cursor.execute('INSERT INTO written VALUES (?, ?, ?), (?, ?, ?) ON CONFLICT DO NOTHING RETURNING value',
                   BEGIN, 'odbc', 1, BEGIN - timedelta(hours=1), 'odbc', 2)
    same([tuple(row) for row in cursor.fetchall()], [(2.0,)], 'ODBC: ON CONFLICT DO NOTHING RETURNING')
    row = (BEGIN, 'odbc', 7, 2 ** 60 + 1, Decimal('12.345'), 0.1, True, BEGIN, date(2013, 10, 10), b'\0\xff')
    cursor.execute('INSERT INTO typed VALUES (' + ', '.join('?' * len(row)) + ')', *row)
    cursor.execute("""SELECT "timestamp", client, whole, large, exact, real, flag, at, day, bytes
                        FROM typed WHERE client = 'odbc'""")
    same([tuple(row) for row in cursor.fetchall()], [row], 'ODBC: all types')
    connection.commit()


def interrupts(connection):
    cursor = connection.cursor()
    timer = threading.Timer(1, cursor.cancel)
    timer.start()
    soon(lambda: cursor.execute(LONG), '57014', 'ODBC: SQLCancel')
    timer.join()
    connection.rollback()
    same(connection.execute('SELECT count(*) FROM stocks').fetchval(), 27000, 'ODBC: the session goes on')


def updatable():
    """What pyodbc does not ask for: cursors by which rows are changed."""
    odbc = ctypes.CDLL('libodbc.so.2')
    environment, connection = ctypes.c_void_p(), ctypes.c_void_p()
    odbc.SQLAllocHandle(1, None, ctypes.byref(environment))
    odbc.SQLSetEnvAttr(environment, 200, ctypes.c_void_p(3), 0)
    odbc.SQLAllocHandle(2, environment, ctypes.byref(connection))
    odbc.SQLDriverConnect(connection, None, DSN.encode(), -3, None, 0, None, 0)

    def open(type, concurrency):
        statement, state, text = ctypes.c_void_p(), ctypes.create_string_buffer(6), ctypes.create_string_buffer(500)
        odbc.SQLAllocHandle(3, connection, ctypes.byref(statement))
        odbc.SQLSetStmtAttr(statement, 6, ctypes.c_void_p(type), 0)
        odbc.SQLSetStmtAttr(statement, 7, ctypes.c_void_p(concurrency), 0)
        if odbc.SQLExecDirect(statement, STOCKS.encode(), -3) < 0:
            odbc.SQLGetDiagRec(3, statement, 1, state, None, text, 500, None)
        last = odbc.SQLFetchScroll(statement, 3, 0) if not state.value else None
        odbc.SQLFreeHandle(3, statement)
        return state.value.decode(), last, '"ctid" is not supported' in text.value.decode()

    same(open(3, 1), ('', 0, False), 'ODBC: a static cursor, read only, scrolls to the end')
    same(open(3, 3), ('0A000', None, True), 'ODBC: an updatable one takes a ctid, which is refused')
    odbc.SQLDisconnect(connection)


for options in '', 'UseDeclareFetch=1;Fetch=100', 'UseServerSidePrepare=0':
    ask(options)
with pyodbc.connect(DSN) as connection:
    catalog(connection.cursor())
    writes(connection)
    interrupts(connection)
    fails(lambda: connection.execute('SELECT ctid FROM memory'), '0A000', 'ODBC: an error tells its SQLSTATE')
updatable()
done()
