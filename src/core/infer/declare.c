/*
 * declare.c
 *		Declares a reading: the time, the values, the bucket's options and
 *		keys, and remarks on all that is not forced.
 *
 * What tells buckets of one time apart is a key, whatever its type.  Other
 * fractions, times and documents are attributes.
 */
#include "core/infer/infer_private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Shorter arrays of numbers are lists, and no remark is made. */
#define MIN_ARRAY 6

/* So many buckets with the most points show that these are full. */
#define MIN_FULL 3

/* The most time between a nominal end, as 23:59:59, and the end of the span */
#define MAX_NOMINAL_GAP MTS_SECOND

static bool
is_whole(void *arg, const MtsElement *element)
{
	double d;

	if (element->type != BSON_TYPE_DOUBLE)
		return true;
	d = mts_element_double(element);
	return d == rint(d);
}

/* The bucket_span of a reading, or "" if it is the default */
static void
write_span(const MtsReading *reading, char *text)
{
	MtsSpan span, outer;

	text[0] = '\0';
	if (reading->span == MTS_NO_UNIT)
		return;
	span = mts_unit_span(reading->span);
	if (reading->time_node < 0 && reading->slots[0].unit != MTS_NO_UNIT)
	{
		outer = mts_span_enclosing(mts_unit_span(reading->slots[0].unit));
		if (span.months == outer.months && span.days == outer.days &&
			span.usecs == outer.usecs)
			return;
	}
	if (mts_unit_is_single(reading->span))
		text += sprintf(text, "1 ");
	(void) mts_unit_name(reading->span, text);
}

/* Describe the slots of a reading: "minutes of an hour". */
static void
describe(const MtsReading *reading, char *text, size_t size)
{
	char span[32], unit[32];
	size_t len = 0;

	for (int i = reading->nslots - 1; i >= 0; i--)
	{
		(void) mts_unit_name(reading->slots[i].unit, unit);
		len += snprintf(text + len, len < size ? size - len : 0,
						mts_unit_is_single(reading->slots[i].unit)
							? "%ss of "
							: "steps of %s of ",
						unit);
	}
	(void) mts_unit_name(reading->span, span);
	snprintf(text + len, len < size ? size - len : 0, "%s%s",
			 !mts_unit_is_single(reading->span) ? ""
			 : span[0] == 'h'                   ? "an "
												: "a ",
			 span);
}

/* Add the changes that declare the last column, a jsonb, as a series. */
static void
add_series_changes(MtsInfer *infer, int node)
{
	MtsReading reading = infer->reading;
	char text[80], condition[96], path[MTS_MAX_PATH], span[32];
	int column = infer->result->ncolumns - 1;

	for (int i = 0; i < infer->nothers && reading.ncontainers == 0; i++)
	{
		const MtsReading *other = &infer->others[i];
		MtsLeaves leaves;

		infer->reading = *other;
		mts_column_leaves(infer, other->containers[0], &leaves);
		if (mts_survey_is_within(&infer->survey, leaves.nodes[0], node) &&
			mts_remark_path(infer, leaves.nodes[0], path))
		{
			describe(other, text, sizeof(text));
			snprintf(condition, sizeof(condition), "If the keys are %s", text);
			mts_remark_change(infer, condition, column, MTS_INFER_SET_TYPE,
							  NULL, NULL)
				->type = mts_column_type(infer, leaves.nodes[0], true);
			mts_remark_change(infer, condition, column, MTS_INFER_ADD_OPTION,
							  "field", path);
			mts_remark_change(infer, condition, column, MTS_INFER_DROP_OPTION,
							  "role", NULL);
			write_span(other, span);
			if (span[0])
				mts_remark_change(infer, condition, -1, MTS_INFER_ADD_OPTION,
								  "bucket_span", span);
		}
		infer->reading = reading;
	}
}

/* Remark on numbers in an array that are not taken for times. */
static void
remark_array(MtsInfer *infer, int node)
{
	const MtsNode *child =
		&infer->survey
			 .nodes[mts_survey_child(&infer->survey, node, MTS_NODE_ELEMENTS)];
	char path[MTS_MAX_PATH];

	if (infer->nfields > 0 && child->greatest + 1 >= MIN_ARRAY &&
		!(child->types & ~(MTS_NUMBER_TYPES | MTS_NULL_TYPES)))
		mts_remark(
			infer,
			"%s is declared as an array\nIts up to %lld numbers fill no unit of time. If the index counts a unit, give the column a type and a field such as %s[{minute}].",
			mts_remark_label(infer, node, path),
			(long long) child->greatest + 1, path);
}

/* Remark on the reason why a column is jsonb, or text and not a time. */
static void
remark_type(MtsInfer *infer, int node, MtsInferType type)
{
	const MtsSurvey *survey = &infer->survey;
	uint32_t types = mts_column_bson_types(infer, node);
	int child = mts_survey_child(survey, node, MTS_NODE_ELEMENTS);
	int inner =
		child < 0 ? -1 : mts_survey_child(survey, child, MTS_NODE_ELEMENTS);
	char path[MTS_MAX_PATH];
	const char *label = mts_remark_label(infer, node, path);

	if (types == 0)
		mts_remark(infer, "%s is null in all samples, so its type is unknown",
				   label);
	else if (type == MTS_INFER_TEXT && mts_time_field_looks_like(infer, node))
		mts_remark(
			infer,
			"%s looks like a time, but has no known pattern\nIf it is a time, give the column a time type, and set its option \"format\" to text: with a pattern of to_char.",
			label);
	else if (type != MTS_INFER_JSON)
		return;
	else if (survey->nodes[node].has_odd_keys)
		mts_remark(
			infer,
			"%s is declared as jsonb\nIt has keys such as 07, which cannot be slots.",
			label);
	else if ((types & (types - 1)) != 0)
		mts_remark(
			infer,
			"%s is declared as jsonb\nIt holds values of several types.",
			label);
	else if (inner >= 0)
		mts_remark(
			infer,
			"%s is declared as jsonb\nIts elements are arrays of up to %lld values, which fill no unit of time.",
			label, (long long) survey->nodes[inner].greatest + 1);
	else if (child >= 0 && !mts_column_is_record(infer, child))
		mts_remark(infer, "%s is declared as jsonb\nIt holds arrays.", label);
	else if (child >= 0)
		mts_remark(
			infer,
			"%s is declared as jsonb\nIts elements are documents without a time that agrees with a time of their document.",
			label);
	else if (mts_survey_child(survey, node, MTS_NODE_NUMBERS) >= 0)
	{
		mts_remark(
			infer,
			"%s is declared as jsonb\nIts keys are numbers, and nothing shows that they count a unit of time.",
			label);
		add_series_changes(infer, node);
	}
	else if (survey->nodes[node].is_truncated)
		mts_remark(infer, "%s is declared as jsonb\nIt has too many keys.",
				   label);
}

/* Declare a column that is not the time, with a remark on a doubtful type. */
static void
declare(MtsInfer *infer, int node, MtsRole role, bool is_measured)
{
	MtsInferType type = mts_column_type(infer, node, is_measured);
	bool is_array = mts_column_is_array(infer, node, is_measured, &type);
	MtsInferColumn *column = mts_column_add(infer, node, role, type);

	if (column)
		column->is_array = is_array;
	if (column && is_array)
		remark_array(infer, node);
	else if (column)
		remark_type(infer, node, type);
}

/* Remark that months may lack a zero, if none with one digit was sampled. */
static void
remark_pattern(MtsInfer *infer, int node, const char *format)
{
	const char *month = strstr(format, "MM");
	char other[MTS_INFER_FORMAT + 4], path[MTS_MAX_PATH];

	if (strncmp(format, "text:", 5) != 0 || !month || month[-1] == 'Y' ||
		strncmp(month - 2, "FM", 2) == 0 || strchr(month, 'D'))
		return;
	snprintf(other, sizeof(other), "%.*sFM%s", (int) (month - format), format,
			 month);
	if (mts_time_field_fits(infer, node, other))
		mts_remark(
			infer,
			"%s is assumed to have pattern %s\nNo month before October was sampled, so it could also be %s.",
			mts_remark_label(infer, node, path), format + 5, other + 5);
}

/* Declare the column of a time, with a remark if months may lack a zero. */
static void
declare_time(MtsInfer *infer, int node, const char *format)
{
	MtsInferColumn *column =
		mts_column_add(infer, node, MTS_ROLE_TIME, MTS_INFER_TIME);

	if (column)
		strcpy(column->format, format);
	if (column && infer->hints->time)
		column->is_not_null = true;
	remark_pattern(infer, node, format);
}

/* ---- Remarks on slots -------------------------------------------------- */

/* Add the changes that declare another reading of the slots. */
static void
add_changes(MtsInfer *infer, const MtsReading *other, const char *condition)
{
	MtsInferred *result = infer->result;
	MtsReading reading = infer->reading;
	char span[32], path[MTS_MAX_PATH];

	infer->reading = *other;
	if (other->has_keys)
		(void) mts_remark_change(infer, condition, -1, MTS_INFER_ADD_COLUMN,
								 "key", NULL);
	for (int i = 0; i < result->ncolumns; i++)
	{
		int node = infer->column_nodes[i];

		if (node < 0 && !other->is_unpivoted)
			(void) mts_remark_change(infer, condition, i,
									 MTS_INFER_DROP_COLUMN, NULL, NULL);
		else if (node > 0 && mts_remark_path(infer, node, path) &&
				 strcmp(path, result->columns[i].field) != 0)
			(void) mts_remark_change(infer, condition, i, MTS_INFER_SET_OPTION,
									 "field", path);
	}
	infer->reading = reading;
	write_span(other, span);
	if (strcmp(span, result->bucket_span) != 0)
		(void) mts_remark_change(infer, condition, -1,
								 !span[0] ? MTS_INFER_DROP_OPTION
								 : !result->bucket_span[0]
									 ? MTS_INFER_ADD_OPTION
									 : MTS_INFER_SET_OPTION,
								 "bucket_span", span);
}

/* Whether a value is the same positive integer as before */
static bool
is_same_count(void *arg, const MtsElement *element)
{
	int64_t *count = arg;
	int64_t n;

	if (!mts_element_integer(element, 1e9, &n) || n < 2 ||
		(*count != 0 && n != *count))
		return false;
	*count = n;
	return true;
}

/*
 * Remark on a number beside arrays that may be the distance of their elements:
 * it is the same in all documents, and the arrays then end within the bucket.
 */
static void
remark_distance(MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;
	MtsSpan span = mts_unit_span(reading->span);
	MtsSpan unit = mts_unit_span(reading->slots[0].unit);
	const MtsNode *keys = &infer->survey.nodes[reading->containers[0]];
	char path[MTS_MAX_PATH], other[MTS_MAX_PATH], name[32];
	MtsLeaves leaves;

	if (keys->kind != MTS_NODE_ELEMENTS || reading->nslots != 1 ||
		span.months != 0 || unit.usecs == 0)
		return;
	mts_column_leaves(infer, 0, &leaves);
	for (int i = 0; i < leaves.n; i++)
		for (int64_t scale = 1000; scale <= MTS_MINUTE;
			 scale *= scale < MTS_SECOND ? 1000 : 60)
		{
			MtsReading step = *reading;
			int64_t n = 0;

			if (infer->survey.nodes[leaves.nodes[i]].values <
					infer->nsamples ||
				!mts_survey_visit_all(&infer->survey, leaves.nodes[i],
									  is_same_count, &n) ||
				n * scale == unit.usecs ||
				(span.days * MTS_DAY + span.usecs) %
						(n * scale * (keys->greatest + 1)) !=
					0)
				continue;
			step.slots[0].unit = mts_unit_find((MtsSpan){0, 0, n * scale});
			if (step.slots[0].unit == mts_unit_count())
				continue;
			(void) mts_unit_name(step.slots[0].unit, name);
			mts_remark(
				infer,
				"elements of %s are assumed to count the parts of their bucket\nThey could also be %s apart, as %s is %lld in all documents.",
				mts_remark_label(infer, reading->containers[0], path), name,
				mts_remark_label(infer, leaves.nodes[i], other),
				(long long) n);
			add_changes(infer, &step, "If that is their distance");
			return;
		}
}

/* Remark on slots that are not forced, or not the only ones that are. */
static void
remark_slots(MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;
	MtsReading names = *reading;
	char path[MTS_MAX_PATH], text[80], condition[96];
	char others[160] = "";
	const MtsNode *keys;
	int n = 0;

	if (reading->time_node >= 0 || reading->nslots == 0)
		return;
	keys = &infer->survey.nodes[mts_survey_slot(&infer->survey,
												reading->containers[0], 0)];
	for (int i = 0; i < infer->nothers; i++)
		if (reading->has_keys || reading->grade < MTS_GRADE_FORCED ||
			infer->others[i].grade == MTS_GRADE_FORCED)
		{
			size_t len = strlen(others);

			infer->others[n] = infer->others[i];
			describe(&infer->others[n++], text, sizeof(text));
			snprintf(others + len, sizeof(others) - len, "%s%s",
					 len > 0 ? ", or " : " They could also be ", text);
		}
	if (n == 0 && reading->grade == MTS_GRADE_FORCED && !reading->has_keys)
		return;
	(void) mts_remark_label(infer, reading->containers[0], path);
	if (reading->has_keys)
		mts_remark(
			infer,
			"keys %lld to %lld of %s are assumed to be names, and are values of column \"%s\"\nNothing shows that they count a unit of time.%s%s",
			(long long) keys->least, (long long) keys->greatest, path, "key",
			others, others[0] ? "." : "");
	else
	{
		describe(reading, text, sizeof(text));
		mts_remark(infer,
				   "keys %lld to %lld of %s are assumed to be %s\n%s.%s%s",
				   (long long) keys->least, (long long) keys->greatest, path,
				   text,
				   reading->grade == MTS_GRADE_FORCED
					   ? "Few bucket times were sampled"
					   : reading->evidence,
				   others, others[0] ? "." : "");
	}
	for (int i = 0; i < n; i++)
	{
		describe(&infer->others[i], text, sizeof(text));
		snprintf(condition, sizeof(condition), "If the keys are %s", text);
		add_changes(infer, &infer->others[i], condition);
	}
	if (!reading->has_keys && reading->nslots == 1 && !reading->is_unpivoted &&
		keys->kind == MTS_NODE_NUMBERS)
	{
		names.slots[0] = (MtsInferSlot){MTS_NO_UNIT, 0};
		names.has_keys = true;
		names.span = MTS_NO_UNIT;
		add_changes(infer, &names, "If the keys are names");
	}
}

/* ---- Buckets ----------------------------------------------------------- */

/* Remark on the fields beside slots, which have no column. */
static void
remark_fields_beside_slots(MtsInfer *infer)
{
	const MtsNode *nodes = infer->survey.nodes;
	char path[MTS_MAX_PATH];

	for (int i = 0; i < infer->reading.ncontainers; i++)
		for (int node = nodes[infer->reading.containers[i]].parent;
			 node >= 0 && nodes[node].nslots > 0; node = nodes[node].parent)
			for (int child = nodes[node].child; child >= 0;
				 child = nodes[child].next)
				if (nodes[child].kind == MTS_NODE_NAME &&
					!mts_survey_is_within(&infer->survey,
										  infer->reading.containers[i], child))
					mts_remark(
						infer,
						"%s has no column, because it is beside slots and is not a point",
						mts_remark_label(infer, child, path));
}

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

typedef enum Bound
{
	FIRST_TIME,
	LAST_TIME,
	NOMINAL_END
} Bound;

/* Whether a field is this bound in every sample */
static bool
is_bound(const MtsInfer *infer, const MtsTimeField *field, const Times *times,
		 Bound bound)
{
	const MtsReading *reading = &infer->reading;

	for (int i = 0; i < infer->nsamples; i++)
	{
		MtsTime t = field->times[i];
		MtsTime end = MTS_TIME_MIN;

		if (infer->is_excluded[i])
			continue;
		if (t == MTS_TIME_MIN)
			return false;
		if (times->first[i] == MTS_TIME_MAX)
			continue;
		if (bound == NOMINAL_END &&
			(!reading->bucket ||
			 !mts_clock_step(mts_time_field_clock(infer, reading->bucket),
							 reading->bucket->times[i],
							 mts_unit_span(reading->span), 1, &end)))
			return false;
		if (bound == FIRST_TIME ? t != times->first[i]
			: bound == LAST_TIME
				? t != times->last[i]
				: t < times->last[i] || t > end || t < end - MAX_NOMINAL_GAP)
			return false;
	}
	return true;
}

/*
 * Declare the bounds of buckets, a last time rather than a nominal end.  In
 * buckets of single points, a field may be either: it becomes an attribute.
 */
static void
declare_bounds(MtsInfer *infer, const Times *times)
{
	const MtsReading *reading = &infer->reading;
	MtsInferred *result = infer->result;
	const char *format = strncmp(reading->time_format, "offset:", 7) == 0
							 ? reading->bucket->format
							 : reading->time_format;
	char path[MTS_MAX_PATH];

	for (Bound last = LAST_TIME; last <= NOMINAL_END; last++)
		for (int i = 0; i < infer->nfields; i++)
		{
			const MtsTimeField *field = &infer->fields[i];
			char *bound = NULL;

			if (field == reading->bucket || infer->is_declared[field->node] ||
				strcmp(field->format, format) != 0)
				continue;
			if (last == LAST_TIME && !result->first[0] &&
				is_bound(infer, field, times, FIRST_TIME))
				bound = result->first;
			else if (!result->last[0] && is_bound(infer, field, times, last))
				bound = result->last;
			if (bound && (times->differ || last == NOMINAL_END))
				infer->is_declared[field->node] =
					mts_remark_path(infer, field->node, bound);
			else if (bound)
			{
				declare(infer, field->node, MTS_ROLE_ATTRIBUTE, false);
				mts_remark(
					infer,
					"%s could be bucket_first_field or bucket_last_field\nEvery sampled bucket has a single point, so the samples cannot show which. The column is declared as an attribute, and the table as read-only.",
					mts_remark_label(infer, field->node, path));
				mts_remark_forbid_writes(infer);
			}
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

/* Extend the hashes of all samples by a node. */
static void
hash_node(const MtsInfer *infer, int node, const uint64_t *from, uint64_t *to)
{
	for (int i = 0; i < infer->nsamples; i++)
	{
		to[i] = (from[i] ^ (uint64_t) node) * UINT64_C(1099511628211);
		(void) mts_survey_visit(&infer->survey, i, node, hash_bytes, &to[i]);
	}
}

/* What identifies a sample, and the sample */
typedef struct Identity
{
	uint64_t hash;
	const MtsSample *sample;
} Identity;

static int
compare_identities(const void *a, const void *b)
{
	const Identity *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	if (x->sample->size != y->sample->size)
		return x->sample->size < y->sample->size ? -1 : 1;
	return memcmp(x->sample->bytes, y->sample->bytes, x->sample->size);
}

/* How many samples have the hash of another, different one */
static int
count_alike(const MtsInfer *infer, const uint64_t *hashes)
{
	Identity *items =
		mts_infer_allocate(infer, infer->nsamples, sizeof(Identity));
	int n = 0, alike = 0;

	for (int i = 0; i < infer->nsamples; i++)
		if (!infer->is_excluded[i])
			items[n++] = (Identity){hashes[i], &infer->survey.samples[i]};
	qsort(items, n, sizeof(Identity), compare_identities);
	for (int i = 1; i < n; i++)
		alike += items[i].hash == items[i - 1].hash &&
				 compare_identities(&items[i], &items[i - 1]) != 0;
	infer->host->release(items);
	return alike;
}

/* End a visit at the first value. */
static bool
stop(void *arg, const MtsElement *element)
{
	return false;
}

/* Whether a bucket has this field */
static bool
is_in_bucket(const MtsInfer *infer, int node)
{
	for (int i = 0; i < infer->nsamples; i++)
		if (!infer->is_excluded[i] &&
			!mts_survey_visit(&infer->survey, i, node, stop, NULL))
			return true;
	return false;
}

/* Whether a node's type identifies a series by itself */
static bool
is_natural_key(const MtsInfer *infer, int node)
{
	MtsInferType type = mts_column_type(infer, node, false);

	return type != MTS_INFER_JSON && type != MTS_INFER_BYTES &&
		   type != MTS_INFER_TIME &&
		   mts_survey_visit_all(&infer->survey, node, is_whole, NULL);
}

/* The most points of a bucket, and how many samples have as many */
static int64_t
most_points(const MtsInfer *infer, int *full)
{
	int64_t most = 0;

	*full = 0;
	for (int i = 0; i < infer->nsamples; i++)
	{
		if (infer->point_counts[i] > most)
			*full = 0;
		if (infer->point_counts[i] > most)
			most = infer->point_counts[i];
		*full += infer->point_counts[i] == most;
	}
	return most;
}

/*
 * Declare the keys and attributes, and whether they identify buckets: natural
 * keys, and of the other fields those that tell samples apart.
 */
static void
declare_keys(MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;
	MtsLeaves leaves;
	uint64_t *hashes = mts_infer_allocate(infer, 2 * infer->nsamples + 1, 8);
	uint64_t *next = hashes + infer->nsamples;
	bool has_arrays = reading->nslots == 1 && !reading->has_keys &&
					  reading->slots[0].unit == MTS_NO_UNIT;
	int alike, full;
	int64_t most;

	mts_column_leaves(infer, 0, &leaves);
	if (reading->bucket)
		hash_node(infer, reading->bucket->node, hashes, hashes);
	for (int pass = 0; pass < 2; pass++)
	{
		alike = count_alike(infer, hashes);
		for (int i = 0; i < leaves.n; i++)
		{
			int node = leaves.nodes[i];
			bool is_key = pass == 0;

			if (infer->is_declared[node] || !is_in_bucket(infer, node) ||
				(mts_column_is_in(infer, node, "_id") &&
				 infer->survey.nodes[node].depth == 1) ||
				(pass == 0 && !is_natural_key(infer, node)))
				continue;
			hash_node(infer, node, hashes, next);
			if (pass == 1 && alike > 0 &&
				mts_column_type(infer, node, false) != MTS_INFER_JSON)
				is_key = count_alike(infer, next) < alike;
			declare(infer, node, is_key ? MTS_ROLE_KEY : MTS_ROLE_ATTRIBUTE,
					false);
			if (is_key)
				memcpy(hashes, next, infer->nsamples * sizeof(uint64_t));
			if (is_key && pass == 1)
				alike = count_alike(infer, hashes);
		}
	}
	if (!reading->bucket || alike == 0)
		return;
	most = most_points(infer, &full);
	if (has_arrays && full >= MIN_FULL && most > 1)
		infer->result->max_points = most;
	else
	{
		mts_remark(
			infer,
			"several documents have the same time and keys\nThe table is read-only, because an INSERT would not find the right one.%s",
			has_arrays
				? " Too few of them are full to show whether option \"bucket_max_points\" limits them."
				: "");
		mts_remark_forbid_writes(infer);
	}
}

/* Make the table read-only if an INSERT would not find the buckets. */
static void
check_insert(MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;
	MtsInferred *result = infer->result;
	char path[MTS_MAX_PATH], limit[32], condition[96];
	int full;

	if (!reading->bucket)
	{
		int64_t most = most_points(infer, &full);

		mts_remark(
			infer,
			"no field holds the time of the buckets of %s\nThe table is read-only, because an INSERT would not find the buckets.%s",
			mts_remark_label(infer, reading->containers[0], path),
			result->first[0] && result->last[0]
				? ""
				: " A range of time reads all documents.");
		mts_remark_forbid_writes(infer);
		snprintf(limit, sizeof(limit), "%lld", (long long) most);
		snprintf(condition, sizeof(condition),
				 "If a full bucket has %s points", limit);
		if (most > 1 && reading->nslots == 1)
			(void) mts_remark_change(infer, condition, -1,
									 MTS_INFER_ADD_OPTION, "bucket_max_points",
									 limit);
	}
	else if (reading->span != MTS_NO_UNIT &&
			 !mts_time_field_begins(infer, reading->bucket, reading->span))
	{
		mts_remark(
			infer,
			"%s does not hold multiples of the span of the buckets\nThe table is read-only, because an INSERT would begin buckets at such multiples.",
			mts_remark_label(infer, reading->bucket->node, path));
		mts_remark_forbid_writes(infer);
	}
}

/* Declare the options of the table that describe buckets. */
static void
declare_bucket(MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;
	MtsInferred *result = infer->result;
	char path[MTS_MAX_PATH];
	Times times = {NULL};

	write_span(reading, result->bucket_span);
	if (reading->bucket)
	{
		infer->is_declared[reading->bucket->node] = true;
		result->bucket_time_is_local = reading->bucket->is_local;
	}
	if (reading->bucket && reading->bucket->has_daily_phase)
		mts_remark(
			infer,
			"all times in %s are at the same time of day\nThat is not midnight in UTC or in the session's time zone. If days begin at these times, set option \"bucket_time_zone\".",
			mts_remark_label(infer, reading->bucket->node, path));
	if (infer->nexcluded > 0)
	{
		(void) mts_remark_dotted(infer, reading->bucket->node,
								 result->required);
		mts_remark(
			infer,
			"%d of %d sampled documents have no %s\nOption \"filter\" excludes such documents.",
			infer->nexcluded, infer->nsamples,
			mts_remark_label(infer, reading->bucket->node, path));
	}
	if (reading->time_node < 0)
		return;
	if (reading->bucket &&
		mts_remark_path(infer, reading->bucket->node, result->bucket_time))
	{
		strcpy(result->bucket_format, reading->bucket->format);
		remark_pattern(infer, reading->bucket->node, reading->bucket->format);
	}
	times.first = mts_infer_allocate(infer, infer->nsamples, sizeof(MtsTime));
	times.last = mts_infer_allocate(infer, infer->nsamples, sizeof(MtsTime));
	for (int i = 0; i < infer->nsamples; i++)
	{
		times.first[i] = MTS_TIME_MAX;
		times.last[i] = MTS_TIME_MIN;
	}
	if (mts_trial_unfold(infer, NULL, 0, record_time, &times))
		declare_bounds(infer, &times);
}

/* Sort the columns by their roles. */
static void
sort_columns(MtsInferred *result)
{
	static const int rank[] = {[MTS_ROLE_TIME] = 0,
							   [MTS_ROLE_KEY] = 1,
							   [MTS_ROLE_SLOT] = 2,
							   [MTS_ROLE_VALUE] = 3,
							   [MTS_ROLE_ATTRIBUTE] = 4};

	for (int i = 1; i < result->ncolumns; i++)
	{
		MtsInferColumn column = result->columns[i];
		int j = i;

		for (; j > 0 && rank[column.role] < rank[result->columns[j - 1].role];
			 j--)
			result->columns[j] = result->columns[j - 1];
		result->columns[j] = column;
	}
}

static void
declare_points(MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;
	char path[MTS_MAX_PATH];

	infer->result->has_buckets = true;
	/* first, as the path of the values names it */
	if (reading->is_unpivoted || reading->has_keys)
		mts_column_add(infer, -1, MTS_ROLE_SLOT, MTS_INFER_TEXT);
	if (reading->time_node >= 0)
		declare_time(infer, reading->time_node, reading->time_format);
	else
		declare_time(infer, reading->bucket->node, reading->bucket->format);
	for (int i = 0; i < reading->ncontainers; i++)
	{
		MtsLeaves leaves;

		mts_column_leaves(infer, reading->containers[i], &leaves);
		for (int j = 0; j < leaves.n; j++)
			if (leaves.nodes[j] != reading->time_node)
				declare(infer, leaves.nodes[j], MTS_ROLE_VALUE, true);
	}
	mts_total_declare(infer);
	declare_bucket(infer);
	remark_slots(infer);
	if (reading->time_node < 0 && !reading->has_keys)
		remark_distance(infer);
	if (reading->time_node < 0 && !reading->has_keys &&
		reading->bucket->is_local)
	{
		mts_remark(
			infer,
			"keys of %s are assumed to count the time since the bucket's time\nOn days when clocks change, they differ from keys that are hours of the local clock.",
			mts_remark_label(infer, reading->containers[0], path));
		mts_remark_change(infer, "If the keys count the local clock", -1,
						  MTS_INFER_ADD_OPTION, "slot_clock", "local");
	}
	if (strncmp(reading->time_format, "offset:", 7) == 0)
		mts_remark(infer, "%s is assumed to count %ss since the bucket's time",
				   mts_remark_label(infer, reading->time_node, path),
				   reading->time_format + 7);
	if (reading->is_unpivoted)
		mts_remark(
			infer,
			"the names in the points of %s are assumed to be values of a column \"key\"\nSome points lack some of these names.",
			mts_remark_label(infer, reading->containers[0], path));
	declare_keys(infer);
	check_insert(infer);
	remark_fields_beside_slots(infer);
	sort_columns(infer->result);
}

/* ---- Documents that are rows ------------------------------------------- */

/* The time of documents, numbers only as a last choice, or NULL */
static const MtsTimeField *
choose_time(MtsInfer *infer)
{
	const MtsTimeField *time = NULL;
	char a[MTS_MAX_PATH], b[MTS_MAX_PATH];

	for (int pass = 0; pass < 2 && !time; pass++)
		for (int i = 0; i < infer->nfields; i++)
		{
			const MtsTimeField *field = &infer->fields[i];

			if (infer->hints->time
					? !mts_column_is_in(infer, field->node, infer->hints->time)
					: (strncmp(field->format, "epoch", 5) == 0) != (pass == 1))
				continue;
			if (!time)
				time = field;
			else if (field->present == time->present)
				mts_remark(
					infer,
					"%s is assumed to be the time\nField %s, which comes later, could also be the time.",
					mts_remark_label(infer, time->node, a),
					mts_remark_label(infer, field->node, b));
		}
	if (time && !infer->hints->time && strncmp(time->format, "epoch", 5) == 0)
		mts_remark(infer,
				   "the numbers in %s are assumed to be times in format %s",
				   mts_remark_label(infer, time->node, a), time->format);
	return time;
}

/* Declare the fields of a native collection that has no documents. */
static void
declare_native(MtsInfer *infer)
{
	const char *names[] = {infer->hints->time, infer->hints->meta};

	for (int i = 0; i < 2 && names[i]; i++)
	{
		MtsInferColumn *column =
			mts_column_add(infer, 0, i == 0 ? MTS_ROLE_TIME : MTS_ROLE_KEY,
						   i == 0 ? MTS_INFER_TIME : MTS_INFER_JSON);

		column->is_not_null = i == 0;
		snprintf(column->name, MTS_INFER_NAME, "%s", names[i]);
		column->field[0] = '\0';
		for (const char *at = names[i]; *at; at++)
			snprintf(column->field + strlen(column->field), 3, "%s%c",
					 strchr(".{[\\", *at) ? "\\" : "", *at);
	}
}

static void
declare_rows(MtsInfer *infer)
{
	const MtsNode *root = &infer->survey.nodes[0];
	bool is_native = infer->hints->time != NULL;
	const MtsTimeField *time = choose_time(infer);
	MtsLeaves leaves;

	mts_column_leaves(infer, 0, &leaves);
	for (int i = 0; i < leaves.n; i++)
	{
		int node = leaves.nodes[i];
		bool is_id = mts_column_is_in(infer, node, "_id") &&
					 infer->survey.nodes[node].depth == 1;

		if (time && node == time->node)
			declare_time(infer, node, time->format);
		else if (!is_id || !is_native)
			declare(infer, node,
					is_natural_key(infer, node) ||
							mts_column_has_only(infer, node, MTS_NUMBER_TYPES)
						? MTS_ROLE_KEY
						: MTS_ROLE_ATTRIBUTE,
					!is_id &&
						!mts_column_is_in(infer, node, infer->hints->meta));
	}
	if (leaves.nlost > 0)
		mts_remark(infer, "%d fields beyond the first %d have no column",
				   leaves.nlost, leaves.n);
	if (is_native && infer->nsamples == 0)
		declare_native(infer);
	else if (infer->nsamples == 0 || root->has_odd_keys ||
			 root->is_truncated || leaves.nlost > 0 ||
			 mts_survey_child(&infer->survey, 0, MTS_NODE_NUMBERS) >= 0 ||
			 (!is_native && infer->result->ncolumns < leaves.n))
		mts_column_add(infer, 0, MTS_ROLE_ATTRIBUTE, MTS_INFER_JSON);
	if (infer->nsamples == 0)
		mts_remark(infer, "there are no documents to infer columns from");
}

/*
 * mts_declare
 *		Declare the table of the reading.
 */
void
mts_declare(MtsInfer *infer)
{
	if (infer->reading.ncontainers > 0)
		declare_points(infer);
	else
		declare_rows(infer);
}
