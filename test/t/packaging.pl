# Do the files that packagers read name the same version and the same files?

use strict;
use warnings;

use JSON::PP qw(decode_json);
use Test::More;

sub content
{
	my ($path) = @_;
	open my $file, '<', $path or die "$path: $!";
	local $/;
	return <$file>;
}

# Return what a pattern finds in a file.
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
is($provided->{file}, "mongo_ts_fdw--$version.sql", '... and the install script');
ok(-f $provided->{$_}, "... whose $_ is there") foreach qw(file docfile);
is(found('debian/changelog', qr/^mongo-ts-fdw \((.+?)\)/),
	$version, 'debian/changelog has the version');
is(found('CHANGELOG.md', qr/^## (\S+)/m),
	$version, 'CHANGELOG.md begins with the version');
is(found('META.json', qr/"PostgreSQL": "(\d+)/) . "+\n",
	content('debian/pgversions'), 'META.json and debian/pgversions agree');

done_testing();
