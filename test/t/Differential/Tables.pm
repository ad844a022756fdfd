# Makes the tables and functions of the differential test of queries.
#
# functions() is the SQL of the functions that compare the two sides, and indexing()
# what fill_tables() requires.
# fill_tables() is that of a layout's tables: f.NAME is foreign, l.NAME is
# local with the same points, c.NAME has the points that there were at first, and
# edges has times; c.NAME and the others are joined (see Join.pm and Star.pm).

package Differential::Tables;

use strict;
use warnings;

use Differential::Data;
use Differential::Drift qw(drifting marked_tables);
use Differential::Indexes qw(indexes);
use Differential::Join qw(fill_series);
use Differential::Rollups qw(fill_rollups);
use Differential::Star qw(fill_dimensions);
use Exporter qw(import);

our @EXPORT_OK = qw(functions fill_tables refill indexing);

# The SQL that fills the time-series collections, by their names
my %fill;

# ---- Comparing ------------------------------------------------------------

# `pair` makes the query that compares all rows. `pair_by` makes the one that
# compares keys of the rows, perhaps the position of a row, and looks for each
# row in whole. `ask` records the answers of both sides; the foreign one may
# fail where the local one, executed alone, also fails, or by reading a document
# that has drifted.
#
# The limit, which no query reaches, keeps the comparisons' hash tables small
# where the planner expects many rows and may not sort: since PostgreSQL 19, one
# is as large as its rows are expected to be.
my $functions = <<'END';
	CREATE TABLE outcome (layout text, kind text, query int, has_time bool,
		zone text, settings text, command text, found bigint, lost bigint,
		extra bigint, example text, problem text, remote text, plan text,
		drift text);

	-- keys of groups: by the zone of the session, and of values
	CREATE FUNCTION part_of_day(t timestamptz) RETURNS text STABLE
	LANGUAGE sql AS $$
		SELECT CASE WHEN extract(hour FROM t) < 12 THEN 'am' ELSE 'pm' END
			|| extract(minute FROM t)::int / 20$$;
	CREATE FUNCTION parity(v numeric) RETURNS text IMMUTABLE STRICT
	LANGUAGE plpgsql AS $$
	BEGIN
		RETURN mod(round(v), 2);
	END $$;
	CREATE FUNCTION parity(v float8) RETURNS text IMMUTABLE
	LANGUAGE sql RETURN parity(v::numeric);

	CREATE FUNCTION pair(query text) RETURNS text LANGUAGE sql
	RETURN format($$
		WITH f AS MATERIALIZED (%s), l AS MATERIALIZED (%s),
			lf AS (TABLE f LIMIT 1000000), ll AS (TABLE l LIMIT 1000000),
			lost AS (TABLE ll EXCEPT ALL TABLE lf),
			extra AS (TABLE lf EXCEPT ALL TABLE ll)
		SELECT (SELECT count(*) FROM l), (SELECT count(*) FROM lost),
			(SELECT count(*) FROM extra),
			coalesce((SELECT 'lost ' || lost::text FROM lost LIMIT 1),
				(SELECT 'extra ' || extra::text FROM extra LIMIT 1))$$,
		replace(query, 'side.', 'f.'), replace(query, 'side.', 'l.'));

	CREATE FUNCTION pair_by(query text, keys text, whole text) RETURNS text
	LANGUAGE sql RETURN format($$
		WITH f AS MATERIALIZED (%s), l AS MATERIALIZED (%s),
			fp AS (SELECT row_number() OVER () AS place, * FROM f LIMIT 1000000),
			lp AS (SELECT row_number() OVER () AS place, * FROM l LIMIT 1000000),
			lost AS (SELECT %3$s FROM lp EXCEPT ALL SELECT %3$s FROM fp),
			extra AS (SELECT %3$s FROM fp EXCEPT ALL SELECT %3$s FROM lp),
			unknown AS ((TABLE f LIMIT 1000000) EXCEPT ALL %4$s)
		SELECT (SELECT count(*) FROM l), (SELECT count(*) FROM lost),
			(SELECT count(*) FROM extra) + (SELECT count(*) FROM unknown),
			coalesce((SELECT 'lost ' || lost::text FROM lost LIMIT 1),
				(SELECT 'extra ' || extra::text FROM extra LIMIT 1),
				(SELECT 'unknown ' || unknown::text FROM unknown LIMIT 1))$$,
		replace(query, 'side.', 'f.'), replace(query, 'side.', 'l.'), keys,
		replace(whole, 'side.', 'l.'));

	CREATE FUNCTION ask(layout text, kind text, query int, has_time bool,
		zone text, settings text, command text, paired text, alone text)
	RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		o outcome;
		setting text;
		line text;
		detail text;
		place text;
	BEGIN
		o := (layout, kind, query, has_time, zone, settings, command);
		PERFORM set_config('TimeZone', zone, false);
		FOREACH setting IN ARRAY string_to_array(settings, ' ') LOOP
			PERFORM set_config(split_part(setting, '=', 1),
				split_part(setting, '=', 2), true);
		END LOOP;
		-- Since 19, PostgreSQL itself aggregates rows that a join removes.
		IF command LIKE '%100 / (%' THEN
			PERFORM set_config(name, 'off', true) FROM pg_settings
			 WHERE name = 'enable_eager_aggregate';
		END IF;
		BEGIN
			EXECUTE paired INTO o.found, o.lost, o.extra, o.example;
			FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || paired LOOP
				o.plan := concat_ws(E'\n', o.plan, line);
				IF line ~ 'MongoDB Query:' THEN
					o.remote := ltrim(line);
				END IF;
			END LOOP;
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL,
				place = PG_EXCEPTION_CONTEXT;
			o.problem := concat_ws(E'\n', sqlerrm, detail,
				substring(place from '^MongoDB[^\n]*'));
			BEGIN
				IF current_setting('test.may_fail', true) = 'on'
					AND sqlstate IN ('HV004', '22P02') AND EXISTS (SELECT FROM drifted
						WHERE id IS NULL OR position(id in place) > 0)
				THEN
					RAISE EXCEPTION 'a document has drifted';
				END IF;
				EXECUTE alone;
			EXCEPTION WHEN OTHERS THEN
				o.problem := NULL;
				o.example := 'both fail: ' || sqlerrm;
			END;
		END;
		o.drift := current_setting('test.drift', true);
		INSERT INTO outcome SELECT o.*;
	END $$;
END

# The SQL by which fill_tables() makes indexes
my $indexing = <<'END';
	-- a server may refuse a kind of index
	CREATE TABLE indexed (way text, problem text);
	CREATE FUNCTION make_index(way text, command text) RETURNS void
	LANGUAGE plpgsql AS $$
	BEGIN
		EXECUTE command;
		INSERT INTO indexed VALUES (way);
	EXCEPTION WHEN OTHERS THEN
		INSERT INTO indexed VALUES (way, sqlerrm);
	END $$;
END

sub functions { return $indexing . drifting() . $functions }
sub indexing { return $indexing }

# ---- Tables ---------------------------------------------------------------

sub insert_documents
{
	my ($collection, @documents) = @_;
	my @docs = map { encode($_) } @documents;
	my $sql = '';

	while (my @some = splice(@docs, 0, 500))
	{
		$sql .= "SELECT mongo_ts_command('mongo', \$json\${\"insert\": "
		  . "\"$collection\", \"documents\": [" . join(",\n", @some)
		  . "]}\$json\$);\n";
	}
	return $sql;
}

sub foreign_table
{
	my ($name, $layout) = @_;
	my $columns = join ', ', map {
		my ($column, $type, $options, undef, $rest) = @$_;
		"$column $type" . ($options ? " OPTIONS ($options)" : '')
		  . ($rest ? " $rest" : '')
	} @{ $layout->{columns} };
	my $options = $layout->{options} ? "OPTIONS ($layout->{options})" : '';

	return "CREATE FOREIGN TABLE $name ($columns) SERVER mongo $options;\n";
}

# A native time-series collection
sub timeseries
{
	my ($name, $options) = @_;

	return '' unless $options;
	return "SELECT mongo_ts_command('mongo', '{\"create\": \"$name\", "
	  . "\"timeseries\": $options}');\n";
}

# A partitioned table whose partitions are foreign tables
sub partitions
{
	my ($layout) = @_;
	my $name = $layout->{name};
	my $columns = join ', ',
	  map { join ' ', @{$_}[ 0, 1 ], $_->[4] // '' } @{ $layout->{columns} };
	my $sql = "CREATE TABLE f.$name ($columns) "
	  . "PARTITION BY $layout->{partition_by};\n";
	my $n = 0;

	foreach my $partition (@{ $layout->{partitions} })
	{
		my ($bounds, $docs) = @$partition;
		my $part = $name . '_' . ++$n;
		$sql .= foreign_table("f.$part", $layout)
		  . "ALTER TABLE f.$name ATTACH PARTITION f.$part $bounds;\n"
		  . insert_documents($part, @$docs);
	}
	return $sql;
}

# The table of times for subqueries
sub fill_edges
{
	my ($layout) = @_;
	my $n = 0;

	return "DROP TABLE IF EXISTS edges;\nCREATE TABLE edges AS "
	  . 'SELECT n, at::timestamptz FROM (VALUES '
	  . join(', ', map { '(' . $n++ . ', ' . sql_timestamptz($_) . ')' }
		  @{ $layout->{edges} })
	  . ") e (n, at);\nALTER TABLE edges ADD PRIMARY KEY (n);\n"
	  . "ANALYZE edges;\n";
}

sub fill_tables
{
	my ($layout) = @_;
	my $name = $layout->{name};
	my $rows = join ",\n", map { '(' . join(', ', @$_) . ')' }
	  @{ $layout->{rows} };
	my $indexes = indexes($layout);
	my $collections = $layout->{collections} // { $name => $layout->{docs} };
	my $native = timeseries($name, $layout->{timeseries});
	my $foreign = $layout->{partitions} ? partitions($layout)
	  : join '', foreign_table("f.$name", $layout),
	  map { insert_documents($_, @{ $collections->{$_} }) }
	  sort keys %$collections;

	$fill{$name} = $native . insert_documents($name, @{ $layout->{docs} }) . $indexes if $native;
	return <<"END" . fill_edges($layout) . fill_series($layout)
		SET timezone = 'UTC';
		$native
		$foreign
		$indexes
		CREATE TABLE l.$name (LIKE f.$name);
		INSERT INTO l.$name VALUES $rows;
		CREATE TABLE c.$name AS TABLE l.$name;
		ANALYZE l.$name, c.$name;
END
	  . fill_rollups($layout) . fill_dimensions($layout)
	  . marked_tables($layout, \&foreign_table);
}

# Make the time-series collection of a layout again.
sub refill
{
	my ($layout) = @_;
	my $name = $layout->{of} // $layout->{name};

	return '' unless $fill{$name};
	return "SELECT mongo_ts_command('mongo', '{\"drop\": \"$name\"}');\n$fill{$name}";
}

1;
