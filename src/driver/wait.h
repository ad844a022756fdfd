/*
 * wait.h
 *		When a wait of libmongoc's ends early: interrupts and deadlines.
 */
#ifndef MTS_WAIT_H
#define MTS_WAIT_H

#include "postgres.h"

/*
 * How long the other members of a deployment may be silent once one of them
 * has answered, in microseconds
 */
#define MTS_PATIENCE INT64CONST(900000)

/*
 * How long servers may be waited for in all at the end of a transaction, which
 * holds interrupts off, in microseconds.  Before it connects, libmongoc may
 * wait for half a second.
 */
#define MTS_ENDING_TIME INT64CONST(600000)

/* The waits of one client; its connection owns this. */
typedef struct MtsWait
{
	bool interrupted;    /* the last wait ended for an interrupt */
	const char *problem; /* why a reply was refused, or NULL */
	int64 timeout;       /* as an interrupt, in monotonic microseconds; or 0 */
	int64 deadline;      /* monotonic microseconds, or 0 without one.  While
						   * it is set, interrupts stay pending. */
	int64 limited;       /* when the deadline was set */
	int64 first_answer;  /* when the first member answered the last scan of
						   * all members, in monotonic microseconds, or 0 */
	int64 patience;      /* microseconds that the other members then have */
	bool patience_ended; /* a member failed that got less time to connect
						   * than connectTimeoutMS gives it */
	int nconnections;    /* that were made in the last scan */
	char refusals[512];  /* why members could not be reached: "[..] [..]" */
} MtsWait;

extern void mts_wait_reset(MtsWait *wait);
extern void mts_wait_limit(MtsWait *wait, int64 usecs);
extern bool mts_wait_unlimit(MtsWait *wait);
extern bool mts_wait_is_over(MtsWait *wait);
extern int64 mts_wait_expiry(int32 timeout_msecs);
extern int32 mts_wait_slice(int64 expiry);
extern void mts_wait_nap(long msecs);

#endif /* MTS_WAIT_H */
