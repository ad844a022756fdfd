/*
 * orphan.h
 *		Cursors and sessions that are open on a server that was lost or silent.
 */
#ifndef MTS_ORPHAN_H
#define MTS_ORPHAN_H

#include "driver/connection.h"

extern void mts_orphan_add(const MtsConnection *connection,
						   const char *database, bson_t *kill_command);
extern void mts_orphan_add_session(const MtsConnection *connection,
								   MtsLsid *lsid);
extern void mts_orphan_kill(MtsConnection *connection, bool is_lost);

#endif /* MTS_ORPHAN_H */
