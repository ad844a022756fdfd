/*
 * doubles.h
 *		The values of a bucket at once, where they are doubles and no more.
 */
#ifndef MTS_DOUBLES_H
#define MTS_DOUBLES_H

#include "core/unfold.h"

/* So many values of a bucket are read at once */
#define MTS_DOUBLES_ROOM 4096

extern bool mts_doubles_may_be(const MtsLayout *layout);
extern int mts_doubles_read(const MtsUnfold *unfold, double *values,
							int64_t *keys, int room);

#endif /* MTS_DOUBLES_H */
