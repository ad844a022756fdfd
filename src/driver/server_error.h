/*
 * server_error.h
 *		The error codes of MongoDB's server that this extension knows.
 */
#ifndef MTS_SERVER_ERROR_H
#define MTS_SERVER_ERROR_H

#include "postgres.h"

/* Codes that other files name */
#define MTS_CODE_AUTHENTICATION_FAILED 18
#define MTS_CODE_VIEW 166 /* CommandNotSupportedOnView */
#define MTS_CODE_TOO_LARGE 10334
#define MTS_CODE_DUPLICATE_KEY 11000

/* What a code says of sending the command or the write again */
typedef enum MtsRetryRule
{
	MTS_RETRY_NEVER,       /* the server would refuse it again */
	MTS_RETRY_WRITE,       /* another session was in the way of a write */
	MTS_RETRY_AFTER,       /* an election or a restart ended the command; it
							 * may have been done */
	MTS_RETRY_ON_PRIMARY,  /* an election made the member a secondary, which
							 * refuses the command before it begins */
	MTS_RETRY_OUTCOME_OPEN /* the command was ended for good midway, so some
							 * of its writes may have been done */
} MtsRetryRule;

typedef struct MtsServerError
{
	uint32 code;
	MtsRetryRule retry;
	int sqlstate;
	const char *hint; /* NULL without one */
} MtsServerError;

extern MtsServerError mts_server_error(uint32 code);
extern bool mts_server_error_is_election(uint32 code);

#endif /* MTS_SERVER_ERROR_H */
