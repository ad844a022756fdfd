# A scripted server for tests of replies that no real server gives on demand.
# It speaks the part of MongoDB's wire protocol that the extension uses.
#
# One process answers all connections in turn and never sleeps; it hangs by not
# answering.  Its behavior depends on the collection of a command, so that a
# healthy collection beside a faulty one shows whether a session has recovered.

package MongoTS::FakeServer;

use strict;
use warnings;
no warnings 'portable';    # 64-bit numbers

use Exporter qw(import);
use File::Basename qw(basename);
use IO::Select;
use IO::Socket::INET;
use MongoTS::Wire;
use POSIX ();
use Socket qw(IPPROTO_TCP TCP_NODELAY);

our @EXPORT = (qw(fake_start fake_uri fake_commands fake_reply fake_find fake_asks_other_types
  fake_error fake_overload fake_indexes fake_request fake_cursor), @MongoTS::Wire::EXPORT);

use constant {
	OP_REPLY => 1,
	OP_QUERY => 2004,
	OP_MSG => 2013,
};

# ---- Messages -------------------------------------------------------------

# Make the reply to a request: a document as an OP_MSG, or an OP_REPLY.
sub fake_reply
{
	my ($request, $document) = @_;

	return wire_message($request->{id}, OP_REPLY,
		pack('l< q< l<2', 8, 0, 0, 1) . $document->[1])
	  if $request->{opcode} == OP_QUERY;
	return wire_message($request->{id}, OP_MSG,
		pack('L< C', 0, 0) . $document->[1]);
}

# Make the error reply of a server to a command.
sub fake_error
{
	my ($code, $message) = @_;

	return bson_document(
		ok => bson_double(0),
		errmsg => bson_string($message),
		code => bson_int32($code));
}

# Make the reply of an overloaded server to any command; the fields replace those
# of MongoDB 8.2.
sub fake_overload
{
	my %fields = (
		ok => bson_double(0),
		errmsg => bson_string('the request rate is exceeded'),
		code => bson_int32(462),
		errorLabels => bson_array(map { bson_string($_) } qw(SystemOverloadedError RetryableError)),
		@_);

	return bson_document(%fields);
}

# Make the reply to find or getMore: an id, 0 at the end, and documents.
sub fake_find
{
	my ($request, $id, @documents) = @_;

	return bson_document(
		cursor => bson_document(
			id => bson_int64($id),
			ns => bson_string("fake.$request->{collection}"),
			($request->{name} eq 'getMore' ? 'nextBatch' : 'firstBatch') =>
			  bson_array(@documents)),
		ok => bson_double(1));
}

# Tell whether a find asks for documents whose time is not a date: {$not: {$gte:
# the first date}}.
sub fake_asks_other_types
{
	my ($request) = @_;

	return $request->{name} eq 'find'
	  && ($request->{fields}{filter} // '') =~ /\x09\$gte\0\0{7}\x80/;
}

# Make the reply to listIndexes: an index on the field ts, as MongoDB 9.0
# describes it, with the collation of a locale.
sub fake_indexes
{
	my ($request, $locale) = @_;

	return fake_find($request, 0, bson_document(
			v => bson_int32(2),
			key => bson_document(ts => bson_int32(-1)),
			name => bson_string('ts_-1'),
			collation => bson_document(locale => bson_string($locale))));
}

# Read a request: its command's name, collection and fields, and the number of
# documents in sections beside it.
sub fake_request
{
	my ($message) = @_;
	my ($length, $id, undef, $opcode) = unpack('l<4', $message);
	my %request = (id => $id, opcode => $opcode, writes => 0);
	my $offset = 20;

	if ($opcode == OP_QUERY)
	{
		# flags, the name, and the numbers of documents to skip and to return
		$offset += 9 + length unpack('Z*', substr($message, 20));
		@request{qw(names fields)} = bson_read($message, $offset);
		$offset = $length;
	}
	while ($offset < $length)
	{
		my $kind = unpack('C', substr($message, $offset++, 1));

		if ($kind == 0)
		{
			@request{qw(names fields)} = bson_read($message, $offset);
			$offset = (bson_read($message, $offset))[2];
			next;
		}
		my $end = $offset + unpack('l<', substr($message, $offset, 4));
		$offset += 5 + length unpack('Z*', substr($message, $offset + 4));
		while ($offset < $end)
		{
			$offset += unpack('l<', substr($message, $offset, 4));
			$request{writes}++;
		}
	}
	$request{name} = $request{names}[0];
	# the writes may be in the command itself
	foreach my $list (@{ $request{fields} }{qw(documents updates deletes)})
	{
		$request{writes} += @{ (bson_read($list, 0))[0] } if defined $list;
	}
	$request{collection} = $request{fields}{collection}
	  // $request{fields}{ $request{name} };
	return \%request;
}

# Read the cursor of a reply: its id and collection, or nothing if there is
# none or it has ended.
sub fake_cursor
{
	my ($message) = @_;
	my (undef, undef, undef, $opcode) = unpack('l<4', $message);
	return unless $opcode == OP_MSG;
	my (undef, $reply) = bson_read($message, 21);
	return unless $reply->{cursor};
	my (undef, $cursor) = bson_read($reply->{cursor}, 0);

	return unless $cursor->{id};
	return ($cursor->{id}, $cursor->{ns} =~ s/^[^.]*\.//r);
}

# ---- The replies of a healthy server --------------------------------------

my %left;    # the remaining documents of each cursor

my $cursors = 0;

# The id of a new cursor.  Changing a byte gives neither 0 nor another cursor's
# id.
sub new_cursor
{
	my ($low, $high) = (++$cursors % 255 + 1, int($cursors / 255) + 1);

	return unpack('q<', pack('C8', $low, $low, $high, $high, (0x11) x 4));
}

sub hello
{
	my ($fake) = @_;

	return bson_document(
		helloOk => bson_bool(1),
		ismaster => bson_bool(1),
		isWritablePrimary => bson_bool(1),
		maxBsonObjectSize => bson_int32(16 * 1024 * 1024),
		maxMessageSizeBytes => bson_int32(48_000_000),
		maxWriteBatchSize => bson_int32(100_000),
		minWireVersion => bson_int32(0),
		maxWireVersion => bson_int32($fake->{wire} // 21),
		$fake->{set} ? (
			setName => bson_string('fake'),
			hosts => bson_array(bson_string("127.0.0.1:$fake->{port}")),
			topologyVersion => bson_document(counter => bson_int64(0))) : (),
		$fake->{mongos} ? (msg => bson_string('isdbgrid')) : (),
		$fake->{sessions} ? (logicalSessionTimeoutMinutes => bson_int32(30)) : (),
		ok => bson_double(1));
}

# Return the next batch of a cursor, or an error if the cursor is unknown.
sub next_batch
{
	my ($request, $id) = @_;
	my $documents = $left{$id} or return fake_error(43, 'cursor not found');
	my $size = $request->{fields}{batchSize} || 101;
	my @batch = splice(@$documents, 0, $size);

	delete $left{$id} unless @$documents;
	return fake_find($request, @$documents ? $id : 0, @batch);
}

sub answer
{
	my ($fake, $request) = @_;
	my $name = $request->{name};

	return hello($fake) if $name =~ /^(?:hello|ismaster)$/i;
	return fake_find($request, 0) if fake_asks_other_types($request);
	if ($name eq 'find' || $name eq 'aggregate')
	{
		my $cursor = new_cursor();

		$left{$cursor} = [ @{ $fake->{documents} } ];
		return next_batch($request, $cursor);
	}
	return next_batch($request, $request->{fields}{getMore})
	  if $name eq 'getMore';
	return bson_document(
		n => bson_int32(scalar @{ $fake->{documents} }),
		ok => bson_double(1)) if $name eq 'count';
	return bson_document(
		n => bson_int32($request->{writes}),
		nModified => bson_int32($request->{writes}),
		ok => bson_double(1)) if $name =~ /^(?:insert|update|delete)$/;
	return bson_document(ok => bson_double(1));
}

# ---- The process ----------------------------------------------------------

# Return the reaction to a request: strings are sent, undef closes the
# connection, and an empty list lets it wait.
#
# The key of a script is "NAME COLLECTION" or "NAME".  Its arguments are the
# request, a function that makes the healthy reply, and the number of earlier
# calls.
sub react
{
	my ($fake, $request) = @_;
	my $what = "$request->{name} $request->{collection}";
	my $script = $fake->{scripts}{$what} || $fake->{scripts}{ $request->{name} };
	my $healthy = sub { answer($fake, $request) };

	print { $fake->{log} } "$what\n";
	return $script->($request, $healthy, $fake->{calls}{$what}++, $fake) if $script;
	return fake_reply($request, $healthy->());
}

sub run
{
	my ($fake, $listen) = @_;
	my $select = IO::Select->new($listen);
	my %input;

	$SIG{PIPE} = 'IGNORE';
	while (1)
	{
		foreach my $socket ($select->can_read)
		{
			if ($socket == $listen)
			{
				my $client = $listen->accept or next;

				# each part of a reply is a packet
				setsockopt($client, IPPROTO_TCP, TCP_NODELAY, 1);
				$select->add($client);
				$input{$client} = '';
				next;
			}
			my $open = sysread($socket, $input{$socket}, 65536,
				length $input{$socket});

			while ($open && length $input{$socket} >= 16)
			{
				my $length = unpack('l<', $input{$socket});

				last if length $input{$socket} < $length;
				my $message = substr($input{$socket}, 0, $length, '');
				foreach my $part (react($fake, fake_request($message)))
				{
					$open &&= defined $part;
					syswrite($socket, $part) if $open;
				}
			}
			next if $open;
			$select->remove($socket);
			delete $input{$socket};
			close($socket);
		}
	}
	return;
}

# Start a server with some documents in every collection.
#
# scripts: deviations from the healthy server, see react(); sessions => 1: it
# supports sessions; set => 1: it is the primary of a replica set; everywhere => 1: it
# listens on all addresses, such as 127.1.2.3; wire => 29: the newest version of
# the protocol that it speaks, that of MongoDB 9.0.
sub fake_start
{
	my ($log, $documents, %params) = @_;
	# programs that run side by side share the directory
	$log .= '.' . basename($0);
	my $listen = IO::Socket::INET->new(
		LocalAddr => $params{everywhere} ? '0.0.0.0' : '127.0.0.1',
		Listen => 10) or die "cannot listen: $!";
	my %fake = (%params, documents => $documents, file => $log);

	open($fake{log}, '>', $log) or die "$log: $!";
	$fake{log}->autoflush(1);
	$fake{port} = $listen->sockport;
	$fake{pid} = fork // die "cannot fork: $!";
	if ($fake{pid} == 0)
	{
		# not the test's END blocks
		eval { run(\%fake, $listen) };
		print STDERR $@;
		POSIX::_exit(1);
	}
	close($listen);
	push our @fakes, \%fake;
	return \%fake;
}

sub fake_uri
{
	my ($fake, $options) = @_;

	return "mongodb://127.0.0.1:$fake->{port}/?" . ($options // '');
}

# Return and forget the commands that it received, as "NAME COLLECTION".
sub fake_commands
{
	my ($fake) = @_;

	open(my $file, '<', $fake->{file}) or die "$fake->{file}: $!";
	chomp(my @commands = <$file>);
	my @new = @commands[ $fake->{seen} // 0 .. $#commands ];
	$fake->{seen} = @commands;
	return @new;
}

END
{
	my $status = $?;
	foreach my $fake (our @fakes)
	{
		kill('KILL', $fake->{pid});
		waitpid($fake->{pid}, 0);
	}
	$? = $status;
}

1;
