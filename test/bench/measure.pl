# Measure the figures of Bench::Figures, Bench::Native, Bench::Writing and
# Bench::Peers beside their references.
#
# usage: measure.pl DIR DATABASE DAYS
#
# DIR has the floor program and gets bench.json, bench.txt, bench.md and
# bench.dat.  ROUNDS and ONLY in the environment are as in test/bench/run.
# PEER is the port of the PostgreSQL with mongo_fdw, CLICKHOUSE the directory
# of its module; measurements that need an unset one are omitted.  Each round
# runs the extension and every reference once, in alternating order.  A figure
# is the median of the rounds' ratios, its spread their minimum and maximum.

use strict;
use warnings;

use Bench::Figures qw(reads);
use Bench::Native qw(natives);
use Bench::Peers qw(peers);
use Bench::Report qw(report);
use Bench::Session qw(start start_psql run_sql time_sql time_floor
  time_clickhouse finish memory);
use Bench::Writing qw(writes);
use JSON::PP;
use List::Util qw(max min sum);
use POSIX qw(strftime);

# Short measurements are repeated for this number of seconds.
use constant MOST_ROUNDS => 25;
use constant SECONDS => 4;

my ($dir, $database, $days) = @ARGV;
my $least_rounds = $ENV{ROUNDS} || 5;
my $only = $ENV{ONLY} || '.';
my ($host) = $ENV{MONGODB_URI} =~ m{//([^/]+)};
my $psql = start_psql();
my $peer = $ENV{PEER} && start_psql($ENV{PEER});
my $floor = start("$dir/floor", $ENV{MONGODB_URI}, $database);
my $clickhouse = $ENV{CLICKHOUSE}
  && start('/usr/bin/python3', 'test/bench/clickhouse.py', $ENV{CLICKHOUSE});

sub median
{
	my @sorted = sort { $a <=> $b } @_;
	my $half = int(@sorted / 2);

	return @sorted % 2 ? $sorted[$half]
	  : ($sorted[ $half - 1 ] + $sorted[$half]) / 2;
}

# ---- One measurement
# ---------------------------------------------------------

# An update that stores a point of the current time
sub upsert_of_now
{
	my $now = time;
	my $second = $now % 60;
	my $minute = strftime('%Y-%m-%dT%H:%M:00Z', gmtime($now));

	return { selector => { symbol => 'GOOG', d => { '$date' => $minute } },
		update => { '$set' => { "p.$second" => rand } } };
}

# The request to the floor program
sub question
{
	my ($what) = @_;
	my %question = map { $_ => $what->{$_} }
	  grep { $what->{$_} } qw(collection finds pipeline upserts);

	$question{upsert} = upsert_of_now() if $what->{one_point};
	return \%question;
}

sub ask_floor
{
	my ($what) = @_;

	run_sql($psql, "\\o /dev/null\n$what->{before};\n\\o\nSELECT")
	  if $what->{before};
	my ($seconds, $documents, $bytes) = time_floor($floor, question($what));
	@{$what}{qw(documents bytes)} = ($documents + 0, $bytes + 0);
	return $seconds;
}

sub ask_sql
{
	my ($what, $session) = @_;
	my $seconds = time_sql($session, $what->{sql}, $what->{before});

	run_sql($session, $what->{after}) if $what->{after};
	return $seconds;
}

# Return the seconds of the extension or of a reference, divided by the points
# if these are known.
sub seconds_of
{
	my ($what, $figure) = @_;
	my $seconds =
	    $what->{clickhouse} ? time_clickhouse($clickhouse, $what->{clickhouse})
	  : $what->{sql} ? ask_sql($what, $figure->{at_peer} ? $peer : $psql)
	  : ask_floor($what);

	return $seconds / ($what->{points} || 1);
}

sub set_batch_size
{
	my ($reference, $size) = @_;

	$_->{opts}{batchSize} = $size foreach @{ $reference->{finds} };
	$reference->{upserts}{batchSize} = $size if $reference->{upserts};
	$reference->{batch_size} = $size;
	return;
}

# Set the floor program's best batch size.
sub sweep
{
	my ($reference) = @_;
	my %seconds;

	foreach my $size ((@{ $reference->{sweep} }) x 3)
	{
		set_batch_size($reference, $size);
		push @{ $seconds{$size} }, ask_floor($reference);
	}
	my ($best) =
	  sort { min(@{ $seconds{$a} }) <=> min(@{ $seconds{$b} }) } keys %seconds;
	set_batch_size($reference, $best + 0);
	return;
}

# ---- Rounds ---------------------------------------------------------------

# One round: run each once
sub one_round
{
	my ($n, $figure) = @_;
	my @all = ($figure, grep { !$_->{sum} } @{ $figure->{references} });

	@all = reverse @all if $n % 2;
	push @{ $_->{seconds} }, seconds_of($_, $figure) foreach @all;
	foreach my $what (grep { $_->{sum} } @{ $figure->{references} })
	{
		my %names = map { $_ => 1 } @{ $what->{sum} };
		push @{ $what->{seconds} }, sum($what->{plus} // 0,
			map { $_->{seconds}[-1] }
			  grep { $names{ $_->{name} } } @{ $figure->{references} });
	}
	return;
}

# Return how often a figure of this duration is measured in a round.
sub rounds_for
{
	my ($seconds) = @_;
	return max($least_rounds, min(MOST_ROUNDS, int(SECONDS / $seconds)));
}

sub measure
{
	my ($figure) = @_;
	my @references = @{ $figure->{references} };

	sweep($_) foreach grep { $_->{sweep} } @references;
	# once without measuring, so that the data are in memory
	my $began = time;
	seconds_of($_, $figure) foreach $figure, grep { !$_->{sum} } @references;
	one_round($_, $figure)
	  foreach 0 .. rounds_for(max(time - $began, 0.01)) - 1;
	foreach my $what ($figure, @references)
	{
		$what->{median} = median(@{ $what->{seconds} });
	}
	foreach my $reference (@references)
	{
		my @ratios = map {
			$figure->{seconds}[$_] / $reference->{seconds}[$_]
		} 0 .. $#{ $reference->{seconds} };
		$reference->{ratio} = { median => median(@ratios),
			least => min(@ratios), greatest => max(@ratios) };
	}
	explain($figure) unless $figure->{is_write};
	$figure->{memory} = memory($figure->{at_peer} && $ENV{PEER},
		@{$figure}{qw(sql before)});
	return;
}

# The queries to MongoDB, and the numbers of their results
sub explain
{
	my ($figure) = @_;
	my $session = $figure->{at_peer} ? $peer : $psql;

	run_sql($session, $figure->{before}) if $figure->{before};
	$figure->{plan} = run_sql($session,
		"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) $figure->{sql}");
	run_sql($session, $figure->{after}) if $figure->{after};
	foreach my $count (@{ $figure->{counts} })
	{
		$count->{value} =
		  sum(map { m/^ +\Q$count->{line}\E: (\d+)/ ? $1 : () }
			  split(m/\n/, $figure->{plan})) // die "no $count->{line}\n";
		my ($beside) = grep { $_->{name} eq ($count->{beside} // '') }
		  @{ $figure->{references} };
		$count->{ratio} = $count->{value} / $beside->{bytes} if $beside;
	}
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

# Of many lookups only the first is printed.
sub without_lookups
{
	my ($figure) = @_;

	foreach my $reference (grep { $_->{finds} } @{ $figure->{references} })
	{
		$reference->{lookups} = @{ $reference->{finds} };
		splice @{ $reference->{finds} }, 1;
	}
	return $figure;
}

my $points = $days * 5 * 86400;
my $version = run_sql($psql,
	q(SELECT mongo_ts_command('mongo', '{"buildInfo": 1}')->>'version'));
my $has_native = run_sql($psql,
	q(SELECT mongo_ts_command('mongo', '{"listCollections": 1,
		"filter": {"type": "timeseries"}}')#>>'{cursor,firstBatch,0,name}'));

my @measured;
foreach my $figure (grep { $_->{name} =~ m/$only/ } reads($host, $database),
	$has_native ? natives($points, $version) : (), writes($dir),
	$peer ? peers() : ())
{
	print STDERR "# $figure->{name}\n";
	@{ $figure->{references} } =
	  grep { $clickhouse || !$_->{clickhouse} } @{ $figure->{references} };
	measure($figure);
	push @measured, $figure;
}

my %report = report(@measured);
print $report{'bench.txt'};
write_file($_, $report{$_}) foreach keys %report;
write_file('bench.json', JSON::PP->new->canonical->pretty->encode({
		date => strftime('%Y-%m-%d', gmtime), days => $days + 0,
		points => $points,
		postgresql => run_sql($psql, 'SHOW server_version'),
		mongodb => $version,
		figures => [ map { without_lookups($_) } @measured ] }));
finish($_) foreach grep { $_ } $psql, $peer, $floor, $clickhouse;
