/*
 * xact.h
 *		A transaction of MongoDB that ends with that of PostgreSQL.
 */
#ifndef MTS_XACT_H
#define MTS_XACT_H

#include "driver/attempt.h"

extern void mts_xact_init(void);
extern mongoc_client_session_t *
mts_xact_session(const MtsConnection *connection);
extern mongoc_client_session_t *mts_xact_write(const MtsAttempt *attempt);

#endif /* MTS_XACT_H */
