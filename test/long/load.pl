# Runs 16 clients that read and write for ten minutes.  Proves that they get no
# error, that memory does not grow, and that each acknowledged point exists
# exactly once.
#
# SECONDS sets another duration.  Throughput and latencies are printed as
# notes.
#
# Each write is recorded in a local table in the same transaction, under locks,
# so the tables must be equal in the end.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../t";

use IPC::Run;
use MongoTS::Node;
use PostgreSQL::Test::Cluster;
use Test::More;
use Time::HiRes qw(time usleep);

use constant CLIENTS => 16;

# The number of samples, and the bytes by which a backend may grow from the
# second to the last third of the time.  In the first third caches fill.  In
# ten minutes, one byte kept for each transaction would exceed this.
use constant SAMPLES => 60;
use constant GROWTH => 8 * 1024;

my $seconds = $ENV{SECONDS} || 600;
my $node = new_node('load', memory_in_use => 1,
	conf => "max_connections = 40\njit = off\nlog_statement = none\n"
	  . "log_line_prefix = '%e '\n");
my $begin = "timestamptz '2020-01-01 00:00Z'";

# ---- Tables ---------------------------------------------------------------

sub make_tables
{
	my $aggregates = q(sum_field 'total', min_field 'lo', max_field 'hi');

	$node->safe_psql('postgres', <<"END");
		ALTER SERVER mongo OPTIONS (ADD database 'load_$$');
		SELECT mongo_ts_command('mongo', '{"dropDatabase": 1}');
		CREATE FOREIGN TABLE slots (
			ts timestamptz OPTIONS (field 'm'),
			k  text COLLATE "C",
			v  float8 OPTIONS (field 'v.{second}', $aggregates)
		) SERVER mongo OPTIONS (count_field 'n');
		CREATE FOREIGN TABLE pushed (
			ts timestamptz OPTIONS (field 'p[].t'),
			k  text COLLATE "C",
			v  float8 OPTIONS (field 'p[].v', $aggregates)
		) SERVER mongo OPTIONS (bucket_time_field 'd', bucket_span '1 day',
			bucket_first_field 'first', bucket_last_field 'last',
			bucket_max_points '20', count_field 'n');
		CREATE FOREIGN TABLE slots_documents (ts timestamptz OPTIONS (field 'm'),
			k text, n int, total float8, lo float8, hi float8)
			SERVER mongo OPTIONS (collection 'slots');
		CREATE FOREIGN TABLE pushed_documents (k text, n int, total float8,
			lo float8, hi float8, first timestamptz OPTIONS (role 'time'),
			last timestamptz, p jsonb)
			SERVER mongo OPTIONS (collection 'pushed');
		SELECT mongo_ts_create_index('slots'), mongo_ts_create_index('pushed');

		CREATE SEQUENCE one;
		CREATE SEQUENCE many;
		CREATE SEQUENCE push;
		CREATE TABLE slots_wrote (ts timestamptz, k text COLLATE "C", v float8,
			PRIMARY KEY (k, ts));
		CREATE TABLE pushed_wrote (LIKE slots_wrote INCLUDING ALL);
		CREATE TABLE devices (k text COLLATE "C", room int);
		INSERT INTO devices SELECT 'one' || i, i % 3 FROM generate_series(0, 9) i;
		ANALYZE devices;

		-- an hour, so that the last one is as long in the beginning as in the end
		INSERT INTO slots_wrote SELECT $begin + p / 10 * interval '1 second',
				'one' || p % 10, p % 1000
			FROM generate_series(1, 36000) p;
		INSERT INTO slots TABLE slots_wrote;
		SELECT setval('one', 36000);
END
	$node->safe_psql('postgres', 'CREATE TABLE memory (at float8, pid int, bytes int8)');
	return;
}

# ---- The scripts of the clients -------------------------------------------

# Write to the foreign table, and record it.
sub both
{
	my ($statement) = @_;

	return map { $statement =~ s/\b(slots|pushed)\b/$1$_/r . ";\n" } '_wrote', '';
}

my $at_one = "ts = $begin + :p / 10 * interval '1 second' AND k = 'one' || :p % 10";
my $at_push = "ts = $begin + :p / 4 * interval '1 second' AND k = 'dev' || :p % 4";
my $last_one = "SELECT greatest(last_value - 1, 1) AS last FROM one \\gset\n";

# Check that the point exists.  The lock prevents other changes until the
# transaction ends.
sub lock_point
{
	my ($table, $where) = @_;

	return "BEGIN;\n\\set there 0\nSELECT count(*) AS there FROM "
	  . "(SELECT FROM $table WHERE $where FOR UPDATE) _ \\gset\n";
}

my @scripts = (
	# one point of the current minute of one of ten series
	[ insert_one => 30, "SELECT nextval('one') AS p \\gset\nBEGIN;\n",
		both("INSERT INTO slots VALUES ($begin + :p / 10 * interval '1 second', "
			  . "'one' || :p % 10, :p % 1000)"), "COMMIT;\n" ],
	# eight clients write 30 points each to the same four new buckets
	[ insert_many => 10, "SELECT nextval('many') - 1 AS b \\gset\n",
		"\\set m :b % 8\n\\set g :b / 8\nBEGIN;\n",
		"SELECT pg_advisory_xact_lock_shared(:g);\n",
		both("INSERT INTO slots SELECT $begin + make_interval(mins => :g, secs => s), "
			  . "'many' || i, s * 7 % 60 FROM generate_series(0, 3) i, "
			  . 'generate_series(:m, 59, 8) s'), "COMMIT;\n" ],
	# five points to the open buckets of four devices
	[ push => 10, "SELECT nextval('push') AS b \\gset\nBEGIN;\n",
		both("INSERT INTO pushed SELECT $begin + p / 4 * interval '1 second', "
			  . "'dev' || p % 4, p % 100 FROM generate_series(:b * 5, :b * 5 + 4) p"),
		"COMMIT;\n" ],
	[ update => 10, $last_one, "\\set p random(1, :last)\n\\set v random(0, 999)\n",
		lock_point('slots_wrote', $at_one), "\\if :there\n",
		both("UPDATE slots SET v = :v WHERE $at_one"), "\\endif\nCOMMIT;\n" ],
	[ unpush => 3, "SELECT last_value AS last FROM push \\gset\n",
		"\\set p random(5, :last * 5)\n", lock_point('pushed_wrote', $at_push),
		"\\if :there\n", both("DELETE FROM pushed WHERE $at_push"),
		"\\endif\nCOMMIT;\n" ],
	# the end of a bucket, and all of the next one
	[ delete_range => 2, "SELECT last_value / 8 AS last FROM many \\gset\n",
		"\\set g random(0, :last)\n\\set i random(0, 3)\nBEGIN;\n",
		"SELECT pg_advisory_xact_lock(:g), pg_advisory_xact_lock(:g + 1);\n",
		both("DELETE FROM slots WHERE k = 'many' || :i "
			  . "AND ts >= $begin + :g * interval '1 minute' + interval '15 seconds' "
			  . "AND ts < $begin + (:g + 2) * interval '1 minute'"), "COMMIT;\n" ],
	[ last_point => 20, "\\set i random(0, 9)\n",
		"SELECT ts, v FROM slots WHERE k = 'one' || :i ORDER BY ts DESC LIMIT 1;\n" ],
	[ last_hour => 10, $last_one, "\\set i random(0, 9)\n",
		"SELECT date_trunc('minute', ts), avg(v) FROM slots WHERE k = 'one' || :i "
		  . "AND ts > $begin + :last / 10 * interval '1 second' - interval '1 hour' "
		  . "GROUP BY 1;\n" ],
	[ join => 5, $last_one, "\\set i random(0, 2)\n",
		'SELECT d.k, count(*), max(s.v) FROM devices d JOIN slots s ON s.k = d.k '
		  . "WHERE d.room = :i AND s.ts > $begin + :last / 10 * interval '1 second' "
		  . "- interval '5 minutes' GROUP BY 1;\n" ],
	[ memory => 5, 'INSERT INTO memory SELECT extract(epoch FROM clock_timestamp()), '
		  . "pg_backend_pid(), memory_in_use();\n" ]);

# Of two sessions that delete from one array at once, one must try again, as
# documented.  The log may contain no other error.
my $trouble = qr/^(?!40001 )\S+ +(?:WARNING|ERROR|FATAL|PANIC): .*$/m;

# ---- The run --------------------------------------------------------------

sub start_clients
{
	my ($output) = @_;
	my $scratch = $PostgreSQL::Test::Utils::tmp_check;
	my @files;

	foreach my $script (@scripts)
	{
		my ($name, $weight, @lines) = @$script;

		open(my $file, '>', "$scratch/$name") or die "$scratch/$name: $!";
		print $file @lines;
		close($file);
		push @files, '-f', "$scratch/$name\@$weight";
	}
	return IPC::Run::start(
		[ 'pgbench', '-n', '-M', 'prepared', '-c', CLIENTS, '-j', 2,
			'-T', $seconds, '--max-tries=20', '--random-seed=1', @files,
			$node->connstr('postgres') . ' application_name=pgbench' ],
		'<' => \undef, '>' => $output, '2>&1');
}

# Record the memory, in KB, and the number of sockets of each client's backend.
sub sample
{
	my ($samples) = @_;
	my $pids = $node->safe_psql('postgres',
		"SELECT pid FROM pg_stat_activity WHERE application_name = 'pgbench'");

	foreach my $pid (split /\n/, $pids)
	{
		open(my $file, '<', "/proc/$pid/status") or next;
		my ($size) = join('', <$file>) =~ /^RssAnon:\s+(\d+) kB/m;
		my @sockets = grep { (readlink($_) // '') =~ /^socket:/ } glob("/proc/$pid/fd/*");

		push @{ $samples->{$pid} }, [ $size, scalar @sockets ] if $size;
	}
	return;
}

sub most
{
	my ($i, @samples) = @_;
	my ($most) = sort { $b <=> $a } map { $_->[$i] } @samples;

	return $most;
}

# Check that no backend has more sockets in the last third of the time than in
# the first.
sub check_samples
{
	my ($samples) = @_;
	my $sockets = 0;

	is(scalar(keys %$samples), CLIENTS, 'each client had one backend');
	foreach my $samples (values %$samples)
	{
		my $third = int(@$samples / 3) or die 'too few samples';
		my @first = @$samples[ 0 .. $third - 1 ];
		my @last = @$samples[ -$third .. -1 ];

		$sockets++ if most(1, @last) > most(1, @first);
	}
	note sprintf('memory of a backend: %d KB at most',
		most(0, map { @$_ } values %$samples));
	is($sockets, 0, 'no backend has more sockets');
	return;
}

# Check that no backend uses more memory, apart from malloc()'s free chunks.
sub check_memory
{
	my $growth = $node->safe_psql('postgres', <<'END');
		WITH thirds AS (SELECT *, ntile(3) OVER (PARTITION BY pid ORDER BY at) AS third
				FROM memory),
			growths AS (SELECT pid, percentile_disc(0.5) WITHIN GROUP (ORDER BY bytes) FILTER (WHERE third = 3)
					- percentile_disc(0.5) WITHIN GROUP (ORDER BY bytes) FILTER (WHERE third = 2) AS growth
				FROM thirds GROUP BY pid)
		SELECT max(growth) FROM growths
END
	note "memory in use: $growth bytes more in the last third";
	cmp_ok($growth, '<', GROWTH, 'memory of all backends is flat');
	return;
}

# Print pgbench's figures of each script.
sub note_throughput
{
	my ($output, $elapsed) = @_;
	my ($points) = $node->safe_psql('postgres', 'SELECT (SELECT last_value - 36000 FROM one) '
		  . '+ (SELECT last_value FROM many) * 30 + (SELECT last_value FROM push) * 5');

	note $1 while $output =~ /^((?:latency average|tps) =.*|number of transactions retried:.*)$/mg;
	while ($output =~ m{^SQL script \d+: \S*/(\w+)\n(.*?)(?=^SQL script|\z)}msg)
	{
		my ($name, $figures) = ($1, $2);
		my ($tps) = $figures =~ /tps = ([\d.]+)/;
		my ($latency) = $figures =~ /latency average = ([\d.]+)/;
		my ($deviation) = $figures =~ /latency stddev = ([\d.]+)/;

		note sprintf('%-14s %8.1f /s %8.1f ms (standard deviation %.1f)', $name,
			$tps, $latency, $deviation);
	}
	note sprintf('%d points written, %.0f a second', $points, $points / $elapsed);
	return;
}

# ---- The points in the end ------------------------------------------------

sub check_points
{
	my ($table) = @_;

	is($node->safe_psql('postgres', <<"END"), '0 lost, 0 extra', "$table: each point is there once");
		WITH there AS MATERIALIZED (TABLE $table),
			lost AS (TABLE ${table}_wrote EXCEPT ALL TABLE there),
			extra AS (TABLE there EXCEPT ALL TABLE ${table}_wrote)
		SELECT (SELECT count(*) FROM lost) || ' lost, '
			|| (SELECT count(*) FROM extra) || ' extra'
			|| coalesce((SELECT ', e.g. ' || lost::text FROM lost LIMIT 1),
				(SELECT ', e.g. ' || extra::text FROM extra LIMIT 1), '')
END
	return;
}

sub check_totals
{
	my $found = $node->safe_psql('postgres', <<'END');
		WITH documents AS MATERIALIZED (
				SELECT ts, k, n, total, lo, hi FROM slots_documents),
			wanted AS (SELECT date_trunc('minute', ts, 'UTC') AS ts, k,
					count(*)::int AS n, sum(v) AS total, min(v) AS lo, max(v) AS hi
				FROM slots_wrote GROUP BY 1, 2),
			wrong AS (TABLE documents EXCEPT ALL TABLE wanted)
		SELECT (SELECT count(*) FROM documents) || ' documents, '
			|| (SELECT count(*) FROM wanted) || ' buckets'
			|| coalesce((SELECT ', wrong: ' || wrong::text FROM wrong LIMIT 1), '')
END
	like($found, qr/^(\d+) documents, \1 buckets$/,
		'slots: each bucket is one document with true totals');

	$found = $node->safe_psql('postgres', <<'END');
		SELECT count(*) || ' wrong, ' || coalesce(min(d::text), 'none')
		  FROM pushed_documents d, LATERAL (
				SELECT count(*) AS n, sum((e->>'v')::float8) AS total,
					min((e->>'v')::float8) AS lo, max((e->>'v')::float8) AS hi,
					min(e #>> '{t,$date}')::timestamptz AS first,
					max(e #>> '{t,$date}')::timestamptz AS last
				FROM jsonb_array_elements(p) e) a
		 WHERE d.n > 20 OR d.first > a.first OR d.last < a.last
			OR (d.n, d.total, d.lo, d.hi) IS DISTINCT FROM (a.n, a.total, a.lo, a.hi)
END
	is($found, '0 wrong, none', 'pushed: no bucket has too many points, and all totals are true');
	return;
}

# ---------------------------------------------------------------------------

my ($output, %samples) = ('');

make_tables();
my $start = time();
my $clients = start_clients(\$output);
for (my $next = $start + $seconds / SAMPLES; $clients->pumpable; $clients->pump_nb)
{
	usleep(100_000);
	next if time() < $next || time() > $start + $seconds;
	sample(\%samples);
	$next += $seconds / SAMPLES;
}
ok($clients->finish, "$seconds seconds, " . CLIENTS . ' clients') or diag $output;
like($output, qr/^number of failed transactions: 0 /m, 'no transaction failed');
unlike(PostgreSQL::Test::Utils::slurp_file($node->logfile),
	$trouble, 'nothing is in the log');
note_throughput($output, time() - $start);
check_samples(\%samples);
check_memory();
check_points($_) foreach qw(slots pushed);
check_totals();
SKIP:
{
	my $open = $node->safe_psql('postgres', q(SELECT coalesce(mongo_ts_command(
		'mongo', '{"serverStatus": 1}') #>> '{metrics,cursor,open,total}', 'unknown')));
	skip 'the server does not tell of its cursors', 1 unless $open =~ /^\d+$/;
	is($open, 0, 'no cursor stays open');
}
$node->safe_psql('postgres', q(SELECT mongo_ts_command('mongo', '{"dropDatabase": 1}')));
$node->stop;

done_testing();
