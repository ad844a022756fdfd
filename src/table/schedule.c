/*
 * schedule.c
 *		Tell the launcher in shared memory when roll-ups are due.
 *
 * A worker sends when the roll-ups of its role are due next.  A session that
 * has declared how often a roll-up is refreshed sends its database when it
 * commits.  The launcher receives all items and keeps them in its own memory,
 * so few of them are here at a time.
 *
 * The memory exists if shared_preload_libraries names the library.
 */
#include "table/schedule.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/shmem.h"
#include "storage/spin.h"
#include "utils/timestamp.h"

typedef struct Schedule
{
	slock_t mutex;
	Latch *launcher; /* NULL before it has begun */
	int n;
	MtsDue items[MTS_SCHEDULE_SIZE];
} Schedule;

static Schedule *schedule = NULL;

/* The transaction has declared how often a roll-up is refreshed. */
static bool has_changed = false;

static shmem_request_hook_type previous_request = NULL;
static shmem_startup_hook_type previous_startup = NULL;

static void
request_memory(void)
{
	if (previous_request)
		previous_request();
	RequestAddinShmemSpace(MAXALIGN(sizeof(Schedule)));
}

static void
make_schedule(void)
{
	bool found;

	if (previous_startup)
		previous_startup();
	schedule =
		ShmemInitStruct("mongo_ts_fdw schedule", sizeof(Schedule), &found);
	if (found)
		return;
	memset(schedule, 0, sizeof(Schedule));
	SpinLockInit(&schedule->mutex);
}

/*
 * A transaction that is prepared is committed by another session, which does
 * not know of the change.  The launcher looks at each database from time to
 * time.
 */
static void
at_transaction_end(XactEvent event, void *arg)
{
	if (has_changed && event == XACT_EVENT_COMMIT)
		(void) mts_schedule_send(
			(MtsDue){.database = MyDatabaseId, .time = GetCurrentTimestamp()});
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT ||
		event == XACT_EVENT_PREPARE)
		has_changed = false;
}

/*
 * mts_schedule_init
 *		Request the shared memory; called once, when the postmaster loads the
 *		library.
 */
void
mts_schedule_init(void)
{
	previous_request = shmem_request_hook;
	shmem_request_hook = request_memory;
	previous_startup = shmem_startup_hook;
	shmem_startup_hook = make_schedule;
	RegisterXactCallback(at_transaction_end, NULL);
}

/* mts_schedule_is_read: tell whether this server has a launcher. */
bool
mts_schedule_is_read(void)
{
	return schedule != NULL;
}

/* mts_schedule_attach: have the latch of this process, the launcher, set. */
void
mts_schedule_attach(void)
{
	SpinLockAcquire(&schedule->mutex);
	schedule->launcher = MyLatch;
	SpinLockRelease(&schedule->mutex);
}

/*
 * mts_schedule_receive
 *		Move all items to an array of MTS_SCHEDULE_SIZE, and return how many
 *		there are.
 */
int
mts_schedule_receive(MtsDue *items)
{
	int n;

	SpinLockAcquire(&schedule->mutex);
	n = schedule->n;
	memcpy(items, schedule->items, n * sizeof(MtsDue));
	schedule->n = 0;
	SpinLockRelease(&schedule->mutex);
	return n;
}

/*
 * mts_schedule_send
 *		Send an item to the launcher.  False if there is no room for it.
 */
bool
mts_schedule_send(MtsDue due)
{
	Latch *launcher;
	int i = 0;
	bool has_room;

	SpinLockAcquire(&schedule->mutex);
	while (i < schedule->n && (schedule->items[i].database != due.database ||
							   schedule->items[i].owner != due.owner))
		i++;
	has_room = i < MTS_SCHEDULE_SIZE;
	if (i < schedule->n)
		schedule->items[i].time = Min(schedule->items[i].time, due.time);
	else if (has_room)
		schedule->items[schedule->n++] = due;
	launcher = schedule->launcher;
	SpinLockRelease(&schedule->mutex);
	if (launcher)
		SetLatch(launcher);
	return has_room;
}

/*
 * mts_schedule_note_change
 *		Have the launcher look at this database after the transaction's commit.
 */
void
mts_schedule_note_change(void)
{
	has_changed = schedule != NULL;
}
