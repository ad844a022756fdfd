# Proves that a scan of a real server that is killed or stopped fails with an
# error, and that the session works after a restart.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use MongoTS::Node;
use Test::More;

skip_without_fault();

# Earlier tests may have left the server dead.
fault_restart();

my $node = new_node('restart', uri => undef);

create_server($node, 'mongo', fault_uri(),
	"database 'mts_restart', fetch_size '10'");
$node->safe_psql('postgres', <<'END');
	SELECT mongo_ts_command('mongo', '{"dropDatabase": 1}');
	CREATE FOREIGN TABLE points (
		ts timestamptz,
		v  int OPTIONS (field 'v.{second}')
	) SERVER mongo OPTIONS (collection 'buckets');
	SELECT mongo_ts_command('mongo', json_build_object('insert', 'buckets',
			'writeConcern', '{"j": true}'::json,
			'documents', json_agg(json_build_object(
				'ts', '{"$date": "2020-01-01T00:00:00Z"}'::json,
				'v', '{"0": 1, "1": 2}'::json))))
	  FROM generate_series(1, 500);
END

my $session = session_start($node);
my ($out, $err, $seconds);
my $begin = <<'END';
	BEGIN;
	DECLARE c CURSOR FOR SELECT v FROM points;
	FETCH 5 FROM c
END

($out, $err) = session_query($session, $begin);
is($out, "1\n2\n1\n2\n1", 'the cursor is partly fetched') or diag $err;
fault_kill();
($out, $err, $seconds) = session_query($session, 'FETCH ALL FROM c');
is($out, '', 'a killed server returns no rows');
like($err, qr/ERROR:  (08|HV)[0-9A-Z]{3}: /, 'a killed server is an error');
cmp_ok($seconds, '<', 10, 'the error is raised within 10 seconds');
fault_restart();
($out, $err) =
  session_query($session, 'ROLLBACK; SELECT count(*) FROM points');
is("$out$err", '1000', 'the session works again after the restart');

# A server that lost its cursors while the session was idle.
session_query($session, $begin);
fault_restart();
($out, $err) = session_query($session, 'FETCH ALL FROM c');
is($out, '', 'a lost cursor returns no rows');
like($err, qr/ERROR:  (08|HV)[0-9A-Z]{3}: /, 'a lost cursor is an error');
($out, $err) =
  session_query($session, 'ROLLBACK; SELECT count(*) FROM points');
is("$out$err", '1000', 'the session works after a lost cursor');

session_query($session, $begin);
fault_signal('STOP');
session_query($session, q{SET statement_timeout = '1s'});
($out, $err, $seconds) = session_query($session, 'FETCH ALL FROM c');
fault_signal('CONT');
like($err, qr/ERROR:  57014: /, 'a timeout ends the scan of a stopped server');
cmp_ok($seconds, '<', 3.5, 'the timeout takes effect in time');
($out, $err) = session_query($session,
	'ROLLBACK; RESET statement_timeout; SELECT count(*) FROM points');
is("$out$err", '1000', 'the session works when the server continues');

session_end($session);
$node->stop;

done_testing();
