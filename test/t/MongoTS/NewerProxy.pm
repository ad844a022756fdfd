# A proxy that makes MongoDB 6.0 answer as a newer version; see
# NewerCommands.pm.  test/mongodb puts it before its servers (like-9.0), and
# tests start it.
#
# It forwards bytes in both directions and never waits for one connection.
# Replies that do not change are not taken apart.  Members of a replica set
# speak to each other through it unchanged.

package MongoTS::NewerProxy;

use strict;
use warnings;

use Exporter qw(import);
use IO::Select;
use IO::Socket::INET;
use MongoTS::NewerCommands;
use MongoTS::Wire;
use POSIX ();
use Socket qw(IPPROTO_TCP TCP_NODELAY);

our @EXPORT = qw(newer_run newer_start);

use constant {
	CHUNK => 256 * 1024,
	MUCH => 1024 * 1024,    # of output that waits: its input waits, too
	OP_MSG => 2013,
	QUESTION => -2,         # the id of the proxy's own request
};

my ($behavior, %connections);

# ---- Messages -------------------------------------------------------------

sub other { return $_[0] eq 'client' ? 'server' : 'client' }

# Ask the server through a client's connection whether a collection is a
# time-series collection.  The client's next request waits for that.
sub ask
{
	my ($connection, $collection) = @_;
	my $command = bson_document(
		listCollections => bson_int32(1),
		filter => bson_document(name => bson_string($collection->{collection})),
		'$db' => bson_string($collection->{database}));
	my $message = wire_message(0, OP_MSG, pack('L< C', 0, 0) . $command->[1]);

	substr($message, 4, 4, pack('l<', QUESTION));
	$connection->{asked} = $collection;
	$connection->{output}{server} .= $message;
	return;
}

sub hear
{
	my ($connection, $message) = @_;
	my $asked = delete $connection->{asked};

	newer_is_known($behavior, $asked->{database}, $asked->{collection},
		$message =~ /\x02type\0.{4}timeseries\0/s ? 1 : 0);
	return;
}

# Forward a request.
sub pass_request
{
	my ($connection, $message) = @_;
	my (undef, $id) = unpack('l<2', $message);
	my ($new, $change) = eval { newer_request($behavior, $message, \$connection->{commands}) };

	if (my $needed = $@)
	{
		die $needed unless ref $needed;
		substr($connection->{input}{client}, 0, 0, $message);
		return ask($connection, $needed);
	}
	# members of a set name themselves so
	$connection->{is_internal} = 1 if index($message, "\x03internalClient\0") >= 0
	  && $message =~ /^.{20,60}(?:hello|ismaster)\0/is;
	$connection->{change}{$id} = $change if $change;
	$connection->{output}{server} .= $new;
	return;
}

sub pass_reply
{
	my ($connection, $message) = @_;
	my (undef, $id, $to) = unpack('l<3', $$message);
	my $change = delete $connection->{change}{$to};

	return hear($connection, $$message) if $to == QUESTION;
	$connection->{change}{$id} = $change if newer_reply($message, $change);
	$connection->{output}{client} .= $$message;
	return;
}

# Tell whether a message, whose header has arrived, stays as it is.
sub is_plain
{
	my ($connection, $from, $header) = @_;
	my (undef, undef, $to) = unpack('l<3', $header);

	return $from eq 'server' && !$connection->{change}{$to} && $to != QUESTION;
}

# Forward what one side has sent, except for the beginning of a message that
# must be complete.
sub pass_on
{
	my ($connection, $from) = @_;
	my $input = \$connection->{input}{$from};
	my $output = \$connection->{output}{ other($from) };

	while (length $$input)
	{
		my $rest = $connection->{is_internal} ? length $$input : $connection->{rest}{$from};

		if ($rest)
		{
			my $n = $rest < length $$input ? $rest : length $$input;

			$$output .= substr($$input, 0, $n, '');
			$connection->{rest}{$from} -= $n unless $connection->{is_internal};
			next;
		}
		last if length $$input < 16 || $from eq 'client' && $connection->{asked};
		my $length = unpack('l<', $$input);

		if (is_plain($connection, $from, $$input))
		{
			$connection->{rest}{$from} = $length;
			next;
		}
		last if length $$input < $length;
		my $message = substr($$input, 0, $length, '');
		$from eq 'client' ? pass_request($connection, $message) : pass_reply($connection, \$message);
	}
	return;
}

# ---- Sockets --------------------------------------------------------------

sub hang_up
{
	my ($connection) = @_;

	delete @connections{ map { $connection->{$_} } qw(client server) };
	close($connection->{$_}) foreach qw(client server);
	return;
}

sub accept_client
{
	my ($listen, $target) = @_;
	my $client = $listen->accept or return;
	my $server = IO::Socket::INET->new($target) or return;
	my $connection = { client => $client, server => $server,
		input => { client => '', server => '' }, output => { client => '', server => '' },
		rest => { client => 0, server => 0 }, change => {}, commands => 0 };

	foreach my $socket ($client, $server)
	{
		$socket->blocking(0);
		setsockopt($socket, IPPROTO_TCP, TCP_NODELAY, 1);
		$connections{$socket} = $connection;
	}
	return;
}

# Write what waits for a side.  Returns false if it has hung up.
sub write_to
{
	my ($connection, $side) = @_;
	my $output = \$connection->{output}{$side};

	while (length $$output)
	{
		my $n = syswrite($connection->{$side}, $$output, CHUNK);

		return $!{EAGAIN} || $!{EINTR} unless defined $n;
		substr($$output, 0, $n, '');
	}
	return 1;
}

# Read from a side and forward it.  Returns false if one has hung up.
sub read_from
{
	my ($connection, $side) = @_;
	my $input = \$connection->{input}{$side};
	my $n = sysread($connection->{$side}, $$input, CHUNK, length $$input);

	return $!{EAGAIN} || $!{EINTR} unless defined $n;
	return 0 unless $n;
	# an answer to the proxy's question lets the client's request go on
	pass_on($connection, $_) foreach $side, $side eq 'server' ? 'client' : ();
	return write_to($connection, 'server') && write_to($connection, 'client');
}

# Forward connections to a server until the process ends.
sub serve
{
	my ($listen, $target) = @_;

	$SIG{PIPE} = 'IGNORE';
	while (1)
	{
		my ($read, $write) = (IO::Select->new($listen), IO::Select->new);

		foreach my $connection (values %connections)
		{
			foreach my $side (qw(client server))
			{
				my $waiting = length $connection->{output}{ other($side) };

				$read->add($connection->{$side}) if $waiting < MUCH;
				$write->add($connection->{$side}) if length $connection->{output}{$side};
			}
		}
		my ($can_read, $can_write) = IO::Select->select($read, $write);
		foreach my $socket (@{ $can_write // [] })
		{
			my $connection = $connections{$socket} or next;
			my $side = $socket == $connection->{client} ? 'client' : 'server';

			write_to($connection, $side) or hang_up($connection);
		}
		foreach my $socket (@{ $can_read // [] })
		{
			if ($socket == $listen) { accept_client($listen, $target); next }
			my $connection = $connections{$socket} or next;
			my $side = $socket == $connection->{client} ? 'client' : 'server';

			read_from($connection, $side) or hang_up($connection);
		}
	}
	return;
}

sub listen_on
{
	my ($port) = @_;

	return IO::Socket::INET->new(
		LocalAddr => '127.0.0.1',
		LocalPort => $port,
		Listen => 100,
		ReuseAddr => 1) || die "cannot listen: $!\n";
}

# Be a proxy on a port for the server at another one.  The version may be
# followed by "+overload": then each tenth command of a connection is refused.
sub newer_run
{
	my ($version, $port, $server) = @_;

	$behavior = newer_behavior($version =~ s/\+overload$//r, $version =~ /\+/ ? 10 : 0);
	serve(listen_on($port), "127.0.0.1:$server");
	return;
}

# Start a proxy for the server of a URI.  It ends with the test.  Returns its
# URI.
sub newer_start
{
	my ($uri, $version) = @_;
	my ($target) = $uri =~ m{^mongodb://([^/?,@]+:\d+)/?$} or die "the proxy wants a URI with nothing but host and port";
	my $listen = listen_on(0);
	my $port = $listen->sockport;
	my $pid = fork // die "cannot fork: $!";

	if ($pid == 0)
	{
		# not the test's END blocks
		$behavior = newer_behavior($version, 0);
		eval { serve($listen, $target) };
		print STDERR $@;
		POSIX::_exit(1);
	}
	push(our @proxies, $pid);
	return "mongodb://127.0.0.1:$port/?directConnection=true";
}

END
{
	my $status = $?;
	foreach my $pid (our @proxies)
	{
		kill('KILL', $pid);
		waitpid($pid, 0);
	}
	$? = $status;
}

1;
