# Draws the charts, as SVG that is readable in light and dark pages.
#
# chart(FIGURES) is that of README.md: bars of milliseconds for five questions, or
# '' if no figure is one of them.  The bars of a question have a scale of their own.
# growth_chart(SIZES) has a curve for each question of Bench::Growth: milliseconds by
# points, both in powers of ten.

package Bench::Chart;

use strict;
use warnings;

use Bench::Report qw(milliseconds multiple digits);
use Exporter qw(import);
use List::Util qw(first max min);
use POSIX qw(ceil floor);

our @EXPORT_OK = qw(chart growth_chart);

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
	return image($y, $label, $svg);
}

sub image
{
	my ($height, $label, $svg, $more) = @_;
	return sprintf(qq(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %1\$d %2\$d" width="%1\$d" height="%2\$d" role="img" aria-label="%3\$s">\n),
		WIDTH, $height, $label) . "<style>\n$style" . ($more // '') . "</style>\n$svg</svg>\n";
}

# ---- How it grows -----------------------------------------------------------

my $curve_style = <<'END';
polyline { stroke-width: 2 }
.grid { stroke: #d1d9e0 }
.groups { fill: #8c959f; stroke: #8c959f } .analyze { fill: #8250df; stroke: #8250df }
.day { fill: #bc4c00; stroke: #bc4c00 } .hour { fill: #1a7f37; stroke: #1a7f37 }
.last { fill: #0969da; stroke: #0969da } .planning { fill: #bf3989; stroke: #bf3989 }
@media (prefers-color-scheme: dark) { .grid { stroke: #3d444d } }
END

# The curves: question, words at its end, class
my @curves = (
	[ 'groups of everything by series and hour', 'groups of everything', 'groups' ],
	[ 'ANALYZE', 'ANALYZE', 'analyze' ],
	[ 'a day of one series', 'a day of one series', 'day' ],
	[ 'an hour of one series', 'an hour of one series', 'hour' ],
	[ 'the last point of one series', 'the last point', 'last' ],
	[ 'planning an hour of one series', 'planning', 'planning' ]);

use constant {
	PLOT_LEFT => 80,
	PLOT_RIGHT => 460,    # where the words of the curves begin
	PLOT_TOP => 14,
	PLOT_BOTTOM => 330,
	WORDS => 16 };        # the height of a line of words

sub log10 { return log($_[0]) / log(10) }

# The whole powers of ten around numbers
sub decades
{
	my @logs = map { log10($_) } @_;
	return (floor(min(@logs) + 1e-9), ceil(max(@logs) - 1e-9));
}

# Return a function from a number to its place between two places.
sub scale
{
	my ($from, $to, $low, $high) = @_;
	return sub { return $from + (log10($_[0]) - $low) / ($high - $low) * ($to - $from) };
}

# Lines and words for powers of ten of milliseconds
sub rows_of_grid
{
	my ($y, $low, $high) = @_;
	return join '', map {
		my $at = $y->(10**$_);
		sprintf qq(<path d="M%d %.1fH%d" class="grid"/><text x="%d" y="%.1f" text-anchor="end" class="name">%s</text>\n),
		  PLOT_LEFT, $at, PLOT_RIGHT, PLOT_LEFT - 8, $at + 4,
		  $_ >= 3 ? 10**($_ - 3) . ' s' : 10**$_ . ' ms'
	} $low .. $high;
}

# Places of words near their wishes that leave room for each other
sub spread_out
{
	my @wishes = @_;
	my @order = sort { $wishes[$a] <=> $wishes[$b] } 0 .. $#wishes;
	my @places = @wishes;

	foreach my $i (1 .. $#order)
	{
		$places[ $order[$i] ] = max($places[ $order[$i] ], $places[ $order[ $i - 1 ] ] + WORDS);
	}
	return @places;
}

# The sizes with the fewest series, by points
sub growth_chart
{
	my @all = @_;
	my $least = min(map { $_->{series} } @all) // return '';
	my @sizes = grep { $_->{series} == $least } @all;
	my @drawn = grep { my $name = $_->[0]; !grep { !$_->{seconds}{$name} } @sizes } @curves;
	my @ms = decades(map { my $size = $_; map { $size->{seconds}{ $_->[0] } * 1000 } @drawn } @sizes);
	my $x = scale(PLOT_LEFT + 20, PLOT_RIGHT - 12, map { log10($_->{points}) } @sizes[ 0, -1 ]);
	my $y = scale(PLOT_BOTTOM, PLOT_TOP, @ms);
	my $svg = rows_of_grid($y, @ms);
	my @ends = spread_out(map { $y->($sizes[-1]{seconds}{ $_->[0] } * 1000) + 4 } @drawn);

	$svg .= join '', map {
		sprintf qq(<text x="%.1f" y="%d" text-anchor="middle" class="name">%s million points</text>\n),
		  $x->($_->{points}), PLOT_BOTTOM + 20, digits($_->{points} / 1e6, 2)
	} @sizes;
	foreach my $i (0 .. $#drawn)
	{
		my ($name, $words, $class) = @{ $drawn[$i] };
		my @points = map { [ $x->($_->{points}), $y->($_->{seconds}{$name} * 1000) ] } @sizes;

		$svg .= sprintf qq(<polyline points="%s" class="%s" style="fill: none"/>%s<text x="%d" y="%.1f">%s</text>\n),
		  join(' ', map { sprintf '%.1f,%.1f', @$_ } @points), $class,
		  join('', map { sprintf '<circle cx="%.1f" cy="%.1f" r="3" class="%s"/>', @$_, $class } @points),
		  PLOT_RIGHT, $ends[$i], $words;
	}
	return image(PLOT_BOTTOM + 32, 'Milliseconds of six questions by the number of points', $svg, $curve_style);
}

1;
