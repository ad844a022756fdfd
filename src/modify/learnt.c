/*
 * learnt.c
 *		Choose which forms of its writes a statement tries, by what became of
 *		earlier ones.
 *
 * What is stored already is not known, and writes that assume it take the
 * server much less time.  If a bucket is new, it is inserted whole.  If its
 * slots are empty, operators store the points and keep the pre-aggregates
 * true, under conditions of their selector (see write_once.c).  Both are safe
 * only where a unique index refuses a second bucket with the same key.
 *
 * The rule: a batch that is large enough assumes that its buckets are new,
 * otherwise that their slots are empty.  The outcome of its first TRIALS
 * writes is awaited.  If most of these were refused, the rest of the batch
 * and a number of batches assume nothing, twice as many after each such
 * trial.  Otherwise, all writes try it until most of a slice are refused.
 *
 * A refused write would abort a transaction block (see xact.c).  There no
 * bucket is inserted whole, and the conditional update does not upsert: if it
 * does not find all buckets, those without conditions follow.
 */
#include "modify/learnt.h"

#include "core/update/new_bucket.h"
#include "core/update/update.h"
#include "core/update/write_once.h"
#include "driver/document.h"
#include "driver/xact.h"
#include "table/index.h"

/*
 * Only a batch with this many points, and on average this many in each bucket,
 * is tried as new buckets.  A bucket counts as POINTS_OF_UPSERT points.  Its
 * upsert takes MongoDB as long as these do.
 */
#define MIN_POINTS 4096
#define MIN_POINTS_PER_BUCKET 4
#define POINTS_OF_UPSERT 64

/* Look for the unique index only if the batch has this many buckets. */
#define MIN_CONDITIONAL 8

/* Buckets that are written to learn whether an assumption holds */
#define TRIALS 32

/* Twice as many batches are sent between two trials, up to 2 ^ this */
#define MAX_REFUSED_TRIALS 6

/*
 * mts_learnt_init
 *		Begin without knowledge, in the current memory context.
 */
void
mts_learnt_init(MtsLearnt *learnt, const MtsTargeting *targeting,
				MtsBulk *bulk)
{
	*learnt = (MtsLearnt){.targeting = targeting,
						  .bulk = bulk,
						  .indexed = mts_document_new()};
}

/* ---- Unique indexes ----------------------------------------------------- */

/*
 * Tell whether a unique index refuses a second bucket with the same key: that
 * on _id, or the table's own.
 */
static bool
is_indexed(MtsLearnt *learnt, const char *collection)
{
	const MtsIdentity *identity = learnt->targeting->identity;
	const MtsBulk *bulk = learnt->bulk;
	bson_iter_t known;
	bson_t *index;
	bool found;

	if (identity->is_id)
		return true;
	if (bson_iter_init_find(&known, learnt->indexed, collection))
		return bson_iter_bool(&known);
	index = mts_document_new();
	(void) mts_index_describe(learnt->targeting->table, identity, index);
	found = bson_has_field(index, "unique") &&
			mts_index_find(bulk->connection, bulk->database, collection, index,
						   NULL);
	bson_append_bool(learnt->indexed, collection, -1, found);
	return found;
}

/* Tell whether writes may assume what is stored. */
static bool
may_assume(MtsLearnt *learnt, List *writes)
{
	ListCell *lc;

	if (!bson_empty(learnt->targeting->identity->others))
		return false;
	foreach (lc, writes)
	{
		const MtsBucketWrite *write = lfirst(lc);

		if (write->is_move || !is_indexed(learnt, write->collection))
			return false;
	}
	return true;
}

/* ---- Refusals ----------------------------------------------------------- */

/*
 * Tell whether writes are logged, and sent again if the server aborts their
 * transaction (see xact.c).
 */
static bool
is_logged(const MtsLearnt *learnt)
{
	return mts_bulk_scope(learnt->bulk) >= MTS_STATEMENT;
}

/* Tell whether a write that assumes too much may be refused. */
static bool
may_be_refused(const MtsLearnt *learnt)
{
	return mts_xact_may_repeat(learnt->bulk->connection) || !is_logged(learnt);
}

/* Tell whether conditions may be tried: refused, or all writes done twice. */
static bool
may_try_once(const MtsLearnt *learnt)
{
	return mts_write_once_may_repeat(&learnt->targeting->table->layout) ||
		   may_be_refused(learnt);
}

/* ---- Batches ------------------------------------------------------------ */

/* Tell whether a batch is large enough to look for new buckets. */
static bool
looks_new(const MtsLayout *layout, int64 nbuckets, int64 npoints)
{
	return npoints >= nbuckets * MIN_POINTS_PER_BUCKET &&
		   npoints + nbuckets * POINTS_OF_UPSERT >= MIN_POINTS &&
		   mts_new_bucket_is_possible(layout);
}

/* Tell whether conditions can spare enough pipelines. */
static bool
looks_once(const MtsTargeting *targeting, int nbuckets)
{
	const MtsLayout *layout = &targeting->table->layout;

	return (nbuckets >= MIN_CONDITIONAL || targeting->identity->is_id) &&
		   (mts_update_needs_pipeline(layout) ||
			targeting->identity->nattributes > 0) &&
		   mts_write_once_suits(layout);
}

/* Try an assumption with a batch that may try it, unless it has to wait. */
static void
set_due(MtsTrial *trial, bool may_try)
{
	trial->is_due = may_try && trial->waiting == 0;
	if (may_try && trial->waiting > 0)
		trial->waiting--;
}

/*
 * mts_learnt_begin_batch
 *		Decide what a batch of writes may assume.  npoints are those of the
 *		batch, also of buckets that still grow.
 */
void
mts_learnt_begin_batch(MtsLearnt *learnt, List *writes, int npoints)
{
	const MtsTargeting *targeting = learnt->targeting;
	int n = list_length(writes);

	set_due(&learnt->new_buckets,
			looks_new(&targeting->table->layout, n, npoints) &&
				may_assume(learnt, writes) && may_be_refused(learnt));
	set_due(&learnt->once, looks_once(targeting, n) && may_try_once(learnt) &&
							   may_assume(learnt, writes));
}

/*
 * mts_learnt_guess
 *		Choose what the next of a batch's nwrites last writes try.
 *
 * In a transaction that is the whole batch, the outcome is not awaited.
 */
MtsGuess
mts_learnt_guess(MtsLearnt *learnt, int nwrites)
{
	MtsGuess guess = {.tried = is_logged(learnt) ? 0 : MTS_TRY_FOUND};
	bool refusable = may_be_refused(learnt);
	MtsTrial *new_buckets = &learnt->new_buckets, *once = &learnt->once;

	if (new_buckets->is_due && new_buckets->waiting == 0 && refusable)
	{
		guess.trial = new_buckets;
		guess.tried |= MTS_TRY_NEW;
	}
	else if (once->is_due && once->waiting == 0 && may_try_once(learnt))
	{
		guess.trial = once;
		guess.tried |= MTS_TRY_ONCE | (refusable ? 0 : MTS_TRY_UNREFUSED);
	}
	if (guess.trial && !guess.trial->is_proven && nwrites > 2 * TRIALS &&
		(mts_bulk_scope(learnt->bulk) == MTS_EACH_WRITE || !refusable))
		guess.most = TRIALS;
	return guess;
}

/*
 * mts_learnt_record
 *		Record what became of the writes of a guess.
 */
void
mts_learnt_record(const MtsGuess *guess, const MtsOp *ops, int nops)
{
	MtsTrial *trial = guess->trial;
	int ntried = 0, nrefused = 0;

	for (int i = 0; i < nops; i++)
	{
		ntried += ops[i].nforms > 1;
		nrefused += ops[i].form > 0;
	}
	if (!trial || ntried == 0)
		return;
	trial->is_proven = nrefused * 2 < ntried;
	if (trial->is_proven)
		trial->refused = 0;
	else
	{
		trial->waiting = 1 << trial->refused;
		trial->refused = Min(trial->refused + 1, MAX_REFUSED_TRIALS);
	}
}
