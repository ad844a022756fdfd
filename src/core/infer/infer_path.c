/*
 * infer_path.c
 *		Writes the paths of nodes, as a column's option or a query has them.
 *
 * Slots have the units of the reading.
 */
#include "core/infer/infer_private.h"

#include <stdio.h>
#include <string.h>

/* Text of a path that grows, as long as there is room */
typedef struct Writer
{
	char *text; /* room for MTS_MAX_PATH */
	size_t len;
	bool full;
} Writer;

static void
put(Writer *writer, const char *text, size_t len)
{
	if (writer->len + len >= MTS_MAX_PATH)
		writer->full = true;
	if (writer->full)
		return;
	memcpy(writer->text + writer->len, text, len);
	writer->len += len;
	writer->text[writer->len] = '\0';
}

static void
put_name(Writer *writer, const MtsNode *node)
{
	if (writer->len > 0)
		put(writer, ".", 1);
	for (uint32_t i = 0; i < node->len; i++)
	{
		if (strchr(".{[\\", node->name[i]))
			put(writer, "\\", 1);
		put(writer, node->name + i, 1);
	}
}

static void
put_slot(Writer *writer, MtsNodeKind kind, const MtsInferSlot *slot)
{
	char text[64] = "";

	if (slot->unit != MTS_UNIT_NONE)
	{
		strcpy(text, "{");
		if (slot->times > 1)
			snprintf(text, sizeof(text), "{%lld ", (long long) slot->times);
		strcat(text, mts_infer_unit_name(slot->unit));
		strcat(text, slot->times > 1 ? "s" : "");
		strcat(text, slot->base != 0 ? ":1}" : "}");
	}
	if (kind == MTS_NODE_ELEMENTS)
		put(writer, "[", 1);
	else if (writer->len > 0)
		put(writer, ".", 1);
	put(writer, text, strlen(text));
	if (kind == MTS_NODE_ELEMENTS)
		put(writer, "]", 1);
}

/*
 * mts_infer_path
 *		Write the path of a node, its slots as the reading has them.
 *
 * False when no path can say it: it is too long, or a key has no name that
 * could be written.
 */
bool
mts_infer_path(const MtsInfer *infer, int node, char *text)
{
	static const MtsInferSlot element = {MTS_UNIT_NONE, 0, 0};
	int chain[MTS_MAX_STEPS];
	int n = mts_survey_chain(&infer->survey, node, chain);
	Writer writer = {text, 0, false};
	int slot = 0;

	/* the whole document; a field of that name can't be said */
	strcpy(text, node == 0 ? "*" : "");
	if (node == 0)
		return true;
	for (int i = 0; i < n; i++)
	{
		const MtsNode *step = &infer->survey.nodes[chain[i]];

		if (step->kind == MTS_NODE_NAME && step->len == 0)
			return false;
		if (step->kind == MTS_NODE_NAME)
			put_name(&writer, step);
		else
		{
			put_slot(&writer, step->kind,
					 slot < infer->reading.nslots ? &infer->reading.slots[slot]
												  : &element);
			slot++;
		}
		if (infer->reading.is_unpivoted &&
			chain[i] == infer->reading.containers[0])
			put(&writer, ".{key}", 6);
	}
	return !writer.full && strcmp(text, "*") != 0;
}

/*
 * mts_infer_dotted
 *		Write the path of a node as a query addresses it; false: none can.
 */
bool
mts_infer_dotted(const MtsInfer *infer, int node, char *text)
{
	char names[MTS_MAX_PATH];
	char buffer[MTS_MAX_PATH];
	MtsPath path;
	MtsError error;

	if (!mts_infer_path(infer, node, names) ||
		!mts_path_parse(names, buffer, &path, &error) ||
		mts_path_addressable_steps(&path) < path.nsteps)
		return false;
	mts_path_dotted(path.steps, path.nsteps, text, MTS_MAX_PATH);
	return true;
}
