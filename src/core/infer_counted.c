/*
 * infer_counted.c
 *		Which units do the slots of the points count, in which buckets?
 *
 * What all bucket times begin says how long buckets are; the slots then count
 * the units inside of that, as coarse as their keys allow.
 */
#include "core/infer_private.h"

#include <stdio.h>
#include <string.h>

/* Keys that divide a bucket count multiples of no fewer units, where not all
 * buckets have all of them. */
#define MIN_MULTIPLE 4

/* The node of the outermost slot */
static int
outermost(const MtsInfer *infer)
{
	const MtsNode *nodes = infer->survey.nodes;
	int node = infer->reading.containers[0];

	while (nodes[node].nslots > 1 || nodes[node].kind == MTS_NODE_NAME)
		node = nodes[node].parent;
	return node;
}

/* Add a reading of the outermost slot to the text of a remark. */
static void
add_reading(char *text, size_t size, const MtsReading *reading)
{
	size_t len = strlen(text);

	snprintf(text + len, size - len, "%s%ss of %s %s", len > 0 ? " or " : "",
			 mts_infer_unit_name(reading->slots[0].unit),
			 mts_infer_unit_article(reading->span),
			 mts_infer_unit_name(reading->span));
}

/* Say why the outermost slot was taken for what it is, and for what else. */
static void
remark(MtsInfer *infer, const char *because, const char *others)
{
	const MtsNode *nodes = infer->survey.nodes;
	char path[MTS_MAX_PATH];
	char taken[64] = "";
	int outer = outermost(infer);

	add_reading(taken, sizeof(taken), &infer->reading);
	mts_infer_remark(infer, "%s: %lld to %lld taken for %s, as %s%s%s",
					 mts_infer_show(infer, outer, path),
					 (long long) nodes[outer].least,
					 (long long) nodes[outer].greatest, taken, because,
					 others[0] ? "; they could be " : "", others);
}

/*
 * Name the other units that the outermost slot could count: in shorter
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

	for (MtsInferUnit span = MTS_UNIT_DAY; span <= MTS_UNIT_MINUTE; span++)
	{
		bool is_few = bucket->distinct <= 2 || reading->span != bucket->unit;

		if (span != reading->span &&
			(span >= bucket->unit
				 ? is_few
				 : bucket->distinct > 2 &&
					   mts_infer_unit_length(span) <= bucket->gap) &&
			mts_infer_units(infer, &other, span, true))
			add_reading(others, sizeof(others), &other);
	}
	snprintf(because, sizeof(because), "%s sampled begin%s %s %s",
			 bucket->distinct == 1   ? "the only bucket time"
			 : bucket->distinct == 2 ? "the two bucket times"
									 : "all bucket times",
			 bucket->distinct == 1 ? "s" : "",
			 mts_infer_unit_article(bucket->unit),
			 mts_infer_unit_name(bucket->unit));
	if (others[0])
		remark(infer, because, others);
}

/* Is the outermost slot's array long enough to be more than a list? */
static bool
is_filled(const MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;

	return !mts_infer_is_array(infer) || reading->own_time >= 0 ||
		   2 * (infer->survey.nodes[outermost(infer)].greatest + 1) >
			   mts_infer_units_in(reading->span, reading->slots[0].unit);
}

/* The keys of the outermost slot in one sample */
typedef struct Keys
{
	MtsNodeKind kind;
	int64_t n;
	int64_t greatest;
} Keys;

static bool
count_key(void *arg, const MtsElement *element)
{
	Keys *keys = arg;
	int64_t key = keys->n++;

	if (keys->kind == MTS_NODE_NUMBERS)
		(void) mts_key_number(element->key, element->key_len, &key);
	if (key > keys->greatest)
		keys->greatest = key;
	return true;
}

/*
 * Have all buckets the same keys, without a gap?  Then these are all that
 * there can be, and divide the bucket.
 */
static bool
has_all_keys(const MtsInfer *infer)
{
	int outer = outermost(infer);
	const MtsNode *node = &infer->survey.nodes[outer];
	int64_t n = node->greatest + 1 - (node->least >= 1);

	if (infer->reading.bucket->distinct < 3 || node->samples < 3)
		return false;
	for (int i = 0; i < infer->nsamples; i++)
	{
		Keys keys = {node->kind, 0, -1};

		(void) mts_survey_visit(&infer->survey, i, outer, count_key, &keys);
		if (keys.n > 0 && (keys.n != n || keys.greatest != node->greatest))
			return false;
	}
	return true;
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

	if ((mts_infer_is_array(infer) && reading->own_time < 0) ||
		(dense && !has_all_keys(infer)) ||
		!mts_infer_multiples(infer, reading, field->unit) ||
		(!dense && reading->nslots == 1 &&
		 reading->slots[0].times < MIN_MULTIPLE) ||
		!mts_infer_check(infer, why))
		return false;
	if (mts_infer_units(infer, &other, field->unit, false))
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
			is_filled(infer) && mts_infer_check(infer, why))
			return true;
	}
	return false;
}

/*
 * Slots that count in buckets that begin at any time: these are as long as
 * the times are apart, or, of a single one, as short as the keys allow.
 */
static bool
try_unaligned(MtsInfer *infer, const MtsInferField *field, char *why)
{
	bool is_single = field->distinct == 1;

	for (int i = 0; i < 3; i++)
	{
		MtsInferUnit span = is_single ? MTS_UNIT_MINUTE - i : MTS_UNIT_DAY + i;

		if (span >= field->unit ||
			(!is_single && mts_infer_unit_length(span) > field->gap) ||
			!mts_infer_units(infer, &infer->reading, span, true) ||
			!is_filled(infer) || !mts_infer_check(infer, why))
			continue;
		remark(infer,
			   is_single ? "the only bucket time sampled begins none"
						 : "buckets begin at any time, but are so far apart",
			   "");
		return true;
	}
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
			(try_multiples(infer, &infer->fields[i], true, why) ||
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
	if (reading->is_unpivoted)
		mts_infer_remark(
			infer,
			"%s: names inside of the points are taken for values of the column \"key\", as some points lack some of them",
			mts_infer_show(infer, reading->containers[0], path));
	return true;
}
