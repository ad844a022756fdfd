# The README's examples: its sql blocks run as they stand, in order, in one
# session, and print what the text blocks behind them say.
#
# A text block directly behind an sql block shows the end of what that prints:
# results of its earlier statements may be left out.  An sql block that is not to
# be run, or a text that differs from machine to machine, has the word "untested"
# behind its language.  Other blocks are not ours.
#
# Links lead to headings and files that are there.

use strict;
use warnings;

use File::Basename qw(dirname);
use FindBin;
use lib $FindBin::RealBin;

use IPC::Run;
use MongoTS::Node;
use Test::More;

my $path = dirname($FindBin::RealBin) . '/../README.md';
# What the README calls mms: a MongoDB that others use may have that one.
my $database = 'mts_readme';
my $marker = 'the end of block';

# Return the fenced blocks of a file in order: line, info, text, and whether
# nothing stands between a block and the one before.
sub read_blocks
{
	my ($name) = @_;
	my (@blocks, $block);
	my $follows = 0;

	open(my $file, '<:encoding(UTF-8)', $name) or die "$name: $!";
	while (my $line = <$file>)
	{
		if ($line !~ /^```\s*(.*?)\s*$/)
		{
			$follows &&= $line =~ /^$/;
			$block->{text} .= $line if $block;
		}
		elsif ($block)
		{
			push @blocks, $block;
			undef $block;
			$follows = 1;
		}
		else
		{
			$block =
			  { line => $., info => $1, text => '', follows => $follows };
		}
	}
	die "$name: the block of line $block->{line} has no end\n" if $block;
	return @blocks;
}

# Return the places of the repository that a file links to but that are not
# there: headings, as GitHub names them, and other files.
sub lost_links
{
	my ($name) = @_;
	my %headings;

	open(my $file, '<:encoding(UTF-8)', $name) or die "$name: $!";
	my $text = join('', <$file>) =~ s/^```.*?^```$//msgr;
	foreach my $heading ($text =~ /^#+ (.*)$/mg)
	{
		$headings{ lc($heading) =~ s/[^\w -]//gr =~ tr/ /-/r } = 1;
	}
	return grep {
		/^#(.*)/ ? !$headings{$1} : !-e dirname($name) . "/$_"
	} grep { !/^https:/ } $text =~ /\]\(([^)]*)\)/g;
}

# Return the sql blocks that can run, each with the text that it should print.
sub examples
{
	my @examples;
	my $before = { info => '' };

	foreach my $block (@_)
	{
		if ($block->{info} eq 'sql')
		{
			push @examples, $block;
		}
		elsif ($block->{info} eq 'text'
			&& $block->{follows}
			&& $before->{info} eq 'sql')
		{
			$before->{shown} = $block->{text};
		}
		$before = $block;
	}
	return @examples;
}

# Return the examples as a script for psql that tells where each one ends.
sub script
{
	my $uri = $ENV{MONGODB_URI} =~ s/'/''/gr;
	my $script = '';

	foreach my $example (@_)
	{
		my $sql = $example->{text};

		$sql =~ s{uri 'mongodb://127\.0\.0\.1:27017', database 'mms'}
			{uri '$uri', database '$database'};
		$sql =~ s/IMPORT FOREIGN SCHEMA mms/IMPORT FOREIGN SCHEMA $database/g;
		$script .= "$sql\n\\echo $marker\n";
	}
	return $script;
}

# Return what psql printed as the README shows it: without trailing blanks,
# the frames of plans, and what only some versions of PostgreSQL put into them.
sub as_shown
{
	my ($out) = @_;

	$out =~ s/ +$//mg;
	$out =~ s/^ +QUERY PLAN\n-+\n((?: .*\n)+)\(\d+ rows?\)\n/unframe($1)/meg;
	$out =~ s/\b$database\b/mms/g;
	$out =~ s/\n+\z/\n/;
	return $out;
}

sub unframe
{
	my ($plan) = @_;

	$plan =~ s/^ //mg;
	$plan =~ s/^(?:Planning:\n)? *Buffers: .*\n//mg;
	$plan =~ s/(actual rows=\d+)\.00/$1/g;
	return $plan;
}

# How much memory something took is a matter of PostgreSQL's version.
sub without_memory
{
	my ($text) = @_;

	return $text =~ s/(Memory(?: Usage)?: )\d+kB/$1some/gr;
}

# Run a script by psql and return what it prints, errors where they occur.
sub run_script
{
	my ($node, $script) = @_;
	my $out = '';

	IPC::Run::run(
		[
			$node->installed_command('psql'), '-Xq', '-P', 'pager=off', '-d',
			$node->connstr('readme')
		],
		'<' => \$script,
		'>&' => \$out,
		IPC::Run::timeout(120)) or diag 'psql failed';
	return $out;
}

my $node = new_node('readme', uri => undef);
my @examples = examples(read_blocks($path));

create_server($node, 'mongo', $ENV{MONGODB_URI}, "database '$database'");
$node->safe_psql('postgres',
	q{SELECT mongo_ts_command('mongo', '{"dropDatabase": 1}')});
$node->safe_psql('postgres', 'CREATE DATABASE readme');

is_deeply([ lost_links($path) ], [], 'links lead somewhere');

my @printed = split(/^$marker\n/m, run_script($node, script(@examples)), -1);

is(scalar(@printed), @examples + 1, 'psql ran all examples');
foreach my $example (@examples)
{
	my $printed = without_memory(as_shown(shift(@printed) // ''));
	my $shown = $example->{shown};
	my $name = "README.md, line $example->{line}";

	# Of what is printed, the end is shown.
	if (defined $shown)
	{
		$shown = without_memory($shown);
		my $end = substr($printed, -length($shown));

		is( $printed =~ /(?:^|\n)\Q$shown\E\z/ ? $end : $printed,
			$shown, "$name: prints what is shown");
	}
	unlike($printed, qr/^(?:ERROR|FATAL|psql|invalid command)\b/m, "$name: runs")
	  if !defined $shown || $shown !~ /^ERROR/m;
}

$node->safe_psql('postgres',
	q{SELECT mongo_ts_command('mongo', '{"dropDatabase": 1}')});
$node->stop;

done_testing();
