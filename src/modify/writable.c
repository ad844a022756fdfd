/*
 * writable.c
 *		Decide which statements can write a table.
 *
 * UPDATE and DELETE require points that an update can address.  INSERT also
 * requires that a row's time and keys identify its bucket.
 */
#include "modify/writable.h"

#include "foreign/foreign.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "table/identity.h"
#include "table/option.h"

/* Say how to set option "updatable" of a table that was inferred without. */
static char *
advise_updatable(Relation relation)
{
	ForeignTable *table = GetForeignTable(RelationGetRelid(relation));
	char *schema = get_namespace_name(RelationGetNamespace(relation));

	return psprintf("An INSERT finds a bucket by its time and its keys. Check "
					"that no two buckets have the same ones, then run ALTER "
					"FOREIGN TABLE %s OPTIONS (%s updatable 'true').",
					quote_qualified_identifier(schema, RelationGetRelationName(
														   relation)),
					mts_option_get(table->options, "updatable") ? "SET"
																: "ADD");
}

/*
 * mts_writable_check
 *		Raise an error where a statement cannot write a table.
 */
void
mts_writable_check(const MtsTable *table, Relation relation, CmdType operation)
{
	const char *hint;
	const char *problem = mts_identity_shape_problem(table, &hint);
	bool is_read_only = problem != NULL;

	if (!table->updatable)
		hint = advise_updatable(relation);
	if (!problem && operation == CMD_INSERT)
	{
		MtsIdentity *identity = mts_identity_make(table);

		problem = identity->problem;
		hint = identity->hint;
	}
	if (problem)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 is_read_only ? errmsg("foreign table \"%s\" is read-only",
									   RelationGetRelationName(relation))
							  : errmsg("cannot insert points into foreign "
									   "table \"%s\"",
									   RelationGetRelationName(relation)),
				 errdetail("%s", problem), hint ? errhint("%s", hint) : 0));
}

/*
 * mts_writable_operations
 *		Return the statements that can write a table, as a bit mask of CmdType.
 */
int
mts_writable_operations(const MtsTable *table)
{
	int edits = (1 << CMD_UPDATE) | (1 << CMD_DELETE);
	const char *hint;

	if (mts_identity_shape_problem(table, &hint))
		return 0;
	return mts_identity_make(table)->problem ? edits
											 : edits | (1 << CMD_INSERT);
}
