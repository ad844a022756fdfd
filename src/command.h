/*
 * command.h
 *		Which foreign servers are this wrapper's?
 */
#ifndef MTS_COMMAND_H
#define MTS_COMMAND_H

#include "postgres.h"
#include "foreign/foreign.h"

extern bool mts_command_is_ours(const ForeignServer *server);

#endif /* MTS_COMMAND_H */
