/*
 * infallible.h
 *		Expressions that cannot fail.
 */
#ifndef MTS_INFALLIBLE_H
#define MTS_INFALLIBLE_H

#include "postgres.h"
#include "nodes/primnodes.h"

extern bool mts_infallible_is(Node *expr, Index varno, AttrNumber time);

#endif /* MTS_INFALLIBLE_H */
