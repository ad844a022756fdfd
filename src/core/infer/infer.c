/*
 * infer.c
 *		Infers the layout of sample documents.
 *
 * Samples rarely prove a layout.  So readings of them are tried in an order
 * that puts strong evidence first, and the first reading that holds is
 * declared.  A reading holds when the samples unfold by it without an error
 * (infer_check.c).  Names of fields do not count.
 *
 * The order of attempts:
 *
 * 1. The samples are surveyed (survey.c), and the fields that are times in all
 *    of them are found (infer_time.c).  The documents of a time-series
 *    collection are rows; in other documents points are looked for.
 *
 * 2. Points can stand at keys that are numbers and in arrays (infer_series.c).
 *    These nodes, the candidates, are tried one after the other: first keys
 *    that are numbers and points with a time, and among these the node with
 *    the most values.  Nodes with the same slots are read together with it.
 *
 * 3. For each candidate the time of its points is looked for, in this order:
 *    a. a field of the point: dates, then texts, then numbers;
 *    b. a field of the point that is an offset from the bucket's time, in
 *       arrays only (infer_offset.c);
 *    c. the slots, which count units from the bucket's time.
 *
 * 4. Slots that are keys or padded arrays in 3a, and all slots in 3c, count
 *    units (infer_counted.c).  Each field that is a time is tried as the
 *    bucket's time, the one with the most different times first, with
 *    a. buckets of several units, such as 7 days, if that divides the
 *       distances between the times;
 *    b. slots that are equal parts of a bucket, if all buckets have all keys;
 *    c. slots that count the next finer unit at each level;
 *    d. buckets that begin at any time, as long as their times are apart;
 *    e. slots that are equal parts of a bucket, if there are many keys;
 *    f. slots that count any finer unit.
 *
 * 5. Elements of arrays in 3a may count nothing.  Their bucket's time is the
 *    field that begins the largest unit.  Otherwise points with numbers are in
 *    buckets without a time.
 *
 * 6. If no reading of any candidate holds, each document is a row.
 *
 * Then the columns and options are declared (infer_declare.c, infer_totals.c,
 * infer_bucket.c).  Units that the samples allow as well are a remark, with
 * the alternative reading.
 */
#include "core/infer/infer_private.h"

#include <string.h>

#include "core/bson/element.h"

/* mts_infer_pause: let the host handle interrupts; it may not return. */
void
mts_infer_pause(const MtsInfer *infer)
{
	if (infer->host->pause)
		infer->host->pause();
}

/* mts_infer_allocate: allocate n zeroed items, and one more. */
void *
mts_infer_allocate(const MtsInfer *infer, size_t n, size_t size)
{
	void *items = infer->host->resize(NULL, (n + 1) * size);

	memset(items, 0, (n + 1) * size);
	return items;
}

/* mts_infer_clear_reading: forget the reading, so that documents are rows. */
void
mts_infer_clear_reading(MtsInfer *infer)
{
	infer->reading =
		(MtsReading){.time_node = -1, .span = MTS_UNIT_NONE, .spans = 1};
}

/* Survey the samples that are valid BSON. */
static void
survey_samples(MtsInfer *infer, const MtsSample *samples, int nsamples)
{
	MtsSample *valid = mts_infer_allocate(infer, nsamples, sizeof(MtsSample));
	int n = 0;

	for (int i = 0; i < nsamples; i++)
	{
		MtsElement doc =
			mts_element_document(samples[i].bytes, samples[i].size);

		mts_infer_pause(infer);
		if (mts_element_is_valid(&doc, MTS_MAX_DEPTH))
			valid[n++] = samples[i];
	}
	if (n < nsamples)
		mts_infer_remark(infer, "%d of %d sampled documents are malformed",
						 nsamples - n, nsamples);
	infer->nsamples = n;
	mts_survey_build(&infer->survey, valid, n, infer->host->resize);
	infer->is_excluded = mts_infer_allocate(infer, n, sizeof(bool));
	infer->is_declared =
		mts_infer_allocate(infer, infer->survey.nnodes, sizeof(bool));
	infer->shapes =
		mts_infer_allocate(infer, infer->survey.nnodes, sizeof(MtsInferShape));
}

/*
 * mts_infer
 *		Infer the layout of sample documents.
 *
 * Neither the arrays of *result nor most working memory is released.  The host
 * frees all of it when it no longer needs the result.
 */
void
mts_infer(const MtsSample *samples, int nsamples, const MtsInferHints *hints,
		  const MtsInferHost *host, MtsInferred *result)
{
	MtsInfer *infer = host->resize(NULL, sizeof(MtsInfer));

	memset(infer, 0, sizeof(*infer));
	memset(result, 0, sizeof(*result));
	infer->hints = hints;
	infer->host = host;
	infer->result = result;
	mts_infer_clear_reading(infer);
	survey_samples(infer, samples, nsamples);
	mts_infer_find_fields(infer);
	if (hints->time || !mts_infer_find_series(infer))
		mts_infer_declare_rows(infer);
	else
	{
		mts_infer_declare_points(infer);
		mts_infer_declare_totals(infer);
		mts_infer_declare_bucket(infer);
		mts_infer_declare_keys(infer);
	}
}
