/*
 * fdw_private.h
 *		What the executor finds in the fdw_private of a plan.
 */
#ifndef MTS_FDW_PRIVATE_H
#define MTS_FDW_PRIVATE_H

/*
 * ForeignScan.fdw_private.  The clauses that go down are in fdw_exprs, those
 * with right-hand sides that only the executor knows among them.
 */
enum MtsPrivate
{
	MTS_PRIVATE_NEEDED, /* integer list: attribute numbers whose
								 * values the query looks at */
	MTS_PRIVATE_ORDER,  /* list: see order.h; NIL: as they come */
	MTS_PRIVATE_AGG =
		MTS_PRIVATE_ORDER,   /* list, of a scan that aggregates: see
										   * below */
	MTS_PRIVATE_FIRST_BATCH, /* integer: buckets of the first batch; 0: as of
							  * the others */
	MTS_PRIVATE_SET_TAG      /* boolean, of a direct modify: does it count
							  * for the command's tag? */
};

/*
 * A scan that aggregates has, in place of MTS_PRIVATE_ORDER, a list of what it
 * needs of the table's relation, whose Vars are as the planner made them.
 */
enum MtsAggPrivate
{
	MTS_AGG_VARNO,   /* integer: of the relation's Vars */
	MTS_AGG_CLAUSES, /* the conditions that go down */
	MTS_AGG_LOCAL,   /* those that are evaluated for each point, in order */
	MTS_AGG_OUTPUT   /* the scan's columns: what is grouped by, and Aggrefs */
};

#endif /* MTS_FDW_PRIVATE_H */
