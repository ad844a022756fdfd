/*
 * arena.c
 *		Allocate memory that is released all at once.
 *
 * The core allocates from an arena that its caller makes, and releases
 * nothing.  In the server an arena is a memory context; elsewhere it is a
 * chain of blocks.
 */
#include "core/arena.h"

#include <string.h>

/* What precedes the memory of a block */
typedef struct Block
{
	struct Block *last; /* the one that was allocated before; or NULL */
} Block;

/* An arena of blocks, and how they are allocated and released */
typedef struct Chain
{
	MtsArena arena;
	Block *last;
	void *(*resize)(void *memory, size_t size);
	void (*release)(void *memory);
} Chain;

static void *
allocate_block(void *owner, size_t size)
{
	Chain *chain = owner;
	Block *block = chain->resize(NULL, sizeof(Block) + size);

	block->last = chain->last;
	chain->last = block;
	return block + 1;
}

/* mts_arena_allocate: allocate memory, which is not zeroed. */
void *
mts_arena_allocate(const MtsArena *arena, size_t size)
{
	return arena->allocate(arena->owner, size);
}

/*
 * mts_arena_grow
 *		Return a larger copy of memory, which stays in the arena, too.
 *
 * So each size should be at least twice the one before.
 */
void *
mts_arena_grow(const MtsArena *arena, void *memory, size_t old_size,
			   size_t size)
{
	return memcpy(mts_arena_allocate(arena, size), memory, old_size);
}

/*
 * mts_arena_new
 *		Make an arena of blocks.
 *
 * resize works as realloc, but does not return NULL, and release as free.
 */
MtsArena *
mts_arena_new(void *(*resize)(void *memory, size_t size),
			  void (*release)(void *memory))
{
	Chain *chain = resize(NULL, sizeof(Chain));

	chain->arena = (MtsArena){allocate_block, chain};
	chain->last = NULL;
	chain->resize = resize;
	chain->release = release;
	return &chain->arena;
}

/* mts_arena_free: release an arena of mts_arena_new, and all its memory. */
void
mts_arena_free(MtsArena *arena)
{
	Chain *chain = arena->owner;
	void (*release)(void *memory) = chain->release;
	Block *block = chain->last;

	while (block)
	{
		Block *last = block->last;

		release(block);
		block = last;
	}
	release(chain);
}
