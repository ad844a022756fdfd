/*
 * floor.c
 *		How long does it take to receive what a query asks for?
 *
 * usage: floor URI DATABASE
 *
 * Each line of the input is extended JSON, either of
 *
 *		{"collection": .., "finds": [{"filter": {..}, "opts": {..}}, ..]}
 *		{"collection": .., "pipeline": [..]}
 *
 * where opts are those of mongoc_collection_find_with_opts.  It is answered by
 * a line with the seconds from the first command to the last document, the
 * number of documents and their bytes.  No document is looked at.  Finds follow
 * one another, as the lookups of a join do.  The connection is made before.
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

/* View a field that holds a document or an array, as long as its parent lives. */
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

static void
run_line(mongoc_client_t *client, const char *database, const bson_t *line)
{
	mongoc_collection_t *collection;
	Total total = {0, 0};
	bson_iter_t iter;
	double begin;
	bson_t what;

	if (!bson_iter_init_find(&iter, line, "collection"))
		die("line", "no collection");
	collection = mongoc_client_get_collection(client, database,
											  bson_iter_utf8(&iter, NULL));
	if (bson_has_field(line, "pipeline"))
	{
		get_child(line, "pipeline", &what);
		begin = seconds();
		drain(mongoc_collection_aggregate(collection, MONGOC_QUERY_NONE, &what,
										  NULL, NULL),
			  &total);
	}
	else
	{
		get_child(line, "finds", &what);
		begin = seconds();
		run_finds(collection, &what, &total);
	}
	printf("%.6f %" PRId64 " %" PRId64 "\n", seconds() - begin,
		   total.documents, total.bytes);
	fflush(stdout);
	mongoc_collection_destroy(collection);
}

int
main(int argc, char **argv)
{
	bson_t ping = BSON_INITIALIZER;
	mongoc_client_t *client;
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
