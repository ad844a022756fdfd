/*
 * shippable.h
 *		Conditions that MongoDB or the unfolding decides.
 *
 * A test is what the planner makes of a clause (pushdown.c); a condition is
 * what the executor makes of a test when its right-hand sides have values
 * (evaluate.c).
 */
#ifndef MTS_SHIPPABLE_H
#define MTS_SHIPPABLE_H

#include "postgres.h"
#include "nodes/execnodes.h"
#include "nodes/primnodes.h"

#include "core/query/filter.h"
#include "table/table.h"

typedef enum MtsTestKind
{
	MTS_TEST_AND,
	MTS_TEST_OR,
	MTS_TEST_POINTS, /* the points' time and a value */
	MTS_TEST_TIMES,  /* a key that is a time and a value */
	MTS_TEST_FIELD,  /* another key and a value */
	MTS_TEST_PREFIX, /* a text key begins with a text */
	MTS_TEST_NULL,
	MTS_TEST_NOT_NULL
} MtsTestKind;

/* A clause that goes down; constant once it is made, but for state */
typedef struct MtsTest
{
	MtsTestKind kind;
	bool exact;       /* is nothing left to be checked again? */
	bool only_points; /* is it on nothing but the time of the points? */
	List *args;       /* of AND and OR: MtsTest */
	int column;       /* of the layout */
	int strategy;     /* B-tree's, or ROWCOMPARE_NE */
	Oid left_type;    /* what is compared with it, of times */
	Oid right_type;   /* of the value, or of the array's elements */
	bool is_array;    /* any of them (=), or all (<>) */
	bool is_epoch;    /* compared are seconds since 1970, a numeric */
	int64 slack;      /* of times that aren't exact: microseconds */
	Expr *right;
	ExprState *state;
} MtsTest;

extern MtsTest *mts_shippable_clause(const MtsTable *table, Index varno,
									 Expr *clause);
extern Var *mts_shippable_var(Expr *expr, Index varno);
extern bool mts_shippable_is_key(const MtsTable *table, int column);
extern bool mts_shippable_collation_fits(Oid collation, int strategy);
extern bool mts_shippable_is_fraction(Oid typid);

/* evaluate.c */
extern void mts_condition_init(MtsTest *test, PlanState *parent);
extern MtsCond *mts_condition_test(const MtsTable *table, const MtsTest *test,
								   ExprContext *econtext);

#endif /* MTS_SHIPPABLE_H */
