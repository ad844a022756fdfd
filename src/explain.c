/*
 * explain.c
 *		Show the query of a scan in the syntax of MongoDB's shell, and what the
 *		scan has cost.
 *
 * EXPLAIN shows no address and no user of a server.
 */
#include "explain.h"

#include "access/table.h"
#include "lib/stringinfo.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "core/query/winning_plan.h"
#include "core/update/preaggregate.h"
#include "driver/attempt.h"
#include "driver/document.h"
#include "explain_rollup.h"
#include "fdw_scan.h"
#include "pushdown/sort_order.h"
#include "scan/fdw_private.h"
#include "scan/first_buckets.h"
#include "scan/scan.h"
#include "scan/time_window.h"
#include "table/known.h"
#include "table/native.h"

/* Without VERBOSE, longer lists of names are abbreviated */
#define MAX_NAMED 6

/* Tell whether db.name is valid in the shell. */
static bool
is_plain_name(const char *name)
{
	if (*name >= '0' && *name <= '9')
		return false;
	for (; *name; name++)
		if (!isalnum((unsigned char) *name) && *name != '_')
			return false;
	return true;
}

/* mts_explain_collection: write a collection as the shell does. */
char *
mts_explain_collection(const char *name)
{
	StringInfoData text;

	if (is_plain_name(name))
		return psprintf("db.%s", name);
	initStringInfo(&text);
	appendStringInfoString(&text, "db.getCollection(\"");
	for (; *name; name++)
		appendStringInfo(&text, strchr("\"\\", *name) ? "\\%c" : "%c", *name);
	appendStringInfoString(&text, "\")");
	return text.data;
}

/* Write "a, b (2 of 30)". */
static char *
join_names(List *names, int all, bool is_verbose)
{
	int n = list_length(names);
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; i < n; i++)
	{
		if (!is_verbose && n > MAX_NAMED && i == 2)
		{
			appendStringInfoString(&text, ", ...");
			i = n - 1;
		}
		appendStringInfo(&text, "%s%s", i > 0 ? ", " : "",
						 (char *) list_nth(names, i));
	}
	if (n == 0)
		appendStringInfoString(&text, "none");
	appendStringInfo(&text, " (%d of %d)", n, all);
	return text.data;
}

/*
 * mts_explain_first_collection
 *		Find the collection that a scan reads first; NULL if it reads none.
 *
 * If that collection of a rolling set is not known, the result is the pattern
 * of the names.
 */
const char *
mts_explain_first_collection(const MtsScan *scan)
{
	const MtsTable *table = scan->table;
	List *names;

	if (!table->rolling_name || !scan->query ||
		!mts_source_list_parts(scan->source, true))
		return table->collection;
	names = mts_part_names(scan->source->parts);
	return names ? linitial(names) : NULL;
}

/*
 * Show the collections of a rolling set that a scan would read or, under
 * ANALYZE, has read in any of its loops.
 */
static void
explain_collections(const MtsScan *scan, ExplainState *es)
{
	const MtsBucketSource *source = scan->source;
	int n = list_length(source->collections);
	List *names;

	if (!scan->table->rolling_name || !scan->query ||
		!scan->query->is_possible)
		return;
	if (!source->has_collections)
	{
		ExplainPropertyText("Collections",
							"not known, as MongoDB could not list them", es);
		return;
	}
	/* the leader does not know which collections workers have read */
	names = es->analyze && !scan->shares ? mts_source_read_names(source)
										 : mts_part_names(source->parts);
	if (es->format == EXPLAIN_FORMAT_TEXT)
		ExplainPropertyText("Collections", join_names(names, n, es->verbose),
							es);
	else
	{
		ExplainPropertyList("Collections", names, es);
		ExplainPropertyInteger("Collections in Set", NULL, n, es);
	}
}

/*
 * Find the command that asks for the first buckets of a query.  That of a skip
 * scan is without the keys of a series, unless fixes_keys is set.
 */
static MtsFind
find_of(const MtsQuery *query, bool fixes_keys)
{
	const MtsSortOrder *order = query->order;
	int nkeys = order && fixes_keys ? order->nseries : 0;
	MtsFind find;

	if (order && order->series_direction != 0)
		return mts_first_buckets_find(
			query, mts_sort_order_series_terms(order, Max(nkeys - 1, 0)));
	find = mts_source_find(query);
	if (nkeys > 0)
		find.filter =
			mts_query_restrict(find.filter,
							   mts_sort_order_series_terms(order, nkeys));
	if (query->unsorted_come_first)
		find.filter = mts_query_restrict(find.filter,
										 mts_query_sorted_terms(query, true));
	return find;
}

/* Write a command of a table as the shell does. */
static char *
find_text(const MtsTable *table, const char *collection, MtsFind *find)
{
	const bson_t *stages;
	const char *option = mts_native_is_raw(table) ? ", {rawData: true}" : "";
	bson_iter_t iter;
	bson_t stage;
	StringInfoData text;

	find->filter = mts_query_sent_filter(table, find->filter);
	stages = mts_find_stages(find);
	initStringInfo(&text);
	appendStringInfo(&text, "%s.%s", mts_explain_collection(collection),
					 stages ? "aggregate([" : "find(");
	if (stages)
	{
		bson_iter_init(&iter, stages);
		for (int i = 0; bson_iter_next(&iter); i++)
			if (mts_document_view(&iter, &stage))
				appendStringInfo(&text, "%s%s", i > 0 ? ", " : "",
								 mts_document_shell(&stage));
		appendStringInfo(&text, "]%s)", option);
		return text.data;
	}
	appendStringInfoString(&text, mts_document_shell(find->filter));
	if (!bson_empty(find->projection) || *option)
		appendStringInfo(&text, ", %s", mts_document_shell(find->projection));
	appendStringInfo(&text, "%s)", option);
	if (find->sort && !bson_empty(find->sort))
		appendStringInfo(&text, ".sort(%s)", mts_document_shell(find->sort));
	return text.data;
}

/* Show the index in which MongoDB skips, and the fields that it skips. */
static void
explain_index_skip(const MtsQuery *query, ExplainState *es)
{
	StringInfoData text;
	ListCell *lc;

	if (!query->index)
		return;
	initStringInfo(&text);
	foreach (lc, query->skipped)
		appendStringInfo(&text, "%s%s", text.len > 0 ? ", " : "",
						 (char *) lfirst(lc));
	appendStringInfo(&text, " (index %s)", query->index);
	ExplainPropertyText("Index Skips", text.data, es);
}

/* Show the fields of the index in which windows of time are read. */
static void
explain_windows(const MtsScan *scan, ExplainState *es)
{
	const bson_t *sort = mts_time_window_index(scan->source);
	StringInfoData text;
	bson_iter_t field;

	if (!sort)
		return;
	initStringInfo(&text);
	bson_iter_init(&field, sort);
	while (bson_iter_next(&field))
		appendStringInfo(&text, "%s%s", text.len > 0 ? ", " : "index on ",
						 bson_iter_key(&field));
	ExplainPropertyText("Windows of Time", text.data, es);
}

/* Show another query of a scan, with this filter and no order. */
static void
explain_filter(const MtsScan *scan, const char *label, const char *collection,
			   const bson_t *filter, ExplainState *es)
{
	MtsFind find = mts_source_find(scan->query);

	find.filter = filter;
	find.sort = NULL;
	ExplainPropertyText(label, find_text(scan->table, collection, &find), es);
}

/* mts_explain_query: show the query with this label, or why there is none. */
void
mts_explain_query(const MtsScan *scan, const char *label, ExplainState *es)
{
	const MtsQuery *query = scan->query;
	const char *collection = NULL;
	const char *text;
	MtsFind find;

	if (!query || query->is_possible)
		collection = mts_explain_first_collection(scan);
	if (query && !query->is_possible)
		text = "none: no bucket can match";
	else if (!collection)
		text = "none: no collection of the set has such times";
	else if (!query)
		text = psprintf("%s.find(<runtime parameters>)",
						mts_explain_collection(collection));
	else
	{
		find = find_of(query, false);
		text = find_text(scan->table, collection, &find);
	}
	ExplainPropertyText(label, text, es);
	if (!query || !query->is_possible || !collection)
		return;
	explain_index_skip(query, es);
	explain_windows(scan, es);
	if (query->misfits)
		explain_filter(scan, "MongoDB Query for Other Types", collection,
					   query->misfits, es);
	if (query->unsorted_come_first)
		explain_filter(scan,
					   query->order->extreme
						   ? "MongoDB Query for Other Buckets"
						   : "MongoDB Query for Nulls",
					   collection,
					   mts_query_restrict(query->filter,
										  mts_query_sorted_terms(query,
																 false)),
					   es);
}

/* Tell whether an expression has a parameter without a value. */
static bool
has_unknown(Node *node, void *scan)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param) && (((Param *) node)->paramkind == PARAM_EXEC ||
							 ((MtsScan *) scan)->is_generic))
		return true;
	return expression_tree_walker(node, has_unknown, scan);
}

static void
explain_counters(const MtsCounters *counters, ExplainState *es)
{
	ExplainPropertyInteger("Buckets", NULL, counters->buckets, es);
	ExplainPropertyInteger("Points", NULL, counters->points, es);
	if (counters->skipped > 0 || es->format != EXPLAIN_FORMAT_TEXT)
		ExplainPropertyInteger("Skipped Points", NULL, counters->skipped, es);
	ExplainPropertyInteger("Bytes Received", NULL, counters->bytes, es);
	ExplainPropertyInteger("Round Trips", NULL, counters->round_trips, es);
}

/* Show how the points of buckets were read, unless none were. */
static void
explain_reader(const MtsCounters *counters, ExplainState *es)
{
	const char *reader;

	if (counters->by_columns > 0 && counters->by_points > 0)
		reader = psprintf("columns of " INT64_FORMAT
						  " buckets, points of " INT64_FORMAT,
						  counters->by_columns, counters->by_points);
	else if (counters->by_columns > 0)
		reader = "columns";
	else if (counters->by_points > 0)
		reader = "points";
	else
		return;
	ExplainPropertyText("Reader", reader, es);
}

/*
 * mts_explain_is_known
 *		Tell whether the query of a scan can be made without running the plan.
 *
 * It cannot if it has results of subqueries, or parameters of a generic plan.
 */
bool
mts_explain_is_known(const ForeignScanState *node, MtsScan *scan)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;

	return !has_unknown((Node *) plan->fdw_exprs, scan);
}

/* Add a stage to a List of texts, unless it is there. */
static void
add_stage(void *arg, const char *stage, const char *index)
{
	List **stages = arg;
	char *text = mts_document_text(stage);

	if (index)
		text = psprintf("%s (%s)", text, mts_document_text(index));
	if (!list_member(*stages, makeString(text)))
		*stages = lappend(*stages, makeString(text));
}

/*
 * Show MongoDB's plan of the query that is sent: the scans of indexes or of
 * the collection, and whether it sorts.
 *
 * Nothing is shown if the server refuses, does not answer soon, or has plans
 * of another kind.
 */
static void
explain_server_plan(const MtsScan *scan, ExplainState *es)
{
	const MtsBucketSource *source = scan->source;
	const bson_t *reply = NULL;
	const char *collection;
	StringInfoData text;
	List *stages = NIL;
	ListCell *lc;
	MtsFind find;

	if (!scan->query || !scan->query->is_possible ||
		mts_known_server_is_silent(scan->table->serverid, source->userid))
		return;
	collection = mts_explain_first_collection(scan);
	if (!collection || (scan->table->rolling_name && !source->has_collections))
		return;
	find = find_of(scan->query, true);
	if (!mts_source_try_explain(source, &find, collection, &reply))
		mts_known_record_silence(scan->table->serverid, source->userid);
	if (reply)
		mts_winning_plan_walk(reply, add_stage, &stages);
	if (stages == NIL)
		return;
	initStringInfo(&text);
	foreach (lc, stages)
		appendStringInfo(&text, "%s%s", text.len > 0 ? ", " : "",
						 strVal(lfirst(lc)));
	ExplainPropertyText("MongoDB Plan", text.data, es);
}

/*
 * Show that all reads of the statement see one moment, as far as the session
 * knows without asking the server.
 */
static void
explain_consistency(const MtsScan *scan, ExplainState *es)
{
	const MtsTable *table = scan->table;
	Oid userid = scan->source->userid;
	MtsConnection *connection;

	if (!table->is_consistent ||
		mts_known_server_is_silent(table->serverid, userid))
		return;
	connection = mts_connection_get(table->serverid, userid);
	if (scan->source->in_xact)
		ExplainPropertyText("MongoDB Consistency", "transaction", es);
	else if (mts_attempt_may_read_snapshots(connection, false) &&
			 !mts_snapshot_is_refused(connection,
									  mts_document_utf8(table->database),
									  mts_document_utf8(table->collection)))
		ExplainPropertyText("MongoDB Consistency", "statement", es);
}

/* mts_explain_scan: show the query, if it is made, and the counters. */
void
mts_explain_scan(MtsScan *scan, ExplainState *es)
{
	const MtsTable *table = scan->table;

	if (es->verbose)
		ExplainPropertyText("MongoDB Collection",
							psprintf("%s.%s", table->database,
									 table->collection),
							es);
	mts_explain_query(scan, "MongoDB Query", es);
	if (es->verbose)
	{
		explain_server_plan(scan, es);
		explain_consistency(scan, es);
	}
	explain_collections(scan, es);
	if (es->analyze)
		explain_counters(scan->counters, es);
	if (es->analyze && es->verbose)
		explain_reader(scan->counters, es);
}

/* Show the keys of the series whose first rows a scan returns. */
static void
explain_series(const MtsScan *scan, ExplainState *es)
{
	const MtsSortOrder *order = scan->spec.order;
	List *names = NIL;

	for (int i = 0; order && i < order->nseries + order->nfirst; i++)
		names = lappend(names, get_attname(scan->table->relid,
										   order->keys[i].column + 1, false));
	if (names)
		ExplainPropertyList(order->nfirst > 0 ? "First Rows By"
											  : "Skip Scan Keys",
							names, es);
}

/* Show that the buckets are read in the order of their extremes. */
static void
explain_extremes(const MtsScan *scan, ExplainState *es)
{
	const MtsSortOrder *order = scan->spec.order;

	if (order && order->extreme)
		ExplainPropertyText("Bucket Order",
							psprintf("%s %s first",
									 order->keys[0].descending ? "greatest"
															   : "least",
									 quote_identifier(
										 get_attname(scan->table->relid,
													 order->keys[0].column + 1,
													 false))),
							es);
}

/*
 * Show how a scan reads a native time-series collection, and why not by its
 * buckets.
 */
static void
explain_native(const MtsTable *table, ExplainState *es)
{
	if (table->native)
		ExplainPropertyText("Native Buckets",
							table->native->is_raw ? "read by rawData"
												  : "read from system.buckets",
							es);
	else if (table->native_problem)
		ExplainPropertyText("Native Buckets",
							psprintf("not read: %s", table->native_problem),
							es);
}

/*
 * Change an expression so that ruleutils can deparse it without its plan: its
 * table gets number 1, parameters become external ones, and partial aggregates
 * complete ones.
 */
static bool
detach_from_plan(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
	{
		((Var *) node)->varno = 1;
		((Var *) node)->varnosyn = 0;
		((Var *) node)->varattnosyn = 0;
	}
	if (IsA(node, Aggref))
		((Aggref *) node)->aggsplit = AGGSPLIT_SIMPLE;
	if (IsA(node, Param))
		((Param *) node)->paramkind = PARAM_EXTERN;
	return expression_tree_walker(node, detach_from_plan, context);
}

/* mts_explain_expression: write an expression of a table's columns. */
char *
mts_explain_expression(const MtsTable *table, const Node *expr,
					   bool is_verbose)
{
	Node *detached = copyObjectImpl(expr);

	(void) detach_from_plan(detached, NULL);
	return deparse_expression(detached,
							  deparse_context_for(get_rel_name(table->relid),
												  table->relid),
							  is_verbose, false);
}

/* The relation, with its schema under VERBOSE, and with its alias */
static char *
relation_name(const ForeignScan *plan, Oid relid, ExplainState *es)
{
	int rti = bms_next_member(mts_scan_relids(plan), -1);
	const char *relation = get_rel_name(relid);
	const char *alias = list_nth(es->rtable_names, rti - 1);
	const char *schema = NULL;
	char *name;

	if (es->verbose)
		schema = get_namespace_name_or_temp(get_rel_namespace(relid));
	name = quote_qualified_identifier(schema, relation);
	return alias && strcmp(alias, relation) != 0
			   ? psprintf("%s %s", name, quote_identifier(alias))
			   : name;
}

/* Show the table of a partial aggregate, and its local conditions. */
static void
explain_aggregate(const ForeignScanState *node, const MtsScan *scan,
				  ExplainState *es)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	List *private = list_nth(plan->fdw_private, MTS_PRIVATE_AGG);
	List *clauses = list_nth(private, MTS_AGG_LOCAL);
	const MtsTable *table = scan->table;

	ExplainPropertyText("Relations",
						psprintf("Partial Aggregate on (%s)",
								 relation_name(plan, table->relid, es)),
						es);
	if (clauses == NIL)
		return;
	ExplainPropertyText("Filter",
						mts_explain_expression(table,
											   (Node *) make_ands_explicit(
												   clauses),
											   es->verbose),
						es);
	if (es->analyze)
		ExplainPropertyInteger("Rows Removed by Filter", NULL,
							   scan->counters->removed, es);
}

/* Show how many buckets or parts were aggregated in each way. */
static void
explain_ways(const MtsCounters *counters, ExplainState *es)
{
	static const struct
	{
		const char *label;
		const char *unit;
	} ways[MTS_NWAYS] =
		{[MTS_WAY_COUNT] = {"Aggregated by MongoDB's Count", "parts"},
		 [MTS_WAY_ROLLUPS] = {"Aggregated by Roll-ups", "rows"},
		 [MTS_WAY_PREAGGREGATES] = {"Aggregated by Pre-aggregates", "buckets"},
		 [MTS_WAY_COLUMNS] = {"Aggregated by Columns", "buckets"},
		 [MTS_WAY_POINTS] = {"Aggregated by Points", "buckets"}};

	for (int i = 0; i < MTS_NWAYS; i++)
		if (counters->answered[i] > 0 || es->format != EXPLAIN_FORMAT_TEXT)
			ExplainPropertyInteger(ways[i].label, ways[i].unit,
								   counters->answered[i], es);
}

/* Show why pre-aggregates that a table declares are not used. */
static void
explain_preaggregates(const MtsScan *scan, ExplainState *es)
{
	const MtsQuery *query = scan->query;
	const char *problem =
		query ? query->headers_problem : scan->spec.headers_problem;

	if (problem && (!query || query->is_possible) && !scan->table->native &&
		mts_preaggregate_is_declared(&scan->table->layout))
		ExplainPropertyText("Pre-aggregates",
							psprintf("not used: %s", problem), es);
}

/* mtsExplainForeignScan: show the query and, under ANALYZE, the counters. */
void
mtsExplainForeignScan(ForeignScanState *node, ExplainState *es)
{
	MtsAgg *agg = ((MtsScanNode *) node->fdw_state)->agg;
	MtsScan *scan = ((MtsScanNode *) node->fdw_state)->scan;
	bool is_known = mts_explain_is_known(node, scan);

	if (agg)
		explain_aggregate(node, scan, es);
	mts_explain_rollup_show(node, es);
	explain_series(scan, es);
	explain_extremes(scan, es);
	explain_native(scan->table, es);
	if (is_known)
		mts_scan_prepare(scan);
	mts_explain_scan(scan, es);
	if (agg && es->analyze)
		explain_ways(scan->counters, es);
	explain_preaggregates(scan, es);
}
