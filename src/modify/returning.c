/*
 * returning.c
 *		Decide which columns RETURNING can show, and fill the generated _id.
 *
 * RETURNING shows what a SELECT of the row would show right after the
 * statement, without a question to MongoDB.  The values of most columns are
 * those that the row gives.  A column is refused, before anything is written,
 * if the server computes its value, or if the value is that of a stored
 * bucket.  A DELETE shows the row as it was read, so it refuses none.
 */
#include "modify/returning.h"

#include "nodes/bitmapset.h"
#include "nodes/nodeFuncs.h"
#include "nodes/primnodes.h"
#include "utils/memutils.h"

#include "compat.h"
#include "table/identity.h"

/* ---- The columns of a list ---------------------------------------------- */

/* The search for the columns of a relation */
typedef struct Search
{
	Index varno;
	int ncolumns;
	Bitmapset *found; /* numbers from 0 */
} Search;

static bool
find_columns(Node *node, void *arg)
{
	Search *search = arg;
	const Var *var = (const Var *) node;

	if (node == NULL)
		return false;
	if (!IsA(node, Var))
		return expression_tree_walker(node, find_columns, arg);
	if (var->varno != (int) search->varno || var->varlevelsup > 0 ||
		mts_is_old_value(var))
		return false;
	if (var->varattno > 0)
		search->found = bms_add_member(search->found, var->varattno - 1);
	else if (var->varattno == InvalidAttrNumber && search->ncolumns > 0)
		search->found = bms_add_range(search->found, 0, search->ncolumns - 1);
	return false;
}

/*
 * mts_returning_columns
 *		List the numbers, from 0, of the columns that a RETURNING list shows
 *		with their new values.
 */
List *
mts_returning_columns(List *list, Index varno, TupleDesc desc)
{
	Search search = {varno, desc->natts, NULL};
	List *columns = NIL;
	int i = -1;

	(void) find_columns((Node *) list, &search);
	while ((i = bms_next_member(search.found, i)) >= 0)
		if (!TupleDescAttr(desc, i)->attisdropped)
			columns = lappend_int(columns, i);
	return columns;
}

/* ---- Columns that no row shows ------------------------------------------ */

static _Noreturn void
refuse(const MtsTable *table, int column, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot return column \"%s\" of MongoDB collection "
					"\"%s.%s\"",
					table->layout.columns[column].name, table->database,
					table->collection),
			 errdetail("%s", detail),
			 errhint("Leave the column out of RETURNING, and read it by a "
					 "SELECT afterwards.")));
	pg_unreachable();
}

/* Tell whether a column shows the whole _id. */
static bool
is_id(const MtsTable *table, int column)
{
	const MtsPath *path = &table->layout.columns[column].path;

	return path->nsteps == 1 && mts_path_is_in_id(path);
}

/* Tell whether an INSERT generates the _id that a column has. */
static bool
has_new_id(const MtsTable *table, const MtsIdentity *identity, int column)
{
	return table->layout.nslots == 0 && !identity->is_id &&
		   column != table->layout.time_column && is_id(table, column) &&
		   table->layout.columns[column].format.kind == MTS_FORMAT_DATE;
}

/* Tell why an INSERT does not know a column of any row; NULL if it does. */
static const char *
insert_problem(const MtsTable *table, const MtsIdentity *identity, int column)
{
	const MtsLayout *layout = &table->layout;
	const MtsColumn *of = &layout->columns[column];

	if (layout->write_mode == MTS_WRITE_INCREMENT &&
		of->role == MTS_ROLE_VALUE)
		return "MongoDB adds the given value to the stored one, with option \"write_mode\" \"increment\".";
	if (!identity->read_only[column] || has_new_id(table, identity, column))
		return NULL;
	if (is_id(table, column))
		return "The _id is generated, or is that of a stored bucket.";
	/* a field that cannot be written is absent in a new document */
	if (layout->nslots == 0 && of->path.nsteps > 0)
		return NULL;
	return "MongoDB computes its value when the row is stored.";
}

/*
 * mts_returning_check
 *		Raise an error where a statement does not know what is stored in one
 *		of the columns that it returns.
 */
void
mts_returning_check(const MtsTable *table, CmdType operation, List *columns)
{
	const MtsIdentity *identity;
	ListCell *lc;

	if (columns == NIL || operation == CMD_DELETE)
		return;
	identity = mts_identity_make(table);
	foreach (lc, columns)
	{
		int i = lfirst_int(lc);
		const char *problem =
			operation == CMD_INSERT ? insert_problem(table, identity, i)
			: identity->read_only[i] && !is_id(table, i) &&
					(table->layout.nslots > 0 ||
					 table->layout.columns[i].path.nsteps == 0)
				? "MongoDB computes its value when the row is stored."
				: NULL;

		if (problem)
			refuse(table, i, problem);
	}
}

/* ---- Rows --------------------------------------------------------------- */

/* mts_returning_new: prepare to show columns of rows; NULL without any. */
MtsReturning *
mts_returning_new(const MtsTargeting *targeting, List *columns)
{
	const MtsTable *table = targeting->table;
	MtsReturning *returning;
	ListCell *lc;

	if (columns == NIL)
		return NULL;
	returning = palloc0(sizeof(MtsReturning));
	returning->targeting = targeting;
	returning->columns = columns;
	foreach (lc, columns)
		if (has_new_id(table, targeting->identity, lfirst_int(lc)))
		{
			MtsReturnedId *id = palloc(sizeof(MtsReturnedId));

			id->column = lfirst_int(lc);
			id->reader = mts_from_bson_prepare(table, id->column,
											   targeting->hides_stored);
			returning->ids = lappend(returning->ids, id);
		}
	if (returning->ids != NIL)
		returning->row = AllocSetContextCreate(CurrentMemoryContext,
											   "mongo_ts_fdw returned _id",
											   ALLOCSET_SMALL_SIZES);
	return returning;
}

/* Return the number of an attribute of buckets that is shown; or -1. */
static int
find_attribute(const MtsReturning *returning, const bool *isnull)
{
	const MtsIdentity *identity = returning->targeting->identity;

	if (returning->targeting->table->layout.nslots > 0)
		for (int i = 0; i < identity->nattributes; i++)
			if (list_member_int(returning->columns, identity->attributes[i]) &&
				(!isnull || isnull[identity->attributes[i]]))
				return identity->attributes[i];
	return -1;
}

/*
 * mts_returning_check_new
 *		Raise an error where a new row does not give an attribute that it
 *		returns: it has that of its bucket.
 */
void
mts_returning_check_new(const MtsReturning *returning, TupleTableSlot *slot)
{
	int column;

	slot_getallattrs(slot);
	column = find_attribute(returning, slot->tts_isnull);
	if (column >= 0)
		refuse(returning->targeting->table, column,
			   "The row gives no value, so it has that of its bucket.");
}

/*
 * mts_returning_check_move
 *		Raise an error where a row that moves returns what the bucket has that
 *		it moves to.
 */
void
mts_returning_check_move(const MtsReturning *returning)
{
	const MtsTable *table = returning->targeting->table;
	int column = find_attribute(returning, NULL);
	ListCell *lc;

	foreach (lc, returning->columns)
		if (is_id(table, lfirst_int(lc)))
			column = lfirst_int(lc);
	if (column >= 0)
		refuse(
			table, column,
			"The row moves, and shows the value of the bucket that it moves to.");
}

/*
 * mts_returning_add_id
 *		Generate the _id of a new document, which the row and the values, by
 *		column, get; nothing if RETURNING does not show it.
 *
 * The row's is valid until the next call.  Several columns can show it, but
 * the document has it once.
 */
void
mts_returning_add_id(MtsReturning *returning, TupleTableSlot *slot,
					 bson_value_t *values)
{
	bson_oid_t oid;
	MtsElement element = {.key = "_id",
						  .key_len = 3,
						  .type = BSON_TYPE_OID,
						  .value = oid.bytes,
						  .size = sizeof(oid.bytes)};
	MtsError error = {.detail = "", .hint = NULL};
	MemoryContext old;
	ListCell *lc;
	int column = -1;

	if (returning->ids == NIL)
		return;
	bson_oid_init(&oid, NULL);
	MemoryContextReset(returning->row);
	old = MemoryContextSwitchTo(returning->row);
	foreach (lc, returning->ids)
	{
		const MtsReturnedId *id = lfirst(lc);

		column = id->column;
		if (!mts_from_bson_element(id->reader, &element,
								   &slot->tts_values[column],
								   &slot->tts_isnull[column], &error))
			refuse(returning->targeting->table, column,
				   error.detail[0] ? error.detail
								   : "Its type cannot hold an ObjectId.");
	}
	MemoryContextSwitchTo(old);
	values[column].value_type = BSON_TYPE_OID;
	bson_oid_copy(&oid, &values[column].value.v_oid);
}
