/*
 * compat.h
 *		The differences between PostgreSQL 15 to 19.
 *
 * No other file tests the version of PostgreSQL.  core/bson/bson.h tests that
 * of libbson.  "Since 16" stands for PostgreSQL 16 and later.
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
#include "storage/buffile.h"
#include "utils/acl.h"
#include "utils/formatting.h"
#include "utils/lsyscache.h"
#include "utils/pg_locale.h"

/* Before 15.2, int64_div_fast_to_numeric() is wrong for some scales. */
#if PG_VERSION_NUM < 150002
#error "PostgreSQL 15.2 or later is required"
#endif

/* Since 16, a header has what a varlena is made of. */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* Since 16, an error of a range can be soft. */
#if PG_VERSION_NUM >= 160000
#define mts_make_range(type, lower, upper) \
	make_range(type, lower, upper, false, NULL)
#else
#define mts_make_range(type, lower, upper) \
	make_range(type, lower, upper, false)
#endif

/* Since 18, a library has a name and a version. */
#if PG_VERSION_NUM >= 180000
#define MTS_MODULE_MAGIC \
	PG_MODULE_MAGIC_EXT(.name = "mongo_ts_fdw", .version = MTS_VERSION)
#else
#define MTS_MODULE_MAGIC PG_MODULE_MAGIC
#endif

/* Since 17, PostgreSQL does not name this SQLSTATE. */
#define MTS_ERRCODE_SNAPSHOT_TOO_OLD MAKE_SQLSTATE('7', '2', '0', '0', '0')

/* ---- Temporary files ---------------------------------------------------- */

/* Since 16, a read of fewer bytes than wanted is an error. */
static inline void
mts_buffile_read(BufFile *file, void *to, size_t size)
{
#if PG_VERSION_NUM >= 160000
	BufFileReadExact(file, to, size);
#else
	if (BufFileRead(file, to, size) != size)
		ereport(ERROR, (errcode_for_file_access(),
						errmsg("could not read from a temporary file: %m")));
#endif
}

/* ---- Users and privileges ----------------------------------------------- */

/* Since 16, one function serves all kinds of objects. */
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

/* The user who is checked for privileges; by default the current one */
static inline Oid
mts_user_of(Oid check_as_user)
{
	return OidIsValid(check_as_user) ? check_as_user : GetUserId();
}

/* Since 16, the user of a scan is in its plan, not the range table. */
#if PG_VERSION_NUM >= 160000
#define mts_scan_user(node) \
	mts_user_of(((ForeignScan *) (node)->ss.ps.plan)->checkAsUser)
#else
#define mts_scan_user(node) \
	mts_user_of( \
		exec_rt_fetch(bms_next_member(((ForeignScan *) (node)->ss.ps.plan) \
										  ->fs_relids, \
									  -1), \
					  (node)->ss.ps.state) \
			->checkAsUser)
#endif

/* Since 16, the user of a relation being planned is in its RelOptInfo. */
#if PG_VERSION_NUM >= 160000
#define mts_plan_user(root, rel) mts_user_of((rel)->userid)
#else
#define mts_plan_user(root, rel) \
	mts_user_of(planner_rt_fetch((rel)->relid, root)->checkAsUser)
#endif

/* Since 16, a function returns the user of a relation being written. */
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
	return mts_user_of(userid);
}
#endif

/* ---- Planning ----------------------------------------------------------- */

/* 17 adds an argument for restrictions, and 18 one for disabled nodes. */
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

/* Since 16, there are copies of these clauses without redundant terms. */
#if PG_VERSION_NUM >= 160000
#define mts_group_clause(root) ((root)->processed_groupClause)
#define mts_distinct_clause(root) ((root)->processed_distinctClause)
#else
#define mts_group_clause(root) ((root)->parse->groupClause)
#define mts_distinct_clause(root) ((root)->parse->distinctClause)
#endif

/*
 * Since 16, outer joins have relids: a Var above one has those that can make
 * it null, and a clause can have copies for several orders of outer joins.
 */
#include "optimizer/paths.h"
#if PG_VERSION_NUM >= 160000
#define mts_outer_join_relid(join) ((int) (join)->ojrelid)
#define mts_add_nulling_join(var, join) \
	((var)->varnullingrels = \
		 (join)->ojrelid ? bms_add_member(bms_copy((var)->varnullingrels), \
										  (join)->ojrelid) \
						 : (var)->varnullingrels)
#define mts_is_clone_of_other(rinfo, relids) \
	(((rinfo)->has_clone || (rinfo)->is_clone) && \
	 (!bms_is_subset((rinfo)->required_relids, relids) || \
	  bms_overlap((rinfo)->incompatible_relids, relids)))
#define mts_join_implied_equalities(root, relids, left, right, join) \
	generate_join_implied_equalities(root, relids, left, right, join)

/* False if the join is to be made after others. */
static inline bool
mts_add_outer_join(Relids *relids, const SpecialJoinInfo *join)
{
	if (!bms_is_subset(join->commute_below_l, *relids) ||
		bms_overlap(join->commute_above_r, *relids))
		return false;
	if (join->ojrelid)
		*relids = bms_add_member(*relids, join->ojrelid);
	return true;
}
#else
#define mts_outer_join_relid(join) 0
#define mts_add_nulling_join(var, join) ((void) (var), (void) (join))
#define mts_is_clone_of_other(rinfo, relids) ((void) (relids), false)
#define mts_join_implied_equalities(root, relids, left, right, join) \
	generate_join_implied_equalities(root, relids, left, right)
#define mts_add_outer_join(relids, join) true
#endif

/*
 * Let a query made by the planner read a table as another query does, which
 * has checked the privileges.  Since 16, these are apart from the entry.
 */
#if PG_VERSION_NUM >= 160000
#include "parser/parse_relation.h"

static inline void
mts_copy_user(Query *query, RangeTblEntry *rte, const Query *from)
{
	Oid userid = getRTEPermissionInfo(from->rteperminfos, rte)->checkAsUser;

	rte->perminfoindex = 0;
	addRTEPermissionInfo(&query->rteperminfos, rte)->checkAsUser = userid;
}
#else
#define mts_copy_user(query, rte, from) ((rte)->requiredPerms = 0)
#endif

/* 17 adds an argument for set operations, and 19 a name for EXPLAIN. */
#include "optimizer/planner.h"
#if PG_VERSION_NUM >= 190000
#define mts_plan_subquery(root, query) \
	subquery_planner((root)->glob, query, \
					 choose_plan_name((root)->glob, "keys", true), root, \
					 NULL, false, 0, NULL)
#elif PG_VERSION_NUM >= 170000
#define mts_plan_subquery(root, query) \
	subquery_planner((root)->glob, query, root, false, 0, NULL)
#else
#define mts_plan_subquery(root, query) \
	subquery_planner((root)->glob, query, root, false, 0)
#endif

/* Since 17, the planner's statistics tell the length of an array. */
#if PG_VERSION_NUM >= 170000
#define mts_array_length(root, expr) estimate_array_length(root, expr)
#else
#define mts_array_length(root, expr) estimate_array_length(expr)
#endif

/* Since 19, the members of an Append are in one argument. */
#if PG_VERSION_NUM >= 190000
#define mts_create_append_path(root, rel, members) \
	create_append_path(root, rel, (AppendPathInput){.subpaths = (members)}, \
					   NIL, NULL, 0, false, -1)
#else
#define mts_create_append_path(root, rel, members) \
	create_append_path(root, rel, members, NIL, NIL, NULL, 0, false, -1)
#endif

/* 19 renames the path that removes repeated rows from sorted ones. */
#if PG_VERSION_NUM < 190000
#define create_unique_path create_upper_unique_path
#endif

/* Since 18, RETURNING can show the row as it was. */
#if PG_VERSION_NUM >= 180000
#define mts_is_old_value(var) ((var)->varreturningtype == VAR_RETURNING_OLD)
#else
#define mts_is_old_value(var) ((void) (var), false)
#endif

/* Since 18, an iterator also finds the members of child relations. */
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

/* Since 18, pathkeys have comparison types instead of strategies. */
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

/* Since 18, a sort clause says by itself whether it descends. */
#if PG_VERSION_NUM >= 180000
#define mts_set_descending(clause, descends) \
	((clause)->reverse_sort = (descends))
#else
#define mts_set_descending(clause, descends) ((void) 0)
#endif

/* Since 18, row comparisons have comparison types. */
#if PG_VERSION_NUM >= 180000
#define mts_row_is_less(row) \
	((row)->cmptype == COMPARE_LT || (row)->cmptype == COMPARE_LE)
#else
#define mts_row_is_less(row) \
	((row)->rctype == ROWCOMPARE_LT || (row)->rctype == ROWCOMPARE_LE)
#endif

/* 18 has no row comparison for <>. */
#if PG_VERSION_NUM >= 180000
#define ROWCOMPARE_NE 6
#endif

/* Since 16, the variables that cannot be null are bitmap sets. */
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

/* 18 has no lc_collate_is_c(). */
#if PG_VERSION_NUM >= 180000
#define mts_collation_is_c(collid) \
	(pg_newlocale_from_collation(collid)->collate_is_c)
#else
#define mts_collation_is_c(collid) lc_collate_is_c(collid)
#endif

/* ---- Execution ---------------------------------------------------------- */

/* Since 16, the base relations of a scan are apart from outer joins. */
#if PG_VERSION_NUM >= 160000
#define mts_scan_relids(plan) ((plan)->fs_base_relids)
#else
#define mts_scan_relids(plan) ((plan)->fs_relids)
#endif

/* 18 adds an argument for result relations. */
#if PG_VERSION_NUM >= 180000
#define mts_open_relation(node, rti) \
	ExecGetRangeTableRelation((node)->ss.ps.state, rti, false)
#else
#define mts_open_relation(node, rti) \
	ExecGetRangeTableRelation((node)->ss.ps.state, rti)
#endif

/* Since 18, the entries of hash tables are opaque. */
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

/* Since 17, the leader of a parallel plan can begin subtransactions. */
#include "access/xact.h"
#if PG_VERSION_NUM >= 170000
#define mts_may_begin_subtransaction() true
#else
#define mts_may_begin_subtransaction() (!IsInParallelMode())
#endif

/* ---- Conversion --------------------------------------------------------- */

/* Since 16, parsing of datetimes reports errors softly by a node. */
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

/*
 * Times that timestamps cannot store are converted to an infinity.  Since 19,
 * these functions report that softly by a node.
 */
#if PG_VERSION_NUM >= 190000
#define mts_convert_time(name, value) \
	name##_safe(value, (Node *) &(ErrorSaveContext){T_ErrorSaveContext})
#else
#define mts_convert_time(name, value) name##_opt_overflow(value, &(int){0})
#endif

/* Since 16, input functions can report errors softly. */
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

/* ---- Interrupts --------------------------------------------------------- */

/* Since 17, transactions have a timeout, which is not a cancel. */
#if PG_VERSION_NUM >= 170000
#include "storage/proc.h"
#define mts_transaction_timed_out \
	(TransactionTimeoutPending && TransactionTimeout > 0)
#else
#define mts_transaction_timed_out false
#endif

/* Flags of interrupts that 15 does not have */
#if PG_VERSION_NUM >= 170000
#include "replication/logicalworker.h"
#define mts_other_interrupt_pending \
	(TransactionTimeoutPending || ParallelApplyMessagePending)
#elif PG_VERSION_NUM >= 160000
#include "replication/logicalworker.h"
#define mts_other_interrupt_pending ParallelApplyMessagePending
#else
#define mts_other_interrupt_pending false
#endif

/* libpq/libpq.h declares it, but includes headers that packages may lack. */
extern bool pq_check_connection(void);

/* ---- Background workers ------------------------------------------------- */

/* Since 17, a background worker can be connected as a role without LOGIN. */
#include "postmaster/bgworker.h"
#if PG_VERSION_NUM >= 170000
#define MTS_WORKER_FLAGS BGWORKER_BYPASS_ROLELOGINCHECK
#else
#define MTS_WORKER_FLAGS 0
#endif

/* ---- EXPLAIN ------------------------------------------------------------ */

/* 16 adds EXPLAIN (GENERIC_PLAN). */
#if PG_VERSION_NUM >= 160000
#define MTS_EXPLAIN_GENERIC EXEC_FLAG_EXPLAIN_GENERIC
#else
#define MTS_EXPLAIN_GENERIC 0
#endif

/* 18 moves the functions of properties. */
#include "commands/explain.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif

#endif /* MTS_COMPAT_H */
