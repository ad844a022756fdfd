/*
 * route.c
 *		Send operations to the collections where they belong.
 *
 * The operations of a rolling set are sent collection by collection.  A
 * collection that does not exist is made with the table's index before the
 * first write; every collection has one on _id.  Otherwise two sessions could
 * make the same bucket twice, and a transaction would not list its own new
 * collections.
 */
#include "modify/route.h"

#include "core/bson/template.h"
#include "driver/document.h"
#include "driver/cursor.h"
#include "driver/xact.h"
#include "driver/xact_reader.h"
#include "table/collections.h"
#include "table/index.h"

/* The collections of a rolling set */
typedef struct MtsRoute
{
	bson_t *index;        /* that new collections get */
	List *known;          /* names of those that exist */
	char *written;        /* bulk->collection between calls, or NULL */
	MemoryContext memory; /* of both */
} MtsRoute;

/* Return which writes of a table are stored together. */
static MtsScope
scope_of(const MtsTable *table)
{
	if (table->transactions == MTS_TRANSACTIONS_OFF)
		return MTS_EACH_WRITE;
	return mts_table_joins_xact(table) ? MTS_TRANSACTION : MTS_EACH_CALL;
}

/*
 * mts_route_init
 *		Prepare to write into a table with the rights of a user's mapping.
 *
 * The route lives as long as the current memory context.
 */
void
mts_route_init(MtsBulk *bulk, const MtsTable *table, Oid userid)
{
	*bulk =
		(MtsBulk){.connection = mts_connection_get(table->serverid, userid),
				  .relid = table->relid,
				  .database = table->database,
				  .collection = table->collection,
				  .table = mts_stored_table(table->serverid, table->relid),
				  .scope = scope_of(table),
				  .is_required =
					  table->transactions == MTS_TRANSACTIONS_REQUIRED};
	mts_connection_pin(bulk->connection);
	if (!table->rolling_name)
		return;
	bulk->route = palloc0(sizeof(MtsRoute));
	bulk->route->memory = CurrentMemoryContext;
	bulk->route->index = mts_document_new();
	(void) mts_index_describe(table, mts_identity_make(table),
							  bulk->route->index);
	if (bson_empty(bulk->route->index))
		mts_template_fields(bulk->route->index, "{key: {_id: 1}, name: %s}",
							mts_document_utf8("_id_"));
}

/* ---- New collections ---------------------------------------------------- */

/* Tell whether some names contain a name. */
static bool
is_listed(const List *names, const char *name)
{
	ListCell *lc;

	foreach (lc, names)
		if (strcmp(lfirst(lc), name) == 0)
			return true;
	return false;
}

/* Remember that a collection exists. */
static void
remember(MtsRoute *route, const char *name)
{
	MemoryContext old = MemoryContextSwitchTo(route->memory);

	route->known = lappend(route->known, pstrdup(name));
	MemoryContextSwitchTo(old);
}

/* Return which of some collections exist. */
static List *
list_existing(const MtsBulk *bulk, List *names)
{
	bson_t *list = mts_document_new();
	ListCell *lc;

	foreach (lc, names)
		mts_template_push(list, "%s", mts_document_utf8(lfirst(lc)));
	return mts_cursor_list_names(bulk->connection, bulk->database,
								 mts_document_make("{name: {$in: %a}}", list));
}

/*
 * Create the collection if it is still absent.  A transaction of MongoDB that
 * has begun before does not see it.  The caller holds the lock.
 */
static void
create_if_absent(MtsBulk *bulk)
{
	if (list_existing(bulk, list_make1((char *) bulk->collection)) == NIL)
	{
		mts_index_create(bulk->connection, bulk->database, bulk->collection,
						 bulk->route->index);
		bulk->has_restarted |= bulk->scope >= MTS_STATEMENT &&
							   mts_xact_is_active(bulk->connection->serverid);
		mts_xact_reader_read_all(bulk->connection);
		(void) mts_xact_restart(bulk->connection);
	}
	remember(bulk->route, bulk->collection);
}

/*
 * Create the collection if it is still absent, and send the first operations,
 * under a lock.  Concurrent sessions often upsert the same new buckets, and
 * some servers then report deadlocks; the lock serializes them.
 */
static void
create_and_execute(MtsBulk *bulk, MtsOp *ops, int nops)
{
	LOCKTAG tag = mts_bulk_lock(bulk);

	create_if_absent(bulk);
	mts_bulk_execute(bulk, ops, nops);
	LockRelease(&tag, ExclusiveLock, false);
}

/* ---- Sending ------------------------------------------------------------ */

static int
compare_names(const ListCell *a, const ListCell *b)
{
	return strcmp(lfirst(a), lfirst(b));
}

/* Return the sorted names of the collections of some operations. */
static List *
list_collections(const MtsOp *ops, int nops)
{
	List *names = NIL;

	for (int i = 0; i < nops; i++)
		if (!is_listed(names, ops[i].collection))
			names = lappend(names, (char *) ops[i].collection);
	list_sort(names, compare_names);
	return names;
}

/* Query which collections of inserts exist, and remember these. */
static void
find_existing(const MtsBulk *bulk, const MtsOp *ops, int nops)
{
	List *unknown = NIL;
	ListCell *lc;

	for (int i = 0; i < nops; i++)
		if (mts_op_makes(mts_op_last_form(&ops[i])) &&
			!is_listed(bulk->route->known, ops[i].collection) &&
			!is_listed(unknown, ops[i].collection))
			unknown = lappend(unknown, (char *) ops[i].collection);
	if (!unknown)
		return;
	foreach (lc, list_existing(bulk, unknown))
		remember(bulk->route, lfirst(lc));
}

/*
 * Create all absent collections of inserts before the first operation is sent,
 * so that a transaction of MongoDB begins once.
 */
static void
create_all(MtsBulk *bulk, const MtsOp *ops, int nops)
{
	for (int i = 0; i < nops; i++)
	{
		LOCKTAG tag;

		if (!mts_op_makes(mts_op_last_form(&ops[i])) ||
			is_listed(bulk->route->known, ops[i].collection))
			continue;
		bulk->collection = ops[i].collection;
		tag = mts_bulk_lock(bulk);
		create_if_absent(bulk);
		LockRelease(&tag, ExclusiveLock, false);
	}
}

/* Set the collection by a name that is freed with the operations. */
static void
keep_collection(MtsBulk *bulk, const char *name)
{
	MtsRoute *route = bulk->route;
	char *copy = MemoryContextStrdup(route->memory, name);

	if (route->written)
		pfree(route->written);
	bulk->collection = route->written = copy;
}

/*
 * mts_route_execute
 *		Send each operation to its collection; see mts_bulk_execute.  The
 *		operations of a rolling set are then sorted by collection.
 *
 * Where operations of a rolling set have found no document, bulk->collection
 * is set to the first collection that lacks one.  Each operation affects at
 * most one document, so affected < n means that one found nothing.  Only
 * MTS_OP_DELETE_MANY can affect more, and its callers ignore the collection.
 */
void
mts_route_execute(MtsBulk *bulk, MtsOp *ops, int nops)
{
	MtsOp *sorted, *group;
	const char *lacking = NULL;
	int64 affected = 0, created = 0;
	ListCell *lc;

	bulk->has_restarted = false;
	if (!bulk->route)
	{
		mts_bulk_execute(bulk, ops, nops);
		return;
	}
	if (nops > 0)
		bulk->collection = ops[0].collection;
	find_existing(bulk, ops, nops);
	if (mts_bulk_scope(bulk) >= MTS_STATEMENT)
		create_all(bulk, ops, nops);
	group = sorted = palloc(nops * sizeof(MtsOp));
	foreach (lc, list_collections(ops, nops))
	{
		bool has_inserts = false;
		int n = 0;

		for (int i = 0; i < nops; i++)
		{
			if (strcmp(ops[i].collection, lfirst(lc)) != 0)
				continue;
			group[n++] = ops[i];
			has_inserts |= mts_op_makes(mts_op_last_form(&ops[i]));
		}
		bulk->collection = lfirst(lc);
		if (has_inserts && !is_listed(bulk->route->known, lfirst(lc)))
			create_and_execute(bulk, group, n);
		else
			mts_bulk_execute(bulk, group, n);
		group += n;
		if (bulk->affected < n && !lacking)
			lacking = bulk->collection;
		affected += bulk->affected;
		created += bulk->created;
	}
	memcpy(ops, sorted, nops * sizeof(MtsOp));
	bulk->affected = affected;
	bulk->created = created;
	keep_collection(bulk, lacking ? lacking : bulk->collection);
}

/*
 * mts_route_begin
 *		Execute operations, each on the collection of its time, if possible
 *		without waiting; mts_bulk_end must follow.
 */
void
mts_route_begin(MtsBulk *bulk, MtsOp *ops, int nops)
{
	if (bulk->route)
		mts_route_execute(bulk, ops, nops);
	else
		mts_bulk_begin(bulk, ops, nops);
}

/*
 * mts_route_delete
 *		Remove all documents that match a filter from a collection.
 *
 * In PostgreSQL's transaction, they must be those that were seen, unless seen
 * is NULL.  Returns false if the transaction has begun again since: the caller
 * reads again.
 */
bool
mts_route_delete(MtsBulk *bulk, const bson_t *filter, const char *collection,
				 const MtsSeen *seen)
{
	MtsOp op = mts_op(MTS_OP_DELETE_MANY, filter, NULL);

	op.seen = seen;
	op.collection = collection;
	mts_route_execute(bulk, &op, 1);
	return !bulk->is_outdated;
}
