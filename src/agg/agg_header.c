/*
 * agg_header.c
 *		Read buckets without their points, as far as their headers suffice.
 *
 * A header is a bucket without its points: its keys, its times and its
 * pre-aggregates.  The scan reads headers first.  A bucket is aggregated by
 * its header if all its points are in the wanted times and in one group, and
 * its pre-aggregates leave no doubt.  Any other bucket is left open: a second
 * scan reads it with its points, by its _id, in batches between the headers.
 *
 * Reading a bucket twice takes longer than once.  If most of the first headers
 * leave their buckets open, the aggregation begins anew without headers.
 */
#include "agg/agg_private.h"

#include "utils/memutils.h"

#include "driver/document.h"
#include "pushdown/qual.h"

/* The number of headers that decide whether headers are of use */
#define SAMPLE 100

/* A batch of _ids has at most this many bytes, and one _id more. */
#define MAX_IDS (4 * 1024 * 1024)

struct MtsHeaders
{
	MtsPreaggregates *preaggregates;
	const MtsField **fields; /* that the scan fetches; see MtsQuerySpec */
	int nread;               /* headers, at most SAMPLE */
	int nopen;               /* buckets that these left open */

	MtsScan *open_scan;   /* reads open buckets, with their points */
	bool is_reading_open; /* it reads a batch now */

	/* the next batch of open buckets */
	MemoryContext memory;
	bson_t *ids; /* an array; NULL while there are none */
	int nids;
	const MtsCollection *collection; /* of all of them */
};

/* Return why no bucket can do without its points, or NULL. */
static const char *
find_problem(const MtsAgg *agg)
{
	const MtsTable *table = agg->scan->table;

	if (!mts_enable_preaggregates)
		return "mongo_ts_fdw.enable_preaggregates is off";
	if (!table->layout.count.is_set)
		return "option \"count_field\" is not set";
	/* which points are skipped as invalid must not depend on the aggregates */
	if (table->on_invalid == MTS_INVALID_SKIP)
		return "option \"on_invalid\" is \"skip\"";
	if (agg->filter)
		return "a condition is checked for each point";
	if (agg->has_point_keys)
		return "a grouping expression is evaluated for each point";
	return NULL;
}

/*
 * mts_agg_init_headers
 *		Prepare to read headers if they can suffice for a bucket.
 */
void
mts_agg_init_headers(MtsAgg *agg)
{
	const char **problem = &agg->scan->spec.headers_problem;
	MtsPreaggregates *preaggregates;
	MtsHeaders *headers;

	*problem = find_problem(agg);
	if (*problem)
		return;
	preaggregates = mts_agg_find_preaggregates(agg, problem);
	if (!preaggregates)
		return;
	headers = palloc0(sizeof(MtsHeaders));
	headers->preaggregates = preaggregates;
	headers->fields = agg->scan->spec.headers;
	headers->open_scan = mts_scan_beside(agg->scan);
	headers->memory =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw buckets",
							  ALLOCSET_DEFAULT_SIZES);
	agg->headers = headers;
}

/* ---- Open buckets ------------------------------------------------------- */

static void
forget_batch(MtsHeaders *headers)
{
	MemoryContextReset(headers->memory);
	headers->ids = NULL;
	headers->nids = 0;
}

/* Begin to read the batch of open buckets; the next batch is empty. */
static void
begin_batch(MtsAgg *agg)
{
	MtsHeaders *headers = agg->headers;

	mts_scan_set_ids(headers->open_scan, agg->scan->query, headers->collection,
					 headers->ids);
	headers->is_reading_open = true;
	forget_batch(headers);
}

static void
end_batch(MtsHeaders *headers)
{
	mts_scan_reset(headers->open_scan);
	headers->is_reading_open = false;
}

/*
 * Add the current bucket to the next batch.  A batch that is full, or is of
 * another collection, is read first.
 */
static void
leave_open(MtsAgg *agg)
{
	MtsHeaders *headers = agg->headers;
	const MtsBucketSource *source = agg->scan->source;
	int most = Min(agg->scan->table->fetch_size, MTS_FIRST_BATCH);
	MemoryContext old;
	char digits[16];
	const char *key;

	if (headers->ids && (headers->collection != source->collection ||
						 headers->nids >= most || headers->ids->len > MAX_IDS))
		begin_batch(agg);
	old = MemoryContextSwitchTo(headers->memory);
	if (!headers->ids)
		headers->ids = mts_document_new();
	headers->collection = source->collection;
	bson_uint32_to_string(headers->nids++, &key, digits, sizeof(digits));
	mts_source_append_id(source, agg->bucket->document, headers->ids, key);
	MemoryContextSwitchTo(old);
	if (headers->nread < SAMPLE)
		headers->nopen++;
}

/* ---- Headers ------------------------------------------------------------ */

/* Aggregate the current bucket by its header; false if that leaves it open. */
static bool
aggregate_header(MtsAgg *agg)
{
	MtsPreaggregates *preaggregates = agg->headers->preaggregates;
	int64 points;

	switch (mts_unfold_header_coverage(&agg->bucket->unfold))
	{
		case MTS_COVERED_NONE:
			return true;
		case MTS_COVERED_SOME:
			return false;
		case MTS_COVERED_ALL:
			break;
	}
	points = mts_agg_read_preaggregates(agg, preaggregates);
	if (points <= 0)
		return points == 0;
	switch (mts_agg_enter_bucket(agg, points))
	{
		case MTS_BUCKET_FILTERED_OUT:
			return true;
		case MTS_BUCKET_UNDECIDED:
			return false;
		case MTS_BUCKET_IN_GROUP:
			break;
	}
	mts_agg_combine_preaggregates(agg, preaggregates, points);
	return true;
}

/* Begin anew, without headers. */
static void
give_up(MtsAgg *agg)
{
	MtsScan *scan = agg->scan;

	end_batch(agg->headers);
	forget_batch(agg->headers);
	scan->spec.headers = NULL;
	scan->spec.headers_problem = "most of the first buckets need their points";
	mts_agg_reset_groups(agg);
	mts_scan_restart(scan);
}

/*
 * Aggregate the current bucket by its header, or leave it open.
 *
 * The aggregation can begin anew while no group has been emitted.
 */
static void
use_header(MtsAgg *agg)
{
	MtsHeaders *headers = agg->headers;
	MemoryContext old =
		MemoryContextSwitchTo(agg->econtext->ecxt_per_tuple_memory);

	if (aggregate_header(agg))
		agg->scan->counters->answered++;
	else
		leave_open(agg);
	MemoryContextSwitchTo(old);
	if (headers->nread < SAMPLE && ++headers->nread == SAMPLE &&
		headers->nopen > SAMPLE / 2 && !agg->has_emitted)
		give_up(agg);
}

/*
 * mts_agg_next_bucket
 *		Read the next bucket; false at the end.
 *
 * *bucket is NULL if its points are not needed, or not yet.
 */
bool
mts_agg_next_bucket(MtsAgg *agg, MtsBucket **bucket)
{
	MtsHeaders *headers = agg->headers;

	if (headers && headers->is_reading_open)
	{
		*bucket = mts_scan_next_bucket(headers->open_scan);
		if (*bucket)
			mts_agg_set_bucket(agg, *bucket);
		else
			end_batch(headers);
		return true;
	}
	*bucket = mts_scan_next_bucket(agg->scan);
	if (*bucket)
	{
		mts_agg_set_bucket(agg, *bucket);
		if (agg->scan->query->content == MTS_CONTENT_HEADERS)
		{
			use_header(agg);
			*bucket = NULL;
		}
		return true;
	}
	if (!headers || !headers->ids)
		return false;
	begin_batch(agg);
	return true;
}

/*
 * mts_agg_reset_headers
 *		Begin anew, with headers, which other parameters may have use for.
 */
void
mts_agg_reset_headers(MtsAgg *agg)
{
	MtsHeaders *headers = agg->headers;

	if (!headers)
		return;
	end_batch(headers);
	forget_batch(headers);
	agg->scan->spec.headers = headers->fields;
	agg->scan->spec.headers_problem = NULL;
	headers->nread = headers->nopen = 0;
}
