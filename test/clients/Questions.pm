# Reads questions.sql for the clients that are programs.  Parameters are SQL
# literals, answers are lines of text.

package Questions;

use strict;
use warnings;

use Exporter qw(import);
use File::Basename qw(dirname);

our @EXPORT = qw(questions literal in_words);

# Return the questions, each a hash: name, parameters ([type, value], ..), sql,
# types ([..] of the answer's columns) and rows ([[..], ..]).
sub questions
{
	my $path = dirname(__FILE__) . '/questions.sql';
	my ($question, @questions);

	open(my $file, '<', $path) or die "$path: $!";
	while (my $line = <$file>)
	{
		chomp $line;
		if ($line =~ /^-- @ (.*)/)
		{
			$question = { name => $1, parameters => [], rows => [] };
			push @questions, $question;
		}
		elsif (!$question || $line eq '')
		{
			next;
		}
		elsif ($line =~ /^-- \? (\S+) (.*)/)
		{
			push @{ $question->{parameters} }, [ $1, $2 ];
		}
		elsif ($line =~ /^-- = (.*)/)
		{
			$question->{types} = [ split / \| /, $1 ];
		}
		elsif ($line =~ /^-- (.*)/)
		{
			push @{ $question->{rows} }, [ split / \| /, $1 ];
		}
		else
		{
			$question->{sql} .= "$line\n";
		}
	}
	return @questions;
}

# Return a parameter as a literal of SQL.
sub literal
{
	my ($type, $value) = @{ $_[0] };

	return 'NULL' if $value eq 'null';
	$value = "{$value}" if $type =~ /\[\]$/;
	return "'$value'::$type";
}

# Convert rows of psql or isql to the notation of questions.sql.
sub in_words
{
	my ($types, @rows) = @_;

	foreach my $row (@rows)
	{
		foreach my $i (0 .. $#$types)
		{
			$row->[$i] = 'null' if $row->[$i] eq '';
			$row->[$i] =~ s/^(\S+) (\S+?)(\+00)?$/$1T$2Z/ if $types->[$i] eq 'timestamptz';
			$row->[$i] =~ s/^([tf10])$/$1 =~ m{[t1]} ? 'true' : 'false'/e
			  if $types->[$i] eq 'bool';
		}
	}
	return \@rows;
}

1;
