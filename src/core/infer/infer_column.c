/*
 * infer_column.c
 *		What is the name and the type of the column for this place?
 *
 * A type holds all that was sampled, without loss.
 */
#include "core/infer/infer_private.h"

#include <stdio.h>
#include <string.h>

/* So many values show what they are. */
#define MANY_VALUES 100

/* Do only these types stand at a node, and nulls? */
bool
mts_infer_is_only(const MtsInfer *infer, int node, uint32_t types)
{
	uint32_t seen = infer->survey.nodes[node].types & ~MTS_NULL_TYPES;

	return seen != 0 && (seen & ~types) == 0;
}

/* Is it always a subdocument, of names only? */
bool
mts_infer_is_record(const MtsInfer *infer, int node)
{
	const MtsNode *at = &infer->survey.nodes[node];

	return mts_infer_is_only(infer, node, MTS_TYPE_BIT(BSON_TYPE_DOCUMENT)) &&
		   !at->has_odd_keys && !at->is_truncated && at->child >= 0 &&
		   mts_survey_child(&infer->survey, node, MTS_NODE_NUMBERS) < 0;
}

/* Is a node the document's _id? */
bool
mts_infer_is_id(const MtsInfer *infer, int node)
{
	const MtsNode *at = &infer->survey.nodes[node];

	return at->depth == 1 && strcmp(at->name, "_id") == 0;
}

/* Is a node the document's _id, or inside of it? */
bool
mts_infer_is_in_id(const MtsInfer *infer, int node)
{
	while (infer->survey.nodes[node].depth > 1)
		node = infer->survey.nodes[node].parent;
	return mts_infer_is_id(infer, node);
}

static bool
holds_points(const MtsInfer *infer, int node)
{
	for (int i = 0; i < infer->reading.ncontainers; i++)
		if (mts_survey_is_within(&infer->survey, infer->reading.containers[i],
								 node))
			return true;
	return false;
}

static void
gather(MtsInfer *infer, int node)
{
	int child = infer->survey.nodes[node].child;

	for (; child >= 0; child = infer->survey.nodes[child].next)
	{
		if (infer->survey.nodes[child].kind != MTS_NODE_NAME)
			continue;
		if (holds_points(infer, child) || mts_infer_is_record(infer, child))
			gather(infer, child);
		else if (infer->nleaves < MTS_INFER_COLUMNS - 1)
			infer->leaves[infer->nleaves++] = child;
		else
			infer->nlost++; /* one is left for the whole document */
	}
}

/*
 * mts_infer_leaves
 *		Collect what becomes columns below a node in infer->leaves.
 */
void
mts_infer_leaves(MtsInfer *infer, int node)
{
	infer->nleaves = infer->nlost = 0;
	gather(infer, node);
	if (infer->nlost > 0)
		mts_infer_remark(infer, "%d fields beyond the first %d have no column",
						 infer->nlost, infer->nleaves);
}

/* PostgreSQL's own columns */
static const char *const reserved[] = {"ctid", "xmin", "xmax",
									   "cmin", "cmax", "tableoid"};

static bool
is_taken(const MtsInferred *result, const char *name)
{
	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
		if (strcmp(reserved[i], name) == 0)
			return true;
	for (int i = 0; i < result->ncolumns; i++)
		if (strcmp(result->columns[i].name, name) == 0)
			return true;
	return false;
}

/* Append to a name as much as there is room for, in whole characters. */
static void
append_name(char *name, const char *text, size_t len)
{
	size_t used = strlen(name);

	if (len > MTS_INFER_NAME - 1 - used)
	{
		len = MTS_INFER_NAME - 1 - used;
		while (len > 0 && ((unsigned char) text[len] & 0xC0) == 0x80)
			len--;
	}
	memcpy(name + used, text, len);
	name[used + len] = '\0';
}

/* The names on the way to a node, the last n of them, joined. */
static void
join_names(const MtsInfer *infer, int node, int n, char *name)
{
	int chain[MTS_MAX_STEPS];
	int length = mts_survey_chain(&infer->survey, node, chain);
	int names = 0;

	name[0] = '\0';
	for (int i = 0; i < length; i++)
		names += infer->survey.nodes[chain[i]].kind == MTS_NODE_NAME;
	for (int i = 0; i < length; i++)
	{
		const MtsNode *step = &infer->survey.nodes[chain[i]];

		if (step->kind != MTS_NODE_NAME || names-- > n)
			continue;
		if (name[0])
			append_name(name, "_", 1);
		append_name(name, step->name, step->len);
	}
}

/* Is this the name of another field that is the document's own? */
static bool
is_roots(const MtsInfer *infer, int node, const char *name)
{
	const MtsNode *nodes = infer->survey.nodes;

	if (nodes[node].depth == 1 || nodes[node].nslots > 0)
		return false;
	for (int i = nodes[0].child; i >= 0; i = nodes[i].next)
		if (nodes[i].kind == MTS_NODE_NAME && !infer->used[i] &&
			!mts_infer_is_record(infer, i) && strcmp(nodes[i].name, name) == 0)
			return true;
	return false;
}

/* Find a name that no other column has: as short as can be, then numbered. */
static void
choose_name(const MtsInfer *infer, int node, const char *given, char *name)
{
	char base[MTS_INFER_NAME] = "";

	if (given)
		append_name(base, given, strlen(given));
	for (int n = 1; !given && n <= infer->survey.nodes[node].depth; n++)
	{
		join_names(infer, node, n, base);
		if (base[0] && !is_taken(infer->result, base) &&
			!is_roots(infer, node, base))
			break;
	}
	if (!base[0])
		strcpy(base, "value");
	strcpy(name, base);
	for (int i = 2; is_taken(infer->result, name); i++)
	{
		char number[16];

		snprintf(number, sizeof(number), "_%d", i);
		name[0] = '\0';
		append_name(name, base, strlen(base));
		while (strlen(name) + strlen(number) >= MTS_INFER_NAME)
		{
			size_t end = strlen(name) - 1;

			while (end > 0 && ((unsigned char) name[end] & 0xC0) == 0x80)
				end--;
			name[end] = '\0';
		}
		strcat(name, number);
	}
}

/*
 * mts_infer_column
 *		Declare a column for a node; -1: for the keys of the slot {key}; 0: for
 *		the whole document.
 *
 * NULL, with a remark, when no path leads there.
 */
MtsInferColumn *
mts_infer_column(MtsInfer *infer, int node, MtsRole role, MtsInferType type)
{
	MtsInferred *result = infer->result;
	MtsInferColumn *column;
	char path[MTS_MAX_PATH] = "";
	char name[MTS_INFER_NAME];

	if (node >= 0)
		infer->used[node] = true;
	if (node >= 0 && !mts_infer_path(infer, node, path))
	{
		mts_infer_remark(infer, "%s: left out, as no path can name it",
						 mts_infer_show(infer, node, path));
		return NULL;
	}
	if (result->ncolumns == MTS_INFER_COLUMNS)
		return NULL;
	choose_name(infer, node,
				node < 0    ? "key"
				: node == 0 ? "document"
							: NULL,
				name);
	result->columns =
		infer->host->resize(result->columns,
							(result->ncolumns + 1) * sizeof(MtsInferColumn));
	infer->nodes[result->ncolumns] = node;
	column = &result->columns[result->ncolumns++];
	memset(column, 0, sizeof(*column));
	strcpy(column->name, name);
	strcpy(column->field, path);
	column->role = role;
	column->type = type;
	return column;
}

static bool
is_uuid(void *arg, const MtsElement *element)
{
	/* a length of 16 and the subtype of a UUID */
	return element->type != BSON_TYPE_BINARY ||
		   (element->size == 21 && element->value[4] == BSON_SUBTYPE_UUID);
}

/*
 * Whole readings are stored as integers even where others are fractions.  So
 * what was measured is a double, unless int64 was chosen by who wrote it, or
 * so many values are integers that fractions would have been among them.
 */
static MtsInferType
number_type(uint32_t types, bool is_value, int64_t values)
{
	const uint32_t int64 = MTS_TYPE_BIT(BSON_TYPE_INT64);

	if (types & MTS_TYPE_BIT(BSON_TYPE_DECIMAL128))
		return MTS_INFER_NUMERIC;
	if (types & MTS_TYPE_BIT(BSON_TYPE_DOUBLE))
		return types & int64 ? MTS_INFER_NUMERIC : MTS_INFER_DOUBLE;
	if (types & int64 || (is_value && values >= MANY_VALUES))
		return MTS_INFER_LONG;
	return is_value ? MTS_INFER_DOUBLE : MTS_INFER_INT;
}

/* What stands at a node, nulls aside; in what its keys hold where these are a
 * column's values. */
uint32_t
mts_infer_types(const MtsInfer *infer, int node)
{
	const MtsNode *nodes = infer->survey.nodes;
	uint32_t types = nodes[node].types;

	if (infer->reading.is_unpivoted && node == infer->reading.containers[0])
	{
		types = 0;
		for (int i = nodes[node].child; i >= 0; i = nodes[i].next)
			types |= nodes[i].types;
	}
	return types & ~MTS_NULL_TYPES;
}

/*
 * mts_infer_type
 *		The type that holds everything that stands at a node.
 *
 * is_value: it was measured, so that an integer may be a fraction elsewhere.
 */
MtsInferType
mts_infer_type(const MtsInfer *infer, int node, bool is_value)
{
	uint32_t types = mts_infer_types(infer, node);

	if (types & MTS_NUMBER_TYPES)
		return types & ~MTS_NUMBER_TYPES
				   ? MTS_INFER_JSON
				   : number_type(types, is_value,
								 infer->survey.nodes[node].values);
	if (types == MTS_TYPE_BIT(BSON_TYPE_UTF8))
		return MTS_INFER_TEXT;
	if (types == MTS_TYPE_BIT(BSON_TYPE_BOOL))
		return MTS_INFER_BOOL;
	if (types == MTS_TYPE_BIT(BSON_TYPE_DATE_TIME))
		return MTS_INFER_TIME;
	if (types == MTS_TYPE_BIT(BSON_TYPE_OID))
		return MTS_INFER_OID;
	if (types != MTS_TYPE_BIT(BSON_TYPE_BINARY))
		return MTS_INFER_JSON;
	for (int i = 0; i < infer->nsamples; i++)
		if (!mts_survey_visit(&infer->survey, i, node, is_uuid, NULL))
			return MTS_INFER_BYTES;
	return MTS_INFER_UUID;
}
