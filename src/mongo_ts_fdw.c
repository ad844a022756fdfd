/*
 * mongo_ts_fdw.c
 *		The handler and the settings of the extension.
 *
 * The headers included here declare the callbacks.
 */
#include "postgres.h"

#include "fmgr.h"
#include "foreign/fdwapi.h"
#include "utils/guc.h"

#include "admin/launcher.h"
#include "advice/import/import.h"
#include "compat.h"
#include "driver/bulk.h"
#include "driver/command_log.h"
#include "driver/connection.h"
#include "driver/cursor.h"
#include "driver/snapshot.h"
#include "driver/stored.h"
#include "driver/xact.h"
#include "explain.h"
#include "fdw_modify.h"
#include "fdw_scan.h"
#include "plan/agg_path.h"
#include "plan/agg_plan.h"
#include "plan/analyze.h"
#include "plan/join_agg.h"
#include "plan/pathkeys.h"
#include "plan/plan.h"
#include "plan/rollup_match.h"
#include "pushdown/qual.h"
#include "scan/bucket.h"

MTS_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(mongo_ts_fdw_handler);

void _PG_init(void);

void
_PG_init(void)
{
	mts_connection_init();
	mts_snapshot_init();
	mts_spool_init();
	mts_xact_init();
	mts_stored_init();
	mts_bulk_init();
	mts_join_agg_init();
	DefineCustomBoolVariable(
		"mongo_ts_fdw.enable_partial_aggregate",
		"Enables the planner's use of scans that aggregate.", NULL,
		&mts_enable_partial_aggregate, true, PGC_USERSET, GUC_EXPLAIN, NULL,
		NULL, NULL);
	DefineCustomBoolVariable(
		"mongo_ts_fdw.enable_join_aggregate",
		"Enables the planner's use of scans that aggregate below joins.", NULL,
		&mts_enable_join_aggregate, true, PGC_USERSET, GUC_EXPLAIN, NULL, NULL,
		NULL);
	DefineCustomBoolVariable("mongo_ts_fdw.enable_order_by",
							 "Enables the planner's use of sorted scans.",
							 NULL, &mts_enable_order_by, true, PGC_USERSET,
							 GUC_EXPLAIN, NULL, NULL, NULL);
	DefineCustomBoolVariable(
		"mongo_ts_fdw.enable_preaggregates",
		"Enables scans to use the pre-aggregates of buckets.", NULL,
		&mts_enable_preaggregates, true, PGC_USERSET, GUC_EXPLAIN, NULL, NULL,
		NULL);
	DefineCustomBoolVariable(
		"mongo_ts_fdw.enable_column_reader",
		"Enables scans to read all points of a bucket at once.", NULL,
		&mts_enable_column_reader, true, PGC_USERSET, GUC_EXPLAIN, NULL, NULL,
		NULL);
	DefineCustomBoolVariable("mongo_ts_fdw.enable_rollups",
							 "Enables scans that aggregate to read roll-ups.",
							 NULL, &mts_enable_rollups, true, PGC_USERSET,
							 GUC_EXPLAIN, NULL, NULL, NULL);
	DefineCustomIntVariable(
		"mongo_ts_fdw.processors",
		"Number of processors that are shared with MongoDB on the same host.",
		"0 counts those of the host.", &mts_processors, 0, 0, INT_MAX,
		PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	/* commands of views and functions have data that their callers may not
	 * see */
	DefineCustomBoolVariable("mongo_ts_fdw.log_commands",
							 "Logs each command that is sent to MongoDB.",
							 NULL, &mts_log_commands, false, PGC_SUSET, 0,
							 NULL, NULL, NULL);
	mts_launcher_init();
	MarkGUCPrefixReserved("mongo_ts_fdw");
}

/* SQL: mongo_ts_fdw_handler() returns fdw_handler */
Datum
mongo_ts_fdw_handler(PG_FUNCTION_ARGS)
{
	FdwRoutine *routine = makeNode(FdwRoutine);

	routine->GetForeignRelSize = mtsGetForeignRelSize;
	routine->GetForeignPaths = mtsGetForeignPaths;
	routine->GetForeignPlan = mtsGetForeignPlan;
	routine->GetForeignUpperPaths = mtsGetForeignUpperPaths;
	routine->BeginForeignScan = mtsBeginForeignScan;
	routine->IterateForeignScan = mtsIterateForeignScan;
	routine->ReScanForeignScan = mtsReScanForeignScan;
	routine->EndForeignScan = mtsEndForeignScan;
	routine->IsForeignScanParallelSafe = mtsIsForeignScanParallelSafe;
	routine->EstimateDSMForeignScan = mtsEstimateDSMForeignScan;
	routine->InitializeDSMForeignScan = mtsInitializeDSMForeignScan;
	routine->ReInitializeDSMForeignScan = mtsReInitializeDSMForeignScan;
	routine->InitializeWorkerForeignScan = mtsInitializeWorkerForeignScan;
	routine->ShutdownForeignScan = mtsShutdownForeignScan;
	routine->IsForeignPathAsyncCapable = mtsIsForeignPathAsyncCapable;
	routine->ForeignAsyncRequest = mtsForeignAsyncRequest;
	routine->ForeignAsyncConfigureWait = mtsForeignAsyncConfigureWait;
	routine->ExplainForeignScan = mtsExplainForeignScan;
	routine->AnalyzeForeignTable = mtsAnalyzeForeignTable;
	routine->IsForeignRelUpdatable = mtsIsForeignRelUpdatable;
	routine->AddForeignUpdateTargets = mtsAddForeignUpdateTargets;
	routine->PlanForeignModify = mtsPlanForeignModify;
	routine->BeginForeignModify = mtsBeginForeignModify;
	routine->ExecForeignInsert = mtsExecForeignInsert;
	routine->ExecForeignUpdate = mtsExecForeignUpdate;
	routine->ExecForeignDelete = mtsExecForeignDelete;
	routine->EndForeignModify = mtsEndForeignModify;
	routine->BeginForeignInsert = mtsBeginForeignInsert;
	routine->EndForeignInsert = mtsEndForeignModify;
	routine->ExplainForeignModify = mtsExplainForeignModify;
	routine->PlanDirectModify = mtsPlanDirectModify;
	routine->BeginDirectModify = mtsBeginDirectModify;
	routine->IterateDirectModify = mtsIterateDirectModify;
	routine->EndDirectModify = mtsEndDirectModify;
	routine->ExplainDirectModify = mtsExplainDirectModify;
	routine->ExecForeignTruncate = mtsExecForeignTruncate;
	routine->ImportForeignSchema = mtsImportForeignSchema;
	PG_RETURN_POINTER(routine);
}
