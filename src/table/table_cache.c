/*
 * table_cache.c
 *		Keep for the session what the options of tables mean.
 *
 * A short statement opens its table several times: for planning, for the
 * executor's checks and for execution.  To read the options took a sixth of
 * the backend's time in an INSERT of one row.
 *
 * A change of the table or of any foreign server invalidates what was read of
 * it.  A table whose options contradict each other is not kept, because the
 * description of its problem depends on the search path.
 *
 * What is kept has a memory context of its own, which is deleted when it is
 * invalid and nobody uses it any more.
 */
#include "table/table_cache.h"

#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "driver/document.h"

/* All tables are forgotten before they would need more bytes. */
#define MAX_BYTES (16 * 1024 * 1024)

/* What was read of a table, which lives in memory, as does this */
typedef struct Kept
{
	MemoryContext memory;
	const MtsTable *table;
	int pins;
	bool is_forgotten; /* no entry leads to it */
} Kept;

typedef struct Entry
{
	Oid relid;
	Kept *kept;
} Entry;

static HTAB *entries = NULL;
static MemoryContext memory = NULL; /* of all that is kept */
static uint64 changes = 0;          /* that could matter to a table */

/* ---- Forgetting -------------------------------------------------------- */

static void
delete_unused(Kept *kept)
{
	if (kept->is_forgotten && kept->pins == 0)
		MemoryContextDelete(kept->memory);
}

static void
forget(Entry *entry)
{
	Kept *kept = entry->kept;

	(void) hash_search(entries, &entry->relid, HASH_REMOVE, NULL);
	kept->is_forgotten = true;
	delete_unused(kept);
}

static void
forget_all(void)
{
	HASH_SEQ_STATUS status;
	Entry *entry;

	hash_seq_init(&status, entries);
	while ((entry = hash_seq_search(&status)) != NULL)
		forget(entry);
}

/* Handle a change of a relation, or of any. */
static void
relation_changed(Datum arg, Oid relid)
{
	Entry *entry;

	changes++;
	if (!OidIsValid(relid))
		forget_all();
	else if ((entry = hash_search(entries, &relid, HASH_FIND, NULL)) != NULL)
		forget(entry);
}

/* Handle a change of a foreign server. */
static void
server_changed(Datum arg, int cacheid, uint32 hash)
{
	changes++;
	forget_all();
}

static void
prepare_entries(void)
{
	HASHCTL control = {.keysize = sizeof(Oid),
					   .entrysize = sizeof(Entry),
					   .hcxt = TopMemoryContext};

	if (entries)
		return;
	memory = AllocSetContextCreate(TopMemoryContext, "mongo_ts_fdw tables",
								   ALLOCSET_SMALL_SIZES);
	entries = hash_create("mongo_ts_fdw tables", 16, &control,
						  HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	CacheRegisterRelcacheCallback(relation_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(FOREIGNSERVEROID, server_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(FOREIGNTABLEREL, server_changed, (Datum) 0);
}

/* ---- Use --------------------------------------------------------------- */

static void
unpin(void *arg)
{
	Kept *kept = arg;

	kept->pins--;
	delete_unused(kept);
}

/* Pin a table until the current memory context is reset. */
static const MtsTable *
use(Kept *kept)
{
	mts_document_release_with(unpin, kept);
	kept->pins++;
	return kept->table;
}

/*
 * Read a table in a context of its own.  That of a table that cannot be kept
 * ends with the current one.
 */
static Kept *
read_kept(Relation relation, const MtsTable *(*read)(Relation relation))
{
	MemoryContext own =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw table",
							  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(own);
	Kept *kept = palloc0(sizeof(Kept));

	kept->memory = own;
	kept->table = read(relation);
	MemoryContextSwitchTo(old);
	return kept;
}

/*
 * mts_table_cache_get
 *		Return a table as read() reads it, for as long as the current memory
 *		context lives.
 */
const MtsTable *
mts_table_cache_get(Relation relation,
					const MtsTable *(*read)(Relation relation))
{
	Oid relid = RelationGetRelid(relation);
	uint64 changes_before;
	Size size;
	Entry *entry;
	Kept *kept;

	prepare_entries();
	entry = hash_search(entries, &relid, HASH_FIND, NULL);
	if (entry)
		return use(entry->kept);
	changes_before = changes;
	kept = read_kept(relation, read);
	size = MemoryContextMemAllocated(kept->memory, true);
	/* reading looks at the catalogs, and so can meet a change */
	if (kept->table->problem || changes != changes_before || size > MAX_BYTES)
		return kept->table;
	if (MemoryContextMemAllocated(memory, true) + size > MAX_BYTES)
		forget_all();
	entry = hash_search(entries, &relid, HASH_ENTER, NULL);
	entry->kept = kept;
	MemoryContextSetParent(kept->memory, memory);
	return use(kept);
}
