/*
 * bucket_write.c
 *		Build the operations that write one bucket.
 *
 * All writes of points and buckets become MtsOps here, except the removal of
 * all that matches a filter (see route.c).  A bucket is written by one update,
 * so that what it computes from is what is stored at that moment.
 *
 * New points are upserted by the fields that identify their bucket.  Stored
 * points are changed by an update whose selector states what the statement
 * read.  Nothing is sent here.  Documents and operations live as long as the
 * current memory context.
 */
#include "modify/bucket_write.h"

#include "convert/number.h"
#include "core/bson/template.h"
#include "core/update/new_bucket.h"
#include "core/update/update.h"
#include "core/update/write_once.h"
#include "driver/document.h"
#include "table/collections.h"

/*
 * With more points of a bucket, the conditions take the server longer than the
 * pipeline that they save.
 */
#define MAX_CONDITIONAL_POINTS 100

/* ---- Changes ------------------------------------------------------------ */

/*
 * mts_bucket_write_add
 *		Add the change of a point, which stays the caller's.
 */
void
mts_bucket_write_add(const MtsLayout *layout, MtsBucketWrite *write,
					 MtsChange *change)
{
	if (write->n > 0)
	{
		int order =
			mts_change_compare(layout, write->changes[write->n - 1], change);

		/* points that are appended stay as they come */
		if (order > 0 || (order == 0 && layout->write_mode != MTS_WRITE_PUSH))
			write->is_unsorted = true;
	}
	if (write->n == write->room)
	{
		write->room = Max(2 * write->room, 8);
		write->changes =
			write->changes
				? repalloc(write->changes, write->room * sizeof(MtsChange *))
				: palloc(write->room * sizeof(MtsChange *));
	}
	write->changes[write->n++] = change;
}

static int
compare_changes(const void *a, const void *b, void *layout)
{
	const MtsChange *left = *(MtsChange *const *) a;
	const MtsChange *right = *(MtsChange *const *) b;
	int order = mts_change_compare(layout, left, right);

	return order != 0
			   ? order
			   : (left->order > right->order) - (left->order < right->order);
}

/* Add to an increment what a later one of the same slot adds. */
static void
add_increment(const MtsLayout *layout, MtsChange *change,
			  const MtsChange *later)
{
	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];
		const bson_value_t *added = mts_change_value(later, column);
		bson_value_t *value;

		if (!mts_number_is_number(added))
			continue;
		value = &change->items[column->place];
		if (column->role == MTS_ROLE_VALUE && mts_number_is_number(value))
			*value = mts_number_add(value, added);
		else
			*value = *added;
	}
}

/*
 * mts_bucket_write_sort
 *		Sort the changes by slot, and combine those of one slot.
 *
 * The last value of a slot counts, as if each row had been sent by itself;
 * increments are added up.
 */
void
mts_bucket_write_sort(const MtsLayout *layout, MtsBucketWrite *write)
{
	int n = 0;

	if (!write->is_unsorted)
		return;
	write->is_unsorted = false;
	qsort_arg(write->changes, write->n, sizeof(MtsChange *), compare_changes,
			  (void *) layout);
	if (layout->write_mode == MTS_WRITE_PUSH || layout->nslots == 0)
		return;
	for (int i = 1; i < write->n; i++)
	{
		MtsChange *change = write->changes[i];

		if (mts_change_compare(layout, write->changes[n], change) != 0)
			write->changes[++n] = change;
		else if (change->kind == MTS_CHANGE_ADD)
			add_increment(layout, write->changes[n], change);
		else
			write->changes[n] = change;
	}
	write->n = n + 1;
}

/* ---- Fields of the bucket ----------------------------------------------- */

static void
init_fields(MtsBucketChange *bucket)
{
	MtsFields *all[] = {&bucket->attributes, &bucket->lows, &bucket->highs,
						&bucket->sums};

	for (int i = 0; i < (int) lengthof(all); i++)
		all[i]->items =
			palloc((bucket->layout->ncolumns + 1) * sizeof(MtsFieldValue));
}

static void
add_field(MtsFields *fields, const MtsPath *path, bson_value_t value)
{
	bson_value_t *copy = palloc(sizeof(bson_value_t));

	*copy = value;
	fields->items[fields->n++] =
		(MtsFieldValue){path->steps, path->nsteps, copy};
}

static void
add_attributes(const MtsIdentity *identity, const bson_value_t *values,
			   MtsBucketChange *bucket)
{
	for (int i = 0; i < identity->nattributes; i++)
	{
		int column = identity->attributes[i];

		add_field(&bucket->attributes, &bucket->layout->columns[column].path,
				  values[column]);
	}
}

typedef enum Rounding
{
	ROUND_DOWN,
	ROUND_UP
} Rounding;

/* The stored bound of a time, rounded where its format is coarser. */
static bson_value_t
encode_bound(const MtsTable *table, const MtsField *field, MtsTime t,
			 MtsTime start, Rounding rounding)
{
	const MtsLayout *layout = &table->layout;
	char *text = palloc(MTS_MAX_TIME_TEXT);
	bson_value_t value;
	MtsTime stored;
	MtsError error;
	bool ok = mts_format_encode(&field->format, &layout->clock, t, start,
								&value, text, &stored, &error);

	if (ok && rounding == ROUND_UP && stored < t)
		ok = mts_clock_step(&layout->clock, stored, field->format.unit, 1,
							&t) &&
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
		const MtsChange *change = bucket->changes[i];

		/* a stored point keeps its time unless the change has one */
		if (!bucket->points_are_new &&
			(change->kind != MTS_CHANGE_SET || layout->time_column < 0 ||
			 mts_change_value(change, mts_layout_time_column(layout))
					 ->value_type == BSON_TYPE_EOD))
			continue;
		first = Min(first, change->time);
		last = Max(last, change->time);
	}
	if (layout->first.is_set && first <= last)
		add_field(&bucket->lows, &layout->first.path,
				  encode_bound(table, &layout->first, first, bucket->start,
							   ROUND_DOWN));
	if (layout->last.is_set && first <= last)
		add_field(&bucket->highs, &layout->last.path,
				  encode_bound(table, &layout->last, last, bucket->start,
							   ROUND_UP));
}

/* Order two numbers, two strings or two dates, as $min and $max do. */
static int
compare_extremes(const bson_value_t *a, const bson_value_t *b)
{
	if (a->value_type == BSON_TYPE_UTF8)
		return strcmp(a->value.v_utf8.str, b->value.v_utf8.str);
	if (a->value_type == BSON_TYPE_DATE_TIME)
		return (a->value.v_datetime > b->value.v_datetime) -
			   (a->value.v_datetime < b->value.v_datetime);
	return mts_number_compare_values(a, b);
}

/* Add a column's values to its pre-aggregates. */
static void
add_aggregates(MtsBucketChange *bucket, int i)
{
	const MtsColumn *column = &bucket->layout->columns[i];
	bson_value_t sum = {.value_type = BSON_TYPE_INT32};
	const bson_value_t *low = NULL, *high = NULL;

	if (!column->sum.is_set && !column->min.is_set && !column->max.is_set)
		return;
	for (int j = 0; j < bucket->n; j++)
	{
		const bson_value_t *value =
			mts_change_value(bucket->changes[j], column);
		bool is_number = mts_number_is_number(value);

		if (!is_number && value->value_type != BSON_TYPE_UTF8 &&
			value->value_type != BSON_TYPE_DATE_TIME)
			continue;
		if (is_number)
			sum = low ? mts_number_add(&sum, value) : *value;
		if (!low || compare_extremes(value, low) < 0)
			low = value;
		if (!high || compare_extremes(value, high) > 0)
			high = value;
	}
	if (column->sum.is_set)
		add_field(&bucket->sums, &column->sum.path, sum);
	if (column->min.is_set && low)
		add_field(&bucket->lows, &column->min.path, *low);
	if (column->max.is_set && high)
		add_field(&bucket->highs, &column->max.path, *high);
}

/* Add new points to the bucket's counter and pre-aggregates. */
static void
add_counters(MtsBucketChange *bucket)
{
	const MtsLayout *layout = bucket->layout;
	bson_value_t count = {.value_type = BSON_TYPE_INT32};

	count.value.v_int32 = bucket->n;
	if (layout->count.is_set)
		add_field(&bucket->sums, &layout->count.path, count);
	for (int i = 0; i < layout->ncolumns; i++)
		add_aggregates(bucket, i);
}

/* ---- Operations --------------------------------------------------------- */

/*
 * mts_bucket_write_array_path
 *		Write the path of the array that limits the points of a bucket.
 */
void
mts_bucket_write_array_path(const MtsLayout *layout, char path[MTS_MAX_PATH])
{
	const MtsContainer *container = &layout->containers[0];

	mts_path_dotted(container->path->steps, container->nsteps - 1, path,
					MTS_MAX_PATH);
}

/*
 * mts_bucket_write_require_room
 *		Require that the bucket has room for n more points.
 */
void
mts_bucket_write_require_room(const MtsLayout *layout, int n, bson_t *selector)
{
	char path[MTS_MAX_PATH];

	mts_bucket_write_array_path(layout, path);
	mts_template_append(selector,
						psprintf("%s." INT64_FORMAT, path,
								 layout->max_points - n),
						"{$exists: false}");
}

/*
 * Build the document of a new bucket; NULL where only an upsert makes it.  It
 * has an _id if it can get more points, which name it.
 */
static const bson_t *
make_new_bucket(const MtsBucketChange *bucket, MtsFields identity)
{
	MtsFieldValue *fields =
		palloc((identity.n + bucket->attributes.n + bucket->lows.n +
				bucket->highs.n + bucket->sums.n) *
			   sizeof(MtsFieldValue));
	bson_t *doc = mts_document_new();
	bson_oid_t id;

	if (bucket->n < bucket->layout->max_points)
	{
		bson_oid_init(&id, NULL);
		bson_append_oid(doc, "_id", 3, &id);
	}
	return mts_new_bucket_insert(bucket, identity, fields, doc) ? doc : NULL;
}

/* Build the insert of a document that is a row, or its update. */
static MtsOp
make_document_op(const MtsTargeting *targeting, const MtsBucketWrite *write)
{
	const MtsLayout *layout = &targeting->table->layout;
	const MtsIdentity *identity = targeting->identity;
	const bson_value_t *values = write->changes[0]->items;
	bool is_insert = write->kind == MTS_BUCKET_UPSERT;
	MtsFields fields = {0};
	bson_t *doc = mts_document_new();
	bson_t set;

	fields.items =
		palloc((layout->ncolumns + identity->n) * sizeof(MtsFieldValue));
	for (int i = 0; i < identity->n && is_insert; i++)
	{
		const MtsIdentityPart *part = &identity->parts[i];

		if (part->column < 0 && part->fixed.value_type != BSON_TYPE_EOD)
			add_field(&fields, part->path, part->fixed);
	}
	for (int i = 0; i < layout->ncolumns; i++)
		if (values[i].value_type != BSON_TYPE_EOD &&
			!(is_insert && targeting->omits_null &&
			  values[i].value_type == BSON_TYPE_NULL))
			add_field(&fields, &layout->columns[i].path, values[i]);
	if (is_insert)
	{
		mts_change_compose(fields.items, fields.n, doc);
		return mts_op(MTS_OP_INSERT, NULL, doc);
	}
	bson_append_document_begin(doc, "$set", -1, &set);
	mts_change_append_fields(fields, &set);
	bson_append_document_end(doc, &set);
	return mts_op(MTS_OP_UPDATE, write->required, doc);
}

/* Build the update of a bucket that is right whatever is stored. */
static const bson_t *
build_update(const void *source)
{
	const MtsBucketChange *bucket = source;
	bson_t *update = mts_document_new();

	if (mts_update_is_pipeline(bucket))
		mts_update_pipeline(bucket, update);
	else
		mts_update_plain(bucket, update);
	return update;
}

/* Add the form of an update that is built if it is used. */
static MtsForm *
add_update(MtsOp *op, MtsOpKind kind, const bson_t *selector)
{
	MtsForm *form = mts_op_add(op, kind, selector, NULL);

	form->build = build_update;
	return form;
}

/* Tell whether to try operators under their conditions before a pipeline. */
static bool
is_tried_once(const MtsBucketChange *bucket, int tried)
{
	return (tried & MTS_TRY_ONCE) && bucket->n <= MAX_CONDITIONAL_POINTS &&
		   mts_update_is_pipeline(bucket) &&
		   mts_write_once_is_possible(bucket);
}

/*
 * Add the form that stores points by operators, under their conditions: an
 * upsert; or, where it must not be refused, an update that may find nothing.
 */
static void
add_conditional(const MtsBucketChange *bucket, const bson_t *selector,
				bool may_be_refused, MtsOp *op)
{
	bson_t *conditions = mts_document_copy(selector);
	bson_t *update = mts_document_new();
	MtsForm *form;

	mts_write_once_require(bucket, may_be_refused, conditions);
	mts_update_plain(bucket, update);
	form = mts_op_add(op, may_be_refused ? MTS_OP_UPSERT : MTS_OP_UPDATE,
					  conditions, update);
	if (may_be_refused)
		form->if_refused = MTS_THEN_NEXT;
	else
		form->if_none = MTS_THEN_NEXT;
}

/* The _id alone, of a selector or document that begins with it */
static bson_t *
select_id(const bson_t *selector)
{
	bson_t *id = mts_document_new();
	bson_iter_t iter;

	if (bson_iter_init(&iter, selector) && bson_iter_next(&iter))
		bson_append_iter(id, NULL, -1, &iter);
	return id;
}

/* Return the open bucket of a write, if it is known; otherwise NULL. */
static MtsOpenBucket *
open_bucket(const MtsBucketWrite *write)
{
	return write->open && write->open->is_known ? write->open : NULL;
}

/*
 * Return a selector that names the open bucket, so that it is found without a
 * search.  If the bucket has no room any more, an upsert makes a second
 * document with its _id, which is refused.
 */
static const bson_t *
name_open_bucket(const MtsOpenBucket *open, const bson_t *selector)
{
	bson_t *named = mts_document_new();
	uint32 len;
	bson_t id;

	memcpy(&len, open->id, sizeof(len));
	if (bson_init_static(&id, open->id, BSON_UINT32_FROM_LE(len)))
		bson_concat(named, &id);
	bson_concat(named, selector);
	return named;
}

/* Record where the n points of an operation have left a key's open bucket. */
static void
record_open_bucket(const MtsLayout *layout, MtsOpenBucket *open,
				   const MtsOp *op, int n)
{
	int64 total = open->id ? open->n + n : n;

	if (total >= layout->max_points)
		mts_open_bucket_set(open, NULL, 0);
	else if (open->id)
		open->n = total;
	else if (mts_op_form(op)->kind == MTS_OP_INSERT)
	{
		mts_open_bucket_set(open, select_id(mts_op_form(op)->document), n);
		open->is_new = true;
	}
	else
		open->is_known = false;
}

/*
 * Build the selector of the bucket that gets new points, and set the identity
 * that the bucket has whatever else it must satisfy.
 */
static const bson_t *
select_bucket(const MtsIdentity *identity, const MtsBucketWrite *write,
			  const MtsBucketChange *bucket, MtsFields key, MtsOp *op)
{
	bson_t *selector = mts_identity_selector(identity, key.items);

	op->identity = selector;
	if (bucket->layout->max_points == 0 && !write->required)
		return selector;
	selector = mts_document_copy(selector);
	if (bucket->layout->max_points > 0)
		mts_bucket_write_require_room(bucket->layout, bucket->n, selector);
	if (write->required)
		bson_concat(selector, write->required);
	return selector;
}

/*
 * Add the forms that store new points: the bucket is inserted whole; or it is
 * the open one; or its slots are empty.  The last form finds any bucket of
 * the key, with room for the points, and makes one unless it must exist.
 */
static void
add_forms(const MtsTargeting *targeting, const MtsBucketWrite *write,
		  MtsBucketChange *bucket, int tried, MtsOp *op)
{
	const MtsIdentity *identity = targeting->identity;
	const MtsOpenBucket *open = open_bucket(write);
	bool is_new =
		((tried & MTS_TRY_NEW) && !write->was_written) || (open && !open->id);
	bool is_named =
		!is_new && open && (open->is_new || (tried & MTS_TRY_FOUND));
	MtsFields key = {mts_row_target_identity(targeting, bucket->start,
											 write->values),
					 identity->n};
	const bson_t *selector = select_bucket(identity, write, bucket, key, op);
	const bson_t *document = NULL;

	add_attributes(identity, write->values, bucket);
	if (!mts_update_needs_pipeline(bucket->layout)
			? !bucket->may_overwrite
			: is_new || (tried & MTS_TRY_ONCE))
		add_counters(bucket);
	if (is_new)
		document = make_new_bucket(bucket, key);
	if (document)
		mts_op_add(op, MTS_OP_INSERT, NULL, document)->if_refused =
			MTS_THEN_NEXT;
	else if (is_named)
		add_update(op, MTS_OP_UPSERT, name_open_bucket(open, selector))
			->if_refused = MTS_THEN_NEXT;
	else if (is_tried_once(bucket, tried))
		add_conditional(bucket, selector, !(tried & MTS_TRY_UNREFUSED), op);
	(void) add_update(op,
					  write->kind == MTS_BUCKET_UPSERT ? MTS_OP_UPSERT
													   : MTS_OP_UPDATE,
					  selector);
}

/* Build the upsert of new points, or the update of stored ones. */
static MtsOp
make_bucket_op(const MtsTargeting *targeting, const MtsBucketWrite *write,
			   MtsBucketChange *bucket, int tried)
{
	MtsOp op = {.source = bucket};

	init_fields(bucket);
	add_bounds(targeting->table, bucket);
	if (bucket->points_are_new)
		add_forms(targeting, write, bucket, tried, &op);
	else
		(void) add_update(&op, MTS_OP_UPDATE, write->required);
	mts_op_use(&op, 0);
	return op;
}

/*
 * mts_bucket_write_most_ops
 *		Return how many operations a write has at most.
 */
int
mts_bucket_write_most_ops(const MtsLayout *layout, const MtsBucketWrite *write)
{
	return layout->max_points > 0 ? write->n / layout->max_points + 2 : 1;
}

/*
 * Return how many of the points of a write, from the first on, its next
 * operation stores: as many as the open bucket, or a new one, has room for.
 */
static int
count_next(const MtsLayout *layout, const MtsBucketWrite *write, int first)
{
	const MtsOpenBucket *open = open_bucket(write);
	int64 room = open ? mts_open_bucket_room(open, layout) : 0;

	return Min(room > 0 ? room : layout->max_points, write->n - first);
}

/*
 * mts_bucket_write_ops
 *		Build the operations of a write, and return how many they are.
 *
 * tried has the MTS_TRY_.. of the forms before the one that is always right.
 * The changes are sorted.  It is one operation, or where buckets hold a
 * limited number of points one for each bucket.
 */
int
mts_bucket_write_ops(const MtsTargeting *targeting,
					 const MtsBucketWrite *write, int tried, MtsOp *ops)
{
	const MtsLayout *layout = &targeting->table->layout;
	bool points_are_new =
		write->kind == MTS_BUCKET_UPSERT || write->kind == MTS_BUCKET_UPDATE;
	bool is_limited = points_are_new && layout->max_points > 0;
	int nops = 0;
	int n;

	for (int first = 0; first < write->n; first += n)
	{
		MtsOpenBucket *open = open_bucket(write);
		MtsBucketChange *bucket = palloc(sizeof(MtsBucketChange));
		MtsOp *op = &ops[nops++];

		n = is_limited ? count_next(layout, write, first) : write->n;
		*bucket = (MtsBucketChange){
			.layout = layout,
			.start = write->start,
			.points_are_new = points_are_new,
			.may_overwrite =
				write->is_move && layout->write_mode != MTS_WRITE_PUSH,
			.attributes_agree = !write->is_move,
			.hides_stored = targeting->hides_stored,
			.changes = (const MtsChange **) write->changes + first,
			.n = n,
		};
		if (write->kind == MTS_BUCKET_REMOVE)
			*op = mts_op(MTS_OP_DELETE, write->required, NULL);
		else if (layout->nslots == 0)
			*op = make_document_op(targeting, write);
		else
			*op = make_bucket_op(targeting, write, bucket, tried);
		if (tried & MTS_TRY_UNLESS_STORED)
			op->forms[0].if_refused = MTS_THEN_DONE;
		if (!points_are_new)
			op->identity = select_id(write->required);
		if (open)
			record_open_bucket(layout, open, op, n);
		op->npoints = n;
		op->collection = write->collection;
	}
	return nops;
}

/* ---- Preallocation ------------------------------------------------------ */

/*
 * mts_bucket_write_preallocate
 *		Build the upsert that makes a bucket without points unless it exists.
 *
 * values are those of the bucket's columns.  texts are the keys of {column}
 * slots, by slot, NULL for those that are not known.
 */
MtsOp
mts_bucket_write_preallocate(const MtsTargeting *targeting, MtsTime start,
							 const bson_value_t *values, const char **texts)
{
	const MtsTable *table = targeting->table;
	MtsBucketChange bucket = {.layout = &table->layout,
							  .start = start,
							  .points_are_new = true};
	bson_t *update = mts_document_new();
	MtsOp op =
		mts_op(MTS_OP_UPSERT,
			   mts_row_target_selector(targeting, start, values), update);

	init_fields(&bucket);
	add_attributes(targeting->identity, values, &bucket);
	add_counters(&bucket);
	mts_new_bucket_preallocate(&bucket, texts, update);
	op.collection = mts_collections_at(table, start);
	return op;
}
