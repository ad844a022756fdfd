/*
 * error.c
 *		Raise what libmongoc reports as an error of PostgreSQL's; say why a value is
 *		refused.
 *
 * The driver's own text goes into the detail.  It never has a password in
 * it, since the URI is never formatted.
 */
#include "error.h"

#include "mb/pg_wchar.h"

#include "document.h"

/* Codes of MongoDB's server that have an SQLSTATE of their own */
#define SERVER_UNAUTHORIZED 13
#define SERVER_AUTHENTICATION 18
#define SERVER_ILLEGAL_OPERATION 20
#define SERVER_NAMESPACE_NOT_FOUND 26
#define SERVER_CURSOR_NOT_FOUND 43
#define SERVER_MAX_TIME_EXPIRED 50
#define SERVER_INVALID_OPTIONS 72
#define SERVER_INDEX_OPTIONS_CONFLICT 85
#define SERVER_INDEX_NAME_CONFLICT 86
#define SERVER_VALIDATION_FAILED 121
#define SERVER_VIEW_COLLATION 167
#define SERVER_CAPPED_SIZE 10003
#define SERVER_TOO_LARGE 10334
#define SERVER_GROWN_TOO_LARGE 17419
#define DOCUMENTDB_TOO_LARGE 285999133

/*
 * mts_error_meaning
 *		What a code of MongoDB's server means to PostgreSQL.
 */
MtsMeaning
mts_error_meaning(uint32 code)
{
	switch (code)
	{
		case SERVER_UNAUTHORIZED:
			return (MtsMeaning){
				ERRCODE_INSUFFICIENT_PRIVILEGE,
				"The MongoDB user of the user mapping lacks a privilege."};
		case SERVER_AUTHENTICATION:
			return (MtsMeaning){
				ERRCODE_INVALID_AUTHORIZATION_SPECIFICATION,
				"Check the user name and password of the user mapping."};
		/* such as a write that a time-series or capped collection refuses */
		case SERVER_ILLEGAL_OPERATION:
		case SERVER_INVALID_OPTIONS:
		case SERVER_CAPPED_SIZE:
			return (MtsMeaning){ERRCODE_FEATURE_NOT_SUPPORTED, NULL};
		case SERVER_NAMESPACE_NOT_FOUND:
			return (MtsMeaning){ERRCODE_FDW_TABLE_NOT_FOUND, NULL};
		case SERVER_CURSOR_NOT_FOUND:
			return (MtsMeaning){
				ERRCODE_FDW_UNABLE_TO_CREATE_EXECUTION,
				"The server has dropped the cursor; run the query again."};
		case SERVER_MAX_TIME_EXPIRED:
			return (MtsMeaning){ERRCODE_QUERY_CANCELED, NULL};
		case SERVER_INDEX_OPTIONS_CONFLICT:
		case SERVER_INDEX_NAME_CONFLICT:
			return (MtsMeaning){
				ERRCODE_DUPLICATE_OBJECT,
				"Drop the index that has the same name or fields. You can create "
				"it again as a unique index of all documents, which can be a TTL "
				"index, too."};
		case SERVER_VALIDATION_FAILED:
			return (MtsMeaning){ERRCODE_CHECK_VIOLATION, NULL};
		case SERVER_VIEW_COLLATION:
			return (MtsMeaning){
				ERRCODE_FEATURE_NOT_SUPPORTED,
				"Conditions and sorting compare text byte by byte, so make the "
				"view without a collation."};
		case MTS_SERVER_IS_VIEW:
			return (MtsMeaning){ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
								"A view of MongoDB is read-only; write to the "
								"collection that it reads."};
		case MTS_SERVER_DUPLICATE_KEY:
			return (MtsMeaning){
				ERRCODE_UNIQUE_VIOLATION,
				"A unique index of the collection has another document with "
				"the same key."};
		case SERVER_TOO_LARGE:
		case SERVER_GROWN_TOO_LARGE:
		case DOCUMENTDB_TOO_LARGE:
			return (MtsMeaning){
				ERRCODE_PROGRAM_LIMIT_EXCEEDED,
				"A MongoDB document holds at most 16 MB; a shorter "
				"\"bucket_span\" or option \"bucket_max_points\" makes "
				"smaller buckets."};
		default:
			return (MtsMeaning){ERRCODE_FDW_ERROR, NULL};
	}
}

static MtsMeaning
meaning_of(const bson_error_t *error)
{
	switch (error->domain)
	{
		case MONGOC_ERROR_SERVER_SELECTION:
			if (error->code == MTS_NO_MEMBER)
				return (MtsMeaning){
					ERRCODE_FDW_UNABLE_TO_ESTABLISH_CONNECTION,
					"Name several members and \"replicaSet\" in option \"uri\" "
					"of the foreign server; \"serverSelectionTimeoutMS\" there "
					"says how long an election is waited for."};
			return (MtsMeaning){
				ERRCODE_FDW_UNABLE_TO_ESTABLISH_CONNECTION,
				"Check option \"uri\" of the foreign server, and whether MongoDB runs there."};
		case MONGOC_ERROR_STREAM:
			return (MtsMeaning){ERRCODE_CONNECTION_FAILURE, NULL};
		case MONGOC_ERROR_WRITE_CONCERN:
			return (MtsMeaning){
				ERRCODE_FDW_ERROR,
				"The writes are stored, but the server cannot promise what "
				"the write concern of option \"uri\" asks for."};
		case MONGOC_ERROR_PROTOCOL:
			if (error->code == MONGOC_ERROR_PROTOCOL_BAD_WIRE_VERSION)
				return (MtsMeaning){ERRCODE_FDW_UNABLE_TO_ESTABLISH_CONNECTION,
									NULL};
			return (MtsMeaning){ERRCODE_PROTOCOL_VIOLATION, NULL};
		case MONGOC_ERROR_CURSOR: /* the reply to a query has none */
			return (MtsMeaning){ERRCODE_PROTOCOL_VIOLATION, NULL};
		case MONGOC_ERROR_CLIENT:
			if (error->code == MONGOC_ERROR_CLIENT_AUTHENTICATE)
				return mts_error_meaning(SERVER_AUTHENTICATION);
			return (MtsMeaning){ERRCODE_FDW_ERROR, NULL};
		case MONGOC_ERROR_SERVER:
			return mts_error_meaning(error->code);
		default:
			return (MtsMeaning){ERRCODE_FDW_ERROR, NULL};
	}
}

/*
 * mts_error_refuse
 *		Say why a value is refused, and what would do; hint may be NULL.  False.
 */
bool
mts_error_refuse(MtsError *error, const char *detail, const char *hint)
{
	int len = pg_mbcliplen(detail, strlen(detail), sizeof(error->detail) - 1);

	memcpy(error->detail, detail, len);
	error->detail[len] = '\0';
	error->hint = hint;
	return false;
}

/*
 * mts_error_raise
 *		Raise a failure; what is a lower-case sentence that names the object.
 */
void
mts_error_raise(const char *what, const bson_error_t *error)
{
	MtsMeaning meaning = meaning_of(error);

	ereport(ERROR, (errcode(meaning.sqlstate), errmsg("%s", what),
					errdetail("%s", mts_document_text(error->message)),
					meaning.hint ? errhint("%s", meaning.hint) : 0));
	pg_unreachable();
}
