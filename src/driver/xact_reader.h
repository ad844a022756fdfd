/*
 * xact_reader.h
 *		Readers of PostgreSQL's transaction, which read all before it writes.
 */
#ifndef MTS_XACT_READER_H
#define MTS_XACT_READER_H

#include "postgres.h"
#include "lib/ilist.h"

#include "driver/connection.h"
#include "driver/spool.h"

typedef enum MtsReaderState
{
	MTS_READER_APART,  /* no write is waited for */
	MTS_READER_LISTED, /* a write has it read all that follows */
	MTS_READER_FAILED, /* a write has had it read, in vain */
	MTS_READER_SPOOLED /* the items that follow are in the spool */
} MtsReaderState;

/* All zeros, except for the first fields, until it is enlisted */
typedef struct MtsXactReader
{
	Oid serverid;
	const char *message; /* of the error that it could not be read */
	/* put all items that follow; false if the reader is to be left alone */
	bool (*read_all)(struct MtsXactReader *reader);
	MtsSpool spool; /* needs its context */
	MtsReaderState state;
	dlist_node node; /* in the list, if it is listed */
	int64 nitems;    /* of the spool */
	int64 nleft;     /* of these, not returned yet */
	void *item;      /* that was returned last; or NULL */
} MtsXactReader;

extern void mts_xact_reader_enlist(MtsXactReader *reader);
extern bool mts_xact_reader_begin(MtsXactReader *reader);
extern void mts_xact_reader_read_all(const MtsConnection *connection);
extern void mts_xact_reader_put(MtsXactReader *reader, const void *bytes,
								uint32 size);
extern const void *mts_xact_reader_get(MtsXactReader *reader, uint32 *size);
extern void mts_xact_reader_rewind(MtsXactReader *reader);
extern void mts_xact_reader_close(MtsXactReader *reader);

#endif /* MTS_XACT_READER_H */
