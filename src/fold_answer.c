/*
 * fold_answer.c
 *		What do a bucket's pre-aggregates say of an aggregate?
 *
 * A stored null is a point without a value, so what depends on the number of
 * values takes a column that is NOT NULL.  A sum that isn't 0 has values.
 */
#include "fold_answer.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"

#include "core/header.h"

/* What answers an aggregate of a column; false when nothing does. */
static bool
find_field(MtsAnswer *answer, Oid aggregate)
{
	const MtsColumn *column = answer->column;
	const MtsField *field = &column->sum;
	bool is_average = false;

	switch (aggregate)
	{
		case F_COUNT_ANY:
			answer->kind = MTS_ANSWER_COUNT;
			return answer->is_never_null;
		case F_SUM_INT2:
		case F_SUM_INT4:
			answer->kind = MTS_ANSWER_SUM;
			break;
		case F_AVG_INT2:
		case F_AVG_INT4:
			answer->kind = MTS_ANSWER_AVERAGE;
			is_average = true;
			break;
		case F_SUM_INT8:
		case F_AVG_INT8:
			is_average = aggregate == F_AVG_INT8;
			answer->kind = MTS_ANSWER_WIDE_SUM;
			break;
		case F_SUM_FLOAT8:
			answer->kind = MTS_ANSWER_FLOAT_SUM;
			break;
		case F_AVG_FLOAT8:
			answer->kind = MTS_ANSWER_FLOAT_STATE;
			is_average = true;
			break;
		case F_MIN_INT2:
		case F_MIN_INT4:
		case F_MIN_INT8:
		case F_MIN_FLOAT4:
		case F_MIN_FLOAT8:
		case F_MIN_NUMERIC:
			answer->kind = MTS_ANSWER_EXTREME;
			field = &column->min;
			break;
		case F_MAX_INT2:
		case F_MAX_INT4:
		case F_MAX_INT8:
		case F_MAX_FLOAT4:
		case F_MAX_FLOAT8:
		case F_MAX_NUMERIC:
			answer->kind = MTS_ANSWER_EXTREME;
			field = &column->max;
			break;
		default:
			return false;
	}
	answer->field = field;
	return field->is_set && (answer->is_never_null || !is_average);
}

/*
 * mts_answer_init
 *		Find what answers an aggregate; false when the values are needed.
 */
bool
mts_answer_init(MtsAnswer *answer, const MtsAggregate *aggregate,
				const MtsBucket *bucket, TupleDesc desc)
{
	const MtsTable *table = bucket->table;
	int attribute, column;

	if (aggregate->filter)
		return false;
	answer->kind = MTS_ANSWER_COUNT;
	if (aggregate->narguments == 0)
		return aggregate->oid == F_COUNT_ && aggregate->typbyval;
	attribute = aggregate->arguments[0].attribute;
	if (aggregate->narguments > 1 || attribute < 0)
		return false;
	column = table->columns[attribute];
	answer->column = &table->layout.columns[column];
	answer->converter = mts_bucket_converter(bucket, column);
	answer->is_never_null = TupleDescAttr(desc, attribute)->attnotnull ||
							column == table->layout.time_column;
	return answer->column->role != MTS_ROLE_SLOT &&
		   (answer->column->container >= 0 ||
			column == table->layout.time_column) &&
		   find_field(answer, aggregate->oid) &&
		   (aggregate->typbyval || answer->kind > MTS_ANSWER_SUM);
}

/* The least or greatest value as the column has it */
static bool
read_extreme(MtsAnswer *answer, const MtsElement *element)
{
	char text[BSON_DECIMAL128_STRING];
	MtsError error;
	bool isnull;

	/* NaN may stand for MongoDB's order, which takes it for the least */
	switch (element->type)
	{
		case BSON_TYPE_DOUBLE:
			if (isnan(mts_element_double(element)))
				return false;
			break;
		case BSON_TYPE_DECIMAL128:
			mts_element_decimal(element, text);
			if (strcmp(text, "NaN") == 0)
				return false;
			break;
		case BSON_TYPE_INT32:
		case BSON_TYPE_INT64:
			break;
		default:
			return false;
	}
	return !mts_missing_is(&answer->column->missing, element) &&
		   mts_convert_element(answer->converter, element, &answer->value,
							   &isnull, &error) &&
		   !isnull;
}

/*
 * mts_answer_read
 *		Read what the bucket says; false when that is not beyond doubt.
 */
bool
mts_answer_read(MtsAnswer *answer, const MtsUnfold *unfold)
{
	MtsElement element;

	if (!answer->field)
		return true;
	if (!mts_header_find(unfold, answer->field, &element))
		return false;
	switch (answer->kind)
	{
		case MTS_ANSWER_EXTREME:
			return read_extreme(answer, &element);
		case MTS_ANSWER_FLOAT_SUM:
		case MTS_ANSWER_FLOAT_STATE:
			return mts_header_double(&element, &answer->d) &&
				   (answer->is_never_null || answer->d != 0);
		default:
			return mts_header_integer(&element, &answer->n) &&
				   (answer->is_never_null || answer->n != 0);
	}
}

/* Advance by one value. */
static void
advance(MtsAggregate *aggregate, MtsState *state, Datum value,
		MemoryContext memory)
{
	aggregate->transition->args[1].value = value;
	aggregate->transition->args[1].isnull = false;
	mts_aggregate_advance(aggregate, state, memory);
}

static void *
array_of(const MtsState *state)
{
	return ARR_DATA_PTR(DatumGetArrayTypeP(state->value));
}

/*
 * mts_answer_take
 *		Take what was read for a number of points, which is not 0.
 *
 * The states are those that the transition functions make of these points, or
 * that the combining ones do.
 */
void
mts_answer_take(const MtsAnswer *answer, MtsAggregate *aggregate,
				MtsState *state, int64 points, MemoryContext memory)
{
	switch (answer->kind)
	{
		case MTS_ANSWER_COUNT:
			state->value = Int64GetDatum(DatumGetInt64(state->value) + points);
			break;
		case MTS_ANSWER_SUM:
			state->value = state->is_null
							   ? Int64GetDatum(answer->n)
							   : DirectFunctionCall2(int8pl, state->value,
													 Int64GetDatum(answer->n));
			state->is_null = false;
			break;
		case MTS_ANSWER_AVERAGE:
			((int64 *) array_of(state))[0] += points;
			((int64 *) array_of(state))[1] += answer->n;
			break;
		case MTS_ANSWER_WIDE_SUM:
			advance(aggregate, state, Int64GetDatum(answer->n), memory);
			for (int64 i = 1; i < points; i++)
			{
				CHECK_FOR_INTERRUPTS();
				advance(aggregate, state, Int64GetDatum(0), memory);
			}
			break;
		case MTS_ANSWER_FLOAT_SUM:
			advance(aggregate, state, Float8GetDatum(answer->d), memory);
			break;
		case MTS_ANSWER_FLOAT_STATE:
		{
			double *sums = array_of(state);

			sums[0] += points;
			sums[1] = float8_pl(sums[1], answer->d);
			break;
		}
		case MTS_ANSWER_EXTREME:
			advance(aggregate, state, answer->value, memory);
			break;
	}
}
