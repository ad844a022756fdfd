/*
 * type.h
 *		The SQL types of columns, and the BSON types that hold their values.
 */
#ifndef MTS_TYPE_H
#define MTS_TYPE_H

#include "postgres.h"

#include "core/bson/bson.h"

/*
 * The BSON types that a key column holds.  A condition on a key means the same
 * in MongoDB as in PostgreSQL because all its values have such a type.
 */
typedef enum MtsKeyType
{
	MTS_KEY_ANY, /* any type that converts; no condition is shipped */
	MTS_KEY_IS_NUMBER,
	MTS_KEY_IS_STRING,
	MTS_KEY_IS_DATE,
	MTS_KEY_IS_BOOL,
	MTS_KEY_IS_OID,
	MTS_KEY_IS_UUID, /* binary of subtype 4, which is checked when read */
	MTS_KEY_IS_TIME, /* a time in a format other than date */
	MTS_KEY_AS_TEXT  /* any type, shown as text; only equality is shipped */
} MtsKeyType;

extern bool mts_type_is_time(Oid typid);
extern bool mts_type_is_integer(Oid typid);
extern bool mts_type_is_fraction(Oid typid);
extern bool mts_type_is_number(Oid typid);
extern bool mts_type_is_text(Oid typid);
extern bool mts_type_is_array(Oid typid);
extern bson_type_t mts_type_bson(Oid typid);
extern bson_type_t mts_type_bson_named(const char *name);
extern const char *mts_type_key_name(MtsKeyType type);
extern bson_type_t mts_type_key_bson(MtsKeyType type);
extern bool mts_type_has_extremes(Oid typid, MtsKeyType type);
extern bool mts_type_has_identical_equals(Oid typid, Oid collation);
extern bool mts_type_key_holds(MtsKeyType type, uint8_t bson_type);
extern void mts_type_append_uuids(bson_t *ops);

#endif /* MTS_TYPE_H */
