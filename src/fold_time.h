/*
 * fold_time.h
 *		Expressions of a point's time that stay the same for a while.
 */
#ifndef MTS_FOLD_TIME_H
#define MTS_FOLD_TIME_H

#include "postgres.h"

#include "core/clock.h"
#include "near.h"

extern bool mts_fold_is_steady(Node *expr, Index varno, AttrNumber time,
							   List **zones);
extern bool mts_fold_in_step(List *zones, MtsTime first, MtsTime last);

#endif /* MTS_FOLD_TIME_H */
