/*
 * write_log.c
 *		The commands of a transaction that have written, to be sent again.
 *
 * MongoDB's limit of a transaction is a minute, not a size, so a log can be
 * larger than memory.  It ends with the transaction of PostgreSQL.
 */
#include "driver/write_log.h"

#include "driver/document.h"

#include "utils/memutils.h"

/* What precedes the name of the database and the command */
typedef struct Header
{
	bool is_read;
	bool reports_new;
	int64 ndocuments;
	uint64 hash;
	uint32 database_size;
	uint32 command_size;
} Header;

/* Append a command.  The log lives in TopTransactionContext. */
static void
append(MtsWriteLog *log, Header header, const char *database,
	   const bson_t *command)
{
	MtsSpool *spool = &log->spool;

	header.database_size = strlen(database) + 1;
	header.command_size = command->len;
	spool->context = TopTransactionContext;
	spool->end = log->end.place;
	mts_spool_append(spool, &header, sizeof(header));
	mts_spool_append(spool, database, header.database_size);
	mts_spool_append(spool, bson_get_data(command), header.command_size);
	log->end.place = spool->end;
	log->end.ncommands++;
}

/*
 * mts_write_log_append
 *		Append a command, which mts_write_log_keep() keeps.
 *
 * ndocuments is the number of documents that it must write, or -1.
 * reports_new says that the number of its new documents is reported; see
 * mts_write_log_keep.
 */
void
mts_write_log_append(MtsWriteLog *log, const char *database,
					 const bson_t *command, int64 ndocuments, bool reports_new)
{
	append(log, (Header){.reports_new = reports_new, .ndocuments = ndocuments},
		   database, command);
}

/*
 * mts_write_log_append_read
 *		Append the command that must find what was seen, before the one that
 *		removes it.
 */
void
mts_write_log_append_read(MtsWriteLog *log, const char *database,
						  const bson_t *command, const MtsSeen *seen)
{
	append(log,
		   (Header){.is_read = true,
					.ndocuments = seen->ndocuments,
					.hash = seen->hash},
		   database, command);
}

/*
 * mts_write_log_keep
 *		Keep all commands.  nnew is the number of new documents that those
 *		which were not kept before have reported.
 */
void
mts_write_log_keep(MtsWriteLog *log, int64 nnew)
{
	log->end.nnew += nnew;
	log->kept = log->end;
}

/* mts_write_log_cut: remove the commands behind an end. */
void
mts_write_log_cut(MtsWriteLog *log, MtsLogEnd end)
{
	log->kept = log->end = end;
}

/*
 * mts_write_log_close
 *		Remove all commands and the file, as each transaction must before it
 *		commits.
 */
void
mts_write_log_close(MtsWriteLog *log)
{
	mts_spool_close(&log->spool);
	*log = (MtsWriteLog){0};
}

/* ---- Reading ------------------------------------------------------------ */

/* mts_write_log_rewind: have the first command read next. */
void
mts_write_log_rewind(MtsWriteLog *log)
{
	log->nread = 0;
	mts_spool_rewind(&log->spool);
}

/*
 * mts_write_log_next
 *		Read the next command that was kept; returns false at the end.
 *
 * The entry lives as long as the current memory context.  Nothing is appended
 * before all are read.
 */
bool
mts_write_log_next(MtsWriteLog *log, MtsLogEntry *entry)
{
	Header header;
	char *database;
	uint8 *command;
	bson_t *view = mts_document_new();

	if (log->nread == log->kept.ncommands)
		return false;
	mts_spool_read(&log->spool, &header, sizeof(header));
	database = palloc(header.database_size);
	mts_spool_read(&log->spool, database, header.database_size);
	command =
		MemoryContextAllocHuge(CurrentMemoryContext, header.command_size);
	mts_spool_read(&log->spool, command, header.command_size);
	entry->is_read = header.is_read;
	entry->ndocuments = header.ndocuments;
	entry->hash = header.hash;
	entry->reports_new = header.reports_new;
	entry->database = database;
	entry->command = view;
	if (!bson_init_static(view, command, header.command_size))
		elog(ERROR, "a command in a log of writes is damaged");
	log->nread++;
	return true;
}
