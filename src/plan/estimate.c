/*
 * estimate.c
 *		Estimate the number of points in a table and in a bucket.
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

#include "miscadmin.h"
#include "storage/block.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "driver/command.h"
#include "driver/connection.h"
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
