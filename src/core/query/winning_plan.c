/*
 * winning_plan.c
 *		Find the stages of a plan in MongoDB's reply to the command explain.
 *
 * The stages are nested documents.  What is around them depends on the version
 * of MongoDB and on whether the collection is sharded or a view.  Only keys
 * that lead to stages are followed, because filters can have any keys.
 * DocumentDB's plans have other keys: nothing is found there.
 */
#include "core/query/winning_plan.h"

#include <string.h>

#include "core/bson/element.h"

/* The keys that lead to stages */
static const char *const ways[] = {
	"queryPlanner", "winningPlan", "queryPlan",  "inputStage",
	"inputStages",  "outerStage",  "innerStage", "thenStage",
	"elseStage",    "shards",      "stages",     "$cursor",
};

/* A search for stages */
typedef struct Walk
{
	MtsStageFunction emit;
	void *arg;
} Walk;

static bool
leads_to_stages(const char *key)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strcmp(key, ways[i]) == 0)
			return true;
	return false;
}

/* The text of a field of a document, or NULL */
static const char *
text_of(bson_iter_t doc, const char *key)
{
	return bson_iter_find(&doc, key) && BSON_ITER_HOLDS_UTF8(&doc)
			   ? bson_iter_utf8(&doc, NULL)
			   : NULL;
}

/*
 * Emit the stages in a document or an array; returns false if there are none.
 * A stage is emitted if it sorts, or if it has no input.  any_key follows all
 * keys: indexes of an array, or names of shards.
 */
static bool
walk_stages(const Walk *walk, bson_iter_t doc, bool any_key, int depth)
{
	const char *stage = any_key ? NULL : text_of(doc, "stage");
	const char *index = text_of(doc, "indexName");
	bool sorts = stage && strcmp(stage, "SORT") == 0;
	bool has_input = false;

	if (sorts)
		walk->emit(walk->arg, stage, NULL);
	while (depth < MTS_MAX_DEPTH && bson_iter_next(&doc))
	{
		const char *key = bson_iter_key(&doc);
		bool is_array = BSON_ITER_HOLDS_ARRAY(&doc);
		bson_iter_t below;

		if ((any_key || leads_to_stages(key)) &&
			(is_array || BSON_ITER_HOLDS_DOCUMENT(&doc)) &&
			bson_iter_recurse(&doc, &below))
			has_input |=
				walk_stages(walk, below,
							is_array || strcmp(key, "shards") == 0, depth + 1);
	}
	if (stage && !sorts && !has_input)
		walk->emit(walk->arg, stage, index);
	return stage || has_input;
}

/*
 * mts_winning_plan_walk
 *		Emit the stages that read a collection or an index, and those that
 *		sort, in the order of the reply.
 *
 * A stage can be emitted several times.
 */
void
mts_winning_plan_walk(const bson_t *reply, MtsStageFunction emit, void *arg)
{
	Walk walk = {emit, arg};
	bson_iter_t iter;

	if (bson_iter_init(&iter, reply))
		(void) walk_stages(&walk, iter, false, 0);
}
