/*
 * snapshot.h
 *		The moment of MongoDB's data that the reads of a statement see.
 */
#ifndef MTS_SNAPSHOT_H
#define MTS_SNAPSHOT_H

#include "driver/connection.h"
#include "utils/snapshot.h"

/* The reads of one server by the statements of one PostgreSQL snapshot */
typedef struct MtsSnapshot MtsSnapshot;

extern void mts_snapshot_init(void);
extern MtsSnapshot *mts_snapshot_of(Oid serverid, Snapshot statement);
extern uint64 mts_snapshot_time(MtsSnapshot *snapshot);
extern void mts_snapshot_set_time(MtsSnapshot *snapshot, uint64 time);
extern void mts_snapshot_append_concern(MtsSnapshot *snapshot,
										const MtsConnection *connection,
										bson_t *command);
extern bool mts_snapshot_read_time(MtsSnapshot *snapshot, const bson_t *reply);
extern void mts_snapshot_begin_write(const MtsConnection *connection);
extern void mts_snapshot_end_write(const MtsConnection *connection,
								   const bson_t *reply);
extern void mts_snapshot_tell_time(MtsConnection *connection);
extern bool mts_snapshot_is_refused(const MtsConnection *connection,
									const char *database,
									const char *collection);
extern void mts_snapshot_record_refusal(const MtsConnection *connection,
										const char *database,
										const char *collection);

#endif /* MTS_SNAPSHOT_H */
