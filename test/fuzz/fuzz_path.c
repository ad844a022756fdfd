/*
 * fuzz_path.c
 *		Asserts that any text of an option is either parsed or refused with a
 *		reason.
 *
 * The first byte chooses the parser: of paths, of formats, or of patterns of
 * rolling sets.  The result is printed and must parse to the same.  A format
 * must decode what it encodes, and a period of a set must contain the times
 * that have its name.
 */
#include "fuzz.h"

#include <ctype.h>

#include "core/time/format.h"
#include "core/layout/rolling_name.h"
#include "tables.h"

/* Room for a printed path: no unit has so long a name */
#define MAX_TEXT (MTS_MAX_PATH * 2 + MTS_MAX_STEPS * 48)

typedef struct Text
{
	char text[MAX_TEXT];
	size_t len;
} Text;

static void __attribute__((format(printf, 2, 3)))
add(Text *text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	text->len +=
		vsnprintf(text->text + text->len, MAX_TEXT - text->len, format, args);
	va_end(args);
	fuzz_check(text->len < MAX_TEXT, "a path grows");
}

static void
add_unit(Text *text, MtsSpan unit, int64_t base)
{
	static const struct
	{
		const char *name;
		int64_t usecs;
	} units[] = {{"hours", MTS_HOUR},
				 {"minutes", MTS_MINUTE},
				 {"seconds", MTS_SECOND},
				 {"milliseconds", 1000}};
	int i = 0;

	if (unit.months != 0)
		add(text, "{%d months", unit.months);
	else if (unit.days != 0)
		add(text, "{%d days", unit.days);
	else
	{
		while (unit.usecs % units[i].usecs != 0)
			i++;
		add(text, "{%lld %s", (long long) (unit.usecs / units[i].usecs),
			units[i].name);
	}
	add(text, base != 0 ? ":%lld}" : "}", (long long) base);
}

static void
write_path(const MtsPath *path, Text *text)
{
	*text = (Text){"", 0};
	if (path->nsteps == 0)
		add(text, "*");
	for (int i = 0; i < path->nsteps; i++)
	{
		const MtsStep *step = &path->steps[i];

		if (i > 0 && !mts_path_step_is_array(step))
			add(text, ".");
		if (step->kind == MTS_STEP_COLUMN_KEY)
			add(text, "{%s}", step->name);
		else if (step->kind == MTS_STEP_UNIT_KEY)
			add_unit(text, step->unit, step->base);
		else if (step->kind == MTS_STEP_ELEMENT)
			add(text, "[]");
		else if (step->kind == MTS_STEP_UNIT_INDEX)
		{
			add(text, "[");
			add_unit(text, step->unit, step->base);
			add(text, "]");
		}
		else
			for (const char *c = step->name; *c; c++)
				add(text,
					strchr(".{[\\", *c) || (isdigit((unsigned char) *c) &&
											!step->may_be_index)
						? "\\%c"
						: "%c",
					*c);
	}
}

static void
check_path(const char *text)
{
	static char buffer[MTS_MAX_PATH];
	static char second[MAX_TEXT];
	static MtsPath path, again;
	static Text written;
	char dotted[MTS_MAX_PATH];
	MtsError error;

	/* the caller ensures this length */
	if (strlen(text) >= MTS_MAX_PATH)
		return;
	if (!mts_path_parse(text, buffer, &path, &error))
	{
		fuzz_check(error.detail[0], "no reason");
		return;
	}
	fuzz_check(mts_path_addressable_steps(&path) <= path.nsteps,
			   "no such step");
	write_path(&path, &written);
	fuzz_check(written.len >= MTS_MAX_PATH ||
				   mts_path_parse(written.text, second, &again, &error),
			   "%s is written as %s: %s", text, written.text, error.detail);
	fuzz_check(written.len >= MTS_MAX_PATH ||
				   (again.nsteps == path.nsteps &&
					again.nslots == path.nslots &&
					mts_path_starts_with(&again, &path, path.nsteps)),
			   "%s is not %s", text, written.text);
	mts_path_dotted(path.steps, mts_path_leading_names(&path), dotted,
					sizeof(dotted));
}

/* Times that are far apart, and times that are close */
static MtsTime
some_time(uint64_t bits)
{
	static const MtsTime least = INT64_C(-211813488000000000);
	static const MtsTime end = INT64_C(9223371331200000000);
	uint64_t span = bits & 1 ? (uint64_t) end - (uint64_t) least
							 : (uint64_t) 400 * 365 * MTS_DAY;

	return (MtsTime) ((bits & 1 ? (uint64_t) least : 0) + (bits >> 1) % span);
}

/* The stored value must decode to the time that encoding reports. */
static void
check_format(const char *text, uint64_t bits)
{
	static const MtsRange whole = {MTS_TIME_MIN, MTS_TIME_MAX};
	MtsFormat format;
	MtsError error;
	MtsClock clock = table_clock(NULL);
	MtsTime t = some_time(bits);
	MtsTime stored, again;
	bson_value_t value;
	char room[MTS_MAX_TIME_TEXT];
	bson_t doc = BSON_INITIALIZER;
	MtsElementCursor cursor;
	MtsElement element;

	if (!mts_format_parse(text, &format, &error))
		return;
	mts_format_bounds(&format, &clock, whole, &doc);
	bson_reinit(&doc);
	mts_format_bounds(&format, &clock, (MtsRange){t, t + 1}, &doc);
	bson_reinit(&doc);
	if (mts_format_encode(&format, &clock, t, t - t % MTS_DAY, &value, room,
						  &stored, &error))
	{
		bson_append_value(&doc, "t", -1, &value);
		mts_element_open(&cursor, bson_get_data(&doc), doc.len);
		mts_element_next(&cursor, &element);
		fuzz_check(mts_format_decode(&format, &clock, &element,
									 t - t % MTS_DAY, false, &again,
									 &error) == MTS_DECODED &&
					   again == stored && stored <= t,
				   "%s: %lld is stored as %lld and read as %lld", text,
				   (long long) t, (long long) stored, (long long) again);
	}
	bson_destroy(&doc);
}

/* Any value decodes to a time in PostgreSQL's range or is refused. */
static void
check_decoded(const uint8_t *data, size_t size)
{
	MtsFormat format = {.kind = data[0] % (MTS_FORMAT_OID + 1),
						.pattern = "YYYY-MM-DD",
						.unit = {0, 0, MTS_SECOND}};
	MtsClock clock = table_clock(NULL);
	MtsError error;
	MtsElementCursor cursor;
	MtsElement element;
	MtsTime t;

	if (!mts_element_open(&cursor, data + 1, size - 1) ||
		mts_element_next(&cursor, &element) != MTS_NEXT_OK)
		return;
	for (int n = 0; n < 2; n++)
		if (mts_format_decode(&format, &clock, &element, -data[0] * MTS_DAY, n,
							  &t, &error) == MTS_DECODED)
			fuzz_check(t >= some_time(1), "a time before all times");
}

static void
check_set(const char *pattern, uint64_t bits)
{
	MtsRollingName set;
	MtsError error;
	MtsPeriod period;
	MtsTime t = some_time(bits);
	char *name;

	if (!mts_rolling_name_parse(pattern, &set, &error))
	{
		fuzz_check(error.detail[0], "no reason");
		return;
	}
	name = malloc(mts_rolling_name_size(&set) * 4);
	mts_rolling_name_regex(&set, name);
	if (mts_rolling_name_format(&set, NULL, t, name) && set.nfields > 0)
		fuzz_check(mts_rolling_name_period(&set, NULL, name, &period) &&
					   mts_rolling_name_period_contains(&period, NULL, t),
				   "%s is of another time", name);
	(void) mts_rolling_name_period(&set, NULL, pattern, &period);
	free(name);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;
	uint64_t bits = 0;

	if (size < 9 || size > FUZZ_MAX)
		return 0;
	memcpy(&bits, data + 1, sizeof(bits));
	text = calloc(1, size - 8);
	memcpy(text, data + 9, size - 9);
	switch (data[0] % 4)
	{
		case 0:
			check_path(text);
			break;
		case 1:
			check_format(text, bits);
			break;
		case 2:
			check_set(text, bits);
			break;
		default:
			if (size > 10)
				check_decoded(data + 9, size - 9);
	}
	free(text);
	return 0;
}
