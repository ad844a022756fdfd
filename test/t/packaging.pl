# Proves that the files for packagers and CI name existing files and targets,
# and the same version, and that the page of benchmarks shows the figures of
# test/bench.

use strict;
use warnings;

use JSON::PP qw(decode_json);
use lib 'test/bench';
use Bench::Report;
use Test::More;

sub content
{
	my ($path) = @_;
	open my $file, '<', $path or die "$path: $!";
	local $/;
	return <$file>;
}

# Return the match of a pattern in a file.
sub found
{
	my ($path, $pattern) = @_;
	return content($path) =~ $pattern ? $1 : "nothing in $path";
}

my $version = found('mongo_ts_fdw.control', qr/^default_version = '(.+)'$/m);
my $meta = decode_json(content('META.json'));
my $provided = $meta->{provides}{mongo_ts_fdw};

is($meta->{version}, $version, 'META.json has the version');
is($provided->{version}, $version, '... of the extension, too');
ok(-f $provided->{$_}, "... and its $_ exists") foreach qw(file docfile);
is(found('debian/changelog', qr/^mongo-ts-fdw \((.+?)\)/),
	$version, 'debian/changelog has the version');
is(found('CHANGELOG.md', qr/^## (?!Unreleased$)(\S+)/m),
	$version, 'CHANGELOG.md begins with the version, after what is unreleased');
is(found('rpm/mongo_ts_fdw.spec', qr/^Version: +(\S+)/m),
	$version, 'rpm/mongo_ts_fdw.spec has the version');
is(found('rpm/mongo_ts_fdw.spec', qr/^%changelog\n\* .* - (\S+)-1$/m),
	$version, '... and so has its last change');
is(found('docs/install.md', qr/mongo_ts_fdw-(.+?)\.zip/),
	$version, 'docs/install.md names the archive of the version');
is(found('META.json', qr/"PostgreSQL": "(\d+)/) . "+\n",
	content('debian/pgversions'), 'META.json and debian/pgversions agree');

# PGXN's specification of META.json requires these keys with such values.
ok($meta->{$_}, "META.json has $_")
  foreach qw(name version abstract maintainer license provides meta-spec);
like($meta->{name}, qr/^[^\s\/\\[:cntrl:]]{2,}\z/, '... a valid name');
like($meta->{version}, qr/^\d+\.\d+\.\d+(-[a-z]\w*)?\z/, '... a semantic version');
like($meta->{license}, qr/^(postgresql|mit|bsd|apache_2_0)\z/, '... a license PGXN knows');
is($meta->{'meta-spec'}{version}, '1.0.0', '... the version of the specification');
like($meta->{release_status}, qr/^(stable|testing|unstable)\z/, '... a valid release status');

# Targets are the words before a colon at the beginning of a line.
my $makefile = content('Makefile') =~ s/\\\n/ /gr;
my %targets = map { $_ => 1 } map { split } $makefile =~ /^([a-z][a-z \-]*?) *:(?!=)/gm;
my ($checks) = $makefile =~ /^CHECKS = (.+)$/m;
$targets{$_} = 1 foreach split ' ', $checks;

# usage: targets_exist(PATH): checks the targets of each `make` in a file
sub targets_exist
{
	my ($path) = @_;
	my $commands = content($path) =~ s/^ *#.*//gmr;
	my @named = $commands =~ /\bmake ([a-z][a-z-]*)/g;
	isnt(scalar @named, 0, "$path calls make");
	is_deeply([ grep { !$targets{$_} } @named ], [], '... for existing targets');
}

# What must hold before a tag; `make release-check` sets RELEASE.
SKIP:
{
	skip 'this is not a release', 2 unless $ENV{RELEASE};

	my $changes = content('CHANGELOG.md');
	unlike($changes, qr/^## Unreleased|\(unreleased\)/m, 'CHANGELOG.md lists nothing that is unreleased');
	my (undef, $last) = $changes =~ /^## (\S+) \(\d{4}-\d\d-\d\d\)$/mg;
	ok(!$last || -f "mongo_ts_fdw--$last--$version.sql", 'a script updates the last version to this one');
}

# Check YAML without a library: no tabs, one item of a mapping or list in each
# line, indentation by two, and paired quotes.
sub looks_like_yaml
{
	my ($path) = @_;
	my $indent = qr/(?:  )*/;
	my $value = qr/'[^']*'|"[^"]*"|[^'"]*(?:"[^"]*"[^'"]*|'[^']*'[^'"]*)*/;
	my @odd = grep { !/^$indent(?:#.*|(?:- )?[\w-]+:(?: $value)?|- $value)?\z/ }
	  split /\n/, content($path);
	is_deeply(\@odd, [], "$path looks like YAML");
}

# Each job has a container without make and git. `make dist` uses git, which
# requires safe.directory for another user's directory.
sub jobs_have_tools
{
	my ($path) = @_;
	my %jobs = content($path) =~ /^  (\w+):\n((?:    .*\n|\n)+)/gm;
	foreach my $name (grep { $jobs{$_} =~ /\bmake / } sort keys %jobs)
	{
		my ($before, $target) = $jobs{$name} =~ /(.*?)\brun: make (\S+)/s;
		my ($installed) = $before =~ /apt-get install -y (.+)/;
		like(" $installed ", qr/ $_ /, "$path: $name installs $_") foreach qw(git make);
		next unless $target =~ /^(check-(all|packages)|release-check|dist)$/;
		like($before, qr/--add safe\.directory/, '... and lets git pack an archive');
	}
}

looks_like_yaml($_) foreach glob '.github/*/*.yml';
foreach my $workflow (glob '.github/workflows/*.yml')
{
	targets_exist($workflow);
	jobs_have_tools($workflow);
}

is(system($^X, '-Itest/bench', 'test/bench/publish.pl', '--check'), 0,
	'docs/benchmarks.md and its charts show the figures of test/bench');

# A run of some questions replaces these only.
{
	my %about = (points => 1, mongodb => '6.0.5', postgresql => '15.1');
	my @figures = map { { question => 'rows', layout => $_, median => 1 } } qw(hour flat minute);
	my $kept = { %about, date => '2026-01-01', figures => \@figures };
	my $run = { %about, date => '2026-01-02', postgresql => '15.2',
		figures => [ { %{ $figures[1] }, median => 2 } ] };
	my $merged = Bench::Report::merge($kept, $run, @figures[ 0, 1 ]);

	is_deeply([ $merged->{date}, map { [ @{$_}{qw(layout median date)} ] } @{ $merged->{figures} } ],
		[ '2026-01-02', [ 'hour', 1, '2026-01-01' ], [ 'flat', 2, undef ] ],
		'a partial run replaces its figures, and the others keep their day');
	$run->{points} = 2;
	ok(!eval { Bench::Report::merge($kept, $run, @figures); 1 }, '... unless its data are others');
}

done_testing();
