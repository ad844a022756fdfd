/*
 * index.c
 *		Which index finds the buckets of a table, and keeps them apart?
 */
#include "index.h"

#include "common/hashfn.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"

#include "document.h"
#include "error.h"
#include "remote.h"

/* Append a field to the keys of an index, and to its name, once */
static void
append_key(const MtsStep *steps, int nsteps, bson_t *keys, StringInfo name)
{
	char path[MTS_MAX_PATH];
	bson_iter_t iter;

	mts_path_dotted(steps, nsteps, path, sizeof(path));
	if (bson_iter_init_find(&iter, keys, path))
		return;
	bson_append_int32(keys, path, -1, 1);
	appendStringInfo(name, "%s%s_1", name->len > 0 ? "_" : "", path);
}

/* In a flat table all columns are keys; those that say so are worth an index */
static bool
is_indexed(const MtsTable *table, const MtsIdentityPart *part)
{
	return table->layout.nslots > 0 || part->column < 0 ||
		   part->fixed.value_type != BSON_TYPE_EOD ||
		   table->attributes[part->column].has_role;
}

/*
 * The keys of a table's index: the filter's fields, the keys, then the time.
 * True when no two buckets have the same ones.
 */
static bool
index_keys(const MtsTable *table, const MtsIdentity *identity, bson_t *keys,
		   StringInfo name)
{
	const MtsLayout *layout = &table->layout;
	const MtsColumn *time = mts_layout_time(layout);

	for (int i = 0; i < identity->n; i++)
	{
		const MtsIdentityPart *part = &identity->parts[i];

		if (!part->is_time && part->column != layout->time_column &&
			is_indexed(table, part))
			append_key(part->steps, part->nsteps, keys, name);
	}
	if (layout->nslots == 0 && time)
		append_key(time->path.steps, time->path.nsteps, keys, name);
	if (layout->nslots == 0)
		return false;
	if (layout->bucket_time.is_set)
		append_key(layout->bucket_time.path.steps,
				   layout->bucket_time.path.nsteps, keys, name);
	else if (layout->last.is_set)
		append_key(layout->last.path.steps, layout->last.path.nsteps, keys,
				   name);
	return layout->max_points == 0;
}

/* What shares the collection without matching the filter is no bucket */
static void
append_partial(const MtsIdentity *identity, bson_t *index, StringInfo name)
{
	bson_t *partial = mts_identity_partial(identity);

	if (bson_empty(partial))
		return;
	bson_append_document(index, "partialFilterExpression", -1, partial);
	/* another filter's index of the same fields is another one */
	appendStringInfo(name, "_%08x",
					 hash_bytes(bson_get_data(partial), partial->len));
}

/*
 * mts_index_describe
 *		Describe a table's index as createIndexes takes it, in an empty
 *		document, and return its name.
 *
 * The document stays empty where MongoDB has the index already.  NULL where
 * none finds the buckets.
 */
const char *
mts_index_describe(const MtsTable *table, const MtsIdentity *identity,
				   bson_t *index)
{
	bson_t *keys = mts_document_new();
	StringInfoData name;
	bool is_unique;

	if (identity->is_id)
		return "_id_";
	initStringInfo(&name);
	is_unique = index_keys(table, identity, keys, &name);
	if (bson_empty(keys))
		return NULL;
	bson_append_document(index, "key", -1, keys);
	if (is_unique)
		bson_append_bool(index, "unique", -1, true);
	append_partial(identity, index, &name);
	bson_append_utf8(index, "name", -1, name.data, -1);
	return pg_any_to_server(name.data, name.len, PG_UTF8);
}

/* The command that creates an index, where strings are what they are */
static bson_t *
create_command(const MtsAttempt *attempt, const char *collection,
			   const bson_t *index)
{
	bson_t *simple = bson_copy(index);

	mts_document_adopt(simple);
	mts_attempt_append_collation(attempt, simple);
	return mts_document_make("{createIndexes: %s, indexes: [%o]}",
							 mts_document_utf8(collection), simple);
}

/*
 * mts_index_create
 *		Make an index, and its collection, where they are not there.
 */
void
mts_index_create(MtsConnection *connection, const char *database,
				 const char *collection, const bson_t *index)
{
	char *what =
		psprintf("could not create the index of MongoDB collection \"%s.%s\"",
				 database, collection);
	MtsAttempt attempt = mts_attempt_begin(connection, what, true, true);
	const bson_t *reply;
	bson_error_t error;

	do
		reply = mts_remote_run(&attempt, database,
							   create_command(&attempt, collection, index),
							   &error);
	while (!reply && mts_attempt_again(&attempt, &error));
	if (!reply && error.domain == MONGOC_ERROR_SERVER &&
		error.code == MTS_SERVER_DUPLICATE_KEY)
		ereport(ERROR,
				(errcode(ERRCODE_UNIQUE_VIOLATION), errmsg("%s", what),
				 errdetail("%s", mts_document_text(error.message)),
				 errhint(
					 "Two documents are the same bucket by the table's keys "
					 "and time.  Declare a column that tells them apart, or "
					 "bring what they hold into one.")));
	if (!reply)
		mts_remote_raise(connection, what, &error);
}
