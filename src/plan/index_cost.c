/*
 * index_cost.c
 *		Cost the documents and keys that MongoDB examines for a scan.
 *
 * They are those of the index that finds the documents of the pushed clauses
 * with the least keys, perhaps by skipping (scan/index_skip.c), or all
 * documents of the collection.  Without knowledge of the indexes there is no
 * such cost, so that all scans of a relation are compared by the same rule.
 */
#include "plan/index_cost.h"

#include "access/stratnum.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/selfuncs.h"

#include "compat.h"
#include "core/query/index_use.h"
#include "driver/document.h"
#include "table/index.h"
#include "table/statistics.h"

/* A document in a scan of the collection takes MongoDB 2 us, and to send and
 * to open a bucket 24 us. */
#define DOCUMENT_COST (BUCKET_COST / 12)

/* The clauses whose use of an index is described */
typedef struct Search
{
	PlannerInfo *root;
	RelOptInfo *rel;
	List *rinfos;
} Search;

/*
 * mts_index_cost_learn
 *		Find out about the indexes of a relation that can be of use for it.
 */
void
mts_index_cost_learn(PlannerInfo *root, RelOptInfo *rel)
{
	MtsRelInfo *info = rel->fdw_private;
	const MtsKnown *known;

	/* which collections of a set are read is another question */
	if (info->table->rolling_name ||
		(info->pushed == NIL && rel->joininfo == NIL &&
		 !rel->has_eclass_joins))
		return;
	known = mts_index_known(info->table, mts_plan_user(root, rel));
	if (!known->indexes || !known->is_mongodb)
		return;
	info->indexes = mts_document_new();
	bson_concat(info->indexes, known->indexes);
}

/* ---- Uses of fields ----------------------------------------------------- */

static MtsFieldUse
use_of_comparison(PlannerInfo *root, const MtsQual *qual)
{
	MtsFieldUse use = {.is_bounded = true, .has_low = true, .has_high = true};

	if (qual->strategy == BTLessStrategyNumber ||
		qual->strategy == BTLessEqualStrategyNumber)
		use.has_low = false;
	else if (qual->strategy == BTGreaterStrategyNumber ||
			 qual->strategy == BTGreaterEqualStrategyNumber)
		use.has_high = false;
	else if (qual->strategy != BTEqualStrategyNumber)
		return (MtsFieldUse){.nvalues = 0};
	else if (qual->kind == MTS_QUAL_KEY)
		use.nvalues = qual->form == MTS_RIGHT_ARRAY
						  ? mts_array_length(root, (Node *) qual->right)
						  : 1;
	return use;
}

/* Find the bounds that a qual gives a column. */
static MtsFieldUse
use_of(PlannerInfo *root, const MtsQual *qual, int column)
{
	MtsFieldUse use = {.nvalues = 0};
	ListCell *lc;

	switch (qual->kind)
	{
		case MTS_QUAL_AND:
		case MTS_QUAL_OR:
			foreach (lc, qual->args)
			{
				MtsFieldUse one = use_of(root, lfirst(lc), column);

				if (foreach_current_index(lc) == 0)
					use = one;
				else
					use = qual->kind == MTS_QUAL_AND
							  ? mts_index_use_both(use, one)
							  : mts_index_use_either(use, one);
			}
			return use;
		case MTS_QUAL_TIME:
		case MTS_QUAL_KEY_TIME:
		case MTS_QUAL_KEY:
			return qual->column == column ? use_of_comparison(root, qual)
										  : use;
		case MTS_QUAL_PREFIX:
			use.is_bounded = qual->column == column;
			return use;
		case MTS_QUAL_NULL:
			use.is_bounded = qual->column == column;
			use.nvalues = use.is_bounded ? 1 : 0;
			return use;
		default:
			return use;
	}
}

/* An MtsFieldUseFunction by the clauses and the statistics of ANALYZE */
static MtsFieldUse
describe(void *arg, const char *field)
{
	const Search *search = arg;
	const MtsTable *table = ((MtsRelInfo *) search->rel->fdw_private)->table;
	int column = mts_statistics_column(table, field);
	MtsFieldUse use = {.nvalues = 0};
	List *clauses = NIL;
	ListCell *lc;

	if (table->filter)
		use = mts_index_use_bounds(table->filter, field);
	use.share = 1;
	if (column < 0)
		return use;
	foreach (lc, search->rinfos)
	{
		const MtsQual *qual = mts_plan_qual(search->rel, lfirst(lc));
		MtsFieldUse one = qual ? use_of(search->root, qual, column)
							   : (MtsFieldUse){.nvalues = 0};

		if (!one.is_bounded)
			continue;
		use = mts_index_use_both(use, one);
		clauses = lappend(clauses, lfirst(lc));
	}
	if (column == table->layout.time_column)
		use.share = mts_plan_time_share(search->root, search->rel, clauses);
	else
		use.share =
			clauselist_selectivity(search->root, clauses, search->rel->relid,
								   JOIN_INNER, NULL);
	use.ndistinct = column == table->layout.time_column
						? search->rel->pages
						: mts_statistics_distinct(table, column);
	return use;
}

/*
 * mts_index_cost
 *		Cost what MongoDB examines for the buckets that match clauses.
 */
Cost
mts_index_cost(PlannerInfo *root, RelOptInfo *rel, List *rinfos)
{
	const MtsRelInfo *info = rel->fdw_private;
	Search search = {root, rel, rinfos};
	bson_iter_t index;

	if (!info->indexes)
		return 0;
	return mts_index_use_cheapest(info->indexes, rel->pages, describe, &search,
								  &index)
			   .cost *
		   DOCUMENT_COST;
}
