/*
 * document.c
 *		Tie libbson's documents to memory contexts, and convert them from and
 *		to text.
 *
 * Any call of PostgreSQL's can raise an error, so objects of libbson are freed
 * by the reset callback of a memory context.  Texts are palloc'd, and in the
 * server's encoding unless they are said to be in UTF-8.
 */
#include "driver/document.h"

#include "catalog/namespace.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "utils/memutils.h"

#include "core/bson/print.h"

/* White space around JSON */
#define BLANKS " \t\r\n"

/*
 * mts_document_release_with
 *		Have release(object) called when the current context is reset.
 *
 * When memory has run out, it is called at once, and the error raised then.
 */
void
mts_document_release_with(void (*release)(void *), void *object)
{
	MemoryContextCallback *callback =
		palloc_extended(sizeof(*callback), MCXT_ALLOC_NO_OOM);

	if (!callback)
	{
		release(object);
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	}
	callback->func = release;
	callback->arg = object;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, callback);
}

/*
 * mts_document_utf8
 *		Convert a text to UTF-8, the encoding of BSON.
 */
char *
mts_document_utf8(const char *text)
{
	return pg_server_to_any(text, strlen(text), PG_UTF8);
}

static void
release_document(void *doc)
{
	bson_destroy(doc);
}

/*
 * mts_document_adopt
 *		Have a document destroyed with the current context.
 */
void
mts_document_adopt(bson_t *doc)
{
	mts_document_release_with(release_document, doc);
}

/*
 * mts_document_copy
 *		Copy a document, which is destroyed with the current context.  NULL
 *		stays NULL.
 */
bson_t *
mts_document_copy(const bson_t *doc)
{
	bson_t *copy = doc ? bson_copy(doc) : NULL;

	if (copy)
		mts_document_adopt(copy);
	return copy;
}

/*
 * mts_document_view
 *		View a subdocument as long as its parent lives.
 *
 * Returns false when the element is not a document.
 */
bool
mts_document_view(const bson_iter_t *iter, bson_t *view)
{
	const uint8_t *data;
	uint32_t length;

	if (!BSON_ITER_HOLDS_DOCUMENT(iter))
		return false;
	bson_iter_document(iter, &length, &data);
	return bson_init_static(view, data, length);
}

static bool
find_field(const bson_t *doc, const char *path, bson_iter_t *at)
{
	bson_iter_t iter;

	return bson_iter_init(&iter, doc) &&
		   bson_iter_find_descendant(&iter, path, at);
}

/*
 * mts_document_string
 *		Return the text at a path, in UTF-8, or NULL when there is none.
 *
 * It points into the document.
 */
const char *
mts_document_string(const bson_t *doc, const char *path)
{
	bson_iter_t at;

	return find_field(doc, path, &at) && BSON_ITER_HOLDS_UTF8(&at)
			   ? bson_iter_utf8(&at, NULL)
			   : NULL;
}

/*
 * mts_document_has_collation
 *		Tell whether the description of a collection or an index has another
 *		collation than the simple one, at a path.
 *
 * Since 9.0, MongoDB describes the simple one, too.
 */
bool
mts_document_has_collation(const bson_t *doc, const char *path)
{
	const char *locale = mts_document_string(doc, psprintf("%s.locale", path));
	bson_iter_t at;

	return find_field(doc, path, &at) &&
		   !(locale && strcmp(locale, "simple") == 0);
}

/*
 * mts_document_number
 *		Return the integer or Boolean at a path, or 0 when there is none.
 */
int64
mts_document_number(const bson_t *doc, const char *path)
{
	bson_iter_t at;

	return find_field(doc, path, &at) ? bson_iter_as_int64(&at) : 0;
}

/* mts_document_count: count the items of a field that is an array. */
int
mts_document_count(const bson_t *doc, const char *field)
{
	bson_iter_t iter;

	return bson_iter_init_find(&iter, doc, field) ? mts_document_length(&iter)
												  : 0;
}

/* mts_document_length: count the items of an array; 0 for another value. */
int
mts_document_length(const bson_iter_t *array)
{
	bson_iter_t item;
	int n = 0;

	if (bson_iter_recurse(array, &item))
		while (bson_iter_next(&item))
			n++;
	return n;
}

/*
 * mts_document_new
 *		Make an empty document that lives as long as the current context.
 *
 * It can be made a view by bson_init_static().  libbson requires an alignment
 * of bson_t that palloc does not give, so no palloc'd struct contains one.
 */
bson_t *
mts_document_new(void)
{
	/* libbson's own allocation of its aligned struct takes longer */
	MemoryContextCallback *callback =
		palloc(sizeof(*callback) + sizeof(bson_t) + __alignof__(bson_t));
	bson_t *doc = (bson_t *) TYPEALIGN(__alignof__(bson_t), callback + 1);

	bson_init(doc);
	callback->func = release_document;
	callback->arg = doc;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, callback);
	return doc;
}

/*
 * mts_document_make
 *		Make a document from a template; see template.c.
 */
bson_t *
mts_document_make(const char *template, ...)
{
	bson_t *doc = mts_document_new();
	va_list args;

	va_start(args, template);
	mts_template_vfields(doc, template, args);
	va_end(args);
	return doc;
}

/* mts_document_append_item: append a value to an array of *n. */
void
mts_document_append_item(bson_t *array, uint32 *n, const bson_value_t *value)
{
	char buffer[16];
	const char *key;

	bson_uint32_to_string((*n)++, &key, buffer, sizeof(buffer));
	bson_append_value(array, key, -1, value);
}

/*
 * Tell whether valid JSON is one object with nothing after it.  libbson also
 * accepts an array, and ignores the text after a comma.
 */
static bool
is_one_object(const char *json, size_t len)
{
	size_t i = strspn(json, BLANKS);
	bool in_string = false;
	int depth = 0;

	if (json[i] != '{')
		return false;
	do
	{
		char c = json[i++];

		if (in_string && c == '\\')
			i++;
		else if (c == '"')
			in_string = !in_string;
		else if (!in_string)
			depth += (c == '{' || c == '[') - (c == '}' || c == ']');
	} while (depth > 0 && i < len);
	return depth == 0 && i + strspn(json + i, BLANKS) == len;
}

/*
 * mts_document_from_json
 *		Read a document of extended JSON.
 *
 * Returns NULL with the reason in *problem, palloc'd, when it is not one.
 */
bson_t *
mts_document_from_json(const char *json, size_t len, char **problem)
{
	const char *utf8 = pg_server_to_any(pnstrdup(json, len), len, PG_UTF8);
	size_t utf8_len = strlen(utf8);
	bson_json_reader_t *reader;
	bson_t *doc = bson_new();
	bson_error_t error = {0};
	int found;

	mts_document_adopt(doc);
	reader = bson_json_data_reader_new(false, 0);
	bson_json_data_reader_ingest(reader, (const uint8_t *) utf8, utf8_len);
	found = bson_json_reader_read(reader, doc, &error);
	bson_json_reader_destroy(reader);
	if (found == 1 && is_one_object(utf8, utf8_len))
		return doc;
	*problem = mts_document_text(
		found < 0 ? error.message : "The text is not a single JSON document.");
	return NULL;
}

static void
append_text(void *arg, const char *text, size_t len)
{
	appendBinaryStringInfo(arg, text, len);
}

/*
 * mts_document_escape
 *		Write a character as JSON and MongoDB's shell escape it; return the
 *		length.
 *
 * escape has MTS_ESCAPE_SIZE bytes.
 */
int
mts_document_escape(const unsigned char *utf8, char *escape)
{
	pg_wchar c = utf8_to_unicode(utf8);

	if (c < 0x10000)
		return snprintf(escape, MTS_ESCAPE_SIZE, "\\u%04x", c);
	return snprintf(escape, MTS_ESCAPE_SIZE, "\\u%04x\\u%04x",
					0xd800 + ((c - 0x10000) >> 10),
					0xdc00 + ((c - 0x10000) & 0x3ff));
}

/* Convert UTF-8 to the server's encoding; escape characters it lacks. */
static char *
finish_text(StringInfo text)
{
	int encoding = GetDatabaseEncoding();
	Oid conversion = encoding == PG_UTF8
						 ? InvalidOid
						 : FindDefaultConversionProc(PG_UTF8, encoding);
	StringInfoData shown;
	size_t room;
	char escape[MTS_ESCAPE_SIZE];
	char *part;

	if (!OidIsValid(conversion))
		return pg_any_to_server(text->data, text->len, PG_UTF8);
	initStringInfo(&shown);
	room = (size_t) text->len * MAX_CONVERSION_GROWTH + 1;
	part = palloc_extended(room, MCXT_ALLOC_HUGE);
	for (int at = 0; at < text->len;)
	{
		unsigned char *rest = (unsigned char *) text->data + at;

		at +=
			pg_do_encoding_conversion_buf(conversion, PG_UTF8, encoding, rest,
										  text->len - at,
										  (unsigned char *) part, room, true);
		appendStringInfoString(&shown, part);
		if (at == text->len)
			break;
		rest = (unsigned char *) text->data + at;
		(void) mts_document_escape(rest, escape);
		appendStringInfoString(&shown, escape);
		at += pg_utf_mblen(rest);
	}
	return shown.data;
}

/*
 * mts_document_text
 *		Convert a text of libmongoc or MongoDB to the server's encoding.
 *
 * A text that is cut within a character, or malformed, ends before that.
 */
char *
mts_document_text(const char *utf8)
{
	StringInfoData text;

	initStringInfo(&text);
	appendBinaryStringInfo(&text, utf8,
						   pg_encoding_verifymbstr(PG_UTF8, utf8,
												   strlen(utf8)));
	return finish_text(&text);
}

/*
 * Make a document of one value, palloc'd, with the iterator at it.  libbson
 * has no iterator over a bare value.  It rejects the type of an absent one.
 */
static void
wrap_element(const MtsElement *element, bson_t *doc, bson_iter_t *iter)
{
	uint32_t size = 4 + 1 + 1 + element->size + 1;
	uint32_t size_le = BSON_UINT32_TO_LE(size);
	uint8_t *bytes = palloc(size);

	memcpy(bytes, &size_le, 4);
	bytes[4] = element->type;
	bytes[5] = '\0';
	if (element->size > 0)
		memcpy(bytes + 6, element->value, element->size);
	bytes[size - 1] = '\0';
	if (!bson_init_static(doc, bytes, size) || !bson_iter_init(iter, doc) ||
		!bson_iter_next(iter))
		ereport(ERROR, (errcode(ERRCODE_FDW_INVALID_DATA_TYPE),
						errmsg("malformed document from MongoDB")));
}

/*
 * mts_document_value
 *		Make an element libbson's value, which points to palloc'd memory.
 *
 * Raises an error if the element is absent or malformed.
 */
bson_value_t
mts_document_value(const MtsElement *element)
{
	bson_t doc;
	bson_iter_t iter;

	wrap_element(element, &doc, &iter);
	return *bson_iter_value(&iter);
}

/* Print a value; returns NULL if it is absent or malformed. */
static char *
print_element(const MtsElement *element, MtsPrintStyle style)
{
	StringInfoData text;
	MtsSink sink = {append_text, &text};
	bson_t doc;
	bson_iter_t iter;

	if (!mts_element_is_valid(element, MTS_MAX_DEPTH))
		return NULL;
	wrap_element(element, &doc, &iter);
	initStringInfo(&text);
	mts_print_value(&iter, style, &sink);
	return finish_text(&text);
}

/*
 * mts_document_value_json
 *		Print a value as relaxed extended JSON; NULL if it is absent or
 *		malformed.
 */
char *
mts_document_value_json(const MtsElement *element)
{
	return print_element(element, MTS_PRINT_JSON);
}

/*
 * mts_document_value_shell
 *		Print a value in the syntax of MongoDB's shell, for messages.
 *
 * The element may be absent or malformed.
 */
char *
mts_document_value_shell(const MtsElement *element)
{
	char *text = print_element(element, MTS_PRINT_SHELL);

	if (text)
		return text;
	return pstrdup(element->type == BSON_TYPE_EOD ? "(none)" : "(malformed)");
}

/*
 * mts_document_id_shell
 *		Print the _id of a document in the syntax of MongoDB's shell, for
 *		messages.
 *
 * The document may be malformed, or have no _id.
 */
char *
mts_document_id_shell(const bson_t *doc)
{
	MtsElementCursor cursor;
	MtsElement field = {.type = BSON_TYPE_EOD};
	MtsNext next = MTS_NEXT_CORRUPT;

	if (mts_element_open(&cursor, bson_get_data(doc), doc->len))
		while ((next = mts_element_next(&cursor, &field)) == MTS_NEXT_OK)
			if (strcmp(field.key, "_id") == 0)
				return mts_document_value_shell(&field);
	if (next == MTS_NEXT_CORRUPT)
		return pstrdup("(malformed)");
	return mts_document_value_shell(&(MtsElement){.type = BSON_TYPE_EOD});
}

static char *
print_document(const bson_t *doc, MtsPrintStyle style)
{
	MtsElement element = mts_element_document(bson_get_data(doc), doc->len);
	char *text = print_element(&element, style);

	if (!text)
		ereport(ERROR, (errcode(ERRCODE_FDW_INVALID_DATA_TYPE),
						errmsg("malformed document from MongoDB")));
	return text;
}

/*
 * mts_document_shell
 *		Print a document in the syntax of MongoDB's shell.
 */
char *
mts_document_shell(const bson_t *doc)
{
	return print_document(doc, MTS_PRINT_SHELL);
}

/*
 * mts_document_json
 *		Print a document as relaxed extended JSON.
 */
char *
mts_document_json(const bson_t *doc)
{
	return print_document(doc, MTS_PRINT_JSON);
}
