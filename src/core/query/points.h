/*
 * points.h
 *		Expressions of the points of a bucket and of their readings.
 */
#ifndef MTS_POINTS_H
#define MTS_POINTS_H

#include "core/layout/layout.h"
#include "core/layout/slot_key.h"

/* The documents that an expression is evaluated for */
typedef enum MtsPointsOf
{
	MTS_POINTS_OF_BUCKETS,  /* an error for other documents */
	MTS_POINTS_OF_DOCUMENTS /* any ones; a value of a type that cannot hold
							 * points has none */
} MtsPointsOf;

typedef enum MtsAggregateOf
{
	MTS_SUM_OF,
	MTS_MINIMUM_OF,
	MTS_MAXIMUM_OF
} MtsAggregateOf;

extern void mts_points_collect(const MtsLayout *layout, MtsPointsOf of,
							   bson_t *set);
extern void mts_points_names(const MtsLayout *layout, bson_t *names);
extern bool mts_points_reach_column(const MtsLayout *layout,
									const MtsColumn *column);
extern void mts_points_count(const MtsLayout *layout, bson_t *parent,
							 const char *key);
extern void mts_points_readings(const MtsLayout *layout,
								const MtsColumn *column, bson_t *parent,
								const char *key);
extern void mts_points_aggregate(const MtsColumn *column, MtsAggregateOf kind,
								 bson_t *parent, const char *key);

#endif /* MTS_POINTS_H */
