/*
 * statistics.c
 *		Read what ANALYZE has stored about a table.
 *
 * The planner has functions for that.  These serve an execution, which knows
 * the values of all parameters, but has no planner.
 */
#include "table/statistics.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "utils/date.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

/* Get the numbers of pg_class; false if the table has not been analyzed. */
static bool
get_size(const MtsTable *table, double *documents, double *points)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(table->relid));

	*documents = *points = 0;
	if (!HeapTupleIsValid(tuple))
		return false;
	*documents = ((Form_pg_class) GETSTRUCT(tuple))->relpages;
	*points = ((Form_pg_class) GETSTRUCT(tuple))->reltuples;
	ReleaseSysCache(tuple);
	return *documents > 0 && *points > 0;
}

/*
 * mts_statistics_column
 *		Return the column, from 0, whose statistics tell of a field of the
 *		documents; -1 if there is none.
 *
 * The time of the points tells of that of their bucket, and of its bounds.
 */
int
mts_statistics_column(const MtsTable *table, const char *field)
{
	const MtsLayout *layout = &table->layout;
	const MtsField *times[] = {&layout->bucket_time, &layout->first,
							   &layout->last};

	for (int i = 0; i < lengthof(times); i++)
		if (times[i]->is_set && mts_path_is_at(&times[i]->path, field))
			return layout->time_column;
	for (int i = 0; i < layout->ncolumns; i++)
		if (layout->columns[i].container < 0 &&
			layout->columns[i].role != MTS_ROLE_SLOT &&
			!table->attributes[i].dropped &&
			mts_path_is_at(&layout->columns[i].path, field))
			return i;
	return -1;
}

static HeapTuple
find_statistics(const MtsTable *table, int column)
{
	return SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(table->relid),
						   Int16GetDatum(column + 1), BoolGetDatum(false));
}

/* mts_statistics_documents: the number of documents; 0 if not known. */
double
mts_statistics_documents(const MtsTable *table)
{
	double documents, points;

	return get_size(table, &documents, &points) ? documents : 0;
}

/*
 * mts_statistics_distinct
 *		The number of different values of a column; 0 if not known.
 */
double
mts_statistics_distinct(const MtsTable *table, int column)
{
	HeapTuple tuple = find_statistics(table, column);
	double documents, points, n;

	if (!HeapTupleIsValid(tuple))
		return 0;
	n = ((Form_pg_statistic) GETSTRUCT(tuple))->stadistinct;
	ReleaseSysCache(tuple);
	if (n >= 0)
		return n;
	return get_size(table, &documents, &points) ? -n * points : 0;
}

/*
 * mts_statistics_null_share
 *		The share of the points that have no value of a column; 0 if not known.
 */
double
mts_statistics_null_share(const MtsTable *table, int column)
{
	HeapTuple tuple = find_statistics(table, column);
	double share;

	if (!HeapTupleIsValid(tuple))
		return 0;
	share = ((Form_pg_statistic) GETSTRUCT(tuple))->stanullfrac;
	ReleaseSysCache(tuple);
	return share;
}

/* The instant of a value of the time column */
static MtsTime
instant_of(const MtsTable *table, Datum value)
{
	const MtsClock *clock = &table->layout.clock;
	Oid typid = table->attributes[table->layout.time_column].typid;
	DateADT date = typid == DATEOID ? DatumGetDateADT(value) : 0;
	MtsTime t =
		typid == DATEOID ? date * USECS_PER_DAY : DatumGetTimestampTz(value);

	if (DATE_NOT_FINITE(date))
		return DATE_IS_NOBEGIN(date) ? MTS_TIME_MIN : MTS_TIME_MAX;
	return typid == TIMESTAMPTZOID || !clock->to_instant
			   ? t
			   : clock->to_instant(clock->arg, t);
}

/* The share of a histogram's values before an instant */
static double
share_before(const MtsTable *table, const AttStatsSlot *slot, MtsTime t)
{
	int n = slot->nvalues;
	int low = 0, high = n;
	double from, to;

	/* find the first bound after t */
	while (low < high)
	{
		int middle = (low + high) / 2;

		if (instant_of(table, slot->values[middle]) > t)
			high = middle;
		else
			low = middle + 1;
	}
	if (low == 0 || low == n)
		return low == 0 ? 0 : 1;
	from = (double) instant_of(table, slot->values[low - 1]);
	to = (double) instant_of(table, slot->values[low]);
	return (low - 1 + ((double) t - from) / (to - from)) / (n - 1);
}

/*
 * mts_statistics_time_share
 *		The share of the points that have a time in one of these ranges; 0 if
 *		not known.
 *
 * Times after the last one that ANALYZE has seen have no share: of a history
 * that grows, they are its end.
 */
double
mts_statistics_time_share(const MtsTable *table, const MtsRanges *ranges)
{
	int column = table->layout.time_column;
	HeapTuple tuple = column < 0 ? NULL : find_statistics(table, column);
	AttStatsSlot slot;
	double share = 0, rest = 1;

	if (!HeapTupleIsValid(tuple))
		return 0;
	if (get_attstatsslot(&slot, tuple, STATISTIC_KIND_MCV, InvalidOid,
						 ATTSTATSSLOT_VALUES | ATTSTATSSLOT_NUMBERS))
	{
		for (int i = 0; i < slot.nvalues && i < slot.nnumbers; i++)
		{
			MtsTime t = instant_of(table, slot.values[i]);

			rest -= slot.numbers[i];
			if (mts_ranges_contain(ranges, t))
				share += slot.numbers[i];
		}
		free_attstatsslot(&slot);
	}
	if (get_attstatsslot(&slot, tuple, STATISTIC_KIND_HISTOGRAM, InvalidOid,
						 ATTSTATSSLOT_VALUES))
	{
		for (int i = 0; i < ranges->n && slot.nvalues > 1; i++)
			share +=
				rest * (share_before(table, &slot, ranges->items[i].to) -
						share_before(table, &slot, ranges->items[i].from));
		free_attstatsslot(&slot);
	}
	ReleaseSysCache(tuple);
	return share;
}
