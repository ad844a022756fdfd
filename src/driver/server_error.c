/*
 * server_error.c
 *		The error codes of MongoDB's server that this extension knows.
 *
 * This is the only list of codes.  Each has the SQLSTATE and the hint of the
 * error that report.c raises, and a kind.  A table then says for each kind
 * whether to send a read, a write, or a transaction again.  It is the only
 * place that decides that.  docs/transactions.md prints it.
 *
 * A duplicate key and a snapshot that is not available have further remedies,
 * which bulk.c and cursor.c know.
 */
#include "driver/server_error.h"

#include "compat.h"
#include "driver/connection.h"

#define INDEX_CONFLICT_HINT \
	"Drop the index that has the same name or fields. To keep its options, " \
	"such as a TTL, create it again as a unique index of all documents."
#define CONFLICT_HINT \
	"Another session, or this one outside of the transaction, wrote to the " \
	"same buckets. Run the statement, or the whole transaction, again."
#define ABORTED_HINT \
	"Another session or an election was in the way, or the transaction has " \
	"lasted longer than the server allows " \
	"(transactionLifetimeLimitSeconds). Run it again. For large loads, set " \
	"option \"transactions\" of the foreign table to \"batch\"."
#define NO_TRANSACTION_HINT \
	"MongoDB does not allow this in a transaction, for example because the " \
	"collection is a capped or a time-series collection. Set option " \
	"\"transactions\" of the foreign table to \"off\"."
#define PARTS_HINT \
	"Write less in a transaction. For large loads, set option " \
	"\"transactions\" of the foreign table to \"batch\"."
#define TOO_LARGE_HINT \
	"A MongoDB document holds at most 16 MB. Make smaller buckets by a " \
	"shorter \"bucket_span\" or by option \"bucket_max_points\"."

#define MEMORY_HINT \
	"MongoDB needs more memory for the query than one operation may use. " \
	"Read a shorter range of time or fewer series, or create an index in " \
	"the order of the query by mongo_ts_create_index()."

/* Without an SQLSTATE it is ERRCODE_FDW_ERROR. */
static const MtsServerError errors[] = {
	/* elections and restarts, as in the specification of MongoDB's drivers */
	{6, MTS_ERROR_ELECTION},        /* HostUnreachable */
	{7, MTS_ERROR_ELECTION},        /* HostNotFound */
	{89, MTS_ERROR_ELECTION},       /* NetworkTimeout */
	{91, MTS_ERROR_ELECTION},       /* ShutdownInProgress */
	{189, MTS_ERROR_ELECTION},      /* PrimarySteppedDown */
	{9001, MTS_ERROR_ELECTION},     /* SocketException */
	{10107, MTS_ERROR_NOT_PRIMARY}, /* NotWritablePrimary */
	{11600, MTS_ERROR_ELECTION},    /* InterruptedAtShutdown */
	{11602, MTS_ERROR_ELECTION},    /* InterruptedDueToReplStateChange */
	{13435, MTS_ERROR_NOT_PRIMARY}, /* NotPrimaryNoSecondaryOk */
	{13436, MTS_ERROR_ELECTION},    /* NotPrimaryOrSecondary */

	/* other sessions */
	{MTS_CODE_WRITE_CONFLICT, MTS_ERROR_CONFLICT,
	 ERRCODE_T_R_SERIALIZATION_FAILURE, CONFLICT_HINT},
	/* DocumentDB: deadlock detected */
	{16908292, MTS_ERROR_CONFLICT},
	/* DocumentDB: could not serialize access */
	{16777284, MTS_ERROR_CONFLICT},

	/* transactions */
	{24, MTS_ERROR_CONFLICT, /* LockTimeout */
	 ERRCODE_T_R_SERIALIZATION_FAILURE, CONFLICT_HINT},
	{MTS_CODE_NO_SUCH_TRANSACTION, MTS_ERROR_CONFLICT,
	 ERRCODE_T_R_SERIALIZATION_FAILURE, ABORTED_HINT},
	{MTS_CODE_NOT_IN_TRANSACTION, MTS_ERROR_EXCLUDED,
	 ERRCODE_FEATURE_NOT_SUPPORTED, NO_TRANSACTION_HINT},
	{50791, MTS_ERROR_EXCLUDED, /* of a system collection */
	 ERRCODE_FEATURE_NOT_SUPPORTED, NO_TRANSACTION_HINT},
	{290, MTS_ERROR_TOO_MUCH, /* TransactionExceededLifetimeLimitSeconds */
	 ERRCODE_PROGRAM_LIMIT_EXCEEDED, PARTS_HINT},
	{MTS_CODE_TOO_LARGE_FOR_CACHE, MTS_ERROR_TOO_MUCH,
	 ERRCODE_PROGRAM_LIMIT_EXCEEDED, PARTS_HINT},

	{MTS_CODE_TRANSACTION_TOO_OLD, MTS_ERROR_ENDED}, /* it is forgotten */

	/* time limits, and killOp */
	{50, MTS_ERROR_ENDED, /* MaxTimeMSExpired */
	 ERRCODE_QUERY_CANCELED},
	{202, MTS_ERROR_ENDED},   /* NetworkInterfaceExceededTimeLimit */
	{262, MTS_ERROR_ENDED},   /* ExceededTimeLimit */
	{279, MTS_ERROR_ENDED},   /* ClientDisconnect */
	{11601, MTS_ERROR_ENDED}, /* Interrupted */

	{MTS_CODE_OVERLOADED, MTS_ERROR_OVERLOAD, ERRCODE_INSUFFICIENT_RESOURCES,
	 "MongoDB is overloaded, and has refused the command three times. Run the statement again later."},

	/* refusals */
	{MTS_CODE_UNAUTHORIZED, MTS_ERROR_REFUSAL, ERRCODE_INSUFFICIENT_PRIVILEGE,
	 "The MongoDB user of the user mapping needs role \"read\" for queries, and \"readWrite\" for writes. Create a user mapping if there is none."},
	{MTS_CODE_AUTHENTICATION_FAILED, MTS_ERROR_REFUSAL,
	 ERRCODE_INVALID_AUTHORIZATION_SPECIFICATION,
	 "Check the user name and password of the user mapping, and "
	 "\"authSource\" in option \"uri\"."},
	{20, MTS_ERROR_REFUSAL, /* IllegalOperation, as on a capped collection */
	 ERRCODE_FEATURE_NOT_SUPPORTED},
	{MTS_CODE_NO_COLLECTION, MTS_ERROR_REFUSAL, ERRCODE_FDW_TABLE_NOT_FOUND},
	{43, MTS_ERROR_REFUSAL, /* CursorNotFound */
	 ERRCODE_FDW_UNABLE_TO_CREATE_EXECUTION,
	 "The server has dropped the cursor; run the query again."},
	/* the update of a bucket checks its attributes in this way */
	{MTS_CODE_IMMUTABLE_FIELD, MTS_ERROR_REFUSAL,
	 ERRCODE_INTEGRITY_CONSTRAINT_VIOLATION, MTS_ATTRIBUTE_HINT},
	{72, MTS_ERROR_REFUSAL, /* InvalidOptions */
	 ERRCODE_FEATURE_NOT_SUPPORTED},
	{85, MTS_ERROR_REFUSAL, /* IndexOptionsConflict */
	 ERRCODE_DUPLICATE_OBJECT, INDEX_CONFLICT_HINT},
	{86, MTS_ERROR_REFUSAL, /* IndexKeySpecsConflict */
	 ERRCODE_DUPLICATE_OBJECT, INDEX_CONFLICT_HINT},
	{121, MTS_ERROR_REFUSAL, /* DocumentValidationFailure */
	 ERRCODE_CHECK_VIOLATION},
	{MTS_CODE_VIEW, MTS_ERROR_REFUSAL,
	 ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
	 "Declare a foreign table for the collection that the view reads, and write to that table."},
	{146, MTS_ERROR_REFUSAL, /* ExceededMemoryLimit */
	 ERRCODE_PROGRAM_LIMIT_EXCEEDED, MEMORY_HINT},
	{292, MTS_ERROR_REFUSAL, /* QueryExceededMemoryLimitNoDiskUseAllowed */
	 ERRCODE_PROGRAM_LIMIT_EXCEEDED, MEMORY_HINT},
	{175, MTS_ERROR_REFUSAL, /* QueryPlanKilled */
	 ERRCODE_T_R_SERIALIZATION_FAILURE,
	 "The collection, or one of its indexes, has changed while it was read. Run the statement again."},
	{MTS_CODE_NO_BUCKETS_COLLECTION, MTS_ERROR_REFUSAL,
	 ERRCODE_T_R_SERIALIZATION_FAILURE,
	 "MongoDB has converted the time-series collection (setFeatureCompatibilityVersion). Run the statement again."},
	{167, MTS_ERROR_REFUSAL, /* OptionNotSupportedOnView */
	 ERRCODE_FEATURE_NOT_SUPPORTED,
	 "Create the view without a collation; queries compare text byte by byte."},
	/* cursor.c repeats the read that chooses the moment of its statement */
	{MTS_CODE_SNAPSHOT_TOO_OLD, MTS_ERROR_REFUSAL,
	 MTS_ERRCODE_SNAPSHOT_TOO_OLD,
	 "The statement, or its transaction, has lasted longer than the server keeps its history (minSnapshotHistoryWindowInSeconds). Run it again, or set option \"consistency\" of the foreign table to \"none\"."},
	{MTS_CODE_SNAPSHOT_UNAVAILABLE, MTS_ERROR_CONFLICT,
	 ERRCODE_T_R_SERIALIZATION_FAILURE,
	 "A collection was created or changed after the statement, or its transaction, began to read. Run it again."},
	{10003, MTS_ERROR_REFUSAL, /* CannotGrowDocumentInCappedNamespace */
	 ERRCODE_FEATURE_NOT_SUPPORTED},
	{MTS_CODE_TOO_LARGE, MTS_ERROR_REFUSAL, /* BSONObjectTooLarge */
	 ERRCODE_PROGRAM_LIMIT_EXCEEDED, TOO_LARGE_HINT},
	{17419, MTS_ERROR_REFUSAL, /* BSONObjectTooLarge of an update's result */
	 ERRCODE_PROGRAM_LIMIT_EXCEEDED, TOO_LARGE_HINT},
	{17420, MTS_ERROR_REFUSAL, /* and of an upsert */
	 ERRCODE_PROGRAM_LIMIT_EXCEEDED, TOO_LARGE_HINT},
	{285999133, MTS_ERROR_REFUSAL, /* BSONObjectTooLarge of DocumentDB */
	 ERRCODE_PROGRAM_LIMIT_EXCEEDED, TOO_LARGE_HINT},
	/* bulk.c repeats an upsert that another session's bucket refused */
	{MTS_CODE_DUPLICATE_KEY, MTS_ERROR_REFUSAL, ERRCODE_UNIQUE_VIOLATION,
	 "Another document has the same values in the fields of a unique index. Check which columns are the table's keys."},
};

/*
 * mts_server_error
 *		Look up a code; an unknown one is ERRCODE_FDW_ERROR and not repeated.
 */
MtsServerError
mts_server_error(uint32 code)
{
	MtsServerError found = {code, MTS_ERROR_REFUSAL};

	for (int i = 0; i < lengthof(errors); i++)
		if (errors[i].code == code)
			found = errors[i];
	if (found.sqlstate == 0)
		found.sqlstate = ERRCODE_FDW_ERROR;
	return found;
}

/*
 * mts_server_error_has_label
 *		Tell whether a reply has one of the labels that servers give to errors.
 */
bool
mts_server_error_has_label(const bson_t *reply, const char *name)
{
	bson_iter_t iter, label;

	if (!reply || !bson_iter_init_find(&iter, reply, "errorLabels") ||
		!BSON_ITER_HOLDS_ARRAY(&iter) || !bson_iter_recurse(&iter, &label))
		return false;
	while (bson_iter_next(&label))
		if (BSON_ITER_HOLDS_UTF8(&label) &&
			strcmp(bson_iter_utf8(&label, NULL), name) == 0)
			return true;
	return false;
}

/* What to do after an error of each kind, by what failed */
static const MtsDecision decisions[][MTS_PHASE_WRITE_CONCERN + 1] = {
	[MTS_ERROR_REFUSAL] = {MTS_GIVE_UP, MTS_GIVE_UP, MTS_GIVE_UP, MTS_GIVE_UP,
						   MTS_GIVE_UP, MTS_GIVE_UP},
	[MTS_ERROR_CONFLICT] = {MTS_GIVE_UP, MTS_GIVE_UP, MTS_AGAIN_LATER,
							MTS_AGAIN_LATER, MTS_AGAIN_LATER, MTS_GIVE_UP},
	[MTS_ERROR_EXCLUDED] = {MTS_GIVE_UP, MTS_GIVE_UP, MTS_GIVE_UP,
							MTS_AGAIN_PLAIN, MTS_AGAIN_PLAIN, MTS_GIVE_UP},
	[MTS_ERROR_TOO_MUCH] = {MTS_GIVE_UP, MTS_GIVE_UP, MTS_GIVE_UP,
							MTS_AGAIN_IN_PARTS, MTS_AGAIN_IN_PARTS,
							/* the time limit also ends the wait of a commit */
							MTS_AGAIN_IF_KNOWN},
	[MTS_ERROR_ELECTION] = {MTS_AGAIN_ON_PRIMARY, MTS_AGAIN_IF_KNOWN,
							MTS_AGAIN_IF_KNOWN, MTS_AGAIN_ON_PRIMARY,
							MTS_AGAIN_IF_KNOWN, MTS_AGAIN_IF_KNOWN},
	/* a mongos refuses writes one by one; the primary had begun those that
	 * miss their write concern */
	[MTS_ERROR_NOT_PRIMARY] = {MTS_AGAIN_ON_PRIMARY, MTS_AGAIN_ON_PRIMARY,
							   MTS_AGAIN_IF_KNOWN, MTS_AGAIN_ON_PRIMARY,
							   MTS_AGAIN_IF_KNOWN, MTS_AGAIN_IF_KNOWN},
	[MTS_ERROR_OVERLOAD] = {MTS_AGAIN_SLOWLY, MTS_AGAIN_SLOWLY, MTS_GIVE_UP,
							MTS_AGAIN_SLOWLY, MTS_AGAIN_SLOWLY, MTS_GIVE_UP},
	[MTS_ERROR_ENDED] = {MTS_GIVE_UP, MTS_UNKNOWN_OUTCOME, MTS_GIVE_UP,
						 MTS_GIVE_UP, MTS_UNKNOWN_OUTCOME,
						 /* what was done was only not waited for */
						 MTS_AGAIN_IF_KNOWN},
	[MTS_ERROR_LOST] = {MTS_AGAIN_ON_PRIMARY, MTS_AGAIN_IF_KNOWN,
						MTS_AGAIN_IF_KNOWN, MTS_AGAIN_ON_PRIMARY,
						MTS_AGAIN_IF_KNOWN, MTS_AGAIN_IF_KNOWN},
	[MTS_ERROR_UNSENT] = {MTS_AGAIN_ON_PRIMARY, MTS_AGAIN_ON_PRIMARY,
						  MTS_AGAIN_ON_PRIMARY, MTS_AGAIN_ON_PRIMARY,
						  MTS_AGAIN_ON_PRIMARY, MTS_AGAIN_IF_KNOWN},
};

/*
 * mts_server_error_decide_code
 *		Decide what to do after an error of the server's with a code.
 */
MtsDecision
mts_server_error_decide_code(uint32 code, MtsPhase phase)
{
	return decisions[mts_server_error(code).kind][phase];
}

/* Find the kind of an error that is not the server's. */
static MtsErrorKind
kind_of_loss(const MtsConnection *connection, const bson_error_t *error)
{
	if (!mts_connection_is_lost(connection, error))
		return MTS_ERROR_REFUSAL;
	switch (error->domain)
	{
		case MONGOC_ERROR_SERVER_SELECTION:
			return MTS_ERROR_UNSENT;
		case MONGOC_ERROR_CLIENT:
			return error->code < MONGOC_ERROR_STREAM_NOT_ESTABLISHED
					   ? MTS_ERROR_UNSENT
					   : MTS_ERROR_LOST;
		case MONGOC_ERROR_STREAM:
			return error->code == MONGOC_ERROR_STREAM_CONNECT ||
						   error->code ==
							   MONGOC_ERROR_STREAM_NOT_ESTABLISHED ||
						   error->code == MONGOC_ERROR_STREAM_NAME_RESOLUTION
					   ? MTS_ERROR_UNSENT
					   : MTS_ERROR_LOST;
		default:
			return MTS_ERROR_LOST;
	}
}

/*
 * mts_server_error_decide
 *		Decide what to do after an error of a connection.
 */
MtsDecision
mts_server_error_decide(const MtsConnection *connection,
						const bson_error_t *error, MtsPhase phase)
{
	if (error->domain == MONGOC_ERROR_SERVER)
		return mts_server_error_decide_code(error->code, phase);
	if (error->domain == MONGOC_ERROR_WRITE_CONCERN)
		return mts_server_error_decide_code(error->code,
											MTS_PHASE_WRITE_CONCERN);
	return decisions[kind_of_loss(connection, error)][phase];
}
