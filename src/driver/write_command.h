/*
 * write_command.h
 *		The command that does some writes.
 */
#ifndef MTS_WRITE_COMMAND_H
#define MTS_WRITE_COMMAND_H

#include "driver/attempt.h"
#include "driver/op.h"

/* MongoDB's limit of a document, in bytes; a command may have 16 KB more */
#define MTS_MAX_DOCUMENT (16 * 1024 * 1024)

extern int mts_write_command_length(MtsOp *const *ops, int nops, size_t *size);
extern bson_t *mts_write_command_make(const MtsAttempt *attempt,
									  MtsOp *const *ops, int n,
									  const char *collection, bool names_ids);

#endif /* MTS_WRITE_COMMAND_H */
