# Lists the figures: each question of each layout, and questions of single ones.
#
# figures(PATTERN, DIR) returns the figures whose "layout: question" matches; DIR
# has the files for COPY.  A figure is a hash of question, layout, sql, the
# extension's query, references and tables, the layouts that it reads.  A
# reference is a hash of name, bar and the measured work: sql, with is_peer where
# PostgreSQL 18 is asked; duckdb or clickhouse, a query; finds of a collection,
# with the fields of their projection; pipeline; inserts; encodes; upsert; second,
# bulk writes by second.c; or sum, shares of other references.  bar is the largest allowed ratio of the extension's time to
# that of the reference.
#
# Instead of sql it may have script and sessions, for pgbench.  With is_planning, only
# the planning of the sql is measured, with is_first its time in a new session.
#
# A figure or a reference may have before and after, SQL that is not measured, once,
# SQL before all rounds, and points, in thousands, for times of 1,000 points.  With at_peer, a figure runs in PostgreSQL 18,
# too.  With is_write it can have same, tables with the same number of rows
# afterwards.  With is_exact its rows are those of the heap.  beside is SQL that
# another session executes again and again meanwhile.

package Bench::Questions;

use strict;
use warnings;

use Bench::Layouts qw(layouts layout date all_buckets empty heap);
use Bench::Peers qw(peers);
use Bench::Tsbs qw(tsbs);
use Exporter qw(import);

our @EXPORT_OK = qw(figures);

# The series, the day and the hour of the queries, within the shortest data
use constant HOST => 'host_2';
use constant DAY => ('2013-10-01 00:00:00', '2013-10-02 00:00:00');
use constant HOUR => ('2013-10-01 14:00:00', '2013-10-01 15:00:00');

# where the points to copy are
my $dir;

my $serial = 'SET max_parallel_workers_per_gather = 0';

sub where
{
	my ($from, $to) = @_;
	return sprintf q(WHERE host = '%s' AND d >= '%s' AND d < '%s'), HOST, $from,
	  $to;
}

# Make the rows of a query with all columns, without sending them.
sub rows_of
{
	my ($query) = @_;
	return "SELECT count(d), count(host), count(v) FROM ($query OFFSET 0) rows";
}

# ---- The questions of each layout -------------------------------------------

sub all { return [ { filter => all_buckets($_[0]), opts => {} } ] }

sub range
{
	my ($layout, $from, $to, %opts) = @_;
	return [ { filter => $layout->{range}->(HOST, $from, $to),
			opts => \%opts } ];
}

sub sorted
{
	my ($layout, $order) = @_;
	return (sort => { map { $_ => $order } @{ $layout->{sort} }[0] });
}

# One bucket of each series.  Where no field has the series, any bucket can hold
# the last point of one.
sub last_buckets
{
	my ($layout) = @_;
	return all($layout) unless $layout->{key};
	my @hosts = map { { $layout->{key} => "host_$_" } }
	  0 .. $layout->{series} - 1;

	return [ map { { filter => { %{ all_buckets($layout) }, %$_ },
				opts => { sorted($layout, -1), limit => 1 } } } @hosts ];
}

# Stages that select one series and a range of time: of points before they are
# grouped, of buckets before and, if their points have several series, after they
# are unfolded
sub selection
{
	my ($layout, $from, $to) = @_;
	my @unfold = @{ $layout->{unfold} };
	my ($key) = $layout->{point}{host} =~ m/^\$(.*)/;

	return { '$match' => { host => HOST,
			d => { '$gte' => date($from), '$lt' => date($to) } } }
	  unless @unfold;
	return ({ '$match' => $layout->{range}->(HOST, $from, $to) }, @unfold,
		$layout->{key} ? () : { '$match' => { $key => HOST } });
}

sub average
{
	my ($layout, @stages) = @_;
	return [ @stages, { '$group' => { _id => undef, n => { '$sum' => 1 },
				avg => { '$avg' => $layout->{point}{value} } } } ];
}

sub groups
{
	my ($layout) = @_;
	my ($host, $time, $hour, $value) =
	  @{ $layout->{point} }{qw(host time hour value)};

	$hour //= { '$dateTrunc' => { date => $time, unit => 'hour' } };
	return [ @{ $layout->{unfold} },
		{ '$group' => { _id => { host => $host, hour => $hour },
				avg => { '$avg' => $value }, min => { '$min' => $value },
				max => { '$max' => $value } } } ];
}

# name, sql of a table, the finds of the floor, its bar, the pipeline.
my @questions = (
	{ name => 'count, avg of everything',
		sql => sub { return "SELECT count(*), avg(v) FROM $_[0]" },
		finds => \&all, bar => 1.15,
		pipeline => sub { return average($_[0], @{ $_[0]{unfold} }) } },
	{ name => 'groups by series and hour',
		sql => sub { return q(SELECT host, date_trunc('hour', d), avg(v), )
			  . "min(v), max(v) FROM $_[0] GROUP BY 1, 2" },
		finds => \&all, bar => 1.15, pipeline => \&groups,
		is_by_hour => 1 },
	{ name => q(one series' day),
		sql => sub { return "SELECT avg(v) FROM $_[0] " . where(DAY) },
		finds => sub { return range($_[0], DAY) }, bar => 1.15,
		pipeline => sub { return average($_[0], selection($_[0], DAY)) } },
	{ name => 'an hour in order',
		sql => sub { return rows_of(
				"SELECT * FROM $_[0] " . where(HOUR) . ' ORDER BY d') },
		finds => sub { return range($_[0], HOUR, sorted($_[0], 1)) }, bar => 2 },
	{ name => 'rows', is_rows => 1,
		sql => sub { return rows_of("SELECT * FROM $_[0]") }, finds => \&all },
	{ name => 'last point of each series',
		sql => sub { return 'SELECT DISTINCT ON (host) host, d, v '
			  . "FROM $_[0] ORDER BY host, d DESC" },
		finds => \&last_buckets, bar => 2 });

# Queries of the same rows elsewhere
sub elsewhere
{
	my ($layout, $sql) = @_;
	my $theirs = $sql->("heap_$layout->{kind}");

	return (
		{ name => 'heap', sql => $theirs },
		{ name => 'TimescaleDB', sql => $theirs, is_peer => 1 },
		{ name => 'DuckDB', duckdb => $theirs });
}

# The groups by ClickHouse's reader of the collection
sub read_by_clickhouse
{
	my ($layout) = @_;
	my ($columns, @expressions) = @{ $layout->{reader} }{
		qw(columns host hour value)};

	return { name => 'ClickHouse', clickhouse => sprintf
		  'SELECT series, hour, avg(x), min(x), max(x) FROM (SELECT %s AS series, '
		  . q{%s AS hour, %s AS x FROM mongodb(%%s, '%s', '', '', '%s')) }
		  . 'GROUP BY series, hour', @expressions, $layout->{name}, $columns };
}

sub figure
{
	my ($layout, $question) = @_;
	my $sql = $question->{sql}->($layout->{name});
	my $pipeline = $question->{pipeline};

	return { question => $question->{name}, layout => $layout->{name},
		sql => $sql, tables => [$layout],
		references => [
			{ name => 'floor', collection => $layout->{buckets},
				bar => $question->{bar}, finds => $question->{finds}->($layout),
				fields => $layout->{fields} },
			$pipeline ? { name => 'pipeline', collection => $layout->{name},
				pipeline => $pipeline->($layout) } : (),
			elsewhere($layout, $question->{sql}),
			$question->{is_by_hour} ? read_by_clickhouse($layout) : (),
			$question->{is_rows} ? { name => 'floor + heap / 2', bar => 1,
				sum => { floor => 1, heap => 0.5 } } : (),
			$question->{is_by_hour} ? { name => 'serial', bar => 1,
				sql => $sql, before => $serial, after => 'RESET ALL' } : () ] };
}

# ---- Writing ----------------------------------------------------------------

# One floor sends the documents that the extension has sent; the other one makes
# them of the points, too.
sub floors_of_inserts
{
	my ($layout) = @_;
	my ($name, $shape, $kind) = @{$layout}{qw(name shape kind)};
	my %floor = (collection => "${name}_floor",
		before => empty($layout, "${name}_floor"));

	return (
		{ %floor, name => 'floor of points', bar => 3,
			encodes => { file => "$dir/points_$kind", shape => $shape,
				kind => $kind =~ s/^(?!int|long).*/double/r } },
		{ %floor, name => 'floor of documents', bar => 2,
			inserts => { from => "${name}_in" } });
}

# The rows of a query or of a file, as PostgreSQL alone gets them
sub source_of
{
	my ($kind, $is_copy) = @_;
	my @columns = map { m/^\s*(\S+)/ } split m/,/, heap($kind, 1)->{columns};

	return { name => 'the source alone', sql => $is_copy
		? "COPY in_$kind FROM '$dir/points_$kind' WHERE $columns[0] IS NULL"
		: 'SELECT ' . join(', ', map { "count($_)" } @columns)
		  . " FROM (SELECT * FROM points_$kind OFFSET 0) rows" };
}

sub write_figure
{
	my ($layout, $name, $sql) = @_;
	my ($table, $kind) = @{$layout}{qw(name kind)};
	my $points = "points_$kind";
	my ($foreign, $floor) = map { ($kind eq 'tsbs' ? 'cpu_' : '') . "${table}_$_" } qw(in floor);

	return { question => $name, layout => $table, is_write => 1,
		before => empty($layout, "${table}_in"), tables => [$layout],
		sql => $sql->($foreign, $points), same => [ $foreign, $points, $floor ],
		references => [
			floors_of_inserts($layout), source_of($kind, $name eq 'COPY'),
			{ name => 'heap', sql => $sql->("in_$kind", $points),
				before => "TRUNCATE in_$kind" } ] };
}

sub insert { return "INSERT INTO $_[0] SELECT * FROM $_[1]" }
sub copy { return "COPY $_[0] FROM '$dir/$_[1]'" }

# An update that stores a point
sub one_row
{
	my $minute = layout('minute');

	return { question => 'other questions', layout => 'one-row INSERT',
		is_write => 1, tables => [$minute],
		sql => q{INSERT INTO minute_in VALUES (date_trunc('second', }
		  . q{clock_timestamp()), 'host_2', random())},
		references => [
			{ name => 'floor', collection => 'minute_floor', bar => 1.3,
				upsert => 1 },
			{ name => 'heap', sql => q{INSERT INTO in_double VALUES }
				  . q{(clock_timestamp(), 'host_2', random())} } ] };
}

# ---- Second by second -------------------------------------------------------

# A second of series from one number up to another, in buckets with a count and a
# sum
sub second_of
{
	my ($table, $n, $from, $to) = @_;
	return "INSERT INTO $table SELECT to_timestamp(1700002800 + $n), "
	  . "'host_' || i, i FROM generate_series($from, $to - 1) AS i";
}

# Make a sequence of seconds, and empty the table.
sub begin_seconds
{
	my ($name, $empty) = @_;
	return "DROP SEQUENCE IF EXISTS $name; CREATE SEQUENCE $name; $empty";
}

# All points that were written exist, and the counts are true.
sub same_seconds
{
	my ($table, $series) = @_;
	return [ $table, "(SELECT generate_series(1, last_value * $series) FROM second) AS given" ];
}

# A statement that writes a second of 5,000 series
sub second_figure
{
	my $layout = layout('seconds');
	my $sql = sub {
		my ($table, $sequence) = @_;
		return second_of($table, "(SELECT nextval('$sequence'))", 0, 5000);
	};

	return { question => 'second by second', is_write => 1, tables => [$layout],
		layout => '5,000 series, one INSERT', sql => $sql->('seconds_in', 'second'),
		once => begin_seconds('second', empty($layout, 'seconds_in')),
		same => same_seconds('seconds_in', 5000),
		references => [
			{ name => 'floor', bar => 1.5, once => empty($layout, 'seconds_floor'),
				second => { collection => 'seconds_floor', clients => 1, series => 5000 } },
			{ name => 'heap', sql => $sql->('in_double', 'heap_second'),
				once => begin_seconds('heap_second', 'TRUNCATE in_double') } ] };
}

# Sessions that write a second of 300 series each by a prepared statement
sub session_figure
{
	my ($name, $sessions, $where) = @_;
	my $layout = layout($name);
	my $script = sub {
		my ($table, $sequence) = @_;
		return "SELECT nextval('$sequence') AS n \\gset\n"
		  . second_of($table, ':n', ':client_id * 300', '(:client_id + 1) * 300') . ";\n";
	};

	return { question => 'second by second', is_write => 1, tables => [$layout],
		layout => "$sessions session" . ($sessions > 1 ? 's' : '') . " of 300 series$where",
		script => $script->("${name}_in", 'second'), sessions => $sessions,
		once => begin_seconds('second', empty($layout, "${name}_in")),
		same => same_seconds("${name}_in", 300),
		references => [
			{ name => 'floor', bar => 1.5, once => empty($layout, "${name}_floor"),
				second => { collection => "${name}_floor", clients => $sessions,
					series => 300, is_set => $where ne '' } },
			{ name => 'heap', script => $script->('in_double', 'heap_second'),
				sessions => $sessions,
				once => begin_seconds('heap_second', 'TRUNCATE in_double') } ] };
}

# Transactions of one point each, by a prepared statement
sub single_row_figure
{
	my ($name, $where) = @_;
	my $script = sub {
		my ($time) = $_[1];
		return "\\set v random(1, 1000000)\nINSERT INTO $_[0] VALUES ($time, 'host_2', :v);\n";
	};

	return { question => 'second by second', is_write => 1, tables => [ layout($name) ],
		layout => "one point, prepared$where", sessions => 1,
		script => $script->("${name}_in", q(date_trunc('second', clock_timestamp()))),
		references => [
			{ name => 'floor', bar => 1.3, second => { collection => "${name}_floor",
					clients => 1, series => 0, is_set => $where ne '' } },
			{ name => 'heap', sessions => 1,
				script => $script->('in_double', 'clock_timestamp()') } ] };
}

sub second_figures
{
	my $set = ', a replica set';
	return (second_figure(), (map { session_figure('seconds', $_, '') } 1, 4, 16),
		session_figure('seconds_members', 16, $set),
		single_row_figure('minute', ''), single_row_figure('members', $set));
}

# ---- Questions of single layouts --------------------------------------------

sub join_figure
{
	my $devices = layout('devices');
	my @lookups = map {
		{ filter => $devices->{range}->("host_$_", '2013-10-01 00:59:01',
				'2013-10-01 01:59:59.001'), opts => {} }
	} 0 .. 99;

	return { question => 'other questions',
		layout => 'join: an hour of 100 devices',
		tables => [$devices],
		sql => 'SELECT f.host, count(*), avg(v) FROM fleet f JOIN devices p '
		  . q(ON p.host = f.host AND p.d > f.seen - interval '1 hour' )
		  . 'AND p.d <= f.seen GROUP BY 1',
		references => [ { name => 'floor', collection => 'devices', bar => 2,
				finds => \@lookups, fields => $devices->{fields} } ] };
}

# Groups of points that are joined with their devices, beside the same groups
# without the join
sub group_figures
{
	my @all = ( question => 'other questions', tables => [ layout('devices') ] );
	my $of = q(date_trunc('minute', d), avg(v), max(v) FROM devices);
	my $by = 'GROUP BY 1, 2';

	return (
		{ @all, layout => 'join, then group: all devices by their sites',
			sql => "SELECT site, $of JOIN fleet USING (host) $by",
			references => [ { name => 'without the join', bar => 1.3,
					sql => "SELECT host, $of $by" } ] },
		{ @all, layout => 'join, then group: one customer of a hundred',
			sql => "SELECT site, $of JOIN fleet USING (host) "
			  . "WHERE customer = 7 $by",
			references => [ { name => 'an IN list', bar => 1.5,
					sql => "SELECT host, $of WHERE host IN ('host_7') $by" } ] });
}

sub totals_figure
{
	my $hourly = q(SELECT host, date_trunc('hour', d), avg(v), max(v) FROM );
	my $totals = layout('totals');

	return { question => 'other questions',
		layout => 'groups by pre-aggregates',
		tables => [ layout('minute'), $totals ],
		sql => "${hourly}totals GROUP BY 1, 2",
		references => [
			{ name => 'floor', collection => 'minute', bar => 1.2,
				finds => all($totals), fields => [qw(d host n sum max)] },
			{ name => 'from the values', sql => "${hourly}minute GROUP BY 1, 2" },
			{ name => 'heap', sql => "${hourly}heap_double GROUP BY 1, 2" } ] };
}

# The ten greatest values, by the greatest value of each bucket.  The plan in
# bench.json has the number of buckets.  The floor knows that all buckets have
# one, and sorts no more than it wants.
sub greatest_figure
{
	my $ten = sub { return "SELECT v, d, host FROM $_[0] ORDER BY v DESC NULLS LAST LIMIT 10" };

	return { question => 'other questions', layout => 'the ten greatest values',
		tables => [ layout('minute'), layout('totals') ],
		sql => $ten->('totals'),
		references => [
			{ name => 'floor', collection => 'minute', bar => 5,
				finds => [ { filter => { max => { '$gte' => 0 } },
						opts => { sort => { max => -1 }, limit => 11 } } ],
				fields => [qw(d host v max)] },
			{ name => 'all points', bar => 1, sql => $ten->('minute') },
			{ name => 'heap', sql => $ten->('heap_double') } ] };
}

# A server that limits the bytes per second on each connection, and is taken for
# one on another host
sub slow_figure
{
	my $sql = sprintf 'SELECT count(*), avg(v), stddev(v) FROM slow '
	  . q(WHERE d >= '%s' AND d < '%s'), DAY;

	return { question => 'other questions', layout => 'a day on a slow server',
		tables => [ layout('minute'), layout('slow') ], sql => $sql,
		before => 'SET mongo_ts_fdw.processors = 64',
		references => [ { name => 'serial', bar => 1, sql => $sql,
				before => $serial, after => 'RESET ALL' } ] };
}

# Questions whose answer is found at once: planning and protocol are most of their
# time.  Prepared statements have generic plans.
sub short_figures
{
	my $minute = layout('minute');
	my ($from, $to) = HOUR;
	my %questions = (
		'an hour in order' => [ rows_of('SELECT * FROM %s WHERE host = $1 AND d >= $2 AND d < $3 ORDER BY d'),
			"'@{[HOST]}', '$from', '$to'", range($minute, HOUR, sorted($minute, 1)) ],
		'a point' => [ 'SELECT v FROM %s WHERE host = $1 AND d = $2', "'@{[HOST]}', '$from'",
			range($minute, $from, $from =~ s/00$/01/r) ]);
	my @all = (question => 'short queries', tables => [$minute]);

	return map {
		my $name = $_;
		my ($query, $values, $finds) = @{ $questions{$name} };
		my @values = split m/, /, $values;
		my $plain = $query =~ s/\$(\d)/$values[$1 - 1]/gr;
		my ($ours, $theirs) = map { ($name =~ s/\W+/_/gr) . "_$_" } qw(minute heap);
		my $prepare = sub { return 'SET plan_cache_mode = force_generic_plan; '
			  . "PREPARE $_[0] (text, timestamptz, timestamptz) AS " . sprintf $query, $_[1] };
		$values .= ', NULL' if @values < 3;
		my @heap = (name => 'heap', once => $prepare->($theirs, 'heap_double'),
			sql => "EXECUTE $theirs ($values)");

		({ @all, layout => "$name, prepared", once => $prepare->($ours, 'minute'),
				sql => "EXECUTE $ours ($values)", references => [
					{ name => 'floor', bar => 2, collection => 'minute',
						finds => $finds, fields => $minute->{fields} },
					{ name => 'not prepared', sql => sprintf($plain, 'minute') }, {@heap} ] },
			{ @all, layout => "$name, the first of a session", is_first => 1,
				sql => sprintf($plain, 'minute'), references => [
					{ name => 'heap', is_first => 1, sql => sprintf($plain, 'heap_double') } ] },
			{ @all, layout => "$name, its planning", is_planning => 1,
				sql => sprintf($plain, 'minute'), references => [
					{ name => 'heap', is_planning => 1, sql => sprintf($plain, 'heap_double') } ] })
	} sort keys %questions;
}

# Documents of a minute whose keys are the series
sub counter_figures
{
	my $counters = layout('counters');
	my @all = (question => 'series that are keys', tables => [$counters]);
	my $one = sub { return "SELECT avg(v) FROM $_[0] WHERE host = 150" };
	my $last = sub { return "SELECT DISTINCT ON (host) host, d, v FROM $_[0] ORDER BY host, d DESC" };

	return (
		{ @all, layout => 'one of 300 counters', sql => $one->('counters'), references => [
				{ name => 'floor', bar => 2, collection => 'counters',
					finds => all($counters), fields => [ 'd', 'v.150' ] },
				{ name => 'heap', sql => $one->('heap_counters') } ] },
		{ @all, layout => 'the last point of each counter', sql => $last->('counters'),
			references => [
				# a counter can have its last point in any document
				{ name => 'floor', bar => 2, collection => 'counters',
					finds => all($counters), fields => [ 'd', 'v' ] },
				{ name => 'the last document', collection => 'counters',
					finds => [ { filter => {}, opts => { sort => { d => -1 }, limit => 1 } } ],
					fields => [ 'd', 'v' ] },
				{ name => 'heap', sql => $last->('heap_counters') } ] });
}

# ---- A replica set ----------------------------------------------------------

# What it costs that a statement reads one moment, and that a batch is stored
# whole: the reference does without
sub members_figures
{
	my @tables = map { layout($_) } qw(members members_none);
	my ($from) = HOUR;
	my @reads = (
		[ 'count, avg of everything', 'SELECT count(*), avg(v) FROM %s' ],
		[ 'rows', rows_of('SELECT * FROM %s') ],
		[ 'an hour in order', rows_of('SELECT * FROM %s ' . where(HOUR) . ' ORDER BY d') ],
		[ 'a point', 'SELECT v FROM %s WHERE host = ' . "'@{[HOST]}' AND d = '$from'" ]);
	my @writes = (
		[ 'new buckets', 'INSERT INTO %s SELECT * FROM points_double', 1 ],
		[ 'existing buckets',
			'INSERT INTO %s SELECT d, host, v + random() FROM points_double' ]);
	my $writer = q{INSERT INTO members SELECT timestamptz '2013-10-01' }
	  . q{+ (random() * 86399)::int * interval '1 s', 'host_' || i % 5, }
	  . q{(random() * 10000)::int / 100.0 FROM generate_series(1, 500) i};

	return (
		(map {
				my ($name, $sql) = @$_;
				map { { question => 'reads of a replica set',
						layout => $_ ? "$name, beside a writer" : $name,
						beside => $_ ? $writer : undef, tables => \@tables,
						sql => sprintf($sql, 'members'),
						references => [ { name => q(consistency 'none'),
								sql => sprintf($sql, 'members_none') } ] } } 0, 1
			} @reads),
		(map {
				my ($name, $sql, $is_new) = @$_;
				my $before = $is_new ? empty($tables[0], 'members_in') : undef;
				{ question => 'writes to a replica set', layout => $name,
					is_write => 1, tables => \@tables, before => $before,
					sql => sprintf($sql, 'members_in'),
					same => [ 'members_in', 'points_double' ],
					references => [ { name => q(transactions 'off'),
							before => $before,
							sql => sprintf($sql, 'members_none_in') } ] }
			} @writes));
}

sub figures
{
	my ($pattern, $files) = @_;
	my @layouts = grep { !$_->{is_special} } layouts();

	$dir = $files;
	my @all = (
		(map {
				my $question = $_;
				map { figure($_, $question) } @layouts
			} @questions),
		(map { write_figure($_, 'INSERT ... SELECT', \&insert) }
			grep { !$_->{is_read_only} } @layouts),
		write_figure(layout('minute'), 'COPY', \&copy),
		one_row(), join_figure(), group_figures(), totals_figure(), greatest_figure(),
		slow_figure(), short_figures(), counter_figures(), second_figures(), tsbs(),
		peers(), members_figures());

	return grep { "$_->{layout}: $_->{question}" =~ m/$pattern/ } @all;
}

1;
