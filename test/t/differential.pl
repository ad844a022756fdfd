# Proves that random queries give the same results over a foreign table and
# over a local one with the same points.
#
# Every documented layout, and some more, is filled with random points.  In the
# environment, SEED repeats a run, QUERIES is the least number of queries, and
# LAYOUT is a pattern of layouts, KIND one of how kinds of queries begin, and
# INDEXES one of how the ways to index them do (see Indexes.pm), and DRIFT one of
# the fields whose type changes (see Drift.pm).  With LABELS, groups are by names
# of times, such as hours of the day.  ODD is a pattern of kinds of odd columns,
# one of which every table then has in turn (see Odd.pm); by default, every second
# table has one, and none if LAYOUT is given.
# FUNCTIONS is the share of conditions on functions of the time (0.1).
# MONGO_TS_LIBRARY is the absolute path of another build of the extension's
# library (see test/faults).

use strict;
use warnings;

use Differential::Bounds qw(bounded_layouts);
use Differential::Condition qw(new_zone);
use Differential::Data;
use Differential::Drift qw(drift restore);
use Differential::Layouts qw(slot_layouts);
use Differential::Local qw(local_layouts);
use Differential::Native qw(native_layouts);
use Differential::Node qw(fetch prepare_node recover run_sql switches);
use Differential::Odd qw(add_odd hide_numbers odd_kinds);
use Differential::Points qw(point_layouts);
use Differential::Query qw(new_query kinds);
use Differential::Rolling qw(rolling_layouts);
use Differential::Rollups qw(rolled_types rollup_layouts);
use Differential::Tables qw(functions fill_tables refill);
use Differential::Totals qw(total_layouts);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

# How often a prepared query runs: with custom plans and a generic one
use constant EXECUTIONS => 7;

# Of the queries with an ANDed condition on the time alone, the least share
# that must send a filter
use constant LEAST_PUSHED => 0.95;

# The least share of each kind among the queries, and of those that find rows
use constant LEAST_SHARE => 0.03;
use constant LEAST_FOUND => 0.25;

my $seed = $ENV{SEED} || int(time());
my $queries = $ENV{QUERIES} || 2000;
my $begin = time();
my $odd_pattern = $ENV{ODD} || ($ENV{LAYOUT} ? '^none$' : '.');
my $native;

# ---- Asking ---------------------------------------------------------------

# Run one SQL command on both sides; paired and alone are SQL expressions of
# the commands that do so: see Tables.pm.
sub ask
{
	my ($layout, $number, $query, $command, $paired, $alone) = @_;
	my $has_time = $query->{has_time} ? 'true' : 'false';

	return "SELECT ask('$layout->{name}', '$query->{kind}', $number, "
	  . "$has_time, '$query->{zone}', '$query->{settings}', "
	  . "\$q\$$command\$q\$, $paired, $alone);\n";
}

sub paired
{
	my ($query) = @_;

	return "pair(\$q\$$query->{sql}\$q\$)" unless $query->{keys};
	return "pair_by(\$q\$$query->{sql}\$q\$, '$query->{keys}', "
	  . "\$q\$$query->{whole}\$q\$)";
}

sub ask_once
{
	my ($layout, $number, $query) = @_;
	my $sql = $query->{sql};

	return ask($layout, $number, $query, $sql, paired($query),
		"replace(\$q\$$sql\$q\$, 'side.', 'l.')");
}

# Prepare a query and execute it often, with other values and in other zones.
sub ask_often
{
	my ($layout, $number, $query) = @_;
	my @params = @{ $query->{params} };
	my $sql = $query->{sql};
	my $types = @params ? '(' . join(', ', map { $_->[0] } @params) . ')' : '';
	my $alone = $sql =~ s/side\./l./gr;
	my $paired = paired($query);
	my $script = <<"END";
		DEALLOCATE ALL;
		SELECT 'PREPARE paired $types AS ' || $paired \\gexec
		PREPARE alone $types AS $alone;
END

	foreach my $i (1 .. EXECUTIONS)
	{
		my $values = join ', ', map { $_->[1]->() } @params;
		$values = "($values)" if @params;
		$script .= ask($layout, $number, { %$query, zone => new_zone() },
			"PREPARE p $types AS $sql; EXECUTE p $values; -- number $i",
			"\$q\$EXECUTE paired $values\$q\$",
			"\$q\$EXECUTE alone $values\$q\$");
	}
	return $script;
}

# All rows, as they are
sub everything
{
	my ($layout) = @_;
	return { sql => "SELECT * FROM side.$layout->{name}", zone => 'UTC',
		kind => 'rows', settings => '' };
}

# What happens between the queries on a layout, each [the share of the queries
# before it, SQL]: the table seems large, is analyzed, and documents drift.
sub events
{
	my ($layout) = @_;
	my @events = (
		[ 1 / 6, 'UPDATE pg_class SET reltuples = 1e10, relpages = 1e8 '
			  . "WHERE oid = 'f.$layout->{name}'::regclass;\n" ],
		[ 0.7, "SET client_min_messages = error;\nANALYZE f.$layout->{name};\n"
			  . "SET client_min_messages = warning;\n" ]);

	foreach my $begin (0.3, 0.5, 0.8)
	{
		my $drift = drift($layout) or last;
		push @events, [ $begin, $drift ],
		  [ $begin + 0.15, restore($layout) . refill($layout) ];
	}
	return sort { $a->[0] <=> $b->[0] } @events;
}

# A script of at least n queries on a layout
sub make_queries
{
	my ($layout, $n) = @_;
	my $script = ask_once($layout, 0, everything($layout));
	my @events = events($layout);
	my $made = 1;

	for (my $number = 1; $made < $n; $number++)
	{
		my $is_prepared = chance(0.05);
		my $query = new_query($layout, $is_prepared);
		$script .= shift(@events)->[1]
		  while @events && $made >= $n * $events[0][0];
		$script .= $is_prepared ? ask_often($layout, $number, $query)
		  : ask_once($layout, $number, $query);
		$made += $is_prepared ? EXECUTIONS : 1;
	}
	return (join('', $script, map { $_->[1] } @events), $made);
}

# ---- Odd columns ----------------------------------------------------------

# Give the i-th layout an odd column, if it has one, and hide the numbers of its
# readings.  Few layouts have roll-ups, and these answer no query that names the
# column, so they have one only if ODD is set.
sub finish_layout
{
	my ($layout, $i) = @_;
	my @kinds = grep { m/$odd_pattern/ } odd_kinds();
	my $turn = $i + $seed + 1;

	if (@kinds && ($ENV{ODD} || ($turn % 2 && !$layout->{rollups})))
	{
		srand($seed + 7919 * $i + 1);
		$layout->{odd_kind} = $kinds[ ($ENV{ODD} ? $turn : $turn / 2) % @kinds ];
		add_odd($layout, $layout->{odd_kind});
	}
	hide_numbers($layout);
	return;
}

# ---- Checks ---------------------------------------------------------------

# Print the queries of a layout whose answers differ, the shortest first.
sub report
{
	my ($layout) = @_;

	diag "SEED=$seed LAYOUT='^$layout->{name}\$' KIND='"
	  . ($ENV{KIND} // '') . "' INDEXES='" . ($ENV{INDEXES} // '')
	  . "' ODD='" . ($layout->{odd_kind} ? "^$layout->{odd_kind}\$" : '') . "'";
	diag fetch(<<"END");
		SELECT format(E'%s, TimeZone %s, %s, query %s:\\n%s\\n'
				'%s lost, %s extra, e.g. %s%s\\n%s\\n%s',
			layout, zone, settings, query, command, lost, extra, example,
			E'\\nERROR: ' || problem, remote, E'drifted by ' || nullif(drift, '') || E'\\n')
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
	my $fill = fill_tables($layout);
	my ($script, $made) = make_queries($layout, $n);
	my $sql = "SET client_min_messages = warning;\n$fill$script";
	my $error = run_sql($sql);

	recover() if $error;
	my ($asked, $bad) = split m/\|/, fetch(<<"END");
		SELECT count(*),
			count(*) FILTER (WHERE problem IS NOT NULL OR lost + extra > 0)
		FROM outcome WHERE layout = '$name';
END

	my $odd = $layout->{odd} ? " with $layout->{odd_kind}" : '';
	ok($error eq '' && $asked == $made && $bad == 0,
		"$name$odd: $asked queries on $points points, $bad differ");
	diag "$error\n" . (split m/\n/, $sql)[$1 - 1]
	  if $error =~ m/.*<stdin>:(\d+)/s;
	report($layout) if $bad;
	return;
}

# Check that queries find rows, and that MongoDB gets conditions.  Layouts with
# text months send one only for closed ranges, and stock always has a filter.
sub check_coverage
{
	my ($asked, $pushed) = split m/\|/, fetch(<<'END');
		SELECT count(*),
			round(avg((remote !~ '(find\(|match: )\{\}')::int)
				FILTER (WHERE has_time
					AND layout NOT IN ('monthly', 'stock')), 2)
		FROM outcome;
END

	cmp_ok($asked, '>=', $queries, "$asked queries");
	cmp_ok($pushed, '>=', LEAST_PUSHED,
		"$pushed of those with a condition on the time send a filter");
	foreach my $kind (kinds())
	{
		my ($share, $found) = split m/\|/, fetch(<<"END");
			SELECT round(count(*) / $asked.0, 2),
				coalesce(round(avg((found > 0)::int), 2), 0)
			FROM outcome WHERE kind = '$kind';
END
		cmp_ok($share, '>', LEAST_SHARE, "$kind: $share of the queries");
		cmp_ok($found, '>', LEAST_FOUND, "$kind: $found of them find rows");
	}
	return;
}

# Check that error-prone plans occurred.
sub check_plans
{
	my %plans = (
		'loops over scans' => q(plan ~ 'Nested Loop.*Foreign Scan'),
		'limits over scans' => q(plan ~ 'Limit.*Foreign Scan'),
		'parallel plans' => q(plan ~ 'Gather'),
		'merge joins' => q(plan ~ 'Merge (Left |Full |Anti |Semi )?Join'),
		'appended partitions' => q(plan ~ 'Append.*Foreign Scan'),
		'generic plans' => q(settings ~ 'force_generic_plan'),
		'aggregates' => q(plan ~ 'Partial Aggregate on'),
		'aggregates below joins' =>
		  q(plan ~ '(Join|Nested Loop).*Partial Aggregate on'),
		'aggregates below semi and anti joins' =>
		  q(plan ~ '(Semi|Anti) Join.*Partial Aggregate on'),
		'roll-ups' => q(plan ~ 'Roll-up Query: db'),
		'counts by MongoDB' => q(plan ~ 'n: {\$sum: 1}'),
		'orders of buckets by extremes' => q(plan ~ 'Bucket Order'),
		'conditions on bounds of values' => q(plan ~ '\$nor'));

	# the indexes of other servers are not used to skip
	$plans{'steps from series to series'} = q(plan ~ 'Skip Scan Keys')
	  if ($ENV{MONGO_TS_SERVER} // '') ne 'ferretdb';

	# other servers do not skip through an index, nor does MongoDB by the filters
	# that the proxy of 9.0 makes of comparisons with null
	$plans{'first buckets of many series'} = q(plan ~ 'first: {\$first')
	  if $native && ($ENV{MONGO_TS_SERVER} // '') !~ m/^like-9/;
	foreach my $name (sort keys %plans)
	{
		my $n = fetch("SELECT count(*) FROM outcome WHERE $plans{$name}");
		my $rare = $name =~ m/^(steps|first|counts|roll|orders)|semi/;
		cmp_ok($n, '>', $queries / ($rare ? 2000 : 200), "$n $name");
	}
	return;
}

# Check that the ways to index collections occurred, as far as the server has them.
sub check_indexes
{
	my $ways = fetch('SELECT count(DISTINCT way) FROM indexed WHERE problem IS NULL');

	cmp_ok($ways, '>', 6, "$ways ways to index collections");
	note fetch(q(SELECT string_agg(format('%s indexes %s%s', n, way, ': ' || problem), E'\n')
		FROM (SELECT way, problem, count(*) AS n FROM indexed GROUP BY 1, 2) i));
	return;
}

# The main version of a server with native time-series collections, otherwise 0
sub native_version
{
	my $error = run_sql(<<'END');
		SELECT mongo_ts_command('mongo',
			'{"create": "probe", "timeseries": {"timeField": "ts"}}');
		SELECT 1 / (mongo_ts_command('mongo',
			'{"listCollections": 1, "filter": {"name": "probe"}}')
			->'cursor'->'firstBatch'->0->>'type' = 'timeseries')::int;
END

	return 0 if $error;
	return fetch(q(SELECT mongo_ts_command('mongo', '{"buildInfo": 1}')
		->'versionArray'->>0));
}

# The numbers of a native collection's buckets by their version
sub versions
{
	my ($layout) = @_;
	my $is_raw = fetch(q(SELECT mongo_ts_command('mongo', '{"hello": 1}')->>'maxWireVersion')) >= 27;
	my $of = $is_raw ? qq("$layout->{name}", "rawData": true) : qq("system.buckets.$layout->{name}");

	return fetch(<<"END");
		SELECT string_agg(format('%s of version %s', b->>'n', b->>'_id'), ', '
			ORDER BY b->>'_id')
		FROM jsonb_array_elements(mongo_ts_command('mongo', '{"aggregate": $of,
			"pipeline": [{"\$group": {
			"_id": "\$control.version", "n": {"\$sum": 1}}}], "cursor": {}}')
			->'cursor'->'firstBatch') b;
END
}

# Check which collection is read.  The buckets are not if MongoDB did not
# answer while a query was planned.
sub check_native
{
	my ($layout) = @_;
	my $share = fetch(<<"END");
		SELECT round(avg((plan ~ 'Native Buckets: read ')::int), 2)
		FROM outcome WHERE layout = '$layout->{name}'
			AND plan ~ 'MongoDB Query: db';
END

	return is($share, '0.00', "$layout->{name} reads the view")
	  if $layout->{of};
	like(versions($layout),
		$native >= 6 ? qr/version 1, .*version 2/ : qr/version 1$/,
		"$layout->{name}: buckets of the versions that MongoDB makes");
	cmp_ok($share, '>', 0.95, "$layout->{name}: $share read the buckets");
	return;
}

prepare_node('differential', [qw(f l m d b c)], functions());
$native = native_version();
srand($seed);
note "SEED=$seed";
my $pattern = $ENV{LAYOUT} || '.';
$Differential::Query::kind_pattern = $ENV{KIND} || '.';
$Differential::Data::are_numbered = 1;
my @layouts =
  (slot_layouts(), local_layouts(), point_layouts(), total_layouts(),
	rollup_layouts(), bounded_layouts(), rolling_layouts());
push @layouts, native_layouts($native) if $native;
# last, since a layout's queries depend on its place
push @layouts, rolled_types(3);
my $each = int($queries / @layouts) + 1;

@Differential::Query::switches = switches();
note join ' ', 'settings that are disabled at times:', switches();
foreach my $i (0 .. $#layouts)
{
	my $layout = $layouts[$i];
	finish_layout($layout, $i);
	# so that a layout's queries don't depend on how many others have
	srand($seed + 7919 * $i);
	next unless $layout->{name} =~ m/$pattern/;
	check_layout($layout, $each);
	check_native($layout) if $layout->{timeseries} || $layout->{of};
}
if ($pattern eq '.' && !$ENV{KIND} && !$ENV{INDEXES})
{
	check_coverage();
	check_plans();
	check_indexes();
}
note fetch(<<'END');
	SELECT count(*) || ' times ' || example FROM outcome
	WHERE example ~ '^both fail' GROUP BY example ORDER BY count(*) DESC LIMIT 20;
END
note fetch(q(SELECT count(*) || ' aggregates below joins' FROM outcome
	WHERE plan ~ '(Join|Nested Loop).*Partial Aggregate on'));
note fetch(q(SELECT count(*) || ' of them below semi or anti joins' FROM outcome
	WHERE plan ~ '(Semi|Anti) Join.*Partial Aggregate on'));
note fetch(q(SELECT count(*) || ' queries read roll-ups' FROM outcome
	WHERE plan ~ 'Roll-up Query: db'));
fetch(q(SELECT mongo_ts_command('mongo', '{"dropDatabase": 1}')));
note sprintf('%.1f s', time() - $begin);
done_testing();
