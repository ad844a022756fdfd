/*
 * collections.c
 *		List the collections of a table, and find one by name or time.
 *
 * A rolling set consists of the collections whose names match its pattern.
 * Collections may be made and dropped at any time, so each statement lists
 * them anew.  Results are palloc'd.
 */
#include "table/collections.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_foreign_table.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "driver/cursor.h"
#include "driver/document.h"

/*
 * mts_collections_named
 *		Return the collection of a table that has a name; NULL if none has.
 */
const MtsCollection *
mts_collections_named(const MtsTable *table, const char *name)
{
	MtsCollection *collection = palloc0(sizeof(MtsCollection));

	collection->name = name;
	if (!table->rolling_name)
	{
		collection->period.instants = collection->period.local =
			(MtsRange){MTS_TIME_MIN, MTS_TIME_MAX};
		return strcmp(name, table->collection) == 0 ? collection : NULL;
	}
	return mts_rolling_name_period(table->rolling_name, &table->layout.clock,
								   name, &collection->period)
			   ? collection
			   : NULL;
}

/*
 * mts_collections_at
 *		Return the name of the collection that holds the buckets of a time.
 *
 * An error if no name can hold the time.
 */
const char *
mts_collections_at(const MtsTable *table, MtsTime t)
{
	char *name;

	if (!table->rolling_name)
		return table->collection;
	name = palloc(mts_rolling_name_size(table->rolling_name));
	if (!mts_rolling_name_format(table->rolling_name, &table->layout.clock, t,
								 name))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_FIELD_OVERFLOW),
				 errmsg("no MongoDB collection \"%s.%s\" can hold the time %s",
						table->database, table->collection,
						timestamptz_to_str(t)),
				 errdetail("Its year does not have four digits.")));
	return name;
}

/* ---- Lists ------------------------------------------------------------ */

static int
compare_collections(const void *a, const void *b)
{
	MtsTime left = ((const MtsCollection *) a)->period.local.from;
	MtsTime right = ((const MtsCollection *) b)->period.local.from;

	return (left > right) - (left < right);
}

/*
 * Extend the instants of collections, so that neither their begins nor their
 * ends decrease.  Clocks that are set back make neighbours overlap.
 */
static void
make_monotonic(MtsCollections *collections)
{
	MtsCollection *items = collections->items;

	for (int i = collections->n - 2; i >= 0; i--)
		items[i].period.instants.from = Min(items[i].period.instants.from,
											items[i + 1].period.instants.from);
	for (int i = 1; i < collections->n; i++)
		items[i].period.instants.to =
			Max(items[i].period.instants.to, items[i - 1].period.instants.to);
}

static MtsCollections *
collect(const MtsTable *table, List *names)
{
	MtsCollections *collections = palloc0(sizeof(MtsCollections));
	ListCell *lc;

	collections->items =
		palloc((list_length(names) + 1) * sizeof(MtsCollection));
	foreach (lc, names)
	{
		const MtsCollection *collection =
			mts_collections_named(table, lfirst(lc));

		if (collection)
			collections->items[collections->n++] = *collection;
	}
	qsort(collections->items, collections->n, sizeof(MtsCollection),
		  compare_collections);
	make_monotonic(collections);
	return collections;
}

static bson_t *
name_filter(const MtsTable *table)
{
	char *regex = palloc(4 * mts_rolling_name_size(table->rolling_name));

	mts_rolling_name_regex(table->rolling_name, regex);
	return mts_document_make("{name: {$regex: %s}}", mts_document_utf8(regex));
}

/*
 * mts_collections_list
 *		List the collections of a table in the order of their times.
 *
 * Those of a rolling set exist; the collection of another table may not.  If
 * may_fail is set, NULL is returned if the server does not answer soon.
 */
MtsCollections *
mts_collections_list(const MtsTable *table, Oid userid, bool may_fail)
{
	List *names = NIL;

	if (!table->rolling_name)
		names = list_make1((void *) table->collection);
	else
	{
		MtsConnection *connection =
			mts_connection_get(table->serverid, userid);
		const bson_t *filter = name_filter(table);

		if (!may_fail)
			names = mts_cursor_list_names(connection, table->database, filter);
		else if (!mts_cursor_try_list_names(connection, table->database,
											filter, &names))
			return NULL;
	}
	return collect(table, names);
}

/*
 * mts_collections_similar
 *		Return a name in a list of text, or the most similar one: one that
 *		differs in case only, or in few characters.  NULL if there is none.
 */
const char *
mts_collections_similar(List *names, const char *name)
{
	int distance = Min(4, (int) strlen(name) / 3 + 1);
	const char *similar = NULL;
	ListCell *lc;

	foreach (lc, names)
	{
		const char *other = lfirst(lc);

		if (strcmp(other, name) == 0)
			return other;
		if (distance > 0 && pg_strcasecmp(other, name) == 0)
			distance = 0;
		else if (!mts_option_is_similar(name, other, &distance))
			continue;
		similar = other;
	}
	return similar;
}

/*
 * mts_collections_overlap
 *		Tell whether two tables may show the same collection.
 *
 * Two rolling sets of one database always may.  Servers are not compared,
 * because different URIs can name one server.
 */
bool
mts_collections_overlap(const MtsTable *a, const MtsTable *b)
{
	if (strcmp(a->database, b->database) != 0)
		return false;
	if (a->rolling_name && b->rolling_name)
		return true;
	return a->rolling_name ? mts_collections_named(a, b->collection) != NULL
						   : mts_collections_named(b, a->collection) != NULL;
}

/*
 * mts_collections_other_table
 *		Find another foreign table of the server that declares the collection
 *		of a table, which is not a rolling set; InvalidOid if there is none.
 */
Oid
mts_collections_other_table(const MtsTable *table)
{
	List *of_server = GetForeignServer(table->serverid)->options;
	Relation catalog = table_open(ForeignTableRelationId, AccessShareLock);
	SysScanDesc scan =
		systable_beginscan(catalog, InvalidOid, false, NULL, 0, NULL);
	Oid found = InvalidOid;
	HeapTuple tuple;

	while (!OidIsValid(found) &&
		   HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_foreign_table form = (Form_pg_foreign_table) GETSTRUCT(tuple);
		List *options;
		const char *database, *collection;

		if (form->ftserver != table->serverid || form->ftrelid == table->relid)
			continue;
		options = GetForeignTable(form->ftrelid)->options;
		collection = mts_option_get(options, "collection");
		if (!collection)
			collection = get_rel_name(form->ftrelid);
		database = mts_option_database(list_concat_copy(options, of_server));
		if (collection && database &&
			strcmp(collection, table->collection) == 0 &&
			strcmp(database, table->database) == 0)
			found = form->ftrelid;
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return found;
}
