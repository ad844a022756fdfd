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

/* So many buckets with the most points show that these are full. */
#define MIN_FULL 3

/* So many times, and this part of them, begin no longer unit by chance. */
#define MIN_LONGER 2
#define MAX_RATIO 4

/* ---- Points ------------------------------------------------------------ */

/* The bucket_span of a reading, or "" if it is the default */
static void
write_span(const MtsReading *reading, char *text)
{
	MtsSpan span, outer = {0};

	text[0] = '\0';
	if (reading->span == MTS_NO_UNIT)
		return;
	span = mts_unit_span(reading->span);
	if (reading->time_node < 0 && reading->slots[0].unit != MTS_NO_UNIT &&
		strchr(reading->slots[0].text, '{') ==
			strrchr(reading->slots[0].text, '{'))
		outer = mts_span_enclosing(mts_unit_span(reading->slots[0].unit));
	if (span.months == outer.months && span.days == outer.days &&
		span.usecs == outer.usecs)
		return;
	(void) mts_unit_amount(reading->span, text);
}

/* Declare the time and the keys of a slot, before all other columns. */
static void
declare_time(MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;
	MtsInferred *result = infer->result;
	bool owns_time = reading->time_node >= 0 || reading->has_time_keys;
	MtsInferColumn *column;

	/* a path names the column of a slot: it is "key" even if the time is */
	if (reading->is_unpivoted || reading->names > 0)
		(void) mts_column_add(infer, MTS_SLOT_COLUMN, MTS_ROLE_SLOT);
	column = mts_column_add(infer,
							reading->has_time_keys    ? MTS_SLOT_COLUMN
							: reading->time_node >= 0 ? reading->time_node
													  : reading->bucket->node,
							MTS_ROLE_TIME);
	if (column && !reading->has_time_keys)
		strcpy(column->format, reading->time_node >= 0
								   ? reading->time_format
								   : reading->bucket->format);
	if (owns_time && reading->bucket &&
		mts_remark_path(infer, reading->bucket->node, result->bucket_time))
		strcpy(result->bucket_format, reading->bucket->format);
	if (reading->bucket)
		infer->is_declared[reading->bucket->node] = true;
}

/* mts_declare_points: declare the points of a reading. */
void
mts_declare_points(MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;
	MtsLeaves leaves;

	infer->result->has_buckets = true;
	infer->result->slots_are_local = reading->slots_are_local;
	infer->result->bucket_time_is_local =
		reading->bucket && reading->bucket->is_local;
	write_span(reading, infer->result->bucket_span);
	declare_time(infer);
	for (int i = 0; i < reading->ncontainers; i++)
	{
		mts_column_leaves(infer, reading->containers[i], &leaves);
		for (int j = 0; j < leaves.n; j++)
			if (leaves.nodes[j] != reading->time_node)
				(void) mts_column_add(infer, leaves.nodes[j], MTS_ROLE_VALUE);
	}
}

/* ---- Keys -------------------------------------------------------------- */

/* Extend the hashes of all samples by a node. */
static void
hash_node(const MtsInfer *infer, int node, const uint64_t *from, uint64_t *to)
{
	const uint64_t prime = UINT64_C(1099511628211);
	MtsElement element;

	for (int i = 0; i < infer->nsamples; i++)
	{
		to[i] = (from[i] ^ (uint64_t) node) * prime;
		if (!mts_survey_find(&infer->survey, i, node, &element))
			continue;
		to[i] = (to[i] ^ element.type) * prime;
		for (uint32_t j = 0; j < element.size; j++)
			to[i] = (to[i] ^ element.value[j]) * prime;
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

/* Whether a bucket has this field */
static bool
is_in_bucket(const MtsInfer *infer, int node)
{
	MtsElement element;

	for (int i = 0; i < infer->nsamples; i++)
		if (!infer->is_excluded[i] &&
			mts_survey_find(&infer->survey, i, node, &element))
			return true;
	return false;
}

static bool
is_whole(const MtsElement *element)
{
	return element->type != BSON_TYPE_DOUBLE ||
		   mts_element_double(element) == rint(mts_element_double(element));
}

/* Whether a node's type identifies a series by itself */
static bool
is_natural_key(const MtsInfer *infer, int node)
{
	bool is_array;
	MtsInferType type = mts_column_type(infer, node, &is_array);

	return !is_array && type != MTS_INFER_JSON && type != MTS_INFER_BYTES &&
		   type != MTS_INFER_TIME &&
		   mts_survey_all(&infer->survey, node, is_whole);
}

/* Whether a node is the field _id of documents, and not inside of it */
static bool
is_id(const MtsInfer *infer, int node)
{
	return infer->survey.nodes[node].depth == 1 &&
		   mts_column_is_in(infer, node, "_id");
}

/*
 * Declare the keys and attributes: natural keys, and of the other fields those
 * that tell samples apart.  Returns how many samples are still alike.
 */
static int
declare_keys(MtsInfer *infer)
{
	MtsLeaves leaves;
	uint64_t *hashes = mts_infer_allocate(infer, 2 * infer->nsamples + 1, 8);
	uint64_t *next = hashes + infer->nsamples;
	int alike = 0;

	mts_column_leaves(infer, 0, &leaves);
	if (infer->reading.bucket)
		hash_node(infer, infer->reading.bucket->node, hashes, hashes);
	for (int pass = 0; pass < 2; pass++)
	{
		alike = count_alike(infer, hashes);
		for (int i = 0; i < leaves.n; i++)
		{
			int node = leaves.nodes[i];
			bool is_array, is_key = pass == 0;

			if (infer->is_declared[node] || !is_in_bucket(infer, node) ||
				infer->survey.nodes[node].nslots > 0 || is_id(infer, node) ||
				(pass == 0 && !is_natural_key(infer, node)))
				continue;
			hash_node(infer, node, hashes, next);
			if (pass == 1 && alike > 0 &&
				mts_column_type(infer, node, &is_array) != MTS_INFER_JSON)
				is_key = count_alike(infer, next) < alike;
			(void) mts_column_add(infer, node,
								  is_key ? MTS_ROLE_KEY : MTS_ROLE_ATTRIBUTE);
			if (!is_key)
				continue;
			memcpy(hashes, next, infer->nsamples * sizeof(uint64_t));
			alike = count_alike(infer, hashes);
		}
	}
	infer->host->release(hashes);
	return alike;
}

/* Decide whether an INSERT would find the right bucket. */
static void
check_insert(MtsInfer *infer, int alike, int64_t most, int full)
{
	const MtsReading *reading = &infer->reading;
	MtsInferred *result = infer->result;
	bool has_arrays = reading->nslots == 1 && reading->names == 0 &&
					  reading->slots[0].unit == MTS_NO_UNIT;

	if (!reading->bucket)
		result->readonly =
			"No field holds the time of the buckets, so an INSERT would not find them.";
	else if (reading->span != MTS_NO_UNIT &&
			 !mts_time_field_begins(infer, reading->bucket, reading->span))
		result->readonly =
			"Buckets do not begin at multiples of their span, as an INSERT would begin them.";
	else if (infer->nexcluded > 0)
		result->readonly =
			"Option \"filter\" requires a field in a way that an INSERT cannot ensure.";
	else if (alike > 0 && has_arrays && full >= MIN_FULL && most > 1)
		result->max_points = most;
	else if (alike > 0)
		result->readonly =
			"Several documents have the same time and keys, so an INSERT would not find the right one.";
}

/* ---- Order ------------------------------------------------------------- */

static int
compare_columns(const void *a, const void *b)
{
	const MtsInferColumn *x = a, *y = b;

	return x->rank - y->rank;
}

/*
 * Sort the columns: the time, slots, and then as documents have the fields.  A
 * time in the _id has its place there, since an INSERT writes the _id in the
 * order of the columns.
 */
static void
sort_columns(MtsInfer *infer)
{
	MtsInferred *result = infer->result;
	const MtsTimeField *bucket = infer->reading.bucket;
	bool is_in_id = bucket && mts_column_is_in(infer, bucket->node, "_id");
	MtsLeaves leaves;

	mts_column_leaves(infer, 0, &leaves);
	for (int i = 0; i < result->ncolumns; i++)
	{
		MtsInferColumn *column = &result->columns[i];
		bool is_time = column->role == MTS_ROLE_TIME;

		column->rank = is_time && !is_in_id ? -2 : -1;
		for (int j = 0; column->rank == -1 && j < leaves.n; j++)
			if (leaves.nodes[j] == (is_time ? bucket->node : column->node))
				column->rank = j;
	}
	qsort(result->columns, result->ncolumns, sizeof(MtsInferColumn),
		  compare_columns);
}

/* Declare a table of buckets. */
static void
declare_buckets(MtsInfer *infer)
{
	int64_t most;
	int full;

	mts_declare_points(infer);
	most = mts_total_declare(infer, &full);
	check_insert(infer, declare_keys(infer), most, full);
	if (infer->nexcluded > 0)
		(void) mts_remark_dotted(infer, infer->reading.bucket->node,
								 infer->result->required);
	sort_columns(infer);
}

/* ---- Documents that are rows ------------------------------------------- */

/* The time of documents, numbers only as a last choice, or NULL */
static const MtsTimeField *
choose_time(MtsInfer *infer)
{
	const MtsTimeField *time = NULL;

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
					"%s is assumed to be the time\nField %s could also be the time.",
					mts_remark_label(infer, time->node),
					mts_remark_label(infer, field->node));
		}
	if (time && !infer->hints->time && strncmp(time->format, "epoch", 5) == 0)
		mts_remark(infer,
				   "the numbers in %s are assumed to be times in format %s",
				   mts_remark_label(infer, time->node), time->format);
	return time;
}

/* Declare the fields of a native collection that has no documents. */
static void
declare_native(MtsInfer *infer)
{
	for (int node = 1; node < infer->survey.nnodes; node++)
	{
		MtsInferColumn *column =
			mts_column_add(infer, node,
						   node == 1 ? MTS_ROLE_TIME : MTS_ROLE_KEY);

		if (column)
			column->is_not_null = node == 1;
	}
}

static void
declare_rows(MtsInfer *infer)
{
	const MtsNode *root = &infer->survey.nodes[0];
	bool is_native = infer->hints->time != NULL;
	const MtsTimeField *time = choose_time(infer);
	MtsInferColumn *column;
	MtsLeaves leaves;

	mts_column_leaves(infer, 0, &leaves);
	for (int i = 0; i < leaves.n; i++)
	{
		int node = leaves.nodes[i];
		bool is_time = time && node == time->node;

		if (is_native && is_id(infer, node))
			continue;
		column = mts_column_add(infer, node,
								is_time ? MTS_ROLE_TIME
								: is_natural_key(infer, node) ||
										mts_column_has_only(infer, node,
															MTS_NUMBER_TYPES)
									? MTS_ROLE_KEY
									: MTS_ROLE_ATTRIBUTE);
		if (column && is_time)
			strcpy(column->format, time->format);
		if (column && is_time)
			column->is_not_null = is_native;
	}
	if (leaves.nlost > 0)
		mts_remark(infer, "%d fields beyond the first %d have no column",
				   leaves.nlost, leaves.n);
	if (is_native && infer->nsamples == 0)
		declare_native(infer);
	else if (infer->nsamples == 0 || root->has_odd_keys ||
			 root->is_truncated || leaves.nlost > 0 ||
			 mts_survey_child(&infer->survey, 0, MTS_NODE_KEYS) >= 0 ||
			 (!is_native && infer->result->ncolumns < leaves.n))
		mts_column_add(infer, 0, MTS_ROLE_ATTRIBUTE);
	if (infer->nsamples == 0)
		mts_remark(infer, "there are no documents to infer columns from");
}

/* Declare the table of the reading. */
static void
declare_table(MtsInfer *infer)
{
	if (infer->reading.ncontainers > 0)
		declare_buckets(infer);
	else
		declare_rows(infer);
}

/* ---- Remarks ----------------------------------------------------------- */

/* Describe the slots of a reading: "minutes of an hour". */
static void
describe(const MtsReading *reading, char *text, size_t size)
{
	char span[32], unit[32];
	size_t len = 0;

	for (int i = reading->nslots - 1; i >= 0 && len < size; i--)
		len += i + 1 == reading->names
				   ? snprintf(text + len, size - len, "names in ")
				   : snprintf(text + len, size - len,
							  mts_unit_is_single(reading->slots[i].unit)
								  ? "%ss of "
								  : "steps of %s in ",
							  mts_unit_name(reading->slots[i].unit, unit));
	(void) mts_unit_name(reading->span, span);
	if (len < size)
		snprintf(text + len, size - len, "%s%s%s",
				 !mts_unit_is_single(reading->span) ? ""
				 : span[0] == 'h'                   ? "an "
													: "a ",
				 span, reading->slots_are_local ? " by the local clock" : "");
}

/* Add the declaration of another reading, if it holds, to the last remark. */
static void
add_alternative(MtsInfer *infer, const MtsReading *reading,
				const char *condition)
{
	MtsInfer other = *infer;

	other.reading = *reading;
	other.is_declared =
		mts_infer_allocate(infer, infer->survey.nnodes, sizeof(bool));
	other.is_excluded =
		mts_infer_allocate(infer, infer->nsamples, sizeof(bool));
	other.result = NULL;
	if (reading->ncontainers > 0 && !mts_trial_holds(&other))
		return;
	other.result = mts_remark_alternative(infer, condition);
	other.is_quiet = true;
	strcpy(other.result->group, infer->result->group);
	other.result->value = infer->result->value;
	declare_table(&other);
}

/* Add documents that are rows to the last remark, which is on an array. */
static void
add_rows(MtsInfer *infer)
{
	MtsReading rows = {.span = MTS_NO_UNIT, .time_node = -1};

	add_alternative(infer, &rows, "If the elements are not times");
}

/* Add the other readings of a node's keys to the last remark. */
static void
add_others(MtsInfer *infer, int node, MtsGrade least)
{
	char text[80], condition[128];

	for (int i = 0; i < infer->nothers; i++)
		if (infer->others[i].grade >= least &&
			mts_survey_is_within(&infer->survey,
								 infer->others[i].containers[0], node))
		{
			describe(&infer->others[i], text, sizeof(text));
			snprintf(condition, sizeof(condition), "If the keys are %s%s",
					 text,
					 infer->others[i].bucket->is_local &&
							 !(infer->reading.bucket &&
							   infer->reading.bucket->is_local)
						 ? " in the session's time zone"
						 : "");
			add_alternative(infer, &infer->others[i], condition);
		}
}

/* Remark on numbers in an array that are not taken for times. */
static void
remark_array(MtsInfer *infer, int node)
{
	const MtsNode *child =
		&infer->survey
			 .nodes[mts_survey_child(&infer->survey, node, MTS_NODE_ELEMENTS)];

	if (infer->nfields > 0 && child->greatest + 1 >= MTS_MIN_ARRAY &&
		!(child->types & ~(MTS_NUMBER_TYPES | MTS_NULL_TYPES)))
		mts_remark(
			infer,
			"%s is declared as an array\nNothing shows that the index of its up to %lld numbers counts a unit of time.",
			mts_remark_label(infer, node), (long long) child->greatest + 1);
}

/* The reason why keys are not taken for times */
static const char *
find_key_reason(const MtsInfer *infer, int node)
{
	const MtsNode *keys = &infer->survey.nodes[node];

	/* the shortest key has one digit */
	return keys->nnumbers == 1 && keys->numbers[0].is_padded &&
				   keys->numbers[0].width == 1
			   ? "Some have leading zeros, and others do not."
			   : "Nothing shows that they count a unit of time.";
}

/* The reason why a column is jsonb, or NULL if documents are its purpose */
static const char *
find_json_reason(const MtsInfer *infer, int node)
{
	const MtsSurvey *survey = &infer->survey;
	uint32_t types = mts_column_bson_types(infer, node);
	int child = mts_survey_child(survey, node, MTS_NODE_ELEMENTS);

	if (survey->nodes[node].has_odd_keys)
		return "It has keys such as -1.";
	if ((types & (types - 1)) != 0)
		return "It holds values of several types.";
	if (survey->nodes[node].holds_tuples)
		return "Its values are tuples without a time.";
	if (child >= 0 && mts_column_is_record(infer, child))
		return "Its elements have no time that agrees with a time of their document.";
	types = child >= 0 ? mts_column_bson_types(infer, child) : 0;
	if (child >= 0)
		return types & (types - 1)
				   ? "The elements of its arrays have several types."
				   : "Nothing shows that the index of its arrays counts a unit of time.";
	if (mts_survey_child(survey, node, MTS_NODE_KEYS) >= 0)
		return "Its keys are numbers, and nothing shows that they count a unit of time.";
	return survey->nodes[node].is_truncated ? "It has too many keys." : NULL;
}

static bool
is_like_time(const MtsElement *element)
{
	size_t len, digits = 0;
	const char *text;

	if (element->type != BSON_TYPE_UTF8)
		return true;
	text = mts_element_text(element, &len);
	for (size_t i = 0; i < len; i++)
		digits += text[i] >= '0' && text[i] <= '9';
	return digits >= 6 && len < 40 && digits < len &&
		   strspn(text, MTS_DIGITS "-/.:+ TZ") == len;
}

/* Whether a node is the first of its parent and has a time of day as name */
static bool
is_first_time_of_day(const MtsInfer *infer, int node)
{
	const MtsNode *at = &infer->survey.nodes[node];

	return infer->survey.nodes[at->parent].child == node &&
		   strspn(at->name, MTS_DIGITS ":") == strlen(at->name) &&
		   strchr(at->name, ':');
}

/* Remark on texts that could be times, with the declaration as a time. */
static void
remark_text(MtsInfer *infer, const MtsInferColumn *column)
{
	MtsInferred *result = infer->result;
	char format[MTS_INFER_FORMAT];
	MtsInferred *other;

	if (!mts_time_field_find_format(infer, column->node, format))
	{
		mts_remark(infer, "%s looks like a time, but has no known pattern",
				   mts_remark_label(infer, column->node));
		return;
	}
	mts_remark(infer, "%s is declared as text\nIt could be a time.",
			   mts_remark_label(infer, column->node));
	other = mts_remark_alternative(infer, "If it is a time");
	*other = *result;
	other->nremarks = other->nalternatives = 0;
	other->columns =
		mts_infer_allocate(infer, result->ncolumns, sizeof(MtsInferColumn));
	memcpy(other->columns, result->columns,
		   result->ncolumns * sizeof(MtsInferColumn));
	other->columns[column - result->columns].type = MTS_INFER_TIME;
	strcpy(other->columns[column - result->columns].format, format);
}

/* Remark on the reason for a column's type. */
static void
remark_column(MtsInfer *infer, const MtsInferColumn *column, int node)
{
	const char *label = mts_remark_label(infer, node);
	const char *reason;

	if (is_first_time_of_day(infer, node))
		mts_remark(
			infer,
			"%s is a column, but its name could be a time of day\nToo few such names were sampled. If they are times, replace their columns by one, with a field such as v.{hour:00}:{minute:00}.",
			label);
	if (column->is_array)
		remark_array(infer, node);
	else if (mts_column_bson_types(infer, node) == 0)
		mts_remark(infer, "%s is null in all samples, so its type is unknown",
				   label);
	else if (column->type == MTS_INFER_TEXT &&
			 mts_survey_all(&infer->survey, node, is_like_time))
		remark_text(infer, column);
	else if (column->type == MTS_INFER_JSON &&
			 (reason = find_json_reason(infer, node)) != NULL)
	{
		mts_remark(infer, "%s is declared as jsonb\n%s", label, reason);
		if (infer->reading.ncontainers == 0)
			add_others(infer, node, MTS_GRADE_FITS);
	}
}

/* Remark that months may lack a zero, if none with one digit was sampled. */
static void
remark_pattern(MtsInfer *infer, int node, const char *format)
{
	const char *month = strstr(format, "MM");
	char other[MTS_INFER_FORMAT + 4];

	if (strncmp(format, "text:", 5) != 0 || !month || month[-1] == 'Y' ||
		strncmp(month - 2, "FM", 2) == 0 || strchr(month, 'D'))
		return;
	snprintf(other, sizeof(other), "%.*sFM%s", (int) (month - format), format,
			 month);
	if (mts_time_field_fits(infer, node, other))
		mts_remark(
			infer,
			"%s is assumed to have pattern %s\nNo month before October was sampled, so it could also be %s.",
			mts_remark_label(infer, node), format + 5, other + 5);
}

/* The integer that a node is in every sample, or 0 */
static int64_t
find_constant(const MtsInfer *infer, int node)
{
	int64_t constant = 0, n;
	MtsElement element;

	for (int i = 0; i < infer->nsamples; i++)
	{
		if (!mts_survey_find(&infer->survey, i, node, &element) ||
			!mts_element_integer(&element, 1e9, &n) ||
			(i > 0 && n != constant))
			return 0;
		constant = n;
	}
	return constant;
}

/*
 * Remark on a number beside arrays that may be the distance of their elements:
 * it is the same in all documents, and the arrays then end within the bucket.
 */
static void
remark_distance(MtsInfer *infer, int node)
{
	const MtsReading *reading = &infer->reading;
	MtsReading step = *reading;
	const MtsNode *keys = &infer->survey.nodes[reading->containers[0]];
	int64_t length = mts_span_length(mts_unit_span(reading->span), 0);
	char name[32];
	int64_t n;

	if (keys->kind != MTS_NODE_ELEMENTS || reading->nslots != 1 ||
		infer->survey.nodes[node].nslots > 0 ||
		(n = find_constant(infer, node)) < 2)
		return;
	for (int64_t scale = 1000; scale <= MTS_MINUTE;
		 scale *= scale < MTS_SECOND ? 1000 : 60)
	{
		step.slots[0].unit = mts_unit_find((MtsSpan){0, 0, n * scale});
		if (step.slots[0].unit == mts_unit_count() ||
			step.slots[0].unit == reading->slots[0].unit ||
			length % (n * scale * (keys->greatest + 1)) != 0)
			continue;
		(void) mts_evidence_write_slot(infer, reading->containers[0],
									   MTS_KEY_PLAIN, step.slots[0].unit, 0,
									   reading->span, step.slots[0].text);
		mts_remark(
			infer,
			"elements of %s are assumed to count the parts of their bucket\nThey could also be %s apart, as %s is %lld in all documents.",
			mts_remark_label(infer, reading->containers[0]),
			mts_unit_name(step.slots[0].unit, name),
			mts_remark_label(infer, node), (long long) n);
		add_alternative(infer, &step, "If that is their distance");
		return;
	}
}

/* Remark on slots that are not forced, or not the only ones that are. */
static void
remark_slots(MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;
	MtsReading names = *reading;
	bool is_forced = reading->grade == MTS_GRADE_FORCED && reading->names == 0;
	int first = reading->containers[0];
	char text[80], reason[96], span[32];
	const char *label = mts_remark_label(infer, first);
	bool has_others = false, is_local = false;

	for (int i = 0; i < infer->nothers; i++)
	{
		has_others |= !is_forced || infer->others[i].grade == MTS_GRADE_FORCED;
		is_local |= infer->others[i].bucket->is_local;
	}
	if (is_forced && !has_others)
		return;
	if (reading->names > 0)
		mts_remark(
			infer,
			"keys of %s are assumed to be names, and are values of column \"key\"\n%s",
			label, find_key_reason(infer, first));
	else
	{
		describe(reading, text, sizeof(text));
		if (!is_forced)
			snprintf(reason, sizeof(reason), reading->evidence,
					 mts_unit_amount(reading->span, span));
		mts_remark(
			infer, "keys of %s are assumed to be %s\n%s.", label, text,
			!is_forced ? reason
			: is_local && !reading->bucket->is_local
				? "Days could also begin in the session's time zone"
			: is_local
				? "They could also count the local clock, which differs on days when clocks change"
				: "Few bucket times were sampled");
	}
	add_others(infer, first, is_forced ? MTS_GRADE_FORCED : MTS_GRADE_NONE);
	if (infer->survey.nodes[first].kind == MTS_NODE_ELEMENTS)
		add_rows(infer);
	if (reading->names > 0 || reading->nslots != 1 || reading->is_unpivoted ||
		infer->survey.nodes[first].kind != MTS_NODE_KEYS)
		return;
	mts_candidate_set_names(&names, 0);
	names.span = MTS_NO_UNIT;
	names.slots_are_local = false;
	add_alternative(infer, &names, "If the keys are names");
}

/* Remark on the fields of buckets that have no column. */
static void
remark_lost_fields(MtsInfer *infer)
{
	const MtsNode *nodes = infer->survey.nodes;
	int keys = mts_survey_child(&infer->survey, 0, MTS_NODE_KEYS);
	MtsLeaves leaves;

	for (int i = 0; i < infer->reading.ncontainers; i++)
		for (int node = nodes[infer->reading.containers[i]].parent;
			 nodes[node].nslots > 0; node = nodes[node].parent)
			for (int child = nodes[node].child; child >= 0;
				 child = nodes[child].next)
				if (nodes[child].kind == MTS_NODE_NAME &&
					!infer->is_declared[child] &&
					!mts_survey_is_within(&infer->survey,
										  infer->reading.containers[i], child))
				{
					infer->is_declared[child] = true;
					mts_remark(
						infer,
						"%s has no column, because it is beside slots and is not a point",
						mts_remark_label(infer, child));
				}
	mts_column_leaves(infer, 0, &leaves);
	if (nodes[0].has_odd_keys || nodes[0].is_truncated || leaves.nlost > 0 ||
		(keys >= 0 &&
		 !mts_survey_is_within(&infer->survey, infer->reading.containers[0],
							   keys)))
		mts_remark(
			infer,
			"some fields have no column\nThere are more than %d, or their names are numbers or differ only by one.",
			MTS_READING_COLUMNS - 1);
}

/* The best grade of the keys of a container by the slots of the reading */
static MtsGrade
grade_container(const MtsInfer *infer, int container)
{
	MtsReading reading = infer->reading;
	MtsGrade grade = MTS_GRADE_FORCED;

	reading.containers[0] = container;
	for (int level = 0; level < reading.nslots; level++)
	{
		MtsGrade best = MTS_GRADE_NONE;

		for (MtsKeyForm form = 0; form < MTS_KEY_FORMS; form++)
		{
			MtsInferSlot slot = reading.slots[level];
			MtsGrade one =
				mts_evidence_grade(infer, &reading, level, form, &slot);

			best = one > best ? one : best;
		}
		grade = best < grade ? best : grade;
	}
	return grade;
}

/* Remark on keys that are times only because others are. */
static void
remark_siblings(MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;

	for (int i = 1; i < reading->ncontainers; i++)
		if (grade_container(infer, reading->containers[i]) < MTS_GRADE_ASSUMED)
			mts_remark(
				infer,
				"keys of %s are assumed to count the same unit as those of %s\nIf they are names, drop the column, and declare another table for them.",
				mts_remark_label(infer, reading->containers[i]),
				mts_remark_label(infer, reading->containers[0]));
}

/* Whether a field only repeats the unit in which the bucket's time lies */
static bool
is_derived(const MtsInfer *infer, const MtsTimeField *field,
		   const MtsTimeField *bucket)
{
	const MtsClock *clock = mts_time_field_clock(infer, field);
	bool derived = field->unit < mts_unit_count();

	for (int i = 0; i < infer->nsamples && derived; i++)
		derived =
			bucket->times[i] == MTS_TIME_MIN ||
			field->times[i] == mts_clock_floor(clock, bucket->times[i],
											   mts_unit_span(field->unit));
	return derived;
}

/* Remark on other fields that begin the buckets' span as well. */
static void
remark_times(MtsInfer *infer)
{
	const MtsTimeField *bucket = infer->reading.bucket;
	int span = infer->reading.span;

	for (int i = 0; i < infer->nfields; i++)
	{
		const MtsTimeField *field = &infer->fields[i];
		MtsReading other = infer->reading;

		if (field->node == bucket->node || field->present < bucket->present ||
			field->unit > (span == MTS_NO_UNIT ? bucket->unit : span) ||
			is_derived(infer, field, bucket))
			continue;
		mts_remark(
			infer,
			"%s is assumed to be the time\nField %s could also be the time.",
			mts_remark_label(infer, bucket->node),
			mts_remark_label(infer, field->node));
		other.bucket = field;
		add_alternative(infer, &other, "If that is the time");
	}
}

/* Remark on many bucket times that begin a longer unit than all of them. */
static void
remark_resolutions(MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;
	const MtsTimeField *bucket = reading->bucket;
	const MtsTime *sorted = bucket->times + infer->nsamples;
	int unit = reading->span, n = 0;
	char longer[32], name[32];

	if (unit == MTS_NO_UNIT || unit != bucket->unit || unit == 0)
		return;
	while (!mts_unit_is_single(--unit))
		;
	for (int i = 0; i < bucket->present; i++)
		n += (i == 0 || sorted[i] != sorted[i - 1]) &&
			 mts_clock_floor(mts_time_field_clock(infer, bucket), sorted[i],
							 mts_unit_span(unit)) == sorted[i];
	if (n >= MIN_LONGER && MAX_RATIO * n >= bucket->distinct)
		mts_remark(
			infer,
			"keys of %s are assumed to count the same unit in all documents\n%d of %d times in %s begin a longer unit (%s), so there may be documents of %ss and of %ss. Then declare a table for each, with option \"filter\".",
			mts_remark_label(infer, reading->containers[0]), n,
			bucket->distinct, mts_remark_label(infer, bucket->node),
			mts_unit_name(unit, longer), longer,
			mts_unit_name(reading->span, name));
}

/* Remark on what the buckets of the reading assume. */
static void
remark_buckets(MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;
	const MtsTimeField *bucket = reading->bucket;

	if (bucket && bucket->has_daily_phase)
		mts_remark(
			infer,
			"days in %s begin at another time than midnight\nThat is so in UTC and in the session's time zone. If they begin at midnight in another zone, drop the table, SET TimeZone to that zone, and import again.",
			mts_remark_label(infer, bucket->node));
	if (infer->nexcluded > 0)
		mts_remark(
			infer,
			"%d of %d sampled documents have no %s\nOption \"filter\" excludes such documents.",
			infer->nexcluded, infer->nsamples,
			mts_remark_label(infer, bucket->node));
	if (bucket)
		remark_pattern(infer, bucket->node, bucket->format);
	else if (reading->has_time_keys)
		mts_remark(
			infer,
			"keys of %s are assumed to be times\nNo field of the documents is the time of a bucket, so a range of time reads all documents.",
			mts_remark_label(infer, reading->containers[0]));
	if (strncmp(reading->time_format, "offset:", 7) == 0)
	{
		mts_remark(
			infer,
			"%s is assumed to be the time\nIt is declared with format %s, which counts since the bucket's time.",
			mts_remark_label(infer, reading->time_node), reading->time_format);
		add_rows(infer);
	}
	else if (reading->time_node < 0 && !reading->has_time_keys)
	{
		remark_slots(infer);
		if (reading->names == 0)
			remark_siblings(infer);
		remark_resolutions(infer);
		remark_times(infer);
	}
	else if (!bucket && strncmp(reading->time_format, "epoch", 5) == 0)
		mts_remark(
			infer,
			"the numbers in %s are assumed to be times in format %s\nNo field of the documents is the time of a bucket, so a range of time reads all documents.",
			mts_remark_label(infer, reading->time_node), reading->time_format);
	else if (!bucket && infer->nfields > 0 && !infer->result->first[0] &&
			 !infer->result->last[0])
		mts_remark(
			infer,
			"%s is assumed to be the time\nNo time of the document is that of its bucket.",
			mts_remark_label(infer, reading->time_node));
	if (reading->is_unpivoted)
		mts_remark(
			infer,
			"the names in the points of %s are assumed to be values of a column \"key\"\nSome points lack some of these names.",
			mts_remark_label(infer, reading->containers[0]));
	remark_lost_fields(infer);
}

/*
 * mts_declare
 *		Declare the table of the reading, with remarks.
 */
void
mts_declare(MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;

	declare_table(infer);
	if (reading->ncontainers > 0)
		remark_buckets(infer);
	for (int i = 0; i < infer->result->ncolumns; i++)
	{
		int node = infer->result->columns[i].node;

		if (node <= 0 || infer->nsamples == 0)
			continue;
		if (infer->result->columns[i].role != MTS_ROLE_TIME)
			remark_column(infer, &infer->result->columns[i], node);
		else if (!reading->bucket)
			remark_pattern(infer, node, infer->result->columns[i].format);
		if (reading->ncontainers > 0 && reading->time_node < 0 &&
			reading->slots[0].unit != MTS_NO_UNIT)
			remark_distance(infer, node);
	}
}
