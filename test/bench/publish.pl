# Write the figures of a run into the documentation.
#
# usage: perl -Itest/bench test/bench/publish.pl FILE
#        perl -Itest/bench test/bench/publish.pl --check
#
# FILE is build/bench/bench.json, or test/bench/figures.json, which keeps the
# figures of the run that was published last.  Writes that file, the chart in
# docs/images and the tables between the marks of docs/benchmarks.md.  With
# --check it writes nothing, and fails if they differ from figures.json.

use strict;
use warnings;

use Bench::Chart qw(chart);
use Bench::Report qw(summary appendix record);
use JSON::PP;

use constant {
	FIGURES => 'test/bench/figures.json',
	CHART => 'docs/images/questions.svg',
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

my ($path) = @ARGV or die "usage: publish.pl FILE | --check\n";
my $is_check = $path eq '--check';
my $run = decode_json(slurp($is_check ? FIGURES : $path));
my @figures = @{ $run->{figures} };
my $page = replace(slurp(PAGE), 'summary', summary(@figures));
my %texts = (FIGURES, record($run), CHART, chart(@figures),
	PAGE, replace($page, 'appendix', appendix(@figures)));

foreach my $file (sort keys %texts)
{
	write_file($file, $texts{$file}) unless $is_check;
	die "$file differs from " . FIGURES . ": run test/bench/run publish\n"
	  if slurp($file) ne $texts{$file};
}
