/*
 * stored.c
 *		What is stored although PostgreSQL's transaction is rolled back.
 *
 * A write outside of a transaction of MongoDB, or in one that ends before that
 * of PostgreSQL, is not undone by ROLLBACK, by an error, or by the rollback of
 * a savepoint.  A warning then names the tables whose points stay stored, and
 * those where that is not known.
 *
 * It is never missing, except after ROLLBACK PREPARED, and never wrong.  A
 * reply that has written documents is recorded when it is read (bulk.c), and a
 * transaction when it is committed (xact.c).  A write that has no reply yet
 * when PostgreSQL aborts belongs to a round that bulk.c lists: that is settled
 * before the warnings, and recorded unless the server has said that nothing
 * was written.
 */
#include "driver/stored.h"

#include "access/xact.h"
#include "catalog/namespace.h"
#include "foreign/foreign.h"
#include "lib/stringinfo.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "driver/command_log.h"

/* Catalogs cannot be read after an error, so the names are kept. */
struct MtsStoredTable
{
	Oid relid;
	Oid serverid;
	char *server;
	char *name; /* of the table */
};

/* A table whose points a subtransaction has stored, or may have */
typedef struct Stored
{
	const MtsStoredTable *table;
	SubTransactionId subid;
	bool is_known;
} Stored;

/* in TopTransactionContext, as are their items */
static List *tables = NIL; /* MtsStoredTable */
static List *stored = NIL; /* Stored */

/* Make the name of a table, with its schema unless the search path has it. */
static char *
make_name(Oid relid)
{
	char *name = get_rel_name(relid);

	if (!name)
		return pstrdup("?");
	if (RelationIsVisible(relid))
		return name;
	return psprintf("%s.%s", get_namespace_name(get_rel_namespace(relid)),
					name);
}

/*
 * mts_stored_table
 *		Look up the names that a table has when the transaction first writes
 *		it, or may write it.
 */
const MtsStoredTable *
mts_stored_table(Oid serverid, Oid relid)
{
	MtsStoredTable *table;
	MemoryContext old;
	ListCell *lc;

	foreach (lc, tables)
	{
		table = lfirst(lc);
		if (table->relid == relid)
			return table;
	}
	old = MemoryContextSwitchTo(TopTransactionContext);
	table = palloc(sizeof(MtsStoredTable));
	table->relid = relid;
	table->serverid = serverid;
	table->server = pstrdup(GetForeignServer(serverid)->servername);
	table->name = make_name(relid);
	tables = lappend(tables, table);
	MemoryContextSwitchTo(old);
	return table;
}

/* Find what a subtransaction has recorded of a table, or return NULL. */
static Stored *
find_stored(const MtsStoredTable *table, SubTransactionId subid, bool is_known)
{
	ListCell *lc;

	foreach (lc, stored)
	{
		Stored *item = lfirst(lc);

		if (item->table == table && item->subid == subid &&
			item->is_known == is_known)
			return item;
	}
	return NULL;
}

/*
 * mts_stored_record
 *		Record that the current subtransaction has stored points of a table,
 *		which its rollback leaves; or that it may have, unless that is known.
 */
void
mts_stored_record(const MtsStoredTable *table, bool is_known)
{
	SubTransactionId subid = GetCurrentSubTransactionId();
	MemoryContext old;
	Stored *item;

	if (find_stored(table, subid, is_known))
		return;
	old = MemoryContextSwitchTo(TopTransactionContext);
	item = palloc(sizeof(Stored));
	*item = (Stored){table, subid, is_known};
	stored = lappend(stored, item);
	MemoryContextSwitchTo(old);
}

/* Have what a subtransaction has stored belong to its parent. */
static void
give_to_parent(SubTransactionId subid, SubTransactionId parent)
{
	ListCell *lc;

	foreach (lc, stored)
	{
		Stored *item = lfirst(lc);

		if (item->subid != subid)
			continue;
		if (find_stored(item->table, parent, item->is_known))
			stored = foreach_delete_current(stored, lc);
		else
			item->subid = parent;
	}
}

/* ---- Warnings ----------------------------------------------------------- */

/*
 * Append the names of the tables of a server whose points a subtransaction has
 * stored, or may have; returns false if there are none.
 */
static bool
append_names(StringInfo text, Oid serverid, SubTransactionId subid,
			 bool is_known)
{
	bool any = false;
	ListCell *lc;

	foreach (lc, stored)
	{
		const Stored *item = lfirst(lc);

		if (item->table->serverid != serverid || item->subid != subid ||
			item->is_known != is_known)
			continue;
		appendStringInfo(text, "%s\"%s\"", any ? ", " : "", item->table->name);
		any = true;
	}
	return any;
}

/* Make the detail of a warning. */
static char *
describe(Oid serverid, SubTransactionId subid)
{
	StringInfoData text, names;

	initStringInfo(&text);
	initStringInfo(&names);
	if (append_names(&names, serverid, subid, true))
		appendStringInfo(&text,
						 "Points of %s stay stored, changed or removed.",
						 names.data);
	resetStringInfo(&names);
	if (append_names(&names, serverid, subid, false))
		appendStringInfo(&text,
						 "%sWhether points of %s were stored, changed or "
						 "removed is not known.",
						 text.len > 0 ? "  " : "", names.data);
	return text.data;
}

/* Escape the bytes of a name that are not ASCII. */
static char *
make_ascii(const char *name)
{
	StringInfoData text;

	initStringInfo(&text);
	for (; *name; name++)
		appendStringInfo(&text, IS_HIGHBIT_SET(*name) ? "\\x%02x" : "%c",
						 (unsigned char) *name);
	return text.data;
}

/*
 * Warn of what a subtransaction has stored on a server.  An error must not
 * leave a rollback, so a client whose encoding lacks a character of the names
 * gets the escaped ones.
 */
static void
warn(const MtsStoredTable *table, SubTransactionId subid)
{
	static const char message[] =
		"writes to foreign server \"%s\" are not rolled back";
	char *detail = describe(table->serverid, subid);

	if (!mts_command_log_emit(WARNING, psprintf(message, table->server),
							  detail))
		(void) mts_command_log_emit(WARNING_CLIENT_ONLY,
									psprintf(message,
											 make_ascii(table->server)),
									make_ascii(detail));
}

/* Remove what a subtransaction has stored on a server. */
static void
forget(Oid serverid, SubTransactionId subid)
{
	ListCell *lc;

	foreach (lc, stored)
	{
		const Stored *item = lfirst(lc);

		if (item->table->serverid == serverid && item->subid == subid)
			stored = foreach_delete_current(stored, lc);
	}
}

/* Warn of what a subtransaction has stored, because it is rolled back. */
static void
warn_of_stored(SubTransactionId subid)
{
	for (int i = 0; i < list_length(stored);)
	{
		const Stored *item = list_nth(stored, i);

		if (item->subid != subid)
		{
			i++;
			continue;
		}
		warn(item->table, subid);
		forget(item->table->serverid, subid);
	}
}

static void
at_transaction_end(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_ABORT)
		warn_of_stored(TopSubTransactionId);
	if (event == XACT_EVENT_ABORT || event == XACT_EVENT_COMMIT ||
		event == XACT_EVENT_PREPARE)
		stored = tables = NIL;
}

static void
at_subtransaction_end(SubXactEvent event, SubTransactionId subid,
					  SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		warn_of_stored(subid);
	else if (event == SUBXACT_EVENT_COMMIT_SUB)
		give_to_parent(subid, parent);
}

/* mts_stored_init: called once, when the library is loaded. */
void
mts_stored_init(void)
{
	RegisterXactCallback(at_transaction_end, NULL);
	RegisterSubXactCallback(at_subtransaction_end, NULL);
}
