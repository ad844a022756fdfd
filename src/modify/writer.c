/*
 * writer.c
 *		Collect rows as writes of buckets, and send a batch of them at once.
 *
 * The rows of one bucket become one write, which is much faster than one write
 * each.  A batch lives in a memory context of its own, which is reset when the
 * batch has been sent.
 *
 * A new bucket that is inserted whole takes the server much less time than an
 * upsert of its slots.  An insert is safe only where a unique index refuses a
 * second bucket with the same key; a refused bucket is then updated (see
 * bulk.c).  Whether the buckets of a statement exist is not known.  Where a
 * batch fills many buckets, the first of them are inserted, and all others
 * unless most of these were refused.  This is not done in a rolling set, whose
 * collections can have different indexes.
 */
#include "modify/writer.h"

#include "common/hashfn.h"
#include "fmgr.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "core/update/new_bucket.h"
#include "driver/document.h"
#include "modify/route.h"
#include "table/collections.h"
#include "table/index.h"
#include "table/native.h"
#include "table/type.h"

/*
 * Only a batch with this many buckets, and on average this many points in
 * each, is tried as new buckets
 */
#define MIN_BUCKETS 64
#define MIN_POINTS_PER_BUCKET 4

/* Buckets that are inserted to learn whether they are new */
#define TRIALS 32

/* A column whose value identifies buckets */
typedef struct MtsKeyColumn
{
	int column;
	int16 typlen;
	bool typbyval;
	bool is_fraction; /* values of different bytes can be equal */
	FmgrInfo hash;    /* these two only if is_fraction */
	FmgrInfo equal;
} MtsKeyColumn;

/* A bucket of the batch, by what identifies it */
typedef struct MtsBatchEntry
{
	/* the key */
	const MtsWriter *writer;
	MtsTime start;
	Datum *values; /* by key column */
	bool *nulls;

	MtsBucketWrite *write;
	struct MtsBatchEntry *next; /* of the row after the last row of this
								 * bucket, or NULL */
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
		MtsKeyColumn *key = &entry->writer->keys[i];
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

static bool
are_equal(MtsKeyColumn *key, Datum a, Datum b)
{
	if (key->is_fraction)
		return DatumGetBool(FunctionCall2(&key->equal, a, b));
	return datum_image_eq(a, b, key->typbyval, key->typlen);
}

static int
match_entries(const void *a, const void *b, Size size)
{
	const MtsBatchEntry *left = a, *right = b;

	if (left->start != right->start)
		return 1;
	for (int i = 0; i < left->writer->nkeys; i++)
		if (left->nulls[i] != right->nulls[i] ||
			(!left->nulls[i] && !are_equal(&left->writer->keys[i],
										   left->values[i], right->values[i])))
			return 1;
	return 0;
}

static void
prepare_key(MtsKeyColumn *key, const MtsTable *table, int column)
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

/*
 * Look up the columns that identify buckets: those of the bucket, except
 * attributes, which are set by the first row.
 */
static void
prepare_keys(MtsWriter *writer)
{
	const MtsLayout *layout = &writer->table->layout;

	writer->keys = palloc0(layout->ncolumns * sizeof(MtsKeyColumn));
	for (int i = 0; i < layout->ncolumns; i++)
		if (layout->columns[i].role != MTS_ROLE_ATTRIBUTE &&
			mts_row_target_is_of_bucket(writer->targeting, i))
			prepare_key(&writer->keys[writer->nkeys++], writer->table, i);
}

/* ---- Rows --------------------------------------------------------------- */

/*
 * mts_writer_discard
 *		Forget the batch, and begin an empty one.
 */
void
mts_writer_discard(MtsWriter *writer)
{
	HASHCTL control = {.keysize = offsetof(MtsBatchEntry, write),
					   .entrysize = sizeof(MtsBatchEntry),
					   .hash = hash_entry,
					   .match = match_entries,
					   .hcxt = writer->batch};

	MemoryContextReset(writer->batch);
	writer->entries =
		hash_create("mongo_ts_fdw buckets", 256, &control,
					HASH_ELEM | HASH_FUNCTION | HASH_COMPARE | HASH_CONTEXT);
	writer->last = NULL;
	writer->writes = NIL;
	writer->npoints = 0;
}

/*
 * mts_writer_new
 *		Prepare to write into a table with the rights of a user's mapping.
 */
MtsWriter *
mts_writer_new(MtsTable *table, Oid userid)
{
	MtsWriter *writer = palloc0(sizeof(MtsWriter));

	writer->table = table;
	writer->userid = userid;
	writer->targeting = mts_row_target_prepare(table);
	mts_route_init(&writer->bulk, table, userid);
	prepare_keys(writer);
	writer->batch =
		GenerationContextCreate(CurrentMemoryContext, "mongo_ts_fdw batch",
								ALLOCSET_DEFAULT_SIZES);
	writer->sent =
		GenerationContextCreate(CurrentMemoryContext, "mongo_ts_fdw batch",
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
	write->may_overwrite = writer->moves_points &&
						   writer->table->layout.write_mode != MTS_WRITE_PUSH;
	mts_row_target_encode_bucket(writer->targeting, slot, values);
	writer->writes = lappend(writer->writes, write);
	return write;
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
	Datum values[MaxTupleAttributeNumber];
	bool nulls[MaxTupleAttributeNumber];
	MtsBatchEntry key = {writer, start, values, nulls};
	MtsBatchEntry *last = writer->last, *entry = last;
	bool found;

	for (int i = 0; i < writer->nkeys; i++)
	{
		values[i] = slot->tts_values[writer->keys[i].column];
		nulls[i] = slot->tts_isnull[writer->keys[i].column];
	}
	for (int i = 0; i < 2 && entry; i++, entry = last->next)
		if (match_entries(entry, &key, 0) == 0)
		{
			writer->last = entry;
			return entry->write;
		}
	entry = hash_search(writer->entries, &key, HASH_ENTER, &found);
	if (!found)
	{
		entry->next = NULL;
		entry->values = palloc(writer->nkeys * sizeof(Datum));
		entry->nulls = palloc(writer->nkeys * sizeof(bool));
		memcpy(entry->nulls, nulls, writer->nkeys * sizeof(bool));
		for (int i = 0; i < writer->nkeys; i++)
			entry->values[i] =
				nulls[i] ? (Datum) 0
						 : datumCopy(values[i], writer->keys[i].typbyval,
									 writer->keys[i].typlen);
		entry->write = begin_write(writer, slot, start,
								   palloc0(writer->table->layout.ncolumns *
										   sizeof(bson_value_t)));
	}
	if (last)
		last->next = entry;
	writer->last = entry;
	return entry->write;
}

/*
 * mts_writer_add
 *		Add a row to the batch, and return the write of its bucket.
 *
 * The row is copied.  Where the time is rounded, the caller's row gets the
 * rounded time, too.
 */
MtsBucketWrite *
mts_writer_add(MtsWriter *writer, TupleTableSlot *slot)
{
	MemoryContext old = MemoryContextSwitchTo(writer->batch);
	MtsRowTarget *target;
	MtsBucketWrite *write;

	slot_getallattrs(slot);
	if (!writer->moves_points)
		mts_row_target_check_new(writer->targeting, slot);
	target = mts_row_target_make(writer->targeting, slot, NULL);
	target->change.order = writer->npoints++;
	if (writer->moves_points)
		target->change.kind = MTS_CHANGE_SET;
	write = writer->table->layout.nslots > 0
				? find_write(writer, slot, target->start)
				: begin_write(writer, slot, target->time, target->values);
	mts_bucket_write_add(&writer->table->layout, write, &target->change);
	MemoryContextSwitchTo(old);
	return write;
}

/* mts_writer_is_full: return whether it is time to send the batch. */
bool
mts_writer_is_full(const MtsWriter *writer)
{
	return writer->npoints >= writer->table->batch_size;
}

/* ---- New buckets -------------------------------------------------------- */

/*
 * Return whether the table's own index exists and refuses a second bucket with
 * the same key.  Not where the key lies in _id: no such index is described.
 */
static bool
has_unique_index(const MtsWriter *writer)
{
	const MtsBulk *bulk = &writer->bulk;
	bson_t *index = mts_document_new();

	(void) mts_index_describe(writer->table, writer->targeting->identity,
							  index);
	return bson_has_field(index, "unique") &&
		   mts_index_find(bulk->connection, bulk->database, bulk->collection,
						  index, NULL);
}

/* Return whether the batch looks like new buckets that can be inserted. */
static bool
looks_new(const MtsWriter *writer)
{
	int nbuckets = list_length(writer->writes);

	return nbuckets >= MIN_BUCKETS &&
		   writer->npoints >= nbuckets * MIN_POINTS_PER_BUCKET &&
		   !writer->moves_points && !writer->table->rolling_name &&
		   mts_new_bucket_is_possible(&writer->table->layout) &&
		   bson_empty(writer->targeting->identity->others);
}

/* ---- Sending ------------------------------------------------------------ */

/* Wait until the last batch is stored, and forget it. */
static void
finish_sent(MtsWriter *writer)
{
	MtsBulk *bulk = &writer->bulk;

	mts_bulk_end(bulk);
	if (writer->ntried > 0 && bulk->existing * 2 >= writer->ntried)
		writer->new_buckets = MTS_NEW_NO;
	if (bulk->affected < writer->nops)
		mts_writer_refuse(
			writer, "Another point has been stored in one of the slots.");
	writer->nops = writer->ntried = 0;
	MemoryContextReset(writer->sent);
}

/*
 * Build the writes of the batch from number first up to end, and send them
 * when the last batch is stored.
 */
static void
send_writes(MtsWriter *writer, int first, int end)
{
	MtsOp *ops = palloc(writer->npoints * sizeof(MtsOp) + 1);
	int nops = 0, ntried = 0;

	for (int i = first; i < end; i++)
	{
		MtsBucketWrite *write = list_nth(writer->writes, i);

		write->is_assumed_new = writer->new_buckets == MTS_NEW_YES;
		mts_bucket_write_sort(&writer->table->layout, write);
		nops += mts_bucket_write_ops(writer->targeting, write, ops + nops);
	}
	for (int i = 0; i < nops; i++)
		ntried += ops[i].new_bucket != NULL;
	finish_sent(writer);
	writer->nops = nops;
	writer->ntried = ntried;
	mts_route_begin(&writer->bulk, ops, nops);
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
	MemoryContext batch = writer->batch;
	MemoryContext old = MemoryContextSwitchTo(batch);
	int ntrials = 0;

	if (writer->new_buckets == MTS_NEW_UNKNOWN && looks_new(writer))
	{
		writer->new_buckets =
			has_unique_index(writer) ? MTS_NEW_YES : MTS_NEW_NO;
		ntrials = writer->new_buckets == MTS_NEW_YES ? TRIALS : 0;
		send_writes(writer, 0, ntrials);
		finish_sent(writer);
	}
	send_writes(writer, ntrials, list_length(writer->writes));
	writer->batch = writer->sent;
	writer->sent = batch;
	mts_writer_discard(writer);
	MemoryContextSwitchTo(old);
}

/*
 * mts_writer_flush
 *		Send the batch, and wait until it is stored.
 */
void
mts_writer_flush(MtsWriter *writer)
{
	MemoryContext old;

	mts_writer_send(writer);
	old = MemoryContextSwitchTo(writer->sent);
	finish_sent(writer);
	MemoryContextSwitchTo(old);
}

/*
 * mts_writer_refuse
 *		Raise an error: stored points differ from those that were read.
 */
void
mts_writer_refuse(const MtsWriter *writer, const char *detail)
{
	const MtsBulk *bulk = &writer->bulk;
	bool is_partial = bulk->points_stored > 0 || bulk->affected > 0;

	mts_bulk_check_view(bulk);
	ereport(
		ERROR,
		(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
		 errmsg("points of MongoDB collection \"%s.%s\" have changed since "
				"this statement read them",
				bulk->database, bulk->collection),
		 errdetail("%s\nThe statement had changed " INT64_FORMAT
				   " points before.",
				   detail, bulk->points_stored),
		 is_partial
			 ? errhint(
				   "Check which points were changed before you run the statement again.")
			 : errhint("Run the statement again, unless another "
					   "part of it changes the same points.")));
}
