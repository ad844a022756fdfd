/*
 * error.c
 *		The reason why the core refuses something.
 */
#include "core/error.h"

#include <stdarg.h>
#include <stdio.h>

/*
 * mts_error_set
 *		Set the detail and the hint of an error; always returns false.
 *
 * hint is a static string or NULL.
 */
bool
mts_error_set(MtsError *error, const char *hint, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error->detail, sizeof(error->detail), format, args);
	va_end(args);
	error->hint = hint;
	return false;
}
