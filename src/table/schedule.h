/*
 * schedule.h
 *		What the launcher hears of roll-ups that are due.
 */
#ifndef MTS_SCHEDULE_H
#define MTS_SCHEDULE_H

#include "postgres.h"
#include "datatype/timestamp.h"

/* How many items the launcher has not received yet, at most */
#define MTS_SCHEDULE_SIZE 128

/* When roll-ups of a role are due */
typedef struct MtsDue
{
	Oid database;
	Oid owner; /* InvalidOid: when the database is to be looked at */
	TimestampTz time;
} MtsDue;

extern void mts_schedule_init(void);
extern bool mts_schedule_is_read(void);
extern void mts_schedule_attach(void);
extern int mts_schedule_receive(MtsDue *items);
extern bool mts_schedule_send(MtsDue due);
extern void mts_schedule_note_change(void);

#endif /* MTS_SCHEDULE_H */
