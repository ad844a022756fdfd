/*
 * pending.c
 *		The buckets that points wait for, told apart by start and keys.
 */
#include "writer.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

static uint32
hash_bucket(const void *arg, Size size)
{
	const MtsBucketKey *key = arg;
	uint32 hash =
		hash_bytes((const unsigned char *) &key->start, sizeof(key->start));

	for (int i = 0; i < key->writer->keys; i++)
	{
		MtsKeyColumn *column = &key->writer->key_columns[i];
		uint32 part = 0;

		if (!key->nulls[i])
			part = column->by_operator
					   ? DatumGetUInt32(
							 FunctionCall1(&column->hash, key->values[i]))
					   : datum_image_hash(key->values[i], column->typbyval,
										  column->typlen);
		hash = hash_combine(hash, part);
	}
	return hash;
}

static bool
same_keys(const MtsWriter *writer, const Datum *a, const bool *a_nulls,
		  const Datum *b, const bool *b_nulls)
{
	for (int i = 0; i < writer->keys; i++)
	{
		MtsKeyColumn *column = &writer->key_columns[i];

		if (a_nulls[i] != b_nulls[i])
			return false;
		if (a_nulls[i])
			continue;
		if (column->by_operator
				? !DatumGetBool(FunctionCall2(&column->equal, a[i], b[i]))
				: !datum_image_eq(a[i], b[i], column->typbyval,
								  column->typlen))
			return false;
	}
	return true;
}

static int
match_buckets(const void *a, const void *b, Size size)
{
	const MtsBucketKey *left = a, *right = b;

	return left->start != right->start ||
		   !same_keys(left->writer, left->values, left->nulls, right->values,
					  right->nulls);
}

/* All that is not of a point; of attributes, the first point's are taken */
static bool
tells_buckets_apart(const MtsPlacer *placer, int i)
{
	const MtsLayout *layout = &placer->table->layout;
	const MtsColumn *column = &layout->columns[i];

	return column->container < 0 && i != layout->time_column &&
		   column->role != MTS_ROLE_SLOT &&
		   column->role != MTS_ROLE_ATTRIBUTE &&
		   !placer->identity->read_only[i];
}

static void
prepare_key(MtsKeyColumn *key, const MtsTable *table, int column)
{
	Oid typid = getBaseType(table->attributes[column].typid);
	TypeCacheEntry *type;

	key->attribute = table->attributes[column].attnum - 1;
	get_typlenbyval(typid, &key->typlen, &key->typbyval);
	key->by_operator =
		typid == NUMERICOID || typid == FLOAT4OID || typid == FLOAT8OID;
	if (!key->by_operator)
		return;
	type = lookup_type_cache(typid, TYPECACHE_HASH_PROC_FINFO |
										TYPECACHE_EQ_OPR_FINFO);
	fmgr_info_copy(&key->hash, &type->hash_proc_finfo, CurrentMemoryContext);
	fmgr_info_copy(&key->equal, &type->eq_opr_finfo, CurrentMemoryContext);
}

/*
 * mts_pending_prepare
 *		Look up what tells the buckets of a writer apart.
 */
void
mts_pending_prepare(MtsWriter *writer)
{
	const MtsLayout *layout = &writer->table->layout;

	writer->key_columns = palloc0(layout->ncolumns * sizeof(MtsKeyColumn));
	for (int i = 0; i < layout->ncolumns; i++)
		if (tells_buckets_apart(writer->placer, i))
			prepare_key(&writer->key_columns[writer->keys++], writer->table,
						i);
}

/*
 * mts_pending_reset
 *		Begin without a bucket, in the memory of a new batch.
 */
void
mts_pending_reset(MtsWriter *writer)
{
	HASHCTL control = {.keysize = sizeof(MtsBucketKey),
					   .entrysize = sizeof(MtsPending),
					   .hash = hash_bucket,
					   .match = match_buckets,
					   .hcxt = writer->batch};

	writer->buckets =
		hash_create("mongo_ts_fdw buckets", 256, &control,
					HASH_ELEM | HASH_FUNCTION | HASH_COMPARE | HASH_CONTEXT);
	writer->pending = NIL;
	writer->last = NULL;
}

/* The keys of a row as they are in its slot */
static void
read_keys(const MtsWriter *writer, TupleTableSlot *slot, Datum *values,
		  bool *nulls)
{
	for (int i = 0; i < writer->keys; i++)
	{
		values[i] = slot->tts_values[writer->key_columns[i].attribute];
		nulls[i] = slot->tts_isnull[writer->key_columns[i].attribute];
	}
}

/* Make a new entry's keys its own, and write them. */
static void
fill_pending(MtsWriter *writer, TupleTableSlot *slot, MtsPending *pending)
{
	Datum *values = palloc(writer->keys * sizeof(Datum));
	bool *nulls = palloc(writer->keys * sizeof(bool));

	for (int i = 0; i < writer->keys; i++)
	{
		MtsKeyColumn *column = &writer->key_columns[i];

		nulls[i] = pending->key.nulls[i];
		values[i] = nulls[i] ? (Datum) 0
							 : datumCopy(pending->key.values[i],
										 column->typbyval, column->typlen);
	}
	pending->key.values = values;
	pending->key.nulls = nulls;
	pending->values =
		palloc0(writer->table->layout.ncolumns * sizeof(bson_value_t));
	mts_place_keys(writer->placer, slot, pending->values);
	pending->guard = NULL;
	pending->exists = false;
	pending->n = 0;
	pending->room = 64;
	pending->writes = palloc(pending->room * sizeof(MtsWrite *));
}

/*
 * mts_pending_find
 *		The pending bucket of a row, a new one if need be.
 */
MtsPending *
mts_pending_find(MtsWriter *writer, TupleTableSlot *slot,
				 const MtsPlace *place)
{
	Datum values[MaxTupleAttributeNumber];
	bool nulls[MaxTupleAttributeNumber];
	MtsBucketKey key = {writer, place->start, values, nulls};
	MtsPending *pending = writer->last;
	bool found;

	read_keys(writer, slot, values, nulls);
	if (pending && pending->key.start == place->start &&
		same_keys(writer, pending->key.values, pending->key.nulls, values,
				  nulls))
		return pending;
	pending = hash_search(writer->buckets, &key, HASH_ENTER, &found);
	if (!found)
	{
		fill_pending(writer, slot, pending);
		writer->pending = lappend(writer->pending, pending);
	}
	writer->last = pending;
	return pending;
}
