# Functions that the TAP tests share.  They make nodes with the extension and
# replica sets of a test's own.  They also control the second
# MongoDB-compatible server, which a test may stop, kill and restart.

package MongoTS::Node;

use strict;
use warnings;

use Cwd qw(abs_path);
use Exporter qw(import);
use File::Basename qw(dirname);
use IO::Select;
use IO::Socket::INET;
use IPC::Run;
use MongoTS::Collations;
use MongoTS::Wire;
use POSIX ();
use PostgreSQL::Test::Cluster;
use Test::More;
use Time::HiRes qw(time usleep);

our @EXPORT = qw(quoted extension_sql new_node create_server skip_without_fault fault_uri
  fault_signal fault_kill fault_restart skip_without_mongod mongod_start set_start
  set_uri set_member_uri set_primary set_await set_signal set_kill set_restart
  set_step_down proxy_start proxy_uri
  proxy_signal proxy_kill proxy_connections session_start session_send
  session_has_answered session_wait session_query session_end);

my $mongodb = abs_path(dirname(__FILE__) . '/../../mongodb');

# Return a text as an SQL literal.
sub quoted
{
	my ($text) = @_;

	$text =~ s/'/''/g;
	return "'$text'";
}

# Return the SQL that creates the extension's objects, of the installed library or of
# $MONGO_TS_LIBRARY, which is the absolute path of another build.
sub extension_sql
{
	my $library = $ENV{MONGO_TS_LIBRARY};
	return 'CREATE EXTENSION mongo_ts_fdw;' unless $library;

	my $dir = $library =~ s{/[^/]*$}{}r;
	my $script = (glob("$dir/mongo_ts_fdw--*.sql"))[-1]; # the newest version
	my $sql = PostgreSQL::Test::Utils::slurp_file($script);
	$sql =~ s/^\\echo.*//m;
	$sql =~ s/MODULE_PATHNAME/$library/g;
	$sql =~ s/\@extschema\@/public/g;
	return $sql;
}

# Return a started node with the extension and, except with uri => undef, a
# foreign server "mongo" with a user mapping for PUBLIC.  With memory_in_use =>
# 1 the node has the function memory_in_use(), which returns the bytes that its
# backend has allocated.
sub new_node
{
	my ($name, %params) = @_;
	my $uri = exists $params{uri} ? $params{uri} : $ENV{MONGODB_URI};
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init;
	# plans do not depend on the machine
	$node->append_conf('postgresql.conf', join("\n",
			'mongo_ts_fdw.processors = 64', $params{conf} // ()));
	{
		# chunks in glibc's thread cache would count as used
		local $ENV{GLIBC_TUNABLES} = 'glibc.malloc.tcache_count=0'
		  if $params{memory_in_use};
		$node->start;
	}
	create_collations($node);
	$node->safe_psql('postgres', extension_sql());
	create_memory_in_use($node) if $params{memory_in_use};
	create_server($node, 'mongo', $uri) if defined $uri;
	return $node;
}

# Create a foreign server and its user mapping for PUBLIC.
sub create_server
{
	my ($node, $name, $uri, $options) = @_;
	my $more = $options ? ", $options" : '';

	$uri = quoted($uri);
	$node->safe_psql('postgres', <<"END");
		CREATE SERVER $name FOREIGN DATA WRAPPER mongo_ts_fdw
			OPTIONS (uri $uri$more);
		CREATE USER MAPPING FOR PUBLIC SERVER $name;
END
	return;
}

# Skip the whole test file if there is no server that it may stop or kill.
sub skip_without_fault
{
	plan skip_all => 'the server is external, it must not be disturbed'
	  unless $ENV{MONGO_TS_FAULT_DIR};
	return;
}

sub create_memory_in_use
{
	my ($node) = @_;
	my $library = "$PostgreSQL::Test::Utils::tmp_check/memory_in_use.so";
	my ($include) = PostgreSQL::Test::Utils::run_command(
		[ $ENV{PG_CONFIG} || 'pg_config', '--includedir-server' ]);

	system('gcc', '-shared', '-fPIC', "-I$include", '-o', $library,
		dirname(__FILE__) . '/memory_in_use.c') == 0
	  or die 'cannot compile memory_in_use.c';
	$node->safe_psql('postgres', "CREATE FUNCTION memory_in_use() RETURNS int8
		LANGUAGE C VOLATILE AS '$library'");
	return;
}

# Read the line of a file in the directory of a server.
sub read_line
{
	my ($path) = @_;

	open(my $file, '<', $path) or die "$path: $!";
	chomp(my $line = <$file>);
	return $line;
}

# Send a signal to the process that speaks the MongoDB protocol.
sub server_signal
{
	my ($dir, $signal) = @_;

	kill($signal, read_line("$dir/pid")) == 1
	  or die "cannot signal the server: $!";
	return;
}

sub server_kill
{
	my ($dir) = @_;
	my ($port) = read_line("$dir/uri") =~ m/:(\d+)/;

	server_signal($dir, 'KILL');
	for (1 .. 2000)
	{
		return
		  unless IO::Socket::INET->new("127.0.0.1:$port");
		usleep(10_000);
	}
	die 'the killed server still listens';
}

sub server_restart
{
	my ($dir) = @_;

	system($mongodb, 'restart', $dir) == 0 or die 'cannot restart the server';
	return;
}

sub fault_uri { return read_line("$ENV{MONGO_TS_FAULT_DIR}/uri") }

# Send that process a signal: STOP makes it hang, CONT continues it.
sub fault_signal { return server_signal($ENV{MONGO_TS_FAULT_DIR}, @_) }

# Kill it, and return when nothing listens on its port.
sub fault_kill { return server_kill($ENV{MONGO_TS_FAULT_DIR}) }

# Restart it on the same port with the same data, and return when it answers.
# If it runs, kill it first.
sub fault_restart { return server_restart($ENV{MONGO_TS_FAULT_DIR}) }

# ---- Servers and replica sets of a test's own -----------------------------
#
# The members of a set are numbered from 1.

my @own; # the directories of those that end with the test

# Skip the whole test file if the server is not a mongod that was started here.
sub skip_without_mongod
{
	skip_without_fault();
	plan skip_all => 'there is no mongod'
	  unless -x "$ENV{MONGO_TS_FAULT_DIR}/mongod";
	return;
}

# Return the server of the tests if it only answers as a newer one, such as
# like-9.0; then so do others.
sub imitated_server { return ($ENV{MONGO_TS_SERVER} // '') =~ /^(like-.*)/ ? $1 : '' }

# Start a server with some options of mongod, which ends with the test.  Return
# its URI.
sub mongod_start
{
	my (@options) = @_;
	my $dir = PostgreSQL::Test::Utils::tempdir_short() . '/mongod';

	local $ENV{PATH} = "$ENV{MONGO_TS_FAULT_DIR}:$ENV{PATH}";
	local $ENV{MONGO_TS_SERVER} = imitated_server();
	delete local @ENV{qw(MONGODB_URI MONGO_TS_MEMBERS)};
	push @own, $dir;
	open(my $uri, '-|', $mongodb, 'start', $dir, @options) or die $!;
	return (readline($uri) =~ /(\S+)/)[0];
}

# Start a replica set, by default of 3 members, which ends with the test.  All
# members store data, and one is a primary that accepts writes.
sub set_start
{
	my ($n) = @_;
	my $set = {
		n => $n // 3,
		dir => PostgreSQL::Test::Utils::tempdir_short() . '/set'
	};

	local $ENV{PATH} = "$ENV{MONGO_TS_FAULT_DIR}:$ENV{PATH}";
	local $ENV{MONGO_TS_MEMBERS} = $set->{n};
	local $ENV{MONGO_TS_SERVER} = imitated_server();
	delete local $ENV{MONGODB_URI};
	push @own, $set->{dir};
	system("$mongodb start $set->{dir} >/dev/null") == 0
	  or die 'cannot start a replica set';
	return $set;
}

# Return the URI of the set, with options if given.
sub set_uri
{
	my ($set, $options) = @_;

	return read_line("$set->{dir}/uri") . ($options ? "&$options" : '');
}

# Return the URI of a single member.
sub set_member_uri
{
	my ($set, $number) = @_;

	return read_line("$set->{dir}/$number/uri") . '?directConnection=true';
}

sub member_port
{
	my ($set, $number) = @_;

	return set_member_uri($set, $number) =~ m/:(\d+)/ ? $1 : die;
}

# Wait for a primary and return its number.
sub set_primary
{
	my ($set) = @_;
	my $limit = time() + 60;

	while (time() < $limit)
	{
		foreach my $number (1 .. $set->{n})
		{
			my $hello = wire_command(member_port($set, $number),
				hello => bson_int32(1));

			return $number if $hello && $hello->{isWritablePrimary};
		}
		usleep(20_000);
	}
	die 'the set has no primary';
}

# Wait until a member, or each of them, is a primary or a secondary. mongod
# 6.0.5 sometimes deadlocks while it rolls back its writes as a primary; then
# it is restarted once.
sub set_await
{
	my ($set, @numbers) = @_;
	my $limit = time() + 30;
	my %restarted;

	foreach my $number (@numbers ? @numbers : 1 .. $set->{n})
	{
		while (1)
		{
			my $hello = wire_command(member_port($set, $number),
				hello => bson_int32(1));

			last
			  if $hello && ($hello->{isWritablePrimary} || $hello->{secondary});
			if (time() > $limit)
			{
				die "member $number does not come back" if $restarted{$number}++;
				diag "member $number does not come back, and is started anew";
				set_restart($set, $number);
				$limit = time() + 60;
			}
			usleep(20_000);
		}
	}
	return;
}

# Send a member a signal: STOP makes it hang, CONT continues it.
sub set_signal
{
	my ($set, $number, $signal) = @_;

	return server_signal("$set->{dir}/$number", $signal);
}

# Kill a member, and return when nothing listens on its port.
sub set_kill
{
	my ($set, $number) = @_;

	return server_kill("$set->{dir}/$number");
}

# Restart a member, and return when it answers; set_await() waits for its
# state.
sub set_restart
{
	my ($set, $number) = @_;

	return server_restart("$set->{dir}/$number");
}

# Let the primary step down for a number of seconds, by default 5.
sub set_step_down
{
	my ($set, $seconds) = @_;
	my $reply = wire_command(
		member_port($set, set_primary($set)),
		replSetStepDown => bson_int32($seconds // 5),
		secondaryCatchUpPeriodSecs => bson_int32(1),
		force => bson_bool(1));

	die 'the primary does not step down: ' . ($reply->{errmsg} // 'no answer')
	  unless $reply && $reply->{ok};
	return;
}

END
{
	my $status = $?;
	system($mongodb, 'stop', $_) foreach @own;
	$? = $status;
}

# ---- A proxy for the shared server ----------------------------------------
#
# It is a process: stopping it looks like a server that hangs, and killing it
# like a server that is lost.  Other tests are not affected.

# Forward data from one socket to its peer.  Returns false at the end of file.
sub proxy_pass
{
	my ($from, $to) = @_;

	return 0 unless sysread($from, my $data, 65536);
	while (length $data)
	{
		my $n = syswrite($to, $data) or return 0;
		substr($data, 0, $n, '');
	}
	return 1;
}

sub proxy_run
{
	my ($listen, $target, $file) = @_;
	my $select = IO::Select->new($listen);
	my %peer;

	$SIG{PIPE} = 'IGNORE';
	while (1)
	{
		foreach my $socket ($select->can_read)
		{
			if ($socket == $listen)
			{
				my $client = $listen->accept or next;
				my $server = IO::Socket::INET->new($target) or next;

				@peer{ $client, $server } = ($server, $client);
				$select->add($client, $server);
			}
			elsif (exists $peer{$socket}
				&& !proxy_pass($socket, $peer{$socket}))
			{
				my $other = delete $peer{$socket};

				delete $peer{$other};
				$select->remove($socket, $other);
				close($socket);
				close($other);
			}
			else { next }
			# proxy_connections() reads this
			open(my $count, '>', "$file.new") or die "$file.new: $!";
			print $count keys(%peer) / 2, "\n";
			close($count);
			rename("$file.new", $file);
		}
	}
	return;
}

# Start a proxy, on the port of a killed one if given.
sub proxy_start
{
	my ($old) = @_;
	my ($target) = $ENV{MONGODB_URI} =~ m{^mongodb://([^/?,@]+:\d+)/?$}
	  or plan skip_all => 'the proxy wants a URI with nothing but host and port';
	my $listen = IO::Socket::INET->new(
		LocalAddr => '127.0.0.1',
		LocalPort => $old ? $old->{port} : 0,
		Listen => 10,
		ReuseAddr => 1) or die "cannot listen: $!";
	my $port = $listen->sockport;
	my $file = "$PostgreSQL::Test::Utils::tmp_check/proxy_$port";
	my $pid = fork;

	die "cannot fork: $!" unless defined $pid;
	if ($pid == 0)
	{
		# not the test's END blocks
		eval { proxy_run($listen, $target, $file) };
		print STDERR $@;
		POSIX::_exit(1);
	}
	close($listen);
	unlink($file);
	my $proxy = { pid => $pid, port => $port, file => $file };
	if ($old) { %$old = %$proxy; $proxy = $old }
	else { push our @proxies, $proxy }
	return $proxy;
}

sub proxy_uri
{
	my ($proxy) = @_;

	return "mongodb://127.0.0.1:$proxy->{port}/?directConnection=true";
}

# Send it a signal: STOP makes it hang, CONT continues it.
sub proxy_signal
{
	my ($proxy, $signal) = @_;

	kill($signal, $proxy->{pid}) == 1 or die "cannot signal the proxy: $!";
	return;
}

# Close its connections and refuse new ones.
sub proxy_kill
{
	my ($proxy) = @_;

	proxy_signal($proxy, 'KILL');
	waitpid($proxy->{pid}, 0);
	delete $proxy->{pid};
	return;
}

# Return its number of connections.
sub proxy_connections
{
	my ($proxy) = @_;

	usleep(200_000);	# until it notices closed connections
	open(my $file, '<', $proxy->{file}) or return 0;
	chomp(my $count = <$file>);
	return $count;
}

END
{
	my $status = $?;
	foreach my $proxy (our @proxies)
	{
		kill('KILL', $proxy->{pid}) if $proxy->{pid};
	}
	$? = $status;
}

# ---- Background sessions of psql ------------------------------------------

sub session_start
{
	my ($node, $dbname) = @_;
	my $session = { in => '', out => '', err => '', patience => 120 };

	$session->{timer} = IPC::Run::timeout($session->{patience});
	$session->{psql} = IPC::Run::start(
		[
			$node->installed_command('psql'), '-XAtq',
			'-d', $node->connstr($dbname || 'postgres'), '-v',
			'VERBOSITY=verbose', '-f', '-'
		],
		'<' => \$session->{in},
		'>' => \$session->{out},
		'2>' => \$session->{err},
		$session->{timer});
	($session->{pid}) = session_query($session, 'SELECT pg_backend_pid()');
	return $session;
}

# Send SQL to it, without waiting.
sub session_send
{
	my ($session, $sql) = @_;

	$session->{out} = $session->{err} = '';
	$session->{begin} = time();
	$session->{in} .= "$sql;\n\\echo ready\n\\warn ready\n";
	# the time since the last statement is not measured
	$session->{timer}->start($session->{patience});
	$session->{psql}->pump_nb;
	return;
}

# Tell whether its answer is complete. psql writes the newline separately.
sub session_has_answered
{
	my ($session) = @_;

	return $session->{out} =~ /^ready\n/m && $session->{err} =~ /^ready\n/m;
}

# Wait for the session's answer, no longer than its patience.  Returns stdout,
# stderr and the seconds since the statement was sent.  A session without a
# backend ends.
sub session_wait
{
	my ($session) = @_;

	$session->{timer}->start($session->{patience});
	$session->{psql}->pump
	  while $session->{psql}->pumpable && !session_has_answered($session);
	my $seconds = time() - $session->{begin};
	s/^ready\n//m, chomp foreach ($session->{out}, $session->{err});
	return ($session->{out}, $session->{err}, $seconds);
}

sub session_query
{
	my ($session, $sql) = @_;

	session_send($session, $sql);
	return session_wait($session);
}

sub session_end
{
	my ($session) = @_;

	$session->{in} .= "\\q\n";
	eval { $session->{psql}->finish };
	return;
}

1;
