/*
 * uri.c
 *		What does the option uri say, and who logs in by it?
 *
 * Credentials are a user mapping's.  libmongoc wants them in the URI, where
 * they are put for it alone: neither such a URI nor what libmongoc says of one
 * may be shown.  Whether a user needs a password is for connection.c to say.
 */
#include "driver/uri.h"

#include <ctype.h>

#include "catalog/pg_authid.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/acl.h"

#include "driver/report.h"

/* Mechanisms that log in by a password; MONGODB-AWS can do without, too */
static const char *const by_password[] = {"SCRAM-SHA-256", "SCRAM-SHA-1",
										  "PLAIN", "MONGODB-AWS", NULL};

/* Mechanisms that log in by what the server's process or host is known as */
static const char *const by_host[] = {"GSSAPI", "MONGODB-X509", "MONGODB-OIDC",
									  NULL};

/* Append a part of a URI; what is neither letter nor digit is escaped. */
static void
append_escaped(StringInfo uri, const char *text)
{
	for (const unsigned char *c = (const unsigned char *) text; *c; c++)
	{
		if (*c < 0x80 && isalnum(*c))
			appendStringInfoChar(uri, *c);
		else
			appendStringInfo(uri, "%%%02X", *c);
	}
}

/*
 * mts_uri_parse
 *		Read a URI without credentials, and add those of a mapping, in UTF-8;
 *		either may be NULL.
 *
 * They are there when libmongoc reads it, or it would refuse mechanisms that
 * ask for a user.  NULL when it can't be read, or they don't fit its
 * mechanism; the caller destroys it.
 */
mongoc_uri_t *
mts_uri_parse(const char *text, const char *username, const char *password)
{
	const char *scheme = strstr(text, "://");
	StringInfoData uri;
	bson_error_t error; /* may repeat a password, so it is not shown */

	if (!username || !scheme)
		return mongoc_uri_new_with_error(text, &error);
	initStringInfo(&uri);
	appendBinaryStringInfo(&uri, text, scheme + 3 - text);
	append_escaped(&uri, username);
	if (password)
	{
		appendStringInfoChar(&uri, ':');
		append_escaped(&uri, password);
	}
	appendStringInfo(&uri, "@%s", scheme + 3);
	return mongoc_uri_new_with_error(uri.data, &error);
}

/* Is the authentication mechanism one of a NULL-terminated list? */
static bool
has_mechanism(const mongoc_uri_t *uri, const char *const *names)
{
	const char *mechanism = mongoc_uri_get_auth_mechanism(uri);

	if (mechanism)
		for (; *names; names++)
			if (pg_strcasecmp(mechanism, *names) == 0)
				return true;
	return false;
}

/*
 * mts_uri_needs_password
 *		Is a user name of no use without a password?
 */
bool
mts_uri_needs_password(const mongoc_uri_t *uri)
{
	return !has_mechanism(uri, by_host);
}

/*
 * mts_uri_logs_in_by_password
 *		Does MongoDB let us in by the password of the mapping, if at all?
 *
 * It does not where it asks for none, nor by what the server's process or host
 * is known as: files, tickets, the environment.
 */
bool
mts_uri_logs_in_by_password(const mongoc_uri_t *uri)
{
	return mongoc_uri_get_username(uri) && mongoc_uri_get_password(uri) &&
		   (!mongoc_uri_get_auth_mechanism(uri) ||
			has_mechanism(uri, by_password));
}

/* A URI in lower case and without escapes, to look for words in it */
static char *
plain_text(const char *uri)
{
	char *plain = palloc(strlen(uri) + 1);
	char *to = plain;

	for (; *uri; uri++)
	{
		unsigned int c = (unsigned char) *uri;

		if (c == '%' && isxdigit((unsigned char) uri[1]) &&
			isxdigit((unsigned char) uri[2]))
		{
			sscanf(uri + 1, "%2x", &c);
			uri += 2;
		}
		*to++ = pg_ascii_tolower((unsigned char) c);
	}
	*to = '\0';
	return plain;
}

/*
 * mts_uri_has_credentials
 *		Are there credentials in the text of a URI, whether it can be read or
 *		not?
 *
 * Options count that this version of libmongoc does not know: it ignores them,
 * but everyone can read them.  Where a sign @ is no credentials' it is
 * escaped.
 */
bool
mts_uri_has_credentials(const char *text)
{
	const char *plain = plain_text(text);

	return strchr(text, '@') || strstr(plain, "password=") ||
		   strstr(plain, "aws_session_token");
}

/* Files of the server's that libmongoc reads, and sockets */
static bool
names_file(const char *text, const mongoc_uri_t *uri)
{
	const mongoc_host_list_t *host = mongoc_uri_get_hosts(uri);

	for (; host; host = host->next)
		if (host->family == AF_UNIX)
			return true;
	return strstr(plain_text(text), "file=") ||
		   mongoc_uri_has_option(uri, MONGOC_URI_TLSCAFILE) ||
		   mongoc_uri_has_option(uri, MONGOC_URI_TLSCERTIFICATEKEYFILE);
}

/*
 * mts_uri_check
 *		May the current user give the option uri this value?
 */
bool
mts_uri_check(const char *text, const mongoc_uri_t *uri, MtsError *error)
{
	/* those that are not judged by the files they take */
	static const char *const borrowing[] = {"MONGODB-AWS", "GSSAPI",
											"MONGODB-OIDC", NULL};

	if (mongoc_uri_get_auth_mechanism(uri) &&
		!has_mechanism(uri, by_password) && !has_mechanism(uri, by_host))
		return mts_report_refuse(error,
								 "There is no such authentication mechanism.",
								 "MongoDB's own is SCRAM-SHA-256.");
	if (has_mechanism(uri, borrowing) && !superuser())
		return mts_report_refuse(
			error, "The URI logs in with an identity of the server's host.",
			"Only a superuser may use MONGODB-AWS, GSSAPI or MONGODB-OIDC.");
	if (names_file(text, uri) &&
		!has_privs_of_role(GetUserId(), ROLE_PG_READ_SERVER_FILES))
		return mts_report_refuse(
			error, "The URI names a file or a socket of the server.",
			"Only a superuser or a member of pg_read_server_files may do so.");
	return true;
}
