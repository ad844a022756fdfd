/*
 * candidate.c
 *		Finds the reading of samples as buckets of points: generates
 *		candidates, and takes the first of the best grade that unfolds every
 *		sample.
 *
 * A candidate is a node of slots with those that have the same slots, a field
 * as the time of buckets, the span of buckets, and a unit and a form of keys
 * for each slot.  All spans and units come from one table.  Points with a time
 * of their own need no unit, but their times have to agree with their buckets.
 */
#include "core/infer/infer_private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More nodes, or candidates of one node, are not tried. */
#define MAX_NODES 32
#define MAX_CANDIDATES 128
#define MAX_OTHERS 8

/* The offsets of so many points reach half of so many buckets. */
#define MIN_POINTS 5
#define MIN_BUCKETS 3

/* The candidates of a node, in the order of generation */
typedef struct Candidates
{
	MtsInfer *infer;
	MtsReading *items;
	int n;
} Candidates;

/* Whether all slots of a node are keys */
static bool
is_keyed(const MtsInfer *infer, int node)
{
	for (; node >= 0; node = infer->survey.nodes[node].parent)
		if (infer->survey.nodes[node].kind == MTS_NODE_ELEMENTS)
			return false;
	return true;
}

/* Whether a path can name the slots of a node */
static bool
is_readable(const MtsInfer *infer, int node)
{
	const MtsNode *nodes = infer->survey.nodes;

	for (int at = node; nodes[at].parent >= 0; at = nodes[at].parent)
	{
		const MtsNode *parent = &nodes[nodes[at].parent];
		bool is_array = nodes[at].kind == MTS_NODE_ELEMENTS;

		if (nodes[at].values == 0 ||
			!mts_column_has_only(infer, nodes[at].parent,
								 MTS_TYPE_BIT(is_array || nodes[at].is_index
												  ? BSON_TYPE_ARRAY
												  : BSON_TYPE_DOCUMENT)) ||
			(nodes[at].kind == MTS_NODE_KEYS &&
			 (parent->has_odd_keys || parent->is_truncated)))
			return false;
	}
	/* elements of an array in an array have no names */
	return is_keyed(infer, node) ||
		   !(nodes[node].types & MTS_TYPE_BIT(BSON_TYPE_ARRAY)) ||
		   mts_survey_child(&infer->survey, node, MTS_NODE_ELEMENTS) < 0;
}

/* ---- Slots that count -------------------------------------------------- */

/* The only unit between two is a multiple: minutes follow hours. */
static bool
is_next(int outer, int inner)
{
	for (int i = outer + 1; i < inner; i++)
		if (mts_unit_is_single(i))
			return false;
	return mts_unit_is_single(inner);
}

/* The reason for a grade that is not forced, or that of the outer levels */
static const char *
find_reason(const MtsInfer *infer, const MtsReading *reading, int unit,
			MtsGrade grade)
{
	return grade == MTS_GRADE_FORCED ? reading->evidence
		   : grade == MTS_GRADE_FITS
			   ? "The keys lie within their unit, but do not reach its ends"
		   : !mts_unit_is_single(unit) ? "The keys are all parts of their unit"
		   : infer->survey.nodes[reading->containers[0]].has_letters
			   ? "The keys have letters, so they could be names"
		   : is_keyed(infer, reading->containers[0])
			   ? "The keys reach both ends of their unit, but do not fill it"
			   : "The arrays have nulls where elements are missing";
}

static void add_levels(Candidates *candidates, const MtsReading *reading,
					   int level, MtsGrade least, MtsGrade most);

/* Add the candidates whose slot on a level counts a unit. */
static void
add_unit(Candidates *candidates, const MtsReading *reading, int level,
		 MtsGrade least, MtsGrade most, int unit)
{
	MtsInfer *infer = candidates->infer;
	int outer = level == 0 ? reading->span : reading->slots[level - 1].unit;

	for (MtsKeyForm form = 0; form < MTS_KEY_FORMS; form++)
	{
		MtsReading next = *reading;
		MtsGrade grade;

		next.slots[level].unit = unit;
		grade =
			mts_evidence_grade(infer, &next, level, form, &next.slots[level]);
		if (grade == MTS_GRADE_NONE ||
			(grade == MTS_GRADE_FITS && !is_next(outer, unit)) ||
			(!mts_unit_is_single(unit) && mts_unit_is_single(next.span) &&
			 next.span < next.bucket->unit))
			continue;
		if (next.time_node < 0)
			next.evidence = find_reason(infer, reading, unit, grade);
		add_levels(candidates, &next, level + 1, grade < least ? grade : least,
				   grade > most ? grade : most);
		return;
	}
}

/*
 * Add the candidates with units for the slots from this level on.  Levels that
 * merely fit are accepted between units that follow each other.
 */
static void
add_levels(Candidates *candidates, const MtsReading *reading, int level,
		   MtsGrade least, MtsGrade most)
{
	int nslots =
		candidates->infer->survey.nodes[reading->containers[0]].nslots;
	int outer = level == 0 ? reading->span : reading->slots[level - 1].unit;
	MtsReading *item = &candidates->items[candidates->n];

	if (level < nslots)
	{
		for (int unit = outer + 1; unit < mts_unit_count(); unit++)
			add_unit(candidates, reading, level, least, most, unit);
		return;
	}
	if (candidates->n == MAX_CANDIDATES)
		return;
	/* three levels that follow each other are hardly names */
	if (least == MTS_GRADE_FITS &&
		(most > MTS_GRADE_FITS || nslots > 2 || reading->time_node >= 0))
		least = MTS_GRADE_ASSUMED;
	*item = *reading;
	item->nslots = nslots;
	item->grade = least < reading->grade ? least : reading->grade;
	candidates->n++;
}

/*
 * The grade that buckets of a span may have, by their times.  Times of three
 * or more buckets begin a unit only if buckets do.
 */
static MtsGrade
grade_span(const MtsTimeField *field, int span, const char **evidence)
{
	MtsSpan length = mts_unit_span(span);
	int64_t usecs = mts_span_length(length, 0);

	*evidence = "Bucket times are that far apart";
	if (!mts_unit_is_single(span))
		return mts_unit_single(span) == field->unit && field->distance > 0 &&
					   field->distance % usecs == 0
				   ? MTS_GRADE_ASSUMED
				   : MTS_GRADE_NONE;
	if (length.months > 0)
		return span == field->unit && field->distinct > 1 ? MTS_GRADE_FORCED
														  : MTS_GRADE_NONE;
	if (span < field->unit)
	{
		*evidence =
			"Bucket times are that far apart, and begin no unit of time";
		return field->distinct > 1 && field->gap >= usecs ? MTS_GRADE_ASSUMED
														  : MTS_GRADE_NONE;
	}
	if (span > field->unit && length.usecs > 0 && usecs < MTS_MINUTE)
		return MTS_GRADE_NONE;
	return span == field->unit || field->distinct < 3 ||
				   (length.days > 0 && mts_unit_span(field->unit).months > 0)
			   ? MTS_GRADE_FORCED
			   : MTS_GRADE_NONE;
}

/* Sort candidates by their grades, in the order of generation otherwise. */
static void
sort_candidates(Candidates *candidates)
{
	for (int i = 1; i < candidates->n; i++)
	{
		MtsReading item = candidates->items[i];
		int j = i;

		for (; j > 0 && candidates->items[j - 1].grade < item.grade; j--)
			candidates->items[j] = candidates->items[j - 1];
		candidates->items[j] = item;
	}
}

/* Whether two readings of the same buckets have the same slots */
static bool
have_same_units(const MtsReading *a, const MtsReading *b)
{
	return a->slots[0].unit == b->slots[0].unit &&
		   a->slots[a->nslots - 1].unit == b->slots[b->nslots - 1].unit &&
		   a->slots_are_local == b->slots_are_local;
}

/*
 * Keep the candidates that read all samples, besides the reading, which may be
 * none of them, for a remark.
 */
static void
keep_others(MtsInfer *infer, Candidates *candidates, bool is_found)
{
	MtsReading reading = infer->reading;

	infer->nothers = 0;
	infer->others = candidates->items;
	for (int i = 0; i < candidates->n && infer->nothers < MAX_OTHERS; i++)
	{
		MtsReading *other = &candidates->items[i];

		if (is_found && (other->bucket != reading.bucket ||
						 other->grade < MTS_GRADE_ASSUMED ||
						 have_same_units(other, &reading)))
			continue;
		infer->reading = *other;
		if (mts_trial_holds(infer))
			infer->others[infer->nothers++] = *other;
	}
	infer->reading = reading;
	if (is_found)
		(void) mts_trial_holds(infer);
}

/* Add the candidates with a field as the time of buckets of a span. */
static void
add_buckets(Candidates *candidates, const MtsTimeField *field, int span)
{
	MtsReading reading = candidates->infer->reading;
	MtsSpan length = mts_unit_span(span);

	reading.bucket = field;
	reading.span = span;
	reading.grade = grade_span(field, span, &reading.evidence);
	if (reading.grade == MTS_GRADE_NONE)
		return;
	add_levels(candidates, &reading, 0, MTS_GRADE_FORCED, MTS_GRADE_NONE);
	reading.slots_are_local = field->is_local && length.usecs == 0;
	if (reading.slots_are_local && reading.time_node < 0)
		add_levels(candidates, &reading, 0, MTS_GRADE_FORCED, MTS_GRADE_NONE);
}

/*
 * Find the units of the slots, of at least a grade.  If that is more than any,
 * all candidates are kept in others.
 */
static bool
find_units(MtsInfer *infer, MtsGrade least)
{
	Candidates candidates = {infer};
	MtsReading start = infer->reading;

	candidates.items =
		mts_infer_allocate(infer, MAX_CANDIDATES + 1, sizeof(MtsReading));
	/* buckets that begin no unit come last */
	for (int turn = 0; turn < 2; turn++)
		for (int i = 0; i < infer->nfields; i++)
			for (int span = 0; span < mts_unit_count(); span++)
				if ((mts_unit_is_single(span) &&
					 span < infer->fields[i].unit) == (turn == 1))
					add_buckets(&candidates, &infer->fields[i], span);
	sort_candidates(&candidates);
	for (int i = 0; i < candidates.n && candidates.items[i].grade >= least;
		 i++)
	{
		infer->reading = candidates.items[i];
		if (mts_trial_holds(infer))
		{
			keep_others(infer, &candidates, true);
			return true;
		}
	}
	infer->reading = start;
	if (least > MTS_GRADE_FORCED)
		keep_others(infer, &candidates, false);
	return false;
}

/* ---- Points with a time ------------------------------------------------ */

/* Let no slot count a unit. */
static void
set_elements(MtsInfer *infer)
{
	MtsReading *reading = &infer->reading;

	reading->nslots = infer->survey.nodes[reading->containers[0]].nslots;
	for (int i = 0; i < reading->nslots; i++)
		reading->slots[i] = (MtsInferSlot){MTS_NO_UNIT, "[]"};
	reading->grade = MTS_GRADE_FORCED;
}

/* Whether the points have numbers beside their time */
static bool
are_measured(const MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;
	MtsLeaves leaves;

	for (int i = 0; i < reading->ncontainers; i++)
	{
		mts_column_leaves(infer, reading->containers[i], &leaves);
		for (int j = 0; j < leaves.n; j++)
			if (leaves.nodes[j] != reading->time_node &&
				mts_column_has_only(infer, leaves.nodes[j], MTS_NUMBER_TYPES))
				return true;
	}
	return false;
}

/* Whether numbers that may be times are not, as documents have other times */
static bool
are_numbers(const MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;
	bool has_same = false;

	for (int i = 0; i < infer->nfields; i++)
		has_same |= strcmp(infer->fields[i].format, reading->time_format) == 0;
	return infer->nfields > 0 && !has_same &&
		   (reading->has_time_keys ||
			strncmp(reading->time_format, "epoch", 5) == 0);
}

/*
 * Try elements, or keys, that have a time, in buckets of the longest span that
 * their times allow, or in documents without a time that agrees.
 */
static bool
try_elements(MtsInfer *infer)
{
	for (int span = 0; span < mts_unit_count(); span++)
		for (int i = 0; i < infer->nfields && mts_unit_is_single(span); i++)
		{
			const MtsTimeField *field = &infer->fields[i];

			infer->reading.bucket = field;
			infer->reading.span = span;
			if (span >= field->unit &&
				(mts_unit_span(span).months == 0 || field->distinct > 1) &&
				mts_trial_holds(infer))
				return true;
		}
	infer->reading.bucket = NULL;
	infer->reading.span = MTS_NO_UNIT;
	return are_measured(infer) && !are_numbers(infer) &&
		   mts_trial_holds(infer);
}

/* Try a node as the time of the points: in slots that count, or elements. */
static bool
try_own_time(MtsInfer *infer, int node)
{
	MtsReading start = infer->reading;
	const MtsNode *nodes = infer->survey.nodes;
	int slot = start.containers[0];
	bool is_array = true;

	for (int at = slot; at >= 0; at = nodes[at].parent)
		is_array &= nodes[at].kind != MTS_NODE_KEYS;
	infer->reading.time_node = node;
	if (!mts_time_field_find_format(infer, node, infer->reading.time_format))
		return false;
	if ((!is_array || nodes[slot].nslots > 1 ||
		 (nodes[slot].types & MTS_NULL_TYPES)) &&
		find_units(infer, MTS_GRADE_FITS))
	{
		infer->reading.grade = MTS_GRADE_FORCED;
		infer->nothers = 0;
		return true;
	}
	set_elements(infer);
	if (is_array && try_elements(infer))
		return true;
	infer->reading = start;
	return false;
}

/* Try the times that points may have, dates first, and numbers last. */
static bool
find_own_time(MtsInfer *infer)
{
	static const uint32_t types[] = {MTS_TYPE_BIT(BSON_TYPE_DATE_TIME),
									 MTS_TYPE_BIT(BSON_TYPE_UTF8),
									 MTS_BINARY_NUMBER_TYPES};
	const MtsReading *reading = &infer->reading;
	int nodes[MTS_READING_CONTAINERS];
	int n = reading->ncontainers;
	MtsLeaves leaves;

	memcpy(nodes, reading->containers, sizeof(nodes));
	if (mts_column_is_record(infer, nodes[0]))
	{
		mts_column_leaves(infer, nodes[0], &leaves);
		n = leaves.n < 8 ? leaves.n : 8;
		memcpy(nodes, leaves.nodes, n * sizeof(int));
	}
	else if (n < 2)
		return false;
	for (int type = 0; type < 3; type++)
		for (int i = 0; i < n; i++)
			if (mts_column_has_only(infer, nodes[i], types[type]) &&
				try_own_time(infer, nodes[i]))
				return true;
	return false;
}

/* Find keys that are times. */
static bool
find_time_keys(MtsInfer *infer)
{
	static const char *const epochs[] = {"epoch", "epoch_ms", "epoch_us"};
	MtsReading *reading = &infer->reading;
	const MtsNode *node = &infer->survey.nodes[reading->containers[0]];
	MtsReading start = *reading;
	int64_t least = MTS_SURVEY_FIRST_SECOND;
	char format[MTS_INFER_FORMAT];

	if (node->kind != MTS_NODE_KEYS || node->nslots != 1 || node->len > 32)
		return false;
	set_elements(infer);
	reading->has_time_keys = true;
	for (int i = 0; i < 4; i++, least *= i < 3 ? 1000 : 1)
	{
		if (i < 3 ? node->greatest < least || node->greatest / 7 > least
				  : !mts_time_field_pattern(node->name, true, format))
			continue;
		snprintf(reading->slots[0].text, MTS_SLOT_TEXT, "{%s}",
				 i < 3 ? epochs[i] : format);
		if (try_elements(infer))
			return true;
	}
	*reading = start;
	return false;
}

/* Numbers of a node in one sample, and facts about all samples */
typedef struct Offsets
{
	double last;
	double least;
	double greatest;
	bool ascend;
	int n;
	int several; /* samples with two or more */
	int nseries; /* samples with MIN_POINTS or more */
} Offsets;

static bool
add_offset(void *arg, const MtsElement *element)
{
	Offsets *offsets = arg;
	double d;

	if (!mts_element_number(element, &d) || !(d >= 0) || isinf(d) ||
		(offsets->n > 0 && d == offsets->last))
		return false;
	offsets->ascend &= offsets->n == 0 || d > offsets->last;
	offsets->last = d;
	offsets->least = fmin(offsets->least, d);
	offsets->greatest = fmax(offsets->greatest, d);
	offsets->n++;
	return true;
}

/*
 * Score a node as the offsets of points from the times of the reading's
 * buckets, and write the format.  They ascend in buckets and reach half of the
 * span, or the field is in the _id, which shows that it is the time of
 * buckets.  In months and years they count days and months, from 0 or 1.
 * Returns 0 if not.
 */
static double
score_offset(const MtsInfer *infer, int node, char *format)
{
	const MtsReading *reading = &infer->reading;
	Offsets offsets = {.ascend = true, .least = INFINITY};
	int unit = reading->span;
	bool is_calendar = mts_unit_span(unit).months > 0, counts_from_1;
	double inside;
	char name[32];

	for (int i = 0; i < infer->nsamples; i++)
	{
		offsets.n = 0;
		if (!mts_survey_visit(&infer->survey, i, node, add_offset, &offsets))
			return 0;
		offsets.several += offsets.n > 1;
		offsets.nseries += offsets.n >= MIN_POINTS;
	}
	counts_from_1 = is_calendar && offsets.least >= 1;
	offsets.greatest -= counts_from_1;
	do
	{
		if (++unit >= mts_unit_count())
			return 0;
		inside = (double) mts_unit_capacity(reading->span, unit, true);
	} while (!mts_unit_is_single(unit) ||
			 (!is_calendar && offsets.greatest >= inside));
	if (offsets.greatest >= inside || offsets.several == 0 ||
		(!mts_column_is_in(infer, reading->bucket->node, "_id") &&
		 (!offsets.ascend || offsets.nseries < MIN_BUCKETS ||
		  offsets.greatest < inside / 2)))
		return 0;
	sprintf(format, "offset:%s%s", mts_unit_name(unit, name),
			counts_from_1 ? ":1" : "");
	return 0.1 + offsets.ascend + offsets.greatest / inside;
}

/* Find a number in the points of an array that is an offset. */
static bool
find_offset(MtsInfer *infer)
{
	MtsReading *reading = &infer->reading;
	MtsReading start = *reading;
	const MtsNode *node = &infer->survey.nodes[start.containers[0]];
	char format[MTS_INFER_FORMAT];
	MtsLeaves leaves;

	if (node->kind != MTS_NODE_ELEMENTS || node->nslots != 1 ||
		!mts_column_is_record(infer, start.containers[0]))
		return false;
	mts_column_leaves(infer, start.containers[0], &leaves);
	set_elements(infer);
	reading->grade = MTS_GRADE_ASSUMED;
	reading->evidence = "The number fills the bucket best";
	for (int i = 0; i < infer->nfields; i++)
	{
		const MtsTimeField *field = &infer->fields[i];
		double best = 0;

		reading->bucket = field;
		/* a single time begins a month by chance */
		reading->span =
			field->distinct < 2 && field->unit < 3 ? 3 : field->unit;
		for (int j = 0; j < leaves.n; j++)
		{
			double score = mts_column_has_only(infer, leaves.nodes[j],
											   MTS_BINARY_NUMBER_TYPES)
							   ? score_offset(infer, leaves.nodes[j], format)
							   : 0;

			if (score <= best)
				continue;
			best = score;
			reading->time_node = leaves.nodes[j];
			strcpy(reading->time_format, format);
		}
		if (best > 0 && mts_trial_holds(infer))
			return true;
	}
	*reading = start;
	return false;
}

/* ---- Nodes ------------------------------------------------------------- */

/* Whether the nodes a and b have slots of one kind, with similar keys */
static bool
have_same_slots(const MtsInfer *infer, int a, int b)
{
	const MtsNode *nodes = infer->survey.nodes;

	for (int i = 0; i < nodes[a].nslots && nodes[a].nslots == nodes[b].nslots;
		 i++)
	{
		int x = mts_survey_slot(&infer->survey, a, i);
		int y = mts_survey_slot(&infer->survey, b, i);
		MtsElement key = {.key = nodes[y].name, .key_len = nodes[y].len};

		if (nodes[x].kind != nodes[y].kind ||
			nodes[y].greatest / 12 > nodes[x].greatest ||
			nodes[x].greatest / 12 > nodes[y].greatest ||
			(nodes[x].kind == MTS_NODE_KEYS &&
			 !mts_survey_is_key(&infer->survey, nodes[x].parent, &key)))
			return false;
	}
	return nodes[a].nslots == nodes[b].nslots;
}

static bool
count_one(void *arg, const MtsElement *element)
{
	++*(int64_t *) arg;
	return true;
}

/* Whether two nodes have the same number of elements in every sample */
static bool
are_parallel(const MtsInfer *infer, int a, int b)
{
	for (int i = 0; i < infer->nsamples; i++)
	{
		int64_t na = 0, nb = 0;

		(void) mts_survey_visit(&infer->survey, i, a, count_one, &na);
		(void) mts_survey_visit(&infer->survey, i, b, count_one, &nb);
		if (na != nb)
			return false;
	}
	return true;
}

/* Begin a reading with a node and those that have the same slots. */
static void
begin_reading(MtsInfer *infer, int first)
{
	MtsReading *reading = &infer->reading;
	bool is_array = !is_keyed(infer, first);

	*reading = (MtsReading){.span = MTS_NO_UNIT, .time_node = -1};
	reading->containers[reading->ncontainers++] = first;
	if (is_array && mts_column_is_record(infer, first))
		return;
	for (int node = 0; node < infer->survey.nnodes; node++)
		if (node != first && infer->survey.nodes[node].kind != MTS_NODE_NAME &&
			reading->ncontainers < MTS_READING_CONTAINERS &&
			is_readable(infer, node) && have_same_slots(infer, first, node) &&
			(!is_array || (!mts_column_is_record(infer, node) &&
						   are_parallel(infer, first, node))))
			reading->containers[reading->ncontainers++] = node;
}

static bool
count_point(void *arg, const MtsElement *element)
{
	*(int64_t *) arg += element->type == BSON_TYPE_DOCUMENT &&
						!mts_element_is_empty_document(element);
	return true;
}

/* Whether the names in points are data, as some points lack some of them */
static bool
is_sparse(const MtsInfer *infer, int container)
{
	const MtsNode *nodes = infer->survey.nodes;
	int first = nodes[container].child;
	bool sparse = false;
	int64_t n = 0;

	if (!mts_column_is_record(infer, container) || nodes[first].next < 0)
		return false;
	(void) mts_survey_visit_all(&infer->survey, container, count_point, &n);
	for (int child = first; child >= 0; child = nodes[child].next)
	{
		if (!mts_column_has_only(infer, child, MTS_NUMBER_TYPES))
			return false;
		sparse |= nodes[child].values != n;
	}
	return sparse;
}

/*
 * Read keys that are names as the values of a column: n.{key}.  The units that
 * they fit are kept for a remark.
 */
static bool
find_names(MtsInfer *infer)
{
	MtsReading *reading = &infer->reading;
	const MtsNode *node = &infer->survey.nodes[reading->containers[0]];

	if (infer->nothers == 0)
		(void) find_units(infer, MTS_GRADE_FORCED + 1);
	if (node->kind != MTS_NODE_KEYS || node->nslots != 1 ||
		infer->nfields == 0 ||
		mts_survey_child(&infer->survey, reading->containers[0],
						 MTS_NODE_KEYS) >= 0 ||
		mts_survey_child(&infer->survey, reading->containers[0],
						 MTS_NODE_ELEMENTS) >= 0)
		return false;
	set_elements(infer);
	strcpy(reading->slots[0].text, "{key}");
	reading->has_keys = true;
	for (int i = 0; i < infer->nfields; i++)
	{
		reading->bucket = &infer->fields[i];
		if (reading->bucket->present == infer->nsamples &&
			mts_trial_holds(infer))
			return true;
	}
	return false;
}

static bool
find_times(MtsInfer *infer, MtsGrade least)
{
	MtsReading *reading = &infer->reading;
	int first = reading->containers[0];

	if (least == MTS_GRADE_FORCED &&
		(find_own_time(infer) || find_time_keys(infer)))
		return true;
	if (least == MTS_GRADE_ASSUMED && find_offset(infer))
		return true;
	if (least == MTS_GRADE_FITS)
		return find_names(infer);
	reading->is_unpivoted =
		reading->ncontainers == 1 &&
		infer->survey.nodes[first].nslots < MTS_MAX_SLOTS &&
		!infer->survey.nodes[first].holds_tuples && is_sparse(infer, first);
	return find_units(infer, least);
}

/* Whether there are slots in the slot of a node */
static bool
is_outer(const MtsInfer *infer, int node)
{
	int child = mts_survey_child(&infer->survey, node, MTS_NODE_KEYS);

	return child >= 0 && is_readable(infer, child);
}

/* List the nodes of slots, those with most values first. */
static int
list_nodes(const MtsInfer *infer, int *nodes)
{
	int n = 0;

	for (int node = 0; node < infer->survey.nnodes; node++)
	{
		int i = n;

		if (infer->survey.nodes[node].kind == MTS_NODE_NAME ||
			n == MAX_NODES || !is_readable(infer, node))
			continue;
		for (; i > 0 && infer->survey.nodes[nodes[i - 1]].values <
							infer->survey.nodes[node].values;
			 i--)
			nodes[i] = nodes[i - 1];
		nodes[i] = node;
		n++;
	}
	return n;
}

/*
 * mts_candidate_find
 *		Find the reading of the samples as buckets of points.
 *
 * The nodes with most values are tried first; what is forced precedes what is
 * assumed, and that precedes slots whose values are documents of others, and
 * names.  Returns false, with an empty reading, if there is none.
 */
bool
mts_candidate_find(MtsInfer *infer)
{
	static const struct
	{
		MtsGrade least;
		bool is_outer;
	} passes[] = {{MTS_GRADE_FORCED, false},
				  {MTS_GRADE_ASSUMED, false},
				  {MTS_GRADE_FORCED, true},
				  {MTS_GRADE_FITS, false}};
	int nodes[MAX_NODES];
	int n = list_nodes(infer, nodes);

	for (int pass = 0; pass < 4; pass++)
		for (int i = 0; i < n; i++)
		{
			if (is_outer(infer, nodes[i]) != passes[pass].is_outer)
				continue;
			begin_reading(infer, nodes[i]);
			if (passes[pass].least > MTS_GRADE_FITS)
				infer->nothers = 0;
			if (find_times(infer, passes[pass].least))
				return true;
		}
	infer->reading = (MtsReading){.span = MTS_NO_UNIT, .time_node = -1};
	infer->nexcluded = 0;
	return false;
}
