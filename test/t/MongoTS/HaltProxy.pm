# A proxy for a real server that halts at a chosen point of the conversation
# and reports that to the test.  Then it continues or hangs up, as the test
# commands.
#
# A point is the Nth request that matches a pattern of "NAME COLLECTION", and a
# place.  "request" halts before the request reaches the server.  "reply" halts
# after the server has executed the request.  "within" halts after half of the
# reply.  Either that connection halts, or all of them, like a silent server.
# So a test acts when the other side certainly waits, and never sleeps.

package MongoTS::HaltProxy;

use strict;
use warnings;

use Exporter qw(import);
use MongoTS::FakeServer;
use IO::Handle;
use IO::Select;
use IO::Socket::INET;
use POSIX ();
use Socket;
use Test::More;

our @EXPORT = qw(halt_start halt_uri halt_at halt_all_at halt_await halt_end
  halt_orphan halt_deliver halt_cursors);

# ---- The process ----------------------------------------------------------

my %proxy;          # control, listen, target
my @connections;    # {client, server, input => {client, server}, ..}
my $armed;          # the point to halt at: where, n, all, pattern
my $halt;           # {connection, all, to, rest}
my $orphan;         # a connection that the client has lost
my %cursors;        # the open cursors: id => collection

sub report { print { $proxy{control} } "$_[0]\n"; return }

sub send_all
{
	my ($socket, $bytes) = @_;

	while (length $bytes)
	{
		my $n = syswrite($socket, $bytes) or return;
		substr($bytes, 0, $n, '');
	}
	return;
}

sub hang_up
{
	my ($connection) = @_;

	@connections = grep { $_ != $connection } @connections;
	close($connection->{$_}) foreach qw(client server);
	return;
}

# Tell whether this is the point.  Each request is counted once.
sub is_point
{
	my ($connection, $where) = @_;
	my $now = $connection->{now};

	return 0 unless $armed && !$halt;
	$now->{hit} = $now->{request} =~ /^(?:$armed->{pattern})$/
	  && --$armed->{n} == 0 if $where eq 'request';
	return $now->{hit} && $where eq $armed->{where};
}

sub halt_connection
{
	my ($connection, $to, $rest) = @_;

	$halt = { connection => $connection, all => $armed->{all}, to => $to, rest => $rest };
	undef $armed;
	report("halted $connection->{now}{request}");
	return;
}

# Forward one message, or halt.
sub pass_message
{
	my ($connection, $from, $message) = @_;
	my $to = $from eq 'client' ? 'server' : 'client';
	my $half = int(length($message) / 2);

	if ($from eq 'client')
	{
		my $request = fake_request($message);

		$connection->{now} = {
			request => "$request->{name} " . ($request->{collection} // ''),
			hit => 0,
			cursor => $request->{fields}{getMore} // 0 };
		# a request can follow before the reply to the one before it; one with
		# the flag moreToCome has no reply
		push @{ $connection->{sent} }, $connection->{now}
		  unless unpack('x12 l< L<', $message) == 2013 && unpack('x16 L<', $message) & 2;
		return halt_connection($connection, $to, $message)
		  if is_point($connection, 'request');
	}
	else
	{
		my ($id, $collection) = fake_cursor($message);

		$connection->{now} = shift @{ $connection->{sent} };
		delete $cursors{ $connection->{now}{cursor} };
		$cursors{$id} = $collection if $id;
		return halt_connection($connection, $to, $message)
		  if is_point($connection, 'reply');
		if (is_point($connection, 'within'))
		{
			send_all($connection->{$to}, substr($message, 0, $half, ''));
			return halt_connection($connection, $to, $message);
		}
	}
	return send_all($connection->{$to}, $message);
}

# Forward the whole messages that one side has sent.
sub pass_on
{
	my ($connection, $from) = @_;
	my $input = \$connection->{input}{$from};

	while (!is_halted($connection) && length $$input >= 16)
	{
		my $length = unpack('l<', $$input);

		last if length $$input < $length;
		pass_message($connection, $from, substr($$input, 0, $length, ''));
	}
	return;
}

sub is_halted
{
	my ($connection) = @_;
	return $halt && ($halt->{all} || $halt->{connection} == $connection);
}

sub accept_client
{
	my $client = $proxy{listen}->accept or return;
	my $server = IO::Socket::INET->new($proxy{target}) or return;

	push @connections, { client => $client, server => $server,
		input => { client => '', server => '' } };
	return;
}

# Execute a command of the test.
sub execute_command
{
	my $line = readline($proxy{control}) // POSIX::_exit(0);
	my ($verb, $rest) = $line =~ /^(\w+) ?(.*)$/;

	if ($verb eq 'arm')
	{
		@{$armed}{qw(where n all pattern)} = split(/ /, $rest, 4);
	}
	elsif ($verb eq 'orphan')
	{
		$orphan = $halt->{connection};
		substr($orphan->{input}{client}, 0, 0, $halt->{rest});
		undef $halt;
		@connections = grep { $_ != $orphan } @connections;
		close($orphan->{client});
	}
	elsif ($verb eq 'deliver')
	{
		my $input = '';

		send_all($orphan->{server}, $orphan->{input}{client});
		shutdown($orphan->{server}, 1);
		while (sysread($orphan->{server}, $input, 65536)) { }
		undef $orphan;
	}
	elsif ($verb eq 'cursors')
	{
		$rest = join(' ', map { "$_:$cursors{$_}" } sort keys %cursors);
		%cursors = ();
	}
	else { end_halt($verb) }
	report("done $rest");
	return;
}

sub end_halt
{
	my ($how) = @_;
	my $was = $halt;

	undef $armed;
	undef $halt;
	return unless $was;
	if ($how eq 'hold')
	{
		$armed = { where => 'reply', pattern => '', n => 0, all => 0 };
		$was->{connection}{is_held} = 1;
		# requests that the client has sent behind this one
		my $client = $was->{connection}{client};
		$was->{rest} .= $was->{connection}{input}{client};
		while (IO::Select->new($client)->can_read(0))
		{
			last unless sysread($client, $was->{rest}, 65536, length $was->{rest});
		}
	}
	send_all($was->{connection}{ $was->{to} }, $was->{rest}) unless $how eq 'cut';
	hang_up($was->{connection}) if $how eq 'cut';
	# messages that arrived in the meantime
	foreach my $connection (@connections)
	{
		pass_on($connection, $_) foreach qw(client server);
	}
	return;
}

sub run
{
	$SIG{PIPE} = 'IGNORE';
	while (1)
	{
		my $select = IO::Select->new($proxy{control},
			$halt && $halt->{all} ? () : $proxy{listen});
		my %side;

		foreach my $connection (grep { !is_halted($_) } @connections)
		{
			$side{ $connection->{$_} } = [ $connection, $_ ] foreach qw(client server);
			$select->add($connection->{server});
			$select->add($connection->{client}) unless $connection->{is_held};
		}
		# one at a time, because handling it may halt or close the others
		my ($socket) = $select->can_read;

		if ($socket == $proxy{control}) { execute_command() }
		elsif ($socket == $proxy{listen}) { accept_client() }
		else
		{
			my ($connection, $from) = @{ $side{$socket} };
			my $input = \$connection->{input}{$from};

			if (sysread($socket, $$input, 65536, length $$input))
			{
				pass_on($connection, $from);
			}
			else { hang_up($connection) }
		}
	}
	return;
}

# ---- The interface for tests ----------------------------------------------

# Start a proxy for the server of a URI.
sub halt_start
{
	my ($uri) = @_;
	my ($target) = $uri =~ m{^mongodb://([^/?,@]+:\d+)/?$}
	  or plan skip_all => 'the proxy wants a URI with nothing but host and port';
	my $listen = IO::Socket::INET->new(
		LocalAddr => '127.0.0.1',
		Listen => 20) or die "cannot listen: $!";
	my $port = $listen->sockport;

	socketpair(my $ours, my $its, AF_UNIX, SOCK_STREAM, PF_UNSPEC)
	  or die "cannot make a socket pair: $!";
	$_->autoflush(1) foreach $ours, $its;
	my $pid = fork // die "cannot fork: $!";
	if ($pid == 0)
	{
		# not the test's END blocks
		close($ours);
		%proxy = (control => $its, listen => $listen, target => $target);
		eval { run() };
		print STDERR $@;
		POSIX::_exit(1);
	}
	close($listen);
	close($its);
	push our @proxies, my $new = { pid => $pid, port => $port, control => $ours };
	return $new;
}

sub halt_uri
{
	my ($proxy, $options) = @_;

	return "mongodb://127.0.0.1:$proxy->{port}/?directConnection=true"
	  . ($options ? "&$options" : '');
}

# Read the proxy's next line, within half a minute.  More lines may arrive with
# it.
sub hear
{
	my ($proxy, $begin) = @_;

	$proxy->{heard} //= '';
	while ($proxy->{heard} !~ /\n/)
	{
		IO::Select->new($proxy->{control})->can_read(30)
		  && sysread($proxy->{control}, $proxy->{heard}, 65536,
			length $proxy->{heard})
		  or return;
	}
	(my $line, $proxy->{heard}) = split(/\n/, $proxy->{heard}, 2);
	return $line =~ /^$begin ?(.*)$/ ? $1 : die "the proxy said: $line";
}

sub order
{
	my ($proxy, $order) = @_;

	print { $proxy->{control} } "$order\n";
	return hear($proxy, 'done') // die 'the proxy does not obey';
}

# Halt the connection at the Nth request of a pattern.
sub halt_at
{
	my ($proxy, $where, $pattern, $n) = @_;
	return order($proxy, join(' ', 'arm', $where, $n // 1, 0, $pattern));
}

# Halt all connections at the Nth request of a pattern, like a silent server.
sub halt_all_at
{
	my ($proxy, $where, $pattern, $n) = @_;
	return order($proxy, join(' ', 'arm', $where, $n // 1, 1, $pattern));
}

# Wait until the proxy halts.  Returns the request, or undef if none came.
sub halt_await { return hear($_[0], 'halted') }

# End the halt, or forget the point if it was not reached. "pass" forwards the
# message and "cut" closes the connection. "hold" forwards the request and
# halts again before the reply, even if the client has hung up.
sub halt_end
{
	my ($proxy, $how) = @_;
	return order($proxy, $how);
}

# Close the client's side of the connection that is halted at a request. What it
# has sent has not reached the server.
sub halt_orphan { return order($_[0], 'orphan') }

# Send that to the server, and wait until it has answered.
sub halt_deliver { return order($_[0], 'deliver') }

# Return the cursors that were opened since the last call and not read to their
# end, as [id, collection].
sub halt_cursors
{
	my ($proxy) = @_;
	return map { [ split(/:/, $_, 2) ] } split(/ /, order($proxy, 'cursors'));
}

END
{
	my $status = $?;
	foreach my $proxy (our @proxies)
	{
		kill('KILL', $proxy->{pid});
		waitpid($proxy->{pid}, 0);
	}
	$? = $status;
}

1;
