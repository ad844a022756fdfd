/*
 * writer.c
 *		Collect rows until a batch is full, and send one write a bucket.
 *
 * A batch lives in a memory context of its own, which is reset when it has
 * been sent.  Of one slot that is written twice the last value counts, as if
 * each row had been sent by itself; increments are added up.
 */
#include "writer.h"

#include "utils/memutils.h"

#include "collections.h"
#include "document.h"
#include "route.h"
#include "number.h"
#include "view.h"

/* Begin an empty batch. */
static void
begin_batch(MtsWriter *writer)
{
	MemoryContextReset(writer->batch);
	mts_pending_reset(writer);
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

	writer->table = table;
	writer->placer = mts_place_prepare(table);
	mts_route_init(&writer->bulk, table, userid);
	mts_pending_prepare(writer);
	writer->batch =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw batch",
							  ALLOCSET_DEFAULT_SIZES);
	begin_batch(writer);
	return writer;
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
	MtsOp *op = palloc(sizeof(MtsOp));
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
	*op = (MtsOp){MTS_OP_INSERT, NULL, doc, 1};
	if (writer->table->set)
		op->collection = mts_collection_at(writer->table, place->time);
	writer->documents = lappend(writer->documents, op);
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
	MtsPlace *place;
	MtsPending *pending;

	slot_getallattrs(slot);
	if (!writer->is_move)
		mts_place_check_new(writer->placer, slot);
	place = mts_place_row(writer->placer, slot, NULL);
	place->write.order = writer->npoints;
	if (writer->is_move)
		place->write.kind = MTS_PUT;
	if (layout->nslots == 0)
		add_document(writer, slot, place);
	else
	{
		pending = mts_pending_find(writer, slot, place);
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

/* Sort the points of a bucket by slot, those of one as they were asked for. */
void
mts_writer_sort(const MtsWriter *writer, MtsWrite **writes, int n)
{
	qsort_arg(writes, n, sizeof(MtsWrite *), compare_writes,
			  &writer->table->layout);
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

	mts_writer_sort(writer, pending->writes, pending->n);
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
	bool is_partial = bulk->stored > 0 || bulk->affected > 0;

	mts_view_check(bulk->connection, bulk->database, bulk->collection);
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

	foreach (lc, writer->documents)
		ops[nops++] = *(const MtsOp *) lfirst(lc);
	mts_fresh_begin(writer);
	foreach (lc, writer->pending)
	{
		mts_writer_settle(writer, lfirst(lc));
		nops += make_ops(writer, lfirst(lc), ops + nops);
	}
	mts_route_execute(&writer->bulk, ops, nops);
	mts_fresh_end(writer);
	if (writer->bulk.affected < nops)
		mts_writer_refuse(writer, "A place was taken by another point.");
	begin_batch(writer);
	MemoryContextSwitchTo(old);
}
