/*
 * message.h
 *		Is this reply what it says it is?
 */
#ifndef MTS_MESSAGE_H
#define MTS_MESSAGE_H

#include "core/bson.h"

/* Bytes of a message's length, which it begins with, and of its header */
#define MTS_MESSAGE_LENGTH 4
#define MTS_MESSAGE_HEADER 16

extern int32_t mts_message_int32(const uint8_t *at);
extern const char *mts_message_length_problem(int32_t length);
extern const char *mts_message_problem(const uint8_t *message, size_t size,
									   int32_t request, bool may_compress);

#endif /* MTS_MESSAGE_H */
