/*
 * find.h
 *		The commands that read documents of a collection.
 */
#ifndef MTS_FIND_H
#define MTS_FIND_H

#include "driver/attempt.h"
#include "driver/snapshot.h"

/* The most documents in a first batch, whose size is not known yet */
#define MTS_FIRST_BATCH 1500

/* A find command; an aggregate command if it has stages, group or first_of */
typedef struct MtsFind
{
	const bson_t *stages; /* all that the command does; or NULL */
	const bson_t *filter;
	const bson_t *projection; /* NULL for whole documents */
	const bson_t *sort;       /* NULL or empty for any order */
	const bson_t *group;      /* the $group stage of all documents that match,
							   * without projection, sort and limit; or NULL */
	const char *first_of; /* a field: only the first document of each of its
							   * values, in the order of the sort and without
							   * limit; or NULL */
	int first_batch;      /* documents of the first batch */
	int fetch_size;       /* documents of later batches, at most */
	int limit;            /* 0 without a limit */
	bool raw_data;        /* the buckets of a time-series collection, not its
							* points */
	const char *other_buckets; /* the collection that is read, with the other
								* raw_data, if the server refuses; or NULL */
	bool on_primary;           /* whatever the URI's read preference is */
	bool may_be_refused;   /* a user who may not read it gets no documents */
	MtsSnapshot *snapshot; /* what is read; NULL for the latest documents */
	bool in_xact;       /* it sees what PostgreSQL's transaction has written */
	CommandId before;   /* .. in commands before this one; InvalidCommandId for
					   * all */
	int64 *round_trips; /* counts those of the cursor, or NULL */
	Oid relid;          /* the table that is read, or InvalidOid */
	const char *message; /* of its errors; NULL for one that names the
						  * collection */
} MtsFind;

extern bson_t *mts_find_stages(const MtsFind *find);
extern bool mts_find_compares_text(const MtsFind *find);
extern bson_t *mts_find_command(const MtsFind *find, const char *collection);
extern MtsAttempt mts_find_begin(const MtsFind *find,
								 MtsConnection *connection,
								 const char *database, const char *collection);
extern bool mts_find_try_explain(const MtsFind *find,
								 MtsConnection *connection,
								 const char *database, const char *collection,
								 const bson_t **reply);

#endif /* MTS_FIND_H */
