/*
 * analyze.c
 *		Sample the points of a table for ANALYZE.
 *
 * MongoDB draws documents by $sample, a scan unfolds them, and a reservoir
 * keeps some of the points.  PostgreSQL computes the statistics of these.  Of
 * a rolling set, each collection contributes in proportion to its documents.
 * MongoDB is asked as the table's owner, whoever runs ANALYZE.
 */
#include "plan/analyze.h"

#include <math.h>

#include "access/htup_details.h"
#include "commands/vacuum.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/sampling.h"

#include "core/bson/template.h"
#include "driver/command.h"
#include "driver/cursor.h"
#include "driver/document.h"
#include "plan/estimate.h"
#include "scan/scan.h"
#include "table/native.h"

/*
 * The points of a bucket have the same keys and are close together in time, so
 * a bucket says little more about these than one row.  As many documents are
 * drawn as rows are wanted, like the blocks of a local table.  They are fewer,
 * but at least LEAST_DOCUMENTS, if they have more than POINTS_PER_ROW points
 * for each row.  With the default statistics target that limits ANALYZE to
 * about 100 MB.
 */
#define POINTS_PER_ROW 300
#define LEAST_DOCUMENTS 30

/*
 * MongoDB draws documents one by one if they are less than a twentieth of the
 * collection.  Then it draws before it applies the table's filter, so that
 * the time does not grow with the collection.  If fewer than LEAST_SHARE of
 * the documents satisfy the filter, they are found by it, and counted.
 */
#define MOST_DRAWN 0.05
#define LEAST_SHARE 0.1

/* So many rows PostgreSQL wants, for each unit of the statistics target. */
#define ROWS_PER_TARGET 300

/* The documents that are sampled */
typedef struct Population
{
	Oid relid;
	const MtsCollections *collections;
	double *counts; /* of each collection */
	double sum;     /* of these */
	bool is_whole;  /* also those that do not satisfy the filter */
	double matches; /* the number that satisfies the filter, or an estimate */
} Population;

/* A random sample of the points that have been read */
typedef struct Reservoir
{
	ReservoirStateData state;
	HeapTuple *rows;
	int size;
	int used;
	double npoints; /* read */
	double skip;    /* points before the next one; negative if not drawn yet */
} Reservoir;

/*
 * mts_analyze_sample_size
 *		Return how many documents are drawn to get so many rows.
 */
double
mts_analyze_sample_size(const MtsLayout *layout, int targrows)
{
	double most =
		POINTS_PER_ROW * (double) targrows / mts_estimate_capacity(layout);

	return rint(Max(Min(targrows, most), LEAST_DOCUMENTS));
}

/*
 * Those of the tables that this transaction analyzes, as Population *, the
 * newest first.  PostgreSQL asks for a table's size before it asks for rows,
 * and both answers come from one count.
 */
static List *populations = NIL;

/* Count the documents of each collection that match a filter, and all. */
static void
count_all(Population *population, const MtsTable *table, Oid userid,
		  const bson_t *filter)
{
	const MtsCollections *collections = population->collections;

	population->sum = 0;
	for (int i = 0; i < collections->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		population->counts[i] =
			mts_command_count(mts_connection_get(table->serverid, userid),
							  table->database, collections->items[i].name,
							  filter, mts_native_is_raw(table), table->relid);
		population->sum += population->counts[i];
	}
}

/* How many of the documents are drawn from a collection; 0 if it has none */
static int64
share(const Population *population, int i, double drawn)
{
	return population->counts[i] == 0
			   ? 0
			   : Max(rint(drawn * population->counts[i] / population->sum), 1);
}

/*
 * Estimate how many documents satisfy the table's filter, by those of so many
 * that are drawn.
 */
static double
estimate_matches(const Population *population, const MtsTable *table,
				 Oid userid, double drawn)
{
	const MtsCollections *collections = population->collections;
	double matches = 0;

	for (int i = 0; i < collections->n; i++)
	{
		bson_t *stages = mts_document_new();
		int64 size = share(population, i, drawn);
		MtsCursor *cursor;
		const bson_t *counted;

		if (size == 0)
			continue;
		mts_template_push(stages, "{$sample: {size: %i}}", size);
		mts_template_push(stages, "{$match: %o}", table->filter);
		mts_template_push(stages, "{$group: {_id: null, n: {$sum: 1}}}");
		cursor = mts_cursor_find(mts_connection_get(table->serverid, userid),
								 table->database, collections->items[i].name,
								 &(MtsFind){.stages = stages,
											.fetch_size = table->fetch_size,
											.relid = table->relid});
		counted = mts_cursor_next(cursor);
		if (counted)
			matches += population->counts[i] / size *
					   mts_document_number(counted, "n");
		mts_cursor_close(cursor);
	}
	return matches;
}

/* Choose from which documents so many are drawn. */
static void
choose_population(Population *population, const MtsTable *table, Oid userid,
				  double drawn)
{
	population->collections = mts_collections_list(table, userid, false);
	population->counts =
		palloc((population->collections->n + 1) * sizeof(double));
	count_all(population, table, userid, NULL);
	if (table->filter && drawn < MOST_DRAWN * population->sum)
	{
		population->matches =
			estimate_matches(population, table, userid, drawn);
		population->is_whole =
			population->matches >= LEAST_SHARE * population->sum;
	}
	if (population->is_whole)
		return;
	if (table->filter)
		count_all(population, table, userid, table->filter);
	population->matches = population->sum;
}

static void
forget_populations(void *arg)
{
	populations = NIL;
}

/* Choose the population of a table, and keep it for acquire_rows. */
static const Population *
begin_population(const MtsTable *table, Oid userid, double drawn)
{
	static MemoryContextCallback callback = {.func = forget_populations};
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
	Population *population = palloc0(sizeof(Population));

	population->relid = table->relid;
	choose_population(population, table, userid, drawn);
	populations = lcons(population, populations);
	if (list_length(populations) == 1)
		MemoryContextRegisterResetCallback(TopTransactionContext, &callback);
	MemoryContextSwitchTo(old);
	return population;
}

/* Return the population of a table that is analyzed. */
static const Population *
current_population(Oid relid)
{
	ListCell *lc;

	foreach (lc, populations)
		if (((Population *) lfirst(lc))->relid == relid)
			return lfirst(lc);
	elog(ERROR, "table %u is not analyzed", relid);
}

/* The index in the reservoir for the next point; -1 if it is left out */
static int
next_index(Reservoir *reservoir)
{
	if (reservoir->used < reservoir->size)
		return reservoir->used++;
	if (reservoir->skip < 0)
		reservoir->skip =
			reservoir_get_next_S(&reservoir->state, reservoir->npoints,
								 reservoir->size);
	if (reservoir->skip-- > 0)
		return -1;
	return (int) (reservoir->size *
				  sampler_random_fract(&reservoir->state.randstate));
}

/* Read all points of the scan; rows are allocated in the context. */
static void
fill_reservoir(Reservoir *reservoir, MtsScan *scan, TupleTableSlot *slot,
			   MemoryContext context)
{
	while (mts_scan_next(scan, slot))
	{
		bool is_full = reservoir->used == reservoir->size;
		int i = next_index(reservoir);
		MemoryContext old;

		reservoir->npoints++;
		if (i < 0)
			continue;
		if (is_full)
			heap_freetuple(reservoir->rows[i]);
		old = MemoryContextSwitchTo(context);
		reservoir->rows[i] =
			heap_form_tuple(slot->tts_tupleDescriptor, slot->tts_values,
							slot->tts_isnull);
		MemoryContextSwitchTo(old);
	}
}

/* An AcquireSampleRowsFunc */
static int
acquire_rows(Relation relation, int elevel, HeapTuple *rows, int targrows,
			 double *totalrows, double *totaldeadrows)
{
	Reservoir reservoir = {.rows = rows, .size = targrows, .skip = -1};
	Oid userid = relation->rd_rel->relowner;
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext context =
		AllocSetContextCreate(caller, "mongo_ts_fdw analyze",
							  ALLOCSET_DEFAULT_SIZES);
	const MtsTable *table;
	MtsScan *scan;
	ExprContext *econtext;
	TupleTableSlot *slot;
	const Population *population =
		current_population(RelationGetRelid(relation));
	double drawn;

	MemoryContextSwitchTo(context);
	table = mts_native_open(relation, userid);
	drawn = mts_analyze_sample_size(&table->layout, targrows);
	econtext = CreateStandaloneExprContext();
	scan = mts_scan_new(table, userid, list_make1_int(0), econtext);
	slot =
		MakeSingleTupleTableSlot(RelationGetDescr(relation), &TTSOpsVirtual);
	reservoir_init_selection_state(&reservoir.state, targrows);
	for (int i = 0; i < population->collections->n; i++)
	{
		int64 size = share(population, i, drawn);

		mts_scan_set_collection(scan, population->collections->items[i].name);
		mts_scan_prepare(scan);
		/* otherwise the scan reads all documents */
		if (drawn < population->sum && size > 0)
			mts_source_begin_sample(scan->source, size, population->is_whole);
		fill_reservoir(&reservoir, scan, slot, caller);
		mts_scan_reset(scan);
	}
	*totaldeadrows = 0;
	*totalrows = reservoir.npoints;
	if (drawn < population->sum && scan->counters->buckets > 0)
		*totalrows *= population->matches / scan->counters->buckets;
	ereport(
		elevel,
		(errmsg("\"%s\": read %lld of %.0f MongoDB documents, containing "
				"%.0f points; %d rows in sample, %.0f estimated total rows",
				RelationGetRelationName(relation),
				(long long) scan->counters->buckets, population->matches,
				reservoir.npoints, reservoir.used, *totalrows)));
	ExecDropSingleTupleTableSlot(slot);
	FreeExprContext(econtext, true);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	return reservoir.used;
}

/*
 * mtsAnalyzeForeignTable
 *		Return the function that samples a table, and its number of documents.
 *
 * A document counts as a page, so that reltuples / relpages are the points of
 * a bucket; see estimate.c.
 */
bool
mtsAnalyzeForeignTable(Relation relation, AcquireSampleRowsFunc *func,
					   BlockNumber *totalpages)
{
	Oid userid = relation->rd_rel->relowner;
	const MtsTable *table = mts_native_open(relation, userid);
	double drawn =
		mts_analyze_sample_size(&table->layout,
								ROWS_PER_TARGET * default_statistics_target);

	*func = acquire_rows;
	*totalpages =
		mts_estimate_pages(begin_population(table, userid, drawn)->matches);
	return true;
}
