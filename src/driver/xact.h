/*
 * xact.h
 *		Units of work: writes to a server that are stored together.
 */
#ifndef MTS_XACT_H
#define MTS_XACT_H

#include "driver/seen.h"
#include "driver/stored.h"
#include "driver/transaction.h"

/* Which writes are stored together, or not at all, by a server that has
 * transactions; without them each write is stored by itself */
typedef enum MtsScope
{
	MTS_EACH_WRITE, /* each write by itself */
	MTS_EACH_CALL,  /* the writes of a call of bulk.c, if they are several */
	MTS_STATEMENT,  /* those of a statement, which commits them */
	MTS_TRANSACTION /* those of PostgreSQL's transaction */
} MtsScope;

/* A unit of work: writes that are stored together */
typedef struct MtsXact MtsXact;

/* Sends the only command of a transaction by itself; see mts_xact_postpone. */
typedef void (*MtsXactSend)(MtsConnection *connection, void *arg);

extern void mts_xact_init(void);

/* what belongs to the transaction of MongoDB */
extern bool mts_xact_is_active(Oid serverid);
extern bool mts_xact_has_written(Oid serverid, CommandId before);
extern bool mts_xact_writes_since(const MtsConnection *connection,
								  const char *database, const char *collection,
								  CommandId since);
extern MtsTransaction *mts_xact_transaction(MtsConnection *connection);
extern int mts_xact_starts(const MtsConnection *connection);
extern MtsXact *mts_xact_unit(MtsConnection *connection);
extern MtsXact *mts_xact_begin_call(MtsConnection *connection, MtsLsid *lsid);
extern void mts_xact_end_call(MtsXact *xact);
extern bool mts_xact_open(MtsXact *xact, MtsAttempt *attempt,
						  MtsTransaction **transaction, bson_error_t *error);
extern MtsOutcome mts_xact_commit_call(MtsXact *xact, MtsAttempt *attempt,
									   bson_error_t *error);
extern void mts_xact_begin_reading(MtsConnection *connection);
extern bool mts_xact_end_reading(const MtsConnection *connection);
extern bool mts_xact_begin_own(MtsConnection *connection);
extern bool mts_xact_may_postpone(const MtsConnection *connection);
extern void mts_xact_postpone(MtsConnection *connection, const char *database,
							  const bson_t *command,
							  const MtsStoredTable *table, MtsXactSend send,
							  void *arg);
extern void mts_xact_record(MtsXact *xact, const char *database,
							const bson_t *command, int64 ndocuments,
							bool reports_new);
extern void mts_xact_record_read(MtsXact *xact, const char *database,
								 const bson_t *command, const MtsSeen *seen);
extern void mts_xact_drop(MtsXact *xact);
extern void mts_xact_keep(MtsXact *xact, const MtsStoredTable *table,
						  int64 nnew);
extern void mts_xact_commit(const MtsConnection *connection);

/* what becomes of it after an error */
extern void mts_xact_abort_unit(MtsXact *xact, const bson_error_t *error);
extern void mts_xact_abort(const MtsConnection *connection,
						   const bson_error_t *error);
extern bool mts_xact_may_repeat(const MtsConnection *connection);
extern bool mts_xact_should_repeat(MtsAttempt *attempt, int tries,
								   const bson_error_t *error);
extern bool mts_xact_restart(const MtsConnection *connection);
extern void mts_xact_report_failure(MtsConnection *connection,
									const char *message,
									const bson_error_t *error);

#endif /* MTS_XACT_H */
