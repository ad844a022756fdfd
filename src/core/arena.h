/*
 * arena.h
 *		Memory that is released all at once.
 */
#ifndef MTS_ARENA_H
#define MTS_ARENA_H

#include <stddef.h>

typedef struct MtsArena
{
	void *(*allocate)(void *owner, size_t size); /* never returns NULL */
	void *owner;
} MtsArena;

extern void *mts_arena_allocate(const MtsArena *arena, size_t size);
extern void *mts_arena_grow(const MtsArena *arena, void *memory,
							size_t old_size, size_t size);
extern MtsArena *mts_arena_new(void *(*resize)(void *memory, size_t size),
							   void (*release)(void *memory));
extern void mts_arena_free(MtsArena *arena);

#endif /* MTS_ARENA_H */
