/*
 * test_layout.c
 *		Proves that slot and time are inverses, that a layout without some
 *		containers is like one that is declared so, and that wrong layouts
 *		are refused.
 */
#include "core/layout/layout.h"
#include "tables.h"
#include "tap.h"

/* Instants at which calendars are error-prone */
static const int corners[][6] = {
	{1969, 12, 31, 23, 59, 59}, {1970, 1, 1, 0, 0, 0},
	{1900, 2, 28, 23, 0, 0},    {2000, 2, 29, 12, 0, 0},
	{2012, 2, 29, 23, 59, 59},  {1999, 12, 31, 23, 59, 59},
	{2016, 12, 31, 23, 59, 59}, {2012, 6, 30, 23, 59, 59},
	{2013, 1, 31, 23, 59, 59},  {2013, 3, 31, 2, 30, 0},
	{2013, 10, 27, 1, 30, 0},   {2100, 2, 28, 23, 59, 59},
};

#define NCORNERS ((int64_t) (sizeof(corners) / sizeof(corners[0])))

static MtsTime
random_time(void)
{
	const int *c = corners[random_below(NCORNERS)];
	int64_t near = random_below(4);

	if (near == 0)
		return random_between(table_time(1800, 1, 1, 0, 0, 0),
							  table_time(2200, 1, 1, 0, 0, 0));
	return table_time(c[0], c[1], c[2], c[3], c[4], c[5]) +
		   (near == 1 ? random_between(-2, 3) * MTS_SECOND
					  : random_between(-MTS_DAY, MTS_DAY));
}

/* Compute the slot of a time, the slot's time, and that time's slot. */
static void
check_inverse(const MtsLayout *layout, const char *name, MtsTime start,
			  MtsTime t)
{
	int64_t index[MTS_MAX_SLOTS] = {0};
	int64_t again[MTS_MAX_SLOTS] = {0};
	MtsTime exact = 0, back = 0, end = 0;
	bool inside =
		mts_layout_bucket_end(layout, start, &end) && t >= start && t < end;
	const MtsStep *inner = layout->slots[layout->nslots - 1];

	if (layout->nslots == 0)
		return;
	if (mts_layout_slot_index(layout, start, t, index, &exact) != inside)
		tap_fault("%s: %lld in the bucket of %lld", name, (long long) t,
				  (long long) start);
	if (!inside)
		return;
	if (!mts_layout_slot_time(layout, start, index, &back) || back != exact ||
		exact > t)
		tap_fault("%s: start %lld, time %lld, slot time %lld", name,
				  (long long) start, (long long) t, (long long) back);
	if (!mts_layout_slot_index(layout, start, exact, again, &back) ||
		memcmp(index, again, sizeof(index)) != 0 || back != exact)
		tap_fault("%s: the slot of its own time %lld", name,
				  (long long) exact);
	/* a slot is never longer than its unit */
	if (inner->unit.usecs > 0 && t - exact >= inner->unit.usecs)
		tap_fault("%s: %lld is past the slot of %lld", name, (long long) t,
				  (long long) exact);
}

static void
test_inverse(const MtsClock *clock, const char *name)
{
	char text[128];

	for (int i = 0; i < table_nspecs; i++)
	{
		TestTable table;
		MtsLayout *layout = &table.layout;
		MtsTime end;

		table_open(i, &table);
		layout->clock = *clock;
		/*
		 * an array without a span accepts any time, and its slots don't count
		 * time
		 */
		if (layout->time_kind == MTS_TIME_FLAT ||
			mts_span_is_zero(layout->span))
			continue;
		for (int turn = 0; turn < 3000; turn++)
		{
			MtsTime t = random_time();
			MtsTime start =
				turn % 3 ? mts_clock_floor(clock, t, layout->span) : t;

			if (turn % 5 == 0)
				start -= random_below(MTS_HOUR);
			/* times beyond the unit from whose start keys count have no key */
			for (int slot = 0; slot < layout->nslots; slot++)
				if (!mts_span_is_zero(layout->slots[slot]->of))
					start = mts_clock_floor(clock, t, layout->span);
			check_inverse(layout, table_specs[i].name, start, t);
			if (mts_layout_bucket_end(layout, start, &end) && end > start)
				check_inverse(layout, table_specs[i].name, start,
							  random_between(start, end));
		}
	}
	snprintf(text, sizeof(text), "slot and time are inverses %s", name);
	tap_claim(text);
}

static void
open_fields(const char *time, const char *value, TestTable *table)
{
	TestSpec *spec = calloc(1, sizeof(TestSpec));
	MtsError error;

	spec->columns[0] = (TestColumn){"ts", time, MTS_ROLE_TIME, NULL, NULL};
	spec->columns[1] = (TestColumn){"v", value, MTS_ROLE_KEY, NULL, NULL};
	if (!table_declare(spec, table, &error))
		abort();
	free(spec);
}

static void
test_slots(void)
{
	TestTable table;
	MtsTime start = table_time(2016, 12, 31, 23, 59, 0), t = 0;
	int64_t index[MTS_MAX_SLOTS] = {59};

	open_fields("t", "v.{second}", &table);
	ok(mts_layout_slot_time(&table.layout, start, index, &t) &&
		   t == start + 59 * MTS_SECOND,
	   "the last second of a minute");
	index[0] = 60;
	ok(!mts_layout_slot_time(&table.layout, start, index, &t),
	   "a minute has no key 60, even before a leap second");
	index[0] = -1;
	ok(!mts_layout_slot_time(&table.layout, start, index, &t),
	   "a minute has no negative key");
	index[0] = INT64_MAX;
	ok(!mts_layout_slot_time(&table.layout, start, index, &t),
	   "a minute has no key INT64_MAX");
	ok(!mts_layout_slot_index(&table.layout, start, start - 1, index, &t) &&
		   !mts_layout_slot_index(&table.layout, start, start + MTS_MINUTE,
								  index, &t),
	   "a time outside of the bucket has no slot");

	open_fields("t", "v.{minute}.{second}", &table);
	index[0] = 5;
	index[1] = 60;
	ok(!mts_layout_slot_time(&table.layout, start, index, &t),
	   "a minute within an hour has no key 60");

	open_fields("m", "d.{day:1}.{hour}", &table);
	start = table_time(2013, 2, 1, 0, 0, 0);
	index[0] = 28;
	index[1] = 23;
	ok(mts_layout_slot_time(&table.layout, start, index, &t) &&
		   t == table_time(2013, 2, 28, 23, 0, 0),
	   "February 28th");
	index[0] = 29;
	ok(!mts_layout_slot_time(&table.layout, start, index, &t),
	   "there is no February 29th in 2013");
	index[0] = 0;
	ok(!mts_layout_slot_time(&table.layout, start, index, &t),
	   "days that count from 1 have no key 0");
	start = table_time(2012, 2, 1, 0, 0, 0);
	index[0] = 29;
	ok(mts_layout_slot_time(&table.layout, start, index, &t) &&
		   t == table_time(2012, 2, 29, 23, 0, 0),
	   "there is a February 29th in 2012");

	/* slots that don't count time have the bucket's time */
	open_fields("t", "v[]", &table);
	ok(mts_layout_slot_time(&table.layout, start, index, &t) && t == start,
	   "a slot that doesn't count time has the bucket's time");
	ok(mts_layout_slot_index(&table.layout, start, start, index, &t) &&
		   t == start,
	   "the bucket's time has that slot");
}

static void
test_spans(void)
{
	TestTable table;
	MtsTime start = table_time(2013, 1, 31, 0, 0, 0), end;
	MtsRange range;

	open_fields("t", "v.{36 hours}", &table);
	ok(mts_layout_bucket_end(&table.layout, start, &end) &&
		   end >= start + 36 * MTS_HOUR,
	   "the span encloses a slot that is longer than a day");
	open_fields("t", "v.{day}", &table);
	ok(mts_layout_bucket_end(&table.layout, start, &end) &&
		   end == table_time(2013, 2, 28, 0, 0, 0),
	   "a month after January 31st");
	open_fields("t", "v.{second}", &table);
	range = mts_layout_bucket_range(&table.layout,
									(MtsRange){start, start + MTS_HOUR});
	ok(range.from == start - MTS_MINUTE + MTS_SECOND &&
		   range.to == start + MTS_HOUR,
	   "a minute's bucket reaches 59 seconds further");
	range = mts_layout_bucket_range(&table.layout,
									(MtsRange){MTS_TIME_MIN, MTS_TIME_MAX});
	ok(range.from == MTS_TIME_MIN && range.to == MTS_TIME_MAX,
	   "open ends of a range stay open");
}

typedef struct Refusal
{
	const char *want;
	TestSpec spec;
} Refusal;

#define T MTS_ROLE_TIME
#define K MTS_ROLE_KEY

static const Refusal refusals[] = {
	{"The slots of column \"b\" are not those of the columns before it.",
	 {.columns = {{"t", NULL, T, NULL, NULL},
				  {"a", "a.{second}", K, NULL, NULL},
				  {"b", "b.{minute}", K, NULL, NULL}}}},
	{"The slots of column \"b\" are not those of the columns before it.",
	 {.columns = {{"t", NULL, T, NULL, NULL},
				  {"a", "a.{second}", K, NULL, NULL},
				  {"b", "b.{second:1}", K, NULL, NULL}}}},
	{"The slots of column \"b\" are not those of the columns before it.",
	 {.columns = {{"t", NULL, T, NULL, NULL},
				  {"a", "a.{second}", K, NULL, NULL},
				  {"b", "b[{second}]", K, NULL, NULL}}}},
	{"Column \"a\" has role \"attribute\", but its path has a slot, so it belongs to a point, not to the bucket.",
	 {.columns = {{"t", NULL, T, NULL, NULL},
				  {"a", "a.{second}", MTS_ROLE_ATTRIBUTE, NULL, NULL}}}},
	{"The slot {typ} is not a unit, and the foreign table has no column \"typ\".",
	 {.columns = {{"t", NULL, T, NULL, NULL},
				  {"a", "a.{typ}", K, NULL, NULL}}}},
	{"Column \"t\" holds the keys of the slot {t}, so it cannot be the time or an attribute, have a path with slots or hold the keys of another slot.",
	 {.columns = {{"t", NULL, T, NULL, NULL}, {"a", "a.{t}", K, NULL, NULL}}}},
	{"Column \"a\" holds the keys of the slot {a}, so it cannot be the time or an attribute, have a path with slots or hold the keys of another slot.",
	 {.columns = {{"t", NULL, T, NULL, NULL}, {"a", "a.{a}", K, NULL, NULL}}}},
	{"Column \"k\" holds the keys of the slot {k}, so it cannot be the time or an attribute, have a path with slots or hold the keys of another slot.",
	 {.columns = {{"t", NULL, T, NULL, NULL},
				  {"k", NULL, MTS_ROLE_ATTRIBUTE, NULL, NULL},
				  {"a", "a.{k}.{second}", K, NULL, NULL}}}},
	{"Column \"k\" holds the keys of the slot {k}, so it cannot be the time or an attribute, have a path with slots or hold the keys of another slot.",
	 {.columns = {{"t", NULL, T, NULL, NULL},
				  {"k", NULL, K, NULL, NULL},
				  {"a", "a.{k}.{k}", K, NULL, NULL}}}},
	{"The foreign table has no time column.",
	 {.columns = {{"a", "a.{second}", K, NULL, NULL}}}},
	{"Column \"t\" has an offset as format, but is not the time in a point.",
	 {.columns = {{"t", NULL, T, "offset:second", NULL},
				  {"a", "a.{second}", K, NULL, NULL}}}},
	{"Column \"t\" has an offset as format, but is not the time in a point.",
	 {.columns = {{"t", NULL, T, "offset:second", NULL},
				  {"a", NULL, K, NULL, NULL}}}},
	{"Column \"t\" is an offset from the bucket's time, but no option says where that is.",
	 {.columns = {{"t", "p[].t", T, "offset:second", NULL},
				  {"a", "p[].a", K, NULL, NULL}}}},
	{"Column \"t\" is a time of the day of the bucket's time, but no option says where that is.",
	 {.columns = {{"t", "p[].t", T, "time:HH24", NULL},
				  {"a", "p[].a", K, NULL, NULL}}}},
	{"Column \"t\" is a time of day, but a bucket does not have the points of one day.",
	 {.columns = {{"t", "p[].t", T, "time:HH24", NULL},
				  {"a", "p[].a", K, NULL, NULL}},
	  .bucket_time_field = "b",
	  .span = "hour"}},
	{"Column \"a\" has an offset as format, but is not the time in a point.",
	 {.columns = {{"t", "p[].t", T, NULL, NULL},
				  {"a", "p[].a", K, "offset:second", NULL}},
	  .bucket_time_field = "b",
	  .span = "day"}},
	{"Column \"a\" has a time of day as format, but is not the time in a point.",
	 {.columns = {{"t", NULL, T, NULL, NULL},
				  {"a", NULL, K, "time:HH24:MI", NULL}}}},
	{"Option \"bucket_time_field\" has no meaning, because column \"t\" is the bucket's time.",
	 {.columns = {{"t", NULL, T, NULL, NULL},
				  {"a", "a.{second}", K, NULL, NULL}},
	  .bucket_time_field = "b"}},
	{"Option \"bucket_time_field\" has no meaning, because the table has no buckets.",
	 {.columns = {{"t", NULL, T, NULL, NULL}, {"a", NULL, K, NULL, NULL}},
	  .bucket_time_field = "b"}},
	{"Option \"bucket_time_field\" requires option \"bucket_span\".",
	 {.columns = {{"t", "p[].t", T, NULL, NULL},
				  {"a", "p[].a", K, NULL, NULL}},
	  .bucket_time_field = "b"}},
	{"Slot number 1 counts from the start of a unit that is shorter than the bucket or slot around it.",
	 {.columns = {{"t", NULL, T, NULL, NULL},
				  {"a", "a.{minute of hour}", K, NULL, NULL}},
	  .span = "day"}},
	{"Slot number 2 counts from the start of a unit that is shorter than the bucket or slot around it.",
	 {.columns = {{"t", NULL, T, NULL, NULL},
				  {"a", "a.{day}.{minute of hour}", K, NULL, NULL}}}},
	{"The foreign table has no time column.",
	 {.columns = {{"a", "a.{epoch}", K, NULL, NULL}}}},
	{"Column \"t\" is the time, which the keys of the slot {epoch} are, so it cannot have option \"field\" or hold the keys of another slot.",
	 {.columns = {{"t", "day", T, NULL, NULL},
				  {"a", "a.{epoch}", K, NULL, NULL}}}},
	{"Column \"t\" is the time, which the keys of the slot {text:YYYY} are, so it cannot have option \"field\" or hold the keys of another slot.",
	 {.columns = {{"t", NULL, T, NULL, NULL},
				  {"a", "a.{epoch_us}.{text:YYYY}", K, NULL, NULL}}}},
	{"Column \"t\" has an offset as format, but is not the time in a point.",
	 {.columns = {{"t", NULL, T, "offset:second", NULL},
				  {"a", "a.{epoch}", K, NULL, NULL}},
	  .bucket_time_field = "b",
	  .span = "day"}},
	{"Column \"k\" has option \"missing_value\", but is not a value of a point.",
	 {.columns = {{"t", NULL, T, NULL, NULL},
				  {"a", "a.{second}", K, NULL, NULL},
				  {"k", NULL, K, NULL, "0"}}}},
};

static void
test_refused(void)
{
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++)
	{
		TestTable table;
		MtsError error = {"", NULL};
		char name[300];

		snprintf(name, sizeof(name), "refused: %s", refusals[i].want);
		if (table_declare(&refusals[i].spec, &table, &error))
			strcpy(error.detail, "accepted");
		is_text(error.detail, refusals[i].want, name);
	}
}

/* Tell whether narrowing keeps a column where another one is needed. */
static bool
stays(const MtsLayout *layout, int column, int needed)
{
	int container = layout->columns[column].container;

	return container < 0 || container == layout->columns[needed].container ||
		   container == mts_layout_time_column(layout)->container;
}

/* Declare a table without the columns that narrowing leaves out. */
static void
declare_narrow(const TestTable *table, int needed, TestSpec *spec,
			   TestTable *narrow)
{
	MtsError error;
	int n = 0;

	*spec = *table->spec;
	memset(spec->columns, 0, sizeof(spec->columns));
	for (int i = 0; i < table->layout.ncolumns; i++)
		if (stays(&table->layout, i, needed))
			spec->columns[n++] = table->spec->columns[i];
	if (!table_declare(spec, narrow, &error))
		tap_fault("%s: %s", spec->name, error.detail);
}

/* Compare a layout with one that lacks the columns that it has left out. */
static bool
is_like(const MtsLayout *layout, const MtsLayout *declared)
{
	int n = 0;

	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];
		const MtsColumn *other = &declared->columns[n];

		if (n == declared->ncolumns || strcmp(column->name, other->name) != 0)
		{
			if (column->role != MTS_ROLE_ATTRIBUTE || column->path.nsteps > 0)
				return false;
			continue;
		}
		n++;
		if (column->role != other->role ||
			column->container != other->container ||
			column->slot != other->slot || column->place != other->place)
			return false;
	}
	return n == declared->ncolumns && layout->nslots == declared->nslots &&
		   layout->ncontainers == declared->ncontainers &&
		   layout->nplaces == declared->nplaces &&
		   layout->has_missing == declared->has_missing &&
		   layout->time_kind == declared->time_kind;
}

static void
test_narrow(void)
{
	int nleft = 0;

	for (int i = 0; i < table_nspecs; i++)
		for (int needed = 0; needed < TABLE_COLUMNS; needed++)
		{
			TestTable table, declared;
			TestSpec spec;
			bool is_needed[TABLE_COLUMNS] = {false};

			table_open(i, &table);
			if (needed >= table.layout.ncolumns ||
				table.layout.columns[needed].container < 0)
				continue;
			declare_narrow(&table, needed, &spec, &declared);
			nleft += declared.layout.ncolumns < table.layout.ncolumns;
			is_needed[needed] = true;
			if (!mts_layout_narrow(&table.layout, is_needed) ||
				!is_like(&table.layout, &declared.layout))
				tap_fault("%s: for column %d", spec.name, needed);
		}
	if (nleft == 0)
		tap_fault("no layout has several containers");
	tap_claim("a layout without containers is like one declared without them");
}

int
main(void)
{
	TestZone zone = {table_time(2013, 3, 31, 2, 0, 0),
					 table_time(2013, 10, 27, 2, 0, 0)};
	MtsClock utc = table_clock(NULL);
	MtsClock summer = table_clock(&zone);

	tap_seed();
	test_inverse(&utc, "in UTC");
	test_inverse(&summer, "in a zone with summer time");
	test_slots();
	test_spans();
	test_narrow();
	test_refused();
	return tap_done();
}
