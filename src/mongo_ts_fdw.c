/*
 * mongo_ts_fdw.c
 *		The handler: which function is called when.
 */
#include "postgres.h"

#include "fmgr.h"
#include "foreign/fdwapi.h"

#include "connection.h"
#include "explain.h"
#include "plan.h"
#include "scan.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(mongo_ts_fdw_handler);

void _PG_init(void);

void
_PG_init(void)
{
	mts_connection_init();
}

/* SQL: mongo_ts_fdw_handler() returns fdw_handler */
Datum
mongo_ts_fdw_handler(PG_FUNCTION_ARGS)
{
	FdwRoutine *routine = makeNode(FdwRoutine);

	routine->GetForeignRelSize = mtsGetForeignRelSize;
	routine->GetForeignPaths = mtsGetForeignPaths;
	routine->GetForeignPlan = mtsGetForeignPlan;
	routine->BeginForeignScan = mtsBeginForeignScan;
	routine->IterateForeignScan = mtsIterateForeignScan;
	routine->ReScanForeignScan = mtsReScanForeignScan;
	routine->EndForeignScan = mtsEndForeignScan;
	routine->ExplainForeignScan = mtsExplainForeignScan;
	PG_RETURN_POINTER(routine);
}
