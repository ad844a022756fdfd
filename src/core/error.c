/*
 * error.c
 *		Format the reason of a refusal, without splitting a character.
 */
#include "core/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/*
 * mts_error_clip
 *		The length of a text without the characters beyond limit bytes.
 *
 * The text is UTF-8; of other text it may lack up to three bytes more.  The
 * result is the precision of a "%.*s".
 */
int
mts_error_clip(const char *text, size_t len, int limit)
{
	int n = limit;

	if (len <= (size_t) limit)
		return (int) len;
	while (n > 0 && limit - n < 3 && (text[n] & 0xC0) == 0x80)
		n--;
	return n;
}

/*
 * mts_error_set
 *		Set the detail and the hint of an error; always returns false.
 *
 * The detail is clipped to the room it has.  hint is a static string or NULL.
 */
bool
mts_error_set(MtsError *error, const char *hint, const char *format, ...)
{
	/* one byte more than the detail, to see whether it begins a character */
	char text[sizeof(error->detail) + 1];
	va_list args;
	int len;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	len = mts_error_clip(text, strlen(text), sizeof(error->detail) - 1);
	memcpy(error->detail, text, len);
	error->detail[len] = '\0';
	error->hint = hint;
	return false;
}
