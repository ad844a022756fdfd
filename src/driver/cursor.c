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
 * such a cursor is read to its end, into a spool (xact_reader.c).  A cursor
 * that is opened too late is an error, if its collection was written.
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
#include "driver/stream.h"
#include "driver/topology.h"
#include "driver/xact.h"
#include "driver/xact_reader.h"

/* A batch that follows another one has about as many bytes, at most. */
#define BATCH_BYTES (2 * 1024 * 1024)

/* From a server on this host, where it stays in the processor's cache */
#define LOCAL_BATCH_BYTES (512 * 1024)

/* The longest wait for a batch that lets us ask for the one after the next */
#define SOON_USECS INT64CONST(100000)

/* How often it is asked whether a server is silent, in microseconds */
#define SILENT_TIME INT64CONST(3000000)

/* The command that opens a cursor */
typedef struct Opening
{
	bson_t *command;
	char *other_collection;  /* see MtsFind.other_buckets, in UTF-8; or NULL */
	bson_t *other_command;   /* of that; or NULL */
	bool reads_descriptions; /* the URI's read concern is not for these */
	bool compares_text;      /* byte by byte */
} Opening;

typedef enum State
{
	NOT_OPEN,
	REFUSED, /* a user who may not read the documents gets none */
	OPEN,    /* the command has been answered */
	BEGUN,   /* and a document returned */
	ENDED    /* and all others: the server has no more */
} State;

/* The current batch, and its document that was returned last */
typedef struct Batch
{
	MtsReply reply;        /* its bytes; the next batch replaces them */
	bson_t *doc;           /* a view of that document; or NULL */
	MtsElementCursor rest; /* the documents that follow */
	int size;              /* 0 when the server chooses */
	int64 documents;       /* that have been read */
	int64 bytes;           /* of these */
} Batch;

/* The batches that follow */
typedef struct More
{
	int64 id;         /* the server's, or 0 if there are none */
	char *source;     /* the collection that the server names with it */
	int size;         /* of the next batch */
	bool is_growing;  /* batch sizes have not reached their limit */
	MtsTicket ticket; /* the next batch was asked for; or 0 */
} More;

/* The wait of a caller that can do other work until the next batch comes */
typedef struct Wait
{
	int64 since;          /* in monotonic microseconds; 0 if none waits */
	int64 until;          /* socketTimeoutMS of the URI ends */
	int64 silence_expiry; /* when it is asked whether the server is silent */
	dlist_node node;      /* in waiting_cursors, if one waits */
} Wait;

/* The transaction of xact.c that a cursor reads, and what it has spooled */
typedef struct Joined
{
	MtsTransaction *xact; /* or NULL */
	int starts;           /* when the cursor was opened */
	MtsXactReader reader; /* spools the documents that follow */
	Batch shown; /* has the document that the caller reads meanwhile */
} Joined;

struct MtsCursor
{
	MtsConnection *connection; /* NULL once it is closed */
	MtsAttempt attempt;        /* to get the first document */
	char *database;            /* in UTF-8, as is collection */
	char *collection;
	MtsFind find; /* its documents are only in the commands */
	Opening opening;
	State state;
	Batch batch;
	More more;
	Wait wait;
	Joined joined;
};

/* The cursors whose callers wait */
static dlist_head waiting_cursors = DLIST_STATIC_INIT(waiting_cursors);

/* ---- Batches ------------------------------------------------------------ */

/*
 * Begin to read the batch of the reply that was received.  Returns false with
 * the reason in *error if there is none.
 */
static bool
begin_batch(MtsCursor *cursor, bson_error_t *error)
{
	bson_t reply;
	bson_iter_t found, field;
	bool has_batch = false, has_cursor;
	const char *key, *name;

	cursor->more.id = 0;
	cursor->batch.documents = cursor->batch.bytes = 0;
	mts_wire_view(&cursor->batch.reply, &reply);
	has_cursor = bson_iter_init_find(&found, &reply, "cursor") &&
				 bson_iter_recurse(&found, &field);
	/* reply.c has checked the fields */
	while (has_cursor && bson_iter_next(&field))
	{
		key = bson_iter_key(&field);
		if (strcmp(key, "id") == 0)
			cursor->more.id = bson_iter_int64(&field);
		else if (strcmp(key, "ns") == 0)
		{
			/* the collection is behind the database */
			name = strchr(bson_iter_utf8(&field, NULL), '.') + 1;
			if (!cursor->more.source || strcmp(cursor->more.source, name) != 0)
				cursor->more.source =
					MemoryContextStrdup(GetMemoryChunkContext(cursor), name);
		}
		else if (strcmp(key, "firstBatch") == 0 ||
				 strcmp(key, "nextBatch") == 0)
		{
			const uint8_t *data;
			uint32_t len;

			bson_iter_array(&field, &len, &data);
			has_batch = mts_element_open(&cursor->batch.rest, data, len);
		}
	}
	if (!has_batch)
		bson_set_error(error, MONGOC_ERROR_CURSOR,
					   MONGOC_ERROR_CURSOR_INVALID_CURSOR,
					   "The reply to a query has no documents.");
	return has_batch;
}

/* ---- Closing ------------------------------------------------------------ */

/*
 * Have the server close a cursor, without waiting for it, unless it has closed
 * it with its transaction.  The cursor becomes an orphan if the connection to
 * its server is lost; returns false then.
 */
static bool
close_on_server(MtsCursor *cursor)
{
	MtsConnection *connection = cursor->connection;
	const Joined *joined = &cursor->joined;
	bool ok = !connection->invalid;
	bson_t *command;

	if (cursor->more.id == 0 ||
		(joined->xact && joined->starts != mts_xact_starts(connection)))
		return ok;
	command = bson_new();
	mts_template_fields(command, "{killCursors: %s, cursors: [%i]}",
						cursor->more.source, cursor->more.id);
	if (joined->xact)
		mts_transaction_append(joined->xact, command);
	mts_wait_limit(&connection->wait, MTS_CLOSE_TIME);
	ok = ok &&
		 mts_command_send_only(&cursor->attempt, cursor->database, command);
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
	MtsTicket ticket = cursor->more.ticket;

	cursor->more.ticket = 0;
	if (cursor->wait.since != 0)
		dlist_delete(&cursor->wait.node);
	cursor->wait.since = 0;
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
	bson_error_t error;

	mts_wait_limit(&connection->wait,
				   !IsTransactionState() &&
						   mts_exchange_await(&connection->exchange,
											  cursor->more.ticket)
					   ? 0
					   : MTS_CLOSE_TIME);
	if (mts_command_receive(&cursor->attempt, take_ticket(cursor),
							&cursor->batch.reply, &error) &&
		begin_batch(cursor, &error))
		cursor->state = Max(cursor->state, OPEN);
	if (mts_wait_unlimit(&connection->wait))
		connection->invalid = true;
}

/* End the reading of a cursor; another one can be opened in its place. */
static void
end_reading(MtsCursor *cursor)
{
	MtsConnection *connection = cursor->connection;

	if (cursor->wait.since != 0)
		receive_late(cursor);
	if (cursor->state < OPEN)
		return;
	if (cursor->more.ticket != 0)
		mts_exchange_forget(&connection->exchange, cursor->more.ticket);
	mts_orphan_kill(connection, !close_on_server(cursor));
	cursor->more.ticket = 0;
	cursor->more.id = 0;
	cursor->state = NOT_OPEN;
}

static void
free_batch(Batch *batch)
{
	mts_wire_free(&batch->reply);
	bson_free(batch->doc);
	*batch = (Batch){.doc = NULL};
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
	free_batch(&cursor->batch);
	free_batch(&cursor->joined.shown);
	mts_xact_reader_close(&cursor->joined.reader);
	cursor->connection = NULL;
	mts_connection_unpin(connection);
}

static void
close_with_context(void *cursor)
{
	mts_cursor_close(cursor);
}

/* ---- Making ------------------------------------------------------------- */

static bool read_rest(MtsXactReader *reader);

/*
 * Make a cursor, which pins its connection.  Its command is the caller's to
 * set.  It is sent when the first document is read.
 */
static MtsCursor *
make_cursor(const MtsAttempt *attempt, const char *database,
			const char *collection)
{
	MtsCursor *cursor = palloc0(sizeof(MtsCursor));

	cursor->attempt = *attempt;
	cursor->database = pstrdup(mts_document_utf8(database));
	cursor->collection = pstrdup(mts_document_utf8(collection));
	cursor->more.is_growing = true;
	cursor->joined.reader.serverid = attempt->connection->serverid;
	cursor->joined.reader.message = attempt->message;
	cursor->joined.reader.read_all = read_rest;
	cursor->joined.reader.spool.context = CurrentMemoryContext;
	mts_document_release_with(close_with_context, cursor);
	cursor->connection = attempt->connection;
	cursor->connection->pins++;
	return cursor;
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
	MtsAttempt attempt =
		mts_find_begin(find, connection, database, collection);
	MtsCursor *cursor = make_cursor(&attempt, database, collection);
	Opening *opening = &cursor->opening;
	MtsFind other;

	cursor->find = *find;
	if (find->stages)
		cursor->find.first_batch = Min(find->fetch_size, MTS_FIRST_BATCH);
	cursor->batch.size = cursor->more.size = cursor->find.first_batch;
	opening->compares_text = mts_find_compares_text(find);
	opening->command = mts_find_command(&cursor->find, cursor->collection);
	if (find->other_buckets)
	{
		other = cursor->find;
		other.raw_data = !find->raw_data;
		opening->other_collection =
			pstrdup(mts_document_utf8(find->other_buckets));
		opening->other_command =
			mts_find_command(&other, opening->other_collection);
	}
	return cursor;
}

/*
 * mts_cursor_collections
 *		Make a cursor over the descriptions of a database's collections.
 */
MtsCursor *
mts_cursor_collections(MtsConnection *connection, const char *database)
{
	MtsAttempt attempt = mts_attempt_begin(
		connection,
		psprintf("could not list the collections of MongoDB database \"%s\"",
				 database),
		MTS_FROM_PRIMARY);
	MtsCursor *cursor =
		make_cursor(&attempt, database, "$cmd.listCollections");

	cursor->opening.reads_descriptions = true;
	cursor->opening.command = mts_document_make("{listCollections: 1}");
	return cursor;
}

/* ---- Reading ------------------------------------------------------------ */

/* Tell whether a cursor reads the moment of its statement. */
static bool
reads_moment(const MtsCursor *cursor)
{
	return cursor->find.snapshot && !cursor->joined.xact &&
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

	if (cursor->joined.xact || cursor->opening.reads_descriptions)
		return;
	if (reads_moment(cursor))
		mts_snapshot_append_concern(cursor->find.snapshot, cursor->connection,
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
	bson_t *command = bson_copy(cursor->opening.command);

	mts_document_adopt(command);
	append_read_concern(cursor, command);
	if (cursor->opening.compares_text)
		mts_attempt_append_collation(&cursor->attempt, command);
	if (cursor->joined.xact)
		mts_transaction_append(cursor->joined.xact, command);
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

	dlist_foreach_modify(iter, &waiting_cursors)
	{
		MtsCursor *other = dlist_container(MtsCursor, wait.node, iter.cur);

		if (other->state == NOT_OPEN && other->find.snapshot &&
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

	mts_snapshot_tell_time(cursor->connection);
	return mts_command_submit(&cursor->attempt,
							  mts_document_text(cursor->database),
							  make_command(cursor), &cursor->more.ticket,
							  error);
}

/*
 * Send that command, unless it was sent, and receive the reply.  Returns false
 * with the reason in *error when that fails.
 */
static bool
send_command(MtsCursor *cursor, bson_error_t *error)
{
	bson_t reply;

	do
	{
		if ((cursor->more.ticket == 0 && !submit_command(cursor, error)) ||
			!mts_command_receive(&cursor->attempt, take_ticket(cursor),
								 &cursor->batch.reply, error))
			return false;
		mts_wire_view(&cursor->batch.reply, &reply);
	} while (reads_moment(cursor) &&
			 !mts_snapshot_read_time(cursor->find.snapshot, &reply));
	if (!begin_batch(cursor, error))
		return false;
	cursor->state = OPEN;
	return true;
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
			cursor->attempt.message,
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
	return mts_snapshot_time(cursor->find.snapshot) == 0 &&
		   bson_get_monotonic_time() < cursor->attempt.expiry;
}

/* Raise the error of a cursor. */
static _Noreturn void
report_failure(const MtsCursor *cursor, bson_error_t *error)
{
	MtsConnection *connection = cursor->connection;

	if (!cursor->joined.xact)
		mts_report_failure(connection, cursor->attempt.message, error);
	if (error->domain == MONGOC_ERROR_SERVER)
	{
		/* a transaction has no other way to read a capped collection */
		if (error->code == MTS_CODE_SNAPSHOT_UNAVAILABLE && is_capped(cursor))
			error->code = MTS_CODE_NOT_IN_TRANSACTION;
		/* the transaction that it reads has ended, and another has begun */
		else if (cursor->joined.starts != mts_xact_starts(connection))
			error->code = MTS_CODE_NO_SUCH_TRANSACTION;
	}
	/* the server has aborted it, and a savepoint may continue it */
	if (cursor->joined.starts == mts_xact_starts(connection))
		mts_xact_abort(connection, error);
	mts_xact_report_failure(connection, cursor->attempt.message, error);
	pg_unreachable();
}

/*
 * Have the cursor read what PostgreSQL's transaction has written, if it has
 * written anything.
 */
static void
join_xact(MtsCursor *cursor)
{
	MtsTransaction *xact = NULL;

	mts_xact_reader_close(&cursor->joined.reader);
	cursor->joined.xact = NULL;
	cursor->attempt.in_transaction = false;
	if (cursor->find.in_xact)
		xact = mts_xact_transaction(cursor->connection);
	if (!xact)
		return;
	if (mts_xact_writes_since(cursor->connection, cursor->database,
							  cursor->collection, cursor->find.before))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("%s", cursor->attempt.message),
				 errdetail(
					 "The transaction has written to the collection since "
					 "the statement began, and MongoDB would return what "
					 "was written."),
				 errhint(
					 "Read the rows before they are written, for example into "
					 "a temporary table.")));
	cursor->joined.xact = xact;
	cursor->joined.starts = mts_xact_starts(cursor->connection);
	mts_xact_reader_enlist(&cursor->joined.reader);
	cursor->attempt.needs_primary = cursor->attempt.in_transaction = true;
}

/*
 * Tell whether to read buckets in the other way, because the server refuses
 * this one: it was upgraded, or the collection converted, since the statement
 * began, or this member has another version than the one asked before.
 */
static bool
reads_otherwise(MtsCursor *cursor, const bson_error_t *error)
{
	Opening *opening = &cursor->opening;

	if (!opening->other_command || error->domain != MONGOC_ERROR_SERVER ||
		(error->code != MTS_CODE_NO_BUCKETS_COLLECTION &&
		 !(cursor->find.raw_data && error->code == MTS_CODE_UNKNOWN_FIELD)))
		return false;
	cursor->collection = opening->other_collection;
	opening->command = opening->other_command;
	opening->other_command = NULL;
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
	if (cursor->joined.xact && is_excluded(cursor, error) &&
		mts_xact_end_reading(cursor->connection))
	{
		join_xact(cursor);
		return true;
	}
	if (!cursor->joined.xact)
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
	if (reads_moment(cursor) && mts_snapshot_time(cursor->find.snapshot) == 0)
		await_moment(cursor);
}

/*
 * Open a cursor, again if it has been; raises an error if that fails.  Its
 * command may have been sent.
 */
static void
open_cursor(MtsCursor *cursor)
{
	bool is_sent = cursor->wait.since != 0 && cursor->state == NOT_OPEN;
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
	if (ok)
		return;
	if (!cursor->find.may_be_refused || cursor->joined.xact ||
		error.domain != MONGOC_ERROR_SERVER ||
		error.code != MTS_CODE_UNAUTHORIZED)
		report_failure(cursor, &error);
	cursor->state = REFUSED;
}

/* Set the size of the next batch by what the current one has shown. */
static void
set_next_size(MtsCursor *cursor)
{
	int64 most = cursor->find.fetch_size;
	int64 bytes =
		cursor->connection->is_local ? LOCAL_BATCH_BYTES : BATCH_BYTES;

	if (cursor->batch.size == 0 || cursor->batch.documents == 0)
		return;
	most =
		Min(most, bytes * cursor->batch.documents / cursor->batch.bytes + 1);
	cursor->more.size =
		(int) Min((int64) cursor->batch.size * MTS_BATCH_GROWTH, most);
	cursor->more.is_growing = cursor->more.size < most;
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
	bool ok;

	if (!mts_exchange_is_usable(&connection->exchange,
								cursor->attempt.server.channel) &&
		!mts_topology_connect(connection, &cursor->attempt.server, error))
		return false;
	bson_append_int64(&command, "getMore", -1, cursor->more.id);
	bson_append_utf8(&command, "collection", -1, cursor->more.source, -1);
	if (cursor->more.size > 0)
		bson_append_int64(&command, "batchSize", -1, cursor->more.size);
	if (cursor->joined.xact)
		mts_transaction_append(cursor->joined.xact, &command);
	ok = mts_command_submit_more(&cursor->attempt, cursor->database, &command,
								 &cursor->more.ticket, error);
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
	int64 began = cursor->wait.since != 0 ? cursor->wait.since
										  : bson_get_monotonic_time();

	set_next_size(cursor);
	if (cursor->more.ticket == 0 && !ask(cursor, error))
		return false;
	cursor->batch.size = cursor->more.size;
	connection->round_trips++;
	if (!mts_command_receive(&cursor->attempt, take_ticket(cursor),
							 &cursor->batch.reply, error) ||
		!begin_batch(cursor, error))
		return false;
	if (cursor->more.id != 0 && !cursor->more.is_growing &&
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
	while (mts_element_next(&cursor->batch.rest, &element) != MTS_NEXT_OK)
	{
		if (cursor->more.id == 0)
			return true;
		mts_wait_reset(&cursor->connection->wait);
		if (!receive_batch(cursor, error))
			return false;
	}
	if (!cursor->batch.doc)
		cursor->batch.doc = bson_new();
	/* reply.c has checked its length */
	(void) bson_init_static(cursor->batch.doc, element.value, element.size);
	cursor->batch.documents++;
	cursor->batch.bytes += element.size;
	*doc = cursor->batch.doc;
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

	if (cursor->state == NOT_OPEN)
		open_cursor(cursor);
	while (!read_next(cursor, &doc, &error))
	{
		/* another cursor could return documents again, or in another order */
		if (cursor->state >= BEGUN || cursor->joined.xact ||
			!mts_attempt_should_repeat(&cursor->attempt, &error))
			report_failure(cursor, &error);
		open_cursor(cursor);
	}
	if (cursor->state != REFUSED)
		cursor->state = doc ? BEGUN : ENDED;
	if (cursor->find.round_trips)
		*cursor->find.round_trips += cursor->connection->round_trips - before;
	return doc;
}

/* ---- Waiting for several ------------------------------------------------ */

/* Tell whether the batch has documents that have not been read. */
static bool
has_documents(const MtsCursor *cursor)
{
	MtsElementCursor rest = cursor->batch.rest;
	MtsElement element;

	return cursor->state >= OPEN &&
		   mts_element_next(&rest, &element) == MTS_NEXT_OK;
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

	if (cursor->more.ticket != 0)
		return true;
	if (cursor->state >= OPEN ? cursor->more.id == 0
							  : cursor->attempt.has_failed ||
									(cursor->find.in_xact &&
									 mts_xact_transaction(cursor->connection)))
		return false;
	mts_wait_reset(&cursor->connection->wait);
	if (cursor->state >= OPEN)
	{
		set_next_size(cursor);
		return ask(cursor, &error);
	}
	select_server(cursor);
	ok = submit_command(cursor, &error);
	if (cursor->find.round_trips)
		*cursor->find.round_trips += cursor->connection->round_trips - before;
	return ok;
}

/* Tell whether to wait no longer: what receives the reply finds the error. */
static bool
is_overdue(MtsCursor *cursor, const mongoc_stream_t *stream)
{
	int64 now = bson_get_monotonic_time();

	if (now >= cursor->wait.until)
		return true;
	if (now < cursor->wait.silence_expiry)
		return false;
	cursor->wait.silence_expiry = now + SILENT_TIME;
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
	if (cursor->joined.xact || cursor->state == ENDED ||
		has_documents(cursor) || !send_ahead(cursor))
		return false;
	if (cursor->wait.since == 0)
	{
		dlist_push_tail(&waiting_cursors, &cursor->wait.node);
		cursor->wait.since = bson_get_monotonic_time();
		cursor->wait.until = mts_wait_expiry(exchange->timeout);
		cursor->wait.silence_expiry = cursor->wait.since + SILENT_TIME;
	}
	stream = mts_exchange_await(exchange, cursor->more.ticket);
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

		streams[n] = mts_exchange_await(&cursor->connection->exchange,
										cursor->more.ticket);
		if (!streams[n++])
			return;
	}
	mts_stream_wait(streams, n, PG_INT64_MAX);
}

/* ---- Spools ------------------------------------------------------------- */

/*
 * Read the documents that follow into the spool.  The caller still reads the
 * last one.  A cursor whose transaction was aborted is left alone: its next
 * document is an error.
 */
static bool
read_rest(MtsXactReader *reader)
{
	MtsCursor *cursor =
		(MtsCursor *) ((char *) reader - offsetof(MtsCursor, joined.reader));
	Joined *joined = &cursor->joined;
	const bson_t *doc;

	if (cursor->state < OPEN || cursor->state == ENDED ||
		joined->starts != mts_xact_starts(cursor->connection))
		return false;
	mts_wire_move(&joined->shown.reply, &cursor->batch.reply);
	joined->shown.doc = cursor->batch.doc;
	cursor->batch.doc = NULL;
	while ((doc = receive(cursor)))
		mts_xact_reader_put(reader, bson_get_data(doc), doc->len);
	return true;
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
	MtsXactReader *reader = &cursor->joined.reader;
	const uint8 *bytes;
	uint32 size;

	if (reader->state < MTS_READER_FAILED)
		return receive(cursor);
	bytes = mts_xact_reader_get(reader, &size);
	if (!bytes)
		return NULL;
	/* they were checked */
	(void) bson_init_static(cursor->batch.doc, bytes, size);
	return cursor->batch.doc;
}

/*
 * mts_cursor_is_refused
 *		Tell whether a cursor has returned no documents because the user may
 *		not read them; see MtsFind.
 */
bool
mts_cursor_is_refused(const MtsCursor *cursor)
{
	return cursor->state == REFUSED;
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
		doc = bson_copy(doc);
		mts_document_adopt((bson_t *) doc);
	}
	mts_cursor_close(cursor);
	return doc;
}

/* ---- Names of collections ----------------------------------------------- */

/* Make a cursor over the names of the collections that match a filter. */
static MtsCursor *
make_name_cursor(MtsConnection *connection, const char *database,
				 const bson_t *filter)
{
	MtsCursor *cursor = mts_cursor_collections(connection, database);

	mts_template_fields(cursor->opening.command,
						"{filter: %o, nameOnly: true}", filter);
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
		mts_report_failure(connection, cursor->attempt.message, &error);
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
