/*
 * native.h
 *		Read native time-series collections by their buckets.
 */
#ifndef MTS_NATIVE_H
#define MTS_NATIVE_H

#include "postgres.h"
#include "nodes/pg_list.h"

#include "table/known.h"
#include "table/table.h"

/* A native time-series collection, as its server describes it */
typedef struct MtsNative
{
	const char *time;     /* its timeField, in UTF-8 */
	const char *meta;     /* its metaField, empty without one */
	int64 reach;          /* of a bucket in seconds, see MtsLayout; 0 if not
						   * known */
	bool ids_are_ordered; /* see MtsLayout */
	bool has_collation;   /* it does not compare text byte by byte */
	bool is_raw;          /* its own name and rawData read its buckets */
} MtsNative;

/* Tell whether commands read a table's buckets by rawData. */
static inline bool
mts_native_is_raw(const MtsTable *table)
{
	return table->native && table->native->is_raw;
}

extern const MtsTable *mts_native_open(Relation relation, Oid userid);
extern const MtsTable *mts_native_try_open(Relation relation, Oid userid);
extern MtsNative *mts_native_describe(const MtsTable *table, Oid userid);
extern MtsKnown *mts_native_known(const MtsTable *table, Oid userid);
extern List *mts_native_to_plan(const MtsTable *table);
extern const MtsTable *mts_native_open_planned(Relation relation, Oid userid,
											   List *plan, bool is_executed);
extern void mts_native_check_change(const MtsTable *table, Oid userid,
									bool is_update);

#endif /* MTS_NATIVE_H */
