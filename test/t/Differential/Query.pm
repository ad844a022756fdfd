# Makes random queries on one layout.
#
# new_query() returns a hash: sql, with "side." before the table's name; zone,
# the session's time zone; settings to make; params, the parameters of a
# prepared query, each [type, code that draws a value]; has_time, true if one
# of the ANDed conditions is on the time alone; and kind.  A query with LIMIT
# also has keys and whole: see Order.pm.

package Differential::Query;

use strict;
use warnings;

use Differential::AllSeries qw(all_series);
use Differential::Aggregate qw(aggregation chart keys_of_groups time_group);
use Differential::Condition qw(column_condition conditions new_zone);
use Differential::Data;
use Differential::Join qw(in_loop joined);
use Differential::Order qw(first_of_each sorted);
use Differential::Star qw(star);
use Exporter qw(import);

our @EXPORT_OK = qw(new_query kinds settings parallel);

# The settings of the extension that disable a feature
our @switches;

# The share of each kind of query, in percent
my %kinds = (
	rows => [ 22, \&rows ], groups => [ 24, \&groups ],
	sorted => [ 16, \&sorted ], 'first of each' => [ 11, \&first_of_each ],
	'all series' => [ 8, \&all_series ], joined => [ 13, \&joined ],
	star => [ 10, \&star ]);

# Only kinds that match this pattern are made
our $kind_pattern = '.';

sub kinds { return sort keys %kinds }

# ---- Settings -------------------------------------------------------------

sub off
{
	my ($share, @names) = @_;
	return map { "$_=off" } grep { chance($share) } @names;
}

# Settings with which the smallest table is read in parallel
sub parallel
{
	return (
		'min_parallel_table_scan_size=0', 'parallel_setup_cost=0',
		'parallel_tuple_cost=0', 'max_parallel_workers_per_gather=2',
		off(0.3, 'parallel_leader_participation'));
}

# Settings that exclude plans which a query of a kind does not require
sub settings
{
	my ($q) = @_;
	my $rolls_up = $q->{kind} eq 'groups' && $q->{layout}{rollups};
	# a query without these cannot read roll-ups
	my @settings = off(0.2, grep { !$rolls_up || chance(0.2)
		  || !m/rollups|partial_aggregate/ } @switches);
	my $is_parallel = chance(0.07);

	# a Gather within a loop would start workers for each row
	push @settings, off(0.35, map { "enable_$_" }
		qw(hashjoin mergejoin nestloop material memoize))
	  if $q->{kind} =~ m/joined|first/
	  || ($q->{kind} eq 'star' && !$is_parallel);
	# rows that are joined seem expensive
	push @settings, 'cpu_tuple_cost=1' if $q->{kind} eq 'star' && chance(0.5);
	# points seem expensive, but not the rows of their roll-ups
	push @settings, 'cpu_tuple_cost=1' if $rolls_up && chance(0.7);
	push @settings, off(0.15, map { "enable_$_" }
		qw(sort hashagg incremental_sort)) if $q->{kind} ne 'rows';
	# sorting so few rows is cheap
	push @settings, off(0.7, 'enable_sort') if $q->{by_value};
	push @settings, parallel() if $is_parallel;
	push @settings, 'enable_partitionwise_aggregate=on',
	  'enable_partitionwise_join=on'
	  if $q->{layout}{partitions} && chance(0.5);
	push @settings, 'plan_cache_mode=force_'
	  . pick('generic', 'custom') . '_plan' if $q->{params} && chance(0.6);
	return join ' ', @settings;
}

# ---- Kinds ----------------------------------------------------------------

# A query of rows, whose multisets are compared
sub rows
{
	my ($q) = @_;
	my @names = map { $_->[0] } @{ $q->{layout}{columns} };
	my $targets = '*';

	$targets = pick('count(*)', (pick(@names)) x 3,
		(join(', ', grep { chance(0.5) } @names) || '1') x 3)
	  if chance(0.5);
	$q->{kind} = 'rows';
	$q->{sql} = "SELECT $targets FROM side.$q->{layout}{name} WHERE "
	  . conditions($q);
	$q->{sql} = in_loop($q, $q->{sql}, '') if chance(0.05);
	return;
}

# The number of documents that are rows, which MongoDB may count
sub counted
{
	my ($q) = @_;
	my @columns = @{ $q->{layout}{columns} };
	my $where = join ' AND ',
	  map { column_condition($q, pick(@columns)) } 1 .. pick(0, 0, 1, 1, 2);

	$q->{kind} = 'groups';
	$q->{sql} = 'SELECT ' . pick('count(*)', 'count(*)', "count($columns[0][0])")
	  . " FROM side.$q->{layout}{name} WHERE " . ($where || 'true');
	return;
}

sub groups
{
	my ($q) = @_;

	return counted($q) if $q->{layout}{is_flat} && chance(0.5);
	return keys_of_groups($q) if chance(0.06);
	return chart($q) if chance(has_totals($q->{layout}) ? 0.7 : 0.2);
	return aggregation($q) if chance(0.93);

	my ($time, $type) = @{ $q->{layout}{columns}[0] };
	$q->{kind} = 'groups';
	$q->{sql} = in_loop($q, 'SELECT ' . time_group($time, $type)
		  . ", count(*), max($q->{layout}{columns}[-1][0]) FROM side."
		  . "$q->{layout}{name} WHERE " . conditions($q), ' GROUP BY 1');
	return;
}

# Tell whether a layout has pre-aggregates or roll-ups, for which more
# aggregates are made.
sub has_totals
{
	my ($layout) = @_;
	return $layout->{rollups} || $layout->{columns}[-1][2] =~ m/sum_field/;
}

sub any_kind
{
	my ($layout) = @_;
	my $kind = pick(map { ($_) x $kinds{$_}[0] }
		  grep { m/^(?:$kind_pattern)/ } kinds());

	return 'groups' if $kind eq 'rows' && has_totals($layout) && chance(0.7);
	return $kind;
}

# A query, prepared or not
sub new_query
{
	my ($layout, $is_prepared) = @_;
	my %q = (layout => $layout, zone => new_zone());

	$q{params} = [] if $is_prepared;
	$kinds{ any_kind($layout) }[1]->(\%q);
	$q{settings} = settings(\%q);
	return \%q;
}

1;
