/*
 * to_bson.h
 *		Conversion of Datums to BSON values, exactly or not at all.
 */
#ifndef MTS_TO_BSON_H
#define MTS_TO_BSON_H

#include "postgres.h"
#include "fmgr.h"

#include "convert/from_bson.h"
#include "table/table.h"

/* How to convert one column; made once for each statement */
typedef struct MtsToBson
{
	const MtsTable *table;
	const MtsColumn *column;
	Oid typid;        /* the base type of a domain */
	bson_type_t type; /* to convert to; EOD if that depends on the value */
	bool is_plain;    /* no setting changes its values, and none is lost */
	FmgrInfo output;  /* of the type, for text */
	FmgrInfo equal;   /* of the type, to check that nothing was lost; unset if
					   * the type has none */
	MtsFromBson *decoder;    /* converts back, for that check */
	struct MtsToBson *items; /* of the elements of an array, else NULL */
} MtsToBson;

extern MtsToBson *mts_to_bson_prepare(const MtsTable *table, int column);
extern void mts_to_bson_value(MtsToBson *encoder, Datum datum, bool isnull,
							  bson_value_t *value);
extern MtsTime mts_to_bson_instant(const MtsTable *table, const char *column,
								   Oid typid, Datum datum);
extern int mts_to_bson_push_settings(void);
extern void mts_to_bson_pop_settings(int level);

#endif /* MTS_TO_BSON_H */
