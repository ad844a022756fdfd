/*
 * import_sample.c
 *		Lists the collections of a database and fetches sample documents.
 *
 * The samples of an unchanged collection are the same in each import.  Those
 * of a large one are runs of documents that follow one another in the index on
 * _id, at even distances: the oldest, the newest, and documents of one time.
 *
 * Results are palloc'd in the current context.
 */
#include "advice/import/import.h"

#include <math.h>

#include "miscadmin.h"

#include "driver/command.h"
#include "driver/cursor.h"
#include "driver/document.h"
#include "core/layout/rolling_name.h"
#include "table/option.h"
#include "table/rollup.h"
#include "table/zone.h"

#define DEFAULT_SAMPLE_SIZE 1000

/* Sampling stops when the documents have more bytes than these. */
#define MAX_BYTES (16 * 1024 * 1024)

/* Documents of a round trip; few, as each may have several megabytes */
#define FETCH_SIZE 100

/* Documents of a run, and the runs of a collection at most */
#define RUN_SIZE 50
#define MAX_RUNS 20

/* A copy of a string in a document of listCollections, or NULL */
static char *
read_text(const bson_t *doc, const char *path)
{
	const char *text = mts_document_string(doc, path);

	return text ? pstrdup(text) : NULL;
}

/*
 * Write the pattern of a name that has a date: load_%Y%m of load_202403; or
 * return NULL.
 */
static char *
find_rolling_name(const char *name)
{
	static const char *const dates[] = {"%Y%m%d%H", "%Y%m%d",   "%Y%m",
										"%Y-%m-%d", "%Y_%m_%d", "%Y.%m.%d",
										"%Y-%m",    "%Y_%m",    "%Y.%m",
										"%Y"};
	MtsClock clock = mts_zone_clock("UTC");
	MtsRollingName rolling;
	MtsPeriod period;
	MtsError error;

	for (const char *at = strpbrk(name, MTS_DIGITS); at;
		 at = strpbrk(at + strspn(at, MTS_DIGITS), MTS_DIGITS))
		for (int i = 0; i < lengthof(dates); i++)
		{
			/* placeholders have as many digits as letters; the year has two
			 * more */
			size_t len = strlen(dates[i]) + 2;
			char *pattern;

			if (strlen(at) < len || strchr(name, '%'))
				continue;
			pattern = psprintf("%.*s%s%s", (int) (at - name), name, dates[i],
							   at + len);
			if (mts_rolling_name_parse(pattern, &rolling, &error) &&
				mts_rolling_name_period(&rolling, &clock, name, &period) &&
				!strchr(MTS_DIGITS, at[len] ? at[len] : 'x'))
				return pattern;
		}
	return NULL;
}

static int
compare_collections(const ListCell *a, const ListCell *b)
{
	return strcmp(((MtsImportCollection *) lfirst(a))->name,
				  ((MtsImportCollection *) lfirst(b))->name);
}

/* Count the collections with each pattern in the first one that has it. */
static void
count_rolling(List *collections)
{
	ListCell *lc, *other;

	foreach (lc, collections)
	{
		const char *pattern = ((MtsImportCollection *) lfirst(lc))->rolling;

		foreach (other, collections)
		{
			MtsImportCollection *first = lfirst(other);

			if (!pattern || !first->rolling ||
				strcmp(first->rolling, pattern) != 0)
				continue;
			first->nrolling++;
			break;
		}
	}
}

/*
 * Find the collections that are roll-ups: those with a state.  A user who may
 * not read the states finds none.
 */
static void
find_rollups(const MtsImport *import, List *collections)
{
	MtsCursor *cursor =
		mts_cursor_find(import->connection, import->stmt->remote_schema,
						MTS_ROLLUP_STATES,
						&(MtsFind){.filter = mts_document_new(),
								   .projection = mts_document_make("{_id: 1}"),
								   .first_batch = MTS_FIRST_BATCH,
								   .may_be_refused = true});
	const bson_t *doc;

	while ((doc = mts_cursor_next(cursor)) != NULL)
	{
		const char *name = mts_document_string(doc, "_id");
		ListCell *lc;

		foreach (lc, collections)
		{
			MtsImportCollection *collection = lfirst(lc);

			collection->is_rollup |=
				name && strcmp(collection->name, mts_import_text(name)) == 0;
		}
	}
	mts_cursor_close(cursor);
}

/*
 * mts_import_collections
 *		List a database's collections and views by name, without MongoDB's own,
 *		and that of the states of roll-ups.
 */
List *
mts_import_collections(const MtsImport *import)
{
	MtsCursor *cursor = mts_cursor_collections(import->connection,
											   import->stmt->remote_schema);
	List *collections = NIL;
	bool has_rollups = false;
	const bson_t *doc;

	while ((doc = mts_cursor_next(cursor)) != NULL)
	{
		MtsImportCollection *collection = palloc0(sizeof(MtsImportCollection));
		char *name = read_text(doc, "name");
		const char *type = mts_document_string(doc, "type");

		if (!name || strncmp(name, "system.", 7) == 0)
			continue;
		if (strcmp(name, MTS_ROLLUP_STATES) == 0)
		{
			has_rollups = true;
			continue;
		}
		collection->name = mts_import_text(name);
		collection->is_view = type && strcmp(type, "view") == 0;
		collection->time = read_text(doc, "options.timeseries.timeField");
		collection->meta = read_text(doc, "options.timeseries.metaField");
		collection->rolling = collection->is_view || collection->time
								  ? NULL
								  : find_rolling_name(collection->name);
		collections = lappend(collections, collection);
	}
	mts_cursor_close(cursor);
	if (has_rollups)
		find_rollups(import, collections);
	list_sort(collections, compare_collections);
	count_rolling(collections);
	return collections;
}

/* The documents that are sampled, in the order of a field */
typedef struct Samples
{
	const MtsImport *import;
	const char *field; /* _id, or the timeField */
	MtsSample *items;  /* with room for all */
	int n;
	size_t bytes;
} Samples;

/* Add the first documents of some stages, up to a limit, or to some bytes. */
static void
collect(Samples *samples, bson_t *stages, int limit, size_t most)
{
	MtsCursor *cursor;
	const bson_t *doc;

	mts_template_push(stages, "{$limit: %d}", limit);
	cursor = mts_cursor_find(samples->import->connection,
							 samples->import->stmt->remote_schema,
							 samples->import->collection->name,
							 &(MtsFind){.stages = stages,
										.fetch_size = Min(limit, FETCH_SIZE)});
	while (limit-- > 0 && samples->bytes < most &&
		   (doc = mts_cursor_next(cursor)) != NULL)
	{
		uint8_t *bytes = palloc(doc->len);

		memcpy(bytes, bson_get_data(doc), doc->len);
		samples->items[samples->n++] = (MtsSample){bytes, doc->len};
		samples->bytes += doc->len;
		CHECK_FOR_INTERRUPTS();
	}
	mts_cursor_close(cursor);
}

/* Sort documents by the field, unless that takes more than an index. */
static bson_t *
sort(const Samples *samples, bson_t *stages, int direction)
{
	const MtsImportCollection *collection = samples->import->collection;

	if (!collection->is_view && (!collection->time || direction < 0))
		mts_template_push(stages, "{$sort: {%s: %d}}", samples->field,
						  direction);
	return stages;
}

/* Get the field of a sample; false if it has none. */
static bool
get_position(const Samples *samples, int i, bson_value_t *value)
{
	bson_iter_t iter;
	bson_t doc;

	if (!bson_init_static(&doc, samples->items[i].bytes,
						  samples->items[i].size) ||
		!bson_iter_init_find(&iter, &doc, samples->field))
		return false;
	*value = *bson_iter_value(&iter);
	return true;
}

/* Read six bytes as a number; those beyond the end are zero. */
static double
read_bytes(const uint8_t *bytes, size_t len, size_t at)
{
	double n = 0;

	for (size_t i = at; i < at + 6; i++)
		n = n * 256 + (i < len ? bytes[i] : 0);
	return n;
}

/* Write the bytes at a part of the distance between two byte strings. */
static void
interpolate_bytes(const uint8_t *a, size_t alen, const uint8_t *b, size_t blen,
				  double part, uint8_t *to, size_t len)
{
	size_t same = 0;
	double n;

	while (same < Min(Min(alen, blen), len) && a[same] == b[same])
		same++;
	memset(to, 0, len);
	memcpy(to, a, same);
	n = read_bytes(a, alen, same) +
		part * (read_bytes(b, blen, same) - read_bytes(a, alen, same));
	for (size_t i = same; i < Min(same + 6, len); i++)
		to[i] = (uint8_t) fmod(n / pow(256, (double) (same + 5 - i)), 256);
}

/*
 * Make the value at a part of the distance between two values.  Returns false
 * if they differ in type, or their type is not one that is divided.
 */
static bool
interpolate(const bson_value_t *a, const bson_value_t *b, double part,
			bson_value_t *to)
{
	double x, y;

	*to = *a;
	if (a->value_type != b->value_type)
		return false;
	switch (a->value_type)
	{
		case BSON_TYPE_OID:
			interpolate_bytes(a->value.v_oid.bytes, 12, b->value.v_oid.bytes,
							  12, part, to->value.v_oid.bytes, 12);
			return true;
		case BSON_TYPE_UTF8:
			to->value.v_utf8.str = palloc0(a->value.v_utf8.len + 8);
			interpolate_bytes((uint8_t *) a->value.v_utf8.str,
							  a->value.v_utf8.len,
							  (uint8_t *) b->value.v_utf8.str,
							  b->value.v_utf8.len, part,
							  (uint8_t *) to->value.v_utf8.str,
							  a->value.v_utf8.len + 7);
			/* other bytes than ASCII's may be cut characters */
			to->value.v_utf8.len = 0;
			while ((signed char) to->value.v_utf8.str[to->value.v_utf8.len] >
				   0)
				to->value.v_utf8.len++;
			return true;
		case BSON_TYPE_DATE_TIME:
		case BSON_TYPE_INT64:
			x = (double) a->value.v_int64;
			y = (double) b->value.v_int64;
			to->value.v_int64 = (int64_t) (x + part * (y - x));
			return true;
		case BSON_TYPE_INT32:
			x = a->value.v_int32;
			y = b->value.v_int32;
			to->value.v_int32 = (int32_t) (x + part * (y - x));
			return true;
		case BSON_TYPE_DOUBLE:
			to->value.v_double =
				a->value.v_double +
				part * (b->value.v_double - a->value.v_double);
			return true;
		default:
			return false;
	}
}

/*
 * Add the run of documents that begins at a part of the way from the first one
 * to the last ones, which are the first samples.
 */
static void
collect_run(Samples *samples, int nlast, double part, int limit, size_t most)
{
	bson_t *stages = mts_document_new();
	bson_value_t first, read, last, end, from;

	if (!get_position(samples, nlast, &first) ||
		!get_position(samples, samples->n - 1, &read) ||
		!get_position(samples, nlast - 1, &end) ||
		!get_position(samples, 0, &last) ||
		!interpolate(&first, &last, part, &from))
		return;
	/* a native collection has many documents of one time */
	if (samples->import->collection->time)
		mts_template_push(stages, "{$match: {%s: {$gte: %v}}}", samples->field,
						  &from);
	else
		mts_template_push(stages,
						  "{$match: {%s: {$gte: %v, $gt: %v, $lt: %v}}}",
						  samples->field, &from, &read, &end);
	collect(samples, sort(samples, stages, 1), limit, most);
}

/*
 * Sample a large collection: the last documents by the field, then runs from
 * the first on.
 */
static void
collect_runs(Samples *samples, int size)
{
	int nruns = Max(1, Min(MAX_RUNS, size / RUN_SIZE));
	bson_value_t first, last, middle;
	int limit, nlast;
	size_t share;

	collect(samples, sort(samples, mts_document_new(), -1), 1, MAX_BYTES);
	collect(samples, sort(samples, mts_document_new(), 1), 1, MAX_BYTES);
	if (samples->n < 2 || !get_position(samples, 0, &last) ||
		!get_position(samples, 1, &first) ||
		!interpolate(&first, &last, 0.5, &middle))
		nruns = 1;
	samples->n = 0;
	samples->bytes = 0;
	limit = Max(1, size / (nruns + 1));
	share = MAX_BYTES / (nruns + 1);
	collect(samples, sort(samples, mts_document_new(), -1), limit, share);
	nlast = samples->n;
	collect(samples, sort(samples, mts_document_new(), 1), limit, 2 * share);
	for (int i = 1; i < nruns; i++)
		collect_run(samples, nlast, (double) i / nruns, limit,
					(i + 2) * share);
}

/* Whether a collection has more documents than a number, as far as is known */
static bool
is_larger(const MtsImport *import, int n)
{
	double count;

	return !import->collection->is_view && !import->collection->time &&
		   mts_command_try_count(import->connection,
								 import->stmt->remote_schema,
								 import->collection->name, false, &count) &&
		   count > n;
}

/*
 * mts_import_samples
 *		Fetch sample documents of the collection that is being imported.
 *
 * A collection of at most sample_size documents is fetched as a whole.  Of a
 * larger view, which has no order, the first ones are fetched.
 */
MtsSample *
mts_import_samples(const MtsImport *import, int *nsamples, bool *are_all)
{
	const MtsImportCollection *collection = import->collection;
	int size = mts_option_get_int(import->stmt->options, "sample_size",
								  DEFAULT_SAMPLE_SIZE);
	Samples samples = {import, collection->time ? collection->time : "_id",
					   palloc((size + 2) * sizeof(MtsSample))};
	bool is_large = is_larger(import, size);

	if (!is_large)
		collect(&samples, sort(&samples, mts_document_new(), 1), size + 1,
				MAX_BYTES);
	is_large |= samples.n > size || samples.bytes >= MAX_BYTES;
	*are_all = !is_large;
	if (is_large && !collection->is_view)
	{
		samples.n = 0;
		samples.bytes = 0;
		collect_runs(&samples, size);
	}
	*nsamples = Min(samples.n, size);
	return samples.items;
}
