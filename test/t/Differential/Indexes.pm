# Makes the indexes of a layout's collections, for the differential test.
#
# A collection has none, those that the documentation recommends, or others that
# cannot find all of its documents by a time or would take longer.  The answers
# are the same.

package Differential::Indexes;

use strict;
use warnings;

use Differential::Data;
use Exporter qw(import);

our @EXPORT_OK = qw(indexes documents_of field_of tables_of collections_of);

# The ways that are drawn; environment variable INDEXES is a pattern of them.
my @rare = (
	'none', 'recommended', 'created', 'descending', 'without time',
	'time inside', 'after others', 'beside others', 'partial', 'sparse',
	'hashed', 'collation', 'hidden');
my @native = ('none', 'each', 'recommended', 'created', 'descending', 'without time');

# The field of a column, or of the bucket's time in the options of a table
sub field_of
{
	my ($name, $options) = @_;
	return ($options // '') =~ m/field '([^']*)'/ ? $1 : $name;
}

# The field of the bucket's time, and those of the keys
sub fields_of
{
	my ($layout) = @_;
	my ($time, @keys) = @{ $layout->{columns} }[ 0 .. $#{ $layout->{columns} } - 1 ];
	my $at = field_of($time->[0],
		$layout->{options} =~ m/(bucket_(?:last|time)_field '[^']*')/
		? $1 : $time->[2] // '');
	my %seen = ($at => 1);
	my @keys_of = grep { !m/[][{}]/ && !$seen{$_}++ }
	  map { field_of(@{$_}[ 0, 2 ]) } @keys;

	# native collections have indexes of the metaField and the time
	@keys_of = grep { m/^\Q$layout->{meta}\E(\.|$)/ } @keys_of
	  if $layout->{meta};
	@keys_of = () if $layout->{timeseries} && !$layout->{meta};
	return ($at, @keys_of);
}

# Fields with a direction
sub ascending { return map { "\"$_\": 1" } @_ }
sub descending { return map { "\"$_\": -1" } @_ }

# The indexes of a way, each [list of fields, options]
sub of_way
{
	my ($way, $at, @fields) = @_;
	my ($key) = pick(@fields);
	my $filter = pick("\"$key\": {\"\$exists\": true}", "\"$at\": {\"\$exists\": true}",
		"\"$key\": {\"\$gt\": \"memory_g\"}");
	my @all = ascending(@fields, $at);

	return map { [ join(', ', @$_) ] } \@all,
	  @fields > 1 ? map { [ ascending($_, $at) ] } @fields : () if $way eq 'each';
	return [ join ', ', @all ] if $way eq 'recommended';
	return [ join ', ', pick(ascending($fields[0]), descending($fields[0])),
		descending(@fields[ 1 .. $#fields ]), descending($at) ]
	  if $way eq 'descending';
	return [ join ', ', ascending(@fields) ] if $way eq 'without time';
	return [ join ', ', ascending($fields[0], $at, @fields[ 1 .. $#fields ]) ]
	  if $way eq 'time inside';
	return [ join ', ', ascending(@fields, 'labels', $at) ]
	  if $way eq 'beside others';
	return [ join ', ', ascending('labels', @fields, $at) ]
	  if $way eq 'after others';
	return [ join(', ', @all), ", \"partialFilterExpression\": {$filter}" ]
	  if $way eq 'partial';
	return [ join(', ', @all), ', "sparse": true' ] if $way eq 'sparse';
	return [ join(', ', "\"$key\": \"hashed\"", ascending($at)) ]
	  if $way eq 'hashed';
	return [ join(', ', @all), ', "collation": {"locale": "en", "strength": 2}' ]
	  if $way eq 'collation';
	return [ join(', ', @all), ', "hidden": true' ] if $way eq 'hidden';
	return;
}

# Add a field to some documents: an array makes its index multikey.
sub label
{
	my (@documents) = @_;

	foreach my $document (@documents)
	{
		my $labels = pick(undef, 'null', '"a"', '7', [], ['"a"'], [ '"b"', '"a"', '1' ]);
		$document->{labels} = $labels if defined $labels;
	}
	return;
}

# The documents of all collections of a layout
sub documents_of
{
	my ($layout) = @_;

	return (@{ $layout->{docs} },
		(map { @{ $layout->{collections}{$_} } } sort keys %{ $layout->{collections} // {} }),
		map { @{ $_->[1] } } @{ $layout->{partitions} // [] });
}

# The names of the foreign tables of a layout
sub tables_of
{
	my ($layout) = @_;

	return $layout->{name} unless $layout->{partitions};
	return map { "$layout->{name}_$_" } 1 .. @{ $layout->{partitions} };
}

# The names of the collections of a layout
sub collections_of
{
	my ($layout) = @_;

	return sort keys %{ $layout->{collections} } if $layout->{collections};
	return tables_of($layout);
}

# The SQL that creates the indexes of a way for a collection
sub create
{
	my ($name, @indexes) = @_;
	my $n = 0;
	my $list = join ', ', map {
		'{"name": "i' . ++$n . "\", \"key\": {$_->[0]}" . ($_->[1] // '') . '}'
	} @indexes;

	return "mongo_ts_command('mongo', '{\"createIndexes\": \"$name\", "
	  . "\"indexes\": [$list]}')";
}

# Draw how the collections of a layout are indexed.  Adds the field "labels" to
# their documents if indexes have it.  Returns the SQL that creates the indexes.
sub indexes
{
	my ($layout) = @_;
	my ($at, @fields) = fields_of($layout);
	my $pattern = $ENV{INDEXES} || '.';
	my @ways = $layout->{timeseries} ? @native : (('each') x @rare, @rare);

	# any field may be a series
	@ways = grep { !m/others/ } @ways
	  if grep { field_of(@{$_}[ 0, 2 ]) =~ m/^[^.]*\{/ } @{ $layout->{columns} };
	@ways = grep { m/^(?:$pattern)/ } @ways;
	return '' if $layout->{of} || !@fields || !@ways || $at =~ m/[][{}]|\.\d/;

	my $way = pick(@ways);
	label(documents_of($layout)) if $way =~ m/others/;
	return join '', map { "SELECT make_index('$way', \$q\$SELECT $_\$q\$);\n" }
	  $way eq 'none' ? () : $way eq 'created'
	  ? map { "mongo_ts_create_index('f.$_')" } tables_of($layout)
	  : map { create($_, of_way($way, $at, @fields)) } collections_of($layout);
}

1;
