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

/*
 * Say how to set option "updatable" of a table that was inferred without.
 *
 * An INSERT of a document that is a row looks for no bucket.  Otherwise two
 * buckets could have the same time and keys.
 */
static char *
advise_updatable(const MtsTable *table, Relation relation)
{
	ForeignTable *foreign = GetForeignTable(RelationGetRelid(relation));
	const char *name =
		quote_qualified_identifier(get_namespace_name(
									   RelationGetNamespace(relation)),
								   RelationGetRelationName(relation));
	char *statement =
		psprintf("ALTER FOREIGN TABLE %s OPTIONS (%s updatable 'true')", name,
				 mts_option_get(foreign->options, "updatable") ? "SET"
															   : "ADD");

	if (table->layout.nslots == 0)
		return psprintf("Run %s.", statement);
	return psprintf("Run SELECT * FROM mongo_ts_check(%s), which reports what "
					"would make writing unsafe. Then run %s.",
					quote_literal_cstr(name), statement);
}

/*
 * Tell why a statement cannot write a table, whatever option updatable says;
 * NULL if it can.  *is_for_all is set if no other statement can, either.
 */
static const char *
find_problem(const MtsTable *table, CmdType operation, bool *is_for_all,
			 const char **hint)
{
	const char *problem = mts_identity_shape_problem(table, hint);
	MtsIdentity *identity;

	*is_for_all = problem != NULL;
	if (problem || operation != CMD_INSERT)
		return problem;
	identity = mts_identity_make(table);
	*hint = identity->hint;
	return identity->problem;
}

/*
 * mts_writable_check
 *		Raise an error where a statement cannot write a table.
 */
void
mts_writable_check(const MtsTable *table, Relation relation, CmdType operation)
{
	const char *hint;
	bool is_read_only;
	const char *problem = find_problem(table, operation, &is_read_only, &hint);

	if (!problem && !table->updatable)
	{
		problem = "Option \"updatable\" is \"false\".";
		hint = advise_updatable(table, relation);
		is_read_only = true;
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
	CmdType operations[] = {CMD_INSERT, CMD_UPDATE, CMD_DELETE};
	const char *hint;
	bool is_for_all;
	int result = 0;

	for (int i = 0; i < (int) lengthof(operations) && table->updatable; i++)
		if (!find_problem(table, operations[i], &is_for_all, &hint))
			result |= 1 << operations[i];
	return result;
}
