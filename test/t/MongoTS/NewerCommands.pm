# Rewrites requests to MongoDB 6.0 and its replies as versions 8.0, 8.3 and 9.0
# would answer.  It follows MongoDB's manual and the specifications of its
# drivers:
#
# - Since 8.2, a command with rawData: true on a time-series collection
#   concerns its buckets.  Before, the field is unknown, which 6.0 says itself.
# - Since 9.0, there is no collection "system.buckets.NAME".  Commands that
#   name one are refused with 491, and a cursor has the name NAME.
# - Since 9.0, listIndexes says of an index without a collation that it has the
#   simple one.
# - Null does not match undefined since 8.0, and matches some arrays since 9.0;
#   see NewerNull.pm.
# - An overloaded server refuses commands with 462 and labels.
#
# The speed, the plans, and the format of buckets stay those of 6.0.

package MongoTS::NewerCommands;

use strict;
use warnings;

use Exporter qw(import);
use MongoTS::NewerNull;
use MongoTS::Wire;

our @EXPORT = qw(newer_behavior newer_request newer_reply newer_is_known);

use constant {
	OP_REPLY => 1,
	OP_QUERY => 2004,
	OP_MSG => 2013,
	CHECKSUM => 1,
	MORE_TO_COME => 2,
	BODY => 21,          # the offset of the document in an OP_MSG
	RAW_DATA => 27,      # the wire versions that have raw data, and no buckets
	NO_BUCKETS => 29,    # beside a time-series collection
	BUCKETS => 'system.buckets.',
};

my %wire = ('8.0' => 25, '8.2' => 27, '8.3' => 28, '9.0' => 29);

# The commands that have the field rawData
my %takes_raw = map { $_ => 1 } qw(aggregate count createIndexes delete distinct
  dropIndexes find findAndModify insert listCollections listIndexes update);

my %code_names = (
	13 => 'Unauthorized',
	462 => 'IngressRequestRateLimitExceeded',
	491 => 'CommandNotSupportedOnLegacyTimeseriesBucketsNamespace');

# What an overloaded server does not refuse
my %always_accepted = map { $_ => 1 } qw(hello isMaster ismaster saslStart
  saslContinue authenticate endSessions killCursors newerProxy);

# How servers behave: version, the version; overload, N if each Nth command of a
# connection is refused as too much; refuse_raw, the error code of each command
# with rawData; and what is known of collections and cursors.
sub newer_behavior
{
	my ($version, $overload) = @_;

	die "no version '$version'\n" unless $wire{$version};
	return { version => $version, overload => $overload, refuse_raw => 0,
		timeseries => {}, raw_cursors => {} };
}

sub wire_version { return $wire{ $_[0]{version} } }

# ---- Lists of fields, as bson_fields() returns them -----------------------

sub field
{
	my ($fields, $name) = @_;

	for (my $i = 0; $i < @$fields; $i += 2)
	{
		return $fields->[ $i + 1 ] if $fields->[$i] eq $name;
	}
	return;
}

# Replace the value of a field that exists.
sub set_field
{
	my ($fields, $name, $value) = @_;

	for (my $i = 0; $i < @$fields; $i += 2)
	{
		$fields->[ $i + 1 ] = $value if $fields->[$i] eq $name;
	}
	return;
}

sub remove_field
{
	my ($fields, $name) = @_;
	my @kept;

	while (my ($key, $value) = splice(@$fields, 0, 2))
	{
		push @kept, $key => $value unless $key eq $name;
	}
	@$fields = @kept;
	return;
}

# Change a field that is a document by a function of its list of fields.
sub change_document
{
	my ($fields, $name, $change) = @_;
	my $value = field($fields, $name) or return;
	my @inner = bson_fields($value->[1]);

	$change->(\@inner);
	set_field($fields, $name, [ $value->[0], bson_document(@inner)->[1] ]);
	return;
}

# Change each document of a field that is an array.
sub change_array
{
	my ($fields, $name, $change) = @_;

	change_document($fields, $name, sub {
			my ($elements) = @_;
			for (my $i = 1; $i < @$elements; $i += 2)
			{
				$elements->[$i] = $change->($elements->[$i]);
			}
		});
	return;
}

sub is_true { return defined $_[0] && $_[0][1] =~ /[^\0]/ }

# ---- Replies --------------------------------------------------------------

# A reply is changed by a function of its message by reference.  Return the one
# that changes its fields by another function.
sub by_fields
{
	my ($change) = @_;

	return sub {
		my ($message) = @_;
		my ($head, $fields, $rest) = read_message($$message);

		$change->($fields);
		$$message = join_message($head, $fields, $rest);
	};
}

# Return a function that replaces a reply, except for the time in it.
sub instead
{
	my @reply = @_;

	return by_fields(sub {
		my ($fields) = @_;
		my @times = map { my $time = field($fields, $_); $time ? ($_ => $time) : () }
		  qw($clusterTime operationTime);

		@$fields = (@reply, @times);
	});
}

# End the rewriting of a command that is not executed.
sub refuse
{
	my ($code, $message, @labels) = @_;

	die { reply => instead(
			ok => bson_double(0),
			errmsg => bson_string($message),
			code => bson_int32($code),
			codeName => bson_string($code_names{$code} // "Location$code"),
			@labels ? (errorLabels => bson_array(map { bson_string($_) } @labels)) : ()) };
}

sub change_hello
{
	my ($behavior, $fields) = @_;

	set_field($fields, maxWireVersion => bson_int32(wire_version($behavior)));
	remove_field($fields, 'compression');
	return;
}

sub change_build_info
{
	my ($behavior, $fields) = @_;
	my @numbers = (split(/\./, $behavior->{version}), 0, 0);

	set_field($fields, version => bson_string(join('.', @numbers[ 0 .. 2 ])));
	set_field($fields, versionArray => bson_array(map { bson_int32($_) } @numbers));
	return;
}

# Change the batch of a reply by a function of an array's fields.
sub change_batch
{
	my ($fields, $change) = @_;

	change_document($fields, cursor => sub {
			my ($cursor) = @_;
			change_document($cursor, $_, $change) foreach qw(firstBatch nextBatch);
		});
	return;
}

# Leave out collections of buckets.
sub change_collections
{
	my ($fields) = @_;

	change_batch($fields, sub {
			my ($batch) = @_;
			my $n = 0;
			my @kept = grep { bson_text(field([ bson_fields($_->[1]) ], 'name')) !~ /^system\.buckets\./ }
			  grep { $n++ % 2 } @$batch;

			$n = 0;
			@$batch = map { $n++ => $_ } @kept;
		});
	return;
}

sub change_indexes
{
	my ($fields) = @_;

	change_batch($fields, sub {
			my ($batch) = @_;
			for (my $i = 1; $i < @$batch; $i += 2)
			{
				my @index = bson_fields($batch->[$i][1]);

				push @index, collation => bson_document(locale => bson_string('simple'))
				  unless field(\@index, 'collation');
				$batch->[$i] = bson_document(@index);
			}
		});
	return;
}

# Remember the cursor of buckets, and give it the name of the collection.  A
# batch is large, so it stays where it is.
sub change_cursor
{
	my ($behavior, $message) = @_;
	my $cursor = bson_find($message, BODY, 'cursor') or return;
	my $id = substr($$message, bson_find($message, $cursor, 'id'), 8);
	my $ns = bson_find($message, $cursor, 'ns');
	my $buckets = index($$message, BUCKETS, $ns);

	$behavior->{raw_cursors}{$id} = 1 if $id =~ /[^\0]/;
	return if $buckets < 0;
	substr($$message, $buckets, length BUCKETS, '');
	foreach my $length (0, BODY, $cursor, $ns)
	{
		substr($$message, $length, 4,
			pack('l<', unpack('l<', substr($$message, $length, 4)) - length BUCKETS));
	}
	return;
}

# Return the function that changes the reply to a command, or nothing.
sub change_of
{
	my ($behavior, $name, $is_raw) = @_;
	my $is_newest = wire_version($behavior) >= NO_BUCKETS;

	return by_fields(sub { change_hello($behavior, $_[0]) }) if $name =~ /^(?:hello|ismaster)$/i;
	return by_fields(sub { change_build_info($behavior, $_[0]) }) if $name =~ /^buildinfo$/i;
	return unless $is_newest;
	return by_fields(\&change_collections) if $name eq 'listCollections';
	return by_fields(\&change_indexes) if $name eq 'listIndexes';
	return sub { change_cursor($behavior, $_[0]) } if $is_raw;
	return;
}

# ---- Commands -------------------------------------------------------------

# A command that throws this is sent again when it is known whether that
# collection has buckets.
sub need_collection { die { database => $_[0], collection => $_[1] } }

# Tell whether a name is that of a time-series collection.
sub is_timeseries
{
	my ($behavior, $database, $collection) = @_;

	return $behavior->{timeseries}{"$database.$collection"}
	  // need_collection($database, $collection);
}

# Remember what listCollections says of a collection, or forget it.
sub newer_is_known
{
	my ($behavior, $database, $collection, $is_timeseries) = @_;

	$behavior->{timeseries}{"$database.$collection"} = $is_timeseries;
	return;
}

sub forget_collection
{
	my ($behavior, $name, $database, $collection) = @_;

	%{ $behavior->{timeseries} } = () if $name eq 'dropDatabase' || $name eq 'renameCollection';
	delete $behavior->{timeseries}{"$database.$collection"} if $name =~ /^(?:drop|create)$/;
	return;
}

# Rewrite the stages of a pipeline that read collections or select documents.
sub change_pipeline
{
	my ($behavior, $database, $is_raw, $fields) = @_;
	my $has_arrays = wire_version($behavior) >= NO_BUCKETS;

	change_array($fields, pipeline => sub {
			my ($stage) = @_;
			my @fields = bson_fields($stage->[1]);
			my ($name, $value) = @fields;

			return bson_document($name => newer_filter($value, $has_arrays))
			  if ($name // '') eq '$match';
			return $stage unless ($name // '') =~ /^\$(?:unionWith|lookup)$/ && $value->[0] == 0x03;
			change_document(\@fields, $name, sub {
					my ($inner) = @_;
					my $key = $name eq '$lookup' ? 'from' : 'coll';
					my $from = field($inner, $key);

					set_field($inner, $key => buckets_of($behavior, $database, $from, $is_raw)) if $from;
					change_pipeline($behavior, $database, $is_raw, $inner);
				});
			return bson_document(@fields);
		});
	return;
}

# Return the value with the collection that a command reads in place of one.
sub buckets_of
{
	my ($behavior, $database, $value, $is_raw) = @_;
	my $name = bson_text($value);

	refuse(491, "There is no collection '$database.$name'")
	  if wire_version($behavior) >= NO_BUCKETS && index($name, BUCKETS) == 0;
	return $value unless $is_raw && is_timeseries($behavior, $database, $name);
	return bson_string(BUCKETS . $name);
}

# Rewrite a command.  Returns whether it concerns buckets by rawData.
sub change_command
{
	my ($behavior, $database, $fields) = @_;
	my ($name, $value) = @$fields;
	my $raw = field($fields, 'rawData');
	my $has_arrays = wire_version($behavior) >= NO_BUCKETS;
	my $is_raw = 0;

	if ($raw && $takes_raw{$name} && wire_version($behavior) >= RAW_DATA)
	{
		$is_raw = is_true($raw);
		refuse($behavior->{refuse_raw}, "Command '$name' with rawData is refused")
		  if $is_raw && $behavior->{refuse_raw};
		remove_field($fields, 'rawData');
	}
	if ($value->[0] == 0x02 && $name ne 'killCursors')
	{
		my $new = buckets_of($behavior, $database, $value, $is_raw);

		forget_collection($behavior, $name, $database, bson_text($value));
		$is_raw = $new != $value;
		set_field($fields, $name => $new);
	}
	foreach my $filter (grep { field($fields, $_) } qw(filter query))
	{
		set_field($fields, $filter => newer_filter(field($fields, $filter), $has_arrays))
		  unless $name eq 'listCollections';
	}
	change_pipeline($behavior, $database, $is_raw, $fields) if $name eq 'aggregate';
	change_array($fields, $_, sub { newer_write($_[0], $has_arrays) }) foreach qw(updates deletes);
	return $is_raw;
}

# The collection of a cursor of buckets has another name for the server.
sub change_cursor_command
{
	my ($behavior, $fields) = @_;
	my ($name, $value) = @$fields;
	my $key = $name eq 'getMore' ? 'collection' : 'killCursors';
	my @ids = $name eq 'getMore' ? $value->[1] : map { ref ? $_->[1] : () }
	  bson_fields((field($fields, 'cursors') // bson_document())->[1]);
	my $is_raw = wire_version($behavior) >= NO_BUCKETS
	  && grep { $behavior->{raw_cursors}{$_} } @ids;

	set_field($fields, $key => bson_string(BUCKETS . bson_text(field($fields, $key)))) if $is_raw;
	delete @{ $behavior->{raw_cursors} }{@ids};
	return $is_raw;
}

# Change the behavior by a command {newerProxy: 1, version: .., overload: ..,
# refuse_raw: ..} of a test.
sub change_behavior
{
	my ($behavior, $fields) = @_;
	my $version = field($fields, 'version');

	$behavior->{version} = bson_text($version) if $version;
	foreach my $key (qw(overload refuse_raw))
	{
		my $value = field($fields, $key);

		$behavior->{$key} = unpack('l<', $value->[1]) if $value;
	}
	die { reply => instead(ok => bson_double(1)) };
}

# Rewrite a command, and return the function that changes its reply, or
# nothing.
sub answer_to
{
	my ($behavior, $fields, $commands) = @_;
	my $name = $fields->[0];
	my $database = bson_text(field($fields, '$db') // bson_string('admin'));
	my $is_raw = 0;

	change_behavior($behavior, $fields) if $name eq 'newerProxy';
	refuse(462, 'The request rate is exceeded', qw(SystemOverloadedError RetryableError NoWritesPerformed))
	  if $behavior->{overload} && !$always_accepted{$name} && ++$$commands % $behavior->{overload} == 0;
	if ($name =~ /^(?:getMore|killCursors)$/)
	{
		$is_raw = change_cursor_command($behavior, $fields);
	}
	elsif ($name eq 'explain' && $fields->[1][0] == 0x03)
	{
		my $raw = field($fields, 'rawData');

		change_document($fields, explain => sub {
				my ($inner) = @_;
				push @$inner, rawData => $raw if $raw && !field($inner, 'rawData');
				$is_raw = change_command($behavior, $database, $inner);
			});
		remove_field($fields, 'rawData') if $is_raw;
		$is_raw = 0;
	}
	else { $is_raw = change_command($behavior, $database, $fields) }
	remove_field($fields, 'compression') if $name =~ /^(?:hello|ismaster)$/i;
	return change_of($behavior, $name, $is_raw);
}

# ---- Messages -------------------------------------------------------------

# Take a message with a command apart: the bytes before its document, its
# fields, and the bytes or sections behind it.
sub read_message
{
	my ($message) = @_;
	my ($length, undef, undef, $opcode) = unpack('l<4', $message);
	my $begin = $opcode == OP_QUERY ? 29 + length unpack('x20 Z*', $message)
	  : $opcode == OP_REPLY ? 36 : BODY;
	my $end = $begin + unpack('l<', substr($message, $begin, 4));

	return (substr($message, 0, $begin), [ bson_fields($message, $begin) ], substr($message, $end));
}

sub join_message
{
	my ($head, $fields, $rest) = @_;
	my $message = $head . bson_document(@$fields)->[1] . $rest;

	substr($message, 0, 4, pack('l<', length $message));
	return $message;
}

# Rewrite the filters of updates and deletes in sections behind the command.
sub change_sections
{
	my ($behavior, $sections) = @_;
	my $has_arrays = wire_version($behavior) >= NO_BUCKETS;
	my ($new, $at) = ('', 0);

	return $sections unless $sections =~ /\x0A/;
	while ($at < length $sections)
	{
		my ($kind, $size, $name) = unpack('C l< Z*', substr($sections, $at));
		my $end = $at + 1 + $size;
		my $documents = '';

		return $sections unless $kind == 1;
		for ($at += 6 + length $name; $at < $end; $at += unpack('l<', substr($sections, $at, 4)))
		{
			my $document = substr($sections, $at, unpack('l<', substr($sections, $at, 4)));

			$documents .= $name =~ /^(?:updates|deletes)$/
			  ? newer_write([ 0x03, $document ], $has_arrays)->[1] : $document;
		}
		$new .= pack('C l< Z*', 1, 5 + length($name) + length $documents, $name) . $documents;
	}
	return $new;
}

# Rewrite a request of a connection, whose commands are counted by reference.
# Returns the message for the server, and the function that
# changes its reply, if one does.  Throws {database, collection} if it must be
# known first whether that is a time-series collection.
sub newer_request
{
	my ($behavior, $message, $commands) = @_;
	my (undef, undef, undef, $opcode) = unpack('l<4', $message);
	my $flags = unpack('x16 L<', $message);

	if ($opcode == OP_MSG && $flags & CHECKSUM)
	{
		substr($message, -4, 4, '');
		substr($message, 16, 4, pack('L<', $flags & ~CHECKSUM));
	}
	my ($head, $fields, $rest) = read_message($message);
	my $change = eval { answer_to($behavior, $fields, $commands) };

	if (my $end = $@)
	{
		die $end unless ref $end && $end->{reply};
		# the reply to another command keeps its place among replies
		($fields, $rest, $change) = ([ ping => bson_int32(1), '$db' => bson_string('admin') ], '', $end->{reply});
	}
	delete @{ $behavior->{timeseries} }{ grep { !$behavior->{timeseries}{$_} } keys %{ $behavior->{timeseries} } };
	$rest = change_sections($behavior, $rest);
	return (join_message($head, $fields, $rest),
		$opcode == OP_MSG && $flags & MORE_TO_COME ? undef : $change);
}

# Rewrite a reply, given by reference, by the function of its request.  Returns
# true if another reply to the same request follows.
sub newer_reply
{
	my ($message, $change) = @_;
	my (undef, undef, undef, $opcode, $flags) = unpack('l<4 L<', $$message);

	$change->($message);
	return $opcode == OP_MSG && $flags & MORE_TO_COME;
}

1;
