/*
 * fold_header.c
 *		Read buckets without their points, where pre-aggregates say enough.
 *
 * First come the buckets' own fields alone.  A bucket that lies whole in the
 * wanted times and in one group is folded by what these say.  The others, at
 * the edges, are read again with their points, by their _id, in batches.  If
 * most of the first are such others, all is begun anew without headers.
 */
#include "fold_private.h"

#include "executor/executor.h"
#include "utils/memutils.h"

#include "core/header.h"
#include "core/projection.h"
#include "document.h"
#include "fetch.h"
#include "fold_answer.h"

/* After so many headers they are judged */
#define SAMPLE 100

/* A bucket that counts more points is not believed */
#define MAX_POINTS 10000000

/* A batch of _ids takes no more bytes than this, or than one _id */
#define MAX_IDS (4 * 1024 * 1024)

bool mts_enable_preaggregates = true;

struct MtsHeaders
{
	MtsScan *scan;           /* the plan's, which reads headers */
	MtsScan *whole;          /* reads the buckets that they left open */
	const MtsField **fields; /* of the headers */
	int nfields;
	MtsAnswer *answers; /* by aggregate */
	int seen;           /* until they are judged */
	bool is_ended;      /* have all been read? */

	MemoryContext memory; /* of the buckets left open */
	bson_t *ids;          /* an array; NULL: there are none */
	int nids;
	const MtsCollection *collection; /* that has them */
	int nopen;                       /* so many have been noted */
};

/* Do the bucket's fields answer all aggregates? */
static bool
find_answers(const MtsFold *fold, MtsHeaders *headers, TupleDesc desc)
{
	const MtsTable *table = fold->scan->table;

	headers->fields[headers->nfields++] = &table->layout.count;
	for (int i = 0; i < fold->naggregates; i++)
	{
		MtsAnswer *answer = &headers->answers[i];

		if (!mts_answer_init(answer, &fold->aggregates[i], table, desc,
							 fold->scan->converters))
			return false;
		if (answer->field)
			headers->fields[headers->nfields++] = answer->field;
	}
	return true;
}

/*
 * mts_fold_init_headers
 *		See whether headers can answer what is folded.
 *
 * What is skipped as invalid may not depend on it, so they are not asked then.
 */
void
mts_fold_init_headers(MtsFold *fold, TupleDesc desc, List *attnums)
{
	MtsScan *scan = fold->scan;
	const MtsTable *table = scan->table;
	MtsHeaders *headers;

	if (!mts_enable_preaggregates || !table->layout.count.is_set ||
		table->on_invalid == MTS_INVALID_SKIP || fold->filter ||
		fold->has_point_keys)
		return;
	headers = palloc0(sizeof(MtsHeaders));
	headers->answers = palloc0((fold->naggregates + 1) * sizeof(MtsAnswer));
	headers->fields = palloc((fold->naggregates + 1) * sizeof(MtsField *));
	if (!find_answers(fold, headers, desc))
		return;
	headers->scan = scan;
	headers->whole = mts_scan_new(scan->table, scan->userid, attnums);
	headers->memory =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw buckets",
							  ALLOCSET_DEFAULT_SIZES);
	scan->headers = headers->fields;
	scan->nheaders = headers->nfields;
	fold->headers = headers;
}

/* The scan of the plan */
MtsScan *
mts_fold_headers_scan(const MtsFold *fold)
{
	return fold->headers->scan;
}

/* Are headers read? */
bool
mts_fold_reads_headers(const MtsFold *fold)
{
	return fold->headers && fold->headers->scan->is_headers;
}

/* ---- What a header says --------------------------------------------------- */

/* Read how many points the bucket has, and what they add up to. */
static bool
read_answers(MtsFold *fold, int64 *points)
{
	const MtsUnfold *unfold = &fold->scan->unfold;
	MtsHeaders *headers = fold->headers;
	MtsElement element;

	if (!mts_header_find(unfold, headers->fields[0], &element) ||
		!mts_header_integer(&element, points) || *points < 0 ||
		*points > MAX_POINTS)
		return false;
	for (int i = 0; *points > 0 && i < fold->naggregates; i++)
		if (!mts_answer_read(&headers->answers[i], unfold))
			return false;
	return true;
}

/* Fold a bucket by its header; false when its points must be read. */
static bool
fold_header(MtsFold *fold)
{
	MtsTime first, last;
	int64 points;

	switch (mts_header_wanted(&fold->scan->unfold, &first, &last))
	{
		case MTS_WANTED_NONE:
			return true;
		case MTS_WANTED_SOME:
			return false;
		case MTS_WANTED_ALL:
			break;
	}
	if (!read_answers(fold, &points))
		return false;
	if (points == 0)
		return true;
	switch (mts_fold_enter_bucket(fold, first, last))
	{
		case MTS_ENTRY_SEVERAL:
			return false;
		case MTS_ENTRY_REFUSED:
			fold->scan->counters.removed += points;
			return true;
		case MTS_ENTRY_GROUP:
			break;
	}
	for (int i = 0; i < fold->naggregates; i++)
		if (!fold->aggregates[i].is_off)
			mts_answer_take(&fold->headers->answers[i], &fold->aggregates[i],
							&fold->current[i], points, fold->memory);
	return true;
}

/* ---- The buckets that are left open --------------------------------------- */

/* Note the _id of the current bucket. */
static void
note_bucket(MtsHeaders *headers)
{
	MemoryContext old = MemoryContextSwitchTo(headers->memory);
	char digits[16];
	const char *key;

	if (!headers->ids)
		headers->ids = mts_document_new();
	headers->collection = headers->scan->collection;
	headers->nopen++;
	bson_uint32_to_string(headers->nids++, &key, digits, sizeof(digits));
	mts_fetch_append_id(headers->scan, headers->scan->bucket, headers->ids,
						key);
	MemoryContextSwitchTo(old);
}

static void
forget_buckets(MtsHeaders *headers)
{
	MemoryContextReset(headers->memory);
	headers->ids = NULL;
	headers->nids = 0;
}

/* Begin to read the buckets that were noted, with their points. */
static void
begin_whole(MtsFold *fold)
{
	MtsHeaders *headers = fold->headers;
	MtsScan *scan = headers->scan;
	MtsScan *whole = headers->whole;
	MemoryContext old;
	bson_t in;

	mts_scan_reset(whole);
	whole->collection = headers->collection;
	old = MemoryContextSwitchTo(whole->query_context);
	whole->filter = mts_document_new();
	whole->projection = mts_document_new();
	bson_append_document_begin(whole->filter, "_id", -1, &in);
	bson_append_array(&in, "$in", -1, headers->ids);
	bson_append_document_end(whole->filter, &in);
	whole->ranges = scan->ranges;
	whole->unfold.wants_null = scan->unfold.wants_null;
	mts_projection_build(&scan->table->layout, whole->needed, &whole->ranges,
						 false, whole->projection);
	whole->is_possible = whole->is_ready = true;
	MemoryContextSwitchTo(old);
	forget_buckets(headers);
	fold->scan = whole;
	mts_fold_forget_bucket(fold);
}

/* Go back to the headers; what was read counts as the plan's. */
static void
end_whole(MtsFold *fold)
{
	MtsCounters *sum = &fold->headers->scan->counters;
	MtsCounters *counters = &fold->headers->whole->counters;

	sum->buckets += counters->buckets;
	sum->points += counters->points;
	sum->bytes += counters->bytes;
	sum->round_trips += counters->round_trips;
	memset(counters, 0, sizeof(MtsCounters));
	mts_scan_reset(fold->headers->whole);
	fold->scan = fold->headers->scan;
	mts_fold_forget_bucket(fold);
}

/* Begin anew, without headers. */
static void
give_up(MtsFold *fold)
{
	MtsHeaders *headers = fold->headers;

	if (fold->scan != headers->scan)
		end_whole(fold);
	forget_buckets(headers);
	headers->scan->headers = NULL;
	headers->scan->is_again = headers->scan->parallel != NULL;
	headers->scan->counters.answered = 0;
	mts_scan_reset(headers->scan);
	mts_fold_begin_groups(fold);
}

/* Begin anew, with headers; other parameters may have other use for them. */
void
mts_fold_reset_headers(MtsFold *fold)
{
	MtsHeaders *headers = fold->headers;

	if (!headers)
		return;
	if (fold->scan != headers->scan)
		end_whole(fold);
	forget_buckets(headers);
	headers->scan->headers = headers->fields;
	headers->seen = headers->nopen = 0;
	headers->is_ended = false;
}

/*
 * Are most of the first headers of no use, while no group has been given?  A
 * worker can begin anew with its first part only.
 */
static bool
are_useless(const MtsFold *fold)
{
	const MtsHeaders *headers = fold->headers;

	return headers->seen == SAMPLE && headers->nopen > SAMPLE / 2 &&
		   !fold->has_given && headers->scan->nparts <= 1;
}

/* Deal with a header. */
static void
take_header(MtsFold *fold)
{
	MtsHeaders *headers = fold->headers;
	MemoryContext old =
		MemoryContextSwitchTo(fold->econtext->ecxt_per_tuple_memory);

	if (fold_header(fold))
		headers->scan->counters.answered++;
	else
	{
		/* those of another collection come first */
		if (headers->ids && headers->collection != headers->scan->collection)
			begin_whole(fold);
		note_bucket(headers);
	}
	MemoryContextSwitchTo(old);
	headers->seen += headers->seen <= SAMPLE;
	if (are_useless(fold))
		give_up(fold);
	else if (fold->scan == headers->scan && headers->ids &&
			 (headers->nids == headers->scan->table->fetch_size ||
			  headers->ids->len > MAX_IDS))
		begin_whole(fold);
}

/*
 * mts_fold_next_bucket
 *		Go to the next bucket, and fold it if its header is enough for that.
 */
MtsTurn
mts_fold_next_bucket(MtsFold *fold)
{
	MtsHeaders *headers = fold->headers;
	bool is_whole = headers && fold->scan != headers->scan;
	bool found = !(headers && headers->is_ended && !is_whole) &&
				 mts_scan_next_bucket(fold->scan, fold->econtext);

	if (!headers || !headers->scan->is_headers)
		return found ? MTS_TURN_POINTS : MTS_TURN_END;
	if (is_whole && found)
		return MTS_TURN_POINTS;
	if (is_whole)
		end_whole(fold);
	else if (found)
		take_header(fold);
	else if (headers->ids)
	{
		headers->is_ended = true;
		begin_whole(fold);
	}
	else
		return MTS_TURN_END;
	return MTS_TURN_NOTHING;
}
