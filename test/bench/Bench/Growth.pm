# Lists the questions of test/bench/growth, and formats their figures.
#
# A figure is a hash of series, hours and points, of the date of its
# measurement, of seconds by question, and of memory by question, in MB.
#
# questions(SIZE) returns hashes of name and SQL; is_planning means that only the
# planning is measured.  growth_table(FIGURES) is a table of milliseconds.
# growth_days(FIGURES) says when they were measured.  growth_record(FIGURES) is what test/bench/growth.json keeps of them.
# merge_growth(KEPT, RUN) are those of a run and the others that are kept.

package Bench::Growth;

use strict;
use warnings;

use Bench::Report qw(head line milliseconds digits rounded);
use Exporter qw(import);
use JSON::PP;
use List::Util qw(max uniq);

our @EXPORT_OK = qw(questions size_of growth_table growth_days merge_growth
  growth_record);

my $of_series = q(WHERE host = 'host_2' AND d >= '2013-10-01 00:00');
my $hour = "SELECT * FROM t $of_series AND d < '2013-10-01 01:00' ORDER BY d";
my $last_minute = q(timestamptz '2013-10-01' + interval 'HOURS hours' - interval '1 minute');

# Each with the hours that a collection must have; HOURS stands for those that it
# has
my @questions = (
	{ name => 'planning an hour of one series', is_planning => 1, sql => $hour },
	{ name => 'ANALYZE', sql => 'ANALYZE t' },
	{ name => 'a point', sql => q(SELECT v FROM t WHERE host = 'host_2' AND d = '2013-10-01 00:01:30') },
	{ name => 'the last point of one series',
		sql => q(SELECT d, v FROM t WHERE host = 'host_2' ORDER BY d DESC LIMIT 1) },
	{ name => 'an hour of one series', hours => 1, sql => $hour },
	{ name => 'a day of one series', hours => 24,
		sql => "SELECT avg(v) FROM t $of_series AND d < '2013-10-02'" },
	{ name => 'the last points of all series',
		sql => 'SELECT DISTINCT ON (host) host, d, v FROM t ORDER BY host, d DESC' },
	{ name => 'the last minute of all series', sql => "SELECT * FROM t WHERE d >= $last_minute" },
	{ name => 'the newest ten points', sql => 'SELECT d, v FROM t ORDER BY d DESC LIMIT 10' },
	{ name => 'the first and the last time', sql => 'SELECT min(d), max(d) FROM t' },
	{ name => 'groups of everything by series and hour',
		sql => q(SELECT host, date_trunc('hour', d), avg(v), min(v), max(v) FROM t GROUP BY 1, 2) });

sub size_of
{
	my ($text) = @_;
	my ($series, $hours) = $text =~ m/^(\d+)x([\d.]+)$/
	  or die "a size is SERIESxHOURS, not $text\n";
	return { series => $series + 0, hours => $hours + 0,
		points => sprintf('%.0f', $series * $hours * 3600) + 0 };
}

sub questions
{
	my ($size) = @_;
	return map { { %$_, sql => $_->{sql} =~ s/HOURS/$size->{hours}/r } }
	  grep { $size->{hours} >= ($_->{hours} // 0) } @questions;
}

# ---- The table ----------------------------------------------------------------

sub heading_of
{
	my ($figure) = @_;
	return digits($figure->{points} / 1e6, 2) . ' million points of '
	  . digits($figure->{series}, length $figure->{series}) . ' series';
}

# The sizes in columns: a line for each question and one for the most memory
sub growth_table
{
	my @figures = @_;
	my $row = sub {
		my ($name, $of) = @_;
		return line($name, map { $of->($_) } @figures);
	};

	return join '', head('', map { heading_of($_) } @figures),
	  (map {
			my $name = $_;
			$row->($name, sub {
					my $seconds = $_[0]{seconds}{$name};
					return defined $seconds ? milliseconds($seconds, 3) : '';
				})
		} grep {
			my $name = $_;
			grep { defined $_->{seconds}{$name} } @figures
		} map { $_->{name} } @questions),
	  $row->('the most memory of a session',
		sub { return digits(max(values %{ $_[0]{memory} }), 2) . ' MB' });
}

sub growth_days
{
	my @days = sort { $a cmp $b } uniq(map { $_->{date} } @_);
	return 'Measured on ' . join(' and ', @days) . ".\n";
}

# ---- Recording --------------------------------------------------------------

# The kept sizes, those of a run instead of theirs
sub merge_growth
{
	my ($kept, $run) = @_;
	my %sizes = map { ("$_->{series} $_->{hours}" => $_) } @$kept, @$run;

	return map { $sizes{$_} } sort {
		$sizes{$a}{points} * 1e6 + $sizes{$a}{series} <=> $sizes{$b}{points} * 1e6 + $sizes{$b}{series}
	} keys %sizes;
}

# A size a line
sub growth_record
{
	my @figures = @_;
	my $json = JSON::PP->new->canonical;

	return "[\n" . join(",\n", map {
			my $figure = $_;
			$json->encode({ %$figure, map {
						my $of = $_;
						($of => { map { ($_ => rounded($figure->{$of}{$_})) }
								keys %{ $figure->{$of} } })
					} qw(seconds memory) })
		} @figures) . "\n]\n";
}

1;
