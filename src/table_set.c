/*
 * table_set.c
 *		Read which collection a table shows, or which rolling set of them.
 */
#include "table.h"

/* Have the table's collection be the one that a pattern names. */
static const char *
only_name(const MtsSet *set)
{
	char *name = palloc(mts_set_room(set));

	(void) mts_set_name(set, NULL, 0, name);
	return name;
}

/*
 * mts_table_read_collection
 *		Read the option collection, whose default is the table's name.
 */
void
mts_table_read_collection(Relation relation, List *options, MtsTable *table)
{
	MtsSet *set = palloc(sizeof(MtsSet));
	MtsError error;

	table->collection = mts_option_get(options, "collection");
	if (!table->collection)
	{
		table->collection = pstrdup(RelationGetRelationName(relation));
		return;
	}
	if (!mts_set_parse(table->collection, set, &error))
		mts_table_refuse(table, error.detail, error.hint);
	else if (set->nfields > 0)
		table->set = set;
	else
		table->collection = only_name(set);
}

/*
 * mts_table_check_set
 *		Refuse a rolling set of buckets without a time; the layout is built.
 */
void
mts_table_check_set(MtsTable *table)
{
	const MtsLayout *layout = &table->layout;

	if (!table->set)
		return;
	if (!layout->bucket_time.is_set &&
		(layout->time_kind != MTS_TIME_FLAT || layout->time_column < 0))
		mts_table_refuse(table,
						 "Option \"collection\" names collections by the "
						 "time of their buckets, which no column or option "
						 "declares.",
						 layout->nslots == 0
							 ? "Declare a column of type timestamptz, "
							   "timestamp or date."
							 : "Set options \"bucket_time_field\" and "
							   "\"bucket_span\".");
}
