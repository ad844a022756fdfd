/*
 * bulk.c
 *		Send writes in bulk: insert, update and delete commands.
 *
 * Writes are sent unordered, but sorted by bucket, so that sessions which
 * write the same buckets wait for each other instead of deadlocking.  What
 * the server refuses for the moment is sent again, write by write; what it
 * refuses for good is an error that says which points were not stored.  A
 * bucket that is inserted as a new one and is there already is updated then.
 *
 * The commands are our own, and not libmongoc's bulk operations, because these
 * give up when the primary is lost and none is elected at once.  A replica set
 * recognises a command by the number that it has in its session (MongoDB's
 * retryable writes), so it is sent until a primary has answered, and is done
 * once: increments are not added twice.  Where the server has no such numbers,
 * nobody knows what became of a command without an answer, and the error says so.
 */
#include "driver/bulk.h"

#include "common/hashfn.h"
#include "common/pg_prng.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"

#include "driver/document.h"
#include "driver/remote.h"
#include "driver/report.h"
#include "table/collections.h"

/* A write that fails this often for the moment fails for good */
#define MAX_TRIES 30

/*
 * Milliseconds between two tries, at most.  Sessions that deadlock on one new
 * bucket are told so after a second, and go on doing it unless one of them
 * finds the others asleep: those of other PostgreSQL servers, see mts_bulk_lock().
 */
#define MAX_WAIT 4096

/* What tells our advisory locks from those of SQL, which have 1 and 2 */
#define LOCK_CLASS 3

/* MongoDB's limit of a document, in bytes; a command may have 16 KB more */
#define MAX_DOCUMENT (16 * 1024 * 1024)

/* MongoDB's limit of the writes of a command */
#define MAX_STATEMENTS 100000

/* What a write takes in a command beside its documents, in bytes, at most */
#define STATEMENT_OVERHEAD 96

/* So many buckets are named in a message */
#define MAX_NAMED 3

/* The writes that are sent at once, and what became of them */
typedef struct Round
{
	MtsBulk *bulk;
	MtsOp **ops;
	int n;
	List *lost;           /* MtsOp: refused for good, in any round */
	bson_error_t concern; /* that was not met, in any round; domain 0: none */
} Round;

/* MongoDB's codes of commands that were ended before all of their writes */
static const uint32 interruptions[] = {
	50,    /* MaxTimeMSExpired */
	202,   /* NetworkInterfaceExceededTimeLimit */
	262,   /* ExceededTimeLimit */
	279,   /* ClientDisconnect */
	11601, /* Interrupted, as by killOp */
};

/* The command of a kind of write, and what it calls them */
static const char *const command_names[][2] = {
	[MTS_OP_INSERT] = {"insert", "documents"},
	[MTS_OP_UPDATE] = {"update", "updates"},
	[MTS_OP_UPSERT] = {"update", "updates"},
	[MTS_OP_DELETE] = {"delete", "deletes"},
	[MTS_OP_DELETE_MANY] = {"delete", "deletes"},
};

static int
compare_ops(const void *a, const void *b)
{
	const MtsOp *left = *(MtsOp *const *) a;
	const MtsOp *right = *(MtsOp *const *) b;

	if (left->kind != right->kind)
		return left->kind < right->kind ? -1 : 1;
	/* those of one kind make a command */
	if (!left->fresh != !right->fresh)
		return left->fresh ? -1 : 1;
	if (left->selector)
	{
		int order = bson_compare(left->selector, right->selector);

		if (order != 0)
			return order;
	}
	/* of one bucket, in the order in which they were asked for */
	return (left > right) - (left < right);
}

static void
check_size(const MtsOp *op)
{
	MtsMeaning meaning = mts_report_meaning(10334);

	if ((op->document && op->document->len > MAX_DOCUMENT) ||
		(op->selector && op->selector->len > MAX_DOCUMENT))
		ereport(ERROR, (errcode(meaning.sqlstate),
						errmsg("a bucket is larger than a MongoDB document "
							   "can be"),
						errdetail("Nothing of this bulk write was stored."),
						errhint("%s", meaning.hint)));
}

/* ---- Errors -------------------------------------------------------------- */

/* The message of a bulk write's errors */
static char *
message(const MtsBulk *bulk)
{
	return psprintf("could not write to MongoDB collection \"%s.%s\"",
					bulk->database, bulk->collection);
}

/*
 * Say whether a command that failed may have been done all the same, as a whole
 * or in part.
 */
static bool
is_unsure(const MtsBulk *bulk, const bson_error_t *error)
{
	if (error->domain == MONGOC_ERROR_SERVER ||
		error->domain == MONGOC_ERROR_WRITE_CONCERN)
	{
		for (int i = 0; i < lengthof(interruptions); i++)
			if (interruptions[i] == error->code)
				return error->domain == MONGOC_ERROR_SERVER;
		/* a secondary refuses a command before it begins */
		if (error->domain == MONGOC_ERROR_SERVER &&
			(error->code == 10107 || error->code == 13435))
			return false;
		return mts_attempt_is_election(error->code);
	}
	/* an error of connecting comes before the command is sent */
	return mts_remote_is_lost(bulk->connection, error) &&
		   error->domain != MONGOC_ERROR_SERVER_SELECTION &&
		   !(error->domain == MONGOC_ERROR_STREAM &&
			 (error->code == MONGOC_ERROR_STREAM_CONNECT ||
			  error->code == MONGOC_ERROR_STREAM_NOT_ESTABLISHED ||
			  error->code == MONGOC_ERROR_STREAM_NAME_RESOLUTION));
}

/*
 * Raise the error of a command that the server has refused as a whole, or has
 * not answered.
 */
static _Noreturn void
raise_failed(MtsBulk *bulk, const bson_error_t *error)
{
	const char *what = message(bulk);

	if (error->domain == MONGOC_ERROR_SERVER &&
		error->code == MTS_SERVER_IS_VIEW)
		mts_collections_refuse_view(bulk->database, bulk->collection);
	if (!bulk->is_unsure || bulk->connection->wait.interrupted ||
		bulk->connection->wait.problem)
		mts_remote_raise(bulk->connection, what, error);
	bulk->connection->invalid = true;
	bulk->is_unsure = false;
	ereport(
		ERROR,
		(errcode(ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN), errmsg("%s", what),
		 errdetail("%s\nIt is not known whether the last bulk write%s was "
				   "done.",
				   mts_document_text(
					   mts_remote_explain(bulk->connection, error).message),
				   bulk->in_flight > 0
					   ? psprintf(", of " INT64_FORMAT " points,",
								  bulk->in_flight)
					   : ""),
		 errhint("See what is stored before you run the statement "
				 "again.")));
}

/* Name the buckets of writes that were refused for good, for a message. */
static char *
name_lost(const List *lost)
{
	StringInfoData names;
	ListCell *lc;

	initStringInfo(&names);
	foreach (lc, lost)
	{
		const MtsOp *op = lfirst(lc);
		char *text =
			mts_document_shell(op->selector ? op->selector : op->document);

		if (foreach_current_index(lc) == MAX_NAMED)
		{
			appendStringInfo(&names, " and %d more",
							 list_length(lost) - MAX_NAMED);
			break;
		}
		if (strlen(text) > 200)
			strcpy(text + pg_mbcliplen(text, strlen(text), 197), "...");
		appendStringInfo(&names, "%s%s", names.len > 0 ? ", " : "", text);
	}
	return names.data;
}

/*
 * Raise the error of what was refused for good, of so many points.  Their number
 * is not known of a TRUNCATE.
 */
static _Noreturn void
raise_lost(const Round *round, int64 total)
{
	const MtsBulk *bulk = round->bulk;
	const MtsOp *first = linitial(round->lost);
	MtsMeaning meaning = mts_report_meaning(first->code);
	int64 lost = bulk->unsent;
	char *counts = "";
	ListCell *lc;

	foreach (lc, round->lost)
		lost += ((const MtsOp *) lfirst(lc))->npoints;
	total += bulk->unsent;
	if (total > 0)
		counts = psprintf("\nNot stored: " INT64_FORMAT " of " INT64_FORMAT
						  " points of a bulk write, those of %s%s.\n"
						  "Stored by this statement: " INT64_FORMAT " points.",
						  lost, total, name_lost(round->lost),
						  bulk->unsent > 0 ? " and of other collections" : "",
						  bulk->stored + total - lost);
	ereport(ERROR,
			(errcode(meaning.sqlstate), errmsg("%s", message(bulk)),
			 errdetail("%s%s", mts_document_text(first->refusal), counts),
			 meaning.hint ? errhint("%s", meaning.hint) : 0));
	pg_unreachable();
}

/* ---- Replies ------------------------------------------------------------- */

/* Go to an array of a reply; false when there is none. */
static bool
find_array(const bson_t *reply, const char *field, bson_iter_t *elements)
{
	bson_iter_t iter;

	return bson_iter_init_find(&iter, reply, field) &&
		   BSON_ITER_HOLDS_ARRAY(&iter) && bson_iter_recurse(&iter, elements);
}

/*
 * Note which of a command's n writes its reply refuses.
 *
 * False, with the server's reason in *error, when the reply does not name one of
 * them, or when the server has given up writes in the midst of the command for
 * an election.  A mongos tells so of each write by itself.  Whether they were
 * done is open.
 */
static bool
note_refused(MtsBulk *bulk, MtsOp *const *ops, int n, const bson_t *reply,
			 bson_error_t *error)
{
	bson_iter_t errors, field;
	bool are_named = true;

	for (int i = 0; i < n; i++)
		ops[i]->refusal = NULL;
	if (!find_array(reply, "writeErrors", &errors))
		return true;
	while (bson_iter_next(&errors))
	{
		const char *reason = "no message";
		int64 index = -1;
		int code = 0;

		if (bson_iter_recurse(&errors, &field))
			while (bson_iter_next(&field))
			{
				const char *key = bson_iter_key(&field);

				if (strcmp(key, "index") == 0)
					index = bson_iter_as_int64(&field);
				else if (strcmp(key, "code") == 0)
					code = (int) bson_iter_as_int64(&field);
				else if (strcmp(key, "errmsg") == 0 &&
						 BSON_ITER_HOLDS_UTF8(&field))
					reason = bson_iter_utf8(&field, NULL);
			}
		if (mts_attempt_is_election((uint32) code))
		{
			bson_set_error(error, MONGOC_ERROR_SERVER, (uint32) code,
						   "the writes were interrupted");
			bulk->is_unsure = true;
			return false;
		}
		if (index < 0 || index >= n)
		{
			bson_set_error(error, MONGOC_ERROR_SERVER, (uint32) code, "%s",
						   reason);
			are_named = false;
		}
		else if (!ops[index]->may_conflict || code != MTS_SERVER_DUPLICATE_KEY)
		{
			ops[index]->refusal = reason;
			ops[index]->code = code;
		}
	}
	return are_named;
}

/* How many elements an array of a reply has */
static int64
reply_length(const bson_t *reply, const char *field)
{
	bson_iter_t element;
	int64 n = 0;

	if (find_array(reply, field, &element))
		while (bson_iter_next(&element))
			n++;
	return n;
}

/* ---- Commands ------------------------------------------------------------ */

/* Tell whether one command does both of these writes, which are sorted. */
static bool
is_same_command(const MtsOp *a, const MtsOp *b)
{
	return a->kind == b->kind && !a->fresh == !b->fresh;
}

/* The document that a write inserts; NULL where it updates or deletes */
static const bson_t *
inserted(const MtsOp *op)
{
	return op->fresh || op->kind != MTS_OP_INSERT ? op->fresh : op->document;
}

/* The bytes that a write takes in its command, or a little more */
static size_t
statement_size(const MtsOp *op)
{
	if (inserted(op))
		return STATEMENT_OVERHEAD + inserted(op)->len;
	return STATEMENT_OVERHEAD + op->selector->len +
		   (op->document ? op->document->len : 0);
}

/* How many of the writes, from the first on, fit in one command */
static int
command_length(MtsOp *const *ops, int nops)
{
	size_t size = 0;
	int n = 0;

	while (n < nops && n < MAX_STATEMENTS && is_same_command(ops[0], ops[n]))
	{
		size += statement_size(ops[n]);
		if (n > 0 && size > MAX_DOCUMENT)
			break;
		n++;
	}
	return n;
}

/* Tell whether an update is a pipeline, which has the keys of an array. */
static bool
is_pipeline(const bson_t *update)
{
	bson_iter_t iter;

	return bson_iter_init(&iter, update) && bson_iter_next(&iter) &&
		   strcmp(bson_iter_key(&iter), "0") == 0;
}

/* {q: selector, u: update, upsert: true} or {q: selector, limit: 1} */
static void
append_statement(const MtsAttempt *attempt, const MtsOp *op, bson_t *statement)
{
	bson_append_document(statement, "q", 1, op->selector);
	if (!op->document)
		bson_append_int32(statement, "limit", 5, op->kind == MTS_OP_DELETE);
	else if (is_pipeline(op->document))
		bson_append_array(statement, "u", 1, op->document);
	else
		bson_append_document(statement, "u", 1, op->document);
	if (op->kind == MTS_OP_UPSERT)
		bson_append_bool(statement, "upsert", 6, true);
	mts_attempt_append_collation(attempt, statement);
}

/*
 * The command that does n writes of one kind.  The number makes the server
 * recognise the command when it is sent again; 0: none.
 */
static bson_t *
make_command(const MtsAttempt *attempt, MtsOp *const *ops, int n,
			 int64 txn_number, const char *collection)
{
	const char *const *names =
		command_names[inserted(ops[0]) ? MTS_OP_INSERT : ops[0]->kind];
	bson_t *command = bson_new();
	bson_t list;

	bson_append_utf8(command, names[0], -1, collection, -1);
	bson_append_bool(command, "ordered", -1, false);
	if (txn_number > 0)
		bson_append_int64(command, "txnNumber", -1, txn_number);
	bson_append_array_begin(command, names[1], -1, &list);
	for (int i = 0; i < n; i++)
	{
		char digits[16];
		const char *key;
		size_t len = bson_uint32_to_string(i, &key, digits, sizeof(digits));
		bson_t statement;

		if (inserted(ops[i]))
		{
			bson_append_document(&list, key, (int) len, inserted(ops[i]));
			continue;
		}
		bson_append_document_begin(&list, key, (int) len, &statement);
		append_statement(attempt, ops[i], &statement);
		bson_append_document_end(&list, &statement);
	}
	bson_append_array_end(command, &list);
	return command;
}

/*
 * The number of the next write that a server recognises; 0 where it recognises
 * none.  The numbers of a session only grow.
 */
static int64
next_txn_number(const MtsAttempt *attempt, const MtsOp *op)
{
	MtsConnection *connection = attempt->connection;
	bson_error_t error;

	if (!attempt->server.retries_writes || op->kind == MTS_OP_DELETE_MANY)
		return 0;
	if (!connection->session)
		connection->session =
			mongoc_client_start_session(connection->client, NULL, &error);
	return connection->session ? ++connection->txn_number : 0;
}

/*
 * Run the command that does n writes, until the server has answered what became
 * of them.  False with the reason in *error when it has not, or has refused the
 * command as a whole.
 */
static bool
run_command(MtsBulk *bulk, MtsOp *const *ops, int n, const bson_t **reply,
			bson_error_t *error)
{
	MtsAttempt attempt =
		mts_attempt_begin(bulk->connection, message(bulk), true, false);
	char *collection = mts_document_utf8(bulk->collection);
	int64 txn_number = -1;
	bool ok = false;

	attempt.is_of_write = true;
	while (!ok && mts_attempt_try_server(&attempt, error))
	{
		bson_t *command;

		if (txn_number < 0)
			txn_number = next_txn_number(&attempt, ops[0]);
		attempt.is_repeatable =
			txn_number > 0 || ops[0]->kind == MTS_OP_DELETE_MANY;
		command = make_command(&attempt, ops, n, txn_number, collection);
		ok = mts_remote_send(&attempt, bulk->database, command,
							 txn_number > 0 ? bulk->connection->session : NULL,
							 reply, error);
		bson_destroy(command);
		if (ok || error->domain == MONGOC_ERROR_WRITE_CONCERN)
		{
			bulk->is_unsure = !ok && is_unsure(bulk, error);
			ok &= note_refused(bulk, ops, n, *reply, error);
		}
		else
			bulk->is_unsure |= is_unsure(bulk, error);
		if (!ok && !mts_attempt_again(&attempt, error))
			break;
	}
	return ok;
}

/* Send the first writes that are left of a round, and say how many. */
static int
send_command(Round *round, MtsOp *const *ops, int left)
{
	MtsBulk *bulk = round->bulk;
	int n = command_length(ops, left);
	bson_error_t error = {0};
	const bson_t *reply = NULL;
	int64 done;

	bulk->in_flight = 0;
	for (int i = 0; i < n; i++)
		bulk->in_flight += ops[i]->npoints;
	bulk->is_unsure = false;
	if (!run_command(bulk, ops, n, &reply, &error))
	{
		/* without the write concern it is done all the same */
		if (error.domain != MONGOC_ERROR_WRITE_CONCERN || bulk->is_unsure)
			raise_failed(bulk, &error);
		/* refusals would hide that it was not met */
		if (round->concern.domain == 0)
			round->concern = error;
	}
	done = mts_document_number(reply, "n");
	bulk->affected += done;
	bulk->made += inserted(ops[0]) ? done : reply_length(reply, "upserted");
	return n;
}

/* How long to wait before the next try: longer each time, each by itself */
static long
random_wait(int tries)
{
	double most = Min(1L << Min(tries, 20), MAX_WAIT);

	return 1 + (long) (pg_prng_double(&pg_global_prng_state) * most);
}

/*
 * mts_bulk_lock
 *		Lock a collection among the sessions of this cluster.
 *
 * An error releases the lock, too.
 */
LOCKTAG
mts_bulk_lock(const MtsBulk *bulk)
{
	uint32 database = string_hash(bulk->database, strlen(bulk->database) + 1);
	uint32 collection =
		string_hash(bulk->collection, strlen(bulk->collection) + 1);
	LOCKTAG tag;

	SET_LOCKTAG_ADVISORY(tag, InvalidOid, database, collection, LOCK_CLASS);
	(void) LockAcquire(&tag, ExclusiveLock, false, false);
	return tag;
}

/*
 * Say whether a write that was refused is worth another try.  Two sessions
 * may make the same bucket at once, or lock it in turn.
 */
static bool
is_transient(MtsOp *op)
{
	switch (op->code)
	{
		case MTS_SERVER_DUPLICATE_KEY: /* the bucket is there by now, and is updated */
			return op->kind == MTS_OP_UPSERT &&
				   (op->fresh || ++op->duplicates < MTS_MAX_DUPLICATES);
		case 112:      /* write conflict */
		case 16908292: /* DocumentDB: deadlock detected */
		case 16777284: /* DocumentDB: could not serialize access */
			return true;
		default:
			return false;
	}
}

/*
 * Keep what is to be sent again, and note what is refused for good.  True when
 * others are in the way, not only that buckets were taken for new.
 */
static bool
sort_refused(Round *round, int tries)
{
	bool is_contended = false;
	int n = round->n;

	round->n = 0;
	for (int i = 0; i < n; i++)
	{
		MtsOp *op = round->ops[i];

		if (!op->refusal)
			continue;
		if (!is_transient(op) || tries >= MAX_TRIES)
		{
			round->lost = lappend(round->lost, op);
			continue;
		}
		round->ops[round->n++] = op;
		if (op->fresh && op->code == MTS_SERVER_DUPLICATE_KEY)
		{
			op->fresh = NULL;
			round->bulk->stale++;
		}
		else
			is_contended = true;
	}
	return is_contended;
}

/*
 * Send writes until each is done or refused for good.  The sessions of this
 * cluster that try again to write to the same collection wait for each other:
 * many at once would go on refusing each other.  Whoever is in front waits for
 * no lock, so it gets done.
 */
static void
send_rounds(Round *round)
{
	LOCKTAG tag;
	bool is_queued = false;
	int tries = 0;

	while (round->n > 0)
	{
		for (int sent = 0; sent < round->n;)
			sent += send_command(round, round->ops + sent, round->n - sent);
		if (sort_refused(round, ++tries))
		{
			if (!is_queued)
				tag = mts_bulk_lock(round->bulk);
			is_queued = true;
			mts_attempt_sleep(random_wait(tries));
		}
		CHECK_FOR_INTERRUPTS();
	}
	if (is_queued)
		(void) LockRelease(&tag, ExclusiveLock, false);
}

/* Error context: what is known of the points */
static void
describe_bulk(void *arg)
{
	const MtsBulk *bulk = arg;

	if (bulk->stored > 0)
		errcontext("bulk write after " INT64_FORMAT " points of the statement "
				   "were stored in MongoDB collection \"%s.%s\"",
				   bulk->stored, bulk->database, bulk->collection);
	if (bulk->is_unsure)
		errcontext("bulk write of " INT64_FORMAT " points; whether they were "
				   "stored in MongoDB collection \"%s.%s\" is not known",
				   bulk->in_flight, bulk->database, bulk->collection);
}

/*
 * mts_bulk_execute
 *		Send writes, and see that all of them were done.
 *
 * An error tells which points were not stored; when the connection fails in
 * the middle, that is not known of this bulk's.
 */
void
mts_bulk_execute(MtsBulk *bulk, MtsOp *ops, int nops)
{
	ErrorContextCallback callback = {.callback = describe_bulk, .arg = bulk};
	Round round = {bulk, palloc(nops * sizeof(MtsOp *)), nops};
	int64 total = 0;

	bulk->affected = bulk->made = bulk->stale = 0;
	if (nops == 0)
		return;
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	for (int i = 0; i < nops; i++)
	{
		check_size(&ops[i]);
		round.ops[i] = &ops[i];
		total += ops[i].npoints;
	}
	qsort(round.ops, nops, sizeof(MtsOp *), compare_ops);
	send_rounds(&round);
	if (round.lost)
		raise_lost(&round, total);
	if (round.concern.domain != 0)
		mts_remote_raise(bulk->connection, message(bulk), &round.concern);
	if (bulk->affected == nops)
		bulk->stored += total;
	error_context_stack = callback.previous;
}
