# Write the figures of runs into the documentation.
#
# usage: perl -Itest/bench test/bench/publish.pl FILE...
#        perl -Itest/bench test/bench/publish.pl --check
#
# A FILE is build/bench/bench.json, build/bench/growth.json or
# build/bench/documents.json.  Its figures replace those of the same layout and
# question in figures.json, those of the same size in growth.json, or all of
# documents.json, which keep what was published; each figure keeps the date of its
# run.  Writes these files, the charts in docs/images and what is between the marks
# of docs/benchmarks.md.  With --check it writes nothing, and fails if they differ
# from what is kept.

use strict;
use warnings;

use Bench::Chart qw(chart growth_chart);
use Bench::Documents qw(documents_table documents_days documents_record);
use Bench::Growth qw(growth_table growth_days merge_growth growth_record);
use Bench::Questions qw(figures);
use Bench::Report qw(overview summary appendix days merge record);
use JSON::PP;

use constant {
	FIGURES => 'test/bench/figures.json',
	GROWTH => 'test/bench/growth.json',
	DOCUMENTS => 'test/bench/documents.json',
	CHART => 'docs/images/questions.svg',
	GROWTH_CHART => 'docs/images/growth.svg',
	PAGE => 'docs/benchmarks.md' };

sub slurp
{
	my ($path) = @_;
	open(my $file, '<', $path) or die "$path: $!\n";
	local $/;
	return <$file>;
}

sub write_file
{
	my ($path, $text) = @_;
	open(my $file, '>', $path) or die "$path: $!\n";
	print $file $text;
	close($file) or die "$path: $!\n";
	return;
}

# Replace what is between a mark and the next <!-- end --> of the page.
sub replace
{
	my ($page, $mark, $text) = @_;
	$page =~ s/(<!-- $mark -->\n).*?(?=<!-- end -->)/$1\n$text\n/s
	  or die PAGE . " has no mark '$mark'\n";
	return $page;
}

# All that is written, by file
sub texts
{
	my ($kept, $growth, $documents) = @_;
	my @figures = @{ $kept->{figures} };
	my %parts = (days => days($kept), overview => overview(@figures),
		summary => summary(@figures), appendix => appendix(@figures),
		growth => growth_table(@$growth), 'growth days' => growth_days(@$growth),
		documents => documents_table($documents),
		'documents days' => documents_days($documents));
	my $page = slurp(PAGE);

	$page = replace($page, $_, $parts{$_}) foreach sort keys %parts;
	return (FIGURES, record($kept), GROWTH, growth_record(@$growth),
		DOCUMENTS, documents_record($documents),
		CHART, chart(@figures), GROWTH_CHART, growth_chart(@$growth), PAGE, $page);
}

my @paths = @ARGV or die "usage: publish.pl FILE... | --check\n";
my $is_check = $paths[0] eq '--check';
my ($kept, $growth, $documents) =
  map { decode_json(slurp($_)) } FIGURES, GROWTH, DOCUMENTS;
foreach my $run (map { decode_json(slurp($_)) } $is_check ? () : @paths)
{
	$kept = merge($kept, $run, figures('.', '')) if $run->{figures};
	$growth = [ merge_growth($growth, $run->{sizes}) ] if $run->{sizes};
	$documents = $run if $run->{questions};
}
# the page shows the figures as figures.json has them, with four digits
my %texts = texts(map { decode_json($_) } record($kept), growth_record(@$growth),
	documents_record($documents));

foreach my $file (sort keys %texts)
{
	write_file($file, $texts{$file}) unless $is_check;
	die "$file differs from the figures in test/bench: run test/bench/run publish\n"
	  if slurp($file) ne $texts{$file};
}
