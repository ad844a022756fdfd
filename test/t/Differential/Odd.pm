# Gives layouts of the differential test one more column, of another kind than
# their values have.  See Layouts.pm.
#
# A reading shows its number in a comment, in the leaf that is stored and in the
# row; see Data.pm.  So the point of each row is found in the documents, and gets
# a second value: in its own subdocument, in another container with the same
# slots, or in its document.  The column precedes the last one, so queries group
# by it, join and sort by it as by a key.

package Differential::Odd;

use strict;
use warnings;

use Differential::Data;
use Differential::Indexes qw(documents_of field_of);
use Exporter qw(import);
use List::Util qw(shuffle);
use MIME::Base64 qw(encode_base64);

our @EXPORT_OK = qw(odd_kinds add_odd hide_numbers);

# The number of a reading
my $numbered = qr{/\*(\d+)\*/};

# The types of numbers
my $number = qr/^(numeric|float|int)[^[]*$/;

# FerretDB does not find NaN by {$type: 'number'} in an index.
my @nan = ($ENV{MONGO_TS_SERVER} // '') eq 'ferretdb' ? () : 'NaN';

# ---- Values ---------------------------------------------------------------

# A value is [SQL, leaves of the type that is declared, leaves that convert to
# it].  Columns of documents that are rows have the first ones only.

sub typed { return "{\"\$number$_[0]\": \"$_[1]\"}" }

# A number in every type that holds it
sub number
{
	my ($n, $is_int) = @_;
	my @forms = map { typed($_, $n) } 'Double', 'Decimal';

	push @forms, typed('Long', $n), ($n < 2**31 && $n >= -2**31 ? $n : ()) if $is_int;
	return [ $n =~ m/[aI]/ ? "'$n'" : $n, \@forms, [ json_text($n) ] ];
}

sub integers { return map { number($_, 1) } @_ }

sub decimal { return [ $_[0], [ map { typed('Decimal', $_) } @_ ], [ json_text($_[0]) ] ] }

sub text
{
	my ($text, @others) = @_;
	return [ sql_text($text), [ json_text($text) ], \@others ];
}

sub binary
{
	my ($digits, @others) = @_;
	my $base64 = encode_base64(pack('H*', $digits), '');
	return [ "'\\x$digits'",
		[ map { "{\"\$binary\": {\"base64\": \"$base64\", \"subType\": \"$_\"}}" } '00', '80' ],
		\@others ];
}

sub same { return [ "'$_[0]'", [ $_[1] // $_[0] ], [] ] }

# Instants of milliseconds, the first one before 1970
my @times = (-DAY() - 1000, 0, map { 1_381_446_419_123_000 + $_ } 0, 1000, MINUTE, DAY);

# Instants as local times of a zone
sub timestamps
{
	my ($zone) = @_;
	return map { [ '(' . sql_timestamptz($_) . " AT TIME ZONE '$zone')", [ json_date($_) ], [] ] } @times;
}

# Midnights of a zone
sub dates
{
	my ($zone) = @_;
	my @dates = ([ 1969, 12, 31 ], [ 1970, 1, 1 ], [ 2013, 10, 10 ], [ 2013, 10, 11 ],
		[ 2016, 2, 29 ]);

	return in_zone($zone, sub {
		map {
			my $text = sprintf('%d-%02d-%02d', @$_);
			[ "'$text'", [ json_date(local_midnight(@$_)) ], [ json_text($text) ] ]
		} @dates });
}

# Texts that differ at their end only, most of them once in a table.  With a
# thousand of the longer ones, a group's keys exceed the bytes of a set of
# series.
sub long_text
{
	my ($length) = @_;
	my $n = 0;

	return sub {
		my $i = chance(0.2) ? between(0, 9) : ++$n;
		return [ "repeat('xy', $length / 2) || '$i'",
			[ json_text('xy' x ($length / 2) . $i) ], [] ];
	};
}

my @words = (text(''), text('a'), text('A b'), text('é'), text("it's"),
	text('memory_use'), text('é' x 10));
my ($uuid) = uuid_texts();

# Values of each kind: the type of its column, and code that returns the values,
# or code that draws one, for a zone
my %kinds = (
	numeric => [ 'numeric', sub {
		return (decimal('0.1', '0.10'), number('-2.5'), number('7.25'), integers(0, 7, 1000),
			decimal('12345678901234567890.125'), decimal('1E+3', '1000.0'),
			[ '9007199254740993', [ typed('Long', '9007199254740993') ], [] ],
			map { number($_) } @nan) } ],
	scaled => [ 'numeric(12,3)', sub {
		return (decimal('0.1', '0.10', '0.100'), number('-2.5'), integers(0, 7, 1000),
			decimal('999999999.999')) } ],
	float8 => [ 'float8', sub {
		return ((map { number($_) } '-2.5', '0.25', 'Infinity', '-Infinity', @nan),
			integers(-7, 0, 1, 7, 2147483648)) } ],
	int2 => [ 'int2', sub { integers(-32768, -7, 0, 1, 2, 32767) } ],
	int8 => [ 'int8', sub {
		return (integers(-7, 0, 1, 7, 2147483648), map { [ $_, [ typed('Long', $_) ], [] ] }
			  '9007199254740993', '-9223372036854775808', '9223372036854775807') } ],
	bool => [ 'bool', sub {
		([ 'true', ['true'], [ '1', typed('Long', 1) ] ],
			[ 'false', ['false'], [ '0', typed('Long', 0) ] ]) } ],
	text => [ 'text', sub {
		(@words, text('7', '7', typed('Double', 7), typed('Decimal', 7)), text('0.1', typed('Double', '0.1')),
			text('true', 'true'), text('[1, 2]', '[1, 2]')) } ],
	varchar => [ 'varchar(10)', sub { @words, text('7', '7'), text('0.1', typed('Double', '0.1')) } ],
	char => [ 'char(4)', sub {
		(text(''), text('a'), text('ab'), text('a b'), text('abcd'), text('é'),
			[ q('ab'), ['"ab  "'], [] ]) } ],
	long => [ 'text', sub { long_text(240) } ],
	huge => [ 'text', sub { long_text(4000) } ],
	date => [ 'date', \&dates ],
	timestamp => [ 'timestamp', \&timestamps ],
	timestamptz => [ 'timestamptz', sub { map { [ sql_timestamptz($_), [ json_date($_) ], [] ] } @times } ],
	jsonb => [ 'jsonb', sub {
		map { same($_) } '"x"', '1', '2.5', 'true', '[1, "a", {"b": 2}]', '{"a": 1}',
		  '{"b": {"c": [1]}}', '{"bb": 1, "a": 2}', '[null]', '[]', '{}' } ],
	floats => [ 'float8[]', sub {
		(same('{1,2.5}', '[1, 2.5]'), same('{2.5,1}', '[2.5, 1.0]'), same('{NULL}', '[null]'),
			same('{-1}', '[{"$numberLong": "-1"}]'), same('{{1,2},{3,4}}', '[[1, 2], [3, 4]]'),
			same('{}', '[]')) } ],
	ints => [ 'int4[]', sub {
		(same('{1,2}', '[1, 2.0]'), same('{2,1}', '[2, 1]'), same('{1,NULL}', '[1, null]'),
			same('{7}', '[{"$numberDecimal": "7"}]'), same('{}', '[]')) } ],
	bytea => [ 'bytea', sub {
		(binary(''), binary('00'), binary('7f'), binary('80'), binary('ff00ff'),
			binary('5a934e000102030405000000', '{"$oid": "5a934e000102030405000000"}')) } ],
	uuid => [ 'uuid', sub {
		map { [ sql_text($_), [ json_uuid($_) ], [ json_text($_), json_text(uc $_) ] ] } uuid_texts() } ]);

# Leaves that do not fit the type of a column
my %invalid = (
	(map { $_ => ['"n/a"'] } qw(numeric float8 int8 timestamptz uuid)),
	scaled => [ '"n/a"', typed('Decimal', '0.1234') ],
	int2 => [ '"n/a"', '40000', '2.5' ], bool => [ '"n/a"', '2.5' ],
	varchar => [ json_text('abcdefghijk') ], char => [ json_text('abcde') ],
	date => [ '"n/a"', json_date(1000) ], timestamp => ['"n/a"'],
	floats => [ '7', '["n/a"]' ], ints => ['[2.5]']);

sub odd_kinds { return sort keys %kinds }

# ---- Paths ----------------------------------------------------------------

# The steps of a path, each [text, kind]: a name, a key or the index of an array
sub steps_of
{
	my ($path) = @_;
	my @steps;

	while ($path =~ m/\[([^]]*)\]|((?:\{[^}]*\}|[^.[{])+)/g)
	{
		my ($index, $step) = ($1, $2);
		push @steps, defined $index ? [ "[$index]", 'index' ]
		  : [ $step, $step =~ m/\{/ ? 'key' : 'name' ];
	}
	return @steps;
}

sub path_of
{
	my $path = join '.', map { $_->[0] } @_;
	return $path =~ s/\.\[/[/gr;
}

# The steps of the odd value, from those of a value: beside it, or in another
# container, where a point without it would have no time of its own
sub odd_steps
{
	my (@steps) = @_;
	my $has_name = @steps > 1 && $steps[-1][1] eq 'name';
	my $has_index = grep { $_->[1] eq 'index' } @steps;
	my $last = $has_name ? pop @steps : undef;

	# values can have an element behind them
	return (@steps, [ $last->[0] + 2, 'name' ]) if $has_name && $last->[0] =~ m/^\d+$/;
	return (@steps, [ 'odd', 'name' ]) if $has_name && ($has_index || chance(0.75));
	return ([ 'odd', 'name' ], @steps[ 1 .. $#steps ]);
}

# Put a leaf into a document, creating subdocuments and arrays by the steps.
sub put_at
{
	my ($document, $leaf, $steps, @keys) = @_;
	my $node = \$document;

	foreach my $i (0 .. $#$steps)
	{
		$$node //= $steps->[$i][1] eq 'index' ? [] : {};
		$node = ref $$node eq 'ARRAY' ? \$$node->[ $keys[$i] ] : \$$node->{ $keys[$i] };
	}
	$$node = $leaf;
	return;
}

# Put null where arrays lack elements.
sub fill_gaps
{
	my ($node) = @_;

	foreach (ref $node eq 'ARRAY' ? @$node : ref $node ? values %$node : ())
	{
		$_ //= 'null';
		fill_gaps($_);
	}
	return;
}

# The places of the readings in a document: [number, keys ..]
sub places
{
	my ($node, @keys) = @_;

	return map { places($node->{$_}, @keys, $_) } sort keys %$node if ref $node eq 'HASH';
	return map { places($node->[$_], @keys, $_) } 0 .. $#$node if ref $node eq 'ARRAY';
	return ($node // '') =~ $numbered ? [ $1, @keys ] : ();
}

sub matches
{
	my ($steps, @keys) = @_;

	return @keys == @$steps
	  && !grep { $steps->[$_][1] eq 'name' && $steps->[$_][0] ne $keys[$_] } 0 .. $#keys;
}

# ---- Points ---------------------------------------------------------------

# Code that draws a value and its leaf, by the layout's zone.  Most points of a
# document have the same type.
sub source
{
	my ($layout, $kind, $is_free, $is_slot) = @_;
	my ($zone) = $layout->{options} =~ m/bucket_time_zone '([^']*)'/;
	my @values = $kinds{$kind}[1]->($zone // 'UTC');
	my $draw = ref $values[0] eq 'CODE' ? $values[0] : undef;
	my @pool;

	# an empty subdocument or array in a slot is not a value
	@values = grep { !$is_slot || $_->[1][0] !~ m/^(\[\]|\{\})$/ } @values unless $draw;
	@pool = $draw ? map { $draw->() } 1 .. 20 : @values;
	return (sub {
		my ($like) = @_;
		my ($sql, $leaves, $others) = @{ $draw && chance(0.9) ? $draw->() : pick(@pool) };
		my @leaves = (@$leaves, $is_free && chance(0.3) ? @$others : ());
		my @same = grep { m/$like/ } @leaves;

		return ('NULL', undef) if chance(0.1);
		return ('NULL', 'null') if chance(0.04);
		return ($sql, pick(@same ? @same : @leaves));
	}, [ map { $_->[0] } @pool ]);
}

# Add odd values, or leaves that are invalid, to the points of the documents.
# Returns the values by the number of a reading; invalid ones are undef.
sub put_values
{
	my ($layout, $draw, $invalid, $steps, $odd, %rows) = @_;
	my %values;

	foreach my $document (documents_of($layout))
	{
		my $like = pick('Double', 'Long', 'Decimal', '^-?\d', '.', '.');
		foreach my $place (grep { $rows{ $_->[0] } } places($document))
		{
			my ($number, @keys) = @$place;
			next unless matches($steps, @keys);
			my ($sql, $leaf) = @$invalid && chance(0.04) ? (undef, pick(@$invalid)) : $draw->($like);
			$values{$number} = [ $sql, $leaf, $document, @keys ];
			next unless defined $leaf;
			@keys = @keys[ 0 .. $#$odd ];
			$keys[$_] = $odd->[$_][0] foreach grep { $odd->[$_][1] eq 'name' } 0 .. $#$odd;
			put_at($document, $leaf, $odd, @keys);
		}
		fill_gaps($document);
	}
	return \%values;
}

# Remove some values beside odd ones.
sub remove_values
{
	my ($layout, $odd) = @_;

	foreach my $row (@{ $layout->{rows} })
	{
		my ($number) = $row->[-1] =~ $numbered or next;
		my (undef, $leaf, $document, @keys) = @{ $odd->{$number} // [] };
		next unless defined $leaf && chance(0.08);
		my $last = pop @keys;
		my $node = $document;
		$node = ref $node eq 'ARRAY' ? $node->[$_] : $node->{$_} foreach @keys;
		if (ref $node eq 'ARRAY') { $node->[$last] = 'null' }
		else { delete $node->{$last} }
		$row->[-1] = 'NULL';
	}
	return;
}

# The points of a time-series collection are its documents.
sub add_to_documents
{
	my ($layout, $draw) = @_;

	foreach my $i (0 .. $#{ $layout->{rows} })
	{
		my ($sql, $leaf) = $draw->('.');
		splice(@{ $layout->{rows}[$i] }, -1, 0, $sql);
		$layout->{docs}[$i]{odd} = $leaf if defined $leaf;
	}
	return;
}

# ---- Columns --------------------------------------------------------------

# The options of a column of a kind
sub options_of
{
	my ($layout, $type, $path, $is_row) = @_;
	my $is_native = $layout->{timeseries};
	my @options = "field '$path'";

	push @options, "role 'attribute'"
	  if $is_native ? $type !~ m/^(numeric|float8$|int|bool|uuid)/ : $is_row && chance(0.3);
	# the time is not the only time
	$layout->{columns}[0] = [ @{ $layout->{columns}[0] } ];
	my $time = \$layout->{columns}[0][2];
	$$time = join ', ', grep { length } $$time, "role 'time'"
	  if $type =~ m/^(date|timestamp)/ && $$time !~ m/role/;
	return join ', ', @options;
}

# Tell whether points can lack the last column.
sub can_lack_value
{
	my ($layout) = @_;
	my (undef, undef, $options, undef, $rest) = @{ $layout->{columns}[-1] };

	return "$options $layout->{options}" !~ m/missing_value|_field/
	  && ($rest // '') eq '';
}

# Add a column of a kind to a layout.  At times some of its values are invalid,
# and the points are skipped.  Does nothing if the values of the layout are not
# readings.
sub add_odd
{
	my ($layout, $kind) = @_;
	my $type = $kinds{$kind}[0];
	my $is_native = $layout->{timeseries};
	my @steps = steps_of(field_of(@{ $layout->{columns}[-1] }[ 0, 2 ]));
	my @odd = $is_native ? [ 'odd', 'name' ] : odd_steps(@steps);
	# the columns of documents that are rows have one type
	my $is_row = !grep { $_->[1] ne 'name' } @steps;
	my %rows = map { $_->[-1] =~ $numbered ? ($1 => 1) : () } @{ $layout->{rows} };

	return if $layout->{of} || !$is_native && !%rows;
	# only numbers can be incremented
	return if $layout->{options} =~ m/increment/ && $type !~ $number;
	my ($draw, $pool) =
	  source($layout, $kind, $is_native || !$is_row, !$is_native && $odd[-1][1] ne 'name');
	my $column = [ $type =~ m/^numeric/ ? 'oddn' : 'odd', $type,
		options_of($layout, $type, path_of(@odd), $is_row), $pool, '', 'odd' ];

	if ($is_native)
	{
		add_to_documents($layout, $draw);
	}
	else
	{
		my $invalid = $layout->{rollups} || chance(0.8) ? [] : $invalid{$kind} // [];
		my $values = put_values($layout, $draw, $invalid, \@steps, \@odd, %rows);
		foreach my $row (@{ $layout->{rows} })
		{
			my ($number) = $row->[-1] =~ $numbered;
			splice(@$row, -1, 0, ($values->{ $number // 0 } // ['NULL'])->[0]);
		}
		$layout->{rows} = [ grep { defined $_->[-2] } @{ $layout->{rows} } ];
		$layout->{options} = join ', ', grep { $_ } $layout->{options}, "on_invalid 'skip'"
		  if @$invalid;
		remove_values($layout, $values) if can_lack_value($layout);
	}
	splice(@{ $layout->{columns} }, -1, 0, $column);
	$layout->{odd} = $column;
	$layout->{tested} //= $column unless $layout->{rollups};
	return;
}

sub hide_numbers_in
{
	my ($node) = @_;

	foreach (ref $node eq 'ARRAY' ? @$node : values %$node)
	{
		if (ref $_) { hide_numbers_in($_) }
		elsif (defined $_) { s/$numbered//g }
	}
	return;
}

# Remove the numbers of a layout's readings.
sub hide_numbers
{
	my ($layout) = @_;

	hide_numbers_in([ $layout->{rows}, documents_of($layout) ]);
	return;
}

1;
