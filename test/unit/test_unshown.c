/*
 * test_unshown.c
 *		Proves which fields of documents no path of a table leads to.
 */
#include "core/check/unshown.h"
#include "shell.h"

typedef struct Case
{
	const char *paths[4];
	const char *documents[4];
	const char
		*want; /* steps, name, documents and type, in hexadecimal, of each;
					   * documents */
} Case;

static const Case cases[] = {
	{{"a", "b"}, {"{'_id': 1, 'a': 1, 'b': {'c': 1}}"}, "0"},
	{{"a"},
	 {"{'b': 1}", "{'a': 1}", "{'b': 2, 'c': 'x'}"},
	 "0b 2:10 0c 1:2 2"},
	{{"*"}, {"{'b': 1}"}, "0"},
	/* deeper names; one below a field that is shown is shown */
	{{"m.a"}, {"{'m': {'a': {'x': 1}, 'b': 2}}"}, "1b 1:10 1"},
	{{"m.a.x"}, {"{'m': {'a': 5}, 'n': {'y': 1}}"}, "0n 1:3 1"},
	{{"m.a", "m.b"}, {"{'m': {'_id': 1, 'b': 2}}"}, "1_id 1:10 1"},
	/* slots */
	{{"v.{second}"}, {"{'v': {'7': {'x': 1}, 'total': 1}}"}, "1total 1:10 1"},
	{{"v.{second}.a", "k"},
	 {"{'v': {'7': {'a': 1, 'b': 1}, '8': {'b': 1}}, 'k': 1}"},
	 "2b 1:10 1"},
	{{"p[].t", "p[].v"},
	 {"{'p': [{'t': 1, 'q': 'x'}, {'t': 1, 'q': 'y', 'v': 1}, 5]}"},
	 "2q 1:2 1"},
	{{"p[].t"},
	 {"{'p': {'0': {'t': 1, 'q': 1}, 'n': 2}}"},
	 "2q 1:10 1n 1:10 1"},
	{{"k[].0"}, {"{'k': [[1, 2, 3]]}"}, "0"},
	{{"v.{type}"}, {"{'v': {'x': 1}}"}, "0"},
	/* types of the values */
	{{"a"}, {"{'n': 1}", "{'n': 1.5}", "{'n': null}"}, "0n 3:1 3"},
	{{"a"}, {"{'n': null}", "{'n': 'x'}", "{'n': null}"}, "0n 3:2 3"},
	{{"a"}, {"{'n': null}"}, "0n 1:a 1"},
	{{"a"}, {"{'n': 1}", "{'n': 'x'}", "{'n': 1}"}, "0n 3:0 3"},
	{{NULL}, {"{'n': 1}"}, "0"},
};

static void
describe(const Case *c, char *text, size_t size)
{
	static char buffers[4][MTS_MAX_PATH];
	static MtsPath parsed[4];
	const MtsPath *paths[4];
	int room[MTS_UNSHOWN_ROOM(4)], n = 0;
	MtsUnshown unshown;
	MtsError error;
	size_t len = 0;

	for (; n < 4 && c->paths[n]; n++)
	{
		if (!mts_path_parse(c->paths[n], buffers[n], &parsed[n], &error))
			abort();
		paths[n] = &parsed[n];
	}
	mts_unshown_init(&unshown, paths, n, room);
	for (int i = 0; i < 4 && c->documents[i]; i++)
	{
		bson_t *doc = shell_parse(c->documents[i]);
		MtsElement element =
			mts_element_document(bson_get_data(doc), doc->len);

		mts_unshown_add_document(&unshown, &element);
		/* cut short at each byte */
		for (size_t bytes = 5; i == 3 && bytes < doc->len; bytes++)
		{
			element = mts_element_document(bson_get_data(doc), bytes);
			mts_unshown_add_document(&unshown, &element);
		}
		bson_destroy(doc);
	}
	for (int i = 0; i < unshown.n; i++)
		len += snprintf(text + len, size - len, "%d%s %d:%x ",
						unshown.fields[i].steps, unshown.fields[i].name,
						(int) unshown.fields[i].documents,
						(unsigned) unshown.fields[i].type);
	snprintf(text + len, size - len, "%d", (int) unshown.incomplete);
}

/* More and longer names than are kept do no harm. */
static void
test_limits(void)
{
	bson_t doc = BSON_INITIALIZER;
	char key[2 * MTS_PROBE_KEY_SIZE], buffer[MTS_MAX_PATH];
	const MtsPath *paths[1];
	int room[MTS_UNSHOWN_ROOM(1)];
	MtsPath path;
	MtsUnshown unshown;
	MtsError error;
	MtsElement element;

	for (int i = (int) sizeof(key) - 1; i > 0; i--)
	{
		memset(key, 'k', i);
		key[i] = '\0';
		bson_append_int32(&doc, key, -1, i);
	}
	if (!mts_path_parse("a", buffer, &path, &error))
		abort();
	paths[0] = &path;
	mts_unshown_init(&unshown, paths, 1, room);
	for (size_t size = 5; size <= doc.len; size++)
	{
		element = mts_element_document(bson_get_data(&doc), size);
		mts_unshown_add_document(&unshown, &element);
	}
	ok(unshown.n == MTS_UNSHOWN_FIELDS &&
		   strlen(unshown.fields[0].name) == MTS_PROBE_KEY_SIZE - 1,
	   "many and long names, and documents that are cut short");
	bson_destroy(&doc);
}

int
main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		char got[1024];

		describe(&cases[i], got, sizeof(got));
		is_text(got, cases[i].want, cases[i].documents[0]);
	}
	test_limits();
	return tap_done();
}
