/*
 * bulk_refused.c
 *		Read which writes the server has refused, and raise their errors.
 */
#include "bulk_private.h"

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"

#include "attempt.h"
#include "collections.h"
#include "document.h"
#include "error.h"
#include "remote.h"

/* MongoDB's codes of commands that were ended before all of their writes */
static const uint32 interruptions[] = {
	50,    /* MaxTimeMSExpired */
	202,   /* NetworkInterfaceExceededTimeLimit */
	262,   /* ExceededTimeLimit */
	279,   /* ClientDisconnect */
	11601, /* Interrupted, as by killOp */
};

/* So many buckets are named in a message */
#define MAX_NAMED 3

/*
 * mts_bulk_is_transient
 *		Say whether a write that was refused is worth another try.
 *
 * Two sessions may make the same bucket at once, or lock it in turn.
 */
bool
mts_bulk_is_transient(const MtsRefused *refused)
{
	MtsOp *op = refused->op;

	switch (refused->code)
	{
		case MTS_SERVER_DUPLICATE_KEY: /* the bucket is there by now, and is updated */
			return op->kind == MTS_OP_UPSERT &&
				   (op->fresh || ++op->duplicates < MTS_MAX_DUPLICATES);
		case 112:      /* write conflict */
		case 16908292: /* DocumentDB: deadlock detected */
		case 16777284: /* DocumentDB: could not serialize access */
			return true;
		default:
			return false;
	}
}

/* Read the fields of one of writeErrors; its op is NULL if it is none of n. */
static MtsRefused
read_refused(bson_iter_t *field, MtsOp *const *ops, int n)
{
	MtsRefused refused = {NULL, 0, "no message"};
	int64 index = -1;

	while (bson_iter_next(field))
	{
		const char *key = bson_iter_key(field);

		if (strcmp(key, "index") == 0)
			index = bson_iter_as_int64(field);
		else if (strcmp(key, "code") == 0)
			refused.code = (int) bson_iter_as_int64(field);
		else if (strcmp(key, "errmsg") == 0 && BSON_ITER_HOLDS_UTF8(field))
			refused.message = pstrdup(bson_iter_utf8(field, NULL));
	}
	if (index >= 0 && index < n)
		refused.op = ops[index];
	return refused;
}

/*
 * mts_bulk_note_refused
 *		Note which of a command's n writes its reply refuses.
 *
 * False, with the server's reason in *error, when the reply does not name one of
 * them.
 */
bool
mts_bulk_note_refused(MtsRound *round, MtsOp *const *ops, int n,
					  const bson_t *reply, bson_error_t *error)
{
	bson_iter_t errors, element, field;

	if (!bson_iter_init_find(&errors, reply, "writeErrors") ||
		!BSON_ITER_HOLDS_ARRAY(&errors) ||
		!bson_iter_recurse(&errors, &element))
		return true;
	while (bson_iter_next(&element))
	{
		MtsRefused refused = {.message = "no message"};

		if (bson_iter_recurse(&element, &field))
			refused = read_refused(&field, ops, n);
		if (!refused.op || round->nrefused == round->n)
		{
			bson_set_error(error, MONGOC_ERROR_SERVER, refused.code, "%s",
						   refused.message);
			return false;
		}
		if (!refused.op->may_conflict ||
			refused.code != MTS_SERVER_DUPLICATE_KEY)
			round->refused[round->nrefused++] = refused;
	}
	return true;
}

/* mts_bulk_what: the message of its errors */
char *
mts_bulk_what(const MtsBulk *bulk)
{
	return psprintf("could not write to MongoDB collection \"%s.%s\"",
					bulk->database, bulk->collection);
}

/*
 * mts_bulk_is_interrupted
 *		Say whether the server has given up writes in the midst of a command for an
 *		election, with its reason in *error.
 *
 * A mongos tells so of each write by itself.  Whether they were done is open.
 */
bool
mts_bulk_is_interrupted(const bson_t *reply, bson_error_t *error)
{
	bson_iter_t errors, element, field;

	if (!bson_iter_init_find(&errors, reply, "writeErrors") ||
		!BSON_ITER_HOLDS_ARRAY(&errors) ||
		!bson_iter_recurse(&errors, &element))
		return false;
	while (bson_iter_next(&element))
	{
		if (!bson_iter_recurse(&element, &field) ||
			!bson_iter_find(&field, "code") ||
			!mts_attempt_is_election((uint32) bson_iter_as_int64(&field)))
			continue;
		bson_set_error(error, MONGOC_ERROR_SERVER,
					   (uint32) bson_iter_as_int64(&field),
					   "the writes were interrupted");
		return true;
	}
	return false;
}

/*
 * mts_bulk_is_unsure
 *		Say whether a command that failed may have been done all the same, as a
 *		whole or in part.
 */
bool
mts_bulk_is_unsure(const MtsBulk *bulk, const bson_error_t *error)
{
	if (error->domain == MONGOC_ERROR_SERVER ||
		error->domain == MONGOC_ERROR_WRITE_CONCERN)
	{
		for (int i = 0; i < lengthof(interruptions); i++)
			if (interruptions[i] == error->code)
				return error->domain == MONGOC_ERROR_SERVER;
		/* a secondary refuses a command before it begins */
		if (error->domain == MONGOC_ERROR_SERVER &&
			(error->code == 10107 || error->code == 13435))
			return false;
		return mts_attempt_is_election(error->code);
	}
	/* an error of connecting comes before the command is sent */
	return mts_remote_is_lost(bulk->connection, error) &&
		   error->domain != MONGOC_ERROR_SERVER_SELECTION &&
		   !(error->domain == MONGOC_ERROR_STREAM &&
			 (error->code == MONGOC_ERROR_STREAM_CONNECT ||
			  error->code == MONGOC_ERROR_STREAM_NOT_ESTABLISHED ||
			  error->code == MONGOC_ERROR_STREAM_NAME_RESOLUTION));
}

/*
 * mts_bulk_raise_failed
 *		Raise the error of a command that the server has refused as a whole, or
 *		has not answered.
 */
void
mts_bulk_raise_failed(MtsBulk *bulk, const bson_error_t *error)
{
	const char *what = mts_bulk_what(bulk);

	if (error->domain == MONGOC_ERROR_SERVER &&
		error->code == MTS_SERVER_IS_VIEW)
		mts_collections_refuse_view(bulk->database, bulk->collection);
	if (!bulk->is_unsure || bulk->connection->wait.interrupted ||
		bulk->connection->wait.problem)
		mts_remote_raise(bulk->connection, what, error);
	bulk->connection->invalid = true;
	bulk->is_unsure = false;
	ereport(
		ERROR,
		(errcode(ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN), errmsg("%s", what),
		 errdetail("%s\nIt is not known whether the last bulk write%s was "
				   "done.",
				   mts_document_text(
					   mts_remote_explain(bulk->connection, error).message),
				   bulk->in_flight > 0
					   ? psprintf(", of " INT64_FORMAT " points,",
								  bulk->in_flight)
					   : ""),
		 errhint("See what is stored before you run the statement "
				 "again.")));
	pg_unreachable();
}

/* Which buckets were refused for good, for a message */
static char *
name_lost(const MtsRound *round)
{
	StringInfoData names;

	initStringInfo(&names);
	for (int i = 0; i < Min(round->nlost, MAX_NAMED); i++)
	{
		const MtsOp *op = round->lost[i].op;
		const bson_t *doc = op->selector ? op->selector : op->document;
		char *text = mts_document_shell(doc);

		if (strlen(text) > 200)
			strcpy(text + pg_mbcliplen(text, strlen(text), 197), "...");
		appendStringInfo(&names, "%s%s", i > 0 ? ", " : "", text);
	}
	if (round->nlost > MAX_NAMED)
		appendStringInfo(&names, " and %d more", round->nlost - MAX_NAMED);
	return names.data;
}

/*
 * Say how many points were not stored, of so many; empty where their number is
 * not known, as that of a TRUNCATE.
 */
static char *
count_lost(const MtsRound *round, int64 total)
{
	int64 unsent = round->bulk->unsent;
	int64 lost = unsent;

	total += unsent;
	if (total == 0)
		return "";
	for (int i = 0; i < round->nlost; i++)
		lost += round->lost[i].op->npoints;
	return psprintf("\nNot stored: " INT64_FORMAT " of " INT64_FORMAT
					" points of a bulk write, those of %s%s.\n"
					"Stored by this statement: " INT64_FORMAT " points.",
					lost, total, name_lost(round),
					unsent > 0 ? " and of other collections" : "",
					round->bulk->stored + total - lost);
}

/*
 * mts_bulk_raise_lost
 *		Raise the error of what was refused for good, of so many points.
 */
void
mts_bulk_raise_lost(const MtsRound *round, int64 total)
{
	const MtsRefused *first = &round->lost[0];
	MtsMeaning meaning = mts_error_meaning(first->code);

	ereport(ERROR, (errcode(meaning.sqlstate),
					errmsg("%s", mts_bulk_what(round->bulk)),
					errdetail("%s%s", mts_document_text(first->message),
							  count_lost(round, total)),
					meaning.hint ? errhint("%s", meaning.hint) : 0));
	pg_unreachable();
}
