/*
 * test_compose.c
 *		Proves that values are placed by their paths in documents, in dotted
 *		paths with slots, and in elements of arrays.
 */
#include "core/bson/element.h"
#include "core/update/change.h"
#include "shell.h"
#include "tables.h"

#define FIELDS 8

typedef struct Fields
{
	int n;
	MtsPath paths[FIELDS];
	char text[FIELDS][64];
	bson_value_t values[FIELDS];
	MtsFieldValue placed[FIELDS];
} Fields;

/* Add a field whose value is its index in the list. */
static void
add_field(Fields *fields, const char *path)
{
	int i = fields->n++;
	MtsError error;

	if (!mts_path_parse(path, fields->text[i], &fields->paths[i], &error))
		abort();
	fields->values[i] =
		(bson_value_t){.value_type = BSON_TYPE_INT32, .value = {.v_int32 = i}};
	fields->placed[i] =
		(MtsFieldValue){fields->paths[i].steps, fields->paths[i].nsteps,
						&fields->values[i]};
}

static void
test_documents(void)
{
	static const struct
	{
		const char *name;
		const char *paths[FIELDS];
		const char *want;
	} cases[] = {
		{"no fields", {NULL}, "{}"},
		{"a field", {"a"}, "{a: 0}"},
		{"fields stay in their order", {"b", "a"}, "{b: 0, a: 1}"},
		{"a subdocument stands where its first field is",
		 {"_id.t", "a", "_id.k"},
		 "{_id: {t: 0, k: 2}, a: 1}"},
		{"subdocuments in subdocuments",
		 {"a.b.c", "a.d", "e", "a.b.f"},
		 "{a: {b: {c: 0, f: 3}, d: 1}, e: 2}"},
		{"the same name in different subdocuments",
		 {"a.x", "b.x", "x"},
		 "{a: {x: 0}, b: {x: 1}, x: 2}"},
		{"a name that is a prefix of another",
		 {"ab.x", "a.x", "abc"},
		 "{ab: {x: 0}, a: {x: 1}, abc: 2}"},
		{"a period in a name", {"a\\.b", "a.b"}, "{'a.b': 0, a: {b: 1}}"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		bson_t doc = BSON_INITIALIZER;
		Fields fields = {0};

		for (int j = 0; j < FIELDS && cases[i].paths[j]; j++)
			add_field(&fields, cases[i].paths[j]);
		mts_change_compose(fields.placed, fields.n, &doc);
		is_text(shell_print(&doc, false), cases[i].want, cases[i].name);
		bson_destroy(&doc);
	}
}

/* Add a random path that is not a prefix or a continuation of another one. */
static void
add_random_field(Fields *fields)
{
	char path[64] = "";

	for (int64_t depth = random_between(1, 5); depth > 0; depth--)
		snprintf(path + strlen(path), sizeof(path) - strlen(path), "%s%c",
				 *path ? "." : "", (char) ('a' + random_below(3)));
	add_field(fields, path);
	for (int i = 0; i < fields->n - 1; i++)
	{
		const MtsPath *a = &fields->paths[i];
		const MtsPath *b = &fields->paths[fields->n - 1];
		int common = a->nsteps < b->nsteps ? a->nsteps : b->nsteps;

		if (mts_path_starts_with(a, b, common))
		{
			fields->n--;
			return;
		}
	}
}

/* Count the values, and the duplicate names in each document. */
static int
count_values(const bson_iter_t *doc, int *twice)
{
	bson_iter_t iter = *doc, again;
	int n = 0;

	while (bson_iter_next(&iter))
	{
		bson_iter_t child;
		int same = 0;

		for (again = *doc; bson_iter_next(&again);)
			same += strcmp(bson_iter_key(&again), bson_iter_key(&iter)) == 0;
		*twice += same > 1;
		n +=
			BSON_ITER_HOLDS_DOCUMENT(&iter) && bson_iter_recurse(&iter, &child)
				? count_values(&child, twice)
				: 1;
	}
	return n;
}

static void
test_random(void)
{
	for (int turn = 0; turn < 20000; turn++)
	{
		bson_t doc = BSON_INITIALIZER;
		Fields fields = {0};
		MtsElement whole, element;
		bson_iter_t iter;
		int twice = 0;

		for (int64_t n = random_below(FIELDS + 1); n > 0; n--)
			add_random_field(&fields);
		mts_change_compose(fields.placed, fields.n, &doc);
		whole = mts_element_document(bson_get_data(&doc), doc.len);
		for (int i = 0; i < fields.n; i++)
			if (mts_path_find(&whole, fields.paths[i].steps,
							  fields.paths[i].nsteps, &element) != MTS_FOUND ||
				element.type != BSON_TYPE_INT32 ||
				mts_element_int32(&element) != i)
				tap_fault("field %d of %s", i, shell_print(&doc, false));
		bson_iter_init(&iter, &doc);
		if (count_values(&iter, &twice) != fields.n || twice > 0)
			tap_fault("%d fields are %s", fields.n, shell_print(&doc, false));
		bson_destroy(&doc);
	}
	tap_claim("a composed document has exactly the given fields");
}

/* ---- Points -------------------------------------------------------------- */

static void
open_field(const char *path, const char *missing, TestTable *table)
{
	TestSpec spec = {.columns = {{"ts", NULL, MTS_ROLE_TIME, NULL, NULL},
								 {"type", NULL, MTS_ROLE_KEY, NULL, NULL},
								 {"v", path, MTS_ROLE_KEY, NULL, missing}}};
	MtsError error;

	if (!table_declare(&spec, table, &error))
		abort();
}

static void
test_paths(void)
{
	static struct
	{
		const char *path;
		int64_t index[2];
		const char *texts[2];
		const char *want;
	} cases[] = {
		{"v.{second}", {37}, {NULL}, "v.37"},
		{"v.{minute}.{second}", {0, 5}, {NULL}, "v.0.5"},
		{"a.b{day:1}.c.{hour}.d", {31, 23}, {NULL}, "a.b31.c.23.d"},
		{"a.{hour:00}:{minute:00}.d", {1380}, {NULL}, "a.23:00.d"},
		{"a.{hour}.{second of day:00001}", {0, 7}, {NULL}, "a.0.00007"},
		{"v[{hour}]", {7}, {NULL}, "v.7"},
		{"v.{second}.{type}.x", {4, 0}, {NULL, "di sk"}, "v.4.di sk.x"},
		{"v.{type}.{second}", {0, 4}, {"cpu", NULL}, "v.cpu.4"},
		{"v[].x", {1000000}, {NULL}, "v.1000000.x"},
	};
	char path[MTS_MAX_DOTTED];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		TestTable table;
		const MtsPath *of;
		MtsChange write = {.index = cases[i].index, .texts = cases[i].texts};
		size_t len;

		open_field(cases[i].path, NULL, &table);
		of = &table.columns[2].path;
		len = mts_change_path(of->steps, of->nsteps, &write, path);
		is_text(path, cases[i].want, cases[i].path);
		ok(len == strlen(path), "the length of the dotted path");
	}
}

/* A path that is too long is truncated, and stays within its buffer. */
static void
test_long_path(void)
{
	char path[MTS_MAX_DOTTED + 8];
	char text[MTS_MAX_DOTTED + 100];
	TestTable table;
	MtsChange write = {.index = (int64_t[]){1, 0},
					   .texts = (const char *[]){NULL, text}};

	memset(path, '#', sizeof(path));
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	open_field("v.{second}.{type}.y", NULL, &table);
	is_int((int64_t) mts_change_path(table.columns[2].path.steps, 4, &write,
									 path),
		   MTS_MAX_DOTTED - 1, "a path that is too long is truncated");
	ok(strlen(path) == MTS_MAX_DOTTED - 1 && path[MTS_MAX_DOTTED] == '#',
	   "a truncated path stays within its buffer");
}

static void
test_order(void)
{
	TestTable table;
	MtsChange a = {.index = (int64_t[]){1, 0},
				   .texts = (const char *[]){NULL, "b"}};
	MtsChange b = {.index = (int64_t[]){2, 0},
				   .texts = (const char *[]){NULL, "a"}};

	open_field("v.{second}.{type}", NULL, &table);
	ok(mts_change_compare(&table.layout, &a, &b) < 0 &&
		   mts_change_compare(&table.layout, &b, &a) > 0,
	   "writes are ordered by the keys of their slots");
	b.index[0] = 1;
	ok(mts_change_compare(&table.layout, &a, &b) > 0 &&
		   mts_change_compare(&table.layout, &b, &a) < 0,
	   "writes are ordered by the text keys of their slots");
	b.texts[1] = "b";
	b.order = 7;
	ok(mts_change_compare(&table.layout, &a, &b) == 0,
	   "writes of one slot are equal");
}

static void
test_missing(void)
{
	static const struct
	{
		MtsMissing missing;
		bson_type_t type;
		const char *want;
	} cases[] = {
		{{MTS_MISSING_NUMBER, 0, NULL}, BSON_TYPE_INT32, "0"},
		{{MTS_MISSING_NUMBER, -9999, NULL}, BSON_TYPE_INT32, "-9999"},
		{{MTS_MISSING_NUMBER, -0.5, NULL}, BSON_TYPE_DOUBLE, "-0.5"},
		{{MTS_MISSING_NUMBER, 1e300, NULL}, BSON_TYPE_DOUBLE, "1e+300"},
		{{MTS_MISSING_NUMBER, 0.0 / 0.0, NULL}, BSON_TYPE_DOUBLE, "NaN"},
		{{MTS_MISSING_TEXT, 0, "n/a"}, BSON_TYPE_UTF8, "'n/a'"},
		{{MTS_MISSING_NULL, 0, NULL}, BSON_TYPE_NULL, "null"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		bson_value_t value = mts_layout_missing_value(&cases[i].missing);
		char name[80];

		snprintf(name, sizeof(name), "what is missing is %s as %s",
				 cases[i].want, mts_element_type_name(cases[i].type));
		ok(value.value_type == cases[i].type, "%s", name);
		is_text(shell_print_value(&value), cases[i].want, name);
	}
}

int
main(void)
{
	tap_seed();
	test_documents();
	test_random();
	test_paths();
	test_long_path();
	test_order();
	test_missing();
	return tap_done();
}
