/*
 * tables.c
 *		Declares every layout in the documentation's table, and a few more.
 *
 * Layouts are declared as by a user, so a test of any module also tests the
 * paths, formats and layouts below it.
 */
#include "tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "specs.h"

const int table_nspecs = sizeof(table_specs) / sizeof(table_specs[0]);

/* Convert a day and time in UTC to microseconds since 2000-01-01. */
MtsTime
table_time(int year, int month, int day, int hour, int minute, int second)
{
	struct tm tm = {.tm_year = year - 1900,
					.tm_mon = month - 1,
					.tm_mday = day,
					.tm_hour = hour,
					.tm_min = minute,
					.tm_sec = second};

	return (timegm(&tm) + MTS_UNIX_EPOCH / MTS_SECOND) * MTS_SECOND;
}

static MtsTime
zone_next_change(void *arg, MtsTime t)
{
	const TestZone *zone = arg;

	return t < zone->from ? zone->from
		   : t < zone->to ? zone->to
						  : MTS_TIME_MAX;
}

static struct tm
broken_down(MtsTime t)
{
	int64_t usecs = t - MTS_UNIX_EPOCH;
	time_t seconds = usecs / MTS_SECOND - (usecs % MTS_SECOND < 0);
	struct tm tm;

	gmtime_r(&seconds, &tm);
	return tm;
}

void
table_show_time(MtsTime t, char *text, size_t size)
{
	struct tm tm;

	if (t == MTS_TIME_MIN || t == MTS_TIME_MAX)
	{
		snprintf(text, size, "%s", t == MTS_TIME_MIN ? "-inf" : "inf");
		return;
	}
	tm = broken_down(t);
	snprintf(text, size, "%04d-%02d-%02d %02d:%02d:%02d.%06d",
			 tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour,
			 tm.tm_min, tm.tm_sec,
			 (int) (((t % MTS_SECOND) + MTS_SECOND) % MTS_SECOND));
}

static MtsTime
zone_to_local(void *arg, MtsTime t)
{
	const TestZone *zone = arg;

	return t >= zone->from && t < zone->to ? t + MTS_HOUR : t;
}

/*
 * As in PostgreSQL, a repeated hour means the later one, and a skipped hour
 * counts from the offset before the change.
 */
static MtsTime
zone_to_instant(void *arg, MtsTime local)
{
	const TestZone *zone = arg;

	return local - MTS_HOUR >= zone->from && local < zone->to
			   ? local - MTS_HOUR
			   : local;
}

/* The fields of a pattern: their places in a struct tm and their widths */
static int *
tm_field(struct tm *tm, const char **pattern, int *width)
{
	static const struct
	{
		const char *name;
		int width;
		size_t place;
	} fields[] = {
		{"YYYY", 4, offsetof(struct tm, tm_year)},
		{"FMMM", 0, offsetof(struct tm, tm_mon)},
		{"MM", 2, offsetof(struct tm, tm_mon)},
		{"DD", 2, offsetof(struct tm, tm_mday)},
		{"HH24", 2, offsetof(struct tm, tm_hour)},
		{"MI", 2, offsetof(struct tm, tm_min)},
		{"SS", 2, offsetof(struct tm, tm_sec)},
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (strncmp(*pattern, fields[i].name, strlen(fields[i].name)) == 0)
		{
			*pattern += strlen(fields[i].name);
			*width = fields[i].width;
			return (int *) ((char *) tm + fields[i].place);
		}
	return NULL;
}

static bool
clock_format(void *arg, const char *pattern, MtsTime t, char *text,
			 size_t size)
{
	struct tm tm = broken_down(arg ? zone_to_local(arg, t) : t);
	size_t len = 0;
	int width;
	int *field;

	tm.tm_year += 1900;
	tm.tm_mon++;
	while (*pattern && len < size)
		if ((field = tm_field(&tm, &pattern, &width)))
			len += snprintf(text + len, size - len, "%0*d", width, *field);
		else if (*pattern != '"')
			text[len++] = *pattern++;
		else
			pattern++;
	if (len >= size)
		return false;
	text[len] = '\0';
	return true;
}

/* Read at most width digits. */
static const char *
read_digits(const char *text, int width, int *n)
{
	const char *at = text;

	for (*n = 0; at < text + width && *at >= '0' && *at <= '9'; at++)
		*n = *n * 10 + (*at - '0');
	return at;
}

/* Text matches the pattern only if clock_format() reproduces it. */
static bool
clock_parse(void *arg, const char *pattern, const char *text, size_t len,
			MtsTime *t)
{
	struct tm tm = {.tm_year = 2000, .tm_mon = 1, .tm_mday = 1};
	char copy[64];
	char again[64];
	const char *at = pattern;
	const char *next = copy;
	int width;
	int *field;

	if (len >= sizeof(copy))
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	while (*at && *next)
		if ((field = tm_field(&tm, &at, &width)))
			next = read_digits(next, width ? width : 2, field);
		else if (*at++ != '"')
			next++;
	*t = table_time(tm.tm_year, tm.tm_mon, tm.tm_mday, tm.tm_hour, tm.tm_min,
					tm.tm_sec);
	if (arg)
		*t = zone_to_instant(arg, *t);
	return clock_format(arg, pattern, *t, again, sizeof(again)) &&
		   strlen(again) == len && memcmp(again, text, len) == 0;
}

/* Return the clock of a zone, or of UTC if zone is NULL. */
MtsClock
table_clock(const TestZone *zone)
{
	MtsClock clock = {.parse = clock_parse, .format = clock_format};

	if (zone)
	{
		clock.arg = (void *) zone;
		clock.to_local = zone_to_local;
		clock.to_instant = zone_to_instant;
		clock.next_change = zone_next_change;
	}
	return clock;
}

/* Parse a path into the table's text buffer. */
static bool
parse_path(const char *field, char **text, MtsPath *path, MtsError *error)
{
	char *buffer = *text;

	*text += strlen(field) + 1;
	return mts_path_parse(field, buffer, path, error);
}

static bool
declare_field(const char *name, const MtsFormat *format, char **text,
			  MtsField *field, MtsError *error)
{
	field->is_set = name != NULL;
	field->format = *format;
	return !name || parse_path(name, text, &field->path, error);
}

static bool
declare_column(const TestColumn *spec, char **text, MtsColumn *column,
			   MtsError *error)
{
	column->name = spec->name;
	column->role = spec->role;
	if (spec->missing)
	{
		column->missing.kind = strcmp(spec->missing, "null") == 0
								   ? MTS_MISSING_NULL
								   : MTS_MISSING_NUMBER;
		column->missing.number = strtod(spec->missing, NULL);
	}
	return parse_path(spec->field ? spec->field : spec->name, text,
					  &column->path, error) &&
		   mts_format_parse(spec->format ? spec->format : "date",
							&column->format, error);
}

/*
 * table_declare
 *		Build the layout of a declaration, as CREATE and the first use do.
 *
 * The layout points into *table, which must not move.
 */
bool
table_declare(const TestSpec *spec, TestTable *table, MtsError *error)
{
	MtsLayout *layout = &table->layout;
	char *text = table->text;
	MtsFormat format = {0};
	MtsFormat bounds = {0};
	int n = 0;

	memset(table, 0, sizeof(*table));
	table->spec = spec;
	layout->columns = table->columns;
	layout->containers = table->containers;
	layout->time_column = -1;
	layout->clock = table_clock(NULL);
	for (; n < TABLE_COLUMNS && spec->columns[n].name; n++)
	{
		if (!declare_column(&spec->columns[n], &text, &table->columns[n],
							error))
			return false;
		if (spec->columns[n].role == MTS_ROLE_TIME)
		{
			layout->time_column = n;
			bounds = table->columns[n].format;
		}
	}
	layout->ncolumns = n;
	if ((spec->bucket_time_format &&
		 !mts_format_parse(spec->bucket_time_format, &format, error)) ||
		!declare_field(spec->bucket_time_field, &format, &text,
					   &layout->bucket_time, error) ||
		!declare_field(spec->first_field, &bounds, &text, &layout->first,
					   error) ||
		!declare_field(spec->last_field, &bounds, &text, &layout->last, error))
		return false;
	if (spec->span)
		mts_span_parse(spec->span, strlen(spec->span), &layout->span);
	if (spec->grain)
		mts_span_parse(spec->grain, strlen(spec->grain), &table->grain);
	return mts_layout_build(layout, error);
}

/* Tell of each column whether it is a value of points. */
void
table_point_columns(const TestTable *table, bool *wanted)
{
	const MtsLayout *layout = &table->layout;

	for (int i = 0; i < layout->ncolumns; i++)
		wanted[i] = layout->columns[i].container >= 0 &&
					layout->columns[i].role != MTS_ROLE_SLOT &&
					i != layout->time_column;
}

/* Build a table of table_specs.  These never fail. */
void
table_open(int i, TestTable *table)
{
	MtsError error;

	if (!table_declare(&table_specs[i], table, &error))
	{
		printf("Bail out! %s: %s\n", table_specs[i].name, error.detail);
		exit(1);
	}
}
