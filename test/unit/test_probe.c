/*
 * test_probe.c
 *		Proves that a probe tells which name of a path documents lack, and
 *		which similar key they have.
 */
#include "core/layout/probe.h"
#include "shell.h"

typedef struct Case
{
	const char *path;
	const char *documents[4];
	const char *result; /* "found", "unknown", or the missing step, its keys
						 * and, after an arrow, the corrected path */
} Case;

static const Case cases[] = {
	{"a", {"{'a': 1}"}, "found"},
	{"a", {"{'a': null}"}, "found"},
	{"*", {"{}"}, "found"},
	{"a", {"{}"}, "0:"},
	{"a", {"{'b': 1, 'c': 2}"}, "0: b c"},
	{"a", {"{'b': 1}", "{'a': 1}"}, "found"},
	{"sensorid", {"{'_id': 1, 'sensorId': 2}"}, "0: _id sensorId -> sensorId"},
	{"a", {"{'b': 1}", "{'A': 1}"}, "0: b -> A"},
	{"a", {"{'ab': 1}"}, "0: ab"},
	{"a", {NULL}, "unknown"},
	/* deeper names */
	{"Meta.a.a", {"{'Meta': {'b': 1, 'A': 1}}"}, "1: b A -> Meta.A.a"},
	{"a.b", {"{'x': 1}", "{'a': {'y': 1}}", "{'z': 1}"}, "1: y"},
	{"a.b", {"{'a': null}"}, "unknown"},
	{"a.b", {"{'a': 5}", "{'x': 1}"}, "unknown"},
	{"a.b", {"{'a': [{'b': 1}]}"}, "unknown"},
	{"a.0", {"{'a': [5]}"}, "found"},
	{"A\\.b.c", {"{'a.b': {'c': 1}}"}, "0: a.b -> a\\.b.c"},
	/* slots */
	{"v.{second}", {"{'v': {'7': 1}}"}, "found"},
	{"v.{second}", {"{'v': {}}"}, "unknown"},
	{"v.{second}", {"{'V': {'7': 1}}"}, "0: V -> V.{second}"},
	{"v.{minute}.{second}", {"{'v': {'7': {}, '8': {'5': 1}}}"}, "found"},
	{"v[].Temp",
	 {"{'v': [{'t': 1}, {'t': 1, 'temp': 2}]}"},
	 "2: t -> v[].temp"},
	{"v[].t", {"{'v': [{'x': 1}, {'t': 1}]}"}, "found"},
	{"v[].t", {"{'v': [null, 5]}"}, "unknown"},
	{"v.{second}.t", {"{'v': {'7': {'x': 1}}}", "{}"}, "2: x"},
	{"t.{t}.T", {"{'t': {'a': {'t': 1}}}"}, "2: t -> t.{t}.t"},
	/* keys with texts and several numbers; others are no slot's */
	{"v.{hour:00}:{minute:00}", {"{'v': {'07:05': 1}}"}, "found"},
	{"v.{hour:00}:{minute:00}", {"{'v': {'daily': 1}}"}, "unknown"},
	{"v.h{hour}.T",
	 {"{'v': {'hours': {'x': 1}, 'h7': {'t': 1}}}"},
	 "2: t -> v.h{hour}.t"},
	{"v.{second}.t", {"{'v': {'total': {'x': 1}}}"}, "unknown"},
	{"v.{second}.t", {"{'v': [{'x': 1}]}"}, "unknown"},
	{"v.{epoch_ms}", {"{'v': {'1381446361000': 1}}"}, "found"},
	{"V.{epoch_ms}", {"{'v': {'1381446361000': 1}}"}, "0: v -> v.{epoch_ms}"},
	/* elements by their index */
	{"v[].4", {"{'v': [[], [0, 1, 2, 3, 4.5]]}"}, "found"},
	{"v[].4", {"{'v': [[0, 1], null]}"}, "unknown"},
	{"v[].4", {"{'v': [{'0': 1, '4': 2}]}"}, "found"},
	{"v[].4", {"{'v': {'0': [0, 1, 2, 3, 4]}}"}, "found"},
	{"v[].4", {"{'v': [{'o': 1, 'c': 2}]}"}, "2: o c"},
	{"v[].x", {"{'v': {'a': {'y': 1}}}"}, "unknown"},
	{"V.0.0", {"{'v': [[1]]}"}, "0: v -> v.0.0"},
	{"v[{hour}].3", {"{'v': [null, [1, 2, 3, 4]]}"}, "found"},
	{"v[{hour}].x", {"{'v': {'0': {'y': 4}}}"}, "unknown"},
	{"v.\\0", {"{'v': [5]}"}, "unknown"},
};

static void
describe(const Case *c, char *text, size_t size)
{
	char buffer[MTS_MAX_PATH];
	char corrected[MTS_MAX_PATH];
	MtsPath path;
	MtsProbe probe;
	MtsError error;
	size_t len;

	if (!mts_path_parse(c->path, buffer, &path, &error))
		abort();
	mts_probe_init(&probe, &path);
	for (int i = 0; i < 4 && c->documents[i]; i++)
	{
		bson_t *doc = shell_parse(c->documents[i]);
		MtsElement element =
			mts_element_document(bson_get_data(doc), doc->len);

		mts_probe_document(&probe, &element);
		bson_destroy(doc);
	}
	if (!mts_probe_is_absent(&probe))
	{
		snprintf(text, size, "%s", probe.is_found ? "found" : "unknown");
		return;
	}
	len = snprintf(text, size, "%d:", probe.missing_at);
	for (int i = 0; i < probe.nkeys; i++)
		len += snprintf(text + len, size - len, " %s", probe.keys[i]);
	if (mts_probe_correct(&probe, c->path, corrected))
		snprintf(text + len, size - len, " -> %s", corrected);
}

/* More and longer keys than a probe keeps do no harm. */
static void
test_limits(void)
{
	bson_t doc = BSON_INITIALIZER;
	char key[2 * MTS_PROBE_KEY_SIZE];
	char buffer[MTS_MAX_PATH];
	MtsPath path;
	MtsProbe probe;
	MtsError error;
	MtsElement element;

	for (int i = 1; i < (int) sizeof(key); i++)
	{
		memset(key, 'k', i);
		key[i] = '\0';
		bson_append_int32(&doc, key, -1, i);
	}
	key[0] = 'K';
	if (!mts_path_parse(key, buffer, &path, &error))
		abort();
	mts_probe_init(&probe, &path);
	element = mts_element_document(bson_get_data(&doc), doc.len);
	mts_probe_document(&probe, &element);
	ok(mts_probe_is_absent(&probe) && probe.nkeys == MTS_PROBE_KEYS &&
		   !probe.similar[0],
	   "a long name, and many keys");
	/* cut short at each byte */
	for (size_t size = 5; size < doc.len; size++)
	{
		element = mts_element_document(bson_get_data(&doc), size);
		mts_probe_document(&probe, &element);
	}
	ok(!probe.is_found, "documents that are cut short");
	bson_destroy(&doc);
}

int
main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		char text[512];

		describe(&cases[i], text, sizeof(text));
		is_text(text, cases[i].result, cases[i].path);
	}
	test_limits();
	return tap_done();
}
