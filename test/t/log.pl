# Proves that mongo_ts_fdw.log_commands logs each command with its text, its
# duration and its outcome, that no password is logged, and that only
# superusers may turn it on.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use MongoTS::Node;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('log', uri => undef, conf => 'log_statement = none');
my $database = 'mts_log';
my $session;

# Run a statement that must succeed.  Returns its messages, with d for
# durations.
sub messages
{
	my ($statement) = @_;
	my (undef, $err) = session_query($session, $statement);

	unlike($err, qr/ERROR/, $statement);
	return $err =~ s/duration: \d+\.\d{3} ms/duration: d/gr;
}

create_server($node, 'mongo', $ENV{MONGODB_URI}, "database '$database', fetch_size '3'");
$node->safe_psql('postgres', <<'END');
	CREATE FOREIGN TABLE points (ts timestamptz, k text, v int OPTIONS (field 'v.{second}'))
		SERVER mongo;
	SELECT mongo_ts_command('mongo', '{"dropDatabase": 1}')
END
$session = session_start($node);
session_query($session, 'SET client_min_messages = log');

# ---- What is logged -------------------------------------------------------

is(messages("INSERT INTO points VALUES ('2020-01-01Z', 'a', 1)"), '', 'off, nothing is logged');
messages('DELETE FROM points; SET mongo_ts_fdw.log_commands = on');

my $log = messages("INSERT INTO points SELECT '2020-01-01Z'::timestamptz + n * interval '1 min', 'first', n
	FROM generate_series(0, 4) n");
like($log, qr/LOG:  00000: MongoDB update on "$database\.points", 5 operations, duration: d, n: 5, nModified: 0, upserted: 5\nDETAIL:  \{update: "points", .*"first"/,
	'a bulk write is logged with the number of its operations');
is(() = $log =~ /first/g, 1, '... and with the first one');

$log = messages("SELECT sum(v) FROM points WHERE k = 'first' AND ts < '2020-01-02Z'");
like($log, qr/MongoDB find on "$database\.points", duration: d, documents: \d\nDETAIL:  \{find: "points", filter: \{k: "first", ts: \{\$not: \{\$gte: ISODate\("2020-01-02T00:00:00Z"\)\}\}\}, projection: \{/,
	'a find is logged with its filter and the number of documents');
like($log, qr/MongoDB getMore on "$database\.points", duration: d, documents: \d\nDETAIL:  \{getMore: (?:NumberLong\("-?\d+"\)|-?\d+), collection: "points", batchSize: 3\}/,
	'... and the batches after it');
unlike($log, qr/lsid|\$db|clusterTime/, 'fields of the protocol are not shown');

$log = messages("SELECT mongo_ts_command('mongo', '{\"count\": \"points\", \"query\": {\"k\": \"first\"}}')");
like($log, qr/MongoDB count on "$database\.points", duration: d, n: 5\nDETAIL:  \{count: "points", query: \{k: "first"\}, comment: "[^"]+"\}/,
	'a count is logged');
$log = messages("SELECT mongo_ts_command('mongo',
	'{\"insert\": \"twice\", \"documents\": [{\"_id\": 1}, {\"_id\": 1}]}')");
like($log, qr/MongoDB insert on "$database\.twice", 2 operations, duration: d, n: 1, writeErrors: 1\nDETAIL:  \{insert: "twice", documents: \[\{_id: 1\}\]/,
	'refused writes are counted');
$log = messages("SELECT mongo_ts_command('mongo', '{\"ping\": 1}')");
like($log, qr/MongoDB ping on "$database", duration: d, done$/m, 'another command is logged');
unlike($log, qr/DETAIL/, '... by its name only');
$log = messages("BEGIN; DECLARE c CURSOR FOR SELECT * FROM points; FETCH c; ROLLBACK");
like($log, qr/MongoDB killCursors on "$database\.points"/, 'so is a command of the end of a transaction');

my (undef, $err) = session_query($session, "SELECT mongo_ts_find('mongo', 'points', '{\"\$nonsense\": 1}')");
like($err, qr/LOG:  00000: MongoDB find on "$database\.points", duration: \S+ ms, error: .*nonsense.*\nDETAIL:  \{find: "points", filter: \{\$nonsense: 1\}/,
	'an error is logged');
like($err, qr/ERROR: /, '... and raised');

# A long text is cut, but never within a character.
foreach my $shift (0 .. 2)
{
	my $text = 'x' x $shift . 'é' x 2000;

	$log = messages("SELECT mongo_ts_find('mongo', 'points', '{\"k\": \"$text\"}')");
	my ($detail) = $log =~ /DETAIL:  (.*)/;
	like($detail, qr/\A\{find: "points", filter: \{k: "x*(?:\xc3\xa9)+\.\.\.\z/, 'a long command is cut');
	cmp_ok(length $detail, '<=', 1003, '... to its first part');
}

# In another encoding than UTF8, characters are escaped.
$node->safe_psql('postgres', "CREATE DATABASE latin1 ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
$node->safe_psql('latin1', 'CREATE EXTENSION mongo_ts_fdw');
my $uri = quoted($ENV{MONGODB_URI});
$node->safe_psql('latin1', "CREATE SERVER mongo FOREIGN DATA WRAPPER mongo_ts_fdw OPTIONS (uri $uri, database '$database');
	CREATE USER MAPPING FOR PUBLIC SERVER mongo");
(undef, undef, $err) = $node->psql('latin1', "SET client_encoding = 'UTF8'; SET client_min_messages = log;
	SET mongo_ts_fdw.log_commands = on;
	SELECT mongo_ts_find('mongo', 'points', json_build_object('k', 'é', 'l', '\\u20ac\\ud83d\\ude00'))");
like($err, qr/filter: \{k: "\\u00e9", l: "\\\\u20ac/, 'in LATIN1, characters are escaped');

# A database can have a name that is not ASCII, also where a cursor goes on.
is( $node->safe_psql(
		'latin1', "SET client_encoding = 'UTF8';
	CREATE SERVER far FOREIGN DATA WRAPPER mongo_ts_fdw OPTIONS (uri $uri, database '${database}_é', fetch_size '2');
	CREATE USER MAPPING FOR PUBLIC SERVER far;
	CREATE FOREIGN TABLE far (ts timestamptz, v int) SERVER far;
	INSERT INTO far SELECT timestamptz '2020-01-01Z' + n * interval '1 s', n FROM generate_series(1, 9) n;
	SELECT sum(v) FROM (SELECT v FROM far OFFSET 0) f;
	SELECT mongo_ts_command('far', '{\"dropDatabase\": 1}') ->> 'ok'"),
	"45\n1", 'in LATIN1, a cursor goes on in a database with such a name');

# A character that the client's encoding lacks is no error.
foreach my $query ("SELECT count(*) FROM points WHERE k = U&'\\20AC'", "SELECT count(*) FROM points WHERE k = 'first'")
{
	my ($out, $messages) = session_query($session, "SET client_encoding = 'LATIN1'; $query");

	is($out, $query =~ m/first/ ? 5 : 0, 'a client in LATIN1 gets the result');
	unlike($messages, qr/ERROR/, '... without an error');
}
session_query($session, 'RESET client_encoding');

# Nor is one in the warning of a rollback.
create_server($node, '"s€"', $ENV{MONGODB_URI}, "database '$database', transactions 'batch'");
$node->safe_psql('postgres', qq{CREATE TABLE local (v int); CREATE FOREIGN TABLE unrolled (ts timestamptz, v int) SERVER "s€"});
session_query($session, q{SET client_encoding = 'LATIN1'});
foreach my $undo ('BEGIN; INSERT INTO local VALUES (1); %s; ROLLBACK', 'BEGIN; SAVEPOINT a; %s; ROLLBACK TO a; INSERT INTO local VALUES (2); COMMIT')
{
	(undef, $err) = session_query($session, sprintf($undo, q{INSERT INTO unrolled VALUES ('2020-01-01Z', 1)}));
	like($err, qr/WARNING:  01000: writes to foreign server "s\\xe2\\x82\\xac" are not rolled back\nDETAIL:  Points of "unrolled" stay stored, changed or removed\.\n/,
		'a client in LATIN1 gets the warning of a rollback');
	unlike($err, qr/ERROR|ABORT/, '... which is complete');
}
is((session_query($session, 'SELECT v FROM local'))[0], 2, '... and the session works');
session_query($session, 'RESET client_encoding');

# ---- What is not ----------------------------------------------------------

# FerretDB and MongoDB differ in what they answer.
(undef, $err) = session_query($session, q(SELECT mongo_ts_command('mongo',
	'{"createUser": "mts_log", "pwd": "s3cret", "roles": []}')));
(undef, my $dropped) = session_query($session, q(SELECT mongo_ts_command('mongo', '{"dropUser": "mts_log"}')));
like($err, qr/MongoDB createUser on "$database", duration/, 'the creation of a user is logged');
unlike("$err$dropped", qr/s3cret/, '... without the password');

# ---- Generic plans --------------------------------------------------------

# The commands that a statement sends, by name and collection
sub commands
{
	my $messages = messages($_[0]);

	return join ', ', map { s/" on.*\.| on "$database\./ /r } $messages =~ m/MongoDB (\w+ on "$database\.\w+)"/g;
}

messages(q{CREATE FOREIGN TABLE flat (ts timestamptz, k text, v float8) SERVER mongo;
	SET plan_cache_mode = force_generic_plan; SET mongo_ts_fdw.log_commands = off;
	INSERT INTO flat VALUES ('2020-01-01Z', 'a', 1);
	SET mongo_ts_fdw.log_commands = on;
	PREPARE hour AS SELECT * FROM points WHERE k = $1 AND ts >= $2 AND ts < $3 ORDER BY ts;
	PREPARE total AS SELECT sum(v) FROM points WHERE k = $1 AND ts < $2;
	PREPARE last AS SELECT DISTINCT ON (k) k, ts FROM points WHERE k = $1 ORDER BY k, ts DESC;
	PREPARE document AS SELECT v FROM flat WHERE k = $1;
	PREPARE store AS INSERT INTO points VALUES ($1, $2, $3);
	EXECUTE hour('a', '2020-01-01Z', '2020-01-02Z'); EXECUTE total('a', '2020-01-02Z'); EXECUTE last('a');
	EXECUTE document('a')});
foreach my $case (
	["hour('a', '2020-01-01Z', '2020-01-02Z')", 'find points, find points'],
	["total('a', '2020-01-02Z')", 'find points'],
	["last('a')", 'find points, find points'],
	["document('a')", 'find flat'],
	["store('2020-01-01 00:01Z', 'a', 2)", 'update points'])
{
	my ($execute, $expected) = @$case;

	is(commands("EXECUTE $execute"), $expected, "EXECUTE $execute sends no other command")
	  for 1 .. 2;
	is(commands("EXPLAIN EXECUTE $execute"), '', '... and to plan it none');
}
messages('DEALLOCATE ALL; RESET plan_cache_mode');

# ---- Open buckets ---------------------------------------------------------

messages(q{CREATE FOREIGN TABLE limited (ts timestamptz OPTIONS (field 's[].t'), k int, v float8 OPTIONS (field 's[].v'))
	SERVER mongo OPTIONS (bucket_time_field 'day', bucket_span '1 day', bucket_max_points '5')});
foreach my $minute (0, 3, 6)
{
	my $insert = "INSERT INTO limited SELECT timestamptz '2020-01-01Z' + i * interval '1 min', k, i
		FROM generate_series($minute, $minute + 2) i, generate_series(1, 3) k";

	is(commands($insert) =~ s/, (?:insert|update) .*//r, 'aggregate limited', 'one reply has the open buckets of all keys');
}

$node->safe_psql('postgres', 'CREATE ROLE somebody; CREATE ROLE allowed;
	GRANT SET ON PARAMETER mongo_ts_fdw.log_commands TO allowed');
(undef, $err) = session_query($session, 'RESET mongo_ts_fdw.log_commands;
	SET ROLE somebody; SET mongo_ts_fdw.log_commands = on');
like($err, qr/ERROR: .*permission denied to set parameter/, 'not everyone may set it');
(undef, $err) = session_query($session, 'SET ROLE allowed; SET mongo_ts_fdw.log_commands = on');
is($err, '', '... but who has the privilege may');
messages('RESET mongo_ts_fdw.log_commands; RESET ROLE');
is(messages('SELECT count(*) FROM points'), '', 'off again, nothing is logged');

$node->safe_psql('postgres', q{SELECT mongo_ts_command('mongo', '{"dropDatabase": 1}')});
session_end($session);
$node->stop;
like(slurp_file($node->logfile), qr/LOG:  MongoDB find on "$database\.points".*\n.*DETAIL:  \{find: /,
	"the server's log has the commands");
like(slurp_file($node->logfile), qr/DETAIL:  \{find: .*k: "\xe2\x82\xac"/, '... also those that the client could not be sent');
unlike(slurp_file($node->logfile) =~ s/STATEMENT: .*(?:\n\t.*)*//gr, qr/s3cret/, '... without the password');

done_testing();
