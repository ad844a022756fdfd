# Tests isql: the questions, and its lists of tables and columns.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IPC::Run qw(run);
use Questions;
use Test::More;

# Run a line in isql and return its rows.
sub isql
{
	my ($line) = @_;
	my ($out, $error);

	run([ 'isql', 'mongo_ts', '-b', '-v', '-d|' ], '<', \"$line\n", '>', \$out, '2>', \$error)
	  or die "isql failed at: $line\n$out$error";
	return map { [ split /\|/, $_, -1 ] } split /\n/, $out;
}

foreach my $question (questions())
{
	my $sql = $question->{sql};
	my @parameters = @{ $question->{parameters} };

	$sql =~ s/\?/literal(shift @parameters)/ge;
	$sql =~ s/\n/ /g;
	is_deeply(in_words($question->{types}, isql($sql)), $question->{rows}, "isql: $question->{name}");
}

ok((grep { $_->[2] eq 'memory' && $_->[3] eq 'FOREIGN TABLE' } isql('help')), 'isql: help lists foreign tables');
is_deeply([ map { [ $_->[3], $_->[5] ] } isql('help memory') ],
	[ [ 'timestamp', 'timestamptz' ], [ 'type', 'text' ], [ 'value', 'int8' ] ],
	'isql: help lists columns');

done_testing();
