/*
 * bucket.h
 *		Makes random buckets of any layout, and records the points in them.
 *
 * The points are computed from the slots' keys here, not by the tested code.
 * All slots count units of a fixed length, except months.  Subdocuments are
 * written in random order.
 */
#ifndef BUCKET_H
#define BUCKET_H

#include <bson/bson.h>

#include "core/layout/layout.h"
#include "tables.h"
#include "tap.h"
#include "tree.h"

#define BUCKET_POINTS 24
#define BUCKET_NODES 600
#define BUCKET_LINE 160

typedef struct BucketPoint
{
	MtsTime time;
	int64_t index[MTS_MAX_SLOTS];
	const char *key[MTS_MAX_SLOTS];
	int value[TABLE_COLUMNS]; /* -1: absent */
} BucketPoint;

typedef struct Bucket
{
	const TestTable *table;
	MtsTime start;
	int npoints;
	BucketPoint points[BUCKET_POINTS];
	bson_t doc;
	Node nodes[BUCKET_NODES];
	int nnodes;
} Bucket;

static inline Node *
node_new(Bucket *bucket, Node *parent, const char *key)
{
	Node *node = &bucket->nodes[bucket->nnodes++];
	Node **end = &parent->first;

	if (bucket->nnodes > BUCKET_NODES)
		abort();
	*node = (Node){.type = BSON_TYPE_NULL};
	if (key)
	{
		snprintf(node->text, sizeof(node->text), "%s", key);
		node->key = node->text;
	}
	while (*end)
		end = &(*end)->next;
	*end = node;
	return node;
}

/* Return the child with this key, created if absent. */
static inline Node *
node_child(Bucket *bucket, Node *parent, const char *key)
{
	parent->type = BSON_TYPE_DOCUMENT;
	for (Node *node = parent->first; node; node = node->next)
		if (strcmp(node->key, key) == 0)
			return node;
	return node_new(bucket, parent, key);
}

/* Return the array's element, created after nulls if the array is shorter. */
static inline Node *
node_element(Bucket *bucket, Node *parent, int64_t index)
{
	Node *node;

	parent->type = BSON_TYPE_ARRAY;
	for (node = parent->first; node && index > 0; node = node->next)
		index--;
	for (; !node && index > 0; index--)
		node_new(bucket, parent, NULL);
	return node ? node : node_new(bucket, parent, NULL);
}

/* Write the key of a slot that counts units. */
static inline void
bucket_key(const MtsStep *step, int64_t index, char key[64])
{
	const char *text = step->name;
	int64_t unit = 1;
	int len = 0;

	if (step->nnumbers == 0)
		snprintf(key, 64, "%lld", (long long) index);
	for (int i = 1; i < step->nnumbers; i++)
		unit *= step->numbers[i].count;
	for (int i = 0; i < step->nnumbers; i++)
	{
		const MtsKeyNumber *number = &step->numbers[i];
		int64_t n = (index - step->base) / unit;

		if (i > 0)
			n %= number->count;
		if (i + 1 < step->nnumbers)
			unit /= step->numbers[i + 1].count;
		len += snprintf(key + len, 64 - len, "%s%0*lld", text, number->width,
						(long long) (n + number->first));
		text += strlen(text) + 1;
	}
	if (step->nnumbers > 0)
		snprintf(key + len, 64 - len, "%s", text);
}

/* Return the node at a path of a point. */
static inline Node *
node_at(Bucket *bucket, const MtsPath *path, const BucketPoint *point)
{
	Node *node = &bucket->nodes[0];
	int slot = 0;
	char key[64];

	for (int i = 0; i < path->nsteps; i++)
	{
		const MtsStep *step = &path->steps[i];

		if (step->may_be_index)
			node = node_element(bucket, node, atoi(step->name));
		else if (step->kind == MTS_STEP_NAME)
			node = node_child(bucket, node, step->name);
		else if (mts_path_step_is_array(step))
			node = node_element(bucket, node, point->index[slot++]);
		else if (step->kind == MTS_STEP_COLUMN_KEY)
			node = node_child(bucket, node, point->key[slot++]);
		else
		{
			bucket_key(step, point->index[slot++], key);
			node = node_child(bucket, node, key);
		}
	}
	return node;
}

/* Store a time in a format; offsets count from base. */
static inline void
node_set_time(Node *node, const MtsFormat *format, const MtsClock *clock,
			  MtsTime base, MtsTime t)
{
	int64_t unix_usecs = t - MTS_UNIX_EPOCH;
	static char texts[64][64];
	static int ntexts;

	node->type = BSON_TYPE_INT64;
	switch (format->kind)
	{
		case MTS_FORMAT_DATE:
			node->type = BSON_TYPE_DATE_TIME;
			node->number = unix_usecs / 1000;
			break;
		case MTS_FORMAT_EPOCH:
		case MTS_FORMAT_OID:
			node->number = unix_usecs / MTS_SECOND;
			if (format->kind == MTS_FORMAT_OID)
				node->type = BSON_TYPE_OID;
			else if (unix_usecs % MTS_SECOND != 0)
			{
				node->type = BSON_TYPE_DOUBLE;
				node->number = unix_usecs / 1000;
			}
			break;
		case MTS_FORMAT_EPOCH_MS:
			node->number = unix_usecs / 1000;
			break;
		case MTS_FORMAT_EPOCH_US:
			node->number = unix_usecs;
			break;
		case MTS_FORMAT_EPOCH_NS:
			node->number = unix_usecs * 1000;
			break;
		case MTS_FORMAT_OFFSET:
			node->type = BSON_TYPE_DOUBLE;
			node->number =
				(t - base) / (format->unit.usecs / 1000) + format->base * 1000;
			break;
		case MTS_FORMAT_TICKS:
			node->number = (t - MTS_FIRST_YEAR) * 10;
			break;
		case MTS_FORMAT_ISO8601:
		case MTS_FORMAT_OF_DAY:
		case MTS_FORMAT_MIXED:
		case MTS_FORMAT_TIMESTAMP:
			abort(); /* no table of the tests has them */
		case MTS_FORMAT_TEXT:
			node->type = BSON_TYPE_UTF8;
			node->string = texts[ntexts = (ntexts + 1) % 64];
			clock->format(clock->arg, format->pattern, t, texts[ntexts], 64);
			break;
	}
}

/* Write the key that is a time, whole seconds if the format has no finer. */
static inline const char *
bucket_time_key(const MtsLayout *layout, MtsTime *t)
{
	static char texts[256][64];
	static int n;
	const MtsFormat *format = &layout->key_format;
	bool has_seconds =
		format->kind == MTS_FORMAT_EPOCH || format->kind == MTS_FORMAT_TEXT;
	int64_t scale = has_seconds                           ? MTS_SECOND
					: format->kind == MTS_FORMAT_EPOCH_MS ? 1000
														  : 1;
	char *text = texts[n = (n + 1) % 256];

	*t -= (*t % scale + scale) % scale;
	if (format->kind == MTS_FORMAT_TEXT)
		layout->clock.format(layout->clock.arg, format->pattern, *t, text, 64);
	else
		snprintf(text, 64, "%lld",
				 (long long) ((*t - MTS_UNIX_EPOCH) / scale));
	return text;
}

/* Return the length of a span; a month has 28 days. */
static inline int64_t
bucket_length(MtsSpan span)
{
	return span.months * 28 * MTS_DAY + span.days * MTS_DAY + span.usecs;
}

/* Choose a point's slots, and its time by adding up what they count. */
static inline void
bucket_choose(const Bucket *bucket, BucketPoint *point)
{
	static const char *const keys[] = {"cpu", "mem", "7", "di sk"};
	const MtsLayout *layout = &bucket->table->layout;
	MtsSpan around = layout->span;

	point->time = bucket->start;
	for (int i = 0; i < layout->nslots; i++)
	{
		const MtsStep *slot = layout->slots[i];
		int64_t units, n;

		point->index[i] = bucket->npoints;
		point->key[i] = keys[random_below(4)];
		if (slot->kind == MTS_STEP_COLUMN_KEY)
			point->index[i] = 0;
		if (slot->kind != MTS_STEP_UNIT_KEY &&
			slot->kind != MTS_STEP_UNIT_INDEX)
			continue;
		/* whole slots, so that an inner slot can have any key */
		units = slot->unit.months
					? 12
					: (bucket_length(around) +
					   (i == layout->nslots - 1 ? bucket_length(slot->unit) - 1
												: 0)) /
						  bucket_length(slot->unit);
		n = random_below(slot->kind == MTS_STEP_UNIT_INDEX ? 5 : units);
		point->index[i] = n + slot->base;
		if (!mts_span_is_zero(slot->of))
			point->index[i] +=
				(point->time - mts_clock_floor(NULL, point->time, slot->of)) /
				bucket_length(slot->unit);
		if (slot->unit.months)
			mts_clock_step(NULL, point->time, slot->unit, n, &point->time);
		else
			point->time += n * bucket_length(slot->unit);
		around = slot->unit;
	}
	if (layout->time_kind == MTS_TIME_POINT)
	{
		int64_t room = bucket_length(layout->span);

		/* whole milliseconds, which every format can store */
		point->time = bucket->start +
					  random_below((room ? room : MTS_DAY) / 1000) * 1000;
	}
	if (mts_layout_time_is_key(layout))
	{
		int slot = mts_layout_time_column(layout)->slot;

		point->key[slot] = bucket_time_key(layout, &point->time);
	}
}

static inline bool
same_slots(const MtsLayout *layout, const BucketPoint *a, const BucketPoint *b)
{
	for (int i = 0; i < layout->nslots; i++)
		if (layout->slots[i]->kind == MTS_STEP_COLUMN_KEY
				? strcmp(a->key[i], b->key[i]) != 0
				: a->index[i] != b->index[i])
			return false;
	return true;
}

/* Put a point into the tree. */
static inline void
bucket_put(Bucket *bucket, BucketPoint *point)
{
	const MtsLayout *layout = &bucket->table->layout;
	const MtsColumn *time = mts_layout_time_column(layout);
	bool first = true;

	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];
		Node *node;

		point->value[i] = -1;
		if (column == time || column->role == MTS_ROLE_SLOT ||
			(column->container < 0 && layout->time_kind != MTS_TIME_FLAT))
			continue;
		/*
		 * each point has a value, and at most one is absent from a container;
		 * an array would be filled up with null
		 */
		if (!first && !mts_path_has_index(&column->path) &&
			random_below(4) == 0)
			continue;
		first = false;
		node = node_at(bucket, &column->path, point);
		node->type = BSON_TYPE_INT32;
		node->number = point->value[i] = (int) random_below(900) + 1;
	}
	if (layout->time_kind == MTS_TIME_POINT && !mts_layout_time_is_key(layout))
		node_set_time(node_at(bucket, &time->path, point), &time->format,
					  &layout->clock, bucket->start, point->time);
}

static inline void
bucket_put_field(Bucket *bucket, const MtsField *field, MtsTime t)
{
	if (field->is_set)
		node_set_time(node_at(bucket, &field->path, NULL), &field->format,
					  &bucket->table->layout.clock, 0, t);
}

/* Fill the bucket that starts at this time with up to n random points. */
static inline void
bucket_fill(Bucket *bucket, const TestTable *table, MtsTime start, int n)
{
	const MtsLayout *layout = &table->layout;
	bool is_flat = layout->time_kind == MTS_TIME_FLAT;
	MtsField time = {layout->time_column >= 0, {0}, {0}};
	MtsTime first = INT64_MAX, last = INT64_MIN;

	bucket->table = table;
	bucket->start = start;
	bucket->npoints = 0;
	bucket->nnodes = 1;
	bucket->nodes[0] = (Node){.type = BSON_TYPE_DOCUMENT};
	for (int turn = 0; turn < (is_flat ? 1 : n); turn++)
	{
		BucketPoint *point = &bucket->points[bucket->npoints];
		bool is_new = true;

		bucket_choose(bucket, point);
		for (int i = 0; i < bucket->npoints; i++)
			is_new &= !same_slots(layout, point, &bucket->points[i]);
		if (!is_new)
			continue;
		bucket_put(bucket, point);
		first = point->time < first ? point->time : first;
		last = point->time > last ? point->time : last;
		bucket->npoints++;
	}
	if (is_flat)
	{
		time.path = mts_layout_time_column(layout)->path;
		time.format = mts_layout_time_column(layout)->format;
		bucket_put_field(bucket, &time, start);
	}
	bucket_put_field(bucket, &layout->bucket_time, start);
	if (bucket->npoints > 0)
	{
		bucket_put_field(bucket, &layout->first, first);
		bucket_put_field(bucket, &layout->last, last);
	}
	bson_init(&bucket->doc);
	node_write(&bucket->nodes[0], &bucket->doc);
}

/* Return a random bucket time of the table, between 1850 and 2150. */
static inline MtsTime
bucket_random_start(const TestTable *table)
{
	MtsTime t = random_between(table_time(1850, 1, 1, 0, 0, 0),
							   table_time(2150, 1, 1, 0, 0, 0));

	/* an ObjectId's seconds begin in 1970 */
	if (table->layout.bucket_time.is_set &&
		table->layout.bucket_time.format.kind == MTS_FORMAT_OID)
		t = random_between(MTS_UNIX_EPOCH, table_time(2105, 1, 1, 0, 0, 0));
	return mts_clock_floor(NULL, t, table->grain);
}

#endif /* BUCKET_H */
