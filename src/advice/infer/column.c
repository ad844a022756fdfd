/*
 * column.c
 *		Chooses the nodes that become columns, with their names and types.
 *
 * A leaf becomes a column of its own: a scalar, an array, or a subdocument
 * whose keys are data.  The fields of points are leaves, too.  A type holds
 * all sampled values without loss.
 */
#include "advice/infer/infer_private.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* So many integers without a fraction are not fractions by chance. */
#define MANY_VALUES 100

/* So many numbers for each word show that the word stands for none. */
#define MANY_NUMBERS 19

/*
 * mts_column_has_only: whether a node has only nulls and values of these types
 */
bool
mts_column_has_only(const MtsInfer *infer, int node, uint32_t types)
{
	uint32_t seen = infer->survey.nodes[node].types & ~MTS_NULL_TYPES;

	return seen != 0 && (seen & ~types) == 0;
}

/*
 * mts_column_is_record: whether a node has only subdocuments with names, or
 * only tuples
 */
bool
mts_column_is_record(const MtsInfer *infer, int node)
{
	const MtsNode *at = &infer->survey.nodes[node];

	return mts_column_has_only(infer, node,
							   MTS_TYPE_BIT(at->holds_tuples
												? BSON_TYPE_ARRAY
												: BSON_TYPE_DOCUMENT)) &&
		   !at->has_odd_keys && !at->is_truncated &&
		   mts_survey_child(&infer->survey, node, MTS_NODE_NAME) >= 0 &&
		   mts_survey_child(&infer->survey, node, MTS_NODE_KEYS) < 0;
}

/* mts_column_is_whole: whether a value is not a number with a fraction */
bool
mts_column_is_whole(const MtsElement *element)
{
	return element->type != BSON_TYPE_DOUBLE ||
		   mts_element_double(element) == rint(mts_element_double(element));
}

/* mts_column_is_in: whether a node is a field of documents, or inside of it */
bool
mts_column_is_in(const MtsInfer *infer, int node, const char *field)
{
	const MtsNode *nodes = infer->survey.nodes;

	while (nodes[node].depth > 1)
		node = nodes[node].parent;
	return field && nodes[node].depth == 1 &&
		   strcmp(nodes[node].name, field) == 0;
}

/* Whether a node is a container of the reading or inside of one */
static bool
is_point(const MtsInfer *infer, int node)
{
	for (int i = 0; i < infer->reading.ncontainers; i++)
		if (mts_survey_is_within(&infer->survey, node,
								 infer->reading.containers[i]))
			return true;
	return false;
}

/* Whether a node is a container of the reading or around one */
static bool
holds_points(const MtsInfer *infer, int node)
{
	for (int i = 0; i < infer->reading.ncontainers; i++)
		if (mts_survey_is_within(&infer->survey, infer->reading.containers[i],
								 node))
			return true;
	return false;
}

/* Whether the fields of a node are leaves rather than the node */
static bool
has_fields(const MtsInfer *infer, int node)
{
	return mts_column_is_record(infer, node) &&
		   (!infer->reading.is_unpivoted ||
			node != infer->reading.containers[0]);
}

/* Add the leaves below a node.  Fields beside slots are none. */
static void
add_leaves(const MtsInfer *infer, int node, MtsLeaves *leaves)
{
	const MtsNode *nodes = infer->survey.nodes;
	bool is_beside = nodes[node].nslots > 0 && !is_point(infer, node);

	for (int child = nodes[node].child; child >= 0; child = nodes[child].next)
	{
		bool is_holder = holds_points(infer, child);

		if (nodes[child].values == 0 ||
			(!is_holder && (is_beside || nodes[child].kind != MTS_NODE_NAME)))
			continue;
		if ((is_holder && !is_point(infer, child)) || has_fields(infer, child))
			add_leaves(infer, child, leaves);
		else if (leaves->n < MTS_READING_COLUMNS - 1)
			leaves->nodes[leaves->n++] = child;
		else
			leaves->nlost++; /* keep one column for the whole document */
	}
}

/*
 * mts_column_leaves
 *		Collect the leaves below the root, those of points among them, or below
 *		a node of points.
 *
 * A node of points without names is a leaf itself.
 */
void
mts_column_leaves(const MtsInfer *infer, int node, MtsLeaves *leaves)
{
	leaves->n = leaves->nlost = 0;
	if (node != 0 && !has_fields(infer, node))
		leaves->nodes[leaves->n++] = node;
	else
		add_leaves(infer, node, leaves);
}

/* ---- Names ------------------------------------------------------------- */

/* Whether a column, or a system column of PostgreSQL, has this name */
static bool
is_used(const MtsInferred *result, const char *name)
{
	static const char *const reserved[] = {"ctid", "xmin", "xmax",
										   "cmin", "cmax", "tableoid"};

	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
		if (strcmp(reserved[i], name) == 0)
			return true;
	for (int i = 0; i < result->ncolumns; i++)
		if (strcmp(result->columns[i].name, name) == 0)
			return true;
	return false;
}

/* The names of a node's path, by which its column is called */
typedef struct PathNames
{
	const char *items[MTS_MAX_STEPS];
	int n;
	int base; /* the last name before the innermost slot, or 0 */
	int last; /* the last name that is not the index of an element */
} PathNames;

/*
 * List the names of a path, without those that MongoDB gives to what
 * identifies a document: _id, and the metaField around its subfields.
 */
static PathNames
list_names(const MtsInfer *infer, int node)
{
	const MtsNode *nodes = infer->survey.nodes;
	int chain[MTS_MAX_STEPS];
	int length = mts_survey_chain(&infer->survey, node, chain);
	PathNames names = {.n = 0};

	for (int i = 0; i < length; i++)
	{
		const MtsNode *step = &nodes[chain[i]];

		if (step->kind != MTS_NODE_NAME)
			names.base = names.n > 0 ? names.n - 1 : 0;
		else if (i > 0 || length == 1 ||
				 (strcmp(step->name, "_id") != 0 &&
				  !(infer->hints->meta &&
					strcmp(step->name, infer->hints->meta) == 0)))
		{
			names.items[names.n] = step->name;
			names.last = step->is_index ? names.last : names.n;
			names.n++;
		}
	}
	return names;
}

/* Join the names from the first on, clipped to the room of a name. */
static void
join_names(const PathNames *names, int first, char *name)
{
	size_t len = 0;

	name[0] = '\0';
	for (int i = first; i < names->n && len + 2 < MTS_INFER_NAME; i++)
	{
		const char *item = names->items[i];
		const char *separator = len > 0 ? "_" : "";
		size_t room = MTS_INFER_NAME - 1 - len - strlen(separator);

		len +=
			(size_t) snprintf(name + len, MTS_INFER_NAME - len, "%s%.*s",
							  separator,
							  (int) mts_remark_clip(item, strlen(item), room),
							  item);
	}
}

/*
 * Choose a name for a node that no other column has.  In documents it is the
 * whole path, so that it does not depend on other fields.  In points it begins
 * after the container, unless another column has this name.
 */
static void
choose_name(const MtsInfer *infer, int node, const char *given, char *name)
{
	char base[MTS_INFER_NAME];
	PathNames names;

	snprintf(base, sizeof(base), "%s", given ? given : "");
	if (!given)
	{
		bool is_in_points = infer->survey.nodes[node].nslots > 0;

		names = list_names(infer, node);
		if (is_in_points && names.last > names.base)
			join_names(&names, names.base + 1, base);
		if (!base[0] || is_used(infer->result, base))
			join_names(&names, 0, base);
		if (!base[0])
			strcpy(base, "value");
	}
	strcpy(name, base);
	for (int i = 2; is_used(infer->result, name); i++)
	{
		char number[16];
		size_t room = MTS_INFER_NAME - 1 - (size_t) sprintf(number, "_%d", i);

		snprintf(name, MTS_INFER_NAME, "%.*s%s",
				 (int) mts_remark_clip(base, strlen(base), room), base,
				 number);
	}
}

/*
 * mts_column_key_name
 *		Write the name of the column of a slot's keys: the container's, and
 *		"key".
 *
 * A path contains it, so other characters than letters, digits and "_" are
 * left out.  name has room for MTS_INFER_NAME bytes, and is returned.
 */
const char *
mts_column_key_name(const MtsInfer *infer, int container, char *name)
{
	PathNames names = list_names(infer, container);
	char joined[MTS_INFER_NAME];
	size_t len = 0;

	join_names(&names, 0, joined);
	for (const char *at = joined; *at && len < MTS_INFER_NAME - 5; at++)
		if (isalnum((unsigned char) *at) || *at == '_')
			name[len++] = *at;
	strcpy(name + len, len > 0 ? "_key" : "key");
	return name;
}

/* ---- Types ------------------------------------------------------------- */

static bool
is_uuid(const MtsElement *element)
{
	/* a length, the subtype and 16 bytes */
	return element->type != BSON_TYPE_BINARY ||
		   (element->size == 21 && element->value[4] == BSON_SUBTYPE_UUID);
}

/*
 * The type of numbers.  Some drivers store whole numbers of fractional
 * measurements as integers.  So a measured int32 is a double, unless so many
 * values are integers that fractions would have been among them.
 */
static MtsInferType
number_type(uint32_t types, bool is_measured, int64_t values)
{
	const uint32_t int64 = MTS_TYPE_BIT(BSON_TYPE_INT64);

	if (types & MTS_TYPE_BIT(BSON_TYPE_DECIMAL128))
		return MTS_INFER_NUMERIC;
	if (types & MTS_TYPE_BIT(BSON_TYPE_DOUBLE))
		return types & int64 ? MTS_INFER_NUMERIC : MTS_INFER_DOUBLE;
	if (types & int64 || (is_measured && values >= MANY_VALUES))
		return MTS_INFER_LONG;
	return is_measured ? MTS_INFER_DOUBLE : MTS_INFER_INT;
}

/*
 * mts_column_bson_types
 *		The types of a node's values without null, or of the values of its keys
 *		if points are unpivoted.
 */
uint32_t
mts_column_bson_types(const MtsInfer *infer, int node)
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
 * Whether the values of a node are scalars of several types, in documents that
 * are rows: the type of such a state depends on what it is the state of.
 */
static bool
is_any_scalar(const MtsInfer *infer, uint32_t types)
{
	const uint32_t scalars = MTS_NUMBER_TYPES | MTS_TYPE_BIT(BSON_TYPE_UTF8) |
							 MTS_TYPE_BIT(BSON_TYPE_BOOL) |
							 MTS_TYPE_BIT(BSON_TYPE_DATE_TIME) |
							 MTS_TYPE_BIT(BSON_TYPE_OID);

	return infer->reading.ncontainers == 0 && types != 0 &&
		   !(types & ~scalars);
}

/*
 * The type that holds all values of a node.  Unsampled values of what is
 * measured may be fractions: of points, or of documents that are rows.
 */
static MtsInferType
find_type(const MtsInfer *infer, int node)
{
	uint32_t types = mts_column_bson_types(infer, node);
	bool is_measured =
		infer->reading.ncontainers > 0
			? is_point(infer, node)
			: !mts_column_is_in(infer, node, "_id") &&
				  !mts_column_is_in(infer, node, infer->hints->meta);

	if (types != 0 && !(types & ~MTS_NUMBER_TYPES))
		return number_type(types, is_measured,
						   infer->survey.nodes[node].values);
	if (types == MTS_TYPE_BIT(BSON_TYPE_UTF8))
		return MTS_INFER_TEXT;
	if (types == MTS_TYPE_BIT(BSON_TYPE_BOOL))
		return MTS_INFER_BOOL;
	if (types == MTS_TYPE_BIT(BSON_TYPE_DATE_TIME) ||
		types == MTS_TYPE_BIT(BSON_TYPE_TIMESTAMP))
		return MTS_INFER_TIME;
	if (types == MTS_TYPE_BIT(BSON_TYPE_OID))
		return MTS_INFER_OID;
	if (types != MTS_TYPE_BIT(BSON_TYPE_BINARY))
		return is_any_scalar(infer, types) ? MTS_INFER_ANY : MTS_INFER_JSON;
	return mts_survey_all(&infer->survey, node, is_uuid) ? MTS_INFER_UUID
														 : MTS_INFER_BYTES;
}

/*
 * mts_column_type
 *		The type of a column for a node, or of its elements if it is an array
 *		of values of one type.
 */
MtsInferType
mts_column_type(const MtsInfer *infer, int node, bool *is_array)
{
	int child = mts_survey_child(&infer->survey, node, MTS_NODE_ELEMENTS);
	MtsInferType type = child < 0 ? MTS_INFER_JSON : find_type(infer, child);

	*is_array =
		mts_column_has_only(infer, node, MTS_TYPE_BIT(BSON_TYPE_ARRAY)) &&
		type != MTS_INFER_JSON && type <= MTS_INFER_TIME &&
		!mts_column_has_only(infer, child, MTS_TYPE_BIT(BSON_TYPE_TIMESTAMP));
	return *is_array ? type : find_type(infer, node);
}

/*
 * Find the only word among the values of points that are numbers otherwise,
 * such as "n/a", and whether nearly all are numbers.  A word that reads as a
 * number, or as null, cannot be told from these by an option.
 */
static bool
find_missing(const MtsInfer *infer, int node, char *missing)
{
	uint32_t types = mts_column_bson_types(infer, node);
	MtsSurveyScan scan = mts_survey_scan(&infer->survey, node, MTS_ALL);
	int64_t numbers = 0, words = 0;
	char word[MTS_INFER_FORMAT] = "";
	char *end;

	if (!(types & MTS_NUMBER_TYPES) || infer->reading.is_unpivoted ||
		(types & ~MTS_NUMBER_TYPES) != MTS_TYPE_BIT(BSON_TYPE_UTF8))
		return false;
	while (mts_survey_next(&scan))
	{
		size_t len;
		const char *text;

		numbers += (MTS_TYPE_BIT(scan.element.type) & MTS_NUMBER_TYPES) != 0;
		if (scan.element.type != BSON_TYPE_UTF8)
			continue;
		text = mts_element_text(&scan.element, &len);
		if (words++ == 0)
			snprintf(word, MTS_INFER_FORMAT, "%s", text);
		if (len >= MTS_INFER_FORMAT || strcmp(word, text) != 0)
			return false;
	}
	(void) strtod(word, &end);
	if (!*end || strcmp(word, "null") == 0 || numbers < MANY_NUMBERS * words)
		return false;
	strcpy(missing, word);
	return true;
}

/* Whether the keys of a subdocument are numbers as PostgreSQL writes them */
static bool
has_integers(const MtsElement *holder)
{
	MtsElementCursor cursor;
	MtsElement element;
	int64_t n;

	if (holder->type == BSON_TYPE_DOCUMENT &&
		mts_element_open(&cursor, holder->value, holder->size))
		while (mts_element_next(&cursor, &element) == MTS_NEXT_OK)
			if (mts_element_key_number(element.key, element.key_len, &n) !=
					MTS_KEYTEXT_NUMBER ||
				n > INT32_MAX)
				return false;
	return true;
}

/* The type of the column of a slot's keys */
static MtsInferType
key_type(const MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;

	for (int i = 0; i < reading->ncontainers; i++)
		if (reading->is_unpivoted ||
			!mts_survey_all(&infer->survey,
							infer->survey
								.nodes[mts_survey_slot(&infer->survey,
													   reading->containers[i],
													   reading->names - 1)]
								.parent,
							has_integers))
			return MTS_INFER_TEXT;
	return MTS_INFER_INT;
}

/*
 * mts_column_add
 *		Declare a column for a node.
 *
 * The node MTS_SLOT_COLUMN stands for the keys of a slot, and 0 for the whole
 * document.  Returns NULL for a node without a path, which is counted as lost.
 */
MtsInferColumn *
mts_column_add(MtsInfer *infer, int node, MtsRole role)
{
	MtsInferred *result = infer->result;
	MtsInferColumn column = {.role = role, .node = node};
	char key[MTS_INFER_NAME];

	if (node >= 0)
		infer->is_declared[node] = true;
	if (node >= 0 && !mts_remark_path(infer, node, column.field))
	{
		infer->nlost++;
		return NULL;
	}
	if (result->ncolumns == MTS_READING_COLUMNS)
		return NULL;
	choose_name(infer, node,
				node == 0                 ? "document"
				: node != MTS_SLOT_COLUMN ? NULL
				: role == MTS_ROLE_TIME
					? "time"
					: mts_column_key_name(infer, infer->reading.containers[0],
										  key),
				column.name);
	if (node == MTS_SLOT_COLUMN && role != MTS_ROLE_TIME)
		strcpy(column.field, column.name);
	if (role == MTS_ROLE_TIME)
		column.type = MTS_INFER_TIME;
	else if (node == MTS_SLOT_COLUMN)
		column.type = key_type(infer);
	else
		column.type = mts_column_type(infer, node, &column.is_array);
	if (node > 0 && role == MTS_ROLE_VALUE &&
		find_missing(infer, node, column.missing))
		column.type =
			number_type(mts_column_bson_types(infer, node) & MTS_NUMBER_TYPES,
						true, infer->survey.nodes[node].values);
	if (node >= 0 &&
		mts_column_has_only(infer, node, MTS_TYPE_BIT(BSON_TYPE_TIMESTAMP)))
		strcpy(column.format, "timestamp");
	result->columns =
		infer->host->resize(result->columns,
							(result->ncolumns + 1) * sizeof(MtsInferColumn));
	result->columns[result->ncolumns] = column;
	return &result->columns[result->ncolumns++];
}
