/*
 * rolling.c
 *		Which collections of a rolling set does a scan read, and when?
 *
 * Those whose period the wanted range of time touches, one after the other,
 * by time or backwards.  Which there are is asked once a scan: a rescan sees
 * none that has been made since, and nothing of one that has been dropped.
 */
#include "rolling.h"

#include "nodes/value.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "document.h"
#include "order.h"

/* mts_rolling_new: begin without knowing the collections. */
MtsRolling *
mts_rolling_new(void)
{
	MtsRolling *rolling = palloc0(sizeof(MtsRolling));

	rolling->nchosen = -1;
	return rolling;
}

/* Begin anew: the wanted range may be another one. */
void
mts_rolling_reset(MtsRolling *rolling)
{
	rolling->nchosen = -1;
	rolling->next = 0;
}

/* ---- Choosing ------------------------------------------------------------ */

/* The ranges of the bucket times that a prepared scan wants */
static MtsRanges
wanted_times(const MtsScan *scan)
{
	MtsRanges times = {scan->ranges.n,
					   palloc((scan->ranges.n + 1) * sizeof(MtsRange))};

	for (int i = 0; i < times.n; i++)
		times.items[i] = mts_layout_bucket_range(&scan->table->layout,
												 scan->ranges.items[i]);
	return times;
}

static bool
is_wanted(const MtsRanges *times, const MtsCollection *collection)
{
	const MtsRange *held = &collection->period.instants;

	for (int i = 0; i < times->n; i++)
		if (times->items[i].from < held->to && held->from < times->items[i].to)
			return true;
	return false;
}

/* Do the latest collections come first? */
static bool
is_backward(const MtsScan *scan)
{
	return scan->order &&
		   linitial_int(list_nth(scan->order, MTS_ORDER_DESCENDING));
}

/* Ask for the list, once; false when it is allowed to fail, and does. */
static bool
find_all(MtsScan *scan, bool may_fail)
{
	MtsRolling *rolling = scan->rolling;
	MemoryContext old;
	MtsConnection *connection;
	int64 round_trips;

	if (rolling->all)
		return true;
	old = MemoryContextSwitchTo(GetMemoryChunkContext(rolling));
	connection = mts_connection_get(scan->table->serverid, scan->userid);
	round_trips = connection->round_trips;
	rolling->all = may_fail
					   ? mts_collections_try_list(scan->table, scan->userid)
					   : mts_collections_list(scan->table, scan->userid);
	if (rolling->all)
	{
		/* else the connection may be gone */
		scan->counters.round_trips += connection->round_trips - round_trips;
		rolling->was_read = palloc0(rolling->all->n + 1);
		rolling->chosen = palloc((rolling->all->n + 1) * sizeof(int));
	}
	MemoryContextSwitchTo(old);
	return rolling->all != NULL;
}

/*
 * mts_rolling_choose
 *		Find which collections a prepared scan reads.
 *
 * False when it is allowed to fail, and the server doesn't answer soon.
 */
bool
mts_rolling_choose(MtsScan *scan, bool may_fail)
{
	MtsRolling *rolling = scan->rolling;
	MtsRanges times;

	if (rolling->nchosen >= 0)
		return true;
	if (!find_all(scan, may_fail))
		return false;
	times = wanted_times(scan);
	rolling->nchosen = 0;
	for (int i = 0; i < rolling->all->n; i++)
	{
		int number = is_backward(scan) ? rolling->all->n - 1 - i : i;

		if (is_wanted(&times, &rolling->all->items[number]))
			rolling->chosen[rolling->nchosen++] = number;
	}
	pfree(times.items);
	return true;
}

/* Have the scan read a collection. */
static void
enter(MtsScan *scan, const MtsCollection *collection)
{
	bson_t none = BSON_INITIALIZER;

	scan->collection = collection;
	mts_scan_set_part(scan, &none);
	bson_destroy(&none);
}

/*
 * mts_rolling_next
 *		Have a prepared scan read the next collection; false when there is none
 *		left.
 */
bool
mts_rolling_next(MtsScan *scan)
{
	MtsRolling *rolling = scan->rolling;
	int number;

	(void) mts_rolling_choose(scan, false);
	if (rolling->next == rolling->nchosen)
		return false;
	number = rolling->chosen[rolling->next++];
	rolling->was_read[number] = true;
	enter(scan, &rolling->all->items[number]);
	return true;
}

/* ---- Order --------------------------------------------------------------- */

/* The last time that a point of a collection can have */
static MtsTime
last_time(const MtsLayout *layout, const MtsCollection *collection)
{
	MtsTime start = collection->period.instants.to - 1;
	MtsTime end;

	if (layout->time_kind == MTS_TIME_FLAT)
		return start;
	return mts_layout_bucket_end(layout, start, &end)
			   ? mts_layout_last_slot(layout, end)
			   : MTS_TIME_MAX;
}

/*
 * mts_rolling_limit
 *		Up to where the collections that are still to be read leave points in
 *		order: theirs are not before *limit or, backwards, not after it.
 *
 * False where the last bucket that was read says as much by itself.
 */
bool
mts_rolling_limit(const MtsScan *scan, MtsTime *limit)
{
	const MtsRolling *rolling = scan->rolling;
	const MtsLayout *layout = &scan->table->layout;
	bool has_bound = layout->time_kind == MTS_TIME_POINT &&
					 (is_backward(scan) ? layout->last : layout->first).is_set;
	const MtsCollection *next;

	if (!rolling || rolling->next == rolling->nchosen ||
		(!has_bound && !layout->clock.to_local))
		return false;
	next = &rolling->all->items[rolling->chosen[rolling->next]];
	*limit = is_backward(scan) ? last_time(layout, next)
							   : next->period.instants.from;
	return true;
}

/* ---- What is in the wrong collection ------------------------------------- */

/* Is this time one of the collection's?  False with the reason. */
static bool
check_time(const MtsScan *scan, MtsTime t, MtsError *error)
{
	const MtsSet *set = scan->table->set;
	const MtsClock *clock = &scan->table->layout.clock;
	char *name;

	if (mts_period_holds(&scan->collection->period, clock, t))
		return true;
	name = palloc(mts_set_room(set));
	snprintf(error->detail, sizeof(error->detail),
			 mts_set_name(set, clock, t, name)
				 ? "Its time %s belongs to collection \"%s\"."
				 : "Its time %s belongs to no collection.",
			 timestamptz_to_str(t), name);
	error->hint = NULL;
	return false;
}

/*
 * mts_rolling_check_bucket
 *		Is the current bucket of a set in the collection that its time says?
 *		False with the reason.
 *
 * Another range of time would not find it there.
 */
bool
mts_rolling_check_bucket(MtsScan *scan, MtsError *error)
{
	const MtsLayout *layout = &scan->table->layout;
	const MtsPath *path = &layout->bucket_time.path;

	if (layout->time_kind == MTS_TIME_FLAT ||
		check_time(scan, scan->unfold.start, error))
		return true;
	mts_path_dotted(path->steps, path->nsteps, scan->unfold.where,
					sizeof(scan->unfold.where));
	return false;
}

/*
 * mts_rolling_check_row
 *		The same of a document that is a row; one without a time may be
 *		anywhere.
 */
bool
mts_rolling_check_row(MtsScan *scan, MtsError *error)
{
	const MtsLayout *layout = &scan->table->layout;

	if (layout->time_kind != MTS_TIME_FLAT || scan->point.time_is_null ||
		check_time(scan, scan->point.time, error))
		return true;
	scan->converting = mts_layout_time(layout);
	return false;
}

/* ---- Parts for workers --------------------------------------------------- */

/*
 * mts_rolling_split
 *		An array of the names of all collections: what is chosen of them
 *		depends on parameters, which may change.
 *
 * It lives in the current memory context.
 */
bson_t *
mts_rolling_split(MtsScan *scan)
{
	bson_t *split = mts_document_new();

	(void) find_all(scan, false);
	for (int i = 0; i < scan->rolling->all->n; i++)
		bson_append_utf8(split, "", -1, scan->rolling->all->items[i].name, -1);
	return split;
}

/*
 * mts_rolling_take
 *		Have a prepared scan read a collection of a split, counted from 0; false
 *		when it has nothing that is wanted.
 *
 * The split's bytes stay as long as the scan.
 */
bool
mts_rolling_take(MtsScan *scan, const bson_t *split, int part)
{
	MemoryContext old = MemoryContextSwitchTo(scan->query_context);
	MtsRanges times = wanted_times(scan);
	const MtsCollection *collection = NULL;
	bson_iter_t iter;
	bool wanted;
	bool found = bson_iter_init(&iter, split);

	for (int i = 0; found && i <= part; i++)
		found = bson_iter_next(&iter);
	if (found)
		collection =
			mts_collection_named(scan->table, bson_iter_utf8(&iter, NULL));
	MemoryContextSwitchTo(old);
	if (!collection)
		elog(ERROR, "the split of a parallel scan names no collection");
	wanted = is_wanted(&times, collection);
	if (wanted)
		enter(scan, collection);
	pfree(times.items);
	return wanted;
}
