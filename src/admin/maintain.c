/*
 * maintain.c
 *		SQL functions that prepare the collections of a table for its writes:
 *		mongo_ts_create_index and mongo_ts_preallocate.
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "driver/document.h"
#include "modify/bucket_write.h"
#include "modify/route.h"
#include "modify/writable.h"
#include "table/collections.h"
#include "table/index.h"

/* Buckets that are preallocated by one bulk write */
#define BUCKETS_AT_ONCE 200

PG_FUNCTION_INFO_V1(mongo_ts_create_index);
PG_FUNCTION_INFO_V1(mongo_ts_preallocate);

/* ---- The index ---------------------------------------------------------- */

/*
 * Make an index in all collections of a table, except where another index
 * serves as well; return the name in the last collection.
 */
static const char *
create_indexes(const MtsTable *table, const bson_t *index, const char *name)
{
	MtsConnection *connection =
		mts_connection_get(table->serverid, GetUserId());
	MtsCollections *all;

	mts_connection_pin(connection);
	all = mts_collections_list(table, GetUserId(), false);
	for (int i = 0; i < all->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		name = mts_index_ensure(connection, table->database,
								all->items[i].name, index);
	}
	return name;
}

/* Find a column that an index can have; returns its number from 0. */
static int
find_indexed(Relation relation, const MtsTable *table, const char *name)
{
	const MtsLayout *layout = &table->layout;
	AttrNumber attnum =
		mts_table_find_column(RelationGetRelid(relation), name);
	const MtsColumn *column;
	const MtsPath *path;

	column = &layout->columns[attnum - 1];
	path = &column->path;
	if (column->container >= 0 || column->role == MTS_ROLE_SLOT ||
		attnum - 1 == layout->time_column || path->nsteps == 0 ||
		mts_path_addressable_steps(path) != path->nsteps)
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("column \"%s\" cannot be indexed", name),
			 errdetail(
				 "An index can have the fields of documents that are not points, and ends with the time.")));
	return attnum - 1;
}

/* Return the numbers of the columns that an array of text names. */
static List *
find_columns(Relation relation, const MtsTable *table, ArrayType *names)
{
	List *columns = NIL;
	ListCell *lc;

	foreach (lc, mts_table_texts(names))
		columns = list_append_unique_int(columns, find_indexed(relation, table,
															   lfirst(lc)));
	if (columns == NIL)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("an index must have a column")));
	return columns;
}

/*
 * SQL: mongo_ts_create_index(relation regclass [, columns text[]])
 *		returns text
 *
 * Make the index that reads and upserts use, unless it exists, and return its
 * name.  The index is unique where keys and time identify a bucket: then two
 * sessions that make the same bucket at the same time leave one.  Make the
 * index that finds the last points, too, where that is another one.  Columns
 * that are given stand for the keys.
 */
Datum
mongo_ts_create_index(PG_FUNCTION_ARGS)
{
	Oid relid = PG_GETARG_OID(0);
	Relation relation;
	const MtsTable *table;
	MtsIdentity *identity;
	List *columns = NIL;
	bson_t *index = mts_document_new();
	bson_t *last = mts_document_new();
	const MtsNative *native;
	const char *name, *name_of_last;

	PreventCommandIfReadOnly("mongo_ts_create_index()");
	/* others cannot lock the table, or read its options in errors */
	if (!mts_table_ownercheck(relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_FOREIGN_TABLE,
					   get_rel_name(relid));
	relation = mts_table_open_relation(relid, AccessShareLock);
	table = mts_table_open(relation);
	identity = mts_identity_make(table);
	if (PG_NARGS() > 1)
		columns = find_columns(relation, table, PG_GETARG_ARRAYTYPE_P(1));
	native = mts_native_describe(table, GetUserId());
	name = native
			   ? mts_index_describe_native(table, native, columns, index)
			   : mts_index_describe_columns(table, identity, columns, index);
	if (!name)
		ereport(
			ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg(
				 "cannot create an index for the buckets of foreign table \"%s\"",
				 RelationGetRelationName(relation)),
			 errdetail("The buckets have neither a time nor a key.")));
	if (!bson_empty(index))
		name = create_indexes(table, index, name);
	name_of_last = mts_index_describe_last(table, identity, columns, last);
	if (name_of_last)
		(void) create_indexes(table, last, name_of_last);
	table_close(relation, AccessShareLock);
	PG_RETURN_TEXT_P(cstring_to_text(name));
}

/* ---- Preallocation ------------------------------------------------------ */

/* Convert a JSON value to the type of a column. */
static Datum
convert_json(JsonbValue *value, Form_pg_attribute att, bool *isnull)
{
	Oid input, ioparam;
	char *text;

	*isnull = value->type == jbvNull;
	if (*isnull)
		return (Datum) 0;
	text = value->type == jbvString
			   ? pnstrdup(value->val.string.val, value->val.string.len)
			   : JsonbToCString(NULL, &JsonbValueToJsonb(value)->root, 0);
	getTypeInputInfo(att->atttypid, &input, &ioparam);
	return OidInputFunctionCall(input, text, ioparam, att->atttypmod);
}

/* Make a row of the keys in a JSON object. */
static TupleTableSlot *
read_keys(Relation relation, const MtsTable *table, Jsonb *keys)
{
	const MtsLayout *layout = &table->layout;
	TupleDesc desc = RelationGetDescr(relation);
	TupleTableSlot *row = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	JsonbIterator *iterator = JsonbIteratorInit(&keys->root);
	JsonbValue value;
	JsonbIteratorToken token;

	memset(row->tts_isnull, true, desc->natts * sizeof(bool));
	if (!JB_ROOT_IS_OBJECT(keys))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("key values must be a JSON object"),
				 errhint("Key values look like {\"type\": \"memory\"}.")));
	while ((token = JsonbIteratorNext(&iterator, &value, true)) != WJB_DONE)
	{
		int i = 0;
		char *name;

		if (token != WJB_KEY)
			continue;
		name = pnstrdup(value.val.string.val, value.val.string.len);
		while (i < layout->ncolumns &&
			   (TupleDescAttr(desc, i)->attisdropped ||
				strcmp(layout->columns[i].name, name) != 0))
			i++;
		if (i == layout->ncolumns || layout->columns[i].container >= 0 ||
			i == layout->time_column)
			ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
							errmsg("\"%s\" is not a key of the foreign table",
								   name)));
		(void) JsonbIteratorNext(&iterator, &value, true);
		row->tts_values[i] =
			convert_json(&value, TupleDescAttr(desc, i), &row->tts_isnull[i]);
	}
	return ExecStoreVirtualTuple(row);
}

/* Set the keys of {column} slots, by slot; NULL where the row has none. */
static void
read_texts(const MtsTargeting *targeting, TupleTableSlot *keys,
		   const char **texts)
{
	const MtsLayout *layout = &targeting->table->layout;

	memset(texts, 0, MTS_MAX_SLOTS * sizeof(char *));
	for (int i = 0; i < layout->ncolumns; i++)
		if (layout->columns[i].role == MTS_ROLE_SLOT && !keys->tts_isnull[i])
			texts[layout->columns[i].slot] =
				mts_row_target_slot_key(targeting, keys, i);
}

/* Tell whether the field of a container holds another container, too. */
static bool
share_root(const MtsLayout *layout)
{
	for (int i = 0; i < layout->ncontainers; i++)
	{
		const MtsPath *path = layout->containers[i].path;
		int names = mts_path_leading_names(path);

		for (int j = 0; j < layout->ncontainers; j++)
			if (j != i &&
				mts_path_starts_with(layout->containers[j].path, path, names))
				return true;
	}
	return false;
}

/* Raise an error where buckets without points cannot be made. */
static void
check_layout(const MtsTable *table)
{
	if (table->layout.nslots == 0 || !table->layout.bucket_time.is_set ||
		mts_span_is_zero(table->layout.span) || table->layout.max_points > 0 ||
		(table->layout.first.is_set || table->layout.last.is_set))
		ereport(
			ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("cannot preallocate buckets of MongoDB collection "
					"\"%s.%s\"",
					table->database, table->collection),
			 errdetail(
				 "Preallocation requires slots, a bucket time and a bucket span, and supports neither bucket bounds nor option \"bucket_max_points\".")));
	if (share_root(&table->layout))
		ereport(
			ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot preallocate buckets of MongoDB collection "
					"\"%s.%s\"",
					table->database, table->collection),
			 errdetail(
				 "Columns with different paths have their slots in the same field.")));
}

/*
 * Make the buckets that begin in from <= t < to, unless they exist, and return
 * how many are new.  keys is a row with the values of their columns.
 */
static int64
preallocate(const MtsTable *table, TupleTableSlot *keys, MtsTime from,
			MtsTime to)
{
	const MtsLayout *layout = &table->layout;
	MtsTargeting *targeting = mts_row_target_prepare(table);
	bson_value_t *values = palloc0(layout->ncolumns * sizeof(bson_value_t));
	const char *texts[MTS_MAX_SLOTS];
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw buckets",
							  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old;
	MtsBulk bulk;
	MtsOp ops[BUCKETS_AT_ONCE];
	MtsTime start, end;
	int64 made = 0;
	int n = 0;

	mts_route_init(&bulk, table, GetUserId());
	check_layout(table);
	mts_row_target_check_new(targeting, keys);
	mts_row_target_encode_bucket(targeting, keys, values);
	read_texts(targeting, keys, texts);
	old = MemoryContextSwitchTo(context);
	for (start = mts_clock_floor(&layout->clock, from, layout->span);
		 start < to; start = end)
	{
		CHECK_FOR_INTERRUPTS();
		if (!mts_layout_bucket_end(layout, start, &end))
			mts_row_target_refuse_bucket(targeting, start);
		if (n == BUCKETS_AT_ONCE)
		{
			mts_route_execute(&bulk, ops, n);
			made += bulk.created;
			MemoryContextReset(context);
			n = 0;
		}
		if (start >= from)
			ops[n++] =
				mts_bucket_write_preallocate(targeting, start, values, texts);
	}
	mts_route_execute(&bulk, ops, n);
	made += bulk.created;
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return made;
}

/*
 * SQL: mongo_ts_preallocate(relation regclass, from timestamptz,
 *		to timestamptz, keys jsonb) returns bigint
 *
 * Make the documents of the buckets that begin in from <= t < to, without
 * points, unless they exist, and return how many are new.
 */
Datum
mongo_ts_preallocate(PG_FUNCTION_ARGS)
{
	Oid relid = PG_GETARG_OID(0);
	MtsTime from = PG_GETARG_TIMESTAMPTZ(1);
	MtsTime to = PG_GETARG_TIMESTAMPTZ(2);
	Jsonb *values = PG_GETARG_JSONB_P(3);
	Relation relation;
	const MtsTable *table;
	TupleTableSlot *keys;
	AclResult allowed = pg_class_aclcheck(relid, GetUserId(), ACL_INSERT);
	int64 n;

	PreventCommandIfReadOnly("mongo_ts_preallocate()");
	/* others cannot lock the table, or read its options in errors */
	if (allowed != ACLCHECK_OK)
		aclcheck_error(allowed, OBJECT_FOREIGN_TABLE, get_rel_name(relid));
	relation = mts_table_open_relation(relid, RowExclusiveLock);
	table = mts_table_open(relation);
	mts_writable_check(table, relation, CMD_INSERT);
	if (TIMESTAMP_NOT_FINITE(from) || TIMESTAMP_NOT_FINITE(to))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("the range of times must be finite")));
	keys = read_keys(relation, table, values);
	n = preallocate(table, keys, from, to);
	ExecDropSingleTupleTableSlot(keys);
	table_close(relation, RowExclusiveLock);
	PG_RETURN_INT64(n);
}
