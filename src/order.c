/*
 * order.c
 *		Determine the orders in which a scan can return its rows.
 *
 * MongoDB sorts buckets by keys and by their time; merge.c derives the order of
 * points from that.  A scan is not sorted by columns that MongoDB orders
 * differently (text under a locale, numbers that may be NaN), except behind
 * the time.
 *
 * A plan keeps an order as a list of integer lists: {nsorted, nseries}, then
 * {attno, operator, collation, descending, nulls_first} of each key.
 */
#include "order.h"

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "compat.h"
#include "plan.h"

bool mts_enable_sort = true;

/* The column of the relation that is in an equivalence class, or NULL */
static Var *
var_of(const RelOptInfo *rel, EquivalenceClass *class)
{
	EquivalenceMember *member;

	if (class->ec_has_volatile)
		return NULL;
	mts_foreach_member(member, class, rel)
	{
		Var *var = mts_pushdown_var(member->em_expr, rel->relid);

		if (var && var->varattno > 0 &&
			bms_equal(member->em_relids, rel->relids))
			return var;
	}
	return NULL;
}

/* Is the order of a time's stored values that of its instants? */
static bool
is_monotone(const MtsFormat *format, const MtsClock *clock)
{
	switch (format->kind)
	{
		case MTS_FORMAT_OFFSET:
			return false;
		case MTS_FORMAT_TEXT:
			return format->sorted && !clock->to_local;
		default:
			return true;
	}
}

/* Complete a field; false where its order is not that of times. */
static bool
complete_field(const MtsLayout *layout, const MtsPath *path,
			   const MtsFormat *format, MtsOrderField *field)
{
	if (mts_path_addressable(path) != path->nsteps ||
		!is_monotone(format, &layout->clock))
		return false;
	field->path = path;
	field->format = format;
	mts_path_dotted(path->steps, path->nsteps, field->dotted,
					sizeof(field->dotted));
	return true;
}

/*
 * mts_order_time_field
 *		The field of a bucket's time; false where it has none, or where its
 *		order is not that of times.
 */
bool
mts_order_time_field(const MtsLayout *layout, MtsOrderField *field)
{
	const MtsColumn *time = mts_layout_time(layout);

	if (layout->bucket_time.is_set)
		return complete_field(layout, &layout->bucket_time.path,
							  &layout->bucket_time.format, field);
	return layout->time_kind == MTS_TIME_FLAT && time &&
		   complete_field(layout, &time->path, &time->format, field);
}

/*
 * The field that bounds the times of a bucket's points, from below or,
 * descending, from above; false as above.
 */
static bool
bound_field(const MtsLayout *layout, bool descending, MtsOrderField *field)
{
	const MtsField *bound = descending ? &layout->last : &layout->first;

	if (layout->time_kind == MTS_TIME_POINT && bound->is_set)
		return complete_field(layout, &bound->path, &bound->format, field);
	return mts_order_time_field(layout, field);
}

/* Does the time column sort as its instants do? */
static bool
is_sortable_time(const MtsTable *table, bool descending)
{
	int column = table->layout.time_column;
	MtsOrderField field;

	return (table->is_utc ||
			table->attributes[column].typid == TIMESTAMPTZOID) &&
		   bound_field(&table->layout, descending, &field);
}

/*
 * Does a key sort in MongoDB as it does here?  Or, loosely, are just its
 * values told apart alike?
 */
static bool
is_sortable_key(const MtsTable *table, int column, Oid collation,
				bool is_loose)
{
	const MtsAttribute *attribute = &table->attributes[column];

	if (!mts_pushdown_is_key(table, column))
		return false;
	switch (attribute->key_type)
	{
		case MTS_KEY_IS_NUMBER:
			return attribute->typid == INT2OID ||
				   attribute->typid == INT4OID || attribute->typid == INT8OID;
		case MTS_KEY_IS_STRING:
			return mts_table_is_text_type(attribute->typid) &&
				   mts_pushdown_collation_fits(collation,
											   is_loose
												   ? BTEqualStrategyNumber
												   : BTLessStrategyNumber);
		case MTS_KEY_IS_BOOL:
			return attribute->typid == BOOLOID;
		case MTS_KEY_IS_DATE:
			return table->is_utc || attribute->typid == TIMESTAMPTZOID;
		default:
			return false;
	}
}

/*
 * Can nulls come where they are wanted?  MongoDB has them at the low end.  A
 * merge holds them back to the high end, but can't know of them before they
 * come.
 */
static bool
are_nulls_in_place(const RelOptInfo *rel, const MtsTable *table,
				   const Var *var, const PathKey *pathkey)
{
	int column = mts_table_column(table, var->varattno);
	bool descending = mts_pathkey_descends(pathkey);
	const MtsEstimate *estimate = rel->fdw_private;

	/* each collection of a set has its own low end */
	if ((table->set ? !descending && !pathkey->pk_nulls_first
					: !descending || !pathkey->pk_nulls_first) ||
		table->attributes[column].not_null)
		return true;
	/* only where a document is a row there may be no time */
	if (column == table->layout.time_column &&
		table->layout.time_kind != MTS_TIME_FLAT)
		return true;
	/* what isn't decided there is checked when the rows have been sorted */
	return mts_is_nonnullable(extract_actual_clauses(estimate->exact, false),
							  var);
}

/* Does MongoDB's order of buckets serve a pathkey? */
static bool
is_sorted_there(const MtsTable *table, const Var *var, const PathKey *pathkey,
				bool is_loose)
{
	int column = mts_table_column(table, var->varattno);
	const MtsLayout *layout = &table->layout;

	if (pathkey->pk_opfamily !=
		lookup_type_cache(table->attributes[column].typid,
						  TYPECACHE_BTREE_OPFAMILY)
			->btree_opf)
		return false;
	if (column == layout->time_column)
		return is_sortable_time(table, mts_pathkey_descends(pathkey));
	/* collections of a set follow each other by time */
	return !table->set &&
		   is_sortable_key(table, column, pathkey->pk_eclass->ec_collation,
						   is_loose);
}

/*
 * Append a column to the plan's form of an order; false where its type can't
 * be ordered.
 */
static bool
append_key(List **plan, const Var *var, const PathKey *pathkey)
{
	bool descending = mts_pathkey_descends(pathkey);
	Oid type = lookup_type_cache(var->vartype, TYPECACHE_BTREE_OPFAMILY)
				   ->btree_opintype;
	Oid operator= get_opfamily_member(pathkey->pk_opfamily, type, type,
									  descending ? BTGreaterStrategyNumber
												 : BTLessStrategyNumber);

	if (!OidIsValid(operator))
		return false;
	*plan =
		lappend(*plan, list_make5_int(var->varattno,
									  (int) operator,(int) pathkey->pk_eclass
														 ->ec_collation,
									  descending, pathkey->pk_nulls_first));
	return true;
}

/*
 * mts_order_make
 *		Make an order, in the plan's form, that begins with these pathkeys, as
 *		many as can be.
 *
 * NIL when a scan can't be sorted by the first of them.  nseries: leading keys
 * of a scan that returns the first row of each series, otherwise 0.  NULL keys
 * are then fetched separately; any_order lets series come unsorted.
 */
List *
mts_order_make(RelOptInfo *rel, const MtsTable *table, List *pathkeys,
			   int nseries, bool any_order)
{
	List *plan = NIL;
	bool mongo_sorts = true;
	int nsorted = 0;
	ListCell *lc;

	foreach (lc, pathkeys)
	{
		PathKey *pathkey = lfirst(lc);
		Var *var = var_of(rel, pathkey->pk_eclass);
		int column = var ? mts_table_column(table, var->varattno) : -1;
		bool is_series = foreach_current_index(lc) < nseries;

		if (column < 0)
			break;
		mongo_sorts =
			mongo_sorts &&
			is_sorted_there(table, var, pathkey, any_order && is_series) &&
			(is_series || are_nulls_in_place(rel, table, var, pathkey));
		if ((!mongo_sorts && nsorted == 0) || !append_key(&plan, var, pathkey))
			break;
		nsorted += mongo_sorts;
		/* MongoDB sorts by nothing behind the time */
		mongo_sorts = mongo_sorts && column != table->layout.time_column;
	}
	return nsorted == 0 ? NIL : lcons(list_make2_int(nsorted, nseries), plan);
}

/* mts_order_length: count the keys of an order in the plan's form. */
int
mts_order_length(List *plan)
{
	return list_length(plan) - 1;
}

/* mts_order_attributes: list the attribute numbers of its keys. */
List *
mts_order_attributes(List *plan)
{
	List *attributes = NIL;
	ListCell *lc;

	for_each_from(lc, plan, 1) attributes =
		lappend_int(attributes, linitial_int(lfirst(lc)));
	return attributes;
}

/* mts_order_is_of_series: tell whether it is for the first row of each series. */
bool
mts_order_is_of_series(List *plan)
{
	return plan && lsecond_int(linitial(plan)) > 0;
}

/*
 * mts_order_open
 *		Read an order from a plan.
 *
 * It is allocated in the current memory context.
 */
MtsSortOrder *
mts_order_open(const MtsTable *table, List *plan)
{
	const MtsLayout *layout = &table->layout;
	MtsSortOrder *order = palloc0(sizeof(MtsSortOrder));
	ListCell *lc;

	order->nsorted = linitial_int(linitial(plan));
	order->nseries = lsecond_int(linitial(plan));
	order->keys = palloc0(mts_order_length(plan) * sizeof(MtsSortKey));
	for_each_from(lc, plan, 1)
	{
		MtsSortKey *key = &order->keys[order->nkeys++];
		List *items = lfirst(lc);
		const MtsPath *path;

		key->attno = linitial_int(items);
		key->column = mts_table_column(table, key->attno);
		key->operator=(Oid) lsecond_int(items);
		key->collation = (Oid) lthird_int(items);
		key->descending = lfourth_int(items);
		key->nulls_first = list_nth_int(items, 4);
		if (order->nkeys > order->nsorted)
			continue;
		path = &layout->columns[key->column].path;
		if (key->column == layout->time_column)
		{
			order->has_time =
				bound_field(layout, key->descending, &order->time);
			if (order->has_time)
				path = order->time.path;
			order->is_by_bound =
				layout->time_kind == MTS_TIME_POINT &&
				(key->descending ? layout->last : layout->first).is_set;
		}
		mts_path_dotted(path->steps, path->nsteps, key->field,
						sizeof(key->field));
	}
	return order;
}

/*
 * mts_order_is_of_keys
 *		Tell whether the first n columns of an order are keys, and MongoDB sorts
 *		by what follows them, too.
 */
bool
mts_order_is_of_keys(const MtsTable *table, List *plan, int n)
{
	const MtsSortOrder *order = mts_order_open(table, plan);

	for (int i = 0; i < n && i < order->nsorted; i++)
		if (order->keys[i].column == table->layout.time_column)
			return false;
	return order->nsorted > n || (order->nsorted == n && order->nkeys == n);
}

/*
 * mts_order_useful
 *		Lists of pathkeys that may be of use: what the query asks for, and, for
 *		merge joins, columns of the relation that others are compared with.
 */
List *
mts_order_useful(PlannerInfo *root, RelOptInfo *rel, const MtsTable *table)
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

/*
 * mts_order_append_sort
 *		Append the sort of the buckets, or of those of a series: {field: 1 or -1,
 *		..}.
 */
void
mts_order_append_sort(const MtsSortOrder *order, bson_t *sort)
{
	for (int i = order->nseries; i < order->nsorted; i++)
	{
		const MtsSortKey *key = &order->keys[i];
		bson_iter_t iter;

		if (!bson_iter_init_find(&iter, sort, key->field))
			bson_append_int32(sort, key->field, -1, key->descending ? -1 : 1);
	}
}
