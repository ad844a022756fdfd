/*
 * test_holdouts.c
 *		Proves that collections of known systems are imported right, or as
 *		data with a remark.
 *
 * Each reading of a collection is looked for in the rows of the tables that
 * are inferred.  It must be found, with its own time, or, where that is
 * accepted, with the time of its document.
 */
#include <ctype.h>

#include "advice/infer/trial.h"
#include "core/bucket/unfold.h"

#include "collection.h"
#include "inferred.h"

/* What is accepted; readings under names have the time of their document */
typedef enum Want
{
	RIGHT,  /* the right times, or no time in documents that are rows */
	TIMED,  /* the right times */
	DATA,   /* no time */
	KEYED,  /* these, and columns that identify each document */
	NOTED,  /* these, and a remark that names the field */
	PLAIN,  /* the right times, or data */
	EITHER, /* the right times, or data and a remark */
	DOUBT   /* the right times, or any other and a remark */
} Want;

/* The zone in which the days of documents begin */
typedef enum Zone
{
	UTC,
	LOCAL,  /* that of the session */
	FOREIGN /* the session's is UTC */
} Zone;

typedef struct Holdout
{
	Want want;
	const char *name;
	const char *field; /* what a remark must name */
	const char *template;
	const char *start; /* 2024-01-01 if NULL */
	Zone zone;
	bool is_native; /* timeField ts, metaField meta */
} Holdout;

static const Holdout holdouts[] = {
#include "holdouts.h"
};

static Collection collection;
static MtsClock utc, local;
static uint64_t keys[COLLECTION_DOCS]; /* of buckets, hashed */
static int ntables[COLLECTION_DOCS];   /* that select the document */

static uint64_t
hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ ((const uint8_t *) bytes)[i]) * 0x100000001b3;
	return hash;
}

/* Record a reading that was read with a time, or with that of a loop. */
static void
see_reading(Reading *reading, bool has_time, MtsTime t)
{
	bool is_data = !has_time || t == reading->document;

	for (int i = 0; i < SCOPES; i++)
		is_data |= t == reading->around[i] && t > reading->document;
	reading->is_time |= has_time && t == reading->time;
	reading->is_data |= is_data;
	reading->is_wrong |= !is_data && t != reading->time;
}

/* Record the readings in an element that was read with a time. */
static void
see(const MtsElement *element, bool has_time, MtsTime t)
{
	MtsElementCursor cursor;
	MtsElement child;
	Reading *reading;
	double d;

	if (element->type == BSON_TYPE_DOCUMENT ||
		element->type == BSON_TYPE_ARRAY)
	{
		mts_element_open(&cursor, element->value, element->size);
		while (mts_element_next(&cursor, &child) == MTS_NEXT_OK)
			see(&child, has_time, t);
		return;
	}
	if (element->type == BSON_TYPE_UTF8)
		d = strtod(mts_element_text(element, &(size_t){0}), NULL);
	else if (!mts_element_number(element, &d))
		return;
	reading = collection_find(&collection, d);
	if (reading)
		see_reading(reading, has_time, t);
}

/* Record the readings of a point, and of its bucket if it is the first. */
static void
see_point(MtsUnfold *unfold, const MtsPoint *point, bool is_first)
{
	const MtsLayout *layout = unfold->layout;
	bool is_flat = layout->time_kind == MTS_TIME_FLAT;
	MtsElement element;

	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];
		bool is_of_point = column->container >= 0 || is_flat;

		if (i == layout->time_column || column->role == MTS_ROLE_SLOT ||
			(!is_of_point && !is_first) ||
			mts_unfold_value(unfold, point, column, &element) != MTS_FOUND)
			continue;
		if (is_of_point)
			see(&element, layout->time_column >= 0 && !point->time_is_null,
				point->time);
		else
			see(&element, layout->bucket_time.is_set, unfold->start);
	}
}

/* Return what identifies a bucket. */
static uint64_t
bucket_key(MtsUnfold *unfold)
{
	const MtsLayout *layout = unfold->layout;
	uint64_t hash = hash_bytes(0, &unfold->start, sizeof(unfold->start));
	MtsElement element;

	for (int i = 0; i < layout->ncolumns; i++)
		if (layout->columns[i].role == MTS_ROLE_KEY &&
			layout->columns[i].container < 0 &&
			mts_unfold_value(unfold, NULL, &layout->columns[i], &element) ==
				MTS_FOUND)
		{
			hash = hash_bytes(hash, &i, sizeof(i));
			hash = hash_bytes(hash, element.value, element.size);
		}
	return hash;
}

static int
compare_keys(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

	return (x > y) - (x < y);
}

/* Tell whether an INSERT could find a bucket that is not its own. */
static bool
loses_data(const MtsInferred *inferred, Want want, int n)
{
	if (!inferred->has_buckets ||
		(want != KEYED && (inferred->readonly || inferred->max_points > 0)))
		return false;
	qsort(keys, n, sizeof(*keys), compare_keys);
	for (int i = 1; i < n; i++)
		if (keys[i] == keys[i - 1])
			return true;
	return false;
}

/* Read a table's documents.  Returns a complaint, or NULL. */
static const char *
read_table(const MtsInferred *inferred, Want want)
{
	static char complaint[768];
	bool is_local =
		inferred->bucket_time_is_local || inferred->slots_are_local;
	MtsRange whole = {MTS_TIME_MIN, MTS_TIME_MAX};
	MtsRanges ranges = {1, &whole};
	MtsElement *elements =
		resize(NULL, (inferred->ncolumns + 1) * sizeof(*elements));
	MtsPoint point = {.elements = elements};
	MtsArena *arena = mts_arena_new(resize, release);
	MtsLayout layout;
	MtsUnfold unfold;
	int n = 0;

	if (*inferred->first && !strcmp(inferred->first, inferred->bucket_time))
		return "the first reading's time is the bucket's";
	if (!mts_trial_build(inferred, is_local ? &local : &utc, arena, &layout))
		return "it cannot be declared";
	layout.truncate = inferred->truncates;
	mts_unfold_init(&unfold, &layout, &ranges, arena);
	unfold.accepts_null_time = true;
	for (int i = 0; i < collection.ndocs; i++)
	{
		const MtsSample *sample = &collection.samples[i];
		MtsUnfolded result = MTS_POINT;

		if (!selects(inferred, sample))
			continue;
		if (ntables[i]++ > 0)
			return "a document is in two tables";
		if (!mts_unfold_start(&unfold, sample->bytes, sample->size))
			result = MTS_INVALID;
		else
			keys[n++] = bucket_key(&unfold);
		for (bool is_first = true; result == MTS_POINT; is_first = false)
		{
			result = mts_unfold_next(&unfold, &point);
			if (result == MTS_POINT)
				see_point(&unfold, &point, is_first);
		}
		snprintf(complaint, sizeof(complaint), "%s: %s", unfold.invalid.where,
				 unfold.invalid.error.detail);
		if (result == MTS_INVALID)
			return complaint;
	}
	return loses_data(inferred, want, n) ? "several buckets have the same keys"
										 : NULL;
}

/* Tell whether a remark names a field, as a word. */
static bool
is_noted(const MtsInferred *tables, int n, const char *field)
{
	size_t len = strlen(field);

	for (int i = 0; i < n; i++)
		for (int j = 0; j < 2; j++)
		{
			const char *text = j == 0 ? tables[i].message : tables[i].detail;

			for (const char *at = strstr(text, field); at;
				 at = strstr(at + 1, field))
				if ((at == text || strchr(" \"", at[-1])) &&
					!isalnum((unsigned char) at[len]) && at[len] != '_')
					return true;
		}
	return false;
}

/* Judge what was seen of the readings.  Returns a complaint, or NULL. */
static const char *
judge(Want want, bool is_noted)
{
	bool is_right = true, is_data = true, are_timed = true, has_time = false;

	if (collection.n == 0)
		return "there are no readings";
	for (int i = 0; i < collection.n; i++)
	{
		const Reading *reading = &collection.readings[i];

		if (!reading->is_time && !reading->is_data && !reading->is_wrong)
			return "a reading is lost";
		is_right &= !reading->is_wrong &&
					(reading->is_time || reading->time == reading->document);
		is_data &= !reading->is_wrong;
		are_timed &= reading->is_time;
		has_time |= reading->is_time;
	}
	if (want == TIMED && is_data && !are_timed)
		return "there is no time";
	if (want == DATA)
		return !is_data   ? "times are wrong"
			   : has_time ? "there is a time"
						  : NULL;
	if (want == NOTED && !is_noted)
		return "there is no remark";
	if (is_right || (want == PLAIN && is_data))
		return NULL;
	if (want <= NOTED)
		return is_data ? "times are read as data" : "times are wrong";
	if (!is_data && want != DOUBT)
		return "times are wrong";
	return is_noted ? NULL
					: (is_data ? "there is no remark"
							   : "times are wrong without a remark");
}

static void
show(const MtsInferred *inferred)
{
	printf("# %s %s span %s group %s required %s%s%s\n", inferred->bucket_time,
		   inferred->bucket_format, inferred->bucket_span, inferred->group,
		   inferred->required, inferred->slots_are_local ? " local" : "",
		   inferred->readonly ? " readonly" : "");
	for (int i = 0; i < inferred->ncolumns; i++)
		printf("#   role %d %s: %s %s\n", inferred->columns[i].role,
			   inferred->columns[i].name, inferred->columns[i].field,
			   inferred->columns[i].format);
	diag(inferred->message);
	diag(inferred->detail);
}

static void
test_holdout(const Holdout *holdout)
{
	MtsInferHints hints = {.clock = &utc};
	MtsInferred tables[MTS_INFER_TABLES];
	const char *complaint = NULL;
	const MtsClock *clock = holdout->zone == UTC ? &utc : &local;
	const char *day = holdout->start ? holdout->start : "2024-01-01";
	MtsTime start;
	int n;

	clock->parse(clock->arg, "YYYY-MM-DD", day, strlen(day), &start);
	hints.local = holdout->zone == LOCAL ? &local : NULL;
	if (holdout->is_native)
	{
		hints.time = "ts";
		hints.meta = "meta";
	}
	collection_make(&collection, holdout->template, start, clock);
	n = mts_infer(collection.samples, collection.ndocs, &hints, &host, tables);
	memset(ntables, 0, sizeof(ntables));
	for (int i = 0; i < n && !complaint; i++)
		complaint = read_table(&tables[i], holdout->want);
	if (!complaint)
		complaint = judge(holdout->want, is_noted(tables, n, holdout->field));
	if (!ok(!complaint, "%s", holdout->name))
	{
		diag(complaint);
		for (int i = 0; i < n; i++)
			show(&tables[i]);
	}
	collection_free(&collection);
	free_all();
}

int
main(void)
{
	static TestZone summer;

	summer = (TestZone){table_time(2024, 3, 31, 1, 0, 0),
						table_time(2024, 10, 27, 1, 0, 0)};
	utc = table_clock(NULL);
	local = table_clock(&summer);
	for (size_t i = 0; i < sizeof(holdouts) / sizeof(holdouts[0]); i++)
		test_holdout(&holdouts[i]);
	return tap_done();
}
