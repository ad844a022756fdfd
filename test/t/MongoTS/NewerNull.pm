# Rewrites the comparisons with null of a filter so that a MongoDB before 8.0
# selects the documents that a newer one selects.
#
# Since 8.0, null does not match undefined.  Since 9.0, {"a.b": null} also
# matches where "a" is an empty array, an array of scalars, or an array with an
# array in it.  Expressions of aggregation, such as $expr, keep their meaning.

package MongoTS::NewerNull;

use strict;
use warnings;

use Exporter qw(import);
use MongoTS::Wire;

our @EXPORT = qw(newer_filter newer_write);

my $null = bson_null();
my $undefined = bson_document('$not' => bson_document('$type' => bson_int32(6)));

sub values_of
{
	my ($value) = @_;
	my $n = 0;

	return grep { $n++ % 2 } bson_fields($value->[1]);
}

sub all_of { return bson_document('$and' => bson_array(@_)) }
sub any_of { return @_ == 1 ? $_[0] : bson_document('$or' => bson_array(@_)) }
sub none_of { return bson_document('$nor' => bson_array(@_)) }

# Return the filters for arrays through which a path has null since 9.0.
sub arrays_of
{
	my ($path) = @_;
	my @steps = split(/\./, $path, -1);
	my $type = sub { bson_document('$type' => bson_string($_[0])) };
	my @filters;

	foreach my $n (1 .. $#steps)
	{
		my $begin = join('.', @steps[ 0 .. $n - 1 ]);
		my $element = sub { bson_document('$elemMatch' => $type->($_[0])) };

		next if $steps[$n] =~ /^\d+$/;
		push @filters, all_of(bson_document($begin => $type->('array')),
			any_of(bson_document($begin => $element->('array')),
				bson_document($begin => bson_document('$not' => $element->('object')))));
	}
	return @filters;
}

sub is_null
{
	my ($path, $has_arrays) = @_;

	return any_of(
		all_of(bson_document($path => $null), bson_document($path => $undefined)),
		$has_arrays ? arrays_of($path) : ());
}

sub is_operators
{
	my ($value) = @_;
	return $value->[0] == 0x03 && $value->[1] =~ /^.{5}\$(?!(?:and|or|nor)\0)/s;
}

# Return the filters of an operator on a path, or nothing if it stays as it is.
sub rewrite_operator
{
	my ($path, $operator, $value, $has_arrays) = @_;
	my $is_null = $value->[0] == 0x0A;

	return is_null($path, $has_arrays) if $is_null && $operator =~ /^\$(?:eq|gte|lte)$/;
	return none_of(is_null($path, $has_arrays)) if $is_null && $operator eq '$ne';
	if ($operator =~ /^\$n?in$/ && $value->[0] == 0x04)
	{
		my @others = grep { $_->[0] != 0x0A } values_of($value);
		my $any = any_of(is_null($path, $has_arrays),
			bson_document($path => bson_document('$in' => bson_array(@others))));

		return if @others == values_of($value);
		return $operator eq '$in' ? $any : none_of($any);
	}
	return none_of(rewrite(bson_document($path => $value), $has_arrays))
	  if $operator eq '$not' && is_operators($value) && $value->[1] =~ /\x0A/;
	return bson_document($path => bson_document($operator => rewrite($value, $has_arrays)))
	  if $operator eq '$elemMatch' && !is_operators($value) && $value->[1] =~ /\x0A/;
	return;
}

# Return a filter with other comparisons with null.
sub rewrite
{
	my ($filter, $has_arrays) = @_;
	my @fields = bson_fields($filter->[1]);
	my (@kept, @filters);

	while (my ($name, $value) = splice(@fields, 0, 2))
	{
		if ($name =~ /^\$(?:and|or|nor)$/ && $value->[0] == 0x04)
		{
			push @kept, $name => bson_array(map { rewrite($_, $has_arrays) } values_of($value));
		}
		elsif ($name !~ /^\$/ && $value->[0] == 0x0A)
		{
			push @filters, is_null($name, $has_arrays);
		}
		elsif ($name !~ /^\$/ && is_operators($value))
		{
			my @operators = bson_fields($value->[1]);
			my @rest;

			while (my ($operator, $operand) = splice(@operators, 0, 2))
			{
				my @new = rewrite_operator($name, $operator, $operand, $has_arrays);

				push @filters, @new;
				push @rest, $operator => $operand unless @new;
			}
			push @kept, $name => bson_document(@rest) if @rest;
		}
		else { push @kept, $name => $value }
	}
	return bson_document(@kept) unless @filters;
	return all_of(@kept ? bson_document(@kept) : (), @filters);
}

# Return the filter of a query.  has_arrays is true from 9.0 on.
sub newer_filter
{
	my ($filter, $has_arrays) = @_;

	return $filter unless $filter->[0] == 0x03 && $filter->[1] =~ /\x0A/;
	return rewrite($filter, $has_arrays);
}

# Return the document of an update or delete.  An upsert takes values from its
# filter, which must not be among alternatives; there arrays keep their old
# meaning.
sub newer_write
{
	my ($write, $has_arrays) = @_;
	my @fields = bson_fields($write->[1]);
	my %value = @fields;
	my $is_upsert = $value{upsert} && $value{upsert}[1] =~ /[^\0]/;

	return $write unless $value{q} && $value{q}[1] =~ /\x0A/;
	foreach my $n (grep { $fields[ 2 * $_ ] eq 'q' } 0 .. $#fields / 2)
	{
		$fields[ 2 * $n + 1 ] = newer_filter($value{q}, $has_arrays && !$is_upsert);
	}
	return bson_document(@fields);
}

1;
