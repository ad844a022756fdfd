/*
 * import_identity.c
 *		Proves that the time and the keys of an inferred table identify a
 *		bucket, so that an INSERT finds the right one.
 *
 * The proof is a unique index on some of these fields, or an index that has
 * all of them and holds no two equal entries.  Without an index that would be
 * a scan of the collection, so there is no proof.
 */
#include "import/import.h"

#include "driver/command.h"
#include "driver/document.h"

/* Add the dotted path of a field to a list of names. */
static List *
add_field(List *fields, const char *field)
{
	char buffer[MTS_MAX_PATH], text[MTS_MAX_PATH];
	MtsPath path;
	MtsError error;

	if (!mts_path_parse(field, buffer, &path, &error) || path.nsteps == 0 ||
		path.nslots > 0)
		return fields;
	mts_path_dotted(path.steps, path.nsteps, text, sizeof(text));
	return list_append_unique(fields, makeString(pstrdup(text)));
}

/* The fields that identify a bucket */
static List *
identity(const MtsInferred *inferred)
{
	List *fields = NIL;

	if (inferred->bucket_time[0])
		fields = add_field(fields, inferred->bucket_time);
	if (inferred->group[0])
		fields = lappend(fields, makeString(pstrdup(inferred->group)));
	for (int i = 0; i < inferred->ncolumns; i++)
		if (inferred->columns[i].role == MTS_ROLE_KEY ||
			inferred->columns[i].role == MTS_ROLE_TIME)
			fields = add_field(fields, inferred->columns[i].field);
	return fields;
}

/* Whether the _id of a bucket consists of identifying fields */
static bool
identifies_id(const MtsInferred *inferred, List *fields)
{
	bool found = false;
	ListCell *lc;

	for (int i = 0; i < inferred->ncolumns; i++)
		if (strncmp(inferred->columns[i].field, "_id.", 4) == 0 &&
			inferred->columns[i].role == MTS_ROLE_ATTRIBUTE)
			return false;
	foreach (lc, fields)
		found |= strncmp(strVal(lfirst(lc)), "_id.", 4) == 0;
	return found;
}

/* How many of the fields an index orders, or -1 if it has others */
static int
count_fields(const bson_t *key, List *fields)
{
	bson_iter_t iter;
	int n = 0;

	if (!bson_iter_init(&iter, key))
		return -1;
	while (bson_iter_next(&iter))
		if (BSON_ITER_HOLDS_NUMBER(&iter) &&
			list_member(fields, makeString(pstrdup(bson_iter_key(&iter)))))
			n++;
		else
			return -1;
	return n;
}

/* Whether an index holds no two equal entries of all fields */
static bool
has_no_pair(MtsConnection *connection, const char *database,
			const char *collection, const bson_t *key)
{
	bson_t *stages = mts_document_new();
	bson_t *group = mts_document_new();
	MtsCursor *cursor;
	bson_iter_t iter;
	bool found;
	int n = 0;

	if (bson_iter_init(&iter, key))
		while (bson_iter_next(&iter))
			/* a missing field is equal to null, as it is for an INSERT */
			mts_template_append(group, psprintf("f%d", n++),
								"{$ifNull: [%s, null]}",
								psprintf("$%s", bson_iter_key(&iter)));
	mts_template_push(stages, "{$sort: %o}", key);
	mts_template_push(stages, "{$group: {_id: %o, n: {$sum: 1}}}", group);
	mts_template_push(stages, "{$match: {n: {$gt: 1}}}");
	mts_template_push(stages, "{$limit: 1}");
	cursor = mts_cursor_aggregate(connection, database, collection, stages, 1,
								  NULL);
	found = mts_cursor_next(cursor) != NULL;
	mts_cursor_close(cursor);
	return !found;
}

/*
 * mts_import_is_identified
 *		Whether the time and the keys of a table are proved to identify a
 *		bucket.
 */
bool
mts_import_is_identified(MtsConnection *connection, const char *database,
						 const char *collection, const MtsInferred *inferred)
{
	List *fields = identity(inferred);
	const bson_t *reply;
	bson_iter_t iter, batch, index;
	bool proved = identifies_id(inferred, fields);

	reply =
		mts_command_run(connection, database,
						"could not list the indexes of a collection",
						mts_document_make("{listIndexes: %s}", collection));
	if (proved || !bson_iter_init(&iter, reply) ||
		!bson_iter_find_descendant(&iter, "cursor.firstBatch", &batch) ||
		!bson_iter_recurse(&batch, &index))
		return proved;
	while (!proved && bson_iter_next(&index))
	{
		bson_t view, key;
		bson_iter_t part;
		int n;

		if (!mts_document_view(&index, &view) ||
			!bson_iter_init_find(&part, &view, "key") ||
			!mts_document_view(&part, &key) ||
			bson_has_field(&view, "partialFilterExpression") ||
			bson_has_field(&view, "sparse"))
			continue;
		n = count_fields(&key, fields);
		proved =
			n > 0 && ((bson_iter_init_find(&part, &view, "unique") &&
					   bson_iter_as_bool(&part)) ||
					  (n == list_length(fields) &&
					   has_no_pair(connection, database, collection, &key)));
	}
	return proved;
}
