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
#include "modify/writer.h"

#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "convert/number.h"
#include "core/bson/template.h"
#include "core/update/new_bucket.h"
#include "core/update/update.h"
#include "driver/document.h"
#include "modify/route.h"
#include "table/collections.h"
#include "table/index.h"

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
tells_buckets_apart(const MtsTargeting *placer, int i)
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
	get_typlenbyval(typid, &key->typlen, &key->typbyval);
	key->by_operator = mts_type_is_fraction(typid);
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
	mts_row_target_keys(writer->placer, slot, pending->values);
	pending->room = 64;
	pending->writes = palloc(pending->room * sizeof(MtsChange *));
}

/* The bucket of a row, a new one if need be */
static MtsPending *
find_pending(MtsWriter *writer, TupleTableSlot *slot,
			 const MtsRowTarget *place)
{
	Datum values[MaxTupleAttributeNumber];
	bool nulls[MaxTupleAttributeNumber];
	MtsBucketKey key = {writer, place->start, values, nulls};
	MtsPending *pending = writer->last;
	bool found;

	for (int i = 0; i < writer->keys; i++)
	{
		values[i] = slot->tts_values[writer->key_columns[i].column];
		nulls[i] = slot->tts_isnull[writer->key_columns[i].column];
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
	writer->placer = mts_row_target_prepare(table);
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
add_document(MtsWriter *writer, TupleTableSlot *slot, MtsRowTarget *place)
{
	MtsPending *pending = palloc0(sizeof(MtsPending));

	mts_row_target_keys(writer->placer, slot, place->values);
	pending->key.start = place->time;
	pending->values = place->values;
	pending->room = 1;
	pending->writes = palloc(sizeof(MtsChange *));
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
	MtsRowTarget *place;
	MtsPending *pending;

	slot_getallattrs(slot);
	if (!writer->is_move)
		mts_row_target_check_new(writer->placer, slot);
	place = mts_row_target_row(writer->placer, slot, NULL);
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
			repalloc(pending->writes, pending->room * sizeof(MtsChange *));
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

/* ---- The write of a bucket ----------------------------------------------- */

/* Everything is in the current memory context, where the documents hang. */

static void
add_field(MtsFields *fields, const MtsField *field, bson_value_t value)
{
	bson_value_t *copy = palloc(sizeof(bson_value_t));

	*copy = value;
	fields->items[fields->n++] =
		(MtsFieldValue){field->path.steps, field->path.nsteps, copy};
}

static bson_value_t
integer(int64 n)
{
	bson_value_t value = {.value_type = BSON_TYPE_INT32};

	value.value.v_int32 = (int32) n;
	return value;
}

/* The bound of a time: rounded outwards where it is finer than what is stored */
static bson_value_t
encode_bound(const MtsTable *table, const MtsField *field, MtsTime t,
			 MtsTime start, bool up)
{
	const MtsLayout *layout = &table->layout;
	char *text = palloc(MTS_MAX_TIME_TEXT);
	MtsSpan step = field->format.kind == MTS_FORMAT_TEXT
					   ? field->format.unit
					   : (MtsSpan){0, 0, 1000};
	bson_value_t value;
	MtsTime stored;
	MtsError error;
	bool ok = mts_format_encode(&field->format, &layout->clock, t, start,
								&value, text, &stored, &error);

	if (ok && up && stored < t)
		ok = mts_clock_step(&layout->clock, stored, step, 1, &t) &&
			 mts_format_encode(&field->format, &layout->clock, t, start,
							   &value, text, &stored, &error);
	if (!ok)
		ereport(ERROR, (errcode(ERRCODE_DATETIME_FIELD_OVERFLOW),
						errmsg("cannot store a bound of a bucket in MongoDB "
							   "collection \"%s.%s\"",
							   table->database, table->collection),
						errdetail("%s", error.detail)));
	return value;
}

/* Widen the bounds of the bucket to the times that are written. */
static void
add_bounds(const MtsTable *table, MtsBucketChange *bucket)
{
	const MtsLayout *layout = bucket->layout;
	MtsTime first = MTS_TIME_MAX, last = MTS_TIME_MIN;

	if (!layout->first.is_set && !layout->last.is_set)
		return;
	for (int i = 0; i < bucket->n; i++)
	{
		const MtsChange *write = bucket->writes[i];

		/* a stored point has its time, unless that changes */
		if (!bucket->is_insert &&
			(write->kind != MTS_PUT || layout->time_column < 0 ||
			 write->values[layout->time_column].value_type == BSON_TYPE_EOD))
			continue;
		first = Min(first, write->time);
		last = Max(last, write->time);
	}
	if (layout->first.is_set && first <= last)
		add_field(&bucket->lows, &layout->first,
				  encode_bound(table, &layout->first, first, bucket->start,
							   false));
	if (layout->last.is_set && first <= last)
		add_field(&bucket->highs, &layout->last,
				  encode_bound(table, &layout->last, last, bucket->start,
							   true));
}

/* The counters of a column's points that are all new to their bucket */
static void
add_totals(MtsBucketChange *bucket, int i)
{
	const MtsColumn *column = &bucket->layout->columns[i];
	bson_value_t sum = {.value_type = BSON_TYPE_EOD};
	const bson_value_t *low = NULL, *high = NULL;

	if (!column->sum.is_set && !column->min.is_set && !column->max.is_set)
		return;
	for (int j = 0; j < bucket->n; j++)
	{
		const bson_value_t *value = &bucket->writes[j]->values[i];

		if (!mts_number_is_value(value))
			continue;
		sum = sum.value_type == BSON_TYPE_EOD ? *value
											  : mts_number_add(&sum, value);
		if ((column->min.is_set || column->max.is_set) &&
			(!low || mts_number_compare(value, low) < 0))
			low = value;
		if ((column->min.is_set || column->max.is_set) &&
			(!high || mts_number_compare(value, high) > 0))
			high = value;
	}
	if (column->sum.is_set)
		add_field(&bucket->sums, &column->sum,
				  sum.value_type == BSON_TYPE_EOD ? integer(0) : sum);
	if (column->min.is_set && low)
		add_field(&bucket->lows, &column->min, *low);
	if (column->max.is_set && high)
		add_field(&bucket->highs, &column->max, *high);
}

/* What new points change beside their own fields */
static void
add_counters(MtsBucketChange *bucket)
{
	const MtsLayout *layout = bucket->layout;

	if (layout->count.is_set)
		add_field(&bucket->sums, &layout->count, integer(bucket->n));
	for (int i = 0; i < layout->ncolumns; i++)
		add_totals(bucket, i);
}

static void
add_attributes(const MtsIdentity *identity, const bson_value_t *values,
			   MtsBucketChange *bucket)
{
	for (int i = 0; i < identity->nattributes; i++)
	{
		int column = identity->attributes[i];
		const MtsPath *path = &bucket->layout->columns[column].path;

		bucket->attributes.items[bucket->attributes.n++] =
			(MtsFieldValue){path->steps, path->nsteps, &values[column]};
	}
}

/* A selector that finds a bucket with room for n points more */
static void
leave_room(const MtsLayout *layout, int n, bson_t *selector)
{
	const MtsContainer *container = &layout->containers[0];
	char path[MTS_MAX_PATH];

	mts_path_dotted(container->path->steps, container->nsteps - 1, path,
					sizeof(path));
	mts_template_append(selector,
						psprintf("%s." INT64_FORMAT, path,
								 layout->max_points - n),
						"{$exists: false}");
}

/*
 * The bucket as a new document, where the writer takes it for one that is not
 * there yet; or NULL.
 */
static const bson_t *
make_fresh(MtsWriter *writer, const MtsBucketChange *bucket,
		   MtsFields identity)
{
	MtsFieldValue *fields;
	bson_t *doc;

	if (writer->fresh_left == 0)
		return NULL;
	writer->fresh_left--;
	fields = palloc((identity.n + bucket->attributes.n + bucket->lows.n +
					 bucket->highs.n + bucket->sums.n) *
					sizeof(MtsFieldValue));
	doc = mts_document_new();
	if (!mts_new_bucket_insert(bucket, identity, fields, doc))
		return NULL;
	writer->fresh_tried++;
	return doc;
}

/* The write of a document that is a row: the fields that are given */
static MtsOp
build_document(const MtsTargeting *placer, const MtsPending *pending)
{
	const MtsLayout *layout = &placer->table->layout;
	const MtsIdentity *identity = placer->identity;
	const bson_value_t *values = pending->writes[0]->values;
	MtsFieldValue *fields =
		palloc((layout->ncolumns + identity->n) * sizeof(MtsFieldValue));
	bson_t *doc = mts_document_new();
	char path[MTS_MAX_PATH];
	bson_t set;
	int n = 0;

	for (int i = 0; i < identity->n && !pending->selector; i++)
	{
		const MtsIdentityPart *part = &identity->parts[i];

		if (part->column < 0 && part->fixed.value_type != BSON_TYPE_EOD)
			fields[n++] = (MtsFieldValue){part->path->steps,
										  part->path->nsteps, &part->fixed};
	}
	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsPath *of = &layout->columns[i].path;

		if (!identity->read_only[i] && values[i].value_type != BSON_TYPE_EOD)
			fields[n++] = (MtsFieldValue){of->steps, of->nsteps, &values[i]};
	}
	if (!pending->selector)
	{
		mts_change_compose(fields, n, doc);
		return (MtsOp){MTS_OP_INSERT, NULL, doc, 1};
	}
	bson_append_document_begin(doc, "$set", -1, &set);
	for (int i = 0; i < n; i++)
	{
		mts_path_dotted(fields[i].steps, fields[i].nsteps, path, sizeof(path));
		bson_append_value(&set, path, -1, fields[i].value);
	}
	bson_append_document_end(doc, &set);
	return (MtsOp){MTS_OP_UPDATE, pending->selector, doc, 1};
}

/*
 * The update of stored points, or the upsert of new ones.  Those that move are
 * counted with what is stored, which they may overwrite.
 */
static MtsOp
build_bucket(MtsWriter *writer, const MtsPending *pending,
			 MtsBucketChange *bucket)
{
	const MtsTargeting *placer = writer->placer;
	const MtsLayout *layout = bucket->layout;
	bool is_pipeline =
		!bucket->is_insert || mts_update_needs_pipeline(layout) ||
		(writer->is_move && layout->write_mode != MTS_WRITE_PUSH);
	MtsFields *all[] = {&bucket->attributes, &bucket->lows, &bucket->highs,
						&bucket->sums};
	MtsOp op = {MTS_OP_UPDATE, pending->selector, NULL, bucket->n};
	bson_t *selector = pending->selector;
	bson_t *update = mts_document_new();
	MtsFields identity;

	for (int i = 0; i < (int) lengthof(all); i++)
		all[i]->items = palloc((layout->ncolumns + 1) * sizeof(MtsFieldValue));
	add_bounds(writer->table, bucket);
	if (bucket->is_insert)
	{
		add_attributes(placer->identity, pending->values, bucket);
		if (!is_pipeline)
			add_counters(bucket);
		identity = (MtsFields){mts_row_target_identity(placer, bucket->start,
													   pending->values),
							   placer->identity->n};
		selector = mts_identity_selector(placer->identity, identity.items);
		if (layout->max_points > 0)
			leave_room(layout, bucket->n, selector);
		if (pending->precondition)
			bson_concat(selector, pending->precondition);
		op.kind = pending->exists ? MTS_OP_UPDATE : MTS_OP_UPSERT;
		op.fresh = make_fresh(writer, bucket, identity);
	}
	(is_pipeline ? mts_update_pipeline : mts_update_plain)(bucket, update);
	op.selector = selector;
	op.document = update;
	return op;
}

/*
 * mts_writer_build
 *		Make the write of n points of a bucket, from the first on.
 */
void
mts_writer_build(MtsWriter *writer, const MtsPending *pending, int first,
				 int n, MtsOp *op)
{
	const MtsTable *table = writer->table;
	MtsBucketChange bucket = {
		.layout = &table->layout,
		.start = pending->key.start,
		.is_insert = pending->selector == NULL,
		.writes = (const MtsChange **) pending->writes + first,
		.n = n,
	};

	*op = table->layout.nslots == 0 ? build_document(writer->placer, pending)
									: build_bucket(writer, pending, &bucket);
	if (table->rolling_name && bucket.is_insert)
		op->collection = mts_collections_at(table, pending->key.start);
}

/* ---- Sending ------------------------------------------------------------- */

static int
compare_writes(const void *a, const void *b, void *layout)
{
	const MtsChange *left = *(MtsChange *const *) a;
	const MtsChange *right = *(MtsChange *const *) b;
	int order = mts_change_compare(layout, left, right);

	return order != 0
			   ? order
			   : (left->order > right->order) - (left->order < right->order);
}

/* Add what a later increment of the same slot adds. */
static void
add_increment(const MtsLayout *layout, MtsChange *write,
			  const MtsChange *later)
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

	qsort_arg(pending->writes, pending->n, sizeof(MtsChange *), compare_writes,
			  (void *) layout);
	if (layout->write_mode == MTS_WRITE_PUSH || layout->nslots == 0)
		return;
	for (int i = 1; i < pending->n; i++)
	{
		MtsChange *write = pending->writes[i];

		if (mts_change_compare(layout, pending->writes[n], write) != 0)
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
		   !writer->table->rolling_name &&
		   mts_new_bucket_is_possible(&writer->table->layout) &&
		   bson_empty(writer->placer->identity->others);
}

/* Say how many buckets of the batch are to be inserted. */
static void
begin_fresh(MtsWriter *writer)
{
	if (writer->fresh == MTS_NEW_UNKNOWN && is_worth_a_try(writer))
		writer->fresh = has_unique_index(writer) ? MTS_NEW_TRIED : MTS_NEW_NO;
	writer->fresh_tried = 0;
	writer->fresh_left = writer->fresh == MTS_NEW_TRIED ? TRIALS
						 : writer->fresh == MTS_NEW_YES
							 ? list_length(writer->pending)
							 : 0;
}

/* Learn from what became of them. */
static void
end_fresh(MtsWriter *writer)
{
	if (writer->fresh == MTS_NEW_TRIED || writer->fresh == MTS_NEW_YES)
		writer->fresh = writer->bulk.stale * 2 < writer->fresh_tried
							? MTS_NEW_YES
							: MTS_NEW_NO;
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
