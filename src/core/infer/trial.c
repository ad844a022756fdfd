/*
 * trial.c
 *		Checks a reading by unfolding the samples by it.
 *
 * The code that will read the table unfolds them, so no point may be invalid.
 * Documents that have neither the bucket's time nor a value in a container are
 * excluded: a filter of the table leaves them out.
 */
#include "core/infer/infer_private.h"

#include <string.h>

/*
 * Paths of a layout: the time, the bucket's time, a slot's column, one column
 * of each container, and values
 */
#define MAX_PATHS (3 + MTS_READING_CONTAINERS + MTS_READING_VALUES)

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
	bool ok = mts_remark_path(infer, node, text) &&
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
	MtsLeaves leaves;

	for (int i = 0; i < infer->reading.ncontainers; i++)
	{
		mts_column_leaves(infer, infer->reading.containers[i], &leaves);
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
	layout->clock = *mts_time_field_clock(infer, reading->bucket);
	layout->time_column = 0;
	if (reading->span != MTS_NO_UNIT)
		layout->span = mts_unit_span(reading->span);
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
	if ((reading->is_unpivoted || reading->has_keys) &&
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

/* Unfold one sample; false if a point is invalid, or visit refuses it. */
static bool
unfold_sample(MtsInfer *infer, int sample, Trial *trial, MtsUnfold *unfold,
			  MtsInferPoint visit, void *arg)
{
	MtsPoint point = {.elements = trial->elements};
	MtsUnfolded result = MTS_INVALID;

	if (mts_unfold_start(unfold, infer->survey.samples[sample].bytes,
						 infer->survey.samples[sample].size))
		while ((result = mts_unfold_next(unfold, &point)) == MTS_POINT)
			if (!visit(arg, sample, unfold, &point))
				return false;
	return result == MTS_DONE;
}

/*
 * mts_trial_unfold
 *		Unfold the samples by the reading, and call visit for each point.
 *
 * values are at most MTS_READING_VALUES nodes that are the last columns of the
 * layout, for visit.  Returns false if a sample is invalid or visit returns
 * false.
 */
bool
mts_trial_unfold(MtsInfer *infer, const int *values, int nvalues,
				 MtsInferPoint visit, void *arg)
{
	int ncolumns = 3 + infer->reading.ncontainers + nvalues;
	Trial *trial =
		mts_infer_allocate(infer, 1,
						   sizeof(Trial) + ncolumns * sizeof(MtsColumn));
	MtsRange all = {MTS_TIME_MIN, MTS_TIME_MAX};
	MtsRanges ranges = {1, &all};
	MtsUnfold unfold;
	bool ok = build_layout(infer, trial, values, nvalues);

	infer->nexcluded = 0;
	if (ok)
	{
		mts_unfold_init(&unfold, &trial->layout, &ranges, infer->host->resize);
		for (int i = 0; i < infer->nsamples && ok; i++)
		{
			mts_infer_pause(infer);
			infer->is_excluded[i] = !is_bucket(infer, i);
			infer->nexcluded += infer->is_excluded[i];
			ok = infer->is_excluded[i] ||
				 unfold_sample(infer, i, trial, &unfold, visit, arg);
		}
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
	int inner = reading->slots[reading->nslots - 1].unit;

	found->nsamples += found->last_sample != sample;
	found->last_sample = sample;
	if (reading->time_node < 0 || inner == MTS_NO_UNIT)
		return true;
	for (int i = 0; i < layout->nslots; i++)
		index[i] = point->slots[i].index;
	return mts_layout_slot_time(layout, unfold->start, index, &start) &&
		   mts_clock_step(&layout->clock, start, mts_unit_span(inner), 1,
						  &end) &&
		   point->time >= start && point->time < end;
}

/*
 * mts_trial_holds
 *		Whether the reading holds.
 *
 * At least half of the samples must have points, and none may be invalid.
 */
bool
mts_trial_holds(MtsInfer *infer)
{
	Found found = {0, -1, &infer->reading};
	char dotted[MTS_MAX_PATH];

	return mts_trial_unfold(infer, NULL, 0, is_in_slot, &found) &&
		   found.nsamples > 0 && 2 * found.nsamples >= infer->nsamples &&
		   (infer->nexcluded == 0 ||
			mts_remark_dotted(infer, infer->reading.bucket->node, dotted));
}
