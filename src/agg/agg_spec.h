/*
 * agg_spec.h
 *		What a partial aggregation computes.
 */
#ifndef MTS_AGG_SPEC_H
#define MTS_AGG_SPEC_H

#include "postgres.h"
#include "nodes/execnodes.h"

#include "agg/transition.h"
#include "table/table.h"

/* An argument of an aggregate: an attribute of the row, or an expression */
typedef struct MtsArgument
{
	int attribute;    /* from 0; -1 for an expression */
	ExprState *state; /* NULL for an attribute */
} MtsArgument;

typedef struct MtsAggregate
{
	Oid oid;
	MtsTransition transition;
	int narguments;
	MtsArgument *arguments;

	/* FILTER; one of these, or NULL without it */
	ExprState *filter;        /* evaluated for each point */
	ExprState *bucket_filter; /* evaluated once for each bucket */
} MtsAggregate;

typedef struct MtsGroupKey
{
	ExprState *state;
	bool is_of_time; /* it depends on the time alone, by steps */
} MtsGroupKey;

/*
 * A specification is never changed, except for the arguments of transition
 * functions, which are set right before each call.
 */
typedef struct MtsAggSpec
{
	const MtsTable *table;
	Index varno; /* of the table in expressions */
	int time;    /* attribute of the time, from 0; or -1 */

	int ncolumns;
	int *columns; /* of the result: a key's number, or -1 - an aggregate's */
	int naggregates;
	MtsAggregate *aggregates;

	/* the grouping keys */
	int nkeys;
	MtsGroupKey *keys;
	List *key_exprs;
	List *step_exprs;    /* keys that change by steps of time in a bucket */
	bool has_point_keys; /* keys can differ between any two points */
	bool has_value_keys; /* also between points of one series */

	/* WHERE, as far as it is evaluated here */
	ExprState *bucket_filter; /* the leading conditions on bucket columns */
	ExprState *filter;        /* the others */
	List *point_clauses;      /* those of the filter */
} MtsAggSpec;

extern MtsAggSpec *mts_agg_spec_make(const MtsTable *table, List *private,
									 MemoryContext groups);

extern bool mts_agg_spec_is_of_series(const MtsAggSpec *spec, Node *expr);

#endif /* MTS_AGG_SPEC_H */
