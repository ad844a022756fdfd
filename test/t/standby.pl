# Proves that a query on a hot standby, which waits for a silent MongoDB, ends
# when it conflicts with the replay.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use MongoTS::HaltProxy;
use MongoTS::Node;
use PostgreSQL::Test::Cluster;
use Test::More;

my $proxy = halt_start($ENV{MONGODB_URI});
my $primary = PostgreSQL::Test::Cluster->new('standby_primary');
my $standby = PostgreSQL::Test::Cluster->new('standby');

$primary->init(allows_streaming => 1);
$primary->start;
$primary->safe_psql('postgres', 'CREATE EXTENSION mongo_ts_fdw');
create_server($primary, 'mongo', halt_uri($proxy), "database 'mts_standby_$$'");
$primary->safe_psql('postgres', <<'END');
	CREATE FOREIGN TABLE points (ts timestamptz, v int) SERVER mongo;
	INSERT INTO points VALUES ('2020-01-01', 1);
END
$primary->backup('backup');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
# the client is looked for meanwhile
$standby->append_conf('postgresql.conf', <<'END');
max_standby_streaming_delay = '1s'
client_connection_check_interval = '100ms'
END
$standby->start;
$primary->wait_for_catchup($standby);

my $session = session_start($standby);
my ($out, $err, $seconds) = session_query($session, 'SELECT v FROM points');
is("$out$err", '1', 'a standby reads MongoDB');

halt_at($proxy, 'reply', 'find points');
session_send($session, 'SELECT v FROM points');
ok(halt_await($proxy), 'it waits for MongoDB');
$primary->safe_psql('postgres', 'ALTER FOREIGN TABLE points ADD COLUMN w int');
($out, $err, $seconds) = session_wait($session);
like($err, qr/ERROR:  40001: canceling statement due to conflict with recovery/,
	'a conflict with the replay ends the wait');
cmp_ok($seconds, '<', 10, '.. soon');
halt_end($proxy, 'pass');
$primary->wait_for_catchup($standby);
($out, $err) = session_query($session, 'SELECT * FROM points');
like("$out$err", qr/\|1\|$/, 'then the session works');
session_end($session);
done_testing();
