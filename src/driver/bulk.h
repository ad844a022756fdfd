/*
 * bulk.h
 *		Send writes to MongoDB in bulk.
 */
#ifndef MTS_BULK_H
#define MTS_BULK_H

#include "postgres.h"
#include "storage/lock.h"

#include "driver/connection.h"
#include "driver/op.h"
#include "driver/xact.h"

/*
 * An upsert that finds a duplicate key this often does not race with another
 * session that makes the same bucket: another unique index refuses it.
 */
#define MTS_MAX_DUPLICATES 5

/* The destination of writes, and what became of them */
typedef struct MtsBulk
{
	MtsConnection *connection;
	Oid relid; /* the table that is written */
	const char *database;
	const char *collection;      /* of a rolling set, the one written last */
	const char *message;         /* of errors; NULL for one that names the
							 * collection */
	struct MtsRoute *route;      /* to a rolling set's collections, or NULL */
	MtsScope scope;              /* where the server has transactions */
	bool is_required;            /* otherwise it is an error */
	int most_writes;             /* of a transaction; 0 without a limit */
	const MtsStoredTable *table; /* that a warning of ROLLBACK names; NULL if
								  * what stays stored does no harm */
	bool has_stored;             /* something that ROLLBACK does not undo */

	/* the last call */
	bool is_outdated;   /* nothing was sent: what its delete has seen was read
						 * before the transaction began again */
	int tries;          /* of it and of those before that were outdated */
	int64 affected;     /* found or created */
	int64 created;      /* of these */
	bool has_restarted; /* route.c: all that was written before is sent again,
						 * because there are new collections */

	struct MtsRound *round; /* of mts_bulk_begin, or NULL */
} MtsBulk;

extern void mts_bulk_init(void);
extern MtsScope mts_bulk_scope(MtsBulk *bulk);
extern bool mts_bulk_begin_statement(MtsBulk *bulk);
extern LOCKTAG mts_bulk_lock(const MtsBulk *bulk);
extern void mts_bulk_begin(MtsBulk *bulk, MtsOp *ops, int nops);
extern void mts_bulk_end(MtsBulk *bulk);
extern void mts_bulk_execute(MtsBulk *bulk, MtsOp *ops, int nops);

#endif /* MTS_BULK_H */
