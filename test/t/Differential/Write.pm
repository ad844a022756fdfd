# Makes random statements that write to one layout.
#
# new_statements() returns a list of hashes, mostly one: sql, with "side."
# before the table's name, or remote and local, if the statements differ;
# before, which psql runs first; returns, true if the returned rows are to be
# compared; keep, true for ON CONFLICT DO NOTHING, which the local side gets in
# another form; data of a COPY, and stdin, true if psql sends them.

package Differential::Write;

use strict;
use warnings;

use Differential::Data;
use Differential::WriteRows qw(typed time_of instant new_rows names values_of
  fill_source condition range_condition point_condition same_point);
use Differential::WriteTables qw(columns);
use Exporter qw(import);
use List::Util qw(shuffle);

our @EXPORT_OK = qw(new_statements);

# ---- Inserts --------------------------------------------------------------

# RETURNING of the columns that an INSERT of rows may return.  A sum, and an
# attribute that a row does not give, are not known before they are stored.
sub returning_inserted
{
	my ($layout, @rows) = @_;
	my $at = 1 + @{ $layout->{keys} };

	return returning($layout, grep { !defined $_->[$at] } @rows);
}

# RETURNING of all columns that are known, without those of the bucket if one
# is hidden
sub returning
{
	my ($layout, $hides_attribute) = @_;
	my %hidden = map { $_->[0] => 1 }
	  $layout->{mode} eq 'increment' ? @{ $layout->{values} } : (),
	  $layout->{attribute} && $hides_attribute ? $layout->{attribute} : ();

	return ' RETURNING ' . (%hidden ? join(', ', grep { !$hidden{$_} } names($layout)) : '*');
}

# Any column except the time may be omitted.
sub insert
{
	my ($layout) = @_;
	my @rows = new_rows($layout, chance(0.3) ? 12 : between(1, 4)) or return;
	my @names = names($layout);
	my $keep = chance(0.2) && !$layout->{cap} && !$layout->{is_ambiguous};
	my $returns = chance(0.3);
	my $returning = $returns ? returning_inserted($layout, @rows) : '';

	# A counter can't be null.
	if (chance(0.1) && !$layout->{assume_write_once} && !$layout->{attribute}
		&& $layout->{mode} ne 'increment')
	{
		my $i = between(1, $#names);
		splice(@$_, $i, 1) foreach \@names, @rows;
	}
	return { keep => $keep, returns => $returns,
		sql => "INSERT INTO side.$layout->{name} (" . join(', ', @names)
		  . ') VALUES ' . values_of(@rows)
		  . ($keep ? ' ON CONFLICT DO NOTHING' : '') . $returning };
}

sub insert_select
{
	my ($layout) = @_;
	my $names = join(', ', names($layout));
	my $keep = chance(0.2) && !$layout->{cap} && !$layout->{is_ambiguous};

	return { keep => $keep, before => fill_source($layout, 0, 40),
		sql => "INSERT INTO side.$layout->{name} ($names) SELECT $names FROM "
		  . "s.$layout->{name} ORDER BY number"
		  . ($keep ? ' ON CONFLICT DO NOTHING' : '') };
}

# Give the bucket of a point another attribute than it has, which is an error
# unless the point is to be kept.
sub disagree
{
	my ($layout) = @_;
	my $attribute = $layout->{attribute} or return;
	my $names = join(', ', names($layout));
	my $given = $names =~ s/\b$attribute->[0]\b/$attribute->[0] || 'x'/r;
	my $keep = chance(0.2);

	return { keep => $keep, sql => "INSERT INTO side.$layout->{name} ($names) SELECT $given "
		  . "FROM l.$layout->{name} WHERE $attribute->[0] IS NOT NULL AND "
		  . condition($layout) . " ORDER BY ts LIMIT 1"
		  . ($keep ? ' ON CONFLICT DO NOTHING' : '') };
}

# Subtract the stored values, so that counters become 0.
sub count_down
{
	my ($layout) = @_;
	my ($name, $table) = ($layout->{values}[0][0], "s.$layout->{name}");
	my $names = join(', ', 'ts', map { $_->[0] } @{ $layout->{keys} });

	return {
		before => "TRUNCATE $table;\nINSERT INTO $table SELECT 1, * FROM "
		  . "l.$layout->{name} WHERE " . condition($layout) . ";\n",
		sql => "INSERT INTO side.$layout->{name} ($names, $name) "
		  . "SELECT $names, -$name FROM $table" };
}

# The data of a COPY in text format
sub copy
{
	my ($layout) = @_;
	my @rows = new_rows($layout, pick(1, 5, 30));
	my $names = join(', ', names($layout));
	my $data = '';

	foreach my $row (@rows)
	{
		$data .= join("\t", map { defined $_ ? s/\\/\\\\/gr : '\N' } @$row);
		$data .= "\n";
	}
	return { sql => "COPY side.$layout->{name} ($names) FROM",
		data => $data, stdin => chance(0.3) };
}

# A prepared INSERT, with custom plans and a generic one
sub prepared_insert
{
	my ($layout) = @_;
	my @columns = columns($layout);
	my @rows = new_rows($layout, 7);
	my $sql = 'AS INSERT INTO side.' . "$layout->{name} ("
	  . join(', ', names($layout)) . ') VALUES ('
	  . join(', ', map { "\$$_" } 1 .. @columns) . ')'
	  . returning_inserted($layout, @rows);
	my $types = join ', ', map { $_->[1] } @columns;

	return prepared($types, $sql, 1, map { values_of($_) } @rows);
}

sub prepared_delete
{
	my ($layout) = @_;
	my $type = $layout->{time}[0];
	my $sql = "AS DELETE FROM side.$layout->{name} "
	  . 'WHERE ts >= $1 AND ts < $2 RETURNING *';
	my @times = map { instant($layout) } 1 .. 6;

	return prepared("$type, $type", $sql, 1,
		map { '(' . join(', ', map { time_of($layout, $_) } @$_) . ')' }
		  map { [ $_, pick(@{ $layout->{edges} }) ] } @times);
}

sub prepared
{
	my ($types, $sql, $returns, @lists) = @_;
	my $prepare = "DEALLOCATE ALL;\n";
	my @statements = map { +{ returns => $returns,
			remote => "EXECUTE f_write$_", local => "EXECUTE l_write$_" } }
	  @lists;

	foreach my $side ('f', 'l')
	{
		$prepare .= "PREPARE ${side}_write ($types) "
		  . $sql =~ s/side\./$side./r . ";\n";
	}
	$statements[0]{before} = $prepare if @statements;
	return @statements;
}

# ---- Updates --------------------------------------------------------------

# A new value, exact in binary and never the missing value
sub set_value
{
	my ($layout) = @_;
	my ($name, $type, undef, $pool) = @{ pick(@{ $layout->{values} }) };

	if ($type !~ m{text|\[} && chance(0.3))
	{
		return "$name = $name * 2" if $layout->{mode} eq 'increment';
		return "$name = coalesce(-$name, 3)"
		  unless defined $layout->{missing};
	}
	return "$name = " . typed(pick(@$pool), $type);
}

# A new bucket or slot for a point
sub set_place
{
	my ($layout) = @_;
	my $moves = $layout->{moves};
	my $key = pick(@{ $layout->{keys} });

	return "$key->[0] = " . typed(pick(@{ $key->[3] }), $key->[1])
	  if $moves eq 'anywhere' && chance(0.3);
	return "$key->[0] = 'moved'" if $moves eq 'apart' && chance(0.3);
	# the bucket stays the same
	return "ts = date_trunc('minute', ts, 'UTC') + interval '"
	  . between(0, 59) . " seconds'" if $moves eq 'inside';
	return 'ts = ' . time_of($layout, pick(@{ $layout->{times} }))
	  if $moves eq 'anywhere' && chance(0.3);
	return "ts = ts + interval '" . pick(@{ $layout->{shifts} }) . q(');
}

sub update
{
	my ($layout) = @_;
	my $returns = chance(0.3);
	my $moves = $layout->{moves} ne 'never' && chance(0.5);
	my @sets;

	push @sets, set_place($layout) if $moves;
	push @sets, set_value($layout) if !@sets || chance(0.3);
	return { returns => $returns, sql => "UPDATE side.$layout->{name} SET "
		  . join(', ', @sets) . ' WHERE '
		  . (@sets == 1 && chance(0.4) ? point_condition($layout)
			: condition($layout)) . ($returns ? returning({ %$layout, mode => '' }, $moves) : '') };
}

sub update_from
{
	my ($layout) = @_;
	my $name = $layout->{values}[0][0];
	my $returns = chance(0.3);

	return { before => fill_source({ %$layout, written => {} }, 1, 40),
		returns => $returns,
		sql => "UPDATE side.$layout->{name} t SET $name = o.$name "
		  . "FROM s.$layout->{name} o WHERE " . same_point($layout, 't', 'o')
		  . ($returns ? ' RETURNING t.*, o.number' : '') };
}

# ---- Deletes --------------------------------------------------------------

sub delete_some
{
	my ($layout) = @_;
	my $delete = "DELETE FROM side.$layout->{name} WHERE "
	  . pick(\&condition, \&point_condition, \&range_condition)->($layout);

	return { sql => $delete } if chance(0.5);
	return { sql => "$delete RETURNING *", returns => 1 } if chance(0.5);
	return { sql => "WITH d AS ($delete RETURNING *) SELECT count(*), "
		  . 'min(ts), max(ts) FROM d', returns => 1 } if chance(0.5);
	return { sql => "WITH d AS ($delete RETURNING *) SELECT * FROM d",
		returns => 1 };
}

sub delete_using
{
	my ($layout) = @_;

	return { before => fill_source({ %$layout, written => {} }, 1, 20),
		sql => "DELETE FROM side.$layout->{name} t USING s.$layout->{name} o "
		  . 'WHERE ' . same_point($layout, 't', 'o') };
}

sub delete_all
{
	my ($layout) = @_;
	my $table = "side.$layout->{name}";

	return { sql => pick("DELETE FROM $table", "TRUNCATE $table") };
}

# ---- What is refused ------------------------------------------------------

# Errors, mostly in one of several rows, after which nothing is written
sub wrong_rows
{
	my ($layout, $wrong) = @_;
	my @rows = $layout->{is_small} || $layout->{assume_write_once} ? ()
	  : new_rows($layout, between(0, 4));

	return { sql => "INSERT INTO side.$layout->{name} ("
		  . join(', ', names($layout)) . ') VALUES '
		  . values_of(shuffle(@rows, $wrong)) };
}

sub wrong
{
	my ($layout) = @_;
	my $table = "side.$layout->{name}";
	my @columns = columns($layout);
	my ($row) = new_rows({ %$layout, written => {} }, 1);
	my @kinds;

	# also where it is not an error, but truncated
	push @kinds, { sql => "UPDATE $table SET ts = ts + interval "
		  . "'$layout->{finer}' WHERE " . condition($layout), returns => 0 },
	  { sql => "INSERT INTO $table (" . join(', ', names($layout))
		  . ') SELECT ' . typed($row->[0], $layout->{time}[0])
		  . " + interval '$layout->{finer}', "
		  . join(', ', map { typed($row->[$_], $columns[$_][1]) } 1 .. $#$row)
		  . returning_inserted($layout, $row), returns => 1 }
	  if $layout->{finer} && $layout->{moves} ne 'never'
	  && !$layout->{assume_write_once};
	push @kinds, wrong_rows($layout, [ undef, @$row[ 1 .. $#$row ] ]),
	  { sql => "UPDATE $table SET ts = NULL WHERE " . condition($layout) }
	  if $layout->{mode} ne 'flat' && !$layout->{partitions};
	push @kinds, wrong_rows($layout, [
			$layout->{time_text}->(pick(@{ $layout->{wrong_times} })),
			@$row[ 1 .. $#$row ] ])
	  if $layout->{wrong_times};
	push @kinds, map { wrong_rows($layout, [ @$row[ 0 .. $#$row - 1 ], $_ ]) }
	  undef, 0 if $layout->{mode} eq 'increment';
	push @kinds, refused("INSERT INTO f.$layout->{name} VALUES "
		  . values_of($row) . ' ON CONFLICT DO NOTHING') if $layout->{cap};
	push @kinds, refused("UPDATE f.$layout->{name} SET "
		  . "$layout->{attribute}[0] = "
		  . ($layout->{attribute}[1] =~ m/\[/ ? q('{other}') : q('other')),
		"l.$layout->{name}")
	  if $layout->{attribute};
	return @kinds ? pick(@kinds) : ();
}

# RETURNING of what is not known before a row is stored
sub returned_unknown
{
	my ($layout) = @_;
	my ($row) = new_rows({ %$layout, written => {} }, 1);
	my $insert = "INSERT INTO f.$layout->{name} (" . join(', ', names($layout)) . ') VALUES ';
	my @unnamed = @$row;

	return refused($insert . values_of($row) . " RETURNING $layout->{values}[0][0]")
	  if $layout->{mode} eq 'increment';
	return unless $layout->{attribute};
	$unnamed[ 1 + @{ $layout->{keys} } ] = undef;
	return refused($insert . values_of(\@unnamed) . ' RETURNING *');
}

# The statement of the local side, for each row of a relation if one is given
sub refused
{
	my ($remote, $from) = @_;

	return { remote => $remote, local => 'SELECT refuse()' . ($from ? " FROM $from" : '') };
}

# ---- Preallocation --------------------------------------------------------

# Preallocate those buckets of a series that don't exist.
sub preallocate
{
	my ($layout) = @_;
	return unless $layout->{preallocate};
	my $name = $layout->{name};
	my ($from, $to) = @{ $layout->{edges} }[ 0, 1 ];
	my ($key, $type, undef, $pool) = @{ $layout->{keys}[0] };
	my $value = pick(grep { defined } @$pool);
	my $count = between(0, 5);
	my $seconds = ($to - $from) / SECOND;
	my $end = $from + $count * ($to - $from);
	my @range = map { sql_timestamptz($_) } $from, $end;

	return {
		before => "DROP TABLE IF EXISTS absent_buckets;\nCREATE TEMP TABLE absent_buckets AS "
		  . 'SELECT count(*) AS n FROM generate_series(1, '
		  . "$count) i WHERE NOT EXISTS (SELECT FROM d.$name "
		  . "WHERE ts = $range[0] + (i - 1) * interval '$seconds seconds' "
		  . "AND $key = " . typed($value, $type) . ");\n",
		remote => "SELECT mongo_ts_preallocate('f.$name'::regclass, "
		  . "$range[0], $range[1], '{\"$key\": \"$value\"}'::jsonb) AS n",
		local => 'SELECT n FROM absent_buckets', returns => 1 };
}

# ---- All ------------------------------------------------------------------

# How often each kind is tried
my @kinds = (
	(\&insert) x 24, (\&insert_select) x 4, (\&copy) x 6,
	(\&prepared_insert) x 1, (\&prepared_delete) x 1, (\&update) x 24,
	(\&disagree) x 3, (\&returned_unknown) x 2, (\&update_from) x 4, (\&delete_some) x 14, (\&delete_using) x 3,
	\&delete_all, (\&wrong) x 4, (\&preallocate) x 4);

sub new_statements
{
	my ($layout, $number) = @_;
	my @made;

	# begin with points to change
	return insert_select($layout) if $number == 0;
	until (@made)
	{
		my $kind = pick(@kinds, $layout->{mode} eq 'increment'
			? (\&count_down) x 6 : ());
		@made = $kind->($layout);
	}
	return @made;
}

1;
