/*
 * create_rollup.c
 *		SQL functions by which mongo_ts_create_rollup, in the install script,
 *		does what SQL cannot: _mongo_ts_open_points, _mongo_ts_columns and
 *		_mongo_ts_prepare_rollup.
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "compat.h"
#include "driver/cursor.h"
#include "driver/document.h"
#include "modify/rollup_mark.h"
#include "table/collections.h"
#include "table/rollup.h"

PG_FUNCTION_INFO_V1(mongo_ts_open_points);
PG_FUNCTION_INFO_V1(mongo_ts_columns);
PG_FUNCTION_INFO_V1(mongo_ts_prepare_rollup);

/* ---- The source --------------------------------------------------------- */

/*
 * SQL: _mongo_ts_open_points(relation regclass) returns regclass
 *
 * Lock a table of the current user that a roll-up shall summarize, and return
 * the table of its points, which is another one if it is a roll-up itself.
 */
Datum
mongo_ts_open_points(PG_FUNCTION_ARGS)
{
	Relation relation =
		mts_table_open_relation(PG_GETARG_OID(0), AccessShareLock);
	Oid points = RelationGetRelid(relation);
	const MtsTable *table;

	PreventCommandIfReadOnly("mongo_ts_create_rollup()");
	mts_rollup_check_owner(relation);
	(void) mts_table_open(relation);
	if (mts_option_get(GetForeignTable(points)->options, "rollup_of"))
		points = mts_rollup_open(relation)->points;
	table_close(relation, NoLock);
	relation = table_open(points, AccessShareLock);
	table = mts_table_open(relation);
	table_close(relation, NoLock);
	if (table->layout.time_column < 0 ||
		table->attributes[table->layout.time_column].typid != TIMESTAMPTZOID)
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("cannot make a roll-up of foreign table \"%s\"",
							   get_rel_name(points)),
						errdetail("The time of its points must be a column of "
								  "type timestamptz.")));
	PG_RETURN_OID(points);
}

/* The name of a column's role, as the option has it, or slot */
static const char *
role_name(const MtsLayout *layout, int column)
{
	if (column == layout->time_column)
		return "time";
	switch (layout->columns[column].role)
	{
		case MTS_ROLE_KEY:
			return "key";
		case MTS_ROLE_ATTRIBUTE:
			return "attribute";
		case MTS_ROLE_VALUE:
			return "value";
		case MTS_ROLE_SLOT:
			return "slot";
		default:
			return "time";
	}
}

/*
 * SQL: _mongo_ts_columns(relation regclass, OUT attnum smallint,
 *		OUT role text, OUT base_type regtype) returns setof record
 *
 * Return the role that each column of a table has in the documents: time, key,
 * slot, attribute or value.
 */
Datum
mongo_ts_columns(PG_FUNCTION_ARGS)
{
	Relation relation =
		mts_table_open_relation(PG_GETARG_OID(0), AccessShareLock);
	const MtsTable *table = mts_table_open(relation);
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	table_close(relation, NoLock);
	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < table->layout.ncolumns; i++)
	{
		Datum values[3];
		bool nulls[3] = {false};

		if (table->attributes[i].dropped)
			continue;
		values[0] = Int16GetDatum(i + 1);
		values[1] = CStringGetTextDatum(role_name(&table->layout, i));
		values[2] = ObjectIdGetDatum(getBaseType(table->attributes[i].typid));
		tuplestore_putvalues(result->setResult, result->setDesc, values,
							 nulls);
	}
	PG_RETURN_VOID();
}

/* ---- The collection ----------------------------------------------------- */

/* Check that the intervals of a new roll-up consist of those of the finer. */
static void
check_intervals(const MtsRollup *rollup)
{
	MtsTime now = GetCurrentTimestamp();
	MtsRange range = {mts_rollup_floor(rollup, now - 366 * MTS_DAY),
					  mts_rollup_floor(rollup, now)};
	const MtsRollup *finer = mts_rollup_open_finer(rollup);

	if (finer && !mts_rollup_is_made_of(rollup, finer, range))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid interval of a roll-up"),
				 errdetail("It must consist of whole intervals of \"%s\".",
						   get_rel_name(rollup->source))));
}

/*
 * Check that nothing else has the collection of a new roll-up, and remove the
 * state that another roll-up of this name has left.
 */
static void
prepare_collection(const MtsRollup *rollup)
{
	const MtsTable *table = rollup->table;
	MtsBulk bulk = mts_rollup_mark_bulk(rollup, GetUserId());
	MtsOp op = mts_op(MTS_OP_DELETE,
					  mts_document_make("{_id: %s}",
										mts_document_utf8(table->collection)),
					  NULL);

	if (OidIsValid(mts_collections_other_table(table)) ||
		strcmp(table->collection, MTS_ROLLUP_STATES) == 0 ||
		mts_cursor_list_names(bulk.connection, table->database,
							  mts_document_make("{name: %s}",
												mts_document_utf8(
													table->collection))) !=
			NIL)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_TABLE),
				 errmsg("MongoDB collection \"%s.%s\" exists already",
						table->database, table->collection),
				 errdetail("A collection or a foreign table has this name."),
				 errhint("Give the roll-up another name, or drop the "
						 "collection.")));
	mts_bulk_execute(&bulk, &op, 1);
}

/*
 * SQL: _mongo_ts_prepare_rollup(relation regclass) returns void
 *
 * Check a new roll-up, and that its collection does not exist.
 */
Datum
mongo_ts_prepare_rollup(PG_FUNCTION_ARGS)
{
	Relation relation =
		mts_table_open_relation(PG_GETARG_OID(0), AccessShareLock);
	const MtsRollup *rollup;

	mts_rollup_check_owner(relation);
	rollup = mts_rollup_open(relation);
	table_close(relation, NoLock);
	check_intervals(rollup);
	prepare_collection(rollup);
	PG_RETURN_VOID();
}
