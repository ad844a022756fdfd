/*
 * transaction.h
 *		Transactions of MongoDB, and the numbers of writes.
 */
#ifndef MTS_TRANSACTION_H
#define MTS_TRANSACTION_H

#include "driver/attempt.h"
#include "driver/server_error.h"

/* What became of a transaction */
typedef enum MtsOutcome
{
	MTS_COMMITTED,
	MTS_ABORTED,
	MTS_UNKNOWN
} MtsOutcome;

extern int64 mts_transaction_next_number(MtsConnection *connection);
extern void mts_transaction_append_number(MtsLsid *lsid, int64 number,
										  bson_t *command);
extern void mts_transaction_begin(MtsTransaction *transaction,
								  MtsConnection *connection, MtsLsid *lsid);
extern void mts_transaction_append(MtsTransaction *transaction,
								   bson_t *command);
extern MtsOutcome mts_transaction_commit(MtsTransaction *transaction,
										 MtsAttempt *attempt,
										 bson_error_t *error);
extern void mts_transaction_abort_all(List *transactions);
extern void mts_transaction_orphan(MtsTransaction *transaction);
extern void mts_transaction_classify(const bson_t *reply, bson_error_t *error);

#endif /* MTS_TRANSACTION_H */
