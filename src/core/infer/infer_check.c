/*
 * infer_check.c
 *		Checks a reading by unfolding the samples by it.
 *
 * The code that will read the table unfolds them, so no point may be invalid.
 * Documents that have neither the bucket's time nor a value in a container are
 * excluded: a filter of the table leaves them out.
 */
#include "core/infer/infer_private.h"

#include <stdio.h>
#include <string.h>

/*
 * Paths of a layout: the time, the bucket's time, a slot's column, one column
 * of each container, and values
 */
#define MAX_PATHS (3 + MTS_INFER_CONTAINERS + MTS_INFER_VALUES)

/* The layout of a reading, and its memory */
typedef struct Trial
{
	MtsLayout layout;
	MtsContainer containers[MAX_PATHS];
	MtsElement elements[MAX_PATHS];
	char text[MAX_PATHS * MTS_MAX_PATH];
	size_t used;
	MtsColumn columns[]; /* large, so only as many as the reading has */
} Trial;

static bool
parse_path(MtsInfer *infer, Trial *trial, int node, MtsPath *path)
{
	char text[MTS_MAX_PATH];
	MtsError error;
	bool ok = mts_infer_write_path(infer, node, text) &&
			  mts_path_parse(text, trial->text + trial->used, path, &error);

	trial->used += strlen(text) + 1;
	return ok;
}

/* Add a column for a node, or for the keys of the slot {key} if node is -1. */
static bool
add_column(MtsInfer *infer, Trial *trial, int node, MtsRole role,
		   const char *format)
{
	MtsColumn *column = &trial->columns[trial->layout.ncolumns++];
	MtsError error;

	column->name = "";
	column->role = role;
	if (format && !mts_format_parse(format, &column->format, &error))
		return false;
	if (node >= 0)
		return parse_path(infer, trial, node, &column->path);
	column->name = "key";
	column->path.nsteps = 1;
	column->path.steps[0] =
		(MtsStep){.kind = MTS_STEP_NAME, .name = "key", .len = 3};
	return true;
}

/* Add a column for each container, or for the first leaf of its points. */
static bool
add_containers(MtsInfer *infer, Trial *trial)
{
	MtsInferLeaves leaves;

	for (int i = 0; i < infer->reading.ncontainers; i++)
	{
		mts_infer_collect_leaves(infer, infer->reading.containers[i], &leaves);
		if (!add_column(infer, trial, leaves.nodes[0], MTS_ROLE_VALUE, NULL))
			return false;
	}
	return true;
}

/* Build the layout; false if it could not be declared. */
static bool
build_layout(MtsInfer *infer, Trial *trial, const int *values, int nvalues)
{
	const MtsReading *reading = &infer->reading;
	MtsLayout *layout = &trial->layout;
	bool owns_time = reading->time_node >= 0;
	MtsError error;

	layout->columns = trial->columns;
	layout->containers = trial->containers;
	layout->clock = *mts_infer_field_clock(infer, reading->bucket);
	layout->time_column = 0;
	if (reading->span != MTS_UNIT_NONE)
		layout->span = mts_infer_bucket_span(reading);
	if (!add_column(infer, trial,
					owns_time ? reading->time_node : reading->bucket->node,
					MTS_ROLE_TIME,
					owns_time ? reading->time_format
							  : reading->bucket->format))
		return false;
	if (owns_time && reading->bucket)
	{
		layout->bucket_time.is_set = true;
		if (!parse_path(infer, trial, reading->bucket->node,
						&layout->bucket_time.path) ||
			!mts_format_parse(reading->bucket->format,
							  &layout->bucket_time.format, &error))
			return false;
	}
	if (reading->is_unpivoted &&
		!add_column(infer, trial, -1, MTS_ROLE_KEY, NULL))
		return false;
	if (!add_containers(infer, trial))
		return false;
	for (int i = 0; i < nvalues; i++)
		if (!add_column(infer, trial, values[i], MTS_ROLE_VALUE, NULL))
			return false;
	return mts_layout_build(layout, &error);
}

static bool
is_null(void *arg, const MtsElement *element)
{
	return MTS_TYPE_BIT(element->type) & MTS_NULL_TYPES;
}

/* Whether a sample has the time of a bucket, or values in a container */
static bool
is_bucket(const MtsInfer *infer, int sample)
{
	const MtsReading *reading = &infer->reading;

	if (!reading->bucket || reading->bucket->times[sample] != MTS_TIME_MIN)
		return true;
	for (int i = 0; i < reading->ncontainers; i++)
		if (!mts_survey_visit(&infer->survey, sample, reading->containers[i],
							  is_null, NULL))
			return true;
	return false;
}

/* Unfold one sample.  Returns false, with the reason in why, if that fails. */
static bool
unfold_sample(MtsInfer *infer, int sample, Trial *trial, MtsUnfold *unfold,
			  MtsInferPoint visit, void *arg, char *why)
{
	MtsPoint point = {.elements = trial->elements};
	MtsUnfolded result = MTS_INVALID;

	if (mts_unfold_start(unfold, infer->survey.samples[sample].bytes,
						 infer->survey.samples[sample].size))
		while ((result = mts_unfold_next(unfold, &point)) == MTS_POINT)
			if (!visit(arg, sample, unfold, &point))
			{
				snprintf(why, MTS_INFER_REMARK,
						 "the points' times do not agree with their slots");
				return false;
			}
	if (result == MTS_DONE)
		return true;
	snprintf(why, MTS_INFER_REMARK,
			 "sampled documents are invalid at %.200s (%.200s)",
			 unfold->invalid.where, unfold->invalid.error.detail);
	return false;
}

static bool
unfold_samples(MtsInfer *infer, Trial *trial, MtsUnfold *unfold,
			   MtsInferPoint visit, void *arg, char *why)
{
	infer->nexcluded = 0;
	for (int i = 0; i < infer->nsamples; i++)
	{
		mts_infer_pause(infer);
		infer->is_excluded[i] = !is_bucket(infer, i);
		infer->nexcluded += infer->is_excluded[i];
		if (!infer->is_excluded[i] &&
			!unfold_sample(infer, i, trial, unfold, visit, arg, why))
			return false;
	}
	return true;
}

/*
 * mts_infer_unfold
 *		Unfold the samples by the reading, and call visit for each point.
 *
 * values are at most MTS_INFER_VALUES nodes that are the last columns of the
 * layout, for visit.  Returns false if a sample is invalid or visit returns
 * false, with the reason in why, which has room for MTS_INFER_REMARK bytes.
 */
bool
mts_infer_unfold(MtsInfer *infer, const int *values, int nvalues,
				 MtsInferPoint visit, void *arg, char *why)
{
	int ncolumns = 3 + infer->reading.ncontainers + nvalues;
	size_t size = sizeof(Trial) + ncolumns * sizeof(MtsColumn);
	Trial *trial = infer->host->resize(NULL, size);
	MtsRange all = {MTS_TIME_MIN, MTS_TIME_MAX};
	MtsRanges ranges = {1, &all};
	MtsUnfold unfold;
	bool ok;

	memset(trial, 0, size);
	snprintf(why, MTS_INFER_REMARK, "its paths cannot be declared");
	ok = build_layout(infer, trial, values, nvalues);
	if (ok)
	{
		mts_unfold_init(&unfold, &trial->layout, &ranges, infer->host->resize);
		ok = unfold_samples(infer, trial, &unfold, visit, arg, why);
		mts_unfold_free(&unfold, infer->host->release);
	}
	infer->host->release(trial);
	return ok;
}

/* The samples in which a check finds points */
typedef struct Found
{
	int nsamples;
	int last_sample;
	const MtsReading *reading;
} Found;

/* Whether a point's own time lies in its slot, if it has both */
static bool
is_in_slot(void *arg, int sample, MtsUnfold *unfold, const MtsPoint *point)
{
	Found *found = arg;
	const MtsReading *reading = found->reading;
	const MtsLayout *layout = unfold->layout;
	int64_t index[MTS_MAX_SLOTS];
	MtsTime start, end;
	const MtsInferSlot *inner = &reading->slots[reading->nslots - 1];

	found->nsamples += found->last_sample != sample;
	found->last_sample = sample;
	if (reading->time_node < 0 || inner->unit == MTS_UNIT_NONE)
		return true;
	for (int i = 0; i < layout->nslots; i++)
		index[i] = point->slots[i].index;
	return mts_layout_slot_time(layout, unfold->start, index, &start) &&
		   mts_clock_step(&layout->clock, start, mts_infer_slot_span(inner), 1,
						  &end) &&
		   point->time >= start && point->time < end;
}

/*
 * mts_infer_check
 *		Check that the reading holds.
 *
 * At least half of the samples must have points, and none may be invalid.
 * Returns false with the reason in why.
 */
bool
mts_infer_check(MtsInfer *infer, char *why)
{
	const MtsReading *reading = &infer->reading;
	Found found = {0, -1, reading};
	char dotted[MTS_MAX_PATH];

	if (!mts_infer_unfold(infer, NULL, 0, is_in_slot, &found, why))
		return false;
	if (found.nsamples == 0 || 2 * found.nsamples < infer->nsamples)
	{
		snprintf(why, MTS_INFER_REMARK,
				 "only %d of %d sampled documents hold points", found.nsamples,
				 infer->nsamples);
		return false;
	}
	if (infer->nexcluded == 0 ||
		mts_infer_write_dotted_path(infer, reading->bucket->node, dotted))
		return true;
	snprintf(why, MTS_INFER_REMARK, "%d of %d sampled documents have no time",
			 infer->nexcluded, infer->nsamples);
	return false;
}
