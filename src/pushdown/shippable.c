/*
 * shippable.c
 *		Determine which clauses MongoDB, or the unfolding, can decide.
 *
 * A clause goes down as a qual where comparing its columns means the same in
 * MongoDB as in PostgreSQL: operators, types and collations say so.  A qual
 * that is not exact matches all that the clause does and more, so PostgreSQL
 * checks the clause again.  The planner classifies a relation's clauses once
 * (plan.c); the executor makes the quals of a plan's clauses again, once a
 * scan, and evaluates them (evaluate.c).
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
#include "pushdown/monotonic.h"

/* How many seconds a time may be from another of which it is made */
#define MAX_AWAY ((int64) 1000 * 366 * SECS_PER_DAY)

/* How far what is compared is from the column, in seconds: it is the column */
#define ITSELF (-1)

/*
 * How far the instant of a local time can be from the same time in UTC, and
 * a day's cast from the times that it holds, with room to spare.
 */
#define INEXACT_SLACK (2 * USECS_PER_DAY)

typedef struct Walk
{
	const MtsTable *table;
	Index varno;
} Walk;

static MtsQual *walk(const Walk *context, Expr *expr, bool want);

static MtsQual *
make_test(MtsQualKind kind, bool exact)
{
	MtsQual *qual = palloc0(sizeof(MtsQual));

	qual->kind = kind;
	qual->exact = exact;
	qual->time_only =
		kind == MTS_QUAL_TIME || kind == MTS_QUAL_AND || kind == MTS_QUAL_OR;
	return qual;
}

/* The qual that a field is equal to a constant */
static MtsQual *
make_equality(MtsQualKind kind, int column, Const *value)
{
	MtsQual *qual = make_test(kind, true);

	qual->column = column;
	qual->strategy = BTEqualStrategyNumber;
	qual->right_type = value->consttype;
	qual->right = (Expr *) value;
	return qual;
}

/* ---- Columns --------------------------------------------------------------- */

/*
 * mts_shippable_var
 *		The column of the relation varno that an expression is, perhaps
 *		relabelled; or NULL.
 */
Var *
mts_shippable_var(Expr *expr, Index varno)
{
	Var *var;

	while (IsA(expr, RelabelType))
		expr = ((RelabelType *) expr)->arg;
	var = (Var *) expr;
	return IsA(expr, Var) && var->varno == varno && var->varlevelsup == 0
			   ? var
			   : NULL;
}

/* The same as a column of the layout; or -1 */
static int
column_of(const Walk *context, Expr *expr)
{
	Var *var = mts_shippable_var(expr, context->varno);

	return var ? var->varattno - 1 : -1;
}

/* Is this column the bucket's, and can a query address its field? */
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

/* Has this expression the same value for all rows of the scan? */
static bool
is_constant_in_scan(const Walk *context, Expr *expr)
{
	return !bms_is_member(context->varno, pull_varnos(NULL, (Node *) expr)) &&
		   !contain_volatile_functions((Node *) expr) &&
		   !contain_subplans((Node *) expr);
}

/*
 * The time column, of which an expression is made, or -1, and how many seconds
 * it can be away from it: a cast, date_trunc, AT TIME ZONE, a shift.  Zones
 * and their clocks count there, so it is never exact.
 */
static int
column_near(const Walk *context, Expr *expr, int64 *away)
{
	int column = context->table->layout.time_column;

	return column >= 0 &&
				   mts_monotonic_is_near((Node *) expr, context->varno,
										 column + 1, away) &&
				   *away <= MAX_AWAY
			   ? column
			   : -1;
}

/* What extract(epoch FROM ..), a numeric, is of; NULL: it is something else */
static Expr *
argument_of_epoch(const FuncExpr *call)
{
	const Const *field;

	if (!IsA(call, FuncExpr) || (call->funcid != F_EXTRACT_TEXT_TIMESTAMP &&
								 call->funcid != F_EXTRACT_TEXT_TIMESTAMPTZ))
		return NULL;
	field = linitial(call->args);
	return mts_monotonic_is_constant((Node *) field) &&
				   pg_strcasecmp(TextDatumGetCString(field->constvalue),
								 "epoch") == 0
			   ? lsecond(call->args)
			   : NULL;
}

/* ---- Comparisons ----------------------------------------------------------- */

/* The strategy of an operator in the B-tree family of a type, or 0. */
static int
strategy_of(Oid opno, Oid typid)
{
	Oid family = lookup_type_cache(typid, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	int strategy = get_op_opfamily_strategy(opno, family);

	/* <> is in none */
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

/* Do two text operators of this collation compare as MongoDB does? */
bool
mts_shippable_collation_fits(Oid collation, int strategy)
{
	if (is_equality(strategy))
		return !OidIsValid(collation) ||
			   get_collation_isdeterministic(collation);
	/* MongoDB orders text by its bytes in UTF-8 */
	return OidIsValid(collation) && mts_collation_is_c(collation) &&
		   GetDatabaseEncoding() == PG_UTF8;
}

/*
 * A comparison with a time: of the points, or of another of the bucket's.  By
 * instants it means what PostgreSQL's operator means, but not where the order
 * of local times is not that of instants.
 */
static MtsQual *
time_test(const MtsTable *table, int column, int64 away, int strategy,
		  Oid right)
{
	const MtsAttribute *attribute = &table->attributes[column];
	bool of_points = column == table->layout.time_column;
	bool exact =
		away == ITSELF && (attribute->typid == TIMESTAMPTZOID ||
						   (table->is_utc && right != TIMESTAMPTZOID));
	MtsQual *qual;

	if (!of_points && attribute->key_type != MTS_KEY_IS_DATE)
	{
		if (attribute->key_type != MTS_KEY_IS_TIME)
			return NULL;
		/* numbers are bounded by whole units only */
		exact = false;
	}
	if (strategy == ROWCOMPARE_NE && !exact)
		return NULL;
	qual = make_test(of_points ? MTS_QUAL_TIME : MTS_QUAL_KEY_TIME, exact);
	if (!exact)
		qual->tolerance = INEXACT_SLACK + Max(away, 0) * USECS_PER_SEC;
	return qual;
}

/*
 * A comparison of extract(epoch FROM time) with a numeric, which has the
 * microseconds, too.  NULL when it is not the points' time, or local times are
 * not instants.
 */
static MtsQual *
epoch_test(const MtsTable *table, int column)
{
	MtsQual *qual;

	if (column != table->layout.time_column ||
		(table->attributes[column].typid != TIMESTAMPTZOID && !table->is_utc))
		return NULL;
	qual = make_test(MTS_QUAL_TIME, true);
	qual->is_epoch = true;
	return qual;
}

/*
 * A comparison of a key with a value of its own type family.  NULL where
 * MongoDB's order or equality is not PostgreSQL's.
 */
static MtsQual *
key_test(const MtsAttribute *attribute, int strategy, Oid right, Oid collation)
{
	bool is_text =
		mts_type_is_text(attribute->typid) && mts_type_is_text(right);
	/* which numerics MongoDB compares alike shows at run time */
	bool exact = attribute->typid != NUMERICOID;
	bool fits;

	switch (attribute->key_type)
	{
		case MTS_KEY_IS_NUMBER:
			fits = mts_type_is_number(attribute->typid) &&
				   (exact || strategy != ROWCOMPARE_NE);
			break;
		case MTS_KEY_IS_STRING:
			fits =
				is_text && mts_shippable_collation_fits(collation, strategy);
			break;
		case MTS_KEY_IS_OID:
			fits = is_text && is_equality(strategy) &&
				   mts_shippable_collation_fits(collation, strategy);
			break;
		case MTS_KEY_IS_BOOL:
			fits = attribute->typid == BOOLOID && is_equality(strategy);
			break;
		default:
			fits = false;
	}
	return fits ? make_test(MTS_QUAL_KEY, exact) : NULL;
}

/*
 * The qual of a column, or what is made of the time, by an operator with what
 * is constant in the scan; want is false for the negation.  right_type is that
 * of the elements where right is an array.
 */
static MtsQual *
compare(const Walk *context, Expr *left, Oid opno, Expr *right, Oid right_type,
		Oid collation, bool want)
{
	const MtsTable *table = context->table;
	Expr *time = argument_of_epoch((FuncExpr *) left);
	int column = column_of(context, time ? time : left);
	int64 away = ITSELF;
	const MtsAttribute *attribute;
	int strategy;
	MtsQual *qual;

	if (column < 0 && !time)
		column = column_near(context, left, &away);
	if (column < 0 || !OidIsValid(opno) ||
		!is_constant_in_scan(context, right) ||
		(column != table->layout.time_column &&
		 !mts_shippable_is_key(table, column)))
		return NULL;
	attribute = &table->attributes[column];
	strategy = strategy_of(want ? opno : get_negator(opno),
						   time ? NUMERICOID : attribute->typid);
	if (strategy == 0)
		return NULL;
	if (time)
		qual = epoch_test(table, column);
	else if (mts_type_is_time(attribute->typid))
		qual = time_test(table, column, away, strategy, right_type);
	else
		qual = key_test(attribute, strategy, right_type, collation);
	if (qual)
	{
		qual->column = column;
		qual->strategy = strategy;
		qual->left_type = exprType((Node *) left);
		qual->right_type = right_type;
		qual->right = right;
	}
	return qual;
}

/*
 * The text before the one "%" that ends a LIKE pattern, or, in one without
 * wildcards, all of it.  NULL for other patterns.
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
walk_like(const Walk *context, const OpExpr *op)
{
	int column = column_of(context, linitial(op->args));
	Const *pattern = lsecond(op->args);
	char *prefix;
	bool is_whole;

	if (!mts_shippable_is_key(context->table, column) ||
		context->table->attributes[column].key_type != MTS_KEY_IS_STRING ||
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

static MtsQual *
walk_comparison(const Walk *context, OpExpr *op, bool want)
{
	Expr *left = linitial(op->args);
	Expr *right = lsecond(op->args);
	Oid opno = op->opno;

	if (opno == OID_TEXT_LIKE_OP)
		return want ? walk_like(context, op) : NULL;
	if (is_constant_in_scan(context, left))
	{
		left = right;
		right = linitial(op->args);
		opno = get_commutator(opno);
	}
	return compare(context, left, opno, right, exprType((Node *) right),
				   op->inputcollid, want);
}

/* column = ANY (array), and column <> ALL (array) */
static MtsQual *
walk_array(const Walk *context, ScalarArrayOpExpr *op, bool want)
{
	Expr *right = lsecond(op->args);
	Oid element = get_base_element_type(exprType((Node *) right));
	MtsQual *qual = OidIsValid(element)
						? compare(context, linitial(op->args), op->opno, right,
								  element, op->inputcollid, want)
						: NULL;

	/* negated, "= ANY" is "<> ALL" */
	if (!qual || qual->strategy != (op->useOr == want ? BTEqualStrategyNumber
													  : ROWCOMPARE_NE))
		return NULL;
	/* of a long list of fractions MongoDB is not asked about any */
	if (mts_type_is_fraction(element))
		qual->exact = false;
	qual->is_array = true;
	return qual;
}

/*
 * (a, b) < (x, y): at least a <= x, and a >= x if it is greater; its negation
 * the other way round.
 */
static MtsQual *
walk_row(const Walk *context, RowCompareExpr *row, bool want)
{
	Expr *left = linitial(row->largs);
	Expr *right = linitial(row->rargs);
	bool is_less = mts_row_is_less(row) == want;
	Oid opno =
		get_opfamily_member(linitial_oid(row->opfamilies),
							exprType((Node *) left), exprType((Node *) right),
							is_less ? BTLessEqualStrategyNumber
									: BTGreaterEqualStrategyNumber);
	MtsQual *qual =
		compare(context, left, opno, right, exprType((Node *) right),
				linitial_oid(row->inputcollids), true);

	if (qual)
		qual->exact = false;
	return qual;
}

/* ---- Other conditions ------------------------------------------------------ */

static MtsQual *
walk_list(const Walk *context, BoolExpr *expr, bool want)
{
	bool all = (expr->boolop == AND_EXPR) == want;
	MtsQual *qual = make_test(all ? MTS_QUAL_AND : MTS_QUAL_OR, true);
	bool has_times = false;
	ListCell *lc;

	foreach (lc, expr->args)
	{
		MtsQual *arg = walk(context, lfirst(lc), want);

		if (arg)
		{
			qual->args = lappend(qual->args, arg);
			qual->exact = qual->exact && arg->exact;
			has_times = has_times || arg->time_only;
			qual->time_only = qual->time_only && arg->time_only;
		}
		else if (all)
			qual->exact = false;
		else
			return NULL;
	}

	/* the bucket's time is only a bound of the points': no exact mixture */
	if (has_times && !qual->time_only)
		qual->exact = false;
	return qual->args == NIL ? NULL : qual;
}

/* A boolean key by itself, or "key IS TRUE" and the like */
static MtsQual *
walk_bool(const Walk *context, Expr *expr, bool value)
{
	int column = column_of(context, expr);

	if (!mts_shippable_is_key(context->table, column) ||
		context->table->attributes[column].typid != BOOLOID ||
		context->table->attributes[column].key_type != MTS_KEY_IS_BOOL)
		return NULL;
	return make_equality(MTS_QUAL_KEY, column,
						 (Const *) makeBoolConst(value, false));
}

static MtsQual *
walk_null(const Walk *context, NullTest *expr, bool want)
{
	const MtsLayout *layout = &context->table->layout;
	int column = column_of(context, expr->arg);
	bool is_null = (expr->nulltesttype == IS_NULL) == want;
	bool is_any;
	MtsQual *qual;

	/* points in buckets have a time: true, or false, without conditions */
	if (!expr->argisrow && column >= 0 && column == layout->time_column &&
		layout->time_kind != MTS_TIME_FLAT)
		return make_test(is_null ? MTS_QUAL_OR : MTS_QUAL_AND, true);
	if (expr->argisrow || !mts_shippable_is_key(context->table, column))
		return NULL;
	/* MongoDB takes an array that holds a null for one, jsonb doesn't */
	is_any = context->table->attributes[column].key_type == MTS_KEY_ANY;
	if (is_any && !is_null)
		return NULL;
	qual = make_test(is_null ? MTS_QUAL_NULL : MTS_QUAL_NOT_NULL, !is_any);
	qual->column = column;
	return qual;
}

static MtsQual *
walk(const Walk *context, Expr *expr, bool want)
{
	switch (nodeTag(expr))
	{
		case T_OpExpr:
			if (list_length(((OpExpr *) expr)->args) != 2)
				return NULL;
			return walk_comparison(context, (OpExpr *) expr, want);
		case T_ScalarArrayOpExpr:
			return walk_array(context, (ScalarArrayOpExpr *) expr, want);
		case T_RowCompareExpr:
			return walk_row(context, (RowCompareExpr *) expr, want);
		case T_NullTest:
			return walk_null(context, (NullTest *) expr, want);
		case T_BoolExpr:
			if (((BoolExpr *) expr)->boolop == NOT_EXPR)
				return walk(context, linitial(((BoolExpr *) expr)->args),
							!want);
			return walk_list(context, (BoolExpr *) expr, want);
		case T_BooleanTest:
			/* IS TRUE and IS FALSE are never null: only wanted as they are */
			if (want && ((BooleanTest *) expr)->booltesttype == IS_TRUE)
				return walk(context, ((BooleanTest *) expr)->arg, true);
			if (want && ((BooleanTest *) expr)->booltesttype == IS_FALSE)
				return walk(context, ((BooleanTest *) expr)->arg, false);
			return NULL;
		case T_Var:
		case T_RelabelType:
			return walk_bool(context, expr, want);
		default:
			return NULL;
	}
}

/*
 * mts_shippable_clause
 *		The qual that a clause on the relation varno goes down as, or NULL.
 */
MtsQual *
mts_shippable_clause(const MtsTable *table, Index varno, Expr *clause)
{
	Walk context = {table, varno};

	return walk(&context, clause, true);
}
