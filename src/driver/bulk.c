/*
 * bulk.c
 *		Send writes in bulk: insert, update and delete commands.
 *
 * On a server with transactions, the scope of a call says which writes are
 * stored together.  They belong to a unit of work (xact.c), which is a
 * transaction of MongoDB.  That of a call is begun for it, and committed when
 * its writes are done.  It is aborted if an update or a delete finds no
 * document.  It is sent again as a whole if another session or an election was
 * in its way.  It is sent in parts if it is too large for the server, and each
 * write by itself if the collection cannot have a transaction.  The unit of a
 * statement, or of PostgreSQL's transaction, has the writes of several calls.
 * It is never sent in parts, and an error in a block is raised at once.
 * Elsewhere each write is stored by itself, and so is the only one of a call.
 *
 * Writes are sent unordered, and sorted by bucket, so that sessions which
 * write the same buckets wait for each other instead of deadlocking.  A write
 * is sent again when another session was in its way: server_error.c decides
 * that by its code, or an upsert found a duplicate key.  A write that is
 * refused for good raises an error, which counts the points that were not
 * stored.  A write has forms, and the fast ones assume what is stored.
 * Where a form is refused, or finds nothing, the next one follows; see op.h.
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
 * server writes.  The writes are a queue of commands, in parts: those of a
 * unit, or plain writes.  The beginning sends the first part, as far as that
 * may be under way at once.  The end receives the replies, decides what is
 * sent again, and sends the rest, until nothing is left.  Nothing is sent or
 * received in between.  The writes of a unit, and those that begin while
 * others of the connection are under way, are done by the beginning: the
 * caller may wait for its client, and a unit has its buckets locked.
 */
#include "driver/bulk.h"

#include "access/xact.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "driver/bulk_error.h"
#include "driver/command.h"
#include "driver/document.h"
#include "driver/orphan.h"
#include "driver/report.h"
#include "driver/seen.h"
#include "driver/server_error.h"
#include "driver/stored.h"
#include "driver/transaction.h"
#include "driver/write_command.h"
#include "driver/xact.h"
#include "driver/xact_reader.h"

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
#define MAX_PLAIN MTS_WRITE_SESSIONS

/* SQL's advisory locks have the classes 1 and 2. */
#define LOCK_CLASS 3

/* A command that does some writes of a part */
typedef struct Command
{
	MtsOp **ops;
	int n;
	MtsOpKind kind;   /* of all of them */
	size_t size;      /* bytes, or a few more */
	MtsLsid *lsid;    /* the session of the number */
	int64 number;     /* by which the server recognizes a plain write, or 0 */
	MtsTicket ticket; /* of its reply, or 0 */
	bool is_sent;     /* the reply is to be received, or is lost */
	bool is_done;     /* its reply has been read */
	bool is_unknown;  /* it was sent before, and may be done */
} Command;

/* The first writes of a call that are to be sent, which have one scope */
typedef struct Part
{
	MtsScope scope;
	int first;         /* of the writes of the round */
	int n;             /* writes */
	Command *commands; /* that do them */
	int ncommands;
	MtsAttempt attempt;          /* to send them */
	MtsXact *unit;               /* to which they belong; see mts_xact_open */
	MtsTransaction *transaction; /* of the unit */
	int64 begin;                 /* in monotonic microseconds */
	bson_error_t send_error;     /* why the last command could not be sent */
	int64 affected;              /* by commands that are done; as in MtsBulk */
	int64 created;
	int64 changed;           /* of these: not found as they were to be */
	bool outcome_is_unknown; /* of the commit of the unit */
	bool has_duplicate; /* which is not an error, but aborts a transaction */
} Part;

/* The writes of a call that are still to be done */
typedef struct MtsRound
{
	MtsBulk *bulk; /* borrowed from the caller, whose frame may have ended when
					* PostgreSQL aborts */
	MtsConnection *connection;
	const MtsStoredTable *table;
	MtsLsid *lsids; /* of sessions that no other round uses */
	MtsOp **ops;    /* to be sent, sorted */
	int n;
	int64 npoints;                    /* of the call */
	int64 nlost;                      /* points that are refused for good */
	List *refused;                    /* MtsOp: for good, in any part */
	bson_error_t write_concern_error; /* the first one; domain 0 for none */
	int slow_tries;  /* of a transaction in turn, that took long */
	MtsXact *call;   /* the unit of the call, or NULL */
	bool is_settled; /* the caller's writes may have gone */
	Part part;       /* that is sent */

	SubTransactionId subid; /* that has begun it */
	struct MtsRound *next;  /* of those that have not ended */
} MtsRound;

/* Those that have not ended */
static MtsRound *under_way = NULL;

/* The condition by which writes of one bucket or key are sorted together */
static const bson_t *
sort_key(const MtsOp *op)
{
	return op->identity ? op->identity : mts_op_form(op)->selector;
}

/* Order writes by command, bucket or key, and the caller's order. */
static int
compare_ops(const void *a, const void *b)
{
	const MtsOp *left = *(MtsOp *const *) a;
	const MtsOp *right = *(MtsOp *const *) b;

	int order = (int) mts_op_form(left)->kind - (int) mts_op_form(right)->kind;

	if (order == 0 && sort_key(left))
		order = bson_compare(sort_key(left), sort_key(right));
	return order != 0 ? order : (left > right) - (left < right);
}

static void
check_size(const MtsOp *op)
{
	MtsServerError too_large = mts_server_error(MTS_CODE_TOO_LARGE);
	const MtsForm *form = mts_op_form(op);

	if ((form->document && form->document->len > MTS_MAX_DOCUMENT) ||
		(form->selector && form->selector->len > MTS_MAX_DOCUMENT))
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
	return mts_op_form(op)->kind == MTS_OP_UPSERT && op->npoints == 0;
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

/* Record that writes are stored, or that it is not known whether they are. */
static void
record_stored(MtsBulk *bulk, bool is_known)
{
	bulk->has_stored |= is_known;
	if (bulk->table)
		mts_stored_record(bulk->table, is_known);
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
	return round->part.scope == MTS_EACH_WRITE ? MTS_PHASE_OPERATION
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
	for (int i = 0; i < n && !round->is_settled; i++)
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
		else if (!round->is_settled && code == MTS_CODE_DUPLICATE_KEY &&
				 mts_op_form(ops[refusal.index])->if_refused == MTS_THEN_DONE)
			round->part.has_duplicate = true;
		else if (!round->is_settled)
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

	round->part.attempt =
		mts_attempt_begin(bulk->connection, mts_bulk_error_message(bulk),
						  MTS_FROM_PRIMARY);
	round->part.attempt.is_write = true;
	round->part.attempt.in_transaction = round->part.scope != MTS_EACH_WRITE;
	round->part.attempt.relid = bulk->relid;
}

/* Tell whether writes that were sent, and are not under way, may be done. */
static bool
outcome_is_unknown(const MtsRound *round)
{
	for (int i = 0; i < round->part.ncommands; i++)
		if (round->part.commands[i].is_unknown &&
			!round->part.commands[i].is_done)
			return true;
	return round->part.outcome_is_unknown;
}

/* Raise the error of a command, with the outcome of the writes. */
static _Noreturn void
raise_failure(const MtsRound *round, const bson_error_t *error)
{
	mts_bulk_error_raise_failure(round->bulk, error,
								 outcome_is_unknown(round));
}

/* Select the server of a part, or raise an error. */
static void
select_server(MtsRound *round)
{
	bson_error_t error = {0};

	if (!mts_attempt_try_select_server(&round->part.attempt, &error))
		raise_failure(round, &error);
}

/* Queue the commands of a part. */
static void
queue_commands(MtsRound *round)
{
	MtsOp **ops = round->ops + round->part.first;
	int queued = 0;

	round->part.commands = palloc(round->part.n * sizeof(Command));
	round->part.ncommands = 0;
	while (queued < round->part.n)
	{
		Command *command = &round->part.commands[round->part.ncommands++];

		*command = (Command){.ops = ops + queued,
							 .kind = mts_op_form(ops[queued])->kind};
		command->n =
			mts_write_command_length(command->ops, round->part.n - queued,
									 &command->size);
		queued += command->n;
	}
}

/* Choose the number by which the server recognizes a plain write. */
static void
choose_number(const MtsRound *round, Command *command)
{
	MtsConnection *connection = round->bulk->connection;

	if (command->number > 0 || !round->part.attempt.server.retries_writes ||
		command->kind == MTS_OP_DELETE_MANY)
		return;
	command->lsid =
		&round->lsids[(command - round->part.commands) % MAX_PLAIN];
	command->number = mts_transaction_next_number(connection);
}

/* Append the number of a command, or that it belongs to a transaction. */
static void
append_number(const MtsRound *round, Command *command, bson_t *document)
{
	if (round->part.scope != MTS_EACH_WRITE)
		mts_transaction_append(round->part.transaction, document);
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
		mts_xact_record_read(round->part.unit, bulk->database,
							 mts_seen_command(op->seen, &round->part.attempt,
											  mts_document_utf8(
												  bulk->collection)),
							 op->seen);
	mts_xact_record(round->part.unit, bulk->database, document,
					command->kind != MTS_OP_DELETE_MANY ? command->n
					: op->seen                          ? op->seen->ndocuments
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
		mts_write_command_make(&round->part.attempt, command->ops, command->n,
							   mts_document_utf8(bulk->collection),
							   round->part.scope >= MTS_STATEMENT);
	MemoryContext old = MemoryContextSwitchTo(memory);

	mts_document_adopt(document);
	if (round->part.scope == MTS_EACH_WRITE)
		choose_number(round, command);
	else if (round->part.scope >= MTS_STATEMENT)
		record(round, command, document);
	append_number(round, command, document);
	command->is_sent = true;
	round->part.send_error.domain = 0;
	(void) mts_command_submit(&round->part.attempt, bulk->database, document,
							  &command->ticket, &round->part.send_error);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(memory);
}

/*
 * Tell whether a command may be sent behind others that are under way: there
 * is room, and the server will know each plain write.
 *
 * A transaction's commands wait for each other if an overloaded server can
 * refuse a command.  The server would still execute the commands behind that
 * one.
 */
static bool
may_follow(const MtsRound *round, const Command *command,
		   const Command *first_sent)
{
	return mts_exchange_has_room(&round->bulk->connection->exchange,
								 round->part.attempt.server.channel,
								 command->size) &&
		   (round->part.scope == MTS_EACH_WRITE
				? first_sent->number > 0 && command < first_sent + MAX_PLAIN
				: !mts_connection_sheds_load(&round->part.attempt.server));
}

/*
 * Send the commands of a part that are neither sent nor done, as long as none
 * of them has to wait.
 */
static void
submit(MtsRound *round)
{
	Command *end = round->part.commands + round->part.ncommands;
	Command *first_sent = NULL;
	Command *command;

	for (command = round->part.commands; command < end; command++)
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
		return mts_command_collect(&round->part.attempt, ticket, reply, error);
	*reply = mts_document_new();
	*error = round->part.send_error;
	return false;
}

/* Count the documents that a command has written. */
static void
count_documents(MtsRound *round, const Command *command, const bson_t *reply)
{
	int64 n = mts_document_number(reply, "n");
	int64 created = command->kind == MTS_OP_INSERT
						? n
						: mts_document_count(reply, "upserted");
	bool is_update =
		command->kind == MTS_OP_UPDATE || command->kind == MTS_OP_UPSERT;

	round->part.affected += n;
	round->part.created += created;
	round->part.changed +=
		is_update ? mts_document_number(reply, "nModified") + created : n;
}

/*
 * Count the documents that were written.  Those of PostgreSQL's transaction
 * are not stored yet.
 */
static void
finish_writes(MtsRound *round)
{
	MtsBulk *bulk = round->bulk;

	bulk->affected += round->part.affected;
	bulk->created += round->part.created;
	if (round->part.scope < MTS_STATEMENT && round->part.changed > 0)
		record_stored(bulk, true);
}

/* ---- Plain writes ------------------------------------------------------- */

/*
 * Read the reply to a plain command that was sent.  Returns false with the
 * reason in *error if it has failed.  It may have been done until then.
 */
static bool
read_reply(MtsRound *round, Command *command, const bson_t **reply,
		   bson_error_t *error)
{
	MtsBulk *bulk = round->bulk;
	bool was_unknown = command->is_unknown;
	bool ok, is_done;

	command->is_unknown = true;
	ok = collect(round, command, reply, error);
	is_done = ok || error->domain == MONGOC_ERROR_WRITE_CONCERN;
	/* an earlier try may have been done if this one was refused */
	command->is_unknown = (was_unknown && !is_done) ||
						  (!ok && may_be_done(bulk, error, MTS_PHASE_WRITE));
	if (!is_done ||
		record_refusals(round, command->ops, command->n, *reply, error))
		return ok;
	command->is_unknown |= may_be_done(bulk, error, MTS_PHASE_OPERATION);
	return false;
}

/*
 * Tell whether a plain command is done, whose reply was read: it is even if
 * the write concern is not met.
 */
static bool
is_done(const Command *command, bool ok, const bson_error_t *error)
{
	return ok || (error->domain == MONGOC_ERROR_WRITE_CONCERN &&
				  !command->is_unknown);
}

/* Record that a plain command is done, by its reply. */
static void
record_done(MtsRound *round, Command *command, const bson_t *reply)
{
	command->is_done = true;
	round->part.affected = round->part.created = round->part.changed = 0;
	count_documents(round, command, reply);
	finish_writes(round);
}

/*
 * Finish a plain command that was sent.  Returns false with the reason in
 * *error if it has failed for good.  Otherwise it is done, or is to be sent
 * again.
 */
static bool
finish_command(MtsRound *round, Command *command, bson_error_t *error)
{
	MtsAttempt *attempt = &round->part.attempt;
	const bson_t *reply;
	bool ok = read_reply(round, command, &reply, error);

	attempt->is_repeatable =
		command->number > 0 || command->kind == MTS_OP_DELETE_MANY;
	if (!ok && mts_attempt_should_repeat(attempt, error))
	{
		/* the next reply does not count what this try has removed */
		if (command->number == 0 && command->is_unknown)
			record_stored(round->bulk, false);
		return true;
	}
	if (!is_done(command, ok, error))
		return false;
	/* it is raised at the end, unless writes are refused */
	if (!ok)
		record_write_concern_error(round, error);
	record_done(round, command, reply);
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
	bson_error_t first = {0}, error;
	bool are_done = true;

	for (int i = 0; i < round->part.ncommands; i++)
	{
		Command *command = &round->part.commands[i];
		bool was_sent = command->is_sent;

		if (was_sent && !finish_command(round, command, &error) &&
			first.domain == 0)
			first = error;
		are_done &= command->is_done || !was_sent;
	}
	if (first.domain == 0)
		return are_done;
	raise_failure(round, &first);
}

/* Do the plain writes of a part, whose first commands were sent. */
static void
finish_plain(MtsRound *round)
{
	const Command *last = &round->part.commands[round->part.ncommands - 1];

	for (;;)
	{
		bool are_done = collect_plain(round);

		if (are_done && last->is_done)
			return;
		/* the time to wait for an election begins anew with other commands */
		if (are_done)
			begin_attempt(round);
		select_server(round);
		submit(round);
	}
}

/* ---- Decisions ---------------------------------------------------------- */

/* What becomes of writes that have failed, or of their unit */
typedef enum Next
{
	NEXT_FORM,       /* their next form follows */
	NEXT_AGAIN,      /* they are sent again, after other sessions */
	NEXT_ON_PRIMARY, /* or to the server that is selected next */
	NEXT_PLAIN,      /* or each by itself */
	NEXT_SMALLER,    /* or in smaller parts */
	NEXT_GIVE_UP
} Next;

/* Tell whether a transaction is so large that the server may say no to it. */
static bool
is_large(const MtsRound *round)
{
	size_t size = 0;

	for (int i = 0; i < round->part.ncommands; i++)
		size += round->part.commands[i].size;
	return round->part.n > LARGE_WRITES || size > LARGE_BYTES;
}

/*
 * Tell whether to send a transaction in parts after a try that has failed.
 * Only its size is a reason: another session that is in the way, or a server
 * that stalls, must not make others see a part of what belongs together.
 */
static bool
should_split(MtsRound *round, const MtsOp *op, MtsDecision decision)
{
	bool is_slow = bson_get_monotonic_time() > round->part.begin + SLOW_TIME;

	round->slow_tries = is_slow ? round->slow_tries + 1 : 0;
	if (round->part.scope >= MTS_STATEMENT)
		return false;
	return op->code == MTS_CODE_TOO_LARGE_FOR_CACHE ||
		   (is_large(round) && (decision == MTS_AGAIN_IN_PARTS ||
								round->slow_tries >= SLOW_TRIES));
}

/* Decide what becomes of a write that was refused, after some tries. */
static Next
decide_write(MtsRound *round, MtsOp *op, int tries)
{
	MtsThen then = mts_op_form(op)->if_refused;
	MtsDecision decision =
		mts_server_error_decide_code((uint32) op->code, phase_of(round));
	bool is_duplicate = op->code == MTS_CODE_DUPLICATE_KEY;

	if (tries >= MAX_TRIES)
		return NEXT_GIVE_UP;
	if (then == MTS_THEN_NEXT && (is_duplicate || decision == MTS_GIVE_UP))
		return NEXT_FORM;
	/* the bucket exists by now, so the upsert updates it */
	if (is_duplicate)
		return then == MTS_THEN_AGAIN && ++op->duplicates < MTS_MAX_DUPLICATES
				   ? NEXT_AGAIN
				   : NEXT_GIVE_UP;
	if (mts_server_error_is_final(decision) ||
		(decision == MTS_AGAIN_IN_PARTS && round->part.scope >= MTS_STATEMENT))
		return NEXT_GIVE_UP;
	if (decision == MTS_AGAIN_PLAIN)
		return NEXT_PLAIN;
	if (round->part.scope != MTS_EACH_WRITE &&
		should_split(round, op, decision))
		return NEXT_SMALLER;
	return NEXT_AGAIN;
}

/*
 * Decide what becomes of a unit after one of its writes was refused, or after
 * the error of a command.  It is aborted.  Nothing else belongs to that of a
 * call, so it can be begun again.
 */
static Next
decide_unit(MtsRound *round, const MtsOp *refused, const bson_error_t *error)
{
	const MtsBulk *bulk = round->bulk;
	MtsConnection *connection = round->connection;
	uint32 code = refused ? (uint32) refused->code : error->code;
	MtsDecision decision =
		refused ? mts_server_error_decide_code(code, MTS_PHASE_TRANSACTION)
				: mts_server_error_decide(connection, error,
										  MTS_PHASE_TRANSACTION);
	bool is_call = round->part.scope == MTS_EACH_CALL;
	bool may_repeat;

	if (!refused && decision == MTS_AGAIN_ON_PRIMARY)
		return (is_call || mts_xact_may_repeat(connection)) &&
					   mts_attempt_should_repeat(&round->part.attempt, error)
				   ? NEXT_ON_PRIMARY
				   : NEXT_GIVE_UP;
	if (!refused && mts_server_error_is_final(decision))
		return NEXT_GIVE_UP;
	if (is_call)
		return NEXT_AGAIN;
	if (decision == MTS_AGAIN_PLAIN)
		may_repeat = !bulk->is_required && mts_xact_restart(connection);
	/* another session has created a collection */
	else if (code == MTS_CODE_SNAPSHOT_UNAVAILABLE)
		may_repeat = mts_xact_restart(connection);
	else
		may_repeat = mts_xact_may_repeat(connection);
	return may_repeat ? NEXT_AGAIN : NEXT_GIVE_UP;
}

/* ---- Transactions ------------------------------------------------------- */

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
	return round->ops + round->part.first;
}

/* Send no command of a part so far. */
static void
rewind_commands(MtsRound *round)
{
	round->part.affected = round->part.created = round->part.changed = 0;
	round->part.has_duplicate = false;
	for (int i = 0; i < round->part.ncommands; i++)
		round->part.commands[i].is_sent = round->part.commands[i].is_done =
			false;
}

/*
 * Read the replies to the commands of a transaction that were sent.  Returns
 * false with the reason in *error, or a refusal, if one has failed.
 */
static bool
collect_transaction(MtsRound *round, bson_error_t *error)
{
	bool ok = true;

	for (int i = 0; i < round->part.ncommands; i++)
	{
		Command *command = &round->part.commands[i];
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
 * Do the commands of a part in a transaction.  Returns false with the reason
 * in *error, or a refusal, when one has failed.
 */
static bool
do_commands(MtsRound *round, bson_error_t *error)
{
	const Command *last = &round->part.commands[round->part.ncommands - 1];

	rewind_commands(round);
	error->domain = 0;
	do
	{
		submit(round);
		if (!collect_transaction(round, error))
			return false;
	} while (!last->is_done);
	return true;
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
 * Use the next form of all writes whose form may find nothing.  Returns false
 * if there are none.
 */
static bool
give_up_updates(MtsRound *round)
{
	bool has_some = false;

	for (int i = 0; i < round->n; i++)
		if (mts_op_form(round->ops[i])->if_none == MTS_THEN_NEXT)
		{
			mts_op_use(round->ops[i], round->ops[i]->form + 1);
			has_some = true;
		}
	if (has_some)
	{
		qsort(round->ops, round->n, sizeof(MtsOp *), compare_ops);
		queue_commands(round);
	}
	return has_some;
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

	if (seen && round->part.affected != seen->ndocuments)
		mts_bulk_error_refuse_changed(
			round->bulk,
			psprintf(INT64_FORMAT " buckets were read, but " INT64_FORMAT
								  " were removed.",
					 seen->ndocuments, round->part.affected));
}

/*
 * Do the commands of a part of PostgreSQL's transaction.
 *
 * If some updates may have found nothing, their next forms follow.  A reply
 * does not tell which updates these are, so all writes are sent again.  The
 * transaction need not be aborted, since the same points are stored again.
 */
static bool
finish_tried_commands(MtsRound *round, bson_error_t *error)
{
	if (!do_commands(round, error))
		return false;
	if (round->part.affected >= round->part.n || !give_up_updates(round))
		return true;
	mts_xact_drop(round->part.unit);
	return do_commands(round, error);
}

/*
 * Commit the unit of a call.  Returns false with the reason in *error if it
 * was aborted.
 */
static bool
commit_call(MtsRound *round, bson_error_t *error)
{
	MtsOutcome outcome;

	round->part.outcome_is_unknown = true;
	outcome =
		mts_xact_commit_call(round->part.unit, &round->part.attempt, error);
	if (outcome == MTS_UNKNOWN)
		raise_failure(round, error);
	round->part.outcome_is_unknown = false;
	if (outcome == MTS_COMMITTED && error->domain != 0)
		record_write_concern_error(round, error);
	return outcome == MTS_COMMITTED;
}

/*
 * Keep in its unit what the commands of a part have written.  That of a call
 * is committed, or aborted if a write has found no document.  Returns false
 * with the reason in *error if the server has aborted it.
 */
static bool
keep_writes(MtsRound *round, bson_error_t *error)
{
	bool is_call = round->part.scope == MTS_EACH_CALL;
	bool all_found = round->part.affected >= round->part.n ||
					 mts_op_form(round->ops[0])->kind == MTS_OP_DELETE_MANY;

	check_seen(round);
	if (is_call && all_found && !commit_call(round, error))
		return false;
	if (is_call && !all_found)
		round->n = 0;
	else
		finish_writes(round);
	if (round->part.has_duplicate || (is_call && !all_found))
		mts_xact_abort_unit(round->part.unit, NULL);
	else if (all_found && !is_call)
		mts_xact_keep(round->part.unit,
					  round->part.changed > 0 ? round->table : NULL,
					  reports_new(round->ops[0]) ? round->part.created : 0);
	return true;
}

/* Raise the error of a unit that cannot be begun again. */
static _Noreturn void
raise_abort(const MtsRound *round, const bson_error_t *error)
{
	if (round->part.scope == MTS_EACH_CALL)
		raise_failure(round, error);
	mts_xact_report_failure(round->connection,
							mts_bulk_error_message(round->bulk), error);
	pg_unreachable();
}

/*
 * Do the writes of a part as commands of a unit.  Returns whether they are
 * done, or one of a call has found no document.  Otherwise none of them is
 * stored.  They have the reason, and can be sent again.
 */
static bool
finish_unit(MtsRound *round)
{
	MtsBulk *bulk = round->bulk;
	MtsOp **ops = part_of(round);
	int n = round->part.n;
	MtsOp *refused;
	bson_error_t error;
	Next next;

	if (round->part.scope != MTS_EACH_CALL)
		mts_xact_reader_read_all(round->connection);
	do
	{
		bool is_open = mts_xact_open(round->part.unit, &round->part.attempt,
									 &round->part.transaction, &error);

		if (is_open && is_outdated(round))
		{
			bulk->is_outdated = true;
			round->n = 0;
			return true;
		}
		if (is_open && finish_tried_commands(round, &error) &&
			keep_writes(round, &error))
			return true;
		refused = find_refused(ops, n);
		mts_xact_abort_unit(round->part.unit, refused ? NULL : &error);
		next = decide_unit(round, refused, &error);
	} while (next == NEXT_ON_PRIMARY &&
			 mts_attempt_try_select_server(&round->part.attempt, &error));
	if (next != NEXT_AGAIN)
	{
		if (!refused)
			raise_abort(round, &error);
		/* another session has made the bucket that the update did not find */
		if (mts_op_form(refused)->if_refused != MTS_THEN_REPORT &&
			refused->code == MTS_CODE_DUPLICATE_KEY)
			refused->code = MTS_CODE_WRITE_CONFLICT;
		round->refused = list_make1(refused);
		round->nlost = count_points(ops, n);
		round->n = 0;
		return true;
	}
	record_abort(ops, n, round->n - round->part.first, &error);
	/* the next part may not be one of PostgreSQL's transaction */
	(void) give_up_updates(round);
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

/* Determine the scope that n writes have at a server. */
static MtsScope
scope_at(const MtsBulk *bulk, const MtsServer *server, int n)
{
	if (!server->has_transactions && bulk->is_required)
		refuse_server(bulk);
	if (!server->has_transactions || (bulk->scope == MTS_EACH_CALL && n == 1))
		return MTS_EACH_WRITE;
	return bulk->scope;
}

/* Choose how many of the first of n writes are a part, and its scope. */
static void
choose_part(MtsRound *round, int n)
{
	const MtsBulk *bulk = round->bulk;

	round->part.n = n;
	if (bulk->scope == MTS_EACH_CALL && bulk->most_writes > 0)
		round->part.n = Min(n, bulk->most_writes);
	round->part.scope =
		scope_at(bulk, &round->part.attempt.server, round->part.n);
	round->part.attempt.in_transaction = round->part.scope != MTS_EACH_WRITE;
}

/*
 * Begin the part of the writes from the first one on that is still to be sent:
 * send as many of its commands as need not wait.  finish_unit() sends those of
 * a unit.
 */
static void
begin_part(MtsRound *round, int tries)
{
	MtsBulk *bulk = round->bulk;
	int n = round->n - round->part.first;

	for (int i = 0; i < n; i++)
	{
		MtsOp *op = part_of(round)[i];

		op->refusal = NULL;
		op->is_aborted = false;
	}
	round->part.outcome_is_unknown = false;
	round->part.begin = bson_get_monotonic_time();
	begin_attempt(round);
	select_server(round);
	choose_part(round, n);
	if (round->part.scope != MTS_EACH_WRITE && tries == 0 &&
		!mts_xact_is_active(bulk->connection->serverid))
		await_retries(bulk);
	queue_commands(round);
	if (round->part.scope == MTS_EACH_WRITE)
		submit(round);
	else if (round->part.scope == MTS_EACH_CALL)
	{
		if (!round->call)
			round->call = mts_xact_begin_call(round->connection, round->lsids);
		round->part.unit = round->call;
	}
	else
		round->part.unit = mts_xact_unit(bulk->connection);
}

/* ---- Rounds ------------------------------------------------------------- */

/*
 * Reduce a round to the writes that are sent again, and record those that are
 * refused for good.  Returns true when other sessions are in the way.
 *
 * If one write of a transaction uses its next form, all do, because the next
 * refused write would abort the transaction again.
 */
static bool
select_retries(MtsRound *round, int tries)
{
	MtsBulk *bulk = round->bulk;
	bool is_contended = false, use_next = false;
	int n = round->n;

	round->n = 0;
	for (int i = 0; i < n; i++)
	{
		MtsOp *op = round->ops[i];
		Next next;

		if (!op->refusal && !op->is_aborted)
			continue;
		next = op->refusal ? decide_write(round, op, tries) : NEXT_AGAIN;
		if (next == NEXT_GIVE_UP)
		{
			round->refused = lappend(round->refused, op);
			round->nlost += op->npoints;
			continue;
		}
		round->ops[round->n++] = op;
		if (next == NEXT_FORM)
		{
			use_next = true;
			if (round->part.scope == MTS_EACH_WRITE)
				mts_op_use(op, op->form + 1);
		}
		else if (next == NEXT_PLAIN)
			bulk->scope = MTS_EACH_WRITE;
		else if (next == NEXT_SMALLER)
			bulk->most_writes = Max(round->part.n / 2, 1);
		is_contended |=
			op->refusal && (next == NEXT_AGAIN || next == NEXT_SMALLER);
	}
	if (round->part.scope == MTS_EACH_WRITE)
		return is_contended;
	if (round->refused)
	{
		round->nlost += count_points(round->ops, round->n);
		round->n = 0;
	}
	for (int i = 0; i < round->n && use_next; i++)
		if (mts_op_form(round->ops[i])->if_refused == MTS_THEN_NEXT)
			mts_op_use(round->ops[i], round->ops[i]->form + 1);
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
		bool is_done = true;

		if (round->part.scope == MTS_EACH_WRITE)
			finish_plain(round);
		else
			is_done = finish_unit(round);
		round->part.first += round->part.n;
		if (!is_done || round->part.first >= round->n)
		{
			round->part.first = 0;
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
	if (round->call)
		mts_xact_end_call(round->call);
	round->call = NULL;
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
									  round->nlost, round->npoints,
									  round->part.scope != MTS_EACH_WRITE);
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
	const MtsStoredTable *table;
} Postponed;

/* Copy a write of one document. */
static Postponed *
copy_write(const MtsBulk *bulk, const MtsOp *op)
{
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
	Postponed *copy = palloc(sizeof(Postponed));
	const MtsForm *form = mts_op_form(op);

	*copy = (Postponed){.database = pstrdup(bulk->database),
						.collection = pstrdup(bulk->collection),
						.relid = bulk->relid,
						.table = bulk->table};
	copy->op = mts_op(form->kind, mts_document_copy(form->selector),
					  mts_document_copy(form->document));
	copy->op.npoints = op->npoints;
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
					.collection = write->collection,
					.table = write->table};

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

	if (bulk->scope < MTS_STATEMENT || round->n != 1 ||
		mts_op_form(op)->if_refused == MTS_THEN_DONE ||
		mts_op_form(op)->kind == MTS_OP_DELETE_MANY ||
		!mts_xact_may_postpone(bulk->connection))
		return false;
	begin_attempt(round);
	select_server(round);
	if (!round->part.attempt.server.has_transactions)
		return false;
	mts_op_use(op, op->nforms - 1);
	command =
		mts_write_command_make(&round->part.attempt, round->ops, 1,
							   mts_document_utf8(bulk->collection), true);
	mts_document_adopt(command);
	mts_xact_postpone(bulk->connection, bulk->database, command, bulk->table,
					  send_postponed, copy_write(bulk, op));
	round->part.scope = bulk->scope;
	round->n = 0;
	bulk->affected = 1;
	bulk->created = mts_op_makes(mts_op_form(op));
	return true;
}

/* ---- Calls -------------------------------------------------------------- */

/* Make the round of a call. */
static MtsRound *
make_round(MtsBulk *bulk, MtsOp *ops, int nops)
{
	MtsRound *round = palloc0(sizeof(MtsRound));

	round->bulk = bulk;
	round->connection = bulk->connection;
	round->table = bulk->table;
	round->ops = palloc(nops * sizeof(MtsOp *));
	round->n = nops;
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

/* Tell whether a connection has a round whose writes are not all done. */
static bool
has_round(const MtsConnection *connection)
{
	for (const MtsRound *round = under_way; round; round = round->next)
		if (round->connection == connection && round->n > 0)
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

/* Read the replies to plain writes that are under way. */
static void
settle_plain(MtsRound *round)
{
	for (int i = 0; i < round->part.ncommands; i++)
	{
		Command *command = &round->part.commands[i];
		bson_error_t error;
		const bson_t *reply;

		if (command->is_sent &&
			is_done(command, read_reply(round, command, &reply, &error),
					&error))
			record_done(round, command, reply);
	}
}

/* Tell whether a reply to a plain write is to be received. */
static bool
is_under_way(const MtsRound *round)
{
	for (int i = 0; i < round->part.ncommands; i++)
		if (round->part.scope == MTS_EACH_WRITE &&
			round->part.commands[i].is_sent)
			return true;
	return false;
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
	MtsConnection *connection = round->connection;
	MtsBulk bulk = {.connection = connection, .table = round->table};

	if (!forget_round(round))
		return;
	/* the caller's may have gone */
	round->bulk = &bulk;
	round->is_settled = true;
	if (is_under_way(round))
	{
		mts_connection_set_deadline(connection, MTS_CLOSE_TIME);
		settle_plain(round);
		if (mts_wait_unlimit(&connection->wait))
			connection->invalid = true;
	}
	if (outcome_is_unknown(round))
		record_stored(&bulk, false);
	round->bulk = NULL;
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
	MtsConnection *connection = bulk->connection;
	bool is_alone = !has_round(connection);
	MtsRound *round;

	bulk->affected = bulk->created = 0;
	bulk->is_outdated = false;
	round = bulk->round = make_round(bulk, ops, nops);
	round->lsids = connection->writes[!is_alone];
	if (is_early && postpone(round))
		return;
	mts_orphan_kill(connection, true);
	round->subid = GetCurrentSubTransactionId();
	round->next = under_way;
	under_way = round;
	mts_document_release_with(settle, round);
	if (nops > 0)
		begin_part(round, 0);
	/* a savepoint that is set meanwhile must know what was written before */
	if (round->part.scope != MTS_EACH_WRITE || !is_alone)
		finish(round);
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
	mts_wait_reset(&bulk->connection->wait);
	bulk->connection->wait.deadline = 0;
	finish(round);
	(void) forget_round(round);
	raise_failures(round);
}

/*
 * mts_bulk_scope
 *		Determine the scope of the next call, if it has several writes.
 */
MtsScope
mts_bulk_scope(MtsBulk *bulk)
{
	MtsAttempt attempt =
		mts_attempt_begin(bulk->connection, mts_bulk_error_message(bulk),
						  MTS_FROM_PRIMARY);

	if (bulk->scope == MTS_EACH_WRITE)
		return MTS_EACH_WRITE;
	attempt.is_write = true;
	mts_attempt_select_server(&attempt);
	return scope_at(bulk, &attempt.server, INT_MAX);
}

/*
 * mts_bulk_begin_statement
 *		Have all further calls be a transaction of the current statement,
 *		where a call was one; returns true if mts_xact_commit() must end it.
 */
bool
mts_bulk_begin_statement(MtsBulk *bulk)
{
	if (bulk->scope != MTS_EACH_CALL)
		return false;
	bulk->scope = MTS_STATEMENT;
	return mts_xact_begin_own(bulk->connection);
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
