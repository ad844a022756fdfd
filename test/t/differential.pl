# Ask the same of the same points behind a foreign table and in a local one:
# the answers must not differ.
#
# Every layout of the manual's table, and some more, is filled with random
# points, which random queries then read.  SEED in the environment repeats a
# run, QUERIES sets how many queries it makes at least, LAYOUT a pattern of
# which layouts take part, and MONGO_TS_LIBRARY is the absolute path of another
# build of the extension's library (see test/faults).

use strict;
use warnings;

use Differential::Data;
use Differential::Layouts qw(slot_layouts);
use Differential::Node qw(fetch prepare_node recover run_sql);
use Differential::Points qw(point_layouts);
use Differential::Query qw(new_query new_zone);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

# How often a prepared query runs: with plans of its own and a generic one
use constant EXECUTIONS => 7;

# The least share of the queries with a condition on the time by itself, whose
# filter must have a condition
use constant LEAST_PUSHED => 0.95;

my $seed = $ENV{SEED} || int(time());
my $queries = $ENV{QUERIES} || 2000;
my $begin = time();

# ---- Making a place to ask ------------------------------------------------

sub dirname_of { return $_[0] =~ s{/[^/]*$}{}r }

# Records what the two sides answer.  `paired` compares, `alone` asks only the
# local side: an error of the foreign one is fine where that has one, too.
my $functions = <<'END';
	CREATE TABLE outcome (layout text, query int, zone text, command text,
		found bigint, lost bigint, extra bigint, example text, problem text,
		remote text, has_time bool DEFAULT false);

	CREATE FUNCTION pair(query text) RETURNS text LANGUAGE sql
	RETURN format($$
		WITH f AS MATERIALIZED (%s), l AS MATERIALIZED (%s),
			lost AS (TABLE l EXCEPT ALL TABLE f),
			extra AS (TABLE f EXCEPT ALL TABLE l)
		SELECT (SELECT count(*) FROM l), (SELECT count(*) FROM lost),
			(SELECT count(*) FROM extra),
			coalesce((SELECT 'lost ' || lost::text FROM lost LIMIT 1),
				(SELECT 'extra ' || extra::text FROM extra LIMIT 1))$$,
		replace(query, 'side.', 'f.'), replace(query, 'side.', 'l.'));

	CREATE FUNCTION ask(layout text, query int, zone text, command text,
		paired text, alone text) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		o outcome;
		line text;
		detail text;
		place text;
	BEGIN
		o.layout := layout;
		o.query := query;
		o.zone := zone;
		o.command := command;
		PERFORM set_config('TimeZone', zone, false);
		PERFORM set_config('mongo_ts_fdw.enable_fold',
			(query % 5 <> 0)::text, false);
		BEGIN
			EXECUTE paired INTO o.found, o.lost, o.extra, o.example;
			FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || paired LOOP
				IF line ~ 'MongoDB Query:' THEN
					o.remote := ltrim(line);
				END IF;
			END LOOP;
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL,
				place = PG_EXCEPTION_CONTEXT;
			o.problem := concat_ws(E'\n', sqlerrm, detail,
				substring(place from '^MongoDB[^\n]*'));
			BEGIN
				EXECUTE alone;
			EXCEPTION WHEN OTHERS THEN
				o.problem := NULL;
			END;
		END;
		INSERT INTO outcome SELECT o.*;
	END $$;
END

sub fill_tables
{
	my ($layout) = @_;
	my $name = $layout->{name};
	my $columns = join ', ',
	  map { "$_->[0] $_->[1]" . ($_->[2] ? " OPTIONS ($_->[2])" : '') }
	  @{ $layout->{columns} };
	my $options = $layout->{options} ? "OPTIONS ($layout->{options})" : '';
	my $rows = join ",\n", map { '(' . join(', ', @$_) . ')' }
	  @{ $layout->{rows} };
	my @docs = map { encode($_) } @{ $layout->{docs} };
	my $sql = <<"END";
		SET timezone = 'UTC';
		CREATE FOREIGN TABLE f.$name ($columns) SERVER mongo $options;
		CREATE TABLE l.$name (LIKE f.$name);
		INSERT INTO l.$name VALUES $rows;
		ANALYZE l.$name;
END

	while (my @some = splice(@docs, 0, 500))
	{
		$sql .= "SELECT mongo_ts_command('mongo', \$json\${\"insert\": "
		  . "\"$name\", \"documents\": [" . join(",\n", @some)
		  . "]}\$json\$);\n";
	}
	return $sql;
}

# The table from which subqueries take times
sub fill_edges
{
	my ($layout) = @_;
	my $n = 0;

	return "DROP TABLE IF EXISTS edges;\nCREATE TABLE edges AS "
	  . 'SELECT n, at::timestamptz FROM (VALUES '
	  . join(', ', map { '(' . $n++ . ', ' . sql_timestamptz($_) . ')' }
		  @{ $layout->{edges} })
	  . ") e (n, at);\nALTER TABLE edges ADD PRIMARY KEY (n);\n"
	  . "ANALYZE edges;\n";
}

# ---- Asking ---------------------------------------------------------------

sub ask
{
	my ($layout, $number, $zone, $command, $paired, $alone) = @_;

	return "SELECT ask('$layout->{name}', $number, '$zone', "
	  . "\$q\$$command\$q\$, $paired, $alone);\n";
}

sub ask_once
{
	my ($layout, $number, $query) = @_;
	my $sql = $query->{sql};

	return ask($layout, $number, $query->{zone}, $sql, "pair(\$q\$$sql\$q\$)",
		"replace(\$q\$$sql\$q\$, 'side.', 'l.')");
}

# Prepare it and execute it often, with other values and in other zones.
sub ask_often
{
	my ($layout, $number, $query) = @_;
	my @params = @{ $query->{params} };
	my $sql = $query->{sql};
	my $types = @params ? '(' . join(', ', map { $_->[0] } @params) . ')' : '';
	my $alone = $sql =~ s/side\./l./r;
	my $script = <<"END";
		DEALLOCATE ALL;
		SELECT 'PREPARE paired $types AS ' || pair(\$q\$$sql\$q\$) \\gexec
		PREPARE alone $types AS $alone;
END

	foreach my $i (1 .. EXECUTIONS)
	{
		my $values = join ', ', map { $_->[1]->() } @params;
		$values = "($values)" if @params;
		$script .= ask($layout, $number, new_zone(),
			"PREPARE p $types AS $sql; EXECUTE p $values; -- number $i",
			"\$q\$EXECUTE paired $values\$q\$",
			"\$q\$EXECUTE alone $values\$q\$");
	}
	return $script;
}

# A script of at least n queries on a layout, and which have a bare condition
# on the time
sub make_queries
{
	my ($layout, $n) = @_;
	my ($script, $made) = ('', 0);
	my @has_time;

	for (my $number = 0; $made < $n; $number++)
	{
		my $is_prepared = chance(0.05);
		my $query = new_query($layout, $is_prepared);
		$query = { sql => "SELECT * FROM side.$layout->{name}", zone => 'UTC' }
		  if $number == 0;
		push @has_time, $number if $query->{has_time};
		$is_prepared = $number > 0 && $is_prepared;
		$script .= $is_prepared ? ask_often($layout, $number, $query)
		  : ask_once($layout, $number, $query);
		$made += $is_prepared ? EXECUTIONS : 1;
	}
	return ($script, $made, @has_time);
}

# ---- Judging --------------------------------------------------------------

# Print the queries of a layout whose answers differ, the shortest first.
sub report
{
	my ($layout) = @_;

	diag "SEED=$seed LAYOUT='^$layout->{name}\$'";
	diag fetch(<<"END");
		SELECT format(E'%s, TimeZone %s, query %s:\\n%s\\n'
				'%s lost, %s extra, e.g. %s%s\\n%s\\n',
			layout, zone, query, command, lost, extra, example,
			E'\\nERROR: ' || problem, remote)
		FROM outcome WHERE layout = '$layout->{name}'
			AND (problem IS NOT NULL OR lost + extra > 0)
		ORDER BY length(command) LIMIT 5;
END
	return;
}

sub check_layout
{
	my ($layout, $n) = @_;
	my $name = $layout->{name};
	my $points = @{ $layout->{rows} };
	my ($script, $made, @has_time) = make_queries($layout, $n);
	my $sql = "SET client_min_messages = warning;\n"
	  . fill_tables($layout) . fill_edges($layout) . $script;
	my $error = run_sql($sql);

	recover() if $error;
	my ($asked, $bad) = split m/\|/, fetch(<<"END");
		SELECT count(*),
			count(*) FILTER (WHERE problem IS NOT NULL OR lost + extra > 0)
		FROM outcome WHERE layout = '$name';
END

	ok($error eq '' && $asked == $made && $bad == 0,
		"$name: $asked queries on $points points, $bad differ");
	diag "$error\n" . (split m/\n/, $sql)[$1 - 1]
	  if $error =~ m/.*<stdin>:(\d+)/s;
	report($layout) if $bad;
	fetch("UPDATE outcome SET has_time = true WHERE layout = '$name' "
		. 'AND query = ANY (\'{' . join(',', @has_time) . '}\')');
	return;
}

# Does the test see anything, and does MongoDB get conditions?  A month in text
# is asked for only where a range is closed, and stock has a filter anyway.
sub check_coverage
{
	my ($asked, $found, $pushed) = split m/\|/, fetch(<<'END');
		SELECT count(*), round(avg((found > 0)::int), 2),
			round(avg((remote !~ 'find\(\{\}')::int)
				FILTER (WHERE has_time
					AND layout NOT IN ('monthly', 'stock')), 2)
		FROM outcome;
END

	cmp_ok($asked, '>=', $queries, "$asked queries");
	cmp_ok($found, '>', 0.25, "$found of them find something");
	cmp_ok($pushed, '>=', LEAST_PUSHED,
		"$pushed of those with a condition on the time send a filter");
	return;
}

srand($seed);
note "SEED=$seed";
my $pattern = $ENV{LAYOUT} || '.';
my @layouts = (slot_layouts(), point_layouts());
my $each = int($queries / @layouts) + 1;

prepare_node('differential', [qw(f l)], $functions);
foreach my $i (0 .. $#layouts)
{
	my $layout = $layouts[$i];
	# so that a layout asks the same whichever others take part
	srand($seed + 7919 * $i);
	check_layout($layout, $each) if $layout->{name} =~ m/$pattern/;
}
check_coverage() if $pattern eq '.';
fetch(q(SELECT mongo_ts_command('mongo', '{"dropDatabase": 1}')));
note sprintf('%.1f s', time() - $begin);
done_testing();
