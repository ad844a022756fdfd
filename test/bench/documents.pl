# Count the documents that MongoDB examines for everyday questions, by layout and
# length of the history.
#
# usage: documents.pl DIR HOURS...
#
# DIR gets documents.json: see Bench::Documents.

use strict;
use warnings;

use Bench::Documents qw(documents_table documents_record);
use Bench::Session qw(start_psql run_sql finish);
use JSON::PP;
use MongoTS::Everyday qw(DEVICES asked examined layouts
  make_collection questions start_profiler);
use POSIX qw(strftime);

my ($dir, @hours) = @ARGV;
my $psql = start_psql();
my %measured = (date => strftime('%Y-%m-%d', gmtime), devices => DEVICES,
	hours => \@hours, questions => []);

sub silently
{
	run_sql($psql, "\\o /dev/null\n$_[0];\n\\o\nSELECT");
	return;
}

# The figures of a question: name, the most documents, and those of layouts
sub figures_of
{
	my ($name, $most) = @_;
	my ($known) = grep { $_->{name} eq $name } @{ $measured{questions} };

	push @{ $measured{questions} }, $known = { name => $name, most => $most }
	  unless $known;
	return $known;
}

# Ask all questions of a collection, and drop it.
sub measure
{
	my ($layout, $hours) = @_;
	my $server = "${layout}_$hours";
	my @questions = questions($layout, $hours);

	print STDERR "# $layout, $hours hours\n";
	silently("CREATE SERVER $server FOREIGN DATA WRAPPER mongo_ts_fdw
		OPTIONS (uri '$ENV{MONGODB_URI}', database 'mongo_ts_$server');"
		  . make_collection($layout, $server, $hours) . start_profiler($server));
	foreach my $number (0 .. $#questions)
	{
		my ($name, $most, $sql) = @{ $questions[$number] };

		silently(asked($server, "question $number", $sql));
		my ($documents) = split /\|/, run_sql($psql, examined($server, "question $number"));
		push @{ figures_of($name, $most)->{documents}{$layout} }, $documents + 0;
	}
	silently(qq(SELECT mongo_ts_command('$server', '{"profile": 0}');
		SELECT mongo_ts_command('$server', '{"dropDatabase": 1}');
		DROP SCHEMA $server, local_$server CASCADE));
	return;
}

silently('SET client_min_messages = warning; CREATE EXTENSION mongo_ts_fdw');
foreach my $layout (layouts())
{
	measure($layout, $_) foreach @hours;
}
$measured{mongodb} = run_sql($psql,
	qq(SELECT mongo_ts_command('buckets_$hours[0]', '{"buildInfo": 1}')->>'version'));
print documents_table(\%measured);
open(my $file, '>', "$dir/documents.json") or die "$dir/documents.json: $!\n";
print $file documents_record(\%measured);
close($file) or die "$dir/documents.json: $!\n";
finish($psql);
