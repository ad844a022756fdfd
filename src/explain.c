/*
 * explain.c
 *		Show a scan's query in the shell's syntax, and its counters.
 *
 * Nothing here names a server's address or a user: a plan holds no secrets.
 */
#include "explain.h"

#include "lib/stringinfo.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

#include "compat.h"
#include "driver/document.h"
#include "fdw_scan.h"
#include "pushdown/sort_order.h"
#include "scan/fdw_private.h"
#include "scan/rolling.h"
#include "scan/scan.h"

/* More names than this are not listed unless EXPLAIN is VERBOSE */
#define MAX_NAMED 6

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

/* The collections that are read, in this order */
static List *
name_chosen(const MtsRolling *rolling)
{
	List *names = NIL;

	for (int i = 0; i < rolling->nchosen; i++)
		names = lappend(names, (char *) rolling->chosen[i]->name);
	return names;
}

/* The same of a scan that has run, perhaps several times */
static List *
name_read(const MtsRolling *rolling)
{
	List *names = NIL;

	for (int i = 0; i < rolling->all->n; i++)
		if (rolling->was_read[i])
			names = lappend(names, (char *) rolling->all->items[i].name);
	return names;
}

/* a, b (2 of 30) */
static char *
describe(List *names, int all, bool is_verbose)
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
 * mts_explain_first
 *		The collection that a scan reads first; NULL when it reads none.
 *
 * Of a set the pattern, where more is not known.
 */
const char *
mts_explain_first(const MtsScan *scan)
{
	const MtsRolling *rolling = scan->source->rolling;

	if (!rolling || !scan->query || !mts_rolling_choose(scan->source, true))
		return scan->table->collection;
	return rolling->nchosen > 0 ? rolling->chosen[0]->name : NULL;
}

/*
 * Name the collections of a set that a scan reads.  Without ANALYZE those are
 * the ones that it would read, which takes a list of all; under ANALYZE those
 * that it has asked, in any of its loops.
 */
static void
explain_collections(const MtsScan *scan, ExplainState *es)
{
	const MtsRolling *rolling = scan->source->rolling;
	List *names;

	if (!rolling || !scan->query || !scan->query->is_possible)
		return;
	if (!rolling->all)
	{
		ExplainPropertyText("Collections",
							"not known, as MongoDB could not list them", es);
		return;
	}
	/* workers have read the others */
	names = es->analyze && !scan->source->parts ? name_read(rolling)
												: name_chosen(rolling);
	if (es->format == EXPLAIN_FORMAT_TEXT)
		ExplainPropertyText("Collections",
							describe(names, rolling->all->n, es->verbose), es);
	else
	{
		ExplainPropertyList("Collections", names, es);
		ExplainPropertyInteger("Collections in Set", NULL, rolling->all->n,
							   es);
	}
}

static char *
query_text(MtsScan *scan)
{
	const char *collection;
	StringInfoData text;

	if (scan->query && !scan->query->is_possible)
		return pstrdup("none: no bucket can match");
	collection = mts_explain_first(scan);
	if (!collection)
		return pstrdup("none: no collection of the set has such times");
	initStringInfo(&text);
	appendStringInfoString(&text, mts_explain_collection(collection));
	if (!scan->query)
	{
		appendStringInfoString(
			&text, ".find(...), made when its parameters are known");
		return text.data;
	}
	appendStringInfo(&text, ".find(%s",
					 mts_document_shell(scan->query->filter));
	if (!bson_empty(scan->query->projection))
		appendStringInfo(&text, ", %s",
						 mts_document_shell(scan->query->projection));
	appendStringInfoChar(&text, ')');
	if (!bson_empty(scan->query->sort))
		appendStringInfo(&text, ".sort(%s)",
						 mts_document_shell(scan->query->sort));
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
	explain_collections(scan, es);
	if (es->analyze)
		explain_counters(scan->counters, es);
}

/* Name the keys of which a scan gives the first row of each. */
static void
explain_series(const MtsScan *scan, ExplainState *es)
{
	const MtsSortOrder *order = scan->spec.order;
	List *names = NIL;

	for (int i = 0; order && i < order->nseries; i++)
		names = lappend(names, get_attname(scan->table->relid,
										   order->keys[i].column + 1, false));
	if (names)
		ExplainPropertyList("First Row Per", names, es);
}

/*
 * Make an expression one over a table alone, as ruleutils takes it: the table
 * has number 1, and a parameter, which has no plan around it, a number.
 */
static bool
detach(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
	{
		((Var *) node)->varno = 1;
		((Var *) node)->varnosyn = 0;
		((Var *) node)->varattnosyn = 0;
	}
	if (IsA(node, Param))
		((Param *) node)->paramkind = PARAM_EXTERN;
	return expression_tree_walker(node, detach, context);
}

static char *
clauses_text(const MtsTable *table, List *clauses, bool is_verbose)
{
	Node *all = (Node *) make_ands_explicit(copyObject(clauses));

	(void) detach(all, NULL);
	return deparse_expression(all,
							  deparse_context_for(get_rel_name(table->relid),
												  table->relid),
							  is_verbose, false);
}

/* The relation, with its schema under VERBOSE, and its alias if it has one */
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

/* Show the table of a partial aggregation and the conditions that stay here. */
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
	ExplainPropertyText("Filter", clauses_text(table, clauses, es->verbose),
						es);
	if (es->analyze)
		ExplainPropertyInteger("Rows Removed by Filter", NULL,
							   scan->counters->removed, es);
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
	MtsScan *scan = ((MtsScanNode *) node->fdw_state)->scan;
	bool is_aggregate = ((Scan *) node->ss.ps.plan)->scanrelid == 0;

	if (is_aggregate)
		explain_aggregate(node, scan, es);
	explain_series(scan, es);
	if (!mts_explain_is_unknown(node, scan))
		mts_scan_prepare(scan);
	mts_explain_scan(scan, es);
	if (es->analyze && scan->query &&
		scan->query->content == MTS_CONTENT_HEADERS)
		ExplainPropertyInteger("Pre-aggregates", "buckets",
							   scan->counters->answered, es);
}
