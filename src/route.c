/*
 * route.c
 *		Send writes to the collections where they belong.
 *
 * Those of a rolling set are sent collection by collection.  One that isn't
 * there is made with the table's index before the first write: without it two
 * sessions could make the same bucket twice.
 */
#include "route.h"

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
 *		Prepare to write into a table with the rights of a user's mapping.
 */
void
mts_route_init(MtsBulk *bulk, const MtsTable *table, Oid userid)
{
	*bulk =
		(MtsBulk){.connection = mts_connection_get(table->serverid, userid),
				  .database = table->database,
				  .collection = table->collection};
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
	bson_t *filter = mts_document_new();
	List *found = NIL;
	bson_t ops, in;
	ListCell *lc;

	bson_append_document_begin(filter, "name", -1, &ops);
	bson_append_array_begin(&ops, "$in", -1, &in);
	foreach (lc, names)
	{
		char key[16];

		snprintf(key, sizeof(key), "%d", foreach_current_index(lc));
		bson_append_utf8(&in, key, -1, mts_document_utf8(lfirst(lc)), -1);
	}
	bson_append_array_end(&ops, &in);
	bson_append_document_end(filter, &ops);
	(void) mts_remote_list(bulk->connection, bulk->database, filter, false,
						   &found);
	return found;
}

/* Make those of some collections that are not there. */
static void
make_missing(const MtsBulk *bulk, List *names)
{
	MtsRoute *route = bulk->route;
	List *existing = list_existing(bulk, names);
	ListCell *lc;

	foreach (lc, names)
	{
		const char *name = lfirst(lc);
		MemoryContext old;

		if (!is_listed(existing, name))
			mts_index_create(bulk->connection, bulk->database, name,
							 route->index);
		old = MemoryContextSwitchTo(route->memory);
		route->known = lappend(route->known, pstrdup(name));
		MemoryContextSwitchTo(old);
	}
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

/* Sort writes by collection, and see that those that they fill are there. */
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
		const char *name = routed[i].op.collection;

		ops[i] = routed[i].op;
		if (makes_documents(&ops[i]) && !bson_empty(bulk->route->index) &&
			!(unknown && strcmp(llast(unknown), name) == 0) &&
			!is_listed(bulk->route->known, name))
			unknown = lappend(unknown, (char *) name);
	}
	pfree(routed);
	if (unknown)
		make_missing(bulk, unknown);
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
	int64 affected = 0, made = 0;
	int end;

	if (!bulk->route)
	{
		mts_bulk_execute(bulk, ops, nops);
		return;
	}
	sort_ops(bulk, ops, nops);
	for (int i = 0; i < nops; i = end)
	{
		end = end_of_group(ops, i, nops);
		bulk->collection = ops[i].collection;
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
