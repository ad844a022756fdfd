/*
 * core/bson.h
 *		libbson, as if all versions from 1.23 to 2.x were one.
 *
 * The core's part of compat.h, which needs PostgreSQL.
 */
#ifndef MTS_BSON_H
#define MTS_BSON_H

#include <bson/bson.h>

/* libbson 2.3: a name that warns of arrays' keys, which are ours to count */
#if BSON_CHECK_VERSION(2, 3, 0)
#define bson_append_array_begin bson_append_array_unsafe_begin
#endif

#endif /* MTS_BSON_H */
