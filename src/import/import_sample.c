/*
 * import_sample.c
 *		Which collections has a database, and which documents stand for each?
 *
 * All is palloc'd in the current context.
 */
#include "import/import.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"

#include "driver/document.h"

/* Documents of more bytes than these are not kept. */
#define MAX_BYTES (64 * 1024 * 1024)

/* Documents of a round trip: so many may be of a few megabytes each */
#define FETCH_SIZE 100

/* A string in a listed collection's description, palloc'd, or NULL */
static char *
read_text(const bson_t *doc, const char *path)
{
	const char *text = mts_document_string(doc, path);

	return text ? pstrdup(text) : NULL;
}

static MtsImported *
read_collection(const bson_t *doc)
{
	MtsImported *collection = palloc0(sizeof(MtsImported));
	char *name = read_text(doc, "name");
	char *type = read_text(doc, "type");

	if (!name || strncmp(name, "system.", 7) == 0)
		return NULL;
	collection->name = pg_any_to_server(name, strlen(name), PG_UTF8);
	collection->is_view = type && strcmp(type, "view") == 0;
	collection->time = read_text(doc, "options.timeseries.timeField");
	collection->meta = read_text(doc, "options.timeseries.metaField");
	collection->is_plain = !collection->is_view && !collection->time;
	return collection;
}

static int
compare_collections(const ListCell *a, const ListCell *b)
{
	return strcmp(((MtsImported *) lfirst(a))->name,
				  ((MtsImported *) lfirst(b))->name);
}

/*
 * mts_import_collections
 *		List a database's collections and views, but for MongoDB's own, by
 *		their names.
 */
List *
mts_import_collections(MtsConnection *connection, const char *database)
{
	MtsCursorState *cursor =
		mts_remote_collections(connection, database, NULL, false);
	List *collections = NIL;
	const bson_t *doc;

	while ((doc = mts_remote_next(cursor)) != NULL)
	{
		MtsImported *collection = read_collection(doc);

		if (collection)
			collections = lappend(collections, collection);
	}
	mts_remote_close(cursor);
	list_sort(collections, compare_collections);
	return collections;
}

/* Documents that are kept */
typedef struct Kept
{
	MtsSample *samples;
	int n;
	int room;
	size_t bytes;
} Kept;

/* Keep what a cursor gives, as far as there is room, and close it. */
static void
keep(Kept *kept, MtsCursorState *cursor)
{
	const bson_t *doc;

	while (kept->n < kept->room && kept->bytes < MAX_BYTES &&
		   (doc = mts_remote_next(cursor)) != NULL)
	{
		uint8_t *bytes = palloc(doc->len);

		memcpy(bytes, bson_get_data(doc), doc->len);
		kept->samples[kept->n++] = (MtsSample){bytes, doc->len};
		kept->bytes += doc->len;
		CHECK_FOR_INTERRUPTS();
	}
	mts_remote_close(cursor);
}

/* Documents from one end of the collection; by no order where direction is 0 */
static MtsCursorState *
open_end(MtsConnection *connection, const char *database,
		 const MtsImported *collection, int direction, int limit)
{
	bson_t *sort = mts_document_new();
	MtsFind find = {.filter = mts_document_new(),
					.sort = sort,
					.first_batch = Min(limit, FETCH_SIZE),
					.fetch_size = FETCH_SIZE,
					.limit = limit};

	if (direction != 0)
		bson_append_int32(sort, "_id", -1, direction);
	return mts_remote_find(connection, database, collection->name, &find);
}

static MtsCursorState *
open_random(MtsConnection *connection, const char *database,
			const MtsImported *collection, int size)
{
	bson_t *stages = mts_document_new();

	mts_template_push(stages, "{$sample: {size: %i}}", (int64) size);
	return mts_remote_aggregate(connection, database, collection->name, stages,
								FETCH_SIZE, NULL);
}

/*
 * mts_import_samples
 *		Get documents of a collection: all of them, by _id, when there are no
 *		more than sample_size; else so many at random, and the first and the
 *		last, which may be older and newer than the rest in what they are.
 *
 * Those of a view or a time-series collection have no order that would be
 * cheap.  Samples that are too large are cut short, with a NOTICE.
 */
MtsSample *
mts_import_samples(MtsConnection *connection, const char *database,
				   const MtsImported *collection, int sample_size,
				   int *nsamples)
{
	int direction = collection->is_plain ? 1 : 0;
	Kept kept = {.room = sample_size + 1};

	kept.samples = palloc((sample_size + 2) * sizeof(MtsSample));
	keep(&kept, open_end(connection, database, collection, direction,
						 sample_size + 1));
	if (kept.n == kept.room || kept.bytes >= MAX_BYTES)
	{
		kept.n = direction;
		kept.bytes = 0;
		if (direction != 0)
			keep(&kept, open_end(connection, database, collection, -1, 1));
		kept.room = kept.n + sample_size;
		keep(&kept,
			 open_random(connection, database, collection, sample_size));
	}
	if (kept.bytes >= MAX_BYTES)
		ereport(
			NOTICE,
			(errmsg(
				"collection \"%s\": only %d documents were sampled, as they have more than 64 MB",
				collection->name, kept.n)));
	*nsamples = kept.n;
	return kept.samples;
}
