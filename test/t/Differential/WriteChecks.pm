# Makes the invariants checked after each statement of the differential test of
# writing.
#
# checks() returns lists of a name and two queries, whose results must be
# equal.  See WriteTables.pm for the tables.

package Differential::WriteChecks;

use strict;
use warnings;

use Differential::WriteTables qw(bucket_keys bucket_of);
use Exporter qw(import);

our @EXPORT_OK = qw(checks);

# The documents with their pre-aggregates, and the same computed from the local
# points
sub check_documents
{
	my ($layout) = @_;
	my $name = $layout->{name};
	my @keys = map { $_->[0] } bucket_keys($layout);
	my @totals = @{ $layout->{totals} };
	my $grouped = join(', ', $layout->{bucket}->('ts'), @keys,
		map { $_->[3] } @totals);
	my $by = join(', ', 1 .. 1 + @keys);
	my $local = "SELECT $grouped FROM l.$name GROUP BY $by";
	my $shown = join(', ', 'ts', @keys, map { $_->[0] } @totals);

	# a series may have any number of documents
	if ($layout->{cap})
	{
		my $sums = join(', ', 'ts', @keys,
			map { ($_->[3] =~ m/(min|max)\(/ ? $1 : 'sum') . "($_->[0])" }
			  @totals);
		return [ 'documents', "SELECT $sums FROM d.$name GROUP BY $by",
			$local ];
	}
	return [ 'documents', "SELECT $shown FROM d.$name o "
		  . without_empty_buckets($layout), $local ];
}

# Exclude preallocated documents, which are empty by design.
sub without_empty_buckets
{
	my ($layout) = @_;
	my @totals = @{ $layout->{totals} };

	return '' unless $layout->{preallocate} || defined $layout->{missing};
	return 'WHERE EXISTS (SELECT FROM l.' . "$layout->{name} i WHERE "
	  . bucket_of($layout, 'i.') . ' IS NOT DISTINCT FROM ROW('
	  . join(', ', map { "o.$_" } 'ts', map { $_->[0] } bucket_keys($layout))
	  . '))' unless @totals;
	return 'WHERE NOT (' . join(' AND ',
		map { $_->[3] =~ m/min|max/ ? "$_->[0] IS NULL"
			: "coalesce($_->[0], 0) = 0" } @totals) . ')';
}

# Each document by itself: its pre-aggregates, bounds and number of points
sub check_each_document
{
	my ($layout) = @_;
	my $name = $layout->{name};
	my @totals = @{ $layout->{totals} };
	my ($first, $last) = map { $_ && $_->[0] } @{ $layout->{bounds} };
	my @checks = [ 'totals of each document',
		'SELECT ' . join(', ', 'id', map { $_->[0] } @totals)
		  . " FROM d.$name",
		'SELECT ' . join(', ', 'id', map { $_->[3] } @totals)
		  . " FROM c.$name GROUP BY id" ];
	my $wrong = join(' OR ',
		$first ? "d.$first IS NULL OR d.$first > min(p.ts)" : (),
		"d.$last IS NULL OR d.$last < max(p.ts)");
	my $shown = join(', ', 'd.id', map { "d.$_" } grep { $_ } $first, $last);

	push @checks, [ 'bounds of each document',
		"SELECT $shown, min(p.ts), max(p.ts) FROM d.$name d "
		  . "JOIN c.$name p USING (id) GROUP BY $shown HAVING $wrong", '' ];
	push @checks, [ 'points in a document', 'SELECT id, count(*) FROM '
		  . "c.$name GROUP BY id HAVING count(*) > $layout->{cap}", '' ]
	  if $layout->{cap};
	return @checks;
}

sub checks
{
	my ($layout) = @_;
	my $name = $layout->{name};
	my @checks = [ 'rows', "TABLE f.$name", "TABLE l.$name" ];

	push @checks, check_documents($layout) if $layout->{mode} ne 'flat';
	push @checks, check_each_document($layout) if $layout->{bounds};
	push @checks, [ 'documents of others', "TABLE d.${name}_others",
		"TABLE l.${name}_others" ] if $layout->{others};
	# no result at all
	$_->[2] ||= "SELECT * FROM ($_->[1]) none WHERE false" foreach @checks;
	return @checks;
}

1;
