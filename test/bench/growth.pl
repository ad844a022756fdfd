# Measure the questions of Bench::Growth at each size of a collection.
#
# usage: growth.pl DIR DATABASE SIZE...
#
# DIR has the program load and gets growth.json; a SIZE is SERIESxHOURS, see
# test/bench/growth.  A figure is the median of its times, in seconds.

use strict;
use warnings;

use Bench::Growth qw(questions size_of growth_table);
use Bench::Layouts qw(layout declare create_index load_layout);
use Bench::Rounds qw(median rounds_for);
use Bench::Session qw(start_psql run_sql time_sql time_planning finish memory);
use JSON::PP;
use POSIX qw(strftime);
use Time::HiRes qw(time);

# Processes that load a collection
use constant LOADERS => 2;

my ($dir, $database, @sizes) = @ARGV;
my $psql = start_psql();

sub say_progress { print STDERR "# @_\n"; return }

sub silently
{
	run_sql($psql, "\\o /dev/null\n$_;\n\\o\nSELECT") foreach @_;
	return;
}

# Make the collection of a size, and its table and index.
sub load
{
	my ($size) = @_;
	my $layout = { %{ layout('minute') }, name => 't', series => $size->{series},
		hours => $size->{hours} };
	my $began = time;

	system("$dir/load", $ENV{MONGODB_URI}, $database, load_layout($layout, 0),
		LOADERS) == 0 or die "load has failed\n";
	silently(declare($layout, 't', 't'), create_index($layout, 't'));
	say_progress(sprintf '%s series, %s hours: loaded in %.0f s',
		@{$size}{qw(series hours)}, time - $began);
	return;
}

sub seconds_of
{
	my ($question) = @_;
	return $question->{is_planning} ? time_planning($psql, $question->{sql})
	  : time_sql($psql, $question->{sql});
}

# Return the median of a question's times after the first one, which reads the
# data into memory.
sub measure
{
	my ($question) = @_;
	my @seconds = map { seconds_of($question) } 1 .. rounds_for(seconds_of($question));
	return median(@seconds);
}

# Measure all questions of a collection, and drop it.
sub run_size
{
	my ($size) = @_;
	my %figure = (%$size, date => strftime('%Y-%m-%d', gmtime));

	load($size);
	foreach my $question (questions($size))
	{
		say_progress("  $question->{name}");
		$figure{seconds}{ $question->{name} } = measure($question);
		$figure{memory}{ $question->{name} } = memory(undef, $question->{sql})
		  unless $question->{is_planning};
	}
	my $n = run_sql($psql, 'SELECT count(*) FROM t');
	die "there are $n points\n" if $n != $size->{points};
	silently('DROP FOREIGN TABLE t',
		q(SELECT mongo_ts_command('mongo', '{"drop": "t"}')));
	return \%figure;
}

silently('CREATE EXTENSION mongo_ts_fdw',
	'CREATE SERVER mongo FOREIGN DATA WRAPPER mongo_ts_fdw '
	  . "OPTIONS (uri '$ENV{MONGODB_URI}', database '$database')");
my @figures = map { run_size(size_of($_)) } @sizes;
print growth_table(@figures);
open(my $file, '>', "$dir/growth.json") or die "$dir/growth.json: $!\n";
print $file JSON::PP->new->canonical->pretty->encode({ sizes => \@figures,
		postgresql => run_sql($psql, 'SHOW server_version'),
		mongodb => run_sql($psql, q(SELECT mongo_ts_command('mongo',
			'{"buildInfo": 1}')->>'version')) });
close($file) or die "$dir/growth.json: $!\n";
finish($psql);
