# Controls the programs of the benchmark: psql, the floor program and
# ClickHouse.
#
# They keep running between measurements, so that starting and connecting are
# not measured.

package Bench::Session;

use strict;
use warnings;

use Exporter qw(import);
use IO::Select;
use IPC::Open2;
use JSON::PP;
use List::Util qw(max sum);

our @EXPORT_OK = qw(start_psql start run_sql run_beside end_beside time_sql
  time_planning time_first time_floor time_line time_sessions finish memory);

# Seconds between two samples of the memory
use constant SAMPLE => 0.005;

my $json = JSON::PP->new->canonical;

# Start a program that answers each line with a line.
sub start
{
	my @command = @_;
	my %session = (name => $command[0] =~ s{.*/}{}r);

	$session{pid} = open2($session{out}, $session{in}, @command);
	return \%session;
}

sub line_of
{
	my ($session) = @_;
	my $line = readline($session->{out});

	die "$session->{name} has ended\n" unless defined $line;
	chomp $line;
	return $line;
}

sub finish
{
	my ($session) = @_;

	close($session->{in});
	waitpid($session->{pid}, 0);
	return;
}

# ---- psql -----------------------------------------------------------------

# At the environment's server, or at another local port
sub start_psql
{
	my ($port) = @_;

	local %ENV = (%ENV,
		PGHOST => '127.0.0.1', PGPORT => $port, PGUSER => 'postgres')
	  if $port;
	my $session = start(qw(psql -XAtq -v ON_ERROR_STOP=1 -f -));
	$session->{port} = $port;
	$session->{backend} = run_sql($session, 'SELECT pg_backend_pid()');
	return $session;
}

# Return the lines of a query's result.
sub run_sql
{
	my ($session, $sql) = @_;
	my @lines;

	print { $session->{in} } "$sql;\n\\echo ready\n";
	for (;;)
	{
		my $line = line_of($session);
		return join "\n", @lines if $line eq 'ready';
		push @lines, $line;
	}
}

# Return the seconds until psql has the whole result, which is not printed.
# The SQL before it is not measured.
sub time_sql
{
	my ($session, $sql, $before) = @_;

	run_sql($session, "\\o /dev/null\n$before;\n\\o\nSELECT") if $before;
	my $out = run_sql($session,
		"\\o /dev/null\n\\timing on\n$sql;\n\\timing off\n\\o\nSELECT");
	my ($ms) = $out =~ m/^Time: ([\d.]+) ms/m or die "no time: $out\n";

	return $ms / 1000;
}

# Return the seconds of a query that is the first one of a session.
sub time_first
{
	my ($port, $sql) = @_;
	my $session = start_psql($port);
	my $seconds = time_sql($session, $sql);

	finish($session);
	return $seconds;
}

# Return the seconds that planning a query takes, as EXPLAIN says.
sub time_planning
{
	my ($session, $sql) = @_;
	my $out = run_sql($session, "EXPLAIN (SUMMARY) $sql");
	my ($ms) = $out =~ m/^Planning Time: ([\d.]+) ms/m or die "no time: $out\n";

	return $ms / 1000;
}

# Have another session execute SQL again and again.
sub run_beside
{
	my ($session, $sql) = @_;
	my $other = start_psql($session->{port});

	run_sql($session, 'SELECT pg_advisory_lock(1)');
	print { $other->{in} } 'DO $$BEGIN WHILE NOT pg_try_advisory_lock(1) LOOP '
	  . "$sql; COMMIT; END LOOP; END\$\$;\n";
	return $other;
}

# End what run_beside has started.
sub end_beside
{
	my ($session, $other) = @_;

	run_sql($session, 'SELECT pg_advisory_unlock(1)');
	finish($other);
	return;
}

# Return the growth, in MB, of the private memory of a new backend, or one of
# its workers, at the peak of one query.
sub memory
{
	my ($port, $sql, $before) = @_;
	my $session = start_psql($port);
	my $ready = IO::Select->new($session->{out});
	my $idle = memory_of($session->{backend});
	my $most = $idle;

	run_sql($session, "\\o /dev/null\n$before;\n\\o\nSELECT") if $before;
	print { $session->{in} } "\\o /dev/null\n$sql;\n\\o\n\\echo ready\n";
	until ($ready->can_read(SAMPLE))
	{
		$most = max($most, map { memory_of($_) } $session->{backend},
			workers_of($session->{backend}));
	}
	line_of($session);
	$most = max($most, memory_of($session->{backend}));
	finish($session);
	return ($most - $idle) / 1024;
}

sub workers_of
{
	my ($backend) = @_;

	return map { m{/proc/(\d+)/} && is_worker($_, $backend) ? $1 : () }
	  glob '/proc/[0-9]*/cmdline';
}

sub is_worker
{
	my ($path, $backend) = @_;

	open(my $file, '<', $path) or return;
	my $line = readline($file) // '';
	close($file);
	return $line =~ m/parallel worker for PID $backend\b/;
}

# Return the private memory of a process in kB, or 0 if it has ended.
sub memory_of
{
	my ($pid) = @_;

	open(my $file, '<', "/proc/$pid/status") or return 0;
	my $kb = sum(0, map { m/^Rss(?:Anon|File):\s+(\d+) kB/ ? $1 : () }
		readline($file));
	close($file);
	return $kb;
}

# ---- The other programs
# -----------------------------------------------------------

# Return the floor program's seconds, documents and bytes.
sub time_floor
{
	my ($session, $what) = @_;

	print { $session->{in} } $json->encode($what), "\n";
	return split m/ /, line_of($session);
}

# Return the seconds of a transaction of a number of sessions of pgbench that
# run a script for a duration: the time divided by all transactions.
sub time_sessions
{
	my ($script, $clients, $duration) = @_;
	my @command = (qw(pgbench -n -M prepared -f), $script, '-c', $clients, '-j',
		$clients, '-T', $duration);

	open(my $pipe, '-|', "@command 2>&1") or die "pgbench: $!\n";
	my $out = join '', readline($pipe);
	close($pipe) or die "pgbench has failed:\n$out";
	my ($tps) = $out =~ m/^tps = ([\d.]+)/m or die "no tps: $out\n";
	return 1 / $tps;
}

# Ask ClickHouse or DuckDB.
sub time_line
{
	my ($session, $query) = @_;

	print { $session->{in} } $query =~ s/\n/ /gr, "\n";
	return line_of($session);
}

1;
