/*
 * estimate.c
 *		Estimate the number of points in a table and in a bucket.
 *
 * ANALYZE stores both in pg_class: a document counts as a page, so that
 * reltuples / relpages is the number of points in a bucket.  Without ANALYZE
 * the number of documents is asked of the server, and the layout tells how
 * many points a bucket can hold.  The number of collections in a rolling set
 * is always asked for.  Counts are cached for the session.
 *
 * Planning does not depend on the server, so EXPLAIN works without it.  A
 * server that does not answer soon is not asked again for a while.  It raises
 * no error here: the query that runs will.  Only a uri that makes no client at
 * all, such as the name of a cluster that cannot be resolved, raises an error.
 */
#include "plan/estimate.h"

#include <math.h>

#include "miscadmin.h"
#include "storage/block.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "driver/command.h"
#include "driver/connection.h"
#include "table/collections.h"
#include "table/known.h"
#include "table/native.h"

/* Assumptions where nothing is known */
#define DEFAULT_DOCUMENTS 1000
#define DEFAULT_POINTS 100      /* in a bucket */
#define DEFAULT_SELECTIVITY 0.1 /* of the table's filter */

/*
 * The least number of rows without ANALYZE.  As with a new local table, the
 * collection may be about to be filled, and plans can outlive that.
 */
#define LEAST_ROWS 1000

/*
 * The number of collections of a rolling set that are counted for all others
 */
#define MAX_COUNTED 5

/* The time after which no more of them are counted, in milliseconds */
#define COUNTING_TIME 500

/* ---- Buckets ------------------------------------------------------------ */

/*
 * mts_estimate_capacity
 *		Estimate the number of points in a full bucket of a layout.
 */
double
mts_estimate_capacity(const MtsLayout *layout)
{
	double capacity = mts_layout_capacity(layout);

	return capacity > 0 ? capacity : DEFAULT_POINTS;
}

/* mts_estimate_pages: a number of documents as pg_class.relpages. */
BlockNumber
mts_estimate_pages(double documents)
{
	return (BlockNumber) Min(documents, (double) MaxBlockNumber);
}

/* ---- Counts ------------------------------------------------------------- */

/*
 * Count a table's collections, and the documents in some of them.  False if
 * the server does not answer soon.
 */
static bool
try_count(const MtsTable *table, Oid userid, MtsKnown *count)
{
	MtsCollections *all = mts_collections_list(table, userid, true);
	TimestampTz begun = GetCurrentTimestamp();
	double sum = 0;
	int wanted;
	int i = 0;

	if (!all)
		return false;
	wanted = Min(all->n, MAX_COUNTED);
	while (i < wanted &&
		   (i == 0 || !TimestampDifferenceExceeds(begun, GetCurrentTimestamp(),
												  COUNTING_TIME)))
	{
		/* the first, the last, and evenly between them */
		int n = i++ * (all->n - 1) / Max(wanted - 1, 1);
		double documents;

		/* to list the collections may have replaced the connection */
		if (!mts_command_try_count(mts_connection_get(table->serverid, userid),
								   table->database, all->items[n].name,
								   mts_native_is_raw(table), &documents))
			return false;
		sum += documents;
	}
	count->documents = i > 0 ? sum / i * all->n : 0;
	count->collections = all->n;
	return true;
}

/*
 * The last known counts of a table; NULL if there are none.
 *
 * A connection with open cursors is not used, since giving up an answer would
 * break it.
 */
static const MtsKnown *
count_documents(const MtsTable *table, Oid userid)
{
	bool is_silent = mts_known_server_is_silent(table->serverid, userid);
	MtsKnown *known = mts_native_known(table, userid);

	if (!mts_known_is_recent(known->counted) && !is_silent &&
		mts_connection_get(table->serverid, userid)->pins == 0)
	{
		if (try_count(table, userid, known))
			known->counted = GetCurrentTimestamp();
		else
			mts_known_record_silence(table->serverid, userid);
		CHECK_FOR_INTERRUPTS();
	}
	return known->counted != 0 ? known : NULL;
}

/*
 * mts_estimate_table
 *		Set the numbers of rows and documents of a table without conditions.
 *
 * Returns the number of points in a bucket.  *collections is that of the
 * rolling set, otherwise 1.
 */
double
mts_estimate_table(PlannerInfo *root, RelOptInfo *baserel,
				   const MtsTable *table, double *collections)
{
	double points = mts_estimate_capacity(&table->layout);
	bool is_analyzed = baserel->tuples > 0 && baserel->pages > 0;
	const MtsKnown *count = NULL;
	double documents = DEFAULT_DOCUMENTS;

	if (!is_analyzed || table->rolling_name)
		count = count_documents(table, mts_plan_user(root, baserel));
	*collections = count ? count->collections : 1;
	if (is_analyzed)
		return table->layout.nslots == 0 ? 1
										 : baserel->tuples / baserel->pages;
	if (count)
		documents =
			count->documents * (table->filter ? DEFAULT_SELECTIVITY : 1);
	documents = Max(documents, ceil(LEAST_ROWS / points));
	baserel->pages = mts_estimate_pages(documents);
	baserel->tuples = documents * points;
	return points;
}
