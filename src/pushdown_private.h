/*
 * pushdown_private.h
 *		What pushdown.c finds and evaluate.c computes: tests on columns.
 */
#ifndef MTS_PUSHDOWN_PRIVATE_H
#define MTS_PUSHDOWN_PRIVATE_H

#include "pushdown.h"

typedef enum MtsTestKind
{
	MTS_TEST_AND,
	MTS_TEST_OR,
	MTS_TEST_POINTS,			/* the points' time and a value */
	MTS_TEST_TIMES,				/* a key that is a time and a value */
	MTS_TEST_FIELD,				/* another key and a value */
	MTS_TEST_PREFIX,			/* a text key begins with a text */
	MTS_TEST_NULL,
	MTS_TEST_NOT_NULL
} MtsTestKind;

struct MtsTest
{
	MtsTestKind kind;
	bool		exact;
	List	   *args;			/* of AND and OR: MtsTest */
	int			column;			/* of the layout */
	int			strategy;		/* B-tree's, or ROWCOMPARE_NE */
	Oid			left_type;		/* what is compared with it, of times */
	Oid			right_type;		/* of the value, or of the array's elements */
	bool		is_array;		/* any of them (=), or all (<>) */
	Expr	   *right;
	ExprState  *state;
};

#endif							/* MTS_PUSHDOWN_PRIVATE_H */
