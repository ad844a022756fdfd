/*
 * test_template.c
 *		Proves that a template builds the document that it describes.
 */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/bson/template.h"
#include "shell.h"

static void
check(bson_t *doc, const char *want, const char *name)
{
	is_text(shell_print(doc, false), want, name);
	bson_reinit(doc);
}

/* Tell whether a template aborts a process. */
static void
check_aborts(const char *template, const char *name)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0)
	{
		bson_t doc = BSON_INITIALIZER;
		struct rlimit none = {0, 0};

		setrlimit(RLIMIT_CORE, &none);
		mts_template_append(&doc, "k", template, "x");
		_exit(0);
	}
	ok(child > 0 && waitpid(child, &status, 0) == child &&
		   WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT,
	   name);
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
	check_aborts("'x", "refused: no closing quote");
	check_aborts("{a: 1", "refused: no closing brace");
	check_aborts("{a: nul}", "refused: an unknown word");
	check_aborts("{a: }", "refused: no value");
	check_aborts("['%i']", "refused: an int64 within a text");
	check_aborts("%x", "refused: an unknown conversion");
	bson_destroy(&doc);
	bson_destroy(&other);
	return tap_done();
}
