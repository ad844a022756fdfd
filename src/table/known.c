/*
 * known.c
 *		Remember for the session what servers have said of collections.
 *
 * Planning asks servers, and does not wait for long.  A server that did not
 * answer soon is not asked again for a while.  What is remembered may be out
 * of date, so it must not decide which rows a query returns.
 */
#include "table/known.h"

#include "foreign/foreign.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

/* How long a count or a silence is remembered, in milliseconds */
#define VALID_TIME 60000

/* Everything is forgotten when there are so many entries. */
#define MAX_ENTRIES 1000

static HTAB *entries = NULL;
static bool is_outdated = false; /* a server or a mapping has changed */

static void
outdate(Datum arg, int cacheid, uint32 hash)
{
	is_outdated = true;
}

static void
forget_entries(void)
{
	HASH_SEQ_STATUS status;
	MtsKnown *known;

	hash_seq_init(&status, entries);
	while ((known = hash_seq_search(&status)))
		bson_destroy(known->indexes);
	hash_destroy(entries);
	entries = NULL;
}

/* Make the entries, anew if they are outdated or too many. */
static void
prepare_entries(void)
{
	static bool is_registered = false;
	HASHCTL control = {.keysize = MTS_KNOWN_KEY_SIZE,
					   .entrysize = sizeof(MtsKnown),
					   .hcxt = TopMemoryContext};

	if (!is_registered)
	{
		CacheRegisterSyscacheCallback(FOREIGNSERVEROID, outdate, (Datum) 0);
		CacheRegisterSyscacheCallback(USERMAPPINGOID, outdate, (Datum) 0);
		is_registered = true;
	}
	if (entries &&
		(is_outdated || hash_get_num_entries(entries) >= MAX_ENTRIES))
		forget_entries();
	is_outdated = false;
	if (!entries)
		entries = hash_create("mongo_ts_fdw collections", 16, &control,
							  HASH_ELEM | HASH_STRINGS | HASH_CONTEXT);
}

/*
 * mts_known_collection
 *		Return the entry of a collection, or of the pattern of a rolling set.
 *
 * It may be changed, and stays until the next call of
 * mts_known_server_is_silent.
 */
MtsKnown *
mts_known_collection(Oid serverid, Oid userid, const char *database,
					 const char *collection)
{
	char key[MTS_KNOWN_KEY_SIZE];
	MtsKnown *known;
	bool found;

	snprintf(key, sizeof(key), "%u %u %s.%s", serverid, userid, database,
			 collection);
	known = hash_search(entries, key, HASH_ENTER, &found);
	if (!found)
		memset((char *) known + sizeof(known->key), 0,
			   sizeof(*known) - sizeof(known->key));
	return known;
}

/* mts_known_is_recent: tell whether what was learnt then is still used. */
bool
mts_known_is_recent(TimestampTz t)
{
	return !TimestampDifferenceExceeds(t, GetCurrentTimestamp(), VALID_TIME);
}

/*
 * mts_known_server_is_silent
 *		Tell whether a server has lately not answered soon, so that it should
 *		not be asked again.
 *
 * Call this before mts_known_collection.  It may forget all entries.
 */
bool
mts_known_server_is_silent(Oid serverid, Oid userid)
{
	prepare_entries();
	return mts_known_is_recent(
		mts_known_collection(serverid, userid, "", "")->silent);
}

/* mts_known_record_silence: record that a server has not answered. */
void
mts_known_record_silence(Oid serverid, Oid userid)
{
	mts_known_collection(serverid, userid, "", "")->silent =
		GetCurrentTimestamp();
}

/*
 * mts_known_record_indexes
 *		Replace the indexes of a collection by a copy; NULL if the server does
 *		not show them.
 */
void
mts_known_record_indexes(MtsKnown *known, const bson_t *indexes,
						 bool is_mongodb)
{
	bson_destroy(known->indexes);
	known->indexes = indexes ? bson_copy(indexes) : NULL;
	known->is_mongodb = is_mongodb;
	known->indexed = GetCurrentTimestamp();
}

/* mts_known_forget_indexes: forget those of all collections of a server. */
void
mts_known_forget_indexes(Oid serverid)
{
	HASH_SEQ_STATUS status;
	MtsKnown *known;

	if (!entries)
		return;
	hash_seq_init(&status, entries);
	while ((known = hash_seq_search(&status)))
		if (strtoul(known->key, NULL, 10) == serverid)
			known->indexed = 0;
}
