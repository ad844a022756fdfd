# Proves that PostgreSQL and MongoDB agree on what transactions have written, while
# members of a replica set are paused, killed and step down, their sessions are killed,
# and PostgreSQL's backends are ended and its server crashes.
#
# Sessions run transactions of ten kinds.  One that was acknowledged is stored, wholly
# and once; one that was rolled back, or failed for a known reason, is not stored; one
# whose outcome is unknown is stored wholly or not at all.  What PostgreSQL has
# committed, MongoDB has, too.
#
# SEED repeats the order of the faults, and DURATION says for how many seconds they go on.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use MongoTS::Node;
use Test::More;
use Time::HiRes qw(sleep time);

use constant { SESSIONS => 4, POINTS => 40 };

# The errors after which a transaction may be stored: the outcome of the commit is not
# known, or the session has ended
use constant UNKNOWN => qr/^(?:08007|57P0\d|lost)$/;

skip_without_mongod();

my $seconds = $ENV{DURATION} // 30;
my $seed = $ENV{SEED} // time;

srand($seed);
note "SEED=$seed";

my $set = set_start(3);
my $node = new_node('ledger', uri => undef);

create_server($node, 'rs', set_uri($set), "database 'mts_ledger'");
create_server($node, 'admin', set_uri($set), "database 'admin'");
$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE points (ts timestamptz OPTIONS (field 'm'), k text, v int OPTIONS (field 'v.{second}')) SERVER rs;
	CREATE FOREIGN TABLE batched (ts timestamptz OPTIONS (field 'm'), k text, v int OPTIONS (field 'v.{second}')) SERVER rs
	  OPTIONS (collection 'points', transactions 'batch');
	CREATE FOREIGN TABLE counters (ts timestamptz OPTIONS (field 'm'), k text, v int OPTIONS (field 'v.{second}', sum_field 'total'))
	  SERVER rs OPTIONS (write_mode 'increment');
	SELECT mongo_ts_create_index('points'), mongo_ts_create_index('counters');
	CREATE TABLE done (k text);
	CREATE TABLE skew (k int, v int);
	INSERT INTO skew VALUES (1, 0), (2, 0)});

# ---- Transactions -----------------------------------------------------------

my $number = 0;
my %outcome;    # of each key: acknowledged, undone or unknown
my %points;     # that it stores

# Points of a key, in several buckets
sub insert
{
	my ($key, $n) = @_;

	return "INSERT INTO points SELECT timestamptz '2020-01-01Z' + i * interval '17 s', '$key', 1 FROM generate_series(1, $n) i";
}

# What follows in a transaction after its points, and changes neither their number nor
# their sum
my %edits = (
	edited => q{UPDATE points SET v = v + 1 WHERE k = 'KEY'; UPDATE points SET v = v - 1 WHERE k = 'KEY'},
	moved => q{UPDATE points SET ts = ts + interval '1 day' WHERE k = 'KEY'},
	removed => insert('KEY-undone', 5) . q{; DELETE FROM points WHERE k = 'KEY-undone' AND v > 0; }
	  . insert('KEY-undone', 30) . q{; DELETE FROM points WHERE k = 'KEY-undone' AND ts < '2021-01-01Z'},
	unless => insert('KEY', 3) . ' ON CONFLICT DO NOTHING');

# Return the key of a new transaction and its statements.
sub transaction
{
	my $kind = (qw(block alone rollback serializable savepoint edited moved removed unless batch))[ $number % 10 ];
	my $key = "$kind-" . $number++;
	my $skew = 1 + int rand 2;
	my $body = "INSERT INTO done VALUES ('$key'); " . insert($key, POINTS) . "; INSERT INTO counters VALUES ('2020-01-01Z', 'c', 1)";

	$points{$key} = POINTS;
	return ($key, insert($key, POINTS)) if $kind eq 'alone';
	return ($key, insert($key, POINTS) =~ s/points/batched/r) if $kind eq 'batch';
	return ($key, "BEGIN; $body; $edits{$kind}; COMMIT" =~ s/KEY/$key/gr) if $edits{$kind};
	return ($key, "BEGIN; $body; ROLLBACK") if $kind eq 'rollback';
	return ($key, "BEGIN; $body; SAVEPOINT s; " . insert("$key-undone", 5) . '; ROLLBACK TO s; COMMIT')
	  if $kind eq 'savepoint';
	return ($key, "BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT sum(v) FROM skew; UPDATE skew SET v = v + 1 WHERE k = $skew; $body; COMMIT")
	  if $kind eq 'serializable';
	return ($key, "BEGIN; $body; COMMIT");
}

# Connect, also to a server that has just crashed.
sub connect_writer
{
	my ($writer) = @_;

	for (1 .. 60)
	{
		return if eval { $writer->{session} = session_start($node); $writer->{session}{pid} };
		sleep(0.5);
	}
	die 'cannot connect';
}

# Begin the next transaction of a session.
sub send_next
{
	my ($writer) = @_;
	my ($key, $sql) = transaction();

	$writer->{key} = $key;
	# a session can have ended since its last transaction
	until (eval { session_send($writer->{session}, $sql); 1 })
	{
		$outcome{$key} = 'unknown';
		connect_writer($writer);
		($key, $sql) = transaction();
		$writer->{key} = $key;
	}
	return;
}

# Record the outcome of the transaction that a session has answered, or that its end
# has ended.
sub finish
{
	my ($writer) = @_;
	my ($key, $session) = @$writer{qw(key session)};
	my $err = eval { (session_wait($session))[1] } // 'ERROR:  lost: ';
	my ($state) = $err =~ m/(?:ERROR|FATAL):  (\w+): /;

	$state = 'lost' if $err =~ m/connection to server was lost|server closed the connection|ERROR:  lost/;
	# A transaction whose savepoint has failed is committed without it.
	$outcome{$key} =
		$key =~ m/^rollback/ ? 'undone'
	  : !defined $state ? 'acknowledged'
	  : $state =~ UNKNOWN || $key =~ m/^savepoint/ ? 'unknown'
	  : 'undone';
	$writer->{errors}{ $state // 'none' }++;
	if (($state // '') =~ m/^(?:57P0|lost)/)
	{
		eval { session_end($session) };
		connect_writer($writer);
	}
	elsif (defined $state && !eval { session_query($session, 'ROLLBACK'); 1 })
	{
		connect_writer($writer);
	}
	return;
}

# ---- Faults -----------------------------------------------------------------

my %faults = (
	pause => sub {
		my $victim = set_primary($set);

		set_signal($set, $victim, 'STOP');
		sleep(3 + rand 5);
		set_signal($set, $victim, 'CONT');
	},
	kill => sub {
		my $victim = set_primary($set);

		set_kill($set, $victim);
		sleep(rand 3);
		set_restart($set, $victim);
	},
	kill_sessions => sub { eval { $node->safe_psql('postgres', q{SELECT mongo_ts_command('admin', '{"killAllSessions": []}')}) } },
	step_down => sub { eval { set_step_down($set, 3) } },
	terminate => sub {
		my ($writers) = @_;

		eval { $node->safe_psql('postgres', "SELECT pg_terminate_backend($writers->[rand SESSIONS]{session}{pid})") };
	},
	crash => sub {
		$node->stop('immediate');
		$node->start;
	});

my @writers = map { { session => session_start($node) } } 1 .. SESSIONS;
my $end = time + $seconds;
my $next_fault = time + 1;
my %done;

send_next($_) foreach @writers;
while (time < $end)
{
	foreach my $writer (@writers)
	{
		my $has_ended = !eval { $writer->{session}{psql}->pump_nb; 1 } || !$writer->{session}{psql}->pumpable;

		next unless $has_ended || session_has_answered($writer->{session});
		finish($writer);
		send_next($writer);
	}
	sleep(0.01);
	next if time < $next_fault;
	my $fault = (sort keys %faults)[ rand keys %faults ];

	note $fault;
	$done{$fault}++;
	$faults{$fault}->(\@writers);
	$next_fault = time + 1 + rand 3;
}
set_await($set);
finish($_) foreach @writers;
session_end($_->{session}) foreach @writers;

# ---- What is stored ---------------------------------------------------------

my $reader = session_start($node);
my ($out, $err) = session_query($reader, 'SELECT k, count(*), count(DISTINCT ts), sum(v) FROM points GROUP BY k');
my %stored = map { m/^(.*?)\|(\d+)\|(\d+)\|(\d+)$/ ? ($1 => "$2 $3 $4") : () } split(/\n/, $out);
my $wholly = join(' ', (POINTS) x 3);
my @wrong;

is($err, '', 'the points are read');
foreach my $key (sort keys %outcome)
{
	my $is = $stored{$key} // 'nothing';

	push @wrong, "$key, $outcome{$key}: $is"
	  unless $outcome{$key} eq 'acknowledged' ? $is eq $wholly
	  : $outcome{$key} eq 'undone' ? $is eq 'nothing'
	  : $is eq $wholly || $is eq 'nothing';
}
is("@wrong", '', 'what is acknowledged is stored wholly and once, what failed is not');
is(join(' ', grep { m/undone$/ } keys %stored), '', 'nothing is left of a savepoint that was rolled back');
my ($missing) = session_query($reader, 'SELECT count(*) FROM done d WHERE NOT EXISTS (SELECT FROM points p WHERE p.k = d.k)');
is($missing, 0, 'MongoDB has what PostgreSQL has committed');
my ($count) = session_query($reader, 'SELECT sum(v) FROM counters');
my $counted = grep { !m/^(?:alone|rollback|batch)/ && $stored{$_} } keys %outcome;
is($count, $counted, 'each increment is stored with its transaction');
my ($totals) = session_query($reader, q{SELECT mongo_ts_command('rs', '{"find": "counters"}')->'cursor'->'firstBatch'->0->>'total'});
is($totals, $counted, '.. and in the total');
my %all;

$all{$_}++ foreach values %outcome;
cmp_ok($all{acknowledged}, '>', 20, "$number transactions: " . join(', ', map { "$all{$_} $_" } sort keys %all));
note 'errors: ', join(', ', map { my $writer = $_; map { "$_ $writer->{errors}{$_}" } sort keys %{ $writer->{errors} } } @writers);
note 'faults: ', join(', ', map { "$done{$_} $_" } sort keys %done);
# A backend that has crashed cannot abort its transaction.  The server does, after a
# minute, and looks for such transactions twice a minute.
my $open;
for (1 .. 120)
{
	($open) = session_query($reader, q{SELECT mongo_ts_command('rs', '{"serverStatus": 1}')->'transactions'->>'currentOpen'});
	last if $open eq '0';
	sleep(1);
}
is($open, 0, 'no transaction stays open');
session_end($reader);

$node->stop;
done_testing();
