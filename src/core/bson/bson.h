/*
 * bson.h
 *		The differences between libbson's versions 1.23 to 2.x.
 *
 * The core cannot include compat.h, which requires PostgreSQL.
 */
#ifndef MTS_BSON_H
#define MTS_BSON_H

#include <bson/bson.h>

/* libbson 2.3 deprecates the old name, since the caller counts the keys */
#if BSON_CHECK_VERSION(2, 3, 0)
#define bson_append_array_begin bson_append_array_unsafe_begin
#endif

#endif /* MTS_BSON_H */
