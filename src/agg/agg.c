/*
 * agg.c
 *		Aggregate the points of buckets in groups, and emit a row for each
 *		group.
 *
 * A row has the group's keys and the transition values of its aggregates.  An
 * Agg node above combines them; a group can come more than once.  Groups are
 * collected until all points are read or work_mem is exceeded.
 *
 * A bucket is aggregated in the cheapest of three ways: by its header
 * (agg_header.c), by all its values at once, or point by point.  MongoDB
 * counts documents that are rows, if only their number is wanted
 * (scan/count.c).
 */
#include "agg/agg_private.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "utils/memutils.h"

#include "compat.h"
#include "pushdown/monotonic.h"
#include "scan/count.h"
#include "scan/fdw_private.h"

/* ---- Preparation -------------------------------------------------------- */

/*
 * Tell whether an expression has one value for all points of a bucket or, if
 * its columns are the keys of series, of a series in the bucket.
 */
static bool
is_constant(const MtsBucket *bucket, Node *expr, bool in_series)
{
	const MtsLayout *layout = &bucket->table->layout;
	ListCell *lc;

	foreach (lc, pull_var_clause(expr, 0))
	{
		int column = lfirst_node(Var, lc)->varattno - 1;

		if (column < 0 || column == layout->time_column)
			return false;
		if (layout->columns[column].role == MTS_ROLE_SLOT)
		{
			if (!in_series)
				return false;
		}
		else if (layout->columns[column].container >= 0 &&
				 (!in_series || !mts_bucket_takes_key(bucket, column)))
			return false;
	}
	return true;
}

static bool
is_of_bucket(const MtsBucket *bucket, Node *expr)
{
	return is_constant(bucket, expr, false);
}

static void
init_argument(MtsArgument *argument, Expr *expr)
{
	Var *var = (Var *) expr;

	argument->attribute = -1;
	if (IsA(expr, Var) && var->varattno > 0)
		argument->attribute = var->varattno - 1;
	else
		argument->state = ExecInitExpr(expr, NULL);
}

static void
init_aggregate(MtsAgg *agg, const Aggref *aggref)
{
	MtsAggregate *aggregate = &agg->aggregates[agg->naggregates++];
	ListCell *lc;

	mts_transition_init(&aggregate->transition, aggref, agg->memory);
	aggregate->oid = aggref->aggfnoid;
	aggregate->narguments = list_length(aggref->args);
	aggregate->arguments =
		palloc0(aggregate->narguments * sizeof(MtsArgument));
	foreach (lc, aggref->args)
		init_argument(&aggregate->arguments[foreach_current_index(lc)],
					  lfirst_node(TargetEntry, lc)->expr);
	if (aggref->aggfilter)
	{
		ExprState *filter = ExecInitQual(list_make1(aggref->aggfilter), NULL);

		if (is_of_bucket(agg->scan->bucket, (Node *) aggref->aggfilter))
			aggregate->bucket_filter = filter;
		else
			aggregate->filter = filter;
	}
}

/*
 * Prepare a grouping key.  One whose value changes by steps of time within a
 * bucket is appended to *of_time.
 */
static void
init_key(MtsAgg *agg, Node *expr, Index varno, List **of_time)
{
	MtsGroupKey *key = &agg->keys[agg->nkeys++];
	List *others = NIL;
	bool has_time = false;
	bool is_of_stretch;
	ListCell *lc;

	key->state = ExecInitExpr((Expr *) expr, NULL);
	foreach (lc, pull_var_clause(expr, 0))
	{
		if (agg->time >= 0 && lfirst_node(Var, lc)->varattno == agg->time + 1)
			has_time = true;
		else
			others = lappend(others, lfirst(lc));
	}
	is_of_stretch = has_time &&
					is_of_bucket(agg->scan->bucket, (Node *) others) &&
					mts_monotonic_is_step_function(expr, varno, agg->time + 1);
	if (!is_of_stretch &&
		(has_time || !is_of_bucket(agg->scan->bucket, (Node *) others)))
		agg->has_point_keys = true;
	if (!is_of_stretch &&
		(has_time || !is_constant(agg->scan->bucket, (Node *) others, true)))
		agg->has_value_keys = true;
	if (is_of_stretch)
	{
		key->is_of_time = others == NIL;
		*of_time = lappend(*of_time, expr);
	}
}

/* Prepare the columns of the result, which are keys and aggregates. */
static void
init_columns(MtsAgg *agg, List *output, Index varno, EState *estate)
{
	const MtsTable *table = agg->scan->table;
	List *keys = NIL;
	List *of_time = NIL;
	ListCell *lc;

	agg->ncolumns = list_length(output);
	agg->columns = palloc(agg->ncolumns * sizeof(int));
	agg->keys = palloc0(agg->ncolumns * sizeof(MtsGroupKey));
	agg->aggregates = palloc0(agg->ncolumns * sizeof(MtsAggregate));
	foreach (lc, output)
	{
		int *column = &agg->columns[foreach_current_index(lc)];

		if (IsA(lfirst(lc), Aggref))
		{
			*column = -1 - agg->naggregates;
			init_aggregate(agg, lfirst(lc));
		}
		else
		{
			*column = agg->nkeys;
			init_key(agg, lfirst(lc), varno, &of_time);
			keys = lappend(keys, lfirst(lc));
		}
	}
	if (of_time != NIL)
		agg->stretch =
			mts_stretch_new(of_time, varno, agg->time, table->layout.clock.arg,
							mts_bucket_converter(agg->scan->bucket,
												 table->layout.time_column),
							agg->row->tts_tupleDescriptor, estate);
	mts_agg_init_groups(agg, keys);
}

/* Tell whether a condition is evaluated on words that are read at once. */
static bool
selects_words(const MtsBucket *bucket, const MtsCondition *condition)
{
	int column = condition->column;

	return mts_bucket_output(bucket, column)->kind == MTS_OUTPUT_POINT &&
		   mts_condition_takes_words(condition) &&
		   mts_bucket_takes_words(bucket, column);
}

/*
 * Prepare the conditions, which are in the order of their evaluation.  The
 * first ones are evaluated once for a bucket if they depend on nothing else.
 * If all points of a bucket are read at once, comparisons of their words have
 * been evaluated then.
 */
static void
init_filters(MtsAgg *agg, List *clauses, Index varno)
{
	MtsBucket *bucket = agg->scan->bucket;
	List *of_bucket = NIL;
	List *of_point = NIL;
	List *of_series;
	ListCell *lc;

	foreach (lc, clauses)
	{
		if (of_point == NIL && is_of_bucket(bucket, lfirst(lc)))
			of_bucket = lappend(of_bucket, lfirst(lc));
		else
			of_point = lappend(of_point, lfirst(lc));
	}
	bucket->conditions =
		mts_condition_find(agg->scan->table, varno, of_point, agg->econtext);
	of_series = list_copy(of_point);
	foreach (lc, bucket->conditions)
	{
		const MtsCondition *condition = lfirst(lc);

		if (selects_words(bucket, condition))
			of_series = list_delete_ptr(of_series, condition->clause);
	}
	agg->series_clauses = of_series;
	agg->bucket_filter = ExecInitQual(of_bucket, NULL);
	agg->series_filter = ExecInitQual(of_series, NULL);
	agg->filter = ExecInitQual(of_point, NULL);
}

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
	return kind == MTS_OUTPUT_TIME ||
		   ((kind == MTS_OUTPUT_POINT ||
			 bucket->table->layout.time_kind == MTS_TIME_FLAT) &&
			mts_bucket_takes_words(bucket, attribute));
}

/* Tell whether aggregates can advance by many points of a batch at once. */
static bool
can_read_series(const MtsAgg *agg)
{
	if (!is_constant(agg->scan->bucket, (Node *) agg->series_clauses, true) ||
		agg->has_value_keys || agg->naggregates == 0)
		return false;
	for (int i = 0; i < agg->naggregates; i++)
		if (!advances_by_values(agg->scan->bucket, &agg->aggregates[i]))
			return false;
	return true;
}

/*
 * Prepare to read the points of a bucket by series; false if that is not
 * possible.  The arguments of aggregates and the columns of comparisons are
 * their values, and all other columns their keys.
 */
static bool
init_series(MtsAgg *agg, List *private, Index varno)
{
	MtsBucket *bucket = agg->scan->bucket;
	const MtsLayout *layout = &agg->scan->table->layout;
	bool is_flat = layout->time_kind == MTS_TIME_FLAT;
	bool *is_value = palloc0((layout->ncolumns + 1) * sizeof(bool));
	bool *is_key = palloc0((layout->ncolumns + 1) * sizeof(bool));
	Bitmapset *others = NULL;
	ListCell *lc;

	foreach (lc, list_nth(private, MTS_AGG_OUTPUT))
	{
		Node *node = lfirst(lc);

		if (IsA(node, Aggref))
			node = (Node *) ((Aggref *) node)->aggfilter;
		pull_varattnos(node, varno, &others);
	}
	pull_varattnos(is_flat ? list_nth(private, MTS_AGG_LOCAL)
						   : (Node *) agg->series_clauses,
				   varno, &others);
	for (int i = 0; i < agg->naggregates; i++)
		if (agg->aggregates[i].narguments > 0)
			is_value[agg->aggregates[i].arguments[0].attribute] = true;
	foreach (lc, bucket->conditions)
		if (selects_words(bucket, lfirst(lc)))
			is_value[((MtsCondition *) lfirst(lc))->column] = true;
	if (layout->time_column >= 0)
		is_value[layout->time_column] = false;
	for (int i = 0; i < bucket->noutputs; i++)
	{
		const MtsOutput *output = &bucket->outputs[i];
		int column = output->column;

		is_key[column] =
			output->kind != MTS_OUTPUT_TIME &&
			(is_flat || output->kind != MTS_OUTPUT_BUCKET) &&
			(!is_value[column] ||
			 bms_is_member(column + 1 - FirstLowInvalidHeapAttributeNumber,
						   others));
	}
	return mts_bucket_read_series(bucket, is_value, is_key);
}

/*
 * mts_agg_begin
 *		Prepare the partial aggregation of a plan, and the scan of its points.
 *
 * Nothing is sent to MongoDB yet.
 */
MtsAgg *
mts_agg_begin(ForeignScanState *node, MtsScan **scan)
{
	MtsAgg *agg = palloc0(sizeof(MtsAgg));
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	List *private = list_nth(plan->fdw_private, MTS_PRIVATE_AGG);
	Index varno = intVal(list_nth(private, MTS_AGG_VARNO));
	const MtsTable *table;
	Relation relation;

	/* a worker has not locked the relation yet */
	relation =
		mts_open_relation(node, bms_next_member(mts_scan_relids(plan), -1));
	agg->econtext = CreateExprContext(node->ss.ps.state);
	agg->scan =
		mts_scan_of_plan(node, relation, varno,
						 list_nth(private, MTS_AGG_CLAUSES), agg->econtext);
	*scan = agg->scan;
	table = agg->scan->table;
	agg->row = MakeSingleTupleTableSlot(CreateTupleDescCopy(
											RelationGetDescr(relation)),
										&TTSOpsVirtual);
	agg->econtext->ecxt_scantuple = agg->row;
	agg->time = table->layout.time_column;
	agg->memory =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw groups",
							  ALLOCSET_DEFAULT_SIZES);
	agg->key_memory =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw key",
							  ALLOCSET_SMALL_SIZES);
	init_columns(agg, list_nth(private, MTS_AGG_OUTPUT), varno,
				 node->ss.ps.state);
	init_filters(agg, list_nth(private, MTS_AGG_LOCAL), varno);
	agg->scan->spec.counts_rows = boolVal(list_nth(private, MTS_AGG_COUNTS));
	/* both depend on the columns and the filters */
	agg->reads_series =
		can_read_series(agg) && init_series(agg, private, varno);
	mts_agg_init_headers(agg);
	mts_agg_reset_groups(agg);
	return agg;
}

/* ---- Aggregation -------------------------------------------------------- */

/* Set the arguments of a transition function for the point in the row. */
static void
set_arguments(MtsAgg *agg, const MtsAggregate *aggregate)
{
	NullableDatum *values = &aggregate->transition.transfn->args[1];

	for (int i = 0; i < aggregate->narguments; i++)
	{
		const MtsArgument *argument = &aggregate->arguments[i];

		if (argument->state)
			values[i].value = ExecEvalExpr(argument->state, agg->econtext,
										   &values[i].isnull);
		else
		{
			values[i].value = agg->row->tts_values[argument->attribute];
			values[i].isnull = agg->row->tts_isnull[argument->attribute];
		}
	}
}

/* Advance the current group by the point in the row. */
static void
aggregate_point(MtsAgg *agg)
{
	for (int i = 0; i < agg->naggregates; i++)
	{
		MtsAggregate *aggregate = &agg->aggregates[i];

		if (aggregate->bucket_is_filtered_out ||
			!ExecQual(aggregate->filter, agg->econtext))
			continue;
		set_arguments(agg, aggregate);
		mts_transition_advance(&aggregate->transition, &agg->group[i]);
	}
}

/* Tell whether the rest of the bucket adds nothing to the last group. */
static bool
has_all_groups(const MtsAgg *agg)
{
	return agg->naggregates == 0 && !agg->has_point_keys &&
		   agg->from <= agg->bucket->unfold.earliest &&
		   agg->to >= agg->bucket->unfold.latest;
}

/* Aggregate the points of the bucket one by one. */
static void
aggregate_points(MtsAgg *agg)
{
	bool is_done = false;

	while (!is_done && mts_bucket_next_row(agg->bucket, agg->row))
	{
		MemoryContext old =
			MemoryContextSwitchTo(agg->econtext->ecxt_per_tuple_memory);

		ExecStoreVirtualTuple(agg->row);
		if (mts_agg_point_passes(agg))
		{
			mts_agg_enter_point(agg);
			aggregate_point(agg);
			is_done = has_all_groups(agg);
		}
		ExecClearTuple(agg->row);
		MemoryContextSwitchTo(old);
	}
}

/* Advance an aggregate of the current group by points of the batch. */
static void
advance_by_batch(MtsAgg *agg, int i, int from, int to)
{
	const MtsAggregate *aggregate = &agg->aggregates[i];
	const MtsBucket *bucket = agg->bucket;
	const Datum *values = NULL;
	const bool *missing = NULL;

	if (aggregate->narguments > 0)
		values = mts_bucket_batch_column(
			bucket,
			mts_bucket_output(bucket, aggregate->arguments[0].attribute),
			&missing);
	mts_transition_advance_many(&aggregate->transition, &agg->group[i],
								values ? values + from : NULL,
								missing ? missing + from : NULL, to - from);
}

/*
 * Aggregate points of the batch, up to one whose group may be another one;
 * return that.  They are of one series, or of a bucket without.
 */
static int
aggregate_run(MtsAgg *agg, const MtsBatch *batch, int from, int end)
{
	int to;

	if (!ExecQual(agg->series_filter, agg->econtext))
	{
		agg->scan->counters->removed += end - from;
		return end;
	}
	mts_agg_enter_point(agg);
	to = mts_agg_end_of_run(agg, batch->times, from, end);
	for (int i = 0; i < agg->naggregates; i++)
		if (!agg->aggregates[i].bucket_is_filtered_out)
			advance_by_batch(agg, i, from, to);
	return to;
}

/*
 * Aggregate the points of the bucket by arrays of their values, as far as
 * successive points are in one group.  False if the bucket must be unfolded.
 */
static bool
aggregate_batch(MtsAgg *agg)
{
	MtsBucket *bucket = agg->bucket;
	const MtsBatch *batch =
		agg->reads_series ? mts_bucket_series(bucket) : NULL;
	MemoryContext old;
	int series = 0;
	int end;
	int to;

	if (!batch)
		return false;
	old = MemoryContextSwitchTo(agg->econtext->ecxt_per_tuple_memory);
	end = batch->nkeys > 0 ? 0 : batch->n;
	for (int from = 0; from < batch->n; from = to)
	{
		/* a series can have lost all of its points */
		while (from == end)
		{
			/* all columns of documents are those of buckets */
			if (bucket->reads_documents)
				mts_agg_set_bucket(agg, bucket);
			mts_bucket_enter_series(bucket, series);
			end += batch->series[series++].n;
		}
		bucket->point.time = batch->times[from];
		mts_bucket_fill_row(bucket, batch->times[from], agg->row);
		ExecStoreVirtualTuple(agg->row);
		to = mts_agg_bucket_passes(agg, end - from)
				 ? aggregate_run(agg, batch, from, end)
				 : end;
		ExecClearTuple(agg->row);
	}
	MemoryContextSwitchTo(old);
	bucket->counters->points += batch->n;
	return true;
}

/*
 * Add the numbers of documents that MongoDB counts, a number for each part of
 * the query.  The documents of a part are read if it is not certain of these.
 */
static void
add_counts(MtsAgg *agg)
{
	MtsScan *scan = agg->scan;
	const bson_t *counted;
	int64 n;

	while ((counted = mts_source_next(scan->source)) != NULL)
	{
		if (!mts_count_read(counted, &n))
		{
			scan->spec.counts_rows = false;
			scan->source->repeat_part = scan->source->parallel != NULL;
			mts_scan_reset(scan);
			return;
		}
		scan->counters->points += n;
		for (int i = 0; i < agg->naggregates; i++)
			mts_transition_combine(&agg->aggregates[i].transition,
								   &agg->only[i], Int64GetDatum(n));
	}
}

/* Aggregate until all buckets are read, or the groups exceed work_mem. */
static void
aggregate_buckets(MtsAgg *agg)
{
	Size limit = (Size) work_mem * 1024;
	MtsBucket *bucket;

	mts_scan_prepare(agg->scan);
	if (agg->scan->query->group && agg->scan->query->is_possible)
		add_counts(agg);
	while (mts_agg_next_bucket(agg, &bucket))
	{
		if (bucket && !aggregate_batch(agg))
			aggregate_points(agg);
		if (agg->table && MemoryContextMemAllocated(agg->memory, true) > limit)
			return;
	}
	agg->is_at_end = true;
}

/* ---- Result ------------------------------------------------------------- */

/* Fill the slot with the keys and the transition values of a group. */
static void
fill_slot(MtsAgg *agg, const NullableDatum *group, TupleTableSlot *slot)
{
	MemoryContext old;

	ResetExprContext(agg->econtext);
	old = MemoryContextSwitchTo(agg->econtext->ecxt_per_tuple_memory);
	if (agg->table)
		slot_getallattrs(agg->group_slot);
	for (int i = 0; i < agg->ncolumns; i++)
	{
		int key = agg->columns[i];
		int aggregate = -1 - key;
		NullableDatum value;

		if (key >= 0)
		{
			value.value = agg->group_slot->tts_values[key];
			value.isnull = agg->group_slot->tts_isnull[key];
		}
		else
			value = mts_transition_serialize(
				&agg->aggregates[aggregate].transition, &group[aggregate]);
		slot->tts_values[i] = value.value;
		slot->tts_isnull[i] = value.isnull;
	}
	MemoryContextSwitchTo(old);
	ExecStoreVirtualTuple(slot);
}

/*
 * mts_agg_next
 *		Fill the slot with the next row of the result; empty at the end.
 */
TupleTableSlot *
mts_agg_next(MtsAgg *agg, TupleTableSlot *slot)
{
	ExecClearTuple(slot);
	for (;;)
	{
		const NullableDatum *group;

		if (!agg->is_emitting)
		{
			aggregate_buckets(agg);
			mts_agg_emit_groups(agg);
		}
		group = mts_agg_next_group(agg);
		if (group)
		{
			fill_slot(agg, group, slot);
			return slot;
		}
		if (agg->is_at_end)
			return slot;
		mts_agg_reset_groups(agg);
	}
}

/* mts_agg_reset: begin anew, perhaps with other parameters. */
void
mts_agg_reset(MtsAgg *agg)
{
	mts_agg_reset_headers(agg);
	mts_agg_reset_groups(agg);
	agg->is_at_end = agg->has_emitted = false;
}
