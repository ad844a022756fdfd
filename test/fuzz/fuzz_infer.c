/*
 * fuzz_infer.c
 *		Asserts that a layout inferred from any documents reads all of them.
 *
 * The documents follow one another.  The inferred declaration is built like a
 * user's, and must unfold each of them.
 */
#include "fuzz.h"

#include "core/infer/infer.h"
#include "core/bson/element.h"
#include "points.h"

#define MAX_SAMPLES 64
#define LOCAL_BIT 1

const size_t fuzz_head = 1;

/* Memory that is freed all at once, like a memory context */
static void **blocks;
static size_t nblocks, room;

static void *
resize(void *memory, size_t size)
{
	size_t i = 0;

	while (i < nblocks && (!memory || blocks[i] != memory))
		i++;
	if (i == room)
		blocks = realloc(blocks, (room = 2 * room + 64) * sizeof(*blocks));
	nblocks += i == nblocks;
	return blocks[i] = realloc(memory, size > 0 ? size : 1);
}

static void
release(void *memory)
{
	size_t i = 0;

	while (blocks[i] != memory)
		i++;
	free(memory);
	blocks[i] = blocks[--nblocks];
}

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

/* A declaration, and all that it points to */
typedef struct Declared
{
	MtsLayout layout;
	MtsPath required;
	char *text;
	size_t used;
} Declared;

static void
parse_path(Declared *declared, const char *field, MtsPath *path)
{
	char *buffer = declared->text + declared->used;
	MtsError error;

	declared->used += strlen(field) + 1;
	fuzz_check(mts_path_parse(field, buffer, path, &error), "%s: %s", field,
			   error.detail);
}

static void
take_format(const char *text, MtsFormat *format)
{
	MtsError error;

	fuzz_check(mts_format_parse(*text ? text : "date", format, &error), "%s",
			   error.detail);
}

static void
declare_field(Declared *declared, const char *name, const MtsFormat *format,
			  MtsField *field)
{
	field->is_set = *name != '\0';
	if (field->is_set)
		parse_path(declared, name, &field->path);
	if (format)
		field->format = *format;
}

static void
declare_column(Declared *declared, const MtsInferColumn *inferred,
			   MtsColumn *column)
{
	column->name = inferred->name;
	column->role = inferred->role;
	take_format(inferred->format, &column->format);
	if (inferred->role != MTS_ROLE_SLOT)
	{
		parse_path(declared, inferred->field, &column->path);
		return;
	}
	/* its name tells that it has the keys of a slot */
	column->role = MTS_ROLE_KEY;
	column->path.nsteps = 1;
	column->path.steps[0] = (MtsStep){.kind = MTS_STEP_NAME,
									  .name = column->name,
									  .len = strlen(column->name)};
}

static void
declare(const MtsInferred *inferred, Declared *declared, const MtsClock *clock)
{
	MtsLayout *layout = &declared->layout;
	int n = inferred->ncolumns;
	MtsFormat bounds = {0}, format;
	MtsError error;

	memset(declared, 0, sizeof(*declared));
	declared->text = resize(NULL, (n + 6) * MTS_MAX_PATH);
	layout->columns = resize(NULL, n * sizeof(MtsColumn));
	layout->containers = resize(NULL, n * sizeof(MtsContainer));
	memset(layout->columns, 0, n * sizeof(MtsColumn));
	layout->ncolumns = n;
	layout->time_column = -1;
	layout->clock = *clock;
	for (int i = 0; i < n; i++)
	{
		declare_column(declared, &inferred->columns[i], &layout->columns[i]);
		if (layout->columns[i].role == MTS_ROLE_TIME)
		{
			layout->time_column = i;
			bounds = layout->columns[i].format;
		}
	}
	take_format(inferred->bucket_format, &format);
	declare_field(declared, inferred->bucket_time, &format,
				  &layout->bucket_time);
	declare_field(declared, inferred->first, &bounds, &layout->first);
	declare_field(declared, inferred->last, &bounds, &layout->last);
	declare_field(declared, inferred->count, NULL, &layout->count);
	if (strcmp(inferred->bucket_span, "1 year") == 0)
		layout->span = (MtsSpan){12, 0, 0};
	else if (*inferred->bucket_span)
		fuzz_check(mts_span_parse(inferred->bucket_span,
								  strlen(inferred->bucket_span),
								  &layout->span),
				   "no span: %s", inferred->bucket_span);
	fuzz_check(mts_layout_build(layout, &error), "%s", error.detail);
}

/* Tell whether a document has the value of the table's group. */
static bool
is_in_group(const MtsInferred *inferred, const MtsSample *sample)
{
	MtsElement doc = mts_element_document(sample->bytes, sample->size);
	MtsElement element;
	MtsPath path = {0};
	char names[MTS_MAX_PATH];

	snprintf(names, sizeof(names), "%s", inferred->group);
	for (char *name = strtok(names, "."); name; name = strtok(NULL, "."))
		path.steps[path.nsteps++] = (MtsStep){.kind = MTS_STEP_NAME,
											  .name = name,
											  .len = strlen(name)};
	return mts_path_find(&doc, path.steps, path.nsteps, &element) ==
			   MTS_FOUND &&
		   element.type == inferred->value.type &&
		   element.size == inferred->value.size &&
		   memcmp(element.value, inferred->value.value, element.size) == 0;
}

/*
 * Tell whether a document has the field that only buckets have.  The filter
 * that excludes other documents is {$ne: null}.
 */
static bool
is_required(const MtsInferred *inferred, const MtsSample *sample)
{
	bson_t doc;
	bson_iter_t iter, child;

	if (*inferred->group && !is_in_group(inferred, sample))
		return false;
	return !*inferred->required ||
		   (bson_init_static(&doc, sample->bytes, sample->size) &&
			bson_iter_init(&iter, &doc) &&
			bson_iter_find_descendant(&iter, inferred->required, &child) &&
			!BSON_ITER_HOLDS_NULL(&child));
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
	Declared declared;
	MtsRange whole = {MTS_TIME_MIN, MTS_TIME_MAX};
	MtsRanges ranges = {1, &whole};
	MtsElement *elements =
		resize(NULL, (inferred->ncolumns + 1) * sizeof(*elements));
	MtsUnfold unfold;

	declare(inferred, &declared, clock);
	mts_unfold_init(&unfold, &declared.layout, &ranges, resize);
	for (int i = 0; i < n; i++)
	{
		MtsElement doc =
			mts_element_document(samples[i].bytes, samples[i].size);

		if (mts_element_is_valid(&doc, FUZZ_DEPTH) &&
			is_required(inferred, &samples[i]))
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
	static const MtsInferHost host = {resize, release, NULL};
	static TestZone summer;
	MtsSample samples[MAX_SAMPLES];
	MtsClock clock = table_clock(NULL);
	MtsClock local;
	MtsInferHints hints = {NULL, NULL, &clock, NULL};
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
						   tables[i].bucket_time_is_local ? &local : &clock);
	while (nblocks > 0)
		free(blocks[--nblocks]);
	return 0;
}
