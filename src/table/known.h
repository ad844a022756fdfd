/*
 * known.h
 *		What a session has learnt of collections.
 */
#ifndef MTS_KNOWN_H
#define MTS_KNOWN_H

#include "postgres.h"
#include "datatype/timestamp.h"

#include "core/bson/bson.h"

/* The size of a key; longer ones that begin alike share an entry */
#define MTS_KNOWN_KEY_SIZE 320

/* So many warnings of a collection's fields are not repeated. */
#define MTS_KNOWN_WARNINGS 16

/* A collection, as a server has described it to a user */
typedef struct MtsKnown
{
	char key[MTS_KNOWN_KEY_SIZE]; /* must be first */
	TimestampTz counted;          /* 0 if never */
	TimestampTz indexed; /* when its indexes were listed, or refused */
	TimestampTz silent;  /* of a server: when a question was not answered */
	bson_t *indexes; /* {name: {field: direction, ..}, ..}; owned, or NULL */
	bool is_mongodb; /* the server finds an absent field by $gte MinKey, the
					  * condition by which it skips in an index */
	double documents;
	double collections;  /* of a rolling set; otherwise 1 */
	bool is_ordinary;    /* it is not a native time-series collection */
	bool was_looked_for; /* whether it exists has been asked */
	uint32 warned[MTS_KNOWN_WARNINGS]; /* hashes of fields; or 0 */
	uint32 nwarned;                    /* the next one replaces the oldest */
} MtsKnown;

extern MtsKnown *mts_known_collection(Oid serverid, Oid userid,
									  const char *database,
									  const char *collection);
extern bool mts_known_server_is_silent(Oid serverid, Oid userid);
extern void mts_known_record_indexes(MtsKnown *known, const bson_t *indexes,
									 bool is_mongodb);
extern void mts_known_forget_indexes(Oid serverid);
extern void mts_known_record_silence(Oid serverid, Oid userid);
extern bool mts_known_is_recent(TimestampTz t);

#endif /* MTS_KNOWN_H */
