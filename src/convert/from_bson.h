/*
 * from_bson.h
 *		BSON value to Datum, exactly or not at all.
 */
#ifndef MTS_FROM_BSON_H
#define MTS_FROM_BSON_H

#include "postgres.h"
#include "fmgr.h"

#include "core/bucket/unfold.h"
#include "table/table.h"

/* How to fill one column; made once a scan */
typedef struct MtsFromBson
{
	const MtsColumn *column;
	const MtsAttribute *attribute;
	const MtsTable *table;
	bool is_key;    /* only the key's BSON type will do */
	FmgrInfo input; /* the type's input function, for text */
	Oid ioparam;
	FmgrInfo instant_input; /* of timestamptz and timestamp, for times */
	FmgrInfo local_input;
	struct MtsFromBson *base; /* of a domain, to its base type */
} MtsFromBson;

extern MtsFromBson *mts_from_bson_prepare(const MtsTable *table, int column);
extern bool mts_from_bson_element(MtsFromBson *converter,
								  const MtsElement *element, Datum *value,
								  bool *isnull, MtsError *error);
extern bool mts_from_bson_time(const MtsFromBson *converter, MtsTime t,
							   Datum *value, MtsError *error);
extern bool mts_from_bson_slot(MtsFromBson *converter, const MtsSlotKey *key,
							   Datum *value, MtsError *error);

#endif /* MTS_FROM_BSON_H */
