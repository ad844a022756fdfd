/*
 * test_counted.c
 *		Proves which fields of documents equal a number of their points or
 *		values.
 */
#include "core/check/counted.h"
#include "shell.h"

#define MAX_DOCUMENTS 4

typedef struct Case
{
	const char *name;
	const char *paths[2]; /* of the containers */
	const char *documents[MAX_DOCUMENTS];
	/* of each document: points, those with a value, and values of columns */
	int64_t numbers[MAX_DOCUMENTS][4];
	const char *want; /* fields, and the first number that each equals */
} Case;

static const Case cases[] = {
	{"the points",
	 {"v.{second}"},
	 {"{'n': 2, 'v': {'0': 1, '1': 2}}", "{'n': 1, 'v': {'0': 1}}",
	  "{'n': 3, 'v': {'0': 1, '1': 3, '2': 3}}"},
	 {{2, 2}, {1, 1}, {3, 3}},
	 "n 0"},
	{"two documents show nothing",
	 {"v.{second}"},
	 {"{'n': 2}", "{'n': 1}"},
	 {{2, 2}, {1, 1}},
	 "n -1"},
	{"a small number that is constant shows nothing, a larger one does",
	 {"v[]"},
	 {"{'a': 5, 'b': 6}", "{'a': 5, 'b': 6}", "{'a': 5, 'b': 6}"},
	 {{5, 6}, {5, 6}, {5, 6}},
	 "a -1, b 1"},
	{"points that are not null",
	 {"v[{minute}]"},
	 {"{'n': 2}", "{'n': 1}", "{'n': 3}"},
	 {{4, 2}, {4, 1}, {4, 3}},
	 "n 1"},
	{"the values of a column",
	 {"v[]"},
	 {"{'a': 2, 'b': 3}", "{'a': 1, 'b': 4}", "{'a': 2, 'b': 4}"},
	 {{4, 4, 2, 3}, {4, 4, 1, 4}, {4, 4, 2, 4}},
	 "a 2, b 3"},
	{"another field in a document, or none",
	 {"v[]"},
	 {"{'a': 2, 'b': 2}", "{'a': 1, 'b': 2}", "{'b': 3}"},
	 {{2, 2}, {1, 1}, {3, 3}},
	 "a -1, b -1"},
	{"fields of subdocuments, also beside slots",
	 {"m.v.{hour}.{minute}", "k.{hour}"},
	 {"{'m': {'n': 1, 'x': {'a.b': 1}, 'v': {'n': 1, '7': {'5': 1, 'q': 1}}}}",
	  "{'m': {'n': 2, 'x': {'a.b': 2}, 'v': {'n': 2, '7': {'5': 2}}}}",
	  "{'m': {'n': 3, 'x': {'a.b': 3}, 'v': {'n': 3, '7': {'5': 3}}}}"},
	 {{1, 1}, {2, 2}, {3, 3}},
	 "m.n 0, m.x.a\\.b 0, m.v.n 0"},
	{"slots of the document itself, and elements of arrays",
	 {"{minute}"},
	 {"{'0': 1, 'n': 1, 'a': [1]}", "{'0': 2, 'n': 2, 'a': [2]}",
	  "{'0': 3, 'n': 3, 'a': [3]}"},
	 {{1, 1}, {2, 2}, {3, 3}},
	 "n 0"},
};

/* Set the numbers of a document: n of them, as a case has them. */
static void
set_points(MtsCountedPoints *points, const int64_t *numbers, int n)
{
	memset(points, 0, sizeof(*points));
	points->n = numbers[MTS_COUNTED_POINTS];
	points->readings = numbers[MTS_COUNTED_READINGS];
	points->ncolumns = n - MTS_COUNTED_VALUES;
	for (int i = 0; i < points->ncolumns; i++)
		points->columns[i].n = numbers[MTS_COUNTED_VALUES + i];
}

/* Return where a case has the number that a field equals; or -1. */
static int
number_of_case(const MtsCounted *counted, int field)
{
	int number = mts_counted_number(counted, field);

	return number < MTS_COUNTED_VALUES
			   ? number
			   : MTS_COUNTED_VALUES +
					 (number - MTS_COUNTED_VALUES) / MTS_DERIVED_NUMBERS;
}

static void
describe(const Case *c, char *text, size_t size)
{
	static char buffers[2][MTS_MAX_PATH];
	static MtsPath paths[2];
	MtsContainer containers[2];
	MtsLayout layout = {.containers = containers};
	MtsCounted counted = {.layout = &layout};
	MtsCountedPoints points;
	MtsError error;
	size_t len = 0;
	int n = 2;

	for (int i = 0; i < 2 && c->paths[i]; i++)
	{
		if (!mts_path_parse(c->paths[i], buffers[i], &paths[i], &error))
			abort();
		containers[layout.ncontainers++].path = &paths[i];
	}
	while (n < 4 && c->numbers[0][n] > 0)
		n++;
	for (int i = 0; i < MAX_DOCUMENTS && c->documents[i]; i++)
	{
		bson_t *doc = shell_parse(c->documents[i]);
		MtsElement element =
			mts_element_document(bson_get_data(doc), doc->len);

		set_points(&points, c->numbers[i], n);
		mts_counted_add_document(&counted, &element, &points);
		bson_destroy(doc);
	}
	text[0] = '\0';
	for (int i = 0; i < counted.n; i++)
		len += snprintf(text + len, size - len, "%s%s %d", i > 0 ? ", " : "",
						counted.fields[i].path, number_of_case(&counted, i));
}

/* Many fields, long names and deep subdocuments do no harm. */
static void
test_limits(void)
{
	bson_t doc = BSON_INITIALIZER, outer;
	char key[2 * MTS_MAX_PATH];
	MtsLayout layout = {0};
	MtsCounted counted = {.layout = &layout};
	int64_t numbers[MTS_COUNTED_VALUES + MTS_COUNTED_COLUMNS];
	MtsCountedPoints points;
	MtsElement element;

	for (int i = 0; i < MTS_COUNTED_VALUES + MTS_COUNTED_COLUMNS; i++)
		numbers[i] = 7;
	set_points(&points, numbers, MTS_COUNTED_VALUES + MTS_COUNTED_COLUMNS);
	for (int i = (int) sizeof(key) - 1; i > 0; i--)
	{
		memset(key, '.', i);
		key[i] = '\0';
		bson_append_int32(&doc, key, -1, 7);
	}
	for (int i = 0; i < 100; i++)
	{
		bson_init(&outer);
		bson_append_int32(&outer, "n", -1, 7);
		bson_append_document(&outer, "d", -1, &doc);
		bson_destroy(&doc);
		bson_steal(&doc, &outer);
	}
	for (size_t size = 5; size <= doc.len; size += size < 200 ? 1 : 997)
	{
		element = mts_element_document(bson_get_data(&doc), size);
		mts_counted_add_document(&counted, &element, &points);
	}
	ok(counted.n <= MTS_COUNTED_FIELDS,
	   "many fields, long names, depth, and documents that are cut short");
	bson_destroy(&doc);
}

int
main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		char got[1024];

		describe(&cases[i], got, sizeof(got));
		is_text(got, cases[i].want, cases[i].name);
	}
	test_limits();
	return tap_done();
}
