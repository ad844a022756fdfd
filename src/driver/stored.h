/*
 * stored.h
 *		What is stored although PostgreSQL's transaction is rolled back.
 */
#ifndef MTS_STORED_H
#define MTS_STORED_H

#include "driver/connection.h"

extern void mts_stored_init(void);
extern void mts_stored_record_sent(const MtsConnection *connection,
								   int64 npoints);
extern void mts_stored_record(const MtsConnection *connection, int64 npoints,
							  int64 ndocuments);

#endif /* MTS_STORED_H */
