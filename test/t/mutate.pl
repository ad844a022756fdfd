# Proves that buckets which no driver would write are read alike in every way.
# Such a bucket stands between two healthy ones.  It has values of other types,
# NaN, text that is not UTF-8, times or decimals out of range, or duplicate,
# huge or negative keys.  Either it is an error with its SQLSTATE, or all ways
# give the same result.
#
# SEED repeats a run; BUCKETS is the number of such buckets.

use strict;
use warnings;
no warnings 'portable';    # 64-bit numbers

use FindBin;
use lib $FindBin::RealBin;

use MongoTS::FakeFaults qw(bson_deep);
use MongoTS::FakeServer;
use MongoTS::Node;
use Test::More;

my $seed = $ENV{SEED} // time;
note "SEED=$seed";
srand($seed);

my $n = $ENV{BUCKETS} // 60;

sub pick { return $_[ int rand @_ ] }

# ---- Values and keys ------------------------------------------------------

my @values = (
	(map { bson_double($_) } 'nan', '-inf', -0.0, 0.5, 1e308, 2**63, 7),
	(map { bson_int64($_) } -2**63, 2**62, 8),
	(map { bson_int32($_) } -2**31, 2**31 - 1),
	(map { bson_date($_) } -2**63, 2**62, 1_381_446_360_000, -62_135_596_800_001),
	(map { bson_string($_) } '', 'x', '12', '1e400', "a\0b", "\xff\xfe", "\xc0\x80",
		"\xed\xa0\x80", "\xe2", '2013-10-10', 'infinity', 'x' x 3000),
	bson_null(), bson_bool(1), [ 0x08, "\2" ],
	[ 0x06, '' ], [ 0x07, "\xff" x 12 ], [ 0x7F, '' ], [ 0xFF, '' ],
	[ 0x05, pack('l< C a*', 3, 0, "\1\0\2") ],
	[ 0x05, pack('l< C l<', 4, 2, 9) ],
	[ 0x0B, "a\0i\0" ], [ 0x0B, "\xff\0\0" ],
	[ 0x0C, pack('l<', 2) . "\xff\0" . 'x' x 12 ],
	[ 0x0D, pack('l<', 2) . "\xff\0" ],
	[ 0x0F, pack('l<2 a* l<', 15, 2, "a\0", 6) . "\0" ],
	[ 0x11, pack('L<2', 1, 2) ],
	# NaN, -Infinity, the largest and smallest decimals, and a zero with many
	# digits
	(map { [ 0x13, pack('Q<2', @$_) ] } [ 0, 0x7C << 56 ], [ 0, 0xF8 << 56 ],
		[ 0x378D8E63FFFFFFFF, 0x5FFFED09BEAD87C0 ], [ 1, 0 ], [ 0, 0xDFFE << 48 ],
		[ 15, 0x303E << 48 ]),
	bson_document(), bson_array(), bson_array(bson_int32(1)),
	bson_document(x => bson_document(y => bson_string("\xff"))),
	bson_deep(40), bson_deep(150),
	[ 0x20, '' ]);

my @keys = ('', '0', '59', '60', '007', '-1', '-0', '+1', ' 1', '1e3', '1.5', 'x', "\xff",
	'3600', '2147483648', '999999999999999999', '9' x 20, '-9223372036854775808');

# ---- Buckets, as [name => value, ..], and changes to them -----------------

my $start = 1_381_446_000_000;    # 2013-10-10 23:00 UTC

sub number { return pick(bson_int32(int rand 100), bson_double(rand 100), bson_int64(5)) }

# How the buckets of a layout are built from points, and how it is declared
my %layouts = (
	minute => {
		columns => q{ts timestamptz OPTIONS (role 'time'), k text, v %s OPTIONS (field 'v.{second}')},
		points => sub { map { $_ * 7 => number() } 0 .. 7 },
		bucket => sub { (v => bson_document(@_)) }
	},
	nested => {
		columns => q{ts timestamptz OPTIONS (role 'time'), k text, v %s OPTIONS (field 'v.{second}.{100 milliseconds}')},
		points => sub { map { $_ * 5 => bson_document(0 => number(), 9 => number()) } 0 .. 7 },
		bucket => sub { (v => bson_document(@_)) }
	},
	zipped => {
		columns => q{ts timestamptz OPTIONS (role 'time'), k text, v %s OPTIONS (field 'v.{second}'), w int OPTIONS (field 'w.{second}')},
		points => sub { map { $_ * 7 => number() } 0 .. 7 },
		bucket => sub { (v => bson_document(@_), w => bson_document(3 => bson_int32(3), 7 => bson_int32(4))) }
	},
	own_times => {
		columns => q{ts timestamptz OPTIONS (role 'time', field 's[].t'), k text, v %s OPTIONS (field 's[].v')},
		options => q{, bucket_time_field 'ts', bucket_span '1 minute'},
		points => sub {
			my ($minute) = @_;
			map { $_ => bson_document(
				t => bson_date($start + $minute * 60_000 + $_ * 1000), v => number()) } 0 .. 7;
		},
		bucket => sub { (s => [ 0x04, bson_document(@_)->[1] ]) }
	});

# Change some points: their values or keys, or duplicate or move them.
sub mutate
{
	my (@points) = @_;

	for (0 .. rand 3)
	{
		my $at = 2 * int rand(@points / 2);
		my $how = int rand 6;

		$points[ $at + 1 ] = pick(@values) if $how < 3;
		$points[$at] = pick(@keys) if $how == 3;
		splice(@points, $at, 0, @points[ $at, $at + 1 ]) if $how == 4;
		push @points, splice(@points, $at, 2) if $how == 5;
	}
	return @points;
}

# Make a bucket, at times with another invalid field.
sub make_bucket
{
	my ($layout, $minute, $mutated) = @_;
	my @points = $layout->{points}->($minute);
	my @fields;

	@points = mutate(@points) if $mutated;
	@fields = (
		_id => bson_int32($minute),
		ts => bson_date($start + $minute * 60_000),
		k => bson_string('a'),
		$layout->{bucket}->(@points));
	if ($mutated && rand() < 0.2)
	{
		# the bucket's time, never another time, which would be out of order;
		# its key, never another key, which a condition would not find; or the
		# container
		my $at = pick(2, 4, 6);
		my %valid = (2 => [0x09], 4 => [ 0x02, 0x0A ], 6 => []);

		$fields[ $at + 1 ] = pick(grep {
			my $value = $_;
			!grep { $_ == $value->[0] } @{ $valid{$at} };
		} @values);
		$fields[5] = bson_string("\xff") if $at == 4 && rand() < 0.3;
	}
	splice(@fields, 2, 0, @fields[ 6, 7 ]) if $mutated && rand() < 0.05;
	return bson_document(@fields);
}

# ---- The server and its tables --------------------------------------------

my @types = ('numeric(6,2)', qw(int bigint real float8 numeric text varchar(5) jsonb json
	timestamptz date bool bytea uuid));
my (%buckets, %what, $tables);

foreach my $i (1 .. $n)
{
	my $name = pick(sort keys %layouts);
	my $type = pick(@types);
	my $layout = $layouts{$name};

	$what{$i} = "bucket $i, $name, $type";
	$buckets{"b$i"} = [ map { make_bucket($layout, $_, $_ == 1) } 0 .. 2 ];
	foreach my $table (qw(error skip keyless))
	{
		my $on = $table eq 'error' ? 'error' : 'skip';
		my $columns = $layout->{columns};

		$columns =~ s/ k text,// if $table eq 'keyless';
		$tables .= sprintf("CREATE FOREIGN TABLE ${table}_$i ($columns) SERVER fake OPTIONS (collection 'b$i', on_invalid '$on'%s);\n",
			$type, $layout->{options} // '');
	}
}

# A document nested too deeply for the stack
$buckets{deep} = [ bson_document(
		_id => bson_int32(0),
		ts => bson_date($start),
		k => bson_string('a'),
		v => bson_document(0 => bson_deep(200_000))) ];
$tables .= q{CREATE FOREIGN TABLE deep (ts timestamptz, k text, v jsonb OPTIONS (field 'v.{second}'), whole jsonb OPTIONS (field '*')) SERVER fake;
	CREATE FOREIGN TABLE deeper (ts timestamptz, k text, v text OPTIONS (field 'v.{second}')) SERVER fake OPTIONS (collection 'deep', on_invalid 'skip');};

my $directory = $PostgreSQL::Test::Utils::tmp_check;
my $fake = fake_start("$directory/fake", [], scripts => {
	find => sub {
		my ($request) = @_;
		my @found = @{ $buckets{ $request->{collection} } };
		my ($id) = ($request->{fields}{filter} // '') =~ /(\x10_id\0....)/s;

		# what the request wants: the last bucket first, or one to be read
		# again
		@found = reverse @found if ($request->{fields}{sort} // '') =~ /\xff{4}/;
		@found = grep { substr($_->[1], 4, 9) eq $id } @found if $id;
		@found = grep { $_->[1] !~ /\x09ts\0/ } @found if fake_asks_other_types($request);
		return fake_reply($request, fake_find($request, 0, @found));
	} });
my $node = new_node('mutate', uri => undef);

create_server($node, 'fake', fake_uri($fake), "database 'fake'");
$node->safe_psql('postgres', $tables);

my $session = session_start($node);
my ($backend) = session_query($session, 'SELECT pg_backend_pid()');

# otherwise PostgreSQL would sort so few rows itself
session_query($session, 'SET enable_sort = off');

# ---- Ways to read ---------------------------------------------------------

# Return a statement's rows, sorted, or its SQLSTATE, or undef if it fails
# without one.
sub answer_of
{
	my ($statement) = @_;
	my ($out, $err) = session_query($session, $statement);

	return "ERROR $1" if $err =~ /ERROR:  ([0-9A-Z]{5}): /;
	return undef if $err =~ /ERROR|FATAL|PANIC|server closed/;
	return join("\n", sort split(/\n/, $out));
}

sub skipped
{
	my ($statement) = @_;
	my ($out) = session_query($session, "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) $statement");

	return $out =~ /Skipped Points: (\d+)/ ? $1 : 0;
}

# Queries of a table: the foreign one, or a materialized copy of its rows,
# which PostgreSQL itself filters and aggregates
my $range = q{ts >= '2013-10-10 23:00:50Z' AND ts < '2013-10-10 23:01:20Z'};
my %ways = (
	'in order' => 'SELECT * FROM %s ORDER BY ts',
	'backwards' => 'SELECT * FROM %s ORDER BY ts DESC',
	'a range' => "SELECT * FROM %s WHERE $range",
	'a slot' => q{SELECT * FROM %s WHERE ts = '2013-10-10 23:01:07Z'},
	'a key' => q{SELECT * FROM %s WHERE k = 'a'},
	'aggregated' => 'SELECT count(*), count(v), min(ts), max(ts) FROM %s',
	'aggregated by minute' => q{SELECT date_trunc('minute', ts), k, count(*), count(v) FROM %s GROUP BY 1, 2},
	'aggregated in a range' => "SELECT count(*), count(v), min(ts) FROM %s WHERE $range");
my %of_numbers = (
	'aggregated numbers' => 'SELECT min(v), max(v), count(v) FROM %s',
	'averages' => 'SELECT k, avg(v::numeric), sum(v::numeric) FROM %s GROUP BY k');

my ($errors, $results, $skips) = (0, 0, 0);

foreach my $i (1 .. $n)
{
	my %asked = (%ways, $what{$i} =~ /int|real|float|numeric/ ? %of_numbers : ());
	my $rows = answer_of("SELECT * FROM skip_$i");
	my $strict = answer_of("SELECT * FROM error_$i");
	my $skipped = skipped("SELECT * FROM skip_$i");
	my @wrong;

	push @wrong, "no SQLSTATE" unless defined $rows && defined $strict;
	push @wrong, "skipping fails: $rows" if ($rows // '') =~ /^ERROR/;
	push @wrong, "skips $skipped, but error says: $strict"
	  if defined $strict && ($strict =~ /^ERROR/ ? $skipped == 0 : $skipped > 0 || $strict ne $rows);
	foreach my $way (sort keys %asked)
	{
		my $query = $asked{$way};
		my $want = answer_of(sprintf($query, "(SELECT * FROM skip_$i OFFSET 0) AS kept"));

		# a condition on a key does not find an invalid key
		next if $way eq 'a key' && $skipped > 0;
		foreach my $on (qw(skip error))
		{
			my $got = answer_of(sprintf($query, "${on}_$i"));
			my $as_read = $want;

			# a query raises errors only for what it reads, which may exclude a
			# key
			$as_read = answer_of(sprintf($query, "(SELECT * FROM keyless_$i OFFSET 0) AS kept"))
			  if $on eq 'error' && $skipped > 0 && $query !~ /SELECT \*|\bk\b/;
			push @wrong, "$way on $on:\n" . ($got // 'undef') . "\nis not\n" . ($want // 'undef')
			  unless defined $got && defined $want &&
			  ($got eq $want || $got eq $as_read || ($got =~ /^ERROR/ && $on eq 'error' && $skipped > 0));
		}
		push @wrong, "$way skips other points"
		  if $way =~ /^(?:in order|backwards|aggregated|aggregated by minute)$/ &&
		  skipped(sprintf($query, "skip_$i")) != $skipped;
	}
	is(join("\n", @wrong), '', $what{$i});
	$skips += $skipped > 0;
	$strict =~ /^ERROR/ ? $errors++ : $results++;
}

like(answer_of($_), qr/^ERROR HV/, "deep: $_") foreach 'SELECT v FROM deep', 'SELECT whole FROM deep',
  'SELECT max(v::text) FROM deep', 'SELECT v FROM deep ORDER BY ts';
is(answer_of('SELECT v FROM deeper'), '', 'deep: skipped if nothing of it is read');
ok($errors > 0 && $results > 0, "$errors are errors, $results are not");
is((session_query($session, 'SELECT pg_backend_pid()'))[0], $backend,
	'all of this happened to one session');
session_end($session);
$node->stop;
unlike(PostgreSQL::Test::Utils::slurp_file($node->logfile), qr/terminated by signal|PANIC/,
	'no process crashed');

done_testing();
