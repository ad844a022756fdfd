/*
 * snapshot.c
 *		The moment of MongoDB's data that the reads of a statement see.
 *
 * A replica set can read its data as they were at a time of its cluster.  All
 * reads of a server by one statement see the same time, whatever their number
 * is.  A statement is known by its PostgreSQL snapshot: a function that is
 * STABLE reads by the snapshot of its caller, and a VOLATILE one takes a new
 * one for each of its statements.  Under REPEATABLE READ and SERIALIZABLE the
 * statements of a transaction see one time, until the transaction writes.
 *
 * The time costs no round trip.  The first read asks for a snapshot, and its
 * reply tells the time of the snapshot, which is that of the latest data that
 * a majority of the members has.  It is not before the session's last write
 * to the server: the server waits until a majority has that write.
 *
 * An entry holds a registration of its PostgreSQL snapshot, so that no other
 * snapshot can have the same address.  An entry is dropped when it holds the
 * last one.
 *
 * Workers of a parallel query get the time from the leader (parallel.c).
 */
#include "driver/snapshot.h"

#include "access/xact.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

#include "driver/document.h"

struct MtsSnapshot
{
	Oid serverid;
	Snapshot statement; /* it is registered */
	uint64 time;        /* of the cluster: seconds and a counter, as in BSON's
						 * type timestamp; 0 before the first read */
};

/* What the session knows of the times of a server */
typedef struct Clock
{
	Oid serverid;
	uint32 hosts;        /* a hash of those that were written to */
	uint64 last_write;   /* the time of the session's last write, or 0 */
	bson_t *signed_time; /* the server's $clusterTime then, or NULL */
	uint64 transaction;  /* the time that the transaction reads, or 0 */
} Clock;

static List *snapshots = NIL; /* in TopMemoryContext, as are the others */
static List *clocks = NIL;
static List *refusals = NIL; /* char *: collections */
static List *watched = NIL;  /* MemoryContexts of portals that run */

/* Find or make the clock of a server. */
static Clock *
clock_of(Oid serverid)
{
	Clock *clock;
	ListCell *lc;
	MemoryContext old;

	foreach (lc, clocks)
	{
		clock = lfirst(lc);
		if (clock->serverid == serverid)
			return clock;
	}
	old = MemoryContextSwitchTo(TopMemoryContext);
	clock = palloc0(sizeof(Clock));
	clock->serverid = serverid;
	clocks = lappend(clocks, clock);
	MemoryContextSwitchTo(old);
	return clock;
}

/* ---- The life of an entry ----------------------------------------------- */

/* Tell whether anything but entries uses the snapshot of a statement. */
static bool
is_used(Snapshot statement)
{
	uint32 ours = 0;
	ListCell *lc;

	foreach (lc, snapshots)
		ours += ((MtsSnapshot *) lfirst(lc))->statement == statement;
	return statement->active_count > 0 || statement->regd_count > ours;
}

/* Drop all entries, or those that only have their own registrations. */
static void
drop(bool all)
{
	for (int i = list_length(snapshots) - 1; i >= 0; i--)
	{
		MtsSnapshot *snapshot = list_nth(snapshots, i);

		if (!all && is_used(snapshot->statement))
			continue;
		snapshots = list_delete_nth_cell(snapshots, i);
		UnregisterSnapshotFromOwner(snapshot->statement,
									TopTransactionResourceOwner);
		pfree(snapshot);
	}
}

static void
context_ends(void *context)
{
	watched = list_delete_ptr(watched, context);
	drop(false);
}

/*
 * Drop the entries of a statement when its portal ends.  They would hold back
 * VACUUM in an idle transaction.
 */
static void
watch_portal(void)
{
	MemoryContext context =
		PortalContext ? PortalContext : TopTransactionContext;
	MemoryContext old;

	if (list_member_ptr(watched, context))
		return;
	old = MemoryContextSwitchTo(TopMemoryContext);
	watched = lappend(watched, context);
	MemoryContextSwitchTo(context);
	mts_document_release_with(context_ends, context);
	MemoryContextSwitchTo(old);
}

static void
at_transaction_end(XactEvent event, void *arg)
{
	ListCell *lc;

	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PARALLEL_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			drop(true);
			break;
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PARALLEL_ABORT:
			/* PostgreSQL ends the registrations */
			list_free_deep(snapshots);
			snapshots = NIL;
			break;
		default:
			break;
	}
	foreach (lc, clocks)
		((Clock *) lfirst(lc))->transaction = 0;
}

/* mts_snapshot_init: called once, when the library is loaded. */
void
mts_snapshot_init(void)
{
	RegisterXactCallback(at_transaction_end, NULL);
}

/*
 * mts_snapshot_of
 *		Return the entry of a statement for the reads of a server.
 *
 * It lives as long as the PostgreSQL snapshot of the statement.  Nothing is
 * sent.
 */
MtsSnapshot *
mts_snapshot_of(Oid serverid, Snapshot statement)
{
	MtsSnapshot *snapshot;
	MemoryContext old;
	ListCell *lc;

	foreach (lc, snapshots)
	{
		snapshot = lfirst(lc);
		if (snapshot->serverid == serverid && snapshot->statement == statement)
			return snapshot;
	}
	drop(false);
	watch_portal();
	old = MemoryContextSwitchTo(TopMemoryContext);
	snapshot = palloc0(sizeof(MtsSnapshot));
	snapshot->serverid = serverid;
	snapshot->statement =
		RegisterSnapshotOnOwner(statement, TopTransactionResourceOwner);
	snapshots = lappend(snapshots, snapshot);
	MemoryContextSwitchTo(old);
	return snapshot;
}

/* ---- Times -------------------------------------------------------------- */

/*
 * mts_snapshot_time
 *		Return the time that a statement reads; 0 if none has been chosen.
 */
uint64
mts_snapshot_time(MtsSnapshot *snapshot)
{
	if (snapshot->time == 0 && IsolationUsesXactSnapshot())
		snapshot->time = clock_of(snapshot->serverid)->transaction;
	return snapshot->time;
}

/*
 * mts_snapshot_set_time
 *		Have a statement, or the transaction, read from a time on.
 */
void
mts_snapshot_set_time(MtsSnapshot *snapshot, uint64 time)
{
	snapshot->time = time;
	clock_of(snapshot->serverid)->transaction = time;
}

/* Find a timestamp in a reply; 0 if there is none. */
static uint64
find_time(const bson_t *reply, const char *path)
{
	bson_iter_t iter, found;
	uint32_t seconds, counter;

	if (!bson_iter_init(&iter, reply) ||
		!bson_iter_find_descendant(&iter, path, &found) ||
		!BSON_ITER_HOLDS_TIMESTAMP(&found))
		return 0;
	bson_iter_timestamp(&found, &seconds, &counter);
	return (uint64) seconds << 32 | counter;
}

static void
append_time(bson_t *concern, const char *key, uint64 time)
{
	bson_append_timestamp(concern, key, -1, (uint32) (time >> 32),
						  (uint32) time);
}

/*
 * Hash the hosts of a connection.  If option "uri" has changed, the times of
 * other hosts mean nothing.
 */
static uint32
hash_hosts(const MtsConnection *connection)
{
	const mongoc_host_list_t *host =
		mongoc_uri_get_hosts(mongoc_client_get_uri(connection->client));
	uint32 hash = 0;

	for (; host; host = host->next)
		hash = hash_combine(hash, string_hash(host->host_and_port,
											  sizeof(host->host_and_port)));
	return hash;
}

/*
 * mts_snapshot_append_concern
 *		Append the read concern of a statement to a find or aggregate command.
 */
void
mts_snapshot_append_concern(MtsSnapshot *snapshot,
							const MtsConnection *connection, bson_t *command)
{
	uint64 time = mts_snapshot_time(snapshot);
	const Clock *clock = clock_of(snapshot->serverid);
	bson_t concern;

	bson_append_document_begin(command, "readConcern", -1, &concern);
	bson_append_utf8(&concern, "level", -1, "snapshot", -1);
	if (time != 0)
		append_time(&concern, "atClusterTime", time);
	else if (clock->last_write != 0 && clock->hosts == hash_hosts(connection))
		append_time(&concern, "afterClusterTime", clock->last_write);
	bson_append_document_end(command, &concern);
}

/*
 * mts_snapshot_read_time
 *		Read the time of a statement from the reply to its first read; false if
 *		the command must be sent again, with the time that is set now.
 *
 * The reply of a collection that does not exist has none.  It is read again at
 * a time at which it was certainly there, or not.
 */
bool
mts_snapshot_read_time(MtsSnapshot *snapshot, const bson_t *reply)
{
	bool is_at_time;
	uint64 time;

	if (mts_snapshot_time(snapshot) != 0)
		return true;
	time = find_time(reply, "cursor.atClusterTime");
	is_at_time = time != 0;
	if (!is_at_time)
		time = find_time(reply, "operationTime");
	if (time == 0)
		return true;
	mts_snapshot_set_time(snapshot, time);
	return is_at_time;
}

/* ---- Own writes --------------------------------------------------------- */

/*
 * mts_snapshot_begin_write
 *		Have the next statement of the transaction read a later time, because
 *		a write is sent.
 */
void
mts_snapshot_begin_write(const MtsConnection *connection)
{
	clock_of(connection->serverid)->transaction = 0;
}

/*
 * mts_snapshot_end_write
 *		Have later statements of the session see a write, whose reply this is.
 */
void
mts_snapshot_end_write(const MtsConnection *connection, const bson_t *reply)
{
	uint64 time = find_time(reply, "operationTime");
	uint32 hosts = hash_hosts(connection);
	Clock *clock = clock_of(connection->serverid);
	bson_iter_t iter;
	bson_t signed_time;

	/* a read may have chosen a moment after the write was sent */
	clock->transaction = 0;
	if (time == 0 || !bson_iter_init_find(&iter, reply, "$clusterTime") ||
		!mts_document_view(&iter, &signed_time))
		return;
	/* the replies to two writers can be read in another order */
	if (clock->hosts == hosts && time <= clock->last_write)
		return;
	clock->last_write = time;
	clock->hosts = hosts;
	if (clock->signed_time)
		bson_destroy(clock->signed_time);
	clock->signed_time = bson_copy(&signed_time);
}

/*
 * mts_snapshot_tell_time
 *		Have the commands of a connection tell the server the time of the last
 *		write, which another member may not know yet.
 *
 * Another connection may have written.
 */
void
mts_snapshot_tell_time(MtsConnection *connection)
{
	const Clock *clock = clock_of(connection->serverid);

	if (clock->signed_time && clock->hosts == hash_hosts(connection))
		mts_exchange_advance_time(&connection->exchange, clock->signed_time);
}

/* ---- Refusals ----------------------------------------------------------- */

/* The name of a collection in the list of refusals, palloc'd */
static char *
refusal_name(const MtsConnection *connection, const char *database,
			 const char *collection)
{
	return psprintf("%u %u %s.%s", connection->serverid,
					hash_hosts(connection), database, collection);
}

/*
 * mts_snapshot_is_refused
 *		Tell whether a collection has refused in this session to be read at a
 *		time.
 */
bool
mts_snapshot_is_refused(const MtsConnection *connection, const char *database,
						const char *collection)
{
	ListCell *lc;
	char *name;

	if (refusals == NIL)
		return false;
	name = refusal_name(connection, database, collection);
	foreach (lc, refusals)
		if (strcmp(lfirst(lc), name) == 0)
			return true;
	return false;
}

/*
 * mts_snapshot_record_refusal
 *		Record that a collection refuses that for good, as a capped one does.
 */
void
mts_snapshot_record_refusal(const MtsConnection *connection,
							const char *database, const char *collection)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);

	refusals = lcons(refusal_name(connection, database, collection), refusals);
	MemoryContextSwitchTo(old);
}
