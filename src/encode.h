/*
 * encode.h
 *		Datum to BSON value, exactly or not at all.
 */
#ifndef MTS_ENCODE_H
#define MTS_ENCODE_H

#include "postgres.h"
#include "fmgr.h"

#include "convert.h"
#include "table.h"

/* How to write one column; made once a statement */
typedef struct MtsEncoder
{
	const MtsTable *table;
	const MtsColumn *column;
	Oid typid;        /* the base type of a domain */
	bson_type_t type; /* what is written; EOD: what the value is */
	FmgrInfo output;  /* of the type, for text */
	FmgrInfo equal;   /* of the type, to see that nothing was lost */
	bool has_equal;
	MtsConverter *converter; /* reads what was written */
} MtsEncoder;

extern MtsEncoder *mts_encode_prepare(const MtsTable *table, int column);
/* between mts_encode_begin and mts_encode_end, but for text */
extern void mts_encode_value(MtsEncoder *encoder, Datum datum, bool isnull,
							 bson_value_t *value);
extern MtsTime mts_encode_instant(const MtsTable *table, const char *column,
								  Oid typid, Datum datum);
extern int mts_encode_begin(void);
extern void mts_encode_end(int level);

#endif /* MTS_ENCODE_H */
