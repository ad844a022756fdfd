/*
 * winning_plan.h
 *		The plan that MongoDB has chosen for a query.
 */
#ifndef MTS_WINNING_PLAN_H
#define MTS_WINNING_PLAN_H

#include "core/bson/bson.h"

/* A stage of a plan, and the name of its index or NULL; both are UTF-8. */
typedef void (*MtsStageFunction)(void *arg, const char *stage,
								 const char *index);

extern void mts_winning_plan_walk(const bson_t *reply, MtsStageFunction emit,
								  void *arg);

#endif /* MTS_WINNING_PLAN_H */
