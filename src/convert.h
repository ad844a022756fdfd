/*
 * convert.h
 *		BSON value to Datum, exactly or not at all.
 */
#ifndef MTS_CONVERT_H
#define MTS_CONVERT_H

#include "postgres.h"
#include "fmgr.h"

#include "core/unfold.h"
#include "table.h"

/* How to fill one column; made once a scan */
typedef struct MtsConverter
{
	const MtsColumn *column;
	const MtsAttribute *attribute;
	const MtsTable *table;
	bool is_key;    /* only the key's BSON type will do */
	FmgrInfo input; /* the type's input function, for text */
	Oid ioparam;
	FmgrInfo instant_input; /* of timestamptz and timestamp, for times */
	FmgrInfo local_input;
	struct MtsConverter *base; /* of a domain, to its base type */
} MtsConverter;

extern MtsConverter *mts_convert_prepare(const MtsTable *table, int column);
extern bool mts_convert_element(MtsConverter *converter,
								const MtsElement *element, Datum *value,
								bool *isnull, MtsError *error);
extern bool mts_convert_time(const MtsConverter *converter, MtsTime t,
							 Datum *value, MtsError *error);
extern bool mts_convert_slot(MtsConverter *converter, const MtsSlotKey *key,
							 Datum *value, MtsError *error);

#endif /* MTS_CONVERT_H */
