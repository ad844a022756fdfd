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
#include "core/layout/slot_key.h"
#include "tables.h"

/* Room for a printed path: no unit has so long a name */
#define MAX_TEXT (MTS_MAX_PATH * 2 + MTS_MAX_STEPS * MTS_MAX_NUMBERS * 48)

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

/* Write the texts and numbers of a key, whose last number has the unit. */
static void
add_key(Text *text, const MtsStep *step)
{
	const char *literal = step->name;
	MtsSpan unit = step->unit;

	for (int i = 1; i < step->nnumbers; i++)
		unit.usecs *= step->numbers[i].count;
	for (int i = 0; i <= step->nnumbers; i++)
	{
		const MtsKeyNumber *number = &step->numbers[i];

		for (const char *c = literal; *c; c++)
			add(text, strchr(".{[\\", *c) ? "\\%c" : "%c", *c);
		if (i == step->nnumbers)
			return;
		literal += strlen(literal) + 1;
		add_unit(text, unit, 0);
		text->len--; /* the brace */
		if (!mts_span_is_zero(step->of))
			add(text, " of %s",
				step->of.months                ? "month"
				: step->of.days                ? "day"
				: step->of.usecs == MTS_HOUR   ? "hour"
				: step->of.usecs == MTS_MINUTE ? "minute"
											   : "second");
		add(text, ":%0*lld}", number->width, (long long) number->first);
		if (i + 1 < step->nnumbers)
			unit.usecs /= step->numbers[i + 1].count;
	}
}

/* The plain number of a key that counts from the start of a unit */
static MtsStep
with_number(const MtsStep *step)
{
	MtsStep with = *step;

	with.name = step->name ? step->name : "\0";
	with.nnumbers = 1;
	with.numbers[0].first = (int32_t) step->base;
	return with;
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
		{
			MtsStep with = step->nnumbers > 0 ? *step : with_number(step);

			add_key(text, &with);
		}
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

/* Each key of a slot is read as the index that writes it. */
static void
check_keys(const MtsPath *path)
{
	for (int i = 0; i < path->nsteps; i++)
		for (int64_t n = 0; n < 100000; n = n * 3 + 1)
		{
			const MtsStep *step = &path->steps[i];
			char buffer[MTS_MAX_KEY];
			const char *key;
			size_t len;
			int64_t index;

			if (step->kind != MTS_STEP_UNIT_KEY)
				break;
			len = mts_slot_key_text(step, step->base + n, buffer, &key);
			fuzz_check(mts_slot_key_index(step, key, len, &index) ==
							   MTS_KEYTEXT_NUMBER &&
						   index == step->base + n,
					   "key %s is another", key);
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
	check_keys(&path);
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
	static const char *const names[] =
		{"date",          "epoch",         "epoch_ms",        "epoch_us",
		 "epoch_ns",      "ticks",         "text:YYYY-MM-DD", "iso8601",
		 "offset:second", "oid",           "timestamp",       "text:epoch",
		 "text:epoch_ms", "text:epoch_us", "text:epoch_ns"};
	MtsFormat format;
	MtsClock clock = table_clock(NULL);
	MtsError error;
	MtsElementCursor cursor;
	MtsElement element;
	MtsTime t;

	if (!mts_format_parse(names[data[0] % (sizeof(names) / sizeof(names[0]))],
						  &format, &error) ||
		!mts_element_open(&cursor, data + 1, size - 1) ||
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
