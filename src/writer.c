/*
 * writer.c
 *		Collect rows until a batch is full, and send one write a bucket.
 *
 * A batch lives in a memory context of its own, which is reset when it has
 * been sent.  Buckets are told apart by their start and keys.  Of one slot that
 * is written twice the last value counts, as if each row had been sent by
 * itself; increments are added up.
 *
 * A new bucket is inserted much faster than it is upserted slot by slot.  That
 * is right only where a unique index refuses a second one of it, which is looked
 * for once a statement; what is refused so is updated (see bulk.c).  Whether
 * buckets are new is not known: it is tried with a few of those of a statement
 * that fills many, and given up where most are there already.  In a rolling set
 * each collection may have other indexes, so there it is not tried.
 */
#include "writer.h"

#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "collections.h"
#include "document.h"
#include "index.h"
#include "number.h"
#include "route.h"

/* So many buckets, with so many points each, look like those of a new range */
#define FEWEST_BUCKETS 64
#define FEWEST_POINTS 4

/* So many are tried */
#define TRIALS 32

/* ---- Buckets ------------------------------------------------------------- */

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

/* Look up what tells the buckets of a writer apart. */
static void
prepare_keys(MtsWriter *writer)
{
	const MtsLayout *layout = &writer->table->layout;

	writer->key_columns = palloc0(layout->ncolumns * sizeof(MtsKeyColumn));
	for (int i = 0; i < layout->ncolumns; i++)
		if (tells_buckets_apart(writer->placer, i))
			prepare_key(&writer->key_columns[writer->keys++], writer->table,
						i);
}

/* Make a new bucket's keys its own, and write them. */
static void
fill_pending(MtsWriter *writer, TupleTableSlot *slot, MtsPending *pending)
{
	MtsBucketKey *key = &pending->key;
	Datum *values = palloc(writer->keys * sizeof(Datum));
	bool *nulls = palloc(writer->keys * sizeof(bool));

	for (int i = 0; i < writer->keys; i++)
	{
		MtsKeyColumn *column = &writer->key_columns[i];

		nulls[i] = key->nulls[i];
		values[i] = nulls[i] ? (Datum) 0
							 : datumCopy(key->values[i], column->typbyval,
										 column->typlen);
	}
	*pending = (MtsPending){{writer, key->start, values, nulls}};
	pending->values =
		palloc0(writer->table->layout.ncolumns * sizeof(bson_value_t));
	mts_place_keys(writer->placer, slot, pending->values);
	pending->room = 64;
	pending->writes = palloc(pending->room * sizeof(MtsWrite *));
}

/* The bucket of a row, a new one if need be */
static MtsPending *
find_pending(MtsWriter *writer, TupleTableSlot *slot, const MtsPlace *place)
{
	Datum values[MaxTupleAttributeNumber];
	bool nulls[MaxTupleAttributeNumber];
	MtsBucketKey key = {writer, place->start, values, nulls};
	MtsPending *pending = writer->last;
	bool found;

	for (int i = 0; i < writer->keys; i++)
	{
		values[i] = slot->tts_values[writer->key_columns[i].attribute];
		nulls[i] = slot->tts_isnull[writer->key_columns[i].attribute];
	}
	if (pending && match_buckets(&pending->key, &key, 0) == 0)
		return pending;
	pending = hash_search(writer->buckets, &key, HASH_ENTER, &found);
	if (!found)
	{
		fill_pending(writer, slot, pending);
		writer->pending = lappend(writer->pending, pending);
	}
	return writer->last = pending;
}

/* ---- Rows ---------------------------------------------------------------- */

/*
 * mts_writer_discard
 *		Forget the batch, and begin an empty one.
 */
void
mts_writer_discard(MtsWriter *writer)
{
	HASHCTL control = {.keysize = sizeof(MtsBucketKey),
					   .entrysize = sizeof(MtsPending),
					   .hash = hash_bucket,
					   .match = match_buckets,
					   .hcxt = writer->batch};

	MemoryContextReset(writer->batch);
	writer->buckets =
		hash_create("mongo_ts_fdw buckets", 256, &control,
					HASH_ELEM | HASH_FUNCTION | HASH_COMPARE | HASH_CONTEXT);
	writer->pending = NIL;
	writer->last = NULL;
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
	writer->placer = mts_place_prepare(table);
	mts_route_init(&writer->bulk, table, userid);
	prepare_keys(writer);
	writer->batch =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw batch",
							  ALLOCSET_DEFAULT_SIZES);
	mts_writer_discard(writer);
	return writer;
}

/* A document that is a row of its own */
static MtsPending *
add_document(MtsWriter *writer, TupleTableSlot *slot, MtsPlace *place)
{
	MtsPending *pending = palloc0(sizeof(MtsPending));

	mts_place_keys(writer->placer, slot, place->values);
	pending->key.start = place->time;
	pending->values = place->values;
	pending->room = 1;
	pending->writes = palloc(sizeof(MtsWrite *));
	writer->pending = lappend(writer->pending, pending);
	return pending;
}

/*
 * mts_writer_add
 *		Add a row to the batch; nothing is sent yet.  Returns its bucket.
 *
 * The row is copied.  Its time is changed where it is rounded to its slot.
 */
MtsPending *
mts_writer_add(MtsWriter *writer, TupleTableSlot *slot)
{
	MemoryContext old = MemoryContextSwitchTo(writer->batch);
	MtsPlace *place;
	MtsPending *pending;

	slot_getallattrs(slot);
	if (!writer->is_move)
		mts_place_check_new(writer->placer, slot);
	place = mts_place_row(writer->placer, slot, NULL);
	place->write.order = writer->npoints;
	if (writer->is_move)
		place->write.kind = MTS_PUT;
	pending = writer->table->layout.nslots == 0
				  ? add_document(writer, slot, place)
				  : find_pending(writer, slot, place);
	if (pending->n == pending->room)
	{
		pending->room *= 2;
		pending->writes =
			repalloc(pending->writes, pending->room * sizeof(MtsWrite *));
	}
	pending->writes[pending->n++] = &place->write;
	writer->npoints++;
	MemoryContextSwitchTo(old);
	return pending;
}

/* Is it time to send the batch? */
bool
mts_writer_is_full(const MtsWriter *writer)
{
	return writer->npoints >= writer->table->batch_size;
}

/* ---- Sending ------------------------------------------------------------- */

static int
compare_writes(const void *a, const void *b, void *layout)
{
	const MtsWrite *left = *(MtsWrite *const *) a;
	const MtsWrite *right = *(MtsWrite *const *) b;
	int order = mts_write_compare(layout, left, right);

	return order != 0
			   ? order
			   : (left->order > right->order) - (left->order < right->order);
}

/* Add what a later increment of the same slot adds. */
static void
add_increment(const MtsLayout *layout, MtsWrite *write, const MtsWrite *later)
{
	bson_value_t *sums = palloc(layout->ncolumns * sizeof(bson_value_t));

	for (int i = 0; i < layout->ncolumns; i++)
	{
		const bson_value_t *a = &write->values[i], *b = &later->values[i];

		sums[i] = mts_number_is_value(b) ? *b : *a;
		if (layout->columns[i].role == MTS_ROLE_VALUE &&
			mts_number_is_value(a) && mts_number_is_value(b))
			sums[i] = mts_number_add(a, b);
	}
	write->values = sums;
}

/*
 * mts_writer_settle
 *		Sort the points of a bucket by slot, and make one of those of one slot.
 */
void
mts_writer_settle(const MtsWriter *writer, MtsPending *pending)
{
	const MtsLayout *layout = &writer->table->layout;
	int n = 0;

	qsort_arg(pending->writes, pending->n, sizeof(MtsWrite *), compare_writes,
			  (void *) layout);
	if (layout->write_mode == MTS_WRITE_PUSH || layout->nslots == 0)
		return;
	for (int i = 1; i < pending->n; i++)
	{
		MtsWrite *write = pending->writes[i];

		if (mts_write_compare(layout, pending->writes[n], write) != 0)
			pending->writes[++n] = write;
		else if (write->kind == MTS_ADD)
			add_increment(layout, pending->writes[n], write);
		else
			pending->writes[n] = write;
	}
	pending->n = n + 1;
}

/* The writes of a pending bucket, several where one holds too many points */
static int
make_ops(MtsWriter *writer, MtsPending *pending, MtsOp *ops)
{
	const MtsLayout *layout = &writer->table->layout;
	int limit = layout->max_points > 0 ? Min(layout->max_points, pending->n)
									   : pending->n;
	int nops = 0;

	for (int i = 0; i < pending->n; i += limit)
		mts_writer_build(writer, pending, i, Min(limit, pending->n - i),
						 &ops[nops++]);
	return nops;
}

/* ---- New buckets --------------------------------------------------------- */

/* Has the collection an index that tells its buckets apart? */
static bool
has_unique_index(const MtsWriter *writer)
{
	const MtsBulk *bulk = &writer->bulk;
	bson_t *index = mts_document_new();

	(void) mts_index_describe(writer->table, writer->placer->identity, index);
	return bson_has_field(index, "unique") &&
		   mts_index_find(bulk->connection, bulk->database, bulk->collection,
						  index, NULL);
}

/* Does the batch look like many new buckets of a table that can have them? */
static bool
is_worth_a_try(const MtsWriter *writer)
{
	int nbuckets = list_length(writer->pending);

	return nbuckets >= FEWEST_BUCKETS &&
		   writer->npoints >= nbuckets * FEWEST_POINTS && !writer->is_move &&
		   !writer->table->set &&
		   mts_update_may_be_fresh(&writer->table->layout) &&
		   bson_empty(writer->placer->identity->others);
}

/* Say how many buckets of the batch are to be inserted. */
static void
begin_fresh(MtsWriter *writer)
{
	if (writer->fresh == MTS_FRESH_UNKNOWN && is_worth_a_try(writer))
		writer->fresh =
			has_unique_index(writer) ? MTS_FRESH_TRIED : MTS_FRESH_NO;
	writer->fresh_tried = 0;
	writer->fresh_left = writer->fresh == MTS_FRESH_TRIED ? TRIALS
						 : writer->fresh == MTS_FRESH_YES
							 ? list_length(writer->pending)
							 : 0;
}

/* Learn from what became of them. */
static void
end_fresh(MtsWriter *writer)
{
	if (writer->fresh == MTS_FRESH_TRIED || writer->fresh == MTS_FRESH_YES)
		writer->fresh = writer->bulk.stale * 2 < writer->fresh_tried
							? MTS_FRESH_YES
							: MTS_FRESH_NO;
	writer->fresh_left = 0;
}

/* ---- The batch ----------------------------------------------------------- */

/*
 * mts_writer_refuse
 *		Raise an error: what is stored is not what the statement read.
 */
void
mts_writer_refuse(const MtsWriter *writer, const char *detail)
{
	const MtsBulk *bulk = &writer->bulk;
	bool is_partial = bulk->stored > 0 || bulk->affected > 0;

	mts_collections_check_view(bulk->connection, bulk->database,
							   bulk->collection);
	ereport(
		ERROR,
		(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
		 errmsg("points of MongoDB collection \"%s.%s\" have changed since "
				"this statement read them",
				bulk->database, bulk->collection),
		 errdetail("%s\nChanged before by this operation: " INT64_FORMAT
				   " points.",
				   detail, bulk->stored),
		 is_partial ? errhint("See which points are changed before you "
							  "run the statement again.")
					: errhint("Run the statement again, unless another "
							  "part of it changes the same points.")));
	pg_unreachable();
}

/*
 * mts_writer_flush
 *		Send the batch, and begin a new one.
 */
void
mts_writer_flush(MtsWriter *writer)
{
	MemoryContext old = MemoryContextSwitchTo(writer->batch);
	MtsOp *ops = palloc(writer->npoints * sizeof(MtsOp) + 1);
	ListCell *lc;
	int nops = 0;

	begin_fresh(writer);
	foreach (lc, writer->pending)
	{
		mts_writer_settle(writer, lfirst(lc));
		nops += make_ops(writer, lfirst(lc), ops + nops);
	}
	mts_route_execute(&writer->bulk, ops, nops);
	end_fresh(writer);
	if (writer->bulk.affected < nops)
		mts_writer_refuse(writer, "A place was taken by another point.");
	mts_writer_discard(writer);
	MemoryContextSwitchTo(old);
}
