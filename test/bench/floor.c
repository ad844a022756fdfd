/*
 * floor.c
 *		Measures the time to receive the documents of a query, or to send the
 *		documents of an INSERT, without PostgreSQL.
 *
 * usage: floor URI DATABASE
 *
 * Each line of the input is extended JSON, one of
 *
 *		{"collection": .., "finds": [{"filter": {..}, "opts": {..}}, ..]}
 *		{"collection": .., "pipeline": [..]}
 *		{"collection": .., "inserts": {"from": .., "batchSize": ..}}
 *		{"collection": .., "encodes": {"file": .., "shape": .., "kind": ..,
 *			"batchSize": ..}}
 *		{"collection": .., "upsert": {"selector": {..}, "update": {..}}}
 *
 * where opts are those of mongoc_collection_find_with_opts.  The answer is a
 * line with the seconds from the first command to the last reply, the number
 * of documents and their bytes.  Documents are not read.  Finds follow one
 * another, like the lookups of a join.  The connection is opened before.
 *
 * Inserts are those of the documents of another collection, in bulk writes of
 * batchSize.  The time has only the bulk writes, not reading the documents.
 * For encodes, see encode.h.
 */
#include "encode.h"

#include <inttypes.h>
#include <mongoc/mongoc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void
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

static const char *
get_text(const bson_t *parent, const char *name)
{
	bson_iter_t iter;

	if (!bson_iter_init_find(&iter, parent, name) ||
		!BSON_ITER_HOLDS_UTF8(&iter))
		die("no such text", name);
	return bson_iter_utf8(&iter, NULL);
}

mongoc_bulk_operation_t *
begin_bulk(mongoc_collection_t *collection)
{
	bson_t unordered = BSON_INITIALIZER;
	mongoc_bulk_operation_t *bulk;

	bson_append_bool(&unordered, "ordered", -1, false);
	bulk = mongoc_collection_create_bulk_operation_with_opts(collection,
															 &unordered);
	bson_destroy(&unordered);
	return bulk;
}

double
run_bulk(mongoc_bulk_operation_t *bulk)
{
	double began = seconds();
	bson_error_t error;
	bson_t reply;

	if (!mongoc_bulk_operation_execute(bulk, &reply, &error))
		die("bulk write", error.message);
	bson_destroy(&reply);
	mongoc_bulk_operation_destroy(bulk);
	return seconds() - began;
}

/*
 * Insert the documents of another collection, and return the seconds that
 * sending them took.
 */
static double
run_inserts(mongoc_collection_t *collection, mongoc_collection_t *from,
			int64_t size, Total *total)
{
	bson_t all = BSON_INITIALIZER, opts = BSON_INITIALIZER;
	mongoc_bulk_operation_t *bulk = NULL;
	const bson_t *document;
	mongoc_cursor_t *cursor;
	bson_error_t error;
	double took = 0;

	bson_append_bool(&opts, "validate", -1, false);
	cursor = mongoc_collection_find_with_opts(from, &all, NULL, NULL);
	while (mongoc_cursor_next(cursor, &document))
	{
		bulk = bulk ? bulk : begin_bulk(collection);
		if (!mongoc_bulk_operation_insert_with_opts(bulk, document, &opts,
													&error))
			die("insert", error.message);
		total->bytes += document->len;
		if (++total->documents % size == 0)
		{
			took += run_bulk(bulk);
			bulk = NULL;
		}
	}
	if (mongoc_cursor_error(cursor, &error))
		die("cursor", error.message);
	mongoc_cursor_destroy(cursor);
	bson_destroy(&opts);
	return took + (bulk ? run_bulk(bulk) : 0);
}

static int64_t
get_size(const bson_t *what)
{
	bson_iter_t iter;

	if (!bson_iter_init_find(&iter, what, "batchSize"))
		die("inserts", "no batchSize");
	return bson_iter_as_int64(&iter);
}

/* Send one upsert, and return the seconds that it took. */
static double
run_upsert(mongoc_collection_t *collection, const bson_t *what)
{
	mongoc_bulk_operation_t *bulk;
	bson_t selector, update, opts = BSON_INITIALIZER;
	double began;
	bson_error_t error;

	get_child(what, "selector", &selector);
	get_child(what, "update", &update);
	began = seconds();
	bson_append_bool(&opts, "upsert", -1, true);
	bulk = begin_bulk(collection);
	if (!mongoc_bulk_operation_update_one_with_opts(bulk, &selector, &update,
													&opts, &error))
		die("update", error.message);
	bson_destroy(&opts);
	run_bulk(bulk);
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

	if (bson_has_field(line, "inserts"))
	{
		mongoc_collection_t *from;

		get_child(line, "inserts", &what);
		from = mongoc_client_get_collection(client, database,
											get_text(&what, "from"));
		took = run_inserts(collection, from, get_size(&what), &total);
		mongoc_collection_destroy(from);
	}
	else if (bson_has_field(line, "encodes"))
	{
		get_child(line, "encodes", &what);
		encode_points(collection, get_text(&what, "file"),
					  get_text(&what, "shape"), get_text(&what, "kind"),
					  get_size(&what), &total, &took);
	}
	else if (bson_has_field(line, "upsert"))
	{
		get_child(line, "upsert", &what);
		took = run_upsert(collection, &what);
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
