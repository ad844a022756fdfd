/*
 * infer.c
 *		Which layout do these sample documents have?
 *
 * The order of things: survey the documents, find the fields that are times,
 * find a reading of them that holds, declare its columns and options.
 */
#include "core/infer/infer_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/bson/element.h"

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

/* Keep the samples whose bytes can be relied on. */
static void
take_samples(MtsInfer *infer, const MtsSample *samples, int nsamples)
{
	MtsSample *kept =
		infer->host->resize(NULL, (nsamples + 1) * sizeof(MtsSample));
	int n = 0;

	for (int i = 0; i < nsamples; i++)
	{
		MtsElement doc =
			mts_element_document(samples[i].bytes, samples[i].size);

		mts_infer_pause(infer);
		if (mts_element_is_valid(&doc, MTS_MAX_DEPTH))
			kept[n++] = samples[i];
	}
	infer->samples = kept;
	infer->nsamples = n;
	if (n < nsamples)
		mts_infer_remark(infer, "%d of %d sampled documents are malformed",
						 nsamples - n, nsamples);
}

/* Let the caller do what can't wait. */
void
mts_infer_pause(const MtsInfer *infer)
{
	if (infer->host->pause)
		infer->host->pause();
}

static void *
new_array(const MtsInferHost *host, size_t n, size_t size)
{
	void *array = host->resize(NULL, (n + 1) * size);

	memset(array, 0, (n + 1) * size);
	return array;
}

/*
 * mts_infer
 *		Find the layout of sample documents.
 *
 * Most memory is not released, and neither are the arrays of *result: the host
 * does that when it does not need the result any more.
 */
void
mts_infer(const MtsSample *samples, int nsamples, const MtsInferHints *hints,
		  const MtsInferHost *host, MtsInferred *result)
{
	MtsInfer *infer = new_array(host, 1, sizeof(MtsInfer));

	memset(result, 0, sizeof(*result));
	infer->hints = hints;
	infer->host = host;
	infer->result = result;
	infer->reading = (MtsReading){.own_time = -1, .span = MTS_UNIT_NONE};
	take_samples(infer, samples, nsamples);
	mts_survey_build(&infer->survey, infer->samples, infer->nsamples,
					 host->resize);
	infer->used = new_array(host, infer->survey.nnodes, sizeof(bool));
	infer->shapes =
		new_array(host, infer->survey.nnodes, sizeof(MtsInferShape));
	infer->others = new_array(host, infer->nsamples, sizeof(bool));
	mts_infer_fields(infer);
	if (hints->time || !mts_infer_series(infer))
		mts_infer_flat(infer);
	else
	{
		mts_infer_points(infer);
		mts_infer_totals(infer);
		mts_infer_bucket(infer);
		mts_infer_keys(infer);
	}
}
