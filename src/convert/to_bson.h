/*
 * to_bson.h
 *		Datum to BSON value, exactly or not at all.
 */
#ifndef MTS_TO_BSON_H
#define MTS_TO_BSON_H

#include "postgres.h"
#include "fmgr.h"

#include "convert/from_bson.h"
#include "table/table.h"

/* How to write one column; made once a statement */
typedef struct MtsToBson
{
	const MtsTable *table;
	const MtsColumn *column;
	Oid typid;        /* the base type of a domain */
	bson_type_t type; /* what is written; EOD: what the value is */
	FmgrInfo output;  /* of the type, for text */
	FmgrInfo equal;   /* of the type, to see that nothing was lost */
	bool has_equal;
	MtsFromBson *converter; /* reads what was written */
} MtsToBson;

extern MtsToBson *mts_to_bson_prepare(const MtsTable *table, int column);
/* between mts_to_bson_begin and mts_to_bson_end, but for text */
extern void mts_to_bson_value(MtsToBson *encoder, Datum datum, bool isnull,
							  bson_value_t *value);
extern MtsTime mts_to_bson_instant(const MtsTable *table, const char *column,
								   Oid typid, Datum datum);
extern int mts_to_bson_begin(void);
extern void mts_to_bson_end(int level);

#endif /* MTS_TO_BSON_H */
