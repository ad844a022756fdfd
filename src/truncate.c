/*
 * truncate.c
 *		TRUNCATE: remove a table's documents.
 */
#include "modify.h"

#include "miscadmin.h"

#include "bulk.h"
#include "document.h"

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
		MtsBulk bulk = {.database = table->database,
						.collection = table->collection};
		MtsOp op = {MTS_OP_DELETE_MANY,
					table->filter ? table->filter : mts_document_new(), NULL,
					0};

		if (!table->updatable)
			mts_modify_check(table, relation, CMD_DELETE);
		bulk.connection = mts_connection_get(table->serverid, GetUserId());
		mts_bulk_execute(&bulk, &op, 1);
	}
}
