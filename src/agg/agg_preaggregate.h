/*
 * agg_preaggregate.h
 *		The pre-aggregates of a bucket, as the totals of its points.
 */
#ifndef MTS_AGG_PREAGGREGATE_H
#define MTS_AGG_PREAGGREGATE_H

#include "agg/agg_totals.h"
#include "scan/bucket.h"

/* The fields of a column that are read */
typedef struct MtsColumnFields
{
	int column;         /* of the layout */
	int totals;         /* that are required: bits of MtsTotal */
	bool is_never_null; /* each point has a value of the column */
	bool is_float8;     /* the column is double precision */
	MtsFromBson *converter;
} MtsColumnFields;

typedef struct MtsPreaggregates
{
	MtsRequired *required; /* by aggregate */
	int ncolumns;
	MtsColumnFields *columns;
	int nfields;
	const MtsField **fields; /* all that are read */
	MtsTotals totals;        /* of the last bucket */
} MtsPreaggregates;

extern MtsPreaggregates *mts_agg_preaggregate_find(const MtsAggSpec *spec,
												   const MtsBucket *bucket,
												   const char **problem);
extern const MtsTotals *
mts_agg_preaggregate_read(MtsPreaggregates *preaggregates,
						  const MtsBucket *bucket);

#endif /* MTS_AGG_PREAGGREGATE_H */
