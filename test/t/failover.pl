# Proves that statements are exact or fail with an error in a replica set that
# loses its primary, elects another one, or has dead, silent or lagging
# members.
#
# ROUNDS (default 2) sets the number of kills and the number of step-downs.  In
# each, the primary is lost while four sessions insert.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IO::Socket::INET;
use MongoTS::Node;
use MongoTS::Wire;
use Test::More;
use Time::HiRes qw(sleep);

skip_without_mongod();

my $rounds = $ENV{ROUNDS} || 2;

# The longest time until an interrupt takes effect, in seconds
my $soon = 2;

# The longest time of a statement that tries several members, in seconds.
# Waiting for a member that does not answer would last 10 seconds.
my $patience = 5;

my $set = set_start();
my $node = new_node('failover', uri => undef);
my ($out, $err, $seconds);

# ---- Tables ---------------------------------------------------------------

# Tables for each way to write a bucket: setting a slot, incrementing it, and
# pushing to an array; and a rolling set
my %layouts = (
	rolling => [ 'm', 'v.{second}', '' ],
	slots => [ 'm', 'v.{second}', '' ],
	increments => [ 'm', 'v.{second}', ", write_mode 'increment'" ],
	pushed => [ 'points[].t', 'points[].v', ", bucket_time_field 'm', bucket_span '1 minute'" ]);

# Create a server, and its tables in a schema of the same name.
sub create_tables
{
	my ($name, $uri, $options) = @_;

	create_server($node, $name, $uri, "database 'mts_failover'" . ($options // ''));
	foreach my $table (sort keys %layouts)
	{
		my ($time, $value, $options) = @{ $layouts{$table} };
		my $collection = $table eq 'rolling' ? 'rolling_%Y%m%d' : $table;

		$node->safe_psql('postgres', <<"END");
			CREATE SCHEMA IF NOT EXISTS $name;
			CREATE FOREIGN TABLE $name.$table (
				ts timestamptz OPTIONS (field '$time'),
				k  text,
				v  int8 OPTIONS (field '$value', sum_field 'total')
			) SERVER $name OPTIONS (collection '$collection', count_field 'n'$options);
			CREATE FOREIGN TABLE $name.${table}_documents (
				ts timestamptz OPTIONS (field 'm'), k text, n int, total int8
			) SERVER $name OPTIONS (collection '$collection');
END
	}
	return;
}

create_tables('rs', set_uri($set));
$node->safe_psql('postgres', qq{
	SELECT mongo_ts_create_index('rs.' || t) FROM unnest(ARRAY['slots', 'increments', 'pushed']) t;
	INSERT INTO rs.slots SELECT timestamptz '2019-01-01Z' + i * interval '1 s', 'old', 1
		FROM generate_series(0, 599) i;
	CREATE TABLE acknowledged (t text, ts timestamptz, k text);
	CREATE TABLE failed (t text, k text, i int, sqlstate text, message text);
	CREATE FUNCTION insert_for(seconds int, session text) RETURNS void LANGUAGE plpgsql AS \$\$
	DECLARE
		names text[] := ARRAY['slots', 'increments', 'pushed', 'rolling'];
		times timestamptz[];
		t text;
		i int := 0;
		until timestamptz := clock_timestamp() + seconds * interval '1 s';
		message text;
	BEGIN
		WHILE clock_timestamp() < until LOOP
			t := names[1 + i % 4];
			times := ARRAY(SELECT timestamptz '2020-01-01Z' + (i * 5 + b) * interval '20 s' FROM generate_series(0, 4) b);
			BEGIN
				EXECUTE format('INSERT INTO rs.%I SELECT ts, \$2, 1 FROM unnest(\$1) ts', t) USING times, session;
				INSERT INTO acknowledged SELECT t, ts, session FROM unnest(times) ts;
			EXCEPTION WHEN OTHERS THEN
				GET STACKED DIAGNOSTICS message = PG_EXCEPTION_DETAIL;
				INSERT INTO failed VALUES (t, session, i, SQLSTATE, SQLERRM || ': ' || message);
			END;
			i := i + 1;
		END LOOP;
	END\$\$});

# Return the rows of a query as psql prints them.
sub ask
{
	my ($query) = @_;

	return $node->safe_psql('postgres', $query);
}

# ---- Connections that fail (libmongoc's CDRIVER-4666) ---------------------
#
# A backend that locks up can't even be terminated.  So the session has two
# limits: a statement timeout of 40 seconds, and 60 seconds after which the
# test dies.

# Start a session with both limits.
sub start_impatient
{
	my $session = session_start($node);

	$session->{patience} = 60;
	session_query($session, "SET statement_timeout = '40s'");
	return $session;
}

sub counts
{
	my ($session, $server, $name) = @_;

	($out, $err, $seconds) = session_query($session, "SELECT count(*) FROM $server.slots WHERE k = 'old'");
	is("$out$err", '600', $name);
	return;
}

# A standalone that is down at the client's next heartbeat
create_server($node, 'alone', fault_uri() . '?heartbeatFrequencyMS=500', "database 'mts_failover'");
$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE alone (ts timestamptz OPTIONS (field 'm'), v int OPTIONS (field 'v.{second}')) SERVER alone;
	INSERT INTO alone VALUES ('2020-01-01Z', 1)});
my $session = start_impatient();
($out) = session_query($session, 'SELECT count(*) FROM alone');
is($out, '1', 'a standalone is read');
fault_kill();
sleep(1);
foreach my $statement ('SELECT count(*) FROM alone', q{INSERT INTO alone VALUES ('2020-01-02Z', 1)})
{
	($out, $err, $seconds) = session_query($session, $statement);
	like($err, qr/ERROR:  HV00N: .*could not connect to \S+: Connection refused/s,
		"the server is down: $statement");
	cmp_ok($seconds, '<', $patience, ".. within $patience seconds");
}
fault_restart();
($out, $err) = session_query($session, 'SELECT count(*) FROM alone');
is("$out$err", '1', 'the session works when the server is back');

# A secondary that is down at the client's next heartbeat
create_tables('often', set_uri($set, 'heartbeatFrequencyMS=500'));
counts($session, 'often', 'a set is read');
my $primary = set_primary($set);
my ($victim, $other) = grep { $_ != $primary } 1 .. 3;
set_kill($set, $victim);
sleep(1);
counts($session, 'often', 'a secondary is gone');

# The URI names only a live member, or dead members, too.
my ($port) = set_member_uri($set, $other) =~ m/:(\d+)/;
my ($name) = set_uri($set) =~ m/replicaSet=(\w+)/;
create_tables('one_seed', "mongodb://127.0.0.1:$port/?replicaSet=$name");
counts($session, 'one_seed', 'the URI omits the dead member');
create_tables('all_seeds', set_uri($set));
counts($session, 'all_seeds', 'the URI names the dead member');
create_tables('bad_seeds', "mongodb://127.0.0.1:1,nobody.invalid:1,127.0.0.1:$port/?replicaSet=$name");
counts($session, 'bad_seeds', 'the URI names hosts that are not there');
create_server($node, 'fresh', set_uri($set), "database 'mts_failover'");
($out, $err) = session_query($session, q{SELECT mongo_ts_command('fresh', '{"nonsense": 1}')});
like($err, qr/nonsense/, 'the error is that of the server');
unlike($err, qr/could not connect/, '.. and does not mention the dead member');
create_server($node, 'nobody', "mongodb://127.0.0.1:1,nobody.invalid:2/?replicaSet=$name", "database 'mts_failover'");
($out, $err, $seconds) = session_query($session, q{SELECT mongo_ts_command('nobody', '{"ping": 1}')});
like($err, qr/ERROR:  HV00N: .*\[could not connect to 127\.0\.0\.1:1: Connection refused\] \[could not resolve nobody\.invalid: /s,
	'without any member the error has each reason');
set_restart($set, $victim);
set_await($set);

# connectTimeoutMS limits the wait for each member that accepts a connection
# and never answers.
my @silent = map { IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 5) } 1, 2;
create_server($node, 'slow', 'mongodb://' . join(',', map { '127.0.0.1:' . $_->sockport } @silent)
	  . '/?replicaSet=slow&tls=true&tlsInsecure=true&connectTimeoutMS=1500', "database 'mts_failover'");
($out, $err, $seconds) = session_query($session, q{SELECT mongo_ts_command('slow', '{"ping": 1}')});
like($err, qr/ERROR:  HV00N: /, 'two members never answer');
cmp_ok($seconds, '>', 3, '.. after connectTimeoutMS of each member');
cmp_ok($seconds, '<', 20, '.. and within 20 seconds');
close($_) foreach @silent;

# ---- A silent member ------------------------------------------------------

$primary = set_primary($set);
($victim) = grep { $_ != $primary } 1 .. 3;
set_signal($set, $victim, 'STOP');
my $new = start_impatient();
counts($new, 'rs', 'a secondary is silent');
cmp_ok($seconds, '<', $patience, ".. within $patience seconds");
session_end($new);
set_signal($set, $victim, 'CONT');
set_await($set);

# ---- Elections while four sessions insert ---------------------------------

# Kill the primary, and restart it after another one is elected.
sub kill_primary
{
	my $old = set_primary($set);

	set_kill($set, $old);
	set_primary($set);
	set_restart($set, $old);
	return;
}

my @writers = map { start_impatient() } 1 .. 4;

foreach my $event (('kill', 'step down') x $rounds)
{
	my $i = 0;

	$node->safe_psql('postgres', join '',
		'TRUNCATE acknowledged, failed; TRUNCATE ', join(', ', map { "rs.$_" } sort keys %layouts));
	foreach my $writer (@writers)
	{
		session_query($writer, 'RESET statement_timeout');
		session_send($writer, "SELECT insert_for(9, 's' || " . $i++ . ')');
	}
	sleep(2);
	if ($event eq 'kill') { kill_primary() }
	else { set_step_down($set, 3) }
	session_wait($_) foreach @writers;
	set_await($set);

	is(ask('SELECT * FROM failed LIMIT 5'), '', "$event: no statement fails");
	cmp_ok(ask('SELECT count(*) FROM acknowledged'), '>', 1000, "$event: points are inserted");
	foreach my $table (sort keys %layouts)
	{
		is(ask("SELECT count(*) FROM acknowledged a LEFT JOIN rs.$table p USING (ts, k) WHERE a.t = '$table' AND p.v IS NULL"),
			'0', "$event: $table: no acknowledged point is lost");
		is(ask("SELECT count(*) FROM (SELECT ts, k FROM rs.$table GROUP BY 1, 2 HAVING count(*) <> 1 OR sum(v) <> 1) p"),
			'0', "$event: $table: no point is stored twice");
		is(ask("SELECT count(*) FROM (SELECT k FROM rs.$table GROUP BY k, extract(epoch FROM ts - '2020-01-01Z')::int / 100 HAVING count(*) <> 5) s"),
			'0', "$event: $table: no statement is stored in part");
		is(ask("SELECT count(*) FROM (SELECT ts, k FROM rs.${table}_documents GROUP BY 1, 2 HAVING count(*) > 1) d"),
			'0', "$event: $table: no bucket is stored twice");
		is(ask("SELECT count(*) FROM rs.${table}_documents d FULL JOIN
				(SELECT date_trunc('minute', ts) AS ts, k, count(*) AS n, sum(v) AS total FROM rs.$table GROUP BY 1, 2) p USING (ts, k)
				WHERE d.n <> p.n OR d.total <> p.total OR d.n IS NULL OR p.n IS NULL"),
			'0', "$event: $table: count and sum match the points");
	}
}
session_end($_) foreach @writers;

# ---- No primary -----------------------------------------------------------

# Two of three members are down, so the third waits for a majority.
$primary = set_primary($set);
($victim, $other) = grep { $_ != $primary } 1 .. 3;
set_kill($set, $_) foreach $primary, $victim;
foreach my $statement ('SELECT count(*) FROM rs.slots', q{INSERT INTO rs.slots VALUES ('2021-01-01Z', 'new', 1)})
{
	session_query($session, "SET statement_timeout = '2s'");
	($out, $err, $seconds) = session_query($session, $statement);
	like($err, qr/ERROR:  57014: .*statement timeout/, "without a primary: $statement waits");
	cmp_ok($seconds, '<', 2 + $soon, '.. until its timeout of 2 seconds, and stops soon');
}
create_tables('hasty', set_uri($set, 'serverSelectionTimeoutMS=1500'));
session_query($session, "SET statement_timeout = '40s'");
($out, $err, $seconds) = session_query($session, 'SELECT count(*) FROM hasty.slots');
like($err, qr/ERROR:  HV00N: /, 'the URI limits the wait of a statement');
cmp_ok($seconds, '<', 1.5 + $soon, '.. to 1.5 seconds, and it fails soon');
session_send($session, q{INSERT INTO rs.slots VALUES ('2021-01-01Z', 'new', 1) RETURNING v});
sleep(1);
set_restart($set, $_) foreach $primary, $victim;
($out, $err) = session_wait($session);
is("$out$err", '1', 'a waiting statement continues when there is a primary');
set_await($set);

# ---- A read preference and writes -----------------------------------------

# The secondaries stop replicating, so only the primary has new writes.  To read
# them, statements must not see what a majority has.
create_tables('behind', set_uri($set, 'w=1&readPreference=secondary'), ", consistency 'none'");
create_tables('first', set_uri($set, 'w=1'), ", consistency 'none'");
$primary = set_primary($set);
my @secondaries = grep { $_ != $primary } 1 .. 3;
my @ports = map { set_member_uri($set, $_) =~ m/:(\d+)/ } @secondaries;
wire_command($_, fsync => bson_int32(1), lock => bson_bool(1)) foreach @ports;
foreach my $table (qw(slots pushed))
{
	my $count = "SELECT count(*) FROM behind.$table WHERE k = 'w'";

	session_query($session, "INSERT INTO first.$table VALUES ('2022-01-01 00:00:01Z', 'w', 7), ('2022-01-01 00:00:02Z', 'w', 8)");
	($out) = session_query($session, $count);
	is($out, '0', "$table: the secondaries are behind");
	($out, $err) = session_query($session, "INSERT INTO behind.$table VALUES ('2022-01-01 00:00:01Z', 'w', 9) ON CONFLICT DO NOTHING RETURNING v");
	is("$out$err", '', "$table: ON CONFLICT DO NOTHING sees the primary's point");
	($out, $err) = session_query($session, "UPDATE behind.$table SET v = v + 1 WHERE k = 'w' RETURNING v");
	is("$out$err", "8\n9", "$table: UPDATE reads the primary");
	($out, $err) = session_query($session, "DELETE FROM behind.$table WHERE k = 'w' AND v = 9 RETURNING v");
	is("$out$err", '9', "$table: DELETE reads the primary");
	($out, $err) = session_query($session, "DELETE FROM behind.$table WHERE ts >= '2022-01-01Z' AND ts < '2022-01-02Z'; SELECT count(*) FROM first.$table WHERE k = 'w'");
	is("$out$err", '0', "$table: DELETE of a range reads the primary");
}
wire_command($_, fsyncUnlock => bson_int32(1)) foreach @ports;

session_end($session);
$node->stop;
done_testing();
