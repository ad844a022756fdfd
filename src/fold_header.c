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
#include "document.h"
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
	MtsScan *whole;          /* reads the buckets that headers left open */
	bool reads_whole;        /* does it, now? */
	const MtsField **fields; /* of the headers */
	int nfields;
	MtsAnswer *answers; /* by aggregate */
	int seen;           /* headers, until they are judged */

	MemoryContext memory; /* of the buckets left open */
	bson_t *ids;          /* an array; NULL: there are none */
	int nids;
	const MtsCollection *collection; /* that has them */
	int nopen;                       /* so many have been recorded */
};

/* Do the bucket's fields answer all aggregates? */
static bool
find_answers(const MtsFold *fold, MtsHeaders *headers, TupleDesc desc)
{
	const MtsBucket *bucket = fold->scan->bucket;

	headers->fields[headers->nfields++] = &bucket->table->layout.count;
	for (int i = 0; i < fold->naggregates; i++)
	{
		MtsAnswer *answer = &headers->answers[i];

		if (!mts_answer_init(answer, &fold->aggregates[i], bucket, desc))
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
mts_fold_init_headers(MtsFold *fold, TupleDesc desc)
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
	headers->whole = mts_scan_beside(scan);
	headers->memory =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw buckets",
							  ALLOCSET_DEFAULT_SIZES);
	scan->spec.headers = headers->fields;
	scan->spec.nheaders = headers->nfields;
	fold->headers = headers;
}

/* Are headers read? */
bool
mts_fold_reads_headers(const MtsFold *fold)
{
	const MtsQuery *query = fold->scan->query;

	return query && query->content == MTS_CONTENT_HEADERS;
}

/* ---- What a header says --------------------------------------------------- */

/* Read how many points the bucket has, and what they add up to. */
static bool
read_answers(MtsFold *fold, int64 *points)
{
	const MtsUnfold *unfold = &fold->bucket->unfold;
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

	switch (mts_header_wanted(&fold->bucket->unfold, &first, &last))
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
			fold->scan->counters->removed += points;
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

/* Record the _id of the current bucket. */
static void
record_bucket(MtsFold *fold)
{
	MtsHeaders *headers = fold->headers;
	const MtsBucketSource *source = fold->scan->source;
	MemoryContext old = MemoryContextSwitchTo(headers->memory);
	char digits[16];
	const char *key;

	if (!headers->ids)
		headers->ids = mts_document_new();
	headers->collection = source->collection;
	headers->nopen++;
	bson_uint32_to_string(headers->nids++, &key, digits, sizeof(digits));
	mts_source_append_id(source, fold->bucket->document, headers->ids, key);
	MemoryContextSwitchTo(old);
}

static void
forget_buckets(MtsHeaders *headers)
{
	MemoryContextReset(headers->memory);
	headers->ids = NULL;
	headers->nids = 0;
}

/* Begin to read the buckets that were recorded, with their points. */
static void
begin_whole(MtsFold *fold)
{
	MtsHeaders *headers = fold->headers;

	mts_scan_set_ids(headers->whole, fold->scan->query, headers->collection,
					 headers->ids);
	headers->reads_whole = true;
	forget_buckets(headers);
}

static void
end_whole(MtsHeaders *headers)
{
	mts_scan_reset(headers->whole);
	headers->reads_whole = false;
}

/* Begin anew, without headers. */
static void
give_up(MtsFold *fold)
{
	MtsScan *scan = fold->scan;

	end_whole(fold->headers);
	forget_buckets(fold->headers);
	scan->spec.headers = NULL;
	scan->source->repeat_part = scan->source->parallel != NULL;
	scan->counters->answered = 0;
	mts_scan_reset(scan);
	mts_fold_begin_groups(fold);
}

/* Begin anew, with headers; other parameters may have other use for them. */
void
mts_fold_reset_headers(MtsFold *fold)
{
	MtsHeaders *headers = fold->headers;

	if (!headers)
		return;
	end_whole(headers);
	forget_buckets(headers);
	fold->scan->spec.headers = headers->fields;
	headers->seen = headers->nopen = 0;
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
		   !fold->has_given && fold->scan->source->nparts <= 1;
}

/* Aggregate the current bucket by its header, or leave it open. */
static void
use_header(MtsFold *fold)
{
	MtsHeaders *headers = fold->headers;
	MemoryContext old =
		MemoryContextSwitchTo(fold->econtext->ecxt_per_tuple_memory);

	if (fold_header(fold))
		fold->scan->counters->answered++;
	else
	{
		/* those of another collection come first */
		if (headers->ids &&
			headers->collection != fold->scan->source->collection)
			begin_whole(fold);
		record_bucket(fold);
	}
	MemoryContextSwitchTo(old);
	headers->seen += headers->seen <= SAMPLE;
	if (are_useless(fold))
		give_up(fold);
	else if (!headers->reads_whole && headers->ids &&
			 (headers->nids == fold->scan->table->fetch_size ||
			  headers->ids->len > MAX_IDS))
		begin_whole(fold);
}

/*
 * mts_fold_next_bucket
 *		Go to the next bucket; false at the end.
 *
 * *bucket is NULL when nothing is left to do with it, because its header was
 * enough, or left it open.
 */
bool
mts_fold_next_bucket(MtsFold *fold, MtsBucket **bucket)
{
	MtsHeaders *headers = fold->headers;
	bool reads_whole = headers && headers->reads_whole;

	*bucket = mts_scan_next_bucket(reads_whole ? headers->whole : fold->scan);
	if (*bucket)
		mts_fold_begin_bucket(fold, *bucket);
	if (reads_whole && !*bucket)
		end_whole(headers);
	else if (!*bucket && headers && headers->ids)
		begin_whole(fold);
	else if (!*bucket)
		return false;
	else if (!reads_whole && mts_fold_reads_headers(fold))
	{
		use_header(fold);
		*bucket = NULL;
	}
	return true;
}
