/*
 * zone.c
 *		Implement a clock with PostgreSQL's time zones and to_char patterns.
 *
 * The core calls these functions through MtsClock.  They palloc in the current
 * context and free nothing.  A zone that is NULL means UTC.
 */
#include "table/zone.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/datetime.h"
#include "utils/timestamp.h"

#include "compat.h"

/* mts_zone_find: return the zone of a name; NULL if there is none. */
pg_tz *
mts_zone_find(const char *name)
{
	pg_tz *zone = pg_tzset(name);

	return zone && pg_tz_acceptable(zone) ? zone : NULL;
}

/*
 * Convert an instant to the local time of a zone.  An instant that PostgreSQL
 * cannot convert is returned as it is.
 */
static MtsTime
to_local(void *zone, MtsTime instant)
{
	struct pg_tm tm;
	fsec_t fsec;
	int tz;
	Timestamp local;

	if (timestamp2tm(instant, &tz, &tm, &fsec, NULL, zone) != 0 ||
		tm2timestamp(&tm, fsec, NULL, &local) != 0)
		return instant;
	return local;
}

/*
 * Convert a local time of a zone to an instant.  A time that PostgreSQL cannot
 * convert is returned as it is.
 */
static MtsTime
to_instant(void *zone, MtsTime local)
{
	struct pg_tm tm;
	fsec_t fsec;
	int tz;
	TimestampTz instant;

	if (timestamp2tm(local, NULL, &tm, &fsec, NULL, NULL) != 0)
		return local;
	tz = DetermineTimeZoneOffset(&tm, zone);
	return tm2timestamp(&tm, fsec, &tz, &instant) == 0 ? instant : local;
}

/*
 * Return the next instant at which the difference of a zone from UTC may
 * change.
 */
static MtsTime
next_change(void *zone, MtsTime instant)
{
	pg_time_t at = instant / USECS_PER_SEC - (instant % USECS_PER_SEC < 0);
	pg_time_t epoch =
		(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * (pg_time_t) SECS_PER_DAY;
	pg_time_t next;
	long before, after;
	int before_is_dst, after_is_dst;

	at += epoch;
	if (pg_next_dst_boundary(&at, &before, &before_is_dst, &next, &after,
							 &after_is_dst, zone) <= 0 ||
		next - epoch > MTS_TIME_MAX / USECS_PER_SEC)
		return MTS_TIME_MAX;
	return (next - epoch) * USECS_PER_SEC;
}

static bool
is_utc(pg_tz *zone)
{
	const char *name = pg_get_timezone_name(zone);

	return strcmp(name, "UTC") == 0 || strcmp(name, "GMT") == 0 ||
		   strcmp(name, "Etc/UTC") == 0;
}

static text *
format_instant(pg_tz *zone, const char *pattern, MtsTime instant)
{
	MtsTime local = zone ? to_local(zone, instant) : instant;

	return DatumGetTextPP(
		DirectFunctionCall2Coll(timestamp_to_char, C_COLLATION_OID,
								TimestampGetDatum(local),
								CStringGetTextDatum(pattern)));
}

static bool
format_text(void *zone, const char *pattern, MtsTime instant, char *out,
			size_t size)
{
	text *value = format_instant(zone, pattern, instant);

	if (VARSIZE_ANY_EXHDR(value) >= size)
		return false;
	text_to_cstring_buffer(value, out, size);
	return true;
}

/* Convert a date or timestamp to a local time; false for other types. */
static bool
local_time(Datum value, Oid typid, MtsTime *local)
{
	if (typid == DATEOID)
		*local = DatumGetDateADT(value) * USECS_PER_DAY;
	else if (typid == TIMESTAMPOID)
		*local = DatumGetTimestamp(value);
	else
		return false;
	return true;
}

/*
 * Parse text, and accept it only if the pattern writes the same text again:
 * PostgreSQL's parsing is lenient, and a query compares text byte by byte.
 */
static bool
parse_text(void *zone, const char *pattern, const char *value, size_t len,
		   MtsTime *instant)
{
	Datum parsed;
	Oid typid;
	MtsTime local;
	text *written;

	if (memchr(value, 0, len) ||
		!mts_parse_datetime(cstring_to_text_with_len(value, len),
							cstring_to_text(pattern), &parsed, &typid) ||
		!local_time(parsed, typid, &local))
		return false;
	*instant = zone ? to_instant(zone, local) : local;
	written = format_instant(zone, pattern, *instant);
	return VARSIZE_ANY_EXHDR(written) == len &&
		   memcmp(VARDATA_ANY(written), value, len) == 0;
}

/*
 * mts_zone_clock
 *		Return the clock of a zone that mts_zone_find has found before.
 */
MtsClock
mts_zone_clock(const char *name)
{
	pg_tz *zone = mts_zone_find(name);
	MtsClock clock = {.parse = parse_text, .format = format_text};

	if (!zone)
		elog(ERROR, "time zone \"%s\" is no longer known", name);
	if (!is_utc(zone))
	{
		clock.arg = zone;
		clock.to_local = to_local;
		clock.to_instant = to_instant;
		clock.next_change = next_change;
	}
	return clock;
}
