/*
 * cursor.h
 *		Cursors over documents, and over the collections of a database.
 */
#ifndef MTS_CURSOR_H
#define MTS_CURSOR_H

#include "postgres.h"
#include "lib/ilist.h"

#include "driver/connection.h"
#include "driver/snapshot.h"

typedef struct MtsCursor MtsCursor;

/* The factor by which batches grow that begin small */
#define MTS_BATCH_GROWTH 4

/* The most documents in a first batch, whose size is not known yet */
#define MTS_FIRST_BATCH 1500

/*
 * A reader of PostgreSQL's transaction that has not begun.  It reads all that
 * it is to return before the transaction writes.
 */
typedef struct MtsLateReader
{
	dlist_node node;
	Oid serverid;
	void (*read_all)(struct MtsLateReader *reader);
} MtsLateReader;

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

extern bson_t *mts_cursor_stages(const MtsFind *find);
extern MtsCursor *mts_cursor_find(MtsConnection *connection,
								  const char *database, const char *collection,
								  const MtsFind *find);
extern MtsCursor *mts_cursor_collections(MtsConnection *connection,
										 const char *database);
extern const bson_t *mts_cursor_next(MtsCursor *cursor);
extern bool mts_cursor_is_refused(const MtsCursor *cursor);
extern void mts_cursor_await_write(MtsLateReader *reader);
extern void mts_cursor_spool(const MtsConnection *connection);
extern bool mts_cursor_must_wait(MtsCursor *cursor);
extern void mts_cursor_wait_any(List *cursors);
extern void mts_cursor_close(MtsCursor *cursor);
extern const bson_t *mts_cursor_first(MtsConnection *connection,
									  const char *database,
									  const char *collection,
									  const MtsFind *find);
extern bool mts_cursor_try_explain(MtsConnection *connection,
								   const char *database,
								   const char *collection, const MtsFind *find,
								   const bson_t **reply);
extern List *mts_cursor_list_names(MtsConnection *connection,
								   const char *database, const bson_t *filter);
extern bool mts_cursor_try_list_names(MtsConnection *connection,
									  const char *database,
									  const bson_t *filter, List **names);

#endif /* MTS_CURSOR_H */
