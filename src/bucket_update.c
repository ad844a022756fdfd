/*
 * bucket_update.c
 *		Make the write of one bucket.
 *
 * Everything is in the current memory context, where the documents hang.
 */
#include "writer.h"

#include "collections.h"
#include "core/template.h"
#include "document.h"
#include "number.h"

static void
add_field(MtsFields *fields, const MtsField *field, bson_value_t value)
{
	bson_value_t *copy = palloc(sizeof(bson_value_t));

	*copy = value;
	fields->items[fields->n++] =
		(MtsPlaced){field->path.steps, field->path.nsteps, copy};
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
add_bounds(const MtsTable *table, MtsBucketWrite *bucket)
{
	const MtsLayout *layout = bucket->layout;
	MtsTime first = MTS_TIME_MAX, last = MTS_TIME_MIN;

	if (!layout->first.is_set && !layout->last.is_set)
		return;
	for (int i = 0; i < bucket->n; i++)
	{
		const MtsWrite *write = bucket->writes[i];

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
add_totals(MtsBucketWrite *bucket, int i)
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
add_counters(MtsBucketWrite *bucket)
{
	const MtsLayout *layout = bucket->layout;

	if (layout->count.is_set)
		add_field(&bucket->sums, &layout->count, integer(bucket->n));
	for (int i = 0; i < layout->ncolumns; i++)
		add_totals(bucket, i);
}

static void
add_attributes(const MtsIdentity *identity, const bson_value_t *values,
			   MtsBucketWrite *bucket)
{
	for (int i = 0; i < identity->nattributes; i++)
	{
		int column = identity->attributes[i];
		const MtsPath *path = &bucket->layout->columns[column].path;

		bucket->attributes.items[bucket->attributes.n++] =
			(MtsPlaced){path->steps, path->nsteps, &values[column]};
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
make_fresh(MtsWriter *writer, const MtsBucketWrite *bucket, MtsFields identity)
{
	MtsPlaced *fields;
	bson_t *doc;

	if (writer->fresh_left == 0)
		return NULL;
	writer->fresh_left--;
	fields = palloc((identity.n + bucket->attributes.n + bucket->lows.n +
					 bucket->highs.n + bucket->sums.n) *
					sizeof(MtsPlaced));
	doc = mts_document_new();
	if (!mts_update_fresh(bucket, identity, fields, doc))
		return NULL;
	writer->fresh_tried++;
	return doc;
}

/* The write of a document that is a row: the fields that are given */
static MtsOp
build_document(const MtsPlacer *placer, const MtsPending *pending)
{
	const MtsLayout *layout = &placer->table->layout;
	const MtsIdentity *identity = placer->identity;
	const bson_value_t *values = pending->writes[0]->values;
	MtsPlaced *fields =
		palloc((layout->ncolumns + identity->n) * sizeof(MtsPlaced));
	bson_t *doc = mts_document_new();
	char path[MTS_MAX_PATH];
	bson_t set;
	int n = 0;

	for (int i = 0; i < identity->n && !pending->selector; i++)
	{
		const MtsIdentityPart *part = &identity->parts[i];

		if (part->column < 0 && part->fixed.value_type != BSON_TYPE_EOD)
			fields[n++] = (MtsPlaced){part->path->steps, part->path->nsteps,
									  &part->fixed};
	}
	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsPath *of = &layout->columns[i].path;

		if (!identity->read_only[i] && values[i].value_type != BSON_TYPE_EOD)
			fields[n++] = (MtsPlaced){of->steps, of->nsteps, &values[i]};
	}
	if (!pending->selector)
	{
		mts_compose(fields, n, doc);
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
			 MtsBucketWrite *bucket)
{
	const MtsPlacer *placer = writer->placer;
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
		all[i]->items = palloc((layout->ncolumns + 1) * sizeof(MtsPlaced));
	add_bounds(writer->table, bucket);
	if (bucket->is_insert)
	{
		add_attributes(placer->identity, pending->values, bucket);
		if (!is_pipeline)
			add_counters(bucket);
		identity = (MtsFields){mts_place_identity(placer, bucket->start,
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
	MtsBucketWrite bucket = {
		.layout = &table->layout,
		.start = pending->key.start,
		.is_insert = pending->selector == NULL,
		.writes = (const MtsWrite **) pending->writes + first,
		.n = n,
	};

	*op = table->layout.nslots == 0 ? build_document(writer->placer, pending)
									: build_bucket(writer, pending, &bucket);
	if (table->set && bucket.is_insert)
		op->collection = mts_collection_at(table, pending->key.start);
}
