/*
 * launcher.c
 *		The background worker that starts those that refresh roll-ups.
 *
 * There is one launcher a server.  It is connected to no database, and does
 * not use libmongoc.  It keeps a list of jobs: when the roll-ups of a role in
 * a database are due, and when a database is looked at.  For each that is due
 * it starts a worker (worker.c), which ends when it has done that.
 *
 * Nothing outside of a database says whether it has roll-ups.  So each is
 * looked at when the launcher begins, when it is new, and from time to time,
 * which takes milliseconds.  Sessions that declare roll-ups say so
 * (table/schedule.c).  Workers that look at a database send the owners, and
 * those of an owner send when its roll-ups are due next.  A job without an
 * answer, because its worker has failed or found none, is forgotten until the
 * database is looked at again.
 *
 * DROP DATABASE waits for five seconds for the processes that are connected to
 * the database, but does not end them.  It locks the database meanwhile, and
 * so do other statements that require it to be unused.  The launcher sees the
 * lock and ends its worker.
 */
#include "admin/launcher.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lock.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "admin/worker.h"
#include "table/schedule.h"

/* How often the databases are listed, and how often each is looked at */
#define LIST_TIME USECS_PER_MINUTE
#define LOOK_TIME (10 * USECS_PER_MINUTE)

/* How often it is looked whether somebody wants a worker's database */
#define LOCK_TIME USECS_PER_SEC

typedef struct Job
{
	MtsDue due; /* DT_NOEND before a worker has answered */
	bool is_listed;
	BackgroundWorkerHandle *worker; /* NULL if none is running */
} Job;

static List *jobs = NIL;

static int max_workers; /* a setting */

/* ---- Jobs --------------------------------------------------------------- */

static Job *
find_job(Oid database, Oid owner)
{
	ListCell *lc;

	foreach (lc, jobs)
	{
		Job *job = lfirst(lc);

		if (job->due.database == database && job->due.owner == owner)
			return job;
	}
	return NULL;
}

/* Have a job done at a time, or before. */
static Job *
schedule(MtsDue due)
{
	Job *job = find_job(due.database, due.owner);

	if (!job)
	{
		job = palloc0(sizeof(Job));
		job->due = due;
		jobs = lappend(jobs, job);
	}
	job->due.time = Min(job->due.time, due.time);
	return job;
}

static void
receive(void)
{
	static MtsDue items[MTS_SCHEDULE_SIZE];
	int n = mts_schedule_receive(items);

	for (int i = 0; i < n; i++)
		(void) schedule(items[i]);
}

/* List the databases, and schedule that new ones are looked at. */
static void
list_databases(TimestampTz now)
{
	MemoryContext memory = CurrentMemoryContext;
	Relation relation;
	TableScanDesc scan;
	HeapTuple tuple;
	ListCell *lc;

	StartTransactionCommand();
	(void) GetTransactionSnapshot();
	relation = table_open(DatabaseRelationId, AccessShareLock);
	scan = table_beginscan_catalog(relation, 0, NULL);
	foreach (lc, jobs)
		((Job *) lfirst(lc))->is_listed = false;
	MemoryContextSwitchTo(memory);
	while (HeapTupleIsValid(tuple = heap_getnext(scan, ForwardScanDirection)))
	{
		Form_pg_database form = (Form_pg_database) GETSTRUCT(tuple);
		Job *job = find_job(form->oid, InvalidOid);

		/* a limit below -1 is that of one that has been removed in part */
		if (!form->datallowconn || form->datconnlimit < -1)
			continue;
		if (!job)
			job = schedule((MtsDue){.database = form->oid, .time = now});
		job->is_listed = true;
	}
	table_endscan(scan);
	table_close(relation, AccessShareLock);
	CommitTransactionCommand();
	MemoryContextSwitchTo(memory);
	foreach (lc, jobs)
	{
		Job *job = lfirst(lc);
		const Job *look = find_job(job->due.database, InvalidOid);

		if (!look || !look->is_listed)
			job->due.time = DT_NOEND;
	}
}

/*
 * Tell whether a statement that requires that nobody uses a database has
 * locked it, such as DROP DATABASE.
 */
static bool
is_wanted(Oid database)
{
	LOCKTAG tag;

	SET_LOCKTAG_OBJECT(tag, InvalidOid, DatabaseRelationId, database, 0);
	if (LockAcquire(&tag, RowExclusiveLock, true, true) ==
		LOCKACQUIRE_NOT_AVAIL)
		return true;
	LockRelease(&tag, RowExclusiveLock, true);
	return false;
}

/* ---- Workers ------------------------------------------------------------ */

static BackgroundWorker
describe(const char *type, const char *function)
{
	BackgroundWorker worker = {.bgw_flags =
								   BGWORKER_SHMEM_ACCESS |
								   BGWORKER_BACKEND_DATABASE_CONNECTION,
							   .bgw_start_time =
								   BgWorkerStart_RecoveryFinished};

	strlcpy(worker.bgw_name, type, BGW_MAXLEN);
	strlcpy(worker.bgw_type, type, BGW_MAXLEN);
	strlcpy(worker.bgw_library_name, "mongo_ts_fdw",
			sizeof(worker.bgw_library_name));
	strlcpy(worker.bgw_function_name, function, BGW_MAXLEN);
	return worker;
}

static void
start(Job *job, TimestampTz now)
{
	BackgroundWorker worker =
		describe("mongo_ts_fdw worker", "mts_worker_main");

	worker.bgw_restart_time = BGW_NEVER_RESTART;
	worker.bgw_notify_pid = MyProcPid;
	memcpy(worker.bgw_extra, &job->due, sizeof(MtsDue));
	if (RegisterDynamicBackgroundWorker(&worker, &job->worker))
	{
		job->due.time =
			OidIsValid(job->due.owner) ? DT_NOEND : now + LOOK_TIME;
		return;
	}
	job->worker = NULL;
	job->due.time = now + LIST_TIME;
	ereport(WARNING,
			(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
			 errmsg("could not start a background worker for roll-ups"),
			 errhint("Raise max_worker_processes.")));
}

/*
 * End the workers whose databases are wanted, and forget those that have
 * ended.  Returns how many are running.
 */
static int
look_after_workers(void)
{
	int running = 0;
	ListCell *lc;

	foreach (lc, jobs)
	{
		Job *job = lfirst(lc);
		pid_t pid;

		if (job->worker &&
			GetBackgroundWorkerPid(job->worker, &pid) == BGWH_STOPPED)
		{
			pfree(job->worker);
			job->worker = NULL;
		}
		if (job->worker && is_wanted(job->due.database))
			TerminateBackgroundWorker(job->worker);
		running += job->worker != NULL;
		if (!job->worker && job->due.time == DT_NOEND)
		{
			jobs = foreach_delete_current(jobs, lc);
			pfree(job);
		}
	}
	return running;
}

static int
compare_due(const ListCell *a, const ListCell *b)
{
	TimestampTz left = ((const Job *) lfirst(a))->due.time;
	TimestampTz right = ((const Job *) lfirst(b))->due.time;

	return (left > right) - (left < right);
}

/*
 * Start workers for what is due, the earliest first.  Returns when to do so
 * again, unless a worker ends before.
 */
static TimestampTz
start_due(int running, TimestampTz now)
{
	TimestampTz next = DT_NOEND;
	ListCell *lc;

	list_sort(jobs, compare_due);
	foreach (lc, jobs)
	{
		Job *job = lfirst(lc);

		if (job->due.time > now)
			return Min(next, job->due.time);
		if (running >= max_workers)
			break;
		if (job->worker)
			continue;
		if (is_wanted(job->due.database))
			next = now + LOCK_TIME;
		else
		{
			start(job, now);
			running += job->worker != NULL;
		}
	}
	return next;
}

/* ---- The launcher ------------------------------------------------------- */

/* mts_launcher_main: the launcher's process. */
void
mts_launcher_main(Datum arg)
{
	TimestampTz next_list = DT_NOBEGIN;

	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	mts_schedule_attach();
	MemoryContextSwitchTo(TopMemoryContext);
	while (true)
	{
		TimestampTz now = GetCurrentTimestamp();
		TimestampTz next;
		int running;

		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		if (ShutdownRequestPending)
			proc_exit(1);
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
		if (now >= next_list)
		{
			list_databases(now);
			next_list = now + LIST_TIME;
		}
		receive();
		running = look_after_workers();
		next = Min(start_due(running, now), next_list);
		if (running > 0)
			next = Min(next, now + LOCK_TIME);
		(void) WaitLatch(MyLatch,
						 WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 TimestampDifferenceMilliseconds(now, next),
						 PG_WAIT_EXTENSION);
	}
}

/*
 * mts_launcher_init
 *		Define the settings, and register the launcher if the postmaster loads
 *		the library.
 */
void
mts_launcher_init(void)
{
	BackgroundWorker worker =
		describe("mongo_ts_fdw launcher", "mts_launcher_main");

	DefineCustomIntVariable(
		"mongo_ts_fdw.max_refresh_workers",
		"Number of background workers that refresh roll-ups at once.",
		"0 refreshes none.", &max_workers, 4, 0, 1024, PGC_SIGHUP, 0, NULL,
		NULL, NULL);
	if (!process_shared_preload_libraries_in_progress || IsBinaryUpgrade)
		return;
	mts_schedule_init();
	worker.bgw_restart_time = 5;
	RegisterBackgroundWorker(&worker);
}
