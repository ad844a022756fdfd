/*
 * truncate.c
 *		TRUNCATE: remove a table's documents.
 */
#include "modify.h"

#include "miscadmin.h"

#include "collections.h"
#include "document.h"
#include "route.h"

/* Remove a table's documents from all of its collections. */
static void
remove_all(MtsBulk *bulk, const MtsTable *table)
{
	MtsCollections *all = mts_collections_list(table, GetUserId());
	MtsOp *ops = palloc((all->n + 1) * sizeof(MtsOp));

	for (int i = 0; i < all->n; i++)
		ops[i] = (MtsOp){.kind = MTS_OP_DELETE_MANY,
						 .selector = table->filter ? table->filter
												   : mts_document_new(),
						 .collection = all->items[i].name};
	mts_route_execute(bulk, ops, all->n);
}

/*
 * mtsExecForeignTruncate
 *		Remove what the tables show, and what else matches their filters.
 *
 * The collections and their indexes stay.
 */
void
mtsExecForeignTruncate(List *rels, DropBehavior behavior, bool restart_seqs)
{
	ListCell *lc;

	foreach (lc, rels)
	{
		Relation relation = lfirst(lc);
		MtsTable *table = mts_table_open(relation);
		MtsBulk bulk;

		if (!table->updatable)
			mts_modify_check(table, relation, CMD_DELETE);
		mts_route_init(&bulk, table, GetUserId());
		remove_all(&bulk, table);
	}
}
