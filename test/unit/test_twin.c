/*
 * test_twin.c
 *		Proves which documents are the same bucket.
 */
#include "advice/check/twin.h"
#include "shell.h"

#define MAX_ITEMS 6

typedef struct Case
{
	const char *name;
	const char *items[MAX_ITEMS][3]; /* collection, values and _id */
	const char *want;                /* documents, and two _ids */
} Case;

static const Case cases[] = {
	{"no documents", {{NULL}}, "0"},
	{"different values",
	 {{"c", "{'0': 1}", "a"}, {"c", "{'0': 2}", "b"}, {"c", "{}", "c"}},
	 "0"},
	{"the same values",
	 {{"c", "{'0': 1}", "b"}, {"c", "{'0': 2}", "c"}, {"c", "{'0': 1}", "a"}},
	 "2 a b"},
	{"several groups",
	 {{"c", "{'0': 1}", "a"},
	  {"c", "{'0': 2}", "b"},
	  {"c", "{'0': 1}", "c"},
	  {"c", "{'0': 2}", "d"},
	  {"c", "{'0': 2}", "e"}},
	 "5 a c"},
	{"other collections",
	 {{"c", "{'0': 1}", "a"}, {"d", "{'0': 1}", "b"}},
	 "0"},
	{"a document that is given twice",
	 {{"c", "{'0': 1}", "a"}, {"c", "{'0': 1}", "a"}},
	 "0"},
	{"and another one",
	 {{"c", "{'0': 1}", "a"}, {"c", "{'0': 1}", "b"}, {"c", "{'0': 1}", "a"}},
	 "2 a b"},
	{"whole numbers of other types",
	 {{"c", "{'0': 1, '1': 'x'}", "a"},
	  {"c", "{'0': 1.5, '1': 'x'}", "b"},
	  {"c", "{'0': {'$numberLong': '1'}, '1': 'x'}", "c"},
	  {"c", "{'0': 1.0, '1': 'x'}", "d"},
	  {"c", "{'0': {'$numberLong': '1'}, '1': 'y'}", "e"}},
	 "3 a c"},
	{"null and types",
	 {{"c", "{'0': null}", "a"},
	  {"c", "{'0': 1}", "b"},
	  {"c", "{'0': '1'}", "c"}},
	 "0"},
};

int
main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		MtsTwin items[MAX_ITEMS];
		MtsTwins twins;
		char got[64];
		int n = 0;

		for (; n < MAX_ITEMS && cases[i].items[n][0]; n++)
			items[n] = (MtsTwin){cases[i].items[n][0],
								 shell_parse(cases[i].items[n][1]),
								 cases[i].items[n][2]};
		twins = mts_twin_find(items, n);
		snprintf(got, sizeof(got), "%d%s%s%s%s", (int) twins.documents,
				 twins.first ? " " : "", twins.first ? twins.first->id : "",
				 twins.second ? " " : "",
				 twins.second ? twins.second->id : "");
		is_text(got, cases[i].want, cases[i].name);
		for (int j = 0; j < n; j++)
			bson_destroy((bson_t *) items[j].values);
	}
	return tap_done();
}
