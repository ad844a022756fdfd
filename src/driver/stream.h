/*
 * stream.h
 *		A connection to a host whose waits end for interrupts and deadlines.
 */
#ifndef MTS_STREAM_H
#define MTS_STREAM_H

#include "postgres.h"

#include "mongoc/mongoc.h"

extern mongoc_stream_t *mts_stream_open(const mongoc_uri_t *uri,
										const mongoc_host_list_t *host,
										void *wait, bson_error_t *error);

#endif /* MTS_STREAM_H */
