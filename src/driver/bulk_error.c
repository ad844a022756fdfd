/*
 * bulk_error.c
 *		Raise the errors of bulk writes.
 *
 * They say which buckets were not written, and whether the outcome is unknown.
 */
#include "driver/bulk_error.h"

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"

#include "driver/command.h"
#include "driver/document.h"
#include "driver/report.h"
#include "driver/server_error.h"

/* The number of buckets that a message names, at most */
#define MAX_NAMED 3

/* mts_bulk_error_message: make the message of these errors. */
const char *
mts_bulk_error_message(const MtsBulk *bulk)
{
	return bulk->message
			   ? bulk->message
			   : mts_report_writing(bulk->database, bulk->collection);
}

/* Raise the error of a write to a view of MongoDB. */
static _Noreturn void
refuse_view(const MtsBulk *bulk)
{
	MtsServerError view = mts_server_error(MTS_CODE_VIEW);
	char *message = psprintf("cannot write to MongoDB collection \"%s.%s\" "
							 "because it is a view",
							 bulk->database, bulk->collection);

	ereport(ERROR, (errcode(view.sqlstate),
					errmsg("%s", bulk->message ? bulk->message : message),
					bulk->message ? errdetail("The collection is a view.") : 0,
					errhint("%s", view.hint)));
	pg_unreachable();
}

/*
 * Raise an error if the collection is a view or a time-series collection, as
 * far as the server tells.
 *
 * The server refuses writes to a view.  This is asked when changes find other
 * documents than were read, before that is reported.  A view can show a
 * document several times, or without the field that was changed.  A
 * time-series collection is a view of its buckets, whose documents can have
 * the same _id.
 */
static void
check_view(const MtsBulk *bulk)
{
	/* nameOnly and authorizedCollections need no right to list all */
	const bson_t *reply = mts_command_try_run(
		bulk->connection, bulk->database,
		mts_report_reading(bulk->database, bulk->collection),
		mts_document_make("{listCollections: 1, "
						  "filter: {name: %s, type: {$ne: 'collection'}}, "
						  "nameOnly: true, authorizedCollections: true}",
						  mts_document_utf8(bulk->collection)));
	const char *type =
		reply ? mts_document_string(reply, "cursor.firstBatch.0.type") : NULL;

	if (type && strcmp(type, "view") == 0)
		refuse_view(bulk);
	if (type && strcmp(type, "timeseries") == 0)
		ereport(
			ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("could not change points of MongoDB time-series "
					"collection \"%s.%s\"",
					bulk->database, bulk->collection),
			 errdetail(
				 "Documents of a time-series collection can share an _id, so the _id does not identify the document that was read.")));
}

/*
 * mts_bulk_error_refuse_changed
 *		Raise an error: stored points differ from those that were read.
 */
void
mts_bulk_error_refuse_changed(const MtsBulk *bulk, const char *detail)
{
	check_view(bulk);
	ereport(
		ERROR,
		(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
		 errmsg("points of MongoDB collection \"%s.%s\" have changed since "
				"this statement read them",
				bulk->database, bulk->collection),
		 errdetail("%s", detail),
		 bulk->has_stored
			 ? errhint(
				   "Check which points were changed before you run the statement again.")
			 : errhint("Run the statement again, unless another "
					   "part of it changes the same points.")));
	pg_unreachable();
}

/*
 * mts_bulk_error_raise_failure
 *		Raise the error of a command that was refused as a whole or not
 *		answered, or of writes whose outcome is unknown.
 */
_Noreturn void
mts_bulk_error_raise_failure(MtsBulk *bulk, const bson_error_t *error,
							 bool outcome_is_unknown)
{
	MtsConnection *connection = bulk->connection;
	const char *message = mts_bulk_error_message(bulk);

	if (error->domain == MONGOC_ERROR_SERVER && error->code == MTS_CODE_VIEW)
		refuse_view(bulk);
	if (!outcome_is_unknown)
		mts_report_failure(connection, message, error);
	mts_report_unknown(
		connection, message, error,
		"It is unknown whether the last bulk write was executed.");
}

/* Name the buckets of writes that were refused for good. */
static char *
name_buckets(const List *refused)
{
	StringInfoData names;
	ListCell *lc;

	initStringInfo(&names);
	foreach (lc, refused)
	{
		const MtsOp *op = lfirst(lc);
		const MtsForm *form = mts_op_form(op);
		char *text = mts_document_shell(op->identity     ? op->identity
										: form->selector ? form->selector
														 : form->document);

		if (foreach_current_index(lc) == MAX_NAMED)
		{
			appendStringInfo(&names, " and %d more",
							 list_length(refused) - MAX_NAMED);
			break;
		}
		if (strlen(text) > 200)
			strcpy(text + pg_mbcliplen(text, strlen(text), 197), "...");
		appendStringInfo(&names, "%s%s", names.len > 0 ? ", " : "", text);
	}
	return names.data;
}

/*
 * Return why a write was refused: the server's message, or what the update of
 * a bucket says of an attribute that differs (see core/update/update.c).
 */
static char *
describe_refusal(const MtsOp *op)
{
	static const char before[] = "altered to _id: ";
	const char *difference = op->code == MTS_CODE_IMMUTABLE_FIELD
								 ? strstr(op->refusal, before)
								 : NULL;

	if (!difference)
		return mts_document_text(op->refusal);
	return psprintf(
		"A row has another value than its bucket in a field that describes the bucket: %s.",
		mts_document_text(difference + strlen(before)));
}

/*
 * mts_bulk_error_raise_refusals
 *		Raise the error of the writes that were refused for good.
 *
 * nlost of the npoints of the call were not stored, because a transaction is
 * stored wholly or not at all.
 */
_Noreturn void
mts_bulk_error_raise_refusals(const MtsBulk *bulk, const List *refused,
							  int64 nlost, int64 npoints, bool is_transaction)
{
	const MtsOp *first = linitial(refused);
	MtsServerError class = mts_server_error(first->code);
	char *counts = "";

	if (first->code == MTS_CODE_VIEW)
		refuse_view(bulk);
	/* a TRUNCATE does not count points */
	if (npoints > 0)
		counts = psprintf("\n" INT64_FORMAT " of " INT64_FORMAT
						  " points of a bulk write were not stored%s %s.",
						  nlost, npoints,
						  is_transaction ? ", because of" : ": those of",
						  name_buckets(refused));
	ereport(ERROR, (errcode(class.sqlstate),
					errmsg("%s", mts_bulk_error_message(bulk)),
					errdetail("%s%s", describe_refusal(first), counts),
					class.hint ? errhint("%s", class.hint) : 0));
	pg_unreachable();
}
