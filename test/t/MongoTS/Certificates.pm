# Makes certificates with openssl: an authority signs those of servers and
# clients.  A file contains a key and its certificate, as MongoDB requires.

package MongoTS::Certificates;

use strict;
use warnings;

use Exporter qw(import);
use File::Basename qw(dirname);
use POSIX qw(strftime);

our @EXPORT = qw(make_authority make_certificate);

sub run_openssl
{
	my @command = ('openssl', @_);
	my $output = qx{@command 2>&1};

	die "@command: $output" if $? != 0;
	return;
}

sub join_files
{
	my ($to, @from) = @_;

	open(my $file, '>', $to) or die "$to: $!";
	foreach my $name (@from)
	{
		open(my $part, '<', $name) or die "$name: $!";
		print $file (<$part>);
	}
	close($file);
	chmod(0600, $to);
	return;
}

my $new_key = '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1';

# Make an authority: NAME.pem is its certificate, NAME.key its key.
sub make_authority
{
	my ($name) = @_;

	run_openssl("req -x509 $new_key -nodes -days 2 -subj /CN=authority",
		"-keyout $name.key -out $name.pem");
	return;
}

sub write_file
{
	my ($name, $text) = @_;

	open(my $file, '>', $name) or die "$name: $!";
	print $file $text;
	close($file);
	return;
}

# Make NAME.pem, signed by an authority.
#
# for: the subject, such as "DNS:localhost"; seconds: the validity, by default
# a day; passphrase: that of the key.
sub make_certificate
{
	my ($name, $authority, %params) = @_;
	my $cipher = $params{passphrase}
	  ? "-passout pass:$params{passphrase}"
	  : '-nodes';
	my $end = strftime('%Y%m%d%H%M%SZ', gmtime(time() + ($params{seconds} // 86400)));
	my $dir = dirname($name);

	run_openssl("req $new_key $cipher -subj /CN=$params{subject}",
		"-keyout $name.key -out $name.request");
	write_file("$name.ext", "subjectAltName=$params{for}\n");
	write_file("$name.index", '');
	write_file("$name.conf", <<"END");
[ca]
default_ca = authority
[authority]
database = $name.index
new_certs_dir = $dir
default_md = sha256
rand_serial = yes
policy = names
[names]
commonName = supplied
END
	run_openssl("ca -batch -notext -config $name.conf",
		"-cert $authority.pem -keyfile $authority.key -enddate $end",
		"-extfile $name.ext -in $name.request -out $name.certificate");
	join_files("$name.pem", "$name.key", "$name.certificate");
	return;
}

1;
