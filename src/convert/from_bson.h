/*
 * from_bson.h
 *		Conversion of BSON values to Datums, exactly or not at all.
 */
#ifndef MTS_FROM_BSON_H
#define MTS_FROM_BSON_H

#include "postgres.h"
#include "fmgr.h"

#include "core/bucket/unfold.h"
#include "table/table.h"

/* The input function of a type, which is found when a text requires it */
typedef struct MtsInput
{
	FmgrInfo function;
	Oid ioparam;
} MtsInput;

/* How to convert to one column; made once for each scan */
typedef struct MtsFromBson
{
	const MtsColumn *column;
	const MtsAttribute *attribute;
	const MtsTable *table;
	Oid typid; /* of the column, or its base type */
	int32 typmod;
	bool is_key;          /* it accepts only the key's BSON types */
	bool catches;         /* an error of the input function is not raised */
	MtsInput input;       /* of the type; for a time, of timestamptz */
	MtsInput local_input; /* of timestamp */
	struct MtsFromBson *base;  /* to the base type of a domain, else NULL */
	struct MtsFromBson *items; /* to the elements of an array, else NULL */
	int16 item_length;         /* how an array stores them */
	bool item_byval;
	char item_align;
} MtsFromBson;

extern MtsFromBson *mts_from_bson_prepare(const MtsTable *table, int column,
										  bool hides_values);
extern bool mts_from_bson_element(MtsFromBson *converter,
								  const MtsElement *element, Datum *value,
								  bool *isnull, MtsError *error);
extern bool mts_from_bson_time(const MtsFromBson *converter, MtsTime t,
							   Datum *value, MtsError *error);
extern bool mts_from_bson_slot(MtsFromBson *converter, const MtsSlotKey *key,
							   Datum *value, MtsError *error);

#endif /* MTS_FROM_BSON_H */
