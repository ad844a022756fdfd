# Makes the SQL that changes the type of the time of a document, for the
# differential test.  Then each query that would return its rows must fail.

package Differential::Drift;

use strict;
use warnings;

use Differential::Indexes qw(fields_of);
use Exporter qw(import);

our @EXPORT_OK = qw(drift restore);

# Change the first document that matches, in an order, by some stages.
sub change_first
{
	my ($layout, $match, $sort, @stages) = @_;

	return "SELECT mongo_ts_command('mongo', '{\"findAndModify\": "
	  . "\"$layout->{name}\", \"query\": $match, \"sort\": $sort, \"update\": ["
	  . join(', ', @stages) . "]}');\n";
}

# Make the last time a value of a type that MongoDB sorts before the others, or
# the first time one of a type that it sorts after them: a scan in order that
# ends early does not read it.  Nothing for layouts without a field that could
# be changed so, with times of several types, or whose invalid documents are
# skipped.
sub drift
{
	my ($layout, $is_last) = @_;
	my ($at) = fields_of($layout);
	my $early = "{\"\$cond\": [{\"\$eq\": [{\"\$type\": \"\$$at\"}, \"date\"]}, "
	  . "{\"\$toString\": \"\$$at\"}, {\"\$literal\": {\"\$minKey\": 1}}]}";
	my $late = '{"$literal": {"$timestamp": {"t": 1381363200, "i": 1}}}';

	return '' if $at =~ m/[][{}]|\.\d|^_id/ || $layout->{partitions}
	  || $layout->{collections} || $layout->{timeseries}
	  || ($layout->{options} // '') =~ m/on_invalid/
	  || $layout->{name} eq 'mixed_times';
	return "SET test.drift = on;\n" . change_first($layout,
		"{\"$at\": {\"\$ne\": null}}", "{\"$at\": " . ($is_last ? -1 : 1) . '}',
		"{\"\$set\": {\"drifted\": \"\$$at\", \"$at\": "
		  . ($is_last ? $early : $late) . '}}');
}

# Change the document back.
sub restore
{
	my ($layout) = @_;
	my ($at) = fields_of($layout);

	return "SET test.drift = off;\n" . change_first(
		$layout, '{"drifted": {"$exists": true}}', '{}',
		"{\"\$set\": {\"$at\": \"\$drifted\"}}", '{"$unset": "drifted"}');
}

1;
