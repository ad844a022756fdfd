/*
 * pathkeys.c
 *		Determine the orders in which a scan can return its rows.
 *
 * MongoDB sorts buckets by keys and by their time, or by the extremes of a
 * value; merge.c derives the order of points from that.  A scan is not sorted
 * by columns that MongoDB orders differently (text under a locale, keys that
 * may be NaN), except after these.
 */
#include "plan/pathkeys.h"

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "compat.h"
#include "plan/plan.h"
#include "pushdown/qual.h"
#include "pushdown/sort_order.h"

/* MongoDB refuses to sort by more fields. */
#define MAX_SORT_FIELDS 32

bool mts_enable_order_by = true;

/* The column of the relation in an equivalence class; NULL without one */
static Var *
var_of(const RelOptInfo *rel, EquivalenceClass *class)
{
	EquivalenceMember *member;

	if (class->ec_has_volatile)
		return NULL;
	mts_foreach_member(member, class, rel)
	{
		Var *var = mts_shippable_var(member->em_expr, rel->relid);

		if (var && var->varattno > 0 &&
			bms_equal(member->em_relids, rel->relids))
			return var;
	}
	return NULL;
}

/* Tell whether the time column sorts as its instants, like the buckets. */
static bool
is_sortable_time(const MtsTable *table, bool descending)
{
	int column = table->layout.time_column;
	MtsOrderField field;

	return (table->is_utc ||
			table->attributes[column].typid == TIMESTAMPTZOID) &&
		   mts_sort_order_bound_field(&table->layout, descending, &field);
}

/*
 * Tell whether a key sorts in MongoDB as in PostgreSQL.  With any_order only
 * equality must be the same.
 */
static bool
is_sortable_key(const MtsTable *table, int column, Oid collation,
				bool any_order)
{
	const MtsAttribute *attribute = &table->attributes[column];

	if (!mts_shippable_is_key(table, column))
		return false;
	switch (attribute->key_type)
	{
		case MTS_KEY_IS_NUMBER:
			return mts_type_is_integer(attribute->typid);
		case MTS_KEY_IS_STRING:
		case MTS_KEY_IS_OID:
			return mts_type_is_text(attribute->typid) &&
				   mts_shippable_collation_fits(collation,
												any_order
													? BTEqualStrategyNumber
													: BTLessStrategyNumber);
		case MTS_KEY_IS_BOOL:
			return attribute->typid == BOOLOID;
		case MTS_KEY_IS_UUID:
			return attribute->typid == UUIDOID;
		case MTS_KEY_IS_DATE:
			return table->is_utc || attribute->typid == TIMESTAMPTZOID;
		default:
			return false;
	}
}

/*
 * Tell whether nulls can come where a pathkey requires them.  MongoDB sorts
 * them lowest.  A merge can hold them back to the end, but cannot move them to
 * the beginning.  Documents without a time are asked for first if is_first:
 * MongoDB sorts by the time alone.
 */
static bool
are_nulls_in_place(const RelOptInfo *rel, const MtsTable *table,
				   const Var *var, const PathKey *pathkey, bool is_first)
{
	int column = var->varattno - 1;
	bool descending = mts_pathkey_descends(pathkey);
	const MtsRelInfo *info = rel->fdw_private;

	/* each collection of a rolling set has its own nulls */
	if ((table->rolling_name ? !descending && !pathkey->pk_nulls_first
							 : !descending || !pathkey->pk_nulls_first) ||
		table->attributes[column].not_null)
		return true;
	/* only a document that is a row can be without a time */
	if (column == table->layout.time_column &&
		(table->layout.time_kind != MTS_TIME_FLAT ||
		 (is_first && !table->rolling_name)))
		return true;
	/* other conditions are checked after the rows have been sorted */
	return mts_is_nonnullable(extract_actual_clauses(info->exact, false), var);
}

/* Tell whether MongoDB's order of buckets agrees with a pathkey. */
static bool
is_sorted_by_mongo(const MtsTable *table, const Var *var,
				   const PathKey *pathkey, bool any_order)
{
	int column = var->varattno - 1;
	const MtsLayout *layout = &table->layout;

	if (pathkey->pk_opfamily !=
		lookup_type_cache(table->attributes[column].typid,
						  TYPECACHE_BTREE_OPFAMILY)
			->btree_opf)
		return false;
	if (column == layout->time_column)
		return is_sortable_time(table, mts_pathkey_descends(pathkey));
	/* a rolling set is read one collection after the other, by time */
	return !table->rolling_name &&
		   is_sortable_key(table, column, pathkey->pk_eclass->ec_collation,
						   any_order);
}

/*
 * Tell whether the extremes of a column's values sort the buckets, so that no
 * bucket has a value before the extreme of an earlier one.
 *
 * NaN is PostgreSQL's greatest number and MongoDB's least, so only a minimum
 * shows that a bucket has none.  A numeric column is not sorted: rounding to
 * the shortest decimal can exchange a double and a decimal.
 */
static bool
is_sorted_by_extremes(const MtsTable *table, const Var *var,
					  const PathKey *pathkey)
{
	const MtsColumn *column = &table->layout.columns[var->varattno - 1];
	const MtsAttribute *attribute = &table->attributes[var->varattno - 1];
	TypeCacheEntry *type =
		lookup_type_cache(attribute->typid, TYPECACHE_BTREE_OPFAMILY);
	bool descending = mts_pathkey_descends(pathkey);

	return mts_enable_preaggregates && !table->rolling_name &&
		   column->role == MTS_ROLE_VALUE &&
		   mts_shippable_is_bounded(table, var->varattno - 1) &&
		   (descending ? column->max : column->min).is_set &&
		   (!descending || !column->may_be_nan || column->min.is_set) &&
		   (attribute->key_type == MTS_KEY_IS_DATE
				? table->is_utc || attribute->typid == TIMESTAMPTZOID
				: attribute->key_type == MTS_KEY_IS_NUMBER) &&
		   get_typbyval(attribute->typid) &&
		   pathkey->pk_opfamily == type->btree_opf;
}

/*
 * Tell whether nulls of a value can come where a pathkey requires them; a
 * merge returns them last, unless the column is declared NOT NULL.  The scan
 * may check after that that the value is not null.
 */
static bool
are_null_values_in_place(const RelOptInfo *rel, const MtsTable *table,
						 const Var *var, const PathKey *pathkey)
{
	return !pathkey->pk_nulls_first ||
		   table->attributes[var->varattno - 1].not_null ||
		   mts_is_nonnullable(extract_actual_clauses(rel->baserestrictinfo,
													 false),
							  var);
}

/* Append a key to an order in the plan's form; false if its type has none. */
static bool
append_key(List **plan, const Var *var, const PathKey *pathkey,
		   bool nulls_first)
{
	bool descending = mts_pathkey_descends(pathkey);
	Oid type = lookup_type_cache(var->vartype, TYPECACHE_BTREE_OPFAMILY)
				   ->btree_opintype;
	Oid collation = pathkey->pk_eclass->ec_collation;
	Oid sort_operator =
		get_opfamily_member(pathkey->pk_opfamily, type, type,
							descending ? BTGreaterStrategyNumber
									   : BTLessStrategyNumber);

	if (!OidIsValid(sort_operator))
		return false;
	*plan = lappend(*plan,
					list_make5_int(var->varattno, (int) sort_operator,
								   (int) collation, descending, nulls_first));
	return true;
}

/*
 * mts_pathkeys_to_order
 *		Return the plan's order of the leading pathkeys by which a scan can be
 *		sorted; NIL if the first is not one of them.
 *
 * nserieskeys is the number of leading pathkeys that identify the series of a
 * skip scan, which returns the first row of each series; otherwise 0.  A skip
 * scan fetches NULL keys separately.
 */
List *
mts_pathkeys_to_order(RelOptInfo *rel, const MtsTable *table, List *pathkeys,
					  int nserieskeys, MtsSeriesOrder series_order)
{
	List *plan = NIL;
	bool mongo_sorts = true;
	int nsorted = 0;
	ListCell *lc;

	foreach (lc, pathkeys)
	{
		PathKey *pathkey = lfirst(lc);
		Var *var = var_of(rel, pathkey->pk_eclass);
		int column = var ? var->varattno - 1 : -1;
		int place = foreach_current_index(lc) - nserieskeys;
		bool is_series = place < 0;
		bool by_extremes, nulls_first;

		if (column < 0)
			break;
		by_extremes = lc == list_head(pathkeys) && !is_series &&
					  is_sorted_by_extremes(table, var, pathkey) &&
					  are_null_values_in_place(rel, table, var, pathkey);
		mongo_sorts =
			mongo_sorts && nsorted < MAX_SORT_FIELDS &&
			(by_extremes ||
			 (is_sorted_by_mongo(table, var, pathkey,
								 is_series &&
									 series_order == MTS_SERIES_UNSORTED) &&
			  (is_series ||
			   are_nulls_in_place(rel, table, var, pathkey, place == 0))));
		nulls_first = pathkey->pk_nulls_first &&
					  (!by_extremes || table->attributes[column].not_null);
		if ((!mongo_sorts && nsorted == 0) ||
			!append_key(&plan, var, pathkey, nulls_first))
			break;
		nsorted += mongo_sorts;
		/* MongoDB sorts by nothing after the time or a value */
		mongo_sorts =
			mongo_sorts && !by_extremes && column != table->layout.time_column;
	}
	return nsorted == 0 ? NIL
						: lcons(list_make3_int(nsorted, nserieskeys, 0), plan);
}

/*
 * Tell whether a scan can tell series apart by a pathkey: the column is of
 * the bucket or of a {column} slot, and its type's own equality is that of the
 * pathkey.
 */
static bool
is_of_series(const MtsTable *table, const Var *var, const PathKey *pathkey)
{
	const MtsColumn *column = &table->layout.columns[var->varattno - 1];
	TypeCacheEntry *type =
		lookup_type_cache(table->attributes[var->varattno - 1].typid,
						  TYPECACHE_BTREE_OPFAMILY | TYPECACHE_EQ_OPR);

	return (column->role == MTS_ROLE_SLOT || column->container < 0) &&
		   var->varattno - 1 != table->layout.time_column &&
		   pathkey->pk_opfamily == type->btree_opf &&
		   op_hashjoinable(type->eq_opr, type->type_id);
}

/*
 * mts_pathkeys_to_first
 *		Return the plan's order of the first rows of series, for which all
 *		buckets are read; NIL if it cannot be.
 *
 * The leading nkeys pathkeys identify the series, and at least one of them is
 * a key in the buckets: a skip scan finds others.  Only the time may follow.
 */
List *
mts_pathkeys_to_first(RelOptInfo *rel, const MtsTable *table, List *pathkeys,
					  int nkeys)
{
	List *plan = NIL;
	bool are_in_buckets = false;
	ListCell *lc;

	if (table->layout.time_kind == MTS_TIME_FLAT ||
		list_length(pathkeys) > nkeys + 1)
		return NIL;
	foreach (lc, pathkeys)
	{
		PathKey *pathkey = lfirst(lc);
		Var *var = var_of(rel, pathkey->pk_eclass);
		bool is_series = foreach_current_index(lc) < nkeys;

		if (!var ||
			(is_series
				 ? !is_of_series(table, var, pathkey)
				 : var->varattno - 1 != table->layout.time_column ||
					   !is_sorted_by_mongo(table, var, pathkey, false)) ||
			!append_key(&plan, var, pathkey, pathkey->pk_nulls_first))
			return NIL;
		are_in_buckets |=
			is_series &&
			table->layout.columns[var->varattno - 1].role == MTS_ROLE_SLOT;
	}
	return are_in_buckets ? lcons(list_make3_int(0, nkeys, 0), plan) : NIL;
}

/*
 * mts_pathkeys_useful
 *		Lists of pathkeys that the query can use: its own order and, for merge
 *		joins, each column that is compared with another relation.
 */
List *
mts_pathkeys_useful(PlannerInfo *root, RelOptInfo *rel, const MtsTable *table)
{
	List *useful = NIL;
	int i = -1;

	if (root->query_pathkeys)
		useful = list_make1(root->query_pathkeys);
	while (rel->has_eclass_joins &&
		   (i = bms_next_member(rel->eclass_indexes, i)) >= 0)
	{
		EquivalenceClass *class = list_nth(root->eq_classes, i);

		if (!class->ec_has_const && !class->ec_has_volatile &&
			bms_membership(class->ec_relids) == BMS_MULTIPLE &&
			var_of(rel, class))
			useful =
				lappend(useful, list_make1(mts_make_ascending(root, class)));
	}
	return useful;
}
