/*
 * write_log.h
 *		The commands of a transaction that have written, to be sent again.
 */
#ifndef MTS_WRITE_LOG_H
#define MTS_WRITE_LOG_H

#include "driver/seen.h"
#include "driver/spool.h"

#include "bson/bson.h"

/* The end of a log, or of its first commands */
typedef struct MtsLogEnd
{
	MtsSpoolPlace place;
	int ncommands; /* before it */
	int64 nnew;    /* the documents that these have reported as new */
} MtsLogEnd;

/* A log; an empty one is all zeros */
typedef struct MtsWriteLog
{
	MtsSpool spool;
	MtsLogEnd kept; /* the commands that will be read */
	MtsLogEnd end;  /* and those that may be kept later */
	int nread;      /* commands that have been read */
} MtsWriteLog;

/* A command of a log */
typedef struct MtsLogEntry
{
	bool is_read;     /* it finds what the next command removes; see seen.c */
	int64 ndocuments; /* that it has written or found; -1 if the number of
					   * written ones may change */
	uint64 hash;      /* of those that it has found */
	bool reports_new; /* the new ones of those that it has written count */
	const char *database;
	const bson_t *command;
} MtsLogEntry;

extern void mts_write_log_append(MtsWriteLog *log, const char *database,
								 const bson_t *command, int64 ndocuments,
								 bool reports_new);
extern void mts_write_log_append_read(MtsWriteLog *log, const char *database,
									  const bson_t *command,
									  const MtsSeen *seen);
extern void mts_write_log_keep(MtsWriteLog *log, int64 nnew);
extern void mts_write_log_cut(MtsWriteLog *log, MtsLogEnd end);
extern void mts_write_log_close(MtsWriteLog *log);
extern void mts_write_log_rewind(MtsWriteLog *log);
extern bool mts_write_log_next(MtsWriteLog *log, MtsLogEntry *entry);

#endif /* MTS_WRITE_LOG_H */
