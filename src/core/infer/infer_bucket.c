/*
 * infer_bucket.c
 *		Declares the options of the table that describe buckets: time, span,
 *		bounds and limits.
 *
 * A bound is a field that equals the first or the last time of the bucket's
 * points in every sample.  The last one may also be the nominal end of the
 * bucket.  What an INSERT could damage makes the table read-only.
 */
#include "core/infer/infer_private.h"

#include <stdio.h>
#include <string.h>

/* The most time between a nominal end, as 23:59:59, and the end of the span */
#define MAX_NOMINAL_GAP MTS_SECOND

/* So many buckets with the most points show that these are full. */
#define MIN_FULL 3

/* The first and the last time of each sample's points */
typedef struct Times
{
	MtsTime *first; /* MTS_TIME_MAX without points */
	MtsTime *last;
	bool differ; /* in any sample */
} Times;

static bool
record_time(void *arg, int sample, MtsUnfold *unfold, const MtsPoint *point)
{
	Times *times = arg;

	if (point->time < times->first[sample])
		times->first[sample] = point->time;
	if (point->time > times->last[sample])
		times->last[sample] = point->time;
	times->differ |= times->first[sample] != times->last[sample];
	return true;
}

/* The end of a sample's span, or MTS_TIME_MIN if it is not known */
static MtsTime
bucket_end(const MtsInfer *infer, int sample)
{
	const MtsReading *reading = &infer->reading;
	MtsTime end;

	if (!reading->bucket ||
		!mts_clock_step(mts_infer_field_clock(infer, reading->bucket),
						reading->bucket->times[sample],
						mts_infer_bucket_span(reading), 1, &end))
		return MTS_TIME_MIN;
	return end;
}

typedef enum Bound
{
	FIRST_TIME,
	LAST_TIME,
	NOMINAL_END
} Bound;

/* Whether a field is this bound in every sample */
static bool
is_bound(const MtsInfer *infer, const MtsInferField *field, const Times *times,
		 Bound bound)
{
	for (int i = 0; i < infer->nsamples; i++)
	{
		MtsTime t = field->times[i];
		MtsTime end = bucket_end(infer, i);

		if (infer->is_excluded[i])
			continue;
		if (t == MTS_TIME_MIN)
			return false;
		if (times->first[i] == MTS_TIME_MAX)
			continue;
		if (bound == FIRST_TIME ? t != times->first[i]
			: bound == LAST_TIME
				? t != times->last[i]
				: t < times->last[i] || t > end || t < end - MAX_NOMINAL_GAP)
			return false;
	}
	return true;
}

/* The format in which bounds are stored */
static const char *
bound_format(const MtsReading *reading)
{
	bool is_offset = strncmp(reading->time_format, "offset:", 7) == 0;

	return is_offset ? reading->bucket->format : reading->time_format;
}

/* Declare the bounds of buckets, a last time rather than a nominal end. */
static void
declare_bounds(MtsInfer *infer, const Times *times)
{
	const MtsReading *reading = &infer->reading;
	MtsInferred *result = infer->result;

	/* the first and the last time of single points are the same */
	for (Bound last = times->differ ? LAST_TIME : NOMINAL_END;
		 last <= NOMINAL_END; last++)
		for (int i = 0; i < infer->nfields; i++)
		{
			const MtsInferField *field = &infer->fields[i];
			char *bound = NULL;

			if (field == reading->bucket || infer->is_declared[field->node] ||
				strcmp(field->format, bound_format(reading)) != 0)
				continue;
			if (last == LAST_TIME && !result->first[0] &&
				is_bound(infer, field, times, FIRST_TIME))
				bound = result->first;
			else if (!result->last[0] && is_bound(infer, field, times, last))
				bound = result->last;
			if (bound)
				infer->is_declared[field->node] =
					mts_infer_write_path(infer, field->node, bound);
		}
}

/*
 * Declare the fields that may be bounds as attributes, as they identify no
 * series.  They equal the times of points, in buckets of one point each.
 */
static void
declare_doubtful_bounds(MtsInfer *infer, const Times *times)
{
	const MtsReading *reading = &infer->reading;
	char path[MTS_MAX_PATH];

	for (int i = 0; i < infer->nfields && !times->differ; i++)
	{
		const MtsInferField *field = &infer->fields[i];

		if (field == reading->bucket || infer->is_declared[field->node] ||
			!is_bound(infer, field, times, FIRST_TIME) ||
			!mts_infer_add_column(infer, field->node, MTS_ROLE_ATTRIBUTE,
								  mts_infer_column_type(infer, field->node,
														MTS_USE_IDENTIFY)))
			continue;
		mts_infer_remark(
			infer,
			"%s could be bucket_first_field or bucket_last_field\nEvery sampled bucket has a single point, so the samples cannot show which. The column is declared as an attribute, and the table as read-only.",
			mts_infer_label(infer, field->node, path));
		mts_infer_forbid_writes(infer);
	}
}

/*
 * Suggest bucket_max_points.  Without a time, an INSERT can find a bucket that
 * is not full, unless the _id identifies buckets.
 */
static void
suggest_limit(MtsInfer *infer)
{
	char limit[32];
	int64_t greatest = 0;

	for (int i = 0; i < infer->survey.nnodes; i++)
		if (mts_infer_is_in_id(infer, i) && !mts_infer_is_id(infer, i))
			return;
	for (int i = 0; i < infer->nsamples; i++)
		if (infer->point_counts[i] > greatest)
			greatest = infer->point_counts[i];
	snprintf(limit, sizeof(limit), "%lld", (long long) greatest);
	if (greatest > 1 && infer->reading.nslots == 1)
		mts_infer_suggest_option(infer, -1, "bucket_max_points", limit);
}

/* Make the table read-only if an INSERT would not find the buckets. */
static void
check_insert(MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;
	const MtsInferField *bucket = reading->bucket;
	bool has_bounds = infer->result->first[0] && infer->result->last[0];
	char path[MTS_MAX_PATH];

	if (!bucket)
	{
		mts_infer_remark(
			infer,
			"no field holds the time of the buckets of %s\nThe table is read-only, because an INSERT would not find the buckets.%s",
			mts_infer_label(infer, reading->containers[0], path),
			has_bounds ? "" : " A range of time reads all documents.");
		mts_infer_forbid_writes(infer);
		suggest_limit(infer);
	}
	for (int i = 0; bucket && i < infer->nsamples; i++)
	{
		MtsTime t = bucket->times[i];

		if (t == MTS_TIME_MIN ||
			mts_clock_floor(mts_infer_field_clock(infer, bucket), t,
							mts_infer_bucket_span(reading)) == t)
			continue;
		mts_infer_remark(
			infer,
			"%s does not hold multiples of the span of the buckets\nThe table is read-only, because an INSERT would begin buckets at such multiples.",
			mts_infer_label(infer, bucket->node, path));
		mts_infer_forbid_writes(infer);
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

/* Whether two different buckets have the same time and keys */
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
				(infer->survey.samples[i].size !=
					 infer->survey.samples[j].size ||
				 memcmp(infer->survey.samples[i].bytes,
						infer->survey.samples[j].bytes,
						infer->survey.samples[i].size) != 0))
				return true;
	}
	return false;
}

/* Declare the most points of a bucket, if points are elements of an array. */
static void
declare_limit(MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;
	MtsInferLeaves leaves;
	int64_t greatest = 0;
	int full = 0;
	int n = 0;

	if (!reading->bucket || reading->nslots != 1 ||
		reading->slots[0].unit != MTS_UNIT_NONE)
		return;
	/* the leaves that are keys */
	mts_infer_collect_leaves(infer, 0, &leaves);
	for (int i = 0; i < leaves.n; i++)
		if (!infer->is_declared[leaves.nodes[i]] &&
			!mts_infer_is_id(infer, leaves.nodes[i]))
			leaves.nodes[n++] = leaves.nodes[i];
	if (!has_overflowed(infer, leaves.nodes, n))
		return;
	for (int i = 0; i < infer->nsamples; i++)
	{
		if (infer->point_counts[i] > greatest)
			full = 0;
		if (infer->point_counts[i] > greatest)
			greatest = infer->point_counts[i];
		full += infer->point_counts[i] == greatest;
	}
	if (full >= MIN_FULL && greatest > 1)
		infer->result->max_points = greatest;
	else
		mts_infer_remark(
			infer,
			"several buckets of a series begin at the same time\nToo few of them are full to show whether option \"bucket_max_points\" limits them.");
}

/*
 * Whether the span is the default: the unit that encloses the outermost slot
 */
static bool
is_default_span(const MtsReading *reading)
{
	MtsSpan span = mts_infer_bucket_span(reading);
	MtsSpan enclosing =
		mts_span_enclosing(mts_infer_slot_span(&reading->slots[0]));

	return span.months == enclosing.months && span.days == enclosing.days &&
		   span.usecs == enclosing.usecs;
}

/* Declare the bucket's time, and its span if it is not the default. */
static void
declare_bucket_time(MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;
	MtsInferred *result = infer->result;
	char path[MTS_MAX_PATH];

	if (!reading->bucket)
		return;
	infer->is_declared[reading->bucket->node] = true;
	result->bucket_time_is_local = reading->bucket->is_local;
	if (reading->bucket->has_daily_phase)
		mts_infer_remark(
			infer,
			"all times in %s are at the same time of day\nThat is not midnight in UTC or in the session's time zone. If days begin at these times, set option \"bucket_time_zone\".",
			mts_infer_label(infer, reading->bucket->node, path));
	if (reading->time_node >= 0 &&
		mts_infer_write_path(infer, reading->bucket->node,
							 result->bucket_time))
	{
		strcpy(result->bucket_format, reading->bucket->format);
		mts_infer_remark_pattern(infer, reading->bucket->node,
								 reading->bucket->format);
	}
	if (reading->time_node >= 0 || !is_default_span(reading))
		snprintf(result->bucket_span, sizeof(result->bucket_span), "%d %s%s",
				 (int) reading->spans, mts_infer_unit_name(reading->span),
				 reading->spans > 1 ? "s" : "");
}

/* Declare a filter that excludes documents without the bucket's time. */
static void
declare_filter(MtsInfer *infer)
{
	char path[MTS_MAX_PATH];

	if (infer->nexcluded == 0)
		return;
	(void) mts_infer_write_dotted_path(infer, infer->reading.bucket->node,
									   infer->result->required);
	mts_infer_remark(
		infer,
		"%d of %d sampled documents have no %s\nOption \"filter\" excludes such documents.",
		infer->nexcluded, infer->nsamples,
		mts_infer_label(infer, infer->reading.bucket->node, path));
}

/*
 * mts_infer_declare_bucket
 *		Declare the options of the table that describe buckets.
 */
void
mts_infer_declare_bucket(MtsInfer *infer)
{
	Times times;
	char why[MTS_INFER_REMARK];

	declare_bucket_time(infer);
	declare_filter(infer);
	if (infer->reading.time_node < 0)
	{
		check_insert(infer);
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
	if (mts_infer_unfold(infer, NULL, 0, record_time, &times, why))
	{
		declare_bounds(infer, &times);
		declare_doubtful_bounds(infer, &times);
	}
	check_insert(infer);
	declare_limit(infer);
}
