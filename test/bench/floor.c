/*
 * floor.c
 *		Measures the time to receive the documents of a query, or to execute
 *		the updates of an INSERT, without PostgreSQL.
 *
 * usage: floor URI DATABASE
 *
 * Each line of the input is extended JSON, one of
 *
 *		{"collection": .., "finds": [{"filter": {..}, "opts": {..}}, ..]}
 *		{"collection": .., "pipeline": [..]}
 *		{"collection": .., "upserts": {"from": .., "filter": {..},
 *									   "keys": [..], "values": ..,
 *									   "batchSize": .., "insert": ..}}
 *		{"collection": .., "upsert": {"selector": {..}, "update": {..}}}
 *
 * where opts are those of mongoc_collection_find_with_opts.  The answer is a
 * line with the seconds from the first command to the last reply, the number
 * of documents and their bytes.  Documents are not read.  Finds follow one
 * another, like the lookups of a join.  The connection is opened before.
 *
 * Upserts create the buckets of another collection by bulk writes of batchSize
 * updates {"$set": {"values.0": .., ..}} for the same keys, or by inserts if
 * insert is true.  The writes are built before the time begins.
 */
#include <inttypes.h>
#include <mongoc/mongoc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct Total
{
	int64_t documents;
	int64_t bytes;
} Total;

static void
die(const char *what, const char *why)
{
	fprintf(stderr, "floor: %s: %s\n", what, why);
	exit(1);
}

static double
seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

/* View a field that is a document or an array, valid as long as its parent. */
static void
get_child(const bson_t *parent, const char *name, bson_t *view)
{
	const uint8_t *data = NULL;
	uint32_t length = 0;
	bson_iter_t iter;

	if (!bson_iter_init_find(&iter, parent, name))
		die("no such field", name);
	if (BSON_ITER_HOLDS_ARRAY(&iter))
		bson_iter_array(&iter, &length, &data);
	else if (BSON_ITER_HOLDS_DOCUMENT(&iter))
		bson_iter_document(&iter, &length, &data);
	if (!data || !bson_init_static(view, data, length))
		die("no document", name);
}

/* Receive all documents of a cursor, and destroy it. */
static void
drain(mongoc_cursor_t *cursor, Total *total)
{
	const bson_t *document;
	bson_error_t error;

	while (mongoc_cursor_next(cursor, &document))
	{
		total->documents++;
		total->bytes += document->len;
	}
	if (mongoc_cursor_error(cursor, &error))
		die("cursor", error.message);
	mongoc_cursor_destroy(cursor);
}

static void
run_finds(mongoc_collection_t *collection, const bson_t *finds, Total *total)
{
	bson_iter_t iter;

	bson_iter_init(&iter, finds);
	while (bson_iter_next(&iter))
	{
		bson_t find, filter, opts;
		const uint8_t *data;
		uint32_t length;

		bson_iter_document(&iter, &length, &data);
		bson_init_static(&find, data, length);
		get_child(&find, "filter", &filter);
		get_child(&find, "opts", &opts);
		drain(mongoc_collection_find_with_opts(collection, &filter, &opts,
											   NULL),
			  total);
	}
}

/* ---- Writing ---- */

typedef struct Upsert
{
	bson_t *selector; /* or the document to insert */
	bson_t *update;   /* NULL for an insert */
} Upsert;

typedef struct Upserts
{
	Upsert *all;
	size_t n;
	size_t room;
} Upserts;

static const char *
get_text(const bson_t *parent, const char *name)
{
	bson_iter_t iter;

	if (!bson_iter_init_find(&iter, parent, name) ||
		!BSON_ITER_HOLDS_UTF8(&iter))
		die("no such text", name);
	return bson_iter_utf8(&iter, NULL);
}

/* Build the write that stores a bucket's values under its keys. */
static void
add_upsert(Upserts *upserts, const bson_t *bucket, const bson_t *keys,
		   const char *values, bool is_insert)
{
	bson_iter_t iter, field;
	bson_t points, set;
	Upsert *upsert;

	if (upserts->n == upserts->room)
	{
		upserts->room = upserts->room * 2 + 1024;
		upserts->all =
			bson_realloc(upserts->all, upserts->room * sizeof(Upsert));
	}
	upsert = &upserts->all[upserts->n++];
	upsert->selector = bson_new();
	upsert->update = is_insert ? NULL : bson_new();
	bson_iter_init(&iter, keys);
	while (bson_iter_next(&iter))
		if (bson_iter_init_find(&field, bucket, bson_iter_utf8(&iter, NULL)))
			bson_append_iter(upsert->selector, NULL, 0, &field);
	get_child(bucket, values, &points);
	if (is_insert)
	{
		bson_append_document(upsert->selector, values, -1, &points);
		return;
	}
	bson_append_document_begin(upsert->update, "$set", -1, &set);
	bson_iter_init(&iter, &points);
	while (bson_iter_next(&iter))
	{
		char *path = bson_strdup_printf("%s.%s", values, bson_iter_key(&iter));

		bson_append_iter(&set, path, -1, &iter);
		bson_free(path);
	}
	bson_append_document_end(upsert->update, &set);
}

static void
make_upserts(mongoc_client_t *client, const char *database, const bson_t *what,
			 Upserts *upserts)
{
	mongoc_collection_t *collection =
		mongoc_client_get_collection(client, database, get_text(what, "from"));
	const char *values = get_text(what, "values");
	bool is_insert = bson_has_field(what, "insert");
	mongoc_cursor_t *cursor;
	const bson_t *bucket;
	bson_t filter, keys;
	bson_error_t error;

	get_child(what, "filter", &filter);
	get_child(what, "keys", &keys);
	cursor = mongoc_collection_find_with_opts(collection, &filter, NULL, NULL);
	while (mongoc_cursor_next(cursor, &bucket))
		add_upsert(upserts, bucket, &keys, values, is_insert);
	if (mongoc_cursor_error(cursor, &error))
		die("cursor", error.message);
	mongoc_cursor_destroy(cursor);
	mongoc_collection_destroy(collection);
}

/* Send a range of the upserts. */
static void
send_upserts(mongoc_collection_t *collection, const Upsert *first,
			 const Upsert *end, Total *total)
{
	bson_t unordered = BSON_INITIALIZER, upsert = BSON_INITIALIZER;
	bson_t insert = BSON_INITIALIZER;
	mongoc_bulk_operation_t *bulk;
	bson_error_t error;
	bson_t reply;

	bson_append_bool(&unordered, "ordered", -1, false);
	bson_append_bool(&insert, "validate", -1, false);
	bson_append_bool(&upsert, "validate", -1, false);
	bson_append_bool(&upsert, "upsert", -1, true);
	bulk = mongoc_collection_create_bulk_operation_with_opts(collection,
															 &unordered);
	for (; first < end; first++)
	{
		bool ok =
			first->update
				? mongoc_bulk_operation_update_one_with_opts(bulk,
															 first->selector,
															 first->update,
															 &upsert, &error)
				: mongoc_bulk_operation_insert_with_opts(bulk, first->selector,
														 &insert, &error);

		if (!ok)
			die("write", error.message);
		total->documents++;
		total->bytes +=
			first->selector->len + (first->update ? first->update->len : 0);
	}
	if (!mongoc_bulk_operation_execute(bulk, &reply, &error))
		die("bulk write", error.message);
	bson_destroy(&reply);
	mongoc_bulk_operation_destroy(bulk);
	bson_destroy(&insert);
	bson_destroy(&upsert);
	bson_destroy(&unordered);
}

/* Build the upserts, and return the seconds that sending them took. */
static double
run_upserts(mongoc_client_t *client, const char *database,
			mongoc_collection_t *collection, const bson_t *what, Total *total)
{
	Upserts upserts = {NULL, 0, 0};
	bson_iter_t iter;
	double began, took;
	size_t size;

	if (!bson_iter_init_find(&iter, what, "batchSize"))
		die("upserts", "no batchSize");
	size = (size_t) bson_iter_as_int64(&iter);
	make_upserts(client, database, what, &upserts);
	began = seconds();
	for (size_t i = 0; i < upserts.n; i += size)
	{
		size_t end = upserts.n - i < size ? upserts.n : i + size;

		send_upserts(collection, upserts.all + i, upserts.all + end, total);
	}
	took = seconds() - began;
	for (size_t i = 0; i < upserts.n; i++)
	{
		bson_destroy(upserts.all[i].selector);
		if (upserts.all[i].update)
			bson_destroy(upserts.all[i].update);
	}
	bson_free(upserts.all);
	return took;
}

/* Send one upsert, and return the seconds that it took. */
static double
run_upsert(mongoc_collection_t *collection, const bson_t *what, Total *total)
{
	bson_t selector, update;
	Upsert upsert = {&selector, &update};
	double began;

	get_child(what, "selector", &selector);
	get_child(what, "update", &update);
	began = seconds();
	send_upserts(collection, &upsert, &upsert + 1, total);
	return seconds() - began;
}

/* ---- Lines ---- */

static void
run_line(mongoc_client_t *client, const char *database, const bson_t *line)
{
	mongoc_collection_t *collection =
		mongoc_client_get_collection(client, database,
									 get_text(line, "collection"));
	Total total = {0, 0};
	double took;
	bson_t what;

	if (bson_has_field(line, "upserts"))
	{
		get_child(line, "upserts", &what);
		took = run_upserts(client, database, collection, &what, &total);
	}
	else if (bson_has_field(line, "upsert"))
	{
		get_child(line, "upsert", &what);
		took = run_upsert(collection, &what, &total);
	}
	else
	{
		double begin = seconds();

		if (bson_has_field(line, "pipeline"))
		{
			get_child(line, "pipeline", &what);
			drain(mongoc_collection_aggregate(collection, MONGOC_QUERY_NONE,
											  &what, NULL, NULL),
				  &total);
		}
		else
		{
			get_child(line, "finds", &what);
			run_finds(collection, &what, &total);
		}
		took = seconds() - begin;
	}
	printf("%.6f %" PRId64 " %" PRId64 "\n", took, total.documents,
		   total.bytes);
	fflush(stdout);
	mongoc_collection_destroy(collection);
}

int
main(int argc, char **argv)
{
	bson_t ping = BSON_INITIALIZER;
	mongoc_client_t *client;
	mongoc_write_concern_t *concern;
	mongoc_uri_t *uri;
	bson_error_t error;
	char *text = NULL;
	size_t size = 0;
	ssize_t length;

	if (argc != 3)
		die("usage", "floor URI DATABASE");
	mongoc_init();
	uri = mongoc_uri_new_with_error(argv[1], &error);
	if (!uri)
		die("URI", error.message);
	client = mongoc_client_new_from_uri(uri);
	/* with the extension's write concern */
	concern = mongoc_write_concern_new();
	mongoc_write_concern_set_w(concern, MONGOC_WRITE_CONCERN_W_MAJORITY);
	mongoc_write_concern_set_journal(concern, true);
	mongoc_client_set_write_concern(client, concern);
	mongoc_write_concern_destroy(concern);
	bson_append_int32(&ping, "ping", -1, 1);
	if (!mongoc_client_command_simple(client, "admin", &ping, NULL, NULL,
									  &error))
		die("ping", error.message);

	while ((length = getline(&text, &size, stdin)) > 0)
	{
		bson_t *line =
			bson_new_from_json((const uint8_t *) text, length, &error);

		if (!line)
			die("JSON", error.message);
		run_line(client, argv[2], line);
		bson_destroy(line);
	}

	free(text);
	bson_destroy(&ping);
	mongoc_client_destroy(client);
	mongoc_uri_destroy(uri);
	mongoc_cleanup();
	return 0;
}
