/*
 * infer_counted.c
 *		Finds the units that slots count, with the time and span of buckets.
 *
 * Buckets are as long as the coarsest unit that all their times begin.  In
 * that the slots count the coarsest units that their keys allow. infer.c
 * explains the order of attempts.  The units that the samples allow as well
 * are a remark.
 */
#include "core/infer/infer_private.h"

#include <stdio.h>
#include <string.h>

/*
 * Slots that are equal parts of a bucket count at least so many units if not
 * all buckets have all keys.
 */
#define MIN_MULTIPLE 4

/* Fewer keys divide a bucket evenly by chance. */
#define MANY_PARTS 24

/* The reasons why slots can be equal parts of a bucket */
typedef enum Evidence
{
	ALL_BUCKETS_HAVE_ALL_KEYS,
	UNITS_FILL_LITTLE /* single units would fill too little of the bucket */
} Evidence;

/* The node of the outermost slot */
static int
outermost(const MtsInfer *infer)
{
	return mts_survey_slot(&infer->survey, infer->reading.containers[0], 0);
}

/* Describe the outermost slot of a reading, as in "minutes of an hour". */
static void
describe_slot(char *text, size_t size, const MtsReading *reading)
{
	const MtsInferSlot *slot = &reading->slots[0];
	char span[32];

	if (reading->spans > 1)
		snprintf(span, sizeof(span), "%d %ss", (int) reading->spans,
				 mts_infer_unit_name(reading->span));
	else
		snprintf(span, sizeof(span), "%s",
				 mts_infer_unit_phrase(reading->span));
	snprintf(text, size, "%ss of %s", mts_infer_unit_name(slot->unit), span);
}

/*
 * Record an alternative reading for the next remark.  It differs in the slot
 * on this level.
 */
static void
add_alternative(MtsInfer *infer, const MtsReading *reading, int level)
{
	MtsInferred *result = infer->result;
	MtsInferAlternative *alternative =
		&result->alternatives[result->nalternatives];

	if (result->nalternatives == MTS_INFER_ALTERNATIVES)
		return;
	alternative->remark = result->nremarks;
	if (level == 0)
		describe_slot(alternative->description,
					  sizeof(alternative->description), reading);
	else
		snprintf(alternative->description, sizeof(alternative->description),
				 "%ss of %s", mts_infer_unit_name(reading->slots[level].unit),
				 mts_infer_unit_phrase(reading->slots[level - 1].unit));
	infer->alternatives[result->nalternatives++] = *reading;
}

/* Remark on the reason for the units of the outermost slot, and on others. */
static void
remark_slots(MtsInfer *infer, const char *because, const char *others)
{
	const MtsNode *nodes = infer->survey.nodes;
	char path[MTS_MAX_PATH];
	char taken[64];
	int outer = outermost(infer);

	describe_slot(taken, sizeof(taken), &infer->reading);
	mts_infer_remark(infer,
					 "keys %lld to %lld of %s are assumed to be %s\n%s.%s%s%s",
					 (long long) nodes[outer].least,
					 (long long) nodes[outer].greatest,
					 mts_infer_label(infer, outer, path), taken, because,
					 others[0] ? " They could also be " : "", others,
					 others[0] ? "." : "");
}

/* How many slots the outermost keys allow */
static int64_t
count_slots(const MtsInfer *infer)
{
	return mts_survey_count_keys(&infer->survey.nodes[outermost(infer)]);
}

/* Whether all buckets, or most of those with arrays, have all keys */
static bool
has_all_keys(const MtsInfer *infer)
{
	return mts_infer_shape(infer, outermost(infer))->is_dense;
}

/*
 * Whether the keys that all buckets have can be their parts.  A few keys can
 * only if several buckets follow each other without a gap.
 */
static bool
can_be_parts(const MtsInfer *infer, const MtsInferField *field)
{
	bool is_array = mts_infer_slots_are_elements(infer);

	if (count_slots(infer) >= MANY_PARTS)
		return !is_array || field->distinct > 1;
	return field->distinct >= 3 &&
		   mts_infer_shape(infer, outermost(infer))->holders >= 3 &&
		   field->gap <= mts_infer_unit_length(field->unit) + MTS_HOUR;
}

/* The span of buckets by their times, at most a day if these are few. */
static MtsInferUnit
likely_span(const MtsInferField *field)
{
	return field->unit < MTS_UNIT_DAY && field->distinct < 3 ? MTS_UNIT_DAY
															 : field->unit;
}

/* Try slots that are equal parts of a bucket. */
static bool
try_multiples(MtsInfer *infer, const MtsInferField *field, Evidence evidence,
			  char *why)
{
	bool is_dense = evidence == ALL_BUCKETS_HAVE_ALL_KEYS;
	MtsReading *reading = &infer->reading;
	MtsReading other = *reading;
	char path[MTS_MAX_PATH];
	int outer = outermost(infer);

	if ((is_dense ? !has_all_keys(infer) || !can_be_parts(infer, field)
				  : count_slots(infer) < MANY_PARTS) ||
		!mts_infer_fit_multiples(infer, reading, likely_span(field)) ||
		(!is_dense && reading->nslots == 1 &&
		 reading->slots[0].times < MIN_MULTIPLE) ||
		!mts_infer_check(infer, why))
		return false;
	other.time_node = 0; /* ask for no proof that an array counts */
	if (mts_infer_fit_units(infer, &other, likely_span(field), MTS_FIT_ANY))
	{
		add_alternative(infer, &other, 0);
		mts_infer_remark(
			infer,
			"keys %lld to %lld of %s are assumed to be all parts of %s\n%s %ss%s.",
			(long long) infer->survey.nodes[outer].least,
			(long long) infer->survey.nodes[outer].greatest,
			mts_infer_label(infer, outer, path),
			mts_infer_unit_phrase(reading->span),
			is_dense ? "Every bucket has all of them. They could also be"
					 : "Single",
			mts_infer_unit_name(other.slots[0].unit),
			is_dense ? "" : " would fill little of it");
	}
	return true;
}

/*
 * Whether the keys are a scale, such as 1 to 5 stars, and not times.  All
 * buckets have the same few keys, which fill at most half of the bucket.
 */
static bool
is_scale(const MtsInfer *infer, char *why)
{
	const MtsReading *reading = &infer->reading;
	int64_t n = count_slots(infer);

	if (reading->time_node >= 0 || reading->nslots > 1 || n < 2 ||
		reading->bucket->distinct < 3 || !has_all_keys(infer) ||
		2 * n > mts_infer_units_in(reading->span, reading->slots[0].unit))
		return false;
	snprintf(
		why, MTS_INFER_REMARK,
		"every document has the same %lld keys, which fill no unit of time",
		(long long) n);
	return true;
}

/* Try buckets of all spans that the times allow. */
static bool
try_spans(MtsInfer *infer, const MtsInferField *field, MtsInferFit fit,
		  char *why)
{
	MtsInferUnit finest =
		field->unit > MTS_UNIT_MINUTE ? field->unit : MTS_UNIT_MINUTE;

	for (MtsInferUnit span = field->unit; span <= finest; span++)
	{
		/* three times begin an hour, a day or a month only if buckets do */
		if (fit == MTS_FIT_ADJACENT && field->distinct > 2 &&
			span > field->unit &&
			(field->unit > MTS_UNIT_MONTH || span > MTS_UNIT_DAY))
			break;
		if (mts_infer_fit_units(infer, &infer->reading, span, fit) &&
			!is_scale(infer, why) && mts_infer_check(infer, why))
			return true;
	}
	return false;
}

/*
 * Try buckets of several units, such as 7 days, that divide the distances
 * between the bucket times.
 */
static bool
try_wide(MtsInfer *infer, const MtsInferField *field, char *why)
{
	static const struct
	{
		MtsInferUnit unit;
		int64_t n;
	} spans[] = {{MTS_UNIT_DAY, 7},     {MTS_UNIT_HOUR, 12},
				 {MTS_UNIT_HOUR, 8},    {MTS_UNIT_HOUR, 6},
				 {MTS_UNIT_HOUR, 4},    {MTS_UNIT_HOUR, 3},
				 {MTS_UNIT_HOUR, 2},    {MTS_UNIT_MINUTE, 30},
				 {MTS_UNIT_MINUTE, 20}, {MTS_UNIT_MINUTE, 15},
				 {MTS_UNIT_MINUTE, 10}, {MTS_UNIT_MINUTE, 5}};
	int64_t distance = mts_infer_common_distance(infer, field);

	for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]) && distance; i++)
	{
		if (spans[i].unit != field->unit ||
			distance % (spans[i].n * mts_infer_unit_length(field->unit)) !=
				0 ||
			!mts_infer_fit_wide_bucket(infer, &infer->reading, field->unit,
									   spans[i].n) ||
			!mts_infer_check(infer, why))
			continue;
		remark_slots(infer, "Bucket times are that far apart", "");
		return true;
	}
	return false;
}

/*
 * Try buckets that begin at any time and are as long as the times are apart.
 * The keys must fill them, or agree with the times of the points.
 */
static bool
try_unaligned(MtsInfer *infer, const MtsInferField *field, char *why)
{
	MtsReading *reading = &infer->reading;

	for (MtsInferUnit span = MTS_UNIT_DAY; span <= MTS_UNIT_MINUTE; span++)
	{
		if (span >= field->unit || field->distinct < 2 ||
			mts_infer_unit_length(span) > field->gap ||
			!mts_infer_fit_units(infer, reading, span, MTS_FIT_ADJACENT) ||
			(reading->time_node < 0 &&
			 count_slots(infer) !=
				 mts_infer_units_in(span, reading->slots[0].unit)) ||
			!mts_infer_check(infer, why))
			continue;
		remark_slots(
			infer,
			"Bucket times are that far apart, and begin no unit of time", "");
		return true;
	}
	if (field->unit > MTS_UNIT_MINUTE)
		snprintf(why, MTS_INFER_REMARK,
				 "its keys fill no unit of time, and the times begin none");
	return false;
}

/*
 * mts_infer_find_slot_units
 *		Find the bucket's time and the units that the slots of the reading
 *		count.
 *
 * Returns false, with the last reason in why, if no units hold.
 */
bool
mts_infer_find_slot_units(MtsInfer *infer, char *why)
{
	for (int i = 0; i < infer->nfields; i++)
	{
		const MtsInferField *field = &infer->fields[i];
		bool begins_unit = field->unit <= MTS_UNIT_SECOND;

		mts_infer_set_bucket_time(infer, field);
		if ((begins_unit &&
			 (try_wide(infer, field, why) ||
			  try_multiples(infer, field, ALL_BUCKETS_HAVE_ALL_KEYS, why) ||
			  try_spans(infer, field, MTS_FIT_ADJACENT, why))) ||
			try_unaligned(infer, field, why) ||
			(begins_unit &&
			 (try_multiples(infer, field, UNITS_FILL_LITTLE, why) ||
			  try_spans(infer, field, MTS_FIT_ANY, why))))
			return true;
	}
	mts_infer_set_bucket_time(infer, NULL);
	return false;
}

/*
 * Remark on the other units that the outermost slot could count: in shorter
 * buckets if few bucket times were sampled, and in longer ones that begin at
 * any time if no two times exclude them.
 */
static void
remark_units(MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;
	const MtsInferField *bucket = reading->bucket;
	MtsReading other = *reading;
	char others[128] = "";
	char because[128];
	char what[64];

	if (reading->spans > 1 || reading->slots[0].times > 1)
		return;
	for (MtsInferUnit span = MTS_UNIT_DAY; span <= MTS_UNIT_MINUTE; span++)
	{
		bool times_are_few =
			bucket->distinct <= 2 || reading->span != bucket->unit;

		if (span != reading->span &&
			(span >= bucket->unit
				 ? times_are_few
				 : bucket->distinct > 2 &&
					   mts_infer_unit_length(span) <= bucket->gap) &&
			mts_infer_fit_units(infer, &other, span, MTS_FIT_ADJACENT))
		{
			size_t len = strlen(others);

			describe_slot(what, sizeof(what), &other);
			snprintf(others + len, sizeof(others) - len, "%s%s",
					 len > 0 ? " or " : "", what);
			add_alternative(infer, &other, 0);
		}
	}
	snprintf(because, sizeof(because), "%s begin%s %s",
			 bucket->distinct == 1   ? "The only sampled bucket time"
			 : bucket->distinct == 2 ? "The two sampled bucket times"
									 : "All sampled bucket times",
			 bucket->distinct == 1 ? "s" : "",
			 mts_infer_unit_phrase(bucket->unit));
	if (bucket->distinct > 1 && bucket->unit >= MTS_UNIT_DAY &&
		reading->span > bucket->unit && bucket->unit < MTS_UNIT_SECOND)
		snprintf(because, sizeof(because),
				 "There are too many keys for %ss of %s",
				 mts_infer_unit_name(bucket->unit + 1),
				 mts_infer_unit_phrase(bucket->unit));
	if (others[0])
		remark_slots(infer, because, others);
}

/* Remark that inner slots could count single units, and not parts. */
static void
remark_parts(MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;
	int level = reading->nslots - 1;
	const MtsInferSlot *outer;
	const MtsNode *nodes = infer->survey.nodes;
	MtsReading other = *reading;
	int node;
	char path[MTS_MAX_PATH];

	if (level < 1 || reading->slots[level].times <= 1)
		return;
	outer = &reading->slots[level - 1];
	node = mts_survey_slot(&infer->survey, reading->containers[0], level);
	other.slots[level].times = 1;
	add_alternative(infer, &other, level);
	mts_infer_remark(
		infer,
		"keys %lld to %lld of %s are assumed to be all parts of %s\nEvery %s has all of them. They could also be %ss.",
		(long long) nodes[node].least, (long long) nodes[node].greatest,
		mts_infer_label(infer, node, path), mts_infer_unit_phrase(outer->unit),
		mts_infer_unit_name(outer->unit),
		mts_infer_unit_name(reading->slots[level].unit));
}

static bool
count_point(void *arg, const MtsElement *element)
{
	*(int64_t *) arg += element->type == BSON_TYPE_DOCUMENT &&
						!mts_element_is_empty_document(element);
	return true;
}

/* Whether the keys of points are data, as some points lack some of them */
static bool
is_sparse(const MtsInfer *infer, int container)
{
	const MtsNode *nodes = infer->survey.nodes;
	int first = nodes[container].child;
	bool sparse = false;
	int64_t n = 0;

	if (!mts_infer_is_record(infer, container) || nodes[first].next < 0)
		return false;
	(void) mts_survey_visit_all(&infer->survey, container, count_point, &n);
	for (int child = first; child >= 0; child = nodes[child].next)
	{
		if (!mts_infer_has_only(infer, child, MTS_NUMBER_TYPES))
			return false;
		sparse |= nodes[child].values != n;
	}
	return sparse;
}

/*
 * mts_infer_find_slot_times
 *		Find a reading of points that have the time of their slots.
 *
 * Returns false, with the last reason in why, if none holds.
 */
bool
mts_infer_find_slot_times(MtsInfer *infer, char *why)
{
	MtsReading *reading = &infer->reading;
	char path[MTS_MAX_PATH];

	mts_infer_sort_fields(infer, MTS_FIELDS_BY_BUCKETS);
	reading->is_unpivoted =
		reading->ncontainers == 1 &&
		infer->survey.nodes[reading->containers[0]].nslots < MTS_MAX_SLOTS &&
		is_sparse(infer, reading->containers[0]);
	if (!mts_infer_find_slot_units(infer, why))
	{
		reading->is_unpivoted = false;
		return false;
	}
	remark_units(infer);
	remark_parts(infer);
	if (reading->is_unpivoted)
		mts_infer_remark(
			infer,
			"the names in the points of %s are assumed to be values of a column \"key\"\nSome points lack some of these names.",
			mts_infer_label(infer, reading->containers[0], path));
	return true;
}
