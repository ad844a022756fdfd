/*
 * maintain.c
 *		SQL functions that prepare a table's collection for its writes.
 */
#include "postgres.h"

#include "access/table.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "collections.h"
#include "command.h"
#include "compat.h"
#include "document.h"
#include "index.h"
#include "modify.h"
#include "shell.h"
#include "writer.h"

PG_FUNCTION_INFO_V1(mongo_ts_create_index);
PG_FUNCTION_INFO_V1(mongo_ts_preallocate);

/* Open a foreign table of this wrapper; an error when it is none. */
static Relation
open_foreign(Oid relid, LOCKMODE lock)
{
	Relation relation = table_open(relid, lock);

	if (relation->rd_rel->relkind != RELKIND_FOREIGN_TABLE ||
		!mts_command_is_ours(
			GetForeignServer(GetForeignTable(relid)->serverid)))
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("\"%s\" is not a foreign table of mongo_ts_fdw",
							   RelationGetRelationName(relation))));
	return relation;
}

/* ---- The index ----------------------------------------------------------- */

/*
 * Make an index in all collections that a table has, unless others serve as
 * well; return the name in the last of them.
 */
static const char *
create_indexes(const MtsTable *table, const bson_t *index, const char *name)
{
	MtsConnection *connection =
		mts_connection_get(table->serverid, GetUserId());
	MtsCollections *all;

	mts_connection_hold(connection);
	all = mts_collections_list(table, GetUserId());
	for (int i = 0; i < all->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		name = mts_index_ensure(connection, table->database,
								all->items[i].name, index);
	}
	return name;
}

/*
 * SQL: mongo_ts_create_index(relation regclass) returns text
 *
 * Make the index that reads and upserts use, unless there is one, and return
 * its name.  It is unique where keys and time identify a bucket: then two
 * sessions that make the same bucket at once leave one.
 */
Datum
mongo_ts_create_index(PG_FUNCTION_ARGS)
{
	Oid relid = PG_GETARG_OID(0);
	Relation relation = open_foreign(relid, AccessShareLock);
	MtsTable *table = mts_table_open(relation);
	MtsIdentity *identity = mts_identity_make(table);
	bson_t *index = mts_document_new();
	const char *name;

	PreventCommandIfReadOnly("mongo_ts_create_index()");
	if (!mts_table_ownercheck(relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_FOREIGN_TABLE,
					   RelationGetRelationName(relation));
	name = mts_index_describe(table, identity, index);
	if (!name)
		ereport(
			ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg(
				 "cannot create an index for the buckets of foreign table \"%s\"",
				 RelationGetRelationName(relation)),
			 errdetail("They have neither a time nor a key.")));
	if (!bson_empty(index))
		name = create_indexes(table, index, name);
	table_close(relation, AccessShareLock);
	PG_RETURN_TEXT_P(cstring_to_text(name));
}

/* ---- Preallocation ------------------------------------------------------- */

/* The value of a column in a JSON object, as its type; NULL if it isn't there */
static Datum
json_column(Jsonb *values, Form_pg_attribute att, bool *isnull)
{
	Datum key = CStringGetTextDatum(NameStr(att->attname));
	LOCAL_FCINFO(fcinfo, 2);
	Datum field;
	Oid input, ioparam;

	InitFunctionCallInfoData(*fcinfo, NULL, 2, InvalidOid, NULL, NULL);
	fcinfo->args[0].value = JsonbPGetDatum(values);
	fcinfo->args[0].isnull = false;
	fcinfo->args[1].value = key;
	fcinfo->args[1].isnull = false;
	field = jsonb_object_field_text(fcinfo);
	*isnull = fcinfo->isnull;
	if (*isnull)
		return (Datum) 0;
	getTypeInputInfo(att->atttypid, &input, &ioparam);
	return OidInputFunctionCall(input, TextDatumGetCString(field), ioparam,
								att->atttypmod);
}

/* Every name in the object is that of a key. */
static void
check_names(const MtsTable *table, Jsonb *values)
{
	JsonbIterator *iterator = JsonbIteratorInit(&values->root);
	JsonbValue value;
	JsonbIteratorToken token;

	if (!JB_ROOT_IS_OBJECT(values))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("key values must be a JSON object"),
				 errhint("Key values look like {\"type\": \"memory\"}.")));
	while ((token = JsonbIteratorNext(&iterator, &value, true)) != WJB_DONE)
	{
		int i = 0;

		if (token != WJB_KEY)
			continue;
		while (i < table->layout.ncolumns &&
			   (strlen(table->layout.columns[i].name) !=
					(size_t) value.val.string.len ||
				memcmp(table->layout.columns[i].name, value.val.string.val,
					   value.val.string.len) != 0))
			i++;
		if (i == table->layout.ncolumns ||
			table->layout.columns[i].container >= 0 ||
			i == table->layout.time_column)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("\"%.*s\" is not a key of the foreign table",
							value.val.string.len, value.val.string.val)));
	}
}

static TupleTableSlot *
key_row(Relation relation, Jsonb *values)
{
	TupleDesc desc = RelationGetDescr(relation);
	TupleTableSlot *slot = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		slot->tts_isnull[i] = true;
		slot->tts_values[i] = (Datum) 0;
		if (!att->attisdropped)
			slot->tts_values[i] =
				json_column(values, att, &slot->tts_isnull[i]);
	}
	ExecStoreVirtualTuple(slot);
	return slot;
}

/*
 * SQL: mongo_ts_preallocate(relation regclass, from timestamptz,
 *		to timestamptz, keys jsonb) returns bigint
 *
 * Write the documents of the buckets that begin in from <= t < to, without
 * points, and return how many are new.
 */
Datum
mongo_ts_preallocate(PG_FUNCTION_ARGS)
{
	Oid relid = PG_GETARG_OID(0);
	MtsTime from = PG_GETARG_TIMESTAMPTZ(1);
	MtsTime to = PG_GETARG_TIMESTAMPTZ(2);
	Jsonb *values = PG_GETARG_JSONB_P(3);
	Relation relation = open_foreign(relid, RowExclusiveLock);
	MtsTable *table = mts_table_open(relation);
	TupleTableSlot *keys;
	AclResult allowed = pg_class_aclcheck(relid, GetUserId(), ACL_INSERT);
	int64 n;

	PreventCommandIfReadOnly("mongo_ts_preallocate()");
	if (allowed != ACLCHECK_OK)
		aclcheck_error(allowed, OBJECT_FOREIGN_TABLE,
					   RelationGetRelationName(relation));
	mts_modify_check(table, relation, CMD_INSERT);
	if (TIMESTAMP_NOT_FINITE(from) || TIMESTAMP_NOT_FINITE(to))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("the range of times must be finite")));
	check_names(table, values);
	keys = key_row(relation, values);
	n = mts_shell_write(table, keys, from, to);
	ExecDropSingleTupleTableSlot(keys);
	table_close(relation, RowExclusiveLock);
	PG_RETURN_INT64(n);
}
