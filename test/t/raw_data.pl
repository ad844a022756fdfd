# Proves in which way the buckets of a time-series collection are read: since
# MongoDB 8.2 by rawData, otherwise from system.buckets.NAME, and by the other
# way if the server refuses the first one.  Where both are refused, the view is
# read, and EXPLAIN says why.  A session follows a server that is upgraded.  An
# index with the simple collation is one without a collation.
#
# A scripted server refuses as MongoDB 6.0, 8.3 and 9.0 do.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use MongoTS::FakeServer;
use MongoTS::Node;
use Test::More;

use constant NO_PRIVILEGE => 13;
use constant NO_BUCKETS_COLLECTION => 491;
use constant UNKNOWN_FIELD => 40415;

# What refuses the ways by rawData and from system.buckets; 0 for nothing.  Two
# more are those after a conversion of the collections.
my %cases = (
	converted => [ UNKNOWN_FIELD, 0, 0, NO_BUCKETS_COLLECTION ],
	withdrawn => [ NO_PRIVILEGE, 0, NO_PRIVILEGE, NO_BUCKETS_COLLECTION ],
	late_old => [ 0, 0 ],
	late_new => [ NO_PRIVILEGE, 0 ],
	late_neither => [ 0, 0 ],
	both => [ 0, 0 ],
	viewless => [ 0, NO_BUCKETS_COLLECTION ],
	old => [ UNKNOWN_FIELD, 0 ],
	granted => [ NO_PRIVILEGE, 0 ],
	old_denied => [ UNKNOWN_FIELD, NO_PRIVILEGE ],
	denied => [ NO_PRIVILEGE, NO_PRIVILEGE ],
	viewless_denied => [ NO_PRIVILEGE, NO_BUCKETS_COLLECTION ],
	neither => [ UNKNOWN_FIELD, NO_BUCKETS_COLLECTION ],
	other => [ 8000, 0 ]);

# What refuses find, after that: another member answers it, or the collection is
# converted between two commands of a statement.
my %late = (
	late_old => [ UNKNOWN_FIELD, 0 ],
	late_new => [ 0, NO_BUCKETS_COLLECTION ],
	late_neither => [ UNKNOWN_FIELD, NO_BUCKETS_COLLECTION ]);

# ---- The server -----------------------------------------------------------

my $time = 1_704_067_200_000;    # 2024-01-01

sub object_id { return [ 0x07, pack('N', $time / 1000) . pack('q>', @_) ] }

# A bucket of three points, and the points of the view
my $bucket = bson_document(
	_id => object_id(0),
	control => bson_document(
		version => bson_int32(1),
		min => bson_document(ts => bson_date($time), v => bson_int32(1)),
		max => bson_document(ts => bson_date($time + 2000), v => bson_int32(3))),
	data => bson_document(
		ts => bson_document(map { $_ => bson_date($time + 1000 * $_) } 0 .. 2),
		v => bson_document(map { $_ => bson_int32($_ + 1) } 0 .. 2)));
my @points = map { bson_document(_id => object_id($_), ts => bson_date($time + 1000 * $_), v => bson_int32($_ + 1)) } 0 .. 2;

sub describe
{
	my ($request) = @_;
	my (undef, $filter) = bson_read($request->{fields}{filter}, 0);

	return fake_reply($request, fake_find($request, 0, bson_document(
				name => bson_string($filter->{name}),
				type => bson_string('timeseries'),
				options => bson_document(timeseries => bson_document(
						timeField => bson_string('ts'),
						bucketMaxSpanSeconds => bson_int32(3600))))));
}

# Answer a read of buckets or of points; that of the probe has no bucket.
sub answer_read
{
	my ($request, undef, undef, $fake) = @_;
	my ($buckets, $name) = $request->{collection} =~ /^(system\.buckets\.)?(\w+)$/;
	my $is_raw = $request->{fields}{rawData};
	my $codes = $request->{name} eq 'find' && $late{$name} || $cases{$name};
	my $code = $codes->[ ($is_raw ? 0 : 1) + ($fake->{is_converted} && @$codes > 2 ? 2 : 0) ];

	$code = UNKNOWN_FIELD if $is_raw && $fake->{wire} < 27;
	return fake_reply($request, fake_error($code, 'refused')) if $code && ($is_raw || $buckets);
	return fake_reply($request, bson_document(n => bson_int32(1), ok => bson_double(1)))
	  if $request->{name} eq 'count';
	return fake_reply($request, fake_find($request, 0,
			$request->{name} eq 'aggregate' ? ()
			: $is_raw || $buckets ? $bucket
			: @points));
}

sub convert
{
	my ($request, $healthy, undef, $fake) = @_;

	$fake->{is_converted} = 1;
	return fake_reply($request, $healthy->());
}

my %scripts = (
	listCollections => \&describe,
	setFeatureCompatibilityVersion => \&convert,
	listIndexes => sub { fake_reply($_[0], fake_indexes($_[0], $_[0]{collection} eq 'both' ? 'simple' : 'de')) },
	map { ($_ => \&answer_read) } qw(aggregate find count));
my $directory = $PostgreSQL::Test::Utils::tmp_check;
my $node = new_node('raw_data', uri => undef);
my %fakes = map { ($_ => fake_start("$directory/wire$_", [], scripts => \%scripts, wire => $_)) } 17, 28;

foreach my $wire (sort keys %fakes)
{
	create_server($node, "wire$wire", fake_uri($fakes{$wire}), "database 'fake'");
	$node->safe_psql('postgres', "CREATE SCHEMA wire$wire; " . join(' ',
			map { "CREATE FOREIGN TABLE wire$wire.$_ (ts timestamptz, v int) SERVER wire$wire;" } keys %cases));
}

# Return the error of a statement.
sub error_of
{
	my ($statement) = @_;
	my $err = '';

	$node->psql('postgres', $statement, stderr => \$err);
	return $err;
}

# ---- The ways -------------------------------------------------------------

my $raw = 'read by rawData';
my $system = 'read from system.buckets';
my %ways = (
	17 => {
		both => $system,
		viewless => $raw,
		old => $system,
		granted => $system,
		old_denied => 'not read: no privilege to read "system.buckets.old_denied"',
		denied => 'not read: no privilege to read "system.buckets.denied"',
		viewless_denied => 'not read: MongoDB refuses to read "system.buckets.viewless_denied"',
		neither => 'not read: MongoDB refuses to read "system.buckets.neither"',
		other => $system },
	28 => {
		both => $raw,
		viewless => $raw,
		old => $system,
		granted => $system,
		old_denied => 'not read: no privilege to read "system.buckets.old_denied"',
		denied => 'not read: no privilege to read "denied" by rawData',
		viewless_denied => 'not read: no privilege to read "viewless_denied" by rawData',
		neither => 'not read: MongoDB refuses to read "neither" by rawData',
		other => 'not read: MongoDB refuses to read "other" by rawData' });
# a server of 6.0 has a system.buckets
delete $ways{17}{viewless};

foreach my $wire (sort keys %ways)
{
	foreach my $case (sort keys %{ $ways{$wire} })
	{
		my $way = $ways{$wire}{$case};
		my $table = "wire$wire.$case";
		my $plan = $node->safe_psql('postgres', "EXPLAIN (COSTS OFF) SELECT v FROM $table");
		my $query =
		    $way eq $raw ? qr/db\.$case\.find\(\{\}, \{.*\}, \{rawData: true\}\)$/m
		  : $way eq $system ? qr/db\.getCollection\("system\.buckets\.$case"\)\.find\(\{\}, \{[^{]*\}\)$/m
		  : qr/db\.$case\.find\(\{\}, \{v: 1\}\)$/m;

		like($plan, qr/^  Native Buckets: \Q$way\E$/m, "$table: $way");
		like($plan, $query, '.. and the query is that');
		is($node->safe_psql('postgres', "SELECT v FROM $table"), "1\n2\n3", '.. and the rows are the same');
		$node->safe_psql('postgres', "ANALYZE $table");
	}
}
fake_commands($fakes{17});
$node->safe_psql('postgres', 'SELECT v FROM wire17.denied');
is(scalar(grep { /aggregate/ } fake_commands($fakes{17})), 1, 'a server without rawData is not asked for it');

# ---- Refusals behind the first answer -------------------------------------

foreach my $case (qw(late_old late_new))
{
	is($node->safe_psql('postgres', "SELECT v FROM wire28.$case"), "1\n2\n3", "a cursor opens in the other way: $case");
	is($node->safe_psql('postgres', "SELECT sum(v) FROM wire28.$case"), 6, '.. that of an aggregate, too');
}
like(error_of('SELECT v FROM wire28.late_neither'), qr/ERROR: .*HINT:  MongoDB has converted the time-series collection/s,
	'where neither is possible, it is an error');

# ---- Indexes --------------------------------------------------------------

# MongoDB 9.0 describes the simple collation, too.
fake_commands($fakes{28});
is($node->safe_psql('postgres', "SELECT mongo_ts_create_index('wire28.both')"), 'ts_-1', 'an index with the simple collation serves');
is(scalar(grep { /^createIndexes/ } fake_commands($fakes{28})), 0, '.. so none is created');
is($node->safe_psql('postgres', "SELECT mongo_ts_create_index('wire28.old')"), 'ts_-1_buckets', 'one with another collation does not');
is(scalar(grep { /^createIndexes/ } fake_commands($fakes{28})), 1, '.. so one is created');

# ---- Changes --------------------------------------------------------------

like(error_of('UPDATE wire28.both SET v = 2'), qr/DETAIL: .* updates only the metaField of its points\.\nHINT:  Delete/, 'no server updates points');
# this server lies about what it has removed
unlike(error_of('DELETE FROM wire28.both'), qr/metaField/, 'one of 7.0 or newer is asked to remove them');
is(scalar(grep { /^delete both/ } fake_commands($fakes{28})), 1, '.. by a command');
like(error_of("$_ wire17.both" . (/FROM/ ? '' : ' SET v = 2')), qr/DETAIL: .* removes single points only since version 7\.0\.\nHINT:  Remove whole series/, "one before does not: $_")
  foreach 'UPDATE', 'DELETE FROM';

# ---- A conversion in the middle of a session ------------------------------

my $session = session_start($node);

# Check how a prepared statement reads a table, and that no execution fails.
sub check_prepared
{
	my ($case, $way) = @_;
	my ($out, $err) = session_query($session, "EXECUTE $case; EXPLAIN (COSTS OFF) EXECUTE $case");

	like($out, qr/^1\n2\n3\n.*Native Buckets: \Q$way\E\n/s, "$case: $way");
	return is($err, '', '.. without an error');
}

session_query($session, 'SET plan_cache_mode = force_generic_plan; '
	  . join(' ', map { "PREPARE $_ AS SELECT v FROM wire28.$_;" } qw(converted withdrawn)));
check_prepared($_, $system) foreach qw(converted withdrawn);
$node->safe_psql('postgres', q(SELECT mongo_ts_command('wire28', '{"setFeatureCompatibilityVersion": "9.0"}')));
check_prepared('converted', $raw);
my ($out, $err) = session_query($session, 'EXECUTE withdrawn');
like($err, qr/40001: the plan reads buckets .*no privilege to read "withdrawn" by rawData.*Run the statement again/s,
	'a plan whose buckets nobody may read any more fails once');
check_prepared('withdrawn', 'not read: no privilege to read "withdrawn" by rawData');
session_end($session);

done_testing();
