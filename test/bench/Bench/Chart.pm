# Draws the chart of README.md: bars of milliseconds for five questions.
#
# chart(FIGURES) returns an SVG that is readable in light and dark pages, or ''
# if no figure is one of its questions.  The bars of a question have a scale of
# their own.

package Bench::Chart;

use strict;
use warnings;

use Bench::Report qw(milliseconds multiple);
use Exporter qw(import);
use List::Util qw(first max);

our @EXPORT_OK = qw(chart);

# Question and layout of a figure, its heading, and what it is about
my @charted = (
	[ 'groups by series and hour', 'minute', 'Groups by series and hour', 'a document a minute' ],
	[ 'groups by series and hour', 'native', 'Groups by series and hour', 'a time-series collection' ],
	[ 'count, avg of everything', 'minute', 'Count and average of everything', 'a document a minute' ],
	[ q(one series' day), 'minute', 'A day of one series', 'a document a minute' ],
	[ q(TSBS's query types), 'lastpoint', 'The last point of each host', 'TSBS, an array an hour' ]);

my @bars = (
	[ ours => 'mongo_ts_fdw' ],
	[ pipeline => 'MongoDB' ],
	[ heap => 'PostgreSQL' ]);

use constant {
	WIDTH => 640,
	LEFT => 110,      # where bars begin
	LONGEST => 400,   # of a bar
	BAR => 14,        # the height of a bar
	STEP => 18,       # from bar to bar
	TITLE => 24,      # the height of a heading
	GAP => 14,        # between questions
	TOP => 12 };

my $style = <<'END';
text { font: 13px -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #1f2328 }
.title { font-weight: 600 }
.about, .name { fill: #59636e }
.ours { fill: #0969da } .pipeline { fill: #1a7f37 } .heap { fill: #8c959f }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc }
.about, .name { fill: #9198a1 }
.ours { fill: #4493f8 } .pipeline { fill: #3fb950 } .heap { fill: #6e7681 }
}
END

# The bars of a figure: class, name, seconds and words
sub bars_of
{
	my ($figure) = @_;
	return map {
		my ($class, $name) = @$_;
		my $reference = $class eq 'ours' ? $figure
		  : first { $_->{name} eq $class } @{ $figure->{references} };
		my $words = !$reference ? ''
		  : $class eq 'ours' ? milliseconds($reference->{median}, 3)
		  : milliseconds($reference->{median}, 2) . ', ' . multiple($reference->{ratio}{median});
		$reference ? [ $class, $name, $reference->{median}, $words ] : ()
	} @bars;
}

# The elements of a figure, whose heading is at *$y
sub question
{
	my ($figure, $title, $about, $y) = @_;
	my @drawn = bars_of($figure);
	my $longest = max(map { $_->[2] } @drawn);
	my $svg = sprintf qq(<text x="0" y="%d"><tspan class="title">%s</tspan><tspan class="about" dx="8">%s</tspan></text>\n),
	  $$y + 14, $title, $about;

	$$y += TITLE;
	foreach (@drawn)
	{
		my ($class, $name, $seconds, $words) = @$_;
		my $length = max(1.5, LONGEST * $seconds / $longest);

		$svg .= sprintf qq(<text x="%d" y="%d" text-anchor="end" class="name">%s</text>)
		  . qq(<rect x="%d" y="%d" width="%.1f" height="%d" class="%s"/><text x="%.0f" y="%d">%s</text>\n),
		  LEFT - 8, $$y + 11, $name, LEFT, $$y, $length, BAR, $class, LEFT + $length + 6, $$y + 11, $words;
		$$y += STEP;
	}
	$$y += GAP;
	return $svg;
}

sub chart
{
	my @figures = @_;
	my ($svg, $y) = ('', TOP);

	foreach (@charted)
	{
		my ($question, $layout, $title, $about) = @$_;
		my $figure = first { $_->{question} eq $question && $_->{layout} eq $layout }
		  @figures or next;
		$svg .= question($figure, $title, $about, \$y);
	}
	return '' unless $svg;
	my $label = 'Milliseconds of mongo_ts_fdw, of a pipeline of MongoDB and of a table of PostgreSQL';
	return sprintf(qq(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %1\$d %2\$d" width="%1\$d" height="%2\$d" role="img" aria-label="%3\$s">\n),
		WIDTH, $y, $label) . "<style>\n$style</style>\n$svg</svg>\n";
}

1;
