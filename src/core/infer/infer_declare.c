/*
 * infer_declare.c
 *		Declares the columns of a reading: the time, values and keys.
 *
 * Fields that describe the points of a bucket are declared between values and
 * keys, as options (infer_totals.c, infer_bucket.c).
 */
#include "core/infer/infer_private.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Shorter arrays of numbers are lists, and no remark is made. */
#define MIN_ARRAY 4

static bool
is_whole(void *arg, const MtsElement *element)
{
	double d;

	if (element->type != BSON_TYPE_DOUBLE)
		return true;
	d = mts_element_double(element);
	return d == rint(d);
}

/* Whether a node has fractions, which do not identify a series */
static bool
has_fractions(const MtsInfer *infer, int node)
{
	return !mts_survey_visit_all(&infer->survey, node, is_whole, NULL);
}

/* Remark on the reason why an array that may be a series is jsonb. */
static void
remark_array(MtsInfer *infer, int node)
{
	const MtsNode *nodes = infer->survey.nodes;
	int child = mts_survey_child(&infer->survey, node, MTS_NODE_ELEMENTS);
	int inner =
		child < 0 ? -1
				  : mts_survey_child(&infer->survey, child, MTS_NODE_ELEMENTS);
	char path[MTS_MAX_PATH], other[MTS_MAX_PATH];

	if (inner >= 0 && mts_infer_has_tuples(infer, inner))
		mts_infer_remark(
			infer,
			"%s is declared as jsonb\nIts elements are arrays of %lld values, and a path cannot name a position in an array.",
			mts_infer_label(infer, node, path),
			(long long) nodes[inner].greatest + 1);
	else if (child >= 0 && infer->possible_offset > 0 &&
			 mts_survey_is_within(&infer->survey, infer->possible_offset,
								  child))
		mts_infer_remark(
			infer,
			"%s is declared as jsonb\nThe samples do not show whether %s is an offset from a time. If it is, declare a column with this field and a format such as offset:second.",
			mts_infer_label(infer, node, path),
			mts_infer_label(infer, infer->possible_offset, other));
	else if (child >= 0 && infer->nfields > 0 &&
			 nodes[child].greatest + 1 >= MIN_ARRAY &&
			 mts_infer_has_only(infer, child,
								MTS_NUMBER_TYPES |
									MTS_TYPE_BIT(BSON_TYPE_ARRAY)))
		mts_infer_remark(
			infer,
			"%s is declared as jsonb\nArrays of up to %lld elements do not show the time of an element. If the index counts a unit, give the column a type and a field such as %s[{minute}].",
			mts_infer_label(infer, node, path),
			(long long) nodes[child].greatest + 1, path);
}

/* Declare a column that is not the time, with a remark on a doubtful type. */
static void
declare(MtsInfer *infer, int node, MtsRole role, MtsInferUse use)
{
	uint32_t types = mts_infer_node_types(infer, node);
	MtsInferType type = mts_infer_column_type(infer, node, use);
	char path[MTS_MAX_PATH];

	if (role == MTS_ROLE_KEY &&
		(type == MTS_INFER_JSON || type == MTS_INFER_BYTES ||
		 type == MTS_INFER_TIME ||
		 (use == MTS_USE_IDENTIFY && has_fractions(infer, node))))
		role = MTS_ROLE_ATTRIBUTE;
	if (!mts_infer_add_column(infer, node, role, type))
		return;
	if (types == 0)
		mts_infer_remark(infer,
						 "%s is null in all samples, so its type is unknown",
						 mts_infer_label(infer, node, path));
	else if (infer->survey.nodes[node].has_odd_keys)
		mts_infer_remark(
			infer,
			"%s is declared as jsonb\nIt has keys such as 07, which cannot be slots.",
			mts_infer_label(infer, node, path));
	else if (type == MTS_INFER_JSON && (types & (types - 1)) != 0)
		mts_infer_remark(
			infer,
			"%s is declared as jsonb\nIt holds values of several types.",
			mts_infer_label(infer, node, path));
	else if (type == MTS_INFER_TEXT && mts_infer_looks_like_time(infer, node))
		mts_infer_remark(
			infer,
			"%s looks like a time, but has no known pattern\nIf it is a time, give the column a time type, and set its option \"format\" to text: with a pattern of to_char.",
			mts_infer_label(infer, node, path));
	else if (types == MTS_TYPE_BIT(BSON_TYPE_ARRAY))
		remark_array(infer, node);
	else if (infer->reading.ncontainers > 0 && type == MTS_INFER_JSON &&
			 mts_survey_child(&infer->survey, node, MTS_NODE_NUMBERS) >= 0)
		mts_infer_remark(
			infer,
			"%s is declared as jsonb\nIt has keys that are numbers, but are not the slots of the points.",
			mts_infer_label(infer, node, path));
}

static void
declare_time(MtsInfer *infer, int node, const char *format)
{
	MtsInferColumn *column =
		mts_infer_add_column(infer, node, MTS_ROLE_TIME, MTS_INFER_TIME);

	if (column)
		strcpy(column->format, format);
}

/* Declare the fields of columns in the alternative readings. */
static void
declare_alternatives(MtsInfer *infer)
{
	MtsInferred *result = infer->result;
	MtsReading reading = infer->reading;

	for (int i = 0; i < result->nalternatives; i++)
	{
		infer->reading = infer->alternatives[i];
		for (int j = 0; j < result->ncolumns; j++)
		{
			MtsInferColumn *column = &result->columns[j];

			if (infer->column_nodes[j] < 0 ||
				!mts_infer_write_path(infer, infer->column_nodes[j],
									  column->alternatives[i]) ||
				strcmp(column->alternatives[i], column->field) == 0)
				column->alternatives[i][0] = '\0';
		}
	}
	infer->reading = reading;
}

/*
 * mts_infer_declare_points
 *		Declare the columns of points: their time, their values, and the column
 *		of a {key} slot.
 */
void
mts_infer_declare_points(MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;

	/* first, as the path of the values names it */
	if (reading->is_unpivoted)
		mts_infer_add_column(infer, -1, MTS_ROLE_SLOT, MTS_INFER_TEXT);
	if (reading->time_node >= 0)
		declare_time(infer, reading->time_node, reading->time_format);
	else
	{
		declare_time(infer, reading->bucket->node, reading->bucket->format);
		mts_infer_remark_pattern(infer, reading->bucket->node,
								 reading->bucket->format);
	}
	for (int i = 0; i < reading->ncontainers; i++)
	{
		MtsInferLeaves leaves;

		mts_infer_collect_leaves(infer, reading->containers[i], &leaves);
		for (int j = 0; j < leaves.n; j++)
			if (leaves.nodes[j] != reading->time_node)
				declare(infer, leaves.nodes[j], MTS_ROLE_VALUE,
						MTS_USE_MEASURE);
	}
	declare_alternatives(infer);
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

/* Remark on the fields beside slots, which have no column. */
static void
remark_fields_beside_slots(MtsInfer *infer)
{
	char path[MTS_MAX_PATH];

	for (int i = 0; i < infer->reading.ncontainers; i++)
	{
		int node = infer->reading.containers[i];

		while ((node = infer->survey.nodes[node].parent) >= 0)
		{
			int child = infer->survey.nodes[node].child;

			if (infer->survey.nodes[node].nslots == 0)
				break;
			for (; child >= 0; child = infer->survey.nodes[child].next)
				if (infer->survey.nodes[child].kind == MTS_NODE_NAME &&
					!mts_survey_is_within(&infer->survey,
										  infer->reading.containers[i], child))
					mts_infer_remark(
						infer,
						"%s has no column, because it is beside slots and is not a point",
						mts_infer_label(infer, child, path));
		}
	}
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

/*
 * mts_infer_declare_keys
 *		Declare the bucket's own fields that are not declared yet.
 *
 * An _id that is not a subdocument only distinguishes documents, so it has no
 * column.
 */
void
mts_infer_declare_keys(MtsInfer *infer)
{
	MtsInferLeaves leaves;

	mts_infer_collect_leaves(infer, 0, &leaves);
	for (int i = 0; i < leaves.n; i++)
		if (!infer->is_declared[leaves.nodes[i]] &&
			!mts_infer_is_id(infer, leaves.nodes[i]) &&
			is_in_bucket(infer, leaves.nodes[i]))
			declare(infer, leaves.nodes[i], MTS_ROLE_KEY, MTS_USE_IDENTIFY);
	remark_fields_beside_slots(infer);
	sort_columns(infer->result);
}

/* Whether a node is the field of this name, or inside of it */
static bool
is_in_field(const MtsInfer *infer, int node, const char *name)
{
	const MtsNode *nodes = infer->survey.nodes;

	while (nodes[node].depth > 1)
		node = nodes[node].parent;
	return name && nodes[node].depth == 1 &&
		   strcmp(nodes[node].name, name) == 0;
}

/*
 * The field that is the time of documents, numbers only as a last choice, or
 * NULL
 */
static const MtsInferField *
choose_time(MtsInfer *infer)
{
	const MtsInferField *time = NULL;
	char a[MTS_MAX_PATH], b[MTS_MAX_PATH];

	for (int pass = 0; pass < 2 && !time; pass++)
		for (int i = 0; i < infer->nfields; i++)
		{
			const MtsInferField *field = &infer->fields[i];

			if (infer->hints->time
					? !is_in_field(infer, field->node, infer->hints->time)
					: (strncmp(field->format, "epoch", 5) == 0) != (pass == 1))
				continue;
			if (!time)
				time = field;
			else if (field->present == time->present)
				mts_infer_remark(
					infer,
					"%s is assumed to be the time\nField %s, which comes later, could also be the time.",
					mts_infer_label(infer, time->node, a),
					mts_infer_label(infer, field->node, b));
		}
	if (time)
		mts_infer_remark_pattern(infer, time->node, time->format);
	if (time && !infer->hints->time && strncmp(time->format, "epoch", 5) == 0)
		mts_infer_remark(
			infer, "the numbers in %s are assumed to be times in format %s",
			mts_infer_label(infer, time->node, a), time->format);
	return time;
}

/* Whether paths lead to all fields of documents */
static bool
has_only_names(const MtsInfer *infer)
{
	const MtsNode *root = &infer->survey.nodes[0];

	return infer->nsamples > 0 && !root->has_odd_keys && !root->is_truncated &&
		   mts_survey_child(&infer->survey, 0, MTS_NODE_NUMBERS) < 0;
}

/*
 * mts_infer_declare_rows
 *		Declare documents as rows, and the whole document as a column if some
 *		fields have none.
 */
void
mts_infer_declare_rows(MtsInfer *infer)
{
	const MtsInferField *time;
	MtsInferLeaves leaves;

	mts_infer_sort_fields(infer, MTS_FIELDS_BY_BUCKETS);
	time = choose_time(infer);
	mts_infer_collect_leaves(infer, 0, &leaves);
	for (int i = 0; i < leaves.n; i++)
	{
		int node = leaves.nodes[i];
		bool is_measured = !mts_infer_is_id(infer, node) &&
						   !is_in_field(infer, node, infer->hints->meta);

		if (time && node == time->node)
			declare_time(infer, node, time->format);
		else
			declare(infer, node, MTS_ROLE_KEY,
					is_measured ? MTS_USE_MEASURE : MTS_USE_IDENTIFY);
	}
	if (!has_only_names(infer) || leaves.nlost > 0 ||
		infer->result->ncolumns < leaves.n)
		mts_infer_add_column(infer, 0, MTS_ROLE_ATTRIBUTE, MTS_INFER_JSON);
	if (infer->nsamples == 0)
		mts_infer_remark(infer,
						 "there are no documents to infer columns from");
}
