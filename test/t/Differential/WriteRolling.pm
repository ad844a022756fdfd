# Defines layouts of rolling sets: copies of other layouts with the documents
# in collections by time, for the differential test of writing.  See
# WriteLayouts.pm.

package Differential::WriteRolling;

use strict;
use warnings;

use Differential::Data;
use Differential::WritePoints qw(point_layouts);
use Differential::WriteSlots qw(slot_layouts);
use Exporter qw(import);

our @EXPORT_OK = qw(rolling_layouts);

# A layout as a rolling set, by name, the end of the pattern, and other
# differences.  The names of the collections begin with the name of the layout.
sub roll
{
	my ($layout, $name, $suffix, %p) = @_;

	push @{ $layout->{shifts} }, '1 hour', '-1 day', '1 month';
	return { %$layout, %p, name => $name, collection => "$name$suffix" };
}

# All of these layouts, with fresh times
sub rolling_layouts
{
	my %of = map { $_->{name} => $_ } slot_layouts(), point_layouts();

	return (
		roll($of{minute}, 'rolling_hours', '_%Y%m%d%H'),
		roll($of{hour_nested}, 'rolling_days', '.%d.%m.%Y'),
		roll($of{page_views}, 'rolling_counters', '%Y_%m'),
		roll($of{zone_days}, 'rolling_zone', '_%Y%m%d'),
		roll($of{size_based}, 'rolling_size', '_%Y%m%d'),
		roll($of{offsets}, 'rolling_id', '_%Y%m%d%H'),
		roll($of{positional_counted}, 'rolling_positional', '%Y%m%d%H'),
		roll($of{event}, 'rolling_event', '_%Y%m%d', moves => 'never'));
}

1;
