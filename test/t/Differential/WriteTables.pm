# Makes the tables of the differential test of writing.
#
# Each layout has f.NAME, the foreign table; l.NAME, a local table whose
# triggers have the effects that writing to the foreign one should have;
# s.NAME, a local source of points; d.NAME, which shows the documents without
# their points; and c.NAME, which shows the points with the _id of their
# document.
#
# make_tables() returns the SQL that creates them.

package Differential::WriteTables;

use strict;
use warnings;

use Differential::Data;
use Exporter qw(import);

our @EXPORT_OK = qw(make_tables columns bucket_keys bucket_of);

# ---- Columns --------------------------------------------------------------

# All columns that are written, each [name, type, options, pool]
sub columns
{
	my ($layout) = @_;

	return ([ ts => @{ $layout->{time} } ], @{ $layout->{keys} },
		$layout->{attribute} // (), @{ $layout->{values} });
}

# The keys that are fields of documents; others are the keys of slots.
sub bucket_keys
{
	my ($layout) = @_;
	return grep { $_->[2] ne 'slot' } @{ $layout->{keys} };
}

sub declare
{
	my ($name, $type, $options) = @{ $_[0] };
	my $has_options = $options && $options ne 'slot';

	return "$name $type" . ($has_options ? " OPTIONS ($options)" : '');
}

sub generated_column
{
	my ($layout, $options) = @_;
	my ($name, $type, $sql) = @{ $layout->{generated} // return () };

	return "$name $type GENERATED ALWAYS AS ($sql) STORED";
}

sub foreign_table
{
	my ($name, $columns, @options) = @_;
	my $list = @options ? 'OPTIONS (' . join(', ', @options) . ')' : '';

	return "CREATE FOREIGN TABLE $name (" . join(', ', @$columns)
	  . ") SERVER mongo $list;\n";
}

# ---- The foreign side -----------------------------------------------------

# The documents of a collection
sub documents_table
{
	my ($layout, $name, $collection) = @_;
	my $bounds = $layout->{bounds} // [];
	my @columns = (
		"id text OPTIONS (field '_id')",
		declare([ 'ts', 'timestamptz',
				"role 'time', $layout->{document_time}" ]),
		map({ declare($_) } bucket_keys($layout)),
		map({ "$_->[0] $_->[1] OPTIONS (field '$_->[2]')" }
			@{ $layout->{totals} }),
		map({ "$_->[0] timestamptz OPTIONS (role 'key', $_->[1])" }
			grep { $_ } @$bounds));

	# shared options that concern only the points are omitted
	return foreign_table($name, \@columns, "collection '$collection'",
		grep { !m/^bucket_(time_f|span)/ } @{ $layout->{shared} });
}

sub partitioned_tables
{
	my ($layout, @columns) = @_;
	my $name = $layout->{name};
	my @partitions = @{ $layout->{partitions} };
	my $sql =
	  "CREATE TABLE f.$name (LIKE l.$name) PARTITION BY RANGE (ts);\n";

	foreach my $i (1 .. @partitions)
	{
		my $partition = "${name}_$i";
		$sql .= foreign_table("f.$partition", \@columns,
			@{ $layout->{options} })
		  . "ALTER TABLE f.$name ATTACH PARTITION f.$partition "
		  . "FOR VALUES $partitions[$i - 1];\n"
		  . documents_table($layout, "d.$partition", $partition);
	}
	return $sql . "CREATE VIEW d.$name AS "
	  . join(' UNION ALL ', map { "TABLE d.${name}_$_" } 1 .. @partitions)
	  . ";\n";
}

sub foreign_tables
{
	my ($layout) = @_;
	my $name = $layout->{name};
	my @columns = map { declare($_) } columns($layout);

	push @columns, generated_column($layout);
	return partitioned_tables($layout, @columns) if $layout->{partitions};

	my $collection = $layout->{collection} // $name;
	my $sql = foreign_table("f.$name", \@columns,
		"collection '$collection'", @{ $layout->{options} });
	$sql .= documents_table($layout, "d.$name", $collection)
	  unless $layout->{mode} eq 'flat';
	$sql .= foreign_table("c.$name",
		[ "id text OPTIONS (field '_id')", @columns ],
		"collection '$collection'", @{ $layout->{shared} })
	  if $layout->{bounds};
	return $sql . other_documents($layout);
}

# Other documents in the same collection, and their present state
sub other_documents
{
	my ($layout) = @_;
	my $name = $layout->{name};
	my $list = join(",\n", map { encode($_) } @{ $layout->{others} // [] });

	return '' unless $list;

	return "SELECT mongo_ts_command('mongo', \$json\${\"insert\": \"$name\", "
	  . "\"documents\": [$list]}\$json\$);\n"
	  . foreign_table("d.${name}_others",
		[ declare([ ts => @{ $layout->{time} } ]),
			"document jsonb OPTIONS (field '*')" ],
		"collection '$name'", q(filter '{"kind": {"$ne": "trade"}}'))
	  . "CREATE TABLE l.${name}_others AS TABLE d.${name}_others;\n";
}

# ---- The local side -------------------------------------------------------

# The identity of a point in set mode; a prefix names its row in SQL
sub identity
{
	my ($layout, $row) = @_;
	my @names = map { "$row$_->[0]" } @{ $layout->{keys} };

	return 'ROW(' . join(', ', $layout->{slot}->("${row}ts"), @names) . ')';
}

sub bucket_of
{
	my ($layout, $row) = @_;
	my @names = map { "$row$_->[0]" } bucket_keys($layout);

	return 'ROW(' . join(', ', $layout->{bucket}->("${row}ts"), @names) . ')';
}

sub raise_if
{
	my ($condition, $message) = @_;
	return "IF $condition THEN RAISE '$message'; END IF;";
}

# The constraints on every row
sub check_row
{
	my ($layout) = @_;
	my @slots = grep { $_->[2] eq 'slot' } @{ $layout->{keys} };
	my @checks =
	  map { raise_if("NEW.$_ IS NULL", "$_ is null") }
	  $layout->{mode} eq 'flat' ? () : 'ts', map { $_->[0] } @slots;

	push @checks, raise_if($layout->{refused}->('NEW.ts'), 'no slot')
	  if $layout->{refused};
	if ($layout->{finer})
	{
		my $type = $layout->{time}[0];
		my $slot = "date_bin('$layout->{resolution}', NEW.ts, "
		  . "$type '1900-01-01 00:00:00+00')";
		push @checks, $layout->{truncate} ? "NEW.ts := $slot;"
		  : raise_if("NEW.ts <> $slot", 'finer than a slot');
	}
	return @checks;
}

# The effect of an INSERT of an existing or a new point
sub insert_row
{
	my ($layout) = @_;
	my ($table, $mode) = ("l.$layout->{name}", $layout->{mode});
	my $same = identity($layout, 'o.') . ' IS NOT DISTINCT FROM '
	  . identity($layout, 'NEW.');
	my @steps;

	return () if $mode eq 'flat';
	push @steps, "IF current_setting('write.keep') = 'true' AND EXISTS "
	  . "(SELECT FROM $table o WHERE $same) THEN RETURN NULL; END IF;";
	if (my $attribute = $layout->{attribute})
	{
		my $name = $attribute->[0];
		my $bucket = bucket_of($layout, 'o.') . ' IS NOT DISTINCT FROM '
		  . bucket_of($layout, 'NEW.');

		push @steps,
		  "SELECT * INTO stored FROM $table o WHERE $bucket LIMIT 1;",
		  raise_if("stored.$name <> NEW.$name", 'another attribute'),
		  "IF stored.$name IS NULL THEN "
		  . "UPDATE $table o SET $name = NEW.$name WHERE $bucket; END IF;",
		  "NEW.$name := coalesce(stored.$name, NEW.$name);";
	}
	if ($mode eq 'increment')
	{
		my $value = $layout->{values}[0][0];
		push @steps,
		  raise_if("coalesce(NEW.$value, 0) = 0", 'no increment'),
		  "SELECT * INTO stored FROM $table o WHERE $same;",
		  "IF FOUND THEN NEW.$value := NEW.$value + stored.$value; END IF;";
	}
	push @steps, "DELETE FROM $table o WHERE $same;" if $mode ne 'push';
	return @steps;
}

# After a statement: a counter of 0 is not a row, and no point exists twice.
sub check_statement
{
	my ($layout) = @_;
	my ($table, $mode) = ("l.$layout->{name}", $layout->{mode});

	return "DELETE FROM $table WHERE $layout->{values}[0][0] = 0;"
	  if $mode eq 'increment' && $_[1] eq 'INSERT';
	return "IF EXISTS (SELECT FROM $table o GROUP BY "
	  . identity($layout, 'o.') . ' HAVING count(*) > 1) THEN '
	  . "RAISE unique_violation; END IF;"
	  if $mode =~ m/set|increment/ && $_[1] eq 'UPDATE';
	return ();
}

sub trigger
{
	my ($layout, $kind, $when, @steps) = @_;
	my $name = $layout->{name};
	my $body = join("\n", @steps);

	return <<"END";
		CREATE FUNCTION l.${name}_$kind() RETURNS trigger LANGUAGE plpgsql
		AS \$\$
		DECLARE
			stored l.$name;
		BEGIN
			$body
			RETURN NEW;
		END \$\$;
		CREATE TRIGGER $kind $when EXECUTE FUNCTION l.${name}_$kind();
END
}

sub local_tables
{
	my ($layout) = @_;
	my $table = "l.$layout->{name}";
	my @columns = map { "$_->[0] $_->[1]" } columns($layout);
	my $list = join(', ', @columns);
	my @check = check_row($layout);
	my $sql = 'CREATE TABLE ' . $table . ' ('
	  . join(', ', @columns, generated_column($layout)) . ");\n"
	  . "CREATE TABLE s.$layout->{name} (number int, $list);\n"
	  . trigger($layout, 'row', "BEFORE INSERT ON $table FOR EACH ROW",
		@check, insert_row($layout))
	  . trigger($layout, 'new', "BEFORE UPDATE ON $table FOR EACH ROW",
		@check);

	foreach my $command ('INSERT', 'UPDATE')
	{
		$sql .= trigger($layout, lc $command,
			"AFTER $command ON $table FOR EACH STATEMENT",
			check_statement($layout, $command));
	}
	return $sql;
}

sub make_tables { return local_tables($_[0]) . foreign_tables($_[0]) }

1;
