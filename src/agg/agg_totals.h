/*
 * agg_totals.h
 *		Totals of points: what aggregates are computed from without the points.
 */
#ifndef MTS_AGG_TOTALS_H
#define MTS_AGG_TOTALS_H

#include "postgres.h"
#include "utils/array.h"

#include "agg/agg_spec.h"
#include "core/time/clock.h"

/* The totals of a column that are required, as bits */
typedef enum MtsTotal
{
	MTS_TOTAL_COUNT = 1,
	MTS_TOTAL_SUM = 2,
	MTS_TOTAL_MIN = 4,
	MTS_TOTAL_MAX = 8
} MtsTotal;

/* The totals of the values of a column */
typedef struct MtsColumnTotals
{
	bool is_empty; /* there are no values; then only the count is set */
	int64 count;
	Datum sum; /* double precision or numeric of such a column, otherwise
				* bigint */
	Datum min; /* values of the column */
	Datum max;
} MtsColumnTotals;

/*
 * The totals of points that are of one series, and in an interval of time.  A
 * total that is not required is not set.
 */
typedef struct MtsTotals
{
	MtsTime earliest; /* of the times of the points */
	MtsTime latest;
	int64 npoints;
	MtsColumnTotals *columns; /* by column of the layout */
} MtsTotals;

/* How a transition value is made of totals */
typedef enum MtsTotalsForm
{
	MTS_FORM_POINTS,        /* bigint: the number of points */
	MTS_FORM_COUNT,         /* bigint: the number of values */
	MTS_FORM_SUM,           /* bigint or double precision: the sum */
	MTS_FORM_COUNT_AND_SUM, /* an array of these: {count, sum, ..} */
	MTS_FORM_MIN,           /* the value of the column */
	MTS_FORM_MAX,
	MTS_FORM_INTERNAL_SUM,     /* internal; made by the transition function */
	MTS_FORM_INTERNAL_AVERAGE, /* internal, with the number of values */
} MtsTotalsForm;

/* What an aggregate requires of totals */
typedef struct MtsRequired
{
	MtsTotalsForm form;
	int column;           /* of the layout; 0 for MTS_FORM_POINTS */
	int totals;           /* of the column: bits of MtsTotal */
	bool is_float8;       /* the column is double precision */
	ArrayType *array;     /* of FORM_COUNT_AND_SUM; overwritten by each use */
	NullableDatum *zeros; /* of FORM_INTERNAL_AVERAGE: the transition values
						   * after 2^i zeros, by i */
} MtsRequired;

/* Totals of 2^MTS_TOTALS_BITS points or more cannot be used. */
#define MTS_TOTALS_BITS 40

extern bool mts_agg_totals_find(Oid aggregate, int *totals);
extern bool mts_agg_totals_require(const MtsAggSpec *spec,
								   const MtsAggregate *aggregate,
								   MtsRequired *required);
extern void mts_agg_totals_combine(const MtsAggSpec *spec,
								   const MtsRequired *required,
								   const MtsTotals *totals,
								   const bool *excludes, NullableDatum *group);

#endif /* MTS_AGG_TOTALS_H */
