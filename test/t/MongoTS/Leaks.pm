# Proves that a backend which repeats the same statements keeps no memory, no
# cursors of the server, no connections and no open files.
#
# memory_in_use.c counts memory to the byte, after a warm-up and at the end.
# The limit for each iteration is less than the smallest chunk.

package MongoTS::Leaks;

use strict;
use warnings;

use Cwd qw(abs_path);
use Exporter qw(import);
use File::Basename qw(dirname);
use List::Util qw(max);
use PostgreSQL::Test::Cluster;
use Test::More;
use Time::HiRes qw(sleep time);

use MongoTS::CursorProxy;
use MongoTS::FakeServer;
use MongoTS::LeakCases;
use MongoTS::Node;

our @EXPORT = qw(find_leaks);

use constant {
	WARM_UP => 40,          # iterations
	LEAST => 100,           # iterations after which 64 bytes each exceed the noise
	PER_ITERATION => 16,    # bytes, less than any chunk
	NOISE => 4096,          # bytes, for caches that grow once
	TRIES => 3,
	PATIENCE => 3600,       # seconds for all iterations of a case
	RESIDENT => 64,         # bytes, as pages are never quite full
	NOTICED => 5,           # seconds after which the proxy knows of a closed connection
};

my $here = dirname(abs_path(__FILE__));
my ($scratch, $node, $session);

# ---- The servers ----------------------------------------------------------

sub start_servers
{
	my $proxy = cursor_proxy_start();
	my %nothing = map { $_ => sub { () } } qw(find update insert hello isMaster ismaster);
	my $silent = fake_start("$scratch/silent", [],
		scripts => {
			map({ $_ => $nothing{$_} } qw(find update insert)),
			# a sample of _ids that is cut off
			aggregate => sub { fake_reply($_[0], fake_find($_[0], 1, map {
				bson_document(_id => bson_string("$_ " . 'x' x 200)) } 1 .. 40)) },
			getMore => sub { fake_reply($_[0], fake_error(8000, 'out of order')) },
		});
	my $deaf = fake_start("$scratch/deaf", [], scripts => \%nothing);
	my $gone = "database 'gone'";

	$node = new_node('leaks', uri => undef, memory_in_use => 1, conf => "jit = off\n");
	create_server($node, 'mongo', $proxy, q(database 'leaks', fetch_size '2'));
	create_server($node, 'brief', $proxy,
		q(database 'leaks', fetch_size '2', keep_connections 'false'));
	create_server($node, 'silent', fake_uri($silent, 'retryReads=false'), $gone);
	create_server($node, 'deaf', fake_uri($deaf), $gone);
	create_server($node, 'away', 'mongodb://127.0.0.1:1', $gone);
	create_server($node, 'away_briefly', 'mongodb://127.0.0.1:1',
		"$gone, keep_connections 'false'");
	return;
}

# ---- The resources of the backend -----------------------------------------

sub run
{
	my ($sql) = @_;
	my ($out, $err) = session_query($session, $sql);

	die "$sql: $err" if $err ne '';
	return $out;
}

# Return how many bytes of its private memory are resident.
sub resident
{
	open(my $file, '<', "/proc/$session->{pid}/status") or die "no /proc: $!";
	my ($size) = join('', <$file>) =~ /^RssAnon:\s+(\d+) kB/m;
	return $size * 1024;
}

# Return its numbers of sockets and pipes, and the proxy's numbers of cursors
# and connections.  Each must stay the same.
sub handles
{
	my $known = run(q(SELECT mongo_ts_command('mongo', '{"cursorProxy": 1}')));
	my @files = grep { (readlink($_) // '') =~ /^\w+:/ }
	  glob("/proc/$session->{pid}/fd/*");

	return "$known, " . @files . ' sockets and the like';
}

# ---- Ways to repeat a case; each returns the growth of memory in bytes ----

sub repeat_rows
{
	my ($case, $n) = @_;
	my $last = $n + WARM_UP;
	my @rows = split /\n/, run("SELECT i, memory_in_use(), s
		FROM generate_series(1, $last) i LEFT JOIN LATERAL $case->{rows} s ON true");
	my %memory = map { (split /\|/)[ 0, 1 ] } @rows;

	is(scalar(keys %memory), $last, "$case->{name}: so many rescans");
	return $memory{$last} - $memory{ +WARM_UP };
}

sub repeat_loop
{
	my ($case, $n) = @_;
	my ($warm_up, $last) = (WARM_UP, $n + WARM_UP);
	my ($out, $err) = session_query($session, <<"END");
		DO \$do\$
		DECLARE
			c refcursor;
			p record;
			warm int8;
			used int8;
		BEGIN
			FOR i IN 1 .. $last LOOP
				$case->{loop};
				used = memory_in_use();
				warm = CASE WHEN i <= $warm_up THEN used ELSE warm END;
			END LOOP;
			PERFORM set_config('leaks.growth', (used - warm)::text, false);
		END \$do\$
END
	is($err, '', "$case->{name}: no error");
	return run("SELECT current_setting('leaks.growth')");
}

# Send the statements for some iterations.
sub send_each
{
	my ($case, $from, $to) = @_;
	my @statements = ref $case->{each} ? @{ $case->{each} } : $case->{each};
	my $script = "$scratch/statements.sql";

	open(my $file, '>', $script) or die "$script: $!";
	foreach my $i ($from .. $to)
	{
		print $file map { s/\bi\b/$i/gr . ";\n" } @statements;
	}
	close($file);
	run("SET statement_timeout = '$case->{timeout}'") if $case->{timeout};
	my ($out, $err) = session_query($session, "\\i $script");
	1 while $case->{timeout}
	  && (session_query($session, 'RESET statement_timeout'))[1] ne '';
	return ($err, $case->{fails} ? @statements * ($to - $from + 1) : 0);
}

sub repeat_each
{
	my ($case, $n) = @_;

	send_each($case, 1, WARM_UP);
	my $warm = run('SELECT memory_in_use()');
	my ($err, $wanted) = send_each($case, WARM_UP + 1, WARM_UP + $n);
	my $fails = $case->{fails} // '';
	my $found = () = $err =~ /^psql:\S+ ERROR:  $fails\n?/mg;
	my $lines = () = $err =~ /^/mg;

	ok($found == $wanted && ($fails ? $lines == $wanted : $err eq ''),
		"$case->{name}: " . ($fails ? "each time the error $fails" : 'no error'))
	  or diag "$found of $wanted, at the end ", substr($err, -500);
	return run('SELECT memory_in_use()') - $warm;
}

# ---------------------------------------------------------------------------

# Tell whether one of the numbers of handles has grown.  A handle of an earlier
# case may have been about to close.
sub has_more
{
	my ($before, $after) = @_;
	my @after = ($after =~ /\d+/g);

	foreach my $n ($before =~ /\d+/g)
	{
		return 1 if shift @after > $n;
	}
	return 0;
}

# A cache may grow once by more than the noise; a leak grows each time.
sub repeat
{
	my ($case, $iterations) = @_;
	my $n = max(LEAST, int($iterations * ($case->{share} // 1)));
	my $way = $case->{rows} ? \&repeat_rows : $case->{loop} ? \&repeat_loop : \&repeat_each;
	my $before = handles();
	my ($begin, $resident) = (time(), resident());
	my $limit = $n * PER_ITERATION + NOISE;
	my @growth;

	note "$case->{name}: $n times";
	do { push @growth, $way->($case, $n) }
	  while $growth[-1] >= $limit && @growth < TRIES;
	$resident = resident() - $resident;
	note sprintf('%.1f s, %s bytes more, %d resident', time() - $begin,
		join(', ', @growth), $resident);
	cmp_ok($growth[-1], '<', $limit, "$case->{name}: memory is flat");
	cmp_ok($resident, '<', $n * RESIDENT + 1024 * 1024, '.. and what is resident of it');
	my $after = handles();
	for (my $end = time() + NOTICED; has_more($before, $after) && time() < $end; $after = handles())
	{
		sleep(0.1);
	}
	ok(!has_more($before, $after), '.. no handle is left') or diag "$before before, $after after";
	return;
}

# Repeat each case a number of times, slow cases less often.
sub find_leaks
{
	my ($iterations) = @_;
	my $only = $ENV{ONLY} // '';

	$scratch = $PostgreSQL::Test::Utils::tmp_check;
	start_servers();
	$session = session_start($node);
	$session->{patience} = PATIENCE;
	run("\\set VERBOSITY sqlstate\n SET client_min_messages = error;" . leak_tables());
	run(q(SELECT FROM points, brief, pushed, rolling, flat WHERE false));
	repeat($_, $iterations) foreach grep { $_->{name} =~ /$only/ } @leak_cases;
	session_end($session);

	$session = session_start($node);
	like(handles(), qr/"cursors": 0/, 'no cursor is left');
	like(handles(), qr/"connections": 1\b/, 'no connection is left');
	run(q(SELECT mongo_ts_command('mongo', '{"dropDatabase": 1}')));
	session_end($session);
	$node->stop;
	done_testing();
	return;
}

1;
