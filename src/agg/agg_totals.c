/*
 * agg_totals.c
 *		Compute the transition values of points from their totals.
 *
 * Totals are the number of points and, of a column, the number, the sum, the
 * minimum and the maximum of its values.  From these the transition value that
 * an aggregate would have after the points is made.  The aggregate's combine
 * function adds it to the group's.
 *
 * Where totals come from is not known here: agg_preaggregate.c reads them from
 * the fields of a bucket, and agg_rollup.c from the rows of a roll-up.
 */
#include "agg/agg_totals.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "utils/float.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"

/* The aggregates of a column that totals answer, besides min() and max() */
static const struct
{
	Oid aggregate;
	MtsTotalsForm form;
} forms[] = {
	{F_COUNT_ANY, MTS_FORM_COUNT},
	{F_SUM_INT2, MTS_FORM_SUM},
	{F_SUM_INT4, MTS_FORM_SUM},
	{F_SUM_INT8, MTS_FORM_INTERNAL_SUM},
	{F_SUM_FLOAT8, MTS_FORM_SUM},
	{F_SUM_NUMERIC, MTS_FORM_INTERNAL_SUM},
	{F_AVG_INT2, MTS_FORM_COUNT_AND_SUM},
	{F_AVG_INT4, MTS_FORM_COUNT_AND_SUM},
	{F_AVG_INT8, MTS_FORM_INTERNAL_AVERAGE},
	{F_AVG_FLOAT8, MTS_FORM_COUNT_AND_SUM},
	{F_AVG_NUMERIC, MTS_FORM_INTERNAL_AVERAGE},
};

/* The totals of a column that a form is made of */
static const int totals_of[] = {
	[MTS_FORM_POINTS] = 0,
	[MTS_FORM_COUNT] = MTS_TOTAL_COUNT,
	[MTS_FORM_SUM] = MTS_TOTAL_SUM,
	[MTS_FORM_COUNT_AND_SUM] = MTS_TOTAL_COUNT | MTS_TOTAL_SUM,
	[MTS_FORM_MIN] = MTS_TOTAL_MIN,
	[MTS_FORM_MAX] = MTS_TOTAL_MAX,
	[MTS_FORM_INTERNAL_SUM] = MTS_TOTAL_SUM,
	[MTS_FORM_INTERNAL_AVERAGE] = MTS_TOTAL_COUNT | MTS_TOTAL_SUM,
};

/* Tell whether an aggregate is PostgreSQL's own of a name, for some type. */
static bool
is_named(Oid aggregate, const char *name)
{
	return aggregate < FirstGenbkiObjectId &&
		   strcmp(get_func_name(aggregate), name) == 0;
}

/* Find the form of an aggregate of a column; false if there is none. */
static bool
find_form(Oid aggregate, MtsTotalsForm *form)
{
	*form = is_named(aggregate, "min") ? MTS_FORM_MIN : MTS_FORM_MAX;
	if (*form == MTS_FORM_MIN || is_named(aggregate, "max"))
		return true;
	for (int i = 0; i < lengthof(forms); i++)
		if (forms[i].aggregate == aggregate)
		{
			*form = forms[i].form;
			return true;
		}
	return false;
}

/*
 * mts_agg_totals_find
 *		Find the totals of its column that an aggregate requires, as bits of
 *		MtsTotal; false if totals never answer it.
 */
bool
mts_agg_totals_find(Oid aggregate, int *totals)
{
	MtsTotalsForm form;

	if (!find_form(aggregate, &form))
		return false;
	*totals = totals_of[form];
	return true;
}

/* Advance a transition value by one value of the column. */
static void
advance(const MtsTransition *transition, NullableDatum *state, Datum value)
{
	transition->transfn->args[1].value = value;
	transition->transfn->args[1].isnull = false;
	mts_transition_advance(transition, state);
}

/*
 * Make the transition values after 1, 2, 4 .. zeros.  An aggregate with a
 * value of type internal counts its values, and only its own functions can.
 */
static NullableDatum *
make_zeros(const MtsTransition *transition, bool is_numeric)
{
	Datum zero =
		is_numeric ? NumericGetDatum(int64_to_numeric(0)) : Int64GetDatum(0);
	NullableDatum *zeros = palloc(MTS_TOTALS_BITS * sizeof(NullableDatum));
	MemoryContext groups = transition->context->curaggcontext;

	/* unlike groups, these are never removed */
	transition->context->curaggcontext = CurrentMemoryContext;
	for (int i = 0; i < MTS_TOTALS_BITS; i++)
	{
		mts_transition_start(transition, &zeros[i]);
		if (i == 0)
			advance(transition, &zeros[i], zero);
		else
			for (int half = 0; half < 2; half++)
				mts_transition_combine(transition, &zeros[i],
									   zeros[i - 1].value);
	}
	transition->context->curaggcontext = groups;
	return zeros;
}

/* Tell whether an aggregate is the average of a column by its own count. */
static bool
has_average(const MtsAggSpec *spec, int column)
{
	for (int i = 0; i < spec->naggregates; i++)
		if ((spec->aggregates[i].oid == F_AVG_INT8 ||
			 spec->aggregates[i].oid == F_AVG_NUMERIC) &&
			spec->aggregates[i].arguments[0].attribute == column)
			return true;
	return false;
}

/*
 * mts_agg_totals_require
 *		Find what an aggregate of all points, or of a column of theirs,
 *		requires of totals; false if totals never answer it.
 */
bool
mts_agg_totals_require(const MtsAggSpec *spec, const MtsAggregate *aggregate,
					   MtsRequired *required)
{
	const MtsTransition *transition = &aggregate->transition;
	Oid typid;

	*required = (MtsRequired){.form = MTS_FORM_POINTS};
	if (aggregate->oid == F_COUNT_)
		return true;
	if (!find_form(aggregate->oid, &required->form))
		return false;
	required->column = aggregate->arguments[0].attribute;
	/* PostgreSQL finishes both from the transition value of one of them */
	if (required->form == MTS_FORM_INTERNAL_SUM &&
		has_average(spec, required->column))
		required->form = MTS_FORM_INTERNAL_AVERAGE;
	required->totals = totals_of[required->form];
	typid = spec->table->attributes[required->column].typid;
	required->is_float8 = typid == FLOAT8OID;
	if (required->form == MTS_FORM_COUNT_AND_SUM)
		required->array = DatumGetArrayTypePCopy(transition->initial.value);
	if (required->form == MTS_FORM_INTERNAL_AVERAGE)
		required->zeros = make_zeros(transition, typid == NUMERICOID);
	return true;
}

/*
 * Set the count and the sum in the array of MTS_FORM_COUNT_AND_SUM.  That of
 * doubles has the sum of squared differences, too, which is unknown and avg()
 * ignores.
 */
static void
fill_array(const MtsRequired *required, const MtsColumnTotals *column)
{
	if (required->is_float8)
	{
		float8 *items = (float8 *) ARR_DATA_PTR(required->array);

		items[0] = column->count;
		items[1] = DatumGetFloat8(column->sum);
		items[2] = get_float8_nan();
	}
	else
	{
		int64 *items = (int64 *) ARR_DATA_PTR(required->array);

		items[0] = column->count;
		items[1] = DatumGetInt64(column->sum);
	}
}

/* Make the transition value of the points, if its type is not internal. */
static Datum
transition_value(const MtsRequired *required, const MtsTotals *totals)
{
	const MtsColumnTotals *column = &totals->columns[required->column];

	switch (required->form)
	{
		case MTS_FORM_POINTS:
			return Int64GetDatum(totals->npoints);
		case MTS_FORM_COUNT:
			return Int64GetDatum(column->count);
		case MTS_FORM_MIN:
			return column->min;
		case MTS_FORM_MAX:
			return column->max;
		case MTS_FORM_COUNT_AND_SUM:
			fill_array(required, column);
			return PointerGetDatum(required->array);
		default:
			return column->sum;
	}
}

/*
 * Combine a group's transition value with that of the points.  One of type
 * internal is advanced by their sum and, for an average, by as many zeros as
 * there are other values.
 */
static void
combine_totals(const MtsTransition *transition, const MtsRequired *required,
			   const MtsTotals *totals, NullableDatum *state)
{
	Datum value;

	if (required->form != MTS_FORM_POINTS &&
		required->form != MTS_FORM_COUNT &&
		totals->columns[required->column].is_empty)
		return;
	value = transition_value(required, totals);
	if (required->form != MTS_FORM_INTERNAL_SUM &&
		required->form != MTS_FORM_INTERNAL_AVERAGE)
	{
		mts_transition_combine(transition, state, value);
		return;
	}
	advance(transition, state, value);
	for (int i = 0; required->zeros && i < MTS_TOTALS_BITS; i++)
		if ((totals->columns[required->column].count - 1) >> i & 1)
			mts_transition_combine(transition, state,
								   required->zeros[i].value);
}

/*
 * mts_agg_totals_combine
 *		Combine the transition values of a group with those of points, whose
 *		totals are as required by each aggregate.
 *
 * Some aggregates exclude the points.  The functions may leave garbage in the
 * current memory context.
 */
void
mts_agg_totals_combine(const MtsAggSpec *spec, const MtsRequired *required,
					   const MtsTotals *totals, const bool *excludes,
					   NullableDatum *group)
{
	for (int i = 0; i < spec->naggregates; i++)
		if (!excludes[i])
			combine_totals(&spec->aggregates[i].transition, &required[i],
						   totals, &group[i]);
}
