/*
 * test_store.c
 *		Proves that a bucket contains the points written, and their
 *		pre-aggregates.
 *
 * Random points are added, changed and removed by the updates that core/
 * builds.  The document is then compared with a list of points.
 */
#include "model.h"

#define ROUNDS 10

/* The layouts; the last field is the bucket's first document. */
static const WriteCase stores[] = {
	{"keys", {{"ts"}, {"v", "v.{second}"}}, NULL, NULL, "{'v': {'total': 7}}"},
	{"keys in keys, pre-aggregates",
	 {{"ts"},
	  {"a", "v.{minute}.{second:1}.a"},
	  {"b", "v.{minute}.{second:1}.b"}},
	 "{'count': 'n', 'sum': {'a': 'sa', 'b': 'sb'}, 'min': {'a': 'ma'},"
	 " 'max': {'a': 'xa', 'b': 'xb'}, 'nan': {'a': 1}}",
	 NULL,
	 "{'v': {'x': {'1': 2}, '5': {'y': 3}}}"},
	{"keys of a column",
	 {{"ts"}, {"type"}, {"v", "v.{second}.{type}"}},
	 "{'count': 'n', 'sum': {'v': 's'}}"},
	{"containers side by side",
	 {{"ts"}, {"a", "a.{second}"}, {"b", "b.{second}.x"}},
	 "{'count': 'n', 'sum': {'a': 'sa'}, 'max': {'b': 'xb'}}"},
	{"containers side by side, in two levels",
	 {{"ts"}, {"a", "a.{minute}.{second}.x"}, {"b", "b.{minute}.s.{second}"}},
	 "{'count': 'n', 'sum': {'b': 's'}}"},
	{"missing values",
	 {{"ts"}, {"a", "v.{second}.a", "0"}, {"b", "v.{second}.b"}},
	 "{'count': 'n', 'min': {'a': 'ma'}, 'nan': {'b': 1}, 'max': {'b': 'xb'}}",
	 NULL,
	 "{'v': {'7': {'a': 0}, '8': {'a': 0}}}"},
	{"counters", {{"ts"}, {"v", "v.{hour}"}}, "{'mode': 'increment'}"},
	{"counters of points with a time",
	 {{"ts", "v.{second}.t"},
	  {"a", "v.{second}.a"},
	  {"b", "v.{second}.b", "0"}},
	 "{'mode': 'increment', 'start': 'ts', 'sum': {'a': 's'}}"},
	{"indexes that count", {{"ts"}, {"v", "h[{hour}]"}}, "{'count': 'n'}"},
	{"indexes in indexes",
	 {{"ts", "e[{minute}][{second}].t"},
	  {"a", "e[{minute}][{second}].a"},
	  {"b", "e[{minute}][{second}].c.b"},
	  {"c", "e[{minute}][{second}].c.c"}},
	 "{'start': 'ts', 'count': 'n', 'sum': {'c': 's'}}"},
	{"zipped indexes with missing values",
	 {{"ts"}, {"a", "a[{hour}]", "0"}, {"b", "b[{hour}].x", "null"}},
	 "{'count': 'n', 'max': {'a': 'x'}, 'min': {'b': 'm'}}"},
	{"indexes of days, whose hours may be fewer or more",
	 {{"ts"}, {"v", "d[{day}][{hour}]"}},
	 "{'count': 'n'}"},
	{"the last of these indexes is cut short",
	 {{"ts"}, {"v", "d[{7 minutes}][{minute}]"}},
	 "{'count': 'n', 'sum': {'v': 's'}}"},
	{"indexes behind keys",
	 {{"ts"}, {"v", "v.{minute}[{second}]"}},
	 "{'count': 'n'}"},
	{"indexes behind a column's keys",
	 {{"ts"}, {"type"}, {"v", "v.{type}[{second}]"}},
	 "{'count': 'n'}"},
	{"counters at indexes",
	 {{"ts"}, {"a", "h[{hour}].a"}, {"b", "h[{hour}].b"}},
	 "{'mode': 'increment', 'sum': {'b': 's'}}"},
	{"zipped counters at indexes",
	 {{"ts"}, {"a", "a[{hour}]"}, {"b", "b[{hour}]"}},
	 "{'mode': 'increment'}"},
	{"pushed points", {{"ts", "s[].t"}, {"v", "s[].v"}}, "{'mode': 'push'}"},
	{"pushed points, pre-aggregates",
	 {{"ts", "s[].t"}, {"v", "s[].x.v"}},
	 "{'mode': 'push', 'count': 'n', 'nan': {'v': 1}, 'min': {'v': 'm'}}"},
	{"pushed behind keys",
	 {{"ts", "v.{type}[].t"}, {"type"}, {"v", "v.{type}[].v"}},
	 "{'mode': 'push', 'count': 'n'}"},
	{"parallel arrays",
	 {{"ts", "t[]"}, {"v", "v[]"}, {"w", "w[]"}},
	 "{'mode': 'push', 'count': 'n', 'sum': {'v': 's'}}"},
	{"indexes that are padded",
	 {{"ts"}, {"a", "h[{hour}].a"}},
	 "{'count': 'n'}",
	 NULL,
	 "{'h': [null, null]}"},
	{"keys below 0", {{"ts"}, {"v", "v.{second:-5}"}}, "{'count': 'n'}"},
	{"padded keys",
	 {{"ts"}, {"v", "v.{minute:00}.{second:00}"}},
	 "{'count': 'n', 'sum': {'v': 's'}}",
	 NULL,
	 "{'v': {'total': 7, '00': {'x': 5}}}"},
	{"texts and numbers in keys, side by side",
	 {{"ts"},
	  {"a", "a.h({hour}.{15 minutes:1}+{minute:00}$"},
	  {"b", "b.h({hour}.{15 minutes:1}+{minute:00}$.x"}},
	 "{'count': 'n', 'max': {'b': 'm'}}",
	 NULL,
	 "{'a': {'h(x': 7, 'h({}': 5, '0': {'1+00$': 1}}}"},
	{"keys that are times",
	 {{"ts"}, {"a", "v.{epoch_ms}.a"}, {"b", "v.{epoch_ms}.b"}},
	 "{'start': 'ts', 'span': 'day', 'count': 'n', 'sum': {'a': 's'}}",
	 NULL,
	 "{'v': {'x': 7}}"},
	{"keys that count from the start of the day",
	 {{"ts"}, {"v", "v.{hour}.m{minute of day}"}},
	 "{'count': 'n', 'min': {'v': 'm'}}"},
};

#define NSTORES ((int) (sizeof(stores) / sizeof(stores[0])))

typedef struct Round
{
	bool points_are_new;
	int n;
	MtsChange items[WRITES_MAX];
	int64_t index[WRITES_MAX][MTS_MAX_SLOTS];
	const char *texts[WRITES_MAX][MTS_MAX_SLOTS];
	const MtsChange *writes[WRITES_MAX];
	bson_value_t values[WRITES_MAX][TABLE_COLUMNS];
} Round;

static void
choose_value(const MtsColumn *column, MtsChangeKind kind, bool may_be_null,
			 bson_value_t *value)
{
	int64_t choice = random_below(6);

	*value = (bson_value_t){.value_type = BSON_TYPE_INT32};
	value->value.v_int32 = 1 + (int32_t) random_below(9);
	if (choice == 0 && may_be_null && column->missing.kind != MTS_MISSING_NULL)
		value->value_type = BSON_TYPE_NULL;
	if (choice == 1 && column->may_be_nan && kind == MTS_CHANGE_SET)
	{
		value->value_type = BSON_TYPE_DOUBLE;
		value->value.v_double = NAN;
	}
}

/* Choose the values of a point.  A change has some of them. */
static void
choose_values(const MtsLayout *layout, bool points_are_new, MtsChange *write,
			  bson_value_t *values)
{
	/* $inc fails on a stored null */
	bool may_be_null =
		points_are_new || layout->write_mode != MTS_WRITE_INCREMENT;
	bool any = false;
	bson_value_t *time;

	memset(values, 0, TABLE_COLUMNS * sizeof(bson_value_t));
	write->items = values;
	while (!any && write->kind != MTS_CHANGE_REMOVE)
		for (int i = 0; i < layout->ncolumns; i++)
		{
			const MtsColumn *column = &layout->columns[i];

			if (!model_is_value(layout, i) ||
				(!points_are_new && random_below(2)))
				continue;
			choose_value(column, write->kind, may_be_null,
						 &values[column->place]);
			any |=
				write->kind == MTS_CHANGE_SET ||
				mts_change_value(write, column)->value_type != BSON_TYPE_NULL;
		}
	if (layout->time_kind != MTS_TIME_POINT ||
		mts_layout_time_is_key(layout) || write->kind == MTS_CHANGE_REMOVE)
		return;
	time = &values[mts_layout_time_column(layout)->place];
	time->value_type = BSON_TYPE_DATE_TIME;
	time->value.v_datetime = (write->time - MTS_UNIX_EPOCH) / 1000;
}

/*
 * Choose a new point, in one of a few slots, so that some are written twice.
 */
static bool
choose_new(const Model *model, MtsChange *write)
{
	static const char *const texts[] = {"cpu", "mem", "7"};
	const MtsLayout *layout = model->layout;
	MtsTime end = model->start + MTS_DAY, exact;

	*write = (MtsChange){.kind = layout->write_mode == MTS_WRITE_INCREMENT
									 ? MTS_CHANGE_ADD
									 : MTS_CHANGE_SET,
						 .index = write->index,
						 .texts = write->texts};
	if (!mts_span_is_zero(layout->span))
		mts_layout_bucket_end(layout, model->start, &end);
	write->time = random_between(model->start, end);
	if (random_below(2))
		write->time = model->start + (write->time - model->start) / 20;
	write->time -= write->time % 1000;
	for (int i = 0; i < layout->nslots; i++)
		if (layout->slots[i]->kind == MTS_STEP_COLUMN_KEY)
			write->texts[i] = texts[random_below(3)];
	if (layout->bucket_time.is_set &&
		!mts_layout_slot_index(layout, model->start, write->time, write->index,
							   &exact))
		abort();
	if (layout->time_kind == MTS_TIME_SLOTS)
		write->time = exact;
	if (mts_layout_time_is_key(layout))
		write->texts[mts_layout_time_column(layout)->slot] =
			bucket_time_key(layout, &write->time);
	return true;
}

/* Choose a stored point to change or remove. */
static bool
choose_stored(const Model *model, MtsChange *write)
{
	const ModelPoint *point = &model->points[random_below(model->n)];

	if (model->n == 0)
		return false;
	*write = (MtsChange){.kind = random_below(2) ? MTS_CHANGE_SET
												 : MTS_CHANGE_REMOVE,
						 .time = point->time,
						 .index = write->index,
						 .texts = write->texts};
	memcpy(write->index, point->index, sizeof(point->index));
	memcpy(write->texts, point->texts, sizeof(point->texts));
	/* an element is not identified by its time, which may change */
	if (model->layout->slots[model->layout->nslots - 1]->kind ==
			MTS_STEP_ELEMENT &&
		random_below(2))
		write->time = model->start + random_below(MTS_DAY / 1000) * 1000;
	return true;
}

/* Make writes of different slots, or points to push, in their order. */
static void
choose_round(const Model *model, Round *round)
{
	const MtsLayout *layout = model->layout;
	int64_t n = random_between(1, WRITES_MAX);

	round->points_are_new =
		random_below(2) == 0 && model->n + WRITES_MAX < MODEL_POINTS;
	for (round->n = 0; n > 0; n--)
	{
		int at = round->n;
		MtsChange *write = &round->items[at];
		bool is_new;

		*write =
			(MtsChange){.index = round->index[at], .texts = round->texts[at]};
		memset(round->index[at], 0, sizeof(round->index[at]));
		memset(round->texts[at], 0, sizeof(round->texts[at]));
		is_new = round->points_are_new ? choose_new(model, write)
									   : choose_stored(model, write);

		if (!is_new)
			continue;
		for (int i = 0; i < round->n; i++)
			is_new &= (round->points_are_new &&
					   layout->write_mode == MTS_WRITE_PUSH) ||
					  mts_change_compare(layout, write, &round->items[i]) != 0;
		if (!is_new)
			continue;
		choose_values(layout, round->points_are_new, write, round->values[at]);
		for (; at > 0 &&
			   mts_change_compare(layout, write, round->writes[at - 1]) < 0;
			 at--)
			round->writes[at] = round->writes[at - 1];
		round->writes[at] = write;
		round->n++;
	}
}

/* Store a round of writes by the update that core/ builds. */
static bool
store_round(Model *model, const Round *round, bool is_new, Value *doc)
{
	const MtsLayout *layout = model->layout;
	bool is_pipeline = !round->points_are_new ||
					   mts_update_needs_pipeline(layout) ||
					   mts_preaggregate_is_declared(layout);
	MtsBucketChange bucket = {.layout = layout,
							  .start = model->start,
							  .points_are_new = round->points_are_new,
							  .changes = (const MtsChange **) round->writes,
							  .n = round->n};
	bson_t update = BSON_INITIALIZER;
	bool applied;

	(is_pipeline ? mts_update_pipeline : mts_update_plain)(&bucket, &update);
	applied = apply_update(doc, &update, is_pipeline, is_new);
	if (!applied)
		tap_fault("refused: %s in %.3000s", value_why,
				  shell_print(&update, is_pipeline));
	bson_destroy(&update);
	/*
	 * indexes are those before the update, so the last elements are removed
	 * first
	 */
	if (round->points_are_new)
		for (int i = 0; i < round->n; i++)
			model_write(model, round->writes[i], true);
	else
		for (int i = round->n - 1; i >= 0; i--)
			model_write(model, round->writes[i], false);
	return applied;
}

/*
 * Compare the document inserted for a new bucket with the result of its
 * update.  With several containers the points have another order.
 */
static void
check_new_bucket(const Model *model, const Round *round, const Value *value,
				 const char *name)
{
	static const MtsStep step = {.kind = MTS_STEP_NAME,
								 .name = "ts",
								 .len = 2};
	bson_value_t start = {.value_type = BSON_TYPE_DATE_TIME};
	MtsFieldValue identity = {&step, 1, &start}, fields[1];
	MtsBucketChange bucket = {.layout = model->layout,
							  .start = model->start,
							  .points_are_new = true,
							  .changes = (const MtsChange **) round->writes,
							  .n = round->n};
	bson_t inserted = BSON_INITIALIZER, doc = BSON_INITIALIZER;

	start.value.v_datetime = (model->start - MTS_UNIX_EPOCH) / 1000;
	value_write(value, &doc);
	if (mts_new_bucket_is_possible(model->layout) &&
		!mts_preaggregate_is_declared(model->layout) &&
		mts_new_bucket_insert(&bucket, (MtsFields){&identity, 1}, fields,
							  &inserted) &&
		!bson_equal(&inserted, &doc))
	{
		tap_fault("%s: %.1500s", name, shell_print(&inserted, false));
		tap_fault("want %.1500s", shell_print(&doc, false));
	}
	bson_destroy(&inserted);
	bson_destroy(&doc);
}

static void
check_document(const Model *model, MtsUnfold *unfold, const Value *value,
			   const char *name)
{
	static Points want, got;
	static char texts[2][4096];
	bson_t doc = BSON_INITIALIZER;

	value_write(value, &doc);
	model_show(model, &want);
	points_unfold(unfold, bson_get_data(&doc), doc.len, &got);
	points_join(&want, texts[0], sizeof(texts[0]));
	points_join(&got, texts[1], sizeof(texts[1]));
	if (strcmp(texts[0], texts[1]) != 0)
		tap_fault("%s: %.1500s\n got %.1000s\nwant %.1000s", name,
				  shell_print(&doc, false), texts[1], texts[0]);
	if (mts_preaggregate_is_declared(model->layout))
		model_check_aggregates(model, value, shell_print(&doc, false));
	bson_destroy(&doc);
}

/* Build the bucket before the first write, without points. */
static Value *
begin_bucket(const WriteCase *of, const Model *model)
{
	bson_t *json = shell_parse(of->want ? of->want : "{}");
	Value *doc = value_from_bson(json, BSON_TYPE_DOCUMENT);

	value_set(doc, "ts",
			  value_number((model->start - MTS_UNIX_EPOCH) / 1000,
						   BSON_TYPE_DATE_TIME));
	bson_destroy(json);
	return doc;
}

static void
test_store(const WriteCase *of)
{
	static WriteTest test;
	static Round round;
	MtsRange all = {MTS_TIME_MIN, MTS_TIME_MAX};
	MtsRanges ranges = {1, &all};
	MtsArena *arena = mts_arena_new(realloc, free);
	MtsUnfold unfold;
	char name[100];
	TestZone zone = {table_time(2013, 3, 31, 2, 0, 0),
					 table_time(2013, 10, 27, 2, 0, 0)};
	/* months of 28 and 31 days, days of 23 and 25 hours */
	const MtsTime times[] = {table_time(2013, 2, 28, 3, 0, 0), zone.from,
							 zone.to - MTS_SECOND};

	writes_declare(of, &test);
	test.table.layout.clock = table_clock(&zone);
	mts_unfold_init(&unfold, &test.table.layout, &ranges, arena);
	for (int turn = 0; turn < 30; turn++)
	{
		Model model = {.layout = &test.table.layout, .start = times[turn % 3]};
		Value *doc;

		if (!mts_span_is_zero(model.layout->span))
			model.start = mts_clock_floor(&model.layout->clock, model.start,
										  model.layout->span);
		value_reset();
		doc = begin_bucket(of, &model);
		for (int i = 0; i < ROUNDS; i++)
		{
			choose_round(&model, &round);
			if (round.n == 0)
				continue;
			if (!store_round(&model, &round, i == 0, doc))
				break;
			check_document(&model, &unfold, doc, of->name);
			if (i == 0 && round.points_are_new && !of->want)
				check_new_bucket(&model, &round, doc, of->name);
		}
	}
	mts_arena_free(arena);
	writes_close(&test);
	snprintf(name, sizeof(name), "the bucket has the written points: %s",
			 of->name);
	tap_claim(name);
}

int
main(void)
{
	tap_seed();
	for (int i = 0; i < NSTORES; i++)
		test_store(&stores[i]);
	return tap_done();
}
