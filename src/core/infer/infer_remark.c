/*
 * infer_remark.c
 *		Records what was assumed or left out, and why.
 *
 * A remark may forbid writes, and may suggest an option.
 */
#include "core/infer/infer_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Overwrite what is left of characters that have been cut. */
static void
mend_text(char *text)
{
	for (unsigned char *at = (unsigned char *) text; *at;)
	{
		int n = *at < 0x80 ? 1 : *at < 0xE0 ? 2 : *at < 0xF0 ? 3 : 4;
		int have = 1;

		while (have < n && (at[have] & 0xC0) == 0x80)
			have++;
		/* a byte that continues a character begins none */
		if (have < n || (*at & 0xC0) == 0x80)
			memset(at, '?', have);
		at += have;
	}
}

/*
 * mts_infer_remark
 *		Say what was assumed, or left out, and why.
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
	remark->is_readonly = false;
	remark->option = NULL;
	mend_text(remark->text);
}

/* mts_infer_forbid: let nobody write, for the reason in the last remark. */
void
mts_infer_forbid(MtsInfer *infer)
{
	infer->result->is_readonly = true;
	infer->result->remarks[infer->result->nremarks - 1].is_readonly = true;
}

/*
 * mts_infer_advise
 *		Name an option that may be missing, for the reason in the last remark.
 *
 * It is a column's, or the table's if column is negative.
 */
void
mts_infer_advise(MtsInfer *infer, int column, const char *option,
				 const char *value)
{
	MtsInferRemark *remark =
		&infer->result->remarks[infer->result->nremarks - 1];

	remark->option = option;
	snprintf(remark->value, sizeof(remark->value), "%s", value);
	snprintf(remark->column, sizeof(remark->column), "%s",
			 column < 0 ? "" : infer->result->columns[column].name);
}

/* The path of a node for a remark, cut where it is long. */
const char *
mts_infer_show(const MtsInfer *infer, int node, char *text)
{
	if (!mts_infer_path(infer, node, text) && text[0] == '\0')
		snprintf(text, MTS_MAX_PATH, "(a key without a name)");
	if (strlen(text) > 100)
	{
		size_t end = 97;

		while (end > 0 && ((unsigned char) text[end] & 0xC0) == 0x80)
			end--;
		strcpy(text + end, "...");
	}
	return text;
}
