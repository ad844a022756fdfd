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
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/sampling.h"

#include "driver/command.h"
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

/* Count the documents of each collection that belong to the table, and all. */
static double
count_all(const MtsTable *table, Oid userid, const MtsCollections *collections,
		  double **counts)
{
	double sum = 0;

	*counts = palloc((collections->n + 1) * sizeof(double));
	for (int i = 0; i < collections->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		(*counts)[i] =
			mts_command_count(mts_connection_get(table->serverid, userid),
							  table->database, collections->items[i].name,
							  table->filter, table->relid);
		sum += (*counts)[i];
	}
	return sum;
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
	MtsCollections *collections;
	double *counts;
	double documents;
	double drawn;

	MemoryContextSwitchTo(context);
	table = mts_native_open(relation, userid);
	collections = mts_collections_list(table, userid, false);
	documents = count_all(table, userid, collections, &counts);
	drawn = mts_analyze_sample_size(&table->layout, targrows);
	econtext = CreateStandaloneExprContext();
	scan = mts_scan_new(table, userid, list_make1_int(0), econtext);
	slot =
		MakeSingleTupleTableSlot(RelationGetDescr(relation), &TTSOpsVirtual);
	reservoir_init_selection_state(&reservoir.state, targrows);
	for (int i = 0; i < collections->n; i++)
	{
		mts_scan_set_collection(scan, collections->items[i].name);
		mts_scan_prepare(scan);
		/* otherwise the scan reads all documents */
		if (drawn < documents && counts[i] > 0)
			mts_source_begin_sample(scan->source,
									Max(rint(drawn * counts[i] / documents),
										1));
		fill_reservoir(&reservoir, scan, slot, caller);
		mts_scan_reset(scan);
	}
	*totaldeadrows = 0;
	*totalrows = reservoir.npoints;
	if (drawn < documents && scan->counters->buckets > 0)
		*totalrows *= documents / scan->counters->buckets;
	ereport(
		elevel,
		(errmsg("\"%s\": read %lld of %.0f MongoDB documents, containing "
				"%.0f points; %d rows in sample, %.0f estimated total rows",
				RelationGetRelationName(relation),
				(long long) scan->counters->buckets, documents,
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
	double *counts;

	*func = acquire_rows;
	*totalpages = mts_estimate_pages(
		count_all(table, userid, mts_collections_list(table, userid, false),
				  &counts));
	return true;
}
