# Proves that MongoDB sees in each command who asks: option "comment", its
# escapes, and that no name makes a command fail.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use MongoTS::Node;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('comment', uri => undef);
my $database = 'mts_comment';

create_server($node, 'mongo', $ENV{MONGODB_URI}, "database '$database', fetch_size '3'");
$node->safe_psql('postgres', <<'END');
	CREATE SCHEMA plant;
	CREATE FOREIGN TABLE plant."Points" (ts timestamptz, k text, v int OPTIONS (field 'v.{second}'))
		SERVER mongo OPTIONS (collection 'points');
	CREATE FOREIGN TABLE plant.other (ts timestamptz, k text, v int OPTIONS (field 'v.{second}')) SERVER mongo;
	SELECT mongo_ts_command('mongo', '{"dropDatabase": 1}');
	INSERT INTO plant."Points" SELECT '2020-01-01Z'::timestamptz + n * interval '1 min', 'k', n
		FROM generate_series(1, 9) n;
END

my $session = session_start($node);
my ($pid) = session_query($session, 'SELECT pg_backend_pid()');
session_query($session, q{SET application_name = 'report'});

# Run a statement.  Returns the different comments of its commands of some
# names, with PID for the process ID.
sub comments
{
	my ($statement, $names) = @_;
	my (undef, $err) = session_query($session, "SET client_min_messages = log;
		SET mongo_ts_fdw.log_commands = on; $statement;
		RESET mongo_ts_fdw.log_commands; RESET client_min_messages");
	unlike($err, qr/ERROR/, $statement);
	my %seen;
	my @comments = grep { !$seen{ $_ // '' }++ } $err =~ m/MongoDB (?:$names) on .*\nDETAIL:  \{.*?(?:comment: "((?:[^"\\]|\\.)*)".*)?\}$/mg;
	return join ' ', map { ($_ // 'none') =~ s/\[\Q$pid\E\]/[PID]/r } @comments;
}

# ---- The commands that have one -------------------------------------------

my $ours = q(report[PID] plant.\"Points\");
my $table = q(plant."Points");
is(comments("SELECT * FROM $table ORDER BY ts LIMIT 1", 'find'), $ours, 'a find says who asks, and by which table');
is(comments("SELECT sum(v) FROM $table", 'find'), $ours, '... also an aggregate in the scan');
is(comments("INSERT INTO $table VALUES ('2020-01-02Z', 'k', 1)", 'update'), $ours, 'so does an INSERT');
is(comments("INSERT INTO $table VALUES ('2020-01-03Z', 'k', 1), ('2020-01-04Z', 'k', 1)", 'update'),
	$ours, '... of several rows');
is(comments("BEGIN; INSERT INTO $table VALUES ('2020-02-01Z', 'k', 1); SAVEPOINT s; INSERT INTO $table VALUES ('2020-02-02Z', 'k', 1);
	ROLLBACK TO s; INSERT INTO plant.other VALUES ('2020-02-03Z', 'k', 1); COMMIT", qq(update(?= on "$database\\.points"))),
	$ours, '... also if it is sent again, for the sake of another table, after the rollback of a savepoint');
is(comments("UPDATE $table SET v = 2 WHERE ts = '2020-01-02Z'", 'find|update'), $ours, 'an UPDATE');
is(comments("DELETE FROM $table WHERE ts = '2020-01-03Z'", 'find|delete'), $ours, 'a DELETE');
is(comments("DELETE FROM $table WHERE ts >= '2020-01-04Z'", 'delete'), $ours, '... of whole buckets');
is(comments("ANALYZE $table", 'count|aggregate'), $ours, 'ANALYZE');
is(comments("SELECT mongo_ts_find('mongo', 'points')", 'find'), 'report[PID]', 'no table is named without one');
is(comments(q(SELECT mongo_ts_command('mongo', '{"count": "points", "comment": "mine"}')), 'count'),
	'mine', "a command's own comment stays");

# ---- What MongoDB shows ---------------------------------------------------

SKIP:
{
	my $profiled = $node->safe_psql('postgres',
		q(SELECT mongo_ts_command('mongo', '{"buildInfo": 1}')::jsonb ? 'ferretdb'));
	skip 'FerretDB has no profiler', 3 if $profiled eq 't';

	$node->safe_psql('postgres', q(SELECT mongo_ts_command('mongo', '{"profile": 2}')));
	session_query($session, "SELECT * FROM $table; INSERT INTO $table VALUES ('2020-01-02Z', 'k', 1)");
	$node->safe_psql('postgres', q(SELECT mongo_ts_command('mongo', '{"profile": 0}')));
	my $seen = sub {
		my ($op) = @_;
		my $rows = $node->safe_psql('postgres', "SELECT DISTINCT doc->'command'->>'comment'
			FROM mongo_ts_find('mongo', 'system.profile', '{\"op\": \"$op\", \"ns\": \"$database.points\"}', 100) doc");
		return $rows =~ s/\[\Q$pid\E\]/[PID]/gr;
	};
	is($seen->($_), 'report[PID] plant."Points"', "the profiler shows the comment of op \"$_\"")
		foreach qw(query getmore update);
}

# ---- The option -----------------------------------------------------------

# usage: is_comment(PATTERN, COMMENT): with the option, a find has the comment
sub is_comment
{
	my ($pattern, $expected, $name) = @_;
	$node->safe_psql('postgres', 'ALTER SERVER mongo OPTIONS (SET comment ' . quoted($pattern) . ')');
	is(comments("SELECT * FROM $table LIMIT 1", 'find'), $expected, $name);
}

$node->safe_psql('postgres', q(ALTER SERVER mongo OPTIONS (ADD comment '')));
is_comment('', 'none', 'an empty pattern switches comments off');
is_comment('%t', q(plant.\"Points\"), 'a pattern');
my ($user) = session_query($session, 'SELECT session_user');
is_comment('100%% %a|%d|%u|%p', "100% report|postgres|$user|$pid", '... with all escapes');
is_comment(q(it's "x"), q(it's \"x\"), '... without one');

session_query($session, 'SET application_name = DEFAULT');
session_query($session, q(SET application_name = ''));
is_comment('%a', '[unknown]', 'a session without a name');
session_query($session, 'SET application_name = ' . quoted('x' x 200));
is_comment('%a', 'x' x 63, 'a long name is cut by PostgreSQL');
session_query($session, "SET application_name = 'caf\xc3\xa9'");
like(comments("SELECT * FROM $table LIMIT 1", 'find'), qr/^caf(?:\?\?|\\+xc3\\+xa9)$/,
	'another character than ASCII is escaped by PostgreSQL');
session_query($session, q(SET application_name = 'x'));
foreach my $shift (0, 1)
{
	is_comment("\xc3\xa9" x 60 . '%a' . 'y' x $shift . "\xc3\xa9" x 200, "\xc3\xa9" x 60 . 'x' . 'y' x $shift . "\xc3\xa9" x (67 - $shift),
		'a long comment is cut, but not within a character');
}

# A name that is not UTF-8
$node->safe_psql('postgres', "CREATE DATABASE ascii ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0");
$node->safe_psql('ascii', 'CREATE EXTENSION mongo_ts_fdw');
my $uri = quoted($ENV{MONGODB_URI});
my (undef, undef, $err) = $node->psql('ascii', "CREATE SERVER mongo FOREIGN DATA WRAPPER mongo_ts_fdw
		OPTIONS (uri $uri, database '$database');
	CREATE USER MAPPING FOR PUBLIC SERVER mongo;
	CREATE FOREIGN TABLE \"caf\xe9\" (ts timestamptz, k text, v int OPTIONS (field 'v.{second}'))
		SERVER mongo OPTIONS (collection 'points');
	SET client_min_messages = log; SET mongo_ts_fdw.log_commands = on;
	SELECT count(*) FROM \"caf\xe9\"");
unlike($err, qr/ERROR/, 'a table whose name is not UTF-8 is read');
like($err, qr/comment: "[^"]* public\.\\"caf\?\\""/, '... and named without that character');

$node->safe_psql('postgres', q{SELECT mongo_ts_command('mongo', '{"dropDatabase": 1}')});
session_end($session);
$node->stop;
done_testing();
