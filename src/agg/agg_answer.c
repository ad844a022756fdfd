/*
 * agg_answer.c
 *		Aggregate what is read of buckets, in the cheapest of five ways.
 *
 * The ways are in the table below, from the cheapest one to that which always
 * works.  All have one contract.  A way is asked for each item of its kind, if
 * it is possible for this aggregation.  It adds all points of the item to
 * their groups (yes), or none (no), and then the next way is asked.  Or it
 * says that all is better read again without it (begin again).  If no way
 * answers a header, its bucket is deferred: it is read later, with its points.
 */
#include "agg/agg_answer.h"

#include "executor/executor.h"
#include "optimizer/optimizer.h"
#include "utils/memutils.h"

#include "agg/agg_preaggregate.h"
#include "pushdown/qual.h"
#include "scan/count.h"
#include "scan/fdw_private.h"

/* The number of headers that decide whether headers are of use */
#define SAMPLE 100

struct MtsAnswers
{
	const MtsAggSpec *spec;
	MtsAggInput *input;
	MtsGroups *groups;
	ExprContext *econtext; /* its scan tuple is the row */
	TupleTableSlot *row;
	bool is_possible[MTS_NWAYS];     /* a way, for this aggregation */
	MtsPreaggregates *preaggregates; /* NULL if that way is not possible */
	ExprState *series_filter;        /* conditions on series of points */
	bool groups_are_of_series;       /* the keys of a series decide its group,
									  * and there are no conditions */

	/* if so, by known series of a bucket's batches: the group; or NULL */
	NullableDatum **by_series;
	int nseries;
	const MtsBucket *series_bucket;
	int keys_version;   /* of that bucket */
	int groups_version; /* of the groups */

	bool can_begin_again; /* no group has been emitted */
	int nheaders;         /* that have been read, at most SAMPLE */
	int ndeferred;        /* of these, buckets that were deferred */
};

typedef enum Answer
{
	YES,        /* the item's points have been aggregated */
	NO,         /* not by this way */
	BEGIN_AGAIN /* without this way */
} Answer;

typedef struct Way
{
	MtsAggItem item; /* that it answers */

	/*
	 * prepares the input for the way, after those of the ways before it;
	 * false if the way is impossible for an aggregation.  NULL if there
	 * is nothing to prepare
	 */
	bool (*prepare)(MtsAnswers *answers, List *private);
	Answer (*answer)(MtsAnswers *answers);
} Way;

static bool prepare_count(MtsAnswers *answers, List *private);
static bool prepare_rollups(MtsAnswers *answers, List *private);
static bool prepare_preaggregates(MtsAnswers *answers, List *private);
static bool prepare_columns(MtsAnswers *answers, List *private);

static Answer answer_by_count(MtsAnswers *answers);
static Answer answer_by_rollups(MtsAnswers *answers);
static Answer answer_by_preaggregates(MtsAnswers *answers);
static Answer answer_by_columns(MtsAnswers *answers);
static Answer answer_by_points(MtsAnswers *answers);

static const Way ways[MTS_NWAYS] = {
	/* MongoDB counts documents that are rows, if only their number matters. */
	[MTS_WAY_COUNT] = {MTS_AGG_COUNT, prepare_count, answer_by_count},

	/* The row of a roll-up, which knows that its points are in one group. */
	[MTS_WAY_ROLLUPS] = {MTS_AGG_TOTALS, prepare_rollups, answer_by_rollups},

	/* The pre-aggregates of a bucket, if all its points are in one group. */
	[MTS_WAY_PREAGGREGATES] = {MTS_AGG_HEADER, prepare_preaggregates,
							   answer_by_preaggregates},

	/* The columns of a bucket, by successive points of one group. */
	[MTS_WAY_COLUMNS] = {MTS_AGG_BUCKET, prepare_columns, answer_by_columns},

	/* The points of a bucket, one by one. */
	[MTS_WAY_POINTS] = {MTS_AGG_BUCKET, NULL, answer_by_points},
};

/* ---- By MongoDB's count ------------------------------------------------- */

static bool
prepare_count(MtsAnswers *answers, List *private)
{
	if (!boolVal(list_nth(private, MTS_AGG_COUNTS)))
		return false;
	mts_agg_input_add_counts(answers->input);
	return true;
}

/* Add the number of a part's rows, unless MongoDB is not certain of these. */
static Answer
answer_by_count(MtsAnswers *answers)
{
	const MtsAggSpec *spec = answers->spec;
	NullableDatum *group = answers->groups->table->only;
	int64 n;

	if (!mts_count_read(answers->input->counted, &n))
		return BEGIN_AGAIN;
	answers->input->scan->counters->points += n;
	for (int i = 0; i < spec->naggregates; i++)
		mts_transition_combine(&spec->aggregates[i].transition, &group[i],
							   Int64GetDatum(n));
	return YES;
}

/* ---- By roll-ups -------------------------------------------------------- */

static bool
prepare_rollups(MtsAnswers *answers, List *private)
{
	return answers->input->rollups != NIL;
}

/* Aggregate the points of the row by their totals. */
static void
aggregate_totals(MtsAnswers *answers, const MtsRollupScan *rollup)
{
	const MtsAggSpec *spec = answers->spec;
	MtsGroups *groups = answers->groups;
	const MtsTotals *totals = &rollup->totals;
	const MtsUnfold *unfold = &rollup->scan->bucket->unfold;

	if (!rollup->is_next_in_bucket)
		mts_agg_group_begin_bucket(groups,
								   Min(unfold->earliest, totals->earliest),
								   Max(unfold->latest, totals->latest));
	if (!ExecQual(rollup->filter, answers->econtext) ||
		!mts_agg_group_run_passes(groups, spec->filter, totals->npoints))
		return;
	mts_agg_group_enter_point(groups, totals->earliest);
	for (int i = 0; i < spec->naggregates; i++)
		groups->excludes[i] =
			groups->excludes[i] ||
			!ExecQual(spec->aggregates[i].filter, answers->econtext);
	mts_agg_totals_combine(spec, rollup->required, totals, groups->excludes,
						   groups->group);
}

static Answer
answer_by_rollups(MtsAnswers *answers)
{
	MemoryContext old;

	ResetExprContext(answers->econtext);
	old = MemoryContextSwitchTo(answers->econtext->ecxt_per_tuple_memory);
	aggregate_totals(answers, answers->input->rollup);
	ExecClearTuple(answers->row);
	MemoryContextSwitchTo(old);
	return YES;
}

/* ---- By pre-aggregates -------------------------------------------------- */

/* Find why no bucket can do without its points; NULL if some can. */
static const char *
find_preaggregates(MtsAnswers *answers)
{
	const MtsTable *table = answers->spec->table;
	const char *problem = NULL;

	if (!mts_enable_preaggregates)
		return "mongo_ts_fdw.enable_preaggregates is off";
	if (!table->layout.count.is_set)
		return "option \"count_field\" is not set";
	/* which points are skipped as invalid must not depend on the aggregates */
	if (table->on_invalid == MTS_INVALID_SKIP)
		return "option \"on_invalid\" is \"skip\"";
	if (answers->spec->filter)
		return "a condition is checked for each point";
	if (answers->spec->has_point_keys)
		return "a grouping expression is evaluated for each point";
	answers->preaggregates =
		mts_agg_preaggregate_find(answers->spec, answers->input->scan->bucket,
								  &problem);
	return problem;
}

static bool
prepare_preaggregates(MtsAnswers *answers, List *private)
{
	const char *problem = find_preaggregates(answers);

	if (problem)
		mts_agg_input_refuse_headers(answers->input, problem);
	else
		mts_agg_input_add_headers(answers->input,
								  answers->preaggregates->fields,
								  answers->preaggregates->nfields);
	return !problem;
}

/*
 * Aggregate the points of one series in an interval by their totals.  The row
 * has what the points have in common, and their earliest time.
 */
static Answer
answer_by_totals(MtsAnswers *answers, const MtsTotals *totals)
{
	MtsGroups *groups = answers->groups;
	MtsBucketGroup found;

	if (totals->npoints == 0)
		return YES;
	mts_agg_group_begin_bucket(groups, totals->earliest, totals->latest);
	found = mts_agg_group_enter_bucket(groups, totals->npoints);
	if (found == MTS_BUCKET_IN_GROUP)
		mts_agg_totals_combine(answers->spec, answers->preaggregates->required,
							   totals, groups->excludes, groups->group);
	return found == MTS_BUCKET_UNDECIDED ? NO : YES;
}

/* Aggregate a bucket by its header. */
static Answer
answer_by_header(MtsAnswers *answers)
{
	const MtsBucket *bucket = answers->input->bucket;
	const MtsTotals *totals;
	Answer answer;

	switch (mts_unfold_header_coverage(&bucket->unfold))
	{
		case MTS_COVERED_NONE:
			return YES;
		case MTS_COVERED_SOME:
			return NO;
		case MTS_COVERED_ALL:
			break;
	}
	totals = mts_agg_preaggregate_read(answers->preaggregates, bucket);
	if (!totals ||
		!mts_bucket_fill_row(bucket, totals->earliest, answers->row))
		return NO;
	ExecStoreVirtualTuple(answers->row);
	answer = answer_by_totals(answers, totals);
	ExecClearTuple(answers->row);
	return answer;
}

/*
 * Aggregate a bucket by its header.  Reading a bucket twice takes longer than
 * once.  If most of the first headers do not suffice, headers are of no use.
 */
static Answer
answer_by_preaggregates(MtsAnswers *answers)
{
	MemoryContext old =
		MemoryContextSwitchTo(answers->econtext->ecxt_per_tuple_memory);
	Answer answer = answer_by_header(answers);

	MemoryContextSwitchTo(old);
	if (answers->nheaders == SAMPLE)
		return answer;
	answers->nheaders++;
	if (answer == NO)
		answers->ndeferred++;
	return answers->nheaders == SAMPLE && answers->ndeferred > SAMPLE / 2 &&
				   answers->can_begin_again
			   ? BEGIN_AGAIN
			   : answer;
}

/* ---- By columns --------------------------------------------------------- */

/* Tell whether an aggregate can advance by an array of values. */
static bool
advances_by_values(const MtsBucket *bucket, const MtsAggregate *aggregate)
{
	int attribute;
	MtsOutputKind kind;

	if (aggregate->filter || aggregate->narguments == 0)
		return !aggregate->filter;
	attribute = aggregate->arguments[0].attribute;
	if (aggregate->narguments > 1 || attribute < 0)
		return false;
	kind = mts_bucket_output(bucket, attribute)->kind;
	return kind == MTS_OUTPUT_TIME || kind == MTS_OUTPUT_POINT ||
		   (bucket->table->layout.time_kind == MTS_TIME_FLAT &&
			mts_batch_reader_takes_words(bucket->table, attribute));
}

/* Tell whether a condition is evaluated on values, before there are series. */
static bool
selects_values(const MtsBucket *bucket, const MtsCondition *condition)
{
	return mts_bucket_output(bucket, condition->column)->kind ==
		   MTS_OUTPUT_POINT;
}

/*
 * Have conditions evaluated when points are read at once, and return the
 * clauses that are evaluated for each series.
 */
static List *
init_conditions(MtsAnswers *answers)
{
	const MtsAggSpec *spec = answers->spec;
	MtsBucket *bucket = answers->input->scan->bucket;
	List *clauses = list_copy(spec->point_clauses);
	ListCell *lc;

	/* deferred buckets are read by another scan, without these conditions */
	Assert(!answers->input->deferred_scan || clauses == NIL);
	bucket->spec.conditions =
		mts_condition_find(spec->table, spec->varno, spec->point_clauses,
						   answers->econtext);
	foreach (lc, bucket->spec.conditions)
	{
		const MtsCondition *condition = lfirst(lc);

		if (selects_values(bucket, condition))
			clauses = list_delete_ptr(clauses, condition->clause);
	}
	answers->series_filter = ExecInitQual(clauses, NULL);
	return clauses;
}

/* Find the columns of the keys, and of conditions that groups evaluate. */
static Bitmapset *
find_others(const MtsAggSpec *spec, List *private, List *clauses)
{
	Bitmapset *others = NULL;
	ListCell *lc;

	foreach (lc, list_nth(private, MTS_AGG_OUTPUT))
	{
		Node *node = lfirst(lc);

		if (IsA(node, Aggref))
			node = (Node *) ((Aggref *) node)->aggfilter;
		pull_varattnos(node, spec->varno, &others);
	}
	pull_varattnos((Node *) clauses, spec->varno, &others);
	return others;
}

/*
 * Tell whether the keys of a series decide its group, and no condition is
 * evaluated.
 */
static bool
are_groups_of_series(const MtsAnswers *answers, const bool *is_key)
{
	const MtsAggSpec *spec = answers->spec;
	Bitmapset *columns = NULL;
	int i = -1;

	if (spec->step_exprs != NIL || spec->bucket_filter ||
		answers->series_filter)
		return false;
	for (int n = 0; n < spec->naggregates; n++)
		if (spec->aggregates[n].bucket_filter)
			return false;
	pull_varattnos((Node *) spec->key_exprs, spec->varno, &columns);
	while ((i = bms_next_member(columns, i)) >= 0)
	{
		int attnum = i + FirstLowInvalidHeapAttributeNumber;

		if (attnum <= 0 || !is_key[attnum - 1])
			return false;
	}
	return true;
}

/*
 * Prepare to read the points of a bucket by series.  The arguments of
 * aggregates and the columns of conditions on values have values, and all
 * other columns of points, or of documents that are rows, are their keys.
 */
static bool
init_series(MtsAnswers *answers, const Bitmapset *others)
{
	const MtsAggSpec *spec = answers->spec;
	MtsAggInput *input = answers->input;
	MtsBucket *bucket = input->scan->bucket;
	const MtsScan *other = input->deferred_scan;
	const MtsLayout *layout = &spec->table->layout;
	bool points_are_documents = layout->time_kind == MTS_TIME_FLAT;
	bool *is_value = palloc0((layout->ncolumns + 1) * sizeof(bool));
	bool *is_key = palloc0((layout->ncolumns + 1) * sizeof(bool));
	ListCell *lc;

	for (int i = 0; i < spec->naggregates; i++)
		if (spec->aggregates[i].narguments > 0)
			is_value[spec->aggregates[i].arguments[0].attribute] = true;
	foreach (lc, bucket->spec.conditions)
		if (selects_values(bucket, lfirst(lc)))
			is_value[((MtsCondition *) lfirst(lc))->column] = true;
	if (layout->time_column >= 0)
		is_value[layout->time_column] = false;
	for (int i = 0; i < bucket->noutputs; i++)
	{
		const MtsOutput *output = &bucket->outputs[i];
		int column = output->column;

		is_key[column] =
			output->kind != MTS_OUTPUT_TIME &&
			(points_are_documents || output->kind != MTS_OUTPUT_BUCKET) &&
			(!is_value[column] ||
			 bms_is_member(column + 1 - FirstLowInvalidHeapAttributeNumber,
						   others));
	}
	answers->groups_are_of_series = are_groups_of_series(answers, is_key);
	return mts_batch_reader_init_series(&bucket->by_series, bucket, is_value,
										is_key,
										answers->groups_are_of_series) &&
		   (!other ||
			mts_batch_reader_init_series(&other->bucket->by_series,
										 other->bucket, is_value, is_key,
										 answers->groups_are_of_series));
}

static bool
prepare_columns(MtsAnswers *answers, List *private)
{
	const MtsAggSpec *spec = answers->spec;
	List *clauses = init_conditions(answers);

	if (!mts_agg_spec_is_of_series(spec, (Node *) clauses) ||
		spec->has_value_keys || spec->naggregates == 0)
		return false;
	for (int i = 0; i < spec->naggregates; i++)
		if (!advances_by_values(answers->input->scan->bucket,
								&spec->aggregates[i]))
			return false;
	if (spec->table->layout.time_kind == MTS_TIME_FLAT)
		clauses = list_nth(private, MTS_AGG_LOCAL);
	return init_series(answers, find_others(spec, private, clauses));
}

/* Advance an aggregate of the current group by points at hand. */
static void
advance_by_batch(MtsAnswers *answers, int i, int from, int to)
{
	const MtsAggregate *aggregate = &answers->spec->aggregates[i];
	const MtsBucket *bucket = answers->input->bucket;
	MtsPointValues column = {0};

	if (aggregate->narguments > 0)
		column = *mts_bucket_values(
			bucket,
			mts_bucket_output(bucket, aggregate->arguments[0].attribute));
	mts_transition_advance_many(&aggregate->transition,
								&answers->groups->group[i],
								column.values ? column.values + from : NULL,
								column.missing ? column.missing + from : NULL,
								to - from);
}

/*
 * Aggregate points at hand, up to one whose group may be another one;
 * return that.  They are of one series, or of a bucket without.
 */
static int
aggregate_run(MtsAnswers *answers, const MtsTime *times, int from, int end)
{
	MtsGroups *groups = answers->groups;
	int to;

	if (!mts_agg_group_run_passes(groups, answers->series_filter, end - from))
		return end;
	mts_agg_group_enter_point(groups, times[from]);
	to = mts_agg_group_end_of_run(groups, times, from, end);
	for (int i = 0; i < answers->spec->naggregates; i++)
		if (!groups->excludes[i])
			advance_by_batch(answers, i, from, to);
	return to;
}

/* Make room for the groups of all series that a batch knows. */
static void
reserve_series(MtsAnswers *answers, const MtsBatch *batch)
{
	const MtsBucket *bucket = answers->input->bucket;
	int n = batch->series.known.room;

	if (answers->series_bucket != bucket ||
		answers->keys_version != bucket->by_series.keys.version ||
		answers->groups_version != answers->groups->version)
	{
		answers->series_bucket = bucket;
		answers->keys_version = bucket->by_series.keys.version;
		answers->groups_version = answers->groups->version;
		memset(answers->by_series, 0,
			   answers->nseries * sizeof(NullableDatum *));
	}
	if (answers->nseries >= n)
		return;
	answers->by_series =
		repalloc(answers->by_series, n * sizeof(NullableDatum *));
	memset(answers->by_series + answers->nseries, 0,
		   (n - answers->nseries) * sizeof(NullableDatum *));
	answers->nseries = n;
}

/* Aggregate points of a series, or of a bucket without. */
static void
aggregate_series(MtsAnswers *answers, const MtsTime *times, int from, int end)
{
	while (from < end)
	{
		if (!mts_bucket_fill_row(answers->input->bucket, times[from],
								 answers->row))
			elog(ERROR, "a time was read that cannot be converted");
		ExecStoreVirtualTuple(answers->row);
		from = aggregate_run(answers, times, from, end);
		ExecClearTuple(answers->row);
	}
}

/* Aggregate points of a series whose group may be known. */
static void
aggregate_known(MtsAnswers *answers, const MtsBatch *batch, int series,
				int from, int end)
{
	MtsBucket *bucket = answers->input->bucket;
	MtsGroups *groups = answers->groups;
	NullableDatum **group = NULL;

	if (answers->groups_are_of_series)
		group = &answers->by_series[batch->series.items[series].known];
	if (group && *group)
	{
		groups->group = *group;
		for (int i = 0; i < answers->spec->naggregates; i++)
			advance_by_batch(answers, i, from, end);
		return;
	}
	/* all columns of documents are those of buckets */
	if (bucket->table->layout.time_kind == MTS_TIME_FLAT)
		mts_agg_group_begin_bucket(groups, bucket->unfold.earliest,
								   bucket->unfold.latest);
	mts_bucket_enter_series(bucket, series);
	aggregate_series(answers, batch->times, from, end);
	if (group)
		*group = groups->group;
}

/*
 * Aggregate points that are sorted by series.  If they were documents, each
 * was a bucket; the caller counts one of them as answered.
 */
static void
aggregate_points(MtsAnswers *answers, const MtsPoints *points)
{
	MtsBucket *bucket = answers->input->bucket;
	const MtsBatch *batch = points->series;
	int end = 0;

	mts_agg_group_begin_bucket(answers->groups, bucket->unfold.earliest,
							   bucket->unfold.latest);
	if (answers->groups_are_of_series && batch)
		reserve_series(answers, batch);
	if (!batch)
		aggregate_series(answers, points->times, 0, points->n);
	for (int i = 0; batch && i < batch->series.n; i++)
	{
		int from = end;

		/* a series can have lost all of its points */
		end += batch->series.items[i].n;
		if (end > from)
			aggregate_known(answers, batch, i, from, end);
	}
	if (bucket->table->layout.time_kind == MTS_TIME_FLAT)
		bucket->counters->answered[MTS_WAY_COLUMNS] += points->n - 1;
	mts_bucket_take(bucket, points->n);
}

/* Aggregate a bucket by arrays of its values, if it can be read so. */
static Answer
answer_by_columns(MtsAnswers *answers)
{
	MtsBucket *bucket = answers->input->bucket;
	const MtsPoints *points = mts_bucket_points(bucket);
	MemoryContext old;

	if (!bucket->points.is_sorted)
		return NO;
	if (!points)
		return YES;
	old = MemoryContextSwitchTo(answers->econtext->ecxt_per_tuple_memory);
	aggregate_points(answers, points);
	MemoryContextSwitchTo(old);
	return YES;
}

/* ---- By points ---------------------------------------------------------- */

/* Set the arguments of a transition function for the point in the row. */
static void
set_arguments(MtsAnswers *answers, const MtsAggregate *aggregate)
{
	NullableDatum *values = &aggregate->transition.transfn->args[1];

	for (int i = 0; i < aggregate->narguments; i++)
	{
		const MtsArgument *argument = &aggregate->arguments[i];

		if (argument->state)
			values[i].value = ExecEvalExpr(argument->state, answers->econtext,
										   &values[i].isnull);
		else
		{
			values[i].value = answers->row->tts_values[argument->attribute];
			values[i].isnull = answers->row->tts_isnull[argument->attribute];
		}
	}
}

/* Advance the current group by the point in the row. */
static void
aggregate_point(MtsAnswers *answers)
{
	const MtsAggSpec *spec = answers->spec;
	const MtsGroups *groups = answers->groups;

	for (int i = 0; i < spec->naggregates; i++)
	{
		MtsAggregate *aggregate = &spec->aggregates[i];

		if (groups->excludes[i] ||
			!ExecQual(aggregate->filter, answers->econtext))
			continue;
		set_arguments(answers, aggregate);
		mts_transition_advance(&aggregate->transition, &groups->group[i]);
	}
}

/* Aggregate the points of a bucket as rows. */
static Answer
answer_by_points(MtsAnswers *answers)
{
	MtsBucket *bucket = answers->input->bucket;
	MtsGroups *groups = answers->groups;
	bool is_done = false;

	mts_agg_group_begin_bucket(groups, bucket->unfold.earliest,
							   bucket->unfold.latest);
	while (!is_done && mts_bucket_next_row(bucket, answers->row))
	{
		MemoryContext old;

		ResetExprContext(answers->econtext);
		old = MemoryContextSwitchTo(answers->econtext->ecxt_per_tuple_memory);
		ExecStoreVirtualTuple(answers->row);
		if (mts_agg_group_run_passes(groups, answers->spec->filter, 1))
		{
			mts_agg_group_enter_point(groups, mts_bucket_time(bucket));
			aggregate_point(answers);
			/* without aggregates, more points of a group add nothing */
			is_done = answers->spec->naggregates == 0 &&
					  mts_agg_group_has_whole_bucket(groups);
		}
		ExecClearTuple(answers->row);
		MemoryContextSwitchTo(old);
	}
	return YES;
}

/* ---- All ways ----------------------------------------------------------- */

/*
 * mts_agg_answer_new
 *		Prepare the ways that are possible for an aggregation.
 *
 * private is the plan's: see MtsAggPrivate.
 */
MtsAnswers *
mts_agg_answer_new(const MtsAggSpec *spec, List *private, MtsAggInput *input,
				   MtsGroups *groups, ExprContext *econtext)
{
	MtsAnswers *answers = palloc0(sizeof(MtsAnswers));

	answers->spec = spec;
	answers->input = input;
	answers->groups = groups;
	answers->econtext = econtext;
	answers->row = econtext->ecxt_scantuple;
	answers->by_series = palloc(sizeof(NullableDatum *));
	for (int i = 0; i < MTS_NWAYS; i++)
		answers->is_possible[i] =
			!ways[i].prepare || ways[i].prepare(answers, private);
	return answers;
}

/* Begin again without items; this is the only restart of an aggregation. */
static void
begin_again(MtsAnswers *answers, MtsAggItem without)
{
	mts_agg_group_clear(answers->groups);
	mts_agg_input_begin_again(answers->input, without);
}

/* Read all again, since a roll-up has changed while it was read. */
static void
read_again(MtsAnswers *answers)
{
	if (!answers->can_begin_again)
		ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
						errmsg("a roll-up was refreshed while it was read"),
						errhint("Repeat the statement.")));
	begin_again(answers, MTS_AGG_CHANGE);
}

/* Aggregate the current item by the first way that can. */
static void
answer_item(MtsAnswers *answers, MtsAggItem item)
{
	for (int i = 0; i < MTS_NWAYS; i++)
	{
		if (ways[i].item != item || !answers->is_possible[i])
			continue;
		switch (ways[i].answer(answers))
		{
			case YES:
				answers->input->scan->counters->answered[i]++;
				return;
			case NO:
				continue;
			case BEGIN_AGAIN:
				begin_again(answers, ways[i].item);
				return;
		}
	}
	mts_agg_input_defer(answers->input);
}

/*
 * mts_agg_answer_next
 *		Read the next item and aggregate it; false at the end.
 *
 * The aggregation can begin again as long as no group has been emitted.
 */
bool
mts_agg_answer_next(MtsAnswers *answers, bool can_begin_again)
{
	MtsAggItem item = mts_agg_input_next(answers->input);

	if (item == MTS_AGG_END)
		return false;
	answers->can_begin_again = can_begin_again;
	if (item == MTS_AGG_CHANGE)
		read_again(answers);
	else
		answer_item(answers, item);
	return true;
}

/* mts_agg_answer_reset: begin anew, perhaps with other parameters. */
void
mts_agg_answer_reset(MtsAnswers *answers)
{
	answers->nheaders = answers->ndeferred = 0;
	mts_agg_input_reset(answers->input);
	mts_agg_group_clear(answers->groups);
}
