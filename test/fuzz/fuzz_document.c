/*
 * fuzz_document.c
 *		Asserts that valid documents are read and printed as a whole.
 *
 * mts_element_is_valid() decides which documents libbson may read, because
 * libbson's iterator treats malformed elements as the end of a document.
 */
#include "fuzz.h"

#include "core/bson/print.h"
#include "core/bson/element.h"
#include "core/query/counterexample.h"
#include "points.h"

const size_t fuzz_head = 1;

typedef struct Text
{
	char *bytes;
	size_t len;
	size_t room;
} Text;

size_t
fuzz_make(uint8_t *data)
{
	static Bucket bucket;
	static TestTable table;
	size_t len;

	data[0] = 0;
	table_open((int) random_below(table_nspecs), &table);
	bucket_fill(&bucket, &table, bucket_random_start(&table), 6);
	len = bucket.doc.len;
	memcpy(data + fuzz_head, bson_get_data(&bucket.doc), len);
	bson_destroy(&bucket.doc);
	return fuzz_head + len;
}

static void
take(void *arg, const char *bytes, size_t len)
{
	Text *text = arg;

	while (text->room - text->len < len + 1)
		text->bytes = realloc(text->bytes, text->room = text->room * 2 + 64);
	memcpy(text->bytes + text->len, bytes, len);
	text->len += len;
	text->bytes[text->len] = '\0';
}

/* Return the end of a JSON string, or NULL if there is none. */
static const char *
skip_string(const char *at)
{
	if (*at++ != '"')
		return NULL;
	for (; *at != '"'; at++)
		if ((unsigned char) *at < ' ' || (*at == '\\' && *++at == '\0'))
			return NULL;
	return at + 1;
}

static const char *
skip_blanks(const char *at)
{
	return at + strspn(at, " \n");
}

/* Return the end of a JSON value, or NULL if there is none. */
static const char *
skip_json(const char *at)
{
	bool is_object = *at == '{';
	const char *close = is_object ? "}" : "]";
	size_t len = strcspn(at, ",]} \n");
	char *end;

	if (*at == '"')
		return skip_string(at);
	if (!is_object && *at != '[')
	{
		if (strncmp(at, "true", len) == 0 || strncmp(at, "false", len) == 0 ||
			strncmp(at, "null", len) == 0)
			return len >= 4 ? at + len : NULL;
		strtod(at, &end);
		return strspn(at, "-0123456789.e+") == len && end == at + len ? end
																	  : NULL;
	}
	at = skip_blanks(at + 1);
	if (*at == *close)
		return at + 1;
	for (;; at = skip_blanks(at + 1))
	{
		if (is_object)
		{
			at = skip_string(at);
			at = at ? skip_blanks(at) : NULL;
			if (!at || *at != ':')
				return NULL;
			at = skip_blanks(at + 1);
		}
		at = skip_json(at);
		if (!at)
			return NULL;
		at = skip_blanks(at);
		if (*at != ',')
			return *at == *close ? at + 1 : NULL;
	}
}

static void
check_json(const Text *json)
{
	const char *end = skip_json(json->bytes);

	fuzz_check(end && end == json->bytes + json->len, "no JSON: %s",
			   json->bytes);
}

/* What a document says of a claim is valid or absent, which is not valid. */
static void
check_counterexample(const bson_t *doc)
{
	MtsCounterexample found = mts_counterexample_read(doc, 0);
	const MtsElement *parts[] = {&found.id, &found.says, &found.points_say};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		fuzz_check(mts_element_is_valid(parts[i], FUZZ_DEPTH) ==
					   (parts[i]->type != BSON_TYPE_EOD),
				   "an absent element is valid");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	MtsElement element;
	bson_t doc;

	if (size < fuzz_head || size > FUZZ_MAX)
		return 0;
	data += fuzz_head;
	size -= fuzz_head;
	element = mts_element_document(data, size);
	if (mts_element_is_valid(&element, FUZZ_DEPTH))
		fuzz_check(mts_element_is_well_formed(&element, FUZZ_DEPTH),
				   "sound, but not whole");
	else
		return 0;
	fuzz_check(fuzz_libbson_reads(data, size), "libbson reads less");
	bson_init_static(&doc, data, size);
	check_counterexample(&doc);
	for (int style = MTS_PRINT_SHELL; style <= MTS_PRINT_JSON; style++)
	{
		Text text = {NULL, 0, 0};
		MtsSink sink = {take, &text};

		mts_print_document(&doc, false, style, &sink);
		fuzz_check(bson_utf8_validate(text.bytes, text.len, false),
				   "no UTF-8 is printed");
		if (style == MTS_PRINT_JSON)
			check_json(&text);
		free(text.bytes);
	}
	return 0;
}
