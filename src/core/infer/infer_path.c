/*
 * infer_path.c
 *		Writes the paths of nodes for options, and as a query addresses them.
 *
 * The slots of a path count the units of the reading.
 */
#include "core/infer/infer_private.h"

#include <stdio.h>
#include <string.h>

/* A path that is being written */
typedef struct Writer
{
	char *text; /* room for MTS_MAX_PATH bytes */
	size_t len;
	bool is_full;
} Writer;

static void
append(Writer *writer, const char *text, size_t len)
{
	if (writer->len + len >= MTS_MAX_PATH)
		writer->is_full = true;
	if (writer->is_full)
		return;
	memcpy(writer->text + writer->len, text, len);
	writer->len += len;
	writer->text[writer->len] = '\0';
}

static void
append_name(Writer *writer, const MtsNode *node)
{
	int64_t n = -1;

	if (writer->len > 0)
	{
		append(writer, ".", 1);
		/* a number alone could be the index of an array's element */
		if (mts_element_key_number(node->name, node->len, &n) ==
				MTS_KEYTEXT_NUMBER &&
			n >= 0)
			append(writer, "\\", 1);
	}
	for (uint32_t i = 0; i < node->len; i++)
	{
		if (strchr(".{[\\", node->name[i]))
			append(writer, "\\", 1);
		append(writer, node->name + i, 1);
	}
}

static void
append_slot(Writer *writer, MtsNodeKind kind, const MtsInferSlot *slot)
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
		append(writer, "[", 1);
	else if (writer->len > 0)
		append(writer, ".", 1);
	append(writer, text, strlen(text));
	if (kind == MTS_NODE_ELEMENTS)
		append(writer, "]", 1);
}

/*
 * mts_infer_write_path
 *		Write the path of a node.
 *
 * Returns false if there is none: it is too long, a key is empty, or the
 * field's name is "*", which stands for the whole document.
 */
bool
mts_infer_write_path(const MtsInfer *infer, int node, char *text)
{
	static const MtsInferSlot element = {MTS_UNIT_NONE, 0, 1};
	int chain[MTS_MAX_STEPS];
	int n = mts_survey_chain(&infer->survey, node, chain);
	Writer writer = {text, 0, false};
	int slot = 0;

	strcpy(text, node == 0 ? "*" : "");
	if (node == 0)
		return true;
	for (int i = 0; i < n; i++)
	{
		const MtsNode *step = &infer->survey.nodes[chain[i]];

		if (step->kind == MTS_NODE_NAME && step->len == 0)
			return false;
		if (step->kind == MTS_NODE_NAME)
			append_name(&writer, step);
		else
		{
			append_slot(&writer, step->kind,
						slot < infer->reading.nslots
							? &infer->reading.slots[slot]
							: &element);
			slot++;
		}
		if (infer->reading.is_unpivoted &&
			chain[i] == infer->reading.containers[0])
			append(&writer, ".{key}", 6);
	}
	return !writer.is_full && strcmp(text, "*") != 0;
}

/*
 * mts_infer_write_dotted_path
 *		Write the path of a node as a query addresses it.
 *
 * Returns false if a query cannot.
 */
bool
mts_infer_write_dotted_path(const MtsInfer *infer, int node, char *text)
{
	char names[MTS_MAX_PATH];
	char buffer[MTS_MAX_PATH];
	MtsPath path;
	MtsError error;

	if (!mts_infer_write_path(infer, node, names) ||
		!mts_path_parse(names, buffer, &path, &error) ||
		mts_path_addressable_steps(&path) < path.nsteps)
		return false;
	mts_path_dotted(path.steps, path.nsteps, text, MTS_MAX_PATH);
	return true;
}
