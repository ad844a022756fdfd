/*
 * template.c
 *		Append BSON from a template in the syntax of MongoDB's shell.
 *
 * A template is a string literal.  It consists of documents, arrays, text in
 * single quotes, numbers, null, true, false and NaN.  A number without a point
 * is an int32.  Conversions stand for arguments:
 *
 *		%s	const char *, a text in UTF-8
 *		%d	int, an int32
 *		%i	int64_t, an int64
 *		%v	const bson_value_t *
 *		%b	const bson_t *, the value of its first element
 *		%a	const bson_t *, an array of its elements, whatever their keys are
 *		%o	const bson_t *, a document
 *
 * %s may also be a whole key.  Within a key or single quotes, %s and %d are
 * parts of the text, which is cut at MAX_TEXT bytes.  In the place of a syntax
 * error is a field that MongoDB refuses.  Surplus commas and colons, and text
 * after the value, are ignored.
 */
#include "core/bson/template.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for a dotted path of an update (MTS_MAX_DOTTED) and text around it */
#define MAX_TEXT 2560

/* A name that neither a command nor an operator has */
#define INVALID "$invalidTemplate"

typedef struct Source
{
	const char *template;
	const char *at;
	va_list args;
} Source;

static void append_value(Source *source, bson_t *parent, const char *key);

/* Append a syntax error as a value, and ignore the rest of the template. */
static void
append_error(Source *source, bson_t *parent, const char *key)
{
	bson_t child;

	bson_append_document_begin(parent, key, -1, &child);
	bson_append_utf8(&child, INVALID, -1, source->template, -1);
	bson_append_document_end(parent, &child);
	source->at = "";
}

/* Skip to the next key or value of a parent; false at its end. */
static bool
has_next(Source *source, bson_t *parent, char end)
{
	source->at += strspn(source->at, " ,:");
	if (*source->at == '\0')
		append_error(source, parent, INVALID);
	else if (*source->at != end)
		return true;
	else
		source->at++;
	return false;
}

/*
 * Read a text up to one of the characters in ends, with its conversions, or to
 * one that cannot be part of a text.
 */
static void
read_text(Source *source, const char *ends, char text[MAX_TEXT])
{
	size_t n = 0;

	while (!strchr(ends, *source->at))
	{
		const char *part = source->at;
		size_t len = 1;
		char digits[16];

		if (*part != '%')
		{
			while (part[len] != '%' && !strchr(ends, part[len]))
				len++;
			source->at += len;
		}
		else
		{
			if (part[1] == 'd')
			{
				snprintf(digits, sizeof(digits), "%d",
						 va_arg(source->args, int));
				part = digits;
			}
			else if (part[1] == 's')
				part = va_arg(source->args, const char *);
			else
				break;
			len = strlen(part);
			source->at += 2;
		}
		if (len > MAX_TEXT - 1 - n)
			len = MAX_TEXT - 1 - n;
		memcpy(text + n, part, len);
		n += len;
	}
	text[n] = '\0';
}

/* Append the fields between the braces of a document. */
static void
append_fields(Source *source, bson_t *doc)
{
	char text[MAX_TEXT];

	source->at++;
	while (has_next(source, doc, '}'))
	{
		const char *key = text;

		if (strncmp(source->at, "%s:", 3) == 0)
		{
			key = va_arg(source->args, const char *);
			source->at += 2;
		}
		else
			read_text(source, ":", text);
		append_value(source, doc, key);
	}
}

static void
append_elements(Source *source, bson_t *array)
{
	uint32_t n = 0;

	source->at++;
	while (has_next(source, array, ']'))
	{
		char buffer[16];
		const char *key;

		bson_uint32_to_string(n++, &key, buffer, sizeof(buffer));
		append_value(source, array, key);
	}
}

/* Append an array of the elements of a document. */
static void
append_array(const bson_t *elements, bson_t *parent, const char *key)
{
	bson_iter_t iter;
	bson_t array;
	uint32_t n = 0;

	bson_append_array_begin(parent, key, -1, &array);
	for (bson_iter_init(&iter, elements); bson_iter_next(&iter);)
	{
		char buffer[16];
		const char *index;
		size_t len =
			bson_uint32_to_string(n++, &index, buffer, sizeof(buffer));

		bson_append_iter(&array, index, (int) len, &iter);
	}
	bson_append_array_end(parent, &array);
}

static void
append_argument(Source *source, bson_t *parent, const char *key)
{
	char conversion = source->at[1];
	bson_iter_t iter;

	source->at += 2;
	switch (conversion)
	{
		case 's':
			bson_append_utf8(parent, key, -1,
							 va_arg(source->args, const char *), -1);
			break;
		case 'd':
			bson_append_int32(parent, key, -1, va_arg(source->args, int));
			break;
		case 'i':
			bson_append_int64(parent, key, -1, va_arg(source->args, int64_t));
			break;
		case 'v':
			bson_append_value(parent, key, -1,
							  va_arg(source->args, const bson_value_t *));
			break;
		case 'b':
			if (bson_iter_init(&iter, va_arg(source->args, const bson_t *)) &&
				bson_iter_next(&iter))
				bson_append_iter(parent, key, -1, &iter);
			break;
		case 'a':
			append_array(va_arg(source->args, const bson_t *), parent, key);
			break;
		case 'o':
			bson_append_document(parent, key, -1,
								 va_arg(source->args, const bson_t *));
			break;
		default:
			append_error(source, parent, key);
	}
}

/* Append a number, or a word such as null. */
static void
append_word(Source *source, bson_t *parent, const char *key)
{
	char word[MAX_TEXT];
	char *end;
	double number;

	read_text(source, " ,]}", word);
	number = strtod(word, &end);
	if (strcmp(word, "null") == 0)
		bson_append_null(parent, key, -1);
	else if (strcmp(word, "true") == 0 || strcmp(word, "false") == 0)
		bson_append_bool(parent, key, -1, word[0] == 't');
	else if (strcmp(word, "NaN") == 0)
		bson_append_double(parent, key, -1, NAN);
	else if (end == word || *end != '\0')
		append_error(source, parent, key);
	else if (strchr(word, '.'))
		bson_append_double(parent, key, -1, number);
	else
		bson_append_int32(parent, key, -1, (int) number);
}

static void
append_value(Source *source, bson_t *parent, const char *key)
{
	char text[MAX_TEXT];
	bson_t child;

	source->at += strspn(source->at, " :");
	switch (*source->at)
	{
		case '{':
			bson_append_document_begin(parent, key, -1, &child);
			append_fields(source, &child);
			bson_append_document_end(parent, &child);
			break;
		case '[':
			bson_append_array_begin(parent, key, -1, &child);
			append_elements(source, &child);
			bson_append_array_end(parent, &child);
			break;
		case '\'':
			source->at++;
			read_text(source, "'", text);
			if (*source->at++ == '\'')
				bson_append_utf8(parent, key, -1, text, -1);
			else
				append_error(source, parent, key);
			break;
		case '%':
			append_argument(source, parent, key);
			break;
		default:
			append_word(source, parent, key);
	}
}

/*
 * mts_template_append
 *		Append a value under a key.
 */
void
mts_template_append(bson_t *parent, const char *key, const char *template, ...)
{
	Source source = {.template = template, .at = template};

	va_start(source.args, template);
	append_value(&source, parent, key);
	va_end(source.args);
}

/*
 * mts_template_vfields
 *		Append the fields of a document template.
 */
void
mts_template_vfields(bson_t *doc, const char *template, va_list args)
{
	Source source = {.template = template, .at = template};

	va_copy(source.args, args);
	append_fields(&source, doc);
	va_end(source.args);
}

/*
 * mts_template_fields
 *		Append the fields of a document template.
 */
void
mts_template_fields(bson_t *doc, const char *template, ...)
{
	va_list args;

	va_start(args, template);
	mts_template_vfields(doc, template, args);
	va_end(args);
}

/*
 * mts_template_push
 *		Append a value to an array.
 *
 * The array should be short, since each call counts its elements.
 */
void
mts_template_push(bson_t *array, const char *template, ...)
{
	Source source = {.template = template, .at = template};
	char buffer[16];
	const char *key;

	bson_uint32_to_string(bson_count_keys(array), &key, buffer,
						  sizeof(buffer));
	va_start(source.args, template);
	append_value(&source, array, key);
	va_end(source.args);
}
