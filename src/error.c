/*
 * error.c
 *		Raise what libmongoc reports as an error of PostgreSQL's.
 *
 * The driver's own text goes into the detail.  It never has a password in
 * it, since the URI is never formatted.
 */
#include "error.h"


/* Codes of MongoDB's server that have an SQLSTATE of their own */
#define SERVER_UNAUTHORIZED 13
#define SERVER_AUTHENTICATION 18
#define SERVER_NAMESPACE_NOT_FOUND 26
#define SERVER_CURSOR_NOT_FOUND 43
#define SERVER_MAX_TIME_EXPIRED 50

typedef struct Meaning
{
	int sqlstate;
	const char *hint;
} Meaning;

static Meaning
meaning_of_code(uint32_t code)
{
	switch (code)
	{
		case SERVER_UNAUTHORIZED:
			return (Meaning){
				ERRCODE_INSUFFICIENT_PRIVILEGE,
				"The MongoDB user of the user mapping lacks a right."};
		case SERVER_AUTHENTICATION:
			return (
				Meaning){ERRCODE_INVALID_AUTHORIZATION_SPECIFICATION,
						 "Check username and password of the user mapping."};
		case SERVER_NAMESPACE_NOT_FOUND:
			return (Meaning){ERRCODE_FDW_TABLE_NOT_FOUND, NULL};
		case SERVER_CURSOR_NOT_FOUND:
			return (Meaning){
				ERRCODE_FDW_UNABLE_TO_CREATE_EXECUTION,
				"The server has dropped the cursor; run the query again."};
		case SERVER_MAX_TIME_EXPIRED:
			return (Meaning){ERRCODE_QUERY_CANCELED, NULL};
		default:
			return (Meaning){ERRCODE_FDW_ERROR, NULL};
	}
}

static Meaning
meaning_of(const bson_error_t *error)
{
	switch (error->domain)
	{
		case MONGOC_ERROR_SERVER_SELECTION:
			return (Meaning){
				ERRCODE_FDW_UNABLE_TO_ESTABLISH_CONNECTION,
				"Check the option uri of the foreign server, and whether MongoDB runs there."};
		case MONGOC_ERROR_STREAM:
			return (Meaning){ERRCODE_CONNECTION_FAILURE, NULL};
		case MONGOC_ERROR_CLIENT:
			if (error->code == MONGOC_ERROR_CLIENT_AUTHENTICATE)
				return meaning_of_code(SERVER_AUTHENTICATION);
			return (Meaning){ERRCODE_FDW_ERROR, NULL};
		case MONGOC_ERROR_SERVER:
			return meaning_of_code(error->code);
		default:
			return (Meaning){ERRCODE_FDW_ERROR, NULL};
	}
}

/*
 * mts_error_raise
 *		Raise a failure; what is a lower-case sentence that names the object.
 */
void
mts_error_raise(const char *what, const bson_error_t *error)
{
	Meaning meaning = meaning_of(error);

	ereport(ERROR, (errcode(meaning.sqlstate), errmsg("%s", what),
					errdetail("%s", error->message),
					meaning.hint ? errhint("%s", meaning.hint) : 0));
	pg_unreachable();
}
