/*
 * index.c
 *		Describe, find and create the index that finds a table's buckets and
 *		keeps them unique.
 *
 * MongoDB refuses an index if another one with other options has its name or
 * its fields.  Such an index may serve as well: a TTL index can be unique.
 */
#include "table/index.h"

#include "common/hashfn.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/value.h"

#include "core/bson/template.h"
#include "driver/command.h"
#include "driver/document.h"
#include "driver/report.h"
#include "driver/server_error.h"
#include "table/collections.h"
#include "table/native.h"

/* MongoDB's limit for a collection */
#define MAX_INDEXES 64

/* Append a field to the keys of an index and to its name, once. */
static void
append_key(const MtsPath *path, int direction, bson_t *keys, StringInfo name)
{
	char field[MTS_MAX_PATH];
	bson_iter_t iter;

	mts_path_dotted(path->steps, path->nsteps, field, sizeof(field));
	if (bson_iter_init_find(&iter, keys, field))
		return;
	bson_append_int32(keys, field, -1, direction);
	appendStringInfo(name, "%s%s_%d", name->len > 0 ? "_" : "", field,
					 direction);
}

/* In a flat table, where all columns are keys, only declared keys count. */
static bool
is_indexed(const MtsTable *table, const MtsIdentityPart *part)
{
	return table->layout.nslots > 0 || part->column < 0 ||
		   part->fixed.value_type != BSON_TYPE_EOD ||
		   table->attributes[part->column].has_role;
}

/* Append the fields of columns, by their numbers from 0. */
static void
append_column_keys(const MtsTable *table, const List *columns, bson_t *keys,
				   StringInfo name)
{
	ListCell *lc;

	foreach (lc, columns)
		append_key(&table->layout.columns[lfirst_int(lc)].path, 1, keys, name);
}

/*
 * Append the fields of the filter, and of the key columns or, if some are
 * given, of these columns.  Returns whether these are the keys, in any order.
 */
static bool
append_part_keys(const MtsTable *table, const MtsIdentity *identity,
				 const List *columns, bson_t *keys, StringInfo name)
{
	int nkeys = 0, nfound = 0;

	for (int i = 0; i < identity->n; i++)
	{
		const MtsIdentityPart *part = &identity->parts[i];

		if (part->is_time || part->column == table->layout.time_column ||
			!is_indexed(table, part) ||
			mts_path_addressable_steps(part->path) != part->path->nsteps)
			continue;
		if (columns == NIL || part->fixed.value_type != BSON_TYPE_EOD)
			append_key(part->path, 1, keys, name);
		else
		{
			nkeys++;
			nfound += list_member_int(columns, part->column);
		}
	}
	append_column_keys(table, columns, keys, name);
	return nfound == nkeys && nkeys == list_length(columns);
}

/*
 * Append the fields of a table's index: the filter's, the key columns or those
 * that are given, then the time of the bucket (or its last time), or that of a
 * flat document.  Returns whether it can be unique; not if a full bucket gets
 * a successor, nor if no INSERT creates buckets, as there may be documents of
 * others, nor if other columns than the keys are given.
 */
static bool
index_keys(const MtsTable *table, const MtsIdentity *identity,
		   const List *columns, bson_t *keys, StringInfo name)
{
	const MtsLayout *layout = &table->layout;
	const MtsColumn *time = mts_layout_time_column(layout);
	bool are_keys = append_part_keys(table, identity, columns, keys, name);

	if (layout->nslots == 0 && time)
		append_key(&time->path, 1, keys, name);
	if (layout->nslots == 0)
		return false;
	if (layout->bucket_time.is_set)
		append_key(&layout->bucket_time.path, 1, keys, name);
	else if (layout->last.is_set)
		append_key(&layout->last.path, 1, keys, name);
	return are_keys && layout->max_points == 0 && !identity->problem;
}

/* Restrict an index to the documents that match the filter. */
static void
append_partial(const MtsIdentity *identity, bson_t *index, StringInfo name)
{
	bson_t *partial = mts_identity_partial(identity);

	if (bson_empty(partial))
		return;
	bson_append_document(index, "partialFilterExpression", -1, partial);
	/* other filters make other indexes on the same fields */
	appendStringInfo(name, "_%08x",
					 hash_bytes(bson_get_data(partial), partial->len));
}

/*
 * mts_index_describe
 *		Append a table's index, as createIndexes accepts it, to an empty
 *		document, and return its name.
 *
 * The document stays empty if the index is the one on _id.  Returns NULL if no
 * index finds the buckets.
 */
const char *
mts_index_describe(const MtsTable *table, const MtsIdentity *identity,
				   bson_t *index)
{
	return mts_index_describe_columns(table, identity, NIL, index);
}

/*
 * mts_index_describe_columns
 *		Append the index of some columns, by their numbers from 0, and the time
 *		to an empty document, as mts_index_describe() does; NIL stands for the
 *		keys.
 *
 * The index is unique if the columns are the keys, in any order.
 */
const char *
mts_index_describe_columns(const MtsTable *table, const MtsIdentity *identity,
						   const List *columns, bson_t *index)
{
	bson_t *keys = mts_document_new();
	StringInfoData name;
	bool is_unique;

	if (identity->is_id && columns == NIL)
		return "_id_";
	initStringInfo(&name);
	is_unique = index_keys(table, identity, columns, keys, &name);
	if (bson_empty(keys))
		return NULL;
	bson_append_document(index, "key", -1, keys);
	if (is_unique)
		bson_append_bool(index, "unique", -1, true);
	append_partial(identity, index, &name);
	bson_append_utf8(index, "name", -1, name.data, -1);
	return pg_any_to_server(name.data, name.len, PG_UTF8);
}

/*
 * mts_index_describe_last
 *		Append the index by which the last points of buckets are found to an
 *		empty document, and return its name.
 *
 * It is on the keys, or the columns that are given, and the last time.
 * Returns NULL if another index serves:
 * buckets are sorted by their last time only if that is declared, and the
 * table's own index may end with it.
 */
const char *
mts_index_describe_last(const MtsTable *table, const MtsIdentity *identity,
						const List *columns, bson_t *index)
{
	const MtsLayout *layout = &table->layout;
	bson_t *keys = mts_document_new();
	StringInfoData name;

	if (layout->time_kind != MTS_TIME_POINT || !layout->bucket_time.is_set ||
		!layout->last.is_set)
		return NULL;
	initStringInfo(&name);
	(void) append_part_keys(table, identity, columns, keys, &name);
	append_key(&layout->last.path, 1, keys, &name);
	bson_append_document(index, "key", -1, keys);
	append_partial(identity, index, &name);
	bson_append_utf8(index, "name", -1, name.data, -1);
	return pg_any_to_server(name.data, name.len, PG_UTF8);
}

/*
 * Append the columns in the metaField of a native collection, except
 * attributes: its subfields, or the whole field.
 */
static void
append_meta_keys(const MtsTable *table, const MtsStep *meta, bool is_whole,
				 bson_t *keys, StringInfo name)
{
	for (int i = 0; i < table->layout.ncolumns; i++)
	{
		const MtsPath *path = &table->layout.columns[i].path;

		if (table->layout.columns[i].role != MTS_ROLE_ATTRIBUTE &&
			path->nsteps > 0 &&
			mts_path_step_same_name(&path->steps[0], meta) &&
			(path->nsteps == 1) == is_whole &&
			mts_path_addressable_steps(path) == path->nsteps)
			append_key(path, 1, keys, name);
	}
}

/*
 * mts_index_describe_native
 *		Append the index of a native time-series collection to an empty
 *		document, and return its name.
 *
 * It is on the fields of the points: those of the columns that are given, by
 * their numbers from 0, or of the metaField.  MongoDB applies it to the
 * buckets.  It
 * finds the newest points of a series, so the time is descending: the index
 * then begins with the greatest time of a bucket.
 */
const char *
mts_index_describe_native(const MtsTable *table, const MtsNative *native,
						  const List *columns, bson_t *index)
{
	MtsStep meta = {.name = native->meta, .len = strlen(native->meta)};
	MtsPath time = {.nsteps = 1};
	bson_t *keys = mts_document_new();
	StringInfoData name;

	initStringInfo(&name);
	append_column_keys(table, columns, keys, &name);
	if (columns == NIL)
		append_meta_keys(table, &meta, false, keys, &name);
	if (bson_empty(keys))
		append_meta_keys(table, &meta, true, keys, &name);
	time.steps[0] =
		(MtsStep){.name = native->time, .len = strlen(native->time)};
	append_key(&time, -1, keys, &name);
	bson_append_document(index, "key", -1, keys);
	bson_append_utf8(index, "name", -1, name.data, -1);
	return pg_any_to_server(name.data, name.len, PG_UTF8);
}

/* The command that creates an index, with the simple collation */
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
 *		Create an index, and its collection, unless they exist.
 */
void
mts_index_create(MtsConnection *connection, const char *database,
				 const char *collection, const bson_t *index)
{
	char *what =
		psprintf("could not create the index of MongoDB collection \"%s.%s\"",
				 database, collection);
	MtsAttempt attempt = mts_attempt_begin(connection, what, MTS_FROM_PRIMARY);
	const bson_t *reply;
	bson_error_t error;

	do
		reply = mts_command_select_and_send(&attempt, database,
											create_command(&attempt,
														   collection, index),
											&error);
	while (!reply && mts_attempt_should_repeat(&attempt, &error));
	if (!reply && error.domain == MONGOC_ERROR_SERVER &&
		error.code == MTS_CODE_DUPLICATE_KEY)
		ereport(ERROR,
				(errcode(ERRCODE_UNIQUE_VIOLATION), errmsg("%s", what),
				 errdetail("%s", mts_document_text(error.message)),
				 errhint(
					 "Two documents are the same bucket by the table's keys "
					 "and time.  Declare a column that tells them apart, or "
					 "merge them into one document.")));
	if (!reply)
		mts_report_write_failure(connection, what, &error);
	mts_known_forget_indexes(connection->serverid);
}

/* ---- Existing indexes ------------------------------------------------- */

/* List the indexes of a collection; false if the server returns none. */
static bool
list_indexes(MtsConnection *connection, const char *database,
			 const char *collection, bson_iter_t *indexes)
{
	const bson_t *command =
		mts_document_make("{listIndexes: %s}", mts_document_utf8(collection));
	const bson_t *reply;
	bson_iter_t iter, batch;

	reply =
		mts_command_try_run(connection, database,
							mts_report_reading(database, collection), command);
	return reply && bson_iter_init(&iter, reply) &&
		   bson_iter_find_descendant(&iter, "cursor.firstBatch", &batch) &&
		   BSON_ITER_HOLDS_ARRAY(&batch) && bson_iter_recurse(&batch, indexes);
}

/*
 * Tell whether a listed index is complete.  One that is being built is listed,
 * too, but refuses no duplicates yet; the server rejects it as a hint.
 */
static bool
is_ready(MtsConnection *connection, const char *database,
		 const char *collection, const bson_t *index)
{
	bson_t *command = mts_document_new();
	const bson_t *filter = mts_document_new();
	bson_t partial;
	bson_iter_t name, iter;

	if (!bson_iter_init_find(&name, index, "name"))
		return false;
	/* any document will do, as long as the index may contain it */
	if (bson_iter_init_find(&iter, index, "partialFilterExpression") &&
		mts_document_view(&iter, &partial))
		filter = &partial;
	mts_template_fields(command,
						"{find: %s, filter: %o, hint: %v, limit: 1,"
						" singleBatch: true}",
						mts_document_utf8(collection), filter,
						bson_iter_value(&name));
	return mts_command_try_run(connection, database,
							   mts_report_reading(database, collection),
							   command);
}

static const char *
name_of(const bson_t *index)
{
	const char *name = mts_document_string(index, "name");

	return name ? name : "";
}

/*
 * Tell whether two indexes have the same fields, in this order, and also the
 * same directions.  Directions do not change what a unique index refuses.
 */
static bool
has_same_keys(const bson_t *a, const bson_t *b, bool compares_directions)
{
	bson_iter_t iter, left, right;

	if (!bson_iter_init_find(&iter, a, "key") ||
		!bson_iter_recurse(&iter, &left) ||
		!bson_iter_init_find(&iter, b, "key") ||
		!bson_iter_recurse(&iter, &right))
		return false;
	for (;;)
	{
		bool has_more = bson_iter_next(&left);

		if (bson_iter_next(&right) != has_more)
			return false;
		if (!has_more)
			return true;
		/* indexes of other kinds have a text instead of a direction */
		if (strcmp(bson_iter_key(&left), bson_iter_key(&right)) != 0 ||
			!BSON_ITER_HOLDS_NUMBER(&left) ||
			!BSON_ITER_HOLDS_NUMBER(&right) ||
			(compares_directions &&
			 bson_iter_as_int64(&left) != bson_iter_as_int64(&right)))
			return false;
	}
}

/* Tell whether an existing index contains all that another one would. */
static bool
holds_as_much(const bson_t *there, const bson_t *index)
{
	bson_iter_t left, right;
	bson_t a, b;

	if (mts_document_number(there, "sparse"))
		return false;
	if (!bson_iter_init_find(&left, there, "partialFilterExpression"))
		return true;
	return bson_iter_init_find(&right, index, "partialFilterExpression") &&
		   mts_document_view(&left, &a) && mts_document_view(&right, &b) &&
		   bson_equal(&a, &b);
}

/* Tell whether an existing index serves as well as the described one. */
static bool
serves(const bson_t *there, const bson_t *index)
{
	return has_same_keys(there, index,
						 !mts_document_number(there, "unique")) &&
		   holds_as_much(there, index) &&
		   !mts_document_has_collation(there, "collation") &&
		   !mts_document_number(there, "hidden") &&
		   (mts_document_number(there, "unique") ||
			!mts_document_number(index, "unique"));
}

/*
 * mts_index_find
 *		Return the name of an index that serves as well as the described one,
 *		or NULL.
 *
 * The name lives as long as the current context.  *name_is_taken, unless NULL,
 * is set if an index of this name does not serve.
 */
const char *
mts_index_find(MtsConnection *connection, const char *database,
			   const char *collection, const bson_t *index,
			   bool *name_is_taken)
{
	bson_iter_t indexes;
	bson_t there;

	if (!list_indexes(connection, database, collection, &indexes))
		return NULL;
	while (bson_iter_next(&indexes))
	{
		bool is_enough;

		if (!mts_document_view(&indexes, &there))
			continue;
		is_enough = serves(&there, index);
		if (is_enough && is_ready(connection, database, collection, &there))
			return pg_any_to_server(name_of(&there), strlen(name_of(&there)),
									PG_UTF8);
		if (name_is_taken && !is_enough &&
			strcmp(name_of(&there), name_of(index)) == 0)
			*name_is_taken = true;
	}
	return NULL;
}

/*
 * mts_index_ensure
 *		Create an index unless an existing one serves as well, and return its
 *		name, which lives as long as index and the current context.
 *
 * If another index has the name, the new one gets a longer name.
 */
const char *
mts_index_ensure(MtsConnection *connection, const char *database,
				 const char *collection, const bson_t *index)
{
	bool name_is_taken = false;
	const char *name = mts_index_find(connection, database, collection, index,
									  &name_is_taken);
	bson_t *renamed = mts_document_new();

	if (name)
		return name;
	name = name_is_taken ? psprintf("%s_buckets", name_of(index))
						 : name_of(index);
	bson_copy_to_excluding_noinit(index, renamed, "name", NULL);
	bson_append_utf8(renamed, "name", -1, name, -1);
	mts_index_create(connection, database, collection, renamed);
	return pg_any_to_server(name, strlen(name), PG_UTF8);
}

/*
 * List the fields of an index.  An index of another kind than on values has a
 * text instead of a direction, and no fields.  Nor has one with a wildcard,
 * which is not a field.
 */
static MtsIndexFields
list_fields(const bson_t *index)
{
	MtsIndexFields result = {NULL};
	bson_iter_t iter, key;

	if (!bson_iter_init_find(&iter, index, "key") ||
		!bson_iter_recurse(&iter, &key))
		return result;
	result.fields = palloc((index->len + 1) * sizeof(char *));
	while (bson_iter_next(&key))
	{
		if (!BSON_ITER_HOLDS_NUMBER(&key) ||
			strstr(bson_iter_key(&key), "$**"))
			return (MtsIndexFields){NULL};
		result.fields[result.nfields++] = pstrdup(bson_iter_key(&key));
	}
	return result;
}

/*
 * mts_index_list
 *		List the indexes of a collection in the current context.
 *
 * An index is unique if it refuses each document now whose values equal those
 * of another one.
 */
MtsIndexFields *
mts_index_list(MtsConnection *connection, const char *database,
			   const char *collection, int *n)
{
	const bson_t *whole = mts_document_new();
	MtsIndexFields *result = palloc(MAX_INDEXES * sizeof(MtsIndexFields));
	bson_iter_t indexes;
	bson_t index;

	*n = 0;
	if (!list_indexes(connection, database, collection, &indexes))
		return result;
	while (bson_iter_next(&indexes) && *n < MAX_INDEXES)
	{
		if (!mts_document_view(&indexes, &index))
			continue;
		result[*n] = list_fields(&index);
		result[*n].is_unique =
			strcmp(name_of(&index), "_id_") == 0 ||
			(result[*n].nfields > 0 && mts_document_number(&index, "unique") &&
			 holds_as_much(&index, whole) &&
			 !mts_document_has_collation(&index, "collation") &&
			 is_ready(connection, database, collection, &index));
		*n += result[*n].nfields > 0;
	}
	return result;
}

/* ---- Indexes that the session knows ------------------------------------- */

/*
 * Append the indexes of a reply, {name: fields, ..}.  Those that lack
 * documents, compare otherwise, or are not on values are left out, since
 * MongoDB does not use them for the filters of tables, or not by bounds.
 */
static void
append_known(const bson_t *reply, bson_t *indexes)
{
	const bson_t *whole = mts_document_new();
	bson_iter_t iter, batch, at;
	bson_t index, keys;

	if (!bson_iter_init(&iter, reply) ||
		!bson_iter_find_descendant(&iter, "cursor.firstBatch", &batch) ||
		!bson_iter_recurse(&batch, &at))
		return;
	while (bson_iter_next(&at))
		if (mts_document_view(&at, &index) && holds_as_much(&index, whole) &&
			!mts_document_has_collation(&index, "collation") &&
			!mts_document_number(&index, "hidden") &&
			list_fields(&index).nfields > 0 &&
			bson_iter_init_find(&iter, &index, "key") &&
			mts_document_view(&iter, &keys))
			bson_append_document(indexes, name_of(&index), -1, &keys);
}

/*
 * Ask for the indexes of a table's collection, of the newest one in a rolling
 * set.  False if the server does not answer soon.  *indexes is NULL if it
 * refuses.
 */
static bool
try_list(const MtsTable *table, Oid userid, bson_t **indexes)
{
	MtsCollections *all = mts_collections_list(table, userid, true);
	const bson_t *reply;
	bson_t *command;
	uint32 code;

	*indexes = NULL;
	if (!all)
		return false;
	if (all->n == 0)
		return true;
	command =
		mts_document_make("{listIndexes: %s}",
						  mts_document_utf8(all->items[all->n - 1].name));
	if (mts_native_is_raw(table))
		bson_append_bool(command, "rawData", -1, true);
	/* to list the collections may have replaced the connection */
	reply = mts_command_ask_soon(mts_connection_get(table->serverid, userid),
								 table->database, command, MTS_FROM_PREFERRED,
								 &code);
	if (reply)
	{
		*indexes = mts_document_new();
		append_known(reply, *indexes);
	}
	return reply || code != 0;
}

/*
 * mts_index_known
 *		Return what the session knows of a table's collection, with the
 *		indexes by which MongoDB can find its documents, or without any.
 *
 * The indexes can have changed, so they must not decide which rows a query
 * returns.  The server is asked once a minute, unless it is silent.  A
 * connection with open cursors or a transaction is not asked, since giving up
 * an answer would break them.  The result is that of mts_known_collection().
 */
const MtsKnown *
mts_index_known(const MtsTable *table, Oid userid)
{
	bool is_silent = mts_known_server_is_silent(table->serverid, userid);
	MtsKnown *known = mts_native_known(table, userid);
	bson_t *indexes;

	if (mts_known_is_recent(known->indexed) || is_silent ||
		table->native_problem ||
		mts_connection_get(table->serverid, userid)->pins > 0)
		return known;
	if (try_list(table, userid, &indexes))
		mts_known_record_indexes(known, indexes,
								 mts_connection_get(table->serverid, userid)
									 ->is_mongodb);
	else
		mts_known_record_silence(table->serverid, userid);
	CHECK_FOR_INTERRUPTS();
	return known;
}
