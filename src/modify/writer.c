/*
 * writer.c
 *		Collect rows as writes of buckets, and send a batch of them at once.
 *
 * The rows of one bucket become one write, which is much faster than one write
 * each.  A batch lives in a memory context of its own, which is reset when the
 * batch has been sent.
 *
 * Rows in the order of time come in turn for the buckets of all series, which
 * grow together.  MongoDB writes a document anew each time that points are
 * added to it.  So a batch that is sent leaves out the buckets that are still
 * growing, and their points are copied into the next one.  Where buckets hold
 * a limited number of points, those of full ones are sent.  A bucket is
 * growing if its last turn is not longer ago than two of its turns are apart.
 * If too few buckets are complete, the batch grows as far as memory allows,
 * and is then sent as a whole, slice by slice.  The buckets of the last batch
 * are remembered, because a batch can be too short for a second turn.
 *
 * The rows of a write agree in the attributes of their bucket, as far as they
 * give them.  Whether the bucket agrees is checked by its update.
 *
 * In a transaction, a batch with new collections of a rolling set has all
 * earlier ones sent again (route.c).  The next batch is then twice as large,
 * as far as memory allows, so that this happens a few times only.
 *
 * What is stored already is not known, and writes that assume it take the
 * server much less time.  If a bucket is new, it is inserted whole.  If its
 * slots are empty, operators store the points and keep the pre-aggregates
 * true, under conditions of their selector (see write_once.c).  Both are safe
 * only where a unique index refuses a second bucket with the same key.  A
 * write that is refused is sent again without the assumption (see bulk.c).
 * Where a batch is large, the first buckets are tried, and all others unless
 * most of these were refused.  The next trial is then some batches later.
 * A refused write would abort a transaction block (see xact.c).  There no
 * bucket is inserted whole, and the conditional update does not upsert: if it
 * does not find all buckets, those without conditions follow.
 */
#include "modify/writer.h"

#include "access/htup_details.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "compat.h"
#include "core/update/new_bucket.h"
#include "core/update/update.h"
#include "core/update/write_once.h"
#include "driver/bulk_error.h"
#include "driver/document.h"
#include "driver/server_error.h"
#include "driver/xact.h"
#include "modify/route.h"
#include "table/collections.h"
#include "table/index.h"
#include "table/native.h"
#include "table/type.h"

/*
 * Only a batch with this many points, and on average this many in each bucket,
 * is tried as new buckets.  A bucket counts as POINTS_OF_UPSERT points.  Its
 * upsert takes MongoDB as long as these do.
 */
#define MIN_POINTS 4096
#define MIN_POINTS_PER_BUCKET 4
#define POINTS_OF_UPSERT 64

/* It is worth to look for the unique index for so many buckets of a batch */
#define MIN_CONDITIONAL 8

/* Buckets that are written to learn whether an assumption holds */
#define TRIALS 32

/* Twice as many batches are sent between two trials, up to 2 ^ this */
#define MAX_REFUSED_TRIALS 6

/* A batch is full, or looked at again, after 1 / this of its size */
#define CHECKS_PER_BATCH 8

/* A column whose value is that of a bucket */
typedef struct MtsBucketColumn
{
	int column;
	int16 typlen;
	bool typbyval;
	bool is_fraction; /* values of different bytes can be equal */
	FmgrInfo hash;    /* these two only if is_fraction */
	FmgrInfo equal;
} MtsBucketColumn;

/* A bucket of the batch or the last one, by what identifies it */
typedef struct MtsBatchEntry
{
	/* the key */
	const MtsWriter *writer;
	MtsTime start;
	Datum *values; /* by column: the keys; behind them, of the write, the first
					* attributes that are not null */
	bool *nulls;

	MtsBucketWrite *write;      /* NULL without points in the batch */
	struct MtsBatchEntry *next; /* of the row after the last row of this
								 * bucket, or NULL */
	bool was_written;           /* the statement has written the bucket */
	MtsOpenBucket *open;        /* see open_bucket.c; NULL where there is no
								 * limit */

	/* its turns: rows that follow those of another bucket */
	int64 nturns;
	int64 first; /* the rows with which its first and last turn began */
	int64 last;
} MtsBatchEntry;

/* ---- Buckets ------------------------------------------------------------ */

static uint32
hash_entry(const void *arg, Size size)
{
	const MtsBatchEntry *entry = arg;
	uint32 hash = hash_bytes((const unsigned char *) &entry->start,
							 sizeof(entry->start));

	for (int i = 0; i < entry->writer->nkeys; i++)
	{
		MtsBucketColumn *key = &entry->writer->columns[i];
		Datum value = entry->values[i];

		if (entry->nulls[i])
			hash = hash_combine(hash, 0);
		else if (key->is_fraction)
			hash =
				hash_combine(hash,
							 DatumGetUInt32(FunctionCall1(&key->hash, value)));
		else
			hash = hash_combine(hash, datum_image_hash(value, key->typbyval,
													   key->typlen));
	}
	return hash;
}

/* Tell whether a datum has its bytes uncompressed, in the row. */
static bool
is_plain(Datum value)
{
	Pointer bytes = DatumGetPointer(value);

	return !VARATT_IS_EXTERNAL(bytes) && !VARATT_IS_COMPRESSED(bytes);
}

/* As datum_image_eq(), which takes longer for short texts */
static bool
have_same_image(const MtsBucketColumn *column, Datum a, Datum b)
{
	Pointer one, other;

	if (column->typlen != -1 || !is_plain(a) || !is_plain(b))
		return datum_image_eq(a, b, column->typbyval, column->typlen);
	one = DatumGetPointer(a);
	other = DatumGetPointer(b);
	return VARSIZE_ANY_EXHDR(one) == VARSIZE_ANY_EXHDR(other) &&
		   memcmp(VARDATA_ANY(one), VARDATA_ANY(other),
				  VARSIZE_ANY_EXHDR(one)) == 0;
}

static bool
are_equal(MtsBucketColumn *key, Datum a, Datum b)
{
	if (key->is_fraction)
		return DatumGetBool(FunctionCall2(&key->equal, a, b));
	return have_same_image(key, a, b);
}

static int
match_entries(const void *a, const void *b, Size size)
{
	const MtsBatchEntry *left = a, *right = b;

	if (left->start != right->start)
		return 1;
	for (int i = 0; i < left->writer->nkeys; i++)
		if (left->nulls[i] != right->nulls[i] ||
			(!left->nulls[i] && !are_equal(&left->writer->columns[i],
										   left->values[i], right->values[i])))
			return 1;
	return 0;
}

/* Tell whether an entry is of the bucket of a row. */
static bool
is_of_bucket(const MtsBatchEntry *entry, TupleTableSlot *slot, MtsTime start)
{
	const MtsWriter *writer = entry->writer;

	if (entry->start != start)
		return false;
	for (int i = 0; i < writer->nkeys; i++)
	{
		MtsBucketColumn *key = &writer->columns[i];
		bool isnull = slot->tts_isnull[key->column];

		if (isnull != entry->nulls[i] ||
			(!isnull &&
			 !are_equal(key, entry->values[i], slot->tts_values[key->column])))
			return false;
	}
	return true;
}

static void
prepare_column(MtsBucketColumn *key, const MtsTable *table, int column)
{
	Oid typid = getBaseType(table->attributes[column].typid);
	TypeCacheEntry *type;

	key->column = column;
	get_typlenbyval(typid, &key->typlen, &key->typbyval);
	key->is_fraction = mts_type_is_fraction(typid);
	if (!key->is_fraction)
		return;
	type = lookup_type_cache(typid, TYPECACHE_HASH_PROC_FINFO |
										TYPECACHE_EQ_OPR_FINFO);
	fmgr_info_copy(&key->hash, &type->hash_proc_finfo, CurrentMemoryContext);
	fmgr_info_copy(&key->equal, &type->eq_opr_finfo, CurrentMemoryContext);
}

/* Look up the columns of a bucket with one role; return how many they are. */
static int
prepare_columns(MtsWriter *writer, bool are_attributes)
{
	const MtsLayout *layout = &writer->table->layout;
	MtsBucketColumn *columns = writer->columns + writer->nkeys;
	int n = 0;

	for (int i = 0; i < layout->ncolumns; i++)
		if ((layout->columns[i].role == MTS_ROLE_ATTRIBUTE) ==
				are_attributes &&
			mts_row_target_is_of_bucket(writer->targeting, i))
			prepare_column(&columns[n++], writer->table, i);
	return n;
}

/* ---- Rows --------------------------------------------------------------- */

/* Begin an empty batch. */
static void
begin_batch(MtsWriter *writer)
{
	MemoryContextReset(writer->batch);
	writer->writes = NIL;
	writer->npoints = 0;
	writer->next_check = writer->table->batch_size;
}

/*
 * mts_writer_discard
 *		Forget the batch and all buckets, and begin an empty batch.
 */
void
mts_writer_discard(MtsWriter *writer)
{
	HASHCTL control = {.keysize = offsetof(MtsBatchEntry, write),
					   .entrysize = sizeof(MtsBatchEntry),
					   .hash = hash_entry,
					   .match = match_entries,
					   .hcxt = writer->buckets};

	MemoryContextReset(writer->buckets);
	writer->entries =
		hash_create("mongo_ts_fdw buckets", 256, &control,
					HASH_ELEM | HASH_FUNCTION | HASH_COMPARE | HASH_CONTEXT);
	writer->last = NULL;
	begin_batch(writer);
}

/*
 * mts_writer_new
 *		Prepare to write into a table with the rights of a user's mapping.
 */
MtsWriter *
mts_writer_new(const MtsTable *table, Oid userid)
{
	MtsWriter *writer = palloc0(sizeof(MtsWriter));

	writer->table = table;
	writer->batch_size = table->batch_size;
	writer->userid = userid;
	writer->targeting = mts_row_target_prepare(table);
	mts_route_init(&writer->bulk, table, userid);
	writer->marks = mts_rollup_mark_begin(table, userid);
	writer->columns =
		palloc0(table->layout.ncolumns * sizeof(MtsBucketColumn));
	writer->nkeys = prepare_columns(writer, false);
	writer->nattributes = prepare_columns(writer, true);
	writer->buckets =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw buckets",
							  ALLOCSET_DEFAULT_SIZES);
	writer->batch =
		GenerationContextCreate(CurrentMemoryContext, "mongo_ts_fdw batch",
								ALLOCSET_DEFAULT_SIZES);
	writer->sent =
		GenerationContextCreate(CurrentMemoryContext, "mongo_ts_fdw batch",
								ALLOCSET_DEFAULT_SIZES);
	writer->slice =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw slice",
							  ALLOCSET_DEFAULT_SIZES);
	writer->next_slice =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw slice",
							  ALLOCSET_DEFAULT_SIZES);
	mts_writer_discard(writer);
	return writer;
}

/*
 * Begin the write of the bucket or document that a row belongs to.
 *
 * MongoDB begins a bucket of a native collection each time that a field
 * changes between null and a number, but not if the field is absent.
 */
static MtsBucketWrite *
begin_write(MtsWriter *writer, TupleTableSlot *slot, MtsTime start,
			bson_value_t *values)
{
	MtsBucketWrite *write = palloc0(sizeof(MtsBucketWrite));

	if (!writer->has_begun)
		writer->targeting->omits_null =
			mts_native_describe(writer->table, writer->userid) != NULL;
	writer->has_begun = true;
	write->kind = MTS_BUCKET_UPSERT;
	write->collection = mts_collections_at(writer->table, start);
	write->start = start;
	write->values = values;
	write->is_move = writer->moves_points;
	mts_row_target_encode_bucket(writer->targeting, slot, values);
	if (writer->returning)
		mts_returning_add_id(writer->returning, slot, values);
	writer->writes = lappend(writer->writes, write);
	return write;
}

/* Set a value of an entry that has null. */
static void
set_value(const MtsWriter *writer, MtsBatchEntry *entry, int i, Datum value)
{
	MemoryContext old = MemoryContextSwitchTo(writer->buckets);

	entry->nulls[i] = false;
	entry->values[i] = datumCopy(value, writer->columns[i].typbyval,
								 writer->columns[i].typlen);
	MemoryContextSwitchTo(old);
}

/* Set a value of an entry to null. */
static void
clear_value(const MtsWriter *writer, MtsBatchEntry *entry, int i)
{
	if (!entry->nulls[i] && !writer->columns[i].typbyval)
		pfree(DatumGetPointer(entry->values[i]));
	entry->nulls[i] = true;
}

/*
 * Tell whether to fill a bucket before the next one begins.  Buckets that must
 * meet other terms of the filter are found by these.
 */
static bool
has_open_buckets(const MtsWriter *writer)
{
	return writer->table->layout.max_points > 0 && !writer->moves_points &&
		   bson_empty(writer->targeting->identity->others);
}

/* Find the entry of the bucket of a row, or make it. */
static MtsBatchEntry *
find_entry(MtsWriter *writer, TupleTableSlot *slot, MtsTime start)
{
	Datum values[MaxTupleAttributeNumber];
	bool nulls[MaxTupleAttributeNumber];
	MtsBatchEntry key = {writer, start, values, nulls};
	MtsBatchEntry *entry;
	int ncolumns = writer->nkeys + writer->nattributes;
	MemoryContext old;
	bool found;

	for (int i = 0; i < writer->nkeys; i++)
	{
		values[i] = slot->tts_values[writer->columns[i].column];
		nulls[i] = slot->tts_isnull[writer->columns[i].column];
	}
	entry = hash_search(writer->entries, &key, HASH_ENTER, &found);
	if (found)
		return entry;
	old = MemoryContextSwitchTo(writer->buckets);
	memset(&entry->write, 0,
		   sizeof(MtsBatchEntry) - offsetof(MtsBatchEntry, write));
	entry->values = palloc(ncolumns * sizeof(Datum));
	entry->nulls = palloc(ncolumns * sizeof(bool));
	if (has_open_buckets(writer))
		entry->open = palloc0(sizeof(MtsOpenBucket));
	memset(entry->nulls, true, ncolumns * sizeof(bool));
	for (int i = 0; i < writer->nkeys; i++)
		if (!nulls[i])
			set_value(writer, entry, i, values[i]);
	MemoryContextSwitchTo(old);
	return entry;
}

/* Remove the entry of a bucket. */
static void
remove_entry(MtsWriter *writer, MtsBatchEntry *entry)
{
	MtsBatchEntry removed = *entry;

	if (writer->last == entry)
		writer->last = NULL;
	(void) hash_search(writer->entries, entry, HASH_REMOVE, NULL);
	for (int i = 0; i < writer->nkeys + writer->nattributes; i++)
		clear_value(writer, &removed, i);
	if (removed.open)
	{
		mts_open_bucket_set(removed.open, NULL, 0);
		pfree(removed.open);
	}
	pfree(removed.values);
	pfree(removed.nulls);
}

/* Begin a turn of a bucket. */
static void
begin_turn(MtsWriter *writer, MtsBatchEntry *entry)
{
	if (writer->last)
		writer->last->next = entry;
	writer->last = entry;
	if (entry->nturns++ == 0)
	{
		entry->first = writer->nrows;
		writer->nfirst_turns++;
	}
	else
	{
		writer->nlater_turns++;
		writer->between_turns += writer->nrows - entry->last;
	}
	entry->last = writer->nrows;
}

/* Raise an error: rows of the statement give a bucket two attributes. */
static _Noreturn void
refuse_attribute(const MtsWriter *writer, int column, const bson_value_t *old,
				 const bson_value_t *new)
{
	bson_t *values = mts_document_make("{first: %v, second: %v}", old, new);

	ereport(
		ERROR,
		(errcode(ERRCODE_INTEGRITY_CONSTRAINT_VIOLATION),
		 errmsg("cannot store two values of column \"%s\" in one bucket of "
				"MongoDB collection \"%s.%s\"",
				writer->table->layout.columns[column].name,
				writer->table->database, writer->table->collection),
		 errdetail("Rows of the statement give %s.",
				   mts_document_shell(values)),
		 errhint("%s", MTS_ATTRIBUTE_HINT)));
	pg_unreachable();
}

/* Remember the attributes of the first row of a bucket's write. */
static void
begin_attributes(MtsWriter *writer, MtsBatchEntry *entry, TupleTableSlot *slot)
{
	for (int i = writer->nkeys; i < writer->nkeys + writer->nattributes; i++)
	{
		int column = writer->columns[i].column;

		clear_value(writer, entry, i);
		if (!slot->tts_isnull[column])
			set_value(writer, entry, i, slot->tts_values[column]);
	}
}

/*
 * Add the attributes of a row to the write of its bucket, which has no others.
 *
 * The rows of a bucket mostly have the same bytes, which are compared before
 * the values are.
 */
static void
add_attributes(MtsWriter *writer, MtsBatchEntry *entry, TupleTableSlot *slot)
{
	for (int i = writer->nkeys; i < writer->nkeys + writer->nattributes; i++)
	{
		const MtsBucketColumn *attribute = &writer->columns[i];
		bson_value_t *stored = &entry->write->values[attribute->column];
		Datum value = slot->tts_values[attribute->column];
		bson_value_t encoded;

		if (slot->tts_isnull[attribute->column] ||
			(!entry->nulls[i] &&
			 have_same_image(attribute, entry->values[i], value)))
			continue;
		mts_row_target_encode_column(writer->targeting, slot,
									 attribute->column, &encoded);
		if (entry->nulls[i])
		{
			set_value(writer, entry, i, value);
			*stored = encoded;
		}
		else if (!mts_row_target_same_value(stored, &encoded))
			refuse_attribute(writer, attribute->column, stored, &encoded);
	}
}

/*
 * Find the write of a row's bucket, or begin it.
 *
 * Rows often come in turn for the same buckets, so the bucket is looked for
 * where the last row of the last bucket was followed by it.
 */
static MtsBucketWrite *
find_write(MtsWriter *writer, TupleTableSlot *slot, MtsTime start)
{
	MtsBatchEntry *last = writer->last;
	MtsBatchEntry *entry = last ? last->next : NULL;

	if (!entry || !is_of_bucket(entry, slot, start))
		entry = last && is_of_bucket(last, slot, start)
					? last
					: find_entry(writer, slot, start);
	if (entry != last)
		begin_turn(writer, entry);
	if (!entry->write)
	{
		entry->write = begin_write(writer, slot, start,
								   palloc0(writer->table->layout.ncolumns *
										   sizeof(bson_value_t)));
		entry->write->was_written = entry->was_written;
		entry->write->open = entry->open;
		begin_attributes(writer, entry, slot);
	}
	else if (writer->nattributes > 0 && !writer->moves_points)
		add_attributes(writer, entry, slot);
	return entry->write;
}

/*
 * mts_writer_add
 *		Add a row to the batch, and return the write of its bucket.
 *
 * The row is copied.  Where the time is rounded, the caller's row gets the
 * rounded time, too, and where RETURNING shows it, the generated _id.
 */
MtsBucketWrite *
mts_writer_add(MtsWriter *writer, TupleTableSlot *slot)
{
	MemoryContext old = MemoryContextSwitchTo(writer->batch);
	MtsRowTarget target;
	MtsBucketWrite *write;

	slot_getallattrs(slot);
	if (!writer->moves_points)
		mts_row_target_check_new(writer->targeting, slot);
	target = mts_row_target_make(writer->targeting, slot, NULL);
	target.change->order = writer->nrows++;
	writer->npoints++;
	if (writer->moves_points)
		target.change->kind = MTS_CHANGE_SET;
	write = writer->table->layout.nslots > 0
				? find_write(writer, slot, target.start)
				: begin_write(writer, slot, target.change->time,
							  target.change->items);
	mts_bucket_write_add(&writer->table->layout, write, target.change);
	MemoryContextSwitchTo(old);
	return write;
}

/* ---- Growing buckets ---------------------------------------------------- */

/*
 * Tell whether more points of a bucket are expected.  A bucket in its first
 * turn is as the others, if most turns are not the first ones.
 */
static bool
is_growing(const MtsWriter *writer, const MtsBatchEntry *entry)
{
	int64 nrows = writer->nrows - entry->last;

	if (entry == writer->last)
		return true;
	if (entry->nturns > 1)
		return nrows * (entry->nturns - 1) <= 2 * (entry->last - entry->first);
	return writer->nlater_turns > writer->nfirst_turns &&
		   nrows * writer->nlater_turns <= 2 * writer->between_turns;
}

/*
 * Return how many of the points of a growing bucket are kept: those of the
 * last one, where buckets hold a limited number of points.
 */
static int
count_kept(const MtsWriter *writer, const MtsBucketWrite *write)
{
	const MtsLayout *layout = &writer->table->layout;
	int64 room = write->open ? mts_open_bucket_room(write->open, layout) : 0;

	if (!write->open || write->n < room)
		return write->n;
	return (int) ((write->n - room) % layout->max_points);
}

/*
 * Mark the points of growing buckets that are kept, and return how many they
 * are.
 */
static int
mark_kept(const MtsWriter *writer)
{
	HASH_SEQ_STATUS status;
	MtsBatchEntry *entry;
	int npoints = 0;

	hash_seq_init(&status, writer->entries);
	while ((entry = hash_seq_search(&status)))
		if (entry->write)
		{
			entry->write->nkept = is_growing(writer, entry)
									  ? count_kept(writer, entry->write)
									  : 0;
			npoints += entry->write->nkept;
		}
	return npoints;
}

/* Copy the points of a write that are kept. */
static MtsBucketWrite *
copy_write(const MtsWriter *writer, const MtsBucketWrite *write)
{
	const MtsLayout *layout = &writer->table->layout;
	MtsBucketWrite *copy = palloc(sizeof(MtsBucketWrite));

	*copy = *write;
	copy->collection = mts_collections_at(writer->table, write->start);
	copy->n = write->nkept;
	copy->nkept = 0;
	copy->values = palloc(layout->ncolumns * sizeof(bson_value_t));
	mts_row_target_copy_values(layout->ncolumns, write->values, copy->values);
	copy->changes = palloc(write->room * sizeof(MtsChange *));
	for (int i = 0; i < copy->n; i++)
		copy->changes[i] =
			mts_row_target_copy_change(layout, write->changes[write->n + i]);
	return copy;
}

/*
 * Begin a batch with the points that are kept of the last one.  Forget the
 * buckets without points in the last batch.
 */
static void
begin_next_batch(MtsWriter *writer)
{
	HASH_SEQ_STATUS status;
	MtsBatchEntry *entry;

	begin_batch(writer);
	hash_seq_init(&status, writer->entries);
	while ((entry = hash_seq_search(&status)))
	{
		MtsBucketWrite *write = entry->write;

		entry->next = NULL;
		entry->write = NULL;
		if (!write)
			remove_entry(writer, entry);
		else
		{
			entry->was_written |= write->n > 0;
			if (write->nkept == 0)
				continue;
			entry->write = copy_write(writer, write);
			writer->writes = lappend(writer->writes, entry->write);
			writer->npoints += write->nkept;
		}
	}
}

/* ---- Assumptions -------------------------------------------------------- */

/*
 * Tell whether a unique index refuses a second bucket with the same key: that
 * on _id, or the table's own.
 */
static bool
has_unique_index(const MtsWriter *writer, const char *collection)
{
	const MtsBulk *bulk = &writer->bulk;
	bson_t *index = mts_document_new();

	if (writer->targeting->identity->is_id)
		return true;
	(void) mts_index_describe(writer->table, writer->targeting->identity,
							  index);
	return bson_has_field(index, "unique") &&
		   mts_index_find(bulk->connection, bulk->database, collection, index,
						  NULL);
}

/*
 * Tell whether writes are logged, and sent again if the server aborts their
 * transaction (see xact.c).
 */
static bool
is_logged(MtsWriter *writer)
{
	return writer->bulk.joins_xact && mts_bulk_is_transaction(&writer->bulk);
}

/* Tell whether a write that assumes too much may be refused. */
static bool
may_be_refused(MtsWriter *writer)
{
	return mts_xact_may_repeat(writer->bulk.connection) || !is_logged(writer);
}

/* Tell whether a collection has the unique index, as the statement knows. */
static bool
is_indexed(MtsWriter *writer, const char *collection)
{
	List **names;
	MemoryContext old;

	if (mts_route_is_listed(writer->indexed, collection))
		return true;
	if (mts_route_is_listed(writer->unindexed, collection))
		return false;
	names = has_unique_index(writer, collection) ? &writer->indexed
												 : &writer->unindexed;
	old = MemoryContextSwitchTo(GetMemoryChunkContext(writer));
	*names = lappend(*names, pstrdup(collection));
	MemoryContextSwitchTo(old);
	return names == &writer->indexed;
}

/* Tell whether writes may assume what is stored. */
static bool
may_assume(MtsWriter *writer)
{
	ListCell *lc;

	if (writer->moves_points ||
		!bson_empty(writer->targeting->identity->others))
		return false;
	if (!writer->table->rolling_name)
		return is_indexed(writer, writer->bulk.collection);
	foreach (lc, writer->writes)
		if (!is_indexed(writer, ((MtsBucketWrite *) lfirst(lc))->collection))
			return false;
	return true;
}

/* Tell whether a batch is large enough to look for new buckets. */
static bool
looks_new(const MtsWriter *writer)
{
	int64 nbuckets = list_length(writer->writes);

	return writer->npoints >= nbuckets * MIN_POINTS_PER_BUCKET &&
		   writer->npoints + nbuckets * POINTS_OF_UPSERT >= MIN_POINTS &&
		   mts_new_bucket_is_possible(&writer->table->layout);
}

/* Tell whether conditions can spare enough pipelines. */
static bool
looks_once(MtsWriter *writer)
{
	const MtsLayout *layout = &writer->table->layout;

	return (list_length(writer->writes) >= MIN_CONDITIONAL ||
			writer->targeting->identity->is_id) &&
		   (mts_update_needs_pipeline(layout) || writer->nattributes > 0) &&
		   mts_write_once_suits(layout) &&
		   (mts_write_once_may_repeat(layout) || may_be_refused(writer));
}

/* Tell whether to try an assumption with the next batch. */
static bool
is_due(MtsTrial *trial)
{
	if (trial->waiting == 0)
		return true;
	trial->waiting--;
	return false;
}

/* Record how many of the writes that were tried have been refused. */
static void
record_trial(MtsTrial *trial, int ntried, int nrefused)
{
	trial->is_proven = nrefused * 2 < ntried;
	if (trial->is_proven)
		trial->refused = 0;
	else
	{
		trial->waiting = 1 << trial->refused;
		trial->refused = Min(trial->refused + 1, MAX_REFUSED_TRIALS);
	}
}

/* Count the operations that assume what is stored. */
static int
count_tries(const MtsOp *ops, int nops)
{
	int n = 0;

	for (int i = 0; i < nops; i++)
		n += ops[i].form < ops[i].nforms - 1;
	return n;
}

/* ---- Sending ------------------------------------------------------------ */

/* Wait until the last writes are stored, and forget them. */
static void
finish_sent(MtsWriter *writer)
{
	MtsBulk *bulk = &writer->bulk;
	MemoryContext old = MemoryContextSwitchTo(writer->slice);

	mts_bulk_end(bulk);
	if (writer->ntried > 0)
		record_trial(writer->trial, writer->ntried,
					 writer->ntried - count_tries(writer->ops, writer->nops));
	if (bulk->affected < writer->nops)
		mts_bulk_error_refuse_changed(
			bulk, "Another point has been stored in one of the slots.");
	writer->nops = writer->ntried = 0;
	MemoryContextSwitchTo(old);
	MemoryContextReset(writer->slice);
	MemoryContextReset(writer->sent);
}

/* Return the number of operations that some writes have, at most. */
static int
count_ops(const MtsWriter *writer, List *writes, int first, int end)
{
	int n = 0;

	for (int i = first; i < end; i++)
		n += mts_bucket_write_most_ops(&writer->table->layout,
									   list_nth(writes, i));
	return n;
}

/* Mark what writes change of roll-ups. */
static void
mark_writes(MtsRollupMarks *marks, List *writes, int first, int end)
{
	for (int i = first; i < end; i++)
	{
		const MtsBucketWrite *write = list_nth(writes, i);

		for (int j = 0; j < write->n; j++)
			mts_rollup_mark_add(marks, write->changes[j]->time,
								write->changes[j]->time);
	}
	mts_rollup_mark_send(marks);
}

/*
 * Build the operations of writes from number first up to end, and send them
 * when the last ones are stored.  trial is what they assume, or NULL.
 */
static void
send_writes(MtsWriter *writer, List *writes, int first, int end,
			MtsTrial *trial)
{
	MemoryContext slice = writer->next_slice;
	MemoryContext old = MemoryContextSwitchTo(slice);
	MtsOp *ops =
		palloc(count_ops(writer, writes, first, end) * sizeof(MtsOp) + 1);
	int tried = is_logged(writer) ? 0 : MTS_TRY_FOUND;
	int nops = 0;

	if (trial == &writer->new_buckets)
		tried |= MTS_TRY_NEW;
	else if (trial)
		tried |=
			MTS_TRY_ONCE | (may_be_refused(writer) ? 0 : MTS_TRY_UNREFUSED);

	for (int i = first; i < end; i++)
	{
		MtsBucketWrite *write = list_nth(writes, i);

		CHECK_FOR_INTERRUPTS();
		mts_bucket_write_sort(&writer->table->layout, write);
		nops +=
			mts_bucket_write_ops(writer->targeting, write, tried, ops + nops);
	}
	finish_sent(writer);
	writer->next_slice = writer->slice;
	writer->slice = slice;
	writer->ops = ops;
	writer->nops = nops;
	writer->trial = trial;
	writer->ntried = trial ? count_tries(ops, nops) : 0;
	if (writer->marks)
		mark_writes(writer->marks, writes, first, end);
	mts_route_begin(&writer->bulk, ops, nops);
	if (writer->bulk.has_restarted)
		writer->batch_size = Min(writer->batch_size, INT_MAX / 2) * 2;
	MemoryContextSwitchTo(old);
}

/*
 * Return the end of the writes from number first on that have no more than
 * writer->batch_size points, but at least one write.
 */
static int
find_slice(const MtsWriter *writer, List *writes, int first)
{
	int end = first;
	int npoints = 0;

	do
		npoints += ((MtsBucketWrite *) list_nth(writes, end++))->n;
	while (end < list_length(writes) &&
		   npoints + ((MtsBucketWrite *) list_nth(writes, end))->n <=
			   writer->batch_size);
	return end;
}

/*
 * Send writes, by as many points at once as writer->batch_size says.
 *
 * An assumption is first tried with a few of them, except in a transaction
 * that is the whole batch.
 */
static void
send_slices(MtsWriter *writer, List *writes)
{
	bool may_be_new = looks_new(writer) && may_assume(writer) &&
					  may_be_refused(writer) && is_due(&writer->new_buckets);
	bool may_be_once =
		looks_once(writer) && may_assume(writer) && is_due(&writer->once);
	int n = list_length(writes);
	int end;

	if (n == 0)
		finish_sent(writer);
	for (int first = 0; first < n; first = end)
	{
		MtsTrial *trial = may_be_new && writer->new_buckets.waiting == 0
							  ? &writer->new_buckets
						  : may_be_once && writer->once.waiting == 0
							  ? &writer->once
							  : NULL;
		bool is_first = trial && !trial->is_proven && n - first > 2 * TRIALS &&
						(!mts_bulk_is_transaction(&writer->bulk) ||
						 !may_be_refused(writer));

		end = is_first ? first + TRIALS : find_slice(writer, writes, first);
		send_writes(writer, writes, first, end, trial);
		if (is_first)
			finish_sent(writer);
	}
}

/* ---- Batches ------------------------------------------------------------ */

/* Return the memory of the batch, and of what is known of its buckets. */
static Size
batch_memory(const MtsWriter *writer)
{
	return MemoryContextMemAllocated(writer->batch, true) +
		   MemoryContextMemAllocated(writer->buckets, true);
}

/* Tell whether the batch has no more memory, even if it need not be shared. */
static bool
is_out_of_memory(MtsWriter *writer)
{
	Size limit = get_hash_memory_limit();

	if (batch_memory(writer) + MemoryContextMemAllocated(writer->sent, true) <
		limit)
		return false;
	finish_sent(writer);
	return batch_memory(writer) >= limit;
}

/*
 * mts_writer_is_full
 *		Tell whether it is time to send the batch.
 *
 * The points of complete buckets are sent if they are the most.  Otherwise,
 * the batch is full when it has no more memory.  Before that, the last one is
 * awaited, which has its memory until it is stored.
 */
bool
mts_writer_is_full(MtsWriter *writer)
{
	if (writer->npoints < writer->next_check)
		return false;
	if ((writer->npoints >= writer->batch_size &&
		 mark_kept(writer) <= writer->npoints / 2) ||
		is_out_of_memory(writer))
		return true;
	writer->next_check =
		writer->npoints + Max(writer->table->batch_size / CHECKS_PER_BATCH, 1);
	return false;
}

/*
 * Tell whether to keep points of growing buckets: if the others are the most,
 * and there is memory for a copy.
 */
static bool
should_keep(const MtsWriter *writer)
{
	Size memory = batch_memory(writer);
	int kept = mark_kept(writer);

	return kept <= writer->npoints / 2 &&
		   memory + memory / writer->npoints * kept <= get_hash_memory_limit();
}

/* Send the batch, but points of growing buckets may be kept. */
static void
send_batch(MtsWriter *writer, bool may_keep)
{
	MemoryContext batch = writer->batch;
	MemoryContext old = MemoryContextSwitchTo(batch);
	List *writes = NIL;
	bool keeps_points;
	ListCell *lc;

	if (has_open_buckets(writer))
		mts_open_bucket_find(writer->targeting, writer->bulk.connection,
							 writer->writes);
	keeps_points = may_keep && should_keep(writer);
	foreach (lc, writer->writes)
	{
		MtsBucketWrite *write = lfirst(lc);

		if (!keeps_points)
			write->nkept = 0;
		write->n -= write->nkept;
		if (write->n > 0)
			writes = lappend(writes, write);
	}
	send_slices(writer, writes);
	writer->batch = writer->sent;
	writer->sent = batch;
	MemoryContextSwitchTo(writer->batch);
	begin_next_batch(writer);
	MemoryContextSwitchTo(old);
}

/*
 * mts_writer_send
 *		Send the batch, and begin a new one while it is stored.
 *
 * An error of the batch is raised with the next one, or by mts_writer_flush.
 */
void
mts_writer_send(MtsWriter *writer)
{
	send_batch(writer, true);
}

/*
 * mts_writer_flush
 *		Send the batch, and wait until it is stored.
 */
void
mts_writer_flush(MtsWriter *writer)
{
	send_batch(writer, false);
	finish_sent(writer);
}
