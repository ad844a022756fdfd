/*
 * report.h
 *		Which SQLSTATE, detail and hint is this bson_error_t?
 */
#ifndef MTS_REPORT_H
#define MTS_REPORT_H

#include "postgres.h"

#include "mongoc/mongoc.h"

#include "core/layout/path.h"

/* CommandNotSupportedOnView, a code of MongoDB's server */
#define MTS_SERVER_IS_VIEW 166
#define MTS_SERVER_DUPLICATE_KEY 11000

/* Our code of MONGOC_ERROR_SERVER_SELECTION where members answer, but not the one */
#define MTS_NO_MEMBER 1

typedef struct MtsMeaning
{
	int sqlstate;
	const char *hint; /* or NULL */
} MtsMeaning;

extern MtsMeaning mts_report_meaning(uint32 code);
extern bool mts_report_refuse(MtsError *error, const char *detail,
							  const char *hint);
extern _Noreturn void mts_report_raise(const char *what,
									   const bson_error_t *error);

#endif /* MTS_REPORT_H */
