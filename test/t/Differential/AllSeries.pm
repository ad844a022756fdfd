# Makes random queries of all series on one layout, for the differential test: of
# a range of time, of the newest and the oldest points, and of one key without
# the others.

package Differential::AllSeries;

use strict;
use warnings;

use Differential::Condition qw(bucket_condition column_condition);
use Differential::Data;
use Differential::Order qw(compare_places direction key_columns targets);
use Exporter qw(import);

our @EXPORT_OK = qw(all_series);

sub from { return "FROM side.$_[0]->{layout}{name} WHERE" }

sub time_of { return $_[0]->{layout}{columns}[0][0] }

# A condition on one of the keys, or on the last one
sub key_condition
{
	my ($q) = @_;
	my @keys = key_columns($q);

	return column_condition($q, pick(@keys, $keys[-1]));
}

# No condition, or one on a key, on the time or on both
sub some_condition
{
	my ($q) = @_;

	return join ' AND ', @{ pick(
		['true'], ['true'], [ key_condition($q) ], [ bucket_condition($q) ],
		[ key_condition($q), bucket_condition($q) ]) }
	  unless $q->{params};
	return pick('true', bucket_condition($q)) if chance(0.6);
	return key_condition($q);
}

# Some of the keys
sub some_keys
{
	my ($q) = @_;
	return map { $_->[0] } grep { chance(0.6) } key_columns($q);
}

sub rows
{
	my ($q) = @_;

	$q->{sql} = 'SELECT * ' . from($q) . ' ' . bucket_condition($q);
	$q->{sql} .= ' AND ' . key_condition($q) if chance(0.3);
	$q->{has_time} = 1;
	return;
}

sub groups
{
	my ($q) = @_;
	my @keys = some_keys($q);
	my $value = $q->{layout}{columns}[-1][0];
	my $list = join ', ', @keys, 'count(*)', "max($value)";

	$q->{sql} = "SELECT $list " . from($q) . ' ' . bucket_condition($q)
	  . (@keys ? ' GROUP BY ' . join(', ', @keys) : '');
	$q->{has_time} = 1;
	return;
}

# The first or the last points of all
sub ends
{
	my ($q) = @_;
	my $time = time_of($q);
	my $whole = 'SELECT ' . targets($q, $time) . ' ' . from($q) . ' ' . some_condition($q);

	compare_places($q, 1, $whole, " ORDER BY $time" . direction() . ' LIMIT '
		  . pick(1, 1, 10, between(1, 200)) . (chance(0.2) ? ' OFFSET ' . between(1, 30) : ''));
	return;
}

# The first and the last time, of all or by keys
sub extremes
{
	my ($q) = @_;
	my $time = time_of($q);
	my @keys = chance(0.5) ? some_keys($q) : ();
	my $list = join ', ', @keys, map { "$_($time)" }
	  @{ pick([ 'min', 'max' ], ['min'], ['max']) };

	$q->{sql} = "SELECT $list " . from($q) . ' ' . some_condition($q)
	  . (@keys ? ' GROUP BY ' . join(', ', @keys) : '');
	return;
}

# The points shortly before the last one
sub since
{
	my ($q) = @_;
	my $time = time_of($q);
	my $end = pick('max', 'max', 'min') . "($time)";
	my $operator = $end =~ m/max/ ? '>= ' : '<= ';
	my $interval = pick('1 second', '1 minute', '1 hour', '1 day', '40 days');
	my $limit = "(SELECT $end " . from($q) . ' ' . some_condition($q) . ')';

	$q->{sql} = 'SELECT * ' . from($q) . " $time $operator $limit "
	  . ($end =~ m/max/ ? '-' : '+') . " interval '$interval'";
	return;
}

sub all_series
{
	my ($q) = @_;

	pick(\&rows, \&rows, \&groups, \&ends, \&ends, \&extremes, \&extremes, \&since)->($q);
	$q->{kind} = 'all series';
	return;
}

1;
