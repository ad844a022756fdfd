/*
 * test_winning_plan.c
 *		Proves that the stages of MongoDB's plans are found, in each form that
 *		a reply can have, and nowhere else.
 */
#include "core/query/winning_plan.h"
#include "tap.h"

static void
append_stage(void *arg, const char *stage, const char *index)
{
	char *text = arg;

	snprintf(text + strlen(text), 256 - strlen(text), "%s%s%s%s",
			 *text ? ", " : "", stage, index ? " " : "", index ? index : "");
}

static void
check(const char *name, const char *want, const char *json)
{
	char got[256] = "";
	bson_error_t error;
	bson_t *reply =
		bson_new_from_json((const uint8_t *) json, (ssize_t) -1, &error);

	if (!reply)
	{
		ok(false, "%s: %s", name, error.message);
		return;
	}
	mts_winning_plan_walk(reply, append_stage, got);
	is_text(got, want, name);
	bson_destroy(reply);
}

#define IXSCAN(name) "{\"stage\": \"IXSCAN\", \"indexName\": \"" name "\"}"
#define COLLSCAN "{\"stage\": \"COLLSCAN\"}"
#define PLAN(winning) \
	"{\"queryPlanner\": {\"winningPlan\": " winning \
	", \"rejectedPlans\": [" IXSCAN("rejected") "]}}"

int
main(void)
{
	check("a scan of the collection", "COLLSCAN", PLAN(COLLSCAN));
	check("an index", "IXSCAN a_1",
		  PLAN("{\"stage\": \"PROJECTION_SIMPLE\", \"inputStage\": "
			   "{\"stage\": \"FETCH\", \"inputStage\": " IXSCAN("a_1") "}}"));
	check("a sort", "SORT, COLLSCAN",
		  PLAN("{\"stage\": \"SORT\", \"inputStage\": " COLLSCAN "}"));
	check("several indexes", "IXSCAN a_1, IXSCAN b_1",
		  PLAN("{\"stage\": \"FETCH\", \"inputStage\": {\"stage\": \"OR\", "
			   "\"inputStages\": [" IXSCAN("a_1") ", " IXSCAN("b_1") "]}}"));
	check(
		"the slot-based engine", "IXSCAN a_1",
		PLAN("{\"queryPlan\": {\"stage\": \"FETCH\", \"inputStage\": " IXSCAN(
			"a_1") "}, \"slotBasedPlan\": {\"stages\": \"[1] filter\"}}"));
	check("a sharded collection", "IXSCAN a_1, COLLSCAN",
		  PLAN(
			  "{\"stage\": \"SHARD_MERGE\", \"shards\": ["
			  "{\"shardName\": \"x\", \"winningPlan\": " IXSCAN(
				  "a_1") "}, {\"shardName\": \"y\", \"winningPlan\": " COLLSCAN
						 "}]}"));
	check("a view", "IXSCAN a_1",
		  "{\"stages\": [{\"$cursor\": " PLAN(
			  IXSCAN("a_1")) "}, {\"$match\": {\"stage\": \"no\"}}]}");
	check(
		"a view of a sharded collection", "COLLSCAN, IXSCAN a_1",
		"{\"shards\": {\"stage\": " PLAN(
			COLLSCAN) ", \"y\": {\"stages\": [{\"$cursor\": " PLAN(IXSCAN("a_1")) "}]}}}");
	check("no collection", "EOF", PLAN("{\"stage\": \"EOF\"}"));
	check("names in filters", "COLLSCAN",
		  "{\"command\": {\"filter\": " COLLSCAN
		  "}, \"queryPlanner\": {\"parsedQuery\": " IXSCAN(
			  "p") ", \"winningPlan\": {\"stage\": \"COLLSCAN\", "
				   "\"filter\": " IXSCAN("f") "}}}");
	check("other types", "",
		  PLAN("{\"stage\": 1, \"inputStage\": \"IXSCAN\", \"shards\": 7}"));
	check("DocumentDB", "",
		  "{\"queryPlanner\": {\"Plan\": {\"Node Type\": \"Seq Scan\"}}}");
	check("no plan", "", "{\"ok\": 1}");
	return tap_done();
}
