/*
 * error.h
 *		Which SQLSTATE, detail and hint is this bson_error_t?
 */
#ifndef MTS_ERROR_H
#define MTS_ERROR_H

#include "postgres.h"

#include "mongoc/mongoc.h"

#include "core/path.h"

/* CommandNotSupportedOnView, a code of MongoDB's server */
#define MTS_SERVER_IS_VIEW 166

typedef struct MtsMeaning
{
	int sqlstate;
	const char *hint; /* or NULL */
} MtsMeaning;

extern MtsMeaning mts_error_meaning(uint32 code);
extern bool mts_error_refuse(MtsError *error, const char *detail,
							 const char *hint);
extern _Noreturn void mts_error_raise(const char *what,
									  const bson_error_t *error);

#endif /* MTS_ERROR_H */
