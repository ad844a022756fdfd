/*
 * declare.c
 *		Declares a reading: the time, the values, the bucket's options, keys
 *		and attributes, or the fields of documents that are rows.
 */
#include "advice/infer/infer_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Arrays of more elements are not details of their documents. */
#define MAX_DETAILS 3

/* So many buckets with the most points show that these are full. */
#define MIN_FULL 3

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
	{
		if (reading->time_node >= 0)
			mts_time_field_write(infer, reading->time_node,
								 reading->time_format, column->format);
		else
			mts_time_field_write(infer, reading->bucket->node,
								 reading->bucket->format, column->format);
	}
	if (owns_time && reading->bucket &&
		mts_remark_path(infer, reading->bucket->node, result->bucket_time))
		mts_time_field_write(infer, reading->bucket->node,
							 reading->bucket->format, result->bucket_format);
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
	if (reading->span != MTS_NO_UNIT)
		infer->result->span = mts_unit_span(reading->span);
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

/* ---- Buckets ------------------------------------------------------------ */

/* Whether points are arrays, or columns are elements of others */
static bool
has_elements(const MtsInferred *result)
{
	char names[MTS_MAX_PATH];
	MtsPath path;
	MtsError error;

	for (int i = 0; i < result->ncolumns; i++)
		if (mts_path_parse(result->columns[i].field, names, &path, &error) &&
			mts_path_has_index(&path))
			return true;
	return false;
}

/* Decide whether an INSERT would find the right bucket. */
static void
check_insert(MtsInfer *infer, int alike, int64_t most, int full)
{
	const MtsReading *reading = &infer->reading;
	MtsInferred *result = infer->result;
	bool has_arrays = reading->nslots == 1 && reading->names == 0 &&
					  reading->slots[0].unit == MTS_NO_UNIT;

	if (has_elements(result))
		result->readonly =
			"Its columns are elements of arrays, which cannot be written.";
	else if (!reading->bucket)
		result->readonly =
			has_arrays
				? "No field holds the time of the buckets, so an INSERT requires option \"bucket_max_points\", the most points of a bucket."
				: "No field holds the time of the buckets, so an INSERT would not find them.";
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
	MtsTime *starts =
		mts_infer_allocate(infer, infer->nsamples, sizeof(MtsTime));
	MtsTime *ends =
		mts_infer_allocate(infer, infer->nsamples, sizeof(MtsTime));
	int64_t most;
	int full;

	mts_declare_points(infer);
	most = mts_total_declare(infer, &full, starts, ends);
	check_insert(infer, mts_key_declare(infer, starts, ends), most, full);
	infer->host->release(starts);
	infer->host->release(ends);
	if (infer->nexcluded > 0)
		(void) mts_remark_dotted(infer, infer->reading.bucket->node,
								 infer->result->required);
	sort_columns(infer);
}

/* ---- Documents that are rows ------------------------------------------- */

/* Whether a node's type identifies a series by itself */
static bool
is_natural_key(const MtsInfer *infer, int node)
{
	bool is_array;
	MtsInferType type = mts_column_type(infer, node, &is_array);

	return !is_array && type != MTS_INFER_JSON && type != MTS_INFER_BYTES &&
		   type != MTS_INFER_TIME && type != MTS_INFER_ANY &&
		   mts_survey_all(&infer->survey, node, mts_column_is_whole);
}

/*
 * How well a field is the time of documents, best first: all documents have
 * it, it has the name of the column, it is not named after the storing, and it
 * is not a number.  Of others, the one that differs in most documents is it.
 */
static int
rank_time(const MtsInfer *infer, const MtsTimeField *field)
{
	const char *name = infer->hints->time_column;
	bool is_meant =
		name && strcmp(infer->survey.nodes[field->node].name, name) == 0;

	return 8 * (infer->fields[0].present - field->present) + 4 * !is_meant +
		   2 * mts_time_field_is_storing(infer, field) +
		   mts_time_field_is_number(field->format);
}

/* The time of documents, or NULL */
static const MtsTimeField *
choose_time(const MtsInfer *infer)
{
	const MtsTimeField *time = NULL;

	for (int i = 0; i < infer->nfields; i++)
	{
		const MtsTimeField *field = &infer->fields[i];

		if (infer->hints->time
				? !time &&
					  mts_column_is_in(infer, field->node, infer->hints->time)
				: !time || rank_time(infer, field) < rank_time(infer, time) ||
					  (rank_time(infer, field) == rank_time(infer, time) &&
					   field->distinct > time->distinct))
			time = field;
	}
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
	const MtsTimeField *time =
		infer->reading.bucket ? infer->reading.bucket : choose_time(infer);
	MtsInferColumn *column;
	MtsLeaves leaves;

	mts_column_leaves(infer, 0, &leaves);
	for (int i = 0; i < leaves.n; i++)
	{
		int node = leaves.nodes[i];
		bool is_time = time && node == time->node;

		if (is_native && infer->survey.nodes[node].depth == 1 &&
			mts_column_is_in(infer, node, "_id"))
			continue;
		column = mts_column_add(infer, node,
								is_time ? MTS_ROLE_TIME
								: is_natural_key(infer, node) ||
										mts_column_has_only(infer, node,
															MTS_NUMBER_TYPES)
									? MTS_ROLE_KEY
									: MTS_ROLE_ATTRIBUTE);
		if (column && is_time)
			mts_time_field_write(infer, node, time->format, column->format);
		if (column && is_time)
			column->is_not_null = is_native;
	}
	if (is_native)
		mts_key_choose_meta(infer);
	if (is_native && infer->nsamples == 0)
		declare_native(infer);
	else if (infer->nsamples == 0 || root->has_odd_keys ||
			 root->is_truncated || leaves.nlost > 0 ||
			 mts_survey_child(&infer->survey, 0, MTS_NODE_KEYS) >= 0 ||
			 (!is_native && infer->result->ncolumns < leaves.n))
		mts_column_add(infer, 0, MTS_ROLE_ATTRIBUTE);
}

/* Whether the declared times are finer than PostgreSQL's */
static bool
are_finer(const MtsInfer *infer)
{
	const MtsInferred *table = infer->result;
	const MtsTimeField *bucket = infer->reading.bucket;
	bool are_whole = !bucket || mts_time_field_fits(infer, bucket->node,
													bucket->format, false);

	for (int i = 0; i < table->ncolumns; i++)
	{
		const MtsInferColumn *column = &table->columns[i];

		are_whole &=
			column->role != MTS_ROLE_TIME || column->node <= 0 ||
			mts_time_field_fits(infer, column->node, column->format, false);
	}
	return !are_whole && infer->nsamples > 0;
}

/* Whether a value is not a text with an offset from UTC that is not zero */
static bool
is_in_utc(const MtsElement *element)
{
	size_t len;
	const char *text =
		element->type == BSON_TYPE_UTF8 ? mts_element_text(element, &len) : "";
	const char *time = strchr(text, ':');
	const char *sign = time ? strpbrk(time, "+-") : NULL;

	return !sign || strspn(sign + 1, "0:") == strlen(sign + 1);
}

/* Let a table be read-only if an INSERT would write other offsets. */
static void
check_offsets(MtsInfer *infer)
{
	MtsInferred *result = infer->result;

	for (int i = 0; i < result->ncolumns && !result->readonly; i++)
	{
		const MtsInferColumn *column = &result->columns[i];
		char *reason;

		if (strcmp(column->format, "iso8601") != 0 ||
			mts_survey_all(&infer->survey, column->node, is_in_utc))
			continue;
		reason = mts_infer_allocate(infer, MTS_INFER_REMARK, 1);
		snprintf(
			reason, MTS_INFER_REMARK,
			"The texts in \"%s\" have offsets from UTC, but an INSERT writes +00:00.",
			mts_remark_label(infer, column->node));
		result->readonly = reason;
	}
}

/* mts_declare_table: declare the table of the reading */
void
mts_declare_table(MtsInfer *infer)
{
	MtsLeaves leaves;

	mts_column_leaves(infer, 0, &leaves);
	infer->nlost = leaves.nlost;
	infer->rival = -1;
	if (infer->reading.ncontainers > 0)
		declare_buckets(infer);
	else
		declare_rows(infer);
	infer->result->truncates = are_finer(infer);
	check_offsets(infer);
}

/*
 * Whether the elements of the reading's arrays describe what is measured once
 * a document, like the receivers of a message: there are few of them, beside
 * fractions that are not totals of them.
 */
static bool
are_details(const MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;
	MtsLeaves leaves;

	if (reading->ncontainers == 0 || reading->time_node < 0 ||
		reading->nslots != 1 || reading->slots[0].unit != MTS_NO_UNIT ||
		infer->survey.nodes[reading->containers[0]].greatest >= MAX_DETAILS)
		return false;
	mts_column_leaves(infer, 0, &leaves);
	for (int i = 0; i < leaves.n; i++)
		if (infer->survey.nodes[leaves.nodes[i]].nslots == 0 &&
			!infer->is_total[leaves.nodes[i]] &&
			mts_column_has_only(infer, leaves.nodes[i], MTS_NUMBER_TYPES) &&
			!mts_survey_all(&infer->survey, leaves.nodes[i],
							mts_column_is_whole))
			return true;
	return false;
}

/* Declare documents as rows instead of the elements of their arrays. */
static void
declare_whole(MtsInfer *infer)
{
	MtsInferred *result = infer->result, kept = *result;

	infer->details = infer->reading;
	infer->reading = (MtsReading){.span = MTS_NO_UNIT, .time_node = -1};
	infer->nothers = 0;
	*result = (MtsInferred){.value = kept.value};
	strcpy(result->group, kept.group);
	memset(infer->is_declared, 0, infer->survey.nnodes * sizeof(bool));
	mts_declare_table(infer);
}

/*
 * mts_declare
 *		Declare the table of the reading, with remarks and alternatives.
 */
void
mts_declare(MtsInfer *infer)
{
	mts_declare_table(infer);
	if (are_details(infer))
		declare_whole(infer);
	mts_doubt(infer);
	mts_doubt_list_alternatives(infer);
}
