/*
 * server_error.h
 *		The error codes of MongoDB's server that this extension knows.
 */
#ifndef MTS_SERVER_ERROR_H
#define MTS_SERVER_ERROR_H

#include "postgres.h"

/* Codes that other files name */
#define MTS_CODE_UNAUTHORIZED 13
#define MTS_CODE_AUTHENTICATION_FAILED 18
#define MTS_CODE_IMMUTABLE_FIELD 66
#define MTS_CODE_WRITE_CONFLICT 112
#define MTS_CODE_VIEW 166 /* CommandNotSupportedOnView */
#define MTS_CODE_SNAPSHOT_TOO_OLD 239
#define MTS_CODE_SNAPSHOT_UNAVAILABLE 246
#define MTS_CODE_NOT_IN_TRANSACTION 263 /* OperationNotSupportedIn.. */
#define MTS_CODE_TOO_LARGE 10334
#define MTS_CODE_DUPLICATE_KEY 11000
#define MTS_CODE_TRANSACTION_TOO_OLD 225
#define MTS_CODE_NO_SUCH_TRANSACTION 251

/* Of a row with another attribute than its bucket */
#define MTS_ATTRIBUTE_HINT \
	"Omit columns with role \"attribute\", or give NULL, to keep the values " \
	"of the bucket."

/* Whether a command or a write is sent again after an error with a code */
typedef enum MtsRetryRule
{
	/* no: the server would refuse it again */
	MTS_RETRY_NEVER,

	/* the write is: another session was in its way */
	MTS_RETRY_WRITE,

	/* the write is, outside of a transaction, which cannot have it */
	MTS_RETRY_PLAIN,

	/* the transaction is, in parts: it was too large or took too long */
	MTS_RETRY_IN_PARTS,

	/* the command is, if it has the same effect twice as once: an election or
	 * a restart ended it, and it may have been done */
	MTS_RETRY_AFTER_ELECTION,

	/* likewise, but it was not done: the member has become a secondary, which
	 * refuses a command before it begins */
	MTS_RETRY_ON_PRIMARY,

	/* no: it was ended for good midway, so it may have been done in part */
	MTS_RETRY_UNSAFE
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
extern bool mts_server_error_ends_wait(uint32 code);

#endif /* MTS_SERVER_ERROR_H */
