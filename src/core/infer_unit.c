/*
 * infer_unit.c
 *		Which units can slots with these keys count?
 */
#include "core/infer_private.h"

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
} Level;

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
				*level = (Level){node->kind, node->least, node->greatest};
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
	return level->greatest < n + *base;
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
	MtsInferUnit outer = span;

	for (int i = 0; i < n; i++)
	{
		MtsInferUnit inner = outer + 1;
		int64_t base = 0;

		while (inner < MTS_UNIT_NONE &&
			   (!find_base(&levels[i], outer, inner, &base) ||
				(adjacent && inner <= MTS_UNIT_DAY && base == 0)))
			inner++;
		if (inner == MTS_UNIT_NONE || (adjacent && inner != outer + 1))
			return false;
		reading->slots[i] = (MtsInferSlot){inner, base};
		outer = inner;
	}
	reading->nslots = n;
	reading->span = span;
	return true;
}
