"""SQLAlchemy and pandas: the questions, reflection, data frames, the ORM, inserts."""

from datetime import datetime, timedelta, timezone

import pandas
import sqlalchemy
from client import done, fails, questions, same
from sqlalchemy import func, select
from sqlalchemy.orm import DeclarativeBase, Session

BEGIN = datetime(2013, 10, 10, 14, tzinfo=timezone.utc)
FOREIGN = ['cpu_load', 'memory', 'page_views', 'readings', 'stocks', 'temperatures', 'typed', 'written']

engine = sqlalchemy.create_engine('postgresql+psycopg://')


def named(question):
    """Return a question as SQLAlchemy wants it: its parameters have names."""
    first, *rest = question.sql.split('?')
    sql = first + ''.join(f':p{n}{part}' for n, part in enumerate(rest))
    return sqlalchemy.text(sql), {f'p{n}': p for n, p in enumerate(question.parameters)}


def ask():
    with engine.connect() as connection:
        for question in questions():
            rows = connection.execute(*named(question)).all()
            same([tuple(row) for row in rows], question.rows, f'SQLAlchemy: {question.name}')
            sql, parameters = named(question)
            frame = pandas.read_sql(sql, connection, params=parameters, coerce_float=False)
            same(plain(frame), question.rows, f'pandas: {question.name}')


def plain(frame):
    """Return the rows of a data frame as values of Python."""
    columns = []
    for name in frame:
        column = frame[name]
        if isinstance(column.dtype, pandas.DatetimeTZDtype):
            column = column.dt.to_pydatetime()
        columns.append([None if cell is None else cell
                        for cell in getattr(column, 'tolist', column.__iter__)()])
    return list(zip(*columns))


def reflect():
    inspector = sqlalchemy.inspect(engine)
    same(sorted(inspector.get_table_names()), ['devices', 'owners'],
         'SQLAlchemy: get_table_names has no foreign tables')
    same(sorted(inspector.get_foreign_table_names()), FOREIGN,
         'SQLAlchemy: get_foreign_table_names has them')
    same(inspector.get_view_names(), ['stocks_view'], 'SQLAlchemy: get_view_names has views over them')
    same(inspector.get_pk_constraint('memory')['constrained_columns'], [], 'SQLAlchemy: no primary key')
    same(inspector.get_indexes('memory'), [], 'SQLAlchemy: no index')

    table = sqlalchemy.Table('written', sqlalchemy.MetaData(), autoload_with=engine)
    same([(str(c.name), str(c.type), c.nullable) for c in table.columns],
         [('timestamp', 'TIMESTAMP', False), ('client', 'TEXT', False), ('value', 'DOUBLE PRECISION', True)],
         'SQLAlchemy: a table is reflected')
    same(table.c.timestamp.type.timezone, True, 'SQLAlchemy: its time has a zone')
    metadata = sqlalchemy.MetaData()
    metadata.reflect(engine, views=True)
    same(sorted(metadata.tables), ['devices', 'owners', 'stocks_view'],
         'SQLAlchemy: reflect() takes foreign tables by views only')


def expressions():
    """A query that is built from a reflected table."""
    memory = sqlalchemy.Table('memory', sqlalchemy.MetaData(), autoload_with=engine)
    hour = func.date_trunc('hour', memory.c.timestamp)
    query = (select(hour, func.count(), func.max(memory.c.value))
             .where(memory.c.type == 'memory_used', memory.c.timestamp >= BEGIN + timedelta(hours=6))
             .group_by(hour).order_by(hour))
    with engine.connect() as connection:
        rows = [tuple(row) for row in connection.execute(query)]
    (expected,) = (q.rows for q in questions() if q.name == 'averages per hour')
    same(rows, [(hour, count, top) for hour, count, _, top in expected], 'SQLAlchemy: an expression')


def frames():
    parameters = {'type': 'memory_used', 'begin': BEGIN + timedelta(hours=6)}
    query = sqlalchemy.text('''SELECT "timestamp", value FROM memory
            WHERE type = :type AND "timestamp" >= :begin ORDER BY "timestamp"''')
    frame = pandas.read_sql(query, engine, params=parameters, index_col='timestamp')
    hours = frame.value.resample('h').agg(['count', 'max'])
    (expected,) = (q.rows for q in questions() if q.name == 'averages per hour')
    same([(hour.to_pydatetime(), *map(int, row)) for hour, *row in hours.itertuples()],
         [(hour, count, top) for hour, count, _, top in expected], 'pandas: resample')

    with engine.connect().execution_options(stream_results=True) as connection:
        parts = list(pandas.read_sql(query, connection, params=parameters, chunksize=1000))
    same(len(parts), 15, 'pandas: chunks of a cursor')
    same(pandas.concat(parts).set_index('timestamp').equals(frame), True, 'pandas: together they are all')
    same(len(pandas.read_sql_table('stocks_view', engine)), 27000, 'pandas: read_sql_table reads a view')
    fails(lambda: pandas.read_sql_table('stocks', engine),
          "Could not reflect: requested table(s) not available in "
          "Engine(postgresql+psycopg://): (stocks)", 'pandas: read_sql_table finds no foreign table')

    frame = pandas.DataFrame({'timestamp': pandas.date_range(BEGIN, periods=1000, freq='s'), 'value': 0.5})
    for method in None, 'multi':
        client = f'pandas {method}'
        frame.assign(client=client).to_sql('written', engine, if_exists='append', index=False, method=method)
        with engine.connect() as connection:
            back = pandas.read_sql(sqlalchemy.text('''SELECT "timestamp", value FROM written
                    WHERE client = :client ORDER BY "timestamp"'''), connection, params={'client': client})
        same(list(back.itertuples(index=False, name=None)), list(frame.itertuples(index=False, name=None)),
             f'pandas: to_sql, method {method}')


class Base(DeclarativeBase):
    pass


class Written(Base):
    # the table has no primary key, but time and keys identify a row
    __table__ = sqlalchemy.Table('written', Base.metadata, autoload_with=engine)
    __mapper_args__ = {'primary_key': [__table__.c.timestamp, __table__.c.client]}


def orm():
    with Session(engine) as session:
        session.add_all(Written(timestamp=BEGIN + timedelta(seconds=n), client='orm', value=n)
                        for n in range(1000))
        session.commit()
        one = session.get(Written, (BEGIN + timedelta(seconds=9), 'orm'))
        same(one.value, 9.0, 'SQLAlchemy: the ORM finds a point by time and key')
        one.value = 9.5
        session.delete(session.get(Written, (BEGIN, 'orm')))
        session.commit()
        rows = session.execute(select(func.count(), func.sum(Written.value)).where(Written.client == 'orm'))
        same([tuple(row) for row in rows], [(999, 499500.5)],
             'SQLAlchemy: the ORM adds, changes and deletes')


ask()
reflect()
expressions()
frames()
orm()
done()
