# Makes the SQL that changes the BSON type of a time, a key or a value in some
# documents, for the differential test.
#
# drifting() is the SQL of the functions, and marked_tables() that of the tables
# of a layout.  drift() changes documents of a layout and restore() changes them
# back; drift_time() is for a statement that writes.
#
# While documents have drifted, a query of the foreign table either fails, since
# it reads one of them, or agrees with the local table.  That has the points of
# these documents, too: with their own time, or none, and as a key or value one
# that no equality selects.  So a query that leaves them out must be one whose
# answer is the same without them.  Joins with local points read c.NAME, which
# never has such a key or value.  With on_invalid 'skip', the local table lacks the
# points of these documents, and no query fails.
#
# A time-series collection gets other documents instead.

package Differential::Drift;

use strict;
use warnings;

use Differential::Data;
use Differential::Indexes qw(collections_of field_of tables_of);
use Exporter qw(import);

our @EXPORT_OK = qw(drifting marked_tables drift drift_time restore
  is_changeable);

# ---- Functions ------------------------------------------------------------

my $functions = <<'END';
	-- the documents that have drifted
	CREATE TABLE drifted (collection text, id text);

	-- Update the documents of collections that match a filter.
	CREATE FUNCTION update_documents(collections text[], filter text, stages text)
	RETURNS SETOF jsonb LANGUAGE sql AS $f$
		SELECT mongo_ts_command('mongo', format('{"update": "%s", "updates": [
			{"q": %s, "u": [%s], "multi": true}]}', c, filter, stages)::json)
		FROM unnest(collections) c;
	$f$;

	-- Mark documents, and keep what they are: of each collection the one that
	-- has a share of the others before it.  The shares are used in turn.
	CREATE FUNCTION mark(collections text[], shares float8[], sort text)
	RETURNS void LANGUAGE plpgsql AS $f$
	DECLARE
		ids jsonb;
		n int;
	BEGIN
		FOR i IN 1 .. cardinality(collections) LOOP
			-- FerretDB estimates the number of all
			n := mongo_ts_command('mongo', format('{"count": "%s", "query": {"_id": {"$exists": true}}}',
				collections[i])::json)->>'n';
			CONTINUE WHEN n = 0;
			ids := mongo_ts_command('mongo', format('{"find": "%s",
				"sort": {"%s": 1}, "skip": %s, "limit": 1, "projection": {"_id": 1}}',
				collections[i], sort, floor((n - 1) * shares[1 + (i - 1) % cardinality(shares)]))::json)
				->'cursor'->'firstBatch';
			INSERT INTO drifted VALUES (collections[i], ids->0->'_id'->>'$oid');
			PERFORM update_documents(collections[i:i], format(
				'{"_id": %s, "original": {"$exists": false}}', ids->0->'_id'),
				'{"$set": {"original": "$$ROOT", "is_drifting": true}}');
		END LOOP;
	END $f$;

	-- Change all documents back, also those that drifted before.
	CREATE FUNCTION unmark() RETURNS void LANGUAGE sql AS $f$
		SELECT update_documents(
			ARRAY(SELECT DISTINCT collection FROM drifted WHERE collection IS NOT NULL),
			'{"original": {"$exists": true}}', '{"$replaceWith": "$original"}');
		TRUNCATE drifted;
	$f$;

	-- Change the marked documents by a stage.  False, and no document is changed
	-- any more, if an index refuses a value.
	CREATE FUNCTION change(collections text[], stage text) RETURNS bool
	LANGUAGE plpgsql AS $f$
	BEGIN
		PERFORM set_config('test.drift', concat_ws(', ',
			nullif(current_setting('test.drift', true), ''), stage), false);
		IF (SELECT count(r->'writeErrors') = 0 FROM update_documents(collections,
			'{"is_drifting": true}', stage || ', {"$unset": "is_drifting"}') r)
		THEN
			RETURN true;
		END IF;
		PERFORM unmark(), set_config('test.drift', '', false);
		RETURN false;
	END $f$;

	-- Change documents.  d.NAME then has their points, and the local table lacks
	-- them.
	CREATE FUNCTION drift(name text, collections text[], shares float8[],
		sort text, stage text) RETURNS void LANGUAGE plpgsql AS $f$
	BEGIN
		PERFORM mark(collections, shares, sort);
		EXECUTE format('DROP TABLE IF EXISTS d.%I;
			CREATE TABLE d.%1$I AS TABLE m.%1$I;
			CREATE TABLE IF NOT EXISTS b.%1$I AS TABLE l.%1$I', name);
		IF NOT change(collections, stage) THEN
			EXECUTE format('TRUNCATE d.%I, l.%1$I;
				INSERT INTO l.%1$I TABLE b.%1$I', name);
			RETURN;
		END IF;
		EXECUTE format('CREATE TEMP TABLE kept AS TABLE l.%I EXCEPT ALL TABLE d.%1$I;
			TRUNCATE l.%1$I;
			INSERT INTO l.%1$I TABLE kept;
			DROP TABLE kept', name);
	END $f$;

	-- Change the documents back, and the local points.
	CREATE FUNCTION restore(name text) RETURNS void LANGUAGE plpgsql AS $f$
	BEGIN
		PERFORM unmark();
		EXECUTE format('TRUNCATE l.%I;
			INSERT INTO l.%1$I TABLE b.%1$I;
			DROP TABLE b.%1$I', name);
	END $f$;
END

sub drifting { return $functions }

# m.NAME, the points of the documents that are about to drift, by the SQL that
# creates a foreign table
sub marked_tables
{
	my ($layout, $foreign_table) = @_;
	my ($name, $options) = @$layout{qw(name options)};
	my @tables = tables_of($layout);
	my $filter = '"is_drifting": true';

	return '' if $layout->{timeseries} || $layout->{of};
	$options .= ($options ? ', ' : '') . "filter '{$filter}'"
	  unless $options =~ s/(filter '\{)/$1$filter, /;
	my $sql = join '', map {
		$foreign_table->("m.$_", { %$layout, options => $options }) } @tables;
	return $sql if @tables == 1;
	return $sql . "CREATE VIEW m.$name AS "
	  . join(' UNION ALL ', map { "TABLE m.$_" } @tables) . ";\n";
}

# ---- What drifts ----------------------------------------------------------

# Values of other types, each [JSON, the types that it has in MongoDB]
my @numbers = qw(int long double decimal);
my @others = (
	[ '"x7"', 'string' ], [ '7', @numbers ],
	[ '{"$numberDecimal": "7.5"}', @numbers ], [ 'true', 'bool' ],
	[ json_date(1_381_446_419_123_000), 'date' ],
	[ '{"$oid": "5a934e000102030405000000"}', 'objectId' ],
	[ '{"$timestamp": {"t": 1381446419, "i": 1}}', 'timestamp' ],
	[ '{"$minKey": 1}', 'minKey' ], [ '{"$maxKey": 1}', 'maxKey' ],
	[ '[{"x": 1}]', 'array' ]);

# Values that no condition of equality has, by type
my %unused = (
	text => [ map { "'$_'" } '!', 'memory_v', '~' ], int2 => [ -7777, 13, 31000 ],
	int4 => [ -7777, 13, 31000 ], int8 => [ '-1e12', 13, '1e12' ],
	float8 => [ '-1e12', '3.125', '1e12' ], numeric => [ '-1e12', '3.125', '1e12' ],
	uuid => [ map { "'$_'" } '00000000-0000-0000-0000-000000000001',
		'a0000000-0000-0000-0000-000000000000' ],
	map { $_ => [ map { "'$_'" } '1701-01-01', '2014-07-07', '2700-01-01' ] }
	  qw(timestamptz timestamp date));
$unused{'varchar(20)'} = $unused{text};

# Tell whether the stages below can change a field.
sub is_changeable { return $_[0] !~ m/^_id|\{|\]\[|\[\].*\[|\.\d/ }

# The fields of the times of a layout's documents, unless they can have several
# types.  That of a row can be null.
sub times_of
{
	my ($layout) = @_;
	my ($name, undef, $options) = @{ $layout->{columns}[0] };
	my $field = field_of($name, $options);
	my @others = $layout->{options} =~ m/bucket_\w+_field '([^']*)'/g;
	my @own = $options =~ m/ or / ? () : $options =~ m/field/ || $layout->{is_flat} ? $field : ();

	return ((map { { field => $_, $layout->{is_flat}
				? (null => [ "$name = NULL" ]) : () } } @own),
		map { { field => $_ } } @others);
}

# The fields of the keys, and of the values of documents that are rows
sub keys_of
{
	my ($layout) = @_;
	my (undef, @columns) = @{ $layout->{columns} };
	my $value = $columns[-1][2];
	my %columns;

	# values of points convert to other types
	@columns = grep { field_of(@{$_}[ 0, 2 ]) !~ m/\[\]|\{/ } @columns[ 0 .. $#columns - 1 ]
	  unless $layout->{is_flat};
	# a key of slots is not a field
	@columns = grep { $value !~ m/\{$_->[0]\}/ } @columns;
	push @{ $columns{ field_of(@{$_}[ 0, 2 ]) } }, $_ foreach @columns;
	return map {
		my @shown = @{ $columns{$_} };
		{ field => $_, null => [ map { "$_->[0] = NULL" } @shown ],
			unused => [ map { "$_->[0] = " . pick(@{ $unused{ $_->[1] } }) }
				@shown ] }
	} grep { !grep { !$unused{ $_->[1] } || $_->[2] =~ m/attribute|'any'/
			  || ($layout->{partition_by} // '') =~ m/\b$_->[0]\b/ } @{ $columns{$_} } }
	  sort keys %columns;
}

# The fields that can drift.  Roll-ups still have the keys and times that there
# were.
sub targets
{
	my ($layout) = @_;
	my @times = times_of($layout);
	my @keys = $layout->{rollups} ? () : keys_of($layout);

	delete $_->{null} foreach $layout->{rollups}
	  || ($layout->{columns}[0][4] // '') =~ m/NOT NULL/ ? @times : ();
	# a planted fault can be in what one field needs
	my $wanted = $ENV{DRIFT} // '.';
	return grep { is_changeable($_->{field}) && $_->{field} =~ m/$wanted/ } @times, @times, @keys;
}

# ---- Documents that are changed -------------------------------------------

# The stage that sets a field, in all elements of an array
sub set
{
	my ($field, $value) = @_;
	my $array = $field =~ s/\[\]$//r;

	return "{\"\$set\": {\"" . ($field =~ s/\[\]//r) . "\": $value}}"
	  if $array eq $field;
	return "{\"\$set\": {\"$array\": {\"\$map\": {\"input\": \"\$$array\", \"in\": $value}}}}";
}

# Another value than a field has, and of another type: a subdocument if it has
# that of the one that is drawn.  At times MongoDB sorts the first document last,
# or the last one first, where a scan that ends early would not read it.
sub other_value
{
	my ($field, $share) = @_;
	# an element's own type is not looked at
	my $is_element = $field =~ m/\[\]/;
	my ($value, @types) = @{ pick($is_element ? grep { $_->[0] =~ m/^true|Key|^\[/ } @others : @others) };
	my $list = join ', ', map { "\"$_\"" } @types, 'missing', 'null';

	return '{"$literal": {"' . ($share ? '$minKey' : '$maxKey') . '": 1}}'
	  if ($share // 0.5) =~ m/^[01]$/ && chance(0.4);
	return '{"$literal": {"x": 1}}' if chance(0.1);
	return "{\"\$literal\": $value}" if $is_element;
	return "{\"\$cond\": [{\"\$in\": [{\"\$type\": \"\$$field\"}, [$list]]}, "
	  . "{\"\$literal\": {\"x\": 1}}, {\"\$literal\": $value}]}";
}

# How a field changes, and what the local points have then: the stage, the
# assignments, and whether the documents can still be read
sub change
{
	my ($layout, $target, $share) = @_;
	my $field = $target->{field};
	my $can_be_null = $target->{null} && $field !~ m/\[/;

	return ($can_be_null && chance(0.5) ? "{\"\$unset\": \"$field\"}" : set($field, 'null'),
		$target->{null}, $layout->{is_flat} || $target->{unused})
	  if $can_be_null && chance(0.2);
	# its only element is compared
	return (set($field, "[\"\$$field\"]"), [], 0)
	  if $field !~ m/\[/ && chance(0.15);
	return (set($field, other_value($field, $share)), $target->{unused} // [], 0);
}

# Which documents change: some places, each a collection and a share
sub places
{
	my ($layout) = @_;
	my $shares = pick([0], [1], [ 0, 1 ], [ map { rand } 1 .. between(1, 5) ],
		([ map { rand } 1 .. 20 ]) x 3);
	my @collections = collections_of($layout);

	return map { [ pick(@collections), $_ ] } @$shares;
}

sub array_of { return 'ARRAY[' . join(', ', map { "'$_'" } @_) . ']' }

sub drift_once
{
	my ($layout, $is_skipped, $target) = @_;
	my @places = places($layout);
	my ($stage, $assignments, $is_valid) = change($layout, $target, $places[0][1]);
	my $list = join ', ', @$assignments;
	my ($first) = grep { is_changeable($_) && !m/\[/ } map { $_->{field} } times_of($layout);
	my $sql = sprintf "SELECT drift('%s', %s, %s, '%s', \$q\$%s\$q\$);\n",
	  $layout->{name}, array_of(map { $_->[0] } @places),
	  array_of(map { $_->[1] } @places) . '::float8[]', $first // '_id', $stage;

	return $sql if $is_skipped && !$is_valid;
	$sql .= "UPDATE d.$layout->{name} SET $list;\n" if $list;
	$sql .= "INSERT INTO l.$layout->{name} TABLE d.$layout->{name};\n";
	$sql .= "SET test.may_fail = on;\n" unless $is_valid;
	return $sql;
}

# ---- Points of time-series collections ------------------------------------

my @not_numbers = ('"x7"', '{"x": 1}', '[{"x": 1}]', json_date(0));
my @not_texts = ('7', 'true', '{"x": 1}', '[{"x": 1}]');

# The fields of numbers and UUIDs, and of texts in the metaField: each [path,
# values of another type, assignments]
sub native_targets
{
	my ($layout) = @_;
	my $name = $layout->{meta} // '';
	my $meta = qr/^\Q$name\E(\.|$)/;

	return map {
		my ($path, $type) = ($_->{field}, $_->{unused}[0]);
		[ $path, $path =~ $meta && $type !~ m/= -?\d/ ? \@not_texts : \@not_numbers,
			$_->{unused} ]
	} grep {
		my $path = $_->{field};
		$path =~ $meta || !grep { field_of(@{$_}[ 0, 2 ]) eq $path
			  && $_->[1] eq 'text' } @{ $layout->{columns} }
	} keys_of({ %$layout, is_flat => 1 });
}

# A point of one of the series that has no other field: its document and row
sub other_point
{
	my ($layout, $target) = @_;
	my ($path, $values, $unused) = @$target;
	my $series = pick(@{ $layout->{series} });
	my $t = pick(@{ $layout->{edges} });
	my %document = (ts => json_date($t));
	my %unused = map { split m/ = / } @$unused;
	my %sql = (%{ $series->{sql} // {} });
	my (undef, @columns) = @{ $layout->{columns} };

	$document{ $layout->{meta} } = $series->{meta} if defined $series->{meta};
	my @outer = split m/\./, $path;
	my $last = pop @outer;
	my $inner = \%document;
	foreach (@outer)
	{
		$inner->{$_} = ref $inner->{$_} eq 'HASH' ? { %{ $inner->{$_} } } : {};
		$inner = $inner->{$_};
	}
	$inner->{$last} = pick(@$values);
	return (\%document, join ', ', sql_timestamptz($t),
		map { $unused{ $_->[0] } // $sql{ $_->[5] } // 'NULL' } @columns);
}

# Add some points to a time-series collection.
sub add_points
{
	my ($layout, $is_skipped) = @_;
	my @targets = native_targets($layout);
	my ($name, $collection) = ($layout->{name}, $layout->{of} // $layout->{name});
	my $sql = "CREATE TABLE b.$name AS TABLE l.$name;\n";

	foreach (1 .. between(1, 4))
	{
		my ($document, $row) = other_point($layout, pick(@targets));
		$sql .= "SELECT mongo_ts_command('mongo', \$json\${\"insert\": \"$collection\", "
		  . "\"documents\": [" . encode($document) . "]}\$json\$);\n";
		$sql .= "INSERT INTO l.$name VALUES ($row);\n" unless $is_skipped;
	}
	return "$sql SET test.drift = 'other points';\nINSERT INTO drifted VALUES (NULL, NULL);\n"
	  . ($is_skipped ? '' : "SET test.may_fail = on;\n");
}

# ---- Drifting -------------------------------------------------------------

# Let one or two fields drift.  Nothing for layouts without such a field.
sub drift
{
	my ($layout) = @_;
	my $is_native = $layout->{timeseries} || $layout->{of};
	my @targets = $is_native ? () : targets($layout);
	my $skips_always = $layout->{options} =~ m/on_invalid/;
	my $is_skipped = !$layout->{rollups} && chance(0.3) || $skips_always;
	my $sql = '';

	return '' unless $is_native || @targets;
	$sql .= "ALTER FOREIGN TABLE f.$_ OPTIONS (ADD on_invalid 'skip');\n"
	  foreach $is_skipped && !$skips_always ? tables_of($layout) : ();
	$sql .= add_points($layout, $is_skipped) if $is_native;
	$sql .= drift_once($layout, $is_skipped, pick(@targets))
	  foreach $is_native ? () : 1 .. pick(1, 1, 2);
	$layout->{is_skipped} = $is_skipped && !$skips_always;
	return "SET client_min_messages = error;\n$sql";
}

# SQL that changes the time of documents of some collections, and changes it
# back.  Each of the documents stays where it is.
sub drift_time
{
	my ($field, $collections) = @_;
	my $other = chance(0.15) ? "[\"\$$field\"]" : other_value($field);
	my $stage = set($field, $other);

	return (<<"DRIFT", <<"RESTORE");
SET client_min_messages = error;
SELECT mark(c || c || c, '{0.5,0,1}', '$field'), change(c, \$q\$$stage\$q\$)
FROM (SELECT $collections) s (c) WHERE c <> '{}';
DRIFT
SELECT update_documents($collections, '{"original": {"\$exists": true}}',
	'{"\$set": {"$field": "\$original.$field"}}, {"\$unset": ["original", "is_drifting"]}');
TRUNCATE drifted;
SET client_min_messages = warning;
RESTORE
}

# Change the documents back, except those of a time-series collection.
sub restore
{
	my ($layout) = @_;
	my $sql = "SET test.drift = '';\nSET test.may_fail = off;\n"
	  . "SELECT restore('$layout->{name}');\n";

	$sql .= "ALTER FOREIGN TABLE f.$_ OPTIONS (DROP on_invalid);\n"
	  foreach $layout->{is_skipped} ? tables_of($layout) : ();
	return "$sql SET client_min_messages = warning;\n";
}

1;
