/*
 * read_ahead.h
 *		A stream that asks for a cursor's next batch before it is wanted.
 */
#ifndef MTS_READ_AHEAD_H
#define MTS_READ_AHEAD_H

#include "mongoc/mongoc.h"

/* What the streams of a client share with its cursors */
typedef struct MtsReadAhead
{
	bool is_wanted; /* the cursor that libmongoc reads is to be read ahead */
	int lost; /* answers that were lost with their streams: a cursor that was
			   * open then may continue elsewhere, without their documents */
	mongoc_stream_t *coming; /* an answer is coming on this one; or NULL */
} MtsReadAhead;

extern mongoc_stream_t *mts_read_ahead_stream(mongoc_stream_t *inner,
											  MtsReadAhead *ahead);
extern void mts_read_ahead_receive(MtsReadAhead *ahead);

#endif /* MTS_READ_AHEAD_H */
