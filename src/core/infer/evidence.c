/*
 * evidence.c
 *		Judges whether the keys of a slot count a unit of time.
 *
 * The evidence is that keys fill their unit, or a regular grid of it that
 * reaches both ends: 0 to 59, or 0, 5, .. 55.  Names that are numbers hardly
 * ever do: status codes, ports, stars.  Keys that only lie within a unit prove
 * nothing.  docs/import.md has these rules for users.
 */
#include "core/infer/infer_private.h"

#include <string.h>

/* Keys beyond these are counted as one. */
#define MAX_KEY (INT64_C(1) << 22)

/*
 * Shorter arrays are lists or tuples.  Fewer keys form no grid; shorter grids
 * are coincidences if there are other keys.
 */
#define MIN_ARRAY 6
#define MIN_GRID 3
#define LONG_GRID 6

/* Fewer equal parts of a bucket, or of a unit, have names that are numbers. */
#define MIN_PARTS 24
#define MIN_MULTIPLE 4

/* Keys that come that close to both ends of their unit reach them. */
#define REACH 20

/* Keys that fit a unit reach such a part of it. */
#define MIN_FIT 4

/* The keys of a slot that are being measured */
typedef struct Measure
{
	const MtsNode *node;
	MtsKeys *keys;
	uint8_t *seen; /* bits by key */
	int64_t limit; /* of keys in seen */
} Measure;

/* Record the keys of a holder, if they are at equal distances. */
static void
add_run(MtsKeys *keys, int64_t n, MtsRun run)
{
	int i = 0;

	if (run.step > 0 && (run.greatest - run.least) / run.step != n - 1)
		return;
	while (i < keys->nruns && (keys->runs[i].least != run.least ||
							   keys->runs[i].greatest != run.greatest ||
							   keys->runs[i].step != run.step))
		i++;
	if (i == keys->nruns && i < MTS_MAX_RUNS)
		keys->runs[keys->nruns++] = run;
	else if (i < keys->nruns)
		keys->runs[i].holders++;
}

static bool
is_padding(const MtsElement *element)
{
	return (MTS_TYPE_BIT(element->type) & MTS_NULL_TYPES) ||
		   mts_element_is_empty_document(element);
}

/* Measure the keys of one subdocument or array. */
static bool
measure(void *arg, const MtsElement *holder)
{
	Measure *m = arg;
	bool is_array = m->node->kind == MTS_NODE_ELEMENTS;
	MtsElementCursor cursor;
	MtsElement element;
	MtsRun run = {0, 0, 0, 1};
	int64_t first = 0, n = 0;

	if (holder->type != (is_array ? BSON_TYPE_ARRAY : BSON_TYPE_DOCUMENT) ||
		!mts_element_open(&cursor, holder->value, holder->size))
		return true;
	while (mts_element_next(&cursor, &element) == MTS_NEXT_OK)
	{
		int64_t key = n;

		if (!is_array && (mts_element_key_number(element.key, element.key_len,
												 &key) != MTS_KEYTEXT_NUMBER ||
						  key < 0))
			continue;
		if (n++ == 0)
			first = run.least = run.greatest = key;
		run.least = key < run.least ? key : run.least;
		run.greatest = key > run.greatest ? key : run.greatest;
		run.step =
			mts_span_common_divisor(run.step,
									key > first ? key - first : first - key);
		m->keys->have_padding |= is_array && is_padding(&element);
		if (key >= m->limit)
			key = m->limit - 1;
		m->keys->distinct += !(m->seen[key / 8] & 1 << key % 8);
		m->seen[key / 8] |= (uint8_t) (1 << key % 8);
	}
	if (n == 0)
		return true;
	m->keys->holders++;
	add_run(m->keys, n, run);
	return true;
}

/* Measure the keys of a slot's node, once. */
static const MtsKeys *
find_keys(const MtsInfer *infer, int node)
{
	const MtsNode *at = &infer->survey.nodes[node];
	Measure m = {at};

	if (infer->keys[node])
		return infer->keys[node];
	m.keys = infer->keys[node] = mts_infer_allocate(infer, 1, sizeof(MtsKeys));
	m.limit = at->greatest < MAX_KEY ? at->greatest + 1 : MAX_KEY;
	m.seen = mts_infer_allocate(infer, m.limit / 8 + 1, 1);
	(void) mts_survey_visit_all(&infer->survey, at->parent, measure, &m);
	infer->host->release(m.seen);
	return m.keys;
}

/*
 * How many holders fill so many keys from base on: all of them, or a long
 * grid of them, or a short one if no holder has a key beside it.
 */
static int64_t
count_full(const MtsKeys *keys, int64_t base, int64_t least, int64_t most,
		   bool is_array, bool is_nested)
{
	int64_t n = 0;

	for (int i = 0; i < keys->nruns; i++)
	{
		const MtsRun *run = &keys->runs[i];
		int64_t step = run->step > 0 ? run->step : 1;
		int64_t count = (run->greatest - run->least) / step + 1;

		if (run->least - base < step && run->greatest - base + step >= least &&
			run->greatest - base < most &&
			(is_array ||
			 (count >= MIN_GRID && (step == 1 || count >= LONG_GRID ||
									is_nested || keys->distinct == count))))
			n += run->holders;
	}
	return n;
}

/*
 * mts_evidence_level
 *		Judge whether the keys of a node's slot count its unit within an outer
 *		unit, and set the base of the slot.
 */
MtsGrade
mts_evidence_level(const MtsInfer *infer, int node, int outer,
				   MtsInferSlot *slot)
{
	const MtsNode *at = &infer->survey.nodes[node];
	bool is_array = at->kind == MTS_NODE_ELEMENTS;
	int64_t least = mts_unit_capacity(outer, slot->unit, false);
	int64_t most = mts_unit_capacity(outer, slot->unit, true);
	bool is_date = mts_unit_span(slot->unit).usecs == 0;
	const MtsKeys *keys;
	int64_t full;
	int64_t end = at->greatest + 1;
	bool has_slots =
		mts_survey_child(&infer->survey, node, MTS_NODE_NUMBERS) >= 0;
	bool has_most;

	/* a day of a local clock may have one hour more */
	if (infer->reading.bucket && infer->reading.bucket->is_local &&
		mts_unit_span(outer).days == 1)
		most += mts_unit_capacity(mts_unit_find((MtsSpan){0, 0, MTS_HOUR}),
								  slot->unit, true);
	slot->base = !is_array && at->least >= 1 && (is_date || end - 1 == least);
	end -= slot->base;
	if (least < 2 || end > most ||
		(is_array && at->greatest + 1 < MIN_ARRAY &&
		 infer->reading.time_node < 0))
		return MTS_GRADE_NONE;
	keys = find_keys(infer, node);
	full = count_full(keys, slot->base, least, most, is_array,
					  has_slots || at->nslots > 1);
	has_most = full > 0 || (keys->distinct >= MIN_GRID &&
							REACH * keys->distinct >= (REACH - 1) * least);
	if (!mts_unit_is_single(slot->unit))
		return end == least && least >= MIN_MULTIPLE &&
					   (is_array
							? least >= MIN_PARTS && 2 * full > keys->holders
							: at->nslots > 1 || (least >= MIN_PARTS &&
												 (has_most || has_slots)))
				   ? MTS_GRADE_ASSUMED
				   : MTS_GRADE_NONE;
	if (is_array)
		return 2 * full > keys->holders                ? MTS_GRADE_FORCED
			   : infer->reading.time_node >= 0         ? MTS_GRADE_FITS
			   : keys->have_padding && 2 * end > least ? MTS_GRADE_ASSUMED
													   : MTS_GRADE_NONE;
	if (has_most)
		return MTS_GRADE_FORCED;
	return (at->least - slot->base) * REACH < least &&
				   (least - end) * REACH < least
			   ? MTS_GRADE_ASSUMED
		   : end * MIN_FIT >= least ? MTS_GRADE_FITS
									: MTS_GRADE_NONE;
}
