/*
 * qual.h
 *		Clauses that MongoDB or the unfolding decides.
 */
#ifndef MTS_QUAL_H
#define MTS_QUAL_H

#include "postgres.h"
#include "nodes/execnodes.h"
#include "nodes/primnodes.h"

#include "core/query/filter.h"
#include "table/table.h"

typedef enum MtsQualKind
{
	MTS_QUAL_AND,
	MTS_QUAL_OR,
	MTS_QUAL_TIME,     /* compares the points' time with a value */
	MTS_QUAL_KEY_TIME, /* compares a key that is a time */
	MTS_QUAL_KEY,      /* compares another key */
	MTS_QUAL_PREFIX,   /* a text key begins with a text */
	MTS_QUAL_BOUNDED,  /* compares a value whose bounds the buckets have */
	MTS_QUAL_SLOT,     /* a {column} slot has certain keys */
	MTS_QUAL_NULL,
	MTS_QUAL_NOT_NULL,
	MTS_QUAL_VALUE /* is a boolean value, which has no column */
} MtsQualKind;

/* A clause in the form that is evaluated to a filter; only state changes */
typedef struct MtsQual
{
	MtsQualKind kind;
	bool exact;       /* it matches only what the clause matches */
	bool time_only;   /* it depends on the points' time alone */
	List *args;       /* of AND and OR: MtsQual */
	int column;       /* of the layout */
	int strategy;     /* B-tree's, or ROWCOMPARE_NE */
	Oid left_type;    /* of the expression on the column */
	Oid right_type;   /* of the value, or of the array's elements */
	bool is_array;    /* any of the elements (=), or all of them (<>) */
	bool is_epoch;    /* the left side is extract(epoch FROM time) */
	int64 tolerance;  /* of a time qual that is not exact: microseconds by
					   * which the filter's range is wider */
	Expr *right;      /* the right-hand side */
	ExprState *state; /* of right, once it is initialized */
} MtsQual;

extern bool mts_enable_preaggregates;

extern void mts_qual_init(MtsQual *qual, PlanState *parent);
extern MtsFilter *mts_qual_evaluate(const MtsTable *table, const MtsQual *qual,
									ExprContext *econtext);

#endif /* MTS_QUAL_H */
