# Adds, alters, renames and drops columns of points and of their roll-ups, at random, between
# writes and refreshes, and compares queries that roll-ups may answer with those of the points.

package MongoTS::RollupColumns;

use strict;
use warnings;

use Exporter qw(import);
use List::Util qw(shuffle);
use Test::More;

our @EXPORT_OK = qw(check_columns);

my @kinds = qw(count sum min max);
# How often each change is made
my %weight = (add_column => 2, drop_column => 1, add_total => 6, drop_total => 1, alter_column => 1, rename_column => 2, write => 2, refresh => 5);
my @often = map { ($_) x $weight{$_} } keys %weight;
my %interval = (metrics_h => 'hours.{hour}', metrics_d => 'days.{day:1}');

# One of some values, or none
sub one_of { return $_[ rand @_ ]; }

# What the tables have: the names and fields of the columns of the points, by their first name,
# and the totals of the roll-ups
sub make_tables
{
	my ($node, $kind) = @_;

	$node->safe_psql('postgres', <<"END");
		SET search_path = $kind, public;
		CREATE FOREIGN TABLE metrics_all (ts timestamptz OPTIONS (field 'hour'), k text, a float8 OPTIONS (field 'm.{minute}.a'),
				b int OPTIONS (field 'm.{minute}.b'), c int OPTIONS (field 'm.{minute}.c'), d int OPTIONS (field 'd.{minute}'))
			SERVER $kind OPTIONS (database 'mts_rollup', collection 'metrics');
		INSERT INTO metrics_all SELECT '2024-02-25'::timestamptz + i * interval '43 minutes', 'k' || i % 2, i % 50, i % 7, i % 11, i % 13
			FROM generate_series(1, 300) i;
		SELECT mongo_ts_command('$kind', '{"update": "metrics", "updates": [{"q": {"k": "k1"}, "u": {"\$unset": {"m.5": 1, "d.7": 1}}, "multi": true}]}');
		CREATE FOREIGN TABLE metrics (ts timestamptz OPTIONS (field 'hour'), k text, a float8 OPTIONS (field 'm.{minute}.a'))
			SERVER $kind OPTIONS (database 'mts_rollup');
		SELECT mongo_ts_create_rollup('metrics', '1 hour', 'metrics_h', lag => '0');
		SELECT mongo_ts_create_rollup('metrics_h', '1 day', 'metrics_d', lag => '0');
		SELECT mongo_ts_refresh_rollup('metrics_d');
		UPDATE pg_class SET reltuples = 1e7, relpages = 1e5 WHERE oid = 'metrics'::regclass;
END
	return {
		columns => { a => { name => 'a', field => 'm.{minute}.a' } },
		metrics_h => { map { ("a_$_" => 'a') } @kinds },
		metrics_d => { map { ("a_$_" => 'a') } @kinds } };
}

# ---- Changes ----------------------------------------------------------------

# Change the tables so that the roll-ups stay valid, and return the statement; undef if that
# cannot be done now.
my %change = (
	add_column => sub {
		my ($tables) = @_;
		my %field = (b => 'm.{minute}.b', c => 'm.{minute}.c', d => 'd.{minute}');
		my $name = one_of(grep { !$tables->{columns}{$_} } qw(b b c c d)) // return;

		$tables->{columns}{$name} = { name => $name, field => $field{$name} };
		return "ALTER FOREIGN TABLE metrics ADD COLUMN $name int OPTIONS (field '$field{$name}')";
	},
	drop_column => sub {
		my ($tables) = @_;
		my %used = map { ($_ => 1) } values %{ $tables->{metrics_h} }, values %{ $tables->{metrics_d} };
		my $column = one_of(grep { !$used{$_} } keys %{ $tables->{columns} }) // return;

		return "ALTER FOREIGN TABLE metrics DROP COLUMN " . (delete $tables->{columns}{$column})->{name};
	},
	add_total => sub {
		my ($tables) = @_;
		my ($rollup, $column, $kind) = (one_of(keys %interval), one_of(keys %{ $tables->{columns} }), one_of(@kinds));
		my $total = "${column}_$kind";
		my $type = $kind eq 'count' || ($kind eq 'sum' && $column ne 'a') ? 'bigint' : $column eq 'a' ? 'float8' : 'int';

		# the finer roll-up has what the coarser one is made of
		return if $tables->{$rollup}{$total} || ($rollup eq 'metrics_d' && !$tables->{metrics_h}{$total});
		$tables->{$rollup}{$total} = $column;
		$tables->{last} = [ $kind, $column ];
		return "ALTER FOREIGN TABLE $rollup ADD COLUMN $total $type OPTIONS (field '$interval{$rollup}.$column.$kind', "
		  . "rollup '$kind', rollup_column '$tables->{columns}{$column}{field}')";
	},
	drop_total => sub {
		my ($tables) = @_;
		my $total = one_of(keys %{ $tables->{metrics_h} }) // return;
		my $rollup = $tables->{metrics_d}{$total} ? 'metrics_d' : 'metrics_h';

		delete $tables->{$rollup}{$total};
		return "ALTER FOREIGN TABLE $rollup DROP COLUMN $total";
	},
	alter_column => sub {
		my ($tables) = @_;
		my $column = $tables->{columns}{ one_of(keys %{ $tables->{columns} }) // return };
		my $option = $column->{is_missing} ? 'DROP missing_value' : "ADD missing_value '3'";

		$column->{is_missing} = !$column->{is_missing};
		return "ALTER FOREIGN TABLE metrics ALTER $column->{name} OPTIONS ($option)";
	},
	rename_column => sub {
		my ($tables) = @_;
		my $column = $tables->{columns}{a} // return;
		my $old = $column->{name};

		$column->{name} = { a => 'renamed', renamed => 'a' }->{$old};
		return "ALTER FOREIGN TABLE metrics RENAME $old TO $column->{name}";
	},
	write => sub {
		my ($tables) = @_;
		my $column = $tables->{columns}{ one_of(keys %{ $tables->{columns} }) // return };
		my $begin = sprintf("'2024-02-25Z'::timestamptz + %d * interval '1 hour'", rand 220);
		my $where = sprintf("ts >= $begin AND ts < $begin + interval '%d minutes'", 1 + rand 300);

		return one_of("UPDATE metrics SET $column->{name} = $column->{name} + 10 WHERE $where", "DELETE FROM metrics WHERE $where",
			"INSERT INTO metrics (ts, k, $column->{name}) SELECT $begin + i * interval '3 minutes', 'k' || i % 3, i + 10 FROM generate_series(1, 30) i");
	},
	refresh => sub {
		my $time = sprintf("'2024-02-25Z'::timestamptz + %d * interval '1 hour'", rand 220);

		return 'SELECT mongo_ts_refresh_rollup(' . one_of("'metrics_d'", "'metrics_d'", "'metrics_h'", "'metrics_h', $time", "'metrics_d', end_time => $time") . ')';
	});

# ---- Queries ----------------------------------------------------------------

# Some aggregates: of the total that was added last, or of some columns
sub some_aggregates
{
	my ($tables) = @_;
	my ($kind, $added) = @{ $tables->{last} // [] };
	my @columns = (shuffle values %{ $tables->{columns} })[ 0 .. rand 2 ];

	return "$kind($tables->{columns}{$added}{name})" if $kind && $tables->{columns}{$added} && rand 2 < 1;
	return map { my $name = $_->{name}; map { "$_($name)" } @{ one_of(\@kinds, [ one_of(@kinds) ], ['avg']) } } grep { defined } @columns;
}

sub a_query
{
	my ($tables) = @_;
	my @keys = (shuffle "date_trunc('" . one_of(qw(hour day month)) . "', ts, 'UTC')", 'k')[ 0 .. rand 2 ];

	return 'SELECT ' . join(', ', @keys, one_of('count(*)', ()), some_aggregates($tables)) . ' FROM metrics GROUP BY ' . join(', ', 1 .. @keys);
}

# Run a statement, and then a query with and without roll-ups.  Returns whether the results
# differ, and how roll-ups were used: until a time, or not.
sub compare
{
	my ($node, $kind, $statement, $query) = @_;
	my $rows = "SELECT coalesce(string_agg(t::text, ' ' ORDER BY t::text), 'none') FROM ($query) t";
	my ($code, $lines, $error) = $node->psql('postgres', <<"END", on_error_stop => 1);
		SET search_path = $kind, public;
		SET client_min_messages = error;
		SET extra_float_digits = 0;
		DO \$do\$ BEGIN @{[ $statement =~ s/^SELECT/PERFORM/r ]}; END \$do\$;
		$rows;
		SET mongo_ts_fdw.enable_rollups = off;
		$rows;
		RESET mongo_ts_fdw.enable_rollups;
		EXPLAIN (COSTS OFF) $query;
END
	my ($by_rollups, $by_points, @plan) = split(/\n/, $lines);

	return (1, $error) if $code != 0;
	return ($by_rollups ne $by_points, join("\n", grep { m/Roll-up: / } @plan));
}

# Check queries between changes of the columns, on a kind of server.
sub check_columns
{
	my ($node, $kind, $rounds) = @_;
	my $tables = make_tables($node, $kind);
	my %done = (used => 0, lacking => 0);
	my (@statements, @wrong);

	foreach my $round (1 .. $rounds)
	{
		my $statement = $change{ one_of(@often) }->($tables) // next;
		my $query = a_query($tables);
		my ($differs, $plan) = compare($node, $kind, $statement, $query);

		push @statements, $statement;
		$done{used}++ if $plan =~ m/ until /;
		$done{lacking}++ if $plan =~ m/it has no totals/;
		push @wrong, join("\n", $query, $plan, 'after', @statements) if $differs;
		last if @wrong;
	}
	$node->safe_psql('postgres', "DROP FOREIGN TABLE $kind.metrics_d, $kind.metrics_h, $kind.metrics, $kind.metrics_all");
	# test/faults looks for these words
	ok(@wrong == 0, "$kind: columns that come and go: " . @wrong . ' differ') or diag(@wrong);
	cmp_ok($done{used}, '>', 0, "$done{used} queries used roll-ups, and for $done{lacking} they lacked totals");
	return;
}

1;
