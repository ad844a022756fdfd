/*
 * test_validity.c
 *		Proves that values are detected which libbson's iterator or JSON writer
 *		can't process.
 */
#include "core/bson/element.h"
#include "tap.h"

#define DEPTH 5

/* The classes of values */
typedef enum Validity
{
	BROKEN, /* libbson's iterator ends there */
	WHOLE,  /* but its text is not UTF-8 */
	SOUND
} Validity;

typedef struct Case
{
	uint8_t type;
	const char *bytes;
	size_t size;
	Validity want;
	const char *name;
} Case;

#define CASE(type, bytes, want, name) \
	{ \
		BSON_TYPE_##type, bytes, sizeof(bytes) - 1, want, name \
	}

static const Case cases[] = {
	CASE(BOOL, "\1", SOUND, "the boolean true"),
	CASE(BOOL, "\2", BROKEN, "neither true nor false"),
	CASE(UTF8, "\4\0\0\0a\0b\0", SOUND, "a NUL in text"),
	CASE(UTF8, "\3\0\0\0\xc0\x80\0", SOUND, "a NUL in two bytes"),
	CASE(UTF8, "\3\0\0\0\xff\xfe\0", WHOLE, "text that is not UTF-8"),
	CASE(CODE, "\2\0\0\0\xff\0", WHOLE, "code that is not UTF-8"),
	CASE(SYMBOL, "\2\0\0\0\xff\0", WHOLE, "a symbol that is not UTF-8"),
	CASE(REGEX, "a\0i\0", SOUND, "a regular expression"),
	CASE(REGEX, "\xff\0i\0", WHOLE, "a regular expression that is not UTF-8"),
	CASE(REGEX, "a\0\xff\0", WHOLE,
		 "a regular expression whose options are not UTF-8"),
	CASE(REGEX, "\xc0\x80\0\0", WHOLE,
		 "a regular expression with a NUL in two bytes"),
	CASE(DBPOINTER, "\2\0\0\0a\0abcdefghijkl", SOUND, "a DBPointer"),
	CASE(DBPOINTER, "\2\0\0\0\xff\0abcdefghijkl", WHOLE,
		 "a DBPointer whose collection is not UTF-8"),
	CASE(BINARY, "\1\0\0\0\0a", SOUND, "bytes"),
	CASE(BINARY, "\5\0\0\0\2\1\0\0\0a", SOUND,
		 "bytes of the old binary subtype"),
	CASE(BINARY, "\3\0\0\0\2\1\0\0", BROKEN,
		 "bytes shorter than their length"),
	CASE(BINARY, "\5\0\0\0\2\2\0\0\0a", BROKEN,
		 "bytes of the old binary subtype with a wrong inner length"),
	CASE(CODEWSCOPE, "\x0f\0\0\0\2\0\0\0a\0\5\0\0\0\0", SOUND,
		 "code and its scope"),
	CASE(CODEWSCOPE, "\x0f\0\0\0\2\0\0\0\xff\0\5\0\0\0\0", WHOLE,
		 "code and a scope that is not UTF-8"),
	CASE(CODEWSCOPE, "\x0f\0\0\0\2\0\0\0a\0\6\0\0\0\0", BROKEN,
		 "a scope longer than the value"),
	CASE(CODEWSCOPE, "\x0f\0\0\0\0\0\0\0a\0\5\0\0\0\0", BROKEN,
		 "code without a length"),
	CASE(CODEWSCOPE, "\x0f\0\0\0\x7f\0\0\0a\0\5\0\0\0\0", BROKEN,
		 "code longer than the value"),
	CASE(CODEWSCOPE, "\x0f\0\0\0\2\0\0\0ab\5\0\0\0\0", BROKEN,
		 "code without a NUL"),
	CASE(CODEWSCOPE,
		 "\x12\0\0\0\2\0\0\0a\0\x08\0\0\0\x08"
		 "b\0\2\0",
		 BROKEN, "a scope with an invalid boolean"),
};

/* Build a document {x: value} in an allocation of exactly its size. */
static uint8_t *
wrap(const Case *what, size_t *size)
{
	uint8_t *bytes;

	*size = 4 + 3 + what->size + 1;
	bytes = calloc(1, *size);
	bytes[0] = (uint8_t) *size;
	bytes[4] = what->type;
	bytes[5] = 'x';
	memcpy(bytes + 7, what->bytes, what->size);
	return bytes;
}

/*
 * Tell whether libbson's iterator finds the value, and the document's end
 * after it.
 */
static bool
libbson_reads(const uint8_t *bytes, size_t size)
{
	bson_t doc;
	bson_iter_t iter;

	return bson_init_static(&doc, bytes, size) &&
		   bson_iter_init(&iter, &doc) && bson_iter_next(&iter) &&
		   !bson_iter_next(&iter) && iter.err_off == 0;
}

static void
test_cases(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		size_t size;
		uint8_t *bytes = wrap(&cases[i], &size);
		MtsElement doc = mts_element_document(bytes, size);
		Validity got = mts_element_is_valid(&doc, DEPTH)         ? SOUND
					   : mts_element_is_well_formed(&doc, DEPTH) ? WHOLE
																 : BROKEN;

		ok(got == cases[i].want &&
			   (got == BROKEN || libbson_reads(bytes, size)),
		   "%s", cases[i].name);
		free(bytes);
	}
}

/* Nest documents, in the scope of code or not. */
static void
test_depth(void)
{
	bson_t doc = BSON_INITIALIZER;
	bson_t holder;

	for (int depth = 1; depth <= DEPTH + 1; depth++)
	{
		MtsElement element =
			mts_element_document(bson_get_data(&doc), doc.len);

		ok(mts_element_is_valid(&element, DEPTH) == (depth <= DEPTH),
		   "%d levels", depth);
		bson_init(&holder);
		if (depth % 2)
			bson_append_document(&holder, "x", -1, &doc);
		else
			bson_append_code_with_scope(&holder, "x", -1, "f()", &doc);
		bson_destroy(&doc);
		bson_steal(&doc, &holder);
	}
	bson_destroy(&doc);
}

static void
test_keys(void)
{
	static const uint8_t bytes[] = {8, 0, 0, 0, BSON_TYPE_NULL, 0xff, 0, 0};
	MtsElement doc = mts_element_document(bytes, sizeof(bytes));

	ok(mts_element_is_well_formed(&doc, DEPTH) &&
		   !mts_element_is_valid(&doc, DEPTH),
	   "a key that is not UTF-8");
}

int
main(void)
{
	test_cases();
	test_depth();
	test_keys();
	return tap_done();
}
