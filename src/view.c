/*
 * view.c
 *		Raise the error of a write to a view of MongoDB.
 *
 * The server refuses such a write by a code of its own.  Some writes to a view
 * end before they are sent: a view can show a document several times, or
 * without the field that was changed, so what is read again differs from what
 * was read.  So it is with a time-series collection, which is a view of its
 * buckets: its documents can have the same _id.  Only the path of an error asks
 * whether a collection is one of these.
 */
#include "view.h"

#include "document.h"
#include "error.h"
#include "remote.h"

/* mts_view_refuse: raise the error. */
void
mts_view_refuse(const char *database, const char *collection)
{
	MtsMeaning meaning = mts_error_meaning(MTS_SERVER_IS_VIEW);

	ereport(ERROR, (errcode(meaning.sqlstate),
					errmsg("cannot write to MongoDB collection \"%s.%s\" "
						   "because it is a view",
						   database, collection),
					errhint("%s", meaning.hint)));
	pg_unreachable();
}

/* Points are changed by the _id of their document. */
static _Noreturn void
refuse_time_series(const char *database, const char *collection)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("could not change points of MongoDB time-series "
					"collection \"%s.%s\"",
					database, collection),
			 errdetail(
				 "Its documents can have the same _id, and are not found "
				 "again by it as they were read.")));
	pg_unreachable();
}

/*
 * mts_view_check
 *		Raise the error if a collection is a view, or a time-series collection, as
 *		far as the server tells.
 */
void
mts_view_check(MtsConnection *connection, const char *database,
			   const char *collection)
{
	/* with nameOnly, too, the right to list the collections is not required */
	const bson_t *reply = mts_remote_command(
		connection, database, mts_remote_reading(database, collection),
		mts_document_make("{listCollections: 1, "
						  "filter: {name: %s, type: {$ne: 'collection'}}, "
						  "nameOnly: true, authorizedCollections: true}",
						  mts_document_utf8(collection)),
		MTS_RUN_TRY);
	bson_iter_t iter, type;

	if (!reply || !bson_iter_init(&iter, reply) ||
		!bson_iter_find_descendant(&iter, "cursor.firstBatch.0.type", &type) ||
		!BSON_ITER_HOLDS_UTF8(&type))
		return;
	if (strcmp(bson_iter_utf8(&type, NULL), "view") == 0)
		mts_view_refuse(database, collection);
	if (strcmp(bson_iter_utf8(&type, NULL), "timeseries") == 0)
		refuse_time_series(database, collection);
}
