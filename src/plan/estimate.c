/*
 * estimate.c
 *		Estimate the points of a table and of a bucket, and the groups they make.
 *
 * ANALYZE has written it into pg_class, where a document counts as a page, so
 * that reltuples / relpages are the points of a bucket.  Without ANALYZE the
 * server is asked for the number of documents, once in a while, and the layout
 * says how many points fit into one.  Of a rolling set it is always asked for
 * the number of collections.
 *
 * Planning never depends on an answer: EXPLAIN works, and names the query,
 * without a server.  One that fails to answer soon is left alone for as long
 * as its answer would have counted; the query that runs then waits by the
 * timeouts of the uri and raises the error, as if nobody had asked.  Only what
 * makes no client at all, such as a name of a cluster that can't be resolved,
 * is an error here already.
 */
#include "plan/estimate.h"

#include <math.h>

#include "access/sysattr.h"
#include "catalog/pg_statistic.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "storage/block.h"
#include "utils/datum.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/selfuncs.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "driver/connection.h"
#include "driver/command.h"
#include "pushdown/monotonic.h"
#include "table/collections.h"

/* What is assumed where nothing is known */
#define DEFAULT_DOCUMENTS 1000
#define DEFAULT_POINTS 100
#define DEFAULT_FILTER 0.1 /* what the table's filter leaves */

/*
 * Fewer rows are taken for this many: like a local table that is new, the
 * collection may be about to be filled, and plans outlive that.
 */
#define LEAST_ROWS 1000

/* How long an answer counts, in milliseconds */
#define ANSWER_TIME 60000

/* So many collections of a rolling set are counted: they stand for the others */
#define COUNTED 5

/* and no more of them after so many milliseconds */
#define COUNTING_TIME 500

/* Servers, users and collections; a longer name shares the answer of another */
#define KEY_SIZE 320

/* An answer, or with an empty collection: the server failed to give one */
typedef struct Answer
{
	char key[KEY_SIZE]; /* must be first */
	TimestampTz asked;
	double documents;
	double collections;
} Answer;

static HTAB *answers = NULL;

/* A server or a user mapping has changed since. */
static bool answers_are_outdated = false;

/* So many are kept; a session rarely asks for more */
#define MAX_ANSWERS 1000

static double
length_of(MtsSpan span)
{
	return span.usecs + span.days * (double) MTS_DAY +
		   span.months * 30.0 * MTS_DAY;
}

/*
 * mts_estimate_capacity
 *		How many points a full bucket of this layout holds, or a guess.
 */
double
mts_estimate_capacity(const MtsLayout *layout)
{
	double span = length_of(layout->span);

	if (layout->nslots == 0)
		return 1;
	if (layout->max_points > 0)
		return layout->max_points;
	for (int i = layout->nslots - 1; i >= 0; i--)
	{
		double unit = length_of(layout->slots[i]->unit);

		if (unit > 0 && span > 0)
			return Max(span / unit, 1);
	}
	return DEFAULT_POINTS;
}

/* Documents as the pages of pg_class.relpages */
BlockNumber
mts_estimate_pages(double documents)
{
	return (BlockNumber) Min(documents, (double) MaxBlockNumber);
}

static void
outdate_answers(Datum arg, int cacheid, uint32 hash)
{
	answers_are_outdated = true;
}

/* Make room for answers, without those that are outdated or too many. */
static void
prepare_answers(void)
{
	static bool is_registered = false;
	HASHCTL control = {.keysize = KEY_SIZE,
					   .entrysize = sizeof(Answer),
					   .hcxt = TopMemoryContext};

	if (!is_registered)
	{
		CacheRegisterSyscacheCallback(FOREIGNSERVEROID, outdate_answers,
									  (Datum) 0);
		CacheRegisterSyscacheCallback(USERMAPPINGOID, outdate_answers,
									  (Datum) 0);
		is_registered = true;
	}
	if (answers &&
		(answers_are_outdated || hash_get_num_entries(answers) >= MAX_ANSWERS))
	{
		hash_destroy(answers);
		answers = NULL;
	}
	answers_are_outdated = false;
	if (!answers)
		answers = hash_create("mongo_ts_fdw counts", 16, &control,
							  HASH_ELEM | HASH_STRINGS | HASH_CONTEXT);
}

static Answer *
answer_for(Oid serverid, Oid userid, const char *database,
		   const char *collection)
{
	char key[KEY_SIZE];
	Answer *answer;
	bool found;

	snprintf(key, sizeof(key), "%u %u %s.%s", serverid, userid, database,
			 collection);
	answer = hash_search(answers, key, HASH_ENTER, &found);
	if (!found)
		answer->asked = 0; /* never */
	return answer;
}

static bool
is_fresh(const Answer *answer)
{
	return !TimestampDifferenceExceeds(answer->asked, GetCurrentTimestamp(),
									   ANSWER_TIME);
}

/*
 * Count the documents of a table's collections, and those.  False when the
 * server doesn't answer soon.
 */
static bool
try_count(const MtsTable *table, Oid userid, MtsConnection *connection,
		  Answer *answer)
{
	MtsCollections *all = mts_collections_list(table, userid, true);
	int wanted = all ? Min(all->n, COUNTED) : 0;
	TimestampTz begun = GetCurrentTimestamp();
	double sum = 0;
	int asked = 0;

	while (asked < wanted &&
		   (asked == 0 ||
			!TimestampDifferenceExceeds(begun, GetCurrentTimestamp(),
										COUNTING_TIME)))
	{
		/* the first, the last, and between them */
		int n = asked * (all->n - 1) / Max(wanted - 1, 1);
		double documents;

		if (!mts_command_try_count(connection, table->database,
								   all->items[n].name, &documents))
			return false;
		sum += documents;
		asked++;
	}
	if (!all)
		return false;
	answer->documents = asked > 0 ? sum / asked * all->n : 0;
	answer->collections = all->n;
	return true;
}

/*
 * Ask how many documents a collection has.  Cursors that are open on the
 * connection would suffer from a wait that is given up, so nothing is asked
 * then.
 */
static void
ask(const MtsTable *table, Oid userid, Answer *answer, Answer *failure)
{
	MtsConnection *connection = mts_connection_get(table->serverid, userid);

	if (connection->pins > 0)
		return;
	if (try_count(table, userid, connection, answer))
	{
		answer->asked = GetCurrentTimestamp();
		return;
	}
	failure->asked = GetCurrentTimestamp();
	CHECK_FOR_INTERRUPTS();
}

/*
 * The documents of a table's collections, and these, as the server knew them
 * last; NULL when it was never known.
 */
static const Answer *
count_documents(const MtsTable *table, Oid userid)
{
	Answer *failure, *answer;

	prepare_answers();
	failure = answer_for(table->serverid, userid, "", "");
	answer = answer_for(table->serverid, userid, table->database,
						table->collection);
	if (!is_fresh(answer) && !is_fresh(failure))
		ask(table, userid, answer, failure);
	return answer->asked != 0 ? answer : NULL;
}

/*
 * mts_estimate_table
 *		Set how many rows and documents a table has before any condition.
 *
 * Returns the points of a bucket; *collections is how many there are.
 */
double
mts_estimate_table(PlannerInfo *root, RelOptInfo *baserel,
				   const MtsTable *table, double *collections)
{
	Oid userid = mts_plan_user(root, baserel);
	double points = mts_estimate_capacity(&table->layout);
	bool is_analyzed = baserel->tuples > 0 && baserel->pages > 0;
	const Answer *answer = NULL;
	double documents = DEFAULT_DOCUMENTS;

	if (!is_analyzed || table->rolling_name)
		answer =
			count_documents(table, OidIsValid(userid) ? userid : GetUserId());
	*collections = answer ? answer->collections : 1;
	if (is_analyzed)
		return table->layout.nslots == 0 ? 1
										 : baserel->tuples / baserel->pages;
	if (answer)
		documents = answer->documents * (table->filter ? DEFAULT_FILTER : 1);
	documents = Max(documents, ceil(LEAST_ROWS / points));
	baserel->pages = mts_estimate_pages(documents);
	baserel->tuples = documents * points;
	return points;
}

/* ---- Groups --------------------------------------------------------------- */

/*
 * An expression whose only column is the time, and where it is tried.
 *
 * PostgreSQL takes an expression to be as manifold as its column, so that
 * after ANALYZE date_trunc('hour', t) would make a group of every second.
 * Here such an expression, which never goes back, is tried at some times: how
 * long it stays the same, and how long the table's points go on, give the
 * number of its values.
 */
typedef struct Trial
{
	PlannerInfo *root;
	Node *expr;
	Var *time;
	Timestamp first; /* of the table's points, about */
	Timestamp last;
} Trial;

/* Make the time in an expression a constant. */
static Node *
replace_time(Node *node, void *value)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
		return copyObject((Node *) value);
	return expression_tree_mutator(node, replace_time, value);
}

/* The expression's value at a time; NULL when the planner can't tell it */
static Const *
value_at(const Trial *trial, Timestamp t)
{
	Const *time =
		makeConst(trial->time->vartype, -1, InvalidOid, sizeof(int64),
				  TimestampGetDatum(t), false, FLOAT8PASSBYVAL);
	Node *value = estimate_expression_value(trial->root,
											replace_time(trial->expr, time));

	return IsA(value, Const) && !((Const *) value)->constisnull
			   ? (Const *) value
			   : NULL;
}

static bool
is_same(const Const *a, const Const *b)
{
	return datumIsEqual(a->constvalue, b->constvalue, a->constbyval,
						a->constlen);
}

/*
 * A time after t at which the expression has another value, less than twice as
 * far away as the first such time.  false when there is none up to the last
 * point, or the planner can't tell.
 */
static bool
find_change(const Trial *trial, Timestamp *t)
{
	Const *before = value_at(trial, *t);

	for (int64 step = USECS_PER_SEC; before && step <= trial->last - *t;
		 step *= 2)
	{
		Const *after = value_at(trial, *t + step);

		if (!after)
			return false;
		if (!is_same(before, after))
		{
			*t += step;
			return true;
		}
	}
	return false;
}

/*
 * How long the expression stays the same, by a factor of two: a start may lie
 * at the end of a period, but then the next one lies near its beginning.
 */
static double
period_of(const Trial *trial)
{
	Timestamp first = trial->first;
	Timestamp second = first;
	Timestamp third;

	if (!find_change(trial, &second))
		return trial->last - first + 1;
	third = second;
	if (!find_change(trial, &third))
		third = trial->last;
	return Max(second - first, third - second);
}

/* Take from the statistics between which times the points lie. */
static bool
find_extent(Trial *trial)
{
	VariableStatData stats;
	AttStatsSlot slot;
	bool found = false;

	examine_variable(trial->root, (Node *) trial->time, 0, &stats);
	if (HeapTupleIsValid(stats.statsTuple) && stats.acl_ok &&
		get_attstatsslot(&slot, stats.statsTuple, STATISTIC_KIND_HISTOGRAM,
						 InvalidOid, ATTSTATSSLOT_VALUES))
	{
		trial->first = DatumGetTimestamp(slot.values[0]);
		trial->last = DatumGetTimestamp(slot.values[slot.nvalues - 1]);
		found = slot.valuetype == trial->time->vartype &&
				!TIMESTAMP_NOT_FINITE(trial->first) &&
				!TIMESTAMP_NOT_FINITE(trial->last);
		free_attstatsslot(&slot);
	}
	ReleaseVariableStats(stats);
	return found;
}

/* Does an expression look at the time, and at no other column? */
static bool
is_of_time(Node *expr, const Var *time)
{
	Bitmapset *attrs = NULL;

	pull_varattnos(expr, time->varno, &attrs);
	return bms_membership(attrs) == BMS_SINGLETON &&
		   bms_is_member(time->varattno - FirstLowInvalidHeapAttributeNumber,
						 attrs);
}

/* Which share of the table's time do the conditions leave? */
static double
share_of_time(PlannerInfo *root, RelOptInfo *rel, const Var *time)
{
	List *clauses = NIL;
	ListCell *lc;

	foreach (lc, rel->baserestrictinfo)
	{
		RestrictInfo *rinfo = lfirst(lc);

		if (is_of_time((Node *) rinfo->clause, time))
			clauses = lappend(clauses, rinfo);
	}
	return clauselist_selectivity(root, clauses, 0, JOIN_INNER, NULL);
}

/*
 * How many values an expression of time has in a table; 0: unknown.  It is
 * evaluated at times that no point may have, so it must not be able to fail.
 */
static double
count_values(PlannerInfo *root, RelOptInfo *rel, Var *time, Node *expr)
{
	Trial trial = {root, expr, time};
	double length;

	if ((time->vartype != TIMESTAMPTZOID && time->vartype != TIMESTAMPOID) ||
		!mts_monotonic_is(expr, time->varno, time->varattno) ||
		!find_extent(&trial) || !value_at(&trial, trial.first))
		return 0;
	length = (double) trial.last - trial.first;
	return length * share_of_time(root, rel, time) / period_of(&trial) + 1;
}

/*
 * mts_estimate_groups
 *		How many groups the relation's points make.
 */
double
mts_estimate_groups(PlannerInfo *root, RelOptInfo *rel, const MtsTable *table,
					List *exprs)
{
	double times = 1;
	double others = 1;
	List *rest = NIL;
	ListCell *lc;
	int column = table->layout.time_column;
	const MtsAttribute *attribute =
		column < 0 ? NULL : &table->attributes[column];

	foreach (lc, exprs)
	{
		Node *expr = lfirst(lc);
		double n = 0;

		if (attribute && !IsA(expr, Var))
			n = count_values(root, rel,
							 makeVar(rel->relid, column + 1, attribute->typid,
									 attribute->typmod, InvalidOid, 0),
							 expr);
		if (n > 0)
			times = Max(times, n); /* an hour tells the day */
		else
			rest = lappend(rest, expr);
	}
	if (rest)
		others = estimate_num_groups(root, rest, rel->rows, NULL, NULL);
	return clamp_row_est(Min(times * others, rel->rows));
}
