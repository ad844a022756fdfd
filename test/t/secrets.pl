# Proves that a password appears only in the user mapping.  No message to a
# session contains it, no catalog or view that others can read, and not the log
# at its most verbose level.
#
# The exceptions are LINE and DEBUG lines after a refused option.  In these,
# PostgreSQL shows a session the statement that the session has sent.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use Digest::MD5 qw(md5_hex);
use MongoTS::FakeServer;
use MIME::Base64 qw(encode_base64);
use MongoTS::Node;
use PostgreSQL::Test::Utils;
use Test::More;

# A long password with all characters that need an escape somewhere
my $user = q{us:er@/%'"\\é};
my $password = q{p@:/%25?&=#é'"\\ } . 'wörd' x 250;

# ---- Forms of the password ------------------------------------------------

sub percent_encoded
{
	my ($text, $keep) = @_;

	return $text =~ s/([^$keep])/sprintf('%%%02X', ord $1)/ger;
}

# Each form is a part of the password, because messages can be cut.
my $base64 = encode_base64($password, '');
my @forms = (
	# as it is: the beginning and the rest
	substr($password, 0, 12), 'wördwörd',
	# as a part of a URI, in capitals or not
	percent_encoded(substr($password, 0, 12), 'A-Za-z0-9'),
	lc percent_encoded(substr($password, 0, 12), 'A-Za-z0-9'),
	percent_encoded('wördwörd', 'a-z'),
	# as JSON, and without marks on letters
	'w\u00f6rdw', 'wordword',
	# as base64: the beginning, a later part, and the rest by itself
	substr($base64, 0, 24), substr($base64, 100, 40),
	encode_base64('wördwörd', '') =~ s/.{4}$//r,
	# as SCRAM-SHA-1 digests it, and as hexadecimal digits
	md5_hex("$user:mongo:$password"), unpack('H*', 'wördwörd'));

# Check that a text contains no form of the password.
sub has_no_password
{
	my ($name, $text) = @_;
	my @found = grep { index($text, $_) >= 0 } @forms;

	is("@found", '', "$name: no password");
	return;
}

# ---- The node, which logs at the most verbose level -----------------------

# A PostgreSQL without its contrib modules has no auto_explain.
my $library = `pg_config --pkglibdir` =~ s/\n//r . '/auto_explain.so';
my $conf = <<'END';
log_min_messages = debug5
log_error_verbosity = verbose
log_statement = none
log_min_error_statement = panic
log_min_duration_statement = -1
debug_print_plan = on
debug_print_rewritten = on
session_preload_libraries = 'auto_explain'
mongo_ts_fdw.log_commands = on
auto_explain.log_min_duration = 0
auto_explain.log_analyze = on
auto_explain.log_verbose = on
END
$conf =~ s/.*auto_explain.*\n//g unless -e $library;
my $node = new_node('secrets', conf => $conf);
my $log_before = slurp_file($node->logfile);
my $fake = fake_start(
	PostgreSQL::Test::Utils::tempdir_short() . '/fake', [],
	scripts => {
		saslStart => sub {
			fake_reply($_[0], fake_error(18, 'Authentication failed.'));
		} });

# Each faulty server raises its error when it is used.
my %servers = (
	rejects => fake_uri($fake),    # it refuses each user
	refuses => 'mongodb://127.0.0.1:1/',    # nothing listens there
	nowhere => 'mongodb://nowhere.invalid/',    # the host is unknown
	clear => fake_uri($fake, 'authMechanism=PLAIN'),    # would send the password as it is
	machine => fake_uri($fake, 'authMechanism=MONGODB-X509'),    # takes no password
	secure => fake_uri($fake, 'tls=true&connectTimeoutMS=100'),    # it knows no TLS
	elsewhere => $ENV{MONGODB_URI});    # a real server without this user

foreach my $name (sort keys %servers)
{
	my $uri = quoted($servers{$name});

	# These settings keep the statement out of the log, as the README advises.
	$node->safe_psql('postgres', 'SET debug_print_plan = off;
		SET debug_print_rewritten = off; SET log_min_messages = error;'
	  . " CREATE SERVER $name FOREIGN DATA WRAPPER mongo_ts_fdw
			OPTIONS (uri $uri, database 'mts_secrets');
		CREATE USER MAPPING FOR PUBLIC SERVER $name OPTIONS (username "
	  . quoted($user) . ', password ' . quoted($password) . ");
		CREATE FOREIGN TABLE $name (ts timestamptz, v int OPTIONS (field 'v.{second}'))
			SERVER $name");
}
$node->safe_psql('postgres', 'CREATE ROLE somebody LOGIN;
	GRANT USAGE ON FOREIGN SERVER ' . join(', ', keys %servers) . ' TO somebody');

# ---- Messages to a session ------------------------------------------------

my $session = session_start($node);

session_query($session, 'SET client_min_messages = debug5');
foreach my $name (sort keys %servers)
{
	my @statements = (
		"EXPLAIN (VERBOSE) SELECT * FROM $name",
		"EXPLAIN (ANALYZE, VERBOSE) SELECT * FROM $name",
		"INSERT INTO $name VALUES ('2020-01-01Z', 1)");

	push @statements, "SELECT count(*) FROM $name",
	  "DELETE FROM $name", "TRUNCATE $name", "ANALYZE $name",
	  "SELECT mongo_ts_command('$name', '{\"ping\": 1}')",
	  "IMPORT FOREIGN SCHEMA x FROM SERVER $name INTO public"
	  if $name eq 'rejects';
	foreach my $statement (@statements)
	{
		my ($out, $err) = session_query($session, $statement);

		like($err, qr/ERROR:  (?:28000|HV00N|42501|HV000|08006)/, "$statement: an error")
		  unless $statement =~ /^EXPLAIN \(VERBOSE/;
		has_no_password($statement, "$out$err");
	}
}

# ---- Catalogs and views ---------------------------------------------------

my ($out, $err) = session_query($session, <<'END');
	SELECT * FROM mongo_ts_connections();
	SELECT * FROM pg_foreign_server;
	SELECT * FROM pg_foreign_table;
	SELECT * FROM pg_stat_activity;
	SELECT * FROM pg_settings;
	SELECT mongo_ts_version()
END
has_no_password('catalogs and views', "$out$err");
like($out, qr/mts_secrets/, 'the catalogs contain the server');
has_no_password('the process title', join '', map { -r $_ ? slurp_file($_) : '' }
	"/proc/$session->{pid}/cmdline");
($out, $err) = session_query($session, <<'END');
	SET ROLE somebody;
	SELECT srvname, umoptions FROM pg_user_mappings;
	SELECT * FROM information_schema.user_mapping_options;
	SELECT * FROM pg_user_mapping
END
has_no_password('views as a role without rights', "$out$err");
like($out, qr/^rejects\|$/m, 'the view contains the server');
session_query($session, 'RESET ROLE');

# ---- Options that are refused ---------------------------------------------

# Without these settings, PostgreSQL 16 and newer log the trees of ALTER
# SERVER, which contain its options.
session_query($session, 'SET debug_print_parse = off; SET debug_print_rewritten = off');
foreach my $uri (
	'mongodb://user:' . percent_encoded($password, 'a-z') . '@host',
	"mongodb://user:$password\@host", "mongodb+srv://user:$password\@host",
	"mongodb://host/?tlsCertificateKeyFilePassword=$password",
	"mongodb://host/?proxyPassword=$password")
{
	($out, $err) = session_query($session,
		'ALTER SERVER rejects OPTIONS (SET uri ' . quoted($uri) . ')');
	like($err, qr/ERROR:  HV024: /, 'a uri with a password is refused');
	# these lines repeat the statement of the session
	$err =~ s/^LINE.*//ms;
	has_no_password('its message', $err =~ s/DEBUG:.*//gr);
}
session_end($session);
$node->stop;

# ---- The log --------------------------------------------------------------

my $log = substr(slurp_file($node->logfile), length $log_before);

# it contains plans and the driver's messages
like($log, qr/Foreign Scan on public\.rejects/, 'the log has plans')
  if -e $library;
like($log, qr/could not read MongoDB collection/, 'the log has errors');
cmp_ok(length $log, '>', 100_000, 'the log has the debug messages');
has_no_password('the log', $log);
unlike($log, qr/PANIC|terminated by signal/, 'no backend crashed');

done_testing();
