/*
 * spool.c
 *		Bytes that are appended, and read again in the same order.
 *
 * The first bytes are in memory, which is all that most spools need.  A larger
 * spool is a temporary file.  The caller can set the end back to an earlier
 * place; what follows is then replaced.
 *
 * The file has a resource owner of its own, because closing it otherwise would
 * first write the rest to the disk, and raise an error if that is full.
 */
#include "driver/spool.h"

#include "access/xact.h"

#include "compat.h"

/* The most bytes that stay in memory */
#define MAX_MEMORY (1024 * 1024)

/* The spools that have files */
static dlist_head files = DLIST_STATIC_INIT(files);

/* Continue to read or write the file at a place. */
static void
seek(const MtsSpool *spool, MtsSpoolPlace place)
{
	if (BufFileSeek(spool->file, place.file, place.offset, SEEK_SET) != 0)
		ereport(ERROR, (errcode_for_file_access(),
						errmsg("could not seek in a temporary file: %m")));
}

/*
 * Copy what is in memory to a file, and go on there.  The memory stays until
 * that has succeeded, because the caller's transaction can survive an error.
 */
static void
move_to_file(MtsSpool *spool)
{
	ResourceOwner old = CurrentResourceOwner;
	StringInfo memory = spool->memory;

	if (!spool->owner)
	{
		spool->owner = ResourceOwnerCreate(TopTransactionResourceOwner,
										   "mongo_ts_fdw spool");
		dlist_push_tail(&files, &spool->node);
	}
	if (!spool->file)
	{
		CurrentResourceOwner = spool->owner;
		spool->file = BufFileCreateTemp(false);
		CurrentResourceOwner = old;
	}
	seek(spool, (MtsSpoolPlace){0});
	BufFileWrite(spool->file, memory->data, memory->len);
	spool->memory = NULL;
	pfree(memory->data);
	pfree(memory);
}

/* mts_spool_append: append bytes, and move the end behind them. */
void
mts_spool_append(MtsSpool *spool, const void *bytes, size_t size)
{
	MemoryContext old = MemoryContextSwitchTo(spool->context);

	if (!spool->file && !spool->memory)
		spool->memory = makeStringInfo();
	if (spool->memory)
		spool->memory->len = (int) spool->end.offset;
	if (spool->memory && spool->memory->len + size > MAX_MEMORY)
		move_to_file(spool);
	if (spool->memory)
	{
		appendBinaryStringInfo(spool->memory, bytes, (int) size);
		spool->end.offset += size;
	}
	else
	{
		seek(spool, spool->end);
		BufFileWrite(spool->file, (void *) bytes, size);
		BufFileTell(spool->file, &spool->end.file, &spool->end.offset);
	}
	MemoryContextSwitchTo(old);
}

/* mts_spool_rewind: have the first bytes read next. */
void
mts_spool_rewind(MtsSpool *spool)
{
	spool->next = (MtsSpoolPlace){0};
	if (!spool->memory && spool->file)
		seek(spool, spool->next);
}

/*
 * mts_spool_read
 *		Read the next bytes, which must be there.
 *
 * Nothing is appended between a rewind and the last read.
 */
void
mts_spool_read(MtsSpool *spool, void *bytes, size_t size)
{
	if (!spool->memory)
	{
		mts_buffile_read(spool->file, bytes, size);
		return;
	}
	memcpy(bytes, spool->memory->data + spool->next.offset, size);
	spool->next.offset += size;
}

static void
remove_file(ResourceOwner owner)
{
	ResourceOwnerRelease(owner, RESOURCE_RELEASE_BEFORE_LOCKS, false, false);
	ResourceOwnerRelease(owner, RESOURCE_RELEASE_LOCKS, false, false);
	ResourceOwnerRelease(owner, RESOURCE_RELEASE_AFTER_LOCKS, false, false);
	ResourceOwnerDelete(owner);
}

/*
 * mts_spool_close
 *		Free the memory, and remove the file; raises no error.
 *
 * That is done before PostgreSQL's transaction commits, or its abort releases
 * its resources.
 */
void
mts_spool_close(MtsSpool *spool)
{
	if (spool->owner)
	{
		dlist_delete(&spool->node);
		remove_file(spool->owner);
	}
	if (spool->memory)
	{
		pfree(spool->memory->data);
		pfree(spool->memory);
	}
	*spool = (MtsSpool){spool->context};
}

/* At the abort of a transaction, remove the files before its resources end. */
static void
close_all(XactEvent event, void *arg)
{
	while (event == XACT_EVENT_ABORT && !dlist_is_empty(&files))
		mts_spool_close(dlist_head_element(MtsSpool, node, &files));
}

/* mts_spool_init: prepare for aborts; called once. */
void
mts_spool_init(void)
{
	RegisterXactCallback(close_all, NULL);
}
