# Programs that the benchmark talks to: psql and the floor.
#
# Both go on from one question to the next, so that nothing is measured of how
# they start or connect.

package Bench::Session;

use strict;
use warnings;

use Exporter qw(import);
use IPC::Open2;
use JSON::PP;

our @EXPORT_OK = qw(start_psql start_floor run_sql time_sql time_floor finish
  memory);

my $json = JSON::PP->new->canonical;

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

sub start_psql
{
	my $session = start(qw(psql -XAtq -v ON_ERROR_STOP=1 -f -));

	$session->{backend} = run_sql($session, 'SELECT pg_backend_pid()');
	return $session;
}

# The lines that a query gives
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

# The seconds until psql has the whole result, which is not printed
sub time_sql
{
	my ($session, $sql) = @_;
	my $out = run_sql($session,
		"\\o /dev/null\n\\timing on\n$sql;\n\\timing off\n\\o\nSELECT");
	my ($ms) = $out =~ m/^Time: ([\d.]+) ms/m or die "no time: $out\n";

	return $ms / 1000;
}

# By how many MB the backend's memory has grown at most, by one query
sub memory
{
	my ($sql) = @_;
	my $session = start_psql();
	my $idle = status_of($session, 'VmRSS');

	time_sql($session, $sql);
	my $most = status_of($session, 'VmHWM');
	finish($session);
	return ($most - $idle) / 1024;
}

# A field of the backend's status, in kB
sub status_of
{
	my ($session, $name) = @_;
	my $path = "/proc/$session->{backend}/status";

	open(my $file, '<', $path) or die "$path: $!\n";
	my ($value) = map { m/^$name:\s+(\d+) kB/ ? $1 : () } readline($file);
	close($file);
	return $value;
}

# ---- The floor ------------------------------------------------------------

sub start_floor { return start(@_) }

# Its seconds, documents and bytes
sub time_floor
{
	my ($session, $what) = @_;

	print { $session->{in} } $json->encode($what), "\n";
	return split m/ /, line_of($session);
}

1;
