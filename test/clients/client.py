"""What the clients in Python share: the questions of questions.sql as values of
Python, and TAP."""

import os
import re
import sys
import time
from collections import namedtuple
from datetime import datetime
from decimal import Decimal

# sql has a `?` for each parameter; rows are the answer, types those of its
# columns
Question = namedtuple('Question', 'name sql parameters types rows')

ONE = {
    'bigint': int,
    'bool': lambda text: {'true': True, 'false': False}[text],
    'float8': float,
    'int': int,
    'numeric': Decimal,
    'text': str,
    'timestamptz': lambda text: datetime.fromisoformat(text.replace('Z', '+00:00')),
}


def value(type, text):
    """Return a value of questions.sql."""
    if text == 'null':
        return None
    if type.endswith('[]'):
        return [ONE[type[:-2]](one) for one in text.split(',')]
    return ONE[type](text)


def questions():
    """Return all questions."""
    with open(os.path.join(os.path.dirname(__file__), 'questions.sql')) as file:
        _, *blocks = file.read().split('\n-- @ ')
    return [question(block) for block in blocks]


def question(block):
    name, rest = block.split('\n', 1)
    before, after = rest.split('\n-- = ')
    types, *rows = after.strip().split('\n')
    types = types.split(' | ')
    parameters = re.findall(r'^-- \? (\S+) (.*)$', before, re.M)
    return Question(
        name,
        re.sub(r'^--.*\n', '', before, flags=re.M),
        [value(*parameter) for parameter in parameters],
        types,
        [tuple(map(value, types, row.removeprefix('-- ').split(' | '))) for row in rows],
    )


# ---- TAP -----------------------------------------------------------------

count = failures = 0


def ok(is_ok, name):
    global count, failures
    count += 1
    failures += not is_ok
    print('ok' if is_ok else 'not ok', count, '-', name, flush=True)
    return is_ok


def same(got, expected, name):
    """Test that two values are equal, and of the same types where they are rows."""
    if not ok(got == expected and types_of(got) == types_of(expected), name):
        print(f'#      got: {got!r}\n# expected: {expected!r}', flush=True)


def types_of(rows):
    if not isinstance(rows, list):
        return None
    return [[type(cell) for cell in row] if isinstance(row, tuple) else type(row)
            for row in rows]


def fails(call, sqlstate, name):
    """Test that a call raises an error with this SQLSTATE, or text where it has none."""
    try:
        call()
    except Exception as error:
        # psycopg has an attribute for it, in pyodbc it is the first argument
        got = getattr(error, 'sqlstate', None) or error.args[0]
        if not ok(got == sqlstate, name):
            print(f'# {got}: {error}', flush=True)
    else:
        ok(False, name)


def soon(call, sqlstate, name):
    """Test that a call fails so, and long before it would have ended."""
    begin = time.monotonic()
    fails(call, sqlstate, name)
    ok(time.monotonic() - begin < 60, f'{name}: soon')


def done():
    print(f'1..{count}', flush=True)
    sys.exit(failures > 0)


# Rescans the collection for hours.
LONG = """
SELECT count(highest)
  FROM generate_series(1, 1000000) AS n,
       LATERAL (SELECT max(value) AS highest FROM memory WHERE value > n) AS m
"""
