/*
 * writes.h
 *		Parses tables, and writes to one of their buckets, from short text.
 *
 * Text is extended JSON with apostrophes for quotation marks; see shell.h.
 */
#ifndef WRITES_H
#define WRITES_H

#include "core/update/change.h"
#include "core/update/new_bucket.h"
#include "core/update/preaggregate.h"
#include "core/update/update.h"
#include "shell.h"
#include "tables.h"

#define WRITES_MAX 8

typedef struct WriteCase
{
	const char *name;
	/* name, path and missing value; the first column is the time */
	const char *columns[TABLE_COLUMNS][3];
	/* {mode, once, start, span, count; sum, min, max and nan: {column: ..}};
	 * start is the field of the bucket's time */
	const char *options;
	/*
	 * {edit: true, writes: [{put: [37], v: 5}], attributes, agree, hide, lows,
	 * ..}; put, add or clear has the keys of the slots
	 */
	const char *bucket;
	const char *want;
} WriteCase;

typedef struct WriteTest
{
	TestTable table;
	bson_t *options;
	bson_t *json;
	MtsBucketChange bucket;
	MtsChange items[WRITES_MAX];
	int64_t index[WRITES_MAX][MTS_MAX_SLOTS];
	const char *texts[WRITES_MAX][MTS_MAX_SLOTS];
	const MtsChange *writes[WRITES_MAX];
	bson_value_t values[WRITES_MAX][TABLE_COLUMNS];
	struct
	{
		MtsPath path;
		bson_value_t value;
		char text[64];
	} fields[WRITES_MAX];
	MtsFieldValue placed[WRITES_MAX];
	int nplaced;
} WriteTest;

/* Build a field with a name of one step. */
static inline MtsField
writes_field(const char *name)
{
	MtsField field = {.is_set = true};

	field.path.nsteps = 1;
	field.path.steps[0] =
		(MtsStep){.kind = MTS_STEP_NAME, .name = name, .len = strlen(name)};
	return field;
}

/* Parse {column: field}: the pre-aggregates of one kind. */
static inline void
writes_parse_aggregates(WriteTest *test, const bson_iter_t *option)
{
	bson_iter_t iter;

	for (bson_iter_recurse(option, &iter); bson_iter_next(&iter);)
		for (int i = 0; i < test->table.layout.ncolumns; i++)
		{
			MtsColumn *column = &test->table.columns[i];
			const char *kind = bson_iter_key(option);

			if (strcmp(column->name, bson_iter_key(&iter)) != 0)
				continue;
			if (strcmp(kind, "nan") == 0)
				column->may_be_nan = true;
			else
				*(strcmp(kind, "sum") == 0   ? &column->sum
				  : strcmp(kind, "min") == 0 ? &column->min
											 : &column->max) =
					writes_field(bson_iter_utf8(&iter, NULL));
		}
}

static inline void
writes_parse_options(WriteTest *test)
{
	MtsLayout *layout = &test->table.layout;
	bson_iter_t iter;

	for (bson_iter_init(&iter, test->options); bson_iter_next(&iter);)
	{
		const char *key = bson_iter_key(&iter);

		if (strcmp(key, "mode") == 0)
			layout->write_mode =
				strcmp(bson_iter_utf8(&iter, NULL), "push") == 0
					? MTS_WRITE_PUSH
					: MTS_WRITE_INCREMENT;
		else if (strcmp(key, "once") == 0)
			layout->assume_write_once = true;
		else if (strcmp(key, "count") == 0)
			layout->count = writes_field(bson_iter_utf8(&iter, NULL));
		else if (BSON_ITER_HOLDS_DOCUMENT(&iter))
			writes_parse_aggregates(test, &iter);
	}
}

/* Declare the table of a case. */
static inline void
writes_declare(const WriteCase *of, WriteTest *test)
{
	TestSpec spec = {.name = of->name};
	bson_iter_t option;
	MtsError error;

	memset(test, 0, sizeof(*test));
	test->options = shell_parse(of->options ? of->options : "{}");
	if (bson_iter_init_find(&option, test->options, "start"))
		spec.bucket_time_field = bson_iter_utf8(&option, NULL);
	if (bson_iter_init_find(&option, test->options, "span"))
		spec.span = bson_iter_utf8(&option, NULL);
	for (int i = 0; i < TABLE_COLUMNS && of->columns[i][0]; i++)
		spec.columns[i] = (TestColumn){of->columns[i][0], of->columns[i][1],
									   i == 0 ? MTS_ROLE_TIME : MTS_ROLE_KEY,
									   NULL, of->columns[i][2]};
	if (!table_declare(&spec, &test->table, &error))
	{
		printf("Bail out! %s: %s\n", of->name, error.detail);
		exit(1);
	}
	test->table.spec = NULL;
	writes_parse_options(test);
}

/* Parse {put: [keys of the slots], column: value, ..}. */
static inline void
writes_parse_write(WriteTest *test, const bson_iter_t *json)
{
	const MtsLayout *layout = &test->table.layout;
	int n = test->bucket.n++;
	MtsChange *write = &test->items[n];
	bson_iter_t iter, key;

	test->writes[n] = write;
	write->index = test->index[n];
	write->texts = test->texts[n];
	write->items = test->values[n];
	bson_iter_recurse(json, &iter);
	bson_iter_next(&iter);
	write->kind = bson_iter_key(&iter)[0] == 'p'   ? MTS_CHANGE_SET
				  : bson_iter_key(&iter)[0] == 'a' ? MTS_CHANGE_ADD
												   : MTS_CHANGE_REMOVE;
	bson_iter_recurse(&iter, &key);
	for (int i = 0; bson_iter_next(&key); i++)
		if (BSON_ITER_HOLDS_UTF8(&key))
			write->texts[i] = bson_iter_utf8(&key, NULL);
		else
			write->index[i] = bson_iter_as_int64(&key);
	while (bson_iter_next(&iter))
		for (int i = 0; i < layout->ncolumns; i++)
			if (strcmp(layout->columns[i].name, bson_iter_key(&iter)) == 0)
				test->values[n][layout->columns[i].place] =
					*bson_iter_value(&iter);
}

/* Parse {path: value, ..}. */
static inline MtsFields
writes_parse_fields(WriteTest *test, const bson_iter_t *json)
{
	MtsFields fields = {&test->placed[test->nplaced], 0};
	bson_iter_t iter;

	for (bson_iter_recurse(json, &iter); bson_iter_next(&iter); fields.n++)
	{
		int i = test->nplaced++;
		MtsPath *path = &test->fields[i].path;
		MtsError error;

		if (!mts_path_parse(bson_iter_key(&iter), test->fields[i].text, path,
							&error))
			abort();
		test->fields[i].value = *bson_iter_value(&iter);
		test->placed[i] =
			(MtsFieldValue){path->steps, path->nsteps, &test->fields[i].value};
	}
	return fields;
}

/* Parse the writes of a case. */
static inline void
writes_open(const WriteCase *of, WriteTest *test)
{
	MtsBucketChange *bucket = &test->bucket;
	bson_iter_t iter, write;

	writes_declare(of, test);
	test->json = shell_parse(of->bucket);
	bucket->layout = &test->table.layout;
	bucket->start = table_time(2013, 10, 10, 0, 0, 0);
	bucket->changes = test->writes;
	bucket->points_are_new = true;
	for (bson_iter_init(&iter, test->json); bson_iter_next(&iter);)
	{
		const char *key = bson_iter_key(&iter);

		if (strcmp(key, "edit") == 0)
			bucket->points_are_new = false;
		else if (strcmp(key, "writes") == 0)
			for (bson_iter_recurse(&iter, &write); bson_iter_next(&write);)
				writes_parse_write(test, &write);
		else if (strcmp(key, "agree") == 0)
			bucket->attributes_agree = true;
		else if (strcmp(key, "hide") == 0)
			bucket->hides_stored = true;
		else if (strcmp(key, "attributes") == 0)
			bucket->attributes = writes_parse_fields(test, &iter);
		else if (strcmp(key, "lows") == 0)
			bucket->lows = writes_parse_fields(test, &iter);
		else if (strcmp(key, "highs") == 0)
			bucket->highs = writes_parse_fields(test, &iter);
		else
			bucket->sums = writes_parse_fields(test, &iter);
	}
}

static inline void
writes_close(WriteTest *test)
{
	bson_destroy(test->options);
	if (test->json)
		bson_destroy(test->json);
}

/* Compare the update of each case with the expected text. */
static inline void
writes_compare(const WriteCase *cases, size_t n, bool is_pipeline)
{
	for (size_t i = 0; i < n; i++)
	{
		static WriteTest test;
		bson_t update = BSON_INITIALIZER;

		writes_open(&cases[i], &test);
		(is_pipeline ? mts_update_pipeline : mts_update_plain)(&test.bucket,
															   &update);
		is_text(shell_print(&update, is_pipeline), cases[i].want,
				cases[i].name);
		bson_destroy(&update);
		writes_close(&test);
	}
}

#endif /* WRITES_H */
