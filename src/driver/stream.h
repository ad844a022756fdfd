/*
 * stream.h
 *		A connection to a host whose waits end for interrupts and deadlines.
 */
#ifndef MTS_STREAM_H
#define MTS_STREAM_H

#include "mongoc/mongoc.h"

extern mongoc_stream_t *mts_stream_open(const mongoc_uri_t *uri,
										const mongoc_host_list_t *host,
										void *exchange, bson_error_t *error);
extern void mts_stream_shut(mongoc_stream_t *root);
extern void mts_stream_wait(mongoc_stream_t *const *roots, size_t n,
							int64_t expiry);
extern bool mts_stream_is_abandoned(const mongoc_stream_t *root);

#endif /* MTS_STREAM_H */
