# Make certificates with openssl: an authority signs those of servers and
# clients.  A file holds a key and its certificate, as MongoDB wants them.

package Certificates;

use strict;
use warnings;

use Exporter qw(import);

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

# Make NAME.pem, signed by an authority.
#
# for: whom, such as "DNS:localhost"; days: for how long, so that 0 has expired
# in a second; passphrase: of the key.
sub make_certificate
{
	my ($name, $authority, %params) = @_;
	my $cipher = $params{passphrase}
	  ? "-passout pass:$params{passphrase}"
	  : '-nodes';

	run_openssl("req $new_key $cipher -subj /CN=$params{subject}",
		"-keyout $name.key -out $name.request");
	open(my $extensions, '>', "$name.ext") or die "$name.ext: $!";
	print $extensions "subjectAltName=$params{for}\n";
	close($extensions);
	run_openssl("x509 -req -in $name.request -CA $authority.pem",
		"-CAkey $authority.key -CAcreateserial -extfile $name.ext",
		'-days', $params{days} // 2, "-out $name.certificate");
	join_files("$name.pem", "$name.key", "$name.certificate");
	return;
}

1;
