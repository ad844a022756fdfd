/*
 * server_error.c
 *		The error codes of MongoDB's server that this extension knows.
 *
 * This is the only list of codes.  Each has the SQLSTATE and the hint of the
 * error that report.c raises, and a rule for sending the command again.  To
 * have a command repeated for another code, add it here with one of the rules
 * of server_error.h.  attempt.c applies them to commands.  bulk.c repeats
 * single writes of a command, and transactions.
 *
 * Errors of the connection have no code of the server's.  They are the matter
 * of mts_connection_is_lost().
 */
#include "driver/server_error.h"

#include "compat.h"

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

/* Without an SQLSTATE it is ERRCODE_FDW_ERROR. */
static const MtsServerError errors[] = {
	/* elections and restarts, as in the specification of MongoDB's drivers */
	{6, MTS_RETRY_AFTER_ELECTION},     /* HostUnreachable */
	{7, MTS_RETRY_AFTER_ELECTION},     /* HostNotFound */
	{89, MTS_RETRY_AFTER_ELECTION},    /* NetworkTimeout */
	{91, MTS_RETRY_AFTER_ELECTION},    /* ShutdownInProgress */
	{189, MTS_RETRY_AFTER_ELECTION},   /* PrimarySteppedDown */
	{9001, MTS_RETRY_AFTER_ELECTION},  /* SocketException */
	{10107, MTS_RETRY_ON_PRIMARY},     /* NotWritablePrimary */
	{11600, MTS_RETRY_AFTER_ELECTION}, /* InterruptedAtShutdown */
	{11602, MTS_RETRY_AFTER_ELECTION}, /* InterruptedDueToReplStateChange */
	{13435, MTS_RETRY_ON_PRIMARY},     /* NotPrimaryNoSecondaryOk */
	{13436, MTS_RETRY_AFTER_ELECTION}, /* NotPrimaryOrSecondary */

	/* other sessions */
	{MTS_CODE_WRITE_CONFLICT, MTS_RETRY_WRITE,
	 ERRCODE_T_R_SERIALIZATION_FAILURE, CONFLICT_HINT},
	{16908292, MTS_RETRY_WRITE}, /* DocumentDB: deadlock detected */
	{16777284, MTS_RETRY_WRITE}, /* DocumentDB: could not serialize access */

	/* transactions */
	{24, MTS_RETRY_WRITE, /* LockTimeout */
	 ERRCODE_T_R_SERIALIZATION_FAILURE, CONFLICT_HINT},
	{MTS_CODE_NO_SUCH_TRANSACTION, MTS_RETRY_WRITE,
	 ERRCODE_T_R_SERIALIZATION_FAILURE, ABORTED_HINT},
	{MTS_CODE_NOT_IN_TRANSACTION, MTS_RETRY_PLAIN,
	 ERRCODE_FEATURE_NOT_SUPPORTED, NO_TRANSACTION_HINT},
	{50791, MTS_RETRY_PLAIN, /* the same of a system collection */
	 ERRCODE_FEATURE_NOT_SUPPORTED, NO_TRANSACTION_HINT},
	{290, MTS_RETRY_IN_PARTS, /* TransactionExceededLifetimeLimitSeconds */
	 ERRCODE_PROGRAM_LIMIT_EXCEEDED, PARTS_HINT},
	{388, MTS_RETRY_IN_PARTS, /* TransactionTooLargeForCache */
	 ERRCODE_PROGRAM_LIMIT_EXCEEDED, PARTS_HINT},

	/* time limits, and killOp */
	{50, MTS_RETRY_UNSAFE, /* MaxTimeMSExpired */
	 ERRCODE_QUERY_CANCELED},
	{202, MTS_RETRY_UNSAFE},   /* NetworkInterfaceExceededTimeLimit */
	{262, MTS_RETRY_UNSAFE},   /* ExceededTimeLimit */
	{279, MTS_RETRY_UNSAFE},   /* ClientDisconnect */
	{11601, MTS_RETRY_UNSAFE}, /* Interrupted */

	/* refusals */
	{MTS_CODE_UNAUTHORIZED, MTS_RETRY_NEVER, ERRCODE_INSUFFICIENT_PRIVILEGE,
	 "The MongoDB user of the user mapping needs role \"read\" for queries, and \"readWrite\" for writes. Create a user mapping if there is none."},
	{MTS_CODE_AUTHENTICATION_FAILED, MTS_RETRY_NEVER,
	 ERRCODE_INVALID_AUTHORIZATION_SPECIFICATION,
	 "Check the user name and password of the user mapping, and "
	 "\"authSource\" in option \"uri\"."},
	{20, MTS_RETRY_NEVER, /* IllegalOperation, as on a capped collection */
	 ERRCODE_FEATURE_NOT_SUPPORTED},
	{26, MTS_RETRY_NEVER, /* NamespaceNotFound */
	 ERRCODE_FDW_TABLE_NOT_FOUND},
	{43, MTS_RETRY_NEVER, /* CursorNotFound */
	 ERRCODE_FDW_UNABLE_TO_CREATE_EXECUTION,
	 "The server has dropped the cursor; run the query again."},
	/* the update of a bucket checks its attributes in this way */
	{MTS_CODE_IMMUTABLE_FIELD, MTS_RETRY_NEVER,
	 ERRCODE_INTEGRITY_CONSTRAINT_VIOLATION, MTS_ATTRIBUTE_HINT},
	{72, MTS_RETRY_NEVER, /* InvalidOptions */
	 ERRCODE_FEATURE_NOT_SUPPORTED},
	{85, MTS_RETRY_NEVER, /* IndexOptionsConflict */
	 ERRCODE_DUPLICATE_OBJECT, INDEX_CONFLICT_HINT},
	{86, MTS_RETRY_NEVER, /* IndexKeySpecsConflict */
	 ERRCODE_DUPLICATE_OBJECT, INDEX_CONFLICT_HINT},
	{121, MTS_RETRY_NEVER, /* DocumentValidationFailure */
	 ERRCODE_CHECK_VIOLATION},
	{MTS_CODE_VIEW, MTS_RETRY_NEVER, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
	 "Declare a foreign table for the collection that the view reads, and write to that table."},
	{167, MTS_RETRY_NEVER, /* OptionNotSupportedOnView */
	 ERRCODE_FEATURE_NOT_SUPPORTED,
	 "Create the view without a collation; queries compare text byte by byte."},
	/* cursor.c repeats the read that chooses the moment of its statement */
	{MTS_CODE_SNAPSHOT_TOO_OLD, MTS_RETRY_NEVER, MTS_ERRCODE_SNAPSHOT_TOO_OLD,
	 "The statement, or its transaction, has lasted longer than the server keeps its history (minSnapshotHistoryWindowInSeconds). Run it again, or set option \"consistency\" of the foreign table to \"none\"."},
	{MTS_CODE_SNAPSHOT_UNAVAILABLE, MTS_RETRY_WRITE,
	 ERRCODE_T_R_SERIALIZATION_FAILURE,
	 "A collection was created or changed after the statement, or its transaction, began to read. Run it again."},
	{10003, MTS_RETRY_NEVER, /* CannotGrowDocumentInCappedNamespace */
	 ERRCODE_FEATURE_NOT_SUPPORTED},
	{MTS_CODE_TOO_LARGE, MTS_RETRY_NEVER, /* BSONObjectTooLarge */
	 ERRCODE_PROGRAM_LIMIT_EXCEEDED, TOO_LARGE_HINT},
	{17419, MTS_RETRY_NEVER, /* the same of an update's result */
	 ERRCODE_PROGRAM_LIMIT_EXCEEDED, TOO_LARGE_HINT},
	{285999133, MTS_RETRY_NEVER, /* the same of DocumentDB */
	 ERRCODE_PROGRAM_LIMIT_EXCEEDED, TOO_LARGE_HINT},
	/* bulk.c repeats an upsert that another session's bucket refused */
	{MTS_CODE_DUPLICATE_KEY, MTS_RETRY_NEVER, ERRCODE_UNIQUE_VIOLATION,
	 "Another document has the same values in the fields of a unique index. Check which columns are the table's keys."},
};

/*
 * mts_server_error
 *		Look up a code; an unknown one is ERRCODE_FDW_ERROR and not repeated.
 */
MtsServerError
mts_server_error(uint32 code)
{
	MtsServerError found = {code, MTS_RETRY_NEVER};

	for (int i = 0; i < lengthof(errors); i++)
		if (errors[i].code == code)
			found = errors[i];
	if (found.sqlstate == 0)
		found.sqlstate = ERRCODE_FDW_ERROR;
	return found;
}

/*
 * mts_server_error_is_election
 *		Tell whether an election or a restart causes errors with this code.
 */
bool
mts_server_error_is_election(uint32 code)
{
	MtsRetryRule rule = mts_server_error(code).retry;

	return rule == MTS_RETRY_AFTER_ELECTION || rule == MTS_RETRY_ON_PRIMARY;
}

/*
 * mts_server_error_ends_wait
 *		Tell whether waiting for the members again repairs a write concern
 *		error with this code.
 *
 * The time limit of a transaction also ends the wait of its commit.
 */
bool
mts_server_error_ends_wait(uint32 code)
{
	return mts_server_error_is_election(code) ||
		   mts_server_error(code).retry == MTS_RETRY_IN_PARTS;
}
