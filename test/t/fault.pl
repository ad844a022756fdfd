# Proves that a scan returns all rows or an error when MongoDB dies, hangs,
# moves or does not exist.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use MongoTS::Node;
use Test::More;
use Time::HiRes qw(time usleep);

# The errors of a lost connection: 08xxx or HVxxx
my $lost = qr/ERROR:  (08|HV)[0-9A-Z]{3}: /;

# The longest time until an interrupt takes effect, in seconds
my $soon = 2.5;

my $proxy = proxy_start();
my $node = new_node('fault', uri => undef);

create_server($node, 'mongo', proxy_uri($proxy),
	"database 'mts_fault', fetch_size '10'");
$node->safe_psql('postgres', <<'END');
	SELECT mongo_ts_command('mongo', '{"dropDatabase": 1}');
	CREATE FOREIGN TABLE points (
		ts timestamptz,
		v  int OPTIONS (field 'v.{second}')
	) SERVER mongo OPTIONS (collection 'buckets');
	CREATE FOREIGN TABLE large (ts timestamptz, v text) SERVER mongo;
	SELECT mongo_ts_command('mongo', json_build_object('insert', 'buckets',
			'documents', json_agg(json_build_object(
				'_id', i,
				'ts', json_build_object('$date',
					to_char('2020-01-01'::timestamp + i * interval '1 minute',
						'YYYY-MM-DD"T"HH24:MI:SSZ')),
				'v', '{"0": 1, "1": 2}'::json))))
	  FROM generate_series(0, 999) i;
END

my $session = session_start($node);
my ($out, $err, $seconds);

# Check that the session reads the whole table.
sub check_works
{
	my ($name) = @_;

	($out, $err) = session_query($session, 'SELECT count(*) FROM points');
	is("$out$err", '2000', $name);
	return;
}

check_works('all rows are there');

# ---- A server that dies during a scan -------------------------------------

sub open_cursor
{
	($out, $err) = session_query($session, <<'END');
		BEGIN;
		DECLARE c CURSOR FOR SELECT v FROM points;
		MOVE 15 FROM c;
		FETCH 5 FROM c
END
	is(scalar(split(/\n/, $out)), 5, 'the cursor is partly fetched') or diag $err;
	return;
}

open_cursor();
proxy_kill($proxy);
($out, $err) = session_query($session, 'FETCH ALL FROM c');
like($err, $lost, 'a server that dies in mid-scan is an error');
is($out, '', 'a server that dies returns no rows');
($out, $err) = session_query($session, 'ROLLBACK; SELECT count(*) FROM points');
like($err, $lost, 'the next query is an error while the server is down');
proxy_start($proxy);
check_works('the session works after the restart');

open_cursor();
proxy_kill($proxy);
proxy_start($proxy);
($out, $err) = session_query($session, 'FETCH ALL FROM c');
like($err, $lost, 'a server that is restarted at once is an error');
session_query($session, 'ROLLBACK');
check_works('the session works after the quick restart');

# An aggregate over an interrupted scan must not be a smaller result.
foreach my $delay (1, 5, 20, 50)
{
	session_send($session,
		'SELECT count(*), count(pg_sleep(0.0005)) FROM points');
	usleep($delay * 10_000);
	proxy_kill($proxy);
	($out, $err) = session_wait($session);
	ok($out eq '2000|2000' || ($out eq '' && $err =~ $lost),
		"cut after $delay ms: all rows or an error")
	  or diag "$out $err";
	proxy_start($proxy);
}
check_works('the session works after all of that');

# ---- A server that does not exist -----------------------------------------

$node->safe_psql('postgres', <<'END');
	CREATE SERVER away FOREIGN DATA WRAPPER mongo_ts_fdw
		OPTIONS (uri 'mongodb://127.0.0.1:1', database 'd');
	CREATE USER MAPPING FOR PUBLIC SERVER away
		OPTIONS (username 'user', password 's3cret');
	CREATE FOREIGN TABLE away (ts timestamptz, v int OPTIONS (field 'v.{second}'))
		SERVER away;
END
($out, $err, $seconds) = session_query($session, 'SELECT * FROM away');
like($err, $lost, 'no server is an error');
like($err, qr/127\.0\.0\.1:1\b/, 'the error names the address');
unlike($err, qr/s3cret/, 'the error contains no password');
cmp_ok($seconds, '<', 5, 'the error is raised within 5 seconds');
check_works('another server is read');

# ---- A server that hangs --------------------------------------------------

# End a scan in each way: during it, at its start, and while it connects.
sub hang
{
	my ($name, $statement, $says) = @_;

	proxy_signal($proxy, 'STOP');
	session_query($session, "SET statement_timeout = '1s'");
	($out, $err, $seconds) = session_query($session, $statement);
	like($err, $says // qr/ERROR:  57014: .*statement timeout/,
		"$name: the timeout ends it");
	cmp_ok($seconds, '<', 1 + $soon, "$name: in time");
	proxy_signal($proxy, 'CONT');
	session_query($session, 'ROLLBACK; RESET statement_timeout');
	check_works("$name: the session works when the server continues");
	return;
}

hang('start', 'SELECT count(*) FROM points');
open_cursor();
hang('mid-scan', 'FETCH ALL FROM c');
session_query($session,
	"ALTER SERVER mongo OPTIONS (SET fetch_size '11')");	# needs a new connection
hang('connect', 'SELECT count(*) FROM points');
hang('command', q{SELECT mongo_ts_command('mongo', '{"ping": 1}')});
# more than the socket buffers hold; nothing of it is sent if libmongoc asks the
# server before
hang('send', q{INSERT INTO large SELECT '2020-01-01Z', repeat('x', 1000000) FROM generate_series(1, 40)},
	qr/ERROR:  (?:57014: .*statement timeout|08007: .*unknown whether the last bulk write)/s);

sub interrupt
{
	my ($function) = @_;

	proxy_signal($proxy, 'STOP');
	session_send($session, 'SELECT count(*) FROM points');
	usleep(500_000);
	my $begin = time();
	$node->safe_psql('postgres', "SELECT $function($session->{pid})");
	($out, $err) = session_wait($session);
	$seconds = time() - $begin;
	cmp_ok($seconds, '<', $soon, "$function ends the scan in time");
	return;
}

interrupt('pg_cancel_backend');
like($err, qr/ERROR:  57014: .*user request/, 'the error is that of a cancel');
proxy_signal($proxy, 'CONT');
check_works('the session works when the server continues');

interrupt('pg_terminate_backend');
like($err, qr/FATAL:  57P01: /, 'the error is that of a termination');
$node->poll_query_until('postgres',
	"SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $session->{pid}")
  or die 'the backend is still there';
proxy_signal($proxy, 'CONT');
session_end($session);
$session = session_start($node);
check_works('a new session works');

# ---- Connections ----------------------------------------------------------

create_server($node, 'admin', $ENV{MONGODB_URI}, "database 'admin'");

# The cursors of this program that the server has open
sub open_cursors
{
	my ($count) = session_query($session, <<'END');
		SELECT jsonb_array_length(mongo_ts_command('admin', '{"aggregate": 1, "cursor": {}, "pipeline": [
			{"$currentOp": {"idleCursors": true}},
			{"$match": {"type": "idleCursor", "ns": {"$regex": "^mts_fault[.]"}}}]}') #> '{cursor,firstBatch}')
END
	return $count;
}

# A scan that is interrupted before its first batch does not know the id of its
# cursor.  MongoDB closes that cursor after ten minutes.
my $cursors = open_cursors();

is(proxy_connections($proxy), 1, 'there is one connection');
session_query($session, <<'END');
	SELECT (SELECT count(*) FROM points WHERE v = i AND ts < '2020-01-01 00:30Z')
	  FROM generate_series(1, 100) i
END
is(proxy_connections($proxy), 1, 'there is one connection after 100 rescans');
session_query($session, "SELECT 1 / (v - 2) FROM points;\n" x 100);
like($err = (session_query($session, 'SELECT 1 / (v - 2) FROM points'))[1],
	qr/division by zero/, 'errors in mid-scan');
session_query($session, "SELECT * FROM points LIMIT 1;\n" x 100);
is(proxy_connections($proxy), 1, 'there is one connection after 100 errors and limits');
($out, $err) = session_query($session, 'SELECT count(*) FROM points a, points b WHERE a.ts = b.ts AND a.v = b.v');
is("$out$err", '2000', 'two scans run at once');
is(proxy_connections($proxy), 1, 'there is one connection after two scans at once');
SKIP:
{
	skip 'the server does not tell of its cursors', 1 unless $cursors =~ /^\d+$/;
	is(open_cursors(), $cursors, 'no cursor is left open');
}

session_query($session, "ALTER SERVER mongo OPTIONS (ADD keep_connections 'false')");
check_works('the table is read without keep_connections');
is(proxy_connections($proxy), 0, 'no connection is kept');
($out, $err) = session_query($session, <<'END');
	DO $$
	DECLARE
		n int;
	BEGIN
		FOR n IN SELECT v FROM points LOOP
			PERFORM 1 / (n - 2);
		END LOOP;
	END $$
END
like($err, qr/division by zero/, 'an error in a function that reads');
is(proxy_connections($proxy), 0, 'no connection is kept after the error');
session_query($session, "ALTER SERVER mongo OPTIONS (DROP keep_connections)");

# ---- Another server -------------------------------------------------------

check_works('the table is read before the move');
my $other = proxy_start();
my $uri = proxy_uri($other);
session_query($session, "ALTER SERVER mongo OPTIONS (SET uri '$uri')");
check_works('the table is read after the move');
is(proxy_connections($other), 1, 'the new server is used');
is(proxy_connections($proxy), 0, 'the connection to the old server is closed');
open_cursor();
$uri = proxy_uri($proxy);
$node->safe_psql('postgres', "ALTER SERVER mongo OPTIONS (SET uri '$uri')");
($out, $err) = session_query($session, 'MOVE ALL FROM c; COMMIT');
is($err, '', 'an open cursor continues on its server');
check_works('the next statement uses the new server');
is(proxy_connections($other), 0, 'the connection of the cursor is closed');

# ---- Memory ---------------------------------------------------------------

sub rss
{
	my ($pid) = @_;

	open(my $file, '<', "/proc/$pid/status") or return;
	my ($size) = join('', <$file>) =~ /^VmRSS:\s+(\d+) kB/m;
	return $size;
}

$node->safe_psql('postgres', <<'END');
	CREATE FOREIGN TABLE big (
		ts timestamptz,
		k  text,
		v  text OPTIONS (field 'v.{second}')
	) SERVER mongo OPTIONS (fetch_size '100');
	DO $$
	DECLARE
		bucket json = (SELECT json_object_agg(s, repeat('x', 150))
						 FROM generate_series(0, 59) s);
	BEGIN
		FOR i IN 0 .. 49 LOOP
			PERFORM mongo_ts_command('mongo', json_build_object('insert', 'big',
					'documents', json_agg(json_build_object(
						'ts', '{"$date": "2020-01-01T00:00:00Z"}'::json,
						'k', 'k' || i, 'v', bucket))))
			  FROM generate_series(1, 100);
		END LOOP;
	END $$;
END
SKIP:
{
	skip 'there is no /proc', 2 unless defined rss($session->{pid});
	check_works('the table is read before the big one');
	my $before = rss($session->{pid});
	($out, $err) = session_query($session,
		'SELECT count(*), sum(length(v)) FROM big');
	is("$out$err", '300000|45000000', 'a big collection is read');
	cmp_ok(rss($session->{pid}) - $before,
		'<', 32 * 1024, 'in 32 MB of memory');
}

# ---- The log --------------------------------------------------------------

open(my $file, '<', $node->logfile) or die $!;
my $log = join('', <$file>);
# the log of the test's own statement contains it, too
$log =~ s/^.*(statement|STATEMENT):.*\n(\t.*\n)*//mg;
unlike($log, qr/s3cret/, 'no password is in the log');
unlike($log, qr/PANIC|terminated by signal/, 'no backend crashed');

session_query($session, q{SELECT mongo_ts_command('mongo', '{"dropDatabase": 1}')});
session_end($session);
$node->stop;

done_testing();
