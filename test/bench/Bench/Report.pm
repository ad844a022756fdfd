# Formats the measurements as docs/benchmarks.md shows them.
#
# Each number is a time in milliseconds.  That of an alternative is followed by
# how many times as long as the extension's it is, the median of the rounds.
#
# overview(FIGURES) is a table of the extension's milliseconds, with a line for
# each question and a column for each of five layouts.  summary(FIGURES) has a
# table for each question of SUMMARY, with a line for each of these layouts.
# appendix(FIGURES) has all figures, and which targets are met.  A figure of
# another day than most has its date in its line.
#
# merge(KEPT, RUN, FIGURES) returns the figures of a run and, of other layouts and
# questions, those that are kept, in the order of FIGURES; record(KEPT) is the text
# of figures.json.  days(KEPT) says when they were measured.

package Bench::Report;

use strict;
use warnings;

use Exporter qw(import);
use JSON::PP;
use List::Util qw(first uniq);

our @EXPORT_OK = qw(overview summary appendix days merge record milliseconds
  multiple digits head line rounded);

# A statement may use work_mem * hash_mem_multiplier, 128 MB, and 32 MB.
use constant MOST_MEMORY => 160;

# The questions of the summary: heading and SQL
my @summary = (
	[ 'count, avg of everything', 'Count and average of everything', 'SELECT count(*), avg(v) FROM t' ],
	[ 'groups by series and hour', 'Groups by series and hour',
		q(SELECT host, date_trunc('hour', d), avg(v), min(v), max(v) FROM t GROUP BY 1, 2) ],
	[ q(one series' day), q(A day of one series),
		q(SELECT avg(v) FROM t WHERE host = 'host_2' AND d >= '2013-10-01' AND d < '2013-10-02') ],
	[ 'an hour in order', 'An hour of one series, in order',
		q(SELECT * FROM t WHERE host = 'host_2' AND d >= '2013-10-01 14:00' AND d < '2013-10-01 15:00' ORDER BY d) ],
	[ 'last point of each series', 'The last point of each series',
		'SELECT DISTINCT ON (host) host, d, v FROM t ORDER BY host, d DESC' ],
	[ 'rows', 'All rows', 'SELECT * FROM t' ],
	[ 'INSERT ... SELECT', 'Store a day in order of time', 'INSERT INTO t SELECT * FROM points ORDER BY d' ]);

# Its layouts
my @layouts = (
	[ minute => 'a document a minute' ],
	[ hour => 'a document an hour' ],
	[ samples => 'an array of 200 points' ],
	[ native => 'a time-series collection' ],
	[ flat => 'a document a point' ]);

# The alternatives of the summary
my @alternatives = (
	[ pipeline => q(MongoDB's pipeline) ],
	[ heap => q(PostgreSQL's table) ],
	[ TimescaleDB => 'TimescaleDB' ],
	[ DuckDB => 'DuckDB' ],
	[ ClickHouse => 'ClickHouse' ]);

# ---- Numbers ----------------------------------------------------------------

# A number with so many significant digits, and commas between thousands
sub digits
{
	my ($number, $digits) = @_;
	my $text = sprintf "%.*e", $digits - 1, $number;
	my ($exponent) = $text =~ m/e([+-]\d+)/;
	my $decimals = $digits - 1 - $exponent;

	$text = sprintf '%.*f', $decimals > 0 ? $decimals : 0, $text;
	1 while $text =~ s/^(\d+)(\d{3})(?!\d)/$1,$2/;
	return $text;
}

sub milliseconds
{
	my ($seconds, $digits) = @_;
	my $ms = $seconds * 1000;

	return digits($ms, $ms < 1 ? 2 : $digits) . ' ms';
}

# How many times as long as the extension an alternative takes
sub multiple { return digits(1 / $_[0], 2) . ' x' }

# A target, such as 1.15 or 1/20
sub bar
{
	my ($bar) = @_;
	my $times = 1 / $bar;

	return $times > 2 && abs($times - sprintf('%.0f', $times)) < 1e-6
	  ? sprintf('1/%.0f', $times)
	  : digits($bar, 3) =~ s/\.?0+$//r;
}

# ---- Cells ------------------------------------------------------------------

sub reference_of
{
	my ($figure, $name) = @_;
	return first { $_->{name} eq $name } @{ $figure->{references} };
}

sub cell
{
	my ($figure, $name) = @_;
	my $reference = reference_of($figure, $name) or return '';

	return milliseconds($reference->{median}, 2) . ', '
	  . multiple($reference->{ratio}{median});
}

# The same with the least and the greatest of the rounds
sub cell_with_spread
{
	my ($figure, $name) = @_;
	my $reference = reference_of($figure, $name) or return '';
	my ($least, $greatest) = map { digits(1 / $reference->{ratio}{$_}, 2) }
	  qw(greatest least);

	return cell($figure, $name) . " ($least .. $greatest)";
}

sub line { return '| ' . join(' | ', @_) . " |\n" }

sub head { return line(@_) . line(('---') x @_) }

# The first cell of a figure's line
sub dated
{
	my ($figure, $words) = @_;
	return $words . ($figure->{date} ? " ($figure->{date})" : '');
}

# ---- Tables -----------------------------------------------------------------

# The lines of the overview: words, question, and the layout of a figure that is not
# named so
my @overview = (
	(map { [ @{$_}[ 1, 0 ] ] } @summary),
	[ 'One point of one series, prepared', 'short queries', minute => 'a point, prepared' ],
	[ 'An hour of one series, prepared', 'short queries', minute => 'an hour in order, prepared' ],
	[ 'A second of 5,000 series with count and sum, one INSERT', 'second by second',
		hour => '5,000 series, one INSERT' ],
	[ 'A second of 300 series, one INSERT', 'second by second', hour => '1 session of 300 series' ],
	(map { [ "The same by each of $_ sessions at once: the time divided by the INSERTs", 'second by second',
				hour => "$_ sessions of 300 series" ] } 4, 16),
	[ 'One point, stored by a prepared INSERT', 'second by second', minute => 'one point, prepared' ]);

sub overview_line
{
	my ($words, $question, $layout, $name, @figures) = @_;
	return line($words, map {
			my $of = $_->[0];
			my $figure = first {
				$_->{question} eq $question && ($layout
					? $of eq $layout && $_->{layout} eq $name
					: $_->{layout} eq $of)
			} @figures;
			$figure ? milliseconds($figure->{median}, 3) : ''
		} @layouts);
}

sub overview
{
	my @figures = @_;
	return join '', head('', map { $_->[1] } @layouts), map {
		my ($words, $question, $layout, $name) = @$_;
		(grep { $_->{question} eq $question && (!$name || $_->{layout} eq $name) } @figures)
		  ? overview_line($words, $question, $layout, $name, @figures) : ()
	} @overview;
}

# The table of a question with five layouts
sub summary_table
{
	my ($question, $title, $sql, @figures) = @_;
	my @lines = map {
		my ($name, $words) = @$_;
		my $figure = first { $_->{layout} eq $name } @figures;
		$figure ? [ $words, $figure ] : ()
	} @layouts;
	my @columns = grep {
		my $name = $_->[0];
		grep { reference_of($_->[1], $name) } @lines
	} @alternatives;

	return join '', "### $title\n\n`$sql`\n\n",
	  head('', 'mongo_ts_fdw', map { $_->[1] } @columns),
	  map {
		my ($words, $figure) = @$_;
		line(dated($figure, $words), '**' . milliseconds($figure->{median}, 3) . '**',
			map { cell($figure, $_->[0]) } @columns)
	  } @lines;
}

sub summary
{
	my @figures = @_;
	return join "\n", map {
		my ($question, $title, $sql) = @$_;
		my @of_question = grep { $_->{question} eq $question } @figures;
		@of_question ? summary_table($question, $title, $sql, @of_question) : ()
	} @summary;
}

# The references of a question, except a sum of others, and the extension itself
# without workers where it takes none
sub columns_of
{
	my @figures = @_;
	return grep {
		my $name = $_;
		my $first = first { defined } map { reference_of($_, $name) } @figures;
		$name !~ m/\+/ && ($name ne 'serial' || @figures < @layouts || $first->{bar})
	} uniq(map { map { $_->{name} } @{ $_->{references} } } @figures);
}

sub question_table
{
	my ($question, @figures) = @_;
	my @names = columns_of(@figures);

	return join '', head($question, 'mongo_ts_fdw', @names), map {
		my $figure = $_;
		line(dated($figure, $figure->{layout}), milliseconds($figure->{median}, 3),
			map { cell_with_spread($figure, $_) } @names)
	} @figures;
}

# ---- Targets ----------------------------------------------------------------

sub is_met
{
	my ($reference) = @_;
	return $reference->{ratio}{median} <= $reference->{bar};
}

# A line for a question and an alternative with a target: how many meet it, and
# which do not
sub target_line
{
	my ($question, $name, $bar, @pairs) = @_;
	my @missed = map { "$_->[0] " . digits($_->[1]{ratio}{median}, 2) }
	  grep { !is_met($_->[1]) } @pairs;

	return line($question, "$bar x $name", @pairs - @missed . ' of ' . @pairs,
		join ', ', @missed);
}

sub targets
{
	my @figures = @_;
	my (%pairs, @order);

	foreach my $figure (@figures)
	{
		foreach my $reference (grep { $_->{bar} } @{ $figure->{references} })
		{
			my $question = $figure->{question} =~ m/^other/ ? $figure->{layout}
			  : $figure->{question};
			my $key = join "\t", $question, $reference->{name}, bar($reference->{bar});
			push @order, $key unless $pairs{$key};
			push @{ $pairs{$key} }, [ $figure->{layout}, $reference ];
		}
	}
	return @order
	  ? join '', head('question', 'target: at most', 'met by', 'missed by'),
	  map { target_line(split(m/\t/, $_), @{ $pairs{$_} }) } @order
	  : '';
}

sub appendix
{
	my @figures = @_;
	my $most = first { $_ } sort { $b->{memory} <=> $a->{memory} }
	  grep { $_->{memory} } @figures;

	return join "\n", (map {
			my $question = $_;
			question_table($question, grep { $_->{question} eq $question } @figures)
		} uniq(map { $_->{question} } @figures)),
	  $most
	  ? sprintf("The most memory: %.0f MB, for %s of `%s`; the target is %d MB.\n",
		$most->{memory}, @{$most}{qw(question layout)}, MOST_MEMORY)
	  : (), targets(@figures);
}

# ---- Recording --------------------------------------------------------------

# The members of a hash that exist
sub some
{
	my ($hash, @names) = @_;
	return map { defined $hash->{$_} ? ($_ => $hash->{$_}) : () } @names;
}

# A number with four digits
sub rounded { return 0 + sprintf '%.4g', $_[0] }

sub record_reference
{
	my ($reference) = @_;
	return { some($reference, qw(name bar)),
		median => rounded($reference->{median}),
		ratio => { map { $_ => rounded($reference->{ratio}{$_}) }
			  keys %{ $reference->{ratio} } } };
}

# The day of most figures, the last of several
sub usual_day
{
	my %n;
	$n{$_}++ foreach @_;
	return (sort { $n{$b} <=> $n{$a} || $b cmp $a } keys %n)[0];
}

sub key_of { return "$_[0]{layout}: $_[0]{question}" }

# Only what has been measured on the same data and servers fits together.
sub merge
{
	my ($kept, $run, @order) = @_;
	my %figures;

	foreach my $about (qw(points mongodb postgresql))
	{
		my ($old, $new) = map { $_->{$about} =~ s/^(\d+).*/$about eq 'postgresql' ? $1 : $&/er } $kept, $run;
		die "a run with $new as $about cannot be published beside figures with $old\n"
		  if $old ne $new;
	}
	foreach my $all ($kept, $run)
	{
		$figures{ key_of($_) } = { %$_, date => $_->{date} // $all->{date} }
		  foreach @{ $all->{figures} };
	}
	my @figures = map { $figures{ key_of($_) } // () } @order;
	my $day = usual_day(map { $_->{date} } @figures);
	$_->{date} eq $day and delete $_->{date} foreach @figures;
	return { %$kept, date => $day, figures => \@figures };
}

sub days
{
	my ($kept) = @_;
	return "The figures were measured on $kept->{date}"
	  . ((grep { $_->{date} } @{ $kept->{figures} })
		? ', those with a date in their line of a table below on that day.' : '.') . "\n";
}

# A figure a line
sub record
{
	my ($kept) = @_;
	my $json = JSON::PP->new->canonical;
	my %about = some($kept, qw(date points mongodb postgresql));

	return $json->encode(\%about) =~ s/\}$/,"figures":[\n/r . join(",\n", map {
			$json->encode({ some($_, qw(question layout memory date)),
				median => rounded($_->{median}),
				references => [ map { record_reference($_) } @{ $_->{references} } ] })
		} @{ $kept->{figures} }) . "\n]}\n";
}

1;
