/*
 * infer_remark.c
 *		Records remarks: assumptions, and fields without a column.
 *
 * A remark may forbid writes, and may suggest an option that is missing.
 */
#include "core/infer/infer_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/*
 * mts_infer_clip
 *		How many bytes of a text fit into room bytes, in whole characters.
 */
size_t
mts_infer_clip(const char *text, size_t len, size_t room)
{
	if (len <= room)
		return len;
	while (room > 0 && ((unsigned char) text[room] & 0xC0) == 0x80)
		room--;
	return room;
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

/*
 * mts_infer_remark
 *		Record a remark, formatted as by printf.
 */
void
mts_infer_remark(MtsInfer *infer, const char *format, ...)
{
	MtsInferred *result = infer->result;
	MtsInferRemark *remark;
	va_list args;

	result->remarks =
		infer->host->resize(result->remarks,
							(result->nremarks + 1) * sizeof(*result->remarks));
	va_start(args, format);
	remark = &result->remarks[result->nremarks++];
	vsnprintf(remark->text, MTS_INFER_REMARK, format, args);
	va_end(args);
	remark->forbids_writes = false;
	remark->option = NULL;
	mend_text(remark->text);
}

/*
 * mts_infer_forbid_writes: make the table read-only, due to the last remark.
 */
void
mts_infer_forbid_writes(MtsInfer *infer)
{
	infer->result->is_readonly = true;
	infer->result->remarks[infer->result->nremarks - 1].forbids_writes = true;
}

/*
 * mts_infer_suggest_option
 *		Add to the last remark an option that may be missing.
 *
 * It is the option of a column, or of the table if column is negative.
 */
void
mts_infer_suggest_option(MtsInfer *infer, int column, const char *option,
						 const char *value)
{
	MtsInferRemark *remark =
		&infer->result->remarks[infer->result->nremarks - 1];

	remark->option = option;
	snprintf(remark->value, sizeof(remark->value), "%s", value);
	snprintf(remark->column, sizeof(remark->column), "%s",
			 column < 0 ? "" : infer->result->columns[column].name);
}

/*
 * mts_infer_label
 *		Write the path of a node for a remark, on one line, clipped to 100
 *		bytes.
 *
 * text has room for MTS_MAX_PATH bytes, and is returned.
 */
const char *
mts_infer_label(const MtsInfer *infer, int node, char *text)
{
	size_t len;

	if (!mts_infer_write_path(infer, node, text) && text[0] == '\0')
		snprintf(text, MTS_MAX_PATH, "(a key without a name)");
	len = strlen(text);
	if (len > 100)
		strcpy(text + mts_infer_clip(text, len, 97), "...");
	for (char *at = text; *at; at++)
		if (*at == '\n')
			*at = '?';
	return text;
}
