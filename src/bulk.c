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
#include "bulk_private.h"

#include "common/hashfn.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "storage/lock.h"
#include "utils/wait_event.h"

#include "document.h"
#include "error.h"
#include "remote.h"

/* A write that fails this often for the moment fails for good */
#define MAX_TRIES 30

/*
 * Milliseconds between two tries, at most.  Sessions that deadlock on one new
 * bucket are told so after a second, and go on doing it unless one of them
 * finds the others asleep: those of other PostgreSQL servers, see queue_up().
 */
#define MAX_WAIT 4096

/* What tells our advisory locks from those of SQL, which have 1 and 2 */
#define LOCK_CLASS 3

/* MongoDB's limit of a document, in bytes */
#define MAX_DOCUMENT (16 * 1024 * 1024)

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
						errmsg("a bucket is larger than a MongoDB document "
							   "can be"),
						errdetail("Nothing of this bulk write was stored."),
						errhint("%s", meaning.hint)));
}

static bool
append_op(mongoc_bulk_operation_t *bulk, const MtsOp *op, bson_error_t *error)
{
	bson_t unchecked = BSON_INITIALIZER;
	bson_t opts = BSON_INITIALIZER;
	bool ok = false;

	/* what was made here needs no second look */
	bson_append_bool(&unchecked, "validate", -1, false);
	switch (op->kind)
	{
		case MTS_OP_INSERT:
			ok = mongoc_bulk_operation_insert_with_opts(bulk, op->document,
														&unchecked, error);
			break;
		case MTS_OP_UPSERT:
			if (op->fresh)
			{
				ok = mongoc_bulk_operation_insert_with_opts(bulk, op->fresh,
															&unchecked, error);
				break;
			}
			bson_append_bool(&opts, "upsert", -1, true);
			/* fall through */
		case MTS_OP_UPDATE:
			bson_concat(&opts, &unchecked);
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
	bson_destroy(&unchecked);
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

/* Note the first write concern that was not met, which refusals would hide. */
static void
note_concern(MtsRound *round, const bson_t *reply)
{
	const char *message = "no message";
	bson_iter_t iter, text;

	if (round->concern.domain != 0 ||
		!bson_has_field(reply, "writeConcernErrors.0"))
		return;
	if (bson_iter_init(&iter, reply) &&
		bson_iter_find_descendant(&iter, "writeConcernErrors.0.errmsg",
								  &text) &&
		BSON_ITER_HOLDS_UTF8(&text))
		message = bson_iter_utf8(&text, NULL);
	bson_set_error(&round->concern, MONGOC_ERROR_WRITE_CONCERN,
				   MONGOC_ERROR_WRITE_CONCERN_ERROR, "%s", message);
}

/* Send the writes of a round once. */
static void
send_round(MtsRound *round)
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
			mts_remote_raise(bulk->connection, mts_bulk_what(bulk), &error);
	mts_wait_begin(&bulk->connection->wait);
	ok = mongoc_bulk_operation_execute(operation, &reply, &error) != 0;
	is_clear = mts_bulk_note_refused(round, &reply);
	note_concern(round, &reply);
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
		mts_remote_raise(bulk->connection, mts_bulk_what(bulk), &error);
}

/* How long to wait before the next try: longer each time, each by itself */
static long
random_wait(int tries)
{
	double most = Min(1L << Min(tries, 20), MAX_WAIT);

	return 1 + (long) (pg_prng_double(&pg_global_prng_state) * most);
}

/*
 * Wait for the sessions of this server that try again to write to the same
 * collection: many at once would go on refusing each other.  Whoever is in
 * front waits for no lock, so it gets done; an error releases this one, too.
 */
static void
queue_up(const MtsBulk *bulk, LOCKTAG *tag)
{
	uint32 database = string_hash(bulk->database, strlen(bulk->database) + 1);
	uint32 collection =
		string_hash(bulk->collection, strlen(bulk->collection) + 1);

	SET_LOCKTAG_ADVISORY(*tag, InvalidOid, database, collection, LOCK_CLASS);
	(void) LockAcquire(tag, ExclusiveLock, false, false);
}

/*
 * Keep what is to be sent again, and note what is refused for good.  True when
 * others are in the way, not only that buckets were taken for new.
 */
static bool
sort_refused(MtsRound *round, int tries)
{
	bool is_contended = false;

	round->n = 0;
	for (int i = 0; i < round->nrefused; i++)
	{
		MtsRefused *refused = &round->refused[i];

		if (!mts_bulk_is_transient(refused) || tries >= MAX_TRIES)
		{
			round->lost[round->nlost++] = *refused;
			continue;
		}
		round->ops[round->n++] = refused->op;
		if (refused->op->fresh && refused->code == 11000)
		{
			refused->op->fresh = NULL;
			round->bulk->stale++;
		}
		else
			is_contended = true;
	}
	return is_contended;
}

/* Send writes until each is done or refused for good. */
static void
send_rounds(MtsRound *round)
{
	LOCKTAG tag;
	bool is_queued = false;
	int tries = 0;

	while (round->n > 0)
	{
		send_round(round);
		if (sort_refused(round, ++tries))
		{
			if (!is_queued)
				queue_up(round->bulk, &tag);
			is_queued = true;
			(void) WaitLatch(MyLatch,
							 WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
							 random_wait(tries), PG_WAIT_EXTENSION);
			ResetLatch(MyLatch);
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
	MtsRound round = {bulk, palloc(nops * sizeof(MtsOp *)),
					  nops, palloc(nops * sizeof(MtsRefused)),
					  0,    palloc(nops * sizeof(MtsRefused)),
					  0,    {0}};
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
	if (round.nlost > 0)
		mts_bulk_raise_lost(&round, total);
	if (round.concern.domain != 0)
		mts_remote_raise(bulk->connection, mts_bulk_what(bulk),
						 &round.concern);
	if (bulk->affected == nops)
		bulk->stored += total;
	error_context_stack = callback.previous;
}
