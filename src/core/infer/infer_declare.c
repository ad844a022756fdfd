/*
 * infer_declare.c
 *		Declare the columns of a reading: time, values, keys.
 *
 * What the buckets keep of their points (infer_totals.c, infer_bucket.c) is
 * declared between values and keys, and is no column.
 */
#include "core/infer/infer_private.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Shorter arrays of numbers are a list, of which nothing need be said. */
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

/* Are there numbers that would identify nothing? */
static bool
has_fractions(const MtsInfer *infer, int node)
{
	for (int i = 0; i < infer->nsamples; i++)
		if (!mts_survey_visit(&infer->survey, i, node, is_whole, NULL))
			return true;
	return false;
}

/*
 * remark_array
 *		Say why an array that could be a series is jsonb.
 */
static void
remark_array(MtsInfer *infer, int node)
{
	const MtsNode *nodes = infer->survey.nodes;
	int child = mts_survey_child(&infer->survey, node, MTS_NODE_ELEMENTS);
	int inner =
		child < 0 ? -1
				  : mts_survey_child(&infer->survey, child, MTS_NODE_ELEMENTS);
	char path[MTS_MAX_PATH], other[MTS_MAX_PATH];

	if (inner >= 0 && mts_infer_is_tuple(infer, inner))
		mts_infer_remark(
			infer,
			"%s: declared as jsonb, as its elements are arrays of %lld whose positions differ in meaning, and a path cannot name a position",
			mts_infer_show(infer, node, path),
			(long long) nodes[inner].greatest + 1);
	else if (child >= 0 && infer->doubtful > 0 &&
			 mts_survey_is_within(&infer->survey, infer->doubtful, child))
		mts_infer_remark(
			infer,
			"%s: declared as jsonb, as there is too little evidence that %s is an offset from a time; if it is, declare a column with this field and a format such as offset:second",
			mts_infer_show(infer, node, path),
			mts_infer_show(infer, infer->doubtful, other));
	else if (child >= 0 && infer->nfields > 0 &&
			 nodes[child].greatest + 1 >= MIN_ARRAY &&
			 mts_infer_is_only(infer, child,
							   MTS_NUMBER_TYPES |
								   MTS_TYPE_BIT(BSON_TYPE_ARRAY)))
		mts_infer_remark(
			infer,
			"%s: declared as jsonb, as arrays of up to %lld elements do not show which time an element stands for; if they count a unit, ALTER FOREIGN TABLE can give the column a type and a field such as %s[{minute}]",
			mts_infer_show(infer, node, path),
			(long long) nodes[child].greatest + 1, path);
}

/* Declare what is no time; say why when it is jsonb though it need not be. */
static void
declare(MtsInfer *infer, int node, MtsRole role, bool is_value)
{
	uint32_t types = mts_infer_types(infer, node);
	MtsInferType type = mts_infer_type(infer, node, is_value);
	char path[MTS_MAX_PATH];

	if (role == MTS_ROLE_KEY &&
		(type == MTS_INFER_JSON || type == MTS_INFER_BYTES ||
		 type == MTS_INFER_TIME || (!is_value && has_fractions(infer, node))))
		role = MTS_ROLE_ATTRIBUTE;
	if (!mts_infer_column(infer, node, role, type))
		return;
	if (types == 0)
		mts_infer_remark(infer,
						 "%s: null in all samples, so its type is not known",
						 mts_infer_show(infer, node, path));
	else if (infer->survey.nodes[node].has_odd_keys)
		mts_infer_remark(
			infer,
			"%s: has keys such as 07, so they do not count a unit; declared as jsonb",
			mts_infer_show(infer, node, path));
	else if (type == MTS_INFER_JSON && (types & (types - 1)) != 0)
		mts_infer_remark(
			infer,
			"%s: declared as jsonb, as values of several types stand there",
			mts_infer_show(infer, node, path));
	else if (type == MTS_INFER_TEXT && mts_infer_seems_time(infer, node))
		mts_infer_remark(
			infer,
			"%s: looks like a time, but in no known pattern; if it is one, give the column a format, text: with a pattern of to_char",
			mts_infer_show(infer, node, path));
	else if (types == MTS_TYPE_BIT(BSON_TYPE_ARRAY))
		remark_array(infer, node);
	else if (infer->reading.ncontainers > 0 && type == MTS_INFER_JSON &&
			 mts_survey_child(&infer->survey, node, MTS_NODE_NUMBERS) >= 0)
		mts_infer_remark(
			infer,
			"%s: has keys that are numbers, but not the slots of the points; declared as jsonb",
			mts_infer_show(infer, node, path));
}

/*
 * declare_offered
 *		Say what the columns' fields would be in the readings that are kept.
 */
static void
declare_offered(MtsInfer *infer)
{
	MtsInferred *result = infer->result;
	MtsReading taken = infer->reading;

	for (int i = 0; i < result->nothers; i++)
	{
		infer->reading = infer->readings[i];
		for (int j = 0; j < result->ncolumns; j++)
		{
			MtsInferColumn *column = &result->columns[j];

			if (infer->nodes[j] < 0 ||
				!mts_infer_path(infer, infer->nodes[j], column->others[i]) ||
				strcmp(column->others[i], column->field) == 0)
				column->others[i][0] = '\0';
		}
	}
	infer->reading = taken;
}

/*
 * mts_infer_points
 *		Declare the columns of points: their time, what their slots are called,
 *		their values.
 */
void
mts_infer_points(MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;
	bool owns_time = reading->own_time >= 0;
	MtsInferColumn *column;

	/* the first one gets the name that the path has */
	if (reading->is_unpivoted)
		mts_infer_column(infer, -1, MTS_ROLE_SLOT, MTS_INFER_TEXT);
	column =
		mts_infer_column(infer,
						 owns_time ? reading->own_time : reading->bucket->node,
						 MTS_ROLE_TIME, MTS_INFER_TIME);
	if (column)
		strcpy(column->format,
			   owns_time ? reading->own_format : reading->bucket->format);
	if (!owns_time)
		mts_infer_doubt(infer, reading->bucket->node, reading->bucket->format);
	for (int i = 0; i < reading->ncontainers; i++)
	{
		int container = reading->containers[i];
		int leaves[MTS_INFER_COLUMNS];
		int n = 1;

		leaves[0] = container;
		if (!reading->is_unpivoted && mts_infer_is_record(infer, container))
		{
			mts_infer_leaves(infer, container);
			n = infer->nleaves;
			memcpy(leaves, infer->leaves, n * sizeof(int));
		}
		for (int j = 0; j < n; j++)
			if (leaves[j] != reading->own_time)
				declare(infer, leaves[j], MTS_ROLE_VALUE, true);
	}
	declare_offered(infer);
}

/* In which order columns are declared */
static int
role_rank(MtsRole role)
{
	switch (role)
	{
		case MTS_ROLE_TIME:
			return 0;
		case MTS_ROLE_KEY:
			return 1;
		case MTS_ROLE_SLOT:
			return 2;
		case MTS_ROLE_VALUE:
			return 3;
		default:
			return 4;
	}
}

static void
order_columns(MtsInferred *result)
{
	for (int i = 1; i < result->ncolumns; i++)
	{
		MtsInferColumn column = result->columns[i];
		int j = i;

		for (; j > 0 &&
			   role_rank(column.role) < role_rank(result->columns[j - 1].role);
			 j--)
			result->columns[j] = result->columns[j - 1];
		result->columns[j] = column;
	}
}

/* Say which totals stand among slots, level by level. */
static void
remark_totals(MtsInfer *infer)
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
						"%s: left out, as it stands beside slots and is not a point",
						mts_infer_show(infer, child, path));
		}
	}
}

static bool
is_never(void *arg, const MtsElement *element)
{
	return false;
}

/* Has a document that is a bucket this field? */
static bool
has_bucket(const MtsInfer *infer, int node)
{
	for (int i = 0; i < infer->nsamples; i++)
		if (!infer->others[i] &&
			!mts_survey_visit(&infer->survey, i, node, is_never, NULL))
			return true;
	return false;
}

/*
 * mts_infer_keys
 *		Declare the bucket's own fields, as far as they are not declared yet.
 *
 * An _id that is no subdocument only tells documents apart.
 */
void
mts_infer_keys(MtsInfer *infer)
{
	int leaves[MTS_INFER_COLUMNS];
	int n;

	mts_infer_leaves(infer, 0);
	n = infer->nleaves;
	memcpy(leaves, infer->leaves, n * sizeof(int));
	for (int i = 0; i < n; i++)
		if (!infer->used[leaves[i]] && !mts_infer_is_id(infer, leaves[i]) &&
			has_bucket(infer, leaves[i]))
			declare(infer, leaves[i], MTS_ROLE_KEY, false);
	remark_totals(infer);
	order_columns(infer->result);
}

/* Is a node the field of this name, or inside of it? */
static bool
is_in_field(const MtsInfer *infer, int node, const char *name)
{
	const MtsNode *nodes = infer->survey.nodes;

	while (nodes[node].depth > 1)
		node = nodes[node].parent;
	return name && nodes[node].depth == 1 &&
		   strcmp(nodes[node].name, name) == 0;
}

/* The field that is the time of documents, or NULL; numbers only if no other
 * field is one. */
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
					"%s: taken for the time, as it comes before %s, which could be it, too",
					mts_infer_show(infer, time->node, a),
					mts_infer_show(infer, field->node, b));
		}
	if (time)
		mts_infer_doubt(infer, time->node, time->format);
	if (time && !infer->hints->time && strncmp(time->format, "epoch", 5) == 0)
		mts_infer_remark(infer,
						 "%s: its numbers are taken for times, as format %s",
						 mts_infer_show(infer, time->node, a), time->format);
	return time;
}

/* Can paths say all that documents hold? */
static bool
is_named(const MtsInfer *infer)
{
	const MtsNode *root = &infer->survey.nodes[0];

	return infer->nsamples > 0 && !root->has_odd_keys && !root->is_truncated &&
		   mts_survey_child(&infer->survey, 0, MTS_NODE_NUMBERS) < 0;
}

/*
 * mts_infer_flat
 *		Declare documents as rows.
 */
void
mts_infer_flat(MtsInfer *infer)
{
	const MtsInferField *time;
	int leaves[MTS_INFER_COLUMNS];
	int n;

	infer->reading.ncontainers = 0;
	mts_infer_sort_fields(infer, false);
	time = choose_time(infer);
	mts_infer_leaves(infer, 0);
	n = infer->nleaves;
	memcpy(leaves, infer->leaves, n * sizeof(int));
	for (int i = 0; i < n; i++)
		if (time && leaves[i] == time->node)
		{
			MtsInferColumn *column =
				mts_infer_column(infer, leaves[i], MTS_ROLE_TIME,
								 MTS_INFER_TIME);

			if (column)
				strcpy(column->format, time->format);
		}
		else
			declare(infer, leaves[i], MTS_ROLE_KEY,
					!mts_infer_is_id(infer, leaves[i]) &&
						!is_in_field(infer, leaves[i], infer->hints->meta));
	if (!is_named(infer) || infer->nlost > 0 || infer->result->ncolumns < n)
		mts_infer_column(infer, 0, MTS_ROLE_ATTRIBUTE, MTS_INFER_JSON);
	if (infer->nsamples == 0)
		mts_infer_remark(infer,
						 "there are no documents to tell its columns from");
}
