/*
 * join_agg.h
 *		Aggregation of a table below joins.
 */
#ifndef MTS_JOIN_AGG_H
#define MTS_JOIN_AGG_H

#include "postgres.h"

extern bool mts_enable_join_aggregate;

extern void mts_join_agg_init(void);

#endif /* MTS_JOIN_AGG_H */
