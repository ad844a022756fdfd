/*
 * option.c
 *		The one table of options, and the validator of the wrapper.
 *
 * It judges each option by itself, which is all that PostgreSQL shows a
 * validator; table.c judges what only the whole table shows.
 */
#include "option.h"

#include <limits.h>

#include "access/reloptions.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_foreign_server.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_type.h"
#include "catalog/pg_user_mapping.h"
#include "commands/defrem.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "mongoc/mongoc.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/timestamp.h"
#include "utils/varlena.h"

#include "core/format.h"
#include "document.h"
#include "zone.h"

#define ON_SERVER	1
#define ON_USER		2
#define ON_TABLE	4
#define ON_COLUMN	8

/*
 * A check returns false with the reason in *error when the value is not one
 * of the option's.
 */
typedef bool (*OptionCheck) (const char *value, MtsError *error);

static bool check_any(const char *value, MtsError *error);
static bool check_bool(const char *value, MtsError *error);
static bool check_count(const char *value, MtsError *error);
static bool check_uri(const char *value, MtsError *error);
static bool check_json(const char *value, MtsError *error);
static bool check_path(const char *value, MtsError *error);
static bool check_bucket_path(const char *value, MtsError *error);
static bool check_format(const char *value, MtsError *error);
static bool check_bucket_format(const char *value, MtsError *error);
static bool check_span(const char *value, MtsError *error);
static bool check_zone(const char *value, MtsError *error);
static bool check_role(const char *value, MtsError *error);
static bool check_write_mode(const char *value, MtsError *error);
static bool check_on_invalid(const char *value, MtsError *error);
static bool check_on_subresolution(const char *value, MtsError *error);
static bool check_bson_type(const char *value, MtsError *error);

static const struct
{
	const char *name;
	int			where;
	OptionCheck check;
}			options[] = {
	{"uri", ON_SERVER, check_uri},
	{"keep_connections", ON_SERVER, check_bool},
	{"database", ON_SERVER | ON_TABLE, check_any},
	{"fetch_size", ON_SERVER | ON_TABLE, check_count},
	{"batch_size", ON_SERVER | ON_TABLE, check_count},
	{"updatable", ON_SERVER | ON_TABLE, check_bool},
	{"username", ON_USER, check_any},
	{"password", ON_USER, check_any},
	{"collection", ON_TABLE, check_any},
	{"filter", ON_TABLE, check_json},
	{"bucket_time_field", ON_TABLE, check_bucket_path},
	{"bucket_time_format", ON_TABLE, check_bucket_format},
	{"bucket_time_zone", ON_TABLE, check_zone},
	{"bucket_span", ON_TABLE, check_span},
	{"bucket_first_field", ON_TABLE, check_bucket_path},
	{"bucket_last_field", ON_TABLE, check_bucket_path},
	{"bucket_max_points", ON_TABLE, check_count},
	{"count_field", ON_TABLE, check_bucket_path},
	{"write_mode", ON_TABLE, check_write_mode},
	{"write_once", ON_TABLE, check_bool},
	{"on_invalid", ON_TABLE, check_on_invalid},
	{"on_subresolution", ON_TABLE, check_on_subresolution},
	{"field", ON_COLUMN, check_path},
	{"role", ON_COLUMN, check_role},
	{"format", ON_COLUMN, check_format},
	{"missing", ON_COLUMN, check_any},
	{"sum_field", ON_COLUMN, check_bucket_path},
	{"min_field", ON_COLUMN, check_bucket_path},
	{"max_field", ON_COLUMN, check_bucket_path},
	{"bson_type", ON_COLUMN, check_bson_type},
};

PG_FUNCTION_INFO_V1(mongo_ts_fdw_validator);

static bool
refuse(MtsError *error, const char *detail, const char *hint)
{
	strlcpy(error->detail, detail, sizeof(error->detail));
	error->hint = hint;
	return false;
}

static bool
check_any(const char *value, MtsError *error)
{
	return *value || refuse(error, "The value is empty.", NULL);
}

static bool
check_bool(const char *value, MtsError *error)
{
	bool		result;

	return parse_bool(value, &result) ||
		refuse(error, "The value is no boolean.",
			   "Valid values are \"true\" and \"false\".");
}

static bool
check_count(const char *value, MtsError *error)
{
	int			n;

	return (parse_int(value, &n, 0, NULL) && n > 0) ||
		refuse(error, "The value is no positive integer.", NULL);
}

/* Options of the URI that make libmongoc read a file of the server's */
static bool
names_file(const mongoc_uri_t *uri)
{
	return mongoc_uri_has_option(uri, MONGOC_URI_TLSCAFILE) ||
		mongoc_uri_has_option(uri, MONGOC_URI_TLSCERTIFICATEKEYFILE);
}

static bool
judge_uri(const mongoc_uri_t *uri, MtsError *error)
{
	bson_t		properties;

	if (mongoc_uri_get_username(uri) || mongoc_uri_get_password(uri) ||
		mongoc_uri_has_option(uri, MONGOC_URI_TLSCERTIFICATEKEYFILEPASSWORD) ||
		(mongoc_uri_get_mechanism_properties(uri, &properties) &&
		 bson_has_field(&properties, "AWS_SESSION_TOKEN")))
		return refuse(error, "The URI contains credentials.",
					  "Put the user name and the password into a user mapping.");
	if (names_file(uri) &&
		!has_privs_of_role(GetUserId(), ROLE_PG_READ_SERVER_FILES))
		return refuse(error, "The URI names a file of the server.",
					  "Only a superuser or a member of pg_read_server_files may do so.");
	return true;
}

static bool
check_uri(const char *value, MtsError *error)
{
	bson_error_t problem;
	mongoc_uri_t *uri = mongoc_uri_new_with_error(value, &problem);
	bool		valid;

	if (!uri)
	{
		/* libmongoc's message may repeat a password */
		return refuse(error, "libmongoc can't read the URI.",
					  "A URI looks like \"mongodb://host:27017/?option=value\".");
	}
	valid = judge_uri(uri, error);
	mongoc_uri_destroy(uri);
	return valid;
}

static bool
check_json(const char *value, MtsError *error)
{
	char	   *problem;

	if (mts_document_from_json(value, strlen(value), &problem))
		return true;
	return refuse(error, problem,
				  "A filter is a MongoDB query in extended JSON, such as {\"site\": 7}.");
}

static bool
parse_path(const char *value, MtsPath *path, MtsError *error)
{
	return mts_path_parse(value, palloc(strlen(value) + 1), path, error);
}

static bool
check_path(const char *value, MtsError *error)
{
	MtsPath		path;

	return parse_path(value, &path, error);
}

static bool
check_bucket_path(const char *value, MtsError *error)
{
	MtsPath		path;

	if (!parse_path(value, &path, error))
		return false;
	return (path.nslots == 0 && path.nsteps > 0) ||
		refuse(error, "The field is the bucket's own: its path has no slot.",
			   NULL);
}

static bool
check_format(const char *value, MtsError *error)
{
	MtsFormat	format;

	return mts_format_parse(value, &format, error);
}

static bool
check_bucket_format(const char *value, MtsError *error)
{
	MtsFormat	format;

	if (!mts_format_parse(value, &format, error))
		return false;
	return format.kind != MTS_FORMAT_OFFSET ||
		refuse(error, "The time of a bucket is no offset.", NULL);
}

/*
 * mts_option_span
 *		Read an interval as a span; an error when it is none or not positive.
 */
MtsSpan
mts_option_span(const char *text)
{
	Interval   *interval =
		DatumGetIntervalP(DirectFunctionCall3(interval_in,
											  CStringGetDatum(text),
											  ObjectIdGetDatum(InvalidOid),
											  Int32GetDatum(-1)));
	MtsSpan		span = {interval->month, interval->day, interval->time};

	if (span.months < 0 || span.days < 0 || span.usecs < 0 ||
		mts_span_is_zero(span))
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
				 errmsg("invalid value for option \"%s\": \"%s\"",
						"bucket_span", text),
				 errdetail("The interval is not positive.")));
	return span;
}

static bool
check_span(const char *value, MtsError *error)
{
	(void) mts_option_span(value);
	return true;
}

static bool
check_zone(const char *value, MtsError *error)
{
	return mts_zone_find(value) ||
		refuse(error, "There is no such time zone.",
			   "See the view pg_timezone_names.");
}

/* Is value one of a NULL-terminated list? */
static bool
check_enum(const char *value, const char *const *valid, const char *hint,
		   MtsError *error)
{
	for (; *valid; valid++)
		if (strcmp(value, *valid) == 0)
			return true;
	return refuse(error, "The option has no such value.", hint);
}

static bool
check_role(const char *value, MtsError *error)
{
	static const char *const valid[] = {"time", "key", "attribute", NULL};

	return check_enum(value, valid,
					  "Valid values are \"time\", \"key\" and \"attribute\".",
					  error);
}

static bool
check_write_mode(const char *value, MtsError *error)
{
	static const char *const valid[] = {"set", "increment", "push", "insert",
	NULL};

	return check_enum(value, valid,
					  "Valid values are \"set\", \"increment\", \"push\" and \"insert\".",
					  error);
}

static bool
check_on_invalid(const char *value, MtsError *error)
{
	static const char *const valid[] = {"error", "skip", NULL};

	return check_enum(value, valid,
					  "Valid values are \"error\" and \"skip\".", error);
}

static bool
check_on_subresolution(const char *value, MtsError *error)
{
	static const char *const valid[] = {"error", "truncate", NULL};

	return check_enum(value, valid,
					  "Valid values are \"error\" and \"truncate\".", error);
}

static bool
check_bson_type(const char *value, MtsError *error)
{
	static const char *const valid[] = {"double", "int", "long", "decimal",
	"string", "date", "bool", "objectId", NULL};

	return check_enum(value, valid,
					  "Valid values are double, int, long, decimal, string, date, bool and objectId.",
					  error);
}

/* Say which options there are, or the one that the user may have meant. */
static void
refuse_name(const char *name, int where)
{
	StringInfoData valid;
	const char *closest = NULL;
	int			distance = 4;

	initStringInfo(&valid);
	for (int i = 0; i < lengthof(options); i++)
	{
		int			d;

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
			 closest ? errhint("Perhaps you meant the option \"%s\".", closest) :
			 valid.len > 0 ? errhint("Valid options in this context are: %s.",
									 valid.data) :
			 errhint("There are no valid options in this context.")));
}

static void
check_option(DefElem *def, int where)
{
	MtsError	error = {0};
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
					 (where & ON_USER) || strcmp(def->defname, "uri") == 0 ?
					 errmsg("invalid value for option \"%s\"", def->defname) :
					 errmsg("invalid value for option \"%s\": \"%s\"",
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
	List	   *list = untransformRelOptions(PG_GETARG_DATUM(0));
	Oid			catalog = PG_GETARG_OID(1);
	int			where = 0;
	ListCell   *lc;

	if (catalog == ForeignServerRelationId)
		where = ON_SERVER;
	else if (catalog == UserMappingRelationId)
		where = ON_USER;
	else if (catalog == ForeignTableRelationId)
		where = ON_TABLE;
	else if (catalog == AttributeRelationId)
		where = ON_COLUMN;
	foreach(lc, list)
		check_option(lfirst(lc), where);
	PG_RETURN_VOID();
}

/* The value of an option in a list of DefElem, or NULL. */
const char *
mts_option_get(List *list, const char *name)
{
	ListCell   *lc;

	foreach(lc, list)
	{
		DefElem    *def = lfirst(lc);

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
	bool		result = missing_value;

	if (value)
		(void) parse_bool(value, &result);
	return result;
}

/* The same as an integer, or missing_value. */
int
mts_option_get_int(List *list, const char *name, int missing_value)
{
	const char *value = mts_option_get(list, name);
	int			result = missing_value;

	if (value)
		(void) parse_int(value, &result, 0, NULL);
	return result;
}
