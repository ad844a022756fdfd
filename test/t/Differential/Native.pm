# Defines layouts of native time-series collections, whose buckets MongoDB
# makes.  Some are read twice: by their buckets, and as NAME_view by the view.
#
# See Layouts.pm.  timeseries has the options of the collection, and a view
# names the layout with the documents in "of".

package Differential::Native;

use strict;
use warnings;

use Differential::Data;
use Differential::Layouts qw(new_layout add_row @value_pool @text_pool);
use Exporter qw(import);
use List::Util qw(shuffle);

our @EXPORT_OK = qw(native_layouts);

# Seconds around which the points lie: after 1970, before it, and where 32 bits
# do not suffice.  The last of the first ones is the end of 31 bits.
my @near = (1_000_000_000, 1_356_998_400, 1_383_458_400, 2_147_483_647);
my @early = (0, -58_017_600, 1_383_458_400, 2_147_483_647);
my @far =
  (-5_000_000_000, 4_294_967_296, 1_456_703_970, 7_258_118_400, 0);

# ---- Values ---------------------------------------------------------------

# Values of a field, each [SQL, leaf ...]
my @doubles = (
	(map { [ "'$_'::float8", "{\"\$numberDouble\": \"$_\"}" ] }
		'NaN', 'Infinity', '-Infinity', '-0', '-0', '1e300', '0.5', '-2.5'),
	[ '3', '3', '{"$numberLong": "3"}', '{"$numberDecimal": "3.0"}' ],
	[ '4', '4', '{"$numberDouble": "4.0"}' ],
	[ '0', '0', '{"$numberDouble": "0"}' ]);
# Those whose sums are exact
my @summands = grep { $_->[0] !~ m/1e300/ } @doubles;
my @integers = (
	(map { [ "'$_'::int8", "{\"\$numberLong\": \"$_\"}" ] }
		'9223372036854775807', '-9223372036854775808',
		'9007199254740993', '-4294967297'),
	map { [ $_, $_, "{\"\$numberLong\": \"$_\"}",
			"{\"\$numberDouble\": \"$_\"}" ] } -7, 0, 1, 2147483647);
my @decimals = (
	(map { [ "'$_'::numeric", "{\"\$numberDecimal\": \"$_\"}" ] }
		'0.1', 'NaN', '-2.50', '12345678901234567890.125', '1E+3', '0.10',
		'1e-30'),
	[ '7', '7', '{"$numberDouble": "7"}' ],
	[ '0.1', '{"$numberDouble": "0.1"}' ]);
my @texts = map { [ sql_text($_), json_text($_) ] } grep { defined } types();
my @mixed = (@texts, [ q('7'), '7' ], [ q('2.5'), '2.5' ], [ q('true'), 'true' ],
	[ q('-1'), '{"$numberLong": "-1"}' ]);
my @bools = ([qw(true true)], [qw(false false)]);
my @times = map { [ sql_timestamptz($_), json_date($_) ] } -DAY() - 1000, 0,
  1_381_446_419_123_000;
my @oids = map { [ sql_text($_), "{\"\$oid\": \"$_\"}" ] }
  '5a934e000102030405000000', '5a934e000102030405000001';
my @anything = ([ q('"x"'), '"x"' ], [ q('1'), '1' ], [ q('true'), 'true' ],
	[ q('[1, "a", {"b": 2}]'), '[1, "a", {"b": 2}]' ], [ q('[]'), '[]' ],
	[ q('{"a": 1}'), '{"a": 1}' ], [ q('{}'), '{}' ],
	[ q('{"b": {"c": [1]}}'), '{"b": {"c": [1]}}' ]);

sub pool { return [ map { $_->[0] } @_ ] }

# A source of [SQL, leaf] with runs of a value, as a bucket ends when the type
# of a field changes.  The leaf is undef where the field is missing.
sub source
{
	my ($again, @values) = @_;
	my $last = pick(@values);

	return sub {
		return [ 'NULL', undef ] if chance(0.1);
		return [ 'NULL', 'null' ] if chance(0.02);
		$last = pick(@values) unless chance($again);
		my ($sql, @leaves) = @$last;
		return [ $sql, pick(@leaves) ];
	};
}

# Numbers whose sums are exact, mostly doubles, as buckets with one type are
# read at once
sub readings
{
	return sub {
		return [ 'NULL', undef ] if chance(0.1);
		return [ 'NULL', 'null' ] if chance(0.01);
		return [ "'NaN'::float8", '{"$numberDouble": "NaN"}' ]
		  if chance(0.02);
		my $value = between(-40, 400) / 4;
		return [ $value, chance(0.005) ? json_number($value)
			: "{\"\$numberDouble\": \"$value\"}" ];
	};
}

# ---- Points ---------------------------------------------------------------

# The times of a series in microseconds, around some seconds, as far apart as
# its buckets require
sub times_of
{
	my ($layout, $n, @anchors) = @_;
	my @times;

	foreach my $anchor (@anchors)
	{
		my $t = $anchor * SECOND - int($n / 2) * $layout->{step};
		foreach (1 .. $n)
		{
			$t += int(rand(2 * $layout->{step} / 1000)) * 1000;
			push @times, $t;
		}
	}
	return @times;
}

# Add a point: fields are pairs of the path of a field and a source.  Columns
# have their values by the name of the path, and those of the series.
sub make_point
{
	my ($layout, $t, $series) = @_;
	my %document = (ts => json_date($t));
	my %sql = %{ $series->{sql} // {} };
	my (undef, @columns) = @{ $layout->{columns} };

	$document{ $layout->{meta} } = $series->{meta} if defined $series->{meta};
	foreach my $field (@{ $layout->{fields} })
	{
		my ($path, $source) = @$field;
		my ($sql, $leaf) = @{ $source->() };
		$sql{$path} = $sql;
		put(\%document, $leaf, split(m/\./, $path)) if defined $leaf;
	}
	# an empty object has no value
	$document{o} //= {} if $layout->{objects} && chance(0.3);
	add_row($layout, $t, map { $sql{ $_->[5] } } @columns);
	return \%document;
}

# Points in the order of time, then some that come too late, in any order
sub fill_points
{
	my ($layout, $n, $dense, @anchors) = @_;
	my (@soon, @late, @last);

	foreach my $series (@{ $layout->{series} })
	{
		foreach my $t (times_of($layout, $n, @anchors))
		{
			push @{ pick((\@soon) x 7, (\@late) x 2, \@last) }, [ $t, $series ];
		}
	}
	# a bucket that ends since it is full
	my $start = $anchors[2] * SECOND + 40 * $layout->{step};
	push @soon, map { [ $start + $_ * 1_000_000, $layout->{series}[0] ] }
	  1 .. $dense;
	@soon = sort { $a->[0] <=> $b->[0] } @soon;
	$layout->{docs} =
	  [ map { make_point($layout, @$_) } @soon, shuffle(@late),
		shuffle(@last) ];
	return $layout;
}

# A layout whose columns have a sixth member, the path of their field
sub native
{
	my ($name, $timeseries, %p) = @_;
	my $layout = new_layout($name => [ 'timestamptz', '' ],
		columns => $p{columns});

	$layout->{$_} = $p{$_} foreach qw(step meta series fields objects);
	$layout->{timeseries} = "{\"timeField\": \"ts\", $timeseries}";
	return fill_points($layout, $p{points}, $p{dense}, @{ $p{anchors} });
}

# The series of a metaField with strings; one has none
sub series_of_strings
{
	return [ map {
			{ meta => defined $_ ? json_text($_) : pick(undef, 'null'),
				sql => { k => sql_text($_) } }
	} @_ ];
}

# ---- Layouts --------------------------------------------------------------

# Numbers of all types in one field, and two columns of it
sub native_seconds
{
	return native('native_seconds',
		'"metaField": "k", "granularity": "seconds"',
		meta => 'k', series => series_of_strings('memory_used', 'é', '', undef),
		step => 100 * SECOND, points => 70, dense => 1100, anchors => \@near,
		fields => [ [ v => readings() ], [ x => source(0.9, @doubles) ],
			[ 'o.a' => source(0.9, @integers) ] ],
		objects => 1,
		columns => [
			[ 'type', 'text', "field 'k'", \@text_pool, '', 'k' ],
			[ 'kx', 'float8', "field 'x'", pool(@doubles), '', 'x' ],
			[ 'ka', 'int8', "field 'o.a'", pool(@integers), '', 'o.a' ],
			[ 'kn', 'numeric', "field 'v'", \@value_pool, '', 'v' ],
			[ 'value', 'float8', "field 'v'", \@value_pool, '', 'v' ] ]);
}

# Subfields of the metaField, and values of any type
sub native_minutes
{
	my @uuids = uuid_texts();
	my @series = (
		{ meta => { site => '"a"', sensor => '1', at => { x => '5' },
				dev => json_uuid($uuids[0]) },
			sql => { site => q('a'), sensor => 1, x => 5,
				dev => sql_text($uuids[0]) } },
		{ meta => { site => '"a"', sensor => '{"$numberLong": "2"}', at => {},
				dev => json_uuid($uuids[1]) },
			sql => { site => q('a'), sensor => 2,
				dev => sql_text($uuids[1]) } },
		{ meta => { site => '"é"', sensor => 'null', at => 'null' },
			sql => { site => q('é') } },
		{ meta => { site => '""', at => { x => 'null', y => '1' } },
			sql => { site => q('') } },
		{ meta => { sensor => '-3' }, sql => { sensor => -3 } },
		{ meta => {} }, { meta => 'null' }, {});
	foreach my $series (@series)
	{
		$series->{sql}{$_} //= 'NULL' foreach qw(site sensor x dev);
	}
	return native('native_minutes',
		'"metaField": "meta", "granularity": "minutes"',
		meta => 'meta', series => \@series,
		step => 2500 * SECOND, points => 50, dense => 0, anchors => \@near,
		fields => [ [ j => source(0.97, @anything) ],
			[ m => source(0.97, @mixed) ],
			[ d => source(0.5, @decimals) ] ],
		columns => [
			[ 'site', 'text', "field 'meta.site'",
				[ @text_pool, q('a') ], '', 'site' ],
			[ 'sensor', 'int4', "field 'meta.sensor'", [ -3 .. 3 ], '',
				'sensor' ],
			[ 'kx', 'int8', "field 'meta.at.x'", [ 4 .. 6 ], '', 'x' ],
			[ 'ku', 'uuid', "field 'meta.dev'",
				[ map { sql_text($_) } @uuids ], '', 'dev' ],
			[ 'kj', 'jsonb', "field 'j', role 'attribute'", pool(@anything), '', 'j' ],
			[ 'mixed', 'text', "field 'm', role 'attribute'", pool(@mixed), '', 'm' ],
			[ 'value', 'numeric', "field 'd'", pool(@decimals), '', 'd' ] ]);
}

# No metaField, and columns of other types
sub native_hours
{
	return native('native_hours', '"granularity": "hours"',
		series => [ {} ], step => 10 * HOUR, points => 300, dense => 100,
		anchors => \@early,
		fields => [ [ b => source(0.5, @bools) ], [ t => source(0.9, @times) ],
			[ 'o.id' => source(0.8, @oids) ], [ s => source(0.6, @texts) ],
			[ v => source(0.6, @integers) ] ],
		objects => 1,
		columns => [
			[ 'kb', 'bool', "field 'b'", pool(@bools), '', 'b' ],
			[ 'kt', 'timestamptz', "field 't', role 'attribute'", pool(@times), '', 't' ],
			[ 'ko', 'text', "field 'o.id', bson_type 'objectId'", pool(@oids),
				'', 'o.id' ],
			[ 'ks', 'text', "field 's'", pool(@texts), '', 's' ],
			[ 'value', 'int8', "field 'v'", pool(@integers), '', 'v' ] ]);
}

# Times whose seconds take more than 32 bits
sub native_far
{
	return native('native_far', '"metaField": "k"',
		meta => 'k', series => series_of_strings('A b_c', 'z', undef),
		step => 100 * SECOND, points => 60, dense => 0, anchors => \@far,
		fields => [ [ v => source(0.5, @summands) ],
			[ s => source(0.5, @texts) ] ],
		columns => [
			[ 'type', 'text', "field 'k'", \@text_pool, '', 'k' ],
			[ 'ks', 'text', "field 's'", pool(@texts), '', 's' ],
			[ 'value', 'float8', "field 'v'", pool(@doubles), '', 'v' ] ]);
}

# The view, where each column requires one type
sub view_of
{
	my ($layout) = @_;
	my @columns = @{ $layout->{columns} };
	my @kept = grep { $columns[$_][0] ne 'mixed' } 0 .. $#columns;

	return { %$layout, name => "$layout->{name}_view", docs => [],
		timeseries => undef, of => $layout->{name},
		columns => [ @columns[@kept] ],
		rows => [ map { [ @{$_}[@kept] ] } @{ $layout->{rows} } ],
		options => "collection '$layout->{name}', native_buckets 'off'" };
}

# All of these layouts, freshly filled.  The view itself loses points to
# conditions on the time before 1970, and with MongoDB 5.0 after 2038.
sub native_layouts
{
	my ($version) = @_;
	my @layouts = (native_seconds(), native_minutes());
	my @views = $version < 6 ? () : map { view_of($_) } @layouts;

	return (@layouts, @views, native_hours(), native_far());
}

1;
