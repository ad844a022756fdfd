/*
 * route.c
 *		Send writes to the collections where they belong.
 *
 * Those of a rolling set are sent collection by collection.  One that isn't
 * there is made with the table's index before the first write: without it two
 * sessions could make the same bucket twice.
 */
#include "route.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/lock.h"

#include "collections.h"
#include "document.h"
#include "index.h"
#include "remote.h"

typedef struct MtsRoute
{
	bson_t *index;        /* that new collections get; empty: none */
	List *known;          /* names: these are there */
	MemoryContext memory; /* of the list */
} MtsRoute;

/*
 * mts_route_init
 *		Prepare to write into a table with the rights of a user's mapping, as
 *		long as the current memory context.
 */
void
mts_route_init(MtsBulk *bulk, const MtsTable *table, Oid userid)
{
	*bulk =
		(MtsBulk){.connection = mts_connection_get(table->serverid, userid),
				  .database = table->database,
				  .collection = table->collection};
	mts_connection_hold(bulk->connection);
	if (!table->set)
		return;
	bulk->route = palloc0(sizeof(MtsRoute));
	bulk->route->memory = CurrentMemoryContext;
	bulk->route->index = mts_document_new();
	(void) mts_index_describe(table, mts_identity_make(table),
							  bulk->route->index);
}

/* ---- Collections that are not there -------------------------------------- */

static bool
is_listed(List *names, const char *name)
{
	ListCell *lc;

	foreach (lc, names)
		if (strcmp(lfirst(lc), name) == 0)
			return true;
	return false;
}

/* Those of some names that there are */
static List *
list_existing(const MtsBulk *bulk, List *names)
{
	bson_t *list = mts_document_new();
	List *found = NIL;
	ListCell *lc;

	foreach (lc, names)
		mts_template_push(list, "%s", mts_document_utf8(lfirst(lc)));
	(void) mts_remote_list(bulk->connection, bulk->database,
						   mts_document_make("{name: {$in: %a}}", list), false,
						   &found);
	return found;
}

/* Note that a collection is there. */
static void
remember(MtsRoute *route, const char *name)
{
	MemoryContext old = MemoryContextSwitchTo(route->memory);

	route->known = lappend(route->known, pstrdup(name));
	MemoryContextSwitchTo(old);
}

/* Look which of some collections are there; the others have to be made. */
static void
look_for(const MtsBulk *bulk, List *names)
{
	List *existing = list_existing(bulk, names);
	ListCell *lc;

	foreach (lc, names)
		if (is_listed(existing, lfirst(lc)))
			remember(bulk->route, lfirst(lc));
}

/* What stands for the making of a collection among this cluster's locks */
static LOCKTAG
lock_tag(const MtsBulk *bulk)
{
	char *name = psprintf("%s.%s", bulk->database, bulk->collection);
	LOCKTAG tag;

	/* pg_advisory_lock() has 1 and 2 for a last number */
	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, bulk->connection->serverid,
						 hash_bytes((unsigned char *) name, strlen(name)), 3);
	pfree(name);
	return tag;
}

/*
 * Make the collection, unless another session does, and send the first writes
 * to it.  Sessions that have waited for one to be made write the same new
 * buckets at the same moment, which some servers take badly: one by one, then.
 */
static void
make_and_execute(MtsBulk *bulk, MtsOp *ops, int nops)
{
	List *name = list_make1((char *) bulk->collection);
	LOCKTAG tag = lock_tag(bulk);

	(void) LockAcquire(&tag, ExclusiveLock, false, false);
	if (list_existing(bulk, name) == NIL)
		mts_index_create(bulk->connection, bulk->database, bulk->collection,
						 bulk->route->index);
	mts_bulk_execute(bulk, ops, nops);
	LockRelease(&tag, ExclusiveLock, false);
	remember(bulk->route, bulk->collection);
}

/* ---- Sending ------------------------------------------------------------- */

/* A write, and when it was asked for */
typedef struct Routed
{
	MtsOp op;
	int order;
} Routed;

static int
compare_routed(const void *a, const void *b)
{
	const Routed *left = a, *right = b;
	int order = strcmp(left->op.collection, right->op.collection);

	return order != 0 ? order : left->order - right->order;
}

static bool
makes_documents(const MtsOp *op)
{
	return op->kind == MTS_OP_INSERT || op->kind == MTS_OP_UPSERT;
}

/* May a write have to make its collection? */
static bool
is_to_look_for(const MtsBulk *bulk, const MtsOp *op)
{
	return makes_documents(op) && !bson_empty(bulk->route->index) &&
		   !is_listed(bulk->route->known, op->collection);
}

/* Sort writes by collection, and look for those that they fill. */
static void
sort_ops(const MtsBulk *bulk, MtsOp *ops, int nops)
{
	Routed *routed = palloc(nops * sizeof(Routed));
	List *unknown = NIL;

	for (int i = 0; i < nops; i++)
		routed[i] = (Routed){ops[i], i};
	qsort(routed, nops, sizeof(Routed), compare_routed);
	for (int i = 0; i < nops; i++)
	{
		ops[i] = routed[i].op;
		if (is_to_look_for(bulk, &ops[i]) &&
			!(unknown && strcmp(llast(unknown), ops[i].collection) == 0))
			unknown = lappend(unknown, (char *) ops[i].collection);
	}
	pfree(routed);
	if (unknown)
		look_for(bulk, unknown);
}

/* The end of the writes, from the first on, that go to its collection */
static int
end_of_group(const MtsOp *ops, int first, int nops)
{
	int end = first + 1;

	while (end < nops &&
		   strcmp(ops[end].collection, ops[first].collection) == 0)
		end++;
	return end;
}

/*
 * mts_route_execute
 *		Send writes, each to its collection; see mts_bulk_execute.
 *
 * Those of a set get sorted.  When not all documents are found, it is the
 * first collection of these that bulk->collection names.
 */
void
mts_route_execute(MtsBulk *bulk, MtsOp *ops, int nops)
{
	const char *lacking = NULL;
	int64 affected = 0, made = 0, unsent = 0;
	int end;

	if (!bulk->route)
	{
		mts_bulk_execute(bulk, ops, nops);
		return;
	}
	sort_ops(bulk, ops, nops);
	for (int i = 0; i < nops; i++)
		unsent += ops[i].npoints;
	for (int i = 0; i < nops; i = end)
	{
		end = end_of_group(ops, i, nops);
		for (int j = i; j < end; j++)
			unsent -= ops[j].npoints;
		bulk->unsent = unsent;
		bulk->collection = ops[i].collection;
		if (is_to_look_for(bulk, &ops[i]))
			make_and_execute(bulk, ops + i, end - i);
		else
			mts_bulk_execute(bulk, ops + i, end - i);
		if (bulk->affected < end - i && !lacking)
			lacking = ops[i].collection;
		affected += bulk->affected;
		made += bulk->made;
	}
	bulk->affected = affected;
	bulk->made = made;
	if (lacking)
		bulk->collection = lacking;
}
