/*
 * cursor.c
 *		Cursors over documents, and over the collections of a database.
 *
 * A cursor that fails raises an error, so a scan never returns fewer rows than
 * there are.  Only before its first document is a cursor opened again.  It
 * closes with the memory context in which it was made, here and on the server.
 * Cursors whose server was lost are closed there when the session reads from
 * it again.
 *
 * A cursor of a transaction of MongoDB would return what the transaction
 * writes while it is open.  PostgreSQL's cursors do not, so before each write
 * such a cursor is read to its end, into a spool.  So is a scan that has not
 * begun (scan/late_scan.c).  A cursor that is opened too late is an error, if
 * its collection was written.
 *
 * A caller that has other work can have the command sent, and come back when
 * the reply has arrived.
 *
 * The bytes of a batch are in a buffer of the cursor, where its documents are
 * decoded.  Once batches have stopped growing, and come soon, the server makes
 * the next one meanwhile.  If a batch that was asked for is lost, its cursor
 * fails, since the server has gone past it.
 */
#include "driver/cursor.h"

#include "access/xact.h"
#include "lib/ilist.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "core/bson/bson.h"
#include "driver/attempt.h"
#include "driver/command.h"
#include "driver/document.h"
#include "driver/orphan.h"
#include "driver/report.h"
#include "driver/server_error.h"
#include "driver/spool.h"
#include "driver/stream.h"
#include "driver/topology.h"
#include "driver/xact.h"

/* A batch that follows another one has about as many bytes, at most. */
#define BATCH_BYTES (2 * 1024 * 1024)

/* From a server on this host, where it stays in the processor's cache */
#define LOCAL_BATCH_BYTES (512 * 1024)

/* The longest wait for a batch that lets us ask for the one after the next */
#define SOON_USECS INT64CONST(100000)

/* How often it is asked whether a server is silent, in microseconds */
#define SILENT_TIME INT64CONST(3000000)

/* How long the server may plan a query for EXPLAIN, in milliseconds */
#define OPTIONAL_EXPLAIN_MSECS 500

struct MtsCursor
{
	MemoryContextCallback closing;
	MtsConnection *connection; /* NULL once it is closed */
	char *database;            /* in UTF-8, as is collection */
	char *collection;
	char *message;         /* of its errors */
	bson_t *command;       /* opens the cursor */
	char *other_buckets;   /* see MtsFind; or NULL */
	bool may_be_refused;   /* a user who may not read it gets no documents */
	bool is_of_metadata;   /* the URI's read concern is not for its command */
	bool compares_text;    /* its command does, byte by byte */
	MtsSnapshot *snapshot; /* what it reads; NULL for the latest documents */
	bool in_xact;          /* it reads what xact.c has written, if anything */
	CommandId before;      /* in commands before this one; InvalidCommandId for
							* all */
	MtsTransaction *xact;  /* that of xact.c, or NULL */
	int xact_starts;       /* when it was opened */
	MtsAttempt attempt;    /* to get the first document */
	bool is_open;          /* the command has been answered */
	bool has_begun;        /* it has returned a document, or the end */
	bool has_ended;        /* the server has no more */
	int64 *round_trips;    /* the caller's counter, or NULL */

	/* the batch that is read */
	MtsReply reply;         /* its bytes; the next batch replaces them */
	MtsElementCursor batch; /* its documents that follow */
	bson_t *doc;            /* a view of the one that was returned last */
	int batch_size;         /* 0 when the server chooses */
	int64 documents;        /* that have been read */
	int64 bytes;            /* of these */

	/* the batches that follow */
	int64 id;         /* the server's, or 0 if there are none */
	char *source;     /* the collection that the server names with it */
	int next_size;    /* of the next batch */
	int fetch_size;   /* the largest one */
	bool is_growing;  /* the sizes are not what they will be */
	MtsTicket ticket; /* the next batch was asked for; or 0 */

	/* of one whose caller waits for the next batch, and can do other work */
	bool is_awaited;
	dlist_node awaited;   /* in awaited_cursors, if is_awaited */
	int64 awaited_since;  /* in monotonic microseconds */
	int64 awaited_until;  /* socketTimeoutMS of the URI ends */
	int64 silence_expiry; /* when it is asked whether the server is silent */

	/* of one that reads the transaction of xact.c */
	dlist_node node;  /* in xact_cursors, while it is open */
	bson_t *returned; /* a copy of the document that was returned last */
	MtsSpool spool;   /* the documents that follow, if is_spooled */
	int64 nspooled;   /* of these, not returned yet; -1 if some are lost */
	bool is_spooled;
};

/* The open cursors that read a transaction of xact.c */
static dlist_head xact_cursors = DLIST_STATIC_INIT(xact_cursors);

/* Those that have not begun, of all servers */
static dlist_head late_readers = DLIST_STATIC_INIT(late_readers);

/* The cursors whose callers wait */
static dlist_head awaited_cursors = DLIST_STATIC_INIT(awaited_cursors);

/* ---- Batches ------------------------------------------------------------ */

/* Set an error: a reply is not what a cursor needs. */
static bool
refuse_reply(bson_error_t *error, const char *reason)
{
	bson_set_error(error, MONGOC_ERROR_CURSOR,
				   MONGOC_ERROR_CURSOR_INVALID_CURSOR, "%s", reason);
	return false;
}

/* Copy the collection that a namespace names, unless it is known. */
static void
set_source(MtsCursor *cursor, const MtsElement *namespace)
{
	size_t len;
	const char *name = strchr(mts_element_text(namespace, &len), '.') + 1;

	if (!cursor->source || strcmp(cursor->source, name) != 0)
		cursor->source =
			MemoryContextStrdup(GetMemoryChunkContext(cursor), name);
}

/*
 * Begin to read the batch of the reply that was received.  Returns false with
 * the reason in *error if there is none.
 */
static bool
begin_batch(MtsCursor *cursor, bson_error_t *error)
{
	bson_t reply;
	bson_iter_t found, field;
	bool has_batch = false;

	cursor->id = 0;
	cursor->documents = cursor->bytes = 0;
	mts_wire_view(&cursor->reply, &reply);
	if (!bson_iter_init_find(&found, &reply, "cursor") ||
		!bson_iter_recurse(&found, &field))
		return refuse_reply(error, "The reply to a query has no cursor.");
	/* reply.c has checked the fields */
	while (bson_iter_next(&field))
	{
		const char *key = bson_iter_key(&field);
		MtsElement element = {.value = NULL};

		if (strcmp(key, "id") == 0)
			cursor->id = bson_iter_int64(&field);
		else if (strcmp(key, "ns") == 0)
		{
			element.type = BSON_TYPE_UTF8;
			element.value = field.raw + field.d1;
			set_source(cursor, &element);
		}
		else if (strcmp(key, "firstBatch") == 0 ||
				 strcmp(key, "nextBatch") == 0)
		{
			const uint8_t *data;
			uint32_t len;

			bson_iter_array(&field, &len, &data);
			has_batch = mts_element_open(&cursor->batch, data, len);
		}
	}
	return has_batch ||
		   refuse_reply(error, "The reply to a query has no documents.");
}

/* ---- Closing ------------------------------------------------------------ */

/*
 * Make the attempt of a command of a cursor: a read, which has no write
 * concern, even if the rows are read in order to change them.
 */
static MtsAttempt
make_attempt(const MtsCursor *cursor)
{
	MtsAttempt attempt = cursor->attempt;

	attempt.is_write = false;
	attempt.in_transaction = cursor->xact != NULL;
	return attempt;
}

/*
 * Make the command that closes a cursor on its server; NULL if the server has
 * closed it with its transaction.
 */
static bson_t *
make_kill(const MtsCursor *cursor)
{
	bson_t *command;

	if (cursor->xact &&
		cursor->xact_starts != mts_xact_starts(cursor->connection))
		return NULL;
	command = bson_new();
	mts_template_fields(command, "{killCursors: %s, cursors: [%i]}",
						cursor->source, cursor->id);
	if (cursor->xact)
		mts_transaction_append(cursor->xact, command);
	return command;
}

/*
 * Have the server close a cursor, without waiting for it.  The cursor becomes
 * an orphan if the connection to its server is lost; returns false then.
 */
static bool
close_on_server(MtsCursor *cursor)
{
	MtsConnection *connection = cursor->connection;
	MtsAttempt attempt = make_attempt(cursor);
	bson_t *command = cursor->id != 0 ? make_kill(cursor) : NULL;
	bool ok = !connection->invalid;

	if (!command)
		return ok;
	mts_wait_limit(&connection->wait, MTS_CLOSE_TIME);
	ok = ok && mts_command_send_only(&attempt, cursor->database, command);
	if (mts_wait_unlimit(&connection->wait))
		connection->invalid = true;
	if (!ok)
		mts_orphan_add(connection, mts_document_text(cursor->database),
					   command);
	else
		bson_destroy(command);
	return ok;
}

/* Take the ticket of a cursor, to receive the reply; 0 if it has none. */
static MtsTicket
take_ticket(MtsCursor *cursor)
{
	MtsTicket ticket = cursor->ticket;

	cursor->ticket = 0;
	if (cursor->is_awaited)
		dlist_delete(&cursor->awaited);
	cursor->is_awaited = false;
	return ticket;
}

/*
 * Receive the batch that is awaited, to learn which cursor the server has.  If
 * that takes long, the connection is lost, and the server ends the command.
 * After an error, nothing is waited for.
 */
static void
receive_late(MtsCursor *cursor)
{
	MtsConnection *connection = cursor->connection;
	MtsAttempt attempt = make_attempt(cursor);
	bson_error_t error;

	mts_wait_limit(&connection->wait,
				   !IsTransactionState() &&
						   mts_exchange_await(&connection->exchange,
											  cursor->ticket)
					   ? 0
					   : MTS_CLOSE_TIME);
	cursor->is_open |= mts_command_receive(&attempt, take_ticket(cursor),
										   &cursor->reply, &error) &&
					   begin_batch(cursor, &error);
	if (mts_wait_unlimit(&connection->wait))
		connection->invalid = true;
}

/* End the reading of a cursor; another one can be opened in its place. */
static void
end_reading(MtsCursor *cursor)
{
	MtsConnection *connection = cursor->connection;

	if (cursor->is_awaited)
		receive_late(cursor);
	if (!cursor->is_open)
		return;
	if (cursor->ticket != 0)
		mts_exchange_forget(&connection->exchange, cursor->ticket);
	mts_orphan_kill(connection, !close_on_server(cursor));
	cursor->ticket = 0;
	cursor->id = 0;
	cursor->is_open = false;
}

/*
 * mts_cursor_close
 *		Close a cursor, here and on the server; a second call does nothing.
 *
 * It raises no error, and takes at most MTS_CLOSE_TIME.
 */
void
mts_cursor_close(MtsCursor *cursor)
{
	MtsConnection *connection = cursor->connection;

	if (!connection)
		return;
	end_reading(cursor);
	mts_wire_free(&cursor->reply);
	bson_free(cursor->doc);
	if (cursor->xact)
		dlist_delete(&cursor->node);
	mts_spool_close(&cursor->spool);
	bson_destroy(cursor->returned);
	cursor->connection = NULL;
	mts_connection_unpin(connection);
}

static void
close_with_context(void *cursor)
{
	mts_cursor_close(cursor);
}

/* ---- Making ------------------------------------------------------------- */

/*
 * Make a cursor, which pins its connection.  Its command is empty, and the
 * caller's to fill.  It is sent when the first document is read.
 */
static MtsCursor *
make_cursor(MtsConnection *connection, const char *database,
			const char *collection, char *message, MtsReadFrom from)
{
	MtsCursor *cursor = palloc0(sizeof(MtsCursor));

	cursor->connection = connection;
	cursor->database = pstrdup(mts_document_utf8(database));
	cursor->collection = pstrdup(mts_document_utf8(collection));
	cursor->message = message;
	cursor->attempt = mts_attempt_begin(connection, message, from);
	cursor->command = mts_document_new();
	cursor->is_growing = true;
	cursor->closing.func = close_with_context;
	cursor->closing.arg = cursor;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &cursor->closing);
	connection->pins++;
	return cursor;
}

/*
 * mts_cursor_stages
 *		Make the array of the stages of an aggregate command; NULL for a find
 *		command.
 *
 * MongoDB skips from value to value in an index that has the sort's fields.
 */
bson_t *
mts_cursor_stages(const MtsFind *find)
{
	bson_t *stages;

	if (find->stages)
		return (bson_t *) find->stages;
	if (!find->group && !find->first_of)
		return NULL;
	stages = mts_document_new();
	mts_template_push(stages, "{$match: %o}", find->filter);
	if (find->group)
		mts_template_push(stages, "{$group: %o}", find->group);
	else
	{
		mts_template_push(stages, "{$sort: %o}", find->sort);
		mts_template_push(stages,
						  "{$group: {_id: '$%s', first: {$first: '$$ROOT'}}}",
						  find->first_of);
		mts_template_push(stages, "{$replaceRoot: {newRoot: '$first'}}");
		if (find->projection && !bson_empty(find->projection))
			mts_template_push(stages, "{$project: %o}", find->projection);
	}
	return stages;
}

/* Tell whether a stage compares documents with a filter. */
static bool
has_match(const bson_t *stages)
{
	bson_iter_t iter, match;

	bson_iter_init(&iter, stages);
	while (bson_iter_next(&iter))
		if (bson_iter_recurse(&iter, &match) &&
			bson_iter_find(&match, "$match"))
			return true;
	return false;
}

/* Fill in the find command of a cursor. */
static void
append_find(MtsCursor *cursor, const MtsFind *find)
{
	bson_t *command = cursor->command;

	bson_append_utf8(command, "find", -1, cursor->collection, -1);
	bson_append_document(command, "filter", -1, find->filter);
	if (find->projection && !bson_empty(find->projection))
		bson_append_document(command, "projection", -1, find->projection);
	if (find->sort && !bson_empty(find->sort))
	{
		cursor->compares_text = true;
		bson_append_document(command, "sort", -1, find->sort);
		/* without an index, sorting can exceed the server's limit of memory */
		bson_append_bool(command, "allowDiskUse", -1, true);
	}
	if (find->limit > 0)
		bson_append_int64(command, "limit", -1, find->limit);
	/* one more than the limit, or the server would leave the cursor open */
	bson_append_int64(command, "batchSize", -1,
					  find->first_batch + (find->limit > 0 &&
										   find->limit == find->first_batch));
}

/*
 * mts_cursor_find
 *		Make a cursor over the documents that match a filter, over their groups
 *		or over the first of each, or over the result of stages.
 *
 * *find is not used after the call.
 */
MtsCursor *
mts_cursor_find(MtsConnection *connection, const char *database,
				const char *collection, const MtsFind *find)
{
	MtsCursor *cursor =
		make_cursor(connection, database, collection,
					find->message ? pstrdup(find->message)
								  : mts_report_reading(database, collection),
					find->on_primary ? MTS_FROM_PRIMARY : MTS_FROM_PREFERRED);
	const bson_t *stages = mts_cursor_stages(find);

	cursor->attempt.is_write = find->on_primary;
	cursor->attempt.relid = find->relid;
	cursor->batch_size = cursor->next_size =
		find->stages ? Min(find->fetch_size, MTS_FIRST_BATCH)
					 : find->first_batch;
	cursor->fetch_size = find->fetch_size;
	cursor->round_trips = find->round_trips;
	cursor->snapshot = find->snapshot;
	cursor->in_xact = find->in_xact;
	cursor->before = find->before;
	cursor->may_be_refused = find->may_be_refused;
	/* a query that compares nothing can read a view with another collation */
	cursor->compares_text =
		find->stages ? has_match(stages) : !bson_empty(find->filter);
	if (stages)
		mts_template_fields(cursor->command,
							"{aggregate: %s, pipeline: %a, "
							"cursor: {batchSize: %d}, allowDiskUse: true}",
							cursor->collection, stages, cursor->batch_size);
	else
		append_find(cursor, find);
	if (find->raw_data)
		bson_append_bool(cursor->command, "rawData", -1, true);
	if (find->other_buckets)
		cursor->other_buckets =
			pstrdup(mts_document_utf8(find->other_buckets));
	return cursor;
}

/*
 * mts_cursor_collections
 *		Make a cursor over the descriptions of a database's collections.
 */
MtsCursor *
mts_cursor_collections(MtsConnection *connection, const char *database)
{
	char *message =
		psprintf("could not list the collections of MongoDB database \"%s\"",
				 database);
	MtsCursor *cursor =
		make_cursor(connection, database, "$cmd.listCollections", message,
					MTS_FROM_PRIMARY);

	cursor->is_of_metadata = true;
	bson_append_int32(cursor->command, "listCollections", -1, 1);
	return cursor;
}

/* ---- Reading ------------------------------------------------------------ */

/* Tell whether a cursor reads the moment of its statement. */
static bool
reads_moment(const MtsCursor *cursor)
{
	return cursor->snapshot && !cursor->xact &&
		   cursor->attempt.server.reads_snapshots &&
		   !mts_snapshot_is_refused(cursor->connection, cursor->database,
									cursor->collection);
}

/*
 * Append the read concern of a command that has another one than the URI says.
 * A transaction has that of its first command.
 */
static void
append_read_concern(const MtsCursor *cursor, bson_t *command)
{
	const mongoc_read_concern_t *concern =
		mongoc_client_get_read_concern(cursor->connection->client);

	if (cursor->xact || cursor->is_of_metadata)
		return;
	if (reads_moment(cursor))
		mts_snapshot_append_concern(cursor->snapshot, cursor->connection,
									command);
	else if (cursor->connection->wants_snapshots &&
			 !mts_snapshot_is_refused(cursor->connection, cursor->database,
									  cursor->collection))
		mts_template_fields(command, "{readConcern: {level: 'snapshot'}}");
	else if (!mongoc_read_concern_is_default(concern))
		(void) mongoc_read_concern_append((mongoc_read_concern_t *) concern,
										  command);
}

/* Make the command that opens a cursor at the server that was selected. */
static bson_t *
make_command(const MtsCursor *cursor)
{
	bson_t *command = bson_copy(cursor->command);

	mts_document_adopt(command);
	append_read_concern(cursor, command);
	if (cursor->compares_text)
		mts_attempt_append_collation(&cursor->attempt, command);
	if (cursor->xact)
		mts_transaction_append(cursor->xact, command);
	return command;
}

static void open_cursor(MtsCursor *cursor);

/*
 * Receive the replies to the first reads of a server that are under way: they
 * choose the moment that a cursor reads, too.
 */
static void
await_moment(const MtsCursor *cursor)
{
	Oid serverid = cursor->connection->serverid;
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &awaited_cursors)
	{
		MtsCursor *other = dlist_container(MtsCursor, awaited, iter.cur);

		if (!other->is_open && other->snapshot &&
			other->connection->serverid == serverid)
		{
			open_cursor(other);
			/* others may have been received meanwhile, too */
			await_moment(cursor);
			return;
		}
	}
}

/*
 * Send the command that opens a cursor to the server that has been selected.
 * Returns false with the reason in *error when that fails.
 */
static bool
submit_command(MtsCursor *cursor, bson_error_t *error)
{
	MtsAttempt attempt = make_attempt(cursor);

	mts_snapshot_tell_time(cursor->connection);
	return mts_command_submit(&attempt, mts_document_text(cursor->database),
							  make_command(cursor), &cursor->ticket, error);
}

/*
 * Send that command, unless it was sent, and receive the reply.  Returns false
 * with the reason in *error when that fails.
 */
static bool
send_command(MtsCursor *cursor, bson_error_t *error)
{
	MtsAttempt attempt = make_attempt(cursor);
	bson_t reply;

	do
	{
		if ((cursor->ticket == 0 && !submit_command(cursor, error)) ||
			!mts_command_receive(&attempt, take_ticket(cursor), &cursor->reply,
								 error))
			return false;
		mts_wire_view(&cursor->reply, &reply);
	} while (reads_moment(cursor) &&
			 !mts_snapshot_read_time(cursor->snapshot, &reply));
	cursor->is_open = begin_batch(cursor, error);
	return cursor->is_open;
}

/*
 * Tell whether a collection is capped, or a view of such a one, as far as the
 * server tells.
 */
static bool
is_capped(const MtsCursor *cursor)
{
	const char *name = cursor->collection;

	/* MongoDB limits the depth of views to 20 */
	for (int depth = 0; name && depth <= 20; depth++)
	{
		const bson_t *reply = mts_command_try_run(
			cursor->connection, mts_document_text(cursor->database),
			cursor->message,
			mts_document_make("{listCollections: 1, filter: {name: %s}}",
							  name));
		bson_iter_t iter, capped;

		if (!reply)
			return false;
		if (bson_iter_init(&iter, reply) &&
			bson_iter_find_descendant(&iter,
									  "cursor.firstBatch.0.options.capped",
									  &capped) &&
			bson_iter_as_bool(&capped))
			return true;
		name =
			mts_document_string(reply, "cursor.firstBatch.0.options.viewOn");
	}
	return false;
}

/*
 * Tell whether to open a cursor again after the server has refused to read a
 * moment.
 *
 * A capped collection is then read without one.  Otherwise a collection was
 * created or changed lately.  If no read has chosen the moment, a later one
 * may do.
 */
static bool
should_choose_again(const MtsCursor *cursor, const bson_error_t *error)
{
	bool is_unavailable = error->code == MTS_CODE_SNAPSHOT_UNAVAILABLE;

	if (error->domain != MONGOC_ERROR_SERVER || !reads_moment(cursor) ||
		(!is_unavailable && error->code != MTS_CODE_SNAPSHOT_TOO_OLD))
		return false;
	if (is_unavailable && is_capped(cursor))
	{
		mts_snapshot_record_refusal(cursor->connection, cursor->database,
									cursor->collection);
		return true;
	}
	return mts_snapshot_time(cursor->snapshot) == 0 &&
		   bson_get_monotonic_time() < cursor->attempt.expiry;
}

/* Raise the error of a cursor. */
static _Noreturn void
report_failure(const MtsCursor *cursor, bson_error_t *error)
{
	MtsConnection *connection = cursor->connection;

	if (!cursor->xact)
		mts_report_failure(connection, cursor->message, error);
	if (error->domain == MONGOC_ERROR_SERVER)
	{
		/* a transaction has no other way to read a capped collection */
		if (error->code == MTS_CODE_SNAPSHOT_UNAVAILABLE && is_capped(cursor))
			error->code = MTS_CODE_NOT_IN_TRANSACTION;
		/* the transaction that it reads has ended, and another has begun */
		else if (cursor->xact_starts != mts_xact_starts(connection))
			error->code = MTS_CODE_NO_SUCH_TRANSACTION;
	}
	/* the server has aborted it, and a savepoint may continue it */
	if (cursor->xact_starts == mts_xact_starts(connection))
		mts_xact_abort(connection, error);
	mts_xact_report_failure(connection, cursor->message, error);
	pg_unreachable();
}

/* Raise an error: a cursor would return what was written later. */
static _Noreturn void
refuse_late(const MtsCursor *cursor)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("%s", cursor->message),
			 errdetail("The transaction has written to the collection since "
					   "the statement began, and MongoDB would return what "
					   "was written."),
			 errhint("Read the rows before they are written, for example into "
					 "a temporary table.")));
	pg_unreachable();
}

/*
 * Have the cursor read what PostgreSQL's transaction has written, if it has
 * written anything.
 */
static void
join_xact(MtsCursor *cursor)
{
	if (cursor->xact)
		dlist_delete(&cursor->node);
	cursor->xact = NULL;
	if (cursor->in_xact)
		cursor->xact = mts_xact_transaction(cursor->connection);
	if (!cursor->xact)
		return;
	if (mts_xact_writes_since(cursor->connection, cursor->database,
							  cursor->collection, cursor->before))
	{
		cursor->xact = NULL;
		refuse_late(cursor);
	}
	dlist_push_tail(&xact_cursors, &cursor->node);
	cursor->xact_starts = mts_xact_starts(cursor->connection);
	cursor->attempt.needs_primary = true;
}

/*
 * Tell whether to read buckets in the other way, because the server refuses
 * this one: it was upgraded, or the collection converted, since the statement
 * began, or this member has another version than the one asked before.
 */
static bool
reads_otherwise(MtsCursor *cursor, const bson_error_t *error)
{
	bool was_raw = bson_has_field(cursor->command, "rawData");
	bson_t *command;
	bson_iter_t iter;

	if (!cursor->other_buckets || error->domain != MONGOC_ERROR_SERVER ||
		(error->code != MTS_CODE_NO_BUCKETS_COLLECTION &&
		 !(was_raw && error->code == MTS_CODE_UNKNOWN_FIELD)))
		return false;
	command = bson_new();
	bson_iter_init(&iter, cursor->command);
	bson_iter_next(&iter);
	bson_append_utf8(command, bson_iter_key(&iter), -1, cursor->other_buckets,
					 -1);
	while (bson_iter_next(&iter))
		if (strcmp(bson_iter_key(&iter), "rawData") != 0)
			bson_append_iter(command, NULL, 0, &iter);
	if (!was_raw)
		bson_append_bool(command, "rawData", -1, true);
	bson_reinit(cursor->command);
	bson_concat(cursor->command, command);
	bson_destroy(command);
	cursor->collection = cursor->other_buckets;
	cursor->other_buckets = NULL;
	return true;
}

/* Tell whether an error says that a collection excludes transactions. */
static bool
is_excluded(const MtsCursor *cursor, const bson_error_t *error)
{
	return error->domain == MONGOC_ERROR_SERVER &&
		   (mts_server_error_decide(cursor->connection, error,
									MTS_PHASE_TRANSACTION) ==
				MTS_AGAIN_PLAIN ||
			(error->code == MTS_CODE_SNAPSHOT_UNAVAILABLE &&
			 is_capped(cursor)));
}

/* Tell whether to open a cursor again after an error. */
static bool
should_open_again(MtsCursor *cursor, int tries, const bson_error_t *error)
{
	if (cursor->xact && is_excluded(cursor, error) &&
		mts_xact_end_reading(cursor->connection))
	{
		join_xact(cursor);
		return true;
	}
	if (!cursor->xact)
		return reads_otherwise(cursor, error) ||
			   mts_attempt_should_repeat(&cursor->attempt, error) ||
			   should_choose_again(cursor, error);
	if (!mts_xact_should_repeat(&cursor->attempt, tries, error))
		return false;
	mts_xact_abort(cursor->connection, error);
	join_xact(cursor);
	return true;
}

/* Select the server of a cursor that is to be opened. */
static void
select_server(MtsCursor *cursor)
{
	mts_attempt_select_server(&cursor->attempt);
	if (reads_moment(cursor) && mts_snapshot_time(cursor->snapshot) == 0)
		await_moment(cursor);
}

/*
 * Tell whether the server has refused to show the documents of a cursor, which
 * may be.  It stays closed, without a batch, so that it returns none.
 */
static bool
is_hidden(const MtsCursor *cursor, const bson_error_t *error)
{
	return cursor->may_be_refused && !cursor->xact &&
		   error->domain == MONGOC_ERROR_SERVER &&
		   error->code == MTS_CODE_UNAUTHORIZED;
}

/*
 * Open a cursor, again if it has been; raises an error if that fails.  Its
 * command may have been sent.
 */
static void
open_cursor(MtsCursor *cursor)
{
	bool is_sent = cursor->is_awaited && !cursor->is_open;
	bson_error_t error;
	int tries = 0;
	bool ok;

	if (is_sent)
		mts_wait_reset(&cursor->connection->wait);
	else
	{
		end_reading(cursor);
		join_xact(cursor);
	}
	do
	{
		if (!is_sent)
			select_server(cursor);
		is_sent = false;
		ok = send_command(cursor, &error);
	} while (!ok && should_open_again(cursor, ++tries, &error));
	if (!ok && !is_hidden(cursor, &error))
		report_failure(cursor, &error);
}

/* Set the size of the next batch by what the current one has shown. */
static void
set_next_size(MtsCursor *cursor)
{
	int64 most = cursor->fetch_size;
	int64 bytes =
		cursor->connection->is_local ? LOCAL_BATCH_BYTES : BATCH_BYTES;

	if (cursor->batch_size == 0 || cursor->documents == 0)
		return;
	most = Min(most, bytes * cursor->documents / cursor->bytes + 1);
	cursor->next_size =
		(int) Min((int64) cursor->batch_size * MTS_BATCH_GROWTH, most);
	cursor->is_growing = cursor->next_size < most;
}

/*
 * Ask for the next batch.  Another call may have lost the connection, but the
 * server has the cursor still.
 */
static bool
ask(MtsCursor *cursor, bson_error_t *error)
{
	MtsConnection *connection = cursor->connection;
	bson_t command = BSON_INITIALIZER;
	MtsAttempt attempt;
	bool ok;

	if (!mts_exchange_is_usable(&connection->exchange,
								cursor->attempt.server.channel) &&
		!mts_topology_connect(connection, &cursor->attempt.server, error))
		return false;
	attempt = make_attempt(cursor);
	bson_append_int64(&command, "getMore", -1, cursor->id);
	bson_append_utf8(&command, "collection", -1, cursor->source, -1);
	if (cursor->next_size > 0)
		bson_append_int64(&command, "batchSize", -1, cursor->next_size);
	if (cursor->xact)
		mts_transaction_append(cursor->xact, &command);
	ok = mts_command_submit_more(&attempt, cursor->database, &command,
								 &cursor->ticket, error);
	bson_destroy(&command);
	return ok;
}

/*
 * Receive the next batch, and have the server make the one after it while this
 * one is decoded, if batches do not grow any more.  To close a cursor takes as
 * long as the server takes for a batch, so one that took long is not followed
 * by another one.
 */
static bool
receive_batch(MtsCursor *cursor, bson_error_t *error)
{
	MtsConnection *connection = cursor->connection;
	int64 began =
		cursor->is_awaited ? cursor->awaited_since : bson_get_monotonic_time();
	MtsAttempt attempt;

	set_next_size(cursor);
	if (cursor->ticket == 0 && !ask(cursor, error))
		return false;
	attempt = make_attempt(cursor);
	cursor->batch_size = cursor->next_size;
	connection->round_trips++;
	if (!mts_command_receive(&attempt, take_ticket(cursor), &cursor->reply,
							 error) ||
		!begin_batch(cursor, error))
		return false;
	if (cursor->id != 0 && !cursor->is_growing &&
		bson_get_monotonic_time() - began <= SOON_USECS &&
		mts_exchange_may_read_ahead(&connection->exchange))
		(void) ask(cursor, error);
	return true;
}

/*
 * Read the next document of an open cursor; NULL at the end of the data.
 * Returns false with the reason in *error when the cursor has failed.
 */
static bool
read_next(MtsCursor *cursor, const bson_t **doc, bson_error_t *error)
{
	MtsElement element;

	*doc = NULL;
	/* a batch can be empty without being the last one */
	while (mts_element_next(&cursor->batch, &element) != MTS_NEXT_OK)
	{
		if (cursor->id == 0)
			return true;
		mts_wait_reset(&cursor->connection->wait);
		if (!receive_batch(cursor, error))
			return false;
	}
	if (!cursor->doc)
		cursor->doc = bson_new();
	/* reply.c has checked its length */
	(void) bson_init_static(cursor->doc, element.value, element.size);
	cursor->documents++;
	cursor->bytes += element.size;
	*doc = cursor->doc;
	return true;
}

/*
 * Receive the next document from the server, or NULL at the end of the data.
 *
 * It is a view of the batch until the next call.
 */
static const bson_t *
receive(MtsCursor *cursor)
{
	int64 before = cursor->connection->round_trips;
	const bson_t *doc;
	bson_error_t error;

	if (!cursor->is_open)
		open_cursor(cursor);
	while (!read_next(cursor, &doc, &error))
	{
		/* another cursor could return documents again, or in another order */
		if (cursor->has_begun || cursor->xact ||
			!mts_attempt_should_repeat(&cursor->attempt, &error))
			report_failure(cursor, &error);
		open_cursor(cursor);
	}
	cursor->has_begun = true;
	cursor->has_ended = !doc;
	if (cursor->round_trips)
		*cursor->round_trips += cursor->connection->round_trips - before;
	return doc;
}

/* ---- Waiting for several ------------------------------------------------ */

/* Tell whether the batch has documents that have not been read. */
static bool
has_documents(const MtsCursor *cursor)
{
	MtsElementCursor batch = cursor->batch;
	MtsElement element;

	return cursor->is_open &&
		   mts_element_next(&batch, &element) == MTS_NEXT_OK;
}

/*
 * Send the command that the next document requires, if it was not sent; false
 * if there is none, or if it must be sent and answered at once.
 */
static bool
send_ahead(MtsCursor *cursor)
{
	int64 before = cursor->connection->round_trips;
	bson_error_t error;
	bool ok;

	if (cursor->ticket != 0)
		return true;
	if (cursor->is_open ? cursor->id == 0
						: cursor->attempt.has_failed ||
							  (cursor->in_xact &&
							   mts_xact_transaction(cursor->connection)))
		return false;
	mts_wait_reset(&cursor->connection->wait);
	if (cursor->is_open)
	{
		set_next_size(cursor);
		return ask(cursor, &error);
	}
	select_server(cursor);
	ok = submit_command(cursor, &error);
	if (cursor->round_trips)
		*cursor->round_trips += cursor->connection->round_trips - before;
	return ok;
}

/* Tell whether to wait no longer: what receives the reply finds the error. */
static bool
is_overdue(MtsCursor *cursor, const mongoc_stream_t *stream)
{
	int64 now = bson_get_monotonic_time();

	if (now >= cursor->awaited_until)
		return true;
	if (now < cursor->silence_expiry)
		return false;
	cursor->silence_expiry = now + SILENT_TIME;
	return mts_stream_is_abandoned(stream);
}

/*
 * mts_cursor_must_wait
 *		Tell whether the next document has not arrived yet, after the command
 *		that it requires has been sent.
 *
 * If not, mts_cursor_next() returns it, or the end, or raises an error.  A
 * cursor that reads the transaction of xact.c never says that it waits.
 */
bool
mts_cursor_must_wait(MtsCursor *cursor)
{
	MtsExchange *exchange = &cursor->connection->exchange;
	const mongoc_stream_t *stream;

	CHECK_FOR_INTERRUPTS();
	if (cursor->xact || cursor->has_ended || has_documents(cursor) ||
		!send_ahead(cursor))
		return false;
	if (!cursor->is_awaited)
	{
		cursor->is_awaited = true;
		dlist_push_tail(&awaited_cursors, &cursor->awaited);
		cursor->awaited_since = bson_get_monotonic_time();
		cursor->awaited_until = mts_wait_expiry(exchange->timeout);
		cursor->silence_expiry = cursor->awaited_since + SILENT_TIME;
	}
	stream = mts_exchange_await(exchange, cursor->ticket);
	return stream && !is_overdue(cursor, stream);
}

/*
 * mts_cursor_wait_any
 *		Wait for the next document of any of several cursors, for a slice of
 *		time.
 */
void
mts_cursor_wait_any(List *cursors)
{
	mongoc_stream_t **streams =
		palloc(list_length(cursors) * sizeof(*streams));
	ListCell *lc;
	int n = 0;

	foreach (lc, cursors)
	{
		MtsCursor *cursor = lfirst(lc);

		streams[n] =
			mts_exchange_await(&cursor->connection->exchange, cursor->ticket);
		if (!streams[n++])
			return;
	}
	mts_stream_wait(streams, n, PG_INT64_MAX);
}

/* ---- Spools ------------------------------------------------------------- */

/* Read the next document of a spool; NULL at its end. */
static bson_t *
read_spooled(MtsCursor *cursor)
{
	MemoryContext memory;
	bson_t *doc;
	uint32 size;
	uint8 *bytes;

	if (cursor->nspooled < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_CURSOR_STATE),
				 errmsg("%s", cursor->message),
				 errdetail("The documents that follow could not be kept "
						   "before the transaction wrote others."),
				 errhint("Run the transaction again.")));
	if (cursor->nspooled == 0)
		return NULL;
	memory = AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw spool",
								   ALLOCSET_DEFAULT_SIZES);
	mts_spool_read(&cursor->spool, &size, sizeof(size));
	bytes = MemoryContextAlloc(memory, size);
	mts_spool_read(&cursor->spool, bytes, size);
	doc = bson_new_from_data(bytes, size);
	MemoryContextDelete(memory);
	if (!doc)
		elog(ERROR, "a document in a spool is damaged");
	cursor->nspooled--;
	return doc;
}

/*
 * mts_cursor_next
 *		Return the next document, or NULL at the end of the data.
 *
 * It belongs to the cursor until the next call.
 */
const bson_t *
mts_cursor_next(MtsCursor *cursor)
{
	const bson_t *doc = cursor->is_spooled ? NULL : receive(cursor);

	if (!cursor->xact)
		return doc;
	/* a write can read on while the caller looks at it */
	bson_destroy(cursor->returned);
	cursor->returned = NULL;
	cursor->returned = cursor->is_spooled ? read_spooled(cursor)
					   : doc              ? bson_copy(doc)
										  : NULL;
	return cursor->returned;
}

/* Read what follows of a cursor into its spool. */
static void
spool(MtsCursor *cursor)
{
	const bson_t *doc;
	int64 n = 0;

	cursor->is_spooled = true;
	/* until that has succeeded */
	cursor->nspooled = -1;
	cursor->spool.context = GetMemoryChunkContext(cursor);
	while ((doc = receive(cursor)))
	{
		mts_spool_append(&cursor->spool, &doc->len, sizeof(doc->len));
		mts_spool_append(&cursor->spool, bson_get_data(doc), doc->len);
		n++;
	}
	mts_spool_rewind(&cursor->spool);
	cursor->nspooled = n;
}

/*
 * mts_cursor_is_refused
 *		Tell whether a cursor has returned no documents because the user may
 *		not read them; see MtsFind.
 */
bool
mts_cursor_is_refused(const MtsCursor *cursor)
{
	return cursor->may_be_refused && !cursor->xact && !cursor->is_open;
}

/*
 * mts_cursor_await_write
 *		Have a reader read all before the transaction writes to its server,
 *		unless it leaves the list before.
 */
void
mts_cursor_await_write(MtsLateReader *reader)
{
	dlist_push_tail(&late_readers, &reader->node);
}

/*
 * Have a reader of a server that has not begun read all; false if none.  It
 * leaves the list.
 */
static bool
read_late(Oid serverid)
{
	dlist_iter iter;

	dlist_foreach(iter, &late_readers)
	{
		MtsLateReader *reader = dlist_container(MtsLateReader, node, iter.cur);

		if (reader->serverid != serverid)
			continue;
		dlist_delete(&reader->node);
		reader->read_all(reader);
		return true;
	}
	return false;
}

/*
 * mts_cursor_spool
 *		Have the open cursors of a connection's transaction return what they
 *		would now, whatever the transaction writes from now on.  Readers that
 *		have not begun read all.
 *
 * A cursor of a transaction that was aborted stays as it is: its next document
 * is an error.
 */
void
mts_cursor_spool(const MtsConnection *connection)
{
	dlist_iter iter;

	while (read_late(connection->serverid))
		;
	dlist_foreach(iter, &xact_cursors)
	{
		MtsCursor *cursor = dlist_container(MtsCursor, node, iter.cur);

		if (cursor->connection == connection && cursor->is_open &&
			!cursor->has_ended && !cursor->is_spooled &&
			cursor->xact_starts == mts_xact_starts(connection))
			spool(cursor);
	}
}

/*
 * mts_cursor_first
 *		Return the first document of a query, or NULL when there is none.
 *
 * It lives as long as the current memory context.  The sizes of batches and
 * the limit of *find are not used.
 */
const bson_t *
mts_cursor_first(MtsConnection *connection, const char *database,
				 const char *collection, const MtsFind *find)
{
	MtsFind one = *find;
	MtsCursor *cursor;
	const bson_t *doc;

	one.first_batch = one.limit = 1;
	cursor = mts_cursor_find(connection, database, collection, &one);
	doc = mts_cursor_next(cursor);
	if (doc)
	{
		bson_t *copy = bson_copy(doc);

		mts_document_adopt(copy);
		doc = copy;
	}
	mts_cursor_close(cursor);
	return doc;
}

/* ---- Plans -------------------------------------------------------------- */

/*
 * mts_cursor_try_explain
 *		Ask for the plan of a query, if the server answers soon; otherwise
 *		returns false.
 *
 * *reply is NULL if the server refuses.  Otherwise it lives as long as the
 * current memory context.  Giving up loses the connection, so that is not done
 * while other cursors are open on it.
 */
bool
mts_cursor_try_explain(MtsConnection *connection, const char *database,
					   const char *collection, const MtsFind *find,
					   const bson_t **reply)
{
	bool is_shared = connection->pins > 0;
	MtsCursor *cursor =
		mts_cursor_find(connection, database, collection, find);
	MtsAttempt *attempt = &cursor->attempt;
	bson_error_t error = {0};
	bool ok;

	/* it has no write concern, and is not sent again after an election */
	attempt->is_write = attempt->is_repeatable = false;
	if (!is_shared)
		mts_attempt_begin_optional(attempt);
	do
	{
		bson_t *command = bson_copy(cursor->command);

		mts_document_adopt(command);
		if (cursor->compares_text)
			mts_attempt_append_collation(attempt, command);
		command = mts_document_make("{explain: %o, verbosity: 'queryPlanner', "
									"maxTimeMS: %d}",
									command, OPTIONAL_EXPLAIN_MSECS);
		ok = mts_attempt_try_select_server(attempt, &error) &&
			 mts_command_send(attempt, database, command, reply, &error);
	} while (!ok && mts_attempt_should_repeat(attempt, &error));
	mts_attempt_end_optional(attempt, ok, &error);
	mts_cursor_close(cursor);
	if (!ok)
	{
		*reply = NULL;
		CHECK_FOR_INTERRUPTS();
	}
	return ok || error.domain == MONGOC_ERROR_SERVER;
}

/* ---- Names of collections ----------------------------------------------- */

/* Make a cursor over the names of the collections that match a filter. */
static MtsCursor *
make_name_cursor(MtsConnection *connection, const char *database,
				 const bson_t *filter)
{
	MtsCursor *cursor = mts_cursor_collections(connection, database);

	bson_append_document(cursor->command, "filter", -1, filter);
	bson_append_bool(cursor->command, "nameOnly", -1, true);
	return cursor;
}

/*
 * Read all names of an open cursor into a new list.  Returns false with the
 * reason in *error when that fails.
 */
static bool
read_names(MtsCursor *cursor, List **names, bson_error_t *error)
{
	const bson_t *doc;

	*names = NIL;
	while (read_next(cursor, &doc, error))
	{
		const char *name = doc ? mts_document_string(doc, "name") : NULL;

		if (!doc)
			return true;
		if (!name)
		{
			cursor->connection->wait.problem = "a collection has no name";
			return false;
		}
		*names =
			lappend(*names,
					pstrdup(pg_any_to_server(name, strlen(name), PG_UTF8)));
	}
	return false;
}

/*
 * mts_cursor_list_names
 *		List the names of a database's collections that match a filter of
 *		listCollections, in the server's encoding.
 */
List *
mts_cursor_list_names(MtsConnection *connection, const char *database,
					  const bson_t *filter)
{
	MtsCursor *cursor = make_name_cursor(connection, database, filter);
	List *names;
	bson_error_t error = {0};
	bool ok;

	do
	{
		open_cursor(cursor);
		ok = read_names(cursor, &names, &error);
	} while (!ok && mts_attempt_should_repeat(&cursor->attempt, &error));
	if (!ok)
		mts_report_failure(connection, cursor->message, &error);
	mts_cursor_close(cursor);
	return names;
}

/*
 * mts_cursor_try_list_names
 *		List names of collections if the server answers soon; otherwise returns
 *		false.
 *
 * Giving up loses the connection.  If other cursors are open on it, the answer
 * is waited for, and a failure raised.
 */
bool
mts_cursor_try_list_names(MtsConnection *connection, const char *database,
						  const bson_t *filter, List **names)
{
	MtsCursor *cursor;
	bson_error_t error = {0};
	bool ok;

	if (connection->pins > 0)
	{
		*names = mts_cursor_list_names(connection, database, filter);
		return true;
	}
	cursor = make_name_cursor(connection, database, filter);
	mts_attempt_begin_optional(&cursor->attempt);
	ok = mts_attempt_try_select_server(&cursor->attempt, &error) &&
		 send_command(cursor, &error) && read_names(cursor, names, &error);
	mts_attempt_end_optional(&cursor->attempt, ok, &error);
	mts_cursor_close(cursor);
	if (!ok)
		CHECK_FOR_INTERRUPTS();
	return ok;
}
