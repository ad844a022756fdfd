/*
 * memory.c
 *		Keep the buffers of large replies.
 *
 * libmongoc allocates two buffers for each batch of documents, of a megabyte
 * or more, and frees them.  The C library returns them to the kernel, so each
 * page is mapped and cleared anew, which took a third of a scan.  Here a few
 * blocks are kept for the next batch, until the end of the transaction.
 *
 * All blocks are of the C library.  So it does not matter whether they were
 * allocated or are freed before or after mts_memory_init(), or by another
 * extension that uses libbson.
 */
#include "driver/memory.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "bson/bson.h"

/* The least size of a block that is kept, and their number */
#define LEAST ((size_t) 128 * 1024)
#define NKEPT 3

static void *kept[NKEPT];

/* Take a block of at least this size from those that are kept, or NULL. */
static void *
take(size_t size)
{
	if (size < LEAST)
		return NULL;
	for (int i = 0; i < NKEPT; i++)
		if (kept[i] && malloc_usable_size(kept[i]) >= size)
		{
			void *block = kept[i];

			kept[i] = NULL;
			return block;
		}
	return NULL;
}

/* Keep a block if it is large, instead of the smallest one that is kept. */
static void
memory_free(void *block)
{
	size_t size = block ? malloc_usable_size(block) : 0;

	for (int i = 0; i < NKEPT && size >= LEAST; i++)
	{
		void *other = kept[i];

		if (other && malloc_usable_size(other) >= size)
			continue;
		kept[i] = block;
		block = other;
		size = block ? malloc_usable_size(block) : 0;
	}
	free(block);
}

static void *
memory_malloc(size_t size)
{
	void *block = take(size);

	return block ? block : malloc(size);
}

static void *
memory_realloc(void *old, size_t size)
{
	void *block = take(size);
	size_t old_size = old ? malloc_usable_size(old) : 0;

	if (!block || old_size >= size)
	{
		if (block)
			memory_free(block);
		return realloc(old, size);
	}
	memcpy(block, old, old_size);
	memory_free(old);
	return block;
}

/* mts_memory_release: free the blocks that are kept. */
void
mts_memory_release(void)
{
	for (int i = 0; i < NKEPT; i++)
	{
		free(kept[i]);
		kept[i] = NULL;
	}
}

/*
 * mts_memory_init
 *		Let libbson, and so libmongoc, allocate here.
 */
void
mts_memory_init(void)
{
	bson_mem_vtable_t table;

	memset(&table, 0, sizeof(table));
	table.malloc = memory_malloc;
	table.calloc = calloc;
	table.realloc = memory_realloc;
	table.free = memory_free;
	table.aligned_alloc = aligned_alloc;
	bson_mem_set_vtable(&table);
}
