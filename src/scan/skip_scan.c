/*
 * skip_scan.c
 *		Read the buckets of one series after the other, in their order.
 *
 * A scan that returns only the first row of each series skips the other
 * buckets.  It finds the next value of a key by an index, and then has the
 * source read the buckets with that value.  A level is one of the
 * keys; a value of it is looked for under fixed values of the levels before.
 * MongoDB sorts nulls at the low end, so they are looked for separately.
 *
 * If the plan says so, the values of the last level come with their first
 * buckets, many at once (first_buckets.c).
 */
#include "scan/skip_scan.h"

#include "utils/memutils.h"

#include "driver/document.h"
#include "pushdown/sort_order.h"
#include "scan/first_buckets.h"

/* The position of a level; nulls come before all values or after them */
typedef enum Phase
{
	AT_START,
	AT_FIRST_NULL,
	AT_VALUE,
	AT_LAST_NULL
} Phase;

typedef struct Level
{
	const char *field;
	bool descending;
	bool nulls_first;
	Phase phase;
	bson_t *value; /* {"": value}, if the level is at a value */
} Level;

struct MtsSkipScan
{
	MtsBucketSource *source;
	MemoryContext memory; /* reset for each series */
	int n;
	Level *levels;
	bool has_begun;
	bool has_asked; /* for misfits */

	/* of the values of the last level; or NULL */
	MtsFirstBuckets *first_buckets;
	MemoryContext first_memory;
	const MtsFirstBucket *first; /* of the level's value; or NULL */
};

/* ---- Conditions on keys ------------------------------------------------- */

/* Append the condition that fixes a level to an array of terms. */
static void
append_equal(const Level *level, bson_t *terms)
{
	mts_template_push(terms,
					  level->phase == AT_VALUE ? "{%s: %b}" : "{%s: null}",
					  level->field, level->value);
}

/* Append the condition of the values that follow the level's position. */
static void
append_following(const Level *level, bson_t *terms)
{
	mts_template_push(terms,
					  level->phase == AT_VALUE ? "{%s: {%s: %b}}"
											   : "{%s: {$ne: null}}",
					  level->field, level->descending ? "$lt" : "$gt",
					  level->value);
}

/* ---- Looking for values ------------------------------------------------- */

/*
 * Find the first bucket, in the order of a level, that satisfies the terms;
 * NULL if none.  It lives until the next series.
 */
static const bson_t *
find_first(const MtsSkipScan *skip, const Level *level, const bson_t *terms)
{
	return mts_source_first(
		skip->source, skip->source->table->collection,
		&(MtsFind){.filter =
					   mts_query_restrict(skip->source->query->filter, terms),
				   .projection = mts_document_make("{%s: 1}", level->field),
				   .sort = mts_document_make("{%s: %d}", level->field,
											 level->descending ? -1 : 1)});
}

/* Make the terms that fix the levels before one. */
static bson_t *
outer_terms(const MtsSkipScan *skip, int level)
{
	bson_t *terms = mts_document_new();

	for (int i = 0; i < level; i++)
		append_equal(&skip->levels[i], terms);
	return terms;
}

/* Move a level to null; false if no bucket has it. */
static bool
find_null(MtsSkipScan *skip, int i, Phase phase)
{
	Level *level = &skip->levels[i];
	bson_t *terms = outer_terms(skip, i);

	level->phase = phase;
	append_equal(level, terms);
	return find_first(skip, level, terms) != NULL;
}

/* Move a level to its next value; false if none. */
static bool
find_value(MtsSkipScan *skip, int i)
{
	Level *level = &skip->levels[i];
	bson_t *terms = outer_terms(skip, i);
	const bson_t *doc;

	append_following(level, terms);
	doc = find_first(skip, level, terms);
	if (!doc)
		return false;
	mts_first_buckets_read_key(skip->source, level->field, doc, level->value);
	level->phase = AT_VALUE;
	return true;
}

/* Ask once for documents of another type, of any series. */
static void
ask_misfits(MtsSkipScan *skip)
{
	MtsBucketSource *source = skip->source;

	if (skip->has_asked)
		return;
	skip->has_asked = true;
	(void) mts_source_list_parts(source, false);
	if (source->query->misfits && source->parts != NIL)
		mts_source_ask_misfits(source, linitial(source->parts),
							   source->query->misfits);
}

/*
 * Tell whether the values of a level are asked for at once.  MongoDB does not
 * skip through an index below a null.
 */
static bool
has_first_buckets(const MtsSkipScan *skip, int i)
{
	bool result =
		i == skip->n - 1 && skip->source->query->order->series_direction != 0;

	while (--i >= 0 && result)
		result = skip->levels[i].phase == AT_VALUE;
	return result;
}

/* Move the last level to its next value and first bucket; false if none. */
static bool
find_first_bucket(MtsSkipScan *skip, int i)
{
	Level *level = &skip->levels[i];
	MemoryContext old;

	if (level->phase != AT_VALUE)
	{
		MemoryContextReset(skip->first_memory);
		old = MemoryContextSwitchTo(skip->first_memory);
		skip->first_buckets =
			mts_first_buckets_begin(skip->source, outer_terms(skip, i));
		MemoryContextSwitchTo(old);
		ask_misfits(skip);
	}
	level->phase = AT_VALUE;
	return mts_first_buckets_next(skip->first_buckets, level->value,
								  &skip->first);
}

/* Move a level to its next position; false if none. */
static bool
advance(MtsSkipScan *skip, int i)
{
	Level *level = &skip->levels[i];

	if (level->phase == AT_START && level->nulls_first &&
		find_null(skip, i, AT_FIRST_NULL))
		return true;
	if (level->phase != AT_LAST_NULL &&
		(has_first_buckets(skip, i) ? find_first_bucket(skip, i)
									: find_value(skip, i)))
		return true;
	return level->phase != AT_LAST_NULL && !level->nulls_first &&
		   find_null(skip, i, AT_LAST_NULL);
}

/* Move to the next series; false if none. */
static bool
find_series(MtsSkipScan *skip, int i)
{
	while (i >= 0)
	{
		if (!advance(skip, i))
			i--;
		else if (i == skip->n - 1)
			return true;
		else
			skip->levels[++i].phase = AT_START;
	}
	return false;
}

/*
 * mts_skip_scan_next
 *		Have the source read the next series; false if none.
 *
 * The last level that can advance does; those after it start again.
 */
bool
mts_skip_scan_next(MtsSkipScan *skip)
{
	bool is_first = !skip->has_begun;
	MemoryContext old;
	bool found;

	MemoryContextReset(skip->memory);
	old = MemoryContextSwitchTo(skip->memory);
	skip->first = NULL;
	if (is_first)
	{
		skip->levels[0].phase = AT_START;
		skip->has_asked = false;
	}
	skip->has_begun = true;
	found = find_series(skip, is_first ? 0 : skip->n - 1);
	if (is_first)
		ask_misfits(skip);
	if (found)
		mts_source_begin_series(skip->source, outer_terms(skip, skip->n),
								skip->first);
	MemoryContextSwitchTo(old);
	return found;
}

/* mts_skip_scan_reset: start again at the first series. */
void
mts_skip_scan_reset(MtsSkipScan *skip)
{
	MemoryContextReset(skip->memory);
	MemoryContextReset(skip->first_memory);
	skip->has_begun = false;
}

/* mts_skip_scan_new: prepare to read the series of a sort order. */
MtsSkipScan *
mts_skip_scan_new(MtsBucketSource *source, const MtsSortOrder *order)
{
	MtsSkipScan *skip = palloc0(sizeof(MtsSkipScan));

	skip->source = source;
	skip->memory =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw series",
							  ALLOCSET_SMALL_SIZES);
	skip->first_memory =
		AllocSetContextCreate(CurrentMemoryContext,
							  "mongo_ts_fdw first buckets of series",
							  ALLOCSET_SMALL_SIZES);
	skip->n = order->nseries;
	skip->levels = palloc0(skip->n * sizeof(Level));
	for (int i = 0; i < skip->n; i++)
	{
		Level *level = &skip->levels[i];

		level->field = order->keys[i].field;
		level->descending = order->keys[i].descending;
		level->nulls_first = order->keys[i].nulls_first;
		level->value = mts_document_new();
	}
	return skip;
}
