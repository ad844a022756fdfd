/*
 * infer_remark.c
 *		What is said of the units that slots were taken for?
 */
#include "core/infer/infer_private.h"

#include <stdio.h>
#include <string.h>

/* The node of the reading's slot on a level from 0 on */
static int
slot_node(const MtsInfer *infer, int level)
{
	const MtsNode *nodes = infer->survey.nodes;
	int node = infer->reading.containers[0];

	while (nodes[node].nslots > level + 1 || nodes[node].kind == MTS_NODE_NAME)
		node = nodes[node].parent;
	return node;
}

/* mts_infer_outermost: the node of the outermost slot. */
int
mts_infer_outermost(const MtsInfer *infer)
{
	return slot_node(infer, 0);
}

/* Write what a reading takes the outermost slot for. */
static void
write_reading(char *text, size_t size, const MtsReading *reading)
{
	const MtsInferSlot *slot = &reading->slots[0];
	char span[32];

	if (reading->spans > 1)
		snprintf(span, sizeof(span), "%d %ss", (int) reading->spans,
				 mts_infer_unit_name(reading->span));
	else
		snprintf(span, sizeof(span), "%s %s",
				 mts_infer_unit_article(reading->span),
				 mts_infer_unit_name(reading->span));
	snprintf(text, size, "%ss of %s", mts_infer_unit_name(slot->unit), span);
}

/*
 * mts_infer_offer
 *		Keep a reading that was possible, too, for the remark that comes next.
 *
 * It differs in the slot on this level from 0 on.
 */
void
mts_infer_offer(MtsInfer *infer, const MtsReading *reading, int level)
{
	MtsInferred *result = infer->result;
	MtsInferOther *other = &result->others[result->nothers];

	if (result->nothers == MTS_INFER_OTHERS)
		return;
	other->remark = result->nremarks;
	if (level == 0)
		write_reading(other->what, sizeof(other->what), reading);
	else
		snprintf(other->what, sizeof(other->what), "%ss of %s %s",
				 mts_infer_unit_name(reading->slots[level].unit),
				 mts_infer_unit_article(reading->slots[level - 1].unit),
				 mts_infer_unit_name(reading->slots[level - 1].unit));
	infer->readings[result->nothers++] = *reading;
}

/*
 * mts_infer_offered
 *		Say what the columns' fields would be in the readings that are kept.
 */
void
mts_infer_offered(MtsInfer *infer)
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
 * mts_infer_remark_slots
 *		Say why the outermost slot was taken for what it is, and for what else.
 */
void
mts_infer_remark_slots(MtsInfer *infer, const char *because,
					   const char *others)
{
	const MtsNode *nodes = infer->survey.nodes;
	char path[MTS_MAX_PATH];
	char taken[64];
	int outer = mts_infer_outermost(infer);

	write_reading(taken, sizeof(taken), &infer->reading);
	mts_infer_remark(infer, "%s: %lld to %lld taken for %s, as %s%s%s",
					 mts_infer_show(infer, outer, path),
					 (long long) nodes[outer].least,
					 (long long) nodes[outer].greatest, taken, because,
					 others[0] ? "; they could be " : "", others);
}

/*
 * mts_infer_remark_units
 *		Name the other units that the outermost slot could count: in shorter
 * buckets, if few times were seen; in longer ones that begin at any time, if
 * none was seen to begin too early.
 */
void
mts_infer_remark_units(MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;
	const MtsInferField *bucket = reading->bucket;
	MtsReading other = *reading;
	char others[128] = "";
	char because[128];
	char what[64];

	if (reading->spans > 1 || reading->slots[0].times > 1)
		return;
	for (MtsInferUnit span = MTS_UNIT_DAY; span <= MTS_UNIT_MINUTE; span++)
	{
		bool is_few = bucket->distinct <= 2 || reading->span != bucket->unit;

		if (span != reading->span &&
			(span >= bucket->unit
				 ? is_few
				 : bucket->distinct > 2 &&
					   mts_infer_unit_length(span) <= bucket->gap) &&
			mts_infer_units(infer, &other, span, true))
		{
			size_t len = strlen(others);

			write_reading(what, sizeof(what), &other);
			snprintf(others + len, sizeof(others) - len, "%s%s",
					 len > 0 ? " or " : "", what);
			mts_infer_offer(infer, &other, 0);
		}
	}
	snprintf(because, sizeof(because), "%s sampled begin%s %s %s",
			 bucket->distinct == 1   ? "the only bucket time"
			 : bucket->distinct == 2 ? "the two bucket times"
									 : "all bucket times",
			 bucket->distinct == 1 ? "s" : "",
			 mts_infer_unit_article(bucket->unit),
			 mts_infer_unit_name(bucket->unit));
	if (bucket->distinct > 1 && bucket->unit >= MTS_UNIT_DAY &&
		reading->span > bucket->unit && bucket->unit < MTS_UNIT_SECOND)
		snprintf(because, sizeof(because),
				 "they are too many for %ss of %s %s",
				 mts_infer_unit_name(bucket->unit + 1),
				 mts_infer_unit_article(bucket->unit),
				 mts_infer_unit_name(bucket->unit));
	if (others[0])
		mts_infer_remark_slots(infer, because, others);
}

/*
 * mts_infer_remark_parts
 *		Say that inner slots were taken for all parts of what encloses them.
 */
void
mts_infer_remark_parts(MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;
	int level = reading->nslots - 1;
	const MtsInferSlot *outer;
	const MtsNode *node;
	MtsReading other = *reading;
	char path[MTS_MAX_PATH];

	if (level < 1 || reading->slots[level].times <= 1)
		return;
	outer = &reading->slots[level - 1];
	node = &infer->survey.nodes[slot_node(infer, level)];
	other.slots[level].times = 0;
	mts_infer_offer(infer, &other, level);
	mts_infer_remark(
		infer,
		"%s: %lld to %lld taken for all parts of %s %s, as every %s has them; they could be %ss of it",
		mts_infer_show(infer, slot_node(infer, level), path),
		(long long) node->least, (long long) node->greatest,
		mts_infer_unit_article(outer->unit), mts_infer_unit_name(outer->unit),
		mts_infer_unit_name(outer->unit),
		mts_infer_unit_name(reading->slots[level].unit));
}
