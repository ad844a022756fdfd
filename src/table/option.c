/*
 * option.c
 *		List all options, validate them, and read them.
 *
 * The validator checks each option by itself, because PostgreSQL shows it no
 * more; table.c checks the options of a table together.  A check returns false
 * with the reason in *error.
 */
#include "table/option.h"

#include "access/reloptions.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_foreign_server.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_user_mapping.h"
#include "commands/defrem.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/guc.h"
#include "utils/timestamp.h"
#include "utils/varlena.h"

#include "core/layout/rolling_name.h"
#include "core/time/format.h"
#include "driver/comment.h"
#include "driver/connection.h"
#include "driver/document.h"
#include "driver/report.h"
#include "driver/uri.h"
#include "table/schedule.h"
#include "table/zone.h"

/* ---- Values ----------------------------------------------------------- */

/* Check that a value is not empty. */
static bool
check_any(const char *value, MtsError *error)
{
	return *value ||
		   mts_report_refuse(error, "The value must not be empty.", NULL);
}

static bool
check_bool(const char *value, MtsError *error)
{
	bool result;

	return parse_bool(value, &result) ||
		   mts_report_refuse(error, "The value must be a Boolean.",
							 "Valid values are \"true\" and \"false\".");
}

/* Only a superuser may let a user connect without a password. */
static bool
check_password_required(const char *value, MtsError *error)
{
	bool required;

	if (!parse_bool(value, &required))
		return check_bool(value, error);
	return required || superuser() ||
		   mts_report_refuse(
			   error, "Only a superuser may set the option to \"false\".",
			   NULL);
}

static bool
check_collection(const char *value, MtsError *error)
{
	MtsRollingName rolling_name;

	return check_any(value, error) &&
		   mts_rolling_name_parse(value, &rolling_name, error);
}

static bool
is_count(const char *value, long most)
{
	char *end;
	long n = strtol(value, &end, 10);

	return end > value && *end == '\0' && n > 0 && n <= most;
}

static bool
check_count(const char *value, MtsError *error)
{
	return is_count(value, PG_INT32_MAX) ||
		   mts_report_refuse(error, "The value must be a positive integer.",
							 NULL);
}

static bool
check_sample_size(const char *value, MtsError *error)
{
	return is_count(value, 100000) ||
		   mts_report_refuse(error,
							 "The value must be an integer from 1 to 100000.",
							 NULL);
}

static bool
check_uri(const char *value, MtsError *error)
{
	mongoc_uri_t *uri;
	bool valid;

	if (mts_uri_has_credentials(value))
		return mts_report_refuse(
			error, "The URI contains credentials.",
			"Put the user name and the password into a user mapping.");
	/* what it logs when it starts does not concern the URI */
	mongoc_init();
	*mts_connection_warning = '\0';
	uri = mts_uri_parse_alone(value);
	if (!uri)
		return mts_report_refuse(
			error, "libmongoc cannot read the URI.",
			"A URI looks like \"mongodb://host:27017/?option=value\".");
	valid = mts_uri_check(value, uri, error);
	mongoc_uri_destroy(uri);
	/* for example, an option that libmongoc does not know */
	if (valid && *mts_connection_warning)
		ereport(WARNING,
				(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
				 errmsg("libmongoc ignores a part of option \"uri\""),
				 errdetail("%s", mts_document_text(mts_connection_warning))));
	return valid;
}

static bool
check_json(const char *value, MtsError *error)
{
	char *problem;

	if (mts_document_from_json(value, strlen(value), &problem))
		return true;
	return mts_report_refuse(
		error, problem,
		"A filter is a MongoDB query in extended JSON, such as {\"site\": 7}.");
}

static bool
parse_path(const char *value, MtsPath *path, MtsError *error)
{
	return mts_path_parse(value, palloc(strlen(value) + 1), path, error);
}

/* Check that times can be read in a format. */
static bool
check_pattern(const MtsFormat *format, MtsError *error)
{
	MtsClock clock = mts_zone_clock("GMT");

	return mts_format_check(format, &clock, error);
}

static bool
check_path(const char *value, MtsError *error)
{
	MtsPath path;
	MtsFormat format;

	if (!parse_path(value, &path, error))
		return false;
	for (int i = 0; i < path.nsteps; i++)
		if (path.steps[i].kind == MTS_STEP_COLUMN_KEY &&
			mts_format_is_key(path.steps[i].name, &format) &&
			!check_pattern(&format, error))
		{
			error->hint =
				"For keys that are times of day, write slots such as {hour:00}:{minute:00}.";
			return false;
		}
	return true;
}

static bool
check_bucket_path(const char *value, MtsError *error)
{
	MtsPath path;

	if (!parse_path(value, &path, error))
		return false;
	return (path.nslots == 0 && path.nsteps > 0) ||
		   mts_report_refuse(
			   error,
			   "The path must name a field of the bucket, without a slot.",
			   NULL);
}

static bool
check_format(const char *value, MtsError *error)
{
	MtsFormat format;

	return mts_format_parse(value, &format, error) &&
		   check_pattern(&format, error);
}

static bool
check_bucket_format(const char *value, MtsError *error)
{
	MtsFormat format;

	if (!mts_format_parse(value, &format, error))
		return false;
	if (mts_format_is_relative(&format))
		return mts_report_refuse(
			error,
			"The time of a bucket cannot be an offset or a time of day.",
			NULL);
	return check_pattern(&format, error);
}

/* Read an interval as interval_in does; false instead of an error */
static bool
parse_span(const char *text, MtsSpan *span)
{
	char buffer[256];
	char *fields[MAXDATEFIELDS];
	int types[MAXDATEFIELDS];
	struct pg_itm_in parts;
	Interval interval;
	int n, kind, problem;

	problem = ParseDateTime(text, buffer, sizeof(buffer), fields, types,
							MAXDATEFIELDS, &n);
	if (problem == 0)
		problem = DecodeInterval(fields, types, n, INTERVAL_FULL_RANGE, &kind,
								 &parts);
	if (problem == DTERR_BAD_FORMAT)
		problem = DecodeISO8601Interval(pstrdup(text), &kind, &parts);
	if (problem != 0 || kind != DTK_DELTA ||
		itmin2interval(&parts, &interval) != 0)
		return false;
	*span = (MtsSpan){interval.month, interval.day, interval.time};
	return true;
}

/*
 * mts_option_span
 *		Read the span of a validated option.
 */
MtsSpan
mts_option_span(const char *text)
{
	MtsSpan span;

	if (!parse_span(text, &span))
		elog(ERROR, "invalid interval in the catalog: %s", text);
	return span;
}

static bool
check_span(const char *value, MtsError *error)
{
	MtsSpan span;

	return (parse_span(value, &span) && span.months >= 0 && span.days >= 0 &&
			span.usecs >= 0 && !mts_span_is_zero(span)) ||
		   mts_report_refuse(error, "The value must be a positive interval.",
							 "An interval looks like \"1 hour\".");
}

static bool
check_zone(const char *value, MtsError *error)
{
	return mts_zone_find(value) ||
		   mts_report_refuse(error, "There is no such time zone.",
							 "See the view pg_timezone_names.");
}

/* Check the name of a table: of a schema and, after a point, in it. */
static bool
check_table_name(const char *value, MtsError *error)
{
	List *names;

	return (SplitIdentifierString(pstrdup(value), '.', &names) &&
			list_length(names) == 2) ||
		   mts_report_refuse(
			   error, "The value must be the name of a table with its schema.",
			   "A name looks like \"public.sensors\".");
}

/* Check the interval of a roll-up: midnight must be a boundary of it. */
static bool
check_rollup_interval(const char *value, MtsError *error)
{
	MtsSpan span;

	if (!check_span(value, error))
		return false;
	span = mts_option_span(value);
	return (span.months == 0 && span.days == 0
				? span.usecs % MTS_SECOND == 0 && MTS_DAY % span.usecs == 0
				: span.months + span.days == 1 && span.usecs == 0) ||
		   mts_report_refuse(
			   error,
			   "The value must be whole seconds that divide a day, or \"1 "
			   "day\", or \"1 month\".",
			   span.months == 0 && span.days == 0
				   ? NULL
				   : "Queries by weeks are answered by a roll-up of days, and "
					 "those by quarters and years by one of months.");
}

/* Check how often a roll-up is refreshed. */
static bool
check_refresh(const char *value, MtsError *error)
{
	MtsSpan span;
	int64 length;

	if (!check_span(value, error))
		return false;
	span = mts_option_span(value);
	length = mts_span_length(span, 30);
	return (span.months <= 12 && span.days <= 366 &&
			span.usecs <= 366 * MTS_DAY && length >= MTS_SECOND &&
			length <= 366 * MTS_DAY) ||
		   mts_report_refuse(
			   error, "The value must be from \"1 second\" to \"1 year\".",
			   NULL);
}

/* Check the lag of a roll-up, which may be zero. */
static bool
check_lag(const char *value, MtsError *error)
{
	MtsSpan span;

	return (parse_span(value, &span) && span.months == 0 && span.days >= 0 &&
			span.usecs >= 0) ||
		   mts_report_refuse(error,
							 "The value must be an interval without months.",
							 NULL);
}

/* Read a value of option "transactions". */
static bool
parse_transactions(const char *value, MtsTransactions *result)
{
	static const struct
	{
		const char *word;
		MtsTransactions value;
	} words[] = {
		{"auto", MTS_TRANSACTIONS_AUTO},
		{"required", MTS_TRANSACTIONS_REQUIRED},
		{"batch", MTS_TRANSACTIONS_BATCH},
		{"off", MTS_TRANSACTIONS_OFF},
	};

	for (int i = 0; i < lengthof(words); i++)
	{
		if (strcmp(value, words[i].word) != 0)
			continue;
		*result = words[i].value;
		return true;
	}
	return false;
}

static bool
check_transactions(const char *value, MtsError *error)
{
	MtsTransactions ignored;

	return parse_transactions(value, &ignored) ||
		   mts_report_refuse(error, "The option does not accept this value.",
							 "Valid values are \"auto\", \"required\", "
							 "\"batch\" and \"off\".");
}

/* ---- Options ---------------------------------------------------------- */

#define ON_SERVER 1
#define ON_USER 2
#define ON_TABLE 4
#define ON_COLUMN 8
#define ON_IMPORT 16

/* It says which rows a table has, or what is computed of these */
#define OF_ROWS 32

static const struct
{
	const char *name;
	int where;
	bool (*check)(const char *value, MtsError *error);
	const char *values; /* the valid values, quoted, in place of a check */
} options[] = {
	{"uri", ON_SERVER, check_uri},
	{"keep_connections", ON_SERVER, check_bool},
	{"comment", ON_SERVER, mts_comment_check},
	{"database", ON_SERVER | ON_TABLE, check_any},
	{"fetch_size", ON_SERVER | ON_TABLE, check_count},
	{"batch_size", ON_SERVER | ON_TABLE, check_count},
	{"transactions", ON_SERVER | ON_TABLE, check_transactions},
	{"updatable", ON_SERVER | ON_TABLE | ON_IMPORT, check_bool},
	{"truncatable", ON_SERVER | ON_TABLE, check_bool},
	{"async_capable", ON_SERVER | ON_TABLE, check_bool},
	{"native_buckets", ON_SERVER | ON_TABLE, NULL,
	 "Valid values are \"auto\" and \"off\"."},
	{"consistency", ON_SERVER | ON_TABLE, NULL,
	 "Valid values are \"statement\" and \"none\"."},
	{"username", ON_USER, check_any},
	{"password", ON_USER, check_any},
	{"password_required", ON_USER, check_password_required},
	{"collection", ON_TABLE, check_collection},
	{"filter", ON_TABLE | OF_ROWS, check_json},
	{"bucket_time_field", ON_TABLE | OF_ROWS, check_bucket_path},
	{"bucket_time_format", ON_TABLE | OF_ROWS, check_bucket_format},
	{"bucket_time_zone", ON_TABLE | OF_ROWS, check_zone},
	{"bucket_span", ON_TABLE | OF_ROWS, check_span},
	{"slot_clock", ON_TABLE | OF_ROWS, NULL,
	 "Valid values are \"elapsed\" and \"local\"."},
	{"bucket_first_field", ON_TABLE | OF_ROWS, check_bucket_path},
	{"bucket_last_field", ON_TABLE | OF_ROWS, check_bucket_path},
	{"bucket_max_points", ON_TABLE, check_count},
	{"count_field", ON_TABLE | OF_ROWS, check_bucket_path},
	{"write_mode", ON_TABLE, NULL,
	 "Valid values are \"set\", \"increment\", \"push\" and \"insert\"."},
	{"assume_write_once", ON_TABLE, check_bool},
	{"on_invalid", ON_TABLE | OF_ROWS, NULL,
	 "Valid values are \"error\" and \"skip\"."},
	{"on_subresolution", ON_TABLE | OF_ROWS, NULL,
	 "Valid values are \"error\" and \"truncate\"."},
	{"rollup_of", ON_TABLE, check_table_name},
	{"rollup_interval", ON_TABLE | OF_ROWS, check_rollup_interval},
	{"rollup_zone", ON_TABLE | OF_ROWS, check_zone},
	{"rollup_lag", ON_TABLE, check_lag},
	{"rollup_refresh", ON_TABLE, check_refresh},
	{"rollup_retention", ON_TABLE, check_lag},
	{"rollup_maintained_by", ON_TABLE, NULL,
	 "Valid values are \"refresh\" and \"application\"."},
	{"field", ON_COLUMN | OF_ROWS, check_path},
	{"role", ON_COLUMN | OF_ROWS, NULL,
	 "Valid values are \"time\", \"key\" and \"attribute\"."},
	{"format", ON_COLUMN | OF_ROWS, check_format},
	{"missing_value", ON_COLUMN | OF_ROWS, check_any},
	{"sum_field", ON_COLUMN | OF_ROWS, check_bucket_path},
	{"min_field", ON_COLUMN | OF_ROWS, check_bucket_path},
	{"max_field", ON_COLUMN | OF_ROWS, check_bucket_path},
	{"rollup", ON_COLUMN, NULL,
	 "Valid values are \"count\", \"sum\", \"min\" and \"max\"."},
	{"rollup_column", ON_COLUMN, check_any},
	{"bson_type", ON_COLUMN | OF_ROWS, NULL,
	 "Valid values are \"double\", \"int\", \"long\", \"decimal\", \"string\", \"date\", \"bool\", \"objectId\" and \"any\"."},
	{"sample_size", ON_IMPORT, check_sample_size},
	{"time_column", ON_IMPORT, check_any},
	{"skip_existing", ON_IMPORT, check_bool},
	{"case", ON_IMPORT, NULL,
	 "Valid values are \"keep\", \"lower\" and \"smart\"."},
};

PG_FUNCTION_INFO_V1(mongo_ts_fdw_validator);

/* Names of these options in other wrappers, and former names */
static const struct
{
	const char *foreign;
	const char *name;
} synonyms[] = {
	{"address", "uri"},
	{"host", "uri"},
	{"port", "uri"},
	{"dbname", "database"},
	{"user", "username"},
	{"table_name", "collection"},
	{"column_name", "field"},
	{"missing", "missing_value"},
	{"write_once", "assume_write_once"},
};

/* Return the option with a synonym, if it is valid in a context, or NULL. */
static const char *
find_synonym(const char *name, int where)
{
	for (int i = 0; i < lengthof(synonyms); i++)
		for (int j = 0; j < lengthof(options); j++)
			if (strcmp(synonyms[i].foreign, name) == 0 &&
				strcmp(synonyms[i].name, options[j].name) == 0 &&
				(options[j].where & where))
				return options[j].name;
	return NULL;
}

/* Return the index of an option that is valid in a context, or -1. */
static int
find_option(const char *name, int where)
{
	for (int i = 0; i < lengthof(options); i++)
		if ((options[i].where & where) && strcmp(options[i].name, name) == 0)
			return i;
	return -1;
}

/*
 * mts_option_describes_rows
 *		Tell whether an option of a table or a column says which rows the
 *		table has, and what is in them.  An unknown one could.
 */
bool
mts_option_describes_rows(const char *name)
{
	int i = find_option(name, ON_TABLE | ON_COLUMN);

	return i < 0 || (options[i].where & OF_ROWS);
}

/*
 * mts_option_is_similar
 *		Tell whether a name may be meant by a misspelt one, and is closer to it
 *		than *distance, which is set then.
 */
bool
mts_option_is_similar(const char *misspelt, const char *name, int *distance)
{
	int len = strlen(misspelt);
	int d = varstr_levenshtein_less_equal(misspelt, Min(len, 255), name,
										  Min(strlen(name), 255), 1, 1, 1,
										  *distance, true);

	if (d >= *distance || d >= len)
		return false;
	*distance = d;
	return true;
}

/* Return the hint for an unknown option: the closest name, or all names. */
static const char *
name_hint(const char *name, int where)
{
	StringInfoData valid;
	const char *closest = find_synonym(name, where);
	int distance = closest ? 0 : 4;

	initStringInfo(&valid);
	for (int i = 0; i < lengthof(options); i++)
	{
		if (!(options[i].where & where))
			continue;
		appendStringInfo(&valid, "%s%s", valid.len > 0 ? ", " : "",
						 options[i].name);
		if (mts_option_is_similar(name, options[i].name, &distance))
			closest = options[i].name;
	}
	return closest ? psprintf("Perhaps you meant the option \"%s\".", closest)
		   : valid.len > 0
			   ? psprintf("Valid options in this context are: %s.", valid.data)
			   : "There are no valid options in this context.";
}

static bool
is_valid(int i, const char *value, MtsError *error)
{
	if (options[i].check)
		return options[i].check(value, error);
	return (!strchr(value, '"') &&
			strstr(options[i].values, psprintf("\"%s\"", value))) ||
		   mts_report_refuse(error, "The option does not accept this value.",
							 options[i].values);
}

static void
check_option(DefElem *def, int where)
{
	MtsError error = {0};
	const char *value = defGetString(def);
	int i = find_option(def->defname, where);

	if (i < 0)
		ereport(ERROR, (errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
						errmsg("invalid option \"%s\"", def->defname),
						errhint("%s", name_hint(def->defname, where))));
	else if (!is_valid(i, value, &error))
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
				 /* do not show a value that may be secret */
				 (where & ON_USER) || options[i].check == check_uri
					 ? errmsg("invalid value for option \"%s\"", def->defname)
					 : errmsg("invalid value for option \"%s\": \"%s\"",
							  def->defname, value),
				 errdetail("%s", error.detail),
				 error.hint ? errhint("%s", error.hint) : 0));
}

/* Return the context of the options that a catalog has. */
static int
context_of(Oid catalog)
{
	switch (catalog)
	{
		case ForeignServerRelationId:
			return ON_SERVER;
		case UserMappingRelationId:
			return ON_USER;
		case ForeignTableRelationId:
			return ON_TABLE;
		case AttributeRelationId:
			return ON_COLUMN;
		default:
			return 0;
	}
}

/*
 * Check that a table with option rollup_refresh is refreshed, and tell the
 * launcher.
 */
static void
check_is_refreshed(List *list)
{
	const char *by = mts_option_get(list, "rollup_maintained_by");

	if (!mts_option_get(list, "rollup_refresh"))
		return;
	if (!mts_option_get(list, "rollup_of") ||
		(by && strcmp(by, "application") == 0))
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
				 errmsg("option \"rollup_refresh\" requires a roll-up"),
				 errdetail("It is an option of a table with option "
						   "\"rollup_of\" that no application maintains.")));
	if (!mts_schedule_is_read())
		ereport(NOTICE,
				(errmsg("no background worker refreshes the roll-up"),
				 errdetail("The server did not load the library when it "
						   "started, so option \"rollup_refresh\" has no "
						   "effect."),
				 errhint("Add shared_preload_libraries = 'mongo_ts_fdw' to "
						 "postgresql.conf, and restart the server.")));
	mts_schedule_note_change();
}

/* Check that a table with option rollup_retention is not a roll-up. */
static void
check_has_points(List *list)
{
	if (mts_option_get(list, "rollup_retention") &&
		mts_option_get(list, "rollup_of"))
		ereport(ERROR, (errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
						errmsg("a roll-up cannot have option "
							   "\"rollup_retention\""),
						errhint("Give it to the table of the points.")));
}

/* SQL: mongo_ts_fdw_validator(options text[], catalog oid) returns void */
Datum
mongo_ts_fdw_validator(PG_FUNCTION_ARGS)
{
	List *list = untransformRelOptions(PG_GETARG_DATUM(0));
	Oid catalog = PG_GETARG_OID(1);
	ListCell *lc;

	foreach (lc, list)
		check_option(lfirst(lc), context_of(catalog));
	check_has_points(list);
	check_is_refreshed(list);
	PG_RETURN_VOID();
}

/*
 * mts_option_unknown
 *		Return the first option of a catalog's list that does not exist, and a
 *		hint, or NULL.
 *
 * The validator accepted it if it was the one of another version.
 */
const char *
mts_option_unknown(List *list, Oid catalog, const char **hint)
{
	ListCell *lc;

	foreach (lc, list)
	{
		const char *name = ((DefElem *) lfirst(lc))->defname;

		if (find_option(name, context_of(catalog)) >= 0)
			continue;
		*hint = name_hint(name, context_of(catalog));
		return name;
	}
	return NULL;
}

/* mts_option_check_import: check the options of IMPORT FOREIGN SCHEMA. */
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

/* mts_option_get: return the value of an option in a list, or NULL. */
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

/*
 * mts_option_database
 *		Return the database of a server or of a table, or NULL when none is
 *		named.
 *
 * Option "database" hides the database in the path of option "uri".
 */
const char *
mts_option_database(List *options)
{
	const char *database = mts_option_get(options, "database");
	const char *uri = mts_option_get(options, "uri");

	return database || !uri ? database : mts_uri_database(uri);
}

/* mts_option_get_transactions: return what a transaction of MongoDB has. */
MtsTransactions
mts_option_get_transactions(List *list)
{
	const char *value = mts_option_get(list, "transactions");
	MtsTransactions result = MTS_TRANSACTIONS_AUTO;

	if (value)
		(void) parse_transactions(value, &result);
	return result;
}

/* mts_option_get_bool: return a Boolean option, or default_value. */
bool
mts_option_get_bool(List *list, const char *name, bool default_value)
{
	const char *value = mts_option_get(list, name);
	bool result = default_value;

	if (value)
		(void) parse_bool(value, &result);
	return result;
}

/* mts_option_get_int: return an integer option, or default_value. */
int
mts_option_get_int(List *list, const char *name, int default_value)
{
	const char *value = mts_option_get(list, name);
	int result = default_value;

	if (value)
		(void) parse_int(value, &result, 0, NULL);
	return result;
}
