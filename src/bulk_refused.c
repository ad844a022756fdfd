/*
 * bulk_refused.c
 *		Which writes has the server refused, and what is said of them?
 */
#include "bulk_private.h"

#include "lib/stringinfo.h"

#include "document.h"
#include "error.h"
#include "view.h"

/* So many buckets are named in a message */
#define MAX_NAMED 3

/*
 * mts_bulk_is_transient
 *		Is a write worth another try?  Two sessions may make the same bucket at
 *		once, or lock it in turn.
 */
bool
mts_bulk_is_transient(const MtsRefused *refused)
{
	switch (refused->code)
	{
		case 11000: /* duplicate key: the bucket is there by now */
			return refused->op->kind == MTS_OP_UPSERT;
		case 112:      /* write conflict */
		case 16908292: /* DocumentDB: deadlock detected */
		case 16777284: /* DocumentDB: could not serialize access */
			return true;
		default:
			return false;
	}
}

/*
 * mts_bulk_note_refused
 *		Note which writes a reply tells to have been refused; false when one
 *		can't be told.
 */
bool
mts_bulk_note_refused(MtsRound *round, const bson_t *reply)
{
	bson_iter_t errors, error, field;

	round->nrefused = 0;
	if (!bson_iter_init_find(&errors, reply, "writeErrors") ||
		!BSON_ITER_HOLDS_ARRAY(&errors) || !bson_iter_recurse(&errors, &error))
		return true;
	while (bson_iter_next(&error))
	{
		MtsRefused refused = {NULL, 0, "no message"};
		int64 index = -1;

		if (!bson_iter_recurse(&error, &field))
			return false;
		while (bson_iter_next(&field))
		{
			if (strcmp(bson_iter_key(&field), "index") == 0)
				index = bson_iter_as_int64(&field);
			else if (strcmp(bson_iter_key(&field), "code") == 0)
				refused.code = (int) bson_iter_as_int64(&field);
			else if (strcmp(bson_iter_key(&field), "errmsg") == 0 &&
					 BSON_ITER_HOLDS_UTF8(&field))
				refused.message = pstrdup(bson_iter_utf8(&field, NULL));
		}
		if (index < 0 || index >= round->n || round->nrefused == round->n)
			return false;
		refused.op = round->ops[index];
		if (!refused.op->may_conflict || refused.code != 11000)
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
			strcpy(text + 197, "...");
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

	if (first->code == MTS_SERVER_IS_VIEW)
		mts_view_refuse(round->bulk->database, round->bulk->collection);
	ereport(ERROR,
			(errcode(meaning.sqlstate),
			 errmsg("%s", mts_bulk_what(round->bulk)),
			 errdetail("%s%s", first->message, count_lost(round, total)),
			 meaning.hint ? errhint("%s", meaning.hint) : 0));
	pg_unreachable();
}
