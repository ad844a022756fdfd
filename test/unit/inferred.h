/*
 * inferred.h
 *		Declares an inferred table as a user does, selects its documents, and
 *		prints it.
 */
#ifndef INFERRED_H
#define INFERRED_H

#include "core/infer/infer.h"

#include "tables.h"
#include "tap.h"

/* Memory that is freed all at once, like a memory context */
typedef union Block
{
	struct
	{
		union Block *next;
		union Block *last;
	};
	max_align_t align;
} Block;

static Block blocks = {.next = &blocks, .last = &blocks};

static inline void
release(void *memory)
{
	Block *block = memory ? (Block *) memory - 1 : NULL;

	if (!block)
		return;
	block->next->last = block->last;
	block->last->next = block->next;
	free(block);
}

static inline void *
resize(void *memory, size_t size)
{
	Block *block = memory ? (Block *) memory - 1 : NULL;

	if (block)
	{
		block->next->last = block->last;
		block->last->next = block->next;
	}
	block = realloc(block, sizeof(Block) + size);
	if (!block)
		abort();
	block->next = blocks.next;
	block->last = &blocks;
	block->next->last = blocks.next = block;
	return block + 1;
}

static inline void
free_all(void)
{
	while (blocks.next != &blocks)
		release(blocks.next + 1);
}

/* A declaration, and all that it points to */
typedef struct Declared
{
	MtsLayout layout;
	char *text;
	MtsError error;
} Declared;

static inline bool
declare_path(Declared *declared, const char *field, MtsPath *path)
{
	char *buffer = declared->text;

	declared->text += strlen(field) + 1;
	return mts_path_parse(field, buffer, path, &declared->error);
}

static inline bool
declare_format(Declared *declared, const char *text, MtsFormat *format)
{
	return mts_format_parse(*text ? text : "date", format, &declared->error);
}

static inline bool
declare_field(Declared *declared, const char *name, const MtsFormat *format,
			  MtsField *field)
{
	field->is_set = *name != '\0';
	field->format = *format;
	return !field->is_set || declare_path(declared, name, &field->path);
}

static inline bool
declare_column(Declared *declared, const MtsInferColumn *inferred,
			   MtsColumn *column)
{
	column->name = inferred->name;
	/* the keys of a slot, which names the column */
	column->role =
		inferred->role == MTS_ROLE_SLOT ? MTS_ROLE_KEY : inferred->role;
	if (!declare_format(declared, inferred->format, &column->format))
		return false;
	if (*inferred->missing)
		column->missing = (MtsMissing){MTS_MISSING_TEXT, 0, inferred->missing};
	if (*inferred->field)
		return declare_path(declared, inferred->field, &column->path);
	/* it is the time, which the keys of a slot are */
	column->path.nsteps = 1;
	column->path.steps[0] = (MtsStep){.kind = MTS_STEP_NAME,
									  .name = column->name,
									  .len = strlen(column->name)};
	return true;
}

static inline bool
declare_columns(Declared *declared, const MtsInferred *inferred,
				MtsFormat *time)
{
	MtsLayout *layout = &declared->layout;

	layout->ncolumns = inferred->ncolumns;
	layout->columns = resize(NULL, inferred->ncolumns * sizeof(MtsColumn));
	layout->containers =
		resize(NULL, inferred->ncolumns * sizeof(MtsContainer));
	memset(layout->columns, 0, inferred->ncolumns * sizeof(MtsColumn));
	layout->time_column = -1;
	for (int i = 0; i < inferred->ncolumns; i++)
	{
		if (!declare_column(declared, &inferred->columns[i],
							&layout->columns[i]))
			return false;
		if (layout->columns[i].role == MTS_ROLE_TIME)
		{
			layout->time_column = i;
			*time = layout->columns[i].format;
		}
	}
	return true;
}

/* Build the layout that a declaration means; false sets the error. */
static inline bool
declare(Declared *declared, const MtsInferred *inferred, const MtsClock *clock)
{
	MtsLayout *layout = &declared->layout;
	const char *span = inferred->bucket_span;
	MtsFormat time = {0}, none = {0}, format;

	memset(declared, 0, sizeof(*declared));
	declared->text = resize(NULL, (inferred->ncolumns + 6) * MTS_MAX_PATH);
	layout->clock = *clock;
	layout->slots_are_local = inferred->slots_are_local;
	layout->truncate = inferred->truncates;
	if (strcmp(span, "1 year") == 0)
		layout->span = (MtsSpan){12, 0, 0};
	else if (*span && !mts_span_parse(span, strlen(span), &layout->span))
		return false;
	return declare_columns(declared, inferred, &time) &&
		   declare_format(declared, inferred->bucket_format, &format) &&
		   declare_field(declared, inferred->bucket_time, &format,
						 &layout->bucket_time) &&
		   declare_field(declared, inferred->first, &time, &layout->first) &&
		   declare_field(declared, inferred->last, &time, &layout->last) &&
		   declare_field(declared, inferred->count, &none, &layout->count) &&
		   mts_layout_build(layout, &declared->error);
}

/* Find a field by its dotted name; false for null, too. */
static inline bool
find_dotted(const MtsSample *sample, const char *name, MtsElement *element)
{
	MtsElement doc = mts_element_document(sample->bytes, sample->size);
	char names[MTS_MAX_PATH];
	MtsPath path = {0};

	snprintf(names, sizeof(names), "%s", name);
	for (char *at = strtok(names, "."); at; at = strtok(NULL, "."))
		path.steps[path.nsteps++] =
			(MtsStep){.kind = MTS_STEP_NAME, .name = at, .len = strlen(at)};
	return mts_path_find(&doc, path.steps, path.nsteps, element) ==
			   MTS_FOUND &&
		   element->type != BSON_TYPE_NULL;
}

/* Tell whether the table's option "filter" selects a document. */
static inline bool
selects(const MtsInferred *inferred, const MtsSample *sample)
{
	MtsElement found;

	if (*inferred->required &&
		!find_dotted(sample, inferred->required, &found))
		return false;
	return !*inferred->group ||
		   (find_dotted(sample, inferred->group, &found) &&
			found.type == inferred->value.type &&
			found.size == inferred->value.size &&
			memcmp(found.value, inferred->value.value, found.size) == 0);
}

#endif /* INFERRED_H */
