/*
 * proof.c
 *		Ask MongoDB whether documents contradict what a table declares of their
 *		points.
 *
 * Queries trust what is declared, so it is not enough that it is true of some
 * documents.  MongoDB reads the whole collection for the answer.
 */
#include "table/proof.h"

#include "driver/command.h"
#include "driver/document.h"

/*
 * mts_proof_ask
 *		Compare the documents of a collection with n claims about a layout.
 *
 * filter is option "filter", or NULL.  Of so many random documents if sample
 * is not 0.  Returns a document for mts_counterexample_read, which is empty if
 * there is no document; or NULL if MongoDB has not answered within max_time
 * milliseconds or refuses, which proves nothing.
 */
const bson_t *
mts_proof_ask(MtsConnection *connection, const char *database,
			  const char *collection, const MtsLayout *layout,
			  const bson_t *filter, int sample, const MtsClaim *claims, int n,
			  int max_time)
{
	bson_t *stages = mts_document_new();

	if (filter && !bson_empty(filter))
		mts_template_push(stages, "{$match: %o}", filter);
	if (sample > 0)
		mts_template_push(stages, "{$sample: {size: %d}}", sample);
	mts_counterexample_stages(layout, claims, n, stages);
	return mts_command_try_aggregate(connection, database, collection, stages,
									 max_time);
}
