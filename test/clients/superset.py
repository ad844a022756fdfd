"""Apache Superset: each step of docs/bi/superset.md to a chart.

usage: superset.py DIR, a directory to work in

It runs README.md's quick start, the page's sql blocks and commands, and enters the settings in its tables.  They go to Superset as its pages send them, by its REST API.  The answers are compared
with those of a local table, and what Superset sent to PostgreSQL is looked at by EXPLAIN."""

import json
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
from datetime import datetime

import psycopg2
import requests
from client import done, fails, same

DATABASE = 'superset'			# in PostgreSQL
COLLECTIONS = 'mongo_ts_superset'	# the database in MongoDB


# ---- Text of the pages ---------------------------------------------------

def read(path):
    with open(path) as file:
        return file.read()


def blocks(text, language):
    """Return the fenced blocks of a text."""
    return re.findall(rf'^```{language}\n(.*?)^```', text, re.M | re.S)


def section(page, title):
    """Return the text below a heading of a page."""
    return re.search(rf'^## {re.escape(title)}\n(.*?)^## ', read(page), re.M | re.S)[1]


def recipe(title):
    """Return the statement of a question in the cookbook."""
    return blocks(section('docs/cookbook.md', title), 'sql')[0]


def settings():
    """Return the values to enter by the name of their field: all in backticks, as a list."""
    rows = re.findall(r'^\|[^|]*\| (.+?) \| (.+) \|$', PAGE, re.M)
    return {name: re.findall(r'`([^`]+)`', value) for name, value in rows}


def one(name):
    """Return the only value of a setting."""
    (value,) = SET[name]
    return value


PAGE = read('docs/bi/superset.md')
SET = settings()


# ---- PostgreSQL ----------------------------------------------------------

def make_tables():
    """Run the page's statements in a database of their own, whose zone is not the role's."""
    psql('demo', f"""CREATE SERVER superset FOREIGN DATA WRAPPER mongo_ts_fdw
            OPTIONS (uri '{os.environ['MONGODB_URI']}', database '{COLLECTIONS}')""")
    drop_collections()
    psql('postgres', f'CREATE DATABASE {DATABASE}')
    psql('postgres', f"ALTER DATABASE {DATABASE} SET timezone = 'Asia/Tokyo'")
    create, *others = blocks(section('README.md', 'Quick start'), 'sql')
    statements = '\n'.join([create, read('docs/sample.sql')] + others + blocks(PAGE, 'sql'))
    psql(DATABASE, statements.replace(
        "uri 'mongodb://127.0.0.1:27017', database 'plant'",
        f"uri '{os.environ['MONGODB_URI']}', database '{COLLECTIONS}'").replace(
        'IMPORT FOREIGN SCHEMA plant', f'IMPORT FOREIGN SCHEMA {COLLECTIONS}'))
    psql(DATABASE, 'CREATE TABLE copied AS TABLE hits')


def drop_collections():
    psql('demo', """SELECT mongo_ts_command('superset', '{"dropDatabase": 1}')""")


def psql(database, statements):
    subprocess.run(['psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', database], text=True, check=True,
                   input=statements, stdout=subprocess.DEVNULL)


def ask(whom, query):
    """Return the rows that a query has."""
    with psycopg2.connect(whom) as connection, connection.cursor() as cursor:
        cursor.execute(query)
        return cursor.fetchall()


def local(query):
    """Return the rows of a question to the local table."""
    return ask(f"dbname={DATABASE} options='-c timezone=UTC'", query)


def plan(query):
    """Return the plan of what Superset sent, as the role that it did so as."""
    return [line.strip(' ->') for line, in
            ask(uri().replace('+psycopg2', ''), 'EXPLAIN (COSTS OFF) ' + query.rstrip(';\n'))]


def uri():
    """Return the page's URI with the port and the database of here."""
    return one('SQLAlchemy URI').replace(':5432/postgres', f":{os.environ['PGPORT']}/{DATABASE}")


# ---- Superset ------------------------------------------------------------

class Superset:
    """A server, started by the page's commands, and a user's session with it."""

    def __init__(self, home):
        os.mkdir(home)
        self.home = home
        self.log = os.path.join(home, 'log')
        self.server = None
        self.http = requests.Session()
        # without a proxy
        self.http.trust_env = False

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.server:
            self.server.terminate()
            try:
                self.server.wait(20)
            except subprocess.TimeoutExpired:
                self.server.kill()
                self.server.wait()
        if kind:
            with open(self.log) as log:
                print(''.join(f'# {line}' for line in log.readlines()[-40:]), flush=True)

    def start(self):
        """Run the page's commands, of which the last one is the server."""
        port = free_port()
        self.url = f'http://127.0.0.1:{port}'
        *first, last = (
            [sys.executable, os.path.join(os.path.dirname(sys.executable), 'superset'),
             *command.replace('8088', str(port)).split()]
            for command in re.findall(r'^superset (.*)', blocks(PAGE, 'sh')[0], re.M))
        # the URI has the user, the host and the database
        environment = {name: value for name, value in os.environ.items() if not name.startswith('PG')}
        environment |= {'SUPERSET_HOME': self.home, 'SUPERSET_SECRET_KEY': secrets.token_urlsafe(32)}
        with open(self.log, 'w') as log:
            options = {'cwd': self.home, 'env': environment, 'stdin': subprocess.DEVNULL,
                       'stdout': log, 'stderr': log}
            for command in first:
                subprocess.run(command, check=True, **options)
            self.server = subprocess.Popen(last, **options)
        self.wait()

    def wait(self):
        """Wait until it answers."""
        deadline = time.monotonic() + 180
        while True:
            try:
                return self.http.get(self.url + '/health', timeout=60)
            except (requests.ConnectionError, requests.Timeout):
                if self.server.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.2)

    def log_in(self):
        token = self.post('security/login', username=one('Username'), password=one('Password'),
                          provider='db')
        self.http.headers['Authorization'] = 'Bearer ' + token['access_token']
        self.http.headers['X-CSRFToken'] = self.get('security/csrf_token/')['result']
        self.http.headers['Referer'] = self.url

    def get(self, path, **query):
        parameters = {'q': json.dumps(query)} if query else None
        return self.answer(self.http.get(f'{self.url}/api/v1/{path}', params=parameters))

    def post(self, path, **body):
        return self.answer(self.http.post(f'{self.url}/api/v1/{path}', json=body))

    def answer(self, response):
        if not response.ok:
            raise RuntimeError(response.status_code, response.url, response.text)
        return response.json()


def free_port():
    with socket.create_server(('127.0.0.1', 0)) as listener:
        return listener.getsockname()[1]


# ---- The steps -----------------------------------------------------------

def connect(superset):
    """Connect to the database, and return the number of the connection."""
    same(superset.post('database/test_connection/', sqlalchemy_uri=uri())['message'], 'OK',
         'Superset: the connection is tested')
    wrong = uri().replace(':secret@', ':wrong@')
    fails(lambda: superset.post('database/test_connection/', sqlalchemy_uri=wrong), 400,
          'Superset: with a wrong password it fails')
    database = superset.post('database/', database_name='buckets', sqlalchemy_uri=uri(),
                             expose_in_sqllab=True)['id']
    same('public' in superset.get(f'database/{database}/schemas/')['result'], True,
         'Superset: the schema is listed')
    tables = superset.get(f'database/{database}/tables/', schema_name='public', force=True)['result']
    same([table['value'] for table in tables], ['copied', 'hits', 'orders', 'sensors', 'traffic'],
         'Superset: foreign tables are listed')
    return database


def make_dataset(superset, database):
    """Make a dataset of the foreign table, and return what Superset knows of it."""
    number = superset.post('dataset/', database=database, schema=one('Schema'),
                           table_name=one('Table'))['id']
    dataset = superset.get(f'dataset/{number}')['result']
    same([(c['column_name'], c['type'], c['is_dttm']) for c in dataset['columns']],
         [('ts', 'TIMESTAMP WITH TIME ZONE', True), ('page', 'TEXT', False), ('n', 'INTEGER', False)],
         'Superset: the dataset has the columns')
    same(dataset['main_dttm_col'], one('X-axis'), 'Superset: it knows which one is the time')
    values = superset.get(f'datasource/table/{number}/column/page/values/')['result']
    same(sorted(values), ['/blog', '/docs'], 'Superset: a filter offers the keys that there are')
    return dataset


def filters():
    column, *values = SET['Filter']
    return [{'col': one('X-axis'), 'op': 'TEMPORAL_RANGE', 'val': ' : '.join(SET['Time range'])},
            {'col': column, 'op': 'IN', 'val': values}]


def line(grain):
    """Return the query of a line chart."""
    time, page, label = one('X-axis'), one('Dimensions'), one('Metrics')
    function, column = re.fullmatch(r'(\w+)\((\w+)\)', label).groups()
    metric = {'expressionType': 'SIMPLE', 'column': {'column_name': column}, 'aggregate': function,
              'label': label}
    axis = {'columnType': 'BASE_AXIS', 'sqlExpression': time, 'label': time, 'expressionType': 'SQL',
            'timeGrain': grain, 'isColumnReference': True}
    return {'columns': [axis, page], 'metrics': [metric], 'orderby': [[metric, False]],
            'filters': filters(), 'extras': {'time_grain_sqla': grain, 'having': '', 'where': ''},
            'series_columns': [page], 'row_limit': 10000, 'post_processing': [
                {'operation': 'pivot', 'options': {
                    'index': [time], 'columns': [page], 'aggregates': {label: {'operator': 'mean'}},
                    'drop_missing_columns': False}},
                {'operation': 'rename', 'options': {
                    'columns': {label: None}, 'level': 0, 'inplace': True}},
                {'operation': 'flatten'}]}


def table():
    """Return the query of a table of the newest rows."""
    return {'columns': ['ts', 'page', 'n'], 'orderby': [['ts', False]], 'filters': filters(),
            'row_limit': 10}


def context(dataset, query, kind):
    """Return what is sent for a chart with a query."""
    return {'datasource': {'id': dataset['id'], 'type': 'table'}, 'queries': [query],
            'result_format': 'json', 'result_type': 'full',
            'form_data': {'datasource': f"{dataset['id']}__table", 'viz_type': kind}}


def save(superset, dataset, query, kind):
    """Draw and save a chart, and return what it shows: the SQL that was sent, and the rows."""
    sent = context(dataset, query, kind)
    (drawn,) = superset.post('chart/data', **sent)['result']
    chart = superset.post('chart/', slice_name=kind, viz_type=kind, datasource_id=dataset['id'],
                          datasource_type='table', params=json.dumps(sent['form_data']),
                          query_context=json.dumps(sent))['id']
    (again,) = superset.get(f'chart/{chart}/data/')['result']
    same(again['data'], drawn['data'], f'Superset: {kind}: the saved chart is the same')
    return drawn['query'], drawn['data']


def draw(superset, dataset):
    """Draw the page's chart, and a table."""
    grains = {name: code for code, name in dataset['time_grain_sqla']}
    begin, end = SET['Time range']
    where = f"ts >= '{begin}' AND ts < '{end}'"
    query, rows = save(superset, dataset, line(grains[one('Time Grain')]), 'echarts_timeseries_line')
    sums = local(f"""SELECT date_trunc('hour', ts), sum(n) FILTER (WHERE page = '/blog'),
            sum(n) FILTER (WHERE page = '/docs') FROM copied WHERE {where} GROUP BY 1 ORDER BY 1""")
    same([(row['ts'] / 1000, row['/blog'], row['/docs']) for row in rows],
         [(hour.timestamp(), float(blog), float(docs)) for hour, blog, docs in sums],
         'Superset: a line chart by hour')
    is_pushed(query, 'Relations: Partial Aggregate on (hits)', FOUND)

    query, rows = save(superset, dataset, table(), 'table')
    newest = local(f'SELECT ts, page, n FROM copied WHERE {where} ORDER BY ts DESC LIMIT 10')
    same(sorted(tuple(row.values()) for row in rows),
         sorted((ts.timestamp() * 1000, page, n) for ts, page, n in newest),
         'Superset: a table of the newest rows')
    is_pushed(query, 'Foreign Scan on hits', FOUND + '.sort({ts: -1})')

    for name, code in grains.items():
        sent = context(dataset, line(code) | {'post_processing': []}, 'echarts_timeseries_line')
        (drawn,) = superset.post('chart/data', **sent)['result']
        rows = local(drawn['query'].replace('public.hits', 'copied'))
        same(sorted(tuple(row.values()) for row in drawn['data']),
             sorted((ts.timestamp() * 1000, page, n) for ts, page, n in rows),
             f'Superset: a chart by grains: {name}')
        is_pushed(drawn['query'], 'Relations: Partial Aggregate on (hits)', FOUND)


def lab(superset, database):
    """Ask the cookbook's questions in SQL Lab."""
    for title, how, found in LAB:
        sql = recipe(title)
        answer = superset.post('sqllab/execute/', database_id=database, schema=one('Schema'), sql=sql,
                               client_id=secrets.token_hex(5), runAsync=False, queryLimit=1000)
        same([tuple(row.values()) for row in answer['data']],
             [tuple(map(shown, row)) for row in local(sql.replace('hits', 'copied'))],
             f'Superset: SQL Lab: {title}')
        is_pushed(answer['query']['executedSql'], how, found)


def shown(value):
    return value.isoformat() if isinstance(value, datetime) else value


def is_pushed(query, how, found):
    """Test that a query reads the table so, asks MongoDB just that, and checks nothing again."""
    lines = plan(query)
    same([line for line in lines if line == how], [how], f'Superset: it does so by {how}')
    same([line for line in lines if line.startswith(('MongoDB Query', 'Filter'))],
         ['MongoDB Query: db.hits.find(' + found], 'Superset: MongoDB is asked for no more')


FIELDS = '{n: 1, ts: 1, page: 1}'
FOUND = ('{page: {$in: ["/docs", "/blog"]}, ts: {$gte: ISODate("2024-04-30T23:01:00Z"), '
         '$lt: ISODate("2024-05-03T00:00:00Z")}}, ' + FIELDS + ')')
LAB = [('Sum per hour, day, week, month', 'Relations: Partial Aggregate on (hits)',
        '{ts: {$gte: ISODate("2024-05-01T21:01:00Z"), $lt: ISODate("2024-05-02T01:00:00Z")}}, '
        + FIELDS + ')'),
       ('The last value of each series', 'Skip Scan Keys: page', '{}, ' + FIELDS + ').sort({ts: -1})')]
# the time zone is that of the role
del os.environ['PGTZ']
# a signal to this process also ends Superset
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
make_tables()
try:
    with Superset(os.path.join(sys.argv[1], 'superset')) as superset:
        superset.start()
        superset.log_in()
        database = connect(superset)
        draw(superset, make_dataset(superset, database))
        lab(superset, database)
finally:
    drop_collections()
done()
