/*
 * read_ahead.h
 *		A stream that asks for a cursor's next batch before it is wanted.
 */
#ifndef MTS_READ_AHEAD_H
#define MTS_READ_AHEAD_H

#include "mongoc/mongoc.h"

extern mongoc_stream_t *mts_read_ahead_stream(mongoc_stream_t *inner,
											  const bool *is_wanted);

#endif /* MTS_READ_AHEAD_H */
