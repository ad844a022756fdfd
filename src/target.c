/*
 * target.c
 *		Number the rows of a scan, so that a row tells its bucket and slot.
 *
 * A row's ctid is the number of what is kept here: the bucket's _id and the
 * upper bits of the slot's number, whose lower bits are the ctid's offset.
 * It is of use in one statement only.  A bucket is kept once, so a rescan
 * gives the same row the same ctid.
 */
#include "target.h"

#include "common/hashfn.h"
#include "lib/stringinfo.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "core/slot.h"
#include "document.h"

/* What an offset holds */
#define LOW_BITS 15
#define LOW_MASK ((1 << LOW_BITS) - 1)

/* Bytes that tell something from another, as keys of hash tables */
typedef struct Bytes
{
	const char *data;
	int len;
} Bytes;

typedef struct BucketEntry
{
	Bytes key; /* type and value of the _id, and of a set the collection */
	MtsTargetBucket *bucket;
} BucketEntry;

typedef struct TargetEntry
{
	Bytes key; /* the bucket's ordinal, the number's upper bits, the texts */
	uint32 block;
} TargetEntry;

struct MtsTargets
{
	const MtsLayout *layout;
	MemoryContext context;
	HTAB *buckets;
	HTAB *entries;
	MtsTarget **items; /* by block */
	uint32 n;
	uint32 room;
	int64 nbuckets;
	StringInfoData key;
};

static uint32
hash_key(const void *key, Size size)
{
	const Bytes *bytes = key;

	return hash_bytes((const unsigned char *) bytes->data, bytes->len);
}

static int
match_keys(const void *a, const void *b, Size size)
{
	const Bytes *left = a, *right = b;

	return left->len != right->len ||
		   memcmp(left->data, right->data, left->len) != 0;
}

static HTAB *
make_table(const char *name, Size entry, MemoryContext context)
{
	HASHCTL control = {.keysize = sizeof(Bytes),
					   .entrysize = entry,
					   .hash = hash_key,
					   .match = match_keys,
					   .hcxt = context};

	return hash_create(name, 256, &control,
					   HASH_ELEM | HASH_FUNCTION | HASH_COMPARE |
						   HASH_CONTEXT);
}

/* Begin to number rows; all is kept in the current memory context. */
MtsTargets *
mts_targets_new(const MtsLayout *layout)
{
	MtsTargets *targets = palloc0(sizeof(MtsTargets));

	targets->layout = layout;
	targets->context = CurrentMemoryContext;
	targets->buckets = make_table("mongo_ts_fdw target buckets",
								  sizeof(BucketEntry), CurrentMemoryContext);
	targets->entries = make_table("mongo_ts_fdw targets", sizeof(TargetEntry),
								  CurrentMemoryContext);
	targets->room = 256;
	targets->items = palloc(targets->room * sizeof(MtsTarget *));
	initStringInfo(&targets->key);
	return targets;
}

/* Find an entry by the key that has been built, or make it. */
static void *
enter(MtsTargets *targets, HTAB *table, HASHACTION action, bool *found)
{
	Bytes key = {targets->key.data, targets->key.len};
	Bytes *entry = hash_search(table, &key, action, found);

	if (entry && !*found)
		entry->data = memcpy(palloc(key.len), key.data, key.len);
	return entry;
}

/* The _id of the bucket that is unfolded */
static MtsElement
bucket_id(const MtsUnfold *unfold)
{
	MtsStep step = {.kind = MTS_STEP_NAME, .name = "_id", .len = 3};
	MtsElement id;

	if (mts_element_find(&unfold->document, &step, 1, &id) != MTS_FOUND)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot change a MongoDB document that has no _id"),
				 errdetail("Documents of a view or a time-series collection "
						   "can lack one.")));
	return id;
}

static MtsTargetBucket *
find_bucket(MtsTargets *targets, const char *collection,
			const MtsUnfold *unfold, HASHACTION action)
{
	MtsElement id = bucket_id(unfold);
	BucketEntry *entry;
	bool found;

	resetStringInfo(&targets->key);
	appendStringInfoCharMacro(&targets->key, id.type);
	appendBinaryStringInfo(&targets->key, (const char *) id.value, id.size);
	if (collection)
		appendStringInfoString(&targets->key, collection);
	entry = enter(targets, targets->buckets, action, &found);
	if (!entry)
		return NULL;
	if (!found)
	{
		entry->bucket = palloc(sizeof(MtsTargetBucket));
		entry->bucket->id = mts_element_value(&id);
		entry->bucket->collection = collection ? pstrdup(collection) : NULL;
		entry->bucket->start = unfold->start;
		entry->bucket->ordinal = targets->nbuckets++;
	}
	return entry->bucket;
}

/* What is kept of the bucket that is unfolded, or NULL */
MtsTargetBucket *
mts_targets_bucket(MtsTargets *targets, const char *collection,
				   const MtsUnfold *unfold)
{
	return find_bucket(targets, collection, unfold, HASH_FIND);
}

/* The number of a point's slot; of a flat document there is one */
static int64
slot_number(const MtsLayout *layout, const MtsPoint *point)
{
	int64 index[MTS_MAX_SLOTS];

	for (int i = 0; i < layout->nslots; i++)
		index[i] = point->slots[i].index;
	return mts_slot_number(layout, index);
}

/* Find what is kept of a point's slot, or keep it; NULL when not found. */
static TargetEntry *
find_entry(MtsTargets *targets, MtsTargetBucket *bucket, int64 base,
		   const MtsPoint *point, HASHACTION action)
{
	const MtsLayout *layout = targets->layout;
	TargetEntry *entry;
	bool found;

	resetStringInfo(&targets->key);
	appendBinaryStringInfo(&targets->key, (char *) &bucket->ordinal,
						   sizeof(bucket->ordinal));
	appendBinaryStringInfo(&targets->key, (char *) &base, sizeof(base));
	for (int i = 0; i < layout->nslots; i++)
		if (layout->slots[i]->kind == MTS_STEP_COLUMN_KEY)
			appendBinaryStringInfo(&targets->key, point->slots[i].text,
								   point->slots[i].len + 1);
	entry = enter(targets, targets->entries, action, &found);
	if (!entry || found)
		return entry;
	if (targets->n == targets->room)
	{
		targets->room *= 2;
		targets->items =
			repalloc_huge(targets->items, targets->room * sizeof(MtsTarget *));
	}
	entry->block = targets->n++;
	targets->items[entry->block] = palloc0(sizeof(MtsTarget));
	targets->items[entry->block]->bucket = bucket;
	targets->items[entry->block]->block = entry->block;
	return entry;
}

/*
 * mts_targets_add
 *		Number a row: the point of the bucket that is unfolded.
 */
void
mts_targets_add(MtsTargets *targets, const char *collection,
				const MtsUnfold *unfold, const MtsPoint *point,
				ItemPointer tid)
{
	MemoryContext old = MemoryContextSwitchTo(targets->context);
	int64 number = slot_number(targets->layout, point);
	TargetEntry *entry =
		find_entry(targets,
				   find_bucket(targets, collection, unfold, HASH_ENTER),
				   number >> LOW_BITS, point, HASH_ENTER);

	ItemPointerSet(tid, entry->block, (number & LOW_MASK) + 1);
	MemoryContextSwitchTo(old);
}

/* What a row's ctid stands for, and the lower bits of its slot's number */
MtsTarget *
mts_targets_find(const MtsTargets *targets, ItemPointer tid, int *low)
{
	BlockNumber block = ItemPointerGetBlockNumberNoCheck(tid);

	if (block >= targets->n)
		elog(ERROR, "a row to be changed has not been read");
	*low = ItemPointerGetOffsetNumberNoCheck(tid) - 1;
	return targets->items[block];
}

/* What is kept of a point that was read again, or NULL */
MtsTarget *
mts_targets_lookup(MtsTargets *targets, const char *collection,
				   const MtsUnfold *unfold, const MtsPoint *point, int *low)
{
	MtsTargetBucket *bucket =
		find_bucket(targets, collection, unfold, HASH_FIND);
	int64 number = slot_number(targets->layout, point);
	TargetEntry *entry;

	if (!bucket)
		return NULL;
	*low = number & LOW_MASK;
	entry = find_entry(targets, bucket, number >> LOW_BITS, point, HASH_FIND);
	return entry ? targets->items[entry->block] : NULL;
}
