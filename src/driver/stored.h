/*
 * stored.h
 *		What is stored although PostgreSQL's transaction is rolled back.
 */
#ifndef MTS_STORED_H
#define MTS_STORED_H

#include "driver/connection.h"

/* What writes have stored */
typedef struct MtsStored
{
	int64 npoints;
	int64 nedited;    /* points that were changed or removed */
	int64 ndocuments; /* whose points are not counted */
} MtsStored;

extern void mts_stored_init(void);
extern MtsStored mts_stored_sum(MtsStored a, MtsStored b);
extern void mts_stored_record_sent(const MtsConnection *connection,
								   int64 more);
extern void mts_stored_record(const MtsConnection *connection,
							  const char *server, MtsStored what);

#endif /* MTS_STORED_H */
