/*
 * transaction.h
 *		Transactions of MongoDB.
 */
#ifndef MTS_TRANSACTION_H
#define MTS_TRANSACTION_H

#include "postgres.h"

#include "driver/attempt.h"
#include "driver/server_error.h"

/* A transaction, in the session of its connection */
typedef struct MtsTransaction
{
	const char *database;   /* that it writes to */
	const char *collection; /* one of those that it writes to */
	int64 number;
	bool has_begun;      /* its first command has been made */
	bool commit_is_sent; /* with its only command; nobody has the reply */
	bool is_in_doubt;    /* the server may still begin and commit it */
} MtsTransaction;

/* What became of a transaction */
typedef enum MtsOutcome
{
	MTS_COMMITTED,
	MTS_ABORTED,
	MTS_UNKNOWN
} MtsOutcome;

extern int64 mts_transaction_next_number(MtsConnection *connection);
extern bool mts_transaction_begin(MtsTransaction *transaction,
								  MtsConnection *connection,
								  const char *database,
								  const char *collection);
extern void mts_transaction_append(MtsTransaction *transaction,
								   bson_t *command);
extern void mts_transaction_commit_early(MtsTransaction *transaction,
										 const MtsAttempt *attempt);
extern MtsOutcome mts_transaction_commit(MtsTransaction *transaction,
										 MtsAttempt *attempt,
										 bson_error_t *error);
extern MtsDecision
mts_transaction_decide_commit(const MtsConnection *connection,
							  const bson_t *reply, bson_error_t *error);
extern void mts_transaction_classify(const bson_t *reply, bson_error_t *error);

#endif /* MTS_TRANSACTION_H */
