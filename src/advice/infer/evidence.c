/*
 * evidence.c
 *		Judges whether the keys of a slot count a unit of time.
 *
 * The evidence is that keys fill their unit, or a regular grid of it that
 * reaches both ends: 0 to 59, or 0, 5, .. 55.  Names that are numbers hardly
 * ever do: status codes, ports, stars.  Keys that only lie within a unit prove
 * nothing.  docs/reference/import.md has these rules for users.
 *
 * The keys of a node have one shape.  With a unit it becomes a slot, such as
 * {hour:00}:{minute:00}, by which the keys are read.
 */
#include "advice/infer/infer_private.h"

#include <stdio.h>
#include <string.h>

#include "core/layout/slot_key.h"

/* Keys beyond these are counted as one. */
#define MAX_KEY (INT64_C(1) << 22)

/*
 * Fewer keys form no grid, in slots or elsewhere, and shorter grids may be
 * coincidences.
 */
#define MIN_INNER 2
#define MIN_GRID 3
#define LONG_GRID 6

/*
 * Fewer equal parts of a bucket, or of a unit, have names that are numbers,
 * except parts of a slot that count from 0.
 */
#define MIN_PARTS 24
#define MIN_MULTIPLE 4

/* Keys that come that close to both ends of their unit reach them. */
#define REACH 20

/* Keys that fit a unit reach such a part of it. */
#define MIN_FIT 4

#define MAX_RUNS 32

/* Keys of subdocuments, or indexes of arrays, at equal distances */
typedef struct Run
{
	int64_t least;
	int64_t greatest;
	int64_t step;
	int64_t holders; /* subdocuments or arrays with just these keys */
} Run;

/* The keys of a slot, over all subdocuments or arrays that hold any */
struct MtsKeys
{
	MtsKeys *next; /* of the same node, with another slot */
	char slot[MTS_SLOT_TEXT];
	int64_t modulus; /* of keys that count from an earlier start, or 0 */
	bool are_read;   /* the slot reads all keys */
	int64_t holders;
	int64_t most;      /* keys of a holder */
	int64_t distinct;  /* different keys, up to a limit */
	bool have_padding; /* arrays have nulls or {} */
	int64_t least;
	int64_t greatest;
	Run runs[MAX_RUNS];
	int nruns;
};

/* Keys that are being measured */
typedef struct Measure
{
	const MtsSurvey *survey;
	const MtsNode *node;
	MtsStep step;
	MtsKeys *keys;
	uint8_t *seen; /* bits by key */
} Measure;

/* ---- Slots ------------------------------------------------------------- */

/* Append a number of a unit; false if the text would be too long. */
static bool
write_number(char *text, int unit, int64_t first, size_t width, const char *of)
{
	char name[32];
	size_t len = strlen(text);

	len += snprintf(text + len, MTS_SLOT_TEXT - len, "{%s%s%s",
					mts_unit_name(unit, name), of ? " of " : "", of ? of : "");
	if (len < MTS_SLOT_TEXT && (first != 0 || width > 0))
		len += snprintf(text + len, MTS_SLOT_TEXT - len, ":%0*lld",
						(int) width, (long long) first);
	if (len + 1 >= MTS_SLOT_TEXT)
		return false;
	strcpy(text + len, "}");
	return true;
}

/* Find the units of the numbers in a key from the unit of the last one. */
static bool
find_units(int *units, int n, int unit)
{
	int day = mts_unit_find((MtsSpan){0, 1, 0});

	units[n - 1] = unit;
	for (int i = n - 2; i >= 0; i--)
	{
		units[i] = units[i + 1] - 1;
		while (units[i] >= day && !mts_unit_is_single(units[i]))
			units[i]--;
		if (units[i] < day)
			return false;
	}
	return true;
}

/*
 * Write the slot of a node whose keys count a unit.  Returns false if the keys
 * do not have this form.
 */
static bool
write_slot(const MtsInfer *infer, int node, MtsKeyForm form, int unit,
		   int64_t first, int of, char *text)
{
	const MtsNode *at = &infer->survey.nodes[node];
	bool is_split = form == MTS_KEY_SPLIT;
	int n = is_split ? (int) at->numbers[0].width / 2 : at->nnumbers;
	int units[MTS_MAX_NUMBERS], i = 0;
	char name[32];

	if (at->kind == MTS_NODE_ELEMENTS)
	{
		sprintf(text, "[{%s}]", mts_unit_name(unit, name));
		return form == MTS_KEY_PLAIN;
	}
	if (n < 1 + is_split || n > MTS_MAX_NUMBERS ||
		!find_units(units, n, unit) ||
		(form != MTS_KEY_PLAIN && at->nnumbers > 1) ||
		(is_split && !at->numbers[0].is_padded) ||
		(form == MTS_KEY_OF && at->nslots < 2))
		return false;
	/* milliseconds have three digits */
	if (mts_unit_span(unit).usecs == 1000 && n > 1 &&
		(is_split ||
		 (at->numbers[n - 1].is_padded && at->numbers[n - 1].width < 3)))
		return false;
	text[0] = '\0';
	for (const char *key = at->name; *key; key += strspn(key, MTS_DIGITS))
	{
		size_t len = strcspn(key, MTS_DIGITS);

		if (strlen(text) + 2 * len >= MTS_SLOT_TEXT)
			return false;
		mts_remark_escape(key, len, text + strlen(text));
		key += len;
		for (int end = is_split ? n : i + 1; *key && i < end; i++)
			if (!write_number(text, units[i],
							  n > 1 ? mts_unit_span(units[i]).days : first,
							  is_split                   ? 2
							  : at->numbers[i].is_padded ? at->numbers[i].width
														 : 0,
							  form >= MTS_KEY_OF ? mts_unit_name(of, name)
												 : NULL))
				return false;
	}
	return true;
}

/* ---- Keys -------------------------------------------------------------- */

/* Record the keys of a holder, if they are at equal distances. */
static void
add_run(MtsKeys *keys, int64_t n, Run run)
{
	int i = 0;

	if (run.step > 0 && (run.greatest - run.least) / run.step != n - 1)
		return;
	while (i < keys->nruns && (keys->runs[i].least != run.least ||
							   keys->runs[i].greatest != run.greatest ||
							   keys->runs[i].step != run.step))
		i++;
	if (i == keys->nruns && i < MAX_RUNS)
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

/* Record one key. */
static void
add_key(Measure *m, int64_t key)
{
	MtsKeys *keys = m->keys;

	keys->least = key < keys->least ? key : keys->least;
	keys->greatest = key > keys->greatest ? key : keys->greatest;
	if (key >= MAX_KEY)
		key = MAX_KEY - 1;
	keys->distinct += !(m->seen[key / 8] & 1 << key % 8);
	m->seen[key / 8] |= (uint8_t) (1 << key % 8);
}

/*
 * Measure the keys of one subdocument or array.  Returns false if the slot
 * does not read one of them.
 */
static bool
measure(Measure *m, const MtsElement *holder)
{
	bool is_array = m->node->kind == MTS_NODE_ELEMENTS;
	MtsElementCursor cursor;
	MtsElement element;
	Run run = {0, 0, 0, 1};
	int64_t first = 0, n = 0;

	if (holder->type != (is_array ? BSON_TYPE_ARRAY : BSON_TYPE_DOCUMENT) ||
		!mts_element_open(&cursor, holder->value, holder->size))
		return true;
	while (mts_element_next(&cursor, &element) == MTS_NEXT_OK)
	{
		int64_t key = n;

		if (!is_array &&
			!mts_survey_is_key(m->survey, m->node->parent, &element))
			continue;
		if (!is_array &&
			(mts_slot_key_index(&m->step, element.key, element.key_len,
								&key) != MTS_KEYTEXT_NUMBER ||
			 key < 0))
			return false;
		if (m->keys->modulus > 0)
			key %= m->keys->modulus;
		if (n++ == 0)
			first = run.least = run.greatest = key;
		run.least = key < run.least ? key : run.least;
		run.greatest = key > run.greatest ? key : run.greatest;
		run.step =
			mts_span_common_divisor(run.step,
									key > first ? key - first : first - key);
		m->keys->have_padding |= is_array && is_padding(&element);
		add_key(m, key);
	}
	if (n == 0)
		return true;
	m->keys->holders++;
	m->keys->most = n > m->keys->most ? n : m->keys->most;
	add_run(m->keys, n, run);
	return true;
}

/* Measure the keys of a node as a slot reads them, once. */
static const MtsKeys *
find_keys(const MtsInfer *infer, int node, const char *slot, int64_t modulus)
{
	Measure m = {&infer->survey, &infer->survey.nodes[node]};
	char buffer[MTS_MAX_PATH];
	MtsSurveyScan scan;
	MtsPath path;
	MtsError error;

	for (m.keys = infer->keys[node]; m.keys; m.keys = m.keys->next)
		if (strcmp(m.keys->slot, slot) == 0 && m.keys->modulus == modulus)
			return m.keys;
	m.keys = mts_infer_allocate(infer, 1, sizeof(MtsKeys));
	strcpy(m.keys->slot, slot);
	m.keys->modulus = modulus;
	m.keys->least = INT64_MAX;
	m.keys->next = infer->keys[node];
	infer->keys[node] = m.keys;
	if (m.node->kind == MTS_NODE_KEYS)
	{
		if (!mts_path_parse(slot, buffer, &path, &error) || path.nsteps != 1)
			return m.keys;
		m.step = path.steps[0];
	}
	m.seen = mts_infer_allocate(infer, MAX_KEY / 8, 1);
	m.keys->are_read = true;
	scan = mts_survey_scan(&infer->survey, m.node->parent, MTS_ALL);
	while (m.keys->are_read && mts_survey_next(&scan))
		m.keys->are_read = measure(&m, &scan.element);
	m.keys->are_read &= m.keys->holders > 0;
	infer->host->release(m.seen);
	return m.keys;
}

/* ---- Windows ----------------------------------------------------------- */

/* More elements are not compared, and fewer are alike by chance. */
#define MAX_WINDOW 128
#define MIN_WINDOW 3

/* In fewer documents that follow another one, windows overlap by chance. */
#define MIN_FOLLOWING 3

/* The elements of an array, hashed */
typedef struct Window
{
	int n;
	uint32_t items[MAX_WINDOW];
} Window;

/* Hash the elements of the array at a node in a sample, if it has one. */
static void
read_window(const MtsInfer *infer, int sample, int node, Window *window)
{
	MtsElementCursor cursor;
	MtsElement array, element;

	window->n = 0;
	if (!mts_survey_find(&infer->survey, sample, node, &array) ||
		array.type != BSON_TYPE_ARRAY ||
		!mts_element_open(&cursor, array.value, array.size))
		return;
	while (window->n < MAX_WINDOW &&
		   mts_element_next(&cursor, &element) == MTS_NEXT_OK)
	{
		uint32_t hash = element.type;

		for (size_t i = 0; i < element.size; i++)
			hash = (hash ^ element.value[i]) * UINT32_C(16777619);
		window->items[window->n++] = hash;
	}
}

/*
 * Whether a window begins with at least half of another one, from some place
 * on, which does not repeat itself there.
 */
static bool
continues(const Window *later, const Window *earlier)
{
	const uint32_t *items = earlier->items;

	for (int shift = 1; 2 * shift <= earlier->n; shift++)
	{
		int n = earlier->n - shift;

		if (n >= MIN_WINDOW && n <= later->n &&
			memcmp(later->items, items + shift, n * sizeof(*items)) == 0 &&
			memcmp(items, items + shift, n * sizeof(*items)) != 0)
			return true;
	}
	return false;
}

/*
 * Whether the arrays at a node are windows that overlap from document to
 * document, like the last 60 values: most repeat a part of one that is shortly
 * before it.  In any order; the newest value may be the first.
 */
static bool
find_windows(const MtsInfer *infer, int node, const MtsTimeField *field)
{
	Window *windows =
		mts_infer_allocate(infer, infer->nsamples, sizeof(Window));
	int following = 0, overlapping = 0;

	for (int i = 0; i < infer->nsamples; i++)
		read_window(infer, i, node, &windows[i]);
	for (int i = 0; i < infer->nsamples; i++)
	{
		bool is_following = false, overlaps = false;

		for (int j = 0; j < infer->nsamples && !overlaps; j++)
		{
			MtsTime at = field->times[i], before = field->times[j];

			if (before == MTS_TIME_MIN || at <= before ||
				(at - before) / 2 > field->gap)
				continue;
			is_following = true;
			overlaps = continues(&windows[i], &windows[j]) ||
					   continues(&windows[j], &windows[i]);
		}
		following += is_following;
		overlapping += overlaps;
	}
	infer->host->release(windows);
	return overlapping >= MIN_FOLLOWING && 2 * overlapping > following;
}

/* Whether arrays are such windows; found once for a node and a field */
static bool
are_windows(MtsInfer *infer, int node, const MtsTimeField *field)
{
	if (infer->window_node != node || infer->window_field != field)
	{
		infer->are_windows = find_windows(infer, node, field);
		infer->window_node = node;
		infer->window_field = field;
	}
	return infer->are_windows;
}

/* ---- Grades ------------------------------------------------------------ */

/*
 * How many holders fill so many keys from base on: all of them, or a grid that
 * is long enough.
 */
static int64_t
count_full(const MtsKeys *keys, int64_t base, int64_t least, int64_t most,
		   int64_t min_grid)
{
	int64_t n = 0;

	for (int i = 0; i < keys->nruns; i++)
	{
		const Run *run = &keys->runs[i];
		int64_t step = run->step > 0 ? run->step : 1;
		int64_t count = (run->greatest - run->least) / step + 1;

		if (run->least - base < step && run->greatest - base + step >= least &&
			run->greatest - base < most &&
			count >= (step == 1 ? MIN_GRID : min_grid))
			n += run->holders;
	}
	return n;
}

/*
 * The grade of keys that are parts of a unit, such as 15 minutes.  A bucket
 * has most of them: few keys may count another unit in each.
 */
static MtsGrade
grade_parts(const MtsKeys *keys, int64_t end, int64_t least, int64_t full,
			bool is_array, bool is_nested, bool is_filled)
{
	return end == least && least >= MIN_MULTIPLE &&
				   (is_array ? least >= MIN_PARTS && 2 * full > keys->holders
							 : (is_nested || (least >= MIN_PARTS &&
											  2 * keys->most > least)) &&
								   is_filled)
			   ? MTS_GRADE_ASSUMED
			   : MTS_GRADE_NONE;
}

static MtsGrade
grade_array(const MtsKeys *keys, int64_t end, int64_t least, int64_t full,
			bool has_time)
{
	if (end < MTS_MIN_ARRAY && !has_time)
		return MTS_GRADE_NONE;
	return 2 * full > keys->holders                ? MTS_GRADE_FORCED
		   : has_time                              ? MTS_GRADE_FITS
		   : keys->have_padding && 2 * end > least ? MTS_GRADE_ASSUMED
												   : MTS_GRADE_NONE;
}

/*
 * The unit from whose start keys of a form count, which is longer than the
 * bucket unless slots are around the keys; MTS_NO_UNIT if there is none.
 */
static int
find_start(const MtsReading *reading, int outer, int level, MtsKeyForm form)
{
	int of = form == MTS_KEY_OF_HOUR ? mts_unit_find((MtsSpan){0, 0, MTS_HOUR})
									 : mts_unit_find((MtsSpan){0, 1, 0});

	if (form < MTS_KEY_OF_HOUR)
		return reading->span;
	return level == 0 && of < outer && mts_unit_capacity(of, outer, false) > 0
			   ? of
			   : MTS_NO_UNIT;
}

/*
 * mts_evidence_grade
 *		Judge whether the keys of a reading's slot, in some form, count the
 *		slot's unit, and write its text.
 */
MtsGrade
mts_evidence_grade(MtsInfer *infer, const MtsReading *reading, int level,
				   MtsKeyForm form, MtsInferSlot *slot)
{
	int node = mts_survey_slot(&infer->survey, reading->containers[0], level);
	const MtsNode *at = &infer->survey.nodes[node];
	int outer = mts_candidate_enclosing(reading, level);
	int of = find_start(reading, outer, level, form);
	bool is_array = at->kind == MTS_NODE_ELEMENTS;
	bool is_inner = at->nslots > 1;
	bool has_slots = mts_candidate_is_outer(infer, node);
	int64_t least = mts_unit_capacity(outer, slot->unit, false);
	int64_t most = mts_unit_capacity(outer, slot->unit, true);
	const MtsKeys *keys;
	int64_t base, end, full;
	bool is_filled, is_short_grid;

	if (is_array && reading->bucket && level == 0 &&
		are_windows(infer, at->parent, reading->bucket))
		return MTS_GRADE_NONE;
	if (least < 2 || of == MTS_NO_UNIT ||
		!write_slot(infer, node, form, slot->unit, 0, of, slot->text))
		return MTS_GRADE_NONE;
	/* 24 values each 6 hours are hours of a forecast, not quarters */
	if (is_array && !mts_unit_is_single(slot->unit) &&
		!mts_unit_is_single(outer))
		return MTS_GRADE_NONE;
	/* a day may have one hour more, unless slots count the local clock */
	if (reading->bucket && reading->bucket->is_local &&
		!reading->slots_are_local && mts_unit_span(outer).days == 1)
		most += MTS_HOUR / mts_span_length(mts_unit_span(slot->unit), 0);
	keys = find_keys(infer, node, slot->text, form >= MTS_KEY_OF ? least : 0);
	if (!keys->are_read)
		return MTS_GRADE_NONE;
	slot->keys = keys->distinct;
	end = keys->greatest + 1;
	base = !is_array && form == MTS_KEY_PLAIN && keys->least >= 1 &&
		   at->nnumbers == 1 &&
		   (mts_unit_span(slot->unit).usecs == 0 || end - 1 == least);
	if (base > 0 &&
		(!write_slot(infer, node, form, slot->unit, base, of, slot->text)))
		return MTS_GRADE_NONE;
	end -= base;
	if (end > most)
		return MTS_GRADE_NONE;
	full =
		count_full(keys, base, least, most,
				   is_array || is_inner || has_slots ? MIN_GRID : LONG_GRID);
	is_filled = full > 0 || (keys->distinct >= MIN_GRID &&
							 REACH * keys->distinct >= (REACH - 1) * least);
	if (!mts_unit_is_single(slot->unit))
		return grade_parts(keys, end, least, full, is_array,
						   (is_inner && base == 0) ||
							   (has_slots && least >= MIN_PARTS),
						   is_filled || has_slots);
	if (is_array)
		return grade_array(keys, end, least, full, reading->time_node >= 0);
	/* h0 to h23 are hours, but cpu0 to cpu23 are not */
	if (is_filled)
		return at->has_letters ? MTS_GRADE_ASSUMED : MTS_GRADE_FORCED;
	/* a short grid is accepted if no holder has a key beside it */
	is_short_grid = keys->nruns == 1 &&
					keys->runs[0].holders == keys->holders &&
					count_full(keys, base, least, most,
							   is_inner ? MIN_INNER : MIN_GRID) > 0;
	return ((keys->least - base) * REACH < least &&
			(least - end) * REACH < least) ||
				   is_short_grid
			   ? MTS_GRADE_ASSUMED
		   : end * MIN_FIT >= least && !(is_inner && keys->holders > 1 &&
										 keys->distinct <= keys->most)
			   ? MTS_GRADE_FITS
			   : MTS_GRADE_NONE;
}
