/*
 * inverse.h
 *		The times at which a monotonic expression has certain values.
 */
#ifndef MTS_INVERSE_H
#define MTS_INVERSE_H

#include "postgres.h"
#include "nodes/primnodes.h"

#include "core/time/range.h"
#include "table/table.h"

typedef struct MtsInverse MtsInverse;

/* An end of an interval of values; an interval may lack an end */
typedef struct MtsBound
{
	Datum value;
	bool is_inclusive;
} MtsBound;

extern MtsInverse *mts_inverse_new(const MtsTable *table, Index varno,
								   Expr *expr, Oid right);
extern Oid mts_inverse_type(const MtsInverse *inverse);
extern void mts_inverse_init(MtsInverse *inverse);
extern MtsRanges mts_inverse_between(MtsInverse *inverse,
									 const MtsBound *lower,
									 const MtsBound *upper);

#endif /* MTS_INVERSE_H */
