/*
 * memory.h
 *		The memory of libbson and libmongoc.
 */
#ifndef MTS_MEMORY_H
#define MTS_MEMORY_H

extern void mts_memory_init(void);
extern void mts_memory_release(void);

#endif /* MTS_MEMORY_H */
