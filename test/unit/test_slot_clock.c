/*
 * test_slot_clock.c
 *		Proves that slots of local time have one instant each, and the other
 *		way around, wherever clocks change.
 *
 * The zones' rules are those of the C library.  A model walks through each
 * bucket in steps of 15 minutes and records the local times as clocks show
 * them; the tested code must agree with it.
 */
#include <time.h>

#include "core/query/projection.h"
#include "mongo.h"
#include "points.h"

#define STEP (15 * MTS_MINUTE)
#define MAX_CHANGES 64
#define MAX_STEPS (370 * 96)

#define TIME MTS_ROLE_TIME
#define KEY MTS_ROLE_KEY

/* ---- Zones --------------------------------------------------------------- */

/* The changes of a zone's difference from UTC in some years */
typedef struct Zone
{
	const char *name;
	int nchanges;
	MtsTime changes[MAX_CHANGES];
	MtsTime offsets[MAX_CHANGES + 1]; /* before each change, and at the end */
} Zone;

static Zone zones[] = {{"Europe/Berlin"},       {"America/New_York"},
					   {"Australia/Lord_Howe"}, {"Asia/Kolkata"},
					   {"Pacific/Apia"},        {"America/Sao_Paulo"},
					   {"America/Havana"}};

#define NZONES ((int) (sizeof(zones) / sizeof(zones[0])))

static MtsTime
libc_offset(MtsTime t)
{
	time_t seconds = (time_t) ((t - MTS_UNIX_EPOCH) / MTS_SECOND);
	struct tm tm;

	localtime_r(&seconds, &tm);
	return tm.tm_gmtoff * MTS_SECOND;
}

static void
load_zone(Zone *zone)
{
	MtsTime end = table_time(2022, 1, 1, 0, 0, 0);
	MtsTime offset;

	setenv("TZ", zone->name, 1);
	tzset();
	zone->nchanges = 0;
	offset = libc_offset(table_time(2005, 1, 1, 0, 0, 0));
	for (MtsTime t = table_time(2005, 1, 1, 0, 0, 0); t < end; t += STEP)
	{
		MtsTime next = libc_offset(t);

		if (next == offset)
			continue;
		zone->changes[zone->nchanges] = t;
		zone->offsets[zone->nchanges++] = offset;
		offset = next;
	}
	zone->offsets[zone->nchanges] = offset;
	unsetenv("TZ");
	tzset();
}

/* The number of changes up to an instant */
static int
period(const Zone *zone, MtsTime t)
{
	int n = 0;

	while (n < zone->nchanges && zone->changes[n] <= t)
		n++;
	return n;
}

static MtsTime
to_local(void *arg, MtsTime t)
{
	const Zone *zone = arg;

	return t + zone->offsets[period(zone, t)];
}

/* As in PostgreSQL: see tables.c. */
static MtsTime
to_instant(void *arg, MtsTime local)
{
	const Zone *zone = arg;

	for (int i = zone->nchanges; i > 0; i--)
		if (local - zone->offsets[i] >= zone->changes[i - 1])
			return local - zone->offsets[i];
		else if (local - zone->offsets[i - 1] >= zone->changes[i - 1])
			return local - zone->offsets[i - 1];
	return local - zone->offsets[0];
}

static MtsTime
next_change(void *arg, MtsTime t)
{
	const Zone *zone = arg;
	int n = period(zone, t);

	return n < zone->nchanges ? zone->changes[n] : MTS_TIME_MAX;
}

/* ---- Layouts ------------------------------------------------------------- */

static const TestSpec specs[] = {
	{"hours of days",
	 {{"ts", "t", TIME, NULL, NULL}, {"v", "v.{hour}", KEY, NULL, NULL}}},
	{"quarters of days",
	 {{"ts", "t", TIME, NULL, NULL},
	  {"v", "v.{15 minutes:1}", KEY, NULL, NULL}},
	 .span = "day"},
	{"quarters of hours of days",
	 {{"ts", "t", TIME, NULL, NULL},
	  {"v", "v.{hour}.{15 minutes}", KEY, NULL, NULL}}},
	{"quarters of hours",
	 {{"ts", "t", TIME, NULL, NULL},
	  {"v", "v.{15 minutes}", KEY, NULL, NULL}}},
	{"half hours of 6 hours",
	 {{"ts", "t", TIME, NULL, NULL}, {"v", "v.{30 minutes}", KEY, NULL, NULL}},
	 .span = "6 hours"},
	{"hours of days of months",
	 {{"ts", "t", TIME, NULL, NULL},
	  {"v", "v.{day:1}.{hour}", KEY, NULL, NULL}}},
	{"quarters of days of months, in arrays",
	 {{"ts", "t", TIME, NULL, NULL},
	  {"v", "v[{day}][{15 minutes}]", KEY, NULL, NULL}}},
	{"days of months of years",
	 {{"ts", "t", TIME, NULL, NULL},
	  {"v", "v.{month:1}.{day:1}", KEY, NULL, NULL}}},
	{"hours of days, by type",
	 {{"ts", "t", TIME, NULL, NULL},
	  {"type", NULL, KEY, NULL, NULL},
	  {"v", "v.{hour}.{type}", KEY, NULL, NULL}}},
};

#define NSPECS ((int) (sizeof(specs) / sizeof(specs[0])))

static void
open_table(const TestSpec *spec, Zone *zone, TestTable *table)
{
	MtsError error;

	if (!table_declare(spec, table, &error))
		abort();
	table->layout.clock.arg = zone;
	table->layout.clock.to_local = to_local;
	table->layout.clock.to_instant = to_instant;
	table->layout.clock.next_change = next_change;
	table->layout.slots_are_local = true;
	table->grain = (MtsSpan){0, 0, STEP};
}

/* The shortest unit of a layout's slots */
static MtsSpan
resolution(const MtsLayout *layout)
{
	MtsSpan unit = {0};

	for (int i = 0; i < layout->nslots; i++)
		if (mts_path_step_is_unit(layout->slots[i]))
			unit = layout->slots[i]->unit;
	return unit;
}

/* A bucket's start: near a change, or anywhere; mostly aligned */
static MtsTime
random_start(const TestTable *table, const Zone *zone)
{
	MtsTime t =
		table_time(2005, 1, 2, 0, 0, 0) + random_below(16 * 365 * 96) * STEP;

	if (zone->nchanges > 0 && random_below(4) > 0)
		t = zone->changes[random_below(zone->nchanges)] +
			random_between(-200, 200) * STEP;
	return random_below(8) == 0
			   ? t
			   : mts_clock_floor(&table->layout.clock, t, table->layout.span);
}

/* ---- The model ----------------------------------------------------------- */

/* What a bucket shows at each step, and which step means a local time */
typedef struct Model
{
	MtsTime start;
	MtsTime end;
	MtsTime nominal; /* the local time from which slots are counted */
	MtsTime limit;   /* the local time before which they end */
	int n;
	MtsTime locals[MAX_STEPS];
	bool is_first[MAX_STEPS];
} Model;

static bool
make_model(const TestTable *table, MtsTime start, Model *model)
{
	const MtsClock *clock = &table->layout.clock;
	MtsSpan span = table->layout.span;
	MtsTime most = MTS_TIME_MIN;

	if (!mts_layout_bucket_end(&table->layout, start, &model->end))
		return false;
	model->start = start;
	model->nominal = to_local(clock->arg, start);
	/* a whole span that clocks skip begins where they go on */
	if (to_instant(clock->arg, mts_clock_floor(NULL, model->nominal, span)) ==
		start)
		model->nominal = mts_clock_floor(NULL, model->nominal, span);
	mts_clock_step(NULL, model->nominal, span, 1, &model->limit);
	model->n = 0;
	for (MtsTime t = start; t < model->end; t += STEP)
	{
		MtsTime local = to_local(clock->arg, t);

		if (model->n == MAX_STEPS)
			abort();
		model->locals[model->n] = local;
		model->is_first[model->n++] = local > most;
		most = local > most ? local : most;
	}
	return true;
}

/* The step that means a local time, or -1; clocks change by 24 hours at most */
static int
find_local(const Model *model, MtsTime local)
{
	MtsTime guess = (local - model->locals[0]) / STEP;
	int from = guess > 100 ? (int) guess - 100 : 0;

	for (int i = from; i < model->n && i < from + 200; i++)
		if (model->locals[i] == local)
			return model->is_first[i] && local < model->limit ? i : -1;
	return -1;
}

/* The keys of a local time, and the time of its slot, by UTC's calendar */
static MtsTime
local_keys(const MtsLayout *layout, const Model *model, MtsTime local,
		   int64_t *keys)
{
	MtsTime at = model->nominal;

	for (int i = 0; i < layout->nslots; i++)
	{
		MtsSpan unit = layout->slots[i]->unit;
		MtsTime next = at;

		keys[i] = layout->slots[i]->base;
		if (mts_span_is_zero(unit))
			continue;
		for (int64_t n = 1;
			 mts_clock_step(NULL, at, unit, n, &next) && next <= local; n++)
			keys[i] = n + layout->slots[i]->base;
		mts_clock_step(NULL, at, unit, keys[i] - layout->slots[i]->base, &at);
	}
	return at;
}

/* ---- Inverses ------------------------------------------------------------ */

static void
show(const Model *model, MtsTime t, char *text)
{
	char start[40], time[40];

	table_show_time(model->start, start, sizeof(start));
	table_show_time(t, time, sizeof(time));
	snprintf(text, 100, "%s in %s", time, start);
}

static void
check_step(const TestTable *table, const Zone *zone, const Model *model, int i,
		   int64_t *last_number)
{
	const MtsLayout *layout = &table->layout;
	MtsTime t = model->start + i * STEP, slot = 0, again = 0, local;
	int64_t want[MTS_MAX_SLOTS] = {0}, got[MTS_MAX_SLOTS] = {0};
	int64_t begin, end, number;
	char text[100];
	int first;
	bool found;

	show(model, t, text);
	local = local_keys(layout, model, model->locals[i], want);
	first = find_local(model, local);
	found = mts_layout_slot_index(layout, model->start, t, got, &slot);
	if (found !=
		(first >= 0 && model->is_first[i] && model->locals[i] < model->limit))
		tap_fault("%s %s: %s", zone->name, table->spec->name, text);
	if (!found)
		return;
	if (slot != model->start + first * STEP)
		tap_fault("%s %s: the slot of %s begins at another time", zone->name,
				  table->spec->name, text);
	for (int level = 0; level < layout->nslots; level++)
	{
		if (!mts_path_step_is_unit(layout->slots[level]))
			continue;
		if (got[level] != want[level] ||
			!mts_layout_keys(layout, model->start, got, level, &begin, &end) ||
			got[level] < begin || got[level] >= end)
			tap_fault("%s %s: key %lld of %s", zone->name, table->spec->name,
					  (long long) got[level], text);
	}
	if (!mts_layout_slot_time(layout, model->start, got, &again) ||
		again != slot)
		tap_fault("%s %s: no inverse of %s", zone->name, table->spec->name,
				  text);
	number = mts_layout_slot_number(layout, got);
	if (number < *last_number)
		tap_fault("%s %s: %s is out of order", zone->name, table->spec->name,
				  text);
	*last_number = number;
}

/* All slots of the bucket have the time that the model says, or none. */
static void
check_slots(const TestTable *table, const Zone *zone, const Model *model)
{
	const MtsLayout *layout = &table->layout;
	MtsTime local = model->nominal, t;
	int64_t keys[MTS_MAX_SLOTS] = {0};
	char text[100];

	for (int64_t n = 1; local < model->limit; n++)
	{
		int first = find_local(model, local);
		bool found;

		local_keys(layout, model, local, keys);
		found = mts_layout_slot_time(layout, model->start, keys, &t);
		show(model, local, text);
		if (found != (first >= 0) ||
			(found && t != model->start + first * STEP))
			tap_fault("%s %s: the slot of %s", zone->name, table->spec->name,
					  text);
		if (!mts_clock_step(NULL, model->nominal, resolution(layout), n,
							&local))
			break;
	}
}

/* A bucket is among those that a range around a point names. */
static void
check_range(const TestTable *table, const Zone *zone, const Model *model)
{
	MtsTime t = model->start + random_below(model->n) * STEP;
	MtsRange range =
		mts_layout_bucket_range(&table->layout, (MtsRange){t, t + 1});

	if (range.from > model->start || range.to <= model->start ||
		mts_layout_last_time(&table->layout, model->end) < t)
		tap_fault("%s %s: the buckets of a point", zone->name,
				  table->spec->name);
}

static void
test_inverses(const TestSpec *spec, Zone *zone)
{
	static Model model;
	TestTable table;
	char name[160];
	bool is_long = spec == &specs[7];

	open_table(spec, zone, &table);
	for (int turn = 0; turn < (is_long ? 3 : 30); turn++)
	{
		int64_t last_number = -1;

		if (!make_model(&table, random_start(&table, zone), &model))
			continue;
		for (int i = 0; i < model.n; i += is_long ? 7 : 1)
			check_step(&table, zone, &model, i, &last_number);
		check_slots(&table, zone, &model);
		check_range(&table, zone, &model);
	}
	ok(mts_layout_slots_are_numbered(&table.layout), "%s: slots have numbers",
	   spec->name);
	snprintf(name, sizeof(name), "slots and times are inverse: %s in %s",
			 spec->name, zone->name);
	tap_claim(name);
}

/* ---- Unfolding ----------------------------------------------------------- */

static int nprojected;

/* Leave those slots out that a scan of the ranges does not fetch. */
static void
project(const Bucket *bucket, const MtsRanges *ranges, bson_t *doc)
{
	const MtsLayout *layout = &bucket->table->layout;
	bool needed[TABLE_COLUMNS] = {true, true, true};
	bson_t projection = BSON_INITIALIZER;
	bool is_narrow = mts_projection_build(layout, needed, ranges, NULL,
										  MTS_PROJECT_SLOTS, &projection);

	if (is_narrow && !mts_layout_is_aligned(layout, bucket->start))
		bson_reinit(&projection);
	nprojected += is_narrow;
	mongo_project(&bucket->doc, &projection, doc);
	bson_destroy(&projection);
}

/*
 * Unfold a bucket that has all slots.  Its points are those of the model in
 * the ranges; slots that clocks skip are invalid.
 */
static void
check_unfold(const TestTable *table, const Zone *zone, const Model *model,
			 const MtsRanges *ranges)
{
	const MtsLayout *layout = &table->layout;
	bool is_all = mts_ranges_cover_all(ranges);
	MtsTime local = model->nominal;
	MtsElement elements[TABLE_COLUMNS];
	MtsPoint point = {.elements = elements};
	MtsUnfolded result;
	MtsArena *arena = mts_arena_new(realloc, free);
	MtsUnfold unfold;
	static Bucket bucket;
	bson_t doc = BSON_INITIALIZER;
	int want = 0, got = 0, skipped = 0, invalid = 0;

	bucket.table = table;
	bucket.start = model->start;
	bucket.nnodes = 1;
	bucket.nodes[0] = (Node){.type = BSON_TYPE_DOCUMENT};
	bucket_put_field(&bucket, &layout->bucket_time, model->start);
	for (int64_t n = 1; local < model->limit; n++)
	{
		BucketPoint slot = {.key = {"cpu", "cpu", "cpu"}};
		int first = find_local(model, local);
		Node *node;

		local_keys(layout, model, local, slot.index);
		node = node_at(&bucket, &layout->containers[0].path[0], &slot);
		node->type = BSON_TYPE_INT32;
		node->number = first;
		if (first < 0)
			skipped++;
		else
			want += in_ranges(ranges, model->start + first * STEP);
		mts_clock_step(NULL, model->nominal, resolution(layout), n, &local);
	}
	bson_init(&bucket.doc);
	node_write(&bucket.nodes[0], &bucket.doc);
	project(&bucket, ranges, &doc);
	mts_unfold_init(&unfold, layout, ranges, arena);
	if (!mts_unfold_start(&unfold, bson_get_data(&doc), doc.len))
		tap_fault("%s %s: %s", zone->name, table->spec->name,
				  unfold.invalid.error.detail);
	while ((result = mts_unfold_next(&unfold, &point)) != MTS_DONE)
	{
		if (result == MTS_INVALID)
		{
			invalid++;
			continue;
		}
		got++;
		if (model->start + mts_element_int32(&elements[0]) * STEP !=
				point.time ||
			!in_ranges(ranges, point.time))
			tap_fault("%s %s: a point has another time", zone->name,
					  table->spec->name);
	}
	if (got != want || (is_all ? invalid != skipped : invalid > skipped))
		tap_fault("%s %s: %d of %d points, %d of %d are invalid", zone->name,
				  table->spec->name, got, want, invalid, skipped);
	mts_arena_free(arena);
	bson_destroy(&bucket.doc);
	bson_destroy(&doc);
}

static void
test_unfold(const TestSpec *spec, Zone *zone)
{
	static Model model;
	TestTable table;
	char name[160];
	MtsRange items[8] = {{MTS_TIME_MIN, MTS_TIME_MAX}};
	MtsRanges ranges = {1, items};

	open_table(spec, zone, &table);
	for (int turn = 0; turn < 20; turn++)
	{
		if (!make_model(&table, random_start(&table, zone), &model))
			continue;
		items[0] = (MtsRange){MTS_TIME_MIN, MTS_TIME_MAX};
		ranges.n = 1;
		check_unfold(&table, zone, &model, &ranges);
		for (int i = 0; i < 5; i++)
		{
			random_ranges(&table, model.start, &ranges);
			check_unfold(&table, zone, &model, &ranges);
		}
	}
	snprintf(name, sizeof(name), "buckets have these points: %s in %s",
			 spec->name, zone->name);
	tap_claim(name);
}

/* ---- Cases --------------------------------------------------------------- */

/* Keys of days are the hour on the wall clock. */
static const struct
{
	const char *name;
	int zone;
	int start[4]; /* year, month, day, hour in UTC */
	int64_t key;
	int hours; /* of its time after the start; -1: none */
} cases[] = {
	{"an hour before clocks are set forward", 0, {2013, 3, 30, 23}, 1, 1},
	{"an hour that clocks skip", 0, {2013, 3, 30, 23}, 2, -1},
	{"an hour after clocks were set forward", 0, {2013, 3, 30, 23}, 3, 2},
	{"the last hour of a day of 23", 0, {2013, 3, 30, 23}, 23, 22},
	{"the first of two hours", 0, {2013, 10, 26, 22}, 2, 2},
	{"an hour after clocks were set back", 0, {2013, 10, 26, 22}, 3, 4},
	{"the last hour of a day of 25", 0, {2013, 10, 26, 22}, 23, 24},
	{"no day has an hour 24", 0, {2013, 10, 26, 22}, 24, -1},
	{"a day that begins at 1 o'clock has no hour 0",
	 5,
	 {2013, 10, 20, 3},
	 0,
	 -1},
	{"a day that begins at 1 o'clock", 5, {2013, 10, 20, 3}, 1, 0},
	{"the first of two midnights", 6, {2013, 11, 3, 4}, 0, 0},
	{"after two midnights", 6, {2013, 11, 3, 4}, 1, 2},
	{"a bucket that begins at the second midnight", 6, {2013, 11, 3, 5}, 1, 1},
};

static void
test_cases(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		const int *s = cases[i].start;
		MtsTime start = table_time(s[0], s[1], s[2], s[3], 0, 0), t;
		TestTable table;

		open_table(&specs[0], &zones[cases[i].zone], &table);
		is_int(mts_layout_slot_time(&table.layout, start, &cases[i].key, &t)
				   ? (t - start) / MTS_HOUR
				   : -1,
			   cases[i].hours, cases[i].name);
	}
}

/* Nulls pad arrays where clocks skip an element; other values are invalid. */
static void
test_padding(void)
{
	static const struct
	{
		const char *path;
		const char *hours;
		int points;
		int invalid;
	} docs[] = {
		{"v[{hour}]", "[10, 11, null, 13]", 3, 0},
		{"v[{hour}]", "[10, null, 12, 13]", 3, 1},
		{"v.{hour}", "{\"1\": 11, \"2\": null, \"3\": 13}", 2, 1},
		{"v.{hour}.x", "{\"1\": {\"x\": 1}, \"2\": {}, \"3\": {}}", 1, 0},
		{"v[{hour}].x", "[{\"x\": 1}, {}, {}, {\"x\": 4}]", 2, 0},
		{"v.{hour}.x", "{\"1\": {\"x\": 1}, \"2\": {\"y\": 1}}", 1, 1},
	};
	MtsRange all[] = {{MTS_TIME_MIN, MTS_TIME_MAX}};
	MtsRanges ranges = {1, all};
	static Points got;

	for (size_t i = 0; i < sizeof(docs) / sizeof(docs[0]); i++)
	{
		TestSpec spec = {.columns = {{"ts", "t", TIME, NULL, NULL},
									 {"v", docs[i].path, KEY, NULL, NULL}}};
		char json[200];
		bson_t *doc;
		TestTable table;
		MtsArena *arena = mts_arena_new(realloc, free);
		MtsUnfold unfold;

		open_table(&spec, &zones[0], &table);
		snprintf(json, sizeof(json),
				 "{\"t\": {\"$date\": \"2013-03-30T23:00:00Z\"}, \"v\": %s}",
				 docs[i].hours);
		doc = bson_new_from_json((const uint8_t *) json, -1, NULL);
		mts_unfold_init(&unfold, &table.layout, &ranges, arena);
		points_unfold(&unfold, bson_get_data(doc), doc->len, &got);
		ok(got.n == docs[i].points && got.ninvalid == docs[i].invalid,
		   "%d points and %d invalid: %s", got.n, got.ninvalid, docs[i].hours);
		mts_arena_free(arena);
		bson_destroy(doc);
	}
}

int
main(void)
{
	tap_seed();
	for (int i = 0; i < NZONES; i++)
		load_zone(&zones[i]);
	test_cases();
	test_padding();
	for (int i = 0; i < NZONES; i++)
		for (int j = 0; j < NSPECS; j++)
		{
			test_inverses(&specs[j], &zones[i]);
			if (j < 5 || j > 7)
				test_unfold(&specs[j], &zones[i]);
		}
	ok(nprojected > 20, "slots are projected %d times", nprojected);
	return tap_done();
}
