/*
 * test_infer.c
 *		Proves which layout is inferred from sample documents, and which
 *		remarks describe doubts.
 *
 * A declaration is one line: columns (time, keys, slots, values, attributes)
 * with their types, options, remarks after "--", and alternatives after "/".
 */
#include "bucket.h"
#include "collection.h"
#include "inferred.h"

#define MAX_SAMPLES 64

static int
infer(const MtsSample *samples, int n, const char *time, const char *meta,
	  MtsInferred *tables)
{
	static MtsClock clock;
	MtsInferHints hints = {.time = time, .meta = meta, .clock = &clock};

	clock = table_clock(NULL);
	return mts_infer(samples, n, &hints, &host, tables);
}

static void __attribute__((format(printf, 2, 3)))
add(char *text, const char *format, ...)
{
	va_list args;
	size_t len = strlen(text);

	va_start(args, format);
	vsnprintf(text + len, 4096 - len, format, args);
	va_end(args);
}

static void
add_option(char *text, const char *name, const char *value)
{
	if (*value)
		add(text, " %s %s", name, value);
}

static void
show_column(char *text, const MtsInferColumn *column)
{
	static const char *const types[] = {"json",   "bool", "int",   "long",
										"double", "num",  "text",  "time",
										"oid",    "uuid", "bytes", "any"};
	static const char *const roles[] = {"", "attribute ", "time ", "",
										"slot "};

	add(text, "%s%s%s %s%s",
		text[0] && text[strlen(text) - 2] != ':' ? ", " : "",
		roles[column->role], column->name, types[column->type],
		column->is_array ? "[]" : "");
	if (strcmp(column->name, column->field) != 0)
		add_option(text, "field", column->field);
	if (strcmp(column->format, "date") != 0)
		add_option(text, "as", column->format);
	add_option(text, "missing", column->missing);
	add_option(text, "sum", column->sum);
	add_option(text, "min", column->min);
	add_option(text, "max", column->max);
}

static const char *
show(const MtsInferred *result)
{
	static char text[4096];

	text[0] = '\0';
	if (result->group[0])
		add(text, "%s %s: ", result->group,
			result->value.type == BSON_TYPE_UTF8
				? mts_element_text(&result->value, &(size_t){0})
				: "number");
	for (int i = 0; i < result->ncolumns; i++)
		show_column(text, &result->columns[i]);
	add(text, ";");
	add_option(text, "bucket", result->bucket_time);
	if (strcmp(result->bucket_format, "date") != 0)
		add_option(text, "as", result->bucket_format);
	add_option(text, "span", result->bucket_span);
	add_option(text, "first", result->first);
	add_option(text, "last", result->last);
	add_option(text, "count", result->count);
	add_option(text, "required", result->required);
	if (result->max_points > 0)
		add(text, " limit %d", (int) result->max_points);
	if (result->slots_are_local)
		add(text, " local slots");
	if (result->truncates)
		add(text, " truncated");
	if (result->readonly)
		add(text, " readonly");
	if (result->message[0])
		add(text, " -- %s", result->message);
	if (result->detail[0])
		add(text, ": %s", result->detail);
	for (int i = 0; i < result->nalternatives; i++)
		add(text, " / %s", result->alternatives[i].condition);
	return text;
}

/* Parse an array of documents in extended JSON. */
static int
read_samples(const char *json, MtsSample *samples, bson_t **holder)
{
	char text[16384];
	bson_error_t error;
	bson_iter_t iter, child;
	int n = 0;

	snprintf(text, sizeof(text), "{\"d\": [%s]}", json);
	*holder = bson_new_from_json((const uint8_t *) text, -1, &error);
	if (!*holder || !bson_iter_init_find(&iter, *holder, "d") ||
		!bson_iter_recurse(&iter, &child))
	{
		printf("Bail out! %s\n%s\n", error.message, text);
		exit(1);
	}
	while (bson_iter_next(&child) && n < MAX_SAMPLES)
	{
		uint32_t len;

		bson_iter_document(&child, &len, &samples[n].bytes);
		samples[n++].size = len;
	}
	return n;
}

typedef struct Case
{
	const char *name;
	const char *json; /* documents, or a template of collection.h */
	const char *want;
	const char *time; /* set for a native time-series collection */
	const char *meta;
} Case;

/* In the cases, ' stands for " and T(..) for a date */
static const Case cases[] = {
#include "infer_cases.h"
#include "infer_doubtful.h"
#include "infer_names.h"
};

/* Expand the abbreviations of a case. */
static const char *
expand_dates(const char *json)
{
	static char text[16384];
	size_t len = 0;

	while (*json && len < sizeof(text) - 64)
		if (strncmp(json, "T(", 2) == 0)
		{
			len += sprintf(text + len, "{\"$date\": \"%.*sZ\"}",
						   (int) strcspn(json, ")") - 2, json + 2);
			json += strcspn(json, ")") + 1;
		}
		else
		{
			text[len++] = *json == '\'' ? '"' : *json;
			json++;
		}
	text[len] = '\0';
	return text;
}

/* Infer the tables of a case.  Returns their number. */
static int
infer_case(const Case *c, MtsInferred *tables)
{
	static Collection collection;
	static bson_t *holder;
	static MtsSample samples[MAX_SAMPLES];
	int n;

	if (holder)
		bson_destroy(holder);
	holder = NULL;
	collection_free(&collection);
	if (c->json[0] == '(')
	{
		MtsClock clock = table_clock(NULL);

		collection_make(&collection, c->json, table_time(2024, 1, 1, 0, 0, 0),
						&clock);
		return infer(collection.samples, collection.ndocs, c->time, c->meta,
					 tables);
	}
	n = read_samples(expand_dates(c->json), samples, &holder);
	return infer(samples, n, c->time, c->meta, tables);
}

static void
test_cases(void)
{
	MtsInferred tables[MTS_INFER_TABLES];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		int n = infer_case(&cases[i], tables);
		char got[8192] = "";

		for (int j = 0; j < n; j++)
		{
			strcat(got, j > 0 ? " || " : "");
			strcat(got, show(&tables[j]));
		}
		is_text(got, cases[i].want, cases[i].name);
		free_all();
	}
}

/* A user must be able to declare every inferred declaration. */
static bool
is_declarable(const MtsInferred *result)
{
	for (int i = 0; i < result->ncolumns; i++)
	{
		const MtsInferColumn *column = &result->columns[i];
		char buffer[MTS_MAX_PATH];
		MtsPath path;
		MtsFormat format;
		MtsError error;

		if (strlen(column->name) == 0 ||
			(column->field[0] &&
			 !mts_path_parse(column->field, buffer, &path, &error)) ||
			(column->format[0] &&
			 !mts_format_parse(column->format, &format, &error)))
			return false;
		for (int j = 0; j < i; j++)
			if (strcmp(result->columns[j].name, column->name) == 0)
				return false;
	}
	return true;
}

/*
 * Infer layouts from random buckets of every table, as they are and with bytes
 * changed.
 */
static void
test_random(void)
{
	static TestTable table;
	static Bucket buckets[12];
	MtsSample samples[12];
	static MtsInferred tables_of[MTS_INFER_TABLES];
	MtsInferred *result = tables_of;
	int series = 0, tables = 0;

	for (int turn = 0; turn < 10 * table_nspecs; turn++)
	{
		table_open(turn % table_nspecs, &table);
		for (int i = 0; i < 12; i++)
		{
			bucket_fill(&buckets[i], &table, bucket_random_start(&table), 20);
			samples[i] = (MtsSample){bson_get_data(&buckets[i].doc),
									 buckets[i].doc.len};
		}
		infer(samples, 12, NULL, NULL, result);
		if (!is_declarable(result))
			tap_fault("%s: %s", table.spec->name, show(result));
		tables += table.layout.ncontainers > 0;
		for (int i = 0; i < result->ncolumns; i++)
			series += result->columns[i].role == MTS_ROLE_VALUE;
		free_all();
		for (int i = 0; i < 12; i++)
			((uint8_t *) samples[i].bytes)[random_below(samples[i].size)] =
				(uint8_t) random_bits();
		infer(samples, 12, NULL, NULL, result);
		if (!is_declarable(result))
			tap_fault("%s: %s", table.spec->name, show(result));
		free_all();
		for (int i = 0; i < 12; i++)
			bson_destroy(&buckets[i].doc);
	}
	tap_claim("an inferred declaration is valid, whatever the bytes are");
	ok(series > tables / 3, "%d values in %d times a series", series, tables);
}

/* Deep nesting and too many names are cut off. */
static void
test_limits(void)
{
	static char json[8192];
	MtsSample sample;
	MtsInferred result[MTS_INFER_TABLES];
	bson_t doc = BSON_INITIALIZER;
	bson_t *holder;
	char key[16];

	for (int i = 0; i < 3000; i++)
	{
		snprintf(key, sizeof(key), "k%d", i);
		bson_append_int32(&doc, key, -1, i);
	}
	sample = (MtsSample){bson_get_data(&doc), doc.len};
	infer(&sample, 1, NULL, NULL, result);
	ok(result->ncolumns == 1000 && is_declarable(result),
	   "a thousand columns of three thousand names");
	bson_destroy(&doc);
	free_all();

	for (int i = 0; i < 90; i++)
		strcat(json, i % 3 == 0 ? "{\"0\": " : i % 3 == 1 ? "{\"n\": " : "[");
	strcat(json, "1");
	for (int i = 89; i >= 0; i--)
		strcat(json, i % 3 == 2 ? "]" : "}");
	(void) read_samples(json, &sample, &holder);
	infer(&sample, 1, NULL, NULL, result);
	ok(is_declarable(result), "ninety levels");
	bson_destroy(holder);
	free_all();
}

/* Points and times after many others are found, as they are better. */
static void
test_many_places(void)
{
	char json[4096];
	MtsSample sample;
	MtsInferred tables[MTS_INFER_TABLES];
	bson_t *holder;
	char *at = json;

	at += sprintf(at, "{'n': 1");
	for (int i = 0; i < 20; i++)
		at += sprintf(at, ", '%c': T(2024-01-01T00:00:07)", 'A' + i);
	at += sprintf(at, ", 'ts': T(2024-01-01T00:01:00)");
	for (int i = 0; i < 40; i++)
		at += sprintf(at, ", '%c%c': [1, 2]", 'a' + i % 20, 'a' + i / 20);
	at += sprintf(at, ", 'v': {'0': 1");
	for (int i = 1; i < 60; i++)
		at += sprintf(at, ", '%d': 1", i);
	sprintf(at, "}}");
	(void) read_samples(expand_dates(json), &sample, &holder);
	infer(&sample, 1, NULL, NULL, tables);
	ok(strncmp(show(tables), "time ts time", 12) == 0 &&
		   strstr(show(tables), "v double field v.{second}") != NULL,
	   "a time and points after many others");
	bson_destroy(holder);
	free_all();
}

int
main(void)
{
	tap_seed();
	test_cases();
	test_many_places();
	test_random();
	test_limits();
	return tap_done();
}
