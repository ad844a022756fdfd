/*
 * remark.c
 *		Writes the paths of nodes, and records remarks, which name assumptions.
 */
#include "advice/infer/infer_private.h"

#include <ctype.h>
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

/*
 * mts_remark_escape
 *		Write a text as an ordinary part of a path.
 *
 * text has room for twice the length.
 */
void
mts_remark_escape(const char *name, size_t len, char *text)
{
	for (; len > 0; len--, name++)
	{
		if (strchr(".{[\\", *name))
			*text++ = '\\';
		*text++ = *name;
	}
	*text = '\0';
}

/* Write the step of a name; text has room for twice a path. */
static void
write_name(const MtsNode *node, char *text)
{
	size_t len = strlen(node->name);
	int64_t n;

	/* a number alone would be the index of an array's element */
	if (node->depth > 1 && !node->is_index &&
		mts_element_key_number(node->name, len, &n) == MTS_KEYTEXT_NUMBER &&
		n >= 0)
		*text++ = '\\';
	mts_remark_escape(node->name, len < MTS_MAX_PATH ? len : MTS_MAX_PATH,
					  text);
}

/*
 * mts_remark_path
 *		Write the path of a node, whose slots are those of the reading.
 *
 * text has room for MTS_MAX_PATH bytes.  Returns false if there is no path:
 * it is too long, a key is empty, or the field's name is "*", which stands for
 * the whole document.
 */
bool
mts_remark_path(const MtsInfer *infer, int node, char *text)
{
	const MtsReading *reading = &infer->reading;
	char step[2 * MTS_MAX_PATH + 8], name[MTS_INFER_NAME];
	int chain[MTS_MAX_STEPS];
	int n = mts_survey_chain(&infer->survey, node, chain);
	size_t len = 0;
	int slot = 0;

	strcpy(text, node == 0 ? "*" : "");
	for (int i = 0; i < n; i++)
	{
		const MtsNode *at = &infer->survey.nodes[chain[i]];

		if (at->kind == MTS_NODE_NAME && at->name[0] == '\0')
			return false;
		if (at->kind == MTS_NODE_NAME)
			write_name(at, step);
		else if (slot < reading->nslots)
			strcpy(step, reading->slots[slot++].text);
		else
			strcpy(step, at->kind == MTS_NODE_KEYS ? "{key}" : "[]");
		if (reading->is_unpivoted && chain[i] == reading->containers[0])
			sprintf(step + strlen(step), ".{%s}",
					mts_column_key_name(infer, chain[i], name));
		if (len + strlen(step) + 1 >= MTS_MAX_PATH)
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
 * Slots around the node are * or [], and its own slots are left out: the keys
 * of v.{hour}.{minute} are those of "v".  The label is overwritten by the next
 * but one.
 */
const char *
mts_remark_label(MtsInfer *infer, int node)
{
	const MtsNode *nodes = infer->survey.nodes;
	char *text = infer->labels[infer->nlabels++ % 2];
	int chain[MTS_MAX_STEPS];
	size_t len = 0;
	int n;

	while (nodes[node].kind != MTS_NODE_NAME)
		node = nodes[node].parent;
	n = mts_survey_chain(&infer->survey, node, chain);
	text[0] = '\0';
	for (int i = 0; i < n && len < MTS_MAX_PATH; i++)
	{
		const MtsNode *at = &nodes[chain[i]];

		len += (size_t) snprintf(text + len, MTS_MAX_PATH - len, "%s%s",
								 len > 0 && at->kind != MTS_NODE_ELEMENTS ? "."
																		  : "",
								 at->kind == MTS_NODE_NAME   ? at->name
								 : at->kind == MTS_NODE_KEYS ? "*"
															 : "[]");
	}
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

/* Append a text, cut to the room that is left. */
static void
append(char *to, size_t room, const char *text)
{
	size_t len = strlen(to);

	snprintf(to + len, room - len, "%s%s", len > 0 ? " " : "", text);
	mend_text(to);
}

/*
 * mts_remark
 *		Record an assumption: a clause without a full stop, and after a line
 *		break the reason as a sentence.  Formatted as by printf.
 *
 * The first clause is the table's message; others become sentences.
 */
void
mts_remark(MtsInfer *infer, const char *format, ...)
{
	MtsInferred *result = infer->result;
	char text[2 * MTS_INFER_REMARK];
	char *reason;
	va_list args;

	if (infer->is_quiet)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text) - 1, format, args);
	va_end(args);
	reason = strchr(text, '\n');
	if (reason)
		*reason++ = '\0';
	if (result->message[0])
	{
		char sentence[2 * MTS_INFER_REMARK + 8];

		snprintf(sentence, sizeof(sentence), "%c%s.", toupper(text[0]),
				 text + 1);
		append(result->detail, sizeof(result->detail), sentence);
	}
	else
		append(result->message, sizeof(result->message), text);
	if (reason)
		append(result->detail, sizeof(result->detail), reason);
}
