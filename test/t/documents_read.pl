# Proves that everyday questions examine no more documents and keys of indexes than
# their answers need, and as many in ten times the history.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use MongoTS::Everyday qw(asked examined layouts make_collection
  most_keys questions start_profiler);
use MongoTS::Node;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('documents_read', uri => undef);
create_server($node, 'mongo', $ENV{MONGODB_URI}, q(database 'mts_documents_read'));
sub query { return $node->safe_psql('postgres', $_[0]) }

plan skip_all => 'FerretDB has no profiler'
  if query(q(SELECT mongo_ts_command('mongo', '{"buildInfo": 1}')::jsonb ? 'ferretdb')) eq 't';
my $version = query(q(SELECT mongo_ts_command('mongo', '{"buildInfo": 1}')->'versionArray'->0));

# Ask a question in a schema, and return its rows in an order of their own.
sub ask
{
	my ($session, $schema, $name, $sql) = @_;
	my ($out, $err) = session_query($session, asked($schema, $name, $sql));
	is($err, '', "$schema: $name") if $err;
	return join "\n", sort split /\n/, $out;
}

foreach my $layout (grep { $version >= 6 || $_ ne 'native' } layouts())
{
	foreach my $hours (200, 2000)
	{
		my $server = "${layout}_$hours";
		my @questions = questions($layout, $hours);

		create_server($node, $server, $ENV{MONGODB_URI}, "database 'mts_documents_read_$server'");
		query(make_collection($layout, $server, $hours) . start_profiler($server));

		my $session = session_start($node);
		foreach my $number (0 .. $#questions)
		{
			my ($name, $most, $sql) = @{ $questions[$number] };
			my @rows = map { ask($session, $_, "question $number", $sql) } $server, "local_$server";
			my ($n, $keys) = split /\|/, query(examined($server, "question $number"));

			my $differ = $rows[0] eq $rows[1] ? 0 : 1;
			is($rows[0], $rows[1], "$server: $name: the rows, $differ differ");
			ok($n <= $most, "$server: $name: $n documents, at most $most");
			ok($keys <= most_keys($most), "$server: $name: $keys keys, at most @{[most_keys($most)]}");
		}
		session_end($session);
		query(qq(SELECT mongo_ts_command('$server', '{"profile": 0}'); SELECT mongo_ts_command('$server', '{"dropDatabase": 1}')));
	}
}
$node->stop;
done_testing();
