/*
 * bulk.c
 *		Send writes in bulk: insert, update and delete commands.
 *
 * The writes of a call are one transaction of MongoDB if they are several, the
 * server is a member of a replica set, and the caller wants it.  Then they are
 * stored wholly or not at all: not at all, too, if an update or a delete finds
 * no document.  A transaction is sent again as a whole if another session or
 * an election was in its way.  It is sent in parts if the server finds it too
 * large, and without being one if the collection cannot have one.  Without a
 * transaction each write is stored or not, and so is a single write.
 *
 * The writes of a call can also belong to the transaction that ends with that
 * of PostgreSQL; see xact.c.  Then each is sent once, and an error is raised
 * at once.
 *
 * Writes are sent unordered, and sorted by bucket, so that sessions which
 * write the same buckets wait for each other instead of deadlocking.  A write
 * is sent again when another session was in its way: server_error.c decides
 * that by its code, or an upsert found a duplicate key.  A write that is
 * refused for good raises an error, which counts the points that were not
 * stored.  A new bucket is inserted first, and updated if it exists already.
 *
 * The commands are our own, because libmongoc's bulk operations fail when the
 * primary is lost and no other is elected at once.  A replica set recognises a
 * command by the number that it has in its session (MongoDB's retryable
 * writes).  So a command is sent until a primary has answered, and done once:
 * increments are not added twice.  The same holds for the commit of a
 * transaction; see transaction.c.  Other servers have no such numbers.  The
 * outcome of a command without an answer is unknown there, and the error says
 * so.
 *
 * A call has a beginning and an end, so that the caller can work while the
 * server writes.  Its first command is sent at the beginning, and received at
 * the end, if it has all the writes.
 */
#include "driver/bulk.h"

#include "common/hashfn.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "driver/command.h"
#include "driver/cursor.h"
#include "driver/document.h"
#include "driver/report.h"
#include "driver/server_error.h"
#include "driver/stored.h"
#include "driver/transaction.h"
#include "driver/write_command.h"
#include "driver/xact.h"

/* How often a write is tried while other sessions are in its way */
#define MAX_TRIES 30

/*
 * A transaction that has failed this often, and now after so many
 * microseconds, is sent in parts.  Some servers say of one that is too large
 * for their cache that other sessions are in its way, and after such a time
 * they can be.
 */
#define TRIES_UNTIL_PARTS 3
#define TIME_UNTIL_PARTS 1000000

/* SQL's advisory locks have the classes 1 and 2. */
#define LOCK_CLASS 3

/* The number of buckets that a message names, at most */
#define MAX_NAMED 3

/* The writes of a call that are still to be done */
typedef struct MtsRound
{
	MtsBulk *bulk;
	MtsOp **ops; /* to be sent, sorted */
	int n;
	int nops; /* of the call */
	int64 npoints;
	List *refused;                    /* MtsOp: for good, in any round */
	bson_error_t write_concern_error; /* the first one; domain 0 for none */

	/* the part of the writes that is sent: one transaction, or plain writes */
	MtsAttempt attempt;
	bool in_transaction;
	bool joins_xact; /* that of PostgreSQL; see xact.c */
	mongoc_client_session_t *xact;
	MtsTransaction transaction; /* if it is another one */
	int part;                   /* writes */
	int64 begin;                /* in monotonic microseconds */
	int64 affected;             /* as in MtsBulk */
	int64 created;
	MtsStored stored;   /* by the part that was done last */
	bool has_duplicate; /* which is not an error, but aborts a transaction */

	/* the command that was sent last */
	int64 txn_number; /* of a retryable write */
	bool may_return;  /* the caller need not wait for the reply */
	bool is_early;    /* the next one may be sent without waiting */
	bool is_sent;     /* the reply is still to be received */
} MtsRound;

/* Order writes by command, bucket, and the caller's order. */
static int
compare_ops(const void *a, const void *b)
{
	const MtsOp *left = *(MtsOp *const *) a;
	const MtsOp *right = *(MtsOp *const *) b;

	if (left->kind != right->kind)
		return left->kind < right->kind ? -1 : 1;
	/* inserts of new buckets are a command of their own */
	if (!left->new_bucket != !right->new_bucket)
		return left->new_bucket ? -1 : 1;
	if (left->selector)
	{
		int order = bson_compare(left->selector, right->selector);

		if (order != 0)
			return order;
	}
	return (left > right) - (left < right);
}

static void
check_size(const MtsOp *op)
{
	MtsServerError too_large = mts_server_error(MTS_CODE_TOO_LARGE);
	const bson_t *document = op->new_bucket ? op->new_bucket : op->document;

	if ((document && document->len > MTS_MAX_DOCUMENT) ||
		(op->selector && op->selector->len > MTS_MAX_DOCUMENT))
		ereport(ERROR, (errcode(too_large.sqlstate),
						errmsg("a bucket is larger than a MongoDB document "
							   "can be"),
						errdetail("No part of this bulk write was stored."),
						errhint("%s", too_large.hint)));
}

/* ---- Errors ------------------------------------------------------------- */

/* Make the message of the errors of a bulk write. */
static char *
make_message(const MtsBulk *bulk)
{
	return psprintf("could not write to MongoDB collection \"%s.%s\"",
					bulk->database, bulk->collection);
}

/* Count the points that some writes store. */
static int64
count_points(MtsOp *const *ops, int n)
{
	int64 npoints = 0;

	for (int i = 0; i < n; i++)
		npoints += ops[i]->npoints;
	return npoints;
}

/* Keep the first error of the write concern until the writes are done. */
static void
record_write_concern_error(MtsRound *round, const bson_error_t *error)
{
	if (round->write_concern_error.domain == 0)
		round->write_concern_error = *error;
}

/*
 * Record whether the outcome of the last command or transaction is unknown.
 * Then a rollback warns of its points.
 */
static void
record_outcome(MtsBulk *bulk, bool is_unknown)
{
	bulk->outcome_is_unknown = is_unknown;
	mts_stored_record_sent(bulk->connection,
						   is_unknown ? bulk->points_in_flight : 0);
}

/* Tell whether a command that failed may have been done, wholly or in part. */
static bool
may_be_done(const MtsBulk *bulk, const bson_error_t *error)
{
	return mts_server_error_may_be_done(
		mts_server_error_decide(bulk->connection, error, MTS_PHASE_WRITE));
}

/* Raise the error of a write to a view of MongoDB. */
static _Noreturn void
refuse_view(const MtsBulk *bulk)
{
	MtsServerError view = mts_server_error(MTS_CODE_VIEW);

	ereport(ERROR, (errcode(view.sqlstate),
					errmsg("cannot write to MongoDB collection \"%s.%s\" "
						   "because it is a view",
						   bulk->database, bulk->collection),
					errhint("%s", view.hint)));
	pg_unreachable();
}

/*
 * mts_bulk_check_view
 *		Raise an error if the collection is a view or a time-series collection,
 *		as far as the server tells.
 *
 * The server refuses writes to a view.  The caller asks here when changes find
 * other documents than were read, before it reports that.  A view can show a
 * document several times, or without the field that was changed.  A
 * time-series collection is a view of its buckets, whose documents can have
 * the same _id.
 */
void
mts_bulk_check_view(const MtsBulk *bulk)
{
	/* nameOnly and authorizedCollections need no right to list all */
	const bson_t *reply = mts_command_try_run(
		bulk->connection, bulk->database,
		mts_report_reading(bulk->database, bulk->collection),
		mts_document_make("{listCollections: 1, "
						  "filter: {name: %s, type: {$ne: 'collection'}}, "
						  "nameOnly: true, authorizedCollections: true}",
						  mts_document_utf8(bulk->collection)));
	const char *type =
		reply ? mts_document_string(reply, "cursor.firstBatch.0.type") : NULL;

	if (type && strcmp(type, "view") == 0)
		refuse_view(bulk);
	if (type && strcmp(type, "timeseries") == 0)
		ereport(
			ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("could not change points of MongoDB time-series "
					"collection \"%s.%s\"",
					bulk->database, bulk->collection),
			 errdetail(
				 "Documents of a time-series collection can share an _id, so the _id does not identify the document that was read.")));
}

/*
 * mts_bulk_refuse_changed
 *		Raise an error: stored points differ from those that were read.
 */
void
mts_bulk_refuse_changed(const MtsBulk *bulk, const char *detail)
{
	bool is_partial =
		!bulk->is_undoable && (bulk->points_stored > 0 || bulk->affected > 0);

	mts_bulk_check_view(bulk);
	ereport(
		ERROR,
		(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
		 errmsg("points of MongoDB collection \"%s.%s\" have changed since "
				"this statement read them",
				bulk->database, bulk->collection),
		 errdetail("%s\nThe statement had changed " INT64_FORMAT
				   " points before.",
				   detail, bulk->points_stored),
		 is_partial
			 ? errhint(
				   "Check which points were changed before you run the statement again.")
			 : errhint("Run the statement again, unless another "
					   "part of it changes the same points.")));
	pg_unreachable();
}

/* Raise the error of a command that was refused as a whole or not answered. */
static _Noreturn void
raise_command_failure(MtsBulk *bulk, const bson_error_t *error)
{
	MtsConnection *connection = bulk->connection;
	const char *message = make_message(bulk);

	if (error->domain == MONGOC_ERROR_SERVER && error->code == MTS_CODE_VIEW)
		refuse_view(bulk);
	if (!bulk->outcome_is_unknown || connection->wait.interrupted ||
		connection->wait.replies.problem)
		mts_report_failure(connection, message, error);
	connection->invalid = true;
	/* the detail says it, so that the context need not */
	bulk->outcome_is_unknown = false;
	ereport(
		ERROR,
		(errcode(ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN),
		 errmsg("%s", message),
		 errdetail(
			 "%s\nIt is unknown whether the last bulk write%s was executed.",
			 mts_report_detail(connection, error),
			 bulk->points_in_flight > 0
				 ? psprintf(", of " INT64_FORMAT " points,",
							bulk->points_in_flight)
				 : ""),
		 errhint(
			 "Check which points are stored before you run the statement again.")));
	pg_unreachable();
}

/* Name the buckets of writes that were refused for good. */
static char *
name_buckets(const List *refused)
{
	StringInfoData names;
	ListCell *lc;

	initStringInfo(&names);
	foreach (lc, refused)
	{
		const MtsOp *op = lfirst(lc);
		char *text = mts_document_shell(op->identity   ? op->identity
										: op->selector ? op->selector
													   : op->document);

		if (foreach_current_index(lc) == MAX_NAMED)
		{
			appendStringInfo(&names, " and %d more",
							 list_length(refused) - MAX_NAMED);
			break;
		}
		if (strlen(text) > 200)
			strcpy(text + pg_mbcliplen(text, strlen(text), 197), "...");
		appendStringInfo(&names, "%s%s", names.len > 0 ? ", " : "", text);
	}
	return names.data;
}

/*
 * Return why a write was refused: the server's message, or what the update of
 * a bucket says of an attribute that differs (see core/update/update.c).
 */
static char *
describe_refusal(const MtsOp *op)
{
	static const char before[] = "altered to _id: ";
	const char *difference = op->code == MTS_CODE_IMMUTABLE_FIELD
								 ? strstr(op->refusal, before)
								 : NULL;

	if (!difference)
		return mts_document_text(op->refusal);
	return psprintf(
		"A row has another value than its bucket in a field that describes the bucket: %s.",
		mts_document_text(difference + strlen(before)));
}

/* Raise the error of the writes that were refused for good. */
static _Noreturn void
raise_refusals(const MtsRound *round)
{
	const MtsBulk *bulk = round->bulk;
	const MtsOp *first = linitial(round->refused);
	MtsServerError class = mts_server_error(first->code);
	/* 0 in a TRUNCATE */
	int64 total = round->npoints + bulk->points_unsent;
	int64 lost = bulk->points_unsent;
	char *counts = "";
	ListCell *lc;

	if (first->code == MTS_CODE_VIEW)
		refuse_view(bulk);
	if (round->in_transaction)
		lost += round->npoints - bulk->points_done;
	else
		foreach (lc, round->refused)
			lost += ((const MtsOp *) lfirst(lc))->npoints;
	if (total > 0)
		counts =
			psprintf("\n" INT64_FORMAT " of " INT64_FORMAT
					 " points of a bulk write were not stored%s %s%s.\n"
					 "The statement stored " INT64_FORMAT " points.",
					 lost, total,
					 round->in_transaction ? ", because of" : ": those of",
					 name_buckets(round->refused),
					 bulk->points_unsent > 0 && !round->in_transaction
						 ? " and of other collections"
						 : "",
					 bulk->points_stored + total - lost);
	ereport(ERROR, (errcode(class.sqlstate), errmsg("%s", make_message(bulk)),
					errdetail("%s%s", describe_refusal(first), counts),
					class.hint ? errhint("%s", class.hint) : 0));
	pg_unreachable();
}

/* ---- Replies ------------------------------------------------------------ */

/* Find an array of a reply; returns false when there is none. */
static bool
find_array(const bson_t *reply, const char *field, bson_iter_t *elements)
{
	bson_iter_t iter;

	return bson_iter_init_find(&iter, reply, field) &&
		   BSON_ITER_HOLDS_ARRAY(&iter) && bson_iter_recurse(&iter, elements);
}

/* One of a reply's writeErrors */
typedef struct Refusal
{
	int64 index; /* of the write in its command, or -1 */
	int code;
	const char *message;
} Refusal;

static Refusal
read_refusal(const bson_iter_t *element)
{
	Refusal refusal = {-1, 0, "no message"};
	bson_iter_t field;

	if (!bson_iter_recurse(element, &field))
		return refusal;
	while (bson_iter_next(&field))
	{
		const char *key = bson_iter_key(&field);

		if (strcmp(key, "index") == 0)
			refusal.index = bson_iter_as_int64(&field);
		else if (strcmp(key, "code") == 0)
			refusal.code = (int) bson_iter_as_int64(&field);
		else if (strcmp(key, "errmsg") == 0 && BSON_ITER_HOLDS_UTF8(&field))
			refusal.message = bson_iter_utf8(&field, NULL);
	}
	return refusal;
}

/* Tell what a refusal of one of the writes of a part means. */
static MtsPhase
phase_of(const MtsRound *round)
{
	return round->in_transaction ? MTS_PHASE_TRANSACTION : MTS_PHASE_OPERATION;
}

/*
 * Record which of a command's n writes its reply refuses.
 *
 * Returns false with the reason in *error if a refusal names none of the
 * writes, or if an election ended the command midway.  A mongos reports an
 * election as the refusal of each write, whose outcome is unknown.  In a
 * transaction, the first refusal is the only one.
 */
static bool
record_refusals(MtsRound *round, MtsOp *const *ops, int n, const bson_t *reply,
				bson_error_t *error)
{
	bson_iter_t elements;
	bool all_are_named = true;

	if (!find_array(reply, "writeErrors", &elements))
		return true;
	while (bson_iter_next(&elements))
	{
		Refusal refusal = read_refusal(&elements);
		uint32 code = (uint32) refusal.code;

		if (mts_server_error_asks_primary(
				mts_server_error_decide_code(code, phase_of(round))))
		{
			bson_set_error(error, MONGOC_ERROR_SERVER, code,
						   "the writes were interrupted");
			round->bulk->outcome_is_unknown = true;
			return false;
		}
		if (refusal.index < 0 || refusal.index >= n)
		{
			bson_set_error(error, MONGOC_ERROR_SERVER, code, "%s",
						   refusal.message);
			all_are_named = false;
		}
		else if (ops[refusal.index]->ignores_duplicate &&
				 code == MTS_CODE_DUPLICATE_KEY)
			round->has_duplicate = true;
		else
		{
			ops[refusal.index]->refusal = refusal.message;
			ops[refusal.index]->code = refusal.code;
		}
	}
	return all_are_named;
}

/* Count the elements of an array of a reply. */
static int64
array_length(const bson_t *reply, const char *field)
{
	bson_iter_t element;
	int64 n = 0;

	if (find_array(reply, field, &element))
		while (bson_iter_next(&element))
			n++;
	return n;
}

/* ---- Commands ----------------------------------------------------------- */

/*
 * Return the number by which the server recognises a write, or 0 if it cannot.
 */
static int64
next_txn_number(const MtsAttempt *attempt, const MtsOp *op)
{
	return attempt->server.retries_writes && op->kind != MTS_OP_DELETE_MANY
			   ? mts_transaction_next_number(attempt->connection)
			   : 0;
}

/* Append by what the server recognises a command that is sent again. */
static void
append_number(MtsRound *round, const MtsOp *op, bson_t *command)
{
	MtsAttempt *attempt = &round->attempt;

	if (round->joins_xact)
		return;
	if (round->in_transaction)
	{
		mts_transaction_append(&round->transaction, command);
		return;
	}
	if (round->txn_number < 0)
		round->txn_number = next_txn_number(attempt, op);
	attempt->is_repeatable =
		round->txn_number > 0 || op->kind == MTS_OP_DELETE_MANY;
	if (round->txn_number > 0)
		bson_append_int64(command, "txnNumber", -1, round->txn_number);
}

/* Send the command that does n writes to the server that was selected. */
static bool
send_once(MtsRound *round, MtsOp *const *ops, int n, const bson_t **reply,
		  bson_error_t *error)
{
	const MtsBulk *bulk = round->bulk;
	MtsAttempt *attempt = &round->attempt;
	mongoc_client_session_t *session = NULL;
	bool is_early = round->is_early;
	MemoryContext memory =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw command",
							  ALLOCSET_SMALL_SIZES);
	bson_t *command =
		mts_write_command_make(attempt, ops, n,
							   mts_document_utf8(bulk->collection),
							   round->joins_xact);
	MemoryContext old = MemoryContextSwitchTo(memory);
	bool ok;

	mts_document_adopt(command);
	MemoryContextSwitchTo(old);
	round->is_early = false;
	append_number(round, ops[0], command);
	if (round->joins_xact)
	{
		session = round->xact;
		mts_xact_record(bulk->connection, bulk->database, command,
						ops[0]->kind == MTS_OP_DELETE_MANY ? -1 : n);
	}
	else if (round->in_transaction || round->txn_number > 0)
		session = bulk->connection->session;
	ok = (is_early ? mts_command_send_early
				   : mts_command_send)(attempt, bulk->database, command,
									   session, reply, error);
	MemoryContextDelete(memory);
	round->is_sent = ok && !*reply;
	if (round->is_sent)
		mts_stored_record_sent(bulk->connection, bulk->points_in_flight);
	if (round->is_sent && round->in_transaction)
		mts_transaction_commit_early(&round->transaction, attempt);
	return ok;
}

/* Prepare to send writes; nothing is sent yet. */
static void
begin_attempt(MtsRound *round)
{
	MtsBulk *bulk = round->bulk;

	round->attempt = mts_attempt_begin(bulk->connection, make_message(bulk),
									   MTS_FROM_PRIMARY);
	round->attempt.is_write = true;
	round->attempt.relid = bulk->relid;
}

/*
 * Send the command that does n writes until the server tells what became of
 * them.  Returns false with the reason in *error when it does not, or when it
 * refuses the command as a whole.  A command that is sent early has no reply
 * yet, and the next call receives it.  In a transaction it is sent once.
 */
static bool
run_command(MtsRound *round, MtsOp *const *ops, int n, const bson_t **reply,
			bson_error_t *error)
{
	MtsBulk *bulk = round->bulk;
	MtsAttempt *attempt = &round->attempt;
	bool ok = false;

	if (!round->is_sent && !round->in_transaction)
	{
		begin_attempt(round);
		round->txn_number = -1;
	}
	while (!ok &&
		   (round->is_sent || mts_attempt_try_select_server(attempt, error)))
	{
		if (round->is_sent)
			ok = mts_command_receive(attempt, reply, error);
		else
			ok = send_once(round, ops, n, reply, error);
		if (ok && !*reply)
			return true;
		round->is_sent = false;
		if (ok || error->domain == MONGOC_ERROR_WRITE_CONCERN)
		{
			bulk->outcome_is_unknown = !ok && may_be_done(bulk, error);
			ok &= record_refusals(round, ops, n, *reply, error);
		}
		else
			bulk->outcome_is_unknown |=
				!round->in_transaction && may_be_done(bulk, error);
		if (!round->in_transaction)
			record_outcome(bulk, bulk->outcome_is_unknown);
		else if (!ok)
			mts_transaction_classify(*reply, error);
		if (!ok && (round->in_transaction ||
					!mts_attempt_should_repeat(attempt, error)))
			break;
	}
	return ok;
}

/*
 * Send as many of the writes as fit in one command; returns their number, or 0
 * if the command was sent early.  In a transaction, it is 0 with the reason in
 * *error, too, if the command fails.
 */
static int
send_command(MtsRound *round, MtsOp *const *ops, int nops, bson_error_t *error)
{
	MtsBulk *bulk = round->bulk;
	int n = mts_write_command_length(ops, nops);
	const bson_t *reply = NULL;
	int64 ndocuments;

	bulk->points_in_flight = count_points(ops, n);
	bulk->outcome_is_unknown = false;
	round->is_early &= n == (round->in_transaction ? round->part : round->n);
	if (!run_command(round, ops, n, &reply, error))
	{
		if (round->in_transaction)
			return 0;
		/* the writes are done even if the write concern is not met */
		if (error->domain != MONGOC_ERROR_WRITE_CONCERN ||
			bulk->outcome_is_unknown)
			raise_command_failure(bulk, error);
		/* it is raised at the end, unless writes are refused */
		record_write_concern_error(round, error);
		error->domain = 0;
	}
	if (round->is_sent)
		return 0;
	ndocuments = mts_document_number(reply, "n");
	round->affected += ndocuments;
	round->created += mts_write_command_inserted(ops[0])
						  ? ndocuments
						  : array_length(reply, "upserted");
	return n;
}

/* ---- Transactions ------------------------------------------------------- */

/*
 * Tell whether each write is done or refused.  Then the commit need not wait
 * for the reply, and tells that all were done, even if the reply is lost.  An
 * update or a delete may find no document.
 */
static bool
always_affect(MtsOp *const *ops, int n)
{
	for (int i = 0; i < n; i++)
		if (ops[i]->kind != MTS_OP_INSERT && ops[i]->kind != MTS_OP_UPSERT)
			return false;
	return true;
}

/* Return the write that was refused, or NULL. */
static MtsOp *
find_refused(MtsOp *const *ops, int n)
{
	for (int i = 0; i < n; i++)
		if (ops[i]->refusal)
			return ops[i];
	return NULL;
}

/* Begin the transaction of n writes; returns false if it cannot be one. */
static bool
begin_transaction(MtsRound *round, MtsOp *const *ops, int n)
{
	MtsBulk *bulk = round->bulk;

	round->affected = round->created = 0;
	/* the commit follows at once if it can, so that nothing stays open */
	round->is_early = always_affect(ops, n);
	return mts_transaction_begin(&round->transaction, bulk->connection,
								 bulk->database, bulk->collection);
}

/* Raise the error of a server that lacks required transactions. */
static _Noreturn void
refuse_server(const MtsBulk *bulk)
{
	ereport(
		ERROR,
		(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		 errmsg("%s", make_message(bulk)),
		 errdetail(
			 "MongoDB has transactions only on a replica set, and the option requires version 4.4 or later."),
		 errhint("Set option \"transactions\" of the foreign server or "
				 "table to \"auto\".")));
	pg_unreachable();
}

/*
 * Begin a part of n writes.  Returns how many of them it has: those of one
 * transaction, or all as plain writes.
 */
static int
begin_part(MtsRound *round, MtsOp *const *ops, int n)
{
	MtsBulk *bulk = round->bulk;
	int most = bulk->most_writes > 0 ? bulk->most_writes : n;
	bson_error_t error;

	for (int i = 0; i < n; i++)
	{
		ops[i]->refusal = NULL;
		ops[i]->is_aborted = false;
	}
	round->affected = round->created = 0;
	round->begin = bson_get_monotonic_time();
	round->in_transaction = false;
	begin_attempt(round);
	round->is_early = round->may_return;
	round->joins_xact = false;
	if (!bulk->joins_xact && (n < 2 || !bulk->is_atomic))
		return n;
	if (!mts_attempt_try_select_server(&round->attempt, &error))
		raise_command_failure(bulk, &error);
	if (bulk->joins_xact && round->attempt.server.has_transactions)
	{
		round->joins_xact = round->in_transaction = true;
		round->is_early = false;
		return n;
	}
	if (bulk->requires_xact)
		refuse_server(bulk);
	if (n < 2 || !bulk->is_atomic)
		return n;
	if (!round->attempt.server.has_transactions || most == 1)
		return Min(n, most);
	round->attempt.in_transaction = round->in_transaction =
		begin_transaction(round, ops, Min(n, most));
	if (round->in_transaction)
		n = Min(n, most);
	round->may_return &= n == round->n;
	if (!round->in_transaction)
		round->is_early = round->may_return;
	return n;
}

/*
 * Record that the transaction of the first n writes was aborted; nall is the
 * number of writes that are not done.  The error is that of the write that was
 * refused, otherwise of the first write.
 */
static void
record_abort(MtsOp *const *ops, int n, int nall, const bson_error_t *error)
{
	if (!find_refused(ops, n))
	{
		ops[0]->refusal = pstrdup(error->message);
		ops[0]->code = (int) error->code;
	}
	for (int i = 0; i < nall; i++)
		ops[i]->is_aborted = true;
}

/* Decide what to do after an error of a transaction's command. */
static MtsDecision
decide(const MtsBulk *bulk, const bson_error_t *error)
{
	return mts_server_error_decide(bulk->connection, error,
								   MTS_PHASE_TRANSACTION);
}

/* Tell whether a command failed for its connection or an election. */
static bool
is_interrupted(const MtsBulk *bulk, const bson_error_t *error)
{
	return decide(bulk, error) == MTS_AGAIN_ON_PRIMARY;
}

/* Count the n writes of a part that are not refused as done. */
static void
finish_part(MtsRound *round, MtsOp *const *ops, int n)
{
	MtsBulk *bulk = round->bulk;
	MtsStored stored = {0};
	int ndone = 0;

	bulk->affected += round->affected;
	bulk->created += round->created;
	bulk->existing += round->affected - round->created;
	for (int i = 0; i < n; i++)
	{
		if (ops[i]->refusal)
			continue;
		ndone++;
		if (ops[i]->edits_points)
			stored.nedited += ops[i]->npoints;
		else
			stored.npoints += ops[i]->npoints;
	}
	/* which updates have found nothing is not known */
	round->stored =
		stored.npoints + stored.nedited > 0 && round->affected == ndone
			? stored
			: (MtsStored){.ndocuments = round->affected};
	if (!round->joins_xact)
		mts_stored_record(bulk->connection, NULL, round->stored);
}

/*
 * Commit the transaction of a part, or learn that it was aborted.  *error has
 * the reason of its last command's failure, or domain 0, and gets that of the
 * abortion.
 */
static MtsOutcome
commit_part(MtsRound *round, MtsOp *const *ops, int n, bson_error_t *error)
{
	MtsBulk *bulk = round->bulk;
	MtsTransaction *transaction = &round->transaction;
	bool has_failed = error->domain != 0 || find_refused(ops, n);
	bool may_be_committed =
		transaction->commit_is_sent || transaction->is_in_doubt;
	bson_error_t reason = {0};
	MtsOutcome outcome;

	bulk->points_in_flight = count_points(ops, n);
	if (error->domain != 0 && is_interrupted(bulk, error))
	{
		record_outcome(bulk, may_be_committed);
		transaction->is_in_doubt =
			may_be_committed && error->domain != MONGOC_ERROR_SERVER;
		/* a server that cannot send its reply reads no commit behind it */
		bulk->connection->open_transaction = transaction->number;
		if (!mts_attempt_should_repeat(&round->attempt, error))
			raise_command_failure(bulk, error);
	}
	if (has_failed && !may_be_committed)
		return MTS_ABORTED;
	outcome = mts_transaction_commit(transaction, &round->attempt, &reason);
	record_outcome(bulk, outcome == MTS_UNKNOWN);
	if (outcome == MTS_UNKNOWN)
		raise_command_failure(bulk, &reason);
	if (outcome == MTS_COMMITTED && reason.domain != 0)
		record_write_concern_error(round, &reason);
	if (outcome == MTS_ABORTED && !has_failed)
		*error = reason;
	return outcome;
}

/*
 * Abort the transaction of a part, because one of its writes has found no
 * document, and do no more writes of the call.
 */
static void
give_up(MtsRound *round)
{
	mts_connection_abort_transaction(round->bulk->connection);
	round->n = 0;
}

/*
 * Send the commands of a transaction until one fails, or is sent without
 * waiting for its reply.  Returns how many of the n writes were done; the
 * reason why others were not is in *error, or a refusal.
 */
static int
send_commands(MtsRound *round, MtsOp *const *ops, int n, bson_error_t *error)
{
	int sent = 0, nsent;

	error->domain = 0;
	do
	{
		nsent = send_command(round, ops + sent, n - sent, error);
		if (round->is_sent && round->may_return)
			break;
		if (round->is_sent)
			nsent = send_command(round, ops, n, error);
		sent += nsent;
	} while (nsent > 0 && sent < n && !find_refused(ops, sent));
	return sent;
}

/*
 * Send a part of the writes as a transaction.  Returns whether they are
 * stored, sent early, or given up.  Otherwise nothing is stored of them, and
 * they say why.  nall is the number of the writes that are not done.
 */
static bool
send_transaction(MtsRound *round, MtsOp *const *ops, int n, int nall)
{
	MtsBulk *bulk = round->bulk;
	bson_error_t error;

	for (;;)
	{
		int sent = send_commands(round, ops, n, &error);

		if (round->is_sent)
			return true;
		if (sent == n && !find_refused(ops, n) && round->affected < n)
		{
			give_up(round);
			return true;
		}
		if (commit_part(round, ops, n, &error) == MTS_COMMITTED)
		{
			/* all writes were done, whatever the reply has said */
			if (error.domain != 0)
				round->affected = round->created = n;
			bulk->points_done += count_points(ops, n);
			finish_part(round, ops, n);
			return true;
		}
		if (error.domain == 0 || !is_interrupted(bulk, &error))
			break;
		(void) begin_transaction(round, ops, n);
	}
	if (error.domain != 0 && decide(bulk, &error) == MTS_GIVE_UP)
		raise_command_failure(bulk, &error);
	record_abort(ops, n, nall, &error);
	return false;
}

/*
 * Tell whether writes may be sent again after an error, which has aborted
 * PostgreSQL's transaction on the server.
 */
static bool
may_repeat(const MtsRound *round, uint32 code)
{
	const MtsBulk *bulk = round->bulk;

	if (mts_server_error_decide_code(code, MTS_PHASE_TRANSACTION) ==
		MTS_AGAIN_PLAIN)
		return !bulk->requires_xact && mts_xact_restart(bulk->connection);
	/* another session has created a collection */
	if (code == MTS_CODE_SNAPSHOT_UNAVAILABLE)
		return mts_xact_restart(bulk->connection);
	return mts_xact_may_repeat(bulk->connection);
}

/*
 * Send the writes as a part of PostgreSQL's transaction.  Returns whether they
 * are done.  Otherwise they say why not, and can be sent again.
 */
static bool
send_in_xact(MtsRound *round)
{
	MtsBulk *bulk = round->bulk;
	MtsConnection *connection = bulk->connection;
	MtsOp **ops = round->ops;
	int n = round->n;
	MtsOp *refused;
	bson_error_t error;

	mts_cursor_spool(connection);
	do
	{
		round->affected = round->created = 0;
		round->has_duplicate = false;
		if (mts_xact_open(&round->attempt, &round->xact, &error) &&
			send_commands(round, ops, n, &error) == n && !find_refused(ops, n))
		{
			finish_part(round, ops, n);
			if (round->has_duplicate)
				mts_xact_abort(connection, NULL);
			else if (round->affected >= n ||
					 ops[0]->kind == MTS_OP_DELETE_MANY)
				mts_xact_keep(connection, round->stored);
			return true;
		}
		refused = find_refused(ops, n);
		mts_xact_abort(connection, refused ? NULL : &error);
	} while (!refused && is_interrupted(bulk, &error) &&
			 mts_xact_should_repeat(&round->attempt, 0, &error) &&
			 mts_attempt_try_select_server(&round->attempt, &error));
	if (!may_repeat(round, refused ? (uint32) refused->code : error.code) ||
		(!refused && (is_interrupted(bulk, &error) ||
					  decide(bulk, &error) == MTS_GIVE_UP)))
	{
		if (!refused)
			mts_xact_report_failure(connection, make_message(bulk), &error);
		/* another session has made the bucket that the update did not find */
		if (refused->kind == MTS_OP_UPSERT &&
			refused->code == MTS_CODE_DUPLICATE_KEY)
			refused->code = MTS_CODE_WRITE_CONFLICT;
		round->refused = list_make1(refused);
		round->n = 0;
		return true;
	}
	record_abort(ops, n, n, &error);
	return false;
}

/* Send a part of the writes by themselves. */
static void
send_plain(MtsRound *round, MtsOp *const *ops, int n)
{
	bson_error_t error;
	int sent = 0;

	do
		sent += send_command(round, ops + sent, n - sent, &error);
	while (sent < n && !round->is_sent);
	if (!round->is_sent)
		finish_part(round, ops, n);
}

/* ---- Rounds ------------------------------------------------------------- */

/* Return the tag of the lock of a collection. */
static LOCKTAG
make_tag(const MtsBulk *bulk)
{
	uint32 database = string_hash(bulk->database, strlen(bulk->database) + 1);
	uint32 collection =
		string_hash(bulk->collection, strlen(bulk->collection) + 1);
	LOCKTAG tag;

	SET_LOCKTAG_ADVISORY(tag, InvalidOid, database, collection, LOCK_CLASS);
	return tag;
}

/*
 * mts_bulk_lock
 *		Lock a collection among the sessions of this cluster.
 *
 * The caller releases the lock.  So does an error.
 */
LOCKTAG
mts_bulk_lock(const MtsBulk *bulk)
{
	LOCKTAG tag = make_tag(bulk);

	(void) LockAcquire(&tag, ExclusiveLock, false, false);
	return tag;
}

/*
 * Let the sessions of this cluster finish that try again, before a first try.
 * A transaction fails where a plain write would wait.
 */
static void
await_retries(const MtsBulk *bulk)
{
	LOCKTAG tag = make_tag(bulk);

	(void) LockAcquire(&tag, ShareLock, false, false);
	(void) LockRelease(&tag, ShareLock, false);
}

/*
 * Tell whether to send a write again that was refused, because two sessions
 * make the same bucket at once, or lock it in turn, or because its transaction
 * was not possible.
 */
static bool
should_send_again(const MtsRound *round, MtsOp *op)
{
	MtsDecision decision =
		mts_server_error_decide_code((uint32) op->code, phase_of(round));

	/* the bucket exists by now, so the upsert updates it */
	if (op->code == MTS_CODE_DUPLICATE_KEY)
		return op->kind == MTS_OP_UPSERT &&
			   (op->new_bucket || ++op->duplicates < MTS_MAX_DUPLICATES);
	return decision != MTS_GIVE_UP &&
		   !(decision == MTS_AGAIN_IN_PARTS && round->joins_xact);
}

/* Make the update of a bucket that was to be inserted. */
static void
assume_existing(MtsOp *op)
{
	if (!op->new_bucket)
		return;
	op->new_bucket = NULL;
	op->make_update(op);
}

/*
 * Change how writes are sent after a refusal of a transaction.  Returns
 * whether other sessions were in its way.
 */
static bool
adapt_to_refusal(MtsRound *round, const MtsOp *op, int tries)
{
	MtsDecision decision =
		mts_server_error_decide_code((uint32) op->code, MTS_PHASE_TRANSACTION);
	MtsBulk *bulk = round->bulk;
	bool is_slow = bson_get_monotonic_time() > round->begin + TIME_UNTIL_PARTS;

	if (decision == MTS_AGAIN_PLAIN)
		bulk->is_atomic = bulk->joins_xact = false;
	else if (!round->joins_xact && (decision == MTS_AGAIN_IN_PARTS ||
									(is_slow && tries >= TRIES_UNTIL_PARTS)))
		bulk->most_writes = Max(round->part / 2, 1);
	return decision == MTS_AGAIN_LATER;
}

/*
 * Reduce a round to the writes that are sent again, and record those that are
 * refused for good.  Returns true when other sessions are in the way, beyond
 * new buckets that existed already.
 *
 * The buckets of a transaction are not inserted any more if one of them
 * existed, because the next one that exists would abort it again.
 */
static bool
select_retries(MtsRound *round, int tries)
{
	bool is_contended = false, bucket_exists = false;
	int n = round->n;

	round->n = 0;
	for (int i = 0; i < n; i++)
	{
		MtsOp *op = round->ops[i];

		if (!op->refusal && !op->is_aborted)
			continue;
		if (op->refusal &&
			(!should_send_again(round, op) || tries >= MAX_TRIES))
		{
			round->refused = lappend(round->refused, op);
			continue;
		}
		round->ops[round->n++] = op;
		if (!op->refusal)
			continue;
		if (op->new_bucket && op->code == MTS_CODE_DUPLICATE_KEY)
		{
			assume_existing(op);
			bucket_exists = true;
		}
		else if (round->in_transaction)
			is_contended |= adapt_to_refusal(round, op, tries);
		else
			is_contended = true;
	}
	if (!round->in_transaction)
		return is_contended;
	if (round->refused)
		round->n = 0;
	for (int i = 0; i < round->n && bucket_exists; i++)
		assume_existing(round->ops[i]);
	qsort(round->ops, round->n, sizeof(MtsOp *), compare_ops);
	return is_contended;
}

/*
 * Send each write once, unless a transaction is aborted.  Returns early when a
 * command was sent early, and is called again.
 */
static void
send_round(MtsRound *round, int tries)
{
	for (int sent = 0; sent < round->n; sent += round->part)
	{
		MtsOp **ops = round->ops + sent;
		int nall = round->n - sent;

		if (!round->is_sent)
		{
			round->part = begin_part(round, ops, nall);
			if (round->in_transaction && tries == 0 &&
				!mts_xact_is_active(round->bulk->connection->serverid))
				await_retries(round->bulk);
		}
		if (!round->in_transaction)
			send_plain(round, ops, round->part);
		else if (!(round->joins_xact
					   ? send_in_xact(round)
					   : send_transaction(round, ops, round->part, nall)))
			return;
		if (round->is_sent)
			return;
	}
}

/*
 * Send writes until each is done or refused for good.
 *
 * Many sessions that try again at once would keep each other out.  So those of
 * this cluster that write to one collection queue up by a lock.  Sessions in
 * their first try do not wait for it, so they finish, except that a
 * transaction does not begin before it is free.
 *
 * Returns when a command was sent early, and is called again.
 */
static void
send_rounds(MtsRound *round)
{
	LOCKTAG tag;
	bool is_locked = false;
	int tries = 0;

	while (round->n > 0)
	{
		send_round(round, tries);
		if (round->is_sent)
			return;
		round->may_return = false;
		if (select_retries(round, ++tries))
		{
			if (!is_locked)
				tag = mts_bulk_lock(round->bulk);
			is_locked = true;
			mts_attempt_back_off(tries);
		}
		CHECK_FOR_INTERRUPTS();
	}
	if (is_locked)
		(void) LockRelease(&tag, ExclusiveLock, false);
}

/* Add to an error what is known of the points: an error context callback. */
static void
describe_bulk(void *arg)
{
	const MtsBulk *bulk = arg;
	int64 npoints = bulk->points_stored + bulk->points_done;

	if (npoints > 0)
		errcontext("bulk write after " INT64_FORMAT " points of the statement "
				   "were stored in MongoDB collection \"%s.%s\"",
				   npoints, bulk->database, bulk->collection);
	if (bulk->outcome_is_unknown)
		errcontext("bulk write of " INT64_FORMAT " points; whether they were "
				   "stored in MongoDB collection \"%s.%s\" is not known",
				   bulk->points_in_flight, bulk->database, bulk->collection);
}

/* Send the writes of a round, with their context in errors. */
static void
send_in_context(MtsRound *round)
{
	ErrorContextCallback callback = {error_context_stack, describe_bulk,
									 round->bulk};

	error_context_stack = &callback;
	send_rounds(round);
	if (round->n == 0 && round->refused)
		raise_refusals(round);
	if (round->n == 0 && round->write_concern_error.domain != 0)
		mts_report_failure(round->bulk->connection, make_message(round->bulk),
						   &round->write_concern_error);
	error_context_stack = callback.previous;
}

/* ---- Postponed writes --------------------------------------------------- */

/* View a document or array of a command; returns false if it has none. */
static bool
view(const bson_t *command, const char *path, bson_t *part)
{
	bson_iter_t iter, found;
	uint32_t len;
	const uint8_t *data;

	if (!bson_iter_init(&iter, command) ||
		!bson_iter_find_descendant(&iter, path, &found))
		return false;
	if (BSON_ITER_HOLDS_ARRAY(&found))
		bson_iter_array(&found, &len, &data);
	else
		bson_iter_document(&found, &len, &data);
	return bson_init_static(part, data, len);
}

/* Read the write of a command that has only one. */
static MtsOp
read_write(const bson_t *command, bson_t *selector, bson_t *document)
{
	bson_iter_t iter, upsert;
	bool is_upsert =
		bson_iter_init(&iter, command) &&
		bson_iter_find_descendant(&iter, "updates.0.upsert", &upsert);

	if (view(command, "documents.0", document))
		return (MtsOp){MTS_OP_INSERT, NULL, document};
	if (view(command, "deletes.0.q", selector))
		return (MtsOp){MTS_OP_DELETE, selector};
	if (!view(command, "updates.0.q", selector) ||
		!view(command, "updates.0.u", document))
		elog(ERROR, "a command that was postponed has no write");
	return (MtsOp){is_upsert ? MTS_OP_UPSERT : MTS_OP_UPDATE, selector,
				   document};
}

/* Send a write that was postponed, without a transaction. */
static void
send_postponed(MtsConnection *connection, const char *database,
			   const bson_t *command, int npoints, Oid relid)
{
	bson_t selector, document;
	MtsOp op = read_write(command, &selector, &document);
	bson_iter_t verb;
	MtsBulk bulk = {.connection = connection,
					.relid = relid,
					.database = database};

	bson_iter_init(&verb, command);
	bson_iter_next(&verb);
	bulk.collection = mts_document_text(bson_iter_utf8(&verb, NULL));
	op.npoints = npoints;
	op.edits_points = op.kind == MTS_OP_UPDATE || op.kind == MTS_OP_DELETE;
	mts_bulk_execute(&bulk, &op, 1);
	if (bulk.affected == 0)
		mts_bulk_refuse_changed(&bulk, "The bucket was not written.");
}

/*
 * Have a single write sent when PostgreSQL's transaction commits, unless
 * something else of the transaction needs the server before.  Returns false if
 * it must be sent now.
 */
static bool
postpone(MtsRound *round)
{
	MtsBulk *bulk = round->bulk;
	MtsOp *op = round->ops[0];
	bson_error_t error;
	bson_t *command;

	if (!bulk->joins_xact || round->n != 1 || op->ignores_duplicate ||
		op->kind == MTS_OP_DELETE_MANY ||
		!mts_xact_may_postpone(bulk->connection))
		return false;
	begin_attempt(round);
	if (!mts_attempt_try_select_server(&round->attempt, &error))
		raise_command_failure(bulk, &error);
	if (!round->attempt.server.has_transactions)
		return false;
	assume_existing(op);
	command =
		mts_write_command_make(&round->attempt, round->ops, 1,
							   mts_document_utf8(bulk->collection), true);
	mts_document_adopt(command);
	mts_xact_postpone(bulk->connection, bulk->database, command, op->npoints,
					  bulk->relid, send_postponed);
	round->joins_xact = true;
	round->n = 0;
	bulk->affected = 1;
	bulk->created =
		mts_write_command_inserted(op) || op->kind == MTS_OP_UPSERT;
	bulk->existing = 1 - bulk->created;
	return true;
}

/* ---- Calls -------------------------------------------------------------- */

/* Send writes, if may_be_early perhaps without waiting for them. */
static void
begin(MtsBulk *bulk, MtsOp *ops, int nops, bool may_be_early)
{
	MtsRound *round = palloc0(sizeof(MtsRound));

	round->bulk = bulk;
	round->ops = palloc(nops * sizeof(MtsOp *));
	round->n = round->nops = nops;
	round->may_return = may_be_early;
	bulk->affected = bulk->created = bulk->existing = bulk->points_done = 0;
	for (int i = 0; i < nops; i++)
	{
		check_size(&ops[i]);
		round->ops[i] = &ops[i];
		round->npoints += ops[i].npoints;
	}
	qsort(round->ops, nops, sizeof(MtsOp *), compare_ops);
	bulk->round = round;
	if (may_be_early && postpone(round))
		return;
	mts_connection_prepare_write(bulk->connection);
	send_in_context(round);
}

/*
 * mts_bulk_begin
 *		Send writes, if possible without waiting until they are done.
 *
 * mts_bulk_end must follow.  The writes live until then.
 */
void
mts_bulk_begin(MtsBulk *bulk, MtsOp *ops, int nops)
{
	begin(bulk, ops, nops, true);
}

/*
 * mts_bulk_end
 *		Wait until the writes are done; raises an error unless all of them are.
 *
 * The error tells which points were not stored.  When the connection fails
 * midway, it says that this is not known.  Does nothing without writes.
 */
void
mts_bulk_end(MtsBulk *bulk)
{
	MtsRound *round = bulk->round;

	if (!round)
		return;
	bulk->round = NULL;
	round->may_return = false;
	send_in_context(round);
	bulk->is_undoable = round->joins_xact;
	if (bulk->affected == round->nops && !round->joins_xact)
	{
		bulk->points_stored += round->npoints;
		bulk->points_done = 0;
	}
}

/*
 * mts_bulk_is_transaction
 *		Tell whether a call with several writes will be a transaction.
 */
bool
mts_bulk_is_transaction(MtsBulk *bulk)
{
	MtsAttempt attempt =
		mts_attempt_begin(bulk->connection, make_message(bulk),
						  MTS_FROM_PRIMARY);

	if (!bulk->is_atomic)
		return false;
	attempt.is_write = true;
	mts_attempt_select_server(&attempt);
	return attempt.server.has_transactions;
}

/*
 * mts_bulk_execute
 *		Do writes: begin and end them.
 */
void
mts_bulk_execute(MtsBulk *bulk, MtsOp *ops, int nops)
{
	begin(bulk, ops, nops, false);
	mts_bulk_end(bulk);
}
