/*
 * row_doubles.c
 *		Rows of buckets that hold doubles and no more.
 *
 * Such a bucket's keys and values are read at once (core/doubles), and its rows
 * filled from these.  Others are unfolded point by point, as row.c does.
 */
#include "row_doubles.h"

#include "catalog/pg_type.h"
#include "utils/timestamp.h"

#include "core/doubles.h"

typedef struct MtsRowDoubles
{
	double *values;
	int64_t *keys;
	int n; /* -1: the bucket is to be unfolded */
	int next;
	bool *is_value; /* by what the scan fills: does it have the slot? */
	int time;       /* which of these is the time; -1: it isn't asked for */
} MtsRowDoubles;

/* Is a column the slot's value itself, as a double? */
static bool
is_slot(const MtsTable *table, int column)
{
	const MtsLayout *layout = &table->layout;

	return layout->columns[column].path.nsteps ==
			   layout->containers[0].nsteps &&
		   table->attributes[column].typid == FLOAT8OID;
}

/*
 * mts_row_doubles_init
 *		Prepare a scan for such buckets, if its table may have them and what it
 *		fills is of that kind.
 *
 * The time must be an instant as it is, and rows that are to be changed are
 * told by their slots.
 */
void
mts_row_doubles_init(MtsScan *scan)
{
	const MtsTable *table = scan->table;
	const MtsLayout *layout = &table->layout;
	MtsRowDoubles *doubles = palloc0(sizeof(MtsRowDoubles));

	if (!mts_doubles_may_be(layout) || scan->targets)
		return;
	doubles->is_value = palloc0((scan->nfilled + 1) * sizeof(bool));
	doubles->time = -1;
	for (int n = 0; n < scan->nfilled; n++)
	{
		int column = table->columns[scan->filled[n]];

		if (column == layout->time_column)
		{
			if (table->attributes[column].typid != TIMESTAMPTZOID ||
				table->attributes[column].typmod >= 0)
				return;
			doubles->time = n;
		}
		else if (layout->columns[column].container >= 0)
		{
			if (!is_slot(table, column))
				return;
			doubles->is_value[n] = true;
		}
	}
	doubles->values = palloc(MTS_DOUBLES_ROOM * sizeof(double));
	doubles->keys = palloc(MTS_DOUBLES_ROOM * sizeof(int64_t));
	scan->doubles = doubles;
}

/* Read the points of the bucket that has been opened, if they are doubles. */
void
mts_row_doubles_open(MtsScan *scan)
{
	MtsRowDoubles *doubles = scan->doubles;

	doubles->n = mts_doubles_read(&scan->unfold, doubles->values,
								  doubles->keys, MTS_DOUBLES_ROOM);
	doubles->next = 0;
}

/* Were they? */
bool
mts_row_doubles_has(const MtsScan *scan)
{
	return scan->doubles->n >= 0;
}

/*
 * mts_row_doubles_next
 *		Fill the slot with the next of them; false at the bucket's end.
 */
bool
mts_row_doubles_next(MtsScan *scan, TupleTableSlot *slot)
{
	MtsRowDoubles *doubles = scan->doubles;
	const MtsTable *table = scan->table;
	int i = doubles->next;

	if (i == doubles->n)
		return false;
	doubles->next++;
	scan->counters.points++;
	scan->point.time = scan->unfold.start +
					   doubles->keys[i] * table->layout.slots[0]->unit.usecs;
	memset(slot->tts_isnull, true, table->natts);
	for (int n = 0; n < scan->nfilled; n++)
	{
		int attribute = scan->filled[n];
		int column = table->columns[attribute];

		slot->tts_isnull[attribute] = false;
		if (n == doubles->time)
			slot->tts_values[attribute] =
				TimestampTzGetDatum(scan->point.time);
		else if (doubles->is_value[n])
			slot->tts_values[attribute] = Float8GetDatum(doubles->values[i]);
		else
		{
			slot->tts_values[attribute] = scan->values[column];
			slot->tts_isnull[attribute] = scan->nulls[column];
		}
	}
	return true;
}
