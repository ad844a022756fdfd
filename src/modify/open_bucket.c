/*
 * open_bucket.c
 *		Find the bucket of each key that has room for more points.
 *
 * Where buckets hold a limited number of points, an update that finds room for
 * some of them looks at all buckets of the key, and leaves the others partly
 * empty.  So a statement asks once which bucket of a key was made last and has
 * room.  The bucket is filled, others are begun, and the last of these is the
 * open one of the next batch.
 *
 * What is found here decides only how points are divided.  Another session can
 * fill the bucket meanwhile, so its update states the room that it requires.
 */
#include "modify/open_bucket.h"

#include <math.h>

#include "utils/memutils.h"

#include "driver/cursor.h"
#include "driver/document.h"
#include "modify/bucket_write.h"

/* The keys of one query, whose filter has their values, and the bytes of these
 * after which it has no more */
#define MAX_KEYS 10000
#define MAX_KEY_BYTES (4 * 1024 * 1024)

/* A key whose open bucket is looked for */
typedef struct Key
{
	const bson_t *values; /* of the fields that identify the buckets */
	MtsOpenBucket *open;
} Key;

/*
 * mts_open_bucket_set
 *		Set the open bucket by {_id: its _id}, and its number of points; id is
 *		NULL if no bucket has room.
 *
 * The id is copied into the memory context of the struct.
 */
void
mts_open_bucket_set(MtsOpenBucket *open, const bson_t *id, int64 n)
{
	if (open->id)
		pfree(open->id);
	open->id = NULL;
	if (id)
	{
		open->id = MemoryContextAlloc(GetMemoryChunkContext(open), id->len);
		memcpy(open->id, bson_get_data(id), id->len);
	}
	open->n = n;
	open->is_known = true;
	open->is_new = false;
}

/*
 * mts_open_bucket_room
 *		Return how many more points the open bucket holds; 0 without one.
 */
int64
mts_open_bucket_room(const MtsOpenBucket *open, const MtsLayout *layout)
{
	return open->id ? layout->max_points - open->n : 0;
}

/*
 * Append the value of a field of a key, if it has one.  Numbers of different
 * types that are equal have the same bytes.
 */
static void
append_value(bson_t *key, int part, const bson_value_t *value)
{
	char name[16];
	double d = value->value.v_double;

	snprintf(name, sizeof(name), "%d", part);
	if (value->value_type == BSON_TYPE_NULL)
		return;
	if (value->value_type == BSON_TYPE_INT32)
		bson_append_int64(key, name, -1, value->value.v_int32);
	else if (value->value_type == BSON_TYPE_DOUBLE && d == rint(d) &&
			 fabs(d) < 1e18)
		bson_append_int64(key, name, -1, (int64) d);
	else
		bson_append_value(key, name, -1, value);
}

static int
compare_keys(const void *a, const void *b)
{
	return bson_compare(((const Key *) a)->values, ((const Key *) b)->values);
}

/* Append a value to the array of a filter, unless it is the last one again. */
static void
append_distinct(bson_t *array, const bson_value_t *last,
				const bson_value_t *value)
{
	if (!last || !mts_row_target_same_value(last, value))
		mts_template_push(array, "%v", value);
}

/*
 * Append the condition that a document has, in each identifying field, the
 * value of one of the keys, and set the keys' values.  Returns how many of the
 * keys these are: the first ones, as far as their values fit.
 *
 * A document can have the values of several keys.  Its bucket is of none of
 * them, and is ignored.
 */
static int
append_condition(const MtsTargeting *targeting, List *writes, Key *keys,
				 bson_t *filter)
{
	const MtsIdentity *identity = targeting->identity;
	const MtsFieldValue **fields =
		palloc(list_length(writes) * sizeof(MtsFieldValue *));
	char path[MTS_MAX_PATH];
	size_t size = 0;
	int n;

	for (n = 0; n < list_length(writes) && size < MAX_KEY_BYTES; n++)
	{
		const MtsBucketWrite *write = list_nth(writes, n);
		bson_t *values = mts_document_new();

		fields[n] =
			mts_row_target_identity(targeting, write->start, write->values);
		for (int j = 0; j < identity->n; j++)
			append_value(values, j, fields[n][j].value);
		keys[n] = (Key){values, write->open};
		size += values->len;
	}
	for (int j = 0; j < identity->n; j++)
	{
		const MtsPath *field = identity->parts[j].path;
		bson_t *array = mts_document_new();

		for (int i = 0; i < n; i++)
			append_distinct(array, i > 0 ? fields[i - 1][j].value : NULL,
							fields[i][j].value);
		mts_path_dotted(field->steps, field->nsteps, path, sizeof(path));
		mts_template_append(filter, path, "{$in: %a}", array);
	}
	return n;
}

/* Make the stage that groups buckets by key: the last one, and its points. */
static const bson_t *
make_group(const MtsTargeting *targeting, const char *array)
{
	const MtsIdentity *identity = targeting->identity;
	bson_t *key = mts_document_new();
	char path[MTS_MAX_PATH];
	char name[16];

	for (int i = 0; i < identity->n; i++)
	{
		const MtsPath *field = identity->parts[i].path;

		mts_path_dotted(field->steps, field->nsteps, path, sizeof(path));
		snprintf(name, sizeof(name), "%d", i);
		mts_template_append(key, name, "'$%s'", path);
	}
	return mts_document_make(
		"{_id: %o, id: {$last: '$_id'}, n: {$last: {$cond: [{$isArray:"
		" ['$%s']}, {$size: '$%s'}, -1]}}}",
		key, array, array);
}

/* Set the open bucket of the key that a group has, if that is wanted. */
static void
set_found(const MtsIdentity *identity, const bson_t *group, const Key *keys,
		  int n)
{
	bson_t *values = mts_document_new(), *id = mts_document_new();
	Key key = {values};
	bson_iter_t iter, field;
	const Key *found;

	for (int i = 0; i < identity->n; i++)
	{
		char path[16];

		snprintf(path, sizeof(path), "_id.%d", i);
		if (bson_iter_init(&iter, group) &&
			bson_iter_find_descendant(&iter, path, &field))
			append_value(values, i, bson_iter_value(&field));
	}
	found = bsearch(&key, keys, n, sizeof(Key), compare_keys);
	if (!found || mts_document_number(group, "n") < 0 ||
		!bson_iter_init_find(&iter, group, "id"))
		return;
	bson_append_value(id, "_id", 3, bson_iter_value(&iter));
	mts_open_bucket_set(found->open, id, mts_document_number(group, "n"));
}

/*
 * Find the open buckets of keys of one collection.  They stay unknown if the
 * user may write into buckets but not read them.  Returns how many of the
 * keys, from the first one on, were looked for.
 */
static int
find_in_collection(const MtsTargeting *targeting, MtsConnection *connection,
				   const char *collection, List *writes)
{
	const MtsTable *table = targeting->table;
	Key *keys = palloc(list_length(writes) * sizeof(Key));
	bson_t *filter = mts_document_new();
	char array[MTS_MAX_PATH];
	MtsFind find = {.filter = filter,
					.on_primary = true,
					.may_be_refused = true,
					.in_xact = mts_table_joins_xact(table),
					.before = InvalidCommandId,
					.relid = table->relid};
	const bson_t *group;
	MtsCursor *cursor;
	int n = append_condition(targeting, writes, keys, filter);

	qsort(keys, n, sizeof(Key), compare_keys);
	mts_bucket_write_require_room(&table->layout, 1, filter);
	mts_bucket_write_array_path(&table->layout, array);
	find.group = make_group(targeting, array);
	/* with one more, the server knows that all groups have been returned */
	find.first_batch = n + 1;
	cursor = mts_cursor_find(connection, table->database, collection, &find);
	for (int i = 0; i < n; i++)
		mts_open_bucket_set(keys[i].open, NULL, 0);
	while ((group = mts_cursor_next(cursor)))
		set_found(targeting->identity, group, keys, n);
	for (int i = 0; i < n && mts_cursor_is_refused(cursor); i++)
		keys[i].open->is_known = false;
	mts_cursor_close(cursor);
	return n;
}

/*
 * mts_open_bucket_find
 *		Find the open buckets of writes that do not know theirs.
 *
 * A single point needs none, because it fits wherever there is room.
 */
void
mts_open_bucket_find(const MtsTargeting *targeting, MtsConnection *connection,
					 List *writes)
{
	MemoryContext memory =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw keys",
							  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(memory);
	List *unknown = NIL;
	ListCell *lc;

	foreach (lc, writes)
	{
		MtsBucketWrite *write = lfirst(lc);

		if (write->n > 1 && write->open && !write->open->is_known)
			unknown = lappend(unknown, write);
	}
	while (unknown)
	{
		const char *collection =
			((MtsBucketWrite *) linitial(unknown))->collection;
		List *part = NIL, *rest = NIL;
		int n;

		foreach (lc, unknown)
		{
			MtsBucketWrite *write = lfirst(lc);

			if (list_length(part) < MAX_KEYS &&
				strcmp(write->collection, collection) == 0)
				part = lappend(part, write);
			else
				rest = lappend(rest, write);
		}
		n = find_in_collection(targeting, connection, collection, part);
		unknown = list_concat(list_copy_tail(part, n), rest);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(memory);
}
