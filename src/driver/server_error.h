/*
 * server_error.h
 *		The error codes of MongoDB's server that this extension knows.
 */
#ifndef MTS_SERVER_ERROR_H
#define MTS_SERVER_ERROR_H

#include "postgres.h"

#include "bson/bson.h"

struct MtsConnection;

/* Codes that other files name */
#define MTS_CODE_UNAUTHORIZED 13
#define MTS_CODE_AUTHENTICATION_FAILED 18
#define MTS_CODE_NO_COLLECTION 26 /* NamespaceNotFound */
#define MTS_CODE_IMMUTABLE_FIELD 66
#define MTS_CODE_WRITE_CONFLICT 112
#define MTS_CODE_VIEW 166 /* CommandNotSupportedOnView */
#define MTS_CODE_SNAPSHOT_TOO_OLD 239
#define MTS_CODE_SNAPSHOT_UNAVAILABLE 246
#define MTS_CODE_NOT_IN_TRANSACTION 263  /* OperationNotSupportedIn.. */
#define MTS_CODE_TOO_LARGE_FOR_CACHE 388 /* TransactionTooLargeForCache */
#define MTS_CODE_OVERLOADED 462          /* IngressRequestRateLimitExceeded */
#define MTS_CODE_NO_BUCKETS_COLLECTION 491 /* CommandNotSupportedOnLegacy.. */
#define MTS_CODE_TOO_LARGE 10334
#define MTS_CODE_DUPLICATE_KEY 11000
#define MTS_CODE_UNKNOWN_FIELD 40415
#define MTS_CODE_TRANSACTION_TOO_OLD 225
#define MTS_CODE_NO_SUCH_TRANSACTION 251

/* Of a row with another attribute than its bucket */
#define MTS_ATTRIBUTE_HINT \
	"Omit columns with role \"attribute\", or give NULL, to keep the values " \
	"of the bucket."

/* The kind of an error: the row of the table in server_error.c */
typedef enum MtsErrorKind
{
	MTS_ERROR_REFUSAL,     /* the server would refuse it again */
	MTS_ERROR_CONFLICT,    /* another session was in the way */
	MTS_ERROR_EXCLUDED,    /* a transaction cannot have it */
	MTS_ERROR_TOO_MUCH,    /* for a transaction, which was too large or slow */
	MTS_ERROR_ELECTION,    /* or a restart, which ended it midway */
	MTS_ERROR_NOT_PRIMARY, /* a secondary refuses it before it begins */
	MTS_ERROR_OVERLOAD,    /* the server refuses any command for a while */
	MTS_ERROR_ENDED,       /* for good, midway */
	MTS_ERROR_LOST,        /* the connection was lost before the answer */
	MTS_ERROR_UNSENT       /* no connection could be made */
} MtsErrorKind;

/* What failed: the column of the table in server_error.c */
typedef enum MtsPhase
{
	MTS_PHASE_READ,
	MTS_PHASE_WRITE,        /* a command that writes, without a transaction */
	MTS_PHASE_OPERATION,    /* one of its writes */
	MTS_PHASE_TRANSACTION,  /* a command in a transaction, or its write */
	MTS_PHASE_COMMIT,       /* of a transaction */
	MTS_PHASE_WRITE_CONCERN /* of a write or a commit that was done */
} MtsPhase;

/* What to do after an error */
typedef enum MtsDecision
{
	/* It was not done. */
	MTS_GIVE_UP,
	MTS_AGAIN_SLOWLY,     /* overload.c has sent it again a few times */
	MTS_AGAIN_LATER,      /* send it again after other sessions */
	MTS_AGAIN_PLAIN,      /* or without a transaction */
	MTS_AGAIN_IN_PARTS,   /* or less of it in a transaction */
	MTS_AGAIN_ON_PRIMARY, /* or to the server that is selected next */

	/* It may have been done. */
	MTS_AGAIN_IF_KNOWN, /* send it again to a server that knows what it has
						 * done; otherwise the outcome is unknown */
	MTS_UNKNOWN_OUTCOME
} MtsDecision;

typedef struct MtsServerError
{
	uint32 code;
	MtsErrorKind kind;
	int sqlstate;
	const char *hint; /* NULL without one */
} MtsServerError;

extern MtsServerError mts_server_error(uint32 code);
extern bool mts_server_error_has_label(const bson_t *reply, const char *name);
extern MtsDecision mts_server_error_decide_code(uint32 code, MtsPhase phase);
extern MtsDecision
mts_server_error_decide(const struct MtsConnection *connection,
						const bson_error_t *error, MtsPhase phase);

/* Tell whether a call that failed may have been done, wholly or in part. */
static inline bool
mts_server_error_may_be_done(MtsDecision decision)
{
	return decision >= MTS_AGAIN_IF_KNOWN;
}

/* Tell whether a call that failed is not to be sent again. */
static inline bool
mts_server_error_is_final(MtsDecision decision)
{
	return decision == MTS_GIVE_UP || decision == MTS_AGAIN_SLOWLY;
}

/* Tell whether an election or a lost connection is the reason of a failure. */
static inline bool
mts_server_error_asks_primary(MtsDecision decision)
{
	return decision == MTS_AGAIN_ON_PRIMARY || decision == MTS_AGAIN_IF_KNOWN;
}

#endif /* MTS_SERVER_ERROR_H */
