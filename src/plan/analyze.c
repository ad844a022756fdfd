/*
 * analyze.c
 *		Which points stand for all of a table's?
 *
 * MongoDB draws documents, an ordinary scan unfolds them, and a reservoir
 * keeps some of their points; what these say of the columns is PostgreSQL's
 * to find.  Of a rolling set each collection gives as many as its share of all
 * is.  The table's owner is the one who asks, whoever runs ANALYZE.
 */
#include "plan/analyze.h"

#include <math.h>

#include "access/htup_details.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/sampling.h"

#include "driver/command.h"
#include "driver/document.h"
#include "plan/estimate.h"
#include "scan/scan.h"

/*
 * The points of a bucket have their keys in common and lie close together in
 * time, so for these they count as little more than one.  Therefore as many
 * documents are drawn as rows are wanted, like the blocks of a local table;
 * but of wide ones no more than what gives so many points for each that is
 * kept, which is about 100 MB at the default target, and never fewer than
 * LEAST_DOCUMENTS.
 */
#define POINTS_PER_ROW 300
#define LEAST_DOCUMENTS 30

/* Points that stand for all of those that have passed */
typedef struct Reservoir
{
	ReservoirStateData state;
	HeapTuple *rows;
	int size;
	int used;
	double passed;
	double skip; /* how many to pass by; negative: not drawn yet */
} Reservoir;

static double
documents_to_draw(const MtsLayout *layout, int targrows)
{
	double most =
		POINTS_PER_ROW * (double) targrows / mts_estimate_capacity(layout);

	return rint(Max(Min(targrows, most), LEAST_DOCUMENTS));
}

/* How many documents of a collection belong to the table; a round trip */
static double
count_documents(const MtsTable *table, Oid userid, const char *collection)
{
	return mts_command_count(mts_connection_get(table->serverid, userid),
							 table->database, collection, table->filter);
}

/* The same of each of some collections, and together */
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
			count_documents(table, userid, collections->items[i].name);
		sum += (*counts)[i];
	}
	return sum;
}

/* Where in the reservoir the next point goes; -1: nowhere. */
static int
next_place(Reservoir *reservoir)
{
	if (reservoir->used < reservoir->size)
		return reservoir->used++;
	if (reservoir->skip < 0)
		reservoir->skip =
			reservoir_get_next_S(&reservoir->state, reservoir->passed,
								 reservoir->size);
	if (reservoir->skip-- > 0)
		return -1;
	return (int) (reservoir->size *
				  sampler_random_fract(&reservoir->state.randstate));
}

/* Read all points of the scan, and keep some; rows are the caller's. */
static void
fill_reservoir(Reservoir *reservoir, MtsScan *scan, TupleTableSlot *slot,
			   MemoryContext context)
{
	while (mts_scan_next(scan, slot))
	{
		bool is_full = reservoir->used == reservoir->size;
		int place = next_place(reservoir);
		MemoryContext old;

		reservoir->passed++;
		if (place < 0)
			continue;
		if (is_full)
			heap_freetuple(reservoir->rows[place]);
		old = MemoryContextSwitchTo(context);
		reservoir->rows[place] =
			heap_form_tuple(slot->tts_tupleDescriptor, slot->tts_values,
							slot->tts_isnull);
		MemoryContextSwitchTo(old);
	}
}

/* Begin without a point. */
static void
begin_reservoir(Reservoir *reservoir)
{
	reservoir_init_selection_state(&reservoir->state, reservoir->size);
	reservoir->skip = -1;
}

/* A collection's share of the documents that are drawn from all */
static double
share(double drawn, double count, double all)
{
	return Max(rint(drawn * count / all), 1);
}

/* An AcquireSampleRowsFunc */
static int
acquire_rows(Relation relation, int elevel, HeapTuple *rows, int targrows,
			 double *totalrows, double *totaldeadrows)
{
	Reservoir reservoir = {.rows = rows, .size = targrows};
	Oid userid = relation->rd_rel->relowner;
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext context =
		AllocSetContextCreate(caller, "mongo_ts_fdw analyze",
							  ALLOCSET_DEFAULT_SIZES);
	MtsTable *table;
	MtsScan *scan;
	ExprContext *econtext;
	TupleTableSlot *slot;
	MtsCollections *collections;
	double *counts;
	double documents;
	double drawn;

	MemoryContextSwitchTo(context);
	table = mts_table_open(relation);
	collections = mts_collections_list(table, userid, false);
	documents = count_all(table, userid, collections, &counts);
	drawn = documents_to_draw(&table->layout, targrows);
	econtext = CreateStandaloneExprContext();
	scan = mts_scan_new(table, userid, list_make1_int(0), econtext);
	slot =
		MakeSingleTupleTableSlot(RelationGetDescr(relation), &TTSOpsVirtual);
	begin_reservoir(&reservoir);
	for (int i = 0; i < collections->n; i++)
	{
		mts_scan_set_collection(scan, collections->items[i].name);
		mts_scan_prepare(scan);
		/* otherwise the scan reads all of them by itself */
		if (drawn < documents && counts[i] > 0)
			mts_source_begin_sample(scan->source,
									share(drawn, counts[i], documents));
		fill_reservoir(&reservoir, scan, slot, caller);
		mts_scan_reset(scan);
	}
	*totaldeadrows = 0;
	*totalrows = reservoir.passed;
	if (drawn < documents && scan->counters->buckets > 0)
		*totalrows *= documents / scan->counters->buckets;
	ereport(
		elevel,
		(errmsg("\"%s\": read %lld of %.0f MongoDB documents, containing "
				"%.0f points; %d rows in sample, %.0f estimated total rows",
				RelationGetRelationName(relation),
				(long long) scan->counters->buckets, documents,
				reservoir.passed, reservoir.used, *totalrows)));
	ExecDropSingleTupleTableSlot(slot);
	FreeExprContext(econtext, true);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	return reservoir.used;
}

/*
 * mtsAnalyzeForeignTable
 *		Tell how to sample a table, and how many documents it has.
 *
 * A document counts as a page, so that reltuples / relpages are the points of
 * a bucket; see estimate.c.
 */
bool
mtsAnalyzeForeignTable(Relation relation, AcquireSampleRowsFunc *func,
					   BlockNumber *totalpages)
{
	MtsTable *table = mts_table_open(relation);
	Oid userid = relation->rd_rel->relowner;
	double *counts;

	*func = acquire_rows;
	*totalpages = mts_estimate_pages(
		count_all(table, userid, mts_collections_list(table, userid, false),
				  &counts));
	return true;
}
