/*
 * test_slot.c
 *		Proves that the numbers of slots order a bucket's points, and where
 *		each level ends.
 */
#include "core/layout/layout.h"
#include "tables.h"
#include "tap.h"

/* A zone whose summer time begins and ends at 2 o'clock in UTC */
static TestZone zone;

static void
open_fields(const char *time, const char *value, TestTable *table)
{
	TestSpec spec = {.columns = {{"ts", time, MTS_ROLE_TIME, NULL, NULL},
								 {"v", value, MTS_ROLE_KEY, NULL, NULL},
								 {"type", NULL, MTS_ROLE_KEY, NULL, NULL}}};
	MtsError error;

	if (!table_declare(&spec, table, &error))
		abort();
}

/*
 * Return a random bucket: near a change of the clocks, in a leap year, or
 * anywhere.
 */
static MtsTime
random_start(const MtsLayout *layout)
{
	const MtsTime near[] = {zone.from, zone.to,
							table_time(2012, 2, 29, 0, 0, 0),
							random_between(table_time(1800, 1, 1, 0, 0, 0),
										   table_time(2200, 1, 1, 0, 0, 0))};
	MtsTime t = near[random_below(4)] + random_between(-MTS_DAY, MTS_DAY);

	/* times beyond the unit from whose start keys count have no key */
	for (int i = 0; i < layout->nslots; i++)
		if (!mts_span_is_zero(layout->slots[i]->of))
			return mts_clock_floor(&layout->clock, t, layout->span);
	return mts_span_is_zero(layout->span) || random_below(4) == 0
			   ? t
			   : mts_clock_floor(&layout->clock, t, layout->span);
}

/*
 * Return the slot of a random time.  A slot that doesn't count time has a
 * random key.
 */
static MtsTime
random_slot(const MtsLayout *layout, MtsTime start, MtsTime from, MtsTime to,
			int64_t *index)
{
	MtsTime t = to > from ? random_between(from, to) : start;
	MtsTime exact = start;

	memset(index, 0, MTS_MAX_SLOTS * sizeof(int64_t));
	if (!mts_span_is_zero(layout->span) &&
		!mts_layout_slot_index(layout, start, t, index, &exact))
		tap_fault("no slot of %lld in %lld", (long long) t, (long long) start);
	for (int i = 0; i < layout->nslots; i++)
		if (layout->slots[i]->kind == MTS_STEP_ELEMENT)
			index[i] = random_below(random_below(2) ? 3 : MTS_MAX_ELEMENTS);
	return exact;
}

/* Compare two slots level by level.  A {column} slot does not count. */
static int
compare_slots(const MtsLayout *layout, const int64_t *a, const int64_t *b)
{
	for (int i = 0; i < layout->nslots; i++)
		if (layout->slots[i]->kind != MTS_STEP_COLUMN_KEY && a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	return 0;
}

/*
 * Choose a slot within two units after t, or anywhere, and return its time.
 */
static MtsTime
near_slot(const MtsLayout *layout, MtsTime start, MtsTime end, MtsTime t,
		  int64_t *index)
{
	int64_t unit = layout->slots[layout->nslots - 1]->unit.usecs;

	return unit > 0 && t + 2 * unit < end
			   ? random_slot(layout, start, t, t + 2 * unit, index)
			   : random_slot(layout, start, start, end, index);
}

static void
check_numbers(const TestTable *table)
{
	const MtsLayout *layout = &table->layout;
	MtsTime start = random_start(layout), end = start;
	int64_t a[MTS_MAX_SLOTS], b[MTS_MAX_SLOTS];
	MtsTime s, t;
	int64_t m, n;
	int order;

	if (!mts_span_is_zero(layout->span) &&
		!mts_layout_bucket_end(layout, start, &end))
		return;
	/*
	 * include the days around the end of summer time, one of which is longer
	 */
	s = start < zone.to && zone.to < end && random_below(2)
			? near_slot(layout, start, end,
						zone.to + random_below(MTS_DAY / 2) * 2, a)
			: random_slot(layout, start, start, end, a);
	t = random_below(2) ? random_slot(layout, start, start, end, b)
						: near_slot(layout, start, end, s, b);
	m = mts_layout_slot_number(layout, a);
	n = mts_layout_slot_number(layout, b);
	order = compare_slots(layout, a, b);
	if (m < 0 || n < 0 || (m > n) - (m < n) != order)
		tap_fault("%s: %lld and %lld of %lld have the numbers %lld and %lld",
				  table->spec->name, (long long) s, (long long) t,
				  (long long) start, (long long) m, (long long) n);
}

/* Return whether a key of a level, with the first ones below, is a slot. */
static bool
is_slot(const MtsLayout *layout, MtsTime start, const int64_t *keys, int level,
		int64_t key)
{
	int64_t index[MTS_MAX_SLOTS], end;
	MtsTime t;

	memcpy(index, keys, sizeof(index));
	index[level] = key;
	for (int i = level + 1; i < layout->nslots; i++)
		if (mts_path_step_is_unit(layout->slots[i]) &&
			!mts_layout_keys(layout, start, index, i, &index[i], &end))
			return false;
	return mts_layout_slot_time(layout, start, index, &t);
}

/* The last key of a level belongs to a slot, and the key after it does not. */
static void
check_end(const TestTable *table)
{
	const MtsLayout *layout = &table->layout;
	MtsTime start = random_start(layout), end;
	int64_t index[MTS_MAX_SLOTS];

	if (mts_span_is_zero(layout->span) ||
		!mts_layout_bucket_end(layout, start, &end))
		return;
	random_slot(layout, start, start, end, index);
	for (int level = layout->nslots - 1; level >= 0; level--)
	{
		int64_t begin = 0, first;
		bool counts = !mts_span_is_zero(layout->slots[level]->unit);

		if (mts_layout_keys(layout, start, index, level, &begin, &first) !=
			counts)
			tap_fault("%s: level %d", table->spec->name, level);
		if (counts && (index[level] < begin || index[level] >= first ||
					   is_slot(layout, start, index, level, begin - 1) ||
					   !is_slot(layout, start, index, level, begin) ||
					   !is_slot(layout, start, index, level, first - 1) ||
					   is_slot(layout, start, index, level, first)))
			tap_fault("%s: level %d of %lld does not end before %lld",
					  table->spec->name, level, (long long) start,
					  (long long) first);
	}
}

static void
test_all(const MtsClock *clock, void (*check)(const TestTable *),
		 const char *name)
{
	for (int i = 0; i < table_nspecs; i++)
	{
		TestTable table;

		table_open(i, &table);
		table.layout.clock = *clock;
		if (table.layout.nslots == 0)
			continue;
		ok(mts_layout_slots_are_numbered(&table.layout),
		   "slots have numbers: %s", table_specs[i].name);
		for (int turn = 0; turn < 2000; turn++)
			check(&table);
	}
	tap_claim(name);
}

static void
test_numbered(void)
{
	static const struct
	{
		const char *path;
		bool numbered;
	} cases[] = {
		{"v[]", true},
		{"v[].w[]", true},
		{"v[].w[].x[]", false},
		{"v.{month}.{day}.{hour}.{minute}.{second}.{millisecond}", true},
		{"v.{type}.{second}", true},
		{"v.{day}[].{millisecond}", true},
		{"v.{day}[].{millisecond}[]", false},
		{"v.{hour}.{second}[].w[]", false}, /* 63 bits */
	};
	TestTable table;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		open_fields("t", cases[i].path, &table);
		ok(mts_layout_slots_are_numbered(&table.layout) == cases[i].numbered,
		   "62 bits %s the slots of %s",
		   cases[i].numbered ? "number" : "don't number", cases[i].path);
	}
}

/* Count the keys of a level, given the keys of the enclosing levels. */
static const struct
{
	const char *name;
	const char *path;
	int start[4]; /* year, month, day, hour */
	bool summer;
	int64_t index[2];
	int level;
	int64_t end; /* -1: none */
} ends[] = {
	{"a minute ends with second 59",
	 "v.{second}",
	 {2016, 12, 31, 23},
	 false,
	 {0},
	 0,
	 60},
	{"a minute within an hour ends with second 59",
	 "v.{minute}.{second}",
	 {2013, 1, 1, 0},
	 false,
	 {59},
	 1,
	 60},
	{"the last slot of 7 minutes in an hour has 4",
	 "v.{7 minutes}.{minute}",
	 {2013, 1, 1, 0},
	 false,
	 {8},
	 1,
	 4},
	{"keys that count from 5 end 5 higher",
	 "v.{13 seconds:5}",
	 {2013, 1, 1, 0},
	 false,
	 {0},
	 0,
	 10},
	{"February has 29 days in 2012",
	 "v.{day:1}",
	 {2012, 2, 1, 0},
	 false,
	 {0},
	 0,
	 30},
	{"February has 28 days in 2013",
	 "v.{day:1}",
	 {2013, 2, 1, 0},
	 false,
	 {0},
	 0,
	 29},
	{"a day has 24 hours",
	 "v.{day:1}.{hour}",
	 {2013, 3, 1, 0},
	 true,
	 {30},
	 1,
	 24},
	{"a day has 23 hours when summer time begins",
	 "v.{day:1}.{hour}",
	 {2013, 3, 1, 0},
	 true,
	 {31},
	 1,
	 23},
	{"a day has 25 hours when summer time ends",
	 "v.{day}.{hour}",
	 {2013, 9, 30, 23},
	 true,
	 {26},
	 1,
	 25},
	{"April has no 31st day",
	 "v.{day:1}.{hour}",
	 {2013, 4, 1, 0},
	 false,
	 {31},
	 1,
	 -1},
	{"an array's elements don't count time",
	 "v.{day}[]",
	 {2013, 4, 1, 0},
	 false,
	 {0},
	 1,
	 -1},
	{"a column's keys don't count time",
	 "v.{type}.{second}",
	 {2013, 4, 1, 0},
	 false,
	 {0},
	 0,
	 -1},
	{"slots below a column's keys count from the bucket's time",
	 "v.{type}.{second}",
	 {2013, 4, 1, 0},
	 false,
	 {0},
	 1,
	 60},
};

static void
test_ends(void)
{
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
	{
		const int *c = ends[i].start;
		TestTable table;
		int64_t first, end;

		open_fields("t", ends[i].path, &table);
		table.layout.clock = table_clock(ends[i].summer ? &zone : NULL);
		if (!mts_layout_keys(&table.layout,
							 table_time(c[0], c[1], c[2], c[3], 0, 0),
							 ends[i].index, ends[i].level, &first, &end))
			end = -1;
		is_int(end, ends[i].end, ends[i].name);
	}
}

/* A zone whose clocks repeat the day before 2013-01-16 */
static MtsTime
repeated_day_to_local(void *arg, MtsTime t)
{
	return t < *(const MtsTime *) arg ? t : t - MTS_DAY;
}

static MtsTime
repeated_day_to_instant(void *arg, MtsTime local)
{
	return local < *(const MtsTime *) arg ? local : local + MTS_DAY;
}

static void
test_repeated_day(void)
{
	MtsTime start = table_time(2013, 1, 1, 0, 0, 0);
	MtsTime change = start + 15 * MTS_DAY;
	int64_t last[2] = {14, 47}, next[2] = {15, 0}, first, end;
	TestTable table;
	MtsTime t;

	open_fields("t", "v.{day}.{hour}", &table);
	table.layout.clock = (MtsClock){.arg = &change,
									.to_local = repeated_day_to_local,
									.to_instant = repeated_day_to_instant};
	ok(mts_layout_keys(&table.layout, start, last, 1, &first, &end) &&
		   end == 48,
	   "a repeated day has 48 hours");
	ok(mts_layout_slot_time(&table.layout, start, last, &t) &&
		   t == change + 23 * MTS_HOUR,
	   "the last hour of a repeated day");
	ok(mts_layout_slot_number(&table.layout, last) <
		   mts_layout_slot_number(&table.layout, next),
	   "numbers order the slots where clocks repeat a day");
}

int
main(void)
{
	MtsClock utc = table_clock(NULL);
	MtsClock summer = table_clock(&zone);

	zone = (TestZone){table_time(2013, 3, 31, 2, 0, 0),
					  table_time(2013, 10, 27, 2, 0, 0)};
	tap_seed();
	test_all(&utc, check_numbers,
			 "numbers order the slots as keys do, in UTC");
	test_all(&summer, check_numbers,
			 "numbers order the slots as keys do, in a zone with summer time");
	test_all(&utc, check_end, "a level ends after its last slot, in UTC");
	test_all(&summer, check_end,
			 "a level ends after its last slot, in a zone with summer time");
	test_numbered();
	test_ends();
	test_repeated_day();
	return tap_done();
}
