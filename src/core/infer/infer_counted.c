/*
 * infer_counted.c
 *		Which units do the slots of the points count, in which buckets?
 *
 * What all bucket times begin says how long buckets are; the slots then count
 * the units inside of that, as coarse as their keys allow.
 */
#include "core/infer/infer_private.h"

#include <stdio.h>
#include <string.h>

/* Keys that divide a bucket count multiples of no fewer units, where not all
 * buckets have all of them. */
#define MIN_MULTIPLE 4

/* So many keys that divide a bucket are no chance. */
#define MANY_PARTS 24

/* The node of the outermost slot */
static int
outermost(const MtsInfer *infer)
{
	return mts_survey_slot(&infer->survey, infer->reading.containers[0], 0);
}

/* Write what a reading takes the outermost slot for. */
static void
write_reading(char *text, size_t size, const MtsReading *reading)
{
	const MtsInferSlot *slot = &reading->slots[0];
	char span[32];

	if (reading->spans > 1)
		snprintf(span, sizeof(span), "%d %ss", (int) reading->spans,
				 mts_infer_unit_name(reading->span));
	else
		snprintf(span, sizeof(span), "%s %s",
				 mts_infer_unit_article(reading->span),
				 mts_infer_unit_name(reading->span));
	snprintf(text, size, "%ss of %s", mts_infer_unit_name(slot->unit), span);
}

/*
 * offer
 *		Keep a reading that was possible, too, for the remark that comes next.
 *
 * It differs in the slot on this level from 0 on.
 */
static void
offer(MtsInfer *infer, const MtsReading *reading, int level)
{
	MtsInferred *result = infer->result;
	MtsInferOther *other = &result->others[result->nothers];

	if (result->nothers == MTS_INFER_OTHERS)
		return;
	other->remark = result->nremarks;
	if (level == 0)
		write_reading(other->what, sizeof(other->what), reading);
	else
		snprintf(other->what, sizeof(other->what), "%ss of %s %s",
				 mts_infer_unit_name(reading->slots[level].unit),
				 mts_infer_unit_article(reading->slots[level - 1].unit),
				 mts_infer_unit_name(reading->slots[level - 1].unit));
	infer->readings[result->nothers++] = *reading;
}

/*
 * remark_slots
 *		Say why the outermost slot was taken for what it is, and for what else.
 */
static void
remark_slots(MtsInfer *infer, const char *because, const char *others)
{
	const MtsNode *nodes = infer->survey.nodes;
	char path[MTS_MAX_PATH];
	char taken[64];
	int outer = outermost(infer);

	write_reading(taken, sizeof(taken), &infer->reading);
	mts_infer_remark(infer, "%s: %lld to %lld taken for %s, as %s%s%s",
					 mts_infer_show(infer, outer, path),
					 (long long) nodes[outer].least,
					 (long long) nodes[outer].greatest, taken, because,
					 others[0] ? "; they could be " : "", others);
}

/* How many slots the outermost keys allow */
static int64_t
count_slots(const MtsInfer *infer)
{
	const MtsNode *node = &infer->survey.nodes[outermost(infer)];

	return node->greatest + 1 -
		   (node->kind == MTS_NODE_NUMBERS && node->least >= 1);
}

/*
 * Have all buckets the same keys, without a gap, or most if they are arrays?
 * Then these are all that there can be.
 */
static bool
has_all_keys(const MtsInfer *infer)
{
	int outer = outermost(infer);
	const MtsInferShape *shape = mts_infer_shape(infer, outer);

	return infer->survey.nodes[outer].kind == MTS_NODE_ELEMENTS
			   ? 2 * shape->full > shape->holders
			   : shape->full == shape->holders;
}

/*
 * May so many keys, which all buckets have, be its parts?  Many can in any
 * bucket; few only where buckets follow each other at that distance.
 */
static bool
can_be_parts(const MtsInfer *infer, const MtsInferField *field)
{
	bool is_array = mts_infer_is_array(infer);

	if (count_slots(infer) >= MANY_PARTS)
		return !is_array || field->distinct > 1;
	return field->distinct >= 3 &&
		   mts_infer_shape(infer, outermost(infer))->holders >= 3 &&
		   field->gap <= mts_infer_unit_length(field->unit) + MTS_HOUR;
}

/* The span of buckets whose times begin this unit, at most a day of few. */
static MtsInferUnit
likely_span(const MtsInferField *field)
{
	return field->unit < MTS_UNIT_DAY && field->distinct < 3 ? MTS_UNIT_DAY
															 : field->unit;
}

/*
 * Slots of which so many divide a bucket evenly: where all buckets have the
 * same (dense), else where single units would fill too little of them.
 */
static bool
try_multiples(MtsInfer *infer, const MtsInferField *field, bool dense,
			  char *why)
{
	MtsReading *reading = &infer->reading;
	MtsReading other = *reading;
	char path[MTS_MAX_PATH];
	int outer = outermost(infer);

	if ((dense ? !has_all_keys(infer) || !can_be_parts(infer, field)
			   : count_slots(infer) < MANY_PARTS) ||
		!mts_infer_multiples(infer, reading, likely_span(field)) ||
		(!dense && reading->nslots == 1 &&
		 reading->slots[0].times < MIN_MULTIPLE) ||
		!mts_infer_check(infer, why))
		return false;
	other.own_time = 0; /* an array's other reading, as that of keys */
	if (mts_infer_units(infer, &other, likely_span(field), false))
	{
		offer(infer, &other, 0);
		mts_infer_remark(
			infer,
			"%s: %lld to %lld taken for all parts of %s %s, as %s %ss%s",
			mts_infer_show(infer, outer, path),
			(long long) infer->survey.nodes[outer].least,
			(long long) infer->survey.nodes[outer].greatest,
			mts_infer_unit_article(reading->span),
			mts_infer_unit_name(reading->span),
			dense ? "every bucket has them; they could be" : "single",
			mts_infer_unit_name(other.slots[0].unit),
			dense ? " of it" : " would fill little of it");
	}
	return true;
}

/*
 * Are the same few keys in every bucket a scale, such as 1 to 5 stars, rather
 * than times, which would fill more of the bucket?
 */
static bool
is_scale(const MtsInfer *infer, char *why)
{
	const MtsReading *reading = &infer->reading;
	int64_t n = count_slots(infer);

	if (reading->own_time >= 0 || reading->nslots > 1 || n < 2 ||
		reading->bucket->distinct < 3 || !has_all_keys(infer) ||
		2 * n > mts_infer_units_in(reading->span, reading->slots[0].unit))
		return false;
	snprintf(
		why, MTS_INFER_REMARK,
		"every document has the same %lld keys, which fill no unit of time",
		(long long) n);
	return true;
}

/* Slots that count, in buckets of all spans that the times allow. */
static bool
try_spans(MtsInfer *infer, const MtsInferField *field, bool adjacent,
		  char *why)
{
	MtsInferUnit finest =
		field->unit > MTS_UNIT_MINUTE ? field->unit : MTS_UNIT_MINUTE;

	for (MtsInferUnit span = field->unit; span <= finest; span++)
	{
		/* three times that begin an hour are no chance */
		if (adjacent && field->distinct > 2 && span > field->unit &&
			(field->unit > MTS_UNIT_MONTH || span > MTS_UNIT_DAY))
			break;
		if (mts_infer_units(infer, &infer->reading, span, adjacent) &&
			!is_scale(infer, why) && mts_infer_check(infer, why))
			return true;
	}
	return false;
}

/*
 * Slots that count in buckets of several units: all bucket times are so far
 * apart, and the keys fill that.
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
	int64_t rhythm = mts_infer_rhythm(infer, field);

	for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]) && rhythm; i++)
	{
		if (spans[i].unit != field->unit ||
			rhythm % (spans[i].n * mts_infer_unit_length(field->unit)) != 0 ||
			!mts_infer_wide(infer, &infer->reading, field->unit, spans[i].n) ||
			!mts_infer_check(infer, why))
			continue;
		remark_slots(infer, "bucket times are so far apart", "");
		return true;
	}
	return false;
}

/*
 * Slots that count in buckets that begin at any time: these are as long as
 * the times are apart, and the keys fill them, or agree with the points' own
 * times.
 */
static bool
try_unaligned(MtsInfer *infer, const MtsInferField *field, char *why)
{
	MtsReading *reading = &infer->reading;

	for (MtsInferUnit span = MTS_UNIT_DAY; span <= MTS_UNIT_MINUTE; span++)
	{
		if (span >= field->unit || field->distinct < 2 ||
			mts_infer_unit_length(span) > field->gap ||
			!mts_infer_units(infer, reading, span, true) ||
			(reading->own_time < 0 &&
			 count_slots(infer) !=
				 mts_infer_units_in(span, reading->slots[0].unit)) ||
			!mts_infer_check(infer, why))
			continue;
		remark_slots(infer, "buckets begin at any time, but are so far apart",
					 "");
		return true;
	}
	if (field->unit > MTS_UNIT_MINUTE)
		snprintf(why, MTS_INFER_REMARK,
				 "its keys fill no unit of time, and the times begin none");
	return false;
}

/*
 * mts_infer_slots
 *		Find the bucket's time and units that the slots of the reading count.
 */
bool
mts_infer_slots(MtsInfer *infer, char *why)
{
	for (int i = 0; i < infer->nfields; i++)
	{
		mts_infer_set_bucket(infer, &infer->fields[i]);
		if (infer->fields[i].unit <= MTS_UNIT_SECOND &&
			(try_wide(infer, &infer->fields[i], why) ||
			 try_multiples(infer, &infer->fields[i], true, why) ||
			 try_spans(infer, &infer->fields[i], true, why)))
			return true;
		if (try_unaligned(infer, &infer->fields[i], why))
			return true;
		if (infer->fields[i].unit <= MTS_UNIT_SECOND &&
			(try_multiples(infer, &infer->fields[i], false, why) ||
			 try_spans(infer, &infer->fields[i], false, why)))
			return true;
	}
	mts_infer_set_bucket(infer, NULL);
	return false;
}

/*
 * remark_units
 *		Name the other units that the outermost slot could count: in shorter
 * buckets, if few times were seen; in longer ones that begin at any time, if
 * none was seen to begin too early.
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
		bool is_few = bucket->distinct <= 2 || reading->span != bucket->unit;

		if (span != reading->span &&
			(span >= bucket->unit
				 ? is_few
				 : bucket->distinct > 2 &&
					   mts_infer_unit_length(span) <= bucket->gap) &&
			mts_infer_units(infer, &other, span, true))
		{
			size_t len = strlen(others);

			write_reading(what, sizeof(what), &other);
			snprintf(others + len, sizeof(others) - len, "%s%s",
					 len > 0 ? " or " : "", what);
			offer(infer, &other, 0);
		}
	}
	snprintf(because, sizeof(because), "%s sampled begin%s %s %s",
			 bucket->distinct == 1   ? "the only bucket time"
			 : bucket->distinct == 2 ? "the two bucket times"
									 : "all bucket times",
			 bucket->distinct == 1 ? "s" : "",
			 mts_infer_unit_article(bucket->unit),
			 mts_infer_unit_name(bucket->unit));
	if (bucket->distinct > 1 && bucket->unit >= MTS_UNIT_DAY &&
		reading->span > bucket->unit && bucket->unit < MTS_UNIT_SECOND)
		snprintf(because, sizeof(because),
				 "they are too many for %ss of %s %s",
				 mts_infer_unit_name(bucket->unit + 1),
				 mts_infer_unit_article(bucket->unit),
				 mts_infer_unit_name(bucket->unit));
	if (others[0])
		remark_slots(infer, because, others);
}

/*
 * remark_parts
 *		Say that inner slots were taken for all parts of what encloses them.
 */
static void
remark_parts(MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;
	int level = reading->nslots - 1;
	const MtsInferSlot *outer;
	const MtsNode *node;
	MtsReading other = *reading;
	char path[MTS_MAX_PATH];

	if (level < 1 || reading->slots[level].times <= 1)
		return;
	outer = &reading->slots[level - 1];
	node =
		&infer->survey.nodes[mts_survey_slot(&infer->survey,
											 reading->containers[0], level)];
	other.slots[level].times = 0;
	offer(infer, &other, level);
	mts_infer_remark(
		infer,
		"%s: %lld to %lld taken for all parts of %s %s, as every %s has them; they could be %ss of it",
		mts_infer_show(infer,
					   mts_survey_slot(&infer->survey, reading->containers[0],
									   level),
					   path),
		(long long) node->least, (long long) node->greatest,
		mts_infer_unit_article(outer->unit), mts_infer_unit_name(outer->unit),
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

/* Keys of the points that some lack are data: names of what was measured. */
static bool
is_sparse(const MtsInfer *infer, int container)
{
	const MtsNode *nodes = infer->survey.nodes;
	int first = nodes[container].child;
	bool sparse = false;
	int64_t n = 0;

	if (!mts_infer_is_record(infer, container) || nodes[first].next < 0)
		return false;
	for (int i = 0; i < infer->nsamples; i++)
		(void) mts_survey_visit(&infer->survey, i, container, count_point, &n);
	for (int child = first; child >= 0; child = nodes[child].next)
	{
		if (!mts_infer_is_only(infer, child, MTS_NUMBER_TYPES))
			return false;
		sparse |= nodes[child].values != n;
	}
	return sparse;
}

/*
 * mts_infer_counted
 *		Find a reading of points whose time is that of their slots.
 */
bool
mts_infer_counted(MtsInfer *infer, char *why)
{
	MtsReading *reading = &infer->reading;
	char path[MTS_MAX_PATH];

	mts_infer_sort_fields(infer, false);
	reading->is_unpivoted =
		reading->ncontainers == 1 &&
		infer->survey.nodes[reading->containers[0]].nslots < MTS_MAX_SLOTS &&
		is_sparse(infer, reading->containers[0]);
	if (!mts_infer_slots(infer, why))
	{
		reading->is_unpivoted = false;
		return false;
	}
	remark_units(infer);
	remark_parts(infer);
	if (reading->is_unpivoted)
		mts_infer_remark(
			infer,
			"%s: names inside of the points are taken for values of the column \"key\", as some points lack some of them",
			mts_infer_show(infer, reading->containers[0], path));
	return true;
}
