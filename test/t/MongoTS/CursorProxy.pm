# A proxy for the shared server that counts the server's open cursors.  A reply
# opens a cursor; a later reply at the end, or killCursors, closes it.  The
# proxy itself answers {cursorProxy: 1} with the ids of open cursors and
# connections.
#
# It forwards one message at a time, and waits for the server's reply to it, if
# there is one.

package MongoTS::CursorProxy;

use strict;
use warnings;

use Exporter qw(import);
use IO::Select;
use IO::Socket::INET;
use POSIX ();
use Test::More;

use MongoTS::FakeServer;

our @EXPORT = qw(cursor_proxy_start);

my %open;    # the numbers of cursors

# Read one message; undef when the connection is closed.
sub read_message
{
	my ($socket) = @_;
	my $message = '';
	my $length = 16;

	while (length $message < $length)
	{
		sysread($socket, $message, $length - length $message, length $message)
		  or return;
		$length = unpack('l<', $message);
	}
	return $message;
}

# Count cursors by a request and the reply to it.
sub count_cursors
{
	my ($request, $reply) = @_;

	if ($request->{name} eq 'killCursors')
	{
		my (undef, $numbers) = bson_read($request->{fields}{cursors}, 0);
		delete @open{ values %$numbers };
		return;
	}
	return unless length $reply && unpack('x12 l<', $reply) == 2013;
	my (undef, $fields) = bson_read($reply, 21);
	delete $open{ $request->{fields}{getMore} } if $request->{name} eq 'getMore';
	return unless $fields->{cursor};
	my (undef, $cursor) = bson_read($fields->{cursor}, 0);
	$open{ $cursor->{id} } = 1 if $cursor->{id};
	return;
}

# Answer a client's message.  Returns false if one of the two connections is
# closed.
sub serve
{
	my ($client, $server, $connections) = @_;
	my $message = read_message($client) // return;
	my $request = fake_request($message);

	return syswrite($client, fake_reply($request, bson_document(
				cursors => bson_int32(scalar keys %open),
				connections => bson_int32($connections),
				ok => bson_double(1)))) if $request->{name} eq 'cursorProxy';
	syswrite($server, $message) or return;
	if (unpack('x12 l<', $message) == 2013 && unpack('x16 L<', $message) & 2)
	{
		# the flag moreToCome: there is no reply
		count_cursors($request, '');
		return 1;
	}
	my $reply = read_message($server) // return;
	count_cursors($request, $reply);
	return syswrite($client, $reply);
}

sub run
{
	my ($listen, $target) = @_;
	my $select = IO::Select->new($listen);
	my %server;

	$SIG{PIPE} = 'IGNORE';
	while (1)
	{
		foreach my $socket ($select->can_read)
		{
			if ($socket == $listen)
			{
				my $client = $listen->accept or next;

				$server{$client} = IO::Socket::INET->new($target) or next;
				$select->add($client);
			}
			elsif (!serve($socket, $server{$socket}, scalar keys %server))
			{
				delete $server{$socket};
				$select->remove($socket);
				close($socket);
			}
		}
	}
	return;
}

# Start the proxy and return its URI.
sub cursor_proxy_start
{
	my ($target) = $ENV{MONGODB_URI} =~ m{^mongodb://([^/?,@]+:\d+)/?$}
	  or plan(skip_all => 'the proxy wants a URI with nothing but host and port');
	my $listen = IO::Socket::INET->new(
		LocalAddr => '127.0.0.1',
		Listen => 10) or die "cannot listen: $!";
	my $port = $listen->sockport;
	my $pid = fork // die "cannot fork: $!";

	if ($pid == 0)
	{
		# not the test's END blocks
		eval { run($listen, $target) };
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
