/*
 * writer.c
 *		Collect rows until a batch is full, and send one write a bucket.
 *
 * A batch lives in a memory context of its own, which is reset when it has
 * been sent.  Of one slot that is written twice the last value counts, as if
 * each row had been sent by itself; increments are added up.
 */
#include "writer.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "document.h"
#include "totals.h"

/* ---- Which bucket -------------------------------------------------------- */

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

	key->column = column;
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

/* Begin an empty batch. */
static void
begin_batch(MtsWriter *writer)
{
	HASHCTL control = {.keysize = sizeof(MtsBucketKey),
					   .entrysize = sizeof(MtsPending),
					   .hash = hash_bucket,
					   .match = match_buckets};

	MemoryContextReset(writer->batch);
	control.hcxt = writer->batch;
	writer->buckets =
		hash_create("mongo_ts_fdw buckets", 256, &control,
					HASH_ELEM | HASH_FUNCTION | HASH_COMPARE | HASH_CONTEXT);
	writer->pending = NIL;
	writer->last = NULL;
	writer->documents = NIL;
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
	const MtsLayout *layout = &table->layout;

	writer->table = table;
	writer->placer = mts_place_prepare(table);
	writer->bulk.connection = mts_connection_get(table->serverid, userid);
	mts_connection_hold(writer->bulk.connection);
	writer->bulk.database = table->database;
	writer->bulk.collection = table->collection;
	writer->key_columns = palloc0(layout->ncolumns * sizeof(MtsKeyColumn));
	for (int i = 0; i < layout->ncolumns; i++)
		if (tells_buckets_apart(writer->placer, i))
			prepare_key(&writer->key_columns[writer->keys++], table, i);
	writer->batch =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw batch",
							  ALLOCSET_DEFAULT_SIZES);
	begin_batch(writer);
	return writer;
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

/* The pending bucket of a row, a new one if need be */
static MtsPending *
find_pending(MtsWriter *writer, TupleTableSlot *slot, const MtsPlace *place)
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

/* ---- Rows ---------------------------------------------------------------- */

/* A document that is a row of its own */
static void
add_document(MtsWriter *writer, TupleTableSlot *slot, MtsPlace *place)
{
	const MtsLayout *layout = &writer->table->layout;
	const MtsIdentity *identity = writer->placer->identity;
	MtsPlaced *fields =
		palloc((layout->ncolumns + identity->n) * sizeof(MtsPlaced));
	bson_t *doc = mts_document_new();
	int n = 0;

	mts_place_keys(writer->placer, slot, place->values);
	for (int i = 0; i < identity->n; i++)
	{
		const MtsIdentityPart *part = &identity->parts[i];

		if (part->column < 0 && part->fixed.value_type != BSON_TYPE_EOD)
			fields[n++] = (MtsPlaced){part->steps, part->nsteps, &part->fixed};
	}
	for (int i = 0; i < layout->ncolumns; i++)
		if (!identity->read_only[i])
			fields[n++] =
				(MtsPlaced){layout->columns[i].path.steps,
							layout->columns[i].path.nsteps, &place->values[i]};
	mts_compose(fields, n, doc);
	writer->documents = lappend(writer->documents, doc);
}

/*
 * mts_writer_add
 *		Add a row to the batch; nothing is sent yet.
 *
 * The row is copied.  Its time is changed where it is rounded to its slot.
 */
void
mts_writer_add(MtsWriter *writer, TupleTableSlot *slot)
{
	const MtsLayout *layout = &writer->table->layout;
	MemoryContext old = MemoryContextSwitchTo(writer->batch);
	MtsPlace *place = palloc0(sizeof(MtsPlace));
	MtsPending *pending;

	slot_getallattrs(slot);
	if (!writer->is_move)
		mts_place_check_new(writer->placer, slot);
	mts_place_row(writer->placer, slot, NULL, place);
	place->write.order = writer->npoints;
	if (writer->is_move)
		place->write.kind = MTS_PUT;
	if (layout->nslots == 0)
		add_document(writer, slot, place);
	else
	{
		pending = find_pending(writer, slot, place);
		if (pending->n == pending->room)
		{
			pending->room *= 2;
			pending->writes =
				repalloc(pending->writes, pending->room * sizeof(MtsWrite *));
		}
		pending->writes[pending->n++] = &place->write;
	}
	writer->npoints++;
	MemoryContextSwitchTo(old);
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

		sums[i] = mts_totals_is_number(b) ? *b : *a;
		if (layout->columns[i].role == MTS_ROLE_VALUE &&
			mts_totals_is_number(a) && mts_totals_is_number(b))
			sums[i] = mts_totals_add(a, b);
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
	if (layout->write_mode == MTS_WRITE_PUSH)
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

/* Forget the batch. */
void
mts_writer_discard(MtsWriter *writer)
{
	begin_batch(writer);
}

/*
 * mts_writer_refuse
 *		Raise an error: what is stored is not what the statement read.
 */
void
mts_writer_refuse(const MtsWriter *writer, const char *detail)
{
	const MtsBulk *bulk = &writer->bulk;

	ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					errmsg("another session has changed points of MongoDB "
						   "collection \"%s.%s\" that this statement changes",
						   bulk->database, bulk->collection),
					errdetail("%s\nChanged by this statement: " INT64_FORMAT
							  " points.",
							  detail, bulk->stored),
					errhint("Run the statement again.")));
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

	foreach (lc, writer->documents)
		ops[nops++] = (MtsOp){MTS_OP_INSERT, NULL, lfirst(lc), 1};
	foreach (lc, writer->pending)
	{
		mts_writer_settle(writer, lfirst(lc));
		nops += make_ops(writer, lfirst(lc), ops + nops);
	}
	mts_bulk_execute(&writer->bulk, ops, nops);
	if (writer->bulk.affected < nops)
		mts_writer_refuse(writer, "A place was taken by another point.");
	begin_batch(writer);
	MemoryContextSwitchTo(old);
}
