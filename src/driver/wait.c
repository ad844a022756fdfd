/*
 * wait.c
 *		Decide when a wait of libmongoc's ends early.
 *
 * libmongoc blocks in poll() for as long as its timeouts say.  stream.c cuts
 * each wait into slices and asks here between them whether PostgreSQL wants
 * the backend back, or whether a deadline has passed.  No error is raised
 * here, because it would jump through libmongoc's frames: report.c raises it
 * when libmongoc has returned.
 */
#include "driver/wait.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "bson/bson.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "storage/procsignal.h"
#include "tcop/tcopprot.h"
#include "utils/timeout.h"
#include "utils/wait_event.h"

#include "compat.h"

#define SLICE_MSECS 100

/*
 * How much longer servers may be waited for at the end of a transaction, and
 * when such a wait has ended last, in monotonic microseconds.  Several
 * connections can be waited for at once.
 */
static int64 ending_left = MTS_ENDING_TIME;
static int64 ending_waited = 0;

/*
 * mts_wait_reset
 *		Forget how the last call of libmongoc's ended, before the next one.
 *
 * The deadline stays.
 */
void
mts_wait_reset(MtsWait *wait)
{
	wait->interrupted = false;
	wait->problem = NULL;
	wait->first_answer = 0;
	wait->patience = MTS_PATIENCE;
	wait->patience_ended = false;
	wait->nconnections = 0;
	wait->refusals[0] = '\0';
}

/*
 * Let backends go on that wait for this one to process a barrier, such as
 * that of DROP DATABASE.  Returns false when that raised an error.  PostgreSQL
 * raises it again when it deals with the interrupt.
 */
static bool
absorb_barrier(void)
{
	MemoryContext context = CurrentMemoryContext;
	volatile bool ok = true;

	PG_TRY();
	{
		ProcessProcSignalBarrier();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		FlushErrorState();
		ok = false;
	}
	PG_END_TRY();
	return ok;
}

/* Look whether the client is still there, and have it asked again later. */
static void
check_client(void)
{
	CheckClientConnectionPending = false;
	if (!pq_check_connection())
		ClientConnectionLost = true;
	else if (client_connection_check_interval > 0)
		enable_timeout_after(CLIENT_CONNECTION_CHECK_TIMEOUT,
							 client_connection_check_interval);
}

/* Tell whether a flag of PostgreSQL's says which interrupt is pending. */
static bool
is_explained(void)
{
	return ProcDiePending || QueryCancelPending || ProcSignalBarrierPending ||
		   ClientConnectionLost || CheckClientConnectionPending ||
		   IdleInTransactionSessionTimeoutPending ||
		   IdleSessionTimeoutPending || IdleStatsUpdateTimeoutPending ||
		   LogMemoryContextPending || ParallelMessagePending ||
		   mts_other_interrupt_pending;
}

/*
 * Deal with the interrupts that raise no error; what stays pending is another
 * one.  Returns false if one of them raised an error.
 *
 * The signal of a recovery conflict that is lost here is sent again.
 */
static bool
absorb_interrupts(void)
{
	if (!ProcSignalBarrierPending && !CheckClientConnectionPending)
		return true;
	InterruptPending = false;
	if (ProcSignalBarrierPending && !absorb_barrier())
		return false;
	if (CheckClientConnectionPending)
		check_client();
	InterruptPending |= is_explained();
	return true;
}

/*
 * Tell whether CHECK_FOR_INTERRUPTS() would raise an error.
 *
 * Since PostgreSQL 17, the flag of a recovery conflict on a standby is not
 * visible here.  So an interrupt without a visible flag ends the wait, too.
 */
static bool
is_interrupted(void)
{
	if (!InterruptPending || InterruptHoldoffCount > 0 || CritSectionCount > 0)
		return false;
	if (!absorb_interrupts() || ProcDiePending || ClientConnectionLost ||
		mts_transaction_timed_out)
		return true;
	return QueryCancelHoldoffCount == 0 &&
		   (QueryCancelPending || (InterruptPending && !is_explained()));
}

/*
 * mts_wait_limit
 *		Have waits end after some microseconds.
 *
 * At the end of a transaction or a subtransaction, all such waits of all
 * connections have MTS_ENDING_TIME together.  Each later wait of a running
 * transaction renews that.
 */
void
mts_wait_limit(MtsWait *wait, int64 usecs)
{
	if (IsTransactionState())
		ending_left = MTS_ENDING_TIME;
	else
		usecs = Min(usecs, ending_left);
	wait->limited = bson_get_monotonic_time();
	wait->deadline = wait->limited + usecs;
}

/*
 * mts_wait_unlimit
 *		Remove the deadline of waits; return whether they had to end before.
 */
bool
mts_wait_unlimit(MtsWait *wait)
{
	bool is_over = wait->deadline != 0 && mts_wait_is_over(wait);
	int64 now = bson_get_monotonic_time();

	if (!IsTransactionState())
	{
		ending_left =
			Max(ending_left - (now - Max(wait->limited, ending_waited)), 0);
		ending_waited = now;
	}
	wait->deadline = 0;
	mts_wait_reset(wait);
	return is_over;
}

/*
 * mts_wait_is_over
 *		Tell whether a wait must end: at the deadline, or for an interrupt.
 *
 * Only without a deadline is it recorded that an interrupt has ended it.
 */
bool
mts_wait_is_over(MtsWait *wait)
{
	if (wait->deadline != 0)
		return bson_get_monotonic_time() >= wait->deadline || is_interrupted();
	ending_left = MTS_ENDING_TIME;
	if (is_interrupted() ||
		(wait->timeout != 0 && bson_get_monotonic_time() >= wait->timeout))
		wait->interrupted = true;
	return wait->interrupted;
}

/*
 * mts_wait_expiry
 *		Return when a timeout that begins now ends, in monotonic microseconds.
 *
 * A negative timeout never ends.
 */
int64
mts_wait_expiry(int32 timeout_msecs)
{
	return timeout_msecs < 0
			   ? PG_INT64_MAX
			   : bson_get_monotonic_time() + timeout_msecs * INT64CONST(1000);
}

/*
 * mts_wait_slice
 *		Return the milliseconds of the next slice; 0 once the time has expired.
 */
int32
mts_wait_slice(int64 expiry)
{
	int64 left = expiry - bson_get_monotonic_time();

	return left <= 0 ? 0 : (int32) Min(left / 1000 + 1, SLICE_MSECS);
}

/*
 * mts_wait_nap
 *		Sleep for some milliseconds, or until an interrupt, which stays
 *		pending.
 */
void
mts_wait_nap(long msecs)
{
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					 msecs, PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
}
