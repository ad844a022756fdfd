/*
 * find.c
 *		The commands that read documents of a collection.
 *
 * A command has neither a read concern nor a collation, because these depend
 * on the server that is selected.
 */
#include "driver/find.h"

#include "miscadmin.h"

#include "driver/command.h"
#include "driver/document.h"
#include "driver/report.h"

/* How long the server may plan a query for EXPLAIN, in milliseconds */
#define OPTIONAL_EXPLAIN_MSECS 500

/* Tell whether a document that may be NULL has fields. */
static bool
has_fields(const bson_t *doc)
{
	return doc && !bson_empty(doc);
}

/*
 * mts_find_stages
 *		Make the array of the stages of an aggregate command; NULL for a find
 *		command.
 *
 * MongoDB skips from value to value in an index that has the sort's fields.
 */
bson_t *
mts_find_stages(const MtsFind *find)
{
	bson_t *stages;

	if (find->stages)
		return (bson_t *) find->stages;
	if (!find->group && !find->first_of)
		return NULL;
	stages = mts_document_new();
	mts_template_push(stages, "{$match: %o}", find->filter);
	if (find->group)
		mts_template_push(stages, "{$group: %o}", find->group);
	else
	{
		mts_template_push(stages, "{$sort: %o}", find->sort);
		mts_template_push(stages,
						  "{$group: {_id: '$%s', first: {$first: '$$ROOT'}}}",
						  find->first_of);
		mts_template_push(stages, "{$replaceRoot: {newRoot: '$first'}}");
		if (has_fields(find->projection))
			mts_template_push(stages, "{$project: %o}", find->projection);
	}
	return stages;
}

/*
 * Tell whether a stage compares documents with a filter, or sorts those of
 * another stage.  A first stage that sorts uses an index, if one has its
 * collation, and any order will do.
 */
static bool
has_comparison(const bson_t *stages)
{
	bson_iter_t iter, stage;

	bson_iter_init(&iter, stages);
	for (int i = 0; bson_iter_next(&iter); i++)
		if (bson_iter_recurse(&iter, &stage) && bson_iter_next(&stage) &&
			(strcmp(bson_iter_key(&stage), "$match") == 0 ||
			 (i > 0 && strcmp(bson_iter_key(&stage), "$sort") == 0)))
			return true;
	return false;
}

/*
 * mts_find_compares_text
 *		Tell whether a command compares text, which is done byte by byte.
 *
 * A query that compares nothing can read a view with another collation.
 */
bool
mts_find_compares_text(const MtsFind *find)
{
	if (find->stages)
		return has_comparison(find->stages);
	return find->first_of || has_fields(find->filter) ||
		   (!find->group && has_fields(find->sort));
}

/* mts_find_command: make the command; the collection is in UTF-8. */
bson_t *
mts_find_command(const MtsFind *find, const char *collection)
{
	const bson_t *stages = mts_find_stages(find);
	bson_t *command = mts_document_new();

	if (stages)
		mts_template_fields(command,
							"{aggregate: %s, pipeline: %a, "
							"cursor: {batchSize: %d}, allowDiskUse: true}",
							collection, stages, find->first_batch);
	else
	{
		mts_template_fields(command, "{find: %s, filter: %o}", collection,
							find->filter);
		if (has_fields(find->projection))
			mts_template_append(command, "projection", "%o", find->projection);
		/* without an index, sorting can exceed the server's limit of memory */
		if (has_fields(find->sort))
			mts_template_fields(command, "{sort: %o, allowDiskUse: true}",
								find->sort);
		if (find->limit > 0)
			mts_template_append(command, "limit", "%i", (int64) find->limit);
		/* one more than the limit, or the server would leave it open */
		mts_template_append(command, "batchSize", "%i",
							(int64) find->first_batch +
								(find->limit > 0 &&
								 find->limit == find->first_batch));
	}
	if (find->raw_data)
		bson_append_bool(command, "rawData", -1, true);
	return command;
}

/* mts_find_begin: begin the attempt to send the command. */
MtsAttempt
mts_find_begin(const MtsFind *find, MtsConnection *connection,
			   const char *database, const char *collection)
{
	char *message = find->message ? pstrdup(find->message)
								  : mts_report_reading(database, collection);
	MtsAttempt attempt =
		mts_attempt_begin(connection, message,
						  find->on_primary ? MTS_FROM_PRIMARY
										   : MTS_FROM_PREFERRED);

	attempt.precedes_write = find->on_primary;
	attempt.relid = find->relid;
	return attempt;
}

/*
 * mts_find_try_explain
 *		Ask for the plan of a query, if the server answers soon; otherwise
 *		returns false.
 *
 * *reply is NULL if the server refuses.  Otherwise it lives as long as the
 * current memory context.  Giving up loses the connection, so that is not done
 * while cursors are open on it.
 */
bool
mts_find_try_explain(const MtsFind *find, MtsConnection *connection,
					 const char *database, const char *collection,
					 const bson_t **reply)
{
	MtsAttempt attempt =
		mts_find_begin(find, connection, database, collection);
	bson_error_t error = {0};
	bool ok;

	/* it is not sent again after an election */
	attempt.precedes_write = attempt.is_repeatable = false;
	if (connection->pins == 0)
		mts_attempt_begin_optional(&attempt);
	do
	{
		bson_t *command =
			mts_find_command(find, mts_document_utf8(collection));

		if (mts_find_compares_text(find))
			mts_attempt_append_collation(&attempt, command);
		command = mts_document_make("{explain: %o, verbosity: 'queryPlanner', "
									"maxTimeMS: %d}",
									command, OPTIONAL_EXPLAIN_MSECS);
		ok = mts_attempt_try_select_server(&attempt, &error) &&
			 mts_command_send(&attempt, database, command, reply, &error);
	} while (!ok && mts_attempt_should_repeat(&attempt, &error));
	mts_attempt_end_optional(&attempt, ok, &error);
	if (!ok)
	{
		*reply = NULL;
		CHECK_FOR_INTERRUPTS();
	}
	return ok || error.domain == MONGOC_ERROR_SERVER;
}
