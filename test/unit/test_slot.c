/*
 * test_slot.c
 *		Do the numbers of slots order a bucket's points, and where does a level
 *		end?
 */
#include "core/layout/layout.h"
#include "tables.h"
#include "tap.h"

/* A zone whose summer begins and ends at 2 o'clock in UTC */
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

/* A bucket about a change of the clocks, or anywhere; or in a leap year */
static MtsTime
random_start(const MtsLayout *layout)
{
	const MtsTime near[] = {zone.from, zone.to,
							table_time(2012, 2, 29, 0, 0, 0),
							random_between(table_time(1800, 1, 1, 0, 0, 0),
										   table_time(2200, 1, 1, 0, 0, 0))};
	MtsTime t = near[random_below(4)] + random_between(-MTS_DAY, MTS_DAY);

	return mts_span_is_zero(layout->span) || random_below(4) == 0
			   ? t
			   : mts_clock_floor(&layout->clock, t, layout->span);
}

/* The slot of a random time; one that counts no time has a random key. */
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

/* The order of two slots level by level; a {column} slot counts nothing. */
static int
compare_slots(const MtsLayout *layout, const int64_t *a, const int64_t *b)
{
	for (int i = 0; i < layout->nslots; i++)
		if (layout->slots[i]->kind != MTS_STEP_COLUMN_KEY && a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	return 0;
}

/* A slot soon behind another one, at times the first of the next level */
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
	/* the days about the end of summer, too, one of which is longer */
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

/* The last key of a level is a slot's, the one behind it is none's. */
static void
check_end(const TestTable *table)
{
	const MtsLayout *layout = &table->layout;
	MtsTime start = random_start(layout), end, t;
	int64_t index[MTS_MAX_SLOTS];

	if (mts_span_is_zero(layout->span) ||
		!mts_layout_bucket_end(layout, start, &end))
		return;
	random_slot(layout, start, start, end, index);
	for (int level = layout->nslots - 1; level >= 0; level--)
	{
		int64_t first;
		bool counts = !mts_span_is_zero(layout->slots[level]->unit);

		if (mts_layout_slot_end(layout, start, index, level, &first) != counts)
			tap_fault("%s: level %d", table->spec->name, level);
		if (counts)
		{
			bool last, none;
			int64_t key = index[level];

			index[level] = first - 1;
			last = mts_layout_slot_time(layout, start, index, &t);
			index[level] = first;
			none = !mts_layout_slot_time(layout, start, index, &t);
			if (!last || !none || key >= first)
				tap_fault("%s: level %d of %lld ends before %lld",
						  table->spec->name, level, (long long) start,
						  (long long) first);
		}
		/* the levels around it are judged by its first slot */
		index[level] = layout->slots[level]->base;
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

/* How many keys a level has, with those of the levels around it */
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
	{"so does one that stands in an hour",
	 "v.{minute}.{second}",
	 {2013, 1, 1, 0},
	 false,
	 {59},
	 1,
	 60},
	{"the last 7 minutes of an hour are 4",
	 "v.{7 minutes}.{minute}",
	 {2013, 1, 1, 0},
	 false,
	 {8},
	 1,
	 4},
	{"keys that count from 5 end 5 later",
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
	{"and 28 in 2013", "v.{day:1}", {2013, 2, 1, 0}, false, {0}, 0, 29},
	{"a day has 24 hours",
	 "v.{day:1}.{hour}",
	 {2013, 3, 1, 0},
	 true,
	 {30},
	 1,
	 24},
	{"but 23 when summer begins",
	 "v.{day:1}.{hour}",
	 {2013, 3, 1, 0},
	 true,
	 {31},
	 1,
	 23},
	{"and 25 when it ends",
	 "v.{day}.{hour}",
	 {2013, 9, 30, 23},
	 true,
	 {26},
	 1,
	 25},
	{"there is no 31st of April",
	 "v.{day:1}.{hour}",
	 {2013, 4, 1, 0},
	 false,
	 {31},
	 1,
	 -1},
	{"an array's elements count nothing",
	 "v.{day}[]",
	 {2013, 4, 1, 0},
	 false,
	 {0},
	 1,
	 -1},
	{"nor do a column's keys",
	 "v.{type}.{second}",
	 {2013, 4, 1, 0},
	 false,
	 {0},
	 0,
	 -1},
	{"they leave the bucket to the slots below",
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
		int64_t end;

		open_fields("t", ends[i].path, &table);
		table.layout.clock = table_clock(ends[i].summer ? &zone : NULL);
		if (!mts_layout_slot_end(&table.layout,
								 table_time(c[0], c[1], c[2], c[3], 0, 0),
								 ends[i].index, ends[i].level, &end))
			end = -1;
		is_int(end, ends[i].end, ends[i].name);
	}
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
	test_all(&summer, check_numbers, "and in a zone with summer time");
	test_all(&utc, check_end, "a level ends behind its last slot, in UTC");
	test_all(&summer, check_end, "and in a zone with summer time");
	test_numbered();
	test_ends();
	return tap_done();
}
