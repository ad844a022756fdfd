# Tests psql and pg_dump: the questions, psql's descriptions of tables, its
# cursors and \copy, and a dump of the demo's definitions.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IPC::Run qw(run);
use Questions;
use Test::More;

# Run a script in psql and return its output.
sub psql
{
	my ($sql, %params) = @_;
	my $database = $params{database} // $ENV{PGDATABASE};

	run([ 'psql', '-XqAt', '-F', '|', '-v', 'ON_ERROR_STOP=1', '-d', $database,
			@{ $params{arguments} // [] } ], '<', \$sql, '>', \my $out)
	  or die "psql failed at: $sql";
	return $out;
}

# Return a script that prepares a question, executes it until it has a generic
# plan, and prints the last answer.
sub generic
{
	my ($question) = @_;
	my $sql = $question->{sql};
	my $number = 0;
	my $types = join(', ', map { $_->[0] } @{ $question->{parameters} });
	my $values = join(', ', map { literal($_) } @{ $question->{parameters} });
	my $execute = 'EXECUTE q' . ($values ? "($values)" : '') . ";\n";

	$sql =~ s/\?/'$' . ++$number/ge;
	return 'PREPARE q' . ($types ? " ($types)" : '') . " AS $sql;\n"
	  . "\\o /dev/null\n" . $execute x 6 . "\\o\n" . $execute;
}

sub ask
{
	my ($sql, $question, $text, %params) = @_;
	my @rows = map { [ split /\|/, $_, -1 ] } split /\n/, psql($sql, %params);

	is_deeply(in_words($question->{types}, @rows), $question->{rows},
		"$text: $question->{name}");
	return;
}

# ---- Questions ------------------------------------------------------------

foreach my $question (questions())
{
	my $sql = $question->{sql};
	my @parameters = @{ $question->{parameters} };

	$sql =~ s/\?/literal(shift @parameters)/ge;
	ask("$sql;", $question, 'psql');
	ask("\\set FETCH_COUNT 2\n$sql;", $question, 'psql, FETCH_COUNT');
	ask(generic($question), $question, 'psql, generic plan');
}

# ---- Descriptions ------------------------------------------------------

like(psql('\\d memory'), qr/^value\|bigint\|\|\|\|\(field 'values\.\{second\}', sum_field 'total_samples'\)$/m,
	'\\d shows columns and their options');
like(psql("\\t\n\\d memory"), qr/^Server: mongo\nFDW options: \(collection 'metrics', count_field 'num_samples'\)$/m,
	'\\d shows the server and the options');
like(psql('\\dew+'), qr/^mongo_ts_fdw\|postgres\|mongo_ts_fdw_handler\|mongo_ts_fdw_validator\|/m,
	'\\dew+ shows the wrapper');
like(psql('\\des+'), qr/^mongo\|postgres\|mongo_ts_fdw\|.*database 'mongo_ts_clients'/m,
	'\\des+ shows the server');
like(psql('\\det+'), qr/^public\|memory\|mongo\|\(collection 'metrics', count_field 'num_samples'\)\|memory by second$/m,
	'\\det+ shows the table');

# ---- A view ---------------------------------------------------------------

is(psql(q{EXPLAIN (COSTS OFF) SELECT max(price) FROM stocks_view WHERE symbol = 'ACME'}),
	psql(q{EXPLAIN (COSTS OFF) SELECT max(price) FROM stocks WHERE symbol = 'ACME'}),
	'a view is read as its table');
is(psql(<<"END"), "2013-10-11 00:00:00+00|NEW|1.5\n1\n1\n", 'a view is written as its table');
	INSERT INTO stocks_view VALUES ('2013-10-11', 'NEW', 1.5) RETURNING *;
	WITH d AS (UPDATE stocks_view SET price = 2 WHERE symbol = 'NEW' RETURNING 1) SELECT count(*) FROM d;
	WITH d AS (DELETE FROM stocks_view WHERE symbol = 'NEW' RETURNING 1) SELECT count(*) FROM d;
END

# ---- Cursors --------------------------------------------------------------

my $cursor = q{SELECT price FROM stocks WHERE symbol = 'ACME' ORDER BY "timestamp"};

is(psql(<<"END"), "41.29\n41.32\n41.28\n41.32\n41.29\n41.29\n40.59\n", 'cursor: back and forth');
	BEGIN;
	DECLARE c SCROLL CURSOR FOR $cursor;
	FETCH 3 FROM c;
	FETCH BACKWARD 2 FROM c;
	FETCH FIRST FROM c;
	FETCH LAST FROM c;
END

is(psql(<<"END"), "41.29\n41.29\n41.32\n27000\n41.32\n", 'cursors: two, and a query between');
	BEGIN;
	DECLARE c CURSOR FOR $cursor;
	DECLARE d CURSOR FOR $cursor;
	FETCH 1 FROM c;
	FETCH 2 FROM d;
	SELECT count(*) FROM stocks;
	FETCH 1 FROM c;
END

is(psql(<<"END"), "41.29\n41.32\n5398\n", 'cursor WITH HOLD: goes on after COMMIT');
	BEGIN;
	DECLARE c CURSOR WITH HOLD FOR $cursor;
	FETCH 1 FROM c;
	COMMIT;
	FETCH 1 FROM c;
	\\o | wc -l
	FETCH ALL FROM c;
END

# ---- \copy ----------------------------------------------------------------

is(psql(<<'END'), "3|6|2\n", '\\copy: in');
\copy written FROM STDIN (FORMAT csv)
2013-10-10 14:00:00Z,psql,1
2013-10-10 14:00:01Z,psql,
2013-10-10 14:01:00Z,psql,5
\.
SELECT count(*), sum(value), count(value) FROM written WHERE client = 'psql';
END
is(psql(<<'END'), "2013-10-10 14:00:00+00,1\n2013-10-10 14:00:01+00,\n2013-10-10 14:01:00+00,5\n", '\\copy: out');
	\copy (SELECT "timestamp", value FROM written WHERE client = 'psql' ORDER BY 1) TO STDOUT (FORMAT csv)
END

# ---- Dump and restore -----------------------------------------------------

run([ 'pg_dump', '--no-owner' ], '>', \my $dump) or die 'pg_dump failed';
unlike($dump, qr/^COPY public\.(memory|stocks) /m, 'pg_dump: leaves the points where they are');
psql('CREATE DATABASE restored');
psql($dump, database => 'restored');
foreach my $question (questions())
{
	ask(generic($question), $question, 'restored', database => 'restored');
}
run([ 'pg_dump', '--no-owner', 'restored' ], '>', \my $again) or die 'pg_dump failed';
# dumps of newer versions begin and end with a random key
s/^\\(un)?restrict .*\n//mg foreach $dump, $again;
is($again, $dump, 'pg_dump: the restored database is dumped alike');
psql('DROP DATABASE restored');

done_testing();
