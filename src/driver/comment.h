/*
 * comment.h
 *		The comment of a command, by which MongoDB's administrators see who
 *		asks.
 */
#ifndef MTS_COMMENT_H
#define MTS_COMMENT_H

#include "core/error.h"
#include "driver/attempt.h"

/* The default of option "comment" */
#define MTS_COMMENT_DEFAULT "%a[%p] %t"

extern bool mts_comment_check(const char *pattern, MtsError *error);
extern void mts_comment_append(const MtsAttempt *attempt, bson_t *command);

#endif /* MTS_COMMENT_H */
