/*
 * fold_label.h
 *		Names of times that come again, such as hours of the day.
 */
#ifndef MTS_FOLD_LABEL_H
#define MTS_FOLD_LABEL_H

#include "postgres.h"
#include "nodes/primnodes.h"

extern bool mts_fold_steps(Node *expr, Index varno, AttrNumber time,
						   List **steps, List **zones);

#endif /* MTS_FOLD_LABEL_H */
