/*
 * report.c
 *		Raise what libmongoc reports as an error of PostgreSQL's; say why a value is
 *		refused.
 *
 * The driver's own text goes into the detail.  It never has a password in
 * it, since the URI is never formatted.
 */
#include "driver/report.h"

#include "mb/pg_wchar.h"

#include "driver/document.h"

#define SERVER_AUTHENTICATION 18

#define INDEX_CONFLICT_HINT \
	"Drop the index that has the same name or fields. You can create it again " \
	"as a unique index of all documents, which can be a TTL index, too."
#define TOO_LARGE_HINT \
	"A MongoDB document holds at most 16 MB; a shorter \"bucket_span\" or " \
	"option \"bucket_max_points\" makes smaller buckets."

/* What the codes of MongoDB's server mean to PostgreSQL */
static const struct
{
	uint32 code;
	MtsMeaning meaning;
} meanings[] = {
	{13, /* Unauthorized */
	 {ERRCODE_INSUFFICIENT_PRIVILEGE,
	  "The MongoDB user of the user mapping lacks a privilege."}},
	{SERVER_AUTHENTICATION,
	 {ERRCODE_INVALID_AUTHORIZATION_SPECIFICATION,
	  "Check the user name and password of the user mapping."}},
	/* such as a write that a time-series or capped collection refuses */
	{20, /* IllegalOperation */
	 {ERRCODE_FEATURE_NOT_SUPPORTED, NULL}},
	{72, /* InvalidOptions */
	 {ERRCODE_FEATURE_NOT_SUPPORTED, NULL}},
	{10003, /* CannotGrowDocumentInCappedNamespace */
	 {ERRCODE_FEATURE_NOT_SUPPORTED, NULL}},
	{26, /* NamespaceNotFound */
	 {ERRCODE_FDW_TABLE_NOT_FOUND, NULL}},
	{43, /* CursorNotFound */
	 {ERRCODE_FDW_UNABLE_TO_CREATE_EXECUTION,
	  "The server has dropped the cursor; run the query again."}},
	{50, /* MaxTimeMSExpired */
	 {ERRCODE_QUERY_CANCELED, NULL}},
	{85, /* IndexOptionsConflict */
	 {ERRCODE_DUPLICATE_OBJECT, INDEX_CONFLICT_HINT}},
	{86, /* IndexKeySpecsConflict */
	 {ERRCODE_DUPLICATE_OBJECT, INDEX_CONFLICT_HINT}},
	{121, /* DocumentValidationFailure */
	 {ERRCODE_CHECK_VIOLATION, NULL}},
	{167, /* OptionNotSupportedOnView */
	 {ERRCODE_FEATURE_NOT_SUPPORTED,
	  "Conditions and sorting compare text byte by byte, so make the view "
	  "without a collation."}},
	{MTS_SERVER_IS_VIEW,
	 {ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
	  "A view of MongoDB is read-only; write to the collection that it "
	  "reads."}},
	{MTS_SERVER_DUPLICATE_KEY,
	 {ERRCODE_UNIQUE_VIOLATION,
	  "A unique index of the collection has another document with the same "
	  "key."}},
	{10334, /* BSONObjectTooLarge */
	 {ERRCODE_PROGRAM_LIMIT_EXCEEDED, TOO_LARGE_HINT}},
	{17419, /* an update would make one */
	 {ERRCODE_PROGRAM_LIMIT_EXCEEDED, TOO_LARGE_HINT}},
	{285999133, /* of DocumentDB */
	 {ERRCODE_PROGRAM_LIMIT_EXCEEDED, TOO_LARGE_HINT}},
};

/*
 * mts_report_meaning
 *		What a code of MongoDB's server means to PostgreSQL.
 */
MtsMeaning
mts_report_meaning(uint32 code)
{
	for (int i = 0; i < lengthof(meanings); i++)
		if (meanings[i].code == code)
			return meanings[i].meaning;
	return (MtsMeaning){ERRCODE_FDW_ERROR, NULL};
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
				return mts_report_meaning(SERVER_AUTHENTICATION);
			return (MtsMeaning){ERRCODE_FDW_ERROR, NULL};
		case MONGOC_ERROR_SERVER:
			return mts_report_meaning(error->code);
		default:
			return (MtsMeaning){ERRCODE_FDW_ERROR, NULL};
	}
}

/*
 * mts_report_refuse
 *		Say why a value is refused, and what would do; hint may be NULL.  False.
 */
bool
mts_report_refuse(MtsError *error, const char *detail, const char *hint)
{
	int len = pg_mbcliplen(detail, strlen(detail), sizeof(error->detail) - 1);

	memcpy(error->detail, detail, len);
	error->detail[len] = '\0';
	error->hint = hint;
	return false;
}

/*
 * mts_report_raise
 *		Raise a failure; what is a lower-case sentence that names the object.
 */
void
mts_report_raise(const char *what, const bson_error_t *error)
{
	MtsMeaning meaning = meaning_of(error);

	ereport(ERROR, (errcode(meaning.sqlstate), errmsg("%s", what),
					errdetail("%s", mts_document_text(error->message)),
					meaning.hint ? errhint("%s", meaning.hint) : 0));
	pg_unreachable();
}
