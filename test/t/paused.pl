# Proves that statements which wait for a member of a replica set that has fallen
# silent, with its connections open, are repeated or end soon after the others have
# elected a primary; that a slow query of a healthy server is not cut; and that
# statement_timeout ends a commit.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use MongoTS::HaltProxy;
use MongoTS::Node;
use Test::More;
use Time::HiRes qw(sleep time);

# From the pause to the end of a statement, in seconds: the election takes two to
# four of them, and the members are asked twice
use constant LIMIT => 15;

skip_without_mongod();

my $set = set_start(3);
my $node = new_node('paused', uri => undef);
my ($out, $err, $seconds);

sub create_tables
{
	my ($name, $uri) = @_;

	create_server($node, $name, $uri, "database 'mts_paused'");
	$node->safe_psql('postgres', <<"END");
		CREATE SCHEMA $name;
		CREATE FOREIGN TABLE $name.slots (
			ts timestamptz OPTIONS (field 'm'), k text, v int8 OPTIONS (field 'v.{second}')
		) SERVER $name;
		CREATE FOREIGN TABLE $name.counters (
			ts timestamptz OPTIONS (field 'm'), k text, v int8 OPTIONS (field 'v.{second}')
		) SERVER $name OPTIONS (write_mode 'increment');
END
	return;
}

create_tables('rs', set_uri($set));
create_tables('secondary', set_uri($set, 'readPreference=secondaryPreferred'));
$node->safe_psql('postgres', q{
	SELECT mongo_ts_create_index('rs.slots'), mongo_ts_create_index('rs.counters');
	INSERT INTO rs.slots SELECT timestamptz '2020-01-01Z' + i * interval '1 min', 'k', 1 FROM generate_series(1, 100) i;
	-- each document takes 120 ms
	CREATE FOREIGN TABLE rs.slow (ts timestamptz OPTIONS (field 'm'), k text, v int8 OPTIONS (field 'v.{second}'))
	  SERVER rs OPTIONS (collection 'slots', filter '{"$where": "sleep(120) || true"}')});

# ---- A slow query -----------------------------------------------------------

my $slow = session_start($node);

session_send($slow, q{SELECT count(*), sum(v) FROM rs.slow});
($out, $err, $seconds) = session_wait($slow);
is("$out$err", '100|100', 'a slow query of a healthy primary is not cut');
cmp_ok($seconds, '>', 10, '.. although it takes long');

# ---- A paused primary -------------------------------------------------------

my %statements = (
	select => 'SELECT count(*) FROM rs.slots WHERE ts < \'2020-01-02Z\'',
	insert => "INSERT INTO rs.slots VALUES ('2021-01-01Z', 'one', 1)",
	many => "INSERT INTO rs.slots SELECT timestamptz '2022-01-01Z' + i * interval '1 min', 'many', 1 FROM generate_series(1, 70) i",
	increment => "INSERT INTO rs.counters VALUES ('2020-01-01Z', 'k', 1)",
	update => "UPDATE rs.slots SET v = 2 WHERE ts = '2020-01-01 00:05Z'",
	commit => 'COMMIT',
	secondary => 'SELECT count(*) FROM secondary.slots WHERE ts < \'2020-01-02Z\'');
my %sessions = map { $_ => session_start($node) } keys %statements;

foreach my $name (sort keys %sessions)
{
	session_query($sessions{$name}, 'SELECT count(*) FROM rs.counters');
	session_query($sessions{$name}, 'SELECT count(*) FROM secondary.counters');
}
session_query($sessions{commit}, $_) foreach 'BEGIN', "INSERT INTO rs.slots VALUES ('2023-01-01Z', 'commit', 1)";

my $victim = set_primary($set);
my $start = time;

set_signal($set, $victim, 'STOP');
session_send($sessions{$_}, $statements{$_}) foreach sort keys %statements;
foreach my $name (sort keys %statements)
{
	($out, $err) = session_wait($sessions{$name});
	cmp_ok(time - $start, '<', LIMIT, "$name: ends while the old primary is paused");
	$name eq 'commit'
	  ? like($err, qr/^$|ERROR:  (?:40001|08007): /, '.. or is to be run again')
	  : is($err, '', '.. without an error');
	is($out, 100, '.. with its result') if $name =~ m/select|secondary/;
}
set_signal($set, $victim, 'CONT');
set_await($set);

my $reader = session_start($node);

foreach my $case ([ q{SELECT count(*) FROM rs.slots WHERE k = 'one'}, 1, 'a point' ], [ q{SELECT count(*) FROM rs.slots WHERE k = 'many'}, 70, 'many points' ],
	[ 'SELECT sum(v) FROM rs.counters', 1, 'an increment' ], [ q{SELECT v FROM rs.slots WHERE ts = '2020-01-01 00:05Z'}, 2, 'an update' ])
{
	my ($query, $result, $name) = @$case;

	($out, $err) = session_query($reader, $query);
	is("$out$err", $result, "$name: is stored once");
}
session_end($_) foreach values %sessions, $slow;

# ---- statement_timeout ------------------------------------------------------

my ($address) = set_member_uri($set, set_primary($set)) =~ m{^(mongodb://[^/]+/)};
my $proxy = halt_start($address);

create_tables('cut', halt_uri($proxy));
foreach my $statements ([ 'BEGIN', "INSERT INTO cut.slots VALUES ('2024-01-01Z', 'x', 1)", 'COMMIT' ],
	[ "INSERT INTO cut.slots SELECT timestamptz '2024-01-01Z' + i * interval '1 min', 'x', 1 FROM generate_series(1, 5) i" ])
{
	my @before = @$statements;
	my $last = pop @before;

	session_query($reader, 'SET statement_timeout = \'2s\'; SELECT count(*) FROM cut.slots');
	session_query($reader, $_) foreach @before;
	halt_at($proxy, 'reply', 'commitTransaction 1');
	session_send($reader, $last);
	is(halt_await($proxy), 'commitTransaction 1', 'a commit is not answered');
	($out, $err, $seconds) = session_wait($reader);
	like($err, qr/ERROR:  08007: .*unknown whether the transaction was committed/s, '.. which statement_timeout ends');
	cmp_ok($seconds, '<', 5, '.. in time');
	halt_end($proxy, 'cut');
}
session_end($reader);

$node->stop;
done_testing();
