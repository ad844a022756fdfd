# The examples in README.md and docs/: the sql blocks of each page run as they
# stand, in order, in one session and a fresh database, after those of
# README.md, and print what the text blocks after them show.  So a reader who
# has followed README.md can run any page.
#
# A text block directly after an sql block shows the end of its output.  A number
# after the language is the least version of PostgreSQL; an older one skips the
# block.  The word "untested" after a block's language and a reason exclude it;
# the number of these is asserted.  A shell command that loads docs/sample.sql is run, too.
# Other blocks are not run.
#
# Links lead to headings and files that exist.  Each option in
# src/table/option.c has an entry in docs/reference/options.md.

use strict;
use warnings;

use File::Basename qw(dirname);
use FindBin;
use lib $FindBin::RealBin;

use IPC::Run;
use MongoTS::Node;
use Test::More;

my $root = dirname($FindBin::RealBin) . '/..';
# The database that the pages call plant, which might exist on the server
my $database = 'mts_docs';
my $marker = 'the end of block';
# How many sql blocks have a reason not to run
my $untested = 0;
# of PostgreSQL
my $version;

sub read_file
{
	my ($name) = @_;
	open(my $file, '<:encoding(UTF-8)', $name) or die "$name: $!";
	return join('', <$file>);
}

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

# Return the headings of a page, as GitHub names them in links.
sub headings
{
	my ($name) = @_;
	my %headings;

	my $text = read_file($name) =~ s/^```.*?^```$//msgr;
	foreach my $heading ($text =~ /^#+ (.*)$/mg)
	{
		$headings{ lc($heading) =~ s/[^\w -]//gr =~ tr/ /-/r } = 1;
	}
	return %headings;
}

# Return the links of a page to headings or files that do not exist.
sub lost_links
{
	my ($name) = @_;
	my $text = read_file($name) =~ s/^```.*?^```$//msgr;
	my @lost;

	# ../../ are pages of the repository's host
	foreach my $link (grep { !m{^https?:} && !m{^\.\./\.\./(?:actions|issues|releases|security)\b} }
		$text =~ /\]\(([^)]*)\)/g)
	{
		my ($file, $heading) = $link =~ /^([^#]*)#?(.*)$/;
		my $target = $file eq '' ? $name : dirname($name) . "/$file";
		my %headings = $target =~ /\.md$/ && -e $target ? headings($target) : ();
		push @lost, $link
		  if !-e $target || ($heading ne '' && !$headings{$heading});
	}
	return @lost;
}

# Tell whether a block is SQL that runs on this version of PostgreSQL.
sub runs
{
	my ($block) = @_;
	return $block->{info} =~ /^sql(?: (\d+))?$/ && $version >= ($1 // 0);
}

# Return the blocks that can run, each with its SQL and the text that it should
# print.
sub examples
{
	my @examples;
	my $before = { info => '' };

	foreach my $block (@_)
	{
		if (runs($block))
		{
			push @examples, { %$block, sql => $block->{text} };
		}
		elsif ($block->{info} eq 'sh' && $block->{text} =~ m{< (docs/sample\.sql)$}m)
		{
			push @examples, { %$block, sql => read_file("$root/$1") };
		}
		elsif ($block->{info} eq 'text'
			&& $block->{follows}
			&& runs($before))
		{
			$examples[-1]->{shown} = $block->{text};
		}
		$before = $block;
	}
	return @examples;
}

# Return SQL with the server and the database of this test.
sub with_server
{
	my ($sql) = @_;
	my $uri = $ENV{MONGODB_URI} =~ s/'/''/gr;

	$sql =~ s{uri 'mongodb://127\.0\.0\.1:27017', database 'plant'}
		{uri '$uri', database '$database'}g;
	$sql =~ s/IMPORT FOREIGN SCHEMA plant/IMPORT FOREIGN SCHEMA $database/g;
	return $sql;
}

# Return examples as a script for psql that tells where each of them ends, after
# those of README.md.
sub script
{
	my ($page, @examples) = @_;
	my @readme = $page eq 'README.md' ? () : examples(read_blocks("$root/README.md"));

	return join('',
		map { with_server($_) . "\n\\echo $marker\n" }
		  join('', map { $_->{sql} } @readme),
		map { $_->{sql} } @examples);
}

# Return what psql printed as a page shows it: without trailing blanks,
# the frames of plans, and what only some versions of PostgreSQL put into them.
sub as_shown
{
	my ($out) = @_;

	$out =~ s/ +$//mg;
	$out =~ s/^ +QUERY PLAN\n-+\n((?: .*\n)+)\(\d+ rows?\)\n/unframe($1)/meg;
	$out =~ s/\b$database\b/plant/g;
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
			$node->connstr('docs')
		],
		'<' => \$script,
		'>&' => \$out,
		IPC::Run::timeout(120)) or diag 'psql failed';
	return $out;
}

# Run the examples of a page, and compare what they print.
sub test_page
{
	my ($node, $page) = @_;
	my $path = "$root/$page";
	my @blocks = read_blocks($path);
	my @examples = examples(@blocks);

	is_deeply([ lost_links($path) ], [], "$page: links lead somewhere");
	is_deeply(
		[
			map { $_->{line} }
			grep { $_->{info} =~ /^\w+ untested(?!: \S)/ } @blocks
		],
		[],
		"$page: what is untested has a reason");
	$untested += grep { $_->{info} =~ /^sql untested/ } @blocks;
	SKIP:
	{
		my @newer = grep { $_->{info} =~ /^sql \d+$/ && !runs($_) } @blocks;
		skip "$page: examples for a newer PostgreSQL", scalar @newer if @newer;
	}
	return unless @examples;

	$node->safe_psql('postgres',
		q{SELECT mongo_ts_command('mongo', '{"dropDatabase": 1}')});
	$node->safe_psql('postgres', 'CREATE DATABASE docs');
	my @printed =
	  split(/^$marker\n/m, run_script($node, script($page, @examples)), -1);
	$node->safe_psql('postgres', 'DROP DATABASE docs');

	is(scalar(@printed), @examples + 2, "$page: psql ran all examples");
	unlike(shift(@printed), qr/^(?:ERROR|FATAL|psql)/m, "$page: README.md runs");
	compare($page, $_, shift(@printed) // '') foreach @examples;
	return;
}

# Compare the end of what an example printed with what the page shows.
sub compare
{
	my ($page, $example, $printed) = @_;
	my $shown = $example->{shown};
	my $name = "$page, line $example->{line}";

	$printed = without_memory(as_shown($printed));
	if (defined $shown)
	{
		$shown = without_memory($shown);
		my $end = substr($printed, -length($shown));

		is( $printed =~ /(?:^|\n)\Q$shown\E\z/ ? $end : $printed,
			$shown, "$name: prints what is shown");
	}
	unlike($printed, qr/^(?:ERROR|FATAL|psql|invalid command)\b/m, "$name: runs")
	  if !defined $shown || $shown !~ /^ERROR/m;
	return;
}

# Return the options that have no entry with a default and an example under the
# heading of each object that accepts them.
sub lost_options
{
	my %heading = (
		SERVER => 'Server',
		USER => 'User mapping',
		TABLE => 'Table',
		COLUMN => 'Column',
		IMPORT => 'IMPORT');
	my %entries;
	my @lost;

	foreach my $section (split(/^## /m, read_file("$root/docs/reference/options.md")))
	{
		my ($title) = $section =~ /^(.*)$/m;

		foreach my $entry (split(/^- /m, $section))
		{
			next unless $entry =~ /^\*\*(.*?)\*\*.*?default:.*Example:/s;
			$entries{$title}{$_} = 1 foreach $1 =~ /`(\w+)`/g;
		}
	}
	my @options =
	  read_file("$root/src/table/option.c") =~ /^\t\{"(\w+)", ((?:ON_\w+[ |]*)+),/mg
	  or die 'option.c has no options';
	while (my ($name, $where) = splice(@options, 0, 2))
	{
		push @lost, map { "$name: $_" }
		  grep { !$entries{$_}{$name} } map { $heading{$_} } $where =~ /ON_(\w+)/g;
	}
	return @lost;
}

is_deeply([ lost_options() ], [], 'each option has an entry');

my $node = new_node('docs', uri => undef);
create_server($node, 'mongo', $ENV{MONGODB_URI}, "database '$database'");
$version = $node->pg_version->major;

my @pages = sort map { s{^\Q$root\E/}{}r }
  "$root/README.md", glob("$root/docs/*.md $root/docs/*/*.md");
@pages = grep { /$ENV{PAGE}/ } @pages if $ENV{PAGE};
test_page($node, $_) foreach @pages;
is($untested, 8, 'number of untested blocks') unless $ENV{PAGE};

$node->safe_psql('postgres',
	q{SELECT mongo_ts_command('mongo', '{"dropDatabase": 1}')});
$node->stop;

done_testing();
