/*
 * fdw_private.h
 *		The items of a plan's fdw_private, which the executor reads.
 */
#ifndef MTS_FDW_PRIVATE_H
#define MTS_FDW_PRIVATE_H

/*
 * ForeignScan.fdw_private.  The pushed clauses are in fdw_exprs, which lets
 * the executor evaluate their parameters.
 */
enum MtsPrivate
{
	MTS_PRIVATE_NEEDED, /* integer list: the attributes that the query needs */
	MTS_PRIVATE_IS_NARROW, /* boolean: see valueless.c */
	MTS_PRIVATE_NATIVE,    /* list: see native.c; NIL unless native buckets are
						 * read */
	MTS_PRIVATE_HORIZON,   /* integer: see horizon.h */
	MTS_PRIVATE_ORDER,     /* list: see sort_order.c; NIL without an order */
	MTS_PRIVATE_INITIAL_BATCH_SIZE, /* integer: 0 for fetch_size */
	MTS_PRIVATE_SET_TAG, /* boolean, of a direct modification: canSetTag */

	/* of a scan that aggregates, in place of the order: see MtsAggPrivate */
	MTS_PRIVATE_AGG = MTS_PRIVATE_ORDER
};

/*
 * A scan that aggregates.  The planner does not renumber the Vars of its table
 * in fdw_private, so they keep the number MTS_AGG_VARNO.
 */
enum MtsAggPrivate
{
	MTS_AGG_VARNO,   /* integer */
	MTS_AGG_CLAUSES, /* the pushed clauses */
	MTS_AGG_LOCAL,   /* the clauses that are evaluated here, in order */
	MTS_AGG_OUTPUT,  /* the scan's columns: grouping keys and Aggrefs */
	MTS_AGG_COUNTS,  /* boolean: these are numbers of rows, without groups */
	MTS_AGG_ROLLUPS  /* OID list: roll-ups that are read, the coarsest first */
};

#endif /* MTS_FDW_PRIVATE_H */
