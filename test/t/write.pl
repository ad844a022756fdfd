# Proves that random writes leave the same points in a foreign table and in a
# local one, and that the documents have true totals.
#
# Each writable layout gets a random sequence of statements.  After each of
# them the test compares the returned rows, the command's row count, all rows,
# and the buckets' own fields (see Differential/WriteChecks.pm).  A statement
# that fails on the local side must fail on the other side and change nothing.
# A layout ends at its first difference, as others would follow from it.
#
# At times a statement runs while the time of documents has another type.
#
# Transactions have each isolation level.  A server that has transactions also
# undoes them.
#
# In the environment, SEED repeats a run, STATEMENTS is the number of
# statements for a layout, and LAYOUT is a pattern of layouts.
# MONGO_TS_LIBRARY is the absolute path of another build of the library.

use strict;
use warnings;

use Differential::Data;
use Differential::Drift qw(drifting drift_time is_changeable);
use Differential::Indexes qw(field_of tables_of);
use Differential::Node qw(fetch prepare_node recover run_sql);
use Differential::Write qw(new_statements);
use Differential::WriteChecks qw(checks);
use Differential::WritePoints qw(point_layouts);
use Differential::WriteRolling qw(rolling_layouts);
use Differential::WriteSlots qw(slot_layouts);
use Differential::WriteTables qw(make_tables);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $seed = $ENV{SEED} || int(time());
my $wanted = $ENV{STATEMENTS} || 60;
my $begin = time();
my @zones = qw(UTC UTC America/New_York Asia/Kolkata);
my $has_transactions;

# ---- Tables ---------------------------------------------------------------

# `act` runs a statement on both sides and records what differs.  A strict
# transaction is over after a statement that fails: MongoDB would have to begin
# it again, at another moment than its isolation level has promised.
my $functions = <<'END';
	CREATE TABLE outcome (layout text, step int, command text, changed bigint,
		state text, problem text);
	CREATE TABLE check_pair (layout text, name text, remote text, local text);
	CREATE TYPE result AS (n bigint, rows jsonb[], state text, message text);

	CREATE FUNCTION refuse() RETURNS void LANGUAGE plpgsql
	AS $$ BEGIN RAISE feature_not_supported; END $$;

	CREATE FUNCTION run(command text, returns bool) RETURNS result
	LANGUAGE plpgsql AS $$
	DECLARE
		o result;
		r record;
		detail text;
	BEGIN
		o.rows := '{}';
		IF returns THEN
			FOR r IN EXECUTE command LOOP
				o.rows := o.rows || to_jsonb(r);
			END LOOP;
			o.n := cardinality(o.rows);
		ELSE
			EXECUTE command;
			GET DIAGNOSTICS o.n = ROW_COUNT;
		END IF;
		RETURN o;
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
		RETURN (0::bigint, '{}'::jsonb[], sqlstate,
			concat_ws(' ', sqlerrm, detail))::result;
	END $$;

	CREATE FUNCTION judge(name text, remote text, local text) RETURNS text
	LANGUAGE plpgsql AS $$
	DECLARE
		found text;
		detail text;
		place text;
	BEGIN
		EXECUTE format('
			WITH f AS MATERIALIZED (%s), l AS MATERIALIZED (%s),
				lost AS (TABLE l EXCEPT ALL TABLE f),
				extra AS (TABLE f EXCEPT ALL TABLE l)
			SELECT string_agg(line, E''\n'') FROM (
				(SELECT ''lost '' || lost::text FROM lost LIMIT 5)
				UNION ALL
				(SELECT ''extra '' || extra::text FROM extra LIMIT 5)
			) _ (line)',
			remote, local) INTO found;
		RETURN name || E' differ:\n' || found;
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL,
			place = PG_EXCEPTION_CONTEXT;
		RETURN concat_ws(E'\n', name || ' cannot be read: ' || sqlerrm,
			detail, substring(place from '^MongoDB[^\n]*'));
	END $$;

	CREATE FUNCTION judge_result(f result, l result) RETURNS text
	LANGUAGE plpgsql AS $$
	BEGIN
		IF f.state LIKE 'XX%' OR (f.state IS NULL) <> (l.state IS NULL)
			OR l.state = '23505' AND f.state <> l.state THEN
			RETURN format('ERROR: %s %s, local: %s %s', f.state, f.message,
				l.state, l.message);
		ELSIF f.n <> l.n THEN
			RETURN format('%s rows changed, local: %s', f.n, l.n);
		END IF;
		RETURN judge('returned rows',
			format('SELECT unnest(%L::jsonb[])', f.rows),
			format('SELECT unnest(%L::jsonb[])', l.rows));
	END $$;

	-- the result of a statement beside documents whose time has drifted
	CREATE TABLE drifted_result (f result);

	CREATE FUNCTION act(layout text, step int, zone text, command text,
		remote text, local text, returns bool, keep bool) RETURNS void
	LANGUAGE plpgsql AS $$
	DECLARE
		f result;
		l result;
		problem text;
	BEGIN
		IF EXISTS (SELECT FROM outcome o
				WHERE o.layout = act.layout AND o.problem IS NOT NULL) THEN
			RETURN;
		END IF;
		PERFORM set_config('TimeZone', zone, false);
		IF current_setting('write.is_over', true) = 'true' THEN
			RETURN;
		END IF;
		PERFORM set_config('write.keep', keep::text, false);
		DELETE FROM drifted_result d RETURNING (d.f).* INTO f;
		IF NOT FOUND THEN
			f := run(remote, returns);
		END IF;
		-- that it has met such a document
		l := CASE WHEN FOUND AND f.state = 'HV004' THEN f
			ELSE run(local, returns) END;
		problem := judge_result(f, l);
		IF l.state IS NOT NULL
			AND current_setting('write.is_strict', true) = 'true' THEN
			PERFORM set_config('write.is_over', 'true', true);
			INSERT INTO outcome SELECT act.layout, act.step, act.command, l.n,
				l.state, nullif(problem, '');
			RETURN;
		END IF;
		SELECT concat_ws(E'\n', problem,
				string_agg(judge(c.name, c.remote, c.local), E'\n'))
			INTO problem FROM check_pair c WHERE c.layout = act.layout;
		INSERT INTO outcome SELECT act.layout, act.step, act.command, l.n,
			l.state, nullif(problem, '');
	END $$;
END

# ---- Writing --------------------------------------------------------------

sub quote { return "\$q\$$_[0]\$q\$" }

sub bool { return $_[0] ? 'true' : 'false' }

# SQL for one side
sub for_side
{
	my ($side, $sql) = @_;

	$sql =~ s/ ON CONFLICT DO NOTHING// if $side eq 'l';
	return $sql =~ s/\bside\./$side./gr;
}

# A COPY from a file, or on the foreign side from psql's standard input.  Only
# psql knows the row count of the latter, which runs before the comparison.
sub copy_data
{
	my ($layout, $number, $statement) = @_;
	my $file = "$PostgreSQL::Test::Utils::tmp_check/$layout->{name}.$number.$$";
	my $copy = $statement->{sql};

	append_to_file($file, $statement->{data});
	$statement->{sql} = "$copy '$file'";
	return unless $statement->{stdin};
	$statement->{before} = for_side('f', "$copy stdin;\n")
	  . "$statement->{data}\\.\n\\set n :ROW_COUNT\n";
	$statement->{done} = "'SELECT FROM generate_series(1, ' || :n || ')'";
	return;
}

# The SQL of an array of the collections of a rolling set
sub collections_like
{
	my $prefix = $_[0] =~ s/\./[.]/gr;

	return "(SELECT coalesce(array_agg(c->>'name'), '{}') FROM jsonb_array_elements("
	  . "mongo_ts_command('mongo', '{\"listCollections\": 1, \"filter\": {\"name\": "
	  . "{\"\$regex\": \"^$prefix\"}}}')->'cursor'->'firstBatch') c)";
}

# Run a statement of the foreign side while the time of documents has drifted.
# It fails and changes nothing, or is right.
sub beside_drift
{
	my ($layout, $zone, $before, $remote, $returns) = @_;
	my $field = field_of('ts', $layout->{document_time} // $layout->{time}[1]);
	my $collections = $layout->{collection} =~ m/^([^%]*)%/
	  ? collections_like($1) : 'ARRAY[' . join(', ', map { "'$_'" } tables_of($layout)) . ']';
	my ($drift, $restore) = drift_time($field, $collections);

	return '' unless is_changeable($field);
	return "$drift SET timezone = '$zone';\n$before INSERT INTO drifted_result SELECT run("
	  . quote($remote) . ', ' . bool($returns) . ");\n$restore";
}

sub act
{
	my ($layout, $number, $statement, $drifts) = @_;

	copy_data($layout, $number, $statement) if defined $statement->{data};
	my $remote = $statement->{remote} // for_side('f', $statement->{sql});
	my $local = $statement->{local} // for_side('l', $statement->{sql});
	my $before = $statement->{before} // '';
	my $zone = pick(@zones);
	my $drifted = $drifts ? beside_drift($layout, $zone, $before, $remote,
		$statement->{returns}) : '';

	return $drifted . $before . "SELECT act('$layout->{name}', $number, '"
	  . $zone . q(', ) . join(', ', quote($before . $remote),
		$statement->{done} // quote($remote), quote($local),
		bool($statement->{returns}), bool($statement->{keep})) . ");\n";
}

# A level that a statement or transaction may have
sub level { return pick('READ COMMITTED', 'READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE') }

# The beginning of a transaction
sub begin_transaction
{
	my ($layout) = @_;
	# a strict transaction cannot see the collections that it makes
	my $level = $layout->{collection} =~ m/%/ ? 'READ COMMITTED' : level();
	my $is_strict = bool($has_transactions && $level ne 'READ COMMITTED');

	return "BEGIN ISOLATION LEVEL $level;\nSET LOCAL write.is_strict = $is_strict;\n";
}

# The end of a transaction whose first and last statements are given.  What is
# undone leaves the rows as they were; its first difference is kept.
sub end_transaction
{
	my ($layout, $first, $last) = @_;
	my $name = $layout->{name};

	return "COMMIT;\n" if !$has_transactions;
	return <<"END" . join('', map { <<"UNDONE" } $first .. $last) . "\\endif\n";
SELECT coalesce(current_setting('write.is_over', true), '') = 'true' OR count(*) > 0 OR @{[ bool(chance(0.3)) ]} AS is_undone,
	coalesce(min(problem), '') AS problem, coalesce(min(command), '') AS command
	FROM outcome WHERE layout = '$name' AND problem IS NOT NULL \\gset
\\if :is_undone
ROLLBACK;
INSERT INTO outcome SELECT '$name', -2, :'command', 0, NULL, :'problem' WHERE :'problem' <> '';
\\else
COMMIT;
\\endif
\\if :is_undone
END
SELECT act('$name', $_, 'UTC', 'ROLLBACK', 'SELECT 1 AS one WHERE false', 'SELECT 1 AS one WHERE false', true, false);
UNDONE
}

# Tell whether a statement leaves points where they are: then the documents are
# the same after it.
sub drifts
{
	my ($layout, $statement) = @_;
	my $sql = $statement->{sql} // '';
	my $moved = join '|', 'ts', map { $_->[0] } @{ $layout->{keys} };

	return $sql =~ m/^(WITH d AS \()?DELETE/
	  || ($sql =~ m/^UPDATE \S+ (t )?SET (.*?) (WHERE|FROM)/ && $2 !~ m/\b($moved) = /);
}

# A script of at least n statements, some of them in transactions
sub make_script
{
	my ($layout, $n) = @_;
	my ($script, $made, $first, $end) = ('', 0, 0, 0);

	while ($made < $n)
	{
		if (!$end && chance(0.05))
		{
			$script .= begin_transaction($layout);
			$first = $made;
			$end = $made + 3;
		}
		$script .= "SET default_transaction_isolation = '" . lc(level()) . "';\n" if !$end && chance(0.1);
		foreach my $statement (new_statements($layout, $made))
		{
			# psql sends data also when the transaction is over
			$statement->{stdin} &&= !($end && $has_transactions);
			$script .= act($layout, $made++, $statement,
				!$end && drifts($layout, $statement) && chance(0.2));
		}
		next unless $end && $made >= $end;
		$script .= end_transaction($layout, $first, $made - 1);
		$end = 0;
	}
	return ($script . ($end ? end_transaction($layout, $first, $made - 1) : ''), $made);
}

# The script before the first statement
sub prepare_layout
{
	my ($layout) = @_;
	my $name = $layout->{name};
	my $sql = "SET client_min_messages = warning;\nSET timezone = 'UTC';\n"
	  . make_tables($layout);

	$sql .= "INSERT INTO check_pair VALUES ('$name', "
	  . join(', ', map { quote($_) } @$_) . ");\n" foreach checks($layout);
	$sql .= "SELECT act('$name', -1, 'UTC', 'mongo_ts_create_index', "
	  . "\$\$SELECT mongo_ts_create_index('f.$name'::regclass) "
	  . "IS NOT NULL AS made\$\$, 'SELECT true AS made', true, false);\n"
	  if $layout->{index};
	return $sql;
}

# ---- Checks ---------------------------------------------------------------

# Print the first statement of a layout after which something differs.
sub report
{
	my ($layout) = @_;

	diag "SEED=$seed LAYOUT='^$layout->{name}\$'";
	diag fetch(<<"END");
		SELECT format(E'statement %s: %s\\n%s\\n', step, left(command, 4000),
				problem)
		FROM outcome WHERE layout = '$layout->{name}' AND problem IS NOT NULL
END
	return;
}

sub check_layout
{
	my ($layout) = @_;
	my $name = $layout->{name};
	my ($script, $made) = make_script($layout, $wanted);
	my $sql = prepare_layout($layout) . $script;
	my $error = run_sql($sql);

	recover() if $error;
	my ($done, $changed, $bad) = split m/\|/, fetch(<<"END");
		SELECT count(*) FILTER (WHERE step >= 0), coalesce(sum(changed), 0),
			count(problem)
		FROM outcome WHERE layout = '$name';
END

	ok($error eq '' && $done == $made && $bad == 0,
		"$name: $done of $made statements change $changed rows, $bad differ");
	diag "$error\n" . (split m/\n/, $sql)[$1 - 1]
	  if $error =~ m/.*<stdin>:(\d+)/s;
	report($layout) if $bad;
	return;
}

# Check that statements change rows, and that some are refused.
sub check_coverage
{
	my ($changed, $failed, $conflicts, $drifted) = split m/\|/, fetch(<<'END');
		SELECT round(avg((changed > 0)::int), 2),
			count(state), count(*) FILTER (WHERE state = '23505'),
			count(*) FILTER (WHERE state = 'HV004')
		FROM outcome;
END

	cmp_ok($changed, '>', 0.4, "$changed of the statements change rows");
	cmp_ok($failed, '>', 0, "$failed statements fail");
	cmp_ok($conflicts, '>', 0, "$conflicts of them move onto another point");
	cmp_ok($drifted, '>', 0, "$drifted of them meet a document that has drifted");
	return;
}

srand($seed);
note "SEED=$seed";
my $pattern = $ENV{LAYOUT} || '.';
my @layouts = (slot_layouts(), point_layouts(), rolling_layouts());

prepare_node('write', [qw(f l s d c)], drifting() . $functions);
$has_transactions = fetch(q(SELECT mongo_ts_command('mongo', '{"hello": 1}')::jsonb ? 'setName')) eq 't';
foreach my $i (0 .. $#layouts)
{
	my $layout = $layouts[$i];
	# so that a layout's statements don't depend on the other layouts
	srand($seed + 7919 * $i);
	check_layout($layout) if $layout->{name} =~ m/$pattern/;
}
check_coverage() if $pattern eq '.' && $wanted >= 60;
fetch(q(SELECT mongo_ts_command('mongo', '{"dropDatabase": 1}')));
note sprintf('%.1f s', time() - $begin);
done_testing();
