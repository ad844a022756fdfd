# Measure the figures of Bench::Questions beside their references.
#
# usage: measure.pl DIR DATABASE DAYS
#
# DIR has the programs floor and load and gets bench.json, bench.md and, if its
# questions are measured, bench.svg.  QUICK, ROUNDS and ONLY in the environment are as in
# test/bench/run.  PEER is the port of the PostgreSQL with mongo_fdw and
# TimescaleDB, COLUMNAR the directory of ClickHouse and DuckDB; references that
# need an unset one are omitted.  Each round runs the extension and every
# reference once, in alternating order.  A figure is the median of the rounds'
# ratios, its spread their minimum and maximum.

use strict;
use warnings;

use Bench::Questions qw(figures);
use Bench::Chart qw(chart);
use Bench::Report qw(summary appendix);
use Bench::Rounds qw(median rounds_for);
use Bench::Session qw(start start_psql run_sql run_beside end_beside time_sql
  time_planning time_first time_floor time_line time_sessions finish memory);
use Bench::Setup qw(set_up set_up_peer set_up_duckdb);
use JSON::PP;
use List::Util qw(max min sum uniq);
use POSIX qw(ceil strftime);

# The batch sizes that the floor program tries
use constant BATCHES => (500, 1500, 5000, 20000);
use constant INSERTS => (250, 1000, 4000, 16000);

# Sessions write for so many seconds.
use constant DURATION => $ENV{QUICK} ? 0.5 : 2;

my ($dir, $database, $days) = @ARGV;
my ($host) = $ENV{MONGODB_URI} =~ m{//([^/]+)};
my $psql = start_psql();
my $peer = $ENV{PEER} && start_psql($ENV{PEER});
my $floor = start("$dir/floor", $ENV{MONGODB_URI}, $database);
my ($clickhouse, $duckdb) = $ENV{COLUMNAR}
  ? map { start('/usr/bin/python3', 'test/bench/columnar.py', $ENV{COLUMNAR}, $_)
  } qw(chdb duckdb) : ();

# ---- One measurement
# ---------------------------------------------------------

# An update that stores a point of the current time
sub upsert_of_now
{
	my $now = time;
	my $second = $now % 60;
	my $minute = strftime('%Y-%m-%dT%H:%M:00Z', gmtime($now));

	return { selector => { host => 'host_2', d => { '$date' => $minute } },
		update => { '$set' => { "v.$second" => rand } } };
}

sub run_silently
{
	my ($session, $sql) = @_;
	run_sql($session, "\\o /dev/null\n$sql;\n\\o\nSELECT") if $sql;
	return;
}

sub ask_floor
{
	my ($what) = @_;
	my %question = map { $_ => $what->{$_} }
	  grep { $what->{$_} } qw(collection finds pipeline inserts encodes);

	$question{upsert} = upsert_of_now() if $what->{upsert};
	run_silently($psql, $what->{before});
	my ($seconds, $documents, $bytes) = time_floor($floor, \%question);
	@{$what}{qw(documents bytes)} = ($documents + 0, $bytes + 0);
	return $seconds;
}

sub ask_sql
{
	my ($what, $session) = @_;

	run_silently($session, $what->{before});
	my $seconds = time_sql($session, $what->{sql});
	run_silently($session, $what->{after});
	return $seconds;
}

# Return the seconds of a transaction of sessions of pgbench.
sub ask_sessions
{
	my ($what) = @_;

	write_file('script', $what->{script});
	return time_sessions("$dir/script", $what->{sessions}, ceil(DURATION));
}

# Return the seconds of a bulk write of as many processes, which go on where they
# have ended.
sub ask_second
{
	my ($what) = @_;
	my ($collection, $clients, $series, $is_set) =
	  @{ $what->{second} }{qw(collection clients series is_set)};
	my $uri = $ENV{ $is_set ? 'MEMBERS_URI' : 'MONGODB_URI' };
	my $n = $what->{n} // 10;
	my $command = "$dir/second '$uri' $database $collection $clients $series $n "
	  . ($what->{first} // 0);
	my $rate = qx($command);

	die "second has failed\n" if $? != 0;
	$what->{first} += $n;
	$what->{n} = max(5, int($rate * DURATION / $clients));
	return 1 / $rate;
}

# Return the seconds of the extension or of a reference, for 1,000 points if
# their number is known.
sub seconds_of
{
	my ($what, $figure) = @_;
	my $session = $what->{is_peer} || $figure->{at_peer} ? $peer : $psql;
	my $seconds =
	    $what->{clickhouse}
	  ? time_line($clickhouse, sprintf $what->{clickhouse},
		"'$host', '$database'")
	  : $what->{duckdb} ? time_line($duckdb, $what->{duckdb})
	  : $what->{sessions} ? ask_sessions($what)
	  : $what->{second} ? ask_second($what)
	  : $what->{is_first} ? time_first($session->{port}, $what->{sql})
	  : $what->{is_planning} ? time_planning($session, $what->{sql})
	  : $what->{sql} ? ask_sql($what, $session)
	  : ask_floor($what);

	return $seconds / ($what->{points} || 1);
}

# ---- The best floor ---------------------------------------------------------

# Set a way to ask: a projection of the fields or none, and a batch size.
sub set_way
{
	my ($reference, $way) = @_;
	my ($is_whole, $size) = @$way;
	my %fields = map { $_ => 1 } @{ $reference->{fields} };

	foreach my $find (@{ $reference->{finds} })
	{
		$find->{opts}{batchSize} = $size;
		$find->{opts}{projection} = $is_whole ? {} : \%fields;
	}
	$reference->{$_}{batchSize} = $size
	  foreach grep { $reference->{$_} } qw(inserts encodes);
	return;
}

# Set the fastest of ways to ask, and return it.
sub choose
{
	my ($reference, @ways) = @_;
	my @best;

	# twice, unless that takes long
	foreach my $n (0 .. 2 * @ways - 1)
	{
		my $way = $ways[ $n % @ways ];

		last if $n >= @ways && $best[0] > 1;
		set_way($reference, $way);
		my $seconds = ask_floor($reference);
		@best = ($seconds, $way) if !@best || $seconds < $best[0];
	}
	set_way($reference, $best[1]);
	return $best[1];
}

# The best ways to read collections
my %best;

# Set the floor program's best projection, and then its best batch size.
sub sweep
{
	my ($reference) = @_;
	my $read = join ' ', $reference->{collection} // '',
	  @{ $reference->{fields} // [] };

	if ($reference->{inserts} || $reference->{encodes})
	{
		choose($reference, map { [ 0, $_ ] } INSERTS);
	}
	elsif (!$reference->{finds})
	{
		return;
	}
	elsif (%{ $reference->{finds}[0]{opts} } || @{ $reference->{finds} } > 1)
	{
		choose($reference, [ 0, 1500 ], [ 1, 1500 ]);
	}
	elsif (!%{ $reference->{finds}[0]{filter} } && $best{$read})
	{
		set_way($reference, $best{$read});
	}
	else
	{
		my ($is_whole) = @{ choose($reference, [ 0, 1500 ], [ 1, 1500 ]) };
		$best{$read} = choose($reference, map { [ $is_whole, $_ ] } BATCHES);
	}
	return;
}

# ---- Rounds ---------------------------------------------------------------

# Run each once without measuring, so that the data are in memory, and then in
# rounds.
sub run_rounds
{
	my ($figure, @references) = @_;
	my %rounds;
	my @all = ($figure, @references);

	foreach my $what (@all)
	{
		run_silently($psql, $what->{once});
		sweep($what);
		my $seconds = seconds_of($what, $figure);
		$rounds{$what} = rounds_for($figure->{sessions} ? DURATION : $seconds);
	}
	for my $n (0 .. $rounds{$figure} - 1)
	{
		foreach my $what ($n % 2 ? reverse @all : @all)
		{
			push @{ $what->{seconds} }, seconds_of($what, $figure)
			  if $n < $rounds{$what};
		}
	}
	return;
}

# Add up the shares of other references in each round.
sub add_up
{
	my ($what, @references) = @_;
	my @parts = grep { $what->{sum}{ $_->{name} } } @references;
	my $rounds = min(map { scalar @{ $_->{seconds} } } @parts);

	$what->{seconds} = [ map {
			my $n = $_;
			sum(map { $what->{sum}{ $_->{name} } * $_->{seconds}[$n] } @parts)
		} 0 .. $rounds - 1 ];
	return;
}

sub measure
{
	my ($figure) = @_;
	my @references = @{ $figure->{references} };
	my @measured = grep { !$_->{sum} } @references;

	my $beside = $figure->{beside} && run_beside($psql, $figure->{beside});
	run_rounds($figure, @measured);
	end_beside($psql, $beside) if $beside;
	add_up($_, @measured) foreach grep { $_->{sum} } @references;
	$_->{median} = median(@{ $_->{seconds} }) foreach $figure, @references;
	foreach my $reference (@references)
	{
		my @ratios = map {
			$figure->{seconds}[$_] / $reference->{seconds}[$_]
		} 0 .. $#{ $reference->{seconds} };
		$reference->{ratio} = { median => median(@ratios),
			least => min(@ratios), greatest => max(@ratios) };
	}
	$figure->{is_write} ? count_rows($figure) : explain($figure);
	$figure->{memory} = memory($figure->{at_peer} && $ENV{PEER},
		$figure->{sql}, join ';', grep { $_ } @{$figure}{qw(once before)})
	  unless $ENV{QUICK} || $figure->{sessions} || $figure->{is_planning};
	return;
}

# The rows that are written, and those of the floor, are all that are given.
sub count_rows
{
	my ($figure) = @_;
	my @counts = map { run_sql($psql, "SELECT count(*) FROM $_") }
	  @{ $figure->{same} };

	die "$figure->{layout}: @{ $figure->{same} } have @counts rows\n" if uniq(@counts) > 1;
	return;
}

# The pipeline answers with as many documents, and of numbers whose sums are
# exact the heap with the same rows.
sub compare_answers
{
	my ($figure) = @_;
	my @rows = split m/\n/, run_sql($figure->{at_peer} ? $peer : $psql,
		$figure->{sql});

	foreach my $reference (@{ $figure->{references} })
	{
		my ($name, $sql) = @{$reference}{qw(name sql)};
		die "$figure->{layout}: $name has another answer\n"
		  if $reference->{pipeline} && $reference->{documents} != @rows
		  || $figure->{is_exact} && $name eq 'heap'
		  && join("\n", sort @rows)
		  ne join("\n", sort split m/\n/, run_sql($psql, $sql));
	}
	return;
}

# The queries to MongoDB, and the numbers of their results
sub explain
{
	my ($figure) = @_;
	my $session = $figure->{at_peer} ? $peer : $psql;

	compare_answers($figure);
	run_silently($session, $figure->{before});
	$figure->{plan} = run_sql($session,
		"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) $figure->{sql}");
	$figure->{workers} = sum(0, $figure->{plan} =~ m/Workers Launched: (\d+)/g);
	return if $figure->{workers};
	delete $_->{bar}
	  foreach grep { $_->{name} eq 'serial' } @{ $figure->{references} };
	return;
}

# ---- Main program
# ------------------------------------------------------------------

sub write_file
{
	my ($name, $text) = @_;

	open(my $file, '>', "$dir/$name") or die "$dir/$name: $!\n";
	print $file $text;
	close($file) or die "$dir/$name: $!\n";
	return;
}

sub is_available
{
	my ($what) = @_;
	return !(($what->{is_peer} || $what->{at_peer}) && !$peer
		|| ($what->{clickhouse} || $what->{duckdb}) && !$duckdb);
}

# Of many lookups only the first is printed, of a table only its name.
sub abridge
{
	my ($figure) = @_;

	foreach my $reference (grep { $_->{finds} } @{ $figure->{references} })
	{
		$reference->{lookups} = @{ $reference->{finds} };
		splice @{ $reference->{finds} }, 1;
	}
	$figure->{tables} = [ map { $_->{name} } @{ $figure->{tables} } ];
	return $figure;
}

my @figures = grep { is_available($_) } figures($ENV{ONLY} || '.', $dir);
@figures = set_up($psql, $dir, $database, $days, @figures);
set_up_peer($peer, $psql, $dir, $database, $days, @figures) if $peer;
set_up_duckdb($duckdb, $psql, $dir, $days, @figures) if $duckdb;

foreach my $figure (@figures)
{
	print STDERR "# $figure->{layout}: $figure->{question}\n";
	$figure->{references} = [ grep { is_available($_) }
		  @{ $figure->{references} } ];
	measure($figure);
}

my $tables = join "\n", summary(@figures), appendix(@figures);
my $chart = chart(@figures);
print $tables;
write_file('bench.md', $tables);
write_file('bench.svg', $chart) if $chart;
write_file('bench.json', JSON::PP->new->canonical->pretty->encode({
		date => strftime('%Y-%m-%d', gmtime), days => $days + 0,
		points => $days * 5 * 86400,
		postgresql => run_sql($psql, 'SHOW server_version'),
		mongodb => run_sql($psql, q(SELECT mongo_ts_command('mongo',
			'{"buildInfo": 1}')->>'version')),
		figures => [ map { abridge($_) } @figures ] }));
finish($_) foreach grep { $_ } $psql, $peer, $floor, $clickhouse, $duckdb;
