/*
 * document.c
 *		Tie libbson's documents to memory contexts, and write them as text.
 *
 * An error can leave at any call of PostgreSQL's; what hangs on a context is
 * freed with it.  Texts are palloc'd, in the server's encoding.
 */
#include "document.h"

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "utils/memutils.h"

#include "core/print.h"

/*
 * mts_release_with_context
 *		Have release(object) called when the current context is reset.
 */
void
mts_release_with_context(void (*release)(void *), void *object)
{
	MemoryContextCallback *callback = palloc(sizeof(*callback));

	callback->func = release;
	callback->arg = object;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, callback);
}

static void
release_document(void *doc)
{
	bson_destroy(doc);
}

/* Have a document destroyed with the current context. */
void
mts_document_adopt(bson_t *doc)
{
	mts_release_with_context(release_document, doc);
}

/* An empty document that lives as long as the current context. */
bson_t *
mts_document_new(void)
{
	bson_t *doc = bson_new();

	mts_document_adopt(doc);
	return doc;
}

/*
 * mts_document_from_json
 *		Read extended JSON in the server's encoding.
 *
 * NULL when it is no JSON document; *problem, palloc'd, says why.
 */
bson_t *
mts_document_from_json(const char *json, size_t len, char **problem)
{
	bson_error_t error;
	size_t blank = 0;
	char *utf8 = pg_server_to_any(json, len, PG_UTF8);
	bson_t *doc =
		bson_new_from_json((const uint8_t *) utf8,
						   utf8 == json ? (ssize_t) len : -1, &error);

	if (doc)
		mts_document_adopt(doc);

	/* libbson takes an array as a document, too */
	while (blank < len && strchr(" \t\r\n", json[blank]))
		blank++;
	if (doc && json[blank] != '{')
	{
		*problem = pstrdup("This is an array, not a document.");
		return NULL;
	}
	if (!doc)
		*problem = pstrdup(error.message);
	return doc;
}

static void
append_text(void *arg, const char *text, size_t len)
{
	appendBinaryStringInfo(arg, text, len);
}

static char *
finish_text(StringInfo text)
{
	return pg_any_to_server(text->data, text->len, PG_UTF8);
}

static char *
print_document(const bson_t *doc, MtsPrintStyle style)
{
	StringInfoData text;
	MtsSink sink = {append_text, &text};

	initStringInfo(&text);
	mts_print_document(doc, false, style, &sink);
	return finish_text(&text);
}

/* A document in the syntax of MongoDB's shell. */
char *
mts_document_shell(const bson_t *doc)
{
	return print_document(doc, MTS_PRINT_SHELL);
}

/* A document as relaxed extended JSON. */
char *
mts_document_json(const bson_t *doc)
{
	return print_document(doc, MTS_PRINT_JSON);
}

/*
 * Print one value.  libbson has no iterator over a bare value, so it goes
 * through a document of its own.
 */
static char *
print_element(const MtsElement *element, MtsPrintStyle style)
{
	uint32_t size = 4 + 1 + 1 + element->size + 1;
	uint32_t size_le = BSON_UINT32_TO_LE(size);
	uint8_t *bytes = palloc(size);
	StringInfoData text;
	MtsSink sink = {append_text, &text};
	bson_t doc;
	bson_iter_t iter;

	memcpy(bytes, &size_le, 4);
	bytes[4] = element->type;
	bytes[5] = '\0';
	memcpy(bytes + 6, element->value, element->size);
	bytes[size - 1] = '\0';
	initStringInfo(&text);
	if (bson_init_static(&doc, bytes, size) && bson_iter_init(&iter, &doc) &&
		bson_iter_next(&iter))
		mts_print_value(&iter, style, &sink);
	pfree(bytes);
	return finish_text(&text);
}

char *
mts_element_json(const MtsElement *element)
{
	return print_element(element, MTS_PRINT_JSON);
}

char *
mts_element_shell(const MtsElement *element)
{
	return print_element(element, MTS_PRINT_SHELL);
}
