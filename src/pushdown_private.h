/*
 * pushdown_private.h
 *		What pushdown.c finds and evaluate.c computes: tests on columns.
 */
#ifndef MTS_PUSHDOWN_PRIVATE_H
#define MTS_PUSHDOWN_PRIVATE_H

#include "compat.h"
#include "pushdown.h"

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

/* How far what is compared is from the column, in seconds: it is the column */
#define MTS_ITSELF (-1)

struct MtsTest
{
	MtsTestKind kind;
	bool exact;
	List *args;     /* of AND and OR: MtsTest */
	int column;     /* of the layout */
	int strategy;   /* B-tree's, or ROWCOMPARE_NE */
	Oid left_type;  /* what is compared with it, of times */
	Oid right_type; /* of the value, or of the array's elements */
	bool is_array;  /* any of them (=), or all (<>) */
	bool is_epoch;  /* compared are seconds since 1970, a numeric */
	int64 slack;    /* of times that aren't exact: microseconds */
	Expr *right;
	ExprState *state;
};

/* evaluate_time.c */
extern MtsCond *mts_evaluate_make(MtsCondKind kind);
extern int mts_evaluate_right(const MtsTest *test, ExprContext *econtext,
							  Datum **values, bool *has_null);
extern MtsCond *mts_evaluate_times(const MtsTable *table, const MtsTest *test,
								   ExprContext *econtext);

/* evaluate.c */
extern MtsCond *mts_evaluate_field_cond(const MtsTable *table, int column,
										const bson_t *ops);
extern void mts_evaluate_append_type(const MtsTable *table, int column,
									 bson_t *ops);

extern MtsCond *mts_evaluate_not_null(const MtsTable *table, int column);

/* evaluate_number.c */
extern bool mts_evaluate_is_fraction(const MtsTest *test);
extern MtsCond *mts_evaluate_fractions(const MtsTable *table,
									   const MtsTest *test, Datum *values,
									   int n);

/* comparison.c */
extern MtsTest *mts_comparison_make(MtsTestKind kind, bool exact);
extern bool mts_comparison_is_key(const MtsTable *table, int column);
extern bool mts_comparison_collation_fits(Oid collation, int strategy);
extern MtsTest *mts_comparison_test(const MtsTable *table, int column,
									int64 away, Oid left_type, Oid opno,
									Oid right_type, Oid collation, bool want);
extern MtsTest *mts_comparison_epoch(const MtsTable *table, int column,
									 Oid opno, bool want);

extern MtsTest *mts_comparison_like(const MtsTable *table, int column,
									const OpExpr *op);

#endif /* MTS_PUSHDOWN_PRIVATE_H */
