/*
 * remark.c
 *		Writes the paths of nodes, and records remarks.
 *
 * A remark names an assumption, or a field without a column.  It may forbid
 * writes, and has the changes that declare what it describes.
 */
#include "core/infer/infer_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/*
 * mts_remark_clip
 *		How many bytes of a text fit into room bytes, in whole characters.
 */
size_t
mts_remark_clip(const char *text, size_t len, size_t room)
{
	if (len <= room)
		return len;
	while (room > 0 && ((unsigned char) text[room] & 0xC0) == 0x80)
		room--;
	return room;
}

/* Write a step into text; returns its length, which may exceed the room. */
static size_t
write_name(const MtsNode *node, char *text)
{
	size_t len = 0;
	int64_t n = -1;

	/* a number alone could be the index of an array's element */
	if (node->depth > 1 &&
		mts_element_key_number(node->name, node->len, &n) ==
			MTS_KEYTEXT_NUMBER &&
		n >= 0)
		text[len++] = '\\';
	for (uint32_t i = 0; i < node->len && len < MTS_MAX_PATH; i++)
	{
		if (strchr(".{[\\", node->name[i]))
			text[len++] = '\\';
		text[len++] = node->name[i];
	}
	text[len] = '\0';
	return len;
}

static size_t
write_slot(const MtsNode *node, const MtsInferSlot *slot, char *text)
{
	const char *brackets = node->kind == MTS_NODE_ELEMENTS ? "[]" : "";
	char unit[32];

	if (slot->unit == MTS_NO_UNIT)
		return sprintf(text, "%s", *brackets ? brackets : "{key}");
	return sprintf(text, "%.1s{%s%s}%s", brackets,
				   mts_unit_name(slot->unit, unit),
				   slot->base != 0 ? ":1" : "", *brackets ? "]" : "");
}

/*
 * mts_remark_path
 *		Write the path of a node, whose slots count the units of the reading.
 *
 * text has room for MTS_MAX_PATH bytes.  Returns false if there is no path:
 * it is too long, a key is empty, or the field's name is "*", which stands for
 * the whole document.
 */
bool
mts_remark_path(const MtsInfer *infer, int node, char *text)
{
	static const MtsInferSlot element = {MTS_NO_UNIT, 0};
	const MtsReading *reading = &infer->reading;
	char step[2 * MTS_MAX_PATH + 8];
	int chain[MTS_MAX_STEPS];
	int n = mts_survey_chain(&infer->survey, node, chain);
	size_t len = 0;
	int slot = 0;

	strcpy(text, node == 0 ? "*" : "");
	for (int i = 0; i < n; i++)
	{
		const MtsNode *at = &infer->survey.nodes[chain[i]];
		size_t size;

		if (at->kind == MTS_NODE_NAME && at->len == 0)
			return false;
		size = at->kind == MTS_NODE_NAME
				   ? write_name(at, step)
				   : write_slot(at,
								slot < reading->nslots ? &reading->slots[slot]
													   : &element,
								step);
		slot += at->kind != MTS_NODE_NAME;
		if (reading->is_unpivoted && chain[i] == reading->containers[0])
			size += sprintf(step + size, ".{key}");
		if (len + size + 1 >= MTS_MAX_PATH)
			return false;
		len +=
			sprintf(text + len, "%s%s",
					len > 0 && at->kind != MTS_NODE_ELEMENTS ? "." : "", step);
	}
	return node == 0 || strcmp(text, "*") != 0;
}

/*
 * mts_remark_dotted
 *		Write the path of a node as a query addresses it; false if none does.
 */
bool
mts_remark_dotted(const MtsInfer *infer, int node, char *text)
{
	char names[MTS_MAX_PATH], buffer[MTS_MAX_PATH];
	MtsPath path;
	MtsError error;

	if (!mts_remark_path(infer, node, names) ||
		!mts_path_parse(names, buffer, &path, &error) ||
		mts_path_addressable_steps(&path) < path.nsteps)
		return false;
	mts_path_dotted(path.steps, path.nsteps, text, MTS_MAX_PATH);
	return true;
}

/*
 * mts_remark_label
 *		Write the path of a node for a remark, on one line, clipped to 100
 *		bytes.
 *
 * text has room for MTS_MAX_PATH bytes, and is returned.
 */
const char *
mts_remark_label(const MtsInfer *infer, int node, char *text)
{
	size_t len;

	if (!mts_remark_path(infer, node, text) && text[0] == '\0')
		snprintf(text, MTS_MAX_PATH, "(a key without a name)");
	len = strlen(text);
	if (len > 100)
		strcpy(text + mts_remark_clip(text, len, 97), "...");
	for (char *at = text; *at; at++)
		if (*at == '\n')
			*at = '?';
	return text;
}

/* Replace characters that were cut, or are not UTF-8, by question marks. */
static void
mend_text(char *text)
{
	for (unsigned char *at = (unsigned char *) text; *at;)
	{
		int n = *at < 0x80 ? 1 : *at < 0xE0 ? 2 : *at < 0xF0 ? 3 : 4;
		int have = 1;

		while (have < n && (at[have] & 0xC0) == 0x80)
			have++;
		/* incomplete, or a continuation byte without a first byte */
		if (have < n || (*at & 0xC0) == 0x80)
			memset(at, '?', have);
		at += have;
	}
}

/* mts_remark: record a remark, formatted as by printf. */
void
mts_remark(MtsInfer *infer, const char *format, ...)
{
	MtsInferred *result = infer->result;
	MtsInferRemark *remark;
	va_list args;

	result->remarks =
		infer->host->resize(result->remarks,
							(result->nremarks + 1) * sizeof(*result->remarks));
	remark = &result->remarks[result->nremarks++];
	va_start(args, format);
	vsnprintf(remark->text, MTS_INFER_REMARK, format, args);
	va_end(args);
	remark->forbids_writes = false;
	mend_text(remark->text);
}

/* mts_remark_forbid_writes: make the table read-only by the last remark. */
void
mts_remark_forbid_writes(MtsInfer *infer)
{
	infer->result->is_readonly = true;
	infer->result->remarks[infer->result->nremarks - 1].forbids_writes = true;
}

/*
 * mts_remark_change
 *		Add a change to the last remark: of a column, or of the table if column
 *		is negative.
 */
MtsInferChange *
mts_remark_change(MtsInfer *infer, const char *condition, int column,
				  MtsInferAction action, const char *option, const char *value)
{
	MtsInferred *result = infer->result;
	MtsInferChange *change;

	result->changes =
		infer->host->resize(result->changes,
							(result->nchanges + 1) * sizeof(*result->changes));
	change = &result->changes[result->nchanges++];
	*change = (MtsInferChange){.remark = result->nremarks - 1,
							   .action = action,
							   .option = option};
	snprintf(change->condition, sizeof(change->condition), "%s", condition);
	snprintf(change->column, sizeof(change->column), "%s",
			 column < 0 ? "" : result->columns[column].name);
	snprintf(change->value, sizeof(change->value), "%s", value ? value : "");
	return change;
}
