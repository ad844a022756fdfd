/*
 * memory_in_use.c
 *		Returns how many bytes this backend has allocated by malloc() or
 *		palloc().
 *
 * The number is exact.  Free chunks of glibc's heap and of memory contexts do
 * not count, so a loop without leaks ends with the bytes that it began with.
 * Chunks in glibc's thread cache count, so tests disable that cache.
 */
#include "postgres.h"

#include <malloc.h>

#include "fmgr.h"
#include "utils/memutils.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(memory_in_use);

static Size
free_in_contexts(MemoryContext context)
{
	MemoryContextCounters counters = {0};
	Size total;

	context->methods->stats(context, NULL, NULL, &counters, false);
	total = counters.freespace;
	for (MemoryContext child = context->firstchild; child;
		 child = child->nextchild)
		total += free_in_contexts(child);
	return total;
}

/* Count the bytes in use. */
Datum
memory_in_use(PG_FUNCTION_ARGS)
{
	struct mallinfo2 heap = mallinfo2();

	PG_RETURN_INT64(heap.uordblks + heap.hblkhd -
					free_in_contexts(TopMemoryContext));
}
