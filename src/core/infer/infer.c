/*
 * infer.c
 *		Which layout do these sample documents have?
 *
 * The order of things: survey the documents, find the fields that are times,
 * find a reading of them that holds, declare its columns and options.
 */
#include "core/infer/infer_private.h"

#include <string.h>

#include "core/bson/element.h"

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
