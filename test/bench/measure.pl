# Measure each figure of Bench::Figures beside its references.
#
# usage: measure.pl DIR DATABASE DAYS
#
# DIR has the floor program and gets bench.json and bench.txt; ROUNDS and ONLY in
# the environment are as in test/bench/run.  In each round ours and every
# reference are asked once, now in this order, now in that one; a figure is the
# median of the rounds' ratios, its spread the least and the greatest of them.

use strict;
use warnings;

use Bench::Figures qw(figures);
use Bench::Session qw(start_psql start_floor run_sql time_sql time_floor finish
  memory);
use JSON::PP;
use List::Util qw(max min sum);
use POSIX qw(strftime);

# What is over soon is measured more often, for so many seconds.
use constant MOST_ROUNDS => 25;
use constant SECONDS => 4;

use constant BATCH_SIZES => (500, 1000, 2000, 5000, 20000);
use constant MOST_MEMORY => 32;

my ($dir, $database, $days) = @ARGV;
my $least_rounds = $ENV{ROUNDS} || 5;
my $only = $ENV{ONLY} || '.';
my $psql = start_psql();
my $floor = start_floor("$dir/floor", $ENV{MONGODB_URI}, $database);
my @table;

sub median
{
	my @sorted = sort { $a <=> $b } @_;
	my $half = int(@sorted / 2);

	return @sorted % 2 ? $sorted[$half]
	  : ($sorted[ $half - 1 ] + $sorted[$half]) / 2;
}

# ---- Measuring ------------------------------------------------------------

# What the floor program is asked
sub question
{
	my ($reference) = @_;
	return { map { $_ => $reference->{$_} }
		  grep { $reference->{$_} } qw(collection finds pipeline) };
}

# Set the batch size that serves a floor best.
sub sweep
{
	my ($reference) = @_;
	my %seconds;

	foreach my $size ((BATCH_SIZES) x 3)
	{
		$_->{opts}{batchSize} = $size foreach @{ $reference->{finds} };
		my ($took) = time_floor($floor, question($reference));
		push @{ $seconds{$size} }, $took;
	}
	my ($best) =
	  sort { min(@{ $seconds{$a} }) <=> min(@{ $seconds{$b} }) } keys %seconds;
	$_->{opts}{batchSize} = $best + 0 foreach @{ $reference->{finds} };
	$reference->{batch_size} = $best + 0;
	return;
}

# The seconds of what is measured: ours or a reference
sub seconds_of
{
	my ($what) = @_;

	return time_sql($psql, $what->{sql}) if $what->{sql};
	my ($seconds, $documents, $bytes) = time_floor($floor, question($what));
	@{$what}{qw(documents bytes)} = ($documents + 0, $bytes + 0);
	return $seconds;
}

# One round: ask each, unless it has been asked often enough.
sub one_round
{
	my ($n, $figure) = @_;
	my @all = ($figure, grep { !$_->{sum} } @{ $figure->{references} });

	@all = reverse @all if $n % 2;
	foreach my $what (grep { $n < ($_->{times} // $n + 1) } @all)
	{
		push @{ $what->{seconds} }, seconds_of($what);
	}
	foreach my $what (grep { $_->{sum} } @{ $figure->{references} })
	{
		my %names = map { $_ => 1 } @{ $what->{sum} };
		push @{ $what->{seconds} }, sum(map { $_->{seconds}[-1] }
			grep { $names{ $_->{name} } } @{ $figure->{references} });
	}
	return;
}

# How often to measure a figure that takes so long in a round
sub rounds_for
{
	my ($seconds) = @_;
	return max($least_rounds, min(MOST_ROUNDS, int(SECONDS / $seconds)));
}

sub measure
{
	my ($figure) = @_;
	my @references = @{ $figure->{references} };
	my @often = grep { !$_->{sum} && !$_->{times} } @references;

	sweep($_) foreach grep { $_->{sweep} } @references;
	# once without being counted: what is read comes into memory
	my $once = sum(map { seconds_of($_) } $figure, @often);
	one_round($_, $figure) foreach 0 .. rounds_for($once) - 1;
	foreach my $reference (@references)
	{
		my @ratios = map {
			$figure->{seconds}[$_] / $reference->{seconds}[$_]
		} 0 .. $#{ $reference->{seconds} };
		$reference->{ratio} = { median => median(@ratios),
			least => min(@ratios), greatest => max(@ratios) };
	}
	explain($figure);
	$figure->{memory} = memory($figure->{sql});
	return;
}

# What was asked of MongoDB, and how many buckets came
sub explain
{
	my ($figure) = @_;
	my $plan = run_sql($psql,
		"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) $figure->{sql}");

	$figure->{plan} = $plan;
	$figure->{buckets} = sum(0,
		map { m/^ +Buckets: (\d+)/ ? $1 : () } split(m/\n/, $plan));
	return;
}

# ---- Telling --------------------------------------------------------------

sub ms
{
	my ($seconds) = @_;
	my $ms = $seconds * 1000;

	return sprintf $ms < 10 ? '%.2f ms' : $ms < 100 ? '%.1f ms' : '%.0f ms',
	  $ms;
}

# A ratio with three digits
sub ratio { return sprintf $_[0] < 0.1 ? '%.4f' : '%.2f', $_[0] }

# Note whether a bar is held, and return what the table says of it.
sub judge
{
	my ($what, $value, $bar) = @_;

	return ('', '') unless defined $bar;
	$what->{held} = $value <= $bar ? JSON::PP::true : JSON::PP::false;
	return ('<= ' . ($bar == int($bar) ? $bar : ratio($bar)),
		$what->{held} ? 'yes' : 'NO');
}

sub add_row { push @table, [@_]; return }

sub report
{
	my ($figure) = @_;
	my ($name, $ours) = ($figure->{name}, ms(median(@{ $figure->{seconds} })));
	my %bars = (buckets => {}, memory => {});

	foreach my $reference (@{ $figure->{references} })
	{
		my %ratio = %{ $reference->{ratio} };
		add_row($name, $ours, $reference->{name},
			ms(median(@{ $reference->{seconds} })), ratio($ratio{median}),
			ratio($ratio{least}) . ' .. ' . ratio($ratio{greatest}),
			judge($reference, $ratio{median}, $reference->{bar}));
		$name = $ours = '';
	}
	add_row('', '', 'buckets', '', $figure->{buckets}, '',
		judge($bars{buckets}, $figure->{buckets}, $figure->{most_buckets}))
	  if $figure->{most_buckets};
	add_row('', '', 'memory, MB', '', sprintf('%.1f', $figure->{memory}), '',
		judge($bars{memory}, $figure->{memory}, MOST_MEMORY));
	$figure->{bars} = \%bars;
	return;
}

sub table
{
	my @rows = (
		[ 'what', 'ours', 'beside', 'takes', 'ratio', 'spread', 'bar', 'held' ],
		@table);
	my @widths = map {
		my $i = $_;
		max(map { length $_->[$i] } @rows)
	} 0 .. $#{ $rows[0] };

	return join '', map {
		my $row = $_;
		(join('  ', map { sprintf '%-*s', $widths[$_], $row->[$_] }
			  0 .. $#widths) =~ s/ +$//r) . "\n"
	} @rows;
}

sub write_file
{
	my ($name, $text) = @_;

	open(my $file, '>', "$dir/$name") or die "$dir/$name: $!\n";
	print $file $text;
	close($file) or die "$dir/$name: $!\n";
	return;
}

# Of many lookups the first tells enough.
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

my @measured;
foreach my $figure (grep { $_->{name} =~ m/$only/ } figures())
{
	print STDERR "# $figure->{name}\n";
	measure($figure);
	report($figure);
	push @measured, $figure;
}

print table();
write_file('bench.txt', table());
write_file('bench.json', JSON::PP->new->canonical->pretty->encode({
		date => strftime('%Y-%m-%d', gmtime), days => $days + 0,
		points => $days * 5 * 86400,
		postgresql => run_sql($psql, 'SHOW server_version'),
		mongodb => run_sql($psql,
			q(SELECT mongo_ts_command('mongo', '{"buildInfo": 1}')->>'version')),
		figures => [ map { without_lookups($_) } @measured ] }));
finish($_) foreach $psql, $floor;
