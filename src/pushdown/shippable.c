/*
 * shippable.c
 *		Determine which clauses MongoDB or the unfolding can decide.
 *
 * A clause is shippable if comparing its columns means the same in MongoDB as
 * in PostgreSQL, which depends on operators, types and collations.  A qual
 * that is not exact matches all that its clause matches and more, so that
 * PostgreSQL checks the clause again.
 *
 * The planner classifies each clause of a relation once (plan.c).  The
 * executor makes the quals of a plan's clauses again for each scan, and
 * evaluates them to a filter (qual.c).
 */
#include "pushdown/shippable.h"

#include "access/stratnum.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "compat.h"
#include "pushdown/infallible.h"
#include "pushdown/monotonic.h"

/*
 * The distance of a local time's instant from the same time in UTC, and of a
 * date from the times of its day, with room to spare.
 */
#define INEXACT_TOLERANCE (2 * USECS_PER_DAY)

/* The relation whose clauses are examined */
typedef struct Target
{
	const MtsTable *table;
	Index varno;
} Target;

static MtsQual *ship(const Target *target, Expr *expr, bool negated);

static MtsQual *
make_qual(MtsQualKind kind, bool exact)
{
	MtsQual *qual = palloc0(sizeof(MtsQual));

	qual->kind = kind;
	qual->exact = exact;
	qual->time_only =
		kind == MTS_QUAL_TIME || kind == MTS_QUAL_AND || kind == MTS_QUAL_OR;
	return qual;
}

/* The qual that a key is equal to a constant */
static MtsQual *
make_equality(MtsQualKind kind, int column, Const *value)
{
	MtsQual *qual = make_qual(kind, true);

	qual->column = column;
	qual->strategy = BTEqualStrategyNumber;
	qual->right_type = value->consttype;
	qual->right = (Expr *) value;
	return qual;
}

/* ---- Columns ---------------------------------------------------------- */

/*
 * mts_shippable_column
 *		Return the Var that an expression is, perhaps relabelled; else NULL.
 */
Var *
mts_shippable_column(Expr *expr)
{
	while (IsA(expr, RelabelType))
		expr = ((RelabelType *) expr)->arg;
	return IsA(expr, Var) && ((Var *) expr)->varlevelsup == 0 ? (Var *) expr
															  : NULL;
}

/*
 * mts_shippable_var
 *		Return the Var of the relation varno that an expression is, perhaps
 *		relabelled; else NULL.
 */
Var *
mts_shippable_var(Expr *expr, Index varno)
{
	Var *var = mts_shippable_column(expr);

	return var && var->varno == varno ? var : NULL;
}

/* Find the number of the column that an expression is; negative if none */
static int
column_of(const Target *target, Expr *expr)
{
	Var *var = mts_shippable_var(expr, target->varno);

	return var ? var->varattno - 1 : -1;
}

/*
 * mts_shippable_is_key
 *		Tell whether a column belongs to the bucket and a query can address its
 *		field.
 */
bool
mts_shippable_is_key(const MtsTable *table, int column)
{
	const MtsLayout *layout = &table->layout;
	const MtsPath *path;

	if (column < 0 || column == layout->time_column ||
		layout->columns[column].container >= 0 ||
		layout->columns[column].role == MTS_ROLE_SLOT)
		return false;
	path = &layout->columns[column].path;
	return path->nsteps > 0 &&
		   mts_path_addressable_steps(path) == path->nsteps;
}

/*
 * mts_shippable_is_bounded
 *		Tell whether the bounds of a value of the points are fields of the
 *		buckets.
 *
 * The order of types can hide values of another type, which convert freely to
 * times and text, from one bound only.
 */
bool
mts_shippable_is_bounded(const MtsTable *table, int column)
{
	const MtsColumn *value = &table->layout.columns[column];
	const MtsPath *min = &value->min.path, *max = &value->max.path;
	bool is_number = mts_type_is_number(table->attributes[column].typid);

	return (is_number ? value->min.is_set || value->max.is_set
					  : value->min.is_set && value->max.is_set) &&
		   mts_path_addressable_steps(min) == min->nsteps &&
		   mts_path_addressable_steps(max) == max->nsteps;
}

/* Tell whether a column is that of a {column} slot. */
static bool
is_slot(const MtsTable *table, int column)
{
	return column >= 0 && column != table->layout.time_column &&
		   table->layout.columns[column].role == MTS_ROLE_SLOT;
}

/* Tell whether an expression has the same value for all rows of the scan. */
static bool
is_constant_in_scan(const Target *target, Expr *expr)
{
	if (IsA(expr, Const) || IsA(expr, Param))
		return true;
	return !mts_shippable_var(expr, target->varno) &&
		   !bms_is_member(target->varno, pull_varnos(NULL, (Node *) expr)) &&
		   !contain_volatile_functions((Node *) expr) &&
		   !contain_subplans((Node *) expr);
}

/* ---- Comparisons ------------------------------------------------------ */

/* The strategy of an operator in the B-tree family of a type; 0 if none */
static int
strategy_of(Oid opno, Oid typid)
{
	Oid family = lookup_type_cache(typid, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	int strategy = get_op_opfamily_strategy(opno, family);

	/* <> belongs to no family */
	if (strategy == 0 && get_op_opfamily_strategy(get_negator(opno), family) ==
							 BTEqualStrategyNumber)
		return ROWCOMPARE_NE;
	return strategy;
}

static bool
is_equality(int strategy)
{
	return strategy == BTEqualStrategyNumber || strategy == ROWCOMPARE_NE;
}

/*
 * mts_shippable_collation_fits
 *		Tell whether an operator of this collation compares text as MongoDB.
 */
bool
mts_shippable_collation_fits(Oid collation, int strategy)
{
	if (is_equality(strategy))
		return !OidIsValid(collation) ||
			   get_collation_isdeterministic(collation);
	/* MongoDB orders text by its bytes in UTF-8, as collation C does */
	return OidIsValid(collation) && mts_collation_is_c(collation) &&
		   GetDatabaseEncoding() == PG_UTF8;
}

/*
 * Tell whether comparing a time column with a type is the same as comparing
 * instants.  It is not where local times are ordered differently.
 */
static bool
compares_instants(const MtsTable *table, int column, Oid right)
{
	return table->attributes[column].typid == TIMESTAMPTZOID ||
		   (table->is_utc && right != TIMESTAMPTZOID);
}

/*
 * A comparison of a key that is a time, or of the points' time if it compares
 * instants.
 */
static MtsQual *
time_qual(const MtsTable *table, int column, int strategy, Oid right)
{
	const MtsAttribute *attribute = &table->attributes[column];
	bool of_points = column == table->layout.time_column;
	bool exact = compares_instants(table, column, right);
	MtsQual *qual;

	if (!of_points && attribute->key_type != MTS_KEY_IS_DATE)
	{
		if (attribute->key_type != MTS_KEY_IS_TIME)
			return NULL;
		/* stored numbers are compared by whole units */
		exact = false;
	}
	if (strategy == ROWCOMPARE_NE && !exact)
		return NULL;
	qual = make_qual(of_points ? MTS_QUAL_TIME : MTS_QUAL_KEY_TIME, exact);
	if (!exact)
		qual->tolerance = INEXACT_TOLERANCE;
	return qual;
}

/*
 * A comparison of an expression of the points' time, by the times at which it
 * has the values.  right_type is that of the values.
 */
static MtsQual *
expression_qual(const Target *target, Expr *left, int strategy, Expr *right,
				Oid right_type)
{
	const MtsTable *table = target->table;
	MtsInverse *inverse;
	MtsQual *qual;

	if (table->layout.time_column < 0 || strategy == 0 ||
		!is_constant_in_scan(target, right))
		return NULL;
	inverse = mts_inverse_new(table, target->varno, left, right_type);
	if (!inverse)
		return NULL;
	qual = make_qual(MTS_QUAL_TIME, true);
	qual->column = table->layout.time_column;
	qual->inverse = inverse;
	qual->strategy = strategy;
	qual->right_type = right_type;
	qual->right = right;
	return qual;
}

/* Compare an expression of the points' time; see compare() */
static MtsQual *
compare_expression(const Target *target, Expr *left, Oid opno, Expr *right,
				   Oid right_type, Oid collation)
{
	Oid type = exprType((Node *) left);
	int strategy = strategy_of(opno, type);

	/* only equal texts are known to be equal times */
	return mts_type_is_text(type) &&
				   (!is_equality(strategy) ||
					!mts_shippable_collation_fits(collation, strategy))
			   ? NULL
			   : expression_qual(target, left, strategy, right, right_type);
}

/*
 * A comparison of a key that is not a time.  NULL if MongoDB's order or
 * equality differs from PostgreSQL's.
 */
static MtsQual *
key_qual(const MtsAttribute *attribute, int strategy, Oid right, Oid collation)
{
	bool is_text =
		mts_type_is_text(attribute->typid) && mts_type_is_text(right);
	/*
	 * Only the value tells whether MongoDB compares a numeric alike.  A text
	 * is compared by the values that have it, which may be equal to others.
	 */
	bool exact = attribute->typid != NUMERICOID &&
				 attribute->key_type != MTS_KEY_AS_TEXT;
	bool fits;

	switch (attribute->key_type)
	{
		case MTS_KEY_IS_NUMBER:
			fits = mts_type_is_number(attribute->typid) &&
				   (exact || strategy != ROWCOMPARE_NE);
			break;
		case MTS_KEY_IS_STRING:
		case MTS_KEY_IS_OID:
			fits =
				is_text && mts_shippable_collation_fits(collation, strategy);
			break;
		case MTS_KEY_AS_TEXT:
			fits = is_text && strategy == BTEqualStrategyNumber &&
				   mts_shippable_collation_fits(collation, strategy);
			break;
		case MTS_KEY_IS_UUID:
			fits = attribute->typid == UUIDOID && right == UUIDOID;
			break;
		case MTS_KEY_IS_BOOL:
			fits = attribute->typid == BOOLOID && is_equality(strategy);
			break;
		default:
			fits = false;
	}
	return fits ? make_qual(MTS_QUAL_KEY, exact) : NULL;
}

/*
 * A comparison of the keys of a {column} slot, which selects slots.  NULL
 * unless equal values are equal keys.  It is not exact: each point is checked.
 */
static MtsQual *
slot_qual(const MtsAttribute *attribute, int strategy, Oid right,
		  Oid collation)
{
	bool fits = mts_type_is_integer(attribute->typid)
					? mts_type_is_integer(right)
					: mts_type_is_text(right) &&
						  mts_shippable_collation_fits(collation, strategy);

	return fits && strategy == BTEqualStrategyNumber
			   ? make_qual(MTS_QUAL_SLOT, false)
			   : NULL;
}

/*
 * Compare a column, or an expression of the points' time, with an expression
 * that is constant in the scan.  right_type is the element type if right is an
 * array.
 */
static MtsQual *
compare(const Target *target, Expr *left, Oid opno, Expr *right,
		Oid right_type, Oid collation, bool negated)
{
	const MtsTable *table = target->table;
	int column = column_of(target, left);
	const MtsAttribute *attribute;
	bool by_bounds;
	int strategy;
	MtsQual *qual;

	if (negated && OidIsValid(opno))
		opno = get_negator(opno);
	if (!OidIsValid(opno))
		return NULL;
	if (column < 0 || (column == table->layout.time_column &&
					   !compares_instants(table, column, right_type)))
		return compare_expression(target, left, opno, right, right_type,
								  collation);
	if (!is_constant_in_scan(target, right) ||
		(column != table->layout.time_column &&
		 !mts_shippable_is_key(table, column) && !is_slot(table, column) &&
		 !mts_shippable_is_bounded(table, column)))
		return NULL;
	attribute = &table->attributes[column];
	strategy = strategy_of(opno, attribute->typid);
	by_bounds = mts_shippable_is_bounded(table, column);
	if (strategy == 0 || (by_bounds && strategy == ROWCOMPARE_NE))
		return NULL;
	if (is_slot(table, column))
		qual = slot_qual(attribute, strategy, right_type, collation);
	else if (mts_type_is_time(attribute->typid))
		qual = time_qual(table, column, strategy, right_type);
	else
		qual = key_qual(attribute, strategy, right_type, collation);
	if (qual)
	{
		/* a value that compares like a key does so with its bounds */
		if (by_bounds)
		{
			qual->kind = MTS_QUAL_BOUNDED;
			qual->exact = false;
		}
		qual->column = column;
		qual->strategy = strategy;
		qual->left_type = exprType((Node *) left);
		qual->right_type = right_type;
		qual->right = right;
	}
	return qual;
}

/*
 * Return the text before the "%" that ends a LIKE pattern, or all of a pattern
 * without wildcards.  NULL for other patterns.
 */
static char *
like_prefix(const char *pattern, bool *is_whole)
{
	char *prefix = palloc(strlen(pattern) + 1);
	char *out = prefix;

	*is_whole = true;
	for (; *pattern; pattern++)
	{
		if (*pattern == '_')
			return NULL;
		if (*pattern == '%')
		{
			*is_whole = false;
			if (pattern[strspn(pattern, "%")] != '\0')
				return NULL;
			break;
		}
		if (*pattern == '\\' && *++pattern == '\0')
			return NULL;
		*out++ = *pattern;
	}
	*out = '\0';
	return *is_whole || out > prefix ? prefix : NULL;
}

/* key LIKE 'prefix%' */
static MtsQual *
ship_like(const Target *target, const OpExpr *op)
{
	int column = column_of(target, linitial(op->args));
	Const *pattern = lsecond(op->args);
	char *prefix;
	bool is_whole;

	if (!mts_shippable_is_key(target->table, column) ||
		target->table->attributes[column].key_type != MTS_KEY_IS_STRING ||
		!mts_monotonic_is_constant((Node *) pattern) ||
		!mts_shippable_collation_fits(op->inputcollid, BTEqualStrategyNumber))
		return NULL;
	prefix = like_prefix(TextDatumGetCString(pattern->constvalue), &is_whole);
	return prefix ? make_equality(is_whole ? MTS_QUAL_KEY : MTS_QUAL_PREFIX,
								  column,
								  makeConst(TEXTOID, -1, op->inputcollid, -1,
											CStringGetTextDatum(prefix), false,
											false))
				  : NULL;
}

/* time <@ range, if the range orders its bounds as the type does */
static MtsQual *
ship_range(const Target *target, Expr *left, Expr *right, bool negated)
{
	TypeCacheEntry *range =
		lookup_type_cache(exprType((Node *) right), TYPECACHE_RANGE_INFO);
	Oid type = exprType((Node *) left);
	MtsQual *qual;

	if (!range->rngelemtype || range->rngelemtype->type_id != type ||
		range->rng_cmp_proc_finfo.fn_oid !=
			lookup_type_cache(type, TYPECACHE_CMP_PROC)->cmp_proc ||
		mts_type_is_text(type))
		return NULL;
	qual = expression_qual(target, left,
						   negated ? ROWCOMPARE_NE : BTEqualStrategyNumber,
						   right, type);
	if (qual)
		qual->form = MTS_RIGHT_RANGE;
	return qual;
}

/* (time, time) OVERLAPS (a, b), and the reverse */
static MtsQual *
ship_overlaps(const Target *target, const FuncExpr *call, bool negated)
{
	List *args = call->args;
	ArrayExpr *period = makeNode(ArrayExpr);
	MtsQual *qual;

	if (call->funcid != F_OVERLAPS_TIMESTAMP_TIMESTAMP_TIMESTAMP_TIMESTAMP &&
		call->funcid !=
			F_OVERLAPS_TIMESTAMPTZ_TIMESTAMPTZ_TIMESTAMPTZ_TIMESTAMPTZ)
		return NULL;
	if (is_constant_in_scan(target, linitial(args)))
		args = list_make4(lthird(args), lfourth(args), linitial(args),
						  lsecond(args));
	if (!equal(linitial(args), lsecond(args)))
		return NULL;
	period->element_typeid = exprType(linitial(args));
	period->array_typeid = get_array_type(period->element_typeid);
	period->elements = list_make2(lthird(args), lfourth(args));
	qual = expression_qual(target, linitial(args),
						   negated ? ROWCOMPARE_NE : BTEqualStrategyNumber,
						   (Expr *) period, period->element_typeid);
	if (qual)
		qual->form = MTS_RIGHT_PERIOD;
	return qual;
}

static MtsQual *
ship_comparison(const Target *target, OpExpr *op, bool negated)
{
	Expr *left = linitial(op->args);
	Expr *right = lsecond(op->args);
	Oid opno = op->opno;

	if (opno == OID_TEXT_LIKE_OP)
		return negated ? NULL : ship_like(target, op);
	if (is_constant_in_scan(target, left))
	{
		left = right;
		right = linitial(op->args);
		opno = get_commutator(opno);
	}
	if (opno == OID_RANGE_ELEM_CONTAINED_OP)
		return ship_range(target, left, right, negated);
	return compare(target, left, opno, right, exprType((Node *) right),
				   op->inputcollid, negated);
}

/* column = ANY (array), and column <> ALL (array) */
static MtsQual *
ship_array(const Target *target, ScalarArrayOpExpr *op, bool negated)
{
	Expr *right = lsecond(op->args);
	Oid element = get_base_element_type(exprType((Node *) right));
	MtsQual *qual = OidIsValid(element)
						? compare(target, linitial(op->args), op->opno, right,
								  element, op->inputcollid, negated)
						: NULL;

	/* the negation of "= ANY" is "<> ALL" */
	if (!qual ||
		qual->strategy !=
			(op->useOr != negated ? BTEqualStrategyNumber : ROWCOMPARE_NE))
		return NULL;
	/* not exact, because qual.c sends at most MAX_FRACTIONS fractions */
	if (mts_type_is_fraction(element) && !qual->inverse)
		qual->exact = false;
	qual->form = MTS_RIGHT_ARRAY;
	return qual;
}

/*
 * (a, b) < (x, y) implies a <= x, and > implies a >= x.  A negation implies
 * the opposite.
 */
static MtsQual *
ship_row(const Target *target, RowCompareExpr *row, bool negated)
{
	Expr *left = linitial(row->largs);
	Expr *right = linitial(row->rargs);
	bool is_less = mts_row_is_less(row) != negated;
	Oid opno =
		get_opfamily_member(linitial_oid(row->opfamilies),
							exprType((Node *) left), exprType((Node *) right),
							is_less ? BTLessEqualStrategyNumber
									: BTGreaterEqualStrategyNumber);
	MtsQual *qual =
		compare(target, left, opno, right, exprType((Node *) right),
				linitial_oid(row->inputcollids), false);

	if (qual)
		qual->exact = false;
	return qual;
}

/* ---- Other conditions ------------------------------------------------- */

/*
 * Tell whether a value can be evaluated at the start of a scan, though
 * PostgreSQL may not evaluate it for any row.  A column of a relation for
 * whose rows the scan runs is a parameter in the executor, so that both are
 * treated alike.
 */
static bool
is_early_value(Expr *expr)
{
	const NullTest *test = (NullTest *) expr;

	if (IsA(expr, NullTest) && !test->argisrow &&
		(IsA(test->arg, Param) || IsA(test->arg, Var)))
		return true;
	return bms_is_empty(pull_varnos(NULL, (Node *) expr)) &&
		   mts_infallible_is((Node *) expr, 0, 0);
}

/* A part of a condition that has no column, such as $1 IS NULL */
static MtsQual *
ship_value(const Target *target, Expr *expr, bool negated)
{
	MtsQual *qual;

	if (!is_constant_in_scan(target, expr) || !is_early_value(expr))
		return NULL;
	qual = make_qual(MTS_QUAL_VALUE, true);
	qual->column = -1;
	qual->time_only = true;
	qual->right = negated ? make_notclause(expr) : expr;
	return qual;
}

static MtsQual *
ship_list(const Target *target, BoolExpr *expr, bool negated)
{
	bool all = (expr->boolop == AND_EXPR) != negated;
	MtsQual *qual = make_qual(all ? MTS_QUAL_AND : MTS_QUAL_OR, true);
	bool has_times = false;
	ListCell *lc;

	foreach (lc, expr->args)
	{
		MtsQual *arg = ship(target, lfirst(lc), negated);

		if (!arg)
			arg = ship_value(target, lfirst(lc), negated);
		if (arg)
		{
			qual->args = lappend(qual->args, arg);
			qual->exact = qual->exact && arg->exact;
			has_times |= arg->time_only && arg->kind != MTS_QUAL_VALUE;
			qual->time_only = qual->time_only && arg->time_only;
		}
		else if (all)
			qual->exact = false;
		else
			return NULL;
	}

	/* mixed with other quals, times choose buckets, but do not trim points */
	if (has_times && !qual->time_only)
		qual->exact = false;
	return qual->args == NIL ? NULL : qual;
}

/* A boolean key as a clause, or in "key IS TRUE" and the like */
static MtsQual *
ship_bool(const Target *target, Expr *expr, bool value)
{
	int column = column_of(target, expr);

	if (!mts_shippable_is_key(target->table, column) ||
		target->table->attributes[column].typid != BOOLOID ||
		target->table->attributes[column].key_type != MTS_KEY_IS_BOOL)
		return NULL;
	return make_equality(MTS_QUAL_KEY, column,
						 (Const *) makeBoolConst(value, false));
}

static MtsQual *
ship_null(const Target *target, NullTest *expr, bool negated)
{
	const MtsLayout *layout = &target->table->layout;
	int column = column_of(target, expr->arg);
	bool is_null = (expr->nulltesttype == IS_NULL) != negated;
	bool is_time = column >= 0 && column == layout->time_column;
	bool is_any;
	MtsQual *qual;

	/* each point of a bucket has a time: an empty OR is false, AND true */
	if (!expr->argisrow && is_time && layout->time_kind != MTS_TIME_FLAT)
		return make_qual(is_null ? MTS_QUAL_OR : MTS_QUAL_AND, true);
	if (expr->argisrow ||
		(is_time ? is_null : !mts_shippable_is_key(target->table, column)))
		return NULL;
	/* to MongoDB an array with a null in it is null, to jsonb it is not */
	is_any = !is_time &&
			 (target->table->attributes[column].key_type == MTS_KEY_ANY ||
			  target->table->attributes[column].key_type == MTS_KEY_AS_TEXT);
	if (is_any && !is_null)
		return NULL;
	qual = make_qual(is_null ? MTS_QUAL_NULL : MTS_QUAL_NOT_NULL, !is_any);
	qual->column = column;
	qual->time_only = is_time;
	return qual;
}

/* Make the qual of an expression, or of its negation. */
static MtsQual *
ship(const Target *target, Expr *expr, bool negated)
{
	switch (nodeTag(expr))
	{
		case T_OpExpr:
			if (list_length(((OpExpr *) expr)->args) != 2)
				return NULL;
			return ship_comparison(target, (OpExpr *) expr, negated);
		case T_FuncExpr:
			return ship_overlaps(target, (FuncExpr *) expr, negated);
		case T_ScalarArrayOpExpr:
			return ship_array(target, (ScalarArrayOpExpr *) expr, negated);
		case T_RowCompareExpr:
			return ship_row(target, (RowCompareExpr *) expr, negated);
		case T_NullTest:
			return ship_null(target, (NullTest *) expr, negated);
		case T_BoolExpr:
			if (((BoolExpr *) expr)->boolop == NOT_EXPR)
				return ship(target, linitial(((BoolExpr *) expr)->args),
							!negated);
			return ship_list(target, (BoolExpr *) expr, negated);
		case T_BooleanTest:
			/* their negations are true of null, so they are not shipped */
			if (!negated && ((BooleanTest *) expr)->booltesttype == IS_TRUE)
				return ship(target, ((BooleanTest *) expr)->arg, false);
			if (!negated && ((BooleanTest *) expr)->booltesttype == IS_FALSE)
				return ship(target, ((BooleanTest *) expr)->arg, true);
			return NULL;
		case T_Var:
		case T_RelabelType:
			return ship_bool(target, expr, !negated);
		default:
			return NULL;
	}
}

/*
 * Tell whether a qual depends on a column of the relation.  A list without
 * quals comes from one.
 */
static bool
has_column(const MtsQual *qual)
{
	ListCell *lc;

	if (qual->kind != MTS_QUAL_AND && qual->kind != MTS_QUAL_OR)
		return qual->kind != MTS_QUAL_VALUE;
	foreach (lc, qual->args)
		if (has_column(lfirst(lc)))
			return true;
	return qual->args == NIL;
}

/*
 * mts_shippable_clause
 *		Make the qual of a clause on the relation varno; NULL if MongoDB cannot
 *		evaluate it.
 *
 * A clause that depends on no column is not shipped: PostgreSQL decides by it
 * whether to scan.
 */
MtsQual *
mts_shippable_clause(const MtsTable *table, Index varno, Expr *clause)
{
	Target target = {table, varno};
	MtsQual *qual = ship(&target, clause, false);

	return qual && has_column(qual) ? qual : NULL;
}
