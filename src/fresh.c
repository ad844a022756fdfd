/*
 * fresh.c
 *		Decide whether the buckets of a batch are inserted instead of upserted.
 *
 * A new bucket is inserted much faster than it is upserted slot by slot.  That is
 * right only where a unique index refuses a second one of it, which is looked for
 * once a statement; what is refused so is updated (see bulk.c).  Whether buckets
 * are new is not known: it is tried with a few of those of a statement that fills
 * many, and given up where most are there already.  In a rolling set each
 * collection may have other indexes, so there it is not tried.
 */
#include "writer.h"

#include "document.h"
#include "index.h"

/* So many buckets, with so many points each, look like those of a new range */
#define FEWEST_BUCKETS 64
#define FEWEST_POINTS 4

/* How many are tried */
#define TRIALS 32

/* Is a path one of those that tell the buckets apart? */
static bool
is_identity_field(const MtsIdentity *identity, const char *path)
{
	char dotted[MTS_MAX_PATH];

	for (int i = 0; i < identity->n; i++)
	{
		const MtsIdentityPart *part = &identity->parts[i];

		mts_path_dotted(part->steps, part->nsteps, dotted, sizeof(dotted));
		if (strcmp(path, dotted) == 0)
			return true;
	}
	return false;
}

/* Does an index hold every bucket that the table can have? */
static bool
holds_all(const MtsIdentity *identity, const bson_t *index)
{
	bson_t *partial = mts_identity_partial(identity);
	bson_iter_t iter;
	bson_t expression;

	if (bson_iter_init_find(&iter, index, "sparse") &&
		bson_iter_as_bool(&iter))
		return false;
	if (!bson_iter_init_find(&iter, index, "partialFilterExpression"))
		return true;
	return mts_document_view(&iter, &expression) &&
		   bson_equal(&expression, partial);
}

/* Is an index unique, so that no two buckets have what tells one? */
static bool
is_unique(const MtsIdentity *identity, const bson_t *index)
{
	bson_iter_t iter, field;
	int n = 0;

	if (!bson_iter_init_find(&iter, index, "unique") ||
		!bson_iter_as_bool(&iter) || bson_has_field(index, "collation") ||
		!holds_all(identity, index) ||
		!bson_iter_init_find(&iter, index, "key") ||
		!BSON_ITER_HOLDS_DOCUMENT(&iter) || !bson_iter_recurse(&iter, &field))
		return false;
	/* those of other kinds, such as "2dsphere", leave out null */
	for (; bson_iter_next(&field); n++)
		if (!BSON_ITER_HOLDS_NUMBER(&field) ||
			!is_identity_field(identity, bson_iter_key(&field)))
			return false;
	return n > 0;
}

/* Has the collection an index that tells its buckets apart? */
static bool
has_unique_index(const MtsWriter *writer)
{
	const MtsBulk *bulk = &writer->bulk;
	bson_iter_t indexes;
	bson_t index;

	if (!mts_index_list(bulk->connection, bulk->database, bulk->collection,
						&indexes))
		return false;
	while (mts_index_next(&indexes, &index))
		if (is_unique(writer->placer->identity, &index))
			return mts_index_is_ready(bulk->connection, bulk->database,
									  bulk->collection, &index);
	return false;
}

/* Does the batch look like many new buckets of a table that can have them? */
static bool
is_worth_a_try(const MtsWriter *writer)
{
	int nbuckets = list_length(writer->pending);

	return nbuckets >= FEWEST_BUCKETS &&
		   writer->npoints >= nbuckets * FEWEST_POINTS && !writer->is_move &&
		   !writer->table->set &&
		   mts_update_may_be_fresh(&writer->table->layout) &&
		   bson_empty(writer->placer->identity->others);
}

/*
 * mts_fresh_begin
 *		Say how many buckets of the batch are to be inserted.
 */
void
mts_fresh_begin(MtsWriter *writer)
{
	if (writer->fresh == MTS_FRESH_UNKNOWN && is_worth_a_try(writer))
		writer->fresh =
			has_unique_index(writer) ? MTS_FRESH_TRIED : MTS_FRESH_NO;
	writer->fresh_tried = 0;
	writer->fresh_left = writer->fresh == MTS_FRESH_TRIED ? TRIALS
						 : writer->fresh == MTS_FRESH_YES
							 ? list_length(writer->pending)
							 : 0;
}

/*
 * mts_fresh_end
 *		Learn from what became of them.
 */
void
mts_fresh_end(MtsWriter *writer)
{
	if (writer->fresh == MTS_FRESH_TRIED || writer->fresh == MTS_FRESH_YES)
		writer->fresh = writer->bulk.stale * 2 < writer->fresh_tried
							? MTS_FRESH_YES
							: MTS_FRESH_NO;
	writer->fresh_left = 0;
}
