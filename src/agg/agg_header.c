/*
 * agg_header.c
 *		Read buckets without their points, where pre-aggregates say enough.
 *
 * First come the buckets' own fields alone.  A bucket that lies whole in the
 * wanted times and in one group is aggregated by what these say.  The others, at
 * the edges, are read again with their points, by their _id, in batches.  If
 * most of the first are such others, all is begun anew without headers.
 *
 * A stored null is a point without a value, so what depends on the number of
 * values requires a column that is NOT NULL.  A sum that isn't 0 has values.
 */
#include "agg/agg_private.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "utils/array.h"
#include "utils/float.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"

#include "driver/document.h"

/* After so many headers they are judged */
#define SAMPLE 100

/* A bucket that counts more points is not believed */
#define MAX_POINTS 10000000

/* A batch of _ids takes no more bytes than this, or than one _id */
#define MAX_IDS (4 * 1024 * 1024)

bool mts_enable_preaggregates = true;

/* The state of an aggregate, of the points of a bucket */
typedef enum AnswerKind
{
	ANSWER_COUNT,         /* bigint: the count */
	ANSWER_SUM,           /* bigint: the sum */
	ANSWER_AVERAGE,       /* bigint[]: {count, sum} */
	ANSWER_FLOAT_SUM,     /* double precision: the sum */
	ANSWER_FLOAT_AVERAGE, /* double precision[]: {count, sum, NaN} */
	ANSWER_EXTREME,       /* the value of the column */
	ANSWER_WIDE_SUM,      /* none: one bigint stands for all */
	ANSWER_WIDE_AVERAGE   /* none: that, and zeros */
} AnswerKind;

typedef struct Answer
{
	AnswerKind kind;
	const MtsField *field; /* NULL: only the count of the points is needed */
	const MtsColumn *column;
	MtsFromBson *converter;
	bool is_never_null;
	Datum value; /* of the current bucket: a bigint, double or extreme */
} Answer;

struct MtsHeaders
{
	MtsScan *whole;          /* reads the buckets that headers left open */
	bool reads_whole;        /* does it, now? */
	const MtsField **fields; /* of the headers */
	int nfields;
	Answer *answers; /* by aggregate */
	int seen;        /* headers, until they are judged */

	MemoryContext memory; /* of the buckets left open */
	bson_t *ids;          /* an array; NULL: there are none */
	int nids;
	const MtsCollection *collection; /* that has them */
	int nopen;                       /* so many have been recorded */
};

/* ---- What pre-aggregates say of an aggregate ------------------------------ */

/* What answers an aggregate of a column; false when nothing does. */
static bool
find_field(Answer *answer, Oid aggregate)
{
	const MtsColumn *column = answer->column;
	const MtsField *field = &column->sum;
	bool is_average = false;

	switch (aggregate)
	{
		case F_COUNT_ANY:
			answer->kind = ANSWER_COUNT;
			return answer->is_never_null;
		case F_SUM_INT2:
		case F_SUM_INT4:
			answer->kind = ANSWER_SUM;
			break;
		case F_AVG_INT2:
		case F_AVG_INT4:
			answer->kind = ANSWER_AVERAGE;
			is_average = true;
			break;
		case F_SUM_INT8:
			answer->kind = ANSWER_WIDE_SUM;
			break;
		case F_AVG_INT8:
			answer->kind = ANSWER_WIDE_AVERAGE;
			is_average = true;
			break;
		case F_SUM_FLOAT8:
			answer->kind = ANSWER_FLOAT_SUM;
			break;
		case F_AVG_FLOAT8:
			answer->kind = ANSWER_FLOAT_AVERAGE;
			is_average = true;
			break;
		case F_MIN_INT2:
		case F_MIN_INT4:
		case F_MIN_INT8:
		case F_MIN_FLOAT4:
		case F_MIN_FLOAT8:
		case F_MIN_NUMERIC:
			answer->kind = ANSWER_EXTREME;
			field = &column->min;
			break;
		case F_MAX_INT2:
		case F_MAX_INT4:
		case F_MAX_INT8:
		case F_MAX_FLOAT4:
		case F_MAX_FLOAT8:
		case F_MAX_NUMERIC:
			answer->kind = ANSWER_EXTREME;
			field = &column->max;
			break;
		default:
			return false;
	}
	answer->field = field;
	return field->is_set && (answer->is_never_null || !is_average);
}

/* Find what answers an aggregate; false when the values are needed. */
static bool
init_answer(Answer *answer, const MtsTransition *aggregate,
			const MtsBucket *bucket, TupleDesc desc)
{
	const MtsTable *table = bucket->table;
	int column;

	if (aggregate->filter)
		return false;
	answer->kind = ANSWER_COUNT;
	if (aggregate->narguments == 0)
		return aggregate->oid == F_COUNT_;
	column = aggregate->arguments[0].attribute;
	if (aggregate->narguments > 1 || column < 0)
		return false;
	answer->column = &table->layout.columns[column];
	answer->converter = mts_bucket_converter(bucket, column);
	answer->is_never_null = TupleDescAttr(desc, column)->attnotnull ||
							column == table->layout.time_column;
	return answer->column->role != MTS_ROLE_SLOT &&
		   (answer->column->container >= 0 ||
			column == table->layout.time_column) &&
		   find_field(answer, aggregate->oid);
}

/* The least or greatest value as the column has it */
static bool
read_extreme(Answer *answer, const MtsElement *element)
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
	return !mts_unfold_is_missing(&answer->column->missing, element) &&
		   mts_from_bson_element(answer->converter, element, &answer->value,
								 &isnull, &error) &&
		   !isnull;
}

/* Read what the bucket says; false when that is not beyond doubt. */
static bool
read_answer(Answer *answer, const MtsUnfold *unfold)
{
	MtsElement element;
	double d;
	int64 n;

	if (!answer->field)
		return true;
	if (!mts_unfold_header_find(unfold, answer->field, &element))
		return false;
	switch (answer->kind)
	{
		case ANSWER_EXTREME:
			return read_extreme(answer, &element);
		case ANSWER_FLOAT_SUM:
		case ANSWER_FLOAT_AVERAGE:
			if (!mts_unfold_header_double(&element, &d))
				return false;
			answer->value = Float8GetDatum(d);
			return answer->is_never_null || d != 0;
		default:
			if (!mts_unfold_header_integer(&element, &n))
				return false;
			answer->value = Int64GetDatum(n);
			return answer->is_never_null || n != 0;
	}
}

/* Take one bigint, as if a point had it. */
static void
advance(MtsTransition *aggregate, MtsState *state, Datum value,
		MemoryContext memory)
{
	aggregate->transition->args[1].value = value;
	aggregate->transition->args[1].isnull = false;
	mts_transition_advance(aggregate, state, memory);
}

/*
 * Take n zeros, for a state that only its functions know: states of 1, 2, 4 ..
 * zeros are combined.
 */
static void
advance_zeros(MtsTransition *aggregate, MtsState *state, int64 n,
			  MemoryContext memory)
{
	MtsState zeros;

	mts_transition_begin(aggregate, &zeros, CurrentMemoryContext);
	advance(aggregate, &zeros, Int64GetDatum(0), CurrentMemoryContext);
	for (; n > 0; n /= 2)
	{
		MtsState twice;

		if (n % 2 != 0)
			mts_transition_combine(aggregate, state, zeros.value, memory);
		mts_transition_begin(aggregate, &twice, CurrentMemoryContext);
		mts_transition_combine(aggregate, &twice, zeros.value,
							   CurrentMemoryContext);
		mts_transition_combine(aggregate, &twice, zeros.value,
							   CurrentMemoryContext);
		zeros = twice;
	}
}

/*
 * Take what was read for a number of points, which is not 0.
 *
 * The aggregate's own function combines the group's state with one of these
 * points.  The current memory context is a point's.
 */
static void
take_answer(const Answer *answer, MtsTransition *aggregate, MtsState *state,
			int64 points, MemoryContext memory)
{
	Datum value = answer->value;
	Datum items[3];

	switch (answer->kind)
	{
		case ANSWER_COUNT:
			value = Int64GetDatum(points);
			break;
		case ANSWER_AVERAGE:
			items[0] = Int64GetDatum(points);
			items[1] = value;
			value = PointerGetDatum(
				construct_array(items, 2, INT8OID, sizeof(int64),
								FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
			break;
		case ANSWER_FLOAT_AVERAGE:
			/* the sum of the squared differences isn't known, nor needed */
			items[0] = Float8GetDatum(points);
			items[1] = value;
			items[2] = Float8GetDatum(get_float8_nan());
			value = PointerGetDatum(
				construct_array(items, 3, FLOAT8OID, sizeof(float8),
								FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
			break;
		case ANSWER_WIDE_SUM:
		case ANSWER_WIDE_AVERAGE:
			advance(aggregate, state, value, memory);
			if (answer->kind == ANSWER_WIDE_AVERAGE)
				advance_zeros(aggregate, state, points - 1, memory);
			return;
		case ANSWER_SUM:
		case ANSWER_FLOAT_SUM:
		case ANSWER_EXTREME:
			break;
	}
	mts_transition_combine(aggregate, state, value, memory);
}

/* ---- Headers --------------------------------------------------------------- */

/* Do the bucket's fields answer all aggregates? */
static bool
find_answers(const MtsAgg *agg, MtsHeaders *headers, TupleDesc desc)
{
	const MtsBucket *bucket = agg->scan->bucket;

	headers->fields[headers->nfields++] = &bucket->table->layout.count;
	for (int i = 0; i < agg->naggregates; i++)
	{
		Answer *answer = &headers->answers[i];

		if (!init_answer(answer, &agg->aggregates[i], bucket, desc))
			return false;
		if (answer->field)
			headers->fields[headers->nfields++] = answer->field;
	}
	return true;
}

/*
 * mts_agg_init_headers
 *		See whether headers can answer the aggregates.
 *
 * What is skipped as invalid may not depend on it, so they are not asked then.
 */
void
mts_agg_init_headers(MtsAgg *agg, TupleDesc desc)
{
	MtsScan *scan = agg->scan;
	const MtsTable *table = scan->table;
	MtsHeaders *headers;

	if (!mts_enable_preaggregates || !table->layout.count.is_set ||
		table->on_invalid == MTS_INVALID_SKIP || agg->filter ||
		agg->has_point_keys)
		return;
	headers = palloc0(sizeof(MtsHeaders));
	headers->answers = palloc0((agg->naggregates + 1) * sizeof(Answer));
	headers->fields = palloc((agg->naggregates + 1) * sizeof(MtsField *));
	if (!find_answers(agg, headers, desc))
		return;
	headers->whole = mts_scan_beside(scan);
	headers->memory =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw buckets",
							  ALLOCSET_DEFAULT_SIZES);
	scan->spec.headers = headers->fields;
	scan->spec.nheaders = headers->nfields;
	agg->headers = headers;
}

/* ---- What a header says --------------------------------------------------- */

/* Read how many points the bucket has, and what they add up to. */
static bool
read_answers(MtsAgg *agg, int64 *points)
{
	const MtsUnfold *unfold = &agg->bucket->unfold;
	MtsHeaders *headers = agg->headers;
	MtsElement element;

	if (!mts_unfold_header_find(unfold, headers->fields[0], &element) ||
		!mts_unfold_header_integer(&element, points) || *points < 0 ||
		*points > MAX_POINTS)
		return false;
	for (int i = 0; *points > 0 && i < agg->naggregates; i++)
		if (!read_answer(&headers->answers[i], unfold))
			return false;
	return true;
}

/* Aggregate a bucket by its header; false when its points must be read. */
static bool
aggregate_header(MtsAgg *agg)
{
	MtsTime first, last;
	int64 points;

	switch (mts_unfold_header_coverage(&agg->bucket->unfold, &first, &last))
	{
		case MTS_COVERED_NONE:
			return true;
		case MTS_COVERED_SOME:
			return false;
		case MTS_COVERED_ALL:
			break;
	}
	if (!read_answers(agg, &points))
		return false;
	if (points == 0)
		return true;
	switch (mts_agg_enter_bucket(agg, first, last))
	{
		case MTS_ENTRY_SEVERAL:
			return false;
		case MTS_ENTRY_REFUSED:
			agg->scan->counters->removed += points;
			return true;
		case MTS_ENTRY_GROUP:
			break;
	}
	for (int i = 0; i < agg->naggregates; i++)
		if (!agg->aggregates[i].is_off)
			take_answer(&agg->headers->answers[i], &agg->aggregates[i],
						&agg->current[i], points, agg->memory);
	return true;
}

/* ---- The buckets that are left open --------------------------------------- */

/* Record the _id of the current bucket. */
static void
record_bucket(MtsAgg *agg)
{
	MtsHeaders *headers = agg->headers;
	const MtsBucketSource *source = agg->scan->source;
	MemoryContext old = MemoryContextSwitchTo(headers->memory);
	char digits[16];
	const char *key;

	if (!headers->ids)
		headers->ids = mts_document_new();
	headers->collection = source->collection;
	headers->nopen++;
	bson_uint32_to_string(headers->nids++, &key, digits, sizeof(digits));
	mts_source_append_id(source, agg->bucket->document, headers->ids, key);
	MemoryContextSwitchTo(old);
}

static void
forget_buckets(MtsHeaders *headers)
{
	MemoryContextReset(headers->memory);
	headers->ids = NULL;
	headers->nids = 0;
}

/* Begin to read the buckets that were recorded, with their points. */
static void
begin_whole(MtsAgg *agg)
{
	MtsHeaders *headers = agg->headers;

	mts_scan_set_ids(headers->whole, agg->scan->query, headers->collection,
					 headers->ids);
	headers->reads_whole = true;
	forget_buckets(headers);
}

static void
end_whole(MtsHeaders *headers)
{
	mts_scan_reset(headers->whole);
	headers->reads_whole = false;
}

/* Begin anew, without headers. */
static void
give_up(MtsAgg *agg)
{
	MtsScan *scan = agg->scan;

	end_whole(agg->headers);
	forget_buckets(agg->headers);
	scan->spec.headers = NULL;
	scan->source->repeat_part = scan->source->parallel != NULL;
	scan->counters->answered = 0;
	mts_scan_reset(scan);
	mts_agg_begin_groups(agg);
}

/* Begin anew, with headers; other parameters may have other use for them. */
void
mts_agg_reset_headers(MtsAgg *agg)
{
	MtsHeaders *headers = agg->headers;

	if (!headers)
		return;
	end_whole(headers);
	forget_buckets(headers);
	agg->scan->spec.headers = headers->fields;
	headers->seen = headers->nopen = 0;
}

/*
 * Are most of the first headers of no use, while no group has been given?  A
 * worker can begin anew with its first part only.
 */
static bool
are_useless(const MtsAgg *agg)
{
	const MtsHeaders *headers = agg->headers;

	return headers->seen == SAMPLE && headers->nopen > SAMPLE / 2 &&
		   !agg->has_given && agg->scan->source->nparts <= 1;
}

/* Aggregate the current bucket by its header, or leave it open. */
static void
use_header(MtsAgg *agg)
{
	MtsHeaders *headers = agg->headers;
	MemoryContext old =
		MemoryContextSwitchTo(agg->econtext->ecxt_per_tuple_memory);

	if (aggregate_header(agg))
		agg->scan->counters->answered++;
	else
	{
		/* those of another collection come first */
		if (headers->ids &&
			headers->collection != agg->scan->source->collection)
			begin_whole(agg);
		record_bucket(agg);
	}
	MemoryContextSwitchTo(old);
	headers->seen += headers->seen <= SAMPLE;
	if (are_useless(agg))
		give_up(agg);
	else if (!headers->reads_whole && headers->ids &&
			 (headers->nids == agg->scan->table->fetch_size ||
			  headers->ids->len > MAX_IDS))
		begin_whole(agg);
}

/*
 * mts_agg_next_bucket
 *		Go to the next bucket; false at the end.
 *
 * *bucket is NULL when nothing is left to do with it, because its header was
 * enough, or left it open.
 */
bool
mts_agg_next_bucket(MtsAgg *agg, MtsBucket **bucket)
{
	MtsHeaders *headers = agg->headers;
	bool reads_whole = headers && headers->reads_whole;

	*bucket = mts_scan_next_bucket(reads_whole ? headers->whole : agg->scan);
	if (*bucket)
		mts_agg_begin_bucket(agg, *bucket);
	if (reads_whole && !*bucket)
		end_whole(headers);
	else if (!*bucket && headers && headers->ids)
		begin_whole(agg);
	else if (!*bucket)
		return false;
	else if (!reads_whole && agg->scan->query->content == MTS_CONTENT_HEADERS)
	{
		use_header(agg);
		*bucket = NULL;
	}
	return true;
}
