/*
 * fold_answer.c
 *		What do a bucket's pre-aggregates say of an aggregate?
 *
 * A stored null is a point without a value, so what depends on the number of
 * values takes a column that is NOT NULL.  A sum that isn't 0 has values.
 */
#include "fold_answer.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/float.h"
#include "utils/fmgroids.h"

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
			answer->kind = MTS_ANSWER_WIDE_SUM;
			break;
		case F_AVG_INT8:
			answer->kind = MTS_ANSWER_WIDE_AVERAGE;
			is_average = true;
			break;
		case F_SUM_FLOAT8:
			answer->kind = MTS_ANSWER_FLOAT_SUM;
			break;
		case F_AVG_FLOAT8:
			answer->kind = MTS_ANSWER_FLOAT_AVERAGE;
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
		return aggregate->oid == F_COUNT_;
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
		   find_field(answer, aggregate->oid);
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
	double d;
	int64 n;

	if (!answer->field)
		return true;
	if (!mts_header_find(unfold, answer->field, &element))
		return false;
	switch (answer->kind)
	{
		case MTS_ANSWER_EXTREME:
			return read_extreme(answer, &element);
		case MTS_ANSWER_FLOAT_SUM:
		case MTS_ANSWER_FLOAT_AVERAGE:
			if (!mts_header_double(&element, &d))
				return false;
			answer->value = Float8GetDatum(d);
			return answer->is_never_null || d != 0;
		default:
			if (!mts_header_integer(&element, &n))
				return false;
			answer->value = Int64GetDatum(n);
			return answer->is_never_null || n != 0;
	}
}

/* Take one bigint, as if a point had it. */
static void
advance(MtsAggregate *aggregate, MtsState *state, Datum value,
		MemoryContext memory)
{
	aggregate->transition->args[1].value = value;
	aggregate->transition->args[1].isnull = false;
	mts_aggregate_advance(aggregate, state, memory);
}

/*
 * Take n zeros, for a state that only its functions know: states of 1, 2, 4 ..
 * zeros are combined.
 */
static void
advance_zeros(MtsAggregate *aggregate, MtsState *state, int64 n,
			  MemoryContext memory)
{
	MtsState zeros;

	mts_aggregate_begin(aggregate, &zeros, CurrentMemoryContext);
	advance(aggregate, &zeros, Int64GetDatum(0), CurrentMemoryContext);
	for (; n > 0; n /= 2)
	{
		MtsState twice;

		if (n % 2 != 0)
			mts_aggregate_combine(aggregate, state, zeros.value, memory);
		mts_aggregate_begin(aggregate, &twice, CurrentMemoryContext);
		mts_aggregate_combine(aggregate, &twice, zeros.value,
							  CurrentMemoryContext);
		mts_aggregate_combine(aggregate, &twice, zeros.value,
							  CurrentMemoryContext);
		zeros = twice;
	}
}

/*
 * mts_answer_take
 *		Take what was read for a number of points, which is not 0.
 *
 * The aggregate's own function combines the group's state with one of these
 * points.  The current memory context is a point's.
 */
void
mts_answer_take(const MtsAnswer *answer, MtsAggregate *aggregate,
				MtsState *state, int64 points, MemoryContext memory)
{
	Datum value = answer->value;
	Datum items[3];

	switch (answer->kind)
	{
		case MTS_ANSWER_COUNT:
			value = Int64GetDatum(points);
			break;
		case MTS_ANSWER_AVERAGE:
			items[0] = Int64GetDatum(points);
			items[1] = value;
			value = PointerGetDatum(
				construct_array(items, 2, INT8OID, sizeof(int64),
								FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
			break;
		case MTS_ANSWER_FLOAT_AVERAGE:
			/* the sum of the squared differences isn't known, nor needed */
			items[0] = Float8GetDatum(points);
			items[1] = value;
			items[2] = Float8GetDatum(get_float8_nan());
			value = PointerGetDatum(
				construct_array(items, 3, FLOAT8OID, sizeof(float8),
								FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
			break;
		case MTS_ANSWER_WIDE_SUM:
		case MTS_ANSWER_WIDE_AVERAGE:
			advance(aggregate, state, value, memory);
			if (answer->kind == MTS_ANSWER_WIDE_AVERAGE)
				advance_zeros(aggregate, state, points - 1, memory);
			return;
		case MTS_ANSWER_SUM:
		case MTS_ANSWER_FLOAT_SUM:
		case MTS_ANSWER_EXTREME:
			break;
	}
	mts_aggregate_combine(aggregate, state, value, memory);
}
