/*
 * test_declared.c
 *		Proves which path is meant by a declared field that no document has.
 */
#include "advice/check/declared.h"
#include "shell.h"

typedef struct Case
{
	const char *text;
	bool is_name;
	const char *document;
	const char *want; /* "found", or the path that is meant, or nothing */
} Case;

static const Case cases[] = {
	{"a.b", false, "{'a': {'b': 1}}", "found"},
	{"a.b", true, "{'a.b': 1}", "found"},
	{"sensorid", true, "{'sensorId': 1}", "sensorId"},
	{"a.b", true, "{'a.B': 1}", "a\\.B"},
	{"a.b", true, "{'a': {'b': 1}}", "a.b"},
	{"a.b", true, "{'a': {'B': 1}}", "a.B"},
	{"a.b", true, "{'a.B': 1, 'a': {'b': 1}}", "a\\.B"},
	{"a.b", false, "{'a': {'B': 1}}", "a.B"},
	{"V.{minute}", false, "{'v': {'7': 1}}", "v.{minute}"},
	{"v.{minute}.x", true, "{'v': {'7': {'x': 1}}}", ""},
	{"a", true, "{'b': 1}", ""},
	{"a.b", true, "{'c': 1}", ""},
};

/* The first steps of texts of paths */
static const struct
{
	const char *text;
	int nsteps;
	const char *want;
} prefixes[] = {
	{"a.b.c", 2, "a.b"},
	{"a.b.c", 0, ""},
	{"a.b.c", 3, ""},
	{"a\\.b.c", 1, "a\\.b"},
	{"v.{minute}.x", 2, "v.{minute}"},
	{"p[].t", 1, "p"},
	{"p[].t", 2, "p[]"},
	{"v.{hour:00}:{minute:00}.x", 2, "v.{hour:00}:{minute:00}"},
};

int
main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		const Case *c = &cases[i];
		bson_t *doc = shell_parse(c->document);
		MtsElement element =
			mts_element_document(bson_get_data(doc), doc->len);
		char buffer[MTS_MAX_PATH], got[MTS_MAX_PATH] = "";
		MtsPath path = {.nsteps = 1};
		MtsDeclared declared;
		MtsError error;

		if (c->is_name)
			path.steps[0] = (MtsStep){.kind = MTS_STEP_NAME,
									  .name = c->text,
									  .len = strlen(c->text)};
		else if (!mts_path_parse(c->text, buffer, &path, &error))
			abort();
		mts_declared_init(&declared, &path, c->text, c->is_name);
		mts_declared_add_document(&declared, &element);
		if (!mts_declared_is_absent(&declared))
			strcpy(got, "found");
		else if (!mts_declared_correct(&declared, got))
			got[0] = '\0';
		is_text(got, c->want, c->document);
		bson_destroy(doc);
	}
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
	{
		char got[MTS_MAX_PATH];

		snprintf(got, sizeof(got), "%.*s",
				 (int) mts_declared_prefix(prefixes[i].text,
										   prefixes[i].nsteps),
				 prefixes[i].text);
		is_text(got, prefixes[i].want, prefixes[i].text);
	}
	return tap_done();
}
