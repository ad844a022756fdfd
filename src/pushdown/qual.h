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
#include "pushdown/inverse.h"
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

/* What the right-hand side of a comparison is */
typedef enum MtsQualRight
{
	MTS_RIGHT_VALUE,
	MTS_RIGHT_ARRAY, /* any of its elements (=), or all of them (<>) */
	MTS_RIGHT_RANGE, /* a range that contains the left side (=) or does not */
	MTS_RIGHT_PERIOD /* an array of the two ends of a period, in any order,
					  * that overlaps the left side (=) or does not */
} MtsQualRight;

/* A clause in the form that is evaluated to a filter; only state changes */
typedef struct MtsQual
{
	MtsQualKind kind;
	bool exact;          /* it matches only what the clause matches */
	bool time_only;      /* it depends on the points' time alone */
	List *args;          /* of AND and OR: MtsQual */
	int column;          /* of the layout */
	int strategy;        /* B-tree's, or ROWCOMPARE_NE */
	Oid left_type;       /* of the column */
	Oid right_type;      /* of the value, or of the elements and bounds */
	int64 tolerance;     /* microseconds by which the range of a key that is a
					   * time is wider */
	MtsInverse *inverse; /* of an expression of the points' time; NULL if the
						  * column itself is compared as an instant */
	MtsQualRight form;
	Expr *right;      /* the right-hand side */
	ExprState *state; /* of right, once it is initialized */
} MtsQual;

extern bool mts_enable_preaggregates;

extern void mts_qual_init(MtsQual *qual, PlanState *parent);
extern MtsFilter *mts_qual_evaluate(const MtsTable *table, const MtsQual *qual,
									ExprContext *econtext);

#endif /* MTS_QUAL_H */
