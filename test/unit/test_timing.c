/*
 * test_timing.c
 *		Proves when the times of points, and the unit of slots, are improbable.
 */
#include "advice/check/timing.h"
#include "tables.h"
#include "tap.h"

/* Buckets of a table with slots; each has one point at its end */
typedef struct Case
{
	const char *name;
	const char *field; /* of the values */
	const char *span;
	int year;
	int buckets;
	int64_t distance; /* of the buckets */
	int64_t offset;   /* of the points from the start of their bucket */
	bool is_improbable;
	MtsImprobable want;
} Case;

#define HOURS (60 * MTS_MINUTE)

static const Case cases[] = {
	{"minutes of hours", "v.{minute}", NULL, 2013, 12, HOURS, 59 * MTS_MINUTE},
	{"hours with gaps", "v.{minute}", NULL, 2013, 12, 19 * HOURS,
	 59 * MTS_MINUTE},
	{"seconds instead of minutes", "v.{second}", NULL, 2013, 12, HOURS,
	 59 * MTS_SECOND, false, MTS_BUCKETS_FAR_APART},
	{"a unit that is little too small", "v.{second}", NULL, 2013, 12,
	 19 * MTS_MINUTE, 59 * MTS_SECOND},
	{"seconds in hours", "v.{second}", "1 hour", 2013, 12, HOURS,
	 59 * MTS_SECOND, false, MTS_SLOTS_AT_START},
	{"slots up to a twentieth", "v.{second}", "1 hour", 2013, 12, HOURS,
	 HOURS / 20},
	{"few buckets prove nothing", "v.{second}", "1 hour", 2013, 9, HOURS,
	 59 * MTS_SECOND},
	{"only first slots prove nothing", "v.{minute}", NULL, 2013, 12, HOURS, 0},
	{"keys that count no unit", "v.{k}", "1 hour", 2013, 12, 1000 * HOURS, 0},
	{"1970", "v.{minute}", NULL, 1970, 12, HOURS, 59 * MTS_MINUTE, true},
	{"1969", "v.{minute}", NULL, 1969, 12, HOURS, 59 * MTS_MINUTE},
	{"1971", "v.{minute}", NULL, 1971, 12, HOURS, 59 * MTS_MINUTE},
	{"2199", "v.{minute}", NULL, 2199, 12, HOURS, 59 * MTS_MINUTE},
	{"2201", "v.{minute}", NULL, 2201, 12, HOURS, 59 * MTS_MINUTE, true},
	{"no bucket", "v.{minute}", NULL, 1970, 0, HOURS, 0},
};

int
main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		const Case *c = &cases[i];
		TestSpec spec = {.name = c->name, .span = c->span};
		MtsTime start = table_time(c->year, 3, 1, 0, 0, 0);
		static TestTable table;
		MtsUnfold unfold = {0};
		MtsTiming timing;
		MtsError error;

		spec.columns[0] = (TestColumn){"ts", NULL, MTS_ROLE_TIME};
		spec.columns[1] = (TestColumn){"v", c->field, MTS_ROLE_KEY};
		spec.columns[2] = (TestColumn){"k", NULL, MTS_ROLE_KEY};
		if (!table_declare(&spec, &table, &error))
		{
			printf("Bail out! %s: %s\n", c->name, error.detail);
			return 1;
		}
		unfold.layout = &table.layout;
		mts_timing_init(&timing);
		for (int j = 0; j < c->buckets; j++)
		{
			unfold.start = start + j * c->distance;
			mts_layout_bucket_end(&table.layout, unfold.start, &unfold.end);
			mts_timing_add_point(&timing, &unfold, unfold.start + c->offset);
			mts_timing_add_bucket(&timing, &unfold);
		}
		ok(mts_timing_is_improbable(&timing) == c->is_improbable &&
			   mts_timing_judge_unit(&timing, &table.layout) == c->want,
		   "%s", c->name);
	}
	return tap_done();
}
