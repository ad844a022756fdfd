/*
 * import_sample.c
 *		Lists the collections of a database and fetches sample documents.
 *
 * Results are palloc'd in the current context.
 */
#include "import/import.h"

#include "miscadmin.h"

#include "driver/cursor.h"
#include "driver/document.h"
#include "table/option.h"

#define DEFAULT_SAMPLE_SIZE 100

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
mts_import_collections(const MtsImport *import)
{
	MtsCursor *cursor = mts_cursor_collections(import->connection,
											   import->stmt->remote_schema);
	List *collections = NIL;
	const bson_t *doc;

	while ((doc = mts_cursor_next(cursor)) != NULL)
	{
		MtsImportCollection *collection = palloc(sizeof(MtsImportCollection));
		char *name = read_text(doc, "name");
		const char *type = mts_document_string(doc, "type");

		if (!name || strncmp(name, "system.", 7) == 0)
			continue;
		collection->name = mts_import_text(name);
		collection->is_view = type && strcmp(type, "view") == 0;
		collection->time = read_text(doc, "options.timeseries.timeField");
		collection->meta = read_text(doc, "options.timeseries.metaField");
		collections = lappend(collections, collection);
	}
	mts_cursor_close(cursor);
	list_sort(collections, compare_collections);
	return collections;
}

/* The documents that were sampled */
typedef struct Samples
{
	MtsSample *items; /* with room for all */
	int n;
	size_t bytes;
} Samples;

/* Add the first documents after a stage of an aggregation, up to a limit. */
static void
collect_samples(Samples *samples, const MtsImport *import, bson_t *stage,
				int limit)
{
	bson_t *stages = mts_document_new();
	MtsCursor *cursor;
	const bson_t *doc;

	mts_template_push(stages, "%o", stage);
	mts_template_push(stages, "{$limit: %d}", limit);
	cursor =
		mts_cursor_aggregate(import->connection, import->stmt->remote_schema,
							 import->collection->name, stages, FETCH_SIZE,
							 NULL, InvalidOid);
	while (limit-- > 0 && samples->bytes < MAX_BYTES &&
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
 * mts_import_samples
 *		Fetch sample documents of the collection that is being imported.
 *
 * A collection of at most sample_size documents is fetched as a whole.  Of a
 * larger one so many random documents are fetched, and the first and the last
 * by _id: the oldest and the newest may differ from the others.
 *
 * A view or a time-series collection has no cheap order, so its first and last
 * are not sampled.  Documents beyond 64 MB are left out, with a NOTICE.
 */
MtsSample *
mts_import_samples(const MtsImport *import, int *nsamples, bool *are_all)
{
	const MtsImportCollection *collection = import->collection;
	bool is_ordered = !collection->is_view && !collection->time;
	int size = mts_option_get_int(import->stmt->options, "sample_size",
								  DEFAULT_SAMPLE_SIZE);
	Samples samples = {palloc((size + 2) * sizeof(MtsSample))};

	collect_samples(&samples, import,
					is_ordered ? mts_document_make("{$sort: {_id: 1}}")
							   : mts_document_make("{$skip: 0}"),
					size + 1);
	*are_all = samples.n <= size && samples.bytes < MAX_BYTES;
	if (!*are_all)
	{
		/* the collection is larger: keep its first document only */
		samples.n = is_ordered ? 1 : 0;
		samples.bytes = 0;
		if (is_ordered)
			collect_samples(&samples, import,
							mts_document_make("{$sort: {_id: -1}}"), 1);
		collect_samples(&samples, import,
						mts_document_make("{$sample: {size: %d}}", size),
						size);
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
