/*
 * command_log.h
 *		Log the commands that are sent to MongoDB.
 */
#ifndef MTS_COMMAND_LOG_H
#define MTS_COMMAND_LOG_H

#include "driver/exchange.h"

/* The setting mongo_ts_fdw.log_commands */
extern bool mts_log_commands;

extern void mts_command_log_sent(MtsTicket ticket, const char *database,
								 const bson_t *command, const bson_t *fields);
extern void mts_command_log_received(MtsTicket ticket, const bson_t *reply,
									 const bson_error_t *error);
extern void mts_command_log_unanswered(MtsTicket ticket);
extern bool mts_command_log_emit(int level, const char *message,
								 const char *detail);

#endif /* MTS_COMMAND_LOG_H */
