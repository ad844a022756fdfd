# Everyday questions, and the collections that they are asked of.  MongoDB's
# profiler tells how many documents it examines for each of them.
#
# The points are those of devices, five on each site.  Each layout stores them in
# one collection: buckets of an hour; a native time-series collection; rows, which
# are documents of an hour; and identified rows, with UUIDs and ObjectIds.  Their
# indexes are those that the documentation recommends.  A history ends at the same
# time whatever its length, so that the answers stay the same.
#
# A foreign table "points" is in a schema named after the layout and the hours of
# the history, such as buckets_200.  The schema local_buckets_200 has a local
# table "points" with the same rows.

package MongoTS::Everyday;

use strict;
use warnings;

use Exporter qw(import);

our @EXPORT_OK = qw(DEVICES asked examined layouts make_collection
  most_keys questions start_profiler);

use constant DEVICES => 20;
use constant SITES => 4;

# The most documents that a question may need, whatever the length of the history
use constant {
	OF_ALL => 2 * DEVICES + 100,
	NEWEST_OF_ALL => 5 * DEVICES,
	NEWEST_OF_SITE => 5 * DEVICES / SITES,
	NEWEST_OF_ONE => 5,
	A_DAY => 24 + 5,
	TWO_DAYS => 2 * 24 + 5,
	A_PAGE => 10 + 5,
	REMOVED => 2 * 2 * DEVICES + 3 * DEVICES,
};

# Return the most keys of indexes that a question may need.  MongoDB looks at keys in
# order to skip in an index, and a search for the newest points asks several times.
sub most_keys
{
	my ($documents) = @_;

	return 10 * $documents + 200;
}

# The start of the history's last hour
my $last = q(timestamptz '2024-06-10 23:00Z');

my %columns = (
	buckets => q(ts timestamptz OPTIONS (field 'hour') NOT NULL, site text, device text,
		v float8 OPTIONS (field 'v.{minute}')),
	native => q(ts timestamptz NOT NULL, site text OPTIONS (field 'tags.site'),
		device text OPTIONS (field 'tags.device'), v float8),
	rows => 'ts timestamptz NOT NULL, site text, device text, v float8',
	identified => q(_id text OPTIONS (bson_type 'objectId'), ts timestamptz NOT NULL, unit uuid, v float8));
my %create = (native => q("create": "points", "timeseries": {"timeField": "ts", "metaField": "tags"}));
my %indexed = (rows => q(, '{site, device}'), identified => q(, '{unit}'));

sub layouts { return qw(buckets native rows identified) }

# Return the SQL that makes a collection on a foreign server with a history of some
# hours, its foreign table, a local table with the same rows, and a roll-up of the
# points before the last hour.
sub make_collection
{
	my ($layout, $server, $hours) = @_;
	my $schema = "${layout}_$hours";
	my $points = $columns{$layout};
	my $minutes = $layout =~ /buckets|native/ ? '0, 15, 30, 45' : '0';
	my $names = $layout eq 'identified'
	  ? q(lpad(to_hex(h * 100 + d), 24, '0') AS _id, ts, lpad(to_hex(d + 1), 32, '0')::uuid AS unit, v)
	  : q(ts, 's' || d / 5 AS site, 'd' || lpad(d::text, 2, '0') AS device, v);
	my $create = $create{$layout} // '"create": "points"';
	my $index = $indexed{$layout} // '';
	my $devices = DEVICES;
	my $rollup = $layout eq 'identified' ? '' : <<"END";
		CREATE FOREIGN TABLE $schema.totaled ($points) SERVER $server OPTIONS (collection 'points');
		CREATE TABLE local_$schema.totaled AS TABLE local_$schema.points;
		SELECT mongo_ts_create_rollup('$schema.totaled', '1 hour', columns => '{v}', lag => now() - $last - interval '5 min');
		SELECT mongo_ts_refresh_rollup('$schema.totaled_1h');
END

	my $nullable = $layout eq 'rows' ? <<"END" : '';
		CREATE FOREIGN TABLE $schema.nullable (ts timestamptz, v float8) SERVER $server OPTIONS (collection 'points');
		CREATE VIEW local_$schema.nullable AS TABLE local_$schema.points;
		ANALYZE $schema.nullable;
END
	my $fill = $layout eq 'identified' ? fill_identified($server, $schema)
	  : "INSERT INTO $schema.points SELECT * FROM local_$schema.points;";

	return <<"END";
		CREATE SCHEMA $schema;
		CREATE SCHEMA local_$schema;
		SELECT mongo_ts_command('$server', '{"dropDatabase": 1}');
		SELECT mongo_ts_command('$server', '{$create}');
		CREATE FOREIGN TABLE $schema.points ($points) SERVER $server;
		CREATE TABLE local_$schema.points AS SELECT $names
			FROM generate_series(1, $hours) h, generate_series(0, $devices - 1) d, unnest(ARRAY[$minutes]) m,
				LATERAL (SELECT $last + (h - $hours) * interval '1 hour' + m * interval '1 min' AS ts,
					(d * 7 + h * 3 + m)::float8 AS v) p
			ORDER BY ts, d;
		SELECT mongo_ts_create_index('$schema.points'$index);
		$fill
		ANALYZE $schema.points, local_$schema.points;
		$rollup
		$nullable
END
}

# Return the SQL that inserts documents with their own ObjectIds.
sub fill_identified
{
	my ($server, $schema) = @_;

	return <<"END";
		SELECT mongo_ts_command('$server', format('{"insert": "points", "documents": [%s]}', string_agg(format(
				'{"_id": {"\$oid": "%s"}, "ts": {"\$date": "%s"}, "unit": {"\$uuid": "%s"}, "v": {"\$numberDouble": "%s"}}',
				_id, to_char(ts, 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), unit, v), ', '))::json)
			FROM local_$schema.points GROUP BY date_trunc('day', ts);
END
}

# ---- Questions ------------------------------------------------------------

# Return a layout's questions, which are lists: a name, the most documents that the
# answer may need, and SQL that reads the table "points" of the search path.  The
# last ones change points.
sub questions
{
	my ($layout, $hours) = @_;

	return questions_of_identifiers() if $layout eq 'identified';
	my @questions = (questions_of_all(), questions_of_days(), questions_of_rollups(), question_of_history($hours));
	push @questions, questions_of_nulls() if $layout eq 'rows';
	push @questions, questions_of_writes($hours) unless $layout eq 'native';
	return @questions;
}

sub questions_of_all
{
	my $hour = q(ts >= '2024-06-05 12:00' AND ts < '2024-06-05 13:00');

	return ([ 'the last hour of all devices', OF_ALL, "SELECT * FROM points WHERE ts >= $last" ],
		[ 'the last hour of all devices by a generic plan', OF_ALL, "SET plan_cache_mode = force_generic_plan;
			PREPARE s (timestamptz) AS SELECT * FROM points WHERE ts >= \$1; EXECUTE s ($last)" ],
		[ 'an hour of all by device', OF_ALL, "SELECT device, avg(v) FROM points WHERE $hour GROUP BY device" ],
		[ 'nothing new since', OF_ALL, "SELECT * FROM points WHERE ts > $last + interval '59 min'" ],
		[ 'how many points in the last hour', OF_ALL, "SELECT count(*) FROM points WHERE ts >= $last" ],
		[ 'the newest ten points', NEWEST_OF_ALL, 'SELECT ts, v IS NULL FROM points ORDER BY ts DESC LIMIT 10' ],
		[ 'the oldest ten points', NEWEST_OF_ALL, 'SELECT ts, v IS NULL FROM points ORDER BY ts LIMIT 10' ],
		[ 'max(ts)', NEWEST_OF_ALL, 'SELECT max(ts) FROM points' ],
		[ 'min(ts), max(ts)', 2 * NEWEST_OF_ALL, 'SELECT min(ts), max(ts) FROM points' ],
		[ 'the newest point of a device', NEWEST_OF_ONE,
			q(SELECT ts, v FROM points WHERE site = 's1' AND device = 'd07' ORDER BY ts DESC LIMIT 1) ],
		[ 'last seen by device', NEWEST_OF_ALL, 'SELECT device, max(ts) FROM points GROUP BY device' ],
		[ 'last seen by device of a site', NEWEST_OF_SITE,
			q(SELECT device, max(ts) FROM points WHERE site = 's1' GROUP BY device) ],
		[ 'the last point of each device of a site', NEWEST_OF_SITE,
			q(SELECT DISTINCT ON (device) device, ts, v FROM points WHERE site = 's1' ORDER BY device, ts DESC) ]);
}

sub questions_of_nulls
{
	return [ 'the newest ten points, after those without a time',
		NEWEST_OF_ALL, 'SELECT ts, v IS NULL FROM nullable ORDER BY ts DESC LIMIT 10' ];
}

sub questions_of_days
{
	my $day = q(ts >= '2024-06-05' AND ts < '2024-06-06');
	my @of_one = (
		[ 'a day by a range' => $day ],
		[ 'a day by ts::date' => q(ts::date = '2024-06-05') ],
		[ 'a day by date_trunc' => q(date_trunc('day', ts) = '2024-06-05') ],
		[ 'a day by to_char' => q(to_char(ts, 'YYYY-MM-DD') = '2024-06-05') ],
		[ 'a day by tstzrange' => q(ts <@ tstzrange('2024-06-05', '2024-06-06')) ],
		[ 'a day by date_bin' => q(date_bin('1 day', ts, '2024-01-01') = '2024-06-05') ],
		[ 'a local day' => q((ts AT TIME ZONE 'Europe/Berlin')::date = '2024-06-05') ]);
	my $joined = q(JOIN points b ON b.ts = a.ts AND b.site = 's2' AND b.device = 'd11'
		WHERE a.site = 's1' AND a.device = 'd07' AND ) . $day =~ s/\bts\b/a.ts/gr;

	return ((map { [ "a device's $_->[0]" =~ s/'s a /'s /r, A_DAY,
				"SELECT ts, v FROM points WHERE site = 's1' AND device = 'd07' AND $_->[1]" ] } @of_one),
		[ q(a device's day without its site), A_DAY, "SELECT ts, v FROM points WHERE device = 'd07' AND $day" ],
		[ 'two devices joined on ts, a range of one', TWO_DAYS, "SELECT a.ts, a.v, b.v FROM points a $joined" ],
		[ 'two devices left joined on ts, a range of one', TWO_DAYS, "SELECT a.ts, a.v, b.v FROM points a LEFT $joined" ]);
}

sub questions_of_rollups
{
	return [ 'points after those of a roll-up', OF_ALL, 'SELECT device, count(*), sum(v) FROM totaled GROUP BY device' ];
}

# Only the oldest points satisfy a condition that PostgreSQL checks.  After the windows
# of time, MongoDB may read and sort all, to find the rest.
sub question_of_history
{
	my ($hours) = @_;
	my $oldest = "$last - interval '@{[$hours - 2]} hours'";

	return [ 'the newest points, of which few are wanted', 2 * $hours * DEVICES + OF_ALL,
		"SELECT ts, v FROM points WHERE concat(ts) < concat($oldest) ORDER BY ts DESC LIMIT 1000" ];
}

sub questions_of_writes
{
	my ($hours) = @_;
	my $totals = "SET application_name = 'totals'; SELECT count(*), min(ts), max(ts), sum(v) FROM points";

	return ([ 'UPDATE of the last hour of all devices', OF_ALL, "UPDATE points SET v = -v WHERE ts >= $last; $totals" ],
		[ 'DELETE of the oldest two hours', REMOVED,
			"DELETE FROM points WHERE ts < $last - interval '@{[$hours - 3]} hours'; $totals" ]);
}

sub questions_of_identifiers
{
	my $day = q(ts >= '2024-06-05' AND ts < '2024-06-06');
	my ($one, $two) = map { "'" . '0' x 30 . "$_'" } '08', '0c';
	my $middle = q('000000000000000000002717');

	return ([ q(a unit's day by its UUID), A_DAY, "SELECT ts, v FROM points WHERE unit = $one AND $day" ],
		[ q(the day of two units by IN), TWO_DAYS, "SELECT unit, ts, v FROM points WHERE unit IN ($one, $two) AND $day" ],
		[ q(the day of two units by a join), TWO_DAYS,
			"SELECT unit, ts, v FROM points JOIN (VALUES ($one\::uuid), ($two)) c (unit) USING (unit) WHERE $day" ],
		[ 'last seen by unit', NEWEST_OF_ALL, 'SELECT unit, max(ts) FROM points GROUP BY unit' ],
		[ 'the last point of each unit', NEWEST_OF_ALL,
			'SELECT DISTINCT ON (unit) unit, ts, v FROM points ORDER BY unit, ts DESC' ],
		[ 'a document by its ObjectId', A_PAGE, "SELECT * FROM points WHERE _id = $middle" ],
		[ 'a page of ten ObjectIds', A_PAGE,
			qq(SELECT * FROM points WHERE _id COLLATE "C" > $middle ORDER BY _id COLLATE "C" LIMIT 10) ],
		[ 'the ten greatest ObjectIds', A_PAGE,
			'SELECT * FROM points ORDER BY _id COLLATE "C" DESC NULLS LAST LIMIT 10' ]);
}

# ---- The profiler ---------------------------------------------------------

# Return the SQL that starts MongoDB's profiler in the database of a server.
sub start_profiler
{
	my ($server) = @_;

	return join(";\n", map { "SELECT mongo_ts_command('$server', '$_')" }
		'{"create": "system.profile", "capped": true, "size": 33554432}', '{"profile": 2}') . ";\n";
}

# Return the SQL that asks a question in a schema, under an application_name.
sub asked
{
	my ($schema, $application_name, $sql) = @_;

	return "SET application_name = '$application_name'; SET search_path = $schema; SET timezone = 'UTC'; $sql;
		RESET application_name; RESET search_path; RESET timezone; RESET plan_cache_mode; DEALLOCATE ALL";
}

# Return the SQL of the numbers of documents of the collection "points", and of keys of
# its indexes, that a session with an application_name has examined.
sub examined
{
	my ($server, $application_name) = @_;

	return qq(SELECT coalesce(sum((doc->>'docsExamined')::int), 0), coalesce(sum((doc->>'keysExamined')::int), 0) FROM mongo_ts_find('$server', 'system.profile',
		'{"command.comment": {"\$regex": "^$application_name\\\\[[0-9]"}, "ns": {"\$regex": "[.]points\$"}}', NULL) doc);
}

1;
