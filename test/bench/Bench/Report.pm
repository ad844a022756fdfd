# Formats the measurements as tables and as data for a chart.
#
# report(FIGURES) returns the contents of files by name: bench.md, a table for
# each question, with a line for each layout and a column for each reference;
# and bench.dat.  This has a line for some figures, with their names and the
# ratios of the chart's references to the extension's time.
#
# It records in the references which bars are met.

package Bench::Report;

use strict;
use warnings;

use Exporter qw(import);
use JSON::PP;
use List::Util qw(first max uniq);

our @EXPORT_OK = qw(report);

use constant MOST_MEMORY => 32;

# The references with a colour in the chart
my @charted = (
	[ 'floor', qr/^floor$/ ],
	[ 'heap', qr/^heap$/ ],
	[ 'pipeline', qr/^pipeline/ ],
	[ 'ClickHouse', qr/^ClickHouse/ ],
	[ 'DuckDB', qr/^DuckDB/ ],
	[ 'TimescaleDB', qr/^TimescaleDB/ ],
	[ 'mongo_fdw', qr/^mongo_fdw, a/ ]);

sub duration
{
	my ($seconds) = @_;
	my $ms = $seconds * 1000;

	return sprintf '%.2f us', $ms * 1000 if $ms < 0.1;
	return sprintf $ms < 10 ? '%.2f ms' : $ms < 100 ? '%.1f ms' : '%.0f ms', $ms;
}

# A small ratio as a fraction, such as 1/20
sub ratio
{
	my ($ratio) = @_;
	return sprintf $ratio < 0.1 ? '1/%.0f' : '%.2f',
	  $ratio < 0.1 ? 1 / $ratio : $ratio;
}

sub bar
{
	my ($bar) = @_;
	my $times = 1 / $bar;

	return $times > 2 && abs($times - sprintf('%.0f', $times)) < 1e-6
	  ? sprintf('1/%.0f', $times)
	  : $bar;
}

sub reference_of
{
	my ($figure, $name) = @_;
	return first { $_->{name} eq $name } @{ $figure->{references} };
}

# The median of the ratios and their spread.  A missed bar is bold.
sub cell
{
	my ($figure, $name, $is_bar_shown) = @_;
	my $reference = reference_of($figure, $name) or return '';
	my %ratio = map { $_ => ratio($reference->{ratio}{$_}) }
	  keys %{ $reference->{ratio} };
	my $spread = "($ratio{least} .. $ratio{greatest})";
	my $bar = $reference->{bar};

	return "$ratio{median} $spread" unless defined $bar;
	my $is_met = $reference->{ratio}{median} <= $bar;
	$reference->{is_met} = $is_met ? JSON::PP::true : JSON::PP::false;
	$ratio{median} = "**$ratio{median}**" unless $is_met;
	return "$ratio{median} $spread" . ($is_bar_shown ? ' <= ' . bar($bar) : '');
}

# The bar that all figures have of a reference
sub common_bar
{
	my ($name, @figures) = @_;
	my @bars = uniq(map { $_->{bar} // '' } grep { defined }
		  map { reference_of($_, $name) } @figures);

	return @bars == 1 && $bars[0] ? $bars[0] : undef;
}

sub line { return '| ' . join(' | ', @_) . " |\n" }

# The table of a question
sub table
{
	my ($question, @figures) = @_;
	my @names = uniq(map { map { $_->{name} } @{ $_->{references} } } @figures);
	my $has_workers = grep { $_ eq 'serial' } @names;
	my %bars = map { $_ => common_bar($_, @figures) } @names;
	my @head = ($question, 'mongo_ts_fdw',
		(map { $_ . ($bars{$_} ? ' <= ' . bar($bars{$_}) : '') } @names),
		$has_workers ? 'workers' : ());

	return join '', line(@head), line(('---') x @head), map {
		my $figure = $_;
		line($figure->{layout}, duration($figure->{median}),
			(map { cell($figure, $_, !$bars{$_}) } @names),
			$has_workers ? $figure->{workers} // '' : ())
	} @figures;
}

sub markdown
{
	my @figures = @_;
	my $most = first { $_ } sort { $b->{memory} <=> $a->{memory} }
	  grep { $_->{memory} } @figures;

	return join "\n", (map {
			my $question = $_;
			table($question, grep { $_->{question} eq $question } @figures)
		} uniq(map { $_->{question} } @figures)),
	  $most
	  ? sprintf("Most memory: %.1f MB, at most %d (%s: %s)\n", $most->{memory},
		MOST_MEMORY, $most->{layout}, $most->{question})
	  : ();
}

# The name of a figure in the chart: all layouts of the groups, all questions of
# minutes, and single questions
sub label
{
	my ($figure) = @_;
	my ($layout, $question) = @{$figure}{qw(layout question)};

	return $layout unless grep { $_->{name} eq $layout } @{ $figure->{tables} };
	return $layout eq 'minute' || $question =~ m/^groups/
	  ? "$layout: $question" =~ s/_/ /gr : undef;
}

sub data
{
	my @lines = ('"" ' . join(' ', map { qq("$_->[0]") } @charted));

	foreach my $figure (grep { label($_) } @_)
	{
		my @times = map {
			my $pattern = $_->[1];
			my $reference = first { $_->{name} =~ $pattern }
			  @{ $figure->{references} };
			$reference ? sprintf('%.3f', 1 / $reference->{ratio}{median}) : '-'
		} @charted;
		push @lines, '"' . label($figure) . qq(" @times) if grep { $_ ne '-' } @times;
	}
	return join("\n", @lines) . "\n";
}

sub report
{
	my @figures = @_;
	return ('bench.md' => markdown(@figures), 'bench.dat' => data(@figures));
}

1;
