/*
 * trial.c
 *		Checks a reading by unfolding the samples by its declaration.
 *
 * The code that will read the table unfolds them, so no point may be invalid.
 * Documents that have neither the bucket's time nor a value in a container are
 * excluded: a filter of the table leaves them out.
 */
#include "advice/infer/infer_private.h"
#include "advice/infer/trial.h"

#include <string.h>

static bool
parse_path(const MtsArena *arena, const char *text, MtsPath *path)
{
	MtsError error;

	return mts_path_parse(text, mts_arena_allocate(arena, strlen(text) + 1),
						  path, &error);
}

static bool
parse_format(const char *text, MtsFormat *format)
{
	MtsError error;

	return mts_format_parse(text[0] ? text : "date", format, &error);
}

/* Read a field of buckets that is declared, with its format. */
static bool
parse_field(const MtsArena *arena, const char *text, const char *format,
			MtsField *field)
{
	field->is_set = text[0] != '\0';
	return !field->is_set || (parse_path(arena, text, &field->path) &&
							  parse_format(format, &field->format));
}

/* Build a column; one without a field is the time, the keys of a slot. */
static bool
build_column(const MtsArena *arena, const MtsInferColumn *declared,
			 MtsColumn *column)
{
	column->name = declared->name;
	column->role =
		declared->role == MTS_ROLE_SLOT ? MTS_ROLE_KEY : declared->role;
	column->may_be_nan = declared->type == MTS_INFER_DOUBLE ||
						 declared->type == MTS_INFER_NUMERIC;
	if (declared->missing[0])
		column->missing = (MtsMissing){strcmp(declared->missing, "null") == 0
										   ? MTS_MISSING_NULL
										   : MTS_MISSING_TEXT,
									   0, declared->missing};
	return parse_format(declared->format, &column->format) &&
		   parse_path(arena,
					  declared->field[0] ? declared->field : declared->name,
					  &column->path) &&
		   parse_field(arena, declared->sum, "", &column->sum) &&
		   parse_field(arena, declared->min, "", &column->min) &&
		   parse_field(arena, declared->max, "", &column->max);
}

/*
 * mts_trial_build
 *		Build the layout of a declaration; false if it could not be declared.
 */
bool
mts_trial_build(const MtsInferred *table, const MtsClock *clock,
				const MtsArena *arena, MtsLayout *layout)
{
	int n = table->ncolumns;
	const char *bound = table->bucket_format;
	MtsError error;

	memset(layout, 0, sizeof(*layout));
	layout->columns = mts_arena_allocate(arena, (n + 1) * sizeof(MtsColumn));
	memset(layout->columns, 0, n * sizeof(MtsColumn));
	layout->containers =
		mts_arena_allocate(arena, (n + 1) * sizeof(MtsContainer));
	layout->clock = *clock;
	layout->slots_are_local = table->slots_are_local;
	layout->truncate = true; /* whether times are finer is found later */
	layout->ncolumns = n;
	layout->time_column = -1;
	layout->span = table->span;
	for (int i = 0; i < n; i++)
	{
		const MtsInferColumn *column = &table->columns[i];

		if (!build_column(arena, column, &layout->columns[i]))
			return false;
		if (column->role != MTS_ROLE_TIME)
			continue;
		layout->time_column = i;
		/* others count from the bucket's time */
		if (!mts_time_field_is_relative(column->format))
			bound = column->format;
	}
	return parse_field(arena, table->bucket_time, table->bucket_format,
					   &layout->bucket_time) &&
		   parse_field(arena, table->first, bound, &layout->first) &&
		   parse_field(arena, table->last, bound, &layout->last) &&
		   parse_field(arena, table->count, "", &layout->count) &&
		   mts_layout_build(layout, &error);
}

/* Whether a sample has the time of a bucket, or values in a container */
static bool
is_bucket(const MtsInfer *infer, int sample)
{
	const MtsReading *reading = &infer->reading;
	MtsSurveyScan scan;

	if (!reading->bucket || reading->bucket->times[sample] != MTS_TIME_MIN)
		return true;
	for (int i = 0; i < reading->ncontainers; i++)
	{
		scan = mts_survey_scan(&infer->survey, reading->containers[i], sample);
		while (mts_survey_next(&scan))
			if (!(MTS_TYPE_BIT(scan.element.type) & MTS_NULL_TYPES))
				return true;
	}
	return false;
}

/* Unfold one sample; false if a point is invalid, or visit refuses it. */
static bool
unfold_sample(MtsInfer *infer, int sample, MtsElement *elements,
			  MtsUnfold *unfold, MtsInferPoint visit, void *arg)
{
	MtsPoint point = {.elements = elements};
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
 *		Unfold the samples by the declaration of the reading, and call visit
 *		for each point.
 *
 * Returns false if a sample is invalid or visit returns false.
 */
bool
mts_trial_unfold(MtsInfer *infer, const MtsInferred *table,
				 MtsInferPoint visit, void *arg)
{
	MtsArena *arena = mts_arena_new(infer->host->resize, infer->host->release);
	MtsElement *elements =
		mts_arena_allocate(arena, (table->ncolumns + 1) * sizeof(MtsElement));
	MtsLayout layout;
	MtsRange all = {MTS_TIME_MIN, MTS_TIME_MAX};
	MtsRanges ranges = {1, &all};
	MtsUnfold unfold;
	bool ok =
		mts_trial_build(table,
						mts_time_field_clock(infer, infer->reading.bucket),
						arena, &layout);

	infer->nexcluded = 0;
	if (ok)
	{
		mts_unfold_init(&unfold, &layout, &ranges, arena);
		for (int i = 0; i < infer->nsamples && ok; i++)
		{
			mts_infer_pause(infer);
			infer->is_excluded[i] = !is_bucket(infer, i);
			infer->nexcluded += infer->is_excluded[i];
			ok = infer->is_excluded[i] ||
				 unfold_sample(infer, i, elements, &unfold, visit, arg);
		}
	}
	mts_arena_free(arena);
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
	MtsInferred table = {0}, *result = infer->result;
	char dotted[MTS_MAX_PATH];
	bool holds;

	infer->result = &table;
	infer->is_quiet = true;
	mts_declare_points(infer);
	infer->result = result;
	infer->is_quiet = false;
	memset(infer->is_declared, 0, infer->survey.nnodes * sizeof(bool));
	holds = mts_trial_unfold(infer, &table, is_in_slot, &found);
	if (table.columns)
		infer->host->release(table.columns);
	return holds && found.nsamples > 0 &&
		   2 * found.nsamples >= infer->nsamples &&
		   (infer->nexcluded == 0 ||
			mts_remark_dotted(infer, infer->reading.bucket->node, dotted));
}
