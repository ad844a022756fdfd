/*
 * option.c
 *		The one table of options, and the validator of the wrapper.
 *
 * It judges each option by itself, which is all that PostgreSQL shows a
 * validator; table.c judges what only the whole table shows.
 */
#include "option.h"

#include "access/reloptions.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_foreign_server.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_user_mapping.h"
#include "commands/defrem.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/varlena.h"

#include "option_check.h"

#define ON_SERVER 1
#define ON_USER 2
#define ON_TABLE 4
#define ON_COLUMN 8
#define ON_IMPORT 16

static const struct
{
	const char *name;
	int where;
	MtsOptionCheck check;
} options[] = {
	{"uri", ON_SERVER, mts_option_check_uri},
	{"keep_connections", ON_SERVER, mts_option_check_bool},
	{"database", ON_SERVER | ON_TABLE, mts_option_check_any},
	{"fetch_size", ON_SERVER | ON_TABLE, mts_option_check_count},
	{"batch_size", ON_SERVER | ON_TABLE, mts_option_check_count},
	{"updatable", ON_SERVER | ON_TABLE | ON_IMPORT, mts_option_check_bool},
	{"username", ON_USER, mts_option_check_any},
	{"password", ON_USER, mts_option_check_any},
	{"password_required", ON_USER, mts_option_check_password_required},
	{"collection", ON_TABLE, mts_option_check_collection},
	{"filter", ON_TABLE, mts_option_check_json},
	{"bucket_time_field", ON_TABLE, mts_option_check_bucket_path},
	{"bucket_time_format", ON_TABLE, mts_option_check_bucket_format},
	{"bucket_time_zone", ON_TABLE, mts_option_check_zone},
	{"bucket_span", ON_TABLE, mts_option_check_span},
	{"bucket_first_field", ON_TABLE, mts_option_check_bucket_path},
	{"bucket_last_field", ON_TABLE, mts_option_check_bucket_path},
	{"bucket_max_points", ON_TABLE, mts_option_check_count},
	{"count_field", ON_TABLE, mts_option_check_bucket_path},
	{"write_mode", ON_TABLE, mts_option_check_write_mode},
	{"write_once", ON_TABLE, mts_option_check_bool},
	{"on_invalid", ON_TABLE, mts_option_check_on_invalid},
	{"on_subresolution", ON_TABLE, mts_option_check_on_subresolution},
	{"field", ON_COLUMN, mts_option_check_path},
	{"role", ON_COLUMN, mts_option_check_role},
	{"format", ON_COLUMN, mts_option_check_format},
	{"missing", ON_COLUMN, mts_option_check_any},
	{"sum_field", ON_COLUMN, mts_option_check_bucket_path},
	{"min_field", ON_COLUMN, mts_option_check_bucket_path},
	{"max_field", ON_COLUMN, mts_option_check_bucket_path},
	{"bson_type", ON_COLUMN, mts_option_check_bson_type},
	{"sample_size", ON_IMPORT, mts_option_check_sample_size},
};

PG_FUNCTION_INFO_V1(mongo_ts_fdw_validator);

/* Say which options there are, or the one that the user may have meant. */
static void
refuse_name(const char *name, int where)
{
	StringInfoData valid;
	const char *closest = NULL;
	int distance = 4;

	initStringInfo(&valid);
	for (int i = 0; i < lengthof(options); i++)
	{
		int d;

		if (!(options[i].where & where))
			continue;
		appendStringInfo(&valid, "%s%s", valid.len > 0 ? ", " : "",
						 options[i].name);
		d = varstr_levenshtein_less_equal(name, Min(strlen(name), 255),
										  options[i].name,
										  strlen(options[i].name), 1, 1, 1,
										  distance, true);
		if (d < distance && d < (int) strlen(name))
		{
			distance = d;
			closest = options[i].name;
		}
	}
	ereport(ERROR,
			(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
			 errmsg("invalid option \"%s\"", name),
			 closest ? errhint("Perhaps you meant the option \"%s\".", closest)
			 : valid.len > 0
				 ? errhint("Valid options in this context are: %s.",
						   valid.data)
				 : errhint("There are no valid options in this context.")));
}

static void
check_option(DefElem *def, int where)
{
	MtsError error = {0};
	const char *value = defGetString(def);

	for (int i = 0; i < lengthof(options); i++)
	{
		if (!(options[i].where & where) ||
			strcmp(options[i].name, def->defname) != 0)
			continue;
		if (!options[i].check(value, &error))
			ereport(ERROR,
					(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
					 /* a value that holds a secret is not repeated */
					 (where & ON_USER) || strcmp(def->defname, "uri") == 0
						 ? errmsg("invalid value for option \"%s\"",
								  def->defname)
						 : errmsg("invalid value for option \"%s\": \"%s\"",
								  def->defname, value),
					 errdetail("%s", error.detail),
					 error.hint ? errhint("%s", error.hint) : 0));
		return;
	}
	refuse_name(def->defname, where);
}

/* SQL: mongo_ts_fdw_validator(options text[], catalog oid) returns void */
Datum
mongo_ts_fdw_validator(PG_FUNCTION_ARGS)
{
	List *list = untransformRelOptions(PG_GETARG_DATUM(0));
	Oid catalog = PG_GETARG_OID(1);
	int where = 0;
	ListCell *lc;

	if (catalog == ForeignServerRelationId)
		where = ON_SERVER;
	else if (catalog == UserMappingRelationId)
		where = ON_USER;
	else if (catalog == ForeignTableRelationId)
		where = ON_TABLE;
	else if (catalog == AttributeRelationId)
		where = ON_COLUMN;
	foreach (lc, list)
		check_option(lfirst(lc), where);
	PG_RETURN_VOID();
}

/* Check the options of IMPORT FOREIGN SCHEMA, which has no validator. */
void
mts_option_check_import(List *list)
{
	ListCell *lc;

	foreach (lc, list)
	{
		DefElem *def = lfirst(lc);

		check_option(def, ON_IMPORT);
		if (mts_option_get(list, def->defname) != defGetString(def))
			ereport(ERROR, (errcode(ERRCODE_DUPLICATE_OBJECT),
							errmsg("option \"%s\" provided more than once",
								   def->defname)));
	}
}

/* The value of an option in a list of DefElem, or NULL. */
const char *
mts_option_get(List *list, const char *name)
{
	ListCell *lc;

	foreach (lc, list)
	{
		DefElem *def = lfirst(lc);

		if (strcmp(def->defname, name) == 0)
			return defGetString(def);
	}
	return NULL;
}

/* The same as a boolean, or missing_value. */
bool
mts_option_get_bool(List *list, const char *name, bool missing_value)
{
	const char *value = mts_option_get(list, name);
	bool result = missing_value;

	if (value)
		(void) parse_bool(value, &result);
	return result;
}

/* The same as an integer, or missing_value. */
int
mts_option_get_int(List *list, const char *name, int missing_value)
{
	const char *value = mts_option_get(list, name);
	int result = missing_value;

	if (value)
		(void) parse_int(value, &result, 0, NULL);
	return result;
}
