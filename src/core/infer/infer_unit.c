/*
 * infer_unit.c
 *		Which units can slots with these keys count?
 */
#include "core/infer/infer_private.h"

static const struct
{
	const char *name;
	MtsSpan span;
	int64_t inside; /* how many of the next unit it has at most */
} units[] = {
	{"year", {12, 0, 0}, 12},
	{"month", {1, 0, 0}, 31},
	{"day", {0, 1, 0}, 24},
	{"hour", {0, 0, MTS_HOUR}, 60},
	{"minute", {0, 0, MTS_MINUTE}, 60},
	{"second", {0, 0, MTS_SECOND}, 1000},
	{"millisecond", {0, 0, 1000}, 1},
};

const char *
mts_infer_unit_name(MtsInferUnit unit)
{
	return units[unit].name;
}

/* "a day", but "an hour" */
const char *
mts_infer_unit_article(MtsInferUnit unit)
{
	return unit == MTS_UNIT_HOUR ? "an" : "a";
}

MtsSpan
mts_infer_unit_span(MtsInferUnit unit)
{
	return units[unit].span;
}

/* A unit's length, in microseconds; of a month or a year the least. */
int64_t
mts_infer_unit_length(MtsInferUnit unit)
{
	MtsSpan span = units[unit].span;

	return span.usecs + span.days * MTS_DAY + span.months * 28 * MTS_DAY;
}

/* How long a slot is that counts. */
MtsSpan
mts_infer_slot_span(const MtsInferSlot *slot)
{
	return slot->times > 1
			   ? mts_span_times(units[slot->unit].span, slot->times)
			   : units[slot->unit].span;
}

/* How long the reading's buckets are. */
MtsSpan
mts_infer_span(const MtsReading *reading)
{
	MtsSpan span = units[reading->span].span;

	return reading->spans > 1 ? mts_span_times(span, reading->spans) : span;
}

/* Keys that are all less than this count something longer. */
#define LEAST_MILLISECOND 100

/* So many subdocuments or arrays with the same slots are no chance. */
#define MIN_HOLDERS 12

/* The shortest month, and year, in days */
#define LEAST_MONTH 28
#define LEAST_YEAR 365

/* How many inner units an outer one has at most. */
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

/* What is known of the keys of a slot, in all containers of the reading */
typedef struct Level
{
	MtsNodeKind kind;
	int64_t least;
	int64_t greatest;
	bool is_full; /* have all, or of arrays most, as many as the keys allow? */
	bool is_counted; /* must an array show that its indexes count? */
	bool is_padded;
	bool is_sure; /* do many holders say so? */
} Level;

/* Read what is known of the slots of one node. */
static Level
read_level(const MtsInfer *infer, const MtsReading *reading, int index)
{
	const MtsNode *node = &infer->survey.nodes[index];
	const MtsInferShape *shape = mts_infer_shape(infer, index);
	bool is_array = node->kind == MTS_NODE_ELEMENTS;

	return (Level){.kind = node->kind,
				   .least = node->least,
				   .greatest = node->greatest,
				   .is_full = reading->own_time < 0 &&
							  (is_array ? 2 * shape->full > shape->holders
										: shape->full == shape->holders),
				   .is_counted = is_array && reading->own_time < 0,
				   .is_padded = shape->is_padded,
				   .is_sure = shape->holders >= MIN_HOLDERS};
}

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
			if (node->least < level->least)
				level->least = node->least;
			if (node->greatest > level->greatest)
				level->greatest = node->greatest;
			slot++;
		}
	}
	return slot;
}

/*
 * Do an array's indexes show that they count these units?  It is as long as
 * the outer unit, or was padded and is longer than half of it.
 */
static bool
is_counting(const Level *level, MtsInferUnit outer, MtsInferUnit inner)
{
	int64_t n = mts_infer_units_in(outer, inner);
	int64_t length = level->greatest + 1;

	if (!level->is_counted || (level->is_padded && 2 * length > n))
		return true;
	if (inner == MTS_UNIT_DAY)
		n = outer == MTS_UNIT_YEAR ? LEAST_YEAR : LEAST_MONTH;
	return level->is_full && length >= n;
}

/*
 * Milliseconds are counted in seconds, by keys that are too large for anything
 * else, or fill what is longer.
 */
static bool
is_millisecond(const Level *level, MtsInferUnit outer)
{
	int64_t n = mts_infer_units_in(outer, MTS_UNIT_MILLISECOND);

	return level->greatest >= LEAST_MILLISECOND &&
		   (outer == MTS_UNIT_SECOND || 2 * level->greatest > n);
}

/*
 * Can keys count inner units in an outer one, and from which key on?  Days
 * and months are counted from 1, unless there is a 0; others from 0, unless
 * the last key would be beyond.
 */
static bool
find_base(const Level *level, MtsInferUnit outer, MtsInferUnit inner,
		  int64_t *base)
{
	int64_t n = mts_infer_units_in(outer, inner);
	bool is_calendar = inner == MTS_UNIT_MONTH || inner == MTS_UNIT_DAY;

	*base = level->kind == MTS_NODE_NUMBERS && level->least >= 1 &&
			(is_calendar || level->greatest == n);
	return (inner != MTS_UNIT_MILLISECOND || is_millisecond(level, outer)) &&
		   level->greatest < n + *base && is_counting(level, outer, inner);
}

/*
 * Let the innermost slots count a multiple of the unit inside of the outer one
 * where all of many have the same keys, and these divide it: 4 in each hour.
 */
static bool
set_quarters(const Level *level, MtsInferUnit outer, MtsInferSlot *slot)
{
	int64_t base = level->kind == MTS_NODE_NUMBERS && level->least >= 1;
	int64_t n = level->greatest + 1 - base;
	int64_t inside = units[outer].inside;

	if (outer < MTS_UNIT_DAY || outer > MTS_UNIT_MINUTE || !level->is_full ||
		!level->is_sure || n < 2 || n >= inside || inside % n != 0)
		return false;
	*slot = (MtsInferSlot){outer + 1, base, inside / n};
	return true;
}

/* Fit units to the slots from a level on, inside of an outer one. */
static bool
fit_levels(MtsReading *reading, const Level *levels, int first, int n,
		   MtsInferUnit outer, bool adjacent)
{
	for (int i = first; i < n; i++)
	{
		MtsInferUnit inner = outer + 1;
		int64_t base = 0;

		reading->nslots = n;
		if (i > 0 && i == n - 1 &&
			set_quarters(&levels[i], outer, &reading->slots[i]))
			return true;
		while (inner < MTS_UNIT_NONE &&
			   (!find_base(&levels[i], outer, inner, &base) ||
				(adjacent && inner <= MTS_UNIT_DAY && base == 0)))
			inner++;
		if (inner == MTS_UNIT_NONE || (adjacent && inner != outer + 1))
			return false;
		reading->slots[i] = (MtsInferSlot){inner, base, 1};
		outer = inner;
	}
	reading->nslots = n;
	return true;
}

/*
 * mts_infer_units
 *		Find the coarsest units that the slots of a reading can count, in a
 *		bucket of this span.
 *
 * adjacent: each slot counts the next unit after that of the slot that
 * encloses it, and nothing unusual such as days from 0.  False: there are none.
 */
bool
mts_infer_units(const MtsInfer *infer, MtsReading *reading, MtsInferUnit span,
				bool adjacent)
{
	Level levels[MTS_MAX_SLOTS];
	int n = read_levels(infer, reading, levels);

	reading->span = span;
	reading->spans = 1;
	return fit_levels(reading, levels, 0, n, span, adjacent);
}

/*
 * mts_infer_wide
 *		Find units for the slots of a reading in buckets of several of a unit,
 *		such as 7 days, which the outermost keys must fill.
 */
bool
mts_infer_wide(const MtsInfer *infer, MtsReading *reading, MtsInferUnit span,
			   int64_t spans)
{
	Level levels[MTS_MAX_SLOTS];
	int n = read_levels(infer, reading, levels);
	int64_t inside = spans;

	reading->span = span;
	reading->spans = spans;
	for (MtsInferUnit unit = span; unit <= MTS_UNIT_SECOND; unit++)
	{
		int64_t base = levels[0].kind == MTS_NODE_NUMBERS &&
					   levels[0].least >= 1 && levels[0].greatest == inside;

		reading->slots[0] = (MtsInferSlot){unit, base, 1};
		if (levels[0].greatest < inside + base &&
			2 * (levels[0].greatest + 1 - base) > inside)
			return (!levels[0].is_counted || levels[0].is_padded ||
					levels[0].greatest + 1 == inside) &&
				   fit_levels(reading, levels, 1, n, unit, true);
		inside *= units[unit].inside;
	}
	return false;
}

/* Let a slot count a multiple of a unit, of which there are n in a bucket;
 * only what divides the next larger unit is used as one. */
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
 * mts_infer_multiples
 *		Find units for the slots of a reading where the outermost keys divide
 *		the bucket evenly: 96 of them a day into quarters of an hour.
 */
bool
mts_infer_multiples(const MtsInfer *infer, MtsReading *reading,
					MtsInferUnit span)
{
	Level levels[MTS_MAX_SLOTS];
	int n = read_levels(infer, reading, levels);
	MtsInferSlot *outer = &reading->slots[0];
	MtsInferUnit unit;

	outer->base = levels[0].kind == MTS_NODE_NUMBERS && levels[0].least >= 1;
	if ((levels[0].is_counted && !levels[0].is_full) ||
		!set_multiple(span, levels[0].greatest + 1 - outer->base, outer))
		return false;
	unit = outer->unit;
	for (int i = 1; i < n; i++, unit++)
	{
		int64_t inside =
			i == 1 ? outer->times : mts_infer_units_in(unit - 1, unit);

		if (unit == MTS_UNIT_NONE || levels[i].greatest >= inside ||
			(levels[i].is_counted && !levels[i].is_padded &&
			 levels[i].greatest + 1 < inside))
			return false;
		reading->slots[i] = (MtsInferSlot){unit, 0, 1};
	}
	reading->nslots = n;
	reading->span = span;
	reading->spans = 1;
	return true;
}
