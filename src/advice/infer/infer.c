/*
 * infer.c
 *		Infers the tables of sample documents.
 *
 * survey.c counts what stands at each place, and time_field.c finds the fields
 * that are times.  candidate.c generates readings from the table of units,
 * evidence.c grades them, and trial.c unfolds every sample by them.
 * declare.c declares the best one, key.c chooses its keys, and doubt.c remarks
 * on what it assumes.
 *
 * If a field splits the samples into groups that have different readings, each
 * group is a table.
 */
#include "advice/infer/infer_private.h"

#include <string.h>

/* A group has so many samples, and so many fields are tried. */
#define MIN_GROUP 2
#define MIN_COMPLETE 10 /* one of so many may lack the field */
#define MIN_TIMES 3     /* of buckets with offsets, which fit most spans */
#define MAX_GROUP_FIELDS 8

/* mts_infer_pause: let the host check for interrupts. */
void
mts_infer_pause(const MtsInfer *infer)
{
	if (infer->host->pause)
		infer->host->pause();
}

/* mts_infer_allocate: allocate zeroed memory for n items. */
void *
mts_infer_allocate(const MtsInfer *infer, size_t n, size_t size)
{
	void *items = infer->host->resize(NULL, n * size + 1);

	memset(items, 0, n * size + 1);
	return items;
}

/* Survey the samples that are valid, and find the times of documents. */
static MtsInfer *
open_samples(const MtsSample *samples, int nsamples, bool keeps_names,
			 const MtsInferHints *hints, const MtsInferHost *host)
{
	MtsInfer *infer = host->resize(NULL, sizeof(MtsInfer));
	const char *names[] = {hints->time, hints->meta};
	MtsSample *valid;

	memset(infer, 0, sizeof(*infer));
	infer->hints = hints;
	infer->host = host;
	infer->reading = (MtsReading){.span = MTS_NO_UNIT, .time_node = -1};
	valid = mts_infer_allocate(infer, nsamples, sizeof(MtsSample));
	for (int i = 0; i < nsamples; i++)
	{
		MtsElement doc =
			mts_element_document(samples[i].bytes, samples[i].size);

		mts_infer_pause(infer);
		if (mts_element_is_valid(&doc, MTS_MAX_DEPTH))
			valid[infer->nsamples++] = samples[i];
	}
	mts_survey_build(&infer->survey, valid, infer->nsamples, keeps_names,
					 host->resize);
	for (int i = 0; i < 2 && names[i] && infer->nsamples == 0; i++)
		mts_survey_add_name(&infer->survey, names[i]);
	infer->keys =
		mts_infer_allocate(infer, infer->survey.nnodes, sizeof(MtsKeys *));
	infer->is_declared =
		mts_infer_allocate(infer, infer->survey.nnodes, sizeof(bool));
	infer->is_total =
		mts_infer_allocate(infer, infer->survey.nnodes, sizeof(bool));
	infer->is_excluded =
		mts_infer_allocate(infer, infer->nsamples, sizeof(bool));
	mts_time_field_find_fields(infer);
	return infer;
}

/* Whether a filter for one value selects the other, too */
static bool
equal_elements(const MtsElement *a, const MtsElement *b)
{
	int64_t x, y;

	if (mts_element_integer(a, MTS_MAX_EXACT, &x) &&
		mts_element_integer(b, MTS_MAX_EXACT, &y))
		return x == y;
	return a->type == b->type && a->size == b->size &&
		   memcmp(a->value, b->value, a->size) == 0;
}

/* Samples that have a value of a field in common */
typedef struct Groups
{
	MtsElement values[MTS_INFER_TABLES];
	MtsInfer *infers[MTS_INFER_TABLES];
	int n;
} Groups;

/*
 * Split the samples by a field.  Returns false unless it has a few values,
 * several samples have each, and nearly all samples have one.
 */
static bool
split(const MtsInfer *infer, int node, Groups *groups, MtsSample *samples)
{
	int sizes[MTS_INFER_TABLES] = {0}, missing = 0;

	groups->n = 0;
	for (int i = 0; i < infer->nsamples; i++)
	{
		MtsElement value;
		int g = 0;

		if (!mts_survey_find(&infer->survey, i, node, &value) ||
			(MTS_TYPE_BIT(value.type) & MTS_NULL_TYPES))
		{
			if (++missing * MIN_COMPLETE > infer->nsamples)
				return false;
			continue;
		}
		while (g < groups->n && !equal_elements(&groups->values[g], &value))
			g++;
		if (g == MTS_INFER_TABLES)
			return false;
		groups->values[g] = value;
		groups->n += g == groups->n;
		samples[g * infer->nsamples + sizes[g]++] = infer->survey.samples[i];
	}
	for (int g = 0; g < groups->n; g++)
	{
		if (sizes[g] < MIN_GROUP)
			return false;
		groups->infers[g] =
			open_samples(samples + g * infer->nsamples, sizes[g],
						 infer->survey.keeps_names, infer->hints, infer->host);
	}
	return groups->n > 1;
}

/* Whether a reading is one of those that the samples of a group allow */
static bool
allows(const MtsInfer *infer, const MtsReading *reading)
{
	if (mts_candidate_is_same(&infer->reading, reading))
		return true;
	for (int i = 0; i < infer->nothers; i++)
		if (mts_candidate_is_same(&infer->others[i], reading))
			return true;
	return false;
}

/*
 * Whether each group is a series, and some groups allow no slots in common.
 * Points with dates of their own need no groups.
 */
static bool
groups_differ(Groups *groups)
{
	const MtsInfer *first = groups->infers[0];
	bool differ = false;

	for (int g = 0; g < groups->n; g++)
	{
		MtsInfer *infer = groups->infers[g];
		const MtsReading *reading = &infer->reading;

		if (!mts_candidate_find(infer) || reading->names > 0 ||
			(reading->time_node >= 0 &&
			 (strncmp(reading->time_format, "offset:", 7) != 0 ||
			  reading->bucket->distinct < MIN_TIMES)))
			return false;
		differ |= !allows(infer, &first->reading) && !allows(first, reading);
	}
	return differ;
}

/* Find a field that splits the samples into groups with different slots. */
static bool
find_groups(MtsInfer *infer, Groups *groups, int *node)
{
	MtsLeaves leaves;
	MtsSample *samples =
		mts_infer_allocate(infer, (size_t) infer->nsamples * MTS_INFER_TABLES,
						   sizeof(MtsSample));
	char path[MTS_MAX_PATH];
	int tried = 0;

	mts_column_leaves(infer, 0, &leaves);
	for (int i = 0; i < leaves.n && tried < MAX_GROUP_FIELDS; i++)
	{
		*node = leaves.nodes[i];
		if (!mts_column_has_only(infer, *node,
								 MTS_TYPE_BIT(BSON_TYPE_UTF8) |
									 MTS_INTEGER_TYPES |
									 MTS_TYPE_BIT(BSON_TYPE_BOOL)) ||
			!mts_remark_dotted(infer, *node, path) ||
			!split(infer, *node, groups, samples))
			continue;
		tried++;
		if (groups_differ(groups))
			return true;
	}
	return false;
}

/* Declare the table of a group. */
static void
declare_group(MtsInfer *infer, const Groups *groups, int g, int node,
			  MtsInferred *table)
{
	MtsInfer *group = groups->infers[g];

	group->result = table;
	(void) mts_remark_dotted(infer, node, table->group);
	table->value = groups->values[g];
	mts_remark(
		group,
		"documents with different \"%s\" have different units, and are in several tables\nThis one has %d of the %d sampled documents.",
		mts_remark_label(infer, node), group->nsamples, infer->nsamples);
	mts_declare(group);
}

/*
 * Find the tables of samples; returns 0 if names were taken together that
 * neither count a unit nor are times.
 */
static int
find_tables(MtsInfer *infer, MtsInferred *tables)
{
	const MtsReading *reading = &infer->reading;
	Groups groups;
	bool has_slots = false;
	int node;

	memset(tables, 0, MTS_INFER_TABLES * sizeof(MtsInferred));
	infer->result = &tables[0];
	for (node = 0; node < infer->survey.nnodes; node++)
		has_slots |= infer->survey.nodes[node].kind != MTS_NODE_NAME;
	if (!infer->hints->time && has_slots && find_groups(infer, &groups, &node))
	{
		for (int g = 0; g < groups.n; g++)
			declare_group(infer, &groups, g, node, &tables[g]);
		return groups.n;
	}
	if (!infer->hints->time)
		(void) mts_candidate_find(infer);
	if (infer->survey.has_shapes &&
		(reading->ncontainers == 0 || reading->names > 0))
		return 0;
	mts_declare(infer);
	return 1;
}

/*
 * mts_infer
 *		Infer the tables of sample documents.
 *
 * tables has room for MTS_INFER_TABLES; returns how many there are.  All
 * memory is the host's, which frees it when it no longer needs the tables.
 */
int
mts_infer(const MtsSample *samples, int nsamples, const MtsInferHints *hints,
		  const MtsInferHost *host, MtsInferred *tables)
{
	int n = find_tables(open_samples(samples, nsamples, hints->time != NULL,
									 hints, host),
						tables);

	return n > 0 ? n
				 : find_tables(open_samples(samples, nsamples, true, hints,
											host),
							   tables);
}
