/*
 * bulk.c
 *		The only caller of libmongoc's bulk writes.
 *
 * Writes are sent unordered, but sorted by bucket, so that sessions which
 * write the same buckets wait for each other instead of deadlocking.  What
 * the server refuses for the moment is sent again, write by write; what it
 * refuses for good is an error that says which points were not stored.  A
 * bucket that is inserted as a new one and is there already is updated then.
 */
#include "bulk.h"

#include "common/pg_prng.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/wait_event.h"

#include "document.h"
#include "error.h"
#include "remote.h"

/* A write that fails this often for the moment fails for good */
#define MAX_TRIES 30

/*
 * Milliseconds between two tries, at most.  Sessions that deadlock on one new
 * bucket are told so after a second, and go on doing it unless one of them
 * finds the others asleep.
 */
#define MAX_WAIT 4096

/* So many buckets are named in a message */
#define MAX_NAMED 3

/* MongoDB's limit of a document, in bytes */
#define MAX_DOCUMENT (16 * 1024 * 1024)

/* A write that the server has refused */
typedef struct Refused
{
	MtsOp *op;
	int code;
	char *message;
} Refused;

typedef struct Round
{
	MtsBulk *bulk;
	MtsOp **ops;
	int n;
	Refused *refused; /* room for n */
	int nrefused;
} Round;

/* Two sessions may make the same bucket at once, or lock it in turn. */
static bool
is_transient(const Refused *refused)
{
	switch (refused->code)
	{
		case 11000: /* duplicate key: the bucket is there by now */
			return refused->op->kind == MTS_OP_UPSERT;
		case 112:      /* write conflict */
		case 16908292: /* DocumentDB: deadlock detected */
		case 16777284: /* DocumentDB: could not serialize access */
			return true;
		default:
			return false;
	}
}

static int
compare_documents(const bson_t *a, const bson_t *b)
{
	int order =
		memcmp(bson_get_data(a), bson_get_data(b), Min(a->len, b->len));

	return order != 0 ? order : (a->len > b->len) - (a->len < b->len);
}

static int
compare_ops(const void *a, const void *b)
{
	const MtsOp *left = *(MtsOp *const *) a;
	const MtsOp *right = *(MtsOp *const *) b;

	if (left->kind != right->kind)
		return left->kind < right->kind ? -1 : 1;
	/* libmongoc makes a command of what follows one another */
	if (!left->fresh != !right->fresh)
		return left->fresh ? -1 : 1;
	if (left->selector)
	{
		int order = compare_documents(left->selector, right->selector);

		if (order != 0)
			return order;
	}
	/* of one bucket, in the order in which they were asked for */
	return (left > right) - (left < right);
}

static void
check_size(const MtsOp *op)
{
	MtsMeaning meaning = mts_error_meaning(10334);

	if ((op->document && op->document->len > MAX_DOCUMENT) ||
		(op->selector && op->selector->len > MAX_DOCUMENT))
		ereport(ERROR, (errcode(meaning.sqlstate),
						errmsg("a bucket is larger than MongoDB's documents "
							   "may be"),
						errdetail("Nothing of this bulk write was stored."),
						errhint("%s", meaning.hint)));
}

static bool
append_op(mongoc_bulk_operation_t *bulk, const MtsOp *op, bson_error_t *error)
{
	bson_t opts = BSON_INITIALIZER;
	bool ok = false;

	switch (op->kind)
	{
		case MTS_OP_INSERT:
			ok = mongoc_bulk_operation_insert_with_opts(bulk, op->document,
														NULL, error);
			break;
		case MTS_OP_UPSERT:
			if (op->fresh)
			{
				ok = mongoc_bulk_operation_insert_with_opts(bulk, op->fresh,
															NULL, error);
				break;
			}
			bson_append_bool(&opts, "upsert", -1, true);
			/* fall through */
		case MTS_OP_UPDATE:
			/* what was made here needs no second look */
			bson_append_bool(&opts, "validate", -1, false);
			ok = mongoc_bulk_operation_update_one_with_opts(bulk, op->selector,
															op->document,
															&opts, error);
			break;
		case MTS_OP_DELETE:
			ok = mongoc_bulk_operation_remove_one_with_opts(bulk, op->selector,
															NULL, error);
			break;
		case MTS_OP_DELETE_MANY:
			ok =
				mongoc_bulk_operation_remove_many_with_opts(bulk, op->selector,
															NULL, error);
			break;
	}
	bson_destroy(&opts);
	return ok;
}

/* What one call of libmongoc's needs; freed with the context of the call */
typedef struct Call
{
	mongoc_collection_t *collection;
	mongoc_bulk_operation_t *operation;
} Call;

static void
release_call(void *arg)
{
	Call *call = arg;

	if (call->operation)
		mongoc_bulk_operation_destroy(call->operation);
	mongoc_collection_destroy(call->collection);
}

static mongoc_bulk_operation_t *
make_call(const MtsBulk *bulk)
{
	Call *call = palloc0(sizeof(Call));
	char *database = mts_document_utf8(bulk->database);
	char *name = mts_document_utf8(bulk->collection);
	const mongoc_write_concern_t *concern;
	bson_t opts = BSON_INITIALIZER;
	bson_t acknowledged;

	mts_connection_hold(bulk->connection);
	call->collection =
		mongoc_client_get_collection(bulk->connection->client, database, name);
	mts_release_with_context(release_call, call);
	concern = mongoc_collection_get_write_concern(call->collection);
	bson_append_bool(&opts, "ordered", -1, false);
	/* a write that nobody acknowledges may be lost without a word */
	if (concern && !mongoc_write_concern_is_acknowledged(concern))
	{
		bson_append_document_begin(&opts, "writeConcern", -1, &acknowledged);
		bson_append_int32(&acknowledged, "w", -1, 1);
		bson_append_document_end(&opts, &acknowledged);
	}
	call->operation =
		mongoc_collection_create_bulk_operation_with_opts(call->collection,
														  &opts);
	bson_destroy(&opts);
	return call->operation;
}

static int64
reply_number(const bson_t *reply, const char *field)
{
	bson_iter_t iter;

	return bson_iter_init_find(&iter, reply, field) ? bson_iter_as_int64(&iter)
													: 0;
}

/*
 * Note which writes a reply tells to have been refused; false when one can't
 * be told.
 */
static bool
note_refused(Round *round, const bson_t *reply)
{
	bson_iter_t errors, error, field;

	round->nrefused = 0;
	if (!bson_iter_init_find(&errors, reply, "writeErrors") ||
		!BSON_ITER_HOLDS_ARRAY(&errors) || !bson_iter_recurse(&errors, &error))
		return true;
	while (bson_iter_next(&error))
	{
		Refused refused = {NULL, 0, "no message"};
		int64 index = -1;

		if (!bson_iter_recurse(&error, &field))
			return false;
		while (bson_iter_next(&field))
		{
			if (strcmp(bson_iter_key(&field), "index") == 0)
				index = bson_iter_as_int64(&field);
			else if (strcmp(bson_iter_key(&field), "code") == 0)
				refused.code = (int) bson_iter_as_int64(&field);
			else if (strcmp(bson_iter_key(&field), "errmsg") == 0 &&
					 BSON_ITER_HOLDS_UTF8(&field))
				refused.message = pstrdup(bson_iter_utf8(&field, NULL));
		}
		if (index < 0 || index >= round->n || round->nrefused == round->n)
			return false;
		refused.op = round->ops[index];
		if (!refused.op->may_conflict || refused.code != 11000)
			round->refused[round->nrefused++] = refused;
	}
	return true;
}

static char *
what(const MtsBulk *bulk)
{
	return psprintf("could not write to MongoDB collection \"%s.%s\"",
					bulk->database, bulk->collection);
}

/* Send the writes of a round once. */
static void
send_round(Round *round)
{
	MtsBulk *bulk = round->bulk;
	mongoc_bulk_operation_t *operation = make_call(bulk);
	bson_error_t error = {0};
	bson_t reply;
	bool is_refusal;
	bool is_clear;
	bool ok;

	for (int i = 0; i < round->n; i++)
		if (!append_op(operation, round->ops[i], &error))
			mts_remote_raise(bulk->connection, what(bulk), &error);
	mts_wait_begin(&bulk->connection->wait);
	ok = mongoc_bulk_operation_execute(operation, &reply, &error) != 0;
	is_clear = note_refused(round, &reply);
	is_refusal = bson_has_field(&reply, "writeErrors.0");
	bulk->affected +=
		reply_number(&reply, "nInserted") + reply_number(&reply, "nMatched") +
		reply_number(&reply, "nUpserted") + reply_number(&reply, "nRemoved");
	bulk->made +=
		reply_number(&reply, "nInserted") + reply_number(&reply, "nUpserted");
	bson_destroy(&reply);
	/* an error of the connection says nothing of the single writes */
	if (!ok && ((round->nrefused == 0 && !is_refusal) || !is_clear ||
				mts_remote_is_lost(bulk->connection, &error)))
		mts_remote_raise(bulk->connection, what(bulk), &error);
}

/* Which buckets were refused, for a message */
static char *
name_refused(const Round *round)
{
	StringInfoData names;

	initStringInfo(&names);
	for (int i = 0; i < Min(round->nrefused, MAX_NAMED); i++)
	{
		const MtsOp *op = round->refused[i].op;
		const bson_t *doc = op->selector ? op->selector : op->document;
		char *text = mts_document_shell(doc);

		if (strlen(text) > 200)
			strcpy(text + 197, "...");
		appendStringInfo(&names, "%s%s", i > 0 ? ", " : "", text);
	}
	if (round->nrefused > MAX_NAMED)
		appendStringInfo(&names, " and %d more", round->nrefused - MAX_NAMED);
	return names.data;
}

static void
raise_refused(const Round *round, int64 total)
{
	const Refused *first = &round->refused[0];
	MtsMeaning meaning = mts_error_meaning(first->code);
	int64 lost = 0;

	for (int i = 0; i < round->nrefused; i++)
		lost += round->refused[i].op->npoints;
	ereport(ERROR,
			(errcode(meaning.sqlstate), errmsg("%s", what(round->bulk)),
			 errdetail("%s\nNot stored: " INT64_FORMAT " of " INT64_FORMAT
					   " points of a bulk write, those of %s.\n"
					   "Stored by this statement: " INT64_FORMAT " points.",
					   first->message, lost, total, name_refused(round),
					   round->bulk->stored + total - lost),
			 meaning.hint ? errhint("%s", meaning.hint) : 0));
}

/* How long to wait before the next try: longer each time, each by itself */
static long
random_wait(int tries)
{
	double most = Min(1L << Min(tries, 20), MAX_WAIT);

	return 1 + (long) (pg_prng_double(&pg_global_prng_state) * most);
}

/* Let the buckets be updated that were taken for new; false when none was. */
static bool
give_up_fresh(Round *round)
{
	int64 before = round->bulk->stale;

	for (int i = 0; i < round->nrefused; i++)
		if (round->refused[i].op->fresh && round->refused[i].code == 11000)
		{
			round->refused[i].op->fresh = NULL;
			round->bulk->stale++;
		}
	return round->bulk->stale > before;
}

/* Keep what is worth another try, and wait a little; false when none is. */
static bool
keep_transient(Round *round, int tries)
{
	for (int i = 0; i < round->nrefused; i++)
		if (!is_transient(&round->refused[i]) || tries >= MAX_TRIES)
			return false;
	for (int i = 0; i < round->nrefused; i++)
		round->ops[i] = round->refused[i].op;
	round->n = round->nrefused;
	if (!give_up_fresh(round))
		(void) WaitLatch(MyLatch,
						 WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 random_wait(tries), PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	return true;
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
	Round round = {bulk, palloc(nops * sizeof(MtsOp *)), nops,
				   palloc(nops * sizeof(Refused)), 0};
	int64 total = 0;
	int tries = 0;

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
	do
		send_round(&round);
	while (round.nrefused > 0 && keep_transient(&round, ++tries));
	if (round.nrefused > 0)
		raise_refused(&round, total);
	if (bulk->affected == nops)
		bulk->stored += total;
	error_context_stack = callback.previous;
}
