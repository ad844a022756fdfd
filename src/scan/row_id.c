/*
 * row_id.c
 *		Identify the rows of a scan for a statement that changes them.
 *
 * A row's id is its ctid.  The block number stands for a range of slots of one
 * bucket.  The offset is the lower bits of the slot's number plus 1, because 0
 * is not a valid offset.  Both lead to the _id of the bucket and to the slot.
 * Ids are valid within one statement.  A slot that is read again gets the same
 * id.
 */
#include "scan/row_id.h"

#include "common/hashfn.h"
#include "lib/stringinfo.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "driver/document.h"

/* The bits of a slot's number in the offset */
#define LOW_BITS 15
#define LOW_MASK ((1 << LOW_BITS) - 1)

/*
 * A bucket or a range.  The key of a bucket is the type and value of its _id
 * and its collection.  The key of a range is the ordinal of its bucket, the
 * upper bits of its slots' numbers, and the texts of their {column} levels.
 */
typedef struct Entry
{
	const char *key;
	int len;
	MtsRowIdBucket *bucket; /* if the entry is a bucket */
	uint32 block;           /* if the entry is a range */
} Entry;

struct MtsRowIds
{
	const MtsLayout *layout;
	MemoryContext context;
	HTAB *entries;
	MtsRowIdRange **ranges; /* by block */
	uint32 n;               /* number of ranges */
	uint32 room;
	int64 nbuckets;
	StringInfoData key; /* of the entry that is looked up */
	bool is_complete;   /* no more rows get ids */
};

static uint32
hash_key(const void *key, Size size)
{
	const Entry *entry = key;

	return hash_bytes((const unsigned char *) entry->key, entry->len);
}

static int
match_keys(const void *a, const void *b, Size size)
{
	const Entry *left = a, *right = b;

	return left->len != right->len ||
		   memcmp(left->key, right->key, left->len) != 0;
}

/* mts_row_ids_new: prepare to identify rows in the current memory context. */
MtsRowIds *
mts_row_ids_new(const MtsLayout *layout)
{
	HASHCTL control = {.keysize = offsetof(Entry, bucket),
					   .entrysize = sizeof(Entry),
					   .hash = hash_key,
					   .match = match_keys,
					   .hcxt = CurrentMemoryContext};
	MtsRowIds *ids = palloc0(sizeof(MtsRowIds));

	ids->layout = layout;
	ids->context = CurrentMemoryContext;
	ids->entries =
		hash_create("mongo_ts_fdw row ids", 256, &control,
					HASH_ELEM | HASH_FUNCTION | HASH_COMPARE | HASH_CONTEXT);
	ids->room = 256;
	ids->ranges = palloc(ids->room * sizeof(MtsRowIdRange *));
	initStringInfo(&ids->key);
	return ids;
}

/* Find the entry of ids->key, or make it unless ids are complete. */
static Entry *
find_entry(MtsRowIds *ids, bool *found)
{
	Entry key = {ids->key.data, ids->key.len};
	Entry *entry =
		hash_search(ids->entries, &key,
					ids->is_complete ? HASH_FIND : HASH_ENTER, found);

	if (entry && !*found)
		entry->key = memcpy(palloc(key.len), key.key, key.len);
	return entry;
}

/* Return the _id of the bucket that is unfolded, or raise an error. */
static MtsElement
bucket_id(const MtsUnfold *unfold)
{
	MtsStep step = {.kind = MTS_STEP_NAME, .name = "_id", .len = 3};
	MtsElement id;

	if (mts_path_find(&unfold->document, &step, 1, &id) != MTS_FOUND)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot change a MongoDB document that has no _id"),
				 errdetail("Documents of a view or a time-series collection "
						   "can lack one.")));
	return id;
}

/* Find the bucket that is unfolded, or add it unless ids are complete. */
static MtsRowIdBucket *
find_bucket(MtsRowIds *ids, const char *collection, const MtsUnfold *unfold)
{
	MtsElement id = bucket_id(unfold);
	MtsRowIdBucket *bucket;
	Entry *entry;
	bool found;

	resetStringInfo(&ids->key);
	appendStringInfoCharMacro(&ids->key, 'b');
	appendStringInfoCharMacro(&ids->key, id.type);
	appendBinaryStringInfo(&ids->key, (const char *) id.value, id.size);
	if (collection)
		appendStringInfoString(&ids->key, collection);
	entry = find_entry(ids, &found);
	if (found || !entry)
		return entry ? entry->bucket : NULL;
	bucket = entry->bucket = palloc(sizeof(MtsRowIdBucket));
	bucket->id = mts_document_value(&id);
	bucket->collection = collection ? pstrdup(collection) : NULL;
	bucket->start = unfold->start;
	bucket->ordinal = ids->nbuckets++;
	return bucket;
}

/*
 * Return the block of the range that has a point's slot, and make the range
 * unless ids are complete.  upper has the upper bits of the slot's number.
 * Returns InvalidBlockNumber if there is no range.
 */
static uint32
find_block(MtsRowIds *ids, MtsRowIdBucket *bucket, int64 upper,
		   const MtsPoint *point)
{
	const MtsLayout *layout = ids->layout;
	MtsRowIdRange *range;
	Entry *entry;
	bool found;

	resetStringInfo(&ids->key);
	appendStringInfoCharMacro(&ids->key, 's');
	appendBinaryStringInfo(&ids->key, (char *) &bucket->ordinal,
						   sizeof(bucket->ordinal));
	appendBinaryStringInfo(&ids->key, (char *) &upper, sizeof(upper));
	for (int i = 0; i < layout->nslots; i++)
		if (layout->slots[i]->kind == MTS_STEP_COLUMN_KEY)
			appendBinaryStringInfo(&ids->key, point->slots[i].text,
								   point->slots[i].len + 1);
	entry = find_entry(ids, &found);
	if (found || !entry)
		return entry ? entry->block : InvalidBlockNumber;
	if (ids->n == ids->room)
	{
		ids->room *= 2;
		ids->ranges =
			repalloc_huge(ids->ranges, ids->room * sizeof(MtsRowIdRange *));
	}
	range = ids->ranges[ids->n] = palloc0(sizeof(MtsRowIdRange));
	range->bucket = bucket;
	return entry->block = ids->n++;
}

/*
 * mts_row_ids_add
 *		Identify the row of a point of the bucket that is unfolded.
 *
 * *tid is invalid if ids are complete and the row has none.
 */
void
mts_row_ids_add(MtsRowIds *ids, const char *collection,
				const MtsUnfold *unfold, const MtsPoint *point,
				ItemPointer tid)
{
	MemoryContext old = MemoryContextSwitchTo(ids->context);
	MtsRowIdBucket *bucket = find_bucket(ids, collection, unfold);
	int64 index[MTS_MAX_SLOTS];
	int64 number;
	BlockNumber block = InvalidBlockNumber;

	for (int i = 0; i < ids->layout->nslots; i++)
		index[i] = point->slots[i].index;
	number = mts_layout_slot_number(ids->layout, index);
	if (bucket)
		block = find_block(ids, bucket, number >> LOW_BITS, point);
	if (block == InvalidBlockNumber)
		ItemPointerSetInvalid(tid);
	else
		ItemPointerSet(tid, block, (number & LOW_MASK) + 1);
	MemoryContextSwitchTo(old);
}

/*
 * mts_row_ids_complete
 *		Give no ids to more rows, because all rows to be changed have been
 *		read.
 */
void
mts_row_ids_complete(MtsRowIds *ids)
{
	ids->is_complete = true;
}

/*
 * mts_row_ids_find
 *		Find the range of a row id, and the lower bits of its slot's number.
 */
MtsRowIdRange *
mts_row_ids_find(const MtsRowIds *ids, ItemPointer tid, int *low)
{
	BlockNumber block = ItemPointerGetBlockNumberNoCheck(tid);

	if (block >= ids->n)
		elog(ERROR, "a row to be changed has not been read");
	*low = ItemPointerGetOffsetNumberNoCheck(tid) - 1;
	return ids->ranges[block];
}

/*
 * mts_row_ids_mark
 *		Add a slot to a set of a range; false if it is a member already.
 */
bool
mts_row_ids_mark(MtsRowIds *ids, Bitmapset **set, int low)
{
	MemoryContext old;

	if (bms_is_member(low, *set))
		return false;
	old = MemoryContextSwitchTo(ids->context);
	*set = bms_add_member(*set, low);
	MemoryContextSwitchTo(old);
	return true;
}
