/*
 * inferred.h
 *		The memory of an inference, and the documents that a table selects.
 */
#ifndef INFERRED_H
#define INFERRED_H

#include "advice/infer/infer.h"

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

static const MtsInferHost host = {resize, release, NULL};

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
