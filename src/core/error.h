/*
 * error.h
 *		The reason why the core refuses something.
 *
 * The core neither raises errors nor knows an SQLSTATE: its functions return
 * false and fill an MtsError, which the caller reports.
 */
#ifndef MTS_ERROR_H
#define MTS_ERROR_H

#include <stdbool.h>
#include <stddef.h>

typedef struct MtsError
{
	char detail[256];
	const char *hint; /* static, or NULL */
} MtsError;

extern bool __attribute__((format(printf, 3, 4)))
mts_error_set(MtsError *error, const char *hint, const char *format, ...);
extern int mts_error_clip(const char *text, size_t len, int limit);

#endif /* MTS_ERROR_H */
