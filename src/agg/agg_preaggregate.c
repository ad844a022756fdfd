/*
 * agg_preaggregate.c
 *		Compute the transition values of a bucket's points from its
 *		pre-aggregates.
 *
 * Pre-aggregates are fields of the bucket: the number of its points, and the
 * sum, the minimum and the maximum of a column.  From these the transition
 * value that an aggregate would have after the bucket's points is made.  The
 * aggregate's combine function adds it to the group's.
 *
 * A stored null is a point without a value, which the number of points counts.
 * What depends on the number of values therefore requires a column that is NOT
 * NULL, or the only one of the points whose missing value is null: a null is
 * no point then.  A sum that is not 0 shows that there are values, and so does
 * an extreme.
 *
 * A field that is absent, has another type or leaves a doubt is not an error:
 * the bucket's points decide.
 */
#include "agg/agg_private.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/float.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

/* A bucket that counts 2^COUNT_BITS points or more is not believed. */
#define COUNT_BITS 24

/* The form of a transition value */
typedef enum Form
{
	FORM_COUNT,         /* bigint: the number of points */
	FORM_SUM,           /* bigint or double precision: the sum */
	FORM_COUNT_AND_SUM, /* an array of these: {count, sum, ..} */
	FORM_MINIMUM,       /* the value of the column */
	FORM_MAXIMUM,
	FORM_INTERNAL_SUM,     /* internal; made by the transition function */
	FORM_INTERNAL_AVERAGE, /* the same, with the number of points */
} Form;

/* The aggregates of a column that require a field of it */
static const struct
{
	Oid aggregate;
	Form form;
} forms[] = {
	{F_SUM_INT2, FORM_SUM},
	{F_SUM_INT4, FORM_SUM},
	{F_SUM_INT8, FORM_INTERNAL_SUM},
	{F_SUM_FLOAT8, FORM_SUM},
	{F_AVG_INT2, FORM_COUNT_AND_SUM},
	{F_AVG_INT4, FORM_COUNT_AND_SUM},
	{F_AVG_INT8, FORM_INTERNAL_AVERAGE},
	{F_AVG_FLOAT8, FORM_COUNT_AND_SUM},
	{F_MIN_INT2, FORM_MINIMUM},
	{F_MIN_INT4, FORM_MINIMUM},
	{F_MIN_INT8, FORM_MINIMUM},
	{F_MIN_FLOAT4, FORM_MINIMUM},
	{F_MIN_FLOAT8, FORM_MINIMUM},
	{F_MIN_NUMERIC, FORM_MINIMUM},
	{F_MAX_INT2, FORM_MAXIMUM},
	{F_MAX_INT4, FORM_MAXIMUM},
	{F_MAX_INT8, FORM_MAXIMUM},
	{F_MAX_FLOAT4, FORM_MAXIMUM},
	{F_MAX_FLOAT8, FORM_MAXIMUM},
	{F_MAX_NUMERIC, FORM_MAXIMUM},
};

/* What an aggregate requires of a bucket */
typedef struct Preaggregate
{
	Form form;
	const MtsField *field; /* NULL if the number of points is enough */
	const MtsField *other; /* of an extreme: the other one; of a sum: one that
							* shows that there are values; or NULL */
	const MtsColumn *column;
	MtsFromBson *converter;
	bool is_float8;     /* the column is double precision */
	bool is_never_null; /* each point has a value of the column */
	ArrayType *array; /* of FORM_COUNT_AND_SUM; overwritten for each bucket */
	NullableDatum *zeros; /* of FORM_INTERNAL_AVERAGE: the transition values
						   * after 2^i zeros, by i */
	Datum value;          /* of the current bucket, in the field */
} Preaggregate;

struct MtsPreaggregates
{
	Preaggregate *items; /* by aggregate */
	const MtsField **fields;
	int nfields;
};

/* ---- Preparation -------------------------------------------------------- */

/* Advance a transition value by one bigint. */
static void
advance_integer(const MtsTransition *transition, NullableDatum *state,
				Datum value)
{
	transition->transfn->args[1].value = value;
	transition->transfn->args[1].isnull = false;
	mts_transition_advance(transition, state);
}

/*
 * The transition values after 1, 2, 4 .. zeros.  An aggregate with a value of
 * type internal counts its values, and only its own functions can.
 */
static NullableDatum *
make_zeros(const MtsTransition *transition)
{
	NullableDatum *zeros = palloc(COUNT_BITS * sizeof(NullableDatum));
	MemoryContext groups = transition->context->curaggcontext;

	/* unlike groups, these are never removed */
	transition->context->curaggcontext = CurrentMemoryContext;
	for (int i = 0; i < COUNT_BITS; i++)
	{
		mts_transition_start(transition, &zeros[i]);
		if (i == 0)
			advance_integer(transition, &zeros[i], Int64GetDatum(0));
		else
			for (int half = 0; half < 2; half++)
				mts_transition_combine(transition, &zeros[i],
									   zeros[i - 1].value);
	}
	transition->context->curaggcontext = groups;
	return zeros;
}

/* The reason that an aggregate of a column gives to read the points */
static const char *
problem_of(const char *format, const MtsAggregate *aggregate,
		   const Preaggregate *preaggregate)
{
	return psprintf(format, get_func_name(aggregate->oid),
					preaggregate->column->name);
}

/* Find what an aggregate of a column requires, or why it needs the values. */
static const char *
find_field(Preaggregate *preaggregate, const MtsAggregate *aggregate)
{
	static const char *const nullable =
		"%s(%s) requires that the column is never null";
	const MtsColumn *column = preaggregate->column;
	int i = 0;

	if (aggregate->oid == F_COUNT_ANY)
		return preaggregate->is_never_null
				   ? NULL
				   : problem_of(nullable, aggregate, preaggregate);
	while (i < lengthof(forms) && forms[i].aggregate != aggregate->oid)
		i++;
	if (i == lengthof(forms))
		return problem_of("no declared field answers %s(%s)", aggregate,
						  preaggregate);
	preaggregate->form = forms[i].form;
	preaggregate->field = &column->sum;
	if (preaggregate->form == FORM_MINIMUM)
		preaggregate->field = &column->min;
	if (preaggregate->form == FORM_MAXIMUM)
		preaggregate->field = &column->max;
	if (!preaggregate->field->is_set)
		return problem_of("no declared field answers %s(%s)", aggregate,
						  preaggregate);
	if (preaggregate->field != &column->max && column->max.is_set)
		preaggregate->other = &column->max;
	else if (preaggregate->field != &column->min && column->min.is_set)
		preaggregate->other = &column->min;
	if (preaggregate->field == &column->sum && preaggregate->is_never_null)
		preaggregate->other = NULL;
	if (preaggregate->form == FORM_COUNT_AND_SUM)
		preaggregate->array =
			DatumGetArrayTypePCopy(aggregate->transition.initial.value);
	if (preaggregate->form == FORM_INTERNAL_AVERAGE)
		preaggregate->zeros = make_zeros(&aggregate->transition);
	/* an average depends on the number of values */
	if (!preaggregate->is_never_null &&
		(preaggregate->form == FORM_COUNT_AND_SUM ||
		 preaggregate->form == FORM_INTERNAL_AVERAGE))
		return problem_of(nullable, aggregate, preaggregate);
	return NULL;
}

/* Tell whether a point is one by its value of a column, which is not null. */
static bool
is_reading(const MtsLayout *layout, const MtsColumn *column)
{
	for (int i = 0; i < layout->ncolumns; i++)
		if (layout->columns[i].role == MTS_ROLE_VALUE &&
			&layout->columns[i] != column)
			return false;
	return column->missing.kind == MTS_MISSING_NULL;
}

/*
 * Tell whether the extremes of a bucket suffice for the values in between.
 * Those of a native bucket can be any numbers.  One that the column cannot
 * store, such as 1.5 in a column of integers, is an error, which only the
 * points show.
 */
static bool
extremes_suffice(const MtsTable *table, const MtsAttribute *attribute)
{
	return !table->native || attribute->typid == FLOAT8OID ||
		   (attribute->typid == NUMERICOID && attribute->typmod < 0);
}

/* Find what an aggregate requires, or why it needs the values. */
static const char *
init_preaggregate(Preaggregate *preaggregate, const MtsAggregate *aggregate,
				  const MtsBucket *bucket)
{
	const MtsTable *table = bucket->table;
	const char *problem;
	bool is_time;
	int column;

	if (aggregate->filter)
		return "a FILTER is checked for each point";
	preaggregate->form = FORM_COUNT;
	if (aggregate->narguments == 0 && aggregate->oid == F_COUNT_)
		return NULL;
	column =
		aggregate->narguments == 1 ? aggregate->arguments[0].attribute : -1;
	if (column < 0)
		return "an argument is not a column";
	is_time = column == table->layout.time_column;
	preaggregate->column = &table->layout.columns[column];
	preaggregate->converter = mts_bucket_converter(bucket, column);
	preaggregate->is_float8 = table->attributes[column].typid == FLOAT8OID;
	preaggregate->is_never_null =
		is_time || table->attributes[column].not_null ||
		is_reading(&table->layout, preaggregate->column);
	if (!is_time && preaggregate->column->role != MTS_ROLE_VALUE)
		return psprintf("column \"%s\" is not a value of a point",
						preaggregate->column->name);
	problem = find_field(preaggregate, aggregate);
	if (!problem && preaggregate->other &&
		!extremes_suffice(table, &table->attributes[column]))
		return problem_of("%s(%s) requires the values", aggregate,
						  preaggregate);
	return problem;
}

/*
 * mts_agg_find_preaggregates
 *		Find the fields that suffice for all aggregates, and have the scan
 *		fetch them; NULL, with the reason in *problem, if there are none.
 */
MtsPreaggregates *
mts_agg_find_preaggregates(const MtsAgg *agg, const char **problem)
{
	const MtsBucket *bucket = agg->scan->bucket;
	MtsPreaggregates *found = palloc0(sizeof(MtsPreaggregates));

	found->items = palloc0((agg->naggregates + 1) * sizeof(Preaggregate));
	found->fields = palloc((2 * agg->naggregates + 1) * sizeof(MtsField *));
	found->fields[found->nfields++] = &bucket->table->layout.count;
	for (int i = 0; i < agg->naggregates; i++)
	{
		*problem =
			init_preaggregate(&found->items[i], &agg->aggregates[i], bucket);
		if (*problem)
			return NULL;
		if (found->items[i].field)
			found->fields[found->nfields++] = found->items[i].field;
		if (found->items[i].other)
			found->fields[found->nfields++] = found->items[i].other;
	}
	agg->scan->spec.headers = found->fields;
	agg->scan->spec.nheaders = found->nfields;
	return found;
}

/* ---- A bucket ----------------------------------------------------------- */

/*
 * Tell whether MongoDB and PostgreSQL order an extreme alike: it is a number.
 * NaN is MongoDB's least number and PostgreSQL's greatest.
 */
static bool
is_ordered_alike(const MtsElement *element)
{
	char text[BSON_DECIMAL128_STRING];

	switch (element->type)
	{
		case BSON_TYPE_DOUBLE:
			return !isnan(mts_element_double(element));
		case BSON_TYPE_DECIMAL128:
			mts_element_decimal(element, text);
			return strcmp(text, "NaN") != 0;
		case BSON_TYPE_INT32:
		case BSON_TYPE_INT64:
			return true;
		default:
			return false;
	}
}

/* Read the minimum or maximum as a value of the column; false in doubt. */
static bool
read_extreme(Preaggregate *preaggregate, const MtsElement *element)
{
	MtsError error;
	bool isnull;

	return is_ordered_alike(element) &&
		   !mts_unfold_is_missing(&preaggregate->column->missing, element) &&
		   mts_from_bson_element(preaggregate->converter, element,
								 &preaggregate->value, &isnull, &error) &&
		   !isnull;
}

/*
 * Read the sum as a bigint or double precision; false in doubt.  *is_zero
 * tells whether it can be the sum of no values.
 */
static bool
read_sum(Preaggregate *preaggregate, const MtsElement *element, bool *is_zero)
{
	if (preaggregate->is_float8)
	{
		double d;

		if (!mts_unfold_header_double(element, &d))
			return false;
		preaggregate->value = Float8GetDatum(d);
		*is_zero = d == 0;
	}
	else
	{
		int64 n;

		if (!mts_element_integer(element, MTS_MAX_EXACT, &n))
			return false;
		preaggregate->value = Int64GetDatum(n);
		*is_zero = n == 0;
	}
	return true;
}

/* Read the field that an aggregate requires, if any; false in doubt. */
static bool
read_value(Preaggregate *preaggregate, const MtsUnfold *unfold)
{
	MtsElement element;
	bool is_zero, is_extreme = preaggregate->form == FORM_MINIMUM ||
							   preaggregate->form == FORM_MAXIMUM;

	if (!preaggregate->field)
		return true;
	if (!mts_unfold_header_find(unfold, preaggregate->field, &element) ||
		!(is_extreme ? read_extreme(preaggregate, &element)
					 : read_sum(preaggregate, &element, &is_zero)))
		return false;
	if (is_extreme ? !preaggregate->other
				   : preaggregate->is_never_null || !is_zero)
		return true;
	return preaggregate->other &&
		   mts_unfold_header_find(unfold, preaggregate->other, &element) &&
		   is_ordered_alike(&element);
}

/*
 * mts_agg_read_preaggregates
 *		Read the pre-aggregates of the current bucket.
 *
 * Returns the number of its points; -1 if its points must be read.
 */
int64
mts_agg_read_preaggregates(MtsAgg *agg, MtsPreaggregates *preaggregates)
{
	const MtsUnfold *unfold = &agg->bucket->unfold;
	MtsElement element;
	int64 points;

	if (!mts_unfold_header_find(unfold, preaggregates->fields[0], &element) ||
		!mts_element_integer(&element, MTS_MAX_EXACT, &points) || points < 0 ||
		points >> COUNT_BITS != 0)
		return -1;
	for (int i = 0; points > 0 && i < agg->naggregates; i++)
		if (!read_value(&preaggregates->items[i], unfold))
			return -1;
	return points;
}

/*
 * Set the count and the sum in the array of FORM_COUNT_AND_SUM.  That of
 * doubles has the sum of squared differences, too, which is unknown and avg()
 * ignores.
 */
static void
fill_array(const Preaggregate *preaggregate, int64 points)
{
	if (preaggregate->is_float8)
	{
		float8 *items = (float8 *) ARR_DATA_PTR(preaggregate->array);

		items[0] = points;
		items[1] = DatumGetFloat8(preaggregate->value);
		items[2] = get_float8_nan();
	}
	else
	{
		int64 *items = (int64 *) ARR_DATA_PTR(preaggregate->array);

		items[0] = points;
		items[1] = DatumGetInt64(preaggregate->value);
	}
}

/* Combine a group's transition value with that of the bucket's points. */
static void
combine(const Preaggregate *preaggregate, const MtsTransition *transition,
		NullableDatum *state, int64 points)
{
	switch (preaggregate->form)
	{
		case FORM_COUNT:
			mts_transition_combine(transition, state, Int64GetDatum(points));
			break;
		case FORM_SUM:
		case FORM_MINIMUM:
		case FORM_MAXIMUM:
			mts_transition_combine(transition, state, preaggregate->value);
			break;
		case FORM_COUNT_AND_SUM:
			fill_array(preaggregate, points);
			mts_transition_combine(transition, state,
								   PointerGetDatum(preaggregate->array));
			break;
		case FORM_INTERNAL_SUM:
			advance_integer(transition, state, preaggregate->value);
			break;
		case FORM_INTERNAL_AVERAGE:
			advance_integer(transition, state, preaggregate->value);
			for (int i = 0; i < COUNT_BITS; i++)
				if ((points - 1) >> i & 1)
					mts_transition_combine(transition, state,
										   preaggregate->zeros[i].value);
			break;
	}
}

/*
 * mts_agg_combine_preaggregates
 *		Combine the current group with the pre-aggregates that were read, of a
 *		number of points that is not 0.
 *
 * The current memory context is reset for each point.
 */
void
mts_agg_combine_preaggregates(MtsAgg *agg,
							  const MtsPreaggregates *preaggregates,
							  int64 points)
{
	for (int i = 0; i < agg->naggregates; i++)
		if (!agg->aggregates[i].bucket_is_filtered_out)
			combine(&preaggregates->items[i], &agg->aggregates[i].transition,
					&agg->group[i], points);
}
