/*
 * infer_bucket.c
 *		What do buckets say of themselves: bounds, span, limits?
 *
 * A bound is a field that equals the first or the last time of its points in
 * every sample; the last one may also be the bucket's nominal end.
 */
#include "core/infer/infer_private.h"

#include <stdio.h>
#include <string.h>

/* A nominal end is no farther from the end of the span. */
#define NOMINAL MTS_SECOND

/* So many buckets hold as many points as a bucket can. */
#define MIN_FULL 3

/* The times of the samples' points */
typedef struct Times
{
	MtsTime *first; /* MTS_TIME_MAX: there are no points */
	MtsTime *last;
	bool differ; /* in some sample? */
} Times;

static bool
note_time(void *arg, int sample, MtsUnfold *unfold, const MtsPoint *point)
{
	Times *times = arg;

	if (point->time < times->first[sample])
		times->first[sample] = point->time;
	if (point->time > times->last[sample])
		times->last[sample] = point->time;
	times->differ |= times->first[sample] != times->last[sample];
	return true;
}

static MtsTime
bucket_end(const MtsInfer *infer, int sample)
{
	const MtsReading *reading = &infer->reading;
	MtsTime end;

	if (!reading->bucket ||
		!mts_clock_step(mts_infer_clock(infer, reading->bucket),
						reading->bucket->times[sample],
						mts_infer_span(reading), 1, &end))
		return MTS_TIME_MIN;
	return end;
}

/* Is a field the first or the last time of the points, in every sample? */
static bool
is_bound(const MtsInfer *infer, const MtsInferField *field, const Times *times,
		 bool is_last, bool is_nominal)
{
	for (int i = 0; i < infer->nsamples; i++)
	{
		MtsTime t = field->times[i];
		MtsTime end = bucket_end(infer, i);

		if (infer->others[i])
			continue;
		if (t == MTS_TIME_MIN)
			return false;
		if (times->first[i] == MTS_TIME_MAX)
			continue;
		if (is_nominal ? t < times->last[i] || t > end || t < end - NOMINAL
					   : t != (is_last ? times->last[i] : times->first[i]))
			return false;
	}
	return true;
}

/* The format in which bounds are stored */
static const char *
bound_format(const MtsReading *reading)
{
	bool is_offset = strncmp(reading->own_format, "offset:", 7) == 0;

	return is_offset ? reading->bucket->format : reading->own_format;
}

static void
find_bounds(MtsInfer *infer, const Times *times)
{
	const MtsReading *reading = &infer->reading;
	MtsInferred *result = infer->result;

	/* of single points the first is the last: that would show nothing */
	for (int pass = !times->differ; pass < 2; pass++)
		for (int i = 0; i < infer->nfields; i++)
		{
			const MtsInferField *field = &infer->fields[i];

			if (field == reading->bucket || infer->used[field->node] ||
				strcmp(field->format, bound_format(reading)) != 0)
				continue;
			if (pass == 0 && !result->first[0] &&
				is_bound(infer, field, times, false, false))
				infer->used[field->node] =
					mts_infer_path(infer, field->node, result->first);
			else if (!result->last[0] &&
					 is_bound(infer, field, times, true, pass == 1))
				infer->used[field->node] =
					mts_infer_path(infer, field->node, result->last);
		}
}

/*
 * Fields that equal the times of points, in buckets of one point each, may be
 * bounds or not: they identify no series.
 */
static void
doubt_bounds(MtsInfer *infer, const Times *times)
{
	const MtsReading *reading = &infer->reading;
	char path[MTS_MAX_PATH];

	for (int i = 0; i < infer->nfields && !times->differ; i++)
	{
		const MtsInferField *field = &infer->fields[i];

		if (field == reading->bucket || infer->used[field->node] ||
			!is_bound(infer, field, times, false, false) ||
			!mts_infer_column(infer, field->node, MTS_ROLE_ATTRIBUTE,
							  mts_infer_type(infer, field->node, false)))
			continue;
		mts_infer_remark(
			infer,
			"%s: could be bucket_first_field or bucket_last_field, but every bucket sampled has a single point; declared as an attribute, and the table with updatable 'false'",
			mts_infer_show(infer, field->node, path));
		mts_infer_forbid(infer);
	}
}

/*
 * Without a time, buckets can be told by their size, if that is limited and
 * their _id says nothing of them.
 */
static void
advise_limit(MtsInfer *infer)
{
	char limit[32];
	int64_t greatest = 0;

	for (int i = 0; i < infer->survey.nnodes; i++)
		if (mts_infer_is_in_id(infer, i) && !mts_infer_is_id(infer, i))
			return;
	for (int i = 0; i < infer->nsamples; i++)
		if (infer->points[i] > greatest)
			greatest = infer->points[i];
	snprintf(limit, sizeof(limit), "%lld", (long long) greatest);
	if (greatest > 1 && infer->reading.nslots == 1)
		mts_infer_advise(infer, -1, "bucket_max_points", limit);
}

/* Would an INSERT not find the buckets that there are? */
static void
doubt_insert(MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;
	const MtsInferField *bucket = reading->bucket;
	bool is_bounded = infer->result->first[0] && infer->result->last[0];
	char path[MTS_MAX_PATH];

	if (!bucket)
	{
		mts_infer_remark(
			infer,
			"%s: no field is the time of buckets of these points, so %san INSERT would not find them; declared with updatable 'false'",
			mts_infer_show(infer, reading->containers[0], path),
			is_bounded ? "" : "a range of time reads all documents, and ");
		mts_infer_forbid(infer);
		advise_limit(infer);
	}
	for (int i = 0; bucket && i < infer->nsamples; i++)
	{
		MtsTime t = bucket->times[i];

		if (t == MTS_TIME_MIN ||
			mts_clock_floor(mts_infer_clock(infer, bucket), t,
							mts_infer_span(reading)) == t)
			continue;
		mts_infer_remark(
			infer,
			"%s: an INSERT would let buckets begin at other times than these do; declared with updatable 'false'",
			mts_infer_show(infer, bucket->node, path));
		mts_infer_forbid(infer);
		return;
	}
}

static bool
hash_bytes(void *arg, const MtsElement *element)
{
	uint64_t *hash = arg;

	*hash = (*hash ^ element->type) * UINT64_C(1099511628211);
	for (uint32_t i = 0; i < element->size; i++)
		*hash = (*hash ^ element->value[i]) * UINT64_C(1099511628211);
	return true;
}

/* A hash of what identifies a bucket: its time, its keys */
static uint64_t
hash_identity(const MtsInfer *infer, int sample, const int *keys, int n)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	(void) mts_survey_visit(&infer->survey, sample,
							infer->reading.bucket->node, hash_bytes, &hash);
	for (int i = 0; i < n; i++)
	{
		hash = (hash ^ 1) * UINT64_C(1099511628211);
		(void) mts_survey_visit(&infer->survey, sample, keys[i], hash_bytes,
								&hash);
	}
	return hash;
}

/* Are there two buckets of one series and time? */
static bool
has_overflowed(MtsInfer *infer, const int *keys, int n)
{
	uint64_t *hashes =
		infer->host->resize(NULL, infer->nsamples * sizeof(uint64_t));

	for (int i = 0; i < infer->nsamples; i++)
	{
		mts_infer_pause(infer);
		hashes[i] = hash_identity(infer, i, keys, n);
		for (int j = 0; j < i; j++)
			if (hashes[j] == hashes[i] &&
				(infer->samples[i].size != infer->samples[j].size ||
				 memcmp(infer->samples[i].bytes, infer->samples[j].bytes,
						infer->samples[i].size) != 0))
				return true;
	}
	return false;
}

/* Where points are pushed: how many does a bucket take? */
static void
find_limit(MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;
	int keys[MTS_INFER_COLUMNS];
	int64_t greatest = 0;
	int full = 0;
	int n = 0;

	if (!reading->bucket || reading->nslots != 1 ||
		reading->slots[0].unit != MTS_UNIT_NONE)
		return;
	mts_infer_leaves(infer, 0);
	for (int i = 0; i < infer->nleaves; i++)
		if (!infer->used[infer->leaves[i]] &&
			!mts_infer_is_id(infer, infer->leaves[i]))
			keys[n++] = infer->leaves[i];
	if (!has_overflowed(infer, keys, n))
		return;
	for (int i = 0; i < infer->nsamples; i++)
	{
		if (infer->points[i] > greatest)
			full = 0;
		if (infer->points[i] > greatest)
			greatest = infer->points[i];
		full += infer->points[i] == greatest;
	}
	if (full >= MIN_FULL && greatest > 1)
		infer->result->max_points = greatest;
	else
		mts_infer_remark(
			infer,
			"several buckets of a series begin at the same time, but not enough of them are full to tell bucket_max_points");
}

/* Is the span what encloses the outermost slot, as without an option? */
static bool
is_default_span(const MtsReading *reading)
{
	MtsSpan span = mts_infer_span(reading);
	MtsSpan enclosing =
		mts_span_enclosing(mts_infer_slot_span(&reading->slots[0]));

	return span.months == enclosing.months && span.days == enclosing.days &&
		   span.usecs == enclosing.usecs;
}

static void
declare_bucket_time(MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;
	MtsInferred *result = infer->result;
	char path[MTS_MAX_PATH];

	if (!reading->bucket)
		return;
	infer->used[reading->bucket->node] = true;
	result->is_local = reading->bucket->is_local;
	if (reading->bucket->is_phased)
		mts_infer_remark(
			infer,
			"%s: the times lie at the same time of the day, but not at midnight in UTC or in the session's time zone; set bucket_time_zone if they begin days elsewhere",
			mts_infer_show(infer, reading->bucket->node, path));
	if (reading->own_time >= 0 &&
		mts_infer_path(infer, reading->bucket->node, result->bucket_time))
	{
		strcpy(result->bucket_format, reading->bucket->format);
		mts_infer_doubt(infer, reading->bucket->node, reading->bucket->format);
	}
	if (reading->own_time >= 0 || !is_default_span(reading))
		snprintf(result->bucket_span, sizeof(result->bucket_span), "%d %s%s",
				 reading->spans > 1 ? (int) reading->spans : 1,
				 mts_infer_unit_name(reading->span),
				 reading->spans > 1 ? "s" : "");
}

/* Documents that are no buckets are left out by a filter. */
static void
require_time(MtsInfer *infer)
{
	char path[MTS_MAX_PATH];

	if (infer->nothers == 0)
		return;
	(void) mts_infer_dotted(infer, infer->reading.bucket->node,
							infer->result->required);
	mts_infer_remark(
		infer,
		"%d of %d sampled documents have no %s and are left out by a filter",
		infer->nothers, infer->nsamples,
		mts_infer_show(infer, infer->reading.bucket->node, path));
}

/*
 * mts_infer_bucket
 *		Declare the options of the table.
 */
void
mts_infer_bucket(MtsInfer *infer)
{
	Times times;
	char why[MTS_INFER_REMARK];

	declare_bucket_time(infer);
	require_time(infer);
	if (infer->reading.own_time < 0)
	{
		doubt_insert(infer);
		return;
	}
	times.first = infer->host->resize(NULL, infer->nsamples * sizeof(MtsTime));
	times.last = infer->host->resize(NULL, infer->nsamples * sizeof(MtsTime));
	times.differ = false;
	for (int i = 0; i < infer->nsamples; i++)
	{
		times.first[i] = MTS_TIME_MAX;
		times.last[i] = MTS_TIME_MIN;
	}
	if (mts_infer_unfold(infer, NULL, 0, note_time, &times, why))
	{
		find_bounds(infer, &times);
		doubt_bounds(infer, &times);
	}
	doubt_insert(infer);
	find_limit(infer);
}
