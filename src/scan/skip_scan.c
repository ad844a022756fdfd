/*
 * skip_scan.c
 *		Skip scan: go from series to series without reading what lies between.
 *
 * It serves the first rows of each series: the next value of a key is found by
 * an index, and the source then reads the buckets that have it.  A level is
 * one of the keys; those before it are fixed.  Nulls, which MongoDB has at
 * the low end, are asked for where PostgreSQL wants them.
 */
#include "scan/skip_scan.h"

#include "access/stratnum.h"
#include "nodes/value.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "driver/document.h"
#include "pushdown/sort_order.h"

/* Where a level is: nulls come before the values or behind them */
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
	bson_t *value; /* {"": value}; of AT_VALUE */
} Level;

struct MtsSkipScan
{
	MtsBucketSource *source;
	MemoryContext memory; /* of what the next series is looked for with */
	int n;
	Level *levels;
	bool is_begun;
};

/* ---- The conditions on keys --------------------------------------------- */

/* Append {field: value} to an array of terms. */
static void
append_equal(const Level *level, bson_t *terms)
{
	mts_template_push(terms,
					  level->phase == AT_VALUE ? "{%s: %b}" : "{%s: null}",
					  level->field, level->value);
}

/* Append the condition that a value follows the level's, or is the first. */
static void
append_beyond(const Level *level, bson_t *terms)
{
	mts_template_push(terms,
					  level->phase == AT_VALUE ? "{%s: {%s: %b}}"
											   : "{%s: {$ne: null}}",
					  level->field, level->descending ? "$lt" : "$gt",
					  level->value);
}

/* ---- Looking for values ------------------------------------------------- */

/*
 * The first bucket by a level's field that satisfies the terms, or NULL.  It
 * is there until the next series is looked for.
 */
static const bson_t *
find_first(const MtsSkipScan *skip, const Level *level, const bson_t *terms)
{
	return mts_source_first(
		skip->source,
		&(MtsFind){.filter =
					   mts_query_restrict(skip->source->query->filter, terms),
				   .projection = mts_document_make("{%s: 1}", level->field),
				   .sort = mts_document_make("{%s: %d}", level->field,
											 level->descending ? -1 : 1)});
}

/* The terms that fix the levels before one */
static bson_t *
outer_terms(const MtsSkipScan *skip, int level)
{
	bson_t *terms = mts_document_new();

	for (int i = 0; i < level; i++)
		append_equal(&skip->levels[i], terms);
	return terms;
}

/* Go to a level's null, if there is one. */
static bool
find_null(MtsSkipScan *skip, int i, Phase phase)
{
	Level *level = &skip->levels[i];
	bson_t *terms = outer_terms(skip, i);

	level->phase = phase;
	append_equal(level, terms);
	return find_first(skip, level, terms) != NULL;
}

/* Go to a level's next value, if there is one. */
static bool
find_value(MtsSkipScan *skip, int i)
{
	Level *level = &skip->levels[i];
	bson_t *terms = outer_terms(skip, i);
	bson_iter_t iter, value;
	const bson_t *doc;

	append_beyond(level, terms);
	doc = find_first(skip, level, terms);
	if (!doc)
		return false;
	if (!bson_iter_init(&iter, doc) ||
		!bson_iter_find_descendant(&iter, level->field, &value))
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_DATA_TYPE),
				 errmsg("a document of MongoDB collection \"%s.%s\" has an "
						"array on the path \"%s\"",
						skip->source->table->database,
						skip->source->table->collection, level->field)));
	bson_reinit(level->value);
	bson_append_iter(level->value, "", -1, &value);
	level->phase = AT_VALUE;
	return true;
}

/* Go on at a level; false at its end. */
static bool
step(MtsSkipScan *skip, int i)
{
	Level *level = &skip->levels[i];

	if (level->phase == AT_START && level->nulls_first &&
		find_null(skip, i, AT_FIRST_NULL))
		return true;
	if (level->phase != AT_LAST_NULL && find_value(skip, i))
		return true;
	return level->phase != AT_LAST_NULL && !level->nulls_first &&
		   find_null(skip, i, AT_LAST_NULL);
}

/*
 * mts_skip_scan_next
 *		Have the source read the next series; false at the end.
 */
bool
mts_skip_scan_next(MtsSkipScan *skip)
{
	int i = skip->is_begun ? skip->n - 1 : 0;
	MemoryContext old;
	bool found = false;

	MemoryContextReset(skip->memory);
	old = MemoryContextSwitchTo(skip->memory);
	if (!skip->is_begun)
		skip->levels[0].phase = AT_START;
	skip->is_begun = true;
	while (i >= 0 && !found)
	{
		if (!step(skip, i))
			i--;
		else if (i == skip->n - 1)
			found = true;
		else
			skip->levels[++i].phase = AT_START;
	}
	if (found)
		mts_source_begin_part(skip->source, skip->source->collection,
							  outer_terms(skip, skip->n));
	MemoryContextSwitchTo(old);
	return found;
}

/* Begin anew: the source does. */
void
mts_skip_scan_reset(MtsSkipScan *skip)
{
	MemoryContextReset(skip->memory);
	skip->is_begun = false;
}

/* mts_skip_scan_new: prepare to go through the series of an order. */
MtsSkipScan *
mts_skip_scan_new(MtsBucketSource *source, const MtsSortOrder *order)
{
	MtsSkipScan *skip = palloc0(sizeof(MtsSkipScan));

	skip->source = source;
	skip->memory =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw series",
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
