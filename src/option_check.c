/*
 * option_check.c
 *		The checks of single options' values.
 *
 * One that reads a catalog or a file of the server's knows the current user.
 */
#include "option_check.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/timestamp.h"

#include "connection.h"
#include "core/format.h"
#include "core/set.h"
#include "document.h"
#include "error.h"
#include "option.h"
#include "uri.h"
#include "zone.h"

/* Anything but nothing */
bool
mts_option_check_any(const char *value, MtsError *error)
{
	return *value ||
		   mts_error_refuse(error, "The value must not be empty.", NULL);
}

bool
mts_option_check_bool(const char *value, MtsError *error)
{
	bool result;

	return parse_bool(value, &result) ||
		   mts_error_refuse(error, "The value must be a Boolean.",
							"Valid values are \"true\" and \"false\".");
}

/* Who may say that a password is not needed? */
bool
mts_option_check_password_required(const char *value, MtsError *error)
{
	bool required;

	if (!parse_bool(value, &required))
		return mts_option_check_bool(value, error);
	return required || superuser() ||
		   mts_error_refuse(error, "Only a superuser may set it to \"false\".",
							NULL);
}

bool
mts_option_check_collection(const char *value, MtsError *error)
{
	MtsSet set;

	return mts_option_check_any(value, error) &&
		   mts_set_parse(value, &set, error);
}

static bool
is_count(const char *value, long most)
{
	char *end;
	long n = strtol(value, &end, 10);

	return end > value && *end == '\0' && n > 0 && n <= most;
}

bool
mts_option_check_count(const char *value, MtsError *error)
{
	return is_count(value, PG_INT32_MAX) ||
		   mts_error_refuse(error, "The value must be a positive integer.",
							NULL);
}

bool
mts_option_check_sample_size(const char *value, MtsError *error)
{
	return is_count(value, 100000) ||
		   mts_error_refuse(error,
							"The value must be an integer from 1 to 100000.",
							NULL);
}

bool
mts_option_check_uri(const char *value, MtsError *error)
{
	mongoc_uri_t *uri;
	bool valid;

	if (mts_uri_has_credentials(value))
		return mts_error_refuse(
			error, "The URI contains credentials.",
			"Put the user name and the password into a user mapping.");
	*mts_connection_warning = '\0';
	uri = mts_uri_parse(value, NULL, NULL);
	/* some mechanisms ask for a user, whom only the mapping has */
	if (!uri)
		uri = mts_uri_parse(value, "user", "password");
	if (!uri)
		return mts_error_refuse(
			error, "libmongoc cannot read the URI.",
			"A URI looks like \"mongodb://host:27017/?option=value\".");
	valid = mts_uri_judge(value, uri, error);
	mongoc_uri_destroy(uri);
	/* such as of an option that libmongoc does not know */
	if (valid && *mts_connection_warning)
		ereport(WARNING,
				(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
				 errmsg("libmongoc ignores a part of option \"uri\""),
				 errdetail("%s", mts_document_text(mts_connection_warning))));
	return valid;
}

bool
mts_option_check_json(const char *value, MtsError *error)
{
	char *problem;

	if (mts_document_from_json(value, strlen(value), &problem))
		return true;
	return mts_error_refuse(
		error, problem,
		"A filter is a MongoDB query in extended JSON, such as {\"site\": 7}.");
}

static bool
parse_path(const char *value, MtsPath *path, MtsError *error)
{
	return mts_path_parse(value, palloc(strlen(value) + 1), path, error);
}

bool
mts_option_check_path(const char *value, MtsError *error)
{
	MtsPath path;

	return parse_path(value, &path, error);
}

bool
mts_option_check_bucket_path(const char *value, MtsError *error)
{
	MtsPath path;

	if (!parse_path(value, &path, error))
		return false;
	return (path.nslots == 0 && path.nsteps > 0) ||
		   mts_error_refuse(
			   error,
			   "The field belongs to the bucket, so its path cannot have a slot.",
			   NULL);
}

bool
mts_option_check_format(const char *value, MtsError *error)
{
	MtsFormat format;

	return mts_format_parse(value, &format, error);
}

bool
mts_option_check_bucket_format(const char *value, MtsError *error)
{
	MtsFormat format;

	if (!mts_format_parse(value, &format, error))
		return false;
	return format.kind != MTS_FORMAT_OFFSET ||
		   mts_error_refuse(error, "The time of a bucket cannot be an offset.",
							NULL);
}

/* Read an interval as interval_in does, but without an error; false if none */
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
 *		Read an interval as a span; an error when it is none.
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
is_positive(MtsSpan span)
{
	return span.months >= 0 && span.days >= 0 && span.usecs >= 0 &&
		   !mts_span_is_zero(span);
}

bool
mts_option_check_span(const char *value, MtsError *error)
{
	MtsSpan span;

	return (parse_span(value, &span) && is_positive(span)) ||
		   mts_error_refuse(error, "The value must be a positive interval.",
							"An interval looks like \"1 hour\".");
}

bool
mts_option_check_zone(const char *value, MtsError *error)
{
	return mts_zone_find(value) ||
		   mts_error_refuse(error, "There is no such time zone.",
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
	return mts_error_refuse(error, "The option has no such value.", hint);
}

bool
mts_option_check_role(const char *value, MtsError *error)
{
	static const char *const valid[] = {"time", "key", "attribute", NULL};

	return check_enum(value, valid,
					  "Valid values are \"time\", \"key\" and \"attribute\".",
					  error);
}

bool
mts_option_check_write_mode(const char *value, MtsError *error)
{
	static const char *const valid[] = {"set", "increment", "push", "insert",
										NULL};

	return check_enum(
		value, valid,
		"Valid values are \"set\", \"increment\", \"push\" and \"insert\".",
		error);
}

bool
mts_option_check_on_invalid(const char *value, MtsError *error)
{
	static const char *const valid[] = {"error", "skip", NULL};

	return check_enum(value, valid, "Valid values are \"error\" and \"skip\".",
					  error);
}

bool
mts_option_check_on_subresolution(const char *value, MtsError *error)
{
	static const char *const valid[] = {"error", "truncate", NULL};

	return check_enum(value, valid,
					  "Valid values are \"error\" and \"truncate\".", error);
}

bool
mts_option_check_bson_type(const char *value, MtsError *error)
{
	static const char *const valid[] = {"double",  "int",      "long",
										"decimal", "string",   "date",
										"bool",    "objectId", NULL};

	return check_enum(
		value, valid,
		"Valid values are \"double\", \"int\", \"long\", \"decimal\", \"string\", \"date\", \"bool\" and \"objectId\".",
		error);
}
