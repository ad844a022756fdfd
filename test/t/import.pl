# Proves that IMPORT FOREIGN SCHEMA reads no value of an invented collection
# wrongly without a NOTICE on its column: layouts of buckets, names that are
# numbers, tuples, two resolutions in a collection, and keys in all forms.  Nor
# does it take what describes a document for a key, or print two NOTICEs.
#
# SEED and COLLECTIONS (default: 200) are the random seed and the number of
# collections.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use JSON::PP;
use MongoTS::Node;
use POSIX qw(strftime);
use Test::More;

my $seed = $ENV{SEED} // int(rand(1e9));
my $collections = $ENV{COLLECTIONS} // 200;
my $json = JSON::PP->new->canonical->allow_nonref;
my $node = new_node('import', uri => undef);

srand($seed);
note("SEED=$seed");

my %length = (
	millisecond => 0.001,
	second => 1,
	minute => 60,
	hour => 3600,
	day => 86400);

sub choose { return $_[ int(rand(@_)) ] }

sub instant
{
	my ($t) = @_;

	return sprintf('%s.%03dZ', strftime('%Y-%m-%dT%H:%M:%S', gmtime(int($t))),
		int(($t - int($t)) * 1000 + 0.5));
}

# ---- Collections ------------------------------------------------------------

# Values differ, so that each is seen at its own time.
my $value = 0;

sub next_value { return ++$value }

# The starts of buckets, in seconds since 1970
sub starts
{
	my ($span, $n) = @_;
	my $t = int((1.6e9 + rand(1e8)) / $span) * $span;

	return map { $t += $span * choose(1, 1, 1, 2, 5); $t } 1 .. $n;
}

# Fill nested slots.  Each level is [unit, how many, base], and keys are
# present with a probability.  Returns the container, and adds points.
sub fill
{
	my ($points, $t, $density, $is_array, $level, @inner) = @_;
	my ($unit, $n, $base) = @$level;
	my (%keys, @array);

	for my $i (0 .. $n - 1)
	{
		my $present = rand() < $density || ($is_array && !@inner);
		my $at = $t + $i * $unit;
		my $item;

		next if !$present && !$is_array;
		if (@inner)
		{
			$item = fill($points, $at, $density, $is_array, @inner);
		}
		else
		{
			$item = next_value();
			$points->{ instant($at) . " $item" } = 1;
		}
		$keys{ $i + $base } = $item;
		push @array, $item;
	}
	return $is_array ? \@array : \%keys;
}

# Buckets of a span with these levels
sub buckets
{
	my ($span, $density, $is_array, $n, $extra, @levels) = @_;
	my (@docs, %points);

	for my $t (starts($span, $n))
	{
		push @docs,
		  { ts => { '$date' => instant($t) },
			v => fill(\%points, $t, $density, $is_array, @levels),
			%$extra };
	}
	return (\@docs, \%points);
}

my @layouts = (
	[ 60, [ 1, 60, 0 ] ],
	[ 3600, [ 60, 60, 0 ] ],
	[ 3600, [ 60, 60, 1 ] ],
	[ 3600, [ 300, 12, 0 ] ],
	[ 3600, [ 60, 60, 0 ], [ 10, 6, 0 ] ],
	[ 3600, [ 60, 60, 0 ], [ 1, 60, 0 ] ],
	[ 86400, [ 3600, 24, 0 ] ],
	[ 86400, [ 3600, 24, 1 ] ],
	[ 86400, [ 900, 96, 0 ] ],
	[ 86400, [ 1800, 48, 1 ] ],
	[ 86400, [ 60, 1440, 0 ] ],
	[ 86400, [ 3600, 24, 0 ], [ 900, 4, 0 ] ],
	[ 86400, [ 3600, 24, 0 ], [ 60, 60, 0 ] ],
	[ 7 * 86400, [ 86400, 7, 0 ] ]);

sub series
{
	my ($span, @levels) = @{ choose(@layouts) };
	my $is_array = @levels == 1 && rand() < 0.3;

	$levels[0][1] > 1000 and return buckets($span, 0.05, 0, 3, {}, @levels);
	return buckets($span, choose(1, 1, 0.95, 0.5, 0.1), $is_array,
		choose(1, 2, 3, 10), {}, map { $is_array ? [ @$_[ 0, 1 ], 0 ] : $_ } @levels);
}

# Names that are numbers
sub names
{
	my @names = @{
		choose(
			[ 200, 301, 404, 500, 503 ], [ 1, 2, 5, 10, 20, 50, 100, 200, 500 ],
			[ 1, 10, 20, 30, 100, 200 ], [ 1 .. 5 ], [ 1 .. choose(8, 10, 16, 28, 40, 48, 52) ],
			[ 40001 .. 40010 ], [ map { 1000 + int(rand(79000)) } 1 .. 40 ],
			[ 1, 33, 44, 49, 351 ], [ 18 .. 89 ]) };
	my ($span, $n, $density) =
	  (choose(60, 3600, 86400), choose(1, 2, 3, 10, 30), choose(1, 1, 0.6));
	my @docs;

	for my $t (starts($span, $n))
	{
		push @docs,
		  { ts => { '$date' => instant($t) },
			v => { map { $_ => next_value() } grep { rand() < $density } @names } };
	}
	return (\@docs, {});
}

# Keys in other forms than plain numbers
my @forms = (
	[ 86400, 3600, 24, sub { sprintf('%02d', $_[0]) } ],
	[ 86400, 3600, 24, sub { "h$_[0]" } ],
	[ 86400, 900, 96, sub { 'q' . ($_[0] + 1) } ],
	[ 86400, 900, 96, sub { sprintf('%02d%02d', $_[0] / 4, $_[0] % 4 * 15) } ],
	[ 86400, 60, 1440, sub { sprintf('%02d:%02d', $_[0] / 60, $_[0] % 60) } ],
	[ 3600, 60, 60, sub { sprintf('m%02d', $_[0]) } ],
	[ 3600, 1, 3600, sub { sprintf('%d:%d', $_[0] / 60, $_[0] % 60) } ]);

sub formed
{
	my ($span, $unit, $n, $write) = @{ choose(@forms) };
	my ($docs, $points) =
	  buckets($span, choose(1, 0.95, 0.5, 0.1), 0, choose(1, 3, 5), {}, [ $unit, $n, 0 ]);

	for my $doc (@$docs)
	{
		my $v = $doc->{v};

		$doc->{v} = { map { $write->($_) => $v->{$_} } keys %$v };
	}
	return ($docs, $points);
}

# Keys, or first elements of tuples, that are times
sub timed
{
	my ($span, $n, $is_tuple) = (choose(3600, 86400), choose(2, 5), rand() < 0.5);
	my $write = choose(
		sub { int($_[0]) . '' },
		sub { $_[0] * 1000 . '' },
		sub { $_[0] * 1000000 . '' },
		sub { substr(instant($_[0]), 0, 19) });
	my (@docs, %points);

	for my $start (starts($span, $n))
	{
		my (%keys, @items);

		for my $t (sort { $a <=> $b } map { $start + int(rand($span)) } 1 .. choose(5, 20))
		{
			next if $keys{ $write->($t) };
			$keys{ $write->($t) } = next_value();
			push @items, [ { '$date' => instant($t) }, $value, -$value ];
			$points{ instant($t) . " $value" } = 1;
		}
		push @docs,
		  { ts => { '$date' => instant($start) }, v => $is_tuple ? \@items : \%keys };
	}
	return (\@docs, \%points);
}

# Tuples, and short arrays.  Tuples that fill a unit may have its times.
sub tuples
{
	my ($span, $n) = (choose(60, 3600, 86400), choose(2, 3, 10));
	my ($many, $width) = (choose(1, 12, 24, 60), choose(2 .. 8));
	my (@docs, %points);

	for my $t (starts($span, $n))
	{
		my @items = map { [ map { next_value() } 1 .. $width ] } 1 .. $many;

		$points{ instant($t + $_ * $span / $many) . " $items[$_][1]" } = 1
		  for 0 .. $many - 1;
		push @docs,
		  { ts => { '$date' => instant($t) },
			v => $many == 1 && $width < 6 ? $items[0] : \@items };
	}
	return (\@docs, \%points);
}

# Names that are numbers, in slots or around them
sub nested
{
	my @names = @{
		choose([ 200, 301, 404, 500 ], [ 1 .. 5 ], [ 2 .. 5 ], [ 0 .. 3 ], [ 3, 7, 12 ]) };
	my ($span, $unit) = @{ choose([ 3600, 60 ], [ 86400, 3600 ], [ 60, 1 ]) };
	my ($density, $is_outer) = (choose(1, 0.7), rand() < 0.3);
	my (@docs, %points);

	for my $t (starts($span, choose(1, 3, 6)))
	{
		my %keys;

		for my $i (0 .. $span / $unit - 1)
		{
			for my $name (grep { rand() < $density } @names)
			{
				my $item = next_value();

				$keys{ $is_outer ? $name : $i }{ $is_outer ? $i : $name } = $item;
				$points{ instant($t + $i * $unit) . " $name $item" } = 1;
			}
		}
		push @docs, { ts => { '$date' => instant($t) }, v => \%keys };
	}
	return (\@docs, \%points);
}

# Two resolutions that a field tells apart, or none
sub mixed
{
	my $density = choose(1, 0.9);
	my ($n, $m) = (choose(2, 5), choose(2, 5));
	my $has_field = rand() < 0.7;
	my ($fine, $some) =
	  buckets(3600, $density, 0, $n, $has_field ? { res => 'minute' } : {}, [ 60, 60, 0 ]);
	my ($coarse, $others) =
	  buckets(86400, $density, 0, $m, $has_field ? { res => 'hour' } : {}, [ 3600, 24, 0 ]);

	return ([ @$fine, @$coarse ], { %$some, %$others });
}

# Buckets of several devices, with fields that describe them, some of them in
# few documents, and perhaps an index
sub described
{
	my ($span, @levels) = @{ choose(grep { $_->[1][1] < 1000 } @layouts) };
	my ($density, $n, $devices) = (choose(1, 1, 0.95), choose(2, 5, 20), choose(1 .. 5));
	my @starts = starts($span, $n);
	my (@docs, %points);

	for my $t (@starts)
	{
		for my $device (1 .. $devices)
		{
			push @docs,
			  { device => "d$device",
				ts => { '$date' => instant($t) },
				v => fill(\%points, $t, $density, 0, @levels),
				site => 's' . $device % 2,
				fw => '1.' . int(($t - $starts[0]) / $span / 4),
				made => { '$date' => instant($t + int(rand(1000))) },
				rate => rand(),
				__v => 0,
				rand() < 0.5 ? (battery => int(rand(100))) : (),
				rand() < 0.05 ? (alarm => 'hot') : () };
		}
	}
	return (\@docs, \%points, choose({}, { device => 1 }, { device => 1, ts => 1 }));
}

my %kinds = (
	series => \&series,
	described => \&described,
	names => \&names,
	nested => \&nested,
	tuples => \&tuples,
	mixed => \&mixed,
	formed => \&formed,
	timed => \&timed);

# ---- Comparison -------------------------------------------------------------

# The rows that a declaration reads, as texts, and what it should read
sub compare
{
	my ($collection, @tables) = @_;
	my $docs = $collection->{docs};
	my (%got, %want);

	for my $table (@tables)
	{
		my %fields = %{ $table->{fields} };
		my @columns = sort grep { $fields{$_} =~ /^v\b/ } keys %fields;
		my $field = $fields{ $columns[0] // '' };

		return 'no column' if !$field;
		# tuples have their measurement in the second element
		@columns = grep { $fields{$_} =~ /\.1$/ } @columns if $field =~ /\]\.\d+$/;
		if ($field eq 'v')
		{
			%want = map { instant_of($_) . ' ' . $json->encode($_->{v}) => 1 } @$docs;
			$got{"$_->{ts} " . $json->encode($_->{v})} = 1 for @{ $table->{rows} };
		}
		elsif ($field eq 'v.{v_key}')
		{
			for my $doc (@$docs)
			{
				$want{ instant_of($doc) . " $_ $doc->{v}{$_}" } = 1 for keys %{ $doc->{v} };
			}
			$got{"$_->{ts} $_->{v_key} $_->{v}"} = 1 for @{ $table->{rows} };
		}
		elsif ($field =~ /^v\.[^{\[]+$/)
		{
			for my $doc (@$docs)
			{
				$want{ instant_of($doc) . " $_ $doc->{v}{$_}" } = 1 for keys %{ $doc->{v} };
			}
			for my $row (@{ $table->{rows} })
			{
				$got{"$row->{ts} " . substr($fields{$_}, 2) =~ s/\\//gr . " $row->{$_}"} = 1
				  for grep { defined $row->{$_} } @columns;
			}
		}
		elsif ($field =~ /\{v_key\}/)
		{
			%want = %{ $collection->{points} };
			$got{"$_->{ts} $_->{v_key} $_->{v}"} = 1 for @{ $table->{rows} };
		}
		else
		{
			%want = %{ $collection->{points} };
			# points may have a time besides the bucket's
			my ($time) = ((grep { !/^(?:ts|made)$/ } @{ $table->{times} }), 'ts');

			$got{"$_->{$time} $_->{$columns[0]}"} = 1 for @{ $table->{rows} };
		}
	}
	return join("\n", sort keys %got) eq join("\n", sort keys %want) ? '' : 'differs';
}

# Whether the keys of described buckets are not just the device
sub compare_keys
{
	my (@tables) = @_;
	my @keys = map { @{ $_->{keys} // [] } } @tables;

	return "@keys" eq 'device' ? '' : "keys @keys";
}

sub instant_of { return $_[0]{ts}{'$date'} }

# Import collections, and return their tables and notices.
sub import_all
{
	my ($schema, @collections) = @_;
	my $uri = quoted($ENV{MONGODB_URI});
	my $sql = <<"END";
		SET TimeZone = 'UTC';
		CREATE SERVER $schema FOREIGN DATA WRAPPER mongo_ts_fdw
		  OPTIONS (uri $uri, database 'mts_import_$schema');
		CREATE USER MAPPING FOR PUBLIC SERVER $schema;
		SELECT mongo_ts_command('$schema', '{"dropDatabase": 1}') IS NULL;
END
	my ($stdout, $stderr);

	for my $collection (@collections)
	{
		my $documents = $json->encode(
			{ insert => $collection->{name}, documents => $collection->{docs} });

		# the name of a command comes first
		$documents =~ s/^\{"documents":(.*),"insert":("[^"]*")\}$/{"insert":$2,"documents":$1}/;
		$sql .= "SELECT mongo_ts_command('$schema', " . quoted($documents) . ") IS NULL;\n";
		next if !%{ $collection->{index} // {} };
		my $index = $json->encode(
			{ key => $collection->{index}, name => 'i', unique => keys %{ $collection->{index} } > 1 ? \1 : \0 });

		$sql .= "SELECT mongo_ts_command('$schema', "
		  . quoted(qq({"createIndexes": "$collection->{name}", "indexes": [$index]}))
		  . ") IS NULL;\n";
	}
	$sql .= "CREATE SCHEMA $schema; IMPORT FOREIGN SCHEMA mts_import_$schema FROM SERVER $schema INTO $schema;\n";
	$sql .= <<"END";
		SELECT json_build_object('table', c.relname, 'collection',
			(SELECT option_value FROM pg_options_to_table(f.ftoptions) WHERE option_name = 'collection'),
			'fields', (SELECT json_object_agg(attname, coalesce((SELECT option_value
				FROM pg_options_to_table(attfdwoptions) WHERE option_name = 'field'), attname))
				FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0),
			'keys', (SELECT json_agg(attname) FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0
				AND atttypid <> 'timestamptz'::regtype AND attfdwoptions::text !~ 'role=attribute|field=v'),
			'times', (SELECT json_agg(attname) FROM pg_attribute WHERE attrelid = c.oid
				AND atttypid = 'timestamptz'::regtype))
		  FROM pg_class c JOIN pg_foreign_table f ON f.ftrelid = c.oid
		 WHERE relnamespace = '$schema'::regnamespace;
END
	$node->psql('postgres', $sql, stdout => \$stdout, stderr => \$stderr);
	my @tables = map { $json->decode($_) } grep { /^\{/ } split(/\n/, $stdout);
	my $rows = "SET TimeZone = 'UTC';\n";

	for my $table (@tables)
	{
		my $times = join(', ', map { "'$_', to_char(\"$_\", 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')" }
			@{ $table->{times} });

		$rows .= "SELECT json_build_object('table', '$table->{table}', 'rows',"
		  . " (SELECT json_agg(to_jsonb(t) || jsonb_build_object($times))"
		  . " FROM $schema.\"$table->{table}\" t));\n";
	}
	$rows .= "SELECT mongo_ts_command('$schema', '{\"dropDatabase\": 1}') IS NULL;\n";
	my %rows = map { my $t = $json->decode($_); ($t->{table} => $t->{rows} // []) }
	  grep { /^\{/ } split(/\n/, $node->safe_psql('postgres', $rows));
	$_->{rows} = $rows{ $_->{table} } for @tables;
	return ($stderr, @tables);
}

my (%counts, @wrong);

for my $round (1 .. $collections / 20)
{
	my @collections = map {
		my $kind = choose(sort keys %kinds);
		my ($docs, $points, $index) = $kinds{$kind}->();

		{ name => "c$_", kind => $kind, docs => $docs, points => $points, index => $index }
	} 1 .. 20;
	my ($notices, @tables) = import_all("r$round", @collections);

	for my $collection (@collections)
	{
		my $name = $collection->{name};
		my $problem =
		  compare($collection, grep { $_->{collection} eq $name } @tables);
		my @noticed = $notices =~ /collection "$name"[:,] ([^\n]*\n(?:DETAIL:[^\n]*)?)/g;
		my $noticed = grep { /\bv\b/ } @noticed;

		if ($collection->{kind} eq 'described' && !$problem)
		{
			$problem = compare_keys(grep { $_->{collection} eq $name } @tables);
			$noticed = grep { /\bdevice\b/ } @noticed if $problem;
		}
		$problem ||= 'several notices'
		  if @noticed > (grep { $_->{collection} eq $name } @tables);

		$counts{"$collection->{kind} "
			  . ($problem ? 'wrong' : 'right')
			  . ($noticed ? ', with a notice' : '')}++;
		push @wrong, "$name: $problem " . substr($json->encode($collection->{docs}), 0, 300)
		  if $problem && !$noticed;
	}
}
note("$_: $counts{$_}") for sort keys %counts;
is(scalar(@wrong), 0, "no wrong row of $collections collections without a notice");
diag(join("\n", @wrong[ 0 .. ($#wrong < 5 ? $#wrong : 5) ])) if @wrong;
$node->stop;
done_testing();
