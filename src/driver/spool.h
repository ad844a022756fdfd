/*
 * spool.h
 *		Bytes that are appended, and read again in the same order.
 */
#ifndef MTS_SPOOL_H
#define MTS_SPOOL_H

#include "postgres.h"
#include "lib/ilist.h"
#include "lib/stringinfo.h"
#include "storage/buffile.h"
#include "utils/resowner.h"

/* A place between two bytes; all zeros is the beginning */
typedef struct MtsSpoolPlace
{
	int file;
	off_t offset;
} MtsSpoolPlace;

/* An empty spool is all zeros, except for its context. */
typedef struct MtsSpool
{
	MemoryContext context; /* of what is in memory */
	StringInfo memory;     /* all bytes; NULL once they are in the file */
	BufFile *file;         /* or NULL */
	ResourceOwner owner;   /* of the file; or NULL */
	dlist_node node;       /* in the list of those that have an owner */
	MtsSpoolPlace end;     /* where bytes are appended */
	MtsSpoolPlace next;    /* where bytes are read */
} MtsSpool;

extern void mts_spool_init(void);
extern void mts_spool_append(MtsSpool *spool, const void *bytes, size_t size);
extern void mts_spool_rewind(MtsSpool *spool);
extern void mts_spool_read(MtsSpool *spool, void *bytes, size_t size);
extern void mts_spool_close(MtsSpool *spool);

#endif /* MTS_SPOOL_H */
