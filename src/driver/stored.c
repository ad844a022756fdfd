/*
 * stored.c
 *		What is stored although PostgreSQL's transaction is rolled back.
 *
 * A write outside of a transaction of MongoDB, or in one that ends before that
 * of PostgreSQL, is not undone by ROLLBACK, by an error, or by the rollback of
 * a savepoint.  A warning then says what stays stored.
 */
#include "driver/stored.h"

#include "access/xact.h"
#include "lib/stringinfo.h"
#include "utils/memutils.h"

#include "driver/command_log.h"

/* What a subtransaction has stored on a server */
typedef struct Stored
{
	Oid serverid;
	char *server; /* its name; catalogs cannot be read after an error */
	SubTransactionId subid;
	MtsStored sum;
	int64 nsent; /* points that were sent, with an unknown outcome */
} Stored;

static List *stored = NIL; /* in TopTransactionContext, as are its items */

/* Find what is stored by a subtransaction on a server; NULL if nothing is. */
static Stored *
find_stored(Oid serverid, SubTransactionId subid)
{
	ListCell *lc;

	foreach (lc, stored)
	{
		Stored *item = lfirst(lc);

		if (item->serverid == serverid && item->subid == subid)
			return item;
	}
	return NULL;
}

/* Find what the current subtransaction has stored on a server, or begin it. */
static Stored *
find_or_make(Oid serverid, const char *server)
{
	SubTransactionId subid = GetCurrentSubTransactionId();
	Stored *item = find_stored(serverid, subid);
	MemoryContext old;

	if (item)
		return item;
	if (!server)
		server = GetForeignServer(serverid)->servername;
	old = MemoryContextSwitchTo(TopTransactionContext);
	item = palloc0(sizeof(Stored));
	item->serverid = serverid;
	item->server = pstrdup(server);
	item->subid = subid;
	stored = lappend(stored, item);
	MemoryContextSwitchTo(old);
	return item;
}

/* Remove an item of the list. */
static void
remove_item(int i)
{
	Stored *item = list_nth(stored, i);

	stored = list_delete_nth_cell(stored, i);
	pfree(item->server);
	pfree(item);
}

/* mts_stored_sum: add up what two writes have stored. */
MtsStored
mts_stored_sum(MtsStored a, MtsStored b)
{
	return (MtsStored){a.npoints + b.npoints, a.nedited + b.nedited,
					   a.ndocuments + b.ndocuments};
}

/*
 * mts_stored_record_sent
 *		Record that more points were sent with an outcome that is not known; or
 *		fewer, when it is.
 */
void
mts_stored_record_sent(const MtsConnection *connection, int64 more)
{
	if (more != 0)
		find_or_make(connection->serverid, NULL)->nsent += more;
}

/*
 * mts_stored_record
 *		Record what a write outside of a transaction of MongoDB, or in one that
 *		has ended, has stored.
 *
 * The caller names the server if it may have been dropped since the write.
 */
void
mts_stored_record(const MtsConnection *connection, const char *server,
				  MtsStored what)
{
	Stored *item = find_or_make(connection->serverid, server);

	item->sum = mts_stored_sum(item->sum, what);
}

/* Have what a subtransaction has stored belong to its parent. */
static void
give_to_parent(SubTransactionId subid, SubTransactionId parent)
{
	for (int i = list_length(stored) - 1; i >= 0; i--)
	{
		Stored *item = list_nth(stored, i);
		Stored *other;

		if (item->subid != subid)
			continue;
		other = find_stored(item->serverid, parent);
		item->subid = parent;
		if (!other)
			continue;
		other->sum = mts_stored_sum(other->sum, item->sum);
		other->nsent += item->nsent;
		remove_item(i);
	}
}

/* Append a sentence on a number, unless that is 0. */
static void
append_count(StringInfo text, int64 n, const char *one, const char *many)
{
	if (n == 0)
		return;
	if (text->len > 0)
		appendStringInfoString(text, "  ");
	appendStringInfo(text, n == 1 ? one : many, n);
}

/* Make the detail of a warning; empty if nothing is stored. */
static char *
describe(const Stored *item)
{
	StringInfoData text;

	initStringInfo(&text);
	append_count(&text, item->sum.npoints, INT64_FORMAT " point stays stored.",
				 INT64_FORMAT " points stay stored.");
	append_count(&text, item->sum.nedited,
				 INT64_FORMAT " point stays changed or removed.",
				 INT64_FORMAT " points stay changed or removed.");
	append_count(&text, item->sum.ndocuments,
				 INT64_FORMAT " document stays changed or removed.",
				 INT64_FORMAT " documents stay changed or removed.");
	append_count(&text, item->nsent,
				 "Whether " INT64_FORMAT " point was stored is not known.",
				 "Whether " INT64_FORMAT " points were stored is not known.");
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
 * Warn of an item, if something is stored.  An error must not leave a
 * rollback, so a client whose encoding lacks a character of the name gets the
 * escaped one.
 */
static void
warn(const Stored *item)
{
	static const char message[] =
		"writes to foreign server \"%s\" are not rolled back";
	char *detail = describe(item);

	if (*detail == '\0')
		return;
	if (!mts_command_log_emit(WARNING, psprintf(message, item->server),
							  detail))
		(void) mts_command_log_emit(WARNING_CLIENT_ONLY,
									psprintf(message,
											 make_ascii(item->server)),
									detail);
}

/* Warn of what a subtransaction has stored, because it is rolled back. */
static void
warn_of_stored(SubTransactionId subid)
{
	for (int i = list_length(stored) - 1; i >= 0; i--)
	{
		const Stored *item = list_nth(stored, i);

		if (item->subid != subid)
			continue;
		warn(item);
		remove_item(i);
	}
}

static void
at_transaction_end(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_ABORT)
		warn_of_stored(TopSubTransactionId);
	if (event == XACT_EVENT_ABORT || event == XACT_EVENT_COMMIT ||
		event == XACT_EVENT_PREPARE)
		stored = NIL;
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
