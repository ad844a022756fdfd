# Proves what a roll-up promises of other clients, which write MongoDB and mark nothing.  A client
# inserts late documents, adds points to old ones, changes and removes them, also while a refresh
# runs.  Documents with new ObjectIds are in the roll-ups after the next refresh.  All else is
# noticed by a refresh that repairs or computes its time, or that follows a mark.  Until then
# mongo_ts_check_rollup() reports exactly what is wrong.
#
# A refresh remembers when it has begun.  The test moves this time, and the times in the ObjectIds,
# so that each refresh takes ten minutes and the next one begins an hour after it.
#
# SEED repeats the statements.  They go on for DURATION seconds, and for at least as many refreshes
# as REFRESHES says.  SERVER is standalone or set, to test only this one.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use MongoTS::Node;
use Test::More;
use Time::HiRes qw(sleep time);

my $seconds = $ENV{DURATION} // 12;
my $seed = $ENV{SEED} // int time;

srand($seed);
note "SEED=$seed";

my $minute = 60;
my $hour = 3600;
my $day = 24 * $hour;

# However slow the machine is
my $least_refreshes = $ENV{REFRESHES} // 5;

# The number of days before now that have points
my $days = 4;
my $now = int(time / $hour) * $hour;
my $begin = $now - $days * $day;

# The roll-ups, and the lengths of their intervals
my %length = (quarters => 15 * $minute, hours => $hour, days => $day);
# The roll-ups that a refresh of a table computes
my %refreshed = (quarters => ['quarters'], hours => ['hours'], days => [qw(hours days)], points => [ sort keys %length ]);

my $is_own = $ENV{MONGO_TS_FAULT_DIR} && -x "$ENV{MONGO_TS_FAULT_DIR}/mongod";
my $server_kind = $ENV{SERVER} // q();
my $set = $is_own && $server_kind ne 'standalone' ? set_start(1) : undef;
my %uri = ($server_kind eq 'set' ? () : (standalone => $ENV{MONGODB_URI}), $set ? (set => set_uri($set)) : ());
my $node = new_node('late', uri => undef);

# ---- Tables -----------------------------------------------------------------

# A table of points and its roll-ups.  That of days is computed from that of hours.
sub make_tables
{
	my ($kind) = @_;

	$node->safe_psql('postgres', <<"END");
		CREATE SCHEMA $kind;
		SET search_path = $kind, public;
		SELECT mongo_ts_command('$kind', '{"dropDatabase": 1}');
		CREATE FOREIGN TABLE points (ts timestamptz OPTIONS (field 'hour'), k text COLLATE "C", v float8 OPTIONS (field 'm.{minute}'))
			SERVER $kind;
		SELECT mongo_ts_create_index('points');
		SELECT mongo_ts_create_rollup('points', '15 minutes', 'quarters', lag => '3 hours');
		SELECT mongo_ts_create_rollup('points', '1 hour', 'hours', lag => '0');
		SELECT mongo_ts_create_rollup('hours', '1 day', 'days', lag => '0');
		UPDATE pg_class SET reltuples = 1e7, relpages = 1e5 WHERE oid = 'points'::regclass;
		CREATE VIEW state AS
			SELECT r::text AS name, until, stale FROM unnest('{quarters,hours,days}'::regclass[]) r, mongo_ts_rollup_state(r);
		-- an expression, so that no roll-up answers it
		CREATE VIEW expected AS
			SELECT name, date_bin(width, ts, '2000-01-01Z') AS ts, k, count(*) AS points, count(v + 0) AS n, sum(v + 0) AS sum,
				min(v + 0) AS min, max(v + 0) AS max
			  FROM points, (VALUES ('quarters', interval '15 minutes'), ('hours', '1 hour'), ('days', '1 day')) w (name, width) GROUP BY 1, 2, 3;
		CREATE VIEW found AS
			SELECT 'quarters' AS name, ts, k, points, v_count AS n, v_sum AS sum, v_min AS min, v_max AS max, interval '15 minutes' AS width FROM quarters
			UNION ALL SELECT 'hours', *, '1 hour' FROM hours
			UNION ALL SELECT 'days', *, '1 day' FROM days;
		CREATE VIEW compared AS
			SELECT name, ts, k, (e.points, e.n, e.sum, e.min, e.max) IS DISTINCT FROM (f.points, f.n, f.sum, f.min, f.max) AS is_wrong,
				NOT tstzmultirange(tstzrange(NULL, until)) - stale
				  @> tstzrange(ts, ts + CASE name WHEN 'quarters' THEN interval '15 minutes' WHEN 'hours' THEN '1 hour' ELSE '1 day' END) AS is_open
			  FROM expected e FULL JOIN found f USING (name, ts, k) JOIN (SELECT * FROM state OFFSET 0) s USING (name);
		CREATE VIEW wrong AS
			SELECT concat_ws(' ', name, extract(epoch FROM ts)::bigint, k) COLLATE "C" AS line FROM compared WHERE is_wrong AND NOT is_open;
		CREATE VIEW late_open AS
			SELECT concat_ws(' ', name, ts, k) COLLATE "C" AS line FROM compared WHERE is_open AND ts < to_timestamp($now - 2 * $day);
		CREATE VIEW reported AS
			SELECT DISTINCT concat_ws(' ', r, extract(epoch FROM interval_start)::bigint, series->>'k') COLLATE "C" AS line
			  FROM unnest('{quarters,hours,days}'::regclass[]) r, mongo_ts_check_rollup(r, '-infinity');
END
	return;
}

# ---- The other client -------------------------------------------------------

# The documents that are there: of an hour and a key, with the values of minutes.  Each phase is
# the time before or beside a refresh.  What was written since is in the changes, each with
# the roll-ups whose totals it can have made wrong.
my ($client, $server, %documents, @changes, $phase, $clock, $beside);

sub one_of { return $_[ rand @_ ]; }

sub an_hour { return $begin + int(rand(($now - $begin) / $hour + 1)) * $hour; }

sub a_key { return 'k' . int rand 3; }

# An ObjectId that was made at a time
sub object_id { return sprintf('{"$oid": "%08x%06x%010x"}', $_[0], rand 1 << 24, rand 1 << 32); }

# Some other _id, or an ObjectId that was made long before
sub other_id
{
	return one_of(object_id(time - $day), sprintf('"%x"', rand 1 << 32), int rand 1 << 31,
		sprintf('{"hour": %d, "n": %d}', rand 1 << 31, rand 1 << 31), sprintf('{"$date": {"$numberLong": "%d"}}', rand 1 << 40));
}

# A new ObjectId.  The client's clock may be slow, and a refresh takes its time.
sub new_id { return object_id(time + $clock + ($beside ? one_of(0, rand 600) : 0) - one_of(0, rand 50)); }

sub command
{
	my ($command) = @_;
	my ($reply, $err) = session_query($client, "SELECT mongo_ts_command('$server', '$command')");

	die "$command: $reply $err" if $err ne q() || $reply !~ m/"ok": 1/ || $reply =~ m/writeErrors/;
	return $reply;
}

sub date { return sprintf('{"$date": {"$numberLong": "%d"}}', 1000 * $_[0]); }

sub selector
{
	my ($document) = @_;

	return sprintf('{"hour": %s, "k": "%s"}', date($document->{hour}), $document->{k});
}

sub values_of
{
	my ($document) = @_;

	return join(', ', map { qq("$_": $document->{m}{$_}) } sort keys %{ $document->{m} });
}

# Record that a point is written.  It is late if the next refresh has to notice it.
sub record
{
	my ($document, $at, $is_late) = @_;

	push @changes, { t => $document->{hour} + $at * $minute, k => $document->{k}, is_late => $is_late, phase => $phase,
		in => { map { ($_ => 1) } keys %length } };
	return;
}

sub record_all
{
	my ($document, $is_late) = @_;

	record($document, $_, $is_late) foreach keys %{ $document->{m} };
	return;
}

sub update
{
	my ($document, $change, $is_upsert) = @_;
	my $reply = command(sprintf('{"update": "points", "updates": [{"q": %s, "u": %s, "upsert": %s}]}',
			selector($document), $change, $is_upsert ? 'true' : 'false'));

	die "$change: $reply" unless $reply =~ m/"n": 1\b/;
	return;
}

# A document that is not there, without points
sub a_new_document
{
	my $document = { hour => an_hour(), k => a_key(), phase => $phase, m => {} };

	return $documents{"$document->{hour} $document->{k}"} ? a_new_document() : $document;
}

sub keep
{
	my ($document) = @_;

	return $documents{"$document->{hour} $document->{k}"} = $document;
}

sub a_document { return $documents{ one_of(sort keys %documents) }; }

sub set_point
{
	my ($document) = @_;
	my $at = int rand 60;

	$document->{m}{$at} = int rand 1000;
	return $at;
}

sub add_documents
{
	my ($n, $id, $is_late) = @_;
	my @documents = map { keep(a_new_document()) } 1 .. $n;

	foreach my $document (@documents)
	{
		set_point($document) for 0 .. rand 4;
		$document->{is_late} = $is_late;
		record_all($document, $is_late);
	}
	command(sprintf('{"insert": "points", "documents": [%s]}', join(', ',
				map { sprintf('{"_id": %s, "hour": %s, "k": "%s", "m": {%s}}', $id->(), date($_->{hour}), $_->{k}, values_of($_)) } @documents)));
	return;
}

# Add a point to a document, which this may make.  The next refresh notices it if it notices the
# document.
sub upsert
{
	my ($document) = @_;
	my $at = int rand 60;

	$document->{is_late} = 1 if !%{ $document->{m} };
	keep($document)->{m}{$at} = int rand 1000;
	update($document, qq({"\$set": {"m.$at": $document->{m}{$at}}, "\$setOnInsert": {"_id": ${\new_id()}}}), 1);
	record($document, $at, $document->{is_late} && $document->{phase} == $phase);
	return;
}

sub change_points
{
	my ($document) = @_;

	$_ += 1 + int rand 1000 foreach values %{ $document->{m} };
	update($document, '{"$set": {"m": {' . values_of($document) . '}}}');
	record_all($document, 0);
	return;
}

sub remove_point
{
	my ($document) = @_;
	my $at = one_of(sort keys %{ $document->{m} });

	return remove_document($document) if keys %{ $document->{m} } < 2;
	record($document, $at, 0);
	delete $document->{m}{$at};
	update($document, qq({"\$unset": {"m.$at": 1}}));
	return;
}

sub remove_document
{
	my ($document) = @_;

	record_all(delete $documents{"$document->{hour} $document->{k}"}, 0);
	command(sprintf('{"delete": "points", "deletes": [{"q": %s, "limit": 1}]}', selector($document)));
	return;
}

# Move the points of a document to another hour or key.
sub move
{
	my ($document) = @_;
	my $other = a_new_document();

	record_all(delete $documents{"$document->{hour} $document->{k}"}, 0);
	update($document, sprintf('{"$set": %s}', selector($other)));
	$other->{m} = $document->{m};
	record_all(keep($other), 0);
	return;
}

my @writes = (
	(sub { add_documents(1 + int rand 3, \&new_id, 1) }) x 4,
	(sub { upsert(a_new_document()) }) x 2,
	sub { add_documents(1, \&other_id, 0) },
	(sub { upsert(a_document()) }) x 2,
	sub { change_points(a_document()) },
	sub { remove_point(a_document()) },
	sub { remove_document(a_document()) },
	sub { move(a_document()) },
	# a new document, and another point in it
	sub { my ($document) = grep { !$documents{"$_->{hour} $_->{k}"} } map { { hour => $now, k => "new $_", phase => $phase, m => {} } } 1 .. 99;
		upsert($document); upsert($document) });

# Write, but leave room for new documents.
sub write_some
{
	foreach (1 .. $_[0])
	{
		remove_document(a_document()) while keys %documents > 220;
		$writes[ rand @writes ]->();
	}
	return;
}

# ---- What is promised -------------------------------------------------------

# Let the time pass in which a write could still be executed.  What is marked is computed by the next
# refresh only.
sub settle
{
	my $n = '{"$toObjectId": {"$concat": ["00000000", {"$substrBytes": [{"$toString": "$$this.n"}, 8, 16]}]}}';

	command(qq({"update": "mongo_ts_rollups", "updates": [{"q": {"stale.0": {"\$exists": true}}, "multi": true,
		"u": [{"\$set": {"stale": {"\$map": {"input": "\$stale", "in": {"\$mergeObjects": ["\$\$this", {"n": $n}]}}}}}]}]}));
	return;
}

# Move the times of the refreshes that have ended now.
sub move_refreshes
{
	my $from = date(time + $hour / 2);
	my $by = 1000 * ($clock + 600);

	command(qq({"update": "mongo_ts_rollups", "updates": [{"q": {"refreshed": {"\$lt": $from}}, "multi": true,
		"u": [{"\$set": {"refreshed": {"\$add": ["\$refreshed", $by]}, "took": {"\$add": ["\$took", 600000]}}}]}]}));
	return;
}

# Forget what a refresh must have noticed of changes that were made before it.
sub forget
{
	my ($rollups, $is_noticed) = @_;

	foreach my $change (grep { $_->{phase} < $phase && $is_noticed->($_) } @changes)
	{
		delete $change->{in}{$_} foreach @$rollups;
	}
	@changes = grep { %{ $_->{in} } } @changes;
	return;
}

# Tell whether a wrong interval has a change that has not been noticed.
sub is_excused
{
	my ($name, $ts, $k) = @_;

	return grep { $_->{in}{$name} && $_->{k} eq $k && $_->{t} >= $ts && $_->{t} < $ts + $length{$name} } @changes;
}

# The lines of a view
sub lines
{
	my ($session, $view) = @_;
	my ($out, $err) = session_query($session, "SELECT line FROM $view ORDER BY 1");

	die "$view: $err" if $err ne q();
	return split(/\n/, $out);
}

# Check that what is wrong has not been noticed, that all is complete after a refresh of all
# roll-ups, and perhaps that a check reports what is wrong.  Returns that.
sub check
{
	my ($session, $done, $failures) = @_;
	my @wrong = lines($session, 'wrong');
	my @unexpected = grep { !is_excused(split(/ /, $_, 3)) } @wrong;

	push @$failures, map { "after $done: $_" } @unexpected;
	push @$failures, map { "open after $done: $_" } lines($session, 'late_open') if $done =~ m/'points'(?:\)|, repair)/;
	if (rand 3 < 1)
	{
		my @reported = lines($session, 'reported');

		push @$failures, "after $done: reported @reported, not @wrong" if "@reported" ne "@wrong";
	}
	return @wrong;
}

# A refresh, and what it notices besides late documents: its arguments in SQL, and of which times
sub a_refresh
{
	my ($from, $to) = sort { $a <=> $b } map { an_hour() + int rand $hour } 1 .. 2;
	my $age = int rand $days * $day;

	return one_of(
		[ q(), sub { 0 } ], [ q(), sub { 0 } ],
		[ ", repair => '$age seconds'", sub { $_[0]{t} >= time - $age } ],
		[ ", to_timestamp($from), to_timestamp($to)", sub { $_[0]{t} >= $from && $_[0]{t} < $to } ]);
}

# Mark some time, or what a check has found.  Returns what the next refresh has to notice of it.
sub mark
{
	my ($session) = @_;
	my ($from, $to) = sort { $a <=> $b } map { an_hour() + int rand $hour } 1 .. 2;
	my $is_check = rand 2 < 1;
	my $sql = $is_check
	  ? join('; ', map { "SELECT FROM mongo_ts_check_rollup('$_', '-infinity', mark => true)" } sort keys %length)
	  : "SELECT mongo_ts_mark_rollup('" . one_of('points', keys %length) . "', to_timestamp($from), to_timestamp($to))";

	session_query($session, $sql);
	return sub { $is_check || $_[0]{t} >= $from && $_[0]{t} < $to };
}

# Write, refresh a table, and write beside that.  Returns the refresh.
sub refresh_once
{
	my ($session, $table, $arguments, $notices) = @_;
	my @rollups = @{ $refreshed{$table} };
	my $sql = "SELECT mongo_ts_refresh_rollup('$table'$arguments)";

	$phase++;
	$clock += $hour;
	$beside = 0;
	write_some(rand 8);
	my $is_marked = rand 3 < 1 ? mark($session) : sub { 0 };
	settle();
	$phase++;
	$beside = 1;
	session_send($session, $sql);
	foreach (0 .. rand 4)
	{
		sleep(rand 0.05);
		write_some(1);
	}
	my (undef, $err) = session_wait($session);
	die "$sql: $err" if $err ne q();
	move_refreshes();
	# those of days have marks, too, if those of hours have noticed late documents
	forget([ @rollups, $table eq 'hours' ? 'days' : () ], sub { $_[0]{is_late} });
	forget(\@rollups, $notices);
	forget([ keys %length ], $is_marked);
	return $sql;
}

# Check that all is in the roll-ups after the last refresh, and that queries use them.
sub check_all
{
	my ($session, $failures) = @_;
	my $query = "SELECT date_trunc('day', ts, 'UTC'), k, count(*), sum(v) FROM points GROUP BY 1, 2";
	my @rows;

	refresh_once($session, 'points', ", repair => '30 days'", sub { 1 });
	$phase++;
	$clock += $hour;
	settle();
	session_query($session, "SELECT mongo_ts_refresh_rollup('points', repair => '30 days')");
	forget([ keys %length ], sub { 1 });
	push @$failures, map { "at the end: $_" } lines($session, 'wrong'), lines($session, 'reported');
	push @$failures, map { "open at the end: $_" } lines($session, 'late_open');
	my ($n) = session_query($session, 'SELECT count(*) FROM compared');
	cmp_ok($n, '>', 200, "$server: $n intervals are compared in the end");
	foreach my $setting (qw(on off))
	{
		push @rows, $node->safe_psql('postgres',
			"SET search_path = $server, public; SET mongo_ts_fdw.enable_rollups = $setting; SELECT string_agg(q::text, ' ' ORDER BY q::text) FROM ($query) q");
	}
	is($rows[0], $rows[1], "$server: a query of roll-ups gives what the points give");
	like($node->safe_psql('postgres', "SET search_path = $server, public; EXPLAIN $query"), qr/Roll-up Query: /, '.. and uses them');
	return;
}

foreach my $kind (sort keys %uri)
{
	my @failures;
	my %done = (refreshes => 0, wrong => 0);
	my $session = session_start($node);

	create_server($node, $kind, $uri{$kind}, "database 'mts_rollup_late'");
	make_tables($kind);
	($server, $phase, $clock, $beside) = ($kind, 0, 0, 0);
	(%documents, @changes) = ();
	$client = session_start($node);
	session_query($session, "SET search_path = $kind, public; SET client_min_messages = error");
	add_documents($days * 36, sub { object_id(time - 30 * $day) }, 0);
	$clock = $hour;
	$phase++;
	session_query($session, 'SELECT mongo_ts_refresh_rollup(\'points\')');
	move_refreshes();
	forget([ keys %length ], sub { 1 });
	is(join(q( ), lines($session, 'wrong')), q(), "$kind: all is right after the first refresh");

	my $end = time + $seconds / keys %uri;
	while (!@failures && (time < $end || $done{refreshes} < $least_refreshes))
	{
		my $refresh = refresh_once($session, one_of(qw(points quarters hours days)), @{ a_refresh() });
		my @wrong = check($session, $refresh, \@failures);

		$done{refreshes}++;
		$done{wrong} += @wrong;
	}
	check_all($session, \@failures);
	# test/faults looks for these words
	ok(@failures == 0, "$kind: what other clients write is noticed as promised: " . @failures . ' differ') or diag(join("\n", @failures));
	cmp_ok($done{wrong}, '>', 0, "$done{refreshes} refreshes, $done{wrong} wrong intervals that none of them had to notice");
	session_end($_) foreach $client, $session;
}

set_kill($set, 1) if $set;
done_testing();
