# Proves that random queries beside a writer see one moment of a replica set.
#
# Layouts of the differential test are filled with random points.  A session
# moves values between them, so that their sum stays, and all queries compute
# this sum in some way.  Some of them must be wrong with consistency 'none'.
#
# In the environment, SEED repeats the queries of a run, QUERIES is their
# number, and LAYOUT a pattern of layouts.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use Differential::Data;
use Differential::Invariant qw(insert invariant_layouts pairs writes new_invariant);
use Differential::Node qw(fetch prepare_node run_sql switches);
use Differential::Tables qw(fill_tables indexing);
use MongoTS::Node;
use MongoTS::Wire;
use Test::More;
use Time::HiRes qw(time);

skip_without_mongod();

my $seed = $ENV{SEED} || int(time());
my $queries = $ENV{QUERIES} || 300;
my $pattern = $ENV{LAYOUT} || '.';
my $begin = time();
my $set = set_start();
my ($port) = set_member_uri($set, 1) =~ m/:(\d+)/;
plan skip_all => 'MongoDB before 5.0 reads no moments'
  if wire_command($port, hello => bson_int32(1))->{maxWireVersion} < 13;

$ENV{MONGODB_URI} = set_uri($set);
my $node = prepare_node('invariant', [qw(f l m c)], indexing() . <<'END');
	-- A scan is many finds.
	ALTER SERVER mongo OPTIONS (ADD fetch_size '5');

	CREATE TABLE writes (layout text, command text);
	CREATE TABLE outcome (layout text, kind text, settings text, zone text,
		command text, expected text, got text, problem text, plan text);

	CREATE FUNCTION text_of(s numeric, n numeric) RETURNS text
	LANGUAGE sql RETURN trim_scale(s) || '|' || trim_scale(n);

	-- The sum and the number of rows that a cursor returns now and then
	CREATE FUNCTION read_slowly(query text, size int, OUT s numeric, OUT n numeric)
	LANGUAGE plpgsql AS $$
	DECLARE
		c refcursor;
		v numeric;
	BEGIN
		s := 0;
		n := 0;
		OPEN c NO SCROLL FOR EXECUTE query;
		LOOP
			FETCH c INTO v;
			EXIT WHEN NOT FOUND;
			s := s + coalesce(v, 0);
			n := n + 1;
			IF n % size = 0 THEN
				PERFORM pg_sleep(0.003);
			END IF;
		END LOOP;
		CLOSE c;
	END $$;

	-- The answer of a query as text, or its error.  Some conditions and groups
	-- fail on some values.
	CREATE FUNCTION answer(query text, OUT got text, OUT problem text)
	LANGUAGE plpgsql AS $$
	DECLARE
		s numeric;
		n numeric;
	BEGIN
		EXECUTE query INTO s, n;
		got := text_of(s, n);
	EXCEPTION
		WHEN data_exception OR feature_not_supported THEN problem := 'data';
		WHEN OTHERS THEN problem := sqlstate || ' ' || sqlerrm;
	END $$;

	CREATE FUNCTION ask(layout text, kind text, settings text, zone text,
		command text, expected text)
	RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		o outcome;
		setting text;
		line text;
	BEGIN
		o := (layout, kind, settings, zone, command, expected);
		PERFORM set_config('TimeZone', zone, true);
		FOREACH setting IN ARRAY string_to_array(settings, ' ') LOOP
			PERFORM set_config(split_part(setting, '=', 1),
				split_part(setting, '=', 2), true);
		END LOOP;
		SELECT a.got, a.problem INTO o.got, o.problem FROM answer(command) a;
		IF o.expected !~ '\|' THEN
			o.got := split_part(o.got, '|', 1);
		END IF;
		IF random() < 0.3 OR kind = 'joined' THEN
			BEGIN
				FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || command LOOP
					o.plan := concat_ws(E'\n', o.plan, line);
				END LOOP;
			EXCEPTION WHEN data_exception OR feature_not_supported THEN
			END;
		END IF;
		INSERT INTO outcome SELECT o.*;
	END $$;

	-- Execute writes in random order until there are none.
	CREATE PROCEDURE write(of text) LANGUAGE plpgsql AS $$
	DECLARE
		command text;
	BEGIN
		LOOP
			SELECT w.command INTO command FROM writes w WHERE layout = of
				ORDER BY random() LIMIT 1;
			EXIT WHEN NOT FOUND;
			EXECUTE command USING (1 + random() * 400)::int / 4.0;
			COMMIT;
		END LOOP;
	END $$;
END
my $writer = session_start($node);

# The sum and the number of points.  Points that INSERT increments come and go.
sub expected
{
	my ($layout) = @_;
	my $value = $layout->{columns}[-1][0];
	my $pairs = 2 * pairs($layout);
	my $number = $layout->{options} =~ m/increment/ ? '' : " || '|' || count(*) + $pairs";

	return fetch("SELECT trim_scale(sum($value)::numeric)$number FROM l.$layout->{name}");
}

# One SQL command for each query, or a transaction
sub script
{
	my ($layout, $expected, $n) = @_;
	my $script = '';

	foreach (1 .. $n)
	{
		my $q = new_invariant($layout);
		my $before = $q->{before};
		my $ask = "SELECT ask('$layout->{name}', '$q->{kind}', '$q->{settings}', '$q->{zone}', "
		  . "\$q\$$q->{sql}\$q\$, '$expected');\n";

		$ask = "BEGIN ISOLATION LEVEL REPEATABLE READ;\nSET LOCAL timezone = '$q->{zone}';\n"
		  . "SELECT set_config('test.part', coalesce(got, ''), true) FROM answer(\$q\$$before\$q\$);\n${ask}COMMIT;\n" if $before;
		$script .= $ask;
	}
	return $script;
}

# Ask n queries on a layout beside the writer.  Returns the number of wrong
# answers.
sub count_violations
{
	my ($layout, $expected, $n) = @_;
	my $name = $layout->{name};

	fetch('TRUNCATE outcome; TRUNCATE writes');
	run_sql(join '', map { "INSERT INTO writes VALUES ('$name', \$w\$$_\$w\$);\n" } writes($layout));
	session_send($writer, "CALL write('$name')");
	my $error = run_sql("SET client_min_messages = warning;\n" . script($layout, $expected, $n));
	fetch('TRUNCATE writes');
	my (undef, $write_error) = session_wait($writer);
	is("$error$write_error", '', "$name: no error");

	my ($asked, $bad, $skipped) = split m/\|/, fetch(q(SELECT count(*),
		count(*) FILTER (WHERE problem <> 'data' OR got IS DISTINCT FROM expected AND problem IS NULL),
		count(*) FILTER (WHERE problem = 'data') FROM outcome));

	is($asked, $n, "$name: $n queries, of which $skipped have a condition that fails");
	return $bad;
}

srand($seed);
note "SEED=$seed";
@Differential::Query::switches = switches();
my @layouts = grep { $_->{name} =~ m/$pattern/ } invariant_layouts();
my $each = int($queries / @layouts) + 1;
my ($total, $loose, $torn) = (0, 0, 0);

fetch('CREATE TABLE all_outcomes (LIKE outcome)');
foreach my $layout (@layouts)
{
	my $name = $layout->{name};
	my @pairs = pairs($layout);
	my $error = run_sql("SET client_min_messages = warning;\n" . fill_tables($layout));

	is($error, '', "$name: filled");
	run_sql(insert($layout, @pairs) =~ s/\$1/1/gr) if @pairs;
	my $expected = expected($layout);

	my $bad = count_violations($layout, $expected, $each);

	is($bad, 0, "$name: no answer is wrong beside a writer");
	diag "SEED=$seed LAYOUT='^$name\$'\n" . fetch(q{SELECT format(E'%s, TimeZone %s, %s:\n%s\nexpected %s, got %s %s',
		kind, zone, settings, command, expected, got, problem) FROM outcome
		WHERE problem <> 'data' OR got IS DISTINCT FROM expected AND problem IS NULL
		ORDER BY length(command) LIMIT 3}) if $bad;
	fetch('INSERT INTO all_outcomes TABLE outcome');
	$total += $each;

	fetch(q(ALTER SERVER mongo OPTIONS (ADD consistency 'none')));
	$torn += count_violations($layout, $expected, int($each / 5) + 1);
	$loose += int($each / 5) + 1;
	fetch('ALTER SERVER mongo OPTIONS (DROP consistency)');
}
note fetch(q{SELECT string_agg(format('%s: %s', kind, n), ', ') FROM (SELECT kind, count(*) AS n FROM all_outcomes GROUP BY 1 ORDER BY 1) k});
cmp_ok($torn, '>', int($loose / 100), "without consistency $torn answers of $loose are wrong")
  if $loose > 60;
if ($total >= 300)
{
	foreach my $plan ('Gather', 'Partial Aggregate on', 'Hash Join', 'Merge Join', 'Nested Loop')
	{
		cmp_ok(fetch("SELECT count(*) FROM all_outcomes WHERE plan ~ '$plan'"), '>', $total / 400, "plans with $plan");
	}
}
session_end($writer);
$node->stop;
note sprintf('%.1f s', time() - $begin);
done_testing();
