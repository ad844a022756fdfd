/*
 * compat.h
 *		What differs between PostgreSQL 15 to 18.
 *
 * Version tests stand here and nowhere else, but for those of libbson, which
 * the core can see: core/bson.h.
 */
#ifndef MTS_COMPAT_H
#define MTS_COMPAT_H

#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_foreign_server.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
#include "optimizer/pathnode.h"
#include "parser/parsetree.h"
#include "utils/acl.h"
#include "utils/formatting.h"
#include "utils/lsyscache.h"
#include "utils/pg_locale.h"

/* libpq/libpq.h declares it, but drags in headers that packages may lack */
extern bool pq_check_connection(void);

/* PostgreSQL 16: one function for all kinds of objects */
#if PG_VERSION_NUM >= 160000
#define mts_server_aclcheck(serverid, userid) \
	object_aclcheck(ForeignServerRelationId, serverid, userid, ACL_USAGE)
#define mts_table_ownercheck(relid, userid) \
	object_ownercheck(RelationRelationId, relid, userid)
#else
#define mts_server_aclcheck(serverid, userid) \
	pg_foreign_server_aclcheck(serverid, userid, ACL_USAGE)
#define mts_table_ownercheck(relid, userid) pg_class_ownercheck(relid, userid)
#endif

/* PostgreSQL 16: a scan's base relations apart from outer joins */
#if PG_VERSION_NUM >= 160000
#define mts_scan_relids(plan) ((plan)->fs_base_relids)
#else
#define mts_scan_relids(plan) ((plan)->fs_relids)
#endif

/* PostgreSQL 17: a timeout of transactions, which is not a cancel */
#if PG_VERSION_NUM >= 170000
#include "storage/proc.h"
#define mts_transaction_timed_out \
	(TransactionTimeoutPending && TransactionTimeout > 0)
#else
#define mts_transaction_timed_out false
#endif

/* PostgreSQL 18: one more argument */
#if PG_VERSION_NUM >= 180000
#define mts_open_relation(node, rti) \
	ExecGetRangeTableRelation((node)->ss.ps.state, rti, false)
#else
#define mts_open_relation(node, rti) \
	ExecGetRangeTableRelation((node)->ss.ps.state, rti)
#endif

/* PostgreSQL 16: user checked as is in the plan, not in the range table */
#if PG_VERSION_NUM >= 160000
#define mts_scan_user(node) (((ForeignScan *) (node)->ss.ps.plan)->checkAsUser)
#else
#define mts_scan_user(node) \
	(exec_rt_fetch(bms_next_member( \
					   ((ForeignScan *) (node)->ss.ps.plan)->fs_relids, -1), \
				   (node)->ss.ps.state) \
		 ->checkAsUser)
#endif

/* PostgreSQL 16: the same of a relation that is being planned */
#if PG_VERSION_NUM >= 160000
#define mts_plan_user(root, rel) ((rel)->userid)
#else
#define mts_plan_user(root, rel) \
	(planner_rt_fetch((rel)->relid, root)->checkAsUser)
#endif

/* PostgreSQL 16: what is left of a clause when redundant terms are gone */
#if PG_VERSION_NUM >= 160000
#define mts_group_clause(root) ((root)->processed_groupClause)
#define mts_distinct_clause(root) ((root)->processed_distinctClause)
#else
#define mts_group_clause(root) ((root)->parse->groupClause)
#define mts_distinct_clause(root) ((root)->parse->distinctClause)
#endif

/* PostgreSQL 18: entries of hash tables are opaque */
#if PG_VERSION_NUM >= 180000
#define mts_build_hash_table(desc, n, numbers, equalities, hashes, \
							 collations, size, extra, metadata, tuples, temp) \
	BuildTupleHashTable(NULL, desc, NULL, n, numbers, equalities, hashes, \
						collations, size, extra, metadata, tuples, temp, \
						false)
#define mts_hash_additional(table, entry) \
	TupleHashEntryGetAdditional(table, entry)
#define mts_hash_make_additional(entry, memory, size) ((void) 0)
#define mts_hash_tuple(entry) TupleHashEntryGetTuple(entry)
#else
#define mts_build_hash_table(desc, n, numbers, equalities, hashes, \
							 collations, size, extra, metadata, tuples, temp) \
	BuildTupleHashTableExt(NULL, desc, n, numbers, equalities, hashes, \
						   collations, size, extra, metadata, tuples, temp, \
						   false)
#define mts_hash_additional(table, entry) ((entry)->additional)
#define mts_hash_make_additional(entry, memory, size) \
	((entry)->additional = MemoryContextAlloc(memory, size))
#define mts_hash_tuple(entry) ((entry)->firstTuple)
#endif

/* PostgreSQL 17 and 18: more arguments */
#if PG_VERSION_NUM >= 180000
#define mts_create_upper_path(root, rel, target, rows, startup, total, \
							  private) \
	create_foreign_upper_path(root, rel, target, rows, 0, startup, total, \
							  NIL, NULL, NIL, private)
#elif PG_VERSION_NUM >= 170000
#define mts_create_upper_path(root, rel, target, rows, startup, total, \
							  private) \
	create_foreign_upper_path(root, rel, target, rows, startup, total, NIL, \
							  NULL, NIL, private)
#else
#define mts_create_upper_path(root, rel, target, rows, startup, total, \
							  private) \
	create_foreign_upper_path(root, rel, target, rows, startup, total, NIL, \
							  NULL, private)
#endif

/* PostgreSQL 16: the same of a relation that is written */
#if PG_VERSION_NUM >= 160000
#define mts_result_user(rinfo, estate) \
	ExecGetResultRelCheckAsUser(rinfo, estate)
#else
static inline Oid
mts_result_user(ResultRelInfo *rinfo, EState *estate)
{
	Oid userid = InvalidOid;

	/* a partition that rows are routed to has its root's */
	if (rinfo->ri_RangeTableIndex == 0 && rinfo->ri_RootResultRelInfo)
		rinfo = rinfo->ri_RootResultRelInfo;
	if (rinfo->ri_RangeTableIndex != 0)
		userid = exec_rt_fetch(rinfo->ri_RangeTableIndex, estate)->checkAsUser;
	return OidIsValid(userid) ? userid : GetUserId();
}
#endif

/* PostgreSQL 16: soft errors of datetime parsing */
#if PG_VERSION_NUM >= 160000
#include "nodes/miscnodes.h"

static inline bool
mts_parse_datetime(text *value, text *pattern, Datum *result, Oid *typid)
{
	ErrorSaveContext escontext = {T_ErrorSaveContext};
	int32 typmod;
	int tz;

	*result = parse_datetime(value, pattern, C_COLLATION_OID, false, typid,
							 &typmod, &tz, (Node *) &escontext);
	return !escontext.error_occurred;
}
#else
static inline bool
mts_parse_datetime(text *value, text *pattern, Datum *result, Oid *typid)
{
	bool failed = false;
	int32 typmod;
	int tz;

	*result = parse_datetime(value, pattern, C_COLLATION_OID, false, typid,
							 &typmod, &tz, &failed);
	return !failed;
}
#endif

/* PostgreSQL 16: soft errors of input functions */
#if PG_VERSION_NUM >= 160000
#define MTS_HAS_SOFT_INPUT true

static inline bool
mts_input_softly(FmgrInfo *input, char *text, Oid ioparam, int32 typmod,
				 Datum *value, char **problem)
{
	ErrorSaveContext escontext = {T_ErrorSaveContext, .details_wanted = true};

	if (InputFunctionCallSafe(input, text, ioparam, typmod,
							  (Node *) &escontext, value))
		return true;
	*problem = escontext.error_data->message;
	return false;
}
#else
#define MTS_HAS_SOFT_INPUT false
#define mts_input_softly(input, text, ioparam, typmod, value, problem) \
	((void) (problem), false)
#endif

/* PostgreSQL 17: the leader of a parallel plan can have subtransactions */
#include "access/xact.h"
#if PG_VERSION_NUM >= 170000
#define mts_may_begin_subtransaction() true
#else
#define mts_may_begin_subtransaction() (!IsInParallelMode())
#endif

/* PostgreSQL 18: collations have no lc_collate_is_c() of their own */
#if PG_VERSION_NUM >= 180000
#define mts_collation_is_c(collid) \
	(pg_newlocale_from_collation(collid)->collate_is_c)
#else
#define mts_collation_is_c(collid) lc_collate_is_c(collid)
#endif

/* PostgreSQL 18: comparisons of rows by any ordered index */
#if PG_VERSION_NUM >= 180000
#define mts_row_is_less(row) \
	((row)->cmptype == COMPARE_LT || (row)->cmptype == COMPARE_LE)
#else
#define mts_row_is_less(row) \
	((row)->rctype == ROWCOMPARE_LT || (row)->rctype == ROWCOMPARE_LE)
#endif

/* PostgreSQL 18 no longer has a row comparison for <>. */
#if PG_VERSION_NUM >= 180000
#define ROWCOMPARE_NE 6
#endif

/* PostgreSQL 17 and 18: more arguments */
#if PG_VERSION_NUM >= 180000
#define mts_create_scan_path(root, rel, rows, startup, total, pathkeys, \
							 outer, private) \
	create_foreignscan_path(root, rel, NULL, rows, 0, startup, total, \
							pathkeys, outer, NULL, NIL, private)
#elif PG_VERSION_NUM >= 170000
#define mts_create_scan_path(root, rel, rows, startup, total, pathkeys, \
							 outer, private) \
	create_foreignscan_path(root, rel, NULL, rows, startup, total, pathkeys, \
							outer, NULL, NIL, private)
#else
#define mts_create_scan_path(root, rel, rows, startup, total, pathkeys, \
							 outer, private) \
	create_foreignscan_path(root, rel, NULL, rows, startup, total, pathkeys, \
							outer, NULL, private)
#endif

/* PostgreSQL 18: members of children stand apart */
#if PG_VERSION_NUM >= 180000
#define mts_foreach_member(em, class, rel) \
	for (EquivalenceMemberIterator it, *one = &it; one; one = NULL) \
		for (setup_eclass_member_iterator(&it, class, (rel)->relids); \
			 ((em) = eclass_member_iterator_next(&it)) != NULL;)
#else
#define mts_foreach_member(em, class, rel) \
	for (int i = 0; i < list_length((class)->ec_members) && \
					((em) = list_nth((class)->ec_members, i)) != NULL; \
		 i++)
#endif

/* PostgreSQL 18: pathkeys of any ordered index */
#if PG_VERSION_NUM >= 180000
#define mts_pathkey_descends(pathkey) ((pathkey)->pk_cmptype == COMPARE_GT)
#define mts_make_ascending(root, class) \
	make_canonical_pathkey(root, class, linitial_oid((class)->ec_opfamilies), \
						   COMPARE_LT, false)
#else
#define mts_pathkey_descends(pathkey) \
	((pathkey)->pk_strategy == BTGreaterStrategyNumber)
#define mts_make_ascending(root, class) \
	make_canonical_pathkey(root, class, linitial_oid((class)->ec_opfamilies), \
						   BTLessStrategyNumber, false)
#endif

/* PostgreSQL 16: what can't be null is a set of attributes */
#if PG_VERSION_NUM >= 160000
#include "nodes/multibitmapset.h"
#define mts_is_nonnullable(clauses, var) \
	mbms_is_member((var)->varno, \
				   (var)->varattno - FirstLowInvalidHeapAttributeNumber, \
				   find_nonnullable_vars((Node *) (clauses)))
#else
#define mts_is_nonnullable(clauses, var) \
	list_member(find_nonnullable_vars((Node *) (clauses)), var)
#endif

/* PostgreSQL 16: EXPLAIN (GENERIC_PLAN) */
#if PG_VERSION_NUM >= 160000
#define MTS_EXPLAIN_GENERIC EXEC_FLAG_EXPLAIN_GENERIC
#else
#define MTS_EXPLAIN_GENERIC 0
#endif

/* PostgreSQL 18: EXPLAIN's properties moved */
#include "commands/explain.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif

#endif /* MTS_COMPAT_H */
