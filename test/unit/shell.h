/*
 * shell.h
 *		Converts documents to text in the shell's syntax, and from extended
 *		JSON.
 *
 * An apostrophe stands for a quotation mark, which C would require escaped.
 */
#ifndef SHELL_H
#define SHELL_H

#include <bson/bson.h>

#include "core/bson/print.h"
#include "tap.h"

#define SHELL_TEXT 16384

/* Append text to a buffer of SHELL_TEXT bytes, truncated. */
static inline void
shell_append(void *arg, const char *text, size_t len)
{
	char *buffer = arg;
	size_t used = strlen(buffer);

	if (used + len >= SHELL_TEXT)
		len = SHELL_TEXT - 1 - used;
	memcpy(buffer + used, text, len);
	buffer[used + len] = '\0';
}

/* Replace quotation marks by apostrophes. */
static inline char *
shell_unquote(char *text)
{
	for (char *c = text; *c; c++)
		if (*c == '"')
			*c = '\'';
	return text;
}

/* Print a document with its quotation marks.  The result is valid until the
 * next call. */
static inline const char *
shell_print_quoted(const bson_t *doc, MtsPrintStyle style)
{
	static char text[SHELL_TEXT];
	MtsSink sink = {shell_append, text};

	text[0] = '\0';
	mts_print_document(doc, false, style, &sink);
	return text;
}

/*
 * Print a document or an array, truncated to the buffer.  The result is valid
 * until the next call.
 */
static inline const char *
shell_print(const bson_t *doc, bool is_array)
{
	static char text[SHELL_TEXT];
	MtsSink sink = {shell_append, text};

	text[0] = '\0';
	mts_print_document(doc, is_array, MTS_PRINT_SHELL, &sink);
	return shell_unquote(text);
}

static inline const char *
shell_print_value(const bson_value_t *value)
{
	static char text[SHELL_TEXT];
	MtsSink sink = {shell_append, text};
	bson_t doc = BSON_INITIALIZER;
	bson_iter_t iter;

	text[0] = '\0';
	bson_append_value(&doc, "v", 1, value);
	bson_iter_init_find(&iter, &doc, "v");
	mts_print_value(&iter, MTS_PRINT_SHELL, &sink);
	bson_destroy(&doc);
	return shell_unquote(text);
}

/* Parse a document from extended JSON.  The caller destroys it. */
static inline bson_t *
shell_parse(const char *json)
{
	char text[SHELL_TEXT];
	bson_error_t error;
	bson_t *doc;

	snprintf(text, sizeof(text), "%s", json);
	for (char *at = text; *at; at++)
		if (*at == '\'')
			*at = '"';
	doc = bson_new_from_json((const uint8_t *) text, -1, &error);
	if (!doc)
	{
		printf("Bail out! %s in %s\n", error.message, json);
		exit(1);
	}
	return doc;
}

#endif /* SHELL_H */
