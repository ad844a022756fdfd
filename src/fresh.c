/*
 * fresh.c
 *		Are the buckets of a batch new, so that they are better inserted?
 *
 * A new bucket is inserted much faster than it is upserted slot by slot.  That is
 * right only where a unique index refuses a second one of it; what is refused so
 * is updated (see bulk.c).  Whether buckets are new is not known: it is tried with
 * a few of those of a statement that fills many, and given up where most are
 * there already.  In a rolling set each collection may have other indexes, so there
 * it is not tried.
 */
#include "writer.h"

#include "document.h"
#include "remote.h"

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
	const uint8_t *data;
	uint32_t length;

	if (bson_iter_init_find(&iter, index, "sparse") &&
		bson_iter_as_bool(&iter))
		return false;
	if (!bson_iter_init_find(&iter, index, "partialFilterExpression"))
		return true;
	if (!BSON_ITER_HOLDS_DOCUMENT(&iter))
		return false;
	bson_iter_document(&iter, &length, &data);
	return bson_init_static(&expression, data, length) &&
		   bson_equal(&expression, partial);
}

/* Is an index unique, so that no two buckets have what tells one? */
static bool
is_unique(const MtsIdentity *identity, const bson_t *index)
{
	bson_iter_t iter, field;
	int n = 0;

	if (!bson_iter_init_find(&iter, index, "unique") ||
		!bson_iter_as_bool(&iter) || !holds_all(identity, index) ||
		!bson_iter_init_find(&iter, index, "key") ||
		!BSON_ITER_HOLDS_DOCUMENT(&iter) || !bson_iter_recurse(&iter, &field))
		return false;
	for (; bson_iter_next(&field); n++)
		if (!is_identity_field(identity, bson_iter_key(&field)))
			return false;
	return n > 0;
}

/* Has the collection an index that tells its buckets apart? */
static bool
has_unique_index(const MtsWriter *writer)
{
	const MtsBulk *bulk = &writer->bulk;
	bson_t *command = mts_document_new();
	const bson_t *reply;
	bson_iter_t iter, indexes;

	bson_append_utf8(command, "listIndexes", -1,
					 mts_document_utf8(bulk->collection), -1);
	reply = mts_remote_try_command(bulk->connection, bulk->database, command);
	if (!reply || !bson_iter_init(&iter, reply) ||
		!bson_iter_find_descendant(&iter, "cursor.firstBatch", &indexes) ||
		!BSON_ITER_HOLDS_ARRAY(&indexes) ||
		!bson_iter_recurse(&indexes, &iter))
		return false;
	while (bson_iter_next(&iter))
	{
		const uint8_t *data;
		uint32_t length;
		bson_t index;

		if (!BSON_ITER_HOLDS_DOCUMENT(&iter))
			continue;
		bson_iter_document(&iter, &length, &data);
		if (bson_init_static(&index, data, length) &&
			is_unique(writer->placer->identity, &index))
			return true;
	}
	return false;
}

/*
 * mts_fresh_begin
 *		Say how many buckets of the batch are to be inserted.
 */
void
mts_fresh_begin(MtsWriter *writer)
{
	int nbuckets = list_length(writer->pending);

	if (writer->fresh == MTS_FRESH_UNKNOWN && !writer->is_move &&
		!writer->table->set && bson_empty(writer->placer->identity->others) &&
		nbuckets >= FEWEST_BUCKETS &&
		writer->npoints >= nbuckets * FEWEST_POINTS)
		writer->fresh =
			has_unique_index(writer) ? MTS_FRESH_TRIED : MTS_FRESH_NO;
	writer->fresh_left = writer->fresh == MTS_FRESH_YES     ? nbuckets
						 : writer->fresh == MTS_FRESH_TRIED ? TRIALS
															: 0;
}

/*
 * mts_fresh_end
 *		Learn from what became of them.
 */
void
mts_fresh_end(MtsWriter *writer)
{
	int tried =
		writer->fresh == MTS_FRESH_YES ? list_length(writer->pending) : TRIALS;

	if (writer->fresh == MTS_FRESH_YES || writer->fresh == MTS_FRESH_TRIED)
		writer->fresh =
			writer->bulk.stale * 2 > tried ? MTS_FRESH_NO : MTS_FRESH_YES;
	writer->fresh_left = 0;
}
