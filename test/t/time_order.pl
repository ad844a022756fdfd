# Proves that rows in the order of time, which come in turn for all series, are
# sent bucket by bucket, and that the memory of this is limited.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use MongoTS::Node;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('time_order', uri => undef);
my $database = 'mts_time_order';

create_server($node, 'mongo', $ENV{MONGODB_URI}, "database '$database'");
$node->safe_psql('postgres', <<'END');
	SELECT mongo_ts_command('mongo', '{"dropDatabase": 1}');
	CREATE FOREIGN TABLE points (ts timestamptz, k text, note text OPTIONS (role 'attribute'),
		v float8 OPTIONS (field 'v.{minute}.{second}.v'), t text OPTIONS (field 'v.{minute}.{second}.t'))
		SERVER mongo OPTIONS (batch_size '1000');
	CREATE TABLE source (ts timestamptz, k text, note text, v float8, t text);
END

# Make rows of a number of series for some hours, one a minute, in an order.
sub make
{
	my ($nseries, $hours, $order) = @_;

	$node->safe_psql('postgres', "TRUNCATE source; INSERT INTO source
		SELECT * FROM (SELECT '2020-01-01Z'::timestamptz + n * interval '1 min' AS ts, 'k' || i AS k, 'note ' || i,
			n + i / 8.0, 'text ' || n
			FROM generate_series(0, $nseries - 1) i, generate_series(0, $hours * 60 - 1) n) s ORDER BY $order");
}

# Insert the rows with a work_mem, and return the writes of each kind: how many
# commands there were, and how many documents they had.
sub insert
{
	my ($work_mem, $tail) = @_;
	my %writes = (insert => [], update => []);
	my ($out, $log);

	$node->psql('postgres', "SET work_mem = '$work_mem'; SET client_min_messages = log;
		SET mongo_ts_fdw.log_commands = on;
		INSERT INTO points SELECT * FROM source" . ($tail // ''), stderr => \$log);
	unlike($log, qr/ERROR/, "rows are inserted");
	push @{ $writes{$1} }, $2 // 1
	  while $log =~ /MongoDB (insert|update) on "[^"]*"(?:, (\d+) operations)?/g;
	is($node->safe_psql('postgres', 'SELECT count(*) FROM (TABLE source EXCEPT ALL TABLE points) d'), 0,
		'... and all are stored');
	is($node->safe_psql('postgres', 'SELECT (SELECT count(*) FROM source) - (SELECT count(*) FROM points)'), 0,
		'... and no others');
	return \%writes;
}

sub sum { my $n = 0; $n += $_ foreach @_; return $n }

# The first row of a series opens each bucket.
make(20, 10, 'ts, k');
my $writes = insert('4MB');
is(sum(@{ $writes->{update} }), 200, 'each bucket is written once') or diag explain $writes;
cmp_ok(scalar @{ $writes->{update} }, '>', 4, '... in several bulk writes');

# With the unique index, new buckets are inserted whole.
$node->safe_psql('postgres', q(SELECT mongo_ts_command('mongo', '{"drop": "points"}'); SELECT mongo_ts_create_index('points')));
make(100, 10, 'ts, k');
$writes = insert('4MB');
is(sum(@{ $writes->{insert} }), 1000, 'each new bucket is inserted once') or diag explain $writes;
is(sum(@{ $writes->{update} }), 0, '... without an update') or diag explain $writes;
$writes = insert('4MB');
cmp_ok(sum(@{ $writes->{insert} }), '<=', 500, 'few existing buckets are inserted') or diag explain $writes;
is(sum(@{ $writes->{update} }), 1000, '... and each is updated once');

# Series that come one after the other for some minutes.  The first batch does
# not tell whether they come again.
$node->safe_psql('postgres', 'DELETE FROM points');
make(40, 10, q(date_trunc('hour', ts), extract(minute FROM ts)::int / 20, k, ts));
$writes = insert('4MB');
cmp_ok(sum(@{ $writes->{insert} }, @{ $writes->{update} }), '<=', 450, 'turns can have many rows') or diag explain $writes;

# The last row of a slot counts, wherever its bucket is kept.
$node->safe_psql('postgres', 'DELETE FROM points; INSERT INTO points
	SELECT ts, k, note, -v, t FROM (SELECT * FROM source UNION ALL SELECT ts, k, note, 1 - v, t FROM source) s
	ORDER BY ts, k, v DESC');
is($node->safe_psql('postgres', 'SELECT count(*), sum(v) FROM points'),
	$node->safe_psql('postgres', 'SELECT count(*), sum(greatest(-v, v - 1)) FROM source'), 'the last row of a slot counts');

# Without memory, growing buckets are written several times.
$node->safe_psql('postgres', 'DELETE FROM points');
make(1000, 1, 'ts, k');
$writes = insert('64kB');
cmp_ok(sum(@{ $writes->{update} }), '>', 2000, 'with little memory, buckets are written as they grow') or diag explain $writes;
cmp_ok(sum(@{ $writes->{insert} }), '<=', 1000, '... and inserted only once');
$node->safe_psql('postgres', 'DELETE FROM points');
$writes = insert('100MB');
cmp_ok(sum(@{ $writes->{insert} }, @{ $writes->{update} }), '<=', 2000, 'with much, by the first batch and the last one');

# Arrays are inserted whole, too.
$node->safe_psql('postgres', <<'END');
	SELECT mongo_ts_command('mongo', '{"drop": "points"}');
	DROP FOREIGN TABLE points;
	CREATE FOREIGN TABLE points (ts timestamptz, k text, note text OPTIONS (role 'attribute'),
		v float8 OPTIONS (field 'v[{minute}].v'), t text OPTIONS (field 'v[{minute}].t')) SERVER mongo;
	SELECT mongo_ts_create_index('points');
END
make(50, 10, 'ts, k');
$writes = insert('4MB');
is(sum(@{ $writes->{insert} }), 500, 'each new bucket of arrays is inserted once') or diag explain $writes;

# Return by how many MB the memory of a session has grown at most, while it
# runs a statement with work_mem for 40 MB of rows.
sub grow
{
	my ($sql) = @_;
	my $read = q{SELECT substring(pg_read_file('/proc/self/status') FROM 'VmHWM:\s+(\d+)')::int / 1024};
	my @most = split m/\n/, $node->safe_psql('postgres', <<"END");
		SET work_mem = '20MB';
		SELECT count(*) > 0 FROM points;
		$read;
		$sql;
		$read;
END
	return $most[2] - $most[1];
}

# No statement holds more than its rows and 32 MB, whatever waits to be stored.
SKIP:
{
	skip('no /proc', 2) unless -e '/proc/self/status';
	$node->safe_psql('postgres', 'DELETE FROM points; ALTER FOREIGN TABLE points OPTIONS (ADD batch_size \'2000\')');
	my $most = grow(q(INSERT INTO points SELECT '2020-01-01Z'::timestamptz + n * interval '1 min', 'k' || i, NULL, n, repeat('x', 2000)
		FROM generate_series(0, 49) n, generate_series(0, 1499) i));
	cmp_ok($most, '<', 40 + 32, "an INSERT of 150 MB takes $most MB");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM points'), 75000, '... and stores all');
}

$node->safe_psql('postgres', q(SELECT mongo_ts_command('mongo', '{"dropDatabase": 1}')));
$node->stop;
done_testing();
