"""The examples of docs/clients.md: each prints what the page shows.

usage: readme.py DIR, a directory to compile in"""

import os
import re
import subprocess
import sys

from client import done, same

JAVA = """
import java.sql.*;
import java.time.*;

class Example
{
	public static void main(String[] arguments) throws Exception
	{
		%s
	}
}
"""


def java(code):
    """Return what a piece of Java prints.  pgjdbc takes no port from the environment."""
    path = os.path.join(sys.argv[1], 'Example.java')
    with open(path, 'w') as file:
        file.write(JAVA % code.replace('127.0.0.1:5432', '127.0.0.1:' + os.environ['PGPORT']))
    return run(['java', path])


def python(code):
    return run([sys.executable, '-c', code])


def run(command):
    # the reader is the user of the example
    environment = {name: value for name, value in os.environ.items()
                   if name not in ('PGHOST', 'PGUSER', 'PGPASSWORD', 'PGDATABASE')}
    # in a zone that would give another answer if the example did not set its
    # own
    environment['PGTZ'] = 'Asia/Tokyo'
    return subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True).stdout


with open('docs/clients.md') as file:
    section = file.read()
blocks = re.findall(r'^```(\w+)\n(.*?)^```', section, re.M | re.S)
(expected,) = (text for language, text in blocks if language == 'text')
runs = {'java': java, 'python': python}
examples = [block for block in blocks if block[0] in runs]
same(len(examples), 4, 'docs/clients.md: four examples of clients')
for language, code in examples:
    same(runs[language](code), expected, 'docs/clients.md: ' + re.search(r'psycopg\.|sqlalchemy|pyodbc|jdbc', code)[0])
done()
