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
#include "advice/infer/infer_private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More places, times of points and other readings are not tried. */
#define MAX_NODES 32
#define MAX_OWN_TIMES 8
#define MAX_OTHERS 8

/* The offsets of so many points reach half of so many buckets. */
#define MIN_POINTS 5
#define MIN_BUCKETS 3

/* One document in so many does not begin a longer unit by chance. */
#define MAX_LONG 4

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

/* mts_candidate_is_outer: whether there are slots of keys inside of a node */
bool
mts_candidate_is_outer(const MtsInfer *infer, int node)
{
	const MtsNode *nodes = infer->survey.nodes;

	for (int child = nodes[node].child; child >= 0; child = nodes[child].next)
		if ((nodes[child].kind == MTS_NODE_KEYS &&
			 is_readable(infer, child)) ||
			(nodes[child].kind == MTS_NODE_NAME &&
			 mts_candidate_is_outer(infer, child)))
			return true;
	return false;
}

/* ---- Slots that count -------------------------------------------------- */

/*
 * mts_candidate_enclosing
 *		The unit that a slot counts parts of: that of the slot before, or the
 *		bucket's span.
 */
int
mts_candidate_enclosing(const MtsReading *reading, int level)
{
	while (--level >= 0)
		if (reading->slots[level].unit != MTS_NO_UNIT)
			return reading->slots[level].unit;
	return reading->span;
}

/* mts_candidate_set_names: read the keys of a slot as values of a column */
void
mts_candidate_set_names(const MtsInfer *infer, MtsReading *reading, int level)
{
	char name[MTS_INFER_NAME];

	reading->slots[level].unit = MTS_NO_UNIT;
	snprintf(reading->slots[level].text, MTS_SLOT_TEXT, "{%s}",
			 mts_column_key_name(infer, reading->containers[0], name));
	reading->names = level + 1;
}

/* The only unit between two is a multiple: minutes follow hours. */
static bool
is_next(int outer, int inner)
{
	for (int i = outer + 1; i < inner; i++)
		if (mts_unit_is_single(i))
			return false;
	return mts_unit_is_single(inner);
}

static void add_levels(MtsInfer *infer, const MtsReading *reading, int level,
					   MtsGrade least, MtsGrade most);

/* Add the candidates whose slot on a level counts a unit. */
static void
add_unit(MtsInfer *infer, const MtsReading *reading, int level, MtsGrade least,
		 MtsGrade most, int unit)
{
	int outer = mts_candidate_enclosing(reading, level);
	bool is_alone = infer->survey.nodes[reading->containers[0]].nslots == 1 &&
					reading->time_node < 0;

	for (MtsKeyForm form = 0; form < MTS_KEY_FORMS; form++)
	{
		MtsReading next = *reading;
		MtsGrade grade;

		next.slots[level].unit = unit;
		grade =
			mts_evidence_grade(infer, &next, level, form, &next.slots[level]);
		next.slots[level].grade = grade;
		/* keys that differ with the bucket's time confirm its span */
		next.is_confirmed = form >= MTS_KEY_OF_HOUR;
		if (next.is_confirmed && grade == MTS_GRADE_FORCED)
			next.grade = MTS_GRADE_FORCED;
		if (grade == MTS_GRADE_NONE ||
			(grade == MTS_GRADE_FITS && !is_alone && !is_next(outer, unit)) ||
			(!mts_unit_is_single(unit) && mts_unit_is_single(next.span) &&
			 next.span < next.bucket->unit))
			continue;
		add_levels(infer, &next, level + 1, grade < least ? grade : least,
				   grade > most ? grade : most);
		return;
	}
}

/*
 * Add a candidate after those of its grade, and before lesser ones; one that
 * is confirmed, before others of its grade.
 */
static void
add_candidate(MtsInfer *infer, const MtsReading *reading)
{
	int i = infer->nothers++;

	infer->others = infer->host->resize(infer->others,
										infer->nothers * sizeof(MtsReading));
	for (; i > 0 &&
		   (infer->others[i - 1].grade < reading->grade ||
			(infer->others[i - 1].grade == reading->grade &&
			 infer->others[i - 1].is_confirmed < reading->is_confirmed));
		 i--)
		infer->others[i] = infer->others[i - 1];
	infer->others[i] = *reading;
}

/*
 * Add the candidates with units for the slots from this level on.  Levels that
 * merely fit are accepted between units that follow each other.
 */
static void
add_levels(MtsInfer *infer, const MtsReading *reading, int level,
		   MtsGrade least, MtsGrade most)
{
	int nslots = infer->survey.nodes[reading->containers[0]].nslots;
	int outer = mts_candidate_enclosing(reading, level);
	MtsReading item = *reading;

	level += level + 1 == reading->names;
	if (level < nslots)
	{
		for (int unit = outer + 1; unit < mts_unit_count(); unit++)
			add_unit(infer, reading, level, least, most, unit);
		return;
	}
	/* three levels that follow each other are hardly names */
	if (least == MTS_GRADE_FITS &&
		(most > MTS_GRADE_FITS || nslots - (reading->names > 0) > 2))
		least = MTS_GRADE_ASSUMED;
	item.nslots = nslots;
	item.grade = reading->time_node >= 0  ? MTS_GRADE_FORCED
				 : least < reading->grade ? least
										  : reading->grade;
	item.grade -= reading->names > 0;
	add_candidate(infer, &item);
}

/*
 * The grade that buckets of a span may have, by their times.  Times of three
 * or more buckets begin a unit only if buckets do.
 */
static MtsGrade
grade_span(const MtsInfer *infer, const MtsTimeField *field, int span)
{
	MtsSpan length = mts_unit_span(span);
	int64_t usecs = mts_span_length(length, 0);

	if (field->is_local && length.usecs > 0)
		return MTS_GRADE_NONE;
	if (field->is_local && field->distinct < 3 &&
		mts_time_field_has_zone(field->format))
		return span >= field->unit &&
					   (length.months == 0 || field->distinct > 1)
				   ? MTS_GRADE_ASSUMED
				   : MTS_GRADE_NONE;
	/* quarters of a year */
	if (!mts_unit_is_single(span) && length.months > 0)
		return mts_unit_single(span) == field->unit && field->distinct > 2 &&
					   mts_time_field_begins(infer, field, span)
				   ? MTS_GRADE_ASSUMED
				   : MTS_GRADE_NONE;
	if (!mts_unit_is_single(span))
		return mts_unit_single(span) == field->unit && field->distance > 0 &&
					   field->distance % usecs == 0
				   ? MTS_GRADE_ASSUMED
				   : MTS_GRADE_NONE;
	if (length.months > 0)
		return span == field->unit && field->distinct > 1 ? MTS_GRADE_FORCED
														  : MTS_GRADE_NONE;
	if (span < field->unit)
		return field->distinct > 1 && field->gap >= usecs ? MTS_GRADE_ASSUMED
														  : MTS_GRADE_NONE;
	if (span > field->unit && length.usecs > 0 && usecs < MTS_MINUTE)
		return MTS_GRADE_NONE;
	return span == field->unit || field->distinct < 3 ||
				   (length.days > 0 && mts_unit_span(field->unit).months > 0)
			   ? MTS_GRADE_FORCED
			   : MTS_GRADE_NONE;
}

/* The greatest number in the keys of a node in a sample, or -1 */
static int64_t
greatest_key(const MtsSurvey *survey, int node, int sample)
{
	MtsSurveyScan scan = mts_survey_scan(survey, node, sample);
	int64_t greatest = -1;

	while (mts_survey_next(&scan))
		if (mts_survey_number(scan.element.key) > greatest)
			greatest = mts_survey_number(scan.element.key);
	return greatest;
}

/*
 * Whether some documents may have the keys of a longer unit than others: a
 * part of those whose keys are parts of that unit, by their number, begin it.
 */
static bool
have_two_spans(const MtsInfer *infer, const MtsReading *reading)
{
	const MtsTimeField *field = reading->bucket;
	const MtsSurvey *survey = &infer->survey;
	MtsTime least = MTS_TIME_MAX, most = MTS_TIME_MIN;
	int longer = reading->span, n = 0, nlong = 0;

	if (longer <= 0 || longer != field->unit ||
		survey->nodes[reading->containers[0]].kind != MTS_NODE_KEYS)
		return false;
	while (!mts_unit_is_single(--longer))
		;
	for (int i = 0; i < infer->nsamples * reading->ncontainers; i++)
	{
		MtsTime t = field->times[i / reading->ncontainers];
		int64_t key = greatest_key(
			survey,
			mts_survey_slot(survey,
							reading->containers[i % reading->ncontainers], 0),
			i / reading->ncontainers);

		if (key < 0 || t == MTS_TIME_MIN ||
			key > mts_unit_capacity(longer, reading->span, true))
			continue;
		n++;
		if (mts_clock_floor(mts_time_field_clock(infer, field), t,
							mts_unit_span(longer)) != t)
			continue;
		nlong++;
		least = t < least ? t : least;
		most = t > most ? t : most;
	}
	return least < most && MAX_LONG * nlong >= n;
}

/*
 * mts_candidate_is_same
 *		Whether two readings give points the same times in the same buckets.
 */
bool
mts_candidate_is_same(const MtsReading *a, const MtsReading *b)
{
	for (int i = 0; i < a->nslots && a->nslots == b->nslots; i++)
		if (strcmp(a->slots[i].text, b->slots[i].text) != 0)
			return false;
	return a->nslots == b->nslots && a->span == b->span &&
		   a->slots_are_local == b->slots_are_local &&
		   (a->bucket && a->bucket->is_local) ==
			   (b->bucket && b->bucket->is_local) &&
		   strcmp(a->time_format, b->time_format) == 0;
}

/* Add the candidates with a field as the time of buckets of a span. */
static void
add_buckets(MtsInfer *infer, MtsReading reading, const MtsTimeField *field,
			int span)
{
	reading.bucket = field;
	reading.span = span;
	reading.grade = grade_span(infer, field, span);
	if (reading.grade == MTS_GRADE_NONE || have_two_spans(infer, &reading))
		return;
	add_levels(infer, &reading, 0, MTS_GRADE_FORCED, MTS_GRADE_NONE);
	reading.slots_are_local =
		field->is_local && mts_unit_span(span).usecs == 0;
	if (reading.slots_are_local && reading.time_node < 0)
		add_levels(infer, &reading, 0, MTS_GRADE_FORCED, MTS_GRADE_NONE);
}

/* Add the candidates with units for all slots. */
static void
add_units(MtsInfer *infer, const MtsReading *reading)
{
	/* buckets that begin no unit come last */
	for (int turn = 0; turn < 2; turn++)
		for (int i = 0; i < infer->nfields + infer->nlocal; i++)
			for (int span = 0; span < mts_unit_count(); span++)
				if ((mts_unit_is_single(span) &&
					 span < infer->fields[i].unit) == (turn == 1))
					add_buckets(infer, *reading, &infer->fields[i], span);
}

/* ---- Points with a time ------------------------------------------------ */

/* Let no slot of a reading count a unit. */
static void
set_elements(const MtsInfer *infer, MtsReading *reading)
{
	reading->nslots = infer->survey.nodes[reading->containers[0]].nslots;
	for (int i = 0; i < reading->nslots; i++)
		reading->slots[i] =
			(MtsInferSlot){MTS_NO_UNIT, "[]", MTS_GRADE_FORCED};
	reading->grade = MTS_GRADE_FORCED;
}

/* Whether a value is a number, or the text of one */
static bool
is_numeric(const MtsElement *element)
{
	double d;
	size_t len;
	const char *text;
	char *end;

	if (element->type != BSON_TYPE_UTF8)
		return element->type == BSON_TYPE_NULL ||
			   mts_element_number(element, &d);
	text = mts_element_text(element, &len);
	(void) strtod(text, &end);
	return len > 0 && *end == '\0';
}

/* Whether the points have numbers beside their time */
static bool
are_measured(const MtsInfer *infer, int time_node)
{
	const MtsReading *reading = &infer->reading;
	MtsLeaves leaves;

	for (int i = 0; i < reading->ncontainers; i++)
	{
		mts_column_leaves(infer, reading->containers[i], &leaves);
		for (int j = 0; j < leaves.n; j++)
			if (leaves.nodes[j] != time_node &&
				mts_column_has_only(infer, leaves.nodes[j],
									MTS_NUMBER_TYPES |
										MTS_TYPE_BIT(BSON_TYPE_UTF8)) &&
				mts_survey_all(&infer->survey, leaves.nodes[j], is_numeric))
				return true;
	}
	return false;
}

/* Whether numbers that may be times are not, as documents have other times */
static bool
are_numbers(const MtsInfer *infer, const MtsReading *reading)
{
	bool has_same = false;

	for (int i = 0; i < infer->nfields; i++)
		has_same |= strcmp(infer->fields[i].format, reading->time_format) == 0;
	return infer->nfields > 0 && !has_same &&
		   (reading->has_time_keys ||
			mts_time_field_is_number(reading->time_format));
}

/*
 * Add elements, or keys, that have a time, in buckets of the longest span that
 * their times allow, or in documents without a time that agrees.
 */
static void
add_elements(MtsInfer *infer, MtsReading reading)
{
	/* buckets hardly span a multiple if they may span a unit */
	for (int turn = 0; turn < 2; turn++)
		for (int span = 0; span < mts_unit_count(); span++)
			for (int i = 0; i < infer->nfields; i++)
			{
				reading.bucket = &infer->fields[i];
				reading.span = span;
				if (mts_unit_is_single(span) != (turn == 0))
					continue;
				if (turn == 1 ? grade_span(infer, reading.bucket, span) >
									MTS_GRADE_NONE
							  : span >= reading.bucket->unit &&
									(mts_unit_span(span).months == 0 ||
									 reading.bucket->distinct > 1))
					add_candidate(infer, &reading);
			}
	reading.bucket = NULL;
	reading.span = MTS_NO_UNIT;
	if (are_measured(infer, reading.time_node) &&
		!are_numbers(infer, &reading))
		add_candidate(infer, &reading);
}

/* Add elements that have a time of day, in buckets of a day. */
static void
add_days(MtsInfer *infer, MtsReading reading)
{
	reading.span = mts_unit_find((MtsSpan){0, 1, 0});
	for (int i = 0; i < infer->nfields; i++)
	{
		const MtsTimeField *field = &infer->fields[i];

		reading.bucket = field;
		/* a single day begins a month by chance */
		if (field->unit == reading.span
				? !field->has_daily_phase
				: field->unit < reading.span && field->distinct < 2)
			add_candidate(infer, &reading);
	}
}

/*
 * Add the times that points may have, dates first, then texts, numbers, and
 * times of day: in slots that count, or in elements.
 */
static void
add_own_times(MtsInfer *infer)
{
	static const uint32_t types[] = {MTS_TYPE_BIT(BSON_TYPE_DATE_TIME) |
										 MTS_TYPE_BIT(BSON_TYPE_TIMESTAMP),
									 MTS_TYPE_BIT(BSON_TYPE_UTF8),
									 MTS_BINARY_NUMBER_TYPES,
									 MTS_TYPE_BIT(BSON_TYPE_UTF8)};
	MtsReading reading = infer->reading;
	int slot = reading.containers[0];
	const MtsNode *node = &infer->survey.nodes[slot];
	MtsLeaves leaves = {.n = reading.ncontainers};
	bool is_array = true;

	for (int at = slot; at >= 0; at = infer->survey.nodes[at].parent)
		is_array &= infer->survey.nodes[at].kind != MTS_NODE_KEYS;
	memcpy(leaves.nodes, reading.containers, sizeof(reading.containers));
	if (mts_column_is_record(infer, slot))
		mts_column_leaves(infer, slot, &leaves);
	else if (leaves.n < 2)
		return;
	for (int i = 0, n = 0; i < 4 * leaves.n && n < MAX_OWN_TIMES; i++)
	{
		bool is_of_day = i / leaves.n == 3;

		reading.time_node = leaves.nodes[i % leaves.n];
		if (!mts_column_has_only(infer, reading.time_node,
								 types[i / leaves.n]) ||
			!(is_of_day ? mts_time_field_find_of_day
						: mts_time_field_find_format)(infer, reading.time_node,
													  reading.time_format))
			continue;
		n++;
		if (!is_of_day &&
			(!is_array || node->nslots > 1 || (node->types & MTS_NULL_TYPES)))
			add_units(infer, &reading);
		set_elements(infer, &reading);
		if (is_array && is_of_day)
			add_days(infer, reading);
		else if (is_array)
			add_elements(infer, reading);
	}
}

/* Add keys that are times. */
static void
add_time_keys(MtsInfer *infer)
{
	MtsReading reading = infer->reading;
	const MtsNode *node = &infer->survey.nodes[reading.containers[0]];
	double greatest = (double) node->greatest;
	char format[MTS_INFER_FORMAT];

	if (node->kind != MTS_NODE_KEYS || node->nslots != 1 ||
		strlen(node->name) > 32)
		return;
	set_elements(infer, &reading);
	reading.has_time_keys = true;
	for (int i = 0; i < 2; i++)
		if (i == 0 ? mts_time_field_epoch(greatest, greatest, format)
				   : mts_time_field_pattern(node->name, true, format))
		{
			snprintf(reading.slots[0].text, MTS_SLOT_TEXT, "{%s}", format);
			add_elements(infer, reading);
		}
}

/*
 * Score a node as the offsets of points from the times of the reading's
 * buckets, and write the format.  They ascend in buckets and reach half of the
 * span, or the field is in the _id, which shows that it is the time of
 * buckets.  In months and years they count days and months, from 0 or 1.
 * Returns 0 if not.
 */
static double
score_offset(const MtsInfer *infer, const MtsReading *reading, int node,
			 char *format)
{
	int several = 0; /* samples with two points or more */
	int nseries = 0; /* samples with MIN_POINTS or more */
	double least = INFINITY, greatest = -INFINITY;
	bool ascend = true;
	int unit = reading->span;
	bool is_calendar = mts_unit_span(unit).months > 0, counts_from_1;
	double inside;
	MtsSurveyScan scan;
	char name[32];

	for (int i = 0; i < infer->nsamples; i++)
	{
		double d, last = -1;
		int n = 0;

		scan = mts_survey_scan(&infer->survey, node, i);
		for (; mts_survey_next(&scan); n++, last = d)
		{
			if (!mts_element_number(&scan.element, &d) || !(d >= 0) ||
				isinf(d) || d == last)
				return 0;
			ascend &= d > last;
			least = fmin(least, d);
			greatest = fmax(greatest, d);
		}
		several += n > 1;
		nseries += n >= MIN_POINTS;
	}
	counts_from_1 = is_calendar && least >= 1;
	greatest -= counts_from_1;
	do
	{
		if (++unit >= mts_unit_count())
			return 0;
		inside = (double) mts_unit_capacity(reading->span, unit, true);
	} while (!mts_unit_is_single(unit) ||
			 (!is_calendar && greatest >= inside));
	if (greatest >= inside || several == 0 ||
		(!mts_column_is_in(infer, reading->bucket->node, "_id") &&
		 (!ascend || nseries < MIN_BUCKETS || greatest < inside / 2)))
		return 0;
	sprintf(format, "offset:%s%s", mts_unit_name(unit, name),
			counts_from_1 ? ":1" : "");
	return 0.1 + ascend + greatest / inside;
}

/* Find the numbers in points that are offsets best, as a reading's time. */
static bool
find_offset(const MtsInfer *infer, MtsReading *reading)
{
	char format[MTS_INFER_FORMAT];
	double best = 0;
	MtsLeaves leaves;

	mts_column_leaves(infer, reading->containers[0], &leaves);
	for (int i = 0; i < leaves.n; i++)
	{
		double score =
			mts_column_has_only(infer, leaves.nodes[i],
								MTS_BINARY_NUMBER_TYPES)
				? score_offset(infer, reading, leaves.nodes[i], format)
				: 0;

		if (score <= best)
			continue;
		best = score;
		reading->time_node = leaves.nodes[i];
		strcpy(reading->time_format, format);
	}
	return best > 0;
}

/*
 * Add numbers in the points of an array that are offsets, in buckets of a
 * unit, and otherwise of a multiple that divides the distances of their times.
 */
static void
add_offsets(MtsInfer *infer)
{
	MtsReading reading = infer->reading;
	const MtsNode *node = &infer->survey.nodes[reading.containers[0]];
	int day = mts_unit_find((MtsSpan){0, 1, 0});

	if (node->kind != MTS_NODE_ELEMENTS || node->nslots != 1 ||
		!mts_column_is_record(infer, reading.containers[0]))
		return;
	set_elements(infer, &reading);
	reading.grade = MTS_GRADE_ASSUMED;
	for (int i = 0; i < infer->nfields; i++)
	{
		const MtsTimeField *field = &infer->fields[i];

		reading.bucket = field;
		/* a single time begins a month by chance */
		reading.span =
			field->distinct < 2 && field->unit < day ? day : field->unit;
		if (find_offset(infer, &reading))
		{
			add_candidate(infer, &reading);
			continue;
		}
		for (int span = 0; span < mts_unit_count(); span++)
		{
			reading.span = span;
			if (!mts_unit_is_single(span) &&
				grade_span(infer, field, span) > MTS_GRADE_NONE &&
				find_offset(infer, &reading))
				add_candidate(infer, &reading);
		}
	}
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
		MtsElement key = {.key = nodes[y].name};

		if (nodes[x].kind != nodes[y].kind ||
			nodes[y].greatest / 12 > nodes[x].greatest ||
			nodes[x].greatest / 12 > nodes[y].greatest ||
			(nodes[x].kind == MTS_NODE_KEYS &&
			 !mts_survey_is_key(&infer->survey, nodes[x].parent, &key)))
			return false;
	}
	return nodes[a].nslots == nodes[b].nslots;
}

/* Whether two nodes have the same number of elements in every sample */
static bool
are_parallel(const MtsInfer *infer, int a, int b)
{
	for (int i = 0; i < infer->nsamples; i++)
	{
		MtsSurveyScan scan = mts_survey_scan(&infer->survey, a, i);
		MtsSurveyScan other = mts_survey_scan(&infer->survey, b, i);

		while (mts_survey_next(&scan))
			if (!mts_survey_next(&other))
				return false;
		if (mts_survey_next(&other))
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

/* Whether the names in points are data, as some points lack some of them */
static bool
is_sparse(const MtsInfer *infer, int container)
{
	const MtsNode *nodes = infer->survey.nodes;
	int first = nodes[container].child;
	bool sparse = false;
	int64_t n = 0;
	MtsSurveyScan scan = mts_survey_scan(&infer->survey, container, MTS_ALL);

	if (!mts_column_is_record(infer, container) || nodes[first].next < 0)
		return false;
	while (mts_survey_next(&scan))
		n += scan.element.type == BSON_TYPE_DOCUMENT &&
			 !mts_element_is_empty_document(&scan.element);
	for (int child = first; child >= 0; child = nodes[child].next)
	{
		if (!mts_column_has_only(infer, child, MTS_NUMBER_TYPES))
			return false;
		sparse |= nodes[child].values != n;
	}
	return sparse;
}

/* ---- Choice ------------------------------------------------------------ */

/* Whether another reading is an alternative to a reading */
static bool
is_alternative(const MtsReading *other, const MtsReading *reading)
{
	return other->bucket && reading->bucket &&
		   other->bucket->node == reading->bucket->node &&
		   (other->names == 0 || (other->bucket == reading->bucket &&
								  (other->names == reading->names ||
								   other->names == other->nslots))) &&
		   (other->grade + (other->names > 0) >= MTS_GRADE_ASSUMED ||
			(other->names == 0 && reading->names > 0)) &&
		   !mts_candidate_is_same(other, reading);
}

/*
 * Keep the candidates that read all samples as alternatives to the reading,
 * which may be none of them.
 */
static void
keep_others(MtsInfer *infer, bool is_found)
{
	MtsReading reading = infer->reading;
	int n = infer->nothers;

	infer->nothers = 0;
	for (int i = 0; i < n && infer->nothers < MAX_OTHERS; i++)
	{
		infer->reading = infer->others[i];
		if ((!is_found || is_alternative(&infer->reading, &reading)) &&
			mts_trial_holds(infer))
			infer->others[infer->nothers++] = infer->reading;
	}
	infer->reading = reading;
	if (is_found)
		(void) mts_trial_holds(infer);
}

/* Take the first candidate of at least a grade that holds. */
static bool
choose(MtsInfer *infer, MtsGrade least)
{
	MtsReading start = infer->reading;

	for (int i = 0; i < infer->nothers && infer->others[i].grade >= least; i++)
	{
		infer->reading = infer->others[i];
		if (mts_trial_holds(infer))
		{
			if (infer->reading.time_node >= 0)
				infer->nothers = 0;
			keep_others(infer, true);
			return true;
		}
	}
	infer->reading = start;
	infer->nothers = 0;
	return false;
}

/*
 * Read keys that are names as the values of a column: n.{n_key}.  The units
 * that they fit are kept as alternatives.
 */
static bool
find_names(MtsInfer *infer)
{
	MtsReading *reading = &infer->reading;
	int slot = reading->containers[0];
	const MtsNode *node = &infer->survey.nodes[slot];

	if (infer->nothers == 0)
	{
		add_units(infer, reading);
		keep_others(infer, false);
	}
	if (node->kind != MTS_NODE_KEYS || node->nslots != 1 ||
		mts_survey_child(&infer->survey, slot, MTS_NODE_KEYS) >= 0 ||
		mts_survey_child(&infer->survey, slot, MTS_NODE_ELEMENTS) >= 0)
		return false;
	set_elements(infer, reading);
	mts_candidate_set_names(infer, reading, 0);
	for (int i = 0; i < infer->nfields; i++)
	{
		reading->bucket = &infer->fields[i];
		if (reading->bucket->present == infer->nsamples &&
			mts_trial_holds(infer))
			return true;
	}
	return false;
}

/* Add candidates in which one of several slots has names. */
static void
add_names(MtsInfer *infer)
{
	int first = infer->reading.containers[0];
	int nslots = infer->survey.nodes[first].nslots;

	for (int level = nslots - 1; level >= 0 && nslots > 1; level--)
	{
		MtsReading reading = infer->reading;
		int slot = mts_survey_slot(&infer->survey, first, level);

		mts_candidate_set_names(infer, &reading, level);
		if (infer->survey.nodes[slot].kind == MTS_NODE_KEYS)
			add_units(infer, &reading);
	}
}

static bool
find_times(MtsInfer *infer, MtsGrade least)
{
	MtsReading *reading = &infer->reading;
	int first = reading->containers[0];

	if (least == MTS_GRADE_FITS)
		return find_names(infer);
	infer->nothers = 0;
	if (least == MTS_GRADE_ASSUMED)
		add_offsets(infer);
	else
	{
		add_own_times(infer);
		add_time_keys(infer);
	}
	reading->is_unpivoted =
		reading->ncontainers == 1 &&
		infer->survey.nodes[first].nslots < MTS_MAX_SLOTS &&
		!infer->survey.nodes[first].holds_tuples && is_sparse(infer, first);
	add_units(infer, reading);
	if (least == MTS_GRADE_ASSUMED && !reading->is_unpivoted)
		add_names(infer);
	return choose(infer, least);
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
			!is_readable(infer, node))
			continue;
		for (; i > 0 && infer->survey.nodes[nodes[i - 1]].values <
							infer->survey.nodes[node].values;
			 i--)
			nodes[i] = nodes[i - 1];
		nodes[i] = node;
		n += n < MAX_NODES;
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
	int nodes[MAX_NODES + 1];
	int n = list_nodes(infer, nodes);

	for (int pass = 0; pass < 4; pass++)
		for (int i = 0; i < n; i++)
		{
			if (mts_candidate_is_outer(infer, nodes[i]) !=
				passes[pass].is_outer)
				continue;
			begin_reading(infer, nodes[i]);
			if (find_times(infer, passes[pass].least))
				return true;
		}
	infer->reading = (MtsReading){.span = MTS_NO_UNIT, .time_node = -1};
	infer->nexcluded = 0;
	return false;
}
