# Defines layouts of rolling sets: copies of other layouts with the documents
# in collections by time.  See Layouts.pm for the key collections.

package Differential::Rolling;

use strict;
use warnings;

use Differential::Data;
use Differential::Layouts qw(slot_layouts new_layout fill_slots dated_head);
use Differential::Points qw(point_layouts);
use Differential::Totals qw(total_layouts);
use Exporter qw(import);

our @EXPORT_OK = qw(rolling_layouts);

# The name of a document's collection, by the time in a field.  A document
# without a time may be in any collection.
sub collection_of
{
	my ($document, $field, $pattern, $zone) = @_;
	my ($ms) = ($document->{$field} // '') =~ m/"(-?\d+)"/;
	my ($name) = in_zone($zone,
		sub { local_fields(($ms // 1_381_446_419_123) * 1000, $pattern) });

	return $name;
}

# A layout as a rolling set, by name, the end of the pattern, and the field of
# the bucket's time.  The names of the collections begin with the name of the
# layout.
sub roll
{
	my ($layout, $name, $suffix, $field, $zone) = @_;
	my $pattern = "$name$suffix";

	$layout->{name} = $name;
	$layout->{options} = join ', ', grep { $_ } $layout->{options},
	  "collection '$pattern'";
	foreach my $document (@{ $layout->{docs} })
	{
		my $collection =
		  collection_of($document, $field, $pattern, $zone // 'UTC');
		push @{ $layout->{collections}{$collection} }, $document;
	}
	$layout->{docs} = [];
	return $layout;
}

# Minutes around changes of the clock, in collections of local hours
sub new_york
{
	my @changes = (1_362_898_800, 1_383_458_400);
	my @starts = map { my $t = $_; map { ($t + $_ * 60) * SECOND } -120 .. 120 }
	  @changes;
	my $layout = new_layout(
		hours => [ 'timestamptz', "field 'm'" ],
		value => 'v.{second}',
		options => "bucket_time_zone 'America/New_York'");

	return fill_slots($layout, span => MINUTE, step => SECOND, points => 1,
		starts => [ grep { chance(0.25) } @starts ],
		head => dated_head('m'), path => sub { ('v', $_[0]) });
}

# All of these layouts, freshly filled
sub rolling_layouts
{
	my %of = map { $_->{name} => $_ } slot_layouts(), point_layouts(),
	  total_layouts();

	return (
		roll($of{totals_minute}, 'rolling_days', '_%Y%m%d', 'm'),
		roll($of{doubles}, 'rolling_months', '.%m.%Y', 'm'),
		roll($of{day_levels}, 'rolling_long', '%Y_%m_%d_%H', 'timestamp'),
		roll($of{unaligned}, 'rolling_unaligned', '%Y%m%d%H', 't0'),
		roll($of{event}, 'rolling_events', '%Y', 'at'),
		roll($of{native}, 'rolling_native', '%Y%m', 'at'),
		roll($of{size_based}, 'rolling_size', '%d-%m-%Y', 'day'),
		roll($of{computed}, 'rolling_bounds', '_%H_%Y%m%d', 'start_date'),
		roll($of{berlin_timestamp}, 'rolling_berlin', '_%Y%m%d', 'day',
			'Europe/Berlin'),
		roll(new_york(), 'rolling_hours', '_%Y%m%d%H', 'm',
			'America/New_York'));
}

1;
