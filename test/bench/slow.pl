# A slow server: forwards connections to another server, and limits the bytes
# per second of the answers on each connection.
#
# usage: slow.pl HOST:PORT BYTES_PER_SECOND
#
# Prints its port.  Each connection has a process of its own, which ends with
# it; all end when the main process is terminated.

use strict;
use warnings;

use IO::Select;
use IO::Socket::INET;
use Time::HiRes qw(sleep time);

use constant MOST => 65536;

my ($server, $rate) = @ARGV;
my $listener = IO::Socket::INET->new(
	LocalAddr => '127.0.0.1', Listen => 64) or die "listen: $!\n";

# Forward available data.  Returns true at the end.
sub pass
{
	my ($from, $to) = @_;

	my $length = sysread($from, my $bytes, MOST) or return;
	for (my $done = 0; $done < $length;)
	{
		$done += syswrite($to, $bytes, $length - $done, $done) // return;
	}
	return $length;
}

sub serve
{
	my ($client) = @_;
	my $to = IO::Socket::INET->new($server) or return;
	my $both = IO::Select->new($client, $to);

	for (;;)
	{
		foreach my $socket ($both->can_read)
		{
			my $begin = time;
			my $length = pass($socket, $socket == $to ? $client : $to)
			  or return;
			my $rest = $socket == $to ? $begin + $length / $rate - time : 0;
			sleep($rest) if $rest > 0;
		}
	}
}

$SIG{CHLD} = 'IGNORE';
$SIG{TERM} = sub { local $SIG{TERM} = 'IGNORE'; kill TERM => -$$; exit };
setpgrp;
$| = 1;
print $listener->sockport, "\n";
for (;;)
{
	my $client = $listener->accept or next;
	my $child = fork // die "fork: $!\n";

	if ($child == 0)
	{
		$SIG{TERM} = 'DEFAULT';
		serve($client);
		exit;
	}
}
