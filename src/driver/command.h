/*
 * command.h
 *		Commands that MongoDB answers by one document.
 */
#ifndef MTS_COMMAND_H
#define MTS_COMMAND_H

#include "driver/attempt.h"

extern bool mts_command_submit(const MtsAttempt *attempt, const char *database,
							   const bson_t *command, MtsTicket *ticket,
							   bson_error_t *error);
extern bool mts_command_submit_more(const MtsAttempt *attempt,
									const char *database,
									const bson_t *command, MtsTicket *ticket,
									bson_error_t *error);
extern bool mts_command_send_only(const MtsAttempt *attempt,
								  const char *database, const bson_t *command);
extern bool mts_command_receive(const MtsAttempt *attempt, MtsTicket ticket,
								MtsReply *reply, bson_error_t *error);
extern bool mts_command_collect(const MtsAttempt *attempt, MtsTicket ticket,
								const bson_t **reply, bson_error_t *error);
extern bool mts_command_send(const MtsAttempt *attempt, const char *database,
							 const bson_t *command, const bson_t **reply,
							 bson_error_t *error);
extern const bson_t *mts_command_select_and_send(MtsAttempt *attempt,
												 const char *database,
												 const bson_t *command,
												 bson_error_t *error);
extern const bson_t *mts_command_run(MtsConnection *connection,
									 const char *database, const char *message,
									 const bson_t *command, bool may_write);
extern const bson_t *mts_command_try_run(MtsConnection *connection,
										 const char *database,
										 const char *message,
										 const bson_t *command);
extern const bson_t *mts_command_ask(MtsConnection *connection,
									 const char *database, const char *message,
									 const bson_t *command, MtsReadFrom from,
									 uint32 *code);
extern const bson_t *mts_command_try_aggregate(MtsConnection *connection,
											   const char *database,
											   const char *collection,
											   const bson_t *stages,
											   int max_time);
extern const bson_t *mts_command_ask_soon(MtsConnection *connection,
										  const char *database,
										  const bson_t *command,
										  MtsReadFrom from, uint32 *code);
extern double mts_command_count(MtsConnection *connection,
								const char *database, const char *collection,
								const bson_t *filter, bool raw_data,
								Oid relid);
extern bool mts_command_try_count(MtsConnection *connection,
								  const char *database, const char *collection,
								  bool raw_data, double *count);

#endif /* MTS_COMMAND_H */
