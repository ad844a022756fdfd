/*
 * overload.h
 *		Send a command again that an overloaded server has refused.
 */
#ifndef MTS_OVERLOAD_H
#define MTS_OVERLOAD_H

#include "postgres.h"

#include "driver/exchange.h"

extern bool mts_overload_is(const bson_t *reply);
extern bool mts_overload_may_send_again(const MtsExchange *exchange,
										const bson_t *reply, int tries);

#endif /* MTS_OVERLOAD_H */
