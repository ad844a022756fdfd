/*
 * test_unfold.c
 *		Proves that unfolding a bucket gives the points that it was built from.
 *
 * test_invalid.c tests invalid buckets.
 */
#include "points.h"

static void
describe_ranges(const MtsRanges *ranges, char *text, size_t size)
{
	size_t len = 0;

	text[0] = '\0';
	for (int i = 0; i < ranges->n && len + 90 < size; i++)
	{
		text[len++] = '[';
		table_show_time(ranges->items[i].from, text + len, size - len);
		strcat(text, ", ");
		len = strlen(text);
		table_show_time(ranges->items[i].to, text + len, size - len);
		strcat(text, ")");
		len = strlen(text);
	}
}

static void
check_bucket(MtsUnfold *unfold, const Bucket *bucket, const MtsRanges *ranges)
{
	static Points want, got;
	static char texts[3][4096];

	points_expect(bucket, ranges, &want);
	points_unfold(unfold, bson_get_data(&bucket->doc), bucket->doc.len, &got);
	points_join(&want, texts[0], sizeof(texts[0]));
	points_join(&got, texts[1], sizeof(texts[1]));
	if (strcmp(texts[0], texts[1]) != 0)
	{
		char *json = bson_as_relaxed_extended_json(&bucket->doc, NULL);

		describe_ranges(ranges, texts[2], sizeof(texts[2]));
		tap_fault("%s: %.900s\nin %.400s\n got %.600s\nwant %.600s",
				  bucket->table->spec->name, json, texts[2], texts[1],
				  texts[0]);
		bson_free(json);
	}
}

/* Build and unfold random buckets of one table with the same MtsUnfold. */
static void
test_table(const TestTable *table)
{
	static Bucket bucket;
	char name[128];
	MtsRange items[8];
	MtsRanges ranges = {0, items};
	MtsArena *arena = mts_arena_new(realloc, free);
	MtsUnfold unfold;

	mts_unfold_init(&unfold, &table->layout, &ranges, arena);
	for (int turn = 0; turn < 500; turn++)
	{
		bucket_fill(&bucket, table, bucket_random_start(table),
					1 + (int) random_below(BUCKET_POINTS));
		items[0] = (MtsRange){MTS_TIME_MIN, MTS_TIME_MAX};
		ranges.n = 1;
		check_bucket(&unfold, &bucket, &ranges);
		for (int i = 0; i < 3; i++)
		{
			random_ranges(table, bucket.start, &ranges);
			check_bucket(&unfold, &bucket, &ranges);
		}
		bson_destroy(&bucket.doc);
	}
	mts_arena_free(arena);
	snprintf(name, sizeof(name),
			 "unfolding gives the points of the bucket: %s",
			 table->spec->name);
	tap_claim(name);
}

int
main(void)
{
	tap_seed();
	for (int i = 0; i < table_nspecs; i++)
	{
		TestTable table;

		table_open(i, &table);
		test_table(&table);
	}
	return tap_done();
}
