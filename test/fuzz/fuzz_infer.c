/*
 * fuzz_infer.c
 *		Asserts that a layout inferred from any documents reads all of them.
 *
 * The documents follow one another.  The inferred declaration is built like a
 * user's, and must unfold each of them.
 */
#include "fuzz.h"

#include "advice/infer/trial.h"
#include "core/bson/element.h"
#include "inferred.h"
#include "points.h"

#define MAX_SAMPLES 64
#define LOCAL_BIT 1

const size_t fuzz_head = 1;

size_t
fuzz_make(uint8_t *data)
{
	static Bucket bucket;
	static TestTable table;
	size_t size = fuzz_head;
	MtsTime start;

	data[0] = (uint8_t) random_bits();
	table_open((int) random_below(table_nspecs), &table);
	start = bucket_random_start(&table);
	for (int i = 1 + (int) random_below(6); i > 0; i--)
	{
		bucket_fill(&bucket, &table, start, 1 + (int) random_below(12));
		if (size + bucket.doc.len <= FUZZ_MAX)
		{
			memcpy(data + size, bson_get_data(&bucket.doc), bucket.doc.len);
			size += bucket.doc.len;
		}
		bson_destroy(&bucket.doc);
		if (!mts_layout_bucket_end(&table.layout, start, &start))
			start = bucket_random_start(&table);
	}
	return size;
}

static void
check_sample(MtsUnfold *unfold, const MtsInferred *inferred,
			 const MtsSample *sample, MtsElement *elements)
{
	const MtsLayout *layout = unfold->layout;
	MtsPoint point = {.elements = elements};
	MtsUnfolded result;
	MtsElement count;
	int64_t said, n = 0;

	fuzz_check(mts_unfold_start(unfold, sample->bytes, sample->size),
			   "no bucket: %s: %s", unfold->invalid.where,
			   unfold->invalid.error.detail);
	for (; (result = mts_unfold_next(unfold, &point)) != MTS_DONE; n++)
		fuzz_check(result == MTS_POINT, "%s: %s", unfold->invalid.where,
				   unfold->invalid.error.detail);
	fuzz_check(inferred->max_points == 0 || n <= inferred->max_points,
			   "more points than a bucket may have");
	fuzz_check(!layout->count.is_set ||
				   !mts_unfold_header_find(unfold, &layout->count, &count) ||
				   (mts_element_integer(&count, MTS_MAX_EXACT, &said) &&
					said == n),
			   "the count is another than %d", (int) n);
}

static void
check_inferred(const MtsInferred *inferred, const MtsSample *samples, int n,
			   const MtsClock *clock)
{
	MtsLayout layout;
	MtsRange whole = {MTS_TIME_MIN, MTS_TIME_MAX};
	MtsRanges ranges = {1, &whole};
	MtsElement *elements =
		resize(NULL, (inferred->ncolumns + 1) * sizeof(*elements));
	MtsArena *arena = mts_arena_new(resize, release);
	MtsUnfold unfold;

	fuzz_check(mts_trial_build(inferred, clock, arena, &layout),
			   "it cannot be declared");
	layout.truncate = inferred->truncates;
	mts_unfold_init(&unfold, &layout, &ranges, arena);
	for (int i = 0; i < n; i++)
	{
		MtsElement doc =
			mts_element_document(samples[i].bytes, samples[i].size);

		if (mts_element_is_valid(&doc, FUZZ_DEPTH) &&
			selects(inferred, &samples[i]))
			check_sample(&unfold, inferred, &samples[i], elements);
	}
}

static int
read_samples(const uint8_t *data, size_t size, MtsSample *samples)
{
	int n = 0;

	while (size >= 5 && n < MAX_SAMPLES)
	{
		uint32_t len;

		memcpy(&len, data, sizeof(len));
		len = BSON_UINT32_FROM_LE(len);
		if (len < 5 || len > size)
			break;
		samples[n++] = (MtsSample){data, len};
		data += len;
		size -= len;
	}
	return n;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static TestZone summer;
	MtsSample samples[MAX_SAMPLES];
	MtsClock clock = table_clock(NULL);
	MtsClock local;
	MtsInferHints hints = {.clock = &clock};
	MtsInferred tables[MTS_INFER_TABLES];
	int n, ntables;

	if (size < fuzz_head || size > FUZZ_MAX)
		return 0;
	summer = (TestZone){table_time(2013, 3, 31, 1, 0, 0),
						table_time(2013, 10, 27, 1, 0, 0)};
	local = table_clock(&summer);
	if (data[0] & LOCAL_BIT)
		hints.local = &local;
	n = read_samples(data + fuzz_head, size - fuzz_head, samples);
	ntables = mts_infer(samples, n, &hints, &host, tables);
	for (int i = 0; i < ntables; i++)
		if (tables[i].ncolumns > 0)
			check_inferred(&tables[i], samples, n,
						   tables[i].bucket_time_is_local ||
								   tables[i].slots_are_local
							   ? &local
							   : &clock);
	free_all();
	return 0;
}
