# Formats how many documents MongoDB examines for everyday questions.
#
# What is measured is a hash of date, devices and the version of mongodb; hours, the
# lengths of the histories; and questions, each with a name, the most documents that
# it may need, and by layout the documents of each history.
#
# documents_table(MEASURED) is a table.  documents_days(MEASURED) says when and of
# what they were measured.  documents_record(MEASURED) is what
# test/bench/documents.json keeps.

package Bench::Documents;

use strict;
use warnings;

use Bench::Report qw(digits head line);
use Exporter qw(import);
use JSON::PP;
use List::Util qw(uniq);

our @EXPORT_OK = qw(documents_table documents_days documents_record);

# Headings of columns, and their layouts, of which a question has one
my @columns = (
	[ 'documents of an hour', 'buckets' ],
	[ 'a time-series collection', 'native' ],
	[ 'a document a point', 'rows', 'identified' ]);

sub whole { return digits($_[0], length $_[0]) }

# The numbers of a question, one if they are the same
sub cell
{
	my ($documents) = @_;
	my @numbers = map { whole($_) } @{ $documents // [] };

	return join '; ', uniq(@numbers) == 1 ? $numbers[0] : @numbers;
}

sub documents_table
{
	my ($measured) = @_;

	return join '', head('question', 'bar', map { $_->[0] } @columns), map {
		my $question = $_;
		line($question->{name}, whole($question->{most}), map {
				my (undef, @layouts) = @$_;
				join '', map { cell($question->{documents}{$_}) } @layouts
			} @columns)
	} @{ $measured->{questions} };
}

sub documents_days
{
	my ($measured) = @_;
	my ($longest, @hours) = map { whole($_) } reverse @{ $measured->{hours} };
	my $hours = join(', ', reverse @hours) . " and $longest";

	return "Histories of $hours hours of $measured->{devices} devices, measured on $measured->{date} "
	  . "with MongoDB $measured->{mongodb}.\n";
}

# A question a line
sub documents_record
{
	my ($measured) = @_;
	my $json = JSON::PP->new->canonical;
	my %rest = %$measured;
	my $questions = join ",\n", map { $json->encode($_) } @{ delete $rest{questions} };

	return $json->encode(\%rest) =~ s/\}$/, "questions": [\n$questions\n]}\n/r;
}

1;
