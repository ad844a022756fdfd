/*
 * order.c
 *		In which orders can a scan give its rows?
 *
 * MongoDB sorts buckets by keys and by their time; merge.c makes the order of
 * the points of it.  By what MongoDB orders differently (text under a locale,
 * numbers that may be NaN) a scan is not sorted, but it may follow the time.
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

/* Append a column to an order; false where its type can't be ordered. */
static bool
append_column(List *order, const Var *var, const PathKey *pathkey)
{
	bool descending = mts_pathkey_descends(pathkey);
	Oid type = lookup_type_cache(var->vartype, TYPECACHE_BTREE_OPFAMILY)
				   ->btree_opintype;
	Oid operator= get_opfamily_member(pathkey->pk_opfamily, type, type,
									  descending ? BTGreaterStrategyNumber
												 : BTLessStrategyNumber);
	ListCell *lists = list_head(order);

	if (!OidIsValid(operator))
		return false;
	lfirst(&lists[MTS_ORDER_ATTRIBUTES]) =
		lappend_int(lfirst(&lists[MTS_ORDER_ATTRIBUTES]), var->varattno);
	lfirst(&lists[MTS_ORDER_OPERATORS]) =
		lappend_oid(lfirst(&lists[MTS_ORDER_OPERATORS]), operator);
	lfirst(&lists[MTS_ORDER_COLLATIONS]) =
		lappend_oid(lfirst(&lists[MTS_ORDER_COLLATIONS]),
					pathkey->pk_eclass->ec_collation);
	lfirst(&lists[MTS_ORDER_DESCENDING]) =
		lappend_int(lfirst(&lists[MTS_ORDER_DESCENDING]), descending);
	lfirst(&lists[MTS_ORDER_NULLS_FIRST]) =
		lappend_int(lfirst(&lists[MTS_ORDER_NULLS_FIRST]),
					pathkey->pk_nulls_first);
	return true;
}

/*
 * mts_order_make
 *		An order that begins with these pathkeys, as many as can be.
 *
 * NIL when a scan can't be sorted by the first of them.  series is how many of
 * them tell series apart from which the first row is enough, or 0: there nulls
 * are looked for where they are wanted, and loosely the series come in any
 * order.
 */
List *
mts_order_make(RelOptInfo *rel, const MtsTable *table, List *pathkeys,
			   int series, bool is_loose)
{
	List *order = list_make5(NIL, NIL, NIL, NIL, NIL);
	bool is_there = true;
	int sorted = 0;
	ListCell *lc;

	foreach (lc, pathkeys)
	{
		PathKey *pathkey = lfirst(lc);
		Var *var = var_of(rel, pathkey->pk_eclass);
		int column = var ? mts_table_column(table, var->varattno) : -1;
		bool is_series = foreach_current_index(lc) < series;

		if (column < 0)
			break;
		is_there =
			is_there &&
			is_sorted_there(table, var, pathkey, is_loose && is_series) &&
			(is_series || are_nulls_in_place(rel, table, var, pathkey));
		if ((!is_there && sorted == 0) || !append_column(order, var, pathkey))
			break;
		sorted += is_there;
		/* nothing that follows the time is MongoDB's to sort by */
		is_there = is_there && column != table->layout.time_column;
	}
	order = lappend(order, makeInteger(sorted));
	return sorted == 0 ? NIL : lappend(order, makeInteger(series));
}

/*
 * mts_order_is_of_keys
 *		Are the first n columns of an order keys, and does MongoDB sort by what
 *		follows them, too?
 */
bool
mts_order_is_of_keys(const MtsTable *table, List *order, int n)
{
	List *attributes = list_nth(order, MTS_ORDER_ATTRIBUTES);
	int sorted = intVal(list_nth(order, MTS_ORDER_SORTED));

	for (int i = 0; i < n && i < sorted; i++)
		if (mts_table_column(table, list_nth_int(attributes, i)) ==
			table->layout.time_column)
			return false;
	return sorted > n || (sorted == n && list_length(attributes) == n);
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
 * mts_order_field
 *		The field that MongoDB sorts by for an order's column i, one of those
 *		that it sorts by, and which way.
 *
 * field has room for MTS_MAX_DOTTED characters and a NUL.
 */
void
mts_order_field(const MtsTable *table, List *order, int i, char *field,
				bool *descending)
{
	int column =
		mts_table_column(table,
						 list_nth_int(list_nth(order, MTS_ORDER_ATTRIBUTES),
									  i));
	const MtsPath *path = &table->layout.columns[column].path;
	MtsOrderField time;

	*descending = list_nth_int(list_nth(order, MTS_ORDER_DESCENDING), i);
	if (column == table->layout.time_column &&
		bound_field(&table->layout, *descending, &time))
		path = time.path;
	mts_path_dotted(path->steps, path->nsteps, field, MTS_MAX_DOTTED + 1);
}

/*
 * mts_order_is_by_bound
 *		Does MongoDB sort by a declared bound of points' times?  That is another
 *		one when a point is added.
 */
bool
mts_order_is_by_bound(const MtsTable *table, List *order)
{
	const MtsLayout *layout = &table->layout;
	List *attributes = list_nth(order, MTS_ORDER_ATTRIBUTES);
	int last = intVal(list_nth(order, MTS_ORDER_SORTED)) - 1;

	return layout->time_kind == MTS_TIME_POINT &&
		   mts_table_column(table, list_nth_int(attributes, last)) ==
			   layout->time_column &&
		   (list_nth_int(list_nth(order, MTS_ORDER_DESCENDING), last)
				? layout->last.is_set
				: layout->first.is_set);
}

/*
 * mts_order_append_sort
 *		Append what MongoDB sorts buckets, or those of a series, by: {field: 1
 *		or -1, ..}.
 */
void
mts_order_append_sort(const MtsTable *table, List *order, bson_t *sort)
{
	int n = intVal(list_nth(order, MTS_ORDER_SORTED));

	for (int i = intVal(list_nth(order, MTS_ORDER_SERIES)); i < n; i++)
	{
		char field[MTS_MAX_DOTTED + 1];
		bson_iter_t iter;
		bool descending;

		mts_order_field(table, order, i, field, &descending);
		if (!bson_iter_init_find(&iter, sort, field))
			bson_append_int32(sort, field, -1, descending ? -1 : 1);
	}
}
