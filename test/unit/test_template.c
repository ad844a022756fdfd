/*
 * test_template.c
 *		Proves that a template builds the document that it describes.
 */
#include "core/bson/template.h"
#include "shell.h"

static void
check(bson_t *doc, const char *want, const char *name)
{
	is_text(shell_print(doc, false), want, name);
	bson_reinit(doc);
}

/* A template with an error has a field that MongoDB refuses. */
static void
check_refused(const char *template, const char *want, const char *name)
{
	bson_t doc = BSON_INITIALIZER;

	mts_template_append(&doc, "k", template, "x");
	check(&doc, want, name);
	bson_destroy(&doc);
}

int
main(void)
{
	bson_t doc = BSON_INITIALIZER, other = BSON_INITIALIZER,
		   none = BSON_INITIALIZER;
	bson_value_t value = {.value_type = BSON_TYPE_BOOL,
						  .value = {.v_bool = true}};
	bson_iter_t iter;
	char longest[3000];

	mts_template_append(&doc, "k", "{}");
	check(&doc, "{k: {}}", "an empty document");
	mts_template_append(&doc, "k", "[]");
	check(&doc, "{k: []}", "an empty array");
	mts_template_fields(&doc,
						"{a: 1, $b.c: [null, true, -2, {d: 'e'}], f: ''}");
	check(&doc, "{a: 1, '$b.c': [null, true, -2, {d: 'e'}], f: ''}",
		  "constants");
	mts_template_append(&doc, "k", "[1.5, NaN, false]");
	check(&doc, "{k: [1.5, NaN, false]}", "doubles");
	mts_template_append(&doc, "k", "{%s: %s, a%d: %d, b: '$$%s.%d', c: %v}",
						"x.y", "t, }", 1, 2, "v", 3, &value);
	check(&doc, "{k: {'x.y': 't, }', a1: 2, b: '$$v.3', c: true}}",
		  "arguments");
	mts_template_append(&doc, "k", "%i", INT64_C(7));
	bson_iter_init_find(&iter, &doc, "k");
	is_text(BSON_ITER_HOLDS_INT64(&iter) ? "int64" : "other", "int64",
			"an int64");
	bson_reinit(&doc);
	mts_template_append(&other, "", "1");
	mts_template_append(&other, "", "'x'");
	mts_template_append(&doc, "k", "[%b, %a, %a]", &other, &other, &none);
	check(&doc, "{k: [1, [1, 'x'], []]}", "elements of a document");
	mts_template_append(&doc, "k", "{a: %o}", &none);
	check(&doc, "{k: {a: {}}}", "a document");
	mts_template_push(&doc, "'a'");
	mts_template_push(&doc, "[%d]", 5);
	check(&doc, "{'0': 'a', '1': [5]}", "elements of an array");
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	mts_template_append(&doc, "k", "['%s', 1]", longest);
	bson_iter_init(&iter, &doc);
	is_text(bson_iter_find_descendant(&iter, "k.1", &iter) ? "1" : "none", "1",
			"a text too long for its buffer is truncated");
	check_refused("'x", "{k: {$invalidTemplate: ''x'}}",
				  "refused: no closing quote");
	check_refused("{a: 1",
				  "{k: {a: 1, $invalidTemplate: {$invalidTemplate: '{a: 1'}}}",
				  "refused: no closing brace");
	check_refused("[1", "{k: [1, {$invalidTemplate: '[1'}]}",
				  "refused: no closing bracket");
	check_refused(
		"{a",
		"{k: {a: {$invalidTemplate: '{a'}, $invalidTemplate: {$invalidTemplate: '{a'}}}",
		"refused: no colon");
	check_refused(
		"{a: nul}",
		"{k: {a: {$invalidTemplate: '{a: nul}'}, $invalidTemplate: {$invalidTemplate: '{a: nul}'}}}",
		"refused: an unknown word");
	check_refused(
		"{a: }",
		"{k: {a: {$invalidTemplate: '{a: }'}, $invalidTemplate: {$invalidTemplate: '{a: }'}}}",
		"refused: no value");
	check_refused(
		"['%i']",
		"{k: [{$invalidTemplate: '['%i']'}, {$invalidTemplate: '['%i']'}]}",
		"refused: an int64 within a text");
	check_refused("%x", "{k: {$invalidTemplate: '%x'}}",
				  "refused: an unknown conversion");
	check_refused("%", "{k: {$invalidTemplate: '%'}}",
				  "refused: no conversion");
	check_refused("", "{k: {$invalidTemplate: ''}}", "refused: nothing");
	bson_destroy(&doc);
	bson_destroy(&other);
	return tap_done();
}
