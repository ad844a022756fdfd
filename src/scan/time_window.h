/*
 * time_window.h
 *		Windows of time, in which the first rows of all series are looked for.
 */
#ifndef MTS_TIME_WINDOW_H
#define MTS_TIME_WINDOW_H

#include "postgres.h"

#include "scan/source.h"

extern bson_t *mts_time_window_index(MtsBucketSource *source);
extern List *mts_time_window_divide(MtsBucketSource *source, List *parts);

#endif /* MTS_TIME_WINDOW_H */
