/*
 * join_keys.c
 *		Let a joined relation select the buckets that a scan reads.
 *
 * In SELECT d.site, avg(f.v) FROM f JOIN d ON f.device = d.id WHERE d.customer
 * = 7 GROUP BY 1, only the devices of a customer are wanted.  An InitPlan
 * returns an array of their ids, and the scan of f has the condition
 *
 *		$0 IS NULL OR f.device = ANY ($0)
 *
 * The array is NULL if the keys are more than MAX_KEYS.  The join remains: the
 * condition only saves reading buckets, so it may select too many.  Therefore
 * the InitPlan may omit conditions that cannot be copied.
 */
#include "plan/join_keys.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_class.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planmain.h"
#include "optimizer/planner.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/subselect.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/typcache.h"

#include "compat.h"
#include "plan/join_order.h"
#include "plan/plan.h"
#include "pushdown/infallible.h"

/* More keys are not sent. */
#define MAX_KEYS 2000

/* ---- Which keys --------------------------------------------------------- */

/* Tell whether an InitPlan can evaluate an expression as the query does. */
static bool
find_uncopyable(Node *node, void *context)
{
	if (node == NULL)
		return false;
	return (IsA(node, Param) && ((Param *) node)->paramkind != PARAM_EXTERN) ||
		   expression_tree_walker(node, find_uncopyable, context);
}

static bool
is_copyable(Node *expr)
{
	return !contain_volatile_functions(expr) && !contain_subplans(expr) &&
		   !find_uncopyable(expr, NULL);
}

/*
 * Turn an equality of a column of the table and an expression of other
 * relations so that the column is left; NULL if the clause is another one.
 */
static OpExpr *
orient(const RestrictInfo *rinfo, Relids table)
{
	OpExpr *op = (OpExpr *) rinfo->clause;

	if (!IsA(op, OpExpr) || !rinfo->can_join ||
		(rinfo->mergeopfamilies == NIL &&
		 !OidIsValid(rinfo->hashjoinoperator)))
		return NULL;
	if (bms_equal(rinfo->left_relids, table))
		return op;
	if (!bms_equal(rinfo->right_relids, table) ||
		!OidIsValid(get_commutator(op->opno)))
		return NULL;
	op = copyObject(op);
	CommuteOpExpr(op);
	return op;
}

/* The condition that the left side of an equality is in an array */
static Expr *
make_any(const OpExpr *op, Expr *array)
{
	ScalarArrayOpExpr *any = makeNode(ScalarArrayOpExpr);

	any->opno = op->opno;
	any->opfuncid = get_opcode(op->opno);
	any->useOr = true;
	any->inputcollid = op->inputcollid;
	any->args = list_make2(copyObject(linitial(op->args)), array);
	any->location = -1;
	return (Expr *) any;
}

/* Tell whether the scan can read only buckets with some keys. */
static bool
is_shippable(const RelOptInfo *table, const OpExpr *op)
{
	Oid type = exprType(lsecond(op->args));
	Oid array = get_array_type(type);
	MtsQual *qual;

	if (!OidIsValid(array) || get_typtype(type) == TYPTYPE_DOMAIN ||
		!OidIsValid(lookup_type_cache(type, TYPECACHE_LT_OPR)->lt_opr))
		return false;
	qual = mts_shippable_clause(
		((MtsRelInfo *) table->fdw_private)->table, table->relid,
		make_any(op,
				 (Expr *) makeNullConst(array, -1,
										exprCollation(lsecond(op->args)))));
	return qual && qual->kind == MTS_QUAL_KEY;
}

/* ---- Relations ---------------------------------------------------------- */

/*
 * Tell whether relations are tables of PostgreSQL whose rows no join but that
 * of their step makes null or hides.
 */
static bool
are_tables(PlannerInfo *root, const MtsJoinStep *step, Relids relids)
{
	ListCell *lc;
	int i = -1;

	while ((i = bms_next_member(relids, i)) >= 0)
	{
		const RangeTblEntry *rte;

		if (!bms_is_member(i, root->all_baserels))
			return false;
		rte = planner_rt_fetch(i, root);
		if (rte->rtekind != RTE_RELATION || rte->tablesample ||
			(rte->relkind != RELKIND_RELATION &&
			 rte->relkind != RELKIND_MATVIEW &&
			 rte->relkind != RELKIND_PARTITIONED_TABLE))
			return false;
	}
	foreach (lc, root->join_info_list)
	{
		const SpecialJoinInfo *join = lfirst(lc);

		if (join != step->join && (bms_overlap(relids, join->syn_righthand) ||
								   (join->jointype == JOIN_FULL &&
									bms_overlap(relids, join->syn_lefthand))))
			return false;
	}
	return true;
}

/* The step that joins an expression so that other points are removed */
static MtsJoinStep *
find_step(List *steps, Relids relids)
{
	ListCell *lc;

	foreach (lc, steps)
	{
		MtsJoinStep *step = lfirst(lc);

		if (bms_is_subset(relids, step->rel->relids) &&
			(!step->join || step->join->jointype == JOIN_SEMI))
			return step;
	}
	return NULL;
}

static List *
list_of_members(Relids relids)
{
	List *list = NIL;
	int i = -1;

	while ((i = bms_next_member(relids, i)) >= 0)
		list = lappend_int(list, i);
	return list;
}

/* The keys that an equality selects; NULL if that is not known to pay */
static MtsJoinKeys *
make_keys(PlannerInfo *root, RelOptInfo *table, List *steps, OpExpr *op)
{
	Node *key = lsecond(op->args);
	Relids relids = pull_varnos(root, key);
	MtsJoinStep *step = find_step(steps, relids);
	RelOptInfo *rel;
	MtsJoinKeys *keys;
	double wanted, all;

	if (!step || !is_copyable(key) || !mts_infallible_is(key, 0, 0) ||
		!is_shippable(table, op))
		return NULL;
	rel = step->rel;
	if (!are_tables(root, step, rel->relids))
	{
		if (bms_membership(relids) != BMS_SINGLETON ||
			!are_tables(root, step, relids))
			return NULL;
		rel = find_base_rel(root, bms_singleton_member(relids));
	}
	wanted = estimate_num_groups(root, list_make1(key), rel->rows, NULL, NULL);
	all = estimate_num_groups(root, list_make1(linitial(op->args)),
							  table->rows, NULL, NULL);
	if (wanted > MAX_KEYS || wanted >= all)
		return NULL;
	keys = palloc(sizeof(MtsJoinKeys));
	keys->plan = list_make2(op, list_of_members(rel->relids));
	keys->share = wanted / all;
	keys->cost =
		rel->cheapest_total_path->total_cost + rel->rows * cpu_tuple_cost;
	return keys;
}

/*
 * mts_join_keys_find
 *		The keys of a table that joined relations select: a List of
 *		MtsJoinKeys.
 *
 * The equalities are those by which the table's own paths look up rows.
 */
List *
mts_join_keys_find(PlannerInfo *root, RelOptInfo *table, List *steps)
{
	List *clauses = NIL;
	List *found = NIL;
	ListCell *lc;

	foreach (lc, table->ppilist)
		clauses =
			list_concat_unique_ptr(clauses, lfirst_node(ParamPathInfo, lc)
												->ppi_clauses);
	foreach (lc, clauses)
	{
		OpExpr *op = orient(lfirst(lc), table->relids);
		MtsJoinKeys *keys = op ? make_keys(root, table, steps, op) : NULL;

		if (keys)
			found = lappend(found, keys);
	}
	return found;
}

/* ---- Their InitPlan ----------------------------------------------------- */

/*
 * Add a condition if it is one of the relations alone, and can be copied.  One
 * that could fail may be protected by others that cannot.
 */
static void
add_condition(List **conditions, const RestrictInfo *rinfo, Relids relids)
{
	if (!rinfo->pseudoconstant &&
		bms_is_subset(rinfo->clause_relids, relids) &&
		bms_is_subset(rinfo->required_relids, relids) &&
		is_copyable((Node *) rinfo->clause) &&
		mts_infallible_is((Node *) rinfo->clause, 0, 0))
		*conditions = list_append_unique(*conditions, rinfo->clause);
}

/* The conditions on relations and on their joins with each other */
static List *
find_conditions(PlannerInfo *root, Relids relids)
{
	List *conditions = NIL;
	ListCell *lc, *of_class;
	int i = -1;

	while ((i = bms_next_member(relids, i)) >= 0)
	{
		const RelOptInfo *rel = find_base_rel(root, i);

		foreach (lc, rel->baserestrictinfo)
			add_condition(&conditions, lfirst(lc), relids);
		foreach (lc, rel->joininfo)
			add_condition(&conditions, lfirst(lc), relids);
	}
	foreach (of_class, root->eq_classes)
		foreach (lc, ((EquivalenceClass *) lfirst(of_class))->ec_sources)
			add_condition(&conditions, lfirst(lc), relids);
	return conditions;
}

/* The query SELECT DISTINCT key FROM relations WHERE .. AND key IS NOT NULL */
static Query *
make_keys_query(PlannerInfo *root, Expr *key, List *members)
{
	Query *query = makeNode(Query);
	NullTest *is_known = makeNode(NullTest);
	SortGroupClause *distinct = makeNode(SortGroupClause);
	TypeCacheEntry *type =
		lookup_type_cache(exprType((Node *) key), TYPECACHE_LT_OPR |
													  TYPECACHE_EQ_OPR |
													  TYPECACHE_HASH_PROC);
	TargetEntry *entry;
	List *rels = NIL;
	Relids relids = NULL;
	List *conditions;
	ListCell *lc;

	foreach (lc, members)
		relids = bms_add_member(relids, lfirst_int(lc));
	conditions = copyObject(find_conditions(root, relids));
	is_known->arg = key = copyObject(key);
	is_known->nulltesttype = IS_NOT_NULL;
	is_known->location = -1;
	conditions = lappend(conditions, is_known);
	/* the members ascend, so none has the number of one before */
	foreach (lc, members)
	{
		RangeTblRef *ref = makeNode(RangeTblRef);
		RangeTblEntry *rte =
			copyObject(planner_rt_fetch(lfirst_int(lc), root));

		mts_copy_user(query, rte, root->parse);
		query->rtable = lappend(query->rtable, rte);
		ref->rtindex = list_length(query->rtable);
		rels = lappend(rels, ref);
		ChangeVarNodes((Node *) conditions, lfirst_int(lc), ref->rtindex, 0);
	}
	entry = makeTargetEntry(copyObject(key), 1, "key", false);
	entry->ressortgroupref = distinct->tleSortGroupRef = 1;
	distinct->eqop = type->eq_opr;
	distinct->sortop = type->lt_opr;
	distinct->hashable = OidIsValid(type->hash_proc);
	query->commandType = CMD_SELECT;
	query->jointree =
		makeFromExpr(rels, (Node *) make_ands_explicit(conditions));
	query->targetList = list_make1(entry);
	query->distinctClause = list_make1(distinct);
	return query;
}

/* An aggregate of a key, or count(*) if it is NULL */
static Aggref *
make_aggregate(Oid function, Oid type, const Var *key)
{
	Aggref *aggref = makeNode(Aggref);

	aggref->aggfnoid = function;
	aggref->aggtype = type;
	aggref->aggkind = AGGKIND_NORMAL;
	aggref->aggno = aggref->aggtransno = -1;
	aggref->location = -1;
	aggref->aggstar = !key;
	if (!key)
		return aggref;
	aggref->aggcollid = aggref->inputcollid = key->varcollid;
	aggref->aggargtypes = list_make1_oid(key->vartype);
	aggref->args =
		list_make1(makeTargetEntry(copyObject((Expr *) key), 1, NULL, false));
	return aggref;
}

/*
 * The expression CASE WHEN count(*) <= MAX_KEYS
 * THEN coalesce(array_agg(key), '{}') END
 */
static Expr *
make_array(const Var *key)
{
	Oid type = get_array_type(key->vartype);
	Const *limit =
		makeConst(INT8OID, -1, InvalidOid, sizeof(int64),
				  Int64GetDatum(MAX_KEYS + 1), false, FLOAT8PASSBYVAL);
	Const *empty =
		makeConst(type, -1, key->varcollid, -1,
				  PointerGetDatum(construct_empty_array(key->vartype)), false,
				  false);
	CoalesceExpr *array = makeNode(CoalesceExpr);
	CaseWhen *when = makeNode(CaseWhen);
	CaseExpr *result = makeNode(CaseExpr);

	array->coalescetype = type;
	array->coalescecollid = key->varcollid;
	array->args =
		list_make2(make_aggregate(F_ARRAY_AGG_ANYNONARRAY, type, key), empty);
	when->expr =
		make_opclause(Int8LessOperator, BOOLOID, false,
					  (Expr *) make_aggregate(F_COUNT_, INT8OID, NULL),
					  (Expr *) limit, InvalidOid, InvalidOid);
	set_opfuncid((OpExpr *) when->expr);
	when->result = (Expr *) array;
	result->casetype = type;
	result->casecollid = key->varcollid;
	result->args = list_make1(when);
	result->defresult = (Expr *) makeNullConst(type, -1, key->varcollid);
	return (Expr *) result;
}

/* The query of an array of the keys that relations select */
static Query *
make_array_query(PlannerInfo *root, Expr *key, List *members)
{
	Query *query = makeNode(Query);
	RangeTblEntry *rte = makeNode(RangeTblEntry);
	RangeTblRef *ref = makeNode(RangeTblRef);
	Var *var = makeVar(1, 1, exprType((Node *) key), exprTypmod((Node *) key),
					   exprCollation((Node *) key), 0);

	rte->rtekind = RTE_SUBQUERY;
	rte->subquery = make_keys_query(root, key, members);
	rte->eref = makeAlias("keys", list_make1(makeString("key")));
	rte->inFromCl = true;
	ref->rtindex = 1;
	query->commandType = CMD_SELECT;
	query->rtable = list_make1(rte);
	query->jointree = makeFromExpr(list_make1(ref), NULL);
	query->targetList =
		list_make1(makeTargetEntry(make_array(var), 1, "keys", false));
	query->hasAggs = true;
	return query;
}

/*
 * mts_join_keys_clause
 *		The condition that a key is one of those that joined relations select.
 *
 * Plans the InitPlan that finds them.
 */
Expr *
mts_join_keys_clause(PlannerInfo *root, List *plan)
{
	const OpExpr *op = linitial(plan);
	Expr *key = lsecond(op->args);
	Query *query = make_array_query(root, key, lsecond(plan));
	Param *array =
		SS_make_initplan_output_param(root,
									  get_array_type(exprType((Node *) key)),
									  -1, exprCollation((Node *) key));
	PlannerInfo *subroot = mts_plan_subquery(root, query);
	RelOptInfo *result = fetch_upper_rel(subroot, UPPERREL_FINAL, NULL);
	NullTest *is_unknown = makeNode(NullTest);

	SS_make_initplan_from_plan(root, subroot,
							   create_plan(subroot,
										   result->cheapest_total_path),
							   array);
	is_unknown->arg = (Expr *) array;
	is_unknown->nulltesttype = IS_NULL;
	is_unknown->location = -1;
	return makeBoolExpr(OR_EXPR,
						list_make2(is_unknown,
								   make_any(op, copyObject((Expr *) array))),
						-1);
}
