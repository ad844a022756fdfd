# Proves, on a replica set, that a write that is sent again has the effect that was
# reported, or fails.
#
# Each kind of write is sent, its transaction of MongoDB ends, another client changes
# the same documents, and the write is sent again.  What is stored and reported then must
# be that of one of the orders in which both could have come: the write first, or the
# other client first.  Or the write has failed with 40001, and only the other client's
# change is stored.
#
# Cases are run in a random order.  SEED repeats it.  DURATION says for how many seconds
# they go on, 0 until all are run.  ONLY is a pattern of the cases to run.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IO::Select;
use List::Util qw(shuffle);
use MongoTS::HaltProxy;
use MongoTS::Node;
use Test::More;
use Time::HiRes qw(sleep);

skip_without_mongod();

my $only = $ENV{ONLY} // '';
my $seconds = $ENV{DURATION} // ($only eq '' ? 30 : 0);
my $seed = $ENV{SEED} // time;

srand($seed);
note "SEED=$seed";

my $set = set_start(1);
my $node = new_node('repeat', uri => undef);

create_server($node, 'mongo', set_uri($set), q{database 'repeat'});
create_server($node, 'admin', set_uri($set), q{database 'admin'});

my $proxy = halt_start(set_uri($set) =~ s/,.*|\?.*//r);

create_server($node, 'lossy', halt_uri($proxy), q{database 'repeat'});

# ---- Layouts ----------------------------------------------------------------

my $h = '{"$date": "2024-01-01T00:00:00Z"}';
my $next = '{"$date": "2024-01-01T01:00:00Z"}';
my $later = '{"$date": "2024-01-01T02:00:00Z"}';
my %layouts = (
	slots => {
		columns => q{ts timestamptz OPTIONS (field 'h'), k text OPTIONS (role 'key'), a text OPTIONS (role 'attribute'), v int OPTIONS (field 'v.{minute}')},
		documents => [ qq({"h": $h, "k": "a", "a": "x", "v": {"0": 1, "1": 2}}), qq({"h": $next, "k": "a", "a": "x", "v": {"0": 3}}) ] },
	totals => {
		columns => q{ts timestamptz OPTIONS (field 'h'), k text OPTIONS (role 'key'), a text OPTIONS (role 'attribute'), v int OPTIONS (field 'v.{minute}', sum_field 's', min_field 'lo', max_field 'hi')},
		options => q{, count_field 'n'},
		documents => [ qq({"h": $h, "k": "a", "a": "x", "v": {"0": 1, "1": 2}, "n": 2, "s": 3, "lo": 1, "hi": 2}), qq({"h": $next, "k": "a", "a": "x", "v": {"0": 3}, "n": 1, "s": 3, "lo": 3, "hi": 3}) ] },
	lists => {
		columns => q{ts timestamptz OPTIONS (field 'h'), k text OPTIONS (role 'key'), a text OPTIONS (role 'attribute'), v int OPTIONS (field 'v[{minute}]')},
		documents => [ qq({"h": $h, "k": "a", "a": "x", "v": [1, 2]}), qq({"h": $next, "k": "a", "a": "x", "v": [3]}) ] },
	counters => {
		columns => q{ts timestamptz OPTIONS (field 'h'), k text OPTIONS (role 'key'), a text OPTIONS (role 'attribute'), v int OPTIONS (field 'v.{minute}', sum_field 's')},
		options => q{, write_mode 'increment'},
		documents => [ qq({"h": $h, "k": "a", "a": "x", "v": {"0": 1, "1": 2}, "s": 3}), qq({"h": $next, "k": "a", "a": "x", "v": {"0": 3}, "s": 3}) ] },
	pushed => {
		columns => q{ts timestamptz OPTIONS (field 'v[].t'), k text OPTIONS (role 'key'), a text OPTIONS (role 'attribute'), v int OPTIONS (field 'v[].v')},
		options => q{, bucket_time_field 'h', bucket_span '1 hour'},
		documents => [ qq({"h": $h, "k": "a", "a": "x", "v": [{"t": $h, "v": 1}, {"t": {"\$date": "2024-01-01T00:01:00Z"}, "v": 2}]}), qq({"h": $next, "k": "a", "a": "x", "v": [{"t": $next, "v": 3}]}) ] },
	limited => {
		columns => q{ts timestamptz OPTIONS (field 'v[].t'), k text OPTIONS (role 'key'), a text OPTIONS (role 'attribute'), v int OPTIONS (field 'v[].v')},
		options => q{, bucket_time_field 'h', bucket_span '1 hour', bucket_max_points '3', count_field 'n'},
		has_rows => 1,
		documents => [ qq({"h": $h, "k": "a", "a": "x", "v": [{"t": $h, "v": 1}, {"t": {"\$date": "2024-01-01T00:01:00Z"}, "v": 2}], "n": 2}), qq({"h": $next, "k": "a", "a": "x", "v": [{"t": $next, "v": 3}], "n": 1}) ] },
	documents => {
		columns => q{ts timestamptz OPTIONS (field 'h'), k text, a text, v int},
		is_flat => 1,
		documents => [ qq({"h": $h, "k": "a", "a": "x", "v": 1}), qq({"h": {"\$date": "2024-01-01T00:01:00Z"}, "k": "a", "a": "x", "v": 2}), qq({"h": $next, "k": "a", "a": "x", "v": 3}) ] });

$node->safe_psql('postgres', <<'END');
	CREATE FUNCTION run(statements text) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
	DECLARE
		statement text;
		n bigint;
		counts text = '';
	BEGIN
		FOREACH statement IN ARRAY string_to_array(statements, ';') LOOP
			IF statement ~* '^ *SELECT' THEN
				EXECUTE statement INTO n;
			ELSE
				EXECUTE statement;
				GET DIAGNOSTICS n = ROW_COUNT;
			END IF;
			counts = concat(counts, n, ' ');
		END LOOP;
		RETURN counts;
	END $$;
	CREATE FUNCTION undo(statement text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
	BEGIN
		EXECUTE statement;
		PERFORM 1 / 0;
	EXCEPTION WHEN division_by_zero THEN
	END $$;
	CREATE FUNCTION halt() RETURNS void LANGUAGE plpgsql VOLATILE AS $$
	BEGIN
		RAISE NOTICE 'halted';
		PERFORM pg_advisory_lock(7);
		PERFORM pg_advisory_unlock(7);
	END $$;
	CREATE FUNCTION other(statements text[]) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
	DECLARE
		statement text;
		reply jsonb;
		result text = '';
	BEGIN
		FOREACH statement IN ARRAY statements LOOP
			reply = mongo_ts_command('mongo', statement::json)::jsonb;
			IF reply ? 'writeErrors' THEN
				RAISE '%', reply;
			END IF;
			result = concat(result, reply->>'n', ' ');
		END LOOP;
		RETURN result;
	END $$;
	CREATE FUNCTION stored(collection text) RETURNS text LANGUAGE sql VOLATILE AS $$
		SELECT coalesce(string_agg((d - '_id')::text, E'\n' ORDER BY (d - '_id')::text), 'nothing')
		FROM jsonb_array_elements(mongo_ts_command('mongo', json_build_object('find', collection, 'batchSize', 1000))::jsonb->'cursor'->'firstBatch') d
	$$;
END
foreach my $name (sort keys %layouts)
{
	my $layout = $layouts{$name};

	$layout->{options} //= '';
	$node->safe_psql('postgres', qq{
		CREATE FOREIGN TABLE $name ($layout->{columns}) SERVER mongo OPTIONS (collection '$name'$layout->{options});
		CREATE FOREIGN TABLE ${name}_other ($layout->{columns}) SERVER mongo OPTIONS (collection '$name'$layout->{options}, transactions 'off');
	});
	$node->safe_psql('postgres', qq{CREATE FOREIGN TABLE ${name}_$_ ($layout->{columns}) SERVER lossy OPTIONS (collection '$name'$layout->{options}, transactions '$_')})
	  foreach qw(auto batch off);
}

# ---- Writes -----------------------------------------------------------------

my %writes = (
	'insert into a free slot' => q{INSERT INTO TABLE VALUES ('2024-01-01 00:02Z', 'a', 'x', 10)},
	'insert without an attribute' => q{INSERT INTO TABLE VALUES ('2024-01-01 00:02Z', 'a', NULL, 10)},
	'insert into a used slot' => q{!documents INSERT INTO TABLE VALUES ('2024-01-01 00:01Z', 'a', 'x', 10)},
	'insert a new bucket' => q{INSERT INTO TABLE VALUES ('2024-01-01 02:00Z', 'a', 'x', 10)},
	'insert several' => q{INSERT INTO TABLE SELECT t, 'a', 'x', 10 FROM generate_series(timestamptz '2024-01-01 00:02Z', '2024-01-01 12:00Z', '7 min') t WHERE t::time <> '01:00'},
	'insert twice' => q{INSERT INTO TABLE VALUES ('2024-01-01 00:02Z', 'a', 'x', 10);INSERT INTO TABLE VALUES ('2024-01-01 00:03Z', 'a', 'x', 11)},
	'insert unless stored' => q{!counters INSERT INTO TABLE VALUES ('2024-01-01 00:02Z', 'a', 'x', 10) ON CONFLICT DO NOTHING},
	'insert a new bucket unless stored' => q{!counters INSERT INTO TABLE VALUES ('2024-01-01 02:00Z', 'a', 'x', 10) ON CONFLICT DO NOTHING},
	'insert what is stored' => q{!counters INSERT INTO TABLE VALUES ('2024-01-01 00:01Z', 'a', 'x', 10) ON CONFLICT DO NOTHING},
	'insert two unless stored' => q{!counters|documents INSERT INTO TABLE VALUES ('2024-01-01 00:01Z', 'a', 'x', 10), ('2024-01-01 00:02Z', 'a', 'x', 10) ON CONFLICT DO NOTHING},
	'update a value' => q{UPDATE TABLE SET v = v + 10 WHERE ts = '2024-01-01 00:01Z'},
	'update by attribute' => q{UPDATE TABLE SET v = v + 10 WHERE a = 'x'},
	'update by key' => q{UPDATE TABLE SET v = v + 10 WHERE k = 'a'},
	'update to null' => q{!counters UPDATE TABLE SET v = NULL WHERE ts = '2024-01-01 00:01Z'},
	'update nothing' => q{UPDATE TABLE SET v = v + 10 WHERE v = 99},
	'move in the bucket' => q{UPDATE TABLE SET ts = ts + interval '1 min' WHERE ts = '2024-01-01 00:01Z'},
	'move to a bucket' => q{UPDATE TABLE SET ts = '2024-01-01 01:02Z' WHERE ts = '2024-01-01 00:01Z'},
	'move to a new bucket' => q{UPDATE TABLE SET ts = '2024-01-01 02:00Z' WHERE ts = '2024-01-01 00:01Z'},
	'move by key' => q{UPDATE TABLE SET k = 'b' WHERE ts = '2024-01-01 00:01Z'},
	'move all' => q{UPDATE TABLE SET ts = ts + interval '1 min'},
	'exchange two points' => q{UPDATE TABLE SET ts = timestamptz '2024-01-01 00:01Z' - (ts - timestamptz '2024-01-01 00:00Z') WHERE ts < '2024-01-01 00:02Z'},
	'delete a point' => q{DELETE FROM TABLE WHERE v = 2},
	'delete by attribute' => q{DELETE FROM TABLE WHERE a = 'x' AND v > 0},
	'delete by key' => q{DELETE FROM TABLE WHERE k = 'a' AND v > 0},
	'delete a bucket by value' => q{DELETE FROM TABLE WHERE v = 3},
	'delete a range' => q{DELETE FROM TABLE WHERE ts < '2024-01-01 01:30Z'},
	'delete a part of a range' => q{DELETE FROM TABLE WHERE ts < '2024-01-01 00:01Z'},
	'delete a range of a key' => q{DELETE FROM TABLE WHERE ts < '2024-01-01 01:30Z' AND k = 'a'},
	'delete a range of an attribute' => q{DELETE FROM TABLE WHERE ts < '2024-01-01 01:30Z' AND a = 'x'},
	'delete all' => q{DELETE FROM TABLE},
	'delete an empty range' => q{DELETE FROM TABLE WHERE ts BETWEEN '2024-01-01 02:00Z' AND '2024-01-01 05:00Z'},
	'truncate' => q{TRUNCATE TABLE},
	'preallocate' => q{!documents SELECT mongo_ts_preallocate('TABLE', '2024-01-01 01:00Z', '2024-01-01 05:00Z', '{"k": "a"}')},
	'insert and update' => q{INSERT INTO TABLE VALUES ('2024-01-01 00:02Z', 'a', 'x', 10);UPDATE TABLE SET v = v + 1 WHERE v = 10},
	'insert and delete' => q{INSERT INTO TABLE VALUES ('2024-01-01 02:00Z', 'a', 'x', 10);DELETE FROM TABLE WHERE v = 10},
	'insert a bucket and delete a range' => q{INSERT INTO TABLE VALUES ('2024-01-01 02:00Z', 'a', 'x', 10);DELETE FROM TABLE WHERE ts > '2024-01-01 01:30Z'},
	'delete and insert' => q{DELETE FROM TABLE WHERE ts < '2024-01-01 01:30Z';INSERT INTO TABLE VALUES ('2024-01-01 00:00Z', 'a', 'y', 10)},
	'update and insert' => q{UPDATE TABLE SET v = v + 1 WHERE v = 2;INSERT INTO TABLE VALUES ('2024-01-01 00:02Z', 'a', 'x', 10)});

# ---- What other clients do --------------------------------------------------

# The changes of a collection that has points in slots, or documents that are points
sub others_of
{
	my ($name, $layout) = @_;
	my $update = sub { return qq({"update": "$name", "updates": [{"q": $_[0], "u": $_[1], "multi": true}]}) };
	my $first = qq({"h": $h});
	my %others = (
		'remove the bucket' => [qq({"delete": "$name", "deletes": [{"q": $first, "limit": 0}]})],
		'remove the next bucket' => [qq({"delete": "$name", "deletes": [{"q": {"h": $next}, "limit": 0}]})],
		'remove all' => [qq({"delete": "$name", "deletes": [{"q": {}, "limit": 0}]})],
		'drop the collection' => [qq({"drop": "$name"})],
		'change the attribute' => [ $update->('{}', '{"$set": {"a": "y"}}') ],
		'remove the attribute' => [ $update->('{}', '{"$unset": {"a": ""}}') ],
		'change the key' => [ $update->('{}', '{"$set": {"k": "z"}}') ],
		'remove the key' => [ $update->('{}', '{"$unset": {"k": ""}}') ],
		'change the time of the next bucket' => [ $update->(qq({"h": $next}), qq({"\$set": {"h": $later}})) ],
		'make the bucket anew' => [ qq({"delete": "$name", "deletes": [{"q": {}, "limit": 0}]}), qq({"insert": "$name", "documents": [DOCUMENTS]}) ]);

	# points that have a time would be outside of their bucket
	delete $others{'change the time of the next bucket'} if $name =~ m/^(?:pushed|limited)$/;
	if ($layout->{is_flat})
	{
		$others{'add the point'} = [qq({"insert": "$name", "documents": [{"h": {"\$date": "2024-01-01T00:02:00Z"}, "k": "a", "a": "x", "v": 99}]})];
		$others{'add a later one'} = [qq({"insert": "$name", "documents": [{"h": $later, "k": "a", "a": "x", "v": 99}]})];
		$others{'change a point'} = [ $update->(qq({"v": 2}), '{"$set": {"v": 99}}') ];
		$others{'remove a point'} = [qq({"delete": "$name", "deletes": [{"q": {"v": 2}, "limit": 0}]})];
		return %others;
	}
	my $insert = sub { return qq{SQL INSERT INTO ${name}_other VALUES ('2024-01-01 $_[0]Z', 'a', $_[1], 99)} };

	$others{"add a point at $_"} = [ $insert->($_, "'x'") ] foreach qw(00:02 00:05 01:02 02:00 02:01);
	$others{'add another bucket without attribute'} = [ $insert->('02:01', 'NULL') ];
	$others{'add another bucket with another attribute'} = [ $insert->('02:01', "'y'") ];
	$others{'change a point'} = [ "SQL UPDATE ${name}_other SET v = 99 WHERE v = 2" ];
	$others{'remove a point'} = [ "SQL DELETE FROM ${name}_other WHERE v = 2" ];
	$others{'preallocate'} = [ qq(SQL SELECT mongo_ts_preallocate('${name}_other', '2024-01-01 02:00Z', '2024-01-01 03:00Z', '{"k": "a"}')) ];
	return %others;
}

# ---- Cases ------------------------------------------------------------------

my $writer = session_start($node);
my $other = session_start($node);
my ($out, $err);
my @lost;

foreach my $transactions (qw(auto batch off))
{
	foreach my $where (qw(request reply))
	{
		push @lost, "$transactions, $where of a write";
		push @lost, "$transactions, $where of a commit" unless $transactions eq 'off';
	}
}

# Execute SQL in a session; return its output and its error.
sub run_in
{
	my ($session, $sql) = @_;

	($out, $err) = session_query($session, $sql);
	$err = join("\n", grep { !m/NOTICE|CONTEXT|LOCATION/ } split(/\n/, $err));
	return ($out, $err);
}

sub reset_collection
{
	my ($name, $layout) = @_;

	run_in($other, sprintf(q{SELECT other(ARRAY['{"delete": "%1$s", "deletes": [{"q": {}, "limit": 0}]}', '{"insert": "%1$s", "documents": [%2$s]}'])},
		$name, join(', ', @{ $layout->{documents} })));
	die $err if $err =~ m{ERROR};
	return;
}

# Do what another client does; return what it has reported.
sub interfere
{
	my ($layout, $statements) = @_;
	my $documents = join(', ', @{ $layout->{documents} });
	my $report = '';

	foreach my $statement (@$statements)
	{
		my $sql = $statement =~ s/DOCUMENTS/$documents/r;

		run_in($other, $sql =~ s/^SQL // ? ($sql =~ m/^SELECT/ ? $sql : "SELECT run(\$x\$$sql\$x\$)") : "SELECT other(ARRAY['$sql'])");
		$report .= "$out " . ($err =~ m/ERROR:  (\w+)/ ? "$1 " : '');
	}
	return $report;
}

sub stored
{
	my ($name, $all) = @_;

	run_in($other, $layouts{$name}{has_rows} ? "SELECT coalesce(string_agg(concat_ws(' ', ts, k, a, v), ', ' ORDER BY ts, k, a, v), 'nothing') FROM ${name}_other" : "SELECT stored('$name')");
	die $err if $err =~ m{ERROR};
	# a bucket without points has no rows
	$out = join("\n", grep { !m/"v": (?:\{\}|\[(?:(?:null|\{\})(?:, )?)*\])/ } split(/\n/, $out)) unless $all;
	return $out;
}

# Write through a connection that is lost, while another client changes the same; see
# write_beside().
sub write_lost
{
	my ($cause, $name, $layout, $write, $change) = @_;
	my ($transactions, $where, $what) = $cause =~ m/^(\w+), (\w+) of a (\w+)$/;
	my $theirs;

	$write =~ s/\b$name\b/${name}_$transactions/g;
	halt_at($proxy, $where, $what eq 'commit' ? 'commitTransaction.*' : "(?:insert|update|delete) $name");
	session_send($writer, "SELECT run(\$x\$$write\$x\$)");
	until (session_has_answered($writer))
	{
		if (IO::Select->new($proxy->{control})->can_read(0.002))
		{
			halt_await($proxy);
			run_in($other, q{SELECT mongo_ts_command('admin', '{"killAllSessions": []}')});
			$theirs = interfere($layout, $change);
			halt_end($proxy, 'cut');
			last;
		}
		$writer->{psql}->pump_nb;
	}
	($out, $err) = session_wait($writer);
	halt_end($proxy, 'pass') unless defined $theirs;
	return unless defined $theirs;
	my ($report, $error) = ($out, $err);

	return ($error, $report, $theirs, stored($name, $write =~ m/preallocate/));
}

# Write while another client changes the same; return what both report, and what is
# stored.
sub write_beside
{
	my ($cause, $name, $layout, $write, $change) = @_;
	my $run = "SELECT run(\$x\$$write\$x\$)";
	my $far = "INSERT INTO $name VALUES ('2025-01-01Z', 'far', 'x', 1)";
	my ($report, $theirs);

	if ($cause eq 'block')
	{
		run_in($writer, "BEGIN; $run");
		$report = $out;
		my $failure = $err;

		run_in($writer, "SAVEPOINT s; $far; ROLLBACK TO s");
		$theirs = interfere($layout, $change);
		run_in($writer, 'COMMIT');
		$err = $failure if $failure;
	}
	else
	{
		my $undo = $cause eq 'statement' ? ", undo(\$x\$$far\$x\$)" : '';

		run_in($other, 'SELECT pg_advisory_lock(7)');
		session_send($writer, "SELECT run(\$x\$$write\$x\$)$undo, halt()");
		until ($writer->{err} =~ m/halted/ || session_has_answered($writer))
		{
			$writer->{psql}->pump;
		}
		run_in($other, q{SELECT mongo_ts_command('admin', '{"killAllSessions": []}')}) if $cause eq 'killed';
		$theirs = interfere($layout, $change);
		run_in($other, 'SELECT pg_advisory_unlock(7)');
		($out, $err) = session_wait($writer);
		$report = $out =~ s/\|.*//sr;
		$err = join("\n", grep { !m/NOTICE|CONTEXT|LOCATION/ } split(/\n/, $err));
	}
	my $error = $err;
	run_in($writer, 'ROLLBACK') if $cause eq 'block';
	return ($error, $report, $theirs, stored($name, $write =~ m/preallocate/));
}

# Make the index again that was dropped with its collection.
sub create_index
{
	my ($name, $layout) = @_;

	$node->safe_psql('postgres', $layout->{is_flat}
		? qq{SELECT mongo_ts_command('mongo', '{"createIndexes": "$name", "indexes": [{"key": {"h": 1, "k": 1}, "name": "hk", "unique": true}]}')}
		: qq{SELECT mongo_ts_create_index('$name')});
	return;
}

# Return the report of what ran last, or its error.
sub report { return $err =~ m/ERROR:  (\w+)/ ? $1 : $out }

my %count;
my $end = time + $seconds;

# Check the causes of one write and one change.
sub check_case
{
	my ($name, $kind, $write, $what, $change, @of_case) = @_;
	my $layout = $layouts{$name};
	my $all = $write =~ m/preallocate/;
	my (@first, @last, $alone, $theirs);

	reset_collection($name, $layout);
	run_in($writer, "SELECT run(\$x\$$write\$x\$)");
	@first = report();
	push @first, interfere($layout, $change), stored($name, $all);
	create_index($name, $layout) if $what =~ m/drop/;

	reset_collection($name, $layout);
	$theirs = interfere($layout, $change);
	$alone = stored($name, $all);
	run_in($writer, "SELECT run(\$x\$$write\$x\$)");
	@last = (report(), $theirs, stored($name, $all));
	create_index($name, $layout) if $what =~ m/drop/;

	foreach my $cause (@of_case)
	{
		my $do = $cause =~ m/ of / ? \&write_lost : \&write_beside;

		reset_collection($name, $layout);
		my ($error, @is) = $do->($cause, $name, $layout, $write, $change);
		next unless defined $error;
		$is[0] = $1 if $error =~ m/ERROR:  (\w+)/;
		my $verdict =
		    "@is" eq "@first" ? 'as if first'
		  : "@is" eq "@last" ? 'as if last'
		  : $is[0] eq '40001' && $is[2] eq $alone ? 'failed'
		  : 'wrong';

		$count{$verdict}++;
		ok($verdict ne 'wrong', "$name: $kind; $what; $cause: $verdict")
		  or diag("error: $error\nis:    ", join(' / ', @is), "\nfirst: ", join(' / ', @first), "\nlast:  ", join(' / ', @last), "\nalone: $alone");
		create_index($name, $layout) if $what =~ m/drop/;
	}
	return;
}

# Tell whether a write through a lost connection is a whole.
sub is_whole
{
	my ($cause, $kind) = @_;

	# its rows read and write one by one
	return 0 if $kind eq 'insert two unless stored';
	return 1 if $cause =~ m/^auto/;
	return $kind =~ m/^(?:insert into a free|insert without|update a value|delete a point)/ if $cause =~ m/^off/;
	return $kind !~ m/range|truncate|\ball\b| and |twice|unless|what is/;
}

my @cases;

foreach my $name (sort keys %layouts)
{
	my %others = others_of($name, $layouts{$name});

	foreach my $kind (sort keys %writes)
	{
		my $write = $writes{$kind} =~ s/TRUNCATE TABLE/TRUNCATE $name/r =~ s/TABLE/$name/gr;

		next if $write =~ s/^!(\S+) // && $name =~ m/^(?:$1)$/;
		foreach my $what (sort keys %others)
		{
			my @of_case = qw(block statement killed);
			my $lost = $lost[ rand @lost ];

			push @of_case, $only ne '' ? @lost : rand(10) < 1 ? $lost : ();
			@of_case = grep { "$name: $kind; $what; $_" =~ m/(?:$only)/ && (!m/ of / || is_whole($_, $kind)) } @of_case;
			push @cases, [ $name, $kind, $write, $what, $others{$what}, @of_case ] if @of_case;
		}
	}
}
create_index($_, $layouts{$_}) foreach sort keys %layouts;
foreach my $case (shuffle(@cases))
{
	last if $seconds > 0 && time > $end;
	check_case(@$case);
}
my $wrong = $count{wrong} // 0;

is($wrong, 0, sprintf('repeat: of %d cases, %d differ', scalar(Test::More->builder->summary), $wrong));
note join(', ', map { "$count{$_} $_" } sort keys %count);
session_end($_) foreach $writer, $other;
$node->stop;
done_testing();
