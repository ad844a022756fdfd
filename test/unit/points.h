/*
 * points.h
 *		Prints the points of a bucket as sorted lines of text, for comparison.
 */
#ifndef POINTS_H
#define POINTS_H

#include "bucket.h"
#include "core/bucket/unfold.h"

#define POINTS_ROOM (BUCKET_POINTS * 2)

typedef struct Points
{
	int n;
	int ninvalid;
	char why[256]; /* the first invalid value */
	char lines[POINTS_ROOM][BUCKET_LINE];
} Points;

static inline int
compare_lines(const void *a, const void *b)
{
	return strcmp(a, b);
}

static inline void
points_sort(Points *points)
{
	qsort(points->lines, points->n, BUCKET_LINE, compare_lines);
}

static inline void
points_join(const Points *points, char *text, size_t size)
{
	size_t len = 0;

	text[0] = '\0';
	for (int i = 0; i < points->n && len < size; i++)
		len += snprintf(text + len, size - len, "%s%s", i ? "; " : "",
						points->lines[i]);
	if (points->ninvalid > 0 && len < size)
		snprintf(text + len, size - len, " (%d: %s)", points->ninvalid,
				 points->why);
}

/* Start a line.  Returns NULL if there is no room. */
static inline char *
points_line(Points *points, MtsTime t)
{
	char *line = points->lines[points->n];

	if (points->n == POINTS_ROOM)
		return NULL;
	points->n++;
	table_show_time(t, line, BUCKET_LINE);
	return line;
}

static inline void __attribute__((format(printf, 2, 3)))
line_add(char *line, const char *format, ...)
{
	size_t len = strlen(line);
	va_list args;

	va_start(args, format);
	vsnprintf(line + len, BUCKET_LINE - len, format, args);
	va_end(args);
}

static inline bool
in_ranges(const MtsRanges *ranges, MtsTime t)
{
	for (int i = 0; i < ranges->n; i++)
		if (ranges->items[i].from <= t && t < ranges->items[i].to)
			return true;
	return false;
}

/* Print those points of a random bucket that are within the ranges. */
static inline void
points_expect(const Bucket *bucket, const MtsRanges *ranges, Points *points)
{
	const MtsLayout *layout = &bucket->table->layout;

	points->n = points->ninvalid = 0;
	for (int i = 0; i < bucket->npoints; i++)
	{
		const BucketPoint *point = &bucket->points[i];
		char *line;

		if (!in_ranges(ranges, point->time))
			continue;
		line = points_line(points, point->time);
		for (int s = 0; s < layout->nslots; s++)
			if (layout->slots[s]->kind == MTS_STEP_COLUMN_KEY)
				line_add(line, " %s", point->key[s]);
			else
				line_add(line, " %lld", (long long) point->index[s]);
		for (int c = 0; c < layout->ncolumns; c++)
			if (point->value[c] >= 0)
				line_add(line, " %s=%d", layout->columns[c].name,
						 point->value[c]);
	}
	points_sort(points);
}

static inline void
line_add_value(char *line, const MtsColumn *column, const MtsElement *element)
{
	size_t len;
	const char *text;

	switch (element->type)
	{
		case BSON_TYPE_INT32:
			line_add(line, " %s=%d", column->name, mts_element_int32(element));
			break;
		case BSON_TYPE_UTF8:
			text = mts_element_text(element, &len);
			line_add(line, " %s=\"%.*s\"", column->name, (int) len, text);
			break;
		default:
			line_add(line, " %s=%s", column->name,
					 mts_element_type_name(element->type));
	}
}

/* Tell whether a column belongs to the point, not to its bucket. */
static inline bool
is_value_of_point(const MtsLayout *layout, int column)
{
	return column != layout->time_column &&
		   (layout->columns[column].container >= 0 ||
			(layout->time_kind == MTS_TIME_FLAT &&
			 layout->columns[column].role == MTS_ROLE_KEY));
}

static inline void
points_invalid(Points *points, const MtsUnfold *unfold)
{
	if (points->ninvalid++ == 0)
		snprintf(points->why, sizeof(points->why), "%.90s: %.150s",
				 unfold->invalid.where, unfold->invalid.error.detail);
}

/*
 * Unfold a document.  A bucket has at most one point or invalid value for each
 * of its bytes, so more of them prove an endless loop.
 */
static inline void
points_unfold(MtsUnfold *unfold, const uint8_t *data, size_t size,
			  Points *points)
{
	const MtsLayout *layout = unfold->layout;
	MtsElement elements[TABLE_COLUMNS];
	MtsPoint point = {.elements = elements};
	MtsUnfolded result;
	size_t turns = 0;

	points->n = points->ninvalid = 0;
	points->why[0] = '\0';
	if (!mts_unfold_start(unfold, data, size))
	{
		points_invalid(points, unfold);
		return;
	}
	while ((result = mts_unfold_next(unfold, &point)) != MTS_DONE)
	{
		char *line;
		MtsElement element;

		if (turns++ > 2 * size + 2)
		{
			tap_fault("an endless loop");
			return;
		}
		if (result == MTS_INVALID)
		{
			points_invalid(points, unfold);
			continue;
		}
		line = points_line(points,
						   point.time_is_null ? MTS_TIME_MIN : point.time);
		for (int i = 0; line && i < layout->nslots; i++)
			if (layout->slots[i]->kind == MTS_STEP_COLUMN_KEY)
				line_add(line, " %.*s", (int) point.slots[i].len,
						 point.slots[i].text);
			else
				line_add(line, " %lld", (long long) point.slots[i].index);
		for (int i = 0; line && i < layout->ncolumns; i++)
			if (is_value_of_point(layout, i) &&
				mts_unfold_value(unfold, &point, &layout->columns[i],
								 &element) == MTS_FOUND)
				line_add_value(line, &layout->columns[i], &element);
	}
	points_sort(points);
}

/*
 * Make random ranges near a bucket: most within it, some open or far away.
 */
static inline void
random_ranges(const TestTable *table, MtsTime start, MtsRanges *ranges)
{
	int64_t room = bucket_length(table->layout.span);
	int64_t grain = bucket_length(table->grain);
	MtsTime from;

	room = room ? room : MTS_DAY;
	ranges->n = 0;
	from = start + random_between(-room, 2 * room);
	for (int n = (int) random_between(1, 4); n > 0; n--)
	{
		int64_t length =
			1 + random_below(random_below(2) ? room : room / 20 + 2);

		/* users write bounds that are multiples of the bucket's grain */
		if (random_below(2))
			from -= (from - start) % (grain < room ? grain : 1000);
		if (random_below(4) == 0)
			length = MTS_SECOND;
		mts_ranges_add(ranges, from, from + length);
		from += length + random_below(room / 2 + 1);
	}
	if (random_below(6) == 0)
		ranges->items[0].from = MTS_TIME_MIN;
	if (random_below(6) == 0)
		ranges->items[ranges->n - 1].to = MTS_TIME_MAX;
}

#endif /* POINTS_H */
