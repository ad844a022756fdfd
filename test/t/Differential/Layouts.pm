# Defines layouts of the differential test: how each is declared and filled.
#
# This module has the layouts whose slots tell the time; see also Points.pm.
# slot_layouts() returns hashes with name; columns, each [name, type, options,
# pool, constraint], where the pool has SQL values to compare with; options of
# the table; rows, each a list of SQL values; docs; and edges, the error-prone
# times.  A partitioned table has partition_by and partitions, each [bounds,
# docs]; a rolling set has collections, which map names to docs.  The first
# column is the time, the last one a value.

package Differential::Layouts;

use strict;
use warnings;

use Differential::Data;
use Exporter qw(import);
use List::Util qw(shuffle);

our @EXPORT_OK = qw(slot_layouts new_layout add_row fill_slots head
  dated_head @type @value_pool @text_pool);

our @text_pool = map { sql_text($_) } grep { defined } types(), 'memory',
  'memory_usee', 'A', 'z', "it's";
our @value_pool = map { $_ / 4 } -41, -40, 0, 1, 100, 222, 400, 401;

my @value = (value => 'float8');
our @type = ('type', 'text', '', \@text_pool);

# A layout without data; the columns after the time are type and value by
# default.
sub new_layout
{
	my ($name, $time, %params) = @_;
	my @columns = $params{columns} ? @{ $params{columns} } : (
		[@type], [ @value, "field '$params{value}'", \@value_pool ]);

	return {
		name => $name,
		columns => [ [ ts => @$time ], @columns ],
		options => $params{options} // '',
		time_sql => \&sql_timestamptz,
		rows => [], docs => [], edges => []
	};
}

sub add_row
{
	my ($layout, $t, @values) = @_;

	push @{ $layout->{rows} },
	  [ defined $t ? $layout->{time_sql}->($t) : 'NULL', @values ];
	push @{ $layout->{edges} }, $t if defined $t;
	return;
}

# Fields beside the points that are not points
sub litter
{
	my ($document, @path) = @_;

	put($document, json_number(7), @path, 'sum') if chance(0.5);
	put($document, '{"deep": [1, 2]}', @path, 'note') if chance(0.2);
	put($document, {}, @path, 3) if @path && chance(0.05)
	  && !exists below($document, @path)->{3};
	return;
}

sub below
{
	my ($document, @path) = @_;

	$document = $document->{$_} //= {} foreach @path;
	return $document;
}

# Fill buckets whose slots are keys. path->(slot) is the path of a value,
# time->(start, slot) its time, undef if the slot has none (by default all slots
# are equally long), head->(start, type) makes the document, finish->(document, values) adds
# fields that depend on all values, and reading->() makes a value.
# Subdocuments in litter get more keys; with doubles, all values are doubles.
sub fill_slots
{
	my ($layout, %p) = @_;
	my $count = $p{span} / $p{step};

	foreach my $start (@{ $p{starts} // [ starts($p{span}, 1) ] })
	{
		push @{ $layout->{edges} }, $start, $start + $p{span};
		foreach my $type (@{ $p{types} // [ types() ] })
		{
			next if chance(0.4);
			my $document = $p{head}->($start, $type);
			my @values;
			foreach my $slot (some_slots($count, $p{points} // 5))
			{
				my $t = $p{time} ? $p{time}->($start, $slot)
				  : $start + $slot * $p{step};
				next unless defined $t;
				my $value = $p{reading} ? with_number($p{reading}->()) : reading();
				$value //= 0 if $p{doubles};
				push @values, $value;
				put($document,
					$p{doubles} ? "{\"\$numberDouble\": \"$value\"}"
					: json_number($value), $p{path}->($slot));
				add_row($layout, $t, sql_text($type), sql_number($value));
			}
			litter($document, @{ $p{litter} // [] }) unless $p{doubles};
			$p{finish}->($document, \@values) if $p{finish};
			push @{ $layout->{docs} }, $document;
		}
	}
	return $layout;
}

# The field of the key; without a type it is absent or null
sub head
{
	my ($time_field, $type, $time_leaf) = @_;
	my %document = ($time_field => $time_leaf, x => json_number(1));

	$document{type} = json_text($type) if defined $type || chance(0.5);
	return \%document;
}

sub dated_head
{
	my ($field) = @_;
	return sub { head($field, $_[1], json_date($_[0])) };
}

sub minute
{
	return fill_slots(
		new_layout(minute => [ 'timestamptz', "field 'timestamp_minute'" ],
			value => 'values.{second}', options => "count_field 'n'"),
		span => MINUTE, step => SECOND, litter => ['values'],
		head => dated_head('timestamp_minute'),
		path => sub { ('values', $_[0]) });
}

# Float8 values, which are read at once when they are aggregated
sub doubles
{
	return fill_slots(
		new_layout(doubles => [ 'timestamptz', "field 'm'" ],
			value => 'v.{second}', options => "bucket_span '1 hour'"),
		span => HOUR, step => SECOND, points => 12, doubles => 1,
		head => dated_head('m'), path => sub { ('v', $_[0]) });
}

sub hour_flat
{
	return fill_slots(
		new_layout(hour_flat => [ 'timestamptz', "field 'timestamp_hour'" ],
			value => 'values.{second}', options => "bucket_span '1 hour'"),
		span => HOUR, step => SECOND, litter => ['values'],
		head => dated_head('timestamp_hour'),
		path => sub { ('values', $_[0]) });
}

sub hour_nested
{
	return fill_slots(
		new_layout(hour_nested => [ 'timestamptz', "field 'timestamp_hour'" ],
			value => 'values.{minute}.{second}'),
		span => HOUR, step => SECOND, litter => [ 'values', '5' ],
		head => dated_head('timestamp_hour'),
		path => sub { ('values', int($_[0] / 60), $_[0] % 60) });
}

sub day_levels
{
	return fill_slots(
		new_layout(day_levels => [ 'timestamptz', "field 'timestamp'" ],
			value => 'series.{hour}.{minute}.{second}'),
		span => DAY, step => SECOND, litter => [ 'series', '13' ],
		head => dated_head('timestamp'),
		path => sub {
			('series', int($_[0] / 3600), int($_[0] / 60) % 60, $_[0] % 60) });
}

sub day_text
{
	return fill_slots(
		new_layout(day_text => [ 'timestamptz', q(field 'timestamp_day', )
				  . q(format 'text:YYYY-MM-DD"T"HH24:MI:SS') ],
			value => 'items.{hour}.{minute}'),
		span => DAY, step => MINUTE, litter => ['items'],
		head => sub {
			my ($day) = iso($_[0]) =~ m/^(\S+)/;
			head('timestamp_day', $_[1], json_text("${day}T00:00:00")) },
		path => sub { ('items', int($_[0] / 60), $_[0] % 60) });
}

# Multiples of a unit that count from 1, and a name between the slots
sub quarters
{
	return fill_slots(
		new_layout(quarters => [ 'timestamptz', "field 'day'" ],
			value => 'h.{hour:1}.q.{15 minutes:1}.v'),
		span => DAY, step => 15 * MINUTE, points => 9,
		litter => [ 'h', '2' ], head => dated_head('day'),
		path => sub {
			('h', 1 + int($_[0] / 4), 'q', 1 + $_[0] % 4, 'v') });
}

# Page views: a preallocated 0 means no view.
sub page_views
{
	my $layout = fill_slots(
		new_layout(page_views => [ 'timestamptz', "field 'timestamp'" ],
			columns => [ [@type],
				[ @value, "field 'seconds.{second}', missing_value '0'",
					\@value_pool ] ],
			options => "write_mode 'increment'"),
		span => MINUTE, step => SECOND, litter => ['seconds'],
		head => dated_head('timestamp'),
		path => sub { ('seconds', $_[0]) });

	$layout->{rows} = [ grep { $_->[2] !~ m/^0(?![.\d])/ }
		  @{ $layout->{rows} } ];
	foreach my $document (@{ $layout->{docs} })
	{
		$document->{seconds}{$_} //= json_number(0) foreach 20 .. 30;
	}
	return $layout;
}

# Stock prices share their collection with documents that the filter excludes.
sub stock
{
	my $layout = fill_slots(
		new_layout(stock => [ 'timestamptz', "field 'd'" ],
			columns => [
				[ 'symbol', 'varchar(20)', "field 'type'", \@text_pool ],
				[ 'price', 'numeric', "field 'p.{second}'", \@value_pool ] ],
			options => q(filter '{"kind": "trade"}')),
		span => MINUTE, step => SECOND, litter => ['p'],
		head => dated_head('d'), path => sub { ('p', $_[0]) });

	$_->{kind} = json_text('trade') foreach @{ $layout->{docs} };
	push @{ $layout->{docs} },
	  { kind => json_text('quote'), d => json_text('today') },
	  { d => json_date(0), p => { 1 => json_number(1) } };
	return $layout;
}

# Months: days count from 1, with totals beside them on every level.
sub monthly
{
	my ($name, $format, $json_month) = @_;
	my $layout = new_layout(
		$name => [ 'timestamptz', "field 'm', format '$format'" ],
		value => 'd.{day:1}.{hour}.c');

	foreach my $month (months())
	{
		my ($year, $number) = @$month;
		my ($start, $end) = in_zone('UTC', sub {
			map { local_midnight($year, $number + $_, 1) } 0, 1 });
		fill_slots($layout, span => $end - $start, step => HOUR,
			starts => [$start], points => 12,
			head => sub { head('m', $_[1], $json_month->($year, $number)) },
			litter => [ 'd', '9' ],
			path => sub {
				('d', 1 + int($_[0] / 24), $_[0] % 24, 'c') });
	}
	$_->{d}{t} = json_number(5) foreach @{ $layout->{docs} };
	return $layout;
}

# Buckets that are not aligned, among others that are
sub unaligned
{
	return fill_slots(
		new_layout(unaligned => [ 'timestamptz', "field 't0'" ],
			value => 'v.{minute}.{second}'),
		span => HOUR, step => SECOND, litter => ['v'],
		starts => [ map { $_ + 1000 * pick(0, between(-3599_999, 3599_999)) }
			  starts(HOUR, 1) ],
		head => dated_head('t0'),
		path => sub { ('v', int($_[0] / 60), $_[0] % 60) });
}

sub milliseconds
{
	return fill_slots(
		new_layout(milliseconds => [ 'timestamptz', "field 't0'" ],
			value => 'v.{millisecond}'),
		span => SECOND, step => 1000, litter => ['v'],
		head => dated_head('t0'), path => sub { ('v', $_[0]) });
}

sub timestamp_slots
{
	my $layout = new_layout(
		timestamp_slots => [ 'timestamp', "field 'timestamp_hour'" ],
		value => 'values.{minute}.{second}');

	$layout->{time_sql} = \&sql_timestamp;
	return fill_slots($layout,
		span => HOUR, step => SECOND,
		head => dated_head('timestamp_hour'),
		path => sub { ('values', int($_[0] / 60), $_[0] % 60) });
}

# The types are the keys of a slot.
sub unpivoted
{
	my $layout = new_layout(unpivoted => [ 'timestamptz', "field 'ts'" ],
		value => 'values.{second}.{type}');

	foreach my $start (starts(MINUTE, 2))
	{
		my %document = (ts => json_date($start), x => '1');
		push @{ $layout->{edges} }, $start, $start + MINUTE;
		foreach my $slot (some_slots(60, 5))
		{
			foreach my $type (grep { $_ && chance(0.5) } types())
			{
				my $value = reading();
				put(\%document, json_number($value), 'values', $slot, $type);
				add_row($layout, $start + $slot * SECOND, sql_text($type),
					sql_number($value));
			}
		}
		litter(\%document, 'values');
		push @{ $layout->{docs} }, \%document;
	}
	return $layout;
}

# The types are the keys of the outermost slot, so a bucket is an instant.  A
# query cannot address all of them.
sub snapshots
{
	my @types = ((grep { defined } types()), 'a.b', '5', 'z');
	my $layout = new_layout(snapshots => [ 'timestamptz', "field 'ts'" ],
		columns => [ [ 'type', 'text', '', [ map { sql_text($_) } @types ] ],
			[ 'value', 'float8', "field 'v.{type}'", \@value_pool ] ]);

	foreach my $t (map { $_ + between(0, 59) * SECOND } starts(MINUTE, 2))
	{
		my %document = (ts => json_date($t), x => '1');
		$document{v} = chance(0.7) ? {} : 'null' if chance(0.9);
		foreach my $type (grep { chance(0.4) } @types)
		{
			my $value = reading();
			next unless ref $document{v};
			$document{v}{$type} = json_number($value);
			add_row($layout, $t, sql_text($type), sql_number($value));
		}
		push @{ $layout->{edges} }, $t;
		push @{ $layout->{docs} }, \%document;
	}
	return $layout;
}

# The keys of a slot are integers.
sub counters
{
	my @codes = (200, 404, 500, -1, 0, 2_147_483_647);
	my $layout = new_layout(counters => [ 'timestamptz', "field 'ts'" ],
		columns => [ [ 'code', 'int4', '', [ @codes, 7, -2_147_483_648 ] ],
			[ 'value', 'float8', "field 'n.{minute}.{code}'",
				\@value_pool ] ]);

	foreach my $start (starts(HOUR, 2))
	{
		my %document = (ts => json_date($start), x => '1');
		push @{ $layout->{edges} }, $start, $start + HOUR;
		foreach my $slot (some_slots(60, 5))
		{
			foreach my $code (grep { chance(0.5) } @codes)
			{
				my $value = reading();
				put(\%document, json_number($value), 'n', $slot, $code);
				add_row($layout, $start + $slot * MINUTE, $code,
					sql_number($value));
			}
		}
		litter(\%document, 'n');
		push @{ $layout->{docs} }, \%document;
	}
	return $layout;
}

# Hundreds of integers are the keys of a slot.  Most documents have those of the
# one before, in the same order; in others some are new, missing or elsewhere.
sub crowds
{
	my @codes = map { 7 * $_ } 0 .. 289;
	my $layout = new_layout(crowds => [ 'timestamptz', "field 'ts'" ],
		columns => [ [ 'code', 'int4', '', [ @codes[ 0, 1, 7, 200, 289 ], 8 ] ],
			[ 'site', 'text', '', [ map { sql_text($_) } qw(a b c) ] ],
			[ 'value', 'float8', "field 'n.{code}'", \@value_pool ] ]);

	foreach my $t (grep { chance(0.6) } starts(MINUTE, 1))
	{
		my $site = pick('a', 'a', 'b', undef);
		my @points;

		@codes = shuffle(@codes) if chance(0.1);
		push @codes, shift @codes if chance(0.2);
		foreach my $i (map { between(0, $#codes) } 1 .. pick(0, 0, 1, 20))
		{
			my $j = between(0, $#codes);
			@codes[ $i, $j ] = @codes[ $j, $i ];
		}
		my %missing = map { $_ => 1 } chance(0.3) ? grep { chance(0.1) } @codes : ();
		foreach my $code (grep { !$missing{$_} } @codes)
		{
			my $value = chance(0.005) ? undef : between(-40, 400) / 4;
			push @points, "\"$code\": "
			  . (defined $value ? "{\"\$numberDouble\": \"$value\"}" : 'null');
			push @{ $layout->{rows} },
			  [ sql_timestamptz($t), $code, sql_text($site), sql_number($value) ];
		}
		push @{ $layout->{edges} }, $t;
		push @{ $layout->{docs} },
		  { ts => json_date($t), site => json_text($site), n => '{' . join(', ', @points) . '}' };
	}
	return $layout;
}

# Two containers with the same slots, which may each lack points
sub zipped
{
	my $layout = new_layout(zipped => [ 'timestamptz', "field 'ts'" ],
		columns => [ [@type],
			[ 'temp', 'float8', "field 'temp.{second}'", \@value_pool ],
			[ 'hum', 'float8', "field 'hum.{second}'", \@value_pool ] ]);

	foreach my $start (starts(MINUTE, 1))
	{
		push @{ $layout->{edges} }, $start, $start + MINUTE;
		foreach my $type (grep { chance(0.5) } types())
		{
			my $document = head('ts', $type, json_date($start));
			foreach my $slot (some_slots(60, between(3, 30)))
			{
				my @values = (reading(), reading());
				my @there = @{ pick([0], [1], [ 0, 1 ], [ 0, 1 ]) };
				my @row = ('NULL', 'NULL');
				foreach my $i (@there)
				{
					put($document, json_number($values[$i]),
						(qw(temp hum))[$i], $slot);
					$row[$i] = sql_number($values[$i]);
				}
				add_row($layout, $start + $slot * SECOND, sql_text($type),
					@row);
			}
			litter($document, pick('temp', 'hum'));
			push @{ $layout->{docs} }, $document;
		}
	}
	return $layout;
}

# The values are elements of arrays, or keys in a subdocument.
sub tuple_slots
{
	my $layout = new_layout(tuple_slots => [ 'timestamptz', "field 'm'" ],
		value => 'k.{minute}.3');

	foreach my $start (starts(HOUR, 1))
	{
		push @{ $layout->{edges} }, $start, $start + HOUR;
		foreach my $type (grep { chance(0.6) } types())
		{
			my $document = head('m', $type, json_date($start));
			foreach my $slot (some_slots(60, 5))
			{
				my $value = reading();
				my $leaf = json_number($value);
				put($document, pick([ '1', '2', 'null', $leaf ],
					{ 3 => $leaf, 0 => '1' }), 'k', $slot);
				add_row($layout, $start + $slot * MINUTE, sql_text($type),
					sql_number($value));
			}
			litter($document, 'k');
			push @{ $layout->{docs} }, $document;
		}
	}
	return $layout;
}

# Keys that are padded, have text around numbers or two numbers, or count
# from the start of a longer unit than the slot around them
sub key_layouts
{
	my @time = ('timestamptz', "field 't0'");

	return (
		fill_slots(
			new_layout(key_padded => [@time], value => 'v.{hour:00}.{minute:01}'),
			span => DAY, step => MINUTE, litter => [],
			head => dated_head('t0'),
			finish => sub { put($_[0], json_number(7), 'v', 'sum') },
			path => sub { ('v', sprintf('%02d', $_[0] / 60),
				sprintf('%02d', 1 + $_[0] % 60)) }),
		fill_slots(
			new_layout(key_doubles => [@time], value => 'v.s{second:00}',
				options => "count_field 'n'"),
			span => MINUTE, step => SECOND, points => 12, doubles => 1,
			head => dated_head('t0'),
			path => sub { ('v', sprintf('s%02d', $_[0])) }),
		fill_slots(
			new_layout(key_texts => [@time], value => 'v.h{hour}.q{15 minutes:1}.v'),
			span => DAY, step => 15 * MINUTE, points => 9, litter => ['v', 'h2'],
			head => dated_head('t0'),
			path => sub {
				('v', 'h' . int($_[0] / 4), 'q' . (1 + $_[0] % 4), 'v') }),
		fill_slots(
			new_layout(key_numbers => [@time],
				value => 'v.{hour:00}:{minute:00}'),
			span => DAY, step => MINUTE, points => 12, litter => ['v'],
			head => dated_head('t0'),
			path => sub { ('v', sprintf('%02d:%02d', $_[0] / 60, $_[0] % 60)) }),
		fill_slots(
			new_layout(key_of_day => [@time],
				value => 'v.{hour}.{minute of day}'),
			span => DAY, step => MINUTE, points => 9, litter => ['v'],
			head => dated_head('t0'),
			path => sub { ('v', int($_[0] / 60), $_[0]) }));
}

# All of these layouts, freshly filled
sub slot_layouts
{
	return (
		minute(), doubles(), hour_flat(), hour_nested(), day_levels(), day_text(),
		quarters(), page_views(), stock(),
		monthly('monthly', 'text:YYYY:FMMM',
			sub { json_text("$_[0]:$_[1]") }),
		monthly('monthly_number', 'number:YYYYMM',
			sub { sprintf('%d%02d', @_) }),
		unaligned(),
		milliseconds(), timestamp_slots(), unpivoted(), snapshots(), counters(), crowds(),
		zipped(),
		tuple_slots(), key_layouts());
}

1;
