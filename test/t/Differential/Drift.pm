# Makes the SQL that changes the type of the time of a document, for the
# differential test.  Then each query that would return its rows must fail.

package Differential::Drift;

use strict;
use warnings;

use Differential::Data;
use Differential::Indexes qw(fields_of);
use Exporter qw(import);

our @EXPORT_OK = qw(drift restore);

# Change a document, the first one, by some stages.
sub change_first
{
	my ($layout, @stages) = @_;

	return "SELECT mongo_ts_command('mongo', '{\"update\": "
	  . "\"$layout->{name}\", \"updates\": [{\"q\": {}, \"u\": ["
	  . join(', ', @stages) . "]}]}');\n";
}

# Make a date text or a number, and another time a boolean or a subdocument.
# Nothing for layouts without a field that could be changed so, or whose
# invalid documents are skipped.
sub drift
{
	my ($layout) = @_;
	my ($at) = fields_of($layout);
	my $date = '{"' . pick('$toString', '$toLong') . "\": \"\$$at\"}";
	my $other = '{"$literal": ' . pick('true', '{"x": 1}') . '}';
	my $is_date = "{\"\$eq\": [{\"\$type\": \"\$$at\"}, \"date\"]}";

	return '' if $at =~ m/[][{}]|\.\d|^_id/ || $layout->{partitions}
	  || $layout->{collections} || $layout->{timeseries}
	  || ($layout->{options} // '') =~ m/on_invalid/;
	return "SET test.drift = on;\n" . change_first($layout,
		"{\"\$set\": {\"drifted\": \"\$$at\", "
		  . "\"$at\": {\"\$cond\": [$is_date, $date, $other]}}}");
}

# Change the document back.
sub restore
{
	my ($layout) = @_;
	my ($at) = fields_of($layout);

	return "SET test.drift = off;\n" . change_first($layout,
		"{\"\$set\": {\"$at\": \"\$drifted\"}}", '{"$unset": "drifted"}');
}

1;
