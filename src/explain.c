/*
 * explain.c
 *		Show a scan's query in the shell's syntax, and its counters.
 *
 * Nothing here names a server's address or a user: a plan holds no secrets.
 */
#include "explain.h"

#include "lib/stringinfo.h"
#include "nodes/nodeFuncs.h"

#include "compat.h"
#include "document.h"
#include "order.h"
#include "plan.h"
#include "scan.h"

/* Does a name need getCollection() in the shell? */
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

/* db.collection, as the shell takes it */
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

static char *
query_text(MtsScan *scan)
{
	const char *collection;
	StringInfoData text;

	if (scan->is_ready && !scan->is_possible)
		return pstrdup("none: no bucket can match");
	collection = mts_explain_first(scan);
	if (!collection)
		return pstrdup("none: no collection of the set has such times");
	initStringInfo(&text);
	appendStringInfoString(&text, mts_explain_collection(collection));
	if (!scan->is_ready)
	{
		appendStringInfoString(
			&text, ".find(...), made when its parameters are known");
		return text.data;
	}
	appendStringInfo(&text, ".find(%s", mts_document_shell(scan->filter));
	if (!bson_empty(scan->projection))
		appendStringInfo(&text, ", %s", mts_document_shell(scan->projection));
	appendStringInfoChar(&text, ')');
	if (!bson_empty(scan->sort))
		appendStringInfo(&text, ".sort(%s)", mts_document_shell(scan->sort));
	return text.data;
}

/* Does an expression have a parameter that has no value yet? */
static bool
is_unknown(Node *node, void *scan)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param) && (((Param *) node)->paramkind == PARAM_EXEC ||
							 ((MtsScan *) scan)->is_generic))
		return true;
	return expression_tree_walker(node, is_unknown, scan);
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

/* Can't a scan's query be known yet? */
bool
mts_explain_is_unknown(const ForeignScanState *node, MtsScan *scan)
{
	return is_unknown((Node *) ((ForeignScan *) node->ss.ps.plan)->fdw_exprs,
					  scan);
}

/* Show a scan's query, as far as it is made, and what it cost. */
void
mts_explain_scan(MtsScan *scan, ExplainState *es)
{
	ExplainPropertyText("MongoDB Query", query_text(scan), es);
	mts_explain_collections(scan, es);
	if (es->analyze)
		explain_counters(&scan->counters, es);
}

/* Name the keys of which a scan gives the first row of each. */
static void
explain_series(const MtsScan *scan, ExplainState *es)
{
	int n = scan->order ? intVal(list_nth(scan->order, MTS_ORDER_SERIES)) : 0;
	List *attributes =
		scan->order ? list_nth(scan->order, MTS_ORDER_ATTRIBUTES) : NIL;
	List *names = NIL;

	for (int i = 0; i < n; i++)
		names =
			lappend(names, get_attname(scan->table->relid,
									   list_nth_int(attributes, i), false));
	if (names)
		ExplainPropertyList("First Row Per", names, es);
}

/*
 * mtsExplainForeignScan
 *		Add the query and, under ANALYZE, the counters.
 *
 * What a subquery gives is not known unless the plan has run, nor are the
 * parameters of a generic plan.
 */
void
mtsExplainForeignScan(ForeignScanState *node, ExplainState *es)
{
	MtsScan *scan = mts_scan_of_state(node);
	bool is_fold = ((Scan *) node->ss.ps.plan)->scanrelid == 0;

	if (is_fold)
		mts_explain_fold(node, es);
	explain_series(scan, es);
	if (!mts_explain_is_unknown(node, scan))
		mts_scan_prepare(scan, node->ss.ps.ps_ExprContext);
	mts_explain_scan(scan, es);
	if (is_fold)
		mts_explain_headers(node, es);
}
