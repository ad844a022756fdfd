/*
 * write_log.c
 *		The commands of a transaction that have written, to be sent again.
 *
 * MongoDB's limit of a transaction is a minute, not a size, so a log can be
 * larger than memory.  Its first bytes are in memory, which is all that most
 * transactions need.  A larger log is a temporary file, which ends with the
 * transaction of PostgreSQL.
 */
#include "driver/write_log.h"

#include "utils/memutils.h"
#include "utils/resowner.h"

#include "compat.h"

/* The largest log that stays in memory, in bytes */
#define MAX_MEMORY (1024 * 1024)

/* What precedes the name of the database and the command */
typedef struct Header
{
	int64 ndocuments;
	uint32 database_size;
	uint32 command_size;
} Header;

/* Continue to read or write the file at a place. */
static void
seek(const MtsWriteLog *log, MtsLogEnd place)
{
	if (BufFileSeek(log->file, place.file, place.offset, SEEK_SET) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not seek in a temporary file of writes: %m")));
}

/* Write bytes at the end, and move the end. */
static void
write_bytes(MtsWriteLog *log, const void *bytes, size_t size)
{
	if (log->memory)
	{
		appendBinaryStringInfo(log->memory, bytes, (int) size);
		log->end.offset += size;
		return;
	}
	BufFileWrite(log->file, (void *) bytes, size);
	BufFileTell(log->file, &log->end.file, &log->end.offset);
}

/* Move the log from memory to a file. */
static void
make_file(MtsWriteLog *log)
{
	ResourceOwner owner = CurrentResourceOwner;
	StringInfo memory = log->memory;

	CurrentResourceOwner = TopTransactionResourceOwner;
	log->file = BufFileCreateTemp(false);
	CurrentResourceOwner = owner;
	log->memory = NULL;
	BufFileWrite(log->file, memory->data, memory->len);
	pfree(memory->data);
	pfree(memory);
}

/*
 * mts_write_log_append
 *		Append a command, which mts_write_log_keep() keeps.
 *
 * ndocuments is the number of documents that it must write, or -1.  The log
 * lives in TopTransactionContext.
 */
void
mts_write_log_append(MtsWriteLog *log, const char *database,
					 const bson_t *command, int64 ndocuments)
{
	Header header = {ndocuments, strlen(database) + 1, command->len};
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);

	if (!log->file && !log->memory)
		log->memory = makeStringInfo();
	if (log->memory)
		log->memory->len = (int) log->end.offset;
	if (log->memory && log->memory->len + command->len > MAX_MEMORY)
		make_file(log);
	if (log->file)
		seek(log, log->end);
	write_bytes(log, &header, sizeof(header));
	write_bytes(log, database, header.database_size);
	write_bytes(log, bson_get_data(command), header.command_size);
	log->end.ncommands++;
	MemoryContextSwitchTo(old);
}

/* mts_write_log_keep: keep all commands. */
void
mts_write_log_keep(MtsWriteLog *log)
{
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
	if (log->file)
		BufFileClose(log->file);
	if (log->memory)
		pfree(log->memory->data);
	*log = (MtsWriteLog){0};
}

/* ---- Reading ------------------------------------------------------------ */

/* mts_write_log_rewind: have the first command read next. */
void
mts_write_log_rewind(MtsWriteLog *log)
{
	log->next = (MtsLogEnd){0};
	if (log->file)
		seek(log, log->next);
}

static void
read_bytes(MtsWriteLog *log, void *bytes, size_t size)
{
	if (log->file)
		mts_buffile_read(log->file, bytes, size);
	else
		memcpy(bytes, log->memory->data + log->next.offset, size);
	log->next.offset += size;
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

	if (log->next.ncommands == log->kept.ncommands)
		return false;
	read_bytes(log, &header, sizeof(header));
	database = palloc(header.database_size);
	read_bytes(log, database, header.database_size);
	command =
		MemoryContextAllocHuge(CurrentMemoryContext, header.command_size);
	read_bytes(log, command, header.command_size);
	entry->ndocuments = header.ndocuments;
	entry->database = database;
	if (!bson_init_static(&entry->command, command, header.command_size))
		elog(ERROR, "a command in a log of writes is damaged");
	log->next.ncommands++;
	return true;
}
