/*
 * xact_reader.c
 *		Readers of PostgreSQL's transaction, which read all before it writes.
 *
 * MongoDB's transaction shows its latest writes to whatever reads it.  A
 * cursor or a scan of PostgreSQL does not see what is written after its
 * statement has begun.  So before each write, all readers of its server put
 * what they would return into spools.
 */
#include "driver/xact_reader.h"

/* The readers that a write has read, of all servers */
static dlist_head readers = DLIST_STATIC_INIT(readers);

/*
 * mts_xact_reader_enlist
 *		Have a reader read all before the transaction writes to its server.
 *
 * What it had in its spool is dropped.
 */
void
mts_xact_reader_enlist(MtsXactReader *reader)
{
	mts_xact_reader_close(reader);
	reader->state = MTS_READER_LISTED;
	dlist_push_tail(&readers, &reader->node);
}

/*
 * mts_xact_reader_begin
 *		Tell whether a write has had a reader read; otherwise it reads by
 *		itself from now on.
 */
bool
mts_xact_reader_begin(MtsXactReader *reader)
{
	if (reader->state == MTS_READER_LISTED)
	{
		dlist_delete(&reader->node);
		reader->state = MTS_READER_APART;
	}
	return reader->state != MTS_READER_APART;
}

/* Find a reader of a server in the list; NULL if none. */
static MtsXactReader *
find(Oid serverid)
{
	dlist_iter iter;

	dlist_foreach(iter, &readers)
	{
		MtsXactReader *reader = dlist_container(MtsXactReader, node, iter.cur);

		if (reader->serverid == serverid)
			return reader;
	}
	return NULL;
}

/*
 * mts_xact_reader_read_all
 *		Have the readers of a connection's server return what they would now,
 *		whatever the transaction writes from now on.
 */
void
mts_xact_reader_read_all(const MtsConnection *connection)
{
	MtsXactReader *reader;

	while ((reader = find(connection->serverid)) != NULL)
	{
		(void) mts_xact_reader_begin(reader);
		/* until all is read, in case of an error */
		reader->state = MTS_READER_FAILED;
		reader->state =
			reader->read_all(reader) ? MTS_READER_SPOOLED : MTS_READER_APART;
		mts_xact_reader_rewind(reader);
	}
}

/* mts_xact_reader_put: append an item to the spool. */
void
mts_xact_reader_put(MtsXactReader *reader, const void *bytes, uint32 size)
{
	mts_spool_append(&reader->spool, &size, sizeof(size));
	mts_spool_append(&reader->spool, bytes, size);
	reader->nitems++;
}

/*
 * mts_xact_reader_get
 *		Return the next item of the spool, and its size in bytes; NULL at the
 *		end.
 *
 * It belongs to the reader until the next call.  If a write has had the reader
 * read in vain, an error is raised.
 */
const void *
mts_xact_reader_get(MtsXactReader *reader, uint32 *size)
{
	if (reader->state == MTS_READER_FAILED)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_CURSOR_STATE),
				 errmsg("%s", reader->message),
				 errdetail("The documents that follow could not be kept "
						   "before the transaction wrote others."),
				 errhint("Run the transaction again.")));
	if (reader->nleft == 0)
		return NULL;
	mts_spool_read(&reader->spool, size, sizeof(*size));
	if (reader->item)
		pfree(reader->item);
	reader->item = NULL;
	reader->item = MemoryContextAlloc(reader->spool.context, *size);
	mts_spool_read(&reader->spool, reader->item, *size);
	reader->nleft--;
	return reader->item;
}

/* mts_xact_reader_rewind: have the first item of the spool returned next. */
void
mts_xact_reader_rewind(MtsXactReader *reader)
{
	mts_spool_rewind(&reader->spool);
	reader->nleft = reader->nitems;
}

/*
 * mts_xact_reader_close
 *		Free the spool of a reader, which leaves the list; raises no error.
 */
void
mts_xact_reader_close(MtsXactReader *reader)
{
	(void) mts_xact_reader_begin(reader);
	mts_spool_close(&reader->spool);
	reader->state = MTS_READER_APART;
	reader->nitems = reader->nleft = 0;
}
