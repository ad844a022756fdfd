/*
 * seen.c
 *		Compare the documents that a write by a filter removes with those that
 *		were read before it.
 *
 * A deleteMany removes all that matches when the server executes it.  Its
 * statement has reported what it has read.  If the transaction of both is
 * begun again, other sessions may have added documents or points.  So the log
 * has the query of the statement, too (write_log.c), with a hash of what was
 * found.  The query is sent again before the deleteMany, and must find the
 * same.
 *
 * The number of documents proves nothing: one may have been removed, and
 * another one added.  A hash needs no memory, and reading all again costs less
 * than removing all again.
 */
#include "driver/seen.h"

#include "common/hashfn.h"
#include "utils/memutils.h"

#include "core/bson/template.h"
#include "driver/command.h"
#include "driver/document.h"

/* mts_seen_add: add a document that was read. */
void
mts_seen_add(MtsSeen *seen, const bson_t *document)
{
	seen->ndocuments++;
	seen->hash +=
		hash_bytes_extended(bson_get_data(document), (int) document->len, 0);
}

/* mts_seen_is_equal: tell whether the same documents were read. */
bool
mts_seen_is_equal(const MtsSeen *a, const MtsSeen *b)
{
	return a->ndocuments == b->ndocuments && a->hash == b->hash;
}

/*
 * mts_seen_command
 *		Make the command that reads the documents again.
 */
bson_t *
mts_seen_command(const MtsSeen *seen, const MtsAttempt *attempt,
				 const char *collection)
{
	bson_t *command =
		mts_document_make("{find: %s, filter: %o}", collection, seen->filter);

	if (seen->projection && !bson_empty(seen->projection))
		bson_append_document(command, "projection", -1, seen->projection);
	mts_attempt_append_collation(attempt, command);
	return command;
}

/* Add the documents of a reply; return the id of the cursor, or 0. */
static int64
add_batch(const bson_t *reply, const char *field, MtsSeen *seen)
{
	bson_iter_t iter, batch, element;
	bson_t document;

	if (bson_iter_init(&iter, reply) &&
		bson_iter_find_descendant(&iter, field, &batch) &&
		bson_iter_recurse(&batch, &element))
		while (bson_iter_next(&element))
			if (mts_document_view(&element, &document))
				mts_seen_add(seen, &document);
	return (int64) mts_document_number(reply, "cursor.id");
}

/*
 * mts_seen_read
 *		Send a command of mts_seen_command() in a transaction, and add what it
 *		finds to *seen.
 *
 * Returns false with the reason in *error if the server does not answer, or
 * aborts the transaction.
 */
bool
mts_seen_read(const MtsAttempt *attempt, MtsTransaction *transaction,
			  const char *database, const bson_t *command, MtsSeen *seen,
			  bson_error_t *error)
{
	MemoryContext memory =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw batch",
							  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(memory);
	const char *collection = mts_document_string(command, "find");
	int64 id = 0;
	bool ok;

	do
	{
		bson_t *next;
		const bson_t *reply;

		MemoryContextReset(memory);
		next = id == 0 ? bson_copy(command) : bson_new();
		mts_document_adopt(next);
		if (id != 0)
			mts_template_fields(next, "{getMore: %i, collection: %s}", id,
								collection);
		mts_transaction_append(transaction, next);
		ok = mts_command_send(attempt, database, next, &reply, error);
		if (ok)
			id = add_batch(reply,
						   id == 0 ? "cursor.firstBatch" : "cursor.nextBatch",
						   seen);
		else
			mts_transaction_classify(reply, error);
	} while (ok && id != 0);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(memory);
	return ok;
}
