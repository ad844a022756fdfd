/*
 * bucket_map.c
 *		Map the rows of a batch to buckets, and know which of these grow.
 *
 * The rows of a bucket become one write.  They agree in the attributes of
 * their bucket, as far as they give them.  Whether the bucket agrees is
 * checked by its update.
 *
 * Rows in the order of time come in turn for the buckets of all series, which
 * grow together.  MongoDB writes a document anew each time that points are
 * added to it.  So a batch that is sent leaves out the buckets that are still
 * growing, and their points are copied into the next one.  Where buckets hold
 * a limited number of points, those of full ones are sent.  A bucket still
 * grows if it got rows within twice its usual interval.  The buckets of the
 * last batch are remembered, because a batch can be too short for a second
 * turn.
 *
 * Without this, rows in order of time took 35 to 120 times as long with a
 * large work_mem.  With the default one, the time of a load differs by -17 to
 * +24 %.
 */
#include "modify/bucket_map.h"

#include "access/htup_details.h"
#include "common/hashfn.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "driver/document.h"
#include "driver/server_error.h"
#include "table/collections.h"
#include "table/type.h"

/* A column whose value is that of a bucket */
typedef struct MtsBucketColumn
{
	int column;
	int16 typlen;
	bool typbyval;
	TypeCacheEntry *type; /* hashes and compares values; NULL if those of
						   * different bytes are never equal */
} MtsBucketColumn;

/* What identifies a bucket */
typedef struct Key
{
	const MtsBucketMap *map;
	MtsTime start;
	Datum *values; /* by column; in an entry, also the first attributes of its
					* write that are not null */
	bool *nulls;
} Key;

/* A bucket of the batch or the last one */
typedef struct MtsBucketEntry
{
	Key key;
	MtsBucketWrite *write;       /* NULL without points in the batch */
	struct MtsBucketEntry *next; /* of the row after the last row of this
								  * bucket, or NULL */
	bool was_written;            /* by the statement */
	MtsOpenBucket *open;         /* see open_bucket.c; NULL where there is no
								  * limit */

	/* its turns: rows that follow those of another bucket */
	int64 nturns;
	int64 first; /* the rows with which its first and last turn began */
	int64 last;
} MtsBucketEntry;

/* ---- Buckets ------------------------------------------------------------ */

static uint32
hash_key(const void *arg, Size size)
{
	const Key *key = arg;
	uint32 hash =
		hash_bytes((const unsigned char *) &key->start, sizeof(key->start));

	for (int i = 0; i < key->map->nkeys; i++)
	{
		const MtsBucketColumn *column = &key->map->columns[i];
		Datum value = key->values[i];
		uint32 part = 0;

		if (!key->nulls[i] && column->type)
			part = DatumGetUInt32(
				FunctionCall1(&column->type->hash_proc_finfo, value));
		else if (!key->nulls[i])
			part = datum_image_hash(value, column->typbyval, column->typlen);
		hash = hash_combine(hash, part);
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
are_equal(const MtsBucketColumn *column, Datum a, Datum b)
{
	return column->type
			   ? DatumGetBool(FunctionCall2(&column->type->eq_opr_finfo, a, b))
			   : have_same_image(column, a, b);
}

static int
match_keys(const void *a, const void *b, Size size)
{
	const Key *left = a, *right = b;

	if (left->start != right->start)
		return 1;
	for (int i = 0; i < left->map->nkeys; i++)
		if (left->nulls[i] != right->nulls[i] ||
			(!left->nulls[i] && !are_equal(&left->map->columns[i],
										   left->values[i], right->values[i])))
			return 1;
	return 0;
}

/*
 * mts_bucket_map_reset
 *		Forget all buckets.
 */
void
mts_bucket_map_reset(MtsBucketMap *map)
{
	HASHCTL control = {.keysize = sizeof(Key),
					   .entrysize = sizeof(MtsBucketEntry),
					   .hash = hash_key,
					   .match = match_keys,
					   .hcxt = map->memory};

	MemoryContextReset(map->memory);
	map->entries =
		hash_create("mongo_ts_fdw buckets", 256, &control,
					HASH_ELEM | HASH_FUNCTION | HASH_COMPARE | HASH_CONTEXT);
	map->last = NULL;
}

/* Append the columns of buckets that are attributes, or that are keys. */
static void
append_columns(MtsBucketMap *map, bool are_attributes)
{
	const MtsTable *table = map->targeting->table;

	for (int i = 0; i < table->layout.ncolumns; i++)
	{
		MtsBucketColumn *column = &map->columns[map->ncolumns];
		Oid typid;

		if ((table->layout.columns[i].role == MTS_ROLE_ATTRIBUTE) !=
				are_attributes ||
			!mts_row_target_is_of_bucket(map->targeting, i))
			continue;
		typid = getBaseType(table->attributes[i].typid);
		column->column = i;
		get_typlenbyval(typid, &column->typlen, &column->typbyval);
		if (mts_type_is_fraction(typid))
			column->type =
				lookup_type_cache(typid, TYPECACHE_HASH_PROC_FINFO |
											 TYPECACHE_EQ_OPR_FINFO);
		map->ncolumns++;
	}
}

/*
 * mts_bucket_map_init
 *		Begin without buckets, in the current memory context.
 */
void
mts_bucket_map_init(MtsBucketMap *map, const MtsTargeting *targeting)
{
	*map = (MtsBucketMap){.targeting = targeting};
	map->columns =
		palloc0(targeting->table->layout.ncolumns * sizeof(MtsBucketColumn));
	append_columns(map, false);
	map->nkeys = map->ncolumns;
	append_columns(map, true);
	map->memory =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw buckets",
							  ALLOCSET_DEFAULT_SIZES);
	mts_bucket_map_reset(map);
}

/* ---- Entries ------------------------------------------------------------ */

/* Copy a value of a column into an entry. */
static void
set_value(MtsBucketEntry *entry, int i, bool isnull, Datum value)
{
	const MtsBucketColumn *column = &entry->key.map->columns[i];
	MemoryContext old = MemoryContextSwitchTo(entry->key.map->memory);

	if (!entry->key.nulls[i] && !column->typbyval)
		pfree(DatumGetPointer(entry->key.values[i]));
	entry->key.nulls[i] = isnull;
	if (!isnull)
		entry->key.values[i] =
			datumCopy(value, column->typbyval, column->typlen);
	MemoryContextSwitchTo(old);
}

/* Find the entry of a bucket, or make it. */
static MtsBucketEntry *
find_entry(MtsBucketMap *map, const Key *key)
{
	const MtsTargeting *targeting = map->targeting;
	MemoryContext old;
	bool found;
	MtsBucketEntry *entry = hash_search(map->entries, key, HASH_ENTER, &found);

	if (found)
		return entry;
	*entry = (MtsBucketEntry){.key = *key};
	old = MemoryContextSwitchTo(map->memory);
	entry->key.values = palloc(map->ncolumns * sizeof(Datum));
	entry->key.nulls = palloc(map->ncolumns * sizeof(bool));
	/* those that must meet other terms of the filter are found by these */
	if (targeting->table->layout.max_points > 0 &&
		bson_empty(targeting->identity->others))
		entry->open = palloc0(sizeof(MtsOpenBucket));
	MemoryContextSwitchTo(old);
	memset(entry->key.nulls, true, map->ncolumns * sizeof(bool));
	for (int i = 0; i < map->nkeys; i++)
		set_value(entry, i, key->nulls[i], key->values[i]);
	return entry;
}

/* Remove the entry of a bucket. */
static void
remove_entry(MtsBucketMap *map, MtsBucketEntry *entry)
{
	MtsBucketEntry removed = *entry;

	if (map->last == entry)
		map->last = NULL;
	(void) hash_search(map->entries, entry, HASH_REMOVE, NULL);
	for (int i = 0; i < map->ncolumns; i++)
		set_value(&removed, i, true, 0);
	if (removed.open)
	{
		mts_open_bucket_set(removed.open, NULL, 0);
		pfree(removed.open);
	}
	pfree(removed.key.values);
	pfree(removed.key.nulls);
}

/* Begin a turn of a bucket. */
static void
begin_turn(MtsBucketMap *map, MtsBucketEntry *entry)
{
	if (map->last)
		map->last->next = entry;
	map->last = entry;
	if (entry->nturns++ == 0)
	{
		entry->first = map->nrows;
		map->nfirst_turns++;
	}
	else
	{
		map->nlater_turns++;
		map->between_turns += map->nrows - entry->last;
	}
	entry->last = map->nrows;
}

/* Raise an error: rows of the statement give a bucket two attributes. */
static _Noreturn void
refuse_attribute(const MtsTable *table, int column, const bson_value_t *old,
				 const bson_value_t *new)
{
	bson_t *values = mts_document_make("{first: %v, second: %v}", old, new);

	ereport(
		ERROR,
		(errcode(ERRCODE_INTEGRITY_CONSTRAINT_VIOLATION),
		 errmsg("cannot store two values of column \"%s\" in one bucket of "
				"MongoDB collection \"%s.%s\"",
				table->layout.columns[column].name, table->database,
				table->collection),
		 errdetail("Rows of the statement give %s.",
				   mts_document_shell(values)),
		 errhint("%s", MTS_ATTRIBUTE_HINT)));
	pg_unreachable();
}

/*
 * Add the attributes of a row to the write of its bucket, which has no others.
 *
 * The rows of a bucket mostly have the same bytes, which are compared before
 * the values are.
 */
static void
add_attributes(MtsBucketEntry *entry, TupleTableSlot *slot)
{
	const MtsBucketMap *map = entry->key.map;

	for (int i = map->nkeys; i < map->ncolumns; i++)
	{
		const MtsBucketColumn *attribute = &map->columns[i];
		bson_value_t *stored = &entry->write->values[attribute->column];
		Datum value = slot->tts_values[attribute->column];
		bson_value_t encoded;

		if (slot->tts_isnull[attribute->column] ||
			(!entry->key.nulls[i] &&
			 have_same_image(attribute, entry->key.values[i], value)))
			continue;
		mts_row_target_encode_column(map->targeting, slot, attribute->column,
									 &encoded);
		if (entry->key.nulls[i])
		{
			set_value(entry, i, false, value);
			*stored = encoded;
		}
		else if (!mts_row_target_same_value(stored, &encoded))
			refuse_attribute(map->targeting->table, attribute->column, stored,
							 &encoded);
	}
}

/*
 * mts_bucket_map_find
 *		Return the write of the bucket that a row belongs to; NULL if it is to
 *		be begun.
 *
 * Rows often come in turn for the same buckets, so the bucket is looked for
 * where the last row of the last bucket was followed by it.
 */
MtsBucketWrite *
mts_bucket_map_find(MtsBucketMap *map, TupleTableSlot *slot, MtsTime start)
{
	Datum values[MaxTupleAttributeNumber];
	bool nulls[MaxTupleAttributeNumber];
	Key key = {map, start, values, nulls};
	MtsBucketEntry *last = map->last;
	MtsBucketEntry *entry = last ? last->next : NULL;

	map->nrows++;
	for (int i = 0; i < map->nkeys; i++)
	{
		values[i] = slot->tts_values[map->columns[i].column];
		nulls[i] = slot->tts_isnull[map->columns[i].column];
	}
	if (!entry || match_keys(&entry->key, &key, 0) != 0)
		entry = last && match_keys(&last->key, &key, 0) == 0
					? last
					: find_entry(map, &key);
	if (entry != last)
		begin_turn(map, entry);
	if (entry->write && !entry->write->is_move)
		add_attributes(entry, slot);
	return entry->write;
}

/*
 * mts_bucket_map_begin
 *		Set the write of the last row's bucket, which begins with this row.
 */
void
mts_bucket_map_begin(MtsBucketMap *map, MtsBucketWrite *write,
					 TupleTableSlot *slot)
{
	MtsBucketEntry *entry = map->last;

	entry->write = write;
	write->was_written = entry->was_written;
	write->open = write->is_move ? NULL : entry->open;
	for (int i = map->nkeys; i < map->ncolumns; i++)
		set_value(entry, i, slot->tts_isnull[map->columns[i].column],
				  slot->tts_values[map->columns[i].column]);
}

/* ---- Growing buckets ---------------------------------------------------- */

/*
 * Tell whether more points of a bucket are expected.  A bucket in its first
 * turn is as the others, if most turns are not the first ones.
 */
static bool
is_growing(const MtsBucketMap *map, const MtsBucketEntry *entry)
{
	int64 nrows = map->nrows - entry->last;

	if (entry == map->last)
		return true;
	if (entry->nturns > 1)
		return nrows * (entry->nturns - 1) <= 2 * (entry->last - entry->first);
	return map->nlater_turns > map->nfirst_turns &&
		   nrows * map->nlater_turns <= 2 * map->between_turns;
}

/*
 * Return how many of the points of a growing bucket are kept: those of the
 * last one, where buckets hold a limited number of points.
 */
static int
count_kept(const MtsLayout *layout, const MtsBucketWrite *write)
{
	int64 room = write->open ? mts_open_bucket_room(write->open, layout) : 0;

	if (!write->open || write->n < room)
		return write->n;
	return (int) ((write->n - room) % layout->max_points);
}

/*
 * mts_bucket_map_mark_kept
 *		Mark the points of growing buckets that are kept for the next batch,
 *		and return how many they are.
 */
int
mts_bucket_map_mark_kept(MtsBucketMap *map)
{
	const MtsLayout *layout = &map->targeting->table->layout;
	HASH_SEQ_STATUS status;
	MtsBucketEntry *entry;
	int npoints = 0;

	hash_seq_init(&status, map->entries);
	while ((entry = hash_seq_search(&status)))
		if (entry->write)
		{
			entry->write->nkept =
				is_growing(map, entry) ? count_kept(layout, entry->write) : 0;
			npoints += entry->write->nkept;
		}
	return npoints;
}

/* Copy the points of a write that are kept. */
static MtsBucketWrite *
copy_write(const MtsTable *table, const MtsBucketWrite *write)
{
	const MtsLayout *layout = &table->layout;
	MtsBucketWrite *copy = palloc(sizeof(MtsBucketWrite));

	*copy = *write;
	copy->collection = mts_collections_at(table, write->start);
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
 * mts_bucket_map_begin_batch
 *		Begin a batch behind one that was sent, except the points that are
 *		kept, and return the writes of these.
 *
 * The buckets without points in the last batch are forgotten.  The writes are
 * copied into the current memory context.
 */
List *
mts_bucket_map_begin_batch(MtsBucketMap *map)
{
	List *writes = NIL;
	HASH_SEQ_STATUS status;
	MtsBucketEntry *entry;

	hash_seq_init(&status, map->entries);
	while ((entry = hash_seq_search(&status)))
	{
		MtsBucketWrite *write = entry->write;

		entry->next = NULL;
		entry->write = NULL;
		if (!write)
		{
			remove_entry(map, entry);
			continue;
		}
		entry->was_written |= write->n > 0;
		if (write->nkept > 0)
		{
			entry->write = copy_write(map->targeting->table, write);
			writes = lappend(writes, entry->write);
		}
	}
	return writes;
}
