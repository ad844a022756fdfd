# Formats the measurements as tables and as data for a chart.
#
# report(FIGURES) returns the contents of files by name: bench.txt, a plain
# table; bench.md, the table of the README; and bench.dat.  This has a line for
# each figure, with its name and the ratios of the chart's references to the
# extension's time.
#
# It records in the figures which bars are met.

package Bench::Report;

use strict;
use warnings;

use Exporter qw(import);
use JSON::PP;
use List::Util qw(first max);

our @EXPORT_OK = qw(report);

use constant MOST_MEMORY => 32;

my @head = ('what', 'ours', 'beside', 'takes', 'ratio', 'spread', 'bar', 'held');

# The references with a colour in the chart
my @charted = (
	[ 'floor', qr/^floor(?: of inserts)?$/ ],
	[ 'heap', qr/^(?:logged )?heap$/ ],
	[ 'pipeline', qr/^pipeline/ ],
	[ 'ClickHouse', qr/^ClickHouse/ ],
	[ 'mongo_fdw', qr/^mongo_fdw, (?!buckets)/ ],
	[ 'mongo_fdw on json', qr/^mongo_fdw, buckets/ ]);

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

	return $bar == int($bar) ? $bar
	  : $times > 2 && abs($times - sprintf('%.0f', $times)) < 1e-6
	  ? sprintf('1/%.0f', $times)
	  : $bar;
}

# Record whether a bar is met, and return its text for the tables.
sub record_bar
{
	my ($what, $value, $bar) = @_;

	return ('', '') unless defined $bar;
	$what->{held} = $value <= $bar ? JSON::PP::true : JSON::PP::false;
	return ('<= ' . bar($bar), $what->{held} ? 'yes' : 'NO');
}

# The rows of a figure: each reference, each count, memory
sub rows_of_figure
{
	my ($figure) = @_;
	my @rows;

	foreach my $reference (@{ $figure->{references} })
	{
		my %ratio = %{ $reference->{ratio} };
		push @rows, [ $figure->{name}, duration($figure->{median}),
			$reference->{name}, duration($reference->{median}),
			ratio($ratio{median}),
			ratio($ratio{least}) . ' .. ' . ratio($ratio{greatest}),
			record_bar($reference, $ratio{median}, $reference->{bar}) ];
	}
	foreach my $count (@{ $figure->{counts} })
	{
		my $value = $count->{ratio} // $count->{value};
		push @rows, [ $figure->{name}, duration($figure->{median}),
			$count->{beside} ? "$count->{name} of $count->{beside}"
			: $count->{name}, '',
			$count->{ratio} ? ratio($value) : $value, '',
			record_bar($count, $value, $count->{most} // $count->{bar}) ];
	}
	$figure->{of_memory} = {};
	push @rows, [ $figure->{name}, duration($figure->{median}), 'memory, MB', '',
		sprintf('%.1f', $figure->{memory}), '',
		record_bar($figure->{of_memory}, $figure->{memory}, MOST_MEMORY) ];
	return @rows;
}

# Omit cells that repeat the row above.
sub without_repeats
{
	my $above = '';

	return map {
		my @row = @$_;
		@row[ 0, 1 ] = ('', '') if $row[0] eq $above;
		$above = $_->[0];
		\@row
	} @_;
}

sub text
{
	my @rows = (\@head, without_repeats(@_));
	my @widths = map {
		my $i = $_;
		max(map { length $_->[$i] } @rows)
	} 0 .. $#head;

	return join '', map {
		my $row = $_;
		(join('  ', map { sprintf '%-*s', $widths[$_], $row->[$_] } 0 .. $#head)
			  =~ s/ +$//r) . "\n"
	} @rows;
}

# Only references with a bar, and the largest memory
sub markdown
{
	my @rows = grep { $_->[6] } @_;
	my @memory = sort { $b->[4] <=> $a->[4] }
	  grep { $_->[2] eq 'memory, MB' } @rows;
	@rows = grep { $_->[2] ne 'memory, MB' } @rows;
	push @rows, [ "most memory: $memory[0][0]", @{ $memory[0] }[ 1 .. 7 ] ]
	  if @memory;
	my @lines = (\@head, [ ('---') x @head ], without_repeats(@rows));
	return join '', map { '| ' . join(' | ', @$_) . " |\n" } @lines;
}

sub data
{
	my @lines = ('"" ' . join(' ', map { qq("$_->[0]") } @charted));

	foreach my $figure (@_)
	{
		my @times = map {
			my $pattern = $_->[1];
			my $reference = first { $_->{name} =~ $pattern }
			  @{ $figure->{references} };
			$reference ? sprintf('%.3f', 1 / $reference->{ratio}{median}) : '-'
		} @charted;
		push @lines, qq("$figure->{name}" @times) if grep { $_ ne '-' } @times;
	}
	return join("\n", @lines) . "\n";
}

sub report
{
	my @figures = @_;
	my @rows = map { rows_of_figure($_) } @figures;

	return ('bench.txt' => text(@rows), 'bench.md' => markdown(@rows),
		'bench.dat' => data(@figures));
}

1;
