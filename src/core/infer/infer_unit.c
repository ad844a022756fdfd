/*
 * infer_unit.c
 *		Fits units to the slots of a reading, by their keys.
 *
 * Units fit if no key is beyond the last unit of what encloses the slot.  An
 * array also has to show that its indexes count: it is complete, or was
 * padded.  Points with a time of their own need no such evidence.
 */
#include "core/infer/infer_private.h"

/* The units by MtsInferUnit */
static const struct
{
	const char *name;
	const char *phrase; /* with an article */
	MtsSpan span;
	int64_t inside; /* the most of the next finer unit that it has */
} units[] = {
	{"year", "a year", {12, 0, 0}, 12},
	{"month", "a month", {1, 0, 0}, 31},
	{"day", "a day", {0, 1, 0}, 24},
	{"hour", "an hour", {0, 0, MTS_HOUR}, 60},
	{"minute", "a minute", {0, 0, MTS_MINUTE}, 60},
	{"second", "a second", {0, 0, MTS_SECOND}, 1000},
	{"millisecond", "a millisecond", {0, 0, 1000}, 1000},
	/* MTS_UNIT_NONE, of times that begin no other unit */
	{"microsecond", "a microsecond", {0, 0, 1}, 1},
};

const char *
mts_infer_unit_name(MtsInferUnit unit)
{
	return units[unit].name;
}

/* mts_infer_unit_phrase: a unit's name with an article */
const char *
mts_infer_unit_phrase(MtsInferUnit unit)
{
	return units[unit].phrase;
}

MtsSpan
mts_infer_unit_span(MtsInferUnit unit)
{
	return units[unit].span;
}

/* mts_infer_unit_length: microseconds of a unit, with months of 28 days */
int64_t
mts_infer_unit_length(MtsInferUnit unit)
{
	MtsSpan span = units[unit].span;

	return span.usecs + span.days * MTS_DAY + span.months * 28 * MTS_DAY;
}

/* mts_infer_slot_span: the length of a slot that counts units */
MtsSpan
mts_infer_slot_span(const MtsInferSlot *slot)
{
	return mts_span_times(units[slot->unit].span, slot->times);
}

/* mts_infer_bucket_span: the length of the reading's buckets */
MtsSpan
mts_infer_bucket_span(const MtsReading *reading)
{
	return mts_span_times(units[reading->span].span, reading->spans);
}

/* Keys that are all less than this count a longer unit than milliseconds. */
#define LEAST_MILLISECOND 100

/* Fewer subdocuments or arrays have the same number of slots by chance. */
#define MIN_HOLDERS 12

/* The shortest month, and year, in days */
#define LEAST_MONTH 28
#define LEAST_YEAR 365

/* mts_infer_units_in: the most inner units that an outer one has */
int64_t
mts_infer_units_in(MtsInferUnit outer, MtsInferUnit inner)
{
	int64_t n = 1;

	if (outer == MTS_UNIT_YEAR && inner >= MTS_UNIT_DAY)
	{
		n = 366;
		outer = MTS_UNIT_DAY;
	}
	for (; outer < inner; outer++)
		n *= units[outer].inside;
	return n;
}

/* The keys of a slot, in all containers of the reading */
typedef struct Level
{
	MtsNode keys;     /* its least and greatest are those of all containers */
	bool is_complete; /* holders have all keys, and points no time */
	bool needs_proof; /* an array, whose indexes may count nothing */
	bool has_padding;
	bool is_sure; /* there are enough holders to rely on is_complete */
} Level;

/* Describe the slots of one node. */
static Level
read_level(const MtsInfer *infer, const MtsReading *reading, int index)
{
	const MtsNode *node = &infer->survey.nodes[index];
	const MtsInferShape *shape = mts_infer_shape(infer, index);

	return (Level){.keys = *node,
				   .is_complete = reading->time_node < 0 && shape->is_dense,
				   .needs_proof = node->kind == MTS_NODE_ELEMENTS &&
								  reading->time_node < 0,
				   .has_padding = shape->has_padding,
				   .is_sure = shape->holders >= MIN_HOLDERS};
}

/* Describe the slots of the reading.  Returns their number. */
static int
read_levels(const MtsInfer *infer, const MtsReading *reading, Level *levels)
{
	int chain[MTS_MAX_STEPS];
	int slot = 0;

	for (int c = 0; c < reading->ncontainers; c++)
	{
		int n =
			mts_survey_chain(&infer->survey, reading->containers[c], chain);

		slot = 0;
		for (int i = 0; i < n; i++)
		{
			const MtsNode *node = &infer->survey.nodes[chain[i]];
			Level *level = &levels[slot];

			if (node->kind == MTS_NODE_NAME)
				continue;
			if (c == 0)
				*level = read_level(infer, reading, chain[i]);
			if (node->least < level->keys.least)
				level->keys.least = node->least;
			if (node->greatest > level->keys.greatest)
				level->keys.greatest = node->greatest;
			slot++;
		}
	}
	return slot;
}

/*
 * Whether indexes of an array show that they count these units.  The array is
 * as long as the outer unit, or was padded and is longer than half of it.
 */
static bool
is_counting(const Level *level, MtsInferUnit outer, MtsInferUnit inner)
{
	int64_t n = mts_infer_units_in(outer, inner);
	int64_t length = level->keys.greatest + 1;

	if (!level->needs_proof || (level->has_padding && 2 * length > n))
		return true;
	if (inner == MTS_UNIT_DAY)
		n = outer == MTS_UNIT_YEAR ? LEAST_YEAR : LEAST_MONTH;
	return level->is_complete && length >= n;
}

/*
 * Whether these keys are milliseconds.  They must be too large for other
 * units.  In a unit longer than a second they must fill half of it.
 */
static bool
is_millisecond(const Level *level, MtsInferUnit outer)
{
	int64_t n = mts_infer_units_in(outer, MTS_UNIT_MILLISECOND);

	return level->keys.greatest >= LEAST_MILLISECOND &&
		   (outer == MTS_UNIT_SECOND || 2 * level->keys.greatest > n);
}

/*
 * Whether keys can count inner units in an outer one, and from which base on.
 * Days and months are counted from 1, unless there is a 0.  Other units are
 * counted from
 * 0, unless the last key would be too large.
 */
static bool
find_base(const Level *level, MtsInferUnit outer, MtsInferUnit inner,
		  int64_t *base)
{
	int64_t n = mts_infer_units_in(outer, inner);
	bool is_calendar = inner == MTS_UNIT_MONTH || inner == MTS_UNIT_DAY;

	*base = mts_survey_base(&level->keys) &&
			(is_calendar || level->keys.greatest == n);
	return (inner != MTS_UNIT_MILLISECOND || is_millisecond(level, outer)) &&
		   level->keys.greatest < n + *base &&
		   is_counting(level, outer, inner);
}

/*
 * Let the innermost slot count a multiple of the next unit, such as 4 quarters
 * of an hour.  Many holders must have all keys, and these must divide the
 * outer unit evenly.
 */
static bool
fit_parts(const Level *level, MtsInferUnit outer, MtsInferSlot *slot)
{
	int64_t base = mts_survey_base(&level->keys);
	int64_t n = mts_survey_count_keys(&level->keys);
	int64_t inside = units[outer].inside;

	if (outer < MTS_UNIT_DAY || outer > MTS_UNIT_MINUTE ||
		!level->is_complete || !level->is_sure || n < 2 || n >= inside ||
		inside % n != 0)
		return false;
	*slot = (MtsInferSlot){outer + 1, base, inside / n};
	return true;
}

/* Fit units to the slots from a level on, in an outer unit. */
static bool
fit_levels(MtsReading *reading, const Level *levels, int first, int n,
		   MtsInferUnit outer, MtsInferFit fit)
{
	for (int i = first; i < n; i++)
	{
		MtsInferUnit inner = outer + 1;
		int64_t base = 0;

		reading->nslots = n;
		if (i > 0 && i == n - 1 &&
			fit_parts(&levels[i], outer, &reading->slots[i]))
			return true;
		while (
			inner < MTS_UNIT_NONE &&
			(!find_base(&levels[i], outer, inner, &base) ||
			 (fit == MTS_FIT_ADJACENT && inner <= MTS_UNIT_DAY && base == 0)))
			inner++;
		if (inner == MTS_UNIT_NONE ||
			(fit == MTS_FIT_ADJACENT && inner != outer + 1))
			return false;
		reading->slots[i] = (MtsInferSlot){inner, base, 1};
		outer = inner;
	}
	reading->nslots = n;
	return true;
}

/*
 * mts_infer_fit_units
 *		Fit the coarsest units to the slots of a reading, in buckets of a span.
 *
 * With MTS_FIT_ADJACENT, days and months are not counted from 0 either.
 * Returns false if no units fit.
 */
bool
mts_infer_fit_units(const MtsInfer *infer, MtsReading *reading,
					MtsInferUnit span, MtsInferFit fit)
{
	Level levels[MTS_MAX_SLOTS];
	int n = read_levels(infer, reading, levels);

	reading->span = span;
	reading->spans = 1;
	return fit_levels(reading, levels, 0, n, span, fit);
}

/*
 * mts_infer_fit_wide_bucket
 *		Fit units to the slots of a reading, in buckets of several spans such
 *		as 7 days.
 *
 * The outermost keys must fill more than half of the bucket.
 */
bool
mts_infer_fit_wide_bucket(const MtsInfer *infer, MtsReading *reading,
						  MtsInferUnit span, int64_t spans)
{
	Level levels[MTS_MAX_SLOTS];
	int n = read_levels(infer, reading, levels);
	int64_t inside = spans;

	reading->span = span;
	reading->spans = spans;
	for (MtsInferUnit unit = span; unit <= MTS_UNIT_SECOND; unit++)
	{
		int64_t base = mts_survey_base(&levels[0].keys) &&
					   levels[0].keys.greatest == inside;

		reading->slots[0] = (MtsInferSlot){unit, base, 1};
		if (levels[0].keys.greatest < inside + base &&
			2 * (levels[0].keys.greatest + 1 - base) > inside)
			return (!levels[0].needs_proof || levels[0].has_padding ||
					levels[0].keys.greatest + 1 == inside) &&
				   fit_levels(reading, levels, 1, n, unit, MTS_FIT_ADJACENT);
		inside *= units[unit].inside;
	}
	return false;
}

/*
 * Let a slot be one of n equal parts of a bucket.  The part must be a multiple
 * of a unit that divides the next larger unit.
 */
static bool
set_multiple(MtsInferUnit span, int64_t n, MtsInferSlot *slot)
{
	int64_t length = mts_infer_unit_length(span);

	if (span < MTS_UNIT_DAY || n < 2 || length % n != 0)
		return false;
	length /= n;
	for (MtsInferUnit unit = span + 1; unit <= MTS_UNIT_SECOND; unit++)
	{
		int64_t usecs = units[unit].span.usecs;

		if (length % usecs != 0)
			continue;
		slot->unit = unit;
		slot->times = length / usecs;
		return slot->times > 1 && units[unit - 1].inside % slot->times == 0;
	}
	return false;
}

/*
 * mts_infer_fit_multiples
 *		Fit units to the slots of a reading, whose outermost keys divide the
 *		bucket evenly: 96 keys divide a day into quarters of an hour.
 */
bool
mts_infer_fit_multiples(const MtsInfer *infer, MtsReading *reading,
						MtsInferUnit span)
{
	Level levels[MTS_MAX_SLOTS];
	int n = read_levels(infer, reading, levels);
	MtsInferSlot *outer = &reading->slots[0];
	MtsInferUnit unit;

	outer->base = mts_survey_base(&levels[0].keys);
	if ((levels[0].needs_proof && !levels[0].is_complete) ||
		!set_multiple(span, mts_survey_count_keys(&levels[0].keys), outer))
		return false;
	unit = outer->unit;
	for (int i = 1; i < n; i++, unit++)
	{
		int64_t inside =
			i == 1 ? outer->times : mts_infer_units_in(unit - 1, unit);

		if (unit == MTS_UNIT_NONE || levels[i].keys.greatest >= inside ||
			(levels[i].needs_proof && !levels[i].has_padding &&
			 levels[i].keys.greatest + 1 < inside))
			return false;
		reading->slots[i] = (MtsInferSlot){unit, 0, 1};
	}
	reading->nslots = n;
	reading->span = span;
	reading->spans = 1;
	return true;
}
