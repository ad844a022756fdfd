/*
 * fdw_modify.h
 *		The callbacks of INSERT, COPY, UPDATE, DELETE and TRUNCATE.
 */
#ifndef MTS_FDW_MODIFY_H
#define MTS_FDW_MODIFY_H

#include "postgres.h"
#include "foreign/fdwapi.h"

#include "compat.h"

extern int mtsIsForeignRelUpdatable(Relation rel);
extern void mtsAddForeignUpdateTargets(PlannerInfo *root, Index rtindex,
									   RangeTblEntry *target_rte,
									   Relation target_relation);
extern List *mtsPlanForeignModify(PlannerInfo *root, ModifyTable *plan,
								  Index resultRelation, int subplan_index);
extern void mtsBeginForeignModify(ModifyTableState *mtstate,
								  ResultRelInfo *rinfo, List *fdw_private,
								  int subplan_index, int eflags);
extern TupleTableSlot *mtsExecForeignInsert(EState *estate,
											ResultRelInfo *rinfo,
											TupleTableSlot *slot,
											TupleTableSlot *planSlot);
extern TupleTableSlot *mtsExecForeignUpdate(EState *estate,
											ResultRelInfo *rinfo,
											TupleTableSlot *slot,
											TupleTableSlot *planSlot);
extern TupleTableSlot *mtsExecForeignDelete(EState *estate,
											ResultRelInfo *rinfo,
											TupleTableSlot *slot,
											TupleTableSlot *planSlot);
extern void mtsEndForeignModify(EState *estate, ResultRelInfo *rinfo);
extern void mtsBeginForeignInsert(ModifyTableState *mtstate,
								  ResultRelInfo *rinfo);
extern void mtsExplainForeignModify(ModifyTableState *mtstate,
									ResultRelInfo *rinfo, List *fdw_private,
									int subplan_index, ExplainState *es);
extern void mtsExecForeignTruncate(List *rels, DropBehavior behavior,
								   bool restart_seqs);
extern bool mtsPlanDirectModify(PlannerInfo *root, ModifyTable *plan,
								Index resultRelation, int subplan_index);
extern void mtsBeginDirectModify(ForeignScanState *node, int eflags);
extern TupleTableSlot *mtsIterateDirectModify(ForeignScanState *node);
extern void mtsEndDirectModify(ForeignScanState *node);
extern void mtsExplainDirectModify(ForeignScanState *node, ExplainState *es);

#endif /* MTS_FDW_MODIFY_H */
