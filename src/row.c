/*
 * row.c
 *		Read buckets, unfold them, and fill rows with their points.
 *
 * What is invalid is dealt with here, as on_invalid says.
 */
#include "scan.h"

#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "core/projection.h"
#include "document.h"
#include "fetch.h"
#include "rolling.h"
#include "row_doubles.h"

/* The _id of the current bucket in the shell's syntax */
static char *
bucket_id(const MtsScan *scan)
{
	MtsElement doc =
		mts_element_document(bson_get_data(scan->bucket), scan->bucket->len);
	MtsStep step = {.kind = MTS_STEP_NAME, .name = "_id", .len = 3};
	MtsElement id;

	if (mts_element_find(&doc, &step, 1, &id) != MTS_FOUND)
		return pstrdup("unknown");
	return mts_element_shell(&id);
}

/* Error context: which document, and which of its fields is converted */
static void
describe_bucket(void *arg)
{
	MtsScan *scan = arg;

	if (scan->bucket == NULL)
		return;
	if (scan->converting)
		mts_unfold_locate(&scan->unfold, scan->has_point ? &scan->point : NULL,
						  scan->converting);
	errcontext("MongoDB collection \"%s.%s\", _id %s, path \"%s\"",
			   scan->table->database, scan->collection->name, bucket_id(scan),
			   scan->unfold.where);
}

/*
 * Deal with an invalid point or bucket as on_invalid says; the caller goes on
 * behind it.
 */
static void
on_invalid(MtsScan *scan, const MtsError *error)
{
	bool is_error = scan->table->on_invalid == MTS_INVALID_ERROR;

	scan->counters.skipped++;
	if (!is_error && scan->has_warned)
		return;
	scan->has_warned = true;
	ereport(
		is_error ? ERROR : WARNING,
		(errcode(ERRCODE_FDW_INVALID_DATA_TYPE),
		 errmsg(
			 is_error
				 ? "invalid bucket in MongoDB collection \"%s.%s\""
				 : "skipping invalid points in MongoDB collection \"%s.%s\"",
			 scan->table->database, scan->collection->name),
		 errdetail("%s", error->detail),
		 error->hint ? errhint("%s", error->hint) : 0));
}

/*
 * Read a bucket again, whole; see is_too_narrow.  False when it has been
 * removed in the meantime.
 */
static bool
read_whole(MtsScan *scan)
{
	MemoryContext old = MemoryContextSwitchTo(scan->bucket_context);
	bson_t *filter = mts_document_new();
	bson_t *projection = mts_document_new();
	const bson_t *doc;

	mts_fetch_append_id(scan, scan->bucket, filter, "_id");
	mts_projection_build(&scan->table->layout, scan->needed, &scan->ranges,
						 false, projection);
	doc = mts_remote_first(scan->connection, scan->table->database,
						   scan->collection->name,
						   &(MtsFind){.filter = filter,
									  .projection = projection,
									  .on_primary = scan->on_primary});
	if (doc)
	{
		scan->bucket = doc;
		scan->counters.bytes += doc->len;
	}
	MemoryContextSwitchTo(old);
	return doc != NULL;
}

static bool
start_unfolding(MtsScan *scan)
{
	return mts_unfold_start(&scan->unfold, bson_get_data(scan->bucket),
							scan->bucket->len);
}

/* Convert the bucket's columns, once for all of its points. */
static bool
convert_bucket(MtsScan *scan, MtsError *error)
{
	const MtsLayout *layout = &scan->table->layout;
	MemoryContext old = MemoryContextSwitchTo(scan->bucket_context);
	bool ok = true;

	scan->has_point = false;
	for (int i = 0; ok && i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];
		MtsElement element;

		if (!scan->needed[i] || column->container >= 0 ||
			i == layout->time_column || column->role == MTS_ROLE_SLOT)
			continue;
		scan->converting = column;
		switch (mts_unfold_value(&scan->unfold, NULL, column, &element))
		{
			case MTS_MALFORMED:
				*error = scan->unfold.error;
				ok = false;
				break;
			case MTS_ABSENT:
				scan->nulls[i] = true;
				break;
			case MTS_FOUND:
				ok = mts_convert_element(scan->converters[i], &element,
										 &scan->values[i], &scan->nulls[i],
										 error);
				break;
		}
	}
	if (ok)
		scan->converting = NULL;
	MemoryContextSwitchTo(old);
	return ok;
}

/*
 * May the bucket have wanted points in slots that were not asked for?  Its
 * slots count from another time than an aligned bucket's; or what holds them
 * is missing, which it also seems to be when it is no subdocument.
 */
static bool
is_too_narrow(const MtsScan *scan)
{
	return scan->is_narrow &&
		   (scan->unfold.is_bare ||
			!mts_layout_is_aligned(&scan->table->layout, scan->unfold.start));
}

/* Open the bucket that was read; false when it is invalid, or gone. */
static bool
open_bucket(MtsScan *scan)
{
	bool is_valid = start_unfolding(scan);
	MtsError error;

	if (is_valid && is_too_narrow(scan))
	{
		if (!read_whole(scan))
			return false;
		is_valid = start_unfolding(scan);
	}
	error = scan->unfold.error;
	if (is_valid &&
		(!scan->table->set || mts_rolling_check_bucket(scan, &error)) &&
		convert_bucket(scan, &error))
	{
		if (scan->doubles)
			mts_row_doubles_open(scan);
		return true;
	}
	on_invalid(scan, &error);
	return false;
}

/* Go to the next bucket; false at the end of the data. */
static bool
next_bucket(MtsScan *scan)
{
	int64 round_trips = scan->connection->round_trips;

	/* until there is one, errors are not about a bucket */
	scan->bucket = NULL;
	scan->converting = NULL;
	CHECK_FOR_INTERRUPTS();
	MemoryContextReset(scan->bucket_context);
	scan->bucket = mts_fetch_next(scan);
	scan->skipped_before = scan->counters.skipped;
	if (scan->bucket)
	{
		scan->counters.buckets++;
		scan->counters.bytes += scan->bucket->len;
		scan->in_bucket = open_bucket(scan);
	}
	scan->counters.round_trips += scan->connection->round_trips - round_trips;
	return scan->bucket != NULL;
}

/* Convert one column of the current point. */
static bool
convert_column(MtsScan *scan, int i, Datum *value, bool *isnull,
			   MtsError *error)
{
	const MtsLayout *layout = &scan->table->layout;
	const MtsColumn *column = &layout->columns[i];
	MtsElement element;

	*isnull = false;
	if (i == layout->time_column)
	{
		*isnull = scan->point.time_is_null;
		return *isnull || mts_convert_time(scan->converters[i],
										   scan->point.time, value, error);
	}
	if (column->role == MTS_ROLE_SLOT)
		return mts_convert_slot(scan->converters[i],
								&scan->point.slots[column->slot], value,
								error);
	if (column->container < 0)
	{
		*value = scan->values[i];
		*isnull = scan->nulls[i];
		return true;
	}
	switch (mts_unfold_value(&scan->unfold, &scan->point, column, &element))
	{
		case MTS_MALFORMED:
			*error = scan->unfold.error;
			return false;
		case MTS_ABSENT:
			*isnull = true;
			return true;
		default:
			return mts_convert_element(scan->converters[i], &element, value,
									   isnull, error);
	}
}

/* Fill a row with the current point. */
static bool
fill_row(MtsScan *scan, TupleTableSlot *slot, MtsError *error)
{
	memset(slot->tts_isnull, true, scan->table->natts);
	for (int n = 0; n < scan->nfilled; n++)
	{
		int i = scan->filled[n];
		int column = scan->table->columns[i];

		scan->converting = &scan->table->layout.columns[column];
		if (!convert_column(scan, column, &slot->tts_values[i],
							&slot->tts_isnull[i], error))
			return false;
	}
	scan->converting = NULL;
	return true;
}

/* The next point of the current bucket as a row; false when it has no more. */
static bool
next_point(MtsScan *scan, TupleTableSlot *slot)
{
	MtsError error;

	if (scan->doubles && mts_row_doubles_has(scan))
		return mts_row_doubles_next(scan, slot);
	for (;;)
	{
		scan->converting = NULL;
		switch (mts_unfold_next(&scan->unfold, &scan->point))
		{
			case MTS_DONE:
				return false;
			case MTS_INVALID:
				on_invalid(scan, &scan->unfold.error);
				continue;
			case MTS_POINT:
				break;
		}
		scan->has_point = true;
		if ((!scan->table->set || mts_rolling_check_row(scan, &error)) &&
			fill_row(scan, slot, &error))
		{
			if (scan->targets)
				mts_targets_add(scan->targets, mts_scan_of_set(scan),
								&scan->unfold, &scan->point, &slot->tts_tid);
			scan->counters.points++;
			return true;
		}
		on_invalid(scan, &error);
	}
}

/* How far to go for a row */
typedef enum Reach
{
	IN_BUCKET,     /* no farther than the current bucket */
	IN_ANY_BUCKET, /* until there is one */
	TO_BUCKET      /* to the next bucket, and for no row */
} Reach;

static bool
advance(MtsScan *scan, ExprContext *econtext, TupleTableSlot *slot,
		Reach reach)
{
	ErrorContextCallback callback = {.callback = describe_bucket, .arg = scan};
	MemoryContext old;
	bool found = false;

	mts_scan_prepare(scan, econtext);
	if (!scan->is_possible)
		return false;
	if (!scan->cursor && !mts_fetch_open(scan))
		return false;

	old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	if (reach == TO_BUCKET)
		scan->in_bucket = false;
	do
	{
		/* what a bucket without wanted points left behind */
		MemoryContextReset(econtext->ecxt_per_tuple_memory);
		found =
			scan->in_bucket && (reach == TO_BUCKET || next_point(scan, slot));
		scan->in_bucket = found;
	} while (!found && reach != IN_BUCKET && next_bucket(scan));
	error_context_stack = callback.previous;
	MemoryContextSwitchTo(old);
	return found;
}

/* Fill the slot where that takes nothing but to copy; false where it may. */
static inline bool
next_double(MtsScan *scan, TupleTableSlot *slot)
{
	return scan->in_bucket && scan->doubles && mts_row_doubles_has(scan) &&
		   mts_row_doubles_next(scan, slot);
}

/*
 * mts_scan_next
 *		Fill the slot with the next row; false at the end.
 *
 * The row's values are in the context's per-tuple memory.
 */
bool
mts_scan_next(MtsScan *scan, ExprContext *econtext, TupleTableSlot *slot)
{
	return next_double(scan, slot) ||
		   advance(scan, econtext, slot, IN_ANY_BUCKET);
}

/* The same, of the current bucket only */
bool
mts_scan_next_in_bucket(MtsScan *scan, ExprContext *econtext,
						TupleTableSlot *slot)
{
	return next_double(scan, slot) || advance(scan, econtext, slot, IN_BUCKET);
}

/*
 * mts_scan_next_bucket
 *		Go to the next bucket; false at the end.
 */
bool
mts_scan_next_bucket(MtsScan *scan, ExprContext *econtext)
{
	return advance(scan, econtext, NULL, TO_BUCKET);
}
