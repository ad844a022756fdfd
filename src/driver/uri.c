/*
 * uri.c
 *		Read and check option "uri".
 *
 * Credentials are options of the user mapping, and an error in option "uri".
 * libmongoc expects them in the URI, so they are put there for it alone.
 * Neither such a URI nor libmongoc's messages about it may be shown.
 * connection.c decides whether a user needs a password.
 */
#include "driver/uri.h"

#include <ctype.h>
#include <sys/socket.h>

#include "catalog/pg_authid.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/acl.h"

#include "driver/document.h"
#include "driver/report.h"

/* Mechanisms that can log in by a password; MONGODB-AWS can do without one */
static const char *const by_password[] = {"SCRAM-SHA-256", "SCRAM-SHA-1",
										  "PLAIN", "MONGODB-AWS", NULL};

/* Mechanisms that log in with an identity of PostgreSQL's process or host */
static const char *const by_host[] = {"GSSAPI", "MONGODB-X509", "MONGODB-OIDC",
									  NULL};

/* Append a part of a URI, and escape all but letters and digits. */
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
 *		Read a URI without credentials, and add those of a mapping.
 *
 * The credentials are in UTF-8; either may be NULL.  They are added before
 * libmongoc reads the URI, because it refuses a mechanism that requires a user
 * if there is none.  Returns NULL when the URI cannot be read, or when the
 * credentials do not fit its mechanism.  The caller destroys the result.
 *
 * libmongoc is started here, where its use begins, since the postmaster may
 * load the library and never use it.  Some builds of libmongoc 1 start
 * themselves when they are loaded.
 */
mongoc_uri_t *
mts_uri_parse(const char *text, const char *username, const char *password)
{
	const char *scheme;
	StringInfoData uri;
	bson_error_t error; /* may repeat a password, so it is not shown */

	mongoc_init();
	text = mts_document_utf8(text);
	scheme = strstr(text, "://");
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

/*
 * mts_uri_parse_alone
 *		Read a URI whose user mapping is not known; returns NULL when it cannot
 *		be read.
 *
 * The caller destroys the result, and does not connect with it.
 */
mongoc_uri_t *
mts_uri_parse_alone(const char *text)
{
	mongoc_uri_t *uri = mts_uri_parse(text, NULL, NULL);

	/* some mechanisms require a user, which only the mapping names */
	return uri ? uri : mts_uri_parse(text, "user", "password");
}

/*
 * mts_uri_database
 *		Return the database in the path of a URI, palloc'd, or NULL when there
 *		is none.
 */
char *
mts_uri_database(const char *text)
{
	mongoc_uri_t *uri = mts_uri_parse_alone(text);
	const char *path = uri ? mongoc_uri_get_database(uri) : NULL;
	char *database = path && *path ? pstrdup(path) : NULL;

	if (uri)
		mongoc_uri_destroy(uri);
	return database ? pg_any_to_server(database, strlen(database), PG_UTF8)
					: NULL;
}

/* Tell whether the authentication mechanism is in a NULL-terminated list. */
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
 * mts_uri_is_local
 *		Tell whether all servers of a URI are on the host of PostgreSQL.
 *
 * They are if it has loopback addresses or sockets.  False if it cannot be
 * read.
 */
bool
mts_uri_is_local(const char *text)
{
	mongoc_uri_t *uri = mts_uri_parse_alone(text);
	const mongoc_host_list_t *host = uri ? mongoc_uri_get_hosts(uri) : NULL;
	bool is_local = host != NULL;

	for (; host; host = host->next)
		is_local &= host->family == AF_UNIX ||
					strcmp(host->host, "localhost") == 0 ||
					strcmp(host->host, "::1") == 0 ||
					strncmp(host->host, "127.", 4) == 0;
	if (uri)
		mongoc_uri_destroy(uri);
	return is_local;
}

/*
 * mts_uri_needs_password
 *		Tell whether a user name is useless without a password.
 */
bool
mts_uri_needs_password(const mongoc_uri_t *uri)
{
	return !has_mechanism(uri, by_host);
}

/*
 * mts_uri_logs_in_by_password
 *		Tell whether the client logs in by the password of the mapping.
 *
 * It does not if it does not log in at all, or by an identity of PostgreSQL's
 * process or host: a file, a ticket or the environment.
 */
bool
mts_uri_logs_in_by_password(const mongoc_uri_t *uri)
{
	return mongoc_uri_get_username(uri) && mongoc_uri_get_password(uri) &&
		   (!mongoc_uri_get_auth_mechanism(uri) ||
			has_mechanism(uri, by_password));
}

/* Copy a URI in lower case and without escapes, to search words in it. */
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
 *		Tell whether the text of a URI contains credentials.
 *
 * The URI may be malformed.  An option that libmongoc does not know counts,
 * too: it is ignored, but everyone can read it.  Every @ counts, because a
 * valid URI escapes it outside of credentials.
 */
bool
mts_uri_has_credentials(const char *text)
{
	const char *plain = plain_text(text);

	return strchr(text, '@') || strstr(plain, "password=") ||
		   strstr(plain, "aws_session_token");
}

/* Tell whether a URI names files that libmongoc reads, or sockets. */
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
 *		Check that the current user may set option "uri" to this value.
 *
 * Returns false with the reason in *error otherwise.
 */
bool
mts_uri_check(const char *text, const mongoc_uri_t *uri, MtsError *error)
{
	/* their identity is the host's; X509 names a file, which is checked */
	static const char *const of_host[] = {"MONGODB-AWS", "GSSAPI",
										  "MONGODB-OIDC", NULL};

	if (mongoc_uri_get_auth_mechanism(uri) &&
		!has_mechanism(uri, by_password) && !has_mechanism(uri, by_host))
		return mts_report_refuse(error,
								 "There is no such authentication mechanism.",
								 "MongoDB's own is SCRAM-SHA-256.");
	if (has_mechanism(uri, of_host) && !superuser())
		return mts_report_refuse(
			error,
			"The mechanism can log in with an identity of PostgreSQL's host.",
			"Only a superuser may use MONGODB-AWS, GSSAPI or MONGODB-OIDC.");
	if (names_file(text, uri) &&
		!has_privs_of_role(GetUserId(), ROLE_PG_READ_SERVER_FILES))
		return mts_report_refuse(
			error, "The URI names a file or a socket of PostgreSQL's host.",
			"Only a superuser or a member of pg_read_server_files may do so.");
	return true;
}
