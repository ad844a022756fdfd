/*
 * bulk.c
 *		Send writes in bulk: insert, update and delete commands.
 *
 * The writes of a call are one transaction of MongoDB if they are several, the
 * server is a member of a replica set, and the caller wants it.  Then they are
 * stored wholly or not at all: not at all, too, if an update or a delete finds
 * no document.  A transaction is sent again as a whole if another session or
 * an election was in its way.  It is sent in parts if it is too large for the
 * server, and without being one if the collection cannot have one.  Without a
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
 * stored.  An upsert can have a faster form, which is tried first.  A new
 * bucket is inserted, or the update has conditions on what is stored.  A
 * unique index refuses it where that is not so, and the form that is always
 * right follows.
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
 * server writes.  The writes are a queue of commands, in parts: one
 * transaction, or plain writes.  The beginning sends the first part, as far as
 * that may be under way at once.  The end receives the replies, decides what
 * is sent again, and sends the rest, until nothing is left.  Nothing is sent
 * or received in between.  Writes of PostgreSQL's transaction, and those that
 * begin while others of the connection are under way, are done by the
 * beginning.  If all commands of a transaction could be sent at once, and each
 * of its writes can only be done or refused, the commit follows before the
 * replies.
 */
#include "driver/bulk.h"

#include "access/xact.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "driver/bulk_error.h"
#include "driver/command.h"
#include "driver/cursor.h"
#include "driver/document.h"
#include "driver/orphan.h"
#include "driver/report.h"
#include "driver/seen.h"
#include "driver/server_error.h"
#include "driver/stored.h"
#include "driver/transaction.h"
#include "driver/write_command.h"
#include "driver/xact.h"

/* How often a write is tried while other sessions are in its way */
#define MAX_TRIES 30

/*
 * Some servers say of a transaction that is too large for their cache that
 * other sessions are in its way.  So one of more writes or bytes than these is
 * sent in parts after it has failed a number of times in turn, each after a
 * number of microseconds.  Until then it may be in the way of others.  A
 * smaller one stays whole: only sessions can be in its way.
 */
#define LARGE_WRITES 500
#define LARGE_BYTES (1024 * 1024)
#define SLOW_TRIES 3
#define SLOW_TIME 1000000

/*
 * How many plain commands with a number may be under way.  Each needs its own
 * session, because the server knows only the last number of a session.
 */
#define MAX_PLAIN lengthof(((MtsWriteSessions *) NULL)->lsids)

/* SQL's advisory locks have the classes 1 and 2. */
#define LOCK_CLASS 3

/* How the writes of a part belong together */
typedef enum PartKind
{
	PART_PLAIN,       /* each is stored by itself */
	PART_TRANSACTION, /* a transaction of their own */
	PART_XACT         /* PostgreSQL's; see xact.c */
} PartKind;

/* A command that does some writes of a part */
typedef struct Command
{
	MtsOp **ops;
	int n;
	size_t size;      /* bytes, or a few more */
	MtsLsid *lsid;    /* the session of the number */
	int64 number;     /* by which the server recognizes a plain write, or 0 */
	MtsTicket ticket; /* of its reply, or 0 */
	bool is_sent;     /* the reply is to be received, or is lost */
	bool is_done;     /* its reply has been read */
	bool is_unknown;  /* it was sent before, and may be done */
} Command;

/* The writes of a call that are still to be done */
typedef struct MtsRound
{
	MtsBulk *bulk;
	MtsWriteSessions *sessions; /* that no other round uses */
	MtsOp **ops;                /* to be sent, sorted */
	int n;
	int nops; /* of the call */
	int64 npoints;
	List *refused;                    /* MtsOp: for good, in any round */
	bson_error_t write_concern_error; /* the first one; domain 0 for none */

	/* the part that is sent */
	PartKind kind;
	int first; /* of the writes */
	int part;  /* writes */
	Command *commands;
	int ncommands;
	MtsAttempt attempt;
	MtsTransaction *transaction;
	bson_error_t send_error; /* why the last command could not be sent */
	int64 begin;             /* in monotonic microseconds */
	int slow_tries;          /* of a transaction in turn, that took long */
	int64 affected;          /* as in MtsBulk */
	int64 created;
	MtsStored stored;   /* by the writes that were done last */
	bool has_duplicate; /* which is not an error, but aborts a transaction */

	SubTransactionId subid; /* that has begun it, if it is under way */
	struct MtsRound *next;  /* of those under way */
} MtsRound;

/* Those that were begun while the caller works, one of each connection */
static MtsRound *under_way = NULL;

/* The condition by which writes of one bucket or key are sorted together */
static const bson_t *
sort_key(const MtsOp *op)
{
	return op->identity ? op->identity : op->selector;
}

/* Order writes by command, bucket or key, and the caller's order. */
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
		int order = bson_compare(sort_key(left), sort_key(right));

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

/*
 * Tell whether a write reports that its document is new: it stores no point,
 * so that nothing else can be reported.
 */
static bool
reports_new(const MtsOp *op)
{
	return op->kind == MTS_OP_UPSERT && op->npoints == 0;
}

/* ---- Outcomes ----------------------------------------------------------- */

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
 * Record how many points were sent with an outcome that is not known.  Then a
 * rollback warns of them.
 */
static void
record_sent(MtsBulk *bulk, int64 npoints)
{
	mts_stored_record_sent(bulk->connection, npoints - bulk->points_recorded);
	bulk->points_recorded = npoints;
}

/* Record whether the outcome of the last command or transaction is unknown. */
static void
record_outcome(MtsBulk *bulk, bool is_unknown)
{
	bulk->outcome_is_unknown = is_unknown;
	record_sent(bulk, is_unknown ? bulk->points_in_flight : 0);
}

/* Tell whether a command that failed may have been done, wholly or in part. */
static bool
may_be_done(const MtsBulk *bulk, const bson_error_t *error, MtsPhase phase)
{
	return mts_server_error_may_be_done(
		mts_server_error_decide(bulk->connection, error, phase));
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
	return round->kind == PART_PLAIN ? MTS_PHASE_OPERATION
									 : MTS_PHASE_TRANSACTION;
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

	/* the command may have been sent before, with another reply */
	for (int i = 0; i < n; i++)
		ops[i]->refusal = NULL;
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

/* ---- Commands ----------------------------------------------------------- */

/* Prepare to send writes; nothing is sent yet. */
static void
begin_attempt(MtsRound *round)
{
	MtsBulk *bulk = round->bulk;

	round->attempt =
		mts_attempt_begin(bulk->connection, mts_bulk_error_message(bulk),
						  MTS_FROM_PRIMARY);
	round->attempt.is_write = true;
	round->attempt.in_transaction = round->kind != PART_PLAIN;
	round->attempt.relid = bulk->relid;
}

/* Select the server of a part, or raise an error. */
static void
select_server(MtsRound *round)
{
	bson_error_t error = {0};

	if (!mts_attempt_try_select_server(&round->attempt, &error))
		mts_bulk_error_raise_failure(round->bulk, &error);
}

/* Queue the commands of a part. */
static void
queue_commands(MtsRound *round)
{
	MtsOp **ops = round->ops + round->first;
	int queued = 0;

	round->commands = palloc(round->part * sizeof(Command));
	round->ncommands = 0;
	while (queued < round->part)
	{
		Command *command = &round->commands[round->ncommands++];

		*command = (Command){.ops = ops + queued};
		command->n =
			mts_write_command_length(command->ops, round->part - queued,
									 &command->size);
		queued += command->n;
	}
}

/* Choose the number by which the server recognizes a plain write. */
static void
choose_number(const MtsRound *round, Command *command)
{
	MtsConnection *connection = round->bulk->connection;

	if (command->number > 0 || !round->attempt.server.retries_writes ||
		command->ops[0]->kind == MTS_OP_DELETE_MANY)
		return;
	command->lsid =
		&round->sessions->lsids[(command - round->commands) % MAX_PLAIN];
	command->number = mts_transaction_next_number(connection);
}

/* Append the number of a command, or that it belongs to a transaction. */
static void
append_number(const MtsRound *round, Command *command, bson_t *document)
{
	if (round->kind != PART_PLAIN)
		mts_transaction_append(round->transaction, document);
	else if (command->number > 0)
		mts_transaction_append_number(command->lsid, command->number,
									  document);
}

/* Record a command of PostgreSQL's transaction. */
static void
record(const MtsRound *round, const Command *command, const bson_t *document)
{
	const MtsBulk *bulk = round->bulk;
	const MtsOp *op = command->ops[0];

	if (op->seen)
		mts_xact_record_read(bulk->connection, bulk->database,
							 mts_seen_command(op->seen, &round->attempt,
											  mts_document_utf8(
												  bulk->collection)),
							 op->seen);
	mts_xact_record(bulk->connection, bulk->database, document,
					op->kind != MTS_OP_DELETE_MANY ? command->n
					: op->seen                     ? op->seen->ndocuments
												   : -1,
					reports_new(op));
}

/* Send a command to the server that was selected, and do not wait. */
static void
submit_command(MtsRound *round, Command *command)
{
	const MtsBulk *bulk = round->bulk;
	MemoryContext memory =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw command",
							  ALLOCSET_SMALL_SIZES);
	bson_t *document =
		mts_write_command_make(&round->attempt, command->ops, command->n,
							   mts_document_utf8(bulk->collection),
							   round->kind == PART_XACT);
	MemoryContext old = MemoryContextSwitchTo(memory);

	mts_document_adopt(document);
	if (round->kind == PART_PLAIN)
		choose_number(round, command);
	else if (round->kind == PART_XACT)
		record(round, command, document);
	append_number(round, command, document);
	command->is_sent = true;
	round->send_error.domain = 0;
	(void) mts_command_submit(&round->attempt, bulk->database, document,
							  &command->ticket, &round->send_error);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(memory);
}

/*
 * Tell whether a command may be sent behind others that are under way: there
 * is room, and the server will know each plain write.
 *
 * A transaction's commands wait for each other if an overloaded server can
 * refuse a command.  The server would still execute the commands behind that
 * one, and commit.
 */
static bool
may_follow(const MtsRound *round, const Command *command,
		   const Command *first_sent)
{
	return mts_exchange_has_room(&round->bulk->connection->exchange,
								 round->attempt.server.channel,
								 command->size) &&
		   (round->kind == PART_PLAIN
				? first_sent->number > 0 && command < first_sent + MAX_PLAIN
				: !mts_connection_sheds_load(&round->attempt.server));
}

/*
 * Send the commands of a part that are neither sent nor done, as long as none
 * of them has to wait.  Returns whether all are sent.
 */
static bool
submit(MtsRound *round)
{
	Command *end = round->commands + round->ncommands;
	Command *first_sent = NULL;
	Command *command;

	for (command = round->commands; command < end; command++)
	{
		if (command->is_done)
			continue;
		if (first_sent && !may_follow(round, command, first_sent))
			break;
		if (!first_sent)
			first_sent = command;
		submit_command(round, command);
		/* those that follow were certainly not done */
		if (command->ticket == 0)
			break;
	}
	return command == end;
}

/*
 * Receive the reply to a command that was sent.  Returns false with the reason
 * in *error when it has failed or is lost.
 */
static bool
collect(MtsRound *round, Command *command, const bson_t **reply,
		bson_error_t *error)
{
	MtsTicket ticket = command->ticket;

	command->is_sent = false;
	command->ticket = 0;
	if (ticket != 0)
		return mts_command_collect(&round->attempt, ticket, reply, error);
	*reply = mts_document_new();
	*error = round->send_error;
	return false;
}

/* Count the documents that a command has written. */
static void
count_documents(MtsRound *round, const Command *command, const bson_t *reply)
{
	int64 ndocuments = mts_document_number(reply, "n");

	round->affected += ndocuments;
	round->created += mts_write_command_inserted(command->ops[0])
						  ? ndocuments
						  : mts_document_count(reply, "upserted");
}

/*
 * Count the n writes of a part that are not refused as done.  Those of
 * PostgreSQL's transaction are not stored yet.
 */
static void
finish_writes(MtsRound *round, MtsOp *const *ops, int n)
{
	MtsBulk *bulk = round->bulk;
	MtsStored stored = {0};
	int ndone = 0;

	bulk->affected += round->affected;
	bulk->created += round->created;
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
	if (bulk->stores_no_data)
		round->stored = (MtsStored){0};
	if (round->kind == PART_XACT)
		return;
	bulk->points_done += round->stored.npoints + round->stored.nedited;
	mts_stored_record(bulk->connection, NULL, round->stored);
}

/* ---- Plain writes ------------------------------------------------------- */

/*
 * Record how many points were sent with an outcome that is not known yet, so
 * that a rollback warns of them, and whether any may have been done.
 */
static void
record_in_flight(MtsRound *round)
{
	MtsBulk *bulk = round->bulk;

	bulk->points_in_flight = 0;
	bulk->outcome_is_unknown = false;
	for (int i = 0; i < round->ncommands; i++)
	{
		const Command *command = &round->commands[i];

		if (command->is_done)
			continue;
		if (command->is_sent || command->is_unknown)
			bulk->points_in_flight += count_points(command->ops, command->n);
		bulk->outcome_is_unknown |= command->is_unknown;
	}
	record_sent(bulk, bulk->points_in_flight);
}

/* Send plain writes. */
static void
submit_plain(MtsRound *round)
{
	(void) submit(round);
	record_in_flight(round);
}

/*
 * Read the reply to a plain command.  Returns false with the reason in *error
 * if it has failed for good.  Otherwise it is done, or is to be sent again.
 */
static bool
finish_command(MtsRound *round, Command *command, bson_error_t *error)
{
	MtsBulk *bulk = round->bulk;
	MtsAttempt *attempt = &round->attempt;
	const bson_t *reply;
	bool ok = collect(round, command, &reply, error);
	bool is_done = ok || error->domain == MONGOC_ERROR_WRITE_CONCERN;

	/* an earlier try may have been done if this one was refused */
	command->is_unknown = (command->is_unknown && !is_done) ||
						  (!ok && may_be_done(bulk, error, MTS_PHASE_WRITE));
	if (is_done &&
		!record_refusals(round, command->ops, command->n, reply, error))
	{
		ok = false;
		command->is_unknown |= may_be_done(bulk, error, MTS_PHASE_OPERATION);
	}
	attempt->is_repeatable =
		command->number > 0 || command->ops[0]->kind == MTS_OP_DELETE_MANY;
	if (!ok && mts_attempt_should_repeat(attempt, error))
		return true;
	/* the writes are done even if the write concern is not met */
	if (!ok &&
		(error->domain != MONGOC_ERROR_WRITE_CONCERN || command->is_unknown))
		return false;
	/* it is raised at the end, unless writes are refused */
	if (!ok)
		record_write_concern_error(round, error);
	command->is_done = true;
	round->affected = round->created = 0;
	count_documents(round, command, reply);
	finish_writes(round, command->ops, command->n);
	return true;
}

/*
 * Read the replies to the plain commands that were sent.  Returns whether all
 * of these are done.  If one has failed for good, its error is raised when the
 * outcome of the others is known.
 */
static bool
collect_plain(MtsRound *round)
{
	MtsBulk *bulk = round->bulk;
	bson_error_t first = {0}, error;
	bool are_done = true;

	for (int i = 0; i < round->ncommands; i++)
	{
		Command *command = &round->commands[i];
		bool was_sent = command->is_sent;

		if (was_sent && !finish_command(round, command, &error) &&
			first.domain == 0)
			first = error;
		are_done &= command->is_done || !was_sent;
	}
	record_in_flight(round);
	if (first.domain == 0)
		return are_done;
	mts_bulk_error_raise_failure(bulk, &first);
}

/* Do the plain writes of a part, whose first commands were sent. */
static void
finish_plain(MtsRound *round)
{
	const Command *last = &round->commands[round->ncommands - 1];

	for (;;)
	{
		bool are_done = collect_plain(round);

		if (are_done && last->is_done)
			return;
		/* the time to wait for an election begins anew with other commands */
		if (are_done)
			begin_attempt(round);
		select_server(round);
		submit_plain(round);
	}
}

/* ---- Transactions ------------------------------------------------------- */

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

/*
 * Tell whether each write is done or refused.  Then the commit need not wait
 * for the replies, and tells that all were done, even if they are lost.  An
 * update or a delete may find no document, and only the reply tells whether a
 * document is new.
 */
static bool
always_affect(MtsOp *const *ops, int n)
{
	for (int i = 0; i < n; i++)
		if ((ops[i]->kind != MTS_OP_INSERT && ops[i]->kind != MTS_OP_UPSERT) ||
			reports_new(ops[i]))
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

/* Return the writes of a part. */
static MtsOp **
part_of(const MtsRound *round)
{
	return round->ops + round->first;
}

/* Send no command of a part so far. */
static void
rewind_commands(MtsRound *round)
{
	round->affected = round->created = 0;
	round->has_duplicate = false;
	for (int i = 0; i < round->ncommands; i++)
		round->commands[i].is_sent = round->commands[i].is_done = false;
}

/* Begin the transaction of a part, and send its commands. */
static void
submit_transaction(MtsRound *round)
{
	MtsBulk *bulk = round->bulk;
	MtsConnection *connection = bulk->connection;
	MtsTransaction *transaction = &round->sessions->batch;

	rewind_commands(round);
	round->transaction = transaction;
	mts_transaction_begin(transaction, connection, &round->sessions->lsids[0]);
	transaction->database = bulk->database;
	transaction->collection = bulk->collection;
	if (submit(round) && always_affect(part_of(round), round->part) &&
		!mts_connection_sheds_load(&round->attempt.server) &&
		mts_exchange_has_room(&connection->exchange,
							  round->attempt.server.channel, 0))
		mts_transaction_submit_commit(transaction, &round->attempt);
	bulk->points_in_flight = count_points(part_of(round), round->part);
	record_sent(bulk, transaction->commit != 0 || transaction->is_in_doubt
						  ? bulk->points_in_flight
						  : 0);
}

/*
 * Read the replies to the commands of a transaction that were sent.  Returns
 * false with the reason in *error, or a refusal, if one has failed.
 */
static bool
collect_transaction(MtsRound *round, bson_error_t *error)
{
	bool ok = true;

	for (int i = 0; i < round->ncommands; i++)
	{
		Command *command = &round->commands[i];
		const bson_t *reply;
		bson_error_t own;
		bool is_ok;

		if (!command->is_sent)
			continue;
		is_ok = collect(round, command, &reply, &own);
		/* the replies behind a failure only say that there was one */
		if (!ok)
			continue;
		if (is_ok)
			is_ok =
				record_refusals(round, command->ops, command->n, reply, &own);
		if (!is_ok)
		{
			mts_transaction_classify(reply, &own);
			*error = own;
		}
		command->is_done = true;
		count_documents(round, command, reply);
		ok = is_ok && !find_refused(command->ops, command->n);
	}
	return ok;
}

/*
 * Do the commands of a transaction.  Some of them may have been sent.  Returns
 * false with the reason in *error, or a refusal, when one has failed.
 */
static bool
finish_commands(MtsRound *round, bson_error_t *error)
{
	error->domain = 0;
	while (collect_transaction(round, error))
	{
		if (round->commands[round->ncommands - 1].is_done)
			return true;
		(void) submit(round);
	}
	return false;
}

/*
 * Commit the transaction of a part, or learn that it was aborted.  *error has
 * the reason of its last command's failure, or domain 0, and gets that of the
 * abortion.
 */
static MtsOutcome
commit_part(MtsRound *round, bson_error_t *error)
{
	MtsBulk *bulk = round->bulk;
	MtsTransaction *transaction = round->transaction;
	bool is_interruption = error->domain != 0 && is_interrupted(bulk, error);
	bool may_be_committed =
		transaction->commit != 0 || transaction->is_in_doubt;
	bson_error_t reason = {0};
	const bson_t *reply;
	MtsOutcome outcome;

	if (is_interruption)
	{
		record_outcome(bulk, may_be_committed);
		transaction->is_in_doubt =
			may_be_committed && error->domain != MONGOC_ERROR_SERVER;
		/* a server that cannot send its reply reads no commit behind it */
		transaction->is_open = true;
		if (!mts_attempt_should_repeat(&round->attempt, error))
			mts_bulk_error_raise_failure(bulk, error);
		if (!may_be_committed)
			return MTS_ABORTED;
	}
	else if (error->domain != 0 || find_refused(part_of(round), round->part))
	{
		/* the server refuses the commit behind a command that has failed */
		if (transaction->commit != 0)
			(void) mts_command_collect(&round->attempt, transaction->commit,
									   &reply, &reason);
		transaction->commit = 0;
		record_outcome(bulk, false);
		return MTS_ABORTED;
	}
	outcome = mts_transaction_commit(transaction, &round->attempt, &reason);
	record_outcome(bulk, outcome == MTS_UNKNOWN);
	if (outcome == MTS_UNKNOWN)
		mts_bulk_error_raise_failure(bulk, &reason);
	if (outcome == MTS_COMMITTED && reason.domain != 0)
		record_write_concern_error(round, &reason);
	if (outcome == MTS_ABORTED && !is_interruption)
		*error = reason;
	return outcome;
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

/*
 * Do the writes of a part as a transaction, whose first commands were sent.
 * Returns whether they are stored, or given up because one of them has found
 * no document.  Otherwise nothing is stored of them, and they say why.
 */
static bool
finish_transaction(MtsRound *round)
{
	MtsBulk *bulk = round->bulk;
	MtsOp **ops = part_of(round);
	int n = round->part;
	bson_error_t error;

	for (;;)
	{
		if (finish_commands(round, &error) && round->affected < n)
		{
			mts_transaction_abort(round->transaction);
			round->n = 0;
			return true;
		}
		if (commit_part(round, &error) == MTS_COMMITTED)
		{
			/* all writes were done, whatever the replies have said */
			if (error.domain != 0)
				round->affected = round->created = n;
			finish_writes(round, ops, n);
			return true;
		}
		if (error.domain == 0 || !is_interrupted(bulk, &error))
			break;
		select_server(round);
		submit_transaction(round);
	}
	if (error.domain != 0 && mts_server_error_is_final(decide(bulk, &error)))
		mts_bulk_error_raise_failure(bulk, &error);
	record_abort(ops, n, round->n - round->first, &error);
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

/* Make the form of a write that is always right. */
static void
fall_back(MtsOp *op)
{
	void (*make)(MtsOp *) = op->fall_back;

	op->new_bucket = NULL;
	op->fall_back = NULL;
	if (make)
		make(op);
}

/* Tell whether a write is an update that may find nothing. */
static bool
is_tried_update(const MtsOp *op)
{
	return op->kind == MTS_OP_UPDATE && op->fall_back;
}

/* Tell whether some writes are updates that may find nothing. */
static bool
has_tried_updates(const MtsRound *round)
{
	for (int i = 0; i < round->n; i++)
		if (is_tried_update(round->ops[i]))
			return true;
	return false;
}

/* Have the writes that are tried as updates fall back. */
static void
give_up_updates(MtsRound *round)
{
	for (int i = 0; i < round->n; i++)
		if (is_tried_update(round->ops[i]))
			fall_back(round->ops[i]);
	qsort(round->ops, round->n, sizeof(MtsOp *), compare_ops);
	queue_commands(round);
}

/*
 * Tell whether the transaction of a part has begun again since the caller has
 * read what the writes must remove.
 */
static bool
is_outdated(const MtsRound *round)
{
	const MtsSeen *seen = round->ops[0]->seen;

	return seen &&
		   seen->xact_starts != mts_xact_starts(round->bulk->connection);
}

/* Raise an error unless a delete has removed what was read before. */
static void
check_seen(const MtsRound *round)
{
	const MtsSeen *seen = round->ops[0]->seen;

	if (seen && round->affected != seen->ndocuments)
		mts_bulk_error_refuse_changed(
			round->bulk,
			psprintf(INT64_FORMAT " buckets were read, but " INT64_FORMAT
								  " were removed.",
					 seen->ndocuments, round->affected));
}

/*
 * Do the commands of a part of PostgreSQL's transaction.
 *
 * If tried updates have not all found a document, writes follow that are
 * always right.  A reply does not tell which updates have found one, so all
 * writes are sent again.  The transaction need not be aborted, since what is
 * stored already is stored again.
 */
static bool
finish_tried_commands(MtsRound *round, bson_error_t *error)
{
	if (!finish_commands(round, error))
		return false;
	if (round->affected >= round->n || !has_tried_updates(round))
		return true;
	mts_xact_drop(round->bulk->connection);
	give_up_updates(round);
	rewind_commands(round);
	return finish_commands(round, error);
}

/*
 * Do the writes as a part of PostgreSQL's transaction.  Returns whether they
 * are done.  Otherwise they say why not, and can be sent again.
 */
static bool
finish_xact(MtsRound *round)
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
		bool is_open;

		rewind_commands(round);
		is_open = mts_xact_open(&round->attempt, &round->transaction, &error);
		if (is_open && is_outdated(round))
		{
			bulk->is_outdated = true;
			round->n = 0;
			return true;
		}
		if (is_open && finish_tried_commands(round, &error))
		{
			check_seen(round);
			finish_writes(round, ops, n);
			if (round->has_duplicate)
				mts_xact_abort(connection, NULL);
			else if (round->affected >= n ||
					 ops[0]->kind == MTS_OP_DELETE_MANY)
			{
				if (reports_new(ops[0]))
					mts_xact_record_new(connection, round->created);
				mts_xact_keep(connection, round->stored);
			}
			return true;
		}
		refused = find_refused(ops, n);
		mts_xact_abort(connection, refused ? NULL : &error);
	} while (!refused && is_interrupted(bulk, &error) &&
			 mts_xact_should_repeat(&round->attempt, 0, &error) &&
			 mts_attempt_try_select_server(&round->attempt, &error));
	if (!may_repeat(round, refused ? (uint32) refused->code : error.code) ||
		(!refused && (is_interrupted(bulk, &error) ||
					  mts_server_error_is_final(decide(bulk, &error)))))
	{
		if (!refused)
			mts_xact_report_failure(connection, mts_bulk_error_message(bulk),
									&error);
		/* another session has made the bucket that the update did not find */
		if (refused->kind == MTS_OP_UPSERT &&
			refused->code == MTS_CODE_DUPLICATE_KEY)
			refused->code = MTS_CODE_WRITE_CONFLICT;
		round->refused = list_make1(refused);
		round->n = 0;
		return true;
	}
	record_abort(ops, n, n, &error);
	/* the next part may not be one of PostgreSQL's transaction */
	give_up_updates(round);
	return false;
}

/* ---- Locks -------------------------------------------------------------- */

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

/* ---- Parts -------------------------------------------------------------- */

/* Raise the error of a server that lacks required transactions. */
static _Noreturn void
refuse_server(const MtsBulk *bulk)
{
	ereport(
		ERROR,
		(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		 errmsg("%s", mts_bulk_error_message(bulk)),
		 errdetail(
			 "MongoDB has transactions only on a replica set, and the option requires version 4.4 or later."),
		 errhint("Set option \"transactions\" of the foreign server or "
				 "table to \"auto\".")));
	pg_unreachable();
}

/* Choose how the first of n writes belong together, and how many they are. */
static void
choose_part(MtsRound *round, int n)
{
	const MtsBulk *bulk = round->bulk;
	int most = bulk->most_writes > 0 ? bulk->most_writes : n;

	round->kind = PART_PLAIN;
	round->part = n;
	if (bulk->joins_xact && round->attempt.server.has_transactions)
		round->kind = PART_XACT;
	else if (bulk->requires_xact)
		refuse_server(bulk);
	else if (bulk->is_atomic && n > 1)
	{
		round->part = Min(n, most);
		if (round->attempt.server.has_transactions && most > 1)
			round->kind = PART_TRANSACTION;
	}
	round->attempt.in_transaction = round->kind != PART_PLAIN;
}

/*
 * Begin the part of the writes from the first one on that is still to be sent:
 * send as many of its commands as need not wait.  finish_xact() sends those of
 * PostgreSQL's transaction.
 */
static void
begin_part(MtsRound *round, int tries)
{
	MtsBulk *bulk = round->bulk;
	int n = round->n - round->first;

	for (int i = 0; i < n; i++)
	{
		MtsOp *op = part_of(round)[i];

		op->refusal = NULL;
		op->is_aborted = false;
	}
	bulk->outcome_is_unknown = false;
	round->begin = bson_get_monotonic_time();
	begin_attempt(round);
	select_server(round);
	choose_part(round, n);
	if (round->kind != PART_PLAIN && tries == 0 &&
		!mts_xact_is_active(bulk->connection->serverid))
		await_retries(bulk);
	queue_commands(round);
	if (round->kind == PART_PLAIN)
		submit_plain(round);
	else if (round->kind == PART_TRANSACTION)
		submit_transaction(round);
}

/*
 * Do the part that was begun.  Returns false if its transaction was aborted,
 * so that it is to be sent again before the writes that follow.
 */
static bool
finish_part(MtsRound *round)
{
	if (round->kind == PART_XACT)
		return finish_xact(round);
	if (round->kind == PART_TRANSACTION)
		return finish_transaction(round);
	finish_plain(round);
	return true;
}

/* ---- Rounds ------------------------------------------------------------- */

/* Tell whether the server has refused the faster form of a write for good. */
static bool
is_refused_try(const MtsRound *round, const MtsOp *op)
{
	return op->fall_back &&
		   (op->code == MTS_CODE_DUPLICATE_KEY ||
			mts_server_error_decide_code((uint32) op->code, phase_of(round)) ==
				MTS_GIVE_UP);
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

	if (is_refused_try(round, op))
		return true;
	/* the bucket exists by now, so the upsert updates it */
	if (op->code == MTS_CODE_DUPLICATE_KEY)
		return op->kind == MTS_OP_UPSERT &&
			   ++op->duplicates < MTS_MAX_DUPLICATES;
	return !mts_server_error_is_final(decision) &&
		   !(decision == MTS_AGAIN_IN_PARTS && round->kind == PART_XACT);
}

/* Tell whether a transaction is so large that the server may say no to it. */
static bool
is_large(const MtsRound *round)
{
	size_t size = 0;

	for (int i = 0; i < round->ncommands; i++)
		size += round->commands[i].size;
	return round->part > LARGE_WRITES || size > LARGE_BYTES;
}

/*
 * Tell whether to send a transaction in parts after a try that has failed.
 * Only its size is a reason: another session that is in the way, or a server
 * that stalls, must not make others see a part of what belongs together.
 */
static bool
should_split(MtsRound *round, const MtsOp *op, MtsDecision decision)
{
	bool is_slow = bson_get_monotonic_time() > round->begin + SLOW_TIME;

	round->slow_tries = is_slow ? round->slow_tries + 1 : 0;
	if (round->kind == PART_XACT)
		return false;
	return op->code == MTS_CODE_TOO_LARGE_FOR_CACHE ||
		   (is_large(round) && (decision == MTS_AGAIN_IN_PARTS ||
								round->slow_tries >= SLOW_TRIES));
}

/*
 * Change how writes are sent after a refusal of a transaction.  Returns
 * whether other sessions were in its way.
 */
static bool
adapt_to_refusal(MtsRound *round, const MtsOp *op)
{
	MtsDecision decision =
		mts_server_error_decide_code((uint32) op->code, MTS_PHASE_TRANSACTION);
	MtsBulk *bulk = round->bulk;

	if (decision == MTS_AGAIN_PLAIN)
		bulk->is_atomic = bulk->joins_xact = false;
	else if (should_split(round, op, decision))
	{
		bulk->most_writes = Max(round->part / 2, 1);
		return decision == MTS_AGAIN_LATER;
	}
	return decision != MTS_AGAIN_PLAIN;
}

/*
 * Reduce a round to the writes that are sent again, and record those that are
 * refused for good.  Returns true when other sessions are in the way.
 *
 * All writes of a transaction fall back if one of them does, because the next
 * one that is refused would abort it again.
 */
static bool
select_retries(MtsRound *round, int tries)
{
	bool is_contended = false, is_fallback = false;
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
		if (is_refused_try(round, op))
		{
			fall_back(op);
			is_fallback = true;
		}
		else if (round->kind != PART_PLAIN)
			is_contended |= adapt_to_refusal(round, op);
		else
			is_contended = true;
	}
	if (round->kind == PART_PLAIN)
		return is_contended;
	if (round->refused)
		round->n = 0;
	for (int i = 0; i < round->n && is_fallback; i++)
		fall_back(round->ops[i]);
	qsort(round->ops, round->n, sizeof(MtsOp *), compare_ops);
	return is_contended;
}

/*
 * Do the writes that were begun, and send the rest, until each is done or
 * refused for good.
 *
 * Many sessions that try again at once would keep each other out.  So those of
 * this cluster that write to one collection queue up by a lock.  Sessions in
 * their first try do not wait for it, so they finish, except that a
 * transaction does not begin before it is free.
 */
static void
finish(MtsRound *round)
{
	MtsBulk *bulk = round->bulk;
	LOCKTAG tag;
	bool is_locked = false;
	int tries = bulk->tries;

	while (round->n > 0)
	{
		bool is_done = finish_part(round);

		round->first += round->part;
		if (!is_done || round->first >= round->n)
		{
			round->first = 0;
			if (select_retries(round, ++tries))
			{
				if (!is_locked)
					tag = mts_bulk_lock(bulk);
				is_locked = true;
				mts_attempt_back_off(tries);
			}
		}
		CHECK_FOR_INTERRUPTS();
		if (round->n > 0)
			begin_part(round, tries);
	}
	bulk->tries = bulk->is_outdated ? tries : 0;
	if (is_locked)
		(void) LockRelease(&tag, ExclusiveLock, false);
}

/* Raise what the writes of a round have failed of. */
static void
raise_failures(const MtsRound *round)
{
	if (round->refused)
		mts_bulk_error_raise_refusals(round->bulk, round->refused,
									  round->npoints,
									  round->kind != PART_PLAIN);
	if (round->write_concern_error.domain != 0)
		mts_report_failure(round->bulk->connection,
						   mts_bulk_error_message(round->bulk),
						   &round->write_concern_error);
}

/* ---- Postponed writes --------------------------------------------------- */

/* A write that is sent when PostgreSQL's transaction commits */
typedef struct Postponed
{
	MtsOp op;
	char *database;
	char *collection;
	Oid relid;
} Postponed;

static bson_t *
copy_document(const bson_t *document)
{
	bson_t *copy = document ? bson_copy(document) : NULL;

	if (copy)
		mts_document_adopt(copy);
	return copy;
}

/* Copy a write of one document. */
static Postponed *
copy_write(const MtsBulk *bulk, const MtsOp *op)
{
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
	Postponed *copy = palloc(sizeof(Postponed));

	*copy = (Postponed){.op = *op,
						.database = pstrdup(bulk->database),
						.collection = pstrdup(bulk->collection),
						.relid = bulk->relid};
	copy->op.selector = copy_document(op->selector);
	copy->op.document = copy_document(op->document);
	copy->op.identity = NULL;
	MemoryContextSwitchTo(old);
	return copy;
}

/* Send a write that was postponed, without a transaction. */
static void
send_postponed(MtsConnection *connection, void *arg)
{
	Postponed *write = arg;
	MtsBulk bulk = {.connection = connection,
					.relid = write->relid,
					.database = write->database,
					.collection = write->collection};

	mts_bulk_execute(&bulk, &write->op, 1);
	if (bulk.affected == 0)
		mts_bulk_error_refuse_changed(&bulk, "The bucket was not written.");
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
	bson_t *command;

	if (!bulk->joins_xact || round->n != 1 || op->ignores_duplicate ||
		op->kind == MTS_OP_DELETE_MANY ||
		!mts_xact_may_postpone(bulk->connection))
		return false;
	begin_attempt(round);
	select_server(round);
	if (!round->attempt.server.has_transactions)
		return false;
	fall_back(op);
	command =
		mts_write_command_make(&round->attempt, round->ops, 1,
							   mts_document_utf8(bulk->collection), true);
	mts_document_adopt(command);
	mts_xact_postpone(bulk->connection, bulk->database, command, op->npoints,
					  send_postponed, copy_write(bulk, op));
	round->kind = PART_XACT;
	round->n = 0;
	bulk->affected = 1;
	bulk->created =
		mts_write_command_inserted(op) || op->kind == MTS_OP_UPSERT;
	return true;
}

/* ---- Calls -------------------------------------------------------------- */

/* Make the round of a call. */
static MtsRound *
make_round(MtsBulk *bulk, MtsOp *ops, int nops)
{
	MtsRound *round = palloc0(sizeof(MtsRound));

	round->bulk = bulk;
	round->ops = palloc(nops * sizeof(MtsOp *));
	round->n = round->nops = nops;
	for (int i = 0; i < nops; i++)
	{
		check_size(&ops[i]);
		round->ops[i] = &ops[i];
		round->npoints += ops[i].npoints;
	}
	qsort(round->ops, nops, sizeof(MtsOp *), compare_ops);
	return round;
}

/* ---- Rounds that are under way ------------------------------------------ */

/* Tell whether a connection has a round under way. */
static bool
has_round(const MtsConnection *connection)
{
	for (const MtsRound *round = under_way; round; round = round->next)
		if (round->bulk->connection == connection)
			return true;
	return false;
}

/* Tell that a round is not under way any more; returns false if it was not. */
static bool
forget_round(MtsRound *round)
{
	MtsRound **link = &under_way;

	while (*link && *link != round)
		link = &(*link)->next;
	if (!*link)
		return false;
	*link = round->next;
	return true;
}

/* Read the replies to plain writes; one that is lost tells nothing. */
static void
settle_plain(MtsRound *round)
{
	for (int i = 0; i < round->ncommands; i++)
	{
		Command *command = &round->commands[i];
		bson_error_t error;
		const bson_t *reply;

		if (!command->is_sent)
			continue;
		command->is_done =
			(collect(round, command, &reply, &error) ||
			 error.domain == MONGOC_ERROR_WRITE_CONCERN) &&
			record_refusals(round, command->ops, command->n, reply, &error);
		command->is_unknown = !command->is_done;
		round->affected = round->created = 0;
		if (!command->is_done)
			continue;
		count_documents(round, command, reply);
		finish_writes(round, command->ops, command->n);
	}
	record_in_flight(round);
}

/* Read the replies to a transaction, and to the commit sent behind it. */
static void
settle_transaction(MtsRound *round)
{
	MtsTransaction *transaction = round->transaction;
	bson_error_t error = {0};
	const bson_t *reply;
	bool are_done = collect_transaction(round, &error);
	bool is_committed =
		mts_command_collect(&round->attempt, transaction->commit, &reply,
							&error);

	is_committed |= error.domain == MONGOC_ERROR_WRITE_CONCERN;
	transaction->commit = 0;
	if (is_committed && are_done)
		finish_writes(round, part_of(round), round->part);
	/* the server has aborted it if one of its writes was refused */
	if (is_committed || (error.domain == MONGOC_ERROR_SERVER &&
						 error.code == MTS_CODE_NO_SUCH_TRANSACTION))
		record_outcome(round->bulk, false);
}

/*
 * Learn what became of a round, because PostgreSQL aborts the transaction that
 * has begun it: a warning then says what stays stored.
 *
 * Interrupts are held off.  So it takes at most MTS_CLOSE_TIME, after which
 * the outcome is not known.  Raises no error.
 */
static void
settle(void *arg)
{
	MtsRound *round = arg;
	MtsConnection *connection = round->bulk->connection;

	if (!forget_round(round) || round->bulk->points_recorded == 0)
		return;
	mts_connection_set_deadline(connection, MTS_CLOSE_TIME);
	if (round->kind == PART_PLAIN)
		settle_plain(round);
	else if (round->transaction->commit != 0)
		settle_transaction(round);
	if (mts_wait_unlimit(&connection->wait))
		connection->invalid = true;
}

/*
 * The memory of a round that a portal runs is released before, which has
 * settled it.  That of a round of a function is released later, when neither
 * the connection nor what was recorded may exist any more.
 */
static void
at_transaction_end(XactEvent event, void *arg)
{
	while (under_way && event == XACT_EVENT_ABORT)
		settle(under_way);
}

static void
at_subtransaction_end(SubXactEvent event, SubTransactionId subid,
					  SubTransactionId parent, void *arg)
{
	MtsRound *next;

	for (MtsRound *round = under_way;
		 round && event == SUBXACT_EVENT_ABORT_SUB; round = next)
	{
		next = round->next;
		if (round->subid == subid)
			settle(round);
	}
}

/*
 * mts_bulk_init
 *		Have writes that are under way end before the warnings of what they
 *		have stored; called once, after mts_stored_init().
 */
void
mts_bulk_init(void)
{
	RegisterXactCallback(at_transaction_end, NULL);
	RegisterSubXactCallback(at_subtransaction_end, NULL);
}

/* ---- Calls -------------------------------------------------------------- */

/*
 * Begin writes, unless they can be postponed.  is_early says that the caller
 * works until it ends them.
 *
 * A partitioned table can have several writers of one connection.  While the
 * writes of one are under way, those of the others are done at once, because
 * the server knows one transaction of a session.
 */
static void
begin(MtsBulk *bulk, MtsOp *ops, int nops, bool is_early)
{
	ErrorContextCallback callback = {error_context_stack,
									 mts_bulk_error_describe, bulk};
	MtsConnection *connection = bulk->connection;
	bool is_alone = !has_round(connection);
	MtsRound *round;

	bulk->affected = bulk->created = bulk->points_done = 0;
	bulk->is_outdated = false;
	round = bulk->round = make_round(bulk, ops, nops);
	round->sessions = &connection->writes[!is_alone];
	if (is_early && postpone(round))
		return;
	mts_orphan_kill(connection, true);
	error_context_stack = &callback;
	if (is_early && is_alone)
	{
		round->subid = GetCurrentSubTransactionId();
		round->next = under_way;
		under_way = round;
		mts_document_release_with(settle, round);
	}
	if (nops > 0)
		begin_part(round, 0);
	/* a savepoint that is set meanwhile must know what was written before */
	if (round->kind == PART_XACT || !is_alone)
		finish(round);
	error_context_stack = callback.previous;
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
	ErrorContextCallback callback = {error_context_stack,
									 mts_bulk_error_describe, bulk};
	MtsRound *round = bulk->round;

	if (!round)
		return;
	bulk->round = NULL;
	error_context_stack = &callback;
	mts_wait_reset(&bulk->connection->wait);
	bulk->connection->wait.deadline = 0;
	finish(round);
	(void) forget_round(round);
	raise_failures(round);
	error_context_stack = callback.previous;
	bulk->is_undoable = round->kind == PART_XACT;
	if (bulk->affected == round->nops && !bulk->is_undoable)
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
		mts_attempt_begin(bulk->connection, mts_bulk_error_message(bulk),
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
