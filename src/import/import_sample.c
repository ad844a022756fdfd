/*
 * import_sample.c
 *		Lists the collections of a database and fetches sample documents.
 *
 * Results are palloc'd in the current context.
 */
#include "import/import.h"

#include "miscadmin.h"

#include "driver/document.h"

/* Sampling stops when the documents have more bytes than these. */
#define MAX_BYTES (64 * 1024 * 1024)

/* Documents of a round trip; few, as each may have several megabytes */
#define FETCH_SIZE 100

/* A copy of a string in a document of listCollections, or NULL */
static char *
read_text(const bson_t *doc, const char *path)
{
	const char *text = mts_document_string(doc, path);

	return text ? pstrdup(text) : NULL;
}

/* Read a document of listCollections; NULL for MongoDB's own collections. */
static MtsImportCollection *
read_collection(const bson_t *doc)
{
	MtsImportCollection *collection = palloc0(sizeof(MtsImportCollection));
	char *name = read_text(doc, "name");
	char *type = read_text(doc, "type");

	if (!name || strncmp(name, "system.", 7) == 0)
		return NULL;
	collection->name = mts_import_text(name);
	collection->is_view = type && strcmp(type, "view") == 0;
	collection->time = read_text(doc, "options.timeseries.timeField");
	collection->meta = read_text(doc, "options.timeseries.metaField");
	return collection;
}

static int
compare_collections(const ListCell *a, const ListCell *b)
{
	return strcmp(((MtsImportCollection *) lfirst(a))->name,
				  ((MtsImportCollection *) lfirst(b))->name);
}

/*
 * mts_import_collections
 *		List a database's collections and views by name, without MongoDB's own.
 */
List *
mts_import_collections(MtsConnection *connection, const char *database)
{
	MtsCursor *cursor = mts_cursor_collections(connection, database);
	List *collections = NIL;
	const bson_t *doc;

	while ((doc = mts_cursor_next(cursor)) != NULL)
	{
		MtsImportCollection *collection = read_collection(doc);

		if (collection)
			collections = lappend(collections, collection);
	}
	mts_cursor_close(cursor);
	list_sort(collections, compare_collections);
	return collections;
}

/* The documents that were sampled, and room for more */
typedef struct Samples
{
	MtsSample *items;
	int n;
	int room;
	size_t bytes;
} Samples;

/* Add the documents of a cursor while there is room, and close the cursor. */
static void
collect_samples(Samples *samples, MtsCursor *cursor)
{
	const bson_t *doc;

	while (samples->n < samples->room && samples->bytes < MAX_BYTES &&
		   (doc = mts_cursor_next(cursor)) != NULL)
	{
		uint8_t *bytes = palloc(doc->len);

		memcpy(bytes, bson_get_data(doc), doc->len);
		samples->items[samples->n++] = (MtsSample){bytes, doc->len};
		samples->bytes += doc->len;
		CHECK_FOR_INTERRUPTS();
	}
	mts_cursor_close(cursor);
}

/*
 * Open a cursor over the first documents by _id: 1 is ascending, -1
 * descending, and 0 is in no order.
 */
static MtsCursor *
open_ordered(MtsConnection *connection, const char *database,
			 const MtsImportCollection *collection, int direction, int limit)
{
	bson_t *sort = mts_document_new();
	MtsFind find = {.filter = mts_document_new(),
					.sort = sort,
					.first_batch = Min(limit, FETCH_SIZE),
					.fetch_size = FETCH_SIZE,
					.limit = limit};

	if (direction != 0)
		bson_append_int32(sort, "_id", -1, direction);
	return mts_cursor_find(connection, database, collection->name, &find);
}

static MtsCursor *
open_random(MtsConnection *connection, const char *database,
			const MtsImportCollection *collection, int size)
{
	bson_t *stages = mts_document_new();

	mts_template_push(stages, "{$sample: {size: %i}}", (int64) size);
	return mts_cursor_aggregate(connection, database, collection->name, stages,
								FETCH_SIZE, NULL);
}

/*
 * mts_import_samples
 *		Fetch sample documents of a collection.
 *
 * A collection of at most sample_size documents is fetched as a whole.  Of a
 * larger one so many random documents are fetched, and the first and the last
 * by _id: the oldest and the newest may differ from the others.
 *
 * A view or a time-series collection has no cheap order, so its first and last
 * are not sampled.  Documents beyond 64 MB are left out, with a NOTICE.
 */
MtsSample *
mts_import_samples(MtsConnection *connection, const char *database,
				   const MtsImportCollection *collection, int sample_size,
				   int *nsamples)
{
	int direction = collection->is_view || collection->time ? 0 : 1;
	Samples samples = {.room = sample_size + 1};

	samples.items = palloc((sample_size + 2) * sizeof(MtsSample));
	collect_samples(&samples, open_ordered(connection, database, collection,
										   direction, sample_size + 1));
	if (samples.n == samples.room || samples.bytes >= MAX_BYTES)
	{
		/* the collection is larger: keep its first document only */
		samples.n = direction;
		samples.bytes = 0;
		if (direction != 0)
			collect_samples(&samples, open_ordered(connection, database,
												   collection, -1, 1));
		samples.room = samples.n + sample_size;
		collect_samples(&samples, open_random(connection, database, collection,
											  sample_size));
	}
	if (samples.bytes >= MAX_BYTES)
		ereport(
			NOTICE,
			(errmsg(
				"collection \"%s\": only %d documents were sampled, as they have more than 64 MB",
				collection->name, samples.n)));
	*nsamples = samples.n;
	return samples.items;
}
