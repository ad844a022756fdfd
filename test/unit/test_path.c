/*
 * test_path.c
 *		Proves that paths are parsed as documented, or refused with a reason.
 */
#include "core/layout/slot_key.h"
#include "tables.h"
#include "tap.h"

/* Print the texts and numbers of a key. */
static size_t
describe_key(const MtsStep *step, char *text, size_t size)
{
	const char *literal = step->name;
	size_t len = snprintf(text, size, " as ");

	for (int i = 0; i < step->nnumbers; i++)
	{
		len += snprintf(text + len, size - len, "%s%d/%d/%d", literal,
						step->numbers[i].first, step->numbers[i].width,
						(int) step->numbers[i].count);
		literal += strlen(literal) + 1;
	}
	return len + snprintf(text + len, size - len, "%s;", literal);
}

/* Print a parsed path in a notation that shows every step. */
static void
describe(const MtsPath *path, char *text, size_t size)
{
	size_t len = 0;

	text[0] = '\0';
	for (int i = 0; i < path->nsteps && len < size; i++)
	{
		const MtsStep *step = &path->steps[i];
		const MtsSpan *unit = &step->unit;

		if (step->kind == MTS_STEP_NAME)
			len += snprintf(text + len, size - len,
							step->may_be_index ? "<%s?>" : "<%s>", step->name);
		else if (step->kind == MTS_STEP_COLUMN_KEY)
			len += snprintf(text + len, size - len, "{%s}", step->name);
		else if (step->kind == MTS_STEP_ELEMENT)
			len += snprintf(text + len, size - len, "[]");
		else
			len += snprintf(text + len, size - len, "%c%dm%dd%lldus%+lld",
							step->kind == MTS_STEP_UNIT_KEY ? '#' : '@',
							unit->months, unit->days, (long long) unit->usecs,
							(long long) step->base);
		if (!mts_span_is_zero(step->of))
			len += snprintf(text + len, size - len, " of %dm%dd%lldus",
							step->of.months, step->of.days,
							(long long) step->of.usecs);
		if (step->nnumbers > 0)
			len += describe_key(step, text + len, size - len);
	}
}

static void
test_accepted(void)
{
	static const char *const cases[][2] = {
		{"value", "<value>"},
		{"a.b.c", "<a><b><c>"},
		{"*", ""},
		{"**", "<**>"},
		{"values.{second}", "<values>#0m0d1000000us+0"},
		{"values.{seconds}", "<values>#0m0d1000000us+0"},
		{"{millisecond}", "#0m0d1000us+0"},
		{"{minute}.{second}", "#0m0d60000000us+0#0m0d1000000us+0"},
		{"v.{15 minutes}.{type}.x", "<v>#0m0d900000000us+0{type}<x>"},
		{"{15minute}", "#0m0d900000000us+0"},
		{"d.{day:1}.{hour}.c", "<d>#0m1d0us+1#0m0d3600000000us+0<c>"},
		{"{month:-1}", "#1m0d0us-1"},
		{"{2 months:10}", "#2m0d0us+10"},
		{"{second:0}", "#0m0d1000000us+0"},
		{"{second:00}", "#0m0d1000000us+0 as 0/2/0;"},
		{"{month:01}.x", "#1m0d0us+1 as 1/2/0;<x>"},
		{"v.h{hour}[]", "<v>#0m0d3600000000us+0 as h0/0/0;[]"},
		{"q\\.{15 minutes:1}\\{}", "#0m0d900000000us+1 as q.1/0/0{};"},
		{"{hour:00}:{minute:00}", "#0m0d60000000us+0 as 0/2/0:0/2/60;"},
		{"{day:1}d{hour}{minute:00}{15 seconds:1}",
		 "refused: There is no text between two numbers of a key at character 26 of \"{day:1}d{hour}{minute:00}{15 seconds:1}\"."},
		{"{day:1}d{hour}{minute:00}{15 seconds:01}s",
		 "#0m0d15000000us+0 as 1/0/0d0/0/240/2/601/2/4s;"},
		{"{minute of day}", "#0m0d60000000us+0 of 0m1d0us"},
		{"{seconds of hour:0001}",
		 "#0m0d1000000us+1 of 0m0d3600000000us as 1/4/0;"},
		{"e[{minute}][{second:1}].u",
		 "<e>@0m0d60000000us+0@0m0d1000000us+1<u>"},
		{"samples[].val", "<samples>[]<val>"},
		{"samples.[].val", "<samples>[]<val>"},
		{"a[][]", "<a>[][]"},
		{"[]", "[]"},
		{"a\\.b\\{c\\[\\\\", "<a.b{c[\\>"},
		{"a}b]c", "<a}b]c>"},
		{"candles[].0", "<candles>[]<0?>"},
		{"m.8388607.10", "<m><8388607?><10?>"},
		{"m.\\10.\\1\\0", "<m><10><10>"},
		{"0.07.-1.1x.8388608.-0", "<0><07><-1><1x><8388608><-0>"},
		{"0.{hour}.3.{second}", "<0>#0m0d3600000000us+0<3?>#0m0d1000000us+0"},
		{"a b:c\"$", "<a b:c\"$>"},
		{"{a.b}", "{a.b}"},
		{"{type:1}", "{type:1}"},
		{"{Second}", "{Second}"},
		{"gr\303\274n.{h\303\266he}", "<gr\303\274n>{h\303\266he}"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		/* exactly the promised size, so that ASan sees a longer write */
		char *buffer = malloc(strlen(cases[i][0]) + 1);
		char text[1024];
		MtsPath path;
		MtsError error = {"", NULL};

		if (mts_path_parse(cases[i][0], buffer, &path, &error))
			describe(&path, text, sizeof(text));
		else
			snprintf(text, sizeof(text), "refused: %s", error.detail);
		is_text(text, cases[i][1], cases[i][0]);
		free(buffer);
	}
}

static void
test_refused(void)
{
	static const char *const cases[][2] = {
		{"", "There is an empty step at character 1 of \"\"."},
		{".a", "There is an empty step at character 1 of \".a\"."},
		{"a..b", "There is an empty step at character 3 of \"a..b\"."},
		{"a.", "There is an empty step at character 3 of \"a.\"."},
		{"a.{second",
		 "There is no closing brace for the brace at character 3 of \"a.{second\"."},
		{"\303\251.{}",
		 "There is an empty slot at character 3 of \"\303\251.{}\"."},
		{"a.{}", "There is an empty slot at character 3 of \"a.{}\"."},
		{"a.{0 seconds}",
		 "There is no valid unit at character 3 of \"a.{0 seconds}\"."},
		{"a.{15}", "There is no valid unit at character 3 of \"a.{15}\"."},
		{"a.{15 weeks}",
		 "There is no valid unit at character 3 of \"a.{15 weeks}\"."},
		{"a.{1000000 seconds}",
		 "There is no valid unit at character 3 of \"a.{1000000 seconds}\"."},
		{"a.{day:}", "There is no valid unit at character 3 of \"a.{day:}\"."},
		{"a.{day:x}",
		 "There is no valid unit at character 3 of \"a.{day:x}\"."},
		{"a.{day:1x}",
		 "There is no valid unit at character 3 of \"a.{day:1x}\"."},
		{"a.{day:1000000}",
		 "There is no valid unit at character 3 of \"a.{day:1000000}\"."},
		{"a.{day:99999999999999999999}",
		 "There is no valid unit at character 3 of \"a.{day:99999999999999999999}\"."},
		{"a.{day:-99999999999999999999}",
		 "There is no valid unit at character 3 of \"a.{day:-99999999999999999999}\"."},
		{"a.{day: 1}",
		 "There is no valid unit at character 3 of \"a.{day: 1}\"."},
		{"a[{type}]",
		 "There is no valid unit at character 3 of \"a[{type}]\"."},
		{"a[{second]",
		 "There is no closing brace for the brace at character 3 of \"a[{second]\"."},
		{"a[{second}",
		 "A bracket must hold nothing or a unit in braces at character 11 of \"a[{second}\"."},
		{"a[0]",
		 "A bracket must hold nothing or a unit in braces at character 3 of \"a[0]\"."},
		{"a[",
		 "A bracket must hold nothing or a unit in braces at character 3 of \"a[\"."},
		{"a[]b",
		 "An index must be followed by another one or a period at character 4 of \"a[]b\"."},
		{"a[]{second}",
		 "An index must be followed by another one or a period at character 4 of \"a[]{second}\"."},
		{"a.{day:-01}",
		 "There is no valid unit at character 3 of \"a.{day:-01}\"."},
		{"a.{day:0000000000000000001}",
		 "There is no valid unit at character 3 of \"a.{day:0000000000000000001}\"."},
		{"a[{second:00}]",
		 "There is no valid unit at character 3 of \"a[{second:00}]\"."},
		{"a[{second of day}]",
		 "There is no valid unit at character 3 of \"a[{second of day}]\"."},
		{"{15 day of hour}",
		 "There is no valid unit at character 1 of \"{15 day of hour}\"."},
		{"{hour}:{15 seconds:0}{second:0}",
		 "There is no text between two numbers of a key at character 22 of \"{hour}:{15 seconds:0}{second:0}\"."},
		{"{hour:00}{minute:050}{second}",
		 "There is no text between two numbers of a key at character 22 of \"{hour:00}{minute:050}{second}\"."},
		{"{minute}{second:50}",
		 "There is no text between two numbers of a key at character 9 of \"{minute}{second:50}\"."},
		{"{minute}:{hour}",
		 "There is a number that does not fit the one before it at character 10 of \"{minute}:{hour}\"."},
		{"{7 minutes}:{4 minutes}",
		 "There is a number that does not fit the one before it at character 13 of \"{7 minutes}:{4 minutes}\"."},
		{"{month}-{day}",
		 "There is a number that does not fit the one before it at character 9 of \"{month}-{day}\"."},
		{"{hour}:{minute:-1}",
		 "There is a number that does not fit the one before it at character 8 of \"{hour}:{minute:-1}\"."},
		{"{hour of day}:{minute}",
		 "There is a number that does not fit the one before it at character 15 of \"{hour of day}:{minute}\"."},
		{"{999999 days}:{millisecond}",
		 "There is a number that does not fit the one before it at character 15 of \"{999999 days}:{millisecond}\"."},
		{"{day}:{hour}:{minute}:{second}:{millisecond}",
		 "There are too many numbers in a key at character 32 of \"{day}:{hour}:{minute}:{second}:{millisecond}\"."},
		{"{hour}5{minute}",
		 "A digit cannot follow a number directly at character 7 of \"{hour}5{minute}\"."},
		{"x{type}",
		 "There is text around a slot that is not a unit at character 2 of \"x{type}\"."},
		{"{type}x",
		 "There is text around a slot that is not a unit at character 1 of \"{type}x\"."},
		{"{hour}:{type}",
		 "There is text around a slot that is not a unit at character 8 of \"{hour}:{type}\"."},
		{"a\\b",
		 "A backslash must precede \".\", \"{\", \"[\", a digit or another backslash at character 2 of \"a\\b\"."},
		{"a\\",
		 "A backslash must precede \".\", \"{\", \"[\", a digit or another backslash at character 2 of \"a\\\"."},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		char *buffer = malloc(strlen(cases[i][0]) + 1);
		char name[128];
		MtsPath path;
		MtsError error = {"", NULL};

		snprintf(name, sizeof(name), "refused: \"%s\"", cases[i][0]);
		if (mts_path_parse(cases[i][0], buffer, &path, &error))
			describe(&path, error.detail, sizeof(error.detail));
		is_text(error.detail, cases[i][1], name);
		free(buffer);
	}
}

static bool
parse_repeated(const char *piece, int n, const char *end, MtsError *error)
{
	char text[2048] = "";
	char buffer[2048];
	MtsPath path;

	for (int i = 0; i < n; i++)
		strcat(text, piece);
	strcat(text, end);
	return mts_path_parse(text, buffer, &path, error);
}

static void
test_limits(void)
{
	MtsError error = {"", NULL};

	ok(parse_repeated("a.", MTS_MAX_STEPS - 1, "a", &error), "32 steps");
	ok(!parse_repeated("a.", MTS_MAX_STEPS, "a", &error) &&
		   strcmp(error.detail, "The path has more than 32 steps.") == 0,
	   "refused: 33 steps");
	ok(parse_repeated("[]", MTS_MAX_SLOTS, "", &error), "8 slots");
	ok(!parse_repeated("[]", MTS_MAX_SLOTS + 1, "", &error) &&
		   strcmp(error.detail, "The path has more than 8 slots.") == 0,
	   "refused: 9 slots");
	ok(parse_repeated("a", MTS_MAX_PATH - 1, "", &error), "511 bytes");
	ok(!parse_repeated("a", MTS_MAX_PATH, "", &error) &&
		   strcmp(error.detail, "The path has more than 511 bytes.") == 0,
	   "refused: 512 bytes");
	ok(parse_repeated("{", 1, "second", &error) == false && !error.hint,
	   "a message without advice has no hint");
	ok(!parse_repeated("{", 1, "15 weeks}", &error) && error.hint &&
		   strncmp(error.hint, "Units are", 9) == 0,
	   "a wrong unit hints at the units");
}

static void
parse(const char *text, char *buffer, MtsPath *path)
{
	MtsError error;

	if (!mts_path_parse(text, buffer, path, &error))
		abort();
}

static void
test_questions(void)
{
	char buffers[2][64];
	char text[8];
	MtsPath a, b;

	parse("a.b.{second}.c", buffers[0], &a);
	parse("a.b.{second:1}.c", buffers[1], &b);
	ok(mts_path_starts_with(&a, &b, 2) && !mts_path_starts_with(&a, &b, 3) &&
		   !mts_path_starts_with(&a, &a, 5),
	   "the base belongs to a slot");
	parse("a.b[{second}].c", buffers[1], &b);
	ok(!mts_path_step_equal(&a.steps[2], &b.steps[2]),
	   "a key and an index are different steps");
	is_int(mts_path_addressable_steps(&a), 2,
		   "a query can address the steps before the slot");
	is_int((int64_t) mts_path_dotted(a.steps, 2, text, sizeof(text)), 3,
		   "the length of the dotted path");
	is_text(text, "a.b", "names are joined by periods");
	mts_path_dotted(a.steps, a.nsteps, text, sizeof(text));
	is_text(text, "a.b..c", "a slot that counts time has no name");
	parse("abc.def", buffers[1], &b);
	ok(mts_path_dotted(b.steps, 2, text, 6) == 5 && strcmp(text, "abc.d") == 0,
	   "a dotted path is truncated to its buffer");
	parse("a.$b", buffers[1], &b);
	is_int(mts_path_addressable_steps(&b), 1,
		   "a query can't address a dollar sign");
	parse("a.0.b", buffers[1], &b);
	is_int(mts_path_addressable_steps(&b), 1,
		   "a query with an index also finds keys of elements");
	ok(mts_path_has_index(&b) && !mts_path_has_index(&a),
	   "a number is an index");
	parse("a.\\0.b", buffers[0], &a);
	ok(!mts_path_step_equal(&a.steps[1], &b.steps[1]) &&
		   !mts_path_has_index(&a) && mts_path_addressable_steps(&a) == 3,
	   "a number after a backslash is a key");
	parse("a\\.b.c", buffers[1], &b);
	is_int(mts_path_addressable_steps(&b), 0,
		   "a query can't address a name with a period");
}

/* Each index has one key, and only that is read as the index. */
static void
test_keys(void)
{
	static const struct
	{
		const char *path;
		int64_t index;
		const char *key;
		const char *not_keys[4]; /* the first two are numbers */
	} cases[] = {
		{"{second}", 7, "7", {"07", "-0", "x", ""}},
		{"{second:00}", 7, "07", {"7", "007", "x7", ""}},
		{"{second:00}", 60, "60", {"060", "-1", "6 0", "x"}},
		{"{second:00}", 100, "100", {"0100", "00100", "1OO", ""}},
		{"{day:01}", 31, "31", {"031", "0031", "a", " 31"}},
		{"{second of day:00001}", 86400, "86400", {"086400", "8640", "", "s"}},
		{"h{hour}", 23, "h23", {"h023", "h-0", "23", "h23h"}},
		{"q{15 minutes:-1}x", -1, "q-1x", {"q-01x", "q00x", "q1", "q-x"}},
		{"{hour:00}:{minute:00}",
		 439,
		 "07:19",
		 {"7:19", "07:79", "07-19", "07:19:"}},
		{"{hour}{minute:00}", 59, "059", {"59", "0059", "a", "059:"}},
		{"{hour}{minute:00}", 1440, "2400", {"02400", "00", "h2400", "h"}},
		{"{12 hours:1}/{hour:1} {minute:00}",
		 1439,
		 "2/12 59",
		 {"2/13 00", "2/0 00", "2/12  59", "2/12 "}},
		{"{hour:00}{minute:00}{second:00}",
		 3661,
		 "010101",
		 {"10101", "016001", ":010101", ""}},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		char buffer[64], key[MTS_MAX_KEY];
		const char *text;
		size_t len;
		int64_t index;
		MtsPath path;

		parse(cases[i].path, buffer, &path);
		len = mts_slot_key_text(&path.steps[0], cases[i].index, key, &text);
		is_text(text, cases[i].key, cases[i].path);
		ok(len == strlen(text) &&
			   mts_slot_key_index(&path.steps[0], text, len, &index) ==
				   MTS_KEYTEXT_NUMBER &&
			   index == cases[i].index,
		   "%s is a key of %s", text, cases[i].path);
		for (int j = 0; j < 4; j++)
			is_int(mts_slot_key_index(&path.steps[0], cases[i].not_keys[j],
									  strlen(cases[i].not_keys[j]), &index),
				   j < 2 ? MTS_KEYTEXT_BAD_NUMBER : MTS_KEYTEXT_OTHER,
				   cases[i].not_keys[j]);
		for (int64_t n = 0; n < 200000; n++)
		{
			int64_t given = path.steps[0].base + n;

			len = mts_slot_key_text(&path.steps[0], given, key, &text);
			if (mts_slot_key_index(&path.steps[0], text, len, &index) !=
					MTS_KEYTEXT_NUMBER ||
				index != given)
				tap_fault("%s: %lld is \"%s\"", cases[i].path,
						  (long long) given, text);
		}
	}
	tap_claim("each index has a key that is read as the index");
}

/* Random texts are keys only of the index that writes them. */
static void
test_random_keys(void)
{
	static const char *const paths[] = {"{second:00}", "h{hour}",
										"{hour:00}:{minute:00}",
										"{hour}{minute:00}h"};
	static const char alphabet[] = "0123456789:h-";

	for (int turn = 0; turn < 100000; turn++)
	{
		char buffer[64], key[MTS_MAX_KEY], random[24];
		int len = (int) random_below(sizeof(random));
		const char *text;
		int64_t index;
		MtsPath path;

		for (int i = 0; i < len; i++)
			random[i] = alphabet[random_below(sizeof(alphabet) - 1)];
		parse(paths[random_below(4)], buffer, &path);
		if (mts_slot_key_index(&path.steps[0], random, len, &index) ==
				MTS_KEYTEXT_NUMBER &&
			(mts_slot_key_text(&path.steps[0], index, key, &text) !=
				 (size_t) len ||
			 memcmp(text, random, len) != 0))
			tap_fault("%.*s is read as %lld", len, random, (long long) index);
	}
	tap_claim("no other text is a key");
}

/* Parse random bytes: none overruns the buffer. */
static void
test_random(void)
{
	static const char alphabet[] = "ab.{}[]\\:* 015secondmin of";

	for (int turn = 0; turn < 20000; turn++)
	{
		int len = (int) random_below(24);
		char text[32];
		char *buffer = malloc(len + 1);
		MtsPath path;
		MtsError error;

		for (int i = 0; i < len; i++)
			text[i] = alphabet[random_below(sizeof(alphabet) - 1)];
		text[len] = '\0';
		error.detail[0] = '\0';
		if (!mts_path_parse(text, buffer, &path, &error) && !error.detail[0])
			tap_fault("no reason for \"%s\"", text);
		free(buffer);
	}
	tap_claim("random text is a path, or is refused with a reason");
}

int
main(void)
{
	tap_seed();
	test_accepted();
	test_refused();
	test_limits();
	test_questions();
	test_keys();
	test_random_keys();
	test_random();
	return tap_done();
}
